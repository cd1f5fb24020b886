/* SPDX-License-Identifier: MIT */
/*
 * dynamic_args.c - the arguments of a probe that was made at run time: signed once, taken out of
 * each payload. Runs where events fire: no lock, no call of libc but memcpy.
 */
#include <string.h>

#include "dynamic_impl.h"

/* Bytes in a payload (0: it depends), the operand's size, the letter of its kind (usdt.h). */
static const struct {
	uint8_t bytes;
	char size[3];
	char kind;
} types[TAPIR_TYPE_CNT] = {
	[TAPIR_TYPE_U8] = {1, "1", 'u'},	  [TAPIR_TYPE_I8] = {1, "-1", 'i'},
	[TAPIR_TYPE_U16] = {2, "2", 'u'},	  [TAPIR_TYPE_I16] = {2, "-2", 'i'},
	[TAPIR_TYPE_U32] = {4, "4", 'u'},	  [TAPIR_TYPE_I32] = {4, "-4", 'i'},
	[TAPIR_TYPE_U64] = {8, "8", 'u'},	  [TAPIR_TYPE_I64] = {8, "-8", 'i'},
	[TAPIR_TYPE_F32] = {4, "4", 'f'},	  [TAPIR_TYPE_F64] = {8, "8", 'f'},
	[TAPIR_TYPE_PTR] = {8, "8", 'p'},	  [TAPIR_TYPE_BOOL] = {4, "1", 'b'},
	[TAPIR_TYPE_BOOL8] = {1, "1", 'b'},	  [TAPIR_TYPE_CHAR16] = {2, "2", 'u'},
	[TAPIR_TYPE_GUID] = {16, "8", 'p'},	  [TAPIR_TYPE_FILETIME] = {8, "8", 'u'},
	[TAPIR_TYPE_SYSTEMTIME] = {16, "8", 'p'}, [TAPIR_TYPE_DECIMAL] = {16, "8", 'p'},
	[TAPIR_TYPE_UTF16] = {0, "8", 'p'},	  [TAPIR_TYPE_UTF8] = {0, "8", 's'},
	[TAPIR_TYPE_UTF16N] = {2, "8", 'p'},	  [TAPIR_TYPE_UTF8N] = {1, "8", 'p'},
	[TAPIR_TYPE_BINARY] = {1, "8", 'p'},	  [TAPIR_TYPE_STRUCT] = {0, "8", 'p'},
};

/* Passed as the address of its first byte. */
static int is_address(const struct tapir_event_field *f)
{
	return f->repeat != TAPIR_REPEAT_NONE || !types[f->type].bytes || types[f->type].bytes > 8;
}

void dynamic_args__sign(const struct tapir_event_about *about, struct dynamic_signature *out)
{
	uint32_t cnt =
		about->field_cnt < TAPIR_PROBE_ARG_MAX ? about->field_cnt : TAPIR_PROBE_ARG_MAX;
	char *at = out->operands;

	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < cnt; i++) {
		const struct tapir_event_field *f = &about->fields[i];
		const char *size = f->repeat == TAPIR_REPEAT_NONE ? types[f->type].size : "8";
		size_t len = strnlen(f->name, 63);

		if (i)
			*at++ = ' ';
		at = stpcpy(stpcpy(at, size), tapir_probe_image__register(i));
		out->kinds[i] = f->repeat == TAPIR_REPEAT_NONE ? types[f->type].kind : 'p';
		memcpy(out->names + out->names_bytes, f->name, len);
		out->names_bytes += (uint32_t)len + 1;
	}
}

/* ---- a payload --------------------------------------------------------------------------------- */

struct cursor {
	const uint8_t *at;
	uint32_t left;
	uint32_t is_short; /* the payload ends before the field does */
};

static void skip(struct cursor *c, uint64_t bytes)
{
	if (bytes > c->left) {
		c->is_short = 1;
		return;
	}
	c->at += bytes;
	c->left -= (uint32_t)bytes;
}

/* A number of at most 8 bytes, with its sign. */
static uint64_t number_at(const uint8_t *at, uint32_t left, uint8_t type)
{
	uint32_t bytes = types[type].bytes;
	uint64_t value = 0;

	if (bytes > left || bytes > 8)
		return 0;
	memcpy(&value, at, bytes);
	if (types[type].kind == 'b')
		return value != 0;
	if (types[type].kind != 'i')
		return value;
	return (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
}

static void skip_text(struct cursor *c, uint32_t width)
{
	uint32_t at = 0;

	while (c->left - at >= width && (c->at[at] || (width == 2 && c->at[at + 1])))
		at += width;
	skip(c, (uint64_t)at + width);
}

static void skip_fields(struct cursor *c, const struct tapir_event_field *fields, uint32_t cnt,
			uint64_t args[], uint32_t arg_cnt);

static void skip_one(struct cursor *c, const struct tapir_event_field *f)
{
	if (f->type == TAPIR_TYPE_STRUCT)
		skip_fields(c, f->members, f->member_cnt, NULL, 0);
	else if (f->type == TAPIR_TYPE_UTF16 || f->type == TAPIR_TYPE_UTF8)
		skip_text(c, f->type == TAPIR_TYPE_UTF16 ? 2 : 1);
	else
		skip(c, types[f->type].bytes);
}

/* An element takes a byte at least, or it stops: so this ends with the payload. */
static void skip_many(struct cursor *c, const struct tapir_event_field *f, uint64_t cnt)
{
	uint32_t bytes = types[f->type].bytes;

	if (bytes) {
		skip(c, cnt <= TAPIR_PAYLOAD_BYTES ? cnt * bytes : UINT64_MAX);
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

		return number_at(begin->at + at, begin->left - at, fields[f->count].type);
	}
	cnt = number_at(c->at, c->left, width);
	skip(c, types[width].bytes);
	return cnt;
}

/* args: NULL, or where the first arg_cnt fields go. */
static void skip_fields(struct cursor *c, const struct tapir_event_field *fields, uint32_t cnt,
			uint64_t args[], uint32_t arg_cnt)
{
	uint16_t starts[TAPIR_MAX_FIELDS];
	const struct cursor begin = *c;

	for (uint32_t i = 0; i < cnt && !c->is_short && (!args || i < arg_cnt); i++) {
		const struct tapir_event_field *f = &fields[i];
		const uint8_t *from;
		uint64_t times;

		starts[i] = (uint16_t)(c->at - begin.at); /* 65,536 is the end: then c is short */
		times = count_of(c, f, starts, fields, &begin);
		from = c->at;
		if (args && !is_address(f))
			args[i] = number_at(c->at, c->left, f->type);
		skip_many(c, f, times);
		if (args && is_address(f) && !c->is_short)
			args[i] = (uint64_t)(uintptr_t)from;
	}
}

void dynamic_args__take(const struct tapir_event_about *about, const uint8_t *payload,
			uint32_t bytes, uint64_t args[TAPIR_PROBE_ARG_MAX])
{
	struct cursor c = {payload, bytes, 0};

	memset(args, 0, TAPIR_PROBE_ARG_MAX * sizeof(args[0]));
	skip_fields(&c, about->fields, about->field_cnt, args, TAPIR_PROBE_ARG_MAX);
}
