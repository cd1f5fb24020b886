// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A child is found by (parent, name), 4 bytes per slot; siblings are a list, sorted at the end.
 * Other modules keep ids of nodes, so no node is ever removed. Stacks that a full tree cannot hold
 * are folded.
 */
#include "analyze/stack_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/large_table.h"
#include "base/order.h"
#include "base/str.h"
#include "symbol/frame_kind.h"
#include "symbol/stack_end.h"

#define NO_NODE	    UINT32_MAX
#define UNNAMED	    1 /* idx of the name for everything past the bound */
#define FOLDED	    2 /* ... of stacks that came too rarely */

/* Nodes for folded stacks; the last of them for no callers, only functions. */
#define FOLD_NODES  (TAPIR_STACK_TREE_MAX_NODES / 4)
#define FOLD_SPARE  (FOLD_NODES / 8)
#define FOLD_DEPTH  32 /* callers a folded stack keeps while all of FOLD_NODES are there */
#define WHOLE_NODES (TAPIR_STACK_TREE_MAX_NODES - FOLD_NODES)
#define LOOK_ONLY   0

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
		tapir_frame__add_location(&text, frame, tapir_str__add);
	tree->failed |= text.failed;
	idx = name_idx(tree, text.data ? text.data : "?");
	tapir_str__fini(&text);
	tapir_str__fini(&buf);
	return idx;
}

/* "java (4711)" or "java": its name at that time. */
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
	if (tree->process_frame == TAPIR_PROCESS_FRAME_EACH)
		tapir_str__addf(&text, " (%u)", tgid);
	tree->failed |= text.failed;
	idx = name_idx(tree, text.data ? text.data : "?");
	tapir_str__fini(&text);
	return idx;
}

/* ---- nodes ------------------------------------------------------------------------------ */

bool tapir_stack_tree__begin(struct tapir_stack_tree *tree)
{
	if (!tree->nodes.cnt) {
		name_idx(tree, "all");
		name_idx(tree, "(too many names)");
		name_idx(tree, "(rarer stacks)");
		tree->failed |= !tapir_vec__add(&tree->nodes);
	}
	return tree->nodes.cnt;
}

/*
 * A function: its name, where in its source it is, its kind, and whose it is, as one number: of
 * which runtime; of native code, whether it is the program's.
 */
#define KIND_MASK      0x07u
#define WHOSE_SHIFT    3
#define WHOSE_MASK     0x1fu
#define OF_PROGRAM     (1u << WHOSE_SHIFT)
#define LOCATION_SHIFT 36
#define NAME_MASK      ((1ull << (LOCATION_SHIFT - 8)) - 1)

static uint64_t fact_of(uint32_t name, enum tapir_frame_kind kind)
{
	return (uint64_t)name << 8 | kind;
}

static uint32_t fact_name(uint64_t fact)
{
	return fact >> 8 & NAME_MASK;
}

static uint32_t module_of_fact(uint64_t fact)
{
	return (uint32_t)(fact >> LOCATION_SHIFT);
}

static uint64_t fact_of_node(const struct tapir_tree_node *node)
{
	return (uint64_t)node->location << LOCATION_SHIFT | fact_of(node->name, node->kind);
}

static uint64_t child_hash(uint32_t parent, uint64_t fact)
{
	return tapir_hash__mix(tapir_hash__mix(9, parent), fact >> 8);
}

static uint32_t tag_of(uint64_t hash)
{
	return hash >> 52;
}

/* The slot of the parent's child of that name and place, or the free one where it belongs. */
static struct tapir_tree_slot *find_slot(const struct tapir_stack_tree *tree, uint32_t parent,
					 uint64_t fact)
{
	uint64_t hash = child_hash(parent, fact);
	uint32_t tag = tag_of(hash);
	size_t i = (size_t)hash & (tree->slot_cnt - 1);

	for (; tree->slots[i].node; i = (i + 1) & (tree->slot_cnt - 1)) {
		const struct tapir_tree_node *node = &tree->nodes.data[tree->slots[i].node];

		if (tree->slots[i].tag == tag && node->parent == parent &&
		    node->name == fact_name(fact) && node->location == module_of_fact(fact))
			break;
	}
	return &tree->slots[i];
}

/* At most seven of eight are taken: their tags distinguish most of them without a node. */
static bool grow_slots(struct tapir_stack_tree *tree)
{
	struct tapir_tree_slot *old = tree->slots;
	size_t old_cnt = tree->slot_cnt;

	if (tree->nodes.cnt * 8 < old_cnt * 7)
		return true;
	tree->slots = tapir_large_table__alloc(old_cnt ? old_cnt * 2 : 64, sizeof(*tree->slots));
	if (!tree->slots) {
		tree->slots = old;
		return false;
	}
	tree->slot_cnt = old_cnt ? old_cnt * 2 : 64;
	for (size_t i = 0; i < old_cnt; i++)
		if (old[i].node)
			*find_slot(tree, tree->nodes.data[old[i].node].parent,
				   fact_of_node(&tree->nodes.data[old[i].node])) = old[i];
	free(old);
	return true;
}

bool tapir_stack_tree__is_complete(const struct tapir_stack_tree *tree, uint32_t node)
{
	return node / 64 < tree->whole.cnt && tree->whole.data[node / 64] >> node % 64 & 1;
}

static void set_whole(struct tapir_stack_tree *tree, uint32_t node)
{
	while (tree->whole.cnt <= node / 64)
		if (!tapir_vec__add(&tree->whole)) {
			tree->failed = true;
			return;
		}
	tree->whole.data[node / 64] |= 1ull << node % 64;
}

/* The parent's child of that name; made, if it is new and there are fewer nodes than limit. */
static uint32_t child(struct tapir_stack_tree *tree, uint32_t parent, uint64_t fact, size_t limit)
{
	uint32_t name = fact_name(fact);
	struct tapir_tree_node node = {.name = name,
				       .location = module_of_fact(fact),
				       .parent = parent,
				       .kind = fact & KIND_MASK};
	struct tapir_tree_slot *slot;
	bool is_complete;

	node.is_of_program = node.kind == TAPIR_FRAME_NATIVE && fact & OF_PROGRAM;
	if (node.kind == TAPIR_FRAME_RUNTIME)
		node.runtime = fact >> WHOSE_SHIFT & WHOSE_MASK;
	if (!grow_slots(tree)) {
		tree->failed = true;
		return NO_NODE;
	}
	slot = find_slot(tree, parent, fact);
	if (slot->node || tree->nodes.cnt >= limit)
		return slot->node ? slot->node : NO_NODE;
	/* The outermost function decides if a stack is whole, which all inside of it inherit. */
	is_complete = tree->nodes.data[parent].kind == TAPIR_FRAME_NONE
			      ? tapir_stack_end__is_start(tree->names.data[name],
							  strlen(tree->names.data[name]))
			      : tapir_stack_tree__is_complete(tree, parent);
	node.next_sibling = tree->nodes.data[parent].first_child;
	node.depth = (uint16_t)(tree->nodes.data[parent].depth + 1);
	if (!tapir_vec__push(&tree->nodes, node)) {
		tree->failed = true;
		return NO_NODE;
	}
	*slot = (struct tapir_tree_slot){.node = (uint32_t)tree->nodes.cnt - 1,
					 .tag = tag_of(child_hash(parent, fact))};
	if (is_complete)
		set_whole(tree, slot->node);
	tree->nodes.data[parent].first_child = slot->node;
	if (node.depth > tree->max_depth)
		tree->max_depth = node.depth;
	return slot->node;
}

uint32_t tapir_stack_tree__child(struct tapir_stack_tree *tree, uint32_t parent, const char *name,
				 uint8_t kind)
{
	return tapir_stack_tree__begin(tree)
		       ? child(tree, parent, fact_of(name_idx(tree, name), kind),
			       TAPIR_STACK_TREE_MAX_NODES)
		       : NO_NODE;
}

uint32_t tapir_stack_tree__child_like(struct tapir_stack_tree *tree, uint32_t parent,
				      const struct tapir_stack_tree *other, uint32_t node)
{
	const struct tapir_tree_node *like = &other->nodes.data[node];
	uint64_t fact = fact_of(name_idx(tree, other->names.data[like->name]), like->kind);

	if (like->location)
		fact |= (uint64_t)name_idx(tree, other->names.data[like->location])
			<< LOCATION_SHIFT;
	return tapir_stack_tree__begin(tree) ? child(tree, parent, fact, TAPIR_STACK_TREE_MAX_NODES)
					     : NO_NODE;
}

static uint64_t function_fact(void *ctx, const struct tapir_frame *function)
{
	struct tapir_stack_tree *tree = ctx;
	enum tapir_frame_kind kind = tapir_frame__kind(function);
	uint64_t fact = fact_of(frame_name(tree, function), kind);
	struct tapir_str location = {};

	if (kind == TAPIR_FRAME_RUNTIME)
		fact |= (uint64_t)tapir_frame__runtime(function) << WHOSE_SHIFT;
	else if (tapir_frame__is_of_program(function))
		fact |= OF_PROGRAM;

	if (tapir_frame__add_source(&location, function) && location.data)
		fact |= (uint64_t)name_idx(tree, location.data) << LOCATION_SHIFT;
	tree->failed |= location.failed;
	tapir_str__fini(&location);
	return fact;
}

static uint64_t frame_facts(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_stack_tree *tree = ctx;

	return tapir_frame_chains__number(&tree->chains, frame, function_fact, tree);
}

/* The position in the tree while a stack is added. */
struct path {
	const struct tapir_catalog *catalog;
	const struct tapir_stack_ref *ref;
	struct tapir_name_span *span;
	size_t limit; /* of nodes, for new ones */
	uint32_t node;
	uint64_t leaf; /* fact of the innermost frame */
	bool is_truncated;
};

/* "[callers lost in libfoo.so: no unwind table]", where the callers would be. */
static void add_lost_callers(struct tapir_stack_tree *tree, struct path *path,
			     const struct tapir_rec_stack *stack)
{
	struct tapir_str text = {};
	uint32_t next;

	tapir_str__addc(&text, '[');
	if (tapir_stack_end__add_of(&text, path->catalog, path->ref->tgid, path->ref->time_ns,
				    stack)) {
		tapir_str__addc(&text, ']');
		next = child(tree, path->node,
			     fact_of(name_idx(tree, text.data ? text.data : "?"), TAPIR_FRAME_NONE),
			     path->limit);
		path->is_truncated |= next == NO_NODE;
		if (!path->is_truncated)
			path->node = next;
	}
	tree->failed |= text.failed;
	tapir_str__fini(&text);
}

/* The functions at one address, outermost first. */
static void add_path_functions(struct tapir_stack_tree *tree, struct path *path, uint64_t number,
			       bool is_complete)
{
	const uint64_t *facts;

	for (unsigned i = tapir_frame_chains__get(&tree->chains, &number, &facts); i-- > 0;) {
		uint32_t next = path->is_truncated ? NO_NODE
						   : child(tree, path->node, facts[i], path->limit);

		path->leaf = facts[i];
		path->is_truncated |= next == NO_NODE;
		if (path->is_truncated)
			continue;
		path->node = next;
		if (is_complete)
			set_whole(tree, next);
	}
}

/* Adds frames from the outermost on, as long as there are nodes. */
static void add_path_frames(struct tapir_stack_tree *tree, struct path *path, uint64_t stack_id)
{
	const struct tapir_rec_stack *stack =
		stack_id ? tapir_catalog__stack(path->catalog, stack_id) : NULL;
	struct tapir_stack_view view;
	bool is_complete;

	if (!stack || !stack->frame_cnt)
		return;
	add_lost_callers(tree, path, stack);
	is_complete = tapir_stack_end__at_start(
		tapir_stack_end__of(path->catalog, path->ref->tgid, path->ref->time_ns, stack));
	tapir_stack_view__of(&stack->h, &view);
	tapir_frame_cache__expect(&tree->frame_cache, path->catalog, path->ref, &view);
	for (unsigned i = stack->frame_cnt; i-- > 0;) {
		if (path->is_truncated) /* what it ends in is all that is left to know */
			i = 0;
		add_path_functions(tree, path,
				   tapir_frame_cache__number(&tree->frame_cache, path->catalog,
							     path->ref, &view, i, frame_facts, tree,
							     path->span),
				   is_complete);
	}
}

/*
 * The number of callers that a folded stack keeps: the fewer, the more stacks have them in common.
 */
static unsigned fold_depth(const struct tapir_stack_tree *tree)
{
	size_t max = FOLD_NODES - FOLD_SPARE;
	size_t left = tree->fold_cnt < max ? max - tree->fold_cnt : 0;
	unsigned depth = (unsigned)(left * FOLD_DEPTH / max);

	return depth ? depth : tree->process_frame != TAPIR_PROCESS_FRAME_NONE;
}

/*
 * Returns the node of a folded stack: its outermost callers, a node that marks the folding, and the
 * innermost function.
 */
static uint32_t fold_node(struct tapir_stack_tree *tree, uint32_t node, uint64_t leaf)
{
	size_t before = tree->nodes.cnt;
	uint32_t folded, top;

	while (tree->nodes.data[node].depth > fold_depth(tree))
		node = tree->nodes.data[node].parent;
	folded = child(tree, node, fact_of(FOLDED, TAPIR_FRAME_NONE), TAPIR_STACK_TREE_MAX_NODES);
	if (folded == NO_NODE)
		return node;
	top = child(tree, folded, leaf, TAPIR_STACK_TREE_MAX_NODES);
	tree->fold_cnt += tree->nodes.cnt - before;
	return top == NO_NODE ? folded : top;
}

/* The node of the stack's innermost frame. */
static uint32_t innermost(struct tapir_stack_tree *tree, struct path *path)
{
	const struct tapir_stack_ref *ref = path->ref;
	uint32_t process = TAPIR_STACK_TREE_ROOT;

	if (tree->process_frame)
		process = child(tree, process,
				fact_of(process_name(tree, path->catalog, ref->tgid, ref->time_ns),
					TAPIR_FRAME_NONE),
				WHOLE_NODES + tree->fold_cnt);
	path->node = process == NO_NODE ? TAPIR_STACK_TREE_ROOT : process;
	add_path_frames(tree, path, ref->stack_id);
	add_path_frames(tree, path, ref->kstack_id);
	return path->is_truncated ? fold_node(tree, path->node, path->leaf) : path->node;
}

/* The number of times that a stack must occur before it gets its own nodes. */
static uint32_t times_needed(const struct tapir_stack_tree *tree)
{
	size_t cnt = tree->nodes.cnt - tree->fold_cnt;
	size_t left = cnt < WHOLE_NODES ? WHOLE_NODES - cnt : 0;

	return left * 2 >= WHOLE_NODES ? 1 : left ? (uint32_t)(WHOLE_NODES / left) : UINT32_MAX;
}

/*
 * The cached value of a stack: its node, and how often it occurred if it is folded. *span is
 * narrowed to when it holds.
 */
static uint64_t location(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			 const struct tapir_stack_ref *ref, uint32_t times,
			 struct tapir_name_span *span)
{
	struct path path = {.catalog = catalog,
			    .ref = ref,
			    .span = span,
			    .limit = times >= times_needed(tree) ? WHOLE_NODES + tree->fold_cnt
								 : LOOK_ONLY};
	uint64_t node = innermost(tree, &path);

	return path.is_truncated ? (uint64_t)times << 32 | node : node;
}

static bool is_described(const struct tapir_catalog *catalog, uint64_t stack_id)
{
	return stack_id && tapir_catalog__stack(catalog, stack_id);
}

/* Counts another occurrence of a folded stack, which may now get its own nodes. */
static void count_folded(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			 const struct tapir_stack_ref *ref, struct tapir_stack_cache_entry *e)
{
	uint32_t times = (uint32_t)(e->value >> 32);

	times += times < UINT32_MAX;
	e->value = (uint64_t)times << 32 | (uint32_t)e->value;
	if (times >= times_needed(tree))
		e->value = location(tree, catalog, ref, times, &e->span);
}

/* The node of a stack that was there before. */
static uint32_t known_node(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
			   const struct tapir_stack_ref *ref, struct tapir_stack_cache_entry *e)
{
	if (e->value >> 32)
		count_folded(tree, catalog, ref, e);
	tree->folded_cnt += e->value >> 32 != 0;
	return (uint32_t)e->value;
}

uint32_t tapir_stack_tree__node(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	struct tapir_stack_cache_entry *known;
	struct tapir_stack_ref own = *ref;
	uint64_t value;

	if (tree->process_frame) /* which has another name after an exec */
		own.salt = (uintptr_t)tapir_catalog__process(catalog, ref->tgid, ref->time_ns);
	tapir_stack_cache__renew(&tree->memo, catalog);
	known = tapir_stack_cache__find(&tree->memo, &own);
	if (known && known->value != TAPIR_STACK_CACHE_NONE)
		return known_node(tree, catalog, ref, known);
	if (!(is_described(catalog, ref->stack_id) || is_described(catalog, ref->kstack_id)) ||
	    !tapir_stack_tree__begin(tree))
		return NO_NODE;
	value = location(tree, catalog, ref, 1, &span);
	if (known) {
		known->value = value;
		known->span = tapir_name_span__both(known->span, span);
	} else {
		tree->failed |= !tapir_stack_cache__add(&tree->memo, &own, span, value);
	}
	tree->folded_cnt += value >> 32 != 0;
	return (uint32_t)value;
}

uint32_t tapir_stack_tree__hinted_node(struct tapir_stack_tree *tree,
				       const struct tapir_catalog *catalog,
				       const struct tapir_stack_ref *ref, uint64_t hint)
{
	struct tapir_stack_cache_entry *known = NULL;
	uint32_t node;

	if (hint && !tapir_stack_cache__renew(&tree->memo, catalog)) {
		if (tapir_stack_cache__hinted_value(&tree->memo, hint, &node))
			return node;
		known = tapir_stack_cache__of_hint(&tree->memo, hint);
	}
	if (known && known->value != TAPIR_STACK_CACHE_NONE &&
	    ref->time_ns >= known->span.from_ns && ref->time_ns < known->span.until_ns)
		return known_node(tree, catalog, ref, known);
	return tapir_stack_tree__node(tree, catalog, ref);
}

/* False: the record has no stack. */
static bool ref_of(const struct tapir_rec *rec, struct tapir_stack_ref *out)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	const struct tapir_rec_event *ev = (const void *)rec;
	struct tapir_event_view view;

	*out = (struct tapir_stack_ref){.time_ns = rec->time_ns};
	if (rec->type == TAPIR_REC_SAMPLE) {
		out->tgid = sample->tgid;
		out->stack_id = sample->stack_id;
		out->kstack_id = sample->kstack_id;
	} else if (rec->type == TAPIR_REC_EVENT) {
		tapir_event_view__of(rec, &view);
		out->tgid = ev->tgid;
		out->stack_id = ev->stack_id;
		out->kstack_id = view.kstack_id;
	} else {
		return false;
	}
	return true;
}

/* The node that an entry has; NO_NODE: none yet. */
static uint32_t node_of(const struct tapir_stack_cache_entry *known)
{
	return known && known->value != TAPIR_STACK_CACHE_NONE ? (uint32_t)known->value : NO_NODE;
}

/* Prefetches the entry of a stack; returns its node after the last step. */
static uint32_t expect_hinted(const struct tapir_stack_tree *tree, uint64_t hint,
			      enum tapir_reorder_step step)
{
	const struct tapir_stack_cache_entry *known = tapir_stack_cache__of_hint(&tree->memo, hint);

	if (known && step == TAPIR_REORDER_NEAR)
		__builtin_prefetch(known);
	return step == TAPIR_REORDER_NEXT ? node_of(known) : NO_NODE;
}

/* The same where the entry must be found first. */
static uint32_t expect_entry(const struct tapir_stack_tree *tree, const struct tapir_rec *rec,
			     enum tapir_reorder_step step)
{
	struct tapir_stack_ref ref;

	if (!ref_of(rec, &ref))
		return NO_NODE;
	if (step == TAPIR_REORDER_FAR)
		tapir_stack_cache__expect_slot(&tree->memo, &ref);
	if (step == TAPIR_REORDER_NEAR)
		tapir_stack_cache__expect_entry(&tree->memo, &ref);
	return step == TAPIR_REORDER_NEXT ? node_of(tapir_stack_cache__peek(&tree->memo, &ref))
					  : NO_NODE;
}

uint32_t tapir_stack_tree__expect(const struct tapir_stack_tree *tree, const struct tapir_rec *rec,
				  enum tapir_reorder_step step, uint64_t hint)
{
	uint32_t node;

	if (tree->process_frame)
		return NO_NODE;
	if (tapir_stack_cache__hinted_value(&tree->memo, hint, &node))
		node = step == TAPIR_REORDER_NEXT ? node : NO_NODE;
	else
		node = hint ? expect_hinted(tree, hint, step) : expect_entry(tree, rec, step);
	return node < tree->nodes.cnt ? node : NO_NODE;
}

uint32_t tapir_stack_tree__record_node(struct tapir_stack_tree *tree,
				       const struct tapir_catalog *catalog,
				       const struct tapir_rec *rec)
{
	struct tapir_stack_ref ref;

	return ref_of(rec, &ref) ? tapir_stack_tree__node(tree, catalog, &ref) : NO_NODE;
}

bool tapir_stack_tree__add_record(struct tapir_stack_tree *tree,
				  const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	uint32_t node = tapir_stack_tree__record_node(tree, catalog, rec);

	if (node == NO_NODE)
		return false;
	tapir_stack_tree__count(tree, node, 1);
	return true;
}

void tapir_stack_tree__count(struct tapir_stack_tree *tree, uint32_t node, uint64_t cnt)
{
	while (tree->sums.cnt <= node)
		if (node >= tree->nodes.cnt || !tapir_vec__add(&tree->sums)) {
			tree->failed = true;
			return;
		}
	tree->sums.data[node].self += cnt;
}

uint32_t tapir_stack_tree__find(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref, const char *leaf)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	struct path path = {catalog, ref, &span, .limit = LOOK_ONLY};
	uint32_t node, top;

	if (!tapir_stack_tree__begin(tree))
		return NO_NODE;
	node = tapir_stack_tree__node(tree, catalog, ref);
	if (node == NO_NODE)
		node = innermost(tree, &path);
	top = child(tree, node, fact_of(name_idx(tree, leaf), TAPIR_FRAME_NONE),
		    TAPIR_STACK_TREE_MAX_NODES);
	return top == NO_NODE ? node : top;
}

uint32_t tapir_stack_tree__user_leaf(const struct tapir_stack_tree *tree, uint32_t node)
{
	while (node && node < tree->nodes.cnt && tree->nodes.data[node].kind == TAPIR_FRAME_KERNEL)
		node = tree->nodes.data[node].parent;
	return node;
}

void tapir_stack_tree__add_label(struct tapir_str *out, const struct tapir_stack_tree *tree,
				 uint32_t node)
{
	const struct tapir_tree_node *n = &tree->nodes.data[node];

	tapir_str__adds(out, tree->names.data[n->name]);
	if (!n->location)
		return;
	tapir_str__adds(out, " (");
	tapir_str__adds(out, tree->names.data[n->location]);
	tapir_str__addc(out, ')');
}

/* ---- afterwards ------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct tapir_stack_tree *tree = ctx;
	const struct tapir_tree_node *x = &tree->nodes.data[*(const uint32_t *)a];
	const struct tapir_tree_node *y = &tree->nodes.data[*(const uint32_t *)b];

	return tapir_order__by(
		strcmp(tree->names.data[x->name], tree->names.data[y->name]),
		strcmp(tree->names.data[x->location], tree->names.data[y->location]));
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
	struct tapir_tree_sums *sums = tree->sums.data;

	for (size_t i = 0; i < tree->sums.cnt; i++)
		sums[i].total = sums[i].self;
	for (size_t i = tree->sums.cnt; i-- > 1;)
		sums[tree->nodes.data[i].parent].total += sums[i].total;
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
	tapir_vec__fini(&tree->sums);
	tapir_vec__fini(&tree->whole);
	tapir_stack_cache__fini(&tree->memo);
	tapir_frame_cache__fini(&tree->frame_cache);
	tapir_frame_chains__fini(&tree->chains);
	free(tree->slots);
	tapir_map__fini(&tree->by_name);
}
