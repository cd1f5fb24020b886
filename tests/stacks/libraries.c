// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits below functions of libraries (passed.c), all of which it opens and closes:
 *
 * libraries turns SECONDS A B     - in turn, 20 ms each, at the same addresses: below_a() is called
 * by passed_a() of the file A, below_b() by passed_b() of B libraries many DIR CNT REST MORE
 * SECONDS - CNT files of DIR, called 0, 1, 2 ..., each for a moment; REST seconds in resting();
 * MORE files; the last one for SECONDS libraries forks CNT SECONDS     - no library: CNT processes
 * that nap in below_a(), called by forked()
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SELF	__attribute__((noipa))
#define KEEP()	__asm__ __volatile__("" : : : "memory") /* no tail call before it */
#define TURN_S	0.02
#define NAP_NS	1000000
#define FORK_NS 200000000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

SELF static void nap(long ns)
{
	struct timespec t = {0, ns};

	nanosleep(&t, NULL);
	KEEP();
}

SELF static void below_a(void)
{
	nap(NAP_NS);
	KEEP();
}

SELF static void below_b(void)
{
	nap(NAP_NS);
	KEEP();
}

SELF static void pass(const char *path, const char *name, void (*fn)(void), double seconds)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*passed)(void (*)(void)) =
		library ? (void (*)(void (*)(void)))dlsym(library, name) : NULL;
	double end = now() + seconds;

	if (!passed) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	do
		passed(fn);
	while (now() < end);
	dlclose(library);
	KEEP();
}

SELF static void turns(char **argv)
{
	double end = now() + atof(argv[2]);

	while (now() < end) {
		pass(argv[3], "passed_a", below_a, TURN_S);
		pass(argv[4], "passed_b", below_b, TURN_S);
	}
}

SELF static void pass_number(const char *dir, int number, double seconds)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%d", dir, number);
	pass(path, "passed_a", below_a, seconds);
	KEEP();
}

SELF static void resting(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		nap(10 * NAP_NS);
	KEEP();
}

SELF static void many(char **argv)
{
	int cnt = atoi(argv[3]), end = cnt + atoi(argv[5]);

	for (int i = 0; i < cnt; i++)
		pass_number(argv[2], i, 0);
	printf("all open once\n");
	fflush(stdout);
	resting(atof(argv[4]));
	for (int i = cnt; i < end - 1; i++)
		pass_number(argv[2], i, 0);
	pass_number(argv[2], end - 1, atof(argv[6]));
	KEEP();
}

SELF static void forked(double end)
{
	while (now() < end) {
		below_a();
		nap(FORK_NS);
	}
	KEEP();
}

SELF static void forks(char **argv)
{
	double end = now() + atof(argv[3]);

	for (int i = atoi(argv[2]); i; i--) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			break;
		}
		if (!pid) {
			forked(end);
			_exit(0);
		}
	}
	printf("forked\n");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	if (argc == 5 && !strcmp(argv[1], "turns"))
		turns(argv);
	else if (argc == 7 && !strcmp(argv[1], "many"))
		many(argv);
	else if (argc == 4 && !strcmp(argv[1], "forks"))
		forks(argv);
	else
		return 2;
	return 0;
}
