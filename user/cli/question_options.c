// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Questions made of words: the kind of each source, and the events that it needs. A word may be a
 * SPEC, an interval's name, a pair of events or a sentence of a file; the forms differ by their
 * first characters.
 */
#include "cli/question_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "spec/machine_source.h"
#include "spec/spec.h"

#define MAX_QUESTIONS 64u /* of a file: each is asked about each event */

#define AGGREGATE(name, arg, help, which)                                                          \
	TAPIR_LIST(name, 0, arg, help, struct tapir_question_args, aggregates[which])

const struct tapir_option tapir_question_options[] = {
	TAPIR_STRING("where", 0, "EXPR",
		     "only events and intervals for which it is true ('tapir help where')",
		     struct tapir_question_args, where),
	TAPIR_FLAG("count", 0, "count them instead of listing them", struct tapir_question_args,
		   count),
	AGGREGATE("sum", "X", "add up a field", TAPIR_AGGREGATE_SUM),
	AGGREGATE("avg", "X", "the mean of a field", TAPIR_AGGREGATE_AVG),
	AGGREGATE("min", "X", "the smallest value of a field", TAPIR_AGGREGATE_MIN),
	AGGREGATE("max", "X", "the largest value of a field", TAPIR_AGGREGATE_MAX),
	AGGREGATE("hist", "X", "50, 90 and 99 % of the values are below these, and a histogram",
		  TAPIR_AGGREGATE_HIST),
	AGGREGATE("lhist", "X,MIN,MAX,STEP", "a histogram in equal steps", TAPIR_AGGREGATE_LHIST),
	TAPIR_LIST("by", 0, "KEY[,KEY]",
		   "a row for each value of these: fields, pid, tid, comm, thread, cpu, cgroup, "
		   "user, event, stack, ustack(N), kstack(N), bucket(X, STEP); at most four",
		   struct tapir_question_args, by),
	TAPIR_LIST(
		"pair", 0, "A,B[,key=ARG]",
		"ask about the intervals that event A begins and B ends, on one thread, or across "
		"threads where ARG is equal",
		struct tapir_question_args, pairs),
	TAPIR_STRING("until", 0, "SOURCE", "the same, for events of SOURCE as ends",
		     struct tapir_question_args, until),
	TAPIR_STRING("key", 0, "ARG", "with --until: ends where ARG is equal",
		     struct tapir_question_args, key),
	TAPIR_TOP("show N rows of a table, 0: all (default: 20)", struct tapir_question_args, top),
	TAPIR_U64("table-size", 0, "MB", "room for keys of each question (default: 64)",
		  struct tapir_question_args, table_mb, 1, 16384),
	{}};

/* The events and intervals that a question is about. */
struct tapir_source {
	struct tapir_vec(struct tapir_spec *) specs;
	struct tapir_machine_source_list machine, calls;
	struct tapir_words globs;     /* of a file's events */
	struct tapir_words intervals; /* names */
	struct tapir_words kinds;     /* of pairs that a user named: their first events' */
	bool has_any_event;
};

/* ---- is it about this? ------------------------------------------------------------------------ */

static bool has_event(void *ctx, const struct tapir_probe_view *probe)
{
	const struct tapir_source *s = ctx;
	char provider[256], event[256], both[520];
	struct tapir_machine_source *const *machine;
	struct tapir_spec *const *spec;
	const char *const *glob;

	if (s->has_any_event)
		return true;
	tapir_sv__copy(probe->provider, provider, sizeof(provider));
	tapir_sv__copy(probe->event, event, sizeof(event));
	snprintf(both, sizeof(both), "%s:%s", provider, event);
	tapir_vec_for_each (spec, &s->specs)
		if (tapir_spec__matches(*spec, NULL, provider, event) ||
		    tapir_spec__selects(*spec, TAPIR_SPEC_ZERO_IS_ALL, NULL, provider, event,
					probe->rec->level, probe->rec->keywords))
			return true;
	tapir_vec_for_each (machine, &s->machine)
		if (tapir_machine_source__matches(*machine, provider, event))
			return true;
	tapir_vec_for_each (glob, &s->globs)
		if (tapir_glob__match(*glob, strchr(*glob, ':') ? both : event) ||
		    !strcmp(*glob, provider))
			return true;
	return false;
}

static bool has_kind(void *ctx, const struct tapir_interval_kind *kind)
{
	const struct tapir_source *s = ctx;
	struct tapir_machine_source *const *call;
	const char *const *word;

	tapir_vec_for_each (call, &s->calls)
		if (tapir_machine_source__matches(*call, kind->provider, kind->name))
			return true;
	tapir_vec_for_each (word, &s->intervals)
		if (tapir_interval_name__means(*word, kind))
			return true;
	tapir_vec_for_each (word, &s->kinds)
		if (!strcmp(*word, kind->name) && !kind->is_guessed)
			return true;
	return false;
}

/* ---- texts ------------------------------------------------------------------------------------ */

static const char *keep_text(struct tapir_cli_questions *queries, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (copy && tapir_vec__push(&queries->texts, copy))
		return copy;
	free(copy);
	return NULL;
}

/* Keeps the text up to end without the blanks before it. */
static const char *keep_words(struct tapir_cli_questions *queries, const char *text,
			      const char *end)
{
	while (end > text && end[-1] == ' ')
		end--;
	return keep_text(queries, text, (size_t)(end - text));
}

static bool add_spec(struct tapir_cli_questions *queries, const char *text)
{
	return text && tapir_vec__push(&queries->specs, text);
}

/* ---- intervals -------------------------------------------------------------------------------- */

/* Takes the texts from that one on as SPECs; err: of adding them. */
static int add_kept_specs(struct tapir_cli_questions *queries, size_t from, int err)
{
	for (size_t i = from; !err && i < queries->texts.cnt; i++)
		if (!add_spec(queries, queries->texts.data[i]))
			err = -ENOMEM;
	return err;
}

static int add_interval(struct tapir_cli_questions *queries, struct tapir_source *s,
			const char *name)
{
	size_t kept = queries->texts.cnt;
	int err = add_kept_specs(queries, kept,
				 tapir_interval_name__add_specs(name, &queries->texts));

	return err ? err : tapir_vec__push(&s->intervals, name) ? 0 : -ENOMEM;
}

static int split_machine_end(struct tapir_cli_questions *queries, const char *text,
			     const char **provider, const char **events)
{
	struct tapir_machine_source *source = NULL;
	int err = tapir_machine_source__parse(text, &source);
	char function[TAPIR_FUNCTION_PROVIDER_BYTES];

	if (err)
		return err;
	if (tapir_machine_source__is_function(source)) {
		tapir_machine_source__provider(source, function, sizeof(function));
		*provider = keep_text(queries, function, strlen(function));
	} else {
		size_t word_len = strcspn(text, ":");

		*provider = keep_text(queries, text,
				      source->category ? word_len + 1 + strlen(source->category)
						       : word_len);
	}
	*events = keep_text(queries, source->names, strlen(source->names));
	tapir_machine_source__free(source);
	return *provider && *events ? 0 : -ENOMEM;
}

/* The end of a SPEC that names an event: without its path, and what follows the events. */
static int split_end(struct tapir_cli_questions *queries, const char *text, const char **provider,
		     const char **events)
{
	struct tapir_spec *spec = NULL;
	struct tapir_str list = {};
	int err;

	if (tapir_machine_source__is_one(text))
		return split_machine_end(queries, text, provider, events);
	err = tapir_spec__parse(text, &spec);

	if (err)
		return err;
	for (size_t i = 0; i < spec->items.cnt; i++)
		/* The end of an interval is found by its name alone, which these do not give. */
		if (spec->items.data[i].negated || spec->items.data[i].kind == TAPIR_SPEC_KEYWORD ||
		    spec->items.data[i].kind == TAPIR_SPEC_MASK)
			err = -EINVAL;
		else
			tapir_str__addf(&list, "%s%s", i ? "," : "", spec->items.data[i].text);
	if (err || !list.len)
		err = tapir_diag__fail(
			-EINVAL,
			"--until: '%s' names no events: PROVIDER:EVENT{,EVENT} is required", text);
	if (!err) {
		*provider = keep_text(queries, spec->provider, strlen(spec->provider));
		*events = keep_text(queries, list.data, list.len);
		err = *provider && *events ? 0 : -ENOMEM;
	}
	tapir_str__fini(&list);
	tapir_spec__free(spec);
	return err;
}

/* The pair that was named last is of this source. */
static int add_last_pair(struct tapir_cli_questions *queries, struct tapir_source *s)
{
	const struct tapir_pairs *pairs = tapir_questions__pairs(queries->questions);

	return tapir_vec__push(&s->kinds, pairs->user.data[pairs->user.cnt - 1].kind) ? 0 : -ENOMEM;
}

static int name_pair(struct tapir_cli_questions *queries, struct tapir_source *s, const char *text)
{
	int err = tapir_pairs__name(tapir_questions__pairs(queries->questions), text);

	if (err == -EINVAL)
		return tapir_diag__fail(err,
					"--pair: '%s' is not BEGIN,END or BEGIN,END,key=ARG, with "
					"events as PROVIDER:EVENT or EVENT",
					text);
	return err ? err : add_last_pair(queries, s);
}

/* Takes the next of a SOURCE's events: a function has one name, in which ',' may be. */
static const char *next_event(struct tapir_cli_questions *queries, const char *source,
			      const char **events)
{
	bool is_one = !strncmp(source, "uprobe:", 7) || !strncmp(source, "uretprobe:", 10);
	size_t len = is_one ? strlen(*events) : strcspn(*events, ",");
	const char *event = keep_text(queries, *events, len);

	*events += len + ((*events)[len] == ',');
	return event;
}

/* Each begin with each end. */
static int pair_with_until(struct tapir_cli_questions *queries, struct tapir_source *s,
			   const char *begin, const char *until, const char *key)
{
	struct tapir_pairs *pairs = tapir_questions__pairs(queries->questions);
	const char *provider[2], *events[2], *event[2];
	int err = split_end(queries, begin, &provider[0], &events[0]);

	if (!err)
		err = split_end(queries, until, &provider[1], &events[1]);
	if (!err && (!add_spec(queries, begin) || !add_spec(queries, until)))
		err = -ENOMEM;
	if (err)
		return err;
	for (const char *a = events[0]; !err && *a;) {
		event[0] = next_event(queries, begin, &a);
		for (const char *b = events[1]; !err && *b;) {
			event[1] = next_event(queries, until, &b);
			err = event[0] && event[1]
				      ? tapir_pairs__name_ends(pairs, provider, event, key)
				      : -ENOMEM;
			err = err ? err : add_last_pair(queries, s);
		}
	}
	return err;
}

static int add_pair(struct tapir_cli_questions *queries, struct tapir_source *s, const char *text)
{
	size_t kept = queries->texts.cnt;
	int err = name_pair(queries, s, text);

	return err ? err
		   : add_kept_specs(queries, kept,
				    tapir_pair_text__add_specs(text, &queries->texts));
}

/* ---- sources ---------------------------------------------------------------------------------- */

/* Names may be globs: of calls in each other on a thread, the last that began returns first. */
static int pair_kernel_function(struct tapir_cli_questions *queries, struct tapir_source *s,
				const char *names)
{
	static const char *const provider[2] = {TAPIR_KPROBE_WORD, TAPIR_KRETPROBE_WORD};
	struct tapir_pairs *pairs = tapir_questions__pairs(queries->questions);
	int err = 0;

	while (!err && *names) {
		size_t len = strcspn(names, ",");
		const char *name = keep_text(queries, names, len), *const event[2] = {name, name};

		names += len + (names[len] == ',');
		err = name ? tapir_pairs__name_ends(pairs, provider, event, NULL) : -ENOMEM;
		err = err ? err : add_last_pair(queries, s);
	}
	return err;
}

static int add_machine_source(struct tapir_cli_questions *queries, struct tapir_source *s,
			      const char *word)
{
	struct tapir_machine_source *source;
	int err = tapir_machine_source__parse(word, &source);
	bool is_call = !err && tapir_machine_source__is_call(source);

	if (err)
		return err;
	if (!(is_call ? tapir_vec__push(&s->calls, source)
		      : tapir_vec__push(&s->machine, source))) {
		tapir_machine_source__free(source);
		return -ENOMEM;
	}
	err = add_spec(queries, word) ? 0 : -ENOMEM;
	if (!err && source->kind == TAPIR_MACHINE_KFUNC)
		err = pair_kernel_function(queries, s, source->names);
	return err;
}

static int add_event_source(struct tapir_cli_questions *queries, struct tapir_source *s,
			    const char *word, bool is_of_file)
{
	struct tapir_spec *spec = NULL;
	int err;

	if (tapir_machine_source__is_one(word))
		return add_machine_source(queries, s, word);
	if (is_of_file)
		return tapir_vec__push(&s->globs, word) ? 0 : -ENOMEM;
	err = tapir_spec__parse(word, &spec);
	if (err)
		return err;
	if (tapir_vec__push(&s->specs, spec))
		return add_spec(queries, word) ? 0 : -ENOMEM;
	tapir_spec__free(spec);
	return -ENOMEM;
}

static int add_source(struct tapir_cli_questions *queries, struct tapir_source *s, const char *word,
		      bool is_of_file)
{
	if (!strncmp(word, "interval:", 9)) {
		if (!is_of_file && !tapir_interval_name__is_known(word + 9))
			return tapir_diag__fail(
				-EINVAL, "no interval '%s' ('tapir help intervals' lists them)",
				word + 9);
		return add_interval(queries, s, word + 9);
	}
	if (tapir_interval_name__is_known(word))
		return add_interval(queries, s, word);
	return add_event_source(queries, s, word, is_of_file);
}

static struct tapir_source *new_source(struct tapir_cli_questions *queries)
{
	struct tapir_source *s = calloc(1, sizeof(*s));

	if (s && tapir_vec__push(&queries->sources, s))
		return s;
	free(s);
	return NULL;
}

static void free_source(struct tapir_source *s)
{
	struct tapir_machine_source **machine;
	struct tapir_spec **spec;

	tapir_vec_for_each (machine, &s->machine)
		tapir_machine_source__free(*machine);
	tapir_vec_for_each (machine, &s->calls)
		tapir_machine_source__free(*machine);
	tapir_vec_for_each (spec, &s->specs)
		tapir_spec__free(*spec);
	tapir_vec__fini(&s->machine);
	tapir_vec__fini(&s->calls);
	tapir_vec__fini(&s->specs);
	tapir_vec__fini(&s->globs);
	tapir_vec__fini(&s->intervals);
	tapir_vec__fini(&s->kinds);
	free(s);
}

/* ---- questions -------------------------------------------------------------------------------- */

static bool is_question(const struct tapir_question_args *args)
{
	bool adds_up = args->count || args->by.cnt;

	for (int i = 0; i < TAPIR_AGGREGATE_CNT; i++)
		adds_up |= args->aggregates[i].cnt > 0;
	return adds_up || args->where || args->pairs.cnt || args->until;
}

static int add_question(struct tapir_cli_questions *queries, const struct tapir_question_args *args,
			struct tapir_source *s, const char *text, bool is_of_intervals)
{
	struct tapir_question_opts opts = {.text = text,
					   .where = args->where,
					   .wants_count = args->count,
					   .by = args->by,
					   .table_bytes = (size_t)args->table_mb << 20,
					   .is_of_intervals = is_of_intervals,
					   .has_event = has_event,
					   .has_kind = has_kind,
					   .ctx = s};
	int err;

	for (int i = 0; i < TAPIR_AGGREGATE_CNT; i++)
		opts.aggregates[i] = args->aggregates[i];
	err = tapir_questions__add(queries->questions, &opts);
	if (!err)
		queries->has_table |=
			tapir_questions__at(queries->questions,
					    tapir_questions__cnt(queries->questions) - 1)
				->is_table;
	return err;
}

/*
 * A pair that the user names brings no SPECs: the words enable its events. The events of a file
 * need none.
 */
static int add_pairs(struct tapir_cli_questions *queries, struct tapir_source *s,
		     const struct tapir_words *pairs, const struct tapir_words *words,
		     bool is_of_file)
{
	const char *const *word;
	int err = 0;

	tapir_vec_for_each (word, pairs)
		err = err ? err : add_pair(queries, s, *word);
	tapir_vec_for_each (word, words)
		if (!err && !is_of_file && !add_spec(queries, *word))
			err = -ENOMEM;
	return err;
}

/* words: the sources of one question, or of two: of events, and of intervals. */
static int add_from_sources(struct tapir_cli_questions *queries,
			    const struct tapir_question_args *args, const struct tapir_words *words,
			    const char *text, bool is_of_file)
{
	struct tapir_source *s = new_source(queries);
	const char *const *word;
	bool has_events;
	int err = s ? 0 : -ENOMEM;

	if (!err && args->until && words->cnt != 1)
		return tapir_diag__fail(-EINVAL, "--until requires one SOURCE, which begins");
	if (!err && args->until) {
		err = pair_with_until(queries, s, words->data[0], args->until, args->key);
	} else if (!err && args->pairs.cnt) {
		err = add_pairs(queries, s, &args->pairs, words, is_of_file);
	} else if (!err) {
		s->has_any_event = !words->cnt;
		tapir_vec_for_each (word, words)
			err = err ? err : add_source(queries, s, *word, is_of_file);
	}
	/* Events and intervals are added up apart: each is a question. */
	has_events = !err && (s->has_any_event || s->specs.cnt || s->machine.cnt || s->globs.cnt);
	if (has_events)
		err = add_question(queries, args, s, text, false);
	if (!err && (s->intervals.cnt || s->kinds.cnt || s->calls.cnt))
		err = add_question(queries, args, s, text, true);
	return err;
}

/* ---- sentences -------------------------------------------------------------------------------- */

struct sentence {
	struct tapir_question_args args;
	struct tapir_words source;
};

static void fini_sentence(struct sentence *s)
{
	for (int i = 0; i < TAPIR_AGGREGATE_CNT; i++)
		tapir_vec__fini(&s->args.aggregates[i]);
	tapir_vec__fini(&s->args.by);
	tapir_vec__fini(&s->args.pairs);
	tapir_vec__fini(&s->source);
}

/* Returns the option that a word of a sentence names, or NULL. "if" is where. */
static const struct tapir_option *option_of(const char *word, size_t len)
{
	if (len == 2 && !memcmp(word, "if", 2)) {
		word = "where";
		len = 5;
	}
	for (const struct tapir_option *o = tapir_question_options; o->name; o++)
		if (strlen(o->name) == len && !memcmp(o->name, word, len))
			return o;
	return NULL;
}

static size_t word_len(const char *text)
{
	return tapir_expression__part_len(text, ' ');
}

static const char *next_word(const char *text)
{
	text += word_len(text);
	return text + strspn(text, " ");
}

/* Returns the end of a keyword's value: the next keyword. Its own first word is never one. */
static const char *value_end(const char *value)
{
	const char *at = next_word(value);

	while (*at && !option_of(at, word_len(at)))
		at = next_word(at);
	return at;
}

static int parse_clause(const struct tapir_cli *cli, struct tapir_cli_questions *queries,
			struct sentence *s, const char **at)
{
	const struct tapir_option *o = option_of(*at, word_len(*at));
	const char *value = next_word(*at), *text;

	if (o->type == TAPIR_OPTION_FLAG) {
		*at = value;
		*(bool *)((char *)&s->args + o->offset) = true;
		return 0;
	}
	if (!*value)
		return tapir_cli__usage(cli, "'%s' at the end of a sentence requires %s", *at,
					o->arg_name);
	*at = value_end(value);
	text = keep_words(queries, value, *at);
	if (!text)
		return -ENOMEM;
	return tapir_option__set((struct tapir_cli *)cli, o, (char *)&s->args + o->offset, text);
}

static bool is_sentence(const char *word)
{
	return *value_end(word);
}

static int add_sentence(const struct tapir_cli *cli, struct tapir_cli_questions *queries,
			const struct tapir_question_args *args, const char *text, bool is_of_file)
{
	struct sentence s = {.args = {.top = args->top, .table_mb = args->table_mb}};
	const char *at = value_end(text), *source = keep_words(queries, text, at);
	int err = source && tapir_vec__push(&s.source, source) ? 0 : -ENOMEM;

	while (!err && *at)
		err = parse_clause(cli, queries, &s, &at);
	if (!err)
		err = add_from_sources(queries, &s.args, &s.source, text, is_of_file);
	fini_sentence(&s);
	return err;
}

/* @FILE: one a line; '#' begins a comment. */
static int add_file(const struct tapir_cli *cli, struct tapir_cli_questions *queries,
		    const struct tapir_question_args *args, const char *path, bool is_of_file)
{
	unsigned question_cnt = 0;
	char *text = NULL;
	size_t len = 0;
	int err = tapir_file__read(path, 1 << 20, &text, &len);

	if (err)
		return tapir_diag__fail(err, "cannot read %s: %s", path, tapir_errno__text(err));
	if (strlen(text) != len)
		err = tapir_diag__fail(-EINVAL, "%s is no text: it has a NUL", path);
	for (char *line = text, *end; !err && *line; line = end) {
		size_t line_len = strcspn(line, "\n");

		end = line + line_len + (line[line_len] == '\n');
		line += strspn(line, " \t");
		line_len = strcspn(line, "\r\n");
		if (line_len && *line != '#' && ++question_cnt > MAX_QUESTIONS)
			err = tapir_diag__fail(-EINVAL, "%s has more than %u questions", path,
					       MAX_QUESTIONS);
		else if (line_len && *line != '#') {
			const char *copy = keep_text(queries, line, line_len);

			err = copy ? add_sentence(cli, queries, args, copy, is_of_file) : -ENOMEM;
		}
	}
	free(text);
	return err;
}

static int add_all(const struct tapir_cli *cli, struct tapir_cli_questions *queries,
		   const struct tapir_question_args *args, const struct tapir_words *words,
		   bool is_of_file)
{
	struct tapir_words plain = {};
	const char *const *word;
	int err = 0;

	tapir_vec_for_each (word, words) {
		if (err)
			break;
		if (**word == '@')
			err = add_file(cli, queries, args, *word + 1, is_of_file);
		else if (is_sentence(*word))
			err = add_sentence(cli, queries, args, *word, is_of_file);
		else if (!tapir_vec__push(&plain, *word))
			err = -ENOMEM;
	}
	if (!err && (plain.cnt || !words->cnt))
		err = add_from_sources(queries, args, &plain, NULL, is_of_file);
	tapir_vec__fini(&plain);
	return err;
}

/* Sources that only a question has. */
static bool have_question_sources(const struct tapir_words *words)
{
	const char *const *word;

	tapir_vec_for_each (word, words)
		if (**word == '@' || is_sentence(*word) || !strncmp(*word, "interval:", 9) ||
		    tapir_interval_name__is_known(*word) ||
		    tapir_machine_source__means_calls(*word))
			return true;
	return false;
}

int tapir_cli_questions__init(struct tapir_cli_questions *queries, const struct tapir_cli *cli,
			      const struct tapir_question_args *args,
			      const struct tapir_words *words, bool is_of_file,
			      const struct tapir_question_sink *sink)
{
	int err;

	queries->top = args->top;
	if (args->key && !args->until)
		return tapir_cli__usage(cli, "--key requires --until");
	if (args->until && args->pairs.cnt)
		return tapir_cli__usage(cli, "--until cannot be used with --pair");
	if (!is_question(args) && !have_question_sources(words))
		return 0;
	queries->questions = tapir_questions__new(sink);
	err = queries->questions ? add_all(cli, queries, args, words, is_of_file) : -ENOMEM;
	return err == -EINVAL ? TAPIR_CLI_USAGE : err;
}

void tapir_cli_questions__fini(struct tapir_cli_questions *queries)
{
	struct tapir_source **s;
	char **text;

	tapir_questions__free(queries->questions);
	tapir_vec_for_each (s, &queries->sources)
		free_source(*s);
	tapir_vec_for_each (text, &queries->texts)
		free(*text);
	tapir_vec__fini(&queries->sources);
	tapir_vec__fini(&queries->texts);
	tapir_vec__fini(&queries->specs);
	queries->questions = NULL;
}
