// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/exported.h"

#include <string.h>

#include "base/diag.h"
#include "elf/image.h"

uint64_t tapir_exported__linked_va(struct tapir_elf *elf, const char *name)
{
	int mark = tapir_diag__cnt(), err;
	struct tapir_elf_syms syms;

	err = tapir_elf__syms(elf, SHT_DYNSYM, &syms);
	tapir_diag__rewind(mark);
	for (size_t i = 0; !err && i < syms.cnt; i++)
		if (syms.syms[i].st_shndx != SHN_UNDEF &&
		    !strcmp(tapir_elf_syms__name(&syms, i), name))
			return syms.syms[i].st_value;
	return 0;
}

uint64_t tapir_exported__va(struct tapir_elf *elf, const struct tapir_mapping_line *m,
			    const char *name)
{
	const Elf64_Phdr *code = tapir_elf__first_executable(elf);
	uint64_t va = code ? tapir_exported__linked_va(elf, name) : 0;

	return va ? va + (m->start_va - m->file_off) + (code->p_offset - code->p_vaddr) : 0;
}
