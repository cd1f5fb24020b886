/* SPDX-License-Identifier: GPL-2.0-or-later */
/* async_builder.h - buffers as .NET 11's AsyncProfilerEventSource makes them, and others. */
#ifndef TAPIR_TEST_ASYNC_BUILDER_H
#define TAPIR_TEST_ASYNC_BUILDER_H

#include <string.h>

#include "decode/async_buffer.h"

struct async_builder {
	uint8_t bytes[4096];
	size_t len;
	uint64_t last;
	uint32_t cnt;
	uint8_t length_bytes[256]; /* as the runtime has them */
};

static inline void async_le(struct async_builder *b, size_t at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		b->bytes[at + i] = (uint8_t)(value >> (8 * i));
}

static inline void async_byte(struct async_builder *b, uint64_t value)
{
	b->bytes[b->len++] = (uint8_t)value;
}

static inline void async_number(struct async_builder *b, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		async_byte(b, (value & 0x7f) | 0x80);
	async_byte(b, value);
}

static inline void async_difference(struct async_builder *b, int64_t value)
{
	async_number(b, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline void async_start(struct async_builder *b, uint64_t tid, uint64_t first)
{
	struct tapir_async_layout layout;

	tapir_async_layout__init(&layout);
	*b = (struct async_builder){.len = TAPIR_ASYNC_HEADER_BYTES, .last = first};
	memcpy(b->length_bytes, layout.length_bytes, sizeof(b->length_bytes));
	async_le(b, 0, 1, 1);
	async_le(b, 5, 7, 4);
	async_le(b, 9, tid, 8);
	async_le(b, 21, first, 8);
}

/* The header as it is when the runtime sends the buffer. */
static inline void async_finish(struct async_builder *b)
{
	async_le(b, 1, b->len, 4);
	async_le(b, 17, b->cnt, 4);
	async_le(b, 29, b->last, 8);
}

static inline void async_event(struct async_builder *b, uint8_t id, uint64_t ticks,
			       const uint8_t *payload, size_t payload_len)
{
	async_byte(b, id);
	async_number(b, ticks - b->last);
	b->last = ticks;
	b->cnt++;
	if (b->length_bytes[id] != TAPIR_ASYNC_UNKNOWN) {
		async_le(b, b->len, payload_len, b->length_bytes[id]);
		b->len += b->length_bytes[id];
	}
	memcpy(b->bytes + b->len, payload, payload_len);
	b->len += payload_len;
}

static inline void async_plain(struct async_builder *b, uint8_t id, uint64_t ticks)
{
	async_event(b, id, ticks, b->bytes, 0);
}

/* With a number or two. */
static inline void async_numbers(struct async_builder *b, uint8_t id, uint64_t ticks,
				 const uint64_t *numbers, unsigned cnt)
{
	struct async_builder payload = {};

	for (unsigned i = 0; i < cnt; i++)
		async_number(&payload, numbers[i]);
	async_event(b, id, ticks, payload.bytes, payload.len);
}

/* frames: innermost first. */
static inline void async_stack(struct async_builder *b, uint8_t id, uint64_t ticks,
			       uint64_t dispatcher, const uint64_t *frames, unsigned cnt)
{
	struct async_builder payload = {};
	int is_machine = id >= TAPIR_ASYNC_MACHINE_CREATE;

	async_byte(&payload, 0);
	async_byte(&payload, 0);
	async_byte(&payload, cnt);
	if (id == TAPIR_ASYNC_RUNTIME_CREATE_STACK)
		async_number(&payload, dispatcher + 1);
	async_number(&payload, dispatcher);
	for (unsigned i = 0; i < cnt; i++) {
		if (i)
			async_difference(&payload, (int64_t)(frames[i] - frames[i - 1]));
		else
			async_number(&payload, frames[i]);
		if (is_machine)
			async_difference(&payload, (int)i - 2);
	}
	async_event(b, id, ticks, payload.bytes, payload.len);
}

/* entries: id, version, bytes of its length, each. */
static inline void async_metadata(struct async_builder *b, uint64_t ticks, uint64_t ticks_per_s,
				  const uint8_t (*entries)[3], unsigned cnt)
{
	struct async_builder payload = {};

	async_number(&payload, ticks_per_s);
	async_number(&payload, ticks);
	async_number(&payload, 134000000000000000);
	async_number(&payload, 16128);
	async_byte(&payload, 32);
	async_byte(&payload, cnt);
	for (unsigned i = 0; i < cnt; i++)
		for (unsigned k = 0; k < 3; k++)
			async_byte(&payload, entries[i][k]);
	async_event(b, TAPIR_ASYNC_METADATA, ticks, payload.bytes, payload.len);
	for (unsigned i = 0; i < cnt; i++)
		b->length_bytes[entries[i][0]] = entries[i][2];
}

#endif
