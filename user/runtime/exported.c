// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over .dynsym for all names; addresses as linked become those of the mapping. .symtab is
 * not read: what is exported is a runtime's promise, what is not may be stripped.
 */
#include "runtime/exported.h"

#include <string.h>

#include "base/diag.h"
#include "elf/image.h"

/* The first symbol of a name counts: others are of other versions. */
static void take_symbol(const struct tapir_elf_syms *syms, size_t i, const char *const *names,
			uint64_t *vas, size_t cnt)
{
	const char *name = tapir_elf_syms__name(syms, i);

	for (size_t n = 0; n < cnt; n++)
		if (!vas[n] && !strcmp(name, names[n]))
			vas[n] = syms->syms[i].st_value;
}

static void find_linked(struct tapir_elf *elf, const char *const *names, uint64_t *vas, size_t cnt)
{
	int mark = tapir_diag__cnt(), err;
	struct tapir_elf_syms syms;

	err = tapir_elf__syms(elf, SHT_DYNSYM, &syms);
	tapir_diag__rewind(mark);
	for (size_t i = 0; !err && i < syms.cnt; i++)
		if (syms.syms[i].st_shndx != SHN_UNDEF)
			take_symbol(&syms, i, names, vas, cnt);
}

uint64_t tapir_exported__linked_va(struct tapir_elf *elf, const char *name)
{
	uint64_t va = 0;

	find_linked(elf, &name, &va, 1);
	return va;
}

bool tapir_exported__bias(const struct tapir_elf *elf, const struct tapir_mapping_line *m,
			  uint64_t *out)
{
	const Elf64_Phdr *code = tapir_elf__first_executable(elf);

	if (!code)
		return false;
	*out = (m->start_va - m->file_off) + (code->p_offset - code->p_vaddr);
	return true;
}

void tapir_exported__vas(struct tapir_elf *elf, const struct tapir_mapping_line *m,
			 const char *const *names, uint64_t *vas, size_t cnt)
{
	uint64_t bias;

	memset(vas, 0, cnt * sizeof(*vas));
	if (!tapir_exported__bias(elf, m, &bias))
		return;
	find_linked(elf, names, vas, cnt);
	for (size_t i = 0; i < cnt; i++)
		if (vas[i])
			vas[i] += bias;
}

uint64_t tapir_exported__va(struct tapir_elf *elf, const struct tapir_mapping_line *m,
			    const char *name)
{
	uint64_t va;

	tapir_exported__vas(elf, m, &name, &va, 1);
	return va;
}

uint64_t tapir_exported__bytes(struct tapir_elf *elf, const char *name)
{
	int mark = tapir_diag__cnt(), err;
	struct tapir_elf_syms syms;

	err = tapir_elf__syms(elf, SHT_DYNSYM, &syms);
	tapir_diag__rewind(mark);
	for (size_t i = 0; !err && i < syms.cnt; i++)
		if (syms.syms[i].st_shndx != SHN_UNDEF &&
		    !strcmp(tapir_elf_syms__name(&syms, i), name))
			return syms.syms[i].st_size;
	return 0;
}
