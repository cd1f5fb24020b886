// SPDX-License-Identifier: GPL-2.0-or-later
/* Any answer of a server: its status is the same in one piece and in pieces of any size. */
#include <stdlib.h>

#include "agent/push/grpc_status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int32_t status_of(const char *data, size_t size, size_t piece)
{
	struct tapir_grpc_status s;

	tapir_grpc_status__init(&s);
	for (size_t at = 0; at < size; at += piece)
		tapir_grpc_status__add_body(&s, data + at, size - at < piece ? size - at : piece);
	if (s.status < TAPIR_GRPC_NO_STATUS || s.line_len > sizeof(s.line))
		abort();
	return s.status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tapir_grpc_status s;

	if (!size)
		return 0;
	tapir_grpc_status__init(&s);
	tapir_grpc_status__add_header(&s, (const char *)data, size);
	if (status_of((const char *)data + 1, size - 1, size) !=
	    status_of((const char *)data + 1, size - 1, data[0] + 1u))
		abort();
	return 0;
}
