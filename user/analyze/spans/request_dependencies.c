// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * This file lists what the requests of a route await: how often, for how long, one after the other
 * or in parallel. Rows are by call site and peer while records come; at the end those of a method
 * that was compiled again are one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/spans/request_routes_impl.h"
#include "base/order.h"
#include "analyze/view.h"

#define MAX_DEPENDENCIES 8192u
#define MAX_PEERS	 4096u
#define MAX_USES	 (1u << 20)
#define ROWS_SHOWN	 8u /* of a route */

/* ---- counting ----------------------------------------------------------------------------------- */

uint32_t tapir_dependencies__peer(struct tapir_request_routes *r, const char *text,
				  uint32_t exchange)
{
	struct tapir_request_peer made = {.exchange = exchange}, *peer;
	uint64_t key =
		text ? tapir_hash__bytes(3, text, strlen(text)) : tapir_hash__mix(5, exchange);

	peer = tapir_keyed__add(&r->peers, key, MAX_PEERS, made);
	if (peer && text && !peer->text) {
		peer->text = strdup(text);
		r->failed |= !peer->text;
	}
	return peer ? (uint32_t)(peer - r->peers.data) : TAPIR_NO_PEER;
}

uint32_t tapir_dependencies__statement(struct tapir_request_routes *r, const char *text)
{
	uint32_t peer = tapir_dependencies__peer(r, text, 0);

	if (peer != TAPIR_NO_PEER)
		r->peers.data[peer].is_statement = true;
	return peer;
}

static struct tapir_dependency *dependency_of(struct tapir_request_routes *r, uint32_t route,
					      const struct tapir_request_wait *row)
{
	struct tapir_dependency made = {.route = route,
					.site = row->site,
					.peer = row->is_in_queue ? TAPIR_PEER_QUEUE : row->peer};
	uint64_t key = tapir_hash__mix(tapir_hash__mix(route, row->site), made.peer);

	return tapir_keyed__add(&r->dependencies, key, MAX_DEPENDENCIES, made);
}

/* Adds what the request at hand had of it. */
static void add_request(struct tapir_dependency *d)
{
	if (!d->now_cnt)
		return;
	d->request_cnt++;
	d->parallel_cnt += d->now_parallel_cnt;
	if (d->now_parallel_cnt > 1) {
		d->group_cnt++;
		d->group_calls += d->now_cnt;
		d->group_ns += d->now_ns;
		d->longest_ns += d->now_longest_ns;
	}
	d->now_cnt = d->now_ns = d->now_longest_ns = d->now_parallel_cnt = 0;
}

static void keep_use(struct tapir_request_routes *r, struct tapir_one_request *one,
		     uint32_t dependency, uint64_t ns)
{
	struct tapir_request_use *use;

	for (uint32_t i = one->first_use; i < one->first_use + one->use_cnt; i++)
		if (r->uses.data[i].dependency == dependency) {
			r->uses.data[i].ns += ns;
			return;
		}
	use = r->uses.cnt < MAX_USES ? tapir_vec__add(&r->uses) : NULL;
	if (!use) {
		r->unseen_cnt++;
		return;
	}
	*use = (struct tapir_request_use){dependency, ns};
	one->use_cnt++;
}

/*
 * The part of a request's time that its waits may have, of which as much is left as they have not:
 * that of other activities is in the calls that began them.
 */
static uint64_t *waiting_of(struct tapir_one_request *one, const struct tapir_interval *i)
{
	return &one->parts[i->flags & TAPIR_INTERVAL_FOLLOWED ? TAPIR_REQUEST_AWAITED
			   : i->activity		      ? TAPIR_REQUEST_INSIDE
							      : TAPIR_REQUEST_UNKNOWN];
}

static void count_row(struct tapir_request_routes *r, const struct tapir_request_wait *row,
		      uint64_t ns, struct tapir_one_request *one)
{
	struct tapir_dependency *d = dependency_of(r, one->route, row);
	uint64_t took_ns = row->until_ns - row->from_ns;

	took_ns -= row->queued_ns < took_ns ? row->queued_ns : took_ns;
	if (!d) {
		r->unseen_cnt++;
		return;
	}
	d->cnt++;
	d->sum_ns += took_ns;
	d->ns += ns;
	d->now_cnt++;
	d->now_ns += took_ns;
	d->now_parallel_cnt += row->is_parallel;
	if (took_ns > d->now_longest_ns)
		d->now_longest_ns = took_ns;
	keep_use(r, one, (uint32_t)(d - r->dependencies.data), ns);
}

void tapir_dependencies__count(struct tapir_request_routes *r, const struct tapir_interval *i,
			       struct tapir_request_waits *waits, struct tapir_one_request *one)
{
	bool is_tracked = i->flags & TAPIR_INTERVAL_FOLLOWED;
	uint64_t *waiting = waiting_of(one, i), may_ns = *waiting, sum_ns, ns;
	const struct tapir_request_wait *row, *last;

	one->first_use = (uint32_t)r->uses.cnt;
	one->use_cnt = 0;
	if (!waits)
		return;
	sum_ns = tapir_request_waits__divide(waits, i->from_ns, i->until_ns, is_tracked);
	last = waits->rows.data + waits->rows.cnt - (waits->rows.cnt > 0);
	tapir_vec_for_each (row, &waits->rows) {
		ns = sum_ns > may_ns ? (uint64_t)((double)row->ns * (double)may_ns / (double)sum_ns)
				     : row->ns;
		if (ns > *waiting || (sum_ns >= may_ns && row == last))
			ns = *waiting; /* the rounding error, too */
		*waiting -= ns;
		count_row(r, row, ns, one);
	}
	for (uint32_t u = one->first_use; u < one->first_use + one->use_cnt; u++)
		add_request(&r->dependencies.data[r->uses.data[u].dependency]);
	r->unseen_cnt += waits->dropped_cnt;
	r->failed |= waits->failed;
}

/* ---- the result --------------------------------------------------------------------------------- */

static int dependencies_by_time(const void *a, const void *b)
{
	const struct tapir_dependency *x = *(struct tapir_dependency *const *)a;
	const struct tapir_dependency *y = *(struct tapir_dependency *const *)b;

	return tapir_order__by(tapir_order__down(x->ns, y->ns),
			       tapir_order__down(x->sum_ns, y->sum_ns), tapir_order__up(x, y));
}

static void merge(struct tapir_dependency *into, struct tapir_dependency *from)
{
	into->cnt += from->cnt;
	into->sum_ns += from->sum_ns;
	into->ns += from->ns;
	into->slow_ns += from->slow_ns;
	into->request_cnt += from->request_cnt;
	into->parallel_cnt += from->parallel_cnt;
	into->group_cnt += from->group_cnt;
	into->group_calls += from->group_calls;
	into->group_ns += from->group_ns;
	into->longest_ns += from->longest_ns;
	from->cnt = 0;
}

/*
 * Lists the dependencies of a route, most of its time first; rows of one call site and peer become
 * one.
 */
static size_t list(struct tapir_request_routes *r, uint32_t route,
		   const struct tapir_request_names *names, struct tapir_dependency **rows)
{
	struct tapir_dependency *d, *other;
	const struct tapir_await_site *site;
	size_t cnt = 0, i;

	tapir_vec_for_each (d, &r->dependencies) {
		if (d->route != route || !d->cnt)
			continue;
		site = tapir_awaits__site(names->awaits, d->site);
		for (i = 0; i < cnt; i++) {
			other = rows[i];
			if (other->peer == d->peer && site &&
			    tapir_awaits__site(names->awaits, other->site) == site)
				break;
		}
		if (i < cnt)
			merge(rows[i], d);
		else
			rows[cnt++] = d;
	}
	qsort(rows, cnt, sizeof(*rows), dependencies_by_time);
	return cnt;
}

static void add_peer(const struct tapir_request_routes *r, uint32_t peer,
		     const struct tapir_request_names *names, struct tapir_str *out)
{
	const struct tapir_request_peer *p = &r->peers.data[peer];
	const struct tapir_exchange_row *row =
		p->text || !names->exchanges
			? NULL
			: tapir_exchange_sums__row(names->exchanges, p->exchange);

	if (p->text)
		tapir_str__adds(out, p->text);
	else if (row)
		tapir_exchange_sums__add_callsite(names->exchanges, row, out);
}

/* Returns true if its waits for a connection are a dependency of their own. */
static bool has_queue(const struct tapir_request_routes *r, const struct tapir_dependency *d)
{
	const struct tapir_dependency *other;

	tapir_vec_for_each (other, &r->dependencies)
		if (other->peer == TAPIR_PEER_QUEUE && other->route == d->route &&
		    other->site == d->site)
			return true;
	return false;
}

/* "GET 127.0.0.1:5791/item/{n} in Shop.Ask (async)", "a semaphore in Shop.Reserve (async)" */
static void add_dependency_name(const struct tapir_request_routes *r,
				const struct tapir_dependency *d,
				const struct tapir_request_names *names, struct tapir_str *out)
{
	const struct tapir_await_site *site = tapir_awaits__site(names->awaits, d->site);

	if (d->peer == TAPIR_PEER_QUEUE)
		tapir_str__adds(out, TAPIR_AWAITED_CONNECTION);
	else if (d->peer != TAPIR_NO_PEER)
		add_peer(r, d->peer, names, out);
	else if (site && has_queue(r, d))
		tapir_str__adds(out, tapir_await_site__answer(site));
	else
		tapir_str__adds(out, site ? tapir_await_site__label(site) : "a task");
	if (site)
		tapir_str__addf(out, " in %s",
				tapir_timeline__stacks(r->tl)->names.data[site->name]);
}

/* "one after the other", "in parallel: the longest 150.96 ms, the others 9.10 ms" */
static void add_how(const struct tapir_dependency *d, struct tapir_str *out)
{
	uint64_t others = d->group_calls - d->group_cnt, longest_ns, others_ns;
	char longest[TAPIR_NS_TEXT_BYTES], other[TAPIR_NS_TEXT_BYTES];

	if (d->parallel_cnt * 2 <= d->cnt) {
		tapir_str__adds(out, d->cnt * 2 >= d->request_cnt * 3 ? "one after the other" : "");
		return;
	}
	tapir_str__adds(out, d->group_cnt ? "in parallel" : "in parallel with others");
	if (!d->group_cnt || !others)
		return;
	longest_ns = d->longest_ns / d->group_cnt;
	others_ns = (d->group_ns - d->longest_ns) / others;
	if (longest_ns < 2 * others_ns)
		return;
	tapir_str__addf(out, ": the longest %s, the others %s", tapir_ns__text(longest_ns, longest),
			tapir_ns__text(others_ns, other));
}

static void add_part(struct tapir_view_result *result, size_t parts, const char *name, uint64_t ns,
		     uint64_t sum_ns, uint64_t slow_part_ns, uint64_t slow_ns)
{
	tapir_view_result__u64(result, parts, ns);
	tapir_view_result__share(result, parts, ns, sum_ns);
	if (slow_ns)
		tapir_view_result__share(result, parts, slow_part_ns, slow_ns);
	else
		tapir_view_result__none(result, parts);
	tapir_view_result__text(result, parts, name);
}

static void add_dependency(const struct tapir_request_routes *r, struct tapir_view_result *result,
			   size_t table, const struct tapir_dependency *d, const char *name)
{
	const struct tapir_route_sum *route = &r->routes.data[d->route];
	struct tapir_str how = {};

	add_how(d, &how);
	tapir_view_result__f64(result, table,
			       round(100 * (double)d->cnt / (double)route->cnt) / 100);
	tapir_view_result__u64(result, table, d->sum_ns / d->cnt);
	tapir_view_result__text(result, table, how.data && *how.data ? how.data : NULL);
	tapir_view_result__text(result, table, name);
	tapir_view_result__u64(result, table, d->cnt);
	tapir_view_result__u64(result, table, d->ns);
	tapir_view_result__f64(result, table,
			       d->cnt ? (double)d->parallel_cnt / (double)d->cnt : 0);
	if (d->group_cnt)
		tapir_view_result__u64(result, table, d->longest_ns / d->group_cnt);
	else
		tapir_view_result__none(result, table);
	result->failed |= how.failed;
	tapir_str__fini(&how);
}

/* Writes one row for all dependencies that have none of their own. */
static void add_others(struct tapir_view_result *result, size_t parts,
		       struct tapir_dependency *const *rows, size_t cnt, uint64_t sum_ns,
		       uint64_t slow_ns)
{
	uint64_t ns = 0, slow_part_ns = 0;
	struct tapir_str name = {};

	for (size_t i = 0; i < cnt; i++) {
		ns += rows[i]->ns;
		slow_part_ns += rows[i]->slow_ns;
	}
	if (!ns)
		return;
	tapir_str__addf(&name, "%zu other dependencies", cnt);
	add_part(result, parts, name.data, ns, sum_ns, slow_part_ns, slow_ns);
	result->failed |= name.failed;
	tapir_str__fini(&name);
}

void tapir_dependencies__add(struct tapir_request_routes *r, struct tapir_view_result *result,
			     size_t table, size_t parts, uint32_t route,
			     const struct tapir_request_names *names, uint64_t slow_ns)
{
	static const struct tapir_column columns[] = {
		{"a_request", ">A REQUEST", TAPIR_CELL_NUMBER},
		{"each_ns", ">EACH", TAPIR_CELL_NS},
		{"how", "HOW", TAPIR_CELL_TEXT},
		{"what", "AWAITED", TAPIR_CELL_TEXT},
		{"count", NULL, TAPIR_CELL_COUNT},
		{"ns", NULL, TAPIR_CELL_NS},
		{"parallel", NULL, TAPIR_CELL_NUMBER},
		{"longest_ns", NULL, TAPIR_CELL_NS},
		{}};
	struct tapir_dependency **rows = calloc(r->dependencies.cnt + 1, sizeof(*rows));
	uint64_t sum_ns = r->routes.data[route].sum_ns;
	size_t cnt = rows ? list(r, route, names, rows) : 0;
	size_t shown = cnt < ROWS_SHOWN ? cnt : ROWS_SHOWN, own = 0;

	r->failed |= !rows;
	for (size_t i = 0; i < shown; i++) {
		struct tapir_str name = {};

		add_dependency_name(r, rows[i], names, &name);
		if (rows[i]->ns)
			add_part(result, parts, name.data, rows[i]->ns, sum_ns, rows[i]->slow_ns,
				 slow_ns);
		if (!own)
			own = tapir_view_result__table_of_row(result, table, "dependencies", NULL,
							      columns);
		add_dependency(r, result, own, rows[i], name.data);
		result->failed |= name.failed;
		tapir_str__fini(&name);
	}
	if (cnt > shown)
		add_others(result, parts, rows + shown, cnt - shown, sum_ns, slow_ns);
	free(rows);
}
