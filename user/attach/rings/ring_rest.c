// SPDX-License-Identifier: GPL-2.0-or-later
/* A small state machine: busy, quiet for QUIET_ROUNDS, asked, asleep after SURE_ROUNDS. */
#include "attach/rings/ring_rest.h"

#include <stddef.h>

#define QUIET_ROUNDS 5 /* before it asks */
/* After: the kernel accounts CPU time at clock ticks, at most 10 ms apart. */
#define SURE_ROUNDS  4

static void set_asleep(const struct tapir_ring_rest *rest, uint32_t value)
{
	__atomic_store_n(rest->asleep, value, __ATOMIC_SEQ_CST);
}

bool tapir_ring_rest__is_over(const struct tapir_ring_rest *rest)
{
	return !__atomic_load_n(rest->asleep, __ATOMIC_SEQ_CST);
}

static void begin_again(struct tapir_ring_rest *rest)
{
	if (rest->quiet_cnt >= QUIET_ROUNDS)
		set_asleep(rest, 0);
	rest->quiet_cnt = 0;
}

int tapir_ring_rest__after(struct tapir_ring_rest *rest, bool any, tapir_ring_cpu_fn cpu_of,
			   void *ctx)
{
	if (!rest->asleep)
		return TAPIR_RING_ROUND_MS;
	if (any || (rest->quiet_cnt >= QUIET_ROUNDS && tapir_ring_rest__is_over(rest))) {
		begin_again(rest);
		return TAPIR_RING_ROUND_MS;
	}
	if (rest->quiet_cnt > QUIET_ROUNDS + SURE_ROUNDS)
		return TAPIR_RING_SLEEP_MS;
	rest->quiet_cnt++;
	if (rest->quiet_cnt == QUIET_ROUNDS) {
		set_asleep(rest, 1);
		rest->cpu_ns = cpu_of(ctx);
	}
	if (rest->quiet_cnt <= QUIET_ROUNDS + SURE_ROUNDS)
		return TAPIR_RING_ROUND_MS;
	if (rest->cpu_ns != UINT64_MAX && cpu_of(ctx) == rest->cpu_ns)
		return TAPIR_RING_SLEEP_MS;
	begin_again(rest);
	return TAPIR_RING_ROUND_MS;
}
