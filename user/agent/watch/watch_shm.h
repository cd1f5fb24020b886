/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch_shm.h - what is known of the runtimes that an agent watches, in memory that one process
 * writes (watch.h) and its parent reads: counters with their history, and pauses for collections.
 *
 * One writer and one reader, without a lock. A slot belongs to one process; its version is odd
 * while another one moves in. Values are written and read as a whole, 8 bytes at a time. The reader
 * trusts no number of a slot: it works on copies whose counts are in range and whose texts end.
 */
#ifndef TAPIR_USER_WATCH_SHM_H
#define TAPIR_USER_WATCH_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/record.h"

#define TAPIR_WATCH_MAX_PROCESSES 64
#define TAPIR_WATCH_MAX_COUNTERS  128 /* of a process */
#define TAPIR_WATCH_MAX_POINTS	  300 /* of a counter, the newest */
#define TAPIR_WATCH_MAX_PAUSES	  256 /* of a process, the newest */
#define TAPIR_WATCH_BUCKETS	  10  /* of pauses; the last has no bound */

struct tapir_watch_point {
	uint64_t utc_ms;
	double value;
};

/* A counter. The increments of an interval (TAPIR_COUNTER_RATE) are values per second in points. */
struct tapir_watch_counter {
	char provider[64], name[64], unit[24], tags[88];
	uint64_t kind;	    /* enum tapir_counter_kind */
	uint64_t point_cnt; /* ever; the newest is at (point_cnt - 1) % MAX_POINTS */
	struct tapir_watch_point last;
	double total; /* RATE: all that was added since it is watched */
};

struct tapir_watch_head {
	uint64_t pid; /* 0: the slot is free */
	uint64_t started_ms;
	char name[64];
	uint64_t pause_cnt, pause_ns; /* since it is watched */
	uint64_t pause_buckets[TAPIR_WATCH_BUCKETS];
	uint64_t more_counters; /* that found no room */
	uint64_t counter_cnt;
	struct tapir_watch_counter counters[TAPIR_WATCH_MAX_COUNTERS];
};

struct tapir_watch_slot {
	uint64_t version;
	struct tapir_watch_head head;
	struct tapir_watch_point pauses[TAPIR_WATCH_MAX_PAUSES]; /* end, milliseconds */
	struct tapir_watch_point points[TAPIR_WATCH_MAX_COUNTERS][TAPIR_WATCH_MAX_POINTS];
};

struct tapir_watch_shm {
	uint64_t more_processes;   /* that found no slot */
	uint64_t lost_cnt, cpu_ns; /* of the recording that watches */
	struct tapir_watch_slot slots[TAPIR_WATCH_MAX_PROCESSES];
};

/* Returns a page that is shared with children. NULL: out of memory. */
struct tapir_watch_shm *tapir_watch_shm__new(void);
void tapir_watch_shm__free(struct tapir_watch_shm *page);
/* Clears the page after its writer has ended: no process is in it. */
void tapir_watch_shm__clear(struct tapir_watch_shm *page);

/* ---- the writer ----------------------------------------------------------------------------- */

/* The slot of a process; NULL: it has none. */
struct tapir_watch_slot *tapir_watch_shm__find(struct tapir_watch_shm *page, uint32_t pid);
/* Takes a slot for a process; NULL: all are taken. */
struct tapir_watch_slot *tapir_watch_shm__add(struct tapir_watch_shm *page, uint32_t pid,
					      uint64_t started_ms, const char *name);
void tapir_watch_slot__release(struct tapir_watch_slot *slot);

struct tapir_watch_value {
	struct tapir_sv provider, name, unit, tags;
	uint32_t kind;
	double value; /* as shown: of a RATE, per second */
	double added; /* RATE: in the interval */
	uint64_t utc_ms;
};
/*
 * Adds a point of a counter; one that is not finite, or finds no room, is left out. The slot's
 * writer alone.
 */
void tapir_watch_slot__put(struct tapir_watch_slot *slot, const struct tapir_watch_value *v);
/* Adds a pause of ns nanoseconds that ended at utc_ms. The slot's writer alone. */
void tapir_watch_slot__put_pause(struct tapir_watch_slot *slot, uint64_t utc_ms, uint64_t ns);

/* ---- the reader ----------------------------------------------------------------------------- */

/* False: the slot is free, or its process changes at this moment. */
bool tapir_watch_shm__copy(const struct tapir_watch_shm *page, size_t i,
			   struct tapir_watch_head *out);
/*
 * The newest points of counter c of the process that head is a copy of, the oldest first: their
 * number, at most MAX_POINTS; 0 also: the process has gone. since_ms: none before.
 */
size_t tapir_watch_shm__points(const struct tapir_watch_shm *page, size_t i,
			       const struct tapir_watch_head *head, size_t c, uint64_t since_ms,
			       struct tapir_watch_point *out);
/* Copies the pauses in the same way, at most MAX_PAUSES. */
size_t tapir_watch_shm__pauses(const struct tapir_watch_shm *page, size_t i,
			       const struct tapir_watch_head *head, uint64_t since_ms,
			       struct tapir_watch_point *out);

/* Returns the upper bound of a bucket of pauses, in seconds; of the last: infinity. */
double tapir_watch_bucket__seconds(size_t i);

#endif
