/* SPDX-License-Identifier: MIT */
/*
 * abi.h - every record tapir produces, defined once for all of its users: BPF programs, the
 * in-process ring lane, the collector, the file and its readers.
 *
 * A record is a fixed struct that starts with struct tapir_rec and is followed by its variable
 * part. Rules that hold for every record:
 *
 *   - byte order is little-endian, alignment 8, no implicit padding;
 *   - tapir_rec.size counts the whole record, variable part and final padding included, and is a
 *     multiple of 8; padding bytes are zero;
 *   - an unknown type is skipped by its size; a known type may grow at the end of its fixed part
 *     only together with a new format version (trace_format.h);
 *   - variable strings are not NUL-terminated: their lengths are in the fixed part and their bytes
 *     follow in the order of the length fields;
 *   - times are CLOCK_MONOTONIC nanoseconds of the host, ids are those of the host's initial pid
 *     namespace, unless noted at a field;
 *   - a consumer checks size against what it holds, then type, then the fixed part's size, then the
 *     lengths, before it reads a byte past them.
 *
 * A record does not identify its writer. A BPF program, a ring in shared memory and a user-space
 * reader of /proc all write the same ones. C11, C++11 and BPF C; depends on nothing.
 */
#ifndef TAPIR_ABI_H
#define TAPIR_ABI_H

#if !defined(__bpf__) /* vmlinux.h, included before this header, has the fixed-width types */
#include <stddef.h>
#include <stdint.h>
#endif

#include "tapir/losses.h"

#ifdef __cplusplus
#define TAPIR_STATIC_ASSERT(cond, msg) static_assert(cond, msg)
#else
#define TAPIR_STATIC_ASSERT(cond, msg) _Static_assert(cond, msg)
#endif

/* ---- limits ------------------------------------------------------------------------- */

#define TAPIR_MAX_ARGS	       12  /* sys/sdt.h has no more */
#define TAPIR_FRAMES	       127 /* of a stack, unless more are requested */
#define TAPIR_MAX_FRAMES       512
#define TAPIR_MAX_RECORD_BYTES (128u * 1024u) /* a reader refuses more */
#define TAPIR_COMM_BYTES       16	      /* the kernel's TASK_COMM_LEN */
#define TAPIR_BUILD_ID_BYTES   20
#define TAPIR_CPU_UNKNOWN      0xffffu

/* ---- the common header -------------------------------------------------------------- */

enum tapir_rec_type {
	TAPIR_REC_NONE = 0,
	TAPIR_REC_EVENT = 1,	 /* a probe fired */
	TAPIR_REC_PROBE = 2,	 /* what a probe id means */
	TAPIR_REC_METADATA = 3,	 /* a runtime's own description of an event */
	TAPIR_REC_SAMPLE = 4,	 /* a CPU sample */
	TAPIR_REC_SWITCH = 5,	 /* a context switch */
	TAPIR_REC_STACK = 6,	 /* stack id -> addresses */
	TAPIR_REC_THREAD = 7,	 /* the identity of a thread */
	TAPIR_REC_PROCESS = 8,	 /* a process began, changed or ended */
	TAPIR_REC_MAPPING = 9,	 /* a file or code region in an address space */
	TAPIR_REC_SYMBOL = 10,	 /* a name in a file */
	TAPIR_REC_JIT = 11,	 /* a name at an address, for a time */
	TAPIR_REC_COUNTER = 12,	 /* a measured value */
	TAPIR_REC_LOSS = 13,	 /* what was not recorded, and why */
	TAPIR_REC_GAP = 14,	 /* a file or process that was seen too late */
	TAPIR_REC_CLOCK = 15,	 /* monotonic and UTC at one moment */
	TAPIR_REC_META = 16,	 /* key = value about the recording */
	TAPIR_REC_WAIT = 17,	 /* what a thread of a snapshot waits for */
	TAPIR_REC_RESOURCE = 18, /* what a process says that it is */
	TAPIR_REC_INLINED = 19,	 /* what a compiler inlined at an address */
	/* which interpreted functions a thread was in */
	TAPIR_REC_INTERP_SAMPLE = 20,
	TAPIR_REC_IO = 21,	 /* a request to a block device */
	TAPIR_REC_EXCHANGE = 22, /* a request and its answer on a TCP connection */
	TAPIR_REC_CALLS = 23,	 /* how many system calls, how long they took */
	TAPIR_REC_HOST = 24,	 /* a host of a merged recording */
	TAPIR_REC_OF_HOST = 25,	 /* a record of one host's recording, as it was there */
	TAPIR_REC_SIGNAL = 26,	 /* a signal was sent */
	TAPIR_REC_WAITS = 27,	 /* how often a thread waited, how long it ran */
	TAPIR_REC_NATIVE = 28,	 /* memory was mapped, a block was allocated or freed */
	TAPIR_REC_KERNEL = 29,	 /* what the kernel did for or to a process, in numbers */
	TAPIR_REC_TYPE_CNT
};

struct tapir_rec {
	uint16_t type; /* enum tapir_rec_type */
	uint16_t cpu;  /* TAPIR_CPU_UNKNOWN if it is not known */
	uint32_t size;
	uint64_t time_ns;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec) == 16, "tapir_rec");

/*
 * The trace and the span (OpenTelemetry's) for which a thread worked: the last 24 bytes of an EVENT
 * with TAPIR_EVENT_TRACE_IDS, of a SAMPLE, and of a SWITCH (of the thread that leaves) that are at
 * least that much larger than their fixed part. They are no part of a stack or its id.
 */
struct tapir_trace_ids {
	uint8_t trace_id[16]; /* in the order in which W3C writes them */
	uint8_t span_id[8];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_trace_ids) == 24, "tapir_trace_ids");

/* ---- EVENT --------------------------------------------------------------------------- */

enum tapir_lane {
	TAPIR_LANE_PROBE = 0, /* a uprobe trap and a BPF program */
	TAPIR_LANE_RING = 1,  /* shared memory written by the process itself */
	TAPIR_LANE_STREAM = 2 /* the runtime's own event stream */
};

/* Optional parts after the fixed part, present when their flag is set, in this order. */
#define TAPIR_EVENT_KSTACK     (1u << 0) /* u64: id of the kernel stack */
#define TAPIR_EVENT_ACTIVITY   (1u << 1) /* 16 bytes: activity id */
#define TAPIR_EVENT_RELATED    (1u << 2) /* 16 bytes: related activity id */
/* The record's last 24 bytes, after payload and padding, are a struct tapir_trace_ids. */
#define TAPIR_EVENT_TRACE_IDS  (1u << 3)
/* Facts about the event itself. */
#define TAPIR_EVENT_STACK_LOST (1u << 8) /* a stack was requested and could not be taken */
#define TAPIR_EVENT_CUT	       (1u << 9) /* the payload did not fit and ends early */

struct tapir_rec_event {
	struct tapir_rec h;
	uint32_t probe_id;
	uint32_t tgid;
	uint32_t tid;
	uint16_t flags;
	uint8_t lane;
	uint8_t pad0;
	uint32_t payload_bytes;
	uint16_t fault_mask; /* bit n: field n could not be read; its value means nothing */
	uint16_t pad1;
	uint64_t stack_id; /* 0: none */
			   /* kstack u64, activity 16, related 16, payload_bytes of payload,
			      padding to 8, tapir_trace_ids */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_event) == 48, "tapir_rec_event");

/*
 * Payload encodings (tapir_rec_probe.encoding).
 *
 * SLOTS: one 8-byte slot per field, then the bytes of the variable fields in field order. An
 * integer's slot holds its value widened to 64 bits (sign- or zero-extended, according to the
 * field); a float's slot holds its bits. The slot of a string or blob is a struct tapir_slot_bytes.
 *
 * PACKED: fields follow each other without alignment, as the runtime's manifest or
 * METADATA describes.
 */
enum tapir_encoding { TAPIR_ENCODING_SLOTS = 0, TAPIR_ENCODING_PACKED = 1 };

#define TAPIR_SLOT_CUT	(1u << 0) /* longer than what was recorded */
#define TAPIR_SLOT_NULL (1u << 1) /* the pointer was NULL */

struct tapir_slot_bytes {
	uint32_t len_bytes; /* bytes of this field in the variable part */
	uint32_t flags;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_slot_bytes) == 8, "tapir_slot_bytes");

static inline uint32_t tapir_event__optional_bytes(uint32_t flags)
{
	return (flags & TAPIR_EVENT_KSTACK ? 8u : 0u) + (flags & TAPIR_EVENT_ACTIVITY ? 16u : 0u) +
	       (flags & TAPIR_EVENT_RELATED ? 16u : 0u);
}

static inline uint32_t tapir_event__trailing_bytes(uint32_t flags)
{
	return flags & TAPIR_EVENT_TRACE_IDS ? (uint32_t)sizeof(struct tapir_trace_ids) : 0u;
}

/* ---- PROBE --------------------------------------------------------------------------- */

enum tapir_field_type {
	TAPIR_FIELD_NONE = 0, /* cannot be read; tapir_field.reason has the reason */
	TAPIR_FIELD_INT = 1,
	TAPIR_FIELD_UINT = 2,
	TAPIR_FIELD_FLOAT = 3, /* size 4 or 8, its bits in the slot */
	TAPIR_FIELD_PTR = 4,
	TAPIR_FIELD_BOOL = 5,
	TAPIR_FIELD_CHAR = 6,
	TAPIR_FIELD_STR = 7,   /* NUL-terminated UTF-8 in the process */
	TAPIR_FIELD_STRN = 8,  /* pointer + length, UTF-8 */
	TAPIR_FIELD_BLOB = 9,  /* pointer + length, bytes */
	TAPIR_FIELD_I128 = 10, /* 16 bytes in the variable part */
	TAPIR_FIELD_U128 = 11,
	TAPIR_FIELD_UTF16 = 12, /* PACKED only from here on */
	TAPIR_FIELD_GUID = 13,
	TAPIR_FIELD_TIME = 14,
	TAPIR_FIELD_STRUCT = 15
};

/* tapir_field.size of a STR that is the name of a C++ type as std::type_info has it, mangled. */
#define TAPIR_STR_CXX_TYPE 1

/* Why an operand cannot be read; user/elf finds out, list and events print it. */
#define TAPIR_OPERAND_REASONS(X)                                                                   \
	X(OK, "readable")                                                                          \
	X(SYNTAX, "operand not understood")                                                        \
	X(VECTOR_REG, "vector register: not among the registers a probe sees")                     \
	X(SIZE, "operand size not supported")                                                      \
	X(LOCAL_LABEL, "assembler-local label: no symbol left to find it by")                      \
	X(NO_SYMBOL, "symbol not found in the file")                                               \
	X(FOREIGN_SYMBOL, "symbol is defined in another file")                                     \
	X(NO_GOT, "no GOT entry for the symbol")                                                   \
	X(TLS_MODEL, "thread-local variable of a shared library")                                  \
	X(WIDE_REG, "16-byte value in a register pair the note does not name")                     \
	X(TOO_MANY, "more than 12 arguments")

enum tapir_operand_reason {
#define TAPIR_X(name, text) TAPIR_OPERAND_##name,
	TAPIR_OPERAND_REASONS(TAPIR_X)
#undef TAPIR_X
		TAPIR_OPERAND_REASON_CNT
};

struct tapir_field {
	uint8_t type;	   /* enum tapir_field_type */
	uint8_t size;	   /* bytes of the value in the process: 1, 2, 4, 8, 16; 0 variable; or
			    * TAPIR_STR_CXX_TYPE */
	uint8_t reason;	   /* enum tapir_operand_reason, when type is NONE */
	uint8_t len_field; /* STRN and BLOB: the field that holds the length */
	uint16_t name_len; /* 0: the field is called argN */
	uint16_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_field) == 8, "tapir_field");

/* Attached only for the names of generated code: no SPEC selects its events, the file has none. */
#define TAPIR_PROBE_FOR_NAMES	(1u << 0)
/* Each hit names the ring lane's sessions that have it (provider.h, note.tapir type 3): no event is
 * recorded twice. */
#define TAPIR_PROBE_TELLS_TAKEN (1u << 1)

struct tapir_rec_probe {
	struct tapir_rec h;
	uint32_t probe_id; /* one per site: sites of one name may have other operands */
	uint16_t event_id; /* the runtime's number, 0 if it has none */
	uint8_t version;
	uint8_t level;
	uint64_t keywords;
	uint64_t site_off; /* in the file */
	uint64_t semaphore_off;
	uint8_t encoding; /* enum tapir_encoding */
	uint8_t lane;
	uint16_t field_cnt;
	uint16_t provider_len;
	uint16_t event_len;
	uint16_t file_len;
	uint8_t build_id_bytes;
	uint8_t flags;
	uint32_t pad0;
	/* field_cnt x struct tapir_field, then provider, event, file, build id (binary),
	   then the name of each field */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_probe) == 64, "tapir_rec_probe");

/* ---- METADATA ------------------------------------------------------------------------ */

/* The "event" is a counter of the process (tapir/counter.h), for lists: no event ever has its id.
 */
#define TAPIR_METADATA_COUNTER 3u

struct tapir_rec_metadata {
	struct tapir_rec h;
	uint32_t probe_id;
	/* 1: EventPipe's metadata blob; 2: libtapir's (tapir/provider.h); 3: TAPIR_METADATA_COUNTER
	 */
	uint32_t format;
	uint32_t blob_bytes;
	uint32_t pad0;
	/* blob */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_metadata) == 32, "tapir_rec_metadata");

/* ---- STACK --------------------------------------------------------------------------- */

#define TAPIR_STACK_KERNEL  (1u << 0)
#define TAPIR_STACK_MORE    (1u << 1) /* deeper than the frames that were recorded */
#define TAPIR_STACK_FAULT   (1u << 2) /* a frame could not be read: the walk ended there */
#define TAPIR_STACK_UNWOUND (1u << 3) /* .eh_frame tables were used */
/* Begun by a function that the process itself called to record it: no caller of a leaf is missing
 */
#define TAPIR_STACK_CALLED  (1u << 4)

/*
 * The ways in which a user stack ends. WHOLE (complete): at code that is marked as having no
 * caller, at a runtime's thread root, or at a coroutine's first frame. Else callers are missing:
 * the last frame is the function whose caller was not found, for this reason. The recorded frames
 * are right in either case. FP_START is what readers make of FP_END: such a chain may have left out
 * callers that have no frame pointers. IN_HEAP: the JVM has put the callers of a virtual thread on
 * its stack again only as far as they were returned to.
 */
#define TAPIR_STACK_ENDS(X)                                                                        \
	X(UNKNOWN, "not recorded")                                                                 \
	X(WHOLE, "complete")                                                                       \
	X(NO_TABLE, "no unwind table")                                                             \
	X(NOT_YET, "unwind table not loaded yet")                                                  \
	X(JIT_NO_FP, "generated code without frame pointers")                                      \
	X(NOT_CODE, "return address outside executable code")                                      \
	X(FAULT, "stack memory not readable")                                                      \
	X(MORE, "frame limit reached")                                                             \
	X(UNSUPPORTED, "unwind rule not supported")                                                \
	X(NO_PROGRESS, "frame not above its callee's")                                             \
	X(FP_END, "end of the frame pointer chain")                                                \
	X(FP_START, "frame pointers alone, to the thread's start")                                 \
	X(IN_HEAP, "virtual thread, callers in the heap")

enum tapir_stack_end {
#define TAPIR_X(name, text) TAPIR_STACK_END_##name,
	TAPIR_STACK_ENDS(TAPIR_X)
#undef TAPIR_X
		TAPIR_STACK_END_CNT
};

struct tapir_rec_stack {
	struct tapir_rec h;
	uint64_t stack_id; /* never 0 */
	uint16_t frame_cnt;
	uint16_t flags;
	uint8_t end; /* enum tapir_stack_end; of kernel stacks and older files UNKNOWN */
	uint8_t pad0[3];
	/* frame_cnt x u64 virtual address, innermost first; callers are return addresses */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_stack) == 32, "tapir_rec_stack");

/* ---- SAMPLE, SWITCH ------------------------------------------------------------------ */

struct tapir_rec_sample {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint64_t period; /* of what the sampling event counts; ns for cpu-clock */
	uint64_t stack_id;
	uint64_t kstack_id;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_sample) == 48, "tapir_rec_sample");

/* Why a thread leaves its CPU: the kernel's state bits (out_state). */
#define TAPIR_STATE_SLEEPING	    0x0001u
#define TAPIR_STATE_UNINTERRUPTIBLE 0x0002u /* waits for a device or a lock in the kernel */
#define TAPIR_STATE_STOPPED	    0x0004u
#define TAPIR_STATE_TRACED	    0x0008u
#define TAPIR_STATE_PARKED	    0x0040u
#define TAPIR_STATE_DEAD	    0x0080u

#define TAPIR_SWITCH_PREEMPTED	    (1u << 0) /* it did not ask to go: out_state is 0 */
#define TAPIR_SWITCH_WOKEN_BY_IRQ   (1u << 1) /* a timer or device woke the thread that enters */
#define TAPIR_SWITCH_STACK_LOST	    (1u << 2) /* a stack of out_* could not be sent */
/*
 * No switch: how the thread was when the recording began. Of out_*, which was not on a CPU since an
 * unknown time; or of in_*, which ran.
 */
#define TAPIR_SWITCH_SNAPSHOT	    (1u << 3)
#define TAPIR_SWITCH_AT_END	    (1u << 4) /* of a snapshot: when it ended */
#define TAPIR_SWITCH_HAS_FUTEX	    (1u << 5) /* the address it waits for follows the record */
/*
 * A whole wait of one thread, which is out_* and in_*, when it came to a CPU again: a struct
 * tapir_switch_wait follows the record. So are waits recorded where short ones are summed (WAITS).
 */
#define TAPIR_SWITCH_WAITED	    (1u << 6)

/*
 * One record when the thread that goes out or the one that comes in is of a traced process. A
 * side that is not has tgid and tid 0 (and out_state, stacks, wake-up 0 with it). The thread that
 * sleeps in futex(2) says for which address, in 8 bytes between this and the ids of a trace:
 * threads that wait for one lock have the same.
 */
struct tapir_rec_switch {
	struct tapir_rec h;
	uint32_t out_tgid;
	uint32_t out_tid;
	uint32_t in_tgid;
	uint32_t in_tid;
	uint64_t out_stack_id;
	uint64_t out_kstack_id;
	uint64_t in_wake_ns; /* when the thread that enters was woken; 0: it was not, or unknown */
	uint32_t in_waker_tid; /* the thread, of any process, that ran then; 0 unknown */
	uint16_t out_state;    /* the kernel's task state bits; 0: still runnable */
	uint16_t flags;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_switch) == 64, "tapir_rec_switch");

struct tapir_switch_wait {
	uint64_t futex_va; /* as with TAPIR_SWITCH_HAS_FUTEX; 0: none, or unknown */
	uint64_t since_ns; /* when it left its CPU */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_switch_wait) == 16, "tapir_switch_wait");

/* ---- WAITS -------------------------------------------------------------------------------- */

/* The kinds of waits, by what a thread waits for while it has no CPU. */
enum tapir_wait_kind {
	TAPIR_WAIT_RUNNABLE = 0, /* a CPU: it was preempted, or yielded */
	TAPIR_WAIT_SLEEPING = 1,
	TAPIR_WAIT_UNINTERRUPTIBLE = 2,
	TAPIR_WAIT_OTHER = 3, /* it is stopped, traced, parked or idle */
	TAPIR_WAIT_WOKEN = 4, /* a CPU, after it was woken: no wait of its own but a wait's end */
	TAPIR_WAIT_KIND_CNT
};

#define TAPIR_SHORT_WAIT_NS 1000000u /* waits of that length and longer are not summed */

/* A wait's time in powers of two: step n has those from 1 << n ns on. 0 ns is in step 0. */
#define TAPIR_WAIT_STEPS    20u

struct tapir_wait_step {
	uint16_t kind; /* enum tapir_wait_kind */
	uint16_t step;
	uint32_t cnt;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_wait_step) == 8, "tapir_wait_step");

/*
 * The waits of a thread that were shorter than TAPIR_SHORT_WAIT_NS and ended between since_ns and
 * the record's time, by kind; longer ones are SWITCH records. ns of the kinds without WOKEN is the
 * time until the thread was woken, or until it ran where that is not known. run_ns is all the time
 * it had a CPU, in runs that ended since then, or continue (up to now). left_ns is not 0 where
 * the thread had been away from its CPU for TAPIR_SHORT_WAIT_NS or longer: since then, for
 * out_state. TAPIR_STATE_DEAD: it has ended, and this is its last record.
 */
struct tapir_rec_waits {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint64_t since_ns;
	uint64_t run_ns;
	uint64_t cnt[TAPIR_WAIT_KIND_CNT];
	uint64_t ns[TAPIR_WAIT_KIND_CNT];
	uint64_t left_ns;
	uint32_t step_cnt;
	uint16_t out_state;
	uint8_t pad0[2];
	/* step_cnt x struct tapir_wait_step, in order */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_waits) == 136, "tapir_rec_waits");

/* ---- IO ------------------------------------------------------------------------------- */

/* The operation that a request asks of its device. */
#define TAPIR_IO_OPS(X)                                                                            \
	X(READ, "read")                                                                            \
	X(WRITE, "write")                                                                          \
	X(FLUSH, "flush")                                                                          \
	X(DISCARD, "discard")                                                                      \
	X(ZERO, "zero")                                                                            \
	X(OTHER, "other")

enum tapir_io_op {
#define TAPIR_X(name, text) TAPIR_IO_##name,
	TAPIR_IO_OPS(TAPIR_X)
#undef TAPIR_X
		TAPIR_IO_OP_CNT
};

/* The owner of its bytes. */
enum tapir_io_object {
	TAPIR_IO_OF_NOTHING = 0, /* not known, or there are none */
	TAPIR_IO_OF_FILE = 1,
	TAPIR_IO_OF_DEVICE = 2 /* the device's own pages: what a file system keeps about files */
};

#define TAPIR_IO_SYNC	(1u << 0) /* a thread waits for it */
#define TAPIR_IO_META	(1u << 1) /* the file system says that it is not a file's data */
#define TAPIR_IO_FUA	(1u << 2) /* complete only on the medium */
#define TAPIR_IO_AHEAD	(1u << 3) /* read ahead of what was asked for */
#define TAPIR_IO_DIRECT (1u << 4) /* between the device and a process's memory (O_DIRECT) */
#define TAPIR_IO_KERNEL_THREAD                                                                     \
	(1u << 5)		      /* a kernel thread made it: for which other is not known     \
				       */
#define TAPIR_IO_DELETED    (1u << 6) /* the file has no name: path is its last one */
#define TAPIR_IO_PATH_CUT   (1u << 7) /* the path lacks its beginning */
#define TAPIR_IO_STACK_LOST (1u << 8) /* its stack could not be sent */

#define TAPIR_IO_PATH_BYTES 512 /* as the kernel's programs send it: longer ones are cut */
#define TAPIR_IO_PATH_PARTS 16
#define TAPIR_IO_DISK_BYTES 32 /* the kernel's DISK_NAME_LEN */

/*
 * One record per request, at the time at which the device had completed it. tgid and tid are the
 * thread that made the request, 0: not known, as for a flush that the kernel decided on. A request
 * of several files' pages, which elevators make, counts for the first one's file. path is absolute
 * in the namespace of the recorder, or, of file systems that are mounted nowhere there, begins at
 * the file system's root without '/'.
 */
struct tapir_rec_io {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint64_t stack_id;
	uint64_t queue_ns;  /* from when the request was made to when its device had it */
	uint64_t device_ns; /* from then on; h.time_ns is its end */
	uint64_t sector;    /* of 512 bytes, on the disk */
	uint64_t inode;	    /* 0: no file */
	uint32_t file_dev;  /* the file system; major << 20 | minor */
	uint32_t dev;	    /* the disk */
	uint32_t bytes;
	uint16_t flags;
	uint16_t path_len;
	uint8_t op;	/* enum tapir_io_op */
	uint8_t object; /* enum tapir_io_object */
	uint8_t error;	/* the kernel's blk_status_t; 0: none */
	uint8_t pad0[5];
	char disk[TAPIR_IO_DISK_BYTES]; /* its name, NUL-padded */
					/* path */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_io) == 120, "tapir_rec_io");

/* ---- EXCHANGE -------------------------------------------------------------------------- */

enum tapir_exchange_kind {
	TAPIR_EXCHANGE_ANSWERED = 1, /* the first byte of an answer has passed */
	TAPIR_EXCHANGE_CLOSED = 2,   /* the connection has ended */
	TAPIR_EXCHANGE_OPEN = 3	     /* the recording ends, and a request has no answer yet */
};

#define TAPIR_EXCHANGE_OPENED	(1u << 0) /* the process opened the connection; else accepted it */
/* Another request may have begun before this one was answered: its times mean nothing. */
#define TAPIR_EXCHANGE_OVERLAPS (1u << 1)
#define TAPIR_EXCHANGE_REFUSED	(1u << 2) /* the connection was never made */
/* Bytes passed by the programs: by splice(2), zero-copy, TLS in the kernel, another process. */
#define TAPIR_EXCHANGE_UNSEEN	(1u << 3)

/*
 * One record per answered request, and one at the end of a connection, or of the recording for a
 * request that has no answer yet. Bytes are those since the
 * connection's last record. Addresses are IPv6; an IPv4 one is ::ffff:a.b.c.d.
 */
struct tapir_rec_exchange {
	struct tapir_rec h; /* at the answer's first byte, or the end */
	uint32_t tgid;
	uint32_t tid;	     /* that received the answer, or sent it; or used it last */
	uint64_t connection; /* the socket's cookie, as ss -e shows it */
	uint64_t begin_ns;   /* the request's last byte; 0: not seen, or none is open */
	uint64_t nr;	     /* answered requests of the connection so far, with this one */
	uint64_t sent_bytes;
	uint64_t received_bytes;
	uint32_t retransmits; /* of the connection so far */
	uint32_t ask_tid;     /* the thread that sent the request, or received it */
	uint32_t netns;	      /* inode number of the network namespace */
	uint16_t local_port;
	uint16_t peer_port;
	uint8_t local[16];
	uint8_t peer[16];
	uint8_t kind; /* enum tapir_exchange_kind */
	uint8_t pad0;
	uint16_t flags;
	uint16_t error; /* errno of the socket at its end: 104 reset, 111 refused, 110 timed out */
	uint16_t pad1;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_exchange) == 120, "tapir_rec_exchange");

/* ---- WAIT, LOOK ------------------------------------------------------------------------ */

/*
 * The system call in which a thread of a snapshot waits, at the time of the thread's SWITCH. text,
 * each part up to a zero: the call with its arguments, "read(fd 3 pipe:[4711])"; the type of the
 * object whose lock it waits for; of a server of databases the statement that it executes, and that
 * of the lock's holder; the transaction of each that executes none (decode/postgresql_text.h). If
 * there is no call, it runs, and executes that.
 */
struct tapir_rec_wait {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint32_t owner_tid; /* the thread, of any process, that holds the lock; 0: unknown */
	uint16_t syscall;   /* its number */
	uint16_t text_len;
	uint64_t object_va; /* of the futex; 0: it waits for something else */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_wait) == 40, "tapir_rec_wait");

/* In which functions of its interpreter a thread was when its process's memory was read, in
 * recordings from before stacks had them. SWITCH records show whether it ran or slept then. */
struct tapir_rec_interp_sample {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint64_t stack_id; /* of these functions alone */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_interp_sample) == 32, "tapir_rec_interp_sample");

/* The former names, for one version. JSON and SQL have the type as "look", as ever. */
#define TAPIR_REC_LOOK TAPIR_REC_INTERP_SAMPLE
#define tapir_rec_look tapir_rec_interp_sample

/* ---- CALLS ------------------------------------------------------------------------------- */

enum tapir_calls_kind {
	/* They are of a thread, with one result: their numbers add up over all such records. */
	TAPIR_CALLS_OF_THREAD = 0,
	/* They are some of those, which failed or took long, with the stack of the last one. */
	TAPIR_CALLS_AT_STACK = 1,
	/*
	 * They are those of all that a process made with a descriptor of one file or peer, with one
	 * result, and that began within the recording: tid is 0.
	 */
	TAPIR_CALLS_OF_FILE = 2,
	/*
	 * The same of calls that have a path and no descriptor, or that could not open one: the
	 * text is the path as it was given, which may begin at a directory that is not known.
	 */
	TAPIR_CALLS_OF_PATH = 3
};

#define TAPIR_CALL_32_BIT 0x4000u /* in nr: a number of the 32-bit ABI */
#define TAPIR_CALL_OTHER  0x3fffu /* nr: of a number that is larger than those that are counted */

/* The time of calls in steps of an eighth of an octave, a histogram's. */
#define TAPIR_CALL_STEPS  216u

struct tapir_call_step {
	uint32_t step;
	uint32_t cnt;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_call_step) == 8, "tapir_call_step");

static inline uint32_t tapir_call_step__of(uint64_t ns)
{
	uint64_t units = ns >> 5, rest = units;
	uint32_t octave = 0;

	for (uint32_t bits = 32; bits; bits >>= 1)
		if (rest >> bits) {
			rest >>= bits;
			octave += bits;
		}
	if (octave < 3)
		return (uint32_t)units;
	octave = (octave - 2) * 8 + ((uint32_t)(units >> (octave - 3)) & 7);
	return octave < TAPIR_CALL_STEPS ? octave : TAPIR_CALL_STEPS - 1;
}

/* The shortest time of a step, which the next one's bounds; the last has no end. */
static inline uint64_t tapir_call_step__ns(uint32_t step)
{
	return (step < 8 ? step : (8ull | (step & 7)) << (step / 8 - 1)) << 5;
}

/*
 * System calls that returned between since_ns and the record's time, by thread, call and result. A
 * call that had begun before the recording has no time, and one that has not returned has none yet:
 * these are numbers of their own. cnt is the sum of all steps of OF_THREAD.
 */
struct tapir_rec_calls {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint16_t nr;  /* of the call; TAPIR_CALL_* */
	uint16_t err; /* 0: it succeeded */
	uint8_t kind; /* enum tapir_calls_kind */
	uint8_t pad0;
	uint16_t text_len;
	uint64_t since_ns;
	uint64_t cnt;
	uint64_t sum_ns;
	uint64_t max_ns; /* of the longest */
	uint64_t stack_id;
	uint64_t inode;	      /* OF_FILE; 0: it has none of its own, as an epoll or a timer */
	uint32_t dev;	      /* major << 20 | minor */
	uint32_t open_cnt;    /* that have not returned, and will not in this recording */
	uint32_t unbegun_cnt; /* that returned, and began before it */
	uint32_t step_cnt;
	/* step_cnt x struct tapir_call_step, in order; text: the path, or "tcp A:1 to B:2" */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_calls) == 96, "tapir_rec_calls");

/* ---- SIGNAL ---------------------------------------------------------------------------- */

/* The result that the tracepoint signal_generate has. */
enum tapir_signal_result {
	TAPIR_SIGNAL_DELIVERED = 0,
	TAPIR_SIGNAL_IGNORED = 1,
	TAPIR_SIGNAL_PENDING = 2,  /* an equal one waits already: this one is dropped */
	TAPIR_SIGNAL_OVERFLOW = 3, /* a queued one that found no room: the sender got EAGAIN */
	TAPIR_SIGNAL_NO_INFO = 4   /* delivered, without what it carried */
};

#define TAPIR_SIGNAL_OF_PROCESS (1u << 0) /* to any thread of the process; else to this thread */

struct tapir_rec_signal {
	struct tapir_rec h;
	uint32_t tgid; /* of the sender; 0: the kernel, not for a process */
	uint32_t tid;
	uint32_t to_tgid;
	uint32_t to_tid;
	int32_t code; /* si_code: 0 kill(2), -1 sigqueue(3), -6 tgkill(2), 128 the kernel, ... */
	uint8_t number;
	uint8_t result; /* enum tapir_signal_result */
	uint8_t flags;	/* TAPIR_SIGNAL_OF_PROCESS */
	uint8_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_signal) == 40, "tapir_rec_signal");

/* ---- NATIVE ---------------------------------------------------------------------------- */

enum tapir_native_kind {
	TAPIR_NATIVE_ALLOC = 0, /* a sampled block of malloc's */
	TAPIR_NATIVE_FREE = 1,	/* such a block was freed */
	TAPIR_NATIVE_MAP = 2,
	TAPIR_NATIVE_UNMAP = 3,
	TAPIR_NATIVE_REMAP = 4,
	TAPIR_NATIVE_PROTECT = 5, /* what was mapped became accessible, or no longer is */
	TAPIR_NATIVE_END = 6	  /* the process ended, or executes another program */
};

enum tapir_native_function {
	TAPIR_NATIVE_FN_NONE = 0,
	TAPIR_NATIVE_FN_MALLOC = 1,
	TAPIR_NATIVE_FN_CALLOC = 2,
	TAPIR_NATIVE_FN_REALLOC = 3,
	TAPIR_NATIVE_FN_ALIGNED_ALLOC = 4,
	TAPIR_NATIVE_FN_MEMALIGN = 5,
	TAPIR_NATIVE_FN_POSIX_MEMALIGN = 6,
	TAPIR_NATIVE_FN_VALLOC = 7,
	TAPIR_NATIVE_FN_NEW = 8,
	TAPIR_NATIVE_FN_FREE = 9, /* and operator delete */
	TAPIR_NATIVE_FN_MMAP = 10,
	TAPIR_NATIVE_FN_MUNMAP = 11,
	TAPIR_NATIVE_FN_MREMAP = 12,
	TAPIR_NATIVE_FN_MPROTECT = 13,
	TAPIR_NATIVE_FN_BRK = 14,
	TAPIR_NATIVE_FN_CNT
};

#define TAPIR_NATIVE_ANONYMOUS	(1u << 0) /* MAP: not a file's */
#define TAPIR_NATIVE_ACCESSIBLE (1u << 1) /* MAP, PROTECT: not PROT_NONE */
#define TAPIR_NATIVE_EXEC	(1u << 2) /* END: the process continues */

struct tapir_rec_native {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint64_t va;
	uint64_t bytes;
	uint64_t old_va; /* REMAP: where it was */
	uint64_t old_bytes;
	uint64_t begin_ns; /* FREE: when the block was allocated */
	uint64_t
		mean_bytes; /* ALLOC, FREE: between two samples; n bytes: one of 1 - exp(-n / it) */
	uint64_t stack_id;  /* FREE: of what allocated it */
	uint8_t kind;	    /* enum tapir_native_kind */
	uint8_t function;   /* enum tapir_native_function */
	uint8_t flags;	    /* TAPIR_NATIVE_* */
	uint8_t pad0[5];
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_native) == 88, "tapir_rec_native");

/* ---- KERNEL ---------------------------------------------------------------------------- */

enum tapir_kernel_kind {
	TAPIR_KERNEL_FAULT = 0,	  /* page faults, as getrusage(2) counts them */
	TAPIR_KERNEL_IRQ = 1,	  /* interrupts of devices */
	TAPIR_KERNEL_SOFTIRQ = 2, /* work that interrupts left for later */
	TAPIR_KERNEL_VECTOR = 3,  /* interrupts of the CPUs themselves */
	TAPIR_KERNEL_LOCK = 4,	  /* waits for locks of the kernel */
	TAPIR_KERNEL_KIND_CNT
};

/* number of VECTOR: the lines of /proc/interrupts. */
enum tapir_kernel_vector {
	TAPIR_VECTOR_LOCAL_TIMER = 0,
	TAPIR_VECTOR_RESCHEDULE = 1,
	TAPIR_VECTOR_CALL = 2,
	TAPIR_VECTOR_CALL_SINGLE = 3,
	TAPIR_VECTOR_IRQ_WORK = 4
};

/*
 * The numbers are of the time from since_ns to the record's. An interrupt is of the process in
 * whose time it came, and its time is its own: without that of interrupts within it.
 */
struct tapir_rec_kernel {
	struct tapir_rec h;
	uint32_t tgid;	 /* 0: the CPU was idle, or it was a thread of the kernel without one */
	uint32_t number; /* of the interrupt; LOCK: flags of the tracepoint contention_begin */
	uint64_t since_ns;
	uint64_t cnt;
	uint64_t part_cnt; /* FAULT: of those, from a disk; LOCK: those that ended without it */
	uint64_t sum_ns;   /* FAULT: 0, here and below */
	uint64_t max_ns;   /* the longest of the process since it was counted first */
	uint64_t stack_id; /* FAULT, user's; 0: the kernel touched the page, in a system call */
	uint64_t kernel_stack_id; /* LOCK */
	uint64_t lock_va;
	uint8_t kind; /* enum tapir_kernel_kind */
	uint8_t pad0;
	uint16_t name_len;
	uint32_t pad1;
	/* name: IRQ, of its handler */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_kernel) == 96, "tapir_rec_kernel");

/* ---- THREAD, PROCESS ------------------------------------------------------------------ */

struct tapir_rec_thread {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t tid;
	uint32_t ns_tgid; /* in the innermost pid namespace, 0 unknown */
	uint32_t ns_tid;
	uint64_t start_ns; /* 0 unknown */
	uint64_t leader_start_ns;
	char comm[TAPIR_COMM_BYTES];	    /* the thread's name, NUL-padded */
	char leader_comm[TAPIR_COMM_BYTES]; /* the process's name, NUL-padded */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_thread) == 80, "tapir_rec_thread");

enum tapir_process_kind {
	TAPIR_PROCESS_EXISTING = 0, /* it ran before the recording, or is repeated here */
	TAPIR_PROCESS_FORK = 1,
	TAPIR_PROCESS_EXEC = 2,
	TAPIR_PROCESS_EXIT = 3
};

#define TAPIR_PROCESS_HAS_PROGRAM (1u << 0) /* the kernel's programs read exe and cmdline */
#define TAPIR_PROCESS_CMDLINE_CUT (1u << 1) /* it is longer than what is here */
#define TAPIR_PROCESS_OOM_VICTIM  (1u << 2) /* EXIT: the kernel had chosen it to free memory */
#define TAPIR_PROCESS_IN_PARENT	  (1u << 3) /* FORK: in its parent's memory, as by vfork(2) */

struct tapir_rec_process {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t parent_tgid;
	uint32_t ns_tgid;
	uint32_t uid;
	uint64_t start_ns;
	uint64_t cgroup_id;  /* v2, 0 unknown */
	int32_t exit_status; /* as wait(2) has it; EXIT only */
	uint8_t kind;	     /* enum tapir_process_kind */
	uint8_t flags;	     /* TAPIR_PROCESS_HAS_PROGRAM ... */
	uint8_t pad0[2];
	uint16_t comm_len;
	uint16_t exe_len;
	uint16_t cmdline_len; /* arguments separated by NUL, as in /proc */
	uint16_t cgroup_len;
	/* comm, exe, cmdline, cgroup path */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_process) == 64, "tapir_rec_process");

/*
 * The resource that a process publishes: OpenTelemetry's process context (otel_context.h), as it
 * was at that time. Until the next one, or until the process executes another program.
 */
struct tapir_rec_resource {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t payload_bytes;
	/* payload: the message as it was published */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_resource) == 24, "tapir_rec_resource");

#define TAPIR_RESOURCE_MAX_BYTES 32768u /* of a payload; more is not recorded */

/* ---- MAPPING, SYMBOL, JIT -------------------------------------------------------------- */

#define TAPIR_MAPPING_EXEC	 (1u << 0)
#define TAPIR_MAPPING_ANON	 (1u << 1) /* no file: path is the kernel's name for it */

struct tapir_rec_mapping {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t flags;
	uint64_t start_va;
	uint64_t end_va; /* first address after it */
	uint64_t file_off;
	uint64_t file_id; /* the same for the same file content; joins SYMBOL; 0 none */
	uint64_t inode;
	uint32_t dev; /* major << 20 | minor */
	uint8_t build_id_bytes;
	uint8_t pad0;
	uint16_t path_len;
	uint8_t build_id[TAPIR_BUILD_ID_BYTES];
	/* p_vaddr less p_offset of the file's first executable segment, in 4,096 bytes; 0 also:
	 * unknown */
	int32_t vaddr_pages;
	/* path */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_mapping) == 96, "tapir_rec_mapping");

/*
 * No symbol covers these addresses, but unwind data does: the range is a function, and the name
 * contains its start ("fn_5cd7f0": the address as linked, in hex).
 */
#define TAPIR_SYMBOL_RANGE 0x0001

struct tapir_rec_symbol {
	struct tapir_rec h;
	uint64_t file_id;
	uint64_t start_off; /* in the file, so that no program headers are needed to use it */
	uint64_t size;	    /* 0: unknown, reaches to the next symbol */
	uint16_t name_len;
	uint16_t flags; /* TAPIR_SYMBOL_* */
	uint32_t pad0;
	/* name, demangled */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_symbol) == 48, "tapir_rec_symbol");

enum tapir_jit_source {
	TAPIR_JIT_PERF_MAP = 1,
	TAPIR_JIT_JITDUMP = 2,
	TAPIR_JIT_METHOD_EVENT = 3,
	TAPIR_JIT_INTERPRETED = 4 /* no code: the method that an interpreter's frame stands for */
};

struct tapir_rec_jit {
	struct tapir_rec h;
	uint32_t tgid;
	uint16_t source; /* enum tapir_jit_source */
	uint16_t name_len;
	uint64_t start_va;
	uint64_t size;
	uint64_t from_ns;
	uint64_t until_ns; /* 0: still valid at the time of the record */
			   /* name */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_jit) == 56, "tapir_rec_jit");

/*
 * INLINED: a struct tapir_rec_jit, too, of one address in code that has a JIT record. Its name has
 * the functions that are inlined there, innermost first, with a line feed between two of them; the
 * one of the JIT record is not among them. Empty: none, or not known. A stack's first frame is at
 * that address; any other has the return address behind it.
 */

/* ---- COUNTER ---------------------------------------------------------------------------- */

enum tapir_counter_kind {
	TAPIR_COUNTER_GAUGE = 0,
	TAPIR_COUNTER_RATE = 1, /* value was added in interval_ns */
	TAPIR_COUNTER_SUM = 2	/* of all that was added so far */
};

struct tapir_rec_counter {
	struct tapir_rec h;
	uint32_t tgid;
	uint32_t kind; /* enum tapir_counter_kind */
	double value;
	uint64_t interval_ns; /* 0: not known */
	uint16_t provider_len;
	uint16_t name_len;
	uint16_t unit_len;
	uint16_t tags_len;
	/* provider, name, unit, tags */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_counter) == 48, "tapir_rec_counter");

/* ---- LOSS, GAP -------------------------------------------------------------------------- */

enum tapir_loss_cause {
#define TAPIR_X(name, kind, text) TAPIR_LOSS_##name,
	TAPIR_LOSS_CAUSES(TAPIR_X)
#undef TAPIR_X
		TAPIR_LOSS_CAUSE_CNT
};

struct tapir_rec_loss {
	struct tapir_rec h;
	uint32_t cause;	   /* enum tapir_loss_cause */
	uint32_t probe_id; /* 0: not tied to a probe */
	uint64_t count;	   /* since the previous LOSS of this cause and probe */
	uint64_t from_ns;
	uint64_t until_ns;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_loss) == 48, "tapir_rec_loss");

enum tapir_gap_reason {
	TAPIR_GAP_ATTACH_LATE = 1,   /* probes of a file were on only after it was mapped */
	TAPIR_GAP_ATTACH_FAILED = 2, /* they never were */
	TAPIR_GAP_NOT_READ = 3, /* the file was not: its probes, if any, and names are missing */
	TAPIR_GAP_SECOND_MAPPING = 4, /* a process maps the file twice: guarded probes of one of the
				       * mappings, which follows the path, are not reached */
	TAPIR_GAP_RING_UNOPENED = 5   /* a process ended before its ring lane was open, and no probe
				       * has its events; the path follows a provider of the file */
};

struct tapir_rec_gap {
	struct tapir_rec h;
	uint32_t tgid;
	uint16_t reason; /* enum tapir_gap_reason */
	uint16_t path_len;
	uint64_t from_ns;
	uint64_t until_ns;
	/* path */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_gap) == 40, "tapir_rec_gap");

/* ---- CLOCK, META ------------------------------------------------------------------------ */

struct tapir_rec_clock {
	struct tapir_rec h; /* time_ns: CLOCK_MONOTONIC */
	uint64_t utc_ns;    /* CLOCK_REALTIME at the same moment */
	uint64_t boot_ns;   /* CLOCK_BOOTTIME at the same moment */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_clock) == 32, "tapir_rec_clock");

struct tapir_rec_meta {
	struct tapir_rec h;
	uint16_t key_len;
	uint16_t value_len;
	uint32_t pad0;
	/* key, value */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_meta) == 24, "tapir_rec_meta");

/* ---- HOST, OF_HOST ----------------------------------------------------------------------- */

/*
 * A recording that 'tapir merge' made of several hosts has a HOST for each, numbered from 1. In its
 * records of host N, ids of processes, threads and probes are N * TAPIR_HOST_PIDS more than in the
 * host's own recording (0 stays 0: no process; but the owner of the kernel's mappings, names and
 * counters is N * TAPIR_HOST_PIDS), CPUs N * TAPIR_HOST_CPUS more, and times are shift_ns later, so
 * that all hosts have one clock. No pid of Linux reaches TAPIR_HOST_PIDS (PID_MAX_LIMIT is
 * 4,194,304).
 */
#define TAPIR_HOST_PIDS 10000000u
#define TAPIR_HOST_CPUS 1000u
#define TAPIR_HOST_MAX	64u

/* Says how exact the clock of a host was. */
enum tapir_host_clock {
	TAPIR_HOST_CLOCK_UNKNOWN = 0, /* whether it was synchronized is not recorded */
	TAPIR_HOST_CLOCK_SYNCED = 1,  /* it was, to within error_ns of UTC, says the kernel */
	TAPIR_HOST_CLOCK_FREE = 2,    /* it was not, says the kernel */
	TAPIR_HOST_CLOCK_NONE = 3     /* the recording has no UTC: it begins with the first one */
};

struct tapir_rec_host {
	struct tapir_rec h;
	uint32_t host;
	uint16_t name_len;
	uint8_t clock; /* enum tapir_host_clock */
	uint8_t pad0;
	uint64_t shift_ns;
	uint64_t error_ns; /* SYNCED */
	uint64_t set_ns;   /* by how much its clock was set while it was recorded; 0: it was not */
	uint64_t created_utc_ns; /* of its own recording, as all below */
	uint64_t created_ns;
	uint64_t last_ns;
	/* name */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_host) == 72, "tapir_rec_host");

/*
 * A META or CLOCK of a host's recording, unchanged; the merged recording has others of its own for
 * all hosts.
 */
struct tapir_rec_of_host {
	struct tapir_rec h;
	uint32_t host;
	uint32_t record_bytes;
	/* the record */
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_rec_of_host) == 24, "tapir_rec_of_host");

/* A LOSS of a merged recording is this much larger: the host whose record it is. */
struct tapir_loss_host {
	uint32_t host;
	uint32_t pad0;
};
TAPIR_STATIC_ASSERT(sizeof(struct tapir_loss_host) == 8, "tapir_loss_host");

#endif /* TAPIR_ABI_H */
