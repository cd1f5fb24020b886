// SPDX-License-Identifier: GPL-2.0-or-later
/* CPU samples and context switches, which need no probe. */
#include "collect/recording_impl.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "collect/meta.h"
#include "symbol/symbolizer.h"
#include "trace/recbuf.h"

bool tapir_recording__watches_cpus(const struct recording *r)
{
	return r->opts->sampling.hz || r->opts->with_switches;
}

/* The kernel is where a kernel stack lies: a mapping of nobody's. */
static int post_kernel(struct recording *r)
{
	struct tapir_rec_mapping kernel = {
		.flags = TAPIR_MAPPING_EXEC,
		.start_va = TAPIR_KERNEL_START_VA,
		.end_va = UINT64_MAX,
		.file_id = tapir_symbolizer__kernel_id(),
	};
	struct tapir_recbuf buf = {};
	const struct tapir_rec *rec;
	int err;

	tapir_rec__init(&kernel.h, TAPIR_REC_MAPPING, sizeof(kernel), tapir_clock__now_ns());
	rec = tapir_recbuf__mapping(&buf, &kernel, tapir_sv__of("[kernel]"));
	err = rec ? tapir_queue__post(r->queue, rec, -1) : -ENOMEM;
	tapir_recbuf__fini(&buf);
	return err;
}

static int start_unprivileged_sampler(struct recording *r)
{
	const struct tapir_sampling *sampling = &r->opts->sampling;
	uint32_t tgid = r->program ? tapir_command_run__tgid(r->program) : 0;

	return tapir_unprivileged_samples__start(
		r->queue, sampling->event, sampling->hz, r->program ? &tgid : r->rules.pids.data,
		r->program ? 1 : r->rules.pids.cnt, &r->unprivileged_samples);
}

static int start_sampler(struct recording *r)
{
	const struct tapir_sampling *sampling = &r->opts->sampling;

	if (r->is_unprivileged)
		return start_unprivileged_sampler(r);
	return tapir_sampler__start(tapir_programs__sample_fd(r->programs), sampling->event,
				    sampling->hz, &r->sampler);
}

/* The file says what was sampled, not what was meant to be. */
static int start_sampling(struct recording *r)
{
	const struct tapir_sampling *sampling = &r->opts->sampling;
	int mark = tapir_diag__cnt(), err;
	char hz[16];

	if (!sampling->hz)
		return 0;
	err = start_sampler(r);
	if (err && sampling->is_a_default && tapir_diag__line(mark)) {
		tapir_warn(
			"recording without CPU samples: %s (--no-samples suppresses this warning)",
			tapir_diag__line(mark));
		tapir_diag__rewind(mark);
		return 0;
	}
	if (err)
		return err;
	snprintf(hz, sizeof(hz), "%u", sampling->hz);
	err = tapir_meta__post_one(r->queue, "sample_event", sampling->event->name);
	return err ? err : tapir_meta__post_one(r->queue, "sample_hz", hz);
}

static int start_switches(struct recording *r)
{
	int err;

	if (!r->opts->with_switches)
		return 0;
	err = tapir_programs__attach_switches(r->programs);
	return err ? err : tapir_meta__post_one(r->queue, "switches", "on");
}

int tapir_recording__watch_cpus(struct recording *r)
{
	int err;

	if (!tapir_recording__watches_cpus(r))
		return 0;
	if (r->is_unprivileged)
		return start_sampling(r);
	err = post_kernel(r);
	if (!err)
		err = start_sampling(r);
	return err ? err : start_switches(r);
}
