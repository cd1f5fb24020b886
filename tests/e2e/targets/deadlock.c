/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deadlock KIND - KIND normal, robust, pi or self: "left" and "right" lock two mutexes of that kind
 * in opposite order ("self": "left" locks its own again); "crowd-N" wait for the first one.
 * "ready" when all of them wait. KIND none: eight threads lock the first one again and again, and
 * none waits for ever.
 */
// build: -O2 -fomit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

#define CROWD	3
#define HAMMERS 8

static pthread_mutex_t first, second;
static pthread_barrier_t both;
static const char *kind;

static __attribute__((noipa)) void take(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
}

static void *left(void *arg)
{
	take(&first);
	pthread_barrier_wait(&both);
	take(strcmp(kind, "self") ? &second : &first);
	return arg;
}

static void *right(void *arg)
{
	take(&second);
	pthread_barrier_wait(&both);
	if (!strcmp(kind, "self"))
		pause();
	take(&first);
	return arg;
}

static void *crowd(void *arg)
{
	take(&first);
	return arg;
}

static void *hammer(void *arg)
{
	volatile unsigned long work = 0;

	for (;;) {
		take(&first);
		while (++work % 800000)
			;
		usleep(300);
		pthread_mutex_unlock(&first);
		usleep(100);
	}
	return arg;
}

static void start(const char *name, void *(*run)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_setname_np(thread, name);
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;

	kind = argc > 1 ? argv[1] : "normal";
	pthread_mutexattr_init(&attr);
	if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!strcmp(kind, "pi"))
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&first, &attr);
	pthread_mutex_init(&second, &attr);
	for (int i = 0; i < HAMMERS && !strcmp(kind, "none"); i++)
		start("hammer", hammer);
	if (!strcmp(kind, "none")) {
		puts("ready");
		fflush(stdout);
		pause();
	}
	pthread_barrier_init(&both, NULL, 3);
	start("left", left);
	start("right", right);
	pthread_barrier_wait(&both);
	for (int i = 0; i < CROWD; i++) {
		char name[16];

		snprintf(name, sizeof(name), "crowd-%d", i);
		start(name, crowd);
	}
	usleep(200000);
	printf("ready %p\n", (void *)&first);
	fflush(stdout);
	pause();
	return 0;
}
