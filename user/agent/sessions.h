/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sessions.h - recordings that outlive the request that began them. Each is a task of the agent
 * that writes to a file of the state directory, or to memory; when it has ended, its trace is kept
 * until it is deleted, or until newer ones need its place. An agent that starts again finds the
 * traces of the one before; those that did not end with their recording are "cut".
 *
 * The agent's thread alone.
 */
#ifndef TAPIR_USER_SERVE_SESSIONS_H
#define TAPIR_USER_SERVE_SESSIONS_H

#include "agent/agent_impl.h"
#include "agent/task.h"

#define TAPIR_FROZEN_WHY_BYTES 112

/* Reads what an earlier agent left; __close frees it, files stay. 0 or -errno with a line. */
int tapir_sessions__open(struct tapir_agent *agent);
void tapir_sessions__close(struct tapir_sessions *sessions);

/*
 * A task has ended, with this status of waitpid(2): if it was the recording of a session, that is
 * complete, and clients that wait for it are answered; if it sent the trace of a session that is
 * deleted, and succeeded, the session goes.
 */
void tapir_sessions__task_ended(struct tapir_agent *agent, pid_t pid, int status);
/* Returns true if __check has to be called each second: for a lease, or counts that are missing. */
bool tapir_sessions__are_watched(const struct tapir_sessions *sessions);
void tapir_sessions__check(struct tapir_agent *agent);

/*
 * The routes of sessions, for a caller whose role permits it. params: of the request. true: the
 * socket belongs to a task now, or to a session that ends; else it was answered and remains the
 * caller's.
 */
bool tapir_sessions__handle(struct tapir_agent *agent, const struct tapir_wire_request *rq,
			    const struct tapir_request_params *params,
			    const struct tapir_caller *caller, int fd);

/* A file of the continuous recording: it becomes a session that has ended. fd: taken. */
struct tapir_frozen {
	int fd;
	uint64_t ns;
	const char *why, *owner; /* owner "": administrators alone */
};
/* Takes a frozen part, also its descriptor, as a finished session. */
void tapir_sessions__adopt(struct tapir_agent *agent, const struct tapir_frozen *frozen);

/* Returns the number of sessions, for the metrics. */
size_t tapir_sessions__cnt(const struct tapir_sessions *sessions);

#endif
