// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU time by its samples: at what work, in which functions of the program (own: in it, or in a
 * library, the runtime or the kernel on its behalf), in which functions at all (self: it was in it;
 * total: in it or in what it called), along which paths from the outside in, on which threads, and
 * in which intervals.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/folded_tree.h"
#include "analyze/frame_runs.h"
#include "analyze/app_code.h"
#include "analyze/runtime_work.h"
#include "analyze/view.h"
#include "base/keyed.h"
#include "base/order.h"
#include "symbol/frame_kind.h"
#include "symbol/unnamed_frames.h"
#include "trace/thread_names.h"

#define MAX_THREADS   65536u
#define PATHS_PERCENT 2 /* of all samples: a path with less is not shown */
#define MAX_PATHS     200u
#define MAX_PURPOSED  (1u << 20)

struct thread_row {
	uint32_t tgid, tid;
	uint64_t cnt, works[TAPIR_WORK_CNT];
	size_t name_idx; /* its row of names */
};

/* Samples at a node of the tree while a runtime was known to do something. */
struct purposed {
	uint32_t node;
	const char *purpose; /* static */
	uint64_t cnt;
};

struct function_row {
	struct tapir_sv label;
	uint8_t kind;
	uint64_t self, total;
	uint32_t mark;
};

/* A function of the program; own: samples of which it is the innermost function of the program. */
struct self_row {
	uint32_t name; /* idx in the tree's names */
	uint32_t mark; /* of the last stack that was counted in total */
	uint64_t self_cnt, total;
};

struct cpu {
	struct tapir_view_args args;
	uint64_t cnt, no_stack_cnt, rowless_cnt, period_sum, works[TAPIR_WORK_CNT];
	struct tapir_works known;
	struct tapir_thread_names names;
	struct tapir_vec(struct thread_row) threads; /* a row of names each */
	struct tapir_vec(uint64_t) by_kind;	     /* samples inside intervals, by kind */
	struct tapir_keyed(struct purposed) purposed;
	struct tapir_folded_tree folded;
	struct tapir_keyed(struct function_row) functions;
	struct tapir_keyed(struct self_row) self_functions;
	bool unfold;
};

static void cpu_fini(void *ctx)
{
	struct cpu *v = ctx;

	tapir_works__fini(&v->known);
	tapir_thread_names__fini(&v->names);
	tapir_vec__fini(&v->threads);
	tapir_vec__fini(&v->by_kind);
	tapir_keyed__fini(&v->functions);
	tapir_keyed__fini(&v->self_functions);
	tapir_keyed__fini(&v->purposed);
	tapir_folded_tree__fini(&v->folded);
}

static struct thread_row *cpu_thread_row(struct cpu *v, const struct tapir_tl_thread *t,
					 uint64_t now_ns)
{
	size_t idx = tapir_thread_names__row(
		&v->names, (uint64_t)t->tgid << 32 | t->tid,
		tapir_catalog__thread(tapir_timeline__catalog(v->args.tl), t->tid, now_ns), true,
		MAX_THREADS);
	const struct thread_row made = {.tgid = t->tgid, .tid = t->tid, .name_idx = idx};
	struct thread_row *row = tapir_thread_names__slot(&v->threads, idx, made);

	v->args.failed |= v->names.failed || (!row && idx != TAPIR_THREAD_NAMES_NO_ROW);
	return row;
}

/* Once for each kind, however often it is nested. */
static void count_intervals(struct cpu *v, const struct tapir_tl_thread *t)
{
	for (const struct tapir_interval *i = t->open; i; i = i->outer) {
		const struct tapir_interval *inner = t->open;

		while (inner != i && inner->kind != i->kind)
			inner = inner->outer;
		if (inner != i)
			continue;
		while (v->by_kind.cnt <= i->kind)
			if (!tapir_vec__add(&v->by_kind)) {
				v->args.failed = true;
				return;
			}
		v->by_kind.data[i->kind]++;
	}
}

/* A thread and its intervals show, sample by sample, what functions without names do. */
static void count_purpose(struct cpu *v, uint32_t node, const char *purpose)
{
	const struct purposed made = {.node = node, .purpose = purpose};
	struct purposed *row = tapir_keyed__add(
		&v->purposed, tapir_hash__mix(node, (uintptr_t)purpose), MAX_PURPOSED, made);

	if (row)
		row->cnt++;
}

static void cpu_on_sample(void *ctx, struct tapir_tl_thread *t,
			  const struct tapir_rec_sample *sample)
{
	struct cpu *v = ctx;
	struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	enum tapir_work work =
		tapir_works__of(&v->known, v->args.tl, t, t->last_node, sample->h.time_ns);
	const char *purpose = tapir_work__purpose(work, t, tapir_timeline__pairs(v->args.tl));
	struct thread_row *row = cpu_thread_row(v, t, sample->h.time_ns);

	v->cnt++;
	v->period_sum += sample->period;
	v->works[work]++;
	if (t->last_node < tree->nodes.cnt)
		tapir_stack_tree__count(tree, t->last_node, 1);
	else
		v->no_stack_cnt++;
	if (purpose && t->last_node < tree->nodes.cnt)
		count_purpose(v, t->last_node, purpose);
	v->rowless_cnt += !row;
	if (row) {
		row->cnt++;
		row->works[work]++;
	}
	if (t->open)
		count_intervals(v, t);
}

/* ---- functions ------------------------------------------------------------------------------ */

/* A function without a name is what its run of frames is (frame_runs.h). */
static const char *label_of(struct cpu *v, const struct tapir_stack_tree *tree, uint32_t node,
			    const char *purpose)
{
	const char *name = tree->names.data[tree->nodes.data[node].name];
	const struct tapir_stack_tree *folded = &v->folded.tree;
	uint32_t run;

	if (v->unfold || !tapir_unnamed_frame__module(name).len)
		return name;
	run = tapir_folded_tree__node(&v->folded, tree, node, purpose);
	return run ? folded->names.data[folded->nodes.data[run].name] : name;
}

static struct function_row *function_of(struct cpu *v, const char *label, uint8_t kind)
{
	const struct function_row made = {.label = tapir_sv__of(label), .kind = kind};

	return tapir_keyed__add(&v->functions,
				tapir_hash__bytes(made.kind, made.label.data, made.label.len),
				SIZE_MAX, made);
}

/* The caller of the innermost run that a purpose is of, as folded_tree.h has it; 0: none. */
static uint32_t end_of_purpose(const struct tapir_stack_tree *tree, uint32_t node)
{
	struct tapir_frame_run run = {};

	while (node && run.of != TAPIR_RUN_OF_RUNTIME && run.of != TAPIR_RUN_OF_FILE)
		node = tapir_frame_run__of_node(&run, tree, node);
	return node;
}

/* Counts samples at a node for all functions of its stack. */
static void add_cpu_stack(struct cpu *v, const struct tapir_stack_tree *tree,
			  const struct purposed *row, uint32_t mark)
{
	uint32_t end = row->purpose ? end_of_purpose(tree, row->node) : 0;
	const char *purpose = row->purpose;

	for (uint32_t n = row->node; n; n = tree->nodes.data[n].parent) {
		struct function_row *f;

		purpose = n == end ? NULL : purpose;
		f = function_of(v, label_of(v, tree, n, purpose), tree->nodes.data[n].kind);
		if (!f)
			return;
		f->self += n == row->node ? row->cnt : 0;
		f->total += f->mark == mark ? 0 : row->cnt;
		f->mark = mark;
	}
}

/* The nodes' own counts are of all samples: those with a purpose are taken from them. */
static void add_cpu_functions(struct cpu *v, struct tapir_stack_tree *tree)
{
	struct purposed *row;
	uint32_t mark = 0;

	/*
	 * Each stack has its mark, so that a function which recurs on it counts once in its total.
	 */
	tapir_vec_for_each (row, &v->purposed) {
		uint32_t node;

		add_cpu_stack(v, tree, row, ++mark);
		if (v->unfold)
			continue;
		node = tapir_folded_tree__node(&v->folded, tree, row->node, row->purpose);
		if (v->folded.tree.nodes.cnt)
			tapir_stack_tree__count(&v->folded.tree, node, row->cnt);
	}
	tapir_vec_for_each (row, &v->purposed)
		tapir_stack_tree__count(tree, row->node, -row->cnt);
	for (uint32_t n = 1; n < tree->nodes.cnt; n++)
		if (tapir_stack_tree__self(tree, n))
			add_cpu_stack(v, tree,
				      &(struct purposed){n, NULL, tapir_stack_tree__self(tree, n)},
				      ++mark);
	if (!v->unfold)
		tapir_folded_tree__add(&v->folded, tree);
	tapir_vec_for_each (row, &v->purposed)
		tapir_stack_tree__count(tree, row->node, row->cnt);
	v->args.failed |= v->folded.tree.failed || v->functions.failed;
}

static int by_self(const void *a, const void *b)
{
	const struct function_row *x = a, *y = b;

	return tapir_order__down(x->self, y->self) ?: tapir_order__down(x->total, y->total);
}

static void write_functions(struct cpu *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"self_percent", ">SELF", TAPIR_CELL_PERCENT},
		{"total_percent", ">TOTAL", TAPIR_CELL_PERCENT},
		{"samples", ">SAMPLES", TAPIR_CELL_COUNT},
		{"total", NULL, TAPIR_CELL_COUNT},
		{"kind", "KIND", TAPIR_CELL_TEXT},
		{"function", "FUNCTION", TAPIR_CELL_TEXT},
		{}};
	size_t t = tapir_view_result__table(result, "functions", "functions", columns);
	const struct function_row *f;
	uint64_t left = v->args.top;

	add_cpu_functions(v, tapir_timeline__stacks(v->args.tl));
	tapir_keyed__sort(&v->functions, by_self);
	tapir_vec_for_each (f, &v->functions) {
		if (!left--)
			break;
		tapir_view_result__share(result, t, f->self, v->cnt);
		tapir_view_result__share(result, t, f->total, v->cnt);
		tapir_view_result__u64(result, t, f->self);
		tapir_view_result__u64(result, t, f->total);
		tapir_view_result__text(result, t, tapir_frame_kind__name(f->kind));
		tapir_view_result__textn(result, t, f->label);
	}
}

/* ---- functions of the program --------------------------------------------------------------- */

struct self_count {
	struct cpu *v;
	const struct tapir_stack_tree *tree;
	struct tapir_app_code code;
};

static struct self_row *self_row_of(struct self_count *c, uint32_t name)
{
	struct self_row *row = tapir_keyed__add(&c->v->self_functions, name, UINT32_MAX,
						((struct self_row){.name = name}));

	c->v->args.failed |= !row;
	return row;
}

/*
 * Counts the samples at a node. On a stack with managed code native frames belong to the runtime,
 * also those of a program that embeds it.
 */
static void add_self_stack(struct self_count *c, uint32_t node, uint64_t cnt)
{
	const struct tapir_tree_node *nodes = c->tree->nodes.data;
	bool is_managed = tapir_app_code__of(&c->code, c->tree, node) != TAPIR_APP_CODE_NONE;
	uint32_t innermost = tapir_app_code__or_native(&c->code, c->tree, node);
	struct self_row *row;

	if (innermost == TAPIR_APP_CODE_NONE)
		return;
	row = self_row_of(c, innermost);
	if (row)
		row->self_cnt += cnt;
	for (uint32_t n = node; n && row; n = nodes[n].parent) {
		const char *name = c->tree->names.data[nodes[n].name];

		if (!(is_managed ? tapir_app_code__is_app(&nodes[n], name)
				 : tapir_app_code__is_app_native(&nodes[n], name)))
			continue;
		row = self_row_of(c, nodes[n].name);
		/* The node marks the stack: a function that recurs on it counts once. */
		if (row && row->mark != node) {
			row->total += cnt;
			row->mark = node;
		}
	}
}

static int by_self_cnt(const void *a, const void *b)
{
	const struct self_row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->self_cnt, y->self_cnt),
			       tapir_order__down(x->total, y->total),
			       tapir_order__up(x->name, y->name));
}

static void count_self_functions(struct cpu *v)
{
	struct self_count c = {.v = v, .tree = tapir_timeline__stacks(v->args.tl)};

	for (uint32_t n = 1; n < c.tree->nodes.cnt; n++)
		if (tapir_stack_tree__self(c.tree, n))
			add_self_stack(&c, n, tapir_stack_tree__self(c.tree, n));
	tapir_keyed__sort(&v->self_functions, by_self_cnt);
	tapir_app_code__fini(&c.code);
}

static void write_self_functions(struct cpu *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"own_percent", ">OWN", TAPIR_CELL_PERCENT},
		{"total_percent", ">TOTAL", TAPIR_CELL_PERCENT},
		{"samples", ">SAMPLES", TAPIR_CELL_COUNT},
		{"total", NULL, TAPIR_CELL_COUNT},
		{"function", "FUNCTION", TAPIR_CELL_TEXT},
		{}};
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	const struct self_row *row;
	uint64_t left = v->args.top;
	size_t t;

	count_self_functions(v);
	if (!v->self_functions.cnt)
		return;
	t = tapir_view_result__table(result, "own_functions",
				     "functions of the program, with what they call in libraries, "
				     "runtime and kernel",
				     columns);
	tapir_vec_for_each (row, &v->self_functions) {
		if (!left--)
			break;
		tapir_view_result__share(result, t, row->self_cnt, v->cnt);
		tapir_view_result__share(result, t, row->total, v->cnt);
		tapir_view_result__u64(result, t, row->self_cnt);
		tapir_view_result__u64(result, t, row->total);
		tapir_view_result__text(result, t, tree->names.data[row->name]);
	}
}

/* ---- paths ---------------------------------------------------------------------------------- */

static void write_path(struct cpu *v, struct tapir_view_result *result, size_t t,
		       const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_tree_node *n = &tree->nodes.data[node];
	uint64_t total = tapir_stack_tree__total(tree, node);
	struct tapir_str text = {};
	size_t indent = n->depth ? 2 * (n->depth - 1u) : 0;

	for (size_t i = 0; i < indent; i++)
		tapir_str__addc(&text, ' ');
	tapir_stack_tree__add_label(&text, tree, node);
	tapir_view_result__share(result, t, total, v->cnt);
	tapir_view_result__u64(result, t, total);
	tapir_view_result__u64(result, t, n->depth);
	tapir_view_result__text(result, t, text.data);
	tapir_view_result__text(result, t, text.data ? text.data + indent : NULL);
	v->args.failed |= text.failed;
	tapir_str__fini(&text);
}

/* The heaviest child of a node that is lighter than `below`, or as heavy and after `last`. */
static uint32_t next_child(const struct tapir_stack_tree *tree, uint32_t parent, uint32_t last)
{
	const struct tapir_tree_node *nodes = tree->nodes.data;
	uint64_t below = tapir_stack_tree__total(tree, last), largest = 0;
	uint32_t best = 0;

	for (uint32_t c = nodes[parent].first_child; c; c = nodes[c].next_sibling) {
		uint64_t total = tapir_stack_tree__total(tree, c);
		bool is_after = !last || total < below || (total == below && c > last);

		if (is_after && (!best || total > largest || (total == largest && c < best))) {
			best = c;
			largest = total;
		}
	}
	return best;
}

/*
 * Writes the paths from the outside in, heavier first, that have two in a hundred of all. No
 * recursion.
 */
static void write_paths(struct cpu *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"percent", ">TOTAL", TAPIR_CELL_PERCENT},
						      {"samples", ">SAMPLES", TAPIR_CELL_COUNT},
						      {"depth", NULL, TAPIR_CELL_COUNT},
						      {"path", "PATH", TAPIR_CELL_TEXT},
						      {"function", NULL, TAPIR_CELL_TEXT},
						      {}};
	size_t t = tapir_view_result__table(result, "tree", "call tree, outermost function first",
					    columns);
	struct tapir_stack_tree *tree =
		v->unfold ? tapir_timeline__stacks(v->args.tl) : &v->folded.tree;
	const struct tapir_tree_node *nodes = tree->nodes.data;
	/* The children of `at` are visited; `last` is the one that was visited before, 0: none. */
	uint32_t at = 0, last = 0;
	unsigned left = MAX_PATHS;

	tapir_stack_tree__sort(tree);
	while (tree->nodes.cnt && left) {
		uint32_t next = next_child(tree, at, last);

		if (next && tapir_stack_tree__total(tree, next) * 100 >= v->cnt * PATHS_PERCENT) {
			write_path(v, result, t, tree, next);
			left--;
			at = next;
			last = 0;
		} else if (at) {
			last = at;
			at = nodes[at].parent;
		} else {
			return;
		}
	}
}

/* ---- the rest ------------------------------------------------------------------------------- */

static int by_cnt(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	return x->cnt < y->cnt ? 1 : x->cnt > y->cnt ? -1 : 0;
}

static void write_threads(struct cpu *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"percent", ">SHARE", TAPIR_CELL_PERCENT},
						      {"samples", ">SAMPLES", TAPIR_CELL_COUNT},
						      {"pid", ">PID", TAPIR_CELL_ID},
						      {"tid", ">TID", TAPIR_CELL_ID},
						      {"thread", "THREAD", TAPIR_CELL_TEXT},
						      {"work", "MOSTLY", TAPIR_CELL_TEXT},
						      {}};
	size_t t = tapir_view_result__table(result, "threads", "threads", columns);
	const struct thread_row *row;
	uint64_t left = v->args.top;

	if (v->threads.cnt)
		qsort(v->threads.data, v->threads.cnt, sizeof(*v->threads.data), by_cnt);
	tapir_vec_for_each (row, &v->threads) {
		unsigned largest = 0;

		if (!left--)
			break;
		for (unsigned w = 1; w < TAPIR_WORK_CNT; w++)
			largest = row->works[w] > row->works[largest] ? w : largest;
		tapir_view_result__share(result, t, row->cnt, v->cnt);
		tapir_view_result__u64(result, t, row->cnt);
		tapir_view_result__u64(result, t, row->tgid);
		tapir_view_result__u64(result, t, row->tid);
		tapir_view_result__text(result, t, v->names.rows.data[row->name_idx].comm);
		tapir_view_result__text(result, t, tapir_work__name(largest));
	}
}

static void write_works(const struct cpu *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"work", "WORK", TAPIR_CELL_TEXT},
						      {"samples", ">SAMPLES", TAPIR_CELL_COUNT},
						      {"percent", ">SHARE", TAPIR_CELL_PERCENT},
						      {}};
	size_t t = tapir_view_result__table(result, "works", NULL, columns);

	for (unsigned w = 0; w < TAPIR_WORK_CNT; w++) {
		if (!v->works[w])
			continue;
		tapir_view_result__text(result, t, tapir_work__name(w));
		tapir_view_result__u64(result, t, v->works[w]);
		tapir_view_result__share(result, t, v->works[w], v->cnt);
	}
	/* The report's own line has shares of modules' code, whatever it was for. */
	if (v->works[TAPIR_WORK_GC] || v->works[TAPIR_WORK_JIT])
		tapir_view_result__note(result, "GC and the JIT compiler have their time in native "
						"code and in the kernel as well");
}

static void write_intervals(const struct cpu *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"percent", ">CPU", TAPIR_CELL_PERCENT},
						      {"samples", ">SAMPLES", TAPIR_CELL_COUNT},
						      {"intervals", ">INTERVALS", TAPIR_CELL_COUNT},
						      {"kind", "INSIDE", TAPIR_CELL_TEXT},
						      {}};
	const struct tapir_pairs *pairs = tapir_timeline__pairs(v->args.tl);
	size_t t =
		tapir_view_result__table(result, "intervals", "CPU time inside intervals", columns);
	char text[512];

	for (size_t k = 0; k < v->by_kind.cnt && k < pairs->kinds.cnt; k++) {
		const struct tapir_interval_kind *kind = &pairs->kinds.data[k];

		if (!v->by_kind.data[k])
			continue;
		snprintf(text, sizeof(text), "%s:%s", kind->provider, kind->name);
		tapir_view_result__share(result, t, v->by_kind.data[k], v->cnt);
		tapir_view_result__u64(result, t, v->by_kind.data[k]);
		tapir_view_result__u64(result, t, kind->cnt);
		tapir_view_result__text(result, t, text);
	}
}

static double percent_of(const struct cpu *v, uint64_t cnt)
{
	return 100.0 * (double)cnt / (double)v->cnt;
}

static void write_headline(const struct cpu *v, struct tapir_str *out)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	unsigned largest = 0;

	for (unsigned w = 1; w < TAPIR_WORK_CNT; w++)
		largest = v->works[w] > v->works[largest] ? w : largest;
	tapir_str__addf(out, "%.1f%% of %llu CPU samples are %s", percent_of(v, v->works[largest]),
			(unsigned long long)v->cnt, tapir_work__name(largest));
	if (v->works[TAPIR_WORK_GC] && largest != TAPIR_WORK_GC)
		tapir_str__addf(out, ", %.1f%% GC", percent_of(v, v->works[TAPIR_WORK_GC]));
	if (v->works[TAPIR_WORK_JIT] && largest != TAPIR_WORK_JIT)
		tapir_str__addf(out, ", %.1f%% JIT compiler",
				percent_of(v, v->works[TAPIR_WORK_JIT]));
	if (v->self_functions.cnt && v->self_functions.data[0].self_cnt)
		tapir_str__addf(out, "; most for %s (%.1f%%)",
				tree->names.data[v->self_functions.data[0].name],
				percent_of(v, v->self_functions.data[0].self_cnt));
	if (v->functions.cnt)
		tapir_str__addf(
			out, "; hottest: %.*s (%.1f%%)", (int)v->functions.data[0].label.len,
			v->functions.data[0].label.data, percent_of(v, v->functions.data[0].self));
}

static int cpu_finish(void *ctx, struct tapir_view_result *result)
{
	struct cpu *v = ctx;

	v->unfold = result->unfold;
	write_works(v, result);
	write_self_functions(v, result);
	write_functions(v, result);
	write_paths(v, result);
	write_threads(v, result);
	write_intervals(v, result);
	write_headline(v, &result->headline);
	if (v->rowless_cnt)
		tapir_view_result__note(
			result,
			"%llu samples of other threads are not listed: the limit is %u threads",
			(unsigned long long)v->rowless_cnt, MAX_THREADS);
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct cpu, cnt, "samples", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct cpu, no_stack_cnt, "without_stack", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct cpu, period_sum, "period_sum", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_cpu = {
	.name = "cpu",
	.is_of_traces = true,
	.summary = "CPU time by function, call path, thread and interval",
	.fns = {.sample = cpu_on_sample},
	.facts = facts,
	.nothing = "the recording has no CPU samples of these threads",
	.found_off = TAPIR_VIEW_NUMBER(struct cpu, cnt),
	.ctx_bytes = sizeof(struct cpu),
	.default_top = 20,
	.finish = cpu_finish,
	.fini = cpu_fini,
};
