// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Watches a recording and stops it. What is recorded is safe first: the file is complete before
 * anything is detached, so that a second Ctrl-C, or a kernel that takes seconds to remove probes,
 * costs no event.
 */
#include "record/recording_impl.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "attach/sums.h"
#include "base/log.h"
#include "record/meta.h"
#include "record/native_watch.h"
#include "record/usage_watch.h"
#include "runtime/otel/otel_watch.h"
#include "base/foreign/helper.h"
#include "trace/recbuf.h"
#include "trace/kernel_work.h"

#define POLL_MS		   500
#define LOOK_AGAIN_NS	   (50 * TAPIR_NS_PER_MS)
#define BACKOFF_NS	   (2 * TAPIR_NS_PER_MS)
#define PROCESS_BACKOFF_NS (50 * TAPIR_NS_PER_MS)
#define RING_BACKOFF_NS	   (20 * TAPIR_NS_PER_MS)
#define STOP_FILES_NS                                                                              \
	(300 * TAPIR_NS_PER_MS) /* for file systems that have not answered at Ctrl-C */

enum {
	FD_SIGNAL,
	FD_CONTROL,
	FD_SIDEBAND,
	FD_SINK,
	FD_PROGRAM,
	FD_WORKLOAD,
	FD_CLOCK,
	FD_END,
	FD_FREEZE,
	FD_SNAPSHOT,
	FD_CNT
};

/* ---- watching --------------------------------------------------------------------------- */

/* Counts what the side-band lost, or this thread could not follow, since the last time. */
static void post_sideband_loss(struct recording *r)
{
	uint64_t lost_cnt = tapir_sideband__lost(r->sideband), now_ns = tapir_clock__now_ns();
	struct tapir_rec_loss loss = {
		.cause = TAPIR_LOSS_PERF_LOST,
		.from_ns = r->sideband_ns ? r->sideband_ns : r->start_ns,
		.until_ns = now_ns,
	};

	lost_cnt += r->targets ? tapir_targets__dropped(r->targets) : 0;
	loss.count = lost_cnt - r->sideband_lost_cnt;
	r->sideband_ns = now_ns;
	if (!loss.count)
		return;
	r->sideband_lost_cnt = lost_cnt;
	tapir_rec__init(&loss.h, TAPIR_REC_LOSS, sizeof(loss), loss.until_ns);
	tapir_queue__post(r->queue, &loss.h, -1);
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

/* Without BPF programs its end is not reported, and until waited for it looks alive. */
static bool has_ended_unseen(const struct recording *r)
{
	int status;

	return r->is_unprivileged && r->program && !tapir_command_run__status(r->program, &status);
}

static bool workload_has_ended(const struct recording *r)
{
	int status;

	return r->command && !r->program && !tapir_command_run__status(r->command, &status);
}

static bool has_ended(struct recording *r, const struct pollfd *fds)
{
	struct tapir_session_stats stats;

	tapir_session__stats(r->session, &stats);
	if (fds[FD_SIGNAL].revents || fds[FD_END].revents || stats.err || workload_has_ended(r) ||
	    (r->end_ns && tapir_clock__now_ns() >= r->end_ns))
		return true;
	if (tapir_targets__live_cnt(r->targets) && !has_ended_unseen(r))
		return false;
	r->targets_ended_ns = tapir_clock__now_ns();
	return true;
}

static int poll_timeout_ms(const struct recording *r, uint64_t next_ns)
{
	uint64_t now = tapir_clock__now_ns();
	uint64_t until = r->end_ns && r->end_ns < next_ns ? r->end_ns : next_ns;
	uint64_t due_ns = tapir_targets__next_scan_ns(r->targets);

	until = due_ns < until ? due_ns : until;
	due_ns = tapir_event_lanes__next_ns(&r->events);
	until = due_ns < until ? due_ns : until;
	if (r->is_unprivileged && until > now + LOOK_AGAIN_NS)
		until = now + LOOK_AGAIN_NS;
	return until <= now ? 0 : (int)((until - now) / TAPIR_NS_PER_MS + 1);
}

/* UTC is another one from now on, not from the session thread's next second. */
static void post_clock(struct recording *r)
{
	struct tapir_rec_clock clock;

	tapir_rec_clock__now(&clock);
	tapir_queue__post(r->queue, &clock.h, -1);
}

static void take_request(struct recording *r)
{
	struct signalfd_siginfo info;

	while (read(r->freeze_fd, &info, sizeof(info)) > 0)
		r->opts->flight->on_signal(r->opts->flight->session.ctx);
	post_clock(r); /* wakes the session thread */
}

/* A frozen recording ends with a snapshot of all threads, as any recording does. */
static void scan_threads(struct recording *r)
{
	uint64_t cnt;

	if (read(r->opts->flight->snapshot_fd, &cnt, sizeof(cnt)) < 0)
		return;
	tapir_recording__free_snapshots(r);
	tapir_recording__end_snapshots(r);
	tapir_recording__end_samplers(r);
}

/* The time for which mapped files wait, after one that was handled at once. */
static uint64_t mapping_backoff_ns(const struct recording *r)
{
	if (r->opts->flight)
		return RING_BACKOFF_NS;
	return r->rules.all ? BACKOFF_NS : 0;
}

/* A source of news that is left alone for a moment after it woke this thread. */
struct paced {
	struct pollfd *poll;
	int fd;
	uint64_t backoff_ns; /* 0: it never is */
	uint64_t until_ns;   /* UINT64_MAX: it is not */
};

/*
 * Every program that starts anywhere wakes this thread for its fork, exec and exit, and for every
 * file that it maps: a compiler thirty times. Where the machine is recorded it then takes what
 * comes in the next moment together. Records of processes lack nothing that could be gone by then,
 * but files do.
 */
static void pace(struct paced *paced)
{
	uint64_t now_ns;

	if (!paced->backoff_ns)
		return;
	now_ns = tapir_clock__now_ns();
	if (paced->poll->fd >= 0 && paced->poll->revents) {
		paced->until_ns = now_ns + paced->backoff_ns;
		paced->poll->fd = -1;
	} else if (paced->poll->fd < 0 && now_ns >= paced->until_ns) {
		paced->until_ns = UINT64_MAX;
		paced->poll->fd = paced->fd;
	}
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void poll_publishers(const struct recording *r, bool is_last)
{
	struct tapir_pids live = {};

	if (!r->publishers)
		return;
	(void)tapir_targets__list_live(r->targets, SIZE_MAX, &live);
	tapir_otel_watch__poll(r->publishers, &live, tapir_clock__now_ns(), is_last);
	tapir_vec__fini(&live);
}

static void poll_pressure(struct recording *r, bool must)
{
	if (r->opts->captures[TAPIR_FAMILY_KERNEL] &&
	    r->opts->kernel_kinds & TAPIR_KERNEL_HAS_PRESSURE)
		tapir_pressure_watch__poll(&r->pressure, r->queue, tapir_clock__now_ns(), must);
}

/*
 * Counts all hits of probes: those that the kernel answers itself do not arrive. A begin of an
 * interval is among the rejected.
 */
static int count_hits(const struct recording *r, uint64_t *hits)
{
	uint32_t cnt = r->opts->with_questions ? tapir_programs__site_cnt(r->programs) : 0;
	struct tapir_session_stats stats;
	uint64_t added_up = 0;
	int err = r->opts->sums.is_on ? tapir_sums__count(r->programs, &added_up) : 0;

	tapir_session__stats(r->session, &stats);
	*hits = stats.probe_hit_cnt + added_up;
	for (uint32_t probe_id = 1; probe_id < cnt; probe_id++)
		*hits += tapir_programs__rejected(r->programs, probe_id);
	return err;
}

/* Says once, and in the file, what probes cost that fire very often. */
static void watch_hits(struct recording *r)
{
	char text[TAPIR_HIT_WATCH_BYTES];
	uint64_t now_ns = tapir_clock__now_ns(), hits;

	if (r->is_unprivileged || !tapir_hit_watch__is_due(&r->hit_watch, now_ns) ||
	    count_hits(r, &hits) || !tapir_hit_watch__take(&r->hit_watch, hits, now_ns, text))
		return;
	tapir_warn("%s", text);
	(void)tapir_meta__post_one(r->queue, TAPIR_META_PROBE_COST, text);
}

/* Polls what is due twice per second. */
static void poll_sources(struct recording *r)
{
	tapir_targets__poll(r->targets);
	tapir_sampler__poll(r->sampler);
	tapir_usage_watch__poll(r->usage, tapir_clock__now_ns());
	poll_pressure(r, false);
	if (r->opts->native && !r->is_unprivileged)
		tapir_native_watch__poll(&r->native, r->programs, r->images, r->queue,
					 tapir_clock__now_ns());
	watch_hits(r);
	poll_publishers(r, false);
	post_sideband_loss(r);
	tapir_recording__post_lanes(r);
	report_progress(r, false, 0);
}

/* Answers what woke the thread, if it is more than records. 0, or an error that ends all. */
static int answer(struct recording *r, struct pollfd fds[FD_CNT])
{
	if (fds[FD_PROGRAM].revents) {
		int err = tapir_command_run__exec_error(r->command);

		if (err)
			return err;
		fds[FD_PROGRAM].fd = -1;
	}
	if (tapir_clock__was_set(r->clock_fd))
		post_clock(r);
	if (fds[FD_FREEZE].revents)
		take_request(r);
	if (fds[FD_SNAPSHOT].revents)
		scan_threads(r);
	return 0;
}

static int watch(struct recording *r)
{
	struct pollfd fds[FD_CNT] = {
		[FD_SIGNAL] = {r->signal_fd, POLLIN, 0},
		[FD_CONTROL] = {r->control.fd, POLLIN, 0},
		[FD_SIDEBAND] = {tapir_sideband__fd(r->sideband), POLLIN, 0},
		[FD_SINK] = {r->sink_fd, POLLIN, 0},
		[FD_PROGRAM] = {r->command ? tapir_command_run__error_fd(r->command) : -1, POLLIN,
				0},
		[FD_WORKLOAD] = {r->command && !r->program ? tapir_command_run__end_fd(r->command)
							   : -1,
				 POLLIN, 0},
		[FD_CLOCK] = {r->clock_fd, POLLIN, 0},
		[FD_END] = {r->opts->has_end_fd ? r->opts->end_fd : -1, POLLIN, 0},
		[FD_FREEZE] = {r->freeze_fd, POLLIN, 0},
		[FD_SNAPSHOT] = {r->opts->flight ? r->opts->flight->snapshot_fd : -1, POLLIN, 0},
	};
	struct paced files = {&fds[FD_SIDEBAND], fds[FD_SIDEBAND].fd, mapping_backoff_ns(r),
			      UINT64_MAX};
	struct paced processes = {&fds[FD_CONTROL], fds[FD_CONTROL].fd,
				  tapir_recording__coalesces_wakeups(r) ? PROCESS_BACKOFF_NS : 0,
				  UINT64_MAX};
	uint64_t next_ns = tapir_clock__now_ns() + POLL_MS * TAPIR_NS_PER_MS;
	int err;

	poll_publishers(r, false);
	for (;;) {
		uint64_t backoff_ns = least_of(files.until_ns, processes.until_ns);

		if (poll(fds, FD_CNT, poll_timeout_ms(r, least_of(next_ns, backoff_ns))) < 0 &&
		    errno != EINTR)
			return -errno;
		pace(&files);
		pace(&processes);
		/*
		 * At each wake-up, whatever caused it: a process that was found is to be attached
		 * before it runs on.
		 */
		tapir_recording__drain_control(r);
		tapir_targets__scan_lanes(r->targets);
		err = answer(r, fds);
		if (err)
			return err;
		if (r->is_unprivileged)
			tapir_targets__scan_mappings(r->targets);
		tapir_unprivileged_samples__drain(r->unprivileged_samples);
		tapir_event_lanes__poll(&r->events, tapir_clock__now_ns());
		if (tapir_clock__now_ns() >= next_ns) {
			poll_sources(r);
			next_ns = tapir_clock__now_ns() + POLL_MS * TAPIR_NS_PER_MS;
		}
		if (has_ended(r, fds))
			return 0;
	}
}

/* The record's own time counts; the value is for people. */
static void post_moment(struct recording *r, const char *key)
{
	char after[32];

	snprintf(after, sizeof(after), "after %.3f s",
		 (double)(tapir_clock__now_ns() - r->start_ns) / 1e9);
	(void)tapir_meta__post_one(r->queue, key, after);
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

	tapir_helpers__set_cancel(-1);
	while (r->signal_fd >= 0 && read(r->signal_fd, &info, sizeof(info)) > 0)
		action.sa_handler = SIG_DFL; /* it made us stop */
	if (action.sa_handler == SIG_DFL)
		tapir_helpers__set_deadline(STOP_FILES_NS);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (r->opts->flight)
		signal(SIGUSR2, SIG_IGN); /* the end freezes */
	sigdelset(&r->old_mask, SIGTERM); /* the agent blocks it until it is data here */
	sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
}

/* Only rings were requested: having none is a failure if everything is known. */
static int check_ring_matches(const struct recording *r, const struct tapir_match_report *matches)
{
	bool none =
		!tapir_recording__ring_events(r) && !matches->may_be_silent && !matches->is_waiting;

	if (r->opts->specs_are_defaults && (!none || tapir_recording__has_samplers(r)))
		return 0;
	if (none && (r->program || r->rules.pids.cnt))
		return tapir_match_report__fail(matches);
	return tapir_match_report__check(matches);
}

/* Sources of the machine were requested, and no file has a probe that was requested with them. */
static int check_machine(const struct recording *r, const struct tapir_match_report *matches)
{
	int mark = tapir_diag__cnt(), err = tapir_recording__check_functions(r);

	if (err && !r->program) {
		tapir_warn("%s", tapir_diag__line(mark));
		tapir_diag__rewind(mark);
		err = 0;
	}
	return !err && r->opts->specs->cnt ? tapir_match_report__check(matches) : err;
}

/* There are matching probes. */
static int check_attached(const struct recording *r)
{
	if (tapir_images__attached_cnt(r->images))
		return 0;
	if (tapir_target_rules__are_named(&r->rules))
		return tapir_diag__fail(-EIO, "none of the %zu matching probes was attached",
					tapir_images__site_cnt(r->images));
	tapir_warn(
		"every process with matching probes exited before they were attached (see the GAP records)");
	return 0;
}

/*
 * Reports SPECs without a match, when nothing more comes; asked has what is known of processes only
 * while they are traced. A SPEC that nothing matched is most likely misspelt. That is a failure for
 * a program that tapir started; elsewhere the process with the probe may not have started yet.
 */
static int check_matches(const struct recording *r, const struct tapir_match_report *matches)
{
	bool none = !tapir_images__site_cnt(r->images);
	size_t seen_cnt;
	int err = 0;

	if (tapir_recording__is_without_probes(r))
		return check_ring_matches(r, matches);
	if (tapir_recording__ring_events(r) || matches->may_be_silent || matches->is_waiting)
		return r->opts->specs_are_defaults ? 0 : tapir_match_report__check(matches);
	/*
	 * The order is from what excuses a SPEC without a match (other ways to fire may come later,
	 * defaults ask for nothing special) to what does not.
	 */
	seen_cnt = tapir_images__seen(r->images)->all.cnt;
	if (none && r->opts->specs_are_defaults && tapir_recording__has_samplers(r))
		return 0;
	if (none && r->opts->machine)
		return check_machine(r, matches);
	if (none && r->program)
		return tapir_match_report__fail(matches);
	if (none && (!seen_cnt || r->opts->specs_are_defaults))
		tapir_warn(
			"no process had a matching probe ('tapir list -p PID' shows what there is)");
	else if (!r->opts->specs_are_defaults)
		err = tapir_match_report__check(matches);
	return err || none ? err : check_attached(r);
}

/* The last segment on a full disk: what it lost is counted, as that of the ones before (session.c).
 */
static int close_writer(struct recording *r)
{
	int mark = tapir_diag__cnt(), err = tapir_writer__close(r->writer);

	if (!err || !r->opts->flight)
		return err;
	if (tapir_diag__cnt() > mark)
		tapir_warn("%s", tapir_diag__line(tapir_diag__cnt() - 1));
	tapir_diag__rewind(mark);
	return 0;
}

/* Nothing more is let in; what is on its way reaches the file, and the file is closed. */
static int finish_file(struct recording *r, bool has_started, int err)
{
	int sink_err = 0;

	if (r->writer)
		tapir_writer__stop_waiting(r->writer);
	if (r->opts->on_stopping)
		r->opts->on_stopping(r->opts->ctx);
	if (r->opts->flight)
		r->opts->flight->on_stopping(r->opts->flight->session.ctx);
	if (has_started) {
		tapir_recording__end_snapshots(r);
		tapir_recording__end_samplers(r);
		tapir_usage_watch__finish(r->usage, tapir_clock__now_ns());
		poll_pressure(r, true);
		poll_publishers(r, true);
	}
	if (r->targets)
		tapir_targets__finish(r->targets);
	if (r->rings) /* which programs that are disabled do not wake */
		tapir_ring_reader__sleep_by(r->rings, NULL);
	if (r->programs)
		tapir_programs__enable(r->programs, false);
	if (has_started)
		post_moment(r, TAPIR_META_ENDED);
	tapir_unprivileged_samples__drain(r->unprivileged_samples);
	tapir_unprivileged_samples__free(r->unprivileged_samples);
	r->unprivileged_samples = NULL;
	tapir_sampler__stop(r->sampler);
	r->sampler = NULL;
	tapir_holder__stop(r->holder); /* everything continues */
	r->holder = NULL;
	tapir_drain__stop(r->drain);
	r->drain = NULL;
	tapir_event_lanes__stop(&r->events, has_started);
	tapir_ring_reader__stop(r->rings);
	tapir_recording__free_snapshots(r);
	tapir_usage_watch__free(r->usage);
	r->usage = NULL;
	tapir_otel_watch__free(r->publishers);
	r->publishers = NULL;
	if (has_started)
		tapir_recording__post_lanes(r);
	if (r->sideband && r->session)
		post_sideband_loss(r);
	if (r->queue)
		tapir_queue__close(r->queue);
	if (r->session)
		sink_err = tapir_session__stop(r->session, has_started);
	if (r->writer && !has_started) {
		tapir_writer__abandon(r->writer); /* an empty file would only be in the way */
	} else if (r->writer) {
		int close_err = close_writer(r);

		sink_err = sink_err ? sink_err : close_err;
	}
	return err ? err : sink_err;
}

static void on_detach(void *recording, size_t left_cnt)
{
	report_progress(recording, true, left_cnt);
}

static void tear_down(struct recording *r)
{
	/*
	 * Probes come off first: on_detach still needs the targets and the session, and the links
	 * are of the programs.
	 */
	tapir_images__free(r->images, r->session && r->targets ? on_detach : NULL, r);
	r->images = NULL;
	tapir_targets__free(r->targets);
	tapir_spec__free(r->name_spec);
	tapir_sideband__close(r->sideband);
	tapir_session__free(r->session);
	tapir_ring_reader__free(r->rings);
	tapir_lane_coverage__free(r->cover);
	tapir_queue__free(r->queue);
	tapir_machine__free(r->machine);
	tapir_programs__free(r->programs);
	tapir_bpf_ring__close(&r->control);
	tapir_command_run__free(r->command);
	tapir_writer__free(r->writer);
	tapir_event_lanes__free(&r->events);
	tapir_guard__fd(&r->signal_fd);
	tapir_guard__fd(&r->clock_fd);
	tapir_guard__fd(&r->freeze_fd);
	tapir_guard__fd(&r->sink_fd);
}

/* BPF reports an exit a moment before wait(2) can: wait for that moment. */
static bool program_ended(const struct recording *r, int *status)
{
	for (int try = 0; tapir_command_run__status(r->command, status); try++) {
		if (try == 50 || !r->targets || tapir_targets__live_cnt(r->targets))
			return false;
		usleep(2000);
	}
	return true;
}

/*
 * Records that were captured but did not reach the file are lost, not captured, and reported once.
 */
static void subtract_unwritten(const struct tapir_writer *w, struct tapir_session_stats *stats)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++) {
		uint64_t lost = tapir_writer__lost(w, tapir_families[i].type);

		stats->captured[i] -= lost;
		stats->lost_cnt += lost;
	}
	stats->lost_cnt -= stats->unwritten_cnt;
	stats->file_bytes = tapir_writer__bytes_written(w);
}

static void fill_result(struct recording *r, struct tapir_recording_result *out)
{
	out->running_cnt = r->running_cnt;
	out->elapsed_ns = tapir_clock__now_ns() - r->start_ns;
	if (r->targets_ended_ns)
		out->targets_ended_ns = r->targets_ended_ns - r->start_ns;
	if (r->session)
		tapir_session__stats(r->session, &out->stats);
	if (r->targets && !tapir_captured__sum(out->stats.captured))
		tapir_targets__warn_of_none(r->targets);
	if (r->writer) {
		subtract_unwritten(r->writer, &out->stats);
		out->is_file_moved = tapir_writer__is_moved(r->writer);
	}
	if (r->images)
		out->site_cnt = tapir_images__site_cnt(r->images);
	out->ring_event_cnt = tapir_recording__ring_events(r);
	if (r->command)
		out->program_ended = program_ended(r, &out->program_status);
}

int tapir_recording__run(const struct tapir_recording_opts *opts,
			 struct tapir_recording_result *out)
{
	struct recording r = {
		.opts = opts,
		.rules = opts->rules,
		.signal_fd = -1,
		.control.fd = -1,
		.clock_fd = -1,
		.freeze_fd = -1,
		.sink_fd = -1,
		.start_ns = tapir_clock__now_ns(),
	};
	struct tapir_match_report matches;
	bool has_started, has_ended_well;
	int err;

	r.rules.children |= opts->program && !opts->program_is_workload;
	tapir_hit_watch__init(&r.hit_watch, opts->specs && opts->specs->cnt, opts->machine);
	err = tapir_recording__set_up(&r);
	has_started = !err;
	if (has_started && r.writer)
		tapir_writer__keep(r.writer);
	if (!err) {
		r.end_ns = opts->duration_ns ? tapir_clock__now_ns() + opts->duration_ns : 0;
		post_moment(&r, TAPIR_META_BEGAN);
		err = watch(&r);
		tapir_recording__drain_control(&r); /* what the last process did before it ended */
	}
	matches = tapir_recording__match_report(&r);
	let_signals_kill(&r);
	has_ended_well = !err;
	err = finish_file(&r, has_started, err);
	/* Now: the last look at a ring can find what a program that ended at once has fired. */
	if (has_ended_well) {
		int unmatched = check_matches(&r, &matches);

		err = err ? err : unmatched;
	}
	fill_result(&r, out);
	tear_down(&r);
	return err;
}
