// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table by device and inode. inotify's events are read before each look-up, so that a change that
 * happened before the mapping ends what is known of the file in time. Watches are a user's common
 * resource: a share of them is taken at most.
 */
#include "record/images/mapped_files.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"

/* The share of the watches that a user may have (fs.inotify.max_user_watches): at least 8,192. */
#define FILES_MAX 2048

/*
 * The file's content is written, or the file is deleted (a link less is a change of its
 * attributes).
 */
#define CHANGES	  (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_ONESHOT)

void tapir_mapped_files__init(struct tapir_mapped_files *files)
{
	*files = (struct tapir_mapped_files){.inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
}

static void free_all(struct tapir_mapped_files *files)
{
	for (size_t i = 0; i < files->by_watch.cap; i++)
		if (files->by_watch.slots[i].used)
			free((void *)(uintptr_t)files->by_watch.slots[i].value);
	tapir_map__clear(&files->by_watch);
	tapir_map__clear(&files->by_inode);
}

void tapir_mapped_files__fini(struct tapir_mapped_files *files)
{
	tapir_guard__fd(&files->inotify_fd);
	free_all(files);
	tapir_map__fini(&files->by_inode);
	tapir_map__fini(&files->by_watch);
}

static struct tapir_mapped_file *get_file(const struct tapir_map *map, uint64_t key)
{
	const uint64_t *value = tapir_map__get(map, key);

	return value ? (void *)(uintptr_t)*value : NULL;
}

static uint32_t dev_of(const struct tapir_sideband_mmap *mmap)
{
	return tapir_mapping_line__dev(makedev(mmap->dev_major, mmap->dev_minor));
}

static uint64_t file_id_hash(uint64_t inode, uint32_t dev)
{
	return tapir_hash__mix(tapir_hash__mix(1, dev), inode);
}

/* stat(2) shows another device for each subvolume and for an overlay; records show the disk's. */
static bool has_own_devices(int fd)
{
	struct statfs fs;

	return !tapir_foreign__statfs(fd, &fs) &&
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

bool tapir_mapped_files__is_it(const struct tapir_sideband_mmap *mmap, int fd,
			       const struct stat *st)
{
	return st->st_ino == mmap->inode &&
	       (tapir_mapping_line__dev(st->st_dev) == dev_of(mmap) || has_own_devices(fd));
}

/* ---- changes -------------------------------------------------------------------------------- */

static void forget_key(struct tapir_mapped_files *files, const struct tapir_mapped_file *file)
{
	if (get_file(&files->by_inode, file_id_hash(file->inode, file->dev)) == file)
		tapir_map__del(&files->by_inode, file_id_hash(file->inode, file->dev));
}

static void drop_watch(struct tapir_mapped_files *files, int watch)
{
	struct tapir_mapped_file *file = get_file(&files->by_watch, (uint64_t)watch);

	if (!file)
		return;
	forget_key(files, file);
	tapir_map__del(&files->by_watch, (uint64_t)watch);
	free(file);
}

static void see_changes(struct tapir_mapped_files *files)
{
	_Alignas(struct inotify_event) char room[4096];
	ssize_t len;

	while ((len = read(files->inotify_fd, room, sizeof(room))) > 0) {
		for (ssize_t at = 0; at < len;) {
			const struct inotify_event *event = (const void *)(room + at);

			if (event->mask & IN_Q_OVERFLOW)
				free_all(files);
			else
				drop_watch(files, event->wd);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
}

static int watch_fd(const struct tapir_mapped_files *files, int fd)
{
	struct tapir_fs *fs;
	char link[32];

	if (files->inotify_fd < 0 || files->by_watch.cnt >= FILES_MAX ||
	    tapir_foreign__is_foreign(fd, &fs))
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return inotify_add_watch(files->inotify_fd, link, CHANGES);
}

/* ---- the table ------------------------------------------------------------------------------ */

/*
 * A change is stamped with the time of the last tick of a clock that ticks at least 100 times a
 * second, and some file systems keep whole seconds, or every other one.
 */
#define TICK_MAX_NS (10 * TAPIR_NS_PER_MS)
#define COARSE_NS   (2 * TAPIR_NS_PER_SEC)

/*
 * Returns since when a file whose status is st has not changed, by the clock of records. A process
 * that maps it and ends before the file is read, by way of another one, has mapped what is read.
 * UTC that was set forward in between would make a change look older than it is.
 */
static uint64_t unchanged_since(const struct stat *st)
{
	uint64_t now = tapir_clock__now_ns(), utc = tapir_clock__ns(CLOCK_REALTIME);
	uint64_t changed = (uint64_t)st->st_ctim.tv_sec * TAPIR_NS_PER_SEC +
			   (uint64_t)st->st_ctim.tv_nsec +
			   (st->st_ctim.tv_nsec ? TICK_MAX_NS : COARSE_NS);

	if (changed >= utc)
		return now;
	return utc - changed < now ? now - (utc - changed) : 0;
}

struct tapir_mapped_file tapir_mapped_files__watch(struct tapir_mapped_files *files, int fd,
						   const struct tapir_sideband_mmap *expected,
						   const struct tapir_mapping_line *line)
{
	struct tapir_mapped_file file = {.watch = watch_fd(files, fd)};
	struct stat st;

	file.from_ns = tapir_clock__now_ns();
	if (file.watch < 0 || tapir_foreign__stat(fd, &st) || !st.st_nlink)
		return file;
	file.from_ns = unchanged_since(&st);
	file.st_dev = tapir_mapping_line__dev(st.st_dev);
	if (expected && tapir_mapped_files__is_it(expected, fd, &st))
		file.dev = dev_of(expected);
	else if (line && line->inode == st.st_ino)
		file.dev = line->dev;
	else if (!expected && !line)
		file.dev = file.st_dev;
	else
		return file;
	file.inode = st.st_ino;
	return file;
}

/* The file that has the watch, by its number; a new one, without a number. NULL: no memory. */
static struct tapir_mapped_file *keep_file(struct tapir_mapped_files *files, int watch)
{
	uint64_t *at = tapir_map__put(&files->by_watch, (uint64_t)watch, NULL);

	if (at && !*at)
		*at = (uintptr_t)calloc(1, sizeof(struct tapir_mapped_file));
	return at ? (void *)(uintptr_t)*at : NULL;
}

static bool add_mapped(struct tapir_mapped_files *files, struct tapir_mapped_file file,
		       struct tapir_image *image)
{
	struct tapir_mapped_file *to = keep_file(files, file.watch);
	uint64_t *by_inode;

	if (!to)
		return false;
	if (to->image == image) /* watched since then: it has not changed */
		file.from_ns = to->from_ns;
	forget_key(files, to); /* it may have had another device (has_own_devices) */
	*to = file;
	to->image = image;
	by_inode = tapir_map__put(&files->by_inode, file_id_hash(file.inode, file.dev), NULL);
	if (by_inode)
		*by_inode = (uintptr_t)to;
	return by_inode;
}

void tapir_mapped_files__add(struct tapir_mapped_files *files, struct tapir_mapped_file file,
			     struct tapir_image *image)
{
	if (file.watch < 0 ||
	    (file.inode && image && image->file_id && add_mapped(files, file, image)))
		return;
	/* A user's programs share a number of watches: none stays that is of no use. */
	inotify_rm_watch(files->inotify_fd, file.watch);
	drop_watch(files, file.watch);
}

struct tapir_image *tapir_mapped_files__find(struct tapir_mapped_files *files,
					     const struct tapir_sideband_mmap *mmap,
					     uint32_t *st_dev)
{
	uint32_t dev = dev_of(mmap);
	uint64_t hash = file_id_hash(mmap->inode, dev);
	const struct tapir_mapped_file *file;

	if (!get_file(&files->by_inode, hash))
		return NULL;
	see_changes(files);
	file = get_file(&files->by_inode, hash);
	if (!file || file->inode != mmap->inode || file->dev != dev ||
	    file->from_ns > mmap->time_ns || tapir_image__has_probes(file->image) ||
	    file->image->is_growing || file->image->is_unread)
		return NULL;
	*st_dev = file->st_dev;
	return file->image;
}
