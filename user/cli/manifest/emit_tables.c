// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Layouts as C initializers. Parts that events share (templates, maps) are written once and found
 * again by their address, which halves the size of the tables.
 */
#include "cli/manifest/emit_tables.h"

#include <inttypes.h>

#include "cli/manifest/c_names.h"

#define MAP_VALUES_A_LINE 4

/* "" for NULL. */
static void add_string(struct tapir_str *out, const char *text)
{
	c_text__add(out, text ? text : "");
}

/* 0: it was emitted before. */
static uint64_t number_for(struct tapir_map *map, const void *array, bool *is_new)
{
	uint64_t *number = tapir_map__put(map, (uint64_t)(uintptr_t)array, is_new);

	if (!number)
		return 0;
	if (*is_new)
		*number = map->cnt;
	return *number;
}

static uint64_t emit_map(struct emit_tables *e, const struct tapir_layout_map *map)
{
	bool is_new = false;
	uint64_t number = map ? number_for(&e->maps, map, &is_new) : 0;

	if (!is_new)
		return number;
	tapir_str__addf(&e->out, "static const struct tapir_layout_value v%" PRIu64 "[] = {\n",
			number);
	for (unsigned i = 0; i < map->value_cnt; i++) {
		tapir_str__addc(&e->out, '{');
		add_string(&e->out, map->values[i].name);
		tapir_str__addf(&e->out, ",0x%x,0x%x},%s", map->values[i].value,
				map->values[i].mask, i % MAP_VALUES_A_LINE == 3 ? "\n" : "");
	}
	tapir_str__addf(&e->out, "};\nstatic const struct tapir_layout_map m%" PRIu64 " = {",
			number);
	add_string(&e->out, map->name);
	tapir_str__addf(&e->out, ",v%" PRIu64 ",%u,%u};\n", number, map->value_cnt, map->is_bits);
	return number;
}

static uint64_t emit_fields(struct emit_tables *e, const struct tapir_layout_field *fields,
			    unsigned cnt);

static void emit_field(struct emit_tables *e, const struct tapir_layout_field *f)
{
	uint64_t members = f->member_cnt ? *tapir_map__get(&e->fields, (uintptr_t)f->members) : 0;
	uint64_t map = f->map ? *tapir_map__get(&e->maps, (uintptr_t)f->map) : 0;

	tapir_str__addc(&e->out, '{');
	add_string(&e->out, f->name);
	if (map)
		tapir_str__addf(&e->out, ",&m%" PRIu64, map);
	else
		tapir_str__adds(&e->out, ",0");
	if (members)
		tapir_str__addf(&e->out, ",f%" PRIu64, members);
	else
		tapir_str__adds(&e->out, ",0");
	tapir_str__addf(&e->out, ",%u,%u,%u,TAPIR_LAYOUT_%s,%u,%u},\n", f->member_cnt, f->count,
			f->min_bytes, tapir_layout_type__name(f->type), f->repeat, f->named_by);
}

/* The number of the array; 0: it is empty. As deep as a template, which is bounded. */
static uint64_t emit_fields(struct emit_tables *e, const struct tapir_layout_field *fields,
			    unsigned cnt)
{
	const uint64_t *known = tapir_map__get(&e->fields, (uintptr_t)fields);
	bool is_new;
	uint64_t number;

	if (!cnt || known)
		return known ? *known : 0;
	for (unsigned i = 0; i < cnt; i++) {
		emit_fields(e, fields[i].members, fields[i].member_cnt);
		emit_map(e, fields[i].map);
	}
	number = number_for(&e->fields, fields, &is_new);
	tapir_str__addf(&e->out, "static const struct tapir_layout_field f%" PRIu64 "[] = {\n",
			number);
	for (unsigned i = 0; i < cnt; i++)
		emit_field(e, &fields[i]);
	tapir_str__adds(&e->out, "};\n");
	return number;
}

static void emit_event(struct emit_tables *e, const struct tapir_layout_event *ev)
{
	tapir_str__addc(&e->out, '{');
	add_string(&e->out, ev->name);
	tapir_str__addc(&e->out, ',');
	add_string(&e->out, ev->symbol);
	tapir_str__addc(&e->out, ',');
	add_string(&e->out, ev->task);
	tapir_str__addc(&e->out, ',');
	add_string(&e->out, ev->opcode);
	if (ev->field_cnt)
		tapir_str__addf(&e->out, ",f%" PRIu64,
				*tapir_map__get(&e->fields, (uintptr_t)ev->fields));
	else
		tapir_str__adds(&e->out, ",0");
	tapir_str__addf(&e->out, ",0x%" PRIx64 "ull,%u,%u,%u,%u},\n", ev->keywords, ev->field_cnt,
			ev->id, ev->version, ev->level);
}

void emit_tables__begin(struct emit_tables *e)
{
	tapir_str__adds(&e->out, "/* Made by tapir-manifest --tables: do not edit. */\n"
				 "#include \"decode/dotnet_tables_impl.h\"\n\n");
}

void emit_tables__provider(struct emit_tables *e, const struct tapir_layout_provider *p)
{
	unsigned n = e->provider_cnt++;

	for (unsigned i = 0; i < p->event_cnt; i++)
		emit_fields(e, p->events[i].fields, p->events[i].field_cnt);
	tapir_str__addf(&e->out, "static const struct tapir_layout_keyword k%u[] = {\n", n);
	for (unsigned i = 0; i < p->keyword_cnt; i++) {
		tapir_str__addc(&e->out, '{');
		add_string(&e->out, p->keywords[i].name);
		tapir_str__addf(&e->out, ",0x%" PRIx64 "ull},\n", p->keywords[i].mask);
	}
	tapir_str__addf(&e->out, "{0,0}};\nstatic const struct tapir_layout_event e%u[] = {\n", n);
	for (unsigned i = 0; i < p->event_cnt; i++)
		emit_event(e, &p->events[i]);
	tapir_str__addf(&e->out, "{0}};\nstatic const struct tapir_layout_provider p%u = {\n", n);
	add_string(&e->out, p->name);
	tapir_str__adds(&e->out, ",{");
	for (unsigned i = 0; i < sizeof(p->guid); i++)
		tapir_str__addf(&e->out, "0x%02x,", p->guid[i]);
	tapir_str__addf(&e->out, "},k%u,e%u,%u,%u};\n", n, n, p->keyword_cnt, p->event_cnt);
}

void emit_tables__end(struct emit_tables *e)
{
	tapir_str__adds(&e->out,
			"const struct tapir_layout_provider *const tapir_dotnet_providers[] = {\n");
	for (unsigned i = 0; i < e->provider_cnt; i++)
		tapir_str__addf(&e->out, "&p%u,\n", i);
	tapir_str__addf(&e->out, "0};\nconst unsigned tapir_dotnet_provider_cnt = %u;\n",
			e->provider_cnt);
}

void emit_tables__fini(struct emit_tables *e)
{
	tapir_str__fini(&e->out);
	tapir_map__fini(&e->fields);
	tapir_map__fini(&e->maps);
}
