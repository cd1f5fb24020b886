// SPDX-License-Identifier: GPL-2.0-or-later
/* The list; each format has its writer in this room. */
#include "output/export/formats.h"

#include <string.h>

const struct tapir_format tapir_formats[TAPIR_FORMAT_CNT] = {
	[TAPIR_FORMAT_NETTRACE] = {.name = "nettrace",
				   .what = "everything, for PerfView and TraceEvent",
				   .suffix = "nettrace",
				   .content = TAPIR_FORMAT_IS_BINARY,
				   .is_whole = true,
				   .has_head = true},
	[TAPIR_FORMAT_SPEEDSCOPE] = {.name = "speedscope",
				     .what = "stacks of each thread over time, for speedscope.app",
				     .suffix = "speedscope.json",
				     .content = TAPIR_FORMAT_IS_JSON,
				     .has_head = true},
	[TAPIR_FORMAT_FOLDED] =
		{.name = "folded",
		 .what = "one stack per line with its count, for flame graph scripts",
		 .suffix = "folded",
		 .content = TAPIR_FORMAT_IS_TEXT},
	[TAPIR_FORMAT_PPROF] = {.name = "pprof",
				.what = "one count per stack, for go tool pprof",
				.suffix = "pb.gz",
				.content = TAPIR_FORMAT_IS_BINARY,
				.is_whole = true,
				.has_head = true},
	[TAPIR_FORMAT_OTLP] = {.name = "otlp",
			       .what = "samples and off-CPU time, for OpenTelemetry's receivers",
			       .suffix = "otlp.pb",
			       .content = TAPIR_FORMAT_IS_BINARY,
			       .is_whole = true,
			       .has_head = true},
	[TAPIR_FORMAT_PERFSCRIPT] =
		{.name = "perfscript",
		 .what = "samples as 'perf script' prints them, for Firefox Profiler",
		 .suffix = "perf",
		 .content = TAPIR_FORMAT_IS_TEXT,
		 .has_head = true},
};

const char *tapir_format__name(size_t i)
{
	return i < TAPIR_FORMAT_CNT ? tapir_formats[i].name : NULL;
}

const struct tapir_format *tapir_format__find(const char *name)
{
	for (size_t i = 0; name && i < TAPIR_FORMAT_CNT; i++)
		if (!strcmp(tapir_formats[i].name, name))
			return &tapir_formats[i];
	return NULL;
}
