/* SPDX-License-Identifier: MIT */
/*
 * provider_metadata.c - the fields of an event as METADATA of format 2 (tapir/provider.h). Fields
 * within fields are written where they are; what is not valid is refused when the provider is
 * created.
 */
#include <stdlib.h>

#include "provider_impl.h"

#define DEPTH_MAX  8u
#define NAME_BYTES 255u

/* Into NULL it only counts. */
struct output {
	uint8_t *at;
	size_t bytes;
	uint32_t field_cnt;
};

static void append_metadata_bytes(struct output *out, const void *bytes, size_t len)
{
	if (out->at)
		memcpy(out->at + out->bytes, bytes, len);
	out->bytes += len;
}

static void put_u16(struct output *out, size_t value)
{
	uint16_t narrow = (uint16_t)value;

	append_metadata_bytes(out, &narrow, sizeof(narrow));
}

static void put_u8(struct output *out, uint8_t value)
{
	append_metadata_bytes(out, &value, sizeof(value));
}

static int is_a_number(uint8_t type)
{
	return type <= TAPIR_TYPE_I64;
}

/* idx: its place among its siblings. */
static int is_valid(const struct tapir_event_field *fields, uint16_t idx)
{
	const struct tapir_event_field *f = &fields[idx];
	int has_length = f->type == TAPIR_TYPE_UTF16N || f->type == TAPIR_TYPE_UTF8N ||
			 f->type == TAPIR_TYPE_BINARY;

	if (!f->name || !*f->name || strnlen(f->name, NAME_BYTES + 1) > NAME_BYTES ||
	    f->type >= TAPIR_TYPE_CNT || f->repeat > TAPIR_REPEAT_COUNT_U32)
		return 0;
	if (has_length && f->repeat == TAPIR_REPEAT_NONE)
		return 0;
	if (f->repeat == TAPIR_REPEAT_COUNT_FIELD &&
	    (f->count >= idx || !is_a_number(fields[f->count].type) ||
	     fields[f->count].repeat != TAPIR_REPEAT_NONE))
		return 0;
	return f->type == TAPIR_TYPE_STRUCT ? f->members && f->member_cnt : !f->member_cnt;
}

static int put_fields(struct output *out, const struct tapir_event_field *fields, uint16_t cnt,
		      unsigned depth)
{
	if (depth > DEPTH_MAX || (cnt && !fields))
		return -EINVAL;
	for (uint16_t i = 0; i < cnt; i++) {
		const struct tapir_event_field *f = &fields[i];
		size_t name_len;
		int err;

		if (++out->field_cnt > TAPIR_MAX_FIELDS || !is_valid(fields, i))
			return -EINVAL;
		name_len = strlen(f->name);
		put_u8(out, f->type);
		put_u8(out, f->repeat);
		put_u16(out, f->count);
		put_u16(out, f->member_cnt);
		put_u16(out, name_len);
		append_metadata_bytes(out, f->name, name_len);
		err = put_fields(out, f->members, f->member_cnt, depth + 1);
		if (err)
			return err;
	}
	return 0;
}

static int put_all(struct output *out, const struct tapir_event_about *about)
{
	put_u16(out, about->field_cnt);
	put_u8(out, about->opcode);
	put_u8(out, 0);
	put_u16(out, about->task);
	put_u16(out, 0);
	return put_fields(out, about->fields, about->field_cnt, 0);
}

int provider_metadata__make(const struct tapir_event_about *about, void **out, uint32_t *bytes)
{
	struct output counted = {NULL, 0, 0}, written = {NULL, 0, 0};
	int err = put_all(&counted, about);

	if (err)
		return err;
	written.at = malloc(counted.bytes);
	if (!written.at)
		return -ENOMEM;
	put_all(&written, about);
	*out = written.at;
	*bytes = (uint32_t)written.bytes;
	return 0;
}
