/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lives again ROUNDS COUNT - ROUNDS processes one after the other, all with the same pid: each is
 * called again-ROUND, fires lives:hit(round, i) COUNT times from a function of its round's parity
 * and exits with ROUND + 1. Prints the pid; {"skipped": "..."} where pids cannot be chosen.
 *
 * lives ends COUNT - COUNT processes whose two threads end at once: the first with 7, the other
 * with 0. Prints how many wait(2) had which status.
 */
// build: -fno-optimize-sibling-calls
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "target.h"

static __attribute__((noipa)) void fire(long round, long cnt)
{
	for (long i = 0; i < cnt; i++)
		TAPIR_PROBE(lives, hit, round, i);
}

/* A child with this pid; 0: any. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {.exit_signal = SIGCHLD,
				  .set_tid = pid ? (uintptr_t)&pid : 0,
				  .set_tid_size = pid != 0};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static int again(long rounds, long cnt)
{
	pid_t pid = 0, child;
	int status;

	for (long round = 0; round < rounds; round++) {
		char name[16];

		child = fork_as(pid);
		if (child < 0) {
			printf("{\"skipped\": \"%s\"}\n", strerror(errno));
			return 0;
		}
		if (!child) {
			snprintf(name, sizeof(name), "again-%ld", round);
			prctl(PR_SET_NAME, name);
			fire(round, cnt);
			_exit((int)round + 1);
		}
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != round + 1)
			target__die("waitpid");
		pid = child;
	}
	printf("{\"pid\": %d, \"fired\": %ld}\n", (int)pid, rounds * cnt);
	return 0;
}

static volatile int ready;

static void *end_with_0(void *unused)
{
	(void)unused;
	__atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
	while (ready < 2)
		;
	syscall(SYS_exit, 0);
	return NULL;
}

static void end_twice(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, end_with_0, NULL))
		_exit(99);
	while (ready < 1)
		;
	__atomic_add_fetch(&ready, 1, __ATOMIC_ACQ_REL);
	syscall(SYS_exit, 7);
}

static int ends(long cnt)
{
	long sevens = 0;

	for (long i = 0; i < cnt; i++) {
		pid_t child = fork();
		int status;

		if (!child)
			end_twice();
		if (child < 0 || waitpid(child, &status, 0) != child)
			target__die("waitpid");
		sevens += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	}
	printf("{\"processes\": %ld, \"sevens\": %ld}\n", cnt, sevens);
	return 0;
}

int main(int argc, char **argv)
{
	target__start(&argc, argv);
	if (argc > 3 && !strcmp(argv[1], "again"))
		return again(target__number(argc, argv, 2, 1), target__number(argc, argv, 3, 1));
	if (argc > 2 && !strcmp(argv[1], "ends"))
		return ends(target__number(argc, argv, 2, 1));
	return 2;
}
