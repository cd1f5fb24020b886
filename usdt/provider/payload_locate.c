/* SPDX-License-Identifier: MIT */
/*
 * payload_locate.c - where the fields of a packed payload are, by the event's description. Runs
 * where events fire: no lock, no call of libc but memcpy. Whatever a payload holds, it is read once
 * from its beginning to its end.
 */
#include "dynamic_impl.h"
#include "tapir/payload_parts.h"

struct cursor {
	const uint8_t *at;
	uint32_t left;
	uint32_t is_short; /* the payload ends before the field does */
};

uint32_t payload_type__bytes(uint8_t type)
{
	static const uint8_t bytes[TAPIR_TYPE_CNT] = {
		[TAPIR_TYPE_U8] = 1,	      [TAPIR_TYPE_I8] = 1,	 [TAPIR_TYPE_U16] = 2,
		[TAPIR_TYPE_I16] = 2,	      [TAPIR_TYPE_U32] = 4,	 [TAPIR_TYPE_I32] = 4,
		[TAPIR_TYPE_U64] = 8,	      [TAPIR_TYPE_I64] = 8,	 [TAPIR_TYPE_F32] = 4,
		[TAPIR_TYPE_F64] = 8,	      [TAPIR_TYPE_PTR] = 8,	 [TAPIR_TYPE_BOOL] = 4,
		[TAPIR_TYPE_BOOL8] = 1,	      [TAPIR_TYPE_CHAR16] = 2,	 [TAPIR_TYPE_GUID] = 16,
		[TAPIR_TYPE_FILETIME] = 8,    [TAPIR_TYPE_UTF16N] = 2,	 [TAPIR_TYPE_UTF8N] = 1,
		[TAPIR_TYPE_SYSTEMTIME] = 16, [TAPIR_TYPE_DECIMAL] = 16, [TAPIR_TYPE_BINARY] = 1,
	};

	return bytes[type];
}

static void skip_payload(struct cursor *c, uint64_t bytes)
{
	if (bytes > c->left) {
		c->is_short = 1;
		return;
	}
	c->at += bytes;
	c->left -= (uint32_t)bytes;
}

/* The number of elements. A negative number is one that cannot be. */
static uint64_t count_at(const uint8_t *at, uint32_t left, uint8_t type)
{
	uint32_t bytes = payload_type__bytes(type);
	uint64_t value = 0;

	if (!bytes || bytes > left || bytes > sizeof(value))
		return 0;
	memcpy(&value, at, bytes);
	if (type == TAPIR_TYPE_I8 || type == TAPIR_TYPE_I16 || type == TAPIR_TYPE_I32)
		value = (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
	return value;
}

static void skip_text(struct cursor *c, uint32_t width)
{
	uint32_t at = 0;

	while (c->left - at >= width && (c->at[at] || (width == 2 && c->at[at + 1])))
		at += width;
	skip_payload(c, (uint64_t)at + width);
}

static uint32_t skip_fields(struct cursor *c, const struct tapir_event_field *fields, uint32_t cnt,
			    payload_field_fn fn, void *ctx);

static void skip_one(struct cursor *c, const struct tapir_event_field *f)
{
	if (f->type == TAPIR_TYPE_STRUCT)
		skip_fields(c, f->members, f->member_cnt, NULL, NULL);
	else if (f->type == TAPIR_TYPE_UTF16 || f->type == TAPIR_TYPE_UTF8)
		skip_text(c, f->type == TAPIR_TYPE_UTF16 ? 2 : 1);
	else
		skip_payload(c, payload_type__bytes(f->type));
}

/* An element takes a byte at least, or it stops: so this ends with the payload. */
static void skip_many(struct cursor *c, const struct tapir_event_field *f, uint64_t cnt)
{
	uint32_t bytes = payload_type__bytes(f->type);

	if (bytes) {
		skip_payload(c, cnt <= TAPIR_PAYLOAD_BYTES ? cnt * bytes : UINT64_MAX);
		return;
	}
	for (uint64_t i = 0; i < cnt && !c->is_short; i++) {
		uint32_t before = c->left;

		skip_one(c, f);
		if (c->left == before)
			c->is_short = 1;
	}
}

static uint64_t count_of(struct cursor *c, const struct tapir_event_field *f,
			 const uint16_t starts[], const struct tapir_event_field *fields,
			 const struct cursor *begin)
{
	uint8_t width = f->repeat == TAPIR_REPEAT_COUNT_U16 ? TAPIR_TYPE_U16 : TAPIR_TYPE_U32;
	uint64_t cnt;

	if (f->repeat == TAPIR_REPEAT_NONE || f->repeat == TAPIR_REPEAT_COUNT_FIXED)
		return f->repeat == TAPIR_REPEAT_NONE ? 1 : f->count;
	if (f->repeat == TAPIR_REPEAT_COUNT_FIELD) {
		uint16_t at = starts[f->count];

		return count_at(begin->at + at, begin->left - at, fields[f->count].type);
	}
	cnt = count_at(c->at, c->left, width);
	skip_payload(c, payload_type__bytes(width));
	return cnt;
}

/* fn: NULL, or called for each field that is whole. Their number. */
static uint32_t skip_fields(struct cursor *c, const struct tapir_event_field *fields, uint32_t cnt,
			    payload_field_fn fn, void *ctx)
{
	uint16_t starts[TAPIR_MAX_FIELDS];
	const struct cursor begin = *c;
	uint32_t i;

	for (i = 0; i < cnt; i++) {
		const struct tapir_event_field *f = &fields[i];
		struct tapir_payload_part part;
		uint64_t times;

		starts[i] = (uint16_t)(c->at - begin.at); /* 65,536 is the end: then c is short */
		times = count_of(c, f, starts, fields, &begin);
		part.at = c->at;
		skip_many(c, f, times);
		if (c->is_short)
			return i;
		part.bytes = (uint32_t)(c->at - part.at);
		part.cnt = (uint32_t)times;
		if (fn)
			fn(ctx, f, &part);
	}
	return i;
}

uint32_t payload__each(const struct tapir_event_field *fields, uint32_t cnt, const uint8_t *payload,
		       uint32_t bytes, payload_field_fn fn, void *ctx)
{
	struct cursor c = {payload, bytes, 0};

	return skip_fields(&c, fields, cnt, fn, ctx);
}

static void store(void *ctx, const struct tapir_event_field *f,
		  const struct tapir_payload_part *part)
{
	struct tapir_payload_part **to = ctx;

	(void)f;
	*(*to)++ = *part;
}

uint32_t tapir_payload__locate(const struct tapir_event_about *about, const uint8_t *payload,
			       uint32_t bytes, struct tapir_payload_part *parts, uint32_t max)
{
	uint32_t cnt = about->field_cnt < max ? about->field_cnt : max;

	return payload__each(about->fields, cnt, payload, bytes, store, &parts);
}
