/* SPDX-License-Identifier: MIT */
/*
 * provider_dispatch.c - hands an event to the sessions inside the process that want it: the hot
 * path. The payload is serialized once, into the first session that has room; the others copy it.
 *
 * Places are taken in up to BATCH_CNT sessions, then the clock is read once for all of them: the
 * time of an event is later than its place in each buffer, which is what the order of listeners
 * depends on (listener.h), and the clock costs as much as all else that a session does.
 */
#include <time.h>

#include "../ring/ring_sys.h"
#include "provider_session.h"

#define BATCH_CNT 8u

struct session_slot {
	struct session_write write;
	uint32_t idx;
	uint32_t pad0;
};

static uint32_t next_shard;
static __thread struct {
	uint32_t shard; /* 0: none yet, else it and 1 */
	uint32_t tid;
} self;

uint32_t provider_tid(void)
{
	if (__builtin_expect(!self.tid, 0))
		self.tid = (uint32_t)ring_sys3(SYS_gettid, 0, 0, 0);
	return self.tid;
}

uint32_t provider_shard(void)
{
	if (__builtin_expect(!self.shard, 0))
		self.shard =
			__atomic_fetch_add(&next_shard, 1, __ATOMIC_RELAXED) % PROVIDER_SHARDS + 1;
	return self.shard - 1;
}

void provider_dispatch__forked(void)
{
	self.tid = 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Room for it in the session. 1: this thread is inside until leave(). */
static int begin_session_write(uint32_t idx, const struct event_state *state,
			       struct session_write *write)
{
	const struct provider_session *s = &provider_sessions[idx];

	if (!provider_session__enter(idx, state))
		return 0;
	write->kind = prov_load(&provider_kinds[state->table_idx]);
	order_acquire(&provider_kinds[state->table_idx]);
	if (write->kind && s->ops->reserve(s->ctx, write))
		return 1;
	provider_session__leave(idx);
	return 0;
}

static void commit_session_write(uint32_t idx, struct session_write *write, uint64_t time_ns)
{
	const struct provider_session *s = &provider_sessions[idx];

	write->time_ns = time_ns;
	s->ops->commit(s->ctx, write);
	provider_session__leave(idx);
}

int provider_sessions__begin(struct process_write *w, struct tapir_event *event, uint64_t wants,
			     uint32_t bytes)
{
	const struct event_state *state = event_state__of(event);

	w->first.bytes = bytes;
	for (; wants; wants &= wants - 1) {
		uint32_t idx = (uint32_t)__builtin_ctzll(wants);

		if (!begin_session_write(idx, state, &w->first))
			continue;
		w->first_idx = idx;
		w->others = wants & (wants - 1);
		return 1;
	}
	return 0;
}

/*
 * Serves a batch and clears the bits of the served sessions in `others`. Returns the time of all of
 * them.
 */
static uint64_t serve_batch(uint64_t *others, const struct session_write *first,
			    const struct event_state *state, const uint8_t *payload)
{
	struct session_slot slots[BATCH_CNT];
	uint32_t cnt = 0;
	uint64_t time_ns;

	for (; *others && cnt < BATCH_CNT; *others &= *others - 1) {
		struct session_slot *session_slot = &slots[cnt];

		session_slot->idx = (uint32_t)__builtin_ctzll(*others);
		session_slot->write = *first;
		cnt += (uint32_t)begin_session_write(session_slot->idx, state,
						     &session_slot->write);
	}
	time_ns = now_ns();
	for (uint32_t i = 0; i < cnt; i++) {
		memcpy(slots[i].write.payload, payload, slots[i].write.bytes);
		commit_session_write(slots[i].idx, &slots[i].write, time_ns);
	}
	return time_ns;
}

void provider_sessions__commit(struct process_write *w, struct tapir_event *event,
			       const uint8_t *payload)
{
	const struct event_state *state = event_state__of(event);
	uint64_t others = w->others, time_ns;

	do {
		time_ns = serve_batch(&others, &w->first, state, payload);
	} while (others);
	/* The first one's last: once it is committed its payload may be gone. */
	if (w->first_idx != PROVIDER_IN_PROCESS)
		commit_session_write(w->first_idx, &w->first, time_ns);
}
