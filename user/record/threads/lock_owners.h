/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lock_owners.h - who holds the locks of runtimes for which threads of a process wait, by its
 * memory: monitors of .NET, locks of PostgreSQL. Mutexes are system_call.h's.
 *
 * For one look at a process, between the lists of its threads that tell which of them have run.
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

/* Sets the owner of what a thread waits for that sleeps in a system call, if it is known. */
/* For a thread of a database server that runs: finds the statement that it executes. */
void tapir_lock_owners__find_statement(const struct tapir_lock_owners *o,
				       struct tapir_thread_copy *copy);
void tapir_lock_owners__find(const struct tapir_lock_owners *o, struct tapir_thread_copy *copy);

#endif
