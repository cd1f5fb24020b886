// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Views that count events by a text and by their stacks: what was thrown and from where; what was
 * allocated, in bytes. .NET reports an allocation per 100 KB or so. Its ticks come at regular
 * distances with the bytes since the last one: right in sum, biased between types. Its samples
 * (since .NET 10) come at random distances, and each stands for as many bytes as it is unlikely.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/event_counts.h"
#include "analyze/view.h"

struct event_counts_view {
	struct tapir_view_args args;
	struct tapir_event_counts counts, samples; /* samples: where there are any, instead */
};

static void counts_fini(void *ctx)
{
	struct event_counts_view *v = ctx;

	tapir_event_counts__fini(&v->counts);
	tapir_event_counts__fini(&v->samples);
}

static void counts_on_event(void *ctx, struct tapir_tl_thread *t,
			    const struct tapir_probe_view *probe,
			    const struct tapir_event_view *event)
{
	struct event_counts_view *v = ctx;

	if (!tapir_event_counts__add(&v->counts, t, probe, event))
		tapir_event_counts__add(&v->samples, t, probe, event);
}

/* ---- exceptions ------------------------------------------------------------------------------ */

static void begin_exceptions(void *ctx)
{
	struct event_counts_view *v = ctx;

	v->counts.id = TAPIR_COUNTS_EXCEPTIONS;
	v->counts.tl = v->args.tl;
	v->samples.tl = v->args.tl;
}

static int finish_exceptions(void *ctx, struct tapir_view_result *result)
{
	struct event_counts_view *v = ctx;
	const struct tapir_event_counts *t = &v->counts;

	tapir_event_counts__sort(&v->counts);
	tapir_event_counts__write(t, result, "exceptions", false, v->args.top);
	if (!t->rows.cnt)
		result->has_nothing = true;
	else
		tapir_str__addf(&result->headline, "%llu exceptions thrown, %.0f%% of them %s",
				(unsigned long long)t->cnt,
				100.0 * (double)t->rows.data[0]->weight / (double)t->weight,
				t->rows.data[0]->label);
	return t->failed ? -ENOMEM : 0;
}

static const struct tapir_view_fact exception_facts[] = {
	{TAPIR_VIEW_FACT(struct event_counts_view, counts.cnt, "count", NULL, COUNT)}, {}};

const struct tapir_view tapir_view_exceptions = {
	.name = "exceptions",
	.is_of_traces = true,
	.summary = "exceptions by type, message and stack",
	.fns = {.event = counts_on_event},
	.nothing = "no exception was seen to be thrown",
	.source = {"exceptions", .profile = TAPIR_PROFILE_ID_EXCEPTIONS,
		   .counts = TAPIR_COUNTS_EXCEPTIONS},
	.facts = exception_facts,
	.has_facts_of_nothing = true,
	.ctx_bytes = sizeof(struct event_counts_view),
	.default_top = 10,
	.begin = begin_exceptions,
	.finish = finish_exceptions,
	.fini = counts_fini,
};

/* ---- allocations ----------------------------------------------------------------------------- */

static void begin_allocations(void *ctx)
{
	struct event_counts_view *v = ctx;

	v->counts.id = TAPIR_COUNTS_ALLOCATIONS;
	v->counts.tl = v->args.tl;
	v->samples.id = TAPIR_COUNTS_ALLOCATION_SAMPLES;
	v->samples.tl = v->args.tl;
}

static int finish_allocations(void *ctx, struct tapir_view_result *result)
{
	struct event_counts_view *v = ctx;
	struct tapir_event_counts *t = v->samples.cnt ? &v->samples : &v->counts;
	double seconds = (double)tapir_timeline__span_ns(t->tl) / 1e9;
	bool is_bytes = t->weight > t->cnt; /* else each weighs 1 */

	tapir_event_counts__sort(t);
	tapir_event_counts__write(t, result, "allocations", is_bytes, v->args.top);
	tapir_view_result__fact(result, "count", NULL, TAPIR_CELL_COUNT, t->cnt);
	tapir_view_result__fact(result, is_bytes ? "bytes" : "weight", NULL, TAPIR_CELL_COUNT,
				t->weight);
	if (!t->rows.cnt)
		result->has_nothing = true;
	else if (is_bytes)
		tapir_str__addf(&result->headline,
				"%.1f MB allocated (%.1f MB a second), %.0f%% of "
				"it %s",
				(double)t->weight / 1e6,
				seconds > 0 ? (double)t->weight / 1e6 / seconds : 0,
				100.0 * (double)t->rows.data[0]->weight / (double)t->weight,
				t->rows.data[0]->label);
	else
		tapir_str__addf(&result->headline, "%llu allocations, %.0f%% of them %s",
				(unsigned long long)t->cnt,
				100.0 * (double)t->rows.data[0]->weight / (double)t->weight,
				t->rows.data[0]->label);
	if (is_bytes && t == &v->counts)
		tapir_view_result__note(result,
					"shares of types are biased: they come from ticks at "
					"regular distances; those of large objects are too large");
	return t->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_allocations = {
	.name = "allocations",
	.is_of_traces = true,
	.summary = "allocated bytes by type and by stack",
	.fns = {.event = counts_on_event},
	.nothing = "no allocation was seen",
	.source = {"allocations", .profile = TAPIR_PROFILE_ID_ALLOCATIONS,
		   .counts = TAPIR_COUNTS_ALLOCATIONS},
	.ctx_bytes = sizeof(struct event_counts_view),
	.default_top = 10,
	.begin = begin_allocations,
	.finish = finish_allocations,
	.fini = counts_fini,
};
