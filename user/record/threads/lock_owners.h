/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_owners.h - who holds the locks of runtimes for which threads of a process wait, by its
 * memory (runtime/lock_ops.h), and what those locks are called. Mutexes are system_call.h's.
 *
 * For one look at a process, between the lists of its threads that show which of them have run.
 */
#ifndef TAPIR_USER_LOCK_OWNERS_H
#define TAPIR_USER_LOCK_OWNERS_H

#include "attach/thread_list.h"
#include "record/threads/snapshot_impl.h"

struct tapir_lock_owners;

/* threads: all of the process tgid. NULL: no memory. */
struct tapir_lock_owners *tapir_lock_owners__new(uint32_t tgid,
						 const struct tapir_thread_list *threads);
void tapir_lock_owners__free(struct tapir_lock_owners *o);

/* For a thread of a database server that runs: finds the statement that it executes. */
void tapir_lock_owners__find_running(const struct tapir_lock_owners *o,
				     struct tapir_thread_copy *copy);
/* Sets the owner of what a thread waits for that sleeps in a system call, if it is known. */
void tapir_lock_owners__find(const struct tapir_lock_owners *o, struct tapir_thread_copy *copy);

/* 0 or -ENOMEM; __fini in any case. One thread. */
int tapir_lock_namers__init(struct tapir_lock_namers *n);
void tapir_lock_namers__fini(struct tapir_lock_namers *n);
/* Finds the names of all locks for which threads of a process wait; __add appends that of one. */
void tapir_lock_namers__find(struct tapir_lock_namers *n, const struct tapir_process_copy *p);
void tapir_lock_namers__add(const struct tapir_lock_namers *n, const struct tapir_thread_copy *copy,
			    struct tapir_str *out);

#endif
