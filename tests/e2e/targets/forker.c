/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forker [--wait] CHILDREN COUNT - forks without exec, one child after the other; the parent
 * fires forker:parent(i) and each child forker:child(child, i), COUNT times. A child that
 * dies at a probe site shows in "bad_exits".
 */
#include <sys/wait.h>

#include "target.h"

int main(int argc, char **argv)
{
	long child_cnt, hits, bad_exits = 0;

	target__start(&argc, argv);
	child_cnt = target__number(argc, argv, 1, 1);
	hits = target__number(argc, argv, 2, 1);
	for (long i = 0; i < hits; i++)
		TAPIR_PROBE(forker, parent, i);
	printf("{\"parent\": %d, \"parent_fired\": %ld, \"children\": [", (int)getpid(), hits);
	for (long child = 0; child < child_cnt; child++) {
		int status = 0;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			for (long i = 0; i < hits; i++)
				TAPIR_PROBE(forker, child, child, i);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			target__die("fork");
		bad_exits += status != 0;
		printf("%s%d", child ? ", " : "", (int)pid);
	}
	printf("], \"child_fired\": %ld, \"bad_exits\": %ld}\n", hits, bad_exits);
	return 0;
}
