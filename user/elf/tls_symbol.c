// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file that has the variable has it once in .dynsym, and relocations name it by its index there:
 * the symbol is found first, then the relocation that has the model. The first that can be
 * followed is taken.
 */
#include "elf/tls_symbol.h"

#include <stdbool.h>
#include <string.h>

#include "elf/image.h"

/* A search for a symbol. */
struct search {
	size_t idx;	 /* in .dynsym */
	bool is_defined; /* here: then relocations may name it by its value alone */
	uint64_t value;
};

int64_t tapir_tls__distance(const Elf64_Phdr *tls, uint64_t st_value)
{
	uint64_t align = tls->p_align ? tls->p_align : 1;
	uint64_t end = tls->p_memsz + (-(tls->p_vaddr + tls->p_memsz) & (align - 1));

	return (int64_t)(st_value - end);
}

static bool find_in_dynsym(struct tapir_elf *elf, const char *name, struct search *out)
{
	struct tapir_elf_syms syms;

	if (tapir_elf__syms(elf, SHT_DYNSYM, &syms))
		return false;
	for (size_t i = 1; i < syms.cnt; i++) {
		const Elf64_Sym *sym = &syms.syms[i];

		if (ELF64_ST_TYPE(sym->st_info) != STT_TLS ||
		    strcmp(tapir_elf_syms__name(&syms, i), name) != 0)
			continue;
		*out = (struct search){i, sym->st_shndx != SHN_UNDEF, sym->st_value};
		return true;
	}
	return false;
}

/* A symbol bound within the file is not named: its value is the addend, a module needs none. */
static bool is_about(const struct search *s, const Elf64_Rela *rela, bool needs_value)
{
	size_t idx = ELF64_R_SYM(rela->r_info);

	if (idx)
		return idx == s->idx;
	return s->is_defined && (!needs_value || (uint64_t)rela->r_addend == s->value);
}

/* The first that the linker made for the variable. A module's pair may lack the offset. */
static struct tapir_tls_symbol model_of(const struct search *s, const Elf64_Rela *rela)
{
	int64_t at = (int64_t)rela->r_offset;

	switch (ELF64_R_TYPE(rela->r_info)) {
	case R_X86_64_TPOFF64:
		if (is_about(s, rela, true))
			return (struct tapir_tls_symbol){TAPIR_TLS_TPOFF, at};
		break;
	case R_X86_64_TLSDESC:
		if (is_about(s, rela, true))
			return (struct tapir_tls_symbol){TAPIR_TLS_DESC, at};
		break;
	case R_X86_64_DTPMOD64:
		if (ELF64_R_SYM(rela->r_info) && is_about(s, rela, false))
			return (struct tapir_tls_symbol){TAPIR_TLS_MODULE, at};
		break;
	default:
		break;
	}
	return (struct tapir_tls_symbol){};
}

static struct tapir_tls_symbol find_in_relocations(struct tapir_elf *elf, const struct search *s)
{
	struct tapir_tls_symbol found = {};
	const Elf64_Shdr *section;

	for (size_t i = 0; (section = tapir_elf__section_at_idx(elf, i)) != NULL; i++) {
		const void *data;
		size_t len;

		if (section->sh_type != SHT_RELA || !(section->sh_flags & SHF_ALLOC) ||
		    tapir_elf__data(elf, section, &data, &len))
			continue;
		for (size_t n = 0; n < len / sizeof(Elf64_Rela) && !found.model; n++)
			found = model_of(s, (const Elf64_Rela *)data + n);
		if (found.model)
			break;
	}
	return found;
}

struct tapir_tls_symbol tapir_tls_symbol__find(struct tapir_elf *elf, const char *name)
{
	const Elf64_Phdr *tls = tapir_elf__tls(elf);
	struct search search;

	if (tapir_elf__machine(elf) != EM_X86_64 || !find_in_dynsym(elf, name, &search))
		return (struct tapir_tls_symbol){};
	if (search.is_defined && tls && tapir_elf__is_program(elf))
		return (struct tapir_tls_symbol){TAPIR_TLS_LOCAL,
						 tapir_tls__distance(tls, search.value)};
	return find_in_relocations(elf, &search);
}
