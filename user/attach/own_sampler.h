/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_sampler.h - CPU samples of processes of one's own user, without a capability: a perf event a
 * thread and CPU, which threads made later inherit. User code and its frame-pointer stacks only.
 *
 * Needs perf_event_paranoid <= 2 (the kernel's default). One thread.
 */
#ifndef TAPIR_USER_OWN_SAMPLER_H
#define TAPIR_USER_OWN_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "attach/sample_events.h"

struct tapir_own_sampler;

struct tapir_own_sample {
	uint64_t time_ns, period;
	uint32_t tgid, tid, cpu;
	const uint64_t *frames; /* innermost first; borrowed */
	uint32_t frame_cnt;
};

typedef void (*tapir_own_sample_fn)(void *ctx, const struct tapir_own_sample *sample);

int tapir_own_sampler__new(const struct tapir_sample_event *event, unsigned hz,
			   struct tapir_own_sampler **out);
/* All threads it has now. -EPERM, -EMFILE ... with a line. */
int tapir_own_sampler__add(struct tapir_own_sampler *s, uint32_t tgid);
/* Hands out what there is; the number of samples that were lost since the last time. */
uint64_t tapir_own_sampler__drain(struct tapir_own_sampler *s, tapir_own_sample_fn fn, void *ctx);
void tapir_own_sampler__free(struct tapir_own_sampler *s); /* NULL is fine */

#endif
