// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Objects are renumbered in the order of a depth-first search from a root of all roots, which has
 * number 0. All arrays are by that number.
 */
#include "heap/heap_dominators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct flow {
	const struct tapir_heap_graph *g;
	uint32_t cnt;	  /* numbers in use, that of the root among them */
	uint32_t *number; /* by object; NONE: it is not reachable */
	uint32_t *object; /* by number, like all that follow */
	uint32_t *parent; /* in the search's tree */
	uint32_t *semi, *ancestor, *label, *dominator;
	uint32_t *bucket, *next; /* lists of numbers with the same semidominator */
	uint64_t *first_pred;
	uint32_t *preds;
};

static void flow_fini(struct flow *f)
{
	free(f->number);
	free(f->object);
	free(f->parent);
	free(f->semi);
	free(f->ancestor);
	free(f->label);
	free(f->dominator);
	free(f->bucket);
	free(f->next);
	free(f->first_pred);
	free(f->preds);
}

static uint32_t *numbers(uint32_t cnt, uint32_t value)
{
	uint32_t *all = malloc(((size_t)cnt + 1) * sizeof(*all));

	for (size_t i = 0; all && i <= cnt; i++)
		all[i] = value;
	return all;
}

static bool flow_init(struct flow *f, const struct tapir_heap_graph *g)
{
	uint32_t cnt = (uint32_t)g->va.cnt + 1;

	*f = (struct flow){.g = g,
			   .cnt = 1,
			   .number = numbers(cnt, NONE),
			   .object = numbers(cnt, NONE),
			   .parent = numbers(cnt, 0)};
	return f->number && f->object && f->parent;
}

/* ---- the search ------------------------------------------------------------------------------- */

static void visit_object(struct flow *f, uint32_t object, uint32_t parent)
{
	f->number[object] = f->cnt;
	f->object[f->cnt] = object;
	f->parent[f->cnt++] = parent;
}

/* at: by number, the next reference to follow. The path back is the parents'. */
static void search_from(struct flow *f, uint32_t root, uint64_t *at)
{
	const struct tapir_heap_graph *g = f->g;
	uint32_t v = f->cnt;

	if (root == NONE || f->number[root] != NONE)
		return;
	visit_object(f, root, 0);
	at[v] = g->first_edge[root];
	while (v) {
		uint32_t object = f->object[v], to = NONE;

		while (at[v] < g->first_edge[object + 1] && to == NONE) {
			to = g->edges[at[v]++];
			if (f->number[to] != NONE)
				to = NONE;
		}
		if (to == NONE) {
			v = f->parent[v];
			continue;
		}
		visit_object(f, to, v);
		v = f->cnt - 1;
		at[v] = g->first_edge[to];
	}
}

static int search_depth_first(struct flow *f)
{
	uint64_t *at = malloc((f->g->va.cnt + 1) * sizeof(*at));
	const struct tapir_heap_root *root;

	if (!at)
		return -ENOMEM;
	tapir_vec_for_each (root, &f->g->roots)
		search_from(f, root->object, at);
	free(at);
	return 0;
}

/* Calls for each reference between reachable objects, and for each root's: number to number. */
#define FOR_EACH_FLOW(f, from, to, do_this)                                                        \
	do {                                                                                       \
		const struct tapir_heap_root *root_;                                               \
		uint32_t from = 0, to;                                                             \
		tapir_vec_for_each (root_, &(f)->g->roots) {                                       \
			to = root_->object == NONE ? NONE : (f)->number[root_->object];            \
			if (to != NONE) {                                                          \
				do_this;                                                           \
			}                                                                          \
		}                                                                                  \
		for (from = 1; from < (f)->cnt; from++) {                                          \
			uint32_t object_ = (f)->object[from];                                      \
			for (uint64_t e_ = (f)->g->first_edge[object_];                            \
			     e_ < (f)->g->first_edge[object_ + 1]; e_++) {                         \
				to = (f)->number[(f)->g->edges[e_]];                               \
				do_this;                                                           \
			}                                                                          \
		}                                                                                  \
	} while (0)

static int find_preds(struct flow *f)
{
	uint64_t sum = 0;

	f->first_pred = calloc((size_t)f->cnt + 2, sizeof(*f->first_pred));
	if (!f->first_pred)
		return -ENOMEM;
	FOR_EACH_FLOW(f, from, to, f->first_pred[to + 1]++);
	for (uint32_t i = 0; i <= f->cnt; i++) {
		uint64_t cnt = f->first_pred[i + 1];

		f->first_pred[i + 1] = sum;
		sum += cnt;
	}
	f->preds = malloc(sum * sizeof(*f->preds) + 1);
	if (!f->preds)
		return -ENOMEM;
	/* Moves each beginning to its end, which is the beginning of the one after it. */
	FOR_EACH_FLOW(f, from, to, f->preds[f->first_pred[to + 1]++] = from);
	f->first_pred[0] = 0;
	return 0;
}

/* ---- dominators ------------------------------------------------------------------------------- */

/* The path to the forest's root becomes short. stack: room for all numbers. */
static void compress(struct flow *f, uint32_t v, uint32_t *stack)
{
	uint32_t depth = 0;

	while (f->ancestor[f->ancestor[v]] != NONE) {
		stack[depth++] = v;
		v = f->ancestor[v];
	}
	while (depth--) {
		uint32_t w = stack[depth], above = f->ancestor[w];

		if (f->semi[f->label[above]] < f->semi[f->label[w]])
			f->label[w] = f->label[above];
		f->ancestor[w] = f->ancestor[above];
	}
}

static uint32_t eval(struct flow *f, uint32_t v, uint32_t *stack)
{
	if (f->ancestor[v] == NONE)
		return v;
	compress(f, v, stack);
	return f->label[v];
}

static void settle_bucket(struct flow *f, uint32_t parent, uint32_t *stack)
{
	uint32_t v = f->bucket[parent];

	f->bucket[parent] = NONE;
	while (v != NONE) {
		uint32_t u = eval(f, v, stack);

		f->dominator[v] = f->semi[u] < f->semi[v] ? u : parent;
		v = f->next[v];
	}
}

static void find_dominators(struct flow *f, uint32_t *stack)
{
	for (uint32_t w = f->cnt - 1; w > 0; w--) {
		for (uint64_t p = f->first_pred[w]; p < f->first_pred[w + 1]; p++) {
			uint32_t u = eval(f, f->preds[p], stack);

			if (f->semi[u] < f->semi[w])
				f->semi[w] = f->semi[u];
		}
		f->next[w] = f->bucket[f->semi[w]];
		f->bucket[f->semi[w]] = w;
		f->ancestor[w] = f->parent[w];
		settle_bucket(f, f->parent[w], stack);
	}
	for (uint32_t w = 1; w < f->cnt; w++)
		if (f->dominator[w] != f->semi[w])
			f->dominator[w] = f->dominator[f->dominator[w]];
}

static int dominate(struct flow *f)
{
	uint32_t *stack = numbers(f->cnt, 0);

	f->semi = numbers(f->cnt, 0);
	f->label = numbers(f->cnt, 0);
	f->ancestor = numbers(f->cnt, NONE);
	f->dominator = numbers(f->cnt, 0);
	f->bucket = numbers(f->cnt, NONE);
	f->next = numbers(f->cnt, NONE);
	if (stack && f->semi && f->label && f->ancestor && f->dominator && f->bucket && f->next) {
		for (uint32_t i = 0; i < f->cnt; i++)
			f->semi[i] = f->label[i] = i;
		find_dominators(f, stack);
	}
	free(stack);
	return f->next && stack ? 0 : -ENOMEM;
}

/* ---- what is retained ------------------------------------------------------------------------- */

/* bucket and next become the dominator tree's children, ascending. */
static void make_tree(struct flow *f)
{
	for (uint32_t i = 0; i < f->cnt; i++)
		f->bucket[i] = f->next[i] = NONE;
	for (uint32_t w = f->cnt - 1; w > 0; w--) {
		f->next[w] = f->bucket[f->dominator[w]];
		f->bucket[f->dominator[w]] = w;
	}
}

/* A type's outermost objects in the tree hold what all of them hold. open: objects entered. */
static void sum_types(struct flow *f, const uint64_t *retained, uint32_t *open, uint64_t *by_type)
{
	const uint32_t *types = f->g->type.data;
	uint32_t v = f->bucket[0];

	while (v != NONE && v) {
		uint32_t type = types[f->object[v]];

		if (!open[type]++)
			by_type[type] += retained[v];
		if (f->bucket[v] != NONE) {
			v = f->bucket[v];
			continue;
		}
		for (;;) {
			open[types[f->object[v]]]--;
			if (f->next[v] != NONE) {
				v = f->next[v];
				break;
			}
			v = f->dominator[v];
			if (!v)
				return;
		}
	}
}

static int retain(struct flow *f, struct tapir_heap_retained *out)
{
	uint64_t *retained = calloc(f->cnt, sizeof(*retained));
	uint32_t *open = calloc(f->g->types.cnt + 1, sizeof(*open));
	int err = retained && open ? 0 : -ENOMEM;

	for (uint32_t v = f->cnt - 1; !err && v > 0; v--) {
		uint64_t own = f->g->bytes.data[f->object[v]];

		retained[v] += own;
		retained[f->dominator[v]] += retained[v];
		out->reachable_bytes += own;
	}
	out->reachable_cnt = f->cnt - 1;
	if (!err) {
		make_tree(f);
		sum_types(f, retained, open, out->by_type);
	}
	free(retained);
	free(open);
	return err;
}

int tapir_heap_retained__init(struct tapir_heap_retained *out, const struct tapir_heap_graph *g)
{
	struct tapir_heap_retained made = {.by_type =
						   calloc(g->types.cnt + 1, sizeof(*made.by_type))};
	struct flow f;
	int err = flow_init(&f, g) && made.by_type ? 0 : -ENOMEM;

	if (!err)
		err = search_depth_first(&f);
	if (!err)
		err = find_preds(&f);
	if (!err)
		err = dominate(&f);
	if (!err)
		err = retain(&f, &made);
	flow_fini(&f);
	if (err)
		tapir_heap_retained__fini(&made);
	else
		*out = made;
	return err;
}

void tapir_heap_retained__fini(struct tapir_heap_retained *r)
{
	free(r->by_type);
	r->by_type = NULL;
}
