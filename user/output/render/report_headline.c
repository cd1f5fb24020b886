// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The report's first sentence: what was found, with its numbers. It names what is typical: the most
 * frequent of thousands of kinds of events is not, so it is left out.
 */
#include <inttypes.h>
#include <string.h>

#include "output/render/human_units.h"
#include "spec/runtime_db/lore.h"
#include "output/render/report_view.h"

/* The most frequent of thousands of kinds is not typical of the others. */
#define TELLING_PERCENT 1
#define ALSO_SHOWN	2

/* Adds the separator before the next part of the sentence. */
static void begin_part(struct tapir_str *out, size_t from)
{
	if (out->len > from)
		tapir_str__adds(out, "; ");
}

static void add_hottest(const struct tapir_summary *s, size_t from, struct tapir_str *out)
{
	const struct tapir_function_row *row = s->functions.data;
	const char *event = tapir_summary__meta(s, "sample_event");

	if (!s->functions.cnt || !row->self)
		return;
	begin_part(out, from);
	tapir_str__addf(out, "%.1f%% of the ",
			tapir_report__percent(row->self, s->captured[TAPIR_FAMILY_SAMPLE]));
	if (event && strcmp(event, "cpu-clock") && strcmp(event, "cycles"))
		tapir_report__add_printable(out, event);
	else
		tapir_str__adds(out, "CPU time");
	tapir_str__adds(out, " in ");
	tapir_report__add_printable(out, row->name);
	tapir_str__addf(out, " (%s)", tapir_frame_kind__name(row->kind));
}

/* A table that is full does not know how many more there were. */
static const char *at_least(size_t row_cnt)
{
	return row_cnt == TAPIR_SUMMARY_MAX_ROWS ? "at least " : "";
}

/* "3 threads of java (4514)", "12 threads of 4 processes, most of it in java (4514)" */
static void add_threads(const struct tapir_report_view *v, size_t from, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	const struct tapir_process_row *first = s->processes.data;
	size_t processes, threads;

	tapir_report__count_threads(v, &threads, &processes);
	if (!processes)
		return;
	begin_part(out, from);
	tapir_str__addf(out, "%s%zu thread%s of ", at_least(s->threads.cnt), threads,
			threads == 1 ? "" : "s");
	if (processes > 1)
		tapir_str__addf(out, "%s%zu processes, most in ", at_least(s->processes.cnt),
				processes);
	tapir_report__add_printable(out, *first->comm ? first->comm : "?");
	tapir_str__addf(out, " (%u)", first->pid);
}

/* Events whose count is more informative than their name. */
static const char *meaning_of(const struct tapir_event_row *row)
{
	tapir_lore_for_each (lore)
		for (const struct tapir_lore_headline *h = lore->headlines; h && h->provider; h++)
			if (!strcmp(row->provider, h->provider) && !strcmp(row->event, h->event))
				return h->text;
	return NULL;
}

static void add_plural(struct tapir_str *out, uint64_t cnt, const char *noun)
{
	size_t len = strlen(noun);
	bool is_y = len && noun[len - 1] == 'y';

	tapir_human__add_count(out, cnt);
	if (cnt == 1)
		tapir_str__addf(out, " %s", noun);
	else
		tapir_str__addf(out, " %.*s%s", (int)(len - is_y), noun, is_y ? "ies" : "s");
}

static void add_events(const struct tapir_report_view *v, size_t from, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	const struct tapir_finding *first = v->findings->rows.data;
	/* The finding has counted its collections. */
	bool has_gcs = v->findings->rows.cnt && first->kind == TAPIR_FINDING_GC, is_said = has_gcs;
	const struct tapir_event_row *row;
	double percent;

	tapir_vec_for_each (row, &s->events) {
		const char *noun = row->captured ? meaning_of(row) : NULL;

		if (!noun || (has_gcs && !strcmp(noun, "GC")))
			continue;
		begin_part(out, from);
		add_plural(out, row->captured, noun);
		is_said = true;
	}
	row = s->events.data;
	if (is_said || !s->captured[TAPIR_FAMILY_EVENT] || !s->events.cnt)
		return;
	begin_part(out, from);
	add_plural(out, s->captured[TAPIR_FAMILY_EVENT], "event");
	percent = tapir_report__percent(row->captured, s->captured[TAPIR_FAMILY_EVENT]);
	if (percent < TELLING_PERCENT)
		return;
	if (s->events.cnt > 1)
		tapir_str__addf(out, ", %.0f%% of them ", percent);
	else
		tapir_str__adds(out, ", all ");
	tapir_report__add_printable(out, row->provider);
	tapir_str__adds(out, *row->provider ? ":" : "");
	tapir_report__add_printable(out, row->event);
}

void tapir_report__add_events(const struct tapir_report_view *v, struct tapir_str *out)
{
	add_events(v, out->len, out);
}

#define LATE_PARTS 1000 /* of all records: fewer late ones change no answer */

/* Records that are not lost, but leave the recording incomplete. */
static void add_unwhole(const struct tapir_report_view *v, struct tapir_str *out)
{
	uint64_t refused = tapir_report__refused(v);

	if (refused) {
		tapir_str__adds(out, ", ");
		add_plural(out, refused, "error");
		tapir_str__adds(out, " of event sources");
	}
	if (v->late * LATE_PARTS > tapir_captured__sum(v->summary->captured)) {
		tapir_str__adds(out, ", ");
		add_plural(out, v->late, "record");
		tapir_str__adds(out, " too late to be sorted");
	}
}

static void add_lost(const struct tapir_report_view *v, uint64_t lost, struct tapir_str *out)
{
	if (lost)
		tapir_human__add_count(out, lost);
	if (lost)
		tapir_str__adds(out, " lost");
	else if (v->stats && tapir_reader_stats__is_cut_short(v->stats))
		tapir_str__adds(out, "the file was cut");
	else if (v->stats && tapir_reader_stats__is_damaged(v->stats))
		tapir_str__adds(out, "the file is damaged");
	else
		tapir_str__adds(out, "nothing lost");
}

/* A profile of stacks without callers is no good news, whatever else is in order, nor how many
   whole stacks another family has. */
static void add_stack_ends(const struct tapir_summary *s, struct tapir_str *out)
{
	const struct tapir_stack_ends *ends = &s->ends;
	double lost, max = TAPIR_LOST_PERCENT;
	int worst = -1;

	for (int of = 0; of < TAPIR_FAMILY_CNT; of++) {
		lost = tapir_stack_ends__lost_percent(ends, of);
		if (lost > max) {
			max = lost;
			worst = of;
		}
	}
	if (worst >= 0)
		tapir_str__addf(out, "; stacks of %.0f%% of %s lack callers", max,
				tapir_families[worst].many);
}

/* Adds the CPU usage, if the finding does not have it. */
static void add_cpus(const struct tapir_report_view *v, size_t from, struct tapir_str *out)
{
	const struct tapir_finding *first = v->findings->rows.data;

	if (v->cpus < 0 || !v->summary->captured[TAPIR_FAMILY_SAMPLE] ||
	    (v->findings->rows.cnt &&
	     (first->kind == TAPIR_FINDING_CPU || first->kind == TAPIR_FINDING_IDLE)))
		return;
	begin_part(out, from);
	tapir_str__addf(out, "the target used %.2f CPUs", v->cpus);
}

/* "java (4711): 49% of the time in GC (--view gc)" of a machine's. */
static void add_found(const struct tapir_finding *finding, struct tapir_str *out)
{
	if (finding->process)
		tapir_str__addf(out, "%s: ", finding->process);
	tapir_str__addf(out, "%s (--view %s)", finding->text, finding->view);
}

void tapir_report__add_also(const struct tapir_report_view *v, struct tapir_str *out)
{
	for (size_t i = 1; i < v->findings->rows.cnt && i <= ALSO_SHOWN; i++) {
		tapir_str__adds(out, "also: ");
		add_found(&v->findings->rows.data[i], out);
		tapir_str__addc(out, '\n');
	}
}

void tapir_report__add_losses(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	uint64_t lost = tapir_report__lost(v), unseen = tapir_report__hidden(v);

	if (lost || (!s->gap_cnt && !unseen))
		add_lost(v, lost, out);
	if (unseen) {
		tapir_str__adds(out, lost ? ", " : "");
		add_plural(out, unseen, "process record");
		tapir_str__adds(out, " lost");
	}
	if (s->gap_cnt) {
		tapir_str__adds(out, lost || unseen ? ", " : "");
		add_plural(out, s->gap_cnt, "gap");
	}
	add_unwhole(v, out);
	if (v->findings->more)
		tapir_str__addf(out,
				", %" PRIu64 " threads, waits or names found no room in the tables "
				"of findings",
				v->findings->more);
}

void tapir_report__add_headline(const struct tapir_report_view *v, struct tapir_str *out)
{
	const struct tapir_summary *s = v->summary;
	size_t from = out->len;

	if (v->findings->rows.cnt)
		add_found(&v->findings->rows.data[0], out);
	else
		add_hottest(s, from, out);
	add_cpus(v, from, out);
	add_threads(v, from, out);
	add_events(v, from, out);
	if (out->len == from)
		tapir_str__adds(out, s->processes.cnt ? "no event and no sample"
						      : "no process was recorded");
	tapir_str__adds(out, "; ");
	tapir_report__add_losses(v, out);
	add_stack_ends(s, out);
}
