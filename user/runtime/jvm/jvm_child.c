// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child's side of jvm_attach.c: finding, waking and connecting to a JVM's socket. System
 * calls and the stack only (peer_helper.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/jvm/jvm_child.h"
#include "runtime/jvm/jvm_perfdata.h"

#define PERFDATA_BYTES 32768u /* HotSpot's default size; no more is read */
/* For the JVM to see its trigger, after a cancel: less than the parent waits (CANCEL_GRACE_NS). */
#define CANCEL_NS      (400 * TAPIR_NS_PER_MS)

struct jvm_dirs {
	struct tapir_peer_dirs peer;
	int cwd_fd;	/* O_PATH; -1: none that tapir may open */
	int may_attach; /* see jvm_perfdata.h */
};

/* Reads the JVM's memory while we may. */
static int may_attach(const struct tapir_peer_helper *job)
{
	static uint8_t data[PERFDATA_BYTES]; /* the child's own copy */
	struct iovec here = {data, sizeof(data)},
		     there = {(void *)(uintptr_t)job->perfdata_va, job->perfdata_bytes}; // NOLINT
	ssize_t got;

	if (!job->perfdata_va)
		return -ENODATA;
	if (there.iov_len > here.iov_len)
		there.iov_len = here.iov_len;
	got = process_vm_readv((pid_t)job->tgid, &here, 1, &there, 1, 0);
	return got > 0 ? tapir_jvm_perfdata__may_attach(data, (size_t)got) : -ENODATA;
}

/* Enters the JVM's places and takes its user. */
static int enter_jvm(const struct tapir_peer_helper *job, struct jvm_dirs *at,
		     struct tapir_peer_answer *answer)
{
	int err = tapir_peer_child__open_proc(job, &at->peer, answer);

	if (err)
		return err;
	at->cwd_fd = openat(job->proc_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	at->may_attach = may_attach(job);
	return tapir_peer_child__enter(job, &at->peer, answer);
}

static bool catches_sigquit(const struct jvm_dirs *at)
{
	char mask[32];

	return tapir_peer_child__status(&at->peer, "\nSigCgt:", mask, sizeof(mask)) &&
	       strtoull(mask, NULL, 16) >> (SIGQUIT - 1) & 1;
}

/* ---- its socket --------------------------------------------------------------------------- */

/* Tries until there is an answer: the fd, or a failure in answer. may_be_absent: -ENOENT is one. */
static int await_socket(const struct tapir_peer_helper *job, const struct jvm_dirs *at,
			bool may_be_absent, struct tapir_peer_answer *answer)
{
	char name[32];

	snprintf(name, sizeof(name), ".java_pid%u", job->ns_tgid);
	for (;;) {
		int err, fd = tapir_peer_child__connect(job, &at->peer, name, answer);

		if (fd >= 0 || (fd != -EAGAIN && (fd != -ENOENT || may_be_absent)))
			return fd;
		err = tapir_peer_child__backoff(job);
		if (err)
			return tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_SILENT);
	}
}

/* ---- waking it ------------------------------------------------------------------------------ */

struct trigger {
	char name[32];
	int dir_fd;
	bool is_ours; /* made here: removed here */
};

/* A file of the JVM's user that is there already serves as well: another client made it. */
static bool make_trigger_in(const struct tapir_peer_helper *job, int dir_fd,
			    struct trigger *trigger)
{
	struct stat st;
	int fd;

	if (dir_fd < 0)
		return false;
	trigger->dir_fd = dir_fd;
	fd = openat(dir_fd, trigger->name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd >= 0) {
		close(fd);
		trigger->is_ours = true;
		return true;
	}
	return errno == EEXIST && !fstatat(dir_fd, trigger->name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(st.st_mode) && st.st_uid == job->uid;
}

/* The reason for which no SIGQUIT may be sent now; NONE: it may be sent. */
static enum tapir_peer_why no_signal(const struct tapir_peer_helper *job, const struct jvm_dirs *at)
{
	if (!at->may_attach)
		return TAPIR_PEER_WHY_DISABLED;
	/* its own word goes before what is guessed from options */
	if (job->no_signal && !(job->no_signal == TAPIR_PEER_WHY_DISABLED && at->may_attach == 1))
		return (enum tapir_peer_why)job->no_signal;
	return catches_sigquit(at) ? TAPIR_PEER_WHY_NONE : TAPIR_PEER_WHY_UNCAUGHT;
}

/*
 * After the signal. On a cancel, too, the trigger stays until the JVM has seen it: one that finds
 * none takes the signal for a request of its user, and prints the stacks of all its threads.
 */
static int await_listener(const struct tapir_peer_helper *job, const struct jvm_dirs *at,
			  struct tapir_peer_answer *answer)
{
	struct tapir_peer_helper deaf = *job;
	int fd = await_socket(job, at, false, answer);

	if (fd != -ECANCELED)
		return fd;
	deaf.cancel_fd = -1;
	deaf.deadline_ns = tapir_clock__now_ns() + CANCEL_NS;
	fd = await_socket(&deaf, at, false, answer);
	if (fd >= 0)
		close(fd);
	return tapir_peer_child__fail(answer, -ECANCELED, TAPIR_PEER_WHY_SILENT);
}

/* With the trigger in place. Another client may have been faster: looks once more before. */
static int signal_and_await(const struct tapir_peer_helper *job, const struct jvm_dirs *at,
			    struct tapir_peer_answer *answer)
{
	int fd = await_socket(job, at, true, answer);

	if (fd != -ENOENT)
		return fd;
	if (!catches_sigquit(at))
		return tapir_peer_child__fail(answer, -EOPNOTSUPP, TAPIR_PEER_WHY_UNCAUGHT);
	if (syscall(SYS_pidfd_send_signal, job->pidfd, SIGQUIT, NULL, 0))
		return tapir_peer_child__fail(answer, -errno, TAPIR_PEER_WHY_SIGNAL);
	return await_listener(job, at, answer);
}

static int wake(const struct tapir_peer_helper *job, const struct jvm_dirs *at,
		struct tapir_peer_answer *answer)
{
	enum tapir_peer_why why = no_signal(job, at);
	struct trigger trigger = {.dir_fd = -1};
	int fd;

	if (why)
		return tapir_peer_child__fail(answer, -EOPNOTSUPP, why);
	snprintf(trigger.name, sizeof(trigger.name), ".attach_pid%u", job->ns_tgid);
	if (!make_trigger_in(job, at->cwd_fd, &trigger) &&
	    !make_trigger_in(job, at->peer.dir_fd, &trigger))
		return tapir_peer_child__fail(answer, -EACCES, TAPIR_PEER_WHY_TRIGGER);
	fd = signal_and_await(job, at, answer);
	if (trigger.is_ours)
		unlinkat(trigger.dir_fd, trigger.name, 0);
	return fd;
}

int tapir_jvm_child__connect(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	struct jvm_dirs at = {.peer = TAPIR_PEER_DIRS_NONE, .cwd_fd = -1};
	int fd = enter_jvm(job, &at, answer);

	if (fd)
		return -1;
	fd = tapir_peer_child__wait_until_it_runs(job, &at.peer, answer);
	if (!fd)
		fd = await_socket(job, &at, true, answer);
	return fd == -ENOENT ? wake(job, &at, answer) : fd;
}
