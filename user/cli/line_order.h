/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_order.h - lines that come in the order of their source, a thread's ring after another's,
 * held for a moment and handed out in the order of their times. Bounded: beyond its room what is
 * oldest goes out early. One thread at a time.
 */
#ifndef TAPIR_USER_LINE_ORDER_H
#define TAPIR_USER_LINE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

struct tapir_held_line {
	uint64_t time_ns, nr; /* nr: of lines of one time, the first to come goes first */
	size_t off, len;      /* in text */
};

struct tapir_line_order {
	struct tapir_str text;
	struct tapir_vec(struct tapir_held_line) lines;
	uint64_t next_nr;
};

/* text: one line, or a few that belong together. false: out of memory, it is not kept. */
bool tapir_line_order__add(struct tapir_line_order *o, uint64_t time_ns, const char *text,
			   size_t len);

/* Is there so much of it that some must go out? */
bool tapir_line_order__is_full(const struct tapir_line_order *o);

/* Appends the lines of times up to until_ns to out. */
void tapir_line_order__take(struct tapir_line_order *o, uint64_t until_ns, struct tapir_str *out);
void tapir_line_order__fini(struct tapir_line_order *o);

#endif
