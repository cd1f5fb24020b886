/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hit_watch.h - says once that probes fire more often than TAPIR_HIT_WATCH_HZ, and what that costs
 * the traced programs. What a hit takes cannot be seen from outside them, so that is an estimate,
 * from what was measured (tests/bench/README.md). Pure.
 */
#ifndef TAPIR_USER_HIT_WATCH_H
#define TAPIR_USER_HIT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "spec/machine_source.h"

#define TAPIR_TRAP_NS	   500u /* a uprobe and the program */
#define TAPIR_CALL_NS	   260u /* both tracepoints of a system call and the program */
#define TAPIR_HIT_WATCH_HZ 100000u

struct tapir_hit_watch {
	unsigned ns_per_hit;
	bool is_least;		 /* an instruction that is stepped over takes much more */
	uint64_t since_ns, hits; /* of the last reading; 0: there was none */
	bool has_ended;
};

#define TAPIR_HIT_WATCH_BYTES 192u

/* has_markers: of programs, such as USDT probes; machine: other sources, NULL: none. */
void tapir_hit_watch__init(struct tapir_hit_watch *w, bool has_markers,
			   const struct tapir_machine_source_list *machine);
/* Returns true at most once a second, and not after __take did: the hits are to be counted. */
bool tapir_hit_watch__is_due(const struct tapir_hit_watch *w, uint64_t now_ns);
/* Takes the number of hits so far. Returns true if there were too many since the last time. */
bool tapir_hit_watch__take(struct tapir_hit_watch *w, uint64_t hits, uint64_t now_ns,
			   char text[TAPIR_HIT_WATCH_BYTES]);

#endif
