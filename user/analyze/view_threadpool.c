// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET's thread pool: how many workers there were, how many of them were blocked and where, when
 * their number was changed and why, how long the queue was and how long work waited in it, and
 * where threads, not the pool's alone, blocked until a task was complete (Task.Wait, Result), by
 * the runtime's events.
 */
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/keyed.h"
#include "base/order.h"
#include "analyze/app_code.h"
#include "analyze/pool_waits.h"
#include "analyze/view.h"
#include "decode/dotnet_tables.h"

#define MAX_CHANGES 65536u
#define MAX_SITES   65536u
#define MAX_WAITING 65536u
#define SYNCHRONOUS 1 /* TaskWaitBegin's Behavior; 2: an await: the thread continues */

/* A stack, from the program's own function on, in which threads of the pool were blocked. */
struct wait_site {
	uint32_t node;
	uint64_t cnt, ns, worst_ns;
	uint64_t unbegun_cnt, unbegun_ns; /* from before the recording: blocked, if any are */
};

struct wait_sites tapir_keyed(struct wait_site); /* by node */

/* A thread that waits for a task. */
struct task_wait {
	uint64_t task, from_ns;
	uint32_t node;
};

struct task_waits {
	struct tapir_keyed(struct task_wait) open; /* by tid; from_ns 0: it waits for none */
	struct wait_sites wait_sites;
	uint64_t cnt, ns, open_cnt, half;
};

struct change {
	uint64_t at_ns, workers;
	char reason[48];
};

struct threadpool {
	struct tapir_view_args args;
	uint64_t starved, max, more, queued_cnt, queued_ns, queued_worst_ns, half;
	uint64_t blocked_ns, changes_cnt; /* at the end */
	uint64_t queue_cnt, queue_max;	  /* work that is in the queue, was at most */
	struct tapir_vec(struct change) changes;
	struct tapir_pool_waits waits;
	struct tapir_app_code app_code;
	struct wait_sites wait_sites;
	struct task_waits tasks;
	struct tapir_histogram queued;
};

static void threadpool_fini(void *ctx)
{
	struct threadpool *v = ctx;

	tapir_vec__fini(&v->changes);
	tapir_keyed__fini(&v->wait_sites);
	tapir_keyed__fini(&v->tasks.wait_sites);
	tapir_keyed__fini(&v->tasks.open);
	tapir_pool_waits__fini(&v->waits);
	tapir_app_code__fini(&v->app_code);
}

static void add_change(struct threadpool *v, const struct tapir_event_fields *f, uint64_t at_ns)
{
	struct change change = {.at_ns = at_ns,
				.workers = tapir_event_fields__u64(f, "NewWorkerThreadCount")};
	struct tapir_str reason = {};

	tapir_event_fields__add_text(f, "Reason", sizeof(change.reason) - 1, &reason);
	if (reason.data)
		memcpy(change.reason, reason.data, reason.len);
	v->starved += tapir_pool__is_for_blocked(change.reason);
	v->max = change.workers > v->max ? change.workers : v->max;
	tapir_str__fini(&reason);
	if (v->changes.cnt == MAX_CHANGES)
		v->more++;
	else
		v->args.failed |= !tapir_vec__push(&v->changes, change);
}

static struct wait_site *site_at_node(struct wait_sites *wait_sites, uint32_t node)
{
	return tapir_keyed__add(wait_sites, node, MAX_SITES, ((struct wait_site){.node = node}));
}

/* ---- tasks that are waited for ---------------------------------------------------------------- */

/* A thread waits for one task at a time; where it does again, the end of the first was not seen. */
static void begin_task_wait(struct threadpool *v, const struct tapir_tl_thread *t,
			    const struct tapir_event_fields *f,
			    const struct tapir_event_view *event)
{
	struct task_wait *last,
		wait = {.task = tapir_event_fields__u64(f, "TaskID"),
			.from_ns = event->rec->h.time_ns,
			.node = event->rec->stack_id ? t->last_node : TAPIR_NO_NODE};

	if (tapir_event_fields__u64(f, "Behavior") != SYNCHRONOUS)
		return;
	last = tapir_keyed__add(&v->tasks.open, t->tid, MAX_WAITING, (struct task_wait){});
	if (!last) {
		v->tasks.half++;
		return;
	}
	v->tasks.half += last->from_ns != 0;
	v->tasks.open_cnt += last->from_ns == 0;
	*last = wait;
}

/*
 * Ends the wait of an await, too, on whatever thread it continues: that thread does not wait for
 * this task.
 */
static void end_task_wait(struct threadpool *v, const struct tapir_tl_thread *t,
			  const struct tapir_event_fields *f, uint64_t now_ns)
{
	struct task_wait *wait = tapir_keyed__get(&v->tasks.open, t->tid);
	struct wait_site *wait_site;
	uint64_t took_ns;

	if (!wait || !wait->from_ns || wait->task != tapir_event_fields__u64(f, "TaskID") ||
	    now_ns < wait->from_ns)
		return;
	took_ns = now_ns - wait->from_ns;
	v->tasks.cnt++;
	v->tasks.ns += took_ns;
	v->tasks.open_cnt--;
	wait->from_ns = 0;
	wait_site = site_at_node(
		&v->tasks.wait_sites,
		tapir_app_code__origin(tapir_timeline__stacks(v->args.tl), wait->node));
	if (!wait_site)
		return;
	wait_site->cnt++;
	wait_site->ns += took_ns;
	wait_site->worst_ns = took_ns > wait_site->worst_ns ? took_ns : wait_site->worst_ns;
}

static bool on_task_event(struct threadpool *v, const struct tapir_tl_thread *t,
			  const struct tapir_probe_view *probe,
			  const struct tapir_event_view *event)
{
	bool is_begin = tapir_sv__is(probe->event, "TaskWaitBegin");
	const struct tapir_event_fields *f;

	if (!is_begin && !tapir_sv__is(probe->event, "TaskWaitEnd"))
		return false;
	f = tapir_timeline__fields(v->args.tl, probe, event);
	if (is_begin)
		begin_task_wait(v, t, f, event);
	else
		end_task_wait(v, t, f, event->rec->h.time_ns);
	return true;
}

static void threadpool_on_event(void *ctx, struct tapir_tl_thread *t,
				const struct tapir_probe_view *probe,
				const struct tapir_event_view *event)
{
	struct threadpool *v = ctx;
	const struct tapir_event_fields *f;
	uint64_t active;

	if (on_task_event(v, t, probe, event))
		return;
	if (!tapir_sv__starts_with(probe->event, "ThreadPoolWorkerThread"))
		return;
	f = tapir_timeline__fields(v->args.tl, probe, event);
	if (tapir_sv__is(probe->event, "ThreadPoolWorkerThreadAdjustmentAdjustment") ||
	    tapir_sv__is(probe->event, "ThreadPoolWorkerThreadAdjustment")) {
		add_change(v, f, event->rec->h.time_ns);
		return;
	}
	if (tapir_sv__is(probe->event, "ThreadPoolWorkerThreadWait"))
		tapir_pool_waits__says_idle(&v->waits, t->tid, event->rec->h.time_ns);
	active = tapir_event_fields__u64(f, "ActiveWorkerThreadCount");
	v->max = active > v->max ? active : v->max;
}

/* ---- blocked threads -------------------------------------------------------------------------- */

static void threadpool_on_wait(void *ctx, const struct tapir_wait *w)
{
	struct threadpool *v = ctx;
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(v->args.tl);
	uint64_t took_ns = w->wake_ns - w->from_ns;
	enum tapir_pool_wait pool_wait;
	struct wait_site *wait_site;

	if (!tapir_pool__has(v->args.tl, w->thread->tid, w->until_ns))
		return;
	pool_wait = tapir_pool_waits__add(&v->waits, v->args.tl, w,
					  tapir_app_code__of(&v->app_code, tree, w->node) !=
						  TAPIR_APP_CODE_NONE);
	if (pool_wait != TAPIR_POOL_BLOCKED && pool_wait != TAPIR_POOL_UNBEGUN)
		return;
	wait_site = site_at_node(&v->wait_sites, tapir_app_code__origin(tree, w->node));
	if (!wait_site)
		return;
	*(pool_wait == TAPIR_POOL_BLOCKED ? &wait_site->cnt : &wait_site->unbegun_cnt) += 1;
	*(pool_wait == TAPIR_POOL_BLOCKED ? &wait_site->ns : &wait_site->unbegun_ns) += took_ns;
	wait_site->worst_ns = took_ns > wait_site->worst_ns ? took_ns : wait_site->worst_ns;
}

static int by_ns(const void *a, const void *b)
{
	const struct wait_site *x = a, *y = b;

	return tapir_order__down(x->ns, y->ns) ?: tapir_order__up(x->node, y->node);
}

/* A wait from before the recording began was for work, unless the runtime says that threads are
 * blocked. Returns the whole time. */
static uint64_t sum_sites(struct threadpool *v)
{
	uint64_t sum = 0;
	size_t kept = 0;

	for (size_t i = 0; i < v->wait_sites.cnt; i++) {
		struct wait_site wait_site = v->wait_sites.data[i];

		if (v->starved) {
			wait_site.ns += wait_site.unbegun_ns;
			wait_site.cnt += wait_site.unbegun_cnt;
		}
		sum += wait_site.ns;
		if (wait_site.cnt)
			v->wait_sites.data[kept++] = wait_site;
	}
	v->wait_sites.cnt = kept;
	tapir_keyed__sort(&v->wait_sites, by_ns);
	return sum;
}

static const struct tapir_column site_columns[] = {
	{"ns", ">BLOCKED", TAPIR_CELL_NS},     {"percent", ">SHARE", TAPIR_CELL_PERCENT},
	{"count", ">TIMES", TAPIR_CELL_COUNT}, {"worst_ns", ">WORST", TAPIR_CELL_NS},
	{"stack", "WHERE", TAPIR_CELL_ORIGIN}, {}};

static void write_pool_rows(const struct wait_sites *wait_sites, size_t t, uint64_t top,
			    uint64_t sum_ns, struct tapir_view_result *result)
{
	for (size_t i = 0; i < wait_sites->cnt && i < top; i++) {
		const struct wait_site *wait_site = &wait_sites->data[i];

		tapir_view_result__u64(result, t, wait_site->ns);
		tapir_view_result__share(result, t, wait_site->ns, sum_ns);
		tapir_view_result__u64(result, t, wait_site->cnt);
		tapir_view_result__u64(result, t, wait_site->worst_ns);
		tapir_view_result__stack(result, t, wait_site->node);
	}
}

static void write_sites(struct threadpool *v, struct tapir_view_result *result, uint64_t sum_ns)
{
	uint64_t span_ns = tapir_timeline__switched_ns(v->args.tl);
	const struct wait_site *first = v->wait_sites.data;
	size_t t = tapir_view_result__table(result, "blocked",
					    "threads of the pool that were blocked", site_columns);
	const char *name = NULL;

	write_pool_rows(&v->wait_sites, t, v->args.top, sum_ns, result);
	if (!v->wait_sites.cnt || !span_ns)
		return;
	if (first->node)
		name = result->tree->names.data[result->tree->nodes.data[first->node].name];
	tapir_str__addf(&result->headline, "; %.1f of %.1f threads are blocked on average%s%s",
			(double)sum_ns / (double)span_ns,
			(double)v->waits.alive_ns / (double)span_ns, name ? ", most in " : "",
			name ? name : "");
}

static void write_task_waits(struct threadpool *v, struct tapir_view_result *result)
{
	struct task_waits *tasks = &v->tasks;
	size_t t;

	if (!tasks->cnt)
		return;
	tapir_keyed__sort(&tasks->wait_sites, by_ns);
	t = tapir_view_result__table(result, "task_waits_by_place",
				     "threads that waited for tasks (Task.Wait, Result)",
				     site_columns);
	write_pool_rows(&tasks->wait_sites, t, v->args.top, tasks->ns, result);
}

/* ---- the queue -------------------------------------------------------------------------------- */

static bool is_queued(const struct threadpool *v, const struct tapir_interval *i)
{
	return !strcmp(tapir_timeline__pairs(v->args.tl)->kinds.data[i->kind].name, "queued");
}

static void threadpool_on_open(void *ctx, struct tapir_interval *i)
{
	struct threadpool *v = ctx;

	if (is_queued(v, i) && ++v->queue_cnt > v->queue_max)
		v->queue_max = v->queue_cnt;
}

static void threadpool_on_close(void *ctx, struct tapir_interval *i)
{
	struct threadpool *v = ctx;
	uint64_t took_ns = i->until_ns - i->from_ns;

	if (!is_queued(v, i))
		return;
	if (!(i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END)) && v->queue_cnt)
		v->queue_cnt--;
	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END)) {
		v->half++; /* the time in the queue is not known */
		return;
	}
	v->queued_cnt++;
	v->queued_ns += took_ns;
	v->queued_worst_ns = took_ns > v->queued_worst_ns ? took_ns : v->queued_worst_ns;
	tapir_histogram__add(&v->queued, took_ns);
}

static void write_changes(const struct threadpool *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"at_ns", ">AT", TAPIR_CELL_TIME},
						      {"workers", ">WORKERS", TAPIR_CELL_COUNT},
						      {"reason", "REASON", TAPIR_CELL_TEXT},
						      {}};
	size_t t = tapir_view_result__table(result, "adjustments",
					    "changes of the number of workers", columns);

	for (size_t i = 0; i < v->changes.cnt && i < v->args.top; i++) {
		tapir_view_result__time(result, t, v->changes.data[i].at_ns);
		tapir_view_result__u64(result, t, v->changes.data[i].workers);
		tapir_view_result__text(result, t, v->changes.data[i].reason);
	}
	if (v->changes.cnt > v->args.top)
		tapir_view_result__note(result, "%zu more changes (--all shows them)",
					v->changes.cnt - (size_t)v->args.top);
}

static int threadpool_finish(void *ctx, struct tapir_view_result *result)
{
	struct threadpool *v = ctx;
	char worst[TAPIR_NS_TEXT_BYTES], p99[TAPIR_NS_TEXT_BYTES], times[TAPIR_TIMES_TEXT_BYTES];
	uint64_t blocked_ns = sum_sites(v);
	bool has_events =
		v->changes.cnt || v->queued_cnt || v->max || v->tasks.cnt || v->tasks.open_cnt;

	if (has_events)
		tapir_str__addf(&result->headline,
				"at most %llu workers, their number changed %s, %llu of "
				"them for blocked threads",
				(unsigned long long)v->max,
				tapir_times__text(v->changes.cnt, times),
				(unsigned long long)v->starved);
	else
		result->has_nothing = true;
	if (has_events)
		write_sites(v, result, blocked_ns);
	v->blocked_ns = has_events ? blocked_ns : 0;
	v->changes_cnt = v->changes.cnt + v->more;
	write_task_waits(v, result);
	write_changes(v, result);
	tapir_view_result__beyond(result, v->wait_sites.more + v->tasks.wait_sites.more,
				  v->wait_sites.failed || v->tasks.wait_sites.failed ||
					  v->tasks.open.failed,
				  "waits");
	if (has_events && !v->queued_cnt && !v->half)
		tapir_view_result__note(result,
					"how long work was queued was not recorded: `tapir record "
					"--profile threadpool` records it");
	if (v->queued_cnt)
		tapir_str__addf(&result->headline,
				"; work waited up to %s in the queue (99%% within %s)",
				tapir_ns__text(v->queued_worst_ns, worst),
				tapir_ns__text(tapir_histogram__percentile(&v->queued, 99), p99));
	return 0;
}

static const struct tapir_view_event pooled[] = {
	{TAPIR_DOTNET_RUNTIME, "ThreadPoolWorkerThreadStart"},
	{TAPIR_DOTNET_RUNTIME, "ThreadPoolWorkerThreadAdjustmentAdjustment"},
	{"System.Diagnostics.Eventing.FrameworkEventSource", "ThreadPoolEnqueueWork"},
	{}};

#define TITLED_BY(member) .if_off = TAPIR_VIEW_NUMBER(struct threadpool, member)

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct threadpool, blocked_ns, "blocked_ns", NULL, NS)},
	{TAPIR_VIEW_FACT(struct threadpool, max, "most_workers", "most workers", COUNT)},
	{TAPIR_VIEW_FACT(struct threadpool, changes_cnt, "changes", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct threadpool, starved, "starved", "changes for blocked threads",
			 COUNT)},
	{TAPIR_VIEW_FACT(struct threadpool, waits.idle_ns, "idle_ns", NULL, NS)},
	/* None at all: the events of the queue were not recorded. */
	{TAPIR_VIEW_FACT(struct threadpool, queued_cnt, "queued", "work taken from the queue",
			 COUNT),
	 TITLED_BY(queued_cnt)},
	{TAPIR_VIEW_PERCENTILE(struct threadpool, queued, "queued_p50_ns", "queued, median", 50)},
	{TAPIR_VIEW_PERCENTILE(struct threadpool, queued, "queued_p99_ns", "queued, 99%", 99)},
	{TAPIR_VIEW_FACT(struct threadpool, queued_worst_ns, "queued_worst_ns", "queued, longest",
			 NS),
	 TITLED_BY(queued_cnt)},
	{TAPIR_VIEW_FACT(struct threadpool, queue_max, "most_queued", "longest queue", COUNT),
	 TITLED_BY(queued_cnt)},
	{TAPIR_VIEW_FACT(struct threadpool, queue_cnt, "queued_at_end", "in it at the end", COUNT),
	 TITLED_BY(queued_cnt)},
	{TAPIR_VIEW_FACT(struct threadpool, half, "half", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct threadpool, tasks.cnt, "task_waits", "waits for tasks", COUNT),
	 TITLED_BY(tasks.cnt)},
	{TAPIR_VIEW_FACT(struct threadpool, tasks.ns, "task_waits_ns", "they took, in all", NS),
	 TITLED_BY(tasks.cnt)},
	{TAPIR_VIEW_FACT(struct threadpool, tasks.open_cnt, "task_waits_open",
			 "waits for tasks at the end", COUNT),
	 TITLED_BY(tasks.open_cnt)},
	{TAPIR_VIEW_FACT(struct threadpool, tasks.half, "task_waits_half", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_threadpool = {
	.name = "threadpool",
	.summary = "the .NET thread pool: workers, adjustments, queueing",
	.fns = {.event = threadpool_on_event,
		.wait = threadpool_on_wait,
		.open_ended_wait = threadpool_on_wait,
		.open = threadpool_on_open,
		.close = threadpool_on_close},
	.nothing = "no event of a thread pool was seen",
	.source = {"events of .NET's thread pool", .profile = TAPIR_PROFILE_ID_THREADPOOL,
		   .events = pooled},
	.facts = facts,
	.has_facts_of_nothing = true,
	.ctx_bytes = sizeof(struct threadpool),
	.default_top = 20,
	.finish = threadpool_finish,
	.fini = threadpool_fini,
};
