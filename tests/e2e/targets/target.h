/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target.h - what the traced programs share: the line "pid N" at their start, waiting until
 * the test says go, and the clock. A target is deterministic, uses libc and usdt.h only, and
 * ends with one line of JSON that says what it fired: the witness a test compares with.
 */
#ifndef TAPIR_TARGET_H
#define TAPIR_TARGET_H

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tapir/usdt.h"

static inline uint64_t target__now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of the calling thread. */
static inline uint64_t target__cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void target__sleep_ns(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	while (nanosleep(&left, &left) != 0)
		;
}

static inline _Noreturn void target__die(const char *what)
{
	perror(what);
	exit(1);
}

/* Takes `option` out of the arguments; true if it was there. */
static inline bool target__option(int *argc, char **argv, const char *option)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], option) != 0)
			continue;
		memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv));
		--*argc;
		return true;
	}
	return false;
}

/* The number at position `i` of the arguments, `fallback` if there are fewer. */
static inline long target__number(int argc, char **argv, int i, long fallback)
{
	return i < argc ? strtol(argv[i], NULL, 10) : fallback;
}

/* Prints its pid; with --wait among the arguments it continues at SIGUSR1. Call it before any
 * thread is made: they inherit the mask. */
static inline void target__start(int *argc, char **argv)
{
	bool wait = target__option(argc, argv, "--wait");
	sigset_t set;
	int signal_number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	if (wait)
		sigwait(&set, &signal_number);
}

#define TARGET_MAX_THREADS 16

/*
 * Calls run(element) in as many threads as an array of elements of so many bytes has, and waits for
 * all. False: there are none, or too many.
 */
static inline bool target__run_threads(void *(*run)(void *), void *elements, size_t bytes, long cnt)
{
	pthread_t threads[TARGET_MAX_THREADS];

	if (cnt < 1 || cnt > TARGET_MAX_THREADS)
		return false;
	for (long i = 0; i < cnt; i++)
		if (pthread_create(&threads[i], NULL, run, (char *)elements + i * (long)bytes))
			target__die("pthread_create");
	for (long i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	return true;
}

/* text as a JSON string. */
static inline void target__print_json(const char *text)
{
	if (!text) {
		printf("null");
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('"');
}

#endif /* TAPIR_TARGET_H */
