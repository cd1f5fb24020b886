/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * little_endian.h - numbers in files and streams of others, at any alignment, lowest byte first.
 * Any thread.
 */
#ifndef TAPIR_USER_LITTLE_ENDIAN_H
#define TAPIR_USER_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

/* Reads an integer of at most 8 bytes. */
static inline uint64_t tapir_le__uint(const void *data, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, data, bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(value);
#else
	return value;
#endif
}

static inline uint16_t tapir_le__u16(const void *data)
{
	return (uint16_t)tapir_le__uint(data, 2);
}

static inline uint32_t tapir_le__u32(const void *data)
{
	return (uint32_t)tapir_le__uint(data, 4);
}

static inline uint64_t tapir_le__u64(const void *data)
{
	return tapir_le__uint(data, 8);
}

#endif
