// SPDX-License-Identifier: GPL-2.0-or-later
/* The terminal's side of a recording. */
#include "cli/recorder.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/log.h"
#include "render/human_units.h"
#include "cli/record_finding.h"
#include "render/screen.h"
#include "cli/terminal.h"
#include "dotnet/dotnet_suggest.h"
#include "dotnet/dotnet_specs.h"
#include "decode/profiles.h"
#include "runtime/dotnet_assembly.h"

/* ---- from options ----------------------------------------------------------------------- */

static int add_spec(struct tapir_recorder *r, const char *text)
{
	struct tapir_spec *spec;
	int err = tapir_spec__parse(text, &spec);

	if (err)
		return err;
	if (tapir_vec__push(&r->specs, spec))
		return 0;
	tapir_spec__free(spec);
	return -ENOMEM;
}

/* Profiles overlap. */
static bool has_spec(const struct tapir_recorder *r, const char *text)
{
	struct tapir_spec *const *spec;

	tapir_vec_for_each (spec, &r->specs)
		if (!strcmp((*spec)->text, text))
			return true;
	return false;
}

static int add_profile(struct tapir_recorder *r, const char *name)
{
	const struct tapir_profile *profile = tapir_profile__find(name);
	const char *text;
	int err = 0;

	for (size_t i = 0; !err && (text = tapir_profile__spec(profile, i)); i++) {
		if (has_spec(r, text))
			continue;
		err = add_spec(r, text);
		if (!err) /* each runtime is asked for its own events only */
			r->specs.data[r->specs.cnt - 1]->is_silent = true;
	}
	return err;
}

static int add_words(struct tapir_recorder *r, const struct tapir_cli *cli)
{
	const char **word;
	int err = 0;

	tapir_vec_for_each (word, &cli->words) {
		err = add_spec(r, *word);
		if (err)
			break;
	}
	return err;
}

/* Before much time is spent on it; one that the program makes when it runs is waited for. */
static void warn_of_near_misses(const struct tapir_recorder *r)
{
	const struct tapir_layout_provider *all = r->sources.all.data;
	size_t cnt = r->sources.all.cnt;
	struct tapir_str near = {};

	for (size_t i = 0; cnt && i < r->specs.cnt; i++) {
		const struct tapir_spec *spec = r->specs.data[i];

		tapir_str__clear(&near);
		if (!spec->is_silent && tapir_dotnet_specs__is_for(spec) &&
		    !tapir_dotnet_suggest__is_defined(spec, all, cnt))
			tapir_dotnet_suggest__add_nearest(spec, all, cnt, &near);
		if (near.len)
			tapir_warn(
				"no assembly of the process declares %s: waiting for it; the nearest is %s",
				spec->text, near.data);
	}
	tapir_str__fini(&near);
}

/* The keywords and names that the EventSources of the named processes declare. */
static int resolve_names(struct tapir_recorder *r, const struct tapir_pids *pids)
{
	struct tapir_dotnet_sources *sources = &r->sources;
	int mark = tapir_diag__cnt(), err;
	const uint32_t *pid;

	if (tapir_dotnet_specs__need_sources(&r->specs))
		tapir_vec_for_each (pid, pids)
			(void)tapir_dotnet_sources__add_process(sources, *pid);
	tapir_diag__rewind(mark);
	r->opts.sources = sources;
	err = tapir_dotnet_specs__expand(&r->specs, sources->all.data, sources->all.cnt);
	if (!err)
		err = tapir_dotnet_specs__resolve(&r->specs, sources->all.data, sources->all.cnt);
	if (!err && r->opts.lanes != TAPIR_LANES_PROBE)
		warn_of_near_misses(r);
	return err;
}

static int add_counters(struct tapir_recorder *r, const struct tapir_cli *cli,
			const struct tapir_capture_args *capture)
{
	const char *const *glob;
	int err = 0;

	if (!capture->counters.is_given)
		return capture->interval_ns
			       ? tapir_cli__usage(cli, "--interval requires --counters")
			       : 0;
	tapir_vec_for_each (glob, &capture->counters.words) {
		err = tapir_counter_choice__add(&r->counters, *glob);
		if (err)
			return err;
	}
	if (!r->counters.globs.cnt)
		err = tapir_counter_choice__add(&r->counters, TAPIR_COUNTER_DEFAULT);
	r->counters.interval_ns =
		capture->interval_ns ? capture->interval_ns : TAPIR_COUNTER_INTERVAL_NS;
	r->opts.counters = &r->counters;
	return err ? err : tapir_counter_choice__add_specs(&r->counters, &r->specs);
}

static int add_specs(struct tapir_recorder *r, struct tapir_cli *cli, const struct tapir_pids *pids,
		     const struct tapir_capture_args *capture)
{
	const char *const *profile;
	int err = add_words(r, cli);

	r->opts.specs_are_defaults = !r->specs.cnt && !capture->has_no_default;
	tapir_vec_for_each (profile, &capture->profiles)
		err = err ? err : add_profile(r, *profile);
	if (!err && r->opts.specs_are_defaults && !capture->profiles.cnt)
		err = add_profile(r, TAPIR_PROFILE_DEFAULT);
	if (!err)
		err = add_counters(r, cli, capture);
	if (!err)
		err = resolve_names(r, pids);
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

static void add_command_line(struct tapir_recorder *r)
{
	tapir_autofree char *text = NULL;
	size_t len = 0;

	if (tapir_file__read("/proc/self/cmdline", 65536, &text, &len))
		return;
	for (size_t i = 0; i + 1 < len; i++)
		tapir_str__addc(&r->command_line, text[i] ? text[i] : ' ');
	r->opts.command_line = r->command_line.data;
}

static enum tapir_lanes find_lane(const char *name)
{
	size_t i = 0;

	while (name && strcmp(name, tapir_lane__name(i)))
		i++;
	return (enum tapir_lanes)i;
}

static int choose_publish(const struct tapir_cli *cli, const char *publish,
			  struct tapir_recording_opts *out)
{
	if (!publish)
		return 0;
	if (out->lanes == TAPIR_LANES_PROBE || out->lanes == TAPIR_LANES_STREAM)
		return tapir_cli__usage(cli, "--publish excludes --lane probe and --lane stream");
	out->publishes = true;
	return 0;
}

/* ---- words on stderr -------------------------------------------------------------------- */

static void clear_line(struct tapir_recorder *r)
{
	if (r->has_line)
		(void)tapir_file__write_all(STDERR_FILENO, "\r\033[K", 4);
	r->has_line = false;
}

/* The end of the line that tells the user, and the tests, that recording has begun. */
#define HOW_TO_STOP "; press Ctrl-C to stop"

/* "2 probes attached and 1 ring event enabled in 12 ms" */
static void say_on(const struct tapir_recording_ready *ready, double took_ms)
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
		say_on(ready, took_ms);
	else if (r->opts.sampling.hz)
		tapir_info("sampling each CPU %s per second" HOW_TO_STOP,
			   tapir_times__text(r->opts.sampling.hz, times));
	else if (r->opts.with_switches)
		tapir_info("recording context switches" HOW_TO_STOP);
	else if (r->opts.program && !r->opts.program_is_workload)
		tapir_info("%s starts when its probes are attached" HOW_TO_STOP,
			   r->opts.program[0]);
	else
		tapir_info("waiting for processes with these probes" HOW_TO_STOP);
	r->ready_ns = ready->took_ns;
}

static void on_progress(void *ctx, const struct tapir_recording_progress *p)
{
	struct tapir_recorder *r = ctx;
	struct tapir_str line = {};
	double seconds = (double)(p->elapsed_ns - r->last_elapsed_ns) / 1e9;

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
	(void)ctx;
	tapir_terminal__stop_waiting();
}

/* ---- lifecycle -------------------------------------------------------------------------- */

int tapir_recorder__init(struct tapir_recorder *r, struct tapir_cli *cli,
			 const struct tapir_target_args *target,
			 const struct tapir_capture_args *capture)
{
	int err;

	*r = (struct tapir_recorder){
		.is_quiet = cli->is_quiet,
		.opts =
			{
				.sz = sizeof(r->opts),
				.rules = {.pids = target->pids,
					  .comms = target->comms,
					  .cgroups = target->cgroups,
					  .all = target->all},
				.specs = &r->specs,
				.program = cli->program,
				.program_is_workload =
					cli->program && tapir_target_args__kind_cnt(target),
				.with_stack = capture->stack,
				.no_ring_stacks = capture->no_stack,
				.duration_ns = capture->duration_ns,
				.rate_hz = (uint32_t)capture->rate_hz,
				.on_progress = on_progress,
				.on_ready = on_ready,
				.on_stopping = on_stopping,
				.ctx = r,
			},
	};
	err = tapir_target_args__check(target, cli);
	r->opts.lanes = find_lane(capture->lane);
	if (!err)
		err = choose_publish(cli, capture->publish, &r->opts);
	if (!err)
		err = add_specs(r, cli, &target->pids, capture);
	add_command_line(r);
	return err;
}

void tapir_recorder__fini(struct tapir_recorder *r)
{
	struct tapir_spec **spec;

	tapir_vec_for_each (spec, &r->specs)
		tapir_spec__free(*spec);
	tapir_vec__fini(&r->specs);
	tapir_dotnet_sources__fini(&r->sources);
	tapir_counter_choice__fini(&r->counters);
	tapir_str__fini(&r->command_line);
}

int tapir_recorder__run(struct tapir_recorder *r, struct tapir_recording_result *out)
{
	int err = tapir_recording__run(&r->opts, out);

	clear_line(r);
	return err;
}

/* ---- afterwards --------------------------------------------------------------------------- */

static void say_program(const struct tapir_recording_result *result)
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
	int status = result->program_status;

	if (!r->opts.program || !result->program_ended)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Sooner than --duration or Ctrl-C. */
static void say_end(const struct tapir_pids *pids, uint64_t after_ns)
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

static void add_number(struct tapir_str *line, uint64_t cnt, const char *one, const char *many)
{
	add_count_of(line, cnt, one, many);
	tapir_str__adds(line, ", ");
}

void tapir_recorder__say_result(const struct tapir_recorder *r,
				const struct tapir_recording_result *result, const char *path)
{
	bool has_path = path && !tapir_writer__is_stdout(path) && !result->is_file_moved;
	struct tapir_str line = {};

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		if (i == TAPIR_FAMILY_EVENT || tapir_recording__wants(&r->opts, i))
			add_number(&line, result->stats.captured[i], tapir_families[i].one,
				   tapir_families[i].many);
	tapir_human__add_count(&line, result->stats.lost_cnt);
	tapir_str__adds(&line, " lost");
	if (result->stats.unseen_cnt) {
		tapir_str__adds(&line, ", ");
		add_count_of(&line, result->stats.unseen_cnt, "process or mapping missed",
			     "processes or mappings missed");
	}
	if (result->stats.gap_cnt) {
		tapir_str__adds(&line, ", ");
		add_count_of(&line, result->stats.gap_cnt, "gap", "gaps");
	}
	if (path) {
		tapir_str__adds(&line, ", ");
		tapir_human__add_bytes(&line, result->stats.file_bytes);
	}
	tapir_str__addf(&line, " in %.1f s", (double)result->elapsed_ns / 1e9);
	if (has_path)
		tapir_str__addf(&line, " -> %s", path);
	tapir_info("%s", line.data ? line.data : "");
	if (result->is_file_moved)
		tapir_warn("%s was renamed or replaced during the recording: the data is in the "
			   "renamed file",
			   path);
	tapir_str__fini(&line);
	if (r->opts.program)
		say_program(result);
	if (result->targets_ended_ns && r->opts.rules.pids.cnt)
		say_end(&r->opts.rules.pids, result->targets_ended_ns);
	if ((result->site_cnt || result->ring_event_cnt || r->opts.sampling.hz ||
	     r->opts.with_switches) &&
	    has_path && !r->is_quiet)
		tapir_record_finding__print(path, r->opts.sampling.hz);
}
