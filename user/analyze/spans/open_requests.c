// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * While a request is open, the threads that work for it are noted, the stretches without one, and
 * its calls, awaits and statements.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/spans/request_routes_impl.h"
#include "analyze/statement_text.h"

#define DS	    "Microsoft-Diagnostics-DiagnosticSource"
#define MAX_SPANS   65536u
#define MAX_THREADS 65536u
#define LABEL_BYTES 200u

struct tapir_open_request *tapir_open_request__of(const struct tapir_request_routes *r,
						  uint64_t map_key)
{
	const uint64_t *slot = map_key ? tapir_map__get(&r->open, map_key) : NULL;

	return slot ? (void *)(uintptr_t)*slot : NULL;
}

/* The thread works for the request from that time on. */
static void note_thread(struct tapir_request_routes *r, uint32_t tid, uint64_t map_key,
			uint64_t at_ns)
{
	struct tapir_request_thread *t =
		tapir_keyed__add(&r->threads, tid, MAX_THREADS, (struct tapir_request_thread){});

	if (!t)
		return;
	t->taken[t->next] = (struct tapir_request_taken){at_ns, map_key};
	t->next = (t->next + 1) % TAPIR_REQUEST_TAKEN;
}

static void open_request(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	struct tapir_open_request *open, *carrier = tapir_open_request__of(r, i->carrier);
	uint64_t *slot;

	if (!i->map_key || tapir_open_request__of(r, i->map_key))
		return;
	open = calloc(1, sizeof(*open));
	slot = open ? tapir_map__put(&r->open, i->map_key, NULL) : NULL;
	if (!slot) {
		r->failed = true;
		free(open);
		return;
	}
	*slot = (uintptr_t)open;
	open->interval = i;
	if (carrier)
		carrier->rider = i->map_key;
	else
		note_thread(r, i->tid, i->map_key, i->from_ns);
}

/* The request of the activity around a call, or in whose work it begins; 0: not known. */
static uint64_t request_around(const struct tapir_request_routes *r, const struct tapir_interval *i)
{
	const struct tapir_interval *parent = tapir_timeline__parent(r->tl, i);
	uint64_t request = i->thread ? tapir_tl_thread__request(i->thread) : 0;

	if (parent && parent->is_request)
		request = parent->map_key;
	return tapir_open_request__of(r, request) ? request : 0;
}

/* The request whose span is the parent of this one, or is it itself; 0: not known. */
static uint64_t request_of_span(const struct tapir_request_routes *r,
				const struct tapir_interval *i)
{
	const struct tapir_event_view *event;
	const struct tapir_probe_view *probe;
	const uint64_t *request;

	if (i->is_request)
		return i->map_key;
	if (!tapir_timeline__current(r->tl, &probe, &event))
		return 0;
	request = tapir_map__get(
		&r->span_request,
		tapir_hash__mix(i->tgid,
				tapir_timeline__key_of(tapir_timeline__fields(r->tl, probe, event),
						       "ParentSpanId")));
	return request ? *request : 0;
}

static void put(struct tapir_request_routes *r, struct tapir_map *map, uint64_t key, uint64_t value)
{
	uint64_t *slot;

	if (!value || map->cnt >= MAX_SPANS)
		return;
	slot = tapir_map__put(map, key, NULL);
	r->failed |= !slot;
	if (slot)
		*slot = value;
}

void tapir_request_routes__open(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = tapir_request_routes__kind(r, i->kind);
	uint64_t request = 0;

	if (i->is_work || i->cause || i->scope == TAPIR_PAIR_THREAD)
		return;
	if (kind->is_request)
		open_request(r, i);
	if (!strcmp(kind->provider, DS)) {
		request = request_of_span(r, i);
		put(r, &r->span_request, tapir_hash__mix(i->tgid, i->key), request);
	}
	if (kind->is_call && i->map_key)
		put(r, &r->call_request, i->map_key, request ? request : request_around(r, i));
}

void tapir_request_routes__awaited(struct tapir_request_routes *r, const struct tapir_interval *i,
				   uint64_t ns)
{
	struct tapir_open_request *open = tapir_open_request__of(r, i->map_key);
	const struct tapir_event_view *event;
	const struct tapir_probe_view *probe;

	if (!open)
		return;
	tapir_request_waits__add_away(&open->waits, i->last_ns - ns, i->last_ns);
	if (!i->carrier && tapir_timeline__current(r->tl, &probe, &event))
		note_thread(r, event->rec->tid, i->map_key, i->last_ns);
}

void tapir_request_routes__add_wait(struct tapir_request_routes *r, uint64_t request,
				    const struct tapir_request_wait *wait)
{
	struct tapir_open_request *open = tapir_open_request__of(r, request);
	struct tapir_open_request *rider = open ? tapir_open_request__of(r, open->rider) : NULL;

	if (open)
		tapir_request_waits__add(&open->waits, wait);
	if (rider)
		tapir_request_waits__add(&rider->waits, wait);
}

void tapir_request_routes__await(void *routes, uint64_t request,
				 const struct tapir_await_span *span)
{
	tapir_request_routes__add_wait(
		routes, request,
		&(struct tapir_request_wait){.from_ns = span->from_ns,
					     .until_ns = span->until_ns,
					     .site = span->site,
					     .is_joint = span->is_joint,
					     .is_taskless = span->is_taskless,
					     .is_in_queue = span->is_in_queue,
					     .peer = TAPIR_NO_PEER});
}

/* Returns true if the tasks of the request have reported this wait for a connection. */
static bool is_reported(const struct tapir_open_request *open, uint64_t from_ns)
{
	const struct tapir_request_wait *row;

	tapir_vec_for_each (row, &open->waits.rows)
		if (row->is_in_queue && row->site != TAPIR_NO_SITE && row->until_ns > from_ns)
			return true;
	return false;
}

static void on_left_queue(struct tapir_request_routes *r, uint64_t request,
			  const struct tapir_event_fields *fields, uint64_t now_ns)
{
	struct tapir_str text = {};
	uint64_t from_ns;
	double ms;

	tapir_event_fields__add_text(fields, "timeOnQueueMilliseconds", 32, &text);
	ms = text.data ? strtod(text.data, NULL) : 0;
	tapir_str__fini(&text);
	if (!(ms > 0 && ms < 1e9))
		return;
	from_ns = ms * 1e6 < (double)now_ns ? now_ns - (uint64_t)(ms * 1e6) : 0;
	if (!is_reported(tapir_open_request__of(r, request), from_ns))
		tapir_request_routes__add_wait(r, request,
					       &(struct tapir_request_wait){.from_ns = from_ns,
									    .until_ns = now_ns,
									    .site = TAPIR_NO_SITE,
									    .is_in_queue = true,
									    .peer = TAPIR_NO_PEER});
}

/* The request awaits next the answer to a statement. */
static void on_statement(struct tapir_request_routes *r, uint64_t request,
			 const struct tapir_event_fields *fields, uint64_t now_ns)
{
	struct tapir_str sql = {}, text = {};

	tapir_event_fields__add_text(fields, "sql", LABEL_BYTES, &sql);
	tapir_statement_text__add(tapir_sv__of(sql.data ? sql.data : ""), &text);
	if (text.len && !text.failed)
		tapir_request_routes__add_wait(
			r, request,
			&(struct tapir_request_wait){
				.from_ns = now_ns,
				.until_ns = now_ns + 1,
				.site = TAPIR_NO_SITE,
				.is_mark = true,
				.peer = tapir_dependencies__statement(r, text.data)});
	r->failed |= sql.failed || text.failed;
	tapir_str__fini(&sql);
	tapir_str__fini(&text);
}

void tapir_request_routes__event(struct tapir_request_routes *r,
				 const struct tapir_tl_thread *thread,
				 const struct tapir_probe_view *probe,
				 const struct tapir_event_view *event)
{
	bool left_queue = tapir_sv__is(probe->event, "RequestLeftQueue") &&
			  tapir_sv__is(probe->provider, "System.Net.Http");
	bool begins = tapir_sv__is(probe->event, "CommandStart") &&
		      tapir_sv__is(probe->provider, TAPIR_LORE_NPGSQL);
	uint64_t request = left_queue || begins ? tapir_tl_thread__request(thread) : 0;
	const struct tapir_event_fields *fields;

	if (!tapir_open_request__of(r, request))
		return;
	fields = tapir_timeline__fields(r->tl, probe, event);
	if (left_queue)
		on_left_queue(r, request, fields, event->rec->h.time_ns);
	else
		on_statement(r, request, fields, event->rec->h.time_ns);
}

/* Returns the request for which the thread worked then; 0: for none, or it is not known. */
static uint64_t request_at(const struct tapir_request_routes *r, uint32_t tid, uint64_t at_ns)
{
	const struct tapir_request_thread *t = tapir_keyed__get(&r->threads, tid);
	const struct tapir_request_taken *taken = NULL;
	const struct tapir_request_away *away;
	const struct tapir_open_request *open;

	for (unsigned k = 0; t && k < TAPIR_REQUEST_TAKEN; k++)
		if (t->taken[k].request && t->taken[k].at_ns <= at_ns &&
		    (!taken || t->taken[k].at_ns >= taken->at_ns))
			taken = &t->taken[k];
	open = taken ? tapir_open_request__of(r, taken->request) : NULL;
	if (!open || (open->interval->is_suspended && open->interval->last_ns < at_ns))
		return 0;
	tapir_vec_for_each (away, &open->waits.away)
		if (away->from_ns >= taken->at_ns && away->from_ns < at_ns)
			return 0;
	return taken->request;
}

void tapir_request_routes__exchange(struct tapir_request_routes *r,
				    const struct tapir_rec_exchange *rec, uint32_t row)
{
	const unsigned without = TAPIR_EXCHANGE_OVERLAPS | TAPIR_EXCHANGE_UNSEEN;
	uint64_t request;

	if (rec->kind != TAPIR_EXCHANGE_ANSWERED || !(rec->flags & TAPIR_EXCHANGE_OPENED) ||
	    (rec->flags & without) || !rec->begin_ns || rec->begin_ns >= rec->h.time_ns)
		return;
	request = request_at(r, rec->ask_tid, rec->begin_ns);
	if (request)
		tapir_request_routes__add_wait(
			r, request,
			&(struct tapir_request_wait){
				.from_ns = rec->begin_ns,
				.until_ns = rec->h.time_ns,
				.site = TAPIR_NO_SITE,
				.peer = tapir_dependencies__peer(r, NULL, row)});
}
