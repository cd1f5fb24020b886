// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One table a file, read when the first of its addresses is requested: a recording maps hundreds of
 * files and needs names of a few. A file that was searched without a result is remembered, so that
 * no server is asked twice.
 */
#include "symbol/offline_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/keyed.h"
#include "base/str.h"
#include "elf/demangle.h"
#include "elf/image.h"
#include "elf/symbols.h"
#include "symbol/mapping_bias.h"
#include "trace/recbuf.h"

#define MAX_SYMBOLS (4u << 20) /* in all tables: some 300 MB with their names */
#define MAX_FILES   65536u

struct name {
	const struct tapir_rec_symbol *rec;
	uint32_t used_gen;
};

struct file {
	uint64_t file_id;
	struct tapir_symtab *symtab; /* NULL: none was found */
	struct tapir_map by_start;   /* start_off -> index of a name + 1 */
};

struct tapir_offline_symbols {
	struct tapir_symbol_files *files;
	struct tapir_keyed(struct file) known; /* by file_id */
	struct tapir_vec(struct name) names;
	struct tapir_offline_symbol_list used;
	uint32_t gen; /* of used */
	struct tapir_arena arena;
	struct tapir_recbuf recbuf;
	struct tapir_offline_counts counts;
	size_t symbol_cnt;
	bool was_full;
};

int tapir_offline_symbols__new(struct tapir_symbol_files *files, struct tapir_offline_symbols **out)
{
	struct tapir_offline_symbols *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->files = files;
	n->gen = 1;
	*out = n;
	return 0;
}

void tapir_offline_symbols__free(struct tapir_offline_symbols *n)
{
	struct file *file;

	if (!n)
		return;
	tapir_vec_for_each (file, &n->known) {
		tapir_symtab__free(file->symtab);
		tapir_map__fini(&file->by_start);
	}
	tapir_keyed__fini(&n->known);
	tapir_vec__fini(&n->names);
	tapir_vec__fini(&n->used);
	tapir_arena__fini(&n->arena);
	tapir_recbuf__fini(&n->recbuf);
	free(n);
}

/* ---- files ------------------------------------------------------------------------------- */

static void load_symbols(struct tapir_offline_symbols *n, struct file *file,
			 const struct tapir_rec_mapping *mapping,
			 const struct tapir_rec_symbol *range)
{
	struct tapir_elf *elf = NULL;
	struct tapir_str path = {};
	int mark = tapir_diag__cnt();
	struct tapir_symbol_key key = tapir_symbol_key__of(mapping, &path);

	if (!tapir_symbol_files__open(n->files, &key, &elf) &&
	    !tapir_symtab__load_biased(elf, tapir_mapping__bias(mapping, range), &file->symtab)) {
		n->symbol_cnt += tapir_symtab__cnt(file->symtab);
		if (tapir_symtab__dropped(file->symtab))
			tapir_warn("symbols of %s are not all read: %zu symbols or tables are too "
				   "large",
				   key.path, tapir_symtab__dropped(file->symtab));
	}
	tapir_elf__free(elf);
	tapir_diag__rewind(mark);
	tapir_str__fini(&path);
}

static bool may_load(struct tapir_offline_symbols *n)
{
	if (n->symbol_cnt < MAX_SYMBOLS && n->known.cnt < MAX_FILES)
		return true;
	if (!n->was_full)
		tapir_warn("the symbols of further files are not read: limit reached");
	n->was_full = true;
	return false;
}

/* NULL: no memory, or no more room. */
static struct file *file_of(struct tapir_offline_symbols *n,
			    const struct tapir_rec_mapping *mapping,
			    const struct tapir_rec_symbol *range)
{
	struct file *file = tapir_keyed__get(&n->known, mapping->file_id);

	if (file || !may_load(n))
		return file;
	file = tapir_keyed__add(&n->known, mapping->file_id, MAX_FILES,
				((struct file){.file_id = mapping->file_id}));
	if (!file)
		return NULL;
	if (mapping->build_id_bytes)
		load_symbols(n, file, mapping, range);
	n->counts.file_cnt += file->symtab != NULL;
	n->counts.no_build_id_cnt += !mapping->build_id_bytes;
	n->counts.nameless_cnt += mapping->build_id_bytes && !file->symtab;
	return file;
}

/* ---- names ------------------------------------------------------------------------------- */

static const struct tapir_rec_symbol *new_record(struct tapir_offline_symbols *n,
						 const struct file *file,
						 const struct tapir_symbol *symbol)
{
	char *demangled = tapir_demangle(symbol->name);
	struct tapir_rec_symbol fixed = {
		.file_id = file->file_id, .start_off = symbol->start_off, .size = symbol->size};
	const struct tapir_rec *rec = tapir_recbuf__symbol(
		&n->recbuf, &fixed, tapir_sv__of(demangled ? demangled : symbol->name));

	free(demangled);
	return rec ? tapir_arena__copy(&n->arena, rec, 1, rec->size) : NULL;
}

static struct name *offline_name_of(struct tapir_offline_symbols *n, struct file *file,
				    const struct tapir_symbol *symbol)
{
	const uint64_t *known = tapir_map__get(&file->by_start, symbol->start_off);
	struct name name = {};
	uint64_t *idx;

	if (known)
		return &n->names.data[*known - 1];
	name.rec = new_record(n, file, symbol);
	if (!name.rec || !tapir_vec__push(&n->names, name))
		return NULL;
	idx = tapir_map__put(&file->by_start, symbol->start_off, NULL);
	if (!idx)
		return NULL;
	*idx = n->names.cnt;
	n->counts.name_cnt++;
	return &n->names.data[n->names.cnt - 1];
}

static const struct tapir_rec_symbol *find_symbol(void *ctx,
						  const struct tapir_rec_mapping *mapping,
						  uint64_t off,
						  const struct tapir_rec_symbol *range)
{
	struct tapir_offline_symbols *n = ctx;
	struct file *file = mapping->file_id ? file_of(n, mapping, range) : NULL;
	struct tapir_symbol symbol;
	struct name *name;

	if (!file || !file->symtab || !tapir_symtab__find(file->symtab, off, &symbol))
		return NULL;
	name = offline_name_of(n, file, &symbol);
	if (!name)
		return NULL;
	if (name->used_gen != n->gen && tapir_vec__push(&n->used, name->rec))
		name->used_gen = n->gen;
	return name->rec;
}

struct tapir_offline_source tapir_offline_symbols__source(struct tapir_offline_symbols *n)
{
	return (struct tapir_offline_source){.find = find_symbol, .ctx = n};
}

void tapir_offline_symbols__take_used(struct tapir_offline_symbols *n,
				      struct tapir_offline_symbol_list *out)
{
	*out = n->used;
	n->used = (struct tapir_offline_symbol_list){};
	n->gen++;
}

struct tapir_offline_counts tapir_offline_symbols__counts(const struct tapir_offline_symbols *n)
{
	return n->counts;
}
