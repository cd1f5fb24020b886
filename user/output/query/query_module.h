/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_module.h - a described table as a virtual table of SQLite. For output/query alone. One
 * thread, that of the statement.
 */
#ifndef TAPIR_USER_QUERY_MODULE_H
#define TAPIR_USER_QUERY_MODULE_H

#include <sqlite3.h>

#include "output/query/query_source.h"

/* Both are borrowed as long as the database is open. An SQLite code. */
int tapir_query_module__add(sqlite3 *db, struct tapir_query_source *source, const char *name,
			    const struct tapir_table_desc *table);

#endif
