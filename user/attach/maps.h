/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps.h - the lines of /proc/PID/maps, read strictly: a line that is not exactly as in proc(5) is
 * counted and skipped. Paths are chosen by the traced process. No state; any thread. Reading all of
 * it costs 20 to 250 us.
 */
#ifndef TAPIR_USER_MAPS_H
#define TAPIR_USER_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tapir_mapping_line {
	uint64_t start_va, end_va;
	uint64_t file_off;
	uint64_t inode; /* 0: no file */
	uint32_t dev;	/* major << 20 | minor, as in abi.h */
	bool is_readable, is_writable, is_executable, is_shared;
	/*
	 * True for memory of no file in a hole of a file's code, which was moved there (to huge
	 * pages: node --use-largepages, iodlr, BOLT): all that is said of a file is that file's.
	 */
	bool is_moved;
	bool is_deleted;  /* the path was followed by " (deleted)", or ends in it */
	const char *path; /* borrowed, NUL-terminated; "" anonymous, "[heap]" and the like */
	size_t path_len;
};

static inline bool tapir_mapping_line__is_file(const struct tapir_mapping_line *m)
{
	return m->inode && m->path[0] == '/';
}

/*
 * Returns true if the last component of path is called so; " (deleted)" may follow. It proves
 * nothing about the file.
 */
bool tapir_mapping_path__is_called(const char *path, size_t len, const char *name);

/* Returns a device of stat(2) as the lines above have it. */
uint32_t tapir_mapping_line__dev(dev_t dev);

/*
 * Parses line[0..len) without its newline; it is changed in place, and out->path points into it.
 * False: it is malformed.
 */
bool tapir_mapping_line__parse(char *line, size_t len, struct tapir_mapping_line *out);

/* Anything but 0 ends the walk and is what the walk returns. */
typedef int (*tapir_mapping_fn)(const struct tapir_mapping_line *mapping, void *ctx);

/*
 * Calls fn for every complete line after fd's position. bad_cnt (may be NULL): lines that were
 * skipped.
 */
int tapir_maps__each(int fd, tapir_mapping_fn fn, void *ctx, size_t *bad_cnt);

/*
 * Returns 1 if the process maps, shared, a file of this device whose path begins so, else 0,
 * without a line being written: a few us where the text takes a hundred. -ENOTTY: not known, the
 * kernel is older than 6.11; -ESRCH: it has ended; other -errno: not known.
 */
int tapir_maps__has_shared(int fd, uint32_t dev, const char *path_start);

/*
 * The mapping that begins at va, without the lines before it: 1, or 0: there is none. path, which
 * out->path points into, has TAPIR_MAPPING_PATH_BYTES. -errno as above: the text may still have it.
 */
#define TAPIR_MAPPING_PATH_BYTES 4096
/*
 * Reads the mapping that begins at va, without the lines before it: 1, or 0: there is none. path,
 * which out->path points into, has TAPIR_MAPPING_PATH_BYTES. -errno as above: the text may still
 * have it.
 */
int tapir_maps__at(int fd, uint64_t va, char *path, struct tapir_mapping_line *out);

#endif
