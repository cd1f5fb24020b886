// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each request is counted when it closes; its parts are kept as well, because the slowest hundredth
 * of a route is known only at the end. What it awaits is collected while it is open: awaits by the
 * request that a thread works for; calls by the thread on which they begin, or by the span that is
 * their parent; calls on connections by the thread that sent them, if it worked for one request
 * then.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/spans/request_routes_impl.h"
#include "analyze/spans/route_of_path.h"
#include "analyze/statement_text.h"

#define DS	   "Microsoft-Diagnostics-DiagnosticSource"
#define MAX_ROUTES 1024u

struct tapir_request_routes *tapir_request_routes__new(struct tapir_timeline *tl)
{
	struct tapir_request_routes *r = calloc(1, sizeof(*r));

	if (r)
		r->tl = tl;
	return r;
}

static void free_open(struct tapir_open_request *open)
{
	tapir_request_waits__fini(&open->waits);
	free(open);
}

void tapir_request_routes__free(struct tapir_request_routes *r)
{
	struct tapir_request_peer *peer;
	struct tapir_route_sum *route;

	if (!r)
		return;
	tapir_vec_for_each (route, &r->routes) {
		free(route->name);
		free(route->took);
	}
	tapir_vec_for_each (peer, &r->peers)
		free(peer->text);
	for (size_t i = 0; i < r->open.cap; i++)
		if (r->open.slots[i].used)
			free_open((void *)(uintptr_t)r->open.slots[i].value);
	tapir_keyed__fini(&r->routes);
	tapir_vec__fini(&r->kept);
	tapir_keyed__fini(&r->dependencies);
	tapir_vec__fini(&r->uses);
	tapir_keyed__fini(&r->peers);
	tapir_keyed__fini(&r->threads);
	tapir_map__fini(&r->open);
	tapir_map__fini(&r->call_request);
	tapir_map__fini(&r->span_request);
	free(r);
}

/* ---- counting ------------------------------------------------------------------------------- */

enum tapir_request_source tapir_request__source(const struct tapir_interval_kind *kind)
{
	if (!strcmp(kind->provider, DS))
		return TAPIR_REQUEST_DIAGNOSTICS;
	return strcmp(kind->name, "server_request") ? TAPIR_REQUEST_OTHER : TAPIR_REQUEST_KESTREL;
}

/* The row of that name; a new one owns it. NULL: there is no room. */
static struct tapir_route_sum *add_route(struct tapir_request_routes *r,
					 const struct tapir_interval *i, struct tapir_str *name)
{
	const struct tapir_interval_kind *kind = tapir_request_routes__kind(r, i->kind);
	uint64_t key = tapir_hash__mix(tapir_hash__bytes(i->kind, name->data, name->len), i->tgid);
	struct tapir_route_sum *route = tapir_keyed__add(
		&r->routes, key, MAX_ROUTES,
		((struct tapir_route_sum){.tgid = i->tgid,
					  .kind = i->kind,
					  .source = (uint8_t)tapir_request__source(kind),
					  .is_call = !kind->is_request,
					  .first_ns = i->from_ns}));

	if (!route || route->took)
		return route;
	route->took = calloc(1, sizeof(*route->took));
	if (!route->took) {
		tapir_keyed__undo(&r->routes, key);
		return NULL;
	}
	route->name = name->data;
	*name = (struct tapir_str){};
	return route;
}

/* Appends the name of a row for requests and calls of that label. */
static void add_route_name(const struct tapir_interval_kind *kind, const char *label,
			   struct tapir_str *out)
{
	if (kind->is_statement)
		tapir_statement_text__add(tapir_sv__of(label), out);
	else
		tapir_route__add(out, label);
}

/* Returns its index, or MAX_ROUTES if there is no room. */
static uint32_t route_of(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	struct tapir_route_sum *route = NULL;
	struct tapir_str name = {};

	add_route_name(tapir_request_routes__kind(r, i->kind), i->label ? i->label : "", &name);
	if (!name.len)
		tapir_str__adds(&name, "(no path)");
	r->failed |= !name.data || name.failed;
	if (name.data && !name.failed)
		route = add_route(r, i, &name);
	r->failed |= r->routes.failed;
	tapir_str__fini(&name);
	return route ? (uint32_t)(route - r->routes.data) : MAX_ROUTES;
}

/*
 * Time without a thread is awaited if there is an activity, or if all that works for it is known;
 * of any other request by key it is unknown.
 */
static enum tapir_request_part part_of(const struct tapir_request_routes *r,
				       const struct tapir_interval *i, unsigned cause,
				       unsigned state)
{
	static const uint8_t causes[TAPIR_CAUSE_CNT] = {[TAPIR_CAUSE_GC] = TAPIR_REQUEST_GC,
							[TAPIR_CAUSE_SAFEPOINT] =
								TAPIR_REQUEST_STOP,
							[TAPIR_CAUSE_JIT] = TAPIR_REQUEST_JIT,
							[TAPIR_CAUSE_LOCK] = TAPIR_REQUEST_LOCK,
							[TAPIR_CAUSE_IO] = TAPIR_REQUEST_IO};
	static const uint8_t states[TAPIR_THREAD_STATE_CNT] = {
		[TAPIR_THREAD_UNKNOWN] = TAPIR_REQUEST_UNKNOWN,
		[TAPIR_THREAD_RUNNING] = TAPIR_REQUEST_CPU,
		[TAPIR_THREAD_RUNNABLE] = TAPIR_REQUEST_RUNNABLE,
		[TAPIR_THREAD_SLEEPING] = TAPIR_REQUEST_ASLEEP,
		[TAPIR_THREAD_AWAITING] = TAPIR_REQUEST_AWAITED,
		[TAPIR_THREAD_IN_CHILD_ACTIVITY] = TAPIR_REQUEST_INSIDE,
		[TAPIR_THREAD_QUEUED] = TAPIR_REQUEST_QUEUED};

	if (cause != TAPIR_CAUSE_NONE)
		return causes[cause];
	if (state == TAPIR_THREAD_AWAITING && i->scope == TAPIR_PAIR_KEY &&
	    !(i->flags & TAPIR_INTERVAL_FOLLOWED))
		return TAPIR_REQUEST_UNKNOWN;
	if (state == TAPIR_THREAD_RUNNING && !tapir_timeline__stats(r->tl)->switches)
		return TAPIR_REQUEST_UNKNOWN;
	return states[state];
}

/* A call is awaited in any case: its thread's time is not its own. */
static void take_parts(const struct tapir_request_routes *r, const struct tapir_interval *i,
		       bool is_call, struct tapir_one_request *one)
{
	if (is_call) {
		one->parts[TAPIR_REQUEST_UNKNOWN] = one->took_ns;
		return;
	}
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT; c++)
		for (unsigned s = 0; s < TAPIR_THREAD_STATE_CNT; s++)
			one->parts[part_of(r, i, c, s)] += i->parts.ns[c][s];
}

/* Returns the status in the event that ends it; 0: there is none. */
static uint32_t status_of(struct tapir_timeline *tl)
{
	const struct tapir_event_view *event;
	const struct tapir_probe_view *probe;
	struct tapir_str text = {};
	uint64_t status = 0;

	if (!tapir_timeline__current(tl, &probe, &event))
		return 0;
	tapir_event_fields__add_text(tapir_timeline__fields(tl, probe, event), "Status", 8, &text);
	if (!text.data || !tapir_str__to_u64(text.data, 100, 999, &status))
		status = 0;
	tapir_str__fini(&text);
	return (uint32_t)status;
}

static void count_one(struct tapir_request_routes *r, const struct tapir_one_request *one)
{
	struct tapir_route_sum *route = &r->routes.data[one->route];

	route->cnt++;
	route->sum_ns += one->took_ns;
	tapir_histogram__add(route->took, one->took_ns);
	for (unsigned p = 0; p < TAPIR_REQUEST_PART_CNT; p++)
		route->parts[p] += one->parts[p];
	route->status_cnt += one->status != 0;
	route->error_cnt += one->status >= 500;
	if (r->kept.cnt >= TAPIR_REQUESTS_KEPT)
		r->unkept_cnt++;
	else if (!tapir_vec__push(&r->kept, *one))
		r->failed = true;
}

/* ---- closing ------------------------------------------------------------------------------------ */

static void count_request(struct tapir_request_routes *r, const struct tapir_interval *i,
			  struct tapir_request_waits *waits)
{
	struct tapir_one_request one = {.took_ns = i->until_ns - i->from_ns};
	struct tapir_route_sum *route;

	one.route = route_of(r, i);
	if (one.route == MAX_ROUTES) {
		r->dropped_cnt++;
		return;
	}
	route = &r->routes.data[one.route];
	route->nested_cnt += (i->flags & TAPIR_INTERVAL_NESTED) != 0;
	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END)) {
		route->half_cnt++;
		return;
	}
	if (i->flags & TAPIR_INTERVAL_ATTACH) {
		route->attach_cnt++;
		return;
	}
	take_parts(r, i, route->is_call, &one);
	if (!route->is_call)
		tapir_dependencies__count(r, i, waits, &one);
	one.status = status_of(r->tl);
	count_one(r, &one);
}

/* "GET http://127.0.0.1:5791/item/7" is "GET 127.0.0.1:5791/item/{n}". */
static uint32_t peer_of_call(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = tapir_request_routes__kind(r, i->kind);
	struct tapir_str text = {};
	uint32_t peer;
	char *scheme;

	add_route_name(kind, i->label ? i->label : "", &text);
	scheme = text.data ? strstr(text.data, "http://") : NULL;
	if (scheme && !kind->is_statement)
		memmove(scheme, scheme + 7, strlen(scheme + 7) + 1);
	if (!text.data || !*text.data)
		peer = tapir_dependencies__peer(r, "a call", 0);
	else if (kind->is_statement)
		peer = tapir_dependencies__statement(r, text.data);
	else
		peer = tapir_dependencies__peer(r, text.data, 0);
	r->failed |= text.failed;
	tapir_str__fini(&text);
	return peer;
}

static void add_call(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	const uint64_t *request = tapir_map__get(&r->call_request, i->map_key);

	if (!request)
		return;
	if (!(i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END)))
		tapir_request_routes__add_wait(
			r, *request,
			&(struct tapir_request_wait){.from_ns = i->from_ns,
						     .until_ns = i->until_ns,
						     .site = TAPIR_NO_SITE,
						     .peer = peer_of_call(r, i)});
	tapir_map__del(&r->call_request, i->map_key);
}

void tapir_request_routes__close(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = tapir_request_routes__kind(r, i->kind);
	struct tapir_open_request *open;

	if (i->is_work || i->cause)
		return;
	if (i->key && !strcmp(kind->provider, DS))
		tapir_map__del(&r->span_request, tapir_hash__mix(i->tgid, i->key));
	if (kind->is_call)
		add_call(r, i);
	if (!kind->is_request && !kind->is_call)
		return;
	open = kind->is_request ? tapir_open_request__of(r, i->map_key) : NULL;
	count_request(r, i, open ? &open->waits : NULL);
	if (open) {
		tapir_map__del(&r->open, i->map_key);
		free_open(open);
	}
}
