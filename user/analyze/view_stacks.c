// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads' stacks when the recording began, or ended: identical stacks are one group. A thread
 * that ran then has the stack of a sample taken within a moment, if there is one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/dotnet_tables.h"
#include "base/order.h"
#include "analyze/lock_waits.h"
#include "analyze/monitor_owners.h"
#include "analyze/recent_samples.h"
#include "decode/event_fields.h"
#include "analyze/frame_runs.h"
#include "analyze/view.h"
#include "analyze/wait_reason.h"
#include "symbol/frame_kind.h"

#define MAX_THREADS 65536u
#define SHOWN_NAMES 6u

struct row {
	uint64_t time_ns;
	uint32_t tgid, tid;
	uint32_t node; /* TAPIR_NO_NODE: its stack is not known */
	uint16_t state, flags;
	bool is_running;
	bool is_hidden; /* not requested, but it may hold a lock */
	char *call;	/* the view's; NULL: it is in none that is known */
	uint64_t object_va;
	uint32_t owner_tid;	/* 0: unknown */
	uint64_t monitor_owner; /* as its process numbers it; 0: it waits for no monitor of .NET */
	char comm[TAPIR_COMM_TEXT_BYTES];
};

struct stacks_view {
	struct tapir_view_args args;
	bool is_end;
	bool is_each; /* a group of its own for each thread */
	struct tapir_vec(struct row) rows;
	struct tapir_map row_by_tid; /* and 1, until rows are sorted */
	struct tapir_lock_waits locks;
	struct tapir_monitor_owners monitors;
	struct tapir_recent_samples samples; /* for the end */
	struct tapir_wait_reasons reasons;
	size_t dropped_cnt;
};

static void stacks_fini(void *ctx)
{
	struct stacks_view *v = ctx;
	struct row *row;

	tapir_vec_for_each (row, &v->rows)
		free(row->call);
	tapir_vec__fini(&v->rows);
	tapir_lock_waits__fini(&v->locks);
	tapir_monitor_owners__fini(&v->monitors);
	tapir_recent_samples__fini(&v->samples);
	tapir_map__fini(&v->row_by_tid);
	tapir_wait_reasons__fini(&v->reasons);
}

static struct row *stacks_row_of_thread(const struct stacks_view *v, uint32_t tid)
{
	const uint64_t *idx = tapir_map__get(&v->row_by_tid, tid);

	return idx && *idx ? &v->rows.data[*idx - 1] : NULL;
}

/* The first sample after the snapshot with all of its callers, or the last one without. */
static void see_after(struct stacks_view *v, uint32_t tid, const struct tapir_recent_sample *sample)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	struct row *row = stacks_row_of_thread(v, tid);

	if (!row || !row->is_running || sample->time_ns - row->time_ns >= TAPIR_RECENT_NS ||
	    tapir_stack__is_complete(tree, row->node))
		return;
	row->node = sample->node;
}

static void stacks_on_sample(void *ctx, struct tapir_tl_thread *thread,
			     const struct tapir_rec_sample *sample)
{
	struct stacks_view *v = ctx;
	const struct tapir_recent_sample near = {sample->h.time_ns, thread->last_node};

	if (near.node == TAPIR_NO_NODE || thread->last_node_ns != near.time_ns)
		return; /* without a stack */
	if (v->is_end)
		v->args.failed |= tapir_recent_samples__keep(&v->samples, thread->tid, &near) < 0;
	else
		see_after(v, thread->tid, &near);
}

static void add_thread_row(struct stacks_view *v, const struct row *row)
{
	uint64_t *idx = tapir_map__put(&v->row_by_tid, row->tid, NULL);

	if (idx && tapir_vec__push(&v->rows, *row))
		*idx = v->rows.cnt;
	else
		v->args.failed = true;
}

static void on_call(void *ctx, const struct tapir_rec *rec)
{
	struct stacks_view *v = ctx;
	struct tapir_wait_view wait;
	struct row *row;

	tapir_wait_view__of(rec, &wait);
	row = stacks_row_of_thread(v, wait.rec->tid);
	if (!row || row->time_ns != rec->time_ns || row->call)
		return; /* of the other snapshot */
	row->call = strndup(wait.text.data, wait.text.len);
	row->object_va = wait.rec->object_va;
	row->owner_tid = wait.rec->owner_tid;
	v->args.failed |= !row->call;
	if (row->owner_tid)
		v->args.failed |= tapir_lock_waits__add(&v->locks, row->tid, row->owner_tid) < 0;
}

/* A wait for a monitor of .NET names the owner where it begins. */
static void stacks_on_event(void *ctx, struct tapir_tl_thread *thread,
			    const struct tapir_probe_view *probe,
			    const struct tapir_event_view *event)
{
	struct stacks_view *v = ctx;
	bool begins = tapir_sv__is(probe->event, "ContentionStart");
	uint64_t owner = 0;

	if (!v->is_end || (!begins && !tapir_sv__is(probe->event, "ContentionStop")) ||
	    !tapir_sv__is(probe->provider, TAPIR_DOTNET_RUNTIME))
		return;
	if (begins)
		owner = tapir_event_fields__u64(tapir_timeline__fields(v->args.tl, probe, event),
						"LockOwnerThreadID");
	v->args.failed |= tapir_monitor_owners__set(&v->monitors, thread->tid, owner) < 0;
}

static uint32_t os_thread_number(const struct stacks_view *v, const struct row *row)
{
	const struct tapir_rec_thread *rec =
		tapir_catalog__thread(tapir_timeline__catalog(v->args.tl), row->tid, row->time_ns);

	return rec && rec->ns_tid ? rec->ns_tid : row->tid;
}

/* Owners of monitors are threads of the same process and snapshot. */
static void find_monitor_owners(struct stacks_view *v)
{
	struct row *row;

	tapir_vec_for_each (row, &v->rows)
		v->args.failed |=
			tapir_monitor_owners__number(&v->monitors, row->tgid,
						     os_thread_number(v, row), row->tid) < 0;
	tapir_vec_for_each (row, &v->rows) {
		if (row->owner_tid || !row->monitor_owner)
			continue;
		row->owner_tid =
			tapir_monitor_owners__thread(&v->monitors, row->tgid, row->monitor_owner);
		if (row->owner_tid)
			v->args.failed |=
				tapir_lock_waits__add(&v->locks, row->tid, row->owner_tid) < 0;
	}
}

static void on_snapshot(void *ctx, const struct tapir_rec_switch *rec, uint32_t node)
{
	const struct tapir_recent_sample *near;
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

	row.monitor_owner = row.is_running ? 0 : tapir_monitor_owners__of(&v->monitors, row.tid);
	if (!(rec->flags & TAPIR_SWITCH_AT_END) == v->is_end)
		return;
	/*
	 * A running thread has no stack that could be copied: the sample just before shows where it
	 * was.
	 */
	if (row.is_running && v->is_end) {
		near = tapir_recent_samples__latest_before(&v->samples, row.tid, rec->h.time_ns);
		row.node = near ? near->node : TAPIR_NO_NODE;
	}
	tapir_comm__copy(row.comm, tapir_timeline__comm(v->args.tl, row.tid, rec->h.time_ns));
	row.is_hidden = *v->args.arg && !tapir_glob__match(v->args.arg, row.comm);
	if (v->rows.cnt == MAX_THREADS)
		v->dropped_cnt++;
	else
		add_thread_row(v, &row);
}

static const char *state_of(const struct row *row)
{
	struct tapir_rec_switch rec = {.out_state = row->state, .flags = row->flags};

	return row->is_running ? "running" : tapir_switch__state_name(&rec);
}

static int by_group(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return tapir_order__by(
		tapir_order__up(x->node, y->node), tapir_order__down(x->is_running, y->is_running),
		tapir_order__up(x->state, y->state), tapir_order__up(x->tid, y->tid));
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

	return tapir_order__down(x->cnt, y->cnt) ?: tapir_order__up(x->first->tid, y->first->tid);
}

/* rows are sorted. *out: the caller's, free(). Their number. */
static size_t make_groups(const struct stacks_view *v, struct group **out)
{
	struct group *groups = calloc(v->rows.cnt + 1, sizeof(*groups));
	size_t cnt = 0;

	for (size_t i = 0; groups && i < v->rows.cnt; i++) {
		const struct row *row = &v->rows.data[i];

		if (!cnt || v->is_each || !is_same_group(groups[cnt - 1].first, row))
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

/* A sleeping thread's stack lacks the kernel's functions that let others run. */
static void add_row_frames(struct tapir_view_result *result, size_t parent, const struct row *row)
{
	static const struct tapir_column columns[] = {
		{"kind", "KIND", TAPIR_CELL_TEXT}, {"function", "FUNCTION", TAPIR_CELL_TEXT}, {}};
	const struct tapir_tree_node *nodes = result->tree->nodes.data;
	size_t t = tapir_view_result__table_of_row(result, parent, "frames", NULL, columns);
	struct tapir_str label = {};

	if (row->node >= result->tree->nodes.cnt)
		return;
	for (uint32_t node = row->node, next; node; node = next) {
		struct tapir_frame_run run;

		next = tapir_frame_run__of_node(&run, result->tree, node);
		tapir_str__clear(&label);
		if (result->folds && run.cnt > 1) {
			/*
			 * A thread that does not run waits, also in functions that are not known
			 * for it.
			 */
			run.is_wait |= !row->is_running;
			tapir_frame_run__add(&run, NULL, true, &label);
		} else {
			next = nodes[node].parent;
			tapir_stack_tree__add_label(&label, result->tree, node);
		}
		tapir_view_result__text(result, t, tapir_frame_kind__name(nodes[node].kind));
		tapir_view_result__text(result, t, label.data);
	}
	result->failed |= label.failed;
	tapir_str__fini(&label);
}

/* NULL: no owner is known. */
static const char *owner_text(const struct stacks_view *v, const struct row *row, char text[40])
{
	char comm[TAPIR_COMM_TEXT_BYTES];

	if (!row->owner_tid)
		return NULL;
	tapir_comm__copy(comm, tapir_timeline__comm(v->args.tl, row->owner_tid, row->time_ns));
	snprintf(text, 40, "%s %u", comm, row->owner_tid);
	return text;
}

/* Adds the call that all threads of a group have in common, with its arguments or without. */
static void add_call(struct tapir_view_result *result, size_t t, const struct group *group)
{
	const char *call = group->first->call;
	bool is_one = true;

	for (size_t i = 1; i < group->cnt && call; i++)
		is_one &= group->first[i].call && !strcmp(group->first[i].call, call);
	if (call && !is_one)
		tapir_view_result__textn(result, t, (struct tapir_sv){call, strcspn(call, "(")});
	else
		tapir_view_result__text(result, t, call);
}

static void add_owner(const struct stacks_view *v, struct tapir_view_result *result, size_t t,
		      const struct group *group)
{
	bool is_one = true;
	char text[40];

	for (size_t i = 1; i < group->cnt; i++)
		is_one &= group->first[i].owner_tid == group->first->owner_tid;
	tapir_view_result__text(result, t,
				is_one ? owner_text(v, group->first, text) : "several threads");
}

static void add_threads(const struct stacks_view *v, struct tapir_view_result *result,
			size_t parent, const struct group *group)
{
	static const struct tapir_column columns[] = {{"pid", NULL, TAPIR_CELL_ID},
						      {"tid", NULL, TAPIR_CELL_ID},
						      {"name", NULL, TAPIR_CELL_TEXT},
						      {"call", NULL, TAPIR_CELL_TEXT},
						      {"owner_tid", NULL, TAPIR_CELL_ID},
						      {"held_by", NULL, TAPIR_CELL_TEXT},
						      {}};
	size_t t = tapir_view_result__table_of_row(result, parent, "members", NULL, columns);

	for (size_t i = 0; i < group->cnt; i++) {
		const struct row *row = &group->first[i];
		char text[40];

		tapir_view_result__u64(result, t, row->tgid);
		tapir_view_result__u64(result, t, row->tid);
		tapir_view_result__text(result, t, row->comm);
		tapir_view_result__text(result, t, row->call);
		tapir_view_result__known(result, t, row->owner_tid, row->owner_tid);
		tapir_view_result__text(result, t, owner_text(v, row, text));
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
	add_owner(v, result, t, group);
	add_call(result, t, group);
	add_names(result, t, group);
	add_row_frames(result, t, row);
	add_threads(v, result, t, group);
}

/* ---- locks: before rows are sorted --------------------------------------------------------- */

struct deadlocks {
	struct stacks_view *v;
	struct tapir_view_result *result;
	size_t table;
	size_t cnt;
};

/* "left 4712 waits for a mutex that right 4713 holds" */
static void add_link(const struct deadlocks *d, const struct row *row, struct tapir_str *out)
{
	const char *reason = tapir_wait_reasons__of(&d->v->reasons, d->result->tree, row->node);
	bool is_lock = reason && tapir_wait_reason__is_lock(reason); /* Java's are a "park" */
	char owner[40];

	tapir_str__addf(out, "%s %u waits for a %s that %s holds", row->comm, row->tid,
			is_lock ? reason : "lock", owner_text(d->v, row, owner));
}

static void add_deadlock(void *ctx, uint32_t tid, size_t cnt)
{
	static const struct tapir_column columns[] = {
		{"pid", NULL, TAPIR_CELL_ID},	    {"tid", NULL, TAPIR_CELL_ID},
		{"name", NULL, TAPIR_CELL_TEXT},    {"object", NULL, TAPIR_CELL_ID},
		{"owner_tid", NULL, TAPIR_CELL_ID}, {}};
	struct deadlocks *d = ctx;
	struct tapir_str *headline = &d->result->headline;
	bool is_first = !d->cnt++;
	size_t t;

	tapir_view_result__u64(d->result, d->table, cnt);
	t = tapir_view_result__table_of_row(d->result, d->table, "members", NULL, columns);
	for (size_t i = 0; i < cnt; i++) {
		const struct row *row =
			stacks_row_of_thread(d->v, tid); /* its call made the edge */

		tapir_view_result__u64(d->result, t, row->tgid);
		tapir_view_result__u64(d->result, t, tid);
		tapir_view_result__text(d->result, t, row->comm);
		tapir_view_result__u64(d->result, t, row->object_va);
		tapir_view_result__u64(d->result, t, row->owner_tid);
		if (is_first && i < SHOWN_NAMES) {
			tapir_str__adds(headline, i ? ", " : "deadlock: ");
			add_link(d, row, headline);
		}
		tid = row->owner_tid;
	}
	if (is_first && cnt > SHOWN_NAMES)
		tapir_str__addf(headline, " and %zu more threads", cnt - SHOWN_NAMES);
}

/* A deadlock is the first line; else a lock that holds up most others ends it. */
static void add_locks(struct stacks_view *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"threads", NULL, TAPIR_CELL_COUNT}, {}};
	struct deadlocks d = {.v = v, .result = result};

	d.table = tapir_view_result__table(result, "deadlocks", NULL, columns);
	tapir_lock_waits__each_deadlock(&v->locks, add_deadlock, &d);
	if (d.cnt > 1)
		tapir_str__addf(&result->headline, "; and %zu more deadlocks", d.cnt - 1);
	if (d.cnt)
		tapir_str__adds(&result->headline, "; ");
}

static void add_most_contended(const struct stacks_view *v, struct tapir_view_result *result)
{
	char comm[TAPIR_COMM_TEXT_BYTES];
	size_t cnt;
	uint32_t tid = tapir_lock_waits__most_contended(&v->locks, &cnt);

	if (!tid)
		return;
	tapir_comm__copy(comm, tapir_timeline__comm(v->args.tl, tid, v->rows.data[0].time_ns));
	tapir_str__addf(&result->headline, "; %zu %s for a lock that %s %u holds", cnt,
			cnt == 1 ? "waits" : "wait", comm, tid);
}

static void drop_hidden(struct stacks_view *v)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->rows.cnt; i++) {
		if (v->rows.data[i].is_hidden)
			free(v->rows.data[i].call);
		else
			v->rows.data[kept++] = v->rows.data[i];
	}
	v->rows.cnt = kept;
	tapir_map__clear(&v->row_by_tid);
}

static void add_stacks_headline(const struct stacks_view *v, struct tapir_view_result *result,
				const struct group *groups, size_t group_cnt)
{
	size_t running = 0;

	for (size_t i = 0; i < v->rows.cnt; i++)
		running += v->rows.data[i].is_running;
	tapir_str__addf(&result->headline, "%zu thread%s, %zu running", v->rows.cnt,
			v->rows.cnt == 1 ? "" : "s", running);
	if (!v->is_each)
		tapir_str__addf(&result->headline, ", %zu different stack%s", group_cnt,
				group_cnt == 1 ? "" : "s");
	if (groups[0].cnt > 1)
		tapir_str__addf(&result->headline, "; %zu share one", groups[0].cnt);
	add_most_contended(v, result);
}

/* Dead ones have none. */
static void add_unread(const struct stacks_view *v, struct tapir_view_result *result)
{
	const struct row *row;
	size_t cnt = 0;

	tapir_vec_for_each (row, &v->rows)
		cnt += !row->is_running && !(row->state & TAPIR_STATE_DEAD) &&
		       (!row->node || row->node == TAPIR_NO_NODE);
	if (cnt)
		tapir_view_result__note(result,
					"%zu thread%s without a stack: registers and memory could "
					"not be read (run as root)",
					cnt, cnt == 1 ? "" : "s");
}

/* The owner of a mutex is known, so these are locks of runtimes; the command's help lists those
 * whose owners can be read. */
static void add_unowned(struct stacks_view *v, struct tapir_view_result *result)
{
	const struct row *row;
	const char *reason;
	size_t cnt = 0;

	tapir_vec_for_each (row, &v->rows) {
		reason = row->owner_tid || row->is_running || row->node >= result->tree->nodes.cnt
				 ? NULL
				 : tapir_wait_reasons__of(&v->reasons, result->tree, row->node);
		cnt += reason && !strcmp(reason, "monitor");
	}
	if (cnt)
		tapir_view_result__note(
			result,
			"%zu thread%s for monitors whose owners are not known: "
			"JVMs are asked with --jvm-locks; before .NET 9 only events "
			"of waits that begin while it records name them ('tapir "
			"record', then --view stacks-end)",
			cnt, cnt == 1 ? " waits" : "s wait");
}

static int stacks_finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"threads", ">THREADS", TAPIR_CELL_COUNT},
						      {"state", "STATE", TAPIR_CELL_TEXT},
						      {"waits_for", "WAITS FOR", TAPIR_CELL_TEXT},
						      {"held_by", "HELD BY", TAPIR_CELL_TEXT},
						      {"call", "CALL", TAPIR_CELL_TEXT},
						      {"names", "NAMES", TAPIR_CELL_TEXT},
						      {}};
	struct stacks_view *v = ctx;
	size_t t = tapir_view_result__table(result, "groups", NULL, columns), cnt;
	struct group *groups = NULL;
	bool had_threads = v->rows.cnt;

	find_monitor_owners(v);
	add_locks(v, result);
	/*
	 * After the owners of locks: a thread that is not shown may hold what a shown one waits
	 * for.
	 */
	drop_hidden(v);
	if (!v->rows.cnt) {
		tapir_str__adds(&result->headline,
				had_threads ? "no thread has such a name"
					    : "no snapshot of threads is in this recording");
		result->has_nothing = true;
		return 0;
	}
	qsort(v->rows.data, v->rows.cnt, sizeof(*v->rows.data), by_group);
	cnt = make_groups(v, &groups);
	if (!groups)
		return -ENOMEM;
	add_stacks_headline(v, result, groups, cnt);
	for (size_t i = 0; i < cnt && i < v->args.top; i++)
		add_group(v, result, t, &groups[i]);
	if (cnt > v->args.top)
		tapir_view_result__note(result, "%zu more %s (--all shows them)", cnt - v->args.top,
					v->is_each ? "threads" : "groups");
	add_unread(v, result);
	add_unowned(v, result);
	if (v->dropped_cnt)
		tapir_view_result__note(result, "%zu threads dropped: limit reached",
					v->dropped_cnt);
	free(groups);
	return 0;
}

static void begin_end(void *ctx)
{
	((struct stacks_view *)ctx)->is_end = true;
}

static void begin_each(void *ctx)
{
	((struct stacks_view *)ctx)->is_each = true;
}

#define SAME_FOR_ALL                                                                               \
	.fns = {.snapshot = on_snapshot,                                                           \
		.sample = stacks_on_sample,                                                        \
		.call = on_call,                                                                   \
		.event = stacks_on_event},                                                         \
	.ctx_bytes = sizeof(struct stacks_view), .default_top = 50, .finish = stacks_finish,       \
	.fini = stacks_fini

const struct tapir_view tapir_view_stacks = {
	.name = "stacks",
	.other_name = "threads",
	.summary = "what each thread did when the recording began",
	SAME_FOR_ALL,
};

const struct tapir_view tapir_view_stacks_end = {
	.name = "stacks-end",
	.summary = "what each thread did when the recording ended",
	.begin = begin_end,
	SAME_FOR_ALL,
};

const struct tapir_view tapir_view_stacks_each = {
	.name = "stacks-each",
	.summary = "the same, each thread by itself",
	.begin = begin_each,
	SAME_FOR_ALL,
};
