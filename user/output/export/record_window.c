// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Puts records into the order of their times within a window. Chunks are in order inside, so what
 * is held is often sorted already, and then not sorted again.
 */
#include "output/export/record_window.h"
#include "base/order.h"

#include <stdlib.h>

#include "trace/record.h"

static int by_time_then_position(const void *a, const void *b)
{
	const struct tapir_record_window_entry *x = a, *y = b;

	return tapir_order__up(x->time_ns, y->time_ns) ?: tapir_order__up(x->off, y->off);
}

static void sort_window(struct tapir_record_window *w)
{
	for (size_t i = 1; i < w->order.cnt; i++)
		if (by_time_then_position(&w->order.data[i - 1], &w->order.data[i]) > 0) {
			qsort(w->order.data, w->order.cnt, sizeof(*w->order.data),
			      by_time_then_position);
			return;
		}
}

/*
 * Drops the records that were delivered: the others move to the other buffer, and their offsets
 * with them.
 */
static bool drop_given(struct tapir_record_window *w)
{
	struct tapir_str emptied = w->held;
	size_t left = 0;

	if (!w->given_cnt)
		return true;
	tapir_str__clear(&w->spare);
	for (size_t i = w->given_cnt; i < w->order.cnt; i++) {
		const char *rec = w->held.data + w->order.data[i].off;

		w->order.data[left].time_ns = w->order.data[i].time_ns;
		w->order.data[left++].off = w->spare.len;
		tapir_str__add(&w->spare, rec, ((const struct tapir_rec *)rec)->size);
	}
	w->order.cnt = left;
	w->given_cnt = w->give_cnt = 0;
	w->held = w->spare;
	w->spare = emptied;
	return !w->held.failed;
}

bool tapir_record_window__add(struct tapir_record_window *w, const struct tapir_rec *rec)
{
	struct tapir_record_window_entry entry = {.time_ns = rec->time_ns};

	if (!drop_given(w))
		return false;
	entry.off = w->held.len;
	if (rec->time_ns < w->last_ns && !tapir_rec_type__describes(rec->type))
		w->late_cnt++;
	if (rec->time_ns > w->newest_ns)
		w->newest_ns = rec->time_ns;
	tapir_str__add(&w->held, (const char *)rec, rec->size);
	if (w->held.failed || !tapir_vec__push(&w->order, entry))
		return false;
	if (w->held.len >= TAPIR_RECORD_WINDOW_BYTES) {
		sort_window(w);
		w->give_cnt = (w->order.cnt + 1) / 2;
	}
	return true;
}

void tapir_record_window__release(struct tapir_record_window *w, uint64_t keep_ns)
{
	uint64_t until_ns = w->newest_ns > keep_ns ? w->newest_ns - keep_ns : 0;

	sort_window(w);
	w->give_cnt = tapir_sorted__upper_bound(w->order.data, w->order.cnt, time_ns, until_ns);
	if (w->give_cnt < w->given_cnt)
		w->give_cnt = w->given_cnt;
}

const struct tapir_rec *tapir_record_window__next(struct tapir_record_window *w, bool is_end)
{
	const struct tapir_record_window_entry *entry;

	if (is_end && w->give_cnt != w->order.cnt) {
		sort_window(w);
		w->give_cnt = w->order.cnt;
	}
	if (w->given_cnt == w->give_cnt)
		return NULL;
	entry = &w->order.data[w->given_cnt++];
	if (entry->time_ns > w->last_ns)
		w->last_ns = entry->time_ns;
	return (const struct tapir_rec *)(w->held.data + entry->off);
}

void tapir_record_window__fini(struct tapir_record_window *w)
{
	tapir_str__fini(&w->held);
	tapir_str__fini(&w->spare);
	tapir_vec__fini(&w->order);
}
