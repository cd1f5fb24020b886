/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elsewhere.h - what Linux and its C library have and other systems lack, as the sources of
 * tapir-reader use it. It is included before each of them where it is built for another system
 * (reader.mk), and by tests/unit/reader.sh, whose compiler knows neither. What cannot be offered
 * fails with ENOSYS or EEXIST, as on an old kernel.
 */
#ifndef TAPIR_USER_ELSEWHERE_H
#define TAPIR_USER_ELSEWHERE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define O_PATH		 O_RDONLY
#define O_TMPFILE	 (O_CREAT | O_EXCL) /* of a directory: it exists */
#define RENAME_NOREPLACE 1
#define MFD_CLOEXEC	 1
#define EMEDIUMTYPE	 EFTYPE
#ifndef EFTYPE
#define EFTYPE EINVAL
#endif
#define CLOCK_BOOTTIME	  CLOCK_MONOTONIC
#define memfd_create	  tapir_elsewhere__memfd
#define renameat2	  tapir_elsewhere__rename
#define memrchr		  tapir_elsewhere__memrchr
#define strchrnul	  tapir_elsewhere__strchrnul
#define qsort_r		  tapir_elsewhere__sort
#define name_to_handle_at tapir_elsewhere__handle

static inline int tapir_elsewhere__fail(void)
{
	errno = ENOSYS;
	return -1;
}

static inline int memfd_create(const char *name, unsigned flags)
{
	(void)name;
	(void)flags;
	return tapir_elsewhere__fail();
}

static inline int renameat2(int from_fd, const char *from, int to_fd, const char *to,
			    unsigned flags)
{
	(void)from_fd;
	(void)from;
	(void)to_fd;
	(void)to;
	(void)flags;
	return tapir_elsewhere__fail();
}

struct file_handle;
static inline int name_to_handle_at(int fd, const char *path, struct file_handle *handle,
				    int *mount_id, int flags)
{
	(void)fd;
	(void)path;
	(void)handle;
	(void)mount_id;
	(void)flags;
	return tapir_elsewhere__fail();
}

static inline void *memrchr(const void *data, int byte, size_t len)
{
	const unsigned char *at = (const unsigned char *)data + len;

	while (len--)
		if (*--at == (unsigned char)byte)
			return (void *)at;
	return NULL;
}

static inline char *strchrnul(const char *text, int byte)
{
	while (*text && *text != (char)byte)
		text++;
	return (char *)text;
}

/* Heap sort: other systems have a qsort_r with other arguments. */
static inline void tapir_elsewhere__sink(char *data, size_t cnt, size_t bytes, size_t at,
					 int (*compare)(const void *, const void *, void *),
					 void *ctx)
{
	size_t child;

	for (; (child = 2 * at + 1) < cnt; at = child) {
		char *parent = data + at * bytes, *other;

		child += child + 1 < cnt &&
			 compare(data + child * bytes, data + (child + 1) * bytes, ctx) < 0;
		other = data + child * bytes;
		if (compare(parent, other, ctx) >= 0)
			return;
		for (size_t i = 0; i < bytes; i++) {
			char byte = parent[i];

			parent[i] = other[i];
			other[i] = byte;
		}
	}
}

static inline void qsort_r(void *base, size_t cnt, size_t bytes,
			   int (*compare)(const void *, const void *, void *), void *ctx)
{
	char *data = base;

	for (size_t i = cnt / 2; i--;)
		tapir_elsewhere__sink(data, cnt, bytes, i, compare, ctx);
	while (cnt-- > 1) {
		for (size_t i = 0; i < bytes; i++) {
			char byte = data[i];

			data[i] = data[cnt * bytes + i];
			data[cnt * bytes + i] = byte;
		}
		tapir_elsewhere__sink(data, cnt, bytes, 0, compare, ctx);
	}
}

#endif
