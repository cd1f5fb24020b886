/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup_paths.h - the path of a cgroup by its id, which the kernel's programs report: read from
 * /proc once per cgroup, not once per process. Not thread-safe.
 */
#ifndef TAPIR_USER_CGROUP_PATHS_H
#define TAPIR_USER_CGROUP_PATHS_H

#include "base/map.h"
#include "base/vec.h"

struct tapir_cgroup_paths {
	struct tapir_map by_id; /* idx of texts */
	struct tapir_vec(char *) texts;
	char *other; /* the last one that was not kept */
};

/* Frees the paths. */
void tapir_cgroup_paths__fini(struct tapir_cgroup_paths *paths);

/*
 * The path of a cgroup of version 2, as /proc/TGID/cgroup has it; borrowed until the next call.
 * tgid: a process that was in it. "": there is none, or it is not known, for example because the
 * process has ended.
 */
const char *tapir_cgroup_paths__of(struct tapir_cgroup_paths *paths, uint64_t id, uint32_t tgid);

#endif
