// SPDX-License-Identifier: GPL-2.0-or-later
/* The Model Context Protocol: what a message makes tapir run, and what it answers to wrong ones. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/file.h"
#include "cli/mcp/mcp.h"

static struct tapir_mcp_recordings recordings;
static struct tapir_mcp mcp;
static char ran[16384]; /* the words of all runs: "ps --json; " */
static const char *printed;
static int exit_code, error;

/* In place of another tapir. */
static int fake_run(struct tapir_mcp_call *call)
{
	size_t len = strlen(ran);

	for (const char *const *word = call->argv; *word; word++)
		len += (size_t)snprintf(ran + len, sizeof(ran) - len, "%s ", *word);
	snprintf(ran + len, sizeof(ran) - len, "<%d; ",
		 (call->input_fd >= 0) + (call->other_fd > 0));
	if (error == -ECANCELED)
		return error;
	if (call->output_fd >= 0)
		return tapir_file__write_all(call->output_fd, "recording", 9);
	tapir_str__adds(call->out, printed);
	if (exit_code)
		tapir_str__adds(&call->why, "process 7 does not exist");
	call->exit_code = exit_code;
	return error;
}

static int setup(void **state)
{
	(void)state;
	recordings = (struct tapir_mcp_recordings){.lock = PTHREAD_MUTEX_INITIALIZER};
	mcp = (struct tapir_mcp){.run = fake_run, .recordings = &recordings, .stop_fd = -1};
	*ran = '\0';
	printed = "{}";
	exit_code = error = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_mcp_recordings__fini(&recordings);
	return 0;
}

/* The answer; NULL: none. */
static json_t *ask(const char *line)
{
	struct tapir_str out = {};
	json_t *answer;

	assert_int_equal(tapir_mcp__answer(&mcp, line, strlen(line), &out), 0);
	answer = out.len ? json_loadb(out.data, out.len, 0, NULL) : NULL;
	assert_true(!out.len || answer);
	assert_null(out.len ? memchr(out.data, '\n', out.len) : NULL);
	tapir_str__fini(&out);
	return answer;
}

static json_t *call(const char *tool, const char *arguments)
{
	char line[512];

	snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
		"\"arguments\":%s}}",
		tool, arguments);
	return ask(line);
}

static int code_of(json_t *answer)
{
	int code =
		(int)json_integer_value(json_object_get(json_object_get(answer, "error"), "code"));

	json_decref(answer);
	return code;
}

/* out: the text, of 256 bytes. Returns isError. */
static bool text_of(json_t *answer, char *out)
{
	const json_t *result = json_object_get(answer, "result");
	const json_t *content = json_array_get(json_object_get(result, "content"), 0);
	bool failed = json_is_true(json_object_get(result, "isError"));

	assert_non_null(content);
	snprintf(out, 256, "%s", json_string_value(json_object_get(content, "text")));
	json_decref(answer);
	return failed;
}

static void session_begins_with_a_version_both_know(void **state)
{
	json_t *answer = ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
			     "\"protocolVersion\":\"2024-11-05\"}}");
	const json_t *result = json_object_get(answer, "result");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(result, "protocolVersion")),
			    "2024-11-05");
	assert_non_null(strstr(json_string_value(json_object_get(result, "instructions")),
			       "data of the traced programs"));
	json_decref(answer);
	answer = ask("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"initialize\",\"params\":{"
		     "\"protocolVersion\":\"1999-01-01\"}}");
	result = json_object_get(answer, "result");
	assert_string_equal(json_string_value(json_object_get(result, "protocolVersion")),
			    "2025-06-18");
	assert_string_equal(json_string_value(json_object_get(answer, "id")), "a");
	json_decref(answer);
	assert_null(ask("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
}

static void tools_have_schemas(void **state)
{
	json_t *answer = ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	const json_t *tools = json_object_get(json_object_get(answer, "result"), "tools");

	(void)state;
	assert_int_equal(json_array_size(tools), 13);
	for (size_t i = 0; i < json_array_size(tools); i++) {
		const json_t *tool = json_array_get(tools, i);
		const json_t *schema = json_object_get(tool, "inputSchema");
		const json_t *required = json_object_get(schema, "required");

		assert_true(strlen(json_string_value(json_object_get(tool, "description"))) > 10);
		for (size_t r = 0; r < json_array_size(required); r++)
			assert_non_null(
				json_object_get(json_object_get(schema, "properties"),
						json_string_value(json_array_get(required, r))));
	}
	json_decref(answer);
}

static void tools_are_commands(void **state)
{
	char text[256];

	(void)state;
	printed = "{\"headline\":\"h\",\"functions\":[1,2,3],\"findings\":[]}";
	assert_false(text_of(call("record", "{\"pid\":7,\"seconds\":2,\"profile\":\"gc\","
					    "\"events\":[\"hotspot:gc__*\"]}"),
			     text));
	assert_string_equal(ran,
			    "record -o - --pid=7 --duration=2.000 --profile=gc hotspot:gc__* <0; "
			    "report - --json <1; ");
	assert_string_equal(text, "{\"recording\":\"r1\",\"headline\":\"h\",\"findings\":[]}");
	*ran = '\0';
	assert_false(
		text_of(call("view", "{\"view\":\"gc\",\"recording\":\"r1\",\"top\":3}"), text));
	assert_string_equal(ran, "report - --json --view=gc --top=3 <1; ");
	assert_string_equal(text, printed);
	*ran = '\0';
	assert_false(text_of(call("question", "{\"source\":\"gc__*\",\"by\":\"comm,pid\"}"), text));
	assert_string_equal(ran, "events - --json --count gc__* --by=comm,pid <1; ");
	*ran = '\0';
	assert_false(text_of(call("query", "{\"sql\":\"SELECT 1 -- one\"}"), text));
	assert_string_equal(ran, "query - --json --timeout=30  SELECT 1 -- one <1; ");
	*ran = '\0';
	assert_false(text_of(call("diff", "{\"first\":\"r1\"}"), text));
	assert_string_equal(ran, "diff /proc/self/fd/3 - --json --top=10 <2; ");
	*ran = '\0';
	assert_false(text_of(call("stacks", "{\"pid\":7}"), text));
	assert_false(text_of(call("processes", "{}"), text));
	assert_string_equal(ran, "stacks --json --pid=7 <0; ps --json <0; ");
	*ran = '\0';
	assert_false(text_of(call("report", "{\"from\":1}"), text));
	assert_false(text_of(call("report", "{\"top\":3}"), text));
	assert_string_equal(ran, "report - --json --from=1.000 --top=20 <1; "
				 "report - --json --top=3 <1; ");
}

static void what_fails_says_why(void **state)
{
	char text[256];

	(void)state;
	exit_code = 1;
	assert_true(text_of(call("stacks", "{\"pid\":7}"), text));
	assert_string_equal(text, "process 7 does not exist");
	exit_code = 0;
	error = -EFBIG;
	assert_true(text_of(call("stacks", "{\"pid\":7}"), text));
	assert_non_null(strstr(text, "larger than 8 MB"));
	error = 0;
	printed = "no JSON";
	assert_true(text_of(call("record", "{\"pid\":7}"), text));
}

static void the_last_recordings_are_kept(void **state)
{
	char text[256];

	(void)state;
	assert_int_equal(code_of(call("report", "{}")), -32602);
	for (int i = 0; i < 10; i++)
		assert_false(text_of(call("record", "{\"pid\":7}"), text));
	assert_string_equal(text, "{\"recording\":\"r10\"}");
	assert_int_equal(code_of(call("report", "{\"recording\":\"r2\"}")), -32602);
	assert_int_equal(code_of(call("report", "{\"recording\":\"r11\"}")), -32602);
	assert_false(text_of(call("report", "{\"recording\":\"r3\"}"), text));
	assert_false(text_of(call("report", "{}"), text));
}

static void no_argument_is_a_path_or_an_option(void **state)
{
	static const char *const wrong[][2] = {
		{"record", "{}"},
		{"record", "{\"pid\":0}"},
		{"record", "{\"pid\":-1}"},
		{"record", "{\"pid\":\"7\"}"},
		{"record", "{\"pid\":7,\"seconds\":601}"},
		{"record", "{\"pid\":7,\"seconds\":-1}"},
		{"record", "{\"pid\":7,\"seconds\":0.09}"},
		{"record", "{\"pid\":7,\"profile\":\"nonsense\"}"},
		{"record", "{\"pid\":7,\"profile\":\"\"}"},
		{"report", "{\"recording\":\"r0x1\"}"},
		{"report", "{\"recording\":\"r01\"}"},
		{"stacks", "{\"pid\":7,\"seconds\":1}"},
		{"async_stacks", "{}"},
		{"record", "{\"pid\":7,\"events\":[\"-o\"]}"},
		{"record", "{\"pid\":7,\"events\":[\"/etc/passwd:a:b\"]}"},
		{"record", "{\"pid\":7,\"events\":[7]}"},
		{"record", "{\"pid\":7,\"events\":\"a\"}"},
		{"record", "{\"pid\":7,\"output\":\"/tmp/x\"}"},
		{"report", "{\"recording\":\"/etc/passwd\"}"},
		{"view", "{\"view\":\"\"}"},
		{"question", "{}"},
		{"question", "{\"source\":\"@/etc/passwd\"}"},
		{"question", "{\"source\":\"@passwd\"}"},
		{"question", "{\"source\":\"--help\"}"},
		{"question", "{\"source\":\"a if b\"}"},
		{"question", "{\"source\":\"a\",\"where\":\"\"}"},
		{"diff", "{}"},
		{"diff", "{\"first\":\"r7\"}"},
		{"diff", "{\"first\":\"/etc/passwd\"}"},
		{"query", "{}"},
		{"query", "{\"sql\":\"\"}"},
		{"query", "{\"sql\":7}"},
		{"nonsense", "{}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(code_of(call(wrong[i][0], wrong[i][1])), -32602);
	assert_string_equal(ran, "");
}

/* The text of an error. */
static void error_of(json_t *answer, char *out)
{
	snprintf(out, 256, "%s",
		 json_string_value(json_object_get(json_object_get(answer, "error"), "message")));
	json_decref(answer);
}

static void unknown_argument_is_named_with_the_known(void **state)
{
	char text[256];

	(void)state;
	error_of(call("view", "{\"view\":\"cpu\",\"seconds\":1}"), text);
	assert_string_equal(text,
			    "view takes no argument 'seconds': it takes view, recording, pid, top");
	error_of(call("processes", "{\"pid\":1}"), text);
	assert_string_equal(text, "processes takes no argument 'pid': it takes none");
}

static json_t *schema_of(const char *tool, const char *argument)
{
	json_t *answer = ask("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	const json_t *list = json_object_get(json_object_get(answer, "result"), "tools");
	json_t *found = NULL;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const json_t *schema = json_object_get(one, "inputSchema");

		if (!strcmp(json_string_value(json_object_get(one, "name")), tool))
			found = json_incref(
				json_object_get(json_object_get(schema, "properties"), argument));
	}
	json_decref(answer);
	assert_non_null(found);
	return found;
}

static bool takes_number(const char *tool, const char *argument, double value, bool is_complete)
{
	char text[128];

	snprintf(text, sizeof(text), is_complete ? "{\"%s\":%.0f%s}" : "{\"%s\":%.3f%s}", argument,
		 value,
		 !strcmp(argument, "pid") ? ""
		 : !strcmp(tool, "view")  ? ",\"view\":\"cpu\""
					  : ",\"pid\":1");
	return code_of(call(tool, text)) != -32602;
}

static void schemas_have_the_limits_that_are_held(void **state)
{
	static const struct {
		const char *tool, *argument;
		double step;
	} numbers[] = {{"record", "pid", 1},
		       {"stacks", "pid", 1},
		       {"record", "seconds", 0.01},
		       {"view", "top", 1}};
	char text[256];
	json_t *schema;

	(void)state;
	assert_false(text_of(call("record", "{\"pid\":7}"), text)); /* one to look at */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const char *tool = numbers[i].tool, *argument = numbers[i].argument;
		bool is_complete = numbers[i].step == 1;
		double least, most;

		schema = schema_of(tool, argument);
		least = json_number_value(json_object_get(schema, "minimum"));
		most = json_number_value(json_object_get(schema, "maximum"));
		assert_true(least < most);
		assert_true(takes_number(tool, argument, least, is_complete));
		assert_true(takes_number(tool, argument, most, is_complete));
		assert_false(takes_number(tool, argument, least - numbers[i].step, is_complete));
		assert_false(takes_number(tool, argument, most + numbers[i].step, is_complete));
		json_decref(schema);
	}
	schema = schema_of("record", "profile");
	assert_true(json_array_size(json_object_get(schema, "enum")) > 5);
	for (size_t i = 0; i < json_array_size(json_object_get(schema, "enum")); i++) {
		snprintf(text, sizeof(text), "{\"pid\":7,\"profile\":\"%s\"}",
			 json_string_value(json_array_get(json_object_get(schema, "enum"), i)));
		assert_int_not_equal(code_of(call("record", text)), -32602);
		*ran = '\0';
	}
	json_decref(schema);
}

static void batch_is_answered_by_an_array(void **state)
{
	json_t *answer = ask("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
			     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},"
			     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nonsense\"}]");

	(void)state;
	assert_int_equal(json_array_size(answer), 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(answer, 1), "id")), 2);
	json_decref(answer);
	assert_null(ask("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]"));
}

static void nobody_gets_the_answer_of_a_cancelled_call(void **state)
{
	const char *line = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{"
			   "\"name\":\"record\",\"arguments\":{\"pid\":7}}}";
	struct tapir_str out = {};

	(void)state;
	error = -ECANCELED;
	assert_int_equal(tapir_mcp__answer(&mcp, line, strlen(line), &out), -ECANCELED);
	assert_int_equal(out.len, 0);
	assert_int_equal(recordings.cnt, 0);
	tapir_str__fini(&out);
}

static void malformed_messages_are_errors(void **state)
{
	static const struct {
		const char *line;
		int code;
	} cases[] = {
		{"", -32700},
		{"{", -32700},
		{"\xff", -32700},
		{"{\"id\":1,\"id\":2}", -32700},
		{"[]", -32600},
		{"{}", -32600},
		{"{\"id\":{},\"method\":\"ping\"}", -32600},
		{"{\"id\":1,\"method\":7}", -32600},
		{"{\"id\":1.5,\"method\":\"ping\"}", -32600},
		{"7", -32600},
		{"{\"id\":1,\"method\":\"ping\",\"params\":[]}", -32600},
		{"{\"id\":1,\"method\":\"resources/list\"}", -32601},
		{"{\"id\":1,\"method\":\"tools/call\"}", -32602},
		{"{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"ps\",\"arguments\":[]}}",
		 -32602},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(code_of(ask(cases[i].line)), cases[i].code);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(session_begins_with_a_version_both_know),
		CASE(tools_have_schemas),
		CASE(tools_are_commands),
		CASE(what_fails_says_why),
		CASE(the_last_recordings_are_kept),
		CASE(no_argument_is_a_path_or_an_option),
		CASE(unknown_argument_is_named_with_the_known),
		CASE(schemas_have_the_limits_that_are_held),
		CASE(batch_is_answered_by_an_array),
		CASE(nobody_gets_the_answer_of_a_cancelled_call),
		CASE(malformed_messages_are_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
