// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values as text and JSON. No printf but for floats, because `tapir events` prints millions of
 * values.
 */
#include "decode/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "decode/packed.h"
#include "decode/value_packed.h"
#include "elf/operand.h"

#define ELLIPSIS    "\xe2\x80\xa6"
#define SHORT_BYTES 1024 /* UTF-16 bytes that need no memory of their own */

static const char *reason_text(uint8_t reason)
{
	return reason < TAPIR_OPERAND_REASON_CNT && reason != TAPIR_OPERAND_OK
		       ? tapir_operand_reason__text(reason)
		       : "unknown";
}

const char *tapir_value__mark(const struct tapir_value *value)
{
	if (value->type == TAPIR_FIELD_NONE)
		return reason_text(value->reason);
	if (value->flags & TAPIR_VALUE_FAULT)
		return "fault";
	if (value->flags & TAPIR_VALUE_MISSING)
		return "missing";
	if (value->flags & TAPIR_VALUE_NULL)
		return "null";
	if (value->type == TAPIR_FIELD_FLOAT && !isfinite(value->f64))
		return isnan(value->f64) ? "nan" : "infinite";
	return value->flags & TAPIR_VALUE_TRUNCATED ? "cut" : NULL;
}

void tapir_value__add_name(struct tapir_str *out, struct tapir_sv name, unsigned idx)
{
	if (name.len) {
		tapir_str__add_printable(out, name.data, name.len);
	} else {
		tapir_str__add(out, "arg", 3);
		tapir_str__addu(out, idx);
	}
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* At most 39 digits: two times 19 and one. */
static void add_u128(struct tapir_str *out, unsigned __int128 number)
{
	static const uint64_t e19 = 10000000000000000000ull;

	if (number < e19) {
		tapir_str__addu(out, (uint64_t)number);
		return;
	}
	add_u128(out, number / e19);
	tapir_str__addf(out, "%019" PRIu64, (uint64_t)(number % e19));
}

static void add_i128(struct tapir_str *out, const struct tapir_value *value)
{
	unsigned __int128 number;

	memcpy(&number, value->bytes, sizeof(number));
	if (value->type == TAPIR_FIELD_I128 && (__int128)number < 0) {
		tapir_str__addc(out, '-');
		number = -number;
	}
	add_u128(out, number);
}

/*
 * Adds a number that is a whole one of billionths, as seconds of nanoseconds are, with the digits
 * that printf finds slowly: fifteen at most are always read back as the same number. False: it is
 * another one.
 */
static bool add_billionths(struct tapir_str *out, double value)
{
	const uint64_t one = 1000000000;
	unsigned digit_cnt = 9;
	uint64_t whole, part;

	if (!(value >= 1e-4 && value < 1e6)) /* printf has an exponent, or it has more digits */
		return false;
	whole = (uint64_t)(value * 1e9 + 0.5);
	if ((double)whole / 1e9 != value)
		return false;
	tapir_str__addu(out, whole / one);
	part = whole % one;
	for (; part && part % 10 == 0; digit_cnt--)
		part /= 10;
	if (part) {
		tapir_str__addc(out, '.');
		tapir_str__add_zeros(out, part, digit_cnt);
	}
	return true;
}

/* The fewest digits that read back as the same number of its size. */
static void add_float(struct tapir_str *out, const struct tapir_value *value)
{
	bool is_narrow = value->size == sizeof(float);
	char text[32];

	if (!is_narrow && add_billionths(out, value->f64))
		return;
	for (int digits = is_narrow ? 6 : 15; digits <= (is_narrow ? 9 : 17); digits++) {
		double back;

		snprintf(text, sizeof(text), "%.*g", digits, value->f64);
		back = strtod(text, NULL);
		if (is_narrow ? (float)back == (float)value->f64 : back == value->f64)
			break;
	}
	tapir_str__adds(out, text);
}

/* The length of the complete characters of a cut string, without a partial one at its end. */
static size_t whole_chars(const uint8_t *bytes, size_t len)
{
	size_t back = 0;

	while (back < 3 && back < len && (bytes[len - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < len) {
		uint8_t first = bytes[len - 1 - back];
		size_t want = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;

		if (want > back + 1)
			return len - 1 - back;
	}
	return len;
}

static size_t text_len(const struct tapir_value *value)
{
	return value->flags & TAPIR_VALUE_TRUNCATED ? whole_chars(value->bytes, value->len)
						    : value->len;
}

/* Quoted; quotes within as \" (a backslash is \\ already). */
static void add_quoted(struct tapir_str *out, const char *bytes, size_t len)
{
	const char *quote;

	tapir_str__addc(out, '"');
	while ((quote = memchr(bytes, '"', len))) {
		size_t before = (size_t)(quote - bytes);

		tapir_str__add_printable(out, bytes, before);
		tapir_str__add(out, "\\\"", 2);
		bytes += before + 1;
		len -= before + 1;
	}
	tapir_str__add_printable(out, bytes, len);
	tapir_str__addc(out, '"');
}

static void add_char(struct tapir_str *out, uint64_t value)
{
	char c = (char)value;

	if (value < 0x20 || value > 0x7e) {
		tapir_str__addu(out, value);
		return;
	}
	tapir_str__addc(out, '\'');
	tapir_str__addc(out, c);
	tapir_str__addc(out, '\'');
}

/* ---- what holds others ------------------------------------------------------------------------ */

static void add_utf16(struct tapir_str *out, const struct tapir_value *value, bool is_json)
{
	char near[SHORT_BYTES / 2 * 3], *text = near;
	struct tapir_value utf8 = {.type = TAPIR_FIELD_STRN, .flags = value->flags};

	if (value->len > SHORT_BYTES)
		text = malloc(value->len / 2 * 3);
	if (!text) {
		out->failed = true;
		return;
	}
	utf8.len = tapir_utf16__to_utf8(value->bytes, value->len, text);
	utf8.bytes = (const uint8_t *)text;
	if (is_json)
		tapir_value__add_json(out, &utf8);
	else
		tapir_value__add_text(out, &utf8);
	if (text != near)
		free(text);
}

static void add_member(struct tapir_str *out, const struct tapir_value *value, bool is_json)
{
	if (is_json)
		tapir_value__add_json(out, value);
	else
		tapir_value__add_text(out, value);
}

static void add_key(struct tapir_str *out, const struct tapir_value *value, unsigned idx,
		    bool is_json)
{
	struct tapir_json j = tapir_json__to(out);

	if (!is_json) {
		tapir_value__add_name(out, value->name, idx);
		tapir_str__addc(out, '=');
		return;
	}
	tapir_json__strn(&j, NULL, value->name.data, value->name.len);
	tapir_str__addc(out, ':');
}

/* Recursion is as deep as the layout. */
static void add_inside(struct tapir_str *out, const struct tapir_value *value, bool is_json)
{
	bool is_array = value->type == TAPIR_VALUE_ARRAY;
	struct tapir_packed_iter iter;
	struct tapir_value member;
	bool is_first = true;

	tapir_packed_iter__init(&iter, value);
	tapir_str__addc(out, is_array ? '[' : '{');
	for (unsigned i = 0; tapir_packed_iter__next(&iter, &member); i++) {
		if (!is_first)
			tapir_str__adds(out, is_json || is_array ? "," : ", ");
		is_first = false;
		if (!is_array)
			add_key(out, &member, i, is_json);
		add_member(out, &member, is_json);
	}
	if (value->flags & TAPIR_VALUE_TRUNCATED && is_array && !is_json)
		tapir_str__adds(out, is_first ? ELLIPSIS : "," ELLIPSIS);
	tapir_str__addc(out, is_array ? ']' : '}');
}

static bool add_nested(struct tapir_str *out, const struct tapir_value *value, bool is_json)
{
	switch (value->type) {
	case TAPIR_FIELD_UTF16:
		add_utf16(out, value, is_json);
		return true;
	case TAPIR_VALUE_DECIMAL:
		tapir_decimal__add_text(out, value->bytes);
		return true;
	case TAPIR_FIELD_STRUCT:
	case TAPIR_VALUE_ARRAY:
		add_inside(out, value, is_json);
		return true;
	default:
		return false;
	}
}

static bool add_packed_text(struct tapir_str *out, const struct tapir_value *value)
{
	return tapir_value_packed__add_plain(out, value) || add_nested(out, value, false);
}

/* No name of an enumeration needs escaping: its reader ensures that (manifest_fields.c). */
static bool add_packed_json(struct tapir_str *out, const struct tapir_value *value)
{
	size_t from = out->len;

	if (add_nested(out, value, true))
		return true;
	tapir_str__addc(out, '"');
	if (!tapir_value_packed__add_plain(out, value)) {
		out->len = from;
		return false;
	}
	tapir_str__addc(out, '"');
	return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool add_marker(struct tapir_str *out, const struct tapir_value *value)
{
	if (value->type != TAPIR_FIELD_NONE && !(value->flags & TAPIR_VALUE_ABSENT))
		return false;
	tapir_str__adds(out, value->type == TAPIR_FIELD_NONE ? "<unreadable: " : "<");
	tapir_str__adds(out, tapir_value__mark(value));
	tapir_str__addc(out, '>');
	return true;
}

void tapir_value__add_text(struct tapir_str *out, const struct tapir_value *value)
{
	if (add_marker(out, value) || (value->layout && add_packed_text(out, value)))
		return;
	switch (value->type) {
	case TAPIR_FIELD_INT:
		tapir_str__addd(out, value->i64);
		return;
	case TAPIR_FIELD_FLOAT:
		add_float(out, value);
		return;
	case TAPIR_FIELD_PTR:
		tapir_str__add(out, "0x", 2);
		tapir_str__addx(out, value->u64);
		return;
	case TAPIR_FIELD_BOOL:
		tapir_str__adds(out, value->u64 ? "true" : "false");
		return;
	case TAPIR_FIELD_CHAR:
		add_char(out, value->u64);
		return;
	case TAPIR_FIELD_STR:
	case TAPIR_FIELD_STRN:
		add_quoted(out, (const char *)value->bytes, text_len(value));
		break;
	case TAPIR_FIELD_BLOB:
		tapir_str__add(out, "0x", 2);
		tapir_str__add_hex(out, value->bytes, value->len);
		break;
	case TAPIR_FIELD_I128:
	case TAPIR_FIELD_U128:
		add_i128(out, value);
		return;
	default:
		tapir_str__addu(out, value->u64);
		return;
	}
	if (value->flags & TAPIR_VALUE_TRUNCATED)
		tapir_str__adds(out, ELLIPSIS);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void tapir_value__add_json(struct tapir_str *out, const struct tapir_value *value)
{
	struct tapir_json j = tapir_json__to(out);

	if (value->type == TAPIR_FIELD_NONE || value->flags & TAPIR_VALUE_ABSENT) {
		tapir_json__null(&j, NULL);
		return;
	}
	if (value->layout && add_packed_json(out, value))
		return;
	switch (value->type) {
	case TAPIR_FIELD_INT:
		tapir_str__addd(out, value->i64);
		return;
	case TAPIR_FIELD_FLOAT:
		/* JSON has no NaN and no infinity. */
		if (isfinite(value->f64))
			add_float(out, value);
		else
			tapir_json__null(&j, NULL);
		return;
	case TAPIR_FIELD_BOOL:
		tapir_json__bool(&j, NULL, value->u64 != 0);
		return;
	case TAPIR_FIELD_STR:
	case TAPIR_FIELD_STRN:
		tapir_json__strn(&j, NULL, (const char *)value->bytes, text_len(value));
		return;
	case TAPIR_FIELD_BLOB:
		tapir_str__addc(out, '"');
		tapir_str__add_hex(out, value->bytes, value->len);
		tapir_str__addc(out, '"');
		return;
	case TAPIR_FIELD_I128:
	case TAPIR_FIELD_U128:
		add_i128(out, value);
		return;
	default:
		tapir_str__addu(out, value->u64);
		return;
	}
}
