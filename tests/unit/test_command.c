// SPDX-License-Identifier: GPL-2.0-or-later
/* A program held until it may run, and the error when it cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "attach/proc.h"
#include "record/command.h"
#include "record/threads/proc_runnable.h"

static struct tapir_command_run *run;

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	signal(SIGPIPE, SIG_IGN);	    /* as a recording does */
	setenv("PATH", "/usr/bin:/bin", 1); /* execvp says EACCES for a directory closed to us */
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_command_run__free(run);
	run = NULL;
	return 0;
}

static void prepare_shell(const char *script)
{
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};

	assert_int_equal(tapir_command_run__prepare(argv, NULL, &run), 0);
}

static void wait_known(void)
{
	struct pollfd fd = {tapir_command_run__error_fd(run), POLLIN, 0};

	assert_int_equal(poll(&fd, 1, 5000), 1);
}

static int wait_end(void)
{
	int status;

	for (int ms = 0; ms < 5000; ms += 5) {
		if (!tapir_command_run__status(run, &status))
			return status;
		usleep(5000);
	}
	fail_msg("the program still runs");
	return 0;
}

static int run_shell(const char *script)
{
	prepare_shell(script);
	assert_int_equal(tapir_command_run__go(run), 0);
	wait_known();
	assert_int_equal(tapir_command_run__exec_error(run), 0);
	return wait_end();
}

static char child_state(void)
{
	uint32_t tid = tapir_command_run__tgid(run);
	char text[128];

	assert_true(tapir_thread__read_file(tid, tid, "stat", text, sizeof(text)) > 0);
	return tapir_thread_stat__state(text);
}

/* At once, and not only once the file has been read: a child that is still on its way is seen. */
static void child_sleeps_when_it_is_prepared(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		prepare_shell("exit 0");
		assert_int_equal(child_state(), 'S');
		tapir_command_run__free(run);
		run = NULL;
	}
}

static void program_runs_only_when_told(void **state)
{
	struct pollfd fd;
	int status = 4711;

	(void)state;
	prepare_shell("exit 7");
	fd = (struct pollfd){tapir_command_run__error_fd(run), POLLIN, 0};
	assert_int_equal(poll(&fd, 1, 100), 0);
	assert_int_equal(tapir_command_run__exec_error(run), -EAGAIN);
	assert_int_equal(tapir_command_run__status(run, &status), -EAGAIN);
	assert_int_equal(status, 4711);
	assert_int_equal(kill((pid_t)tapir_command_run__tgid(run), 0), 0);
	assert_int_equal(tapir_command_run__go(run), 0);
	wait_known();
	assert_int_equal(tapir_command_run__exec_error(run), 0);
	assert_int_equal(WEXITSTATUS(wait_end()), 7);
	assert_int_equal(tapir_command_run__status(run, &status), 0); /* it stays known */
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(tapir_diag__cnt(), 0);
}

/* A program whose interpreter is missing: only exec finds that out. */
static void error_is_execs_own_when_it_fails(void **state)
{
	char path[] = "/tmp/tapir-test-command-XXXXXX", line[96];
	int fd = mkostemp(path, O_CLOEXEC);
	char *argv[] = {path, NULL};

	(void)state;
	assert_true(fd >= 0 && write(fd, "#!/no/such\n", 11) == 11 && !fchmod(fd, 0700));
	close(fd);
	snprintf(line, sizeof(line), "cannot run %s: No such file or directory", path);
	assert_int_equal(tapir_command_run__prepare(argv, NULL, &run), 0);
	assert_int_equal(tapir_command_run__go(run), 0);
	wait_known();
	assert_int_equal(tapir_command_run__exec_error(run), -ENOENT);
	unlink(path);
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_string_equal(tapir_diag__line(0), line);
	assert_int_equal(WEXITSTATUS(wait_end()), 127);
}

static void what_is_no_program_is_not_begun(void **state)
{
	char *argv[] = {"/etc/passwd", NULL};

	(void)state;
	assert_int_equal(tapir_command_run__prepare(argv, NULL, &run), -ENOEXEC);
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_string_equal(tapir_diag__line(0), "cannot run /etc/passwd: Permission denied");
}

static void what_is_nowhere_is_not_begun(void **state)
{
	static const char *const names[] = {"/no/such/program", "no-such-program-in-path"};
	char line[64];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char *argv[] = {(char *)names[i], NULL};

		tapir_diag__clear();
		assert_int_equal(tapir_command_run__prepare(argv, NULL, &run), -ENOENT);
		snprintf(line, sizeof(line), "cannot run %s: no such program", names[i]);
		assert_int_equal(tapir_diag__cnt(), 1);
		assert_string_equal(tapir_diag__line(0), line);
	}
}

static void going_fails_with_a_line_when_the_child_is_gone(void **state)
{
	(void)state;
	prepare_shell("exit 0");
	kill((pid_t)tapir_command_run__tgid(run), SIGKILL);
	assert_int_equal(WTERMSIG(wait_end()), SIGKILL);
	assert_int_equal(tapir_command_run__go(run),
			 -ESRCH); /* -EPIPE would be a pager that left */
	assert_int_equal(tapir_diag__cnt(), 1);
	assert_string_equal(tapir_diag__line(0),
			    "cannot start /bin/sh: its process was killed before it ran");
}

static void child_ends_when_it_is_never_told(void **state)
{
	pid_t child;

	(void)state;
	prepare_shell("exit 0");
	child = (pid_t)tapir_command_run__tgid(run);
	teardown(NULL);
	assert_int_equal(kill(child, 0), -1);
	assert_int_equal(errno, ESRCH);
	tapir_command_run__free(NULL);
}

/* A tracer that was killed leaves nobody waiting. */
static void child_ends_when_the_tracer_is_killed(void **state)
{
	pid_t tracer, child = 0;
	int fds[2], status;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	tracer = fork();
	if (tracer == 0) {
		prepare_shell("exit 0");
		child = (pid_t)tapir_command_run__tgid(run);
		if (write(fds[1], &child, sizeof(child)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &child, sizeof(child)), sizeof(child));
	close(fds[1]); /* the child has the other copy of the writing end */
	kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_int_equal(read(fds[0], &status, 1), 0); /* the end of file: it is gone */
	close(fds[0]);
}

static void running_program_is_left_alone_when_freed(void **state)
{
	pid_t child;

	(void)state;
	prepare_shell("exec sleep 30");
	child = (pid_t)tapir_command_run__tgid(run);
	assert_int_equal(tapir_command_run__go(run), 0);
	wait_known();
	assert_int_equal(tapir_command_run__exec_error(run), 0);
	teardown(NULL);
	assert_int_equal(kill(child, 0), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void status_is_the_signal_when_killed_by_one(void **state)
{
	int status = run_shell("kill -TERM $$");

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* The tracer blocks and ignores signals for itself; the program starts as from a shell. */
static void signals_are_as_from_a_shell(void **state)
{
	sigset_t mask, before;
	int status;

	(void)state;
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	signal(SIGXFSZ, SIG_IGN);
	sigprocmask(SIG_BLOCK, &mask, &before);
	status =
		run_shell("grep -q '^SigBlk:.*[^0:\t]' /proc/self/status && exit 1; kill -PIPE $$");
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGXFSZ, SIG_DFL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGPIPE);
}

/* Of those alone that a program gets when is_kept: helpers of file systems are behind others. */
static int open_fd_cnt(bool is_kept)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int cnt = 0;

	while ((entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (*entry->d_name != '.' && fd != dirfd(dir))
			cnt += !is_kept || !(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	closedir(dir);
	return cnt;
}

static void program_has_no_fds_of_ours(void **state)
{
	int kept = open_fd_cnt(true), before = open_fd_cnt(false);

	(void)state;
	/* One more is the directory that the shell reads. */
	assert_int_equal(WEXITSTATUS(run_shell("set -- /proc/$$/fd/*; exit $#")), kept + 1);
	teardown(NULL);
	assert_int_equal(open_fd_cnt(false), before);
}

static void arguments_and_path_are_as_given(void **state)
{
	char *argv[] = {"sh", "-c",  "[ \"$1\" = 'a b' ] && [ -z \"$2\" ] && [ $# = 2 ]",
			"sh", "a b", "",
			NULL};

	(void)state;
	assert_int_equal(tapir_command_run__prepare(argv, NULL, &run), 0);
	argv[2] = "exit 1"; /* the child has its own */
	assert_int_equal(tapir_command_run__go(run), 0);
	assert_int_equal(wait_end(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(child_sleeps_when_it_is_prepared),
		CASE(program_runs_only_when_told),
		CASE(error_is_execs_own_when_it_fails),
		CASE(what_is_no_program_is_not_begun),
		CASE(what_is_nowhere_is_not_begun),
		CASE(going_fails_with_a_line_when_the_child_is_gone),
		CASE(child_ends_when_it_is_never_told),
		CASE(child_ends_when_the_tracer_is_killed),
		CASE(running_program_is_left_alone_when_freed),
		CASE(status_is_the_signal_when_killed_by_one),
		CASE(signals_are_as_from_a_shell),
		CASE(program_has_no_fds_of_ours),
		CASE(arguments_and_path_are_as_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
