// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * caller - makes system calls that no library makes on its own, and counts them by their results.
 *
 *	caller [--wait] THREADS CALLS
 *
 * Each thread calls getppid(2), close(2) of nothing (EBADF), openat(2) of files that are not there
 * (ENOENT) and its own caller_twice(), renames itself and sends its process a signal that it
 *blocks, CALLS times each; and sleeps for 2 ms, four times. The last line is what all of them did,
 *as JSON.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "target.h"

#define SLEEPS	 4
#define SLEEP_NS 2000000

static uint64_t call_cnt;

struct thread {
	uint64_t twice, getppid, ebadf, enoent, renames, signals;
};

/* Found by its symbol. */
__attribute__((noinline)) uint64_t caller_twice(uint64_t number);

uint64_t caller_twice(uint64_t number)
{
	__asm__ volatile("" : "+r"(number));
	return 2 * number;
}

/* A C++ function by its symbol: caller::thrice(unsigned long), which is called as often. */
__attribute__((noinline)) uint64_t thrice(uint64_t number) __asm__("_ZN6caller6thriceEm");

uint64_t thrice(uint64_t number)
{
	__asm__ volatile("" : "+r"(number));
	return 3 * number;
}

static void *run(void *arg)
{
	const struct timespec nap = {.tv_nsec = SLEEP_NS};
	struct thread *t = arg;
	char text[64];

	for (uint64_t i = 0; i < call_cnt; i++) {
		t->twice += caller_twice(i);
		thrice(i);
		t->getppid += syscall(SYS_getppid) >= 0;
		t->ebadf += syscall(SYS_close, -1) < 0 && errno == EBADF;
		snprintf(text, sizeof(text), "/nowhere/caller-%" PRIu64, i % 3);
		t->enoent += syscall(SYS_openat, AT_FDCWD, text, O_RDONLY) < 0 && errno == ENOENT;
		snprintf(text, sizeof(text), "renamed-%" PRIu64, i % 2);
		t->renames += !prctl(PR_SET_NAME, text);
		t->signals += !kill(getpid(), SIGUSR2);
	}
	for (int i = 0; i < SLEEPS; i++)
		syscall(SYS_nanosleep, &nap, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct thread threads[TARGET_MAX_THREADS];
	struct thread all = {};
	long thread_cnt;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	target__start(&argc, argv);
	thread_cnt = target__number(argc, argv, 1, 1);
	call_cnt = (uint64_t)target__number(argc, argv, 2, 100);
	if (!target__run_threads(run, threads, sizeof(*threads), thread_cnt))
		return 2;
	for (long i = 0; i < thread_cnt; i++) {
		all.twice += threads[i].twice;
		all.getppid += threads[i].getppid;
		all.ebadf += threads[i].ebadf;
		all.enoent += threads[i].enoent;
		all.renames += threads[i].renames;
		all.signals += threads[i].signals;
	}
	printf("{\"twice\": %" PRIu64 ", \"getppid\": %" PRIu64 ", \"ebadf\": %" PRIu64
	       ", \"enoent\": %" PRIu64 ", \"renames\": %" PRIu64 ", \"signals\": %" PRIu64
	       ", \"sleeps\": %ld, \"slept_ns\": %" PRIu64 "}\n",
	       all.twice, all.getppid, all.ebadf, all.enoent, all.renames, all.signals,
	       SLEEPS * thread_cnt, (uint64_t)SLEEPS * thread_cnt * SLEEP_NS);
	return 0;
}
