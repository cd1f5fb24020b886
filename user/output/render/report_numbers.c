// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts that several parts of a report need, so that text, JSON and the first screen never
 * differ.
 */
#include <string.h>

#include "output/render/report_view.h"

uint64_t tapir_report__start_ns(const struct tapir_report_view *v)
{
	return v->stats->created_ns < v->summary->last_ns ? v->stats->created_ns
							  : v->summary->first_ns;
}

uint64_t tapir_report__since_start(const struct tapir_report_view *v, uint64_t ns)
{
	uint64_t start_ns = tapir_report__start_ns(v);

	return ns > start_ns ? ns - start_ns : 0;
}

bool tapir_report__has_window(const struct tapir_report_view *v)
{
	return v->from_ns || v->until_ns;
}

/* The recorded span: the same as the findings'. */
static uint64_t span_ns(const struct tapir_report_view *v, bool is_until)
{
	uint64_t from_ns = v->summary->first_ns, until_ns = v->summary->until_ns;

	tapir_catalog__widen_span(v->catalog, v->summary->last_ns, &from_ns, &until_ns);
	return tapir_report__since_start(v, is_until ? until_ns : from_ns);
}

uint64_t tapir_report__window_from_ns(const struct tapir_report_view *v)
{
	uint64_t recorded_ns = span_ns(v, false),
		 requested_ns = tapir_report__since_start(v, v->from_ns);

	return requested_ns > recorded_ns ? requested_ns : recorded_ns;
}

uint64_t tapir_report__until_ns(const struct tapir_report_view *v)
{
	return span_ns(v, true);
}

uint64_t tapir_report__window_until_ns(const struct tapir_report_view *v)
{
	uint64_t recorded_ns = span_ns(v, true),
		 requested_ns = tapir_report__since_start(v, v->until_ns);

	return v->until_ns && requested_ns < recorded_ns ? requested_ns : recorded_ns;
}

uint64_t tapir_report__duration_ns(const struct tapir_report_view *v)
{
	uint64_t from_ns = tapir_report__window_from_ns(v);
	uint64_t until_ns = tapir_report__window_until_ns(v);

	return until_ns > from_ns ? until_ns - from_ns : 0;
}

uint64_t tapir_report__lost(const struct tapir_report_view *v)
{
	uint64_t lost = 0;

	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		lost += tapir_loss__is_complete(cause) ? v->summary->lost[cause].cnt : 0;
	return lost;
}

void tapir_report__count_threads(const struct tapir_report_view *v, size_t *threads,
				 size_t *processes)
{
	const struct tapir_process_row *process;

	*threads = *processes = 0;
	tapir_vec_for_each (process, &v->summary->processes) {
		if (!tapir_captured__sum(process->captured))
			continue;
		++*processes;
		*threads += process->thread_cnt; /* also those that slept all the time */
	}
}

double tapir_report__percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

void tapir_report__add_printable(struct tapir_str *out, const char *text)
{
	tapir_str__add_printable(out, text, strlen(text));
}

uint64_t tapir_report__refused(const struct tapir_report_view *v)
{
	const struct tapir_event_row *row;
	uint64_t sum = 0;

	tapir_vec_for_each (row, &v->summary->events)
		sum += row->is_complaint ? row->captured : 0;
	return sum;
}

uint64_t tapir_report__hidden(const struct tapir_report_view *v)
{
	const struct tapir_summary *s = v->summary;
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		sum += tapir_loss__hides_events(cause) ? s->lost[cause].cnt : 0;
	return sum;
}
