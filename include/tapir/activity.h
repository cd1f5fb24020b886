/* SPDX-License-Identifier: MIT */
/*
 * activity.h - causality: what an event belongs to. Activity ids travel with every event of
 * provider.h; trace and span ids are published for profilers outside the process.
 *
 * ACTIVITIES. A thread has a current activity: 16 bytes, nested on a stack of the caller's storage.
 * Each event carries the current id; one with opcode 1 (start) also carries the id around it as
 * its related id. tapir_activity__start makes the id of a nested one by EventSource's path scheme:
 * bytes 0-11 hold numbers in nibbles, most significant first (1-10: the number itself; 12 to 15:
 * it follows in 1 to 4 whole bytes, little-endian), bytes 12-15 the sum of the three words
 * before + 0x599d99ad, xor the process id. A path that is too long is a random id. So readers that
 * know the scheme show //1/5/2, and all others an id.
 *
 * TRACE AND SPAN IDS, by OpenTelemetry's OTEP 4947 (oteps/profiles/4947-thread-ctx.md of
 * open-telemetry/opentelemetry-specification): a thread-local pointer, exported in .dynsym as
 * `otel_thread_ctx_v1`, to the thread's record,
 *
 *	u8 trace_id[16], u8 span_id[8]	W3C order; zero: none
 *	u8 valid			1; 0 while it is changed, and when there is none
 *	u8 trace_flags			W3C's
 *	u16 attrs_data_size
 *	u8 attrs_data[]			u8 key, u8 length, the value; the last of a key counts
 *
 * Events of the ring lane carry the ids of tapir_trace__set. Readers look at it only while the
 * thread is stopped or interrupted. Where libtapir.a is linked into a program, link with
 * -Wl,--export-dynamic-symbol=otel_thread_ctx_v1. The symbol is weak: an SDK that defines it in
 * the same file has its own.
 *
 * PROCESS CONTEXT, by OTEP 4719 (4719-process-ctx.md, version 2): a private mapping of a memfd
 * named OTEL_CTX (anonymous where there is no memfd; named by PR_SET_VMA_ANON_NAME in either
 * case), not inherited by children, with
 *
 *	char signature[8]	"OTEL_CTX", written last
 *	u32 version		2
 *	u32 payload_size
 *	u64 published_at_ns	CLOCK_BOOTTIME; 0 while it is changed
 *	u64 payload		address of a protobuf message, ProcessContext (otel_context.h)
 *
 * among whose attributes are `threadlocal.schema_version` ("tlsdesc_v1_dev") and
 * `threadlocal.attribute_key_map`, the names of the keys above.
 *
 * Thread safety: tapir_activity__* and tapir_trace__* concern the calling thread; they may be
 * called in signal handlers if what they change there is changed back. tapir_process_context__*
 * any thread, not in a signal handler. C11 and C++11. No privileges; any kernel (provider.h).
 */
#ifndef TAPIR_ACTIVITY_H
#define TAPIR_ACTIVITY_H

#include "provider.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TAPIR_OPCODE_INFO	0
#define TAPIR_OPCODE_START	1
#define TAPIR_OPCODE_STOP	2

#define TAPIR_TRACE_ATTRS_BYTES 100u

/* An activity; the caller's storage until it has ended. */
struct tapir_activity {
	uint8_t id[16];
	struct tapir_activity *outer; /* NULL: none */
	uint32_t child_cnt;	      /* nested ones that were started; any thread */
	uint8_t path_nibbles;	      /* of the id, 0: it is no path */
	uint8_t pad0[3];
};

/* Starts an activity within the current one, and makes it the current one. */
TAPIR_API void tapir_activity__start(struct tapir_activity *activity);

/*
 * Continues an activity that came from elsewhere (another thread, another process) in this thread:
 * id is copied. What is started within it gets random ids, since its numbers are given elsewhere.
 */
TAPIR_API void tapir_activity__enter(struct tapir_activity *activity, const uint8_t id[16]);

/* Ends it, with all that was started within it and did not end: the one around it is current. */
TAPIR_API void tapir_activity__stop(struct tapir_activity *activity);

/* The current one's id, borrowed until it changes; NULL: none. */
TAPIR_API const uint8_t *tapir_activity__current(void);

/* Does what tapir_event__begin does, with these ids instead of the thread's; NULL: none. */
TAPIR_API int tapir_event__begin_with_ids(struct tapir_event_write *write,
					  struct tapir_event *event, size_t bytes,
					  const uint8_t *activity, const uint8_t *related);

/* The thread works for this span from now on; its attributes are gone. NULL ids: for none. */
TAPIR_API void tapir_trace__set(const uint8_t trace_id[16], const uint8_t span_id[8],
				uint8_t trace_flags);
/* key: a number of the process context's keys. 0, -ENOSPC, -EINVAL (more than 255 bytes). */
TAPIR_API int tapir_trace__set_attribute(uint8_t key, const char *value);

struct tapir_attribute {
	const char *key, *value; /* UTF-8 */
};

/*
 * Publishes the process's context, or another in place of it. resource: by OpenTelemetry's
 * conventions ("service.name", ...), at most 256. keys: the names of thread attributes, at most
 * 256; add at the end only. Everything is copied. 0, -EINVAL, -ENOMEM, -EACCES (neither memfd nor a
 * name for the mapping: readers could not find it).
 */
TAPIR_API int tapir_process_context__publish(const struct tapir_attribute *resource,
					     uint32_t resource_cnt, const char *const *keys,
					     uint32_t key_cnt);
TAPIR_API void tapir_process_context__withdraw(void);

#ifdef __cplusplus
}
#endif
#endif /* TAPIR_ACTIVITY_H */
