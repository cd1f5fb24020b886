/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_tids.h - thread ids of a process's pid namespace -> ids of tapir's. One thread at a time.
 */
#ifndef TAPIR_USER_RING_TIDS_H
#define TAPIR_USER_RING_TIDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

/* For a thread that ended before it was searched for: its own id with this bit, which no id has. */
#define TAPIR_RING_TID_GONE 0x80000000u

struct tapir_ring_tids {
	uint32_t tgid;
	bool is_same; /* our namespace: nothing to translate */
	uint32_t last_ns_tid, last_tid;
	struct tapir_map by_ns_tid;
	uint64_t next_scan_ns;
};

/* tgid: the process, in tapir's namespace. Nothing is read yet. */
void tapir_ring_tids__init(struct tapir_ring_tids *t, uint32_t tgid);
void tapir_ring_tids__fini(struct tapir_ring_tids *t);

/*
 * Returns tapir's id of the thread ns_tid, or ns_tid with TAPIR_RING_TID_GONE. is_new: what was
 * known of ns_tid may be of a thread that has ended.
 */
uint32_t tapir_ring_tids__find(struct tapir_ring_tids *t, uint32_t ns_tid, bool is_new);

#endif
