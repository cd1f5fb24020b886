// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks a path below a root, one component at a time, without opening anything (O_PATH): names are
 * looked up here only in directories of local file systems. Where the path enters a mount of a
 * foreign one, its helper walks the rest.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/foreign/file_system.h"
#include "base/foreign/foreign_file.h"

#define MAX_LINKS 8

struct walk {
	int root_fd;
	uint32_t tgid;
	char path[TAPIR_FOREIGN_MAX_PATH_BYTES]; /* from the root; no links up to where fd is */
	int fd;					 /* the root's own until the first step */
};

static void move_to(struct walk *w, int fd)
{
	if (w->fd != w->root_fd)
		close(w->fd);
	w->fd = fd;
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

/* ---- in a helper ---------------------------------------------------------------------------- */

struct take_rest {
	bool is_root;
	unsigned flags;
	char path[TAPIR_FOREIGN_MAX_PATH_BYTES];
};

/* The last component alone, so that only a mount there is refused. */
static int take_last(const struct take_rest *rest, int dir_fd, uint64_t resolve)
{
	char dir[TAPIR_FOREIGN_MAX_PATH_BYTES];
	const char *slash = strrchr(rest->path, '/');
	tapir_autofd int parent_fd = -1;

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - rest->path) : 0, rest->path);
	if (slash)
		parent_fd = tapir_file__open_resolved(dir_fd, dir, O_PATH | O_DIRECTORY, resolve);
	if (slash && parent_fd < 0)
		return parent_fd;
	return tapir_file__open_resolved(slash ? parent_fd : dir_fd, slash ? slash + 1 : rest->path,
					 O_PATH | O_NOFOLLOW, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
}

/* Links lead out of a mount only where it is the process's whole root. */
static int take_rest(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	const struct take_rest *rest = in;
	uint64_t resolve =
		RESOLVE_NO_MAGICLINKS | (rest->is_root ? RESOLVE_IN_ROOT : RESOLVE_BENEATH);
	int fd;

	(void)value;
	if (rest->flags & TAPIR_FOREIGN_NO_MOUNT)
		fd = take_last(rest, fds[0], resolve);
	else
		fd = tapir_file__open_resolved(
			fds[0], rest->path,
			O_PATH | (rest->flags & TAPIR_FOREIGN_NO_FOLLOW ? O_NOFOLLOW : 0), resolve);
	if (fd < 0)
		return fd == -ENOTDIR ? -ENOENT : fd;
	*out_fd = fd;
	return 0;
}

static int ask_for_rest(const struct walk *w, struct tapir_fs *fs, size_t at, unsigned flags)
{
	struct take_rest rest = {.is_root = w->fd == w->root_fd, .flags = flags};
	struct tapir_helper_call call = {.fn = take_rest, .in = &rest, .fds = {w->fd}, .fd_cnt = 1};
	int err;

	snprintf(rest.path, sizeof(rest.path), "%s", w->path + at + 1);
	call.in_bytes = offsetof(struct take_rest, path) + strlen(rest.path) + 1;
	err = tapir_fs__call(fs, &call);
	if (err == -ETIMEDOUT)
		tapir_fs__skip(fs, tapir_hash__bytes(1, rest.path, strlen(rest.path)));
	return err ? err : call.out_fd;
}

/* ---- here ----------------------------------------------------------------------------------- */

static int enter_component(struct walk *w, const char *name, uint64_t resolve)
{
	int fd = tapir_file__open_resolved(w->fd, name, O_PATH | O_NOFOLLOW,
					   RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve);

	if (fd < 0)
		return fd == -ENOTDIR ? -ENOENT : fd;
	move_to(w, fd);
	return 0;
}

/* The link that fd is ends at path[0..end): what it names takes its place. */
static int follow_link_below_root(struct walk *w, size_t end)
{
	char target[TAPIR_FOREIGN_MAX_PATH_BYTES], joined[2 * TAPIR_FOREIGN_MAX_PATH_BYTES];
	ssize_t len = readlinkat(w->fd, "", target, sizeof(target) - 1);
	size_t dir_len = end;

	if (len < 0)
		return -errno;
	target[len] = '\0';
	while (dir_len && w->path[dir_len - 1] != '/')
		dir_len--;
	if (snprintf(joined, sizeof(joined), "%.*s/%s%s", *target == '/' ? 0 : (int)dir_len,
		     w->path, target, w->path + end) >= (int)sizeof(w->path))
		return -ENAMETOOLONG;
	normalize(joined);
	memcpy(w->path, joined, strlen(joined) + 1);
	move_to(w, w->root_fd);
	return 0;
}

/* One component, from path[*at]. */
static int walk_component(struct walk *w, size_t *at, unsigned flags, unsigned *link_cnt)
{
	size_t end = *at + 1 + strcspn(w->path + *at + 1, "/");
	bool is_last = !w->path[end];
	char name[NAME_MAX + 1];
	struct stat st;
	int err;

	if (end - *at - 1 > NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(name, sizeof(name), "%.*s", (int)(end - *at - 1), w->path + *at + 1);
	err = enter_component(w, name,
			      is_last && flags & TAPIR_FOREIGN_NO_MOUNT ? RESOLVE_NO_XDEV : 0);
	if (!err)
		err = tapir_fs__stat(w->fd, &st);
	*at = end;
	if (err || !S_ISLNK(st.st_mode) || (is_last && flags & TAPIR_FOREIGN_NO_FOLLOW))
		return err;
	*at = 0;
	return ++*link_cnt > MAX_LINKS ? -ELOOP : follow_link_below_root(w, end);
}

static int walk_to_end(struct walk *w, unsigned flags)
{
	unsigned link_cnt = 0;
	size_t at = 0;
	int err = 0;

	while (!err && w->path[at]) {
		struct tapir_fs *fs = NULL;

		err = tapir_fs__of(w->fd, w->tgid, &fs);
		if (!err && fs)
			return ask_for_rest(w, fs, at, flags);
		if (!err)
			err = walk_component(w, &at, flags, &link_cnt);
	}
	if (err)
		return err;
	err = fcntl(w->fd, F_DUPFD_CLOEXEC, 3);
	return err < 0 ? -errno : err;
}

int tapir_foreign__take(int root_fd, const char *path, uint32_t tgid, unsigned flags)
{
	struct walk w = {.root_fd = root_fd, .fd = root_fd, .tgid = tgid};
	int fd;

	if (root_fd < 0)
		return root_fd;
	if (*path != '/' || strlen(path) >= sizeof(w.path))
		return -EINVAL;
	strcpy(w.path, path);
	normalize(w.path);
	fd = walk_to_end(&w, flags);
	move_to(&w, root_fd);
	return fd;
}

int tapir_foreign__root(uint32_t tgid)
{
	char path[48] = "/";
	int fd;

	if (tgid)
		snprintf(path, sizeof(path), "/proc/%u/root", tgid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	return fd;
}

/* ---- the user's own paths ------------------------------------------------------------------- */

static int take_plainly(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	int fd = open(in, O_PATH | O_CLOEXEC);

	(void)fds, (void)value;
	if (fd < 0)
		return -errno;
	*out_fd = fd;
	return 0;
}

/* Opens the path by the kernel's own rules, in a helper: it may lead anywhere. */
static int ask_for_own(const char *path)
{
	struct tapir_helper_call call = {
		.fn = take_plainly, .in = path, .in_bytes = strlen(path) + 1};
	struct tapir_fs *fs = tapir_fs__of_path(path);
	int err = fs ? tapir_fs__call(fs, &call) : -ENFILE;

	if (err == -ETIMEDOUT)
		tapir_fs__skip(fs, tapir_hash__bytes(1, path, strlen(path)));
	return err ? err : call.out_fd;
}

int tapir_foreign__take_own(const char *path)
{
	char absolute[2 * TAPIR_FOREIGN_MAX_PATH_BYTES] = "";
	tapir_autofd int root_fd = tapir_foreign__root(0);
	int fd;

	if (!*path)
		return -ENOENT;
	if (*path != '/' && !getcwd(absolute, TAPIR_FOREIGN_MAX_PATH_BYTES))
		return -errno;
	if (strlen(path) >= TAPIR_FOREIGN_MAX_PATH_BYTES)
		return -ENAMETOOLONG;
	/* "LINK/.." is where the link leads to, which the walk does not know. */
	if (strstr(path, ".."))
		return ask_for_own(path);
	strcat(absolute, *path == '/' ? "" : "/");
	strcat(absolute, path);
	fd = tapir_foreign__take(root_fd, absolute, 0, 0);
	return fd == -EMEDIUMTYPE || fd == -ELOOP ? ask_for_own(path) : fd;
}
