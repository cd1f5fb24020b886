// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The capture sources that need no probe: CPU samples, context switches, the kernel's reports of
 * processes.
 */
#include "record/recording_impl.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "record/meta.h"
#include "record/usage_watch.h"
#include "symbol/symbolizer.h"
#include "trace/kernel_work.h"
#include "trace/recbuf.h"

#define CONTROL_MAX 16384
#define ROUNDS_MAX  4

/* Kernel stacks are in the kernel: a mapping of no process. */
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
	const struct tapir_sampler_plan plan = {.event = r->opts->sampling.event,
						.hz = r->opts->sampling.hz};
	int fd;

	if (r->is_unprivileged)
		return start_unprivileged_sampler(r);
	fd = tapir_programs__sample_fd(r->programs);
	return fd < 0 ? fd : tapir_sampler__start(fd, &plan, &r->sampler);
}

/* The file records what was sampled, not what was intended. */
static int start_sampling(struct recording *r)
{
	const struct tapir_sampling *sampling = &r->opts->sampling;
	int mark = tapir_diag__cnt(), err;
	char hz[16];

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

static void let_rings_sleep(struct recording *r)
{
	/*
	 * Not by name or cgroup: a process that changes those keeps its lane. Not where waits are
	 * summed: nothing is sent when a thread runs.
	 */
	if (r->rings && !r->opts->wait_sum_cap && (r->rules.all || r->rules.pids.cnt))
		tapir_ring_reader__sleep_by(r->rings, tapir_programs__readers_idle(r->programs));
}

/* Faults from before are not charged. */
static void begin_kernel(struct recording *r)
{
	int err = tapir_programs__run_last(r->programs, TAPIR_FAMILY_KERNEL);

	if (err)
		tapir_warn("page faults in system calls are counted from each thread's first fault "
			   "on: %s",
			   tapir_errno__text(err));
}

/* ---- the families that are captured without probes ----------------------------------------- */

static bool wants_samples(const struct tapir_recording_opts *opts)
{
	return opts->sampling.hz;
}

static bool wants_switches(const struct tapir_recording_opts *opts)
{
	/* A single moment has no switches: its snapshot alone shows what threads do. */
	return opts->with_switches && !opts->snapshot_rounds;
}

/*
 * A family without a row is wanted where opts.captures says so, and its programs are attached.
 * Events are not: what starts those are probes, rings and streams.
 */
static const struct {
	bool (*is_wanted)(const struct tapir_recording_opts *opts);
	int (*start)(struct recording *r);     /* in place of attaching the programs */
	void (*on_start)(struct recording *r); /* once they are attached; may be NULL */
	bool goes_unprivileged;		       /* without BPF it is captured otherwise */
} sources[TAPIR_FAMILY_CNT] = {
	[TAPIR_FAMILY_SAMPLE] = {wants_samples, start_sampling, NULL, true},
	[TAPIR_FAMILY_SWITCH] = {wants_switches, NULL, let_rings_sleep, false},
	[TAPIR_FAMILY_KERNEL] = {NULL, NULL, begin_kernel, false},
};

static int start_source(struct recording *r, enum tapir_family_id family)
{
	struct tapir_str how = {};
	int err = sources[family].start ? sources[family].start(r)
					: tapir_programs__attach_family(r->programs, family);

	if (!err && sources[family].on_start)
		sources[family].on_start(r);
	if (family == TAPIR_FAMILY_KERNEL)
		tapir_kernel_work__add_list(&how, r->opts->kernel_kinds);
	else
		tapir_str__adds(&how, family == TAPIR_FAMILY_SWITCH && r->opts->wait_sum_cap
					      ? TAPIR_META_SUMS
					      : "on");
	if (!err && tapir_families[family].meta)
		err = how.failed ? -ENOMEM
				 : tapir_meta__post_one(r->queue, tapir_families[family].meta,
							how.data);
	tapir_str__fini(&how);
	return err;
}

bool tapir_recording__wants(const struct tapir_recording_opts *opts, enum tapir_family_id family)
{
	return sources[family].is_wanted ? sources[family].is_wanted(opts)
					 : opts->captures[family] && !opts->snapshot_rounds;
}

bool tapir_recording__wants_any(const struct tapir_recording_opts *opts)
{
	bool is_any = false;

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		is_any |= tapir_recording__wants(opts, i);
	return is_any;
}

bool tapir_recording__has_samplers(const struct recording *r)
{
	return r->opts->snapshot_rounds || tapir_recording__wants_any(r->opts);
}

int tapir_recording__start_samplers(struct recording *r)
{
	int err = 0;

	if ((tapir_recording__has_samplers(r) || (r->machine && r->opts->with_stack)) &&
	    !r->is_unprivileged)
		err = post_kernel(r);
	for (int i = 0; i < TAPIR_FAMILY_CNT && !err; i++)
		if (tapir_recording__wants(r->opts, i) &&
		    (!r->is_unprivileged || sources[i].goes_unprivileged))
			err = start_source(r, i);
	if (!err)
		err = tapir_recording__begin_snapshots(r);
	if (!err && tapir_recording__has_samplers(r) && !r->opts->snapshot_rounds)
		err = tapir_usage_watch__new(r->targets, r->queue, &r->usage);
	return err;
}

void tapir_recording__end_samplers(struct recording *r)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT && r->programs; i++) {
		int err = tapir_recording__wants(r->opts, i)
				  ? tapir_programs__run_last(r->programs, i)
				  : 0;

		if (err)
			tapir_warn("%s that were open at the end are not in the recording: %s",
				   tapir_families[i].many, tapir_errno__text(err));
	}
}

/* ---- what the kernel reports ----------------------------------------------------------------- */

static void on_mmap(void *ctx, const struct tapir_sideband_mmap *mmap)
{
	tapir_targets__on_mmap(ctx, mmap);
}

static void drain_once(struct recording *r)
{
	const void *rec;
	uint32_t len;

	/*
	 * A full ring, twice: a process that forks faster than tapir reads must not delay a signal.
	 */
	for (int i = 0; i < CONTROL_MAX && (rec = tapir_bpf_ring__next(&r->control, &len)); i++)
		tapir_targets__on_control(r->targets, rec, len);
	tapir_bpf_ring__release(&r->control);
	tapir_sideband__drain(r->sideband, on_mmap, r->targets);
}

/*
 * A process is known before it maps anything: what it mapped is read up to where the ring stood
 * before the records of processes were read. And it is known until nothing of it is left there: one
 * that ended may have mapped files after that mark.
 */
void tapir_recording__drain_control(struct recording *r)
{
	bool has_unread = true;

	if (!r->control.data) {
		tapir_targets__forget_ended(r->targets);
		return;
	}
	tapir_queue__begin_batch(r->queue);
	tapir_sideband__mark(r->sideband);
	for (int round = 0; has_unread && round < ROUNDS_MAX; round++) {
		drain_once(r);
		has_unread = tapir_sideband__mark(r->sideband);
	}
	tapir_queue__end_batch(r->queue);
	if (!has_unread)
		tapir_targets__forget_ended(r->targets);
}
