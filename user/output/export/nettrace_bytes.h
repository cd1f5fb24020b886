/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_bytes.h - the parts NetTrace V6 is written with: numbers, strings, blocks, rows of an
 * event block. What they mean is nettrace.c's.
 *
 * After NetTraceFormat.md of microsoft/perfview.
 */
#ifndef TAPIR_USER_NETTRACE_BYTES_H
#define TAPIR_USER_NETTRACE_BYTES_H

#include "base/str.h"
#include "trace/record.h"

enum tapir_nettrace_block {
	TAPIR_NETTRACE_END = 0,
	TAPIR_NETTRACE_TRACE = 1,
	TAPIR_NETTRACE_EVENTS = 2,
	TAPIR_NETTRACE_METADATA = 3,
	TAPIR_NETTRACE_SEQUENCE_POINT = 4,
	TAPIR_NETTRACE_STACKS = 5,
	TAPIR_NETTRACE_THREADS = 6,
	TAPIR_NETTRACE_LABELS = 8
};

/* The largest payload that readers accept; the format has no limit. */
#define TAPIR_NETTRACE_PAYLOAD_MAX_BYTES UINT16_MAX

/* Little-endian numbers of fixed width, and LEB128. */
void tapir_nettrace__put(struct tapir_str *out, const void *value, size_t bytes);
void tapir_nettrace__put_u8(struct tapir_str *out, uint8_t value);
void tapir_nettrace__put_u16(struct tapir_str *out, uint16_t value);
void tapir_nettrace__put_u32(struct tapir_str *out, uint32_t value);
void tapir_nettrace__put_u64(struct tapir_str *out, uint64_t value);
void tapir_nettrace__put_var(struct tapir_str *out, uint64_t value);
/* Puts one of the format's own strings: LEB128 length, UTF-8. */
void tapir_nettrace__put_text(struct tapir_str *out, struct tapir_sv text);
/* Puts a text in payloads of Universal.*: 16-bit length, UTF-8; cut at max_bytes. */
void tapir_nettrace__put_text16(struct tapir_str *out, struct tapir_sv text, size_t max_bytes);
/* Puts UTF-16 with a NUL at the end; invalid UTF-8 becomes U+FFFD, and a NUL inside is left out. */
void tapir_nettrace__put_utf16(struct tapir_str *out, struct tapir_sv text, size_t max_bytes);

/* Puts the header of a block of that many bytes, which follow. */
void tapir_nettrace__put_block(struct tapir_str *out, enum tapir_nettrace_block kind, size_t bytes);

/* ---- event blocks --------------------------------------------------------------------------- */

struct tapir_nettrace_row {
	uint32_t metadata_id, stack_id, label_id;
	uint32_t sequence;
	uint64_t thread_idx;
	uint32_t cpu;
	uint64_t time_ns;
	struct tapir_sv payload; /* at most TAPIR_NETTRACE_PAYLOAD_MAX_BYTES */
};

/* Rows of one block: each has only what differs from the one before. */
struct tapir_nettrace_rows {
	struct tapir_str bytes;
	struct tapir_nettrace_row last; /* except the bytes of its payload */
	uint64_t first_ns;
};

/* The thread that wrote the rows: one that represents tapir. */
#define TAPIR_NETTRACE_CAPTURE_THREAD 1u

/* Appends a row, as its differences from the one before. */
void tapir_nettrace_rows__add(struct tapir_nettrace_rows *rows,
			      const struct tapir_nettrace_row *row);
/* Adds the block to out, nothing when there are no rows, and empties rows. */
void tapir_nettrace_rows__flush(struct tapir_nettrace_rows *rows, struct tapir_str *out);

#endif
