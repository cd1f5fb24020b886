// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as .gopclntab, alone or among other data: each function is asked for. */
#include <assert.h>

#include "elf/go_table.h"
#include "tests/unit/elf_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct tapir_elf *elf)
{
	struct tapir_go_table table;
	struct tapir_go_function f;

	if (!tapir_go_table__open(elf, &table))
		return;
	for (uint32_t i = 0; i < table.function_cnt && i < 4096; i++)
		if (tapir_go_table__function(&table, i, &f))
			assert(f.size && strlen(f.name) < table.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_mixed = size && data[size - 1] & 1;
	struct elf_builder b;
	struct tapir_elf *elf;

	elf_builder__init(&b, ET_DYN);
	elf_builder__add_section(&b, is_mixed ? ".data.rel.ro" : ".gopclntab", SHT_PROGBITS, data,
				 size);
	if (is_mixed)
		elf_builder__add_section(&b, ".go.buildinfo", SHT_PROGBITS, "x", 1);
	elf_builder__finish(&b);
	elf = elf_builder__open(&b);
	if (elf)
		read_all(elf);
	tapir_elf__free(elf);
	elf_builder__fini(&b);
	return 0;
}
