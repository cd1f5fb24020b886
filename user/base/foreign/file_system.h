/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_system.h - which file systems may block a call for ever, and how they are used all the same.
 *
 * Local: the kernel alone serves it (ext4, xfs, btrfs, tmpfs ...), calls return. Foreign: anything
 * else, such as FUSE, NFS, an overlay over anything (overlay.h) and every type that is not known:
 * calls are made by a helper process of that file system, with a deadline. Refused: /proc, /sys and
 * their like, where reading can have effects.
 *
 * Which one a file is on is learnt without asking the file system: by the mount's id (statx with
 * AT_STATX_DONT_SYNC) and the kernel's list of mounts. Thread-safe.
 *
 * Kernel: 5.8 (STATX_MNT_ID); from 6.8 on (ids that are not used again) the list is read once per
 * mount.
 */
#ifndef TAPIR_USER_FILE_SYSTEM_H
#define TAPIR_USER_FILE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/foreign/helper.h"

struct tapir_fs; /* a foreign one; there until __end_all */

/*
 * The file system of what fd names; *out NULL: a local one. tgid (0: none) is a process that sees
 * the mount. 0; -EMEDIUMTYPE: a refused one; else -errno. No line.
 */
int tapir_fs__of(int fd, uint32_t tgid, struct tapir_fs **out);

/* An entry for all that the user's own paths lead to; NULL: out of memory. */
struct tapir_fs *tapir_fs__of_path(const char *path);

/*
 * Makes a call in its helper process. -EIO: its server has gone. -ETIMEDOUT: it does not answer,
 * and is not asked again before the call returns; -ECANCELED: the program is about to end.
 */
int tapir_fs__call(struct tapir_fs *fs, struct tapir_helper_call *call);

/*
 * For a process other than the helper that may wait for the file system: one at a time. path:
 * absolute and as tgid sees it; nothing is looked up there. 0: *out is NULL for a local one, else
 * the caller ends its turn with __end_turn; -EBUSY: the helper, or the process of an earlier turn,
 * waits for an answer.
 */
int tapir_fs__begin_turn(uint32_t tgid, const char *path, struct tapir_fs **out);
/* left_pidfd: of a process that could not be ended; it belongs to fs from then on. -1: none. */
void tapir_fs__end_turn(struct tapir_fs *fs, int left_pidfd);

/*
 * A file was not read because of it: counted once, by its inode number or a hash of its path, for
 * the summary line.
 */
void tapir_fs__skip(struct tapir_fs *fs, uint64_t file);

/*
 * Ends all helpers. line is called for each file system that did not answer with what was skipped
 * and which process is left. No other thread may use file systems at that time.
 */
void tapir_fs__end_all(void (*line)(const char *text));

/* stat(2) from what the kernel has cached: never asks a server. 0 or -errno. */
int tapir_fs__stat(int fd, struct stat *out);

#endif
