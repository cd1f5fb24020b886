/* SPDX-License-Identifier: MIT */
/*
 * json_text.c - JSON where events fire (json_text.h). A piece is put only if it fits together with
 * the brackets that are open; texts are cut between characters.
 */
#include <string.h>

#include "json_text.h"
#include "tapir/payload_parts.h"

#define TRUNCATED_MEMBER "\"tapir_cut\":true"
/* Brackets of objects and arrays in each other, a quote, a comma, CUT, and the NUL. */
#define RESERVE_BYTES	 (2 * JSON_TEXT_DEPTH_MAX + sizeof(TRUNCATED_MEMBER) + 8)
#define REPLACEMENT	 0xfffdu

static const char hex[] = "0123456789abcdef";

void json_text__init(struct json_text *j, char *out, uint32_t room)
{
	j->out = out;
	j->limit = room - RESERVE_BYTES;
	j->len = j->is_truncated = 0;
}

void json_text__put(struct json_text *j, const char *text, uint32_t len)
{
	if (j->is_truncated || j->len + len > j->limit) {
		j->is_truncated = 1;
		return;
	}
	memcpy(j->out + j->len, text, len);
	j->len += len;
}

void json_text__comma(struct json_text *j)
{
	char before = j->out[j->len - 1];

	if (before != '{' && before != '[')
		json_text__put(j, ",", 1);
}

int json_text__open(struct json_text *j, char bracket)
{
	json_text__put(j, &bracket, 1);
	return !j->is_truncated;
}

/* Closes a bracket, for which room was kept. */
void json_text__close(struct json_text *j, char bracket)
{
	j->out[j->len++] = bracket;
}

void json_text__null(struct json_text *j)
{
	json_text__put(j, "null", 4);
}

/* ---- texts -------------------------------------------------------------------------------- */

/* A character, in UTF-8. */
static void put_character(struct json_text *j, const char *text, uint32_t len)
{
	uint8_t c = (uint8_t)text[0];
	char escaped[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

	if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r') {
		escaped[1] = (char)(c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : c);
		json_text__put(j, escaped, 2);
	} else if (c < 0x20 || c == 0x7f) {
		json_text__put(j, escaped, 6);
	} else {
		json_text__put(j, text, len);
	}
}

static void put_value(struct json_text *j, uint32_t value)
{
	char c[4];

	if (value)
		put_character(j, c, tapir_part__put_char(value, c));
}

static uint32_t unit_at(const uint8_t *at, uint32_t i)
{
	return at[2 * i] | (uint32_t)at[2 * i + 1] << 8;
}

void json_text__utf16(struct json_text *j, const uint8_t *at, uint32_t units)
{
	if (!json_text__open(j, '"'))
		return;
	for (uint32_t i = 0; i < units && !j->is_truncated; i++) {
		uint32_t value = unit_at(at, i), low = i + 1 < units ? unit_at(at, i + 1) : 0;

		if (value >= 0xd800 && value < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
			value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
			i++;
		} else if (value >= 0xd800 && value < 0xe000) {
			value = REPLACEMENT;
		}
		put_value(j, value);
	}
	json_text__close(j, '"');
}

/* The number of bytes of a character, all of them right; 0: it is not one. */
static uint32_t utf8_bytes(const uint8_t *at, uint32_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t cnt = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
	uint32_t value = cnt > 1 ? *at & (0x7fu >> cnt) : *at;

	if (!cnt || cnt > left || *at > 0xf4)
		return 0;
	for (uint32_t i = 1; i < cnt; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3f);
	}
	return value < least[cnt] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? 0
											     : cnt;
}

void json_text__utf8(struct json_text *j, const uint8_t *at, uint32_t bytes)
{
	if (!json_text__open(j, '"'))
		return;
	for (uint32_t i = 0, cnt; i < bytes && !j->is_truncated; i += cnt ? cnt : 1) {
		cnt = utf8_bytes(at + i, bytes - i);
		if (!cnt)
			put_value(j, REPLACEMENT);
		else if (at[i])
			put_character(j, (const char *)at + i, cnt);
	}
	json_text__close(j, '"');
}

void json_text__key(struct json_text *j, const char *name)
{
	uint32_t before = j->len;

	json_text__comma(j);
	json_text__put(j, "\"", 1);
	for (; *name && !j->is_truncated; name++)
		put_character(j, name, 1);
	json_text__put(j, "\":", 2);
	if (j->is_truncated)
		j->len = before;
}

void json_text__bytes_as_hex(struct json_text *j, const uint8_t *at, uint32_t bytes)
{
	if (!json_text__open(j, '"'))
		return;
	for (uint32_t i = 0; i < bytes && !j->is_truncated; i++)
		json_text__put(j, (char[2]){hex[at[i] >> 4], hex[at[i] & 15]}, 2);
	json_text__close(j, '"');
}

uint32_t json_text__end(struct json_text *j)
{
	if (j->is_truncated) {
		if (j->out[j->len - 1] != '{')
			json_text__close(j, ',');
		memcpy(j->out + j->len, TRUNCATED_MEMBER, sizeof(TRUNCATED_MEMBER) - 1);
		j->len += sizeof(TRUNCATED_MEMBER) - 1;
	}
	json_text__close(j, '}');
	j->out[j->len] = 0;
	return j->len;
}
