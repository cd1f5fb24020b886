/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * second_mapping.h - a file with semaphores that a process maps twice at a time (dlmopen, a library
 * under two link maps). The kernel finds a semaphore by its place in the file and raises it in
 * the first mapping that has it (find_ref_ctr_vma, kernel/events/uprobes.c), each time: code of the
 * other mapping finds 0 and does not reach its probes.
 *
 * One thread.
 */
#ifndef TAPIR_USER_SECOND_MAPPING_H
#define TAPIR_USER_SECOND_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/maps.h"
#include "base/map.h"
#include "record/images/images.h"

struct tapir_second_mappings {
	struct tapir_map
		first; /* process and image -> where it was first mapped; and others seen */
};

/* Frees the table. */
void tapir_second_mappings__fini(struct tapir_second_mappings *s);

/* The process maps the image there. Returns true, once, if it has another mapping of it as well. */
bool tapir_second_mappings__see(struct tapir_second_mappings *s, uint32_t tgid,
				const struct tapir_image *image,
				const struct tapir_mapping_line *line);

#endif
