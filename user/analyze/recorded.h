/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * recorded.h - was what a view looks for asked for at all? By what the file says of itself: the
 * SPECs, the lanes, the switches, and whose events there are. So that a view that found nothing
 * does not say that nothing happened where nobody looked.
 */
#ifndef TAPIR_USER_RECORDED_H
#define TAPIR_USER_RECORDED_H

#include "analyze/view.h"

struct tapir_recorded {
	unsigned runtimes_seen; /* bits: runtimes of which there are events */
};

/* Any record, descriptions included. */
void tapir_recorded__add(struct tapir_recorded *r, const struct tapir_rec *rec);

/*
 * After the view's finish: where it found nothing (tapir_view_result__nothing) because nobody asked
 * for it, its headline says so, and what would record it. A file that does not say what was asked
 * for (of a tapir that wrote no "specs") is left as it is.
 */
void tapir_recorded__judge(const struct tapir_recorded *r, const struct tapir_catalog *catalog,
			   const struct tapir_view *view, struct tapir_view_result *result);

#endif
