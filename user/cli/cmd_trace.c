// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir trace: events as they happen, on stdout; nothing is written to a file. A question that the
 * kernel can add up is not recorded event by event: its sums are read once per interval.
 */
#include <errno.h>

#include "attach/programs.h"
#include "attach/sums.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "cli/commands.h"
#include "output/render/counter_table.h"
#include "cli/question_options.h"
#include "cli/recorder.h"
#include "cli/target_options.h"
#include "output/render/live_lines.h"
#include "output/render/screen.h"
#include "cli/terminal.h"
#include "cli/recording_file.h"
#include "decode/dotnet_tables.h"
#include "symbol/frame.h"

struct args {
	struct tapir_target_args target;
	struct tapir_capture_args capture;
	bool json;
	bool force;
	bool raw_names;
	struct tapir_words manifests;
	struct tapir_question_args question;
};

static const struct args defaults = {.question = TAPIR_QUESTION_DEFAULTS};

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON object per line", struct args, json),
	TAPIR_FLAG("force", 'f', "attach any number of probes on kernels without uprobe_multi",
		   struct args, force),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

static const struct tapir_option_group groups[] = {
	{"Targets", tapir_target_options, offsetof(struct args, target)},
	{"What to trace", tapir_capture_options, offsetof(struct args, capture)},
	{"What to ask ('tapir help questions')", tapir_question_options,
	 offsetof(struct args, question)},
	{NULL, options, 0},
	{}};

/* A probe whose hits are rejected before they are recorded, and how many of them are counted. */
struct kernel_probe {
	uint32_t probe_id;
	bool is_begin; /* of an interval: what is counted was kept */
	uint64_t rejected;
};

/* Starts with the recorder, whose callbacks get the whole of it. */
struct tracer {
	struct tapir_recorder recorder;
	struct tapir_live_lines live;
	struct tapir_counter_table *table; /* NULL: one line per value */
	struct tapir_cli_questions queries;
	const struct tapir_catalog *catalog;
	struct tapir_programs *programs; /* NULL: there are none */
	struct tapir_vec(struct kernel_probe) kernel_probes;
	uint64_t interval_ns, interval_from_ns; /* of tables; 0: one at the end */
	bool json;
	bool has_declined;
	int err; /* of a question, at its end */
};

/* ---- session thread --------------------------------------------------------------------- */

/* An event that a question lets through is printed, an interval at its end. */
static void on_hit(void *ctx, const struct tapir_question *q, const struct tapir_hit *hit)
{
	struct tracer *t = ctx;

	if (q->is_of_intervals)
		tapir_hit__write(hit, t->json, t->live.start_ns, &t->live.out);
	else if (tapir_live_lines__add(&t->live, t->catalog, &hit->begin.event.rec->h))
		t->err = -ENOMEM;
}

/* If the kernel has no room for the question, the probe's events arrive as before. */
static void on_offer(void *ctx, uint32_t probe_id, const struct tapir_hit_question *question)
{
	struct kernel_probe made = {.probe_id = probe_id,
				    .is_begin = question->role == TAPIR_HIT_BEGIN};
	struct tracer *t = ctx;
	const struct kernel_probe *known;
	int mark = tapir_diag__cnt();

	if (!t->programs || !t->recorder.plan.opts.with_questions)
		return;
	tapir_vec_for_each (known, &t->kernel_probes)
		if (known->probe_id == probe_id)
			return;
	if (tapir_vec__push(&t->kernel_probes, made) &&
	    tapir_programs__set_question(t->programs, probe_id, question)) {
		t->kernel_probes.cnt--;
		tapir_diag__rewind(mark);
	}
}

/* Once: of all probes, the reason is mostly the same. */
static void on_decline(void *ctx, const char *event, const char *reason)
{
	struct tracer *t = ctx;

	if (!t->has_declined)
		tapir_info("%s: evaluated by tapir, not in the kernel: %s", event, reason);
	t->has_declined = true;
}

static void on_text(void *ctx, uint64_t id, const struct tapir_sums_text *text)
{
	struct tracer *t = ctx;

	tapir_questions__add_text(t->queries.questions, id, text);
}

static void on_row(void *ctx, const struct tapir_sums_key *key, const struct tapir_sums_row *rows,
		   size_t stride, unsigned cpu_cnt)
{
	struct tracer *t = ctx;

	tapir_questions__add_row(t->queries.questions, key, rows, stride, cpu_cnt);
}

static void on_step(void *ctx, const struct tapir_sums_key *key, uint64_t cnt)
{
	struct tracer *t = ctx;

	tapir_questions__add_step(t->queries.questions, key, cnt);
}

/* Reads what the kernel has added up, in the interval that ends with it. */
static int read_sums(struct tracer *t, bool is_last)
{
	const struct tapir_sums_sink sink = {
		.text = on_text, .row = on_row, .step = on_step, .ctx = t};
	struct tapir_sums_state state = {};
	int err;

	if (!t->programs || !t->recorder.plan.opts.sums.is_on)
		return 0;
	tapir_questions__begin_reading(t->queries.questions,
				       tapir_programs__next_interval(t->programs), is_last);
	err = tapir_sums__read(t->programs, &sink, &state);
	tapir_questions__end_reading(t->queries.questions, &state);
	return err;
}

static void add_rejected(struct tracer *t)
{
	struct kernel_probe *probe;

	tapir_vec_for_each (probe, &t->kernel_probes) {
		uint64_t now = tapir_programs__rejected(t->programs, probe->probe_id);

		if (probe->is_begin)
			tapir_questions__add_begun(t->queries.questions, now - probe->rejected);
		else
			tapir_questions__add_rejected(t->queries.questions, now - probe->rejected);
		probe->rejected = now;
	}
}

static int trace_on_record(void *ctx, const struct tapir_catalog *catalog,
			   const struct tapir_rec *rec)
{
	struct tracer *t = ctx;
	int err;

	if (t->table && rec->type == TAPIR_REC_COUNTER)
		return tapir_counter_table__add(t->table, rec);
	t->catalog = catalog;
	if (t->queries.questions) {
		err = tapir_questions__take(t->queries.questions, catalog, rec);
		if (err || t->err || t->queries.has_table || rec->type == TAPIR_REC_EVENT)
			return err ? err : t->err;
	}
	return tapir_live_lines__add(&t->live, catalog, rec);
}

/* Writes the tables, of each interval. The totals are printed when tracing has ended well. */
static void write_tables(struct tracer *t, bool is_last)
{
	uint64_t now_ns = tapir_clock__now_ns(), start_ns = t->live.start_ns;

	if (!t->queries.has_table || !t->interval_ns ||
	    (!is_last && now_ns - t->interval_from_ns < t->interval_ns))
		return;
	t->err = is_last ? 0 : read_sums(t, false);
	tapir_cli_questions__write(&t->queries, true, t->json, t->interval_from_ns - start_ns,
				   now_ns - start_ns, &t->live.out);
	tapir_questions__begin_interval(t->queries.questions);
	t->interval_from_ns = now_ns;
}

static int on_flush(void *ctx, enum tapir_session_flush when)
{
	struct tracer *t = ctx;
	bool is_last = when == TAPIR_FLUSH_LAST;
	bool will_draw = t->table &&
			 tapir_counter_table__draw(t->table, tapir_clock__now_ns(), &t->live.out);
	bool is_held;
	int err;

	if (is_last && t->queries.questions)
		t->err = tapir_questions__finish(t->queries.questions);
	else if (t->queries.questions)
		tapir_questions__offer_pairs(t->queries.questions);
	is_held = tapir_live_lines__take(&t->live, when);
	if (t->queries.questions && !t->err && (is_last || t->interval_ns))
		add_rejected(t);
	if (t->queries.questions && !t->err && is_last)
		t->err = read_sums(t, true);
	if (t->queries.questions && !t->err)
		write_tables(t, is_last);
	err = tapir_terminal__flush(&t->live.out);
	return err ? err : t->err ? t->err : will_draw || is_held || (t->interval_ns && !is_last);
}

/* ---- the command ------------------------------------------------------------------------ */

static void on_programs(void *ctx, struct tapir_programs *programs)
{
	struct tracer *t = ctx;

	t->programs = tapir_programs__are_there(programs) ? programs : NULL;
}

static void request_kernel_sums(struct tracer *t, struct tapir_recording_opts *opts)
{
	const struct tapir_question *q = tapir_questions__at(t->queries.questions, 0);
	struct tapir_sums_opts *sums = &opts->sums;

	opts->with_questions = true;
	sums->is_on = q->is_table;
	sums->has_pairs = q->is_of_intervals;
	sums->column_cnt = q->sum_cnt;
	sums->key_cnt = q->fold.key_cnt;
	sums->table_bytes = q->fold.max_bytes;
	for (unsigned i = 0; i < q->fold.column_cnt; i++)
		sums->has_steps |= q->fold.columns[i].scale == TAPIR_FOLD_LOG;
}

static int trace(struct tracer *t, struct tapir_cli *cli)
{
	struct tapir_recording_result result = {};
	int err;

	t->recorder.plan.opts.on_record = trace_on_record;
	t->recorder.plan.opts.on_flush = on_flush;
	t->recorder.plan.opts.on_programs = on_programs;
	if (t->queries.questions && tapir_questions__may_offer(t->queries.questions))
		request_kernel_sums(t, &t->recorder.plan.opts);
	t->live.start_ns = t->interval_from_ns = tapir_clock__now_ns();
	t->recorder.is_quiet = true; /* a line of progress between the events would be in the way */
	err = tapir_recorder__run(&t->recorder, &result);
	if (t->queries.questions)
		result.stats.captured[TAPIR_FAMILY_EVENT] +=
			tapir_questions__counted(t->queries.questions);
	cli->exit_status = tapir_recorder__exit_status(&t->recorder, &result);
	if (t->queries.has_table && !t->err && (!err || result.stats.captured[TAPIR_FAMILY_EVENT]))
		tapir_cli_questions__write(&t->queries, false, t->json, 0,
					   tapir_clock__now_ns() - t->live.start_ns, &t->live.out);
	if (err != -EPIPE) {
		int flush_err = tapir_terminal__flush(&t->live.out);

		err = err ? err : flush_err;
	}
	if (err == -EINVAL && t->queries.questions) /* it does not fit the events that came */
		return TAPIR_CLI_USAGE;
	if (err == -EPIPE) { /* `| head` has seen enough */
		tapir_diag__clear();
		return 0;
	}
	if (!err || result.stats.captured[TAPIR_FAMILY_EVENT])
		tapir_recorder__print_result(&t->recorder, &result, NULL);
	return err;
}

/* Reads the questions, and adds the events that they need to the request. */
static int add_questions(struct tracer *t, struct tapir_cli *cli, struct args *args,
			 struct tapir_request *request)
{
	const struct tapir_question_sink sink = {
		.hit = on_hit, .offer = on_offer, .decline = on_decline, .ctx = t};
	int err = tapir_cli_questions__init(&t->queries, cli, &args->question, &cli->words, false,
					    &sink);

	t->json = args->json;
	t->interval_ns = args->capture.counters.is_given ? 0 : args->capture.interval_ns;
	if (err || !t->queries.questions)
		return err;
	if (!t->queries.specs.cnt && !args->capture.profiles.cnt)
		return tapir_cli__usage(cli, "a SPEC is required for the events of the question");
	request->specs = t->queries.specs;
	if (!args->capture.counters.is_given)
		request->interval_ns = 0; /* it is of the tables */
	request->stack |= tapir_questions__want_stacks(t->queries.questions);
	return 0;
}

static int run_trace(struct tapir_cli *cli)
{
	struct args *args = cli->args;
	struct tracer t = {.live = {.format = args->json ? TAPIR_EVENT_JSON : TAPIR_EVENT_TEXT,
				    .hides_counter_events = args->capture.counters.is_given}};
	struct tapir_request request = {};
	int err;

	args->capture.has_no_default =
		!cli->words.cnt && !args->capture.profiles.cnt && !args->question.pairs.cnt;
	if (args->capture.has_no_default && !args->capture.counters.is_given)
		return tapir_cli__usage(
			cli,
			"a SPEC is required, such as 'hotspot:gc__*' ('tapir list -p PID' shows what a process has)");
	if (args->capture.has_no_default && !args->json && tapir_screen__is_tty(stdout))
		t.table = tapir_counter_table__new();
	if (args->raw_names)
		tapir_frame__show_raw_names();
	err = tapir_manifests__add(&args->manifests);
	if (!err)
		err = tapir_target_options__request(cli, &args->target, &args->capture, &request);
	/* Lines and tables of events are all that this command shows. */
	request.no_samples = request.no_sched = true;
	if (!err)
		err = add_questions(&t, cli, args, &request);
	if (!err)
		err = tapir_recorder__init(&t.recorder, cli, &request);
	t.recorder.plan.opts.force = args->force;
	/* With -a, every runtime of the machine would be asked for names of its code. */
	t.recorder.plan.opts.no_names = !t.recorder.plan.specs.cnt && !request.stack;
	if (!err)
		err = trace(&t, cli);
	if (t.live.lines)
		tapir_manifests__warn_of_mismatches(t.live.lines);
	tapir_counter_table__free(t.table);
	tapir_vec__fini(&t.kernel_probes);
	tapir_cli_questions__fini(&t.queries);
	tapir_live_lines__fini(&t.live);
	tapir_recorder__fini(&t.recorder);
	tapir_dotnet_tables__fini();
	return err;
}

const struct tapir_command tapir_cmd_trace = {
	.name = "trace",
	.summary = "print events as they happen",
	.synopsis = "SOURCE... | --profile NAME | --counters [GLOB] [--where EXPR] [--count] "
		    "[--hist X] [--by KEY,...] [--pair A,B] [-p PID | --comm GLOB | "
		    "--cgroup PATH | -a] [--stack] [--json] [-- CMD ARGS]",
	.text = "Attaches probes and prints each event, in the format of 'tapir events', "
		"until Ctrl-C, --duration or the exit of the traced processes. Events "
		"that cannot be printed in time are counted and reported; 'tapir record' "
		"sustains higher rates. Where probes fire more than 100,000 times per "
		"second, a line says what that costs the traced programs.\n\n"
		"A SOURCE is a SPEC, or the name of an interval between two events "
		"('tapir help intervals'). With --count, --sum, --hist, --by and the like "
		"they are added up and printed as a table, at the end and every --interval "
		"('tapir help questions').\n\n"
		"--counters prints values of .NET EventCounters and meters, by default "
		"those of System.Runtime. On a terminal and without SPEC they are a table "
		"that is redrawn every --interval, otherwise one line per value.",
	.groups = groups,
	.positionals =
		(const struct tapir_positional[]){
			{.name = "SPEC",
			 .help = "events ('tapir help spec'), an interval ('tapir help intervals'), a "
				 "sentence, or @FILE of them ('tapir help questions')",
			 .many = true},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"trace 'hotspot:gc__*' -p 4711",
			 "collections of a JVM, as they begin and end"},
			{"trace 'postgresql:query__start' --comm postgres",
			 "every SQL statement, as it runs"},
			{"trace 'MyCompany-Demo:OrderPlaced' -p 4711 --json",
			 "an EventSource's event, with its fields by name"},
			{"trace -p 4711 --counters", "the health of a .NET runtime, every second"},
			{"trace -p 4711 --counters 'MyCompany.*/orders*' --interval 5 --json",
			 "your own counters and instruments"},
			{"trace postgresql:query --hist took --by query --comm postgres",
			 "how long each statement takes: 50, 90 and 99 %, and the longest"},
			{"trace postgresql:query --where 'took > 5ms' --comm postgres",
			 "slow statements, as they end"},
			{"trace 'syscall:open*' --where 'err == ENOENT' --by comm,filename -a",
			 "files that programs look for and do not find, on the whole machine"},
			{"trace tracepoint:exceptions:page_fault_user --by comm,stack -a",
			 "page faults by stack"},
			{"trace 'python:function__entry' --stack -- python3 app.py",
			 "function calls, each with its native stack"},
			{}},
	.takes_program = true,
	.args_bytes = sizeof(struct args),
	.defaults = &defaults,
	.reads_foreign_files = true,
	.run = run_trace,
};
