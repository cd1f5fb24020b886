/* SPDX-License-Identifier: MIT */
/*
 * ring_thread.c - what the lane keeps of a thread, by a key instead of a thread-local variable:
 * for libraries that come and go while the program runs (TAPIR_RING_NO_TLS). Loading and unloading
 * a file with a TLS segment makes glibc rearrange every thread's table of such segments, and there
 * a thread that asks for another library's at the wrong moment gets a new one, all zero: a .NET 9
 * thread lost its Thread that way and the process died (glibc 2.36, twice in some 600 attaches).
 *
 * A program may have taken all keys whose values glibc sets without allocating memory, which an
 * event must not do: it may come while a lock of malloc's is held by a thread that is suspended.
 * Then the same pool is a table by thread id: a system call an event, and no destructor, so that
 * the places of threads that have ended are taken over when they are met.
 */
#ifdef TAPIR_RING_NO_TLS

#include <pthread.h>

#include "ring_impl.h"

static struct ring_tls pool[TAPIR_RING_SLOTS];
static uint32_t next;

static struct ring_tls *take_tls(void)
{
	uint32_t from = ring_load(&next);

	for (uint32_t i = 0; i < TAPIR_RING_SLOTS; i++) {
		struct ring_tls *t = &pool[(from + i) % TAPIR_RING_SLOTS];

		if (ring_load(&t->used) || __atomic_exchange_n(&t->used, 1, __ATOMIC_ACQUIRE))
			continue;
		ring_store(&next, (from + i + 1) % TAPIR_RING_SLOTS);
		memset(t->levels, 0, sizeof(t->levels));
		return t;
	}
	return NULL;
}

struct ring_tls *ring_thread__make(void)
{
	struct ring_tls *t;

	if (!ring_process.exit_key_made)
		return NULL;
	t = take_tls();
	if (t && pthread_setspecific(ring_process.exit_key, t)) {
		ring_thread__free(t);
		return NULL;
	}
	return t;
}

/* ---- without a key ------------------------------------------------------------------------ */

#define LOOKS_MAX 256u

static int is_gone(uint32_t tid)
{
	return ring_sys3(SYS_tgkill, ring_process.tgid, tid, 0) == -ESRCH;
}

static uint32_t hash_of_tid(uint32_t tid)
{
	return (tid * 0x9e3779b1u) >> 16;
}

/* A new thread's: also where a dead one had its id. */
static struct ring_tls *begin_thread(struct ring_tls *t, uint64_t self)
{
	memset(t->levels, 0, sizeof(t->levels));
	t->self = self;
	return t;
}

/* Only the thread itself puts its id into the table: no other thread does at the same time. */
static struct ring_tls *take_over(uint32_t tid, uint64_t self)
{
	for (uint32_t i = 0; i < LOOKS_MAX; i++) {
		struct ring_tls *t = &pool[(hash_of_tid(tid) + i) % TAPIR_RING_SLOTS];
		uint32_t owner = ring_load(&t->used);

		if ((!owner || is_gone(owner)) &&
		    __atomic_compare_exchange_n(&t->used, &owner, tid, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return begin_thread(t, self);
	}
	return NULL;
}

struct ring_tls *ring_thread__find(void)
{
	uint64_t self = (uint64_t)(uintptr_t)__builtin_thread_pointer();
	uint32_t tid;

	if (!ring_load(&ring_process.is_by_tid))
		return NULL;
	tid = (uint32_t)ring_sys3(SYS_gettid, 0, 0, 0);
	for (uint32_t i = 0; i < LOOKS_MAX; i++) {
		struct ring_tls *t = &pool[(hash_of_tid(tid) + i) % TAPIR_RING_SLOTS];
		uint32_t owner = ring_load(&t->used);

		if (owner == tid)
			return t->self == self ? t : begin_thread(t, self);
		if (!owner)
			break;
	}
	return take_over(tid, self);
}

void ring_thread__free(struct ring_tls *t)
{
	ring_store_release(&t->used, 0);
}

#else
typedef int ring_thread_is_thread_local;
#endif
