/* SPDX-License-Identifier: MIT */
/*
 * coreclr_layout.c - the fields in EventPipe's description of an event, after its head: u32 number,
 * fields (V1: u32 type, what the type needs, name), then tags until the end: u32 bytes, u8 tag, of
 * which tag 2 holds fields again (V2: u32 bytes with itself, name, u32 type, what it needs). An
 * array's type is followed by its elements', an object's by a number and fields.
 *
 * Read twice by the same functions: first they count and judge, then they fill what was allotted.
 */
#include <errno.h>
#include <string.h>

#include "coreclr_publish.h"

#define TAG_FIELDS_V2 2u

struct input {
	const uint8_t *at;
	uint32_t left;
	uint8_t is_v2, is_stopped; /* stopped: a field that cannot be read, and so none after it */
	uint8_t differs, has_object;
	uint32_t cnt, max_cnt, leaf_cnt; /* fields so far; at most; those that take bytes */
	uint32_t name_bytes;
	struct coreclr_field *fields; /* NULL: only counted */
	char *names;
};

uint32_t coreclr_type__bytes(uint8_t type, uint8_t is_self)
{
	static const uint8_t bytes[CORECLR_TYPE_CNT] = {
		[CORECLR_BOOL] = 4, [CORECLR_CHAR] = 2,	 [CORECLR_I8] = 1,	 [CORECLR_U8] = 1,
		[CORECLR_I16] = 2,  [CORECLR_U16] = 2,	 [CORECLR_I32] = 4,	 [CORECLR_U32] = 4,
		[CORECLR_I64] = 8,  [CORECLR_U64] = 8,	 [CORECLR_F32] = 4,	 [CORECLR_F64] = 8,
		[CORECLR_TIME] = 8, [CORECLR_GUID] = 16, [CORECLR_DECIMAL] = 16,
	};

	if (is_self && type == CORECLR_BOOL)
		return 1;
	if (is_self && type == CORECLR_DECIMAL)
		return 8;
	return type < CORECLR_TYPE_CNT ? bytes[type] : 0;
}

static int take_u32(struct input *in, uint32_t *out)
{
	if (in->left < 4)
		return -EPROTO;
	memcpy(out, in->at, 4);
	in->at += 4;
	in->left -= 4;
	return 0;
}

/* Three bytes of UTF-8 a unit at most. */
static int take_name(struct input *in, struct coreclr_field *field)
{
	uint32_t units = 0;

	while (in->left - 2 * units >= 2 && (in->at[2 * units] | in->at[2 * units + 1]))
		units++;
	if (in->left - 2 * units < 2)
		return -EPROTO;
	if (field && in->names) {
		field->name = in->names + in->name_bytes;
		coreclr_text__narrow(in->names + in->name_bytes, 3 * units + 1, in->at, units);
	}
	if (field)
		in->name_bytes += 3 * units + 1;
	in->has_object |= !units; /* no event with a manifest has a field without a name */
	in->at += 2 * units + 2;
	in->left -= 2 * units + 2;
	return 0;
}

static int read_layout_fields(struct input *in, uint32_t depth);

static int take_type(struct input *in, uint32_t depth, struct coreclr_field *field)
{
	uint32_t type, leaves = in->leaf_cnt;
	int err = take_u32(in, &type);

	field->is_array = !err && type == CORECLR_ARRAY;
	if (field->is_array)
		err = take_u32(in, &type);
	if (err)
		return err;
	field->type = (uint8_t)type;
	if (type == CORECLR_OBJECT) {
		in->has_object = 1;
		err = read_layout_fields(in, depth + 1);
	} else if (type != CORECLR_TEXT &&
		   (type > CORECLR_TEXT || !coreclr_type__bytes((uint8_t)type, 0))) {
		in->is_stopped = 1;
	} else {
		in->leaf_cnt++;
	}
	if (field->is_array && leaves == in->leaf_cnt)
		in->is_stopped = 1; /* any number of nothing */
	in->leaf_cnt += field->is_array;
	in->differs |= type == CORECLR_BOOL || type == CORECLR_DECIMAL ||
		       (field->is_array && type == CORECLR_U8);
	return err;
}

/* V1: the type, then the name. V2: the size of it all, the name, then the type. */
static int read_layout_field(struct input *in, uint32_t depth)
{
	struct coreclr_field unused = {.name = ""},
			     *field = in->fields ? &in->fields[in->cnt] : &unused;
	uint32_t bytes = 0, after_bytes = 0;
	int err = 0;

	/* Fields that are left out are no error: those before them are published. */
	if (in->cnt == CORECLR_FIELD_MAX) {
		in->is_stopped = 1;
		return 0;
	}
	if (++in->cnt > in->max_cnt)
		in->max_cnt = in->cnt;
	*field = unused;
	if (in->is_v2) {
		err = take_u32(in, &bytes);
		if (err || bytes < 4 || bytes - 4 > in->left)
			return -EPROTO;
		/*
		 * The field is read as if the input ended with it. So a type that this version does
		 * not know, or one with more after it, cannot reach into the next field.
		 */
		after_bytes = in->left - (bytes - 4);
		in->left = bytes - 4;
		err = take_name(in, field);
	}
	if (!err)
		err = take_type(in, depth, field);
	if (!err && !in->is_stopped && !in->is_v2)
		err = take_name(in, field);
	if (!err && in->is_v2) {
		in->at += in->left;
		in->left = after_bytes;
	}
	field->end = (uint16_t)in->cnt;
	return err;
}

/* A field that stops the list is not in it, nor the one that contains it. */
static int read_layout_fields(struct input *in, uint32_t depth)
{
	uint32_t number, before;
	int err = depth < CORECLR_DEPTH_MAX ? take_u32(in, &number) : -EPROTO;

	for (uint32_t i = 0; !err && i < number && !in->is_stopped; i++) {
		before = in->cnt;
		err = read_layout_field(in, depth);
		if (in->is_stopped)
			in->cnt = before;
	}
	return err;
}

/* The tag with fields, if the list before the tags had none. */
static int take_tags(struct input *in)
{
	uint32_t bytes, rest;
	int err = 0;

	while (!err && in->left > 5 && !in->cnt && !in->is_stopped) {
		uint8_t tag;

		err = take_u32(in, &bytes);
		tag = in->at[0];
		in->at++;
		in->left--;
		if (err || bytes > in->left)
			return -EPROTO;
		rest = in->left - bytes;
		if (tag == TAG_FIELDS_V2) {
			in->left = bytes;
			in->is_v2 = 1;
			err = read_layout_fields(in, 0);
			break;
		}
		in->at += bytes;
		in->left = rest;
	}
	return err;
}

static int read_layout_and_tags(struct input *in)
{
	int err = read_layout_fields(in, 0);

	return err || in->is_stopped ? err : take_tags(in);
}

/* id, name, keywords, version, level. */
static int skip_head(struct input *in)
{
	struct coreclr_blob blob;
	uint32_t bytes;

	if (coreclr_blob__parse(in->at, in->left, &blob))
		return -EPROTO;
	bytes = 4 + 2 * blob.name_units + 2 + 16;
	in->at += bytes;
	in->left -= bytes;
	return 0;
}

int coreclr_layout__parse(const uint8_t *blob, uint32_t len, coreclr_take_fn take,
			  struct coreclr_layout *out)
{
	struct input count = {.at = blob, .left = len}, fill;
	int err = skip_head(&count);

	memset(out, 0, sizeof(*out));
	fill = count;
	if (!err)
		err = read_layout_and_tags(&count);
	if (err || !count.cnt)
		return err;
	/* With those that a stop takes back. */
	out->fields = take(count.max_cnt * sizeof(*out->fields) + count.name_bytes);
	if (!out->fields)
		return -ENOMEM;
	fill.fields = out->fields;
	fill.names = (char *)(out->fields + count.max_cnt);
	read_layout_and_tags(&fill);
	out->cnt = (uint16_t)fill.cnt;
	out->differs = fill.differs;
	out->is_self = fill.has_object;
	return 0;
}
