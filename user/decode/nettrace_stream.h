/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_stream.h - the events of a .NET runtime's own stream (EventPipe, format "nettrace" of
 * version 4), read as its bytes come, in pieces of any size.
 *
 * "Nettrace", "!FastSerialization.1", then objects: Trace (the clock), MetadataBlock (what an event
 * is called), StackBlock, EventBlock, SPBlock (how many events each thread tried to write). Blocks
 * of other kinds are skipped. Stack ids are valid until the next SPBlock, ids of metadata for the
 * whole stream. Events that the runtime dropped because a buffer was full show as a gap in a
 * thread's numbers.
 *
 * The bytes come from a traced process: sizes are bounded, a malformed block is skipped from its
 * first error on and counted, and a stream that cannot be followed ends. Memory is bounded by the
 * largest block. Pure; one thread at a time.
 */
#ifndef TAPIR_USER_NETTRACE_STREAM_H
#define TAPIR_USER_NETTRACE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAPIR_NETTRACE_BLOCK_MAX  (4u << 20) /* bytes; a runtime's blocks have 100 KB, events 64 */
#define TAPIR_NETTRACE_FRAMES_MAX 127u

struct tapir_nettrace_start {
	uint64_t sync_ticks, ticks_per_sec; /* the clock of all times, when the session began */
	uint64_t utc_ns;      /* at sync_ticks, to a millisecond; 0: it makes no sense */
	uint32_t pid;	      /* as the process sees it */
	uint32_t sampling_ns; /* between two samples of a thread; 0: not known */
};

/* All of it is borrowed for the call. */
struct tapir_nettrace_event {
	uint64_t ticks;
	uint64_t tid; /* as the process sees it */
	uint32_t pid; /* version 6 alone; 0: not known */
	uint32_t cpu; /* version 6 alone */
	uint32_t metadata_id, stack_id;
	const uint8_t *activity_id, *related_id; /* 16 bytes; NULL: all zero */
	const uint8_t *trace_id, *span_id; /* 16 and 8 bytes, version 6 alone; both NULL: none */
	const uint8_t *payload;
	size_t payload_bytes;
};

struct tapir_nettrace_metadata {
	uint32_t metadata_id;
	const char *provider; /* UTF-8 */
	const char *event;    /* its name, version 6 alone: else the blob has it, or nothing */
	const uint8_t *blob;  /* METADATA's format 1 (event_blob.h) */
	size_t blob_bytes;
};

struct tapir_nettrace_stack {
	uint32_t stack_id;
	unsigned frame_cnt;
	bool is_truncated; /* it had more */
	uint64_t frames_va[TAPIR_NETTRACE_FRAMES_MAX];
};

struct tapir_nettrace_sink {
	void *ctx;
	void (*on_start)(void *ctx, const struct tapir_nettrace_start *start);
	void (*on_metadata)(void *ctx, const struct tapir_nettrace_metadata *metadata);
	void (*on_stack)(void *ctx, const struct tapir_nettrace_stack *stack);
	void (*on_event)(void *ctx, const struct tapir_nettrace_event *event);
	/* Stack ids begin anew. */
	void (*on_forget)(void *ctx);
	/* Events of one thread that were not sent, up to this time. */
	void (*on_lost)(void *ctx, uint64_t cnt, uint64_t ticks);
	/* A thread of a file of version 6, its name of len bytes; NULL: not called. */
	void (*on_thread)(void *ctx, uint32_t pid, uint32_t tid, const char *name, size_t len);
};

/* The UTC of 16 bytes, u16 each: year, month, day of the week, day, hour, minute, second, ms. 0: it
 * makes no sense. */
uint64_t tapir_nettrace__utc_ns(const uint8_t *date);

struct tapir_nettrace_stream;

/* sink is copied, and all its functions must be set. 0 or -ENOMEM; *out is the caller's to free. */
int tapir_nettrace_stream__new(const struct tapir_nettrace_sink *sink,
			       struct tapir_nettrace_stream **out);
void tapir_nettrace_stream__free(struct tapir_nettrace_stream *s);

/*
 * 0; -EPROTO: the bytes are not such a stream, and all later calls fail, too; -EOPNOTSUPP: a stream
 * of another version, or of a 32-bit process; -ENOMEM. No line.
 */
int tapir_nettrace_stream__feed(struct tapir_nettrace_stream *s, const void *bytes, size_t len);

/* Returns true if the end marker was read: nothing is missing at the end. */
bool tapir_nettrace_stream__has_ended(const struct tapir_nettrace_stream *s);
/* Returns the number of blocks and parts of blocks that made no sense. */
uint64_t tapir_nettrace_stream__malformed_cnt(const struct tapir_nettrace_stream *s);

#endif
