// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * String building, UTF-8, globs, numbers. Text of traced processes is hostile: it may hold escape
 * sequences of terminals, characters that reverse the reading direction, and broken UTF-8.
 */
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tapir_str__fini(struct tapir_str *s)
{
	free(s->data);
	*s = (struct tapir_str){};
}

void tapir_str__clear(struct tapir_str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->data)
		s->data[0] = '\0';
}

bool tapir_str__reserve(struct tapir_str *s, size_t more_bytes)
{
	size_t need = s->len + more_bytes + 1;
	size_t cap = s->cap ? s->cap : 64;
	char *grown;

	if (more_bytes > PTRDIFF_MAX - s->len - 1) { /* need wrapped, or cap would */
		s->failed = true;
		return false;
	}
	if (need <= s->cap)
		return true;
	while (cap < need)
		cap *= 2;
	grown = realloc(s->data, cap);
	if (!grown) {
		s->failed = true;
		return false;
	}
	s->data = grown;
	s->cap = cap;
	return true;
}

void tapir_str__add(struct tapir_str *s, const char *bytes, size_t len)
{
	if (!tapir_str__reserve(s, len))
		return;
	if (len) /* bytes may be NULL then */
		memcpy(s->data + s->len, bytes, len);
	s->len += len;
	s->data[s->len] = '\0';
}

void tapir_str__adds(struct tapir_str *s, const char *text)
{
	tapir_str__add(s, text, strlen(text));
}

void tapir_str__addc(struct tapir_str *s, char c)
{
	tapir_str__add(s, &c, 1);
}

void tapir_str__add_zeros(struct tapir_str *s, uint64_t value, unsigned digit_cnt)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	while (at && sizeof(digits) - at < digit_cnt)
		digits[--at] = '0';
	tapir_str__add(s, digits + at, sizeof(digits) - at);
}

void tapir_str__addu(struct tapir_str *s, uint64_t value)
{
	tapir_str__add_zeros(s, value, 1);
}

void tapir_str__addd(struct tapir_str *s, int64_t value)
{
	if (value < 0)
		tapir_str__addc(s, '-');
	tapir_str__addu(s, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void tapir_str__addx(struct tapir_str *s, uint64_t value)
{
	char digits[16];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[value & 15];
	while (value >>= 4);
	tapir_str__add(s, digits + at, sizeof(digits) - at);
}

void tapir_str__add_hex(struct tapir_str *s, const void *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *byte = bytes;

	if (len > SIZE_MAX / 2 || !tapir_str__reserve(s, len * 2)) {
		s->failed = true;
		return;
	}
	for (size_t i = 0; i < len; i++) {
		s->data[s->len++] = digits[byte[i] >> 4];
		s->data[s->len++] = digits[byte[i] & 15];
	}
	s->data[s->len] = '\0';
}

void tapir_str__addf(struct tapir_str *s, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0 || !tapir_str__reserve(s, (size_t)len))
		return;
	va_start(ap, fmt);
	vsnprintf(s->data + s->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	s->len += (size_t)len;
}

static void add_escape(struct tapir_str *s, unsigned char c)
{
	tapir_str__addc(s, '\\');
	if (c == '\\')
		tapir_str__addc(s, '\\');
	else if (c == '\n')
		tapir_str__addc(s, 'n');
	else if (c == '\t')
		tapir_str__addc(s, 't');
	else
		tapir_str__addf(s, "x%02x", c);
}

size_t tapir_utf8__len(const unsigned char *p, size_t left)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;

	if (!len || p[0] > 0xf4 || len > left)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

uint32_t tapir_utf8__code(const unsigned char *p, size_t len)
{
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

struct range {
	uint32_t from, until;
};

static bool is_in(const struct range *ranges, uint32_t code)
{
	for (; ranges->until; ranges++)
		if (code >= ranges->from && code <= ranges->until)
			return true;
	return false;
}

/* Compares with blocks of Unicode (UAX #11): wcwidth(3) would need a locale. */
static size_t columns_of(uint32_t code)
{
	static const struct range combining[] = {
		{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},
		{0x064b, 0x065f}, {0x200b, 0x200d}, {0x20d0, 0x20ff},
		{0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {}};
	static const struct range wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0xa4cf},   {0xac00, 0xd7a3},
		{0xf900, 0xfaff},   {0xfe30, 0xfe6f},	{0xff00, 0xff60},   {0xffe0, 0xffe6},
		{0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}, {}};

	if (code < 0x0300)
		return 1;
	return is_in(combining, code) ? 0 : is_in(wide, code) ? 2 : 1;
}

size_t tapir_utf8__fitting(const char *text, size_t len, size_t columns)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i = 0;

	while (i < len) {
		size_t seq = tapir_utf8__len(p + i, len - i);
		size_t wants = seq ? columns_of(tapir_utf8__code(p + i, seq)) : 1;

		if (wants > columns)
			break;
		columns -= wants;
		i += seq ? seq : 1;
	}
	return i;
}

size_t tapir_utf8__columns(const char *text, size_t len)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t sum = 0;

	for (size_t i = 0, seq; i < len; i += seq ? seq : 1) {
		seq = tapir_utf8__len(p + i, len - i);
		sum += seq ? columns_of(tapir_utf8__code(p + i, seq)) : 1;
	}
	return sum;
}

static void add_unit(struct tapir_str *s, uint32_t unit)
{
	tapir_str__addc(s, (char)unit);
	tapir_str__addc(s, (char)(unit >> 8));
}

void tapir_str__add_utf16(struct tapir_str *s, uint32_t code)
{
	if (code < 0x10000) {
		add_unit(s, code);
		return;
	}
	code -= 0x10000;
	add_unit(s, 0xd800 | code >> 10);
	add_unit(s, 0xdc00 | (code & 0x3ff));
}

bool tapir_utf8__misleads(const unsigned char *p, size_t len)
{
	uint32_t c = tapir_utf8__code(p, len);

	return c < 0x20 ||
	       (c >= 0x7f && c < 0xa0) || /* control characters, too; U+009B begins a sequence */
	       c == 0x061c || c == 0x200e || c == 0x200f || /* marks of direction */
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || /* its overrides */
	       c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

/* The length in bytes of the character at p if a terminal can only display it; 0 if not. */
static size_t printable_len(const unsigned char *p, size_t left)
{
	size_t len;

	if (*p < 0x80)
		return *p >= 0x20 && *p != 0x7f && *p != '\\';
	len = tapir_utf8__len(p, left);
	return len && tapir_utf8__misleads(p, len) ? 0 : len;
}

#define EACH_BYTE(byte) (~0ull / 255 * (byte))
#define HAS_ZERO(word)	(((word)-EACH_BYTE(0x01)) & ~(word)&EACH_BYTE(0x80))

/* A number of bytes at the beginning that are shown as they are: of most text all but the end. */
static size_t plain_len(const unsigned char *p, size_t len)
{
	size_t at = 0;
	uint64_t word;

	for (; len - at >= sizeof(word); at += sizeof(word)) {
		memcpy(&word, p + at, sizeof(word));
		if (word & EACH_BYTE(0x80) || (word - EACH_BYTE(0x20)) & ~word & EACH_BYTE(0x80) ||
		    HAS_ZERO(word ^ EACH_BYTE(0x7f)) || HAS_ZERO(word ^ EACH_BYTE('\\')))
			break;
	}
	return at;
}

void tapir_str__add_printable(struct tapir_str *s, const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;
	size_t plain = 0;

	for (size_t i = plain_len(p, len), seq; i < len; i += seq ? seq : 1) {
		seq = printable_len(p + i, len - i);
		if (seq)
			continue;
		tapir_str__add(s, bytes + plain, i - plain);
		add_escape(s, p[i]);
		plain = i + 1;
	}
	tapir_str__add(s, bytes + plain, len - plain);
}

static const char *entity_of(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

void tapir_str__add_markup(struct tapir_str *s, const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0, seq; i < len; i += seq ? seq : 1) {
		const char *entity = entity_of(bytes[i]);

		seq = tapir_utf8__len(p + i, len - i);
		if (entity)
			tapir_str__adds(s, entity);
		else if (!seq || tapir_utf8__misleads(p + i, seq))
			tapir_str__adds(s, "\xef\xbf\xbd");
		else
			tapir_str__add(s, bytes + i, seq);
	}
}

void tapir_str__add_utf8(struct tapir_str *s, const char *bytes, size_t len)
{
	for (size_t i = 0, seq; i < len; i += seq ? seq : 1) {
		seq = tapir_utf8__len((const unsigned char *)bytes + i, len - i);
		if (seq && bytes[i])
			tapir_str__add(s, bytes + i, seq);
		else
			tapir_str__adds(s, "\xef\xbf\xbd");
	}
}

void tapir_str__pad(struct tapir_str *s, size_t from, size_t width)
{
	while (s->len < from + width && !s->failed)
		tapir_str__addc(s, ' ');
}

/* One [...] set at *glob; advances *glob past it. An unclosed set matches a literal '['. */
static bool match_set(const char **glob, char c)
{
	const char *g = *glob + 1;
	bool negated = *g == '!' || *g == '^';
	bool found = false;

	if (negated)
		g++;
	for (const char *first = g; *g && (*g != ']' || g == first); g++) {
		if (g[1] == '-' && g[2] && g[2] != ']') {
			found |= (unsigned char)c >= (unsigned char)g[0] &&
				 (unsigned char)c <= (unsigned char)g[2];
			g += 2;
		} else {
			found |= c == *g;
		}
	}
	if (*g != ']') {
		(*glob)++;
		return c == '[';
	}
	*glob = g + 1;
	return found != negated;
}

static bool match_one(const char **glob, char c)
{
	if (**glob == '?') {
		(*glob)++;
		return true;
	}
	if (**glob == '[')
		return match_set(glob, c);
	if (**glob == '\\' && (*glob)[1])
		(*glob)++;
	return *(*glob)++ == c;
}

bool tapir_glob__match(const char *glob, const char *text)
{
	const char *star_glob = NULL, *star_text = NULL;

	while (*text) {
		if (*glob == '*') {
			star_glob = ++glob;
			star_text = text;
		} else if (*glob && match_one(&glob, *text)) {
			text++;
		} else if (star_glob) {
			glob = star_glob;
			text = ++star_text;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

size_t tapir_glob__element_len(const char *glob)
{
	const char *end = glob;

	if (*glob == '[')
		match_set(&end, '[');
	else
		end += *glob == '\\' && glob[1] ? 2 : 1;
	return (size_t)(end - glob);
}

bool tapir_glob__is_plain(const char *glob)
{
	return !glob[strcspn(glob, "*?[\\")];
}

bool tapir_str__to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	unsigned long long value;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
	if (errno || *end || value < min || value > max)
		return false;
	*out = value;
	return true;
}

unsigned tapir_str__distance(const char *a, const char *b, unsigned limit)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	unsigned row[128];

	if (!strcmp(a, b))
		return 0;
	if (b_len >= 127 || a_len > b_len + limit || b_len > a_len + limit)
		return limit + 1;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	/*
	 * Levenshtein's table row by row: row[] holds the row above from j on, and this one before
	 * it. It ends early, since the least of a row never falls.
	 */
	for (size_t i = 1; i <= a_len; i++) {
		unsigned diagonal = row[0], best = row[0] = (unsigned)i;

		for (size_t j = 1; j <= b_len; j++) {
			unsigned cost = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (cost > diagonal + 1)
				cost = diagonal + 1;
			if (cost > row[j - 1] + 1)
				cost = row[j - 1] + 1;
			row[j] = cost;
			best = cost < best ? cost : best;
		}
		if (best > limit)
			return limit + 1;
	}
	return row[b_len] <= limit ? row[b_len] : limit + 1;
}

const char *tapir_times__text(uint64_t cnt, char text[TAPIR_TIMES_TEXT_BYTES])
{
	if (cnt == 1)
		return strcpy(text, "once");
	snprintf(text, TAPIR_TIMES_TEXT_BYTES, "%llu times", (unsigned long long)cnt);
	return text;
}
