// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page of a process that the agent watches. The server writes tables of present values, to
 * which the script adds their course over time. Counters that are named here come first, the others
 * in a second table.
 */
#include <string.h>

#include "agent/pages/pages_impl.h"

/* The counters that the script draws: .NET's, then a JVM's. */
static const char *const shown[] = {"cpu-usage",
				    "gc-heap-size",
				    "alloc-rate",
				    "working-set",
				    "exception-count",
				    "time-in-gc",
				    "gen-0-gc-count",
				    "gen-1-gc-count",
				    "gen-2-gc-count",
				    "threadpool-thread-count",
				    "time-in-jit",
				    "monitor-lock-contention-count",
				    "heap-used",
				    "old-generation",
				    "metaspace",
				    "collections",
				    "gc-time",
				    "jit-time",
				    "classes-loaded",
				    "contended-monitor-enters",
				    "threadpool-queue-length"};

static bool is_shown(const json_t *c)
{
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (tapir_member__is(c, "name", shown[i]))
			return true;
	return false;
}

static void add_watched_counter(struct tapir_str *out, const json_t *c)
{
	tapir_html__add(out, "<tr data-counter=\"%s %s\">", tapir_member__text(c, "name"),
			tapir_member__text(c, "tags"));
	tapir_page__add_counter_cells(out, c);
	tapir_str__adds(out, "</tr>\n");
}

static void add_watched_table(struct tapir_str *out, const json_t *counters, bool which)
{
	const json_t *c;
	size_t i;

	tapir_html__begin_table(out, NULL, "Counter|>Now|Unit|Over time");
	json_array_foreach(counters, i, c) if (is_shown(c) == which) add_watched_counter(out, c);
	tapir_html__end_table(out);
}

/* Times as in a chart of a recording: nanoseconds since the first. */
static json_t *relative(const json_t *pauses, uint64_t from_ms)
{
	json_t *out = json_array();
	const json_t *p;
	size_t i;

	json_array_foreach(pauses, i, p)
	{
		double ns = tapir_member__f64(p, "ms") * 1e6;
		uint64_t end_ms = tapir_member__u64(p, "utc_ms");
		double at_ns = end_ms > from_ms ? (double)(end_ms - from_ms) * 1e6 - ns : 0;

		if (ns >= 0 && ns < 1e15)
			json_array_append_new(out, json_pack("{s:I,s:I}", "at_ns",
							     (json_int_t)(at_ns > 0 ? at_ns : 0),
							     "ns", (json_int_t)ns));
	}
	return out;
}

static void add_pauses(struct tapir_str *out, const json_t *process, uint64_t now_ms)
{
	const json_t *pauses = json_object_get(process, "pauses");
	uint64_t first_ms = tapir_member__u64(json_array_get(pauses, 0), "utc_ms");
	json_t *list;

	tapir_html__add(out,
			"<h3>Pauses for garbage collection</h3>\n<p>%u pause%s, %.1f ms in "
			"total, since the agent began to watch.</p>\n",
			(unsigned)tapir_member__u64(process, "pause_count"),
			tapir_member__u64(process, "pause_count") == 1 ? "" : "s",
			tapir_member__f64(process, "pause_ms"));
	if (!json_array_size(pauses))
		return;
	list = relative(pauses, first_ms > 1000 ? first_ms - 1000 : 0);
	tapir_chart__add_pauses(out, list,
				now_ms > first_ms ? (now_ms - first_ms + 1000) * 1000000 : 0);
	json_decref(list);
}

static uint64_t newest_ms(const json_t *counters)
{
	uint64_t newest = 0;
	const json_t *c;
	size_t i;

	json_array_foreach(counters, i, c) if (tapir_member__u64(c, "utc_ms") > newest) newest =
		tapir_member__u64(c, "utc_ms");
	return newest;
}

void tapir_page__add_watched(struct tapir_str *out, const json_t *process)
{
	const json_t *watched = json_object_get(process, "watched");
	const json_t *counters = json_object_get(watched, "counters");
	const json_t *head = json_array_get(json_object_get(watched, "processes"), 0);

	if (!json_array_size(counters))
		return;
	tapir_html__add(out,
			"<section id=\"watched\" data-pid=\"%llu\" data-started=\"%llu\">"
			"<h2>Counters now</h2>\n<p class=\"soft\">The agent watches this process. "
			"<output role=\"status\"></output></p>\n<div class=\"charts\"></div>\n"
			"<details class=\"values\" open><summary>Values</summary>\n",
			(unsigned long long)tapir_member__u64(process, "pid"),
			(unsigned long long)tapir_member__u64(process, "started"));
	add_watched_table(out, counters, true);
	tapir_str__adds(out, "</details>\n");
	if (tapir_member__is(process, "runtime", ".NET"))
		add_pauses(out, head, newest_ms(counters));
	tapir_str__adds(out, "<details><summary>Further counters</summary>\n");
	add_watched_table(out, counters, false);
	tapir_str__adds(out, "</details>\n</section>\n");
}
