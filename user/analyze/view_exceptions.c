// SPDX-License-Identifier: GPL-2.0-or-later
/* What was thrown: by type and message, and from where. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/tally.h"
#include "analyze/view.h"

#define DEFAULT_TOP 10

/* Facts: the pages on the runtimes' probes, and .NET's manifest. */
static const struct tapir_tally_event events[] = {
	{"Microsoft-Windows-DotNETRuntime", "ExceptionThrown", "ExceptionType", "ExceptionMessage",
	 NULL},
	{"php", "exception__thrown", "class", NULL, NULL},
	{"ruby", "raise", "class", "file", NULL},
	{"libstdcxx", "throw", "type", NULL, NULL},
	{},
};

struct exceptions {
	struct tapir_tally tally;
	uint64_t top;
};

static void *start(struct tapir_timeline *tl, const char *arg, uint64_t top)
{
	struct exceptions *v = calloc(1, sizeof(*v));

	(void)arg;
	if (v) {
		v->tally.events = events;
		v->tally.tl = tl;
		v->top = top ? top : DEFAULT_TOP;
	}
	return v;
}

static void release(void *ctx)
{
	struct exceptions *v = ctx;

	if (v)
		tapir_tally__fini(&v->tally);
	free(v);
}

static void on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
		     const struct tapir_event_view *event)
{
	struct exceptions *v = ctx;

	tapir_tally__add(&v->tally, t, probe, event);
}

static int finish(void *ctx, struct tapir_sheet *sheet)
{
	struct exceptions *v = ctx;
	const struct tapir_tally *t = &v->tally;

	tapir_tally__sort(&v->tally);
	tapir_tally__write(t, sheet, "exceptions", false, v->top);
	tapir_sheet__fact(sheet, "count", NULL, TAPIR_CELL_COUNT, t->cnt);
	if (!t->rows.cnt)
		tapir_str__adds(&sheet->headline, "no exception was seen to be thrown");
	else
		tapir_str__addf(&sheet->headline, "%llu exceptions thrown, %.0f%% of them %s",
				(unsigned long long)t->cnt,
				100.0 * (double)t->rows.data[0]->weight / (double)t->weight,
				t->rows.data[0]->what);
	return t->failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_exceptions = {
	.name = "exceptions",
	.summary = "what was thrown, with what message, from where",
	.fns = {.event = on_event},
	.start = start,
	.finish = finish,
	.free = release,
};
