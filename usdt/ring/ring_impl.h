/* SPDX-License-Identifier: MIT */
/*
 * ring_impl.h - what the files of usdt/ring share: the process's lane, an arena, a writer.
 *
 * A writer is the private half of a slot. It belongs to one lane of one process: its `life` is that
 * of the gate, a word in a page that the kernel wipes in a forked child (MADV_WIPEONFORK). There
 * the two differ, which sends the child's first event the slow way, so that it never writes its
 * parent's ring. What the child inherits stays mapped until then: a thread that forked while an
 * event was being written (in a signal handler) continues with its copy of the writer, harmlessly.
 */
#ifndef TAPIR_RING_IMPL_H
#define TAPIR_RING_IMPL_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "ring_order.h"
#include "ring_sys.h"
#include "ring_writer.h"

#define RING_PAGE_BYTES		 4096ull
#define RING_SEEN_CNT		 512u /* power of two */
#define RING_WALK_SETS		 4u
#define RING_WALK_WAYS		 2u /* stacks that are compared with, where a frame has several */

#define ring_load(p)		 __atomic_load_n(p, __ATOMIC_RELAXED)
#define ring_load_acquire(p)	 __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define ring_store(p, v)	 __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define ring_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* A thread's own stack: where it may be, which part is surely mapped, and where it ends. */
struct ring_stack {
	uint64_t low, mapped, high; /* high 0: not known */
	uint32_t tries;
	uint32_t pad0;
};

/* A stack as it was walked (ring_walk.c), kept to be compared with. */
struct ring_walk {
	uint64_t from; /* address of its first frame record; 0: compare nothing with it */
	const struct tapir_ring_repair *repair;
	uint64_t hash;
	uint32_t frame_cnt, record_cnt;
	uint32_t flags, is_repaired;
	uint32_t end; /* enum tapir_stack_end */
	uint32_t pad0;
	uint64_t ips[TAPIR_FRAMES + 1];
	uint64_t fps[TAPIR_FRAMES + 2];
};

struct ring_level;

struct ring_writer {
	uint32_t life; /* of the lane it belongs to; 0: none */
	uint32_t idx;  /* in all arenas */
	struct tapir_ring_slot *slot;
	struct ring_level *level; /* its owner's */
	uint8_t *ring;
	const uint64_t *tails; /* ctl's, one a session */
	uint64_t head, off, cap_bytes;
	uint64_t tail; /* no session's is lower, as last seen */
	uint32_t cap_final, writing, tid, tgid, epoch;
	uint32_t thread_sent; /* in this epoch */
	uint64_t pending;     /* bytes of the event under way: head and off move when it commits */
	uint64_t pending_off;
	uint64_t dropped;
	uint64_t last_tail[TAPIR_RING_SESSIONS];
	struct ring_bucket {
		uint64_t from_ns; /* 0: no event yet */
		uint64_t credit;  /* RING_TOKEN for each event that may pass now */
	} rate[TAPIR_RING_SESSIONS];
	struct ring_stack stack;
	uint64_t seen[RING_SEEN_CNT]; /* stack ids sent in this epoch */
	uint32_t next_way, pad0;
	struct ring_walk walks[RING_WALK_SETS * RING_WALK_WAYS];
};

#define RING_OPENED_CNT 16u

struct ring_writers {				 /* of an arena */
	uint64_t owners[TAPIR_RING_ARENA_SLOTS]; /* changes << 32 | tid, tid 0: free */
	struct ring_writer writers[TAPIR_RING_ARENA_SLOTS];
};

/* The gate: RING_FORKED by the kernel, in a child; each lane has its own number. */
enum ring_gate { RING_FORKED = 0, RING_ADOPTING = 1, RING_SHUT = 2, RING_FIRST_LIFE = 3 };

struct ring_arena {
	struct tapir_ring_data *data;
	uint64_t bytes; /* of data, this process's: in a child the file has the parent's */
	struct ring_writers *writers;
	uint64_t opened; /* a bit for RING_OPENED_CNT rings of data */
	uint64_t inode;
	int fd;
};

enum ring_event_slot_state { RING_EVENT_SLOT_FREE = 0, RING_EVENT_SLOT_HELD = 1 };

/* An entry of the catalog as the process keeps it. */
struct ring_event_slot {
	struct tapir_ring_event *event; /* NULL: none is registered */
	uint32_t catalog_off, catalog_cap;
	uint32_t freed_turn; /* FREE: in which turn (ring_event_slots.c) */
	uint16_t generation;
	uint8_t state; /* enum ring_place_state */
	uint8_t pad0;
};

struct ring_event_slots {
	struct ring_event_slot all[TAPIR_RING_EVENTS];
	uint16_t freed[TAPIR_RING_EVENTS]; /* in the order in which they were given back */
};

enum ring_state { RING_NONE = 0, RING_STARTING = 1, RING_READY = 2, RING_OFF = 3 };

struct ring_process {
	uint32_t state; /* enum ring_state */
	uint32_t arena_cnt;
	uint32_t arena_lock; /* a thread is making one: others do not wait */
	uint32_t event_cnt;
	uint32_t *gate;
	uint32_t life; /* of the last lane made */
	int ctl_fd;
	uint32_t tgid, ctl_flags;
	uint64_t ctl_inode, dev; /* dev: of all our files */
	struct tapir_ring_ctl *ctl;
	uint64_t private_key; /* 0: for all tracers, under a key of our own */
	uint64_t key, ring_bytes, catalog_used;
	uint64_t next_life_ns;
	uint64_t budget_bytes, charged_bytes, budget_next;
	uint64_t beat[TAPIR_RING_SESSIONS], beat_ns[TAPIR_RING_SESSIONS];
	uint64_t waiter_id[TAPIR_RING_SESSIONS], waited_ns[TAPIR_RING_SESSIONS]; /* ring_wait.c */
	uint32_t exit_key; /* of pthread_key_create */
	uint32_t exit_key_made;
	uint32_t is_by_tid;   /* there is none, and threads are identified by their ids */
	uint32_t leaving_cnt; /* threads in the key's destructor */
	struct ring_event_slots *event_slots;
	uint32_t event_slot_lock, freed_from, freed_cnt, turn;
	uint64_t turn_id[TAPIR_RING_SESSIONS], turn_drains[TAPIR_RING_SESSIONS];
	uint64_t inherited_until_ns;
	struct tapir_ring_ctl *parent_ctl; /* while sessions are INHERITED; NULL */
	const struct tapir_ring_repair *repair;
	struct ring_arena arenas[TAPIR_RING_ARENAS];
};

/* A thread writes with this: at level 0, or inside the writing of an event there. */
struct ring_level {
	struct ring_writer *writer;
	uint64_t busy;	  /* frame address of the event being written; 0 none */
	uint32_t refused; /* events since a slot was last requested without success */
	uint32_t pad0;
};

#define RING_LEVELS 2u /* an event inside the writing of an event of level 1 is counted */

struct ring_tls {
	struct ring_level levels[RING_LEVELS];
	uint32_t used; /* ring_thread.c; by tid: whose it is */
	uint32_t pad0;
	uint64_t self; /* by tid: its thread pointer */
};

#pragma GCC visibility push(hidden)

extern struct ring_process ring_process;
extern uint32_t ring_closed_gate; /* before there is a page */

/* ring_arena.c */
int ring_ctl__map(struct tapir_ring_ctl **ctl); /* its descriptor, or -errno */
int ring_gate__map(void);
/* Closes the gate: threads find the closed one, and no event is written. */
void ring_gate__unmap(void);
/* Creates an arena of rings, and maps it. 0 or -errno. */
int ring_arena__open(uint32_t arena_idx);
void ring_arena__close(struct ring_arena *arena);
int ring_file__is(int fd, uint64_t inode); /* 1: the program has not put another one there */
void ring_file__close(int fd, uint64_t inode);
void ring_arena__cover(const struct ring_arena *arena); /* by private memory, in a child */
void ring_arena__free(struct ring_arena *arena);
/* Faults pages in, so that no event pays for it. 0 or -errno. */
int ring_populate(const void *at, uint64_t bytes);
/* Memory that was mapped without access; all pages that it touches. 0 or -errno. */
int ring_memory__open(const void *at, uint64_t bytes);

/* ring_events.c */
int ring_event__publish(struct tapir_ring_event *event, uint32_t idx);
int ring_events__adopt(int may_free); /* a lane for a forked child: 1 when there is one */
void ring_events__switch_off(void);

/* ring_event_slots.c: the lock is for the four */
int ring_event_slots__lock(void); /* 1; 0: its holder does not run */
void ring_event_slots__unlock(void);
int ring_event_slot__take(void); /* its index, or -ENOSPC */
void ring_event_slot__return(uint32_t idx);
void ring_event_slots__forked(
	void); /* in a child: what is free stays free, and no thread holds the lock */

/* tracer_liveness.c */
void tracer_liveness__check(uint64_t now_ns);
/*
 * Puts into an event's word the bits of the open sessions that want it. The event is in the catalog
 * already, so that a session which opens now sees it there.
 */
void tracer_liveness__update(const struct tapir_ring_about *about, uint64_t *word);
uint32_t tracer_liveness__wanting(const struct tapir_ring_about *about); /* sessions, a bit each */

/* ring_wait.c */
int ring_wait__for_tracer(uint32_t sessions, const uint64_t *word); /* 0: no longer */

/* ring_loss.c */
void ring_loss__count(uint32_t row, uint32_t sessions, enum tapir_ring_cause cause);
/*
 * Counts, in the parent's ctl, an event that a child fires before it has a lane, or if it cannot
 * make one.
 */
void ring_loss__in_child(struct tapir_ring_ctl *parent, uint32_t sessions);

/*
 * Charges bytes to the process's limit of memory: 1, or 0 beyond it, and then nothing is charged.
 * __uncharge gives them back.
 */
int ring_memory__charge(uint64_t bytes);
void ring_memory__uncharge(uint64_t bytes);

/* ring_stack.c */
void ring_stack__find(struct ring_stack *stack, uint64_t sp);
/*
 * Reads the bounds of the thread's stack again, a few times at most: its first event came on an
 * alternate stack, or on one that is not the thread's own.
 */
void ring_stack__retry(struct ring_stack *stack, uint64_t sp);
int ring_stack__alternate(struct ring_stack *stack); /* 1: the thread is on it */

#ifdef TAPIR_RING_NO_TLS
/* ring_thread.c */
struct ring_tls *ring_thread__make(void); /* the calling thread's; NULL: no room */
struct ring_tls *ring_thread__find(void); /* the same, where there is no key */
void ring_thread__free(struct ring_tls *t);
#endif

/* ring_slot.c */
/* is_inner: for level 1, while the thread has a slot or is about to claim it. */
struct ring_writer *ring_slot__claim(int is_inner);
/* Frees the slot of a thread that exits: it is the next one's. */
void ring_slot__give_back(struct ring_writer *w);

/* ring_event.c */
void ring_slot__leave(void *thread); /* a thread exits */

/* ring_process.c */
int ring_process__start(struct tapir_ring_ctl **ctl, int *ctl_fd);
/* Opens the gate for a lane that is complete. */
void ring_process__announce(void);

/* ring_fork.c */
/*
 * 0 or -errno: then all is as a child finds it. may_free: the thread's event is at its beginning.
 * *unannounced: the parent's ctl, for ring_fork__announce_child once this process's is announced;
 * else untouched.
 */
int ring_fork__make_anew(int may_free, struct tapir_ring_ctl **unannounced);
/* Announces the child to the parent's tracers. Takes the mapping; NULL: they know already. */
void ring_fork__announce_child(struct tapir_ring_ctl *parent);
void ring_fork__forked(void); /* for pthread_atfork */

/* ring_walk.c */
const struct ring_walk *ring_walk__take(struct ring_writer *w, uint64_t fp);
/* Drops the walks that are kept: the slot has a new owner with another stack. */
void ring_walk__forget(struct ring_writer *w);
/* Without a writer: into the caller's walk. stack: the calling thread's, 0 in the beginning. */
const struct ring_walk *ring_walk__once(struct ring_stack *stack, struct ring_walk *walk,
					uint64_t fp);

/* ring_lines.c */
struct ring_lines {
	int fd;
	uint32_t at, len;
	char bytes[256];
};
/* Reads a file of /proc line by line, with the caller's buffer: no allocation. 0 or -errno. */
int ring_lines__open(struct ring_lines *lines, const char *path);
int ring_lines__next(struct ring_lines *lines, char *line, uint32_t room); /* 1, 0 at the end */
void ring_lines__close(struct ring_lines *lines);
/* Reads a number at *at, which moves past it. */
uint64_t ring_text__number(const char **at, unsigned base);

#pragma GCC visibility pop

static inline uint64_t ring_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* The lane may be used: not in a forked child before it has its own, and not while it is made. */
static inline int ring_is_alive(void)
{
	return ring_load_acquire(ring_process.gate) >= RING_FIRST_LIFE;
}

/* Events of a session in this state are written. */
static inline int ring_is_served(uint32_t state)
{
	return state == TAPIR_RING_OPEN || state == TAPIR_RING_INHERITED;
}

static inline uint32_t ring_sessions_of(uint64_t word)
{
	return (uint32_t)(word >> TAPIR_RING_WANT_SHIFT) & 0xffu;
}

static inline int ring_stack__holds(const struct ring_stack *stack, uint64_t va)
{
	return va - stack->low < stack->high - stack->low;
}

static inline uint64_t ring_round8(uint64_t bytes)
{
	return (bytes + 7) & ~7ull;
}

#endif
