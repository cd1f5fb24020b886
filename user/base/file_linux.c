// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls that only Linux has: openat2(2) with its RESOLVE_ flags, getdents64(2), the type of a file
 * system. libc has no wrapper for the first, and its readdir() allocates.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/file.h"
#include "base/file_kind.h"

#define OPEN_TRIES  32 /* of openat2, which may return EAGAIN */
#define BATCH_BYTES 16384

int tapir_file__open_resolved(int dir_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	long fd = -1;

	for (int i = 0; i < OPEN_TRIES; i++) {
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

struct entry { /* of getdents64(2) */
	uint64_t inode;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool is_itself_or_above(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static bool visit_batch(const char *batch, long bytes, int fd, tapir_file_visit visit, void *ctx)
{
	for (long at = 0; at < bytes;) {
		const struct entry *entry = (const void *)(batch + at);

		if (!is_itself_or_above(entry->name) && !visit(ctx, fd, entry->name))
			return false;
		at += entry->bytes;
	}
	return true;
}

int tapir_file__each_name(int at_fd, const char *path, tapir_file_visit visit, void *ctx)
{
	char batch[BATCH_BYTES] __attribute__((aligned(8)));
	int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), err = 0;
	long bytes;

	if (fd < 0)
		return -errno;
	while ((bytes = syscall(SYS_getdents64, fd, batch, sizeof(batch))) > 0)
		if (!visit_batch(batch, bytes, fd, visit, ctx))
			break;
	if (bytes < 0)
		err = -errno;
	close(fd);
	return err;
}

bool tapir_file__is_of_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

uint32_t tapir_file__dev(const struct stat *st)
{
	return major(st->st_dev) << 20 | minor(st->st_dev);
}
