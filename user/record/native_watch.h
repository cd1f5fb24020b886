/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * native_watch.h - what probing malloc and free costs the traced processes: the calls of the first
 * seconds are counted and reported, and where they are more than was allowed the probes are taken
 * away. Mappings are recorded in any case. One thread, that of the targets.
 */
#ifndef TAPIR_USER_NATIVE_WATCH_H
#define TAPIR_USER_NATIVE_WATCH_H

#include "attach/flow/queue.h"
#include "record/images/images.h"

struct tapir_native_watch {
	uint64_t limit_hz;	 /* 0: none */
	uint64_t since_ns, hits; /* of the last reading; 0: there was none */
	bool is_reported, has_ended;
};

/* Reads the count at most once a second. queue takes the META entry that says what was sampled. */
void tapir_native_watch__poll(struct tapir_native_watch *w, struct tapir_programs *programs,
			      struct tapir_images *images, struct tapir_queue *queue,
			      uint64_t now_ns);

#endif
