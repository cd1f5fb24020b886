/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_use.h - what all threads of the machine have used so far, by a BPF iterator: half a
 * millisecond for 1,000 threads, and nothing for the threads themselves.
 */
#ifndef TAPIR_USER_THREAD_USE_H
#define TAPIR_USER_THREAD_USE_H

#include "bpf/control.h"

struct tapir_programs;

/*
 * Calls fn with each. Programs must be loaded with_uses. 0, -errno of bpf(2) or read(2), or what fn
 * returned when that was not 0. No line. Any thread.
 */
int tapir_thread_uses__read(struct tapir_programs *programs,
			    int (*fn)(void *ctx, const struct tapir_thread_use *use), void *ctx);

#endif
