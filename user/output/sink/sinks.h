/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sinks.h - all sinks: what `tapir export --format` takes. The command line, its help and
 * completion, the agent, its pages and the Model Context Protocol read this table. Constant; __run:
 * one thread.
 */
#ifndef TAPIR_USER_SINKS_H
#define TAPIR_USER_SINKS_H

#include "output/sink/sink.h"

extern const struct tapir_sink *const tapir_sinks[]; /* ended by NULL */

/* The name of the i-th format; NULL after the last. */
const char *tapir_sink__name(size_t i);
/* Returns the format of that name; NULL: there is none, or name is NULL. */
const struct tapir_sink *tapir_sink__find(const char *name);

/* Reads the recording and gives it to the sink. x has what its declaration asks for. 0 or -errno,
 * with a line unless it is -ENOMEM. */
int tapir_sink__run(const struct tapir_sink *sink, struct tapir_export *x);

#endif
