// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of activities begin and end spans. What a span's thread waited for counts for the
 * innermost one that is open there.
 */
#include "analyze/spans/request_spans.h"

#include <stdlib.h>
#include <string.h>

#define DS	    "Microsoft-Diagnostics-DiagnosticSource"
#define LABEL_BYTES 256

static const struct edge {
	const char *event, *label;
	bool is_begin, is_request, is_call, is_statement;
} edges[] = {
	{.event = "Activity1Start", .label = "Method Path", .is_begin = true, .is_request = true},
	{.event = "Activity2Start", .label = "Method Url", .is_begin = true, .is_call = true},
	{.event = "RecursiveActivity1Start",
	 .label = "Sql",
	 .is_begin = true,
	 .is_call = true,
	 .is_statement = true},
	/* The events above say more of an HTTP request. */
	{.event = "ActivityStart", .is_begin = true},
	{.event = "Activity1Stop"},
	{.event = "Activity2Stop"},
	{.event = "RecursiveActivity1Stop"},
	{.event = "ActivityStop", .label = "SourceName Name"},
};

static const struct edge *edge_of(const struct tapir_probe_view *probe)
{
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (tapir_sv__is(probe->event, edges[i].event) && tapir_sv__is(probe->provider, DS))
			return &edges[i];
	return NULL;
}

static uint64_t id_of(const struct tapir_event_fields *fields, const char *name)
{
	struct tapir_str text = {};
	uint64_t id;

	tapir_event_fields__add_text(fields, name, 16, &text);
	id = text.data ? strtoull(text.data, NULL, 16) : 0;
	tapir_str__fini(&text);
	return id;
}

static bool trace_of(const struct tapir_event_fields *fields, char trace[TAPIR_SPAN_TRACE_BYTES])
{
	struct tapir_str text = {};
	bool is_one;

	tapir_event_fields__add_text(fields, "TraceId", TAPIR_SPAN_TRACE_BYTES - 1, &text);
	is_one = text.len == TAPIR_SPAN_TRACE_BYTES - 1;
	if (is_one)
		memcpy(trace, text.data, TAPIR_SPAN_TRACE_BYTES);
	tapir_str__fini(&text);
	return is_one;
}

static uint32_t status_of_span(const struct tapir_event_fields *fields)
{
	struct tapir_str text = {};
	uint64_t status = 0;

	tapir_event_fields__add_text(fields, "Status", 8, &text);
	if (!text.data || !tapir_str__to_u64(text.data, 100, 999, &status))
		status = 0;
	tapir_str__fini(&text);
	return (uint32_t)status;
}

static char *label_of(const struct tapir_event_fields *fields, const char *names)
{
	struct tapir_str text = {};

	tapir_event_fields__add_text(fields, names, LABEL_BYTES, &text);
	return text.data;
}

static void begin_span(struct tapir_request_spans *s, struct tapir_span *like,
		       const struct tapir_event_fields *f, const struct edge *edge)
{
	uint64_t *open = tapir_map__put(&s->open_by_tid, like->tid, NULL);
	uint32_t span;

	like->parent_id = id_of(f, "ParentSpanId");
	like->label = edge->label ? label_of(f, edge->label) : NULL;
	like->outer_on_thread = open && *open ? (uint32_t)(*open - 1) : TAPIR_NO_SPAN;
	span = tapir_span_store__begin(&s->store, like);
	if (span != TAPIR_NO_SPAN) {
		s->store.all.data[span].is_request |= edge->is_request;
		s->store.all.data[span].is_call |= edge->is_call;
		s->store.all.data[span].is_statement |= edge->is_statement;
	}
	if (open && span != TAPIR_NO_SPAN)
		*open = span + 1ull;
}

static void end(struct tapir_request_spans *s, const struct tapir_span *like,
		const struct tapir_event_fields *f, const struct edge *edge)
{
	uint32_t idx = tapir_span_store__find(&s->store, like->trace, like->id, like->tgid);
	struct tapir_span *span = idx == TAPIR_NO_SPAN ? NULL : &s->store.all.data[idx];
	uint64_t *open;

	if (!span)
		return;
	span->until_ns = like->from_ns;
	span->status = span->status ? span->status : status_of_span(f);
	span->has_moved |= span->tid != like->tid;
	if (!span->label && edge->label)
		span->label = label_of(f, edge->label);
	open = tapir_map__get(&s->open_by_tid, span->tid);
	if (open && *open == idx + 1ull)
		*open = span->outer_on_thread == TAPIR_NO_SPAN ? 0 : span->outer_on_thread + 1ull;
}

void tapir_request_spans__see(struct tapir_request_spans *s, const struct tapir_rec *rec,
			      uint32_t tgid, uint32_t tid)
{
	const struct tapir_trace_ids *ids = tapir_rec__trace_ids(rec);

	if (ids)
		tapir_span_joins__see(&s->joins, ids, tgid, tid, rec->time_ns,
				      tapir_timeline__comm(s->tl, tgid, rec->time_ns));
}

void tapir_request_spans__event(struct tapir_request_spans *s, const struct tapir_tl_thread *t,
				const struct tapir_probe_view *probe,
				const struct tapir_event_view *event)
{
	const struct edge *edge = edge_of(probe);
	const struct tapir_event_fields *fields;
	struct tapir_span like = {.tgid = t->tgid, .tid = t->tid, .from_ns = event->rec->h.time_ns};

	tapir_request_spans__see(s, &event->rec->h, t->tgid, t->tid);
	if (!edge)
		return;
	fields = tapir_timeline__fields(s->tl, probe, event);
	like.id = id_of(fields, "SpanId");
	if (!like.id || !trace_of(fields, like.trace))
		return;
	if (edge->is_begin)
		begin_span(s, &like, fields, edge);
	else
		end(s, &like, fields, edge);
}

void tapir_request_spans__switched(struct tapir_request_spans *s,
				   const struct tapir_rec_switch *rec)
{
	if (rec->out_tgid && tapir_timeline__reports_at(s->tl, rec->out_tgid) &&
	    tapir_timeline__has_trace(s->tl, &rec->h))
		tapir_request_spans__see(s, &rec->h, rec->out_tgid, rec->out_tid);
}

const char tapir_span_waits_for_cpu[] = "CPU";

void tapir_request_spans__wait(struct tapir_request_spans *s, const struct tapir_wait *w)
{
	const uint64_t *open = tapir_map__get(&s->open_by_tid, w->thread->tid);
	struct tapir_span *span = open && *open ? &s->store.all.data[*open - 1] : NULL;
	uint64_t asleep_ns = 0, runnable_ns = 0;

	if (!span || w->from_ns < span->from_ns)
		return;
	for (unsigned cause = 0; cause < TAPIR_CAUSE_CNT; cause++) {
		asleep_ns += w->parts.ns[cause][TAPIR_THREAD_SLEEPING];
		runnable_ns += w->parts.ns[cause][TAPIR_THREAD_RUNNABLE];
	}
	if (runnable_ns)
		tapir_span_store__add_wait(span, tapir_span_waits_for_cpu, runnable_ns);
	if (asleep_ns)
		tapir_span_store__add_wait(
			span,
			tapir_wait_reasons__of(&s->reasons, tapir_timeline__stacks(s->tl), w->node),
			asleep_ns);
}

/* "query SELECT price", "GET /tax/7" of a request. Yours to free; NULL: out of memory. */
static char *interval_label(struct tapir_request_spans *s, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(s->tl)->kinds.data[i->kind];
	bool has_label = i->label && *i->label;
	struct tapir_str text = {};

	if (!has_label || !(kind->is_request || kind))
		tapir_str__addf(&text, "%s%s", kind->name, has_label ? " " : "");
	if (has_label)
		tapir_str__add(&text, i->label, strnlen(i->label, LABEL_BYTES));
	return text.data;
}

void tapir_request_spans__open(struct tapir_request_spans *s, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(s->tl)->kinds.data[i->kind];
	const struct tapir_event_view *event;
	const struct tapir_probe_view *probe;

	if (i->has_trace && !i->is_work && !i->cause && strcmp(kind->provider, DS) != 0 &&
	    tapir_timeline__current(s->tl, &probe, &event) && event->trace)
		tapir_span_joins__open(&s->joins, i, event->trace, interval_label(s, i), kind);
}

void tapir_request_spans__close(struct tapir_request_spans *s, const struct tapir_interval *i)
{
	tapir_span_joins__close(&s->joins, i);
}

void tapir_request_spans__init(struct tapir_request_spans *s, struct tapir_timeline *tl)
{
	*s = (struct tapir_request_spans){.tl = tl};
	s->joins.spans = &s->store;
}

void tapir_request_spans__fini(struct tapir_request_spans *s)
{
	tapir_span_joins__fini(&s->joins);
	tapir_span_store__fini(&s->store);
	tapir_map__fini(&s->open_by_tid);
	tapir_wait_reasons__fini(&s->reasons);
}
