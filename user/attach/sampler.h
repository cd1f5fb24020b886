/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h - the clock of each CPU that asks, so many times a second, what runs there.
 *
 * perf's cpu-clock: needs no hardware counter. Needs CAP_PERFMON and CAP_BPF. One thread.
 */
#ifndef TAPIR_USER_SAMPLER_H
#define TAPIR_USER_SAMPLER_H

#include <stdint.h>

struct tapir_sampler;

#define TAPIR_SAMPLER_MAX_HZ 20000

/*
 * Runs the program prog_fd (borrowed) hz times a second, 1 ... TAPIR_SAMPLER_MAX_HZ, on every
 * CPU that is online now. -EINVAL with a line: more than the kernel's perf_event_max_sample_rate.
 */
int tapir_sampler__start(int prog_fd, unsigned hz, struct tapir_sampler **out);
void tapir_sampler__stop(struct tapir_sampler *sampler);

#endif
