// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Replies of a .NET runtime's diagnostics port. The first byte selects the command; the rest is the
 * message.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/dotnet/dotnet_ipc.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

/* A well-formed text can be sent in a request, as long as it fits. */
static void send(const char *text)
{
	static const uint8_t clsid[16];
	struct tapir_str request = {};
	int err = tapir_dotnet__put_attach_profiler(&request, 5, clsid, text, NULL, 0);

	if (err == -EINVAL && *text)
		abort();
	tapir_str__fini(&request);
}

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
	if (tapir_dotnet__parse_process(&reply, commands[which % 3], &process))
		return;
	if (!process.cmdline || !process.os || !process.arch || !process.entry_assembly ||
	    !process.version || !process.rid)
		abort();
	send(process.cmdline);
	tapir_dotnet_process__fini(&process);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	if (!len)
		return 0;
	if (!tapir_dotnet__parse_advert(input, len) && len != TAPIR_DOTNET_ADVERT_BYTES)
		abort();
	fuzz_reply(input + 1, len - 1, *input);
	return 0;
}
