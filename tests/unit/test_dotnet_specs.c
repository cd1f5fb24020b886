// SPDX-License-Identifier: GPL-2.0-or-later
/* What SPECs ask of .NET's providers: names to bits, events to keywords and levels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "base/log.h"
#include "runtime/dotnet/lanes/dotnet_specs.h"

#define RUNTIME "Microsoft-Windows-DotNETRuntime"

struct asked {
	struct tapir_spec_list specs;
	struct tapir_ring_request ask;
	struct tapir_ring_selection *selections;
	unsigned cnt;
	struct tapir_dotnet_skipped skipped;
	int err;
};

static void ask_all(struct asked *a, const char *const *texts,
		    const struct tapir_layout_provider *more)
{
	*a = (struct asked){};
	a->selections = a->ask.all;
	for (; *texts; texts++) {
		struct tapir_spec *spec;

		assert_int_equal(tapir_spec__parse(*texts, &spec), 0);
		assert_true(tapir_vec__push(&a->specs, spec));
	}
	a->err = tapir_dotnet_specs__expand(&a->specs, more, more ? 1 : 0);
	if (!a->err)
		a->err = tapir_dotnet_specs__resolve(&a->specs, more, more ? 1 : 0);
	if (!a->err)
		a->cnt = tapir_dotnet_specs__select(&a->specs, &a->ask, &a->skipped);
}

static void ask(struct asked *a, const char *text)
{
	const char *const texts[] = {text, NULL};

	ask_all(a, texts, NULL);
}

static void forget(struct asked *a)
{
	struct tapir_spec **spec;

	tapir_vec_for_each (spec, &a->specs)
		tapir_spec__free(*spec);
	tapir_vec__fini(&a->specs);
	tapir_diag__clear();
}

static void native_providers_are_asked_by_keywords_and_level(void **state)
{
	static const struct {
		const char *spec;
		uint64_t keywords;
		unsigned level;
	} cases[] = {
		{RUNTIME ":GC,Exception:Informational", 0x8001, 4},
		{RUNTIME ":gc", 0x1, 5}, /* keywords in any case, all levels */
		{RUNTIME ":kw=Contention:4", 0x4000, 4},
		{RUNTIME ":0x10001:Verbose", 0x10001, 5},
		{RUNTIME ":GCStart", 0x1, 4},
		{RUNTIME ":GCStart_V2", 0x1, 4},
		{RUNTIME ":ev=GCAllocationTick", 0x1, 5},
		{RUNTIME ":GC,-GCHandle:4", 0x1, 4},
		{RUNTIME ":GCHeapCollect", 0x800000, 5}, /* named */
		{RUNTIME ":0x800001", 0x800001, 5},
		{RUNTIME, ~0x800000ull, 5},
		{RUNTIME ":-GC", ~0x800001ull, 5},
		/* EventPipe's zeros: no selection has less than Critical, the rest is judged */
		{RUNTIME ":GC:0", 0x1, 1},
		{RUNTIME ":GC:LogAlways", 0x1, 1},
		{RUNTIME ":0x0:4", 1ull << 47, 4},
		{RUNTIME ":kw=all:all", ~0ull, 5}, /* the library leaves GCHeapCollect out of it */
		{RUNTIME ":GC:all", 0x1, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked a;

		ask(&a, cases[i].spec);
		assert_int_equal(a.err, 0);
		if (a.cnt != 1 || a.selections[0].keywords != cases[i].keywords ||
		    a.selections[0].level != cases[i].level)
			fail_msg("%s: %u selections, keywords 0x%llx, level %u", cases[i].spec,
				 a.cnt, (unsigned long long)a.selections[0].keywords,
				 a.selections[0].level);
		assert_string_equal(a.selections[0].provider, RUNTIME);
		assert_string_equal(a.selections[0].event, "");
		forget(&a);
	}
}

static void one_selection_a_provider_and_level(void **state)
{
	static const char *const texts[] = {RUNTIME ":GC:4", RUNTIME ":Exception:2",
					    RUNTIME ":Contention:4", NULL};
	struct asked a;

	(void)state;
	ask_all(&a, texts, NULL);
	assert_int_equal(a.cnt, 2);
	assert_true(a.selections[0].keywords == 0x4001 && a.selections[0].level == 4);
	assert_true(a.selections[1].keywords == 0x8000 && a.selections[1].level == 2);
	forget(&a);
}

static void event_sources_are_asked_as_the_spec_says(void **state)
{
	struct asked a;

	(void)state;
	ask(&a, "MyCompany-*:Order*,0x4:Warning:Tenant=7;Deep=1");
	assert_int_equal(a.cnt, 2);
	assert_string_equal(a.selections[0].provider, "MyCompany-*");
	assert_string_equal(a.selections[0].event, "Order*");
	assert_string_equal(tapir_ring_request__args(&a.ask, &a.selections[0]), "Tenant=7;Deep=1");
	assert_int_equal(a.selections[0].level, 3);
	assert_true(a.selections[1].keywords == 4);
	forget(&a);
}

/* Level 0 and keywords 0 of an EventSource: the least that a selection can say. */
static void zeros_of_event_sources_are_no_wildcards(void **state)
{
	struct asked a;

	(void)state;
	ask(&a, "MyCompany-Demo:0x0:0");
	assert_int_equal(a.cnt, 1);
	assert_int_equal(a.selections[0].level, 1);
	assert_true(a.selections[0].keywords == 1ull << 47);
	forget(&a);
	ask(&a, "MyCompany-Demo:kw=all:all");
	assert_true(a.selections[0].level == 0 && a.selections[0].keywords == ~0ull);
	forget(&a);
}

static void keywords_of_a_known_event_source_are_bits_its_events_are_names(void **state)
{
	struct asked a;

	(void)state;
	ask(&a, "System.Threading.Tasks.TplEventSource:Tasks,TaskScheduled");
	assert_int_equal(a.cnt, 2);
	assert_true(a.selections[0].keywords == 2);
	assert_string_equal(a.selections[1].event, "TaskScheduled");
	forget(&a);
}

static void glob_over_native_providers_is_light(void **state)
{
	struct asked a;
	bool saw_runtime = false;

	(void)state;
	ask(&a, "Microsoft-*");
	assert_true(a.cnt >= 3 && !a.skipped.cnt);
	for (unsigned i = 0; i < a.cnt; i++) {
		if (strcmp(a.selections[i].provider, RUNTIME))
			continue;
		saw_runtime = true;
		assert_true(a.selections[i].keywords & 0x1);
		assert_false(a.selections[i].keywords & 0x801000); /* no collection, no flood */
	}
	assert_true(saw_runtime);
	assert_string_equal(a.selections[a.cnt - 1].provider, "Microsoft-*");
	forget(&a);
}

static void what_is_no_dotnet_is_not_asked_for(void **state)
{
	static const char *const texts[] = {"hotspot:gc__*", "/bin/x:My-Source:Event",
					    "python:gc__*", NULL};
	struct asked a;

	(void)state;
	ask_all(&a, texts, NULL);
	assert_int_equal(a.err, 0);
	assert_int_equal(a.cnt, 0);
	forget(&a);
}

static void misspelt_name_has_a_near_miss(void **state)
{
	static const struct {
		const char *spec, *line;
	} cases[] = {
		{RUNTIME ":GCStrat", "the nearest is 'GCStart'"},
		{RUNTIME ":kw=Contentoin", "the nearest is 'Contention'"},
		{RUNTIME ":Xyzzyxyzzy*", "no event or keyword 'Xyzzyxyzzy*'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct asked a;

		ask(&a, cases[i].spec);
		assert_int_equal(a.err, -EINVAL);
		if (!strstr(tapir_diag__line(0), cases[i].line))
			fail_msg("%s: %s", cases[i].spec, tapir_diag__line(0));
		forget(&a);
	}
}

static void name_of_an_event_and_a_keyword_must_be_told_apart(void **state)
{
	static const struct tapir_layout_keyword keywords[] = {{"Order", 1}};
	static const struct tapir_layout_event events[] = {{.name = "Order", .keywords = 1}};
	static const struct tapir_layout_provider mine = {.name = "My-Shop",
							  .keywords = keywords,
							  .keyword_cnt = 1,
							  .events = events,
							  .event_cnt = 1};
	static const char *const unclear[] = {"My-Shop:Order", NULL}, *const clear[] = {
									      "My-Shop:kw=Order",
									      "My-Shop:ev=Order",
									      NULL};
	struct asked a;

	(void)state;
	ask_all(&a, unclear, &mine);
	assert_int_equal(a.err, -EINVAL);
	assert_non_null(strstr(tapir_diag__line(0), "ev=Order or kw=Order"));
	forget(&a);
	ask_all(&a, clear, &mine);
	assert_int_equal(a.err, 0);
	assert_true(a.selections[0].keywords == 1);
	assert_string_equal(a.selections[1].event, "Order");
	forget(&a);
}

static void glob_gets_the_names_and_keywords_of_what_it_matches(void **state)
{
	static const struct tapir_layout_keyword keywords[] = {{"Orders", 4}};
	static const struct tapir_layout_event events[] = {{.name = "Placed", .keywords = 4}};
	static const struct tapir_layout_provider mine = {.name = "My-Shop",
							  .keywords = keywords,
							  .keyword_cnt = 1,
							  .events = events,
							  .event_cnt = 1};
	static const char *const texts[] = {"My-*:Orders:Warning:Shop=1", NULL},
				 *const misspelt[] = {"My-*:ev=Plced", NULL};
	struct asked a;

	(void)state;
	ask_all(&a, texts, &mine);
	assert_int_equal(a.err, 0);
	assert_int_equal(a.cnt, 2);
	assert_string_equal(a.selections[0].provider, "My-*");
	assert_string_equal(a.selections[1].provider, "My-Shop");
	assert_true(a.selections[1].keywords == 4);
	assert_int_equal(a.selections[1].level, 3);
	assert_string_equal(tapir_ring_request__args(&a.ask, &a.selections[1]), "Shop=1");
	assert_true(a.specs.data[0]->is_silent && a.specs.data[1]->is_silent);
	forget(&a);
	ask_all(&a, misspelt, &mine);
	assert_int_equal(a.specs.cnt, 2);
	assert_false(a.specs.data[0]->is_silent); /* that nothing comes of it is news */
	forget(&a);
}

static void too_many_do_not_fit(void **state)
{
	static char texts[3][3 * TAPIR_RING_SELECTIONS];
	const char *const all[] = {texts[0], texts[1], texts[2], NULL};
	struct asked a;

	(void)state;
	for (unsigned n = 0; n < 2; n++) {
		snprintf(texts[n], sizeof(texts[n]), "A-%u:a", n);
		for (unsigned i = 0; i < TAPIR_RING_SELECTIONS * 2 / 3; i++)
			strcat(texts[n], ",b");
	}
	memset(texts[2], 'x', sizeof(a.selections[0].provider));
	ask_all(&a, all, NULL);
	assert_int_equal(a.cnt, TAPIR_RING_SELECTIONS);
	assert_int_equal(a.skipped.cnt, 2); /* the third has too long a name */
	assert_string_equal(a.skipped.first, "A-1");
	forget(&a);
}

/* The process chooses the names of its EventSources. */
static void glob_takes_names_as_they_are(void **state)
{
	static const char *const names[] = {"My Prov \"q\"", "../../etc/x", "x:y*?", "a/b'c", ""};
	static const char *const texts[] = {"*:Ev:3", NULL};
	struct tapir_layout_provider mine[5] = {};
	struct asked a;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		mine[i].name = names[i];
	ask_all(&a, texts, NULL);
	assert_int_equal(tapir_dotnet_specs__expand(&a.specs, mine, 5), 0);
	assert_int_equal(a.specs.cnt, 5);
	for (unsigned i = 0; i < 4; i++) {
		const struct tapir_spec *spec = a.specs.data[1 + i];

		assert_true(tapir_spec__matches(spec, NULL, names[i], "Ev"));
		assert_false(tapir_spec__matches(spec, NULL, "another", "Ev"));
		assert_null(spec->path);
	}
	forget(&a);
}

static char warning[512];

static void keep_warning(enum tapir_log_level level, const char *line)
{
	if (level == TAPIR_LOG_WARN)
		snprintf(warning, sizeof(warning), "%s", line);
}

static void sources_beyond_the_limit_are_counted(void **state)
{
	const unsigned cnt = TAPIR_DOTNET_SPECS_MADE_MAX + 7;
	static const char *const texts[] = {"My-*", NULL};
	static struct tapir_layout_provider mine[TAPIR_DOTNET_SPECS_MADE_MAX + 8];
	static char names[TAPIR_DOTNET_SPECS_MADE_MAX + 8][16];
	struct asked a;

	(void)state;
	for (unsigned i = 0; i < cnt; i++) {
		snprintf(names[i], sizeof(names[i]), "My-%u", i);
		mine[i].name = names[i];
	}
	mine[cnt].name = "Other";
	tapir_log__set(keep_warning, TAPIR_LOG_WARN);
	ask_all(&a, texts, NULL);
	assert_int_equal(tapir_dotnet_specs__expand(&a.specs, mine, cnt - 7), 0);
	assert_string_equal(warning, "");
	forget(&a);
	ask_all(&a, texts, NULL);
	assert_int_equal(tapir_dotnet_specs__expand(&a.specs, mine, cnt + 1), 0);
	assert_int_equal(a.specs.cnt, 1 + TAPIR_DOTNET_SPECS_MADE_MAX);
	assert_non_null(strstr(warning, "'My-*' matches 7 EventSources more than the 1024"));
	forget(&a);
	tapir_log__set(NULL, TAPIR_LOG_WARN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_beyond_the_limit_are_counted),
		cmocka_unit_test(native_providers_are_asked_by_keywords_and_level),
		cmocka_unit_test(one_selection_a_provider_and_level),
		cmocka_unit_test(event_sources_are_asked_as_the_spec_says),
		cmocka_unit_test(zeros_of_event_sources_are_no_wildcards),
		cmocka_unit_test(keywords_of_a_known_event_source_are_bits_its_events_are_names),
		cmocka_unit_test(glob_over_native_providers_is_light),
		cmocka_unit_test(what_is_no_dotnet_is_not_asked_for),
		cmocka_unit_test(misspelt_name_has_a_near_miss),
		cmocka_unit_test(name_of_an_event_and_a_keyword_must_be_told_apart),
		cmocka_unit_test(glob_gets_the_names_and_keywords_of_what_it_matches),
		cmocka_unit_test(too_many_do_not_fit),
		cmocka_unit_test(glob_takes_names_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
