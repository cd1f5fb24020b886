// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One flat directory. The time of modification is that of the last use, since many file systems do
 * not keep the time of access. Two tapirs may use it at once: files are put there complete and
 * removed by name.
 */
#include "symbol/symbol_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/order.h"
#include "base/trusted_dir.h"
#include "base/vec.h"

#define ENTRIES_MAX 65536u

struct entry {
	struct timespec used;
	uint64_t bytes;
	char *name;
};

struct listing {
	struct tapir_vec(struct entry) entries;
	uint64_t bytes;
};

/* ---- the directory ----------------------------------------------------------------------- */

static struct tapir_trust trust(void)
{
	/* Sticky is enough: every use begins with this check, and the last part must be ours. */
	return (struct tapir_trust){.owners = {0, geteuid(), geteuid()}, .allows_sticky = true};
}

static bool put_path(struct tapir_str *out)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	tapir_str__clear(out);
	if (cache && *cache == '/')
		tapir_str__adds(out, cache);
	else if (home && *home == '/')
		tapir_str__addf(out, "%s/.cache", home);
	else
		return false;
	tapir_str__adds(out, "/tapir/symbols");
	return !out->failed;
}

/* The directory that path names from the root; each part that is missing is created. */
static int open_or_create(int root_fd, const char *path)
{
	const struct tapir_trust trusted = trust();
	int fd = tapir_trusted_dir__open(root_fd, path, &trusted), parent_fd, err;
	const char *slash = strrchr(path, '/');
	tapir_autofree char *parent = NULL;

	if (fd != -ENOENT || !slash || slash == path)
		return fd;
	parent = strndup(path, (size_t)(slash - path));
	parent_fd = parent ? open_or_create(root_fd, parent) : -ENOMEM;
	if (parent_fd < 0)
		return parent_fd;
	err = mkdirat(parent_fd, slash + 1, 0700) && errno != EEXIST ? -errno : 0;
	close(parent_fd);
	return err ? err : tapir_trusted_dir__open(root_fd, path, &trusted);
}

/* Checks that the directory is the user's, and closed to others. */
static int check_own(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	if ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700))
		return -errno;
	return 0;
}

int tapir_symbol_cache__open(struct tapir_symbol_cache *c)
{
	tapir_autofd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), path_fd = -1;
	int err;

	c->dir_fd = -1;
	if (!put_path(&c->dir))
		return tapir_diag__fail(-ENOENT, "symbols are not cached: neither XDG_CACHE_HOME "
						 "nor HOME is set");
	path_fd = open_or_create(root_fd, c->dir.data);
	err = path_fd < 0 ? path_fd : 0;
	if (!err) {
		c->dir_fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = c->dir_fd < 0 ? -errno : check_own(c->dir_fd);
	}
	if (!err)
		return 0;
	tapir_symbol_cache__close(c);
	put_path(&c->dir);
	err = tapir_diag__fail(err, "symbols are not cached in %s: %s",
			       c->dir.data ? c->dir.data : "~",
			       err == -EPERM ? "another user can replace a part of the path"
					     : tapir_errno__text(err));
	tapir_str__fini(&c->dir);
	return err;
}

void tapir_symbol_cache__close(struct tapir_symbol_cache *c)
{
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	c->dir_fd = -1;
	tapir_str__fini(&c->dir);
}

/* ---- files ------------------------------------------------------------------------------- */

int tapir_symbol_cache__get(struct tapir_symbol_cache *c, const char *name)
{
	static const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
	int fd = openat(c->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -ENOENT;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return -ENOENT;
	}
	(void)futimens(fd, now);
	return fd;
}

int tapir_symbol_cache__new_file(struct tapir_symbol_cache *c)
{
	int fd = openat(c->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static bool is_name(const char *name)
{
	return *name && !name[strspn(name, "0123456789abcdef")];
}

static bool list_one(void *ctx, int dir_fd, const char *name)
{
	struct listing *list = ctx;
	struct entry entry;
	struct stat st;

	if (!is_name(name) || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(st.st_mode))
		return true;
	entry = (struct entry){
		.used = st.st_mtim, .bytes = (uint64_t)st.st_size, .name = strdup(name)};
	if (!entry.name || !tapir_vec__push(&list->entries, entry)) {
		free(entry.name);
		return false;
	}
	list->bytes += entry.bytes;
	return list->entries.cnt < ENTRIES_MAX;
}

static int by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return tapir_order__by(tapir_order__up(x->used.tv_sec, y->used.tv_sec),
			       tapir_order__up(x->used.tv_nsec, y->used.tv_nsec));
}

static int evict_cached_files(struct tapir_symbol_cache *c, uint64_t bytes)
{
	struct listing list = {};
	struct entry *entry;
	int err = tapir_file__each_name(c->dir_fd, ".", list_one, &list);

	if (list.entries.cnt)
		qsort(list.entries.data, list.entries.cnt, sizeof(*entry), by_use);
	tapir_vec_for_each (entry, &list.entries) {
		if (!err && list.bytes + bytes > TAPIR_SYMBOL_CACHE_MAX_BYTES &&
		    !unlinkat(c->dir_fd, entry->name, 0))
			list.bytes -= entry->bytes;
		free(entry->name);
	}
	tapir_vec__fini(&list.entries);
	if (!err && list.bytes + bytes > TAPIR_SYMBOL_CACHE_MAX_BYTES)
		err = -EDQUOT;
	return err;
}

int tapir_symbol_cache__put(struct tapir_symbol_cache *c, int fd, const char *name)
{
	char from[32];
	struct stat st;
	int err = fstat(fd, &st) ? -errno : evict_cached_files(c, (uint64_t)st.st_size);

	if (err)
		return err;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	/* A file of that name is one that was not the right one, or another tapir's. */
	unlinkat(c->dir_fd, name, 0);
	return linkat(AT_FDCWD, from, c->dir_fd, name, AT_SYMLINK_FOLLOW) && errno != EEXIST
		       ? -errno
		       : 0;
}
