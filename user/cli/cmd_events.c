// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tapir events: a file's records, one a line (a stack's frames below it). Descriptions of processes
 * are held until the first record of a time: a segment describes its processes before anything else
 * in it, and a process would seem to end before its events.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/commands.h"
#include "output/export/event_filter.h"
#include "cli/question_options.h"
#include "cli/recording_file.h"
#include "cli/symbol_options.h"
#include "cli/terminal.h"
#include "output/export/event_lines.h"
#include "trace/trace_filter.h"

struct args {
	bool json;
	bool raw_names;
	const char *trace_id;
	struct tapir_symbol_args symbols;
	struct tapir_words manifests;
	struct tapir_question_args question;
};

static const struct args defaults = {.question = TAPIR_QUESTION_DEFAULTS};

static const struct tapir_option options[] = {
	TAPIR_FLAG("json", 0, "one JSON object per line", struct args, json),
	TAPIR_STRING("trace-id", 0, "ID",
		     "only samples, context switches and events of this trace (32 hex digits)",
		     struct args, trace_id),
	TAPIR_SYMBOLS_OPTIONS(struct args),
	TAPIR_RAW_NAMES_OPTION(struct args),
	TAPIR_MANIFEST_OPTION(struct args),
	{}};

/* ---- processes, in their time ----------------------------------------------------------- */

#define HELD_MAX 4096

/*
 * A segment describes its processes before anything else in it; printed there, a process would end
 * before its events. They wait until a record of their time arrives.
 */
struct printer {
	struct tapir_event_lines *lines;
	struct tapir_str out;
	struct tapir_vec(struct tapir_rec *) held; /* owned, by time */
};

static bool hold(struct printer *p, const struct tapir_rec *rec)
{
	struct tapir_rec *copy;
	size_t at;

	if (p->held.cnt == HELD_MAX)
		return false;
	copy = malloc(rec->size);
	if (!copy || !tapir_vec__push(&p->held, copy)) {
		free(copy);
		return false;
	}
	memcpy(copy, rec, rec->size);
	for (at = p->held.cnt - 1; at && p->held.data[at - 1]->time_ns > rec->time_ns; at--)
		p->held.data[at] = p->held.data[at - 1];
	p->held.data[at] = copy;
	return true;
}

static void print_held(struct printer *p, uint64_t until_ns)
{
	size_t cnt = 0;

	while (cnt < p->held.cnt && p->held.data[cnt]->time_ns <= until_ns) {
		tapir_event_lines__add(p->lines, p->held.data[cnt], &p->out);
		free(p->held.data[cnt++]);
	}
	if (cnt)
		memmove(p->held.data, p->held.data + cnt,
			(p->held.cnt - cnt) * sizeof(*p->held.data));
	p->held.cnt -= cnt;
}

/* ---- printing --------------------------------------------------------------------------- */

static void print_record(struct printer *p, const struct tapir_rec *rec)
{
	if (rec->type == TAPIR_REC_PROCESS && hold(p, rec))
		return;
	if (p->held.cnt && !tapir_rec_type__describes(rec->type))
		print_held(p, rec->time_ns);
	tapir_event_lines__add(p->lines, rec, &p->out);
}

/* ---- questions -------------------------------------------------------------------------- */

struct asker {
	struct printer *printer;
	uint64_t start_ns;
	bool json;
};

static void on_hit(void *ctx, const struct tapir_question *q, const struct tapir_hit *hit)
{
	struct asker *a = ctx;

	if (q->is_of_intervals)
		tapir_hit__write(hit, a->json, a->start_ns, &a->printer->out);
	else
		print_record(a->printer, &hit->begin.event.rec->h);
}

static int ask_records(struct tapir_reader *reader, struct tapir_cli_questions *queries,
		       const struct tapir_trace_filter *trace, struct asker *a)
{
	const struct tapir_catalog *catalog = tapir_reader__catalog(reader);
	const struct tapir_rec *rec;
	uint64_t last_ns = a->start_ns;
	int err;

	while ((err = tapir_reader__next(reader, &rec)) > 0) {
		if (rec->type == TAPIR_REC_EVENT && !tapir_trace_filter__has(trace, rec))
			continue;
		if (rec->type == TAPIR_REC_EVENT && rec->time_ns > last_ns)
			last_ns = rec->time_ns;
		err = tapir_questions__take(queries->questions, catalog, rec);
		if (!err)
			err = tapir_terminal__flush_much(&a->printer->out);
		if (err)
			return err;
	}
	if (!err)
		err = tapir_questions__finish(queries->questions);
	if (!err)
		tapir_cli_questions__write(queries, false, a->json, 0, last_ns - a->start_ns,
					   &a->printer->out);
	return err ? err : tapir_terminal__flush(&a->printer->out);
}

/* ---- all of it -------------------------------------------------------------------------- */

struct choice {
	struct tapir_event_filter events;
	struct tapir_trace_filter trace;
};

/* With a GLOB only events are shown. */
static bool is_chosen(struct choice *choice, const struct tapir_catalog *catalog,
		      const struct tapir_rec *rec)
{
	if (!tapir_trace_filter__has(&choice->trace, rec))
		return false;
	return !choice->events.glob ||
	       (rec->type == TAPIR_REC_EVENT &&
		tapir_event_filter__has(&choice->events, catalog, (const void *)rec));
}

/* An empty answer to a misspelt GLOB would look like an event that did not happen. */
static void warn_of_unmatched(const struct choice *choice, uint64_t event_cnt)
{
	const char *glob = choice->events.glob;

	if (choice->trace.is_set)
		tapir_warn("the recording has nothing of this trace%s%s",
			   glob ? " that matches " : "", glob ? glob : "");
	else if (event_cnt)
		tapir_warn("none of the %" PRIu64
			   " events matches %s ('tapir report' lists their names)",
			   event_cnt, glob);
	else
		tapir_warn("the recording has no events, so none matches %s", glob);
}

static int print_records(struct tapir_reader *reader, struct printer *p, struct choice *choice)
{
	const struct tapir_rec *rec;
	uint64_t chosen_cnt = 0, event_cnt = 0;
	int err, flush_err = 0;

	while (!flush_err && (err = tapir_reader__next(reader, &rec)) > 0) {
		event_cnt += rec->type == TAPIR_REC_EVENT;
		if (is_chosen(choice, tapir_reader__catalog(reader), rec)) {
			chosen_cnt++;
			print_record(p, rec);
		}
		flush_err = tapir_terminal__flush_much(&p->out);
	}
	print_held(p, UINT64_MAX);
	if (!flush_err)
		flush_err = tapir_terminal__flush(&p->out);
	if (!flush_err && !err && (choice->events.glob || choice->trace.is_set) && !chosen_cnt)
		warn_of_unmatched(choice, event_cnt);
	return flush_err ? flush_err : err;
}

static int print_file(struct tapir_reader *reader, struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	struct choice choice = {.events.glob = cli->words.cnt > 1 ? cli->words.data[1] : NULL};
	struct tapir_words sources = {.data = cli->words.data + 1, .cnt = cli->words.cnt > 1};
	struct printer printer = {};
	struct asker asker = {&printer, tapir_reader__stats(reader)->created_ns, args->json};
	const struct tapir_question_sink sink = {.hit = on_hit, .ctx = &asker};
	struct tapir_cli_questions queries = {};
	int err;

	(void)tapir_trace_filter__parse(args->trace_id, &choice.trace); /* which run has checked */
	tapir_reader__deliver_descriptions(reader, true);
	printer.lines = tapir_event_lines__new(args->json ? TAPIR_EVENT_JSON : TAPIR_EVENT_TEXT,
					       tapir_reader__catalog(reader),
					       tapir_reader__stats(reader)->created_ns);
	err = printer.lines ? tapir_cli_questions__init(&queries, cli, &args->question, &sources,
							true, &sink)
			    : -ENOMEM;
	if (!err)
		err = queries.questions ? ask_records(reader, &queries, &choice.trace, &asker)
					: print_records(reader, &printer, &choice);
	if (err == -EINVAL && queries.questions) /* it does not fit the events of the file */
		err = TAPIR_CLI_USAGE;
	if (!err)
		tapir_manifests__warn_of_mismatches(printer.lines);
	tapir_cli_questions__fini(&queries);
	tapir_event_lines__free(printer.lines);
	tapir_vec__fini(&printer.held);
	tapir_str__fini(&printer.out);
	tapir_event_filter__fini(&choice.events);
	return err;
}

static int run_events(struct tapir_cli *cli)
{
	const struct args *args = cli->args;
	int err = tapir_trace_option__check(cli, args->trace_id);

	if (!err)
		err = tapir_recording_file__choose(cli, true);
	if (err)
		return err;
	return tapir_recording_file__show(cli,
					  &(struct tapir_show_opts){.symbols = &args->symbols,
								    .manifests = &args->manifests,
								    .raw_names = args->raw_names,
								    .has_pager = !args->json},
					  print_file);
}

const struct tapir_command tapir_cmd_events = {
	.name = "events",
	.summary = "print the events of a recording, one by one",
	.synopsis = "[FILE] [GLOB] [--where EXPR] [--count] [--sum X] [--hist X] [--by KEY,...] "
		    "[--pair A,B] [--trace-id ID] [--json] [--raw-names] [--manifest FILE]...",
	.text = "Each line shows the seconds since the recording began, process name, "
		"pid/tid, the event, and its arguments by name; the frames of its stack "
		"follow on their own lines. <null>, <fault> and the like show why a value "
		"is missing. A string that was cut ends in an ellipsis. Losses and gaps "
		"appear in capitals where they occurred.",
	.groups = (const struct tapir_option_group[]){{NULL, options, 0},
						      {"What to ask ('tapir help questions')",
						       tapir_question_options,
						       offsetof(struct args, question)},
						      {}},
	.positionals =
		(const struct tapir_positional[]){
			TAPIR_FILE_POSITIONAL,
			{.name = "GLOB",
			 .help = "only these events ('gc__*', 'hotspot:*'); of a question also an "
				 "interval ('tapir help intervals')"},
			{}},
	.examples =
		(const struct tapir_example[]){
			{"events slow.tapir", "everything, in order of time"},
			{"events slow.tapir 'query__start'", "one kind of event"},
			{"events slow.tapir --trace-id 4bf92f3577b34da6a3ce929d0e0e4736",
			 "what threads of all recorded processes did for one request"},
			{"events slow.tapir 'query__start' --count --by comm,query",
			 "how often each statement began"},
			{"events slow.tapir postgresql:query --hist took", "how long they took"},
			{"events --json slow.tapir | jq -r 'select(.type==\"event\").args.query'",
			 "the SQL text of each query"},
			{}},
	.args_bytes = sizeof(struct args),
	.defaults = &defaults,
	.run = run_events,
};
