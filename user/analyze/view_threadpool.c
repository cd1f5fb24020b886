// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET's thread pool: how many workers there were, when their number was changed and why
 * (starvation is one reason), and how long work waited in the queue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/histogram.h"
#include "analyze/view.h"

#define MAX_CHANGES 65536u

struct change {
	uint64_t at_ns, workers;
	char reason[48];
};

struct threadpool {
	struct tapir_view_asked asked;
	uint64_t starved, most, more, queued_cnt, queued_ns, queued_worst_ns, half;
	struct tapir_vec(struct change) changes;
	struct tapir_histogram queued;
	bool failed;
};

static void fini(void *ctx)
{
	struct threadpool *v = ctx;

	tapir_vec__fini(&v->changes);
}

static void add_change(struct threadpool *v, const struct tapir_event_fields *f, uint64_t at_ns)
{
	struct change change = {.at_ns = at_ns,
				.workers = tapir_event_fields__u64(f, "NewWorkerThreadCount")};
	struct tapir_str reason = {};

	tapir_event_fields__add_text(f, "Reason", sizeof(change.reason) - 1, &reason);
	if (reason.data)
		memcpy(change.reason, reason.data, reason.len);
	/* the runtime's number, if it has no name */
	v->starved += strstr(change.reason, "tarvation") ||
		      strstr(change.reason, "CooperativeBlocking") || !strcmp(change.reason, "6") ||
		      !strcmp(change.reason, "8");
	v->most = change.workers > v->most ? change.workers : v->most;
	tapir_str__fini(&reason);
	if (v->changes.cnt == MAX_CHANGES)
		v->more++;
	else
		v->failed |= !tapir_vec__push(&v->changes, change);
}

static void on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
		     const struct tapir_event_view *event)
{
	struct threadpool *v = ctx;
	const struct tapir_event_fields *f;
	uint64_t active;

	(void)t;
	if (!tapir_sv__starts_with(probe->event, "ThreadPoolWorkerThread"))
		return;
	f = tapir_timeline__fields(v->asked.tl, probe, event);
	if (tapir_sv__is(probe->event, "ThreadPoolWorkerThreadAdjustmentAdjustment") ||
	    tapir_sv__is(probe->event, "ThreadPoolWorkerThreadAdjustment")) {
		add_change(v, f, event->rec->h.time_ns);
		return;
	}
	active = tapir_event_fields__u64(f, "ActiveWorkerThreadCount");
	v->most = active > v->most ? active : v->most;
}

static void on_close(void *ctx, struct tapir_interval *i)
{
	struct threadpool *v = ctx;
	const struct tapir_kind *kind = &tapir_timeline__pairs(v->asked.tl)->kinds.data[i->kind];
	uint64_t took_ns = i->until_ns - i->from_ns;

	if (strcmp(kind->name, "queued"))
		return;
	if (i->flags & (TAPIR_INTERVAL_UNBEGUN | TAPIR_INTERVAL_UNENDED)) {
		v->half++;
		return;
	}
	v->queued_cnt++;
	v->queued_ns += took_ns;
	v->queued_worst_ns = took_ns > v->queued_worst_ns ? took_ns : v->queued_worst_ns;
	tapir_histogram__add(&v->queued, took_ns);
}

static void write_facts(const struct threadpool *v, struct tapir_view_result *result)
{
	tapir_view_result__fact(result, "most_workers", "most workers", TAPIR_CELL_COUNT, v->most);
	tapir_view_result__fact(result, "changes", NULL, TAPIR_CELL_COUNT,
				v->changes.cnt + v->more);
	tapir_view_result__fact(result, "starved", "changes for starvation", TAPIR_CELL_COUNT,
				v->starved);
	/* None at all: the events of the queue were not recorded. */
	tapir_view_result__fact(result, "queued",
				v->queued_cnt ? "work taken from the queue" : NULL,
				TAPIR_CELL_COUNT, v->queued_cnt);
	tapir_view_result__fact(result, "queued_p50_ns", v->queued_cnt ? "queued, median" : NULL,
				TAPIR_CELL_NS, tapir_histogram__percentile(&v->queued, 50));
	tapir_view_result__fact(result, "queued_p99_ns", v->queued_cnt ? "queued, 99%" : NULL,
				TAPIR_CELL_NS, tapir_histogram__percentile(&v->queued, 99));
	tapir_view_result__fact(result, "queued_worst_ns", v->queued_cnt ? "queued, longest" : NULL,
				TAPIR_CELL_NS, v->queued_worst_ns);
	tapir_view_result__fact(result, "half", NULL, TAPIR_CELL_COUNT, v->half);
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"at_ns", ">AT", TAPIR_CELL_TIME},
						      {"workers", ">WORKERS", TAPIR_CELL_COUNT},
						      {"reason", "REASON", TAPIR_CELL_TEXT},
						      {}};
	struct threadpool *v = ctx;
	size_t t = tapir_view_result__table(result, "adjustments",
					    "changes of the number of workers", columns);
	char worst[TAPIR_NS_TEXT_BYTES];
	char times[TAPIR_TIMES_TEXT_BYTES];

	for (size_t i = 0; i < v->changes.cnt && i < v->asked.top; i++) {
		tapir_view_result__time(result, t, v->changes.data[i].at_ns);
		tapir_view_result__u64(result, t, v->changes.data[i].workers);
		tapir_view_result__text(result, t, v->changes.data[i].reason);
	}
	write_facts(v, result);
	if (v->changes.cnt && !v->queued_cnt && !v->half)
		tapir_view_result__note(result,
					"how long work was queued was not recorded: `tapir record "
					"--profile threadpool` records it");
	if (v->changes.cnt > v->asked.top)
		tapir_view_result__note(result, "%zu more changes (--all shows them)",
					v->changes.cnt - (size_t)v->asked.top);
	if (!v->changes.cnt && !v->queued_cnt && !v->most)
		tapir_view_result__nothing(result, "no event of a thread pool was seen");
	else
		tapir_str__addf(&result->headline,
				"at most %llu workers, their number changed %s, %llu of "
				"them for starvation",
				(unsigned long long)v->most,
				tapir_times__text(v->changes.cnt, times),
				(unsigned long long)v->starved);
	if (v->queued_cnt)
		tapir_str__addf(&result->headline, "; work waited up to %s in the queue",
				tapir_ns__text(v->queued_worst_ns, worst));
	return v->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_threadpool = {
	.name = "threadpool",
	.summary = "the .NET thread pool: workers, adjustments, queueing",
	.fns = {.event = on_event, .close = on_close},
	.ctx_bytes = sizeof(struct threadpool),
	.default_top = 20,
	.finish = finish,
	.fini = fini,
};
