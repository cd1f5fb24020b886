/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_time.h - record --at: the instant at which recordings of many hosts begin. Main thread. */
#ifndef TAPIR_USER_START_TIME_H
#define TAPIR_USER_START_TIME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * "14:30" and "14:30:05": when the local clock shows it next; "14:30:05Z": UTC. "/10s": the next
 * multiple of 10 seconds of UTC, at least 1 ms, at most a day. Nanoseconds of UTC after now_ns;
 * false: none of these.
 */
bool tapir_start_time__parse(const char *text, uint64_t now_ns, uint64_t *out);
/* Returns when the system's UTC has reached it, also if the clock is set during the wait. */
void tapir_start_time__wait(uint64_t utc_ns);

#endif
