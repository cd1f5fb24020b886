// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The <maps> and <templates> of a manifest: names of values, and the layouts of payloads. What a
 * layout cannot express is refused with the place in the file, because a field that is skipped
 * would shift all later ones.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/str.h"
#include "decode/manifest_impl.h"

#define next_of	  tapir_manifest_xml__next
#define attr_of	  tapir_manifest_xml__attr
#define fail_at	  tapir_manifest_xml__fail
#define fail_attr tapir_manifest_xml__fail_attr

struct fields tapir_vec(struct tapir_layout_field);

/* ---- maps ------------------------------------------------------------------------------------ */

/* The name is printed unchanged, in text and in JSON. */
static const char *plain(char *name)
{
	for (char *c = name; c && *c; c++)
		if (*c < 0x20 || *c > 0x7e || *c == '"' || *c == '\\')
			*c = '_';
	return name;
}

/* $(string.map_Reason.Pooled) is Pooled; other text is taken as it is. */
static const char *message_name(struct manifest_reader *r, const xmlNode *node)
{
	const char *text = attr_of(node, "message"), *end;
	size_t len;

	if (!text || strncmp(text, "$(", 2))
		return plain((char *)(uintptr_t)tapir_manifest__text(r, node, text));
	len = strlen(text);
	if (len > TAPIR_MANIFEST_NAME_MAX || text[len - 1] != ')') {
		fail_attr(r, node, "message", "$(string.NAME) or a plain text");
		return NULL;
	}
	end = text + len - 1;
	for (const char *p = text; p < end; p++)
		if (*p == '.')
			text = p + 1;
	return plain(tapir_arena__text(r->arena, text, (size_t)(end - text)));
}

static int add_manifest_value(struct manifest_reader *r, const xmlNode *node,
			      struct tapir_layout_value *value)
{
	const char *number = attr_of(node, "value"), *mask = attr_of(node, "mask");
	uint64_t u64, mask_u64;

	if (!number || !tapir_str__to_u64(number, 0, UINT32_MAX, &u64))
		return fail_attr(r, node, "value", "a 32-bit number");
	mask_u64 = u64;
	if (mask && !tapir_str__to_u64(mask, 0, UINT32_MAX, &mask_u64))
		return fail_attr(r, node, "mask", "a 32-bit number");
	value->value = (uint32_t)u64;
	value->mask = (uint32_t)mask_u64;
	value->name = message_name(r, node);
	/* Only so that a string which refers to itself is reported. */
	return value->name && tapir_manifest__message(r, node) ? 0 : -EINVAL;
}

static const struct tapir_layout_map *find_map(const struct manifest_reader *r, const char *name)
{
	for (size_t i = 0; i < r->maps.cnt; i++)
		if (!strcmp(r->maps.data[i]->name, name))
			return r->maps.data[i];
	return NULL;
}

static int add_map(struct manifest_reader *r, const xmlNode *node)
{
	struct tapir_vec(struct tapir_layout_value) values = {};
	struct tapir_layout_map *map = tapir_arena__alloc(r->arena, sizeof(*map));
	int err = map ? 0 : -ENOMEM;

	for (const xmlNode *n = next_of(node->children, "map"); n && !err;
	     n = next_of(n->next, "map")) {
		/*
		 * The limit is for the process that reads, since a manifest may come from any
		 * process.
		 */
		struct tapir_layout_value *value = tapir_vec__add(&values);

		if (!value || values.cnt > TAPIR_MANIFEST_MAX_CNT)
			err = fail_at(r, n, "too many values", "");
		else
			err = add_manifest_value(r, n, value);
	}
	if (!err) {
		map->name = tapir_manifest__text(r, node, attr_of(node, "name"));
		err = map->name ? 0 : -EINVAL;
	}
	if (!err && find_map(r, map->name))
		err = fail_attr(r, node, "name", "a name that no other map has");
	if (!err) {
		map->is_bits = !strcmp((const char *)node->name, "bitMap");
		map->value_cnt = (uint16_t)values.cnt;
		map->values =
			tapir_arena__copy(r->arena, values.data, values.cnt, sizeof(*values.data));
		err = map->values && tapir_vec__push(&r->maps, map) ? 0 : -ENOMEM;
	}
	tapir_vec__fini(&values);
	return err;
}

int tapir_manifest__add_maps(struct manifest_reader *r, const xmlNode *maps)
{
	int err = 0;

	for (const xmlNode *n = next_of(maps->children, NULL); n && !err;
	     n = next_of(n->next, NULL)) {
		if (!strcmp((const char *)n->name, "valueMap") ||
		    !strcmp((const char *)n->name, "bitMap"))
			err = add_map(r, n);
		if (r->maps.cnt > TAPIR_MANIFEST_MAX_CNT)
			err = fail_at(r, n, "too many maps", "");
	}
	return err;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static int manifest_field_type(const char *name)
{
	/* Types of fields are those of Windows' winmeta.xml, which also .NET's manifests use. */
	static const struct {
		const char *name;
		uint8_t type;
	} types[] = {
		{"UInt8", TAPIR_LAYOUT_U8},
		{"Int8", TAPIR_LAYOUT_I8},
		{"UInt16", TAPIR_LAYOUT_U16},
		{"Int16", TAPIR_LAYOUT_I16},
		{"UInt32", TAPIR_LAYOUT_U32},
		{"Int32", TAPIR_LAYOUT_I32},
		{"HexInt32", TAPIR_LAYOUT_U32},
		{"UInt64", TAPIR_LAYOUT_U64},
		{"Int64", TAPIR_LAYOUT_I64},
		{"HexInt64", TAPIR_LAYOUT_U64},
		{"Float", TAPIR_LAYOUT_F32},
		{"Double", TAPIR_LAYOUT_F64},
		{"Pointer", TAPIR_LAYOUT_PTR},
		{"Boolean", TAPIR_LAYOUT_BOOL32},
		{"GUID", TAPIR_LAYOUT_GUID},
		{"FILETIME", TAPIR_LAYOUT_FILETIME},
		{"SYSTEMTIME", TAPIR_LAYOUT_SYSTEMTIME},
		{"UnicodeString", TAPIR_LAYOUT_UTF16},
		{"AnsiString", TAPIR_LAYOUT_UTF8},
		{"Binary", TAPIR_LAYOUT_BINARY},
	};

	if (!name || strncmp(name, "win:", 4))
		return -1;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name + 4))
			return types[i].type;
	return -1;
}

/* The index of the field of that name, among those that can be referred to; -1: none. */
static int sibling(const struct fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->cnt && i < TAPIR_LAYOUT_REFERABLE; i++)
		if (!strcmp(fields->data[i].name, name))
			return (int)i;
	return -1;
}

static bool is_number(const struct tapir_layout_field *f)
{
	return f->type <= TAPIR_LAYOUT_I64 && f->repeat == TAPIR_REPEAT_ONCE;
}

/* count="4" or count="NameOfANumberBefore". */
static int set_repeat(struct manifest_reader *r, const xmlNode *node, const char *text,
		      const struct fields *before, struct tapir_layout_field *field)
{
	uint64_t number;
	int idx;

	if (tapir_str__to_u64(text, 0, UINT16_MAX, &number)) {
		field->repeat = TAPIR_REPEAT_FIXED;
		field->count = (uint16_t)number;
		return 0;
	}
	idx = sibling(before, text);
	if (idx < 0 || !is_number(&before->data[idx]))
		return fail_attr(r, node, attr_of(node, "length") ? "length" : "count",
				 "a number up to 65535 or the name of an earlier number");
	field->repeat = TAPIR_REPEAT_FIELD;
	field->count = (uint16_t)idx;
	return 0;
}

static int set_length(struct manifest_reader *r, const xmlNode *node, const struct fields *before,
		      struct tapir_layout_field *field)
{
	const char *length = attr_of(node, "length"), *count = attr_of(node, "count");

	if (!length)
		return field->type == TAPIR_LAYOUT_BINARY
			       ? fail_attr(r, node, "length", "the size of a win:Binary")
			       : 0;
	if (count && strcmp(count, "1"))
		return fail_attr(r, node, "count", "no count next to a length");
	if (field->type == TAPIR_LAYOUT_UTF16)
		field->type = TAPIR_LAYOUT_UTF16N;
	else if (field->type == TAPIR_LAYOUT_UTF8)
		field->type = TAPIR_LAYOUT_UTF8N;
	else if (field->type != TAPIR_LAYOUT_BINARY)
		return fail_attr(r, node, "length",
				 "a length only of win:UnicodeString, win:AnsiString, win:Binary");
	return set_repeat(r, node, length, before, field);
}

static int read_members(struct manifest_reader *r, const xmlNode *node, int depth,
			struct tapir_layout_field *field);

/* The structs that a Binary can be, chosen by the name in another field. */
static int set_named_by(struct manifest_reader *r, const xmlNode *node, const struct fields *before,
			int depth, struct tapir_layout_field *field)
{
	const char *by = attr_of(node, "namedBy");
	int idx;

	if (!by)
		return 0;
	idx = sibling(before, by);
	if (field->type != TAPIR_LAYOUT_BINARY || idx < 0 ||
	    before->data[idx].type != TAPIR_LAYOUT_UTF16 ||
	    before->data[idx].repeat != TAPIR_REPEAT_ONCE)
		return fail_attr(r, node, "namedBy", "the name of an earlier win:UnicodeString");
	field->named_by = (uint8_t)(idx + 1);
	return read_members(r, node, depth, field);
}

static unsigned min_bytes(const struct tapir_layout_field *f)
{
	unsigned bytes = tapir_layout_type__bytes(f->type);

	if (f->repeat == TAPIR_REPEAT_FIELD || (f->repeat == TAPIR_REPEAT_FIXED && !f->count))
		return 0;
	if (f->repeat == TAPIR_REPEAT_U16 || f->repeat == TAPIR_REPEAT_U32)
		return 2;
	if (f->type == TAPIR_LAYOUT_STRUCT)
		return f->min_bytes;
	if (f->type == TAPIR_LAYOUT_UTF16 || f->type == TAPIR_LAYOUT_UTF8)
		return 1;
	return bytes ? bytes : 1;
}

static int read_data(struct manifest_reader *r, const xmlNode *node, int depth,
		     const struct fields *before, struct tapir_layout_field *field)
{
	const char *count = attr_of(node, "count"), *map = attr_of(node, "map");
	int type = manifest_field_type(attr_of(node, "inType")), err;

	if (type < 0)
		return fail_attr(r, node, "inType",
				 "win:UInt8, win:Int32, win:UnicodeString or another type of ETW");
	field->type = (uint8_t)type;
	err = set_length(r, node, before, field);
	if (!err)
		err = set_named_by(r, node, before, depth, field);
	if (!err && count && !attr_of(node, "length"))
		err = set_repeat(r, node, count, before, field);
	if (!err && map && field->type <= TAPIR_LAYOUT_I64) {
		field->map = find_map(r, map);
		if (!field->map)
			err = fail_attr(r, node, "map", "the name of a <valueMap> or <bitMap>");
	}
	return err;
}

static int read_struct(struct manifest_reader *r, const xmlNode *node, int depth,
		       const struct fields *before, struct tapir_layout_field *field)
{
	const char *count = attr_of(node, "count");
	int err;

	field->type = TAPIR_LAYOUT_STRUCT;
	err = read_members(r, node, depth, field);
	if (!err && count)
		err = set_repeat(r, node, count, before, field);
	if (!err && count && !field->min_bytes)
		err = fail_at(r, node, "an array of empty structs", "");
	return err;
}

static int read_field(struct manifest_reader *r, const xmlNode *node, int depth,
		      struct fields *fields)
{
	bool is_struct = !strcmp((const char *)node->name, "struct");
	struct tapir_layout_field field = {};
	int err;

	if (!is_struct && strcmp((const char *)node->name, "data"))
		return 0; /* UserData and the like */
	field.name = tapir_manifest__text(r, node, attr_of(node, "name"));
	if (!field.name)
		return -EINVAL;
	err = is_struct ? read_struct(r, node, depth, fields, &field)
			: read_data(r, node, depth, fields, &field);
	if (!err && (fields->cnt >= TAPIR_MANIFEST_MAX_CNT || !tapir_vec__push(fields, field)))
		err = fail_at(r, node, "too many fields", "");
	return err;
}

/* The elements of a template, of a struct, or of a Binary that may be one of several structs. */
static int read_members(struct manifest_reader *r, const xmlNode *node, int depth,
			struct tapir_layout_field *field)
{
	struct fields fields = {};
	unsigned least = 0;
	int err = depth < TAPIR_LAYOUT_DEPTH ? 0 : fail_at(r, node, "nested too deeply", "");

	for (const xmlNode *n = next_of(node->children, NULL); n && !err;
	     n = next_of(n->next, NULL))
		err = read_field(r, n, depth + 1, &fields);
	for (size_t i = 0; i < fields.cnt; i++)
		least += min_bytes(&fields.data[i]);
	if (!err) {
		field->member_cnt = (uint16_t)fields.cnt;
		field->min_bytes = (uint16_t)(least < UINT16_MAX ? least : UINT16_MAX);
		field->members =
			tapir_arena__copy(r->arena, fields.data, fields.cnt, sizeof(*fields.data));
		err = field->members ? 0 : -ENOMEM;
	}
	tapir_vec__fini(&fields);
	return err;
}

const struct manifest_template *tapir_manifest__template(const struct manifest_reader *r,
							 const char *tid)
{
	const struct manifest_template *t;

	tapir_vec_for_each (t, &r->templates)
		if (!strcmp(t->tid, tid))
			return t;
	return NULL;
}

int tapir_manifest__add_templates(struct manifest_reader *r, const xmlNode *templates)
{
	int err = 0;

	for (const xmlNode *n = next_of(templates->children, "template"); n && !err;
	     n = next_of(n->next, "template")) {
		struct manifest_template t = {.tid = tapir_manifest__text(r, n, attr_of(n, "tid"))};
		struct tapir_layout_field root = {};

		if (!t.tid)
			return -EINVAL;
		if (tapir_manifest__template(r, t.tid))
			return fail_attr(r, n, "tid", "a tid that no other <template> has");
		err = read_members(r, n, 0, &root);
		t.fields = root.members;
		t.field_cnt = root.member_cnt;
		if (!err && (r->templates.cnt >= TAPIR_MANIFEST_MAX_CNT ||
			     !tapir_vec__push(&r->templates, t)))
			err = fail_at(r, n, "too many templates", "");
	}
	return err;
}
