// SPDX-License-Identifier: GPL-2.0-or-later
/* Setting up, watching, stopping, in this order of importance: what is recorded is safe first. */
#include "collect/recording.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/bpf_ring.h"
#include "attach/features.h"
#include "attach/sampler.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "collect/command.h"
#include "collect/drain.h"
#include "collect/meta.h"
#include "collect/no_match.h"
#include "symbol/symbolizer.h"
#include "trace/recbuf.h"

#define SITE_CAP	     4096u
#define BLOCK_CNT	     24u		/* 12 MB between drain and session thread */
#define FIRST_RING_BYTES     (8u << 20)		/* all rings together, to begin with */
#define DEFAULT_RING_BYTES   ((size_t)64 << 20) /* all rings together, at most */
#define MIN_RING_BYTES	     ((size_t)256 << 10)
#define PERF_SITE_LIMIT	     16u
#define LINK_BY_PID_MAX_PIDS 16u
#define POLL_MS		     500
#define DRAIN_MS	     100 /* a file does not mind; the rings wake us when they fill */
#define LIVE_DRAIN_MS	     20

enum { FD_SIGNAL, FD_CONTROL, FD_SIDEBAND, FD_SINK, FD_PROGRAM, FD_CNT };

struct recording {
	const struct tapir_recording_opts *opts;
	struct tapir_target_rules rules;
	struct tapir_writer *writer;
	struct tapir_programs *programs;
	struct tapir_queue *queue;
	struct tapir_command_run *program;
	struct tapir_guardian *guardian;
	struct tapir_sampler *sampler;
	struct tapir_images *images;
	struct tapir_targets *targets;
	struct tapir_sideband *sideband;
	struct tapir_bpf_ring control;
	struct tapir_drain *drain;
	struct tapir_session *session;
	int signal_fd, sink_fd;
	bool use_multi, link_by_pid;
	bool program_started;
	uint64_t start_ns, end_ns; /* end: 0 none */
	sigset_t old_mask;
};

/* ---- setting up ------------------------------------------------------------------------- */

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

/* What no fallback replaces. */
static int check_features(const struct tapir_features *features)
{
	static const enum tapir_feature_id needed[] = {TAPIR_FEATURE_BTF, TAPIR_FEATURE_RING_BUFFER,
						       TAPIR_FEATURE_TASK_STORAGE,
						       TAPIR_FEATURE_SLEEPABLE};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		const struct tapir_feature *f = &features->by_id[needed[i]];

		if (f->is_there)
			continue;
		if (f->err == -EPERM || f->err == -EACCES)
			return tapir_diag__fail(-EPERM, "Not allowed to trace: needs CAP_BPF and "
							"CAP_PERFMON, or root (run with sudo; "
							"`tapir doctor` says what is missing)");
		return tapir_diag__fail(-EOPNOTSUPP,
					"This kernel has no %s, by which %s: nothing can be traced "
					"(`tapir doctor` says more)",
					tapir_feature__name(needed[i]),
					tapir_feature__purpose(needed[i]));
	}
	return 0;
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

	tapir_features__probe(&features);
	err = check_features(&features);
	if (err)
		return err;
	r->use_multi = opts.use_multi = tapir_features__has(&features, TAPIR_FEATURE_UPROBE_MULTI);
	opts.with_samples = r->opts->sample_hz;
	err = tapir_target_rules__filter(&r->rules, &opts.filter);
	if (err)
		return err;
	is_testing = r->use_multi && !r->opts->program && !r->rules.children && r->rules.pids.cnt &&
		     r->rules.pids.cnt <= LINK_BY_PID_MAX_PIDS &&
		     !pthread_create(&tester, NULL, test_pid_filter, &pid_filter);
	err = tapir_programs__load(&opts, &r->programs);
	if (is_testing)
		pthread_join(tester, NULL);
	r->link_by_pid = pid_filter == 1;
	return err;
}

/* Children come before threads: fork copies only the thread that calls it. */
static int start_children(struct recording *r)
{
	int err = 0;

	if (r->opts->program)
		err = tapir_command_run__prepare(r->opts->program, &r->program);
	if (!err && r->rules.hold_new)
		err = tapir_guardian__start(tapir_programs__control_ring_fd(r->programs),
					    &r->guardian);
	return err;
}

/* A file is held by its descriptor until it was read for names: -a meets thousands. */
static void raise_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
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

	return err ? err : tapir_drain__start(&drain, &r->drain);
}

static int make_parts(struct recording *r)
{
	struct tapir_images_opts images = {
		.sz = sizeof(images),
		.programs = r->programs,
		.queue = r->queue,
		.specs = r->opts->specs,
		.with_stack = r->opts->with_stack,
		.use_multi = r->use_multi,
		.perf_limit = r->opts->force ? 0 : PERF_SITE_LIMIT,
	};
	struct tapir_targets_opts targets = {
		.sz = sizeof(targets),
		.rules = &r->rules,
		.programs = r->programs,
		.queue = r->queue,
		.guardian = r->guardian,
		.link_by_pid = r->link_by_pid,
	};
	int err = tapir_images__new(&images, &r->images);

	targets.images = r->images;
	if (!err)
		err = tapir_targets__new(&targets, &r->targets);
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
	r->sink_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return r->signal_fd < 0 || r->sink_fd < 0 ? -errno : 0;
}

/* The kernel is where a sample's kernel stack lies: a mapping of nobody's. */
static int start_sampling(struct recording *r)
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

	if (!r->opts->sample_hz)
		return 0;
	tapir_rec__init(&kernel.h, TAPIR_REC_MAPPING, sizeof(kernel), tapir_clock__now_ns());
	rec = tapir_recbuf__mapping(&buf, &kernel, tapir_sv__of("[kernel]"));
	err = rec ? tapir_queue__post(r->queue, rec, -1) : -ENOMEM;
	tapir_recbuf__fini(&buf);
	return err ? err
		   : tapir_sampler__start(tapir_programs__sample_fd(r->programs),
					  r->opts->sample_hz, &r->sampler);
}

/* Probes go on in what runs already; then the program may start. */
static int attach_all(struct recording *r)
{
	int err = tapir_programs__attach_process(r->programs, r->rules.hold_new);

	tapir_programs__enable(r->programs, true);
	if (!err && r->program)
		err = tapir_targets__add(r->targets, tapir_command_run__tgid(r->program));
	if (!err)
		err = tapir_targets__scan(r->targets);
	if (err)
		return err;
	if (!tapir_images__site_cnt(r->images) && r->rules.pids.cnt && !r->opts->sample_hz)
		return tapir_no_match__fail(r->opts->specs, r->opts->specs_are_defaults, r->images);
	if (r->opts->on_ready)
		r->opts->on_ready(r->opts->ctx, tapir_images__attached_cnt(r->images),
				  tapir_clock__now_ns() - r->start_ns);
	if (!r->use_multi)
		tapir_info("this kernel has no uprobe_multi (Linux 6.6): every probe takes 0.1 s "
			   "to take off");
	return 0;
}

static int set_up(struct recording *r)
{
	int err = catch_signals(r);

	if (!err)
		err = load_programs(r);
	if (!err && r->opts->file)
		err = tapir_writer__open(r->opts->file, &r->writer);
	if (!err)
		err = tapir_queue__new(BLOCK_CNT, &r->queue);
	if (!err)
		err = start_children(r);
	raise_open_files(); /* ours, not the program's */
	if (!err)
		err = make_parts(r);
	if (!err)
		err = tapir_meta__post(r->queue, r->opts->command_line);
	if (!err)
		err = start_threads(r);
	if (!err)
		err = attach_all(r);
	if (!err)
		err = start_sampling(r);
	if (!err && r->program)
		err = tapir_command_run__go(r->program);
	return err;
}

/* ---- watching --------------------------------------------------------------------------- */

static void on_mmap(void *ctx, const struct tapir_sideband_mmap *mmap)
{
	tapir_targets__on_mmap(ctx, mmap);
}

/* Processes first: a mapping counts only for a process that is known to be ours. */
static void drain_control(struct recording *r)
{
	const void *rec;
	uint32_t len;

	while ((rec = tapir_bpf_ring__next(&r->control, &len)))
		tapir_targets__on_control(r->targets, rec, len);
	tapir_bpf_ring__release(&r->control);
	tapir_sideband__drain(r->sideband, on_mmap, r->targets);
	tapir_targets__forget_ended(r->targets);
}

static void report_progress(struct recording *r, bool is_stopping, size_t detach_left_cnt)
{
	struct tapir_recording_progress progress = {
		.elapsed_ns = tapir_clock__now_ns() - r->start_ns,
		.attached_cnt = tapir_images__attached_cnt(r->images),
		.is_stopping = is_stopping,
		.detach_left_cnt = detach_left_cnt,
	};

	if (!r->opts->on_progress)
		return;
	tapir_session__stats(r->session, &progress.stats);
	r->opts->on_progress(r->opts->ctx, &progress);
}

static bool is_over(struct recording *r, const struct pollfd *fds)
{
	struct tapir_session_stats stats;

	tapir_session__stats(r->session, &stats);
	return fds[FD_SIGNAL].revents || stats.err ||
	       (r->end_ns && tapir_clock__now_ns() >= r->end_ns) ||
	       !tapir_targets__live_cnt(r->targets);
}

static int poll_timeout_ms(const struct recording *r, uint64_t next_ns)
{
	uint64_t now = tapir_clock__now_ns();
	uint64_t until = r->end_ns && r->end_ns < next_ns ? r->end_ns : next_ns;

	return until <= now ? 0 : (int)((until - now) / TAPIR_NS_PER_MS + 1);
}

static int watch(struct recording *r)
{
	struct pollfd fds[FD_CNT] = {
		[FD_SIGNAL] = {r->signal_fd, POLLIN, 0},
		[FD_CONTROL] = {r->control.fd, POLLIN, 0},
		[FD_SIDEBAND] = {tapir_sideband__fd(r->sideband), POLLIN, 0},
		[FD_SINK] = {r->sink_fd, POLLIN, 0},
		[FD_PROGRAM] = {r->program ? tapir_command_run__error_fd(r->program) : -1, POLLIN,
				0},
	};
	uint64_t next_ns = tapir_clock__now_ns() + POLL_MS * TAPIR_NS_PER_MS;

	for (;;) {
		if (poll(fds, FD_CNT, poll_timeout_ms(r, next_ns)) < 0 && errno != EINTR)
			return -errno;
		drain_control(r);
		if (fds[FD_PROGRAM].revents) {
			int err = tapir_command_run__exec_error(r->program);

			if (err)
				return err;
			fds[FD_PROGRAM].fd = -1;
		}
		if (tapir_clock__now_ns() >= next_ns) {
			tapir_targets__poll(r->targets);
			report_progress(r, false, 0);
			next_ns = tapir_clock__now_ns() + POLL_MS * TAPIR_NS_PER_MS;
		}
		if (is_over(r, fds))
			return 0;
	}
}

/* ---- stopping --------------------------------------------------------------------------- */

static void on_first_signal(int number)
{
	(void)number; /* we are stopping already */
}

/*
 * A second Ctrl-C ends us at once: the file is good up to its last whole chunk. Where we stop
 * because the target ended, the first one still changes nothing.
 */
static void let_signals_kill(struct recording *r)
{
	struct sigaction action = {.sa_handler = on_first_signal,
				   .sa_flags = (int)SA_RESETHAND | SA_RESTART};
	struct signalfd_siginfo info;

	while (r->signal_fd >= 0 && read(r->signal_fd, &info, sizeof(info)) > 0)
		action.sa_handler = SIG_DFL; /* it made us stop */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}

static void post_sideband_loss(struct recording *r)
{
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_PERF_LOST,
		.count = tapir_sideband__lost(r->sideband),
		.from_ns = r->start_ns,
		.until_ns = tapir_clock__now_ns(),
	};

	if (!loss.count)
		return;
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), loss.until_ns);
	tapir_queue__post(r->queue, &loss.h, -1);
}

/*
 * A SPEC that nothing matched is most likely misspelt. That is a failure of a program of ours;
 * elsewhere it may be that who has the probe has not come yet.
 */
static int check_matches(const struct recording *r)
{
	size_t seen_cnt;

	tapir_images__seen(r->images, &seen_cnt);
	if (r->opts->sample_hz)
		return 0; /* there is something in the file */
	if (!tapir_images__site_cnt(r->images) && r->program)
		return tapir_no_match__fail(r->opts->specs, r->opts->specs_are_defaults, r->images);
	if (!tapir_images__site_cnt(r->images) && (!seen_cnt || r->opts->specs_are_defaults))
		tapir_warn("no process had a probe that matches (`tapir list -p PID` shows what is "
			   "there)");
	else if (!r->opts->specs_are_defaults)
		tapir_no_match__warn(r->opts->specs, r->images);
	if (tapir_images__site_cnt(r->images) && !tapir_images__attached_cnt(r->images))
		return tapir_diag__fail(-EIO, "None of the %zu probes that match was put on",
					tapir_images__site_cnt(r->images));
	return 0;
}

/* A process that was stopped for us goes on, though nobody will put probes on any more. */
static void release_held(struct recording *r)
{
	if (r->guardian && r->control.data)
		tapir_guardian__release_unread(&r->control);
}

/* Nothing more is let in; what is on its way reaches the file, and the file is closed. */
static int finish_file(struct recording *r, int err)
{
	int sink_err = 0;

	if (r->programs)
		tapir_programs__enable(r->programs, false);
	tapir_sampler__stop(r->sampler);
	r->sampler = NULL;
	release_held(r);
	tapir_drain__stop(r->drain);
	r->drain = NULL;
	if (r->sideband && r->session)
		post_sideband_loss(r);
	if (r->queue)
		tapir_queue__close(r->queue);
	if (r->session)
		sink_err = tapir_session__stop(r->session);
	if (r->writer) {
		int close_err = tapir_writer__close(r->writer);

		sink_err = sink_err ? sink_err : close_err;
	}
	return err ? err : sink_err;
}

/* It never began: a file without events would only be in the way. */
static void remove_file(const char *path)
{
	struct stat st;

	if (strcmp(path, "-") && !lstat(path, &st) && S_ISREG(st.st_mode))
		unlink(path);
}

static struct recording *stopping; /* for the progress of detaching, which has no context */

static void on_detach(size_t left_cnt)
{
	report_progress(stopping, true, left_cnt);
}

static void tear_down(struct recording *r)
{
	stopping = r;
	tapir_images__free(r->images, r->session && r->targets ? on_detach : NULL);
	r->images = NULL;
	tapir_targets__free(r->targets);
	tapir_sideband__close(r->sideband);
	tapir_session__free(r->session);
	tapir_queue__free(r->queue);
	tapir_programs__free(r->programs);
	release_held(r); /* by a program that ran when it was switched off */
	tapir_guardian__stop(r->guardian);
	tapir_bpf_ring__close(&r->control);
	tapir_command_run__free(r->program);
	tapir_writer__free(r->writer);
	tapir_guard__fd(&r->signal_fd);
	tapir_guard__fd(&r->sink_fd);
}

/* BPF tells of an end a moment before wait(2) can: it gets that moment. */
static bool program_ended(const struct recording *r, int *status)
{
	for (int try = 0; tapir_command_run__status(r->program, status); try++) {
		if (try == 50 || !r->targets || tapir_targets__live_cnt(r->targets))
			return false;
		usleep(2000);
	}
	return true;
}

static void fill_result(struct recording *r, struct tapir_recording_result *out)
{
	out->elapsed_ns = tapir_clock__now_ns() - r->start_ns;
	if (r->session)
		tapir_session__stats(r->session, &out->stats);
	if (r->writer)
		out->stats.file_bytes = tapir_writer__bytes_written(r->writer);
	if (r->images)
		out->site_cnt = tapir_images__site_cnt(r->images);
	if (r->program)
		out->program_ended = program_ended(r, &out->program_status);
}

int tapir_recording__run(const struct tapir_recording_opts *opts,
			 struct tapir_recording_result *out)
{
	struct recording r = {
		.opts = opts,
		.rules = opts->rules,
		.signal_fd = -1,
		.sink_fd = -1,
		.start_ns = tapir_clock__now_ns(),
	};
	bool was_set_up;
	int err;

	r.rules.children |= opts->program != NULL;
	r.rules.hold_new |= opts->program || opts->rules.comms.cnt || opts->rules.cgroups.cnt ||
			    opts->rules.children;
	err = set_up(&r);
	was_set_up = !err;
	if (!err) {
		r.end_ns = opts->duration_ns ? tapir_clock__now_ns() + opts->duration_ns : 0;
		err = watch(&r);
		drain_control(&r); /* what the last process did before it ended */
	}
	if (!err)
		err = check_matches(&r);
	let_signals_kill(&r);
	err = finish_file(&r, err);
	if (!was_set_up && r.writer)
		remove_file(opts->file->path);
	fill_result(&r, out);
	tear_down(&r);
	return err;
}
