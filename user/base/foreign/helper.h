/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * helper.h - processes that make the system calls that may never return.
 *
 * A file system that is served by a program (FUSE) or by another machine (NFS) can stop answering;
 * a call to it then blocks in the kernel, often beyond the reach of SIGKILL. So such calls are made
 * by a helper, a child process that tapir never has to wait for. Helpers are forked by a fork
 * server, itself forked while this program is still small and has one thread: neither holds
 * descriptors, the terminal or mappings of a recording. All of them end when this program ends,
 * however it ends, except a helper that is blocked in the kernel: it ends when its call returns.
 *
 * Thread-safe, but one helper serves one call at a time: the caller serializes.
 */
#ifndef TAPIR_USER_HELPER_H
#define TAPIR_USER_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TAPIR_HELPER_MAX_BYTES 4608 /* of a request: a path and a little more */
#define TAPIR_HELPER_MAX_FDS   3    /* at most TAPIR_FD_MESSAGE_MAX_FDS */

/*
 * The function that a helper runs. fds belong to the helper for the duration of the call. Results:
 * *value, and in *out_fd a descriptor to pass on (-1: none), which it closes afterwards. Returns 0
 * or -errno.
 */
typedef int (*tapir_helper_fn)(const void *in, const int *fds, uint64_t *value, int *out_fd);

struct tapir_helper_call {
	tapir_helper_fn fn;
	const void *in; /* copied */
	size_t in_bytes;
	int fds[TAPIR_HELPER_MAX_FDS]; /* duplicated into the helper */
	int fd_cnt;
	uint64_t limit_ns; /* 0: what a file system gets (file_system.h); else it waits for more */
	/* results */
	uint64_t value;
	int out_fd; /* the caller's; -1: none */
};

struct tapir_helper {
	int sock; /* -1: not started */
	pid_t pid;
	bool is_busy; /* with a call that was given up */
	uint64_t serial;
};
#define TAPIR_HELPER_NONE                                                                          \
	(struct tapir_helper)                                                                      \
	{                                                                                          \
		.sock = -1                                                                         \
	}

/* Starts the fork server. Without it the first helper does; best while the program has one thread.
 */
int tapir_helpers__start(void);

/*
 * Ends the fork server and all helpers, within 200 ms. Returns how many could not be ended; their
 * pids are in left[0..cnt).
 */
size_t tapir_helpers__stop(pid_t *left, size_t cnt);

/*
 * __set_cancel: a call ends at once with -ECANCELED when this descriptor becomes readable (a
 * signalfd, before the signal is taken); borrowed, -1: none. __set_deadline: from now on all calls
 * together may take limit_ns more. Both are for the thread that ends the program.
 */
void tapir_helpers__set_cancel(int fd);
void tapir_helpers__set_deadline(uint64_t limit_ns);

/* Has the fork server fork a helper; starts the fork server first, if need be. 0 or -errno. */
int tapir_helper__start(struct tapir_helper *helper);
/* The helper ends when it is not busy, else when its call returns. */
void tapir_helper__leave(struct tapir_helper *helper);

/* Returns true if it is still with a call that was given up. */
bool tapir_helper__is_busy(struct tapir_helper *helper);

/*
 * 0 or what fn returned. -ETIMEDOUT: no answer until deadline_ns (CLOCK_MONOTONIC). -EBUSY: still
 * with a call that was given up. -ECANCELED. -EPIPE: the helper died. Never blocks longer.
 */
int tapir_helper__call(struct tapir_helper *helper, struct tapir_helper_call *call,
		       uint64_t deadline_ns);

/* ---- between helper.c and helper_child.c -------------------------------------------------- */

struct tapir_helper_request {
	uint64_t serial;
	tapir_helper_fn fn; /* the same address there: a fork without exec */
	uint32_t fd_cnt, in_bytes;
	uint8_t in[TAPIR_HELPER_MAX_BYTES] __attribute__((aligned(8)));
};

struct tapir_helper_reply {
	uint64_t serial, value;
	int32_t err, pad;
};

enum { TAPIR_FORK_SERVER_SPAWN = 1, TAPIR_FORK_SERVER_END };
#define TAPIR_FORK_SERVER_CHILDREN 80

struct tapir_fork_server_reply {
	int32_t err;
	uint32_t left_cnt;
	int32_t pids[TAPIR_FORK_SERVER_CHILDREN]; /* __SPAWN: [0] */
};

/* The fork server's process. */
void tapir_fork_server__live(int sock) __attribute__((noreturn));

#endif
