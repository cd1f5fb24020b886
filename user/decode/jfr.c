// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file format of JDK Flight Recorder: chunks with metadata, pools of constants and events.
 * Pools keep where a value is, not what it is: few are requested. The file is a JVM's; every count
 * is bounded by the bytes that its elements need.
 */
#include "decode/jfr.h"

#include <errno.h>
#include <string.h>

#define HEAD_BYTES  68u
#define JFR_STEPS   (1ull << 27)
#define DEPTH_MAX   16u
#define METADATA    0u
#define CHECKPOINT  1u
#define COMPRESSED  1u
#define TEXT_NULL   0
#define TEXT_EMPTY  1
#define TEXT_POOL   2
#define TEXT_UTF8   3
#define TEXT_UTF16  4
#define TEXT_LATIN1 5

/* ---- bytes ---------------------------------------------------------------------------------- */

struct cursor {
	struct tapir_jfr *j;
	size_t at, end;
};

static bool spoil(struct tapir_jfr *j)
{
	j->is_bad = true;
	return false;
}

static bool check_step(struct cursor *c, uint64_t bytes)
{
	struct tapir_jfr *j = c->j;

	if (j->is_bad || !j->steps_left || bytes > c->end - c->at)
		return spoil(j);
	j->steps_left--;
	return true;
}

static void skip_chunk_bytes(struct cursor *c, uint64_t bytes)
{
	if (check_step(c, bytes))
		c->at += bytes;
}

static uint8_t take_byte(struct cursor *c)
{
	return check_step(c, 1) ? c->j->data[c->at++] : 0;
}

static uint64_t read_varint(struct cursor *c)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < 9; i++) {
		uint8_t byte = take_byte(c);

		if (i == 8)
			return value | (uint64_t)byte << 56;
		value |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* Reads a count of elements that each take at least a byte. */
static uint64_t take_count(struct cursor *c)
{
	uint64_t cnt = read_varint(c);

	if (cnt <= c->j->steps_left)
		return cnt;
	spoil(c->j);
	return 0;
}

/*
 * Reads UTF-16 units; those below 128 take a byte each, and the text is ASCII if all do. Else
 * empty.
 */
static struct tapir_sv take_units(struct cursor *c)
{
	uint64_t cnt = take_count(c);
	size_t from = c->at;

	for (uint64_t i = cnt; i && !c->j->is_bad; i--)
		read_varint(c);
	if (c->j->is_bad || c->at - from != cnt)
		return (struct tapir_sv){};
	return (struct tapir_sv){(const char *)c->j->data + from, (size_t)cnt};
}

static struct tapir_sv take_bytes(struct cursor *c)
{
	uint64_t len = read_varint(c);
	size_t from = c->at;

	skip_chunk_bytes(c, len);
	if (c->j->is_bad)
		return (struct tapir_sv){};
	return (struct tapir_sv){(const char *)c->j->data + from, (size_t)len};
}

/* key: of a text in the pool; 0: none. */
static struct tapir_sv read_jfr_string(struct cursor *c, uint64_t *key)
{
	*key = 0;
	switch (take_byte(c)) {
	case TEXT_POOL:
		*key = read_varint(c);
		break;
	case TEXT_UTF16:
		return take_units(c);
	case TEXT_UTF8:
	case TEXT_LATIN1:
		return take_bytes(c);
	case TEXT_NULL:
	case TEXT_EMPTY:
		break;
	default:
		spoil(c->j);
	}
	return (struct tapir_sv){};
}

/* ---- metadata ------------------------------------------------------------------------------- */

static struct tapir_sv take_name(struct cursor *c)
{
	uint64_t idx = read_varint(c);

	if (idx < c->j->texts.cnt)
		return c->j->texts.data[idx];
	spoil(c->j);
	return (struct tapir_sv){};
}

static uint64_t parse_number(struct tapir_sv text)
{
	uint64_t value = 0;

	for (size_t i = 0; i < text.len && i < 19 && text.data[i] >= '0' && text.data[i] <= '9';
	     i++)
		value = value * 10 + (uint64_t)(text.data[i] - '0');
	return value;
}

static void add_class(struct tapir_jfr *j, const struct tapir_jfr_class *class)
{
	tapir_keyed__forget(&j->classes, class->id); /* the last one counts */
	j->failed |= !tapir_keyed__add(&j->classes, class->id, UINT32_MAX, *class);
}

/* An element: its attributes, and in field and class what those say. */
static struct tapir_sv take_attributes(struct cursor *c, struct tapir_jfr_class *class,
				       struct tapir_jfr_field *field)
{
	struct tapir_sv element = take_name(c);

	for (uint64_t i = take_count(c); i && !c->j->is_bad; i--) {
		struct tapir_sv key = take_name(c), value = take_name(c);

		if (tapir_sv__is(key, "name"))
			class->name = field->name = value;
		else if (tapir_sv__is(key, "id"))
			class->id = parse_number(value);
		else if (tapir_sv__is(key, "class"))
			field->class_id = parse_number(value);
		else if (tapir_sv__is(key, "constantPool"))
			field->is_pool = tapir_sv__is(value, "true");
		else if (tapir_sv__is(key, "dimension"))
			field->is_array = tapir_sv__is(value, "1");
	}
	return element;
}

static void take_element(struct cursor *c, unsigned depth)
{
	struct tapir_jfr_class class = {.first = c->j->fields.cnt};
	struct tapir_jfr_field field = {};
	struct tapir_sv element = take_attributes(c, &class, &field);
	uint64_t children = take_count(c);

	if (depth > DEPTH_MAX)
		spoil(c->j);
	if (tapir_sv__is(element, "field") && !tapir_vec__push(&c->j->fields, field))
		c->j->failed = true;
	for (; children && !c->j->is_bad && !c->j->failed; children--)
		take_element(c, depth + 1);
	if (!tapir_sv__is(element, "class"))
		return;
	class.cnt = c->j->fields.cnt - class.first;
	add_class(c->j, &class);
}

static void read_metadata(struct tapir_jfr *j, size_t at)
{
	struct cursor c = {j, at, j->len};
	uint64_t key;

	read_varint(&c); /* size */
	if (read_varint(&c) != METADATA)
		spoil(j);
	for (unsigned i = 0; i < 3; i++) /* time, duration, id */
		read_varint(&c);
	for (uint64_t i = take_count(&c); i && !j->is_bad && !j->failed; i--) {
		struct tapir_sv text = read_jfr_string(&c, &key);

		j->failed |= !tapir_vec__push(&j->texts, text);
	}
	if (!j->is_bad && !j->failed)
		take_element(&c, 0);
}

/* ---- values --------------------------------------------------------------------------------- */

static const struct tapir_jfr_class *class_of(const struct tapir_jfr *j, uint64_t id)
{
	return tapir_keyed__get(&j->classes, id);
}

enum kind {
	KIND_NOTHING,
	KIND_NUMBER,
	KIND_BYTE,
	KIND_FLOAT,
	KIND_DOUBLE,
	KIND_TEXT,
	KIND_MEMBERS
};

static enum kind kind_of(const struct tapir_jfr_class *class)
{
	static const struct {
		const char *name;
		enum kind kind;
	} kinds[] = {
		{"long", KIND_NUMBER}, {"int", KIND_NUMBER},	{"short", KIND_NUMBER},
		{"char", KIND_NUMBER}, {"boolean", KIND_BYTE},	{"byte", KIND_BYTE},
		{"float", KIND_FLOAT}, {"double", KIND_DOUBLE}, {"java.lang.String", KIND_TEXT}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (tapir_sv__is(class->name, kinds[i].name))
			return kinds[i].kind;
	return class->cnt ? KIND_MEMBERS : KIND_NOTHING;
}

static void skip_one(struct cursor *c, uint64_t class_id, bool is_pool, unsigned depth);

static void skip_field(struct cursor *c, const struct tapir_jfr_field *field, unsigned depth)
{
	uint64_t cnt = field->is_array ? take_count(c) : 1;

	for (; cnt && !c->j->is_bad; cnt--)
		skip_one(c, field->class_id, field->is_pool, depth + 1);
}

static void skip_one(struct cursor *c, uint64_t class_id, bool is_pool, unsigned depth)
{
	const struct tapir_jfr_class *class = class_of(c->j, class_id);
	uint64_t key;

	/* A field of a constant pool is an index into that, whatever its class. */
	if (is_pool) {
		read_varint(c);
		return;
	}
	/* Classes are described in the file itself, and may contain each other. */
	if (!class || depth > DEPTH_MAX || !check_step(c, 0)) {
		spoil(c->j);
		return;
	}
	switch (kind_of(class)) {
	case KIND_NUMBER:
		read_varint(c);
		break;
	case KIND_BYTE:
		skip_chunk_bytes(c, 1);
		break;
	case KIND_FLOAT:
		skip_chunk_bytes(c, 4);
		break;
	case KIND_DOUBLE:
		skip_chunk_bytes(c, 8);
		break;
	case KIND_TEXT:
		read_jfr_string(c, &key);
		break;
	case KIND_MEMBERS:
		for (size_t i = 0; i < class->cnt && !c->j->is_bad; i++)
			skip_field(c, &c->j->fields.data[class->first + i], depth);
		break;
	case KIND_NOTHING:
		break;
	}
}

static uint64_t pool_key(uint64_t class_id, uint64_t key)
{
	return tapir_hash__mix(tapir_hash__mix(11, class_id), key);
}

/* Finds the value for a key of the pool; a member that is not a key stays as it is. */
static struct tapir_jfr_value resolve_constant(struct tapir_jfr *j, struct tapir_jfr_value v)
{
	struct cursor c = {j, v.at, j->len};
	const uint64_t *at;

	if (!v.is_pool || v.is_array || !v.at)
		return v;
	at = tapir_map__get(&j->pool, pool_key(v.class_id, read_varint(&c)));
	return (struct tapir_jfr_value){.at = at ? (size_t)*at : 0, .class_id = v.class_id};
}

struct tapir_jfr_value tapir_jfr__field(struct tapir_jfr *j, struct tapir_jfr_value of,
					const char *name)
{
	const struct tapir_jfr_class *class = of.at ? class_of(j, of.class_id) : NULL;
	struct cursor c = {j, of.at, j->len};

	for (size_t i = 0; class && i < class->cnt && !j->is_bad; i++) {
		const struct tapir_jfr_field *field = &j->fields.data[class->first + i];

		if (tapir_sv__is(field->name, name))
			return resolve_constant(j, (struct tapir_jfr_value){c.at, field->class_id,
									    field->is_pool,
									    field->is_array});
		skip_field(&c, field, 0);
	}
	return (struct tapir_jfr_value){};
}

uint64_t tapir_jfr__elements(struct tapir_jfr *j, struct tapir_jfr_value *array)
{
	struct cursor c = {j, array->at, j->len};
	uint64_t cnt = array->at && array->is_array ? take_count(&c) : 0;

	array->is_array = false;
	array->at = c.at;
	return cnt;
}

struct tapir_jfr_value tapir_jfr__next(struct tapir_jfr *j, struct tapir_jfr_value *array)
{
	struct tapir_jfr_value one = *array;
	struct cursor c = {j, array->at, j->len};

	skip_one(&c, array->class_id, array->is_pool, 0);
	array->at = c.at;
	if (j->is_bad)
		return (struct tapir_jfr_value){};
	return resolve_constant(j, one);
}

struct tapir_sv tapir_jfr__text(struct tapir_jfr *j, struct tapir_jfr_value v)
{
	const struct tapir_jfr_class *class = v.at ? class_of(j, v.class_id) : NULL;
	struct tapir_sv text = {};
	uint64_t key = 0;

	for (unsigned i = 0; class && !v.is_array && kind_of(class) == KIND_TEXT && i < 2; i++) {
		struct cursor c = {j, v.at, j->len};
		const uint64_t *at;

		text = read_jfr_string(&c, &key);
		at = key ? tapir_map__get(&j->pool, pool_key(v.class_id, key)) : NULL;
		if (!at)
			break;
		v.at = (size_t)*at;
	}
	return text;
}

/* ---- events --------------------------------------------------------------------------------- */

static void read_pool(struct cursor *c)
{
	uint64_t class_id = read_varint(c);

	for (uint64_t i = take_count(c); i && !c->j->is_bad && !c->j->failed; i--) {
		uint64_t *at =
			tapir_map__put(&c->j->pool, pool_key(class_id, read_varint(c)), NULL);

		if (at)
			*at = c->at;
		c->j->failed |= !at;
		skip_one(c, class_id, false, 0);
	}
}

static void read_pools(struct cursor *c)
{
	for (unsigned i = 0; i < 3; i++) /* time, duration, distance to the one before */
		read_varint(c);
	take_byte(c);
	for (uint64_t i = take_count(c); i && !c->j->is_bad && !c->j->failed; i--)
		read_pool(c);
}

/* fn NULL: constant pools; else events of the class. */
static void each_event(struct tapir_jfr *j, uint64_t class_id, tapir_jfr_fn fn, void *ctx)
{
	size_t at = HEAD_BYTES;

	while (at < j->len && !j->is_bad && !j->failed) {
		struct cursor c = {j, at, j->len};
		uint64_t size = read_varint(&c), type;

		if (!size || size > j->len - at) {
			spoil(j);
			return;
		}
		c.end = at + size;
		type = read_varint(&c);
		if (!fn && type == CHECKPOINT)
			read_pools(&c);
		if (fn && type == class_id && !j->is_bad)
			fn(ctx, j, (struct tapir_jfr_value){.at = c.at, .class_id = class_id});
		at += size;
	}
}

static uint64_t big_endian(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

static void read_chunk(struct tapir_jfr *j, const char *type, tapir_jfr_fn fn, void *ctx)
{
	const struct tapir_jfr_class *class;
	uint64_t metadata = big_endian(j->data + 24, 8);

	if (metadata < HEAD_BYTES || metadata >= j->len ||
	    !(big_endian(j->data + 64, 4) & COMPRESSED)) {
		spoil(j);
		return;
	}
	read_metadata(j, (size_t)metadata);
	if (!j->is_bad && !j->failed)
		each_event(j, 0, NULL, NULL);
	tapir_vec_for_each (class, &j->classes)
		if (!j->is_bad && !j->failed && tapir_sv__is(class->name, type)) {
			each_event(j, class->id, fn, ctx);
			break;
		}
}

static void fini(struct tapir_jfr *j)
{
	tapir_vec__fini(&j->texts);
	tapir_keyed__fini(&j->classes);
	tapir_vec__fini(&j->fields);
	tapir_map__fini(&j->pool);
}

int tapir_jfr__each(const void *data, size_t len, const char *type, tapir_jfr_fn fn, void *ctx)
{
	const uint8_t *at = data;
	uint64_t steps = JFR_STEPS;

	while (len) {
		uint64_t size = len < HEAD_BYTES ? 0 : big_endian(at + 8, 8);
		struct tapir_jfr j = {.data = at, .len = (size_t)size, .steps_left = steps};

		if (size < HEAD_BYTES || size > len || memcmp(at, "FLR", 4) != 0)
			return -EPROTO;
		read_chunk(&j, type, fn, ctx);
		fini(&j);
		if (j.failed)
			return -ENOMEM;
		if (j.is_bad)
			return -EPROTO;
		steps = j.steps_left;
		at += size;
		len -= size;
	}
	return 0;
}
