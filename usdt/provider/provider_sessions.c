/* SPDX-License-Identifier: MIT */
/*
 * provider_sessions.c - sessions inside the process: which events each wants, and who is inside.
 *
 * A thread that fires counts itself into the session (one of 16 counters, by thread, a cache line
 * each), looks again whether the session wants the event, hands it over, and leaves. Whoever closes
 * a session takes its bit out of all events first, then waits until each counter was 0 once: a
 * thread that comes later finds the bit gone. That is all the synchronisation there is on the hot
 * path: two atomic additions to a line that only threads of the same shard write.
 */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "../ring/ring_sys.h"
#include "provider_kinds.h"

#define SHARDS	      16u
#define LINE_BYTES    64u
#define STEP_NS	      100000
#define WAIT_NS	      2000000000ull
#define SELECTION_MAX 1024u

enum state { FREE = 0, OPEN = 1, CLOSING = 2, LOST = 3 };

struct shard {
	int64_t cnt;
	uint8_t pad0[LINE_BYTES - sizeof(int64_t)];
};

static struct session {
	uint32_t state; /* enum state */
	uint32_t kind;
	const struct provider_session_ops *ops;
	void *ctx;
	struct tapir_selection *selections; /* with their texts, one allocation */
	uint32_t selection_cnt;
	uint32_t pad0;
	struct shard inside[SHARDS];
} sessions[PROVIDER_IN_PROCESS];

const struct tapir_event_kind *provider_kinds[TAPIR_MAX_EVENTS];

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

static uint32_t my_shard(void)
{
	if (__builtin_expect(!self.shard, 0))
		self.shard = __atomic_fetch_add(&next_shard, 1, __ATOMIC_RELAXED) % SHARDS + 1;
	return self.shard - 1;
}

uint32_t provider_shard(void)
{
	return my_shard();
}

/* ---- the hot path ------------------------------------------------------------------------- */

static int enter(uint32_t idx, const struct event_state *state)
{
	__atomic_fetch_add(&sessions[idx].inside[my_shard()].cnt, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&state->wants, __ATOMIC_SEQ_CST) >> idx & 1)
		return 1;
	__atomic_fetch_sub(&sessions[idx].inside[my_shard()].cnt, 1, __ATOMIC_RELEASE);
	return 0;
}

static void leave(uint32_t idx)
{
	__atomic_fetch_sub(&sessions[idx].inside[my_shard()].cnt, 1, __ATOMIC_RELEASE);
}

int provider_sessions__begin(struct process_write *w, struct tapir_event *event, uint64_t wants,
			     uint32_t bytes)
{
	struct event_state *state = event_state__of(event);

	w->first.bytes = bytes;
	for (; wants; wants &= wants - 1) {
		uint32_t idx = (uint32_t)__builtin_ctzll(wants);

		if (!enter(idx, state))
			continue;
		w->first.kind = prov_load(&provider_kinds[state->table_idx]);
		if (w->first.kind && sessions[idx].ops->reserve(sessions[idx].ctx, &w->first)) {
			w->first_idx = idx;
			w->others = wants & (wants - 1);
			return 1;
		}
		leave(idx);
	}
	return 0;
}

static void give(uint32_t idx, const struct event_state *state, struct session_write *write,
		 const uint8_t *payload)
{
	if (!enter(idx, state))
		return;
	write->kind = prov_load(&provider_kinds[state->table_idx]);
	if (write->kind && sessions[idx].ops->reserve(sessions[idx].ctx, write)) {
		memcpy(write->payload, payload, write->bytes);
		sessions[idx].ops->commit(sessions[idx].ctx, write);
	}
	leave(idx);
}

void provider_sessions__commit(struct process_write *w, struct tapir_event *event,
			       const uint8_t *payload)
{
	struct session_write write = w->first;

	/* The first one's last: a logger may keep its payload no longer than its call. */
	for (uint64_t others = w->others; others; others &= others - 1)
		give((uint32_t)__builtin_ctzll(others), event_state__of(event), &write, payload);
	if (w->first_idx == PROVIDER_IN_PROCESS)
		return;
	sessions[w->first_idx].ops->commit(sessions[w->first_idx].ctx, &w->first);
	leave(w->first_idx);
}

/* ---- what they want ----------------------------------------------------------------------- */

static int globs(const char *pattern, const char *text)
{
	return tapir_ring__glob(pattern, strlen(pattern) + 1, text);
}

static int selects(const struct tapir_selection *sel, const char *provider,
		   const struct tapir_event_about *about)
{
	if (sel->level && about->level > sel->level)
		return 0;
	if (sel->keywords && about->keywords && !(sel->keywords & about->keywords))
		return 0;
	return globs(sel->provider, provider) && (!sel->event || globs(sel->event, about->name));
}

static int wants(const struct session *s, const struct tapir_event *event)
{
	const struct event_state *state = event_state__of((struct tapir_event *)(uintptr_t)event);

	for (uint32_t i = 0; s->state == OPEN && i < s->selection_cnt; i++)
		if (selects(&s->selections[i], state->provider->name, event->about))
			return 1;
	return 0;
}

static const struct tapir_event_kind *kind_of(const struct tapir_event *event)
{
	const struct tapir_provider *p =
		event_state__of((struct tapir_event *)(uintptr_t)event)->provider;

	for (uint32_t i = 0; i < p->event_cnt; i++)
		if (p->events[i].event == event)
			return provider_kind__of(p, &p->events[i]);
	return NULL;
}

void provider_sessions__judge(struct tapir_event *event)
{
	struct event_state *state = event_state__of(event);
	uint64_t bits = 0;

	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++)
		if (wants(&sessions[i], event))
			bits |= 1ull << i;
	if (bits && !provider_kinds[state->table_idx])
		prov_store_release(&provider_kinds[state->table_idx], kind_of(event));
	__atomic_store_n(&state->wants, bits, __ATOMIC_SEQ_CST);
	event__set_sessions(event, TAPIR_SESSIONS_PROCESS, bits != 0);
}

static void judge_all(void)
{
	for (uint32_t i = 0; i < provider_table_cnt; i++)
		if (provider_table[i])
			provider_sessions__judge(provider_table[i]);
}

void provider_sessions__asked(uint32_t idx, const char *provider, struct provider_told *now,
			      const char **filter)
{
	const struct session *s = &sessions[idx];

	for (uint32_t i = 0; s->state == OPEN && i < s->selection_cnt; i++) {
		const struct tapir_selection *sel = &s->selections[i];
		uint8_t level =
			sel->level && sel->level < TAPIR_VERBOSE ? sel->level : TAPIR_VERBOSE;

		if (!globs(sel->provider, provider))
			continue;
		now->is_on = 1;
		now->kind = (uint8_t)s->kind;
		now->keywords |= sel->keywords ? sel->keywords : ~0ull;
		if (level > now->level)
			now->level = level;
		if (sel->filter && !**filter)
			*filter = sel->filter;
	}
}

/* ---- who is inside ------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Each shard was 0 once. 0: it took too long. */
static int wait_until_left(const struct session *s)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t until_ns = now_ns() + WAIT_NS;

	for (uint32_t i = 0; i < SHARDS; i++) {
		for (uint32_t tries = 0; __atomic_load_n(&s->inside[i].cnt, __ATOMIC_SEQ_CST);
		     tries++) {
			if (now_ns() > until_ns)
				return 0;
			if (tries < 100)
				sched_yield();
			else
				nanosleep(&step, NULL);
		}
	}
	return 1;
}

void provider_sessions__leave_event(struct tapir_event *event)
{
	struct event_state *state = event_state__of(event);
	uint64_t wanted = __atomic_exchange_n(&state->wants, 0, __ATOMIC_SEQ_CST);

	for (; wanted; wanted &= wanted - 1)
		wait_until_left(&sessions[__builtin_ctzll(wanted)]);
	prov_store(&provider_kinds[state->table_idx], NULL);
}

/* ---- open and close ----------------------------------------------------------------------- */

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **at, const char *text)
{
	char *copy = *at;

	if (!text)
		return NULL;
	strcpy(copy, text);
	*at += strlen(text) + 1;
	return copy;
}

static struct tapir_selection *copy_selections(const struct tapir_selection *from, uint32_t cnt)
{
	size_t bytes = cnt * sizeof(*from);
	struct tapir_selection *to;
	char *at;

	for (uint32_t i = 0; i < cnt; i++)
		bytes += text_bytes(from[i].provider) + text_bytes(from[i].event) +
			 text_bytes(from[i].filter);
	to = malloc(bytes);
	if (!to)
		return NULL;
	memcpy(to, from, cnt * sizeof(*from));
	at = (char *)(to + cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		to[i].provider = copy_text(&at, from[i].provider);
		to[i].event = copy_text(&at, from[i].event);
		to[i].filter = copy_text(&at, from[i].filter);
	}
	return to;
}

static struct session *find_free(void)
{
	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++)
		if (sessions[i].state == FREE)
			return &sessions[i];
	return NULL;
}

int provider_session__open(const struct provider_session_ops *ops, void *ctx, uint32_t kind,
			   const struct tapir_selection *selections, uint32_t cnt, uint32_t *idx)
{
	struct tapir_selection *copy;
	struct session *s;
	int err = 0;

	if (!selections || !cnt || cnt > SELECTION_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < cnt; i++)
		if (!selections[i].provider || !*selections[i].provider)
			return -EINVAL;
	copy = copy_selections(selections, cnt);
	if (!copy)
		return -ENOMEM;
	provider_lock();
	s = find_free();
	if (s) {
		s->ops = ops;
		s->ctx = ctx;
		s->kind = kind;
		s->selections = copy;
		s->selection_cnt = cnt;
		s->state = OPEN;
		*idx = (uint32_t)(s - sessions);
		judge_all();
		provider_poller__wake();
	} else {
		free(copy);
		err = -EBUSY;
	}
	provider_unlock();
	return err;
}

static int is_any_open(void)
{
	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++)
		if (sessions[i].state != FREE)
			return 1;
	return 0;
}

int provider_session__close(uint32_t idx)
{
	struct session *s = &sessions[idx];
	int has_left;

	provider_lock();
	s->state = CLOSING;
	judge_all();
	provider_poller__wake();
	provider_unlock();
	has_left = wait_until_left(s);
	provider_lock();
	free(s->selections);
	s->selections = NULL;
	s->selection_cnt = 0;
	if (!has_left)
		s->state = LOST;
	provider_unlock();
	return has_left;
}

void provider_session__closed(uint32_t idx)
{
	provider_lock();
	if (sessions[idx].state == CLOSING)
		sessions[idx].state = FREE;
	if (!is_any_open()) {
		memset(provider_kinds, 0, provider_table_cnt * sizeof(provider_kinds[0]));
		provider_kinds__free();
	}
	provider_unlock();
}

/* ---- fork --------------------------------------------------------------------------------- */

/* Threads that were inside are not here, nor are those that would serve the sessions: they end. */
void provider_sessions__forked(void)
{
	self.tid = 0;
	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++) {
		sessions[i].state = FREE;
		sessions[i].selections = NULL;
		sessions[i].selection_cnt = 0;
		for (uint32_t n = 0; n < SHARDS; n++)
			sessions[i].inside[n].cnt = 0;
	}
}
