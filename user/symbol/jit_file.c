// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The path is walked a component at a time, without opening anything (O_PATH): which mount each
 * is on is the kernel's own knowledge (mountinfo), and nothing is looked up in a directory whose
 * filesystem may not answer. What the path names is looked at, and only then opened.
 */
#include "symbol/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"

#define MAX_MOUNTINFO_BYTES (4u << 20)
#define MAX_STATUS_BYTES    (64u << 10)
#define MAX_PATH_BYTES	    4096
#define MAX_LINKS	    8

/* Served by a program, or by a machine far away: a read may never return. */
static bool may_hang(const char *fs_type)
{
	static const char *const prefixes[] = {"fuse.",	 "fuseblk",  "nfs",	 "cifs", "smb",
					       "9p",	 "ceph",     "afs",	 "coda", "gluster",
					       "lustre", "virtiofs", "orangefs", "gfs2", "ocfs2",
					       "vboxsf", "beegfs",   "autofs"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(fs_type, prefixes[i], strlen(prefixes[i])))
			return true;
	return !strcmp(fs_type, "fuse");
}

/* ---- /proc/PID/mountinfo: "36 35 98:0 /in/fs /at rw,noatime tag:1 - ext4 /dev/sda1 rw" ------- */

/* The type of the mount with this id. */
static bool find_mount(const char *text, uint64_t id, char *fs_type)
{
	for (const char *line = text, *next; line && *line; line = next) {
		const char *type = strstr(line, " - ");

		next = strchr(line, '\n');
		next = next ? next + 1 : NULL;
		if (strtoull(line, NULL, 10) == id && type && (!next || type < next))
			return sscanf(type + 3, "%31s", fs_type) == 1;
	}
	return false;
}

/* What is asked again and again on one way. */
struct mounts {
	uint32_t tgid;
	char *text[2]; /* the process's and ours, when they were needed */
	uint64_t good_id;
	char fs_type[32]; /* of the last that was looked for */
};

static void mounts__fini(struct mounts *mounts)
{
	free(mounts->text[0]);
	free(mounts->text[1]);
}

static int read_mounts(struct mounts *mounts, int i)
{
	char path[48] = "/proc/self/mountinfo";

	if (mounts->text[i])
		return 0;
	if (!i)
		snprintf(path, sizeof(path), "/proc/%u/mountinfo", mounts->tgid);
	return tapir_file__read(path, MAX_MOUNTINFO_BYTES, &mounts->text[i], NULL);
}

/*
 * May what fd names be read without being held up? 0, or -errno with the type it found. A process
 * whose root was moved by chroot(2) does not list the mount that its root lies on: we may.
 */
static int check_mount(struct mounts *mounts, int fd)
{
	struct statx st;

	strcpy(mounts->fs_type, "unknown");
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st))
		return -errno;
	if (!(st.stx_mask & STATX_MNT_ID))
		return -EOPNOTSUPP;
	if (mounts->good_id == st.stx_mnt_id)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (read_mounts(mounts, i) ||
		    !find_mount(mounts->text[i], st.stx_mnt_id, mounts->fs_type))
			continue;
		if (may_hang(mounts->fs_type))
			return -EREMOTE;
		mounts->good_id = st.stx_mnt_id;
		return 0;
	}
	return -EREMOTE; /* it came just now, or is another namespace's */
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
	struct mounts mounts = {.tgid = opts->tgid};
	int err = opts->tgid ? check_mount(&mounts, fd) : 0;

	if (err)
		refuse_mount(err, opts, mounts.fs_type);
	mounts__fini(&mounts);
	return err ? err : check_stat(fd, opts);
}

/* ---- the way ---------------------------------------------------------------------------- */

struct walk {
	const struct tapir_jit_file_opts *opts;
	struct mounts mounts;
	char path[MAX_PATH_BYTES]; /* below the root, without links up to where fd is */
	int fd;			   /* -1: not begun */
};

static void move_to(struct walk *w, int fd)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
}

static int begin_at_root(struct walk *w)
{
	char root[48];
	int err;

	snprintf(root, sizeof(root), "/proc/%u/root", w->opts->tgid);
	move_to(w, open(root, O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (w->fd < 0)
		return errno == ENOENT || errno == ESRCH
			       ? -ESRCH
			       : refuse(-errno, w->opts, tapir_errno__name(errno));
	err = check_mount(&w->mounts, w->fd);
	return err ? refuse_mount(err, w->opts, w->mounts.fs_type) : 0;
}

/* The last component: the file itself may not be a mount. */
static int enter(struct walk *w, const char *name, bool is_last)
{
	int fd = tapir_file__open_resolved(w->fd, name, O_PATH | O_NOFOLLOW,
					   RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
						   (is_last ? RESOLVE_NO_XDEV : 0));
	int err;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR ? -ENOENT
						       : refuse(fd, w->opts, tapir_errno__name(fd));
	move_to(w, fd);
	err = check_mount(&w->mounts, w->fd);
	return err ? refuse_mount(err, w->opts, w->mounts.fs_type) : 0;
}

/* "/a/./b//../c" -> "/a/c", in place. */
static void normalize(char *path)
{
	char *from = path, *to = path;

	while (*from) {
		size_t len = strcspn(from, "/");

		if (len == 2 && !memcmp(from, "..", 2)) {
			while (to > path && *--to != '/')
				;
		} else if (len && !(len == 1 && *from == '.')) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len + (from[len] == '/');
	}
	*to = '\0';
}

/* The link that fd is stands at path[0..end): what it names takes its place. */
static int follow(struct walk *w, size_t end)
{
	char target[MAX_PATH_BYTES], joined[MAX_PATH_BYTES];
	ssize_t len = readlinkat(w->fd, "", target, sizeof(target) - 1);
	size_t dir_len = end;
	int joined_len;

	if (len < 0)
		return refuse(-errno, w->opts, tapir_errno__name(errno));
	target[len] = '\0';
	while (dir_len && w->path[dir_len - 1] != '/')
		dir_len--;
	joined_len = snprintf(joined, sizeof(joined), "%.*s/%s%s",
			      *target == '/' ? 0 : (int)dir_len, w->path, target, w->path + end);
	if (joined_len >= (int)sizeof(joined))
		return refuse(-ENAMETOOLONG, w->opts, "a link too long");
	normalize(joined);
	memcpy(w->path, joined, sizeof(joined));
	return begin_at_root(w);
}

/* To the file, or the link, that w->path names; links before the last component are followed. */
static int walk_to_end(struct walk *w)
{
	unsigned link_cnt = 0;
	size_t at = 0;
	int err = begin_at_root(w);

	while (!err && w->path[at]) {
		size_t end = at + 1 + strcspn(w->path + at + 1, "/");
		char name[NAME_MAX + 1];
		struct stat st;

		if (end - at - 1 > NAME_MAX)
			return -ENOENT;
		snprintf(name, sizeof(name), "%.*s", (int)(end - at - 1), w->path + at + 1);
		err = enter(w, name, !w->path[end]);
		at = end;
		if (err || !w->path[at] || fstat(w->fd, &st) || !S_ISLNK(st.st_mode))
			continue;
		err = ++link_cnt > MAX_LINKS ? refuse(-ELOOP, w->opts, "too many symbolic links")
					     : follow(w, end);
		at = 0;
	}
	return err;
}

/* ---- opening ---------------------------------------------------------------------------- */

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
	struct walk w = {.opts = opts, .mounts = {.tgid = opts->tgid}, .fd = -1};
	int err;

	if (*opts->path != '/' || strlen(opts->path) >= sizeof(w.path))
		return refuse(-EINVAL, opts, "no absolute path");
	strcpy(w.path, opts->path);
	normalize(w.path);
	err = walk_to_end(&w);
	if (!err)
		err = check_stat(w.fd, opts);
	if (!err) {
		err = open_content(w.fd);
		if (err < 0)
			refuse(err, opts, tapir_errno__name(err));
	}
	move_to(&w, -1);
	mounts__fini(&w.mounts);
	return err;
}
