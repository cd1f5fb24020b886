// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * JSON as in RFC 8259. Integers are written without printf: a view of a large recording has
 * millions. A double gets 17 digits, with which it is read back exactly.
 */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void add_control(struct tapir_str *out, unsigned char c)
{
	static const char names[] = "btn?fr"; /* 8 to 13; 11 has no escape */

	if (c >= 8 && c <= 13 && c != 11) {
		tapir_str__addc(out, '\\');
		tapir_str__addc(out, names[c - 8]);
	} else {
		tapir_str__addf(out, "\\u%04x", c);
	}
}

/* A character that must not be shown as it is, as UTF-16. */
static void add_code(struct tapir_str *out, const unsigned char *p, size_t len)
{
	uint32_t code = tapir_utf8__code(p, len);

	if (code >= 0x10000)
		tapir_str__addf(out, "\\u%04x", 0xd7c0 + (code >> 10));
	tapir_str__addf(out, "\\u%04x", code >= 0x10000 ? 0xdc00 + (code & 0x3ff) : code);
}

static void add_quoted(struct tapir_str *out, const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t plain = 0, i = 0;

	tapir_str__addc(out, '"');
	while (i < len) {
		size_t seq;

		if (p[i] >= 0x20 && p[i] < 0x7f && p[i] != '"' && p[i] != '\\') {
			i++;
			continue;
		}
		seq = tapir_utf8__len(p + i, len - i);
		/*
		 * Characters that change how the text around them is shown, such as an override of
		 * its direction, are written as escapes: names come from other users' processes.
		 */
		if (seq > 1 && !tapir_utf8__misleads(p + i, seq)) {
			i += seq;
			continue;
		}
		tapir_str__add(out, bytes + plain, i - plain);
		/*
		 * Bytes that are no UTF-8 are replaced one by one (U+FFFD), so that what follows is
		 * read aright.
		 */
		if (!seq)
			tapir_str__adds(out, "\xef\xbf\xbd");
		else if (seq > 1)
			add_code(out, p + i, seq);
		else if (p[i] == '"' || p[i] == '\\')
			tapir_str__addf(out, "\\%c", p[i]);
		else
			add_control(out, p[i]);
		i += seq ? seq : 1;
		plain = i;
	}
	tapir_str__add(out, bytes + plain, len - plain);
	tapir_str__addc(out, '"');
}

void tapir_json__add_document(struct tapir_str *out, const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t plain = 0;

	for (size_t i = 0, seq; i < len; i += seq ? seq : 1) {
		seq = tapir_utf8__len(p + i, len - i);
		if (seq == 1 ? p[i] != 0x7f : !seq || !tapir_utf8__misleads(p + i, seq))
			continue;
		tapir_str__add(out, text + plain, i - plain);
		add_code(out, p + i, seq);
		plain = i + seq;
	}
	tapir_str__add(out, text + plain, len - plain);
}

static void begin_value(struct tapir_json *j, const char *key)
{
	uint64_t bit = 1ull << j->depth;

	if (j->has_member & bit)
		tapir_str__addc(j->out, ',');
	if (j->depth)
		j->has_member |= bit;
	if (key) {
		add_quoted(j->out, key, strlen(key));
		tapir_str__addc(j->out, ':');
	}
}

void tapir_json__open(struct tapir_json *j, const char *key, char bracket)
{
	begin_value(j, key);
	tapir_str__addc(j->out, bracket);
	assert(j->depth < 63);
	j->depth++;
	j->has_member &= ~(1ull << j->depth);
}

void tapir_json__close(struct tapir_json *j, char bracket)
{
	assert(j->depth);
	j->depth--;
	tapir_str__addc(j->out, bracket);
}

void tapir_json__u64(struct tapir_json *j, const char *key, uint64_t value)
{
	begin_value(j, key);
	tapir_str__addu(j->out, value);
}

void tapir_json__i64(struct tapir_json *j, const char *key, int64_t value)
{
	begin_value(j, key);
	tapir_str__addd(j->out, value);
}

void tapir_json__f64(struct tapir_json *j, const char *key, double value)
{
	begin_value(j, key);
	if (isfinite(value))
		tapir_str__addf(j->out, "%.17g", value);
	else
		tapir_str__adds(j->out, "null");
}

void tapir_json__bool(struct tapir_json *j, const char *key, bool value)
{
	begin_value(j, key);
	tapir_str__adds(j->out, value ? "true" : "false");
}

void tapir_json__null(struct tapir_json *j, const char *key)
{
	begin_value(j, key);
	tapir_str__adds(j->out, "null");
}

void tapir_json__str(struct tapir_json *j, const char *key, const char *text)
{
	if (!text) {
		tapir_json__null(j, key);
		return;
	}
	tapir_json__strn(j, key, text, strlen(text));
}

void tapir_json__strn(struct tapir_json *j, const char *key, const char *bytes, size_t len)
{
	begin_value(j, key);
	add_quoted(j->out, bytes, len);
}
