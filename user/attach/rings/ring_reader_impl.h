/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_reader_impl.h - the lanes that are open; for ring_reader.c and ring_reader_state.c only. */
#ifndef TAPIR_USER_RING_READER_IMPL_H
#define TAPIR_USER_RING_READER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "attach/rings/ring_drain.h"
#include "attach/rings/ring_limits.h"
#include "attach/rings/ring_reader.h"
#include "attach/rings/ring_idle.h"
#include "attach/rings/ring_select.h"

struct tapir_ring_reader_lane {
	uint32_t tgid;
	int pid_fd;
	bool has_ended; /* its process ended, or it gave the lane up */
	struct tapir_ring_process *process;
};

struct tapir_ring_reader {
	struct tapir_ring_sink sink;
	struct tapir_ring_request *request;
	struct tapir_vec(struct tapir_ring_reader_lane) lanes;
	struct tapir_vec(uint64_t) private_keys; /* of private lanes */
	struct tapir_ring_limits limits;
	struct tapir_vec(uint32_t) children; /* that made lanes: to be opened */
	uint64_t child_fired, inherited;     /* of lanes that are closed: ring.h, FORK */
	uint64_t start_ns;
	struct tapir_ring_reader_stats ended; /* of lanes that are closed; lane_cnt of all */
	pthread_mutex_t lock;
	atomic_int waiting_cnt; /* threads waiting for the lock: rounds may follow each other
				   without a gap */
	atomic_bool stop;
	struct tapir_ring_idle idle;
	atomic_bool is_asleep;
	int epoll_fd, wake_fd; /* written for the first lane, and to stop */
	pthread_t thread;
	bool is_running;
};

/* Between rounds that follow each other at once, the reader lets those who wait go first. */
static inline void tapir_ring_reader__lock(struct tapir_ring_reader *r)
{
	atomic_fetch_add(&r->waiting_cnt, 1);
	pthread_mutex_lock(&r->lock);
	atomic_fetch_sub(&r->waiting_cnt, 1);
}

/* Under the lock. */
bool tapir_ring_reader__has_any(const struct tapir_ring_reader *r, uint32_t tgid);

#endif
