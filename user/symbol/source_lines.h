/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * source_lines.h - source lines and inlined functions of a recording's addresses, found when it is
 * read: what tapir_catalog__use_lines takes.
 *
 * Debug information is read by libdw in a process of its own (base/foreign/helper.h), without
 * privileges, which can open nothing and ends when a file takes too long or too much memory; the
 * file then has no lines, with a warning. Each address is looked up once. One thread at a time.
 */
#ifndef TAPIR_USER_SOURCE_LINES_H
#define TAPIR_USER_SOURCE_LINES_H

#include "symbol/symbol_files.h"
#include "trace/catalog.h"

struct tapir_source_lines;

struct tapir_source_lines_opts {
	struct tapir_symbol_files *files; /* borrowed */
	bool with_lines;
	bool with_inlined;
};

/*
 * Options are copied, what they point to is borrowed. 0 or -ENOMEM; *out is the caller's to free.
 */
int tapir_source_lines__new(const struct tapir_source_lines_opts *opts,
			    struct tapir_source_lines **out);
void tapir_source_lines__free(struct tapir_source_lines *lines);

/* The source for tapir_catalog__use_lines; valid until __free. */
struct tapir_line_source tapir_source_lines__source(struct tapir_source_lines *lines);

struct tapir_source_line_counts {
	uint64_t file_cnt;	  /* that have debug information */
	uint64_t lineless_cnt;	  /* whose debug information was not found or cannot be read */
	uint64_t no_build_id_cnt; /* that cannot be looked for */
	uint64_t dropped_cnt;	  /* addresses and files beyond the limits */
};
/* Counts of files and addresses, for the lines on stderr. */
struct tapir_source_line_counts tapir_source_lines__counts(const struct tapir_source_lines *lines);

#endif
