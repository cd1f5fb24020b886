// SPDX-License-Identifier: GPL-2.0-or-later
/* The directory for a program that is started: who can write to it, what is left, where it is
 * refused. With real programs: tests/e2e/case_doors.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "runtime/peer/run_dir.h"

static char runtime_dir[] = "/tmp/tapir-run-XXXXXX"; /* below a sticky directory */

static int set_up(void **state)
{
	(void)state;
	tapir_diag__clear();
	return 0;
}

/* As root, or with a usable XDG_RUNTIME_DIR. */
static struct tapir_run_dir open_one(void)
{
	struct tapir_run_dir dir = TAPIR_NO_RUN_DIR;

	if (tapir_run_dir__open(false, &dir)) {
		tapir_diag__clear();
		skip();
	}
	return dir;
}

static bool is_there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static bool goes(const char *path)
{
	for (int i = 0; i < 3000 && is_there(path); i++)
		usleep(10000);
	return !is_there(path);
}

static void nobody_else_can_write_to_it(void **state)
{
	struct tapir_run_dir dir;
	char file[160];
	struct stat st;

	(void)state;
	umask(077);
	dir = open_one();
	assert_int_equal(tapir_run_dir__add_file(&dir, "a", "text", 4), 0);
	umask(022);
	snprintf(file, sizeof(file), "%s/a", dir.path);
	assert_int_equal(lstat(dir.path, &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | (geteuid() ? 0700 : 0711));
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(lstat(file, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0444);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(tapir_run_dir__add_file(&dir, "a", "text", 4), -EEXIST);
	assert_int_equal(tapir_diag__cnt(), 1);
	tapir_run_dir__close(&dir);
	assert_false(is_there(file));
	tapir_run_dir__close(&dir);
}

static void two_have_different_names_and_leave_each_other_alone(void **state)
{
	struct tapir_run_dir first = open_one(), second = open_one();
	char path[TAPIR_RUN_DIR_PATH_BYTES];

	(void)state;
	assert_string_not_equal(first.path, second.path);
	assert_true(is_there(first.path));
	snprintf(path, sizeof(path), "%s", second.path);
	tapir_run_dir__close(&second);
	assert_false(is_there(path));
	assert_true(is_there(first.path));
	tapir_run_dir__close(&first);
}

/* A child of the test opens one, reports its path, and is killed. */
static void kill_one(char path[TAPIR_RUN_DIR_PATH_BYTES])
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct tapir_run_dir dir = TAPIR_NO_RUN_DIR;

		if (tapir_run_dir__open(false, &dir) ||
		    tapir_run_dir__add_file(&dir, "a", "text", 4) ||
		    write(ends[1], dir.path, sizeof(dir.path)) < 0)
			_exit(1);
		pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], path, TAPIR_RUN_DIR_PATH_BYTES), TAPIR_RUN_DIR_PATH_BYTES);
	close(ends[0]);
	assert_true(is_there(path));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void the_guard_removes_it_when_we_are_killed(void **state)
{
	struct tapir_run_dir dir = open_one();
	char path[TAPIR_RUN_DIR_PATH_BYTES];

	(void)state;
	tapir_run_dir__close(&dir);
	kill_one(path);
	assert_true(goes(path));
}

/* Nor does the end of the guard end us. */
static void we_remove_it_ourselves_when_the_guard_was_killed(void **state)
{
	struct tapir_run_dir dir = open_one();
	struct pollfd end = {.fd = dir.guard.pidfd, .events = POLLIN};
	char path[TAPIR_RUN_DIR_PATH_BYTES];

	(void)state;
	snprintf(path, sizeof(path), "%s", dir.path);
	assert_int_equal(syscall(SYS_pidfd_send_signal, dir.guard.pidfd, SIGKILL, NULL, 0), 0);
	assert_int_equal(poll(&end, 1, 2000), 1);
	assert_true(is_there(path));
	tapir_run_dir__close(&dir);
	assert_false(is_there(path));
}

static void what_nobody_holds_is_removed_by_the_next(void **state)
{
	struct tapir_run_dir dir = open_one();
	char left[160], other[160], *slash;

	(void)state;
	snprintf(left, sizeof(left), "%s", dir.path);
	slash = strrchr(left, '/');
	snprintf(other, sizeof(other), "%.*s/tapir-other", (int)(slash - left), left);
	strcpy(slash, "/tapir-00000000000000ff");
	assert_int_equal(mkdir(left, 0700), 0);
	assert_int_equal(mkdir(other, 0700), 0);
	tapir_run_dir__close(&dir);
	dir = open_one();
	assert_false(is_there(left));
	assert_true(is_there(other));
	rmdir(other);
	tapir_run_dir__close(&dir);
}

static void run_as_user(void (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(1);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void refuse_all(void)
{
	static const struct {
		const char *dir;
		int err;
	} bad[] = {
		{NULL, -ENOENT},
		{"", -ENOENT},
		{"relative", -ENOENT},
		{"/nowhere", -ENOENT},
		{"/dev/null", -ENOTDIR},
		{"/tmp", -EPERM},
		{runtime_dir, -EPERM},
		{"/tmp/a;b", -EINVAL},
		{"/tmp/a=b", -EINVAL},
		{"/tmp/a,b", -EINVAL},
		{"/0123456789012345678901234567890123456789012345678901234567890123456789012",
		 -EINVAL},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tapir_run_dir dir = TAPIR_NO_RUN_DIR;

		tapir_diag__clear();
		if (bad[i].dir)
			setenv("XDG_RUNTIME_DIR", bad[i].dir, 1);
		else
			unsetenv("XDG_RUNTIME_DIR");
		if (tapir_run_dir__open(true, &dir) != bad[i].err || tapir_diag__cnt() != 1) {
			fprintf(stderr, "%s\n", bad[i].dir);
			_exit(1);
		}
	}
}

static void directories_that_others_could_create_again_are_refused(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(runtime_dir));
	if (!geteuid())
		assert_int_equal(chown(runtime_dir, 65534, 65534), 0);
	run_as_user(refuse_all);
	rmdir(runtime_dir);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup(test, set_up)
	const struct CMUnitTest tests[] = {
		CASE(nobody_else_can_write_to_it),
		CASE(two_have_different_names_and_leave_each_other_alone),
		CASE(the_guard_removes_it_when_we_are_killed),
		CASE(we_remove_it_ourselves_when_the_guard_was_killed),
		CASE(what_nobody_holds_is_removed_by_the_next),
		CASE(directories_that_others_could_create_again_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
