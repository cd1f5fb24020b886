/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * offline_symbols.h - names of functions that a recording lacks, found when it is read: what
 * tapir_catalog__use_source takes. The files' symbols come from symbol_files.h, by build ID; the
 * file itself need not be there.
 *
 * What was recorded goes first. Memory is bounded: beyond MAX_SYMBOLS no further file is read, and
 * that is reported. One thread at a time.
 */
#ifndef TAPIR_USER_OFFLINE_SYMBOLS_H
#define TAPIR_USER_OFFLINE_SYMBOLS_H

#include "base/vec.h"
#include "symbol/symbol_files.h"
#include "trace/catalog.h"

struct tapir_offline_symbols;

/* files: borrowed. 0 or -ENOMEM; *out is the caller's to free, after the catalog that uses it. */
int tapir_offline_symbols__new(struct tapir_symbol_files *files,
			       struct tapir_offline_symbols **out);
void tapir_offline_symbols__free(struct tapir_offline_symbols *n);

/* The source for tapir_catalog__use_source; valid until __free. */
struct tapir_offline_source tapir_offline_symbols__source(struct tapir_offline_symbols *n);

/* SYMBOL records, valid as long as the names. */
struct tapir_offline_symbol_list tapir_vec(const struct tapir_rec_symbol *);

/*
 * Takes the symbols that were given out since the last call, each once; the vector is the caller's.
 */
void tapir_offline_symbols__take_used(struct tapir_offline_symbols *n,
				      struct tapir_offline_symbol_list *out);

struct tapir_offline_counts {
	uint64_t name_cnt;	  /* functions that got one */
	uint64_t file_cnt;	  /* that have names now */
	uint64_t nameless_cnt;	  /* files whose symbols were not found */
	uint64_t no_build_id_cnt; /* files that cannot be looked for */
};
/* Counts of files and names, for the lines on stderr. */
struct tapir_offline_counts tapir_offline_symbols__counts(const struct tapir_offline_symbols *n);

#endif
