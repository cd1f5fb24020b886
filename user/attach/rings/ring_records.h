/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_records.h - a private copy of a piece of a thread's ring, turned in place into records of
 * the recording: other sessions' events, fillers and malformed records are removed, ids and times
 * are translated. What a process can claim is bounded: its own tgid, its own probes, times of the
 * drain, stacks that hash to their ids.
 */
#ifndef TAPIR_USER_RING_RECORDS_H
#define TAPIR_USER_RING_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tapir/ring.h"

struct tapir_ring_scan {
	uint32_t tgid, ns_tgid;
	int64_t clock_offset_ns; /* the process's monotonic clock minus tapir's */
	uint64_t min_ns, max_ns; /* our clock; times outside are moved to these */
	uint8_t session_bit;	 /* 1 << session */
	/*
	 * The recording's probe for an event of the process (TAPIR_RING_ID, its index in bounds);
	 * 0: not requested, or none.
	 */
	uint32_t (*probe_of)(void *ctx, uint32_t event_id);
	/* The host's id of a thread; is_new: a thread began to use this id. */
	uint32_t (*tid_of)(void *ctx, uint32_t ns_tid, bool is_new);
	void *ctx;
	uint64_t event_cnt, malformed_cnt; /* added up */
};

/* The result of one call. */
struct tapir_ring_taken {
	size_t used_bytes; /* of the piece: up to here there is nothing left to do */
	size_t kept_bytes; /* records at the start of data */
	bool is_corrupt;   /* no record can begin at used_bytes */
};

/* data: bytes of a ring (a multiple of 8, 8-aligned) that start at a record; the last may be cut.
 */
struct tapir_ring_taken tapir_ring_records__take(struct tapir_ring_scan *scan, void *data,
						 size_t bytes);

#endif
