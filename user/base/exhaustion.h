/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exhaustion.h - memory and file descriptors that could not be had, counted for the last line.
 *
 * user.mk puts this header in front of each source below user/. Many callers continue without
 * something they cannot allocate (a name, a memo, a row), and a result that is incomplete for that
 * reason must be reported. So each failed allocation, and each open that failed for lack of a
 * descriptor, is counted where it happens, and the CLI prints the sums. Thread-safe; errno is kept.
 */
#ifndef TAPIR_USER_EXHAUSTION_H
#define TAPIR_USER_EXHAUSTION_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct tapir_exhaustions {
	uint64_t memory_cnt, fd_cnt;
};

/* Counts ENOMEM, EMFILE and ENFILE, of either sign, and nothing else. */
void tapir_exhaustion__note(int err);
struct tapir_exhaustions tapir_exhaustion__all(void);
/* -ENOMEM or -EMFILE when something was counted, else 0. */
int tapir_exhaustion__err(void);

static inline void *tapir_exhaustion__check(void *got, int err)
{
	if (!got)
		tapir_exhaustion__note(err);
	return got;
}

static inline int tapir_exhaustion__check_fd(int fd)
{
	if (fd < 0)
		tapir_exhaustion__note(errno);
	return fd;
}

#define malloc(n)	       tapir_exhaustion__check(malloc(n), ENOMEM)
#define calloc(n, bytes)       tapir_exhaustion__check(calloc(n, bytes), ENOMEM)
#define realloc(p, n)	       tapir_exhaustion__check(realloc(p, n), ENOMEM)
#define reallocarray(p, n, of) tapir_exhaustion__check(reallocarray(p, n, of), ENOMEM)
#define strdup(text)	       ((char *)tapir_exhaustion__check(strdup(text), ENOMEM))
#define strndup(text, n)       ((char *)tapir_exhaustion__check(strndup(text, n), ENOMEM))
#define asprintf(...)	       tapir_exhaustion__check_fd(asprintf(__VA_ARGS__))

#define fopen(path, mode)      ((FILE *)tapir_exhaustion__check(fopen(path, mode), errno))
#define opendir(path)	       ((DIR *)tapir_exhaustion__check(opendir(path), errno))
#define fdopendir(fd)	       ((DIR *)tapir_exhaustion__check(fdopendir(fd), errno))
#define open(...)	       tapir_exhaustion__check_fd(open(__VA_ARGS__))
#define openat(...)	       tapir_exhaustion__check_fd(openat(__VA_ARGS__))
#define pipe2(...)	       tapir_exhaustion__check_fd(pipe2(__VA_ARGS__))
#define socket(...)	       tapir_exhaustion__check_fd(socket(__VA_ARGS__))
#define socketpair(...)	       tapir_exhaustion__check_fd(socketpair(__VA_ARGS__))
#define memfd_create(...)      tapir_exhaustion__check_fd(memfd_create(__VA_ARGS__))
#define eventfd(...)	       tapir_exhaustion__check_fd(eventfd(__VA_ARGS__))

#endif
