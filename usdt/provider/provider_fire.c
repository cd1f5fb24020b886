/* SPDX-License-Identifier: MIT */
/*
 * provider_fire.c - an event on its way: the hot path. No lock, no allocation, no system call but
 * the lane's own, errno untouched. Runs in signal handlers, before main and in forked children.
 */
#include "provider_impl.h"

struct write_state {
	uint8_t *payload; /* first, as in struct tapir_event_write */
	struct tapir_ring_write ring;
	struct tapir_event *event;
	uint32_t has_ring;
	uint32_t bytes;
	struct process_write process;
};
_Static_assert(sizeof(struct write_state) <= sizeof(struct tapir_event_write), "write_state");

static int begin_ring(struct write_state *w, struct event_state *state, const void *frame)
{
	if (!state->ring.word || !tapir_ring__wanted(&state->ring))
		return 0;
	return tapir_ring__begin_at(&w->ring, &state->ring, w->bytes, NULL, NULL, frame);
}

/* An event without an entry in the lane, whose table is full: counted for who would have it. */
static void count_unlisted(const struct tapir_event *event, const struct event_state *state)
{
	const struct tapir_ring_about about = {
		.provider = event->about->provider,
		.event = event->about->name,
		.keywords = event->about->keywords,
		.level = event->about->level,
	};

	if (state->is_unlisted == ENOSPC)
		tapir_ring__miss(&about, TAPIR_RING_NO_ENTRY);
}

/*
 * Where a ring has room for the payload, all sessions inside the process copy it from there when it
 * is committed: what is in the ring is the thread's own until then.
 */
static void begin_process(struct write_state *w, struct event_state *state)
{
	uint64_t wants = prov_load(&state->wants);

	w->process.first.activity = w->process.first.related = NULL;
	w->process.first.bytes = w->bytes;
	if (w->has_ring)
		w->process.others = wants;
	else if (provider_sessions__begin(&w->process, w->event, wants, w->bytes))
		w->payload = w->process.first.payload;
}

/* frame: of the function that the stack begins above. */
static inline __attribute__((always_inline)) int
begin(struct tapir_event_write *write, struct tapir_event *event, size_t bytes, const void *frame)
{
	struct write_state *w = (struct write_state *)(void *)write;
	struct event_state *state = event_state__of(event);
	uint16_t sessions = prov_load(&event->word.half.sessions);

	w->payload = NULL;
	w->has_ring = 0;
	w->process.others = 0;
	w->process.first_idx = PROVIDER_IN_PROCESS;
	w->bytes = bytes <= TAPIR_PAYLOAD_BYTES ? (uint32_t)bytes : TAPIR_PAYLOAD_BYTES + 1;
	w->event = event;
	if (sessions & (TAPIR_SESSIONS_RING | TAPIR_SESSIONS_CHECK) &&
	    begin_ring(w, state, frame)) {
		w->has_ring = 1;
		w->payload = w->ring.payload;
	}
	if (sessions & TAPIR_SESSIONS_PROCESS)
		begin_process(w, state);
	if (__builtin_expect(sessions & TAPIR_SESSIONS_CHECK && state->is_unlisted, 0))
		count_unlisted(event, state);
	return w->payload != NULL;
}

int tapir_event__begin(struct tapir_event_write *write, struct tapir_event *event, size_t bytes)
{
	return begin(write, event, bytes, __builtin_frame_address(0));
}

void tapir_event__commit(struct tapir_event_write *write)
{
	struct write_state *w = (struct write_state *)(void *)write;

	if (w->process.others || w->process.first_idx != PROVIDER_IN_PROCESS)
		provider_sessions__commit(&w->process, w->event, w->payload);
	if (w->has_ring)
		tapir_ring__commit(&w->ring);
}

void tapir_event__write(struct tapir_event *event, const void *payload, size_t bytes)
{
	struct tapir_event_write write;

	if (!begin(&write, event, bytes, __builtin_frame_address(0)))
		return;
	memcpy(write.payload, payload, bytes);
	tapir_event__commit(&write);
}
