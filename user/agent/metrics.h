/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * metrics.h - the agent's own figures in Prometheus's text format, for GET /metrics and for targets
 * of pushes. Costs a walk over the agent's sessions and tasks; no other process is asked. One
 * thread.
 */
#ifndef TAPIR_USER_SERVE_METRICS_H
#define TAPIR_USER_SERVE_METRICS_H

#include "agent/agent_impl.h"

/* Hands the figures to targets of pushes that are due; does nothing if none is. */
void tapir_metrics__push(struct tapir_agent *agent);

/* Appends the figures to out; a lack of memory is in out->failed. */
void tapir_metrics__write(struct tapir_agent *agent, struct tapir_str *out);

#endif
