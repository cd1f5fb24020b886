/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * value_packed.h - for value.c: what only PACKED payloads hold and is no more than a text:
 * enumerations, UTF-16, GUIDs, times and decimals. No state; any thread.
 *
 * Text: Reason=AllocSmall, Flags=Jitted|OptimizedTier1, "text", 8-4-4-4-12, an ISO time, {A=1,
 * B=[1,2]}. JSON: the same names and texts as strings, objects and arrays; a number without a name
 * stays a number.
 */
#ifndef TAPIR_USER_VALUE_PACKED_H
#define TAPIR_USER_VALUE_PACKED_H

#include "base/str.h"
#include "decode/fields.h"

/* Appends a name, a GUID or a time. false: the value is not one of these, and nothing was added. */
bool tapir_value_packed__add_plain(struct tapir_str *out, const struct tapir_value *value);
/*
 * Appends a .NET decimal, 16 bytes: u32 flags (sign, and the number of digits after the point), u32
 * high, u64 low.
 */
void tapir_decimal__add_text(struct tapir_str *out, const uint8_t *bytes);

/* Appends 16 bytes as 8-4-4-4-12. */
void tapir_guid__add_text(struct tapir_str *out, const uint8_t *guid);
bool tapir_guid__is_set(const uint8_t *guid); /* false: NULL, or all zero */

/*
 * Writes UTF-16 (little-endian) as UTF-8; what is not a character becomes U+FFFD. text must have
 * room for bytes / 2 * 3. Returns the number of bytes.
 */
size_t tapir_utf16__to_utf8(const uint8_t *utf16, size_t bytes, char *text);

#endif
