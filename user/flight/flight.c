// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads. The session thread judges records and lists the segments to be frozen; the freezer, one
 * at a time, writes the file; the control thread hands on SIGUSR2 and takes snapshots. What the
 * freezer needs is in its job: it shares nothing else but counters.
 */
#include "flight/flight.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "trace/freeze.h"
#include "trace/recbuf.h"

#define SETTLE_NS     (500 * TAPIR_NS_PER_MS) /* records of other rings, and the snapshot, come */
#define BUSY_NS	      (50 * TAPIR_NS_PER_MS)
#define JUDGE_NS      TAPIR_NS_PER_SEC
#define MAX_GAPS      1024
#define MAX_SAME_NAME 9 /* files of one second */
#define FREEZER_NICE  10

/* What the freezer is given. */
struct job {
	struct tapir_flight *flight;
	struct tapir_segment_fds segments;
	struct tapir_vec(struct tapir_rec *) first;
	uint64_t from_ns, until_ns, request_ns;
	char *why;
	bool is_check; /* for findings: it becomes no file */
};

struct tapir_flight {
	const struct tapir_flight_opts *opts;
	struct tapir_segments *segments;
	struct tapir_recording_ring ring;
	uint64_t start_ns;
	/* session thread */
	struct tapir_str why;
	uint64_t request_ns; /* 0: nothing is to be frozen */
	uint64_t last_ns;    /* of the last file; 0: there was none */
	uint64_t judged_ns;
	uint64_t checked_ns;			       /* of findings */
	struct tapir_vec(struct tapir_rec_gap *) gaps; /* that last */
	uint64_t forgotten_gap_cnt;
	/* freezer */
	pthread_t thread;
	bool has_thread;
	atomic_bool is_busy;
	char *last_path; /* while it is not busy */
	char *found;	 /* why a finding fires; likewise */
	int last_err;
	/* any */
	atomic_bool is_signalled;
	atomic_uint_least64_t stopping_ns, begun_cnt, file_cnt, failed_cnt, ignored_cnt;
};

/* ---- the freezer ---------------------------------------------------------------------------- */

static void free_job(struct job *job)
{
	struct tapir_rec **rec;

	tapir_vec_for_each (rec, &job->first)
		free(*rec);
	tapir_vec__fini(&job->first);
	tapir_segment_fds__fini(&job->segments);
	free(job->why);
	free(job);
}

/* STEM-DATE-TIME.tapir; with -2 and so on where that exists. NULL: out of memory. */
static char *name_file(const char *stem, unsigned try)
{
	time_t now = time(NULL);
	char when[32], number[8] = "", *path;
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	if (try > 1)
		snprintf(number, sizeof(number), "-%u", try);
	return asprintf(&path, "%s-%s%s.tapir", stem, when, number) < 0 ? NULL : path;
}

/* fd: its file; -1: it gets a name. */
static int open_file(const struct job *job, int fd, char **path, struct tapir_writer **w)
{
	struct tapir_writer_opts opts = *job->flight->opts->file;
	int err = -EEXIST;

	opts.created_ns = job->from_ns;
	opts.created_utc_ns =
		tapir_clock__ns(CLOCK_REALTIME) - (tapir_clock__now_ns() - job->from_ns);
	if (fd >= 0) {
		opts.path = "the last part";
		opts.has_fd = true;
		opts.fd = fd;
		return tapir_writer__open(&opts, w);
	}
	opts.is_whole = true;
	for (unsigned try = 1; err == -EEXIST && try <= MAX_SAME_NAME; try++) {
		free(*path);
		*path = name_file(job->flight->opts->stem, try);
		opts.path = *path;
		tapir_diag__clear();
		err = *path ? tapir_writer__open(&opts, w) : -ENOMEM;
	}
	return err;
}

static int write_file(const struct job *job, int fd, char **path, uint64_t *bytes)
{
	const struct tapir_freeze freeze = {
		.segments = &job->segments,
		.from_ns = job->from_ns,
		.until_ns = job->until_ns,
		.snapshot_ns = job->request_ns,
		.first = (const struct tapir_rec *const *)job->first.data,
		.first_cnt = job->first.cnt,
	};
	struct tapir_writer *w;
	int err = open_file(job, fd, path, &w);

	if (err)
		return err;
	tapir_writer__keep(w);
	err = tapir_freeze__write(&freeze, w);
	if (err)
		tapir_writer__abandon(w);
	else
		err = tapir_writer__close(w);
	*bytes = tapir_writer__bytes_written(w);
	tapir_writer__free(w);
	return err;
}

static void say_file(const struct job *job, const char *path, uint64_t bytes)
{
	const struct tapir_flight_opts *opts = job->flight->opts;
	uint64_t wanted_ns = opts->window_ns + job->until_ns - job->request_ns;
	uint64_t had_ns = job->until_ns - job->from_ns;
	uint64_t since_ns = job->until_ns - job->flight->start_ns;

	tapir_info("%s: the last %.1f s are %s%s (%.1f MB)", job->why, (double)had_ns / 1e9,
		   path ? "in " : "kept", path ? path : "", (double)bytes / 1e6);
	if (had_ns + JUDGE_NS < wanted_ns && had_ns + JUDGE_NS < since_ns)
		tapir_warn("the ring of %llu MB holds %.1f s instead of %.1f s: enlarge "
			   "--continuous",
			   (unsigned long long)(opts->ring_bytes >> 20), (double)had_ns / 1e9,
			   (double)wanted_ns / 1e9);
}

/* What it finds is a trigger like any other, for the session thread. */
static void check_findings(struct job *job)
{
	struct tapir_flight *f = job->flight;
	tapir_autofd int fd = memfd_create("tapir-check", MFD_CLOEXEC);
	struct tapir_str why = {};
	uint64_t bytes;

	if (fd >= 0 && !write_file(job, fd, NULL, &bytes) &&
	    f->opts->judge(f->opts->ctx, fd, tapir_triggers__severity(f->opts->triggers), &why) &&
	    why.data)
		f->found = strdup(why.data);
	for (int i = 0; i < tapir_diag__cnt(); i++)
		tapir_debug("findings: %s", tapir_diag__line(i));
	tapir_diag__clear();
	tapir_str__fini(&why);
	free_job(job);
}

static void do_job(struct job *job)
{
	struct tapir_flight *f = job->flight;
	int fd = f->opts->make ? f->opts->make(f->opts->ctx) : -1;
	uint64_t bytes = 0;
	char *path = NULL;
	int err = f->opts->make && fd < 0 ? fd : write_file(job, fd, &path, &bytes);

	f->last_err = err;
	if (err) {
		atomic_fetch_add(&f->failed_cnt, 1);
		for (int i = 0; i < tapir_diag__cnt(); i++)
			tapir_warn("%s: %s", job->why, tapir_diag__line(i));
		tapir_diag__clear();
		free(path);
		if (fd >= 0)
			close(fd);
	} else {
		atomic_fetch_add(&f->file_cnt, 1);
		say_file(job, path, bytes);
		if (fd >= 0)
			f->opts->take(f->opts->ctx, fd,
				      &(struct tapir_flight_file){
					      job->why, job->until_ns - job->from_ns, bytes});
		free(f->last_path);
		f->last_path = path;
	}
	free_job(job);
}

static void *run_freezer(void *arg)
{
	struct job *job = arg;
	struct tapir_flight *f = job->flight;

	setpriority(PRIO_PROCESS, (id_t)gettid(), FREEZER_NICE);
	if (job->is_check)
		check_findings(job);
	else
		do_job(job);
	atomic_store(&f->is_busy, false);
	return NULL;
}

static void join_freezer(struct tapir_flight *f)
{
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	f->has_thread = false;
}

/* ---- what is frozen ------------------------------------------------------------------------- */

static bool add_copy(struct job *job, const struct tapir_rec *rec)
{
	struct tapir_rec *copy = rec ? malloc(rec->size) : NULL;

	if (!copy)
		return false;
	memcpy(copy, rec, rec->size);
	if (tapir_vec__push(&job->first, copy))
		return true;
	free(copy);
	return false;
}

/* Why there is this file, and what is not in it. */
static bool add_meta(const struct tapir_flight *f, struct job *job)
{
	struct tapir_segments_stats kept;
	struct tapir_recbuf buf = {};
	struct tapir_str text = {};
	bool is_added;

	tapir_segments__stats(f->segments, &kept);
	is_added = add_copy(job, tapir_recbuf__meta(&buf, job->until_ns, tapir_sv__of("frozen"),
						    tapir_sv__of(job->why)));
	tapir_str__addf(&text, "%.3f s; %llu segments of before were discarded",
			(double)(job->until_ns - job->from_ns) / 1e9,
			(unsigned long long)kept.discarded_cnt);
	if (f->forgotten_gap_cnt)
		tapir_str__addf(&text, "; %llu gaps are not in it",
				(unsigned long long)f->forgotten_gap_cnt);
	is_added =
		is_added && text.data &&
		add_copy(job, tapir_recbuf__meta(&buf, job->until_ns, tapir_sv__of("frozen.window"),
						 tapir_sv__of(text.data)));
	tapir_str__fini(&text);
	tapir_recbuf__fini(&buf);
	return is_added;
}

static bool fill_job(struct tapir_flight *f, struct job *job, const char *why)
{
	struct tapir_rec_gap **gap;
	uint64_t window_ns = f->opts->window_ns;

	job->flight = f;
	job->why = strdup(why);
	job->from_ns = job->request_ns > window_ns ? job->request_ns - window_ns : 0;
	if (!job->why || tapir_segments__list(f->segments, job->from_ns, &job->segments))
		return false;
	if (job->segments.from_ns > job->from_ns)
		job->from_ns = job->segments.from_ns;
	if (f->start_ns > job->from_ns)
		job->from_ns = f->start_ns;
	if (!add_meta(f, job))
		return false;
	tapir_vec_for_each (gap, &f->gaps)
		if (!add_copy(job, &(*gap)->h))
			return false;
	return true;
}

static struct job *new_job(struct tapir_flight *f, uint64_t request_ns, const char *why)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->request_ns = request_ns;
	job->until_ns = tapir_clock__now_ns();
	if (fill_job(f, job, why))
		return job;
	free_job(job);
	return NULL;
}

/* ---- the session thread --------------------------------------------------------------------- */

/* Whether another file is permitted now; why not, as a text. */
static bool may_freeze(const struct tapir_flight *f, uint64_t now_ns, struct tapir_str *why_not)
{
	if (atomic_load(&f->begun_cnt) >= f->opts->max_files)
		tapir_str__addf(why_not, "%llu files were begun (--max-files)",
				(unsigned long long)f->opts->max_files);
	else if (f->last_ns && now_ns - f->last_ns < f->opts->distance_ns)
		tapir_str__addf(why_not, "the last file is %.1f s old (--distance)",
				(double)(now_ns - f->last_ns) / 1e9);
	return !why_not->len;
}

static void request(struct tapir_flight *f, const char *why, bool is_person)
{
	uint64_t now_ns = tapir_clock__now_ns(), one = 1;
	struct tapir_str why_not = {};

	if (f->request_ns)
		return; /* it will be in that file */
	if (may_freeze(f, now_ns, &why_not)) {
		tapir_str__clear(&f->why);
		tapir_str__adds(&f->why, why);
		f->request_ns = now_ns;
		if (write(f->ring.snapshot_fd, &one, sizeof(one)) < 0)
			tapir_debug("no snapshot of threads for %s", why);
	} else {
		atomic_fetch_add(&f->ignored_cnt, 1);
		if (is_person)
			tapir_warn("%s is ignored: %s", why, why_not.data);
	}
	tapir_str__fini(&why_not);
}

static void keep_gap(struct tapir_flight *f, const struct tapir_rec_gap *gap)
{
	struct tapir_rec_gap *copy = f->gaps.cnt < MAX_GAPS ? malloc(gap->h.size) : NULL;

	if (copy)
		memcpy(copy, gap, gap->h.size);
	if (copy && tapir_vec__push(&f->gaps, copy))
		return;
	free(copy);
	f->forgotten_gap_cnt++;
}

static void on_record(void *ctx, const struct tapir_catalog *catalog, const struct tapir_rec *rec)
{
	struct tapir_flight *f = ctx;
	struct tapir_str why = {};

	if (rec->type == TAPIR_REC_GAP && tapir_gap__lasts((const void *)rec))
		keep_gap(f, (const void *)rec);
	if (f->opts->triggers && tapir_triggers__judge(f->opts->triggers, catalog, rec, &why))
		request(f, why.data ? why.data : "a trigger", false);
	tapir_str__fini(&why);
}

static void judge_open(struct tapir_flight *f, uint64_t now_ns)
{
	struct tapir_str why = {};

	f->judged_ns = now_ns;
	if (f->opts->triggers && tapir_triggers__judge_open(f->opts->triggers, now_ns, &why))
		request(f, why.data ? why.data : "a trigger", false);
	tapir_str__fini(&why);
}

/* Once per window, unless a file would come too soon anyway. */
static bool is_check_due(const struct tapir_flight *f, uint64_t now_ns)
{
	const struct tapir_flight_opts *o = f->opts;

	return o->judge && o->triggers && tapir_triggers__severity(o->triggers) > 0 &&
	       now_ns - f->checked_ns >= o->window_ns &&
	       !(f->last_ns && now_ns - f->last_ns < o->distance_ns) &&
	       atomic_load(&f->begun_cnt) < o->max_files;
}

static void take_finding(struct tapir_flight *f)
{
	if (atomic_load(&f->is_busy) || !f->found)
		return;
	request(f, f->found, false);
	free(f->found);
	f->found = NULL;
}

static uint64_t due_ns(void *ctx)
{
	struct tapir_flight *f = ctx;
	uint64_t now_ns = tapir_clock__now_ns();

	take_finding(f);

	if (atomic_exchange(&f->is_signalled, false))
		request(f, "SIGUSR2", true);
	if (now_ns - f->judged_ns >= JUDGE_NS)
		judge_open(f, now_ns);
	if (!f->request_ns && !atomic_load(&f->is_busy) && is_check_due(f, now_ns))
		return now_ns;
	if (!f->request_ns)
		return UINT64_MAX;
	return atomic_load(&f->is_busy) ? now_ns + BUSY_NS : f->request_ns + SETTLE_NS;
}

static bool start_freezer(struct tapir_flight *f, struct job *job)
{
	join_freezer(f);
	atomic_store(&f->is_busy, true);
	f->has_thread = job && !pthread_create(&f->thread, NULL, run_freezer, job);
	if (!f->has_thread)
		atomic_store(&f->is_busy, false);
	return f->has_thread;
}

static void check(struct tapir_flight *f)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct job *job = new_job(f, now_ns, "findings");

	f->checked_ns = now_ns;
	if (job)
		job->is_check = true;
	if (!start_freezer(f, job) && job)
		free_job(job);
}

static void freeze(void *ctx)
{
	struct tapir_flight *f = ctx;
	struct job *job;

	if (!f->request_ns) {
		check(f);
		return;
	}
	job = new_job(f, f->request_ns, f->why.data);
	f->last_ns = f->request_ns;
	f->request_ns = 0;
	atomic_fetch_add(&f->begun_cnt, 1);
	if (start_freezer(f, job))
		return;
	atomic_fetch_add(&f->failed_cnt, 1);
	tapir_warn("%s: no file, out of memory", f->why.data);
	if (job)
		free_job(job);
}

/* ---- the control thread --------------------------------------------------------------------- */

static void on_signal(void *ctx)
{
	atomic_store(&((struct tapir_flight *)ctx)->is_signalled, true);
}

static void on_stopping(void *ctx)
{
	atomic_store(&((struct tapir_flight *)ctx)->stopping_ns, tapir_clock__now_ns());
}

/* What a trigger asked for a moment ago is in the last file, too. */
static int freeze_last(struct tapir_flight *f)
{
	uint64_t at_ns = atomic_load(&f->stopping_ns);
	const char *why = f->request_ns ? f->why.data : "the recording ended";
	struct job *job;

	if (f->opts->make)
		return 0;
	if (atomic_load(&f->begun_cnt) >= f->opts->max_files) {
		tapir_info("no file at the end: %llu were written before (--max-files)",
			   (unsigned long long)f->opts->max_files);
		return 0;
	}
	job = new_job(f, at_ns ? at_ns : tapir_clock__now_ns(), why);
	if (!job)
		return -ENOMEM;
	do_job(job);
	return f->last_err;
}

static int start(struct tapir_flight *f, struct tapir_writer_opts *first)
{
	const struct tapir_segments_opts segments = {
		.sz = sizeof(segments),
		.dir = f->opts->dir,
		.stem = first->path,
		.max_bytes = f->opts->ring_bytes,
		.keep_ns = f->opts->window_ns + 2 * SETTLE_NS,
		.has_owner = first->has_owner,
		.uid = first->uid,
		.gid = first->gid,
	};
	int err = tapir_segments__new(&segments, &f->segments);

	if (!err)
		err = tapir_segments__begin(f->segments, f->start_ns, &first->fd, &first->path);
	if (err)
		return err;
	f->ring.snapshot_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->ring.snapshot_fd < 0)
		return -errno;
	f->ring.session = (struct tapir_session_ring){.segments = f->segments,
						      .on_record = on_record,
						      .due_ns = due_ns,
						      .freeze = freeze,
						      .ctx = f};
	f->ring.on_signal = on_signal;
	f->ring.on_stopping = on_stopping;
	first->has_fd = true;
	return 0;
}

static void fini(struct tapir_flight *f, bool is_kept)
{
	struct tapir_rec_gap **gap;

	tapir_vec_for_each (gap, &f->gaps)
		free(*gap);
	tapir_vec__fini(&f->gaps);
	tapir_segments__free(f->segments, is_kept);
	tapir_guard__fd(&f->ring.snapshot_fd);
	tapir_str__fini(&f->why);
	free(f->last_path);
	free(f->found);
}

static void fill_stats(const struct tapir_flight *f, struct tapir_flight_stats *out)
{
	*out = (struct tapir_flight_stats){
		.file_cnt = atomic_load(&f->file_cnt),
		.failed_cnt = atomic_load(&f->failed_cnt),
		.ignored_cnt = atomic_load(&f->ignored_cnt),
		.missed_cnt = f->opts->triggers ? tapir_triggers__missed(f->opts->triggers) : 0,
	};
	if (f->segments)
		tapir_segments__stats(f->segments, &out->segments);
}

/* DIR/NAME -> NAME-DATE-TIME: segments of two recorders may share a directory. */
static char *name_segments(const char *stem)
{
	const char *slash = strrchr(stem, '/');
	char *name = name_file(slash ? slash + 1 : stem, 1),
	     *end = name ? strrchr(name, '.') : NULL;

	if (end)
		*end = '\0';
	return name;
}

int tapir_flight__run(const struct tapir_flight_opts *flight, struct tapir_recording_opts *opts,
		      struct tapir_recording_result *result, struct tapir_flight_stats *stats,
		      char **last_path)
{
	struct tapir_flight f = {
		.opts = flight, .ring.snapshot_fd = -1, .start_ns = tapir_clock__now_ns()};
	tapir_autofree char *name = name_segments(flight->stem);
	struct tapir_writer_opts first = *flight->file;
	int err = name ? 0 : -ENOMEM, last_err = 0;

	f.checked_ns = f.start_ns;
	first.path = name;
	if (!err)
		err = start(&f, &first);
	if (!err) {
		opts->file = &first;
		opts->ring = &f.ring;
		err = tapir_recording__run(opts, result);
		join_freezer(&f);
		tapir_segments__end(f.segments, result->stats.file_bytes, tapir_clock__now_ns());
		if (!err || tapir_captured__sum(result->stats.captured))
			last_err = freeze_last(&f);
	}
	if (last_err && flight->dir)
		tapir_warn("the segments are kept in %s", flight->dir);
	fill_stats(&f, stats);
	*last_path = f.last_path;
	f.last_path = NULL;
	fini(&f, last_err && flight->dir);
	return err ? err : last_err;
}
