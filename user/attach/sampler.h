/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h - the clock of each CPU, or another counter, that samples what runs there at a given
 * rate.
 *
 * Needs CAP_PERFMON and CAP_BPF. One thread.
 */
#ifndef TAPIR_USER_SAMPLER_H
#define TAPIR_USER_SAMPLER_H

#include "attach/sample_events.h"

struct tapir_sampler;

#define TAPIR_SAMPLER_MAX_HZ 20000

/* The rate that the kernel allows now; it lowers the limit itself when sampling takes too long. */
unsigned tapir_sampler__max_hz(void);

/* When the program runs. */
struct tapir_sampler_plan {
	const struct tapir_sample_event *event;
	unsigned hz;	 /* a second, 1 ... TAPIR_SAMPLER_MAX_HZ; or */
	uint64_t period; /* each time the event has counted that */
	uint64_t cookie; /* of its links */
};

/*
 * Runs the program prog_fd (borrowed until the end) on every CPU that is online now; with hz, where
 * the event counts something, the kernel adapts the period to come near that. With a line: -EINVAL
 * more than the kernel's perf_event_max_sample_rate, -EOPNOTSUPP the machine does not have the
 * event, -EPERM.
 */
int tapir_sampler__start(int prog_fd, const struct tapir_sampler_plan *plan,
			 struct tapir_sampler **out);

/*
 * Samples CPUs that came online since, and no longer those that went; call it now and then. NULL:
 * does nothing. __follow does so by a list such as "0-3,7"; __stop closes all events.
 */
void tapir_sampler__poll(struct tapir_sampler *sampler);
void tapir_sampler__follow(struct tapir_sampler *sampler, const char *online);
void tapir_sampler__stop(struct tapir_sampler *sampler);

#endif
