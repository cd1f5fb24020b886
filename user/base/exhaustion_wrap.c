// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exhaustion_wrap.c - the functions of libc whose failures for lack of memory or of descriptors are
 * counted. scripts/mk/user.mk reads their names here and links every program that has this file's
 * archive with --wrap=NAME: a call of NAME comes to __wrap_NAME, and __real_NAME is libc's.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/exhaustion.h"

#define COUNTED(type, name, failed, params, args)                                                  \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		type got = __real_##name args;                                                     \
                                                                                                   \
		if (failed)                                                                        \
			tapir_exhaustion__note(errno);                                             \
		return got;                                                                        \
	}

/* clang-format off */
COUNTED(void *, malloc, !got, (size_t n), (n))
COUNTED(void *, calloc, !got, (size_t n, size_t bytes), (n, bytes))
COUNTED(void *, realloc, !got, (void *p, size_t n), (p, n))
COUNTED(void *, reallocarray, !got, (void *p, size_t n, size_t bytes), (p, n, bytes))
COUNTED(char *, strdup, !got, (const char *text), (text))
COUNTED(char *, strndup, !got, (const char *text, size_t n), (text, n))

COUNTED(FILE *, fopen, !got, (const char *path, const char *mode), (path, mode))
COUNTED(DIR *, opendir, !got, (const char *path), (path))
COUNTED(DIR *, fdopendir, !got, (int fd), (fd))
COUNTED(int, pipe2, got < 0, (int fds[2], int flags), (fds, flags))
COUNTED(int, socket, got < 0, (int domain, int type, int protocol), (domain, type, protocol))
COUNTED(int, socketpair, got < 0, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))
COUNTED(int, memfd_create, got < 0, (const char *name, unsigned flags), (name, flags))
COUNTED(int, eventfd, got < 0, (unsigned n, int flags), (n, flags))
/* clang-format on */

/* The mode of open(2), which callers pass where a file may be created. */
#define MODE_OF(flags, ap)                                                                         \
	((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE ? va_arg(ap, mode_t) : 0)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = __real_open(path, flags, MODE_OF(flags, ap));
	va_end(ap);
	if (fd < 0)
		tapir_exhaustion__note(errno);
	return fd;
}

int __real_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...);
int __wrap_openat(int at, const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = __real_openat(at, path, flags, MODE_OF(flags, ap));
	va_end(ap);
	if (fd < 0)
		tapir_exhaustion__note(errno);
	return fd;
}

int __wrap_asprintf(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(out, fmt, ap);
	va_end(ap);
	if (len < 0)
		tapir_exhaustion__note(errno);
	return len;
}
