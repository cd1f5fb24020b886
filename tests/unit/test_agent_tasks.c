// SPDX-License-Identifier: GPL-2.0-or-later
/* Descriptors of a child of the agent, and the function it runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent_impl.h"
#include "agent/task.h"

#define MAX_FD 64

static bool is_file(int fd, const struct stat *file)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

/* Exits with 0 if nothing but the standard descriptors and the wanted file is open. */
static _Noreturn void run_child(int *fds, size_t cnt, size_t wanted, const struct stat *file)
{
	tapir_agent__keep_fds(fds, cnt);
	if (fds[wanted] < 0 || !is_file(fds[wanted], file))
		_exit(1);
	for (int fd = 3; fd < MAX_FD; fd++)
		if (fd != fds[wanted] && fcntl(fd, F_GETFD) >= 0)
			_exit(2);
	_exit(0);
}

/* A listening socket would keep the address when the agent has gone. */
static void descriptors_that_a_child_was_not_given_are_closed(void **state)
{
	int other = open("/dev/null", O_RDONLY | O_CLOEXEC), status;
	int file = open("/proc/version", O_RDONLY | O_CLOEXEC);
	struct stat st;

	(void)state;
	assert_true(other >= 0 && file >= 0 && !fstat(file, &st));
	for (size_t wanted = 0; wanted < 3; wanted++) {
		int fds[3] = {-1, -1, -1};
		pid_t pid;

		fds[wanted] = file;
		pid = fork();
		if (!pid) {
			for (int fd = 3; fd < 10; fd++) /* whatever their numbers are */
				if (fd != file)
					dup2(other, fd);
			run_child(fds, 3, wanted, &st);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	close(file);
	close(other);
}

/* The child that is kept ready gets the request alone: what it runs is known by its route. */
static void route_tells_what_a_task_runs(void **state)
{
	(void)state;
	assert_ptr_equal(tapir_agent__task_of(TAPIR_ROUTE_PROFILE), tapir_task__profile);
	assert_ptr_equal(tapir_agent__task_of(TAPIR_ROUTE_PPROF), tapir_task__profile);
	assert_null(tapir_agent__task_of(TAPIR_ROUTE_CNT)); /* no route */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(descriptors_that_a_child_was_not_given_are_closed),
		cmocka_unit_test(route_tells_what_a_task_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
