// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of processes, and one of them: what was found, what can be recorded, and a form for it.
 */
#include <stdio.h>
#include <string.h>

#include "agent/pages/pages_impl.h"

/* ---- the list ------------------------------------------------------------------------------- */

static void add_field(struct tapir_str *out, const char *name, const char *label, const char *value)
{
	tapir_html__add(out,
			"<label>%s <input name=\"%s\" value=\"%s\" size=\"12\" "
			"autocapitalize=\"off\" spellcheck=\"false\"></label>\n",
			label, name, value);
}

static void add_filter(struct tapir_str *out, const struct tapir_page_filter *f)
{
	tapir_str__adds(out,
			"<form class=\"filter\" method=\"get\" action=\"/\" role=\"search\">\n");
	add_field(out, "name", "Name", f->name);
	add_field(out, "runtime", "Runtime", f->runtime);
	add_field(out, "user", "User", f->user);
	add_field(out, "container", "Container", f->container);
	tapir_html__add(
		out,
		"<label class=\"check\"><input type=\"checkbox\" name=\"all\" value=\"1\"%s> "
		"All processes</label>\n<button>Filter</button>\n</form>\n",
		f->all ? " checked" : "");
}

static void add_process(struct tapir_str *out, const json_t *p)
{
	const char *container = tapir_member__text(p, "container");
	const char *service = tapir_member__text(p, "service");

	tapir_html__add(
		out,
		"<tr><td class=\"n\">%llu</td><td><a href=\"/processes/%llu?started=%llu\">%s</a>"
		"%s%s%s</td><td>%s</td><td>%s</td><td>%s</td><td title=\"%s\">",
		(unsigned long long)tapir_member__u64(p, "pid"),
		(unsigned long long)tapir_member__u64(p, "pid"),
		(unsigned long long)tapir_member__u64(p, "started"), tapir_member__text(p, "name"),
		*service ? " (" : "", service, *service ? ")" : "",
		tapir_member__text(p, "runtime"), tapir_member__text(p, "version"),
		tapir_member__text(p, "user"), container);
	tapir_str__add_markup(out, container, strnlen(container, 12));
	tapir_html__add(out, "</td><td>%s%s</td><td class=\"n\">%llu</td></tr>\n",
			tapir_member__is_true(p, "events") ? "events" : "",
			tapir_member__is_true(p, "rings") ? " rings" : "",
			(unsigned long long)tapir_member__u64(p, "probes"));
}

void tapir_page__processes(struct tapir_str *out, const json_t *who, const json_t *processes,
			   const struct tapir_page_filter *filter)
{
	const struct tapir_page_frame frame = {.title = "Processes", .here = "/", .who = who};
	const json_t *list = json_object_get(processes, "processes"), *p;
	size_t i;

	tapir_page__begin(out, &frame);
	add_filter(out, filter);
	if (!json_array_size(list))
		tapir_str__adds(out, "<p>No process that matches has events or probes. \"All "
				     "processes\" lists the others, too.</p>\n");
	tapir_html__begin_table(out, NULL,
				">PID|Name|Runtime|Version|User|Container|Emits|>Probes");
	json_array_foreach(list, i, p) add_process(out, p);
	tapir_html__end_table(out);
	tapir_page__end(out);
}

/* ---- one ------------------------------------------------------------------------------------ */

static void add_facts(struct tapir_str *out, const json_t *p)
{
	const char *container = tapir_member__text(p, "container");

	tapir_html__add(out,
			"<p class=\"facts\"><span>pid %llu</span> <span>%s %s</span> "
			"<span>user %s</span>",
			(unsigned long long)tapir_member__u64(p, "pid"),
			tapir_member__text(p, "runtime"), tapir_member__text(p, "version"),
			tapir_member__text(p, "user"));
	if (*tapir_member__text(p, "service"))
		tapir_html__add(out, " <span>service %s</span>", tapir_member__text(p, "service"));
	if (*container)
		tapir_html__add(out, " <span>container %s</span>", container);
	tapir_str__adds(out, "</p>\n");
}

static void add_purposes(struct tapir_str *out, bool is_dotnet)
{
	static const struct {
		const char *name, *label;
		bool is_on;
	} purposes[] = {
		{"default", "default of the runtime", true},
		{"gc", "garbage collection", true},
		{"exceptions", "exceptions", true},
		{"contention", "lock contention", true},
		{"threadpool", "thread pool", true},
		{"allocations", "allocations", false},
		{"http", "HTTP requests", false},
	};

	tapir_str__adds(out, "<fieldset><legend>Events</legend>\n");
	for (size_t i = 0; i < sizeof(purposes) / sizeof(purposes[0]); i++)
		tapir_html__add(out,
				"<label class=\"check\"><input type=\"checkbox\" name=\"profile\" "
				"value=\"%s\"%s> %s</label>\n",
				purposes[i].name, purposes[i].is_on ? " checked" : "",
				strcmp(purposes[i].name, "allocations") != 0 || is_dotnet
					? purposes[i].label
					: "allocations (every object: slows the program)");
	tapir_str__adds(out, "</fieldset>\n");
}

static void add_form(struct tapir_str *out, const json_t *who, const json_t *p)
{
	bool is_dotnet = tapir_member__is(p, "runtime", ".NET");

	tapir_html__add(out,
			"<section id=\"record\"><h2>Record</h2>\n<form class=\"card\" "
			"method=\"post\" action=\"/processes/%llu/record\">\n",
			(unsigned long long)tapir_member__u64(p, "pid"));
	tapir_page__add_csrf(out, who);
	tapir_html__add(out,
			"<input type=\"hidden\" name=\"started\" value=\"%llu\">\n"
			"<label>Seconds <input name=\"seconds\" type=\"number\" min=\"1\" "
			"max=\"86400\" value=\"10\" required></label>\n",
			(unsigned long long)tapir_member__u64(p, "started"));
	add_purposes(out, is_dotnet);
	if (is_dotnet)
		tapir_str__adds(out,
				"<label class=\"check\"><input type=\"checkbox\" "
				"name=\"counters\" value=\"System.Runtime\" checked> counters of "
				"the runtime</label>\n");
	tapir_str__adds(out,
			"<label>Further events (SPEC) <input name=\"events\" "
			"placeholder=\"MyCompany-*\" autocapitalize=\"off\" "
			"spellcheck=\"false\"></label>\n"
			"<button class=\"main\">Start recording</button>\n</form></section>\n");
}

static void add_live(struct tapir_str *out, const json_t *p)
{
	if (!tapir_member__is(p, "runtime", ".NET") || json_object_get(p, "watched"))
		return;
	tapir_html__add(out,
			"<section id=\"live\" data-pid=\"%llu\" data-started=\"%llu\" hidden>"
			"<h2>Counters now</h2>\n<p><button type=\"button\">Watch</button> "
			"<output class=\"soft\" role=\"status\"></output></p>\n"
			"<div class=\"charts\"></div>\n</section>\n",
			(unsigned long long)tapir_member__u64(p, "pid"),
			(unsigned long long)tapir_member__u64(p, "started"));
}

static void add_checks(struct tapir_str *out, const json_t *p)
{
	const json_t *checks = json_object_get(p, "checks"), *c;
	size_t i, missing = 0;

	json_array_foreach(checks, i, c) missing += !tapir_member__is(c, "state", "ok");
	tapir_html__add(out,
			"<section><h2>What can be recorded</h2>\n<details><summary>%s; %u of "
			"%u checks found something missing</summary>\n",
			tapir_member__is_true(p, "can_record") ? "It can be recorded"
							       : "It cannot be recorded",
			(unsigned)missing, (unsigned)json_array_size(checks));
	tapir_html__begin_table(out, NULL, "Check|State|Found|Means|Remedy");
	json_array_foreach(checks, i, c) tapir_html__add(
		out, "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
		tapir_member__text(c, "name"), tapir_member__text(c, "state"),
		tapir_member__text(c, "found"), tapir_member__text(c, "means"),
		tapir_member__text(c, "remedy"));
	tapir_html__end_table(out);
	tapir_str__adds(out, "</details></section>\n");
}

static void add_latest(struct tapir_str *out, const struct tapir_page_results *results)
{
	const char *id = tapir_member__text(results->session, "id");

	tapir_str__adds(out, "<p class=\"soft\">From the recording of ");
	tapir_html__add_utc(out, results->session, "created");
	tapir_html__add(out,
			" UTC, %.1f s long: "
			"<a href=\"/sessions/%s\">its page</a> \xc2\xb7 "
			"<a href=\"/sessions/%s/flamegraph\">flame graph</a></p>\n",
			tapir_member__f64(results->session, "seconds"), id, id);
	tapir_page__add_findings(out, results);
}

void tapir_page__process(struct tapir_str *out, const json_t *who, const json_t *process,
			 const json_t *sessions, const struct tapir_page_results *results)
{
	const struct tapir_page_frame frame = {.title = tapir_member__text(process, "name"),
					       .here = "",
					       .who = who,
					       .has_charts = true};
	bool may_profile = tapir_page__may_profile(who);

	tapir_page__begin(out, &frame);
	add_facts(out, process);
	if (may_profile)
		tapir_html__add(
			out,
			"<p class=\"actions\"><a class=\"button\" href=\"#record\">Record"
			"</a> <a class=\"button\" href=\"/processes/%llu/stacks?started=%llu\">"
			"All stacks</a></p>\n",
			(unsigned long long)tapir_member__u64(process, "pid"),
			(unsigned long long)tapir_member__u64(process, "started"));
	if (results)
		add_latest(out, results);
	else
		tapir_str__adds(out, "<section><h2>Findings</h2>\n<p>Not known yet: record the "
				     "process for a few seconds.</p></section>\n");
	tapir_page__add_watched(out, process);
	if (may_profile)
		add_live(out, process);
	if (results)
		tapir_page__add_results(out, results);
	if (may_profile)
		add_form(out, who, process);
	if (json_array_size(sessions)) {
		tapir_str__adds(out, "<section><h2>Sessions</h2>\n");
		tapir_page__add_sessions(out, who, sessions);
		tapir_str__adds(out, "</section>\n");
	}
	add_checks(out, process);
	tapir_page__end(out);
}
