// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_async_tables.h. Methods that await the same, for the same callers, are one row. The
 * program's own methods stand first: a server has an idle method of its libraries for each
 * connection.
 */
#include "heap/heap_async_tables.h"
#include "base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/app_code.h"
#include "heap/heap_async.h"

#define CALLERS_MAX 32u
#define NO_METHOD   TAPIR_HEAP_NO_METHOD
#define NO_OBJECT   TAPIR_HEAP_NO_OBJECT

struct group {
	uint32_t method; /* the first of them */
	uint64_t cnt;
	bool is_own, is_stuck, is_certain;
};

struct tables {
	const struct tapir_heap_snapshot *s;
	struct tapir_heap_async async;
	struct tapir_map by_key; /* idx + 1 */
	struct tapir_vec(struct group) groups;
	struct tapir_view_result *out;
};

static const struct tapir_heap_method *method_at(const struct tables *t, uint32_t idx)
{
	return &t->async.methods.data[idx];
}

static const char *type_name(const struct tables *t, uint32_t object)
{
	const char *name = t->s->graph.types.data[t->s->graph.type.data[object]].name;

	return name ? name : "(type without a name)";
}

/* ---- groups ----------------------------------------------------------------------------------- */

/* Types of the method and its callers, and what is awaited. */
static uint64_t async_chain_key(const struct tables *t, uint32_t idx)
{
	const struct tapir_heap_method *m = method_at(t, idx);
	uint64_t key = tapir_hash__mix(m->holder, (uintptr_t)m->awaited_text);

	key = tapir_hash__mix(key, m->is_stuck);
	for (unsigned i = 0; idx != NO_METHOD && i < CALLERS_MAX; i++) {
		m = method_at(t, idx);
		key = tapir_hash__mix(key, t->s->graph.type.data[m->object]);
		idx = m->caller;
	}
	return key;
}

/*
 * Adds at most so many of the methods from this one to its outermost caller: all, or those of the
 * program.
 */
static void add_chain(const struct tables *t, uint32_t idx, bool all, unsigned max,
		      struct tapir_str *out)
{
	unsigned cnt = 0;

	for (unsigned i = 0; idx != NO_METHOD && i < CALLERS_MAX && cnt < max; i++) {
		const struct tapir_heap_method *m = method_at(t, idx);
		struct tapir_str name = {};

		tapir_heap_async_type__add_method(&name, type_name(t, m->object));
		out->failed |= name.failed;
		if (!name.failed && (all || !tapir_app_code__is_library(name.data))) {
			tapir_str__adds(out, cnt++ ? " < " : "");
			tapir_str__add(out, name.data, name.len);
		}
		tapir_str__fini(&name);
		idx = m->caller;
	}
}

static void add_to_group(struct tables *t, uint32_t idx)
{
	const struct tapir_heap_method *m = method_at(t, idx);
	uint64_t *slot = tapir_map__put(&t->by_key, async_chain_key(t, idx), NULL);
	struct group group = {.method = idx, .is_stuck = m->is_stuck, .is_certain = m->is_certain};
	struct tapir_str chain = {};

	if (slot && !*slot) {
		add_chain(t, idx, false, 1, &chain);
		group.is_own = chain.len;
		t->out->failed |= chain.failed || !tapir_vec__push(&t->groups, group);
		*slot = t->groups.cnt;
		tapir_str__fini(&chain);
	}
	t->out->failed |= !slot;
	if (!t->out->failed)
		t->groups.data[*slot - 1].cnt++;
}

/* A method that awaits another one is in that one's chain; of a circle, each awaits another one. */
static void make_groups(struct tables *t)
{
	for (uint32_t i = 0; i < t->async.methods.cnt && !t->out->failed; i++)
		if (method_at(t, i)->awaited_text || method_at(t, i)->is_certain)
			add_to_group(t, i);
}

static int by_weight(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->is_stuck, y->is_stuck),
			       tapir_order__down(x->is_own, y->is_own),
			       tapir_order__down(x->cnt, y->cnt),
			       tapir_order__up(x->method, y->method));
}

/* ---- text ------------------------------------------------------------------------------------- */

/* "a semaphore (static Shop.Gate)": what is awaited, and what keeps that. */
static void add_awaited(const struct tables *t, const struct tapir_heap_method *m,
			struct tapir_str *out)
{
	struct tapir_str path = {};

	if (m->callee != NO_METHOD)
		tapir_heap_async_type__add_method(out,
						  type_name(t, method_at(t, m->callee)->object));
	else
		tapir_str__adds(out, m->awaited_text ? m->awaited_text : type_name(t, m->awaited));
	if (m->holder == NO_OBJECT || !t->s->paths.of_object)
		return;
	tapir_heap_snapshot__add_path(t->s, t->s->paths.of_object[m->holder], &path);
	if (path.len)
		tapir_str__addf(out, " (%.200s)", path.data);
	out->failed |= path.failed;
	tapir_str__fini(&path);
}

static void add_async_headline(const struct tables *t)
{
	struct tapir_str *out = &t->out->headline;
	const struct group *first = t->groups.data;

	if (t->s->process[0])
		tapir_str__addf(out, "%s: ", t->s->process);
	if (t->async.stuck_cnt && first) {
		tapir_str__addf(out, "%s%" PRIu64 " async methods wait for each other: ",
				first->is_certain ? "deadlock: " : "", t->async.stuck_cnt);
		add_chain(t, first->method, !first->is_own, 1, out);
		tapir_str__adds(out, " awaits ");
		add_awaited(t, method_at(t, first->method), out);
		tapir_str__adds(out, "; ");
	}
	tapir_str__addf(out, "%zu async methods are suspended", t->async.methods.cnt);
}

static void add_rows(const struct tables *t, uint64_t top)
{
	static const struct tapir_column columns[] = {
		{"count", "COUNT", TAPIR_CELL_COUNT},
		{"awaits", "AWAITS", TAPIR_CELL_TEXT},
		{"waits_for_each_other", NULL, TAPIR_CELL_COUNT},
		{"methods", NULL, TAPIR_CELL_TEXT},
		{"own_methods", "METHODS, innermost first", TAPIR_CELL_TEXT},
		{}};
	size_t table = tapir_view_result__table(t->out, "suspended", NULL, columns);

	for (size_t i = 0; i < t->groups.cnt && i < top; i++) {
		const struct group *group = &t->groups.data[i];
		struct tapir_str awaited = {}, all = {}, own = {};

		add_awaited(t, method_at(t, group->method), &awaited);
		add_chain(t, group->method, true, CALLERS_MAX, &all);
		add_chain(t, group->method, !group->is_own, CALLERS_MAX, &own);
		tapir_view_result__u64(t->out, table, group->cnt);
		tapir_view_result__text(t->out, table, awaited.data);
		tapir_view_result__u64(t->out, table, group->is_stuck ? group->cnt : 0);
		tapir_view_result__text(t->out, table, all.data);
		tapir_view_result__text(t->out, table, own.data);
		t->out->failed |= awaited.failed || all.failed || own.failed;
		tapir_str__fini(&awaited);
		tapir_str__fini(&all);
		tapir_str__fini(&own);
	}
}

static void add_notes(const struct tables *t, uint64_t top)
{
	const struct tapir_heap_async *a = &t->async;

	if (a->stuck_cnt && t->groups.cnt && !t->groups.data[0].is_certain)
		tapir_view_result__note(
			t->out, "a semaphore or TaskCompletionSource does not say who has it: "
				"no suspended method refers to what these methods await but "
				"those that wait for each other");
	if (t->groups.cnt > top)
		tapir_view_result__note(t->out, "%zu more rows (--top 0 shows all)",
					t->groups.cnt - (size_t)top);
	if (a->unknown_cnt)
		tapir_view_result__note(t->out,
					"of %" PRIu64 " of them it is not known what they await: "
					"they run, or await what does not refer to them",
					a->unknown_cnt);
	if (a->is_truncated)
		tapir_view_result__note(t->out, "the heap has more references than are followed: "
						"methods are missing");
	if (!a->methods.cnt)
		tapir_view_result__note(t->out, "methods that .NET 11's runtime suspends itself "
						"(runtime-async) are not in the heap as such");
}

int tapir_heap_async_tables__make(const struct tapir_heap_snapshot *s, uint64_t top,
				  struct tapir_view_result *out)
{
	struct tables t = {.s = s, .out = out};
	int err = tapir_heap_async__init(&t.async, &s->graph);

	if (err)
		return err;
	top = top ? top : UINT64_MAX;
	make_groups(&t);
	if (t.groups.cnt && !out->failed)
		qsort(t.groups.data, t.groups.cnt, sizeof(*t.groups.data), by_weight);
	if (!out->failed) {
		add_async_headline(&t);
		tapir_view_result__fact(out, "methods", NULL, TAPIR_CELL_COUNT,
					t.async.methods.cnt);
		tapir_view_result__fact(out, "waiting_for_each_other", NULL, TAPIR_CELL_COUNT,
					t.async.stuck_cnt);
		tapir_view_result__fact(out, "not_known", NULL, TAPIR_CELL_COUNT,
					t.async.unknown_cnt);
		add_rows(&t, top);
		add_notes(&t, top);
	}
	tapir_map__fini(&t.by_key);
	tapir_vec__fini(&t.groups);
	tapir_heap_async__fini(&t.async);
	return out->failed || out->headline.failed ? -ENOMEM : 0;
}
