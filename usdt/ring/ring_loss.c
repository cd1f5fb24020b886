/* SPDX-License-Identifier: MIT */
/*
 * ring_loss.c - events that are not written, counted for each session that wanted them: in the
 * lane's own rows, or, in a forked child without a lane, in the parent's ctl.
 */
#include "ring_impl.h"

/* Counts what a child fires before it has a lane, or if it cannot make one. */
void ring_loss__in_child(struct tapir_ring_ctl *parent, uint32_t sessions)
{
	for (uint32_t s = 0; parent && s < TAPIR_RING_SESSIONS; s++)
		if ((sessions & (1u << s)) &&
		    (ring_load(&parent->sessions[s].flags) & TAPIR_RING_WANTS_CHILDREN))
			__atomic_fetch_add(&parent->child_fired[s], 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) void ring_loss__count(uint32_t row, uint32_t sessions,
						enum tapir_ring_cause cause)
{
	uint32_t gate = ring_load_acquire(ring_process.gate);
	struct tapir_ring_losses *losses;
	struct tapir_ring_data *data;

	if (gate < RING_FIRST_LIFE) {
		if (gate != RING_SHUT)
			ring_loss__in_child(ring_process.ctl, sessions);
		return;
	}
	data = ring_process.arenas[0].data;
	losses = (struct tapir_ring_losses *)((uint8_t *)data + data->losses_off) + row;
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (sessions & (1u << s))
			__atomic_fetch_add(&losses->cnt[s][cause], 1, __ATOMIC_RELAXED);
}

uint32_t tapir_ring__miss(const struct tapir_ring_about *about, enum tapir_ring_cause cause)
{
	uint32_t sessions, cnt = 0;

	if (ring_load_acquire(&ring_process.state) != RING_READY || !ring_is_alive())
		return 0;
	sessions = tracer_liveness__wanting(about);
	if (sessions)
		ring_loss__count(TAPIR_RING_EVENTS, sessions, cause);
	for (; sessions; sessions &= sessions - 1)
		cnt++;
	return cnt;
}
