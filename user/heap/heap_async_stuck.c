// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_async.h. First circles of methods that await each other's tasks. Then, of semaphores and
 * sources: at first each to which any other method refers counts as stuck; one is not if one of
 * these methods awaits something that is none, until nothing changes.
 */
#include "heap/heap_async_stuck.h"

#include <errno.h>
#include <stdlib.h>

#define NONE	   TAPIR_HEAP_NO_METHOD
#define ROUNDS_MAX 1000u
#define PAIRS_MAX  (1u << 22)

/* A method that refers to what another one awaits. */
struct pair {
	uint32_t holder; /* the object */
	uint32_t method;
};

struct stuck {
	struct tapir_heap_async *a;
	uint32_t *innermost;	/* by method: the one that it is for, in the end; NONE: a circle */
	struct tapir_map state; /* of holders: enum */
	struct tapir_vec(struct pair) pairs;
	bool failed;
};

enum { AWAITED = 1, STUCK, FREE };

/* ---- circles ---------------------------------------------------------------------------------- */

static void mark_circle(struct tapir_heap_async *a, uint32_t from)
{
	uint32_t at = from;

	do {
		a->methods.data[at].is_stuck = a->methods.data[at].is_certain = true;
		at = a->methods.data[at].callee;
	} while (at != from);
}

/* Follows the awaits of each method once; path: the methods that are being followed. */
static void find_innermost(struct stuck *s, uint8_t *seen, struct tapir_pids *path, uint32_t from)
{
	uint32_t at = from, end;

	path->cnt = 0;
	while (at != NONE && !seen[at]) {
		seen[at] = 1;
		s->failed |= !tapir_vec__push(path, at);
		if (s->failed)
			return;
		s->innermost[at] = at;
		at = s->a->methods.data[at].callee;
	}
	if (at != NONE && seen[at] == 1)
		mark_circle(s->a, at);
	end = at == NONE ? path->data[path->cnt - 1] : seen[at] == 1 ? NONE : s->innermost[at];
	for (size_t i = 0; i < path->cnt; i++) {
		seen[path->data[i]] = 2;
		s->innermost[path->data[i]] = end;
	}
}

/* Callers of a method in a circle are those outside it: the way round has no outermost one. */
static void leave_circles(struct tapir_heap_async *a)
{
	for (uint32_t i = 0; i < a->methods.cnt; i++) {
		struct tapir_heap_method *m = &a->methods.data[i];

		if (m->is_certain && m->caller != NONE && a->methods.data[m->caller].is_certain)
			m->caller = NONE;
	}
	for (uint32_t i = 0; i < a->methods.cnt; i++) {
		uint32_t callee = a->methods.data[i].callee;

		if (callee != NONE && a->methods.data[callee].is_certain &&
		    !a->methods.data[i].is_certain)
			a->methods.data[callee].caller = i;
	}
}

static int find_circles(struct stuck *s)
{
	size_t cnt = s->a->methods.cnt;
	uint8_t *seen = calloc(cnt + 1, 1);
	struct tapir_pids path = {};

	s->innermost = calloc(cnt + 1, sizeof(*s->innermost));
	s->failed |= !seen || !s->innermost;
	for (uint32_t i = 0; i < cnt && !s->failed; i++)
		if (!seen[i])
			find_innermost(s, seen, &path, i);
	leave_circles(s->a);
	tapir_vec__fini(&path);
	free(seen);
	return s->failed ? -ENOMEM : 0;
}

/* ---- semaphores and sources ------------------------------------------------------------------- */

/* Returns the semaphore or source that the method is for in the end, or TAPIR_HEAP_NO_OBJECT. */
static uint32_t awaited_holder(const struct stuck *s, uint32_t method)
{
	uint32_t last = s->innermost[method];

	return last == NONE ? TAPIR_HEAP_NO_OBJECT : s->a->methods.data[last].holder;
}

static void see_field(struct stuck *s, uint32_t method, uint32_t object)
{
	uint64_t *state = tapir_map__get(&s->state, object);
	struct pair pair = {object, method};

	if (!state || awaited_holder(s, method) == object)
		return;
	*state = *state == AWAITED ? STUCK : *state;
	if (s->pairs.cnt >= PAIRS_MAX)
		s->a->is_truncated = true;
	else
		s->failed |= !tapir_vec__push(&s->pairs, pair);
}

static void see_fields(struct stuck *s, const struct tapir_heap_graph *g, uint32_t method,
		       uint32_t object)
{
	for (uint64_t e = g->first_edge[object]; e < g->first_edge[object + 1]; e++)
		see_field(s, method, g->edges[e]);
}

static void find_pairs(struct stuck *s, const struct tapir_heap_graph *g)
{
	struct tapir_heap_method *m;

	tapir_vec_for_each (m, &s->a->methods) {
		uint64_t *state = m->holder == TAPIR_HEAP_NO_OBJECT
					  ? NULL
					  : tapir_map__put(&s->state, m->holder, NULL);

		s->failed |= m->holder != TAPIR_HEAP_NO_OBJECT && !state;
		if (state)
			*state = AWAITED;
	}
	if (!s->state.cnt)
		return;
	for (uint32_t i = 0; i < s->a->methods.cnt && !s->failed; i++) {
		see_fields(s, g, i, s->a->methods.data[i].object);
		if (s->a->methods.data[i].step != TAPIR_HEAP_NO_OBJECT)
			see_fields(s, g, i, s->a->methods.data[i].step);
	}
}

/* Frees what a method that can go on may hold; false: there was none. */
static bool free_one_round(struct stuck *s)
{
	bool any = false;
	struct pair *pair;

	tapir_vec_for_each (pair, &s->pairs) {
		uint64_t *state = tapir_map__get(&s->state, pair->holder), *its;
		uint32_t holder = awaited_holder(s, pair->method);

		if (*state != STUCK || s->innermost[pair->method] == NONE)
			continue;
		its = holder == TAPIR_HEAP_NO_OBJECT ? NULL : tapir_map__get(&s->state, holder);
		if (its && *its == STUCK)
			continue;
		*state = FREE;
		any = true;
	}
	return any;
}

static void mark_stuck(struct stuck *s)
{
	struct tapir_heap_method *m;
	bool is_done = false;

	for (unsigned i = 0; i < ROUNDS_MAX && !is_done; i++)
		is_done = !free_one_round(s);
	tapir_vec_for_each (m, &s->a->methods) {
		uint64_t *state = m->holder == TAPIR_HEAP_NO_OBJECT
					  ? NULL
					  : tapir_map__get(&s->state, m->holder);

		m->is_stuck |= is_done && state && *state == STUCK;
		s->a->stuck_cnt += m->is_stuck;
	}
	s->a->is_truncated |= !is_done;
}

int tapir_heap_async__find_stuck(struct tapir_heap_async *a, const struct tapir_heap_graph *g)
{
	struct stuck s = {.a = a};
	int err = find_circles(&s);

	if (!err) {
		find_pairs(&s, g);
		mark_stuck(&s);
	}
	free(s.innermost);
	tapir_map__fini(&s.state);
	tapir_vec__fini(&s.pairs);
	return s.failed ? -ENOMEM : err;
}
