// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's programs count their runs, at entries and returns: each is a trap. What a trap takes
 * cannot be seen from outside the traced process, so the time that is reported is an estimate.
 */
#include "record/native_watch.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "record/hit_watch.h"
#include "record/meta.h"
#include "trace/native_memory.h"

#define PERIOD_NS TAPIR_NS_PER_SEC

static void post(struct tapir_queue *queue, const char *text)
{
	(void)tapir_meta__post_one(queue, TAPIR_NATIVE_MEMORY_MALLOC, text);
}

static void report(struct tapir_native_watch *w, struct tapir_queue *queue, double hz)
{
	char text[160];

	w->is_reported = true;
	snprintf(text, sizeof(text),
		 "malloc, free and their like: %.0f traps per second, about %.1f%% of a CPU", hz,
		 hz * TAPIR_TRAP_NS / 1e7);
	tapir_info("%s", text);
	post(queue, text);
}

static void stop(struct tapir_native_watch *w, struct tapir_images *images,
		 struct tapir_queue *queue, double hz)
{
	char text[224];

	w->has_ended = true;
	tapir_images__detach_native(images);
	snprintf(text, sizeof(text),
		 "malloc and free are not sampled: %.0f traps per second are more than %" PRIu64
		 " (--native-memory-rate); mappings are recorded",
		 hz, w->limit_hz);
	tapir_warn("%s", text);
	post(queue, text);
}

static void report_none(struct tapir_native_watch *w, struct tapir_queue *queue)
{
	static const char text[] =
		"no malloc was found in what the processes map: mappings alone are recorded";

	w->is_reported = true;
	tapir_info("%s", text);
	post(queue, text);
}

void tapir_native_watch__poll(struct tapir_native_watch *w, struct tapir_programs *programs,
			      struct tapir_images *images, struct tapir_queue *queue,
			      uint64_t now_ns)
{
	uint64_t hits;
	double hz;

	if (w->has_ended || (w->since_ns && now_ns - w->since_ns < PERIOD_NS))
		return;
	hits = tapir_programs__native_hits(programs);
	hz = w->since_ns ? (double)(hits - w->hits) * 1e9 / (double)(now_ns - w->since_ns) : 0;
	if (w->since_ns && w->limit_hz && hz > (double)w->limit_hz)
		stop(w, images, queue, hz);
	else if (w->since_ns && !w->is_reported && !tapir_images__has_native(images))
		report_none(w, queue);
	else if (w->since_ns && !w->is_reported)
		report(w, queue, hz);
	w->since_ns = now_ns;
	w->hits = hits;
}
