// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See peer_ability.h. Each reason is read from files of /proc and of cgroups, which always answer;
 * what cannot be read is no reason.
 */
#include "runtime/peer/peer_ability.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>

#include "attach/cgroup.h"
#include "attach/cpu_quota.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "runtime/peer/peer_facts.h"

#define REST_NS	  (20 * TAPIR_NS_PER_MS)
#define SILENT_NS (500 * TAPIR_NS_PER_MS) /* after that without a byte it is checked again */
#define LEAST_FDS 1u			  /* for the connection that it accepts */

static bool has_fds(const struct tapir_peer_helper *job, unsigned needed)
{
	struct rlimit limit;
	rlim_t cnt = 0;
	DIR *dir;

	if (prlimit((pid_t)job->tgid, RLIMIT_NOFILE, NULL, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return true;
	dir = tapir_file__open_dir(job->proc_fd, "fd", O_RDONLY);
	if (!dir)
		return true;
	for (struct dirent *e; cnt + needed <= limit.rlim_cur && (e = readdir(dir));)
		cnt += e->d_name[0] != '.';
	closedir(dir);
	return cnt + needed <= limit.rlim_cur;
}

/* Waits for the end of a stop. */
static int await_end_of_stop(const struct tapir_peer_helper *job, uint64_t patience_ns)
{
	uint64_t until_ns = tapir_clock__now_ns() + patience_ns;
	int err = 0;

	if (until_ns > job->deadline_ns)
		until_ns = job->deadline_ns;
	while (tapir_peer__is_stopped(job->proc_fd)) {
		uint64_t now_ns = tapir_clock__now_ns();

		if (now_ns >= until_ns)
			return -EAGAIN;
		err = tapir_peer_helper__poll(job, -1, 0, now_ns + REST_NS);
		if (err != -ETIMEDOUT)
			return err;
	}
	return 0;
}

static int unable(const struct tapir_peer_helper *job, const char *why)
{
	return tapir_diag__fail(-EAGAIN, "cannot %s in process %u: %s", job->task, job->tgid, why);
}

int tapir_peer__check_able(const struct tapir_peer_helper *job, const char *suspended,
			   uint64_t patience_ns)
{
	const struct tapir_peer_answer stopped = {.why = TAPIR_PEER_WHY_STOPPED};
	unsigned needed = job->needed_fds > LEAST_FDS ? job->needed_fds : LEAST_FDS;
	char why[160];
	int err;

	if (job->may_be_stopped)
		return 0;
	if (tapir_cgroup__is_frozen(job->tgid))
		return unable(job, "its cgroup is frozen (resume the paused container)");
	if (tapir_cpu_quota__is_starving(job->tgid))
		return unable(job, "its cgroup's CPU quota leaves it no time to answer (raise "
				   "cpu.max)");
	if (!has_fds(job, needed)) {
		snprintf(why, sizeof(why),
			 "it has fewer than %u file descriptors left (raise its limit: prlimit "
			 "--nofile)",
			 needed);
		return unable(job, why);
	}
	err = await_end_of_stop(job, patience_ns);
	if (err == -EAGAIN)
		return unable(job, tapir_peer_answer__reason(&stopped, err));
	return !err && suspended ? unable(job, suspended) : err;
}

int tapir_peer__await(const struct tapir_peer_helper *job, int fd, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t slice_ns = tapir_clock__now_ns() + SILENT_NS;
		bool is_last = slice_ns >= deadline_ns;
		int err =
			tapir_peer_helper__poll(job, fd, POLLIN, is_last ? deadline_ns : slice_ns);

		if (err != -ETIMEDOUT || is_last)
			return err;
		err = tapir_peer__check_able(job, NULL, TAPIR_PEER_PATIENCE_NS - SILENT_NS);
		if (err)
			return err;
	}
}
