// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of requests by route: the rows that 'report --view requests' makes, all of them. Parts
 * of a route and what it awaits are two tables there, and one here: a dependency has a part, if
 * time of requests was spent on it.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/view.h"
#include "analyze/view_rows.h"
#include "output/query/query_pass.h"

#define ALL_ROWS UINT32_MAX
#define UNKNOWN	 ((double)NAN) /* NULL in SQL */

static void add_route(struct tapir_pass *p, const struct tapir_view_rows *routes, size_t at,
		      bool is_call)
{
	struct tapir_request_list_row *row = tapir_pass__add_row(p, sizeof(*row));

	if (!row)
		return;
	*row = (struct tapir_request_list_row){
		.pid = (uint32_t)tapir_view_rows__u64(routes, at, "pid", 0),
		.is_call = is_call,
		.process = tapir_pass__keep_word(p, tapir_view_rows__text(routes, at, "process")),
		.route = tapir_pass__keep_word(p, tapir_view_rows__text(routes, at, "route")),
		.count = tapir_view_rows__u64(routes, at, "count", 0),
		.per_second = tapir_view_rows__f64(routes, at, "per_second", UNKNOWN),
		.p50_ns = tapir_view_rows__u64(routes, at, "p50_ns", 0),
		.p99_ns = tapir_view_rows__u64(routes, at, "p99_ns", 0),
		.max_ns = tapir_view_rows__u64(routes, at, "max_ns", 0),
		.sum_ns = tapir_view_rows__u64(routes, at, "sum_ns", 0),
		.errors = tapir_view_rows__u64(routes, at, "errors", TAPIR_REQUEST_ERRORS_UNKNOWN),
		.incomplete = tapir_view_rows__u64(routes, at, "incomplete", 0),
		.at_attach = tapir_view_rows__u64(routes, at, "at_attach", 0)};
}

/* The row of a dependency of that name; its number of rows: there is none. */
static size_t find_dependency(const struct tapir_view_rows *dependencies, const char *name)
{
	size_t at = 0;

	while (at < tapir_view_rows__cnt(dependencies) &&
	       strcmp(tapir_view_rows__text(dependencies, at, "what"), name))
		at++;
	return at;
}

/* A route's row, and the tables below it. */
struct route {
	struct tapir_pass *pass;
	const struct tapir_view_rows *routes;
	size_t at;
	struct tapir_view_rows parts, dependencies;
};

#define NO_ROW SIZE_MAX

/* Adds a part and the dependency that it is; one of the two may be NO_ROW. */
static void add_part(const struct route *r, const char *name, size_t part, size_t dependency)
{
	const struct tapir_view_rows *parts = &r->parts, *awaited = &r->dependencies;
	struct tapir_pass *p = r->pass;
	struct tapir_request_part_list_row *row = tapir_pass__add_row(p, sizeof(*row));

	if (!row)
		return;
	*row = (struct tapir_request_part_list_row){
		.pid = (uint32_t)tapir_view_rows__u64(r->routes, r->at, "pid", 0),
		.route = tapir_pass__keep_word(p, tapir_view_rows__text(r->routes, r->at, "route")),
		.part = tapir_pass__keep_word(p, name),
		.ns = tapir_view_rows__u64(parts, part, "ns", 0),
		.percent = tapir_view_rows__f64(parts, part, "percent", UNKNOWN),
		.slowest_percent = tapir_view_rows__f64(parts, part, "slowest_percent", UNKNOWN),
		.count = tapir_view_rows__u64(awaited, dependency, "count", 0),
		.a_request = tapir_view_rows__f64(awaited, dependency, "a_request", UNKNOWN),
		.each_ns = tapir_view_rows__u64(awaited, dependency, "each_ns", 0),
		.how = tapir_pass__keep_word(p, tapir_view_rows__text(awaited, dependency, "how")),
		.parallel = tapir_view_rows__f64(awaited, dependency, "parallel", UNKNOWN),
		.longest_ns = tapir_view_rows__u64(awaited, dependency, "longest_ns", 0)};
}

static void add_parts(const struct route *r)
{
	const char *name;

	for (size_t i = 0; i < tapir_view_rows__cnt(&r->parts); i++) {
		name = tapir_view_rows__text(&r->parts, i, "part");
		add_part(r, name, i, find_dependency(&r->dependencies, name));
	}
	for (size_t i = 0; i < tapir_view_rows__cnt(&r->dependencies); i++) {
		name = tapir_view_rows__text(&r->dependencies, i, "what");
		if (!tapir_view_rows__u64(&r->dependencies, i, "ns", 0)) /* it has no part */
			add_part(r, name, NO_ROW, i);
	}
}

static void add_table(struct tapir_pass *p, const struct tapir_view_result *result, const char *key,
		      bool is_call)
{
	struct tapir_view_rows routes = tapir_view_rows__of(result, key);

	for (size_t i = 0; i < tapir_view_rows__cnt(&routes); i++) {
		p->list = &p->lists->all[TAPIR_LIST_REQUESTS];
		add_route(p, &routes, i, is_call);
		p->list = &p->lists->all[TAPIR_LIST_REQUEST_PARTS];
		if (!is_call)
			add_parts(&(struct route){
				p, &routes, i, tapir_view_rows__below(&routes, i, "parts"),
				tapir_view_rows__below(&routes, i, "dependencies")});
	}
}

static int read_view(struct tapir_pass *p, struct tapir_reader *reader, void *ctx)
{
	struct tapir_view_result result = {.tree = tapir_timeline__stacks(p->tl),
					   .start_ns = tapir_reader__stats(reader)->created_ns};
	int err = tapir_timeline__listen(p->tl, &tapir_view_requests.fns, ctx);

	if (!err)
		err = tapir_pass__read_timeline(p, reader);
	if (!err)
		err = tapir_view__finish(&tapir_view_requests, ctx, &result);
	if (!err && result.failed)
		err = -ENOMEM;
	if (!err) {
		add_table(p, &result, "routes", false);
		add_table(p, &result, "calls", true);
		tapir_list__finish(&p->lists->all[TAPIR_LIST_REQUESTS], TAPIR_LIST_REQUESTS);
		tapir_list__finish(&p->lists->all[TAPIR_LIST_REQUEST_PARTS],
				   TAPIR_LIST_REQUEST_PARTS);
	}
	tapir_view_result__fini(&result);
	return err ? err : p->err;
}

int tapir_pass__requests(struct tapir_pass *p, struct tapir_reader *reader)
{
	const struct tapir_timeline_opts opts = {.wants_stacks = true};
	struct tapir_pairs pairs = {};
	void *ctx = NULL;
	int err = -ENOMEM;

	p->tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, &opts);
	if (p->tl)
		ctx = tapir_view__start(&tapir_view_requests, p->tl, "", ALL_ROWS);
	if (ctx)
		err = read_view(p, reader, ctx);
	tapir_view__free(&tapir_view_requests, ctx);
	tapir_timeline__free(p->tl);
	tapir_pairs__fini(&pairs);
	return err;
}
