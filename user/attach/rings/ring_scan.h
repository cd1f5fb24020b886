/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_scan.h - when to scan a process for ring lanes: nothing announces one (its memory is not
 * mapped executable), but it appears soon after a program or a library, so these cause a few scans
 * in quick succession; in addition, all processes are scanned in turn.
 *
 * A scan costs about 5 us where a process has no lane, before Linux 6.11 more than 100, and more
 * where it has many files open. Bounded: scans together take a fifth of the time at most. One
 * thread.
 */
#ifndef TAPIR_USER_RING_SCAN_H
#define TAPIR_USER_RING_SCAN_H

#include "base/map.h"
#include "attach/rings/ring_reader.h"

#define TAPIR_RING_BURSTS_MAX 256u /* processes at a time; others wait for their turn */

/* A process in which something was executed. */
struct tapir_ring_burst {
	uint32_t tgid;
	unsigned step; /* looks that were taken, or skipped because they were late */
	uint64_t from_ns;
	uint64_t again_ns; /* when something was executed last; from_ns: not since */
};

struct tapir_ring_scan {
	struct tapir_ring_reader *rings; /* borrowed; NULL: no scans */
	struct tapir_vec(struct tapir_ring_burst) bursts;
	size_t cursor; /* of the scans in turn */
	struct tapir_map
		unchanged; /* by tgid: what it had mapped at its last look, and turns since */
	uint64_t free_ns;  /* until then the last look is paid for */
	uint64_t left_cnt; /* times that a process had to wait for its turn */
	bool is_full;	   /* reported; until half of them are done */
};

/* Plans scans of a process in which something new is executed. */
void tapir_ring_scan__expect(struct tapir_ring_scan *l, uint32_t tgid);

/* Removes a process that has ended: it is no longer scanned. */
void tapir_ring_scan__forget(struct tapir_ring_scan *l, uint32_t tgid);

/* Does the scans that are due. __next_ns: the time of the next one, UINT64_MAX: none. */
void tapir_ring_scan__run(struct tapir_ring_scan *l);
uint64_t tapir_ring_scan__next_ns(const struct tapir_ring_scan *l);

/* Scans some of live (by tgid) that have no lane; the others in later calls. */
void tapir_ring_scan__turn(struct tapir_ring_scan *l, const struct tapir_map *live);
/* Frees the list. */
void tapir_ring_scan__fini(struct tapir_ring_scan *l);

#endif
