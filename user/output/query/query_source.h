/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_source.h - resources that the tables of a statement share: the recording, which is opened
 * again for each pass after the first, memory up to a bound, and the time that remains. For
 * output/query alone. One thread.
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
	bool is_declaring; /* a table: the authorizer is not called for a statement then */
	int err;	   /* why SQLite was stopped; a line may say more */
};

/* first and opts are borrowed. __fini closes the readers that were opened. */
void tapir_query_source__init(struct tapir_query_source *s, struct tapir_reader *first,
			      const struct tapir_query_opts *opts);
void tapir_query_source__fini(struct tapir_query_source *s);

/* A reader before its first record. 0 or -errno with a line. */
int tapir_query_source__open(struct tapir_query_source *s, struct tapir_reader **out);
/* Gives a reader back. has_ended: it was read to its end. */
void tapir_query_source__close(struct tapir_query_source *s, struct tapir_reader *reader,
			       bool has_ended);
/* Returns true if the statement's time is up. ctx: the source. */
bool tapir_query_source__has_ended(void *ctx);
/* Returns the list, and makes it if necessary. NULL: s->err says why. */
const struct tapir_list *tapir_query_source__list(struct tapir_query_source *s,
						  enum tapir_list_id id);

#endif
