/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unprivileged_sampler.h - CPU samples of processes of the same user, without a capability: one
 * perf event per thread and CPU, which later threads inherit. User code and its frame-pointer
 * stacks only.
 *
 * Needs perf_event_paranoid <= 2 (the kernel's default). One thread.
 */
#ifndef TAPIR_USER_UNPRIVILEGED_SAMPLER_H
#define TAPIR_USER_UNPRIVILEGED_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "attach/sample_events.h"

struct tapir_unprivileged_sampler;

struct tapir_unprivileged_sample {
	uint64_t time_ns, period;
	uint32_t tgid, tid, cpu;
	const uint64_t *frames; /* innermost first; borrowed */
	uint32_t frame_cnt;
};

typedef void (*tapir_unprivileged_sample_fn)(void *ctx,
					     const struct tapir_unprivileged_sample *sample);

/*
 * hz: 1 to the kernel's perf_event_max_sample_rate. Opens nothing yet. 0 or -errno; *out is the
 * caller's to free.
 */
int tapir_unprivileged_sampler__new(const struct tapir_sample_event *event, unsigned hz,
				    struct tapir_unprivileged_sampler **out);
/*
 * Samples all threads that the process has now, and those that they create. -EPERM, -EMFILE ...
 * with a line.
 */
int tapir_unprivileged_sampler__add(struct tapir_unprivileged_sampler *s, uint32_t tgid);
/* Hands out what there is. Returns the number of samples that were lost since the last time. */
uint64_t tapir_unprivileged_sampler__drain(struct tapir_unprivileged_sampler *s,
					   tapir_unprivileged_sample_fn fn, void *ctx);
void tapir_unprivileged_sampler__free(struct tapir_unprivileged_sampler *s); /* NULL is fine */

#endif
