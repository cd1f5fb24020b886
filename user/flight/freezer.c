// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The freezer: a thread with a lower priority that writes what the session thread lists. Segments
 * are complete files, so it copies them while the recording continues; their descriptors keep them
 * even if the ring discards them in the meantime.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "flight/flight_impl.h"
#include "trace/freeze.h"

#define MAX_SAME_NAME 9 /* files of one second */
#define FREEZER_NICE  10

void tapir_flight_job__free(struct tapir_flight_job *job)
{
	struct tapir_rec **rec;

	tapir_vec_for_each (rec, &job->first)
		free(*rec);
	tapir_vec__fini(&job->first);
	tapir_segment_fds__fini(&job->segments);
	free(job->why);
	free(job);
}

char *tapir_flight__name_file(const char *stem, unsigned try)
{
	time_t now = time(NULL);
	char when[32], number[16] = "", *path;
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	if (try > 1)
		snprintf(number, sizeof(number), "-%u", try);
	return asprintf(&path, "%s-%s%s.tapir", stem, when, number) < 0 ? NULL : path;
}

/* fd: its file; -1: it gets a name. */
static int open_frozen_file(const struct tapir_flight_job *job, int fd, char **path,
			    struct tapir_writer **w)
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
	opts.is_complete = true;
	for (unsigned try = 1; err == -EEXIST && try <= MAX_SAME_NAME; try++) {
		free(*path);
		*path = tapir_flight__name_file(job->flight->opts->stem, try);
		opts.path = *path;
		tapir_diag__clear();
		err = *path ? tapir_writer__open(&opts, w) : -ENOMEM;
	}
	return err;
}

static int write_file(const struct tapir_flight_job *job, int fd, char **path, uint64_t *bytes)
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
	int err = open_frozen_file(job, fd, path, &w);

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

static void report_frozen_file(const struct tapir_flight_job *job, const char *path, uint64_t bytes)
{
	const struct tapir_flight_opts *opts = job->flight->opts;
	uint64_t wanted_ns = opts->window_ns + job->until_ns - job->request_ns;
	uint64_t had_ns = job->until_ns - job->from_ns;
	uint64_t since_ns = job->until_ns - job->flight->start_ns;

	tapir_info("%s: the last %.1f s are %s%s (%.1f MB)", job->why, (double)had_ns / 1e9,
		   path ? "in " : "kept", path ? path : "", (double)bytes / 1e6);
	if (had_ns + TAPIR_FLIGHT_JUDGE_NS < wanted_ns && had_ns + TAPIR_FLIGHT_JUDGE_NS < since_ns)
		tapir_warn("the ring of %llu MB holds %.1f s instead of %.1f s: enlarge "
			   "--continuous",
			   (unsigned long long)(opts->ring_bytes >> 20), (double)had_ns / 1e9,
			   (double)wanted_ns / 1e9);
}

/* A finding is a trigger like any other, for the session thread. */
static void check_findings(struct tapir_flight_job *job)
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
	tapir_flight_job__free(job);
}

static void write_part(struct tapir_flight_job *job)
{
	struct tapir_flight *f = job->flight;
	int fd = memfd_create("tapir-part", MFD_CLOEXEC);
	uint64_t bytes;
	int err = fd < 0 ? -errno : write_file(job, fd, NULL, &bytes);

	if (!err)
		f->opts->part(f->opts->ctx, fd, job->from_ns, job->until_ns);
	else if (fd >= 0)
		close(fd);
	if (err) {
		atomic_fetch_add(&f->failed_cnt, 1);
		tapir_warn("a part of the recording was not written: %s", tapir_errno__text(err));
	}
	tapir_diag__clear();
	tapir_flight_job__free(job);
}

void tapir_flight_job__do(struct tapir_flight_job *job)
{
	struct tapir_flight *f = job->flight;
	int fd = f->opts->make ? f->opts->make(f->opts->ctx) : -1;
	uint64_t bytes = 0;
	char *path = NULL;
	int err = f->opts->make && fd < 0 ? fd : write_file(job, fd, &path, &bytes);

	f->last_err = err;
	if (err) {
		atomic_fetch_add(&f->failed_cnt, 1);
		/* This is a thread of its own, without a caller that would print its lines. */
		for (int i = 0; i < tapir_diag__cnt(); i++)
			tapir_warn("%s: %s", job->why, tapir_diag__line(i));
		tapir_diag__clear();
		free(path);
		if (fd >= 0)
			close(fd);
	} else {
		atomic_fetch_add(&f->file_cnt, 1);
		report_frozen_file(job, path, bytes);
		if (fd >= 0)
			f->opts->take(f->opts->ctx, fd,
				      &(struct tapir_flight_file){
					      job->why, job->until_ns - job->from_ns, bytes});
		free(f->last_path);
		f->last_path = path;
	}
	tapir_flight_job__free(job);
}

static void *run_freezer(void *arg)
{
	struct tapir_flight_job *job = arg;
	struct tapir_flight *f = job->flight;

	setpriority(PRIO_PROCESS, (id_t)gettid(), FREEZER_NICE);
	if (job->is_check)
		check_findings(job);
	else if (job->is_part)
		write_part(job);
	else
		tapir_flight_job__do(job);
	atomic_store(&f->is_busy, false);
	return NULL;
}

void tapir_flight__join_freezer(struct tapir_flight *f)
{
	if (f->has_thread)
		pthread_join(f->thread, NULL);
	f->has_thread = false;
}

bool tapir_flight__start_freezer(struct tapir_flight *f, struct tapir_flight_job *job)
{
	tapir_flight__join_freezer(f);
	atomic_store(&f->is_busy, true);
	f->has_thread = job && !pthread_create(&f->thread, NULL, run_freezer, job);
	if (!f->has_thread)
		atomic_store(&f->is_busy, false);
	return f->has_thread;
}
