// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report for a person: what was found, how it was recorded, what is missing; then tables. What
 * is missing comes before the tables, because it qualifies every number in them.
 */
#include "output/export/cut.h"
#include "output/render/report_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "output/render/human_units.h"
#include "output/render/remedies.h"

#define SERVICES_SHOWN 8

/* ---- how it was recorded -------------------------------------------------------------------- */

static const char *plural(uint64_t cnt)
{
	return cnt == 1 ? "" : "s";
}

/* The number of processes that have events; others are in the file as their parents. */
static size_t firing_processes(const struct tapir_summary *s)
{
	size_t cnt = 0;

	for (size_t i = 0; i < s->processes.cnt; i++)
		cnt += s->processes.data[i].captured[TAPIR_FAMILY_EVENT] > 0;
	return cnt;
}

void tapir_report__write_completeness(const struct tapir_report_view *v,
				      const struct tapir_palette *p, struct tapir_str *out)
{
	if (tapir_reader_stats__is_cut_short(v->stats))
		tapir_str__addf(out, "%scut%s: what it holds up to there follows\n", p->red,
				p->off);
	else if (tapir_reader_stats__is_damaged(v->stats))
		tapir_str__addf(out, "%sdamaged%s: what could be read follows\n", p->red, p->off);
	else if (v->stats->is_truncated)
		tapir_str__addf(out, "%sincomplete%s: what was written follows\n", p->yellow,
				p->off);
}

void tapir_report__add_window(const struct tapir_report_view *v, struct tapir_str *out)
{
	tapir_str__addf(out, " (%.3f s to %.3f s of ",
			(double)tapir_report__window_from_ns(v) / 1e9,
			(double)tapir_report__window_until_ns(v) / 1e9);
	tapir_human__add_duration(out, tapir_report__until_ns(v));
	tapir_str__addc(out, ')');
}

void tapir_report__add_where(const struct tapir_where *where, struct tapir_str *out)
{
	const char *text = tapir_where__text(where), *before = ": ";

	tapir_str__adds(out, "where ");
	tapir_report__add_printable(out, text);
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		uint64_t seen = tapir_where__seen(where, i);

		if (!seen)
			continue;
		tapir_str__adds(out, before);
		tapir_human__add_count(out, tapir_where__chosen(where, i));
		tapir_str__adds(out, " of ");
		tapir_human__add_count(out, seen);
		tapir_str__addf(out, " %s", tapir_family__noun(&tapir_families[i], seen));
		before = ", ";
	}
	if (*before == ':')
		tapir_str__adds(out, ": there are no records");
}

bool tapir_report__add_imported(const struct tapir_report_view *v, const char *separator,
				struct tapir_str *out)
{
	const char *format = tapir_summary__meta(v->summary, TAPIR_META_IMPORTED);
	const char *lacks = tapir_summary__meta(v->summary, TAPIR_META_LACKS);

	if (!format)
		return false;
	tapir_str__adds(out, "imported from ");
	tapir_report__add_printable(out, format);
	for (const char *before = ": "; lacks && *lacks; before = separator) {
		size_t len = strcspn(lacks, "\n");

		tapir_str__adds(out, before);
		tapir_str__add_printable(out, lacks, len);
		lacks += len + (lacks[len] != '\0');
	}
	return true;
}

bool tapir_report__add_sums(const struct tapir_report_view *v, struct tapir_str *out)
{
	if (!tapir_catalog__sums_waits(v->catalog))
		return false;
	tapir_str__adds(out, TAPIR_WAITS_ARE_SUMMED
			": what intervals are made of counts them as running");
	return true;
}

bool tapir_report__add_merged(const struct tapir_report_view *v, const char *separator,
			      struct tapir_str *out)
{
	const char *merged = tapir_summary__meta(v->summary, TAPIR_META_MERGED);

	for (const char *at = merged; at && *at;) {
		size_t len = strcspn(at, "\n");

		tapir_str__adds(out, at == merged ? "" : separator);
		tapir_str__add_printable(out, at, len);
		at += len + (at[len] != '\0');
	}
	return merged;
}

static void write_origin(const struct tapir_report_view *v, struct tapir_str *out)
{
	const char *kernel = tapir_summary__meta(v->summary, "kernel");
	const char *machine = tapir_summary__meta(v->summary, "machine");
	const char *host = tapir_summary__meta(v->summary, "host");
	const char *command = tapir_summary__meta(v->summary, "command");
	const char *lane = tapir_summary__meta(v->summary, "lane");
	const char *cut = tapir_summary__meta(v->summary, TAPIR_META_CUT);

	tapir_report__add_printable(out, v->path);
	tapir_str__adds(out, ": ");
	tapir_human__add_duration(out, tapir_report__duration_ns(v));
	if (tapir_report__has_window(v))
		tapir_report__add_window(v, out);
	tapir_str__adds(out, " from ");
	tapir_human__add_utc(out, v->stats->created_utc_ns);
	if (v->where) {
		tapir_str__addc(out, '\n');
		tapir_report__add_where(v->where, out);
	}
	if (host || (!tapir_catalog__host_cnt(v->catalog) && (kernel || machine))) {
		tapir_str__adds(out, "\nmachine: ");
		tapir_report__add_printable(out, host ? host : "?");
		tapir_str__adds(out, ", Linux ");
		tapir_report__add_printable(out, kernel ? kernel : "?");
		tapir_str__addc(out, ' ');
		tapir_report__add_printable(out, machine ? machine : "?");
	}
	if (command) {
		tapir_str__adds(out, "\ncommand: ");
		tapir_report__add_printable(out, command);
	}
	if (cut) {
		tapir_str__adds(out, "\ncut: ");
		tapir_report__add_printable(out, cut);
	}
	if (tapir_catalog__sums_waits(v->catalog))
		tapir_str__addc(out, '\n');
	tapir_report__add_sums(v, out);
	if (tapir_summary__meta(v->summary, TAPIR_META_IMPORTED))
		tapir_str__addc(out, '\n');
	tapir_report__add_imported(v, "\n  ", out);
	if (tapir_summary__meta(v->summary, TAPIR_META_MERGED))
		tapir_str__adds(out, "\nmerged: ");
	tapir_report__add_merged(v, "\n  ", out);
	if (lane && strcmp(lane, "probe")) {
		tapir_str__adds(out, "\nlanes: ");
		tapir_report__add_printable(out, lane);
	}
	tapir_str__addc(out, '\n');
}

/* "services: checkout (4711), cart (4712)", as the processes say it themselves */
static void write_services(const struct tapir_summary *s, struct tapir_str *out)
{
	const struct tapir_process_row *row;
	size_t shown = 0, cnt = 0;

	tapir_vec_for_each (row, &s->processes) {
		if (!*row->service || cnt++ >= SERVICES_SHOWN)
			continue;
		tapir_str__adds(out, shown++ ? ", " : "services: ");
		tapir_report__add_printable(out, row->service);
		tapir_str__addf(out, " (%u)", row->pid);
	}
	if (cnt > shown)
		tapir_str__addf(out, ", and %zu more", cnt - shown);
	tapir_str__adds(out, cnt ? "\n" : "");
}

/* " (cpu-clock 999 Hz)" */
static void add_sampling(const struct tapir_summary *s, struct tapir_str *out)
{
	const char *event = tapir_summary__meta(s, "sample_event");
	const char *hz = tapir_summary__meta(s, "sample_hz");

	if (!event || !hz)
		return;
	tapir_str__adds(out, " (");
	tapir_report__add_printable(out, event);
	tapir_str__addc(out, ' ');
	tapir_report__add_printable(out, hz);
	tapir_str__adds(out, " Hz)");
}

static void write_totals(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	size_t process_cnt = firing_processes(s);

	tapir_human__add_count(out, s->captured[TAPIR_FAMILY_EVENT]);
	tapir_str__addf(out, " event%s", plural(s->captured[TAPIR_FAMILY_EVENT]));
	if (s->captured[TAPIR_FAMILY_EVENT])
		tapir_str__addf(out, " of %zu kind%s from %zu process%s", s->events.cnt,
				plural(s->events.cnt), process_cnt, process_cnt == 1 ? "" : "es");
	tapir_str__adds(out, ", ");
	for (int i = TAPIR_FAMILY_EVENT + 1; i < TAPIR_FAMILY_CNT; i++) {
		if (!s->captured[i])
			continue;
		tapir_human__add_count(out, s->captured[i]);
		tapir_str__addf(out, " %s%s", i == TAPIR_FAMILY_SAMPLE ? "CPU " : "",
				tapir_family__noun(&tapir_families[i], s->captured[i]));
		if (i == TAPIR_FAMILY_SAMPLE)
			add_sampling(s, out);
		tapir_str__adds(out, ", ");
	}
	tapir_human__add_count(out, tapir_report__lost(v));
	tapir_str__adds(out, " lost");
	if (s->gap_cnt)
		tapir_str__addf(out, ", %" PRIu64 " gap%s", s->gap_cnt, plural(s->gap_cnt));
	tapir_str__adds(out, "\n");
}

void tapir_report__add_names_missing(const struct tapir_report_view *v, struct tapir_str *out)
{
	tapir_remedies__add_names(&v->summary->ends, v->path,
				  tapir_summary__meta(v->summary, "host"), out);
}

/* "CPU: JIT 78.1%, kernel 20.0%, native 1.9%; of the innermost frames 99.8% have a name, ..." */
static void write_cpu(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	const char *separator = "CPU: ";

	if (!s->captured[TAPIR_FAMILY_SAMPLE])
		return;
	for (unsigned kind = TAPIR_FRAME_KIND_CNT; kind-- > TAPIR_FRAME_NONE + 1;) {
		if (!s->kinds[kind])
			continue;
		tapir_str__addf(
			out, "%s%s %.1f%%", separator, tapir_frame_kind__name(kind),
			tapir_report__percent(s->kinds[kind], s->captured[TAPIR_FAMILY_SAMPLE]));
		separator = ", ";
	}
	if (s->sample_no_stack_cnt)
		tapir_str__addf(out, "%swithout a stack %.1f%%", separator,
				tapir_report__percent(s->sample_no_stack_cnt,
						      s->captured[TAPIR_FAMILY_SAMPLE]));
	if (s->frame_cnt)
		tapir_str__addf(out, "\nnames: %.1f%% of frames, %.1f%% of leaf frames",
				tapir_report__percent(s->frame_named_cnt, s->frame_cnt),
				tapir_report__percent(s->sample_named_cnt,
						      s->captured[TAPIR_FAMILY_SAMPLE] -
							      s->sample_no_stack_cnt));
	tapir_str__addc(out, '\n');
}

/*
 * "stacks: complete in 98.1% of samples, 99.0% of switches; 99.7% of events reach the thread's
 * start by frame pointers alone"; a table says why the others do not. Events of the ring lane are
 * never complete.
 */
static void write_stack_ends(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_stack_ends *ends = &v->summary->ends;
	const char *before = "stacks: complete in ";
	size_t from = out->len;

	for (int of = 0; of < TAPIR_FAMILY_CNT; of++) {
		if (!ends->known[of] || (ends->by_fp[of] && !ends->whole[of]))
			continue;
		tapir_str__addf(out, "%s%.1f%% of %s", before,
				tapir_report__percent(ends->whole[of], ends->known[of]),
				tapir_families[of].many);
		before = ", ";
	}
	for (int of = 0; of < TAPIR_FAMILY_CNT; of++)
		if (ends->by_fp[of])
			tapir_str__addf(out,
					"%s%.1f%% of %s reach the thread's start by frame pointers "
					"alone",
					out->len == from ? "stacks: " : "; ",
					tapir_report__percent(ends->by_fp[of], ends->known[of]),
					tapir_families[of].many);
	if (out->len > from)
		tapir_str__addc(out, '\n');
}

/* ---- what is missing ------------------------------------------------------------------------ */

/* Not requested, though counted: not a loss. */
static void write_skipped(const struct tapir_report_view *v, struct tapir_str *out)
{
	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++) {
		if (!v->summary->lost[cause].cnt ||
		    tapir_loss__kind(cause) != TAPIR_LOSS_KIND_INFO || cause == TAPIR_LOSS_FILTERED)
			continue;
		tapir_str__adds(out, "left out ");
		tapir_human__add_count(out, v->summary->lost[cause].cnt);
		tapir_str__addf(out, ": %s\n", tapir_loss__text(cause));
	}
}

static void write_probe_cost(const struct tapir_report_view *v, struct tapir_str *out)
{
	const char *text = tapir_summary__meta(v->summary, TAPIR_META_PROBE_COST);

	if (!text)
		return;
	tapir_str__add_printable(out, text, strlen(text));
	tapir_str__addc(out, '\n');
}

/* "[..38...]": how much in each part of the recording's time, one digit per part, 9 the most. */
static void add_times(const struct tapir_loss_row *row, uint64_t until_ns, struct tapir_str *out)
{
	uint64_t max = 1, parts = TAPIR_SUMMARY_TIMES;

	for (unsigned i = 0; i < TAPIR_SUMMARY_TIMES; i++)
		max = row->counts[i] > max ? row->counts[i] : max;
	if (until_ns > row->base_ns && (until_ns - row->base_ns) / row->width_ns + 1 < parts)
		parts = (until_ns - row->base_ns) / row->width_ns + 1;
	tapir_str__addc(out, '[');
	for (unsigned i = 0; i < parts; i++) {
		double of_max = (double)row->counts[i] / (double)max;

		tapir_str__addc(out, row->counts[i] ? (char)('1' + (int)(8 * of_max)) : '.');
	}
	tapir_str__addc(out, ']');
}

static void add_moment(const struct tapir_report_view *v, uint64_t ns, struct tapir_str *out)
{
	tapir_str__addf(out, "%.3f s", (double)tapir_report__since_start(v, ns) / 1e9);
}

static void write_loss(const struct tapir_report_view *v, const struct tapir_palette *p,
		       unsigned cause, struct tapir_str *out)
{
	const struct tapir_loss_row *row = &v->summary->lost[cause];
	bool whole = tapir_loss__is_complete(cause);

	tapir_str__addf(out, "%s%s%s ", whole ? p->red : p->yellow, whole ? "lost" : "incomplete",
			p->off);
	tapir_human__add_count(out, row->cnt);
	tapir_str__addf(out, ": %s; ", tapir_loss__text(cause));
	add_moment(v, row->from_ns, out);
	tapir_str__adds(out, " to ");
	add_moment(v, row->until_ns, out);
	tapir_str__addc(out, ' ');
	add_times(row, v->summary->last_ns, out);
	tapir_str__addc(out, '\n');
}

static void write_gap(const struct tapir_report_view *v, const struct tapir_palette *p,
		      const struct tapir_gap_row *gap, struct tapir_str *out)
{
	tapir_str__addf(out, "%sgap%s in process %u: %s ", p->red, p->off, gap->pid,
			tapir_gap__text(gap->reason));
	tapir_report__add_printable(out, gap->path);
	if (gap->until_ns >= gap->from_ns) {
		tapir_str__addf(out, " (%.1f ms, from ",
				(double)(gap->until_ns - gap->from_ns) / 1e6);
		add_moment(v, gap->from_ns, out);
		tapir_str__addc(out, ')');
	}
	tapir_str__addc(out, '\n');
}

/* A source that cannot send an event sends a message in its place: its text is in `tapir events`.
 */
static void write_refused(const struct tapir_report_view *v, const struct tapir_palette *p,
			  struct tapir_str *out)
{
	const struct tapir_event_row *row;

	tapir_vec_for_each (row, &v->summary->events) {
		if (!row->is_complaint)
			continue;
		tapir_str__addf(out, "%sincomplete%s ", p->red, p->off);
		tapir_human__add_count(out, row->captured);
		tapir_str__adds(out, ": ");
		tapir_report__add_printable(out, row->provider);
		tapir_str__adds(out,
				" could not send an event, or reports another error of its own "
				"(event EventSourceMessage has the text)\n");
	}
}

static void write_missing(const struct tapir_report_view *v, const struct tapir_palette *p,
			  struct tapir_str *out)
{
	const struct tapir_gap_row *gap;

	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		if (v->summary->lost[cause].cnt && tapir_loss__kind(cause) != TAPIR_LOSS_KIND_INFO)
			write_loss(v, p, cause, out);
	tapir_vec_for_each (gap, &v->summary->gaps)
		write_gap(v, p, gap, out);
	write_refused(v, p, out);
	if (v->late) {
		tapir_str__addf(out, "%sincomplete%s ", p->yellow, p->off);
		tapir_human__add_count(out, v->late);
		tapir_str__adds(out, ": records arrived too late to be sorted: durations and "
				     "causes near them may be wrong\n");
	}
	if (v->summary->no_stack_cnt) {
		tapir_str__addf(out, "%sincomplete%s ", p->yellow, p->off);
		tapir_human__add_count(out, v->summary->no_stack_cnt);
		tapir_str__adds(out, ": the stack of the event is not in the file\n");
	}
	if (v->summary->more)
		tapir_str__addf(
			out, "%" PRIu64 " items are not listed below: the row limit was reached\n",
			v->summary->more);
}

void tapir_report__write_text(const struct tapir_report_view *v, const struct tapir_palette *p,
			      struct tapir_str *out)
{
	tapir_str__adds(out, p->bold);
	tapir_report__add_headline(v, out);
	tapir_str__adds(out, p->off);
	tapir_str__addc(out, '\n');
	tapir_report__add_also(v, out);
	tapir_report__write_completeness(v, p, out);
	write_origin(v, out);
	write_services(v->summary, out);
	write_totals(v, out);
	write_cpu(v, out);
	tapir_report__add_names_missing(v, out);
	write_stack_ends(v, out);
	write_missing(v, p, out);
	write_skipped(v, out);
	write_probe_cost(v, out);
	tapir_report__write_tables(v, p, out);
}
