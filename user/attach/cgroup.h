/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cgroup.h - finding a cgroup by the path a person gives: absolute, or below whichever
 * hierarchy is mounted, version 2 first. No privileges; thread-safe.
 */
#ifndef TAPIR_USER_CGROUP_H
#define TAPIR_USER_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_cgroup {
	char dir[PATH_MAX];
	bool is_v2;
	uint64_t id;	/* v2: what bpf_get_current_ancestor_cgroup_id gives */
	uint32_t level; /* v2: its depth below the root, which has 0 */
};

/* -ENOENT with a line. */
int tapir_cgroup__find(const char *path, struct tapir_cgroup *out);

/* Processes in the cgroup and below it. Anything but 0 from fn ends the walk and is returned. */
int tapir_cgroup__each_process(const struct tapir_cgroup *cgroup,
			       int (*fn)(uint32_t tgid, void *ctx), void *ctx);

/* root: where a hierarchy is mounted; path: of the process's cgroup below it. */
typedef int (*tapir_cgroup_fn)(const char *root, const char *path, bool is_v2, void *ctx);

/*
 * The cgroups of a process: of version 2, and of version 1 for this controller ("cpu"), wherever
 * they are mounted here. Anything but 0 from fn ends the walk and is returned; 0 where there is
 * none.
 */
int tapir_cgroup__each_of_process(uint32_t tgid, const char *controller, tapir_cgroup_fn fn,
				  void *ctx);

/*
 * Is the process frozen with its cgroup, as in a paused container? It looks asleep, and does what
 * it is asked when it is thawed. Where its cgroups cannot be seen: no.
 */
bool tapir_cgroup__is_frozen(uint32_t tgid);

/*
 * The memory that the process's own cgroup, not one above it, permits, in bytes. False: nothing
 * limits it, or it cannot be seen.
 */
bool tapir_cgroup__memory_limit(uint32_t tgid, uint64_t *bytes);

#define TAPIR_CONTAINER_ID_BYTES      13
#define TAPIR_CONTAINER_FULL_ID_BYTES 65
#define TAPIR_POD_UID_BYTES	      64

/* The ids of a process's container and of Kubernetes' pod, as the path of its cgroup has them. */
struct tapir_container_path {
	char id[TAPIR_CONTAINER_FULL_ID_BYTES]; /* of the innermost one; "": none */
	char pod_uid[TAPIR_POD_UID_BYTES];
	size_t end, pod_end; /* of the container's part of the path, of the pod's; 0: none */
};

/*
 * Recognizes the forms that container runtimes use: .../docker-<id>.scope, /docker/<id>,
 * cri-containerd-<id>.scope, libpod-<id>.scope; kubepods/.../pod<uid>/...
 */
void tapir_container_path__of(const char *cgroup_path, struct tapir_container_path *out);
/* The first 12 digits of the id, as container tools show it; "": none. */
void tapir_container__id(const char *cgroup_path, char id[TAPIR_CONTAINER_ID_BYTES]);

#endif
