// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as .eh_frame: rows and functions are asked for all over the text. */
#include <assert.h>

#include "tests/unit/elf_builder.h"
#include "attach/unwind/cfi.h"
#include "attach/unwind/functions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_builder b;
	struct tapir_elf *elf;
	struct tapir_cfi *cfi;
	struct tapir_cfi_row row;
	struct tapir_functions *functions;
	struct tapir_function_range range;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, ".eh_frame", SHT_PROGBITS, data, size);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	if (elf && !tapir_cfi__load(elf, &cfi)) {
		for (uint64_t va = 0; va < 0x4000; va += 61)
			if (tapir_cfi__row_at(cfi, va, &row))
				assert(row.cfa_off <= 1 << 20 && row.cfa_off >= -(1 << 20));
		tapir_cfi__free(cfi);
	}
	if (elf && !tapir_functions__load(elf, &functions)) {
		for (uint64_t off = 0; off < 0x4000; off += 61)
			if (tapir_functions__find(functions, off, &range))
				assert(off - range.start_off < range.size);
		tapir_functions__free(functions);
	}
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return 0;
}
