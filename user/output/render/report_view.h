/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report_view.h - a summary as text for a person and as JSON for a program. A view borrows all that
 * it names. Texts are appended; a lack of memory is in out->failed. One thread.
 */
#ifndef TAPIR_USER_REPORT_VIEW_H
#define TAPIR_USER_REPORT_VIEW_H

#include "diagnose/finding.h"
#include "diagnose/overview.h"
#include "analyze/pairs.h"
#include "decode/record_where.h"
#include "analyze/summary.h"
#include "output/render/report_programs.h"
#include "output/render/screen.h"
#include "trace/reader.h"

struct tapir_report_view {
	const char *path;
	const struct tapir_summary *summary;   /* sorted */
	const struct tapir_pairs *pairs;       /* with what was counted of their intervals */
	const struct tapir_findings *findings; /* the worst first */
	const struct tapir_overview *overview;
	const struct tapir_report_programs *programs;
	/* The JSON leaves out the first screen, and functions and stacks, which may be many. */
	bool without_stacks;
	bool is_machine; /* it is a recording of all processes (-a) */
	uint64_t late;	 /* records that were delivered after younger ones */
	double cpus;	 /* used on average; negative: not known */
	const struct tapir_catalog *catalog;
	const struct tapir_reader_stats *stats;
	uint64_t from_ns, until_ns; /* what was requested, on the records' clock; 0: no limit */
	const struct tapir_where *where; /* what was counted of the records; NULL: all */
	uint64_t top;	  /* rows of a table; 0: as many as fit a screen, UINT64_MAX: all */
	bool with_stacks; /* as text: the hottest ones of each event */
	bool unfold;	  /* there: those of the kernel, too, one by one */
};

/* Writes the whole report as text: `tapir report --all`. */
void tapir_report__write_text(const struct tapir_report_view *view, const struct tapir_palette *p,
			      struct tapir_str *out);
#define TAPIR_FIRST_SCREEN_LINES   40
#define TAPIR_FIRST_SCREEN_COLUMNS 80
/*
 * Writes the first screen: what was recorded, up to three findings and what to do next, and the
 * largest figures; at most TAPIR_FIRST_SCREEN_LINES lines. columns: of the terminal, 0: there is
 * none; lines have TAPIR_FIRST_SCREEN_COLUMNS at most, but for commands, which can be copied.
 */
void tapir_report__write_first_screen(const struct tapir_report_view *view,
				      const struct tapir_palette *p, size_t columns,
				      struct tapir_str *out);
/* Writes all of it as one JSON document. */
void tapir_report__write_json(const struct tapir_report_view *view, struct tapir_str *out);

/* ---- parts of the above (report_headline.c, report_tables.c) --------------------------------- */

/* Appends one line: the worst finding, or that there is none. */
void tapir_report__add_headline(const struct tapir_report_view *view, struct tapir_str *out);
/* Appends "17 lost, 1 gap", "nothing lost". */
void tapir_report__add_losses(const struct tapir_report_view *view, struct tapir_str *out);
/* Appends "48 GCs; 12 exceptions", "1,234 events, all shop:sold"; nothing where there are none. */
void tapir_report__add_events(const struct tapir_report_view *view, struct tapir_str *out);
/* Appends "waits below 1 ms are summed"; false, and nothing: each switch is a record. */
bool tapir_report__add_sums(const struct tapir_report_view *view, struct tapir_str *out);
/* Appends what 'tapir merge' said of hosts and clocks; false, and nothing: it is not merged. */
bool tapir_report__add_merged(const struct tapir_report_view *view, const char *separator,
			      struct tapir_str *out);
/*
 * Appends "imported from perf.data: no waits: sched_switch was not recorded", sentences with the
 * separator between them. False, and nothing: the recording was not imported.
 */
bool tapir_report__add_imported(const struct tapir_report_view *view, const char *separator,
				struct tapir_str *out);
/* Appends " (3.000 s to 5.000 s of 10.2 s)". */
void tapir_report__add_window(const struct tapir_report_view *view, struct tapir_str *out);
/* Appends "where pid == 12: 3,120 of 10,000 samples, 4 of 8 events". */
void tapir_report__add_where(const struct tapir_where *where, struct tapir_str *out);
/* Writes a line with the reason if the file has no end or is not complete. */
void tapir_report__write_completeness(const struct tapir_report_view *view,
				      const struct tapir_palette *p, struct tapir_str *out);
/* Appends a line, "also: ...", for each of the next two findings. */
void tapir_report__add_also(const struct tapir_report_view *view, struct tapir_str *out);
/* Appends lines "names: ...": how to get those that functions lack (remedies.h). */
void tapir_report__add_names_missing(const struct tapir_report_view *view, struct tapir_str *out);
void tapir_report__write_tables(const struct tapir_report_view *view, const struct tapir_palette *p,
				struct tapir_str *out);

/* Returns the time at which the recording began. */
uint64_t tapir_report__start_ns(const struct tapir_report_view *view);
/* Returns the time of a moment since then; before it: 0. */
uint64_t tapir_report__since_start(const struct tapir_report_view *view, uint64_t ns);
/* Returns the duration of the requested part. */
uint64_t tapir_report__duration_ns(const struct tapir_report_view *view);
bool tapir_report__has_window(const struct tapir_report_view *view);
/* Return the begin and the end of that part, since the recording began. */
uint64_t tapir_report__window_from_ns(const struct tapir_report_view *view);
uint64_t tapir_report__window_until_ns(const struct tapir_report_view *view);
/* Returns the end of all of it, since it began. */
uint64_t tapir_report__until_ns(const struct tapir_report_view *view);
uint64_t tapir_report__lost(const struct tapir_report_view *view); /* events, samples, switches */
/*
 * Returns the number of lost records of processes and mappings: their events are not counted
 * anywhere.
 */
uint64_t tapir_report__hidden(const struct tapir_report_view *view);
/*
 * Returns the number of events that the traced processes themselves could not send, as far as they
 * say so.
 */
uint64_t tapir_report__refused(const struct tapir_report_view *view);
/* Counts threads and processes of which anything was captured; there may have been more. */
void tapir_report__count_threads(const struct tapir_report_view *view, size_t *threads,
				 size_t *processes);
double tapir_report__percent(uint64_t part, uint64_t of); /* of nothing: 0 */
void tapir_report__add_printable(struct tapir_str *out, const char *text);

#endif
