/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shortage.h - memory and file descriptors that could not be had, counted for the last line.
 *
 * user.mk puts this header in front of each source below user/. Many callers continue without
 * something they cannot allocate (a name, a memo, a row), and a result that is incomplete for that
 * reason must be reported. So each failed allocation, and each open that failed for lack of a
 * descriptor, is counted where it happens, and the CLI prints the sums. Thread-safe; errno is kept.
 */
#ifndef TAPIR_USER_SHORTAGE_H
#define TAPIR_USER_SHORTAGE_H

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

struct tapir_shortages {
	uint64_t memory_cnt, fd_cnt;
};

/* Counts ENOMEM, EMFILE and ENFILE, of either sign, and nothing else. */
void tapir_shortage__note(int err);
struct tapir_shortages tapir_shortage__all(void);
/* -ENOMEM or -EMFILE when something was counted, else 0. */
int tapir_shortage__err(void);

static inline void *tapir_shortage__check(void *got, int err)
{
	if (!got)
		tapir_shortage__note(err);
	return got;
}

static inline int tapir_shortage__check_fd(int fd)
{
	if (fd < 0)
		tapir_shortage__note(errno);
	return fd;
}

#define malloc(n)	       tapir_shortage__check(malloc(n), ENOMEM)
#define calloc(n, bytes)       tapir_shortage__check(calloc(n, bytes), ENOMEM)
#define realloc(p, n)	       tapir_shortage__check(realloc(p, n), ENOMEM)
#define reallocarray(p, n, of) tapir_shortage__check(reallocarray(p, n, of), ENOMEM)
#define strdup(text)	       ((char *)tapir_shortage__check(strdup(text), ENOMEM))
#define strndup(text, n)       ((char *)tapir_shortage__check(strndup(text, n), ENOMEM))
#define asprintf(...)	       tapir_shortage__check_fd(asprintf(__VA_ARGS__))

#define fopen(path, mode)      ((FILE *)tapir_shortage__check(fopen(path, mode), errno))
#define opendir(path)	       ((DIR *)tapir_shortage__check(opendir(path), errno))
#define fdopendir(fd)	       ((DIR *)tapir_shortage__check(fdopendir(fd), errno))
#define open(...)	       tapir_shortage__check_fd(open(__VA_ARGS__))
#define openat(...)	       tapir_shortage__check_fd(openat(__VA_ARGS__))
#define pipe2(...)	       tapir_shortage__check_fd(pipe2(__VA_ARGS__))
#define socket(...)	       tapir_shortage__check_fd(socket(__VA_ARGS__))
#define socketpair(...)	       tapir_shortage__check_fd(socketpair(__VA_ARGS__))
#define memfd_create(...)      tapir_shortage__check_fd(memfd_create(__VA_ARGS__))
#define eventfd(...)	       tapir_shortage__check_fd(eventfd(__VA_ARGS__))

#endif
