// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests by route as tables: which source of them counts, what is known of them, and of which
 * parts their time is, of all and of those at or above the 99th percentile.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/spans/request_routes_impl.h"
#include "base/order.h"
#include "analyze/view.h"

const char *const tapir_request_part_names[TAPIR_REQUEST_PART_CNT] = {"on CPU",
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

/* ---- what counts ------------------------------------------------------------------------------ */

/* Requests without keys or ids that overlap on a thread cannot be distinguished. */
static bool is_unknown(const struct tapir_request_routes *r, const struct tapir_route_sum *route)
{
	const struct tapir_interval_kind *kind = tapir_request_routes__kind(r, route->kind);
	const struct tapir_route_sum *other;

	if (kind->scope == TAPIR_PAIR_KEY)
		return false;
	if (kind->is_unknown_by_thread)
		return true;
	tapir_vec_for_each (other, &r->routes)
		if (other->kind == route->kind && other->tgid == route->tgid && other->nested_cnt)
			return true;
	return false;
}

static bool has_better_source(const struct tapir_request_routes *r,
			      const struct tapir_route_sum *route)
{
	const struct tapir_route_sum *other;

	tapir_vec_for_each (other, &r->routes)
		if (other->tgid == route->tgid && other->is_call == route->is_call &&
		    other->source > route->source && other->cnt &&
		    !tapir_request_routes__kind(r, route->kind)->is_statement)
			return true;
	return false;
}

static int by_sum(const void *a, const void *b)
{
	const struct tapir_route_sum *x = *(struct tapir_route_sum *const *)a,
				     *y = *(struct tapir_route_sum *const *)b;

	return tapir_order__by(tapir_order__down(x->sum_ns, y->sum_ns),
			       tapir_order__up(x->tgid, y->tgid), strcmp(x->name, y->name));
}

struct chosen {
	struct tapir_route_sum **routes; /* those of which time is the most first */
	size_t cnt;
	uint64_t request_cnt, half_cnt, attach_cnt, unknown_cnt, sum_ns;
	struct tapir_histogram took;
};

/*
 * A route is left out where a better source has it, or where nothing of it was timed. What is left
 * out is counted for the notes below the table.
 */
static bool choose(struct tapir_request_routes *r, bool is_call, struct chosen *c)
{
	struct tapir_route_sum *route;

	*c = (struct chosen){.routes = calloc(r->routes.cnt + 1, sizeof(struct tapir_route_sum *))};
	if (!c->routes)
		return false;
	tapir_vec_for_each (route, &r->routes) {
		if (route->is_call != is_call || has_better_source(r, route))
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
	qsort(c->routes, c->cnt, sizeof(struct tapir_route_sum *), by_sum);
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

/* Adds up the parts of those at or above the 99th percentile; returns their time. */
static uint64_t sum_slowest(struct tapir_request_routes *r, const struct tapir_route_sum *route,
			    uint64_t slow[TAPIR_REQUEST_PART_CNT])
{
	uint64_t p99_ns = tapir_histogram__percentile(route->took, 99), slow_ns = 0;
	const struct tapir_one_request *one;

	tapir_vec_for_each (one, &r->kept) {
		if (&r->routes.data[one->route] != route || one->took_ns < p99_ns)
			continue;
		slow_ns += one->took_ns;
		for (unsigned p = 0; p < TAPIR_REQUEST_PART_CNT; p++)
			slow[p] += one->parts[p];
		for (uint32_t u = one->first_use; u < one->first_use + one->use_cnt; u++)
			r->dependencies.data[r->uses.data[u].dependency].slow_ns +=
				r->uses.data[u].ns;
	}
	return slow_ns;
}

/* Adds the parts of the time of all requests, and of the slowest hundredth together. */
static void add_parts(struct tapir_request_routes *r, const struct tapir_request_names *names,
		      struct tapir_view_result *result, size_t table,
		      const struct tapir_route_sum *route)
{
	static const struct tapir_column columns[] = {
		{"ns", ">TIME", TAPIR_CELL_NS},
		{"percent", ">SHARE", TAPIR_CELL_PERCENT},
		{"slowest_percent", ">OF SLOWEST 1%", TAPIR_CELL_PERCENT},
		{"part", "SPENT", TAPIR_CELL_TEXT},
		{}};
	uint64_t slow[TAPIR_REQUEST_PART_CNT] = {}, slow_ns = sum_slowest(r, route, slow);
	size_t parts = tapir_view_result__table_of_row(result, table, "parts", NULL, columns);

	for (unsigned p = 0; p < TAPIR_REQUEST_PART_CNT; p++) {
		if (!route->parts[p])
			continue;
		tapir_view_result__u64(result, parts, route->parts[p]);
		tapir_view_result__share(result, parts, route->parts[p], route->sum_ns);
		if (slow_ns)
			tapir_view_result__share(result, parts, slow[p], slow_ns);
		else
			tapir_view_result__none(result, parts);
		tapir_view_result__text(result, parts, tapir_request_part_names[p]);
	}
	tapir_dependencies__add(r, result, table, parts, (uint32_t)(route - r->routes.data), names,
				slow_ns);
}

#define COLUMNS(pid, process)                                                                      \
	{                                                                                          \
		{"count", ">COUNT", TAPIR_CELL_COUNT}, {"per_second", ">/S", TAPIR_CELL_NUMBER},   \
			{"p50_ns", ">MEDIAN", TAPIR_CELL_NS}, {"p99_ns", ">99%", TAPIR_CELL_NS},   \
			{"max_ns", ">MAX", TAPIR_CELL_NS},                                         \
			{"errors", ">ERRORS", TAPIR_CELL_COUNT}, {"pid", pid, TAPIR_CELL_ID},      \
			{"process", process, TAPIR_CELL_TEXT},                                     \
			{"route", "ROUTE", TAPIR_CELL_TEXT}, {"sum_ns", NULL, TAPIR_CELL_NS},      \
			{"incomplete", NULL, TAPIR_CELL_COUNT},                                    \
			{"at_attach", NULL, TAPIR_CELL_COUNT},                                     \
		{                                                                                  \
		}                                                                                  \
	}

/* A single process needs no columns that name it. */
static bool is_of_one(const struct chosen *c)
{
	for (size_t i = 1; i < c->cnt; i++)
		if (c->routes[i]->tgid != c->routes[0]->tgid)
			return false;
	return true;
}

static void add_table(struct tapir_request_routes *r, const struct tapir_request_names *names,
		      struct tapir_view_result *result, const struct chosen *c, bool is_call,
		      uint64_t top)
{
	static const struct tapir_column of_one[] = COLUMNS(NULL, NULL);
	static const struct tapir_column of_several[] = COLUMNS(">PID", "PROCESS");
	size_t table =
		tapir_view_result__table(result, is_call ? "calls" : "routes",
					 is_call ? "calls of other servers" : "requests by route",
					 is_of_one(c) ? of_one : of_several);

	for (size_t i = 0; i < c->cnt && i < top; i++) {
		const struct tapir_route_sum *route = c->routes[i];

		tapir_view_result__u64(result, table, route->cnt);
		tapir_view_result__f64(result, table, round(10 * per_second(r, route->cnt)) / 10);
		tapir_view_result__u64(result, table, tapir_histogram__percentile(route->took, 50));
		tapir_view_result__u64(result, table, tapir_histogram__percentile(route->took, 99));
		tapir_view_result__u64(result, table, route->took->max);
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
			add_parts(r, names, result, table, route);
	}
	if (c->cnt > top)
		tapir_view_result__note(result, "%zu more %s (--top)", c->cnt - (size_t)top,
					is_call ? "kinds of calls" : "routes");
}

static void add_requests_headline(const struct tapir_request_routes *r,
				  struct tapir_view_result *result, const struct chosen *c,
				  const char *noun)
{
	char median[TAPIR_NS_TEXT_BYTES], late[TAPIR_NS_TEXT_BYTES];

	tapir_str__addf(&result->headline,
			"%" PRIu64 " %s, %.1f per second: median %s, 99%% within %s; ",
			c->request_cnt, noun, per_second(r, c->request_cnt),
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
	const struct tapir_interval_kind *kind;

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

bool tapir_request_routes__finish(struct tapir_request_routes *r,
				  const struct tapir_request_names *names,
				  struct tapir_view_result *result, uint64_t top)
{
	struct chosen requests, calls = {};
	bool is_any = false;

	if (choose(r, false, &requests) && choose(r, true, &calls)) {
		is_any = requests.cnt || calls.cnt;
		if (is_any)
			add_requests_headline(r, result, requests.cnt ? &requests : &calls,
					      requests.cnt ? "requests" : "calls of other servers");
		if (requests.cnt)
			add_table(r, names, result, &requests, false, top);
		if (calls.cnt)
			add_table(r, names, result, &calls, true, top);
		add_facts(result, &requests);
		add_unknown(r, result, &requests, &calls);
	} else {
		r->failed = true;
	}
	if (r->unkept_cnt)
		tapir_view_result__note(result,
					"the slowest 1%% are those of the first %u requests",
					TAPIR_REQUESTS_KEPT);
	if (r->unseen_cnt)
		tapir_view_result__note(result,
					"%" PRIu64 " awaits and calls found no room: their time "
					"is awaited, for what is not known",
					r->unseen_cnt);
	if (r->dropped_cnt)
		tapir_view_result__note(result,
					"%" PRIu64 " requests are of more routes than are kept",
					r->dropped_cnt);
	tapir_view_result__beyond(result, r->peers.more + r->threads.more,
				  r->peers.failed || r->threads.failed || r->dependencies.failed,
				  "threads and peers of requests");
	free(requests.routes);
	free(calls.routes);
	result->failed |= r->failed;
	return is_any;
}
