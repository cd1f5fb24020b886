// SPDX-License-Identifier: GPL-2.0-or-later
/* A call made by a child with the same descriptors: its result, what it opens and closes, and its
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/undisturbed.h"

static int touched;

static long open_null(const void *ctx)
{
	int fd = open(ctx, O_RDONLY | O_CLOEXEC);

	touched = 1;
	return fd < 0 ? -errno : fd;
}

static void what_it_opens_is_open_here(void **state)
{
	long fd = tapir_undisturbed__call(open_null, "/dev/null");

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fcntl((int)fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(touched, 0);
	assert_int_equal(close((int)fd), 0);
	assert_int_equal(tapir_undisturbed__call(open_null, "/no/such/file"), -ENOENT);
}

static long end_early(const void *ctx)
{
	_exit(*(const int *)ctx);
}

static void failure_is_returned_when_the_child_ends_early(void **state)
{
	int status = 3;

	(void)state;
	assert_int_equal(tapir_undisturbed__call(end_early, &status), -ECANCELED);
	assert_int_equal(waitpid(-1, NULL, __WALL | WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void what_it_closes_is_closed_here(void **state)
{
	int fds[] = {open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY)};

	(void)state;
	tapir_undisturbed__close(fds, 0);
	assert_true(fcntl(fds[0], F_GETFD) >= 0);
	tapir_undisturbed__close(fds, 2);
	assert_int_equal(fcntl(fds[0], F_GETFD), -1);
	assert_int_equal(fcntl(fds[1], F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_opens_is_open_here),
		cmocka_unit_test(failure_is_returned_when_the_child_ends_early),
		cmocka_unit_test(what_it_closes_is_closed_here),
	};

	return cmocka_run_group_tests_name("undisturbed", tests, NULL, NULL);
}
