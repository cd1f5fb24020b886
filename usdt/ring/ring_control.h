/* SPDX-License-Identifier: MIT */
/*
 * ring_control.h - the lane for tapir's own code that opens and closes a source of events on behalf
 * of sessions (usdt/coreclr): reads ctl, checks for live tracers without an event, and does the
 * first half of a shutdown. Not installed.
 */
#ifndef TAPIR_RING_CONTROL_H
#define TAPIR_RING_CONTROL_H

#include "tapir/ring.h"

/* Borrowed until tapir_ring__fini; NULL: no lane. Written by tracers at any time: trust nothing. */
const struct tapir_ring_ctl *tapir_ring__ctl(void);

/* Ends the sessions whose tracer is dead, if TAPIR_RING_LIFE_NS have passed since the last time. */
void tapir_ring__check_life(void);

/*
 * No event is written from now on: threads that exit from now on do not run the lane's code. One
 * that was exiting already may still be about to: tapir_ring__fini must wait for it.
 */
void tapir_ring__retire(void);

/* The request that a session of the lane makes of a provider. */
struct tapir_ring_requested {
	uint64_t session_id;
	uint64_t keywords; /* ~0: all */
	uint8_t level;	   /* 255: all */
	uint8_t is_served; /* 0: it wants nothing from the provider, the rest is 0 */
	uint8_t pad0[2];
	uint32_t filter_bytes; /* without a NUL */
	char filter[TAPIR_RING_ARGS_BYTES];
};

/* The union of its selections for the provider, with the arguments of the first that has some. */
void tapir_ring__requested(uint32_t s, const char *provider, struct tapir_ring_requested *out);

/* * and ?, within text of at most `room` bytes that need not end with NUL. */
int tapir_ring__glob(const char *pattern, size_t room, const char *text);

/* A lane for a forked child, as its first event would make it. 1: this process has one. */
int tapir_ring__adopt(void);

/* The tracers' step 6, by the process itself: waiters at `generation` check it again. */
void tapir_ring__wake(void);

/* Reports that what was requested up to this generation is on. */
void tapir_ring__report_applied(uint32_t generation);

/* Reports the result of TAPIR_RING_WANTS_PROBES; err: an errno or 0. */
void tapir_ring__report_published(uint32_t cnt, uint32_t left_cnt, uint32_t err);

/* Providers that were requested and cannot be served. */
void tapir_ring__report_unserved(uint32_t cnt);

/* TAPIR_RING_CTL_FOLLOWS: a thread waits at `generation`, or it ends. */
void tapir_ring__report_follower(int is_on);

/* TAPIR_RING_CTL_IDLE: the source has ended, the files stay. */
void tapir_ring__report_idle(void);

#endif
