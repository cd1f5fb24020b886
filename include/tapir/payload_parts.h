/* SPDX-License-Identifier: MIT */
/*
 * payload_parts.h - reads packed payloads (see PAYLOAD in provider.h) field by field, by the
 * event's description: for consumers inside the process, and for what tapir-manifest --lttng
 * generates.
 *
 *	struct tapir_payload_part parts[4];
 *	uint32_t cnt = tapir_payload__locate(record->kind->about, record->payload,
 *					     record->payload_bytes, parts, 4);
 *
 *	if (cnt >= 2)
 *		order = tapir_part__number(&parts[0]), name = (const char *)parts[1].at;
 *
 * Nothing is read past the payload's end. Any thread, any time: no allocation, no lock, no system
 * call. C11 and C++11.
 */
#ifndef TAPIR_PAYLOAD_PARTS_H
#define TAPIR_PAYLOAD_PARTS_H

#include "provider.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A field in a payload: not aligned. Borrowed from it. */
struct tapir_payload_part {
	const uint8_t *at; /* of an array with a count before it: its first element */
	uint32_t bytes;	   /* of all elements, with the NUL of texts */
	uint32_t cnt;	   /* of elements; 1 for a field that is no array */
};

/*
 * Finds the offsets of the first max fields. Returns how many of them are complete: fewer than the
 * event has if the payload ends early.
 */
TAPIR_API uint32_t tapir_payload__locate(const struct tapir_event_about *about,
					 const uint8_t *payload, uint32_t bytes,
					 struct tapir_payload_part *parts, uint32_t max);

#ifdef __cplusplus
}
#endif

#define TAPIR_PART_INLINE static inline __attribute__((unused))

/* Into a variable of `bytes`: what the part lacks is zero. */
TAPIR_PART_INLINE void tapir_part__get(const struct tapir_payload_part *part, void *to,
				       uint32_t bytes)
{
	uint32_t cnt = part->bytes < bytes ? part->bytes : bytes;

	memset(to, 0, bytes);
	if (cnt)
		memcpy(to, part->at, cnt);
}

/* An unsigned number of at most 8 bytes. */
TAPIR_PART_INLINE uint64_t tapir_part__number(const struct tapir_payload_part *part)
{
	uint64_t value;

	tapir_part__get(part, &value, sizeof(value));
	return value;
}

/* A text of UTF-8, with its NUL; "" where there is none. */
TAPIR_PART_INLINE const char *tapir_part__text8(const struct tapir_payload_part *part)
{
	return part->bytes ? (const char *)part->at : "";
}

/* "00112233-4455-6677-8899-aabbccddeeff" */
TAPIR_PART_INLINE void tapir_part__guid(const struct tapir_payload_part *part, char text[37])
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	static const char digits[] = "0123456789abcdef";
	uint8_t id[16];
	uint32_t at = 0;

	tapir_part__get(part, id, sizeof(id));
	for (uint32_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		text[at++] = digits[id[order[i]] >> 4];
		text[at++] = digits[id[order[i]] & 0xf];
	}
	text[at] = 0;
}

/* One character of UTF-8; how many bytes of it. */
TAPIR_PART_INLINE uint32_t tapir_part__put_char(uint32_t value, char to[4])
{
	uint32_t more = value < 0x80 ? 0 : value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
	static const uint8_t heads[4] = {0, 0xc0, 0xe0, 0xf0};

	for (uint32_t i = more; i; i--, value >>= 6)
		to[i] = (char)(0x80 | (value & 0x3f));
	to[0] = (char)(heads[more] | value);
	return more + 1;
}

/*
 * A text of UTF-16 as UTF-8 in `room` bytes, 8 or more, with its NUL. One that does not fit ends
 * with "...". Half a surrogate pair is U+FFFD.
 */
static inline __attribute__((unused)) void tapir_part__text16(const struct tapir_payload_part *part,
							      char *to, uint32_t room)
{
	uint32_t used = 0, units = part->bytes / 2;

	for (uint32_t i = 0; i < units; i++) {
		uint32_t value = part->at[2 * i] | (uint32_t)part->at[2 * i + 1] << 8, low = 0;

		if (!value)
			break;
		if (value >= 0xd800 && value < 0xdc00 && i + 1 < units)
			low = part->at[2 * i + 2] | (uint32_t)part->at[2 * i + 3] << 8;
		if (low >= 0xdc00 && low < 0xe000) {
			value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
			i++;
		} else if (value >= 0xd800 && value < 0xe000) {
			value = 0xfffd;
		}
		if (used + 4 + 4 > room) { /* a character, and the end of one that is cut */
			memcpy(to + used, "...", 3);
			used += 3;
			break;
		}
		used += tapir_part__put_char(value, to + used);
	}
	to[used] = 0;
}

#endif /* TAPIR_PAYLOAD_PARTS_H */
