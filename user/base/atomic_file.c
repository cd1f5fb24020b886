// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file is created with O_EXCL and O_NOFOLLOW next to its final name, so that the rename stays
 * within one file system, and renamed when its content is complete. What the name leads to is
 * opened with O_PATH and judged first; a name that appears later is replaced only with force.
 */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/file_kind.h"

#define NAME_BYTES   200 /* of a name, in a temporary one: that must not be too long */
#define CREATE_FLAGS (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)

static const char *reason(int err)
{
	switch (err) {
	case -EEXIST:
		return "it exists (use --force or another name)";
	case -EISDIR:
		return "it is a directory (name a file in it)";
	case -ENXIO:
		return "no process reads from it (start the reader first)";
	case -ELOOP:
		return "it is a symbolic link of another user (use another name)";
	case -ENOENT:
		return "its directory does not exist";
	case -ENOSPC:
		return "the disk is full";
	default:
		return tapir_errno__text(err);
	}
}

static int open_error(const char *path, int err)
{
	return tapir_diag__fail(err, "cannot create %s: %s", path, reason(err));
}

/* ---- what is there already ----------------------------------------------------------------- */

static int open_path(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Follows a link. A link of another user is refused: any user who may create one could lead root
 * anywhere. The text of the link that was checked is what is followed, not what its name is by
 * then.
 */
static int follow_own_link(int dir_fd, const char *name, int link_fd, const struct stat *link)
{
	char target[PATH_MAX];
	ssize_t len;

	if (link->st_uid && link->st_uid != geteuid())
		return -ELOOP;
	if (tapir_file__is_of_proc(link_fd))
		return open_path(dir_fd, name); /* the kernel's: its text is no path */
	len = readlinkat(link_fd, "", target, sizeof(target) - 1);
	if (len < 0)
		return -errno;
	target[len] = '\0';
	return open_path(dir_fd, target);
}

/* An O_PATH descriptor of what the name leads to; -ENOENT: nothing, or a link to nothing. */
static int open_name(int dir_fd, const char *name, bool *is_link)
{
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), target;
	struct stat st;

	*is_link = false;
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !S_ISLNK(st.st_mode))
		return fd;
	*is_link = true;
	target = follow_own_link(dir_fd, name, fd, &st);
	close(fd);
	return target;
}

/* The very FIFO or device that path_fd is of. From then on a write may wait. */
static int reopen(int path_fd)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (!fcntl(fd, F_SETFL, 0))
		return fd;
	close(fd);
	return -EIO;
}

/* 1: opened. 0: nothing is there that is in the way. -EEXIST: a regular file, or a link. */
static int open_existing(struct tapir_atomic_file *file)
{
	bool is_link;
	tapir_autofd int fd = open_name(file->dir_fd, file->name, &is_link);
	struct stat st;

	if (fd == -ENOENT)
		return is_link ? -EEXIST : 0;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (S_ISREG(st.st_mode))
		return -EEXIST;
	file->fd = reopen(fd);
	return file->fd < 0 ? file->fd : 1;
}

/* ---- creating ------------------------------------------------------------------------------ */

static int create(struct tapir_atomic_file *file, const struct tapir_atomic_file_opts *opts,
		  bool at_once)
{
	const char *name = file->name;

	if (!at_once) {
		if (asprintf(&file->temp_name, "%.*s.part-%d", NAME_BYTES, name, (int)getpid()) <
		    0) {
			file->temp_name = NULL;
			return -ENOMEM;
		}
		name = file->temp_name;
	}
	file->fd = openat(file->dir_fd, name, CREATE_FLAGS, opts->mode);
	if (file->fd < 0)
		return -errno;
	file->is_regular = true;
	if (!opts->has_owner || !fchown(file->fd, opts->uid, opts->gid))
		return 0;
	return -errno;
}

static int open_dir(struct tapir_atomic_file *file)
{
	char *slash = strrchr(file->path, '/');
	tapir_autofree char *dir = strdup(slash ? file->path : ".");

	if (!dir)
		return -ENOMEM;
	file->name = slash ? slash + 1 : file->path;
	if (!*file->name)
		return -EISDIR;
	if (slash)
		dir[slash - file->path + (slash == file->path)] = '\0';
	file->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return file->dir_fd < 0 ? -errno : 0;
}

static int open_any(struct tapir_atomic_file *file, const struct tapir_atomic_file_opts *opts)
{
	bool is_replaced = false;
	int err = open_dir(file);

	if (err)
		return err;
	err = open_existing(file);
	if (err > 0)
		return 0;
	is_replaced = err == -EEXIST && opts->force;
	if (err < 0 && !is_replaced)
		return err;
	return create(file, opts, opts->at_once && !is_replaced);
}

int tapir_atomic_file__open(const struct tapir_atomic_file_opts *opts,
			    struct tapir_atomic_file *out)
{
	struct tapir_atomic_file file = {
		.fd = -1, .dir_fd = -1, .force = opts->force, .path = strdup(opts->path)};
	int err = file.path ? open_any(&file, opts) : -ENOMEM;

	if (err) {
		tapir_atomic_file__discard(&file);
		return open_error(opts->path, err);
	}
	*out = file;
	return 0;
}

/* ---- afterwards ---------------------------------------------------------------------------- */

/*
 * A file that appeared there in the meantime is not replaced either, where the file system supports
 * that.
 */
static int give_name(const struct tapir_atomic_file *file)
{
	if (!file->force &&
	    !renameat2(file->dir_fd, file->temp_name, file->dir_fd, file->name, RENAME_NOREPLACE))
		return 0;
	/*
	 * These two: the file system does not know RENAME_NOREPLACE, so the plain rename below is
	 * all it offers.
	 */
	if (!file->force && errno != EINVAL && errno != ENOSYS)
		return -errno;
	return renameat(file->dir_fd, file->temp_name, file->dir_fd, file->name) ? -errno : 0;
}

/* A network's file system may report a full disk when a descriptor is closed, and only then. */
static int flush_file(const struct tapir_atomic_file *file)
{
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);

	return fd < 0 || close(fd) ? -errno : 0;
}

int tapir_atomic_file__commit(struct tapir_atomic_file *file)
{
	int err = file->temp_name ? flush_file(file) : 0;

	if (!err && file->temp_name)
		err = give_name(file);

	if (err)
		return open_error(file->path, err);
	free(file->temp_name);
	file->temp_name = NULL;
	return 0;
}

int tapir_atomic_file__check(const struct tapir_atomic_file *file)
{
	const char *name = file->temp_name ? file->temp_name : file->name;
	struct stat own, named;

	if (!file->is_regular)
		return 0;
	if (fstat(file->fd, &own))
		return -errno;
	if (!own.st_nlink)
		return -ENOENT;
	if (fstatat(file->dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) ||
	    named.st_dev != own.st_dev || named.st_ino != own.st_ino)
		return -ESTALE;
	return 0;
}

static void fini(struct tapir_atomic_file *file)
{
	tapir_guard__fd(&file->fd);
	tapir_guard__fd(&file->dir_fd);
	free(file->temp_name);
	free(file->path);
	*file = (struct tapir_atomic_file){.fd = -1, .dir_fd = -1};
}

void tapir_atomic_file__discard(struct tapir_atomic_file *file)
{
	/* Another file by this name belongs to another program. */
	if (file->is_regular && !tapir_atomic_file__check(file))
		unlinkat(file->dir_fd, file->temp_name ? file->temp_name : file->name, 0);
	fini(file);
}

int tapir_atomic_file__close(struct tapir_atomic_file *file)
{
	int err;

	if (file->temp_name) {
		tapir_atomic_file__discard(file);
		return 0;
	}
	err = file->fd >= 0 && close(file->fd) ? -errno : 0;
	file->fd = -1;
	fini(file);
	return err;
}
