// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The policy: which of a process's files may be read at all. How a name is resolved and opened is
 * base/foreign/foreign_file.h's. The checks are of the opened file, which the process cannot
 * exchange any longer.
 */
#include "symbol/jit_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"

#define MAX_STATUS_BYTES (64u << 10)

static bool runs_as(uint32_t tgid, uint32_t uid)
{
	tapir_autofree char *text = NULL;
	unsigned uids[4];
	const char *line;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/status", tgid);
	if (!tgid || tapir_file__read(path, MAX_STATUS_BYTES, &text, NULL))
		return false;
	line = strstr(text, "\nUid:");
	if (!line ||
	    sscanf(line, "\nUid: %u %u %u %u", &uids[0], &uids[1], &uids[2], &uids[3]) != 4)
		return false;
	for (int i = 0; i < 4; i++)
		if (uids[i] == uid)
			return true;
	return false;
}

static int fail_jit_file(int err, const struct tapir_jit_file_opts *opts, const char *why)
{
	return tapir_diag__fail(err, "%s of process %u is not read: %s", opts->path, opts->tgid,
				why);
}

static int check_stat(int fd, const struct tapir_jit_file_opts *opts)
{
	struct stat st;
	int err = tapir_foreign__stat(fd, &st);

	if (err)
		return fail_jit_file(err, opts, tapir_errno__name(err));
	if (S_ISLNK(st.st_mode))
		return fail_jit_file(-ELOOP, opts, "a symbolic link");
	if (!S_ISREG(st.st_mode))
		return fail_jit_file(-EINVAL, opts, "not a regular file");
	if (st.st_nlink > 1)
		return fail_jit_file(-EMLINK, opts, "it has more than one hard link");
	if (st.st_uid == opts->uid || runs_as(opts->tgid, st.st_uid))
		return 0;
	return tapir_diag__fail(
		-EACCES,
		"%s of process %u is not read: it belongs to user %u, the process to user %u",
		opts->path, opts->tgid, st.st_uid, opts->uid);
}

int tapir_jit_file__check(int fd, const struct tapir_jit_file_opts *opts)
{
	return check_stat(fd, opts);
}

/* ---- opening ---------------------------------------------------------------------------- */

static int refuse_path(int err, const struct tapir_jit_file_opts *opts)
{
	if (err == -ENOENT || err == -ESRCH)
		return err;
	if (err == -ETIMEDOUT)
		return fail_jit_file(err, opts, "its file system does not answer");
	return fail_jit_file(err, opts,
			     err == -EINVAL  ? "its path is not absolute"
			     : err == -ELOOP ? "too many symbolic links"
					     : tapir_errno__name(err));
}

int tapir_jit_file__open(const struct tapir_jit_file_opts *opts)
{
	tapir_autofd int root_fd = tapir_foreign__root(opts->tgid), path_fd = -1;
	int err;

	if (root_fd < 0 && *opts->path == '/')
		return refuse_path(root_fd, opts);
	path_fd = tapir_foreign__take(root_fd, opts->path, opts->tgid,
				      TAPIR_FOREIGN_NO_FOLLOW | TAPIR_FOREIGN_NO_MOUNT);
	if (path_fd < 0)
		return refuse_path(path_fd, opts);
	err = check_stat(path_fd, opts);
	if (err)
		return err;
	err = tapir_foreign__open_taken(path_fd, opts->tgid);
	return err < 0 ? refuse_path(err, opts) : err;
}
