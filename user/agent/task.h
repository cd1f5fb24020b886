/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * task.h - what a child of the agent does for one request, from its parameters to its answer. The
 * functions run in that child, block as they like, and receive SIGTERM when the client no longer
 * waits for the answer. One thread.
 */
#ifndef TAPIR_USER_TASK_H
#define TAPIR_USER_TASK_H

#include "agent/request_params.h"
#include "agent/containers.h"
#include "agent/serve_config.h"

/* Figures of a session, shared by its recording with the agent. */
struct tapir_session_shm {
	uint64_t elapsed_ns, event_cnt, sample_cnt, switch_cnt, lost_cnt, skipped_cnt, file_bytes;
	bool has_ended; /* the recording ended as it should; the rest is final */
	char error[512];
};

/* Lists of processes, shared by all tasks: made once however many ask. NULL: out of memory. */
struct tapir_shared_lists;
struct tapir_shared_lists *tapir_shared_lists__new(void);
void tapir_shared_lists__free(struct tapir_shared_lists *lists);

struct tapir_task {
	int (*run)(void *task, int client_fd);
	const struct tapir_request_params *params;
	const char *path_arg; /* "": none; of a trace that is handed out: its name */
	const struct tapir_serve_limits *limits;
	const int *state_fd; /* directory; < 0: state is memory */
	int trace_fd;	     /* of a session */
	int other_fd;	     /* of the session that it is compared with */
	const char *format;  /* of a trace that is handed out */
	struct tapir_session_shm *page;
	struct tapir_shared_lists *lists; /* of __processes and __process */
};

/*
 * Runs in the agent, before the child starts: what can be known without touching a process. -EINVAL
 * with a line.
 */
int tapir_task__check(const struct tapir_task *task);

/*
 * One for each route, as a task's function: task is the request, client_fd the socket for its
 * answer. Each returns 0 or -errno, after the client was answered.
 */
int tapir_task__processes(void *task, int client_fd);
int tapir_task__process(void *task, int client_fd);
int tapir_task__profile(void *task, int client_fd);
int tapir_task__stacks(void *task, int client_fd);
int tapir_task__view(void *task, int client_fd);
int tapir_task__findings(void *task, int client_fd);
int tapir_task__counters(void *task, int client_fd);
int tapir_task__events(void *task, int client_fd);
int tapir_task__question(void *task, int client_fd);
int tapir_task__query(void *task, int client_fd);
int tapir_task__requests(void *task, int client_fd); /* the view of that name */
int tapir_task__session(void *task, int client_fd);  /* no client: its end is in the page */
int tapir_task__trace(void *task, int client_fd);    /* hands out trace_fd */
int tapir_task__trace_findings(void *task, int client_fd);
int tapir_task__trace_query(void *task, int client_fd);
int tapir_task__trace_diff(void *task, int client_fd); /* other_fd: the first one */
int tapir_task__trace_requests(void *task, int client_fd);
int tapir_task__trace_view(void *task, int client_fd); /* path_arg: the view's name */

/* Answers with a whole JSON document. */
int tapir_task__send_json(int client_fd, const char *text, size_t len);

/* Returns true if it attaches to processes: the functions that limits.sessions counts. */
bool tapir_task__records(const struct tapir_task *task);

/* The processes are those that the client means: -ESRCH, -EEXIST with a line: they are not. */
int tapir_task__check_processes(const struct tapir_request_params *params);

/* The same, and the cgroups of its container or pod, borrowed from containers. -ENOENT: no such
 * one. */
int tapir_task__find_target(struct tapir_request_params *params,
			    struct tapir_containers *containers);

/* Creates a trace without a name, which ends with its last descriptor. -errno with a line. */
int tapir_task__open_trace(int state_fd);

#endif
