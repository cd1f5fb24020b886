/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_events.h - a table for each kind of event of a recording, with its fields as columns. The
 * names are chosen by other programs. For output/query alone. One thread.
 */
#ifndef TAPIR_USER_QUERY_EVENTS_H
#define TAPIR_USER_QUERY_EVENTS_H

#include "output/query/query_source.h"

#define TAPIR_QUERY_MAX_EVENTS 1000u /* kinds with a table; of others there is the table events */
#define TAPIR_QUERY_MAX_FIELDS 128u  /* columns of a table; of others, args of the table events */

struct tapir_event_table {
	struct tapir_table_desc desc; /* name: the event's, without its provider */
	char *full_name;	      /* "provider:event", of this provider alone */
	uint64_t cnt;
	struct tapir_vec(struct tapir_sql_column) columns;
};

struct tapir_event_tables {
	struct tapir_vec(struct tapir_event_table *) all;
	uint64_t skipped_cnt; /* kinds */
};

/* Reads all of the recording. 0 or -errno. */
int tapir_event_tables__read(struct tapir_event_tables *tables, struct tapir_query_source *source);
void tapir_event_tables__fini(struct tapir_event_tables *tables);

#endif
