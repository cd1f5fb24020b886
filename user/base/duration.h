/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * duration.h - durations as people write them on a command line or in a configuration. Pure; any
 * thread.
 */
#ifndef TAPIR_USER_DURATION_H
#define TAPIR_USER_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Parses "5", "0.25", "500ms", "1m30s", "01:30:00" or "1:12:00:00" (days first) into nanoseconds. A
 * number without a unit is in seconds. False: not a duration, or more than 64 bits of nanoseconds;
 * out is untouched.
 */
bool tapir_duration__parse(const char *text, uint64_t *out_ns);

#endif
