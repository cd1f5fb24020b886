/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_watch.h - the agent's side of watched runtimes (agent/watch/watch.h). The agent's thread
 * alone.
 */
#ifndef TAPIR_USER_AGENT_WATCH_H
#define TAPIR_USER_AGENT_WATCH_H

#include "agent/agent_impl.h"

/* Nothing, where the configuration selects no process. 0 or -ENOMEM. */
int tapir_agent_watch__start(struct tapir_agent *agent);
void tapir_agent_watch__stop(struct tapir_agent *agent);

/* A task has ended: if it was the watching one, it is started again. */
void tapir_agent_watch__task_ended(struct tapir_agent *agent, pid_t pid);

/* Writes the counters and pauses of watched runtimes in Prometheus's text format. */
void tapir_agent_watch__write_metrics(const struct tapir_agent *agent, struct tapir_str *out);
/*
 * Counters of watched processes, the one called name, or all (NULL). False: not all that is asked
 * for is watched, or how it is to be recorded was stated: the request is to be recorded. is_taken:
 * the socket is a task's.
 */
bool tapir_agent_watch__answer(struct tapir_agent *agent, const char *name,
			       const struct tapir_request_params *params, int fd, bool *is_taken);

#endif
