// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child's side of peer_helper.h that all runtimes share. System calls and the stack only. Files
 * below the process's root are taken with O_PATH, checked, and never reached through a symbolic
 * link as last component; the process's files are read, made and removed with its own rights.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/trusted_dir.h"
#include "runtime/peer/peer_ability.h"
#include "runtime/peer/peer_helper.h"

#define WRITTEN_NS	 (3 * TAPIR_NS_PER_SEC)
#define WRITTEN_PAUSE_US 5000
#define REMOVE_TRIES	 5
#define REMOVE_PAUSE_US	 2000
#define POLL_NS		 (20 * TAPIR_NS_PER_MS)
#define STATUS_BYTES	 8192u /* SigCgt comes before the long lists */

int tapir_peer_child__fail(struct tapir_peer_answer *answer, int err, enum tapir_peer_why why)
{
	answer->why = (uint8_t)why;
	return answer->err = err;
}

int tapir_peer_helper__poll(const struct tapir_peer_helper *job, int fd, short events,
			    uint64_t deadline_ns)
{
	struct pollfd fds[] = {{.fd = fd, .events = events},
			       {.fd = job->cancel_fd, .events = POLLIN}};

	for (;;) {
		uint64_t now = tapir_clock__now_ns(),
			 left = now < deadline_ns ? deadline_ns - now : 0;
		struct timespec ts = tapir_clock__timespec(left);
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

int tapir_peer_child__backoff(const struct tapir_peer_helper *job)
{
	uint64_t now = tapir_clock__now_ns();
	int err;

	if (now >= job->deadline_ns)
		return -ETIMEDOUT;
	err = tapir_peer_helper__poll(job, -1, 0, now + POLL_NS);
	return err == -ETIMEDOUT ? 0 : err;
}

/* ---- its places --------------------------------------------------------------------------- */

/* glibc's calls would speak to threads that this copy of the process does not have. */
static int take_user(const struct tapir_peer_helper *job)
{
	if (!job->takes_user)
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) ||
	    syscall(SYS_setresgid, job->gid, job->gid, job->gid) ||
	    syscall(SYS_setresuid, job->uid, job->uid, job->uid))
		return -errno;
	return 0;
}

int tapir_peer_child__open_proc(const struct tapir_peer_helper *job, struct tapir_peer_dirs *at,
				struct tapir_peer_answer *answer)
{
	at->root_fd = openat(job->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at->root_fd < 0)
		return tapir_peer_child__fail(answer, -errno, TAPIR_PEER_WHY_PROC);
	at->status_fd = openat(job->proc_fd, "status", O_RDONLY | O_CLOEXEC);
	return 0;
}

int tapir_peer_child__enter(const struct tapir_peer_helper *job, struct tapir_peer_dirs *at,
			    struct tapir_peer_answer *answer)
{
	int err = take_user(job);

	if (err)
		return tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_USER);
	at->dir_fd = tapir_file__open_resolved(at->root_fd, job->dir, O_PATH | O_DIRECTORY,
					       RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return at->dir_fd < 0 ? tapir_peer_child__fail(answer, at->dir_fd, TAPIR_PEER_WHY_DIR) : 0;
}

int tapir_peer_child__enter_private(const struct tapir_peer_helper *job, struct tapir_peer_dirs *at,
				    struct tapir_peer_answer *answer)
{
	struct tapir_trust trust = {.owners = {0, job->uid}, .allows_sticky = true};
	struct stat root;
	int err = take_user(job);

	if (err)
		return tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_USER);
	if (fstat(at->root_fd, &root))
		return tapir_peer_child__fail(answer, -errno, TAPIR_PEER_WHY_DIR);
	trust.owners[2] = root.st_uid;
	at->dir_fd = tapir_trusted_dir__open(at->root_fd, job->dir, &trust);
	if (at->dir_fd >= 0)
		return 0;
	return tapir_peer_child__fail(answer, at->dir_fd,
				      at->dir_fd == -EPERM ? TAPIR_PEER_WHY_SHARED
							   : TAPIR_PEER_WHY_DIR);
}

/* ---- the state of the process ------------------------------------------------------------- */

bool tapir_peer_child__status(const struct tapir_peer_dirs *at, const char *key, char *out,
			      size_t out_bytes)
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

int tapir_peer_child__wait_until_it_runs(const struct tapir_peer_helper *job,
					 const struct tapir_peer_dirs *at,
					 struct tapir_peer_answer *answer)
{
	struct tapir_peer_helper bounded = *job;
	uint64_t until_ns = tapir_clock__now_ns() + TAPIR_PEER_PATIENCE_NS;
	char state[8];

	if (bounded.deadline_ns > until_ns)
		bounded.deadline_ns = until_ns;
	while (tapir_peer_child__status(at, "\nState:", state, sizeof(state)) &&
	       (*state == 'T' || *state == 't')) {
		int err = tapir_peer_child__backoff(&bounded);

		if (err)
			return tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_STOPPED);
	}
	return 0;
}

/* ---- its socket --------------------------------------------------------------------------- */

uint32_t tapir_peer_child__peer_pid(int fd)
{
	struct ucred peer = {};
	socklen_t len = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) && peer.pid > 0
		       ? (uint32_t)peer.pid
		       : 0;
}

/*
 * Connects to the socket of path_fd; -ECONNREFUSED: no process listens, -EAGAIN: its queue is full.
 */
static int connect_taken(int path_fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	/*
	 * short enough for sun_path wherever the socket is, and it cannot be swapped in the
	 * meantime
	 */
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d", path_fd);
	if (!connect(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int tapir_peer_child__connect(const struct tapir_peer_helper *job, const struct tapir_peer_dirs *at,
			      const char *name, struct tapir_peer_answer *answer)
{
	struct stat st;
	int path_fd, fd;

	path_fd = tapir_file__open_resolved(at->dir_fd, name, O_PATH | O_NOFOLLOW, RESOLVE_BENEATH);
	if (path_fd == -ENOENT)
		return -ENOENT;
	if (path_fd < 0)
		return tapir_peer_child__fail(answer, path_fd, TAPIR_PEER_WHY_SOCKET);
	if (fstat(path_fd, &st) || !S_ISSOCK(st.st_mode) || st.st_uid != job->uid) {
		close(path_fd);
		return tapir_peer_child__fail(answer, -EPERM, TAPIR_PEER_WHY_SOCKET);
	}
	fd = connect_taken(path_fd);
	close(path_fd);
	if (fd == -ECONNREFUSED)
		return -ENOENT;
	if (fd < 0)
		return fd == -EAGAIN ? fd
				     : tapir_peer_child__fail(answer, fd, TAPIR_PEER_WHY_CONNECT);
	if (tapir_peer_child__peer_pid(fd) == job->tgid)
		return fd;
	close(fd);
	return tapir_peer_child__fail(answer, -EPERM, TAPIR_PEER_WHY_PEER);
}

/* ---- a file ------------------------------------------------------------------------------- */

/*
 * path_fd refers to it (O_PATH), for the caller to close; -1: there is none, or a failure in
 * answer.
 */
static int take_file(const struct tapir_peer_helper *job, int dir_fd,
		     struct tapir_peer_answer *answer)
{
	int fd = tapir_file__open_resolved(dir_fd, job->name, O_PATH | O_NOFOLLOW, RESOLVE_BENEATH),
	    err;
	struct stat st;

	if (fd == -ENOENT)
		return -1;
	if (fd < 0) {
		tapir_peer_child__fail(answer, fd, (enum tapir_peer_why)job->file_why);
		return -1;
	}
	err = fstat(fd, &st) ? -errno : 0;
	if (!err && (!S_ISREG(st.st_mode) || st.st_uid != job->uid || st.st_nlink != 1))
		err = -EPERM;
	if (err) {
		tapir_peer_child__fail(answer, err, (enum tapir_peer_why)job->file_why);
		close(fd);
		return -1;
	}
	answer->found = true;
	answer->dev = st.st_dev;
	answer->inode = st.st_ino;
	answer->size = (uint64_t)st.st_size;
	return fd;
}

static int take_in_dir(const struct tapir_peer_helper *job, struct tapir_peer_dirs *at,
		       struct tapir_peer_answer *answer)
{
	if (tapir_peer_child__open_proc(job, at, answer) ||
	    tapir_peer_child__enter_private(job, at, answer))
		return -1;
	return take_file(job, at->dir_fd, answer);
}

/* Hands over the directory. */
int tapir_peer_child__open_dir(const struct tapir_peer_helper *job,
			       struct tapir_peer_answer *answer)
{
	struct tapir_peer_dirs at = TAPIR_PEER_DIRS_NONE;
	int fd = take_in_dir(job, &at, answer);

	if (fd >= 0)
		close(fd);
	return answer->err ? -1 : at.dir_fd;
}

/* Passes the file on without opening it (O_PATH): the caller knows its file system. */
int tapir_peer_child__take(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	struct tapir_peer_dirs at = TAPIR_PEER_DIRS_NONE;

	return take_in_dir(job, &at, answer);
}

/*
 * Between the check and the removal its user may swap the file, but only for another file of that
 * user.
 */
static void remove_once(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	int fd = take_file(job, job->dir_fd, answer);

	if (fd < 0)
		return;
	close(fd);
	if (job->inode && (answer->dev != job->dev || answer->inode != job->inode))
		tapir_peer_child__fail(answer, -EPERM, (enum tapir_peer_why)job->file_why);
	else if (unlinkat(job->dir_fd, job->name, 0))
		tapir_peer_child__fail(answer, -errno, (enum tapir_peer_why)job->file_why);
}

/* Memory or descriptors may be available a moment later; no other process removes the file. */
int tapir_peer_child__remove(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	int err = take_user(job);

	if (err) {
		tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_USER);
		return -1;
	}
	for (int i = 0; i < REMOVE_TRIES; i++) {
		*answer = (struct tapir_peer_answer){};
		remove_once(job, answer);
		if (!answer->err || answer->err == -EPERM)
			break;
		usleep(REMOVE_PAUSE_US);
	}
	return -1;
}

static bool is_that_file(int dir_fd, const char *name, uint64_t dev, uint64_t inode)
{
	struct stat st;

	return !fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == dev &&
	       st.st_ino == inode;
}

int tapir_peer_child__make(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	int err = take_user(job), fd;
	struct stat st;

	if (err) {
		tapir_peer_child__fail(answer, err, TAPIR_PEER_WHY_USER);
		return -1;
	}
	fd = openat(job->dir_fd, job->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || fstat(fd, &st)) {
		tapir_peer_child__fail(answer, -errno, TAPIR_PEER_WHY_MAKE);
		if (fd >= 0)
			unlinkat(job->dir_fd, job->name, 0);
		return -1;
	}
	close(fd);
	answer->found = true;
	answer->dev = st.st_dev;
	answer->inode = st.st_ino;
	return job->dir_fd;
}

static bool has_ended(int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	return pidfd >= 0 && poll(&end, 1, 0) == 1;
}

/* The runtime has hung up: it has done what it was asked there, or never will. */
static bool has_hung_up(int request_fd)
{
	char bytes[256];
	ssize_t n = request_fd < 0 ? 1 : recv(request_fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* false: the runtime is there, and may open the file yet. */
static bool await_written(const struct tapir_peer_helper *job, int dir_fd, int request_fd)
{
	uint64_t until_ns = tapir_clock__now_ns() + WRITTEN_NS;
	struct stat st;

	/* Killed while it asked, tapir sent half a request: a runtime must not wait for the rest.
	 */
	if (request_fd >= 0)
		(void)shutdown(request_fd, SHUT_WR);
	while (!fstatat(dir_fd, job->name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       !st.st_size && !has_ended(job->pidfd) && !has_hung_up(request_fd)) {
		if (tapir_clock__now_ns() >= until_ns)
			return false;
		usleep(WRITTEN_PAUSE_US);
	}
	return true;
}

void tapir_peer_child__discard_written(const struct tapir_peer_helper *job,
				       const struct tapir_peer_answer *answer, int dir_fd)
{
	if (!answer->is_requested || await_written(job, dir_fd, answer->request_fd))
		tapir_peer_child__discard(job, answer, dir_fd);
}

void tapir_peer_child__discard(const struct tapir_peer_helper *job,
			       const struct tapir_peer_answer *answer, int dir_fd)
{
	if (is_that_file(dir_fd, job->name, answer->dev, answer->inode))
		unlinkat(dir_fd, job->name, 0);
}

int tapir_peer_child__find(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	struct tapir_peer_dirs at = TAPIR_PEER_DIRS_NONE;
	int dir_fd, err = tapir_peer_child__open_proc(job, &at, answer);

	if (err)
		return -1;
	dir_fd = tapir_file__open_resolved(at.root_fd, job->dir, O_PATH | O_DIRECTORY,
					   RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	answer->found = dir_fd >= 0 && is_that_file(dir_fd, job->name, job->dev, job->inode);
	return -1;
}
