/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_file.h - opens a file that a traced process left for tools, as root, without being redirected
 * or blocked.
 *
 * Everything about such a file is its process's choice: a symbolic link to /etc/shadow, a FIFO, a
 * device, another user's file, a file system whose server never answers. So: below the process's
 * root, no link at the end, no mount at the end, a regular file with one name, owned by a user the
 * process runs as. What it opens is a handle of base/foreign/foreign_file.h.
 *
 * Privileges: CAP_SYS_PTRACE for /proc/PID/root of other users' processes, CAP_DAC_READ_SEARCH for
 * their files. Thread-safe.
 */
#ifndef TAPIR_USER_JIT_FILE_H
#define TAPIR_USER_JIT_FILE_H

#include <stddef.h>
#include <stdint.h>

struct tapir_jit_file_opts {
	size_t sz;
	uint32_t tgid;
	uint32_t uid;	  /* may own it, in addition to the users that /proc/PID/status names */
	const char *path; /* absolute, as the process sees it */
};

/*
 * Returns a handle, the caller's to close. -ENOENT, -ESRCH without a line: no such file, no such
 * process; else -errno with a line.
 */
int tapir_jit_file__open(const struct tapir_jit_file_opts *opts);

/* The same questions to a file that is open already (a mapped one). path is for the line. 0 or
 * -errno with a line. */
int tapir_jit_file__check(int fd, const struct tapir_jit_file_opts *opts);

#endif
