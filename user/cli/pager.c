// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pager is a child of the same process group, so Ctrl-C reaches both: less stays, tapir ignores
 * it. When the pager exits before all was written, tapir exits, too: the rest has no reader.
 */
#include "cli/pager.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/render/screen.h"
#include "record/command.h"

static volatile pid_t pager;

static void on_child(int number)
{
	int saved_errno = errno;

	(void)number;
	if (pager > 0 && waitpid(pager, NULL, WNOHANG) == pager)
		_exit(0);
	errno = saved_errno;
}

/* A pager closes its input before its parent learns of its end. */
static void on_closed_input(int number)
{
	(void)number;
	_exit(pager > 0 ? 0 : 128 + SIGPIPE);
}

/* NULL: none is wanted. */
static const char *choose_pager(void)
{
	const char *command = getenv("PAGER");

	if (!command)
		return "less";
	return *command && strcmp(command, "cat") ? command : NULL;
}

static void become_pager(const char *command, const int fds[2])
{
	setenv("LESS", "FRX", 0);
	if (!geteuid())
		setenv("LESSSECURE", "1",
		       0); /* no shell, no files: the text is a traced process's */
	if (dup2(fds[0], STDIN_FILENO) < 0)
		_exit(127);
	close(fds[0]);
	close(fds[1]);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* The shell would fail only when everything is written already. */
static bool is_there(const char *command)
{
	char program[PATH_MAX], path[PATH_MAX];

	snprintf(program, sizeof(program), "%.*s", (int)strcspn(command, " \t"), command);
	return tapir_command__find(program, path) && !access(path, X_OK);
}

void tapir_pager__start(const struct tapir_cli *cli)
{
	const char *command = choose_pager();
	struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
	int fds[2];
	pid_t child;

	if (cli->no_pager || !command || !isatty(STDOUT_FILENO) || !is_there(command) || pipe(fds))
		return;
	child = fork();
	if (child == 0)
		become_pager(command, fds);
	if (child > 0 && dup2(fds[1], STDOUT_FILENO) == STDOUT_FILENO) {
		pager = child;
		tapir_screen__set_paged(true);
		sigaction(SIGCHLD, &action, NULL);
		signal(SIGPIPE, on_closed_input);
		signal(SIGINT, SIG_IGN);
	}
	close(fds[0]);
	close(fds[1]);
}

void tapir_pager__stop(void)
{
	pid_t child = pager;

	if (child <= 0)
		return;
	pager = 0;
	tapir_screen__set_paged(false);
	fflush(stdout);
	close(STDOUT_FILENO);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}
