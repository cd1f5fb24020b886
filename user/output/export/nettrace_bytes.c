// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the parts of a NetTrace file. Numbers are written as they are in memory: records and
 * readers are both little-endian. Rows of a block are written as differences from the row before
 * (NetTrace, compressed headers).
 */
#include "output/export/nettrace_bytes.h"

#include <string.h>

void tapir_nettrace__put(struct tapir_str *out, const void *value, size_t bytes)
{
	tapir_str__add(out, value, bytes);
}

void tapir_nettrace__put_u8(struct tapir_str *out, uint8_t value)
{
	tapir_str__add(out, (const char *)&value, sizeof(value));
}

void tapir_nettrace__put_u16(struct tapir_str *out, uint16_t value)
{
	tapir_str__add(out, (const char *)&value, sizeof(value));
}

void tapir_nettrace__put_u32(struct tapir_str *out, uint32_t value)
{
	tapir_str__add(out, (const char *)&value, sizeof(value));
}

void tapir_nettrace__put_u64(struct tapir_str *out, uint64_t value)
{
	tapir_str__add(out, (const char *)&value, sizeof(value));
}

#define VAR_MAX_BYTES 10

static char *write_var(char *at, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*at++ = (char)(value | 0x80);
	*at++ = (char)value;
	return at;
}

void tapir_nettrace__put_var(struct tapir_str *out, uint64_t value)
{
	char bytes[VAR_MAX_BYTES];

	tapir_str__add(out, bytes, (size_t)(write_var(bytes, value) - bytes));
}

void tapir_nettrace__put_text(struct tapir_str *out, struct tapir_sv text)
{
	tapir_nettrace__put_var(out, text.len);
	tapir_str__add(out, text.data, text.len);
}

void tapir_nettrace__put_text16(struct tapir_str *out, struct tapir_sv text, size_t max_bytes)
{
	size_t len = text.len < max_bytes ? text.len : max_bytes;

	while (len && len < text.len && ((unsigned char)text.data[len] & 0xc0) == 0x80)
		len--; /* not inside a character */
	tapir_nettrace__put_u16(out, (uint16_t)len);
	tapir_str__add(out, text.data, len);
}

void tapir_nettrace__put_utf16(struct tapir_str *out, struct tapir_sv text, size_t max_bytes)
{
	const unsigned char *p = (const unsigned char *)text.data;
	size_t end = out->len + (max_bytes > 6 ? max_bytes - 6 : 0);

	for (size_t at = 0, len; at < text.len && out->len < end && !out->failed; at += len) {
		len = tapir_utf8__len(p + at, text.len - at);
		if (!len)
			tapir_str__add_utf16(out, 0xfffd);
		else if (p[at])
			tapir_str__add_utf16(out, tapir_utf8__code(p + at, len));
		len = len ? len : 1;
	}
	tapir_nettrace__put_u16(out, 0);
}

void tapir_nettrace__put_block(struct tapir_str *out, enum tapir_nettrace_block kind, size_t bytes)
{
	tapir_nettrace__put_u32(out, (uint32_t)bytes | (uint32_t)kind << 24);
}

/* ---- event blocks --------------------------------------------------------------------------- */

#define ROW_METADATA   0x01
#define ROW_SEQUENCE   0x02
#define ROW_THREAD     0x04
#define ROW_STACK      0x08
#define ROW_LABELS     0x10
#define ROW_SORTED     0x40
#define ROW_PAYLOAD    0x80
#define BLOCK_HEADER   20
#define BLOCK_COMPRESS 1

static uint8_t differences(const struct tapir_nettrace_rows *rows,
			   const struct tapir_nettrace_row *row)
{
	const struct tapir_nettrace_row *last = &rows->last;
	uint8_t flags = ROW_SORTED;

	if (row->metadata_id != last->metadata_id)
		flags |= ROW_METADATA;
	if (!rows->bytes.len || row->cpu != last->cpu || row->sequence != last->sequence + 1)
		flags |= ROW_SEQUENCE;
	if (row->thread_idx != last->thread_idx)
		flags |= ROW_THREAD;
	if (row->stack_id != last->stack_id)
		flags |= ROW_STACK;
	if (row->label_id != last->label_id)
		flags |= ROW_LABELS;
	if (row->payload.len != last->payload.len)
		flags |= ROW_PAYLOAD;
	return flags;
}

void tapir_nettrace_rows__add(struct tapir_nettrace_rows *rows,
			      const struct tapir_nettrace_row *row)
{
	uint8_t flags = differences(rows, row);
	char head[1 + 9 * VAR_MAX_BYTES], *at = head;

	*at++ = (char)flags;
	if (flags & ROW_METADATA)
		at = write_var(at, row->metadata_id);
	if (flags & ROW_SEQUENCE) {
		/*
		 * A reader adds one for each event by itself: only a jump is written, as its
		 * difference to that.
		 */
		at = write_var(at, (uint32_t)(row->sequence - rows->last.sequence - 1));
		at = write_var(at, TAPIR_NETTRACE_CAPTURE_THREAD);
		at = write_var(at, row->cpu);
	}
	if (flags & ROW_THREAD)
		at = write_var(at, row->thread_idx);
	if (flags & ROW_STACK)
		at = write_var(at, row->stack_id);
	at = write_var(at, row->time_ns - rows->last.time_ns);
	if (flags & ROW_LABELS)
		at = write_var(at, row->label_id);
	if (flags & ROW_PAYLOAD)
		at = write_var(at, row->payload.len);
	if (!rows->bytes.len)
		rows->first_ns = row->time_ns;
	tapir_str__add(&rows->bytes, head, (size_t)(at - head));
	tapir_str__add(&rows->bytes, row->payload.data, row->payload.len);
	rows->last = *row;
}

void tapir_nettrace_rows__flush(struct tapir_nettrace_rows *rows, struct tapir_str *out)
{
	if (rows->bytes.failed)
		out->failed = true;
	if (rows->bytes.len) {
		tapir_nettrace__put_block(out, TAPIR_NETTRACE_EVENTS,
					  BLOCK_HEADER + rows->bytes.len);
		tapir_nettrace__put_u16(out, BLOCK_HEADER);
		tapir_nettrace__put_u16(out, BLOCK_COMPRESS);
		tapir_nettrace__put_u64(out, rows->first_ns);
		tapir_nettrace__put_u64(out, rows->last.time_ns);
		tapir_str__add(out, rows->bytes.data, rows->bytes.len);
	}
	tapir_str__clear(&rows->bytes);
	rows->last = (struct tapir_nettrace_row){};
}
