/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_idle.h - how long the reader of ring lanes may wait after a round. A ring has no wake-up of
 * its own: a thread that fires makes no system call. So the reader polls every 10 ms, which on a
 * machine where nothing happens is most of what a recording costs.
 *
 * But a thread that fires has to run, and where context switches are recorded, a BPF program sees
 * each traced thread that begins to run. So after some rounds without records the reader asks to be
 * woken by that (control.h, readers_idle), and sleeps once it is sure that no thread was running
 * when it asked: in the rounds since, none was seen to begin, and none has used CPU time.
 */
#ifndef TAPIR_USER_RING_IDLE_H
#define TAPIR_USER_RING_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#define TAPIR_RING_ROUND_MS 10
#define TAPIR_RING_SLEEP_MS 1000 /* processes take a tracer that is silent for 5 s for dead */

struct tapir_ring_idle {
	volatile uint32_t
		*asleep; /* the word that a thread's run clears; NULL: nothing sees that */
	unsigned idle_rounds;
	uint64_t cpu_ns; /* when it was asked */
};

/* CPU time of all threads that may fire; UINT64_MAX: that is not known. */
typedef uint64_t (*tapir_ring_cpu_fn)(void *ctx);

/*
 * Returns how long to wait after a round that found records (any) or none, in ms: longer than a
 * round only if no thread can fire.
 */
int tapir_ring_idle__after(struct tapir_ring_idle *idle, bool any, tapir_ring_cpu_fn cpu_of,
			   void *ctx);

/* Immediately before the sleep: did a thread run since it was allowed? */
bool tapir_ring_idle__has_ended(const struct tapir_ring_idle *idle);

#endif
