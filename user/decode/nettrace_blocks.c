// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A block of events or metadata: u16 bytes of its own header (with these), u16 flags (1: rows have
 * compressed headers, as a runtime's always do), times; then rows.
 *
 * A row: u8 what is there, then what differs from the row before, numbers as LEB128: 1 metadata id,
 * 2 sequence number (less the next one), capture thread, CPU, 4 thread, 8 stack, always time (less
 * the last), 16 activity, 32 related activity, 128 bytes of payload; the payload. 64: sorted.
 */
#include "decode/nettrace_blocks.h"

#include <string.h>

#include "decode/byte_input.h"
#include "decode/value_packed.h"

#define ROW_METADATA	   0x01u
#define ROW_CAPTURE	   0x02u
#define ROW_THREAD	   0x04u
#define ROW_STACK	   0x08u
#define ROW_ACTIVITY	   0x10u
#define ROW_RELATED	   0x20u
#define ROW_PAYLOAD	   0x80u
#define BLOCK_COMPRESSED   0x01u
#define HEADER_MIN_BYTES   4u
#define THREADS_MAX	   65536u
#define PROVIDER_MAX_UNITS 1024u
#define STACKS_MAX	   (1u << 20) /* of a block: one without frames has 4 bytes */

static uint64_t take_fixed(struct tapir_byte_input *in, unsigned bytes)
{
	const uint8_t *at = tapir_byte_input__take(in, bytes);
	uint64_t value = 0;

	for (unsigned i = 0; at && i < bytes; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

static uint64_t take_var(struct tapir_byte_input *in, unsigned max_bits)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < max_bits; shift += 7) {
		uint64_t byte = take_fixed(in, 1);

		value |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return max_bits == 32 ? (uint32_t)value : value;
	}
	in->is_bad = true;
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const uint8_t zeros[16];

struct row {
	uint32_t metadata_id, sequence, stack_id, payload_bytes;
	uint64_t capture_thread, thread, ticks;
	const uint8_t *activity_id, *related_id; /* never NULL */
	const uint8_t *payload;
};

/* *row has the one before, or zeros. */
static bool take_row(struct tapir_byte_input *in, struct row *row)
{
	unsigned has = (unsigned)take_fixed(in, 1);

	if (has & ROW_METADATA)
		row->metadata_id = (uint32_t)take_var(in, 32);
	if (has & ROW_CAPTURE) {
		row->sequence += (uint32_t)take_var(in, 32);
		row->capture_thread = take_var(in, 64);
		take_var(in, 32); /* the CPU, as the runtime numbers them */
	}
	row->sequence += row->metadata_id != 0; /* descriptions have no number */
	if (has & ROW_THREAD)
		row->thread = take_var(in, 64);
	if (has & ROW_STACK)
		row->stack_id = (uint32_t)take_var(in, 32);
	row->ticks += take_var(in, 64);
	if (has & ROW_ACTIVITY)
		row->activity_id = tapir_byte_input__take(in, 16);
	if (has & ROW_RELATED)
		row->related_id = tapir_byte_input__take(in, 16);
	if (has & ROW_PAYLOAD)
		row->payload_bytes = (uint32_t)take_var(in, 32);
	row->payload = tapir_byte_input__take(in, row->payload_bytes);
	return !in->is_bad;
}

/* false: no block whose rows can be read. */
static bool open_block(struct nettrace_blocks *b, const uint8_t *data, size_t len,
		       struct tapir_byte_input *in)
{
	uint64_t header_bytes, flags;

	*in = (struct tapir_byte_input){data, len, false};
	header_bytes = take_fixed(in, 2);
	flags = take_fixed(in, 2);
	if (header_bytes >= HEADER_MIN_BYTES)
		tapir_byte_input__take(in, header_bytes - HEADER_MIN_BYTES);
	if (!in->is_bad && header_bytes >= HEADER_MIN_BYTES && flags & BLOCK_COMPRESSED)
		return true;
	b->malformed_cnt++;
	return false;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* u32 metadata id, wstrz provider; the rest is what a profiler's callback gets, too. */
static void describe_metadata(struct nettrace_blocks *b, const struct row *row)
{
	char provider[PROVIDER_MAX_UNITS * 3 + 1];
	struct tapir_byte_input in = {row->payload, row->payload_bytes, false};
	struct tapir_nettrace_metadata out = {.metadata_id = (uint32_t)take_fixed(&in, 4),
					      .provider = provider};
	const uint8_t *text = in.at;
	size_t units = 0;

	while (take_fixed(&in, 2) && units <= PROVIDER_MAX_UNITS)
		units++;
	if (in.is_bad || units > PROVIDER_MAX_UNITS || !out.metadata_id) {
		b->malformed_cnt++;
		return;
	}
	provider[tapir_utf16__to_utf8(text, units * 2, provider)] = '\0';
	out.blob = in.at;
	out.blob_bytes = in.left;
	b->sink.on_metadata(b->sink.ctx, &out);
}

void tapir_nettrace_blocks__metadata(struct nettrace_blocks *b, const uint8_t *data, size_t len)
{
	struct row row = {.activity_id = zeros, .related_id = zeros};
	struct tapir_byte_input in;

	if (!open_block(b, data, len, &in))
		return;
	while (in.left && take_row(&in, &row))
		describe_metadata(b, &row);
	b->malformed_cnt += in.is_bad;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* NULL: there are too many. */
static uint64_t *thread_sequence(struct nettrace_blocks *b, uint64_t thread)
{
	uint64_t *slot = tapir_map__get(&b->sequences, thread);

	if (slot || b->sequences.cnt >= THREADS_MAX)
		return slot;
	return tapir_map__put(&b->sequences, thread, NULL);
}

/*
 * A thread counts what it tries to write from 1 on, in 32 bits. A number that is not ahead of the
 * last is of another thread that got its id.
 */
void tapir_nettrace_blocks__count(struct nettrace_blocks *b, uint64_t thread, uint32_t sequence,
				  uint64_t ticks)
{
	uint64_t *last = thread_sequence(b, thread);
	uint32_t ahead;

	if (!last)
		return;
	ahead = sequence - (uint32_t)*last;
	if (!ahead || ahead > INT32_MAX)
		ahead = sequence;
	*last = sequence;
	if (ahead > 1)
		b->sink.on_lost(b->sink.ctx, ahead - 1, ticks);
}

static void deliver_row(struct nettrace_blocks *b, const struct row *row)
{
	const struct tapir_nettrace_event event = {
		.ticks = row->ticks,
		.tid = row->thread,
		.metadata_id = row->metadata_id,
		.stack_id = row->stack_id,
		.activity_id = memcmp(row->activity_id, zeros, 16) ? row->activity_id : NULL,
		.related_id = memcmp(row->related_id, zeros, 16) ? row->related_id : NULL,
		.payload = row->payload,
		.payload_bytes = row->payload_bytes,
	};

	tapir_nettrace_blocks__count(b, row->capture_thread, row->sequence, row->ticks);
	b->sink.on_event(b->sink.ctx, &event);
}

void tapir_nettrace_blocks__events(struct nettrace_blocks *b, const uint8_t *data, size_t len)
{
	struct row row = {.activity_id = zeros, .related_id = zeros};
	struct tapir_byte_input in;

	if (!open_block(b, data, len, &in))
		return;
	while (in.left && take_row(&in, &row)) {
		if (!row.metadata_id) {
			in.is_bad = true;
			break;
		}
		deliver_row(b, &row);
	}
	b->malformed_cnt += in.is_bad;
}

/* ---- stacks, sequence points ----------------------------------------------------------------- */

/* u32 first id, u32 count, each: u32 bytes, addresses, innermost first. */
void tapir_nettrace_blocks__stacks(struct nettrace_blocks *b, const uint8_t *data, size_t len)
{
	struct tapir_byte_input in = {data, len, false};
	uint32_t first = (uint32_t)take_fixed(&in, 4), cnt = (uint32_t)take_fixed(&in, 4);
	struct tapir_nettrace_stack stack;

	for (uint32_t i = 0; i < cnt && i < STACKS_MAX && !in.is_bad; i++) {
		uint64_t bytes = take_fixed(&in, 4);
		const uint8_t *frames = tapir_byte_input__take(&in, bytes);
		uint64_t frame_cnt = bytes / 8;

		if (!frames)
			break;
		stack.stack_id = first + i;
		stack.is_truncated = frame_cnt > TAPIR_NETTRACE_FRAMES_MAX;
		stack.frame_cnt =
			stack.is_truncated ? TAPIR_NETTRACE_FRAMES_MAX : (unsigned)frame_cnt;
		memcpy(stack.frames_va, frames, stack.frame_cnt * sizeof(uint64_t));
		b->sink.on_stack(b->sink.ctx, &stack);
	}
	b->malformed_cnt += in.is_bad || cnt > STACKS_MAX;
}

/* A number below the last delivered one proves nothing: the thread id was reused. */
void tapir_nettrace_blocks__settle(struct nettrace_blocks *b, uint64_t thread, uint32_t tried,
				   uint64_t ticks)
{
	uint64_t *last = thread_sequence(b, thread);
	uint32_t ahead = last ? tried - (uint32_t)*last : 0;

	if (last)
		*last = tried;
	if (ahead && ahead <= INT32_MAX)
		b->sink.on_lost(b->sink.ctx, ahead, ticks);
}

/* u64 ticks, u32 count, each: u64 thread, u32 the number of the last it tried to write. */
void tapir_nettrace_blocks__sequence_point(struct nettrace_blocks *b, const uint8_t *data,
					   size_t len)
{
	struct tapir_byte_input in = {data, len, false};
	uint64_t ticks = take_fixed(&in, 8);
	uint32_t cnt = (uint32_t)take_fixed(&in, 4);

	for (uint32_t i = 0; i < cnt && !in.is_bad; i++) {
		uint64_t thread = take_fixed(&in, 8);
		uint32_t last = (uint32_t)take_fixed(&in, 4);

		if (!in.is_bad)
			tapir_nettrace_blocks__settle(b, thread, last, ticks);
	}
	b->malformed_cnt += in.is_bad;
	b->sink.on_forget(b->sink.ctx);
}
