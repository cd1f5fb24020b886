/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.h - the agent's own figures in Prometheus's text format. One thread. */
#ifndef TAPIR_USER_SERVE_METRICS_H
#define TAPIR_USER_SERVE_METRICS_H

#include "agent/agent_impl.h"

/* To targets whose time it is. */
void tapir_metrics__push(struct tapir_agent *agent);

/*
 * Writes the agent's own metrics in Prometheus's text format.
 */
void tapir_metrics__write(struct tapir_agent *agent, struct tapir_str *out);

#endif
