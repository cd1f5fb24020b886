/* SPDX-License-Identifier: MIT */
/*
 * ring_event.c - an event on its way into its thread's ring. The fast path reads one word of ctl,
 * the clock, and writes; everything that may be missing (a slot, memory, a stack seen for the first
 * time) is requested once. An event that interrupts another one's writing in the same thread (a
 * signal handler) has a slot of its own; one that interrupts that is counted, not written.
 */
#include <pthread.h>

#include "ring_impl.h"

#define RETRY_EVENTS 64u /* without a slot, or without memory: then ask again */
#define LIFE_DROPS   256u
#define ID_BYTES     16u
#define ALL_SESSIONS 0xffu

#ifdef TAPIR_RING_NO_TLS
/* Without its key, or when that is gone, the number belongs to another. */
static inline struct ring_tls *this_thread(void)
{
	struct ring_tls *t;

	if (__builtin_expect(!ring_load(&ring_process.exit_key_made), 0))
		return ring_thread__find();
	t = pthread_getspecific(ring_process.exit_key);
	return __builtin_expect(t != NULL, 1) ? t : ring_thread__make();
}
#else
static __thread struct ring_tls tls;

static inline struct ring_tls *this_thread(void)
{
	return &tls;
}
#endif

static uint32_t ring_event_row(const struct tapir_ring_event *event)
{
	return TAPIR_RING_ID_IDX(event->id);
}

static __attribute__((noinline)) int
drop_event(struct ring_writer *w, const struct tapir_ring_event *event, uint32_t sessions)
{
	ring_store(&w->slot->dropped, ++w->dropped);
	ring_loss__count(ring_event_row(event), sessions, TAPIR_RING_NO_SPACE);
	if (w->dropped % LIFE_DROPS == 0)
		tracer_liveness__check(ring_now_ns());
	return 0;
}

/* ---- space ---------------------------------------------------------------------------- */

/*
 * Finds how far the slowest session has read. A tail that cannot be counts as one that did not
 * move.
 */
static __attribute__((noinline)) void refresh_tails(struct ring_writer *w)
{
	const struct tapir_ring_session *sessions = ring_process.ctl->sessions;
	uint64_t least = w->head;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		uint64_t tail;

		if (!ring_is_served(ring_load_acquire(&sessions[s].state)))
			continue;
		tail = ring_load_acquire(&w->tails[s]);
		if (tail >= w->last_tail[s] && tail <= w->head && !(tail & 7))
			w->last_tail[s] = tail;
		if (w->last_tail[s] < least)
			least = w->last_tail[s];
	}
	w->tail = least;
}

/* The ring's first pass: a chunk more, until its size or the budget is reached. */
static __attribute__((noinline)) void grow_ring(struct ring_writer *w, uint64_t need)
{
	if (!w->cap_bytes && w->dropped % RETRY_EVENTS)
		return;
	/* Half of the ring at most, so that it finds room when the ring begins again. */
	while (!w->cap_final && (w->off + need > w->cap_bytes || need > w->cap_bytes / 2)) {
		if (w->cap_bytes + TAPIR_RING_CHUNK_BYTES > ring_process.ring_bytes ||
		    !ring_memory__charge(TAPIR_RING_CHUNK_BYTES)) {
			w->cap_final = w->cap_bytes != 0;
			return;
		}
		if (ring_populate(w->ring + w->cap_bytes, TAPIR_RING_CHUNK_BYTES)) {
			ring_memory__uncharge(TAPIR_RING_CHUNK_BYTES);
			w->cap_final = w->cap_bytes != 0;
			return;
		}
		w->cap_bytes += TAPIR_RING_CHUNK_BYTES;
		ring_store(&w->slot->cap_bytes, w->cap_bytes);
	}
}

/* Room for `need` bytes in one piece? The bytes to leave out before it, or -1. */
static inline int64_t room_for(struct ring_writer *w, uint64_t need)
{
	uint64_t pad = 0;

	if (__builtin_expect(w->off + need > w->cap_bytes, 0)) {
		if (!w->cap_final)
			grow_ring(w, need);
		if (w->off + need > w->cap_bytes) {
			pad = w->cap_bytes - w->off;
			if (need > w->cap_bytes / 2)
				return -1;
		}
	}
	if (__builtin_expect(w->head + pad + need - w->tail > w->cap_bytes, 0)) {
		refresh_tails(w);
		if (w->head + pad + need - w->tail > w->cap_bytes)
			return -1;
	}
	return (int64_t)pad;
}

/* The same, after waiting where a session asks for it; a record that never fits is not waited for.
 */
static __attribute__((noinline)) int64_t room_after_waiting(struct ring_writer *w, uint64_t need,
							    uint32_t sessions, const uint64_t *word)
{
	int64_t pad = -1;

	while (pad < 0 && need <= w->cap_bytes / 2 && ring_wait__for_tracer(sessions, word))
		pad = room_for(w, need);
	return pad;
}

/* Returns the position of the next `need` bytes; what is left out before them is marked. */
static inline uint64_t skip(struct ring_writer *w, uint64_t pad, uint64_t need)
{
	if (__builtin_expect(w->off + need <= w->cap_bytes, 1))
		return w->off;
	if (pad >= sizeof(struct tapir_rec)) {
		struct tapir_rec none = {
			.type = TAPIR_REC_NONE, .cpu = TAPIR_CPU_UNKNOWN, .size = (uint32_t)pad};

		memcpy(w->ring + w->off, &none, sizeof(none));
	}
	return 0;
}

/* ---- what goes before an event ----------------------------------------------------------- */

/* A new epoch: a new reader has not seen the stacks that this slot wrote before. */
static __attribute__((noinline)) void begin_epoch(struct ring_writer *w, uint32_t epoch)
{
	w->epoch = epoch;
	w->thread_sent = 0;
	memset(w->seen, 0, sizeof(w->seen));
	memset(w->rate, 0, sizeof(w->rate));
}

static __attribute__((noinline)) uint8_t *write_thread(const struct ring_writer *w, uint8_t *at,
						       uint64_t time_ns)
{
	struct tapir_rec_thread rec = {
		.h = {.type = TAPIR_REC_THREAD,
		      .cpu = TAPIR_CPU_UNKNOWN,
		      .size = sizeof(rec),
		      .time_ns = time_ns},
		.tgid = w->tgid,
		.tid = w->tid,
		.ns_tgid = w->tgid,
		.ns_tid = w->tid,
	};

	ring_sys3(SYS_prctl, 16 /* PR_GET_NAME */, rec.comm, 0);
	memcpy(at, &rec, sizeof(rec));
	return at + sizeof(rec);
}

static uint32_t stack_bytes(const struct ring_walk *walk)
{
	return (uint32_t)(sizeof(struct tapir_rec_stack) + walk->frame_cnt * 8ull);
}

static __attribute__((noinline)) uint8_t *write_stack(uint8_t *at, const struct ring_walk *walk,
						      uint64_t time_ns)
{
	struct tapir_rec_stack rec = {
		.h = {.type = TAPIR_REC_STACK,
		      .cpu = TAPIR_CPU_UNKNOWN,
		      .size = stack_bytes(walk),
		      .time_ns = time_ns},
		.stack_id = walk->hash,
		.frame_cnt = (uint16_t)walk->frame_cnt,
		.flags = (uint16_t)walk->flags,
		.end = (uint8_t)walk->end,
	};

	memcpy(at, &rec, sizeof(rec));
	memcpy(at + sizeof(rec), walk->ips, walk->frame_cnt * 8ull);
	return at + rec.h.size;
}

/*
 * A bucket that fills at rate_hz tokens a second, up to a second's worth, with one in it for the
 * thread's first event: after t seconds never more than rate_hz * t + 1 events have passed.
 */
static int takes_token(struct ring_bucket *bucket, uint64_t rate_hz, uint64_t time_ns)
{
	const uint64_t token = 1000000000ull; /* a nanosecond is worth rate_hz */
	uint64_t elapsed_ns = time_ns - bucket->from_ns;

	if (!bucket->from_ns)
		bucket->credit = token;
	else if (elapsed_ns >= token || bucket->credit + elapsed_ns * rate_hz > token * rate_hz)
		bucket->credit = token * rate_hz;
	else
		bucket->credit += elapsed_ns * rate_hz;
	bucket->from_ns = time_ns;
	if (bucket->credit < token)
		return 0;
	bucket->credit -= token;
	return 1;
}

/* An event in a child whose tracer has not come yet: ring.h, FORK. */
static void note_inherited(uint32_t s)
{
	ring_loss__in_child(ring_process.parent_ctl, 1u << s);
	__atomic_fetch_add(&ring_process.arenas[0].data->inherited[s], 1, __ATOMIC_RELAXED);
}

/* The sessions with a rate that have had enough for now. */
static __attribute__((noinline)) uint32_t limited(struct ring_writer *w, uint32_t with_rate,
						  uint64_t time_ns)
{
	const struct tapir_ring_session *sessions = ring_process.ctl->sessions;
	uint32_t over = 0;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		uint64_t rate_hz;

		if (!(with_rate & (1u << s)))
			continue;
		rate_hz = ring_load(&sessions[s].rate_hz);
		if (rate_hz && !takes_token(&w->rate[s], rate_hz, time_ns))
			over |= 1u << s;
		if (ring_load_acquire(&sessions[s].state) == TAPIR_RING_INHERITED)
			note_inherited(s);
	}
	return over;
}

/* ---- the event --------------------------------------------------------------------------- */

struct plan {
	const struct tapir_ring_event *event;
	uint64_t word, time_ns, need;
	uint32_t payload_bytes, sessions;
	const struct tapir_ring_ids *ids;
	uint16_t flags;
	uint64_t stack_id;
	const struct ring_walk *new_stack; /* NULL: its frames were sent */
};

static inline void capture_stack(struct ring_writer *w, struct plan *plan, uint64_t fp)
{
	const struct ring_walk *walk = ring_walk__take(w, fp);

	if (!walk) {
		plan->flags |= TAPIR_EVENT_STACK_LOST;
		return;
	}
	plan->stack_id = walk->hash;
	if (__builtin_expect(w->seen[walk->hash & (RING_SEEN_CNT - 1)] != walk->hash, 0))
		plan->new_stack = walk;
}

/* Also those after the payload, and zeros up to them. Returns the place of the payload. */
static inline uint8_t *write_ids(uint8_t *rec, const struct plan *plan)
{
	uint8_t *at = rec + sizeof(struct tapir_rec_event), *end = rec + plan->need;

	if (__builtin_expect(plan->ids->trace != NULL, 0)) {
		end -= sizeof(struct tapir_trace_ids);
		memcpy(end, plan->ids->trace, sizeof(struct tapir_trace_ids));
	}
	if (plan->payload_bytes & 7)
		memset(end - 8, 0, 8);
	if (__builtin_expect(plan->ids->activity != NULL, 0)) {
		memcpy(at, plan->ids->activity, ID_BYTES);
		at += ID_BYTES;
	}
	if (__builtin_expect(plan->ids->related != NULL, 0)) {
		memcpy(at, plan->ids->related, ID_BYTES);
		at += ID_BYTES;
	}
	return at;
}

static inline uint8_t *write_event(const struct ring_writer *w, uint8_t *at,
				   const struct plan *plan)
{
	struct tapir_rec_event *rec = (struct tapir_rec_event *)(void *)at;

	rec->h.type = TAPIR_REC_EVENT;
	rec->h.cpu = TAPIR_CPU_UNKNOWN;
	rec->h.size = (uint32_t)plan->need;
	rec->h.time_ns = plan->time_ns;
	rec->probe_id = plan->event->id;
	rec->tgid = w->tgid;
	rec->tid = w->tid;
	rec->flags = plan->flags;
	rec->lane = TAPIR_LANE_RING;
	rec->pad0 = (uint8_t)plan->sessions;
	rec->payload_bytes = plan->payload_bytes;
	rec->fault_mask = 0;
	rec->pad1 = 0;
	rec->stack_id = plan->stack_id;
	return write_ids(at, plan);
}

/* Everything but the payload; the place of that, or NULL. */
static inline uint8_t *write_event_records(struct ring_writer *w, struct plan *plan)
{
	uint64_t thread = w->thread_sent ? 0 : sizeof(struct tapir_rec_thread);
	uint64_t stack = plan->new_stack ? stack_bytes(plan->new_stack) : 0;
	int64_t pad = room_for(w, thread + stack + plan->need);
	uint64_t off;
	uint8_t *at;

	/* The event is worth more than its stack: without it there may be room. */
	if (__builtin_expect(pad < 0 && stack, 0)) {
		plan->flags |= TAPIR_EVENT_STACK_LOST;
		plan->stack_id = 0;
		stack = 0;
		pad = room_for(w, thread + plan->need);
	}
	if (__builtin_expect(pad < 0, 0))
		pad = room_after_waiting(w, thread + plan->need, plan->sessions, plan->event->word);
	if (__builtin_expect(pad < 0, 0))
		return NULL;
	/*
	 * head moves at the commit, by all of this at once: a reader never sees half of an event,
	 * and one that is given up, or interrupted by the process's end, was never there.
	 */
	w->pending = (uint64_t)pad + thread + stack + plan->need;
	off = skip(w, (uint64_t)pad, thread + stack + plan->need);
	at = w->ring + off;
	w->pending_off = off + thread + stack + plan->need;
	if (__builtin_expect(thread != 0, 0)) {
		at = write_thread(w, at, plan->time_ns);
		w->thread_sent = 1;
	}
	if (__builtin_expect(stack != 0, 0)) {
		at = write_stack(at, plan->new_stack, plan->time_ns);
		w->seen[plan->stack_id & (RING_SEEN_CNT - 1)] = plan->stack_id;
	}
	return write_event(w, at, plan);
}

static inline void end_writing(struct ring_writer *w)
{
	ring_store_release(&w->slot->writing, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w->level->busy = 0;
}

/*
 * The thread's writer, in the lane of this life? A later lane may have given it to another thread,
 * which may be writing these two words.
 */
static inline int is_own(const struct ring_level *level, uint32_t life)
{
	const struct ring_writer *w = level->writer;

	return w && ring_load(&w->life) == life && ring_load(&w->level) == level;
}

/*
 * An event while the thread is busy: inside the writing of another one, or after that one was
 * left by a siglongjmp. 1: it was left; its bytes were never published. A handler's frame is below
 * that of what it interrupted: the same frame again is the same function after a jump.
 */
static int was_longjmped(const struct ring_level *level, uint64_t fp)
{
	struct ring_writer *w = level->writer;
	struct ring_stack alternate;

	if (!ring_is_alive() || !is_own(level, ring_load(ring_process.gate)) || fp < level->busy ||
	    !ring_stack__holds(&w->stack, fp) || ring_stack__alternate(&alternate))
		return 0;
	begin_epoch(w, w->epoch);
	return 1;
}

/*
 * The level for an event that finds level 0 busy; NULL: none is free. What was left at a level was
 * left at those inside it. Where level 0 is making the lane of a forked child, there is none yet.
 */
static __attribute__((noinline)) struct ring_level *find_level(struct ring_tls *t, uint64_t fp)
{
	struct ring_level *level = t->levels;

	if (was_longjmped(level, fp)) {
		t->levels[1].busy = 0;
		return level;
	}
	level++;
	if (!ring_is_alive())
		return NULL;
	return !level->busy || was_longjmped(level, fp) ? level : NULL;
}

/* Sets what the event's USDT site, which the thread reaches next, reports: 0 or sessions of ctl. */
static inline void report_taken_sessions(struct tapir_ring_write *write, uint32_t sessions)
{
	write->taken = sessions ? (uint64_t)(uintptr_t)ring_process.ctl | sessions : 0;
}

/* Returns the sessions whose tracer has its probe in this forked child, but no lane yet. */
static __attribute__((noinline)) uint32_t left_to_probes(uint32_t sessions)
{
	const struct tapir_ring_session *all = ring_process.ctl->sessions;
	int has_lane = ring_is_alive();
	uint32_t left = 0;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (sessions & (1u << s) && ring_load(&all[s].flags) & TAPIR_RING_HAS_PROBES &&
		    (!has_lane || ring_load_acquire(&all[s].state) == TAPIR_RING_INHERITED))
			left |= 1u << s;
	return left;
}

/* Returns the sessions that lose an event that is not written: they want it and have no probe. */
static uint32_t refused_sessions(const struct tapir_ring_event *event,
				 const struct tapir_ring_ids *ids)
{
	uint32_t sessions = ring_sessions_of(ring_load(event->word));

	return sessions && ids->is_probed ? sessions & ~left_to_probes(sessions) : sessions;
}

static __attribute__((noinline)) int nested(struct tapir_ring_write *write,
					    const struct ring_level *level,
					    const struct tapir_ring_event *event,
					    const struct tapir_ring_ids *ids)
{
	uint32_t sessions = refused_sessions(event, ids);

	if (ring_is_alive() && is_own(level, ring_load(ring_process.gate)))
		__atomic_fetch_add(&level->writer->slot->nested, 1, __ATOMIC_RELAXED);
	ring_loss__count(ring_event_row(event), sessions, TAPIR_RING_NESTED);
	report_taken_sessions(write, sessions);
	return 0;
}

static __attribute__((noinline)) int no_writer(struct tapir_ring_write *write,
					       const struct tapir_ring_event *event,
					       const struct tapir_ring_ids *ids)
{
	uint32_t sessions = refused_sessions(event, ids);

	ring_loss__count(ring_event_row(event), sessions, TAPIR_RING_NO_SLOT);
	report_taken_sessions(write, sessions);
	return 0;
}

static __attribute__((noinline)) int too_large(const struct plan *plan)
{
	ring_loss__count(ring_event_row(plan->event), plan->sessions, TAPIR_RING_TOO_LARGE);
	return 0;
}

static __attribute__((noinline)) struct ring_writer *first_event(struct ring_tls *t,
								 struct ring_level *level)
{
	struct ring_writer *w;

	if (level->refused && ++level->refused % RETRY_EVENTS)
		return NULL;
	level->writer = NULL; /* of a lane that is no more: a child frees it */
	w = ring_slot__claim(level != t->levels);
	if (w)
		ring_store(&w->level, level);
	level->writer = w;
	level->refused = !w;
	return w;
}

static void give_back_all(struct ring_tls *t)
{
	for (uint32_t i = 0; i < RING_LEVELS; i++) {
		/* The key may have that of a lane that is no more. */
		struct ring_writer *w = t->levels[i].writer;

		t->levels[i].writer = NULL;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (w)
			ring_slot__give_back(w);
	}
}

/* The thread exits: destructor of its key. Events of later destructors begin anew. */
void ring_slot__leave(void *thread)
{
	__atomic_fetch_add(&ring_process.leaving_cnt, 1, __ATOMIC_SEQ_CST);
#ifdef TAPIR_RING_NO_TLS
	give_back_all(thread);
	ring_thread__free(thread);
#else
	(void)thread;
	give_back_all(&tls);
#endif
	__atomic_fetch_sub(&ring_process.leaving_cnt, 1, __ATOMIC_RELEASE);
}

static int write_begun(struct tapir_ring_write *write, struct ring_writer *w, struct plan *plan,
		       uint64_t fp)
{
	uint32_t epoch = ring_load(&ring_process.ctl->epoch), with_rate;
	uint8_t *payload;

	if (__builtin_expect(plan->payload_bytes > TAPIR_RING_PAYLOAD_BYTES, 0))
		return too_large(plan);
	/*
	 * Before the clock and the stack, which cost most: a full ring is where events are dropped
	 * by the thousand.
	 */
	if (__builtin_expect(room_for(w, plan->need) < 0, 0) &&
	    room_after_waiting(w, plan->need, plan->sessions, plan->event->word) < 0)
		return drop_event(w, plan->event, plan->sessions);
	plan->time_ns = ring_now_ns();
	/*
	 * No thread of the library's watches for tracers that died: a thread that fires looks, at
	 * times.
	 */
	if (__builtin_expect(plan->time_ns >= ring_load(&ring_process.next_life_ns), 0))
		tracer_liveness__check(plan->time_ns);
	if (__builtin_expect(epoch != w->epoch, 0))
		begin_epoch(w, epoch);
	with_rate = (uint32_t)(plan->word >> TAPIR_RING_RATE_SHIFT) & plan->sessions;
	if (__builtin_expect(with_rate != 0, 0)) {
		uint32_t over = limited(w, with_rate, plan->time_ns);

		if (over)
			ring_loss__count(ring_event_row(plan->event), over, TAPIR_RING_LIMITED);
		plan->sessions &= ~over;
		if (!plan->sessions)
			return 0;
	}
	if ((plan->word >> TAPIR_RING_STACK_SHIFT) & plan->sessions)
		capture_stack(w, plan, fp);
	payload = write_event_records(w, plan);
	if (__builtin_expect(!payload, 0))
		return drop_event(w, plan->event, plan->sessions);
	write->payload = payload;
	write->writer = w;
	write->life = w->life;
	return 1;
}

static inline __attribute__((always_inline)) int
begin_event(struct tapir_ring_write *write, const struct tapir_ring_event *event,
	    uint32_t payload_bytes, const struct tapir_ring_ids *ids, uint32_t only, uint64_t fp)
{
	struct ring_tls *t = this_thread();
	struct ring_level *level;
	struct ring_writer *w;
	struct plan plan;
	uint32_t life;

	if (__builtin_expect(!t, 0))
		return no_writer(write, event, ids);
	level = t->levels;
	if (__builtin_expect(level->busy != 0, 0)) {
		level = find_level(t, fp);
		if (!level)
			return nested(write, t->levels, event, ids);
	}
	level->busy = fp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	w = level->writer;
	life = ring_load(ring_process.gate);
	/* Another's by now: the lane was taken down and made anew. */
	if (__builtin_expect(life < RING_FIRST_LIFE || !is_own(level, life), 0)) {
		w = first_event(t, level);
		if (!w) {
			level->busy = 0;
			return no_writer(write, event, ids);
		}
	}
	w->writing += 2;
	ring_store(&w->slot->writing, w->writing | 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	plan.event = event;
	plan.word = ring_load(event->word);
	plan.sessions = ring_sessions_of(plan.word) & only;
	if (__builtin_expect(ring_load(&ring_process.parent_ctl) && ids->is_probed, 0))
		plan.sessions &= ~left_to_probes(plan.sessions);
	report_taken_sessions(write, plan.sessions);
	plan.payload_bytes = payload_bytes;
	plan.ids = ids;
	plan.flags = (uint16_t)((ids->activity ? TAPIR_EVENT_ACTIVITY : 0) |
				(ids->related ? TAPIR_EVENT_RELATED : 0) |
				(ids->trace ? TAPIR_EVENT_TRACE_IDS : 0));
	plan.need = sizeof(struct tapir_rec_event) + tapir_event__optional_bytes(plan.flags) +
		    ring_round8(payload_bytes) + tapir_event__trailing_bytes(plan.flags);
	plan.new_stack = NULL;
	plan.stack_id = 0;
	if (__builtin_expect(plan.sessions && write_begun(write, w, &plan, fp), 1))
		return 1;
	end_writing(w);
	return 0;
}

static const struct tapir_ring_ids no_ids;

__attribute__((noinline)) int tapir_ring__begin(struct tapir_ring_write *write,
						const struct tapir_ring_event *event,
						uint32_t payload_bytes)
{
	return begin_event(write, event, payload_bytes, &no_ids, ALL_SESSIONS,
			   (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

__attribute__((noinline)) int
tapir_ring__begin_with_ids(struct tapir_ring_write *write, const struct tapir_ring_event *event,
			   uint32_t payload_bytes, const uint8_t *activity, const uint8_t *related)
{
	const struct tapir_ring_ids ids = {activity, related, NULL, 0};

	return begin_event(write, event, payload_bytes, &ids, ALL_SESSIONS,
			   (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

__attribute__((noinline)) int
tapir_ring__begin_at(struct tapir_ring_write *write, const struct tapir_ring_event *event,
		     uint32_t payload_bytes, const struct tapir_ring_ids *ids, const void *frame)
{
	return begin_event(write, event, payload_bytes, ids, ALL_SESSIONS,
			   (uint64_t)(uintptr_t)frame);
}

__attribute__((noinline)) int tapir_ring__begin_for(struct tapir_ring_write *write,
						    const struct tapir_ring_event *event,
						    uint32_t payload_bytes, uint32_t sessions,
						    const void *frame)
{
	return begin_event(write, event, payload_bytes, &no_ids, sessions,
			   (uint64_t)(uintptr_t)frame);
}

void tapir_ring__commit(struct tapir_ring_write *write)
{
	struct ring_writer *w = write->writer;

	/* Forked since it began: it is the parent's to commit. */
	if (__builtin_expect(write->life == ring_load(ring_process.gate), 1)) {
		w->head += w->pending;
		w->pending = 0; /* committed twice it publishes nothing */
		w->off = w->pending_off;
		ring_store_release(&w->slot->head, w->head);
	}
	end_writing(w);
}
