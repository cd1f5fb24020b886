/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_thread.h - tapir's own threads in traced processes: libtapir-coreclr.so has one, which sleeps
 * until a recording changes what is enabled, and is of no interest to the user.
 */
#ifndef TAPIR_USER_OWN_THREAD_H
#define TAPIR_USER_OWN_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/catalog.h"

/*
 * Returns true if the stack begins in the library, apart from libc's start functions. A thread of
 * the process that fires an event is in it, too, but did not begin there. Cheap for deep stacks.
 */
bool tapir_own_thread__has_stack(const struct tapir_catalog *catalog, uint32_t tgid,
				 uint64_t time_ns, uint64_t stack_id);

#endif
