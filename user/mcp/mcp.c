// SPDX-License-Identifier: GPL-2.0-or-later
/* JSON-RPC: a line in, a line out. What arrives is an assistant's, and checked as such. */
#include "mcp/mcp.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "mcp/mcp_tools.h"
#include "serve/child_run.h"

enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	METHOD_NOT_FOUND = -32601,
	INVALID_PARAMS = -32602,
};

/* Versions whose initialize and tools are the same for what this server does; the newest first. */
static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

/* ---- answers --------------------------------------------------------------------------------- */

/* Takes body. id: of the request; NULL: not known. */
static int add_answer(struct tapir_str *out, const json_t *id, const char *key, json_t *body)
{
	json_t *known = id ? json_deep_copy(id) : json_null();
	json_t *answer = json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", known, key, body);
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	if (text)
		tapir_str__adds(out, text);
	free(text);
	json_decref(answer);
	return text && !out->failed ? 0 : -ENOMEM;
}

static int add_error(struct tapir_str *out, const json_t *id, int code, const char *message)
{
	return add_answer(out, id, "error",
			  json_pack("{s:i, s:s}", "code", code, "message", message));
}

/* ---- methods --------------------------------------------------------------------------------- */

static json_t *initialize(const json_t *params)
{
	const char *wanted = json_string_value(json_object_get(params, "protocolVersion"));
	const char *version = versions[0];

	for (size_t i = 0; wanted && i < sizeof(versions) / sizeof(*versions); i++)
		if (!strcmp(wanted, versions[i]))
			version = versions[i];
	return json_pack(
		"{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion", version, "capabilities",
		"tools", "serverInfo", "name", "tapir", "version", TAPIR_VERSION, "instructions",
		"Find the process with processes, then record it for some seconds: the answer "
		"names what is wrong, worst first, each with the view that shows more.");
}

static int call_tool(struct tapir_mcp *mcp, const json_t *id, const json_t *params,
		     struct tapir_str *out)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	const json_t *arguments = json_object_get(params, "arguments");
	struct tapir_str text = {};
	json_t *body;
	int err;

	if (!name || (arguments && !json_is_object(arguments)))
		return add_error(out, id, INVALID_PARAMS,
				 "tools/call takes name, and arguments, an object");
	err = tapir_mcp_tools__call(mcp, name, arguments, &text);
	if (err == -EINVAL) {
		err = add_error(out, id, INVALID_PARAMS, text.data ? text.data : "wrong argument");
	} else if (err >= 0) {
		body = json_pack("{s:[{s:s, s:s%}], s:b}", "content", "type", "text", "text",
				 text.data ? text.data : "", text.len, "isError", err == 1);
		err = body ? add_answer(out, id, "result", body)
			   : add_error(out, id, PARSE_ERROR, "the result is not valid UTF-8");
	}
	tapir_str__fini(&text);
	return err;
}

static int answer_request(struct tapir_mcp *mcp, const json_t *id, const char *method,
			  const json_t *params, struct tapir_str *out)
{
	if (!strcmp(method, "initialize"))
		return add_answer(out, id, "result", initialize(params));
	if (!strcmp(method, "ping"))
		return add_answer(out, id, "result", json_object());
	if (!strcmp(method, "tools/list"))
		return add_answer(out, id, "result",
				  json_pack("{s:o?}", "tools", tapir_mcp_tools__list()));
	if (!strcmp(method, "tools/call"))
		return call_tool(mcp, id, params, out);
	return add_error(out, id, METHOD_NOT_FOUND,
			 "no such method: initialize, ping, tools/list, tools/call");
}

int tapir_mcp__answer(struct tapir_mcp *mcp, const char *line, size_t len, struct tapir_str *out)
{
	json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	const json_t *id = json_object_get(message, "id");
	const char *method = json_string_value(json_object_get(message, "method"));
	const json_t *params = json_object_get(message, "params");
	int err = 0;

	if (!message)
		err = add_error(out, NULL, PARSE_ERROR, "not a JSON document on one line");
	else if (!json_is_object(message) || !method || (params && !json_is_object(params)) ||
		 (id && !json_is_string(id) && !json_is_integer(id)))
		err = add_error(out, NULL, INVALID_REQUEST, "not a JSON-RPC 2.0 request");
	else if (id) /* else a notification: of initialized, cancelled */
		err = answer_request(mcp, id, method, params, out);
	json_decref(message);
	return err;
}

/* ---- input and output ------------------------------------------------------------------------ */

static int take_output(void *ctx, const char *data, size_t len)
{
	struct tapir_mcp_call *call = ctx;

	if (call->output_fd >= 0)
		return tapir_file__write_all(call->output_fd, data, len);
	if (call->out->len + len > TAPIR_MCP_MAX_ANSWER)
		return -EFBIG;
	tapir_str__add(call->out, data, len);
	return call->out->failed ? -ENOMEM : 0;
}

static int run_tapir(struct tapir_mcp_call *call)
{
	struct tapir_child_run run = {.argv = call->argv,
				      .input_fd = call->input_fd,
				      .has_privileges = call->input_fd < 0,
				      .on_output = take_output,
				      .ctx = call};
	int err = tapir_child_run__do(&run);

	call->exit_code = run.exit_code;
	call->why = run.errors;
	return err;
}

static int answer_line(struct tapir_mcp *mcp, const char *line, size_t len)
{
	struct tapir_str out = {};
	int err = tapir_mcp__answer(mcp, line, len, &out);

	if (!err && out.len) {
		tapir_str__addc(&out, '\n');
		err = out.failed ? -ENOMEM
				 : tapir_file__write_all(STDOUT_FILENO, out.data, out.len);
	}
	tapir_str__fini(&out);
	return err;
}

/* Answers the whole lines of what was read, and keeps the rest. */
static int answer_lines(struct tapir_mcp *mcp, struct tapir_str *input)
{
	char *line = input->data, *end;
	int err = 0;

	while (!err && (end = memchr(line, '\n', input->len - (size_t)(line - input->data)))) {
		if (end > line)
			err = answer_line(mcp, line, (size_t)(end - line));
		line = end + 1;
	}
	input->len -= (size_t)(line - input->data);
	memmove(input->data, line, input->len);
	if (!err && input->len > TAPIR_MCP_MAX_LINE)
		err = tapir_diag__fail(-EMSGSIZE, "cannot read a message longer than %u bytes",
				       TAPIR_MCP_MAX_LINE);
	return err;
}

int tapir_mcp__serve(void)
{
	struct tapir_mcp mcp = {.run = run_tapir};
	struct tapir_str input = {};
	char block[4096];
	ssize_t n;
	int err = 0;

	while (!err) {
		n = read(STDIN_FILENO, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		tapir_str__add(&input, block, (size_t)n);
		err = input.failed ? -ENOMEM : answer_lines(&mcp, &input);
	}
	tapir_str__fini(&input);
	tapir_mcp__fini(&mcp);
	return err == -EPIPE ? 0 : err;
}

void tapir_mcp__fini(struct tapir_mcp *mcp)
{
	for (unsigned i = 0; i < mcp->recording_cnt && i < TAPIR_MCP_MAX_RECORDINGS; i++)
		close(mcp->recordings[i]);
	mcp->recording_cnt = 0;
}
