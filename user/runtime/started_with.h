/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * started_with.h - whether a process was started with what some of its probes need to fire (lore's
 * conditions), by /proc: its command line and environment as they were at exec. Any thread.
 */
#ifndef TAPIR_USER_STARTED_WITH_H
#define TAPIR_USER_STARTED_WITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/runtime_db/lore.h"

/* False, too, where it cannot be known: an option may be in a file. */
bool tapir_started_with(uint32_t tgid, const struct tapir_lore_condition *condition);

/* The same, of the texts of /proc: words that end in NUL, of which the last one may not. */
bool tapir_started_with__by(const char *cmdline, size_t cmdline_len, const char *environment,
			    size_t environment_len, const struct tapir_lore_condition *condition);

#endif
