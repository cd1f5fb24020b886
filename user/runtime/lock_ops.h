/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_ops.h - what a runtime or server has in its memory of threads that sleep: who holds the lock
 * for which one waits, what that lock is called, which statement a thread of a server executes.
 * Nothing is asked of the process. Each runtime that has locks of its own fills a table of these
 * (runtime/runtime_ops.h); what calls it (record/threads/lock_owners.c) knows no runtime by name.
 */
#ifndef TAPIR_USER_LOCK_OPS_H
#define TAPIR_USER_LOCK_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/thread_list.h"
#include "base/str.h"
#include "base/vec.h"

/* A thread that sleeps, or runs, as it was copied. */
struct tapir_lock_seeker {
	uint32_t tgid, tid;
	uint32_t number;       /* of the thread in its own namespace */
	uint64_t futex_va;     /* 0: it waits for none */
	const uint8_t *memory; /* of its stack, from stack_va on */
	size_t bytes;
	uint64_t stack_va;
};

/* The facts that are known of it; zeroed at first, its strings and lock are freed with free(3). */
struct tapir_lock_found {
	uint32_t owner;		 /* a thread of the process, as its namespace numbers it */
	uint32_t owner_tid;	 /* or of another process; 0: not known */
	bool is_owner_elsewhere; /* in another process, and not known to wait for this one */
	void *lock;		 /* of whose name add_name knows how to make a text; NULL: none */
	char *statement, *holder_statement; /* what it and who holds that executes; NULL */
	char *session, *holder_session;	    /* transactions in which they execute nothing; NULL */
};

/* A thread that waits for a lock of another, as their own pid namespace numbers them. */
struct tapir_lock_wait {
	uint32_t tid, owner_tid;
};

struct tapir_lock_waits tapir_vec(struct tapir_lock_wait);

struct tapir_lock_ops {
	/* threads: all of the process. NULL: it has no such locks, or there is no memory. No line.
	 */
	void *(*open)(uint32_t tgid, const struct tapir_thread_list *threads);
	void (*close)(void *state);
	/* Finds what is known of a thread that sleeps in a system call. */
	void (*find)(const void *state, const struct tapir_lock_seeker *thread,
		     struct tapir_lock_found *out);
	/* The same of one that runs; NULL: nothing is known of such. */
	void (*find_running)(const void *state, const struct tapir_lock_seeker *thread,
			     struct tapir_lock_found *out);

	/* Names of the locks of all processes of a snapshot. NULL: out of memory. */
	void *(*names_new)(void);
	void (*names_free)(void *names);
	/* All locks of a process are wanted, then found at once, then named; NULL: not needed. */
	void (*want_name)(void *names, uint32_t tgid, const void *lock);
	void (*find_names)(void *names);
	void (*add_name)(void *names, uint32_t tgid, const void *lock, struct tapir_str *out);
};

#endif
