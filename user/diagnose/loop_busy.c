// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See loop_busy.h. A turn counts only if enough of it is explained by samples and waits: else
 * records were lost, or a sleep was not seen, and the loop would seem busy.
 */
#include "diagnose/loop_busy.h"

#include "diagnose/finding_impl.h"

void tapir_loop_busy__add(struct tapir_finding *f, struct tapir_loop_busy *busy, uint32_t own,
			  uint64_t ns)
{
	busy->attributed_ns += ns;
	tapir_weights__add(f, &busy->own, own, ns);
}

void tapir_loop_busy__add_runnable(struct tapir_loop_busy *busy, uint64_t ns)
{
	busy->attributed_ns += ns;
	busy->attributed_runnable_ns += ns;
}

/* A turn that is shorter than the time between two samples counts without samples. */
void tapir_loop_busy__turn(struct tapir_loop_busy *busy, uint64_t from_ns, uint64_t until_ns)
{
	uint64_t ns = from_ns && until_ns > from_ns ? until_ns - from_ns : 0;

	if (ns < TAPIR_LIMIT_NS(TURN_KNOWN) ||
	    busy->attributed_ns * 100 >= ns * TAPIR_LIMIT(LOOP_KNOWN)) {
		busy->ns += ns;
		busy->runnable_ns += busy->attributed_runnable_ns;
		busy->longest_ns = ns > busy->longest_ns ? ns : busy->longest_ns;
	}
	busy->attributed_ns = 0;
	busy->attributed_runnable_ns = 0;
}

void tapir_loop_busy__fini(struct tapir_loop_busy *busy)
{
	tapir_weights__fini(&busy->own);
}
