// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * In this order, so that nothing is asked of a filesystem that may not answer: which mounts lie
 * on the way (mountinfo is the kernel's own knowledge), the directory, the mount it is really
 * on, the file without opening it (O_PATH), what it is, and only then its content.
 */
#include "symbol/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"

#define MAX_MOUNTINFO_BYTES (4u << 20)
#define MAX_STATUS_BYTES    (64u << 10)
#define MAX_DIR_BYTES	    4096

/* Served by a program, or by a machine far away: a read may never return. */
static bool may_hang(const char *fs_type)
{
	static const char *const prefixes[] = {"fuse",	   "nfs",      "cifs", "smb",	"9p",
					       "ceph",	   "afs",      "coda", "glus",	"lust",
					       "virtiofs", "orangefs", "gfs2", "ocfs2", "vboxsf",
					       "beegfs",   "autofs"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(fs_type, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* ---- /proc/PID/mountinfo: "36 35 98:0 /in/fs /at rw,noatime tag:1 - ext4 /dev/sda1 rw" ---------
 */

struct mount {
	unsigned long long id;
	char at[MAX_DIR_BYTES]; /* longer ones are cut: no directory of ours lies there */
	char fs_type[32];
};

static bool parse_mount(const char *line, struct mount *m)
{
	const char *type = strstr(line, " - ");

	return type && sscanf(line, "%llu %*s %*s %*s %4095s", &m->id, m->at) == 2 &&
	       sscanf(type + 3, "%31s", m->fs_type) == 1;
}

static char *end_line(char *line)
{
	char *end = strchrnul(line, '\n');

	if (*end)
		*end++ = '\0';
	return end;
}

static bool is_above(const char *mount_point, const char *dir)
{
	size_t len = strlen(mount_point);

	if (len == 1)
		return true;
	return !strncmp(mount_point, dir, len) && (!dir[len] || dir[len] == '/');
}

/* The text is cut into lines, once. */
static void cut_lines(char *text)
{
	while (*text)
		text = end_line(text);
}

/* What mountinfo, as lines of len bytes together, says of the way to dir. */
struct way {
	bool has_risky;	  /* one of the mounts above it may hang */
	char fs_type[32]; /* of the last: it itself lies there */
};

static void look_at_way(const char *text, size_t len, const char *dir, struct way *way)
{
	size_t longest = 0;
	struct mount m;

	*way = (struct way){.fs_type = "unknown"};
	for (const char *line = text; line < text + len; line += strlen(line) + 1) {
		if (!parse_mount(line, &m) || !is_above(m.at, dir))
			continue;
		way->has_risky |= may_hang(m.fs_type);
		if (strlen(m.at) < longest)
			continue;
		longest = strlen(m.at);
		memcpy(way->fs_type, m.fs_type, sizeof(way->fs_type));
	}
}

/* The type of the mount that fd is on, as mountinfo has it. */
static int find_mount(const char *text, size_t len, int fd, char *fs_type)
{
	struct statx st;
	struct mount m;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st))
		return -errno;
	if (!(st.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	for (const char *line = text; line < text + len; line += strlen(line) + 1) {
		if (!parse_mount(line, &m) || m.id != st.stx_mnt_id)
			continue;
		memcpy(fs_type, m.fs_type, sizeof(m.fs_type));
		return 0;
	}
	return -ENOENT;
}

/* tgid 0: our own. */
static int read_mounts(uint32_t tgid, char **text, size_t *len)
{
	char path[48];
	int err;

	if (tgid)
		snprintf(path, sizeof(path), "/proc/%u/mountinfo", tgid);
	else
		snprintf(path, sizeof(path), "/proc/self/mountinfo");
	err = tapir_file__read(path, MAX_MOUNTINFO_BYTES, text, len);
	if (!err)
		cut_lines(*text);
	return err == -ENOENT || err == -EINVAL ? -ESRCH : err;
}

/*
 * May what fd names be read without being held up? 0, or -errno with the type it found. A process
 * whose root was moved by chroot(2) does not list the mount that its root lies on: we may.
 */
static int check_mount(uint32_t tgid, int fd, char *fs_type)
{
	int err = -ENOENT;

	strcpy(fs_type, "unknown");
	for (int i = 0; i < 2 && err; i++) {
		tapir_autofree char *text = NULL;
		size_t len;

		err = read_mounts(i ? 0 : tgid, &text, &len);
		if (!err)
			err = find_mount(text, len, fd, fs_type);
	}
	return err == -ENOENT || (!err && may_hang(fs_type)) ? -EREMOTE : err;
}

/* ---- whose it is ------------------------------------------------------------------------ */

static bool runs_as(uint32_t tgid, uint32_t uid)
{
	tapir_autofree char *text = NULL;
	unsigned uids[4];
	const char *line;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/status", tgid);
	if (!tgid || tapir_file__read(path, MAX_STATUS_BYTES, &text, NULL))
		return false;
	line = strstr(text, "\nUid:");
	if (!line ||
	    sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
		return false;
	for (int i = 0; i < 4; i++)
		if (uids[i] == uid)
			return true;
	return false;
}

static int refuse(int err, const struct tapir_jit_file_opts *opts, const char *why)
{
	return tapir_diag__fail(err, "Not read: %s of process %u: %s", opts->path, opts->tgid, why);
}

static int check_stat(int fd, const struct tapir_jit_file_opts *opts)
{
	struct stat st;

	if (fstat(fd, &st))
		return refuse(-errno, opts, tapir_errno__name(errno));
	if (S_ISLNK(st.st_mode))
		return refuse(-ELOOP, opts, "a symbolic link");
	if (!S_ISREG(st.st_mode))
		return refuse(-EINVAL, opts, "not a regular file");
	if (st.st_nlink > 1)
		return refuse(-EMLINK, opts, "it has another name, too");
	if (st.st_uid == opts->uid || runs_as(opts->tgid, st.st_uid))
		return 0;
	return tapir_diag__fail(-EACCES,
				"Not read: %s of process %u: it belongs to user %u, the process "
				"to user %u",
				opts->path, opts->tgid, st.st_uid, opts->uid);
}

static int refuse_mount(int err, const struct tapir_jit_file_opts *opts, const char *fs_type)
{
	return tapir_diag__fail(err,
				"Not read: %s of process %u: on a filesystem that may not answer "
				"(%s)",
				opts->path, opts->tgid, fs_type);
}

int tapir_jit_file__check(int fd, const struct tapir_jit_file_opts *opts)
{
	char fs_type[32] = "unknown";
	int err = opts->tgid ? check_mount(opts->tgid, fd, fs_type) : 0;

	return err ? refuse_mount(err, opts, fs_type) : check_stat(fd, opts);
}

/* ---- opening ---------------------------------------------------------------------------- */

static int open_at(int dir_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	return tapir_file__open_resolved(dir_fd, path, flags | O_PATH, resolve);
}

/*
 * Where a mount on the way may hang, or a symbolic link may lead to one, only what the kernel
 * has in its cache is followed: that asks nobody.
 */
static int open_dir(int root_fd, const char *dir, const struct way *way)
{
	uint64_t resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
	int fd;

	if (way->has_risky)
		return open_at(root_fd, dir, O_DIRECTORY, resolve | RESOLVE_CACHED);
	fd = open_at(root_fd, dir, O_DIRECTORY, resolve | RESOLVE_NO_SYMLINKS);
	if (fd == -ELOOP)
		fd = open_at(root_fd, dir, O_DIRECTORY, resolve | RESOLVE_CACHED);
	return fd;
}

/* The directory of opts->path, on a filesystem that answers. */
static int find_dir(const struct tapir_jit_file_opts *opts, const char *dir)
{
	tapir_autofree char *mounts = NULL;
	tapir_autofd int root_fd = -1;
	char root[48], fs_type[32];
	struct way way;
	size_t len;
	int err, fd;

	snprintf(root, sizeof(root), "/proc/%u/root", opts->tgid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return errno == ENOENT || errno == ESRCH
			       ? -ESRCH
			       : refuse(-errno, opts, tapir_errno__name(errno));
	err = read_mounts(opts->tgid, &mounts, &len);
	if (err)
		return err == -ESRCH ? err : refuse(err, opts, "its mounts cannot be read");
	look_at_way(mounts, len, dir, &way);
	if (may_hang(way.fs_type))
		return refuse_mount(-EREMOTE, opts, way.fs_type);
	fd = open_dir(root_fd, dir, &way);
	if (fd < 0)
		return fd == -ENOENT ? fd : refuse(fd, opts, tapir_errno__name(fd));
	err = check_mount(opts->tgid, fd, fs_type);
	if (!err)
		return fd;
	close(fd);
	return refuse_mount(err, opts, fs_type);
}

/* O_NONBLOCK: a lease on it is no reason to wait either. */
static int open_content(int path_fd)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd;
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = open(link, flags);
	return fd < 0 ? -errno : fd;
}

int tapir_jit_file__open(const struct tapir_jit_file_opts *opts)
{
	const uint64_t resolve =
		RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
	const char *slash = strrchr(opts->path, '/');
	tapir_autofd int dir_fd = -1, path_fd = -1;
	char dir[MAX_DIR_BYTES];
	int err;

	if (*opts->path != '/' || slash - opts->path >= (int)sizeof(dir))
		return refuse(-EINVAL, opts, "no absolute path");
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - opts->path), opts->path);
	dir_fd = find_dir(opts, *dir ? dir : "/");
	if (dir_fd < 0)
		return dir_fd;
	path_fd = open_at(dir_fd, slash + 1, O_NOFOLLOW, resolve);
	if (path_fd < 0)
		return path_fd == -ENOENT ? path_fd
					  : refuse(path_fd, opts, tapir_errno__name(path_fd));
	err = check_stat(path_fd, opts);
	if (!err) {
		err = open_content(path_fd);
		if (err < 0)
			return refuse(err, opts, tapir_errno__name(err));
	}
	return err;
}
