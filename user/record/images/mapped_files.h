/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mapped_files.h - files that were read, found again by the device and inode that the kernel
 * reports of each mapping: a later mapping is described without reading its process, which may have
 * ended.
 *
 * An inode number is used again once its file is deleted, and a file may be written in place. So
 * each one is watched by inotify, which keeps its inode, but neither the file nor its mount busy:
 * the first change ends what is known of it. Files on file systems that need a server are not kept:
 * they change without a notice.
 *
 * The kernel could report build IDs instead (perf_event_attr.build_id), but it then marks records
 * of other tracers as if they had one, too (seen: 6.18), and `perf record` aborts.
 *
 * One thread.
 */
#ifndef TAPIR_USER_MAPPED_FILES_H
#define TAPIR_USER_MAPPED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "attach/maps.h"
#include "attach/sideband.h"
#include "base/map.h"
#include "record/images/images.h"

struct tapir_mapped_file {
	uint64_t inode;	  /* 0: it cannot be kept */
	uint32_t dev;	  /* tapir_mapping_line__dev: of its mappings */
	uint32_t st_dev;  /* the same as stat(2) has it: another one for each mount of an overlay */
	int watch;	  /* inotify's number of it */
	uint64_t from_ns; /* it has not changed since */
	struct tapir_image *image;
};

struct tapir_mapped_files {
	int inotify_fd;		   /* -1: nothing is known */
	struct tapir_map by_watch; /* -> the file; owns it */
	struct tapir_map by_inode; /* a hash of device and inode -> the file */
};

/* Without inotify nothing is ever known. */
void tapir_mapped_files__init(struct tapir_mapped_files *files);
void tapir_mapped_files__fini(struct tapir_mapped_files *files);

/* Returns true if the file fd (a handle), whose status is st, is the one that was mapped. */
bool tapir_mapped_files__is_it(const struct tapir_sideband_mmap *mmap, int fd,
			       const struct stat *st);

/*
 * Watches the file fd, which is about to be read. expected: a mapping of it as the kernel reported
 * it; line: as /proc/PID/maps shows it; both NULL: no process maps it yet.
 */
struct tapir_mapped_file tapir_mapped_files__watch(struct tapir_mapped_files *files, int fd,
						   const struct tapir_sideband_mmap *expected,
						   const struct tapir_mapping_line *line);

/*
 * Keeps the watched file, which was read: image is borrowed until the images are freed. NULL: it
 * could not be read.
 */
void tapir_mapped_files__add(struct tapir_mapped_files *files, struct tapir_mapped_file file,
			     struct tapir_image *image);

/*
 * Returns the image of the file that was mapped, as long as it has no sites, which are attached
 * file by file. NULL: it is not known. *st_dev: where it is, as stat(2) has it.
 */
struct tapir_image *tapir_mapped_files__find(struct tapir_mapped_files *files,
					     const struct tapir_sideband_mmap *mmap,
					     uint32_t *st_dev);

#endif
