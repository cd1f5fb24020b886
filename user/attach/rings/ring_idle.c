// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A small state machine: busy, quiet for QUIET_ROUNDS, asked, asleep after CONFIRM_ROUNDS. Between
 * "asked" and "asleep" a thread may have begun to run before BPF could see it; CPU time, which the
 * kernel accounts at ticks, shows that only some rounds later.
 */
#include "attach/rings/ring_idle.h"

#include <stddef.h>

#define QUIET_ROUNDS   5 /* before it asks */
/* After: the kernel accounts CPU time at clock ticks, at most 10 ms apart. */
#define CONFIRM_ROUNDS 4

static void set_asleep(const struct tapir_ring_idle *idle, uint32_t value)
{
	__atomic_store_n(idle->asleep, value, __ATOMIC_SEQ_CST);
}

bool tapir_ring_idle__has_ended(const struct tapir_ring_idle *idle)
{
	return !__atomic_load_n(idle->asleep, __ATOMIC_SEQ_CST);
}

static void begin_again(struct tapir_ring_idle *idle)
{
	if (idle->idle_rounds >= QUIET_ROUNDS)
		set_asleep(idle, 0);
	idle->idle_rounds = 0;
}

int tapir_ring_idle__after(struct tapir_ring_idle *idle, bool any, tapir_ring_cpu_fn cpu_of,
			   void *ctx)
{
	if (!idle->asleep)
		return TAPIR_RING_ROUND_MS;
	if (any || (idle->idle_rounds >= QUIET_ROUNDS && tapir_ring_idle__has_ended(idle))) {
		begin_again(idle);
		return TAPIR_RING_ROUND_MS;
	}
	if (idle->idle_rounds > QUIET_ROUNDS + CONFIRM_ROUNDS)
		return TAPIR_RING_SLEEP_MS;
	idle->idle_rounds++;
	if (idle->idle_rounds == QUIET_ROUNDS) {
		set_asleep(idle, 1);
		idle->cpu_ns = cpu_of(ctx);
	}
	if (idle->idle_rounds <= QUIET_ROUNDS + CONFIRM_ROUNDS)
		return TAPIR_RING_ROUND_MS;
	if (idle->cpu_ns != UINT64_MAX && cpu_of(ctx) == idle->cpu_ns)
		return TAPIR_RING_SLEEP_MS;
	begin_again(idle);
	return TAPIR_RING_ROUND_MS;
}
