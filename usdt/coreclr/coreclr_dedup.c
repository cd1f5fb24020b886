/* SPDX-License-Identifier: MIT */
/*
 * coreclr_dedup.c - while a new session and the old one are both enabled, the runtime delivers an
 * event of both twice, one right after the other on its thread, and does not show for which
 * session. The second is recognized by having the same provider, event, payload address and
 * content, and frame as the one before, which was not a second itself. While one of the two is
 * being started or stopped, the next event of a thread may also be a new one that looks the same.
 * If the thread's events differ from each other, it is not; otherwise the thread's own time between
 * the two decides: the loop of the runtime returns within some hundred nanoseconds, most of them
 * the clock's.
 *
 * What remains: a thread that writes equal events within microseconds, in those moments alone.
 */
#include <string.h>
#include <time.h>

#include "../ring/ring_sys.h"
#include "coreclr_impl.h"

#define LOOP_NS	   3000u

#define THREAD_CNT 4096u /* power of two */

/* The last delivery to a thread. No thread-local variable: see ring_thread.c. */
struct before {
	uint32_t tid, can_double, differs, window;
	struct coreclr_delivery last;
	uint64_t hash, done_ns;
};

static struct before threads[THREAD_CNT];

/* Never taken back, by thread id. NULL: there are too many. */
static struct before *this_thread(void)
{
	uint32_t tid = (uint32_t)ring_sys3(SYS_gettid, 0, 0, 0);

	for (uint32_t i = 0; i < THREAD_CNT; i++) {
		struct before *b = &threads[(tid * 2654435761u + i) % THREAD_CNT];
		uint32_t owner = coreclr_load(&b->tid);

		if (owner == tid ||
		    (!owner && __atomic_compare_exchange_n(&b->tid, &owner, tid, 0,
							   __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
			return b;
	}
	return NULL;
}

static uint64_t ran_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int is_same_delivery(const struct coreclr_delivery *a, const struct coreclr_delivery *b)
{
	return a->provider == b->provider && a->id == b->id && a->version == b->version &&
	       a->data == b->data && a->data_bytes == b->data_bytes && a->frame == b->frame;
}

static void note_delivery(struct before *before, const struct coreclr_delivery *d, uint64_t hash,
			  uint32_t window, uint32_t differs)
{
	before->last = *d;
	before->hash = hash;
	before->window = window;
	before->differs = differs;
	before->can_double = 1;
}

int coreclr_dedup__is_duplicate(const struct coreclr_delivery *d, uint32_t dedup)
{
	uint32_t window = coreclr_load(&coreclr.dedup_window);
	struct before *before = this_thread();
	uint64_t hash = coreclr_hash(d->data, d->data_bytes);
	int is_equal;

	if (!before)
		return 0;
	is_equal = before->window == window && before->hash == hash &&
		   is_same_delivery(&before->last, d);

	if (is_equal && before->can_double &&
	    (dedup == DEDUP_BOTH || before->differs || ran_ns() - before->done_ns < LOOP_NS)) {
		before->can_double = 0;
		return 1;
	}
	note_delivery(before, d, hash, window, before->window == window && !is_equal);
	return 0;
}

void coreclr_dedup__note(const struct coreclr_delivery *d)
{
	struct before *before = this_thread();

	if (!before)
		return;
	note_delivery(before, d, coreclr_hash(d->data, d->data_bytes),
		      coreclr_load(&coreclr.dedup_window), 0);
	before->done_ns = ran_ns();
}

void coreclr_dedup__done(void)
{
	struct before *before = this_thread();

	if (before)
		before->done_ns = ran_ns();
}
