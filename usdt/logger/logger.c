/* SPDX-License-Identifier: MIT */
/*
 * logger.c - sessions that are a function of the program's, called on the thread that fires.
 *
 * The payload is serialized into one of 64 buffers, from which the other sessions copy it; the
 * functions are called when those and the ring lane have it, since they may take any time and may
 * fire events themselves.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../provider/provider_kinds.h"
#include "../provider/provider_session.h"
#include "../ring/ring_impl.h"
#include "logger_impl.h"

#define SLOT_CNT 64u
#define ROWS	 16384u /* of losses, by kind; the last is for all others */

struct tapir_logger {
	tapir_logger_fn fn;
	void *ctx;
	uint32_t flags, session;
	pid_t pid;
	uint32_t pad0;
	const struct logger_choice *choice;
	uint64_t lost[ROWS];
};

uint64_t provider_logger_mask;

static struct {
	uint8_t *room; /* under the lock; kept while the library is in use */
	uint64_t taken;
} slots;

static __thread struct {
	uint32_t is_inside; /* a logger's function */
	uint32_t pad0;
	struct tapir_event *event; /* it is for */
	struct ring_stack stack;
} self;

/* ---- firing ------------------------------------------------------------------------------- */

static void count_loss(struct tapir_logger *l, const struct tapir_event_kind *kind)
{
	uint32_t row = kind && kind->idx < ROWS ? kind->idx : ROWS - 1;

	__atomic_fetch_add(&l->lost[row], 1, __ATOMIC_RELAXED);
}

/*
 * Called only if the session's slot was one of another kind a moment ago: the event is counted as
 * lost.
 */
static int reserve(void *ctx, struct session_write *write)
{
	count_loss(ctx, write->kind);
	return 0;
}

static void commit(void *ctx, struct session_write *write)
{
	(void)ctx, (void)write;
}

static int logger_wants(void *ctx, struct tapir_event *event)
{
	const struct tapir_logger *l = ctx;

	return !l->choice || l->choice->wants(l->ctx, event);
}

static void leave_logger(void *ctx, struct tapir_event *event)
{
	const struct tapir_logger *l = ctx;

	if (l->choice)
		l->choice->leave(l->ctx, event);
}

static const struct provider_session_ops logger_ops = {
	.reserve = reserve, .commit = commit, .wants = logger_wants, .leave = leave_logger};

static const struct event_state *state_of(const struct tapir_event *event)
{
	return event_state__of((struct tapir_event *)(uintptr_t)event);
}

/* SLOT_CNT: none is free. Threads begin at different ones. */
static uint32_t take_slot(void)
{
	uint32_t turn = provider_shard() * (SLOT_CNT / 16);
	uint64_t seen = prov_load(&slots.taken);
	uint32_t idx;

	do {
		uint64_t from_turn = ~(seen >> turn | (turn ? seen << (SLOT_CNT - turn) : 0));

		if (!~seen)
			return SLOT_CNT;
		idx = ((uint32_t)__builtin_ctzll(from_turn) + turn) % SLOT_CNT;
	} while (!__atomic_compare_exchange_n(&slots.taken, &seen, seen | 1ull << idx, 1,
					      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
	order_acquire(&slots.taken);
	return idx;
}

static void give_slot(uint32_t idx)
{
	order_release(&slots.taken);
	__atomic_fetch_and(&slots.taken, ~(1ull << idx), __ATOMIC_RELEASE);
}

static void lose(const struct tapir_event *event, uint64_t loggers)
{
	const struct event_state *state = state_of(event);

	for (; loggers; loggers &= loggers - 1) {
		uint32_t idx = (uint32_t)__builtin_ctzll(loggers);

		if (!provider_session__enter(idx, state))
			continue;
		if (provider_sessions[idx].ops == &logger_ops)
			count_loss(provider_sessions[idx].ctx,
				   prov_load(&provider_kinds[state->table_idx]));
		provider_session__leave(idx);
	}
}

uint8_t *provider_loggers__begin(struct process_write *w, const struct tapir_event *event,
				 uint64_t loggers, uint32_t bytes)
{
	uint32_t idx = bytes > TAPIR_PAYLOAD_BYTES || self.is_inside ? SLOT_CNT : take_slot();

	if (idx == SLOT_CNT) {
		lose(event, loggers);
		return NULL;
	}
	w->loggers = loggers;
	w->logger_slot = idx;
	return prov_load_acquire(&slots.room) + (size_t)idx * TAPIR_PAYLOAD_BYTES;
}

/* A handler that interrupts the search must not see half of what it found. */
static struct ring_stack own_stack(uint64_t fp)
{
	struct ring_stack found = self.stack;

	if (found.high)
		return found;
	ring_stack__retry(&found, fp);
	self.stack.low = found.low;
	self.stack.mapped = found.mapped;
	self.stack.tries = found.tries;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self.stack.high = found.high;
	return found;
}

static __attribute__((noinline)) void
call_with_stack(const struct tapir_logger *l, struct tapir_event_record *record, const void *frame)
{
	struct ring_stack stack = own_stack((uint64_t)(uintptr_t)frame);
	struct ring_walk walk = {.from = 0};
	const struct ring_walk *taken = ring_walk__once(&stack, &walk, (uint64_t)(uintptr_t)frame);

	if (taken) {
		record->stack = taken->ips;
		record->stack_id = taken->hash;
		record->stack_cnt = taken->frame_cnt;
	}
	l->fn(record, l->ctx);
	record->stack = NULL;
	record->stack_id = 0;
	record->stack_cnt = 0;
}

static void call(uint32_t idx, struct tapir_event_record *record, const void *frame)
{
	const struct tapir_logger *l = provider_sessions[idx].ctx;

	if (l->flags & TAPIR_LOGGER_STACKS)
		call_with_stack(l, record, frame);
	else
		l->fn(record, l->ctx);
}

void provider_loggers__commit(struct process_write *w, const struct tapir_event *event,
			      const uint8_t *payload, const void *frame)
{
	const struct event_state *state = state_of(event);
	struct tapir_event_record record = {
		.payload = payload,
		.time_ns = ring_now_ns(),
		.payload_bytes = w->first.bytes,
		.tid = provider_tid(),
		.activity = w->first.activity,
		.related = w->first.related,
	};

	self.is_inside = 1;
	self.event = (struct tapir_event *)(uintptr_t)event;
	for (uint64_t loggers = w->loggers; loggers; loggers &= loggers - 1) {
		uint32_t idx = (uint32_t)__builtin_ctzll(loggers);

		if (!provider_session__enter(idx, state))
			continue;
		record.kind = prov_load(&provider_kinds[state->table_idx]);
		if (record.kind && provider_sessions[idx].ops == &logger_ops)
			call(idx, &record, frame);
		provider_session__leave(idx);
	}
	self.is_inside = 0;
	give_slot(w->logger_slot);
}

struct tapir_event *logger__event(void)
{
	return self.event;
}

/* ---- open and close ----------------------------------------------------------------------- */

static int make_slots(void)
{
	void *room = NULL;

	provider_lock();
	if (!slots.room) {
		room = mmap(NULL, (size_t)SLOT_CNT * TAPIR_PAYLOAD_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (room != MAP_FAILED)
			prov_store_release(&slots.room, room);
	}
	provider_unlock();
	return room == MAP_FAILED ? -ENOMEM : 0;
}

int logger__open(const struct tapir_selection *selections, uint32_t cnt, tapir_logger_fn fn,
		 void *ctx, const struct tapir_logger_opts *opts,
		 const struct logger_choice *choice, struct tapir_logger **out)
{
	int saved = errno, err = 0;
	struct tapir_logger *l = NULL;

	if (!fn || !out ||
	    (opts && (opts->size < sizeof(*opts) || opts->flags & ~TAPIR_LOGGER_STACKS)))
		err = -EINVAL;
	if (!err) {
		l = calloc(1, sizeof(*l));
		err = l ? make_slots() : -ENOMEM;
	}
	if (!err) {
		/*
		 * All is filled before the session is open: from then on any thread may call the
		 * function.
		 */
		l->fn = fn;
		l->ctx = ctx;
		l->flags = opts ? opts->flags : 0;
		l->pid = getpid();
		l->choice = choice;
		err = provider_session__open(&logger_ops, l, TAPIR_SESSION_LOGGER, selections, cnt,
					     &l->session);
	}
	if (err)
		free(l);
	else
		*out = l;
	errno = saved;
	return err;
}

int tapir_logger__open(const struct tapir_selection *selections, uint32_t cnt, tapir_logger_fn fn,
		       void *ctx, const struct tapir_logger_opts *opts, struct tapir_logger **out)
{
	return logger__open(selections, cnt, fn, ctx, opts, NULL, out);
}

int tapir_logger__close(struct tapir_logger *logger)
{
	int saved = errno, has_left = 1;
	uint32_t session;

	if (!logger)
		return 0;
	session = logger->session;
	if (logger->pid == getpid()) {
		if (self.is_inside)
			return -EDEADLK;
		has_left = provider_session__close(session);
		provider_session__closed(session);
	}
	if (has_left)
		free(logger);
	errno = saved;
	return has_left ? 0 : -ETIMEDOUT;
}

uint64_t tapir_logger__lost(const struct tapir_logger *logger, const char *provider)
{
	return provider_kinds__sum(logger->lost, ROWS, provider);
}

/* Threads that were inside are not here, but for the one that forked, maybe in a logger. */
void provider_loggers__forked(void)
{
	provider_logger_mask = 0;
	if (!self.is_inside)
		slots.taken = 0;
}

void provider_loggers__fini(void)
{
	if (slots.room)
		munmap(slots.room, (size_t)SLOT_CNT * TAPIR_PAYLOAD_BYTES);
	slots.room = NULL;
}
