// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * u32 id, wstrz name, i64 keywords, u32 version, u32 level, u32 number of fields, fields (V1: u32
 * type, what the type needs, wstrz name), then tags until the end: u32 bytes, u8 tag. Tag 1: the
 * opcode, u8. Tag 2: fields again (V2: u32 bytes with itself, wstrz name, u32 type, what it needs),
 * where V1 cannot express them (arrays).
 */
#include "decode/event_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "decode/value_packed.h"

#define FIELD_CNT_MAX	4096 /* of one level */
#define ARENA_MAX_BYTES (1u << 20)
#define TAG_HEAD_BYTES	5
#define TAG_OPCODE	1
#define TAG_FIELDS_V2	2

/* System.TypeCode, and the two that EventPipe added. */
enum type_code {
	CODE_EMPTY,
	CODE_OBJECT,
	CODE_DBNULL,
	CODE_BOOLEAN,
	CODE_CHAR,
	CODE_SBYTE,
	CODE_BYTE,
	CODE_INT16,
	CODE_UINT16,
	CODE_INT32,
	CODE_UINT32,
	CODE_INT64,
	CODE_UINT64,
	CODE_SINGLE,
	CODE_DOUBLE,
	CODE_DECIMAL,
	CODE_DATETIME,
	CODE_GUID,
	CODE_STRING,
	CODE_ARRAY,
	CODE_CNT
};

struct blob {
	struct tapir_event_blob pub; /* first */
	struct tapir_arena arena;
};

struct input {
	struct blob *blob;
	const uint8_t *at;
	size_t left;
	bool is_v2;
	bool is_self; /* read as of an event that describes itself */
	bool makes_difference;
	bool has_object; /* no event with a manifest has one, nor a field without a name */
	bool stopped;	 /* a field of a type that cannot be decoded: no more of them */
};

struct fields tapir_vec(struct tapir_layout_field);

/* ---- pieces ------------------------------------------------------------------------------------ */

static int read_input(struct input *in, void *out, size_t bytes)
{
	if (in->left < bytes)
		return -EINVAL;
	memcpy(out, in->at, bytes);
	in->at += bytes;
	in->left -= bytes;
	return 0;
}

static int take_u32(struct input *in, uint32_t *out)
{
	return read_input(in, out, sizeof(*out));
}

static int read_blob_name(struct input *in, const char **out)
{
	size_t len = 0;
	char *text;

	while (len + 2 <= in->left && (in->at[len] | in->at[len + 1]))
		len += 2;
	if (len + 2 > in->left)
		return -EINVAL;
	text = tapir_arena__alloc(&in->blob->arena, len / 2 * 3 + 1);
	if (!text)
		return -ENOMEM;
	tapir_utf16__to_utf8(in->at, len, text);
	*out = text;
	in->at += len + 2;
	in->left -= len + 2;
	return 0;
}

/* ---- types ------------------------------------------------------------------------------------- */

/* -1: not a type of one value. */
static int layout_type(uint32_t code)
{
	static const int8_t types[CODE_CNT] = {
		[CODE_EMPTY] = -1,
		[CODE_OBJECT] = TAPIR_LAYOUT_STRUCT,
		[CODE_DBNULL] = -1,
		[CODE_BOOLEAN] = TAPIR_LAYOUT_BOOL32,
		[CODE_CHAR] = TAPIR_LAYOUT_CHAR16,
		[CODE_SBYTE] = TAPIR_LAYOUT_I8,
		[CODE_BYTE] = TAPIR_LAYOUT_U8,
		[CODE_INT16] = TAPIR_LAYOUT_I16,
		[CODE_UINT16] = TAPIR_LAYOUT_U16,
		[CODE_INT32] = TAPIR_LAYOUT_I32,
		[CODE_UINT32] = TAPIR_LAYOUT_U32,
		[CODE_INT64] = TAPIR_LAYOUT_I64,
		[CODE_UINT64] = TAPIR_LAYOUT_U64,
		[CODE_SINGLE] = TAPIR_LAYOUT_F32,
		[CODE_DOUBLE] = TAPIR_LAYOUT_F64,
		[CODE_DECIMAL] = TAPIR_LAYOUT_DECIMAL,
		[CODE_DATETIME] = TAPIR_LAYOUT_FILETIME,
		[CODE_GUID] = TAPIR_LAYOUT_GUID,
		[CODE_STRING] = TAPIR_LAYOUT_UTF16,
		[CODE_ARRAY] = -1,
	};

	return code < CODE_CNT ? types[code] : -1;
}

static unsigned min_bytes(const struct tapir_layout_field *f)
{
	unsigned bytes = tapir_layout_type__bytes(f->type);

	if (f->repeat != TAPIR_REPEAT_ONCE)
		return 2;
	if (f->type == TAPIR_LAYOUT_STRUCT)
		return f->min_bytes;
	return bytes ? bytes : 1;
}

static int read_blob_fields(struct input *in, int depth, const struct tapir_layout_field **fields,
			    uint16_t *cnt, uint16_t *least);

/* The types that are written in two ways. */
static void choose_way(struct input *in, struct tapir_layout_field *f)
{
	switch (f->type) {
	case TAPIR_LAYOUT_BOOL32:
		f->type = in->is_self ? TAPIR_LAYOUT_BOOL8 : TAPIR_LAYOUT_BOOL32;
		break;
	case TAPIR_LAYOUT_DECIMAL:
		f->type = in->is_self ? TAPIR_LAYOUT_F64 : TAPIR_LAYOUT_DECIMAL;
		break;
	case TAPIR_LAYOUT_BINARY:
		f->repeat = in->is_self ? TAPIR_REPEAT_U16 : TAPIR_REPEAT_U32;
		break;
	default:
		return;
	}
	in->makes_difference = true;
}

/* Reads what follows a type code. Sets f->type, or stops the fields. */
static int take_type(struct input *in, uint32_t code, int depth, struct tapir_layout_field *f)
{
	uint32_t element = 0;
	int err = 0;

	if (code == CODE_ARRAY) {
		err = take_u32(in, &element);
		if (err)
			return err;
		if (element == CODE_ARRAY)
			in->stopped = true;
	}
	if (layout_type(code == CODE_ARRAY ? element : code) < 0)
		in->stopped = true;
	if (in->stopped)
		return 0;
	f->type = (uint8_t)layout_type(code == CODE_ARRAY ? element : code);
	if (f->type == TAPIR_LAYOUT_STRUCT) {
		in->has_object = true;
		err = read_blob_fields(in, depth + 1, &f->members, &f->member_cnt, &f->min_bytes);
	}
	if (code == CODE_ARRAY) {
		f->repeat = TAPIR_REPEAT_U16;
		f->type = f->type == TAPIR_LAYOUT_U8 ? TAPIR_LAYOUT_BINARY : f->type;
		if (f->type == TAPIR_LAYOUT_STRUCT && !f->min_bytes)
			in->stopped = true; /* any number of nothing */
	}
	choose_way(in, f);
	return err;
}

/* V1: the type, then the name. V2: the size of it all, the name, then the type. */
static int read_blob_field(struct input *in, int depth, struct tapir_layout_field *f)
{
	struct input all = *in, *from = in;
	uint32_t bytes, code;
	int err = 0;

	if (in->is_v2) {
		err = take_u32(in, &bytes);
		if (err || bytes < 4 || bytes - 4 > in->left)
			return -EINVAL;
		/*
		 * A field is read from an input that ends with it, so that one of a kind that is
		 * not known here does not shift those after it.
		 */
		all = *in;
		all.left = bytes - 4;
		in->at += all.left;
		in->left -= all.left;
		from = &all;
		err = read_blob_name(from, &f->name);
	}
	if (!err)
		err = take_u32(from, &code);
	if (!err)
		err = take_type(from, code, depth, f);
	if (!err && !from->stopped && !in->is_v2)
		err = read_blob_name(from, &f->name);
	in->stopped = from->stopped;
	in->makes_difference = from->makes_difference;
	in->has_object = from->has_object || (f->name && !*f->name);
	return err;
}

static int keep_fields(struct input *in, const struct fields *list,
		       const struct tapir_layout_field **fields, uint16_t *cnt, uint16_t *least)
{
	unsigned bytes = 0;

	for (size_t i = 0; i < list->cnt; i++)
		bytes += min_bytes(&list->data[i]);
	*least = (uint16_t)(bytes < UINT16_MAX ? bytes : UINT16_MAX);
	*cnt = (uint16_t)list->cnt;
	*fields = tapir_arena__copy(&in->blob->arena, list->data, list->cnt, sizeof(*list->data));
	return *fields ? 0 : -ENOMEM;
}

/*
 * A number, and that many fields. Inside a stopped one nothing is kept, because its length is not
 * known.
 */
static int read_blob_fields(struct input *in, int depth, const struct tapir_layout_field **fields,
			    uint16_t *cnt, uint16_t *least)
{
	struct fields list = {};
	uint32_t number = 0;
	int err = depth < TAPIR_LAYOUT_DEPTH ? take_u32(in, &number) : -EINVAL;

	if (!err && number > FIELD_CNT_MAX)
		err = -EINVAL;
	for (uint32_t i = 0; i < number && !err && !in->stopped; i++) {
		struct tapir_layout_field f = {.name = ""};

		err = read_blob_field(in, depth, &f);
		if (!err && !in->stopped && !tapir_vec__push(&list, f))
			err = -ENOMEM;
	}
	if (!err)
		err = keep_fields(in, &list, fields, cnt, least);
	tapir_vec__fini(&list);
	return err;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static int take_tag(struct input *in, struct tapir_event_blob *pub,
		    struct tapir_packed_layout *layout)
{
	struct input part;
	uint32_t bytes;
	uint16_t least;
	uint8_t tag;
	int err = take_u32(in, &bytes);

	if (!err)
		err = read_input(in, &tag, 1);
	if (err || bytes > in->left)
		return -EINVAL;
	part = *in;
	part.left = bytes;
	part.is_v2 = true;
	in->at += bytes;
	in->left -= bytes;
	if (tag == TAG_OPCODE && bytes)
		pub->opcode = part.at[0];
	if (tag == TAG_FIELDS_V2 && !layout->field_cnt) {
		err = read_blob_fields(&part, 0, &layout->fields, &layout->field_cnt, &least);
		in->makes_difference = part.makes_difference;
		in->has_object = part.has_object;
	}
	return err;
}

/* The argument of Write(name, data) is one object without a name: its fields are the event's. */
static void unwrap(struct tapir_packed_layout *layout)
{
	const struct tapir_layout_field *f = layout->fields;

	if (layout->field_cnt != 1 || f->type != TAPIR_LAYOUT_STRUCT || *f->name ||
	    f->repeat != TAPIR_REPEAT_ONCE)
		return;
	layout->fields = f->members;
	layout->field_cnt = f->member_cnt;
}

static int parse_blob(struct input *in, struct tapir_event_blob *pub,
		      struct tapir_packed_layout *layout)
{
	uint16_t least;
	int err = take_u32(in, &pub->id);

	if (!err)
		err = read_blob_name(in, &pub->name);
	if (!err)
		err = read_input(in, &pub->keywords, sizeof(pub->keywords));
	if (!err)
		err = take_u32(in, &pub->version);
	if (!err)
		err = take_u32(in, &pub->level);
	if (!err)
		err = read_blob_fields(in, 0, &layout->fields, &layout->field_cnt, &least);
	/* what is no tag ends them: runtimes leave two bytes of zero there */
	while (!err && in->left > TAG_HEAD_BYTES && !in->stopped)
		err = take_tag(in, pub, layout);
	if (!err)
		unwrap(layout);
	return err;
}

/* Both ways, where they differ. */
static int parse_both(struct blob *blob, const void *bytes, size_t len)
{
	struct tapir_event_blob *pub = &blob->pub;
	struct input in = {.blob = blob, .at = bytes, .left = len};
	struct input self = {.blob = blob, .at = bytes, .left = len, .is_self = true};
	struct tapir_packed_layout likelier;
	int err = parse_blob(&in, pub, &pub->layout);

	if (err || !in.makes_difference)
		return err;
	err = parse_blob(&self, pub, &pub->other);
	if (!err && in.has_object) {
		likelier = pub->other;
		pub->other = pub->layout;
		pub->layout = likelier;
	}
	return err;
}

int tapir_event_blob__parse(const void *bytes, size_t len, struct tapir_event_blob **out)
{
	struct blob *blob = calloc(1, sizeof(*blob));
	int err;

	if (!blob)
		return -ENOMEM;
	blob->arena.max_bytes = ARENA_MAX_BYTES;
	blob->pub.opcode = -1;
	err = parse_both(blob, bytes, len);
	if (err) {
		tapir_event_blob__free(&blob->pub);
		return err;
	}
	*out = &blob->pub;
	return 0;
}

void tapir_event_blob__free(struct tapir_event_blob *pub)
{
	struct blob *blob = (struct blob *)pub;

	if (!blob)
		return;
	tapir_arena__fini(&blob->arena);
	free(blob);
}
