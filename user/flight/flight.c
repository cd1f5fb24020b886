// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads. The session thread judges records and lists the segments to be frozen; the freezer, one
 * at a time, writes the file; the control thread hands on SIGUSR2 and takes snapshots. What the
 * freezer needs is in its job: it shares nothing else but counters.
 */
#include "flight/flight_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "trace/freeze.h"
#include "trace/recbuf.h"

#define SETTLE_NS     (500 * TAPIR_NS_PER_MS) /* records of other rings, and the snapshot, come */
#define BUSY_NS	      (50 * TAPIR_NS_PER_MS)
#define MAX_GAPS      1024
#define PART_DELAY_NS (5 * TAPIR_NS_PER_SEC)

/* ---- what is frozen ------------------------------------------------------------------------- */

static bool add_copy(struct tapir_flight_job *job, const struct tapir_rec *rec)
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
static bool add_meta(const struct tapir_flight *f, struct tapir_flight_job *job)
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

static bool fill_job(struct tapir_flight *f, struct tapir_flight_job *job, const char *why)
{
	struct tapir_rec_gap **gap;

	job->flight = f;
	job->why = strdup(why);
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

static struct tapir_flight_job *new_job_of(struct tapir_flight *f,
					   const struct tapir_flight_job *like, const char *why)
{
	struct tapir_flight_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	*job = *like;
	if (fill_job(f, job, why))
		return job;
	tapir_flight_job__free(job);
	return NULL;
}

/* The last part before the request, and what came since. */
static struct tapir_flight_job *new_job(struct tapir_flight *f, uint64_t request_ns,
					const char *why)
{
	uint64_t window_ns = f->opts->window_ns;
	struct tapir_flight_job job = {.request_ns = request_ns,
				       .from_ns =
					       request_ns > window_ns ? request_ns - window_ns : 0,
				       .until_ns = tapir_clock__now_ns()};

	return new_job_of(f, &job, why);
}

/* ---- the session thread --------------------------------------------------------------------- */

/* Returns true if another file is permitted now; else adds why not. */
static bool may_freeze(const struct tapir_flight *f, uint64_t now_ns, struct tapir_str *why_not)
{
	if (atomic_load(&f->begun_cnt) >= f->opts->max_files)
		tapir_str__addf(why_not, "%llu files were begun (--max-files)",
				(unsigned long long)f->opts->max_files);
	else if (f->last_ns && now_ns - f->last_ns < f->opts->cooldown_ns)
		tapir_str__addf(why_not, "the last file is %.1f s old (--cooldown)",
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
		if (write(f->recording.snapshot_fd, &one, sizeof(one)) < 0)
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

static void flight_on_record(void *ctx, const struct tapir_catalog *catalog,
			     const struct tapir_rec *rec)
{
	struct tapir_flight *f = ctx;
	struct tapir_str why = {};

	if (rec->type == TAPIR_REC_GAP && tapir_gap__lasts((const void *)rec))
		keep_gap(f, (const void *)rec);
	if (f->opts->triggers && tapir_triggers__match(f->opts->triggers, catalog, rec, &why))
		request(f, why.data ? why.data : "a trigger", false);
	tapir_str__fini(&why);
}

static void match_open(struct tapir_flight *f, uint64_t now_ns)
{
	struct tapir_str why = {};

	f->judged_ns = now_ns;
	if (f->opts->triggers && tapir_triggers__match_open(f->opts->triggers, now_ns, &why))
		request(f, why.data ? why.data : "a trigger", false);
	tapir_str__fini(&why);
}

/* Once per window, unless a file would come too soon anyway. */
static bool is_check_due(const struct tapir_flight *f, uint64_t now_ns)
{
	const struct tapir_flight_opts *o = f->opts;

	return o->judge && o->triggers && tapir_triggers__severity(o->triggers) > 0 &&
	       now_ns - f->checked_ns >= o->window_ns &&
	       !(f->last_ns && now_ns - f->last_ns < o->cooldown_ns) &&
	       atomic_load(&f->begun_cnt) < o->max_files;
}

static bool is_part_due(const struct tapir_flight *f, uint64_t now_ns)
{
	return f->opts->part_ns && now_ns - f->part_end_ns >= f->opts->part_ns + SETTLE_NS;
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
	if (now_ns - f->judged_ns >= TAPIR_FLIGHT_JUDGE_NS)
		match_open(f, now_ns);
	if (!f->request_ns && !atomic_load(&f->is_busy) &&
	    (is_part_due(f, now_ns) || is_check_due(f, now_ns)))
		return now_ns;
	if (!f->request_ns)
		return UINT64_MAX;
	return atomic_load(&f->is_busy) ? now_ns + BUSY_NS : f->request_ns + SETTLE_NS;
}

static void start_findings_check(struct tapir_flight *f)
{
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_flight_job *job = new_job(f, now_ns, "findings");

	f->checked_ns = now_ns;
	if (job)
		job->is_check = true;
	if (!tapir_flight__start_freezer(f, job) && job)
		tapir_flight_job__free(job);
}

/* Records that other rings have not delivered yet are in the next part. */
static void begin_part(struct tapir_flight *f, uint64_t now_ns)
{
	const struct tapir_flight_job like = {.request_ns = now_ns,
					      .from_ns = f->part_end_ns + 1,
					      .until_ns = now_ns - SETTLE_NS,
					      .is_part = true};
	struct tapir_flight_job *job = new_job_of(f, &like, "part");

	f->part_end_ns = like.until_ns;
	if (tapir_flight__start_freezer(f, job))
		return;
	atomic_fetch_add(&f->failed_cnt, 1);
	tapir_warn("a part of the recording was not written: out of memory");
	if (job)
		tapir_flight_job__free(job);
}

static void freeze(void *ctx)
{
	struct tapir_flight *f = ctx;
	uint64_t now_ns = tapir_clock__now_ns();
	struct tapir_flight_job *job;

	if (!f->request_ns) {
		if (is_part_due(f, now_ns))
			begin_part(f, now_ns);
		else
			start_findings_check(f);
		return;
	}
	job = new_job(f, f->request_ns, f->why.data);
	f->last_ns = f->request_ns;
	f->request_ns = 0;
	atomic_fetch_add(&f->begun_cnt, 1);
	if (tapir_flight__start_freezer(f, job))
		return;
	atomic_fetch_add(&f->failed_cnt, 1);
	tapir_warn("%s: no file, out of memory", f->why.data);
	if (job)
		tapir_flight_job__free(job);
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

/* A request of a trigger a moment ago is in the last file, too. */
static int freeze_last(struct tapir_flight *f)
{
	uint64_t at_ns = atomic_load(&f->stopping_ns);
	const char *why = f->request_ns ? f->why.data : "the recording ended";
	struct tapir_flight_job *job;

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
	tapir_flight_job__do(job);
	return f->last_err;
}

/* Parts may wait for a file that is being written. */
static uint64_t kept_ns(const struct tapir_flight_opts *opts)
{
	uint64_t part_ns = opts->part_ns ? opts->part_ns + PART_DELAY_NS : 0;

	return (part_ns > opts->window_ns ? part_ns : opts->window_ns) + 2 * SETTLE_NS;
}

static int start_segments(struct tapir_flight *f, struct tapir_writer_opts *first)
{
	const struct tapir_segments_opts segments = {
		.sz = sizeof(segments),
		.dir = f->opts->dir,
		.stem = first->path,
		.max_bytes = f->opts->ring_bytes,
		.keep_ns = kept_ns(f->opts),
		.has_owner = first->has_owner,
		.uid = first->uid,
		.gid = first->gid,
	};
	int err = tapir_segments__new(&segments, &f->segments);

	if (!err)
		err = tapir_segments__begin(f->segments, f->start_ns, &first->fd, &first->path);
	if (err)
		return err;
	f->recording.snapshot_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->recording.snapshot_fd < 0)
		return -errno;
	f->recording.session = (struct tapir_flight_sink){.segments = f->segments,
							  .on_record = flight_on_record,
							  .due_ns = due_ns,
							  .freeze = freeze,
							  .ctx = f};
	f->recording.on_signal = on_signal;
	f->recording.on_stopping = on_stopping;
	/*
	 * The first segment is open already: the writer takes it, and opens no file of that name.
	 */
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
	tapir_guard__fd(&f->recording.snapshot_fd);
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
	char *name = tapir_flight__name_file(slash ? slash + 1 : stem, 1),
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
		.opts = flight, .recording.snapshot_fd = -1, .start_ns = tapir_clock__now_ns()};
	tapir_autofree char *name = name_segments(flight->stem);
	struct tapir_writer_opts first = *flight->file;
	int err = name ? 0 : -ENOMEM, last_err = 0;

	f.checked_ns = f.part_end_ns = f.start_ns;
	first.path = name;
	if (!err)
		err = start_segments(&f, &first);
	if (!err) {
		opts->file = &first;
		opts->flight = &f.recording;
		err = tapir_recording__run(opts, result);
		/* A file that is being written reads the segments, so that they end after it. */
		tapir_flight__join_freezer(&f);
		tapir_segments__end(f.segments, result->stats.file_bytes, tapir_clock__now_ns());
		/*
		 * A recording that failed may have captured what led to it: that is worth a file,
		 * too.
		 */
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
