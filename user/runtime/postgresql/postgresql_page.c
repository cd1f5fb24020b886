// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A page of a heap: header, item pointers, rows. A row's flags say whether the transactions that
 * made and replaced it are known to have ended; a row that only the commit log could judge is not
 * used. Numbers have the byte order of the machine that the server runs on.
 */
#include "runtime/postgresql/postgresql_page.h"
#include "base/little_endian.h"

#include <string.h>

#define PAGE_BYTES   TAPIR_POSTGRESQL_PAGE_BYTES
#define NAME_BYTES   TAPIR_POSTGRESQL_NAME_BYTES
#define PAGE_HEADER  24u
#define PAGE_VERSION 4u
#define ITEM_BYTES   4u
#define ITEM_NORMAL  1u /* neither free, nor moved, nor dead */

/* A row's header, and what its flags say of the transactions that made and replaced it. */
#define ROW_HEADER   23u
#define FLAGS_AT     20u
#define COLUMNS_AT   22u
#define HAS_OID	     0x0008u
#define LOCKED_ONLY  0x0080u
#define MADE_MASK    0x0300u
#define MADE_FAILED  0x0200u /* with 0x0100: it is frozen */
#define REPLACED     0x0400u
#define NOT_REPLACED 0x0800u

#define MAP_MAGIC    0x592717u
#define MAP_HEADER   8u

static enum tapir_postgresql_row_state state_of(const uint8_t *row)
{
	uint16_t flags = tapir_le__u16(row + FLAGS_AT);
	uint32_t replaced_by = tapir_le__u32(row + 4);

	if ((flags & MADE_MASK) == MADE_FAILED)
		return TAPIR_POSTGRESQL_ROW_OLD;
	if (!replaced_by || flags & (NOT_REPLACED | LOCKED_ONLY))
		return TAPIR_POSTGRESQL_ROW_CURRENT;
	return flags & REPLACED ? TAPIR_POSTGRESQL_ROW_OLD : TAPIR_POSTGRESQL_ROW_PERHAPS;
}

static bool read_row(const uint8_t *row, uint32_t bytes, struct tapir_postgresql_row *out)
{
	bool has_oid = tapir_le__u16(row + FLAGS_AT) & HAS_OID;
	uint32_t at = row[COLUMNS_AT], name_at = has_oid ? at : at + 4;

	if (at < ROW_HEADER + (has_oid ? 4u : 0u) || name_at + NAME_BYTES > bytes)
		return false;
	*out = (struct tapir_postgresql_row){.oid = tapir_le__u32(row + (has_oid ? at - 4 : at)),
					     .state = state_of(row)};
	memcpy(out->name, row + name_at, NAME_BYTES);
	for (unsigned i = 0; i < TAPIR_POSTGRESQL_NUMBERS; i++) {
		uint32_t number_at = name_at + NAME_BYTES + 4 * i;

		if (number_at + 4 <= bytes)
			out->numbers[i] = tapir_le__u32(row + number_at);
	}
	return out->oid && *out->name && !out->name[NAME_BYTES - 1];
}

bool tapir_postgresql_page__each(const uint8_t *page, tapir_postgresql_row_fn fn, void *ctx)
{
	uint32_t items_end = tapir_le__u16(page + 12), rows_begin = tapir_le__u16(page + 14),
		 rows_end = tapir_le__u16(page + 16);
	struct tapir_postgresql_row row;

	if (tapir_le__u16(page + 18) != (PAGE_BYTES | PAGE_VERSION) || items_end < PAGE_HEADER ||
	    items_end > rows_begin || rows_begin > rows_end || rows_end > PAGE_BYTES)
		return false;
	for (uint32_t at = PAGE_HEADER; at + ITEM_BYTES <= items_end; at += ITEM_BYTES) {
		uint32_t item = tapir_le__u32(page + at), from = item & 0x7fff, bytes = item >> 17;

		if ((item >> 15 & 3) == ITEM_NORMAL && from >= rows_begin && bytes > ROW_HEADER &&
		    from + bytes <= rows_end && read_row(page + from, bytes, &row))
			fn(ctx, &row);
	}
	return true;
}

uint32_t tapir_postgresql_map__file(const uint8_t *map, size_t bytes, uint32_t oid)
{
	uint32_t cnt;

	if (bytes < MAP_HEADER || tapir_le__u32(map) != MAP_MAGIC)
		return 0;
	cnt = tapir_le__u32(map + 4);
	for (uint32_t i = 0; i < cnt && MAP_HEADER + 8ull * (i + 1) <= bytes; i++)
		if (tapir_le__u32(map + MAP_HEADER + 8ull * i) == oid)
			return tapir_le__u32(map + MAP_HEADER + 8ull * i + 4);
	return 0;
}
