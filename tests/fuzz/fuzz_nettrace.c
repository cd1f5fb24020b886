// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One byte: how large the pieces are; then an event stream, with its head left out so that it is
 * always right. Every byte that is handed on is read, and what is handed on is bounded by the
 * input.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/event_blob.h"
#include "decode/nettrace_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len);

static volatile uint8_t sum;
static size_t handed_on;

static void read_bytes(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + bytes[i]);
	handed_on += len;
}

static void on_start(void *ctx, const struct tapir_nettrace_start *start)
{
	(void)ctx;
	if (!start->ticks_per_sec)
		abort();
}

static void on_metadata(void *ctx, const struct tapir_nettrace_metadata *m)
{
	struct tapir_event_blob *blob;

	(void)ctx;
	read_bytes((const uint8_t *)m->provider, strlen(m->provider));
	read_bytes(m->blob, m->blob_bytes);
	if (!tapir_event_blob__parse(m->blob, m->blob_bytes, &blob))
		tapir_event_blob__free(blob);
}

static void on_stack(void *ctx, const struct tapir_nettrace_stack *stack)
{
	(void)ctx;
	if (stack->frame_cnt > TAPIR_NETTRACE_FRAMES_MAX)
		abort();
	read_bytes((const uint8_t *)stack->frames_va, stack->frame_cnt * sizeof(uint64_t));
}

static void on_event(void *ctx, const struct tapir_nettrace_event *event)
{
	(void)ctx;
	read_bytes(event->payload, event->payload_bytes);
	if (event->activity_id)
		read_bytes(event->activity_id, 16);
	if (event->related_id)
		read_bytes(event->related_id, 16);
}

static void on_forget(void *ctx)
{
	(void)ctx;
}

static void on_lost(void *ctx, uint64_t cnt, uint64_t ticks)
{
	(void)ctx, (void)ticks;
	if (!cnt || cnt > UINT32_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	static const char head[] = "Nettrace\x14\0\0\0!FastSerialization.1";
	const struct tapir_nettrace_sink sink = {.on_start = on_start,
						 .on_metadata = on_metadata,
						 .on_stack = on_stack,
						 .on_event = on_event,
						 .on_forget = on_forget,
						 .on_lost = on_lost};
	struct tapir_nettrace_stream *s;
	size_t piece;

	if (!len || tapir_nettrace_stream__new(&sink, &s))
		return 0;
	piece = input[0] + 1u;
	input++;
	len--;
	tapir_nettrace_stream__feed(s, head, 32);
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		uint8_t *copy = malloc(n);

		if (!copy)
			abort();
		memcpy(copy, input + at, n);
		tapir_nettrace_stream__feed(s, copy, n);
		free(copy);
	}
	tapir_nettrace_stream__free(s);
	return 0;
}
