/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rehost.h - records of one host among those of several (abi.h, HOST): its ids, CPUs and times are
 * moved to where no other host has any, and back. Payloads of events are not changed.
 *
 * Which members of a type are ids and times is known by their names in trace/schema.c;
 * test_rehost.c lists those that are moments.
 */
#ifndef TAPIR_USER_REHOST_H
#define TAPIR_USER_REHOST_H

#include <stdbool.h>

#include "base/map.h"
#include "tapir/abi.h"

struct tapir_rehost {
	uint32_t host;	      /* 0: ids of processes, CPUs and times stay */
	uint32_t first_probe; /* of a host with several recordings: added to the ids of probes */
	uint64_t shift_ns;
	const struct tapir_map *kernel_files; /* ids of files that are the kernel; borrowed */
};

/* Returns the owner of the kernel's names among those of a host's processes; 0: of the only host.
 */
static inline uint32_t tapir_host__kernel_of(uint32_t tgid)
{
	return tgid - tgid % TAPIR_HOST_PIDS;
}

/* Returns the number of the host that has the process, 0: there is one host alone. */
static inline uint32_t tapir_host__of(uint32_t tgid)
{
	return tgid / TAPIR_HOST_PIDS;
}

const char *tapir_host_clock__name(unsigned clock); /* NULL: there is no such value */

/* Changes a well-formed record. false: an id is too large, and the record is as it was. */
bool tapir_rehost__apply(const struct tapir_rehost *rehost, struct tapir_rec *rec);
/* Changes a record of that host back. */
void tapir_rehost__undo(const struct tapir_rehost *rehost, struct tapir_rec *rec);

/* Returns the host that a record of a merged recording is of; 0: not known, or of all. */
uint32_t tapir_rehost__host_of(const struct tapir_rec *rec);

/* Returns true if the member at that offset of the type is moved: for the test. */
bool tapir_rehost__moves(unsigned type, unsigned offset);

#endif
