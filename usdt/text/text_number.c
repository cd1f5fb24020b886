/* SPDX-License-Identifier: MIT */
/*
 * text_number.c - numbers as text, without floating-point registers and without the C library:
 * this runs on the program's threads, between its own instructions.
 *
 * A double is written with the fewest digits that read back as the same one: the midpoints to its
 * neighbors are kept with it as integers of a common scale, and digits are produced until the rest
 * is between them (Steele and White, Dragon4).
 */
#include <string.h>

#include "text_number.h"

#define FILETIME_A_SECOND 10000000ull
#define WORD_CNT	  40u /* 2^1131 is the largest there is */

uint32_t text_number__u64(char *out, uint64_t value)
{
	char digits[20];
	uint32_t cnt = 0;

	do
		digits[cnt++] = (char)('0' + value % 10);
	while (value /= 10);
	for (uint32_t i = 0; i < cnt; i++)
		out[i] = digits[cnt - 1 - i];
	return cnt;
}

uint32_t text_number__i64(char *out, int64_t value)
{
	if (value >= 0)
		return text_number__u64(out, (uint64_t)value);
	*out = '-';
	return 1 + text_number__u64(out + 1, 0 - (uint64_t)value);
}

/* ---- large whole numbers ---------------------------------------------------------------------- */

struct large {
	uint32_t cnt; /* words in use */
	uint32_t words[WORD_CNT];
};

static void set(struct large *a, uint64_t value)
{
	memset(a, 0, sizeof(*a));
	a->words[0] = (uint32_t)value;
	a->words[1] = (uint32_t)(value >> 32);
	a->cnt = 2;
}

static void multiply(struct large *a, uint32_t by)
{
	uint64_t carry = 0;

	for (uint32_t i = 0; i < a->cnt; i++) {
		carry += (uint64_t)a->words[i] * by;
		a->words[i] = (uint32_t)carry;
		carry >>= 32;
	}
	if (carry && a->cnt < WORD_CNT)
		a->words[a->cnt++] = (uint32_t)carry;
}

static void multiply_by_two_to(struct large *a, uint32_t bits)
{
	for (; bits >= 31; bits -= 31)
		multiply(a, 1u << 31);
	multiply(a, 1u << bits);
}

static void multiply_by_ten_to(struct large *a, uint32_t power)
{
	for (; power >= 9; power -= 9)
		multiply(a, 1000000000u);
	while (power--)
		multiply(a, 10);
}

static void add_large(struct large *a, const struct large *b)
{
	uint64_t carry = 0;

	for (uint32_t i = 0; i < WORD_CNT; i++) {
		carry += (uint64_t)a->words[i] + b->words[i];
		a->words[i] = (uint32_t)carry;
		carry >>= 32;
		if (a->words[i] && i >= a->cnt)
			a->cnt = i + 1;
	}
}

/* b is not larger. */
static void subtract(struct large *a, const struct large *b)
{
	uint64_t borrow = 0;

	for (uint32_t i = 0; i < a->cnt; i++) {
		uint64_t left = (uint64_t)a->words[i] - b->words[i] - borrow;

		a->words[i] = (uint32_t)left;
		borrow = left >> 63;
	}
}

static int compare_large(const struct large *a, const struct large *b)
{
	for (uint32_t i = a->cnt > b->cnt ? a->cnt : b->cnt; i--;)
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i] ? -1 : 1;
	return 0;
}

static int compare_sum(const struct large *a, const struct large *b, const struct large *with)
{
	struct large sum = *a;

	add_large(&sum, b);
	return compare_large(&sum, with);
}

/* ---- floating point ----------------------------------------------------------------------------- */

/* value / scale is the number; below and above are half the way to its neighbours. */
struct shortest {
	struct large value, scale, below, above;
	int is_even; /* the halves themselves read back as it */
	int point;   /* digits before it */
	uint32_t cnt;
	char digits[24];
};

static void begin_shortest(struct shortest *s, uint64_t mantissa, int exponent, int is_lowest)
{
	uint32_t up = exponent > 0 ? (uint32_t)exponent : 0,
		 down = exponent < 0 ? (uint32_t)-exponent : 0;
	int bits = 63 - __builtin_clzll(mantissa) + exponent;

	set(&s->value, mantissa);
	set(&s->scale, 1);
	set(&s->above, 1);
	multiply_by_two_to(&s->value, up + 1 + (uint32_t)is_lowest);
	multiply_by_two_to(&s->scale, down + 1 + (uint32_t)is_lowest);
	multiply_by_two_to(&s->above, up);
	s->below = s->above;
	if (is_lowest) /* the neighbour below is half as far away */
		multiply(&s->above, 2);
	s->is_even = !(mantissa & 1);
	s->point = (int)((bits * 315653ll) >> 20);
	if (s->point >= 0) {
		multiply_by_ten_to(&s->scale, (uint32_t)s->point);
	} else {
		multiply_by_ten_to(&s->value, (uint32_t)-s->point);
		multiply_by_ten_to(&s->above, (uint32_t)-s->point);
		multiply_by_ten_to(&s->below, (uint32_t)-s->point);
	}
	while (compare_sum(&s->value, &s->above, &s->scale) >= !s->is_even) {
		multiply(&s->scale, 10);
		s->point++;
	}
}

static void take_digits(struct shortest *s)
{
	int is_low = 0, is_high = 0, digit = 0;

	while (!is_low && !is_high) {
		multiply(&s->value, 10);
		multiply(&s->above, 10);
		multiply(&s->below, 10);
		for (digit = 0; compare_large(&s->value, &s->scale) >= 0; digit++)
			subtract(&s->value, &s->scale);
		is_low = compare_large(&s->value, &s->below) < s->is_even;
		is_high = compare_sum(&s->value, &s->above, &s->scale) >= !s->is_even;
		s->digits[s->cnt++] = (char)('0' + digit);
	}
	if (is_high && (!is_low || compare_sum(&s->value, &s->value, &s->scale) >= 0))
		s->digits[s->cnt - 1]++; /* never after a 9: that ended earlier */
}

static uint32_t fill_digits(char *out, uint32_t at, char c, int cnt)
{
	while (cnt-- > 0)
		out[at++] = c;
	return at;
}

static uint32_t lay_out_digits(const struct shortest *s, char *out)
{
	int cnt = (int)s->cnt, point = s->point;
	uint32_t at = 0;

	/*
	 * The form is that of JavaScript's Number::toString (ECMA-262): plain digits up to 10^21
	 * and down to 10^-6, else an exponent.
	 */
	if (point > 0 && point <= 21) {
		int whole = point < cnt ? point : cnt;

		memcpy(out, s->digits, (size_t)whole);
		at = fill_digits(out, (uint32_t)whole, '0', point - whole);
		if (cnt > whole)
			out[at++] = '.';
		memcpy(out + at, s->digits + whole, (size_t)(cnt - whole));
		return at + (uint32_t)(cnt - whole);
	}
	if (point > -6 && point <= 0) {
		out[at++] = '0';
		out[at++] = '.';
		at = fill_digits(out, at, '0', -point);
		memcpy(out + at, s->digits, (size_t)cnt);
		return at + (uint32_t)cnt;
	}
	out[at++] = s->digits[0];
	if (cnt > 1)
		out[at++] = '.';
	memcpy(out + at, s->digits + 1, (size_t)(cnt - 1));
	at += (uint32_t)(cnt - 1);
	out[at++] = 'e';
	return at + text_number__i64(out + at, point - 1);
}

uint32_t text_number__float(char *out, uint64_t bits, uint32_t bytes)
{
	uint32_t mantissa_bits = bytes == 4 ? 23 : 52, exponent_max = bytes == 4 ? 255 : 2047;
	uint64_t mantissa = bits & ((1ull << mantissa_bits) - 1);
	uint32_t exponent = (uint32_t)(bits >> mantissa_bits) & exponent_max, at = 0;
	int is_lowest = !mantissa && exponent > 1;
	struct shortest s = {.cnt = 0};

	if (exponent == exponent_max) {
		memcpy(out, "null", 4);
		return 4;
	}
	if (bits >> (8 * bytes - 1))
		out[at++] = '-';
	if (!mantissa && !exponent) {
		out[at++] = '0';
		return at;
	}
	if (exponent)
		mantissa |= 1ull << mantissa_bits;
	else
		exponent = 1;
	begin_shortest(&s, mantissa, (int)exponent - (int)(exponent_max / 2) - (int)mantissa_bits,
		       is_lowest);
	take_digits(&s);
	return at + lay_out_digits(&s, out + at);
}

/* ---- others ----------------------------------------------------------------------------------- */

/* u32 flags (sign, and the number of digits after the point), u32 high, u64 low. */
uint32_t text_number__decimal(char *out, const uint8_t *bytes)
{
	uint32_t flags, words[3], scale, cnt = 0, at = 0;
	char digits[32];

	memcpy(&flags, bytes, 4);
	memcpy(&words[2], bytes + 4, 4);
	memcpy(&words[0], bytes + 8, 8);
	scale = flags >> 16 & 0xff;
	/*
	 * System.Decimal has 28 at most; payloads are what the process says, and digits[] has 32
	 * places.
	 */
	scale = scale > 28 ? 28 : scale;
	do {
		uint64_t rest = 0;

		/*
		 * A long division of 96 bits by 10, from the highest word down: the rest is the
		 * last digit.
		 */
		for (int i = 3; i--;) {
			rest = rest << 32 | words[i];
			words[i] = (uint32_t)(rest / 10);
			rest %= 10;
		}
		digits[cnt++] = (char)('0' + rest);
	} while (words[0] | words[1] | words[2] || cnt <= scale);
	if (flags >> 31)
		out[at++] = '-';
	while (cnt--) {
		out[at++] = digits[cnt];
		if (cnt == scale && scale)
			out[at++] = '.';
	}
	return at;
}

uint32_t text_number__guid(char *out, const uint8_t *guid)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	static const char hex[] = "0123456789abcdef";
	uint32_t at = 0;

	for (uint32_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[at++] = '-';
		out[at++] = hex[guid[order[i]] >> 4];
		out[at++] = hex[guid[order[i]] & 15];
	}
	return at;
}

static uint32_t put_padded(char *out, uint32_t at, uint64_t value, uint32_t digit_cnt,
			   char terminator)
{
	char digits[20];
	uint32_t cnt = text_number__u64(digits, value);

	for (uint32_t i = cnt; i < digit_cnt; i++)
		out[at++] = '0';
	memcpy(out + at, digits, cnt);
	out[at + cnt] = terminator;
	return at + cnt + 1;
}

/* Converts days since a January 1 to month and day. */
static uint32_t put_day(char *out, uint32_t at, uint32_t day, int is_leap)
{
	static const uint8_t lengths[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	uint32_t month = 0;

	while (month < 11 && day >= lengths[month] + (uint32_t)(month == 1 && is_leap)) {
		day -= lengths[month] + (uint32_t)(month == 1 && is_leap);
		month++;
	}
	at = put_padded(out, at, month + 1, 2, '-');
	return put_padded(out, at, day + 1, 2, 'T');
}

/* Hundreds of nanoseconds since 1601, with which a cycle of 400 years begins, in UTC. */
uint32_t text_number__time(char *out, uint64_t filetime)
{
	uint64_t seconds = filetime / FILETIME_A_SECOND, days = seconds / 86400;
	uint32_t day = (uint32_t)(days % 146097), centuries, fours, years, at;

	if (filetime > INT64_MAX)
		return text_number__u64(out, filetime);
	centuries = day / 36524 < 3 ? day / 36524 : 3;
	day -= centuries * 36524;
	fours = day / 1461;
	day -= fours * 1461;
	years = day / 365 < 3 ? day / 365 : 3;
	day -= years * 365;
	at = put_padded(out, 0, 1601 + days / 146097 * 400 + centuries * 100 + fours * 4 + years, 4,
			'-');
	at = put_day(out, at, day, years == 3 && (fours != 24 || centuries == 3));
	at = put_padded(out, at, seconds / 3600 % 24, 2, ':');
	at = put_padded(out, at, seconds / 60 % 60, 2, ':');
	at = put_padded(out, at, seconds % 60, 2, '.');
	return put_padded(out, at, filetime % FILETIME_A_SECOND, 7, 'Z');
}
