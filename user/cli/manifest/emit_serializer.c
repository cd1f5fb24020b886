// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions that write payloads: for each structure one that measures and one that fills, for
 * each event one that does both. `at` is "" for a parameter and "v->" for a member.
 */
#include <stdio.h>
#include <string.h>

#include "cli/manifest/emit_c.h"

/* Adds the number of a field's values, as an expression. */
static void add_count(const char *at, const struct c_field *siblings, const struct c_field *f,
		      struct tapir_str *out)
{
	if (f->layout->repeat == TAPIR_REPEAT_FIELD)
		tapir_str__addf(out, "(uint64_t)%s%s", at, siblings[f->layout->count].id);
	else
		tapir_str__addf(out, "%u",
				f->layout->repeat == TAPIR_REPEAT_FIXED ? f->layout->count : 1);
}

static unsigned element_bytes(const struct tapir_layout_field *f)
{
	if (f->type == TAPIR_LAYOUT_UTF16N)
		return 2;
	if (f->type == TAPIR_LAYOUT_UTF8N || f->type == TAPIR_LAYOUT_BINARY)
		return 1;
	return tapir_layout_type__bytes(f->type);
}

static bool is_c_text(const struct c_field *f)
{
	return f->layout->type == TAPIR_LAYOUT_UTF8 || f->layout->type == TAPIR_LAYOUT_UTF16;
}

static int text_bits(const struct c_field *f)
{
	return f->layout->type == TAPIR_LAYOUT_UTF8 ? 8 : 16;
}

/* Returns true if all elements of a structure have one size. */
static bool is_rigid(const struct tapir_layout_field *f)
{
	for (unsigned i = 0; i < f->member_cnt; i++) {
		const struct tapir_layout_field *m = &f->members[i];
		bool is_inner = m->type == TAPIR_LAYOUT_STRUCT &&
				(m->repeat == TAPIR_REPEAT_ONCE || m->repeat == TAPIR_REPEAT_FIXED);

		if (is_inner ? !is_rigid(m) : !c_field__fixed_bytes(m))
			return false;
	}
	return true;
}

/* CoreCLR passes packed bytes: the size of one, or of all where they differ. */
static void add_packed_bytes(const struct c_field *siblings, const struct c_field *f,
			     struct tapir_str *out)
{
	tapir_str__adds(out, "tapir_payload__times(");
	if (f->layout->repeat == TAPIR_REPEAT_ONCE || !is_rigid(f->layout))
		tapir_str__adds(out, "1");
	else
		add_count("", siblings, f, out);
	tapir_str__addf(out, ", (size_t)%s_ElementSize)", f->id);
}

/* The bytes of a field as an expression. */
static void add_bytes(const struct c_provider *p, const char *at, const struct c_field *siblings,
		      const struct c_field *f, struct tapir_str *out)
{
	bool is_one = f->layout->repeat == TAPIR_REPEAT_ONCE;

	if (f->struct_id && p->is_coreclr) {
		add_packed_bytes(siblings, f, out);
	} else if (f->struct_id) {
		tapir_str__addf(out, "%s_bytes(%s%s, ", f->struct_id, at, f->id);
		add_count(at, siblings, f, out);
		tapir_str__addc(out, ')');
	} else if (is_c_text(f) && is_one) {
		tapir_str__addf(out, "tapir_payload__bytes%d(%s%s)", text_bits(f), at, f->id);
	} else if (is_c_text(f)) {
		tapir_str__addf(out, "tapir_payload__all_bytes%d(%s%s, ", text_bits(f), at, f->id);
		add_count(at, siblings, f, out);
		tapir_str__addc(out, ')');
	} else if (c_field__fixed_bytes(f->layout) || f->layout->repeat == TAPIR_REPEAT_FIXED) {
		tapir_str__addf(out, "(size_t)%u", c_field__fixed_bytes(f->layout));
	} else {
		tapir_str__adds(out, "tapir_payload__times(");
		add_count(at, siblings, f, out);
		tapir_str__addf(out, ", %u)", element_bytes(f->layout));
	}
}

/* bytes: an expression of what was measured. */
static void add_put(const struct c_provider *p, const char *at, const struct c_field *siblings,
		    const struct c_field *f, const char *bytes, struct tapir_str *out)
{
	bool is_one = f->layout->repeat == TAPIR_REPEAT_ONCE;
	bool is_value = is_one && !strchr(c_field__type(f), '*');

	if (f->struct_id && !p->is_coreclr) {
		tapir_str__addf(out, "%s_put(tapir_p, %s%s, ", f->struct_id, at, f->id);
		add_count(at, siblings, f, out);
		tapir_str__adds(out, ");\n");
	} else if (is_c_text(f) && !is_one) {
		tapir_str__addf(out, "tapir_payload__put_all%d(tapir_p, %s%s, ", text_bits(f), at,
				f->id);
		add_count(at, siblings, f, out);
		tapir_str__adds(out, ");\n");
	} else if (is_c_text(f)) {
		tapir_str__addf(out, "tapir_payload__put%d(tapir_p, %s%s, %s);\n", text_bits(f), at,
				f->id, bytes);
	} else if (f->layout->type == TAPIR_LAYOUT_BOOL32 && is_one) {
		tapir_str__addf(out, "tapir_payload__put_bool(tapir_p, %s%s);\n", at, f->id);
	} else {
		bool is_address = is_value || (is_one && f->layout->type == TAPIR_LAYOUT_PTR);

		tapir_str__addf(out, "tapir_payload__put(tapir_p, %s%s%s, %s);\n",
				is_address ? "&" : "", at, f->id, bytes);
	}
}

/* ---- structures ------------------------------------------------------------------------------ */

static void add_struct_bytes(const struct c_provider *p, const struct c_field *f,
			     struct tapir_str *out)
{
	tapir_str__addf(
		out,
		"static __attribute__((unused)) size_t %s_bytes(const struct %s *v, uint64_t "
		"cnt)\n{\n"
		"\tsize_t bytes = tapir_payload__times(cnt, %u);\n\n"
		"\tif (!v || bytes > TAPIR_PAYLOAD_BYTES)\n"
		"\t\treturn v || !cnt ? bytes : TAPIR_PAYLOAD_BYTES + 1;\n"
		"\tbytes = 0;\n"
		"\tfor (; cnt && bytes <= TAPIR_PAYLOAD_BYTES; cnt--, v++)\n"
		"\t\tbytes += 0",
		f->struct_id, f->struct_id, f->layout->min_bytes ? f->layout->min_bytes : 1);
	for (unsigned i = 0; i < f->layout->member_cnt; i++) {
		tapir_str__adds(out, "\n\t\t\t+ ");
		add_bytes(p, "v->", f->members, &f->members[i], out);
	}
	tapir_str__adds(out, ";\n\treturn bytes;\n}\n");
}

static void add_struct_put(const struct c_provider *p, const struct c_field *f,
			   struct tapir_str *out)
{
	tapir_str__addf(
		out,
		"static __attribute__((unused)) void %s_put(struct tapir_payload *tapir_p, const "
		"struct %s *v, uint64_t cnt)\n"
		"{\n\tfor (; v && cnt && tapir_p->at < tapir_p->end; cnt--, v++) {\n",
		f->struct_id, f->struct_id);
	for (unsigned i = 0; i < f->layout->member_cnt; i++) {
		struct tapir_str bytes = {};

		add_bytes(p, "v->", f->members, &f->members[i], &bytes);
		tapir_str__adds(out, "\t\t");
		add_put(p, "v->", f->members, &f->members[i], bytes.data ? bytes.data : "", out);
		tapir_str__fini(&bytes);
	}
	tapir_str__adds(out, "\t}\n}\n");
}

static void add_struct(const struct c_provider *p, const struct c_field *f, struct tapir_str *out)
{
	for (unsigned i = 0; i < f->layout->member_cnt; i++)
		if (f->members[i].struct_id)
			add_struct(p, &f->members[i], out);
	add_struct_bytes(p, f, out);
	add_struct_put(p, f, out);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void add_sizes(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	for (unsigned i = 0; i < ev->layout->field_cnt; i++) {
		tapir_str__addf(out, "\tconst size_t tapir_bytes_%u = ", i);
		add_bytes(p, "", ev->fields, &ev->fields[i], out);
		tapir_str__adds(out, ";\n");
	}
	tapir_str__adds(out, "\tconst size_t tapir_bytes = 0");
	for (unsigned i = 0; i < ev->layout->field_cnt; i++)
		tapir_str__addf(out, " + tapir_bytes_%u", i);
	tapir_str__adds(out, ";\n");
}

void emit_serializer(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	for (unsigned i = 0; i < ev->layout->field_cnt && !p->is_coreclr; i++)
		if (ev->fields[i].struct_id)
			add_struct(p, &ev->fields[i], out);
	tapir_str__addf(out, "static inline __attribute__((always_inline)) void %s_%s_write(",
			p->id, ev->id);
	c_event__add_params(p, ev, out);
	tapir_str__adds(out, ")\n{\n\tstruct tapir_event_write tapir_write;\n");
	add_sizes(p, ev, out);
	tapir_str__addf(out,
			"\n\tif (tapir_event__begin(&tapir_write, &%s_%s, tapir_bytes)) {\n"
			"\t\tstruct tapir_payload tapir_at = {tapir_write.payload,\n"
			"\t\t\t\t\t\ttapir_write.payload + tapir_bytes},\n"
			"\t\t\t\t     *tapir_p = &tapir_at;\n\n"
			"\t\t(void)tapir_p;\n",
			p->id, ev->id);
	for (unsigned i = 0; i < ev->layout->field_cnt; i++) {
		char bytes[32];

		snprintf(bytes, sizeof(bytes), "tapir_bytes_%u", i);
		tapir_str__adds(out, "\t\t");
		add_put(p, "", ev->fields, &ev->fields[i], bytes, out);
	}
	tapir_str__adds(out, "\t\ttapir_payload__end(tapir_p);\n"
			     "\t\ttapir_event__commit(&tapir_write);\n\t}\n}\n");
}
