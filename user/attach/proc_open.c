// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Opening files of other processes' mount namespaces. They choose the paths: a component may
 * become a symbolic link out of their root, a FIFO or a device between two system calls. So
 * the file is first taken without being opened (O_PATH), looked at, and only then opened.
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
 * The same by its path, resolved as if root were the only root there is. The kernel writes
 * the path as seen from the mount namespace: that is below the process's root, or below ours
 * when it was only moved by chroot(2).
 */
static int take_below(const char *root, const struct tapir_mapping_line *m, char *openable)
{
	int fd = tapir_file__open_in_root(*root ? root : "/", m->path, O_PATH | O_CLOEXEC);

	if (fd >= 0)
		snprintf(openable, TAPIR_PROC_OPENABLE_BYTES, "%s%s", root, m->path);
	return fd;
}

/*
 * Is what was taken the file that is mapped? Filesystems with subvolumes show one device in
 * maps and another in stat, so the device is only asked for where the path was the way: a
 * map_files link cannot lead elsewhere.
 */
static int check_identity(int path_fd, const struct tapir_mapping_line *m, bool with_dev)
{
	struct stat st;

	if (fstat(path_fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (st.st_ino != m->inode)
		return -ESTALE;
	if (with_dev && tapir_mapping_line__dev(st.st_dev) != m->dev)
		return -ESTALE;
	return 0;
}

static int open_taken(int path_fd)
{
	char link[32];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* path_fd: what one of the ways took, or its error. Closes it. */
static int check_and_open(int path_fd, const struct tapir_mapping_line *m, bool with_dev)
{
	int fd = path_fd < 0 ? path_fd : check_identity(path_fd, m, with_dev);

	if (!fd)
		fd = open_taken(path_fd);
	if (path_fd >= 0)
		close(path_fd);
	return fd;
}

static int open_any_way(uint32_t tgid, const struct tapir_mapping_line *m, char *openable)
{
	int fd = check_and_open(take_map_file(tgid, m, openable), m, false), by_path;
	char root[32];

	if (fd >= 0 || fd == -EMEDIUMTYPE)
		return fd;
	snprintf(root, sizeof(root), "/proc/%u/root", tgid);
	by_path = check_and_open(take_below(root, m, openable), m, true);
	if (by_path >= 0 || by_path == -EMEDIUMTYPE)
		return by_path;
	fd = check_and_open(take_below("", m, openable), m, true);
	return fd >= 0 ? fd : by_path;
}

int tapir_proc__open_mapped(uint32_t tgid, const struct tapir_mapping_line *mapping, char *openable)
{
	char name[TAPIR_PROC_OPENABLE_BYTES];
	int fd = open_any_way(tgid, mapping, name);

	if (fd == -ESTALE)
		return tapir_diag__fail(fd,
					"Cannot open %s of process %u: the path names another "
					"file now; CAP_CHECKPOINT_RESTORE would find it",
					mapping->path, tgid);
	if (fd == -EMEDIUMTYPE)
		return tapir_diag__fail(-EINVAL, "Not a regular file: %s of process %u",
					mapping->path, tgid);
	if (fd < 0)
		return tapir_diag__fail(fd, "Cannot open %s of process %u: err=-%s", mapping->path,
					tgid, tapir_errno__name(fd));
	if (openable)
		memcpy(openable, name, sizeof(name));
	return fd;
}
