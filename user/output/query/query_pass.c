// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows and texts live in the arena of the statement, whose bound ends a pass. The first error
 * stays, and nothing is added after it.
 */
#include "output/query/query_pass.h"

#include <errno.h>
#include <string.h>

#define RECORDS_BETWEEN_CHECKS 4096

void *tapir_pass__add_row(struct tapir_pass *p, size_t bytes)
{
	void *row = p->err ? NULL : tapir_arena__alloc(p->lists->arena, bytes);

	if (row && tapir_vec__push(&p->list->rows, row))
		return row;
	p->err = p->err ? p->err : -ENOMEM;
	return NULL;
}

/* Returns the copy of a text; one that occurred is found again. NULL: it is empty, or no memory. */
const char *tapir_pass__keep_bytes(struct tapir_pass *p, const char *text, size_t len)
{
	uint64_t hash = tapir_hash__bytes(0, text, len), *slot;
	const char *kept;
	bool is_new;

	if (!len || p->err)
		return NULL;
	slot = tapir_map__put(&p->lists->texts, hash, &is_new);
	kept = slot ? (const char *)(uintptr_t)*slot : NULL;
	if (kept && !strncmp(kept, text, len) && !kept[len])
		return kept;
	kept = tapir_arena__text(p->lists->arena, text, len);
	if (!slot || !kept)
		p->err = -ENOMEM;
	else
		*slot = (uint64_t)(uintptr_t)kept;
	return kept;
}

const char *tapir_pass__keep_word(struct tapir_pass *p, const char *text)
{
	return text ? tapir_pass__keep_bytes(p, text, strlen(text)) : NULL;
}

const char *tapir_pass__keep_sv(struct tapir_pass *p, struct tapir_sv text)
{
	return text.data ? tapir_pass__keep_bytes(p, text.data, strnlen(text.data, text.len))
			 : NULL;
}

bool tapir_pass__should_continue(void *ctx)
{
	struct tapir_pass *p = ctx;

	return !p->lists->has_ended(p->lists->ctx);
}

/* Reads a record as tapir_reader__next does; -EINTR: the statement's time is up. */
int tapir_pass__next_record(struct tapir_pass *p, struct tapir_reader *reader,
			    const struct tapir_rec **rec)
{
	int err = tapir_reader__next(reader, rec);

	if (err > 0 && !(++p->record_cnt % RECORDS_BETWEEN_CHECKS) &&
	    !tapir_pass__should_continue(p))
		return -EINTR;
	return err;
}

static const struct tapir_sql_column *list_key_column(enum tapir_list_id id)
{
	const struct tapir_table_desc *t = tapir_tables;

	while (t->list != id)
		t++;
	return &t->columns[t->key];
}

static int by_key(const void *a, const void *b, void *key)
{
	uint64_t x = tapir_sql_column__u64(key, *(const void *const *)a);
	uint64_t y = tapir_sql_column__u64(key, *(const void *const *)b);

	return x < y ? -1 : x > y;
}

/* qsort of glibc keeps equal rows in order as long as it has memory for a merge. */
void tapir_list__finish(struct tapir_list *list, enum tapir_list_id id)
{
	if (list->rows.cnt)
		qsort_r(list->rows.data, list->rows.cnt, sizeof(*list->rows.data), by_key,
			(void *)list_key_column(id));
	list->is_made = true;
}

int tapir_pass__read_timeline(struct tapir_pass *p, struct tapir_reader *reader)
{
	const struct tapir_rec *rec;
	int err;

	tapir_reader__deliver_descriptions(reader, true);
	while (!p->err && (err = tapir_pass__next_record(p, reader, &rec)) > 0)
		p->err = tapir_timeline__add(p->tl, rec);
	if (!p->err)
		p->err = err ? err : tapir_timeline__finish(p->tl);
	return p->err;
}
