// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits for a disk or for another end of a connection, from a function of the program's own: a
 * thread of a library that waits for work to come is no finding. Interpreted methods of a JVM
 * have no names if it ended before they were read: those may be the program's own.
 */
#include <string.h>

#include "diagnose/diagnosis_impl.h"

#define MAX_BEGUN 65536u

static const struct {
	const char *reason;
	enum tapir_rule_fact_kind fact;
	bool is_no_work; /* no thread waits there for work */
} dependencies[TAPIR_WAITED_FOR_CNT] = {
	{"socket", TAPIR_FACT_WAITS, false},	 {"disk", TAPIR_FACT_DISK, true},
	{"pipe", TAPIR_FACT_WAITS, false},	 {"file lock", TAPIR_FACT_WAITS, true},
	{"name server", TAPIR_FACT_WAITS, true}, {"full queue", TAPIR_FACT_WAITS, false},
};

/* Idx of its row; -1: it has none. */
static int dependency_of(const char *reason)
{
	for (int i = 0; i < TAPIR_WAITED_FOR_CNT; i++)
		if (!strcmp(reason, dependencies[i].reason))
			return i;
	return -1;
}

bool tapir_finding_blocking_io__is_dependency(const char *reason)
{
	return dependency_of(reason) >= 0;
}

/* For another thread of the program, or for work: only the program knows which. */
static bool is_for_thread(const char *reason)
{
	static const char *const reasons[] = {"condition", "event", "semaphore",
					      "task",	   "join",  "work"};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(reason, reasons[i]))
			return true;
	return false;
}

static void count_for_thread(struct tapir_diagnosis *f, const struct tapir_wait *w,
			     const char *reason)
{
	uint32_t app = tapir_diagnosis__own(f, w->node);

	if (app != TAPIR_APP_CODE_NONE)
		tapir_label_sums__add(&f->waits.for_threads, 1, reason, app,
				      w->wake_ns - w->from_ns);
}

/* Functions without names are one place. */
static uint64_t hash_of_wait(struct tapir_diagnosis *f, uint32_t tid, uint32_t node, int wait_idx)
{
	uint32_t name = tapir_diagnosis__own(f, node);

	return tapir_hash__mix(tapir_hash__mix(tapir_hash__mix(9, tid), name), (uint64_t)wait_idx);
}

/* The function of a stack; without one, the call by which it entered the kernel. */
static uint32_t function_of(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t name = tapir_diagnosis__function(f, node);
	uint32_t leaf = tapir_stack_tree__user_leaf(tree, node);

	return name == TAPIR_APP_CODE_NONE && leaf && leaf < tree->nodes.cnt
		       ? tree->nodes.data[leaf].name
		       : name;
}

static void count_wait(struct tapir_diagnosis *f, uint32_t node, int wait_idx, uint64_t took_ns)
{
	f->waits.by_reason[wait_idx].ns += took_ns;
	tapir_function_sums__add_at(f, &f->waits.by_reason[wait_idx].callers, function_of(f, node),
				    node, took_ns);
}

/*
 * A wait that began before the recording may well be one for work, and so may one that has not
 * ended in it where functions have no names: it counts if the thread waits there as well from
 * beginning to end.
 */
static void keep_begun(struct tapir_diagnosis *f, const struct tapir_wait *w, uint32_t tid,
		       int wait_idx)
{
	struct tapir_begun_wait begun = {
		.tid = tid, .node = w->node, .ns = w->wake_ns - w->from_ns, .wait_idx = wait_idx};

	if (f->waits.begun.cnt < MAX_BEGUN)
		(void)tapir_vec__push(&f->waits.begun, begun);
}

void tapir_finding_blocking_io__conclude(struct tapir_diagnosis *f)
{
	const struct tapir_begun_wait *begun;

	tapir_vec_for_each (begun, &f->waits.begun)
		if (tapir_map__get(&f->waits.repeaters,
				   hash_of_wait(f, begun->tid, begun->node, begun->wait_idx)))
			count_wait(f, begun->node, begun->wait_idx, begun->ns);
}

void tapir_finding_blocking_io__take(struct tapir_diagnosis *f, const struct tapir_wait *w,
				     uint32_t tid, bool is_truncated)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	const struct tapir_lore_wait *wait = tapir_diagnosis__lore_wait(f, w);
	uint64_t took_ns = w->wake_ns - w->from_ns;
	struct tapir_str name = {};
	const char *reason = wait ? wait->reason : "";
	int wait_idx = dependency_of(reason);
	bool has_app_code, is_no_work, is_begun = w->flags & TAPIR_SWITCH_SNAPSHOT;

	if (is_for_thread(reason))
		count_for_thread(f, w, reason);
	if (wait_idx < 0)
		return;
	is_no_work = dependencies[wait_idx].is_no_work;
	has_app_code = tapir_diagnosis__own(f, w->node) != TAPIR_APP_CODE_NONE;
	/*
	 * A read may wait for the next request, which is idleness: a function of the program on the
	 * stack shows that it waits for an answer. Functions without names may be the program's.
	 */
	if (!has_app_code && !is_no_work && !tapir_app_code__is_unnamed(tree, w->node))
		return;
	if (!is_no_work && (is_begun || (is_truncated && !has_app_code))) {
		if (!is_begun || !is_truncated)
			keep_begun(f, w, tid, wait_idx);
		return;
	}
	/* A complete wait vouches for those in the same place that were cut: see keep_begun. */
	if (!is_truncated && f->waits.repeaters.cnt < MAX_BEGUN)
		tapir_map__put(&f->waits.repeaters, hash_of_wait(f, tid, w->node, wait_idx), NULL);
	if (!has_app_code)
		tapir_diagnosis__add_thread(f, tid, &name);
	tapir_label_sums__add(&f->waits.by_reason[wait_idx].threads, 1, name.data ? name.data : "",
			      TAPIR_APP_CODE_NONE, took_ns);
	tapir_str__fini(&name);
	count_wait(f, w->node, wait_idx, took_ns);
}

bool tapir_finding_blocking_io__wait(struct tapir_diagnosis *f, const struct tapir_wait *w,
				     bool is_open)
{
	tapir_finding_blocking_io__take(f, w, w->thread->tid, is_open);
	return true;
}

void tapir_finding_blocking_io__count(struct tapir_diagnosis *f, const char *reason, uint32_t app,
				      uint64_t ns)
{
	int wait_idx = dependency_of(reason);

	if (wait_idx >= 0) {
		f->waits.by_reason[wait_idx].ns += ns;
		tapir_function_sums__add(f, &f->waits.by_reason[wait_idx].callers, app, ns);
	} else if (is_for_thread(reason)) {
		tapir_label_sums__add(&f->waits.for_threads, 1, reason, app, ns);
	}
}

static void emit_one(struct tapir_diagnosis *f, int wait_idx, struct tapir_findings *list)
{
	const struct tapir_waited *waited = &f->waits.by_reason[wait_idx];
	const struct tapir_label_sum *thread = tapir_label_sums__largest(&waited->threads);

	struct tapir_rule_fact fact = {.fact_kind = dependencies[wait_idx].fact,
				       .ns = (double)waited->ns,
				       .where = &waited->callers,
				       .label = dependencies[wait_idx].reason};

	if (thread)
		tapir_str__adds(&fact.who, thread->label);
	tapir_rules__judge(f, list, fact);
}

void tapir_finding_blocking_io__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	for (int wait_idx = 0; wait_idx < TAPIR_WAITED_FOR_CNT; wait_idx++)
		emit_one(f, wait_idx, list);
}

void tapir_finding_blocking_io__add_for_threads(const struct tapir_diagnosis *f,
						struct tapir_str *out)
{
	const struct tapir_label_sum *worst = tapir_label_sums__largest(&f->waits.for_threads);
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	double threads = worst && span_ns ? (double)worst->ns / (double)span_ns : 0;

	if (threads < TAPIR_LIMIT(TOGETHER))
		return;
	tapir_str__addf(out, "; %.1f threads waited in ", threads);
	tapir_diagnosis__add_name(f, worst->name, out);
	tapir_str__addf(out, " (%s): for work, or for other threads", worst->label);
}

void tapir_finding_blocking_io__fini(struct tapir_diagnosis *f)
{
	tapir_label_sums__fini(&f->waits.for_threads);
	for (int wait_idx = 0; wait_idx < TAPIR_WAITED_FOR_CNT; wait_idx++) {
		tapir_label_sums__fini(&f->waits.by_reason[wait_idx].threads);
		tapir_function_sums__fini(&f->waits.by_reason[wait_idx].callers);
	}
	tapir_map__fini(&f->waits.repeaters);
	tapir_vec__fini(&f->waits.begun);
}
