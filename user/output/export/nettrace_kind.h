/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nettrace_kind.h - what an event of a probe looks like in NetTrace: the row that describes it, and
 * its payload. One thread.
 *
 * PACKED payloads go as they are, described by the runtime's own METADATA blob: readers that know
 * the provider (TraceEvent: CoreCLR's) decode them themselves. SLOTS payloads become typed fields,
 * with one more, "marks", that names the incomplete values (decode/value.h).
 */
#ifndef TAPIR_USER_NETTRACE_KIND_H
#define TAPIR_USER_NETTRACE_KIND_H

#include "decode/fields.h"
#include "output/export/nettrace_bytes.h"

/* Fields as a metadata row holds them. */
struct tapir_nettrace_fields {
	struct tapir_str bytes;
	uint16_t cnt;
	int opcode; /* -1: the reader's business */
};

enum tapir_nettrace_type {
	TAPIR_NETTRACE_OBJECT = 1,
	TAPIR_NETTRACE_CHAR16 = 4,
	TAPIR_NETTRACE_I8 = 5,
	TAPIR_NETTRACE_U8 = 6,
	TAPIR_NETTRACE_I16 = 7,
	TAPIR_NETTRACE_U16 = 8,
	TAPIR_NETTRACE_I32 = 9,
	TAPIR_NETTRACE_U32 = 10,
	TAPIR_NETTRACE_I64 = 11,
	TAPIR_NETTRACE_U64 = 12,
	TAPIR_NETTRACE_F32 = 13,
	TAPIR_NETTRACE_F64 = 14,
	TAPIR_NETTRACE_UTF16 = 18,
	TAPIR_NETTRACE_ARRAY = 19,
	TAPIR_NETTRACE_VARUINT = 21,
	TAPIR_NETTRACE_UTF8_UNIT = 23,
	TAPIR_NETTRACE_BOOL8 = 26
};

/* Adds a field. types: one, or TAPIR_NETTRACE_ARRAY and that of its elements; ended by 0. */
void tapir_nettrace_fields__add(struct tapir_nettrace_fields *fields, struct tapir_sv name,
				const uint8_t *types);

/*
 * Reads the fields from an EventPipe metadata blob (METADATA format 1), which another process
 * wrote: a blob that is not understood has no fields.
 */
void tapir_nettrace_fields__of_blob(struct tapir_nettrace_fields *fields, struct tapir_sv blob);

struct tapir_nettrace_metadata {
	uint32_t id;
	struct tapir_sv provider, event;
	uint32_t event_id;
	uint64_t keywords;
	uint8_t level, version;
	const struct tapir_nettrace_fields *fields; /* more than a row holds: left out */
};

/* Appends the description of an event as readers of nettrace expect it. */
void tapir_nettrace__put_metadata(struct tapir_str *out, const struct tapir_nettrace_metadata *m);

/* ---- SLOTS ---------------------------------------------------------------------------------- */

/* Adds the fields of a probe with SLOTS payloads, and "marks". */
void tapir_nettrace_fields__of_probe(struct tapir_nettrace_fields *fields,
				     const struct tapir_probe_view *probe);
/* values: decoded by fields.h, as many as the probe has fields at least. */
void tapir_nettrace__put_values(struct tapir_str *out, const struct tapir_probe_view *probe,
				const struct tapir_value *values, unsigned cnt);

#endif
