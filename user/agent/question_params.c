// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * No text of a client is a word of the command: options have the form --NAME=VALUE, and sources are
 * known intervals, or none where all events of the recording are meant.
 */
#include "agent/question_params.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/interval_names.h"
#include "base/diag.h"

#define TABLE_MB "16" /* of keys, for one client */

static const char *name_of(const char *source)
{
	return strncmp(source, "interval:", 9) ? source : source + 9;
}

/* *is_of_intervals: all sources are. -EINVAL with a line: none, or of both kinds. */
static int check_sources(const struct tapir_request_params *params, bool *is_of_intervals)
{
	const char *const *source;
	size_t interval_cnt = 0;

	tapir_vec_for_each (source, &params->sources)
		interval_cnt += tapir_interval_name__is_known(name_of(*source));
	*is_of_intervals = interval_cnt > 0;
	if (!params->sources.cnt)
		return tapir_diag__fail(-EINVAL, "source: events or an interval are required");
	if (interval_cnt && interval_cnt < params->sources.cnt)
		return tapir_diag__fail(
			-EINVAL, "source: events and intervals are two questions: ask one of them");
	return 0;
}

int tapir_question_params__check(const struct tapir_request_params *client)
{
	struct tapir_request_params params = *client;
	struct tapir_request request;
	bool is_of_intervals;
	int err = check_sources(&params, &is_of_intervals);

	if (!err && !is_of_intervals)
		params.specs = params.sources;
	return err ? err : tapir_request_params__request(&params, &request);
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

/* The events that are to be recorded; owned by the process, which ends with the answer. */
static int find_specs(struct tapir_request_params *params, bool is_of_intervals)
{
	const char *const *source;
	int err = 0;

	if (!is_of_intervals) {
		params->specs = params->sources;
		return 0;
	}
	tapir_vec_for_each (source, &params->sources) {
		struct tapir_interval_specs specs = {};
		char **spec;

		err = err ? err : tapir_interval_name__add_specs(name_of(*source), &specs);
		tapir_vec_for_each (spec, &specs)
			if (!tapir_vec__push(&params->specs, *spec))
				err = -ENOMEM;
	}
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
	int err = params->where ? add_option(argv, "where", params->where) : 0;

	for (const struct tapir_param *p = tapir_params_question; p->name; p++) {
		const struct tapir_words *words = (const void *)((const char *)params + p->offset);

		if (p->kind != TAPIR_PARAM_LIST || words == &params->sources)
			continue;
		tapir_vec_for_each (word, words)
			err = err ? err : add_option(argv, p->name, *word);
	}
	snprintf(top, sizeof(top), "%llu", (unsigned long long)params->top);
	return err ? err : params->top ? add_option(argv, "top", top) : 0;
}

static int make_command(const struct tapir_request_params *params, bool is_of_intervals,
			struct tapir_words *argv)
{
	static const char *const first[] = {"events", "-", "--json", "--count",
					    "--table-size=" TABLE_MB};
	const char *const *source;
	bool is_made = true;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		is_made &= tapir_vec__push(argv, first[i]);
	if (is_of_intervals)
		tapir_vec_for_each (source, &params->sources)
			is_made &= tapir_vec__push(argv, name_of(*source));
	is_made &= !add_options(params, argv);
	return is_made && tapir_vec__push(argv, NULL) ? 0 : -ENOMEM;
}

int tapir_question_params__prepare(struct tapir_request_params *params, struct tapir_words *argv)
{
	bool is_of_intervals;
	int err = check_sources(params, &is_of_intervals);

	if (!err)
		err = check_expressions(params, &params->stack);
	if (!err)
		err = find_specs(params, is_of_intervals);
	params->no_samples = params->no_sched = true;
	params->rate_hz = params->rate_hz ? params->rate_hz : TAPIR_QUESTION_MAX_HZ;
	return err ? err : make_command(params, is_of_intervals, argv);
}
