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
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

#include "attach/cgroup.h"
#include "attach/cpu_quota.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
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

/* ---- stops ----------------------------------------------------------------------------------- */

/*
 * The processes that were seen stopped: tapir asks one for its names, for its events and for its
 * heap, and would wait for the same stop each time. One that was not checked for a while may
 * have run since.
 */
#define STOPS_MAX 64u
#define FORGET_NS (10 * TAPIR_NS_PER_SEC)

struct stop {
	uint32_t tgid;
	uint64_t since_ns, seen_ns; /* since_ns: 0 in a free slot */
};

static pthread_mutex_t stops_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stop stops[STOPS_MAX];

/* Returns the slot of a process, else that which was seen longest ago. The lock is held. */
static struct stop *stop_slot(uint32_t tgid)
{
	struct stop *oldest = &stops[0];

	for (unsigned i = 0; i < STOPS_MAX; i++) {
		if (stops[i].tgid == tgid)
			return &stops[i];
		if (stops[i].seen_ns < oldest->seen_ns)
			oldest = &stops[i];
	}
	return oldest;
}

/* Notes that the process is stopped: returns since when, as far as is known. */
static uint64_t note_stop(uint32_t tgid, uint64_t now_ns)
{
	uint64_t since_ns;
	struct stop *s;

	pthread_mutex_lock(&stops_lock);
	s = stop_slot(tgid);
	if (s->tgid != tgid || !s->since_ns || s->seen_ns + FORGET_NS < now_ns)
		*s = (struct stop){.tgid = tgid, .since_ns = now_ns};
	s->seen_ns = now_ns;
	since_ns = s->since_ns;
	pthread_mutex_unlock(&stops_lock);
	return since_ns;
}

static void note_running(uint32_t tgid)
{
	struct stop *s;

	pthread_mutex_lock(&stops_lock);
	s = stop_slot(tgid);
	if (s->tgid == tgid)
		*s = (struct stop){};
	pthread_mutex_unlock(&stops_lock);
}

/* Waits for the end of a stop: 0, or -EAGAIN after its patience, or as there is no time for it. */
static int await_end_of_stop(const struct tapir_peer_helper *job, uint64_t patience_ns)
{
	uint64_t begin_ns = tapir_clock__now_ns(), now_ns = begin_ns;
	int err = 0;

	while (!err && tapir_peer__is_stopped(job->proc_fd)) {
		uint64_t since_ns = note_stop(job->tgid, now_ns);

		if (now_ns >= since_ns + patience_ns || now_ns >= job->deadline_ns)
			err = -EAGAIN;
		else if (tapir_peer_helper__poll(job, -1, 0, now_ns + REST_NS) != -ETIMEDOUT)
			err = -EAGAIN;
		now_ns = tapir_clock__now_ns();
	}
	if (!err)
		note_running(job->tgid);
	if (now_ns >= begin_ns + REST_NS)
		tapir_debug("process %u: waited %u ms for the end of its stop", job->tgid,
			    (unsigned)((now_ns - begin_ns) / TAPIR_NS_PER_MS));
	return err;
}

/* ---- the check ------------------------------------------------------------------------------- */

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

int tapir_peer__check_able_now(uint32_t tgid, const char *task)
{
	struct tapir_peer_facts facts = {.pidfd = -1, .proc_fd = -1};
	int err = tapir_peer_facts__read(tgid, task, &facts);
	const struct tapir_peer_helper job = {.task = task,
					      .tgid = tgid,
					      .pidfd = facts.pidfd,
					      .proc_fd = facts.proc_fd,
					      .dir_fd = -1,
					      .cancel_fd = -1};

	if (err)
		return err;
	err = tapir_peer__check_able(&job, NULL, 0);
	tapir_peer_facts__fini(&facts);
	return err;
}

int tapir_peer__await(const struct tapir_peer_helper *job, int fd, uint64_t deadline_ns)
{
	uint64_t begin_ns = tapir_clock__now_ns();

	for (;;) {
		uint64_t slice_ns = tapir_clock__now_ns() + SILENT_NS;
		bool is_last = slice_ns >= deadline_ns;
		int err =
			tapir_peer_helper__poll(job, fd, POLLIN, is_last ? deadline_ns : slice_ns);

		if (err != -ETIMEDOUT || is_last)
			return err;
		slice_ns = tapir_clock__now_ns();
		err = tapir_peer__check_able(job, NULL, TAPIR_PEER_PATIENCE_NS - SILENT_NS);
		if (err) {
			tapir_debug("process %u: waited %u ms for an answer", job->tgid,
				    (unsigned)((slice_ns - begin_ns) / TAPIR_NS_PER_MS));
			return err;
		}
	}
}
