// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Probes with typed fields. A value that is not a number of a standard width becomes text; texts
 * share the room that a payload has, so that one long text does not remove the others.
 */
#include "output/export/nettrace_kind.h"

#include <string.h>

#include "decode/value.h"

#define ROW_MAX_BYTES	UINT16_MAX
/*
 * The room for values in a payload, which so stays below TAPIR_NETTRACE_PAYLOAD_MAX_BYTES whatever
 * it holds.
 */
#define VALUES_BYTES	60000u
#define FIXED_MAX_BYTES 16u /* of a number, or of the bytes around a text */

static const char marks_name[] = "marks";

void tapir_nettrace_fields__add(struct tapir_nettrace_fields *fields, struct tapir_sv name,
				const uint8_t *types)
{
	struct tapir_str field = {};

	tapir_nettrace__put_text(&field, name);
	for (; *types; types++)
		tapir_nettrace__put_u8(&field, *types);
	if (field.failed || field.len > ROW_MAX_BYTES) {
		fields->bytes.failed |= field.failed;
	} else {
		tapir_nettrace__put_u16(&fields->bytes, (uint16_t)field.len);
		tapir_str__add(&fields->bytes, field.data, field.len);
		fields->cnt++;
	}
	tapir_str__fini(&field);
}

enum option { OPTION_OPCODE = 1, OPTION_KEYWORDS = 3, OPTION_LEVEL = 8, OPTION_VERSION = 9 };

static void put_options(struct tapir_str *out, const struct tapir_nettrace_metadata *m)
{
	bool has_opcode = m->fields->opcode >= 0;

	tapir_nettrace__put_u16(out, (uint16_t)(9 + 2 + 2 + (has_opcode ? 2 : 0)));
	tapir_nettrace__put_u8(out, OPTION_KEYWORDS);
	tapir_nettrace__put_u64(out, m->keywords);
	tapir_nettrace__put_u8(out, OPTION_LEVEL);
	tapir_nettrace__put_u8(out, m->level);
	tapir_nettrace__put_u8(out, OPTION_VERSION);
	tapir_nettrace__put_u8(out, m->version);
	if (has_opcode) {
		tapir_nettrace__put_u8(out, OPTION_OPCODE);
		tapir_nettrace__put_u8(out, (uint8_t)m->fields->opcode);
	}
}

static void put_row(struct tapir_str *out, const struct tapir_nettrace_metadata *m, bool has_fields)
{
	tapir_nettrace__put_var(out, m->id);
	tapir_nettrace__put_text(out, m->provider);
	tapir_nettrace__put_var(out, m->event_id);
	tapir_nettrace__put_text(out, m->event);
	tapir_nettrace__put_u16(out, has_fields ? m->fields->cnt : 0);
	if (has_fields)
		tapir_str__add(out, m->fields->bytes.data, m->fields->bytes.len);
	put_options(out, m);
}

void tapir_nettrace__put_metadata(struct tapir_str *out, const struct tapir_nettrace_metadata *m)
{
	struct tapir_str row = {};

	put_row(&row, m, true);
	if (row.len > ROW_MAX_BYTES) {
		tapir_str__clear(&row);
		put_row(&row, m, false);
	}
	out->failed |= row.failed;
	tapir_nettrace__put_u16(out, (uint16_t)row.len);
	tapir_str__add(out, row.data, row.len);
	tapir_str__fini(&row);
}

/* ---- SLOTS ---------------------------------------------------------------------------------- */

/* A number of this many bytes; sizes no process has are written whole. */
static uint8_t number_type(uint8_t size, bool is_signed)
{
	uint8_t type = size == 1   ? TAPIR_NETTRACE_I8
		       : size == 2 ? TAPIR_NETTRACE_I16
		       : size == 4 ? TAPIR_NETTRACE_I32
				   : TAPIR_NETTRACE_I64;

	return is_signed ? type : type + 1;
}

static uint8_t nettrace_type(const struct tapir_field *field)
{
	switch (field->type) {
	case TAPIR_FIELD_INT:
		return number_type(field->size, true);
	case TAPIR_FIELD_UINT:
	case TAPIR_FIELD_PTR:
		return number_type(field->size, false);
	case TAPIR_FIELD_FLOAT:
		return field->size == 4 ? TAPIR_NETTRACE_F32 : TAPIR_NETTRACE_F64;
	case TAPIR_FIELD_BOOL:
		return TAPIR_NETTRACE_BOOL8;
	case TAPIR_FIELD_CHAR:
		return TAPIR_NETTRACE_CHAR16;
	case TAPIR_FIELD_BLOB:
		return TAPIR_NETTRACE_ARRAY;
	default:
		return TAPIR_NETTRACE_UTF16;
	}
}

void tapir_nettrace_fields__of_probe(struct tapir_nettrace_fields *fields,
				     const struct tapir_probe_view *probe)
{
	struct tapir_str name = {};

	for (unsigned i = 0; i < probe->rec->field_cnt; i++) {
		uint8_t types[] = {nettrace_type(&probe->fields[i]), 0, 0};

		if (types[0] == TAPIR_NETTRACE_ARRAY)
			types[1] = TAPIR_NETTRACE_U8;
		tapir_str__clear(&name);
		tapir_value__add_name(&name, tapir_probe_view__name(probe, i), i);
		tapir_nettrace_fields__add(fields, (struct tapir_sv){name.data, name.len}, types);
	}
	tapir_nettrace_fields__add(fields, tapir_sv__of(marks_name),
				   (const uint8_t[]){TAPIR_NETTRACE_UTF16, 0});
	/* Else readers take "start" off the end of "query__start", and print an opcode. */
	fields->opcode = 0;
	tapir_str__fini(&name);
}

static void put_number(struct tapir_str *out, const struct tapir_value *value, uint8_t type)
{
	float narrow = (float)value->f64;

	switch (type) {
	case TAPIR_NETTRACE_F32:
		tapir_nettrace__put(out, &narrow, sizeof(narrow));
		return;
	case TAPIR_NETTRACE_BOOL8:
		tapir_nettrace__put_u8(out, value->u64 != 0);
		return;
	/* The host and the format are little-endian: the first bytes are the narrower number. */
	case TAPIR_NETTRACE_I8:
	case TAPIR_NETTRACE_U8:
		tapir_nettrace__put(out, &value->u64, 1);
		return;
	case TAPIR_NETTRACE_CHAR16:
	case TAPIR_NETTRACE_I16:
	case TAPIR_NETTRACE_U16:
		tapir_nettrace__put(out, &value->u64, 2);
		return;
	case TAPIR_NETTRACE_I32:
	case TAPIR_NETTRACE_U32:
		tapir_nettrace__put(out, &value->u64, 4);
		return;
	default:
		tapir_nettrace__put(out, &value->u64, 8);
	}
}

static struct tapir_sv bytes_of(const struct tapir_value *value)
{
	if (value->flags & TAPIR_VALUE_ABSENT)
		return (struct tapir_sv){};
	return (struct tapir_sv){(const char *)value->bytes, value->len};
}

static void append_utf16_value(struct tapir_str *out, const struct tapir_value *value, size_t room)
{
	bool is_text = value->type == TAPIR_FIELD_STR || value->type == TAPIR_FIELD_STRN;
	struct tapir_str text = {};

	if (is_text && !(value->flags & TAPIR_VALUE_ABSENT)) {
		tapir_nettrace__put_utf16(out, bytes_of(value), room);
		return;
	}
	tapir_value__add_text(&text, value);
	out->failed |= text.failed;
	tapir_nettrace__put_utf16(out, (struct tapir_sv){text.data, text.len}, room);
	tapir_str__fini(&text);
}

static void put_blob(struct tapir_str *out, struct tapir_sv bytes, size_t room)
{
	size_t len = bytes.len < room ? bytes.len : room;

	tapir_nettrace__put_u16(out, (uint16_t)len);
	tapir_str__add(out, bytes.data, len);
}

/* "query=cut,name=fault" */
static void add_mark(struct tapir_str *marks, const struct tapir_value *value, unsigned idx,
		     bool is_truncated)
{
	const char *mark = tapir_value__mark(value);

	if (!mark && !is_truncated)
		return;
	if (marks->len)
		tapir_str__addc(marks, ',');
	tapir_value__add_name(marks, value->name, idx);
	tapir_str__addc(marks, '=');
	tapir_str__adds(marks, mark ? mark : "cut");
}

void tapir_nettrace__put_values(struct tapir_str *out, const struct tapir_probe_view *probe,
				const struct tapir_value *values, unsigned cnt)
{
	unsigned fields = probe->rec->field_cnt, fixed = FIXED_MAX_BYTES * (fields + 1);
	size_t room = (fixed < VALUES_BYTES ? VALUES_BYTES - fixed : 0) / (fields + 1);
	struct tapir_str marks = {};

	for (unsigned i = 0; i < fields && i < cnt; i++) {
		uint8_t type = nettrace_type(&probe->fields[i]);
		bool is_text = type == TAPIR_NETTRACE_UTF16;

		if (is_text)
			append_utf16_value(out, &values[i], room);
		else if (type == TAPIR_NETTRACE_ARRAY)
			put_blob(out, bytes_of(&values[i]), room);
		else
			put_number(out, &values[i], type);
		add_mark(&marks, &values[i], i,
			 values[i].bytes && values[i].len > (is_text ? room / 2 - 3 : room));
	}
	if (cnt > fields) /* more payload than the probe describes */
		add_mark(&marks, &values[fields], fields, true);
	out->failed |= marks.failed;
	tapir_nettrace__put_utf16(out, (struct tapir_sv){marks.data, marks.len}, room);
	tapir_str__fini(&marks);
}
