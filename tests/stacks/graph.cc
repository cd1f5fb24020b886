// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * graph MODE SECONDS - calls functions that are known to the caller, to the last edge: graph.py has the table. Each
 * construct that an unwinder must know has a function: calls through the PLT, alloca, a realigned stack, a signal
 * handler, leaf functions, deep recursion, a coroutine, and in C++ an exception. MODE cpu burns in them, waits sleeps
 * in them, both on two threads. Probes: graph:leaf, now and then, in a function without a frame; graph:bottom before a wait.
 *
 * C and C++, so that it can be built by both compilers, with any flags.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <alloca.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "tapir/usdt.h"

#define SELF	       __attribute__((noipa))
#define KEEP(x)	       __asm__ __volatile__("" : : "g"(x) : "memory") /* no tail call before it */
#define SPIN_TURNS     4000
#define DEEP	       40
#define COROUTINE_SIZE (64 * 1024)
#define NAP_NS	       2000000
#define PROBED	       64 /* one of so many calls of leaf */

static volatile uint64_t sink;
static int is_waiting; /* MODE waits */

/* No frame of its own at any level of optimization. */
SELF static uint64_t leaf(uint64_t n)
{
	uint64_t sum = n;

	if (n % PROBED == 0)
		TAPIR_PROBE(graph, leaf, n);
	for (int i = 0; i < SPIN_TURNS; i++)
		sum = sum * 31 + (sum >> 7);
	return sum;
}

/* Burns, or waits: the end of each way through the graph. */
SELF static void bottom(void)
{
	struct timespec nap = {0, NAP_NS};

	if (is_waiting) {
		TAPIR_PROBE(graph, bottom, nap.tv_nsec);
		nanosleep(&nap, NULL);
	} else {
		sink += leaf(sink);
	}
	KEEP(nap.tv_nsec);
}

SELF static void by_poll(void)
{
	if (is_waiting)
		KEEP(poll(NULL, 0, 2));
	else
		bottom();
	KEEP(0);
}

SELF static void by_condition(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += NAP_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	if (is_waiting)
		pthread_cond_timedwait(&cond, &mutex, &until);
	else
		bottom();
	pthread_mutex_unlock(&mutex);
}

SELF static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (x == y)
		return 0;
	bottom();
	return x < y ? -1 : 1;
}

SELF static void by_plt(void)
{
	int values[3] = {3, 1, 2};

	qsort(values, 3, sizeof(values[0]), compare);
	KEEP(values[0]);
}

SELF static void by_alloca(size_t bytes)
{
	char *place = (char *)alloca(bytes);

	memset(place, 1, bytes);
	bottom();
	KEEP(place[bytes - 1]);
}

/* Its frame is at *(rbp + n): the stack pointer it came with was not a multiple of 64. */
SELF static void by_realigned(size_t bytes)
{
	char place[64] __attribute__((aligned(64)));
	char *more = (char *)alloca(bytes);

	memset(place, (int)bytes, sizeof(place));
	KEEP(place);
	bottom();
	KEEP(more);
	KEEP(place);
}

SELF static void by_many_arguments(long a, long b, long c, long d, long e, long f, long g, long h)
{
	bottom();
	KEEP(a + b + c + d + e + f + g + h);
}

SELF static void on_signal(int number)
{
	bottom();
	KEEP(number);
}

SELF static void by_signal(void)
{
	raise(SIGUSR2);
	KEEP(0);
}

SELF static uint64_t deep(int n)
{
	uint64_t sum = (uint64_t)n;

	if (n > 0)
		sum += deep(n - 1);
	else
		bottom();
	KEEP(sum);
	return sum;
}

static __thread ucontext_t caller_context, coroutine_context;

SELF static void coroutine(void)
{
	bottom();
	KEEP(0);
}

SELF static void by_coroutine(void)
{
	static __thread char stack[COROUTINE_SIZE];

	getcontext(&coroutine_context);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = sizeof(stack);
	coroutine_context.uc_link = &caller_context;
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&caller_context, &coroutine_context);
	KEEP(0);
}

#ifdef __cplusplus
SELF static void thrower(int n)
{
	bottom();
	if (n >= 0)
		throw n;
	KEEP(n);
}

struct cleaner {
	~cleaner()
	{
		sink++;
	}
};

SELF static void by_exception(void)
{
	try {
		cleaner c;

		thrower(1);
	} catch (int n) {
		bottom();
		KEEP(n);
	}
}
#else
static void by_exception(void) {}
#endif

SELF static void turn(int n)
{
	switch (n % 10) {
	case 0: by_plt(); break;
	case 1: by_alloca(32 + (size_t)n % 64); break;
	case 2: by_realigned(16 + (size_t)n % 64); break;
	case 3: by_many_arguments(1, 2, 3, 4, 5, 6, 7, n); break;
	case 4: by_signal(); break;
	case 5: sink += deep(DEEP); break;
	case 6: by_coroutine(); break;
	case 7: by_poll(); break;
	case 8: by_condition(); break;
	default: by_exception();
	}
	KEEP(n);
}

static double seconds;

SELF static void turns(void)
{
	struct timespec now;
	double end;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
	for (int n = 0; (double)now.tv_sec + (double)now.tv_nsec / 1e9 < end; n++) {
		turn(n);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
}

SELF static void *thread_main(void *argument)
{
	turns();
	KEEP(argument);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 2;
	is_waiting = !strcmp(argv[1], "waits");
	seconds = atof(argv[2]);
	signal(SIGUSR2, on_signal);
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	if (pthread_create(&thread, NULL, thread_main, NULL))
		return 1;
	turns();
	pthread_join(thread, NULL);
	return 0;
}
