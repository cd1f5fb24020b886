/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_source.h - what all tables of a statement share: the recording, which is opened again for
 * each that is read beside another, memory up to a bound, and the time that is left. For
 * output/query alone.
 */
#ifndef TAPIR_USER_QUERY_SOURCE_H
#define TAPIR_USER_QUERY_SOURCE_H

#include "output/query/query_rows.h"

#define TAPIR_QUERY_MAX_BYTES (256u << 20) /* of rows that are kept; SQLite has its own bound */

struct tapir_query_source {
	struct tapir_query_opts opts;
	struct tapir_reader *first; /* borrowed */
	bool is_first_used, has_first_ended;
	uint64_t start_ns; /* when the recording began */
	uint64_t deadline_ns;
	struct tapir_arena arena;
	struct tapir_lists lists;
	bool is_declaring; /* a table: what the authorizer is asked then is no part of a statement
			    */
	int err;	   /* why SQLite was told to stop; a line may tell more */
};

void tapir_query_source__init(struct tapir_query_source *s, struct tapir_reader *first,
			      const struct tapir_query_opts *opts);
void tapir_query_source__fini(struct tapir_query_source *s);

/* A reader before its first record. 0 or -errno with a line. */
int tapir_query_source__open(struct tapir_query_source *s, struct tapir_reader **out);
/* has_ended: it was read to its end. */
void tapir_query_source__close(struct tapir_query_source *s, struct tapir_reader *reader,
			       bool has_ended);
/* ctx: the source. Has the statement had its time? */
bool tapir_query_source__is_over(void *ctx);
/* The list, made if it is not yet. NULL: s->err says why. */
const struct tapir_list *tapir_query_source__list(struct tapir_query_source *s,
						  enum tapir_list_id id);

#endif
