/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * postgresql_process.h - a process of a PostgreSQL server: where the variables are that its program
 * exports, its memory, and files below its data directory. Borrowed pointers are valid as long as
 * it. No lines. One thread.
 */
#ifndef TAPIR_USER_POSTGRESQL_PROCESS_H
#define TAPIR_USER_POSTGRESQL_PROCESS_H

#include "runtime/postgresql/postgresql_names.h"

struct tapir_postgresql_process;

/*
 * Returns NULL: it is not a process of a server, or out of memory. __free closes what is open; NULL
 * is fine.
 */
struct tapir_postgresql_process *tapir_postgresql_process__new(uint32_t tgid);
void tapir_postgresql_process__free(struct tapir_postgresql_process *p);

/*
 * Return the address of MyProc (postgresql_locks.h), of debug_query_string
 * (tapir_postgresql__statement) and of MyBEEntry (postgresql_session.h) in each process of the
 * server; 0: it is not exported.
 */
uint64_t tapir_postgresql_process__my_proc_va(const struct tapir_postgresql_process *p);
/* The address of debug_query_string (tapir_postgresql__statement); 0: it is not exported. */
uint64_t tapir_postgresql_process__query_va(const struct tapir_postgresql_process *p);
/* The address of MyBEEntry (postgresql_session.h); 0: it is not exported. */
uint64_t tapir_postgresql_process__my_entry_va(const struct tapir_postgresql_process *p);
/*
 * Writes the text of the statement that a process of the same server executes, cut to what has
 * room. The server keeps it for its log; NULL there, as between statements: "".
 */
void tapir_postgresql__statement(uint32_t tgid, uint64_t query_va, char *out, size_t max);
/*
 * Fill in names of relations of a database (0: of those that all share), and the name of a
 * database; as postgresql_names.h. Files of a database in another tablespace are found by a process
 * that is connected to it only.
 */
void tapir_postgresql_process__name_relations(struct tapir_postgresql_process *p, uint32_t database,
					      struct tapir_postgresql_relation *relations,
					      size_t cnt);
void tapir_postgresql_process__name_database(struct tapir_postgresql_process *p, uint32_t database,
					     char name[TAPIR_POSTGRESQL_NAME_BYTES]);

#endif
