/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot_impl.h - threads as they were copied; for snapshot.c and snapshot_walk.c. */
#ifndef TAPIR_USER_SNAPSHOT_IMPL_H
#define TAPIR_USER_SNAPSHOT_IMPL_H

#include <pthread.h>
#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "bpf/control.h"
#include "threads/snapshot.h"

#define TAPIR_COPY_BYTES (128u << 10) /* of one stack; frames beyond are cut */

struct tapir_copy {
	struct tapir_thread_seen seen;
	uint8_t *memory; /* from seen.sp on, rounded down to 8 bytes; NULL: none */
	size_t bytes;
	bool has_moved; /* whenever it was looked at: it runs */
};

struct tapir_copies tapir_vec(struct tapir_copy);
void tapir_copies__fini(struct tapir_copies *copies);

struct tapir_snapshot {
	uint32_t tgid;
	struct tapir_copies copies;
	struct tapir_map idx_by_tid;
	size_t copied_bytes;
	struct tapir_queue *queue; /* borrowed */
	pthread_t thread;
	bool is_posting;
};

/* A thread: reads tables, walks stacks, posts records, frees the copies. arg: the snapshot. */
void *tapir_snapshot__post_all(void *arg);

#endif
