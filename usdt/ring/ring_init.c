/* SPDX-License-Identifier: MIT */
/*
 * ring_init.c - the lane of a process: made and taken down. ring_fork.c makes it anew in a forked
 * child.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "ring_impl.h"

/* glibc keeps values of lower keys in the thread itself: setting one never allocates. Others do so
   for all. */
#define GLIBC_INLINE_KEYS 32u

extern __attribute__((weak, visibility("default"))) const char *gnu_get_libc_version(void);

#define LEAVING_NS	  2000000
#define MAX_LEAVING_WAITS 50u

/* Without one, threads that have ended are noticed when their places are needed. */
static void make_exit_key(void)
{
	pthread_key_t key;
	int err = pthread_key_create(&key, ring_slot__leave);

	if (!err && key >= GLIBC_INLINE_KEYS && gnu_get_libc_version) {
		pthread_key_delete(key);
		err = -ENOSPC;
	}
	ring_store(&ring_process.is_by_tid, err != 0);
	if (err)
		return;
	ring_process.exit_key = key;
	ring_process.exit_key_made = 1;
}

static void take_down(void)
{
	struct ring_process *p = &ring_process;

	ring_store_release(p->gate, RING_SHUT);
	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
		ring_arena__close(&p->arenas[i]);
	if (p->ctl)
		munmap(p->ctl, sizeof(*p->ctl));
	if (p->parent_ctl)
		munmap(p->parent_ctl, sizeof(*p->parent_ctl));
	ring_file__close(p->ctl_fd, p->ctl_inode);
	if (p->event_slots)
		munmap(p->event_slots, sizeof(*p->event_slots));
	p->ctl = p->parent_ctl = NULL;
	p->ctl_fd = -1;
	p->event_slots = NULL;
	p->arena_cnt = p->event_cnt = 0;
	p->event_slot_lock = p->freed_from = p->freed_cnt = 0;
}

static int make_lane(void)
{
	struct ring_process *p = &ring_process;
	void *event_slots;

	if (ring_gate__map())
		return -ENOMEM;
	event_slots = mmap(NULL, sizeof(*p->event_slots), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (event_slots == MAP_FAILED)
		return -ENOMEM;
	p->event_slots = event_slots;
	return ring_process__start(&p->ctl, &p->ctl_fd);
}

/* For an event that a handler interrupts, in which it forks: ring_fork.c. */
static void watch_forks(void)
{
#ifndef TAPIR_RING_NO_TLS
	static uint32_t is_watched;

	if (!__atomic_exchange_n(&is_watched, 1, __ATOMIC_ACQ_REL))
		pthread_atfork(NULL, NULL, ring_fork__forked);
#endif
}

static int init(uint64_t private_key)
{
	struct ring_process *p = &ring_process;
	uint32_t none = RING_NONE;
	int ret;

	if (!__atomic_compare_exchange_n(&p->state, &none, RING_STARTING, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return none == RING_READY ? 0 : -ENODEV;
	p->private_key = private_key;
	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
		p->arenas[i].fd = -1;
	ret = make_lane();
	if (ret) {
		take_down();
		ring_store_release(&p->state, RING_OFF);
		return ret;
	}
	watch_forks();
	make_exit_key();
	ring_process__announce();
	ring_store_release(&p->state, RING_READY);
	return 0;
}

int tapir_ring__init(void)
{
	return init(0);
}

int tapir_ring__init_private(uint64_t key)
{
	return key ? init(key) : -EINVAL;
}

/*
 * No further thread comes to the key's destructor, and those that were on their way are through:
 * the C library has read the key before it calls, so a moment is waited first.
 */
static void drop_exit_key(void)
{
	struct ring_process *p = &ring_process;
	const struct timespec moment = {.tv_nsec = LEAVING_NS};

	if (!p->exit_key_made)
		return;
	pthread_key_delete(p->exit_key);
	p->exit_key_made = 0;
	for (uint32_t i = 0; i < MAX_LEAVING_WAITS; i++) {
		nanosleep(&moment, NULL);
		if (!ring_load_acquire(&p->leaving_cnt))
			return;
	}
}

void tapir_ring__fini(void)
{
	struct ring_process *p = &ring_process;
	uint32_t ready = RING_READY;

	if (__atomic_compare_exchange_n(&p->state, &ready, RING_STARTING, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		ring_store(&p->is_by_tid, 0);
		ring_events__switch_off();
		drop_exit_key();
		take_down();
	} else if (ready == RING_STARTING) {
		return; /* another thread does it */
	}
	ring_store_release(&p->state, RING_NONE);
}

/* dlclose, or the end of the process: then a lane that was not removed stays. */
static __attribute__((destructor)) void unload(void)
{
	struct ring_process *p = &ring_process;

	if (ring_load_acquire(&p->state) != RING_NONE)
		return;
	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
		ring_arena__free(&p->arenas[i]);
	ring_gate__unmap();
}
