/* SPDX-License-Identifier: MIT */
/*
 * coreclr_json.c - a payload as one JSON object in a buffer on the firing thread's stack
 * (../text/json_text.h). Fields that the payload does not reach are null, bytes after the last
 * field are "rest", in hex.
 */
#include <string.h>

#include "coreclr_publish.h"

struct json {
	struct json_text t;
	struct coreclr_cursor c;
	const struct coreclr_field *fields;
};

static uint64_t read_u64(const uint8_t *at, uint32_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, at, bytes);
	return value;
}

static int64_t read_i64(const uint8_t *at, uint32_t bytes)
{
	return (int64_t)(read_u64(at, bytes) << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static uint32_t number(char *out, uint8_t type, const uint8_t *at, uint32_t bytes)
{
	switch (type) {
	case CORECLR_I8:
	case CORECLR_I16:
	case CORECLR_I32:
	case CORECLR_I64:
		return text_number__i64(out, read_i64(at, bytes));
	case CORECLR_F32:
	case CORECLR_F64:
		return text_number__float(out, read_u64(at, bytes), bytes);
	case CORECLR_DECIMAL:
		return bytes == 8 ? text_number__float(out, read_u64(at, 8), 8)
				  : text_number__decimal(out, at);
	default:
		return text_number__u64(out, read_u64(at, bytes));
	}
}

static void put_fixed(struct json *j, uint8_t type, const uint8_t *at, uint32_t bytes)
{
	char text[TEXT_NUMBER_BYTES + 2] = "\"";
	uint32_t len;

	if (type == CORECLR_BOOL) {
		read_u64(at, bytes) ? json_text__put(&j->t, "true", 4)
				    : json_text__put(&j->t, "false", 5);
	} else if (type == CORECLR_CHAR) {
		json_text__utf16(&j->t, at, 1);
	} else if (type == CORECLR_GUID || type == CORECLR_TIME) {
		len = type == CORECLR_GUID ? text_number__guid(text + 1, at)
					   : text_number__time(text + 1, read_u64(at, 8));
		text[len + 1] = '"';
		json_text__put(&j->t, text, len + 2);
	} else {
		json_text__put(&j->t, text, number(text, type, at, bytes));
	}
}

static void put_value(struct json *j, uint32_t idx, int is_element);

static void put_members(struct json *j, uint32_t from, uint32_t to)
{
	if (!json_text__open(&j->t, '{'))
		return;
	for (uint32_t i = from; i < to && !j->t.is_truncated; i = j->fields[i].end) {
		uint32_t before = j->t.len, key_end;

		json_text__key(&j->t, j->fields[i].name);
		key_end = j->t.len;
		if (!j->t.is_truncated)
			put_value(j, i, 0);
		if (j->t.len == key_end) /* nothing of the value */
			j->t.len = before;
	}
	json_text__close(&j->t, '}');
}

static void put_bytes(struct json *j, uint32_t cnt)
{
	j->c.is_short |= cnt > j->c.left;
	cnt = cnt < j->c.left ? cnt : j->c.left;
	json_text__bytes_as_hex(&j->t, j->c.at, cnt);
	j->c.at += cnt;
	j->c.left -= cnt;
}

static void put_array(struct json *j, uint32_t idx)
{
	const struct coreclr_field *f = &j->fields[idx];
	uint32_t cnt = coreclr_cursor__count(&j->c, f), before;

	if (f->type == CORECLR_U8) {
		put_bytes(j, cnt);
		return;
	}
	if (!json_text__open(&j->t, '['))
		return;
	for (uint32_t i = 0; i < cnt && !j->c.is_short && j->c.left && !j->t.is_truncated; i++) {
		before = j->t.len;
		json_text__comma(&j->t);
		if (!j->t.is_truncated)
			put_value(j, idx, 1);
		/* The comma alone, or a piece of a number. */
		if (j->t.is_truncated && j->t.out[j->t.len - 1] == ',')
			j->t.len = before;
	}
	json_text__close(&j->t, ']');
}

/*
 * In a payload that ends early, each value from there on is null, so that the text remains JSON. An
 * object may consist of no bytes: its members decide.
 */
static void put_value(struct json *j, uint32_t idx, int is_element)
{
	const struct coreclr_field *f = &j->fields[idx];
	uint32_t bytes = coreclr_type__bytes(f->type, j->c.is_self);
	const uint8_t *at = j->c.at;

	if (j->c.is_short || (!j->c.left && (f->type != CORECLR_OBJECT || f->is_array)) ||
	    (bytes > j->c.left && !f->is_array)) {
		j->c.is_short = 1;
		json_text__null(&j->t);
	} else if (f->is_array && !is_element) {
		put_array(j, idx);
	} else if (f->type == CORECLR_OBJECT) {
		put_members(j, idx + 1, f->end);
	} else if (f->type == CORECLR_TEXT) {
		json_text__utf16(&j->t, at, coreclr_cursor__units(&j->c));
		coreclr_cursor__skip(&j->c, j->fields, idx, 1);
	} else if (bytes > j->c.left) {
		j->c.is_short = 1;
		json_text__null(&j->t);
	} else {
		put_fixed(j, f->type, at, bytes);
		coreclr_cursor__skip(&j->c, j->fields, idx, 1);
	}
}

uint32_t coreclr_json__write(const struct coreclr_layout *layout, const uint8_t *data,
			     uint32_t bytes, char out[CORECLR_JSON_BYTES])
{
	struct json j = {.c = {.at = data, .left = bytes, .is_self = layout->is_self},
			 .fields = layout->fields};
	uint32_t from = 0, to = layout->cnt;

	json_text__init(&j.t, out, CORECLR_JSON_BYTES);
	/* The argument of Write(name, data) is one object without a name. */
	if (to && !layout->fields[0].name[0] && layout->fields[0].type == CORECLR_OBJECT &&
	    !layout->fields[0].is_array && layout->fields[0].end == to)
		from = 1;
	put_members(&j, from, to);
	j.t.len--; /* the bracket */
	if (j.c.left && !j.c.is_short && !j.t.is_truncated) {
		json_text__key(&j.t, "rest");
		if (!j.t.is_truncated)
			json_text__bytes_as_hex(&j.t, j.c.at, j.c.left);
	}
	return json_text__end(&j.t);
}
