/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fd_message.h - messages with descriptors over a unix socket (SCM_RIGHTS, unix(7)). System calls
 * and the stack only: for copies of a process with threads, too.
 */
#ifndef TAPIR_USER_FD_MESSAGE_H
#define TAPIR_USER_FD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TAPIR_FD_MESSAGE_MAX_FDS 4

/* flags: MSG_DONTWAIT or 0. The descriptors stay the caller's. 0 or -errno; never SIGPIPE. */
int tapir_fd_message__send(int sock, const void *bytes, size_t len, const int *fds, int fd_cnt,
			   int flags);

/*
 * The bytes of a message, 0 when the other end has closed, or -errno. fds: fd_cap numbers, -1 where
 * none came; more than those are closed. *is_cut (or NULL): bytes or descriptors are missing, the
 * latter also for lack of room in the table of this process.
 */
ssize_t tapir_fd_message__recv(int sock, void *bytes, size_t cap, int *fds, int fd_cap, int flags,
			       bool *is_truncated);

#endif
