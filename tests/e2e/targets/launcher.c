/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * launcher [--wait] PROGRAM ARGS... - fires launcher:before(0), executes PROGRAM in a child and
 * returns its exit status.
 */
#include <sys/wait.h>

#include "target.h"

int main(int argc, char **argv)
{
	int status = 0;
	pid_t pid;

	target__start(&argc, argv);
	TAPIR_PROBE(launcher, before, 0);
	pid = fork();
	if (pid == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	printf("child %d\n", (int)pid);
	fflush(stdout);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		target__die("fork");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
