// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chooses nodes of a call tree. A node is made after its caller, so that a pass from the end adds
 * up what is below each, and a pass from the start numbers those that stay.
 */
#include "output/page/page_nodes.h"

#include <errno.h>

struct choice {
	const struct tapir_stack_tree *tree;
	uint64_t *rows;	  /* of each node, then of it and all it calls */
	uint32_t *number; /* of each node: its own, or that of the caller which is kept */
};

static uint32_t caller_of(const struct choice *c, size_t node)
{
	return c->tree->nodes.data[node].parent;
}

static void count_rows(const struct choice *c, struct tapir_page_marks *const *marks,
		       struct tapir_page_slices *const *slices)
{
	const struct tapir_page_mark *m;
	const struct tapir_page_slice *s;

	for (; *marks; marks++)
		tapir_vec_for_each (m, &(*marks)->rows)
			c->rows[m->node] += m->weight;
	for (; *slices; slices++)
		tapir_vec_for_each (s, &(*slices)->rows)
			c->rows[s->node]++;
	for (size_t n = c->tree->nodes.cnt; n-- > 1;)
		c->rows[caller_of(c, n)] += c->rows[n];
}

/* Returns how many rows a node needs to be kept, so that at most max_nodes are. */
static uint64_t least_rows(const struct choice *c, size_t max_nodes)
{
	for (uint64_t least = 1;; least *= 2) {
		size_t cnt = 0;

		for (size_t n = 1; n < c->tree->nodes.cnt; n++)
			cnt += c->rows[n] >= least;
		if (cnt <= max_nodes)
			return least;
	}
}

static int keep_nodes(struct tapir_page_nodes *nodes, struct choice *c, size_t max_nodes)
{
	uint64_t least = least_rows(c, max_nodes);

	if (!tapir_vec__push(&nodes->kept, 0))
		return -ENOMEM;
	for (uint32_t n = 1; n < c->tree->nodes.cnt; n++) {
		c->number[n] = c->number[caller_of(c, n)];
		nodes->left_cnt += c->rows[n] && c->rows[n] < least;
		if (c->rows[n] < least)
			continue;
		c->number[n] = (uint32_t)nodes->kept.cnt;
		if (!tapir_vec__push(&nodes->kept, n))
			return -ENOMEM;
	}
	return 0;
}

static void renumber(const struct choice *c, struct tapir_page_marks *const *marks,
		     struct tapir_page_slices *const *slices)
{
	struct tapir_page_mark *m;
	struct tapir_page_slice *s;

	for (; *marks; marks++)
		tapir_vec_for_each (m, &(*marks)->rows)
			m->node = c->number[m->node];
	for (; *slices; slices++)
		tapir_vec_for_each (s, &(*slices)->rows)
			s->node = c->number[s->node];
}

int tapir_page_nodes__choose(struct tapir_page_nodes *nodes, const struct tapir_stack_tree *tree,
			     size_t max_nodes, struct tapir_page_marks *const *marks,
			     struct tapir_page_slices *const *slices)
{
	size_t cnt = tree->nodes.cnt ? tree->nodes.cnt : 1;
	struct choice c = {.tree = tree,
			   .rows = calloc(cnt, sizeof(*c.rows)),
			   .number = calloc(cnt, sizeof(*c.number))};
	int err = -ENOMEM;

	if (c.rows && c.number) {
		count_rows(&c, marks, slices);
		err = keep_nodes(nodes, &c, max_nodes);
	}
	if (!err)
		renumber(&c, marks, slices);
	free(c.rows);
	free(c.number);
	return err;
}

struct row {
	uint32_t parent, name, kind;
};

/* The parent's place among those that are kept: they are in order. */
static uint32_t parent_idx(const struct tapir_page_nodes *nodes, uint32_t node)
{
	size_t low = 0, high = nodes->kept.cnt;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (nodes->kept.data[middle] <= node)
			low = middle;
		else
			high = middle;
	}
	return (uint32_t)low;
}

void tapir_page_nodes__write(const struct tapir_page_nodes *nodes,
			     const struct tapir_stack_tree *tree, struct tapir_page_texts *names,
			     struct tapir_json *j)
{
	static const struct tapir_page_column columns[] = {
		{"parent", offsetof(struct row, parent), false},
		{"name", offsetof(struct row, name), false},
		{"kind", offsetof(struct row, kind), false},
		{}};
	struct tapir_vec(struct row) rows = {};
	struct tapir_str label = {};

	for (size_t i = 0; i < nodes->kept.cnt; i++) {
		uint32_t node = nodes->kept.data[i];
		struct row *row = tapir_vec__add(&rows);

		j->out->failed |= !row;
		/* The root is a row of zeros: parents are numbers of rows, and its own is 0. */
		if (!row || !i)
			continue;
		tapir_str__clear(&label);
		tapir_stack_tree__add_label(&label, tree, node);
		row->parent = parent_idx(nodes, tree->nodes.data[node].parent);
		row->name = tapir_page_texts__number(names, label.data, label.len);
		row->kind = tree->nodes.data[node].kind;
	}
	tapir_page_columns__write(j, "nodes", rows.data, sizeof(*rows.data), rows.cnt, columns);
	j->out->failed |= label.failed;
	tapir_str__fini(&label);
	tapir_vec__fini(&rows);
}

void tapir_page_nodes__fini(struct tapir_page_nodes *nodes)
{
	tapir_vec__fini(&nodes->kept);
}
