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

/* Manifests with one thing wrong, and what the line about it has. */
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
	 "<event>: value must be a 16-bit number"},
	{HEAD "<events><event value='65536'/></events>" FOOT,
	 "value must be a 16-bit number: 65536"},
	{HEAD "<events><event value='1' version='256'/></events>" FOOT,
	 "version must be an 8-bit number"},
	{HEAD "<events>\n<event value='1' level='win:Loud'/></events>" FOOT,
	 "m.man:2: <event>: unknown level: win:Loud"},
	{HEAD "<events><event value='1' keywords='Q'/></events>" FOOT, "unknown keyword: Q"},
	{HEAD "<events><event value='1' template='Q'/></events>" FOOT, "unknown template: Q"},
	{HEAD "<keywords><keyword name='K'/></keywords>" FOOT, "<keyword>: no mask"},
	{HEAD "<maps><bitMap name='M'><map value='4294967296' "
	      "message='x'/></bitMap></maps>" FOOT,
	 "value must be a 32-bit number"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:Odd'/></template>"
	      "</templates>" FOOT,
	 "unknown inType: win:Odd"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:UInt8' map='M'/>"
	      "</template></templates>" FOOT,
	 "unknown map: M"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:UInt8' count='a'/>"
	      "</template></templates>" FOOT,
	 "no earlier number has the name: a"},
	{HEAD "<templates><template tid='T'><data name='s' inType='win:UnicodeString'/>"
	      "<data name='a' inType='win:UInt8' count='s'/></template></templates>" FOOT,
	 "no earlier number has the name: s"},
	{HEAD "<templates><template tid='T'><data name='a' inType='win:Binary'/></template>"
	      "</templates>" FOOT,
	 "win:Binary requires a length"},
	{HEAD "<templates><template tid='T'><struct name='a' count='2'/></template>"
	      "</templates>" FOOT,
	 "an array of empty structs"},
	{"<instrumentationManifest><instrumentation><events><provider name='' /></events>"
	 "</instrumentation></instrumentationManifest>",
	 "a name is missing"},
	{"<instrumentationManifest><instrumentation><events><provider name='P' guid='1'/>"
	 "</events></instrumentation></instrumentationManifest>",
	 "not a GUID: 1"},
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
				    "m.man: a manifest with a document type is not accepted");
	}
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
		cmocka_unit_test(depth_and_size_are_bounded),
		cmocka_unit_test(a_users_manifest_comes_before_what_is_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
