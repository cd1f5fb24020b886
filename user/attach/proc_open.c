// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening the file that a process maps: by its link in map_files where we may, else by its path.
 * What a name leads to is taken and checked before it is opened: base/foreign/foreign_file.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"

/* The mapped file without opening it; /proc/PID/map_files needs CAP_CHECKPOINT_RESTORE. */
static int take_map_file(uint32_t tgid, const struct tapir_mapping_line *m, char *openable)
{
	int fd;

	snprintf(openable, TAPIR_PROC_OPENABLE_BYTES, "/proc/%u/map_files/%llx-%llx", tgid,
		 (unsigned long long)m->start_va, (unsigned long long)m->end_va);
	fd = open(openable, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * The same by its path, resolved as if root were the root directory. The kernel writes the path as
 * seen from the mount namespace: that is below the process's root, or below tapir's if the process
 * only used chroot(2).
 */
static int take_below(uint32_t root_of, const struct tapir_mapping_line *m, uint32_t tgid,
		      char *openable)
{
	tapir_autofd int root_fd = tapir_foreign__root(root_of);
	int fd = tapir_foreign__take(root_fd, m->path, tgid, 0);

	if (fd < 0)
		return fd;
	if (root_of)
		snprintf(openable, TAPIR_PROC_OPENABLE_BYTES, "/proc/%u/root%s", root_of, m->path);
	else
		snprintf(openable, TAPIR_PROC_OPENABLE_BYTES, "%s", m->path);
	return fd;
}

/*
 * Is what was taken the file that is mapped? Filesystems with subvolumes show one device in
 * maps and another in stat, so the device is only compared where the path was the way: a
 * map_files link cannot lead elsewhere.
 */
static int check_identity(int path_fd, const struct tapir_mapping_line *m, bool with_dev)
{
	struct stat st;
	int err = tapir_foreign__stat(path_fd, &st);

	if (err)
		return err;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (st.st_ino != m->inode)
		return -ESTALE;
	if (with_dev && tapir_mapping_line__dev(st.st_dev) != m->dev)
		return -ESTALE;
	return 0;
}

/* path_fd: what one of the ways took, or its error. Closes it. */
static int check_and_open(int path_fd, uint32_t tgid, const struct tapir_mapping_line *m,
			  bool with_dev)
{
	int fd = path_fd < 0 ? path_fd : check_identity(path_fd, m, with_dev);

	if (!fd)
		fd = tapir_foreign__open_taken(path_fd, tgid);
	if (path_fd >= 0)
		close(path_fd);
	return fd;
}

/* Returns true if no other way needs to be tried: the file is open, or they would fail as well. */
static bool is_final(int fd)
{
	return fd >= 0 || fd == -EMEDIUMTYPE || fd == -ETIMEDOUT || fd == -ECANCELED;
}

static int open_any_name(uint32_t tgid, const struct tapir_mapping_line *m, char *openable)
{
	int fd = check_and_open(take_map_file(tgid, m, openable), tgid, m, false), by_path;

	if (is_final(fd))
		return fd;
	by_path = check_and_open(take_below(tgid, m, tgid, openable), tgid, m, true);
	if (is_final(by_path))
		return by_path;
	fd = check_and_open(take_below(0, m, tgid, openable), tgid, m, true);
	return fd >= 0 ? fd : by_path;
}

int tapir_proc__open_mapped(uint32_t tgid, const struct tapir_mapping_line *mapping, char *openable)
{
	char name[TAPIR_PROC_OPENABLE_BYTES];
	int fd = open_any_name(tgid, mapping, name);

	if (fd == -ESTALE)
		return tapir_diag__fail(fd,
					"cannot open %s of process %u: its path names another "
					"file now (requires CAP_CHECKPOINT_RESTORE)",
					mapping->path, tgid);
	if (fd == -EMEDIUMTYPE)
		return tapir_diag__fail(-EINVAL, "cannot open %s of process %u: not a regular file",
					mapping->path, tgid);
	if (fd < 0)
		return tapir_foreign__fail(fd, mapping->path, tgid);
	if (openable)
		memcpy(openable, name, sizeof(name));
	return fd;
}
