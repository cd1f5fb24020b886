/* SPDX-License-Identifier: MIT */
/*
 * ring_control.c - what a source of events may ask of its lane. Any thread of the process that
 * made the lane; a forked child calls tapir_ring__adopt first.
 */
#include "ring_control.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>

#include "ring_impl.h"

const struct tapir_ring_ctl *tapir_ring__ctl(void)
{
	return ring_load_acquire(&ring_process.state) == RING_READY ? ring_process.ctl : NULL;
}

void tapir_ring__check_life(void)
{
	if (ring_load_acquire(&ring_process.state) == RING_READY)
		tracer_liveness__check(ring_now_ns());
}

int tapir_ring__adopt(void)
{
	if (ring_load_acquire(&ring_process.state) != RING_READY)
		return 0;
	return ring_is_alive() || ring_events__adopt(0);
}

void tapir_ring__wake(void)
{
	if (ring_load_acquire(&ring_process.state) != RING_READY || !ring_is_alive())
		return;
	__atomic_fetch_add(&ring_process.ctl->generation, 1, __ATOMIC_SEQ_CST);
	ring_sys4(SYS_futex, &ring_process.ctl->generation, FUTEX_WAKE, INT_MAX, 0);
}

void tapir_ring__retire(void)
{
	struct ring_process *p = &ring_process;

	if (ring_load_acquire(&p->state) != RING_READY)
		return;
	ring_store(&p->is_by_tid, 0);
	if (!p->exit_key_made)
		return;
	ring_store(&p->exit_key_made, 0);
	pthread_key_delete(p->exit_key);
}

void tapir_ring__report_applied(uint32_t generation)
{
	if (ring_load_acquire(&ring_process.state) == RING_READY)
		ring_store_release(&ring_process.ctl->applied, generation);
}

void tapir_ring__report_published(uint32_t cnt, uint32_t left_cnt, uint32_t err)
{
	if (ring_load_acquire(&ring_process.state) != RING_READY)
		return;
	ring_store(&ring_process.ctl->published_cnt, cnt);
	ring_store(&ring_process.ctl->unpublished_cnt, left_cnt);
	ring_store(&ring_process.ctl->publish_errno, err);
}

void tapir_ring__report_unserved(uint32_t cnt)
{
	if (ring_load_acquire(&ring_process.state) == RING_READY &&
	    ring_load(&ring_process.ctl->unserved_cnt) != cnt)
		ring_store(&ring_process.ctl->unserved_cnt, cnt);
}

void tapir_ring__report_follower(int is_on)
{
	uint32_t *flags;

	if (ring_load_acquire(&ring_process.state) != RING_READY || !ring_is_alive())
		return;
	flags = &ring_process.ctl->flags;
	if (is_on)
		__atomic_fetch_or(flags, TAPIR_RING_CTL_FOLLOWS, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(flags, ~TAPIR_RING_CTL_FOLLOWS, __ATOMIC_RELEASE);
}

void tapir_ring__report_idle(void)
{
	if (ring_load_acquire(&ring_process.state) == RING_READY)
		__atomic_fetch_or(&ring_process.ctl->flags, TAPIR_RING_CTL_IDLE, __ATOMIC_RELEASE);
}
