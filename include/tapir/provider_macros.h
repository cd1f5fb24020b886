/* SPDX-License-Identifier: MIT */
/*
 * provider_macros.h - how TAPIR_EVENT (provider.h) makes an event, its USDT site and its
 * serializer out of a list of fields. Nothing in here is for users. Included by provider.h alone.
 */
#ifndef TAPIR_PROVIDER_MACROS_H
#define TAPIR_PROVIDER_MACROS_H

#include "provider.h"

#ifdef __cplusplus
#define TAPIR_CHAR16  char16_t
#define TAPIR_EV_BOOL bool
#else
#define TAPIR_CHAR16  uint16_t
#define TAPIR_EV_BOOL _Bool
#endif

#define TAPIR_EV_JOIN(a, b)  TAPIR_EV_JOIN_(a, b)
#define TAPIR_EV_JOIN_(a, b) a##b

/* The number of fields after the seven arguments before them. */
#define TAPIR_EV_COUNT(...)                                                                        \
	TAPIR_EV_COUNT_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, ~, ~)
#define TAPIR_EV_COUNT_(s, p, n, i, v, l, k, a, b, c, d, e, f, g, h, q, r, t, u, count, ...) count

/* TAPIR_EV_EACH_n(first, next, fields...): first for the first of them, next for the others. */
#define TAPIR_EV_EACH_0(first, next)
#define TAPIR_EV_EACH_1(first, next, a)		    first(a)
#define TAPIR_EV_EACH_2(first, next, a, b)	    TAPIR_EV_EACH_1(first, next, a) next(b)
#define TAPIR_EV_EACH_3(first, next, a, b, c)	    TAPIR_EV_EACH_2(first, next, a, b) next(c)
#define TAPIR_EV_EACH_4(first, next, a, b, c, d)    TAPIR_EV_EACH_3(first, next, a, b, c) next(d)
#define TAPIR_EV_EACH_5(first, next, a, b, c, d, e) TAPIR_EV_EACH_4(first, next, a, b, c, d) next(e)
#define TAPIR_EV_EACH_6(first, next, a, b, c, d, e, f)                                             \
	TAPIR_EV_EACH_5(first, next, a, b, c, d, e) next(f)
#define TAPIR_EV_EACH_7(first, next, a, b, c, d, e, f, g)                                          \
	TAPIR_EV_EACH_6(first, next, a, b, c, d, e, f) next(g)
#define TAPIR_EV_EACH_8(first, next, a, b, c, d, e, f, g, h)                                       \
	TAPIR_EV_EACH_7(first, next, a, b, c, d, e, f, g) next(h)
#define TAPIR_EV_EACH_9(first, next, a, b, c, d, e, f, g, h, i)                                    \
	TAPIR_EV_EACH_8(first, next, a, b, c, d, e, f, g, h) next(i)
#define TAPIR_EV_EACH_10(first, next, a, b, c, d, e, f, g, h, i, j)                                \
	TAPIR_EV_EACH_9(first, next, a, b, c, d, e, f, g, h, i) next(j)
#define TAPIR_EV_EACH_11(first, next, a, b, c, d, e, f, g, h, i, j, k)                             \
	TAPIR_EV_EACH_10(first, next, a, b, c, d, e, f, g, h, i, j) next(k)
#define TAPIR_EV_EACH_12(first, next, a, b, c, d, e, f, g, h, i, j, k, l)                          \
	TAPIR_EV_EACH_11(first, next, a, b, c, d, e, f, g, h, i, j, k) next(l)

/* Parts of a field, which is (TYPE, Name). */
#define TAPIR_EV_PARAM(field)	    TAPIR_EV_PARAM_ field
#define TAPIR_EV_ROW(field)	    TAPIR_EV_ROW_ field
#define TAPIR_EV_NAME(field)	    TAPIR_EV_NAME_ field
#define TAPIR_EV_LEN(field)	    TAPIR_EV_LEN_ field
#define TAPIR_EV_SIZE(field)	    TAPIR_EV_SIZE_ field
#define TAPIR_EV_PUT(field)	    TAPIR_EV_PUT_ field
#define TAPIR_EV_ARG(field)	    TAPIR_EV_ARG_ field
#define TAPIR_EV_NEXT_PARAM(field)  , TAPIR_EV_PARAM_ field
#define TAPIR_EV_NEXT_ARG(field)    , TAPIR_EV_ARG_ field
#define TAPIR_EV_PARAM_(type, name) TAPIR_EV_C_##type name
#define TAPIR_EV_ROW_(type, name)                                                                  \
	{#name, NULL, 0, 0, TAPIR_TYPE_##type, TAPIR_EV_REPEAT_##type, {0, 0}},
#define TAPIR_EV_NAME_(type, name)		".asciz \"" #name "\"\n"
#define TAPIR_EV_LEN_(type, name)		const size_t name##_bytes_ = TAPIR_EV_BYTES_##type(name);
#define TAPIR_EV_SIZE_(type, name)		+name##_bytes_
#define TAPIR_EV_PUT_(type, name)		TAPIR_EV_PUT_##type(tapir_at_, name, name##_bytes_)
#define TAPIR_EV_ARG_(type, name)		TAPIR_EV_VALUE_##type(name)

/*
 * Rows of a type: what a caller passes, its bytes in a payload, how it gets there, and what the
 * probe has of it.
 */
#define TAPIR_EV_C_U8				uint8_t
#define TAPIR_EV_BYTES_U8(value)		sizeof(value)
#define TAPIR_EV_PUT_U8(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_U8(value)		value
#define TAPIR_EV_C_I8				int8_t
#define TAPIR_EV_BYTES_I8(value)		sizeof(value)
#define TAPIR_EV_PUT_I8(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_I8(value)		value
#define TAPIR_EV_C_U16				uint16_t
#define TAPIR_EV_BYTES_U16(value)		sizeof(value)
#define TAPIR_EV_PUT_U16(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_U16(value)		value
#define TAPIR_EV_C_I16				int16_t
#define TAPIR_EV_BYTES_I16(value)		sizeof(value)
#define TAPIR_EV_PUT_I16(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_I16(value)		value
#define TAPIR_EV_C_U32				uint32_t
#define TAPIR_EV_BYTES_U32(value)		sizeof(value)
#define TAPIR_EV_PUT_U32(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_U32(value)		value
#define TAPIR_EV_C_I32				int32_t
#define TAPIR_EV_BYTES_I32(value)		sizeof(value)
#define TAPIR_EV_PUT_I32(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_I32(value)		value
#define TAPIR_EV_C_U64				uint64_t
#define TAPIR_EV_BYTES_U64(value)		sizeof(value)
#define TAPIR_EV_PUT_U64(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_U64(value)		value
#define TAPIR_EV_C_I64				int64_t
#define TAPIR_EV_BYTES_I64(value)		sizeof(value)
#define TAPIR_EV_PUT_I64(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_I64(value)		value
#define TAPIR_EV_C_F32				float
#define TAPIR_EV_BYTES_F32(value)		sizeof(value)
#define TAPIR_EV_PUT_F32(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_F32(value)		value
#define TAPIR_EV_C_F64				double
#define TAPIR_EV_BYTES_F64(value)		sizeof(value)
#define TAPIR_EV_PUT_F64(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_F64(value)		value
#define TAPIR_EV_C_PTR				const void *
#define TAPIR_EV_BYTES_PTR(value)		sizeof(value)
#define TAPIR_EV_PUT_PTR(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_PTR(value)		value
#define TAPIR_EV_C_FILETIME			uint64_t
#define TAPIR_EV_BYTES_FILETIME(value)		sizeof(value)
#define TAPIR_EV_PUT_FILETIME(at, value, bytes) TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_FILETIME(value)		value
#define TAPIR_EV_C_CHAR16			uint16_t
#define TAPIR_EV_BYTES_CHAR16(value)		sizeof(value)
#define TAPIR_EV_PUT_CHAR16(at, value, bytes)	TAPIR_EV_COPY(at, &(value), bytes)
#define TAPIR_EV_VALUE_CHAR16(value)		value
#define TAPIR_EV_C_BOOL				int
#define TAPIR_EV_BYTES_BOOL(value)		((void)(value), (size_t)4)
#define TAPIR_EV_PUT_BOOL(at, value, bytes)	at = tapir_ev_put_bool(at, (value) != 0);
#define TAPIR_EV_VALUE_BOOL(value)		((TAPIR_EV_BOOL)((value) != 0))
#define TAPIR_EV_C_GUID				const uint8_t *
#define TAPIR_EV_BYTES_GUID(value)		((void)(value), (size_t)16)
#define TAPIR_EV_PUT_GUID(at, value, bytes)	TAPIR_EV_COPY(at, value, bytes)
#define TAPIR_EV_VALUE_GUID(value)		((const void *)(value))
#define TAPIR_EV_C_UTF8				const char *
#define TAPIR_EV_BYTES_UTF8(value)		tapir_ev_text_bytes(value)
#define TAPIR_EV_PUT_UTF8(at, value, bytes)	at = tapir_ev_put_text(at, value, bytes, 1);
#define TAPIR_EV_VALUE_UTF8(value)		value
#define TAPIR_EV_C_UTF16			const TAPIR_CHAR16 *
#define TAPIR_EV_BYTES_UTF16(value)		tapir_ev_text16_bytes(value)
#define TAPIR_EV_PUT_UTF16(at, value, bytes)	at = tapir_ev_put_text(at, value, bytes, 2);
#define TAPIR_EV_VALUE_UTF16(value)		((const void *)(value))

/* The repetition of a value in the payload; those that are many are a struct tapir_span. */
#define TAPIR_EV_REPEAT_U8			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_I8			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_U16			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_I16			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_U32			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_I32			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_U64			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_I64			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_F32			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_F64			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_PTR			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_FILETIME		TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_CHAR16			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_BOOL			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_GUID			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_UTF8			TAPIR_REPEAT_NONE
#define TAPIR_EV_REPEAT_UTF16			TAPIR_REPEAT_NONE

#define TAPIR_EV_REPEAT_UTF8N			TAPIR_REPEAT_COUNT_U16
#define TAPIR_EV_C_UTF8N			struct tapir_span
#define TAPIR_EV_BYTES_UTF8N(value)		tapir_ev_span_bytes(value, 1)
#define TAPIR_EV_PUT_UTF8N(at, value, bytes)	at = tapir_ev_put_span(at, value, 1);
#define TAPIR_EV_VALUE_UTF8N(value)		((value).at)
#define TAPIR_EV_REPEAT_BINARY			TAPIR_REPEAT_COUNT_U16
#define TAPIR_EV_C_BINARY			struct tapir_span
#define TAPIR_EV_BYTES_BINARY(value)		tapir_ev_span_bytes(value, 1)
#define TAPIR_EV_PUT_BINARY(at, value, bytes)	at = tapir_ev_put_span(at, value, 1);
#define TAPIR_EV_VALUE_BINARY(value)		((value).at)
#define TAPIR_EV_REPEAT_U8S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_U8S				TAPIR_TYPE_U8
#define TAPIR_EV_C_U8S				struct tapir_span
#define TAPIR_EV_BYTES_U8S(value)		tapir_ev_span_bytes(value, 1)
#define TAPIR_EV_PUT_U8S(at, value, bytes)	at = tapir_ev_put_span(at, value, 1);
#define TAPIR_EV_VALUE_U8S(value)		((value).at)
#define TAPIR_EV_REPEAT_I8S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_I8S				TAPIR_TYPE_I8
#define TAPIR_EV_C_I8S				struct tapir_span
#define TAPIR_EV_BYTES_I8S(value)		tapir_ev_span_bytes(value, 1)
#define TAPIR_EV_PUT_I8S(at, value, bytes)	at = tapir_ev_put_span(at, value, 1);
#define TAPIR_EV_VALUE_I8S(value)		((value).at)
#define TAPIR_EV_REPEAT_U16S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_U16S				TAPIR_TYPE_U16
#define TAPIR_EV_C_U16S				struct tapir_span
#define TAPIR_EV_BYTES_U16S(value)		tapir_ev_span_bytes(value, 2)
#define TAPIR_EV_PUT_U16S(at, value, bytes)	at = tapir_ev_put_span(at, value, 2);
#define TAPIR_EV_VALUE_U16S(value)		((value).at)
#define TAPIR_EV_REPEAT_I16S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_I16S				TAPIR_TYPE_I16
#define TAPIR_EV_C_I16S				struct tapir_span
#define TAPIR_EV_BYTES_I16S(value)		tapir_ev_span_bytes(value, 2)
#define TAPIR_EV_PUT_I16S(at, value, bytes)	at = tapir_ev_put_span(at, value, 2);
#define TAPIR_EV_VALUE_I16S(value)		((value).at)
#define TAPIR_EV_REPEAT_U32S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_U32S				TAPIR_TYPE_U32
#define TAPIR_EV_C_U32S				struct tapir_span
#define TAPIR_EV_BYTES_U32S(value)		tapir_ev_span_bytes(value, 4)
#define TAPIR_EV_PUT_U32S(at, value, bytes)	at = tapir_ev_put_span(at, value, 4);
#define TAPIR_EV_VALUE_U32S(value)		((value).at)
#define TAPIR_EV_REPEAT_I32S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_I32S				TAPIR_TYPE_I32
#define TAPIR_EV_C_I32S				struct tapir_span
#define TAPIR_EV_BYTES_I32S(value)		tapir_ev_span_bytes(value, 4)
#define TAPIR_EV_PUT_I32S(at, value, bytes)	at = tapir_ev_put_span(at, value, 4);
#define TAPIR_EV_VALUE_I32S(value)		((value).at)
#define TAPIR_EV_REPEAT_U64S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_U64S				TAPIR_TYPE_U64
#define TAPIR_EV_C_U64S				struct tapir_span
#define TAPIR_EV_BYTES_U64S(value)		tapir_ev_span_bytes(value, 8)
#define TAPIR_EV_PUT_U64S(at, value, bytes)	at = tapir_ev_put_span(at, value, 8);
#define TAPIR_EV_VALUE_U64S(value)		((value).at)
#define TAPIR_EV_REPEAT_I64S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_I64S				TAPIR_TYPE_I64
#define TAPIR_EV_C_I64S				struct tapir_span
#define TAPIR_EV_BYTES_I64S(value)		tapir_ev_span_bytes(value, 8)
#define TAPIR_EV_PUT_I64S(at, value, bytes)	at = tapir_ev_put_span(at, value, 8);
#define TAPIR_EV_VALUE_I64S(value)		((value).at)
#define TAPIR_EV_REPEAT_F32S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_F32S				TAPIR_TYPE_F32
#define TAPIR_EV_C_F32S				struct tapir_span
#define TAPIR_EV_BYTES_F32S(value)		tapir_ev_span_bytes(value, 4)
#define TAPIR_EV_PUT_F32S(at, value, bytes)	at = tapir_ev_put_span(at, value, 4);
#define TAPIR_EV_VALUE_F32S(value)		((value).at)
#define TAPIR_EV_REPEAT_F64S			TAPIR_REPEAT_COUNT_U16
#define TAPIR_TYPE_F64S				TAPIR_TYPE_F64
#define TAPIR_EV_C_F64S				struct tapir_span
#define TAPIR_EV_BYTES_F64S(value)		tapir_ev_span_bytes(value, 8)
#define TAPIR_EV_PUT_F64S(at, value, bytes)	at = tapir_ev_put_span(at, value, 8);
#define TAPIR_EV_VALUE_F64S(value)		((value).at)

#define TAPIR_EV_COPY(at, from, bytes)                                                             \
	memcpy(at, from, bytes);                                                                   \
	at += bytes;

static inline __attribute__((always_inline)) uint8_t *tapir_ev_put_bool(uint8_t *at, uint32_t value)
{
	memcpy(at, &value, sizeof(value));
	return at + sizeof(value);
}

/* Bytes with the NUL. NULL: an empty string. */
static inline __attribute__((always_inline)) size_t tapir_ev_text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 1;
}

static inline size_t tapir_ev_text16_bytes(const TAPIR_CHAR16 *text)
{
	size_t units = 0;

	while (text && text[units])
		units++;
	return (units + 1) * sizeof(*text);
}

/* A u16 before the elements: what is beyond its range is left out. */
static inline __attribute__((always_inline)) uint16_t tapir_ev_span_count(struct tapir_span span)
{
	return (uint16_t)(span.cnt < 0xffff ? span.cnt : 0xffff);
}

static inline __attribute__((always_inline)) size_t tapir_ev_span_bytes(struct tapir_span span,
									size_t each)
{
	return sizeof(uint16_t) + tapir_ev_span_count(span) * each;
}

static inline __attribute__((always_inline)) uint8_t *
tapir_ev_put_span(uint8_t *at, struct tapir_span span, size_t each)
{
	uint16_t count = tapir_ev_span_count(span);

	memcpy(at, &count, sizeof(count));
	if (count)
		memcpy(at + sizeof(count), span.at, count * each);
	return at + sizeof(count) + count * each;
}

/* Ends with NUL also where another thread has made the text longer since it was measured. */
static inline __attribute__((always_inline)) uint8_t *
tapir_ev_put_text(uint8_t *at, const void *text, size_t bytes, size_t nul_bytes)
{
	if (bytes > nul_bytes)
		memcpy(at, text, bytes - nul_bytes);
	memset(at + bytes - nul_bytes, 0, nul_bytes);
	return at + bytes;
}

/*
 * The event and its description; weak, so that a definition in a header is one event. Its address
 * is in a section whose ends the linker defines (provider.h, struct tapir_program_part).
 */
#define TAPIR_EV_DESCRIBE(symbol, provider, name, id, version, level, keywords, cnt, rows)         \
	static const struct tapir_event_field symbol##_fields[] = {                                \
		rows{NULL, NULL, 0, 0, 0, 0, {0, 0}}};                                             \
	static const struct tapir_event_about symbol##_about = {                                   \
		provider, name, symbol##_fields, keywords, id, version, level, cnt, 0, 0, {0}};    \
	extern struct tapir_event symbol TAPIR_USDT_LABEL(symbol);                                 \
	__attribute__((weak, used, visibility("hidden"),                                           \
		       section(".probes"))) struct tapir_event symbol = {                          \
		{{0, 0}}, 0, &symbol##_about, {0, 0, 0, 0, 0, 0}};                                 \
	__attribute__((                                                                            \
		used, section("tapir_events"))) static struct tapir_event *const symbol##_listed = \
		&symbol;

#define TAPIR_EV_SITE(cnt, symbol, provider, name, id, version, level, keywords, names)            \
	TAPIR_USDT_SITE_OF_EVENT(                                                                  \
		cnt, symbol, provider, name, names, (uint32_t)((uint64_t)(keywords)&0xffffffffu),  \
		(uint32_t)((uint64_t)(keywords) >> 32),                                            \
		(uint32_t)((uint32_t)(id) | (uint32_t)(version) << 16 | (uint32_t)(level) << 24))

/* The same, and the site names the ring lane's sessions that have taken the event. */
#define TAPIR_EV_SITE_TAKEN(cnt, symbol, provider, name, id, version, level, keywords, names,      \
			    taken)                                                                 \
	TAPIR_USDT_SITE_OF_TAKEN(                                                                  \
		TAPIR_USDT_ROOM_##cnt, cnt, symbol, provider, name, names,                         \
		(uint32_t)((uint64_t)(keywords)&0xffffffffu),                                      \
		(uint32_t)((uint64_t)(keywords) >> 32),                                            \
		(uint32_t)((uint32_t)(id) | (uint32_t)(version) << 16 | (uint32_t)(level) << 24),  \
		taken)

#define TAPIR_EV_OPEN(...)     __VA_ARGS__
#define TAPIR_EV_LET(cnt, ...) TAPIR_USDT_LET_##cnt(__VA_ARGS__)
#define TAPIR_USDT_LET_0(...)

/* rows, params, ...: each in parentheses. */
#define TAPIR_EV_BODY(cnt, s, p, n, i, v, l, k, rows, params, args, names, lens, sizes, puts)      \
	TAPIR_EV_DESCRIBE(s, p, n, i, v, l, k, cnt, TAPIR_EV_OPEN rows)                            \
	static inline __attribute__((unused)) void s##_fire params                                 \
	{                                                                                          \
		uint64_t tapir_taken_ = 0;                                                         \
		if (TAPIR_EVENT_RECORDED(s)) {                                                     \
			struct tapir_event_write tapir_write_;                                     \
			tapir_write_.taken = 0; /* an earlier library does not set it */           \
			TAPIR_EV_OPEN lens if (tapir_event__begin(&tapir_write_, &s,               \
								  0 TAPIR_EV_OPEN sizes))          \
			{                                                                          \
				uint8_t *tapir_at_ = tapir_write_.payload;                         \
				TAPIR_EV_OPEN puts(void) tapir_at_;                                \
				tapir_event__commit(&tapir_write_);                                \
			}                                                                          \
			tapir_taken_ = tapir_write_.taken;                                         \
		}                                                                                  \
		if (TAPIR_EVENT_PROBED(s)) {                                                       \
			TAPIR_EV_TAKEN_SITE(cnt, s, p, n, i, v, l, k, TAPIR_EV_OPEN names,         \
					    tapir_taken_, TAPIR_EV_OPEN args);                     \
		}                                                                                  \
		(void)tapir_taken_;                                                                \
	}                                                                                          \
	typedef int s##_is_an_event

#define TAPIR_EV_TAKEN_SITE(cnt, s, p, n, i, v, l, k, names, taken, ...)                           \
	do {                                                                                       \
		TAPIR_EV_LET(cnt, __VA_ARGS__)                                                     \
		TAPIR_EV_SITE_TAKEN(cnt, s, p, n, i, v, l, k, names, taken)                        \
	} while (0)

#define TAPIR_EVENT_SITE(cnt, s, p, n, i, v, l, k, names, ...)                                     \
	do {                                                                                       \
		TAPIR_EV_LET(cnt, __VA_ARGS__) TAPIR_EV_SITE(cnt, s, p, n, i, v, l, k, names)      \
	} while (0)

/* TAPIR_EV_DEFINE_n: an event of n fields. */
#define TAPIR_EV_DEFINE_0(s, p, n, i, v, l, k)                                                     \
	TAPIR_EV_BODY(0, s, p, n, i, v, l, k, (TAPIR_EV_EACH_0(TAPIR_EV_ROW, TAPIR_EV_ROW)),       \
		      (void), (TAPIR_EV_EACH_0(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG)),                  \
		      (TAPIR_EV_EACH_0(TAPIR_EV_NAME, TAPIR_EV_NAME)),                             \
		      (TAPIR_EV_EACH_0(TAPIR_EV_LEN, TAPIR_EV_LEN)),                               \
		      (TAPIR_EV_EACH_0(TAPIR_EV_SIZE, TAPIR_EV_SIZE)),                             \
		      (TAPIR_EV_EACH_0(TAPIR_EV_PUT, TAPIR_EV_PUT)))
#define TAPIR_EV_DEFINE_1(s, p, n, i, v, l, k, f0)                                                 \
	TAPIR_EV_BODY(1, s, p, n, i, v, l, k, (TAPIR_EV_EACH_1(TAPIR_EV_ROW, TAPIR_EV_ROW, f0)),   \
		      (TAPIR_EV_EACH_1(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0)),                  \
		      (TAPIR_EV_EACH_1(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0)),                      \
		      (TAPIR_EV_EACH_1(TAPIR_EV_NAME, TAPIR_EV_NAME, f0)),                         \
		      (TAPIR_EV_EACH_1(TAPIR_EV_LEN, TAPIR_EV_LEN, f0)),                           \
		      (TAPIR_EV_EACH_1(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0)),                         \
		      (TAPIR_EV_EACH_1(TAPIR_EV_PUT, TAPIR_EV_PUT, f0)))
#define TAPIR_EV_DEFINE_2(s, p, n, i, v, l, k, f0, f1)                                             \
	TAPIR_EV_BODY(2, s, p, n, i, v, l, k,                                                      \
		      (TAPIR_EV_EACH_2(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1)),                       \
		      (TAPIR_EV_EACH_2(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1)),              \
		      (TAPIR_EV_EACH_2(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1)),                  \
		      (TAPIR_EV_EACH_2(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1)),                     \
		      (TAPIR_EV_EACH_2(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1)),                       \
		      (TAPIR_EV_EACH_2(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1)),                     \
		      (TAPIR_EV_EACH_2(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1)))
#define TAPIR_EV_DEFINE_3(s, p, n, i, v, l, k, f0, f1, f2)                                         \
	TAPIR_EV_BODY(3, s, p, n, i, v, l, k,                                                      \
		      (TAPIR_EV_EACH_3(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2)),                   \
		      (TAPIR_EV_EACH_3(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2)),          \
		      (TAPIR_EV_EACH_3(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2)),              \
		      (TAPIR_EV_EACH_3(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2)),                 \
		      (TAPIR_EV_EACH_3(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2)),                   \
		      (TAPIR_EV_EACH_3(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2)),                 \
		      (TAPIR_EV_EACH_3(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2)))
#define TAPIR_EV_DEFINE_4(s, p, n, i, v, l, k, f0, f1, f2, f3)                                     \
	TAPIR_EV_BODY(4, s, p, n, i, v, l, k,                                                      \
		      (TAPIR_EV_EACH_4(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3)),               \
		      (TAPIR_EV_EACH_4(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3)),      \
		      (TAPIR_EV_EACH_4(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3)),          \
		      (TAPIR_EV_EACH_4(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3)),             \
		      (TAPIR_EV_EACH_4(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3)),               \
		      (TAPIR_EV_EACH_4(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3)),             \
		      (TAPIR_EV_EACH_4(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3)))
#define TAPIR_EV_DEFINE_5(s, p, n, i, v, l, k, f0, f1, f2, f3, f4)                                 \
	TAPIR_EV_BODY(5, s, p, n, i, v, l, k,                                                      \
		      (TAPIR_EV_EACH_5(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4)),           \
		      (TAPIR_EV_EACH_5(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4)),  \
		      (TAPIR_EV_EACH_5(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4)),      \
		      (TAPIR_EV_EACH_5(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4)),         \
		      (TAPIR_EV_EACH_5(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4)),           \
		      (TAPIR_EV_EACH_5(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4)),         \
		      (TAPIR_EV_EACH_5(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4)))
#define TAPIR_EV_DEFINE_6(s, p, n, i, v, l, k, f0, f1, f2, f3, f4, f5)                             \
	TAPIR_EV_BODY(                                                                             \
		6, s, p, n, i, v, l, k,                                                            \
		(TAPIR_EV_EACH_6(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4, f5)),             \
		(TAPIR_EV_EACH_6(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4, f5)),    \
		(TAPIR_EV_EACH_6(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4, f5)),        \
		(TAPIR_EV_EACH_6(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4, f5)),           \
		(TAPIR_EV_EACH_6(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4, f5)),             \
		(TAPIR_EV_EACH_6(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4, f5)),           \
		(TAPIR_EV_EACH_6(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4, f5)))
#define TAPIR_EV_DEFINE_7(s, p, n, i, v, l, k, f0, f1, f2, f3, f4, f5, f6)                         \
	TAPIR_EV_BODY(                                                                             \
		7, s, p, n, i, v, l, k,                                                            \
		(TAPIR_EV_EACH_7(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4, f5, f6)),         \
		(TAPIR_EV_EACH_7(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4, f5,      \
				 f6)),                                                             \
		(TAPIR_EV_EACH_7(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4, f5, f6)),    \
		(TAPIR_EV_EACH_7(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4, f5, f6)),       \
		(TAPIR_EV_EACH_7(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4, f5, f6)),         \
		(TAPIR_EV_EACH_7(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4, f5, f6)),       \
		(TAPIR_EV_EACH_7(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4, f5, f6)))
#define TAPIR_EV_DEFINE_8(s, p, n, i, v, l, k, f0, f1, f2, f3, f4, f5, f6, f7)                     \
	TAPIR_EV_BODY(                                                                             \
		8, s, p, n, i, v, l, k,                                                            \
		(TAPIR_EV_EACH_8(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4, f5, f6, f7)),     \
		(TAPIR_EV_EACH_8(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4, f5, f6,  \
				 f7)),                                                             \
		(TAPIR_EV_EACH_8(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4, f5, f6,      \
				 f7)),                                                             \
		(TAPIR_EV_EACH_8(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4, f5, f6, f7)),   \
		(TAPIR_EV_EACH_8(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4, f5, f6, f7)),     \
		(TAPIR_EV_EACH_8(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4, f5, f6, f7)),   \
		(TAPIR_EV_EACH_8(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4, f5, f6, f7)))
#define TAPIR_EV_DEFINE_9(s, p, n, i, v, l, k, f0, f1, f2, f3, f4, f5, f6, f7, f8)                 \
	TAPIR_EV_BODY(                                                                             \
		9, s, p, n, i, v, l, k,                                                            \
		(TAPIR_EV_EACH_9(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4, f5, f6, f7, f8)), \
		(TAPIR_EV_EACH_9(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4, f5, f6,  \
				 f7, f8)),                                                         \
		(TAPIR_EV_EACH_9(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4, f5, f6, f7,  \
				 f8)),                                                             \
		(TAPIR_EV_EACH_9(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4, f5, f6, f7,     \
				 f8)),                                                             \
		(TAPIR_EV_EACH_9(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4, f5, f6, f7, f8)), \
		(TAPIR_EV_EACH_9(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4, f5, f6, f7,     \
				 f8)),                                                             \
		(TAPIR_EV_EACH_9(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4, f5, f6, f7, f8)))
#define TAPIR_EV_DEFINE_10(s, p, n, i, v, l, k, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9)            \
	TAPIR_EV_BODY(10, s, p, n, i, v, l, k,                                                     \
		      (TAPIR_EV_EACH_10(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9)),                                              \
		      (TAPIR_EV_EACH_10(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4,   \
					f5, f6, f7, f8, f9)),                                      \
		      (TAPIR_EV_EACH_10(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4, f5,   \
					f6, f7, f8, f9)),                                          \
		      (TAPIR_EV_EACH_10(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4, f5, f6,  \
					f7, f8, f9)),                                              \
		      (TAPIR_EV_EACH_10(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9)),                                              \
		      (TAPIR_EV_EACH_10(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4, f5, f6,  \
					f7, f8, f9)),                                              \
		      (TAPIR_EV_EACH_10(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9)))
#define TAPIR_EV_DEFINE_11(s, p, n, i, v, l, k, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10)       \
	TAPIR_EV_BODY(11, s, p, n, i, v, l, k,                                                     \
		      (TAPIR_EV_EACH_11(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9, f10)),                                         \
		      (TAPIR_EV_EACH_11(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4,   \
					f5, f6, f7, f8, f9, f10)),                                 \
		      (TAPIR_EV_EACH_11(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4, f5,   \
					f6, f7, f8, f9, f10)),                                     \
		      (TAPIR_EV_EACH_11(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4, f5, f6,  \
					f7, f8, f9, f10)),                                         \
		      (TAPIR_EV_EACH_11(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9, f10)),                                         \
		      (TAPIR_EV_EACH_11(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4, f5, f6,  \
					f7, f8, f9, f10)),                                         \
		      (TAPIR_EV_EACH_11(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9, f10)))
#define TAPIR_EV_DEFINE_12(s, p, n, i, v, l, k, f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11)  \
	TAPIR_EV_BODY(12, s, p, n, i, v, l, k,                                                     \
		      (TAPIR_EV_EACH_12(TAPIR_EV_ROW, TAPIR_EV_ROW, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9, f10, f11)),                                    \
		      (TAPIR_EV_EACH_12(TAPIR_EV_PARAM, TAPIR_EV_NEXT_PARAM, f0, f1, f2, f3, f4,   \
					f5, f6, f7, f8, f9, f10, f11)),                            \
		      (TAPIR_EV_EACH_12(TAPIR_EV_ARG, TAPIR_EV_NEXT_ARG, f0, f1, f2, f3, f4, f5,   \
					f6, f7, f8, f9, f10, f11)),                                \
		      (TAPIR_EV_EACH_12(TAPIR_EV_NAME, TAPIR_EV_NAME, f0, f1, f2, f3, f4, f5, f6,  \
					f7, f8, f9, f10, f11)),                                    \
		      (TAPIR_EV_EACH_12(TAPIR_EV_LEN, TAPIR_EV_LEN, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9, f10, f11)),                                    \
		      (TAPIR_EV_EACH_12(TAPIR_EV_SIZE, TAPIR_EV_SIZE, f0, f1, f2, f3, f4, f5, f6,  \
					f7, f8, f9, f10, f11)),                                    \
		      (TAPIR_EV_EACH_12(TAPIR_EV_PUT, TAPIR_EV_PUT, f0, f1, f2, f3, f4, f5, f6,    \
					f7, f8, f9, f10, f11)))

#endif /* TAPIR_PROVIDER_MACROS_H */
