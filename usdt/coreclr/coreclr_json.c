/* SPDX-License-Identifier: MIT */
/*
 * coreclr_json.c - a payload as one JSON object in a buffer on the firing thread's stack. Each
 * piece is written completely or not at all; after one that did not fit (or was cut) only the
 * closing brackets follow, for which room is reserved. Fields that the payload does not reach are
 * null, bytes after the last field are "rest", in hex.
 */
#include <string.h>

#include "coreclr_publish.h"

#define CUT	      "\"tapir_cut\":true"
/* Brackets of objects and arrays in each other, a quote, a comma, CUT, and the NUL. */
#define RESERVE_BYTES (2 * CORECLR_DEPTH_MAX + sizeof(CUT) + 8)
#define LIMIT	      (CORECLR_JSON_BYTES - RESERVE_BYTES)

struct json {
	char *out;
	uint32_t len;
	uint32_t is_cut;
	struct coreclr_cursor c;
	const struct coreclr_field *fields;
};

static void put(struct json *j, const char *text, uint32_t len)
{
	if (j->is_cut || j->len + len > LIMIT) {
		j->is_cut = 1;
		return;
	}
	memcpy(j->out + j->len, text, len);
	j->len += len;
}

/* What room is kept for. */
static void close_with(struct json *j, char c)
{
	j->out[j->len++] = c;
}

static void put_comma(struct json *j)
{
	char before = j->out[j->len - 1];

	if (before != '{' && before != '[')
		put(j, ",", 1);
}

/* A character, in UTF-8. */
static void put_character(struct json *j, const char *text, uint32_t len)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t c = (uint8_t)text[0];
	char escaped[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r') {
		escaped[1] = (char)(c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : c);
		put(j, escaped, 2);
	} else if (c < 0x20 || c == 0x7f) {
		put(j, escaped, 6);
	} else {
		put(j, text, len);
	}
}

static void put_utf16(struct json *j, const uint8_t *at, uint32_t units)
{
	put(j, "\"", 1);
	if (j->is_cut)
		return;
	for (uint32_t i = 0; i < units && !j->is_cut; i++) {
		uint32_t high = at[2 * i + 1] & 0xfc,
			 low = i + 1 < units ? at[2 * i + 3] & 0xfc : 0;
		uint32_t is_pair = high == 0xd8 && low == 0xdc;
		char c[5];
		uint32_t len = coreclr_text__narrow(c, sizeof(c), at + 2 * i, 1 + is_pair);

		if (len)
			put_character(j, c, len);
		i += is_pair;
	}
	close_with(j, '"');
}

static void put_key(struct json *j, const char *name)
{
	uint32_t before = j->len;

	put_comma(j);
	put(j, "\"", 1);
	for (; *name && !j->is_cut; name++)
		put_character(j, name, 1);
	put(j, "\":", 2);
	if (j->is_cut)
		j->len = before;
}

static void put_hex(struct json *j, const uint8_t *at, uint32_t bytes)
{
	static const char hex[] = "0123456789abcdef";

	put(j, "\"", 1);
	if (j->is_cut)
		return;
	for (uint32_t i = 0; i < bytes && !j->is_cut; i++)
		put(j, (char[2]){hex[at[i] >> 4], hex[at[i] & 15]}, 2);
	close_with(j, '"');
}

static uint64_t read_u64(const uint8_t *at, uint32_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

static int64_t read_i64(const uint8_t *at, uint32_t bytes)
{
	return (int64_t)(read_u64(at, bytes) << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static uint32_t number(char *out, uint8_t type, const uint8_t *at, uint32_t bytes)
{
	switch (type) {
	case CORECLR_I8:
	case CORECLR_I16:
	case CORECLR_I32:
	case CORECLR_I64:
		return coreclr_number__i64(out, read_i64(at, bytes));
	case CORECLR_F32:
	case CORECLR_F64:
		return coreclr_number__float(out, read_u64(at, bytes), bytes);
	case CORECLR_DECIMAL:
		return bytes == 8 ? coreclr_number__float(out, read_u64(at, 8), 8)
				  : coreclr_number__decimal(out, at);
	default:
		return coreclr_number__u64(out, read_u64(at, bytes));
	}
}

static void put_fixed(struct json *j, uint8_t type, const uint8_t *at, uint32_t bytes)
{
	char text[CORECLR_NUMBER_BYTES + 2] = "\"";
	uint32_t len;

	if (type == CORECLR_BOOL) {
		read_u64(at, bytes) ? put(j, "true", 4) : put(j, "false", 5);
	} else if (type == CORECLR_CHAR) {
		put_utf16(j, at, 1);
	} else if (type == CORECLR_GUID || type == CORECLR_TIME) {
		len = type == CORECLR_GUID ? coreclr_number__guid(text + 1, at)
					   : coreclr_number__time(text + 1, read_u64(at, 8));
		text[len + 1] = '"';
		put(j, text, len + 2);
	} else {
		put(j, text, number(text, type, at, bytes));
	}
}

static void put_value(struct json *j, uint32_t idx, int is_element);

static void put_members(struct json *j, uint32_t from, uint32_t to)
{
	put(j, "{", 1);
	if (j->is_cut)
		return;
	for (uint32_t i = from; i < to && !j->is_cut; i = j->fields[i].end) {
		uint32_t before = j->len, key_end;

		put_key(j, j->fields[i].name);
		key_end = j->len;
		if (!j->is_cut)
			put_value(j, i, 0);
		if (j->len == key_end) /* nothing of the value */
			j->len = before;
	}
	close_with(j, '}');
}

static void put_array(struct json *j, uint32_t idx)
{
	const struct coreclr_field *f = &j->fields[idx];
	uint32_t cnt = coreclr_cursor__count(&j->c, f), before;

	if (f->type == CORECLR_U8) {
		j->c.is_short |= cnt > j->c.left;
		cnt = cnt < j->c.left ? cnt : j->c.left;
		put_hex(j, j->c.at, cnt);
		j->c.at += cnt;
		j->c.left -= cnt;
		return;
	}
	put(j, "[", 1);
	if (j->is_cut)
		return;
	for (uint32_t i = 0; i < cnt && !j->c.is_short && j->c.left && !j->is_cut; i++) {
		before = j->len;
		put_comma(j);
		if (!j->is_cut)
			put_value(j, idx, 1);
		/* The comma alone, or a piece of a number. */
		if (j->is_cut && j->out[j->len - 1] == ',')
			j->len = before;
	}
	close_with(j, ']');
}

static void put_value(struct json *j, uint32_t idx, int is_element)
{
	const struct coreclr_field *f = &j->fields[idx];
	uint32_t bytes = coreclr_type__bytes(f->type, j->c.is_self);
	const uint8_t *at = j->c.at;

	if (j->c.is_short || (!j->c.left && (f->type != CORECLR_OBJECT || f->is_array)) ||
	    (bytes > j->c.left && !f->is_array)) {
		j->c.is_short = 1;
		put(j, "null", 4);
	} else if (f->is_array && !is_element) {
		put_array(j, idx);
	} else if (f->type == CORECLR_OBJECT) {
		put_members(j, idx + 1, f->end);
	} else if (f->type == CORECLR_TEXT) {
		put_utf16(j, at, coreclr_cursor__units(&j->c));
		coreclr_cursor__skip(&j->c, j->fields, idx, 1);
	} else if (bytes > j->c.left) {
		j->c.is_short = 1;
		put(j, "null", 4);
	} else {
		put_fixed(j, f->type, at, bytes);
		coreclr_cursor__skip(&j->c, j->fields, idx, 1);
	}
}

uint32_t coreclr_json__write(const struct coreclr_layout *layout, const uint8_t *data,
			     uint32_t bytes, char out[CORECLR_JSON_BYTES])
{
	struct json j = {.out = out,
			 .c = {.at = data, .left = bytes, .is_self = layout->is_self},
			 .fields = layout->fields};
	uint32_t from = 0, to = layout->cnt;

	/* What Write(name, data) was given is one object without a name. */
	if (to && !layout->fields[0].name[0] && layout->fields[0].type == CORECLR_OBJECT &&
	    !layout->fields[0].is_array && layout->fields[0].end == to)
		from = 1;
	put_members(&j, from, to);
	j.len--; /* the bracket */
	if (j.c.left && !j.c.is_short && !j.is_cut) {
		put_key(&j, "rest");
		if (!j.is_cut)
			put_hex(&j, j.c.at, j.c.left);
	}
	if (j.is_cut) {
		if (out[j.len - 1] != '{')
			close_with(&j, ',');
		memcpy(out + j.len, CUT, sizeof(CUT) - 1);
		j.len += sizeof(CUT) - 1;
	}
	close_with(&j, '}');
	out[j.len] = 0;
	return j.len;
}
