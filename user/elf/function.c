// SPDX-License-Identifier: GPL-2.0-or-later
/* Both symbol tables are gone through: of several names at one address, each is found. */
#include "elf/function.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "elf/demangle.h"
#include "elf/go_table.h"
#include "elf/image.h"

struct search {
	struct tapir_elf *elf;
	const char *name;
	size_t name_len;
	bool is_readable; /* as people write it: mangled names are compared, too */
	uint64_t off;	  /* 0: none yet */
	int err;
};

static void take(struct search *s, uint64_t va)
{
	const Elf64_Phdr *load = tapir_elf__load_at(s->elf, va);
	uint64_t off;

	if (!load || !(load->p_flags & PF_X) || !tapir_elf__va_to_off(s->elf, va, &off))
		return;
	if (s->off && s->off != off)
		s->err = -EEXIST;
	s->off = off;
}

/* "ns::add(int)" is also called "ns::add". */
static bool is_called_so(const struct search *s, const char *mangled)
{
	char *name = tapir_demangle(mangled);
	bool is_it = name && !strncmp(name, s->name, s->name_len) &&
		     (!name[s->name_len] || name[s->name_len] == '(');

	free(name);
	return is_it;
}

/* A version follows the name in .symtab: malloc@@GLIBC_2.2.5. */
static bool has_name(const struct search *s, const char *name)
{
	if (!strncmp(name, s->name, s->name_len) &&
	    (!name[s->name_len] || name[s->name_len] == '@'))
		return true;
	return s->is_readable && is_called_so(s, name);
}

static void look_in(struct search *s, uint32_t type)
{
	struct tapir_elf_syms syms;

	if (tapir_elf__syms(s->elf, type, &syms))
		return;
	for (size_t i = 1; i < syms.cnt; i++) {
		const Elf64_Sym *sym = &syms.syms[i];
		unsigned kind = ELF64_ST_TYPE(sym->st_info);

		if (sym->st_shndx == SHN_UNDEF || (kind != STT_FUNC && kind != STT_GNU_IFUNC) ||
		    !has_name(s, tapir_elf_syms__name(&syms, i)))
			continue;
		if (kind == STT_GNU_IFUNC)
			s->err = -EOPNOTSUPP;
		else
			take(s, sym->st_value);
	}
}

static void look_in_go(struct search *s)
{
	struct tapir_go_function f;
	struct tapir_go_table t;

	if (!tapir_go_table__open(s->elf, &t))
		return;
	for (uint32_t i = 0; i < t.function_cnt; i++)
		if (tapir_go_table__function(&t, i, &f) && !strcmp(f.name, s->name))
			take(s, f.start_va);
}

int tapir_elf_function__find(struct tapir_elf *elf, const char *name, uint64_t *off)
{
	struct search s = {.elf = elf,
			   .name = name,
			   .name_len = strlen(name),
			   .is_readable = strstr(name, "::") || strchr(name, '(')};

	look_in(&s, SHT_DYNSYM);
	look_in(&s, SHT_SYMTAB);
	if (!s.off && !s.err)
		look_in_go(&s);
	if (s.err || !s.off)
		return s.err ? s.err : -ENOENT;
	*off = s.off;
	return 0;
}
