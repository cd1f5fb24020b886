// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No text of a client is a word of the command: options have the form --NAME=VALUE, and sources are
 * known intervals, or events that begin, or none where all events of the recording are meant.
 */
#include "agent/question_params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/interval_names.h"
#include "base/diag.h"

#define TABLE_MB "16" /* of keys, for one client */

static const char *question_param_name(const char *source)
{
	return strncmp(source, "interval:", 9) ? source : source + 9;
}

/* A word of the command: no option, file or sentence. */
static bool is_plain(const char *source)
{
	return *source != '-' && *source != '@' && !strpbrk(source, " \t\n\r/");
}

static int check_ends(const struct tapir_request_params *params, size_t interval_cnt)
{
	if (params->key && !params->until)
		return tapir_diag__fail(-EINVAL, "key: until is required");
	if (params->until && params->pairs.cnt)
		return tapir_diag__fail(-EINVAL, "until: pair cannot be used with it");
	if ((params->until || params->pairs.cnt) && interval_cnt)
		return tapir_diag__fail(
			-EINVAL, "source: an interval has ends: it has no pair and no until");
	if (params->until && (params->sources.cnt != 1 || !is_plain(params->sources.data[0])))
		return tapir_diag__fail(-EINVAL, "until: one source is required, which begins");
	return 0;
}

/* *are_intervals: sources are names of them. -EINVAL with a line: none, or of both kinds. */
static int check_sources(const struct tapir_request_params *params, bool *are_intervals)
{
	const char *const *source;
	size_t interval_cnt = 0;

	tapir_vec_for_each (source, &params->sources)
		interval_cnt += tapir_interval_name__is_known(question_param_name(*source));
	*are_intervals = interval_cnt > 0;
	if (!params->sources.cnt && !params->pairs.cnt)
		return tapir_diag__fail(-EINVAL, "source: events or an interval are required");
	if (interval_cnt && interval_cnt < params->sources.cnt)
		return tapir_diag__fail(
			-EINVAL, "source: events and intervals are two questions: ask one of them");
	return check_ends(params, interval_cnt);
}

/* The events that are to be recorded; yours, each to be freed. */
static int list_specs(const struct tapir_request_params *params, bool are_intervals,
		      struct tapir_interval_specs *out)
{
	const char *const *word;
	int err = params->until ? tapir_interval_specs__add(out, params->until) : 0;

	tapir_vec_for_each (word, &params->sources)
		if (!err)
			err = are_intervals ? tapir_interval_name__add_specs(
						      question_param_name(*word), out)
					    : tapir_interval_specs__add(out, *word);
	tapir_vec_for_each (word, &params->pairs)
		err = err ? err : tapir_pair_text__add_specs(*word, out);
	if (!err && !out->cnt)
		err = tapir_diag__fail(-EINVAL,
				       "pair: PROVIDER:EVENT is required, or a source of both");
	return err;
}

/* Fills params->specs, which point to the texts of specs. */
static int find_specs(struct tapir_request_params *params, bool are_intervals,
		      struct tapir_interval_specs *specs)
{
	int err = list_specs(params, are_intervals, specs);
	char **spec;

	params->specs = (struct tapir_words){};
	tapir_vec_for_each (spec, specs)
		if (!err && !tapir_vec__push(&params->specs, *spec))
			err = -ENOMEM;
	return err;
}

int tapir_question_params__check(const struct tapir_request_params *client)
{
	struct tapir_request_params params = *client;
	struct tapir_interval_specs specs = {};
	struct tapir_request request;
	bool are_intervals;
	char **spec;
	int err = check_sources(&params, &are_intervals);

	if (!err)
		err = find_specs(&params, are_intervals, &specs);
	if (!err)
		err = tapir_request_params__request(&params, &request);
	if (specs.cnt)
		tapir_vec__fini(&params.specs);
	tapir_vec_for_each (spec, &specs)
		free(*spec);
	tapir_vec__fini(&specs);
	return err;
}

/* Mistakes that do not depend on the events are reported before anything is recorded. */
static int check_expressions(const struct tapir_request_params *params, bool *want_stacks)
{
	struct tapir_questions *qs = tapir_questions__new(NULL);
	struct tapir_question_opts opts = {.where = params->where, .by = params->by};
	int err;

	for (int i = 0; i < TAPIR_AGGREGATE_CNT; i++)
		opts.aggregates[i] = params->aggregates[i];
	err = qs ? tapir_questions__add(qs, &opts) : -ENOMEM;
	*want_stacks = !err && tapir_questions__want_stacks(qs);
	tapir_questions__free(qs);
	return err;
}

static int add_option(struct tapir_words *argv, const char *name, const char *value)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "--%s=%s", name, value);
	return !text.failed && tapir_vec__push(argv, text.data) ? 0 : -ENOMEM;
}

static int add_options(const struct tapir_request_params *params, struct tapir_words *argv)
{
	const char *const *word;
	char top[24];
	int err = 0;

	for (const struct tapir_param *p = tapir_params_question; p->name; p++) {
		const void *at = (const char *)params + p->offset;
		const struct tapir_words *words = at;

		if (!err && p->kind == TAPIR_PARAM_TEXT && *(const char *const *)at)
			err = add_option(argv, p->name, *(const char *const *)at);
		if (p->kind != TAPIR_PARAM_LIST || words == &params->sources)
			continue;
		tapir_vec_for_each (word, words)
			err = err ? err : add_option(argv, p->name, *word);
	}
	snprintf(top, sizeof(top), "%llu", (unsigned long long)params->top);
	return err ? err : params->top ? add_option(argv, "top", top) : 0;
}

static int make_command(const struct tapir_request_params *params, bool are_intervals,
			struct tapir_words *argv)
{
	static const char *const first[] = {"events", "-", "--json", "--count",
					    "--table-size=" TABLE_MB};
	const char *const *source;
	bool is_made = true;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		is_made &= tapir_vec__push(argv, first[i]);
	if (are_intervals || params->until)
		tapir_vec_for_each (source, &params->sources)
			is_made &= tapir_vec__push(argv, question_param_name(*source));
	is_made &= !add_options(params, argv);
	return is_made && tapir_vec__push(argv, NULL) ? 0 : -ENOMEM;
}

int tapir_question_params__prepare(struct tapir_request_params *params, struct tapir_words *argv)
{
	struct tapir_interval_specs specs = {};
	bool are_intervals;
	int err = check_sources(params, &are_intervals);

	if (!err)
		err = check_expressions(params, &params->stack);
	if (!err)
		err = find_specs(params, are_intervals, &specs);
	params->no_samples = params->no_sched = true;
	params->rate_hz = params->rate_hz ? params->rate_hz : TAPIR_QUESTION_MAX_HZ;
	if (!err)
		err = make_command(params, are_intervals, argv);
	/* The command decides, which counts what was rejected: all events are recorded for it. */
	params->where = NULL;
	return err;
}
