/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_pass.h - a pass over a recording that makes the rows of tables: what the passes have in
 * common. For output/query alone. One thread.
 */
#ifndef TAPIR_USER_QUERY_PASS_H
#define TAPIR_USER_QUERY_PASS_H

#include "analyze/timeline.h"
#include "output/query/query_rows.h"

struct tapir_pass {
	struct tapir_lists *lists;
	struct tapir_list *list; /* to which rows are added */
	struct tapir_timeline *tl;
	int err; /* the first one: no row is added afterwards */
	uint64_t record_cnt;
	/* of stacks and frames */
	const struct tapir_catalog *catalog;
	struct tapir_map stacks; /* process and id -> struct tapir_stack_list_row * */
	bool wants_frames;
	struct tapir_str text, name;
};

/* Returns a row of the list, to be filled; NULL: no memory. */
void *tapir_pass__add_row(struct tapir_pass *p, size_t bytes);
/* Returns a copy that lives as long as the rows; NULL: the text is empty, or no memory. */
const char *tapir_pass__keep_word(struct tapir_pass *p, const char *text);
/* Does the same with as many bytes, and with a text that may be no string. */
const char *tapir_pass__keep_bytes(struct tapir_pass *p, const char *text, size_t len);
const char *tapir_pass__keep_sv(struct tapir_pass *p, struct tapir_sv text);
/* Reads a record as tapir_reader__next does; -EINTR: the statement's time is up. */
int tapir_pass__next_record(struct tapir_pass *p, struct tapir_reader *reader,
			    const struct tapir_rec **rec);
bool tapir_pass__should_continue(void *pass); /* false: the statement's time is up */
/* Adds all records to the timeline, and finishes it. */
int tapir_pass__read_timeline(struct tapir_pass *p, struct tapir_reader *reader);
/* Sorts the rows after the last one. */
void tapir_list__finish(struct tapir_list *list, enum tapir_list_id id);

/* query_requests.c: makes both tables of requests. */
int tapir_pass__requests(struct tapir_pass *p, struct tapir_reader *reader);
/* query_spans.c */
int tapir_pass__spans(struct tapir_pass *p, struct tapir_reader *reader);

#endif
