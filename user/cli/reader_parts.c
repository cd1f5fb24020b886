// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * These functions stand in tapir-reader in the place of modules that only a system with processes
 * to record needs: files are opened as they are, since none is another process's, and what is asked
 * of the kernel is not known.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/kernel_names.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "base/foreign/foreign_file.h"
#include "base/foreign/helper.h"
#include "cli/command_line.h"
#include "record/command.h"
#include "symbol/line_helper.h"

#ifdef __linux__
#include <sys/sysmacros.h>
#endif

/* ---- the process itself ---------------------------------------------------------------------- */

void tapir_command_line__name(const char *name)
{
	(void)name;
}

int tapir_command_line__meet_processes(void)
{
	return 0;
}

void tapir_command_line__end(void)
{
}

int tapir_helpers__start(void)
{
	return 0;
}

/* The pager is not started. */
bool tapir_command__find(const char *name, char path[PATH_MAX])
{
	(void)name;
	(void)path;
	return false;
}

/* ---- files ------------------------------------------------------------------------------------ */

bool tapir_file__is_of_proc(int fd)
{
	(void)fd;
	return false;
}

uint32_t tapir_file__dev(const struct stat *st)
{
#ifdef __linux__
	return major(st->st_dev) << 20 | minor(st->st_dev);
#else
	return (uint32_t)st->st_dev;
#endif
}

int tapir_file__each_name(int at_fd, const char *path, tapir_file_visit visit, void *ctx)
{
	int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		int err = -errno;

		tapir_guard__fd(&fd);
		return err;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    !visit(ctx, fd, entry->d_name))
			break;
	closedir(dir);
	return 0;
}

static int open_reader_file(int at_fd, const char *path, int flags)
{
	int fd = openat(at_fd, path, flags | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

int tapir_foreign__root(uint32_t tgid)
{
	return tgid ? -ESRCH : open_reader_file(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
}

int tapir_foreign__take(int root_fd, const char *path, uint32_t tgid, unsigned flags)
{
	(void)flags;
	path += strspn(path, "/");
	return tgid ? -ESRCH : open_reader_file(root_fd, *path ? path : ".", O_RDONLY | O_NONBLOCK);
}

int tapir_foreign__take_own(const char *path)
{
	return open_reader_file(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
}

int tapir_foreign__open_taken(int path_fd, uint32_t tgid)
{
	struct stat st;
	int fd;

	(void)tgid;
	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	fd = fcntl(path_fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

int tapir_foreign__open(int root_fd, const char *path, uint32_t tgid)
{
	int taken_fd = tapir_foreign__take(root_fd, path, tgid, 0), fd;

	if (taken_fd < 0)
		return taken_fd;
	fd = tapir_foreign__open_taken(taken_fd, tgid);
	close(taken_fd);
	return fd;
}

int tapir_foreign__stat(int fd, struct stat *out)
{
	return fstat(fd, out) ? -errno : 0;
}

int tapir_foreign__content(int handle)
{
	int fd = fcntl(handle, F_DUPFD_CLOEXEC, 3);

	return fd < 0 ? -errno : fd;
}

ssize_t tapir_foreign__pread(int handle, void *buf, size_t len, uint64_t off)
{
	ssize_t n = pread(handle, buf, len, (off_t)off);

	return n < 0 ? -errno : n;
}

int tapir_foreign__fail(int err, const char *path, uint32_t tgid)
{
	(void)tgid;
	return tapir_diag__fail(err, "cannot read %s: %s", path,
				err == -EINVAL ? "it is not a regular file"
					       : tapir_errno__text(err));
}

/* ---- what the kernel knows --------------------------------------------------------------------- */

int tapir_kernel_names__new(struct tapir_kernel_names **out)
{
	*out = NULL;
	return -ENOTSUP;
}

void tapir_kernel_names__free(struct tapir_kernel_names *names)
{
	(void)names;
}

bool tapir_kernel_names__find(struct tapir_kernel_names *names, uint64_t va, const char **name,
			      uint64_t *start_va, uint64_t *size)
{
	(void)names;
	(void)va;
	(void)name;
	(void)start_va;
	(void)size;
	return false;
}

int tapir_proc__each_mapping(uint32_t tgid, tapir_mapping_fn fn, void *ctx)
{
	(void)tgid;
	(void)fn;
	(void)ctx;
	return -ESRCH;
}

/* ---- source lines, which a process of its own reads ------------------------------------------- */

int tapir_line_helper__new(struct tapir_line_helper **out)
{
	*out = NULL;
	return tapir_diag__fail(-EOPNOTSUPP, "tapir-reader reads no source lines: tapir does");
}

void tapir_line_helper__free(struct tapir_line_helper *h)
{
	(void)h;
}

int tapir_line_helper__find(struct tapir_line_helper *h, struct tapir_line_file *file, uint64_t va,
			    const struct tapir_lines_answer **out)
{
	(void)h;
	(void)file;
	(void)va;
	(void)out;
	return -ENOENT;
}
