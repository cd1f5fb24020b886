// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples as 'perf script' prints them, because many tools read that. Some readers take the first
 * kind of records for the only one (speedscope does), so events are written only of files without
 * samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/perf_script.h"
#include "output/sink/sink.h"

/*
 * Some readers take the first kind of records for the only one (speedscope does): events are
 * for files without samples, unless they were requested.
 */
static bool is_perf_script_record(const struct tapir_export *x, const struct tapir_rec *rec)
{
	return rec->type != TAPIR_REC_EVENT || x->choice.glob ||
	       !tapir_catalog__meta_value(x->catalog, "sample_event").len;
}

/* The header as 'perf script --header' frames it: Firefox Profiler knows the format by its first
 * line. */
#define HEADER_EDGE "# ========\n"

static void add_header(struct tapir_export *x)
{
	const char *line = x->head.data;

	tapir_str__adds(&x->out, HEADER_EDGE);
	for (size_t len; line && *line; line += len) {
		len = strcspn(line, "\n") + 1;
		tapir_str__adds(&x->out, "# ");
		tapir_str__add(&x->out, line, len);
	}
	tapir_str__adds(&x->out, HEADER_EDGE "#\n");
}

static int begin_perfscript(struct tapir_export *x)
{
	struct tapir_perf_script *script = calloc(1, sizeof(*script));

	if (!script)
		return -ENOMEM;
	script->catalog = x->catalog;
	x->state = script;
	add_header(x);
	return 0;
}

static int perfscript_add(struct tapir_export *x, const struct tapir_rec *rec)
{
	if (is_perf_script_record(x, rec))
		tapir_perf_script__add(x->state, rec, &x->out);
	return 0;
}

static int end_perfscript(struct tapir_export *x)
{
	(void)x;
	return 0;
}

static void free_script(struct tapir_export *x)
{
	if (x->state)
		tapir_perf_script__fini(x->state);
	free(x->state);
}

const struct tapir_sink tapir_sink_perfscript = {
	.name = "perfscript",
	.description = "samples as 'perf script' prints them, for Firefox Profiler",
	.lacks = "switches, counters, fields, trace ids, losses",
	.suffix = "perf",
	.content = TAPIR_SINK_IS_TEXT,
	.has_head = true,
	.begin = begin_perfscript,
	.add = perfscript_add,
	.end = end_perfscript,
	.free = free_script,
};
