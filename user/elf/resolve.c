// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Name -> variable, from .symtab and .dynsym, and name -> GOT slot, from the relocations.
 *
 * A variable that a program takes from a library by a copy relocation (R_X86_64_COPY) is in the
 * program, and .dynsym has it defined there: no special case is needed.
 */
#include "elf/resolve.h"

#include "base/keyed.h"
#include "elf/image.h"
#include "elf/tls_symbol.h"

#include <string.h>

struct variable {
	const char *name; /* borrowed from the image */
	uint64_t va;
	uint64_t got_va; /* 0: no slot is known */
	bool defined, ambiguous, is_tls;
};

struct tapir_resolver {
	struct tapir_elf *elf; /* borrowed */
	struct tapir_keyed(struct variable) variables;
	struct tapir_map slot_by_va; /* address of a variable -> slot; relocated by the base */
	bool have_names, have_slots;
};

struct tapir_resolver *tapir_resolver__new(struct tapir_elf *elf)
{
	struct tapir_resolver *r = calloc(1, sizeof(*r));

	if (r)
		r->elf = elf;
	return r;
}

void tapir_resolver__free(struct tapir_resolver *r)
{
	if (!r)
		return;
	tapir_keyed__fini(&r->variables);
	tapir_map__fini(&r->slot_by_va);
	free(r);
}

bool tapir_resolver__is_fixed(const struct tapir_resolver *r)
{
	return tapir_elf__type(r->elf) == ET_EXEC;
}

/* ---- names ----------------------------------------------------------------------------- */

static bool is_variable(const Elf64_Sym *sym)
{
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	return type == STT_OBJECT || type == STT_TLS || type == STT_NOTYPE || type == STT_COMMON ||
	       type == STT_FUNC;
}

static void merge_symbol(struct variable *v, const char *name, const Elf64_Sym *sym)
{
	bool is_tls = ELF64_ST_TYPE(sym->st_info) == STT_TLS;

	if (strcmp(v->name, name) != 0) {
		v->ambiguous = true; /* two names with one hash: neither can be identified */
		return;
	}
	if (sym->st_shndx == SHN_UNDEF)
		return;
	if (v->defined && (v->va != sym->st_value || v->is_tls != is_tls))
		v->ambiguous = true;
	v->defined = true;
	v->va = sym->st_value;
	v->is_tls = is_tls;
}

static void add_names(struct tapir_resolver *r, uint32_t table_type)
{
	struct tapir_elf_syms syms;

	if (tapir_elf__syms(r->elf, table_type, &syms))
		return;
	for (size_t i = 1; i < syms.cnt; i++) {
		const char *name = tapir_elf_syms__name(&syms, i);
		struct variable *v;

		if (!*name || !is_variable(&syms.syms[i]))
			continue;
		v = tapir_keyed__add(&r->variables, tapir_hash__bytes(0, name, strlen(name)),
				     SIZE_MAX, ((struct variable){.name = name}));
		if (!v)
			return;
		merge_symbol(v, name, &syms.syms[i]);
	}
}

static struct variable *find_variable(struct tapir_resolver *r, const char *name, size_t len)
{
	struct variable *v;

	if (!r->have_names) {
		add_names(r, SHT_SYMTAB);
		add_names(r, SHT_DYNSYM);
		r->have_names = true;
	}
	v = tapir_keyed__get(&r->variables, tapir_hash__bytes(0, name, len));
	if (!v || v->ambiguous || strlen(v->name) != len || memcmp(v->name, name, len) != 0)
		return NULL;
	return v;
}

enum tapir_operand_reason tapir_resolver__variable(struct tapir_resolver *r, const char *name,
						   size_t len, uint64_t *va)
{
	const struct variable *v = find_variable(r, name, len);

	if (!v)
		return TAPIR_OPERAND_NO_SYMBOL;
	if (!v->defined)
		return TAPIR_OPERAND_FOREIGN_SYMBOL;
	if (v->is_tls)
		return TAPIR_OPERAND_TLS_MODEL;
	*va = v->va;
	return TAPIR_OPERAND_OK;
}

enum tapir_operand_reason tapir_resolver__tls(struct tapir_resolver *r, const char *name,
					      size_t len, int64_t *offset)
{
	const Elf64_Phdr *tls = tapir_elf__tls(r->elf);
	const struct variable *v = find_variable(r, name, len);

	if (!v)
		return TAPIR_OPERAND_NO_SYMBOL;
	if (!v->defined)
		return TAPIR_OPERAND_FOREIGN_SYMBOL;
	if (!v->is_tls || !tls || !tapir_elf__is_program(r->elf))
		return TAPIR_OPERAND_TLS_MODEL;
	*offset = tapir_tls__distance(tls, v->va);
	return TAPIR_OPERAND_OK;
}

/* ---- GOT slots ------------------------------------------------------------------------- */

static bool in_section(const Elf64_Shdr *sec, uint64_t va)
{
	return sec && va >= sec->sh_addr && va - sec->sh_addr < sec->sh_size;
}

static void note_slot(struct tapir_resolver *r, uint64_t variable_va, uint64_t slot_va)
{
	bool is_new;
	uint64_t *slot = tapir_map__put(&r->slot_by_va, variable_va, &is_new);

	if (slot && is_new)
		*slot = slot_va;
}

/* R_X86_64_GLOB_DAT names the symbol; R_X86_64_RELATIVE in the GOT gives its address. */
static void add_relocation(struct tapir_resolver *r, const Elf64_Rela *rela, const Elf64_Shdr *got,
			   const struct tapir_elf_syms *dynsym)
{
	size_t sym_idx = ELF64_R_SYM(rela->r_info);
	uint32_t type = ELF64_R_TYPE(rela->r_info);

	if (type == R_X86_64_GLOB_DAT && sym_idx < dynsym->cnt) {
		const char *name = tapir_elf_syms__name(dynsym, sym_idx);
		struct variable *v = find_variable(r, name, strlen(name));

		if (v && !v->got_va)
			v->got_va = rela->r_offset;
	} else if (type == R_X86_64_RELATIVE && in_section(got, rela->r_offset)) {
		note_slot(r, (uint64_t)rela->r_addend, rela->r_offset);
	}
}

static void add_relocations(struct tapir_resolver *r, const Elf64_Shdr *got)
{
	const Elf64_Shdr *sec = tapir_elf__section(r->elf, ".rela.dyn");
	struct tapir_elf_syms dynsym = {};
	const void *data;
	size_t len;

	if (!sec || tapir_elf__data(r->elf, sec, &data, &len))
		return;
	if (tapir_elf__syms(r->elf, SHT_DYNSYM, &dynsym))
		dynsym.cnt = 0;
	for (const Elf64_Rela *rela = data; len >= sizeof(*rela); rela++, len -= sizeof(*rela))
		add_relocation(r, rela, got, &dynsym);
}

/* Slots that hold their address in the file: ET_EXEC, or relocated by SHT_RELR. */
static void add_filled_slots(struct tapir_resolver *r, const Elf64_Shdr *got)
{
	const void *data;
	size_t len;

	if (!got || tapir_elf__data(r->elf, got, &data, &len))
		return;
	for (size_t i = 0; i < len / sizeof(uint64_t); i++) {
		uint64_t va = ((const uint64_t *)data)[i];

		if (va)
			note_slot(r, va, got->sh_addr + i * sizeof(va));
	}
}

enum tapir_operand_reason tapir_resolver__got_slot(struct tapir_resolver *r, const char *name,
						   size_t len, uint64_t *slot_va)
{
	const struct variable *v = find_variable(r, name, len);
	const uint64_t *slot;

	if (!v)
		return TAPIR_OPERAND_NO_SYMBOL;
	if (!r->have_slots) {
		const Elf64_Shdr *got = tapir_elf__section(r->elf, ".got");

		r->have_slots = true;
		add_relocations(r, got);
		add_filled_slots(r, got);
	}
	slot = v->defined ? tapir_map__get(&r->slot_by_va, v->va) : NULL;
	if (!v->got_va && !slot)
		return TAPIR_OPERAND_NO_GOT;
	*slot_va = v->got_va ? v->got_va : *slot;
	return TAPIR_OPERAND_OK;
}
