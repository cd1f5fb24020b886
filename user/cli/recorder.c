// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The terminal's side of a recording: the lines while it runs. The line that says that recording
 * has started is a contract: users and tests wait for it.
 */
#include "cli/recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/exhaustion.h"
#include "base/file.h"
#include "base/log.h"
#include "output/render/human_units.h"
#include "output/render/record_finding.h"
#include "output/render/screen.h"
#include "cli/terminal.h"

/* ---- words on stderr -------------------------------------------------------------------- */

static void clear_line(struct tapir_recorder *r)
{
	if (r->has_line)
		(void)tapir_file__write_all(STDERR_FILENO, "\r\033[K", 4);
	r->has_line = false;
}

/* The end of the line by which the user, and tests, see that recording has started. */
#define HOW_TO_STOP "; press Ctrl-C to stop"

/* "2 probes attached and 1 ring event enabled in 12 ms" */
static void print_recording_started(const struct tapir_recording_ready *ready, double took_ms)
{
	struct tapir_str line = {};

	if (ready->probe_cnt)
		tapir_str__addf(&line, "%zu probe%s attached", ready->probe_cnt,
				ready->probe_cnt == 1 ? "" : "s");
	if (ready->ring_event_cnt)
		tapir_str__addf(&line, "%s%zu ring event%s enabled", line.len ? " and " : "",
				ready->ring_event_cnt, ready->ring_event_cnt == 1 ? "" : "s");
	tapir_info("%s in %.0f ms" HOW_TO_STOP, line.data ? line.data : "", took_ms);
	tapir_str__fini(&line);
}

static void on_ready(void *ctx, const struct tapir_recording_ready *ready)
{
	struct tapir_recorder *r = ctx;
	double took_ms = (double)ready->took_ns / 1e6;
	char times[TAPIR_TIMES_TEXT_BYTES];

	if (ready->dotnet_cnt)
		tapir_info(".NET events enabled in %.0f ms" HOW_TO_STOP, took_ms);
	else if (ready->probe_cnt + ready->ring_event_cnt)
		print_recording_started(ready, took_ms);
	else if (r->plan.opts.sampling.hz)
		tapir_info("sampling each CPU %s per second" HOW_TO_STOP,
			   tapir_times__text(r->plan.opts.sampling.hz, times));
	else if (r->plan.opts.with_switches)
		tapir_info("recording context switches" HOW_TO_STOP);
	else if (r->plan.opts.program && !r->plan.opts.program_is_workload)
		tapir_info("%s starts when its probes are attached" HOW_TO_STOP,
			   r->plan.opts.program[0]);
	else
		tapir_info("waiting for processes with these probes" HOW_TO_STOP);
	r->ready_ns = tapir_clock__now_ns();
}

static void recorder_on_progress(void *ctx, const struct tapir_recording_progress *p)
{
	struct tapir_recorder *r = ctx;
	struct tapir_str line = {};
	double seconds = (double)(p->elapsed_ns - r->last_elapsed_ns) / 1e9;

	/* The line is written over itself: a log would get one line for each second. */
	if (r->is_quiet || !tapir_screen__is_tty(stderr))
		return;
	if (p->is_stopping) {
		tapir_str__addf(&line, "\r\033[K  detaching probes: %zu left", p->detach_left_cnt);
	} else {
		tapir_str__addf(&line, "\r\033[K  %.1f s   ", (double)p->elapsed_ns / 1e9);
		tapir_human__add_count(&line, p->stats.captured[TAPIR_FAMILY_EVENT]);
		tapir_str__adds(&line, " events   ");
		tapir_human__add_count(&line,
				       (uint64_t)((double)(p->stats.captured[TAPIR_FAMILY_EVENT] -
							   r->last_event_cnt) /
						  (seconds > 0 ? seconds : 1)));
		tapir_str__adds(&line, "/s   lost ");
		tapir_human__add_count(&line, p->stats.lost_cnt);
		tapir_str__adds(&line, "   ");
		tapir_human__add_bytes(&line, p->stats.file_bytes);
	}
	if (line.data)
		(void)tapir_file__write_all(STDERR_FILENO, line.data, line.len);
	tapir_str__fini(&line);
	r->has_line = true;
	r->last_event_cnt = p->stats.captured[TAPIR_FAMILY_EVENT];
	r->last_elapsed_ns = p->elapsed_ns;
}

static void on_stopping(void *ctx)
{
	struct tapir_recorder *r = ctx;

	r->stopped_ns = tapir_clock__now_ns();
	tapir_terminal__stop_waiting();
}

/* ---- lifecycle -------------------------------------------------------------------------- */

int tapir_recorder__init(struct tapir_recorder *r, const struct tapir_cli *cli,
			 const struct tapir_request *request)
{
	int err = tapir_request__plan(request, &r->plan);

	r->is_quiet = cli->is_quiet;
	r->plan.opts.on_progress = recorder_on_progress;
	r->plan.opts.on_ready = on_ready;
	r->plan.opts.on_stopping = on_stopping;
	r->plan.opts.ctx = r;
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

void tapir_recorder__fini(struct tapir_recorder *r)
{
	tapir_recording_plan__fini(&r->plan);
}

int tapir_recorder__run(struct tapir_recorder *r, struct tapir_recording_result *out)
{
	int err = tapir_recording__run(&r->plan.opts, out);

	clear_line(r);
	return err;
}

int tapir_recorder__run_flight(struct tapir_recorder *r, const struct tapir_flight_opts *flight,
			       struct tapir_recording_result *out, struct tapir_flight_stats *stats,
			       char **last_path)
{
	int err = tapir_flight__run(flight, &r->plan.opts, out, stats, last_path);

	clear_line(r);
	return err;
}

/* ---- afterwards --------------------------------------------------------------------------- */

static void print_program_end(const struct tapir_recording_result *result)
{
	int status = result->program_status;

	if (!result->program_ended)
		tapir_info("the program is still running");
	else if (WIFSIGNALED(status))
		tapir_info("the program was killed by signal %d (%s)", WTERMSIG(status),
			   strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		tapir_info("the program exited with status %d", WEXITSTATUS(status));
}

int tapir_recorder__exit_status(const struct tapir_recorder *r,
				const struct tapir_recording_result *result)
{
	int ended = result->program_status, status = 0;

	if (r->plan.opts.program && result->program_ended)
		status = WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
	/* The last line says that the recording may be incomplete: that is no success. */
	return status || !tapir_exhaustion__all().memory_cnt ? status : 1;
}

/* Sooner than --duration or Ctrl-C. */
static void print_targets_ended(const struct tapir_pids *pids, uint64_t after_ns)
{
	double seconds = (double)after_ns / 1e9;

	if (pids->cnt == 1)
		tapir_info("process %u exited after %.1f s", pids->data[0], seconds);
	else
		tapir_info("all %zu processes exited, the last after %.1f s", pids->cnt, seconds);
}

static void add_count_of(struct tapir_str *line, uint64_t cnt, const char *one, const char *many)
{
	tapir_human__add_count(line, cnt);
	tapir_str__addf(line, " %s", cnt == 1 ? one : many);
}

static void add_counted_noun(struct tapir_str *line, uint64_t cnt, const char *one,
			     const char *many)
{
	add_count_of(line, cnt, one, many);
	tapir_str__adds(line, ", ");
}

/* Without what attaching and detaching took. */
static uint64_t recorded_ns(const struct tapir_recorder *r,
			    const struct tapir_recording_result *result)
{
	bool is_known = r->ready_ns && r->stopped_ns > r->ready_ns;

	return is_known ? r->stopped_ns - r->ready_ns : result->elapsed_ns;
}

static void add_numbers(const struct tapir_recorder *r, const struct tapir_recording_result *result,
			const char *path, struct tapir_str *line)
{
	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		if (i == TAPIR_FAMILY_EVENT || tapir_recording__wants(&r->plan.opts, i))
			add_counted_noun(line, result->stats.captured[i], tapir_families[i].one,
					 tapir_families[i].many);
	if (r->plan.opts.where) {
		tapir_human__add_count(line, result->stats.skipped_cnt);
		tapir_str__adds(line, " left out, ");
	}
	tapir_human__add_count(line, result->stats.lost_cnt);
	tapir_str__adds(line, " lost");
	if (result->stats.unseen_cnt) {
		tapir_str__adds(line, ", ");
		add_count_of(line, result->stats.unseen_cnt, "process or mapping missed",
			     "processes or mappings missed");
	}
	if (result->stats.gap_cnt) {
		tapir_str__adds(line, ", ");
		add_count_of(line, result->stats.gap_cnt, "gap", "gaps");
	}
	if (path) {
		tapir_str__adds(line, ", ");
		tapir_human__add_bytes(line, result->stats.file_bytes);
	}
}

void tapir_recorder__print_result(const struct tapir_recorder *r,
				  const struct tapir_recording_result *result, const char *path)
{
	bool has_path = path && !tapir_writer__is_stdout(path) && !result->is_file_moved;
	struct tapir_str line = {};

	add_numbers(r, result, path, &line);
	tapir_str__addf(&line, " in %.1f s", (double)recorded_ns(r, result) / 1e9);
	if (has_path)
		tapir_str__addf(&line, " -> %s", path);
	tapir_info("%s", line.data ? line.data : "");
	/*
	 * The name may be another file's by now: it is neither said to be the recording nor read
	 * for the finding.
	 */
	if (result->is_file_moved)
		tapir_warn("%s was renamed or replaced during the recording: the data is in the "
			   "renamed file",
			   path);
	tapir_str__fini(&line);
	if (r->plan.opts.program)
		print_program_end(result);
	if (result->targets_ended_ns && r->plan.opts.rules.pids.cnt)
		print_targets_ended(&r->plan.opts.rules.pids, result->targets_ended_ns);
	if ((result->site_cnt || result->ring_event_cnt || r->plan.opts.sampling.hz ||
	     r->plan.opts.with_switches) &&
	    has_path && !r->is_quiet)
		tapir_record_finding__print(path, r->plan.opts.sampling.hz);
}
