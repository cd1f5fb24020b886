// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A lock on the directory means that its tapir, or the guard, is alive: a directory that can be
 * locked was left behind, and is removed by the next tapir that finds it. The guard is started
 * before the directory exists, so that at every moment a process knows its name.
 */
#include "runtime/peer/run_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/trusted_dir.h"

#define PREFIX	     "tapir-"
#define HEX_DIGITS   16
#define NAME_TRIES   8
#define GUARD_NS     (2 * TAPIR_NS_PER_SEC) /* for it to start */
#define ENTRIES_MAX  1024		    /* of a directory that is removed */
#define LISTED_CHARS ",;=\n"

static int fail_run_dir(int err, const char *path, const char *why)
{
	return tapir_diag__fail(
		err, "cannot create a directory for the program's .NET runtime in %s: %s", path,
		why);
}

/* ---- removal: also in the guard, so system calls and the stack only ------------------------ */

static bool remove_entry(void *cnt, int dir_fd, const char *name)
{
	unlinkat(dir_fd, name, 0);
	return ++*(unsigned *)cnt < ENTRIES_MAX;
}

static void remove_dir(int parent_fd, const char *name)
{
	unsigned cnt = 0;

	(void)tapir_file__each_name(parent_fd, name, remove_entry, &cnt);
	unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static void remove_as_guard(const struct tapir_peer_helper *job,
			    const struct tapir_peer_answer *answer, int fd)
{
	(void)answer;
	(void)fd;
	remove_dir(job->dir_fd, job->name);
}

/* ---- what other tapirs left ----------------------------------------------------------------- */

static bool is_name(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX)) &&
	       strlen(name) == strlen(PREFIX) + HEX_DIGITS &&
	       strspn(name + strlen(PREFIX), "0123456789abcdef") == HEX_DIGITS;
}

static bool is_abandoned(int parent_fd, const char *name)
{
	tapir_autofd int fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_uid == geteuid() &&
	       !flock(fd, LOCK_EX | LOCK_NB);
}

static bool remove_if_abandoned(void *unused, int parent_fd, const char *name)
{
	(void)unused;
	if (is_name(name) && is_abandoned(parent_fd, name))
		remove_dir(parent_fd, name);
	return true;
}

/* ---- where it can be ------------------------------------------------------------------------ */

static bool is_noexec(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) || (fs.f_flag & ST_NOEXEC);
}

/* The fd of a directory in which only we, or root, can create names. */
static int open_parent(const char *path, bool for_code)
{
	const struct tapir_trust trust = {.owners = {0, geteuid(), geteuid()}};
	tapir_autofd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = root_fd < 0 ? -errno : tapir_trusted_dir__open(root_fd, path, &trust);

	if (fd < 0)
		return fail_run_dir(
			fd, path,
			fd == -EPERM ? "other users can write to it, or to a directory above it"
				     : "it cannot be opened");
	if (for_code && is_noexec(fd)) {
		close(fd);
		return fail_run_dir(-EACCES, path, "it is mounted noexec");
	}
	return fd;
}

/* The user's, if its path can be part of a variable and of a socket's address. */
static int user_parent(const char **out)
{
	const char *path = secure_getenv("XDG_RUNTIME_DIR");

	if (!path && getenv("XDG_RUNTIME_DIR"))
		return tapir_diag__fail(-ENOENT, "XDG_RUNTIME_DIR is not used by a program with "
						 "file capabilities");
	if (!path || *path != '/')
		return tapir_diag__fail(-ENOENT, "XDG_RUNTIME_DIR is not set");
	if (strlen(path) + 1 + strlen(PREFIX) + HEX_DIGITS >= TAPIR_RUN_DIR_PATH_BYTES ||
	    strpbrk(path, LISTED_CHARS))
		return fail_run_dir(
			-EINVAL, "XDG_RUNTIME_DIR",
			"its path is too long, or has characters that a list of paths cannot hold");
	*out = path;
	return 0;
}

/* ---- the directory -------------------------------------------------------------------------- */

/* Opened, locked, and still there: another tapir may take it for an abandoned one before. */
static int lock_dir(int parent_fd, const char *name, int *out)
{
	tapir_autofd int fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) || fchmod(fd, geteuid() ? 0700 : 0711) || fstat(fd, &st))
		return -errno;
	if (!st.st_nlink)
		return -ENOENT;
	*out = fd;
	fd = -1;
	return 0;
}

static int start_guard(struct tapir_run_dir *dir)
{
	struct tapir_peer_helper job = {
		.last_act = remove_as_guard,
		.pidfd = -1,
		.proc_fd = -1,
		.dir_fd = dir->parent_fd,
		.cancel_fd = -1,
		.deadline_ns = tapir_clock__now_ns() + GUARD_NS,
	};
	struct tapir_peer_answer answer;

	snprintf(job.name, sizeof(job.name), "%s", dir->name);
	return tapir_peer_helper__try_guarded(&job, &answer, NULL, &dir->guard);
}

/* The guard comes first: whenever we are killed, a process has the name. */
static int make_once(struct tapir_run_dir *dir)
{
	uint64_t random;
	int err;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	snprintf(dir->name, sizeof(dir->name), PREFIX "%016" PRIx64, random);
	err = start_guard(dir);
	if (err)
		return err;
	if (mkdirat(dir->parent_fd, dir->name, 0700)) {
		err = -errno;
		tapir_peer_guard__dismiss(&dir->guard); /* it may be another's */
		return err;
	}
	err = lock_dir(dir->parent_fd, dir->name, &dir->fd);
	if (err)
		tapir_peer_guard__let_act(&dir->guard);
	return err;
}

static int make_run_dir(struct tapir_run_dir *dir)
{
	int err = -EEXIST;

	for (unsigned i = 0;
	     i < NAME_TRIES && (err == -EEXIST || err == -ENOENT || err == -EWOULDBLOCK); i++)
		err = make_once(dir);
	return err;
}

static int open_in(const char *parent, bool for_code, struct tapir_run_dir *out)
{
	struct tapir_run_dir dir = TAPIR_NO_RUN_DIR;
	int err;

	dir.parent_fd = open_parent(parent, for_code);
	if (dir.parent_fd < 0)
		return dir.parent_fd;
	(void)tapir_file__each_name(dir.parent_fd, ".", remove_if_abandoned, NULL);
	err = make_run_dir(&dir);
	if (err) {
		tapir_guard__fd(&dir.parent_fd);
		return fail_run_dir(err, parent, "no guarded directory can be created in it");
	}
	snprintf(dir.path, sizeof(dir.path), "%s/%s", parent, dir.name);
	*out = dir;
	return 0;
}

int tapir_run_dir__open(bool for_code, struct tapir_run_dir *out)
{
	const char *parent = "/run";
	int mark = tapir_diag__cnt(), err;

	if (geteuid()) {
		err = user_parent(&parent);
		return err ? err : open_in(parent, for_code, out);
	}
	err = open_in(parent, for_code, out);
	if (!err || !for_code)
		return err;
	err = open_in("/var/lib", for_code, out);
	if (!err)
		tapir_diag__rewind(mark);
	return err;
}

void tapir_run_dir__close(struct tapir_run_dir *dir)
{
	if (dir->parent_fd >= 0)
		remove_dir(dir->parent_fd, dir->name);
	tapir_peer_guard__dismiss(&dir->guard);
	tapir_guard__fd(&dir->fd);
	tapir_guard__fd(&dir->parent_fd);
	*dir = TAPIR_NO_RUN_DIR;
}

int tapir_run_dir__add_file(const struct tapir_run_dir *dir, const char *name, const void *bytes,
			    size_t byte_cnt)
{
	tapir_autofd int fd =
		openat(dir->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : tapir_file__write_all(fd, bytes, byte_cnt);

	if (!err && fchmod(fd, 0444)) /* whatever the umask is */
		err = -errno;
	return err ? fail_run_dir(err, dir->path, "no file can be created in it") : 0;
}
