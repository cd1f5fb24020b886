// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Protobuf, as much as is needed: a message is fields, each a number, how it is encoded, and its
 * content. Of a field that may occur once, the last one counts.
 */
#include "decode/otel_resource.h"

#include <string.h>

#include "base/map.h"
#include "decode/byte_input.h"

#define NESTED_MAX 4

enum encoding { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct field {
	uint64_t number;
	enum encoding encoding;
	uint64_t value;	       /* VARINT, FIXED64, FIXED32 */
	struct tapir_sv bytes; /* BYTES */
};

static struct tapir_byte_input input_of(struct tapir_sv message)
{
	return (struct tapir_byte_input){.at = (const uint8_t *)message.data, .left = message.len};
}

static bool take_bytes(struct tapir_byte_input *in, struct tapir_sv *out)
{
	uint64_t len = tapir_byte_input__varint(in);
	const uint8_t *at = tapir_byte_input__take(in, len);

	*out = (struct tapir_sv){(const char *)at, at ? len : 0};
	return at != NULL;
}

/* False: there is none, which is the end or in->is_bad. */
static bool read_protobuf_field(struct tapir_byte_input *in, struct field *out)
{
	uint64_t tag;

	if (!in->left || in->is_bad)
		return false;
	tag = tapir_byte_input__varint(in);
	*out = (struct field){.number = tag >> 3, .encoding = (enum encoding)(tag & 7)};
	if (out->encoding == VARINT)
		out->value = tapir_byte_input__varint(in);
	else if (out->encoding == FIXED64 || out->encoding == FIXED32)
		out->value = tapir_byte_input__le(in, out->encoding == FIXED64 ? 8 : 4);
	else if (out->encoding != BYTES || !take_bytes(in, &out->bytes))
		in->is_bad = true;
	return !in->is_bad;
}

/* ---- attributes ---------------------------------------------------------------------------- */

/* False: it is no KeyValue, or has no key. */
static bool read_attribute(struct tapir_sv message, struct tapir_otel_attribute *out)
{
	struct tapir_byte_input in = input_of(message);
	struct field field;

	*out = (struct tapir_otel_attribute){.message = message};
	while (read_protobuf_field(&in, &field)) {
		if (field.number == 1 && field.encoding == BYTES)
			out->key = field.bytes;
		else if (field.number == 2 && field.encoding == BYTES)
			out->value = field.bytes;
	}
	return !in.is_bad && out->key.len;
}

static bool each_attribute(struct tapir_sv resource, tapir_otel_attribute_fn fn, void *ctx,
			   unsigned *left)
{
	struct tapir_byte_input in = input_of(resource);
	struct tapir_otel_attribute attribute;
	struct field field;

	while (read_protobuf_field(&in, &field)) {
		if (field.number != 1 || field.encoding != BYTES)
			continue;
		if (!*left || !read_attribute(field.bytes, &attribute))
			return false;
		--*left;
		fn(ctx, &attribute);
	}
	return !in.is_bad;
}

bool tapir_otel_resource__each(struct tapir_sv payload, tapir_otel_attribute_fn fn, void *ctx)
{
	struct tapir_byte_input in = input_of(payload);
	unsigned left = TAPIR_OTEL_ATTRIBUTES_MAX;
	struct field field;

	while (read_protobuf_field(&in, &field))
		if (field.number == 1 && field.encoding == BYTES &&
		    !each_attribute(field.bytes, fn, ctx, &left))
			return false;
	return !in.is_bad;
}

/* ---- values -------------------------------------------------------------------------------- */

/* The field that has the value; false: none has. */
static bool read_value(struct tapir_sv value, struct field *out)
{
	static const uint8_t encodings[] = {[1] = BYTES, [2] = VARINT, [3] = VARINT, [4] = FIXED64,
					    [5] = BYTES, [6] = BYTES,  [7] = BYTES};
	struct tapir_byte_input in = input_of(value);
	struct field field;
	bool is_found = false;

	while (read_protobuf_field(&in, &field)) {
		if (!field.number || field.number >= sizeof(encodings) ||
		    encodings[field.number] != field.encoding)
			continue;
		*out = field;
		is_found = true;
	}
	return is_found && !in.is_bad;
}

static void add_otel_value(struct tapir_json *j, const char *key, struct tapir_sv value,
			   unsigned depth);

/* The elements of a list; with keys: of a list of attributes. */
static void add_list(struct tapir_json *j, const char *key, struct tapir_sv list, bool has_keys,
		     unsigned depth)
{
	struct tapir_byte_input in = input_of(list);
	struct tapir_otel_attribute attribute;
	struct field field;

	tapir_json__open(j, key, '[');
	while (read_protobuf_field(&in, &field)) {
		if (field.number != 1 || field.encoding != BYTES)
			continue;
		if (!has_keys) {
			add_otel_value(j, NULL, field.bytes, depth);
		} else if (read_attribute(field.bytes, &attribute)) {
			tapir_json__open(j, NULL, '{');
			tapir_json__strn(j, "key", attribute.key.data, attribute.key.len);
			add_otel_value(j, "value", attribute.value, depth);
			tapir_json__close(j, '}');
		}
	}
	tapir_json__close(j, ']');
}

static void add_otel_number(struct tapir_json *j, const char *key, uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	tapir_json__f64(j, key, number);
}

static void add_bytes(struct tapir_json *j, const char *key, struct tapir_sv bytes)
{
	struct tapir_str hex = {};

	tapir_str__add_hex(&hex, bytes.data, bytes.len);
	tapir_json__str(j, key, hex.data ? hex.data : "");
	tapir_str__fini(&hex);
}

static void add_otel_value(struct tapir_json *j, const char *key, struct tapir_sv value,
			   unsigned depth)
{
	struct field field;

	if (depth > NESTED_MAX || !read_value(value, &field))
		tapir_json__null(j, key);
	else if (field.number == 1)
		tapir_json__strn(j, key, field.bytes.data, field.bytes.len);
	else if (field.number == 2)
		tapir_json__bool(j, key, field.value);
	else if (field.number == 3)
		tapir_json__i64(j, key, (int64_t)field.value);
	else if (field.number == 4)
		add_otel_number(j, key, field.value);
	else if (field.number == 7)
		add_bytes(j, key, field.bytes);
	else
		add_list(j, key, field.bytes, field.number == 6, depth + 1);
}

void tapir_otel_value__add_json(struct tapir_json *j, const char *key, struct tapir_sv value)
{
	add_otel_value(j, key, value, 0);
}

bool tapir_otel_value__text(struct tapir_sv value, struct tapir_sv *out)
{
	struct field field;

	if (!read_value(value, &field) || field.number != 1)
		return false;
	*out = field.bytes;
	return true;
}

/* ---- the resource -------------------------------------------------------------------------- */

struct search {
	const char *key;
	struct tapir_sv found;
};

static void find_text(void *ctx, const struct tapir_otel_attribute *a)
{
	struct search *search = ctx;

	if (!search->found.len && tapir_sv__is(a->key, search->key))
		(void)tapir_otel_value__text(a->value, &search->found);
}

struct tapir_sv tapir_otel_resource__text(struct tapir_sv payload, const char *key)
{
	struct search search = {.key = key};

	(void)tapir_otel_resource__each(payload, find_text, &search);
	return search.found;
}

struct object {
	struct tapir_json *j;
	struct tapir_map keys; /* hashes of those that are there */
	struct tapir_str key;
};

/* Keys are shown as a terminal may show them. */
static void add_member(void *ctx, const struct tapir_otel_attribute *a)
{
	struct object *o = ctx;
	bool is_new = false;

	tapir_str__clear(&o->key);
	tapir_str__add_printable(&o->key, a->key.data, a->key.len);
	if (!o->key.data || o->key.failed ||
	    !tapir_map__put(&o->keys, tapir_hash__bytes(0, o->key.data, o->key.len), &is_new) ||
	    !is_new)
		return;
	tapir_otel_value__add_json(o->j, o->key.data, a->value);
}

void tapir_otel_resource__add_json(struct tapir_json *j, struct tapir_sv payload)
{
	struct object o = {.j = j};

	tapir_json__open(j, "resource", '{');
	(void)tapir_otel_resource__each(payload, add_member, &o);
	tapir_json__close(j, '}');
	tapir_map__fini(&o.keys);
	tapir_str__fini(&o.key);
}
