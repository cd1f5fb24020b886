/* SPDX-License-Identifier: MIT */
/*
 * provider_session.h - a session inside the process, for provider_sessions.c (opens and closes
 * them) and provider_dispatch.c (hands events to them).
 *
 * A thread that fires counts itself into the session (one of 16 counters, by thread, a cache line
 * each), checks again that the session wants the event, hands it over, and leaves. Closing a
 * session first clears its bit in all events, then waits until each counter was 0 once: a thread
 * that comes later finds the bit cleared. That is all the synchronisation on the hot path: two
 * atomic additions to a line that only threads of the same shard write.
 */
#ifndef TAPIR_PROVIDER_SESSION_H
#define TAPIR_PROVIDER_SESSION_H

#include "provider_impl.h"

#define PROVIDER_SHARDS	    16u
#define PROVIDER_LINE_BYTES 64u

enum provider_session_state { SESSION_FREE, SESSION_OPEN, SESSION_CLOSING, SESSION_LOST };

struct provider_session_shard {
	int64_t cnt;
	uint8_t pad0[PROVIDER_LINE_BYTES - sizeof(int64_t)];
};

struct provider_session {
	uint32_t state; /* enum provider_session_state */
	uint32_t kind;
	const struct provider_session_ops *ops;
	void *ctx;
	struct tapir_selection *selections; /* with their texts, one allocation */
	uint32_t selection_cnt;
	uint32_t opened_cnt; /* its place's turns */
	struct provider_session_shard inside[PROVIDER_SHARDS];
};

#pragma GCC visibility push(hidden)

extern struct provider_session provider_sessions[PROVIDER_IN_PROCESS];

/* provider_dispatch.c: in a forked child. */
void provider_dispatch__forked(void);

static inline void provider_session__leave(uint32_t idx)
{
	order_release(&provider_sessions[idx]);
	__atomic_fetch_sub(&provider_sessions[idx].inside[provider_shard()].cnt, 1,
			   __ATOMIC_RELEASE);
}

/* 1: the session wants the event, and stays until this thread leaves. */
static inline int provider_session__enter(uint32_t idx, const struct event_state *state)
{
	__atomic_fetch_add(&provider_sessions[idx].inside[provider_shard()].cnt, 1,
			   __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&state->wants, __ATOMIC_SEQ_CST) >> idx & 1)
		return 1;
	provider_session__leave(idx);
	return 0;
}

#pragma GCC visibility pop

#endif
