/* SPDX-License-Identifier: GPL-2.0-or-later */
/* duration.h - durations as people write them. Any thread. */
#ifndef TAPIR_USER_DURATION_H
#define TAPIR_USER_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* "5", "0.25", "500ms", "1m30s", "01:30:00", "1:12:00:00" (days first) -> nanoseconds. False: not
 * one; out untouched. */
bool tapir_duration__parse(const char *text, uint64_t *out_ns);

#endif
