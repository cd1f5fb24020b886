/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * io_paths.h - where the file systems of block requests are mounted. The kernel's programs name a
 * file from its file system's root; here the path becomes the one that a user would type.
 *
 * One thread.
 */
#ifndef TAPIR_USER_IO_PATHS_H
#define TAPIR_USER_IO_PATHS_H

#include "trace/recbuf.h"

struct tapir_io_paths {
	char *mounts;	  /* the list as it was read; NULL: none */
	uint64_t read_ns; /* when; 0: never */
	struct tapir_recbuf buf;
};

/* Frees the list of mounts. */
void tapir_io_paths__fini(struct tapir_io_paths *paths);

/* Takes text as the list of mounts, in the form of proc(5), in place of what was read. */
void tapir_io_paths__take_list(struct tapir_io_paths *paths, char *text, uint64_t now_ns);

/*
 * Returns the IO record with a path as its reader wants it: borrowed, rec itself or one that lasts
 * until the next call. Without memory, rec. The list of mounts is read when a file system is not
 * in it, ten times a second at most.
 */
const struct tapir_rec *tapir_io_paths__complete(struct tapir_io_paths *paths,
						 const struct tapir_rec *rec);

#endif
