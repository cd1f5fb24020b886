/* SPDX-License-Identifier: MIT */
/*
 * ring_life.c - sessions as the process sees them: does one want an event that registers, and is
 * its tracer still alive? The second is asked by whichever thread's event comes when it is due:
 * one system call a session each 200 ms. No event, no question; nothing is lost by that.
 * All of ctl may be anything at any time.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/stat.h>

#include "ring_impl.h"

/* * and ?, within bounded text that need not end with NUL. */
static int glob(const char *pattern, size_t room, const char *text)
{
	size_t p = 0, star = SIZE_MAX;
	const char *mark = text;

	while (*text) {
		char c = p < room ? ring_load(&pattern[p]) : 0;

		if (c == '*') {
			star = p++;
			mark = text;
		} else if (c && (c == '?' || c == *text)) {
			p++;
			text++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			text = ++mark;
		} else {
			return 0;
		}
	}
	while (p < room && ring_load(&pattern[p]) == '*')
		p++;
	return p == room || !ring_load(&pattern[p]);
}

static int selects(const struct tapir_ring_selection *sel, const struct tapir_ring_about *about)
{
	uint64_t keywords = ring_load(&sel->keywords);
	uint8_t level = ring_load(&sel->level);

	if (!ring_load(&sel->used) || (level && about->level > level))
		return 0;
	if (keywords && about->keywords && !(keywords & about->keywords))
		return 0;
	return glob(sel->provider, sizeof(sel->provider), about->provider) &&
	       (!ring_load(&sel->event[0]) || glob(sel->event, sizeof(sel->event), about->event));
}

static uint64_t wanted_bits(const struct tapir_ring_session *session, uint32_t s,
			    const struct tapir_ring_about *about)
{
	uint64_t bits = 1ull << (TAPIR_RING_WANT_SHIFT + s);
	uint32_t i = 0;

	while (i < TAPIR_RING_SELECTIONS && !selects(&session->selections[i], about))
		i++;
	if (i == TAPIR_RING_SELECTIONS)
		return 0;
	if (ring_load(&session->flags) & TAPIR_RING_WANTS_STACKS)
		bits |= 1ull << (TAPIR_RING_STACK_SHIFT + s);
	if (ring_load(&session->rate_hz))
		bits |= 1ull << (TAPIR_RING_RATE_SHIFT + s);
	return bits;
}

/* A session that opens now sees the event in the catalog; one that was open is seen here. */
void ring_life__judge(const struct tapir_ring_about *about, uint64_t *word)
{
	struct tapir_ring_session *sessions = ring_process.ctl->sessions;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		uint64_t bits;

		if (__atomic_load_n(&sessions[s].state, __ATOMIC_SEQ_CST) != TAPIR_RING_OPEN)
			continue;
		bits = wanted_bits(&sessions[s], s, about);
		__atomic_fetch_or(word, bits, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&sessions[s].state, __ATOMIC_SEQ_CST) != TAPIR_RING_OPEN)
			__atomic_fetch_and(word, ~TAPIR_RING_SESSION_BITS(s), __ATOMIC_SEQ_CST);
	}
}

/* 1 locked, 0 not, -1 the program closed our descriptor, or has another file there. */
static int is_locked(uint32_t s)
{
	struct ring_process *p = &ring_process;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = s, .l_len = 1};
	struct stat st;

	if (fstat(p->ctl_fd, &st) || st.st_ino != p->ctl_inode || st.st_dev != p->ctl_dev)
		return -1;
	if (ring_sys3(SYS_fcntl, p->ctl_fd, F_OFD_GETLK, &lock))
		return -1;
	return lock.l_type != F_UNLCK;
}

static int beats(uint32_t s, uint64_t now_ns)
{
	struct ring_process *p = &ring_process;
	uint64_t beat = ring_load(&p->ctl->sessions[s].beat);

	if (!ring_load(&p->beat_ns[s]) || beat != ring_load(&p->beat[s])) {
		ring_store(&p->beat[s], beat);
		ring_store(&p->beat_ns[s], now_ns);
		return 1;
	}
	return now_ns - ring_load(&p->beat_ns[s]) < TAPIR_RING_BEAT_NS;
}

static void end_session(uint32_t s)
{
	struct ring_process *p = &ring_process;
	uint32_t open = TAPIR_RING_OPEN, cnt = ring_load(&p->event_cnt);

	if (!__atomic_compare_exchange_n(&p->ctl->sessions[s].state, &open, TAPIR_RING_ENDED, 0,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < cnt && i < TAPIR_RING_EVENTS; i++)
		if (ring_load(&p->events[i]))
			__atomic_fetch_and(&p->ctl->words[i], ~TAPIR_RING_SESSION_BITS(s),
					   __ATOMIC_SEQ_CST);
	ring_store(&p->beat_ns[s], 0);
	/* A source of events that waits for news has some. */
	ring_sys4(SYS_futex, &p->ctl->generation, FUTEX_WAKE, INT_MAX, 0);
}

void ring_life__check(uint64_t now_ns)
{
	struct ring_process *p = &ring_process;
	uint64_t due = ring_load(&p->next_life_ns);

	if (now_ns < due ||
	    !__atomic_compare_exchange_n(&p->next_life_ns, &due, now_ns + TAPIR_RING_LIFE_NS, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		int locked;

		if (ring_load_acquire(&p->ctl->sessions[s].state) != TAPIR_RING_OPEN)
			continue;
		locked = is_locked(s);
		if (!(locked < 0 ? beats(s, now_ns) : locked))
			end_session(s);
	}
}
