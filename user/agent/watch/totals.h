/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * totals.h - what all recordings of an agent have captured and lost, in memory that it shares with
 * its children. Any thread, any child.
 */
#ifndef TAPIR_USER_TOTALS_H
#define TAPIR_USER_TOTALS_H

#include "record/session.h"

/* In the agent, before any begins. 0 or -errno, no line. */
int tapir_totals__open(void);
void tapir_totals__close(void);

/* Called in a child, which makes one recording: adds what it has by now. */
void tapir_totals__count(const struct tapir_session_stats *stats);

/* Reads the sums of all recordings that ended, of all tasks; 0 before the first. Any process. */
void tapir_totals__read(uint64_t *captured_cnt, uint64_t *lost_cnt);

#endif
