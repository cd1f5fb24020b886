/* SPDX-License-Identifier: GPL-2.0-or-later */
/* postgresql_fixture.h - pages of catalogs as PostgreSQL writes them. */
#ifndef TAPIR_TEST_POSTGRESQL_FIXTURE_H
#define TAPIR_TEST_POSTGRESQL_FIXTURE_H

#include <string.h>

#include "runtime/postgresql/postgresql_page.h"

struct fixture_row {
	uint32_t oid;
	const char *name;
	uint32_t numbers[TAPIR_POSTGRESQL_NUMBERS];
	uint32_t made_by, replaced_by;
	uint16_t flags;
	bool is_version_11; /* its OID is before its columns */
};

static inline void fixture__put16(uint8_t *at, uint16_t value)
{
	memcpy(at, &value, sizeof(value));
}

static inline void fixture__put32(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static inline uint16_t fixture__u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline void fixture__begin_page(uint8_t *page)
{
	memset(page, 0, TAPIR_POSTGRESQL_PAGE_BYTES);
	fixture__put16(page + 12, 24);
	fixture__put16(page + 14, TAPIR_POSTGRESQL_PAGE_BYTES);
	fixture__put16(page + 16, TAPIR_POSTGRESQL_PAGE_BYTES);
	fixture__put16(page + 18, TAPIR_POSTGRESQL_PAGE_BYTES | 4);
}

/* Returns where the row is. */
static inline uint8_t *fixture__add_row(uint8_t *page, const struct fixture_row *row)
{
	uint32_t header = row->is_version_11 ? 32 : 24, bytes = header + 4 + 64 + 24;
	uint32_t items_end = fixture__u16(page + 12);
	uint32_t at = (fixture__u16(page + 14) - bytes) & ~7u, name_at = header + 4;
	uint8_t *out = page + at;

	fixture__put32(out, row->made_by);
	fixture__put32(out + 4, row->replaced_by);
	fixture__put16(out + 20, row->flags | (row->is_version_11 ? 8 : 0));
	out[22] = (uint8_t)header;
	if (row->is_version_11)
		name_at = header;
	fixture__put32(out + (row->is_version_11 ? header - 4 : header), row->oid);
	strncpy((char *)out + name_at, row->name, 63);
	for (unsigned i = 0; i < TAPIR_POSTGRESQL_NUMBERS; i++)
		fixture__put32(out + name_at + 64 + 4 * i, row->numbers[i]);
	fixture__put32(page + items_end, at | 1u << 15 | bytes << 17);
	fixture__put16(page + 12, (uint16_t)(items_end + 4));
	fixture__put16(page + 14, (uint16_t)at);
	return out;
}

#endif
