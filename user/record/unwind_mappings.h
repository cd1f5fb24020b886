/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_mappings.h - the executable memory of one process, as the walk learns it: the last mapping
 * of an address counts. One thread.
 */
#ifndef TAPIR_USER_UNWIND_MAPPINGS_H
#define TAPIR_USER_UNWIND_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "bpf/unwind.h"

struct tapir_space_mapping {
	struct tapir_unwind_mapping m;
	uint64_t since_ns;
	bool is_seen; /* while /proc/PID/maps is read */
};

/* Sorted by start, without overlap. */
struct tapir_unwind_mappings tapir_vec(struct tapir_space_mapping);

/* Returns true if all of the range is there, as the same mapping. */
bool tapir_unwind_mappings__have(const struct tapir_unwind_mappings *mappings,
				 const struct tapir_unwind_mapping *m);
/*
 * Removes one if there are as many as there may be, so that a program's own code and that of its
 * libraries is known, however many others it maps. False: nothing was removed.
 */
bool tapir_unwind_mappings__make_room(struct tapir_unwind_mappings *mappings,
				      const struct tapir_unwind_mapping *new);
/* Puts a mapping in place of what is there. False: there are too many, or there is no memory. */
bool tapir_unwind_mappings__add(struct tapir_unwind_mappings *mappings,
				const struct tapir_space_mapping *new);

#endif
