// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was allocated: bytes by type and stack. .NET reports one allocation per 100 KB or so, with
 * the bytes allocated since the last one: bytes are right in sum, not for one object.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/tally.h"
#include "analyze/view.h"

struct allocations {
	struct tapir_view_asked asked;
	struct tapir_tally tally;
};

static void begin(void *ctx)
{
	struct allocations *v = ctx;

	v->tally.id = TAPIR_TALLY_ALLOCATIONS;
	v->tally.tl = v->asked.tl;
}

static void fini(void *ctx)
{
	struct allocations *v = ctx;

	tapir_tally__fini(&v->tally);
}

static void on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
		     const struct tapir_event_view *event)
{
	struct allocations *v = ctx;

	tapir_tally__add(&v->tally, t, probe, event);
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	struct allocations *v = ctx;
	const struct tapir_tally *t = &v->tally;
	double seconds = (double)tapir_timeline__span_ns(t->tl) / 1e9;
	bool is_bytes = t->weight > t->cnt; /* else each weighs 1 */

	tapir_tally__sort(&v->tally);
	tapir_tally__write(t, result, "allocations", is_bytes, v->asked.top);
	tapir_view_result__fact(result, "count", NULL, TAPIR_CELL_COUNT, t->cnt);
	tapir_view_result__fact(result, is_bytes ? "bytes" : "weight", NULL, TAPIR_CELL_COUNT,
				t->weight);
	if (!t->rows.cnt)
		tapir_view_result__nothing(result, "no allocation was seen");
	else if (is_bytes)
		tapir_str__addf(&result->headline,
				"%.1f MB allocated (%.1f MB a second), %.0f%% of "
				"it %s",
				(double)t->weight / 1e6,
				seconds > 0 ? (double)t->weight / 1e6 / seconds : 0,
				100.0 * (double)t->rows.data[0]->weight / (double)t->weight,
				t->rows.data[0]->what);
	else
		tapir_str__addf(&result->headline, "%llu allocations, %.0f%% of them %s",
				(unsigned long long)t->cnt,
				100.0 * (double)t->rows.data[0]->weight / (double)t->weight,
				t->rows.data[0]->what);
	return t->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_allocations = {
	.name = "allocations",
	.summary = "allocated bytes by type and by stack",
	.fns = {.event = on_event},
	.ctx_bytes = sizeof(struct allocations),
	.default_top = 10,
	.begin = begin,
	.finish = finish,
	.fini = fini,
};
