/* SPDX-License-Identifier: MIT */
/*
 * text_number.h - numbers as text, for JSON: into out, without a NUL; the length. Room of
 * TEXT_NUMBER_BYTES. Neither libc nor floating-point registers. Any thread.
 */
#ifndef TAPIR_USDT_TEXT_NUMBER_H
#define TAPIR_USDT_TEXT_NUMBER_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

#define TEXT_NUMBER_BYTES 64u

/* Write decimal digits. */
uint32_t text_number__u64(char *out, uint64_t value);
uint32_t text_number__i64(char *out, int64_t value);
/* Shortest that reads back as the same; "null": not finite. bits of a double or (bytes 4) float. */
uint32_t text_number__float(char *out, uint64_t bits, uint32_t bytes);
/* Write .NET's decimal (16 bytes), a GUID as 8-4-4-4-12, and a FILETIME as ISO 8601. */
uint32_t text_number__decimal(char *out, const uint8_t *at);
uint32_t text_number__guid(char *out, const uint8_t *at);
uint32_t text_number__time(char *out, uint64_t filetime);

#pragma GCC visibility pop

#endif
