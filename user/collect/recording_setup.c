// SPDX-License-Identifier: GPL-2.0-or-later
/* From the first feature probe to probes that are on. */
#include "collect/recording_impl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "attach/features.h"
#include "attach/proc.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "collect/code_names.h"
#include "collect/foreseen.h"
#include "collect/meta.h"
#include "collect/target_access.h"
#include "foreign/helper.h"
#include "symbol/symbolizer.h"
#include "trace/recbuf.h"

#define SITE_CAP	     4096u
#define BLOCK_CNT	     24u /* 12 MB between drain and session thread, touched when it falls back */
#define FIRST_RING_BYTES     (8u << 20)		/* all rings together, to begin with */
#define DEFAULT_RING_BYTES   ((size_t)64 << 20) /* all rings together, at most */
#define MIN_RING_BYTES	     ((size_t)256 << 10)
#define PERF_SITE_LIMIT	     16u
#define LINK_BY_PID_MAX_PIDS 16u
#define DRAIN_MS	     100 /* a file does not mind; the rings wake us when they fill */
#define LIVE_DRAIN_MS	     20

static size_t max_ring_bytes(const struct recording *r)
{
	return r->opts->max_ring_bytes ? r->opts->max_ring_bytes : DEFAULT_RING_BYTES;
}

/* What each ring may have of this much for all. */
static size_t ring_share(size_t total_bytes)
{
	long cpu_cnt = sysconf(_SC_NPROCESSORS_CONF);
	size_t pairs = cpu_cnt > 0 ? ((size_t)cpu_cnt + 1) / 2 : 1, bytes = MIN_RING_BYTES;

	while (bytes * 2 * pairs <= total_bytes)
		bytes *= 2;
	return bytes;
}

/*
 * Whether a link can be kept to one process is found out by trying, and taking the trial's
 * probe off takes 50 ms: that runs beside the loading.
 */
static void *test_pid_filter(void *result)
{
	*(int *)result = tapir_features__test_pid_filter();
	return NULL;
}

#define NAMESPACE_REMEDY "run tapir in the host's (podman run --pid=host, hostPID: true)"

/* What no fallback replaces. */
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
					"This kernel has no %s, by which %s: nothing can be traced "
					"(`tapir doctor` says more)",
					tapir_feature__name(needed[i]),
					tapir_feature__purpose(needed[i]));
	}
	return 0;
}

/* Rings, and samples of processes of one's own, need no programs; probes and switches do. */
static bool may_do_without(const struct recording *r)
{
	return r->opts->lanes != TAPIR_LANES_PROBE && tapir_target_rules__are_named(&r->rules);
}

/* Of another's process there are at most samples and switches, and these by BPF alone. */
static int check_access(const struct recording *r, bool has_bpf)
{
	return tapir_target_access__check(&r->rules, has_bpf && r->opts->specs_are_defaults &&
							     tapir_recording__watches_cpus(r));
}

/* Nor do ends of processes reach us: who is held for us would not be let go. */
static int check_namespace(struct recording *r)
{
	if (!tapir_target_rules__are_named(&r->rules)) {
		tapir_warn("in a container's pid namespace, where pids are not the kernel's: "
			   "samples and events without names: " NAMESPACE_REMEDY);
		r->rules.children = false;
		return 0;
	}
	if (r->opts->lanes == TAPIR_LANES_PROBE)
		return tapir_diag__fail(-EOPNOTSUPP,
					"No probes in a container's pid namespace, "
					"where pids are not the kernel's: " NAMESPACE_REMEDY);
	tapir_warn("in a container's pid namespace, where pids are not the kernel's: events of "
		   ".NET and of ring lanes and CPU samples, but no probes, no context switches, "
		   "no children: " NAMESPACE_REMEDY);
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
	if (!r->is_unprivileged)
		tapir_info("without CAP_BPF and CAP_PERFMON: events of .NET and of ring lanes, "
			   "but no probes, no context switches, no children");
	r->is_unprivileged = true;
	r->rules.children = false;
	return tapir_programs__new_without(&r->programs);
}

static bool traces_program(const struct recording *r)
{
	return r->opts->program && !r->opts->program_is_workload;
}

static int load_programs(struct recording *r)
{
	size_t max = max_ring_bytes(r);
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts),
		.site_cap = SITE_CAP,
		.ring_bytes = ring_share(max < FIRST_RING_BYTES ? max : FIRST_RING_BYTES)};
	struct tapir_features features;
	pthread_t tester;
	int err, pid_filter = 0;
	bool is_testing;

	/* Two mappings of each, all of it in our RSS: for nothing but who forks. */
	if (tapir_recording__is_without_probes(r) && !tapir_recording__watches_cpus(r))
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
	if (err)
		return err;
	r->use_multi = opts.use_multi = tapir_features__has(&features, TAPIR_FEATURE_UPROBE_MULTI);
	opts.with_samples = r->opts->sampling.hz;
	opts.with_switches = r->opts->with_switches;
	opts.probes_later = !r->opts->program; /* children come before threads */
	err = tapir_target_rules__filter(&r->rules, &opts.filter);
	if (err)
		return err;
	is_testing = r->use_multi && !traces_program(r) && !r->rules.children &&
		     r->rules.pids.cnt && r->rules.pids.cnt <= LINK_BY_PID_MAX_PIDS &&
		     !pthread_create(&tester, NULL, test_pid_filter, &pid_filter);
	tapir_recording__begin_dotnet(r);
	err = tapir_programs__load(&opts, &r->programs);
	tapir_recording__join_dotnet(r);
	if (is_testing)
		pthread_join(tester, NULL);
	r->link_by_pid = pid_filter == 1;
	return err;
}

static int prepare_program(struct recording *r)
{
	struct tapir_str env = {};
	int err = traces_program(r) ? tapir_recording__dotnet_environment(r, &env) : 0;

	if (!err)
		err = tapir_command_run__prepare(r->opts->program, &env, &r->command);
	if (!err && traces_program(r))
		r->program = r->command;
	tapir_str__fini(&env);
	return err;
}

/* It does without: what is attached late for that is a GAP. */
static int start_holder(struct recording *r)
{
	int err = tapir_holder__start(tapir_programs__holds(r->programs),
				      tapir_command_run__tgid(r->program), &r->holder);

	if (err == -EPERM) {
		tapir_info("new processes and files are not held until their probes are attached: "
			   "requires CAP_SYS_PTRACE, and a program that nobody traces (a late "
			   "attach is recorded as a GAP)");
		return 0;
	}
	if (err)
		return tapir_diag__fail(err,
					"cannot start the process that holds new processes: %s",
					tapir_errno__text(err));
	tapir_programs__set_holder(r->programs, tapir_holder__tgid(r->holder));
	return 0;
}

/* Children come before threads: fork copies only the thread that calls it. */
static int start_children(struct recording *r)
{
	int err = 0;

	if (r->opts->program)
		err = prepare_program(r);
	if (err || !r->program || !tapir_programs__holds(r->programs))
		return err;
	return start_holder(r);
}

static int start_threads(struct recording *r)
{
	struct tapir_session_opts session = {
		.sz = sizeof(session),
		.programs = r->programs,
		.queue = r->queue,
		.writer = r->writer,
		.on_record = r->opts->on_record,
		.on_flush = r->opts->on_flush,
		.ctx = r->opts->ctx,
		.counters = r->opts->counters,
		.cover = r->cover,
		.dotnet_tells = r->dotnet.is_wanted && r->opts->lanes != TAPIR_LANES_STREAM,
		.wake_fd = r->sink_fd,
	};
	struct tapir_drain_opts drain = {
		.sz = sizeof(drain),
		.programs = r->programs,
		.queue = r->queue,
		.max_ring_bytes = ring_share(max_ring_bytes(r)),
		.wait_ms = r->writer ? DRAIN_MS : LIVE_DRAIN_MS,
	};
	int err = tapir_session__start(&session, &r->session);

	if (!err)
		err = tapir_drain__start(&drain, &r->drain);
	/*
	 * Behind the others, which would inherit it. Those we hold wait for this thread; and among
	 * 5,000 threads that all want to run, Ctrl-C took minutes.
	 */
	setpriority(PRIO_PROCESS, (id_t)gettid(), -15);
	return err;
}

/* Whether a forked child of a traced process is traced, too. */
static bool wants_children(const struct recording *r)
{
	return r->rules.children || r->rules.all || r->rules.comms.cnt || r->rules.cgroups.cnt;
}

/* Before the targets, which hand processes to it. */
static int start_rings(struct recording *r)
{
	bool both = r->opts->lanes == TAPIR_LANES_AUTO;
	struct tapir_ring_reader_opts opts;

	r->cover = both ? tapir_lane_cover__new() : NULL;
	if (both && !r->cover)
		return -ENOMEM;
	opts = (struct tapir_ring_reader_opts){
		.sz = sizeof(opts),
		.queue = r->queue,
		.specs = r->opts->specs,
		.rate_hz = r->opts->rate_hz,
		.cover = r->cover,
		.with_stack = !r->opts->no_ring_stacks, /* nothing to what a trap costs */
		.own_ask = r->dotnet.is_wanted ? r->dotnet.ask : NULL,
		.with_children = wants_children(r),
		.name_spec = r->dotnet_name_spec,
		.with_probes = r->opts->publishes,
	};
	int err = 0;

	if (r->opts->lanes != TAPIR_LANES_PROBE && r->opts->lanes != TAPIR_LANES_STREAM)
		err = tapir_ring_reader__start(&opts, &r->rings);
	return err ? err : tapir_recording__start_dotnet(r);
}

static int make_parts(struct recording *r)
{
	static const struct tapir_spec_list no_specs;
	struct tapir_images_opts images = {
		.sz = sizeof(images),
		.programs = r->programs,
		.queue = r->queue,
		.specs = tapir_recording__is_without_probes(r) || r->is_unprivileged
				 ? &no_specs
				 : r->opts->specs,
		.cover = r->cover,
		.with_stack = r->opts->with_stack,
		.with_published = r->opts->lanes == TAPIR_LANES_PROBE,
		.use_multi = r->use_multi,
		.perf_limit = r->opts->force ? 0 : PERF_SITE_LIMIT,
	};
	struct tapir_targets_opts targets = {
		.sz = sizeof(targets),
		.rules = &r->rules,
		.programs = r->programs,
		.queue = r->queue,
		.holder = r->holder,
		.link_by_pid = r->link_by_pid,
		.rings = r->rings,
		.lanes = r->dotnet.lanes,
	};
	int err = 0;

	if (!r->is_unprivileged &&
	    (r->opts->with_stack || r->opts->sampling.hz || r->opts->with_switches))
		err = tapir_spec__parse(TAPIR_CODE_NAMES_SPEC, &r->name_spec);
	images.name_spec = r->name_spec;
	if (!err)
		err = tapir_images__new(&images, &r->images);
	targets.images = r->images;
	if (!err)
		err = tapir_targets__new(&targets, &r->targets);
	if (r->is_unprivileged)
		return err;
	if (!err)
		err = tapir_sideband__open(&r->sideband);
	if (!err)
		err = tapir_bpf_ring__open(tapir_programs__control_ring_fd(r->programs),
					   &r->control);
	return err;
}

/* SIGINT and SIGTERM arrive as data from here on; a closed pipe or a limit is an error code. */
static int catch_signals(struct recording *r)
{
	sigset_t mask;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &r->old_mask);
	r->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	r->clock_fd = tapir_clock__watch(); /* else UTC is as exact as the next second */
	r->sink_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	tapir_helpers__set_cancel(r->signal_fd);
	return r->signal_fd < 0 || r->sink_fd < 0 ? -errno : 0;
}

size_t tapir_recording__ring_events(const struct recording *r)
{
	struct tapir_ring_reader_stats stats = {};

	if (r->rings)
		tapir_ring_reader__stats(r->rings, &stats);
	return stats.wanted_cnt;
}

struct tapir_no_match tapir_recording__no_match(const struct recording *r)
{
	return (struct tapir_no_match){
		.specs = r->opts->specs,
		.specs_are_defaults = r->opts->specs_are_defaults,
		.images = tapir_recording__is_without_probes(r) ? NULL : r->images,
		.rings = r->rings,
		.streams = r->dotnet.streams,
		.sources = r->opts->sources,
		.may_be_silent = tapir_dotnet_lanes__attached_cnt(r->dotnet.lanes) > 0,
		.is_waiting = tapir_dotnet_lanes__may_come(r->dotnet.lanes),
		.are_named = r->rules.pids.cnt > 0,
		.is_unprivileged = r->is_unprivileged,
	};
}

int tapir_recording__post_lanes(struct recording *r)
{
	struct tapir_ring_reader_stats stats = {};
	char ring[40] = "", stream[40] = "", lanes[sizeof(r->lanes)];
	size_t stream_cnt = tapir_dotnet_streams__process_cnt(r->dotnet.streams);
	bool has_probes = !tapir_recording__is_without_probes(r) && !r->is_unprivileged;

	if (r->rings)
		tapir_ring_reader__stats(r->rings, &stats);
	if (stats.process_cnt || (r->rings && !has_probes && !stream_cnt))
		snprintf(ring, sizeof(ring), "ring %zu process%s", stats.process_cnt,
			 stats.process_cnt == 1 ? "" : "es");
	if (stream_cnt || (!r->rings && !has_probes))
		snprintf(stream, sizeof(stream), "stream %zu process%s", stream_cnt,
			 stream_cnt == 1 ? "" : "es");
	snprintf(lanes, sizeof(lanes), "%s%s%s%s%s", ring, *ring && *stream ? ", " : "", stream,
		 (*ring || *stream) && has_probes ? ", " : "", has_probes ? "probe" : "");
	if (!strcmp(lanes, r->lanes))
		return 0;
	memcpy(r->lanes, lanes, sizeof(lanes));
	return tapir_meta__post_one(r->queue, "lane", lanes);
}

bool tapir_recording__is_without_probes(const struct recording *r)
{
	return r->opts->lanes == TAPIR_LANES_RING || r->opts->lanes == TAPIR_LANES_STREAM;
}

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

static int start_own_sampler(struct recording *r)
{
	const struct tapir_sampling *sampling = &r->opts->sampling;
	uint32_t tgid = r->program ? tapir_command_run__tgid(r->program) : 0;

	return tapir_own_samples__start(r->queue, sampling->event, sampling->hz,
					r->program ? &tgid : r->rules.pids.data,
					r->program ? 1 : r->rules.pids.cnt, &r->own_samples);
}

static int start_sampler(struct recording *r)
{
	const struct tapir_sampling *sampling = &r->opts->sampling;

	if (r->is_unprivileged)
		return start_own_sampler(r);
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

static int start_watching_cpus(struct recording *r)
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

static int foresee(void *targets, int fd, const char *path)
{
	int err = tapir_targets__foresee(targets, fd, path);

	if (err)
		tapir_debug("%s is not prepared: %s", path, tapir_errno__name(err));
	return err == -ENOMEM ? err : 0;
}

/* What a program of ours maps when it starts; a failure shows again when it does. */
static void attach_to_program(struct recording *r)
{
	int mark = tapir_diag__cnt();
	char path[PATH_MAX];

	if (tapir_command__find(r->opts->program[0], path))
		(void)tapir_foreseen__each(path, foresee, r->targets);
	tapir_diag__rewind(mark);
}

/* Probes go on in what runs already; then the program may start. */
static int attach_all(struct recording *r)
{
	struct tapir_no_match asked;
	int err = tapir_programs__attach_process(r->programs, r->holder != NULL);

	tapir_programs__enable(r->programs, true);
	if (!err && r->program)
		err = tapir_targets__add(r->targets, tapir_command_run__tgid(r->program));
	if (!err && r->program && !r->is_unprivileged)
		attach_to_program(r);
	if (!err)
		err = tapir_targets__scan(r->targets);
	if (err)
		return err;
	tapir_recording__await_dotnet(r);
	err = tapir_recording__check_publish(r);
	if (err)
		return err;
	asked = tapir_recording__no_match(r);
	if (!tapir_images__site_cnt(r->images) && !tapir_recording__ring_events(r) &&
	    !asked.may_be_silent && !asked.is_waiting && r->rules.pids.cnt &&
	    !(r->opts->specs_are_defaults && tapir_recording__watches_cpus(r)))
		return tapir_no_match__fail(&asked);
	return 0;
}

/* Samples alone are what was asked for, but events may be what was hoped for. */
static void say_what_else_is_there(const struct recording *r)
{
	const struct tapir_seen_names *seen = tapir_images__seen(r->images);

	if (seen->all.cnt && r->rules.pids.cnt && r->opts->specs_are_defaults &&
	    !tapir_images__site_cnt(r->images) && !tapir_dotnet_lanes__may_come(r->dotnet.lanes))
		tapir_info(
			"no default events in this process; %zu other probes can be named (%s ...): 'tapir list -p %u' shows them",
			seen->all.cnt, seen->all.data[0], r->rules.pids.data[0]);
}

static void say_ready(const struct recording *r)
{
	const struct tapir_recording_ready ready = {
		.probe_cnt = tapir_images__attached_cnt(r->images),
		.ring_event_cnt = tapir_recording__ring_events(r),
		.dotnet_cnt = tapir_dotnet_lanes__attached_cnt(r->dotnet.lanes),
		.took_ns = tapir_clock__now_ns() - r->start_ns,
	};

	if (r->opts->on_ready)
		r->opts->on_ready(r->opts->ctx, &ready);
	if (!ready.dotnet_cnt)
		say_what_else_is_there(r);
	if (!r->use_multi && !r->is_unprivileged)
		tapir_info(
			"this kernel has no uprobe_multi (Linux 6.6): detaching takes 0.1 s per probe");
}

int tapir_recording__set_up(struct recording *r)
{
	int err = catch_signals(r);

	if (!err)
		err = tapir_recording__plan_dotnet(r);
	if (!err && r->opts->publishes)
		err = tapir_publish__open(&r->publish);
	if (!err)
		err = load_programs(r);
	if (!err && r->opts->file)
		err = tapir_writer__open(r->opts->file, &r->writer);
	if (!err)
		err = tapir_queue__new(BLOCK_CNT, &r->queue);
	if (!err)
		err = start_children(r);
	if (!err)
		err = start_rings(r);
	if (!err)
		err = make_parts(r);
	if (!err)
		err = tapir_meta__post(r->queue, r->opts->command_line);
	if (!err)
		err = tapir_meta__post_specs(r->queue, r->opts->specs);
	if (!err)
		err = start_threads(r);
	if (!err)
		err = attach_all(r);
	if (!err)
		err = start_watching_cpus(r);
	if (!err)
		err = tapir_recording__post_lanes(r);
	if (!err)
		say_ready(r);
	if (!err && r->command)
		err = tapir_command_run__go(r->command);
	return err;
}
