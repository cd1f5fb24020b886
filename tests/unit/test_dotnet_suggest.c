// SPDX-License-Identifier: GPL-2.0-or-later
/* What a SPEC may have meant among the EventSources of a process, and when it is no mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "runtime/dotnet/lanes/dotnet_specs.h"
#include "runtime/dotnet/lanes/dotnet_suggest.h"

static const struct tapir_layout_keyword keywords[] = {{"Orders", 1}, {"Stock", 2}};
static const struct tapir_layout_event events[] = {{.name = "OrderPlaced", .keywords = 1},
						   {.name = "StockLow", .keywords = 2}};
static const struct tapir_layout_provider sources[] = {
	{.name = "My-Shop",
	 .keywords = keywords,
	 .keyword_cnt = 2,
	 .events = events,
	 .event_cnt = 2},
	{.name = "Self-Describing"},
};

static const struct {
	const char *spec, *near; /* NULL: it is defined; "": nothing is near */
} cases[] = {
	{"My-Shop", NULL},
	{"My-*", NULL},
	{"My-Shop:OrderPlaced", NULL},
	{"My-Shop:Order*", NULL},
	{"My-Shop:0x4", NULL},
	{"My-*:Stock", NULL}, /* a keyword */
	{"Self-Describing:Anything", NULL},
	{"Microsoft-Windows-DotNETRuntime:GC", NULL},
	{"My-Shpo", "My-Shop"},
	{"my_shop", "My-Shop"},
	{"My-Shop:OrderPlacd", "My-Shop:OrderPlaced"},
	{"My-Sh*:ev=StokLow", "My-Shop:StockLow"},
	{"My-Shpo:0x4:Verbose", "My-Shop"},
	{"Microsoft-Windows-DotNETRuntme:GC", "Microsoft-Windows-DotNETRuntime"},
	{"Microsoft-Windows-DotNETRuntme:GCStart", "Microsoft-Windows-DotNETRuntime:GCStart"},
	{"My-Shop:ev=Nothing", ""},
	{"Totally-Other", ""},
	{"Totally-Other:OrderPlaced", ""},
};

static void misspelt_name_has_a_near_miss_and_a_right_one_is_defined(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_str near = {};
		struct tapir_spec *spec;
		bool is_defined;

		assert_int_equal(tapir_spec__parse(cases[i].spec, &spec), 0);
		is_defined = tapir_dotnet_specs__is_defined(spec, sources, 2);
		if (is_defined != !cases[i].near)
			fail_msg("%s: defined is %d", cases[i].spec, is_defined);
		if (!is_defined)
			tapir_dotnet_suggest__add_nearest(spec, sources, 2, &near);
		if (strcmp(near.data ? near.data : "", cases[i].near ? cases[i].near : ""))
			fail_msg("%s: '%s'", cases[i].spec, near.data);
		tapir_str__fini(&near);
		tapir_spec__free(spec);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misspelt_name_has_a_near_miss_and_a_right_one_is_defined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
