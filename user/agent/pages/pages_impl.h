/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages_impl.h - what pages share: their frame, the role of the reader, and pieces of several. No
 * state; any thread.
 */
#ifndef TAPIR_USER_PAGES_IMPL_H
#define TAPIR_USER_PAGES_IMPL_H

#include "agent/pages/html.h"
#include "agent/pages/pages.h"

struct tapir_page_frame {
	const char *title;
	const char *here;     /* path of the entry of the navigation; "": none */
	const json_t *caller; /* NULL: not signed in */
	unsigned refresh_s;   /* without scripts the page is loaded again after it; 0: it is not */
	bool has_charts;
};

/* Append the beginning of a page (head, navigation), and its end. */
void tapir_page__begin(struct tapir_str *out, const struct tapir_page_frame *frame);
void tapir_page__end(struct tapir_str *out);

/* Returns true if the reader of the page may attach to processes. */
bool tapir_page__may_profile(const json_t *caller);
/* Appends the hidden field of every form that changes something. */
void tapir_page__add_csrf(struct tapir_str *out, const json_t *caller);

/* Adds what a recording shows: its findings, and a section for each view. */
void tapir_page__add_findings(struct tapir_str *out, const struct tapir_page_results *results);
void tapir_page__add_results(struct tapir_str *out, const struct tapir_page_results *results);
/* Appends a table of sessions with what can be done to each. */
void tapir_page__add_sessions(struct tapir_str *out, const json_t *caller, const json_t *sessions);

/*
 * Adds the process's counters and pauses, if the agent watches it: the member "watched" of the
 * process.
 */
void tapir_page__add_watched(struct tapir_str *out, const json_t *process);

/* Appends the cells "Counter|>Last|Unit|Over time" of a counter's row. */
void tapir_page__add_counter_cells(struct tapir_str *out, const json_t *counter);

/* Append pictures of a view, as SVG without style or script. */
void tapir_chart__add_pauses(struct tapir_str *out, const json_t *pauses, uint64_t duration_ns);
void tapir_chart__add_points(struct tapir_str *out, const json_t *points);

#endif
