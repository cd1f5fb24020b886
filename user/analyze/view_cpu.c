// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPU time by its samples: at what work, in which functions (self: it was in it; total: in it or in
 * what it called), along which paths from the outside in, on which threads, and in which intervals.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/own_code.h"
#include "analyze/runtime_work.h"
#include "analyze/view.h"
#include "symbol/frame_kind.h"
#include "trace/thread_names.h"

#define MAX_THREADS   65536u
#define PATHS_PERCENT 2 /* of all samples: a path with less is not shown */
#define MAX_PATHS     200u

struct thread_row {
	uint32_t tgid, tid;
	uint64_t cnt, works[TAPIR_WORK_CNT];
	size_t name_idx; /* its row of names */
};

/* A frame of the call tree, or several of a runtime's that are shown as one. */
struct fold {
	uint32_t node; /* of the tree: any of them */
	uint32_t parent, first_child, next_sibling, depth;
	size_t len; /* of its name, up to the end of its file's; 0: all of it */
	bool is_plumbing;
	uint64_t self, total;
};

struct function_row {
	struct tapir_sv label;
	uint8_t kind;
	uint64_t self, total;
	uint32_t mark;
};

struct cpu {
	struct tapir_view_args asked;
	uint64_t cnt, bare_cnt, rowless_cnt, period_sum, works[TAPIR_WORK_CNT];
	struct tapir_works known;
	struct tapir_thread_names names;
	struct tapir_vec(struct thread_row) threads; /* a row of names each */
	struct tapir_vec(uint64_t) by_kind;	     /* samples inside intervals, by kind */
	struct tapir_vec(struct fold) folds;	     /* [0]: the root */
	struct tapir_map fold_by_key;
	struct tapir_vec(struct function_row) functions;
	bool failed;
};

static void fini(void *ctx)
{
	struct cpu *v = ctx;

	tapir_works__fini(&v->known);
	tapir_thread_names__fini(&v->names);
	tapir_vec__fini(&v->threads);
	tapir_vec__fini(&v->by_kind);
	tapir_vec__fini(&v->functions);
	tapir_vec__fini(&v->folds);
	tapir_map__fini(&v->fold_by_key);
}

static struct thread_row *row_of(struct cpu *v, const struct tapir_tl_thread *t, uint64_t now_ns)
{
	size_t idx = tapir_thread_names__row(
		&v->names, (uint64_t)t->tgid << 32 | t->tid,
		tapir_catalog__thread(tapir_timeline__catalog(v->asked.tl), t->tid, now_ns), true,
		MAX_THREADS);
	const struct thread_row made = {.tgid = t->tgid, .tid = t->tid, .name_idx = idx};
	struct thread_row *row = tapir_thread_names__slot(&v->threads, idx, made);

	v->failed |= v->names.failed || (!row && idx != TAPIR_THREAD_NAMES_NO_ROW);
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
				v->failed = true;
				return;
			}
		v->by_kind.data[i->kind]++;
	}
}

static void on_sample(void *ctx, struct tapir_tl_thread *t, const struct tapir_rec_sample *sample)
{
	struct cpu *v = ctx;
	struct tapir_stack_tree *tree = tapir_timeline__stacks(v->asked.tl);
	enum tapir_work work =
		tapir_works__of(&v->known, v->asked.tl, t, t->last_node, sample->h.time_ns);
	struct thread_row *row = row_of(v, t, sample->h.time_ns);

	v->cnt++;
	v->period_sum += sample->period;
	v->works[work]++;
	if (t->last_node < tree->nodes.cnt)
		tree->nodes.data[t->last_node].self++;
	else
		v->bare_cnt++;
	v->rowless_cnt += !row;
	if (row) {
		row->cnt++;
		row->works[work]++;
	}
	if (t->open)
		count_intervals(v, t);
}

/* ---- frames that are one ---------------------------------------------------------------------- */

/*
 * The length of the file's name if the function has none, as in libcoreclr.so:
 * "libcoreclr.so!fn_1ff180". 0: it has a name.
 */
static size_t file_len(const char *name)
{
	const char *mark = strstr(name, "!fn_");

	mark = mark ? mark : strstr(name, "+0x");
	return mark && mark[strcspn(mark, " (<")] == '\0' ? (size_t)(mark - name) : 0;
}

static struct fold *add_fold(struct cpu *v, const struct fold *like)
{
	struct fold *added = tapir_vec__add(&v->folds);

	if (!added) {
		v->failed = true;
		return NULL;
	}
	*added = *like;
	if (v->folds.cnt > 1) {
		added->next_sibling = v->folds.data[like->parent].first_child;
		v->folds.data[like->parent].first_child = (uint32_t)v->folds.cnt - 1;
	}
	return added;
}

/* The runtime's frames in a row are one: which of them it was says little, and there are many. */
static uint32_t fold_of(struct cpu *v, const struct tapir_stack_tree *tree, uint32_t parent,
			uint32_t node, bool all_frames)
{
	const struct tapir_tree_node *n = &tree->nodes.data[node];
	const char *name = tree->names.data[n->name];
	const struct fold *outer = &v->folds.data[parent];
	struct fold like = {.node = node, .parent = parent, .depth = outer->depth + 1u};
	uint64_t key, *idx;

	if (!all_frames) {
		like.len = file_len(name);
		like.is_plumbing = !like.len && n->kind == TAPIR_FRAME_JIT &&
				   tapir_own_code__is_plumbing(name);
	}
	if ((like.is_plumbing && (outer->len || outer->is_plumbing)) ||
	    (like.len &&
	     (outer->is_plumbing ||
	      (outer->len == like.len &&
	       !memcmp(tree->names.data[tree->nodes.data[outer->node].name], name, like.len)))))
		return parent;
	key = tapir_hash__bytes(tapir_hash__mix(parent, like.len ? 0 : n->place + 1ull), name,
				like.len ? like.len : strlen(name));
	idx = tapir_map__put(&v->fold_by_key, tapir_hash__mix(key, n->kind), NULL);
	if (!idx || (!*idx && !add_fold(v, &like))) {
		v->failed = true;
		return parent;
	}
	if (!*idx)
		*idx = v->folds.cnt - 1;
	return (uint32_t)*idx;
}

/* Parents come before their children, in both trees. */
static void fold_frames(struct cpu *v, const struct tapir_stack_tree *tree, bool all_frames)
{
	struct tapir_vec(uint32_t) fold_by_node = {};
	uint32_t *place;

	if (!tree->nodes.cnt || !add_fold(v, &(struct fold){}))
		return;
	for (uint32_t n = 0; n < tree->nodes.cnt; n++) {
		const struct tapir_tree_node *node = &tree->nodes.data[n];

		place = tapir_vec__add(&fold_by_node);
		if (!place) {
			v->failed = true;
			break;
		}
		*place = n ? fold_of(v, tree, fold_by_node.data[node->parent], n, all_frames) : 0;
		v->folds.data[*place].self += node->self;
	}
	for (size_t i = v->folds.cnt; i-- > 0;) {
		v->folds.data[i].total += v->folds.data[i].self;
		if (i)
			v->folds.data[v->folds.data[i].parent].total += v->folds.data[i].total;
	}
	tapir_vec__fini(&fold_by_node);
}

static struct tapir_sv label_of(const struct tapir_stack_tree *tree, const struct fold *fold)
{
	const char *name = tree->names.data[tree->nodes.data[fold->node].name];

	return (struct tapir_sv){name, fold->len ? fold->len : strlen(name)};
}

/* ---- functions ------------------------------------------------------------------------------ */

static struct function_row *function_of(struct cpu *v, const struct tapir_stack_tree *tree,
					struct tapir_map *by_name, const struct fold *fold)
{
	struct function_row row = {.label = label_of(tree, fold),
				   .kind = tree->nodes.data[fold->node].kind};
	uint64_t key = tapir_hash__bytes(row.kind, row.label.data, row.label.len);
	uint64_t *idx = tapir_map__put(by_name, key, NULL);

	if (!idx) {
		v->failed = true;
		return NULL;
	}
	if (!*idx) {
		if (!tapir_vec__push(&v->functions, row)) {
			v->failed = true;
			return NULL;
		}
		*idx = v->functions.cnt;
	}
	return &v->functions.data[*idx - 1];
}

static void add_functions(struct cpu *v, const struct tapir_stack_tree *tree)
{
	struct tapir_map by_name = {};
	uint32_t mark = 0;

	for (size_t n = 1; n < v->folds.cnt; n++) {
		uint64_t self = v->folds.data[n].self;

		if (!self)
			continue;
		mark++;
		for (size_t at = n; at; at = v->folds.data[at].parent) {
			struct function_row *f = function_of(v, tree, &by_name, &v->folds.data[at]);

			if (!f)
				continue;
			f->self += at == n ? self : 0;
			f->total += f->mark == mark ? 0 : self;
			f->mark = mark;
		}
	}
	tapir_map__fini(&by_name);
}

static int by_self(const void *a, const void *b)
{
	const struct function_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
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
	uint64_t left = v->asked.top;

	add_functions(v, result->tree);
	if (v->functions.cnt)
		qsort(v->functions.data, v->functions.cnt, sizeof(*v->functions.data), by_self);
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

/* ---- paths ---------------------------------------------------------------------------------- */

static void write_path(struct cpu *v, struct tapir_view_result *result, size_t t, uint32_t at)
{
	const struct fold *fold = &v->folds.data[at];
	struct tapir_sv label = label_of(result->tree, fold);
	struct tapir_str text = {};
	size_t indent = fold->depth ? 2 * (fold->depth - 1u) : 0;

	for (size_t i = 0; i < indent; i++)
		tapir_str__addc(&text, ' ');
	if (fold->len)
		tapir_str__add(&text, label.data, label.len);
	else
		tapir_stack_tree__add_label(&text, result->tree, fold->node);
	tapir_view_result__share(result, t, fold->total, v->cnt);
	tapir_view_result__u64(result, t, fold->total);
	tapir_view_result__u64(result, t, fold->depth);
	tapir_view_result__text(result, t, text.data);
	tapir_view_result__text(result, t, text.data ? text.data + indent : NULL);
	v->failed |= text.failed;
	tapir_str__fini(&text);
}

/* The heaviest child of a node that is lighter than `below`, or as heavy and after `last`. */
static uint32_t next_child(const struct fold *nodes, uint32_t parent, uint32_t last)
{
	uint32_t best = 0;

	for (uint32_t c = nodes[parent].first_child; c; c = nodes[c].next_sibling) {
		bool is_behind = !last || nodes[c].total < nodes[last].total ||
				 (nodes[c].total == nodes[last].total && c > last);

		if (is_behind && (!best || nodes[c].total > nodes[best].total ||
				  (nodes[c].total == nodes[best].total && c < best)))
			best = c;
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
	const struct fold *nodes = v->folds.data;
	uint32_t at = 0, last = 0;
	unsigned left = MAX_PATHS;

	while (v->folds.cnt && left) {
		uint32_t next = next_child(nodes, at, last);

		if (next && nodes[next].total * 100 >= v->cnt * PATHS_PERCENT) {
			write_path(v, result, t, next);
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
	uint64_t left = v->asked.top;

	if (v->threads.cnt)
		qsort(v->threads.data, v->threads.cnt, sizeof(*v->threads.data), by_cnt);
	tapir_vec_for_each (row, &v->threads) {
		unsigned most = 0;

		if (!left--)
			break;
		for (unsigned w = 1; w < TAPIR_WORK_CNT; w++)
			most = row->works[w] > row->works[most] ? w : most;
		tapir_view_result__share(result, t, row->cnt, v->cnt);
		tapir_view_result__u64(result, t, row->cnt);
		tapir_view_result__u64(result, t, row->tgid);
		tapir_view_result__u64(result, t, row->tid);
		tapir_view_result__text(result, t, v->names.rows.data[row->name_idx].comm);
		tapir_view_result__text(result, t, tapir_work__name(most));
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
	const struct tapir_pairs *pairs = tapir_timeline__pairs(v->asked.tl);
	size_t t =
		tapir_view_result__table(result, "intervals", "CPU time inside intervals", columns);
	char text[512];

	for (size_t k = 0; k < v->by_kind.cnt && k < pairs->kinds.cnt; k++) {
		const struct tapir_kind *kind = &pairs->kinds.data[k];

		if (!v->by_kind.data[k])
			continue;
		snprintf(text, sizeof(text), "%s:%s", kind->provider, kind->name);
		tapir_view_result__share(result, t, v->by_kind.data[k], v->cnt);
		tapir_view_result__u64(result, t, v->by_kind.data[k]);
		tapir_view_result__u64(result, t, kind->cnt);
		tapir_view_result__text(result, t, text);
	}
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	struct cpu *v = ctx;
	unsigned most = 0;

	if (!v->cnt) {
		tapir_str__adds(&result->headline,
				"the recording has no CPU samples of these threads");
		return v->failed ? -ENOMEM : 0;
	}
	fold_frames(v, result->tree, result->all_frames);
	for (unsigned w = 1; w < TAPIR_WORK_CNT; w++)
		most = v->works[w] > v->works[most] ? w : most;
	write_works(v, result);
	write_functions(v, result);
	write_paths(v, result);
	write_threads(v, result);
	write_intervals(v, result);
	tapir_str__addf(&result->headline, "%.1f%% of %llu CPU samples are %s",
			100.0 * (double)v->works[most] / (double)v->cnt, (unsigned long long)v->cnt,
			tapir_work__name(most));
	if (v->works[TAPIR_WORK_GC] && most != TAPIR_WORK_GC)
		tapir_str__addf(&result->headline, ", %.1f%% GC",
				100.0 * (double)v->works[TAPIR_WORK_GC] / (double)v->cnt);
	if (v->works[TAPIR_WORK_JIT] && most != TAPIR_WORK_JIT)
		tapir_str__addf(&result->headline, ", %.1f%% JIT compiler",
				100.0 * (double)v->works[TAPIR_WORK_JIT] / (double)v->cnt);
	if (v->functions.cnt)
		tapir_str__addf(&result->headline, "; hottest: %.*s (%.1f%%)",
				(int)v->functions.data[0].label.len,
				v->functions.data[0].label.data,
				100.0 * (double)v->functions.data[0].self / (double)v->cnt);
	tapir_view_result__fact(result, "samples", NULL, TAPIR_CELL_COUNT, v->cnt);
	tapir_view_result__fact(result, "without_stack", NULL, TAPIR_CELL_COUNT, v->bare_cnt);
	if (v->rowless_cnt)
		tapir_view_result__note(
			result,
			"%llu samples of other threads are not listed: the limit is %u threads",
			(unsigned long long)v->rowless_cnt, MAX_THREADS);
	tapir_view_result__fact(result, "period_sum", NULL, TAPIR_CELL_COUNT, v->period_sum);
	return v->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_cpu = {
	.name = "cpu",
	.is_of_traces = true,
	.summary = "CPU time by function, call path, thread and interval",
	.fns = {.sample = on_sample},
	.ctx_bytes = sizeof(struct cpu),
	.default_top = 20,
	.finish = finish,
	.fini = fini,
};
