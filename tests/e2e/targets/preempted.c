/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * preempted SIGNALS PATH - a thread in a tight loop is preempted by SIGURG, as Go does it, SIGNALS
 * times, each after the last one was handled; halfway the other thread opens PATH, a copy of
 * `plug`, and lets it fire. SIGWINCH is blocked, so that no signal is left that means nothing.
 * preempted --catch SIGNALS PATH - SIGWINCH stays what it is.
 * preempted --work ROUNDS - the loop has ROUNDS rounds, with 100 signals per second meanwhile.
 * preempted --block PATH - blocks all signals and reads them by signalfd instead: none may come.
 * Prints {"sent": N, "handled": N, "fired": N} or {"strays": N, "fired": N}.
 */
// build: -ldl
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "target.h"

static volatile long handled;
static volatile int stop;
static volatile pid_t looping;

static void on_signal(int number)
{
	(void)number;
	handled = handled + 1;
}

static void *loop(void *rounds)
{
	looping = (pid_t)syscall(SYS_gettid);
	for (long i = 0; rounds ? i < (long)rounds : !stop; i++)
		__asm__ volatile("");
	stop = 1;
	return NULL;
}

static int be_working(long rounds)
{
	pthread_t thread;

	pthread_create(&thread, NULL, loop, (void *)rounds);
	while (!looping)
		sched_yield();
	while (!stop) {
		syscall(SYS_tgkill, getpid(), looping, SIGURG);
		target__sleep_ns(10000000);
	}
	pthread_join(thread, NULL);
	printf("{\"handled\": %ld}\n", handled);
	return 0;
}

static long fire(const char *path)
{
	void *plug = dlopen(path, RTLD_NOW);
	void (*fire_plug)(long);

	if (!plug || !(*(void **)&fire_plug = dlsym(plug, "plug_fire")))
		target__die(dlerror());
	fire_plug(20);
	return 20;
}

static int be_blocked(const char *path)
{
	struct signalfd_siginfo info;
	long strays = 0, fired;
	sigset_t all;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	fd = signalfd(-1, &all, SFD_NONBLOCK);
	fired = fire(path);
	target__sleep_ns(200000000);
	while (read(fd, &info, sizeof(info)) > 0)
		strays++;
	printf("{\"strays\": %ld, \"fired\": %ld}\n", strays, fired);
	return strays != 0;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	bool is_catching = target__option(&argc, argv, "--catch"), is_blocking, is_working;
	sigset_t set;
	long cnt, fired = 0;
	pthread_t thread;

	is_blocking = target__option(&argc, argv, "--block");
	is_working = target__option(&argc, argv, "--work");
	target__start(&argc, argv);
	if (is_blocking)
		return be_blocked(argv[1]);
	cnt = target__number(argc, argv, 1, 1);
	sigaction(SIGURG, &action, NULL);
	if (is_working)
		return be_working(cnt);
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	if (!is_catching)
		sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_create(&thread, NULL, loop, NULL);
	while (!looping)
		;
	for (long i = 0; i < cnt; i++) {
		if (i == cnt / 2)
			fired = fire(argv[2]);
		syscall(SYS_tgkill, getpid(), looping, SIGURG);
		while (handled == i)
			sched_yield();
	}
	stop = 1;
	pthread_join(thread, NULL);
	printf("{\"sent\": %ld, \"handled\": %ld, \"fired\": %ld}\n", cnt, handled, fired);
	return handled != cnt;
}
