// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A provider's events as LTTng-UST tracepoints: PROVIDER_lttng.h, the header that lttng-ust reads
 * several times, and PROVIDER_lttng.c, a logger of libtapir's (tapir/logger.h) that takes a payload
 * apart and fires the tracepoint. Both become libtapir-lttng-PROVIDER.so.
 *
 * A tracepoint takes ten arguments at most, and an event may have more fields: so each takes one,
 * the address of a structure. What LTTng has no type for (structures, arrays of texts) is a
 * sequence of bytes.
 */
#include "cli/manifest/emit_c.h"

#define TEXT_BYTES 1024 /* of a text that was UTF-16; longer ones are cut, as the library shows */

/* The forms that LTTng has for a field. */
enum form { NUMBER, HEX, REAL, TEXT8, TEXT16, ID, NUMBERS, BYTES };

static enum form form_of(const struct tapir_layout_field *f)
{
	static const unsigned char once[TAPIR_LAYOUT_TYPE_CNT] = {
		[TAPIR_LAYOUT_F32] = REAL,	[TAPIR_LAYOUT_F64] = REAL,
		[TAPIR_LAYOUT_PTR] = HEX,	[TAPIR_LAYOUT_GUID] = ID,
		[TAPIR_LAYOUT_UTF8] = TEXT8,	[TAPIR_LAYOUT_UTF16] = TEXT16,
		[TAPIR_LAYOUT_UTF16N] = BYTES,	[TAPIR_LAYOUT_UTF8N] = BYTES,
		[TAPIR_LAYOUT_BINARY] = BYTES,	[TAPIR_LAYOUT_SYSTEMTIME] = BYTES,
		[TAPIR_LAYOUT_DECIMAL] = BYTES, [TAPIR_LAYOUT_STRUCT] = BYTES,
	};
	enum form form = (enum form)once[f->type];

	if (f->repeat == TAPIR_REPEAT_ONCE)
		return form;
	return form == NUMBER || form == HEX ? NUMBERS : BYTES;
}

static const char *lttng_type(const struct tapir_layout_field *f)
{
	const char *type = c_type__of_number(f->type);

	return type ? type : f->type == TAPIR_LAYOUT_PTR ? "uint64_t" : "uint8_t";
}

/* ---- the header ------------------------------------------------------------------------------ */

static void add_member(const struct c_field *f, struct tapir_str *out)
{
	const char *type = lttng_type(f->layout);

	switch (form_of(f->layout)) {
	case NUMBER:
	case HEX:
	case REAL:
		tapir_str__addf(out, "\t%s %s;\n", type, f->id);
		break;
	case TEXT8:
		tapir_str__addf(out, "\tconst char *%s;\n", f->id);
		break;
	case TEXT16:
		tapir_str__addf(out, "\tchar %s[%d];\n", f->id, TEXT_BYTES);
		break;
	case ID:
		tapir_str__addf(out, "\tchar %s[37];\n", f->id);
		break;
	case NUMBERS:
	case BYTES:
		tapir_str__addf(out, "\tconst %s *%s;\n\tuint32_t %s_tapir_cnt;\n", type, f->id,
				f->id);
	}
}

static void add_struct(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	tapir_str__addf(out, "struct %s_%s_lttng {\n", p->id, ev->id);
	for (unsigned i = 0; i < ev->layout->field_cnt; i++)
		add_member(&ev->fields[i], out);
	tapir_str__adds(out, ev->layout->field_cnt ? "};\n" : "\tchar is_empty;\n};\n");
}

static void add_field(const struct c_field *f, struct tapir_str *out)
{
	static const char *const macros[] = {
		[NUMBER] = "integer",	[HEX] = "integer_hex",	  [REAL] = "float",
		[NUMBERS] = "sequence", [BYTES] = "sequence_hex",
	};
	enum form form = form_of(f->layout);

	if (form == TEXT8 || form == TEXT16 || form == ID)
		tapir_str__addf(out, "\t\tlttng_ust_field_string(%s, e->%s)\n", f->id, f->id);
	else if (form == NUMBERS || form == BYTES)
		tapir_str__addf(
			out, "\t\tlttng_ust_field_%s(%s, %s, e->%s, uint32_t, e->%s_tapir_cnt)\n",
			macros[form], lttng_type(f->layout), f->id, f->id, f->id);
	else
		tapir_str__addf(out, "\t\tlttng_ust_field_%s(%s, %s, e->%s)\n", macros[form],
				lttng_type(f->layout), f->id, f->id);
}

static void add_tracepoint(const struct c_provider *p, const struct c_event *ev,
			   struct tapir_str *out)
{
	/* LogAlways, Critical ... Verbose: as severe as LTTng's own, so that a limit means the
	 * same. */
	static const char *const levels[] = {"EMERG", "CRIT", "ERR", "WARNING", "INFO", "DEBUG"};
	unsigned level = ev->layout->level < 6 ? ev->layout->level : 5;

	tapir_str__addf(out,
			"LTTNG_UST_TRACEPOINT_EVENT(%s, %s,\n"
			"\tLTTNG_UST_TP_ARGS(const struct %s_%s_lttng *, e),\n"
			"\tLTTNG_UST_TP_FIELDS(\n",
			p->id, ev->id, p->id, ev->id);
	for (unsigned i = 0; i < ev->layout->field_cnt; i++)
		add_field(&ev->fields[i], out);
	tapir_str__addf(
		out,
		"\t))\nLTTNG_UST_TRACEPOINT_LOGLEVEL(%s, %s, LTTNG_UST_TRACEPOINT_LOGLEVEL_%s)\n\n",
		p->id, ev->id, levels[level]);
}

void emit_lttng_header(const struct c_provider *p, struct tapir_str *out)
{
	if (!p->layout->event_cnt)
		return;
	tapir_str__addf(
		out,
		"/* Made by tapir-manifest: do not edit. LTTng-UST includes it several times. */\n"
		"#ifndef %s_LTTNG_STRUCTS\n#define %s_LTTNG_STRUCTS\n#include <stdint.h>\n\n",
		p->id, p->id);
	for (unsigned i = 0; i < p->layout->event_cnt; i++)
		add_struct(p, &p->events[i], out);
	tapir_str__addf(
		out,
		"#endif\n\n#undef LTTNG_UST_TRACEPOINT_PROVIDER\n"
		"#define LTTNG_UST_TRACEPOINT_PROVIDER %s\n"
		"#undef LTTNG_UST_TRACEPOINT_INCLUDE\n"
		"#define LTTNG_UST_TRACEPOINT_INCLUDE \"./%s_lttng.h\"\n\n"
		"#if !defined(%s_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)\n"
		"#define %s_LTTNG_H\n\n#include <lttng/tracepoint.h>\n\n",
		p->id, p->id, p->id, p->id);
	for (unsigned i = 0; i < p->layout->event_cnt; i++)
		add_tracepoint(p, &p->events[i], out);
	tapir_str__adds(out, "#endif\n\n#include <lttng/tracepoint-event.h>\n");
}

/* ---- the logger ------------------------------------------------------------------------------ */

static void add_read(const struct c_field *f, unsigned idx, struct tapir_str *out)
{
	switch (form_of(f->layout)) {
	case NUMBER:
	case HEX:
	case REAL:
		tapir_str__addf(out, "\ttapir_part__get(&parts[%u], &e.%s, sizeof(e.%s));\n", idx,
				f->id, f->id);
		break;
	case TEXT8:
		tapir_str__addf(out, "\te.%s = tapir_part__text8(&parts[%u]);\n", f->id, idx);
		break;
	case TEXT16:
		tapir_str__addf(out, "\ttapir_part__text16(&parts[%u], e.%s, sizeof(e.%s));\n", idx,
				f->id, f->id);
		break;
	case ID:
		tapir_str__addf(out, "\ttapir_part__guid(&parts[%u], e.%s);\n", idx, f->id);
		break;
	case NUMBERS:
	case BYTES:
		tapir_str__addf(out,
				"\te.%s = (const %s *)(const void *)parts[%u].at;\n"
				"\te.%s_tapir_cnt = parts[%u].%s;\n",
				f->id, lttng_type(f->layout), idx, f->id, idx,
				form_of(f->layout) == NUMBERS ? "cnt" : "bytes");
	}
}

static void add_log(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	unsigned cnt = ev->layout->field_cnt;

	tapir_str__addf(
		out,
		"static void log_%s(const struct tapir_event_record *record,\n"
		"\t\tconst struct tapir_lttng_tools *tools)\n{\n"
		"\tstruct tapir_payload_part parts[%u];\n\tstruct %s_%s_lttng e;\n\n"
		"\tif (!lttng_ust_tracepoint_enabled(%s, %s))\n\t\treturn;\n"
		"\tmemset(parts, 0, sizeof(parts));\n"
		"\ttools->locate(record->kind->about, record->payload, record->payload_bytes,\n"
		"\t\t\tparts, %u);\n\t(void)e;\n",
		ev->id, cnt ? cnt : 1, p->id, ev->id, p->id, ev->id, cnt);
	for (unsigned i = 0; i < cnt; i++)
		add_read(&ev->fields[i], i, out);
	tapir_str__addf(out, "\tlttng_ust_do_tracepoint(%s, %s, &e);\n}\n\n", p->id, ev->id);
}

/* An event of the same name with other fields, which a program defined itself, is not it. */
static void add_table(const struct c_provider *p, struct tapir_str *out)
{
	tapir_str__adds(out, "static const struct {\n\tconst char *name;\n"
			     "\tuint16_t id, field_cnt;\n\tuint8_t version;\n"
			     "\tvoid (*log)(const struct tapir_event_record *,\n"
			     "\t\t    const struct tapir_lttng_tools *);\n} events[] = {\n");
	for (unsigned i = 0; i < p->layout->event_cnt; i++)
		tapir_str__addf(out, "\t{\"%s\", %u, %u, %u, log_%s},\n", p->events[i].id,
				p->layout->events[i].id, p->events[i].layout->field_cnt,
				p->layout->events[i].version, p->events[i].id);
	tapir_str__adds(
		out,
		"};\n\nvoid tapir_lttng_log(const struct tapir_event_record *record, void *ctx)\n{\n"
		"\tconst struct tapir_event_about *about = record->kind->about;\n\n"
		"\tfor (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)\n"
		"\t\tif (events[i].id == about->id && events[i].version == about->version &&\n"
		"\t\t    events[i].field_cnt == about->field_cnt &&\n"
		"\t\t    !strcmp(events[i].name, about->name)) {\n"
		"\t\t\tevents[i].log(record, (const struct tapir_lttng_tools *)ctx);\n"
		"\t\t\treturn;\n\t\t}\n}\n");
}

void emit_lttng_source(const struct c_provider *p, struct tapir_str *out)
{
	if (!p->layout->event_cnt)
		return;
	tapir_str__addf(
		out,
		"/* Made by tapir-manifest: do not edit. cc -shared -fPIC -I. %s_lttng.c\n"
		" * -llttng-ust -o libtapir-lttng-NAME.so, NAME as the provider's in its manifest. */\n"
		"#define LTTNG_UST_TRACEPOINT_CREATE_PROBES\n"
		"#define LTTNG_UST_TRACEPOINT_DEFINE\n#include \"%s_lttng.h\"\n\n"
		"#include <string.h>\n#include <tapir/logger.h>\n\n"
		"const char tapir_lttng_provider[] = ",
		p->id, p->id);
	c_text__add(out, p->layout->name);
	tapir_str__adds(out,
			";\nvoid tapir_lttng_log(const struct tapir_event_record *record, void "
			"*ctx);\n\n");
	for (unsigned i = 0; i < p->layout->event_cnt; i++)
		add_log(p, &p->events[i], out);
	add_table(p, out);
}
