/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * continuous.h - the agent's flight recorder (flight/flight.h): a child that keeps the last part of
 * a recording. What it freezes becomes a finished session of the agent. One message per file comes
 * from the child, with the file's descriptor. One thread, the agent's.
 */
#ifndef TAPIR_USER_CONTINUOUS_H
#define TAPIR_USER_CONTINUOUS_H

#include "agent/agent_impl.h"

/* Starts the recorder, where the configuration has a size for it. 0 or -errno with lines. */
int tapir_continuous__start(struct tapir_agent *agent);
/* Ends it; what it kept and was not asked to write is gone. */
void tapir_continuous__stop(struct tapir_agent *agent);
/* Takes the files that have come. */
void tapir_continuous__take(struct tapir_agent *agent);
/* A task has ended: if it was the recorder, it is started again. */
void tapir_continuous__task_ended(struct tapir_agent *agent, pid_t pid);

/* Writes the last part now, for the caller, or without one (NULL): 0, -ENOENT: it does not run. */
int tapir_continuous__freeze(struct tapir_agent *agent, const struct tapir_caller *caller);
/* Answers GET with what it does; POST freezes. */
void tapir_continuous__answer(struct tapir_agent *agent, const struct tapir_wire_request *rq,
			      const struct tapir_caller *caller, int fd);

#endif
