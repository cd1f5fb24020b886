// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes, because a name that is found late in a segment has to be at the segment's start: a
 * segment describes what it uses before it is used.
 */
#include "output/export/symbolize.h"
#include "base/order.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/frame.h"
#include "trace/family.h"
#include "trace/record.h"

/* ---- the first pass ---------------------------------------------------------------------- */

static int by_process_and_address(const void *a, const void *b)
{
	const struct tapir_rec_symbol *x = *(const struct tapir_rec_symbol *const *)a;
	const struct tapir_rec_symbol *y = *(const struct tapir_rec_symbol *const *)b;

	return tapir_order__by(tapir_order__up(x->file_id, y->file_id),
			       tapir_order__up(x->start_off, y->start_off));
}

/* Stores the names that were used in the segments up to here. */
static void end_segment(struct tapir_symbolize *s)
{
	struct tapir_offline_symbol_list used = {};

	tapir_offline_symbols__take_used(s->names, &used);
	if (used.cnt)
		qsort(used.data, used.cnt, sizeof(*used.data), by_process_and_address);
	while (!s->failed && s->by_segment.cnt < s->segment)
		s->failed |= !tapir_vec__add(&s->by_segment);
	if (!s->failed && tapir_vec__push(&s->by_segment, used))
		return;
	s->failed = true;
	tapir_vec__fini(&used);
}

static void name_stack(struct tapir_symbolize *s, const struct tapir_catalog *catalog,
		       uint32_t tgid, uint64_t stack_id, uint64_t time_ns)
{
	const struct tapir_rec_stack *stack;
	struct tapir_stack_view view;
	bool is_new;

	if (!stack_id || !tapir_map__put(&s->seen, tapir_hash__mix(tgid, stack_id), &is_new) ||
	    !is_new)
		return;
	stack = tapir_catalog__stack(catalog, stack_id);
	if (!stack)
		return;
	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = 0; i < stack->frame_cnt; i++)
		(void)tapir_frame__of(catalog, tgid, time_ns, &view, i);
}

void tapir_symbolize__add(struct tapir_symbolize *s, const struct tapir_reader *reader,
			  const struct tapir_rec *rec)
{
	uint64_t segment = tapir_reader__stats(reader)->segments;

	if (segment != s->segment) {
		end_segment(s);
		tapir_map__clear(&s->seen);
		s->segment = segment;
	}
	name_stack(s, tapir_reader__catalog(reader), tapir_rec__tgid(rec, 0),
		   tapir_rec__stack_id(rec), rec->time_ns);
}

int tapir_symbolize__read_end(struct tapir_symbolize *s)
{
	end_segment(s);
	return s->failed ? -ENOMEM : 0;
}

void tapir_symbolize__fini(struct tapir_symbolize *s)
{
	struct tapir_offline_symbol_list *symbols;

	tapir_vec_for_each (symbols, &s->by_segment)
		tapir_vec__fini(symbols);
	tapir_vec__fini(&s->by_segment);
	tapir_map__fini(&s->seen);
}

/* ---- the second pass --------------------------------------------------------------------- */

struct writing {
	struct tapir_symbolize *s;
	int (*check)(void *ctx);
	void *ctx;
};

static const struct tapir_offline_symbol_list *of_segment(const struct tapir_symbolize *s,
							  uint64_t segment)
{
	static const struct tapir_offline_symbol_list none;

	return segment < s->by_segment.cnt ? &s->by_segment.data[segment] : &none;
}

static int put_symbols(void *ctx, uint64_t segment, struct tapir_writer *w)
{
	struct writing *writing = ctx;
	const struct tapir_offline_symbol_list *symbols = of_segment(writing->s, segment);
	int err = 0;

	for (size_t i = 0; i < symbols->cnt && !err; i++)
		err = tapir_writer__put(w, &symbols->data[i]->h);
	return err;
}

/* Does a new symbol cover the start of this one's range? */
static bool is_newly_named(const struct tapir_offline_symbol_list *symbols,
			   const struct tapir_rec_symbol *range)
{
	size_t low = 0, high = symbols->cnt;
	const struct tapir_rec_symbol *found;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_process_and_address(&symbols->data[mid], &range) <= 0)
			low = mid + 1;
		else
			high = mid;
	}
	found = low ? symbols->data[low - 1] : NULL;
	return found && found->file_id == range->file_id &&
	       range->start_off - found->start_off < found->size;
}

static int write_unless_replaced(void *ctx, uint64_t segment, const struct tapir_rec *rec,
				 struct tapir_writer *w)
{
	const struct writing *writing = ctx;
	const struct tapir_rec_symbol *symbol = (const void *)rec;

	if (rec->type == TAPIR_REC_SYMBOL && symbol->flags & TAPIR_SYMBOL_RANGE &&
	    is_newly_named(of_segment(writing->s, segment), symbol))
		return 0;
	return tapir_writer__put(w, rec);
}

static int check_writing(void *ctx)
{
	const struct writing *writing = ctx;

	return writing->check ? writing->check(writing->ctx) : 0;
}

int tapir_symbolize__write(struct tapir_symbolize *s, const struct tapir_reader *reader,
			   struct tapir_writer *w, int (*check)(void *ctx), void *ctx)
{
	struct writing writing = {.s = s, .check = check, .ctx = ctx};
	const struct tapir_rewrite rewrite = {.begin_segment = put_symbols,
					      .put = write_unless_replaced,
					      .check = check_writing,
					      .ctx = &writing};

	return tapir_rewrite__copy(reader, w, &rewrite);
}
