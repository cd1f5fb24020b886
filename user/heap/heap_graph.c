// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See heap_graph.h. A runtime walks its heap region by region, so objects come as runs of ascending
 * addresses: sorting the runs sorts the objects. Where runs overlap, which no runtime does, the
 * objects are sorted one by one.
 *
 * A reference is looked up by its page of 4 KB first: the pages' table stays in the CPU's cache,
 * and a page holds at most 512 objects.
 */
#include "heap/heap_graph.h"
#include "base/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SHIFT 12
#define NAMES_MAX  (64u << 20)
#define NEAR_BYTES (1u << 20) /* less than a region */

struct run {
	uint32_t from, cnt;
	uint64_t first_va, last_va;
};

struct runs tapir_vec(struct run);

bool tapir_heap_graph__add_object(struct tapir_heap_graph *g, uint64_t va, uint64_t bytes,
				  uint64_t type_id, uint64_t edge_cnt)
{
	size_t cnt = g->va.cnt;
	uint32_t type;

	if (cnt < TAPIR_HEAP_MAX_OBJECTS && edge_cnt <= TAPIR_HEAP_MAX_EDGES) {
		type = tapir_heap_graph__type(g, type_id);
		if (type != TAPIR_HEAP_NO_OBJECT && tapir_vec__push(&g->va, va) &&
		    tapir_vec__push(&g->bytes, bytes) && tapir_vec__push(&g->type, type) &&
		    tapir_vec__push(&g->edge_cnt, (uint32_t)edge_cnt))
			return true;
	}
	g->va.cnt = cnt < g->edge_cnt.cnt ? cnt : g->edge_cnt.cnt;
	g->is_full = true;
	return false;
}

bool tapir_heap_graph__add_edge(struct tapir_heap_graph *g, uint64_t va)
{
	if (g->edge_va.cnt < TAPIR_HEAP_MAX_EDGES && tapir_vec__push(&g->edge_va, va))
		return true;
	g->is_full = true;
	return false;
}

bool tapir_heap_graph__add_root(struct tapir_heap_graph *g, uint64_t va,
				enum tapir_heap_root_kind kind, const char *name)
{
	struct tapir_heap_root root = {.object_va = va, .kind = (uint8_t)kind};

	g->names.max_bytes = NAMES_MAX;
	if (name)
		root.name = tapir_arena__text(&g->names, name, strlen(name));
	if (g->roots.cnt < TAPIR_HEAP_MAX_OBJECTS && tapir_vec__push(&g->roots, root))
		return true;
	g->is_full = true;
	return false;
}

uint32_t tapir_heap_graph__type(struct tapir_heap_graph *g, uint64_t id)
{
	const struct tapir_heap_type *type = tapir_keyed__add(&g->types, id, TAPIR_HEAP_MAX_TYPES,
							      ((struct tapir_heap_type){.id = id}));

	return type ? (uint32_t)(type - g->types.data) : TAPIR_HEAP_NO_OBJECT;
}

void tapir_heap_graph__clear(struct tapir_heap_graph *g)
{
	g->va.cnt = g->bytes.cnt = g->type.cnt = g->edge_cnt.cnt = 0;
	g->edge_va.cnt = g->roots.cnt = g->dependents.cnt = 0;
	g->is_full = false;
}

/* ---- sorting --------------------------------------------------------------------------------- */

static int by_first_va(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return (x->first_va > y->first_va) - (x->first_va < y->first_va);
}

/*
 * Regions come in any order, the objects of one by address. A run that went on in a later region
 * would overlap those in between, so it ends where the next object is not near.
 */
static bool find_runs(const struct tapir_heap_graph *g, struct runs *runs)
{
	const uint64_t *va = g->va.data;

	for (uint32_t i = 0; i < g->va.cnt; i++) {
		struct run *last = runs->cnt ? &runs->data[runs->cnt - 1] : NULL;
		struct run run = {i, 1, va[i], va[i]};

		if (last && va[i] > last->last_va && va[i] - last->last_va <= NEAR_BYTES) {
			last->cnt++;
			last->last_va = va[i];
		} else if (!tapir_vec__push(runs, run)) {
			return false;
		}
	}
	return true;
}

static bool overlap(const struct runs *runs)
{
	for (size_t i = 1; i < runs->cnt; i++)
		if (runs->data[i].first_va <= runs->data[i - 1].last_va)
			return true;
	return false;
}

/* One object a run: what overlaps is sorted as such. */
static bool split_runs(const struct tapir_heap_graph *g, struct runs *runs)
{
	runs->cnt = 0;
	for (uint32_t i = 0; i < g->va.cnt; i++) {
		struct run run = {i, 1, g->va.data[i], g->va.data[i]};

		if (!tapir_vec__push(runs, run))
			return false;
	}
	return true;
}

/* Sorts by address, then by the order of arrival. */
static int by_va_and_order(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return by_first_va(a, b) ?: tapir_order__up(x->from, y->from);
}

static int sort_runs(const struct tapir_heap_graph *g, struct runs *runs)
{
	if (!find_runs(g, runs))
		return -ENOMEM;
	if (runs->cnt)
		qsort(runs->data, runs->cnt, sizeof(*runs->data), by_first_va);
	if (!overlap(runs))
		return 0;
	if (!split_runs(g, runs))
		return -ENOMEM;
	qsort(runs->data, runs->cnt, sizeof(*runs->data), by_va_and_order);
	return 0;
}

/* ---- references ------------------------------------------------------------------------------- */

/*
 * The index at which each object's references begin in the order of arrival; the last is their
 * number.
 */
static uint64_t *old_first_edges(const struct tapir_heap_graph *g)
{
	uint64_t *first = malloc((g->va.cnt + 1) * sizeof(*first));
	uint64_t at = 0;

	for (size_t i = 0; first && i < g->va.cnt; i++) {
		first[i] = at;
		at += g->edge_cnt.data[i];
		at = at < g->edge_va.cnt ? at : g->edge_va.cnt;
	}
	if (first)
		first[g->va.cnt] = at;
	return first;
}

struct sorted {
	uint64_t *va, *bytes, *first_edge, *edge_va;
	uint32_t *type;
	uint32_t cnt;
	uint64_t edge_cnt;
};

static void sorted_fini(struct sorted *s)
{
	free(s->va);
	free(s->bytes);
	free(s->type);
	free(s->first_edge);
	free(s->edge_va);
}

static bool sorted_init(struct sorted *s, const struct tapir_heap_graph *g)
{
	size_t cnt = g->va.cnt;

	s->va = malloc(cnt * sizeof(*s->va) + 1);
	s->bytes = malloc(cnt * sizeof(*s->bytes) + 1);
	s->type = malloc(cnt * sizeof(*s->type) + 1);
	s->first_edge = malloc((cnt + 1) * sizeof(*s->first_edge));
	s->edge_va = malloc(g->edge_va.cnt * sizeof(*s->edge_va) + 1);
	return s->va && s->bytes && s->type && s->first_edge && s->edge_va;
}

static void sort_one(struct sorted *s, const struct tapir_heap_graph *g, const uint64_t *old_first,
		     uint32_t old)
{
	uint64_t edges = old_first[old + 1] - old_first[old];

	if (s->cnt && s->va[s->cnt - 1] == g->va.data[old])
		return;
	s->va[s->cnt] = g->va.data[old];
	s->bytes[s->cnt] = g->bytes.data[old];
	s->type[s->cnt] = g->type.data[old];
	s->first_edge[s->cnt++] = s->edge_cnt;
	if (edges)
		memcpy(s->edge_va + s->edge_cnt, g->edge_va.data + old_first[old],
		       edges * sizeof(*s->edge_va));
	s->edge_cnt += edges;
}

/* Moves what is sorted into the graph; edges stay with s. */
static void keep_graph(struct tapir_heap_graph *g, struct sorted *s)
{
	tapir_vec__fini(&g->edge_va);
	tapir_vec__fini(&g->edge_cnt);
	free(g->va.data);
	free(g->bytes.data);
	free(g->type.data);
	g->va.data = s->va;
	g->bytes.data = s->bytes;
	g->type.data = s->type;
	g->va.cnt = g->bytes.cnt = g->type.cnt = s->cnt;
	g->va.cap = g->bytes.cap = g->type.cap = s->cnt;
	g->first_edge = s->first_edge;
	g->first_edge[s->cnt] = s->edge_cnt;
	s->va = s->bytes = s->first_edge = NULL;
	s->type = NULL;
}

static int sort_objects(struct tapir_heap_graph *g, struct sorted *s)
{
	uint64_t *old_first = old_first_edges(g);
	struct runs runs = {};
	int err = old_first && sorted_init(s, g) ? sort_runs(g, &runs) : -ENOMEM;

	for (size_t r = 0; !err && r < runs.cnt; r++)
		for (uint32_t i = 0; i < runs.data[r].cnt; i++)
			sort_one(s, g, old_first, runs.data[r].from + i);
	free(old_first);
	tapir_vec__fini(&runs);
	if (!err)
		keep_graph(g, s);
	return err;
}

/* The first object of each page that has one. */
static int map_pages(const struct tapir_heap_graph *g, struct tapir_map *pages)
{
	uint64_t last = UINT64_MAX;

	for (size_t i = 0; i < g->va.cnt; i++) {
		uint64_t page = g->va.data[i] >> PAGE_SHIFT, *slot;

		if (page == last)
			continue;
		last = page;
		slot = tapir_map__put(pages, page, NULL);
		if (!slot)
			return -ENOMEM;
		*slot = i;
	}
	return 0;
}

static uint32_t find_between(const struct tapir_heap_graph *g, uint64_t va, size_t low, size_t high)
{
	const uint64_t *all = g->va.data;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all[mid] == va)
			return (uint32_t)mid;
		if (all[mid] < va)
			low = mid + 1;
		else
			high = mid;
	}
	return TAPIR_HEAP_NO_OBJECT;
}

static uint32_t find_on_page(const struct tapir_heap_graph *g, const struct tapir_map *pages,
			     uint64_t va)
{
	const uint64_t *first = tapir_map__get(pages, va >> PAGE_SHIFT);
	size_t high;

	if (!first)
		return TAPIR_HEAP_NO_OBJECT;
	high = *first + (1u << PAGE_SHIFT);
	return find_between(g, va, *first, high < g->va.cnt ? high : g->va.cnt);
}

uint32_t tapir_heap_graph__find(const struct tapir_heap_graph *g, uint64_t va)
{
	return find_between(g, va, 0, g->va.cnt);
}

struct dependent {
	uint32_t key, value;
};

static int by_key(const void *a, const void *b)
{
	const struct dependent *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* Finds the dependent handles between objects that exist, by key. *out is the caller's. */
static int find_dependents(const struct tapir_heap_graph *g, struct dependent **out, size_t *cnt)
{
	const struct tapir_heap_dependent *d;

	*cnt = 0;
	*out = malloc(g->dependents.cnt * sizeof(**out) + 1);
	if (!*out)
		return -ENOMEM;
	tapir_vec_for_each (d, &g->dependents) {
		struct dependent found = {tapir_heap_graph__find(g, d->key_va),
					  tapir_heap_graph__find(g, d->value_va)};

		if (found.key != TAPIR_HEAP_NO_OBJECT && found.value != TAPIR_HEAP_NO_OBJECT)
			(*out)[(*cnt)++] = found;
	}
	if (*cnt)
		qsort(*out, *cnt, sizeof(**out), by_key);
	return 0;
}

/* References to objects that exist, and those of dependent handles. */
static int resolve_references(struct tapir_heap_graph *g, const struct sorted *s,
			      const struct tapir_map *pages)
{
	struct dependent *dependents;
	size_t dependent_cnt, next = 0;
	uint64_t at = 0, from = 0;
	int err = find_dependents(g, &dependents, &dependent_cnt);

	if (!err)
		g->edges = malloc((s->edge_cnt + dependent_cnt) * sizeof(*g->edges) + 1);
	if (!g->edges) {
		free(dependents);
		return -ENOMEM;
	}
	/*
	 * In place: first_edge[] is read as it came, with references to what is no object, and
	 * rewritten behind the reading position, where only edges that lead somewhere count.
	 */
	for (uint32_t i = 0; i < g->va.cnt; i++) {
		uint64_t until = g->first_edge[i + 1];

		g->first_edge[i] = at;
		for (; from < until; from++) {
			uint32_t to = find_on_page(g, pages, s->edge_va[from]);

			g->edges[at] = to;
			at += to != TAPIR_HEAP_NO_OBJECT;
		}
		/*
		 * A dependent handle keeps its value alive as long as its key: the same as a
		 * reference from one to the other.
		 */
		for (; next < dependent_cnt && dependents[next].key == i; next++)
			g->edges[at++] = dependents[next].value;
	}
	g->edges_left = s->edge_cnt + dependent_cnt - at;
	g->first_edge[g->va.cnt] = at;
	free(dependents);
	return 0;
}

static int by_kind(const void *a, const void *b)
{
	const struct tapir_heap_root *x = a, *y = b;

	return tapir_order__up(x->kind, y->kind) ?: tapir_order__up(x->object_va, y->object_va);
}

int tapir_heap_graph__seal(struct tapir_heap_graph *g)
{
	struct tapir_map pages = {};
	struct tapir_heap_root *root;
	struct sorted s = {};
	int err = sort_objects(g, &s);

	if (!err)
		err = map_pages(g, &pages);
	if (!err)
		err = resolve_references(g, &s, &pages);
	tapir_vec_for_each (root, &g->roots)
		root->object = tapir_heap_graph__find(g, root->object_va);
	if (g->roots.cnt)
		qsort(g->roots.data, g->roots.cnt, sizeof(*g->roots.data), by_kind);
	tapir_map__fini(&pages);
	sorted_fini(&s);
	return err;
}

void tapir_heap_graph__fini(struct tapir_heap_graph *g)
{
	tapir_vec__fini(&g->va);
	tapir_vec__fini(&g->bytes);
	tapir_vec__fini(&g->type);
	tapir_vec__fini(&g->edge_cnt);
	tapir_vec__fini(&g->edge_va);
	tapir_vec__fini(&g->roots);
	tapir_vec__fini(&g->dependents);
	tapir_keyed__fini(&g->types);
	tapir_arena__fini(&g->names);
	free(g->first_edge);
	free(g->edges);
	g->first_edge = NULL;
	g->edges = NULL;
}
