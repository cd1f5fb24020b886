/* SPDX-License-Identifier: MIT */
/*
 * provider_sessions.c - sessions inside the process: which events each wants, and their end. How
 * threads that fire and a session that closes agree: provider_session.h.
 */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "provider_kinds.h"
#include "provider_session.h"

#define STEP_NS	      100000
#define WAIT_NS	      2000000000ull
#define SELECTION_MAX 1024u

struct provider_session provider_sessions[PROVIDER_IN_PROCESS];
const struct tapir_event_kind *provider_kinds[TAPIR_MAX_EVENTS];

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

static int session_wants(const struct provider_session *s, struct tapir_event *event)
{
	const struct event_state *state = event_state__of(event);

	for (uint32_t i = 0; s->state == SESSION_OPEN && i < s->selection_cnt; i++)
		if (selects(&s->selections[i], state->provider->name, event->about))
			return !s->ops->wants || s->ops->wants(s->ctx, event);
	return 0;
}

static const struct tapir_event_kind *event_kind_of_state(const struct event_state *state)
{
	return provider_kind__of(state->provider, &state->provider->events[state->provider_idx]);
}

void provider_sessions__match(struct tapir_event *event)
{
	struct event_state *state = event_state__of(event);
	uint64_t bits = 0;

	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++)
		if (session_wants(&provider_sessions[i], event))
			bits |= 1ull << i;
	if (bits && !provider_kinds[state->table_idx])
		prov_store_release(&provider_kinds[state->table_idx], event_kind_of_state(state));
	order_release(&provider_kinds[state->table_idx]);
	__atomic_store_n(&state->wants, bits, __ATOMIC_SEQ_CST);
	event__set_sessions(event, TAPIR_SESSIONS_PROCESS, bits != 0);
}

void provider_sessions__match_all(void)
{
	for (uint32_t i = 0; i < provider_table_cnt; i++)
		if (provider_table[i])
			provider_sessions__match(provider_table[i]);
}

void provider_sessions__requested(uint32_t idx, const char *provider, struct last_notified *now,
				  const char **filter)
{
	const struct provider_session *s = &provider_sessions[idx];

	for (uint32_t i = 0; s->state == SESSION_OPEN && i < s->selection_cnt; i++) {
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

uint32_t provider_sessions__opened_cnt(uint32_t idx)
{
	return provider_sessions[idx].opened_cnt;
}

/* ---- who is inside ------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* Each shard was 0 once. 0: it took too long. */
static int wait_until_left(const struct provider_session *s)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t until_ns = now_ns() + WAIT_NS;

	for (uint32_t i = 0; i < PROVIDER_SHARDS; i++) {
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
	order_acquire(s);
	return 1;
}

void provider_sessions__leave_event(struct tapir_event *event)
{
	struct event_state *state = event_state__of(event);
	uint64_t wanted = __atomic_exchange_n(&state->wants, 0, __ATOMIC_SEQ_CST);

	for (; wanted; wanted &= wanted - 1)
		wait_until_left(&provider_sessions[__builtin_ctzll(wanted)]);
	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++) {
		const struct provider_session *s = &provider_sessions[i];

		if (s->state == SESSION_OPEN && s->ops->leave)
			s->ops->leave(s->ctx, event);
	}
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

static struct provider_session *find_free(void)
{
	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++)
		if (provider_sessions[i].state == SESSION_FREE)
			return &provider_sessions[i];
	return NULL;
}

int provider_session__open(const struct provider_session_ops *ops, void *ctx, uint32_t kind,
			   const struct tapir_selection *selections, uint32_t cnt, uint32_t *idx)
{
	struct tapir_selection *copy;
	struct provider_session *s;
	int err = 0;

	if (!selections || !cnt || cnt > SELECTION_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < cnt; i++)
		if (!selections[i].provider || !*selections[i].provider)
			return -EINVAL;
	/*
	 * Copied before the lock is taken: malloc(3) may be slow, and events that are registered
	 * wait.
	 */
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
		s->opened_cnt++;
		s->state = SESSION_OPEN;
		*idx = (uint32_t)(s - provider_sessions);
		/*
		 * Before the events are enabled: from the first event on, a firing thread has to
		 * know that this session is called and not copied.
		 */
		if (kind == TAPIR_SESSION_LOGGER)
			__atomic_fetch_or(&provider_logger_mask, 1ull << *idx, __ATOMIC_SEQ_CST);
		provider_sessions__match_all();
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
		if (provider_sessions[i].state != SESSION_FREE)
			return 1;
	return 0;
}

int provider_session__close(uint32_t idx)
{
	struct provider_session *s = &provider_sessions[idx];
	int has_left;

	provider_lock();
	s->state = SESSION_CLOSING;
	provider_sessions__match_all();
	provider_poller__wake();
	provider_unlock();
	has_left = wait_until_left(s);
	provider_lock();
	free(s->selections);
	s->selections = NULL;
	s->selection_cnt = 0;
	if (!has_left)
		s->state = SESSION_LOST;
	provider_unlock();
	return has_left;
}

void provider_session__closed(uint32_t idx)
{
	provider_lock();
	__atomic_fetch_and(&provider_logger_mask, ~(1ull << idx), __ATOMIC_SEQ_CST);
	if (provider_sessions[idx].state == SESSION_CLOSING)
		provider_sessions[idx].state = SESSION_FREE;
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
	provider_dispatch__forked();
	provider_loggers__forked();
	for (uint32_t i = 0; i < PROVIDER_IN_PROCESS; i++) {
		provider_sessions[i].state = SESSION_FREE;
		provider_sessions[i].selections = NULL;
		provider_sessions[i].selection_cnt = 0;
		for (uint32_t n = 0; n < PROVIDER_SHARDS; n++)
			provider_sessions[i].inside[n].cnt = 0;
	}
}
