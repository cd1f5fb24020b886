/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_blob.h - EventPipe's metadata blob (METADATA format 1): how an EventSource describes one of
 * its events, manifest-based or self-describing. Native runtime events have one without fields.
 *
 * The blob is the traced process's: sizes, depth and counts are bounded, and a blob that is cut or
 * nonsense is refused. Field types it may name but that are never sent (Empty, DBNull) end the
 * fields there: the rest of a payload is shown as it is. No state; any thread.
 */
#ifndef TAPIR_USER_EVENT_BLOB_H
#define TAPIR_USER_EVENT_BLOB_H

#include "decode/packed.h"

/*
 * In a manifest-based event a bool is 4 bytes and a byte[] follows a u32 length; in a
 * self-describing one a bool is 1 byte, the length a u16, and a decimal a double. The blob does not
 * say which kind it is: layout is the more likely one, other (no fields: there is no difference)
 * the less likely. The one that fits a payload to its last byte is right.
 */
struct tapir_event_blob {
	struct tapir_packed_layout layout; /* no fields: the blob names none */
	struct tapir_packed_layout other;
	const char *name; /* UTF-8; "" for native events */
	uint64_t keywords;
	uint32_t id;
	uint32_t version;
	uint32_t level;
	int opcode; /* -1: none */
};

/*
 * Parses a blob; *out is the caller's to free and borrows nothing. 0, -EINVAL: malformed, -ENOMEM.
 */
int tapir_event_blob__parse(const void *bytes, size_t len, struct tapir_event_blob **out);
void tapir_event_blob__free(struct tapir_event_blob *blob);

#endif
