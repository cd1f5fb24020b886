/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * line_order.h - records to print arrive in the order of their source, one thread's ring after
 * another's; they are kept for a moment and delivered in order of time. Bounded: if it is full, the
 * oldest are delivered early. One thread at a time.
 */
#ifndef TAPIR_USER_LINE_ORDER_H
#define TAPIR_USER_LINE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/vec.h"

struct tapir_held_line {
	uint64_t time_ns, nr; /* nr: of lines of one time, the first to come goes first */
	size_t off, len;      /* in bytes */
};

struct tapir_line_order {
	struct tapir_str bytes;
	struct tapir_vec(struct tapir_held_line) lines;
	uint64_t next_nr;
};

/* Adds a line, or a few that belong together: copied. false: out of memory. */
bool tapir_line_order__add(struct tapir_line_order *o, uint64_t time_ns, const void *bytes,
			   size_t len);

/* Returns true if it is full, so that some must be delivered. */
bool tapir_line_order__is_full(const struct tapir_line_order *o);

typedef void (*tapir_line_order_fn)(void *ctx, const void *bytes, size_t len);

/*
 * Delivers those with times up to until_ns. If all lengths are multiples of 8, so are their
 * addresses.
 */
void tapir_line_order__take(struct tapir_line_order *o, uint64_t until_ns, tapir_line_order_fn fn,
			    void *ctx);
void tapir_line_order__fini(struct tapir_line_order *o);

#endif
