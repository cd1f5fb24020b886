// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No process stays stopped because tapir died. The tracer here is a child of this test, killed
 * by SIGKILL while it holds others; needs root for the control ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <dirent.h>
#include <sys/wait.h>

#include "attach/guardian.h"
#include "base/diag.h"
#include "bpf/control.h"
#include "may_trace.h"
#include "ring_feeder.h"

#define WAIT_MS 3000

static int ring_fd = -1;
static struct ring_feeder feeder;
static pid_t held[2], tracer;

/* A process that stops itself, as one does that a BPF program has sent SIGSTOP. */
static pid_t start_stopped(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

/* The wait status of pid within WAIT_MS, 0: nothing happened. */
static int wait_for(pid_t pid, int flags)
{
	int status = 0;

	for (int ms = 0; ms < WAIT_MS; ms += 10) {
		if (waitpid(pid, &status, flags | WNOHANG) == pid)
			return status;
		usleep(10 * 1000);
	}
	return 0;
}

static void goes_on(pid_t pid)
{
	assert_true(WIFCONTINUED(wait_for(pid, WCONTINUED)));
}

static void stays_stopped(pid_t pid)
{
	int status;

	usleep(100 * 1000);
	assert_int_equal(waitpid(pid, &status, WCONTINUED | WNOHANG), 0);
}

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	if (!may_trace())
		return 0;
	ring_fd = real_ring__open(4096);
	held[0] = start_stopped();
	held[1] = start_stopped();
	return !ring_feeder__open(&feeder, ring_fd, sizeof(struct tapir_rec_held));
}

static void end(pid_t *pid)
{
	if (*pid > 0) {
		kill(*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	*pid = 0;
}

static int teardown(void **state)
{
	(void)state;
	end(&tracer);
	end(&held[0]);
	end(&held[1]);
	if (ring_fd >= 0)
		close(ring_fd);
	ring_fd = -1;
	ring_feeder__close(&feeder);
	return 0;
}

static void need_root(void)
{
	if (!may_trace()) {
		print_message("skipped: the control ring needs root\n");
		skip();
	}
}

static void send_held(pid_t pid)
{
	struct tapir_rec_held rec = {
		.h = {.type = TAPIR_REC_HELD, .size = sizeof(rec)},
		.tgid = (uint32_t)pid,
	};

	assert_int_equal(ring_feeder__send(&feeder, &rec), 0);
}

/* A tracer that holds a process (0: none) and then does nothing until it is killed. */
static void start_tracer(pid_t holds)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	tracer = fork();
	if (tracer == 0) {
		struct tapir_guardian *g;

		close(ready[0]);
		if (tapir_guardian__start(ring_fd, &g))
			_exit(1);
		if (holds)
			tapir_guardian__hold(g, (uint32_t)holds);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static void kill_tracer(void)
{
	kill(tracer, SIGKILL);
	assert_int_equal(waitpid(tracer, NULL, 0), tracer);
	tracer = 0;
}

static void held_process_goes_on_when_tracer_is_killed(void **state)
{
	(void)state;
	need_root();
	start_tracer(held[0]);
	stays_stopped(held[0]);
	kill_tracer();
	goes_on(held[0]);
	stays_stopped(held[1]); /* nobody said it was ours */
}

static void unread_process_goes_on_when_tracer_is_killed(void **state)
{
	(void)state;
	need_root();
	start_tracer(0);
	send_held(held[0]);
	send_held(held[1]);
	stays_stopped(held[0]);
	kill_tracer();
	goes_on(held[0]);
	goes_on(held[1]);
}

/* The kernel may stop one more while the dead tracer's links are taken away. */
static void late_process_goes_on_when_tracer_was_killed(void **state)
{
	(void)state;
	need_root();
	start_tracer(held[0]);
	kill_tracer();
	goes_on(held[0]);
	send_held(held[1]);
	goes_on(held[1]);
}

static void process_goes_on_when_released(void **state)
{
	struct tapir_guardian *g;

	(void)state;
	need_root();
	assert_int_equal(tapir_guardian__start(ring_fd, &g), 0);
	tapir_guardian__hold(g, (uint32_t)held[0]);
	tapir_guardian__hold(g, (uint32_t)held[1]);
	tapir_guardian__release(g, (uint32_t)held[0]);
	goes_on(held[0]);
	stays_stopped(held[1]);
	tapir_guardian__stop(g); /* what is still held is let go */
	goes_on(held[1]);
}

static void unread_process_goes_on_when_tracer_ends_by_itself(void **state)
{
	struct tapir_bpf_ring ring = {};
	struct tapir_rec other = {.type = TAPIR_REC_PROCESS, .size = sizeof(other)};
	struct ring_feeder other_feeder;

	(void)state;
	need_root();
	assert_int_equal(tapir_bpf_ring__open(ring_fd, &ring), 0);
	assert_true(ring_feeder__open(&other_feeder, ring_fd, sizeof(other)));
	assert_int_equal(ring_feeder__send(&other_feeder, &other), 0);
	send_held(held[0]);
	tapir_guardian__release_unread(&ring);
	goes_on(held[0]);
	stays_stopped(held[1]);
	tapir_bpf_ring__close(&ring);
	ring_feeder__close(&other_feeder);
}

static unsigned open_fd_cnt(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned cnt = 0;

	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

static pid_t find_guardian(void)
{
	char path[64], text[4096] = "";
	pid_t pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (file && fgets(text, sizeof(text), file))
		for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
			if (atoi(at) != held[0] && atoi(at) != held[1])
				pid = atoi(at);
	if (file)
		fclose(file);
	return pid;
}

/* An out-of-memory killer may take it: we neither die by SIGPIPE nor keep its fd. */
static void stopping_is_quiet_when_guardian_was_killed(void **state)
{
	unsigned before = open_fd_cnt();
	struct tapir_guardian *g;
	pid_t guardian;

	(void)state;
	need_root();
	assert_int_equal(tapir_guardian__start(ring_fd, &g), 0);
	guardian = find_guardian();
	assert_true(guardian > 0);
	kill(guardian, SIGKILL);
	usleep(50 * 1000);
	tapir_guardian__stop(g);
	assert_int_equal(open_fd_cnt(), before);
}

/* A reader of our output must see its end, though the guardian lives a moment longer. */
static void guardian_keeps_nothing_open(void **state)
{
	struct tapir_guardian *g;
	char byte;
	int fds[2];

	(void)state;
	need_root();
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(tapir_guardian__start(ring_fd, &g), 0);
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
	tapir_guardian__stop(g);
}

static void starting_fails_with_a_line_when_there_is_no_ring(void **state)
{
	struct tapir_guardian *g = NULL;

	(void)state;
	assert_true(tapir_guardian__start(-1, &g) < 0);
	assert_null(g);
	assert_true(tapir_diag__cnt() >= 1);
	tapir_guardian__stop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(held_process_goes_on_when_tracer_is_killed),
		CASE(unread_process_goes_on_when_tracer_is_killed),
		CASE(late_process_goes_on_when_tracer_was_killed),
		CASE(process_goes_on_when_released),
		CASE(unread_process_goes_on_when_tracer_ends_by_itself),
		CASE(stopping_is_quiet_when_guardian_was_killed),
		CASE(guardian_keeps_nothing_open),
		CASE(starting_fails_with_a_line_when_there_is_no_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
