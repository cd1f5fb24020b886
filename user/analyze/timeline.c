// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The timeline joins what was recorded separately: events, CPU samples and context switches of one
 * thread become one history of what it did. Views are listeners on it. This file puts records in
 * order and passes each to the part that keeps the state it changes: timeline_threads.c for states
 * of threads, timeline_intervals.c for intervals.
 *
 * Order first. A file has records in the order in which rings were drained: CPU by CPU, lane by
 * lane. reorder.h delays each until all sources have passed its time, half a second in most cases,
 * and delivers them sorted. A record that arrives even later is delivered at once and counted
 * (`late`).
 *
 * States. Context switches divide the life of a thread into RUNNING, RUNNABLE (it could run, but
 * waits for a CPU) and SLEEPING. A switch that takes it off its CPU has the reason, as the kernel's
 * state bits, and the stack; the switch that brings it back has the time of the wake-up and the
 * thread that did it. A thread of which nothing was seen yet is UNKNOWN. Without switches in the
 * file all of its time is UNKNOWN, and views report that.
 *
 * Intervals. A pair of events (pairs.h) begins and ends an interval: a query, a request, a garbage
 * collection, a wait for a lock. By scope, an interval belongs to one thread, to the process (a
 * pause stops all of its threads), or to an activity that moves from thread to thread, where the
 * ends are found by a key or an activity id. One whose begin or end is not in the file is
 * marked UNBEGUN or UNENDED.
 *
 * Causes. While an interval such as a GC pause or a wait for a lock is open, the time of its
 * threads has that cause. Each nanosecond of a thread is counted exactly once, in the table
 * parts.ns[cause][state] of the thread. The parts of an interval are the difference between two
 * copies of this table, taken when it begins and when it ends. That is why they always add up to
 * the interval's length, even if intervals overlap or are nested.
 *
 * Lazy counting. A thread's table is brought up to date only when something happens to that thread.
 * A pause of a process therefore does not touch its threads: the process sums the time it was
 * paused, and a thread that wakes up later takes the difference of two sums (tapir_pauses__at). So
 * a pause of a process with a hundred thousand sleeping threads costs as much as one with ten.
 *
 * Stacks. Samples, waits and events carry stacks; the timeline remembers the last ones of each
 * thread as nodes of one shared call tree (stack_tree.h). A view can ask what a thread did for most
 * of a moment (tapir_tl_thread__dominant_stack), for example what the holder of a lock did while
 * others waited.
 *
 * Limits. Threads, processes, open intervals and frames are bounded (timeline.h). What exceeds a
 * limit is counted, and the view prints the count. A range in time or a selection of processes and
 * threads restricts what listeners see, not what is counted: a state that began before the range is
 * known when the range begins.
 */
#include "analyze/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/timeline_impl.h"
#include "decode/lock_names.h"
#include "trace/family.h"

static void count_ids(struct tapir_timeline_stats *stats, const struct tapir_tl_thread *t,
		      const struct tapir_rec *rec)
{
	const struct tapir_interval *i = t->open;

	stats->delivered_samples++;
	if (tapir_rec__trace_ids(rec)) {
		stats->delivered_with_ids++;
		return;
	}
	while (i && !(i->has_trace && i->thread == t))
		i = i->outer;
	stats->delivered_joined += i != NULL;
}

static uint32_t sample_node(struct tapir_timeline *tl, const struct tapir_stack_ref *ref)
{
	return ref->stack_id || ref->kstack_id
		       ? tapir_stack_tree__hinted_node(&tl->tree, tl->catalog, ref,
						       tapir_reorder__hint(tl->reorder))
		       : TAPIR_NO_NODE;
}

static void add_sample(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	struct tapir_tl_thread *t =
		tapir_timeline__get_thread(tl, sample->tgid, sample->tid, rec->time_ns);
	struct tapir_stack_ref ref = {.tgid = sample->tgid,
				      .time_ns = rec->time_ns,
				      .stack_id = sample->stack_id,
				      .kstack_id = sample->kstack_id};

	tl->stats.samples++;
	if (!t)
		return;
	tapir_timeline__ran(tl, t, rec->time_ns);
	if (tl->opts.wants_stacks)
		tapir_timeline__set_last_stack(tl, t, sample_node(tl, &ref), rec->time_ns);
	if (!tapir_timeline__in_range(tl, rec->time_ns) ||
	    !tapir_timeline__reports(tl, t->tgid, t->tid))
		return;
	count_ids(&tl->stats, t, rec);
	if (tapir_timeline__is_chosen(tl, t, rec))
		NOTIFY(tl, sample, t, sample);
}

/* Tables of stacks are larger than a CPU's cache, and samples are of any of them. */
static void expect(void *ctx, const struct tapir_rec *rec, enum tapir_reorder_step step)
{
	struct tapir_timeline *tl = ctx;
	uint32_t node;

	if (rec->type != TAPIR_REC_SAMPLE || !tl->opts.wants_stacks)
		return;
	node = tapir_stack_tree__expect(&tl->tree, rec, step, tapir_reorder__hint(tl->reorder));
	if (node != TAPIR_NO_NODE)
		NOTIFY(tl, expect, node);
}

/* A record may be about two threads, as that of a signal, of which one may have been asked for. */
static bool is_reported(const struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	int which = tapir_rec__counted_thread(rec);

	if (!which && tapir_rec__tid(rec, 1) &&
	    !tapir_timeline__reports(tl, tapir_rec__tgid(rec, 0), tapir_rec__tid(rec, 0)))
		which = 1;
	return tapir_timeline__in_range(tl, rec->time_ns) &&
	       tapir_timeline__reports(tl, tapir_rec__tgid(rec, which),
				       tapir_rec__tid(rec, which)) &&
	       tapir_where__has(tl->opts.where, rec, which);
}

/* A thread that did not run is known by its wait. */
static void add_interp_sample(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_interp_sample *sample = (const void *)rec;
	const struct tapir_tl_thread *t = tapir_timeline__thread(tl, sample->tid);
	struct tapir_stack_ref ref = {
		.tgid = sample->tgid, .time_ns = rec->time_ns, .stack_id = sample->stack_id};

	if (t && t->tgid == sample->tgid && t->state != TAPIR_THREAD_SLEEPING &&
	    t->state != TAPIR_THREAD_UNKNOWN && is_reported(tl, rec))
		NOTIFY(tl, interp_sample, sample, tapir_timeline__node(tl, &ref));
}

static void add_io(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_io *io = (const void *)rec;
	struct tapir_stack_ref ref = {
		.tgid = io->tgid, .time_ns = rec->time_ns, .stack_id = io->stack_id};

	if (is_reported(tl, rec))
		NOTIFY(tl, io, rec, tapir_timeline__node(tl, &ref));
}

static void add_calls(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_calls *calls = (const void *)rec;
	struct tapir_stack_ref ref = {
		.tgid = calls->tgid, .time_ns = rec->time_ns, .stack_id = calls->stack_id};

	if (is_reported(tl, rec))
		NOTIFY(tl, calls, calls, tapir_timeline__node(tl, &ref));
}

static void add_waits(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_waits *waits = (const void *)rec;

	tapir_timeline__waits(tl, waits);
	if (!is_reported(tl, rec))
		return;
	for (unsigned kind = 0; kind < TAPIR_WAIT_WOKEN; kind++)
		tl->stats.short_cnt += waits->cnt[kind];
	tl->stats.short_runnable_ns += tapir_waits__runnable_ns(waits);
	tl->stats.short_asleep_ns += tapir_waits__asleep_ns(waits);
	NOTIFY(tl, waits, waits);
}

/* Names are those of the time at which the stack was taken. */
static void add_native(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_native *native = (const void *)rec;
	struct tapir_stack_ref ref = {.tgid = native->tgid,
				      .time_ns = native->begin_ns ? native->begin_ns : rec->time_ns,
				      .stack_id = native->stack_id};

	if (is_reported(tl, rec))
		NOTIFY(tl, native, native, tapir_timeline__node(tl, &ref));
}

static void add_kernel(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_kernel *kernel = (const void *)rec;
	struct tapir_stack_ref ref = {.tgid = kernel->tgid,
				      .time_ns = rec->time_ns,
				      .stack_id = kernel->stack_id,
				      .kstack_id = kernel->kernel_stack_id};

	if (is_reported(tl, rec))
		NOTIFY(tl, kernel, kernel, tapir_timeline__node(tl, &ref));
}

static void add_timeline_counter(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	const struct tapir_rec_counter *counter = (const void *)rec;

	if (is_reported(tl, rec))
		NOTIFY(tl, counter, counter);
}

/* In the order of time. */
static void out(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_timeline *tl = ctx;

	if (rec->type == TAPIR_REC_PROCESS) {
		const struct tapir_rec_process *process = (const void *)rec;

		tapir_timeline__end_process(tl, process->tgid, rec->time_ns);
		if (process->kind == TAPIR_PROCESS_FORK)
			tapir_timeline__forget_exited(tl, process->tgid);
		return;
	}
	if (!tl->stats.first_ns)
		tl->stats.first_ns = rec->time_ns;
	if (tl->opts.until_ns && rec->time_ns > tl->opts.until_ns && !tl->is_past_range) {
		tl->is_past_range = true;
		tapir_timeline__end_range(tl);
	}
	/* A last look at counters may come long after the rest, where CPUs are scarce. */
	if (rec->time_ns > tl->stats.last_ns &&
	    !(tl->stats.has_ended && rec->type == TAPIR_REC_COUNTER))
		tl->stats.last_ns = rec->time_ns;
	switch (rec->type) {
	case TAPIR_REC_EVENT:
		tapir_timeline__event(tl, rec);
		break;
	case TAPIR_REC_SAMPLE:
		add_sample(tl, rec);
		break;
	case TAPIR_REC_SWITCH:
		tapir_timeline__switch(tl, (const void *)rec);
		break;
	case TAPIR_REC_WAIT:
		if (is_reported(tl, rec))
			NOTIFY(tl, call, rec);
		break;
	case TAPIR_REC_INTERP_SAMPLE:
		add_interp_sample(tl, rec);
		break;
	case TAPIR_REC_IO:
		add_io(tl, rec);
		break;
	case TAPIR_REC_CALLS:
		add_calls(tl, rec);
		break;
	case TAPIR_REC_WAITS:
		add_waits(tl, rec);
		break;
	case TAPIR_REC_NATIVE:
		add_native(tl, rec);
		break;
	case TAPIR_REC_KERNEL:
		add_kernel(tl, rec);
		break;
	case TAPIR_REC_COUNTER:
		add_timeline_counter(tl, rec);
		break;
	default:
		if (is_reported(tl, rec))
			NOTIFY(tl, record, rec);
	}
}

int tapir_timeline__add(struct tapir_timeline *tl, const struct tapir_rec *rec)
{
	return tapir_timeline__add_hinted(tl, rec, 0);
}

static uint64_t lost_events_of(const struct tapir_rec_loss *loss)
{
	return tapir_loss__kind(loss->cause) == TAPIR_LOSS_KIND_EVENT ? loss->count : 0;
}

int tapir_timeline__add_hinted(struct tapir_timeline *tl, const struct tapir_rec *rec,
			       uint64_t hint)
{
	unsigned kind = rec->type == TAPIR_REC_PROCESS
				? ((const struct tapir_rec_process *)rec)->kind
				: TAPIR_PROCESS_EXISTING;
	bool is_life = kind == TAPIR_PROCESS_EXIT || kind == TAPIR_PROCESS_FORK;
	int err = 0;

	tl->stats.records++;
	if (rec->type == TAPIR_REC_PROCESS)
		NOTIFY(tl, process, rec);
	if (rec->type == TAPIR_REC_LOSS)
		tl->stats.lost_events += lost_events_of((const void *)rec);
	if (rec->time_ns > tl->stats.any_ns)
		tl->stats.any_ns = rec->time_ns;
	if (tapir_family__of(rec->type) >= 0 || rec->type == TAPIR_REC_COUNTER ||
	    rec->type == TAPIR_REC_WAIT || rec->type == TAPIR_REC_INTERP_SAMPLE ||
	    rec->type == TAPIR_REC_WAITS || is_life)
		err = tapir_reorder__add_hinted(tl->reorder, rec, is_life, hint);
	return err ? err : tl->failed ? -ENOMEM : 0;
}

bool tapir_timeline__current(const struct tapir_timeline *tl, const struct tapir_probe_view **probe,
			     const struct tapir_event_view **event)
{
	*probe = tl->now_probe;
	*event = tl->now_event;
	return tl->now_event;
}

bool tapir_timeline__reports_at(const struct tapir_timeline *tl, uint32_t tgid)
{
	return tapir_timeline__reports(tl, tgid, tgid);
}

int tapir_timeline__finish(struct tapir_timeline *tl)
{
	tapir_reorder__finish(tl->reorder);
	tl->stats.late = tapir_reorder__late(tl->reorder);
	tapir_timeline__end_all(tl, tl->stats.last_ns);
	return tl->failed || tl->tree.failed || tl->pairs->failed ? -ENOMEM : 0;
}

struct tapir_timeline *tapir_timeline__new(const struct tapir_catalog *catalog,
					   struct tapir_pairs *pairs,
					   const struct tapir_timeline_opts *opts)
{
	struct tapir_timeline *tl = calloc(1, sizeof(*tl));

	if (!tl)
		return NULL;
	tl->catalog = catalog;
	tl->pairs = pairs;
	tl->opts = *opts;
	tl->reorder = tapir_reorder__new(out, tl);
	if (tl->reorder) {
		tapir_reorder__announce(tl->reorder, expect);
		return tl;
	}
	free(tl);
	return NULL;
}

void tapir_timeline__free(struct tapir_timeline *tl)
{
	if (!tl)
		return;
	tl->listeners.cnt = 0; /* the view does not see what ends now */
	tapir_timeline__end_all(tl, tl->stats.last_ns);
	tapir_timeline__free_exited(tl);
	tapir_reorder__free(tl->reorder);
	tapir_vec__fini(&tl->listeners);
	tapir_map__fini(&tl->threads);
	tapir_map__fini(&tl->processes);
	tapir_vec__fini(&tl->on_cpus);
	tapir_map__fini(&tl->shared);
	tapir_map__fini(&tl->activities);
	tapir_timeline__free_tasks(tl);
	tapir_stack_tree__fini(&tl->tree);
	tapir_event_fields__fini(&tl->fields);
	tapir_lock_names__fini(&tl->lock_names);
	free(tl);
}

int tapir_timeline__listen(struct tapir_timeline *tl, const struct tapir_timeline_fns *fns,
			   void *ctx)
{
	return tapir_vec__push(&tl->listeners, ((struct listener){fns, ctx})) ? 0 : -ENOMEM;
}

/* The later of begin_ns and the time from which on the thread was recorded. */
static uint64_t span_since(const struct tapir_timeline *tl, uint64_t begin_ns)
{
	uint64_t from_ns = tl->stats.first_ns, until_ns = tl->stats.last_ns;

	tapir_catalog__widen_span(tl->catalog, tl->stats.any_ns, &from_ns, &until_ns);
	if (tl->stats.has_ended && tl->stats.last_ns < until_ns)
		until_ns = tl->stats.last_ns;
	if (begin_ns > from_ns)
		from_ns = begin_ns;
	if (tl->opts.from_ns > from_ns)
		from_ns = tl->opts.from_ns;
	if (tl->opts.until_ns && tl->opts.until_ns < until_ns)
		until_ns = tl->opts.until_ns;
	return until_ns > from_ns ? until_ns - from_ns : 0;
}

uint64_t tapir_timeline__span_ns(const struct tapir_timeline *tl)
{
	return span_since(tl, 0);
}

uint64_t tapir_timeline__switched_ns(const struct tapir_timeline *tl)
{
	return span_since(tl, tl->stats.switched_ns);
}

struct tapir_pairs *tapir_timeline__pairs(struct tapir_timeline *tl)
{
	return tl->pairs;
}

const struct tapir_catalog *tapir_timeline__catalog(const struct tapir_timeline *tl)
{
	return tl->catalog;
}

/* ---- locks ---------------------------------------------------------------------------------- */

uint64_t tapir_timeline__lock_owner(const struct tapir_timeline *tl, uint32_t tgid, bool is_shared,
				    uint64_t now_ns)
{
	/* a server and a process of the same id are apart */
	return is_shared ? tapir_hash__mix(4, tapir_lock_names__server(tl->catalog, tgid, now_ns))
			 : tapir_hash__mix(1, tgid);
}

uint64_t tapir_timeline__lock_key(const struct tapir_timeline *tl,
				  const struct tapir_interval *wait)
{
	bool is_shared = tl->pairs->kinds.data[wait->kind].is_shared;
	uint64_t owner = tapir_timeline__lock_owner(tl, wait->tgid, is_shared, wait->from_ns);
	const char *label = wait->label ? wait->label : "";

	/* a server's is what its label says, whichever event it waits by */
	if (!is_shared || !*label)
		owner = tapir_hash__mix(owner, wait->kind);
	return tapir_hash__bytes(owner, label, strlen(label));
}
