// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each request is counted when it closes; its parts are kept as well, because the slowest hundredth
 * of a route is known only at the end.
 */
#include "analyze/spans/request_routes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/spans/route_of_path.h"
#include "analyze/view.h"
#include "base/histogram.h"
#include "base/keyed.h"

#define MAX_ROUTES 1024u
#define MAX_KEPT   65536u /* requests whose parts are kept */

enum part {
	PART_CPU,
	PART_RUNNABLE,
	PART_ASLEEP,
	PART_LOCK,
	PART_IO,
	PART_GC,
	PART_STOP,
	PART_JIT,
	PART_AWAITED,
	PART_INSIDE,
	PART_QUEUED,
	PART_UNKNOWN,
	PART_CNT
};

static const char *const part_names[PART_CNT] = {"on CPU",
						 "waits for a CPU",
						 "blocked",
						 "waits for locks",
						 "in I/O",
						 "in GC",
						 "process stopped",
						 "in JIT",
						 "awaited",
						 "in other activities",
						 "queued for a thread",
						 "not known"};

struct route {
	uint32_t tgid, kind;
	uint8_t source;
	bool is_call;
	char *name; /* owned */
	uint64_t cnt, half_cnt, attach_cnt, nested_cnt, sum_ns;
	uint64_t error_cnt, status_cnt; /* status_cnt: requests whose status is known */
	uint64_t first_ns;
	uint64_t parts[PART_CNT];
	struct tapir_histogram *took; /* owned */
};

struct one {
	uint32_t route;
	uint64_t took_ns;
	uint64_t parts[PART_CNT];
	uint32_t status; /* 0: not known */
};

struct tapir_request_routes {
	struct tapir_timeline *tl;
	struct tapir_vec(struct route) routes;
	struct tapir_map by_key;
	struct tapir_vec(struct one) kept;
	uint64_t unkept_cnt;  /* their parts are in no cohort */
	uint64_t dropped_cnt; /* beyond MAX_ROUTES */
	bool failed;
};

struct tapir_request_routes *tapir_request_routes__new(struct tapir_timeline *tl)
{
	struct tapir_request_routes *r = calloc(1, sizeof(*r));

	if (r)
		r->tl = tl;
	return r;
}

void tapir_request_routes__free(struct tapir_request_routes *r)
{
	struct route *route;

	if (!r)
		return;
	tapir_vec_for_each (route, &r->routes) {
		free(route->name);
		free(route->took);
	}
	tapir_vec__fini(&r->routes);
	tapir_vec__fini(&r->kept);
	tapir_map__fini(&r->by_key);
	free(r);
}

/* ---- counting ------------------------------------------------------------------------------- */

static const struct tapir_kind *kind_of(const struct tapir_request_routes *r, uint32_t kind)
{
	return &tapir_timeline__pairs(r->tl)->kinds.data[kind];
}

enum tapir_request_source tapir_request__source(const struct tapir_kind *kind)
{
	if (!strcmp(kind->provider, "Microsoft-Diagnostics-DiagnosticSource"))
		return TAPIR_REQUEST_DIAGNOSTICS;
	return strcmp(kind->name, "server_request") ? TAPIR_REQUEST_OTHER : TAPIR_REQUEST_KESTREL;
}

static bool add_route(struct tapir_request_routes *r, const struct tapir_interval *i,
		      struct tapir_str *name)
{
	const struct tapir_kind *kind = kind_of(r, i->kind);
	struct route route = {.tgid = i->tgid,
			      .kind = i->kind,
			      .source = (uint8_t)tapir_request__source(kind),
			      .is_call = !kind->is_request,
			      .first_ns = i->from_ns,
			      .name = name->data,
			      .took = calloc(1, sizeof(*route.took))};

	if (!route.took || !tapir_vec__push(&r->routes, route)) {
		free(route.took);
		return false;
	}
	*name = (struct tapir_str){};
	return true;
}

/* Returns its index, or MAX_ROUTES if there is no room. */
static uint32_t route_of(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	struct tapir_str name = {};
	uint64_t key;
	bool is_new;
	size_t idx;

	tapir_route__add(&name, i->label ? i->label : "");
	if (!name.len)
		tapir_str__adds(&name, "(no path)");
	if (!name.data || name.failed) {
		r->failed = true;
		tapir_str__fini(&name);
		return MAX_ROUTES;
	}
	key = tapir_hash__mix(tapir_hash__bytes(i->kind, name.data, name.len), i->tgid);
	idx = tapir_keyed__idx(&r->by_key, key, r->routes.cnt, MAX_ROUTES, &is_new);
	if (idx != TAPIR_KEYED_NONE && is_new && !add_route(r, i, &name)) {
		tapir_map__del(&r->by_key, key);
		idx = TAPIR_KEYED_NONE;
		r->failed = true;
	}
	tapir_str__fini(&name);
	return idx == TAPIR_KEYED_NONE ? MAX_ROUTES : (uint32_t)idx;
}

/*
 * Time without a thread is awaited if there is an activity, or if all that works for it is known; of
 * any other request by key it is unknown.
 */
static enum part part_of(const struct tapir_request_routes *r, const struct tapir_interval *i,
			 unsigned cause, unsigned state)
{
	static const uint8_t causes[TAPIR_CAUSE_CNT] = {[TAPIR_CAUSE_GC] = PART_GC,
							[TAPIR_CAUSE_STOP] = PART_STOP,
							[TAPIR_CAUSE_JIT] = PART_JIT,
							[TAPIR_CAUSE_LOCK] = PART_LOCK,
							[TAPIR_CAUSE_IO] = PART_IO};
	static const uint8_t states[TAPIR_THREAD_STATE_CNT] = {
		[TAPIR_THREAD_UNKNOWN] = PART_UNKNOWN,	 [TAPIR_THREAD_RUNNING] = PART_CPU,
		[TAPIR_THREAD_RUNNABLE] = PART_RUNNABLE, [TAPIR_THREAD_SLEEPING] = PART_ASLEEP,
		[TAPIR_THREAD_BETWEEN] = PART_AWAITED,	 [TAPIR_THREAD_INSIDE] = PART_INSIDE,
		[TAPIR_THREAD_QUEUED] = PART_QUEUED};

	if (cause != TAPIR_CAUSE_NONE)
		return causes[cause];
	if (state == TAPIR_THREAD_BETWEEN && i->scope == TAPIR_PAIR_KEY &&
	    !(i->flags & TAPIR_INTERVAL_FOLLOWED))
		return PART_UNKNOWN;
	if (state == TAPIR_THREAD_RUNNING && !tapir_timeline__stats(r->tl)->switches)
		return PART_UNKNOWN;
	return states[state];
}

/* A call is awaited in any case: its thread's time is not its own. */
static void take_parts(const struct tapir_request_routes *r, const struct tapir_interval *i,
		       bool is_call, struct one *one)
{
	if (is_call) {
		one->parts[PART_UNKNOWN] = one->took_ns;
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

static void count_one(struct tapir_request_routes *r, const struct one *one)
{
	struct route *route = &r->routes.data[one->route];

	route->cnt++;
	route->sum_ns += one->took_ns;
	tapir_histogram__add(route->took, one->took_ns);
	for (unsigned p = 0; p < PART_CNT; p++)
		route->parts[p] += one->parts[p];
	route->status_cnt += one->status != 0;
	route->error_cnt += one->status >= 500;
	if (r->kept.cnt >= MAX_KEPT)
		r->unkept_cnt++;
	else if (!tapir_vec__push(&r->kept, *one))
		r->failed = true;
}

void tapir_request_routes__close(struct tapir_request_routes *r, const struct tapir_interval *i)
{
	const struct tapir_kind *kind = kind_of(r, i->kind);
	struct one one = {.took_ns = i->until_ns - i->from_ns};
	struct route *route;

	if (!kind->is_request && !kind->is_call)
		return;
	one.route = route_of(r, i);
	if (one.route == MAX_ROUTES) {
		r->dropped_cnt++;
		return;
	}
	route = &r->routes.data[one.route];
	route->nested_cnt += (i->flags & TAPIR_INTERVAL_NESTED) != 0;
	if (i->flags & (TAPIR_INTERVAL_UNBEGUN | TAPIR_INTERVAL_UNENDED)) {
		route->half_cnt++;
		return;
	}
	if (i->flags & TAPIR_INTERVAL_ATTACH) {
		route->attach_cnt++;
		return;
	}
	take_parts(r, i, route->is_call, &one);
	one.status = status_of(r->tl);
	count_one(r, &one);
}

/* ---- what counts ------------------------------------------------------------------------------ */

/* Requests without keys or ids that overlap on a thread cannot be distinguished. */
static bool is_unknown(const struct tapir_request_routes *r, const struct route *route)
{
	const struct tapir_kind *kind = kind_of(r, route->kind);
	const struct route *other;

	if (kind->scope == TAPIR_PAIR_KEY)
		return false;
	if (kind->is_unknown_by_thread)
		return true;
	tapir_vec_for_each (other, &r->routes)
		if (other->kind == route->kind && other->tgid == route->tgid && other->nested_cnt)
			return true;
	return false;
}

static bool is_told_better(const struct tapir_request_routes *r, const struct route *route)
{
	const struct route *other;

	tapir_vec_for_each (other, &r->routes)
		if (other->tgid == route->tgid && other->is_call == route->is_call &&
		    other->source > route->source && other->cnt)
			return true;
	return false;
}

static int by_sum(const void *a, const void *b)
{
	const struct route *x = *(struct route *const *)a, *y = *(struct route *const *)b;

	if (x->sum_ns != y->sum_ns)
		return x->sum_ns < y->sum_ns ? 1 : -1;
	return x->tgid != y->tgid ? (x->tgid < y->tgid ? -1 : 1) : strcmp(x->name, y->name);
}

struct chosen {
	struct route **routes; /* those of which time is the most first */
	size_t cnt;
	uint64_t request_cnt, half_cnt, attach_cnt, unknown_cnt, sum_ns;
	struct tapir_histogram took;
};

static bool choose(struct tapir_request_routes *r, bool is_call, struct chosen *c)
{
	struct route *route;

	*c = (struct chosen){.routes = calloc(r->routes.cnt + 1, sizeof(struct route *))};
	if (!c->routes)
		return false;
	tapir_vec_for_each (route, &r->routes) {
		if (route->is_call != is_call || is_told_better(r, route))
			continue;
		if (is_unknown(r, route)) {
			c->unknown_cnt += route->cnt + route->half_cnt + route->attach_cnt;
			continue;
		}
		c->half_cnt += route->half_cnt;
		c->attach_cnt += route->attach_cnt;
		if (!route->cnt)
			continue;
		c->routes[c->cnt++] = route;
		c->request_cnt += route->cnt;
		c->sum_ns += route->sum_ns;
		tapir_histogram__merge(&c->took, route->took);
	}
	qsort(c->routes, c->cnt, sizeof(struct route *), by_sum);
	return true;
}

/* ---- the result ------------------------------------------------------------------------------- */

static double per_second(const struct tapir_request_routes *r, uint64_t cnt)
{
	uint64_t attached_ns = tapir_catalog__attached_ns(tapir_timeline__catalog(r->tl));
	const struct tapir_timeline_stats *stats = tapir_timeline__stats(r->tl);
	uint64_t span_ns = tapir_timeline__span_ns(r->tl);

	if (attached_ns > stats->first_ns && stats->last_ns > attached_ns &&
	    span_ns > stats->last_ns - attached_ns)
		span_ns = stats->last_ns - attached_ns;
	return span_ns ? (double)cnt * 1e9 / (double)span_ns : 0;
}

/* Adds the parts of the time of all requests, and of those above the 99th percentile together. */
static void add_parts(const struct tapir_request_routes *r, struct tapir_view_result *result,
		      size_t table, const struct route *route)
{
	static const struct tapir_column columns[] = {
		{"part", "TIME SPENT", TAPIR_CELL_TEXT},
		{"ns", ">TIME", TAPIR_CELL_NS},
		{"percent", ">SHARE", TAPIR_CELL_PERCENT},
		{"slowest_percent", ">OF THE SLOWEST 1%", TAPIR_CELL_PERCENT},
		{}};
	uint64_t p99_ns = tapir_histogram__percentile(route->took, 99);
	uint64_t slow[PART_CNT] = {}, slow_ns = 0;
	const struct one *one;
	size_t parts;

	tapir_vec_for_each (one, &r->kept) {
		if (&r->routes.data[one->route] != route || one->took_ns < p99_ns)
			continue;
		slow_ns += one->took_ns;
		for (unsigned p = 0; p < PART_CNT; p++)
			slow[p] += one->parts[p];
	}
	parts = tapir_view_result__table_of_row(result, table, "parts", NULL, columns);
	for (unsigned p = 0; p < PART_CNT; p++) {
		if (!route->parts[p])
			continue;
		tapir_view_result__text(result, parts, part_names[p]);
		tapir_view_result__u64(result, parts, route->parts[p]);
		tapir_view_result__share(result, parts, route->parts[p], route->sum_ns);
		if (slow_ns)
			tapir_view_result__share(result, parts, slow[p], slow_ns);
		else
			tapir_view_result__none(result, parts);
	}
}

static void add_table(const struct tapir_request_routes *r, struct tapir_view_result *result,
		      const struct chosen *c, bool is_call, uint64_t top)
{
	static const struct tapir_column columns[] = {{"count", ">COUNT", TAPIR_CELL_COUNT},
						      {"per_second", ">/S", TAPIR_CELL_NUMBER},
						      {"p50_ns", ">MEDIAN", TAPIR_CELL_NS},
						      {"p99_ns", ">99%", TAPIR_CELL_NS},
						      {"max_ns", ">MAX", TAPIR_CELL_NS},
						      {"errors", ">ERRORS", TAPIR_CELL_COUNT},
						      {"pid", ">PID", TAPIR_CELL_ID},
						      {"process", "PROCESS", TAPIR_CELL_TEXT},
						      {"route", "ROUTE", TAPIR_CELL_TEXT},
						      {"sum_ns", NULL, TAPIR_CELL_NS},
						      {"incomplete", NULL, TAPIR_CELL_COUNT},
						      {"at_attach", NULL, TAPIR_CELL_COUNT},
						      {}};
	size_t table = tapir_view_result__table(
		result, is_call ? "calls" : "routes",
		is_call ? "calls of other servers" : "requests by route", columns);

	for (size_t i = 0; i < c->cnt && i < top; i++) {
		const struct route *route = c->routes[i];

		tapir_view_result__u64(result, table, route->cnt);
		tapir_view_result__f64(result, table, round(10 * per_second(r, route->cnt)) / 10);
		tapir_view_result__u64(result, table, tapir_histogram__percentile(route->took, 50));
		tapir_view_result__u64(result, table, tapir_histogram__percentile(route->took, 99));
		tapir_view_result__u64(result, table, route->took->most);
		if (route->status_cnt)
			tapir_view_result__u64(result, table, route->error_cnt);
		else
			tapir_view_result__none(result, table);
		tapir_view_result__u64(result, table, route->tgid);
		tapir_view_result__textn(result, table,
					 tapir_timeline__comm(r->tl, route->tgid, route->first_ns));
		tapir_view_result__text(result, table, route->name);
		tapir_view_result__u64(result, table, route->sum_ns);
		tapir_view_result__u64(result, table, route->half_cnt);
		tapir_view_result__u64(result, table, route->attach_cnt);
		if (!is_call)
			add_parts(r, result, table, route);
	}
	if (c->cnt > top)
		tapir_view_result__note(result, "%zu more %s (--top)", c->cnt - (size_t)top,
					is_call ? "kinds of calls" : "routes");
}

static void add_headline(const struct tapir_request_routes *r, struct tapir_view_result *result,
			 const struct chosen *c, const char *what)
{
	char median[TAPIR_NS_TEXT_BYTES], late[TAPIR_NS_TEXT_BYTES];

	tapir_str__addf(&result->headline,
			"%" PRIu64 " %s, %.1f per second: median %s, 99%% within %s; ",
			c->request_cnt, what, per_second(r, c->request_cnt),
			tapir_ns__text(tapir_histogram__percentile(&c->took, 50), median),
			tapir_ns__text(tapir_histogram__percentile(&c->took, 99), late));
	tapir_str__addf(&result->headline, "%.0f%% of their time in ",
			c->sum_ns ? 100. * (double)c->routes[0]->sum_ns / (double)c->sum_ns : 0.);
	tapir_str__adds(&result->headline, c->routes[0]->name);
}

static void add_facts(struct tapir_view_result *result, const struct chosen *c)
{
	tapir_view_result__fact(result, "count", NULL, TAPIR_CELL_COUNT, c->request_cnt);
	tapir_view_result__fact(result, "incomplete", NULL, TAPIR_CELL_COUNT, c->half_cnt);
	tapir_view_result__fact(result, "at_attach", NULL, TAPIR_CELL_COUNT, c->attach_cnt);
	if (c->half_cnt)
		tapir_view_result__note(result,
					"%" PRIu64 " more began before the recording or did not "
					"end in it",
					c->half_cnt);
	if (c->attach_cnt)
		tapir_view_result__note(result,
					"%" PRIu64 " more began before all events were on: no "
					"row has them",
					c->attach_cnt);
}

/*
 * Adds one line for requests and calls that lack keys and ids. Where others have keys, events
 * without ids are of the same requests and calls.
 */
static void add_unknown(const struct tapir_request_routes *r, struct tapir_view_result *result,
			const struct chosen *requests, const struct chosen *calls)
{
	uint64_t cnt = requests->unknown_cnt + calls->unknown_cnt;
	const struct tapir_kind *kind;

	tapir_vec_for_each (kind, &tapir_timeline__pairs(r->tl)->kinds) {
		if (!kind->is_request && !kind->is_call)
			continue;
		if (kind->lacks_key ||
		    (kind->is_unknown_by_thread && !(kind->is_request ? requests : calls)->cnt))
			cnt += kind->unended;
	}
	if (cnt)
		tapir_view_result__note(result,
					"%" PRIu64 " more began, how long is not known: their "
					"events have no key (--activities, --profile requests)",
					cnt);
	tapir_view_result__fact(result, "not_known", NULL, TAPIR_CELL_COUNT, cnt);
}

bool tapir_request_routes__finish(struct tapir_request_routes *r, struct tapir_view_result *result,
				  uint64_t top)
{
	struct chosen requests, calls = {};
	bool is_any = false;

	if (choose(r, false, &requests) && choose(r, true, &calls)) {
		is_any = requests.cnt || calls.cnt;
		if (is_any)
			add_headline(r, result, requests.cnt ? &requests : &calls,
				     requests.cnt ? "requests" : "calls of other servers");
		if (requests.cnt)
			add_table(r, result, &requests, false, top);
		if (calls.cnt)
			add_table(r, result, &calls, true, top);
		add_facts(result, &requests);
		add_unknown(r, result, &requests, &calls);
	} else {
		r->failed = true;
	}
	if (r->unkept_cnt)
		tapir_view_result__note(
			result, "the slowest 1%% are those of the first %u requests", MAX_KEPT);
	if (r->dropped_cnt)
		tapir_view_result__note(result,
					"%" PRIu64 " requests of more than %u routes are left out",
					r->dropped_cnt, MAX_ROUTES);
	free(requests.routes);
	free(calls.routes);
	result->failed |= r->failed;
	return is_any;
}
