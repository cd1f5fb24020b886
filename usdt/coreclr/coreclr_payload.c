/* SPDX-License-Identifier: MIT */
/*
 * coreclr_payload.c - a payload by its layout: values follow each other, unaligned, little-endian;
 * text is UTF-16 with its NUL, an array begins with its count.
 *
 * As arguments of a probe: the fields of an object replace it (Parent_Child), an array is the
 * address and count of its elements. Floating point is passed as its bits, a GUID and a decimal as
 * their address, a time as FILETIME. Values that the payload does not reach are 0, texts "".
 */
#include <string.h>

#include "coreclr_publish.h"

#define TEXT_EACH_BYTES 1024u

static void skip_bytes(struct coreclr_cursor *c, uint32_t bytes)
{
	if (bytes > c->left) {
		c->is_short = 1;
		return;
	}
	c->at += bytes;
	c->left -= bytes;
}

uint32_t coreclr_cursor__units(const struct coreclr_cursor *c)
{
	uint32_t units = 0;

	while (c->left - 2 * units >= 2 && (c->at[2 * units] | c->at[2 * units + 1]))
		units++;
	return units;
}

uint32_t coreclr_cursor__count(struct coreclr_cursor *c, const struct coreclr_field *f)
{
	uint32_t bytes = f->type == CORECLR_U8 && !c->is_self ? 4 : 2, cnt = 0;

	if (bytes > c->left) {
		c->is_short = 1;
		return 0;
	}
	memcpy(&cnt, c->at, bytes);
	skip_bytes(c, bytes);
	return cnt;
}

static void skip_members(struct coreclr_cursor *c, const struct coreclr_field *fields, uint32_t idx)
{
	for (uint32_t i = idx + 1; i < fields[idx].end && !c->is_short; i = fields[i].end)
		coreclr_cursor__skip(c, fields, i, 0);
}

/* An element takes bytes, or it stops: so this ends with the payload. */
static void skip_elements(struct coreclr_cursor *c, const struct coreclr_field *fields,
			  uint32_t idx)
{
	uint32_t cnt = coreclr_cursor__count(c, &fields[idx]),
		 bytes = coreclr_type__bytes(fields[idx].type, c->is_self);

	if (bytes && cnt > c->left / bytes)
		c->is_short = 1;
	else if (bytes)
		skip_bytes(c, cnt * bytes);
	for (uint32_t i = 0; !bytes && i < cnt && !c->is_short; i++)
		coreclr_cursor__skip(c, fields, idx, 1);
}

void coreclr_cursor__skip(struct coreclr_cursor *c, const struct coreclr_field *fields,
			  uint32_t idx, int is_element)
{
	const struct coreclr_field *f = &fields[idx];

	if (f->is_array && !is_element)
		skip_elements(c, fields, idx);
	else if (f->type == CORECLR_OBJECT)
		skip_members(c, fields, idx);
	else if (f->type == CORECLR_TEXT)
		skip_bytes(c, 2 * coreclr_cursor__units(c) + 2);
	else
		skip_bytes(c, coreclr_type__bytes(f->type, c->is_self));
}

static int fits_payload(const struct coreclr_layout *layout, const uint8_t *data, uint32_t bytes,
			uint8_t is_self)
{
	struct coreclr_cursor c = {.at = data, .left = bytes, .is_self = is_self};

	for (uint32_t i = 0; i < layout->cnt && !c.is_short; i = layout->fields[i].end)
		coreclr_cursor__skip(&c, layout->fields, i, 0);
	return !c.is_short && !c.left;
}

uint8_t coreclr_payload__way(const struct coreclr_layout *layout, const uint8_t *data,
			     uint32_t bytes)
{
	uint8_t likelier = layout->is_self;

	if (!layout->differs || fits_payload(layout, data, bytes, likelier) ||
	    !fits_payload(layout, data, bytes, !likelier))
		return likelier;
	return !likelier;
}

/* ---- as arguments ------------------------------------------------------------------------------ */

static const struct {
	const char *size;
	char kind;
} operands[CORECLR_TYPE_CNT] = {
	[CORECLR_BOOL] = {"1", 'b'}, [CORECLR_CHAR] = {"2", 'u'}, [CORECLR_I8] = {"-1", 'i'},
	[CORECLR_U8] = {"1", 'u'},   [CORECLR_I16] = {"-2", 'i'}, [CORECLR_U16] = {"2", 'u'},
	[CORECLR_I32] = {"-4", 'i'}, [CORECLR_U32] = {"4", 'u'},  [CORECLR_I64] = {"-8", 'i'},
	[CORECLR_U64] = {"8", 'u'},  [CORECLR_F32] = {"4", 'f'},  [CORECLR_F64] = {"8", 'f'},
	[CORECLR_TIME] = {"8", 'u'}, [CORECLR_GUID] = {"8", 'p'}, [CORECLR_DECIMAL] = {"8", 'p'},
	[CORECLR_TEXT] = {"8", 's'},
};

static uint32_t append_signature(char *out, uint32_t at, uint32_t room, const char *text)
{
	size_t len = strlen(text);

	if (at + len >= room)
		return at;
	memcpy(out + at, text, len + 1);
	return at + (uint32_t)len;
}

struct signing {
	struct coreclr_signature *out;
	uint32_t operand_bytes;
	char path[128]; /* "Parent_": in front of names */
	uint32_t path_bytes;
	uint8_t is_self;
};

static int sign_one(struct signing *s, const char *size, char kind, const char *name,
		    const char *suffix)
{
	struct coreclr_signature *out = s->out;
	uint32_t at = s->operand_bytes;

	if (out->cnt == CORECLR_ARG_MAX)
		return 0;
	if (out->cnt)
		at = append_signature(out->operands, at, sizeof(out->operands), " ");
	at = append_signature(out->operands, at, sizeof(out->operands), size);
	s->operand_bytes = append_signature(out->operands, at, sizeof(out->operands),
					    tapir_probe_image__register(out->cnt));
	out->kinds[out->cnt++] = kind;
	at = append_signature(out->names, out->names_bytes, sizeof(out->names), s->path);
	at = append_signature(out->names, at, sizeof(out->names), name);
	at = append_signature(out->names, at, sizeof(out->names), suffix);
	if (at + 1 < sizeof(out->names))
		out->names_bytes = at + 1;
	return 1;
}

static void sign_fields(struct signing *s, const struct coreclr_field *fields, uint32_t from,
			uint32_t to);

static void sign_object(struct signing *s, const struct coreclr_field *fields, uint32_t idx)
{
	uint32_t before = s->path_bytes;

	s->path_bytes = append_signature(s->path, s->path_bytes, sizeof(s->path), fields[idx].name);
	if (s->path_bytes > before)
		s->path_bytes = append_signature(s->path, s->path_bytes, sizeof(s->path), "_");
	sign_fields(s, fields, idx + 1, fields[idx].end);
	s->path_bytes = before;
	s->path[before] = 0;
}

static void sign_fields(struct signing *s, const struct coreclr_field *fields, uint32_t from,
			uint32_t to)
{
	for (uint32_t i = from; i < to; i = fields[i].end) {
		const struct coreclr_field *f = &fields[i];

		if (f->is_array) {
			sign_one(s, "8", 'p', f->name, "");
			sign_one(s, "4", 'u', f->name, "_Count");
		} else if (f->type == CORECLR_OBJECT) {
			sign_object(s, fields, i);
		} else if (f->type == CORECLR_DECIMAL && s->is_self) {
			sign_one(s, "8", 'f', f->name, "");
		} else {
			sign_one(s, operands[f->type].size, operands[f->type].kind, f->name, "");
		}
	}
}

void coreclr_payload__sign(const struct coreclr_layout *layout, int is_raw,
			   struct coreclr_signature *out)
{
	struct signing s = {.out = out, .is_self = layout->is_self};

	memset(out, 0, sizeof(*out));
	if (is_raw) {
		sign_one(&s, "8", 'p', "Payload", "");
		sign_one(&s, "4", 'u', "Payload", "_Count");
		return;
	}
	sign_fields(&s, layout->fields, 0, layout->cnt);
}

struct taking {
	struct coreclr_cursor c;
	uint64_t *args;
	uint32_t cnt;
	char *text;
	uint32_t text_bytes;
};

static void take_number(struct taking *t, uint64_t value)
{
	if (t->cnt < CORECLR_ARG_MAX)
		t->args[t->cnt++] = value;
}

static void convert_utf16_arg(struct taking *t)
{
	uint32_t units = coreclr_cursor__units(&t->c), room = CORECLR_TEXT_BYTES - t->text_bytes;
	char *out = t->text + t->text_bytes;

	/* The last byte of all is always a NUL, and what found no room begins there. */
	room = room < TEXT_EACH_BYTES ? room : TEXT_EACH_BYTES;
	if (!t->c.is_short)
		t->text_bytes += coreclr_text__narrow(out, room, t->c.at, units);
	else
		*out = 0;
	if (t->text_bytes < CORECLR_TEXT_BYTES - 1)
		t->text_bytes++;
	take_number(t, (uint64_t)(uintptr_t)out);
}

static uint64_t read_number(const struct coreclr_cursor *c, uint8_t type, uint32_t bytes)
{
	uint64_t value = 0;

	if (c->is_short || bytes > c->left)
		return 0;
	memcpy(&value, c->at, bytes);
	if (type == CORECLR_BOOL)
		return value != 0;
	if (operands[type].kind != 'i')
		return value;
	return (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
}

static void take_value(struct taking *t, const struct coreclr_field *f)
{
	uint32_t bytes = coreclr_type__bytes(f->type, t->c.is_self);

	if (f->type == CORECLR_TEXT)
		convert_utf16_arg(t);
	else if (bytes <= 8)
		take_number(t, read_number(&t->c, f->type, bytes));
	else
		take_number(t,
			    t->c.is_short || bytes > t->c.left ? 0 : (uint64_t)(uintptr_t)t->c.at);
}

static void take_array(struct taking *t, const struct coreclr_field *f)
{
	struct coreclr_cursor c = t->c;
	uint32_t cnt = c.is_short ? 0 : coreclr_cursor__count(&c, f);

	take_number(t, (uint64_t)(uintptr_t)c.at);
	take_number(t, cnt);
}

static void read_payload_fields(struct taking *t, const struct coreclr_field *fields, uint32_t from,
				uint32_t to)
{
	for (uint32_t i = from; i < to && t->cnt < CORECLR_ARG_MAX; i = fields[i].end) {
		const struct coreclr_field *f = &fields[i];

		if (f->type == CORECLR_OBJECT && !f->is_array) {
			read_payload_fields(t, fields, i + 1, f->end);
			continue;
		}
		if (f->is_array)
			take_array(t, f);
		else
			take_value(t, f);
		if (!t->c.is_short)
			coreclr_cursor__skip(&t->c, fields, i, 0);
	}
}

void coreclr_payload__take(const struct coreclr_layout *layout, int is_raw, const uint8_t *data,
			   uint32_t bytes, uint64_t args[CORECLR_ARG_MAX],
			   char text[CORECLR_TEXT_BYTES])
{
	struct taking t = {.c = {.at = data, .left = bytes, .is_self = layout->is_self},
			   .args = args,
			   .text = text};

	memset(args, 0, CORECLR_ARG_MAX * sizeof(args[0]));
	text[CORECLR_TEXT_BYTES - 1] = 0;
	if (is_raw) {
		take_number(&t, (uint64_t)(uintptr_t)data);
		take_number(&t, bytes);
		return;
	}
	read_payload_fields(&t, layout->fields, 0, layout->cnt);
}
