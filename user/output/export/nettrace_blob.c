// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An EventPipe metadata blob, as CoreCLR passes it to a profiler: u32 id, name, i64 keywords, u32
 * version, u32 level, fields, then parts that may follow, each with its length and kind: an opcode,
 * or the fields once more in a form that knows arrays. Fields of the first form are type, name; of
 * the second length, name, type. Type codes are those of NetTrace. Names are UTF-16 with a NUL at
 * the end.
 */
#include "output/export/nettrace_kind.h"

#include <string.h>

#define DEPTH_MAX  8
#define FIELDS_MAX 1024

enum form { FORM_TYPE_NAME, FORM_SIZED };

struct blob {
	const uint8_t *at;
	size_t left;
	bool is_bad;
};

static void read_blob(struct blob *b, void *out, size_t bytes)
{
	memset(out, 0, bytes);
	if (b->left < bytes) {
		b->is_bad = true;
		return;
	}
	memcpy(out, b->at, bytes);
	b->at += bytes;
	b->left -= bytes;
}

static uint32_t take_u32(struct blob *b)
{
	uint32_t value;

	read_blob(b, &value, sizeof(value));
	return value;
}

static struct blob take_part(struct blob *b, size_t bytes)
{
	struct blob part = {b->at, bytes, false};

	if (b->left < bytes) {
		b->is_bad = true;
		return (struct blob){};
	}
	b->at += bytes;
	b->left -= bytes;
	return part;
}

static void add_utf8(struct tapir_str *out, uint32_t code)
{
	if (code < 0x80) {
		tapir_str__addc(out, (char)code);
		return;
	}
	if (code >= 0x10000)
		tapir_str__addc(out, (char)(0xf0 | code >> 18));
	if (code >= 0x800)
		tapir_str__addc(out, (char)((code >= 0x10000 ? 0x80 : 0xe0) | (code >> 12 & 0x3f)));
	tapir_str__addc(out, (char)((code >= 0x800 ? 0x80 : 0xc0) | (code >> 6 & 0x3f)));
	tapir_str__addc(out, (char)(0x80 | (code & 0x3f)));
}

/* Half a surrogate pair is U+FFFD. */
static void take_name(struct blob *b, struct tapir_str *out)
{
	uint16_t unit, low;

	for (read_blob(b, &unit, sizeof(unit)); unit && !b->is_bad;
	     read_blob(b, &unit, sizeof(unit))) {
		uint32_t code = unit;

		if (unit >= 0xd800 && unit < 0xe000)
			code = 0xfffd;
		if (unit >= 0xd800 && unit < 0xdc00 && b->left >= sizeof(low)) {
			memcpy(&low, b->at, sizeof(low));
			if (low >= 0xdc00 && low < 0xe000) {
				read_blob(b, &low, sizeof(low));
				code = 0x10000 + ((unit & 0x3ffu) << 10 | (low & 0x3ffu));
			}
		}
		add_utf8(out, code);
	}
}

static void convert_blob_fields(struct blob *b, enum form form, unsigned depth,
				struct tapir_nettrace_fields *out);

static bool is_simple(uint32_t type)
{
	return type >= 3 && type <= TAPIR_NETTRACE_UTF16;
}

/* Type codes, those of elements and members included. */
static void take_type(struct blob *b, enum form form, unsigned depth, struct tapir_str *out)
{
	uint32_t type = take_u32(b);
	struct tapir_nettrace_fields members = {};

	tapir_nettrace__put_u8(out, (uint8_t)type);
	if (depth == DEPTH_MAX ||
	    !(is_simple(type) || type == TAPIR_NETTRACE_OBJECT || type == TAPIR_NETTRACE_ARRAY)) {
		b->is_bad = true;
	} else if (type == TAPIR_NETTRACE_ARRAY) {
		take_type(b, form, depth + 1, out);
	} else if (type == TAPIR_NETTRACE_OBJECT) {
		convert_blob_fields(b, form, depth + 1, &members);
		tapir_nettrace__put_u16(out, members.cnt);
		tapir_str__add(out, members.bytes.data, members.bytes.len);
		tapir_str__fini(&members.bytes);
	}
}

static void convert_blob_field(struct blob *b, enum form form, unsigned depth,
			       struct tapir_nettrace_fields *out)
{
	struct tapir_str name = {}, types = {}, field = {};

	if (form == FORM_SIZED)
		take_name(b, &name);
	take_type(b, form, depth, &types);
	if (form == FORM_TYPE_NAME)
		take_name(b, &name);
	tapir_nettrace__put_text(&field, (struct tapir_sv){name.data, name.len});
	tapir_str__add(&field, types.data, types.len);
	if (field.len > UINT16_MAX || field.failed || name.failed || types.failed)
		b->is_bad = true;
	tapir_nettrace__put_u16(&out->bytes, (uint16_t)field.len);
	tapir_str__add(&out->bytes, field.data, field.len);
	out->cnt++;
	tapir_str__fini(&name);
	tapir_str__fini(&types);
	tapir_str__fini(&field);
}

static void convert_blob_fields(struct blob *b, enum form form, unsigned depth,
				struct tapir_nettrace_fields *out)
{
	uint32_t cnt = take_u32(b);

	b->is_bad |= cnt > FIELDS_MAX;
	for (uint32_t i = 0; i < cnt && !b->is_bad; i++) {
		uint32_t len = form == FORM_SIZED ? take_u32(b) : 0;
		struct blob sized = {};

		if (form == FORM_SIZED)
			sized = take_part(b, len < sizeof(len) ? 0 : len - sizeof(len));
		convert_blob_field(form == FORM_SIZED ? &sized : b, form, depth, out);
		b->is_bad |= sized.is_bad;
	}
}

/* Reads the parts that may follow the fields of the first form. */
static void take_parts(struct blob *b, struct tapir_nettrace_fields *fields)
{
	enum { PART_OPCODE = 1, PART_FIELDS = 2 };

	while (b->left && !b->is_bad) {
		uint32_t bytes = take_u32(b);
		uint8_t kind, opcode;
		struct blob part;

		read_blob(b, &kind, sizeof(kind));
		part = take_part(b, bytes);
		if (kind == PART_OPCODE && bytes) {
			read_blob(&part, &opcode, sizeof(opcode));
			fields->opcode = opcode;
		} else if (kind == PART_FIELDS) {
			tapir_str__clear(&fields->bytes);
			fields->cnt = 0;
			convert_blob_fields(&part, FORM_SIZED, 0, fields);
		}
		b->is_bad |= part.is_bad;
	}
}

void tapir_nettrace_fields__of_blob(struct tapir_nettrace_fields *fields, struct tapir_sv blob)
{
	struct blob b = {(const uint8_t *)blob.data, blob.len, false};
	struct tapir_str name = {};
	char keywords[8];

	fields->opcode = -1;
	(void)take_u32(&b);
	take_name(&b, &name);
	tapir_str__fini(&name);
	read_blob(&b, keywords, sizeof(keywords));
	(void)take_u32(&b);
	(void)take_u32(&b);
	convert_blob_fields(&b, FORM_TYPE_NAME, 0, fields);
	if (!b.is_bad)
		take_parts(&b, fields);
	if (b.is_bad) {
		tapir_str__clear(&fields->bytes);
		fields->cnt = 0;
	}
}
