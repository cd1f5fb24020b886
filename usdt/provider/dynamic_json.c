/* SPDX-License-Identifier: MIT */
/*
 * dynamic_json.c - a packed payload as one JSON object, by the event's description: for events that
 * are no probe of their own. Runs where events fire: no lock, no call of libc but memcpy.
 */
#include "../text/json_text.h"
#include "../text/text_number.h"
#include "dynamic_impl.h"

static uint64_t read_u64(const struct tapir_payload_part *part)
{
	return tapir_part__number(part);
}

static int64_t read_i64(const struct tapir_payload_part *part)
{
	uint32_t shift = 64 - 8 * part->bytes;

	return (int64_t)(read_u64(part) << shift) >> shift;
}

static uint32_t number(char *out, uint8_t type, const struct tapir_payload_part *part)
{
	switch (type) {
	case TAPIR_TYPE_I8:
	case TAPIR_TYPE_I16:
	case TAPIR_TYPE_I32:
	case TAPIR_TYPE_I64:
		return text_number__i64(out, read_i64(part));
	case TAPIR_TYPE_F32:
	case TAPIR_TYPE_F64:
		return text_number__float(out, read_u64(part), part->bytes);
	case TAPIR_TYPE_DECIMAL:
		return text_number__decimal(out, part->at);
	default:
		return text_number__u64(out, read_u64(part));
	}
}

/* GUIDs and times. */
static void put_quoted(struct json_text *j, uint8_t type, const struct tapir_payload_part *part)
{
	char text[TEXT_NUMBER_BYTES + 2] = "\"";
	uint32_t len = type == TAPIR_TYPE_GUID ? text_number__guid(text + 1, part->at)
					       : text_number__time(text + 1, read_u64(part));

	text[len + 1] = '"';
	json_text__put(j, text, len + 2);
}

static void put_scalar(struct json_text *j, uint8_t type, const struct tapir_payload_part *part)
{
	char text[TEXT_NUMBER_BYTES];

	switch (type) {
	case TAPIR_TYPE_BOOL:
	case TAPIR_TYPE_BOOL8:
		read_u64(part) ? json_text__put(j, "true", 4) : json_text__put(j, "false", 5);
		break;
	case TAPIR_TYPE_CHAR16:
		json_text__utf16(j, part->at, 1);
		break;
	case TAPIR_TYPE_GUID:
	case TAPIR_TYPE_FILETIME:
		put_quoted(j, type, part);
		break;
	case TAPIR_TYPE_UTF16:
		json_text__utf16(j, part->at, part->bytes / 2);
		break;
	case TAPIR_TYPE_UTF8:
		json_text__utf8(j, part->at, part->bytes);
		break;
	/* JSON has no form for it that readers agree on: its 16 bytes as they are. */
	case TAPIR_TYPE_SYSTEMTIME:
		json_text__bytes_as_hex(j, part->at, part->bytes);
		break;
	default:
		json_text__put(j, text, number(text, type, part));
	}
}

static void put_field(void *ctx, const struct tapir_event_field *f,
		      const struct tapir_payload_part *part);

static void put_members(struct json_text *j, const struct tapir_event_field *fields, uint32_t cnt,
			const uint8_t *at, uint32_t bytes)
{
	if (!json_text__open(j, '{'))
		return;
	payload__each(fields, cnt, at, bytes, put_field, j);
	json_text__close(j, '}');
}

static void put_one(struct json_text *j, const struct tapir_event_field *f,
		    const struct tapir_payload_part *part)
{
	if (f->type == TAPIR_TYPE_STRUCT)
		put_members(j, f->members, f->member_cnt, part->at, part->bytes);
	else
		put_scalar(j, f->type, part);
}

struct array {
	struct json_text *j;
	struct tapir_payload_part element; /* where the next one begins */
};

static void put_element(void *ctx, const struct tapir_event_field *f,
			const struct tapir_payload_part *part)
{
	struct array *a = ctx;
	uint32_t before = a->j->len;

	json_text__comma(a->j);
	put_one(a->j, f, part);
	if (a->j->is_truncated && a->j->out[a->j->len - 1] == ',')
		a->j->len = before;
	a->element.at += part->bytes;
	a->element.bytes -= part->bytes;
}

static void put_array(struct json_text *j, const struct tapir_event_field *f,
		      const struct tapir_payload_part *part)
{
	struct tapir_event_field one = *f;
	struct array a = {j, *part};

	one.repeat = TAPIR_REPEAT_NONE;
	if (!json_text__open(j, '['))
		return;
	for (uint32_t i = 0; i < part->cnt && !j->is_truncated; i++)
		if (!payload__each(&one, 1, a.element.at, a.element.bytes, put_element, &a))
			break;
	json_text__close(j, ']');
}

static void put_repeated(struct json_text *j, const struct tapir_event_field *f,
			 const struct tapir_payload_part *part)
{
	if (f->type == TAPIR_TYPE_UTF16N)
		json_text__utf16(j, part->at, part->bytes / 2);
	else if (f->type == TAPIR_TYPE_UTF8N)
		json_text__utf8(j, part->at, part->bytes);
	else if (f->type == TAPIR_TYPE_U8 || f->type == TAPIR_TYPE_BINARY)
		json_text__bytes_as_hex(j, part->at, part->bytes);
	else
		put_array(j, f, part);
}

static void put_field(void *ctx, const struct tapir_event_field *f,
		      const struct tapir_payload_part *part)
{
	struct json_text *j = ctx;
	uint32_t before = j->len, key_end;

	if (j->is_truncated)
		return;
	json_text__key(j, f->name);
	key_end = j->len;
	if (!j->is_truncated && f->repeat == TAPIR_REPEAT_NONE)
		put_one(j, f, part);
	else if (!j->is_truncated)
		put_repeated(j, f, part);
	if (j->len == key_end) /* nothing of the value */
		j->len = before;
}

uint32_t dynamic_json__write(const struct tapir_event_about *about, const uint8_t *payload,
			     uint32_t bytes, char out[DYNAMIC_JSON_BYTES])
{
	struct json_text j;

	json_text__init(&j, out, DYNAMIC_JSON_BYTES);
	put_members(&j, about->fields, about->field_cnt, payload, bytes);
	j.len--; /* the bracket */
	return json_text__end(&j);
}
