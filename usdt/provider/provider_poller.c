/* SPDX-License-Identifier: MIT */
/*
 * provider_poller.c - the library's thread. It waits at the lane's `generation`, copies interest
 * from the lane's words into those of events, calls back, and stores `applied`. It polls semaphores
 * only for providers that have a callback, and for events whose probe is the JSON one.
 *
 * Where the thread is not there (a forked child, TAPIR_PROVIDER_NO_THREAD, no resources) events
 * are marked TAPIR_SESSIONS_CHECK, and firing checks the words itself. If a provider says so
 * (TAPIR_PROVIDER_CHILD_THREAD), a child's event starts the thread if something is polled there,
 * but not from within a signal handler, which may have interrupted malloc: see restore.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "../ring/ring_sys.h"
#include "provider_impl.h"

#define STACK_BYTES    (256ul * 1024) /* callbacks run on it */
#define STOP_STEP_NS   1000000
#define PASS_MAX       64u /* in one round: changes that never end must not hold it up */
#define IDLE_MS	       1000
#define RESTORE_EVENTS 64u

static struct {
	pthread_t thread;
	uint32_t is_running; /* it was started and has not been joined */
	uint32_t is_stopping, is_done;
	struct tapir_provider *calling; /* whose callback runs now */
	struct tapir_provider *next;	/* the provider after it in a pass */
	uint32_t has_turn;		/* `caller` makes passes now */
	pthread_t caller;
	uint32_t futex; /* waited at where there is no lane */
} poller;

/* ---- words -------------------------------------------------------------------------------- */

static void borrow_semaphore(struct tapir_event *event)
{
	uint16_t now = (uint16_t)provider_json_is_on(event->about->level);

	if (event->word.half.semaphore != now)
		prov_store(&event->word.half.semaphore, now);
}

void provider_poller__refresh_event(struct tapir_event *event)
{
	int is_polled = poller.is_running && !poller.is_stopping;
	struct event_state *state = event_state__of(event);
	uint16_t now, sessions;

	if (event->flags & EVENT_AS_JSON)
		borrow_semaphore(event);
	now = prov_load(&event->word.half.sessions);
	sessions = prov_load(&state->wants) ? TAPIR_SESSIONS_PROCESS : 0;
	if (tapir_ring__wanted(&state->ring))
		sessions |= TAPIR_SESSIONS_RING;
	if (!is_polled || state->is_unlisted == ENOSPC)
		sessions |= TAPIR_SESSIONS_CHECK;
	if (now != sessions)
		__atomic_store_n(&event->word.half.sessions, sessions, __ATOMIC_SEQ_CST);
}

void provider_poller__refresh(void)
{
	for (uint32_t i = 0; i < provider_table_cnt; i++)
		if (provider_table[i])
			provider_poller__refresh_event(provider_table[i]);
}

/* ---- callbacks ---------------------------------------------------------------------------- */

static uint8_t level_of(uint8_t requested)
{
	return requested > TAPIR_VERBOSE ? TAPIR_VERBOSE : requested;
}

static void poll_own_semaphores(const struct tapir_provider *p, struct last_notified *now)
{
	for (uint32_t i = 0; i < p->event_cnt; i++) {
		const struct tapir_event *event = p->events[i].event;

		if (!TAPIR_EVENT_PROBED(*event))
			continue;
		now->is_on = 1;
		now->keywords |= event->about->keywords;
		if (event->about->level > now->level)
			now->level = event->about->level;
	}
}

/* The events of it whose semaphore is up. */
static void poll_semaphores(const struct tapir_provider *p, struct last_notified *now)
{
	poll_own_semaphores(p, now);
	for (const struct tapir_provider *m = p->members; m; m = m->next_member)
		poll_own_semaphores(m, now);
}

/*
 * idx is a session of the ring lane's control file, or PROVIDER_NOTIFIED_USDT for the semaphores of
 * probes, or, from PROVIDER_NOTIFIED_PROCESS on, a session of this process.
 */
static void compare_requests(const struct tapir_provider *p, uint32_t idx,
			     struct last_notified *now, struct tapir_ring_requested *requested)
{
	memset(now, 0, sizeof(*now));
	requested->filter[0] = 0;
	if (idx == PROVIDER_NOTIFIED_USDT) {
		poll_semaphores(p, now);
		return;
	}
	if (idx >= PROVIDER_NOTIFIED_PROCESS) {
		const char *filter = "";

		provider_sessions__requested(idx - PROVIDER_NOTIFIED_PROCESS, p->name, now,
					     &filter);
		now->filter_hash = now->is_on ? provider_hash(PROVIDER_HASH, filter) : 0;
		strncpy(requested->filter, filter, sizeof(requested->filter) - 1);
		return;
	}
	tapir_ring__requested(idx, p->name, requested);
	now->session_id = requested->session_id;
	now->is_on = requested->is_served;
	now->keywords = requested->keywords;
	now->level = level_of(requested->level);
	now->filter_hash = now->is_on ? provider_hash(PROVIDER_HASH, requested->filter) : 0;
}

static void add_union(const struct tapir_provider *p, struct tapir_enablement *change)
{
	for (uint32_t i = 0; i < PROVIDER_NOTIFIED_CNT; i++) {
		const struct last_notified *t = &p->last_notified[i];

		if (!t->is_on)
			continue;
		change->all_is_on = 1;
		change->all_keywords |= t->keywords;
		if (t->level > change->all_level)
			change->all_level = t->level;
	}
}

/* was: its last notification, for a session that is gone. */
static uint32_t session_kind_of(uint32_t idx, const struct last_notified *was)
{
	if (idx < TAPIR_RING_SESSIONS)
		return TAPIR_SESSION_RING;
	return idx == PROVIDER_NOTIFIED_USDT ? TAPIR_SESSION_USDT : was->kind;
}

static uint32_t session_number(uint32_t idx)
{
	if (idx < TAPIR_RING_SESSIONS)
		return idx;
	return idx == PROVIDER_NOTIFIED_USDT ? 0 : idx - PROVIDER_NOTIFIED_PROCESS;
}

/* Finds the provider's first session whose last notification is out of date; 0: none. */
static int find_change(struct tapir_provider *p, struct tapir_enablement *change,
		       struct tapir_ring_requested *requested)
{
	for (uint32_t i = 0; i < PROVIDER_NOTIFIED_CNT; i++) {
		struct last_notified now;
		uint32_t kind = session_kind_of(i, &p->last_notified[i]);

		compare_requests(p, i, &now, requested);
		if (!memcmp(&now, &p->last_notified[i], sizeof(now)))
			continue;
		p->last_notified[i] = now;
		*change = (struct tapir_enablement){
			.size = sizeof(*change),
			.kind = now.kind ? now.kind : kind,
			.session = session_number(i),
			.is_on = now.is_on,
			.level = now.level,
			.keywords = now.keywords,
			.filter = requested->filter,
		};
		add_union(p, change);
		return 1;
	}
	return 0;
}

static void call(struct tapir_provider *p, const struct tapir_enablement *change)
{
	poller.calling = p;
	provider_unlock();
	p->changed(p, change, p->ctx);
	provider_lock();
	poller.calling = NULL;
	provider_broadcast();
}

/* Visits all providers once, however many are made and freed during it; returns the calls. */
static uint32_t pass(void)
{
	/* Only the thread that has the turn uses it. */
	static struct tapir_ring_requested requested;
	struct tapir_enablement change;
	uint32_t call_cnt = 0;

	for (struct tapir_provider *p = provider_list; p; p = poller.next) {
		poller.next = p->next; /* __leave sees to it that this one stays */
		for (uint32_t i = 0; i < PROVIDER_NOTIFIED_CNT && p->changed && !p->is_leaving &&
				     find_change(p, &change, &requested);
		     i++) {
			call(p, &change);
			call_cnt++;
		}
	}
	return call_cnt;
}

void provider_poller__call_back(void)
{
	/* The call comes from within a callback: the thread that runs it continues its pass. */
	if (poller.has_turn && pthread_equal(poller.caller, pthread_self()))
		return;
	while (poller.has_turn)
		provider_wait();
	poller.has_turn = 1;
	poller.caller = pthread_self();
	/* Ends when a pass finds nothing: a callback may have changed what others are notified of.
	 */
	for (uint32_t i = 0; i < PASS_MAX && pass(); i++)
		;
	poller.has_turn = 0;
	provider_broadcast();
}

void provider_poller__leave(struct tapir_provider *provider)
{
	while (poller.calling == provider && !pthread_equal(poller.caller, pthread_self()))
		provider_wait();
	if (poller.next == provider)
		poller.next = provider->next;
}

static int has_callbacks(void)
{
	for (const struct tapir_provider *p = provider_list; p; p = p->next)
		if (p->changed)
			return 1;
	return 0;
}

/* ---- the thread --------------------------------------------------------------------------- */

static const uint32_t *word_to_wait_at(void)
{
	const struct tapir_ring_ctl *ctl = tapir_ring__ctl();

	return ctl ? &ctl->generation : &poller.futex;
}

static void wait_for_change(const uint32_t *word, uint32_t seen, int ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	ring_sys4(SYS_futex, word, FUTEX_WAIT, seen, &time);
}

void provider_poller__wake(void)
{
	if (!poller.is_running)
		return;
	__atomic_fetch_add(&poller.futex, 1, __ATOMIC_SEQ_CST);
	ring_sys4(SYS_futex, &poller.futex, FUTEX_WAKE, INT_MAX, 0);
	tapir_ring__wake();
}

static int is_traced(void)
{
	const struct tapir_ring_ctl *ctl = tapir_ring__ctl();

	for (uint32_t s = 0; ctl && s < TAPIR_RING_SESSIONS; s++)
		if (prov_load_acquire(&ctl->sessions[s].state) == TAPIR_RING_OPEN)
			return 1;
	return 0;
}

/* Polls everything; returns how long to sleep until the next time. */
static int poll_all(uint32_t seen)
{
	int ms = IDLE_MS, tick_ms;

	tapir_ring__check_life();
	provider_lock();
	if (provider_loggers_changed && provider_loggers_changed())
		provider_sessions__match_all();
	provider_poller__refresh();
	provider_poller__call_back();
	tapir_ring__report_applied(seen);
	if (has_callbacks() || provider_json_cnt || provider_loggers_changed)
		ms = TAPIR_POLL_MS;
	else if (is_traced())
		ms = (int)(TAPIR_RING_LIFE_NS / 1000000);
	tick_ms = provider_counters__tick();
	provider_unlock();
	return tick_ms < ms ? tick_ms : ms;
}

static void *run_poller(void *unused)
{
	(void)unused;
	ring_sys4(SYS_prctl, PR_SET_NAME, "tapir", 0, 0);
	while (!prov_load_acquire(&poller.is_stopping)) {
		const uint32_t *word = word_to_wait_at();
		uint32_t seen = prov_load_acquire(word);
		int ms = poll_all(seen);

		if (!prov_load_acquire(&poller.is_stopping))
			wait_for_change(word, seen, ms);
	}
	prov_store_release(&poller.is_done, 1);
	return NULL;
}

static int is_needed(void)
{
	for (const struct tapir_provider *p = provider_list; p; p = p->next)
		if (!(p->flags & TAPIR_PROVIDER_NO_THREAD))
			return 1;
	return 0;
}

/* All but those that the thread's own instructions raise. */
static sigset_t signals_to_block(void)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
	sigset_t set;

	sigfillset(&set);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&set, own[i]);
	return set;
}

int provider_poller__start(void)
{
	sigset_t blocked;
	int err;

	if (poller.is_running || !is_needed())
		return 0;
	poller.is_stopping = poller.is_done = 0;
	blocked = signals_to_block();
	err = provider_thread__start(&poller.thread, STACK_BYTES, &blocked, run_poller, NULL);
	if (err)
		return err;
	poller.is_running = 1;
	tapir_ring__report_follower(1);
	provider_poller__refresh();
	return 0;
}

void provider_poller__stop(void)
{
	const struct timespec step = {.tv_nsec = STOP_STEP_NS};

	if (!poller.is_running)
		return;
	prov_store_release(&poller.is_stopping, 1);
	provider_unlock();
	while (!prov_load_acquire(&poller.is_done)) {
		provider_poller__wake();
		nanosleep(&step, NULL);
	}
	pthread_join(poller.thread, NULL);
	provider_lock();
	poller.is_running = 0;
	tapir_ring__report_follower(0);
}

/* ---- in a forked child ---------------------------------------------------------------------- */

uint32_t provider_poller_is_missing, provider_child_threads;

/* The kernel's struct sigaction. */
struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

/*
 * Nothing says whether a signal handler runs. But while one does its signal is blocked, unless it
 * was installed with SA_NODEFER: so where no signal is blocked and no handler is of that kind,
 * none does. 0: maybe one does; -1: that is never known.
 */
static int is_outside_handlers(void)
{
	uint64_t blocked = ~0ull;

	if (ring_sys4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, sizeof(blocked)) || blocked)
		return 0;
	for (int nr = 1; nr <= 64; nr++) {
		struct kernel_action action = {.flags = 0};

		if (ring_sys4(SYS_rt_sigaction, nr, NULL, &action, sizeof(action.mask)))
			return -1;
		if (action.handler > (uint64_t)(uintptr_t)SIG_IGN && action.flags & SA_NODEFER)
			return -1;
	}
	return 1;
}

/* Under the lock. */
static int is_polled(void)
{
	return has_callbacks() || provider_json_cnt || provider_loggers_changed ||
	       provider_counters__are_there();
}

/*
 * A thread that fires does not wait for the lock, and checks its signals at each 64th event only: a
 * child may block some for as long as it lives.
 */
__attribute__((noinline)) void provider_poller__restore(void)
{
	static uint32_t tries;
	int saved = errno, is_outside;

	if (__atomic_fetch_add(&tries, 1, __ATOMIC_RELAXED) % RESTORE_EVENTS)
		return;
	is_outside = is_outside_handlers();
	if (is_outside < 0)
		prov_store(&provider_poller_is_missing, 0);
	if (is_outside <= 0 || !provider_trylock())
		return;
	if (prov_load(&provider_poller_is_missing)) {
		/* First: the thread's creation may fire events, by a malloc that does. */
		prov_store(&provider_poller_is_missing, 0);
		if (is_polled() && (!tapir_ring__ctl() || tapir_ring__adopt()))
			provider_poller__start();
	}
	provider_unlock();
	errno = saved;
}

/* The poller's memory belongs to the parent's thread, which is not here. */
void provider_poller__forked(void)
{
	int was_there = poller.is_running && !poller.is_stopping;

	prov_store(&provider_poller_is_missing, was_there && prov_load(&provider_child_threads));
	poller.is_running = poller.is_stopping = poller.is_done = 0;
	poller.calling = poller.next = NULL;
	poller.has_turn = 0;
}
