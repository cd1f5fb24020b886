// SPDX-License-Identifier: GPL-2.0-or-later
/* Files of other processes: below their root, on filesystems that answer, in other namespaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "symbol/jit_file.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/tapir-jit-file-XXXXXX");
	tapir_diag__clear();
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? -1 : 0;
}

static void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int open_of(pid_t pid, const char *path)
{
	struct tapir_jit_file_opts opts = {
		.sz = sizeof(opts), .tgid = (uint32_t)pid, .uid = getuid(), .path = path};

	return tapir_jit_file__open(&opts);
}

static void says(const char *want)
{
	assert_int_equal(tapir_diag__cnt(), 1);
	if (!strstr(tapir_diag__line(0), want))
		fail_msg("%s", tapir_diag__line(0));
}

static void reads(int fd, const char *want)
{
	char text[64] = "";

	if (fd < 0)
		fail_msg("%d %s", fd, tapir_diag__cnt() ? tapir_diag__line(0) : "");
	assert_int_equal(read(fd, text, sizeof(text) - 1), strlen(want));
	assert_string_equal(text, want);
	close(fd);
}

/* A process that did prepare() and waits; NULL state: it could not. */
static pid_t start(bool (*prepare)(void))
{
	int ready[2];
	char ok = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* an assertion may jump over stop() */
		ok = prepare();
		if (write(ready[1], &ok, 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &ok, 1), 1);
	close(ready[0]);
	if (ok)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static bool enter_chroot(void)
{
	return !chroot(dir) && !chdir("/");
}

static void path_is_below_the_processs_root(void **state)
{
	char path[160];
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/tmp", dir);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/tmp/perf-7.map", dir);
	make_file(path, "inside");
	/* a directory that leads out of it, as seen from here, leads into it */
	snprintf(path, sizeof(path), "%s/out", dir);
	assert_int_equal(symlink("../../../tmp", path), 0);
	pid = start(enter_chroot);
	if (!pid)
		skip();
	reads(open_of(pid, "/tmp/perf-7.map"), "inside");
	reads(open_of(pid, "/out/perf-7.map"), "inside");
	reads(open_of(pid, "/out/.././../out//perf-7.map"), "inside");
	/* links that go round, and files that are no directories */
	snprintf(path, sizeof(path), "%s/round", dir);
	assert_int_equal(symlink("/round/", path), 0);
	assert_int_equal(open_of(pid, "/round/perf-7.map"), -ELOOP);
	says("too many symbolic links");
	assert_int_equal(open_of(pid, "/tmp/perf-7.map/perf-7.map"), -ENOENT);
	stop(pid);
}

static bool mount_tmp(void)
{
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("own", "/tmp", "tmpfs", 0, NULL) &&
	       close(open("/tmp/perf-1.map", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0;
}

static void path_is_in_the_processs_mount_namespace(void **state)
{
	pid_t pid = start(mount_tmp);

	(void)state;
	if (!pid)
		skip();
	reads(open_of(pid, "/tmp/perf-1.map"), "");
	stop(pid);
}

/* A server that never answers: whoever asks it for anything waits for ever. */
static bool mount_fuse(void)
{
	int fd = open("/dev/fuse", O_RDWR); /* kept open as long as the process lives */
	char data[96];

	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	return fd >= 0 && !unshare(CLONE_NEWNS) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("silent", dir, "fuse", MS_NOSUID | MS_NODEV, data);
}

static void file_system_that_does_not_answer_is_given_up(void **state)
{
	char path[128];
	pid_t pid = start(mount_fuse);

	(void)state;
	if (!pid)
		skip();
	snprintf(path, sizeof(path), "%s/perf-1.map", dir);
	alarm(10); /* it would be for ever */
	assert_int_equal(open_of(pid, path), -ETIMEDOUT);
	says("its file system does not answer");
	/* nor is one below it */
	tapir_diag__clear();
	snprintf(path, sizeof(path), "%s/a/b/perf-1.map", dir);
	assert_int_equal(open_of(pid, path), -ETIMEDOUT);
	/* nor by a link that leads there */
	tapir_diag__clear();
	snprintf(path, sizeof(path), "%s.link", dir);
	assert_int_equal(symlink(dir, path), 0);
	strcat(path, "/perf-1.map");
	assert_true(open_of(pid, path) < 0);
	assert_int_equal(tapir_diag__cnt(), 1);
	alarm(0);
	*strrchr(path, '/') = '\0';
	unlink(path);
	stop(pid);
}

static bool mount_a_file(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/perf-1.map", dir);
	make_file(path, "");
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("/etc/hostname", path, NULL, MS_BIND, NULL);
}

static void file_that_is_a_mount_is_refused(void **state)
{
	char path[96];
	pid_t pid = start(mount_a_file);

	(void)state;
	if (!pid)
		skip();
	snprintf(path, sizeof(path), "%s/perf-1.map", dir);
	assert_int_equal(open_of(pid, path), -EXDEV);
	says("EXDEV");
	stop(pid);
}

static bool become_another(void)
{
	return !setresuid(12345, 12346, 12347);
}

static void users_the_process_runs_as_may_own_it(void **state)
{
	struct tapir_jit_file_opts opts = {.sz = sizeof(opts)};
	char path[96];
	pid_t pid = start(become_another);

	(void)state;
	if (!pid)
		skip();
	snprintf(path, sizeof(path), "%s/perf-1.map", dir);
	make_file(path, "x");
	opts.tgid = (uint32_t)pid;
	opts.uid = 12346;
	opts.path = path;
	assert_int_equal(tapir_jit_file__open(&opts), -EACCES); /* root's */
	says("it belongs to user 0, the process to user 12346");
	for (unsigned uid = 12345; uid <= 12347; uid++) {
		assert_int_equal(chown(path, uid, 0), 0);
		reads(tapir_jit_file__open(&opts), "x");
	}
	tapir_diag__clear();
	assert_int_equal(chown(path, 12348, 0), 0);
	assert_int_equal(tapir_jit_file__open(&opts), -EACCES);
	stop(pid);
}

static void what_is_not_there_costs_no_line(void **state)
{
	pid_t gone = fork();
	char path[128];

	(void)state;
	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	assert_int_equal(open_of(gone, "/tmp/perf-1.map"), -ESRCH);
	snprintf(path, sizeof(path), "%s/nothing", dir);
	assert_int_equal(open_of(getpid(), path), -ENOENT);
	snprintf(path, sizeof(path), "%s/nothing/perf-1.map", dir);
	assert_int_equal(open_of(getpid(), path), -ENOENT);
	assert_int_equal(tapir_diag__cnt(), 0);
	assert_int_equal(open_of(getpid(), "relative"), -EINVAL);
	says("its path is not absolute");
}

/* Who has a lease on a file keeps others waiting for 45 seconds, if they wait. */
static void lease_holds_nobody_up(void **state)
{
	char path[96];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/perf-1.map", dir);
	make_file(path, "");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		skip();
	alarm(10);
	assert_int_equal(open_of(getpid(), path), -EAGAIN);
	alarm(0);
	says("EAGAIN");
	close(fd);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(path_is_below_the_processs_root),
		CASE(path_is_in_the_processs_mount_namespace),
		CASE(file_system_that_does_not_answer_is_given_up),
		CASE(file_that_is_a_mount_is_refused),
		CASE(users_the_process_runs_as_may_own_it),
		CASE(what_is_not_there_costs_no_line),
		CASE(lease_holds_nobody_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
