/* SPDX-License-Identifier: MIT */
/*
 * tracer_liveness.c - sessions as the process sees them: does one want an event that registers, and
 * is its tracer still alive? The second is asked by whichever thread's event comes when it is due:
 * one system call a session each 200 ms. No event, no question; nothing is lost by that.
 * All of ctl may be anything at any time.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>

#include "ring_control.h"
#include "ring_impl.h"

int tapir_ring__glob(const char *pattern, size_t room, const char *text)
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
	return tapir_ring__glob(sel->provider, sizeof(sel->provider), about->provider) &&
	       (!ring_load(&sel->event[0]) ||
		tapir_ring__glob(sel->event, sizeof(sel->event), about->event));
}

static int session_wants(uint32_t s, const struct tapir_ring_about *about)
{
	const struct tapir_ring_selection *all = ring_process.ctl->selections[s];
	uint32_t i = 0;

	if (ring_populate(all, sizeof(ring_process.ctl->selections[s])))
		return 0;
	while (i < TAPIR_RING_SELECTIONS && !selects(&all[i], about))
		i++;
	return i < TAPIR_RING_SELECTIONS;
}

static uint64_t wanted_bits(uint32_t s, uint32_t state, const struct tapir_ring_about *about)
{
	const struct tapir_ring_session *session = &ring_process.ctl->sessions[s];
	uint64_t bits = 1ull << (TAPIR_RING_WANT_SHIFT + s);

	if (!session_wants(s, about))
		return 0;
	if (ring_load(&session->flags) & TAPIR_RING_WANTS_STACKS)
		bits |= 1ull << (TAPIR_RING_STACK_SHIFT + s);
	/* The rate's bit is the slow way, on which events of an inherited session are counted. */
	if (ring_load(&session->rate_hz) || state == TAPIR_RING_INHERITED)
		bits |= 1ull << (TAPIR_RING_RATE_SHIFT + s);
	return bits;
}

static uint32_t state_of(uint32_t s)
{
	return __atomic_load_n(&ring_process.ctl->sessions[s].state, __ATOMIC_SEQ_CST);
}

/* A session that opens now sees the event in the catalog; one that was open is seen here. */
void tracer_liveness__update(const struct tapir_ring_about *about, uint64_t *word)
{
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		uint32_t state = state_of(s);

		if (!ring_is_served(state))
			continue;
		__atomic_fetch_or(word, wanted_bits(s, state, about), __ATOMIC_SEQ_CST);
		if (!ring_is_served(state_of(s)))
			__atomic_fetch_and(word, ~TAPIR_RING_SESSION_BITS(s), __ATOMIC_SEQ_CST);
	}
}

uint32_t tracer_liveness__wanting(const struct tapir_ring_about *about)
{
	uint32_t sessions = 0;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (ring_is_served(state_of(s)) && session_wants(s, about))
			sessions |= 1u << s;
	return sessions;
}

/* Text that a tracer may be writing: bounded, and ended here. */
static void copy_filter(uint32_t s, const struct tapir_ring_selection *sel,
			struct tapir_ring_requested *out)
{
	const char *text = ring_process.ctl->text[s];
	uint32_t off = ring_load(&sel->args_off), bytes = ring_load(&sel->args_bytes);

	if (!bytes || out->filter_bytes || bytes >= TAPIR_RING_ARGS_BYTES ||
	    off > TAPIR_RING_TEXT_BYTES || bytes > TAPIR_RING_TEXT_BYTES - off ||
	    ring_populate(text + off, bytes))
		return;
	for (uint32_t i = 0; i < bytes; i++)
		out->filter[i] = ring_load(&text[off + i]);
	out->filter_bytes = bytes;
}

static void add_selection(uint32_t s, const struct tapir_ring_selection *sel,
			  struct tapir_ring_requested *out)
{
	uint64_t keywords = ring_load(&sel->keywords);
	uint8_t level = ring_load(&sel->level);

	out->is_served = 1;
	out->keywords |= keywords ? keywords : ~0ull;
	if (!level || level > out->level)
		out->level = level ? level : 255;
	copy_filter(s, sel, out);
}

void tapir_ring__requested(uint32_t s, const char *provider, struct tapir_ring_requested *out)
{
	const struct tapir_ring_selection *all;

	memset(out, 0, offsetof(struct tapir_ring_requested, filter) + 1);
	if (!ring_is_alive() || !ring_is_served(state_of(s)))
		return;
	all = ring_process.ctl->selections[s];
	if (ring_populate(all, sizeof(ring_process.ctl->selections[s])))
		return;
	for (uint32_t i = 0; i < TAPIR_RING_SELECTIONS; i++)
		if (ring_load(&all[i].used) &&
		    tapir_ring__glob(all[i].provider, sizeof(all[i].provider), provider))
			add_selection(s, &all[i], out);
	if (out->is_served)
		out->session_id = ring_load(&ring_process.ctl->sessions[s].session_id);
	out->filter[out->filter_bytes] = 0;
}

static struct flock lock_of(uint32_t s, int type)
{
	return (struct flock){
		.l_type = (short)type, .l_whence = SEEK_SET, .l_start = s, .l_len = 1};
}

/* 1 locked, 0 not, -1 the program closed our descriptor, or has another file there. */
static int is_locked(uint32_t s)
{
	struct ring_process *p = &ring_process;
	struct flock lock = lock_of(s, F_WRLCK);

	if (!ring_file__is(p->ctl_fd, p->ctl_inode))
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

static void end_session(uint32_t s, uint32_t from, uint32_t to)
{
	struct ring_process *p = &ring_process;
	uint32_t cnt = ring_load(&p->event_cnt);

	if (!__atomic_compare_exchange_n(&p->ctl->sessions[s].state, &from, to, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < cnt; i++)
		if (ring_load(&p->event_slots->all[i].event))
			__atomic_fetch_and(&p->ctl->words[i], ~TAPIR_RING_SESSION_BITS(s),
					   __ATOMIC_SEQ_CST);
	ring_store(&p->beat_ns[s], 0);
	/* A source of events that waits for news has some. */
	ring_sys4(SYS_futex, &p->ctl->generation, FUTEX_WAKE, INT_MAX, 0);
}

/*
 * No tracer held the lock a moment ago. Since then the session may have been closed, and opened by
 * another tracer: so it is ended with the lock in our hands.
 */
static void end_abandoned(uint32_t s)
{
	struct flock lock = lock_of(s, F_WRLCK), none = lock_of(s, F_UNLCK);

	if (ring_sys3(SYS_fcntl, ring_process.ctl_fd, F_OFD_SETLK, &lock))
		return;
	end_session(s, TAPIR_RING_OPEN, TAPIR_RING_ENDED);
	ring_sys3(SYS_fcntl, ring_process.ctl_fd, F_OFD_SETLK, &none);
}

void tracer_liveness__check(uint64_t now_ns)
{
	struct ring_process *p = &ring_process;
	uint64_t due = ring_load(&p->next_life_ns);

	if (now_ns < due ||
	    !__atomic_compare_exchange_n(&p->next_life_ns, &due, now_ns + TAPIR_RING_LIFE_NS, 0,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		uint32_t state = ring_load_acquire(&p->ctl->sessions[s].state);
		int locked;

		if (state == TAPIR_RING_INHERITED && now_ns > p->inherited_until_ns)
			end_session(s, state, TAPIR_RING_FREE);
		if (state != TAPIR_RING_OPEN)
			continue;
		locked = is_locked(s);
		if (locked < 0 && !beats(s, now_ns))
			end_session(s, state, TAPIR_RING_ENDED);
		else if (!locked)
			end_abandoned(s);
	}
}
