/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * str.h - a growable string for building output and messages without printf in hot paths, and the
 * small string functions that every room needs.
 *
 * Out of memory: the string stops growing and failed is set; the user checks once at the end. data
 * is NUL-terminated whenever it is not NULL. A string of zeros (`= {}`) is empty. One thread at a
 * time; the functions without a tapir_str are pure.
 */
#ifndef TAPIR_USER_STR_H
#define TAPIR_USER_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tapir_str {
	char *data;
	size_t len, cap;
	bool failed;
};

/* Frees the text and leaves an empty string, also failed = false. */
void tapir_str__fini(struct tapir_str *s);
void tapir_str__clear(struct tapir_str *s); /* keeps the memory */
/* Makes room for more_bytes and a NUL; false: out of memory. Each __add does it by itself. */
bool tapir_str__reserve(struct tapir_str *s, size_t more_bytes);
/* These append: bytes, a text, a character, a number in decimal digits, a formatted text. */
void tapir_str__add(struct tapir_str *s, const char *bytes, size_t len);
void tapir_str__adds(struct tapir_str *s, const char *text);
void tapir_str__addc(struct tapir_str *s, char c);
void tapir_str__addu(struct tapir_str *s, uint64_t value);
void tapir_str__addd(struct tapir_str *s, int64_t value);
/* With at least so many digits, at most 20: zeros in front. */
void tapir_str__add_zeros(struct tapir_str *s, uint64_t value, unsigned digit_cnt);
void tapir_str__addx(struct tapir_str *s, uint64_t value);		     /* lower case, no 0x */
void tapir_str__add_hex(struct tapir_str *s, const void *bytes, size_t len); /* two digits each */
void tapir_str__addf(struct tapir_str *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Text from a traced process, safe for a terminal: what is no shown character as \n, \t, \xNN. */
void tapir_str__add_printable(struct tapir_str *s, const char *bytes, size_t len);
/* Text as content or quoted attribute of HTML and XML; what XML 1.0 may not hold and what misleads
 * a reader becomes U+FFFD. */
void tapir_str__add_markup(struct tapir_str *s, const char *bytes, size_t len);
/* Text for a format that requires UTF-8 without NUL: what is not becomes U+FFFD. */
void tapir_str__add_utf8(struct tapir_str *s, const char *bytes, size_t len);
void tapir_str__pad(struct tapir_str *s, size_t from, size_t width); /* spaces up to from+width */

/* Length of the well-formed UTF-8 sequence at p (RFC 3629), 0 if there is none. left > 0. */
size_t tapir_utf8__len(const unsigned char *p, size_t left);
/* The code point of such a sequence. */
uint32_t tapir_utf8__code(const unsigned char *p, size_t len);
/* Returns true if the character of len bytes at p is a control character, or reverses text, breaks
 * lines or is not a character: it must not be shown as it is. */
bool tapir_utf8__misleads(const unsigned char *p, size_t len);
/* Returns the columns of a terminal that the text fills: two of a wide character, none of one that
 * combines with the one before. */
size_t tapir_utf8__columns(const char *text, size_t len);
/* Returns the number of its bytes that fit into so many columns; no character is split. */
size_t tapir_utf8__fitting(const char *text, size_t len, size_t columns);
/* A code point as UTF-16, low bytes first. */
void tapir_str__add_utf16(struct tapir_str *s, uint32_t code);

/* Shell glob (* ? [a-z] [!a-z] \x) over the whole text; no allocation, linear in len x stars. */
bool tapir_glob__match(const char *glob, const char *text);
/* Bytes of the first element of a glob that does not end here: a star, a set, a character. */
size_t tapir_glob__element_len(const char *glob);
bool tapir_glob__is_plain(const char *glob); /* no wildcard in it */

/* Whole-string decimal or 0x number. false: not one, or out of [min, max]; out untouched. */
bool tapir_str__to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* Edit distance with early end, for a suggestion; at most limit + 1. */
unsigned tapir_str__distance(const char *a, const char *b, unsigned limit);

/* "once", "2 times" */
#define TAPIR_TIMES_TEXT_BYTES 28
/* Writes it into text, which is returned. */
const char *tapir_times__text(uint64_t cnt, char text[TAPIR_TIMES_TEXT_BYTES]);

#endif
