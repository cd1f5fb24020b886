/* SPDX-License-Identifier: MIT */
/*
 * json_text.h - JSON into a buffer of fixed size, where events fire: nothing is allocated, libc is
 * not called but for memcpy. Each piece is written completely or not at all; after one that did not
 * fit (or was cut) only closing brackets follow, for which room is reserved, and "tapir_cut":true.
 * One thread for each text.
 */
#ifndef TAPIR_USDT_JSON_TEXT_H
#define TAPIR_USDT_JSON_TEXT_H

#include <stdint.h>

#define JSON_TEXT_DEPTH_MAX 8u

#pragma GCC visibility push(hidden)

struct json_text {
	char *out;
	uint32_t limit, len;
	uint32_t is_truncated;
};

/* room: of out, 256 at least. */
void json_text__init(struct json_text *j, char *out, uint32_t room);
/* Adds bytes as they are, or nothing if they do not fit. */
void json_text__put(struct json_text *j, const char *text, uint32_t len);
/* Unless it is the first of its object or array. */
void json_text__comma(struct json_text *j);
/* An opened bracket is closed whatever happened since. 0: it found no room. */
int json_text__open(struct json_text *j, char bracket);
/* Closes a bracket, for which room was kept. */
void json_text__close(struct json_text *j, char bracket);
/* Adds a comma, if one is due, and the name of a member. */
void json_text__key(struct json_text *j, const char *name);
/* Adds a string of two digits a byte. */
void json_text__bytes_as_hex(struct json_text *j, const uint8_t *at, uint32_t bytes);
/* NULs are left out; what is no UTF-16, or UTF-8, becomes U+FFFD. */
void json_text__utf16(struct json_text *j, const uint8_t *at, uint32_t units);
/* The same from UTF-8. */
void json_text__utf8(struct json_text *j, const uint8_t *at, uint32_t bytes);
/* "null" unless it found no room. */
void json_text__null(struct json_text *j);
/* The outermost object's end, with its NUL; the length. */
uint32_t json_text__end(struct json_text *j);

#pragma GCC visibility pop

#endif
