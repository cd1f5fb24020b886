// SPDX-License-Identifier: GPL-2.0-or-later
/* The report's words and columns. */
#include "cli/report_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/figures.h"
#include "cli/recording_file.h"
#include "cli/table.h"

#define ROWS_SHOWN   20
#define STACKS_SHOWN 10

uint64_t tapir_report__duration_ns(const struct tapir_report_view *v)
{
	uint64_t from_ns = v->stats->created_ns, until_ns = v->summary->last_ns;

	return until_ns > from_ns ? until_ns - from_ns : 0;
}

/* ---- text ------------------------------------------------------------------------------- */

static const char *plural(uint64_t cnt)
{
	return cnt == 1 ? "" : "s";
}

static void add_printable(struct tapir_str *out, const char *text)
{
	tapir_str__add_printable(out, text, strlen(text));
}

/* Of how many processes there are events; others are in the file as their parents. */
static size_t firing_processes(const struct tapir_summary *s)
{
	size_t cnt = 0;

	for (size_t i = 0; i < s->processes.cnt; i++)
		cnt += s->processes.data[i].events > 0;
	return cnt;
}

static void write_head(const struct tapir_report_view *v, const struct tapir_palette *p,
		       struct tapir_str *out)
{
	const char *kernel = tapir_summary__meta(v->summary, "kernel");
	const char *machine = tapir_summary__meta(v->summary, "machine");
	const char *host = tapir_summary__meta(v->summary, "host");
	const char *command = tapir_summary__meta(v->summary, "command");

	add_printable(out, v->path);
	tapir_str__adds(out, ": ");
	tapir_figure__add_duration(out, tapir_report__duration_ns(v));
	tapir_str__adds(out, " from ");
	tapir_figure__add_utc(out, v->stats->created_utc_ns);
	if (host || kernel || machine) {
		tapir_str__adds(out, "\nmachine: ");
		add_printable(out, host ? host : "?");
		tapir_str__adds(out, ", Linux ");
		add_printable(out, kernel ? kernel : "?");
		tapir_str__addc(out, ' ');
		add_printable(out, machine ? machine : "?");
	}
	if (command) {
		tapir_str__adds(out, "\ncommand: ");
		add_printable(out, command);
	}
	tapir_str__addc(out, '\n');
	if (tapir_recording_file__is_damaged(v->stats))
		tapir_str__addf(out, "%sdamaged%s: below is what could be read\n", p->red, p->off);
	else if (v->stats->cut)
		tapir_str__addf(out, "%sno end%s: below is what was written until then\n",
				p->yellow, p->off);
}

/* " (cpu-clock 999 Hz)" */
static void add_sampling(const struct tapir_summary *s, struct tapir_str *out)
{
	const char *event = tapir_summary__meta(s, "sample_event");
	const char *hz = tapir_summary__meta(s, "sample_hz");

	if (!event || !hz)
		return;
	tapir_str__adds(out, " (");
	add_printable(out, event);
	tapir_str__addc(out, ' ');
	add_printable(out, hz);
	tapir_str__adds(out, " Hz)");
}

static void write_totals(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	size_t process_cnt = firing_processes(s);
	uint64_t lost = 0;

	tapir_figure__add_count(out, s->event_cnt);
	tapir_str__addf(out, " event%s of %zu kind%s from %zu process%s, ", plural(s->event_cnt),
			s->events.cnt, plural(s->events.cnt), process_cnt,
			process_cnt == 1 ? "" : "es");
	if (s->sample_cnt) {
		tapir_figure__add_count(out, s->sample_cnt);
		tapir_str__addf(out, " CPU sample%s", plural(s->sample_cnt));
		add_sampling(s, out);
		tapir_str__adds(out, ", ");
	}
	if (s->switch_cnt) {
		tapir_figure__add_count(out, s->switch_cnt);
		tapir_str__addf(out, " switch%s, ", s->switch_cnt == 1 ? "" : "es");
	}
	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		lost += tapir_loss__is_whole(cause) ? s->lost[cause] : 0;
	tapir_figure__add_count(out, lost);
	tapir_str__adds(out, " lost\n");
}

static void write_losses(const struct tapir_report_view *v, const struct tapir_palette *p,
			 struct tapir_str *out)
{
	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++) {
		int kind = tapir_loss__kind(cause);
		bool whole;

		if (!v->summary->lost[cause] || kind == TAPIR_LOSS_KIND_INFO)
			continue;
		whole = tapir_loss__is_whole(cause);
		tapir_str__addf(out, "%s%s%s ", whole ? p->red : p->yellow,
				whole ? "lost" : "incomplete", p->off);
		tapir_figure__add_count(out, v->summary->lost[cause]);
		tapir_str__addf(out, ": %s\n", tapir_loss__text(cause));
	}
	for (size_t i = 0; i < v->summary->gaps.cnt; i++) {
		const struct tapir_gap_row *gap = &v->summary->gaps.data[i];

		tapir_str__addf(out, "%sgap%s in process %u: %s ", p->red, p->off, gap->pid,
				tapir_gap__text(gap->reason));
		add_printable(out, gap->path);
		if (gap->until_ns >= gap->from_ns)
			tapir_str__addf(out, " (%.1f ms)",
					(double)(gap->until_ns - gap->from_ns) / 1e6);
		tapir_str__addc(out, '\n');
	}
	if (v->summary->no_stack_cnt) {
		tapir_str__addf(out, "%sincomplete%s ", p->yellow, p->off);
		tapir_figure__add_count(out, v->summary->no_stack_cnt);
		tapir_str__adds(out, ": the stack of the event is not in the file\n");
	}
	if (v->summary->more)
		tapir_str__addf(out, "%" PRIu64 " things are in no row below: there are too many\n",
				v->summary->more);
}

/* How many of cnt rows. */
static size_t shown_cnt(const struct tapir_report_view *v, size_t cnt, size_t max)
{
	return v->all_rows || cnt < max ? cnt : max;
}

static void say_rest(size_t cnt, size_t shown, struct tapir_str *out)
{
	if (cnt > shown)
		tapir_str__addf(out, "... and %zu more (--all shows them)\n", cnt - shown);
}

static void cell_count(struct tapir_table *table, uint64_t value)
{
	struct tapir_str text = {};

	tapir_figure__add_count(&text, value);
	tapir_table__cell(table, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static void cell_rate(struct tapir_table *table, uint64_t cnt, uint64_t ns)
{
	struct tapir_str text = {};
	double rate = ns ? (double)cnt * 1e9 / (double)ns : 0;

	if (rate >= 100)
		tapir_figure__add_count(&text, (uint64_t)rate);
	else
		tapir_str__addf(&text, "%.1f", rate);
	tapir_table__cell(table, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static void end_table(struct tapir_table *table, size_t cnt, size_t shown,
		      const struct tapir_palette *p, struct tapir_str *out)
{
	tapir_str__addc(out, '\n');
	tapir_table__write(table, p, out);
	tapir_table__fini(table);
	say_rest(cnt, shown, out);
}

static void write_events(const struct tapir_report_view *v, const struct tapir_palette *p,
			 struct tapir_str *out)
{
	static const char *const titles[] = {"EVENT", ">COUNT", ">PER SECOND", ">LOST", NULL};
	struct tapir_table table = {.titles = titles};
	size_t cnt = v->summary->events.cnt, shown = shown_cnt(v, cnt, ROWS_SHOWN);
	struct tapir_str name = {};

	if (!cnt)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_event_row *row = &v->summary->events.data[i];

		tapir_str__clear(&name);
		if (*row->provider)
			tapir_str__addf(&name, "%s:", row->provider);
		tapir_str__adds(&name, row->event);
		tapir_table__cell(&table, name.data ? name.data : "");
		cell_count(&table, row->captured);
		cell_rate(&table, row->captured, tapir_report__duration_ns(v));
		cell_count(&table, row->lost);
	}
	end_table(&table, cnt, shown, p, out);
	tapir_str__fini(&name);
}

/* Where the CPU samples were taken. */
static void write_functions(const struct tapir_report_view *v, const struct tapir_palette *p,
			    struct tapir_str *out)
{
	static const char *const titles[] = {"FUNCTION", ">SAMPLES", ">SHARE", "MODULE", NULL};
	struct tapir_table table = {.titles = titles};
	const struct tapir_summary *s = v->summary;
	size_t cnt = 0, shown;
	char share[16];

	while (cnt < s->functions.cnt && s->functions.data[cnt].samples)
		cnt++;
	if (!cnt)
		return;
	shown = shown_cnt(v, cnt, ROWS_SHOWN);
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_function_row *row = &s->functions.data[i];

		snprintf(share, sizeof(share), "%.1f%%",
			 100.0 * (double)row->samples / (double)s->sample_cnt);
		tapir_table__cell(&table, row->name);
		cell_count(&table, row->samples);
		tapir_table__cell(&table, share);
		tapir_table__cell(&table, row->module);
	}
	end_table(&table, cnt, shown, p, out);
}

static void write_processes(const struct tapir_report_view *v, const struct tapir_palette *p,
			    struct tapir_str *out)
{
	static const char *const titles[] = {">PID", "NAME", ">EVENTS", "PROGRAM", NULL};
	static const char *const with_samples[] = {">PID",     "NAME",	  ">EVENTS",
						   ">SAMPLES", "PROGRAM", NULL};
	bool has_samples = v->summary->sample_cnt;
	struct tapir_table table = {.titles = has_samples ? with_samples : titles};
	size_t cnt = v->summary->processes.cnt;
	size_t shown = shown_cnt(v, cnt, ROWS_SHOWN);

	if (!cnt)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_process_row *row = &v->summary->processes.data[i];

		if (!v->all_rows && i && !row->events && !row->samples) {
			shown = i; /* from here on they only were there */
			break;
		}
		tapir_table__cell_u64(&table, row->pid);
		tapir_table__cell(&table, *row->comm ? row->comm : "?");
		cell_count(&table, row->events);
		if (has_samples)
			cell_count(&table, row->samples);
		tapir_table__cell(&table, row->exe);
	}
	end_table(&table, cnt, shown, p, out);
}

#define STACK_INDENT 14
#define STACK_LINES  6

/* "   1,204  leaf < caller < caller", on as many lines as it needs, six at most. */
static void write_stack(const struct tapir_report_view *v, const struct tapir_stack_row *row,
			size_t columns, struct tapir_str *out)
{
	struct tapir_str count = {}, name = {};
	size_t line_start = out->len, line_cnt = 1;

	tapir_figure__add_count(&count, row->events);
	tapir_str__addf(out, "%12s  ", count.data ? count.data : "");
	for (uint32_t i = 0; i < row->function_cnt; i++) {
		tapir_str__clear(&name);
		add_printable(&name, v->summary->functions.data[row->functions[i]].name);
		if (i)
			tapir_str__adds(out, " <");
		if (i && out->len - line_start + name.len + 3 > columns) {
			if (!v->all_rows && ++line_cnt > STACK_LINES) {
				tapir_str__adds(out, " ...");
				break;
			}
			tapir_str__addc(out, '\n');
			line_start = out->len;
			tapir_str__pad(out, line_start, STACK_INDENT);
		} else if (i) {
			tapir_str__addc(out, ' ');
		}
		tapir_str__add(out, name.data ? name.data : "", name.len);
	}
	tapir_str__addc(out, '\n');
	tapir_str__fini(&name);
	tapir_str__fini(&count);
}

static void write_stacks(const struct tapir_report_view *v, const struct tapir_palette *p,
			 struct tapir_str *out)
{
	size_t cnt = v->summary->stacks.cnt, columns = (size_t)tapir_terminal__columns();
	size_t shown = shown_cnt(v, cnt, STACKS_SHOWN);

	if (!cnt)
		return;
	tapir_str__addf(out, "\n%sSTACKS%s (innermost function first)\n", p->bold, p->off);
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_stack_row *row = &v->summary->stacks.data[i];
		const struct tapir_event_row *event = &v->summary->events.data[row->event];

		add_printable(out, event->provider);
		if (*event->provider)
			tapir_str__addc(out, ':');
		add_printable(out, event->event);
		tapir_str__addc(out, '\n');
		write_stack(v, row, columns, out);
	}
	say_rest(cnt, shown, out);
}

void tapir_report__write_text(const struct tapir_report_view *v, const struct tapir_palette *p,
			      struct tapir_str *out)
{
	write_head(v, p, out);
	write_totals(v, out);
	write_losses(v, p, out);
	write_events(v, p, out);
	write_processes(v, p, out);
	write_functions(v, p, out);
	write_stacks(v, p, out);
}
