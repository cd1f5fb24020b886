/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task.h - what a child of the agent does for one request, from its parameters to its answer. The
 * functions run in that child, block as they like, and are told by SIGTERM that nobody wants the
 * answer any more.
 */
#ifndef TAPIR_USER_TASK_H
#define TAPIR_USER_TASK_H

#include "serve/ask.h"
#include "serve/serve_config.h"

struct tapir_task {
	int (*run)(void *task, int client_fd);
	const struct tapir_ask *ask;
	const char *path_arg; /* "": none */
	const struct tapir_serve_limits *limits;
	const int *state_fd; /* directory; < 0: state is memory */
};

/*
 * In the agent, before the child starts: what can be known without touching a process. -EINVAL with
 * a line.
 */
int tapir_task__check(const struct tapir_task *task);

int tapir_task__processes(void *task, int client_fd);
int tapir_task__process(void *task, int client_fd);
int tapir_task__profile(void *task, int client_fd);

/* A trace that nobody else can open and that goes with its last descriptor. -errno with a line. */
int tapir_task__open_trace(int state_fd);
/* Hands out a trace: HEAD, content in this format, END; or an error. name: before the suffix. */
int tapir_task__send_trace(int trace_fd, const char *format, const char *name, int client_fd);

#endif
