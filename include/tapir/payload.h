/* SPDX-License-Identifier: MIT */
/*
 * payload.h - writes packed payloads (see PAYLOAD in provider.h) field by field, for code that
 * tapir-manifest generates and for hand-written serializers.
 *
 *	bytes = tapir_payload__times(cnt, 8) + tapir_payload__bytes8(name);	measure
 *	if (tapir_event__begin(&write, event, bytes)) {
 *		struct tapir_payload p = {write.payload, write.payload + bytes};
 *		tapir_payload__put(&p, values, tapir_payload__times(cnt, 8));	fill, in order
 *		tapir_payload__put8(&p, name, tapir_payload__bytes8(name));
 *		tapir_payload__end(&p);
 *		tapir_event__commit(&write);
 *	}
 *
 * Nothing is written past the end, whatever another thread does to a string or a count between
 * measuring and filling; what is missing then is zero. A size that cannot be is
 * TAPIR_PAYLOAD_BYTES + 1, which tapir_event__begin refuses and counts.
 *
 * Any thread, any time: no allocation, no lock, no system call. C11 and C++11.
 */
#ifndef TAPIR_PAYLOAD_H
#define TAPIR_PAYLOAD_H

#include "provider.h"

#define TAPIR_PAYLOAD_INLINE static inline __attribute__((always_inline, unused))

/* The position of the next byte, and the end of the room. */
struct tapir_payload {
	uint8_t *at, *end;
};

/* Bytes of cnt elements. A negative count, cast, is a size that cannot be. */
TAPIR_PAYLOAD_INLINE size_t tapir_payload__times(uint64_t cnt, size_t bytes)
{
	if (cnt > TAPIR_PAYLOAD_BYTES || bytes > TAPIR_PAYLOAD_BYTES ||
	    cnt * bytes > TAPIR_PAYLOAD_BYTES)
		return TAPIR_PAYLOAD_BYTES + 1;
	return (size_t)cnt * bytes;
}

/* Bytes of a text in UTF-8 or UTF-16 with its NUL; NULL is an empty text. */
TAPIR_PAYLOAD_INLINE size_t tapir_payload__bytes8(const char *text)
{
	return text ? strlen(text) + 1 : 1;
}

static inline __attribute__((unused)) size_t tapir_payload__bytes16(const TAPIR_CHAR16 *text)
{
	size_t units = 0;

	while (text && text[units])
		units++;
	return (units + 1) * sizeof(*text);
}

/* Bytes of cnt texts. */
static inline __attribute__((unused)) size_t tapir_payload__all_bytes8(const char *const *texts,
								       uint64_t cnt)
{
	size_t bytes = tapir_payload__times(cnt, 1);

	for (uint64_t i = 0; i < cnt && bytes <= TAPIR_PAYLOAD_BYTES; i++)
		bytes += tapir_payload__bytes8(texts ? texts[i] : NULL) - 1;
	return bytes;
}

static inline __attribute__((unused)) size_t
tapir_payload__all_bytes16(const TAPIR_CHAR16 *const *texts, uint64_t cnt)
{
	size_t bytes = tapir_payload__times(cnt, 2);

	for (uint64_t i = 0; i < cnt && bytes <= TAPIR_PAYLOAD_BYTES; i++)
		bytes += tapir_payload__bytes16(texts ? texts[i] : NULL) - 2;
	return bytes;
}

/* NULL: zeros. */
TAPIR_PAYLOAD_INLINE void tapir_payload__put(struct tapir_payload *p, const void *from,
					     size_t bytes)
{
	size_t room = (size_t)(p->end - p->at);

	if (bytes > room)
		bytes = room;
	if (from)
		memcpy(p->at, from, bytes);
	else
		memset(p->at, 0, bytes);
	p->at += bytes;
}

/* bytes: as measured, so that the text is read once more only as far. */
TAPIR_PAYLOAD_INLINE void tapir_payload__put8(struct tapir_payload *p, const char *text,
					      size_t bytes)
{
	tapir_payload__put(p, text, bytes - 1);
	tapir_payload__put(p, NULL, 1);
}

TAPIR_PAYLOAD_INLINE void tapir_payload__put16(struct tapir_payload *p, const TAPIR_CHAR16 *text,
					       size_t bytes)
{
	tapir_payload__put(p, text, bytes - 2);
	tapir_payload__put(p, NULL, 2);
}

static inline __attribute__((unused)) void
tapir_payload__put_all8(struct tapir_payload *p, const char *const *texts, uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt && p->at < p->end; i++)
		tapir_payload__put8(p, texts ? texts[i] : NULL,
				    tapir_payload__bytes8(texts ? texts[i] : NULL));
}

static inline __attribute__((unused)) void
tapir_payload__put_all16(struct tapir_payload *p, const TAPIR_CHAR16 *const *texts, uint64_t cnt)
{
	for (uint64_t i = 0; i < cnt && p->at < p->end; i++)
		tapir_payload__put16(p, texts ? texts[i] : NULL,
				     tapir_payload__bytes16(texts ? texts[i] : NULL));
}

TAPIR_PAYLOAD_INLINE void tapir_payload__put_bool(struct tapir_payload *p, int value)
{
	const uint32_t word = value != 0;

	tapir_payload__put(p, &word, sizeof(word));
}

/* The rest of the room becomes zero. */
TAPIR_PAYLOAD_INLINE void tapir_payload__end(struct tapir_payload *p)
{
	memset(p->at, 0, (size_t)(p->end - p->at));
	p->at = p->end;
}

#endif /* TAPIR_PAYLOAD_H */
