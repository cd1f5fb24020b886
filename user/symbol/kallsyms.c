// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A line a symbol: "ffffffff81000000 T _stext", or "... t name    [module]" (kernel/kallsyms.c).
 * The list is in the order of sections and modules, not of addresses, and is sorted only where it
 * has to be.
 */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/order.h"
#include "base/str.h"
#include "base/vec.h"

#define MAX_SYMBOLS 2000000
#define LAST_BYTES  4096 /* of a symbol that no other follows */

struct symbol {
	uint64_t va;
	uint32_t name_off;
};

struct tapir_kallsyms {
	struct tapir_vec(struct symbol) symbols;
	struct tapir_str names; /* each with its NUL */
};

/*
 * 1: added, 0: no function, or no address was shown. By hand: there are 100,000 lines and more,
 * and a process we watch may be waiting for the CPU.
 */
static int add_line(struct tapir_kallsyms *k, const char *line)
{
	struct symbol symbol = {.name_off = (uint32_t)k->names.len};
	size_t len;
	char *at;

	symbol.va = strtoull(line, &at, 16);
	if (at == line || !symbol.va || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) ||
	    at[2] != ' ')
		return 0;
	at += 3;
	len = strcspn(at, " \t\n");
	if (!len)
		return 0;
	tapir_str__add(&k->names, at, len);
	tapir_str__addc(&k->names, '\0');
	return !k->names.failed && tapir_vec__push(&k->symbols, symbol) ? 1 : -ENOMEM;
}

/* In the order of the list where they share a place. */
static int by_va(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return tapir_order__up(x->va, y->va) ?: tapir_order__up(x->name_off, y->name_off);
}

static bool is_sorted(const struct tapir_kallsyms *k)
{
	for (size_t i = 1; i < k->symbols.cnt; i++)
		if (k->symbols.data[i].va < k->symbols.data[i - 1].va)
			return false;
	return true;
}

static int read_lines(struct tapir_kallsyms *k, FILE *file)
{
	size_t line_cnt = 0;
	char line[1024];
	int err = 0;

	while (err >= 0 && k->symbols.cnt < MAX_SYMBOLS && fgets(line, sizeof(line), file)) {
		err = add_line(k, line);
		line_cnt++;
	}
	if (err < 0)
		return err;
	return k->symbols.cnt ? 0 : line_cnt ? -EACCES : -ENOENT;
}

int tapir_kallsyms__load(const char *path, struct tapir_kallsyms **out)
{
	tapir_autofile FILE *file = fopen(path, "re");
	struct tapir_kallsyms *k;
	int err;

	if (!file)
		return -errno;
	k = calloc(1, sizeof(*k));
	err = k ? read_lines(k, file) : -ENOMEM;
	if (err) {
		tapir_kallsyms__free(k);
		return err;
	}
	if (!is_sorted(k)) /* the kernel's own are; modules may follow */
		qsort(k->symbols.data, k->symbols.cnt, sizeof(*k->symbols.data), by_va);
	*out = k;
	return 0;
}

void tapir_kallsyms__free(struct tapir_kallsyms *k)
{
	if (!k)
		return;
	tapir_vec__fini(&k->symbols);
	tapir_str__fini(&k->names);
	free(k);
}

bool tapir_kallsyms__find(const struct tapir_kallsyms *k, uint64_t va, const char **name,
			  uint64_t *start_va, uint64_t *size)
{
	size_t upper = tapir_sorted__upper_bound(k->symbols.data, k->symbols.cnt, va, va);
	const struct symbol *symbol;
	uint64_t end_va;

	if (!upper)
		return false;
	symbol = &k->symbols.data[upper - 1];
	*start_va = symbol->va;
	end_va = upper < k->symbols.cnt ? symbol[1].va : *start_va + LAST_BYTES;
	if (va >= end_va)
		return false;
	while (symbol > k->symbols.data && symbol[-1].va == symbol->va)
		symbol--; /* of several names the kernel prints the first */
	*name = k->names.data + symbol->name_off;
	*size = end_va - *start_va;
	return true;
}
