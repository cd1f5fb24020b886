// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes each event of the timeline on to the causes that need it, and each wait on to those that
 * may take it (TAPIR_WAIT_CONSUMERS).
 */
#include "diagnose/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"
#include "trace/family.h"

#define MAX_PROBES 65536u

/* ---- events --------------------------------------------------------------------------------- */

static enum tapir_diagnosis_event_kind known_event_kind(const struct tapir_probe_view *probe)
{
	static const struct {
		const char *event;
		enum tapir_diagnosis_event_kind event_kind;
	} known[] = {
		{"ContentionStart", TAPIR_DIAGNOSIS_EVENT_CONTENTION_BEGIN},
		{"ContentionStop", TAPIR_DIAGNOSIS_EVENT_CONTENTION_END},
		{"GCStart", TAPIR_DIAGNOSIS_EVENT_GC_START},
		{"GCTriggered", TAPIR_DIAGNOSIS_EVENT_GC_TRIGGERED},
		{"GCCreateSegment", TAPIR_DIAGNOSIS_EVENT_HEAP_MEMORY},
		{"GCHeapStats", TAPIR_DIAGNOSIS_EVENT_HEAP},
		{"GCFinalizersEnd", TAPIR_DIAGNOSIS_EVENT_FINALIZED},
		{"ThreadPoolWorkerThreadWait", TAPIR_DIAGNOSIS_EVENT_POOL_IDLE},
		{"ThreadPoolWorkerThreadAdjustmentAdjustment", TAPIR_DIAGNOSIS_EVENT_POOL_CHANGE},
		{"ThreadPoolWorkerThreadAdjustment", TAPIR_DIAGNOSIS_EVENT_POOL_CHANGE},
		{"MethodLoadVerbose", TAPIR_DIAGNOSIS_EVENT_METHOD_LOAD},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (tapir_sv__is(probe->event, known[i].event))
			return known[i].event_kind;
	return tapir_sv__starts_with(probe->event, "ThreadPoolWorkerThread")
		       ? TAPIR_DIAGNOSIS_EVENT_POOL
		       : TAPIR_DIAGNOSIS_EVENT_NOTHING;
}

static bool is_dotnet(const struct tapir_probe_view *probe)
{
	return tapir_sv__is(probe->provider, "Microsoft-Windows-DotNETRuntime");
}

static enum tapir_diagnosis_event_kind event_kind_by_names(const struct tapir_probe_view *probe)
{
	const struct tapir_counted_event *event;

	for (size_t i = 0; (event = tapir_lore__counted_event(TAPIR_COUNTS_EXCEPTIONS, i)); i++)
		if (tapir_sv__is(probe->provider, event->provider) &&
		    tapir_sv__is(probe->event, event->event))
			return TAPIR_DIAGNOSIS_EVENT_EXCEPTION;
	if (tapir_sv__is(probe->provider, "Microsoft-Diagnostics-DiagnosticSource") &&
	    tapir_sv__is(probe->event, "Activity2Start"))
		return TAPIR_DIAGNOSIS_EVENT_REQUEST_SENT;
	if (tapir_sv__is(probe->provider, "System.Net.Sockets") &&
	    tapir_sv__is(probe->event, "ConnectStart"))
		return TAPIR_DIAGNOSIS_EVENT_CONNECTS;
	if (tapir_sv__is(probe->provider, "postgresql"))
		return tapir_sv__is(probe->event, "checkpoint__start")
			       ? TAPIR_DIAGNOSIS_EVENT_CHECKPOINT
		       : tapir_sv__is(probe->event, "sort__done") ? TAPIR_DIAGNOSIS_EVENT_SORTED
								  : TAPIR_DIAGNOSIS_EVENT_NOTHING;
	return is_dotnet(probe) ? known_event_kind(probe) : TAPIR_DIAGNOSIS_EVENT_NOTHING;
}

static enum tapir_diagnosis_event_kind event_kind_of(struct tapir_diagnosis *f,
						     const struct tapir_probe_view *probe)
{
	uint64_t *known = tapir_map__get(&f->event_kind_by_probe, probe->rec->probe_id);
	enum tapir_diagnosis_event_kind event_kind;

	if (known)
		return (enum tapir_diagnosis_event_kind) * known;
	event_kind = event_kind_by_names(probe);
	f->has_dotnet |= is_dotnet(probe);
	if (f->event_kind_by_probe.cnt < MAX_PROBES)
		known = tapir_map__put(&f->event_kind_by_probe, probe->rec->probe_id, NULL);
	if (known)
		*known = event_kind;
	return event_kind;
}

static const struct tapir_counted_event *exception_of(const struct tapir_probe_view *probe)
{
	const struct tapir_counted_event *event = NULL;

	for (size_t i = 0; (event = tapir_lore__counted_event(TAPIR_COUNTS_EXCEPTIONS, i)); i++)
		if (tapir_sv__is(probe->event, event->event) &&
		    tapir_sv__is(probe->provider, event->provider))
			break;
	return event;
}

static void count_exception(struct tapir_diagnosis *f, const struct tapir_probe_view *probe,
			    const struct tapir_diagnosis_event *e)
{
	const struct tapir_counted_event *event = exception_of(probe);
	struct tapir_str type = {};

	if (event)
		tapir_event_fields__add_text(e->fields, event->label, 200, &type);
	f->exceptions.cnt++;
	tapir_label_sums__add(&f->exceptions.types, 1, type.data ? type.data : "",
			      tapir_diagnosis__function(f, e->node), 1);
	tapir_str__fini(&type);
}

static void diagnosis_on_event(void *ctx, struct tapir_tl_thread *t,
			       const struct tapir_probe_view *probe,
			       const struct tapir_event_view *event)
{
	struct tapir_diagnosis *f = ctx;
	const struct tapir_rec_event *rec = event->rec;
	struct tapir_stack_ref ref = {.tgid = t->tgid,
				      .time_ns = rec->h.time_ns,
				      .stack_id = rec->stack_id,
				      .kstack_id = event->kstack_id};
	struct tapir_diagnosis_event e = {
		.event_kind = event_kind_of(f, probe), .thread = t, .now_ns = rec->h.time_ns};

	tapir_finding_cpu_activity__process(f, t->tgid);
	tapir_allocators__add(&f->allocators, f->tl, t, probe, event);
	f->awaits.tl = f->tl;
	tapir_awaits__event(&f->awaits, t, probe, event);
	if (f->routes)
		tapir_request_routes__event(f->routes, t, probe, event);
	/*
	 * Most events mean nothing to findings: they do without the stack and the fields, which
	 * cost most here.
	 */
	if (e.event_kind == TAPIR_DIAGNOSIS_EVENT_NOTHING)
		return;
	e.node = tapir_timeline__node(f->tl, &ref);
	e.fields = tapir_timeline__fields(f->tl, probe, event);
	if (e.event_kind == TAPIR_DIAGNOSIS_EVENT_EXCEPTION)
		count_exception(f, probe, &e);
	tapir_finding_gc__event(f, &e);
	tapir_finding_locks_by_event__event(f, &e);
	tapir_finding_pool__event(f, &e);
	tapir_finding_cpu__event(f, &e);
	tapir_finding_requests__event(f, &e);
	tapir_finding_cpu_activity__event(f, &e);
	tapir_finding_postgresql__event(f, &e);
}

static void diagnosis_on_sample(void *ctx, struct tapir_tl_thread *t,
				const struct tapir_rec_sample *sample)
{
	tapir_finding_cpu__sample(ctx, t, sample);
}

static void on_expect(void *ctx, uint32_t node)
{
	tapir_node_facts__expect(ctx, node);
}

static void add_diagnosed_wait(struct tapir_diagnosis *f, const struct tapir_wait *wait,
			       bool is_open)
{
#define ONE(...)		 +1
#define TAKER(number, name, ...) [number] = tapir_finding_##name##__wait,
	static bool (*const takers[1 TAPIR_WAIT_CONSUMERS(ONE)])(
		struct tapir_diagnosis *, const struct tapir_wait *,
		bool) = {TAPIR_WAIT_CONSUMERS(TAKER)};
	size_t i = 0;

	if (tapir_diagnosis__role(f, wait->thread, wait->until_ns) == TAPIR_ROLE_TRACER)
		return;
	tapir_finding_cpu_pressure__wait(f, wait);
	tapir_finding_loop__wait(f, wait);
	tapir_finding_cpu_activity__wait(f, wait);
	tapir_finding_executors__wait(f, wait);
	if (!is_open)
		tapir_finding_statements__wait(f, wait);
	while (takers[i] && !takers[i](f, wait, is_open))
		i++;
	/* The pool's are of threads that have no work; without a state it waited for a CPU. */
	if (takers[i] == tapir_finding_pool__wait || !wait->state)
		return;
	tapir_wait_table__add(f, wait, is_open,
			      takers[i] == tapir_finding_locks_by_stack__wait ||
				      takers[i] == tapir_finding_locks_by_event__wait);
	if (!is_open)
		tapir_chain_sums__add(f, wait);
}

static void diagnosis_on_wait(void *ctx, const struct tapir_wait *wait)
{
	add_diagnosed_wait(ctx, wait, false);
}

static void diagnosis_on_open_ended_wait(void *ctx, const struct tapir_wait *wait)
{
	add_diagnosed_wait(ctx, wait, true);
}

static void diagnosis_on_open(void *ctx, struct tapir_interval *i)
{
	tapir_finding_requests__open(ctx, i);
}

static void diagnosis_on_close(void *ctx, struct tapir_interval *i)
{
	struct tapir_diagnosis *f = ctx;

	tapir_finding_locks_by_event__close(f, i);
	tapir_finding_locks_by_stack__close(f, i);
	tapir_finding_requests__close(f, i);
	tapir_finding_pool__close(f, i);
	tapir_finding_statements__close(f, i);
	tapir_finding_cpu_activity__close(f, i);
	tapir_finding_gc__close(f, i);
}

static void on_awaited(void *ctx, struct tapir_interval *i, uint64_t ns)
{
	tapir_finding_requests__awaited(ctx, i, ns);
}

static void on_counter(void *ctx, const struct tapir_rec_counter *counter)
{
	tapir_finding_jvm__counter(ctx, counter);
}

static void on_io(void *ctx, const struct tapir_rec *rec, uint32_t node)
{
	struct tapir_diagnosis *f = ctx;

	(void)node;
	tapir_io_sums__add(&f->io, tapir_timeline__catalog(f->tl), rec);
}

static void on_process(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_diagnosis *f = ctx;

	if (tapir_timeline__reports_at(f->tl, tapir_rec__tgid(rec, 0)))
		tapir_lives_fns.process(&f->lives, rec);
}

static void diagnosis_on_record(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_diagnosis *f = ctx;

	f->lives.tl = f->tl;
	tapir_lives_fns.record(&f->lives, rec);
	if (rec->type == TAPIR_REC_EXCHANGE)
		tapir_finding_calls__exchange(ctx, (const void *)rec);
}

static void on_calls(void *ctx, const struct tapir_rec_calls *rec, uint32_t node)
{
	struct tapir_diagnosis *f = ctx;

	(void)node;
	tapir_failed_calls__add(&f->failed_calls, tapir_timeline__catalog(f->tl), rec);
}

static void on_snapshot(void *ctx, const struct tapir_rec_switch *rec, uint32_t node)
{
	tapir_finding_futexes__snapshot(ctx, rec, node);
	tapir_finding_loop__snapshot(ctx, rec, node);
	tapir_finding_locks_by_event__snapshot(ctx, rec);
	tapir_finding_cpu_activity__snapshot(ctx, rec, node);
}

static void on_interp_sample(void *ctx, const struct tapir_rec_interp_sample *rec, uint32_t node)
{
	tapir_finding_interp_hotspots__add(ctx, rec, node);
	tapir_finding_loop__interp_sample(ctx, rec, node);
}

static void on_call(void *ctx, const struct tapir_rec *rec)
{
	tapir_finding_locks_by_event__call(ctx, rec);
	tapir_finding_locks_by_stack__call(ctx, rec);
	tapir_finding_sessions__call(ctx, rec);
	tapir_finding_cpu_activity__call(ctx, rec);
}

const struct tapir_timeline_fns tapir_diagnosis_fns = {.sample = diagnosis_on_sample,
						       .expect = on_expect,
						       .wait = diagnosis_on_wait,
						       .open_ended_wait =
							       diagnosis_on_open_ended_wait,
						       .event = diagnosis_on_event,
						       .counter = on_counter,
						       .io = on_io,
						       .record = diagnosis_on_record,
						       .process = on_process,
						       .calls = on_calls,
						       .snapshot = on_snapshot,
						       .interp_sample = on_interp_sample,
						       .call = on_call,
						       .open = diagnosis_on_open,
						       .awaited = on_awaited,
						       .close = diagnosis_on_close};

/* ---- the list ------------------------------------------------------------------------------- */

/* The number of exceptions of a type, thrown by any function. */
static uint64_t exceptions_of(const struct tapir_diagnosis *f, const char *type)
{
	const struct tapir_label_sum *row;
	uint64_t cnt = 0;

	tapir_vec_for_each (row, &f->exceptions.types.rows)
		cnt += strcmp(row->label, type) ? 0 : row->cnt;
	return cnt;
}

void tapir_finding_exceptions__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_label_sum *type = tapir_label_sums__largest(&f->exceptions.types);
	const char *thrower = type && type->name != TAPIR_APP_CODE_NONE
				      ? tapir_timeline__stacks(f->tl)->names.data[type->name]
				      : NULL;
	uint64_t cnt = type ? exceptions_of(f, type->label) : 0;
	struct tapir_rule_fact fact =
		TAPIR_FACT(EXCEPTIONS, .cnt = f->exceptions.cnt, .subject = thrower);

	if (type && *type->label) {
		fact.percent = tapir_diagnosis__percent(cnt, f->exceptions.cnt);
		tapir_str__add_printable(&fact.object, type->label, strlen(type->label));
		if (thrower)
			tapir_str__add_printable(&fact.who, thrower, strlen(thrower));
		if (!TAPIR_IS_SHARE(ONE_THROWS, type->cnt, cnt))
			fact.rest = tapir_diagnosis__percent(type->cnt, cnt);
	}
	tapir_rules__judge(f, list, fact);
}

void (*const tapir_detectors[TAPIR_DETECTOR_CNT])(struct tapir_diagnosis *f,
						  struct tapir_findings *list) = {
#define TAPIR_DETECTOR_ROW(name) tapir_finding_##name##__list,
	TAPIR_DETECTORS(TAPIR_DETECTOR_ROW)
#undef TAPIR_DETECTOR_ROW
};

/*
 * Sums up what is known only after the last record, and what one cause knows of the waits that
 * another one counts: detectors change nothing.
 */
void tapir_diagnosis__conclude(struct tapir_diagnosis *f)
{
#define CONCLUDE(name) tapir_finding_##name##__conclude(f);
	TAPIR_CONCLUDED(CONCLUDE)
#undef CONCLUDE
	tapir_lives__finish(&f->lives);
}

/* Sums up what found no room, and for which tables memory was short: findings may be missing. */
static void add_beyond(const struct tapir_diagnosis *f, struct tapir_findings *list)
{
#define ADD(table) (list->more += (table).more, list->failed |= (table).failed)
	const struct tapir_lock_kind *kind;
	const struct tapir_request_kind *request;

	ADD(f->locks_by_stack.kinds);
	tapir_vec_for_each (kind, &f->locks_by_stack.kinds)
		ADD(kind->threads);
	tapir_vec_for_each (request, &f->requests) {
		ADD(request->inside.rows);
		ADD(request->tasks.rows);
	}
	for (unsigned i = 0; i < TAPIR_WAITED_FOR_CNT; i++)
		ADD(f->waits.by_reason[i].threads.rows);
	ADD(f->waits.for_threads.rows);
	ADD(f->requests);
	ADD(f->exceptions.types.rows);
	ADD(f->gc.processes);
	ADD(f->locks.labels.rows);
	ADD(f->locks.classes.rows);
	ADD(f->locks.statements.rows);
	ADD(f->locks.wait_edges);
	ADD(f->locks_by_stack.seen);
	ADD(f->wait_table.rows);
	ADD(f->chain_sums.rows);
	ADD(f->futexes.locks);
	ADD(f->futexes.shares);
	ADD(f->futexes.seen);
	ADD(f->futexes.by_reason.rows);
	ADD(f->executors.rows);
	ADD(f->cpu_activities.sums);
	ADD(f->cpu_activities.begun);
	ADD(f->cpu_activities.statements.rows);
	ADD(f->postgresql.statements.rows);
	ADD(f->gil.threads);
	ADD(f->loops.rows);
	ADD(f->interp_hotspots.threads);
	ADD(f->statements.rows);
	ADD(f->statements.sessions);
	ADD(f->sessions.rows);
	ADD(f->calls.threads);
	ADD(f->calls.called);
	ADD(f->failed_calls.rows);
	ADD(f->lives);
	ADD(f->names);
#undef ADD
}

void tapir_diagnosis__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	tapir_diagnosis__conclude(f);
	for (size_t i = 0; i < TAPIR_DETECTOR_CNT; i++)
		tapir_detectors[i](f, list);
	add_beyond(f, list);
	tapir_findings__judge(list);
}

void tapir_diagnosis__fini(struct tapir_diagnosis *f)
{
#define FINI(name) tapir_finding_##name##__fini(f);
	TAPIR_DETECTOR_PARTS(FINI)
#undef FINI
	tapir_wait_table__fini(&f->wait_table);
	tapir_chain_sums__fini(&f->chain_sums);
	tapir_lives__fini(&f->lives);
	tapir_awaits__fini(&f->awaits);
	tapir_label_sums__fini(&f->exceptions.types);
	tapir_allocators__fini(&f->allocators);
	tapir_works__fini(&f->works);
	tapir_app_code__fini(&f->app_code);
	tapir_wait_reasons__fini(&f->reasons);
	tapir_io_sums__fini(&f->io);
	tapir_failed_calls__fini(&f->failed_calls);
	tapir_map__fini(&f->event_kind_by_probe);
	tapir_node_facts__fini(f);
	tapir_vec__fini(&f->marks.by_name);
	tapir_vec__fini(&f->marks.lists);
	tapir_map__fini(&f->role_by_tid);
}
