// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hints, held against themselves and against the notes of the programs they are about:
 * every name in the table is a probe with that many arguments, wide enough for their types in
 * the table. A program that is not installed is skipped and named.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdbool.h>
#include <string.h>

#include "attach/discover.h"
#include "spec/spec.h"
#include "base/diag.h"
#include "decode/profiles.h"
#include "decode/usdt_hints.h"

/* ---- the table alone ----------------------------------------------------------------------- */

static void argument_names_and_kinds_come_with_a_known_event(void **state)
{
	const struct tapir_hint *hint = tapir_usdt_hint__find("hotspot", "method__compile__end", 9);

	(void)state;
	assert_non_null(hint);
	assert_string_equal(hint->args[0].name, "compiler");
	assert_int_equal(hint->args[0].field_type, TAPIR_FIELD_STRN);
	assert_int_equal(hint->args[0].len_arg, 1);
	assert_string_equal(hint->args[6].name, "signature");
	assert_int_equal(hint->args[6].len_arg, 7);
	assert_int_equal(hint->args[8].field_type, TAPIR_FIELD_BOOL);
	hint = tapir_usdt_hint__find("hotspot", "method__entry", 7);
	assert_non_null(hint);
	assert_int_equal(hint->args[0].field_type, TAPIR_FIELD_NONE);
	assert_string_equal(hint->args[3].name, "method");
	assert_int_equal(hint->args[3].len_arg, 4);
}

static void nothing_is_known_when_names_or_counts_differ(void **state)
{
	(void)state;
	assert_null(tapir_usdt_hint__find("hotspot", "method__compile__end", 8));
	assert_null(tapir_usdt_hint__find("hotspot", "method__compile__en", 9));
	assert_null(tapir_usdt_hint__find("hotspo", "tmethod__compile__end", 9));
	assert_null(tapir_usdt_hint__find("postgresql", "gc__begin", 1));
	assert_null(tapir_usdt_hint__find("", "", 0));
}

/* What a user of a hint relies on, and that no event stands twice. */
static void every_hint_is_sound(void **state)
{
	const struct tapir_hint *hint;
	size_t cnt = 0;

	(void)state;
	for (; (hint = tapir_usdt_hint__at(cnt)); cnt++) {
		assert_in_range(hint->arg_cnt, 1, TAPIR_MAX_ARGS);
		for (unsigned i = 0; i < hint->arg_cnt; i++) {
			const struct tapir_hint_arg *arg = &hint->args[i];

			assert_true(arg->name && *arg->name);
			for (unsigned k = 0; k < i; k++)
				if (!strcmp(arg->name, hint->args[k].name))
					fail_msg("%s:%s: two arguments are called %s",
						 hint->provider, hint->event, arg->name);
			if (arg->field_type != TAPIR_FIELD_STRN)
				continue;
			assert_in_range(arg->len_arg, 0, hint->arg_cnt - 1);
			assert_int_equal(hint->args[arg->len_arg].field_type, TAPIR_FIELD_NONE);
		}
		/* the first of two equals hides the second */
		if (tapir_usdt_hint__find(hint->provider, hint->event, hint->arg_cnt) != hint)
			fail_msg("%s:%s stands twice", hint->provider, hint->event);
	}
	assert_true(cnt > 400);
}

/* ---- the table and real programs ----------------------------------------------------------- */

static const struct program {
	const char *files; /* shell globs; the first file found of each is looked at */
	const char *providers;
	size_t hint_cnt_min; /* how many of its events the table names, at least */
} programs[] = {
	{"/usr/lib/jvm/*17*/lib/server/libjvm.so", "hotspot hotspot_jni", 350},
	{"/usr/lib/jvm/*25*/lib/server/libjvm.so", "hotspot hotspot_jni", 350},
	{"/usr/lib/postgresql/15/bin/postgres", "postgresql", 45},
	{"/usr/bin/python3.11", "python", 8},
	{"/usr/lib/*/libruby-3.1.so.3.1", "ruby", 18},
	{"/usr/bin/php8.2", "php", 11},
	{"/usr/lib/*/libstdc++.so.6", "libstdcxx", 3},
};

static bool is_word_of(const char *word, const char *words)
{
	size_t len = strlen(word);

	for (; (words = strstr(words, word)); words += len)
		if (words[len] == '\0' || words[len] == ' ')
			return true;
	return false;
}

static void check_arg(const struct tapir_usdt_note *note, const struct tapir_hint *hint, unsigned i)
{
	uint8_t type = hint->args[i].field_type;

	if ((type == TAPIR_FIELD_STR || type == TAPIR_FIELD_STRN || type == TAPIR_FIELD_PTR) &&
	    note->args[i].size != 8)
		fail_msg("%s:%s: %s is a pointer, but arg%u has %u bytes", note->provider,
			 note->name, hint->args[i].name, i, note->args[i].size);
}

/* True for a note the table knows; an unknown one with arguments fails. */
static bool check_note(const struct tapir_usdt_note *note)
{
	const struct tapir_hint *hint =
		tapir_usdt_hint__find(note->provider, note->name, note->arg_cnt);

	if (!hint && note->arg_cnt)
		fail_msg("%s:%s with %u arguments is not in the table", note->provider, note->name,
			 note->arg_cnt);
	for (unsigned i = 0; hint && i < note->arg_cnt; i++)
		check_arg(note, hint, i);
	return hint != NULL;
}

static void check_program(const struct program *program, const char *path)
{
	struct tapir_discovery discovery = {};
	const struct tapir_site_info *site;
	size_t known_cnt = 0;

	assert_int_equal(tapir_discover__file(path, &discovery), 0);
	tapir_vec_for_each (site, &discovery.sites)
		if (is_word_of(site->note->provider, program->providers))
			known_cnt += check_note(site->note);
	print_message("%s: %zu sites are known\n", path, known_cnt);
	assert_true(known_cnt >= program->hint_cnt_min);
	tapir_discovery__fini(&discovery);
}

static void hints_agree_with_the_notes_of_real_programs(void **state)
{
	size_t missing_cnt = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		glob_t found;

		if (glob(programs[i].files, 0, NULL, &found)) {
			print_message("skipped, not installed: %s\n", programs[i].files);
			missing_cnt++;
			continue;
		}
		check_program(&programs[i], found.gl_pathv[0]);
		globfree(&found);
	}
	if (missing_cnt == sizeof(programs) / sizeof(programs[0]))
		skip();
}

/* ---- profiles ------------------------------------------------------------------------------- */

static bool profile_has(const struct tapir_profile *profile, const char *provider,
			const char *event)
{
	const char *text;
	bool found = false;

	for (size_t i = 0; (text = tapir_profile__spec(profile, i)); i++) {
		struct tapir_spec *spec = NULL;

		assert_int_equal(tapir_spec__parse(text, &spec), 0);
		found |= tapir_spec__matches(spec, NULL, provider, event);
		tapir_spec__free(spec);
	}
	return found;
}

static void profiles_have_what_the_defaults_promise(void **state)
{
	static const struct {
		const char *profile, *provider, *event;
		bool is_in;
	} expected[] = {
		{"default", "hotspot", "gc__begin", true},
		{"default", "hotspot", "mem__pool__gc__end", true},
		{"default", "hotspot", "method__compile__end", true},
		{"default", "hotspot", "class__loaded", true},
		{"default", "hotspot", "thread__start", true},
		{"default", "hotspot", "vmops__begin", true},
		{"default", "hotspot", "method__entry", false},
		{"default", "hotspot", "object__alloc", false},
		{"default", "hotspot", "thread__park__begin", false},
		{"default", "postgresql", "query__start", true},
		{"default", "postgresql", "transaction__commit", true},
		{"default", "postgresql", "lock__wait__start", true},
		{"default", "postgresql", "lwlock__acquire", false},
		{"default", "python", "gc__start", true},
		{"default", "python", "line", false},
		{"default", "Microsoft-Windows-DotNETRuntime", "GC", true},
		{"default", "Microsoft-Windows-DotNETRuntime", "Exception", true},
		{"default", "Microsoft-Windows-DotNETRuntime", "GCHeapDump", false},
		{"gc", "Microsoft-Windows-DotNETRuntime", "GC", true},
		{"gc", "Microsoft-Windows-DotNETRuntime", "Jit", false},
		{"allocations", "hotspot", "object__alloc", true},
		{"http", "System.Net.Http", "RequestStart", true},
		{"everything", "postgresql", "query__start", true},
	};
	const struct tapir_profile *p;
	size_t seen_cnt = 0;

	(void)state;
	for (size_t id = 0; (p = tapir_profile__at(id)); id++)
		for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
			if (strcmp(p->name, expected[i].profile) != 0)
				continue;
			assert_int_equal(profile_has(p, expected[i].provider, expected[i].event),
					 expected[i].is_in);
			seen_cnt++;
		}
	assert_int_equal(seen_cnt, sizeof(expected) / sizeof(expected[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(argument_names_and_kinds_come_with_a_known_event),
		cmocka_unit_test(nothing_is_known_when_names_or_counts_differ),
		cmocka_unit_test(every_hint_is_sound),
		cmocka_unit_test(hints_agree_with_the_notes_of_real_programs),
		cmocka_unit_test(profiles_have_what_the_defaults_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
