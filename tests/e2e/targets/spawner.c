/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spawner [--wait] [--own-path] CHILDREN COUNT - forks and execs itself CHILDREN times, one after
 * the other; each child fires spawner:hit(child, i) COUNT times as the first thing it does and is
 * gone. --own-path: by the path it was started with, so that children have the name of that link.
 */
#include <sys/wait.h>

#include "target.h"

static int be_child(long child, long hits)
{
	for (long i = 0; i < hits; i++)
		TAPIR_PROBE(spawner, hit, child, i);
	return 0;
}

static const char *path = "/proc/self/exe";

static pid_t spawn(long child, char *hits)
{
	char number[24];
	char *argv[] = {"spawner", "--child", number, hits, NULL};
	pid_t pid;

	snprintf(number, sizeof(number), "%ld", child);
	pid = fork();
	if (pid == 0) {
		execv(path, argv);
		_exit(127);
	}
	return pid;
}

int main(int argc, char **argv)
{
	long child_cnt, bad_exits = 0;

	if (target__option(&argc, argv, "--child"))
		return be_child(target__number(argc, argv, 1, 0), target__number(argc, argv, 2, 0));
	if (target__option(&argc, argv, "--own-path"))
		path = argv[0];
	target__start(&argc, argv);
	child_cnt = target__number(argc, argv, 1, 1);
	printf("{\"children\": [");
	for (long child = 0; child < child_cnt; child++) {
		int status = 0;
		pid_t pid;

		fflush(stdout);
		pid = spawn(child, argc > 2 ? argv[2] : "1");
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			target__die("fork");
		bad_exits += status != 0;
		printf("%s%d", child ? ", " : "", (int)pid);
	}
	printf("], \"fired_each\": %ld, \"bad_exits\": %ld}\n", target__number(argc, argv, 2, 1),
	       bad_exits);
	return 0;
}
