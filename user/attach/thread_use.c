// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads what all threads use, from a BPF iterator over tasks. Each element is a struct
 * tapir_thread_use; a read(2) may end inside of one.
 */
#include "attach/thread_use.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attach/programs.h"
#include "base/file.h"

#define PIECE_BYTES (256 * sizeof(struct tapir_thread_use))

int tapir_thread_uses__read(struct tapir_programs *programs,
			    int (*fn)(void *ctx, const struct tapir_thread_use *use), void *ctx)
{
	tapir_autofd int fd = tapir_programs__iterate_uses(programs);
	struct tapir_thread_use use;
	char piece[PIECE_BYTES];
	size_t have = 0;
	int err = 0;

	if (fd < 0)
		return fd;
	while (!err) {
		ssize_t n = read(fd, piece + have, sizeof(piece) - have);
		size_t at = 0;

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		/*
		 * read(2) of an iterator ends where its buffer does, in the middle of an element,
		 * too: what is left of it comes first in the next piece.
		 */
		have += (size_t)n;
		for (; !err && have - at >= sizeof(use); at += sizeof(use)) {
			memcpy(&use, piece + at, sizeof(use));
			err = fn(ctx, &use);
		}
		have -= at;
		memmove(piece, piece + at, have);
	}
	return err;
}
