/* SPDX-License-Identifier: MIT */
/*
 * coreclr_text.c - text between the runtime's UTF-16 and our UTF-8. A lone surrogate becomes
 * U+FFFD. UTF-16 in a blob need not be aligned.
 */
#include <string.h>

#include "coreclr_impl.h"

#define REPLACEMENT 0xfffdu

static uint32_t unit_at(const uint8_t *text, uint32_t i)
{
	return text[2 * i] | (uint32_t)text[2 * i + 1] << 8;
}

static uint32_t put_utf8(char *out, uint32_t c)
{
	uint32_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t lead[] = {0, 0x00, 0xc0, 0xe0, 0xf0};

	for (uint32_t i = n - 1; i; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(lead[n] | c);
	return n;
}

uint32_t coreclr_text__narrow(char *out, uint32_t room, const uint8_t *text, uint32_t units)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < units; i++) {
		uint32_t c = unit_at(text, i);
		char bytes[4];
		uint32_t n;

		if (!c)
			break;
		/*
		 * Surrogates: a high and a low one make a character beyond 16 bits; half of a pair
		 * is none (RFC 2781, 2.2).
		 */
		if (c >= 0xd800 && c < 0xe000) {
			uint32_t low = i + 1 < units ? unit_at(text, i + 1) : 0;

			if (c < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
				i++;
			} else {
				c = REPLACEMENT;
			}
		}
		n = put_utf8(bytes, c);
		/* Cut between characters: what is there is valid UTF-8, with room for the end. */
		if (len + n >= room)
			break;
		memcpy(out + len, bytes, n);
		len += n;
	}
	out[len] = 0;
	return len;
}

/* One character; what is no UTF-8 becomes REPLACEMENT. The text ends with NUL. */
static uint32_t take_utf8(const uint8_t **at)
{
	const uint8_t *p = *at;
	uint32_t c = *p++, more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

	if (c >= 0x80)
		c = more ? c & (0x3fu >> more) : REPLACEMENT;
	for (; more && (*p & 0xc0) == 0x80; more--)
		c = c << 6 | (*p++ & 0x3f);
	*at = p;
	return more || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? REPLACEMENT : c;
}

uint32_t coreclr_text__widen(uint16_t *out, uint32_t room, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	uint32_t len = 0;

	while (*at) {
		uint32_t c = take_utf8(&at), n = c < 0x10000 ? 1 : 2;

		if (len + n >= room)
			break;
		if (n == 2) {
			out[len++] = (uint16_t)(0xd800 + ((c - 0x10000) >> 10));
			c = 0xdc00 + ((c - 0x10000) & 0x3ff);
		}
		out[len++] = (uint16_t)c;
	}
	out[len] = 0;
	return len;
}

int coreclr_text__is_glob(const char *text)
{
	while (*text && *text != '*' && *text != '?')
		text++;
	return *text != 0;
}

int coreclr_text__glob(const char *pattern, const char *text)
{
	const char *star = NULL, *mark = text;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			mark = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++mark;
		} else {
			return 0;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}
