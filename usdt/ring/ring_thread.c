/* SPDX-License-Identifier: MIT */
/*
 * ring_thread.c - what the lane keeps of a thread, by a key instead of a thread-local variable:
 * for libraries that come and go while the program runs (TAPIR_RING_NO_TLS). Loading and unloading
 * a file with a TLS segment makes glibc rearrange every thread's table of such segments, and there
 * a thread that asks for another library's at the wrong moment gets a new one, all zero: a .NET 9
 * thread lost its Thread that way and the process died (glibc 2.36, twice in some 600 attaches).
 */
#ifdef TAPIR_RING_NO_TLS

#include <pthread.h>

#include "ring_impl.h"

static struct ring_tls pool[TAPIR_RING_SLOTS];
static uint32_t next;

static struct ring_tls *take(void)
{
	uint32_t from = ring_load(&next);

	for (uint32_t i = 0; i < TAPIR_RING_SLOTS; i++) {
		struct ring_tls *t = &pool[(from + i) % TAPIR_RING_SLOTS];

		if (ring_load(&t->used) || __atomic_exchange_n(&t->used, 1, __ATOMIC_ACQUIRE))
			continue;
		ring_store(&next, (from + i + 1) % TAPIR_RING_SLOTS);
		t->writer = NULL;
		t->busy = t->refused = 0;
		return t;
	}
	return NULL;
}

struct ring_tls *ring_thread__make(void)
{
	struct ring_tls *t;

	if (!ring_process.exit_key_made)
		return NULL;
	t = take();
	if (t && pthread_setspecific(ring_process.exit_key, t)) {
		ring_thread__free(t);
		return NULL;
	}
	return t;
}

void ring_thread__free(struct ring_tls *t)
{
	ring_store_release(&t->used, 0);
}

#else
typedef int ring_thread_is_thread_local;
#endif
