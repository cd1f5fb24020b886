// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the file that is imported, at any offset, and says what is wrong with it. Fewer bytes than
 * requested mean that it ends before: the parsers report how much was missing.
 */
#include "output/import/import.h"

#include <errno.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"

int64_t tapir_import_input__read(void *ctx, void *buf, size_t len, uint64_t off)
{
	const struct tapir_import_input *input = ctx;
	size_t got = 0;

	while (got < len) {
		ssize_t n = pread(input->fd, (char *)buf + got, len - got, (off_t)(off + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (int64_t)got;
}

int tapir_import__fail(const struct tapir_import_input *input, int err, const char *what,
		       const char *refused)
{
	if (err == -EOPNOTSUPP)
		return tapir_diag__fail(err, "%s %s", input->name, refused);
	if (err == -EPROTO)
		return tapir_diag__fail(-EBADMSG, "%s is damaged: its head is not %s's",
					input->name, what);
	return tapir_diag__fail(err, "cannot read %s: %s", input->name, tapir_errno__text(err));
}
