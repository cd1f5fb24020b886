/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * containers.h - containers and pods of processes: ids from the paths of their cgroups, names from
 * the state that container runtimes keep (containerd, CRI-O, Podman, Docker), here or, of an agent
 * in a container that sees the node's processes, on the node. No runtime is asked.
 *
 * Bounded: one pass over /proc, at most TAPIR_CONTAINERS_MAX containers, a few files of at most 1
 * MB for each. For a process of the agent that has one task. One thread.
 */
#ifndef TAPIR_USER_CONTAINERS_H
#define TAPIR_USER_CONTAINERS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/cgroup.h"
#include "base/vec.h"

#define TAPIR_CONTAINERS_MAX	  1024
#define TAPIR_CONTAINER_NAME_SIZE 256

struct tapir_container {
	char id[TAPIR_CONTAINER_FULL_ID_BYTES]; /* "": no container */
	char name[TAPIR_CONTAINER_NAME_SIZE];	/* this and the rest: "" unknown */
	char pod_uid[TAPIR_POD_UID_BYTES], pod[TAPIR_CONTAINER_NAME_SIZE],
		space[TAPIR_CONTAINER_NAME_SIZE];
	char *cgroup, *pod_cgroup;	  /* absolute; NULL: not visible here */
	struct tapir_vec(uint32_t) tgids; /* of its processes that were asked about */
};

struct tapir_containers {
	struct tapir_vec(struct tapir_container) all;
};

/* Frees what was read. */
void tapir_containers__fini(struct tapir_containers *c);

/* Adds names that are not known yet from the file that its runtime wrote, JSON of any content. */
void tapir_container__take_state(const char *text, size_t len, struct tapir_container *c);
/* Adds the name by Podman's list of containers (containers.json), JSON of any content. */
void tapir_container__take_list(const char *text, size_t len, struct tapir_container *c);

/* Returns the container of a process, borrowed; NULL: it is in none, or there is no more room. */
const struct tapir_container *tapir_containers__of_process(struct tapir_containers *c,
							   uint32_t tgid);

/*
 * Returns true if text is the first digits of its id (12 or more, or all of a short one), or its
 * name.
 */
bool tapir_container__is_called(const struct tapir_container *c, const char *text);
/* Returns true if text is its pod's uid, NAME or NAMESPACE/NAME. */
bool tapir_container__is_of_pod(const struct tapir_container *c, const char *text);

/*
 * The cgroups of a container or of a pod, one of them NULL: paths are borrowed from c. Where they
 * are not visible, as to an agent in a container of its own, its processes of now, in pids; both
 * are the caller's to fini. cgroups NULL: the processes, whether or not the cgroup is visible.
 * -ENOENT with a line: no process is in it; -EEXIST: several containers are called so.
 */
int tapir_containers__find(struct tapir_containers *c, const char *container, const char *pod,
			   struct tapir_words *cgroups, struct tapir_pids *pids);

#endif
