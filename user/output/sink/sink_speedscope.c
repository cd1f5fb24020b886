// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profiles of threads over time, for speedscope. The title is the first finding, since it is what a
 * person sees first.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "output/export/speedscope.h"
#include "output/sink/sink.h"

/* "slow.tapir: 52% of the CPU in GC ..."; of standard input, "recording of 2026-11-28T16:20:00Z" */
static void add_title(const struct tapir_export *x, struct tapir_str *out)
{
	char when[TAPIR_UTC_TEXT_BYTES];

	tapir_clock__utc_text(tapir_reader__stats(x->reader)->created_utc_ns, when);
	if (!strcmp(x->title, "-"))
		tapir_str__addf(out, "recording of %sZ", when);
	else
		tapir_str__adds(out, x->title);
	if (!x->head.len)
		return;
	tapir_str__adds(out, ": ");
	tapir_str__add(out, x->head.data, strcspn(x->head.data, "\n"));
}

static int begin_speedscope(struct tapir_export *x)
{
	x->state = tapir_speedscope__new(x->catalog, tapir_reader__stats(x->reader)->created_ns);
	return x->state ? 0 : -ENOMEM;
}

static int speedscope_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	return tapir_speedscope__add(x->state, rec);
}

static int end_speedscope(struct tapir_export *x)
{
	struct tapir_speedscope *s = x->state;
	struct tapir_str title = {};
	int err = 0;

	add_title(x, &title);
	while (!err && tapir_speedscope__next_part(s, title.data ? title.data : x->title, &x->out))
		err = tapir_sink__flush_much(x);
	tapir_str__fini(&title);
	if (!err && tapir_speedscope__skipped_cnt(s))
		tapir_warn("%" PRIu64 " samples are left out: the limit of %u MB is reached",
			   tapir_speedscope__skipped_cnt(s), TAPIR_SPEEDSCOPE_MAX_BYTES >> 20);
	return err;
}

static void free_speedscope(struct tapir_export *x)
{
	tapir_speedscope__free(x->state);
}

const struct tapir_sink tapir_sink_speedscope = {
	.name = "speedscope",
	.description = "stacks of each thread over time, for speedscope.app",
	.lacks = "switches, counters, fields, trace ids, losses",
	.suffix = "speedscope.json",
	.max_bytes = TAPIR_SPEEDSCOPE_MAX_BYTES,
	.content = TAPIR_SINK_IS_JSON,
	.has_head = true,
	.begin = begin_speedscope,
	.add = speedscope_add,
	.end = end_speedscope,
	.free = free_speedscope,
};
