// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page of a recording: findings first, then a section for each view that found something. It
 * works without scripts: what opens is <details>.
 */
#include <math.h>
#include <string.h>

#include "agent/pages/pages_impl.h"

#define MAX_FRAMES 64

/* ---- pieces --------------------------------------------------------------------------------- */

static void begin_section(struct tapir_str *out, const char *id, const char *title,
			  const json_t *view)
{
	tapir_html__add(out, "<section id=\"%s\"><h2>%s</h2>\n<p>%s</p>\n", id, title,
			tapir_member__text(view, "headline"));
}

static bool has_note(const json_t *view, const char *text)
{
	const json_t *note;
	size_t i;

	json_array_foreach(json_object_get(view, "notes"), i, note)
	{
		const char *other = json_string_value(note);

		if (other && !strcmp(other, text))
			return true;
	}
	return false;
}

/* Notes of the CPU view are those of the whole recording as a rule: others leave them to it. */
static void end_section(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	const json_t *note;
	size_t i;

	json_array_foreach(json_object_get(view, "notes"), i, note)
	{
		const char *text = json_string_value(note);

		if (text && (view == cpu || !has_note(cpu, text)))
			tapir_html__add(out, "<p class=\"soft\">%s</p>\n", text);
	}
	tapir_str__adds(out, "</section>\n");
}

static void add_result_stack(struct tapir_str *out, const json_t *frames)
{
	const json_t *frame;
	size_t i;

	tapir_str__adds(out, "<ol class=\"stack\">");
	json_array_foreach(frames, i, frame)
	{
		if (i == MAX_FRAMES)
			break;
		tapir_html__add(out, "<li>%s</li>", json_string_value(frame));
	}
	tapir_str__adds(out, "</ol>\n");
}

/* "17.7% sleeping: socket, 12 times", which opens. */
static void begin_share(struct tapir_str *out, const json_t *of, const char *kind, const char *more)
{
	const char *text = tapir_member__text(of, more);

	tapir_html__add(out, "<details><summary>%.1f%% %s%s%s, ", tapir_member__f64(of, "percent"),
			tapir_member__text(of, kind), *text ? ": " : "", text);
	tapir_html__add_times(out, of, "count");
	tapir_str__adds(out, "</summary>\n");
}

/* ---- sections ------------------------------------------------------------------------------- */

/* Returns true if the page has a section for a view, to which a finding can lead. */
static bool is_section(const char *view)
{
#define NAME(name) #name,
	static const char *const names[] = {TAPIR_PAGE_VIEWS(NAME)};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], view))
			return true;
	return false;
}

/* Returns the class of a finding's first line, "1  lock contention  critical"; NULL: of others. */
static const char *class_of(const char *line, size_t len)
{
	static const struct {
		const char *level, *class;
	} levels[] = {
		{"critical", "high"}, {"serious", "medium"}, {"moderate", "low"}, {"minor", "low"}};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		size_t of = strlen(levels[i].level);

		if (line[0] >= '1' && line[0] <= '9' && len > of &&
		    !memcmp(line + len - of, levels[i].level, of))
			return levels[i].class;
	}
	return NULL;
}

/* The view that comes next is a section of the recording's page. */
static void add_next(struct tapir_str *out, const char *line, size_t len, const char *session)
{
	static const char option[] = " view ";
	const char *at = memmem(line, len, option, sizeof(option) - 1);
	char view[32] = "";

	if (at)
		snprintf(view, sizeof(view), "%.*s",
			 (int)(len - (size_t)(at - line) - (sizeof(option) - 1)),
			 at + sizeof(option) - 1);
	if (is_section(view))
		tapir_html__add(out, "   next: <a href=\"/sessions/%s#%s\">%s</a>\n", session, view,
				view);
}

static void add_line(struct tapir_str *out, const char *line, size_t len, const char *class)
{
	if (class)
		tapir_html__add(out, "<strong class=\"%s\">", class);
	tapir_str__add_markup(out, line, len);
	tapir_str__adds(out, class ? "</strong>\n" : "\n");
}

/* The first screen as `tapir report` shows it, in the words of the agent. */
static void add_first_screen(struct tapir_str *out, const char *text, const char *session)
{
	for (size_t len; *text; text += len + (text[len] == '\n')) {
		const char *class;

		len = strcspn(text, "\n");
		class = class_of(text, len);
		if (!strncmp(text, "   next: ", 9))
			add_next(out, text, len, session);
		else
			add_line(out, text, len, class);
	}
}

static void add_findings(struct tapir_str *out, const struct tapir_page_results *r)
{
	tapir_str__adds(out, "<section id=\"findings\"><h2>Findings</h2>\n<pre class=\"screen\" "
			     "tabindex=\"0\">");
	add_first_screen(out, tapir_member__text(r->findings, "first_screen"),
			 tapir_member__text(r->session, "id"));
	tapir_str__adds(out, "</pre>\n</section>\n");
}

/* Returns true for counters of a .NET runtime that are shown first. */
static bool is_key_counter(const json_t *c)
{
	static const char *const names[] = {"cpu-usage",
					    "working-set",
					    "gc-heap-size",
					    "alloc-rate",
					    "time-in-gc",
					    "gen-2-gc-count",
					    "exception-count",
					    "monitor-lock-contention-count",
					    "threadpool-thread-count",
					    "threadpool-queue-length"};

	if (!tapir_member__is(c, "provider", "System.Runtime"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (tapir_member__is(c, "name", names[i]))
			return true;
	return false;
}

/* "96% HTTP in Shop.Ask (async)": the part with most of the time of a route. */
static void add_largest_part(struct tapir_str *out, const json_t *route)
{
	const json_t *part, *top = NULL;
	size_t i;

	json_array_foreach(json_object_get(route, "parts"), i, part)
	{
		if (!top || tapir_member__u64(part, "ns") > tapir_member__u64(top, "ns"))
			top = part;
	}
	if (top)
		tapir_html__add(out, "<td>%.0f%% %s</td>", tapir_member__f64(top, "percent"),
				tapir_member__text(top, "part"));
	else
		tapir_str__adds(out, "<td></td>");
}

static void add_requests(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	const json_t *route;
	size_t i;

	begin_section(out, "requests", "Requests", view);
	tapir_html__begin_table(out, NULL, ">Count|>Median|>99%|>Slowest|Route|Most of the time");
	json_array_foreach(json_object_get(view, "routes"), i, route)
	{
		tapir_str__adds(out, "<tr>");
		tapir_html__cell_count(out, route, "count");
		tapir_html__cell_ns(out, route, "p50_ns");
		tapir_html__cell_ns(out, route, "p99_ns");
		tapir_html__cell_ns(out, route, "max_ns");
		tapir_html__cell(out, route, "route");
		add_largest_part(out, route);
		tapir_str__adds(out, "</tr>\n");
	}
	tapir_html__end_table(out);
	end_section(out, view, cpu);
}

static void add_counter_chart(struct tapir_str *out, const json_t *c)
{
	tapir_str__adds(out, "<tr>");
	tapir_page__add_counter_cells(out, c);
	tapir_html__cell(out, c, "least");
	tapir_html__cell(out, c, "most");
	tapir_str__adds(out, "</tr>\n");
}

static void add_counter_table(struct tapir_str *out, const json_t *counters, bool is_key)
{
	const json_t *c;
	size_t i;

	tapir_html__begin_table(out, NULL, "Counter|>Last|Unit|Over time|>Least|>Most");
	json_array_foreach(counters, i, c) if (is_key_counter(c) == is_key)
		add_counter_chart(out, c);
	tapir_html__end_table(out);
}

static void add_counters(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	const json_t *counters = json_object_get(view, "counters"), *c;
	size_t i, key_cnt = 0;

	begin_section(out, "counters", "Counters", view);
	json_array_foreach(counters, i, c) key_cnt += is_key_counter(c);
	if (key_cnt)
		add_counter_table(out, counters, true);
	if (key_cnt)
		tapir_html__add(out, "<details><summary>%u further counters</summary>\n",
				(unsigned)(json_array_size(counters) - key_cnt));
	add_counter_table(out, counters, false);
	if (key_cnt)
		tapir_str__adds(out, "</details>\n");
	end_section(out, view, cpu);
}

static void add_gc(struct tapir_str *out, const json_t *view, const json_t *session,
		   const json_t *cpu)
{
	const json_t *pauses = json_object_get(view, "pauses"), *p;
	double seconds = tapir_member__f64(session, "seconds");
	uint64_t duration_ns = seconds > 0 && seconds < 1e9 ? (uint64_t)llround(seconds * 1e9) : 0;
	size_t i;

	begin_section(out, "gc", "Garbage collection", view);
	if (json_array_size(pauses)) {
		tapir_chart__add_pauses(out, pauses, duration_ns);
		tapir_html__begin_table(out, NULL, ">Pause|>At|What|Reason|>Heap after|>Promoted");
	}
	json_array_foreach(pauses, i, p)
	{
		if (i == 10) /* the longest; all are in the chart */
			break;
		tapir_str__adds(out, "<tr>");
		tapir_html__cell_ns(out, p, "ns");
		tapir_html__cell_ns(out, p, "at_ns");
		tapir_html__cell(out, p, "what");
		tapir_html__cell(out, p, "reason");
		tapir_html__cell_bytes(out, p, "after_bytes");
		tapir_html__cell_bytes(out, p, "promoted_bytes");
		tapir_str__adds(out, "</tr>\n");
	}
	if (json_array_size(pauses))
		tapir_html__end_table(out);
	end_section(out, view, cpu);
}

static void add_jit(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	const json_t *groups = json_object_get(view, "groups"), *g;
	size_t i;

	begin_section(out, "jit", "JIT compiler", view);
	if (json_array_size(groups)) {
		tapir_html__begin_table(out, NULL, "Method|>Compiled|>Bytes|Asked for by");
		json_array_foreach(groups, i, g)
		{
			tapir_str__adds(out, "<tr>");
			tapir_html__cell(out, g, "name");
			tapir_html__cell_count(out, g, "count");
			tapir_html__cell_bytes(out, g, "bytes");
			tapir_html__cell(out, g, "asker");
			tapir_str__adds(out, "</tr>\n");
		}
		tapir_html__end_table(out);
	}
	end_section(out, view, cpu);
}

static void add_exception(struct tapir_str *out, const json_t *e)
{
	const json_t *m, *s;
	size_t i;

	tapir_html__add(out, "<details><summary>%.1f%% %s, ", tapir_member__f64(e, "percent"),
			tapir_member__text(e, "type"));
	tapir_html__add_times(out, e, "count");
	tapir_str__adds(out, "</summary>\n");
	json_array_foreach(json_object_get(e, "messages"), i, m)
		tapir_html__add(out, "<p>%llu \xc3\x97 <q>%s</q></p>\n",
				(unsigned long long)tapir_member__u64(m, "count"),
				tapir_member__text(m, "message"));
	json_array_foreach(json_object_get(e, "stacks"), i, s)
		add_result_stack(out, json_object_get(s, "stack"));
	tapir_str__adds(out, "</details>\n");
}

static void add_exceptions(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	const json_t *e;
	size_t i;

	begin_section(out, "exceptions", "Exceptions", view);
	json_array_foreach(json_object_get(view, "exceptions"), i, e) add_exception(out, e);
	end_section(out, view, cpu);
}

static void add_waiter(struct tapir_str *out, const json_t *w)
{
	const char *by = tapir_member__text(w, "held_by");

	tapir_html__add(out, "<p>%llu \xc3\x97 %s%s</p>\n",
			(unsigned long long)tapir_member__u64(w, "count"),
			*by ? "held by " : "waited", by);
	add_result_stack(out, json_object_get(w, "stack"));
}

static void add_contention(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	const json_t *lock, *w;
	size_t i, k;

	begin_section(out, "contention", "Lock contention", view);
	json_array_foreach(json_object_get(view, "locks"), i, lock)
	{
		begin_share(out, lock, "kind", "label");
		json_array_foreach(json_object_get(lock, "waiters"), k, w) add_waiter(out, w);
		tapir_str__adds(out, "</details>\n");
	}
	end_section(out, view, cpu);
}

static void add_threadpool(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	begin_section(out, "threadpool", "Thread pool", view);
	if (tapir_member__u64(view, "queued") || tapir_member__u64(view, "most_workers")) {
		tapir_html__begin_table(
			out, NULL,
			">Most workers|>Work items|>Queued 50%|>Queued 99%|>Queued, longest");
		tapir_str__adds(out, "<tr>");
		tapir_html__cell_count(out, view, "most_workers");
		tapir_html__cell_count(out, view, "queued");
		tapir_html__cell_ns(out, view, "queued_p50_ns");
		tapir_html__cell_ns(out, view, "queued_p99_ns");
		tapir_html__cell_ns(out, view, "queued_worst_ns");
		tapir_str__adds(out, "</tr>\n");
		tapir_html__end_table(out);
	}
	end_section(out, view, cpu);
}

static void add_offcpu(struct tapir_str *out, const json_t *view, const json_t *cpu)
{
	const json_t *wait;
	size_t i;

	begin_section(out, "offcpu", "Waiting", view);
	json_array_foreach(json_object_get(view, "waits"), i, wait)
	{
		begin_share(out, wait, "state", "reason");
		add_result_stack(out, json_object_get(wait, "stack"));
		tapir_str__adds(out, "</details>\n");
	}
	end_section(out, view, cpu);
}

static void add_cpu(struct tapir_str *out, const json_t *view)
{
	const json_t *f;
	size_t i;

	begin_section(out, "cpu", "CPU", view);
	tapir_html__begin_table(out, NULL, ">Self %|>Total %|Kind|Function");
	json_array_foreach(json_object_get(view, "functions"), i, f)
	{
		tapir_html__add(out, "<tr><td class=\"n\">%.1f</td><td class=\"n\">%.1f</td>",
				tapir_member__f64(f, "self_percent"),
				tapir_member__f64(f, "total_percent"));
		tapir_html__cell(out, f, "kind");
		tapir_html__cell(out, f, "function");
		tapir_str__adds(out, "</tr>\n");
	}
	tapir_html__end_table(out);
	end_section(out, view, view);
}

void tapir_page__add_findings(struct tapir_str *out, const struct tapir_page_results *r)
{
	if (r->findings)
		add_findings(out, r);
}

/* NULL for what has no section: its events were not recorded, or the runtime has none. */
static const json_t *recorded(const json_t *view)
{
	return json_is_false(json_object_get(view, "recorded")) ? NULL : view;
}

/* Adds the remarks of views that have no section. */
static void add_unrecorded(struct tapir_str *out, const struct tapir_page_results *r)
{
	const json_t *const views[] = {r->gc,	      r->jit,	     r->contention,
				       r->exceptions, r->threadpool, r->offcpu};
	bool has_started = false;

	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (!views[i] || recorded(views[i]))
			continue;
		if (!has_started)
			tapir_str__adds(out, "<section><h2>Not recorded</h2>\n<ul>\n");
		has_started = true;
		tapir_html__add(out, "<li>%s</li>\n", tapir_member__text(views[i], "headline"));
	}
	if (has_started)
		tapir_str__adds(out, "</ul></section>\n");
}

void tapir_page__add_results(struct tapir_str *out, const struct tapir_page_results *r)
{
	if (r->requests && json_array_size(json_object_get(r->requests, "routes")))
		add_requests(out, r->requests, r->cpu);
	if (r->counters && json_array_size(json_object_get(r->counters, "counters")))
		add_counters(out, r->counters, r->cpu);
	if (recorded(r->gc))
		add_gc(out, r->gc, r->session, r->cpu);
	if (recorded(r->jit))
		add_jit(out, r->jit, r->cpu);
	if (recorded(r->contention))
		add_contention(out, r->contention, r->cpu);
	if (recorded(r->exceptions))
		add_exceptions(out, r->exceptions, r->cpu);
	if (recorded(r->threadpool))
		add_threadpool(out, r->threadpool, r->cpu);
	if (recorded(r->offcpu))
		add_offcpu(out, r->offcpu, r->cpu);
	if (r->cpu)
		add_cpu(out, r->cpu);
	add_unrecorded(out, r);
}
