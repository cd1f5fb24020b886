// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads a file only if its owner is this user and its mode lets no other in. That is checked on the
 * descriptor, after it was opened: a check of the path could be of another file.
 */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"

#define MAX_FILE_BYTES (1u << 20)

int tapir_private_file__read(const char *path, char **text, size_t *len, uint64_t *key)
{
	/* Links are followed: a Kubernetes secret is mounted as one. The file itself is judged. */
	tapir_autofd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return tapir_diag__fail(-errno, "cannot open %s: %s", path,
					tapir_errno__text(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return tapir_diag__fail(
			-EPERM, "cannot use %s: it must be a file of this user's, mode 0600", path);
	*key = tapir_file__key(&st);
	return tapir_file__read_fd(fd, MAX_FILE_BYTES, text, len);
}
