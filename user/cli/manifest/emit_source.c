// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The source file of a provider: its events with the layouts of their payloads, and the function
 * of each that fires the typed probe and writes the payload.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/manifest/emit_c.h"

#define PROBE_ARG_MAX 12u /* what a USDT probe takes */

/* ---- descriptions ---------------------------------------------------------------------------- */

static const char *type_name(unsigned type)
{
	return type == TAPIR_LAYOUT_BOOL32 ? "BOOL" : tapir_layout_type__name(type);
}

static const char *repeat_name(unsigned repeat)
{
	static const char *const names[] = {"NONE", "COUNT_FIXED", "COUNT_FIELD", "COUNT_U16",
					    "COUNT_U32"};

	return names[repeat];
}

/* Arrays of fields, the inner ones first; owner is what their names begin with. */
static void add_field_table(const char *owner, const struct c_field *fields, unsigned cnt,
			    struct tapir_str *out)
{
	for (unsigned i = 0; i < cnt; i++)
		if (fields[i].struct_id)
			add_field_table(fields[i].struct_id, fields[i].members,
					fields[i].layout->member_cnt, out);
	if (!cnt)
		return;
	tapir_str__addf(out, "static const struct tapir_event_field %s_fields[] = {\n", owner);
	for (unsigned i = 0; i < cnt; i++) {
		const struct tapir_layout_field *f = fields[i].layout;

		tapir_str__adds(out, "\t{");
		c_text__add(out, f->name);
		if (fields[i].struct_id && f->member_cnt)
			tapir_str__addf(out, ", %s_fields, %u", fields[i].struct_id, f->member_cnt);
		else
			tapir_str__adds(out, ", NULL, 0");
		tapir_str__addf(out, ", %u, TAPIR_TYPE_%s, TAPIR_REPEAT_%s, {0, 0}},\n", f->count,
				type_name(f->type), repeat_name(f->repeat));
	}
	tapir_str__adds(out, "};\n");
}

static void add_about(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	const struct tapir_layout_event *l = ev->layout;
	struct tapir_str owner = {};

	tapir_str__addf(&owner, "%s_%s", p->id, ev->id);
	add_field_table(owner.data ? owner.data : "", ev->fields, l->field_cnt, out);
	tapir_str__fini(&owner);
	tapir_str__addf(out, "static const struct tapir_event_about %s_%s_about = {", p->id,
			ev->id);
	c_text__add(out, p->layout->name);
	tapir_str__addf(out, ", \"%s\", ", ev->id);
	if (l->field_cnt)
		tapir_str__addf(out, "%s_%s_fields", p->id, ev->id);
	else
		tapir_str__adds(out, "NULL");
	tapir_str__addf(out, ", 0x%" PRIx64 "ull, %u, %u, %u, %u, %u, %u, {0}};\n", l->keywords,
			l->id, l->version, l->level, l->field_cnt, ev->more->task,
			ev->more->opcode);
	tapir_str__addf(out,
			"__attribute__((section(\".probes\"), used)) struct tapir_event %s_%s = {\n"
			"\t{{0, 0}}, 0, &%s_%s_about, {0, 0, 0, 0, 0, 0}};\n",
			p->id, ev->id, p->id, ev->id);
}

/* ---- the probe ------------------------------------------------------------------------------- */

static void add_probe_value(const struct c_field *f, struct tapir_str *out)
{
	bool is_one = f->layout->repeat == TAPIR_REPEAT_ONCE;

	switch (f->layout->type) {
	case TAPIR_LAYOUT_BOOL32:
		tapir_str__addf(out, is_one ? "(TAPIR_EV_BOOL)(%s != 0)" : "(const void *)%s",
				f->id);
		break;
	case TAPIR_LAYOUT_UTF8:
		tapir_str__addf(out, is_one ? "%s" : "(const void *)%s", f->id);
		break;
	default:
		tapir_str__addf(out, !strchr(c_field__type(f), '*') ? "%s" : "(const void *)%s",
				f->id);
	}
}

static void add_site(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	const struct tapir_layout_event *l = ev->layout;
	unsigned cnt = l->field_cnt < PROBE_ARG_MAX ? l->field_cnt : PROBE_ARG_MAX;

	tapir_str__addf(out,
			"\tif (TAPIR_EVENT_PROBED(%s_%s)) {\n"
			"\t\tTAPIR_EVENT_SITE(%u, %s_%s, ",
			p->id, ev->id, cnt, p->id, ev->id);
	c_text__add(out, p->layout->name);
	tapir_str__addf(out, ", \"%s\", %u, %u, %u,\n\t\t\t0x%" PRIx64 "ull, \"\"", ev->id, l->id,
			l->version, l->level, l->keywords);
	for (unsigned i = 0; i < cnt; i++)
		tapir_str__addf(out, " \".asciz \\\"%s\\\"\\n\"", ev->fields[i].id);
	tapir_str__adds(out, ",\n\t\t\t");
	for (unsigned i = 0; i < cnt; i++) {
		tapir_str__adds(out, i ? ", " : "");
		add_probe_value(&ev->fields[i], out);
	}
	tapir_str__adds(out, ");\n\t}\n");
}

static void emit_event_source(const struct c_provider *p, const struct c_event *ev,
			      struct tapir_str *out)
{
	add_about(p, ev, out);
	emit_serializer(p, ev, out);
	tapir_str__addf(out, "void %s_%s_fire(", p->id, ev->id);
	c_event__add_params(p, ev, out);
	tapir_str__adds(out, ")\n{\n");
	for (unsigned i = 0; i < ev->layout->field_cnt && p->is_coreclr; i++) {
		const struct c_field *f = &ev->fields[i];
		bool is_one = f->layout->repeat == TAPIR_REPEAT_ONCE;

		/* CoreCLR's own generator writes it like that. */
		if (is_one && f->layout->type == TAPIR_LAYOUT_UTF16)
			tapir_str__addf(out,
					"\tif (!%s)\n\t\t%s = (const TAPIR_CHAR16 *)u\"NULL\";\n",
					f->id, f->id);
		if (is_one && f->layout->type == TAPIR_LAYOUT_UTF8)
			tapir_str__addf(out, "\tif (!%s)\n\t\t%s = \"NULL\";\n", f->id, f->id);
	}
	add_site(p, ev, out);
	tapir_str__addf(out, "\tif (TAPIR_EVENT_RECORDED(%s_%s))\n\t\t%s_%s_write(", p->id, ev->id,
			p->id, ev->id);
	c_event__add_args(p, ev, out);
	tapir_str__adds(out, ");\n}\n\n");
}

/* ---- the provider ---------------------------------------------------------------------------- */

static void add_registration(const struct c_provider *p, struct tapir_str *out)
{
	tapir_str__addf(out, "struct tapir_event *const %s_events[] = {\n", p->id);
	for (unsigned i = 0; i < p->layout->event_cnt; i++)
		tapir_str__addf(out, "\t&%s_%s,\n", p->id, p->events[i].id);
	tapir_str__addf(out,
			"\tNULL};\n\nstatic struct tapir_provider *%s_registered;\n\n"
			"int %s_register(const struct tapir_provider_opts *opts)\n{\n"
			"\tstatic const uint8_t guid[16] = {",
			p->id, p->id);
	for (unsigned i = 0; i < sizeof(p->layout->guid); i++)
		tapir_str__addf(out, "%s0x%02x", i ? ", " : "", p->layout->guid[i]);
	tapir_str__adds(out, "};\n\n\treturn tapir_provider__new(");
	c_text__add(out, p->layout->name);
	tapir_str__addf(out,
			", guid, %s_events, %u, opts,\n\t\t\t\t   &%s_registered);\n}\n\n"
			"void %s_unregister(void)\n{\n\ttapir_provider__free(%s_registered);\n"
			"\t%s_registered = NULL;\n}\n\n"
			"struct tapir_provider *%s_provider(void)\n{\n\treturn %s_registered;\n}\n",
			p->id, p->layout->event_cnt, p->id, p->id, p->id, p->id, p->id, p->id);
}

void emit_source(const struct c_provider *p, struct tapir_str *out)
{
	tapir_str__addf(out,
			"/* Made by tapir-manifest: do not edit. */\n"
			"#include \"%s.h\"\n\n#include <tapir/payload.h>\n\n",
			p->id);
	for (unsigned i = 0; i < p->layout->event_cnt; i++)
		emit_event_source(p, &p->events[i], out);
	add_registration(p, out);
}
