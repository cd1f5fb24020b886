/* SPDX-License-Identifier: MIT */
/*
 * provider_fire.c - an event on its way: the hot path. No lock, no allocation, no system call but
 * the lane's own, errno untouched. Runs in signal handlers, before main and in forked children.
 */
#include "provider_impl.h"
#include "tapir/activity.h"

#define ALL_SESSIONS  (~0ull >> (64 - TAPIR_SESSION_MAX))
#define RING_SESSIONS ((1u << TAPIR_RING_SESSIONS) - 1)

/* 16 bytes each; NULL: none. */
struct ids {
	const uint8_t *activity, *related;
};

struct write_state {
	uint8_t *payload; /* first, as in struct tapir_event_write */
	struct tapir_ring_write ring;
	struct tapir_event *event;
	uint32_t has_ring;
	uint32_t bytes;
	struct process_write process;
};
_Static_assert(sizeof(struct write_state) <= offsetof(struct tapir_event_write, taken),
	       "write_state");

static int begin_ring(struct write_state *w, struct event_state *state, const struct ids *ids,
		      uint64_t only, const void *frame)
{
	struct tapir_ring_ids ring_ids = {ids->activity, ids->related, NULL, 0};

	if (!state->ring.word || !tapir_ring__wanted(&state->ring))
		return 0;
	if (only != ALL_SESSIONS)
		return tapir_ring__begin_for(&w->ring, &state->ring, w->bytes,
					     (uint32_t)only & RING_SESSIONS, frame);
	ring_ids.trace = provider_trace__ids();
	ring_ids.is_probed = TAPIR_EVENT_PROBED(*w->event);
	return tapir_ring__begin_at(&w->ring, &state->ring, w->bytes, &ring_ids, frame);
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
 * If a ring has room for the payload, all sessions inside the process copy it from there when it is
 * committed: what is in the ring is the thread's own until then. With loggers, which are called
 * when the ring has been committed, all copy it from theirs.
 */
static void begin_process(struct write_state *w, struct event_state *state, const struct ids *ids,
			  uint64_t only)
{
	uint64_t wants = prov_load(&state->wants) & only >> TAPIR_RING_SESSIONS;
	uint64_t loggers = wants & prov_load_acquire(&provider_logger_mask);

	w->process.first.activity = ids->activity;
	w->process.first.related = ids->related;
	w->process.first.bytes = w->bytes;
	if (__builtin_expect(loggers != 0, 0)) {
		uint8_t *payload =
			provider_loggers__begin(&w->process, w->event, loggers, w->bytes);

		wants &= ~loggers;
		if (payload) {
			w->payload = payload;
			w->process.others = wants;
			return;
		}
	}
	if (w->has_ring)
		w->process.others = wants;
	else if (provider_sessions__begin(&w->process, w->event, wants, w->bytes))
		w->payload = w->process.first.payload;
}

/* frame: of the function that the stack begins above. only: for these sessions, a bit each: those
   of the ring lane first. */
static inline __attribute__((always_inline)) int begin_write(struct tapir_event_write *write,
							     struct tapir_event *event,
							     size_t bytes, const struct ids *ids,
							     uint64_t only, const void *frame)
{
	struct write_state *w = (struct write_state *)(void *)write;
	struct event_state *state = event_state__of(event);
	uint16_t sessions = prov_load(&event->word.half.sessions);

	w->payload = NULL;
	w->has_ring = 0;
	w->ring.taken = 0;
	w->process.others = w->process.loggers = 0;
	w->process.first_idx = PROVIDER_IN_PROCESS;
	/*
	 * A size that is too large stays too large when it is narrowed: each session refuses and
	 * counts it.
	 */
	w->bytes = bytes <= TAPIR_PAYLOAD_BYTES ? (uint32_t)bytes : TAPIR_PAYLOAD_BYTES + 1;
	w->event = event;
	if (sessions & (TAPIR_SESSIONS_RING | TAPIR_SESSIONS_CHECK) &&
	    begin_ring(w, state, ids, only, frame)) {
		w->has_ring = 1;
		w->payload = w->ring.payload;
	}
	write->taken = w->ring.taken;
	if (sessions & TAPIR_SESSIONS_PROCESS)
		begin_process(w, state, ids, only);
	if (__builtin_expect(sessions & TAPIR_SESSIONS_CHECK && state->is_unlisted, 0))
		count_unlisted(event, state);
	if (__builtin_expect(
		    sessions & TAPIR_SESSIONS_CHECK && prov_load(&provider_poller_is_missing), 0))
		provider_poller__restore();
	return w->payload != NULL;
}

int tapir_event__begin(struct tapir_event_write *write, struct tapir_event *event, size_t bytes)
{
	struct ids ids;

	provider_activity__of(event, &ids.activity, &ids.related);
	return begin_write(write, event, bytes, &ids, ALL_SESSIONS, __builtin_frame_address(0));
}

int tapir_event__begin_with_ids(struct tapir_event_write *write, struct tapir_event *event,
				size_t bytes, const uint8_t *activity, const uint8_t *related)
{
	const struct ids ids = {activity, related};

	return begin_write(write, event, bytes, &ids, ALL_SESSIONS, __builtin_frame_address(0));
}

static inline __attribute__((always_inline)) void commit(struct write_state *w, const void *frame)
{
	if (w->has_ring && w->payload != w->ring.payload)
		memcpy(w->ring.payload, w->payload, w->bytes);
	if (w->process.others || w->process.first_idx != PROVIDER_IN_PROCESS)
		provider_sessions__commit(&w->process, w->event, w->payload);
	if (w->has_ring)
		tapir_ring__commit(&w->ring);
	if (__builtin_expect(w->process.loggers != 0, 0))
		provider_loggers__commit(&w->process, w->event, w->payload, frame);
	__asm__ volatile("" : : : "memory"); /* no tail call: the frame is read until it returns */
}

void tapir_event__commit(struct tapir_event_write *write)
{
	commit((struct write_state *)(void *)write, __builtin_frame_address(0));
}

static inline __attribute__((always_inline)) void
write_whole(struct tapir_event *event, const void *payload, size_t bytes, const void *frame)
{
	struct tapir_event_write write;
	struct ids ids;

	provider_activity__of(event, &ids.activity, &ids.related);
	if (!begin_write(&write, event, bytes, &ids, ALL_SESSIONS, frame))
		return;
	if (bytes)
		memcpy(write.payload, payload, bytes);
	commit((struct write_state *)(void *)&write, frame);
}

void tapir_event__write(struct tapir_event *event, const void *payload, size_t bytes)
{
	write_whole(event, payload, bytes, __builtin_frame_address(0));
}

void (*provider_fire_probe)(struct tapir_event *event, const void *payload, size_t bytes);

int tapir_event__is_on(const struct tapir_event *event)
{
	return TAPIR_EVENT_ENABLED(*event);
}

void tapir_event__emit(struct tapir_event *event, const void *payload, size_t bytes)
{
	if (!TAPIR_EVENT_ENABLED(*event))
		return;
	if (event->flags & EVENT_IS_DEFINED && TAPIR_EVENT_PROBED(*event))
		provider_fire_probe(event, payload, bytes);
	if (TAPIR_EVENT_RECORDED(*event))
		write_whole(event, payload, bytes, __builtin_frame_address(0));
}

/* Stops when the sum is too large for an event: the sizes of all may overflow. */
static size_t bytes_of(const struct tapir_payload_piece *pieces, uint32_t cnt)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < cnt && bytes <= TAPIR_PAYLOAD_BYTES; i++)
		bytes += pieces[i].bytes <= TAPIR_PAYLOAD_BYTES ? pieces[i].bytes
								: TAPIR_PAYLOAD_BYTES + 1;
	return bytes;
}

/* Copies up to `room` bytes of them; returns how many. */
static size_t gather(uint8_t *to, size_t room, const struct tapir_payload_piece *pieces,
		     uint32_t cnt)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < cnt; i++) {
		size_t take = pieces[i].bytes < room - bytes ? pieces[i].bytes : room - bytes;

		if (take)
			memcpy(to + bytes, pieces[i].at, take);
		bytes += take;
	}
	return bytes;
}

/* A separate function: its buffer is on the stack only here. */
static __attribute__((noinline)) void
fire_probe_of(struct tapir_event *event, const struct tapir_payload_piece *pieces, uint32_t cnt)
{
	uint8_t payload[TAPIR_PROBE_PIECES_BYTES];

	provider_fire_probe(event, payload, gather(payload, sizeof(payload), pieces, cnt));
}

void tapir_event__emit_pieces(struct tapir_event *event, const struct tapir_payload_piece *pieces,
			      uint32_t cnt)
{
	const void *frame = __builtin_frame_address(0);
	struct tapir_event_write write;
	struct ids ids;

	if (!TAPIR_EVENT_ENABLED(*event))
		return;
	if (event->flags & EVENT_IS_DEFINED && TAPIR_EVENT_PROBED(*event))
		fire_probe_of(event, pieces, cnt);
	if (!TAPIR_EVENT_RECORDED(*event))
		return;
	provider_activity__of(event, &ids.activity, &ids.related);
	if (!begin_write(&write, event, bytes_of(pieces, cnt), &ids, ALL_SESSIONS, frame))
		return;
	gather(write.payload, TAPIR_PAYLOAD_BYTES, pieces, cnt);
	commit((struct write_state *)(void *)&write, frame);
}

void provider_event__write_to(struct tapir_event *event, const void *payload, size_t bytes,
			      uint64_t sessions)
{
	static const struct ids none = {NULL, NULL};
	struct tapir_event_write write;

	if (!begin_write(&write, event, bytes, &none, sessions, __builtin_frame_address(0)))
		return;
	memcpy(write.payload, payload, bytes);
	commit((struct write_state *)(void *)&write, __builtin_frame_address(0));
}
