// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two pipes: one signals the start, the other carries execvp's error and closes when it succeeds.
 */
#include "record/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/foreign_file.h"
#include "record/threads/proc_runnable.h"

#define MAX_SLEEP_WAIT_NS (2 * TAPIR_NS_PER_SEC)

struct tapir_command_run {
	pid_t child;
	int go_fd, error_fd, end_fd;
	char *name;
	bool is_running, has_ended;
	int status;
};

/* In the child. Signals go back to what a program expects to be started with. */
static void run_child(int go_fd, int error_fd, char *const *argv, const struct tapir_str *env)
{
	sigset_t none;
	ssize_t got;
	char byte;
	int err;

	/* Before the recording begins: what is allocated here is not the program's. */
	for (size_t at = 0; env && at < env->len; at += strlen(env->data + at) + 1)
		putenv(env->data + at);
	sigemptyset(&none);
	got = read(go_fd, &byte, 1);
	if (got < 0) {
		err = errno;
		_exit(write(error_fd, &err, sizeof(err)) < 0 ? 126 : 127);
	}
	if (!got)
		_exit(127); /* the tracer gave up */
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	tapir_file__restore_limit();
	execvp(argv[0], argv);
	err = errno;
	if (write(error_fd, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* 0: a file has that name. -ENOENT: none has; else it cannot be inspected. */
static int check_executable(const char *path)
{
	tapir_autofd int path_fd = tapir_foreign__take_own(path);

	return path_fd < 0 ? path_fd : 0;
}

bool tapir_command__find(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH"), *end;

	if (strchr(name, '/') || !dirs) {
		snprintf(path, PATH_MAX, "%s", name);
		return check_executable(name) != -ENOENT;
	}
	for (;; dirs = end + 1) {
		end = strchrnul(dirs, ':');
		snprintf(path, PATH_MAX, "%.*s/%s", (int)(end - dirs), end > dirs ? dirs : ".",
			 name);
		if (!check_executable(path))
			return true;
		if (!*end)
			return false;
	}
}

static int check_program(const char *name, const char *path)
{
	tapir_autofd int path_fd = tapir_foreign__take_own(path);
	struct stat st;

	/* The exec of such a file would not return, and nothing could end it. */
	if (path_fd == -ETIMEDOUT)
		return tapir_diag__fail(path_fd, "cannot run %s: its file system does not answer",
					name);
	if (path_fd >= 0 && !fstat(path_fd, &st) && S_ISDIR(st.st_mode))
		return tapir_diag__fail(-EISDIR, "cannot run %s: it is a directory", name);
	if (path_fd >= 0 && faccessat(path_fd, "", X_OK, AT_EACCESS | AT_EMPTY_PATH))
		return tapir_diag__fail(-ENOEXEC, "cannot run %s: %s", name,
					tapir_errno__text(errno));
	return 0;
}

/*
 * Waits until the child sleeps at its pipe: whatever it does until then (it copies pages, and calls
 * putenv and read) would be counted as the program's by what is attached next. A child that is held
 * (a frozen cgroup) is not waited for longer than its limit: it is attached to as it is.
 */
static void wait_until_asleep(pid_t child)
{
	const struct timespec pause = {.tv_nsec = 200000};
	uint64_t end_ns = tapir_clock__now_ns() + MAX_SLEEP_WAIT_NS;
	uint32_t tid = (uint32_t)child;
	int mark = tapir_diag__cnt();
	char text[128]; /* up to the state, at least */

	while (tapir_thread__read_file(tid, tid, "stat", text, sizeof(text)) > 0 &&
	       !strchr("SZ", tapir_thread_stat__state(text)) && tapir_clock__now_ns() < end_ns)
		nanosleep(&pause, NULL);
	tapir_diag__rewind(mark);
}

int tapir_command_run__prepare(char *const *argv, const struct tapir_str *env,
			       struct tapir_command_run **out)
{
	struct tapir_command_run *run;
	char path[PATH_MAX];
	int go[2], error[2], err;

	if (!tapir_command__find(argv[0], path))
		return tapir_diag__fail(-ENOENT, "cannot run %s: no such program", argv[0]);
	err = check_program(argv[0], path);
	if (err)
		return err;
	run = calloc(1, sizeof(*run));
	if (!run)
		return tapir_diag__fail(-ENOMEM, "cannot start %s: out of memory", argv[0]);
	run->go_fd = run->error_fd = run->end_fd = -1;
	run->name = strdup(argv[0]);
	if (!run->name || pipe2(go, O_CLOEXEC))
		goto fail;
	if (pipe2(error, O_CLOEXEC)) {
		err = errno;
		close(go[0]);
		close(go[1]);
		errno = err;
		goto fail;
	}
	/*
	 * The child waits at one pipe until all is attached, so that nothing of it is missed.
	 * Through the other it says why exec failed; that closes by itself (O_CLOEXEC) when exec
	 * works.
	 */
	run->child = fork();
	err = errno;
	if (run->child == 0) {
		close(go[1]);
		run_child(go[0], error[1], argv, env);
	}
	close(go[0]);
	close(error[1]);
	run->go_fd = go[1];
	run->error_fd = error[0];
	fcntl(run->error_fd, F_SETFL, O_NONBLOCK);
	errno = err;
	if (run->child < 0)
		goto fail;
	wait_until_asleep(run->child);
	run->end_fd = (int)syscall(SYS_pidfd_open, run->child, 0);
	*out = run;
	return 0;
fail:
	err = errno;
	tapir_command_run__free(run);
	return tapir_diag__fail(-err, "cannot start %s: %s", argv[0], tapir_errno__text(err));
}

uint32_t tapir_command_run__tgid(const struct tapir_command_run *run)
{
	return (uint32_t)run->child;
}

int tapir_command_run__go(struct tapir_command_run *run)
{
	int err;

	if (write(run->go_fd, "", 1) == 1) {
		run->is_running = true;
		return 0;
	}
	err = errno;
	if (err == EPIPE && tapir_command_run__exec_error(run) < 0 && tapir_diag__cnt())
		err = EIO;
	/* Not -EPIPE, which is for a reader of our output that left. */
	return tapir_diag__fail(err == EPIPE ? -ESRCH : -err, "cannot start %s: %s", run->name,
				err == EPIPE ? "its process was killed before it ran"
					     : tapir_errno__text(err));
}

int tapir_command_run__error_fd(const struct tapir_command_run *run)
{
	return run->error_fd;
}

int tapir_command_run__exec_error(struct tapir_command_run *run)
{
	int err = 0;
	ssize_t n = read(run->error_fd, &err, sizeof(err));

	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n != sizeof(err))
		return 0;
	return tapir_diag__fail(-err, "cannot run %s: %s", run->name, tapir_errno__text(err));
}

int tapir_command_run__end_fd(const struct tapir_command_run *run)
{
	return run->end_fd;
}

int tapir_command_run__status(struct tapir_command_run *run, int *status)
{
	if (!run->has_ended)
		run->has_ended = waitpid(run->child, &run->status, WNOHANG) == run->child;
	if (!run->has_ended)
		return -EAGAIN;
	*status = run->status;
	return 0;
}

void tapir_command_run__free(struct tapir_command_run *run)
{
	if (!run)
		return;
	tapir_guard__fd(&run->go_fd); /* a child that waits reads the end of file and leaves */
	tapir_guard__fd(&run->error_fd);
	tapir_guard__fd(&run->end_fd);
	if (run->child > 0 && !run->is_running)
		waitpid(run->child, NULL, 0);
	free(run->name);
	free(run);
}
