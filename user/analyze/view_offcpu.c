// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits of threads: by the stack with which they left their CPU, the reason, and the thread that
 * ended the wait. Stacks that differ only in what the program's own function called, or in
 * functions without names, are one row, unless all frames are requested; so are threads of one name
 * that end waits, and threads outside the recorded processes. What the edges of the recording cut
 * is a table of its own: threads that slept throughout have nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/order.h"
#include "analyze/app_code.h"
#include "analyze/view.h"
#include "analyze/wait_reason.h"
#include "symbol/unnamed_frames.h"

#define MAX_ROWS 65536u

struct row {
	uint32_t node, waker_tid;
	uint16_t state;
	bool is_preempted, is_truncated;
	uint64_t cnt, waited_ns, worst_ns, ready_ns; /* ready: it could have run, no CPU was free */
	char waker[TAPIR_COMM_TEXT_BYTES];
};

struct offcpu_view {
	struct tapir_view_args args;
	uint64_t waited_ns, ready_ns, truncated_ns, open_ns, open_cnt;
	struct tapir_keyed(struct row) rows;
	struct tapir_wait_reasons reasons;
};

static void offcpu_fini(void *ctx)
{
	struct offcpu_view *v = ctx;

	tapir_keyed__fini(&v->rows);
	tapir_wait_reasons__fini(&v->reasons);
}

static struct row *offcpu_row_of(struct offcpu_view *v, const struct tapir_wait *w,
				 bool is_truncated)
{
	uint64_t key = tapir_hash__mix(tapir_hash__mix(w->node, w->waker_tid),
				       w->state * 2ull + is_truncated);
	const struct row made = {.node = w->node,
				 .is_truncated = is_truncated,
				 .waker_tid = w->waker_tid,
				 .state = w->state,
				 .is_preempted = w->flags & TAPIR_SWITCH_PREEMPTED};

	return tapir_keyed__add(&v->rows, key, MAX_ROWS, made);
}

static void add_offcpu_wait(struct offcpu_view *v, const struct tapir_wait *w, bool is_truncated)
{
	uint64_t took_ns = w->until_ns - w->from_ns;
	struct row *row = offcpu_row_of(v, w, is_truncated);

	if (!row)
		return;
	row->cnt++;
	if (!(row->cnt & (row->cnt - 1))) /* the first, or it may have got its name since */
		tapir_comm__copy(row->waker,
				 tapir_timeline__comm(v->args.tl, w->waker_tid, w->wake_ns));
	row->waited_ns += took_ns;
	row->ready_ns += w->until_ns - w->wake_ns;
	if (took_ns > row->worst_ns)
		row->worst_ns = took_ns;
}

static void offcpu_on_wait(void *ctx, const struct tapir_wait *w)
{
	struct offcpu_view *v = ctx;

	v->waited_ns += w->until_ns - w->from_ns;
	v->ready_ns += w->until_ns - w->wake_ns;
	if (!tapir_stack__is_complete(tapir_timeline__stacks(v->args.tl), w->node))
		v->truncated_ns += w->until_ns - w->from_ns;
	add_offcpu_wait(v, w, false);
}

static void offcpu_on_open_ended_wait(void *ctx, const struct tapir_wait *w)
{
	struct offcpu_view *v = ctx;

	v->open_ns += w->until_ns - w->from_ns;
	v->open_cnt++;
	add_offcpu_wait(v, w, true);
}

/* ---- rows that are alike ---------------------------------------------------------------------- */

#define OUTSIDE UINT32_MAX /* a waker */
#define SEVERAL (UINT32_MAX - 1)

/* A timer ends a sleep, in whichever thread runs then. */
static uint32_t who_ended(const struct row *row, const char *reason)
{
	if (!row->waker_tid || tapir_wait_reason__is_sleep(reason))
		return 0;
	return *row->waker ? row->waker_tid : OUTSIDE;
}

static void add_row_to(struct row *sum, const struct row *row)
{
	sum->cnt += row->cnt;
	sum->waited_ns += row->waited_ns;
	sum->ready_ns += row->ready_ns;
	sum->worst_ns = row->worst_ns > sum->worst_ns ? row->worst_ns : sum->worst_ns;
	if (sum->waker_tid != row->waker_tid)
		sum->waker_tid = SEVERAL;
}

/* A run of frames without names of one file is one, however long it is. The kernel's are not shown:
 * what they wait for is another column. */
static uint64_t key_of_stack(const struct tapir_stack_tree *tree, uint32_t node)
{
	uint32_t leaf = tapir_stack_tree__user_leaf(tree, node);
	const char *last = "";
	uint64_t key = 1;

	for (node = leaf ? leaf : node; node && node < tree->nodes.cnt;
	     node = tree->nodes.data[node].parent) {
		const char *name = tree->names.data[tree->nodes.data[node].name];
		struct tapir_sv module = tapir_unnamed_frame__module(name);

		if (module.len && tapir_unnamed_frames__are_alike(last, name))
			continue;
		key = tapir_hash__bytes(key, module.len ? module.data : name,
					module.len ? module.len : strlen(name));
		last = name;
	}
	return key;
}

/* Without the kernel's part and all that the program's own function called. */
static uint64_t key_of_site(const struct tapir_stack_tree *tree, uint32_t node, bool unfold)
{
	uint32_t origin = unfold ? 0 : tapir_app_code__origin(tree, node);

	if (unfold || node >= tree->nodes.cnt)
		return tapir_hash__mix(node, 1);
	return origin ? tapir_hash__mix(origin, 0) : key_of_stack(tree, node);
}

/* Sorted: each keeps the stack of its heaviest. */
static void merge_alike(struct offcpu_view *v, const struct tapir_view_result *result)
{
	struct tapir_map by_key = {};
	size_t kept = 0;

	for (size_t i = 0; i < v->rows.cnt; i++) {
		struct row row = v->rows.data[i];
		/* A thread that is preempted waits for a CPU, whatever its stack. */
		const char *reason =
			row.state ? tapir_wait_reasons__of(&v->reasons, result->tree, row.node)
				  : NULL;
		uint64_t key = key_of_site(result->tree, row.node, result->unfold), *idx;

		row.waker_tid = who_ended(&row, reason);
		key = tapir_hash__mix(key, row.state * 2ull + row.is_truncated);
		key = row.waker_tid && row.waker_tid != OUTSIDE && !result->unfold
			      ? tapir_hash__bytes(key, row.waker, strlen(row.waker))
			      : tapir_hash__mix(key, row.waker_tid);
		key = tapir_hash__mix(key, (uintptr_t)reason);
		idx = tapir_map__put(&by_key, key, NULL);
		if (!idx) {
			v->args.failed = true;
			break;
		}
		if (*idx) {
			add_row_to(&v->rows.data[*idx - 1], &row);
			continue;
		}
		v->rows.data[kept++] = row;
		*idx = kept;
	}
	v->rows.cnt = kept;
	tapir_map__fini(&by_key);
}

static int by_waited(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return tapir_order__down(x->waited_ns, y->waited_ns) ?: tapir_order__up(x->node, y->node);
}

static const char *state_text(const struct row *row)
{
	struct tapir_rec_switch sw = {.out_state = row->state,
				      .flags = row->is_preempted ? TAPIR_SWITCH_PREEMPTED : 0};

	return tapir_switch__state_name(&sw);
}

static void add_offcpu_row(struct offcpu_view *v, struct tapir_view_result *result, size_t t,
			   const struct row *row)
{
	bool is_complete = tapir_stack__is_complete(result->tree, row->node);

	tapir_view_result__u64(result, t, row->waited_ns);
	tapir_view_result__share(result, t, row->waited_ns,
				 row->is_truncated ? v->open_ns : v->waited_ns);
	tapir_view_result__u64(result, t, row->cnt);
	tapir_view_result__u64(result, t, row->worst_ns);
	tapir_view_result__u64(result, t, row->ready_ns);
	tapir_view_result__text(result, t, state_text(row));
	tapir_view_result__text(
		result, t,
		row->state ? tapir_wait_reasons__of(&v->reasons, result->tree, row->node) : NULL);
	if (row->waker_tid == OUTSIDE)
		tapir_view_result__text(result, t, "another process");
	else if (row->waker_tid == SEVERAL)
		tapir_view_result__text(result, t, row->waker);
	else
		tapir_view_result__name(result, t, row->waker, row->waker_tid);
	tapir_view_result__text(result, t, is_complete ? NULL : "cut");
	tapir_view_result__stack(result, t, row->node);
}

struct top_site {
	uint32_t node; /* of a function of the program's own, else of a call of the kernel; or 0 */
	uint64_t ns;
	const char *reason;
};

static uint32_t function_of(const struct tapir_stack_tree *tree, uint32_t node)
{
	uint32_t origin;

	if (node >= tree->nodes.cnt)
		return 0;
	origin = tapir_app_code__origin(tree, node);
	origin = origin ? origin : tapir_app_code__native_origin(tree, node);
	return origin ? origin : tapir_stack_tree__user_leaf(tree, node);
}

/* The stack in which threads waited longest for one reason, whichever thread ended it. */
static struct top_site top_site_of(struct offcpu_view *v, const struct tapir_stack_tree *tree)
{
	struct tapir_map by_site = {};
	struct top_site top_site = {};
	const struct row *row;

	tapir_vec_for_each (row, &v->rows) {
		const char *reason = tapir_wait_reasons__of(&v->reasons, tree, row->node);
		uint64_t key = key_of_site(tree, row->node, false);
		uint64_t *sum =
			tapir_map__put(&by_site, tapir_hash__mix(key, (uintptr_t)reason), NULL);

		if (!sum) {
			v->args.failed = true;
			break;
		}
		*sum += row->is_truncated ? 0 : row->waited_ns;
		if (*sum > top_site.ns)
			top_site = (struct top_site){
				.node = function_of(tree, row->node), .ns = *sum, .reason = reason};
	}
	tapir_map__fini(&by_site);
	return top_site;
}

static void add_offcpu_headline(struct offcpu_view *v, struct tapir_view_result *result)
{
	char waited[TAPIR_NS_TEXT_BYTES], ready[TAPIR_NS_TEXT_BYTES];
	struct top_site top_site = top_site_of(v, result->tree);
	const char *name =
		top_site.node
			? result->tree->names.data[result->tree->nodes.data[top_site.node].name]
			: NULL;

	tapir_str__addf(&result->headline,
			"threads were off-CPU for %s, %s of it runnable, waiting for a CPU",
			tapir_ns__text(v->waited_ns, waited), tapir_ns__text(v->ready_ns, ready));
	if (top_site.ns)
		tapir_str__addf(&result->headline, "; %.0f%% in one place%s%s%s%s",
				100.0 * (double)top_site.ns / (double)v->waited_ns,
				top_site.reason ? ": " : "", top_site.reason ? top_site.reason : "",
				name ? " in " : "", name ? name : "");
	if (v->open_ns)
		tapir_str__addf(&result->headline,
				"; and %s in %llu wait%s that began before the recording or did "
				"not end in it",
				tapir_ns__text(v->open_ns, waited), (unsigned long long)v->open_cnt,
				v->open_cnt == 1 ? "" : "s");
}

/* Writes the waits of one kind into a table of their own. */
static size_t write_offcpu_rows(struct offcpu_view *v, struct tapir_view_result *result,
				bool are_truncated, const struct tapir_column *columns)
{
	size_t t = tapir_view_result__table(
		result, are_truncated ? "cut_waits" : "waits",
		are_truncated ? "waits that began before the recording or did not end in it" : NULL,
		columns);
	size_t cnt = 0;

	for (size_t i = 0; i < v->rows.cnt; i++)
		if (v->rows.data[i].is_truncated == are_truncated && cnt++ < v->args.top)
			add_offcpu_row(v, result, t, &v->rows.data[i]);
	return cnt > v->args.top ? cnt - (size_t)v->args.top : 0;
}

static int offcpu_finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"ns", ">WAITED", TAPIR_CELL_NS},
						      {"percent", ">SHARE", TAPIR_CELL_PERCENT},
						      {"count", ">TIMES", TAPIR_CELL_COUNT},
						      {"worst_ns", ">WORST", TAPIR_CELL_NS},
						      {"ready_ns", ">RUNNABLE", TAPIR_CELL_NS},
						      {"state", "STATE", TAPIR_CELL_TEXT},
						      {"reason", "REASON", TAPIR_CELL_TEXT},
						      {"ended_by", "ENDED BY", TAPIR_CELL_TEXT},
						      {"cut", "", TAPIR_CELL_TEXT},
						      {"stack", "STACK", TAPIR_CELL_ORIGIN},
						      {}};
	struct offcpu_view *v = ctx;
	size_t more;

	tapir_keyed__sort(&v->rows, by_waited);
	/*
	 * Rows that look alike once frames are folded become one, so that the order is made anew.
	 */
	merge_alike(v, result);
	tapir_keyed__sort(&v->rows, by_waited);
	more = write_offcpu_rows(v, result, false, columns);
	more += write_offcpu_rows(v, result, true, columns);
	if (!v->rows.cnt) {
		result->has_nothing = true;
		return 0;
	}
	add_offcpu_headline(v, result);
	if (v->truncated_ns && v->truncated_ns * 1000 >= v->waited_ns)
		tapir_view_result__note(result,
					"%.1f%% of the time has truncated stacks: their "
					"callers are missing (no frame pointers, or no stack)",
					100.0 * (double)v->truncated_ns / (double)v->waited_ns);
	if (more)
		tapir_view_result__note(result, "%zu more places (--all shows them)", more);
	tapir_view_result__beyond(result, v->rows.more, v->rows.failed, "waits");
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct offcpu_view, waited_ns, "waited_ns", NULL, NS)},
	{TAPIR_VIEW_FACT(struct offcpu_view, ready_ns, "ready_ns", NULL, NS)},
	{TAPIR_VIEW_FACT(struct offcpu_view, truncated_ns, "cut_ns", NULL, NS)},
	{TAPIR_VIEW_FACT(struct offcpu_view, open_ns, "open_ns", NULL, NS)},
	{}};

const struct tapir_view tapir_view_offcpu = {
	.name = "offcpu",
	.is_of_traces = true,
	.summary = "where threads waited, for what, and which thread ended the wait",
	.fns = {.wait = offcpu_on_wait, .open_ended_wait = offcpu_on_open_ended_wait},
	.nothing = "no thread was seen to wait",
	.source = {"context switches", "`tapir record` without --no-sched",
		   .family = TAPIR_FAMILY_SWITCH, .is_alone = true},
	.facts = facts,
	.has_facts_of_nothing = true,
	.ctx_bytes = sizeof(struct offcpu_view),
	.default_top = 20,
	.finish = offcpu_finish,
	.fini = offcpu_fini,
};
