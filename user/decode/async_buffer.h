/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * async_buffer.h - what .NET 11's AsyncProfilerEventSource writes: one event whose payload is a
 * buffer of many small ones, of one thread.
 *
 *	buffer:	version u8 = 1, bytes u32, context u32, thread u64, events u32, first and last time
 *		u64; then the events. All little endian.
 *	event:	id u8, ticks since the event before, [length of the payload], payload
 *
 * Numbers within events are LEB128; where one may be negative, zigzag. The length takes 0 (there is
 * no payload), 1 or 2 bytes, by the event's id: a table that the runtime sends, in the event
 * METADATA, before anything else of a session. By it an unknown event is skipped, as is what
 * a later version of an event has after what is known. Source of the facts: the runtime's own
 * AsyncProfiler.cs, and TraceEvent's reader of it.
 *
 * Previews of .NET 11 had other layouts under the same version number. So nothing of a buffer is
 * used before all of it was found to be consistent: its length, its number of events, its last
 * time, and every length in it. Pure.
 */
#ifndef TAPIR_USER_ASYNC_BUFFER_H
#define TAPIR_USER_ASYNC_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_ASYNC_MAX_FRAMES	 255u /* of one event: their number is a byte */
#define TAPIR_ASYNC_HEADER_BYTES 37u

/* RUNTIME: methods that the runtime suspends; MACHINE: state machines that the compiler made. */
enum tapir_async_id {
	TAPIR_ASYNC_RUNTIME_CREATE = 1,
	TAPIR_ASYNC_RUNTIME_RESUME,
	TAPIR_ASYNC_RUNTIME_SUSPEND,
	TAPIR_ASYNC_RUNTIME_COMPLETE,
	TAPIR_ASYNC_RUNTIME_UNWIND,
	TAPIR_ASYNC_RUNTIME_CREATE_STACK,
	TAPIR_ASYNC_RUNTIME_RESUME_STACK,
	TAPIR_ASYNC_RUNTIME_SUSPEND_STACK,
	TAPIR_ASYNC_RUNTIME_RESUME_METHOD,
	TAPIR_ASYNC_RUNTIME_COMPLETE_METHOD,
	TAPIR_ASYNC_MACHINE_CREATE,
	TAPIR_ASYNC_MACHINE_RESUME,
	TAPIR_ASYNC_MACHINE_SUSPEND,
	TAPIR_ASYNC_MACHINE_COMPLETE,
	TAPIR_ASYNC_MACHINE_UNWIND,
	TAPIR_ASYNC_MACHINE_RESUME_STACK,
	TAPIR_ASYNC_MACHINE_RESUME_METHOD,
	TAPIR_ASYNC_MACHINE_COMPLETE_METHOD,
	TAPIR_ASYNC_MACHINE_APPEND_STACK,
	TAPIR_ASYNC_RESET_THREAD,
	TAPIR_ASYNC_RESET_WRAPPER,
	TAPIR_ASYNC_METADATA,
	TAPIR_ASYNC_SYNC_CLOCK,
	TAPIR_ASYNC_KNOWN_CNT,
};

/* The state of one process, from buffer to buffer. */
struct tapir_async_layout {
	uint8_t length_bytes[256]; /* TAPIR_ASYNC_UNKNOWN: not described */
	uint8_t version[256];
	uint64_t ticks_per_s; /* 0: the runtime has not sent it yet */
};
#define TAPIR_ASYNC_UNKNOWN 0xff

struct tapir_async_header {
	uint64_t tid;	      /* in the process's own pid namespace */
	uint64_t first, last; /* ticks */
	uint32_t event_cnt;
};

struct tapir_async_event {
	uint8_t id; /* enum tapir_async_id, or one that is not known */
	uint8_t frame_cnt;
	uint64_t ticks;
	uint64_t dispatcher, parent; /* numbers of tasks, where the event has them */
	uint64_t unwound;	     /* frames that an exception left */
	/*
	 * Innermost first: RUNTIME addresses of instructions, MACHINE handles of methods, which
	 * are no addresses.
	 */
	uint64_t frames[TAPIR_ASYNC_MAX_FRAMES];
};

/* Why a buffer is not used. */
enum tapir_async_fault {
	TAPIR_ASYNC_OK,
	TAPIR_ASYNC_TRUNCATED,	 /* shorter than a header or than it says */
	TAPIR_ASYNC_VERSION,	 /* of the buffer */
	TAPIR_ASYNC_LENGTHS,	 /* an event does not fit, or its parts do not */
	TAPIR_ASYNC_COUNT,	 /* it has more or fewer events than it says */
	TAPIR_ASYNC_TIMES,	 /* its last event has another time than it says */
	TAPIR_ASYNC_UNDESCRIBED, /* an event that nothing describes, and so has no known length */
	TAPIR_ASYNC_FAULT_CNT,
};

/* The buffer in an event's payload, behind its length. False: there is another length. */
bool tapir_async_buffer__in(const uint8_t *payload, size_t payload_bytes, const uint8_t **bytes,
			    size_t *len);

/* The fault as a person reads it. Static. */
const char *tapir_async_fault__text(enum tapir_async_fault fault);

/* Sets the layout of a runtime that has sent none yet. */
void tapir_async_layout__init(struct tapir_async_layout *layout);

/*
 * Calls fn with each event of a buffer that is consistent, and learns what METADATA says; of
 * another buffer, nothing. header and fn may be NULL.
 */
enum tapir_async_fault
tapir_async_buffer__read(struct tapir_async_layout *layout, const uint8_t *bytes, size_t len,
			 struct tapir_async_header *header,
			 void (*fn)(void *ctx, const struct tapir_async_header *header,
				    const struct tapir_async_event *event),
			 void *ctx);

#endif
