// SPDX-License-Identifier: GPL-2.0-or-later
/* A child is found by (parent, name); siblings are a list, sorted at the end. */
#include "analyze/stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "symbol/frame.h"

/* ---- names ------------------------------------------------------------------------------ */

static uint64_t name_key(const char *name)
{
	return tapir_hash__bytes(1, name, strlen(name));
}

static uint32_t name_idx(struct tapir_stack_tree *tree, const char *name)
{
	bool is_new = false;
	uint64_t *idx = tapir_map__put(&tree->by_name, name_key(name), &is_new);
	char *copy;

	if (!idx || !is_new)
		return idx ? (uint32_t)*idx : 0;
	copy = tree->names.cnt < TAPIR_STACK_TREE_MAX_NODES ? strdup(name) : NULL;
	if (!copy || !tapir_vec__push(&tree->names, copy)) {
		free(copy);
		tree->failed = true;
		*idx = 0;
		return 0;
	}
	*idx = tree->names.cnt - 1;
	return (uint32_t)*idx;
}

/* "main", or where it is: "libc.so.6+0x271ca". */
static void describe(const struct tapir_frame *frame, struct tapir_str *out)
{
	tapir_str__clear(out);
	if (frame->name.len) {
		tapir_str__add(out, frame->name.data,
			       frame->name.len < TAPIR_STACK_TREE_MAX_NAME
				       ? frame->name.len
				       : TAPIR_STACK_TREE_MAX_NAME);
		return;
	}
	tapir_frame__add_place(out, frame, tapir_str__add);
}

/* ---- nodes ------------------------------------------------------------------------------ */

static bool make_root(struct tapir_stack_tree *tree)
{
	if (!tree->nodes.cnt) {
		name_idx(tree, "all");
		tree->failed |= !tapir_vec__add(&tree->nodes);
	}
	return tree->nodes.cnt;
}

/* The parent's child of that name, made if it is new; the parent itself when there is no room. */
static uint32_t child(struct tapir_stack_tree *tree, uint32_t parent, uint32_t name)
{
	bool is_new = false;
	uint64_t *idx = tapir_map__put(&tree->by_child, (uint64_t)parent << 32 | name, &is_new);
	struct tapir_tree_node node = {.name = name};

	if (idx && !is_new)
		return (uint32_t)*idx;
	node.next_sibling = tree->nodes.data[parent].first_child;
	node.depth = tree->nodes.data[parent].depth + 1;
	if (!idx || tree->nodes.cnt == TAPIR_STACK_TREE_MAX_NODES ||
	    !tapir_vec__push(&tree->nodes, node)) {
		tree->dropped++;
		if (idx)
			*idx = parent;
		return parent;
	}
	*idx = tree->nodes.cnt - 1;
	tree->nodes.data[parent].first_child = (uint32_t)*idx;
	if (node.depth > tree->max_depth)
		tree->max_depth = node.depth;
	return (uint32_t)*idx;
}

static uint32_t add_frames(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			   uint32_t tgid, uint64_t time_ns, const struct tapir_rec_stack *stack,
			   uint32_t node, uint64_t weight)
{
	struct tapir_stack_view view;
	struct tapir_str name = {};

	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = stack->frame_cnt; i-- > 0;) {
		struct tapir_frame frame = tapir_frame__of(catalog, tgid, time_ns, &view, i);
		uint32_t next;

		describe(&frame, &name);
		next = child(tree, node, name_idx(tree, name.data ? name.data : "?"));
		if (next == node)
			break;
		node = next;
		tree->nodes.data[node].total += weight;
	}
	tapir_str__fini(&name);
	return node;
}

bool tapir_stack_tree__add(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			   uint32_t tgid, uint64_t time_ns, uint64_t stack_id, uint64_t kstack_id,
			   uint64_t weight)
{
	const struct tapir_rec_stack *user =
		stack_id ? tapir_catalog__stack(catalog, stack_id) : NULL;
	const struct tapir_rec_stack *kernel =
		kstack_id ? tapir_catalog__stack(catalog, kstack_id) : NULL;
	uint32_t node = TAPIR_STACK_TREE_ROOT;

	if ((!user && !kernel) || !make_root(tree))
		return false;
	tree->nodes.data[node].total += weight;
	if (user)
		node = add_frames(tree, catalog, tgid, time_ns, user, node, weight);
	if (kernel)
		node = add_frames(tree, catalog, tgid, time_ns, kernel, node, weight);
	tree->nodes.data[node].self += weight;
	return true;
}

bool tapir_stack_tree__add_record(struct tapir_stack_tree *tree,
				  const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	const struct tapir_rec_event *ev = (const void *)rec;
	struct tapir_event_view view;

	if (rec->type == TAPIR_REC_SAMPLE)
		return tapir_stack_tree__add(tree, catalog, sample->tgid, rec->time_ns,
					     sample->stack_id, sample->kstack_id, 1);
	if (rec->type != TAPIR_REC_EVENT)
		return false;
	tapir_event_view__of(rec, &view);
	return tapir_stack_tree__add(tree, catalog, ev->tgid, rec->time_ns, ev->stack_id,
				     view.kstack_id, 1);
}

/* ---- afterwards ------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct tapir_stack_tree *tree = ctx;
	const struct tapir_tree_node *x = &tree->nodes.data[*(const uint32_t *)a];
	const struct tapir_tree_node *y = &tree->nodes.data[*(const uint32_t *)b];

	return strcmp(tree->names.data[x->name], tree->names.data[y->name]);
}

static void sort_children(struct tapir_stack_tree *tree, struct tapir_tree_node *parent,
			  uint32_t *idxs)
{
	size_t cnt = 0;

	for (uint32_t c = parent->first_child; c; c = tree->nodes.data[c].next_sibling)
		idxs[cnt++] = c;
	if (cnt < 2)
		return;
	qsort_r(idxs, cnt, sizeof(*idxs), by_name, tree);
	parent->first_child = idxs[0];
	for (size_t i = 0; i < cnt; i++)
		tree->nodes.data[idxs[i]].next_sibling = i + 1 < cnt ? idxs[i + 1] : 0;
}

void tapir_stack_tree__sort(struct tapir_stack_tree *tree)
{
	uint32_t *idxs = calloc(tree->nodes.cnt + 1, sizeof(*idxs));
	struct tapir_tree_node *node;

	tree->failed |= !idxs;
	if (idxs)
		tapir_vec_for_each (node, &tree->nodes)
			sort_children(tree, node, idxs);
	free(idxs);
}

void tapir_stack_tree__fini(struct tapir_stack_tree *tree)
{
	for (size_t i = 0; i < tree->names.cnt; i++)
		free(tree->names.data[i]);
	tapir_vec__fini(&tree->names);
	tapir_vec__fini(&tree->nodes);
	tapir_map__fini(&tree->by_child);
	tapir_map__fini(&tree->by_name);
}
