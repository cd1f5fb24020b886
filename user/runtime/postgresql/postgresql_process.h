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

/* NULL: it is no process of a server, or out of memory. */
struct tapir_postgresql_process *tapir_postgresql_process__new(uint32_t tgid);
void tapir_postgresql_process__free(struct tapir_postgresql_process *p);

/* The address of MyProc (postgresql_locks.h). */
uint64_t tapir_postgresql_process__my_proc_va(const struct tapir_postgresql_process *p);
/*
 * Names of relations of a database, 0: of those that all share; as postgresql_names.h. Files of a
 * database in another tablespace are found by a process that is connected to it only.
 */
void tapir_postgresql_process__name_relations(struct tapir_postgresql_process *p, uint32_t database,
					      struct tapir_postgresql_relation *relations,
					      size_t cnt);
void tapir_postgresql_process__name_database(struct tapir_postgresql_process *p, uint32_t database,
					     char name[TAPIR_POSTGRESQL_NAME_BYTES]);

#endif
