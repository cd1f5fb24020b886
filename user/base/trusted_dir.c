// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks a path one component at a time; each is opened with O_PATH and O_NOFOLLOW and checked
 * before the next. A check of the whole path first and an open later could be of different
 * directories.
 */
#include "base/trusted_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 8

struct walk {
	const struct tapir_trust *trust;
	int root_fd, fd; /* fd: where it is now */
	unsigned link_cnt;
	char left[PATH_MAX]; /* what remains of the path */
};

static bool is_owner(const struct tapir_trust *trust, uid_t uid)
{
	for (unsigned i = 0; i < TAPIR_TRUST_OWNERS; i++)
		if (trust->owners[i] == uid)
			return true;
	return false;
}

bool tapir_trust__covers(const struct tapir_trust *trust, const struct stat *dir)
{
	if (!S_ISDIR(dir->st_mode) || !is_owner(trust, dir->st_uid))
		return false;
	if (!(dir->st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	return trust->allows_sticky && (dir->st_mode & S_ISVTX);
}

/* Takes fd: the walk continues from there. */
static int move_to(struct walk *w, int fd)
{
	struct stat st;

	if (w->fd >= 0)
		close(w->fd);
	w->fd = fd;
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return tapir_trust__covers(w->trust, &st) ? 0 : -EPERM;
}

static int move_to_root(struct walk *w)
{
	return move_to(w, openat(w->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* link_fd, whose status is st: its target replaces the component that was taken. */
static int follow_trusted_link(struct walk *w, int link_fd, const struct stat *st)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(link_fd, "", target, sizeof(target));
	size_t rest = strlen(w->left);

	if (!is_owner(w->trust, st->st_uid))
		return -EPERM;
	if (len < 0)
		return -errno;
	if (!len || ++w->link_cnt > LINKS_MAX)
		return -ELOOP;
	if ((size_t)len + 1 + rest >= sizeof(w->left))
		return -ENAMETOOLONG;
	memmove(w->left + len + 1, w->left, rest + 1);
	memcpy(w->left, target, (size_t)len);
	w->left[len] = '/';
	return w->left[0] == '/' ? move_to_root(w) : 0;
}

static int enter_component(struct walk *w, const char *name)
{
	struct stat st;
	int fd, err;

	if (!strcmp(name, ".."))
		return -ELOOP;
	fd = openat(w->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && S_ISDIR(st.st_mode))
		return move_to(w, fd);
	if (!err)
		err = S_ISLNK(st.st_mode) ? follow_trusted_link(w, fd, &st) : -ENOTDIR;
	close(fd);
	return err;
}

/* Takes the next component into name; false: the path has no more. */
static bool next_component(struct walk *w, char name[NAME_MAX + 1], int *err)
{
	size_t skip = strspn(w->left, "/"), len = strcspn(w->left + skip, "/");

	*err = len > NAME_MAX ? -ENAMETOOLONG : 0;
	if (!len || *err)
		return false;
	memcpy(name, w->left + skip, len);
	name[len] = '\0';
	memmove(w->left, w->left + skip + len, strlen(w->left + skip + len) + 1);
	return true;
}

int tapir_trusted_dir__open(int root_fd, const char *path, const struct tapir_trust *trust)
{
	struct walk w = {.trust = trust, .root_fd = root_fd, .fd = -1};
	char name[NAME_MAX + 1];
	int err;

	if (strlen(path) >= sizeof(w.left))
		return -ENAMETOOLONG;
	strcpy(w.left, path);
	err = move_to_root(&w);
	while (!err && next_component(&w, name, &err))
		if (strcmp(name, "."))
			err = enter_component(&w, name);
	if (!err)
		return w.fd;
	if (w.fd >= 0)
		close(w.fd);
	return err;
}
