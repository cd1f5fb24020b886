// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page of what all threads of a process do now: threads with the same stack are one entry,
 * which opens.
 */
#include <stdio.h>

#include "agent/pages/pages_impl.h"

#define MAX_GROUPS 500

static void add_stack_frames_html(struct tapir_str *out, const json_t *frames)
{
	const json_t *f;
	size_t i;

	tapir_str__adds(out, "<ol class=\"stack\">");
	json_array_foreach(frames, i, f)
		tapir_html__add(out, "<li><span class=\"kind\">%s</span> %s</li>",
				tapir_member__text(f, "kind"), tapir_member__text(f, "function"));
	tapir_str__adds(out, "</ol>\n");
}

static void add_member(struct tapir_str *out, const json_t *m)
{
	const char *call = tapir_member__text(m, "call");
	const char *holder = tapir_member__text(m, "held_by");

	tapir_html__add(out, "<li>%llu %s", (unsigned long long)tapir_member__u64(m, "tid"),
			tapir_member__text(m, "name"));
	if (*call)
		tapir_html__add(out, " <code>%s</code>", call);
	if (*holder)
		tapir_html__add(out, ", held by %s", holder);
	tapir_str__adds(out, "</li>\n");
}

static void add_group(struct tapir_str *out, const json_t *g, bool is_open)
{
	const json_t *m;
	const char *waits = tapir_member__text(g, "waits_for");
	uint64_t threads = tapir_member__u64(g, "threads");
	size_t i;

	tapir_html__add(out,
			"<details%s><summary><strong>%llu</strong> thread%s %s%s%s <span "
			"class=\"soft\">%s</span></summary>\n<ul class=\"members\">",
			is_open ? " open" : "", (unsigned long long)threads,
			threads == 1 ? "" : "s", tapir_member__text(g, "state"),
			*waits ? ", waiting for " : "", waits, tapir_member__text(g, "names"));
	json_array_foreach(json_object_get(g, "members"), i, m) add_member(out, m);
	tapir_str__adds(out, "</ul>\n");
	add_stack_frames_html(out, json_object_get(g, "frames"));
	tapir_str__adds(out, "</details>\n");
}

void tapir_page__stacks(struct tapir_str *out, const json_t *caller, const char *pid,
			const json_t *stacks)
{
	char title[64];
	const struct tapir_page_frame frame = {.title = title, .here = "", .caller = caller};
	const json_t *groups = json_object_get(stacks, "groups"), *g;
	size_t i;

	snprintf(title, sizeof(title), "All stacks of process %.20s", pid);
	tapir_page__begin(out, &frame);
	tapir_html__add(out,
			"<p>%s</p>\n<p class=\"actions\"><a href=\"/processes/%s\">Back to "
			"process %s</a> <a class=\"button\" href=\"\">Refresh</a></p>\n",
			tapir_member__text(stacks, "headline"), pid, pid);
	json_array_foreach(groups, i, g) if (i < MAX_GROUPS) add_group(out, g, !i);
	if (json_array_size(groups) > MAX_GROUPS)
		tapir_html__add(out,
				"<p class=\"soft\">%u further groups are not shown: "
				"<a href=\"/v1/stacks?pid=%s\">all of them</a></p>\n",
				(unsigned)(json_array_size(groups) - MAX_GROUPS), pid);
	tapir_page__end(out);
}
