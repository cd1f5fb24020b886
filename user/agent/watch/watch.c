// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording without a file, whose records become values of a shared page. Pauses are the time
 * between the runtime's stopping and resuming of its threads, so they include what a collection
 * waits for.
 */
#include "agent/watch/watch.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "record/request.h"
#include "decode/event_fields.h"

#define CLR		      "Microsoft-Windows-DotNETRuntime"

/* Why the runtime stops all threads (GcSuspendEE_V1): for a collection, or to prepare one. */
#define SUSPENDED_FOR_GC      1u
#define SUSPENDED_FOR_GC_PREP 6u

#define MAX_STOPPED	      TAPIR_WATCH_MAX_PROCESSES

/* A process that has stopped for a collection. */
struct stopped {
	uint32_t pid;
	uint64_t at_ns;
};

struct watch {
	struct tapir_watch_shm *page;
	struct tapir_event_fields fields;
	struct stopped stopped[MAX_STOPPED];
	size_t stopped_cnt;
};

/* ---- processes ------------------------------------------------------------------------------ */

static uint64_t utc_ms_of(const struct tapir_catalog *catalog, uint64_t time_ns)
{
	uint64_t utc_ns = tapir_catalog__utc_ns(catalog, time_ns);

	return (utc_ns ? utc_ns : tapir_clock__ns(CLOCK_REALTIME)) / TAPIR_NS_PER_MS;
}

static struct tapir_watch_slot *add_watched_process(struct watch *w,
						    const struct tapir_catalog *catalog,
						    uint32_t pid, uint64_t time_ns)
{
	const struct tapir_rec_process *rec = tapir_catalog__process(catalog, pid, time_ns);
	struct tapir_process_view view;
	char name[64];

	if (!rec)
		return NULL;
	tapir_process_view__of(&rec->h, &view);
	tapir_sv__copy(view.comm, name, sizeof(name));
	return tapir_watch_shm__add(w->page, pid, rec->start_ns / TAPIR_NS_PER_MS, name);
}

static struct tapir_watch_slot *slot_of(struct watch *w, const struct tapir_catalog *catalog,
					uint32_t pid, uint64_t time_ns)
{
	struct tapir_watch_slot *slot = tapir_watch_shm__find(w->page, pid);

	return slot ? slot : add_watched_process(w, catalog, pid, time_ns);
}

static size_t stopped_at(const struct watch *w, uint32_t pid)
{
	size_t i = 0;

	while (i < w->stopped_cnt && w->stopped[i].pid != pid)
		i++;
	return i;
}

static void resume(struct watch *w, size_t i)
{
	w->stopped[i] = w->stopped[--w->stopped_cnt];
}

static void on_exit_of(void *ctx, uint32_t pid)
{
	struct watch *w = ctx;
	struct tapir_watch_slot *slot = tapir_watch_shm__find(w->page, pid);
	size_t i = stopped_at(w, pid);

	if (i < w->stopped_cnt)
		resume(w, i);
	if (slot)
		tapir_watch_slot__release(slot);
}

/* ---- values --------------------------------------------------------------------------------- */

static void take_counter(struct watch *w, const struct tapir_catalog *catalog,
			 const struct tapir_rec *rec)
{
	struct tapir_counter_view view;
	struct tapir_watch_value value;
	struct tapir_watch_slot *slot;

	tapir_counter_view__of(rec, &view);
	slot = slot_of(w, catalog, view.rec->tgid, rec->time_ns);
	if (!slot)
		return;
	value = (struct tapir_watch_value){.provider = view.provider,
					   .name = view.name,
					   .unit = view.unit,
					   .tags = view.tags,
					   .kind = view.rec->kind,
					   .value = view.rec->value,
					   .added = view.rec->value,
					   .utc_ms = utc_ms_of(catalog, rec->time_ns)};
	if (view.rec->kind == TAPIR_COUNTER_RATE && view.rec->interval_ns)
		value.value *= 1e9 / (double)view.rec->interval_ns;
	tapir_watch_slot__put(slot, &value);
}

static void note_stopped(struct watch *w, uint32_t pid, uint64_t at_ns)
{
	size_t i = stopped_at(w, pid);

	if (i == w->stopped_cnt && w->stopped_cnt < MAX_STOPPED)
		w->stopped_cnt++;
	if (i < w->stopped_cnt)
		w->stopped[i] = (struct stopped){pid, at_ns};
}

static void take_event(struct watch *w, const struct tapir_catalog *catalog,
		       const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	const struct tapir_rec_probe *probe = tapir_catalog__probe(catalog, ev->probe_id);
	struct tapir_probe_view view;
	struct tapir_event_view event;
	struct tapir_watch_slot *slot;
	uint64_t reason;
	size_t i;

	if (!probe)
		return;
	tapir_probe_view__of(&probe->h, &view);
	if (tapir_sv__is(view.event, "GCSuspendEEBegin")) {
		tapir_event_view__of(rec, &event);
		tapir_event_fields__decode(&w->fields, catalog, &view, &event);
		/*
		 * The runtime stops its threads for a debugger or a rundown as well, which is no
		 * pause of the GC.
		 */
		reason = tapir_event_fields__u64(&w->fields, "Reason");
		if (reason == SUSPENDED_FOR_GC || reason == SUSPENDED_FOR_GC_PREP)
			note_stopped(w, ev->tgid, rec->time_ns);
		return;
	}
	i = tapir_sv__is(view.event, "GCRestartEEBegin") ? stopped_at(w, ev->tgid) : w->stopped_cnt;
	if (i == w->stopped_cnt)
		return;
	slot = slot_of(w, catalog, ev->tgid, rec->time_ns);
	if (slot && rec->time_ns > w->stopped[i].at_ns)
		tapir_watch_slot__put_pause(slot, utc_ms_of(catalog, rec->time_ns),
					    rec->time_ns - w->stopped[i].at_ns);
	resume(w, i);
}

static int watch_on_record(void *ctx, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec)
{
	struct watch *w = ctx;

	if (rec->type == TAPIR_REC_COUNTER)
		take_counter(w, catalog, rec);
	else if (rec->type == TAPIR_REC_EVENT)
		take_event(w, catalog, rec);
	return 0;
}

static int on_flush(void *ctx, enum tapir_session_flush when)
{
	(void)ctx;
	(void)when;
	return 0;
}

/* ---- the recording -------------------------------------------------------------------------- */

static void on_ready(void *ctx, const struct tapir_recording_ready *ready)
{
	(void)ctx;
	(void)ready;
}

static void watch_on_progress(void *ctx, const struct tapir_recording_progress *progress)
{
	struct watch *w = ctx;
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	w->page->lost_cnt = progress->stats.lost_cnt;
	w->page->cpu_ns =
		((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * TAPIR_NS_PER_SEC +
		((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000;
}

int tapir_watch__run(const struct tapir_watch_choice *choice, struct tapir_watch_shm *page)
{
	static const char *pauses = CLR ":GCSuspendEEBegin,GCRestartEEBegin";
	struct tapir_request request = {
		.sz = sizeof(request),
		.rules = {.comms = choice->comms},
		.more_specs = {.data = &pauses, .cnt = 1, .cap = 1},
		.has_no_default = true,
		.has_counters = true,
		.counters = choice->counters,
		.interval_ns = choice->interval_ms * TAPIR_NS_PER_MS,
		/* A watch runs for days: the event stream needs no library in the process. */
		.lane = "stream",
		.no_samples = true,
		.no_sched = true,
	};
	struct tapir_recording_plan plan = {};
	struct tapir_recording_result result = {};
	struct watch w = {.page = page};
	int err = tapir_request__plan(&request, &plan);

	if (!err) {
		plan.opts.command_line = "tapir serve";
		plan.opts.jvm_counters = true;
		plan.opts.no_names = true;
		plan.opts.on_record = watch_on_record;
		plan.opts.on_flush = on_flush;
		plan.opts.on_exit = on_exit_of;
		plan.opts.on_ready = on_ready;
		plan.opts.on_progress = watch_on_progress;
		plan.opts.ctx = &w;
		err = tapir_recording__run(&plan.opts, &result);
	}
	tapir_recording_plan__fini(&plan);
	tapir_event_fields__fini(&w.fields);
	return err;
}
