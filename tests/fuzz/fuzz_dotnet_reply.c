// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Replies of a .NET runtime's diagnostics port. The first byte says which command was asked; the
 * rest is the message, or, for an odd one, what follows it: an environment. What is read must be
 * text without a NUL inside, and what was put must be read back.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/dotnet_ipc.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static void fuzz_reply(const uint8_t *bytes, size_t len, unsigned which)
{
	static const enum tapir_dotnet_command commands[] = {
		TAPIR_DOTNET_PROCESS_INFO, TAPIR_DOTNET_PROCESS_INFO2, TAPIR_DOTNET_PROCESS_INFO3};
	struct tapir_dotnet_process process;
	struct tapir_dotnet_reply reply;
	uint64_t session;
	uint32_t value;

	if (tapir_dotnet__parse_reply(bytes, len, &reply))
		return;
	if (reply.is_error) {
		if (!*tapir_dotnet__error_text(reply.hresult))
			abort();
		return;
	}
	(void)tapir_dotnet__parse_hresult(&reply, &value);
	(void)tapir_dotnet__parse_session(&reply, &session);
	if (!tapir_dotnet__parse_env_bytes(&reply, &value) && value > TAPIR_DOTNET_MAX_ENV_BYTES)
		abort();
	if (tapir_dotnet__parse_process(&reply, commands[which % 3], &process))
		return;
	if (!process.cmdline || !process.os || !process.arch || !process.entry_assembly ||
	    !process.version || !process.rid)
		abort();
	tapir_dotnet_process__fini(&process);
}

/* What is well-formed can be said in a request, as long as it fits. */
static void say(const char *text)
{
	struct tapir_str request = {};
	int err = tapir_dotnet__put_set_env(&request, "A", text);

	if (err == -22)
		abort();
	tapir_str__fini(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_str environment = {};

	if (!len)
		return 0;
	if (!tapir_dotnet__parse_advert(input, len) && len != TAPIR_DOTNET_ADVERT_BYTES)
		abort();
	if (!(*input & 1)) {
		fuzz_reply(input + 1, len - 1, *input / 2);
		return 0;
	}
	if (!tapir_dotnet__parse_env(input + 1, len - 1, &environment))
		for (size_t at = 0; at < environment.len; at += strlen(environment.data + at) + 1)
			say(environment.data + at);
	tapir_str__fini(&environment);
	return 0;
}
