// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Breadth-first from the roots, in the order of their kinds, last from stacks: a static field
 * explains why an object stays, a stack only that it was in use. A path that is too deep continues
 * at its last step.
 */
#include "heap/heap_paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 64u /* steps of a path */
#define NONE	  TAPIR_HEAP_NO_STEP

struct walk {
	const struct tapir_heap_graph *g;
	struct tapir_heap_paths *paths;
	uint32_t *step; /* by object */
	uint32_t *queue;
};

/* The index of the step with that key; NONE: there are too many, or there is no memory. */
static uint32_t add_step(struct walk *w, uint64_t key, const struct tapir_heap_step *made)
{
	struct tapir_heap_step *step =
		tapir_keyed__add(&w->paths->steps, key, TAPIR_HEAP_MAX_STEPS, *made);

	return step ? (uint32_t)(step - w->paths->steps.data) : NONE;
}

/* A static field is a root of its own, others are one a kind: no parent has these numbers. */
static uint32_t root_step(struct walk *w, uint32_t root_idx)
{
	const struct tapir_heap_root *root = &w->g->roots.data[root_idx];
	struct tapir_heap_step step = {.parent = NONE, .type = root_idx};
	bool is_static = root->kind == TAPIR_HEAP_ROOT_STATIC;

	return add_step(
		w, is_static ? (uint64_t)NONE << 32 | root_idx : (NONE - 1ull) << 32 | root->kind,
		&step);
}

/* The step of a type below parent. A path that is too deep continues at its last step. */
static uint32_t step_below(struct walk *w, uint32_t parent, uint32_t type)
{
	const struct tapir_heap_step *above = &w->paths->steps.data[parent];
	struct tapir_heap_step step = {.parent = parent, .type = type, .depth = above->depth + 1};
	uint32_t idx;

	if (above->parent != NONE && above->type == type)
		return parent;
	if (step.depth >= DEPTH_MAX) { /* a sibling of the last step */
		step.parent = above->parent;
		step.depth = above->depth;
		step.is_truncated = true;
	}
	idx = add_step(w, (uint64_t)step.parent << 32 | type, &step);
	return idx == NONE ? parent : idx;
}

/* idx: of the step that holds it. */
static void enter_object(struct walk *w, uint32_t object, uint32_t holder, uint32_t *queued)
{
	struct tapir_heap_step *step;

	if (object == TAPIR_HEAP_NO_OBJECT || w->step[object] != NONE)
		return;
	w->step[object] = step_below(w, holder, w->g->type.data[object]);
	step = &w->paths->steps.data[w->step[object]];
	step->cnt++;
	step->bytes += w->g->bytes.data[object];
	w->queue[(*queued)++] = object;
}

/* Enters the roots that are on a thread's stack, or all others. */
static int enter_roots(struct walk *w, bool is_stack, uint32_t *queued)
{
	const struct tapir_heap_graph *g = w->g;

	for (uint32_t i = 0; i < g->roots.cnt; i++) {
		const struct tapir_heap_root *root = &g->roots.data[i];
		uint32_t holder;

		if (root->object == TAPIR_HEAP_NO_OBJECT ||
		    (root->kind == TAPIR_HEAP_ROOT_STACK) != is_stack)
			continue;
		holder = root_step(w, i);
		if (holder == NONE)
			return -ENOMEM;
		enter_object(w, root->object, holder, queued);
	}
	return 0;
}

/*
 * Other roots go first: an object that a thread holds only at this moment is held by them for
 * longer, if there are any.
 */
static int walk_all(struct walk *w)
{
	const struct tapir_heap_graph *g = w->g;
	uint32_t queued = 0, next = 0;

	for (unsigned is_stack = 0; is_stack < 2; is_stack++) {
		int err = enter_roots(w, is_stack, &queued);

		if (err)
			return err;
		for (; next < queued; next++) {
			uint32_t object = w->queue[next];

			for (uint64_t e = g->first_edge[object]; e < g->first_edge[object + 1]; e++)
				enter_object(w, g->edges[e], w->step[object], &queued);
		}
	}
	for (uint32_t i = 0; i < g->va.cnt; i++) {
		if (w->step[i] != NONE)
			continue;
		w->paths->unreachable_cnt++;
		w->paths->unreachable_bytes += g->bytes.data[i];
	}
	return 0;
}

static void choose_paths(struct tapir_heap_paths *p)
{
	for (uint32_t i = 0; i < p->steps.cnt; i++) {
		const struct tapir_heap_step *step = &p->steps.data[i];
		uint32_t *best = step->parent == NONE ? NULL : &p->best[step->type];

		if (best && (*best == NONE || step->bytes > p->steps.data[*best].bytes))
			*best = i;
	}
}

int tapir_heap_paths__init(struct tapir_heap_paths *out, const struct tapir_heap_graph *g)
{
	struct tapir_heap_paths made = {.best = malloc((g->types.cnt + 1) * sizeof(*made.best)),
					.of_object =
						malloc((g->va.cnt + 1) * sizeof(*made.of_object))};
	/* of_object is both the walk's memory of where it has been and its result. */
	struct walk w = {.g = g,
			 .paths = &made,
			 .step = made.of_object,
			 .queue = malloc((g->va.cnt + 1) * sizeof(*w.queue))};
	int err = made.best && w.step && w.queue ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < g->types.cnt; i++)
		made.best[i] = NONE;
	for (size_t i = 0; !err && i < g->va.cnt; i++)
		w.step[i] = NONE;
	if (!err)
		err = walk_all(&w);
	if (!err)
		choose_paths(&made);
	free(w.queue);
	tapir_map__fini(&made.steps.idx_by_key); /* no step is added from here on */
	if (err)
		tapir_heap_paths__fini(&made);
	else
		*out = made;
	return err;
}

void tapir_heap_paths__fini(struct tapir_heap_paths *p)
{
	tapir_keyed__fini(&p->steps);
	free(p->best);
	free(p->of_object);
	p->best = p->of_object = NULL;
}

const char *tapir_heap_root__text(const struct tapir_heap_root *root, char *text, size_t text_bytes)
{
	static const char *const kinds[TAPIR_HEAP_ROOT_CNT] = {
		[TAPIR_HEAP_ROOT_STATIC] = "a static field",
		[TAPIR_HEAP_ROOT_HANDLE] = "a handle",
		[TAPIR_HEAP_ROOT_PINNED] = "a pinned handle",
		[TAPIR_HEAP_ROOT_STACK] = "a thread's stack",
		[TAPIR_HEAP_ROOT_FINALIZER] = "the queue of finalizers",
		[TAPIR_HEAP_ROOT_OTHER] = "the runtime",
	};

	if (!root->name || !root->name[0])
		return kinds[root->kind];
	snprintf(text, text_bytes, "static %s", root->name);
	return text;
}
