// SPDX-License-Identifier: GPL-2.0-or-later
/* A child is found by (parent, name); siblings are a list, sorted at the end. */
#include "analyze/stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "symbol/frame_kind.h"

#define NO_NODE UINT32_MAX
#define UNNAMED 1 /* idx of the name of what is behind the bound */

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
	if (tree->name_bytes > TAPIR_STACK_TREE_MAX_BYTES) {
		*idx = UNNAMED;
		return UNNAMED;
	}
	tree->name_bytes += strlen(name) + 1;
	copy = strdup(name);
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
static uint32_t frame_name(struct tapir_stack_tree *tree, const struct tapir_frame *frame)
{
	struct tapir_str text = {}, buf = {};
	struct tapir_sv name = tapir_frame__shown_name(frame, &buf, NULL);
	uint32_t idx;

	if (name.len)
		tapir_str__add(&text, name.data,
			       name.len < TAPIR_STACK_TREE_MAX_NAME ? name.len
								    : TAPIR_STACK_TREE_MAX_NAME);
	else
		tapir_frame__add_place(&text, frame, tapir_str__add);
	tree->failed |= text.failed;
	idx = name_idx(tree, text.data ? text.data : "?");
	tapir_str__fini(&text);
	tapir_str__fini(&buf);
	return idx;
}

/* "java (4711)", by what it was called then. */
static uint32_t process_name(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			     uint32_t tgid, uint64_t time_ns)
{
	const struct tapir_rec_process *rec = tapir_catalog__process(catalog, tgid, time_ns);
	struct tapir_process_view view = {.comm = tapir_sv__of("?")};
	struct tapir_str text = {};
	uint32_t idx;

	if (rec)
		tapir_process_view__of(&rec->h, &view);
	tapir_str__add(&text, view.comm.data, view.comm.len);
	tapir_str__addf(&text, " (%u)", tgid);
	tree->failed |= text.failed;
	idx = name_idx(tree, text.data ? text.data : "?");
	tapir_str__fini(&text);
	return idx;
}

/* ---- nodes ------------------------------------------------------------------------------ */

static bool make_root(struct tapir_stack_tree *tree)
{
	if (!tree->nodes.cnt) {
		name_idx(tree, "all");
		name_idx(tree, "(too many names)");
		tree->failed |= !tapir_vec__add(&tree->nodes);
	}
	return tree->nodes.cnt;
}

/* Functions in which threads begin: a stack that does not reach one lacks its callers. */
static bool is_start(const char *name)
{
	static const char *const starts[] = {"_start",	"__libc_start_", "start_thread", "clone",
					     "__clone", "ret_from_fork", "thread_start", NULL};

	for (const char *const *start = starts; *start; start++)
		if (!strncmp(name, *start, strlen(*start)))
			return true;
	return false;
}

/* The parent's child of that name, made if it is new; the parent itself when there is no room. */
static uint32_t child(struct tapir_stack_tree *tree, uint32_t parent, uint32_t name,
		      enum tapir_frame_kind kind)
{
	uint64_t key = (uint64_t)parent << 32 | name;
	bool is_new = false;
	uint64_t *idx = tapir_map__get(&tree->by_child, key);
	struct tapir_tree_node node = {.name = name, .parent = parent, .kind = (uint8_t)kind};

	if (idx)
		return (uint32_t)*idx;
	if (tree->nodes.cnt == TAPIR_STACK_TREE_MAX_NODES)
		return parent;
	idx = tapir_map__put(&tree->by_child, key, &is_new);
	node.is_whole = tree->nodes.data[parent].kind == TAPIR_FRAME_NONE
				? is_start(tree->names.data[name])
				: tree->nodes.data[parent].is_whole;
	node.next_sibling = tree->nodes.data[parent].first_child;
	node.depth = (uint16_t)(tree->nodes.data[parent].depth + 1);
	if (!idx || !tapir_vec__push(&tree->nodes, node)) {
		tree->failed = true;
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

/* The idx of the frame's name, and its kind. */
static uint64_t frame_fact(void *ctx, const struct tapir_frame *frame)
{
	return (uint64_t)frame_name(ctx, frame) << 8 | tapir_frame__kind(frame);
}

static uint32_t add_frames(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			   const struct tapir_stack_ref *ref, uint64_t stack_id, uint32_t node,
			   struct tapir_name_span *span)
{
	const struct tapir_rec_stack *stack =
		stack_id ? tapir_catalog__stack(catalog, stack_id) : NULL;
	struct tapir_stack_view view;

	if (!stack)
		return node;
	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = stack->frame_cnt; i-- > 0;) {
		uint64_t fact = tapir_frame_memo__number(&tree->frame_memo, catalog, ref, &view, i,
							 frame_fact, tree, span);
		uint32_t next = child(tree, node, (uint32_t)(fact >> 8), fact & 0xff);

		if (next == node) {
			tree->dropped++;
			break;
		}
		node = next;
	}
	return node;
}

/* The node of the stack's innermost frame. */
static uint32_t innermost(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			  const struct tapir_stack_ref *ref, struct tapir_name_span *span)
{
	uint32_t node = TAPIR_STACK_TREE_ROOT;

	if (tree->by_process)
		node = child(tree, node, process_name(tree, catalog, ref->tgid, ref->time_ns),
			     TAPIR_FRAME_NONE);
	node = add_frames(tree, catalog, ref, ref->stack_id, node, span);
	return add_frames(tree, catalog, ref, ref->kstack_id, node, span);
}

static bool is_described(const struct tapir_catalog *catalog, uint64_t stack_id)
{
	return stack_id && tapir_catalog__stack(catalog, stack_id);
}

uint32_t tapir_stack_tree__node(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	const struct tapir_stack_memo_entry *known;
	struct tapir_stack_ref own = *ref;
	uint32_t node = NO_NODE;

	if (tree->by_process) /* which has another name after an exec */
		own.salt = (uintptr_t)tapir_catalog__process(catalog, ref->tgid, ref->time_ns);
	tapir_stack_memo__renew(&tree->memo, catalog);
	known = tapir_stack_memo__find(&tree->memo, &own);
	if (known)
		return (uint32_t)known->value;
	if ((is_described(catalog, ref->stack_id) || is_described(catalog, ref->kstack_id)) &&
	    make_root(tree))
		node = innermost(tree, catalog, ref, &span);
	tree->failed |= !tapir_stack_memo__add(&tree->memo, &own, span, node);
	return node;
}

bool tapir_stack_tree__add_record(struct tapir_stack_tree *tree,
				  const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	const struct tapir_rec_event *ev = (const void *)rec;
	struct tapir_stack_ref ref = {.time_ns = rec->time_ns};
	struct tapir_event_view view;
	uint32_t node;

	if (rec->type == TAPIR_REC_SAMPLE) {
		ref.tgid = sample->tgid;
		ref.stack_id = sample->stack_id;
		ref.kstack_id = sample->kstack_id;
	} else if (rec->type == TAPIR_REC_EVENT) {
		tapir_event_view__of(rec, &view);
		ref.tgid = ev->tgid;
		ref.stack_id = ev->stack_id;
		ref.kstack_id = view.kstack_id;
	} else {
		return false;
	}
	node = tapir_stack_tree__node(tree, catalog, &ref);
	if (node == NO_NODE)
		return false;
	tree->nodes.data[node].self++;
	return true;
}

uint32_t tapir_stack_tree__find(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref, const char *leaf)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	uint32_t node;

	if (!make_root(tree))
		return NO_NODE;
	node = tapir_stack_tree__node(tree, catalog, ref);
	if (node == NO_NODE)
		node = innermost(tree, catalog, ref, &span);
	return child(tree, node, name_idx(tree, leaf), TAPIR_FRAME_NONE);
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

/* A parent was made before its children. */
static void add_up(struct tapir_stack_tree *tree)
{
	struct tapir_tree_node *nodes = tree->nodes.data;

	for (size_t i = 0; i < tree->nodes.cnt; i++)
		nodes[i].total = nodes[i].self;
	for (size_t i = tree->nodes.cnt; i-- > 1;)
		nodes[nodes[i].parent].total += nodes[i].total;
}

void tapir_stack_tree__sort(struct tapir_stack_tree *tree)
{
	uint32_t *idxs = calloc(tree->nodes.cnt + 1, sizeof(*idxs));
	struct tapir_tree_node *node;

	tree->failed |= !idxs;
	add_up(tree);
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
	tapir_stack_memo__fini(&tree->memo);
	tapir_frame_memo__fini(&tree->frame_memo);
	tapir_map__fini(&tree->by_child);
	tapir_map__fini(&tree->by_name);
}
