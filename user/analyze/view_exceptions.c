// SPDX-License-Identifier: GPL-2.0-or-later
/* What was thrown: by type and message, and from where. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/tally.h"
#include "analyze/view.h"

struct exceptions {
	struct tapir_view_asked asked;
	struct tapir_tally tally;
};

static void begin(void *ctx)
{
	struct exceptions *v = ctx;

	v->tally.id = TAPIR_TALLY_EXCEPTIONS;
	v->tally.tl = v->asked.tl;
}

static void fini(void *ctx)
{
	struct exceptions *v = ctx;

	tapir_tally__fini(&v->tally);
}

static void on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
		     const struct tapir_event_view *event)
{
	struct exceptions *v = ctx;

	tapir_tally__add(&v->tally, t, probe, event);
}

static int finish(void *ctx, struct tapir_view_result *result)
{
	struct exceptions *v = ctx;
	const struct tapir_tally *t = &v->tally;

	tapir_tally__sort(&v->tally);
	tapir_tally__write(t, result, "exceptions", false, v->asked.top);
	tapir_view_result__fact(result, "count", NULL, TAPIR_CELL_COUNT, t->cnt);
	if (!t->rows.cnt)
		tapir_view_result__nothing(result, "no exception was seen to be thrown");
	else
		tapir_str__addf(&result->headline, "%llu exceptions thrown, %.0f%% of them %s",
				(unsigned long long)t->cnt,
				100.0 * (double)t->rows.data[0]->weight / (double)t->weight,
				t->rows.data[0]->what);
	return t->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_exceptions = {
	.name = "exceptions",
	.summary = "exceptions by type, message and stack",
	.fns = {.event = on_event},
	.ctx_bytes = sizeof(struct exceptions),
	.default_top = 10,
	.begin = begin,
	.finish = finish,
	.fini = fini,
};
