// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See packed.h. A cursor goes through the payload once, field by field; what a field counts or
 * measures was read before it. Only a string with a NUL inside needs a second look: the fields
 * behind it, if all have a fixed size, are then read from the payload's end.
 */
#include "decode/packed.h"
#include "base/little_endian.h"

#include <string.h>
#include <time.h>

#define FILETIME_A_SECOND 10000000ull
#define FILETIME_OF_1970  11644473600ull /* seconds */

static void skip_packed(struct tapir_packed_cursor *c, size_t bytes)
{
	c->at += bytes;
	c->left -= bytes;
}

static void missing(struct tapir_packed_cursor *c, struct tapir_value *out)
{
	c->is_short = true;
	out->flags = TAPIR_VALUE_MISSING;
}

/* ---- one value of a fixed size ----------------------------------------------------------------- */

static int64_t read_int(const uint8_t *at, unsigned bytes)
{
	unsigned up = 64 - 8 * bytes;

	return (int64_t)(tapir_le__uint(at, bytes) << up) >> up;
}

static double read_float(const uint8_t *at, unsigned bytes)
{
	double wide;
	float narrow;

	if (bytes == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return (double)narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

/* Eight u16: year, month, day of week, day, hour, minute, second, millisecond. */
static uint64_t filetime_of(const uint8_t *at)
{
	uint16_t part[8];
	struct tm tm;

	memcpy(part, at, sizeof(part));
	tm = (struct tm){.tm_year = part[0] - 1900,
			 .tm_mon = part[1] - 1,
			 .tm_mday = part[3],
			 .tm_hour = part[4],
			 .tm_min = part[5],
			 .tm_sec = part[6]};
	return ((uint64_t)timegm(&tm) + FILETIME_OF_1970) * FILETIME_A_SECOND + part[7] * 10000u;
}

static void set_fixed(const struct tapir_layout_field *f, const uint8_t *at, unsigned bytes,
		      struct tapir_value *out)
{
	out->size = (uint8_t)bytes;
	switch (f->type) {
	case TAPIR_LAYOUT_I8:
	case TAPIR_LAYOUT_I16:
	case TAPIR_LAYOUT_I32:
	case TAPIR_LAYOUT_I64:
		out->type = TAPIR_FIELD_INT;
		out->i64 = read_int(at, bytes);
		return;
	case TAPIR_LAYOUT_F32:
	case TAPIR_LAYOUT_F64:
		out->type = TAPIR_FIELD_FLOAT;
		out->f64 = read_float(at, bytes);
		return;
	case TAPIR_LAYOUT_GUID:
	case TAPIR_LAYOUT_DECIMAL:
	case TAPIR_LAYOUT_CHAR16:
		out->type = f->type == TAPIR_LAYOUT_GUID     ? TAPIR_FIELD_GUID
			    : f->type == TAPIR_LAYOUT_CHAR16 ? TAPIR_FIELD_UTF16
							     : TAPIR_VALUE_DECIMAL;
		out->bytes = at;
		out->len = bytes;
		return;
	/* Eight u16, year to millisecond; as a FILETIME it compares with other times. */
	case TAPIR_LAYOUT_SYSTEMTIME:
		out->type = TAPIR_FIELD_TIME;
		out->u64 = filetime_of(at);
		return;
	default:
		out->u64 = tapir_le__uint(at, bytes);
		out->type = f->type == TAPIR_LAYOUT_PTR	       ? TAPIR_FIELD_PTR
			    : f->type == TAPIR_LAYOUT_BOOL32   ? TAPIR_FIELD_BOOL
			    : f->type == TAPIR_LAYOUT_BOOL8    ? TAPIR_FIELD_BOOL
			    : f->type == TAPIR_LAYOUT_FILETIME ? TAPIR_FIELD_TIME
							       : TAPIR_FIELD_UINT;
	}
}

/* ---- strings ----------------------------------------------------------------------------------- */

/* Bytes before the NUL; without one, all complete characters. */
static size_t utf16_bytes(const uint8_t *at, size_t left)
{
	size_t len = 0;

	for (; len + 2 <= left; len += 2)
		if (!(at[len] | at[len + 1]))
			break;
	return len;
}

static void take_string(struct tapir_packed_cursor *c, bool is_wide, struct tapir_value *out)
{
	size_t nul_bytes = is_wide ? 2 : 1;
	size_t len = is_wide ? utf16_bytes(c->at, c->left) : strnlen((const char *)c->at, c->left);

	out->type = is_wide ? TAPIR_FIELD_UTF16 : TAPIR_FIELD_STR;
	if (!c->left) {
		missing(c, out);
		return;
	}
	out->bytes = c->at;
	out->len = len;
	skip_packed(c, len);
	if (c->left >= nul_bytes) {
		skip_packed(c, nul_bytes);
	} else {
		out->flags = TAPIR_VALUE_TRUNCATED;
		c->is_short = true;
	}
}

/* cnt units, or as many as there are. */
static void take_bytes(struct tapir_packed_cursor *c, uint64_t cnt, unsigned unit,
		       struct tapir_value *out)
{
	size_t len = cnt > c->left / unit ? c->left / unit * unit : (size_t)cnt * unit;

	out->bytes = c->at;
	out->len = len;
	skip_packed(c, len);
	if (len / unit < cnt) {
		out->flags = TAPIR_VALUE_TRUNCATED;
		c->is_short = true;
	}
}

/* ---- structs as they are in memory ------------------------------------------------------------- */

/* The size of a field, which is its alignment as well; 0: not known. */
static unsigned aligned_bytes(const struct tapir_layout_field *f)
{
	unsigned bytes = f->repeat == TAPIR_REPEAT_ONCE ? tapir_layout_type__bytes(f->type) : 0;

	return f->type == TAPIR_LAYOUT_FILETIME || bytes > 8 ? 0 : bytes;
}

static size_t round_up(size_t bytes, size_t align)
{
	return (bytes + align - 1) / align * align;
}

/* The size of a struct with padding; 0: it has none, or members without a fixed alignment. */
static size_t padded_bytes(const struct tapir_layout_field *f)
{
	size_t packed = 0, padded = 0, widest = 1;

	for (unsigned i = 0; i < f->member_cnt; i++) {
		unsigned bytes = aligned_bytes(&f->members[i]);

		if (!bytes)
			return 0;
		packed += bytes;
		padded = round_up(padded, bytes) + bytes;
		widest = bytes > widest ? bytes : widest;
	}
	padded = round_up(padded, widest);
	return padded == packed ? 0 : padded;
}

/*
 * A runtime may copy an array of structs from its memory into a payload though the manifest knows
 * of no padding (GCLOHCompact): the number of bytes shows it.
 */
static bool is_padded(const struct tapir_layout_field *f, uint64_t cnt, size_t bytes)
{
	size_t padded = f->type == TAPIR_LAYOUT_STRUCT ? padded_bytes(f) : 0;

	return padded && cnt && bytes / padded == cnt && bytes % padded == 0;
}

static void align(struct tapir_packed_cursor *c, size_t to)
{
	size_t at = (size_t)(c->at - c->base), padding = round_up(at, to) - at;

	skip_packed(c, padding < c->left ? padding : c->left);
}

/* ---- fields ------------------------------------------------------------------------------------ */

static void decode_packed_field(struct tapir_packed_cursor *c, const struct tapir_layout_field *f,
				const uint64_t *numbers, struct tapir_value *out);

/* Recursion is as deep as the layout, which is bounded where it is made. */
static void take_struct(struct tapir_packed_cursor *c, const struct tapir_layout_field *f,
			struct tapir_value *out)
{
	uint64_t numbers[TAPIR_LAYOUT_REFERABLE];
	struct tapir_value member;

	out->type = TAPIR_FIELD_STRUCT;
	out->bytes = c->at;
	c->base = c->at;
	for (unsigned i = 0; i < f->member_cnt; i++) {
		decode_packed_field(c, &f->members[i], numbers, &member);
		if (i < TAPIR_LAYOUT_REFERABLE)
			numbers[i] = member.flags & TAPIR_VALUE_ABSENT ? 0 : member.u64;
	}
	if (c->is_padded && padded_bytes(f) > (size_t)(c->at - out->bytes))
		align(c, padded_bytes(f));
	out->len = (size_t)(c->at - out->bytes);
	if (c->is_short)
		out->flags |= TAPIR_VALUE_TRUNCATED;
}

static void take_field(struct tapir_packed_cursor *c, const struct tapir_layout_field *f,
		       struct tapir_value *out)
{
	unsigned bytes = tapir_layout_type__bytes(f->type);

	if (c->is_padded && bytes)
		align(c, bytes);
	if (f->type == TAPIR_LAYOUT_STRUCT) {
		take_struct(c, f, out);
	} else if (f->type == TAPIR_LAYOUT_UTF16 || f->type == TAPIR_LAYOUT_UTF8) {
		take_string(c, f->type == TAPIR_LAYOUT_UTF16, out);
	} else if (bytes && bytes <= c->left) {
		set_fixed(f, c->at, bytes, out);
		skip_packed(c, bytes);
	} else {
		missing(c, out);
	}
}

/* Elements without end would need elements without bytes, which no maker of layouts lets through.
 */
static void take_array(struct tapir_packed_cursor *c, const struct tapir_layout_field *f,
		       uint64_t cnt, struct tapir_value *out)
{
	unsigned bytes = tapir_layout_type__bytes(f->type);
	struct tapir_value element;
	uint64_t i = 0;

	out->type = TAPIR_VALUE_ARRAY;
	out->bytes = c->at;
	c->is_padded = is_padded(f, cnt, c->left);
	if (bytes) {
		i = cnt < c->left / bytes ? cnt : c->left / bytes;
		skip_packed(c, (size_t)i * bytes);
	}
	for (; !bytes && i < cnt && c->left && !c->is_short; i++) {
		element = (struct tapir_value){};
		take_field(c, f, &element);
	}
	out->u64 = i;
	out->len = (size_t)(c->at - out->bytes);
	c->is_padded = false;
	if (i < cnt || (!bytes && c->is_short)) {
		out->flags = TAPIR_VALUE_TRUNCATED;
		c->is_short = true;
	}
}

/*
 * Reads the number of times that the field occurs, or its length. false: the number in front is cut
 * off.
 */
static bool take_count(struct tapir_packed_cursor *c, const struct tapir_layout_field *f,
		       const uint64_t *numbers, uint64_t *cnt)
{
	unsigned bytes = f->repeat == TAPIR_REPEAT_U16 ? 2 : 4;

	if (f->repeat == TAPIR_REPEAT_FIXED || f->repeat == TAPIR_REPEAT_FIELD) {
		*cnt = f->repeat == TAPIR_REPEAT_FIXED ? f->count : numbers[f->count];
		return true;
	}
	if (c->left < bytes)
		return false;
	*cnt = tapir_le__uint(c->at, bytes);
	skip_packed(c, bytes);
	return true;
}

/*
 * The end of a field is known from its content alone. After the first that does not fit, all others
 * are missing, too.
 */
static void decode_packed_field(struct tapir_packed_cursor *c, const struct tapir_layout_field *f,
				const uint64_t *numbers, struct tapir_value *out)
{
	uint64_t cnt;

	*out = (struct tapir_value){
		.name = tapir_sv__of(f->name), .type = TAPIR_FIELD_UINT, .layout = f};
	if (c->is_short) {
		out->flags = TAPIR_VALUE_MISSING;
		return;
	}
	if (f->repeat == TAPIR_REPEAT_ONCE) {
		take_field(c, f, out);
		return;
	}
	if (!take_count(c, f, numbers, &cnt)) {
		missing(c, out);
	} else if (f->type == TAPIR_LAYOUT_BINARY) {
		out->type = TAPIR_FIELD_BLOB;
		take_bytes(c, cnt, 1, out);
	} else if (f->type == TAPIR_LAYOUT_UTF16N || f->type == TAPIR_LAYOUT_UTF8N) {
		out->type = f->type == TAPIR_LAYOUT_UTF16N ? TAPIR_FIELD_UTF16 : TAPIR_FIELD_STRN;
		take_bytes(c, cnt, f->type == TAPIR_LAYOUT_UTF16N ? 2 : 1, out);
	} else {
		take_array(c, f, cnt, out);
	}
}

/* Bytes whose make another field names: a struct of that name, if we know it. */
static void apply_name(struct tapir_value *value, const struct tapir_value *by)
{
	const struct tapir_layout_field *f = value->layout;

	for (unsigned i = 0; i < f->member_cnt; i++) {
		const char *name = f->members[i].name;
		size_t len = strlen(name), at = 0;

		while (at < len && by->len == 2 * len && by->bytes[2 * at] == (uint8_t)name[at] &&
		       !by->bytes[2 * at + 1])
			at++;
		if (at == len && by->len == 2 * len) {
			value->type = TAPIR_FIELD_STRUCT;
			value->layout = &f->members[i];
			return;
		}
	}
}

static struct tapir_value remainder_of(const struct tapir_packed_cursor *c)
{
	return (struct tapir_value){
		.name = {"rest", 4}, .type = TAPIR_FIELD_BLOB, .bytes = c->at, .len = c->left};
}

static unsigned decode(const struct tapir_packed_layout *layout, struct tapir_packed_cursor *c,
		       struct tapir_value *out, unsigned max)
{
	uint64_t numbers[TAPIR_LAYOUT_REFERABLE];
	unsigned cnt = 0;

	for (; cnt < layout->field_cnt && cnt < max; cnt++) {
		const struct tapir_layout_field *f = &layout->fields[cnt];

		decode_packed_field(c, f, numbers, &out[cnt]);
		if (cnt < TAPIR_LAYOUT_REFERABLE)
			numbers[cnt] = out[cnt].flags & TAPIR_VALUE_ABSENT ? 0 : out[cnt].u64;
		if (f->named_by && f->named_by <= cnt && out[cnt].type == TAPIR_FIELD_BLOB &&
		    out[f->named_by - 1].type == TAPIR_FIELD_UTF16)
			apply_name(&out[cnt], &out[f->named_by - 1]);
	}
	return cnt;
}

/* ---- a NUL inside of a string ------------------------------------------------------------------ */

static size_t fixed_bytes(const struct tapir_layout_field *f)
{
	return f->repeat == TAPIR_REPEAT_ONCE ? tapir_layout_type__bytes(f->type) : 0;
}

static bool is_string(const struct tapir_layout_field *f)
{
	return f->repeat == TAPIR_REPEAT_ONCE &&
	       (f->type == TAPIR_LAYOUT_UTF16 || f->type == TAPIR_LAYOUT_UTF8);
}

/* Finds the last string and the bytes of the fields after it, all of fixed size. False: none. */
static bool find_tail(const struct tapir_packed_layout *layout, unsigned *last, size_t *tail_bytes)
{
	unsigned i = layout->field_cnt;

	for (*tail_bytes = 0; i && fixed_bytes(&layout->fields[i - 1]); i--)
		*tail_bytes += fixed_bytes(&layout->fields[i - 1]);
	*last = i - 1;
	return i && is_string(&layout->fields[i - 1]);
}

static bool is_only_variable(const struct tapir_packed_layout *layout, unsigned idx)
{
	for (unsigned i = 0; i < idx; i++)
		if (!fixed_bytes(&layout->fields[i]))
			return false;
	return true;
}

/*
 * The only string continues up to the tail. Where there are more, it is not known which has the
 * NUL: the last is marked as cut, and what lies between it and the tail is the rest. Returns the
 * rest's length; SIZE_MAX: there is no tail to read.
 */
static size_t read_tail(const struct tapir_packed_layout *layout, const uint8_t *payload,
			size_t bytes, struct tapir_value *out)
{
	uint64_t numbers[TAPIR_LAYOUT_REFERABLE] = {};
	struct tapir_packed_cursor c;
	size_t tail_bytes, nul_bytes, from;
	unsigned last;

	if (!find_tail(layout, &last, &tail_bytes) || out[last].flags & TAPIR_VALUE_ABSENT)
		return SIZE_MAX;
	nul_bytes = layout->fields[last].type == TAPIR_LAYOUT_UTF16 ? 2 : 1;
	from = (size_t)(out[last].bytes - payload) + out[last].len + nul_bytes;
	if (from + nul_bytes + tail_bytes > bytes)
		return SIZE_MAX;
	c = (struct tapir_packed_cursor){.at = payload + bytes - tail_bytes, .left = tail_bytes};
	for (size_t i = 1; i <= nul_bytes; i++)
		if (c.at[-(ptrdiff_t)i])
			return SIZE_MAX;
	if (is_only_variable(layout, last)) {
		out[last].len = (size_t)(c.at - out[last].bytes) - nul_bytes;
		from = bytes - tail_bytes;
	} else {
		out[last].flags |= TAPIR_VALUE_TRUNCATED;
	}
	for (unsigned i = last + 1; i < layout->field_cnt; i++)
		decode_packed_field(&c, &layout->fields[i], numbers, &out[i]);
	return bytes - tail_bytes - from;
}

/* Returns the rest bytes in front of the tail. */
static struct tapir_packed_cursor remainder_after(const struct tapir_packed_layout *layout,
						  const uint8_t *payload, size_t bytes, size_t rest)
{
	size_t tail_bytes;
	unsigned last;

	(void)find_tail(layout, &last, &tail_bytes);
	return (struct tapir_packed_cursor){.at = payload + bytes - tail_bytes - rest,
					    .left = rest};
}

unsigned tapir_packed__decode(const struct tapir_packed_layout *layout, const uint8_t *payload,
			      size_t bytes, struct tapir_value *out, unsigned max, unsigned *faults)
{
	struct tapir_packed_cursor c = {.at = payload, .left = bytes};
	unsigned cnt = decode(layout, &c, out, max);

	*faults = (c.is_short ? TAPIR_PACKED_SHORT : 0u) |
		  (c.left && !c.is_short ? TAPIR_PACKED_LONG : 0u);
	if (layout->is_exact && c.left && cnt == layout->field_cnt) {
		size_t rest = read_tail(layout, payload, bytes, out);

		if (!rest)
			*faults = c.left = 0;
		else if (rest != SIZE_MAX)
			c = remainder_after(layout, payload, bytes, rest);
	}
	if (c.left && cnt < max)
		out[cnt++] = remainder_of(&c);
	return cnt;
}

/* ---- what is inside ---------------------------------------------------------------------------- */

void tapir_packed_iter__init(struct tapir_packed_iter *iter, const struct tapir_value *value)
{
	const struct tapir_layout_field *f = value->layout;
	bool is_array = value->type == TAPIR_VALUE_ARRAY;

	iter->cursor = (struct tapir_packed_cursor){
		.at = value->bytes,
		.left = value->len,
		.base = value->bytes,
		.is_padded = is_padded(f, is_array ? value->u64 : 1, value->len)};
	iter->idx = 0;
	iter->fields = is_array ? NULL : f->members;
	iter->cnt = is_array ? (unsigned)value->u64 : f->member_cnt;
	if (is_array) {
		iter->element = *f;
		iter->element.repeat = TAPIR_REPEAT_ONCE;
	}
}

bool tapir_packed_iter__next(struct tapir_packed_iter *iter, struct tapir_value *out)
{
	unsigned idx = iter->idx++;

	if (idx < iter->cnt && !iter->fields) {
		decode_packed_field(&iter->cursor, &iter->element, NULL, out);
		return true;
	}
	if (idx < iter->cnt) {
		decode_packed_field(&iter->cursor, &iter->fields[idx], iter->numbers, out);
		if (idx < TAPIR_LAYOUT_REFERABLE)
			iter->numbers[idx] = out->flags & TAPIR_VALUE_ABSENT ? 0 : out->u64;
		return true;
	}
	if (idx > iter->cnt || !iter->cursor.left || !iter->fields || iter->cursor.is_padded)
		return false;
	*out = remainder_of(&iter->cursor);
	return true;
}
