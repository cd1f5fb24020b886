// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions: the list, one of them with what it says, and its flame graph. Actions are forms of
 * their own, so that they work without scripts and carry the token against forged requests.
 */
#include <stdio.h>

#include "output/sink/sinks.h"
#include "agent/pages/pages_impl.h"
#include "output/render/human_units.h"

/*
 * Formats of agent/answer.c that `tapir export` does not have, but for "none"; the flame graph has
 * a page. The last one has files of the machine in it, so that role view does not get it.
 */
static const char *const others[] = {"tapir", "report", "flamegraph", "html", "archive"};

static bool is_running(const json_t *s)
{
	return tapir_member__is(s, "state", "recording") ||
	       tapir_member__is(s, "state", "stopping");
}

static void add_button(struct tapir_str *out, const json_t *caller, const json_t *s,
		       const char *action, const char *label)
{
	tapir_html__add(out, "<form method=\"post\" action=\"/sessions/%s/%s\">",
			tapir_member__text(s, "id"), action);
	tapir_page__add_csrf(out, caller);
	tapir_html__add(out, "<button>%s</button></form>\n", label);
}

/* A form, so that it works without scripts and takes one control. */
static void add_download(struct tapir_str *out, const json_t *s, bool may_profile)
{
	size_t cnt = sizeof(others) / sizeof(others[0]) - !may_profile;

	tapir_html__add(out,
			"<form method=\"get\" action=\"/v1/sessions/%s/trace\">"
			"<select name=\"format\" aria-label=\"Format\">",
			tapir_member__text(s, "id"));
	for (size_t i = 0; i < cnt; i++)
		tapir_html__add(out, "<option>%s</option>", others[i]);
	for (size_t i = 0; tapir_sink__name(i); i++)
		tapir_html__add(out, "<option>%s</option>", tapir_sink__name(i));
	tapir_str__adds(out, "</select> <button>Download</button></form>\n");
}

static void add_actions(struct tapir_str *out, const json_t *caller, const json_t *s)
{
	bool may_profile = tapir_page__may_profile(caller);

	tapir_str__adds(out, "<div class=\"actions\">");
	if (is_running(s) && may_profile)
		add_button(out, caller, s, "stop", "Stop");
	if (!is_running(s) && !tapir_member__is(s, "state", "failed"))
		add_download(out, s, may_profile);
	if (!is_running(s) && may_profile)
		add_button(out, caller, s, "delete", "Delete");
	tapir_str__adds(out, "</div>");
}

/* "java (pid 12)", "pod prod/shop-0" */
static void add_target(struct tapir_str *out, const json_t *s)
{
	const char *name = tapir_member__text(s, "name");

	if (*name)
		tapir_html__add(out, "%s (%s)", name, tapir_member__text(s, "target"));
	else
		tapir_html__add(out, "%s", tapir_member__text(s, "target"));
}

static void add_session(struct tapir_str *out, const json_t *caller, const json_t *s)
{
	tapir_html__add(out,
			"<tr data-session=\"%s\" data-state=\"%s\"><td class=\"t\">"
			"<a href=\"/sessions/%s\">",
			tapir_member__text(s, "id"), tapir_member__text(s, "state"),
			tapir_member__text(s, "id"));
	add_target(out, s);
	tapir_str__adds(out, "</a></td><td class=\"when\">");
	tapir_html__add_utc(out, s, "created");
	tapir_html__add(out,
			"</td><td data-figure=\"state\">%s</td><td class=\"n\" "
			"data-figure=\"seconds\">%.1f</td>",
			tapir_member__text(s, "state"), tapir_member__f64(s, "seconds"));
	tapir_html__cell_count(out, s, "events");
	tapir_html__cell_count(out, s, "lost");
	tapir_html__cell_bytes(out, s, "bytes");
	tapir_html__add(out, "<td>%s</td><td>", tapir_member__text(s, "owner"));
	add_actions(out, caller, s);
	tapir_str__adds(out, "</td></tr>\n");
}

void tapir_page__add_sessions(struct tapir_str *out, const json_t *caller, const json_t *sessions)
{
	tapir_html__begin_table(
		out, "sessions",
		"Target|Started (UTC)|State|>Seconds|>Events|>Lost|>Size|Owner|-Actions");
	for (size_t i = json_array_size(sessions); i-- > 0;) /* the latest first */
		add_session(out, caller, json_array_get(sessions, i));
	tapir_html__end_table(out);
}

void tapir_page__sessions(struct tapir_str *out, const json_t *caller, const json_t *sessions)
{
	const json_t *list = json_object_get(sessions, "sessions"), *s;
	struct tapir_page_frame frame = {
		.title = "Sessions", .here = "/sessions", .caller = caller};
	size_t i;

	json_array_foreach(list, i, s) if (is_running(s)) frame.refresh_s = 5;
	tapir_page__begin(out, &frame);
	if (json_array_size(list))
		tapir_page__add_sessions(out, caller, list);
	else
		tapir_str__adds(out, "<p>There are no recordings. The page of a "
				     "<a href=\"/\">process</a> starts one.</p>\n");
	tapir_page__end(out);
}

/* ---- one ------------------------------------------------------------------------------------ */

/* Adds a figure, if it is known: some are not for the continuous recording. */
static void add_figure(struct tapir_str *out, const json_t *s, const char *key,
		       void (*add)(struct tapir_str *out, uint64_t value))
{
	if (!json_object_get(s, key))
		return;
	tapir_html__add(out, "<div><dt>%s</dt><dd data-figure=\"%s\">", key, key);
	add(out, tapir_member__u64(s, key));
	tapir_str__adds(out, "</dd></div>\n");
}

static void add_counts(struct tapir_str *out, const json_t *s)
{
	tapir_html__add(out,
			"<dl class=\"figures\" data-session=\"%s\" data-state=\"%s\">\n<div><dt>"
			"state</dt><dd data-figure=\"state\">%s</dd></div>\n<div><dt>seconds</dt>"
			"<dd data-figure=\"seconds\">%.1f</dd></div>\n",
			tapir_member__text(s, "id"), tapir_member__text(s, "state"),
			tapir_member__text(s, "state"), tapir_member__f64(s, "seconds"));
	add_figure(out, s, "events", tapir_human__add_count);
	add_figure(out, s, "samples", tapir_human__add_count);
	add_figure(out, s, "switches", tapir_human__add_count);
	add_figure(out, s, "lost", tapir_human__add_count);
	add_figure(out, s, "bytes", tapir_human__add_bytes);
	tapir_str__adds(out, "</dl>\n");
}

static void add_title(const json_t *s, char *title, size_t size)
{
	const char *name = tapir_member__text(s, "name");

	snprintf(title, size, "Recording of %s%s%s%s", name, *name ? " (" : "",
		 tapir_member__text(s, "target"), *name ? ")" : "");
}

void tapir_page__session(struct tapir_str *out, const json_t *caller,
			 const struct tapir_page_results *results)
{
	const json_t *s = results->session;
	const char *error = tapir_member__text(s, "error");
	char title[160];
	const struct tapir_page_frame frame = {.title = title,
					       .here = "/sessions",
					       .caller = caller,
					       .refresh_s = is_running(s) ? 2 : 0};

	add_title(s, title, sizeof(title));
	tapir_page__begin(out, &frame);
	tapir_str__adds(out, "<p class=\"facts\"><span>started ");
	tapir_html__add_utc(out, s, "created");
	tapir_str__adds(out, " UTC</span>");
	if (*tapir_member__text(s, "owner"))
		tapir_html__add(out, " <span>by %s</span>", tapir_member__text(s, "owner"));
	if (tapir_member__u64(s, "pid"))
		tapir_html__add(out, " <span><a href=\"/processes/%llu\">process %llu</a></span>",
				(unsigned long long)tapir_member__u64(s, "pid"),
				(unsigned long long)tapir_member__u64(s, "pid"));
	tapir_str__adds(out, "</p>\n");
	if (*error)
		tapir_html__add(out, "<p class=\"error\">%s</p>\n", error);
	add_counts(out, s);
	add_actions(out, caller, s);
	/* Findings exist where the trace could be read, which a flame graph requires as well. */
	if (results->findings)
		tapir_html__add(out,
				"<p><a class=\"button\" href=\"/sessions/%s/flamegraph\">Flame "
				"graph</a></p>\n",
				tapir_member__text(s, "id"));
	tapir_page__add_findings(out, results);
	tapir_page__add_results(out, results);
	tapir_page__end(out);
}

void tapir_page__flamegraph(struct tapir_str *out, const json_t *caller, const json_t *s)
{
	char title[160];
	const struct tapir_page_frame frame = {
		.title = title, .here = "/sessions", .caller = caller};

	add_title(s, title, sizeof(title));
	tapir_page__begin(out, &frame);
	tapir_html__add(out,
			"<p class=\"actions\"><a href=\"/sessions/%s\">Back to the recording</a> "
			"<a href=\"/sessions/%s/flamegraph.svg\">The picture alone</a></p>\n"
			"<iframe class=\"flamegraph\" sandbox=\"allow-scripts\" title=\"Flame "
			"graph\" src=\"/sessions/%s/flamegraph.svg?frame=1\"></iframe>\n",
			tapir_member__text(s, "id"), tapir_member__text(s, "id"),
			tapir_member__text(s, "id"));
	tapir_page__end(out);
}
