// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The features that the kernel offers to this recording, and the BPF programs that use them. A
 * feature that lacks has a fallback or ends the recording with its name; the trials take tens of
 * milliseconds, so they run while programs are loaded.
 */
#include "record/recording_impl.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "attach/features.h"
#include "attach/proc.h"
#include "base/diag.h"
#include "base/log.h"
#include "record/target_access.h"

#define KERNEL_ROWS	     4096u /* 256 bytes of the kernel's memory each; powers of two */
#define MANY_KERNEL_ROWS     32768u

#define SITE_CAP	     4096u
#define FIRST_RING_BYTES     (8u << 20)		/* all rings together, to begin with */
#define DEFAULT_RING_BYTES   ((size_t)64 << 20) /* all rings together, at most */
#define MIN_RING_BYTES	     ((size_t)256 << 10)
#define LINK_BY_PID_MAX_PIDS 16u

static size_t max_ring_bytes(const struct recording *r)
{
	return r->opts->max_ring_bytes ? r->opts->max_ring_bytes : DEFAULT_RING_BYTES;
}

/* The share of each ring in this total. */
static size_t ring_share(size_t total_bytes)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);
	size_t pairs = cpu_cnt > 0 ? ((size_t)cpu_cnt + 1) / 2 : 1, bytes = MIN_RING_BYTES;

	while (bytes * 2 * pairs <= total_bytes)
		bytes *= 2;
	return bytes;
}

size_t tapir_recording__ring_bytes(const struct recording *r)
{
	return ring_share(max_ring_bytes(r));
}

/*
 * A trial finds out if a link can be restricted to one process. Removing the trial's probe takes 50
 * ms, so this runs while the programs are loaded.
 */
static void *test_pid_filter(void *result)
{
	*(int *)result = tapir_features__test_pid_filter();
	return NULL;
}

#define NAMESPACE_REMEDY "run tapir in the host's (podman run --pid=host, hostPID: true)"

/* Checks the features that no fallback replaces. */
static int check_features(const struct tapir_features *features)
{
	static const enum tapir_feature_id needed[] = {
		TAPIR_FEATURE_BTF, TAPIR_FEATURE_RING_BUFFER, TAPIR_FEATURE_TASK_STORAGE,
		TAPIR_FEATURE_SLEEPABLE, TAPIR_FEATURE_UPROBE_MULTI};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		const struct tapir_feature *f = &features->by_id[needed[i]];

		if (f->is_there)
			continue;
		if (f->err == -EPERM || f->err == -EACCES)
			return tapir_diag__fail(
				-EPERM,
				"cannot trace: requires CAP_BPF and CAP_PERFMON (run as root; 'tapir doctor' shows what is missing)");
		if (tapir_feature__is_unknown(f))
			return tapir_diag__fail(
				f->err, "cannot test whether this kernel has %s: %s",
				tapir_feature__name(needed[i]), tapir_errno__text(f->err));
		if (needed[i] == TAPIR_FEATURE_UPROBE_MULTI)
			continue; /* perf events replace it */
		return tapir_diag__fail(-EOPNOTSUPP,
					"cannot trace: this kernel has no %s, with which %s "
					"('tapir doctor' shows details)",
					tapir_feature__name(needed[i]),
					tapir_feature__purpose(needed[i]));
	}
	return 0;
}

/* Returns true if a family is wanted that is no default: who names it is to get it. */
static bool wants_more(const struct recording *r)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		if (!tapir_families[i].is_default && tapir_recording__wants(r->opts, i))
			return true;
	return false;
}

/* Rings, and samples of the user's own processes, need no programs; probes and switches do. */
static bool may_do_without(const struct recording *r)
{
	return !r->opts->machine && !wants_more(r) &&
	       (r->opts->lanes != TAPIR_LANES_PROBE || r->opts->snapshot_rounds) &&
	       tapir_target_rules__are_named(&r->rules);
}

/*
 * Another user's process can be recorded at most by samples and switches, and these by BPF alone.
 */
static int check_access(const struct recording *r, bool has_bpf)
{
	return tapir_target_access__check(&r->rules, has_bpf && r->opts->specs_are_defaults &&
							     tapir_recording__has_samplers(r));
}

/* Exits of processes are not reported either: a held process would not be released. */
static int check_namespace(struct recording *r)
{
	if (!tapir_target_rules__are_named(&r->rules)) {
		tapir_warn("in a container's pid namespace, samples and events have no names, "
			   "because its pids are not the kernel's: " NAMESPACE_REMEDY);
		r->rules.children = false;
		return 0;
	}
	if (r->opts->snapshot_rounds) {
		r->is_unprivileged = true;
		return 0;
	}
	if (r->opts->machine)
		return tapir_diag__fail(-EOPNOTSUPP,
					"cannot trace the machine in a container's pid namespace, "
					"where pids are not the kernel's: " NAMESPACE_REMEDY);
	if (r->opts->lanes == TAPIR_LANES_PROBE)
		return tapir_diag__fail(-EOPNOTSUPP,
					"cannot attach probes in a container's pid namespace, "
					"where pids are not the kernel's: " NAMESPACE_REMEDY);
	tapir_warn(
		"in a container's pid namespace, only events of .NET and of ring lanes and CPU "
		"samples are recorded: no probes, no context switches, no children: " NAMESPACE_REMEDY);
	r->is_unprivileged = true;
	return 0;
}

static int do_without(struct recording *r)
{
	int err;

	tapir_diag__clear();
	err = check_access(r, false);
	if (err)
		return err;
	if (r->opts->snapshot_rounds)
		tapir_info("%s, kernel functions are not shown, and a stack may end early where "
			   "code keeps no frame pointer (%s)",
			   r->is_unprivileged ? "in a container's pid namespace"
					      : "without CAP_BPF and CAP_PERFMON",
			   r->is_unprivileged ? NAMESPACE_REMEDY : "run as root for all of it");
	else if (!r->is_unprivileged)
		tapir_info("without CAP_BPF and CAP_PERFMON, only events of .NET and of ring lanes "
			   "are recorded: no probes, no context switches, no children");
	r->is_unprivileged = true;
	r->rules.children = false;
	return tapir_programs__new_without(&r->programs);
}

bool tapir_recording__is_without_probes(const struct recording *r)
{
	return r->opts->lanes == TAPIR_LANES_RING || r->opts->lanes == TAPIR_LANES_STREAM;
}

bool tapir_recording__traces_program(const struct recording *r)
{
	return r->opts->program && !r->opts->program_is_workload;
}

/* ---- in advance ------------------------------------------------------------------------------ */

/* For the next recording of this process. */
static struct {
	struct tapir_programs *programs; /* NULL: none */
	struct tapir_programs_opts opts;
	bool link_by_pid;
} ready;

int tapir_recording__prepare(void)
{
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts),
		.site_cap = SITE_CAP,
		.ring_bytes = ring_share(FIRST_RING_BYTES),
		.with_threads = true,
		.probes_later = true,
	};
	struct tapir_features features;
	int err;

	if (!tapir_proc__sees_kernel_pids())
		return -EOPNOTSUPP;
	tapir_features__probe(&features);
	/* These options are a guess. A recording that needs others loads programs of its own. */
	err = check_features(&features);
	opts.use_multi = tapir_features__has(&features, TAPIR_FEATURE_UPROBE_MULTI);
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		opts.families[i] = tapir_families[i].is_default;
	if (!err)
		err = tapir_programs__load(&opts, &ready.programs);
	if (!err && tapir_programs__usdt_fd(ready.programs) < 0)
		err = -EOPNOTSUPP;
	if (err) {
		tapir_programs__free(ready.programs);
		ready.programs = NULL;
		tapir_diag__clear();
		return err;
	}
	ready.opts = opts;
	/* Kernels differ in what a link for one process sees (attach/features.h): it is tried. */
	ready.link_by_pid = opts.use_multi && tapir_features__test_pid_filter() == 1;
	return 0;
}

/* Programs and maps that this recording does not use do no harm: they are not attached. */
static bool take_ready(struct recording *r, const struct tapir_programs_opts *opts, bool may_link)
{
	if (!ready.programs || opts->no_processes || wants_more(r) || opts->machine_cap ||
	    opts->with_questions || opts->with_uses || !opts->probes_later ||
	    opts->frames != ready.opts.frames || opts->ring_bytes != ready.opts.ring_bytes ||
	    opts->use_multi != ready.opts.use_multi ||
	    tapir_programs__set_filter(ready.programs, &opts->filter))
		return false;
	r->programs = ready.programs;
	r->link_by_pid = may_link && ready.link_by_pid;
	ready.programs = NULL;
	tapir_event_lanes__begin(&r->events);
	tapir_event_lanes__join(&r->events);
	return true;
}

/* Sets what the recording asks of the programs. */
static int set_opts(struct recording *r, const struct tapir_features *features,
		    struct tapir_programs_opts *opts)
{
	r->use_multi = opts->use_multi = tapir_features__has(features, TAPIR_FEATURE_UPROBE_MULTI);
	opts->frames = r->opts->frames;
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		opts->families[i] = tapir_recording__wants(r->opts, i);
	tapir_machine__plan(r->machine, opts);
	opts->with_questions = r->opts->with_questions;
	opts->sums = r->opts->sums;
	opts->with_uses = r->opts->with_uses;
	opts->call_counts = r->opts->calls;
	opts->wait_sum_cap = r->opts->wait_sum_cap;
	opts->native = r->opts->native;
	opts->kernel_kinds = r->opts->kernel_kinds;
	opts->kernel_row_cap = r->rules.all ? MANY_KERNEL_ROWS : KERNEL_ROWS;
	r->use_sessions = opts->use_sessions =
		opts->use_multi && tapir_features__has(features, TAPIR_FEATURE_UPROBE_SESSION);
	opts->with_threads = r->opts->with_switches;
	opts->with_holds = tapir_recording__traces_program(r);
	opts->no_processes = r->opts->snapshot_rounds;
	opts->probes_later = !r->opts->program; /* children come before threads */
	opts->probes_unlikely = opts->probes_later && ((r->machine && !r->opts->specs->cnt) ||
						       tapir_event_lanes__are_alone(&r->events));
	return tapir_target_rules__filter(&r->rules, &opts->filter);
}

static int load(struct recording *r, struct tapir_programs_opts *opts)
{
	bool is_testing, may_link = r->use_multi && !opts->no_processes &&
				    !tapir_recording__traces_program(r) && !r->rules.children &&
				    r->rules.pids.cnt && r->rules.pids.cnt <= LINK_BY_PID_MAX_PIDS;
	int err, pid_filter = 0;
	pthread_t tester;

	if (take_ready(r, opts, may_link))
		return 0;
	is_testing = may_link && !pthread_create(&tester, NULL, test_pid_filter, &pid_filter);
	tapir_event_lanes__begin(&r->events);
	err = tapir_programs__load(opts, &r->programs);
	tapir_event_lanes__join(&r->events);
	if (is_testing)
		pthread_join(tester, NULL);
	r->link_by_pid = pid_filter == 1;
	return err;
}

int tapir_recording__load_programs(struct recording *r)
{
	size_t max = max_ring_bytes(r);
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts),
		.site_cap = SITE_CAP,
		.ring_bytes = ring_share(max < FIRST_RING_BYTES ? max : FIRST_RING_BYTES)};
	struct tapir_features features;
	int err;

	/* Two mappings of each, all of it in tapir's RSS: of no use to a forked child. */
	if (tapir_recording__is_without_probes(r) && !tapir_recording__has_samplers(r))
		opts.ring_bytes = MIN_RING_BYTES;
	err = tapir_proc__sees_kernel_pids() ? 0 : check_namespace(r);
	if (err || r->is_unprivileged)
		return err ? err : do_without(r);
	tapir_features__probe(&features);
	err = check_features(&features);
	if (err == -EPERM && may_do_without(r))
		return do_without(r);
	if (!err)
		err = check_access(r, true);
	if (!err)
		err = set_opts(r, &features, &opts);
	return err ? err : load(r, &opts);
}
