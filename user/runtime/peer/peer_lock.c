// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See peer_lock.h. flock(2) has no timeout, so it is tried every 20 ms, until the job's deadline or
 * a cancel. The lock belongs to the open file: a guard that inherits the descriptor holds it, too.
 */
#include "runtime/peer/peer_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "runtime/peer/peer_facts.h"

#define REST_NS	 (20 * TAPIR_NS_PER_MS)
#define FIRST_FD 3 /* a guard's life line and answer take what is lower */

static int open_environ(int proc_fd)
{
	tapir_autofd int fd = openat(proc_fd, "environ", O_RDONLY | O_CLOEXEC);
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);

	return high < 0 ? -errno : high;
}

/* While a process is stopped, the other tapir waits for it, too: that is what has to be said. */
static const char *reason(const struct tapir_peer_helper *job, int err)
{
	const struct tapir_peer_answer stopped = {.why = TAPIR_PEER_WHY_STOPPED};

	if (err != -EBUSY)
		return "its environ cannot be locked";
	return tapir_peer__is_stopped(job->proc_fd) ? tapir_peer_answer__reason(&stopped, err)
						    : "another tapir is using its files";
}

int tapir_peer_lock__take(const struct tapir_peer_helper *job, int *out)
{
	tapir_autofd int fd = open_environ(job->proc_fd);
	int err = fd < 0 ? fd : 0;

	while (!err && flock(fd, LOCK_EX | LOCK_NB)) {
		uint64_t now = tapir_clock__now_ns();

		if (errno != EWOULDBLOCK)
			err = -errno;
		else if (now >= job->deadline_ns)
			err = -EBUSY;
		else
			err = tapir_peer_helper__poll(job, -1, 0, now + REST_NS);
		err = err == -ETIMEDOUT ? 0 : err;
	}
	if (err)
		return tapir_diag__fail(err, "cannot %s in process %u: %s", job->task, job->tgid,
					reason(job, err));
	*out = fd;
	fd = -1;
	return 0;
}
