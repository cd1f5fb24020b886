/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fork_deeds.h - what the child of a process with a ring lane may do, and how it is made. */
#ifndef TAPIR_TESTS_FORK_DEEDS_H
#define TAPIR_TESTS_FORK_DEEDS_H

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "ring_case.h"

static struct tapir_ring_event second_event;
static const struct tapir_ring_about second_about = {.provider = "shop", .event = "returned"};
static struct taker taker;

/* ---- what a child may do ----------------------------------------------------------------- */

static void do_nothing(void)
{
}

static void fire_some(void)
{
	for (unsigned i = 0; i < 100; i++)
		fire();
}

static void take_down(void)
{
	tapir_ring__fini();
	fire_some();
}

static void fire_and_take_down(void)
{
	fire_some();
	tapir_ring__fini();
	fire_some();
}

static void take_down_and_begin_anew(void)
{
	tapir_ring__fini();
	CHECK(!tapir_ring__init());
	memset(&event, 0, sizeof(event));
	CHECK(!tapir_ring__register(&event, &about));
	fire_some();
	tapir_ring__fini();
}

static void register_and_unregister(void)
{
	CHECK(!tapir_ring__register(&second_event, &second_about));
	fire_some();
	tapir_ring__unregister(&second_event);
	tapir_ring__unregister(&event);
	fire_some();
}

static void unregister_first(void)
{
	tapir_ring__unregister(&event);
	fire_some();
}

#if !defined(__SANITIZE_THREAD__) /* it cannot follow threads made after such a fork */
static void *fire_in_thread(void *arg)
{
	fire_some();
	return arg;
}
#endif

static void fire_in_threads(void)
{
#if !defined(__SANITIZE_THREAD__)
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, fire_in_thread, NULL));
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
#endif
	fire_some();
}

static void end_the_first_thread(void)
{
	fire_some();
	pthread_exit(NULL);
}

static void wait_for(pid_t pid)
{
	int status = -1;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		fprintf(stderr, "status of a child: %#x\n", status);
	CHECK(status == 0);
}

static void fork_again(void)
{
	pid_t pid;

	fire_some();
	pid = fork();
	if (!pid) {
		fire_some();
		tapir_ring__fini();
		_exit(0);
	}
	wait_for(pid);
	fire_some();
}

static void fork_before_firing(void)
{
	pid_t pid = fork();

	if (!pid) {
		fire_some();
		exit(0);
	}
	wait_for(pid);
}

/* As daemon(): the middle one ends, the last one continues. Its end is seen by a pipe. */
static void become_a_daemon(void)
{
	int fds[2];
	char byte;

	CHECK(!pipe(fds));
	if (!fork()) {
		setsid();
		if (!fork()) {
			close(fds[0]);
			fire_some();
			tapir_ring__fini();
			CHECK(write(fds[1], "k", 1) == 1);
		}
		_exit(0);
	}
	wait(NULL);
	close(fds[1]);
	CHECK(read(fds[0], &byte, 1) == 1);
	close(fds[0]);
}

static void fire_at_exit(void)
{
	fire_some();
	tapir_ring__fini();
	fire_some();
}

static void exit_with_handler(void)
{
	atexit(fire_at_exit);
	exit(0);
}

static void exit_plainly(void)
{
	exit(0);
}

static void close_all(void)
{
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	CHECK(open("/dev/null", O_RDONLY) == 3);
	CHECK(open("/dev/null", O_RDONLY) == 4);
	fire_some();
	tapir_ring__fini();
	CHECK(fcntl(3, F_GETFD) >= 0 && fcntl(4, F_GETFD) >= 0); /* not ours to close */
}

static void (*const deeds[])(void) = {
	do_nothing,
	fire_some,
	take_down,
	fire_and_take_down,
	take_down_and_begin_anew,
	register_and_unregister,
	unregister_first,
	fire_in_threads,
	end_the_first_thread,
	fork_again,
	fork_before_firing,
	become_a_daemon,
	exit_with_handler,
	exit_plainly,
	close_all,
};

/* ---- ways to make a child ---------------------------------------------------------------- */

static pid_t by_fork(void)
{
	return fork();
}

/* Without the C library: none of its handlers is called. */
static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void each_deed_by(pid_t (*make)(void))
{
	for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		pid_t pid = make();

		if (!pid) {
			alarm(30);
			deeds[i]();
			_exit(0);
		}
		if (pid > 0)
			wait_for(pid);
		CHECK(pid > 0);
	}
}

static void each_deed(void)
{
	each_deed_by(by_fork);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* they miss that one */
	each_deed_by(by_clone);
#endif
}

#endif
