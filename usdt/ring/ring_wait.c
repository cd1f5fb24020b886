/* SPDX-License-Identifier: MIT */
/*
 * ring_wait.c - a thread whose ring is full waits for the tracers that ask for it (ring.h,
 * wait_ms): one short sleep at a time, within what the session allows to all threads together. A
 * tracer that has died is noticed as always, so the bound is reached only by one that hangs.
 */
#include <time.h>

#include "ring_impl.h"

#define NAP_NS 50000L

/* The rest of a session's time; a session under another id has all of it. */
static uint64_t left_ns(uint32_t s)
{
	const struct tapir_ring_session *session = &ring_process.ctl->sessions[s];
	uint64_t max_ns = ring_load(&session->wait_ms) * 1000000ull, waited_ns;
	uint64_t id = ring_load(&session->session_id);

	if (!max_ns || ring_load_acquire(&session->state) != TAPIR_RING_OPEN)
		return 0;
	if (ring_load(&ring_process.waiter_id[s]) != id) {
		ring_store(&ring_process.waiter_id[s], id);
		ring_store(&ring_process.waited_ns[s], 0);
	}
	waited_ns = ring_load(&ring_process.waited_ns[s]);
	return waited_ns < max_ns ? max_ns - waited_ns : 0;
}

/* 1: a session still wants the event, and it is worth looking for room again. */
int ring_wait__for_tracer(uint32_t sessions, const uint64_t *word)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	uint64_t from_ns, took_ns;
	uint32_t waiting = 0;

	sessions &= ring_sessions_of(ring_load(word));
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (sessions & (1u << s) && left_ns(s))
			waiting |= 1u << s;
	if (!waiting)
		return 0;
	from_ns = ring_now_ns();
	ring_sys3(SYS_nanosleep, &nap, 0, 0);
	took_ns = ring_now_ns() - from_ns;
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (waiting & (1u << s))
			__atomic_fetch_add(&ring_process.waited_ns[s], took_ns, __ATOMIC_RELAXED);
	tracer_liveness__check(from_ns + took_ns);
	return 1;
}
