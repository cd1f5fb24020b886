// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file format of JDK Flight Recorder: chunks with metadata, pools of constants and events.
 * Pools keep where a value is, not what it is: few are requested. The file is a JVM's; every count
 * is bounded by the bytes that its elements need.
 */
#include "decode/jfr.h"

#include <errno.h>
#include <string.h>

#define STEPS_A_BYTE 64u
#define DEPTH_MAX    16u
#define METADATA     0u
#define CHECKPOINT   1u
#define COMPRESSED   1u
#define TEXT_NULL    0
#define TEXT_EMPTY   1
#define TEXT_POOL    2
#define TEXT_UTF8    3
#define TEXT_UTF16   4
#define TEXT_LATIN1  5

/* ---- bytes ---------------------------------------------------------------------------------- */

static uint64_t big_endian(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

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

/* An element: its attributes, and in field, class and value what those say. */
static struct tapir_sv take_attributes(struct cursor *c, struct tapir_jfr_class *class,
				       struct tapir_jfr_field *field, struct tapir_sv *value_text)
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
		else if (tapir_sv__is(key, "value") || tapir_sv__is(key, "value-0"))
			*value_text = value;
	}
	return element;
}

#define NO_FIELD SIZE_MAX

static void add_annotation(struct tapir_jfr *j, size_t field, uint64_t class_id,
			   struct tapir_sv value)
{
	struct tapir_jfr_annotation annotation = {field, class_id, value};

	j->failed |= !tapir_vec__push(&j->annotations, annotation);
}

/* parent: the field whose annotation this may be. */
static void take_element(struct cursor *c, unsigned depth, size_t parent)
{
	struct tapir_jfr_class class = {.first = c->j->fields.cnt};
	struct tapir_jfr_field field = {};
	struct tapir_sv value = {};
	struct tapir_sv element = take_attributes(c, &class, &field, &value);
	size_t self = tapir_sv__is(element, "field") ? c->j->fields.cnt : NO_FIELD;
	uint64_t children = take_count(c);

	if (depth > DEPTH_MAX)
		spoil(c->j);
	if (self != NO_FIELD && !tapir_vec__push(&c->j->fields, field))
		c->j->failed = true;
	if (parent != NO_FIELD && tapir_sv__is(element, "annotation"))
		add_annotation(c->j, parent, field.class_id, value);
	for (; children && !c->j->is_bad && !c->j->failed; children--)
		take_element(c, depth + 1, self);
	if (!tapir_sv__is(element, "class"))
		return;
	class.cnt = c->j->fields.cnt - class.first;
	add_class(c->j, &class);
}

static const struct tapir_jfr_class *class_of(const struct tapir_jfr *j, uint64_t id)
{
	return tapir_keyed__get(&j->classes, id);
}

/* The classes of annotations may be described after the fields that have them. */
static void apply_annotations(struct tapir_jfr *j)
{
	const struct tapir_jfr_annotation *a;

	tapir_vec_for_each (a, &j->annotations) {
		const struct tapir_jfr_class *class = class_of(j, a->class_id);
		struct tapir_jfr_field *field = &j->fields.data[a->field];
		bool is_ticks = tapir_sv__is(a->value, "TICKS");

		if (!class)
			continue;
		if (tapir_sv__is(class->name, "jdk.jfr.Unsigned"))
			field->is_unsigned = true;
		else if (tapir_sv__is(class->name, "jdk.jfr.Timestamp") && is_ticks)
			field->unit = TAPIR_JFR_UNIT_TICKS_SINCE;
		else if (tapir_sv__is(class->name, "jdk.jfr.Timespan") && is_ticks)
			field->unit = TAPIR_JFR_UNIT_TICKS;
		else if (tapir_sv__is(class->name, "jdk.jfr.Timespan") &&
			 tapir_sv__is(a->value, "MILLISECONDS"))
			field->unit = TAPIR_JFR_UNIT_MS;
	}
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
		take_element(&c, 0, NO_FIELD);
	if (!j->is_bad && !j->failed)
		apply_annotations(j);
}

/* ---- values --------------------------------------------------------------------------------- */

enum tapir_jfr_kind tapir_jfr__kind(const struct tapir_jfr_class *cls)
{
	static const struct {
		const char *name;
		enum tapir_jfr_kind kind;
	} kinds[] = {{"long", TAPIR_JFR_LONG},
		     {"int", TAPIR_JFR_INT},
		     {"short", TAPIR_JFR_SHORT},
		     {"char", TAPIR_JFR_CHAR},
		     {"boolean", TAPIR_JFR_BOOLEAN},
		     {"byte", TAPIR_JFR_BYTE},
		     {"float", TAPIR_JFR_FLOAT},
		     {"double", TAPIR_JFR_DOUBLE},
		     {"java.lang.String", TAPIR_JFR_TEXT}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (tapir_sv__is(cls->name, kinds[i].name))
			return kinds[i].kind;
	return cls->cnt ? TAPIR_JFR_MEMBERS : TAPIR_JFR_NOTHING;
}

const struct tapir_jfr_class *tapir_jfr__class(const struct tapir_jfr *j, struct tapir_jfr_value v)
{
	return v.at ? class_of(j, v.class_id) : NULL;
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
	switch (tapir_jfr__kind(class)) {
	case TAPIR_JFR_LONG:
	case TAPIR_JFR_INT:
	case TAPIR_JFR_SHORT:
	case TAPIR_JFR_CHAR:
		read_varint(c);
		break;
	case TAPIR_JFR_BOOLEAN:
	case TAPIR_JFR_BYTE:
		skip_chunk_bytes(c, 1);
		break;
	case TAPIR_JFR_FLOAT:
		skip_chunk_bytes(c, 4);
		break;
	case TAPIR_JFR_DOUBLE:
		skip_chunk_bytes(c, 8);
		break;
	case TAPIR_JFR_TEXT:
		read_jfr_string(c, &key);
		break;
	case TAPIR_JFR_MEMBERS:
		for (size_t i = 0; i < class->cnt && !c->j->is_bad; i++)
			skip_field(c, &c->j->fields.data[class->first + i], depth);
		break;
	case TAPIR_JFR_NOTHING:
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

struct tapir_jfr_value tapir_jfr__take_member(struct tapir_jfr *j,
					      const struct tapir_jfr_field *field, size_t *at)
{
	struct tapir_jfr_value raw = {*at, field->class_id, field->is_pool, field->is_array};
	struct cursor c = {j, *at, j->len};

	skip_field(&c, field, 0);
	*at = c.at;
	return j->is_bad ? (struct tapir_jfr_value){} : resolve_constant(j, raw);
}

static uint64_t extend(uint64_t bits, unsigned bytes, bool is_unsigned)
{
	unsigned up = 64 - 8 * bytes;

	return is_unsigned ? bits << up >> up : (uint64_t)((int64_t)(bits << up) >> up);
}

uint64_t tapir_jfr__number(struct tapir_jfr *j, struct tapir_jfr_value v, bool is_unsigned)
{
	const struct tapir_jfr_class *class = v.is_array ? NULL : tapir_jfr__class(j, v);
	struct cursor c = {j, v.at, j->len};

	switch (class ? tapir_jfr__kind(class) : TAPIR_JFR_NOTHING) {
	case TAPIR_JFR_LONG:
		return read_varint(&c);
	case TAPIR_JFR_INT:
		return extend(read_varint(&c), 4, is_unsigned);
	case TAPIR_JFR_SHORT:
		return extend(read_varint(&c), 2, is_unsigned);
	case TAPIR_JFR_CHAR:
		return extend(read_varint(&c), 2, true);
	case TAPIR_JFR_BYTE:
		return extend(take_byte(&c), 1, is_unsigned);
	case TAPIR_JFR_BOOLEAN:
		return take_byte(&c) != 0;
	case TAPIR_JFR_FLOAT:
		return check_step(&c, 4) ? big_endian(j->data + c.at, 4) : 0;
	case TAPIR_JFR_DOUBLE:
		return check_step(&c, 8) ? big_endian(j->data + c.at, 8) : 0;
	default:
		return 0;
	}
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

	for (unsigned i = 0;
	     class && !v.is_array && tapir_jfr__kind(class) == TAPIR_JFR_TEXT && i < 2; i++) {
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

struct tapir_sv tapir_jfr__symbol(struct tapir_jfr *j, struct tapir_jfr_value of, const char *name)
{
	struct tapir_jfr_value symbol = tapir_jfr__field(j, of, name);
	const struct tapir_jfr_class *cls = tapir_jfr__class(j, symbol);

	return cls && tapir_jfr__kind(cls) == TAPIR_JFR_MEMBERS
		       ? tapir_jfr__text(j, tapir_jfr__field(j, symbol, "string"))
		       : tapir_jfr__text(j, symbol);
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

/* Calls step for each record of the chunk, whatever its type is. */
static void each_record(struct tapir_jfr *j,
			void (*step)(struct cursor *c, uint64_t type, void *ctx), void *ctx)
{
	size_t at = TAPIR_JFR_HEAD_BYTES;

	while (at < j->len && !j->is_bad && !j->failed) {
		struct cursor c = {j, at, j->len};
		uint64_t size = read_varint(&c), type;

		if (!size || size > j->len - at) {
			spoil(j);
			return;
		}
		c.end = at + size;
		type = read_varint(&c);
		if (!j->is_bad)
			step(&c, type, ctx);
		at += size;
	}
}

static void step_pools(struct cursor *c, uint64_t type, void *ctx)
{
	(void)ctx;
	if (type == CHECKPOINT)
		read_pools(c);
}

struct each {
	const char *type;
	uint64_t class_id; /* of the type; 0: any */
	tapir_jfr_fn fn;
	void *ctx;
};

static void step_event(struct cursor *c, uint64_t type, void *ctx)
{
	const struct each *each = ctx;

	if (type != METADATA && type != CHECKPOINT && (!each->class_id || type == each->class_id))
		each->fn(each->ctx, c->j, (struct tapir_jfr_value){.at = c->at, .class_id = type});
}

void tapir_jfr_chunk__each(struct tapir_jfr *j, const char *type, tapir_jfr_fn fn, void *ctx)
{
	struct each each = {.type = type, .fn = fn, .ctx = ctx};
	const struct tapir_jfr_class *class;

	tapir_vec_for_each (class, &j->classes)
		if (type && !each.class_id && tapir_sv__is(class->name, type))
			each.class_id = class->id;
	if (!type || each.class_id)
		each_record(j, step_event, &each);
}

uint64_t tapir_jfr_chunk__bytes(const uint8_t *head)
{
	uint64_t size = big_endian(head + 8, 8);

	return memcmp(head, "FLR", 4) == 0 && size >= TAPIR_JFR_HEAD_BYTES ? size : 0;
}

int tapir_jfr_chunk__open(struct tapir_jfr *j, const void *data, size_t len)
{
	const uint8_t *head = data;
	uint64_t metadata;

	*j = (struct tapir_jfr){
		.data = data, .len = len, .steps_left = STEPS_A_BYTE * (uint64_t)len};
	metadata = len < TAPIR_JFR_HEAD_BYTES ? 0 : big_endian(head + 24, 8);
	if (metadata < TAPIR_JFR_HEAD_BYTES || metadata >= len ||
	    !(big_endian(head + 64, 4) & COMPRESSED))
		return -EPROTO;
	j->utc_ns = big_endian(head + 32, 8);
	j->ticks = big_endian(head + 48, 8);
	j->ticks_per_sec = big_endian(head + 56, 8);
	read_metadata(j, (size_t)metadata);
	if (!j->is_bad && !j->failed)
		each_record(j, step_pools, NULL);
	return j->failed ? -ENOMEM : j->is_bad ? -EPROTO : 0;
}

void tapir_jfr_chunk__close(struct tapir_jfr *j)
{
	tapir_vec__fini(&j->texts);
	tapir_keyed__fini(&j->classes);
	tapir_vec__fini(&j->fields);
	tapir_vec__fini(&j->annotations);
	tapir_map__fini(&j->pool);
}

int tapir_jfr__each(const void *data, size_t len, const char *type, tapir_jfr_fn fn, void *ctx)
{
	const uint8_t *at = data;
	int err = 0;

	while (len && !err) {
		uint64_t size = len < TAPIR_JFR_HEAD_BYTES ? 0 : tapir_jfr_chunk__bytes(at);
		struct tapir_jfr j;

		if (!size || size > len)
			return -EPROTO;
		err = tapir_jfr_chunk__open(&j, at, (size_t)size);
		if (!err) {
			tapir_jfr_chunk__each(&j, type, fn, ctx);
			err = j.failed ? -ENOMEM : j.is_bad ? -EPROTO : 0;
		}
		tapir_jfr_chunk__close(&j);
		at += size;
		len -= size;
	}
	return err;
}
