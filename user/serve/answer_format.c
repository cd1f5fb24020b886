// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats of `tapir export`, the report and the flame graph, by the commands that make them. */
#include "serve/answer_format.h"

#include <string.h>

const struct tapir_answer_format tapir_answer_formats[] = {
	{"tapir", "tapir", TAPIR_MIME_BINARY, {}},
	{"speedscope",
	 "speedscope.json",
	 TAPIR_MIME_JSON,
	 {"export", "--format", "speedscope", "-"}},
	{"nettrace", "nettrace", TAPIR_MIME_BINARY, {"export", "--format", "nettrace", "-"}},
	{"folded", "folded", TAPIR_MIME_TEXT, {"export", "--format", "folded", "-"}},
	{"pprof", "pb.gz", TAPIR_MIME_BINARY, {"export", "--format", "pprof", "-"}},
	{"perfscript", "perf", TAPIR_MIME_TEXT, {"export", "--format", "perfscript", "-"}},
	{"report", "report.json", TAPIR_MIME_JSON, {"report", "--json", "-"}},
	{"flamegraph", "svg", TAPIR_MIME_SVG, {"flamegraph", "-"}},
	{},
};

const struct tapir_answer_format *tapir_answer_format__find(const char *name)
{
	const struct tapir_answer_format *f = tapir_answer_formats;

	if (!name)
		return f;
	while (f->name && strcmp(f->name, name) != 0)
		f++;
	return f->name ? f : NULL;
}

const char *tapir_answer_format__name(size_t i)
{
	return i < sizeof(tapir_answer_formats) / sizeof(tapir_answer_formats[0])
		       ? tapir_answer_formats[i].name
		       : NULL;
}
