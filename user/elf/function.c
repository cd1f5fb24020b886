// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both symbol tables are gone through: of several names at one address, each is found. A name as
 * people write it is looked for if no symbol is called so, without the parameters and with them;
 * blanks are not compared. Several functions of one name are refused, and listed.
 */
#include "elf/function.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "elf/demangle.h"
#include "elf/go_table.h"
#include "elf/image.h"

#define MAX_LISTED 8

struct search {
	struct tapir_elf *elf;
	const char *name;
	size_t name_len;
	size_t plain_len; /* without the parameters */
	bool is_readable; /* mangled names are compared as people write them */
	uint64_t off;	  /* 0: none yet */
	struct tapir_str
		*of; /* the functions that are called so up to the parameters; may be NULL */
	uint64_t listed[MAX_LISTED];
	unsigned listed_cnt;
	int err;
};

static bool find_off(struct search *s, uint64_t va, uint64_t *off)
{
	const Elf64_Phdr *load = tapir_elf__load_at(s->elf, va);

	return load && (load->p_flags & PF_X) && tapir_elf__va_to_off(s->elf, va, off);
}

static void take_function(struct search *s, uint64_t va)
{
	uint64_t off;

	if (!find_off(s, va, &off))
		return;
	if (s->off && s->off != off)
		s->err = -EEXIST;
	s->off = off;
}

/* Compares without blanks. */
static bool is_same_spelling(const char *a, const char *b, size_t b_len)
{
	for (const char *end = b + b_len;;) {
		a += strspn(a, " ");
		while (b < end && *b == ' ')
			b++;
		if (!*a || b == end)
			return !*a && b == end;
		if (*a++ != *b++)
			return false;
	}
}

/* Lists a function once, by its linker's name if the readable one is what was asked for. */
static void list_function(struct search *s, uint64_t va, const char *mangled, const char *readable)
{
	uint64_t off;

	if (!s->of || s->listed_cnt > MAX_LISTED || !find_off(s, va, &off))
		return;
	for (unsigned i = 0; i < s->listed_cnt; i++)
		if (s->listed[i] == off)
			return;
	if (s->listed_cnt == MAX_LISTED) {
		tapir_str__adds(s->of, ", ...");
		s->listed_cnt++;
		return;
	}
	s->listed[s->listed_cnt++] = off;
	if (s->of->len)
		tapir_str__adds(s->of, ", ");
	if (is_same_spelling(readable, s->name, s->name_len))
		readable = mangled;
	tapir_str__add_printable(s->of, readable, strlen(readable));
}

bool tapir_elf_function__is_cold(const char *name)
{
	const char *dot = strstr(name, ".cold");

	return dot && (!dot[5] || dot[5] == '.');
}

/* "ns::add(int)" is also called "ns::add". */
static bool is_called_so(struct search *s, const char *mangled, uint64_t va)
{
	char *plain = tapir_demangle(mangled), *whole = NULL;
	bool is_it = plain && is_same_spelling(plain, s->name, s->name_len);
	bool is_like = plain && (is_it || is_same_spelling(plain, s->name, s->plain_len));

	if (is_like)
		whole = tapir_demangle__with_params(mangled);
	if (whole) {
		is_it |= is_same_spelling(whole, s->name, s->name_len);
		list_function(s, va, mangled, whole);
	}
	free(plain);
	free(whole);
	return is_it;
}

/* A version follows the name in .symtab: malloc@@GLIBC_2.2.5. */
static bool has_name(struct search *s, const char *name, uint64_t va)
{
	if (s->is_readable && tapir_elf_function__is_cold(name))
		return false;
	if (s->is_readable)
		return is_called_so(s, name, va);
	return !strncmp(name, s->name, s->name_len) &&
	       (!name[s->name_len] || name[s->name_len] == '@');
}

static void search_type(struct search *s, uint32_t type)
{
	struct tapir_elf_syms syms;

	if (tapir_elf__syms(s->elf, type, &syms))
		return;
	for (size_t i = 1; i < syms.cnt; i++) {
		const Elf64_Sym *sym = &syms.syms[i];
		unsigned kind = ELF64_ST_TYPE(sym->st_info);

		if (sym->st_shndx == SHN_UNDEF || (kind != STT_FUNC && kind != STT_GNU_IFUNC) ||
		    !has_name(s, tapir_elf_syms__name(&syms, i), sym->st_value))
			continue;
		if (kind == STT_GNU_IFUNC)
			s->err = -EOPNOTSUPP;
		else
			take_function(s, sym->st_value);
	}
}

static void search_symbols(struct search *s, bool is_readable)
{
	if (s->off || s->err)
		return;
	s->is_readable = is_readable;
	search_type(s, SHT_DYNSYM);
	search_type(s, SHT_SYMTAB);
}

static void search_go_table(struct search *s)
{
	struct tapir_go_function f;
	struct tapir_go_table t;

	if (!tapir_go_table__open(s->elf, &t))
		return;
	for (uint32_t i = 0; i < t.function_cnt; i++)
		if (tapir_go_table__function(&t, i, &f) && !strcmp(f.name, s->name))
			take_function(s, f.start_va);
}

/* Returns where the last '(' of the first level is, if a ')' follows; else the whole length. */
static size_t params_at(const char *name, size_t len)
{
	int depth = 0;

	for (size_t i = len; i--;) {
		depth += (name[i] == ')') - (name[i] == '(');
		if (name[i] == '(' && !depth)
			return i;
	}
	return len;
}

int tapir_elf_function__find(struct tapir_elf *elf, const char *name, uint64_t *off,
			     struct tapir_str *like)
{
	struct search s = {.elf = elf, .name = name, .name_len = strlen(name), .of = like};

	s.plain_len = params_at(name, s.name_len);
	search_symbols(&s, false);
	if (!s.off && !s.err)
		search_go_table(&s);
	if (*name)
		search_symbols(&s, true);
	if (s.err || !s.off)
		return s.err ? s.err : -ENOENT;
	*off = s.off;
	return 0;
}
