/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * system_call.h - the system call in which a thread waits, with its arguments as people read them:
 * "poll(fd 3 socket:[4711], timeout 5 s)"; and who holds the futex it waits for. x86-64.
 *
 * Arguments and memory are of another process, which may put anything there: everything is bounded,
 * and a text may hold any byte of a file's name. No state; any thread.
 */
#ifndef TAPIR_USER_SYSTEM_CALL_H
#define TAPIR_USER_SYSTEM_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "bpf/control.h"

/* Readers of the process; each returns how many bytes it wrote, 0 for none. */
struct tapir_call_source {
	size_t (*memory)(void *ctx, uint64_t va, void *out, size_t bytes);
	size_t (*fd_link)(void *ctx, int fd, char *out, size_t bytes); /* not terminated */
	void *ctx;
	int64_t clock_offset_ns; /* of its CLOCK_MONOTONIC, minus tapir's */
};

struct tapir_call {
	struct tapir_str text; /* empty: not in a system call that the table has */
	uint64_t futex_va;     /* 0: it waits for none */
	uint32_t owner; /* of the futex: a thread id of the process's namespace; 0: unknown */
};

/*
 * Describes the call of a thread that sleeps and has not run since seen was read. out: zeroed, or
 * of an earlier call.
 */
void tapir_call__read(const struct tapir_call_source *source, const struct tapir_thread_seen *seen,
		      struct tapir_call *out);
void tapir_call__fini(struct tapir_call *call);

/*
 * The thread that holds a futex on which another waits, by the arguments of futex(2) and the words
 * from its address on; 0: unknown. The word of a PI futex is its owner's thread id, as the kernel
 * defines it. A mutex of glibc has its owner's in the third word, and musl's, and robust ones, in
 * the first. Other futexes (conditions, semaphores, barriers, those of runtimes) have no owner. The
 * caller checks that there is such a thread.
 */
#define TAPIR_FUTEX_WORDS 5u
/*
 * Returns the thread id that a futex's word, or the words around it, name as its owner (PI futexes,
 * glibc's mutexes); 0: none.
 */
uint32_t tapir_futex__owner(uint32_t op, uint32_t value, const uint32_t words[TAPIR_FUTEX_WORDS]);

#endif
