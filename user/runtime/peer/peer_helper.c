// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parent's side of peer_helper.h: a child for one job, its answer, its end.
 *
 * clone3 instead of fork: the child sends no SIGCHLD and no waitpid(-1) of tapir finds it, tapir's
 * signal handlers are reset in it, and it comes with a pidfd. It keeps the fds of its job and no
 * other: a link or a ring that a child keeps would outlive tapir.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/fd_message.h"
#include "base/file.h"
#include "base/foreign/file_system.h"
#include "runtime/peer/peer_helper.h"

#define GRACE_NS	(200 * TAPIR_NS_PER_MS) /* for the child to clean up after its own deadline */
#define CANCEL_GRACE_NS (500 * TAPIR_NS_PER_MS) /* the same after a cancel */
#define DEATH_NS	(100 * TAPIR_NS_PER_MS) /* from SIGKILL to the end; longer: it hangs */
#define LAST_ACT_NS	(500 * TAPIR_NS_PER_MS) /* then it continues alone */
#define MAX_UNDEAD	8

/* The notes that a guard receives. */
#define NOTE_DISMISSED	'\0'
#define NOTE_REQUEST	'a'
#define NOTE_ANSWERED	'r'

static const char *const whys[] = {
#define TAPIR_X(name, text) text,
	TAPIR_PEER_WHYS(TAPIR_X)
#undef TAPIR_X
};

const char *tapir_peer_answer__reason(const struct tapir_peer_answer *answer, int err)
{
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE || !answer->why ||
	    answer->why >= TAPIR_PEER_WHY_CNT)
		return tapir_errno__text(err);
	return whys[answer->why];
}

/* ---- children that a kill did not end (a file system that does not answer) ----------------- */

static pthread_mutex_t undead_lock = PTHREAD_MUTEX_INITIALIZER;
static int undead[MAX_UNDEAD]; /* pidfds */
static unsigned undead_cnt;

static bool has_ended(int pidfd)
{
	siginfo_t info = {};

	return waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | __WALL) || info.si_pid;
}

/* Forgets those that have ended in the meantime; false: too many have not. */
static bool may_make_one_more(void)
{
	unsigned kept = 0;
	bool may;

	pthread_mutex_lock(&undead_lock);
	for (unsigned i = 0; i < undead_cnt; i++) {
		if (has_ended(undead[i]))
			close(undead[i]);
		else
			undead[kept++] = undead[i];
	}
	undead_cnt = kept;
	may = undead_cnt < MAX_UNDEAD;
	pthread_mutex_unlock(&undead_lock);
	return may;
}

/* Takes pidfd. Without room for it, it stays a zombie until we end. */
static void remember(int pidfd)
{
	pthread_mutex_lock(&undead_lock);
	if (undead_cnt < MAX_UNDEAD)
		undead[undead_cnt++] = pidfd;
	else
		close(pidfd);
	pthread_mutex_unlock(&undead_lock);
}

/* ---- the child ------------------------------------------------------------------------------ */

static void close_range_of(unsigned first, unsigned last)
{
	if (first <= last)
		syscall(SYS_close_range, first, last, 0);
}

/* Closes all fds but those of the job. */
static void keep_only(const struct tapir_peer_helper *job, int answer_fd, bool is_guard)
{
	int keep[] = {job->pidfd,
		      job->proc_fd,
		      job->dir_fd,
		      job->cancel_fd,
		      is_guard && job->lock_fd > 0 ? job->lock_fd : -1,
		      answer_fd};
	const unsigned cnt = sizeof(keep) / sizeof(keep[0]);
	unsigned from = 0;

	for (unsigned round = 0; round < cnt; round++) {
		int next = -1;

		for (unsigned i = 0; i < cnt; i++)
			if (keep[i] >= (int)from && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next < 0)
			break;
		if (next)
			close_range_of(from, (unsigned)next - 1);
		from = (unsigned)next + 1;
	}
	close_range_of(from, ~0u);
}

/*
 * Returns true if the parent died or reported that the guard is not needed. Until then it may send
 * notes.
 */
static bool has_died(int life_fd, bool *is_requested, int *request_fd)
{
	char byte = NOTE_REQUEST;
	ssize_t n;

	for (;;) {
		int fd;

		n = tapir_fd_message__recv(life_fd, &byte, 1, &fd, 1, 0, NULL);
		if (n <= 0)
			return true; /* if it cannot ask, it cleans up */
		if (byte == NOTE_DISMISSED)
			return false;
		*is_requested = byte == NOTE_REQUEST;
		if (*request_fd >= 0)
			close(*request_fd);
		*request_fd = fd;
	}
}

static void __attribute__((noreturn))
live(const struct tapir_peer_helper *job, int answer_fd, bool is_guard)
{
	struct tapir_peer_answer answer = {.request_fd = -1};
	int fd;

	keep_only(job, answer_fd, is_guard);
	if (is_guard) { /* a kill of tapir by name or group must not reach it */
		syscall(SYS_setsid);
		syscall(SYS_prctl, PR_SET_NAME, "guard");
	}
	fd = job->act ? job->act(job, &answer) : -1;
	(void)tapir_fd_message__send(answer_fd, &answer, sizeof(answer), &fd, fd >= 0, 0);
	if (is_guard && !answer.err &&
	    has_died(job->cancel_fd, &answer.is_requested, &answer.request_fd))
		job->last_act(job, &answer, fd);
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* Returns its pidfd or -errno. Signals stay blocked in it: Ctrl-C is for us, not for what it does.
 */
static int start_child(const struct tapir_peer_helper *job, int answer_fd, bool is_guard)
{
	int pidfd = -1;
	sigset_t all, before;
	struct clone_args args = {.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
				  .pidfd = (uint64_t)(uintptr_t)&pidfd};
	long pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (!pid)
		live(job, answer_fd, is_guard);
	pidfd = pid < 0 ? -errno : pidfd;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pidfd;
}

/* ---- its answer and its end ------------------------------------------------------------------ */

static int receive(int fd, struct tapir_peer_answer *answer, int *out_fd)
{
	bool is_truncated;

	if (tapir_fd_message__recv(fd, answer, sizeof(*answer), out_fd, 1, MSG_DONTWAIT,
				   &is_truncated) != (ssize_t)sizeof(*answer))
		return -EIO;
	return is_truncated ? -EMFILE : 0; /* an fd, and we have no place for it */
}

/* On a cancel the child sees it too, and has a moment to clean up. */
static int await_answer(const struct tapir_peer_helper *job, int fd,
			struct tapir_peer_answer *answer, int *out_fd)
{
	struct tapir_peer_helper deaf = *job;
	int err = tapir_peer_helper__poll(job, fd, POLLIN, job->deadline_ns + GRACE_NS);

	deaf.cancel_fd = -1;
	if (err == -ECANCELED &&
	    !tapir_peer_helper__poll(&deaf, fd, POLLIN, tapir_clock__now_ns() + CANCEL_GRACE_NS))
		err = 0;
	return err ? err : receive(fd, answer, out_fd);
}

/* Takes pidfd, of one that should have ended: -1, or pidfd as it has not. */
static int reap_or_keep(int pidfd)
{
	if (!has_ended(pidfd))
		return pidfd;
	close(pidfd);
	return -1;
}

static void end_guard(int pidfd)
{
	pidfd = reap_or_keep(pidfd);
	if (pidfd >= 0)
		remember(pidfd);
}

/* Takes pidfd; returns it if the child has not ended. */
static int end_child(int pidfd, bool has_answered)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	if (!has_answered || poll(&end, 1, DEATH_NS / TAPIR_NS_PER_MS) <= 0)
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	poll(&end, 1, DEATH_NS / TAPIR_NS_PER_MS);
	return reap_or_keep(pidfd);
}

/*
 * guard: the child stays, if it could do its job; NULL: it does not. *left_pidfd: of one that
 * could not be ended.
 */
static int run_child(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer, int *fd,
		     struct tapir_peer_guard *guard, int *left_pidfd)
{
	struct tapir_peer_helper own = *job;
	int pair[2], ends[2] = {-1, -1}, pidfd, err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = guard && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
	if (guard)
		own.cancel_fd = ends[0];
	pidfd = err ? err : start_child(&own, pair[1], guard != NULL);
	close(pair[1]);
	tapir_guard__fd(&ends[0]);
	err = pidfd < 0 ? pidfd : await_answer(job, pair[0], answer, fd);
	close(pair[0]);
	if (guard && !err && !answer->err) {
		*guard = (struct tapir_peer_guard){pidfd, ends[1]};
		return 0;
	}
	tapir_guard__fd(&ends[1]); /* a guard that was too slow takes back what it does */
	if (pidfd >= 0)
		*left_pidfd = end_child(pidfd, !err || guard);
	return err;
}

static int run_helper(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer,
		      int *fd, struct tapir_peer_guard *guard)
{
	struct tapir_fs *fs = NULL;
	int left_pidfd = -1, err = may_make_one_more() ? 0 : -EBUSY;

	if (!err && job->dir_fd < 0)
		err = tapir_fs__begin_turn(job->tgid, job->dir, &fs);
	if (err)
		return err;
	err = run_child(job, answer, fd, guard, &left_pidfd);
	if (fs)
		tapir_fs__end_turn(fs, left_pidfd);
	else if (left_pidfd >= 0)
		remember(left_pidfd);
	return err;
}

/* The guard may have been killed: that must not raise SIGPIPE. */
static bool send_note(const struct tapir_peer_guard *guard, char note, int fd)
{
	return !tapir_fd_message__send(guard->life_fd, &note, 1, &fd, fd >= 0, 0);
}

void tapir_peer_guard__note_request(const struct tapir_peer_guard *guard, int request_fd)
{
	if (guard->pidfd >= 0)
		(void)send_note(guard, NOTE_REQUEST, request_fd);
}

void tapir_peer_guard__note_answered(const struct tapir_peer_guard *guard)
{
	if (guard->pidfd >= 0)
		(void)send_note(guard, NOTE_ANSWERED, -1);
}

void tapir_peer_guard__dismiss(struct tapir_peer_guard *guard)
{
	int left_pidfd;

	if (guard->pidfd < 0)
		return;
	left_pidfd = end_child(guard->pidfd, send_note(guard, NOTE_DISMISSED, -1));
	if (left_pidfd >= 0)
		remember(left_pidfd);
	close(guard->life_fd);
	*guard = TAPIR_PEER_NO_GUARD;
}

void tapir_peer_guard__let_act(struct tapir_peer_guard *guard)
{
	struct pollfd end = {.fd = guard->pidfd, .events = POLLIN};

	if (guard->pidfd < 0)
		return;
	close(guard->life_fd);
	poll(&end, 1, LAST_ACT_NS / TAPIR_NS_PER_MS);
	end_guard(guard->pidfd);
	*guard = TAPIR_PEER_NO_GUARD;
}

int tapir_peer_helper__try_guarded(const struct tapir_peer_helper *job,
				   struct tapir_peer_answer *answer, int *out_fd,
				   struct tapir_peer_guard *guard)
{
	tapir_autofd int fd = -1;
	struct tapir_peer_answer got = {};
	int err = run_helper(job, &got, &fd, guard);

	if (err)
		got = (struct tapir_peer_answer){.err = err, .why = TAPIR_PEER_WHY_CHILD};
	*answer = got;
	if (!got.err && out_fd) {
		*out_fd = fd;
		fd = -1;
	}
	return got.err;
}

int tapir_peer_helper__try(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer,
			   int *out_fd)
{
	return tapir_peer_helper__try_guarded(job, answer, out_fd, NULL);
}

int tapir_peer_helper__run(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer,
			   int *out_fd)
{
	struct tapir_peer_answer got;
	int err = tapir_peer_helper__try(job, &got, out_fd);

	if (err)
		return tapir_diag__fail(err, "cannot %s in process %u: %s", job->task, job->tgid,
					tapir_peer_answer__reason(&got, err));
	*answer = got;
	return 0;
}

int tapir_peer_helper__send(const struct tapir_peer_helper *job, int fd, const void *bytes,
			    size_t len, uint64_t deadline_ns)
{
	size_t sent = 0;

	while (sent < len) {
		ssize_t n = send(fd, (const char *)bytes + sent, len - sent, MSG_NOSIGNAL);
		int err = n < 0 && errno != EINTR && errno != EAGAIN ? -errno : 0;

		if (n < 0 && errno == EAGAIN)
			err = tapir_peer_helper__poll(job, fd, POLLOUT, deadline_ns);
		if (err)
			return err == -EPIPE ? -ECONNRESET : err;
		sent += n > 0 ? (size_t)n : 0;
	}
	return 0;
}
