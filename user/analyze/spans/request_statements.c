// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time of a statement is added up over routes and call sites, because a method that reads from
 * a database serves many.
 */
#include "analyze/spans/request_routes_impl.h"

static bool is_of_kind(const struct tapir_request_routes *r, const struct tapir_dependency *d,
		       uint32_t kind)
{
	return d->cnt && d->peer < r->peers.cnt && r->peers.data[d->peer].is_statement &&
	       r->routes.data[d->route].kind == kind;
}

/* The peer whose dependencies have most time; TAPIR_NO_PEER: there is none. */
static uint32_t longest(const struct tapir_request_routes *r, uint32_t kind)
{
	const struct tapir_dependency *d, *other;
	uint32_t best = TAPIR_NO_PEER;
	uint64_t best_ns = 0;

	tapir_vec_for_each (d, &r->dependencies) {
		uint64_t ns = 0;

		if (!is_of_kind(r, d, kind) || d->peer == best)
			continue;
		tapir_vec_for_each (other, &r->dependencies)
			if (other->peer == d->peer && is_of_kind(r, other, kind))
				ns += other->ns;
		if (best == TAPIR_NO_PEER || ns > best_ns) {
			best = d->peer;
			best_ns = ns;
		}
	}
	return best;
}

/* Counts the requests of the routes that await it, each route once. */
static uint64_t count_requests(const struct tapir_request_routes *r, uint32_t kind, uint32_t peer)
{
	const struct tapir_dependency *d;
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < r->routes.cnt; i++)
		tapir_vec_for_each (d, &r->dependencies)
			if (d->route == i && d->peer == peer && is_of_kind(r, d, kind)) {
				cnt += r->routes.data[i].cnt;
				break;
			}
	return cnt;
}

bool tapir_request_routes__statement(const struct tapir_request_routes *r, uint32_t kind,
				     const struct tapir_awaits *awaits,
				     struct tapir_awaited_statement *out)
{
	struct tapir_awaited_statement found = {.text = NULL};
	uint32_t peer = longest(r, kind);
	const struct tapir_route_sum *route;
	const struct tapir_dependency *d;
	uint64_t longest_ns = 0;

	if (peer == TAPIR_NO_PEER)
		return false;
	tapir_vec_for_each (d, &r->dependencies) {
		if (d->peer != peer || !is_of_kind(r, d, kind))
			continue;
		found.cnt += d->cnt;
		found.sum_ns += d->sum_ns;
		found.ns += d->ns;
		if (found.site && d->ns <= longest_ns)
			continue;
		longest_ns = d->ns;
		found.site = tapir_awaits__site(awaits, d->site);
	}
	tapir_vec_for_each (route, &r->routes)
		found.requests_ns += route->kind == kind ? route->sum_ns : 0;
	found.text = r->peers.data[peer].text;
	found.request_cnt = count_requests(r, kind, peer);
	*out = found;
	return found.text;
}
