/* SPDX-License-Identifier: MIT */
/*
 * ring_event_slots.c - the assignment of events to entries of the catalog. An entry that was given
 * back may be taken again when no ring holds a record of its old event for any session: so time is
 * counted in turns, each of which has seen two drains completed by every open session (the first of
 * them may have begun before the turn did), and an entry rests for one whole turn.
 */
#include "ring_impl.h"

#define MAX_WAITS  20000u
#define REST_TURNS 2u

int ring_event_slots__lock(void)
{
	uint32_t *lock = &ring_process.event_slot_lock;

	for (uint32_t i = 0; i < MAX_WAITS; i++) {
		if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
			return 1;
		ring_sys3(SYS_sched_yield, 0, 0, 0);
	}
	return 0;
}

void ring_event_slots__unlock(void)
{
	ring_store_release(&ring_process.event_slot_lock, 0);
}

/* Has the session completed two drains since the turn began? One that is new begins to count. */
static int is_through(uint32_t s)
{
	struct ring_process *p = &ring_process;
	const struct tapir_ring_session *session = &p->ctl->sessions[s];
	uint64_t id = ring_load(&session->session_id);
	uint64_t drains = ring_load_acquire(&session->drains);

	if (p->turn_id[s] == id && drains >= p->turn_drains[s])
		return drains - p->turn_drains[s] >= 2;
	p->turn_id[s] = id;
	p->turn_drains[s] = drains;
	return 0;
}

static int is_open(uint32_t state)
{
	return state == TAPIR_RING_OPENING || state == TAPIR_RING_OPEN ||
	       state == TAPIR_RING_INHERITED;
}

static void advance_freed(void)
{
	struct ring_process *p = &ring_process;
	const struct tapir_ring_session *sessions = p->ctl->sessions;
	int all = 1;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (is_open(ring_load_acquire(&sessions[s].state)))
			all &= is_through(s);
	if (!all)
		return;
	p->turn++;
	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++) {
		p->turn_id[s] = ring_load(&sessions[s].session_id);
		p->turn_drains[s] = ring_load_acquire(&sessions[s].drains);
	}
}

/* The one free for longest; -1: none, or it must still rest. */
static int take_freed(void)
{
	struct ring_process *p = &ring_process;
	uint32_t idx;

	if (!p->freed_cnt)
		return -1;
	idx = p->event_slots->freed[p->freed_from];
	/* Without a session nothing has to be drained: each look is a turn. */
	for (uint32_t i = 0; i < REST_TURNS; i++)
		if (p->turn - p->event_slots->all[idx].freed_turn < REST_TURNS)
			advance_freed();
	if (p->turn - p->event_slots->all[idx].freed_turn < REST_TURNS)
		return -1;
	p->freed_from = (p->freed_from + 1) % TAPIR_RING_EVENTS;
	p->freed_cnt--;
	return (int)idx;
}

int ring_event_slot__take(void)
{
	struct ring_process *p = &ring_process;
	struct ring_event_slot *slot;
	int idx = take_freed(); /* first: it has its bytes of the catalog already */

	if (idx < 0 && p->event_cnt < TAPIR_RING_EVENTS)
		idx = (int)p->event_cnt;
	if (idx < 0)
		return -ENOSPC;
	if ((uint32_t)idx == p->event_cnt)
		ring_store_release(&p->event_cnt, p->event_cnt + 1);
	slot = &p->event_slots->all[idx];
	slot->state = RING_EVENT_SLOT_HELD;
	slot->generation++;
	slot->generation += !slot->generation;
	return idx;
}

void ring_event_slot__return(uint32_t idx)
{
	struct ring_process *p = &ring_process;

	p->event_slots->all[idx].state = RING_EVENT_SLOT_FREE;
	p->event_slots->all[idx].freed_turn = p->turn;
	p->event_slots->freed[(p->freed_from + p->freed_cnt++) % TAPIR_RING_EVENTS] = (uint16_t)idx;
}

void ring_event_slots__forked(void)
{
	struct ring_process *p = &ring_process;

	p->event_slot_lock = 0;
	p->freed_from = p->freed_cnt = 0;
	for (uint32_t i = 0; i < p->event_cnt; i++) {
		struct ring_event_slot *slot = &p->event_slots->all[i];

		slot->catalog_cap = 0;
		if (slot->state == RING_EVENT_SLOT_FREE || !slot->event)
			ring_event_slot__return(i);
	}
}
