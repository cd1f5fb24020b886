// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables made from usdt/manifests beside two witnesses in tests/data/dotnet: the table of
 * events (coreclr-events.tsv) and the manifests a .NET 10.0.12 runtime printed of itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/str.h"
#include "decode/dotnet_tables.h"
#include "decode/manifest.h"

#define TSV   "tests/data/dotnet/coreclr-events.tsv" /* tests run at the root of the tree */
#define SV(x) tapir_sv__of(x)

/* ---- a layout in the words of the table -------------------------------------------------------- */

static const char *type_word(unsigned type)
{
	static const char *const words[TAPIR_LAYOUT_TYPE_CNT] = {
		[TAPIR_LAYOUT_U8] = "UInt8",
		[TAPIR_LAYOUT_U16] = "UInt16",
		[TAPIR_LAYOUT_U32] = "UInt32",
		[TAPIR_LAYOUT_U64] = "UInt64",
		[TAPIR_LAYOUT_I32] = "Int32",
		[TAPIR_LAYOUT_I64] = "Int64",
		[TAPIR_LAYOUT_F64] = "Double",
		[TAPIR_LAYOUT_PTR] = "Pointer",
		[TAPIR_LAYOUT_BOOL32] = "Boolean",
		[TAPIR_LAYOUT_GUID] = "GUID",
		[TAPIR_LAYOUT_UTF16] = "UnicodeString",
		[TAPIR_LAYOUT_UTF8] = "AnsiString",
		[TAPIR_LAYOUT_I16] = "Int16",
		[TAPIR_LAYOUT_F32] = "Float",
		[TAPIR_LAYOUT_BINARY] = "Binary",
		[TAPIR_LAYOUT_I8] = "Int8",
	};

	return words[type] ? words[type] : "?";
}

static void say_fields(struct tapir_str *out, const struct tapir_layout_field *fields, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++) {
		const struct tapir_layout_field *f = &fields[i];

		tapir_str__addf(out, "%s%s", i ? " " : "", f->name);
		if (f->type != TAPIR_LAYOUT_STRUCT)
			tapir_str__addf(out, ":%s", type_word(f->type));
		if (f->repeat == TAPIR_REPEAT_FIXED)
			tapir_str__addf(out, "[%u]", f->count);
		if (f->repeat == TAPIR_REPEAT_FIELD)
			tapir_str__addf(out, "[%s]", fields[f->count].name);
		if (f->type == TAPIR_LAYOUT_STRUCT) {
			tapir_str__addc(out, '(');
			say_fields(out, f->members, f->member_cnt);
			tapir_str__addc(out, ')');
		}
		if (f->map)
			tapir_str__addf(out, "=%s", f->map->name);
	}
}

/* Where the table is known to be less exact: what the runtime sends there instead (coreclr.md). */
static const struct {
	const char *table, *ours;
} repairs[] = {
	{"TypeParameters:UInt64)", "TypeParameters:UInt64[TypeParameterCount])"},
	{"Stack:Pointer[2]", "Stack:Pointer[FrameCount]"},
};

static void repair(const char *text, struct tapir_str *out)
{
	for (size_t i = 0; i < sizeof(repairs) / sizeof(repairs[0]); i++) {
		const char *at = strstr(text, repairs[i].table);

		if (!at)
			continue;
		tapir_str__add(out, text, (size_t)(at - text));
		tapir_str__adds(out, repairs[i].ours);
		tapir_str__adds(out, at + strlen(repairs[i].table));
		return;
	}
	tapir_str__adds(out, text);
}

/* "A:UInt8=Map" and "A:UInt8" of the table agree with the same field with a map. */
static bool agree(const char *table, const char *ours)
{
	while (*table && *ours) {
		if (*table == *ours) {
			table++, ours++;
		} else if (*ours == '=' && (*table == ' ' || *table == ')')) {
			ours += strcspn(ours, " )");
		} else {
			return false;
		}
	}
	if (*ours == '=')
		ours += strcspn(ours, " )");
	return !*table && (!*ours || *ours == ' ');
}

/* ---- the table ------------------------------------------------------------------------------- */

static unsigned split(char *line, char **cols, unsigned max)
{
	unsigned cnt = 0;

	for (char *at = line; at && cnt < max;)
		cols[cnt++] = strsep(&at, "\t");
	while (cnt < max)
		cols[cnt++] = (char[]){""};
	return cnt;
}

static void check_event(char **c)
{
	const struct tapir_layout_event *ev =
		tapir_dotnet_event__find(SV(c[0]), (uint16_t)atoi(c[1]), (uint8_t)atoi(c[2]));
	struct tapir_str ours = {}, table = {};

	if (!ev || ev->id != atoi(c[1]) || ev->version != atoi(c[2]))
		fail_msg("%s %s v%s is not there", c[0], c[1], c[2]);
	assert_string_equal(ev->symbol, c[3]);
	assert_int_equal(ev->level, atoi(c[4]));
	assert_int_equal(ev->keywords, strtoull(c[5], NULL, 16));
	assert_string_equal(ev->opcode, c[6]);
	assert_memory_equal(ev->name, c[3], strlen(ev->name));
	say_fields(&ours, ev->fields, ev->field_cnt);
	repair(c[8], &table);
	if (table.len && !agree(table.data, ours.data ? ours.data : ""))
		fail_msg("%s %s v%s\ntable: %s\nours:  %s", c[0], c[1], c[2], table.data,
			 ours.data);
	tapir_str__fini(&ours);
	tapir_str__fini(&table);
}

static void check_provider(char **c)
{
	const struct tapir_layout_provider *p = tapir_dotnet_provider__find(SV(c[1]));
	char guid[64], *keywords = c[3];
	uint64_t mask;

	assert_non_null(p);
	snprintf(guid, sizeof(guid),
		 "{%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x}",
		 p->guid[3], p->guid[2], p->guid[1], p->guid[0], p->guid[5], p->guid[4], p->guid[7],
		 p->guid[6], p->guid[8], p->guid[9], p->guid[10], p->guid[11], p->guid[12],
		 p->guid[13], p->guid[14], p->guid[15]);
	assert_int_equal(strcasecmp(guid, c[2]), 0);
	for (char *word; (word = strsep(&keywords, " ")) && *word;) {
		char *name = strsep(&word, "=");

		assert_true(tapir_dotnet_keyword__find(p, SV(name), &mask));
		assert_int_equal(mask, strtoull(word, NULL, 16));
	}
}

/* The map of that name, found at a field of the provider's. */
static const struct tapir_layout_map *find_map(const struct tapir_layout_field *fields,
					       unsigned cnt, const char *name)
{
	for (unsigned i = 0; i < cnt; i++) {
		const struct tapir_layout_map *map =
			find_map(fields[i].members, fields[i].member_cnt, name);

		if (map)
			return map;
		if (fields[i].map && !strcmp(fields[i].map->name, name))
			return fields[i].map;
	}
	return NULL;
}

/* "0x1=InducedMapMessage": ours is called Induced. Maps that no field has need not be there. */
static bool check_map(char **c)
{
	const struct tapir_layout_provider *p = tapir_dotnet_provider__find(SV(c[1]));
	const struct tapir_layout_map *map = NULL;
	char *values = c[3];

	for (unsigned i = 0; i < p->event_cnt && !map; i++)
		map = find_map(p->events[i].fields, p->events[i].field_cnt, c[2]);
	for (char *word; map && (word = strsep(&values, " ")) && *word;) {
		uint32_t value = (uint32_t)strtoul(strsep(&word, "="), NULL, 0);
		const char *name = NULL;

		for (unsigned i = 0; i < map->value_cnt && !name; i++)
			if (map->values[i].value == value)
				name = map->values[i].name;
		assert_non_null(name);
		assert_memory_equal(name, word, strlen(name));
		word += strlen(name);
		assert_true(!*word || !strcmp(word, "Message") || !strcmp(word, "MapMessage"));
	}
	return map;
}

static void the_tables_say_what_the_table_of_events_says(void **state)
{
	tapir_autofree char *text = NULL;
	unsigned events = 0, providers = 0, maps = 0;
	char *rest, *line;
	size_t len;

	(void)state;
	assert_int_equal(tapir_file__read(TSV, 1 << 20, &text, &len), 0);
	for (rest = text; (line = strsep(&rest, "\n"));) {
		char *c[9];

		if (!*line || *line == '#')
			continue;
		split(line, c, 9);
		if (!strcmp(c[0], "provider")) {
			check_provider(c);
			providers++;
		} else if (!strcmp(c[0], "map")) {
			maps += check_map(c);
		} else {
			check_event(c);
			events++;
		}
	}
	assert_int_equal(providers, 8);
	assert_int_equal(events, 475);
	assert_true(maps >= 30);
}

/* ---- what the runtime printed ---------------------------------------------------------------- */

static void check_printed(const struct tapir_layout_provider *printed)
{
	for (unsigned i = 0; i < printed->event_cnt; i++) {
		const struct tapir_layout_event *want = &printed->events[i];
		const struct tapir_layout_event *ev =
			tapir_dotnet_event__find(SV(printed->name), want->id, want->version);
		struct tapir_str ours = {}, theirs = {};

		assert_non_null(ev);
		assert_string_equal(ev->name, want->name);
		assert_int_equal(ev->version, want->version);
		assert_int_equal(ev->level, want->level);
		assert_int_equal(ev->keywords, want->keywords);
		assert_string_equal(ev->task, want->task);
		say_fields(&ours, ev->fields, ev->field_cnt);
		say_fields(&theirs, want->fields, want->field_cnt);
		if (theirs.len && !agree(theirs.data, ours.data))
			fail_msg("%s\nprinted: %s\nours:    %s", ev->symbol, theirs.data,
				 ours.data);
		tapir_str__fini(&ours);
		tapir_str__fini(&theirs);
	}
}

static void the_tables_say_what_the_runtime_printed(void **state)
{
	static const char *const files[] = {"System.Buffers.ArrayPoolEventSource",
					    "System.Diagnostics.Tracing.RuntimeEventSource",
					    "System.Diagnostics.Tracing.FrameworkEventSource",
					    "System.Diagnostics.Tracing.NativeRuntimeEventSource",
					    "System.Threading.Tasks.TplEventSource"};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct tapir_manifest *m;
		char path[128];

		snprintf(path, sizeof(path), "tests/data/dotnet/%s.man", files[i]);
		assert_int_equal(tapir_manifest__read(path, &m), 0);
		assert_int_equal(tapir_manifest__provider_cnt(m), 1);
		check_printed(tapir_manifest__provider(m, 0));
		tapir_manifest__free(m);
	}
}

/* ---- looking up ------------------------------------------------------------------------------ */

static void an_unknown_version_has_the_layout_below_it(void **state)
{
	static const struct {
		uint16_t id;
		uint8_t version, found;
	} cases[] = {{1, 0, 0},	  {1, 2, 2},   {1, 9, 2},  {10, 255, 4},
		     {205, 0, 4}, {205, 5, 4}, {303, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tapir_layout_event *ev = tapir_dotnet_event__find(
			SV(TAPIR_DOTNET_RUNTIME), cases[i].id, cases[i].version);

		assert_non_null(ev);
		assert_int_equal(ev->id, cases[i].id);
		assert_int_equal(ev->version, cases[i].found);
	}
	assert_null(tapir_dotnet_event__find(SV(TAPIR_DOTNET_RUNTIME), 999, 0));
	assert_null(tapir_dotnet_event__find(SV("MyCompany-Demo"), 1, 0));
}

static void names_are_public_and_never_missing(void **state)
{
	static const struct {
		const char *provider, *name;
		uint16_t id;
		uint8_t version;
	} cases[] = {
		{"Microsoft-Windows-DotNETRuntime", "GCStart", 1, 2},
		{"Microsoft-Windows-DotNETRuntime", "DCStartCompleteV2", 135, 0},
		{"Microsoft-Windows-DotNETRuntime", "EventID(123)", 123, 0},
		{"microsoft-windows-dotnetruntime", "MethodLoadVerbose", 143, 1},
		{"Microsoft-Windows-DotNETRuntimeRundown", "MethodDCEndVerbose", 144, 2},
		{"Microsoft-DotNETCore-SampleProfiler", "ThreadSample", 0, 0},
		{"Other", "EventID(65535)", 65535, 0},
	};
	char buf[TAPIR_EVENT_ID_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_sv name = tapir_dotnet_event__name(SV(cases[i].provider), cases[i].id,
								cases[i].version, buf);

		assert_int_equal(name.len, strlen(cases[i].name));
		assert_memory_equal(name.data, cases[i].name, name.len);
	}
}

static void every_provider_is_found_by_its_number_and_its_name(void **state)
{
	const struct tapir_layout_provider *p;
	unsigned cnt = 0;
	uint64_t mask;

	(void)state;
	for (; (p = tapir_dotnet_provider__at(cnt)); cnt++)
		assert_ptr_equal(tapir_dotnet_provider__find(SV(p->name)), p);
	assert_true(cnt >= 9);
	p = tapir_dotnet_provider__find(SV(TAPIR_DOTNET_RUNTIME));
	assert_true(tapir_dotnet_keyword__find(p, SV("gcheapcollect"), &mask));
	assert_int_equal(mask, 0x800000);
	assert_false(tapir_dotnet_keyword__find(p, SV("GCx"), &mask));
}

static void keywords_of_event_sources_are_known(void **state)
{
	static const struct {
		const char *provider, *keyword;
		uint64_t mask;
	} cases[] = {
		{"System.Net.Http", "RequestFailedDetailed", 1},
		{"Private.InternalDiagnostics.System.Net.Http", "Debug", 2},
		{"System.Threading.Tasks.TplEventSource", "TasksFlowActivityIds", 0x80},
		{"Microsoft-Diagnostics-DiagnosticSource", "EntityFrameworkCoreCommands", 0x2000},
		{"System.Diagnostics.Metrics", "TimeSeriesValues", 2},
		{"Microsoft-Extensions-Logging", "JsonMessage", 8},
	};
	static const char *const without[] = {
		"System.Net.Sockets",		"System.Net.NameResolution",
		"System.Net.Security",		"Microsoft-AspNetCore-Server-Kestrel",
		"Microsoft.AspNetCore.Hosting", "Microsoft.EntityFrameworkCore"};
	uint64_t mask;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tapir_layout_provider *p =
			tapir_dotnet_provider__find(SV(cases[i].provider));

		assert_non_null(p);
		assert_true(tapir_dotnet_keyword__find(p, SV(cases[i].keyword), &mask));
		assert_int_equal(mask, cases[i].mask);
	}
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_non_null(tapir_dotnet_provider__find(SV(without[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_say_what_the_table_of_events_says),
		cmocka_unit_test(the_tables_say_what_the_runtime_printed),
		cmocka_unit_test(an_unknown_version_has_the_layout_below_it),
		cmocka_unit_test(names_are_public_and_never_missing),
		cmocka_unit_test(every_provider_is_found_by_its_number_and_its_name),
		cmocka_unit_test(keywords_of_event_sources_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
