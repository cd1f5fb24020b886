// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See value_packed.h. Numbers become names by the maps of a manifest: one name for an enumeration,
 * the names of all bits for flags, with the rest in hexadecimal.
 */
#include "decode/value_packed.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "decode/layout.h"

#define FILETIME_A_SECOND 10000000ull
#define FILETIME_OF_1970  11644473600ll /* seconds */

/* ---- enumerations ------------------------------------------------------------------------------ */

static const char *mapped_value_name(const struct tapir_layout_map *map, uint64_t value)
{
	for (unsigned i = 0; i < map->value_cnt; i++)
		if (map->values[i].value == value)
			return map->values[i].name;
	return NULL;
}

/* A|B|0x40: what has no name is a number. */
static void add_bits(struct tapir_str *out, const struct tapir_layout_map *map, uint64_t bits)
{
	uint64_t left = bits;

	for (unsigned i = 0; i < map->value_cnt; i++) {
		const struct tapir_layout_value *v = &map->values[i];

		if (!v->value || (bits & v->mask) != v->value)
			continue;
		if (left != bits)
			tapir_str__addc(out, '|');
		tapir_str__add_printable(out, v->name, strlen(v->name));
		left &= ~(uint64_t)v->mask;
	}
	if (left && left != bits)
		tapir_str__addc(out, '|');
	if (left) {
		tapir_str__add(out, "0x", 2);
		tapir_str__addx(out, left);
	}
}

/* false: it has no name. */
static bool add_named(struct tapir_str *out, const struct tapir_value *value)
{
	const struct tapir_layout_map *map = value->layout->map;
	const char *name;

	if (map->is_bits && value->u64) {
		add_bits(out, map, value->u64);
		return true;
	}
	name = mapped_value_name(map, value->u64);
	if (name)
		tapir_str__add_printable(out, name, strlen(name));
	return name;
}

static bool has_map(const struct tapir_value *value)
{
	return value->layout && value->layout->map &&
	       (value->type == TAPIR_FIELD_UINT || value->type == TAPIR_FIELD_INT);
}

/* ---- UTF-16 ------------------------------------------------------------------------------------ */

static unsigned unit_at(const uint8_t *utf16, size_t at)
{
	return (unsigned)utf16[at] | (unsigned)utf16[at + 1] << 8;
}

static size_t put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

size_t tapir_utf16__to_utf8(const uint8_t *utf16, size_t bytes, char *text)
{
	size_t len = 0;

	for (size_t at = 0; at + 2 <= bytes; at += 2) {
		uint32_t c = unit_at(utf16, at);

		if (c >= 0xd800 && c < 0xdc00 && at + 4 <= bytes &&
		    (unit_at(utf16, at + 2) & 0xfc00) == 0xdc00) {
			c = 0x10000 + ((c & 0x3ff) << 10) + (unit_at(utf16, at + 2) & 0x3ff);
			at += 2;
		} else if (c >= 0xd800 && c < 0xe000) {
			c = 0xfffd;
		}
		len += put_utf8(c, text + len);
	}
	return len;
}

/* ---- GUIDs, times, decimals ---------------------------------------------------------------------- */

void tapir_guid__add_text(struct tapir_str *out, const uint8_t *guid)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			tapir_str__addc(out, '-');
		tapir_str__add_hex(out, &guid[order[i]], 1);
	}
}

bool tapir_guid__is_set(const uint8_t *guid)
{
	static const uint8_t zeros[16];

	return guid && memcmp(guid, zeros, sizeof(zeros)) != 0;
}

/* Hundreds of nanoseconds since 1601, in UTC. */
static void add_time(struct tapir_str *out, uint64_t filetime)
{
	time_t sec = (time_t)(filetime / FILETIME_A_SECOND) - FILETIME_OF_1970;
	struct tm tm;

	if (filetime > INT64_MAX || !gmtime_r(&sec, &tm)) {
		tapir_str__addu(out, filetime);
		return;
	}
	tapir_str__addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%07" PRIu64 "Z", tm.tm_year + 1900,
			tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
			(uint64_t)(filetime % FILETIME_A_SECOND));
}

/* u32 flags (sign, and the number of digits after the point), u32 high, u64 low. */
void tapir_decimal__add_text(struct tapir_str *out, const uint8_t *bytes)
{
	uint32_t flags, high;
	unsigned __int128 number;
	char digits[48];
	unsigned at = sizeof(digits), scale, cnt = 0;
	uint64_t low;

	memcpy(&flags, bytes, 4);
	memcpy(&high, bytes + 4, 4);
	memcpy(&low, bytes + 8, 8);
	number = (unsigned __int128)high << 64 | low;
	scale = flags >> 16 & 0xff;
	if (scale > 28)
		scale = 28;
	do {
		digits[--at] = (char)('0' + (unsigned)(number % 10));
		number /= 10;
		if (++cnt == scale && scale)
			digits[--at] = '.';
	} while (number || cnt <= scale);
	if (flags >> 31)
		tapir_str__addc(out, '-');
	tapir_str__add(out, digits + at, sizeof(digits) - at);
}

/* ---- one of them ------------------------------------------------------------------------------- */

bool tapir_value_packed__add_plain(struct tapir_str *out, const struct tapir_value *value)
{
	if (has_map(value))
		return add_named(out, value);
	if (value->type == TAPIR_FIELD_GUID)
		tapir_guid__add_text(out, value->bytes);
	else if (value->type == TAPIR_FIELD_TIME)
		add_time(out, value->u64);
	else
		return false;
	return true;
}
