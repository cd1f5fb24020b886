/* SPDX-License-Identifier: MIT */
/*
 * coreclr_blob.c - the head of EventPipe's metadata blob: u32 id, name in UTF-16 with its NUL,
 * i64 keywords, u32 version, u32 level; parameters follow, which the tracer reads. Unaligned,
 * little-endian. An EventSource's keywords have the bits 44 to 47 set, all four, which are not its
 * author's: an event without keywords would seem to have some.
 */
#include <errno.h>
#include <string.h>

#include "coreclr_impl.h"

#define SOURCE_BITS 0x0000f00000000000ull

int coreclr_blob__parse(const uint8_t *bytes, uint32_t len, struct coreclr_blob *out)
{
	uint32_t at = 4, units = 0;

	memset(out, 0, sizeof(*out));
	if (!bytes || len < 4)
		return -EPROTO;
	memcpy(&out->id, bytes, 4);
	while (len - at >= 2 && (bytes[at] | bytes[at + 1])) {
		at += 2;
		units++;
	}
	if (len - at < 2)
		return -EPROTO;
	out->name = bytes + 4;
	out->name_units = units;
	at += 2;
	if (len - at < 16)
		return -EPROTO;
	memcpy(&out->keywords, bytes + at, 8);
	memcpy(&out->version, bytes + at + 8, 4);
	memcpy(&out->level, bytes + at + 12, 4);
	if ((out->keywords & SOURCE_BITS) == SOURCE_BITS)
		out->keywords &= ~SOURCE_BITS;
	return 0;
}
