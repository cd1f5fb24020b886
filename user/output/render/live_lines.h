/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_lines.h - records of a running recording as lines, in the order of their times and with the
 * names that come a moment after them. For the callbacks on_record and on_flush of a recording; its
 * session thread alone.
 */
#ifndef TAPIR_USER_LIVE_LINES_H
#define TAPIR_USER_LIVE_LINES_H

#include "record/session.h"
#include "output/export/event_lines.h"
#include "output/export/line_order.h"

/* The first three are the caller's; zeros otherwise. */
struct tapir_live_lines {
	enum tapir_event_format format;
	uint64_t start_ns;		 /* CLOCK_MONOTONIC, that times are relative to */
	bool hides_counter_events;	 /* of .NET: their values are records of their own */
	struct tapir_event_lines *lines; /* NULL: nothing has come yet */
	struct tapir_line_order order;
	struct tapir_str out; /* whole lines, for the caller to write and clear */
};

/* 0 or -ENOMEM. */
int tapir_live_lines__add(struct tapir_live_lines *l, const struct tapir_catalog *catalog,
			  const struct tapir_rec *rec);
/* Writes the lines that are due to out. Returns true if more are held. */
bool tapir_live_lines__take(struct tapir_live_lines *l, enum tapir_session_flush when);
void tapir_live_lines__fini(struct tapir_live_lines *l);

#endif
