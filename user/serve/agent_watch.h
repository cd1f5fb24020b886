/* SPDX-License-Identifier: GPL-2.0-or-later */
/* agent_watch.h - the agent's side of watched runtimes (watch/watch.h). The agent's thread alone.
 */
#ifndef TAPIR_USER_AGENT_WATCH_H
#define TAPIR_USER_AGENT_WATCH_H

#include "serve/agent_impl.h"

/*
 * How long a child that should always run stays away after it has ended: a second, or, where it
 * ends soon each time, twice as long as before (wait_ns), at most a minute.
 */
uint64_t tapir_agent__next_wait_ns(uint64_t started_ns, uint64_t wait_ns);

/* Nothing, where the configuration selects no process. 0 or -ENOMEM. */
int tapir_agent_watch__start(struct tapir_agent *agent);
void tapir_agent_watch__stop(struct tapir_agent *agent);

/* A task has ended: perhaps this one, which starts again after a while. */
void tapir_agent_watch__task_ended(struct tapir_agent *agent, pid_t pid);
bool tapir_agent_watch__is_waiting(const struct tapir_agent *agent);
void tapir_agent_watch__check(struct tapir_agent *agent);

void tapir_agent_watch__write_metrics(const struct tapir_agent *agent, struct tapir_str *out);
/*
 * Counters of watched processes, the one called name, or all (NULL). False: not all that is asked
 * for is watched, or how it is to be recorded was stated: the request is to be recorded. is_taken:
 * the socket is a task's.
 */
bool tapir_agent_watch__answer(struct tapir_agent *agent, const char *name,
			       const struct tapir_ask *ask, int fd, bool *is_taken);

#endif
