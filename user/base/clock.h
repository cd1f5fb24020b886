/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h - the clocks a record carries, in nanoseconds. Thread-safe, no privileges. */
#ifndef TAPIR_USER_CLOCK_H
#define TAPIR_USER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define TAPIR_NS_PER_SEC 1000000000ull
#define TAPIR_NS_PER_MS	 1000000ull
#define TAPIR_NS_PER_US	 1000ull

static inline uint64_t tapir_clock__ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * TAPIR_NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline struct timespec tapir_clock__timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / TAPIR_NS_PER_SEC),
				 .tv_nsec = (long)(ns % TAPIR_NS_PER_SEC)};
}

/* The clock of every record (abi.h). */
static inline uint64_t tapir_clock__now_ns(void)
{
	return tapir_clock__ns(CLOCK_MONOTONIC);
}

/* CPU time of this thread. On a busy virtual machine it passes without work, so it bounds none. */
static inline uint64_t tapir_clock__cpu_ns(void)
{
	return tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * tapir_clock__watch returns a descriptor that polls as readable when the system's UTC is set (not
 * slewed), or -errno; the caller closes it. tapir_clock__was_set returns true if the clock was set
 * since the last call; a descriptor < 0 is accepted and never was.
 */
int tapir_clock__watch(void);
bool tapir_clock__was_set(int watch_fd);

/* Writes "2026-08-05T10:11:12", in UTC, whatever this machine's time zone is. */
#define TAPIR_UTC_TEXT_BYTES 20
void tapir_clock__utc_text(uint64_t utc_ns, char text[TAPIR_UTC_TEXT_BYTES]);

#endif
