// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The view "awaits": async methods by call site, how many at a time, how long, and for what. Where
 * awaits were recorded only for a part of the time, the view says for which.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/awaits.h"
#include "base/order.h"
#include "analyze/view.h"

struct view_awaits {
	struct tapir_view_args args;
	struct tapir_awaits awaits;
};

static void begin_view(void *ctx)
{
	struct view_awaits *v = ctx;

	v->awaits.tl = v->args.tl;
}

static void awaits_on_event(void *ctx, struct tapir_tl_thread *t,
			    const struct tapir_probe_view *probe,
			    const struct tapir_event_view *event)
{
	struct view_awaits *v = ctx;

	tapir_awaits__event(&v->awaits, t, probe, event);
}

static int awaits_by_time(const void *a, const void *b)
{
	const struct tapir_await_site *x = a, *y = b;
	double of_x = tapir_await_site__at_once(x), of_y = tapir_await_site__at_once(y);

	return tapir_order__by(tapir_order__down(of_x, of_y),
			       tapir_order__down(x->cnt + x->open_cnt, y->cnt + y->open_cnt),
			       tapir_order__up(x->name, y->name),
			       tapir_order__up(x->offset, y->offset));
}

static void add_await_location(const struct view_awaits *v, const struct tapir_await_site *site,
			       struct tapir_view_result *result, size_t table)
{
	const char *name = tapir_timeline__stacks(v->args.tl)->names.data[site->name];
	struct tapir_str text = {};

	tapir_str__adds(&text, name);
	if (site->offset)
		tapir_str__addf(&text, " +0x%" PRIx64, site->offset);
	tapir_view_result__text(result, table, text.data);
	result->failed |= text.failed;
	tapir_str__fini(&text);
}

static void add_await_row(const struct view_awaits *v, const struct tapir_await_site *site,
			  struct tapir_view_result *result, size_t table)
{
	tapir_view_result__f64(result, table, round(10 * tapir_await_site__at_once(site)) / 10);
	tapir_view_result__u64(result, table, site->cnt);
	tapir_view_result__f64(result, table, round(10 * tapir_await_site__per_second(site)) / 10);
	if (site->cnt) {
		tapir_view_result__u64(result, table, site->sum_ns / site->cnt);
		tapir_view_result__u64(result, table, tapir_histogram__percentile(site->took, 99));
		tapir_view_result__u64(result, table, site->took->max);
	} else {
		for (unsigned i = 0; i < 3; i++)
			tapir_view_result__none(result, table);
	}
	tapir_view_result__u64(result, table, site->open_cnt);
	tapir_view_result__text(result, table, tapir_await_site__label(site));
	add_await_location(v, site, result, table);
	tapir_view_result__u64(result, table, site->tgid);
	tapir_view_result__u64(result, table, site->sum_ns);
	tapir_view_result__u64(result, table, site->connection_ns);
}

static void add_site_table(const struct view_awaits *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {{"at_once", ">AT A TIME", TAPIR_CELL_NUMBER},
						      {"count", ">COUNT", TAPIR_CELL_COUNT},
						      {"per_second", ">/S", TAPIR_CELL_NUMBER},
						      {"mean_ns", ">MEAN", TAPIR_CELL_NS},
						      {"p99_ns", ">99%", TAPIR_CELL_NS},
						      {"max_ns", ">MAX", TAPIR_CELL_NS},
						      {"open", ">OPEN", TAPIR_CELL_COUNT},
						      {"awaited", "FOR", TAPIR_CELL_TEXT},
						      {"place", "IN", TAPIR_CELL_TEXT},
						      {"pid", NULL, TAPIR_CELL_ID},
						      {"sum_ns", NULL, TAPIR_CELL_NS},
						      {"connection_ns", NULL, TAPIR_CELL_NS},
						      {}};
	size_t table = tapir_view_result__table(result, "awaits", "awaits by call site", columns);

	for (size_t i = 0; i < v->awaits.sites.cnt && i < v->args.top; i++)
		add_await_row(v, &v->awaits.sites.data[i], result, table);
	if (v->awaits.sites.cnt > v->args.top)
		tapir_view_result__note(result, "%zu more call sites (--top)",
					v->awaits.sites.cnt - (size_t)v->args.top);
}

/* For how long they were seen, where that is not all of the time. */
static void add_coverage(const struct view_awaits *v, struct tapir_view_result *result)
{
	const struct tapir_await_site *site;
	uint64_t span_ns = tapir_timeline__span_ns(v->args.tl), least_ns = span_ns;
	char seen[TAPIR_NS_TEXT_BYTES], span[TAPIR_NS_TEXT_BYTES];

	tapir_vec_for_each (site, &v->awaits.sites)
		if (site->seen_ns < least_ns)
			least_ns = site->seen_ns;
	tapir_view_result__fact(result, "seen_ns", NULL, TAPIR_CELL_NS, least_ns);
	if (least_ns * 10 < span_ns * 9)
		tapir_view_result__note(result,
					"awaits were recorded for %s of %s: there are many "
					"(--profile async records all)",
					tapir_ns__text(least_ns, seen),
					tapir_ns__text(span_ns, span));
	if (v->awaits.dropped_cnt)
		tapir_view_result__note(result, "%" PRIu64 " awaits found no room",
					v->awaits.dropped_cnt);
}

static void add_awaits_headline(const struct view_awaits *v, struct tapir_view_result *result)
{
	const struct tapir_await_site *site, *first = v->awaits.sites.data;
	const char *name = tapir_timeline__stacks(v->args.tl)->names.data[first->name];
	double at_once = 0;

	tapir_vec_for_each (site, &v->awaits.sites)
		at_once += tapir_await_site__at_once(site);
	tapir_str__addf(&result->headline, "%.1f awaits at a time, %.1f of them for %s in %s",
			at_once, tapir_await_site__at_once(first), tapir_await_site__label(first),
			name);
	tapir_await_site__add_queue(first, &result->headline);
}

static int awaits_finish(void *ctx, struct tapir_view_result *result)
{
	struct view_awaits *v = ctx;

	tapir_awaits__finish(&v->awaits);
	if (!v->awaits.sites.cnt) {
		result->has_nothing = true;
		return v->awaits.failed ? -ENOMEM : 0;
	}
	tapir_keyed__sort(&v->awaits.sites, awaits_by_time);
	add_awaits_headline(v, result);
	add_site_table(v, result);
	add_coverage(v, result);
	return v->awaits.failed ? -ENOMEM : 0;
}

static void awaits_fini(void *ctx)
{
	struct view_awaits *v = ctx;

	tapir_awaits__fini(&v->awaits);
}

const struct tapir_view tapir_view_awaits = {
	.name = "awaits",
	.summary = "what .NET's async methods await, by call site",
	.fns = {.event = awaits_on_event},
	.nothing = "no await of the program's methods was seen",
	.ctx_bytes = sizeof(struct view_awaits),
	.default_top = 20,
	.begin = begin_view,
	.finish = awaits_finish,
	.fini = awaits_fini,
};
