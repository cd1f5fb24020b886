// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A child that contacts a process and hangs in a file system, beyond the reach of SIGKILL: it is
 * the only one of that file system, and the next one is made when it has ended. The file system is
 * a FUSE mount of this program, which answers its first request and no other. Needs root and
 * /dev/fuse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign/file_system.h"
#include "runtime/peer/peer_helper.h"

#define DEADLINE_NS (200 * TAPIR_NS_PER_MS)

static char dir[] = "/tmp/tapir_turn_XXXXXX", file_path[64];
static int fuse_fd = -1;
static pthread_t server;
static char lines[4][400];
static unsigned line_cnt;

/* Takes requests, so that the kernel waits for their answers. Ends when the mount does. */
static void *answer_first(void *unused)
{
	static char request[FUSE_MIN_READ_BUFFER + 4096];
	const struct fuse_in_header *in = (const void *)request;
	struct {
		struct fuse_out_header h;
		struct fuse_init_out init;
	} out = {.h.len = sizeof(out),
		 .init = {.major = FUSE_KERNEL_VERSION,
			  .minor = FUSE_KERNEL_MINOR_VERSION,
			  .max_write = 4096}};

	while (read(fuse_fd, request, sizeof(request)) > 0) {
		if (in->opcode != FUSE_INIT)
			continue;
		out.h.unique = in->unique;
		if (write(fuse_fd, &out, sizeof(out)) != sizeof(out))
			break;
	}
	return unused;
}

static int setup(void **state)
{
	char options[80];

	(void)state;
	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse_fd);
	if (fuse_fd < 0 || !mkdtemp(dir))
		return 0;
	snprintf(file_path, sizeof(file_path), "%s/file", dir);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("turn", dir, "fuse.turn", 0, options) ||
	    pthread_create(&server, NULL, answer_first, NULL)) {
		close(fuse_fd);
		fuse_fd = -1;
		rmdir(dir);
	}
	return 0;
}

static int look_up(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	(void)job;
	if (access(file_path, F_OK))
		answer->err = -errno;
	return -1;
}

static int try(const char *in, tapir_peer_act act)
{
	struct tapir_peer_helper job = {.act = act,
					.task = "test",
					.tgid = (uint32_t)getpid(),
					.pidfd = -1,
					.proc_fd = -1,
					.dir_fd = -1,
					.cancel_fd = -1,
					.deadline_ns = tapir_clock__now_ns() + DEADLINE_NS};
	struct tapir_peer_answer answer;

	snprintf(job.dir, sizeof(job.dir), "%s", in);
	return tapir_peer_helper__try(&job, &answer, NULL);
}

static int do_nothing(const struct tapir_peer_helper *job, struct tapir_peer_answer *answer)
{
	(void)job;
	(void)answer;
	return -1;
}

static void keep(const char *text)
{
	snprintf(lines[line_cnt++ % 4], sizeof(lines[0]), "%s", text);
}

static void one_child_is_left_when_its_file_system_does_not_answer(void **state)
{
	struct tapir_fs *fs;
	uint64_t before_ns;

	(void)state;
	if (fuse_fd < 0) {
		print_message("skipped: FUSE file systems cannot be mounted here\n");
		skip();
	}
	assert_int_equal(try(dir, look_up), -ETIMEDOUT);
	before_ns = tapir_clock__now_ns();
	for (int i = 0; i < 3; i++)
		assert_int_equal(try(dir, look_up), -EBUSY);
	assert_int_equal(tapir_fs__begin_turn(0, file_path, &fs), -EBUSY);
	assert_true(tapir_clock__now_ns() - before_ns < DEADLINE_NS);
	assert_int_equal(try("/", do_nothing), 0); /* others are served */
	tapir_fs__end_all(keep);
	assert_int_equal(line_cnt, 1);
	assert_non_null(strstr(lines[0], "fuse.turn at /tmp/tapir_turn_"));
	assert_non_null(strstr(lines[0], " does not answer"));
	assert_non_null(strstr(lines[0], " waits for it and cannot exit until it answers"));
}

static void next_child_is_made_when_the_last_one_has_ended(void **state)
{
	(void)state;
	if (fuse_fd < 0)
		skip();
	assert_int_equal(try(dir, look_up), -ETIMEDOUT);
	assert_int_equal(try(dir, look_up), -EBUSY);
	umount2(dir, MNT_FORCE); /* the kernel fails what waits */
	pthread_join(server, NULL);
	for (int i = 0; i < 1000 && try(dir, do_nothing); i++)
		usleep(20000);
	assert_int_equal(try(dir, do_nothing), 0);
	umount2(dir, MNT_DETACH);
	close(fuse_fd);
	rmdir(dir);
	tapir_fs__end_all(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_child_is_left_when_its_file_system_does_not_answer),
		cmocka_unit_test(next_child_is_made_when_the_last_one_has_ended),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
