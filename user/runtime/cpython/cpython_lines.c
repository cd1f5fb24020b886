// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table is a sequence of entries. The first byte of an entry has its highest bit set, then four
 * bits that say what follows, then the number of instructions less one. Numbers have six bits a
 * byte, low ones first, and bit 6 where more follow; of signed ones bit 0 is the sign.
 */
#include "runtime/cpython/cpython_lines.h"

#include <stdbool.h>

enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

static int64_t signed_number(const uint8_t *bytes, size_t left)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (size_t i = 0; i < left && shift < 36 && !(bytes[i] & 0x80); i++, shift += 6) {
		value |= (uint64_t)(bytes[i] & 0x3f) << shift;
		if (!(bytes[i] & 0x40))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_delta(unsigned kind, const uint8_t *bytes, size_t left)
{
	if (kind == NO_COLUMNS || kind == LONG)
		return signed_number(bytes, left);
	return kind >= ONE_LINE_0 && kind <= ONE_LINE_2 ? kind - ONE_LINE_0 : 0;
}

uint32_t tapir_cpython_lines__at(const uint8_t *table, size_t bytes, int32_t first_line,
				 uint32_t unit)
{
	int64_t line = first_line;
	uint64_t end = 0;
	size_t at = 0;

	while (at < bytes) {
		unsigned kind = table[at] >> 3 & 15;

		if (!(table[at] & 0x80))
			return 0;
		end += (table[at] & 7) + 1u;
		at++;
		line += line_delta(kind, table + at, bytes - at);
		if (unit < end)
			return kind != NO_LOCATION && line > 0 && line <= INT32_MAX ? (uint32_t)line
										    : 0;
		while (at < bytes && !(table[at] & 0x80))
			at++;
	}
	return 0;
}
