/* SPDX-License-Identifier: GPL-2.0-or-later */
/* judge.h - what the trigger "finding" of a flight recorder asks of a recording. */
#ifndef TAPIR_USER_JUDGE_H
#define TAPIR_USER_JUDGE_H

#include <stdbool.h>

#include "base/str.h"

/*
 * Returns true if the recording of fd has a finding of this severity (0 to 100) or a higher one, as
 * `tapir report` finds it, in a process without capabilities; why then gets the first of them.
 * Reads fd from its beginning; blocks until the report is written. For `judge` of struct
 * tapir_flight_opts; ctx is not used.
 */
bool tapir_flight__judge(void *ctx, int fd, double severity, struct tapir_str *why);

#endif
