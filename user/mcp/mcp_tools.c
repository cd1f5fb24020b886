// SPDX-License-Identifier: GPL-2.0-or-later
/* The tools: a table of names, arguments and commands. Whatever is passed on is a value of an
 * option. */
#include "mcp/mcp_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define MAX_WORDS   48
#define MAX_EVENTS  32
#define SECONDS	    5.0
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

enum argument_type { PID, TEXT, SECONDS_OF, COUNT, SPECS, RECORDING };

struct argument {
	const char *name;
	enum argument_type type;
	bool is_required;
	const char *option; /* of the command; NULL: the tool's own */
	const char *what;
};

struct tool {
	const char *name, *what;
	const char *words[4]; /* of the command */
	struct argument arguments[8];
	bool reads; /* a recording */
	bool makes; /* one */
};

#define OF_RECORDING                                                                               \
	{                                                                                          \
		"recording", RECORDING, false, NULL, "what record returned (default: the latest)"  \
	}

static const struct tool tools[] = {
	{.name = "processes",
	 .what = "Processes of this machine that can be recorded: runtime, version, user, container",
	 .words = {"ps", "--json"}},
	{.name = "record",
	 .what = "Records a running process for some seconds, without stopping or restarting it: CPU "
		 "samples, waits, events of its runtime. Returns the recording's name and findings, "
		 "the worst first",
	 .words = {"record", "-o", "-"},
	 .arguments =
		 {{"pid", PID, true, "--pid", "the process"},
		  {"seconds", SECONDS_OF, false, "--duration", "how long (default: 5)"},
		  {"profile", TEXT, false, "--profile",
		   "events by purpose: gc, cpu, exceptions, contention, allocations, threadpool, "
		   "http (default: default)"},
		  {"events", SPECS, false, NULL,
		   "events to record instead of a profile, such as hotspot:gc__* or MyCompany-*"}},
	 .makes = true},
	{.name = "findings",
	 .what = "What is wrong with the recorded process, ranked, each with its magnitude and view",
	 .words = {"report", "-", "--json"},
	 .arguments = {OF_RECORDING},
	 .reads = true},
	{.name = "report",
	 .what = "The whole report of a recording: functions, modules, events, intervals, threads, "
		 "losses",
	 .words = {"report", "-", "--json"},
	 .arguments = {OF_RECORDING,
		       {"pid", PID, false, "--pid", "only this process"},
		       {"from", SECONDS_OF, false, "--from", "only from this second on"},
		       {"to", SECONDS_OF, false, "--to", "only until this second"}},
	 .reads = true},
	{.name = "view",
	 .what = "Answers one question about a recording",
	 .words = {"report", "-", "--json"},
	 .arguments =
		 {{"view", TEXT, true, "--view",
		   "cpu, gc, jit, exceptions, contention, offcpu, stacks, threadpool, allocations, "
		   "counters, or slow=EVENT"},
		  OF_RECORDING,
		  {"pid", PID, false, "--pid", "only this process"},
		  {"top", COUNT, false, "--top", "at most this many rows of a table"}},
	 .reads = true},
	{.name = "stacks",
	 .what = "What all threads of a process do now, kernel, native and managed frames, grouped",
	 .words = {"stacks", "--json"},
	 .arguments = {{"pid", PID, true, "--pid", "the process"}}},
};

#define TOOL_CNT (sizeof(tools) / sizeof(*tools))

static json_t *schema_of(const struct argument *a)
{
	static const char *const types[] = {"integer", "string", "number",
					    "integer", "array",	 "string"};
	json_t *schema = json_pack("{s:s, s:s}", "type", types[a->type], "description", a->what);

	if (schema && a->type == SPECS)
		json_object_set_new(schema, "items", json_pack("{s:s}", "type", "string"));
	return schema;
}

static json_t *describe(const struct tool *tool)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct argument *a = tool->arguments; a->name; a++) {
		json_object_set_new(properties, a->name, schema_of(a));
		if (a->is_required)
			json_array_append_new(required, json_string(a->name));
	}
	return json_pack("{s:s, s:s, s:{s:s, s:o, s:o, s:b}, s:{s:b, s:b}}", "name", tool->name,
			 "description", tool->what, "inputSchema", "type", "object", "properties",
			 properties, "required", required, "additionalProperties", 0, "annotations",
			 "readOnlyHint", !tool->makes, "destructiveHint", 0);
}

json_t *tapir_mcp_tools__list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < TOOL_CNT; i++)
		json_array_append_new(list, describe(&tools[i]));
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

	if (!text || *text != 'r' || !tapir_str__to_u64(text + 1, 1, UINT32_MAX, &number))
		return wrong(out, a, "the name of a recording, such as \"r1\"");
	*nr = (unsigned)number;
	return 0;
}

static int add_argument(const struct argument *a, const json_t *value, struct words *w,
			unsigned *nr, struct tapir_str *out)
{
	double seconds = json_number_value(value);

	switch (a->type) {
	case PID:
	case COUNT:
		if (!json_is_integer(value) || json_integer_value(value) < 1 ||
		    json_integer_value(value) > INT32_MAX)
			return wrong(out, a, "a positive number");
		add_word(w, "%s=%lld", a->option, (long long)json_integer_value(value));
		return 0;
	case SECONDS_OF:
		if (!json_is_number(value) || !(seconds >= 0) || seconds > SECONDS_MAX)
			return wrong(out, a, "a number of seconds up to 600");
		add_word(w, "%s=%.3f", a->option, seconds);
		return 0;
	case TEXT:
		if (!json_is_string(value) || !*json_string_value(value))
			return wrong(out, a, "a string");
		add_word(w, "%s=%s", a->option, json_string_value(value));
		return 0;
	case SPECS:
		return add_specs(a, value, w, out);
	case RECORDING:
		return take_recording(a, value, nr, out);
	}
	return -EINVAL;
}

static int add_arguments(const struct tool *tool, const json_t *given, struct words *w,
			 unsigned *nr, struct tapir_str *out)
{
	size_t known = 0;
	int err = 0;

	for (const struct argument *a = tool->arguments; a->name && !err; a++) {
		const json_t *value = json_object_get(given, a->name);

		known += !!value;
		if (value)
			err = add_argument(a, value, w, nr, out);
		else if (a->is_required)
			err = wrong(out, a, "given");
		else if (a->type == SECONDS_OF && tool->makes)
			add_word(w, "%s=%.3f", a->option, SECONDS);
	}
	if (!err && known < json_object_size(given)) {
		tapir_str__addf(out, "an argument that %s does not take", tool->name);
		err = -EINVAL;
	}
	return err ?: w->failed ? -ENOMEM : 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static int fail(struct tapir_str *out, const char *why)
{
	out->len = 0;
	tapir_str__adds(out, why && *why ? why : "tapir failed without a reason");
	return 1;
}

static int run(struct tapir_mcp *mcp, struct tapir_mcp_call *call)
{
	int err = mcp->run(call);

	if (err == -EFBIG)
		err = fail(call->out,
			   "the result is larger than 8 MB: narrow it by pid, from and to");
	else if (err || call->exit_code)
		err = fail(call->out, call->why.data ? call->why.data : strerror(-err));
	tapir_str__fini(&call->why);
	return err;
}

static int find_recording(const struct tapir_mcp *mcp, unsigned nr, struct tapir_str *out)
{
	nr = nr ? nr : mcp->recording_cnt;
	if (nr && nr <= mcp->recording_cnt && mcp->recording_cnt - nr < TAPIR_MCP_MAX_RECORDINGS)
		return mcp->recordings[(nr - 1) % TAPIR_MCP_MAX_RECORDINGS];
	tapir_str__adds(out, mcp->recording_cnt ? "no such recording: the last 8 are kept"
						: "no recording yet: call record first");
	return -EINVAL;
}

/* What a first look needs of a report. */
static int shorten(struct tapir_str *report, unsigned nr)
{
	static const char *const keys[] = {"headline", "findings", "duration_ns", "cpus",
					   "lost",     "gaps",	   "complete"};
	json_t *whole = json_loadb(report->data ? report->data : "", report->len, 0, NULL);
	json_t *brief = json_object();
	char name[16], *text;

	snprintf(name, sizeof(name), "r%u", nr);
	json_object_set_new(brief, "recording", json_string(name));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		json_object_set(brief, keys[i], json_object_get(whole, keys[i]));
	text = whole ? json_dumps(brief, JSON_COMPACT) : NULL;
	report->len = 0;
	if (text)
		tapir_str__adds(report, text);
	free(text);
	json_decref(whole);
	json_decref(brief);
	return text ? 0 : fail(report, "the report is not valid JSON");
}

static int read_findings(struct tapir_mcp *mcp, unsigned nr, int fd, struct tapir_str *out)
{
	static const char *const argv[] = {"report", "-", "--json", NULL};
	struct tapir_mcp_call call = {.argv = argv, .input_fd = fd, .output_fd = -1, .out = out};
	int err;

	(void)lseek(fd, 0, SEEK_SET);
	err = run(mcp, &call);
	return err ? err : shorten(out, nr);
}

/* Keeps the recording in place of the oldest one. */
static int make_recording(struct tapir_mcp *mcp, const struct words *w, struct tapir_str *out)
{
	int fd = tapir_file__temporary();
	struct tapir_mcp_call call = {.argv = w->argv, .input_fd = -1, .output_fd = fd, .out = out};
	unsigned at = mcp->recording_cnt % TAPIR_MCP_MAX_RECORDINGS;
	int err;

	if (fd < 0)
		return fail(out, "cannot create a temporary file (TMPDIR)");
	err = run(mcp, &call);
	if (err) {
		close(fd);
		return err;
	}
	if (mcp->recording_cnt >= TAPIR_MCP_MAX_RECORDINGS)
		close(mcp->recordings[at]);
	mcp->recordings[at] = fd;
	mcp->recording_cnt++;
	return read_findings(mcp, mcp->recording_cnt, fd, out);
}

static int call_tool(struct tapir_mcp *mcp, const struct tool *tool, const json_t *arguments,
		     struct words *w, struct tapir_str *out)
{
	struct tapir_mcp_call call = {.argv = w->argv, .input_fd = -1, .output_fd = -1, .out = out};
	unsigned nr = 0;
	int err;

	for (size_t i = 0; i < 4 && tool->words[i]; i++)
		add_word(w, "%s", tool->words[i]);
	err = add_arguments(tool, arguments, w, &nr, out);
	if (err)
		return err;
	if (tool->makes)
		return make_recording(mcp, w, out);
	if (!tool->reads)
		return run(mcp, &call);
	call.input_fd = find_recording(mcp, nr, out);
	if (call.input_fd < 0)
		return call.input_fd;
	if (!strcmp(tool->name, "findings"))
		return read_findings(mcp, nr ? nr : mcp->recording_cnt, call.input_fd, out);
	(void)lseek(call.input_fd, 0, SEEK_SET);
	return run(mcp, &call);
}

int tapir_mcp_tools__call(struct tapir_mcp *mcp, const char *name, const json_t *arguments,
			  struct tapir_str *out)
{
	for (size_t i = 0; i < TOOL_CNT; i++) {
		struct words w = {};
		int err;

		if (strcmp(name, tools[i].name))
			continue;
		err = call_tool(mcp, &tools[i], arguments, &w, out);
		fini_words(&w);
		return err;
	}
	tapir_str__addf(out, "no tool '%.64s' (tools/list has them)", name);
	return -EINVAL;
}
