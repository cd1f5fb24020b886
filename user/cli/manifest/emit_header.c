// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The header that a program includes: constants of keywords, tasks, opcodes and maps, structures,
 * and for each event the question whether it is on and the function that fires it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/map.h"
#include "cli/manifest/emit_c.h"

#define HEAD_BYTES 2048 /* of a name of at most 1,024 characters */

/* ---- constants ------------------------------------------------------------------------------- */

static uint64_t manifest_text_hash(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}

/* "#define P_KEYWORD_GC 0x1ull"; of two that come out the same, the second is a comment. */
static void add_constant(struct tapir_map *seen, struct tapir_str *out, const char *head,
			 const char *name, uint64_t value, const char *suffix)
{
	struct tapir_str id = {};
	bool is_new = false;

	tapir_str__adds(&id, head);
	c_id__add(&id, name);
	if (id.data && tapir_map__put(seen, manifest_text_hash(id.data), &is_new) && is_new)
		tapir_str__addf(out, "#define %s 0x%" PRIx64 "%s\n", id.data, value, suffix);
	else
		tapir_str__addf(out, "/* %s again: 0x%" PRIx64 " */\n", id.data ? id.data : "",
				value);
	tapir_str__fini(&id);
}

static void add_names(const struct c_provider *p, struct tapir_map *seen, struct tapir_str *out,
		      const char *kind, const struct tapir_manifest_name *names, unsigned cnt)
{
	char head[HEAD_BYTES];

	snprintf(head, sizeof(head), "%s_%s_", p->id, kind);
	for (unsigned i = 0; i < cnt; i++)
		if (names[i].value != TAPIR_MANIFEST_NO_VALUE)
			add_constant(seen, out, head,
				     *names[i].symbol ? names[i].symbol : names[i].name,
				     names[i].value, "");
}

static void add_map(const struct c_provider *p, struct tapir_map *seen, struct tapir_str *out,
		    const struct tapir_layout_map *map)
{
	struct tapir_str head = {};

	tapir_str__addf(&head, "%s_", p->id);
	c_id__add(&head, map->name);
	tapir_str__addc(&head, '_');
	for (unsigned i = 0; i < map->value_cnt && !head.failed; i++)
		add_constant(seen, out, head.data, map->values[i].name, map->values[i].value, "u");
	tapir_str__fini(&head);
}

static void add_constants(const struct c_provider *p, struct tapir_str *out)
{
	const struct tapir_manifest_extra *x = p->extra;
	struct tapir_map seen = {};
	char head[HEAD_BYTES];

	snprintf(head, sizeof(head), "%s_KEYWORD_", p->id);
	for (unsigned i = 0; i < p->layout->keyword_cnt; i++)
		add_constant(&seen, out, head, p->layout->keywords[i].name,
			     p->layout->keywords[i].mask, "ull");
	add_names(p, &seen, out, "LEVEL", x->levels, x->level_cnt);
	add_names(p, &seen, out, "TASK", x->tasks, x->task_cnt);
	add_names(p, &seen, out, "OPCODE", x->opcodes, x->opcode_cnt);
	for (unsigned i = 0; i < x->map_cnt; i++)
		add_map(p, &seen, out, x->maps[i]);
	tapir_map__fini(&seen);
	tapir_str__addc(out, '\n');
}

/* ---- structures ------------------------------------------------------------------------------ */

static void add_struct(const struct c_field *f, struct tapir_str *out)
{
	for (unsigned i = 0; i < f->layout->member_cnt; i++)
		if (f->members[i].struct_id)
			add_struct(&f->members[i], out);
	tapir_str__addf(out, "struct %s {\n", f->struct_id);
	for (unsigned i = 0; i < f->layout->member_cnt; i++) {
		const struct c_field *m = &f->members[i];

		if (m->struct_id)
			tapir_str__addf(out, "\tconst struct %s *%s;\n", m->struct_id, m->id);
		else
			tapir_str__addf(out, "\t%s%s;\n", c_field__type(m), m->id);
	}
	if (!f->layout->member_cnt)
		tapir_str__adds(out, "\tchar is_empty;\n");
	tapir_str__adds(out, "};\n");
}

static void add_structs(const struct c_provider *p, const struct c_event *ev, struct tapir_str *out)
{
	for (unsigned i = 0; i < ev->layout->field_cnt && !p->is_coreclr; i++)
		if (ev->fields[i].struct_id)
			add_struct(&ev->fields[i], out);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void add_comment(const struct c_event *ev, struct tapir_str *out)
{
	tapir_str__addf(out, "/* %u version %u, level %u, keywords 0x%" PRIx64, ev->layout->id,
			ev->layout->version, ev->layout->level, ev->layout->keywords);
	if (*ev->more->message) {
		tapir_str__adds(out, ": ");
		c_comment__add(out, ev->more->message);
	}
	tapir_str__adds(out, " */\n");
}

static void emit_event_functions(const struct c_provider *p, const struct c_event *ev,
				 struct tapir_str *out)
{
	const char *inl = "static inline __attribute__((unused)) ";

	tapir_str__addf(out,
			"extern __attribute__((visibility(\"hidden\"))) struct tapir_event %s_%s;\n"
			"__attribute__((visibility(\"hidden\"))) void %s_%s_fire(",
			p->id, ev->id, p->id, ev->id);
	c_event__add_params(p, ev, out);
	if (p->is_coreclr)
		tapir_str__addf(out, ");\n%sint EventEnabled%s(void)\n", inl, ev->id);
	else
		tapir_str__addf(out, ");\n%sint %s_enabled(void)\n", inl, ev->id);
	tapir_str__addf(out, "{\n\treturn TAPIR_EVENT_ENABLED(%s_%s);\n}\n", p->id, ev->id);
	if (p->is_coreclr)
		tapir_str__addf(out, "%suint32_t FireEtw%s(", inl, ev->id);
	else
		tapir_str__addf(out, "%svoid fire_%s(", inl, ev->id);
	c_event__add_params(p, ev, out);
	tapir_str__addf(out, ")\n{\n\tif (TAPIR_EVENT_ENABLED(%s_%s))\n\t\t%s_%s_fire(", p->id,
			ev->id, p->id, ev->id);
	c_event__add_args(p, ev, out);
	tapir_str__adds(out, p->is_coreclr ? ");\n\treturn 0;\n}\n\n" : ");\n}\n\n");
}

static void add_provider(const struct c_provider *p, struct tapir_str *out)
{
	tapir_str__addf(out,
			"/* The provider's events are on between the two; not twice. See\n"
			"   tapir_provider__new. opts may be NULL. */\n"
			"int %s_register(const struct tapir_provider_opts *opts);\n"
			"void %s_unregister(void);\n"
			"/* NULL while it is not registered. */\n"
			"struct tapir_provider *%s_provider(void);\n"
			"/* All events with the layouts of their payloads, for decoders. */\n"
			"extern struct tapir_event *const %s_events[];\n"
			"#define %s_EVENT_CNT %uu\n\n",
			p->id, p->id, p->id, p->id, p->id, p->layout->event_cnt);
}

void emit_header(const struct c_provider *p, struct tapir_str *out)
{
	tapir_str__adds(out, "/* Made by tapir-manifest: do not edit. Events of ");
	c_comment__add(out, p->layout->name);
	tapir_str__addf(out,
			". */\n#ifndef %s_TAPIR_EVENTS_H\n#define %s_TAPIR_EVENTS_H\n\n"
			"#include <tapir/provider.h>\n\n"
			"#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
			p->id, p->id);
	add_constants(p, out);
	add_provider(p, out);
	for (unsigned i = 0; i < p->layout->event_cnt; i++) {
		add_structs(p, &p->events[i], out);
		add_comment(&p->events[i], out);
		emit_event_functions(p, &p->events[i], out);
	}
	tapir_str__adds(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
