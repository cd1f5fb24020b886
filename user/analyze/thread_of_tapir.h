/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_of_tapir.h - tapir's own threads in traced processes: libtapir-coreclr.so has one, which
 * sleeps until a recording changes what is enabled, and is of no interest to the user.
 */
#ifndef TAPIR_USER_THREAD_OF_TAPIR_H
#define TAPIR_USER_THREAD_OF_TAPIR_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/catalog.h"

/*
 * Returns true if the stack begins in the library, apart from libc's start functions. A thread of
 * the process that fires an event is in it, too, but did not begin there. Cheap for deep stacks.
 */
bool tapir_thread_of_tapir__has_stack(const struct tapir_catalog *catalog, uint32_t tgid,
				      uint64_t time_ns, uint64_t stack_id);

#endif
