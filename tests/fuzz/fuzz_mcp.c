// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages of an assistant; commands answer with the message itself. */
#include <stdint.h>
#include <string.h>

#include "base/child/child_run.h"
#include "base/file.h"
#include "cli/mcp/mcp.h"

static const char *message;
static size_t message_len;

static int run(struct tapir_mcp_call *call)
{
	for (const char *const *word = call->argv; *word; word++)
		if (!strcmp(*word, "--output") ||
		    ((*word)[0] == '/' && strcmp(*word, TAPIR_CHILD_RUN_OTHER) != 0))
			__builtin_trap();
	if (call->output_fd < 0)
		tapir_str__add(call->out, message, message_len);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_mcp_recordings recordings = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct tapir_mcp mcp = {.run = run, .recordings = &recordings, .stop_fd = -1};
	struct tapir_str out = {};

	message = (const char *)data;
	message_len = size;
	(void)tapir_mcp__answer(&mcp, message, size, &out);
	tapir_str__fini(&out);
	tapir_mcp_recordings__fini(&recordings);
	return 0;
}
