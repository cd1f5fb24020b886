// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See suspended.h. Frames are "name(file:line)"; what a stack waits in is the function of a library
 * that the program's code called, because the functions within the library are its matter.
 */
#include "heap/suspended.h"

#include <string.h>

#include "analyze/app_code.h"
#include "base/order.h"

#define MAX_ROWS	65536u
#define MAX_FRAME_BYTES 2048u

/* ---- rows ----------------------------------------------------------------------------------- */

static bool is_own_frame(struct tapir_sv frame)
{
	char name[MAX_FRAME_BYTES];

	tapir_sv__copy(frame, name, sizeof(name));
	return !tapir_app_code__is_library(name);
}

static bool has_own_frame(struct tapir_sv frames)
{
	while (frames.len)
		if (is_own_frame(tapir_sv__next_line(&frames)))
			return true;
	return false;
}

static uint64_t row_key(const struct tapir_suspended_stack *stack)
{
	uint64_t key =
		tapir_hash__bytes(1 + stack->is_stuck, stack->frames.data, stack->frames.len);

	key = tapir_hash__mix(tapir_hash__bytes(key, stack->awaits.data, stack->awaits.len),
			      stack->awaits.len);
	return tapir_hash__mix(tapir_hash__bytes(key, stack->holder.data, stack->holder.len),
			       stack->holder.len);
}

static void free_row(struct tapir_suspended_row *row)
{
	free(row->frames);
	free(row->awaits);
	free(row->holder);
	free(row->task);
}

static bool fill_row(struct tapir_suspended_row *row, const struct tapir_suspended_stack *stack)
{
	*row = (struct tapir_suspended_row){
		.frames = tapir_sv__dup(stack->frames),
		.awaits = tapir_sv__dup(stack->awaits),
		.holder = tapir_sv__dup(stack->holder),
		.task = tapir_sv__dup(stack->task),
		.is_stuck = stack->is_stuck,
		.is_own = has_own_frame(stack->frames),
	};
	return row->frames && row->awaits && row->holder && row->task;
}

void tapir_suspended__add(struct tapir_suspended *s, const struct tapir_suspended_stack *stack)
{
	uint64_t key = row_key(stack);
	struct tapir_suspended_row *row =
		tapir_keyed__add(&s->rows, key, MAX_ROWS, (struct tapir_suspended_row){});

	s->cnt++;
	s->parked_cnt += stack->is_parked;
	if (!row)
		return;
	if (!row->frames && !fill_row(row, stack)) {
		free_row(row);
		tapir_keyed__undo(&s->rows, key);
		return;
	}
	row->cnt++;
	row->parked_cnt += stack->is_parked;
	row->has_other_tasks |= !tapir_sv__is(stack->task, row->task);
}

void tapir_suspended__fini(struct tapir_suspended *s)
{
	struct tapir_suspended_row *row;

	tapir_vec_for_each (row, &s->rows)
		free_row(row);
	tapir_keyed__fini(&s->rows);
}

static int by_weight(const void *a, const void *b)
{
	const struct tapir_suspended_row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->is_stuck, y->is_stuck),
			       tapir_order__down(x->is_own, y->is_own),
			       tapir_order__down(x->cnt, y->cnt));
}

void tapir_suspended__sort(struct tapir_suspended *s)
{
	tapir_keyed__sort(&s->rows, by_weight);
}

/* ---- text ----------------------------------------------------------------------------------- */

struct chains {
	struct tapir_str all, own, awaits;
	struct tapir_sv first_own, called;
};

static void add_frame(struct tapir_str *out, struct tapir_sv frame)
{
	tapir_str__adds(out, out->len ? " < " : "");
	tapir_str__add_printable(out, frame.data, frame.len);
}

/* "Lock.acquire" of "Lock.acquire(/usr/lib/python3.11/asyncio/locks.py:120)". */
static struct tapir_sv without_place(struct tapir_sv frame)
{
	const char *end = frame.len ? memchr(frame.data, '(', frame.len) : NULL;

	return (struct tapir_sv){frame.data, end ? (size_t)(end - frame.data) : frame.len};
}

/* "Shop.pay(shop.py:12)" of "Shop.pay(/srv/shop.py:12)". */
static void add_short_frame(struct tapir_str *out, struct tapir_sv frame)
{
	size_t name_len = without_place(frame).len;
	const char *slash = memrchr(frame.data + name_len, '/', frame.len - name_len);
	struct tapir_sv place = {frame.data + name_len, frame.len - name_len};

	if (!slash) {
		add_frame(out, frame);
		return;
	}
	place.len -= (size_t)(slash + 1 - place.data);
	place.data = slash + 1;
	add_frame(out, (struct tapir_sv){frame.data, name_len + 1});
	tapir_str__add_printable(out, place.data, place.len);
}

/* Python's "_ContextManagerMixin.__aenter__" is no function that a program calls by its name. */
static bool is_named_by_callers(struct tapir_sv frame)
{
	struct tapir_sv name = without_place(frame);

	return !memmem(name.data, name.len, ".__", 3);
}

static void read_chains(const struct tapir_suspended_row *row, struct chains *out)
{
	struct tapir_sv text = tapir_sv__of(row->frames);

	*out = (struct chains){};
	while (text.len) {
		struct tapir_sv frame = tapir_sv__next_line(&text);

		add_frame(&out->all, frame);
		if (is_own_frame(frame) || !row->is_own) {
			out->first_own = out->own.len ? out->first_own : frame;
			add_short_frame(&out->own, frame);
		} else if (!out->own.len && (!out->called.len || is_named_by_callers(frame))) {
			out->called = frame;
		}
	}
	if (out->called.len)
		add_frame(&out->awaits, without_place(out->called));
	else
		tapir_str__adds(&out->awaits, row->awaits);
	if (out->awaits.len && *row->holder) {
		tapir_str__adds(&out->awaits, " (held by ");
		tapir_str__add_printable(&out->awaits, row->holder,
					 without_place(tapir_sv__of(row->holder)).len);
		tapir_str__addc(&out->awaits, ')');
	}
}

/* Returns true if memory sufficed. */
static bool end_chains(struct chains *chains)
{
	bool failed = chains->all.failed || chains->own.failed || chains->awaits.failed;

	tapir_str__fini(&chains->all);
	tapir_str__fini(&chains->own);
	tapir_str__fini(&chains->awaits);
	return !failed;
}

void tapir_suspended__add_first(const struct tapir_suspended *s, struct tapir_str *out)
{
	struct tapir_sv name;
	struct chains chains;

	if (!s->rows.cnt)
		return;
	read_chains(&s->rows.data[0], &chains);
	name = without_place(chains.first_own);
	tapir_str__add_printable(out, name.data, name.len);
	tapir_str__adds(out, " awaits ");
	tapir_str__adds(out, chains.awaits.len ? chains.awaits.data : "what is not known");
	out->failed |= !end_chains(&chains);
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct tapir_column virtual_columns[] = {
	{"count", "COUNT", TAPIR_CELL_COUNT},
	{"parked", "PARKED", TAPIR_CELL_COUNT},
	{"waits_in", "WAITS IN", TAPIR_CELL_TEXT},
	{"methods", NULL, TAPIR_CELL_TEXT},
	{"own_methods", "METHODS, innermost first", TAPIR_CELL_TEXT},
	{}};
static const struct tapir_column coroutine_columns[] = {
	{"count", "COUNT", TAPIR_CELL_COUNT},
	{"waits_for_each_other", NULL, TAPIR_CELL_COUNT},
	{"awaits", "AWAITS", TAPIR_CELL_TEXT},
	{"methods", NULL, TAPIR_CELL_TEXT},
	{"own_methods", "FUNCTIONS, innermost first", TAPIR_CELL_TEXT},
	{"task", "TASK", TAPIR_CELL_TEXT},
	{}};

const struct tapir_suspended_kind tapir_suspended_virtual_threads = {"virtual threads",
								     virtual_columns};
const struct tapir_suspended_kind tapir_suspended_coroutines = {"coroutines", coroutine_columns};

static void add_task(const struct tapir_suspended_row *row, struct tapir_view_result *out,
		     size_t table)
{
	struct tapir_str text = {};

	tapir_str__add_printable(&text, row->task, strlen(row->task));
	if (row->has_other_tasks)
		tapir_str__adds(&text, ", ...");
	tapir_view_result__text(out, table, text.len ? text.data : NULL);
	out->failed |= text.failed;
	tapir_str__fini(&text);
}

static void add_row(const struct tapir_suspended_row *row, const struct tapir_suspended_kind *kind,
		    struct tapir_view_result *out, size_t table)
{
	bool has_tasks = kind == &tapir_suspended_coroutines;
	struct chains chains;

	read_chains(row, &chains);
	tapir_view_result__u64(out, table, row->cnt);
	tapir_view_result__u64(out, table,
			       !has_tasks      ? row->parked_cnt
			       : row->is_stuck ? row->cnt
					       : 0);
	tapir_view_result__text(out, table, chains.awaits.len ? chains.awaits.data : NULL);
	tapir_view_result__text(out, table, chains.all.data);
	tapir_view_result__text(out, table, chains.own.data);
	if (has_tasks)
		add_task(row, out, table);
	out->failed |= !end_chains(&chains);
}

void tapir_suspended__add_table(const struct tapir_suspended *s,
				const struct tapir_suspended_kind *kind, uint64_t top,
				struct tapir_view_result *out)
{
	size_t table = tapir_view_result__table(out, "suspended", NULL, kind->columns);

	for (size_t i = 0; i < s->rows.cnt && i < top; i++)
		add_row(&s->rows.data[i], kind, out, table);
	tapir_view_result__note_top(out, NULL, top, s->rows.cnt);
	tapir_view_result__beyond(out, s->rows.more, s->rows.failed, kind->noun);
}
