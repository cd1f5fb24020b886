// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A subreaper (prctl(2)) that waits for its child and for those whose parents have died: a program
 * that is process 1 of a container would otherwise collect children it does not know.
 */
#include "agent/http/stdio_subreaper.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* All that have ended; false: there are no more. */
static bool reap(pid_t child, int *exit_code)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == child)
			*exit_code =
				WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return !pid;
}

static _Noreturn void await_child(pid_t child, const sigset_t *set)
{
	int exit_code = 1;

	/* The pipes are the child's: their ends must be seen. */
	close_range(0, 1, 0);
	while (reap(child, &exit_code)) {
		int signal_number = sigwaitinfo(set, NULL);

		if (signal_number == SIGTERM || signal_number == SIGINT)
			kill(child, SIGTERM);
	}
	_exit(exit_code);
}

int tapir_stdio_subreaper__start(uint32_t *program)
{
	pid_t subreaper = getpid(), child;
	sigset_t set, before;

	*program = (uint32_t)getppid();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		return -errno;
	setsid(); /* a terminal's signals are for the program */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &before);
	child = fork();
	if (child < 0)
		return -errno;
	if (child)
		await_child(child, &set);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 0) || prctl(PR_SET_PDEATHSIG, SIGTERM) ||
	    getppid() != subreaper)
		return -ECHILD;
	return 0;
}
