/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * capture_check.h - decides whether a file was recorded with what a view needs, by the file's own
 * description: the SPECs, the lanes, the switches, and the providers of its events. So a view that
 * found nothing does not claim that nothing happened if nothing was recorded. One thread.
 */
#ifndef TAPIR_USER_CAPTURE_CHECK_H
#define TAPIR_USER_CAPTURE_CHECK_H

#include "analyze/view.h"

struct tapir_capture_check {
	unsigned runtimes_seen; /* bits: runtimes of which there are events */
};

/* Any record, descriptions included. */
void tapir_capture_check__add(struct tapir_capture_check *r, const struct tapir_rec *rec);

/*
 * Call it after the view's finish: if it found nothing because it was
 * not recorded, its headline becomes that, with the option that records it. For a file without
 * "specs" (of an older tapir), nothing changes.
 */
void tapir_capture_check__explain(const struct tapir_capture_check *r,
				  const struct tapir_catalog *catalog,
				  const struct tapir_view *view, struct tapir_view_result *result);

#endif
