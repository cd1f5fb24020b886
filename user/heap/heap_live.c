// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampled objects that are alive, added up. Samples of the same type, stack and chain of holders
 * are one row, found by a hash of the three texts; the texts are in an arena, which bounds the
 * memory.
 */
#include "base/keyed.h"
#include "base/order.h"
#include "heap/heap_live.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/keyed.h"

void tapir_heap_live__wait(uint64_t ns)
{
	struct timespec left = tapir_clock__timespec(ns);
	sigset_t ends, before;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	(void)sigtimedwait(&ends, NULL, &left);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static const char *keep_text(struct tapir_heap_live *l, const struct tapir_str *text)
{
	const char *kept = tapir_arena__text(&l->texts, text->data ? text->data : "", text->len);

	l->failed |= !kept || text->failed;
	return kept ? kept : "";
}

void tapir_heap_live__count(struct tapir_heap_live *l,
			    const struct tapir_str texts[TAPIR_HEAP_LIVE_TEXTS], uint64_t bytes)
{
	struct tapir_heap_live_row *row;
	uint64_t hash = 3;

	for (unsigned i = 0; i < TAPIR_HEAP_LIVE_TEXTS; i++)
		hash = tapir_hash__bytes(hash + i, texts[i].data ? texts[i].data : "",
					 texts[i].len);
	row = tapir_keyed__add(&l->rows, hash, SIZE_MAX, (struct tapir_heap_live_row){});
	l->failed |= !row;
	if (!row)
		return;
	if (!row->cnt++) {
		row->type = keep_text(l, &texts[TAPIR_HEAP_LIVE_TYPE]);
		row->stack = keep_text(l, &texts[TAPIR_HEAP_LIVE_STACK]);
		row->path = keep_text(l, &texts[TAPIR_HEAP_LIVE_PATH]);
	}
	row->bytes += bytes;
	l->cnt++;
	l->bytes += bytes;
}

static int by_weight(const void *a, const void *b)
{
	const struct tapir_heap_live_row *x = a, *y = b;

	return tapir_order__by(
		tapir_order__down(x->bytes, y->bytes), tapir_order__down(x->cnt, y->cnt),
		(strcmp(x->type, y->type) ? strcmp(x->type, y->type) : strcmp(x->stack, y->stack)));
}

void tapir_heap_live__sort(struct tapir_heap_live *l)
{
	tapir_keyed__sort(&l->rows, by_weight);
}

void tapir_heap_live__fini(struct tapir_heap_live *l)
{
	tapir_keyed__fini(&l->rows);
	tapir_arena__fini(&l->texts);
}

void tapir_heap_live__add_table(const struct tapir_heap_live *l, uint64_t top,
				struct tapir_view_result *out)
{
	static const struct tapir_column columns[] = {
		{"bytes", ">ABOUT BYTES", TAPIR_CELL_BYTES},
		{"samples", ">ALIVE", TAPIR_CELL_COUNT},
		{"share", ">SHARE", TAPIR_CELL_PERCENT},
		{"type", "TYPE", TAPIR_CELL_TEXT},
		{"allocated_by", "ALLOCATED BY", TAPIR_CELL_TEXT},
		{"held_by", "HELD BY", TAPIR_CELL_TEXT},
		{}};
	/* Without sizes of the samples, the table begins with its second column. */
	size_t table = tapir_view_result__table(
		out, "live", "sampled objects that are alive, by the stacks that made them",
		l->bytes ? columns : columns + 1);

	for (size_t i = 0; i < l->rows.cnt && i < top; i++) {
		const struct tapir_heap_live_row *row = &l->rows.data[i];

		if (l->bytes)
			tapir_view_result__u64(out, table, row->bytes);
		tapir_view_result__u64(out, table, row->cnt);
		tapir_view_result__share(out, table, l->bytes ? row->bytes : row->cnt,
					 l->bytes ? l->bytes : l->cnt);
		tapir_view_result__text(out, table, row->type);
		tapir_view_result__text(out, table, row->stack[0] ? row->stack : NULL);
		tapir_view_result__text(out, table, row->path[0] ? row->path : NULL);
	}
	if (l->is_uneven && l->rows.cnt)
		tapir_view_result__note(out,
					"this runtime samples each 100 KB in turn, not at random "
					"(.NET 10 does): types may have wrong shares of the "
					"samples");
	if (l->left_cnt)
		tapir_view_result__note(out,
					"%" PRIu64 " samples are left out: whether they are alive "
					"is not known",
					l->left_cnt);
	if (l->lost_cnt)
		tapir_view_result__note(out,
					"%" PRIu64 " records were lost: objects that are alive may "
					"be missing among the samples",
					l->lost_cnt);
}

void tapir_heap_live__add_headline(const struct tapir_heap_live *l, struct tapir_str *out)
{
	const struct tapir_heap_live_row *top_row = l->rows.data;

	if (l->taken_cnt)
		tapir_str__addf(out, "%" PRIu64 " of %" PRIu64 " sampled objects are alive", l->cnt,
				l->taken_cnt);
	else
		tapir_str__addf(out, "%" PRIu64 " sampled objects are alive", l->cnt);
	if (!l->rows.cnt)
		return;
	tapir_str__addf(out, "; most: %.200s (%" PRIu64 ")", top_row->type, top_row->cnt);
	if (top_row->stack[0])
		tapir_str__addf(out, ", allocated by %.300s", top_row->stack);
	if (top_row->path[0])
		tapir_str__addf(out, ", held by %.300s", top_row->path);
}
