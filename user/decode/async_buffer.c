// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each buffer is read twice by the same code: to find out whether it is consistent, and for its
 * events. So a buffer that turns out to be damaged in the middle has no part that was already
 * taken.
 */
#include "decode/async_buffer.h"

#include <string.h>

#include "decode/byte_input.h"

#define BUFFER_VERSION 1u
#define FIRST_VERSION  1u /* of an event */
#define ENTRY_BYTES    3u /* of the table in METADATA: id, version, bytes of the length */

const char *tapir_async_fault__text(enum tapir_async_fault fault)
{
	static const char *const texts[TAPIR_ASYNC_FAULT_CNT] = {
		[TAPIR_ASYNC_OK] = "read",
		[TAPIR_ASYNC_TRUNCATED] = "shorter than they say",
		[TAPIR_ASYNC_VERSION] = "of another version",
		[TAPIR_ASYNC_LENGTHS] = "with events that do not fit their lengths",
		[TAPIR_ASYNC_COUNT] = "with another number of events than they say",
		[TAPIR_ASYNC_TIMES] = "with times that do not agree",
		[TAPIR_ASYNC_UNDESCRIBED] = "with an event that the runtime has not described",
	};

	return fault < TAPIR_ASYNC_FAULT_CNT ? texts[fault] : "unknown";
}

/* Bytes of the length before the payload of each event, until METADATA says otherwise. */
static const uint8_t first_lengths[TAPIR_ASYNC_KNOWN_CNT] = {
	[TAPIR_ASYNC_RUNTIME_CREATE] = 1,	[TAPIR_ASYNC_RUNTIME_RESUME] = 1,
	[TAPIR_ASYNC_RUNTIME_UNWIND] = 1,	[TAPIR_ASYNC_RUNTIME_CREATE_STACK] = 2,
	[TAPIR_ASYNC_RUNTIME_RESUME_STACK] = 2, [TAPIR_ASYNC_RUNTIME_SUSPEND_STACK] = 2,
	[TAPIR_ASYNC_MACHINE_CREATE] = 1,	[TAPIR_ASYNC_MACHINE_RESUME] = 1,
	[TAPIR_ASYNC_MACHINE_UNWIND] = 1,	[TAPIR_ASYNC_MACHINE_RESUME_STACK] = 2,
	[TAPIR_ASYNC_MACHINE_APPEND_STACK] = 2, [TAPIR_ASYNC_METADATA] = 2,
	[TAPIR_ASYNC_SYNC_CLOCK] = 1,
};

void tapir_async_layout__init(struct tapir_async_layout *layout)
{
	*layout = (struct tapir_async_layout){};
	memset(layout->length_bytes, TAPIR_ASYNC_UNKNOWN, sizeof(layout->length_bytes));
	memcpy(layout->length_bytes + 1, first_lengths + 1, sizeof(first_lengths) - 1);
	memset(layout->version + 1, FIRST_VERSION, TAPIR_ASYNC_KNOWN_CNT - 1);
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The difference that a zigzag number stands for, modulo 2^64. */
static uint64_t take_difference(struct tapir_byte_input *in)
{
	uint64_t value = tapir_byte_input__varint(in);

	return value >> 1 ^ -(value & 1);
}

bool tapir_async_buffer__in(const uint8_t *payload, size_t payload_bytes, const uint8_t **bytes,
			    size_t *len)
{
	struct tapir_byte_input in = {.at = payload, .left = payload_bytes};

	*len = tapir_byte_input__le(&in, 4);
	*bytes = in.at;
	return !in.is_bad && *len == in.left;
}

/* ---- payloads ------------------------------------------------------------------------------ */

static void take_stack(struct tapir_byte_input *in, struct tapir_async_event *event)
{
	bool is_machine = event->id == TAPIR_ASYNC_MACHINE_RESUME_STACK ||
			  event->id == TAPIR_ASYNC_MACHINE_APPEND_STACK;
	const uint8_t *about = tapir_byte_input__take(in, 3); /* reserved, wrapper, frames */
	uint64_t frame = 0;

	if (!about)
		return;
	if (event->id == TAPIR_ASYNC_RUNTIME_CREATE_STACK)
		event->parent = tapir_byte_input__varint(in);
	event->dispatcher = tapir_byte_input__varint(in);
	for (unsigned i = 0; i < about[2] && !in->is_bad; i++) {
		frame = i ? frame + take_difference(in) : tapir_byte_input__varint(in);
		event->frames[i] = frame;
		if (is_machine)
			(void)take_difference(in); /* its state */
	}
	event->frame_cnt = about[2];
}

static void take_metadata(struct tapir_byte_input *in, struct tapir_async_layout *layout)
{
	const uint8_t *counts, *entry;

	layout->ticks_per_s = tapir_byte_input__varint(in);
	(void)tapir_byte_input__varint(in); /* two times that are one, in ticks and as the date */
	(void)tapir_byte_input__varint(in);
	(void)tapir_byte_input__varint(in);	/* bytes of a buffer */
	counts = tapir_byte_input__take(in, 2); /* wrappers, entries */
	for (unsigned i = 0; counts && i < counts[1]; i++) {
		entry = tapir_byte_input__take(in, ENTRY_BYTES);
		if (!entry)
			return;
		in->is_bad |= entry[2] > 2;
		layout->version[entry[0]] = entry[1];
		layout->length_bytes[entry[0]] = entry[2];
	}
}

/* in: the payload alone. */
static void take_payload(struct tapir_byte_input *in, struct tapir_async_layout *layout,
			 struct tapir_async_event *event)
{
	switch (event->id) {
	case TAPIR_ASYNC_RUNTIME_CREATE:
	case TAPIR_ASYNC_MACHINE_CREATE:
		event->parent = tapir_byte_input__varint(in);
		event->dispatcher = tapir_byte_input__varint(in);
		return;
	case TAPIR_ASYNC_RUNTIME_RESUME:
	case TAPIR_ASYNC_MACHINE_RESUME:
		event->dispatcher = tapir_byte_input__varint(in);
		return;
	case TAPIR_ASYNC_RUNTIME_UNWIND:
	case TAPIR_ASYNC_MACHINE_UNWIND:
		event->unwound = tapir_byte_input__varint(in);
		return;
	case TAPIR_ASYNC_RUNTIME_CREATE_STACK:
	case TAPIR_ASYNC_RUNTIME_RESUME_STACK:
	case TAPIR_ASYNC_RUNTIME_SUSPEND_STACK:
	case TAPIR_ASYNC_MACHINE_RESUME_STACK:
	case TAPIR_ASYNC_MACHINE_APPEND_STACK:
		take_stack(in, event);
		return;
	case TAPIR_ASYNC_METADATA:
		take_metadata(in, layout);
		return;
	/*
	 * Ticks and a time of day: each event has its ticks anyway, and the recording has a clock
	 * of its own.
	 */
	case TAPIR_ASYNC_SYNC_CLOCK:
		(void)tapir_byte_input__varint(in);
		(void)tapir_byte_input__varint(in);
		return;
	}
}

/* ---- events -------------------------------------------------------------------------------- */

static enum tapir_async_fault take_event(struct tapir_byte_input *in,
					 struct tapir_async_layout *layout,
					 struct tapir_async_event *event)
{
	struct tapir_byte_input payload = {};
	uint8_t length_bytes, version;

	event->id = (uint8_t)tapir_byte_input__le(in, 1);
	event->frame_cnt = 0;
	event->dispatcher = event->parent = event->unwound = 0;
	event->ticks += tapir_byte_input__varint(in);
	length_bytes = layout->length_bytes[event->id];
	version = layout->version[event->id];
	if (in->is_bad)
		return TAPIR_ASYNC_LENGTHS;
	if (length_bytes == TAPIR_ASYNC_UNKNOWN)
		return TAPIR_ASYNC_UNDESCRIBED;
	payload.left = tapir_byte_input__le(in, length_bytes);
	payload.at = tapir_byte_input__take(in, payload.left);
	if (in->is_bad)
		return TAPIR_ASYNC_LENGTHS;
	if (event->id >= TAPIR_ASYNC_KNOWN_CNT)
		return TAPIR_ASYNC_OK;
	take_payload(&payload, layout, event);
	/* A later version has more after it; of the first one all is known. */
	if (payload.is_bad || (payload.left && version <= FIRST_VERSION))
		return TAPIR_ASYNC_LENGTHS;
	return TAPIR_ASYNC_OK;
}

struct reading {
	struct tapir_async_header header;
	struct tapir_byte_input events;
};

static enum tapir_async_fault take_header(const uint8_t *bytes, size_t len, struct reading *out)
{
	struct tapir_byte_input in = {.at = bytes, .left = len};
	uint64_t version, total;

	if (len < TAPIR_ASYNC_HEADER_BYTES)
		return TAPIR_ASYNC_TRUNCATED;
	version = tapir_byte_input__le(&in, 1);
	if (version != BUFFER_VERSION)
		return TAPIR_ASYNC_VERSION;
	total = tapir_byte_input__le(&in, 4);
	(void)tapir_byte_input__le(&in, 4); /* a number of the thread, of the runtime's own */
	out->header.tid = tapir_byte_input__le(&in, 8);
	out->header.event_cnt = (uint32_t)tapir_byte_input__le(&in, 4);
	out->header.first = tapir_byte_input__le(&in, 8);
	out->header.last = tapir_byte_input__le(&in, 8);
	out->events = in;
	return total == len ? TAPIR_ASYNC_OK : TAPIR_ASYNC_TRUNCATED;
}

/* fn NULL: only whether all is consistent. */
static enum tapir_async_fault
read_events(const struct reading *r, struct tapir_async_layout *layout,
	    void (*fn)(void *ctx, const struct tapir_async_header *header,
		       const struct tapir_async_event *event),
	    void *ctx)
{
	struct tapir_async_event event = {.ticks = r->header.first};
	struct tapir_byte_input in = r->events;
	enum tapir_async_fault fault;
	uint32_t cnt = 0;

	for (; in.left; cnt++) {
		uint64_t before = event.ticks;

		fault = take_event(&in, layout, &event);
		if (fault)
			return fault;
		if (event.ticks < before)
			return TAPIR_ASYNC_TIMES;
		if (fn)
			fn(ctx, &r->header, &event);
	}
	if (cnt != r->header.event_cnt)
		return TAPIR_ASYNC_COUNT;
	return event.ticks == r->header.last ? TAPIR_ASYNC_OK : TAPIR_ASYNC_TIMES;
}

enum tapir_async_fault
tapir_async_buffer__read(struct tapir_async_layout *layout, const uint8_t *bytes, size_t len,
			 struct tapir_async_header *header,
			 void (*fn)(void *ctx, const struct tapir_async_header *header,
				    const struct tapir_async_event *event),
			 void *ctx)
{
	struct tapir_async_layout checked = *layout;
	struct reading reading = {};
	enum tapir_async_fault fault = take_header(bytes, len, &reading);

	if (!fault)
		fault = read_events(&reading, &checked, NULL, NULL);
	if (fault)
		return fault;
	if (header)
		*header = reading.header;
	return read_events(&reading, layout, fn, ctx);
}
