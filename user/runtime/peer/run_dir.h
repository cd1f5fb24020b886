/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run_dir.h - a directory for what a program that tapir starts is to find: a library to load, a
 * socket to connect to.
 *
 * The program gets the path by its environment, and so do its children, which may outlive tapir. So
 * the path must lead to nothing once tapir has ended, and no other user may be able to create it
 * again: the directory has a random name, and on every part of its path only root (for an ordinary
 * user: that user) can create names.
 *
 *   root             /run/tapir-<16 hex digits>, 0711; below /var/lib where /run is noexec and
 *                    code is to be loaded
 *   ordinary user    $XDG_RUNTIME_DIR/tapir-<16 hex digits>, 0700
 *
 * It is removed by __close, and by a guard process (peer_helper.h) when tapir is killed. If both
 * are killed at once, the directory remains without a lock, and the next tapir of that user removes
 * it.
 */
#ifndef TAPIR_USER_RUN_DIR_H
#define TAPIR_USER_RUN_DIR_H

#include "runtime/peer/peer_helper.h"

/* With a file name of 11 characters it still fits into a socket's address. */
#define TAPIR_RUN_DIR_PATH_BYTES 96

struct tapir_run_dir {
	int parent_fd, fd; /* -1: there is none */
	char name[TAPIR_PEER_NAME_BYTES];
	char path[TAPIR_RUN_DIR_PATH_BYTES]; /* absolute, without characters that lists use */
	struct tapir_peer_guard guard;
};

#define TAPIR_NO_RUN_DIR                                                                           \
	(struct tapir_run_dir)                                                                     \
	{                                                                                          \
		.parent_fd = -1, .fd = -1, .guard = TAPIR_PEER_NO_GUARD                            \
	}

/*
 * for_code: its files are to be mapped executable. On failure a line gives the reason, and out is
 * unchanged. -ENOENT: no place for it, -EPERM: others can write to it or to a directory above it,
 * -EACCES: noexec, ... Privileges: none. Thread-safe.
 */
int tapir_run_dir__open(bool for_code, struct tapir_run_dir *out);
void tapir_run_dir__close(struct tapir_run_dir *dir); /* removes it; twice is fine */

/* A new file of mode 0444. -errno with a line. */
int tapir_run_dir__add_file(const struct tapir_run_dir *dir, const char *name, const void *bytes,
			    size_t byte_cnt);

#endif
