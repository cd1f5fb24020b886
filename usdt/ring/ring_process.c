/* SPDX-License-Identifier: MIT */
/*
 * ring_process.c - the lane of a process: begun, ended, and begun anew in a forked child when its
 * first event finds what it inherited wiped.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "ring_impl.h"

/* glibc keeps values of lower keys in the thread itself: setting one never allocates. Others do so
   for all. */
#define GLIBC_INLINE_KEYS 32u

extern __attribute__((weak, visibility("default"))) const char *gnu_get_libc_version(void);

#define LEAVING_NS	  2000000
#define MAX_LEAVING_WAITS 50u

struct ring_process ring_process = {.ctl_fd = -1};

static uint64_t make_key(void)
{
	uint64_t key = 0;
	struct timespec now = {0};

	ring_sys3(SYS_getrandom, &key, sizeof(key), 1); /* 1: do not wait for entropy */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (key ^ ((uint64_t)now.tv_nsec << 32) ^ ring_process.tgid) | 1;
}

/* What a program that closes descriptors leaves us: is it still our file? */
static void remember_ctl(void)
{
	struct ring_process *p = &ring_process;
	struct stat st;

	if (!fstat(p->ctl_fd, &st)) {
		p->ctl_inode = st.st_ino;
		p->ctl_dev = st.st_dev;
	}
}

static int start(void *ctl_at)
{
	struct ring_process *p = &ring_process;
	int ret;

	p->tgid = (uint32_t)ring_sys3(SYS_getpid, 0, 0, 0);
	p->key = p->private_key ? p->private_key : make_key();
	p->ctl_flags = p->private_key ? TAPIR_RING_CTL_PRIVATE : 0;
	p->ring_bytes = TAPIR_RING_MAX_BYTES;
	p->catalog_used = 0;
	p->arena_lock = 0;
	p->charged_bytes = p->budget_bytes = p->budget_next = 0;
	memset(p->beat_ns, 0, sizeof(p->beat_ns));
	ret = ring_ctl__open(ctl_at);
	if (ret)
		return ret;
	remember_ctl();
	ret = ring_arena__open(0);
	if (ret)
		return ret;
	p->arenas[0].data->arena_cnt = 1;
	ring_store_release(&p->arena_cnt, 1);
	return 0;
}

static void announce(void)
{
	ring_store_release(&ring_process.arenas[0].writers->alive, RING_ALIVE);
	ring_store_release(&ring_process.ctl->magic, TAPIR_RING_CTL_MAGIC);
}

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

	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
		ring_arena__close(&p->arenas[i]);
	if (p->ctl)
		munmap(p->ctl, sizeof(*p->ctl));
	if (p->ctl_fd >= 0)
		ring_sys3(SYS_close, p->ctl_fd, 0, 0);
	if (p->events)
		munmap(p->events, TAPIR_RING_EVENTS * sizeof(*p->events));
	p->ctl = NULL;
	p->ctl_fd = -1;
	p->events = NULL;
	p->arena_cnt = p->event_cnt = 0;
}

static int init(uint64_t private_key)
{
	struct ring_process *p = &ring_process;
	uint32_t none = RING_NONE;
	void *events;
	int ret;

	if (!__atomic_compare_exchange_n(&p->state, &none, RING_STARTING, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return none == RING_READY ? 0 : -ENODEV;
	p->private_key = private_key;
	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
		p->arenas[i].fd = -1;
	events = mmap(NULL, TAPIR_RING_EVENTS * sizeof(*p->events), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (events == MAP_FAILED) {
		ret = -ENOMEM;
	} else {
		p->events = events;
		ret = start(NULL);
	}
	if (ret) {
		take_down();
		ring_store_release(&p->state, RING_OFF);
		return ret;
	}
	make_exit_key();
	announce();
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
 * No thread comes to the key's destructor any more, and those that were on their way are through:
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
		return; /* somebody else is at it */
	}
	ring_store_release(&p->state, RING_NONE);
}

/* dlclose, or the end of the process: then a lane that was not taken down stays. */
static __attribute__((destructor)) void unload(void)
{
	struct ring_process *p = &ring_process;

	if (ring_load_acquire(&p->state) == RING_NONE)
		for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
			ring_arena__free(&p->arenas[i]);
}

/* The parent's descriptors, where they still are its files and not another's. */
static void close_inherited(void)
{
	struct ring_process *p = &ring_process;
	struct stat st;

	if (p->ctl_fd >= 0 && !fstat(p->ctl_fd, &st) && st.st_ino == p->ctl_inode &&
	    st.st_dev == p->ctl_dev) {
		ring_sys3(SYS_close, p->ctl_fd, 0, 0);
		for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
			if (p->arenas[i].fd >= 0)
				ring_sys3(SYS_close, p->arenas[i].fd, 0, 0);
	}
	p->ctl_fd = -1;
	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++) {
		p->arenas[i].fd = -1;
		p->arenas[i].data = NULL; /* DONTFORK: there is nothing to unmap */
	}
}

/*
 * In a forked child: a lane of its own, over the addresses that its events know. 1 when there is
 * one. A child whose parent was not traced has no event that comes here.
 */
int ring_process__adopt(void)
{
	struct ring_process *p = &ring_process;
	uint32_t forked = RING_FORKED;
	uint32_t *alive = &p->arenas[0].writers->alive;

	if (!__atomic_compare_exchange_n(alive, &forked, RING_ADOPTING, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return forked == RING_ALIVE;
	close_inherited();
	p->arena_cnt = 0;
	if (start(p->ctl)) {
		ring_store_release(&p->state, RING_OFF);
		return 0;
	}
	for (uint32_t i = 0; i < p->event_cnt && i < TAPIR_RING_EVENTS; i++)
		if (ring_load(&p->events[i]))
			ring_event__publish(p->events[i], i);
	announce();
	return 1;
}
