/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent_push.h - the agent's side of pushing (agent/push/push.h): a child that sends, without
 * privileges, and what it is given. Nothing here waits: what the child cannot take now is dropped
 * and counted. One thread, the agent's.
 */
#ifndef TAPIR_USER_AGENT_PUSH_H
#define TAPIR_USER_AGENT_PUSH_H

#include "base/json.h"
#include "agent/agent_impl.h"

/* Nothing, where the configuration names no target. 0 or -errno with lines. */
int tapir_agent_push__start(struct tapir_agent *agent);
void tapir_agent_push__stop(struct tapir_agent *agent);
/* A task has ended: if it was the child, it is started again. */
void tapir_agent_push__task_ended(struct tapir_agent *agent, pid_t pid);

/*
 * Returns the length of the parts of the continuous recording from which profiles are made; 0: no
 * target wants profiles.
 */
uint64_t tapir_agent_push__part_ns(const struct tapir_serve_config *config);
/* Takes a part, also its descriptor: for each target of profiles. */
void tapir_agent_push__take_part(struct tapir_agent *agent, int fd, uint64_t from_utc_ns,
				 uint64_t until_utc_ns);
/* Passes a finished recording, borrowed, to each target of recordings. */
void tapir_agent_push__take_session(struct tapir_agent *agent, const char *id, int fd);

/* Returns the time that a poll(2) may take before figures are due: ms; -1: any. */
int tapir_agent_push__timeout_ms(const struct tapir_agent *agent);
/* Figures in Prometheus's text format, borrowed, for each target whose time it is. */
bool tapir_agent_push__wants_metrics(const struct tapir_agent *agent);
void tapir_agent_push__take_metrics(struct tapir_agent *agent, const struct tapir_str *text);

/*
 * Writes "push": how many targets there are, and to how many the last attempt failed. No names: any
 * client may read it.
 */
void tapir_agent_push__write_health(const struct tapir_agent *agent, struct tapir_json *j);
void tapir_agent_push__write_metrics(const struct tapir_agent *agent, struct tapir_str *out);

#endif
