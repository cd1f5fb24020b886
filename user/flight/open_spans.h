/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * open_spans.h - intervals as they begin and end, for the trigger slow=: how long each lasted, or
 * has lasted by now. Bounded; one thread.
 *
 * Records of different rings arrive in any order: an end that arrives before its begin is kept
 * until that arrives.
 */
#ifndef TAPIR_USER_OPEN_SPANS_H
#define TAPIR_USER_OPEN_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct tapir_spans {
	/* for the spans alone */
	struct tapir_map open;	/* key -> struct span */
	struct tapir_map ended; /* key -> when; the begin is to come */
	uint64_t missed_cnt;	/* that did not fit */
};

/* Frees all intervals. */
void tapir_spans__fini(struct tapir_spans *s);

/* Each: how long the interval lasted, which has ended by this; 0: it has not, or is unknown. */
uint64_t tapir_spans__begin(struct tapir_spans *s, uint64_t key, uint32_t tgid, uint64_t time_ns);
uint64_t tapir_spans__end(struct tapir_spans *s, uint64_t key, uint64_t time_ns);

/* Drops the intervals of a process that is gone. */
void tapir_spans__forget(struct tapir_spans *s, uint32_t tgid);

/* Forgets one that began before before_ns, if there is one; its process, and when it began. */
bool tapir_spans__take_older(struct tapir_spans *s, uint64_t before_ns, uint32_t *tgid,
			     uint64_t *begin_ns);

#endif
