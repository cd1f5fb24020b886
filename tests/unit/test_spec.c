// SPDX-License-Identifier: GPL-2.0-or-later
/* The grammar of SPECs, as tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "spec/spec.h"
#include "base/diag.h"
#include "base/str.h"
#include "tapir/abi.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

/* A spec in a form that shows every member: "path|provider|-ev=x,..|level|k=v;..". */
static void dump(const struct tapir_spec *spec, struct tapir_str *out)
{
	static const char *const kinds[] = {"w=", "ev=", "kw=", "m="};
	const struct tapir_spec_item *item;
	const struct tapir_spec_arg *arg;

	tapir_str__addf(out, "%s|%s|", spec->path ? spec->path : "", spec->provider);
	tapir_vec_for_each (item, &spec->items) {
		tapir_str__addf(out, "%s%s", item->negated ? "-" : "", kinds[item->kind]);
		if (item->kind == TAPIR_SPEC_MASK)
			tapir_str__addx(out, item->mask);
		else
			tapir_str__adds(out, item->text);
		tapir_str__addc(out, ',');
	}
	tapir_str__addf(out, "|%d|", spec->level);
	tapir_vec_for_each (arg, &spec->args)
		tapir_str__addf(out, "%s=%s;", arg->key, arg->value);
}

static void parts_are_found_when_the_text_is_right(void **state)
{
	static const struct {
		const char *text, *dump;
	} cases[] = {
		{"hotspot", "|hotspot||-1|"},
		{"hotspot:gc__*", "|hotspot|w=gc__*,|-1|"},
		{"*:-line,-method__*", "|*|-w=line,-w=method__*,|-1|"},
		{"p:kw=GC,ev=GCStart*,-0x40,0XfF", "|p|kw=GC,ev=GCStart*,-m=40,m=ff,|-1|"},
		{"p:e:4", "|p|w=e,|4|"},
		{"p:e:informational", "|p|w=e,|4|"},
		{"p:e:ALL", "|p|w=e,|-1|"},
		{"p:kw=all,0x0:0", "|p|m=ffffffffffffffff,m=0,|0|"},
		{"p::VERBOSE", "|p||5|"},
		{"p:::k=v", "|p||-1|k=v;"},
		{"p:e::arg0=str:64;arg1=strn(arg2)", "|p|w=e,|-1|arg0=str:64;arg1=strn(arg2);"},
		{"p:e:0:k=", "|p|w=e,|0|k=;"},
		{"/usr/bin/x:p", "/usr/bin/x|p||-1|"},
		{"usdt:kprobe:e", "|kprobe|w=e,|-1|"},
		{"usdt:/x:p:e", "/x|p|w=e,|-1|"},
		{"/x:timer:e", "/x|timer|w=e,|-1|"},
		{"kprobes:e", "|kprobes|w=e,|-1|"},
		{"/a\\:b\\\\c:p:e", "/a:b\\c|p|w=e,|-1|"},
		{"/with space:p:e", "/with space|p|w=e,|-1|"},
		{"p\\:q:e\\:f", "|p:q|w=e:f,|-1|"},
		{"p:e\\:", "|p|w=e:,|-1|"},
		{"p:::k=v:", "|p||-1|k=v:;"},
		{"p:[a-c]?\\*", "|p|w=[a-c]?\\*,|-1|"},
		{"Microsoft-Windows-DotNETRuntime:GC:Informational",
		 "|Microsoft-Windows-DotNETRuntime|w=GC,|4|"},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		struct tapir_spec *spec = NULL;
		struct tapir_str out = {};

		tapir_diag__clear();
		assert_int_equal(tapir_spec__parse(cases[i].text, &spec), 0);
		dump(spec, &out);
		assert_string_equal(out.data, cases[i].dump);
		assert_string_equal(spec->text, cases[i].text);
		assert_int_equal(tapir_diag__cnt(), 0);
		tapir_str__fini(&out);
		tapir_spec__free(spec);
	}
}

static void mistakes_say_where_and_what(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{"", "character 1: a provider is required"},
		{":e", "character 1: a provider is required"},
		{"/usr/bin/x", "character 11: a provider must follow the path"},
		{"/usr/bin/x::e", "character 12: a provider is required"},
		{"p:", "character 3: an event or keyword is required"},
		{"p:e:", "character 5: a level is required"},
		{"p:e:4:", "character 7: KEY=VALUE is required"},
		{"p:e,", "character 5: an event or keyword is required"},
		{"p:-", "character 4: an event or keyword is required"},
		{"p:ev=", "an event or keyword is required"},
		{"p:xy=z", "character 3: 'xy=z' is not an event or keyword"},
		{"p:0xzz", "'0xzz' is not a mask"},
		{"p:0x11112222333344445", "is not a mask"},
		{"p:e:6", "character 5: level '6' is not one of 0 LogAlways"},
		{"p:e:44", "level '44'"},
		{"p:e:Informatoinal", "the nearest is Informational"},
		{"p:e:warn", "the nearest is Warning"},
		{"p:e:arg0=str", "a level is expected here; it can be empty: p::arg0=str"},
		{"p:e:4:novalue", "character 7: KEY=VALUE is required"},
		{"p:e:4:a=b;", "character 11: KEY=VALUE is required"},
		{"p:e:4:=b", "KEY=VALUE is required"},
		{"./x:p:e", "a path starts with '/'"},
		{"a b", "character 2: ' ' is not allowed in a provider name"},
		{"a,b", "character 2: ','"},
		{"usdt:", "a provider is required"},
		{"usdt", "'usdt' means a provider, which must follow"},
		{"kprobe:vfs_read",
		 "'kprobe' means a function of the kernel, which cannot be recorded"},
		{"tracepoint:sched:sched_switch", "a provider of that name is usdt:tracepoint"},
		{"uprobe:libc:malloc", "'uprobe' means a function by its symbol"},
		{"request", "'request' means requests"},
		{"uprobes:/x:f", "a path comes before the provider"},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		struct tapir_spec *spec = NULL;

		tapir_diag__clear();
		assert_int_equal(tapir_spec__parse(cases[i].text, &spec), -EINVAL);
		assert_null(spec);
		assert_int_equal(tapir_diag__cnt(), 1);
		if (!strstr(tapir_diag__line(0), cases[i].part))
			fail_msg("'%s' is not in '%s'", cases[i].part, tapir_diag__line(0));
	}
}

static void text_is_refused_when_it_is_endless(void **state)
{
	static char text[TAPIR_SPEC_MAX_BYTES + 2];
	struct tapir_spec *spec = NULL;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(tapir_spec__parse(text, &spec), -EINVAL);
	text[TAPIR_SPEC_MAX_BYTES] = '\0';
	assert_int_equal(tapir_spec__parse(text, &spec), 0);
	tapir_spec__free(spec);
}

static void arguments_have_quotes_and_a_limit(void **state)
{
	static char text[TAPIR_SPEC_MAX_ARGS + 32];
	struct tapir_spec *spec = NULL;

	(void)state;
	assert_int_equal(tapir_spec__parse("P:::A=\"x;y=z\";B=2", &spec), 0);
	assert_int_equal(spec->args.cnt, 2);
	assert_string_equal(spec->args.data[0].value, "\"x;y=z\"");
	assert_string_equal(spec->args.data[1].key, "B");
	tapir_spec__free(spec);
	assert_int_equal(tapir_spec__parse("P:::A=\"x;y=z", &spec), -EINVAL);
	assert_int_equal(tapir_spec__parse("P:::A=\"x\"y;B=1", &spec), -EINVAL);
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text, "P:::A=", 6);
	text[4 + TAPIR_SPEC_MAX_ARGS + 1] = '\0';
	tapir_diag__clear();
	assert_int_equal(tapir_spec__parse(text, &spec), -EINVAL);
	assert_int_equal(tapir_diag__cnt(), 1);
	text[4 + TAPIR_SPEC_MAX_ARGS] = '\0';
	assert_int_equal(tapir_spec__parse(text, &spec), 0);
	assert_int_equal(strlen(spec->args.data[0].value), TAPIR_SPEC_MAX_ARGS - 2);
	tapir_spec__free(spec);
}

static void events_match_by_the_rules(void **state)
{
	static const struct {
		const char *text, *path, *provider, *event;
		bool match;
	} cases[] = {
		{"hotspot", "/x", "hotspot", "gc__begin", true},
		{"hotspot", "/x", "hotspot_jni", "gc__begin", false},
		{"hotspot*", "/x", "hotspot_jni", "gc__begin", true},
		{"hotspot:gc__*", "/x", "hotspot", "gc__begin", true},
		{"hotspot:gc__*", "/x", "hotspot", "mem__gc__begin", false},
		{"p:a,b", "/x", "p", "b", true},
		{"p:a,b", "/x", "p", "c", false},
		{"p:-a", "/x", "p", "a", false},
		{"p:-a", "/x", "p", "b", true},
		{"p:b*,-bad", "/x", "p", "bad", false},
		{"p:-bad,b*", "/x", "p", "bad", false},
		{"p:b*,-bad", "/x", "p", "bat", true},
		{"p:b*,-bad", "/x", "p", "cat", false},
		{"p:GCStart", "/x", "p", "GCStart_V2", true},
		{"p:GCStart_V2", "/x", "p", "GCStart_V2", true},
		{"p:GCStart_V1", "/x", "p", "GCStart_V2", false},
		{"p:GCStart", "/x", "p", "GCStart_V", false},
		{"p:-GCStart", "/x", "p", "GCStart_V2", false},
		{"p:_V2", "/x", "p", "_V2", true},
		{"p:ev=a", "/x", "p", "a", true},
		{"p:kw=a", "/x", "p", "a", false},
		{"p:0x1", "/x", "p", "a", false},
		{"p:-kw=a", "/x", "p", "a", true},
		{"/x:p", "/x", "p", "a", true},
		{"/x:p", "/xy", "p", "a", false},
		{"/x:p", NULL, "p", "a", true},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		struct tapir_spec *spec = NULL;

		assert_int_equal(tapir_spec__parse(cases[i].text, &spec), 0);
		if (tapir_spec__matches(spec, cases[i].path, cases[i].provider, cases[i].event) !=
		    cases[i].match)
			fail_msg("%s %s %s:%s", cases[i].text, cases[i].match ? "misses" : "takes",
				 cases[i].provider, cases[i].event);
		tapir_spec__free(spec);
	}
}

static void the_nearest_name_is_suggested(void **state)
{
	static const char *const names[] = {"hotspot:gc__begin", "hotspot:gc__end",
					    "hotspot_jni:CallVoidMethod__entry",
					    "postgresql:query__start", "python:line"};
	static const struct {
		const char *text, *suggestion;
	} cases[] = {{"hotspot:gc-begin", "hotspot:gc__begin"},
		     {"hotspot:gc_end", "hotspot:gc__end"},
		     {"hotpsot:gc__end", "hotspot:gc__end"},
		     {"postgres:query__start", "postgresql:query__start"},
		     {"PostgreSQL:query-start", "postgresql:query__start"},
		     {"hotspot*:callvoidmethod*", "hotspot_jni:CallVoidMethod__entry"},
		     {"pyhton:line", "python:line"},
		     {"python:function__entry", NULL},
		     {"nodejs:gc__begin", NULL}};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		struct tapir_spec *spec = NULL;
		const char *got;

		assert_int_equal(tapir_spec__parse(cases[i].text, &spec), 0);
		got = tapir_spec__suggest(spec, names, CNT(names));
		tapir_spec__free(spec);
		if (!cases[i].suggestion)
			assert_null(got);
		else
			assert_string_equal(got ? got : "nothing", cases[i].suggestion);
	}
}

static void captures_are_read_or_refused(void **state)
{
	static const struct {
		char *key, *value;
		int result;
		struct tapir_spec_capture capture;
	} cases[] = {
		{"arg0", "str", 1, {0, TAPIR_FIELD_STR, 0, 0}},
		{"arg11", "str:64", 1, {11, TAPIR_FIELD_STR, 0, 64}},
		{"arg1", "strn(arg2)", 1, {1, TAPIR_FIELD_STRN, 2, 0}},
		{"arg1", "buf(arg11)", 1, {1, TAPIR_FIELD_BLOB, 11, 0}},
		{"arg1", "int", 1, {1, TAPIR_FIELD_INT, 0, 0}},
		{"arg1", "uint", 1, {1, TAPIR_FIELD_UINT, 0, 0}},
		{"arg1", "hex", 1, {1, TAPIR_FIELD_PTR, 0, 0}},
		{"arg1", "ptr", 1, {1, TAPIR_FIELD_PTR, 0, 0}},
		{"FilterAndPayloadSpecs", "x", 0, {}},
		{"argument", "x", 0, {}},
		{"arg12", "str", -EINVAL, {}},
		{"arg99999999999", "str", -EINVAL, {}},
		{"arg1x", "str", -EINVAL, {}},
		{"arg1", "", -EINVAL, {}},
		{"arg1", "string", -EINVAL, {}},
		{"arg1", "str:0", -EINVAL, {}},
		{"arg1", "str:65536", -EINVAL, {}},
		{"arg1", "strn", -EINVAL, {}},
		{"arg1", "strn(arg12)", -EINVAL, {}},
		{"arg1", "buf(arg2", -EINVAL, {}},
		{"arg1", "buf(arg2))", -EINVAL, {}},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		const struct tapir_spec_arg arg = {cases[i].key, cases[i].value};
		struct tapir_spec_capture got = {};

		tapir_diag__clear();
		assert_int_equal(tapir_spec__capture(&arg, &got), cases[i].result);
		assert_int_equal(tapir_diag__cnt(), cases[i].result < 0);
		assert_int_equal(got.arg, cases[i].capture.arg);
		assert_int_equal(got.field_type, cases[i].capture.field_type);
		assert_int_equal(got.len_arg, cases[i].capture.len_arg);
		assert_int_equal(got.max_bytes, cases[i].capture.max_bytes);
	}
}

static bool selects(const char *text, enum tapir_spec_zero zero, uint8_t level, uint64_t keywords)
{
	struct tapir_spec *spec = NULL;
	bool is_selected;

	assert_int_equal(tapir_spec__parse(text, &spec), 0);
	is_selected = tapir_spec__selects(spec, zero, NULL, "p", "e", level, keywords);
	tapir_spec__free(spec);
	return is_selected;
}

static void zeros_are_all_of_libtapir_and_the_least_of_eventpipe(void **state)
{
	static const struct {
		const char *text;
		uint8_t level;
		uint64_t keywords;
		bool of_libtapir, of_eventpipe;
	} cases[] = {
		{"p", 5, 1, true, true},
		{"p::0", 0, 1, true, true},
		{"p::0", 1, 1, true, false},
		{"p::LogAlways", 5, 0, true, false},
		{"p::1", 1, 0, true, true},
		{"p::1", 2, 0, false, false},
		{"p:0x0", 4, 0, true, true},
		{"p:0x0", 4, 2, true, false},
		{"p:0x2", 4, 0, true, true},
		{"p:0x0,0x2", 4, 2, true, true},
		{"p:0x0:0", 0, 0, true, true},
		{"p:0x0:0", 4, 2, true, false},
		{"p:kw=all:all", 5, 8, true, true},
	};

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		bool of_libtapir = selects(cases[i].text, TAPIR_SPEC_ZERO_IS_ALL, cases[i].level,
					   cases[i].keywords);
		bool of_eventpipe = selects(cases[i].text, TAPIR_SPEC_ZERO_IS_NONE, cases[i].level,
					    cases[i].keywords);

		if (of_libtapir != cases[i].of_libtapir || of_eventpipe != cases[i].of_eventpipe)
			fail_msg("%s of level %u, keywords %llu: %d %d", cases[i].text,
				 cases[i].level, (unsigned long long)cases[i].keywords, of_libtapir,
				 of_eventpipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_found_when_the_text_is_right),
		cmocka_unit_test(mistakes_say_where_and_what),
		cmocka_unit_test(text_is_refused_when_it_is_endless),
		cmocka_unit_test(arguments_have_quotes_and_a_limit),
		cmocka_unit_test(events_match_by_the_rules),
		cmocka_unit_test(zeros_are_all_of_libtapir_and_the_least_of_eventpipe),
		cmocka_unit_test(the_nearest_name_is_suggested),
		cmocka_unit_test(captures_are_read_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
