/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_samples.h - CPU samples taken without BPF (attach/own_sampler.h) as the records that BPF
 * would have made of them: a STACK the first time it is seen, and a SAMPLE. One thread.
 */
#ifndef TAPIR_USER_OWN_SAMPLES_H
#define TAPIR_USER_OWN_SAMPLES_H

#include "attach/own_sampler.h"
#include "flow/queue.h"

struct tapir_own_samples;

int tapir_own_samples__start(struct tapir_queue *queue, const struct tapir_sample_event *event,
			     unsigned hz, const uint32_t *tgids, size_t tgid_cnt,
			     struct tapir_own_samples **out);
/* What came since the last time, into the queue. Often: the rings hold a few hundred. NULL is fine.
 */
void tapir_own_samples__drain(struct tapir_own_samples *s);
void tapir_own_samples__free(struct tapir_own_samples *s);

#endif
