// SPDX-License-Identifier: GPL-2.0-or-later
/* Manifests of others: what is read, and what is refused with a line that says where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/str.h"
#include "decode/dotnet_tables.h"
#include "decode/manifest.h"

#define HEAD                                                                                       \
	"<instrumentationManifest><instrumentation><events>"                                       \
	"<provider name='Foreign' guid='{00112233-4455-6677-8899-aabbccddeeff}'>"
#define FOOT "</provider></events></instrumentation></instrumentationManifest>"

static int parse(const char *text, struct tapir_manifest **out)
{
	tapir_diag__clear();
	return tapir_manifest__parse("m.man", text, strlen(text), out);
}

static void a_manifest_is_read_whatever_order_its_parts_have(void **state)
{
	static const char text[] =
		HEAD "<events><event value='5' version='1' level='win:Warning' symbol='Order_V1' "
		     "keywords=' A  B ' task='Order' opcode='win:Start' template='T'/>"
		     "<event value='5' symbol='Order' level='2'/>"
		     "<event value='6' task='Order' opcode='win:Stop'/><event value='7'/></events>"
		     "<templates><template tid='T'><data name='n' inType='win:UInt8'/>"
		     "<data name='s' inType='win:UnicodeString' length='n'/>"
		     "<data name='e' inType='win:UInt32' map='M'/>"
		     "<struct name='l' count='n'><data name='x' inType='win:Int16'/></struct>"
		     "</template></templates>"
		     "<maps><valueMap name='M'><map value='1' message='$(string.map_M.One)'/>"
		     "<map value='0x2' message='T&quot;w\\o'/></valueMap></maps>"
		     "<keywords><keyword name='A' mask='0x1'/><keyword name='B' "
		     "mask='4'/></keywords>" FOOT;
	const struct tapir_layout_provider *p;
	struct tapir_manifest *m = NULL;

	(void)state;
	assert_int_equal(parse(text, &m), 0);
	p = tapir_manifest__provider(m, 0);
	assert_string_equal(p->name, "Foreign");
	assert_memory_equal(p->guid, "\x33\x22\x11\x00\x55\x44\x77\x66\x88\x99\xaa\xbb", 12);
	assert_int_equal(p->event_cnt, 4);
	assert_int_equal(p->events[0].version, 0);
	assert_int_equal(p->events[0].level, 2);
	assert_string_equal(p->events[1].symbol, "Order_V1");
	assert_string_equal(p->events[1].name, "Order");
	assert_int_equal(p->events[1].keywords, 5);
	assert_int_equal(p->events[1].level, 3);
	assert_string_equal(p->events[2].name, "OrderStop");
	assert_string_equal(p->events[3].name, "EventID(7)");
	assert_int_equal(p->events[1].field_cnt, 4);
	assert_int_equal(p->events[1].fields[1].type, TAPIR_LAYOUT_UTF16N);
	assert_string_equal(p->events[1].fields[2].map->values[0].name, "One");
	assert_string_equal(p->events[1].fields[2].map->values[1].name, "T_w_o");
	assert_string_equal(p->events[1].fields[3].members[0].name, "x");
	tapir_manifest__free(m);
}

/* Manifests with one mistake each, and a part of the line that reports it. */
static const struct {
	const char *text, *line;
} wrong[] = {
	{"", "m.man:"},
	{"no xml", "malformed XML"},
	{"<a>", "malformed XML"},
	{"<a/>", "<a>: no manifest: it lacks: instrumentationManifest"},
	{"<instrumentationManifest><instrumentation><events/></instrumentation>"
	 "</instrumentationManifest>",
	 "it lacks: provider"},
	{HEAD "<events><event symbol='x'/></events>" FOOT,
	 "m.man:1:130: <event> has no attribute value: expected a number from 0 to 65535"},
	{HEAD "<events><event value='65536'/></events>" FOOT,
	 "attribute value of <event> is '65536': expected a number from 0 to 65535"},
	{HEAD "<events><event value='1' version='256'/></events>" FOOT,
	 "attribute version of <event> is '256': expected a number from 0 to 255"},
	{HEAD "<events>\n<event value='1' level='win:Loud'/></events>" FOOT,
	 "m.man:2:18: attribute level of <event> is 'win:Loud': expected win:LogAlways"},
	{HEAD "<events><event value='1' keywords='Q'/></events>" FOOT,
	 "attribute keywords of <event> is 'Q': expected names of <keyword> elements"},
	{HEAD "<events><event value='1' template='Q'/></events>" FOOT,
	 "attribute template of <event> is 'Q': expected the tid of a <template>"},
	{HEAD "<keywords><keyword name='K'/></keywords>" FOOT,
	 "<keyword> has no attribute mask: expected a 64-bit number"},
	{HEAD "<maps><bitMap name='M'><map value='4294967296' "
	      "message='x'/></bitMap></maps>" FOOT,
	 "attribute value of <map> is '4294967296': expected a 32-bit number"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:Odd'/></template>"
	      "</templates>" FOOT,
	 "attribute inType of <data> is 'win:Odd': expected win:UInt8"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:UInt8' map='M'/>"
	      "</template></templates>" FOOT,
	 "attribute map of <data> is 'M': expected the name of a <valueMap>"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:UInt8' count='a'/>"
	      "</template></templates>" FOOT,
	 "attribute count of <data> is 'a': expected a number up to 65535 or the"},
	{HEAD "<templates><template tid='T'><data name='s' inType='win:UnicodeString'/>"
	      "<data name='a' inType='win:UInt8' count='s'/></template></templates>" FOOT,
	 "attribute count of <data> is 's': expected a number up to 65535 or the"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:Binary'/></template>"
	      "</templates>" FOOT,
	 "<data> has no attribute length: expected the size of a win:Binary"},
	{HEAD "<templates><template tid='T'><struct name='a' count='2'/></template>"
	      "</templates>" FOOT,
	 "an array of empty structs"},
	{"<instrumentationManifest><instrumentation><events><provider name='' /></events>"
	 "</instrumentation></instrumentationManifest>",
	 "<provider>: expected a name of 1 to 1024 bytes"},
	{"<instrumentationManifest><instrumentation><events><provider name='P' guid='1'/>"
	 "</events></instrumentation></instrumentationManifest>",
	 "attribute guid of <provider> is '1': expected {xxxxxxxx-"},
	{HEAD "<events><event value='7'/>\n  <event value='8'/>\n  <event symbol='x' "
	      "value='7'/></events>" FOOT,
	 "m.man:3:21: attribute value of <event> is '7': expected a value and version that no"},
	{HEAD "<templates><template tid='T'/>\n<template tid='T'/></templates>" FOOT,
	 "m.man:2:11: attribute tid of <template> is 'T': expected a tid that no other"},
	{HEAD "<maps><valueMap name='M'/><bitMap name='M'/></maps>" FOOT,
	 "expected a name that no other map has"},
	{HEAD "<tasks><task name='T' value='65536'/></tasks>" FOOT,
	 "attribute value of <task> is '65536': expected a number up to 65535"},
	{HEAD "<levels><level name='L'/></levels>" FOOT,
	 "<level> has no attribute value: expected a number up to 255"},
	{HEAD "<maps><valueMap name='M'><map value='1' message='$(string.a)'/></valueMap></maps>"
	      "</provider></events></instrumentation><localization><resources culture='fr'/>"
	      "<resources culture='en-US'><stringTable>\n<string id='a' value='1 $(string.b)'/>"
	      "<string id='b' value='2 $(string.a)'/></stringTable></resources></localization>"
	      "</instrumentationManifest>",
	 "m.man:2:1: <string>: the string refers to itself: a"},
	{HEAD "</provider></events></instrumentation><localization><resources><stringTable>"
	      "<string id='a' value=''/><string id='a' value=''/></stringTable></resources>"
	      "</localization></instrumentationManifest>",
	 "attribute id of <string> is 'a': expected an id that no other string has"},
	{HEAD "<!-- <a> -->\n<?pi <b?>\n<events>\xc3\xa4<![CDATA[<c>]]><event name='value=1' "
	      "value = '&#10;'/></events>" FOOT,
	 "m.man:3:47: attribute value of <event> is '?': expected a number from 0 to 65535"},
};

static void what_is_wrong_is_refused_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct tapir_manifest *m = NULL;

		assert_int_equal(parse(wrong[i].text, &m), -EINVAL);
		assert_null(m);
		assert_int_equal(tapir_diag__cnt(), 1);
		if (!strstr(tapir_diag__line(0), wrong[i].line))
			fail_msg("%s\nhas no %s", tapir_diag__line(0), wrong[i].line);
	}
	tapir_diag__clear();
}

/* Entities of a manifest's own: files of the machine, or a billion laughs. */
static void a_document_type_is_refused_before_its_entities(void **state)
{
	static const char *const texts[] = {
		"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/hostname'>]>" HEAD
		"<keywords><keyword name='&e;' mask='1'/></keywords>" FOOT,
		"<!DOCTYPE x SYSTEM 'http://127.0.0.1:9/x.dtd'>" HEAD FOOT,
		"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'>"
		"<!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
		"<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'>"
		"<!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'>"
		"<!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'>"
		"<!ENTITY f '&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;'>]>" HEAD
		"<keywords><keyword name='&f;' mask='1'/></keywords>" FOOT,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tapir_manifest *m = NULL;

		assert_int_equal(parse(texts[i], &m), -EINVAL);
		assert_string_equal(tapir_diag__line(0),
				    "m.man:1: a manifest with a document type is not accepted: "
				    "expected <instrumentationManifest>");
	}
	tapir_diag__clear();
}

static void a_place_in_utf_16_is_found(void **state)
{
	static const char text[] = HEAD "<events>\n<event\tvalue='x'/></events>" FOOT;
	char wide[2 + 2 * sizeof(text)] = "\xff\xfe";
	struct tapir_manifest *m = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		wide[2 + 2 * i] = text[i];
	tapir_diag__clear();
	assert_int_equal(tapir_manifest__parse("m.man", wide, 2 * sizeof(text), &m), -EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "m.man:2:8: attribute value of <event>"));
	tapir_diag__clear();
}

static void unknown_attributes_warn_once_and_cost_nothing(void **state)
{
	static const char text[] =
		"<instrumentationManifest xmlns:x='urn:x' xmlns:tapir='urn:tapir:manifest'>"
		"<instrumentation><events><provider name='P' x:foreign='1'>\n"
		"<events><event value='1' levle='2'/><event value='2' levle='2'/></events>"
		"<maps><bitMap name='M'><map value='1' message='m' tapir:mask='3' tapir:msk='3'/>"
		"</bitMap></maps>" FOOT;
	struct tapir_manifest *m = NULL;

	(void)state;
	assert_int_equal(parse(text, &m), 0);
	assert_int_equal(tapir_diag__cnt(), 2);
	assert_string_equal(tapir_diag__line(0),
			    "m.man:2:26: warning: unknown attribute levle of <event> is ignored");
	assert_non_null(strstr(tapir_diag__line(1), "unknown attribute msk of <map> is ignored"));
	tapir_manifest__free(m);
	tapir_diag__clear();
}

static void names_with_numbers_and_messages_are_kept(void **state)
{
	static const char text[] =
		HEAD "<levels><level name='Loud' value='17' symbol='LOUD'/></levels>"
		     "<tasks><task name='Collect' value='3' message='$(string.t)'><opcodes>"
		     "<opcode name='Mark' value='21'/></opcodes></task></tasks>"
		     "<opcodes><opcode name='Named'/></opcodes>"
		     "<events><event value='2' opcode='win:Stop'/><event value='1' level='Loud' "
		     "task='Collect' opcode='Mark' message='%1: $(string.t), $(string.none)'/>"
		     "</events></provider></events></instrumentation><localization><resources>"
		     "<stringTable><string id='t' value='a $(string.u)'/><string id='u' value='b'/>"
		     "</stringTable></resources></localization></instrumentationManifest>";
	const struct tapir_manifest_extra *x;
	struct tapir_manifest *m = NULL;

	(void)state;
	assert_int_equal(parse(text, &m), 0);
	x = tapir_manifest__extra(m, 0);
	assert_int_equal(tapir_manifest__provider(m, 0)->events[0].level, 17);
	assert_string_equal(x->events[0].message, "%1: a b, $(string.none)");
	assert_int_equal(x->events[0].task, 3);
	assert_int_equal(x->events[0].opcode, 21);
	assert_int_equal(x->events[1].opcode, 2);
	assert_string_equal(x->tasks[0].message, "a b");
	assert_string_equal(x->levels[0].symbol, "LOUD");
	assert_int_equal(x->opcode_cnt, 2);
	assert_int_equal(x->opcodes[1].value, TAPIR_MANIFEST_NO_VALUE);
	tapir_manifest__free(m);
}

/* Ten strings, each expanding to twice the one before it: refused before they take memory. */
static void a_message_that_explodes_is_refused(void **state)
{
	struct tapir_manifest *m = NULL;
	struct tapir_str text = {};

	(void)state;
	tapir_str__adds(&text, HEAD "<events><event value='1' message='$(string.s15)'/></events>"
				    "</provider></events></instrumentation><localization>"
				    "<resources><stringTable><string id='s0' value='aaaaaaaa'/>");
	for (int i = 1; i < 16; i++)
		tapir_str__addf(
			&text, "<string id='s%d' value='$(string.s%d)$(string.s%d)$(string.s%d)'/>",
			i, i - 1, i - 1, i - 1);
	tapir_str__adds(&text, "</stringTable></resources></localization>"
			       "</instrumentationManifest>");
	assert_int_equal(parse(text.data, &m), -EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "the message is longer than 8192 bytes"));
	tapir_str__fini(&text);
	tapir_diag__clear();
}

/* Only its beginning is read: the file is sparse. */
static void a_file_of_100_mb_is_refused(void **state)
{
	char path[] = "/tmp/tapir-manifest-XXXXXX";
	struct tapir_manifest *m = NULL;
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(ftruncate(fd, 100l << 20), 0);
	close(fd);
	tapir_diag__clear();
	assert_int_equal(tapir_manifest__read(path, &m), -EFBIG);
	assert_null(m);
	assert_int_equal(tapir_diag__cnt(), 1);
	unlink(path);
	tapir_diag__clear();
}

static void depth_and_size_are_bounded(void **state)
{
	struct tapir_manifest *m = NULL;
	struct tapir_str text = {};

	(void)state;
	tapir_str__adds(&text, HEAD "<templates><template tid='T'>");
	for (int i = 0; i < 40; i++)
		tapir_str__adds(&text, "<struct name='s'>");
	for (int i = 0; i < 40; i++)
		tapir_str__adds(&text, "</struct>");
	tapir_str__adds(&text, "</template></templates>" FOOT);
	assert_int_equal(parse(text.data, &m), -EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "nested too deeply"));
	tapir_str__clear(&text);
	tapir_str__adds(&text, HEAD "<keywords>");
	for (int i = 0; i < 9000; i++)
		tapir_str__adds(&text, "<keyword name='k' mask='1'/>");
	tapir_str__adds(&text, "</keywords>" FOOT);
	assert_int_equal(parse(text.data, &m), -EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "too many keywords"));
	tapir_str__pad(&text, 0, 9u << 20);
	assert_int_equal(parse(text.data, &m), -EFBIG);
	tapir_str__fini(&text);
	tapir_diag__clear();
}

static void a_users_manifest_comes_before_what_is_built_in(void **state)
{
	static const char text[] =
		"<instrumentationManifest><instrumentation><events>"
		"<provider name='Microsoft-Windows-DotNETRuntime'><events>"
		"<event value='1' version='2' symbol='MyStart'/></events></provider>"
		"<provider name='Foreign'/></events></instrumentation></instrumentationManifest>";
	struct tapir_sv runtime = tapir_sv__of(TAPIR_DOTNET_RUNTIME);
	char path[] = "/tmp/tapir-manifest-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_null(tapir_dotnet_provider__find(tapir_sv__of("Foreign")));
	assert_int_equal(tapir_dotnet_tables__add_manifest(path), 0);
	assert_non_null(tapir_dotnet_provider__find(tapir_sv__of("Foreign")));
	assert_string_equal(tapir_dotnet_event__find(runtime, 1, 2)->name, "MyStart");
	tapir_dotnet_tables__fini();
	assert_string_equal(tapir_dotnet_event__find(runtime, 1, 2)->name, "GCStart");
	unlink(path);
	assert_int_equal(tapir_dotnet_tables__add_manifest(path), -ENOENT);
	tapir_diag__clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_manifest_is_read_whatever_order_its_parts_have),
		cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
		cmocka_unit_test(a_document_type_is_refused_before_its_entities),
		cmocka_unit_test(a_place_in_utf_16_is_found),
		cmocka_unit_test(unknown_attributes_warn_once_and_cost_nothing),
		cmocka_unit_test(names_with_numbers_and_messages_are_kept),
		cmocka_unit_test(a_message_that_explodes_is_refused),
		cmocka_unit_test(a_file_of_100_mb_is_refused),
		cmocka_unit_test(depth_and_size_are_bounded),
		cmocka_unit_test(a_users_manifest_comes_before_what_is_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
