/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trusted_dir.h - opens a directory by a path that only trusted users can redirect.
 *
 * A name that tapir makes known to a program, or has a program open, is safe only if no other user
 * can replace the file of that name: every directory on the way belongs to a trusted user, and
 * others may not write to it. A POSIX ACL that lets others write shows in the group's bits.
 *
 * System calls and the stack only: usable in a copy of a process with threads.
 */
#ifndef TAPIR_USER_TRUSTED_DIR_H
#define TAPIR_USER_TRUSTED_DIR_H

#include <stdbool.h>
#include <sys/stat.h>

#define TAPIR_TRUST_OWNERS 3

struct tapir_trust {
	uid_t owners[TAPIR_TRUST_OWNERS]; /* repeat one to fill the array */
	/*
	 * Also trusts directories in which others may create names, but not remove or rename
	 * existing ones (sticky). Enough for a file that exists before its name is used and is
	 * removed after; not for a name that outlives its file.
	 */
	bool allows_sticky;
};

/* Returns true if others than the trusted users can replace a name in this directory. */
bool tapir_trust__covers(const struct tapir_trust *trust, const struct stat *dir);

/*
 * Opens path (O_PATH), taken from root_fd as if that were the root directory. Symbolic links are
 * followed where a trusted user made them; "..", and paths beyond PATH_MAX, are refused. The fd,
 * -EPERM: someone else can replace a part of the path; -ENOTDIR, -ELOOP, -ENAMETOOLONG or openat's
 * error. No diagnostic line.
 */
int tapir_trusted_dir__open(int root_fd, const char *path, const struct tapir_trust *trust);

#endif
