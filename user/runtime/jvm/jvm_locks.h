/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jvm_locks.h - which threads of a HotSpot JVM wait for locks that which others hold, by its thread
 * dump (attach protocol, "threaddump -l"): monitors, and java.util.concurrent's locks that have an
 * owner. The JVM stops all its Java threads at a safepoint for it.
 *
 * The text is the JVM's, and names of threads and classes in it are the program's: what it claims
 * concerns that program alone. Parsing is pure. Thread-safe.
 */
#ifndef TAPIR_USER_JVM_LOCKS_H
#define TAPIR_USER_JVM_LOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/lock_ops.h"

/* Adds the waits of a dump whose owner is in it, too. 0 or -ENOMEM. */
int tapir_jvm_locks__parse(const char *dump, size_t len, struct tapir_lock_waits *out);

/* Requests a dump of the process, if it is a JVM, and parses it (ask_owners of its row). */
void tapir_jvm_locks__ask(uint32_t tgid, struct tapir_lock_waits *out);

#endif
