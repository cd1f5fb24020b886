// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The requests of the first screen: the rows of 'report --view requests' with most of the time, and
 * kinds of intervals that are requests, but of no route, such as queries and the activities of a
 * program. Those that took most time come first.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/view_rows.h"
#include "base/order.h"
#include "diagnose/diagnosis_impl.h"

struct candidates {
	struct tapir_vec(struct tapir_overview_request) rows;
	bool failed;
};

static void add_candidate(struct candidates *c, struct tapir_overview_request row,
			  struct tapir_str *name, struct tapir_str *spent)
{
	row.name = name->data;
	row.spent = spent->data;
	c->failed |= name->failed || spent->failed;
	if (tapir_vec__push(&c->rows, row))
		return;
	c->failed = true;
	tapir_str__fini(name);
	tapir_str__fini(spent);
}

/* ---- routes --------------------------------------------------------------------------------- */

/* The row with most of the time, other than one; SIZE_MAX: there is none. */
static size_t largest(const struct tapir_view_rows *parts, size_t other)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < tapir_view_rows__cnt(parts); i++)
		if (i != other &&
		    (best == SIZE_MAX || tapir_view_rows__u64(parts, i, "ns", 0) >
						 tapir_view_rows__u64(parts, best, "ns", 0)))
			best = i;
	return best;
}

/* "96% HTTP in Shop.Ask (async) (10 a request)" */
static void add_part(const struct tapir_view_rows *parts,
		     const struct tapir_view_rows *dependencies, size_t row, struct tapir_str *out)
{
	const char *name = tapir_view_rows__text(parts, row, "part");

	tapir_str__addf(out, "%.0f%% %s", tapir_view_rows__f64(parts, row, "percent", 0), name);
	for (size_t i = 0; i < tapir_view_rows__cnt(dependencies); i++)
		if (!strcmp(tapir_view_rows__text(dependencies, i, "what"), name) &&
		    tapir_view_rows__f64(dependencies, i, "a_request", 0) >=
			    TAPIR_LIMIT(CALLS_SHOWN))
			tapir_str__addf(out, " (%.0f a request)",
					tapir_view_rows__f64(dependencies, i, "a_request", 0));
}

static void add_spent(const struct tapir_view_rows *routes, size_t row, struct tapir_str *out)
{
	struct tapir_view_rows parts = tapir_view_rows__below(routes, row, "parts");
	struct tapir_view_rows dependencies = tapir_view_rows__below(routes, row, "dependencies");
	size_t first = largest(&parts, SIZE_MAX), second = largest(&parts, first);

	if (first == SIZE_MAX)
		return;
	add_part(&parts, &dependencies, first, out);
	if (second == SIZE_MAX ||
	    tapir_view_rows__f64(&parts, second, "percent", 0) < TAPIR_LIMIT(SECOND_PART))
		return;
	tapir_str__adds(out, ", ");
	add_part(&parts, &dependencies, second, out);
}

static bool is_of_several(const struct tapir_view_rows *routes)
{
	for (size_t i = 1; i < tapir_view_rows__cnt(routes); i++)
		if (tapir_view_rows__u64(routes, i, "pid", 0) !=
		    tapir_view_rows__u64(routes, 0, "pid", 0))
			return true;
	return false;
}

static void add_routes(const struct tapir_view_rows *routes, struct candidates *c)
{
	bool of_several = is_of_several(routes);

	for (size_t i = 0; i < tapir_view_rows__cnt(routes); i++) {
		const char *process = tapir_view_rows__text(routes, i, "process");
		uint32_t pid = (uint32_t)tapir_view_rows__u64(routes, i, "pid", 0);
		struct tapir_str name = {}, spent = {};

		if (of_several)
			tapir_str__addf(&name, "%s (%u): ", *process ? process : "process", pid);
		tapir_str__adds(&name, tapir_view_rows__text(routes, i, "route"));
		add_spent(routes, i, &spent);
		add_candidate(
			c,
			(struct tapir_overview_request){
				.pid = pid,
				.is_route = true,
				.cnt = tapir_view_rows__u64(routes, i, "count", 0),
				.per_second = tapir_view_rows__f64(routes, i, "per_second", 0),
				.sum_ns = tapir_view_rows__u64(routes, i, "sum_ns", 0),
				.p50_ns = tapir_view_rows__u64(routes, i, "p50_ns", 0),
				.p99_ns = tapir_view_rows__u64(routes, i, "p99_ns", 0)},
			&name, &spent);
	}
}

/* ---- kinds of intervals --------------------------------------------------------------------- */

static void add_kind(struct tapir_diagnosis *f, const struct tapir_request_kind *row,
		     struct candidates *c)
{
	const struct tapir_interval_kind *kind =
		&tapir_timeline__pairs(f->tl)->kinds.data[row->kind];
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	struct tapir_str name = {}, part = {}, spent = {};

	tapir_str__addf(&name, "%s:%s", kind->provider, kind->name);
	tapir_finding_requests__add_part(row, "", &part);
	if (part.len > 2) /* without the comma that joins it to a sentence */
		tapir_str__adds(&spent, part.data + 2);
	c->failed |= part.failed;
	tapir_str__fini(&part);
	add_candidate(
		c,
		(struct tapir_overview_request){
			.cnt = row->took.cnt,
			.per_second = span_ns ? (double)row->took.cnt * 1e9 / (double)span_ns : 0,
			.sum_ns = row->sum_ns,
			.p50_ns = tapir_histogram__percentile(&row->took, 50),
			.p99_ns = tapir_histogram__percentile(&row->took, 99)},
		&name, &spent);
}

/* Adds those of which there is no row by route. */
static void add_kinds(struct tapir_diagnosis *f, bool has_routes, bool has_calls,
		      struct candidates *c)
{
	const struct tapir_request_kind *row;

	tapir_vec_for_each (row, &f->requests) {
		const struct tapir_interval_kind *kind =
			&tapir_timeline__pairs(f->tl)->kinds.data[row->kind];

		if (!(kind->is_request && has_routes) &&
		    !(kind->is_call && (has_routes || has_calls)) &&
		    tapir_finding_requests__is_timed(f, row))
			add_kind(f, row, c);
	}
}

/* ---- both ----------------------------------------------------------------------------------- */

static int overview_requests_by_time(const void *a, const void *b)
{
	const struct tapir_overview_request *x = a, *y = b;

	return tapir_order__down(x->sum_ns, y->sum_ns) ?: (strcmp(x->name ?: "", y->name ?: ""));
}

static void show(struct candidates *c, struct tapir_overview *o)
{
	if (c->rows.cnt)
		qsort(c->rows.data, c->rows.cnt, sizeof(*c->rows.data), overview_requests_by_time);
	for (size_t i = 0; i < c->rows.cnt; i++) {
		if (o->request_cnt < TAPIR_OVERVIEW_ROWS) {
			o->requests[o->request_cnt++] = c->rows.data[i];
			continue;
		}
		free(c->rows.data[i].name);
		free(c->rows.data[i].spent);
	}
	tapir_vec__fini(&c->rows);
}

void tapir_overview_requests__add(struct tapir_diagnosis *f, struct tapir_overview *o)
{
	const struct tapir_request_names names = {&f->awaits, &f->calls.sums};
	struct tapir_view_result result = {.start_ns = 0};
	struct tapir_view_rows routes = {&result, SIZE_MAX}, calls = {&result, SIZE_MAX};
	struct candidates c = {};

	if (f->routes &&
	    tapir_request_routes__finish(f->routes, &names, &result, TAPIR_OVERVIEW_ROWS)) {
		routes = tapir_view_rows__of(&result, "routes");
		calls = tapir_view_rows__of(&result, "calls");
	}
	add_routes(tapir_view_rows__cnt(&routes) ? &routes : &calls, &c);
	add_kinds(f, tapir_view_rows__cnt(&routes) > 0, tapir_view_rows__cnt(&calls) > 0, &c);
	show(&c, o);
	o->failed |= c.failed || result.failed || f->routes_failed;
	tapir_view_result__fini(&result);
}
