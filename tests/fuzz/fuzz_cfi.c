// SPDX-License-Identifier: GPL-2.0-or-later
// fuzz: user/unwind/cfi.c user/elf/image.c user/elf/note_iter.c user/base/map.c
// fuzz: user/base/diag.c user/base/str.c
// fuzz: user/base/file.c
// fuzz: user/foreign/foreign_file.c user/foreign/foreign_path.c user/foreign/file_system.c
// fuzz: user/foreign/helper.c user/foreign/helper_child.c user/foreign/mount_list.c
// fuzz: user/foreign/overlay.c
/* Any bytes as .eh_frame: rows are asked for all over the text. */
#include <assert.h>

#include "tests/unit/elf_builder.h"
#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_builder b;
	struct tapir_elf *elf;
	struct tapir_cfi *cfi;
	struct tapir_cfi_row row;

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
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return 0;
}
