/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mappings.h - a copy of what a process maps, for those who look at it more than once: the kernel
 * writes the text of /proc/PID/maps anew for each reading, which costs more than all they look for.
 */
#ifndef TAPIR_USER_MAPPINGS_H
#define TAPIR_USER_MAPPINGS_H

#include "attach/maps.h"
#include "base/str.h"
#include "base/vec.h"

/* A process that maps more, or has longer paths in all, is read anew each time. */
#define TAPIR_MAPPINGS_MAX	 16384
#define TAPIR_MAPPINGS_MAX_BYTES (1u << 20)

struct tapir_mappings {
	uint32_t tgid;
	bool is_cut; /* there is no copy: too much */
	struct tapir_vec(struct tapir_mapping_line) lines;
	struct tapir_str paths; /* those of lines, each with its NUL */
};

/* Replaces what m (zeroed at first) holds. As tapir_proc__each_mapping: 0, or -errno with a line.
 */
int tapir_mappings__read(uint32_t tgid, struct tapir_mappings *m);
int tapir_mappings__each(const struct tapir_mappings *m, tapir_mapping_fn fn, void *ctx);
void tapir_mappings__fini(struct tapir_mappings *m);

#endif
