// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Judges what a thread does for its runtime (GC, JIT, application) by its name and its stack, from
 * spec/runtime_db. A stack is judged by its innermost frame with a kind; a thread's name decides
 * where it means one thing alone.
 */
#include "analyze/runtime_work.h"

#include <string.h>

#include "symbol/frame_kind.h"

#define NONE TAPIR_WORK_CNT

const char *tapir_work__name(unsigned work)
{
	static const char *const names[] = {"managed", "interpreter", "GC",	"JIT compiler",
					    "runtime", "native",      "kernel", "unknown"};

	return work < TAPIR_WORK_CNT ? names[work] : "";
}

/* NONE: its name implies nothing. */
static uint8_t classify_work(const struct tapir_lore_work *w, struct tapir_sv text)
{
	for (; w && w->prefix; w++)
		if (tapir_sv__starts_with(text, w->prefix))
			return w->cause == TAPIR_CAUSE_GC ? TAPIR_WORK_GC : TAPIR_WORK_JIT;
	return NONE;
}

static uint8_t thread_work(struct tapir_sv comm)
{
	uint8_t work = NONE;

	tapir_lore_for_each (lore) {
		work = classify_work(lore->threads, comm);
		if (work != NONE)
			break;
	}
	return work;
}

const char *tapir_work__purpose_of(const char *function, const struct tapir_lore *lore)
{
	uint8_t work = classify_work(lore->functions, tapir_sv__of(function));

	return work == TAPIR_WORK_GC ? "collection" : work == TAPIR_WORK_JIT ? "compilation" : NULL;
}

/* Returns what a runtime does in intervals of that kind; NULL: anything. */
static const char *purpose_of_interval(const struct tapir_interval_kind *kind)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_purpose *p = lore->interval_purposes; p && p->of; p++)
			if (!strcmp(kind->name, p->of))
				return p->activity;
	return NULL;
}

const char *tapir_work__purpose(enum tapir_work work, const struct tapir_tl_thread *t,
				const struct tapir_pairs *pairs)
{
	const char *purpose = NULL;

	if (work == TAPIR_WORK_GC)
		return "collection";
	if (work == TAPIR_WORK_JIT)
		return "compilation";
	for (const struct tapir_interval *i = t->open; i && !purpose; i = i->outer)
		purpose = purpose_of_interval(&pairs->kinds.data[i->kind]);
	return purpose;
}

static uint8_t function_work(const char *name)
{
	const struct tapir_sv text = tapir_sv__of(name);
	uint8_t work = NONE;

	tapir_lore_for_each (lore) {
		work = classify_work(lore->functions, text);
		if (work != NONE)
			break;
	}
	return work;
}

/* The innermost frame with a kind; and whether the collector or the compiler is on the stack. */
static uint8_t classify_stack(struct tapir_works *known, const struct tapir_stack_tree *tree,
			      uint32_t node)
{
	static const uint8_t works[] = {
		[TAPIR_FRAME_NONE] = TAPIR_WORK_UNKNOWN,
		[TAPIR_FRAME_NATIVE] = TAPIR_WORK_NATIVE,
		[TAPIR_FRAME_RUNTIME] = TAPIR_WORK_RUNTIME,
		[TAPIR_FRAME_INTERPRETER] = TAPIR_WORK_INTERPRETER,
		[TAPIR_FRAME_JIT] = TAPIR_WORK_MANAGED,
		[TAPIR_FRAME_KERNEL] = TAPIR_WORK_KERNEL,
	};
	const struct tapir_tree_node *nodes = tree->nodes.data;
	uint16_t kind = nodes[node].kind;

	for (uint32_t n = node; n; n = nodes[n].parent) {
		uint8_t work = tapir_name_traits__of(&known->functions, tree, nodes[n].name,
						     function_work);

		if (work != NONE && nodes[n].kind != TAPIR_FRAME_KERNEL)
			return work;
	}
	return kind < TAPIR_FRAME_KIND_CNT ? works[kind] : TAPIR_WORK_UNKNOWN;
}

static uint8_t work_of_node(struct tapir_works *works, const struct tapir_stack_tree *tree,
			    uint32_t node)
{
	uint8_t *known;

	if (!node || node >= tree->nodes.cnt)
		return TAPIR_WORK_UNKNOWN;
	while (works->by_node.cnt <= node)
		if (!tapir_vec__add(&works->by_node))
			return classify_stack(works, tree, node);
	known = &works->by_node.data[node];
	if (!*known)
		*known = (uint8_t)(classify_stack(works, tree, node) + 1);
	return *known - 1;
}

/* A thread's name is read again every second: it may get another one. */
static uint8_t work_of_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t,
			      uint64_t time_ns)
{
	uint64_t second = tapir_tl_memo__second(time_ns);

	if (t->work.second != second) {
		t->work.second = second;
		t->work.value = thread_work(tapir_timeline__comm(tl, t->tid, time_ns));
	}
	return t->work.value;
}

enum tapir_work tapir_works__of_thread(struct tapir_timeline *tl, struct tapir_tl_thread *t,
				       uint64_t time_ns)
{
	uint8_t work = work_of_thread(tl, t, time_ns);
	enum tapir_cause cause = tapir_tl_thread__cause(t);

	if (work != NONE)
		return work;
	return cause == TAPIR_CAUSE_GC	  ? TAPIR_WORK_GC
	       : cause == TAPIR_CAUSE_JIT ? TAPIR_WORK_JIT
					  : TAPIR_WORK_CNT;
}

enum tapir_work tapir_works__classify(struct tapir_works *works,
				      const struct tapir_stack_tree *tree, uint32_t node)
{
	return node && node < tree->nodes.cnt ? classify_stack(works, tree, node)
					      : TAPIR_WORK_UNKNOWN;
}

enum tapir_work tapir_works__of(struct tapir_works *works, struct tapir_timeline *tl,
				struct tapir_tl_thread *t, uint32_t node, uint64_t time_ns)
{
	enum tapir_work work = tapir_works__of_thread(tl, t, time_ns);

	return work != TAPIR_WORK_CNT ? work
				      : work_of_node(works, tapir_timeline__stacks(tl), node);
}

uint32_t tapir_work__collecting_node(const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_tree_node *nodes = tree->nodes.data;
	bool is_nameless = false;

	for (uint32_t n = node == TAPIR_NO_NODE ? 0 : node; n; n = nodes[n].parent) {
		if (nodes[n].kind == TAPIR_FRAME_JIT)
			return is_nameless ? n : node;
		is_nameless |= nodes[n].kind == TAPIR_FRAME_RUNTIME &&
			       strstr(tree->names.data[nodes[n].name], "+0x") != NULL;
	}
	return node;
}

void tapir_works__fini(struct tapir_works *works)
{
	tapir_vec__fini(&works->by_node);
	tapir_name_traits__fini(&works->functions);
}
