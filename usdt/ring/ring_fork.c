/* SPDX-License-Identifier: MIT */
/*
 * ring_fork.c - the lane in a forked child. Until its first event a child has what it inherited:
 * the parent's ctl, to which its events' words point, its copies of the parent's writers, and the
 * parent's rings, or private memory in their place (ring_fork__forked). The first event makes a
 * lane of the child's own, moves its ctl to where the parent's was, and takes over the sessions
 * that asked for children (tapir/ring.h, FORK). If that fails the next event tries again.
 *
 * Any state can be forked: another thread may have been anywhere in here, and the child's only
 * thread may be in the middle of an event that a signal handler interrupted. So the old writers
 * stay until that is known not to be.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "ring_impl.h"

void ring_fork__forked(void)
{
	struct ring_process *p = &ring_process;

	if (ring_load_acquire(&p->state) != RING_READY || ring_load_acquire(p->gate) != RING_FORKED)
		return;
	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++)
		ring_arena__cover(&p->arenas[i]);
}

/* The only thread that a fork leaves has the process's id. */
static int is_first_thread(void)
{
	return ring_sys3(SYS_gettid, 0, 0, 0) == ring_sys3(SYS_getpid, 0, 0, 0);
}

static void leave_parents(int may_free)
{
	struct ring_process *p = &ring_process;

	ring_file__close(p->ctl_fd, p->ctl_inode);
	p->ctl_fd = -1;
	for (uint32_t i = 0; i < TAPIR_RING_ARENAS; i++) {
		struct ring_arena *arena = &p->arenas[i];

		ring_file__close(arena->fd, arena->inode);
		arena->fd = -1;
		if (!may_free)
			arena->data = NULL; /* written to by an event that is under way */
		if (arena->data)
			munmap(arena->data, arena->bytes);
		arena->data = NULL;
		if (arena->writers && may_free)
			munmap(arena->writers, sizeof(*arena->writers));
		arena->writers = NULL;
	}
	p->arena_cnt = 0;
}

/* 1: it continues in the child. The parent's may change in the meantime, like all of ctl. */
static int inherit(struct tapir_ring_ctl *ctl, const struct tapir_ring_ctl *parent, uint32_t s)
{
	struct tapir_ring_session *session = &ctl->sessions[s];

	if (ring_load_acquire(&parent->sessions[s].state) != TAPIR_RING_OPEN ||
	    !(ring_load(&parent->sessions[s].flags) & TAPIR_RING_WANTS_CHILDREN))
		return 0;
	if (ring_populate(session, sizeof(*session)) ||
	    ring_populate(ctl->selections[s], sizeof(ctl->selections[s])))
		return 0;
	memcpy(session, &parent->sessions[s], sizeof(*session));
	memcpy(ctl->selections[s], parent->selections[s], sizeof(ctl->selections[s]));
	ring_store_release(&session->state, TAPIR_RING_INHERITED);
	return 1;
}

static void announce_to_parents(struct tapir_ring_ctl *parent)
{
	uint64_t nr = __atomic_fetch_add(&parent->child_cnt, 1, __ATOMIC_RELAXED);

	ring_store(&parent->children[nr % TAPIR_RING_CHILDREN], ring_process.tgid);
}

/* The parent's ctl once more. NULL: there is no memory. */
static struct tapir_ring_ctl *map_again(struct tapir_ring_ctl *parent)
{
	long va = ring_sys6(SYS_mremap, (long)parent, 0, sizeof(*parent), MREMAP_MAYMOVE, 0, 0);

	return ring_sys_failed(va) ? NULL : (struct tapir_ring_ctl *)va;
}

static void unmap(struct tapir_ring_ctl *ctl)
{
	if (ctl)
		munmap(ctl, sizeof(*ctl));
}

void ring_fork__announce_child(struct tapir_ring_ctl *parent)
{
	if (parent)
		announce_to_parents(parent);
	unmap(parent);
}

/*
 * ctl is at another address: it comes to where the parent's is. 0 or -errno. Mappings of the
 * parent's stay for what is counted in child_fired, if there is memory, and in *unannounced.
 */
static int replace_parent_ctl(struct tapir_ring_ctl *parent, struct tapir_ring_ctl *ctl,
			      struct tapir_ring_ctl **unannounced)
{
	struct ring_process *p = &ring_process;
	struct tapir_ring_ctl *again, *mapped = map_again(parent);
	int inherited = 0;

	for (uint32_t s = 0; s < TAPIR_RING_SESSIONS; s++)
		inherited |= inherit(ctl, parent, s);
	again = inherited ? map_again(parent) : NULL;
	if (!mapped)
		announce_to_parents(parent); /* early, which is better than not at all */
	if (ring_sys_failed(ring_sys6(SYS_mremap, (long)ctl, sizeof(*ctl), sizeof(*ctl),
				      MREMAP_MAYMOVE | MREMAP_FIXED, (long)parent, 0))) {
		unmap(again);
		unmap(mapped);
		return -ENOMEM;
	}
	unmap(p->parent_ctl); /* the parent's parent's */
	p->parent_ctl = again;
	*unannounced = mapped;
	p->inherited_until_ns = ring_now_ns() + TAPIR_RING_INHERIT_NS;
	return 0;
}

int ring_fork__make_anew(int may_free, struct tapir_ring_ctl **unannounced)
{
	struct ring_process *p = &ring_process;
	struct tapir_ring_ctl *ctl;
	int ret;

	leave_parents(may_free && is_first_thread());
	ret = ring_process__start(&ctl, &p->ctl_fd);
	if (ret)
		return ret;
	ret = replace_parent_ctl(p->ctl, ctl, unannounced);
	if (!ret)
		return 0;
	munmap(ctl, sizeof(*ctl));
	ring_file__close(p->ctl_fd, p->ctl_inode);
	p->ctl_fd = -1;
	ring_arena__close(&p->arenas[0]);
	return ret;
}
