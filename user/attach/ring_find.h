/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_find.h - the ring lanes a process offers: its memfds (tapir/ring.h), found in /proc, opened
 * anew and checked. The process may be hostile: the walk is bounded, nothing blocks, and nothing is
 * written to a file before it was checked. No state; any thread.
 *
 * What changes while the process runs (counters, slots, rings) is not read here.
 */
#ifndef TAPIR_USER_RING_FIND_H
#define TAPIR_USER_RING_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "tapir/ring.h"

/* Copies of the library in one process: .NET takes 32 profilers. */
#define TAPIR_RING_LANES_MAX 40

/* The part of struct tapir_ring_ctl that the process writes. */
struct tapir_ring_ctl_head {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint64_t key;
	uint64_t file_bytes;
	uint32_t owner_tgid;
	uint32_t slot_cnt;
	uint32_t session_cnt;
	uint32_t event_max;
	uint32_t flags;
	uint8_t pad0[12];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_ring_ctl_head) == offsetof(struct tapir_ring_ctl, epoch),
		    "tapir_ring_ctl_head");

/* One copy of the library: its control file and its arenas. */
struct tapir_ring_lane {
	uint64_t key;
	bool is_private;		 /* made for the tracer that chose the key */
	int ctl_fd;			 /* O_RDWR, a description of our own: carries locks */
	int data_fds[TAPIR_RING_ARENAS]; /* O_RDONLY; -1: not made yet, or not found */
	struct tapir_ring_data data[TAPIR_RING_ARENAS]; /* checked; where data_fds is not -1 */
};

struct tapir_ring_lanes {
	struct tapir_vec(struct tapir_ring_lane) all;
	const char *refused;	/* why the first lane file was left out; NULL: none was */
	uint32_t other_version; /* of a lane that another version of the library made; 0: none */
};

/*
 * The lanes of a process that have a ctl and arena 0. 0 also when there is none; -errno without a
 * line: the process has gone, or may not be inspected (requires its user, in the same user
 * namespace, or CAP_SYS_PTRACE). out needs __fini after success.
 */
int tapir_ring_lanes__find(uint32_t tgid, struct tapir_ring_lanes *out);
void tapir_ring_lanes__fini(struct tapir_ring_lanes *lanes);

/*
 * Returns true if the lane was made for a tracer that has ended: the process removes it within two
 * seconds.
 */
bool tapir_ring_lane__is_abandoned(const struct tapir_ring_lane *lane);

/* Adds arenas that were made since the lane was found; the number of new ones, or -errno. */
int tapir_ring_lane__find_arenas(uint32_t tgid, struct tapir_ring_lane *lane);
/* Unmaps the arenas and closes the control file. */
void tapir_ring_lane__close(struct tapir_ring_lane *lane);

/* Events made at run time: those that are probes, those that are none, and the errno of the last of
   these. As the process claims: for display, nothing may depend on it. */
struct tapir_ring_published {
	uint32_t cnt, left_cnt, err;
};
/* Returns what the process claims of them. */
struct tapir_ring_published tapir_ring_lane__published(const struct tapir_ring_lane *lane);

/* Returns 1 for "/memfd:tapir-ctl", with or without " (deleted)" after it, else 0. */
int tapir_ring_name__is_ctl(const char *path);

/*
 * Check a header against the size of its file and that process. NULL: valid; else the fault,
 * static.
 */
const char *tapir_ring_data__fault(const struct tapir_ring_data *h, uint64_t file_bytes,
				   uint32_t ns_tgid);
const char *tapir_ring_ctl__fault(const struct tapir_ring_ctl_head *h, uint64_t file_bytes,
				  uint32_t ns_tgid);

#endif
