/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio_subreaper.h - the process between a program and the agent that it has started. It takes
 * over what processes of the agent leave behind, so that the program, which may be the first
 * process of a container, gets no children that it does not know; and it ends after the last of
 * them. Before the process has threads.
 */
#ifndef TAPIR_USER_STDIO_SUBREAPER_H
#define TAPIR_USER_STDIO_SUBREAPER_H

#include <stdint.h>

/*
 * Returns in a child, in a session of its own, that is asked to end when the subreaper dies. The
 * calling process becomes the subreaper: it hands on SIGTERM and SIGINT, and ends with the child's
 * exit code. program: who has started it. 0 or -errno.
 */
int tapir_stdio_subreaper__start(uint32_t *program);

#endif
