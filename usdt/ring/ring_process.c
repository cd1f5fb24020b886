/* SPDX-License-Identifier: MIT */
/*
 * ring_process.c - what a lane needs before the first event: a control file and a first arena, both
 * as sealed memory files by whose names tracers find them. Of the process, or of a forked child
 * (ring_fork.c), which has inherited all other state from its parent.
 */
#include <sys/mman.h>
#include <time.h>

#include "ring_impl.h"

static uint64_t make_key(void)
{
	uint64_t key = 0;
	struct timespec now = {0};

	ring_sys3(SYS_getrandom, &key, sizeof(key), 1); /* 1: do not wait for entropy */
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (key ^ ((uint64_t)now.tv_nsec << 32) ^ ring_process.tgid) | 1;
}

/* A ctl and a first arena; all of it or nothing. p->ctl is as it was. */
int ring_process__start(struct tapir_ring_ctl **ctl, int *ctl_fd)
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
	ret = ring_ctl__map(ctl);
	if (ret < 0)
		return ret;
	*ctl_fd = ret;
	ret = ring_arena__open(0);
	if (ret) {
		munmap(*ctl, sizeof(**ctl));
		ring_sys3(SYS_close, *ctl_fd, 0, 0);
		*ctl_fd = -1;
		return ret;
	}
	/* The shared number is the tracer's, the other one this process's own, which it trusts. */
	p->arenas[0].data->arena_cnt = 1;
	ring_store_release(&p->arena_cnt, 1);
	return 0;
}

void ring_process__announce(void)
{
	struct ring_process *p = &ring_process;

	if (++p->life < RING_FIRST_LIFE)
		p->life = RING_FIRST_LIFE;
	ring_store_release(p->gate, p->life);
	ring_store_release(&p->ctl->magic, TAPIR_RING_CTL_MAGIC);
}
