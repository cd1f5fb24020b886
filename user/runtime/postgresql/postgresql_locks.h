/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * postgresql_locks.h - which server process holds the lock of PostgreSQL (of a table, row,
 * transaction, ...) for which another waits, by the shared memory that all of them map. Nothing is
 * asked of the server.
 *
 * Each process exports a variable, MyProc, which points to its entry among all processes. An entry
 * that waits points to the lock and to its own place in the lock's queue, which points back to
 * both; the lock has a list of such places, with what each process holds (since 9.6). Where these
 * are in an entry differs by version, so they are searched for, by pointers that agree.
 *
 * The memory is checked: whatever does not agree is no lock. Pure but for reads; any thread.
 */
#ifndef TAPIR_USER_POSTGRESQL_LOCKS_H
#define TAPIR_USER_POSTGRESQL_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "decode/postgresql_text.h"
#include "runtime/process_memory.h"

struct tapir_postgresql_holder {
	uint64_t entry_va; /* what its MyProc points to */
	uint32_t pid;	   /* as the server's own namespace numbers it */
	bool is_cycle;	   /* it waits in turn, directly or not, for who waits for it */
};

/*
 * Finds the process that holds a lock which conflicts with the one for which process pid waits; of
 * several, one that waits, too. If there is none: the process that holds up those in the queue that
 * want a mode which conflicts. pid: as the server's namespace numbers it. false: it waits for none.
 */
bool tapir_postgresql_locks__holder(const struct tapir_process_memory *memory, uint64_t my_proc_va,
				    uint32_t pid, struct tapir_postgresql_holder *out);

/* The number of its own transaction, whose lock it holds from its first change on; 0: none. */
uint32_t tapir_postgresql_locks__transaction(const struct tapir_process_memory *memory,
					     uint64_t my_proc_va, uint32_t pid);

/* Reads the lock that it waits for. false: it does not wait. */
bool tapir_postgresql_locks__wanted(const struct tapir_process_memory *memory, uint64_t my_proc_va,
				    uint32_t pid, struct tapir_postgresql_lock *out);

#endif
