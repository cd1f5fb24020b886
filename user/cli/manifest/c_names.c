// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of a manifest as identifiers of C and C++, and the C types of its fields. Different names
 * may become the same identifier, and some are words of the languages; both get a suffix, so that
 * what is generated always compiles.
 */
#include "cli/manifest/c_names.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/diag.h"

#define ARENA_MAX_BYTES (64u << 20)
#define DEPTH_MAX	7u   /* structures in structures: as usdt/provider has it */
#define FIELD_MAX	255u /* TAPIR_MAX_FIELDS of tapir/provider.h */

/* Words of C11 and C++11 that a field may have as its name. */
static const char *const reserved[] = {
	"alignas",  "alignof",	"and",	     "asm",	 "auto",     "bool",	 "break",
	"case",	    "catch",	"char",	     "class",	 "const",    "continue", "default",
	"delete",   "do",	"double",    "else",	 "enum",     "errno",	 "explicit",
	"export",   "extern",	"false",     "float",	 "for",	     "friend",	 "goto",
	"if",	    "inline",	"int",	     "linux",	 "long",     "mutable",	 "namespace",
	"new",	    "not",	"nullptr",   "operator", "or",	     "private",	 "protected",
	"public",   "register", "return",    "short",	 "signed",   "sizeof",	 "static",
	"struct",   "switch",	"template",  "this",	 "throw",    "true",	 "try",
	"typedef",  "typeid",	"typename",  "union",	 "unix",     "unsigned", "using",
	"virtual",  "void",	"volatile",  "wchar_t",	 "while",    "xor",	 "restrict",
	"noexcept", "decltype", "constexpr", "NULL",	 "char16_t", "char32_t",
};

void c_id__add(struct tapir_str *out, const char *text)
{
	size_t from = out->len;

	if (isdigit((unsigned char)*text))
		tapir_str__addc(out, '_');
	for (; *text; text++)
		tapir_str__addc(out, isalnum((unsigned char)*text) ? *text : '_');
	for (size_t i = 0; out->data && i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (!strcmp(out->data + from, reserved[i])) {
			tapir_str__addc(out, '_');
			break;
		}
}

void c_text__add(struct tapir_str *out, const char *text)
{
	tapir_str__addc(out, '"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '?')
			tapir_str__addf(out, "\\%03o", c);
		else
			tapir_str__addc(out, *text);
	}
	tapir_str__addc(out, '"');
}

void c_comment__add(struct tapir_str *out, const char *text)
{
	for (; *text; text++) {
		bool ends = (*text == '*' || *text == '/') && out->len &&
			    (out->data[out->len - 1] == '*' || out->data[out->len - 1] == '/');

		if (ends || (unsigned char)*text < 0x20 || *text == '\\' || *text == '?')
			tapir_str__addc(out, ' ');
		else
			tapir_str__addc(out, *text);
	}
}

/* Keeps a name until the program ends. NULL: out of memory. */
static const char *keep_name(struct c_provider *p, struct tapir_str *text)
{
	const char *copy =
		text->failed ? NULL : tapir_arena__text(&p->arena, text->data, text->len);

	tapir_str__fini(text);
	return copy;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static bool is_taken(const struct c_field *fields, unsigned cnt, const char *id)
{
	for (unsigned i = 0; i < cnt; i++)
		if (!strcmp(fields[i].id, id))
			return true;
	return false;
}

static const char *field_id(struct c_provider *p, const struct c_field *before, unsigned cnt,
			    const char *name)
{
	const char *id;
	unsigned number = 1;

	do {
		struct tapir_str text = {};

		c_id__add(&text, name);
		if (number++ > 1)
			tapir_str__addf(&text, "_%u", number - 1);
		id = keep_name(p, &text);
	} while (id && is_taken(before, cnt, id));
	return id;
}

static const char *joined(struct c_provider *p, const char *a, const char *b)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s_%s", a, b);
	return keep_name(p, &text);
}

/* owner: the type that has them, "P_Event". As deep as a template, which is bounded. */
static struct c_field *name_fields(struct c_provider *p, const char *owner,
				   const struct tapir_layout_field *layouts, unsigned cnt)
{
	struct c_field *fields = tapir_arena__alloc(&p->arena, cnt * sizeof(*fields) + 1);

	for (unsigned i = 0; fields && i < cnt; i++) {
		struct c_field *f = &fields[i];

		f->layout = &layouts[i];
		f->id = field_id(p, fields, i, layouts[i].name);
		if (!f->id)
			return NULL;
		if (layouts[i].type != TAPIR_LAYOUT_STRUCT)
			continue;
		f->struct_id = joined(p, owner, f->id);
		f->members = f->struct_id ? name_fields(p, f->struct_id, layouts[i].members,
							layouts[i].member_cnt)
					  : NULL;
		if (!f->members)
			return NULL;
	}
	return fields;
}

const char *c_field__type(const struct c_field *f)
{
	static const struct {
		const char *one, *many;
	} types[TAPIR_LAYOUT_TYPE_CNT] = {
		[TAPIR_LAYOUT_U8] = {"uint8_t ", "const uint8_t *"},
		[TAPIR_LAYOUT_I8] = {"int8_t ", "const int8_t *"},
		[TAPIR_LAYOUT_U16] = {"uint16_t ", "const uint16_t *"},
		[TAPIR_LAYOUT_I16] = {"int16_t ", "const int16_t *"},
		[TAPIR_LAYOUT_U32] = {"uint32_t ", "const uint32_t *"},
		[TAPIR_LAYOUT_I32] = {"int32_t ", "const int32_t *"},
		[TAPIR_LAYOUT_U64] = {"uint64_t ", "const uint64_t *"},
		[TAPIR_LAYOUT_I64] = {"int64_t ", "const int64_t *"},
		[TAPIR_LAYOUT_F32] = {"float ", "const float *"},
		[TAPIR_LAYOUT_F64] = {"double ", "const double *"},
		[TAPIR_LAYOUT_PTR] = {"const void *", "const void *const *"},
		[TAPIR_LAYOUT_BOOL32] = {"int ", "const int *"},
		[TAPIR_LAYOUT_BOOL8] = {"uint8_t ", "const uint8_t *"},
		[TAPIR_LAYOUT_CHAR16] = {"uint16_t ", "const uint16_t *"},
		[TAPIR_LAYOUT_GUID] = {"const void *", "const void *"},
		[TAPIR_LAYOUT_FILETIME] = {"uint64_t ", "const uint64_t *"},
		[TAPIR_LAYOUT_SYSTEMTIME] = {"const void *", "const void *"},
		[TAPIR_LAYOUT_DECIMAL] = {"const void *", "const void *"},
		[TAPIR_LAYOUT_UTF16] = {"const TAPIR_CHAR16 *", "const TAPIR_CHAR16 *const *"},
		[TAPIR_LAYOUT_UTF8] = {"const char *", "const char *const *"},
		[TAPIR_LAYOUT_UTF16N] = {"", "const TAPIR_CHAR16 *"},
		[TAPIR_LAYOUT_UTF8N] = {"", "const char *"},
		[TAPIR_LAYOUT_BINARY] = {"", "const void *"},
		[TAPIR_LAYOUT_STRUCT] = {"const void *", "const void *"},
	};
	bool is_one = f->layout->repeat == TAPIR_REPEAT_ONCE;

	return is_one ? types[f->layout->type].one : types[f->layout->type].many;
}

unsigned c_field__fixed_bytes(const struct tapir_layout_field *f)
{
	unsigned bytes = tapir_layout_type__bytes(f->type);

	if (f->type == TAPIR_LAYOUT_UTF16N)
		bytes = 2;
	if (f->type == TAPIR_LAYOUT_UTF8N || f->type == TAPIR_LAYOUT_BINARY)
		bytes = 1;
	if (f->repeat == TAPIR_REPEAT_FIXED)
		return bytes * f->count;
	return f->repeat == TAPIR_REPEAT_ONCE ? bytes : 0;
}

void c_event__add_params(const struct c_provider *p, const struct c_event *ev,
			 struct tapir_str *out)
{
	for (unsigned i = 0; i < ev->layout->field_cnt; i++) {
		const struct c_field *f = &ev->fields[i];

		tapir_str__adds(out, i ? ", " : "");
		if (f->struct_id && p->is_coreclr)
			tapir_str__addf(out, "int %s_ElementSize, const void *%s", f->id, f->id);
		else if (f->struct_id)
			tapir_str__addf(out, "const struct %s *%s", f->struct_id, f->id);
		else
			tapir_str__addf(out, "%s%s", c_field__type(f), f->id);
	}
	if (!ev->layout->field_cnt)
		tapir_str__adds(out, "void");
}

void c_event__add_args(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	for (unsigned i = 0; i < ev->layout->field_cnt; i++) {
		const struct c_field *f = &ev->fields[i];

		tapir_str__adds(out, i ? ", " : "");
		if (f->struct_id && p->is_coreclr)
			tapir_str__addf(out, "%s_ElementSize, ", f->id);
		tapir_str__adds(out, f->id);
	}
}

/* ---- events and providers -------------------------------------------------------------------- */

static const struct c_event *find_event(const struct c_provider *p, unsigned cnt, const char *id)
{
	for (unsigned i = 0; i < cnt; i++)
		if (!strcmp(p->events[i].id, id))
			return &p->events[i];
	return NULL;
}

/* The symbol; without one, or where an older version has it, with the version. */
static const char *event_id(struct c_provider *p, unsigned idx)
{
	const struct tapir_layout_event *ev = &p->layout->events[idx];
	struct tapir_str text = {};

	c_id__add(&text, *ev->symbol ? ev->symbol : ev->name);
	if (ev->version && (!*ev->symbol || (!text.failed && find_event(p, idx, text.data))))
		tapir_str__addf(&text, "_V%u", ev->version);
	return keep_name(p, &text);
}

static unsigned count_fields(const struct tapir_layout_field *fields, unsigned cnt)
{
	unsigned sum = cnt;

	for (unsigned i = 0; i < cnt; i++)
		if (fields[i].type == TAPIR_LAYOUT_STRUCT)
			sum += count_fields(fields[i].members, fields[i].member_cnt);
	return sum;
}

/* Deeper than libtapir goes, or a structure of nothing, which it refuses. */
static bool has_odd_struct(const struct tapir_layout_field *fields, unsigned cnt, unsigned depth)
{
	for (unsigned i = 0; i < cnt; i++)
		if (fields[i].type == TAPIR_LAYOUT_STRUCT &&
		    (!fields[i].member_cnt || depth == DEPTH_MAX ||
		     has_odd_struct(fields[i].members, fields[i].member_cnt, depth + 1)))
			return true;
	return false;
}

/* The name becomes part of assembler text, where quotes, '%' and backslashes mean something. */
static int check_name(const struct c_provider *p)
{
	for (const char *c = p->layout->name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._- +/:", *c))
			return tapir_diag__fail(
				-EINVAL,
				"the name of provider %s has a character that no probe "
				"can have: expected letters, digits and . _ - + / :",
				p->id);
	return 0;
}

static int check_event(const struct c_provider *p, unsigned idx)
{
	const struct c_event *ev = &p->events[idx], *other = find_event(p, idx, ev->id);

	if (other)
		return tapir_diag__fail(
			-EINVAL,
			"provider %s: events %u and %u are both called %s in C: expected a symbol "
			"that no other event has",
			p->layout->name, other->layout->id, ev->layout->id, ev->id);
	if (count_fields(ev->layout->fields, ev->layout->field_cnt) > FIELD_MAX)
		return tapir_diag__fail(-EINVAL,
					"provider %s: event %s: expected at most %u fields",
					p->layout->name, ev->id, FIELD_MAX);
	if (has_odd_struct(ev->layout->fields, ev->layout->field_cnt, 0))
		return tapir_diag__fail(
			-EINVAL,
			"provider %s: event %s: expected structures with members, at "
			"most %u deep",
			p->layout->name, ev->id, DEPTH_MAX);
	if (ev->layout->level > 5)
		return tapir_diag__fail(-EINVAL,
					"provider %s: level %u of event %s: expected 0 to 5",
					p->layout->name, ev->layout->level, ev->id);
	return 0;
}

static int name_event(struct c_provider *p, unsigned idx)
{
	const struct tapir_layout_event *layout = &p->layout->events[idx];
	struct c_event *ev = &p->events[idx];
	const char *owner;

	ev->layout = layout;
	ev->more = &p->extra->events[idx];
	ev->id = event_id(p, idx);
	owner = ev->id ? joined(p, p->id, ev->id) : NULL;
	ev->fields = owner ? name_fields(p, owner, layout->fields, layout->field_cnt) : NULL;
	return ev->fields ? check_event(p, idx) : -ENOMEM;
}

int c_provider__init(struct c_provider *p, const struct tapir_manifest *manifest, unsigned idx,
		     bool is_coreclr)
{
	struct tapir_str id = {};
	int err = 0;

	memset(p, 0, sizeof(*p));
	p->arena.max_bytes = ARENA_MAX_BYTES;
	p->layout = tapir_manifest__provider(manifest, idx);
	p->extra = tapir_manifest__extra(manifest, idx);
	p->is_coreclr = is_coreclr;
	c_id__add(&id, *p->extra->symbol ? p->extra->symbol : p->layout->name);
	p->id = keep_name(p, &id);
	p->events = tapir_arena__alloc(&p->arena, p->layout->event_cnt * sizeof(*p->events) + 1);
	if (!p->id || !p->events)
		err = -ENOMEM;
	if (!err)
		err = check_name(p);
	for (unsigned i = 0; i < p->layout->event_cnt && !err; i++)
		err = name_event(p, i);
	if (err == -ENOMEM)
		tapir_diag__add("out of memory, or provider %s is too large", p->layout->name);
	return err;
}

void c_provider__fini(struct c_provider *p)
{
	tapir_arena__fini(&p->arena);
}

const char *c_type__of_number(unsigned type)
{
	static const char *const types[TAPIR_LAYOUT_TYPE_CNT] = {
		[TAPIR_LAYOUT_U8] = "uint8_t",	    [TAPIR_LAYOUT_I8] = "int8_t",
		[TAPIR_LAYOUT_U16] = "uint16_t",    [TAPIR_LAYOUT_I16] = "int16_t",
		[TAPIR_LAYOUT_U32] = "uint32_t",    [TAPIR_LAYOUT_I32] = "int32_t",
		[TAPIR_LAYOUT_U64] = "uint64_t",    [TAPIR_LAYOUT_I64] = "int64_t",
		[TAPIR_LAYOUT_F32] = "float",	    [TAPIR_LAYOUT_F64] = "double",
		[TAPIR_LAYOUT_BOOL32] = "int32_t",  [TAPIR_LAYOUT_BOOL8] = "uint8_t",
		[TAPIR_LAYOUT_CHAR16] = "uint16_t", [TAPIR_LAYOUT_FILETIME] = "uint64_t",
	};

	return types[type];
}
