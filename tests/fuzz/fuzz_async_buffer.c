// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Buffers of .NET 11's AsyncProfilerEventSource, whatever is in them: one that is refused gives
 * nothing and teaches nothing. Two bytes: the length of a first buffer; what it teaches is valid
 * for the second one. Where the header's own claims are put right, more of the events is reached.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/async_buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

struct seen {
	uint32_t cnt;
	uint64_t last;
};

static void take(void *ctx, const struct tapir_async_header *header,
		 const struct tapir_async_event *event)
{
	struct seen *seen = ctx;

	if (event->ticks < header->first || event->ticks > header->last ||
	    event->ticks < seen->last)
		abort();
	seen->last = event->ticks;
	seen->cnt++;
}

static void read_one(struct tapir_async_layout *layout, const uint8_t *input, size_t len)
{
	struct tapir_async_layout before = *layout;
	struct tapir_async_header header = {};
	struct seen seen = {};
	uint8_t *copy = malloc(len ? len : 1);
	enum tapir_async_fault fault;

	if (!copy)
		abort();
	memcpy(copy, input, len);
	if (len >= TAPIR_ASYNC_HEADER_BYTES && copy[0] & 2) { /* with a header that fits */
		copy[0] = 1;
		for (unsigned i = 0; i < 4; i++)
			copy[1 + i] = (uint8_t)(len >> (8 * i));
	}
	fault = tapir_async_buffer__read(layout, copy, len, &header, take, &seen);
	if (fault ? seen.cnt || memcmp(layout, &before, sizeof(before))
		  : seen.cnt != header.event_cnt)
		abort();
	if (!*tapir_async_fault__text(fault))
		abort();
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct tapir_async_layout layout;
	size_t first;

	if (len < 2)
		return 0;
	first = input[0] | (size_t)input[1] << 8;
	input += 2;
	len -= 2;
	first = first < len ? first : len;
	tapir_async_layout__init(&layout);
	read_one(&layout, input, first);
	read_one(&layout, input + first, len - first);
	return 0;
}
