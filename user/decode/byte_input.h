/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * byte_input.h - bytes of unknown content, taken from the front: what is not there is never read.
 * Once a read did not fit (is_bad), every later one fails, so a parser may check once at its end.
 * No allocation; one thread.
 */
#ifndef TAPIR_USER_BYTE_INPUT_H
#define TAPIR_USER_BYTE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/little_endian.h"

struct tapir_byte_input {
	const uint8_t *at;
	size_t left;
	bool is_bad; /* more was asked for than there was */
};

/*
 * Returns the next bytes, borrowed. NULL: there are not that many, and from now on there is nothing
 * more.
 */
static inline const uint8_t *tapir_byte_input__take(struct tapir_byte_input *in, size_t bytes)
{
	const uint8_t *at = in->at;

	if (in->is_bad || bytes > in->left) {
		in->is_bad = true;
		return NULL;
	}
	in->at += bytes;
	in->left -= bytes;
	return at;
}

/* Reads a little-endian number of at most 8 bytes. If it is not there: 0, and is_bad. */
static inline uint64_t tapir_byte_input__le(struct tapir_byte_input *in, unsigned bytes)
{
	const uint8_t *at = tapir_byte_input__take(in, bytes);

	return at ? tapir_le__uint(at, bytes) : 0;
}

/*
 * Reads 7 bits a byte, the lowest first (LEB128, protobuf's varint); more than 64 bits are refused
 * (is_bad).
 */
static inline uint64_t tapir_byte_input__varint(struct tapir_byte_input *in)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t *at = tapir_byte_input__take(in, 1);

		if (!at)
			return 0;
		if (shift == 63 && *at > 1)
			break;
		value |= (uint64_t)(*at & 0x7f) << shift;
		if (!(*at & 0x80))
			return value;
	}
	in->is_bad = true;
	return 0;
}

#endif
