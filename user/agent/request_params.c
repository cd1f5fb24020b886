// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of parameters and their values. Names are those of the command line's options; a
 * client may use fewer, and each value has bounds. A text is made printable before it is quoted in
 * an error, since whatever shows the error may be a terminal.
 */
#include "agent/request_params.h"

#include <errno.h>
#include <string.h>
#include <jansson.h>

#include "attach/sampler.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/duration.h"
#include "base/json.h"
#include "decode/profiles.h"
#include "decode/record_where.h"
#include "agent/answer.h"
#include "spec/machine_source.h"
#include "spec/spec.h"
#include "trace/native_memory.h"

#define AT(member)	  offsetof(struct tapir_request_params, member)
#define MAX_LIST	  256
#define MAX_DURATION_NS	  (24 * 3600 * TAPIR_NS_PER_SEC)
#define DEFAULT_RECORD_NS (10 * TAPIR_NS_PER_SEC)

const struct tapir_param tapir_params_target[] = {
	{"pid", TAPIR_PARAM_PIDS, AT(pids), "this process; repeatable, or PID,PID", 0, 0, NULL},
	{"started", TAPIR_PARAM_U64, AT(started),
	 "with one pid: 409 unless the process began at this time, as /v1/processes states it", 1,
	 INT64_MAX, NULL},
	{"comm", TAPIR_PARAM_LIST, AT(comms), "processes of this name (glob), later ones included",
	 0, 0, NULL},
	{"container", TAPIR_PARAM_TEXT, AT(container),
	 "processes in the container with this id (12 digits or more) or name, later ones included",
	 0, 0, NULL},
	{"pod", TAPIR_PARAM_TEXT, AT(pod),
	 "processes in the pod with this uid, NAME or NAMESPACE/NAME, later ones included", 0, 0,
	 NULL},
	{}};

const struct tapir_param tapir_params_capture[] = {
	{"seconds", TAPIR_PARAM_DURATION, AT(duration_ns), "how long to record (default: 10)",
	 TAPIR_NS_PER_MS, MAX_DURATION_NS, NULL},
	{"events", TAPIR_PARAM_LIST, AT(specs), "SPEC of events; repeatable; without a path", 0, 0,
	 NULL},
	{"where", TAPIR_PARAM_TEXT, AT(where), "only events for which it is true", 0, 0, NULL},
	{"profile", TAPIR_PARAM_CHOICES, AT(profiles), "events by purpose; repeatable", 0, 0,
	 tapir_profile__name},
	{"counters", TAPIR_PARAM_LIST, AT(counters),
	 ".NET counters, by PROVIDER or PROVIDER/COUNTER", 0, 0, NULL},
	{"interval", TAPIR_PARAM_DURATION, AT(interval_ns), "seconds between values of counters",
	 TAPIR_COUNTER_MIN_NS, MAX_DURATION_NS, NULL},
	{"frequency", TAPIR_PARAM_U64, AT(sample_hz), "CPU samples per second", 1,
	 TAPIR_SAMPLER_MAX_HZ, NULL},
	{"sample_event", TAPIR_PARAM_CHOICE, AT(sample_event), "what samples are taken on", 0, 0,
	 tapir_sample_event__name},
	{"no_samples", TAPIR_PARAM_FLAG, AT(no_samples), "take no CPU samples", 0, 0, NULL},
	{"no_sched", TAPIR_PARAM_FLAG, AT(no_sched), "record no context switches", 0, 0, NULL},
	{"sum_waits", TAPIR_PARAM_FLAG, AT(sum_waits),
	 "sum waits below 1 ms in place of a record of each context switch", 0, 0, NULL},
	{"io", TAPIR_PARAM_FLAG, AT(io), "record each request to a block device, with its file", 0,
	 0, NULL},
	{"net", TAPIR_PARAM_FLAG, AT(net), "record each request and answer on TCP connections", 0,
	 0, NULL},
	{"signals", TAPIR_PARAM_FLAG, AT(signals), "record each signal, and who sent it", 0, 0,
	 NULL},
	{"syscalls", TAPIR_PARAM_LIST, AT(syscalls),
	 "count system calls, with errors and times: their names or globs, as in openat or *", 0, 0,
	 NULL},
	{"syscall_files", TAPIR_PARAM_FLAG, AT(syscall_files),
	 "count system calls by the file or peer of their descriptor, too", 0, 0, NULL},
	{"kernel", TAPIR_PARAM_LIST, AT(kernel),
	 "count the kernel's work: faults, irqs, locks, pressure", 0, 0, NULL},
	{"native_memory", TAPIR_PARAM_U64, AT(native_memory),
	 "record each mapping, and samples of malloc: one per this number of bytes (524288)", 1,
	 TAPIR_NATIVE_MAX_BYTES, NULL},
	{"stack", TAPIR_PARAM_FLAG, AT(stack), "record the user stack of every event", 0, 0, NULL},
	{"no_stack", TAPIR_PARAM_FLAG, AT(no_stack), "ring lane: events without stacks", 0, 0,
	 NULL},
	{"frames", TAPIR_PARAM_U64, AT(frames), "frames of a user stack, at most", 1,
	 TAPIR_MAX_FRAMES, NULL},
	{"lane", TAPIR_PARAM_CHOICE, AT(lane), "how events are captured", 0, 0, tapir_lane__name},
	{"rate", TAPIR_PARAM_U64, AT(rate_hz), "ring lane: events per second per thread, at most",
	 1, UINT32_MAX, NULL},
	{}};

const struct tapir_param tapir_params_format[] = {{"format", TAPIR_PARAM_CHOICE, AT(format),
						   "of the trace (default: tapir)", 0, 0,
						   tapir_answer_format__name},
						  {}};

const struct tapir_param tapir_params_processes[] = {
	{"all", TAPIR_PARAM_FLAG, AT(all), "also processes with neither events nor probes", 0, 0,
	 NULL},
	{"runtime", TAPIR_PARAM_TEXT, AT(runtime), "only of this runtime", 0, 0, NULL},
	{"user", TAPIR_PARAM_TEXT, AT(user), "only of this user", 0, 0, NULL},
	{"name", TAPIR_PARAM_TEXT, AT(name), "only of this name (glob)", 0, 0, NULL},
	{"container", TAPIR_PARAM_TEXT, AT(container), "only in the container with this id or name",
	 0, 0, NULL},
	{"pod", TAPIR_PARAM_TEXT, AT(pod), "only in the pod with this uid, NAME or NAMESPACE/NAME",
	 0, 0, NULL},
	{"namespace", TAPIR_PARAM_TEXT, AT(space), "only in pods of this namespace", 0, 0, NULL},
	{}};

const struct tapir_param tapir_params_stacks[] = {
	{"pid", TAPIR_PARAM_PIDS, AT(pids), "this process; repeatable, or PID,PID", 0, 0, NULL},
	{"started", TAPIR_PARAM_U64, AT(started),
	 "with one pid: 409 unless the process began at this time, as /v1/processes states it", 1,
	 INT64_MAX, NULL},
	{"container", TAPIR_PARAM_TEXT, AT(container),
	 "the processes in the container with this id (12 digits or more) or name", 0, 0, NULL},
	{"pod", TAPIR_PARAM_TEXT, AT(pod),
	 "the processes in the pod with this uid, NAME or NAMESPACE/NAME", 0, 0, NULL},
	{"threads", TAPIR_PARAM_TEXT, AT(threads), "only threads with such a name (glob)", 0, 0,
	 NULL},
	{}};

const struct tapir_param tapir_params_view[] = {
	{"event", TAPIR_PARAM_TEXT, AT(event), "of the view 'slow': the event that is looked at", 0,
	 0, NULL},
	{"top", TAPIR_PARAM_U64, AT(top), "rows of each table, at most", 1, 10000, NULL},
	{}};

const struct tapir_param tapir_params_requests[] = {
	{"top", TAPIR_PARAM_U64, AT(top), "routes, at most (default: 10)", 1, 10000, NULL}, {}};

const struct tapir_param tapir_params_diff[] = {
	{"first", TAPIR_PARAM_TEXT, AT(first), "the session to compare with, the earlier one", 0, 0,
	 NULL},
	{"top", TAPIR_PARAM_U64, AT(top), "rows of each table, at most", 1, 10000, NULL},
	{}};

const struct tapir_param tapir_params_query[] = {
	{"sql", TAPIR_PARAM_TEXT, AT(sql),
	 "one statement of SQLite that reads, as in 'tapir help tables'; it has 30 s", 0, 0, NULL},
	{}};

const struct tapir_param tapir_params_events[] = {
	{"spec", TAPIR_PARAM_LIST, AT(specs), "as events", 0, 0, NULL}, {}};

const struct tapir_param tapir_params_counters[] = {
	{"counters", TAPIR_PARAM_LIST, AT(counters),
	 "by PROVIDER or PROVIDER/COUNTER (default: System.Runtime)", 0, 0, NULL},
	{"seconds", TAPIR_PARAM_DURATION, AT(duration_ns), "how long (default: 10)",
	 TAPIR_NS_PER_MS, MAX_DURATION_NS, NULL},
	{"interval", TAPIR_PARAM_DURATION, AT(interval_ns), "seconds between values (default: 1)",
	 TAPIR_COUNTER_MIN_NS, MAX_DURATION_NS, NULL},
	{"watched", TAPIR_PARAM_FLAG, AT(watched),
	 "404 for processes that are not watched, instead of a recording", 0, 0, NULL},
	{"history", TAPIR_PARAM_DURATION, AT(history_ns),
	 "of processes that are watched: also the values of the last seconds", TAPIR_NS_PER_SEC,
	 MAX_DURATION_NS, NULL},
	{}};

/* The names are those of the options (cli/question_options.c), so far as a client may use them. */
#define AGGREGATE(name, description, which)                                                        \
	{                                                                                          \
		name, TAPIR_PARAM_LIST, AT(aggregates[which]), description, 0, 0, NULL             \
	}

const struct tapir_param tapir_params_question[] = {
	{"source", TAPIR_PARAM_LIST, AT(sources),
	 "SPEC of events, without a path, or the name of an interval; repeatable, of one kind; for "
	 "role admin also a source of the machine, such as syscall:openat",
	 0, 0, NULL},
	{"where", TAPIR_PARAM_TEXT, AT(where), "only those for which it is true", 0, 0, NULL},
	{"count", TAPIR_PARAM_FLAG, AT(count), "count them, as happens where nothing is added up",
	 0, 0, NULL},
	AGGREGATE("sum", "add up a field", TAPIR_AGGREGATE_SUM),
	AGGREGATE("avg", "the mean of a field", TAPIR_AGGREGATE_AVG),
	AGGREGATE("min", "the smallest value of a field", TAPIR_AGGREGATE_MIN),
	AGGREGATE("max", "the largest value of a field", TAPIR_AGGREGATE_MAX),
	AGGREGATE("hist", "percentiles and a histogram of a field", TAPIR_AGGREGATE_HIST),
	AGGREGATE("lhist", "X,MIN,MAX,STEP: a histogram in equal steps", TAPIR_AGGREGATE_LHIST),
	{"by", TAPIR_PARAM_LIST, AT(by), "KEY{,KEY}: a row for each value of these", 0, 0, NULL},
	{"pair", TAPIR_PARAM_LIST, AT(pairs),
	 "A,B[,key=ARG]: about the intervals that event A begins and B ends", 0, 0, NULL},
	{"until", TAPIR_PARAM_TEXT, AT(until),
	 "about the intervals from the events of one source to those of this SPEC", 0, 0, NULL},
	{"key", TAPIR_PARAM_TEXT, AT(key), "with until: where ARG is equal", 0, 0, NULL},
	{"top", TAPIR_PARAM_U64, AT(top), "rows, at most (default: 20)", 1, 10000, NULL},
	{"seconds", TAPIR_PARAM_DURATION, AT(duration_ns), "how long to record (default: 10)",
	 TAPIR_NS_PER_MS, MAX_DURATION_NS, NULL},
	{"rate", TAPIR_PARAM_U64, AT(rate_hz),
	 "ring lane: events per second per thread, at most (default: 100000)", 1,
	 TAPIR_QUESTION_MAX_HZ, NULL},
	{}};

const struct tapir_param tapir_params_session[] = {
	{"lease", TAPIR_PARAM_DURATION, AT(lease_ns),
	 "ends the recording when it was not asked about for this long", TAPIR_NS_PER_SEC,
	 MAX_DURATION_NS, NULL},
	{}};

void tapir_request_params__fini(struct tapir_request_params *params)
{
	char **text;

	tapir_vec_for_each (text, &params->texts)
		free(*text);
	tapir_vec__fini(&params->texts);
	tapir_vec__fini(&params->pids);
	tapir_vec__fini(&params->comms);
	tapir_vec__fini(&params->specs);
	tapir_vec__fini(&params->profiles);
	tapir_vec__fini(&params->counters);
	tapir_vec__fini(&params->syscalls);
	tapir_vec__fini(&params->kernel);
	tapir_vec__fini(&params->sources);
	tapir_vec__fini(&params->by);
	tapir_vec__fini(&params->pairs);
	for (int i = 0; i < TAPIR_AGGREGATE_CNT; i++)
		tapir_vec__fini(&params->aggregates[i]);
}

/* Printable before it is quoted: what reads the object gets no escape sequence either. */
static void add_param_text(struct tapir_json *j, const char *name, const char *text)
{
	struct tapir_str printable = {};

	tapir_str__add_printable(&printable, text, strlen(text));
	tapir_json__str(j, name, printable.data ? printable.data : "");
	tapir_str__fini(&printable);
}

static void add_words(struct tapir_json *j, const char *name, const struct tapir_words *words)
{
	const char *const *word;

	if (!words->cnt)
		return;
	tapir_json__open(j, name, '[');
	tapir_vec_for_each (word, words)
		add_param_text(j, NULL, *word);
	tapir_json__close(j, ']');
}

void tapir_request_params__add_question(const struct tapir_request_params *params,
					struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);

	tapir_json__open(&j, NULL, '{');
	for (const struct tapir_param *p = tapir_params_question; p->name; p++)
		if (p->kind == TAPIR_PARAM_LIST)
			add_words(&j, p->name, (const void *)((const char *)params + p->offset));
	for (const struct tapir_param *p = tapir_params_question; p->name; p++) {
		const void *at = (const char *)params + p->offset;

		if (p->kind == TAPIR_PARAM_TEXT && *(const char *const *)at)
			add_param_text(&j, p->name, *(const char *const *)at);
	}
	tapir_json__close(&j, '}');
}

/* ---- values --------------------------------------------------------------------------------- */

static int bad(const struct tapir_param *p, const char *value, const char *expected)
{
	return tapir_diag__fail(-EINVAL, "%s: '%.200s' is not %s", p->name, value, expected);
}

static int keep_text(struct tapir_request_params *params, const char *value, const char **out)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	if (!tapir_vec__push(&params->texts, copy)) {
		free(copy);
		return -ENOMEM;
	}
	*out = copy;
	return 0;
}

static int add_word(struct tapir_request_params *params, const struct tapir_param *p,
		    struct tapir_words *words, const char *value)
{
	const char *copy;
	int err;

	if (!*value)
		return bad(p, value, "a text");
	if (words->cnt == MAX_LIST)
		return tapir_diag__fail(-EINVAL, "%s: at most %d values are taken", p->name,
					MAX_LIST);
	err = keep_text(params, value, &copy);
	if (err)
		return err;
	return tapir_vec__push(words, copy) ? 0 : -ENOMEM;
}

static int add_pids(const struct tapir_param *p, struct tapir_pids *pids, const char *value)
{
	for (const char *at = value;; at++) {
		size_t len = strcspn(at, ",");
		char digits[16];
		uint64_t pid;

		snprintf(digits, sizeof(digits), "%.*s", (int)(len < 15 ? len : 15), at);
		if (len >= sizeof(digits) || !tapir_str__to_u64(digits, 1, INT32_MAX, &pid))
			return bad(p, value, "a process id");
		if (pids->cnt == MAX_LIST)
			return tapir_diag__fail(-EINVAL, "pid: at most %d processes are taken",
						MAX_LIST);
		if (!tapir_vec__push(pids, (uint32_t)pid))
			return -ENOMEM;
		at += len;
		if (!*at)
			return 0;
	}
}

static int set_u64(const struct tapir_param *p, uint64_t *out, const char *value)
{
	if (tapir_str__to_u64(value, p->min, p->max, out))
		return 0;
	return tapir_diag__fail(-EINVAL, "%s: '%.200s' is not a number from %llu to %llu", p->name,
				value, (unsigned long long)p->min, (unsigned long long)p->max);
}

static int set_duration(const struct tapir_param *p, uint64_t *out, const char *value)
{
	uint64_t ns;

	if (!tapir_duration__parse(value, &ns))
		return bad(p, value, "a time, as in 5, 0.5 or 500ms");
	if (ns < p->min || ns > p->max)
		return tapir_diag__fail(-EINVAL, "%s: '%.200s' is not between %g and %g seconds",
					p->name, value, (double)p->min / 1e9, (double)p->max / 1e9);
	*out = ns;
	return 0;
}

static int set_flag(const struct tapir_param *p, bool *out, const char *value)
{
	bool is_true = !*value || !strcmp(value, "true") || !strcmp(value, "1");

	if (!is_true && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
		return bad(p, value, "true or false");
	*out = is_true;
	return 0;
}

/* The value as its table has it. */
static int find_choice(const struct tapir_param *p, const char *value, const char **out)
{
	struct tapir_str known = {};
	const char *name;

	for (size_t i = 0; (name = p->value(i)); i++) {
		if (!strcmp(name, value)) {
			*out = name;
			tapir_str__fini(&known);
			return 0;
		}
		tapir_str__addf(&known, "%s%s", i ? ", " : "", name);
	}
	tapir_diag__add("%s: '%.200s' is not one of %s", p->name, value,
			known.data ? known.data : "");
	tapir_str__fini(&known);
	return -EINVAL;
}

static int set(struct tapir_request_params *params, const struct tapir_param *p, const char *value)
{
	void *out = (char *)params + p->offset;
	const char *choice;
	int err;

	switch (p->kind) {
	case TAPIR_PARAM_PIDS:
		return add_pids(p, out, value);
	case TAPIR_PARAM_U64:
		return set_u64(p, out, value);
	case TAPIR_PARAM_DURATION:
		return set_duration(p, out, value);
	case TAPIR_PARAM_TEXT:
		return keep_text(params, value, out);
	case TAPIR_PARAM_LIST:
		return add_word(params, p, out, value);
	case TAPIR_PARAM_FLAG:
		return set_flag(p, out, value);
	case TAPIR_PARAM_CHOICE:
		return find_choice(p, value, out);
	case TAPIR_PARAM_CHOICES:
		err = find_choice(p, value, &choice);
		return err ? err : add_word(params, p, out, choice);
	}
	return -EINVAL;
}

static int unknown(const struct tapir_route *route, const char *name)
{
	struct tapir_str known = {};

	for (size_t t = 0; t < TAPIR_ROUTE_MAX_TABLES && route->params[t]; t++)
		for (const struct tapir_param *p = route->params[t]; p->name; p++)
			tapir_str__addf(&known, "%s%s", known.len ? ", " : "", p->name);
	tapir_diag__add("%.100s: no such parameter; %s takes %s", name, route->path,
			known.data ? known.data : "none");
	tapir_str__fini(&known);
	return -EINVAL;
}

/* NULL: this route has no such parameter. */
static const struct tapir_param *param_of(const struct tapir_route *route, const char *name)
{
	for (size_t t = 0; t < TAPIR_ROUTE_MAX_TABLES && route->params[t]; t++)
		for (const struct tapir_param *p = route->params[t]; p->name; p++)
			if (!strcmp(p->name, name))
				return p;
	return NULL;
}

int tapir_request_params__set(struct tapir_request_params *params, const struct tapir_route *route,
			      const char *name, const char *value)
{
	const struct tapir_param *p = param_of(route, name);

	return p ? set(params, p, value) : unknown(route, name);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static int set_json_value(struct tapir_request_params *params, const struct tapir_route *route,
			  const char *name, const json_t *value)
{
	char number[32];

	switch (json_typeof(value)) {
	case JSON_STRING:
		return tapir_request_params__set(params, route, name, json_string_value(value));
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		return tapir_request_params__set(params, route, name, number);
	case JSON_REAL:
		snprintf(number, sizeof(number), "%.9f", json_real_value(value));
		return tapir_request_params__set(params, route, name, number);
	case JSON_TRUE:
	case JSON_FALSE:
		return tapir_request_params__set(params, route, name,
						 json_is_true(value) ? "true" : "false");
	default:
		return tapir_diag__fail(-EINVAL, "%.100s: a text, a number or true is expected",
					name);
	}
}

static int set_json_member(struct tapir_request_params *params, const struct tapir_route *route,
			   const char *name, const json_t *value)
{
	const json_t *element;
	size_t i;
	int err = 0;

	if (!json_is_array(value))
		return set_json_value(params, route, name, value);
	for (i = 0; !err && i < json_array_size(value); i++) {
		element = json_array_get(value, i);
		err = set_json_value(params, route, name, element);
	}
	return err;
}

int tapir_request_params__set_json(struct tapir_request_params *params,
				   const struct tapir_route *route, const char *body, size_t len)
{
	json_error_t error;
	json_t *root = json_loadb(body, len, JSON_REJECT_DUPLICATES, &error), *value;
	const char *name;
	int err = 0;

	if (!root)
		return tapir_diag__fail(-EINVAL, "body: line %d: %s", error.line, error.text);
	if (!json_is_object(root))
		err = tapir_diag__fail(-EINVAL, "body: a JSON object is expected");
	json_object_foreach(root, name, value)
	{
		err = set_json_member(params, route, name, value);
		if (err)
			break;
	}
	json_decref(root);
	return err;
}

int tapir_request_params__read(struct tapir_request_params *params, const struct tapir_route *route,
			       const struct tapir_wire_request *rq)
{
	int err = 0;

	for (size_t i = 0; !err && i < rq->pair_cnt; i++)
		err = tapir_request_params__set(params, route, rq->pairs[i].name,
						rq->pairs[i].value);
	if (!err && rq->body_len && !route->has_body)
		err = tapir_diag__fail(-EINVAL, "body: %s takes none", route->path);
	else if (!err && rq->body_len)
		err = tapir_request_params__set_json(params, route, rq->body, rq->body_len);
	return err;
}

/* ---- one process ---------------------------------------------------------------------------- */

static int refuse_others(void)
{
	return tapir_diag__fail(-ESRCH, "pid: this agent serves the process that started it, and "
					"no other");
}

int tapir_request_params__restrict_to_pid(struct tapir_request_params *params,
					  const struct tapir_route *route, const char *path_arg,
					  uint32_t pid)
{
	bool has_target = param_of(route, "pid");
	char own[16];

	params->only_pid = pid;
	snprintf(own, sizeof(own), "%u", pid);
	if (!strcmp(route->path, "/v1/processes/{pid}") && strcmp(path_arg, own) != 0)
		return refuse_others();
	if (has_target && (params->comms.cnt || params->container || params->pod))
		return refuse_others();
	for (size_t i = 0; i < params->pids.cnt; i++)
		if (params->pids.data[i] != pid)
			return refuse_others();
	if (has_target && !params->pids.cnt && !tapir_vec__push(&params->pids, pid))
		return -ENOMEM;
	return 0;
}

/* ---- a recording ---------------------------------------------------------------------------- */

/* The FILE of a function is one that the process has mapped: no other is opened. */
static int check_machine_source(const struct tapir_request_params *params, const char *text)
{
	struct tapir_machine_source *source;
	int err;

	/* A tracepoint's fields may name other processes. */
	if (!params->is_admin || params->only_pid)
		return tapir_diag__fail(
			-EKEYREJECTED, "source '%.64s' is of the machine: role admin may record it",
			text);
	err = tapir_machine_source__parse(text, &source);
	if (!err)
		tapir_machine_source__free(source);
	return err;
}

/* No client decides which file of the machine is opened. */
static int check_specs(const struct tapir_request_params *params)
{
	const char *const *text;

	tapir_vec_for_each (text, &params->specs) {
		struct tapir_spec *spec;
		bool has_path;
		int err;

		if (tapir_machine_source__is_one(*text)) {
			err = check_machine_source(params, *text);
			if (err)
				return err;
			continue;
		}
		if (tapir_spec__parse(*text, &spec))
			return -EINVAL;
		has_path = spec->path;
		tapir_spec__free(spec);
		if (has_path)
			return tapir_diag__fail(-EINVAL, "events: a SPEC with a path is not taken: "
							 "name the provider alone");
	}
	return 0;
}

int tapir_request_params__request(const struct tapir_request_params *params,
				  struct tapir_request *out)
{
	int kinds = (params->pids.cnt > 0) + (params->comms.cnt > 0) + (params->container != NULL) +
		    (params->pod != NULL);
	int err;

	if (kinds != 1)
		return tapir_diag__fail(-EINVAL, "pid: a target is required: one of pid, comm, "
						 "container and pod");
	/*
	 * A start time distinguishes one process from a later one of the same pid: it belongs to
	 * one pid.
	 */
	if (params->started && params->pids.cnt != 1)
		return tapir_diag__fail(-EINVAL, "started: requires one pid");
	*out = (struct tapir_request){
		.sz = sizeof(*out),
		.rules = {.pids = params->inside.cnt ? params->inside : params->pids,
			  .comms = params->comms,
			  .cgroups = params->cgroups},
		.specs = params->specs,
		.profiles = params->profiles,
		.where = params->where,
		.has_no_default = params->only_counters,
		.has_counters = params->counters.cnt > 0 || params->only_counters,
		.counters = params->counters,
		.interval_ns = params->interval_ns,
		.lane = params->lane,
		.rate_hz = params->rate_hz,
		.stack = params->stack,
		.no_stack = params->no_stack,
		.frames = (uint32_t)params->frames,
		.no_samples = params->no_samples || params->only_counters,
		.sched = params->sched,
		.sum_waits = params->sum_waits,
		.no_sched = params->no_sched || params->only_counters,
		.captures = {[TAPIR_FAMILY_IO] = params->io,
			     [TAPIR_FAMILY_EXCHANGE] = params->net,
			     [TAPIR_FAMILY_SIGNAL] = params->signals,
			     [TAPIR_FAMILY_CALLS] =
				     params->syscalls.cnt > 0 || params->syscall_files,
			     [TAPIR_FAMILY_KERNEL] = params->kernel.cnt > 0,
			     [TAPIR_FAMILY_NATIVE] = params->native_memory > 0},
		.native = {params->native_memory, TAPIR_NATIVE_LIMIT_HZ},
		.syscalls = params->syscalls,
		.syscall_files = params->syscall_files,
		.kernel = params->kernel,
		.sample_event = params->sample_event,
		.sample_hz = params->sample_hz,
		.no_command_lines = !params->is_admin,
		.duration_ns = params->duration_ns ? params->duration_ns : DEFAULT_RECORD_NS,
	};
	err = check_specs(params);
	return err ? err : tapir_where__check_text(params->where);
}
