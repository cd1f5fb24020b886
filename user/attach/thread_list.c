// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One link and one read(2) loop each time: 1,000 threads take some milliseconds. read(2) may return
 * a part of an element, whose rest the next one has.
 */
#include "attach/thread_list.h"

#include <errno.h>
#include <unistd.h>

#include "attach/programs.h"
#include "base/file.h"

static int read_task_directory(int fd, struct tapir_thread_list *out)
{
	struct tapir_thread_seen seen;
	size_t have = 0;

	for (;;) {
		ssize_t n = read(fd, (char *)&seen + have, sizeof(seen) - have);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		have += (size_t)n;
		if (have < sizeof(seen))
			continue;
		have = 0;
		if (seen.kernel_frame_cnt > TAPIR_THREAD_KFRAMES)
			return -EBADMSG;
		if (!tapir_vec__push(&out->vec, seen))
			return -ENOMEM;
	}
}

int tapir_thread_list__read(struct tapir_programs *programs, uint32_t tgid,
			    struct tapir_thread_list *out)
{
	tapir_autofd int fd = tapir_programs__iterate_threads(programs, tgid);

	out->vec.cnt = 0;
	return fd < 0 ? fd : read_task_directory(fd, out);
}

void tapir_thread_list__fini(struct tapir_thread_list *list)
{
	tapir_vec__fini(&list->vec);
}
