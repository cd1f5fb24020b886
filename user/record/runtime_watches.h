/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runtime_watches.h - what runtimes add to a recording of their processes, as records: counters of
 * their own, names of what their locks are of (struct tapir_runtime_watch_ops). Session thread.
 */
#ifndef TAPIR_USER_RUNTIME_WATCHES_H
#define TAPIR_USER_RUNTIME_WATCHES_H

#include "runtime/runtime_ops.h"

struct tapir_runtime_watches { /* zeroed at first: nothing is watched */
	void *watches[TAPIR_RUNTIME_OPS_CNT];
	uint64_t next_ns; /* UINT64_MAX: nothing has to be polled */
};

/* Starts all of them; put takes their records. 0 or -ENOMEM; __fini in any case. */
int tapir_runtime_watches__init(struct tapir_runtime_watches *w, tapir_runtime_put_fn *put,
				void *ctx);
void tapir_runtime_watches__fini(struct tapir_runtime_watches *w);

/* Takes a record that describes something. */
void tapir_runtime_watches__learn(struct tapir_runtime_watches *w, const struct tapir_rec *rec);
/* Takes an event, after the catalog has it. */
void tapir_runtime_watches__add(struct tapir_runtime_watches *w,
				const struct tapir_catalog *catalog,
				const struct tapir_rec_event *ev);
/* Reads what is due; is_last: all. */
void tapir_runtime_watches__poll(struct tapir_runtime_watches *w, uint64_t now_ns, bool is_last);

#endif
