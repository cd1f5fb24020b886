/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mount_list.h - the kernel's list of mounts (/proc/PID/mountinfo), and what a file system's type
 * means for a reader: whether calls to it always return.
 *
 * No state; any thread. A list is read anew by each call: its length is that of the namespace's
 * mounts.
 */
#ifndef TAPIR_USER_MOUNT_LIST_H
#define TAPIR_USER_MOUNT_LIST_H

#include <stdbool.h>
#include <stdint.h>

enum tapir_fs_trait {
	TAPIR_FS_FOREIGN, /* may block, or is not known */
	TAPIR_FS_LOCAL,
	TAPIR_FS_REFUSED, /* reading a file there can have effects */
};

struct tapir_mount {
	char type[32];
	char point[256]; /* in the namespace that lists it; cut when longer */
	char dev[24];	 /* "0:57" */
	char root[256];	 /* the part of the file system that it shows; cut in the same way */
};

/* Looks in the lists of tgid (0: not there) and of this process. false: neither has the id. */
bool tapir_mount__find(uint32_t tgid, uint64_t id, struct tapir_mount *out);

/*
 * The mount that shows path, absolute and as tgid sees it (0: as this process does), by the list
 * alone: links in the path are not followed. false: there is no list.
 */
bool tapir_mount__of_path(uint32_t tgid, const char *path, struct tapir_mount *out);

/*
 * tapir_mount__next returns the line after this one, or NULL. tapir_mount__parse fills out from a
 * line, and returns false if it is malformed. A line ends with a newline or a NUL.
 */
const char *tapir_mount__next(const char *line);
bool tapir_mount__parse(const char *line, struct tapir_mount *out);
const char *tapir_mount__options(const char *line); /* of the file system; of a line that parses */

/* Parses one list; text is NUL-terminated. */
bool tapir_mount__find_in(const char *text, uint64_t id, struct tapir_mount *out);

/* The trait of the mount's file system; an unknown type is foreign. */
enum tapir_fs_trait tapir_mount__trait(const struct tapir_mount *mount);
enum tapir_fs_trait tapir_mount__trait_of_magic(uint64_t magic); /* of statfs(2) */

#endif
