// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tools: a table of names, arguments and commands. A tool runs the command in a child, as a
 * person would, and returns what it prints, shortened from its end. Whatever is passed on is a
 * value of an option.
 */
#include "cli/mcp/mcp_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/view.h"
#include "base/child/child_run.h"
#include "base/file.h"
#include "base/json.h"
#include "decode/profiles.h"
#include "output/render/views.h"

#define MAX_WORDS   48
#define MAX_EVENTS  32
#define SECONDS	    5.0
#define SECONDS_MIN 0.1
#define SECONDS_MAX 600.0

/* ---- words of a command ------------------------------------------------------------------------ */

struct words {
	const char *argv[MAX_WORDS + 1];
	char *owned[MAX_WORDS];
	size_t cnt;
	bool failed; /* too many, or out of memory */
};

static __attribute__((format(printf, 2, 3))) void add_word(struct words *w, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (w->failed || w->cnt == MAX_WORDS) {
		w->failed = true;
		return;
	}
	va_start(ap, fmt);
	w->failed = vasprintf(&text, fmt, ap) < 0;
	va_end(ap);
	if (!w->failed)
		w->argv[w->cnt] = w->owned[w->cnt] = text;
	w->cnt += !w->failed;
}

static void fini_words(struct words *w)
{
	for (size_t i = 0; i < w->cnt; i++)
		free(w->owned[i]);
}

/* ---- what a tool takes ------------------------------------------------------------------------- */

enum argument_type {
	PID,
	VIEW,
	PROFILE,
	DURATION,
	SECONDS_OF,
	COUNT,
	SPECS,
	RECORDING,
	FIRST,	/* a recording that is compared with that of RECORDING */
	SOURCE, /* one word: events or an interval of a recording */
	TEXT,	/* of an option */
	SQL,	/* one word: a statement */
};

struct argument {
	const char *name;
	enum argument_type type;
	bool is_required;
	const char *option; /* of the command; NULL: the tool's own */
	const char *description;
};

struct tool {
	const char *name, *description;
	const char *words[4];	       /* of the command */
	struct argument arguments[12]; /* ended by one without a name */
	const char *rows;	       /* the option where top is not given; NULL: none */
	bool reads;		       /* a recording */
	bool makes;		       /* one */
};

#define OF_RECORDING                                                                               \
	{                                                                                          \
		"recording", RECORDING, false, NULL, "what record returned (default: the latest)"  \
	}

static const struct tool tools[] = {
	{.name = "processes",
	 .description =
		 "Processes of this machine that can be recorded: runtime, version, user, container",
	 .words = {"ps", "--json"}},
	{.name = "top",
	 .description =
		 "What the busiest processes or one of them use now: CPUs, divided into own code, "
		 "runtime, gc, jit and kernel; how many threads wait, and in which calls; disk; "
		 "allocations, exceptions and pauses where a runtime says so",
	 .words = {"top", "--once", "--json"},
	 .arguments = {{"pid", PID, false, "--pid", "only this process"},
		       {"seconds", DURATION, false, "--interval", "how long (default: 5)"},
		       {"top", COUNT, false, "--top", "at most this many rows (default: 20)"}}},
	{.name = "record",
	 .description =
		 "Records a running process for some seconds, without stopping or restarting it: CPU "
		 "samples, waits, events of its runtime. Returns the recording's name and findings, "
		 "the worst first",
	 .words = {"record", "-o", "-"},
	 .arguments =
		 {{"pid", PID, true, "--pid", "the process"},
		  {"seconds", DURATION, false, "--duration", "how long (default: 5)"},
		  {"profile", PROFILE, false, "--profile", "events by purpose (default: default)"},
		  {"events", SPECS, false, NULL,
		   "events to record instead of a profile, such as hotspot:gc__* or MyCompany-*"},
		  {"where", TEXT, false, "--where",
		   "only events for which it is true: cents > 500 && path ~ \"/cart*\""}},
	 .makes = true},
	{.name = "findings",
	 .description =
		 "What is wrong with the recorded process, ranked, each with its magnitude and view",
	 .words = {"report", "-", "--json"},
	 .arguments = {OF_RECORDING},
	 .reads = true},
	{.name = "explain",
	 .description =
		 "Why a recording has a finding of a kind, or has not: what was measured, with the "
		 "numbers from which it is reported; and other kinds that are close",
	 .words = {"report", "-", "--json"},
	 .arguments = {{"kind", TEXT, true, "--explain",
			"the kind, as findings have it: locks, deadlock, gc, requests"},
		       OF_RECORDING,
		       {"pid", PID, false, "--pid", "only this process"}},
	 .reads = true},
	{.name = "report",
	 .description =
		 "The report of a recording: functions, modules, stacks, events, intervals, threads, "
		 "losses",
	 .words = {"report", "-", "--json"},
	 .arguments = {OF_RECORDING,
		       {"pid", PID, false, "--pid", "only this process"},
		       {"from", SECONDS_OF, false, "--from", "only from this second on"},
		       {"to", SECONDS_OF, false, "--to", "only until this second"},
		       {"top", COUNT, false, "--top",
			"at most this many functions, modules and stacks of an event (default: "
			"20)"}},
	 .rows = "--top=20",
	 .reads = true},
	{.name = "view",
	 .description = "Answers one question about a recording",
	 .words = {"report", "-", "--json"},
	 .arguments = {{"view", VIEW, true, "--view", "which question: "},
		       OF_RECORDING,
		       {"pid", PID, false, "--pid", "only this process"},
		       {"top", COUNT, false, "--top", "at most this many rows of a table"}},
	 .reads = true},
	{.name = "requests",
	 .description =
		 "Requests of a recording by route (GET /tax/{n}): count, per second, median, p99, "
		 "slowest, errors, and what their time is made of: on CPU, waits, and each awaited "
		 "dependency with calls per request, one after the other or in parallel",
	 .words = {"report", "-", "--json", "--view=requests"},
	 .arguments = {OF_RECORDING,
		       {"pid", PID, false, "--pid", "only this process"},
		       {"top", COUNT, false, "--top", "at most this many routes (default: 10)"}},
	 .reads = true},
	{.name = "question",
	 .description =
		 "Counts and adds up events of a recording, or intervals between two events, by keys; "
		 "every table says what was rejected, had no room or was lost",
	 .words = {"events", "-", "--json", "--count"},
	 .arguments =
		 {{"source", SOURCE, true, NULL,
		   "events (gc__*, provider:event*) or an interval (postgresql:query, dotnet:gc, "
		   "request)"},
		  OF_RECORDING,
		  {"where", TEXT, false, "--where",
		   "a condition, such as took > 5ms && query ~ \"UPDATE*\""},
		  {"by", TEXT, false, "--by",
		   "keys, separated by commas: fields, pid, tid, comm, thread, cpu, event, stack"},
		  {"sum", TEXT, false, "--sum", "a field to add up"},
		  {"hist", TEXT, false, "--hist",
		   "a field of which to show percentiles; took: how long intervals lasted"},
		  {"pair", TEXT, false, "--pair",
		   "the events that begin and end an interval: A,B or A,B,key=FIELD"},
		  {"until", TEXT, false, "--until",
		   "instead of pair: the events that end what those of source begin"},
		  {"key", TEXT, false, "--key", "with until: the field that is equal in both"},
		  {"top", COUNT, false, "--top", "at most this many rows (default: 20)"}},
	 .reads = true},
	{.name = "query",
	 .description =
		 "One statement of SQLite that reads (SELECT, WITH) about a recording, as rows. Tables: "
		 "events, samples, switches, waits, intervals, gc, requests (by route), "
		 "request_parts, spans, processes, threads, stacks, frames, counters, losses, findings, "
		 "meta; of each kind of event one with its "
		 "fields as columns. pragma is refused: SELECT * FROM a table LIMIT 1 shows its "
		 "columns",
	 .words = {"query", "-", "--json", "--timeout=30"},
	 .arguments = {{"sql", SQL, true, NULL, "the statement"}, OF_RECORDING},
	 .reads = true},
	{.name = "diff",
	 .description =
		 "What became slower or more from one recording to a later one, beside the noise: "
		 "requests, CPU time, waits, garbage collection, allocations, exceptions, intervals, "
		 "counters, events, as rates",
	 .words = {"diff", TAPIR_CHILD_RUN_OTHER, "-", "--json"},
	 .arguments = {{"first", FIRST, true, NULL, "the earlier recording"},
		       OF_RECORDING,
		       {"top", COUNT, false, "--top",
			"at most this many rows of a table (default: 10)"}},
	 .rows = "--top=10",
	 .reads = true},
	{.name = "stacks",
	 .description =
		 "What all threads of a process do now, kernel, native and managed frames, grouped",
	 .words = {"stacks", "--json"},
	 .arguments = {{"pid", PID, true, "--pid", "the process"}}},
	{.name = "async_stacks",
	 .description =
		 "The async methods of a .NET process, coroutines of CPython or virtual threads of a "
		 "JVM that are suspended now: what each awaits, its callers, and which wait for each "
		 "other; a .NET process collects all generations for it",
	 .words = {"stacks", "--json", "--async"},
	 .arguments = {{"pid", PID, true, "--pid", "the process"}}},
};

#define TOOL_CNT (sizeof(tools) / sizeof(*tools))

/* "cpu, gc, ..., slow=EVENT", after what. */
static json_t *describe_views(const char *description)
{
	struct tapir_str text = {};
	json_t *made;

	tapir_str__adds(&text, description);
	for (size_t i = 0; tapir_views[i]; i++)
		tapir_str__addf(&text, "%s%s%s%s", i ? ", " : "", tapir_views[i]->name,
				tapir_views[i]->arg ? "=" : "", tapir_views[i]->arg ?: "");
	made = json_string(text.data ? text.data : "");
	tapir_str__fini(&text);
	return made;
}

static json_t *describe_profiles(const char *description)
{
	struct tapir_str text = {};
	json_t *made;

	tapir_str__adds(&text, description);
	for (size_t i = 0; tapir_profile__at(i); i++) {
		tapir_str__addf(&text, "%s%s: ", i ? "; " : ": ", tapir_profile__name(i));
		tapir_profile__add_summary(tapir_profile__at(i), &text);
	}
	made = json_string(text.data ? text.data : "");
	tapir_str__fini(&text);
	return made;
}

static json_t *names_of_profiles(void)
{
	json_t *names = json_array();

	for (size_t i = 0; tapir_profile__name(i); i++)
		json_array_append_new(names, json_string(tapir_profile__name(i)));
	return names;
}

/* The schema of an argument, as add_argument accepts it. */
static json_t *schema_of(const struct argument *a)
{
	static const char *const types[] = {
		[PID] = "integer",     [VIEW] = "string",	[PROFILE] = "string",
		[DURATION] = "number", [SECONDS_OF] = "number", [COUNT] = "integer",
		[SPECS] = "array",     [RECORDING] = "string",	[FIRST] = "string",
		[SOURCE] = "string",   [TEXT] = "string",	[SQL] = "string"};
	json_t *schema = json_pack("{s:s}", "type", types[a->type]);

	json_object_set_new(schema, "description",
			    a->type == VIEW	 ? describe_views(a->description)
			    : a->type == PROFILE ? describe_profiles(a->description)
						 : json_string(a->description));
	/*
	 * The patterns keep an assistant from what the command line would take for an option ('-'),
	 * a file of questions ('@') or a path: it names no file of this machine.
	 */
	switch (a->type) {
	case PID:
	case COUNT:
		json_object_set_new(schema, "minimum", json_integer(1));
		json_object_set_new(schema, "maximum", json_integer(INT32_MAX));
		break;
	case DURATION:
	case SECONDS_OF:
		json_object_set_new(schema, "minimum",
				    json_real(a->type == DURATION ? SECONDS_MIN : 0));
		json_object_set_new(schema, "maximum", json_real(SECONDS_MAX));
		break;
	case SPECS:
		json_object_set_new(schema, "maxItems", json_integer(MAX_EVENTS));
		json_object_set_new(
			schema, "items",
			json_pack("{s:s, s:s}", "type", "string", "pattern", "^[^-/][^/]*$"));
		break;
	case PROFILE:
		json_object_set_new(schema, "enum", names_of_profiles());
		break;
	case RECORDING:
	case FIRST:
		json_object_set_new(schema, "pattern", json_string("^r[1-9][0-9]*$"));
		break;
	case SOURCE:
		json_object_set_new(schema, "pattern", json_string("^[^-@/][^/]*$"));
		break;
	case VIEW:
	case TEXT:
	case SQL:
		break;
	}
	return schema;
}

static json_t *describe_tool(const struct tool *tool)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct argument *a = tool->arguments; a->name; a++) {
		json_object_set_new(properties, a->name, schema_of(a));
		if (a->is_required)
			json_array_append_new(required, json_string(a->name));
	}
	return json_pack("{s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b, s:b}}", "name", tool->name,
			 "description", tool->description, "inputSchema", "type", "object",
			 "properties", properties, "required", required, "additionalProperties", 0,
			 "annotations", "readOnlyHint", !tool->makes, "destructiveHint", 0);
}

json_t *tapir_mcp_tools__list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < TOOL_CNT; i++)
		json_array_append_new(list, describe_tool(&tools[i]));
	return list;
}

/* ---- from arguments to words ------------------------------------------------------------------- */

static int wrong(struct tapir_str *out, const struct argument *a, const char *expected)
{
	tapir_str__addf(out, "%s is not %s", a->name, expected);
	return -EINVAL;
}

static int add_specs(const struct argument *a, const json_t *value, struct words *w,
		     struct tapir_str *out)
{
	size_t cnt = json_array_size(value);

	if (!json_is_array(value) || cnt > MAX_EVENTS)
		return wrong(out, a, "an array of at most 32 strings");
	for (size_t i = 0; i < cnt; i++) {
		const char *text = json_string_value(json_array_get(value, i));

		/* A path would name a file of this machine. */
		if (!text || !*text || *text == '-' || strchr(text, '/'))
			return wrong(out, a, "an array of events such as \"hotspot:gc__*\"");
		add_word(w, "%s", text);
	}
	return 0;
}

/* nr: which recording; 0: the latest. */
static int take_recording(const struct argument *a, const json_t *value, unsigned *nr,
			  struct tapir_str *out)
{
	const char *text = json_string_value(value);
	uint64_t number = 0;

	if (!text || text[0] != 'r' || text[1] < '1' || text[1] > '9' ||
	    !tapir_str__to_u64(text + 1, 1, UINT32_MAX, &number))
		return wrong(out, a, "the name of a recording, such as \"r1\"");
	*nr = (unsigned)number;
	return 0;
}

/* nrs: of the recordings; see call_tool. */
static int add_argument(const struct argument *a, const json_t *value, struct words *w,
			unsigned *nrs, struct tapir_str *out)
{
	double seconds = json_number_value(value);
	const char *text = json_string_value(value);

	switch (a->type) {
	case PID:
	case COUNT:
		if (!json_is_integer(value) || json_integer_value(value) < 1 ||
		    json_integer_value(value) > INT32_MAX)
			return wrong(out, a, "a positive number");
		add_word(w, "%s=%lld", a->option, (long long)json_integer_value(value));
		return 0;
	case DURATION:
	case SECONDS_OF:
		if (!json_is_number(value) || seconds > SECONDS_MAX ||
		    !(seconds >= (a->type == DURATION ? SECONDS_MIN : 0)))
			return wrong(out, a,
				     a->type == DURATION ? "0.1 to 600 seconds"
							 : "0 to 600 seconds");
		add_word(w, "%s=%.3f", a->option, seconds);
		return 0;
	case PROFILE:
		if (!text || !tapir_profile__find(text))
			return wrong(out, a, "one of those that tools/list has");
		add_word(w, "%s=%s", a->option, text);
		return 0;
	case SOURCE:
		/* '@' would read a file of this machine, a blank make it a sentence with options.
		 */
		if (!text || !*text || strchr("-@", *text) || strpbrk(text, "/ "))
			return wrong(out, a, "events or an interval, such as \"gc__*\"");
		add_word(w, "%s", text);
		return 0;
	case VIEW:
	case TEXT:
		if (!text || !*text)
			return wrong(out, a, "a string");
		add_word(w, "%s=%s", a->option, text);
		return 0;
	case SQL:
		if (!text || !*text)
			return wrong(out, a,
				     "a statement, such as \"SELECT count(*) FROM events\"");
		/* A comment, "-- ...", is no option. */
		add_word(w, " %s", text);
		return 0;
	case SPECS:
		return add_specs(a, value, w, out);
	case RECORDING:
		return take_recording(a, value, &nrs[0], out);
	case FIRST:
		return take_recording(a, value, &nrs[1], out);
	}
	return -EINVAL;
}

static bool takes(const struct tool *tool, const char *name)
{
	for (const struct argument *a = tool->arguments; a->name; a++)
		if (!strcmp(a->name, name))
			return true;
	return false;
}

static int refuse_unknown(const struct tool *tool, const json_t *given, struct tapir_str *out)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)given, name, value) if (!takes(tool, name)) break;
	tapir_str__addf(out, "%s takes no argument '%.64s': it takes", tool->name, name);
	for (const struct argument *a = tool->arguments; a->name; a++)
		tapir_str__addf(out, "%s %s", a == tool->arguments ? "" : ",", a->name);
	if (!tool->arguments->name)
		tapir_str__adds(out, " none");
	return -EINVAL;
}

static int add_arguments(const struct tool *tool, const json_t *given, struct words *w,
			 unsigned *nrs, struct tapir_str *out)
{
	size_t known = 0;
	int err = 0;

	for (const struct argument *a = tool->arguments; a->name && !err; a++) {
		const json_t *value = json_object_get(given, a->name);

		known += !!value;
		if (value)
			err = add_argument(a, value, w, nrs, out);
		else if (a->is_required)
			err = wrong(out, a, "given");
		else if (a->type == COUNT && tool->rows)
			add_word(w, "%s", tool->rows);
		else if (a->type == DURATION)
			add_word(w, "%s=%.3f", a->option, SECONDS);
	}
	if (!err && known < json_object_size(given))
		err = refuse_unknown(tool, given, out);
	return err ?: w->failed ? -ENOMEM : 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static int fail_tool_call(struct tapir_str *out, const char *why)
{
	out->len = 0;
	tapir_str__adds(out, why && *why ? why : "tapir failed without a reason");
	return 1;
}

static int run_tool(struct tapir_mcp *mcp, struct tapir_mcp_call *call)
{
	int err;

	call->stop_fd = mcp->stop_fd;
	err = mcp->run(call);
	if (err == -EFBIG)
		err = fail_tool_call(
			call->out, "the result is larger than 8 MB: narrow it by pid, from and to");
	else if (err != -ECANCELED && (err || call->exit_code))
		err = fail_tool_call(call->out, call->why.data ? call->why.data : strerror(-err));
	tapir_str__fini(&call->why);
	return err;
}

/* ---- recordings ---------------------------------------------------------------------------------- */

/* Opened again, since requests read at the same time, each from its own place. */
static int reopen(int fd)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

/* *nr: becomes the latest one's where it is 0. A descriptor, or -errno. */
static int find_recording(struct tapir_mcp_recordings *recordings, unsigned *nr,
			  struct tapir_str *out)
{
	int fd = -EINVAL;

	pthread_mutex_lock(&recordings->lock);
	*nr = *nr ? *nr : recordings->cnt;
	if (*nr && *nr <= recordings->cnt && recordings->cnt - *nr < TAPIR_MCP_MAX_RECORDINGS)
		fd = reopen(recordings->fds[(*nr - 1) % TAPIR_MCP_MAX_RECORDINGS]);
	else
		tapir_str__adds(out, recordings->cnt ? "no such recording: the last 8 are kept"
						     : "no recording yet: call record first");
	pthread_mutex_unlock(&recordings->lock);
	if (fd < 0 && !out->len)
		tapir_str__adds(out, "the recording cannot be read: /proc is missing");
	return fd < 0 ? -EINVAL : fd;
}

/* Takes fd, in place of the oldest one. Its number. */
static unsigned keep_recording(struct tapir_mcp_recordings *recordings, int fd)
{
	unsigned nr;

	pthread_mutex_lock(&recordings->lock);
	if (recordings->cnt >= TAPIR_MCP_MAX_RECORDINGS)
		close(recordings->fds[recordings->cnt % TAPIR_MCP_MAX_RECORDINGS]);
	recordings->fds[recordings->cnt % TAPIR_MCP_MAX_RECORDINGS] = fd;
	nr = ++recordings->cnt;
	pthread_mutex_unlock(&recordings->lock);
	return nr;
}

void tapir_mcp_recordings__fini(struct tapir_mcp_recordings *recordings)
{
	for (unsigned i = 0; i < recordings->cnt && i < TAPIR_MCP_MAX_RECORDINGS; i++)
		close(recordings->fds[i]);
	recordings->cnt = 0;
}

/* Shortens a report to what is needed first. */
static int shorten(struct tapir_str *report, unsigned nr)
{
	static const char *const keys[] = {"first_screen", "headline",	  "findings", "overview",
					   "programs",	   "duration_ns", "cpus",     "lost",
					   "gaps",	   "complete"};
	json_t *whole = json_loadb(report->data ? report->data : "", report->len, 0, NULL);
	json_t *brief = json_object();
	char name[16], *text;

	snprintf(name, sizeof(name), "r%u", nr);
	json_object_set_new(brief, "recording", json_string(name));
	json_object_set(brief, "probe_cost",
			json_object_get(json_object_get(whole, "meta"), "probe_cost"));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		json_object_set(brief, keys[i], json_object_get(whole, keys[i]));
	text = whole ? json_dumps(brief, JSON_COMPACT) : NULL;
	report->len = 0;
	if (text)
		tapir_json__add_document(report, text, strlen(text));
	free(text);
	json_decref(whole);
	json_decref(brief);
	return text ? 0 : fail_tool_call(report, "the report is not valid JSON");
}

/* nr: 0: the latest. */
static int read_findings(struct tapir_mcp *mcp, unsigned nr, struct tapir_str *out)
{
	static const char *const argv[] = {"report", "-", "--json", NULL};
	struct tapir_mcp_call call = {.argv = argv, .output_fd = -1, .out = out};
	int err;

	call.input_fd = find_recording(mcp->recordings, &nr, out);
	if (call.input_fd < 0)
		return call.input_fd;
	err = run_tool(mcp, &call);
	close(call.input_fd);
	return err ? err : shorten(out, nr);
}

static int make_recording(struct tapir_mcp *mcp, const struct words *w, struct tapir_str *out)
{
	int fd = tapir_file__temporary();
	struct tapir_mcp_call call = {.argv = w->argv, .input_fd = -1, .output_fd = fd, .out = out};
	int err;

	if (fd < 0)
		return fail_tool_call(out, "cannot create a temporary file (TMPDIR)");
	err = run_tool(mcp, &call);
	if (err) {
		close(fd);
		return err;
	}
	return read_findings(mcp, keep_recording(mcp->recordings, fd), out);
}

static int call_tool(struct tapir_mcp *mcp, const struct tool *tool, const json_t *arguments,
		     struct words *w, struct tapir_str *out)
{
	struct tapir_mcp_call call = {.argv = w->argv, .input_fd = -1, .output_fd = -1, .out = out};
	unsigned nrs[2] = {}; /* of the recording, 0: the latest; of FIRST, 0: none */
	int err;

	for (size_t i = 0; i < 4 && tool->words[i]; i++)
		add_word(w, "%s", tool->words[i]);
	err = add_arguments(tool, arguments, w, nrs, out);
	if (err)
		return err;
	if (tool->makes)
		return make_recording(mcp, w, out);
	if (!strcmp(tool->name, "findings"))
		return read_findings(mcp, nrs[0], out);
	if (tool->reads)
		call.input_fd = find_recording(mcp->recordings, &nrs[0], out);
	if (tool->reads && call.input_fd < 0)
		return call.input_fd;
	if (nrs[1])
		call.other_fd = find_recording(mcp->recordings, &nrs[1], out);
	err = call.other_fd < 0 ? call.other_fd : run_tool(mcp, &call);
	tapir_guard__fd(&call.input_fd);
	if (call.other_fd > 0)
		close(call.other_fd);
	return err;
}

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; i < TOOL_CNT; i++)
		if (!strcmp(name, tools[i].name))
			return &tools[i];
	return NULL;
}

bool tapir_mcp_tools__makes(const char *name)
{
	const struct tool *tool = find_tool(name);

	return tool && tool->makes;
}

bool tapir_mcp_tools__reads(const char *name)
{
	const struct tool *tool = find_tool(name);

	return tool && tool->reads;
}

int tapir_mcp_tools__call(struct tapir_mcp *mcp, const char *name, const json_t *arguments,
			  struct tapir_str *out)
{
	const struct tool *tool = find_tool(name);
	struct words w = {};
	int err;

	if (!tool) {
		tapir_str__addf(out, "no tool '%.64s' (tools/list has them)", name);
		return -EINVAL;
	}
	err = call_tool(mcp, tool, arguments, &w, out);
	fini_words(&w);
	return err;
}
