/* SPDX-License-Identifier: GPL-2.0-or-later */
/* postgresql_ops.h - the tables of functions of which PostgreSQL's row is made (postgresql_ops.c).
 */
#ifndef TAPIR_USER_POSTGRESQL_OPS_H
#define TAPIR_USER_POSTGRESQL_OPS_H

#include "runtime/runtime_ops.h"

/* Finds who holds locks, and what sessions execute: postgresql_seekers.c */
extern const struct tapir_lock_ops tapir_postgresql_lock_ops;
/* Names the locks for which processes wait by their events: postgresql_watch.c */
extern const struct tapir_runtime_watch_ops tapir_postgresql_watch_ops;

#endif
