// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as the request of a program to its agent. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/http/stdio_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_stdio_request rq;
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (!tapir_stdio_request__decode(copy, size, &rq)) {
		sink += strlen(rq.method) + strlen(rq.path) + (rq.body ? rq.body[rq.body_len] : 0);
		for (size_t i = 0; i < rq.pair_cnt; i++)
			if (!tapir_stdio_request__find(&rq, rq.pairs[i].kind, rq.pairs[i].name))
				abort();
	}
	free(copy);
	return 0;
}
