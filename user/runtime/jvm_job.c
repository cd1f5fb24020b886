// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child's side of jvm_job.h: finding, waking and connecting to a JVM's socket, and its
 * perf map. System calls and the stack only. What is opened below the JVM's root is taken
 * without being opened (O_PATH), looked at, and never reached through a symbolic link of its
 * last component; the JVM's files are made and removed with its own rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "runtime/jvm_job.h"
#include "runtime/jvm_perfdata.h"

#define POLL_NS	       (20 * TAPIR_NS_PER_MS)
#define PERFDATA_BYTES 32768u /* HotSpot's default size; more is not looked at */
#define STATUS_BYTES   8192u  /* SigCgt stands in front of the long lists */

struct places {
	int root_fd, cwd_fd, tmp_fd; /* O_PATH; cwd -1: it has none we may know */
	int status_fd;
	int may_attach; /* see jvm_perfdata.h */
};

static int fail(struct tapir_jvm_answer *answer, int err, enum tapir_jvm_why why)
{
	answer->why = (uint8_t)why;
	return answer->err = err;
}

int tapir_jvm_job__poll(const struct tapir_jvm_job *job, int fd, short events, uint64_t deadline_ns)
{
	struct pollfd fds[] = {{.fd = fd, .events = events},
			       {.fd = job->cancel_fd, .events = POLLIN}};

	for (;;) {
		uint64_t now = tapir_clock__now_ns(),
			 left = now < deadline_ns ? deadline_ns - now : 0;
		struct timespec ts = {.tv_sec = (time_t)(left / TAPIR_NS_PER_SEC),
				      .tv_nsec = (long)(left % TAPIR_NS_PER_SEC)};
		int n = ppoll(fds, 2, &ts, NULL);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[1].revents)
			return -ECANCELED;
		if (n > 0)
			return 0;
		if (!left)
			return -ETIMEDOUT;
	}
}

/* A short rest: 0, or -ETIMEDOUT at the job's end, or -ECANCELED. */
static int rest(const struct tapir_jvm_job *job)
{
	uint64_t now = tapir_clock__now_ns();
	int err;

	if (now >= job->deadline_ns)
		return -ETIMEDOUT;
	err = tapir_jvm_job__poll(job, -1, 0, now + POLL_NS);
	return err == -ETIMEDOUT ? 0 : err;
}

/* ---- whose files they are ---------------------------------------------------------------- */

/* glibc's calls would speak to threads that this copy of the process does not have. */
static int take_user(const struct tapir_jvm_job *job)
{
	if (!job->takes_user)
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) ||
	    syscall(SYS_setresgid, job->gid, job->gid, job->gid) ||
	    syscall(SYS_setresuid, job->uid, job->uid, job->uid))
		return -errno;
	return 0;
}

/* Reads the JVM's memory while we may. */
static int may_attach(const struct tapir_jvm_job *job)
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
static int enter(const struct tapir_jvm_job *job, struct places *at,
		 struct tapir_jvm_answer *answer)
{
	int err;

	at->root_fd = openat(job->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at->root_fd < 0)
		return fail(answer, -errno, TAPIR_JVM_WHY_PROC);
	at->cwd_fd = openat(job->proc_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	at->status_fd = openat(job->proc_fd, "status", O_RDONLY | O_CLOEXEC);
	at->may_attach = may_attach(job);
	err = take_user(job);
	if (err)
		return fail(answer, err, TAPIR_JVM_WHY_USER);
	at->tmp_fd = tapir_file__open_resolved(at->root_fd, "tmp", O_PATH | O_DIRECTORY,
					       RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return at->tmp_fd < 0 ? fail(answer, at->tmp_fd, TAPIR_JVM_WHY_TMP) : 0;
}

/* ---- the state of the process ------------------------------------------------------------- */

/* The value of "\nKey:" in status, as it is now; false: not there, or the process is gone. */
static bool status_value(const struct places *at, const char *key, char *out, size_t out_bytes)
{
	char text[STATUS_BYTES];
	ssize_t n = pread(at->status_fd, text, sizeof(text) - 1, 0);
	const char *p;
	size_t len;

	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strstr(text, key);
	if (!p)
		return false;
	p += strlen(key);
	p += strspn(p, "\t ");
	len = strcspn(p, "\n");
	len = len < out_bytes ? len : out_bytes - 1;
	memcpy(out, p, len);
	out[len] = '\0';
	return true;
}

static bool catches_sigquit(const struct places *at)
{
	char mask[32];

	return status_value(at, "\nSigCgt:", mask, sizeof(mask)) &&
	       strtoull(mask, NULL, 16) >> (SIGQUIT - 1) & 1;
}

/* A stopped JVM is not spoken to: it would do what was asked for when nobody waits any more. */
static int wait_until_it_runs(const struct tapir_jvm_job *job, const struct places *at,
			      struct tapir_jvm_answer *answer)
{
	char state[8];

	while (status_value(at, "\nState:", state, sizeof(state)) &&
	       (*state == 'T' || *state == 't')) {
		int err = rest(job);

		if (err)
			return fail(answer, err, TAPIR_JVM_WHY_STOPPED);
	}
	return 0;
}

/* ---- its socket --------------------------------------------------------------------------- */

static bool is_the_jvms(const struct tapir_jvm_job *job, int fd)
{
	struct ucred peer = {};
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.pid > 0 &&
	       (uint32_t)peer.pid == job->tgid;
}

/* Connects to what path_fd took; -ECONNREFUSED: nobody listens, -EAGAIN: its queue is full. */
static int connect_taken(int path_fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	/* short enough for sun_path wherever the socket lies, and it cannot be swapped meanwhile */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d", path_fd);
	if (!connect(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* The connected socket; -ENOENT: it does not listen (yet). Other failures are in answer. */
static int try_socket(const struct tapir_jvm_job *job, const struct places *at,
		      struct tapir_jvm_answer *answer)
{
	char name[32];
	struct stat st;
	int path_fd, fd;

	snprintf(name, sizeof(name), ".java_pid%u", job->ns_tgid);
	path_fd = tapir_file__open_resolved(at->tmp_fd, name, O_PATH | O_NOFOLLOW, RESOLVE_BENEATH);
	if (path_fd == -ENOENT)
		return -ENOENT;
	if (path_fd < 0)
		return fail(answer, path_fd, TAPIR_JVM_WHY_SOCKET);
	if (fstat(path_fd, &st) || !S_ISSOCK(st.st_mode) || st.st_uid != job->uid) {
		close(path_fd);
		return fail(answer, -EPERM, TAPIR_JVM_WHY_SOCKET);
	}
	fd = connect_taken(path_fd);
	close(path_fd);
	if (fd == -ECONNREFUSED)
		return -ENOENT;
	if (fd < 0)
		return fd == -EAGAIN ? fd : fail(answer, fd, TAPIR_JVM_WHY_CONNECT);
	if (is_the_jvms(job, fd))
		return fd;
	close(fd);
	return fail(answer, -EPERM, TAPIR_JVM_WHY_PEER);
}

/* Tries until there is an answer: the fd, or a failure in answer. may_be_absent: -ENOENT is one. */
static int await_socket(const struct tapir_jvm_job *job, const struct places *at,
			bool may_be_absent, struct tapir_jvm_answer *answer)
{
	for (;;) {
		int err, fd = try_socket(job, at, answer);

		if (fd >= 0 || (fd != -EAGAIN && (fd != -ENOENT || may_be_absent)))
			return fd;
		err = rest(job);
		if (err)
			return fail(answer, err, TAPIR_JVM_WHY_SILENT);
	}
}

/* ---- waking it ------------------------------------------------------------------------------ */

struct trigger {
	char name[32];
	int dir_fd;
	bool is_ours; /* made here: removed here */
};

/* One that is there already and the JVM's own serves as well: another client made it. */
static bool make_trigger_in(const struct tapir_jvm_job *job, int dir_fd, struct trigger *trigger)
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

/* What speaks against a SIGQUIT now; NONE: nothing. */
static enum tapir_jvm_why no_signal(const struct tapir_jvm_job *job, const struct places *at)
{
	if (!at->may_attach)
		return TAPIR_JVM_WHY_DISABLED;
	/* its own word goes before what is guessed from options */
	if (job->no_signal && !(job->no_signal == TAPIR_JVM_WHY_DISABLED && at->may_attach == 1))
		return (enum tapir_jvm_why)job->no_signal;
	return catches_sigquit(at) ? TAPIR_JVM_WHY_NONE : TAPIR_JVM_WHY_UNCAUGHT;
}

/* With the trigger in place. Another client may have been faster: looks once more before. */
static int signal_and_await(const struct tapir_jvm_job *job, const struct places *at,
			    struct tapir_jvm_answer *answer)
{
	int fd = await_socket(job, at, true, answer);

	if (fd != -ENOENT)
		return fd;
	if (!catches_sigquit(at))
		return fail(answer, -EOPNOTSUPP, TAPIR_JVM_WHY_UNCAUGHT);
	if (syscall(SYS_pidfd_send_signal, job->pidfd, SIGQUIT, NULL, 0))
		return fail(answer, -errno, TAPIR_JVM_WHY_SIGNAL);
	return await_socket(job, at, false, answer);
}

static int wake(const struct tapir_jvm_job *job, const struct places *at,
		struct tapir_jvm_answer *answer)
{
	enum tapir_jvm_why why = no_signal(job, at);
	struct trigger trigger = {.dir_fd = -1};
	int fd;

	if (why)
		return fail(answer, -EOPNOTSUPP, why);
	snprintf(trigger.name, sizeof(trigger.name), ".attach_pid%u", job->ns_tgid);
	if (!make_trigger_in(job, at->cwd_fd, &trigger) &&
	    !make_trigger_in(job, at->tmp_fd, &trigger))
		return fail(answer, -EACCES, TAPIR_JVM_WHY_TRIGGER);
	fd = signal_and_await(job, at, answer);
	if (trigger.is_ours)
		unlinkat(trigger.dir_fd, trigger.name, 0);
	return fd;
}

static int connect_jvm(const struct tapir_jvm_job *job, const struct places *at,
		       struct tapir_jvm_answer *answer)
{
	int fd = wait_until_it_runs(job, at, answer);

	if (!fd)
		fd = await_socket(job, at, true, answer);
	return fd == -ENOENT ? wake(job, at, answer) : fd;
}

/* ---- its perf map -------------------------------------------------------------------------- */

static int look(const struct tapir_jvm_job *job, int tmp_fd, struct tapir_jvm_answer *answer)
{
	int fd = tapir_file__open_resolved(tmp_fd, job->name, O_PATH | O_NOFOLLOW, RESOLVE_BENEATH),
	    err;
	struct stat st;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fail(answer, fd, TAPIR_JVM_WHY_FILE);
	err = fstat(fd, &st) ? -errno : 0;
	close(fd);
	if (err || !S_ISREG(st.st_mode) || st.st_uid != job->uid || st.st_nlink != 1)
		return fail(answer, err ? err : -EPERM, TAPIR_JVM_WHY_FILE);
	answer->found = true;
	answer->dev = st.st_dev;
	answer->inode = st.st_ino;
	answer->size = (uint64_t)st.st_size;
	return 0;
}

/* Between the look and the removal its user may swap the file: for another one of its own. */
static int remove_file(const struct tapir_jvm_job *job, struct tapir_jvm_answer *answer)
{
	int err = take_user(job);

	if (err)
		return fail(answer, err, TAPIR_JVM_WHY_USER);
	err = look(job, job->tmp_fd, answer);
	if (err || !answer->found)
		return err;
	if (answer->dev != job->dev || answer->inode != job->inode)
		return fail(answer, -EPERM, TAPIR_JVM_WHY_FILE);
	return unlinkat(job->tmp_fd, job->name, 0) ? fail(answer, -errno, TAPIR_JVM_WHY_FILE) : 0;
}

int tapir_jvm_job__do(const struct tapir_jvm_job *job, struct tapir_jvm_answer *answer)
{
	struct places at = {.root_fd = -1, .cwd_fd = -1, .tmp_fd = -1, .status_fd = -1};

	if (job->kind == TAPIR_JVM_JOB_REMOVE) {
		remove_file(job, answer);
		return -1;
	}
	if (enter(job, &at, answer))
		return -1;
	if (job->kind == TAPIR_JVM_JOB_LOOK)
		return look(job, at.tmp_fd, answer) ? -1 : at.tmp_fd;
	return connect_jvm(job, &at, answer);
}
