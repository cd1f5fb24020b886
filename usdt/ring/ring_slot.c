/* SPDX-License-Identifier: MIT */
/*
 * ring_slot.c - which thread writes which ring. A slot is taken by one CAS on its owner word and
 * returned when the thread exits; if an exit was not noticed, the next thread that finds no free
 * slot asks the kernel which owners are gone. The ring continues where the last owner's records
 * end.
 */
#include <pthread.h>

#include "ring_impl.h"

#define MAX_WAITS 20000u

static struct tapir_ring_slot *shared_slot(const struct ring_arena *arena, uint32_t i)
{
	return (struct tapir_ring_slot *)((uint8_t *)arena->data + arena->data->slots_off) + i;
}

static int claim_slot(uint64_t *owner, uint64_t seen, uint32_t tid)
{
	uint64_t mine = ((seen >> 32) + 1) << 32 | tid;

	return __atomic_compare_exchange_n(owner, &seen, mine, 0, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static int is_gone(uint32_t owner_tid, uint32_t dead_tid)
{
	/* An owner with our own id died before we were born. */
	return owner_tid == dead_tid ||
	       ring_sys3(SYS_tgkill, ring_process.tgid, owner_tid, 0) == -ESRCH;
}

struct search {
	uint32_t tid;
	uint32_t dead_tid; /* what has this owner is free: ours, or 0 where we may own a slot */
};

static int find_in(struct ring_arena *arena, const struct search *s, int of_the_dead)
{
	for (uint32_t i = 0; i < TAPIR_RING_ARENA_SLOTS; i++) {
		uint64_t *owner = &arena->writers->owners[i];
		uint64_t seen = ring_load(owner);

		if ((uint32_t)seen && !(of_the_dead && is_gone((uint32_t)seen, s->dead_tid)))
			continue;
		if (claim_slot(owner, seen, s->tid))
			return (int)i;
	}
	return -1;
}

static int find_slot(const struct search *s, int of_the_dead)
{
	uint32_t cnt = ring_load_acquire(&ring_process.arena_cnt);

	for (uint32_t a = 0; a < cnt; a++) {
		int i = find_in(&ring_process.arenas[a], s, of_the_dead);

		if (i >= 0)
			return (int)(a * TAPIR_RING_ARENA_SLOTS) + i;
	}
	return -1;
}

/*
 * One more arena. A thread that arrives while another one makes one waits a little, not for ever:
 * that thread may have been stopped.
 */
static int grow_slots(void)
{
	struct ring_process *p = &ring_process;
	uint32_t cnt;
	int ret = -ENOSPC;

	if (__atomic_exchange_n(&p->arena_lock, 1, __ATOMIC_ACQUIRE)) {
		for (uint32_t i = 0; i < MAX_WAITS && ring_load_acquire(&p->arena_lock); i++)
			ring_sys3(SYS_sched_yield, 0, 0, 0);
		return 0;
	}
	cnt = p->arena_cnt;
	if (cnt < TAPIR_RING_ARENAS)
		ret = ring_arena__open(cnt);
	if (!ret) {
		ring_store_release(&p->arenas[0].data->arena_cnt, cnt + 1);
		ring_store_release(&p->arena_cnt, cnt + 1);
	}
	ring_store_release(&p->arena_lock, 0);
	return ret;
}

static int find_any(const struct search *s)
{
	int idx = find_slot(s, 0);

	if (idx < 0 && !ring_process.exit_key_made)
		idx = find_slot(s, 1);
	if (idx < 0 && !grow_slots())
		idx = find_slot(s, 0);
	if (idx < 0)
		idx = find_slot(s, 1);
	return idx;
}

static void raise_used(struct tapir_ring_data *data, uint32_t used)
{
	uint32_t seen = ring_load(&data->slots_used);

	while (seen < used && !__atomic_compare_exchange_n(&data->slots_used, &seen, used, 1,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* Two threads may open the same ones. */
static int open_rings(struct ring_arena *arena, uint32_t i)
{
	uint64_t bytes = arena->data->ring_bytes * RING_OPENED_CNT, *opened = &arena->opened;
	uint32_t batch = i / RING_OPENED_CNT;
	int err;

	if (__atomic_load_n(opened, __ATOMIC_ACQUIRE) & 1ull << batch)
		return 0;
	err = ring_memory__open((uint8_t *)arena->data + arena->data->rings_off + batch * bytes,
				bytes);
	if (!err)
		__atomic_fetch_or(opened, 1ull << batch, __ATOMIC_RELEASE);
	return err;
}

static int move_in(struct ring_writer *w, struct ring_arena *arena, uint32_t idx, uint32_t tid)
{
	uint32_t i = idx % TAPIR_RING_ARENA_SLOTS;
	struct tapir_ring_slot *slot = shared_slot(arena, i);
	const struct tapir_ring_ctl *ctl = ring_process.ctl;

	/* The slot's first owner pays for what the writer itself takes. */
	if (!ring_load(&slot->owners) && !ring_memory__charge(sizeof(*w)))
		return -ENOMEM;
	if (open_rings(arena, i) || ring_populate(slot, sizeof(*slot)) ||
	    ring_populate(ctl->tails[idx], sizeof(ctl->tails[idx])) ||
	    ring_populate(ctl, offsetof(struct tapir_ring_ctl, selections)))
		return -ENOMEM;
	w->idx = idx;
	w->slot = slot;
	w->ring = (uint8_t *)arena->data + arena->data->rings_off +
		  (uint64_t)i * arena->data->ring_bytes;
	w->tails = ctl->tails[idx];
	w->tid = tid;
	w->tgid = ring_process.tgid;
	w->thread_sent = 0;
	ring_stack__find(&w->stack, (uint64_t)(uintptr_t)__builtin_frame_address(0));
	ring_walk__forget(w);
	memset(w->rate, 0, sizeof(w->rate));
	ring_store(&slot->owner_tid, tid);
	__atomic_fetch_add(&slot->owners, 1, __ATOMIC_RELAXED);
	raise_used(arena->data, i + 1);
	ring_store(&w->life, ring_load(ring_process.gate));
	return 0;
}

/* A slot for the calling thread; NULL: none, or no lane. */
struct ring_writer *ring_slot__claim(int is_inner)
{
	struct ring_process *p = &ring_process;
	uint32_t tid = (uint32_t)ring_sys3(SYS_gettid, 0, 0, 0);
	const struct search s = {tid, is_inner ? 0 : tid};
	struct ring_arena *arena;
	struct ring_writer *w;
	int idx;

	if (ring_load_acquire(&p->state) != RING_READY)
		return NULL;
	/* The lane is the parent's after a fork: the child's first event makes its own. */
	if (!ring_is_alive() && !ring_events__adopt(1))
		return NULL;
	idx = find_any(&s);
	if (idx < 0)
		return NULL;
	arena = &p->arenas[(uint32_t)idx / TAPIR_RING_ARENA_SLOTS];
	w = &arena->writers->writers[(uint32_t)idx % TAPIR_RING_ARENA_SLOTS];
	order_acquire(&arena->writers->owners[(uint32_t)idx % TAPIR_RING_ARENA_SLOTS]);
	/*
	 * Without memory for its ring the slot is free again: owner 0, the last store, is what
	 * others look for.
	 */
	if (move_in(w, arena, (uint32_t)idx, tid)) {
		w->idx = (uint32_t)idx;
		ring_store(&w->life, 0);
		ring_store_release(&arena->writers->owners[(uint32_t)idx % TAPIR_RING_ARENA_SLOTS],
				   0);
		return NULL;
	}
#ifndef TAPIR_RING_NO_TLS
	if (p->exit_key_made)
		pthread_setspecific(p->exit_key, w);
#endif
	return w;
}

/* The thread exits: the slot is the next one's. */
void ring_slot__give_back(struct ring_writer *w)
{
	struct ring_arena *arena = &ring_process.arenas[w->idx / TAPIR_RING_ARENA_SLOTS];
	uint64_t *owner = &arena->writers->owners[w->idx % TAPIR_RING_ARENA_SLOTS];

	if (w->life !=
	    ring_load(ring_process.gate)) /* of a lane that no longer belongs to this process */
		return;
	ring_store(&w->slot->owner_tid, 0);
	order_release(owner);
	ring_store_release(owner, (ring_load(owner) >> 32) << 32);
}
