/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life line of sessions (ring.h): a process that is told that nobody holds a session ends it
 * only if that is still so. Here it is told, by seccomp_unotify(2), what was true a moment before.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "ring_taker.h"
#include "usdt/ring/ring_writer.h"

#define ASKED_TIMES 3
#define PATIENCE_MS 20000

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "life", .event = "beat", .level = 4};

/* Its listener's descriptor; -1: this kernel or container has none. */
static int notify_of_questions(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_GETLK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &filter);
}

/* Fires until it is killed, after its listener's number was written. */
static void __attribute__((noreturn)) live(int pipe_fd)
{
	struct tapir_ring_write write_to;
	int listener;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (tapir_ring__init() || tapir_ring__register(&event, &about))
		_exit(1);
	listener = notify_of_questions();
	if (write(pipe_fd, &listener, sizeof(listener)) != sizeof(listener))
		_exit(1);
	for (;; usleep(5000)) {
		if (!tapir_ring__wanted(&event) || !tapir_ring__begin(&write_to, &event, 8))
			continue;
		memset(write_to.payload, 0, 8);
		tapir_ring__commit(&write_to);
	}
}

/* The next question is answered by "nobody", whoever holds the lock. */
static void answer_nobody(int listener)
{
	struct pollfd asked = {.fd = listener, .events = POLLIN};
	struct seccomp_notif question = {.id = 0};
	struct seccomp_notif_resp answer = {.val = 0};
	const short nobody = F_UNLCK;
	struct iovec from = {(void *)&nobody, sizeof(nobody)}, to = {.iov_len = sizeof(nobody)};

	assert_int_equal(poll(&asked, 1, PATIENCE_MS), 1);
	assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question), 0);
	to.iov_base = (char *)(uintptr_t)question.data.args[2] + offsetof(struct flock, l_type);
	assert_int_equal(process_vm_writev((pid_t)question.pid, &from, 1, &to, 1, 0),
			 sizeof(nobody));
	answer.id = question.id;
	assert_int_equal(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
}

static void session_that_was_opened_since_is_not_ended(void **state)
{
	int ends[2], number, pidfd, listener, status;
	struct taker t;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child)
		live(ends[1]);
	assert_true(child > 0);
	close(ends[1]);
	assert_int_equal(read(ends[0], &number, sizeof(number)), sizeof(number));
	close(ends[0]);
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	listener = number < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
	if (listener >= 0) {
		assert_int_equal(taker_init(&t, child, 0), 0);
		assert_int_equal(taker_open(&t, 0, 1, 0), 0);
		for (int i = 0; i < ASKED_TIMES; i++)
			answer_nobody(listener);
		taker_take(&t);
		assert_int_equal(taker_session(&t)->state, TAPIR_RING_OPEN);
		assert_true(t.read[0] > 0);
		taker_close(&t);
		taker_fini(&t);
		close(listener);
	}
	close(pidfd);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	if (listener < 0)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(session_that_was_opened_since_is_not_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
