/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unprivileged_samples.h - CPU samples taken without BPF (attach/unprivileged_sampler.h) as the
 * records that BPF would have made of them: a STACK the first time it is seen, and a SAMPLE. One
 * thread.
 */
#ifndef TAPIR_USER_UNPRIVILEGED_SAMPLES_H
#define TAPIR_USER_UNPRIVILEGED_SAMPLES_H

#include "attach/unprivileged_sampler.h"
#include "attach/flow/queue.h"

struct tapir_unprivileged_samples;

/* Starts sampling the named processes at that rate. queue and event are borrowed until __free. */
int tapir_unprivileged_samples__start(struct tapir_queue *queue,
				      const struct tapir_sample_event *event, unsigned hz,
				      const uint32_t *tgids, size_t tgid_cnt,
				      struct tapir_unprivileged_samples **out);
/*
 * Posts the samples since the last call. Call it often: the rings hold a few hundred. NULL is fine.
 */
void tapir_unprivileged_samples__drain(struct tapir_unprivileged_samples *s);
void tapir_unprivileged_samples__free(struct tapir_unprivileged_samples *s);

#endif
