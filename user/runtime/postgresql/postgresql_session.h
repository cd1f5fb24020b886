/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * postgresql_session.h - in which transaction a process of PostgreSQL is while it executes nothing,
 * by the memory that it shares with the server's other processes. Nothing is asked of the server.
 *
 * Each process exports a variable, MyBEEntry (since 14), which points to what pg_stat_activity has
 * of it. The entry begins with its pid and its times; where its texts are may differ, so that is
 * searched for. Which transaction's locks it holds is in the lists of locks that belong to its
 * entry among all processes (postgresql_locks.h), searched for as well.
 *
 * The memory is checked: what does not agree is not known. Pure but for reads; any thread.
 */
#ifndef TAPIR_USER_POSTGRESQL_SESSION_H
#define TAPIR_USER_POSTGRESQL_SESSION_H

#include "decode/postgresql_text.h"
#include "runtime/process_memory.h"

#define TAPIR_POSTGRESQL_STATEMENT_BYTES 256u /* of a longer one, its beginning */

/*
 * pid: as the server's namespace numbers it; now_us: of CLOCK_REALTIME. text: of what it executed
 * last, which out borrows. false: it is in no transaction, or that is not known.
 */
bool tapir_postgresql_session__read(const struct tapir_process_memory *memory, uint64_t my_entry_va,
				    uint32_t pid, uint64_t now_us,
				    char text[TAPIR_POSTGRESQL_STATEMENT_BYTES],
				    struct tapir_postgresql_session *out);

#endif
