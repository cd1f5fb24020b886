// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What each thread did when the recording began, or ended: identical stacks are one group. A thread
 * that ran then has the stack of a sample taken within a moment, if there is one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view.h"
#include "analyze/wait_reason.h"
#include "symbol/frame_kind.h"

#define MAX_THREADS 65536u
#define SHOWN_NAMES 6u
#define NEAR_NS	    (150 * 1000000ull) /* a sample still shows where a thread ran */

struct row {
	uint64_t time_ns;
	uint32_t tgid, tid;
	uint32_t node; /* TAPIR_NO_NODE: its stack is not known */
	uint16_t state, flags;
	bool is_running;
	char comm[TAPIR_COMM_TEXT_BYTES];
};

struct near_sample {
	uint64_t time_ns;
	uint32_t node;
};

struct stacks_view {
	struct tapir_view_asked asked;
	bool is_end;
	struct tapir_vec(struct row) rows;
	struct tapir_map row_by_tid;	/* and 1: of threads that ran */
	struct tapir_map sample_by_tid; /* and 1: the last one of each thread, for the end */
	struct tapir_vec(struct near_sample) samples;
	struct tapir_wait_reasons reasons;
	size_t dropped_cnt;
	bool failed;
};

static void fini(void *ctx)
{
	struct stacks_view *v = ctx;

	tapir_vec__fini(&v->rows);
	tapir_vec__fini(&v->samples);
	tapir_map__fini(&v->row_by_tid);
	tapir_map__fini(&v->sample_by_tid);
	tapir_wait_reasons__fini(&v->reasons);
}

static void keep_sample(struct stacks_view *v, uint32_t tid, const struct near_sample *sample)
{
	uint64_t *idx;

	if (v->samples.cnt == MAX_THREADS)
		return;
	idx = tapir_map__put(&v->sample_by_tid, tid, NULL);
	if (idx && *idx)
		v->samples.data[*idx - 1] = *sample;
	else if (idx && tapir_vec__push(&v->samples, *sample))
		*idx = v->samples.cnt;
	else
		v->failed = true;
}

/* The last sample before the snapshot. */
static uint32_t node_before(const struct stacks_view *v, uint32_t tid, uint64_t time_ns)
{
	const uint64_t *idx = tapir_map__get(&v->sample_by_tid, tid);
	const struct near_sample *sample = idx && *idx ? &v->samples.data[*idx - 1] : NULL;

	return sample && time_ns - sample->time_ns < NEAR_NS ? sample->node : TAPIR_NO_NODE;
}

/* The first sample after the snapshot with all of its callers, or the last one without. */
static void see_after(struct stacks_view *v, uint32_t tid, const struct near_sample *sample)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->asked.tl);
	const uint64_t *idx = tapir_map__get(&v->row_by_tid, tid);
	struct row *row = idx && *idx ? &v->rows.data[*idx - 1] : NULL;

	if (!row || sample->time_ns - row->time_ns >= NEAR_NS ||
	    tapir_stack__is_whole(tree, row->node))
		return;
	row->node = sample->node;
}

static void on_sample(void *ctx, struct tapir_tl_thread *thread,
		      const struct tapir_rec_sample *sample)
{
	struct stacks_view *v = ctx;
	const struct near_sample near = {sample->h.time_ns, thread->last_node};

	if (near.node == TAPIR_NO_NODE || thread->last_node_ns != near.time_ns)
		return; /* without a stack */
	if (v->is_end)
		keep_sample(v, thread->tid, &near);
	else
		see_after(v, thread->tid, &near);
}

static void add_row(struct stacks_view *v, const struct row *row)
{
	uint64_t *idx = row->is_running ? tapir_map__put(&v->row_by_tid, row->tid, NULL) : NULL;

	if (!tapir_vec__push(&v->rows, *row) || (row->is_running && !idx))
		v->failed = true;
	else if (idx)
		*idx = v->rows.cnt;
}

static void on_snapshot(void *ctx, const struct tapir_rec_switch *rec, uint32_t node)
{
	struct stacks_view *v = ctx;
	struct row row = {
		.tgid = rec->out_tid ? rec->out_tgid : rec->in_tgid,
		.tid = rec->out_tid ? rec->out_tid : rec->in_tid,
		.node = node,
		.state = rec->out_state,
		.flags = rec->flags,
		.is_running = !rec->out_tid,
		.time_ns = rec->h.time_ns,
	};

	if (!(rec->flags & TAPIR_SWITCH_AT_END) == v->is_end)
		return;
	if (row.is_running && v->is_end)
		row.node = node_before(v, row.tid, rec->h.time_ns);
	tapir_comm__copy(row.comm, tapir_timeline__comm(v->asked.tl, row.tid, rec->h.time_ns));
	if (*v->asked.arg && !tapir_glob__match(v->asked.arg, row.comm))
		return;
	if (v->rows.cnt == MAX_THREADS)
		v->dropped_cnt++;
	else
		add_row(v, &row);
}

static const char *state_of(const struct row *row)
{
	struct tapir_rec_switch rec = {.out_state = row->state, .flags = row->flags};

	return row->is_running ? "running" : tapir_switch__state_name(&rec);
}

static int by_group(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	if (x->is_running != y->is_running)
		return x->is_running ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool is_same_group(const struct row *x, const struct row *y)
{
	return x->node == y->node && x->state == y->state && x->is_running == y->is_running;
}

struct group {
	const struct row *first;
	size_t cnt;
};

static int by_size(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->cnt != y->cnt)
		return x->cnt < y->cnt ? 1 : -1;
	return x->first->tid < y->first->tid ? -1 : x->first->tid > y->first->tid;
}

/* rows are sorted. *out: the caller's, free(). Their number. */
static size_t make_groups(const struct stacks_view *v, struct group **out)
{
	struct group *groups = calloc(v->rows.cnt + 1, sizeof(*groups));
	size_t cnt = 0;

	for (size_t i = 0; groups && i < v->rows.cnt; i++) {
		const struct row *row = &v->rows.data[i];

		if (!cnt || !is_same_group(groups[cnt - 1].first, row))
			groups[cnt++].first = row;
		groups[cnt - 1].cnt++;
	}
	if (cnt)
		qsort(groups, cnt, sizeof(*groups), by_size);
	*out = groups;
	return cnt;
}

/* "worker 4712, worker 4713 and 12 more" */
static void add_names(struct tapir_view_result *result, size_t table, const struct group *group)
{
	struct tapir_str text = {};

	for (size_t i = 0; i < group->cnt && i < SHOWN_NAMES; i++)
		tapir_str__addf(&text, "%s%s %u", i ? ", " : "", group->first[i].comm,
				group->first[i].tid);
	if (group->cnt > SHOWN_NAMES)
		tapir_str__addf(&text, " and %zu more", group->cnt - SHOWN_NAMES);
	tapir_view_result__text(result, table, text.data);
	result->failed |= text.failed;
	tapir_str__fini(&text);
}

static void add_frames(struct tapir_view_result *result, size_t parent, uint32_t node)
{
	static const struct tapir_column columns[] = {
		{"kind", "KIND", TAPIR_CELL_TEXT}, {"function", "FUNCTION", TAPIR_CELL_TEXT}, {}};
	const struct tapir_tree_node *nodes = result->tree->nodes.data;
	size_t t = tapir_view_result__table_of_row(result, parent, "frames", NULL, columns);

	if (node >= result->tree->nodes.cnt)
		return;
	for (; node; node = nodes[node].parent) {
		tapir_view_result__text(result, t, tapir_frame_kind__name(nodes[node].kind));
		tapir_view_result__text(result, t, result->tree->names.data[nodes[node].name]);
	}
}

static void add_threads(struct tapir_view_result *result, size_t parent, const struct group *group)
{
	static const struct tapir_column columns[] = {{"pid", NULL, TAPIR_CELL_ID},
						      {"tid", NULL, TAPIR_CELL_ID},
						      {"name", NULL, TAPIR_CELL_TEXT},
						      {}};
	size_t t = tapir_view_result__table_of_row(result, parent, "members", NULL, columns);

	for (size_t i = 0; i < group->cnt; i++) {
		tapir_view_result__u64(result, t, group->first[i].tgid);
		tapir_view_result__u64(result, t, group->first[i].tid);
		tapir_view_result__text(result, t, group->first[i].comm);
	}
}

static void add_group(struct stacks_view *v, struct tapir_view_result *result, size_t t,
		      const struct group *group)
{
	const struct row *row = group->first;
	bool is_known = row->node < result->tree->nodes.cnt && row->node;

	tapir_view_result__u64(result, t, group->cnt);
	tapir_view_result__text(result, t, state_of(row));
	tapir_view_result__text(
		result, t,
		is_known && row->state
			? tapir_wait_reasons__of(&v->reasons, result->tree, row->node)
			: NULL);
	add_names(result, t, group);
	add_frames(result, t, row->node);
	add_threads(result, t, group);
}

static void add_headline(const struct stacks_view *v, struct tapir_view_result *result,
			 const struct group *groups, size_t group_cnt)
{
	size_t running = 0;

	for (size_t i = 0; i < v->rows.cnt; i++)
		running += v->rows.data[i].is_running;
	tapir_str__addf(&result->headline, "%zu thread%s, %zu running, %zu different stack%s",
			v->rows.cnt, v->rows.cnt == 1 ? "" : "s", running, group_cnt,
			group_cnt == 1 ? "" : "s");
	if (groups[0].cnt > 1)
		tapir_str__addf(&result->headline, "; %zu share one", groups[0].cnt);
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"threads", ">THREADS", TAPIR_CELL_COUNT},
						      {"state", "STATE", TAPIR_CELL_TEXT},
						      {"waits_for", "WAITS FOR", TAPIR_CELL_TEXT},
						      {"names", "NAMES", TAPIR_CELL_TEXT},
						      {}};
	struct stacks_view *v = ctx;
	size_t t = tapir_view_result__table(result, "groups", NULL, columns), cnt;
	struct group *groups = NULL;

	if (!v->rows.cnt) {
		tapir_view_result__nothing(result, "no snapshot of threads is in this recording");
		return v->failed ? -ENOMEM : 0;
	}
	qsort(v->rows.data, v->rows.cnt, sizeof(*v->rows.data), by_group);
	cnt = make_groups(v, &groups);
	if (!groups)
		return -ENOMEM;
	add_headline(v, result, groups, cnt);
	for (size_t i = 0; i < cnt && i < v->asked.top; i++)
		add_group(v, result, t, &groups[i]);
	if (cnt > v->asked.top)
		tapir_view_result__note(result, "%zu more groups (--all shows them)",
					cnt - v->asked.top);
	if (v->dropped_cnt)
		tapir_view_result__note(result, "%zu threads dropped: limit reached",
					v->dropped_cnt);
	free(groups);
	return v->failed ? -ENOMEM : 0;
}

static void begin_end(void *ctx)
{
	((struct stacks_view *)ctx)->is_end = true;
}

const struct tapir_view tapir_view_stacks = {
	.name = "stacks",
	.summary = "what each thread did when the recording began",
	.fns = {.snapshot = on_snapshot, .sample = on_sample},
	.ctx_bytes = sizeof(struct stacks_view),
	.default_top = 50,
	.finish = finish,
	.fini = fini,
};

const struct tapir_view tapir_view_stacks_end = {
	.name = "stacks-end",
	.summary = "what each thread did when the recording ended",
	.fns = {.snapshot = on_snapshot, .sample = on_sample},
	.ctx_bytes = sizeof(struct stacks_view),
	.default_top = 50,
	.begin = begin_end,
	.finish = finish,
	.fini = fini,
};
