// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report's tables. What may be long is last in its row, so that columns line up whatever a
 * traced program calls its functions; on a terminal it is cut.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/frame_runs.h"
#include "analyze/view.h"
#include "base/clock.h"
#include "output/render/human_units.h"
#include "output/render/remedies.h"
#include "output/render/report_view.h"
#include "output/render/table.h"
#include "symbol/frame_kind.h"
#include "output/render/screen.h"
#include "symbol/stack_end.h"

#define ROWS_SHOWN   20
#define STACKS_SHOWN 5

/* The number of rows that are shown, of cnt. */
static size_t shown_cnt(const struct tapir_report_view *v, size_t cnt, size_t usual)
{
	uint64_t max = v->top ? v->top : usual;

	return cnt < max ? cnt : (size_t)max;
}

static void add_omitted_rows(size_t cnt, size_t shown, struct tapir_str *out)
{
	if (cnt > shown)
		tapir_str__addf(out, "... and %zu more (--all shows them)\n", cnt - shown);
}

static void cell_count(struct tapir_table *table, uint64_t value)
{
	struct tapir_str text = {};

	tapir_human__add_count(&text, value);
	tapir_table__cell(table, text.data ? text.data : "");
	tapir_str__fini(&text);
}

static void cell_share(struct tapir_table *table, uint64_t part, uint64_t of)
{
	char text[16];

	snprintf(text, sizeof(text), "%.1f%%", tapir_report__percent(part, of));
	tapir_table__cell(table, text);
}

static void cell_rate(struct tapir_table *table, uint64_t cnt, uint64_t duration_ns)
{
	double rate =
		duration_ns ? (double)cnt * (double)TAPIR_NS_PER_SEC / (double)duration_ns : 0;
	char text[32];

	snprintf(text, sizeof(text), rate < 10 ? "%.1f" : "%.0f", rate);
	tapir_table__cell(table, text);
}

static void end_table(struct tapir_table *table, size_t cnt, size_t shown,
		      const struct tapir_palette *p, struct tapir_str *out)
{
	tapir_str__addc(out, '\n');
	table->fit_columns = tapir_screen__fit_columns();
	tapir_table__write(table, p, out);
	tapir_table__fini(table);
	add_omitted_rows(cnt, shown, out);
}

static void add_event_name(const struct tapir_event_row *row, struct tapir_str *out)
{
	tapir_str__adds(out, row->provider);
	tapir_str__adds(out, *row->provider ? ":" : "");
	tapir_str__adds(out, row->event);
}

static void write_events(const struct tapir_report_view *v, const struct tapir_palette *p,
			 struct tapir_str *out)
{
	static const char *const titles[] = {">COUNT", ">PER SECOND", ">LOST", "EVENT", NULL};
	struct tapir_table table = {.titles = titles};
	size_t cnt = v->summary->events.cnt, shown = shown_cnt(v, cnt, ROWS_SHOWN);
	struct tapir_str name = {};

	if (!cnt)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_event_row *row = &v->summary->events.data[i];

		tapir_str__clear(&name);
		add_event_name(row, &name);
		cell_count(&table, row->captured);
		cell_rate(&table, row->captured, tapir_report__duration_ns(v));
		cell_count(&table, row->lost);
		tapir_table__cell(&table, name.data ? name.data : "");
	}
	end_table(&table, cnt, shown, p, out);
	tapir_str__fini(&name);
}

static void cell_ns(struct tapir_table *table, uint64_t ns)
{
	char text[TAPIR_NS_TEXT_BYTES];

	tapir_table__cell(table, tapir_ns__text(ns, text));
}

/* Writes the intervals, each of which can be requested by --view slow=NAME. */
static void write_intervals(const struct tapir_report_view *v, const struct tapir_palette *p,
			    struct tapir_str *out)
{
	static const char *const titles[] = {">COUNT",	  ">TOTAL TIME", ">WORST",
					     ">UNPAIRED", "INTERVAL",	 NULL};
	struct tapir_table table = {.titles = titles};
	const struct tapir_interval_kind *kind;
	struct tapir_str name = {};
	size_t cnt = 0, shown;

	tapir_vec_for_each (kind, &v->pairs->kinds)
		cnt += kind->cnt > 0;
	shown = shown_cnt(v, cnt, ROWS_SHOWN);
	cnt = 0;
	tapir_vec_for_each (kind, &v->pairs->kinds) {
		if (!kind->cnt || cnt++ >= shown)
			continue;
		tapir_str__clear(&name);
		tapir_str__addf(&name, "%s:%s", kind->provider, kind->name);
		cell_count(&table, kind->cnt);
		cell_ns(&table, kind->sum_ns);
		cell_ns(&table, kind->worst_ns);
		cell_count(&table, kind->unbegun + kind->unended);
		tapir_table__cell(&table, name.data ? name.data : "");
	}
	if (cnt)
		end_table(&table, cnt, shown, p, out);
	tapir_str__fini(&name);
}

/* ---- stacks that are not complete ------------------------------------------------------------ */

static void cell_of_all(struct tapir_table *table, const struct tapir_stack_end_row *row,
			uint64_t known)
{
	uint64_t cnt = 0;

	for (int of = 0; of < TAPIR_FAMILY_CNT; of++)
		cnt += row->cnt[of];
	cell_share(table, cnt, known);
}

/* Writes for all stacks how many end where, and why. */
static void write_stack_ends(const struct tapir_report_view *v, const struct tapir_palette *p,
			     struct tapir_str *out)
{
	static const char *const titles[] = {">STACKS", "CALLERS LOST IN", "REASON", "REMEDY",
					     NULL};
	const struct tapir_stack_ends *ends = &v->summary->ends;
	size_t columns = tapir_screen__fit_columns(), cnt = ends->rows.cnt;
	size_t shown = shown_cnt(v, cnt, STACKS_SHOWN);
	struct tapir_table table = {.titles = titles, .wrap_columns = columns ? columns : 100};
	uint64_t known = tapir_stack_ends__known(ends);

	for (size_t i = 0; i < shown; i++) {
		const struct tapir_stack_end_row *row = &ends->rows.data[i];
		enum tapir_stack_end end = (enum tapir_stack_end)row->end;
		const char *remedy = tapir_remedies__of(row);

		cell_of_all(&table, row, known);
		tapir_table__cell(&table, *row->module ? row->module : "-");
		tapir_table__cell(&table, tapir_stack_end__text(end));
		tapir_table__cell(&table, remedy ? remedy : "-");
	}
	if (cnt)
		end_table(&table, cnt, shown, p, out);
}

/* ---- where the CPU was ---------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void write_functions(const struct tapir_report_view *v, const struct tapir_palette *p,
			    struct tapir_str *out)
{
	static const char *const titles[] = {">SELF",  ">TOTAL",   ">SAMPLES", "KIND",
					     "MODULE", "FUNCTION", NULL};
	struct tapir_table table = {.titles = titles};
	const struct tapir_summary *s = v->summary;
	size_t cnt = 0, shown;

	while (cnt < s->functions.cnt && s->functions.data[cnt].total)
		cnt++;
	shown = shown_cnt(v, cnt, ROWS_SHOWN);
	/* Samples without a stack come first and as a row: the shares below are of all samples. */
	if (s->sample_no_stack_cnt) {
		cell_share(&table, s->sample_no_stack_cnt, s->captured[TAPIR_FAMILY_SAMPLE]);
		cell_share(&table, s->sample_no_stack_cnt, s->captured[TAPIR_FAMILY_SAMPLE]);
		cell_count(&table, s->sample_no_stack_cnt);
		tapir_table__cell(&table, "");
		tapir_table__cell(&table, "");
		tapir_table__cell(&table, "[no stack]");
	}
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_function_row *row = &s->functions.data[i];

		cell_share(&table, row->self, s->captured[TAPIR_FAMILY_SAMPLE]);
		cell_share(&table, row->total, s->captured[TAPIR_FAMILY_SAMPLE]);
		cell_count(&table, row->self);
		tapir_table__cell(&table, tapir_frame_kind__name(row->kind));
		tapir_table__cell(&table, base_name(row->module));
		tapir_table__cell(&table, row->name);
	}
	if (table.cells.cnt)
		end_table(&table, cnt, shown, p, out);
}

static void write_modules(const struct tapir_report_view *v, const struct tapir_palette *p,
			  struct tapir_str *out)
{
	static const char *const titles[] = {">SELF", ">TOTAL", ">SAMPLES", "MODULE", NULL};
	struct tapir_table table = {.titles = titles};
	const struct tapir_summary *s = v->summary;
	size_t cnt = 0, shown;

	while (cnt < s->modules.cnt && s->modules.data[cnt].total)
		cnt++;
	shown = shown_cnt(v, cnt, ROWS_SHOWN);
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_module_row *row = &s->modules.data[i];

		cell_share(&table, row->self, s->captured[TAPIR_FAMILY_SAMPLE]);
		cell_share(&table, row->total, s->captured[TAPIR_FAMILY_SAMPLE]);
		cell_count(&table, row->self);
		tapir_table__cell(&table, row->name);
	}
	if (cnt)
		end_table(&table, cnt, shown, p, out);
}

/* ---- whose it was ----------------------------------------------------------------------------- */

/* Returns false for a family that is recorded on request alone, and was not: no column of zeros. */
static bool has_column(const struct tapir_summary *s, int family)
{
	return tapir_families[family].is_default || s->captured[family];
}

/* The titles of cells_of_activity; behind the last one. */
static const char **add_titles(const struct tapir_summary *s, const char **at)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		if (!has_column(s, i))
			continue;
		*at++ = tapir_families[i].title;
		if (i == TAPIR_FAMILY_SAMPLE)
			*at++ = ">CPU";
	}
	return at;
}

static void cells_of_activity(const struct tapir_summary *s, struct tapir_table *table,
			      const uint64_t captured[TAPIR_FAMILY_CNT])
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		if (!has_column(s, i))
			continue;
		cell_count(table, captured[i]);
		if (i == TAPIR_FAMILY_SAMPLE)
			cell_share(table, captured[i], s->captured[i]);
	}
}

static void write_processes(const struct tapir_report_view *v, const struct tapir_palette *p,
			    struct tapir_str *out)
{
	const char *titles[TAPIR_FAMILY_CNT + 5] = {">PID"};
	const char **title = add_titles(v->summary, titles + 1);
	struct tapir_table table = {.titles = titles};
	size_t cnt = v->summary->processes.cnt;
	size_t shown = shown_cnt(v, cnt, ROWS_SHOWN);

	title[0] = "NAME";
	title[1] = "PROGRAM";
	if (!cnt)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_process_row *row = &v->summary->processes.data[i];

		if (v->top != UINT64_MAX && i && !tapir_captured__sum(row->captured)) {
			shown = i; /* from here on they only were there */
			break;
		}
		tapir_table__cell_u64(&table, row->pid);
		cells_of_activity(v->summary, &table, row->captured);
		tapir_table__cell(&table, *row->comm ? row->comm : "?");
		tapir_table__cell(&table, row->exe);
	}
	end_table(&table, cnt, shown, p, out);
}

static void write_threads(const struct tapir_report_view *v, const struct tapir_palette *p,
			  struct tapir_str *out)
{
	const char *titles[TAPIR_FAMILY_CNT + 5] = {">PID", ">TID"};
	const char **title = add_titles(v->summary, titles + 2);
	struct tapir_table table = {.titles = titles};
	const struct tapir_summary *s = v->summary;
	size_t cnt = 0, shown;

	title[0] = "THREAD";
	while (cnt < s->threads.cnt && tapir_captured__sum(s->threads.data[cnt].captured))
		cnt++;
	if (cnt < 2)
		return;
	shown = shown_cnt(v, cnt, ROWS_SHOWN);
	for (size_t i = 0; i < shown; i++) {
		const struct tapir_thread_row *row = &s->threads.data[i];

		tapir_table__cell_u64(&table, row->pid);
		tapir_table__cell_u64(&table, row->tid);
		cells_of_activity(s, &table, row->captured);
		tapir_table__cell(&table, *row->comm ? row->comm : "?");
	}
	end_table(&table, cnt, shown, p, out);
}

/* ---- stacks ------------------------------------------------------------------------------------ */

#define STACK_INDENT 14
#define STACK_LINES  6

static struct tapir_run_frame frame_of(const struct tapir_report_view *v, uint32_t function)
{
	const struct tapir_function_row *row = &v->summary->functions.data[function];
	const struct tapir_frame frame = {.module = tapir_sv__of(row->module)};

	return (struct tapir_run_frame){
		.name = row->name,
		.kind = row->kind,
		.runtime = row->kind == TAPIR_FRAME_RUNTIME ? tapir_frame__runtime(&frame) : 0};
}

/* Adds a frame, or a run of them; returns how many. */
static uint32_t add_report_frames(const struct tapir_report_view *v,
				  const struct tapir_stack_row *row, uint32_t first,
				  struct tapir_str *out)
{
	struct tapir_frame_run run = {};
	struct tapir_str text = {};

	for (uint32_t i = first; !v->unfold && i < row->function_cnt; i++) {
		const struct tapir_run_frame frame = frame_of(v, row->functions[i]);

		if (!tapir_frame_run__take(&run, &frame))
			break;
	}
	if (run.cnt < 2) {
		tapir_report__add_printable(out,
					    v->summary->functions.data[row->functions[first]].name);
		return 1;
	}
	tapir_frame_run__add(&run, NULL, true, &text);
	tapir_str__add_printable(out, text.data ? text.data : "", text.len);
	tapir_str__fini(&text);
	return run.cnt;
}

/* "   1,204  leaf < caller < caller", on as many lines as it needs, six at most. */
static void write_stack(const struct tapir_report_view *v, const struct tapir_stack_row *row,
			size_t columns, struct tapir_str *out)
{
	struct tapir_str count = {}, name = {};
	size_t line_start = out->len, line_cnt = 1;

	tapir_human__add_count(&count, row->cnt);
	tapir_str__addf(out, "%12s  ", count.data ? count.data : "");
	for (uint32_t i = 0, next; i < row->function_cnt; i = next) {
		tapir_str__clear(&name);
		/*
		 * A run of frames that are folded into one name is taken as a whole, so that a line
		 * breaks before or after it.
		 */
		next = i + add_report_frames(v, row, i, &name);
		if (i)
			tapir_str__adds(out, " <");
		if (i && out->len - line_start + name.len + 3 > columns) {
			if (v->top != UINT64_MAX && ++line_cnt > STACK_LINES) {
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

/* The hottest of one event, or of the samples. */
static void write_stacks_of(const struct tapir_report_view *v, uint32_t event,
			    struct tapir_str *out)
{
	size_t columns = (size_t)tapir_screen__columns(), cnt = 0, left, shown;
	const struct tapir_stack_row *row;
	struct tapir_str name = {};

	tapir_vec_for_each (row, &v->summary->stacks)
		cnt += row->event == event;
	if (!cnt)
		return;
	if (event == TAPIR_SUMMARY_SAMPLED)
		tapir_str__adds(&name, "CPU samples");
	else
		add_event_name(&v->summary->events.data[event], &name);
	tapir_report__add_printable(out, name.data ? name.data : "");
	tapir_str__addc(out, '\n');
	tapir_str__fini(&name);
	left = shown = shown_cnt(v, cnt, STACKS_SHOWN);
	tapir_vec_for_each (row, &v->summary->stacks) {
		if (!left)
			break;
		if (row->event != event)
			continue;
		write_stack(v, row, columns, out);
		left--;
	}
	add_omitted_rows(cnt, shown, out);
}

static void write_stacks(const struct tapir_report_view *v, const struct tapir_palette *p,
			 struct tapir_str *out)
{
	size_t shown = shown_cnt(v, v->summary->events.cnt, ROWS_SHOWN);

	if (!v->summary->stacks.cnt)
		return;
	if (!v->with_stacks) {
		tapir_str__adds(out, "\n--stacks shows the hottest stacks of each event\n");
		return;
	}
	tapir_str__addf(out, "\n%sSTACKS%s (innermost function first)\n", p->bold, p->off);
	write_stacks_of(v, TAPIR_SUMMARY_SAMPLED, out);
	for (size_t i = 0; i < shown; i++)
		write_stacks_of(v, (uint32_t)i, out);
}

void tapir_report__write_tables(const struct tapir_report_view *v, const struct tapir_palette *p,
				struct tapir_str *out)
{
	write_stack_ends(v, p, out);
	write_functions(v, p, out);
	write_modules(v, p, out);
	write_events(v, p, out);
	write_intervals(v, p, out);
	write_processes(v, p, out);
	write_threads(v, p, out);
	write_stacks(v, p, out);
}
