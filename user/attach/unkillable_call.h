/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unkillable_call.h - a call to the kernel that the end of tapir must not cut short.
 *
 * A breakpoint is put into and taken out of each process page by page. While a fatal signal is
 * pending for the thread that does it (SIGKILL, a second Ctrl-C), each of these steps fails with
 * EINTR, and the kernel aborts: "uprobe: failed to unregister, leaking uprobe". Breakpoints and
 * raised semaphores then stay in the traced processes until they end: 1,820 uprobes in 60 kills
 * during a stop, seen with Linux 6.18. So the call is made by a child that has its own memory and
 * shares tapir's table of file descriptors; when tapir is killed, the child completes the call and
 * ends, and what it had opened is closed by its exit, which no signal interrupts.
 */
#ifndef TAPIR_USER_UNKILLABLE_CALL_H
#define TAPIR_USER_UNKILLABLE_CALL_H

#include <stddef.h>

/*
 * Calls fn(ctx) in such a child and returns what it returned: -errno or a value. What fn changes in
 * memory is lost; it may use system calls only, since other threads may hold any lock. Where no
 * child can be made, it is called here. Any thread; no privileges.
 */
long tapir_unkillable__call(long (*fn)(const void *ctx), const void *ctx);

/* Closes cnt fds of links: the probes are off when it returns. */
void tapir_unkillable__close(const int *fds, size_t cnt);

#endif
