// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats that user/export writes: the loop around each, and what it could not take. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "cli/export_job.h"
#include "export/nettrace.h"
#include "export/perf_script.h"
#include "export/speedscope.h"

int tapir_export_job__next(struct tapir_export_job *job, const struct tapir_rec **rec)
{
	int more;

	while ((more = tapir_long_read__next(&job->read, rec)) > 0) {
		if (!job->choice.glob ||
		    ((*rec)->type == TAPIR_REC_EVENT &&
		     tapir_event_choice__has(&job->choice, tapir_reader__catalog(job->reader),
					     (const void *)*rec)))
			return more;
	}
	return more;
}

/*
 * Some readers take the first kind of records for the only one (speedscope does): events are
 * for files without samples, unless they were asked for.
 */
static bool is_perf_script_record(const struct tapir_export_job *job, const struct tapir_rec *rec)
{
	return rec->type != TAPIR_REC_EVENT || job->choice.glob ||
	       !tapir_catalog__meta_value(tapir_reader__catalog(job->reader), "sample_event").len;
}

/* Readers of the format skip lines that begin with '#'. */
static void add_comments(struct tapir_export_job *job)
{
	const char *line = job->head.data;

	for (size_t len; line && *line; line += len) {
		len = strcspn(line, "\n") + 1;
		tapir_str__adds(&job->out, "# ");
		tapir_str__add(&job->out, line, len);
	}
}

int tapir_export__perf_script(struct tapir_export_job *job)
{
	struct tapir_perf_script script = {.catalog = tapir_reader__catalog(job->reader)};
	const struct tapir_rec *rec;
	int err;

	add_comments(job);
	while ((err = tapir_export_job__next(job, &rec)) > 0) {
		if (is_perf_script_record(job, rec))
			tapir_perf_script__add(&script, rec, &job->out);
		err = tapir_output_file__flush_much(&job->file, &job->out);
		if (err)
			break;
	}
	tapir_perf_script__fini(&script);
	return err;
}

/* ---- speedscope ----------------------------------------------------------------------------- */

/* "slow.tapir: 52% of the CPU in GC ..." */
static void add_title(const struct tapir_export_job *job, struct tapir_str *out)
{
	tapir_str__adds(out, job->title);
	if (!job->head.len)
		return;
	tapir_str__adds(out, ": ");
	tapir_str__add(out, job->head.data, strcspn(job->head.data, "\n"));
}

static int write_speedscope(struct tapir_export_job *job, struct tapir_speedscope *s)
{
	struct tapir_str title = {};
	int err = 0;

	add_title(job, &title);
	while (!err &&
	       tapir_speedscope__next_part(s, title.data ? title.data : job->title, &job->out)) {
		err = tapir_long_read__check(&job->read);
		if (!err)
			err = tapir_output_file__flush_much(&job->file, &job->out);
	}
	tapir_str__fini(&title);
	if (!err && tapir_speedscope__left_out(s))
		tapir_warn("%" PRIu64 " samples are left out: the limit of %u MB is reached",
			   tapir_speedscope__left_out(s), TAPIR_SPEEDSCOPE_MAX_BYTES >> 20);
	return err;
}

int tapir_export__speedscope(struct tapir_export_job *job)
{
	struct tapir_speedscope *s = tapir_speedscope__new(
		tapir_reader__catalog(job->reader), tapir_reader__stats(job->reader)->created_ns);
	const struct tapir_rec *rec;
	int err = -ENOMEM;

	while (s && (err = tapir_export_job__next(job, &rec)) > 0) {
		err = tapir_speedscope__add(s, rec);
		if (err)
			break;
	}
	if (!err)
		err = write_speedscope(job, s);
	tapir_speedscope__free(s);
	return err;
}

/* ---- nettrace ------------------------------------------------------------------------------- */

static void say_what_lacks(const struct tapir_nettrace_stats *stats)
{
	if (stats->late)
		tapir_warn(
			"%" PRIu64
			" records arrived much later than others of their time and are out of order",
			stats->late);
	if (stats->too_long)
		tapir_warn(
			"%" PRIu64
			" events are left out: larger than the 64 KB that nettrace readers accept",
			stats->too_long);
	if (stats->undescribed)
		tapir_warn("%" PRIu64 " events are left out: the recording lost their descriptions",
			   stats->undescribed);
	if (stats->unnamed)
		tapir_warn("some frames have no name: the limit of %u names is reached",
			   TAPIR_NETTRACE_NAMES_MAX);
}

static int write_nettrace(struct tapir_export_job *job, struct tapir_nettrace *n)
{
	const struct tapir_rec *rec;
	int err;

	while ((err = tapir_long_read__next(&job->read, &rec)) > 0) {
		err = tapir_nettrace__add(n, rec, &job->out);
		if (!err)
			err = tapir_output_file__flush_much(&job->file, &job->out);
		if (err)
			return err;
	}
	return err ? err : tapir_nettrace__finish(n, &job->out);
}

int tapir_export__nettrace(struct tapir_export_job *job)
{
	struct tapir_nettrace *n = tapir_nettrace__new(job->reader);
	int err = n ? write_nettrace(job, n) : -ENOMEM;

	if (!err)
		say_what_lacks(tapir_nettrace__stats(n));
	tapir_nettrace__free(n);
	return err;
}
