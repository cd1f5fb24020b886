// SPDX-License-Identifier: GPL-2.0-or-later
/* What other processes' paths name: taken without harm, opened or refused, and never waited for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/file_system.h"
#include "base/foreign/foreign_file.h"
#include "base/foreign/mount_list.h"
#include "base/foreign/overlay.h"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	tapir_diag__clear();
	strcpy(dir, "/tmp/tapir-foreign-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[96];

	(void)state;
	tapir_fs__end_all(NULL);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) ? -1 : 0;
}

static const char *in_dir(const char *name)
{
	static char path[2][128];
	static unsigned turn;

	turn ^= 1;
	snprintf(path[turn], sizeof(path[turn]), "%s%s", dir, name);
	return path[turn];
}

static void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Below the directory, as if it were the root. */
static int open_below(const char *path)
{
	tapir_autofd int root_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return tapir_foreign__open(root_fd, path, 0);
}

static void reads(int handle, const char *want)
{
	char text[64] = "";
	int fd;

	assert_true(handle >= 0);
	fd = tapir_foreign__content(handle);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, text, sizeof(text) - 1, 0), strlen(want));
	assert_string_equal(text, want);
	close(fd);
	memset(text, 0, sizeof(text));
	assert_int_equal(tapir_foreign__pread(handle, text, sizeof(text) - 1, 1), strlen(want) - 1);
	assert_string_equal(text, want + 1);
	close(handle);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void path_is_resolved_below_the_root_alone(void **state)
{
	(void)state;
	make_file(in_dir("/version"), "inside");
	mkdir(in_dir("/proc"), 0755);
	make_file(in_dir("/proc/version"), "inside, too");
	reads(open_below("/version"), "inside");
	assert_int_equal(symlink("/proc/version", in_dir("/absolute")), 0);
	reads(open_below("/absolute"), "inside, too");
	assert_int_equal(symlink("../../../../../../proc/version", in_dir("/relative")), 0);
	reads(open_below("/relative"), "inside, too");
	assert_int_equal(symlink("/etc/passwd", in_dir("/elsewhere")), 0);
	assert_int_equal(open_below("/elsewhere"), -ENOENT);
	assert_int_equal(symlink("round", in_dir("/round")), 0);
	assert_int_equal(open_below("/round"), -ELOOP);
	assert_int_equal(open_below("/version/x"), -ENOENT);
	assert_int_equal(open_below("version"), -EINVAL);
	assert_int_equal(open_below("/"), -EMEDIUMTYPE);
}

/* As that process sees it: the file of the same name here is another one. */
static bool enter_namespace(void)
{
	return !unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("own", dir, "tmpfs", 0, NULL);
}

static void file_is_the_one_of_the_processs_namespace(void **state)
{
	tapir_autofd int root_fd = -1;
	int ready[2], done[2];
	char byte = 0;
	pid_t pid;

	(void)state;
	make_file(in_dir("/file"), "host");
	make_file(in_dir("/host-only"), "host");
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(done), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = enter_namespace();
		if (byte)
			make_file(in_dir("/file"), "container");
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	if (byte) {
		root_fd = tapir_foreign__root((uint32_t)pid);
		reads(tapir_foreign__open(root_fd, in_dir("/file"), (uint32_t)pid), "container");
		assert_int_equal(tapir_foreign__open(root_fd, in_dir("/host-only"), (uint32_t)pid),
				 -ENOENT);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(tapir_foreign__root((uint32_t)pid), -ESRCH);
	if (!byte)
		skip();
}

/* ---- kinds ----------------------------------------------------------------------------------- */

/* Opening a FIFO for reading would let a writer through: none comes. */
static void fifo_is_not_opened(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(in_dir("/fifo"), 0600), 0);
	assert_int_equal(open_below("/fifo"), -EMEDIUMTYPE);
	assert_int_equal(open(in_dir("/fifo"), O_WRONLY | O_NONBLOCK), -1);
	assert_int_equal(errno, ENXIO);
}

/* Whoever opens the other end of a terminal whose last user has left clears its hang-up. */
static void device_is_not_opened(void **state)
{
	struct pollfd master = {.events = POLLIN};
	int slave, fd;
	struct stat st;
	char name[64];

	(void)state;
	if (openpty(&master.fd, &slave, name, NULL, NULL))
		skip();
	assert_int_equal(fstat(slave, &st), 0);
	close(slave);
	poll(&master, 1, 0);
	assert_true(master.revents & POLLHUP);
	if (mknod(in_dir("/device"), S_IFCHR | 0600, st.st_rdev))
		skip();
	assert_int_equal(open_below("/device"), -EMEDIUMTYPE);
	fd = tapir_foreign__root(0);
	assert_int_equal(tapir_foreign__open(fd, name, 0), -EMEDIUMTYPE);
	close(fd);
	poll(&master, 1, 0);
	assert_true(master.revents & POLLHUP);
	close(master.fd);
}

static void files_whose_reading_has_effects_are_refused(void **state)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	static const char *const paths[] = {"/proc/version", "/proc/self/maps",
					    "/sys/kernel/uevent_seqnum", "/dev/null"};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_int_equal(tapir_foreign__open(root_fd, paths[i], 0), -EMEDIUMTYPE);
}

static void users_own_path_is_what_open_makes_of_it(void **state)
{
	char path[64];
	int fd;

	(void)state;
	make_file(in_dir("/file"), "own");
	mkdir(in_dir("/a"), 0755);
	mkdir(in_dir("/a/b"), 0755);
	assert_int_equal(symlink("a/b", in_dir("/link")), 0);
	make_file(in_dir("/a/file"), "of a");
	fd = tapir_foreign__take_own(in_dir("/link/../file"));
	reads(tapir_foreign__open_taken(fd, 0), "of a"); /* not what is beside the link */
	close(fd);
	fd = open(in_dir("/file"), O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	reads(tapir_foreign__open_taken(tapir_foreign__take_own(path), 0), "own");
	close(fd);
	assert_int_equal(tapir_foreign__take_own(in_dir("/nothing")), -ENOENT);
	assert_int_equal(tapir_foreign__take_own(""), -ENOENT);
}

/* ---- file systems that do not answer ----------------------------------------------------------- */

static int fuse_fd = -1;

/* A server that never answers: whoever asks it for anything waits until its descriptor is closed.
 */
static bool mount_silent_of(unsigned uid)
{
	char data[96];

	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fuse_fd, uid,
		 uid);
	return fuse_fd >= 0 && !mount("silent", dir, "fuse", MS_NOSUID | MS_NODEV, data);
}

static bool mount_silent(void)
{
	return mount_silent_of(0);
}

static void unmount_silent(void)
{
	close(fuse_fd); /* the kernel fails what waits */
	umount2(dir, MNT_DETACH);
}

static char last_line[1024];

static void keep_line(const char *text)
{
	snprintf(last_line, sizeof(last_line), "%s", text);
}

/* Its helper then goes the whole path, and the root's file system is the one that is named. */
static bool is_root_foreign(int root_fd)
{
	struct tapir_fs *fs = NULL;

	return tapir_fs__of(root_fd, 0, &fs) || fs;
}

static void silence_costs_half_a_second_once(void **state)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	uint64_t start_ns;
	int first, again;

	(void)state;
	if (is_root_foreign(root_fd) || !mount_silent())
		skip();
	start_ns = tapir_clock__now_ns();
	first = tapir_foreign__open(root_fd, in_dir("/file"), 0);
	again = tapir_foreign__open(root_fd, in_dir("/another"), 0);
	start_ns = tapir_clock__now_ns() - start_ns;
	*last_line = '\0';
	tapir_fs__end_all(keep_line);
	unmount_silent();
	assert_int_equal(first, -ETIMEDOUT);
	assert_int_equal(again, -ETIMEDOUT);
	assert_in_range(start_ns, 400 * TAPIR_NS_PER_MS, 20 * TAPIR_NS_PER_SEC);
	assert_non_null(strstr(last_line, "fuse at /tmp/tapir-foreign-"));
	assert_non_null(strstr(last_line, "does not answer: 2 files were not read there"));
}

/* Its owner has not let others in: root is refused by the kernel, at once. */
static void file_system_of_one_user_is_refused_at_once(void **state)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	uint64_t start_ns = tapir_clock__now_ns();
	int err;

	(void)state;
	if (!mount_silent_of(65534))
		skip();
	err = tapir_foreign__open(root_fd, in_dir("/file"), 0);
	start_ns = tapir_clock__now_ns() - start_ns;
	unmount_silent();
	assert_int_equal(err, -EACCES);
	assert_in_range(start_ns, 0, 20 * TAPIR_NS_PER_SEC);
}

static void cancel_ends_the_wait(void **state)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	uint64_t start_ns;
	int ends[2], err;

	(void)state;
	if (!mount_silent())
		skip();
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "", 1), 1);
	tapir_helpers__set_cancel(ends[0]);
	start_ns = tapir_clock__now_ns();
	err = tapir_foreign__open(root_fd, in_dir("/file"), 0);
	start_ns = tapir_clock__now_ns() - start_ns;
	tapir_helpers__set_cancel(-1);
	close(ends[0]);
	close(ends[1]);
	tapir_fs__end_all(NULL);
	unmount_silent();
	assert_int_equal(err, -ECANCELED);
	assert_in_range(start_ns, 0, 20 * TAPIR_NS_PER_SEC);
}

/* The same answer comes later: the file system is used again. */
static void file_system_is_asked_again_when_it_answers(void **state)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	int err = 0;

	(void)state;
	if (!mount_silent())
		skip();
	assert_int_equal(tapir_foreign__open(root_fd, in_dir("/file"), 0), -ETIMEDOUT);
	close(fuse_fd);
	for (int i = 0; i < 1000 && (!err || err == -ETIMEDOUT); i++) {
		usleep(10000);
		err = tapir_foreign__open(root_fd, in_dir("/file"), 0);
	}
	umount2(dir, MNT_DETACH);
	assert_int_equal(err, -EIO);
}

static void *open_silent(void *root_fd)
{
	return (void *)(intptr_t)tapir_foreign__open(*(int *)root_fd, in_dir("/file"), 0);
}

static void threads_wait_together(void **state)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	uint64_t start_ns = tapir_clock__now_ns();
	pthread_t threads[4];
	void *result;

	(void)state;
	if (!mount_silent())
		skip();
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_silent, &root_fd), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &result);
		assert_int_equal((intptr_t)result, -ETIMEDOUT);
	}
	start_ns = tapir_clock__now_ns() - start_ns;
	tapir_fs__end_all(NULL);
	unmount_silent();
	assert_in_range(start_ns, 0, 2 * TAPIR_NS_PER_SEC);
}

/* A type that is not known to answer is read by its helper, and read right. */
static void overlay_is_read_by_its_helper(void **state)
{
	tapir_autofd int root_fd = tapir_foreign__root(0);
	struct tapir_fs *fs = NULL;
	int handle;

	(void)state;
	if (mount("layers", dir, "tmpfs", 0, NULL))
		skip();
	mkdir(in_dir("/lower"), 0755);
	mkdir(in_dir("/upper"), 0755);
	mkdir(in_dir("/work"), 0755);
	mkdir(in_dir("/merged"), 0755);
	make_file(in_dir("/lower/file"), "layered");
	assert_int_equal(symlink("file", in_dir("/lower/link")), 0);
	/* Where a relative path leads is known to nobody later. */
	assert_int_equal(chdir(dir), 0);
	if (mount("merged", "merged", "overlay", 0, "lowerdir=lower,upperdir=upper,workdir=work")) {
		assert_int_equal(chdir("/"), 0);
		umount2(dir, MNT_DETACH);
		skip();
	}
	assert_int_equal(chdir("/"), 0);
	handle = tapir_foreign__open(root_fd, in_dir("/merged/link"), 0);
	assert_true(handle >= 0);
	assert_true(tapir_foreign__is_foreign(handle, &fs));
	assert_non_null(fs);
	reads(handle, "layered");
	tapir_fs__end_all(NULL);
	umount2(in_dir("/merged"), MNT_DETACH);
	umount2(dir, MNT_DETACH);
}

/* A container's root, mounted here by whoever runs containers, over a disk. */
static void overlay_of_ours_is_as_local_as_its_layers(void **state)
{
	static const char text[] =
		"22 1 259:0 / / rw - ext4 /dev/root rw\n"
		"23 22 0:30 / /far rw - nfs4 server:/ rw\n"
		"24 22 0:31 / /far/near rw - xfs /dev/b rw\n"
		"25 22 0:40 / /a rw - overlay overlay rw,lowerdir=/l1:/far/near/l2,upperdir=/u,workdir=/w\n"
		"26 22 0:41 / /b rw - overlay overlay rw,lowerdir=/l1:/far/l2,upperdir=/u,workdir=/w\n"
		"27 22 0:42 / /c rw - overlay overlay rw,lowerdir=l1,upperdir=/u,workdir=/w\n"
		"28 22 0:43 / /d rw - overlay overlay rw,lowerdir+=/l1,lowerdir+=/far,upperdir=/u\n"
		"29 22 0:44 / /e rw - overlay overlay rw\n"
		"30 22 0:45 / /f rw - overlay overlay ro,lowerdir=/l\\134:x:/l2\n"
		"31 22 0:46 / /g ro - overlay overlay ro,lowerdir=/farther:/l2";

	(void)state;
	assert_true(tapir_overlay__is_local_in(text, "0:40"));
	assert_false(tapir_overlay__is_local_in(text, "0:41"));
	assert_false(tapir_overlay__is_local_in(text, "0:42"));
	assert_false(tapir_overlay__is_local_in(text, "0:43"));
	assert_false(tapir_overlay__is_local_in(text, "0:44"));
	assert_false(tapir_overlay__is_local_in(text, "0:45"));
	assert_true(tapir_overlay__is_local_in(text, "0:46"));
	assert_false(tapir_overlay__is_local_in(text, "0:31")); /* not an overlay */
	assert_false(tapir_overlay__is_local_in(text, "0:47"));
}

/* ---- the list of mounts ------------------------------------------------------------------------ */

static void mounts_are_found_by_id(void **state)
{
	static const char text[] =
		"22 1 259:0 / / rw,noatime - ext4 /dev/root rw\n"
		"230 22 0:40 / /mnt/with\\040blank rw - fuse.sshfs host:/ rw,user_id=0\n"
		"24 22 0:5 / /dev rw shared:2 master:1 - devtmpfs none rw\n"
		"25 22 0:6 broken\n"
		"26 22 0:7 / /end rw - proc";
	struct tapir_mount mount = {};

	(void)state;
	assert_true(tapir_mount__find_in(text, 22, &mount));
	assert_string_equal(mount.type, "ext4");
	assert_string_equal(mount.point, "/");
	assert_int_equal(tapir_mount__trait(&mount), TAPIR_FS_LOCAL);
	assert_true(tapir_mount__find_in(text, 230, &mount));
	assert_string_equal(mount.type, "fuse.sshfs");
	assert_string_equal(mount.point, "/mnt/with blank");
	assert_int_equal(tapir_mount__trait(&mount), TAPIR_FS_FOREIGN);
	assert_true(tapir_mount__find_in(text, 24, &mount));
	assert_int_equal(tapir_mount__trait(&mount), TAPIR_FS_LOCAL);
	assert_true(tapir_mount__find_in(text, 26, &mount));
	assert_int_equal(tapir_mount__trait(&mount), TAPIR_FS_REFUSED);
	assert_false(tapir_mount__find_in(text, 25, &mount));
	assert_false(tapir_mount__find_in(text, 2, &mount));
	assert_false(tapir_mount__find_in("", 22, &mount));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(path_is_resolved_below_the_root_alone),
		CASE(file_is_the_one_of_the_processs_namespace),
		CASE(fifo_is_not_opened),
		CASE(device_is_not_opened),
		CASE(files_whose_reading_has_effects_are_refused),
		CASE(users_own_path_is_what_open_makes_of_it),
		CASE(silence_costs_half_a_second_once),
		CASE(file_system_of_one_user_is_refused_at_once),
		CASE(cancel_ends_the_wait),
		CASE(file_system_is_asked_again_when_it_answers),
		CASE(threads_wait_together),
		CASE(overlay_is_read_by_its_helper),
		CASE(overlay_of_ours_is_as_local_as_its_layers),
		CASE(mounts_are_found_by_id),
	};

	/* Mounts are this process's alone. */
	if (!unshare(CLONE_NEWNS))
		(void)mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
