// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The way from the first feature probe to probes that are attached. The order is forced: children
 * are forked before there are threads, since fork(2) copies only the thread that calls it; the
 * program is started last; probes are enabled when all are attached, so that their events begin at
 * one moment.
 */
#include "record/recording_impl.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "record/names/code_names.h"
#include "record/elf_closure.h"
#include "record/meta.h"
#include "runtime/otel/otel_watch.h"
#include "base/foreign/helper.h"

#define BLOCK_CNT	24u /* 12 MB between drain and session thread, touched when it falls back */
#define PERF_SITE_LIMIT 16u
#define FOLLOW_NS	TAPIR_NS_PER_SEC
#define UNWINDING_NS	(10 * TAPIR_NS_PER_SEC) /* after that much, stacks lack callers and say so */
#define DRAIN_MS	100 /* a file does not mind; the rings wake us when they fill */
#define LIVE_DRAIN_MS	20

static int prepare_program(struct recording *r)
{
	struct tapir_str env = {};
	char path[PATH_MAX];
	int err = 0;

	if (tapir_recording__traces_program(r))
		err = tapir_event_lanes__add_environment(
			&r->events, tapir_command__find(r->opts->program[0], path) ? path : NULL,
			&env);

	if (!err)
		err = tapir_command_run__prepare(r->opts->program, &env, &r->command);
	if (!err && tapir_recording__traces_program(r))
		r->program = r->command;
	tapir_str__fini(&env);
	return err;
}

/* A recording works without a holder: a file that is attached late is then a GAP. */
static int start_holder(struct recording *r)
{
	int err = tapir_holder__start(tapir_programs__holds(r->programs),
				      tapir_command_run__tgid(r->program), &r->holder);

	if (err == -EPERM) {
		tapir_info("new processes and files are not held until their probes are attached: "
			   "requires CAP_SYS_PTRACE, and a program that no other tool traces "
			   "(a late attach is recorded as a GAP)");
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

/* A traced thread may have begun to run, for which the reader waits. */
static void wake_rings(void *recording)
{
	const struct recording *r = recording;

	if (r->rings)
		tapir_ring_reader__wake(r->rings);
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
		.on_exit = r->opts->on_exit,
		.ctx = r->opts->ctx,
		.flight = r->opts->flight ? &r->opts->flight->session : NULL,
		.counters = r->opts->counters,
		.where = r->opts->where,
		.jvm_counters = r->opts->jvm_counters,
		.no_names = r->opts->no_names,
		.with_unwinding = r->opts->with_stack || tapir_recording__wants_any(r->opts),
		.unwind_bytes = r->opts->unwind_bytes,
		.cover = r->cover,
		.dotnet_reports_methods = tapir_event_lanes__request(&r->events).request &&
					  r->opts->lanes != TAPIR_LANES_STREAM,
		.wake_fd = r->sink_fd,
	};
	struct tapir_drain_opts drain = {
		.sz = sizeof(drain),
		.programs = r->programs,
		.queue = r->queue,
		.max_ring_bytes = tapir_recording__ring_bytes(r),
		.wait_ms = r->writer ? DRAIN_MS : LIVE_DRAIN_MS,
		.on_woken = wake_rings,
		.ctx = r,
	};
	int err;

	err = tapir_session__start(&session, &r->session);

	if (!err)
		err = tapir_drain__start(&drain, &r->drain);
	/*
	 * After the others, which would inherit it. Held threads wait for this one; and among 5,000
	 * threads that all want to run, Ctrl-C took minutes.
	 */
	setpriority(PRIO_PROCESS, (id_t)gettid(), -15);
	return err;
}

/* Returns true if a forked child of a traced process is traced, too. */
static bool wants_children(const struct recording *r)
{
	return r->rules.children || r->rules.all || r->rules.comms.cnt || r->rules.cgroups.cnt;
}

/* Before the targets, which hand processes to it. */
static int start_rings(struct recording *r)
{
	bool both = r->opts->lanes == TAPIR_LANES_AUTO;
	bool has_rings =
		r->opts->lanes != TAPIR_LANES_PROBE && r->opts->lanes != TAPIR_LANES_STREAM;
	const struct tapir_event_lane_request sent = tapir_event_lanes__request(&r->events);
	struct tapir_ring_reader_opts opts;

	r->cover = has_rings ? tapir_lane_coverage__new() : NULL;
	if (has_rings && !r->cover)
		return -ENOMEM;
	opts = (struct tapir_ring_reader_opts){
		.sz = sizeof(opts),
		.queue = r->queue,
		.specs = r->opts->specs,
		.rate_hz = r->opts->rate_hz,
		.cover = r->cover,
		.with_stack = !r->opts->no_ring_stacks, /* nothing to what a trap costs */
		.with_every_stack = r->opts->with_stack,
		.private_request = sent.request,
		.with_children = wants_children(r),
		.has_probes = both && !r->is_unprivileged && wants_children(r),
		.name_spec = sent.name_spec,
		.budget_spec = sent.budget_spec,
		.with_probes = r->opts->publishes,
		.wait_ms = r->opts->ring_wait_ms,
	};
	int err = 0;

	if (has_rings)
		err = tapir_ring_reader__start(&opts, &r->rings);
	if (!err && both)
		tapir_programs__set_ring_session(r->programs,
						 tapir_ring_reader__session_id(r->rings));
	return err ? err : tapir_event_lanes__start(&r->events, r->rings, r->queue);
}

/* A file about the whole machine is read later, so wake-ups can be combined. */
bool tapir_recording__coalesces_wakeups(const struct recording *r)
{
	return r->rules.all && r->writer;
}

/* Rings alone have what was requested if no probe is attached. */
static void choose_lanes(const struct recording *r, struct tapir_images_opts *images,
			 struct tapir_targets_opts *targets)
{
	static const struct tapir_spec_list no_specs;

	if (!tapir_recording__is_without_probes(r) && !r->is_unprivileged) {
		images->specs = r->opts->specs;
		images->cover = r->cover;
		return;
	}
	images->specs = &no_specs;
	images->ring_specs = r->rings ? r->opts->specs : NULL;
	targets->ring_cover = r->cover;
	targets->hands_over = false;
}

static int make_parts(struct recording *r)
{
	struct tapir_images_opts images = {
		.sz = sizeof(images),
		.programs = r->programs,
		.queue = r->queue,
		.functions = r->opts->machine,
		/* Numbers are shared with tracepoints, which come first. */
		.first_probe_id = tapir_machine__cnt(r->machine) + 1,
		.with_stack = r->opts->with_stack,
		.with_published = r->opts->lanes == TAPIR_LANES_PROBE,
		.with_native = r->opts->native && !r->is_unprivileged,
		.use_sessions = r->use_sessions,
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
		.hands_over = r->cover && r->use_multi && r->rules.children &&
			      tapir_target_rules__are_named(&r->rules),
		.no_command_lines = r->opts->no_command_lines,
		.coalesces_wakeups = tapir_recording__coalesces_wakeups(r),
		.rings = r->rings,
		.events = &r->events,
	};
	int err = 0;

	choose_lanes(r, &images, &targets);
	if (!r->is_unprivileged && !r->opts->snapshot_rounds &&
	    (r->opts->with_stack || tapir_recording__has_samplers(r)))
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

/* Apart from those that end the recording. */
static int catch_requests(struct recording *r)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR2);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	r->freeze_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->freeze_fd < 0 ? -errno : 0;
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
	if (r->opts->flight && catch_requests(r))
		return -errno;
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

struct tapir_match_report tapir_recording__match_report(const struct recording *r)
{
	const struct tapir_event_lane_facts sent = tapir_event_lanes__facts(&r->events);

	return (struct tapir_match_report){
		.specs = r->opts->specs,
		.specs_are_defaults = r->opts->specs_are_defaults,
		.images = tapir_recording__is_without_probes(r) ? NULL : r->images,
		.rings = r->rings,
		.events = &r->events,
		.has_streams = sent.has_streams,
		.sources = r->opts->sources,
		.may_be_silent = sent.attached_cnt > 0,
		.is_waiting = sent.may_come,
		.undeclared_cnt = sent.undeclared_cnt,
		.are_named = r->rules.pids.cnt > 0,
		.is_unprivileged = r->is_unprivileged,
	};
}

int tapir_recording__post_lanes(struct recording *r)
{
	struct tapir_ring_reader_stats stats = {};
	char ring[40] = "", stream[40] = "", lanes[sizeof(r->lanes)];
	size_t stream_cnt = tapir_event_lanes__facts(&r->events).stream_cnt;
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

static int prepare_closure(void *targets, int fd, const char *path)
{
	int err = tapir_targets__prepare_file(targets, fd, path);

	if (err)
		tapir_debug("cannot attach to %s in advance: %s", path, tapir_errno__text(err));
	return err == -ENOMEM ? err : 0;
}

/* The files that a program maps when it starts; a failure appears again when it does. */
static void attach_to_program(struct recording *r)
{
	int mark = tapir_diag__cnt();
	char path[PATH_MAX];

	if (tapir_command__find(r->opts->program[0], path))
		(void)tapir_elf_closure__each(path, prepare_closure, r->targets);
	tapir_diag__rewind(mark);
}

/*
 * A thread of libtapir turns events on in a running process. Until it has done so they are not
 * fired, and nothing counts them.
 */
static void await_followers(struct recording *r)
{
	struct pollfd signals = {.fd = r->signal_fd, .events = POLLIN};
	uint64_t end_ns = tapir_clock__now_ns() + FOLLOW_NS;
	bool is_lagging;

	if (!r->rings)
		return;
	while ((is_lagging = tapir_ring_reader__is_lagging(r->rings)) &&
	       tapir_clock__now_ns() < end_ns && poll(&signals, 1, 1) == 0)
		;
	if (is_lagging && tapir_clock__now_ns() >= end_ns)
		tapir_info(
			"a process has not enabled its events within 1 s: the first of them may be missing");
}

/*
 * The walker learns what processes map from the session thread, which may be behind: until then
 * their callers would be outside of all code. Samples of a moment need unwind tables as well; a
 * recording of some length does without, and its first stacks may lack callers.
 */
static void await_unwinding(struct recording *r)
{
	struct pollfd signals = {.fd = r->signal_fd, .events = POLLIN};
	uint64_t end_ns = tapir_clock__now_ns() + UNWINDING_NS;
	bool with_tables =
		r->opts->snapshot_rounds && tapir_recording__wants(r->opts, TAPIR_FAMILY_SAMPLE);

	while (!tapir_session__can_unwind(r->session, with_tables) &&
	       tapir_clock__now_ns() < end_ns && poll(&signals, 1, 1) == 0)
		;
}

int tapir_recording__check_functions(const struct recording *r)
{
	enum tapir_function_seen seen;
	const struct tapir_machine_source *missing =
		tapir_images__missing_function(r->images, &seen);
	const char *slash;

	if (!missing)
		return 0;
	if (seen != TAPIR_FUNCTION_UNSEEN)
		return tapir_diag__fail(-ENOENT, "%s: it was not attached", missing->text);
	slash = missing->file ? strrchr(missing->file, '/') : NULL;
	if (slash && *missing->file != '/')
		return tapir_diag__fail(
			-ENOENT,
			"%s: a process has no file by a relative path: give its name, "
			"'%s', or its path from '/'",
			missing->text, slash + 1);
	return tapir_diag__fail(-ENOENT, "%s: no traced process maps such a file", missing->text);
}

/* Attaches probes in processes that run already; then the program may start. */
static int attach_to_processes(struct recording *r)
{
	int err = tapir_programs__attach_process(r->programs, r->holder != NULL);

	/*
	 * Records are let out before there are targets: a process's hits count from the moment at
	 * which it becomes one.
	 */
	tapir_programs__enable(r->programs, true);
	if (!err && r->program)
		err = tapir_targets__add(r->targets, tapir_command_run__tgid(r->program));
	if (!err && r->program && !r->is_unprivileged)
		attach_to_program(r);
	if (!err)
		err = tapir_targets__scan(r->targets);
	return err ? err : tapir_session__mark(r->session);
}

/* A misspelt name is reported before the user waits for its events. */
static void warn_of_undeclared(const struct recording *r, const struct tapir_match_report *matches)
{
	size_t cnt = matches->undeclared_cnt;

	if (cnt && !matches->may_be_silent && !tapir_images__site_cnt(r->images) &&
	    !tapir_recording__ring_events(r))
		tapir_warn(
			"no process has a probe, or declares an event source, that was requested: waiting for one (%zu .NET process%s not entered)",
			cnt, cnt == 1 ? " is" : "es are");
}

/* Fails if there is nothing that can be recorded, now or later. */
static int check_attached(struct recording *r)
{
	struct tapir_match_report matches = tapir_recording__match_report(r);
	int err = r->rules.pids.cnt ? tapir_recording__check_functions(r) : 0;

	warn_of_undeclared(r, &matches);
	if (err)
		return err;
	if (r->machine || tapir_images__site_cnt(r->images) || tapir_recording__ring_events(r) ||
	    matches.may_be_silent || matches.is_waiting || !r->rules.pids.cnt)
		return 0;
	if (r->opts->wants_events)
		return tapir_diag__fail(
			-EOPNOTSUPP,
			"no event of the profile can be recorded in process %u (omit --profile to record CPU samples and context switches)",
			r->rules.pids.data[0]);
	if (!(r->opts->specs_are_defaults && tapir_recording__has_samplers(r)))
		return tapir_match_report__fail(&matches);
	return 0;
}

static int attach_all(struct recording *r)
{
	int err = attach_to_processes(r);

	if (err)
		return err;
	tapir_event_lanes__await(&r->events, r->program ? tapir_command_run__tgid(r->program) : 0);
	await_followers(r);
	await_unwinding(r);
	err = tapir_event_lanes__check(&r->events);
	return err ? err : check_attached(r);
}

/* Samples alone are what was requested, but events may be what was hoped for. */
static void hint_at_other_probes(const struct recording *r)
{
	const struct tapir_seen_names *seen = tapir_images__seen(r->images);

	if (seen->all.cnt && r->rules.pids.cnt && r->opts->specs_are_defaults &&
	    !r->opts->with_uses && r->opts->specs->cnt && !tapir_images__site_cnt(r->images) &&
	    !tapir_event_lanes__facts(&r->events).may_come)
		tapir_info(
			"no default events in this process; %zu other probes can be named (%s ...): 'tapir list -p %u' shows them",
			seen->all.cnt, seen->all.data[0], r->rules.pids.data[0]);
}

static void notify_ready(const struct recording *r)
{
	const struct tapir_recording_ready ready = {
		.probe_cnt = tapir_images__attached_cnt(r->images) + tapir_machine__cnt(r->machine),
		.ring_event_cnt = tapir_recording__ring_events(r),
		.dotnet_cnt = tapir_event_lanes__facts(&r->events).attached_cnt,
		.took_ns = tapir_clock__now_ns() - r->start_ns,
	};

	if (r->opts->on_ready)
		r->opts->on_ready(r->opts->ctx, &ready);
	if (!ready.dotnet_cnt)
		hint_at_other_probes(r);
	if (!r->use_multi && !r->is_unprivileged)
		tapir_info(
			"this kernel has no uprobe_multi (Linux 6.6): detaching takes 0.1 s per probe");
}

static int watch_publishers(struct recording *r)
{
	if (r->opts->snapshot_rounds)
		return 0;
	r->publishers = tapir_otel_watch__new(r->queue);
	return r->publishers ? 0 : -ENOMEM;
}

static void drain_while_waiting(void *r)
{
	tapir_recording__drain_control(r);
}

static int plan_events(struct recording *r)
{
	const struct tapir_recording_opts *opts = r->opts;

	return tapir_event_lanes__plan(
		&r->events, &(struct tapir_event_lanes_opts){
				    .sz = sizeof(struct tapir_event_lanes_opts),
				    .specs = opts->specs,
				    .pids = &r->rules.pids,
				    .is_all = r->rules.all,
				    .with_children = r->rules.children,
				    .is_by_default = opts->specs_are_defaults &&
						     !opts->wants_events && !opts->counters,
				    .has_program = tapir_recording__traces_program(r),
				    .with_budgeted_awaits = opts->with_budgeted_awaits,
				    .with_stack = !opts->no_ring_stacks,
				    .publishes = opts->publishes,
				    .lanes = opts->lanes,
				    .signal_fd = r->signal_fd,
				    .while_waiting = drain_while_waiting,
				    .ctx = r,
			    });
}

static int plan(struct recording *r)
{
	/* Before any thread is there: each inherits the mask, and no other takes a signal. */
	int err = catch_signals(r);

	r->native.limit_hz = r->opts->native ? r->opts->native->limit_hz : 0;
	if (!err)
		err = plan_events(r);
	if (!err && r->opts->machine)
		err = tapir_machine__new(r->opts->machine, r->opts->with_stack, &r->machine);
	return err;
}

/*
 * The file is opened after the programs are loaded: where the kernel refuses them, none is left
 * behind.
 */
static int open_recording_file(struct recording *r)
{
	int err = 0;

	if (r->opts->on_programs)
		r->opts->on_programs(r->opts->ctx, r->programs);
	if (r->opts->file)
		err = tapir_writer__open(r->opts->file, &r->writer);
	return err ? err : tapir_queue__new(BLOCK_CNT, &r->queue);
}

static int post_meta(struct recording *r)
{
	int err = tapir_meta__post(r->queue, r->opts->command_line);

	if (!err && r->rules.all)
		err = tapir_meta__post_one(r->queue, "targets", "all processes");
	return err ? err : tapir_meta__post_specs(r->queue, r->opts->specs);
}

static int start_machine(struct recording *r)
{
	return r->machine ? tapir_machine__start(r->machine, r->programs, r->queue) : 0;
}

/* All is attached: a script that waits for the line of notify_ready starts its load now. */
static int start_command(struct recording *r)
{
	notify_ready(r);
	return r->command ? tapir_command_run__go(r->command) : 0;
}

int tapir_recording__set_up(struct recording *r)
{
	static int (*const steps[])(struct recording * r) = {
		plan,
		tapir_recording__load_programs,
		open_recording_file,
		start_children,
		start_rings,
		make_parts,
		post_meta,
		start_threads,
		attach_all,
		tapir_recording__start_samplers,
		start_machine,
		tapir_recording__post_lanes,
		watch_publishers,
		start_command,
	};
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(steps) / sizeof(*steps); i++)
		err = steps[i](r);
	return err;
}
