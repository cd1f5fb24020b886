/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * agent.h - `tapir serve`: the process that has the privileges and the tokens. It parses no HTTP
 * and touches no process: HTTP processes (front.h) hand it requests, it decides who may do what,
 * and children, one per request, do it (task.h). One thread, one poll(2) loop.
 *
 * Ending it, however, ends everything it started: HTTP processes and tasks get a signal when their
 * parent dies, and a recording that ends by a signal leaves nothing in its targets.
 */
#ifndef TAPIR_USER_AGENT_H
#define TAPIR_USER_AGENT_H

#include "agent/serve_config.h"

/* Runs until SIGINT or SIGTERM. config is borrowed. 0 or -errno with lines. */
int tapir_agent__run(const struct tapir_serve_config *config);

#endif
