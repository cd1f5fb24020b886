/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swarm [--wait] SECONDS RATE US - starts RATE processes a second for SECONDS, each of which burns
 * US microseconds of CPU in short_life() and ends. `swarm leaf US` is one of them. The witness has
 * how many there were.
 */
// build: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <spawn.h>
#include <sys/wait.h>

#include "target.h"

extern char **environ;

static volatile uint64_t sink;

/* Of its own: beside others it has none of them for all of such a time. */
static uint64_t cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static __attribute__((noipa)) void short_life(uint64_t us)
{
	uint64_t until_ns = cpu_ns() + us * 1000;

	while (cpu_ns() < until_ns)
		for (int i = 0; i < 5000; i++)
			sink += (uint64_t)i;
}

static void start_leaf(const char *self, char *us)
{
	char *argv[] = {"swarm", "leaf", us, NULL};
	pid_t pid;

	if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0)
		target__die("posix_spawn");
}

static void reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int main(int argc, char **argv)
{
	uint64_t begin_ns, rate, end_cnt;
	char self[4096] = ""; /* by its path: "exe" would be the name of what it starts */
	unsigned cnt = 0;

	if (argc == 3 && !strcmp(argv[1], "leaf")) {
		short_life(strtoull(argv[2], NULL, 10));
		return 0;
	}
	target__start(&argc, argv);
	if (argc < 4 || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 2;
	rate = strtoull(argv[2], NULL, 10);
	end_cnt = rate * strtoull(argv[1], NULL, 10);
	begin_ns = target__now_ns();
	for (; cnt < end_cnt; cnt++) {
		uint64_t due_ns = begin_ns + cnt * 1000000000u / rate, now_ns = target__now_ns();

		if (due_ns > now_ns)
			target__sleep_ns(due_ns - now_ns);
		start_leaf(self, argv[3]);
		reap();
	}
	while (wait(NULL) > 0)
		;
	printf("{\"processes\":%u}\n", cnt);
	return 0;
}
