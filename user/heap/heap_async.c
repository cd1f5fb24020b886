// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_async.h. Each object that can be awaited is followed to what continues after it, which
 * is the method itself, or a list, a delegate or a wrapper that refers to the method.
 */
#include "heap/heap_async.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap_async_stuck.h"

#define NONE	   TAPIR_HEAP_NO_OBJECT
#define LINKS_MAX  4u	      /* between a task and the method that continues */
#define WORK_MAX   (1u << 28) /* references that are read */
#define FIELDS_MAX (1u << 12) /* of a state machine */

struct finder {
	const struct tapir_heap_graph *g;
	struct tapir_heap_async *out;
	const struct tapir_heap_async_type **types; /* by type */
	struct tapir_map method_of;  /* object -> idx + 1: of boxes and state machines */
	struct tapir_map waiter_of;  /* combined task -> idx + 1 of the method that awaits it */
	struct tapir_map part_of;    /* combined task -> object + 1: a task that is no method */
	struct tapir_map has_method; /* combined task that ends with a method */
	struct tapir_map holder_of;  /* task -> object + 1 */
	uint64_t work;
	bool failed;
};

static enum tapir_heap_async_kind async_object_kind(const struct finder *f, uint32_t object)
{
	return f->types[f->g->type.data[object]]->kind;
}

static void put(struct finder *f, struct tapir_map *map, uint32_t object, uint64_t value)
{
	uint64_t *slot = tapir_map__put(map, object, NULL);

	f->failed |= !slot;
	if (slot && !*slot)
		*slot = value;
}

/* The index or object that is kept in such a map; NONE: nothing is. */
static uint32_t kept(const struct tapir_map *map, uint32_t object)
{
	const uint64_t *slot = object == NONE ? NULL : tapir_map__get(map, object);

	return slot && *slot ? (uint32_t)*slot - 1 : NONE;
}

/* Counts one more reference that is read; false: there were too many. */
static bool may_go_on(struct finder *f)
{
	f->out->is_truncated |= ++f->work > WORK_MAX;
	return !f->out->is_truncated && !f->failed;
}

/* The first reference of an object, from this one on, to another one; its last + 1: there is none.
 */
static uint64_t find_edge(struct finder *f, uint32_t object, uint64_t from, uint32_t to)
{
	const struct tapir_heap_graph *g = f->g;
	uint64_t end = g->first_edge[object + 1];

	if (end - from > FIELDS_MAX)
		f->out->is_truncated = true;
	for (uint64_t e = from; e < end && may_go_on(f); e++)
		if (g->edges[e] == to)
			return e;
	return end;
}

/* ---- methods ---------------------------------------------------------------------------------- */

/* The state machine of a box where it is an object, as those of iterators are. */
static uint32_t find_step(struct finder *f, uint32_t box)
{
	const struct tapir_heap_graph *g = f->g;
	const char *name = g->types.data[g->type.data[box]].name;

	for (uint64_t e = g->first_edge[box]; e < g->first_edge[box + 1] && may_go_on(f); e++) {
		uint32_t to = g->edges[e];

		if (async_object_kind(f, to) == TAPIR_HEAP_ASYNC_STEP &&
		    kept(&f->method_of, to) == TAPIR_HEAP_NO_METHOD &&
		    tapir_heap_async_type__is_step_of(g->types.data[g->type.data[to]].name, name))
			return to;
	}
	return NONE;
}

/* A method that has ended has no state machine left. */
static void see_box(struct finder *f, uint32_t box)
{
	struct tapir_heap_method m = {.object = box,
				      .step = find_step(f, box),
				      .awaited = NONE,
				      .part_of = NONE,
				      .holder = NONE,
				      .callee = TAPIR_HEAP_NO_METHOD,
				      .caller = TAPIR_HEAP_NO_METHOD};
	uint32_t fields = m.step == NONE ? box : m.step;

	if (find_edge(f, fields, f->g->first_edge[fields], box) == f->g->first_edge[fields + 1])
		return;
	f->failed |= !tapir_vec__push(&f->out->methods, m);
	put(f, &f->method_of, box, f->out->methods.cnt);
	if (m.step != NONE)
		put(f, &f->method_of, m.step, f->out->methods.cnt);
}

static void find_methods(struct finder *f)
{
	for (uint32_t i = 0; i < f->g->va.cnt && !f->failed; i++)
		if (async_object_kind(f, i) == TAPIR_HEAP_ASYNC_METHOD)
			see_box(f, i);
}

/* ---- what they await -------------------------------------------------------------------------- */

/*
 * References come in the order of their offsets. A state machine's builder, which refers to the
 * box, stands before what the method awaits: so a task before it is an argument, a local variable
 * or, in the box, what continues after the method.
 */
static bool has_awaiter(struct finder *f, const struct tapir_heap_method *m, uint32_t awaited)
{
	const struct tapir_heap_graph *g = f->g;
	uint32_t fields = m->step == NONE ? m->object : m->step;
	uint64_t builder = find_edge(f, fields, g->first_edge[fields], m->object);

	return builder < g->first_edge[fields + 1] &&
	       find_edge(f, fields, builder + 1, awaited) < g->first_edge[fields + 1];
}

static bool precedes_continuation(const struct finder *f, uint32_t object)
{
	const char *name = f->g->types.data[f->g->type.data[object]].name;

	return name && (!strcmp(name, "System.Action") ||
			!strcmp(name, "System.Threading.ExecutionContext"));
}

/*
 * The end of those references of an object that can be to what continues after it. Of a box that
 * is a task that is the first, after the delegate and the context which .NET 9 keeps in fields of
 * the task that a method has no use for; of a box that is none, it stands before its state machine.
 */
static uint64_t end_of_continuations(struct finder *f, uint32_t object)
{
	static const char pooled[] = "StateMachineBox<";
	const struct tapir_heap_graph *g = f->g;
	uint64_t e = g->first_edge[object], end = g->first_edge[object + 1];
	const char *name = g->types.data[g->type.data[object]].name;

	if (async_object_kind(f, object) != TAPIR_HEAP_ASYNC_METHOD)
		return end;
	if (!strncmp(name, pooled, sizeof(pooled) - 1))
		return find_edge(f, object, e, object);
	while (e < end && precedes_continuation(f, g->edges[e]) && may_go_on(f))
		e++;
	return e < end ? e + 1 : end;
}

static void see_waiter(struct finder *f, uint32_t awaited, uint32_t idx)
{
	struct tapir_heap_method *m = idx == NONE ? NULL : &f->out->methods.data[idx];
	uint32_t callee = kept(&f->method_of, awaited);

	if (!m || m->awaited != NONE || callee == idx || !has_awaiter(f, m, awaited))
		return;
	m->awaited = awaited;
	m->callee = callee;
	if (callee != NONE && f->out->methods.data[callee].caller == TAPIR_HEAP_NO_METHOD)
		f->out->methods.data[callee].caller = idx;
	if (async_object_kind(f, awaited) == TAPIR_HEAP_ASYNC_COMBINED)
		put(f, &f->waiter_of, awaited, idx + 1);
}

/* A combined task continues after those that it ends with. */
static void see_combined(struct finder *f, uint32_t part, uint32_t combined)
{
	uint32_t idx = kept(&f->method_of, part);

	if (idx == NONE) {
		put(f, &f->part_of, combined, (uint64_t)part + 1);
		return;
	}
	if (f->out->methods.data[idx].part_of == NONE)
		f->out->methods.data[idx].part_of = combined;
	put(f, &f->has_method, combined, 1);
}

static void follow(struct finder *f, uint32_t awaited, uint32_t from, unsigned depth)
{
	const struct tapir_heap_graph *g = f->g;
	uint64_t end = end_of_continuations(f, from);

	for (uint64_t e = g->first_edge[from]; e < end; e++) {
		uint32_t to = g->edges[e];

		if (!may_go_on(f))
			return;
		if (to == awaited)
			continue;
		switch (async_object_kind(f, to)) {
		case TAPIR_HEAP_ASYNC_METHOD:
			see_waiter(f, awaited, kept(&f->method_of, to));
			break;
		case TAPIR_HEAP_ASYNC_COMBINED:
			see_combined(f, awaited, to);
			break;
		case TAPIR_HEAP_ASYNC_LINK:
			if (depth < LINKS_MAX)
				follow(f, awaited, to, depth + 1);
			break;
		default:
			break;
		}
	}
}

/* A semaphore refers to the first and the last of those that wait, which refer to each other. */
static void hold(struct finder *f, uint32_t holder)
{
	const struct tapir_heap_graph *g = f->g;
	struct tapir_pids open = {};
	uint32_t at = holder;

	do {
		for (uint64_t e = g->first_edge[at]; e < g->first_edge[at + 1]; e++) {
			uint32_t to = g->edges[e];

			if (!may_go_on(f))
				break;
			if (async_object_kind(f, to) != TAPIR_HEAP_ASYNC_TASK ||
			    kept(&f->holder_of, to) != NONE)
				continue;
			put(f, &f->holder_of, to, (uint64_t)holder + 1);
			if (async_object_kind(f, holder) == TAPIR_HEAP_ASYNC_SEMAPHORE)
				f->failed |= !tapir_vec__push(&open, to);
		}
		at = open.cnt ? open.data[--open.cnt] : NONE;
	} while (at != NONE && !f->failed);
	tapir_vec__fini(&open);
}

static void find_awaits(struct finder *f)
{
	for (uint32_t i = 0; i < f->g->va.cnt && !f->failed; i++)
		switch (async_object_kind(f, i)) {
		case TAPIR_HEAP_ASYNC_METHOD:
		case TAPIR_HEAP_ASYNC_STEP:
		case TAPIR_HEAP_ASYNC_TASK:
		case TAPIR_HEAP_ASYNC_COMBINED:
			follow(f, i, i, 0);
			break;
		case TAPIR_HEAP_ASYNC_SEMAPHORE:
		case TAPIR_HEAP_ASYNC_SOURCE:
			hold(f, i);
			break;
		default:
			break;
		}
}

/* ---- the result ------------------------------------------------------------------------------- */

static void complete(struct finder *f, struct tapir_heap_method *m)
{
	uint32_t last = m->awaited, part = kept(&f->part_of, last), holder;

	if (m->caller == TAPIR_HEAP_NO_METHOD)
		m->caller = kept(&f->waiter_of, m->part_of);
	if (last == NONE) {
		f->out->unknown_cnt++;
		return;
	}
	if (m->callee != TAPIR_HEAP_NO_METHOD || kept(&f->has_method, last) != NONE)
		return;
	last = part == NONE ? last : part;
	holder = kept(&f->holder_of, last);
	m->holder = holder;
	m->awaited_text = f->types[f->g->type.data[holder == NONE ? last : holder]]->awaited_text;
}

static int name_types(struct finder *f)
{
	const struct tapir_heap_graph *g = f->g;

	f->types = calloc(g->types.cnt + 1, sizeof(*f->types));
	for (size_t i = 0; f->types && i < g->types.cnt; i++)
		f->types[i] = tapir_heap_async_type__of(g->types.data[i].name);
	return f->types ? 0 : -ENOMEM;
}

int tapir_heap_async__init(struct tapir_heap_async *out, const struct tapir_heap_graph *g)
{
	struct tapir_heap_async made = {};
	struct finder f = {.g = g, .out = &made};
	int err = name_types(&f);
	struct tapir_heap_method *m;

	if (!err) {
		find_methods(&f);
		find_awaits(&f);
		tapir_vec_for_each (m, &made.methods)
			complete(&f, m);
		err = f.failed ? -ENOMEM : tapir_heap_async__find_stuck(&made, g);
	}
	free(f.types);
	tapir_map__fini(&f.method_of);
	tapir_map__fini(&f.waiter_of);
	tapir_map__fini(&f.part_of);
	tapir_map__fini(&f.has_method);
	tapir_map__fini(&f.holder_of);
	if (err)
		tapir_heap_async__fini(&made);
	else
		*out = made;
	return err;
}

void tapir_heap_async__fini(struct tapir_heap_async *a)
{
	tapir_vec__fini(&a->methods);
}
