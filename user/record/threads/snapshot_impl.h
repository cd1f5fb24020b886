/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot_impl.h - threads as they were copied; for snapshot*.c. */
#ifndef TAPIR_USER_SNAPSHOT_IMPL_H
#define TAPIR_USER_SNAPSHOT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/control.h"
#include "runtime/interpreters.h"
#include "runtime/runtime_ops.h"
#include "record/threads/snapshot.h"

#define TAPIR_COPY_BYTES (128u << 10) /* of one stack; frames beyond are cut */

struct tapir_thread_copy {
	struct tapir_thread_seen seen;
	uint8_t *memory; /* from seen.sp on, rounded down to 8 bytes; NULL: none */
	size_t bytes;
	bool has_moved;				 /* in each round: it runs */
	struct tapir_interp_function *functions; /* that an interpreter runs; NULL: none */
	size_t function_cnt;
	/* For a thread that sleeps in a system call (system_call.h): */
	char *call; /* NULL: none */
	uint64_t futex_va;
	uint32_t owner;	       /* as its own namespace numbers it; 0: not known so */
	uint32_t owner_tid;    /* 0: unknown */
	bool is_owner_of_dump; /* the owner is of a thread dump, which all threads stopped for */
	struct tapir_lock_found found; /* by a runtime, of which runtime_idx is one */
	unsigned runtime_idx;
};

/* The thread's id in its own namespace. ns_tid 0: unknown */
static inline uint32_t tapir_number_of_thread(uint32_t tid, uint32_t ns_tid)
{
	return ns_tid ? ns_tid : tid;
}

struct tapir_thread_copies tapir_vec(struct tapir_thread_copy);
/* Frees what was copied of the thread. */
void tapir_thread_copy__fini(struct tapir_thread_copy *copy);

/* Threads of a process. */
struct tapir_process_copy {
	uint32_t tgid;
	struct tapir_thread_copies copies;
	struct tapir_map idx_by_tid;
	const struct tapir_interpreter_ops *interpreter; /* NULL: none that can be read */
	void *interpreter_state;			 /* owned */
	struct tapir_interp_loop loop;
};

/*
 * Copies the threads of a process. *room: bytes that may still be copied. 0, also for a process
 * that ended; -errno of the iterator, without a line. __fini in any case.
 */
int tapir_process_copy__take(struct tapir_process_copy *p, struct tapir_programs *programs,
			     unsigned round_cnt, size_t *room);
void tapir_process_copy__fini(struct tapir_process_copy *p);

/*
 * Lists threads, by /proc where there are no programs. A process that has ended has none. 0 or
 * -errno, no line.
 */
struct tapir_thread_list;
int tapir_snapshot__list(struct tapir_programs *programs, uint32_t tgid,
			 struct tapir_thread_list *out);
/* Returns true if it is the same thread, which has not run since. */
bool tapir_thread_seen__has_not_run(const struct tapir_thread_seen *now,
				    const struct tapir_thread_seen *before);

/* Calls of threads, between the two readings that show whether they ran. snapshot_calls.c */
struct tapir_call_reader;
struct tapir_call_reader *tapir_call_reader__new(uint32_t tgid); /* NULL: no memory */
void tapir_call_reader__free(struct tapir_call_reader *reader);
int tapir_call_reader__read(struct tapir_call_reader *reader, struct tapir_thread_copy *copy);

/* Finds the threads that are meant by owners. snapshot_owners.c */
int tapir_process_copy__find_owners(struct tapir_process_copy *p);
/*
 * Forgets owners that may make a circle of waits which were not at the same time: of threads that
 * wait for one which waits, too, and have run since they were copied. 0 or -errno of the iterator.
 */
int tapir_process_copies__check_chains(struct tapir_process_copy *processes, size_t cnt,
				       struct tapir_programs *programs);

/* The state of posting the processes of a snapshot. */
struct tapir_walk_tables;
struct tapir_lock_namers {
	void *names[TAPIR_RUNTIME_OPS_CNT]; /* of locks (runtime/lock_ops.h) */
};
struct tapir_poster {
	struct tapir_queue *queue;
	struct tapir_walk_tables *tables;
	struct tapir_lock_namers locks;
	bool is_end; /* snapshot.h */
};

/* Posts the WAIT records of a process, after its SWITCH records. */
void tapir_process_copy__post_calls(const struct tapir_process_copy *p,
				    struct tapir_poster *poster);

/*
 * Holds the unwind tables of the files that the processes of a snapshot map; each is read once.
 * NULL: out of memory.
 */
struct tapir_walk_tables *tapir_walk_tables__new(void); /* NULL: no memory */
void tapir_walk_tables__free(struct tapir_walk_tables *tables);

/* Walks the stacks of a process and posts its threads. */
void tapir_process_copy__post(const struct tapir_process_copy *p, struct tapir_poster *poster);

#endif
