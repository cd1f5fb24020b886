/* SPDX-License-Identifier: MIT */
/*
 * otel_context.h - what OpenTelemetry's SDKs publish for readers outside the process: the thread's
 * current trace and span (OTEP 4947, oteps/profiles/4947-thread-ctx.md) and what the process is
 * (OTEP 4719, 4719-process-ctx.md, version 2). Layouts only: activity.h publishes them,
 * bpf/trace_context.bpf.h and user/runtime/otel read them,
 * user/decode/otel_resource.h decodes them.
 *
 * THE THREAD. `otel_thread_ctx_v1`, a thread-local pointer in .dynsym, is NULL or the address of
 * the thread's record, at an even address. Only its own thread changes it, so it is read while
 * that thread is stopped or interrupted. Where the variable is depends on how the file that
 * defines it was compiled and loaded (x86-64; TP: the thread pointer, the base of %fs):
 *
 *	local-exec	the program itself: TP + st_value + p_vaddr - (end of PT_TLS, aligned)
 *	initial-exec	R_X86_64_TPOFF64: a word of the GOT holds the distance from TP
 *	TLSDESC		R_X86_64_TLSDESC: two words of the GOT, a function and its argument. Static:
 *			the argument is the distance from TP, below zero. Dynamic: it is the address
 *			of { module, offset }
 *	general dynamic	R_X86_64_DTPMOD64 (and DTPOFF64): two words of the GOT, module and offset
 *
 * A pair of module and offset leads through the thread's vector of modules, which glibc keeps at
 * TP + 8: 16 bytes per module, the first 8 its block's address or -1 (the thread has none yet); the
 * 8 bytes at -16 are the number of modules it has room for.
 *
 * THE PROCESS. A private mapping whose name begins with /memfd:OTEL_CTX (a memfd was made),
 * [anon_shmem:OTEL_CTX] (and named, Linux 5.17), or [anon:OTEL_CTX] (it could not be made). A
 * process has at most one; children do not inherit it (MADV_DONTFORK). It begins with the header
 * below. published_at_ns is 0 while it changes, and another one after each change; a reader
 * compares it before and after it has copied the payload, which is anywhere in the process, a
 * protobuf message
 *
 *	ProcessContext { Resource resource = 1; repeated KeyValue attributes = 2; }
 *	Resource { repeated KeyValue attributes = 1; }
 *	KeyValue { string key = 1; AnyValue value = 2; }
 *	AnyValue { string string_value = 1; bool bool_value = 2; int64 int_value = 3;
 *		   double double_value = 4; ArrayValue array_value = 5; KeyValueList
 *		   kvlist_value = 6; bytes bytes_value = 7; }	one of them
 *	ArrayValue { repeated AnyValue values = 1; }
 *	KeyValueList { repeated KeyValue values = 1; }
 *
 * The resource is the service (service.name, service.instance.id, ...); `attributes` are for
 * readers: threadlocal.schema_version, and threadlocal.attribute_key_map with the names of the keys
 * in threads' records by their number.
 *
 * C11, C++11 and BPF C.
 */
#ifndef TAPIR_OTEL_CONTEXT_H
#define TAPIR_OTEL_CONTEXT_H

#if !defined(__bpf__)
#include <stdint.h>
#endif

#define TAPIR_OTEL_THREAD_SYMBOL "otel_thread_ctx_v1"

/* The fixed part of a thread's record. attrs_bytes of attributes follow: key, length, value. */
struct tapir_otel_thread {
	uint8_t trace_id[16]; /* W3C order; all zero: none */
	uint8_t span_id[8];
	uint8_t valid; /* 1; anything else: it is being changed, or there is none */
	uint8_t trace_flags;
	uint16_t attrs_bytes;
};

#define TAPIR_OTEL_VALID_OFF	     24
#define TAPIR_OTEL_THREAD_BYTES	     28

#define TAPIR_OTEL_PROCESS_SIGNATURE "OTEL_CTX"
#define TAPIR_OTEL_PROCESS_VERSION   2u

struct tapir_otel_process_header {
	char signature[8]; /* written last */
	uint32_t version;
	uint32_t payload_bytes;
	uint64_t published_at_ns; /* CLOCK_BOOTTIME; 0 while it is changed */
	uint64_t payload_va;
};

#endif /* TAPIR_OTEL_CONTEXT_H */
