// SPDX-License-Identifier: GPL-2.0-or-later
/* A call made by a child with the same descriptors: its result, what it opens and closes, and its
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/unkillable_call.h"

static int touched;

static long open_null(const void *ctx)
{
	int fd = open(ctx, O_RDONLY | O_CLOEXEC);

	touched = 1;
	return fd < 0 ? -errno : fd;
}

static void what_it_opens_is_open_here(void **state)
{
	long fd = tapir_unkillable__call(open_null, "/dev/null");

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fcntl((int)fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(touched, 0);
	assert_int_equal(close((int)fd), 0);
	assert_int_equal(tapir_unkillable__call(open_null, "/no/such/file"), -ENOENT);
}

static long end_early(const void *ctx)
{
	_exit(*(const int *)ctx);
}

static void failure_is_returned_when_the_child_ends_early(void **state)
{
	int status = 3;

	(void)state;
	assert_int_equal(tapir_unkillable__call(end_early, &status), -ECANCELED);
	/* A child is left, the keeper; nothing of it is to be waited for. */
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), 0);
}

static void what_it_closes_is_closed_here(void **state)
{
	int fds[] = {open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY)};

	(void)state;
	tapir_unkillable__close(fds, 0);
	assert_true(fcntl(fds[0], F_GETFD) >= 0);
	tapir_unkillable__close(fds, 2);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	assert_int_equal(fcntl(fds[1], F_GETFD), -1);
}

#define SECOND_MS 1000

/* A process with a keeper, which shares the pipe's end that is written. */
static pid_t start_host(int *pipe_fd, void (*then)(void))
{
	int fds[2];
	pid_t host;

	assert_int_equal(pipe(fds), 0);
	host = fork();
	if (!host) {
		close(fds[0]);
		(void)!write(fds[1], "", tapir_unkillable__call(open_null, "/dev/null") >= 0);
		then();
		_exit(1);
	}
	assert_true(host > 0);
	close(fds[1]);
	*pipe_fd = fds[0];
	assert_int_equal(read(fds[0], &(char){0}, 1), 1);
	return host;
}

/* Whether nobody can write any more within that time. */
static bool has_ended(int pipe_fd, int ms)
{
	struct pollfd end = {.fd = pipe_fd, .events = POLLIN};

	return poll(&end, 1, ms) == 1 && end.revents & POLLHUP;
}

static pid_t only_child_of(pid_t pid)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	file = fopen(path, "re");
	assert_non_null(file);
	(void)!fgets(text, sizeof(text), file);
	fclose(file);
	return (pid_t)strtol(text, NULL, 10);
}

static void sleep_on(void)
{
	for (;;)
		pause();
}

static void end_well(void)
{
	exit(0);
}

static void keeper_outlives_a_killed_process_for_a_moment_only(void **state)
{
	int pipe_fd;
	pid_t host = start_host(&pipe_fd, sleep_on), keeper = only_child_of(host);

	(void)state;
	assert_true(keeper > 0);
	for (int number = 1; number < SIGRTMAX; number++)
		if (number != SIGKILL && number != SIGSTOP)
			kill(keeper, number);
	assert_false(has_ended(pipe_fd, 100));
	assert_int_equal(getsid(keeper), keeper);
	kill(host, SIGKILL);
	assert_int_equal(waitpid(host, NULL, 0), host);
	assert_true(has_ended(pipe_fd, 20 * SECOND_MS));
	close(pipe_fd);
}

static void keeper_is_gone_when_the_process_has_ended_by_itself(void **state)
{
	int pipe_fd, status;
	pid_t host = start_host(&pipe_fd, end_well);

	(void)state;
	assert_int_equal(waitpid(host, &status, 0), host);
	assert_int_equal(status, 0);
	assert_true(has_ended(pipe_fd, 0));
	close(pipe_fd);
}

static void process_continues_without_its_keeper(void **state)
{
	int pipe_fd;
	pid_t host = start_host(&pipe_fd, sleep_on), keeper = only_child_of(host);

	(void)state;
	kill(keeper, SIGKILL);
	usleep(100 * SECOND_MS);
	assert_int_equal(waitpid(host, NULL, WNOHANG), 0);
	kill(host, SIGKILL);
	assert_int_equal(waitpid(host, NULL, 0), host);
	assert_true(has_ended(pipe_fd, 20 * SECOND_MS));
	close(pipe_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_opens_is_open_here),
		cmocka_unit_test(failure_is_returned_when_the_child_ends_early),
		cmocka_unit_test(what_it_closes_is_closed_here),
		cmocka_unit_test(keeper_outlives_a_killed_process_for_a_moment_only),
		cmocka_unit_test(keeper_is_gone_when_the_process_has_ended_by_itself),
		cmocka_unit_test(process_continues_without_its_keeper),
	};

	return cmocka_run_group_tests_name("undisturbed", tests, NULL, NULL);
}
