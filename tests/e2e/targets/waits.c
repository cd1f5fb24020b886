/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits CHILDREN PATH... - threads wait in epoll_wait, sem_timedwait, sigtimedwait and a read of
 * inotify, while the first one opens each PATH (copies of `plug`) and starts CHILDREN children,
 * whose ends it ignores by default. No handler ever runs: whatever ends a wait is a failure. Prints
 * {"interrupted": N, "short": N}: waits that failed with EINTR, and that ended early.
 */
// build: -ldl
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/wait.h>

#include "target.h"

#define WAIT_MS 1500

static int interrupted, too_short;

static void judge(const char *what, long result, uint64_t began_ns)
{
	if (result < 0 && errno == EINTR) {
		fprintf(stderr, "interrupted: %s\n", what);
		__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	} else if (target__now_ns() - began_ns < WAIT_MS * 990000ull)
		__atomic_add_fetch(&too_short, 1, __ATOMIC_RELAXED);
}

static void *wait_epoll(void *arg)
{
	struct epoll_event event;
	uint64_t began_ns = target__now_ns();

	(void)arg;
	judge("epoll_wait", epoll_wait(epoll_create1(0), &event, 1, WAIT_MS), began_ns);
	return NULL;
}

static void *wait_semaphore(void *arg)
{
	uint64_t began_ns = target__now_ns();
	struct timespec until;
	sem_t sem;

	(void)arg;
	sem_init(&sem, 0, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1;
	until.tv_nsec += (WAIT_MS - 1000) * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	judge("sem_timedwait", sem_timedwait(&sem, &until), began_ns);
	return NULL;
}

static void *wait_signal(void *arg)
{
	struct timespec wait = {1, (WAIT_MS - 1000) * 1000000};
	uint64_t began_ns = target__now_ns();
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1); /* blocked by target__start */
	judge("sigtimedwait", sigtimedwait(&set, NULL, &wait), began_ns);
	return NULL;
}

/* Ends with the program: nothing ever happens there. */
static void *wait_inotify(void *arg)
{
	char buf[256];

	(void)arg;
	if (read(inotify_init1(0), buf, sizeof(buf)) < 0)
		__atomic_add_fetch(&interrupted, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void start_children(long cnt)
{
	for (long i = 0; i < cnt; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		target__sleep_ns(
			5000000); /* it ends before it is waited for: SIGCHLD comes meanwhile */
		if (waitpid(pid, &status, 0) != pid || status)
			too_short += 1000;
	}
}

int main(int argc, char **argv)
{
	void *(*const waits[])(void *) = {wait_epoll, wait_semaphore, wait_signal, wait_inotify};
	pthread_t threads[4];

	target__start(&argc, argv);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, waits[i], NULL);
	target__sleep_ns(100000000);
	for (int i = 2; i < argc; i++)
		if (!dlopen(argv[i], RTLD_NOW))
			target__die(dlerror());
	start_children(target__number(argc, argv, 1, 0));
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("{\"interrupted\": %d, \"short\": %d}\n", interrupted, too_short);
	return interrupted || too_short;
}
