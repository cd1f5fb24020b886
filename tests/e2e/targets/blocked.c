/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocked CNT - CNT threads of each kind of wait, all of which sleep until the program ends: a
 * mutex, a condition, a semaphore, a pipe, poll(2), nanosleep(2), and one that waits in a signal
 * handler that interrupted a wait. Without frame pointers, as distributions build programs.
 */
// build: -O2 -fomit-frame-pointer -fno-optimize-sibling-calls
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "target.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int pipe_fds[2];

static __attribute__((noipa)) void in_mutex(void)
{
	pthread_mutex_lock(&mutex);
}

static __attribute__((noipa)) void in_condition(void)
{
	pthread_mutex_lock(&other);
	for (;;)
		pthread_cond_wait(&condition, &other);
}

static __attribute__((noipa)) void in_semaphore(void)
{
	while (sem_wait(&semaphore))
		;
}

static __attribute__((noipa)) void in_pipe(void)
{
	char byte;

	while (read(pipe_fds[0], &byte, 1) < 0)
		;
}

static __attribute__((noipa)) void in_poll(void)
{
	struct pollfd fd = {.fd = pipe_fds[0], .events = POLLIN};

	while (poll(&fd, 1, -1) < 0)
		;
}

static __attribute__((noipa)) void in_sleep(void)
{
	for (;;)
		sleep(1000);
}

static void on_signal(int number)
{
	(void)number;
	in_pipe();
}

static __attribute__((noipa)) void in_handler(void)
{
	pthread_kill(pthread_self(), SIGUSR1);
}

/* A frame of its own size, by which a walk that guesses is led astray. */
static __attribute__((noipa)) void deeper(unsigned depth, void (*last)(void))
{
	volatile char room[depth * 24 + 8];

	room[0] = (char)depth;
	if (depth)
		deeper(depth - 1, last);
	else
		last();
	room[depth] = room[0];
}

static void *begin(void *last)
{
	deeper(10, (void (*)(void))last);
	return NULL;
}

int main(int argc, char **argv)
{
	static void (*const kinds[])(void) = {in_mutex, in_condition, in_semaphore, in_pipe,
					      in_poll,	in_sleep,     in_handler};
	int cnt = argc > 1 ? atoi(argv[1]) : 1;
	pthread_attr_t attr;
	pthread_t thread;

	signal(SIGUSR1, on_signal);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	if (pipe(pipe_fds) || sem_init(&semaphore, 0, 0))
		return 1;
	pthread_mutex_lock(&mutex);
	for (unsigned kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		for (int i = 0; i < cnt; i++)
			if (pthread_create(&thread, &attr, begin, (void *)kinds[kind]))
				return 1;
	usleep(200000);
	puts("ready");
	fflush(stdout);
	deeper(5, in_sleep);
	return 0;
}
