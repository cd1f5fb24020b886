// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of processes, and one of them: what was found, what can be recorded, and a form for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pages/pages_impl.h"
#include "decode/profiles.h"

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
	if (*f->sort)
		tapir_html__add(out, "<input type=\"hidden\" name=\"sort\" value=\"%s\">\n",
				f->sort);
	tapir_html__add(
		out,
		"<label class=\"check\"><input type=\"checkbox\" name=\"all\" value=\"1\"%s> "
		"All processes</label>\n<button>Filter</button>\n</form>\n",
		f->all ? " checked" : "");
}

/* Columns, and the members that they are sorted by: numbers with the greatest first, or texts. */
static const struct column {
	const char *key, *title, *member;
	bool is_number;
} columns[] = {
	{"pid", "PID", "pid", true},
	{"name", "Name", "name", false},
	{"cpu", "CPUs", "cpus", true},
	{"memory", "Memory", "resident_bytes", true},
	{"age", "Age", "started", true},
	{"runtime", "Runtime", "runtime", false},
	{"", "Version", NULL, false},
	{"user", "User", "user", false},
	{"container", "Container", "container", false},
	{"", "Emits", NULL, false},
	{"probes", "Probes", "probes", true},
};

static const struct column *column_of(const char *key)
{
	for (size_t i = 0; *key && i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(columns[i].key, key))
			return &columns[i];
	return NULL;
}

struct sorted {
	const json_t *process;
	size_t at; /* position in the list, which decides between equals */
};

static int compare_process_rows(const void *a, const void *b, void *ctx)
{
	const struct sorted *x = a, *y = b;
	const struct column *c = ctx;
	double of_x = tapir_member__f64(x->process, c->member);
	double of_y = tapir_member__f64(y->process, c->member);
	int order = c->is_number ? (of_x < of_y) - (of_x > of_y)
				 : strcmp(tapir_member__text(x->process, c->member),
					  tapir_member__text(y->process, c->member));

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* Returns the rows in their order, which the caller frees; NULL: there are none. */
static struct sorted *sort_processes(const json_t *list, const struct column *by)
{
	size_t cnt = json_array_size(list);
	struct sorted *rows = cnt ? calloc(cnt, sizeof(*rows)) : NULL;

	for (size_t i = 0; rows && i < cnt; i++)
		rows[i] = (struct sorted){json_array_get(list, i), i};
	if (rows && by)
		qsort_r(rows, cnt, sizeof(*rows), compare_process_rows, (void *)by);
	return rows;
}

static void add_process_value(struct tapir_str *out, const char *name, const char *value)
{
	if (!*value)
		return;
	tapir_str__addf(out, "%s%s=", out->data[out->len - 1] == '?' ? "" : "&amp;", name);
	for (const char *p = value; *p; p++)
		if (strchr("-._~*", *p) || (*p >= '0' && *p <= '9') ||
		    ((*p | 32) >= 'a' && (*p | 32) <= 'z'))
			tapir_str__addc(out, *p);
		else
			tapir_str__addf(out, "%%%02x", (unsigned char)*p);
}

/* Adds the address of the list with the same filter. */
static void add_address(struct tapir_str *out, const struct tapir_page_filter *f, const char *sort,
			uint64_t page)
{
	char number[24] = "";

	if (page)
		snprintf(number, sizeof(number), "%llu", (unsigned long long)page);
	tapir_str__adds(out, "/?");
	add_process_value(out, "name", f->name);
	add_process_value(out, "runtime", f->runtime);
	add_process_value(out, "user", f->user);
	add_process_value(out, "container", f->container);
	add_process_value(out, "all", f->all ? "1" : "");
	add_process_value(out, "sort", sort);
	add_process_value(out, "page", number);
}

static void begin_list(struct tapir_str *out, const struct tapir_page_filter *f,
		       const struct column *by)
{
	tapir_str__adds(out, "<div class=\"wide\"><table>\n<thead><tr>");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const struct column *c = &columns[i];

		tapir_str__adds(out, c->is_number ? "<th class=\"n\"" : "<th");
		if (c == by)
			tapir_str__adds(out, by->is_number ? " aria-sort=\"descending\""
							   : " aria-sort=\"ascending\"");
		tapir_str__addc(out, '>');
		if (*c->key) {
			tapir_str__adds(out, "<a href=\"");
			add_address(out, f, c->key, 0);
			tapir_html__add(out, "\">%s</a></th>", c->title);
		} else {
			tapir_html__add(out, "%s</th>", c->title);
		}
	}
	tapir_str__adds(out, "</tr></thead>\n<tbody>\n");
}

/* "12 s", "5 min", "3 h", "21 d" */
static void add_age(struct tapir_str *out, const json_t *p, uint64_t now_ms)
{
	static const struct {
		uint64_t s;
		const char *name;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	uint64_t started_ms = tapir_member__u64(p, "started"), age_s;
	size_t i = 0;

	if (!started_ms || now_ms < started_ms)
		return;
	age_s = (now_ms - started_ms) / 1000;
	while (i < 3 && age_s < 2 * units[i].s)
		i++;
	tapir_html__add(out, "%llu %s", (unsigned long long)(age_s / units[i].s), units[i].name);
}

static void add_process_row(struct tapir_str *out, const json_t *p, uint64_t now_ms)
{
	const char *container = tapir_member__text(p, "container");
	const char *container_name = tapir_member__text(p, "container_name");
	const char *service = tapir_member__text(p, "service");

	tapir_html__add(
		out,
		"<tr><td class=\"n\">%llu</td><td><a href=\"/processes/%llu?started=%llu\">%s</a>"
		"%s%s%s</td>",
		(unsigned long long)tapir_member__u64(p, "pid"),
		(unsigned long long)tapir_member__u64(p, "pid"),
		(unsigned long long)tapir_member__u64(p, "started"), tapir_member__text(p, "name"),
		*service ? " (" : "", service, *service ? ")" : "");
	tapir_html__cell(out, p, "cpus");
	tapir_html__cell_bytes(out, p, "resident_bytes");
	tapir_str__adds(out, "<td class=\"n\">");
	add_age(out, p, now_ms);
	tapir_html__add(out, "</td><td>%s</td><td>%s</td><td>%s</td><td title=\"%s\">",
			tapir_member__text(p, "runtime"), tapir_member__text(p, "version"),
			tapir_member__text(p, "user"), container);
	/* An id is shown by its first 12 digits, as container runtimes do; the tooltip has all. */
	if (*container_name)
		tapir_html__add(out, "%s", container_name);
	else
		tapir_str__add_markup(out, container, strnlen(container, 12));
	tapir_html__add(out, "</td><td>%s%s</td><td class=\"n\">%llu</td></tr>\n",
			tapir_member__is_true(p, "events") ? "events" : "",
			tapir_member__is_true(p, "rings") ? " rings" : "",
			(unsigned long long)tapir_member__u64(p, "probes"));
}

static void add_page_link(struct tapir_str *out, const struct tapir_page_filter *f, uint64_t page,
			  const char *title)
{
	tapir_str__adds(out, " \xc2\xb7 <a href=\"");
	add_address(out, f, f->sort, page);
	tapir_html__add(out, "\">%s</a>", title);
}

/* Adds "Rows 51 to 100 of 321", with links to the pages before and after. */
static void add_pager(struct tapir_str *out, const struct tapir_page_filter *f, size_t first,
		      size_t cnt)
{
	uint64_t page = first / TAPIR_PAGE_ROWS + 1;
	size_t last = first + TAPIR_PAGE_ROWS < cnt ? first + TAPIR_PAGE_ROWS : cnt;

	if (cnt <= TAPIR_PAGE_ROWS)
		return;
	tapir_html__add(out, "<p>Rows %u to %u of %u", (unsigned)first + 1, (unsigned)last,
			(unsigned)cnt);
	if (first)
		add_page_link(out, f, page - 1, "Previous");
	if (last < cnt)
		add_page_link(out, f, page + 1, "Next");
	tapir_str__adds(out, "</p>\n");
}

void tapir_page__processes(struct tapir_str *out, const json_t *caller, const json_t *processes,
			   const struct tapir_page_filter *filter)
{
	const struct tapir_page_frame frame = {.title = "Processes", .here = "/", .caller = caller};
	const json_t *list = json_object_get(processes, "processes");
	const struct column *by = column_of(filter->sort);
	struct sorted *rows = sort_processes(list, by);
	size_t cnt = rows ? json_array_size(list) : 0;
	size_t last_page = cnt ? (cnt - 1) / TAPIR_PAGE_ROWS : 0;
	size_t page = filter->page ? filter->page - 1 : 0;
	size_t first = (page < last_page ? page : last_page) * TAPIR_PAGE_ROWS;

	tapir_page__begin(out, &frame);
	add_filter(out, filter);
	if (!cnt)
		tapir_str__adds(out, "<p>No process that matches has events or probes. \"All "
				     "processes\" lists the others, too.</p>\n");
	begin_list(out, filter, by);
	for (size_t i = first; i < cnt && i < first + TAPIR_PAGE_ROWS; i++)
		add_process_row(out, rows[i].process, filter->now_ms);
	tapir_html__end_table(out);
	add_pager(out, filter, first, cnt);
	tapir_page__end(out);
	free(rows);
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

static void add_profiles(struct tapir_str *out)
{
	const struct tapir_profile *profile;

	tapir_str__adds(out, "<fieldset><legend>Events</legend>\n");
	for (size_t i = 0; (profile = tapir_profile__at(i)); i++)
		if (profile->choice != TAPIR_PROFILE_BY_NAME)
			tapir_html__add(out,
					"<label class=\"check\"><input type=\"checkbox\" "
					"name=\"profile\" value=\"%s\"%s> %s: %s%s</label>\n",
					profile->name,
					profile->choice == TAPIR_PROFILE_CHECKED ? " checked" : "",
					profile->name, profile->description,
					profile->may_be_slow ? " (which slows the program)" : "");
	tapir_str__adds(out, "</fieldset>\n");
}

static void add_form(struct tapir_str *out, const json_t *caller, const json_t *p)
{
	bool is_dotnet = tapir_member__is(p, "runtime", ".NET");

	tapir_html__add(out,
			"<section id=\"record\"><h2>Record</h2>\n<form class=\"card\" "
			"method=\"post\" action=\"/processes/%llu/record\">\n",
			(unsigned long long)tapir_member__u64(p, "pid"));
	tapir_page__add_csrf(out, caller);
	tapir_html__add(out,
			"<input type=\"hidden\" name=\"started\" value=\"%llu\">\n"
			"<label>Seconds <input name=\"seconds\" type=\"number\" min=\"1\" "
			"max=\"86400\" value=\"10\" required></label>\n",
			(unsigned long long)tapir_member__u64(p, "started"));
	add_profiles(out);
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

void tapir_page__process(struct tapir_str *out, const json_t *caller, const json_t *process,
			 const json_t *sessions, const struct tapir_page_results *results)
{
	const struct tapir_page_frame frame = {.title = tapir_member__text(process, "name"),
					       .here = "",
					       .caller = caller,
					       .has_charts = true};
	bool may_profile = tapir_page__may_profile(caller);

	tapir_page__begin(out, &frame);
	add_facts(out, process);
	/* A button that would answer 403 is not shown; the agent judges each request by itself. */
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
		add_form(out, caller, process);
	if (json_array_size(sessions)) {
		tapir_str__adds(out, "<section><h2>Sessions</h2>\n");
		tapir_page__add_sessions(out, caller, sessions);
		tapir_str__adds(out, "</section>\n");
	}
	add_checks(out, process);
	tapir_page__end(out);
}
