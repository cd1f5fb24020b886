// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of documents that strangers had a hand in: all of their text is escaped, nothing is needed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "agent/pages/assets.h"
#include "agent/pages/html.h"
#include "agent/pages/pages.h"
#include "agent/answer.h"

static struct tapir_str out;

static int fini(void **state)
{
	(void)state;
	tapir_str__fini(&out);
	return 0;
}

static json_t *parse(const char *text)
{
	json_t *json = json_loads(text, JSON_ALLOW_NUL, NULL);

	assert_non_null(json);
	return json;
}

/* Every text, key by key, in every place where a document may have one. */
static json_t *evil_document(void)
{
	static const char *const texts[] = {
		"name",	   "role",     "csrf",	   "runtime", "version", "user",     "container",
		"state",   "error",    "target",   "created", "owner",	 "id",	     "headline",
		"finding", "text",     "evidence", "view",    "what",	 "reason",   "asker",
		"type",	   "message",  "kind",	   "label",   "unit",	 "provider", "tags",
		"found",   "means",    "remedy",   "call",    "names",	 "held_by",  "waits_for",
		"status",  "function", "route",	   "part"};
	static const char *const lists[] = {
		"processes",  "checks",	  "sessions", "findings", "counters", "pauses",	   "groups",
		"exceptions", "messages", "stacks",   "locks",	  "waiters",  "functions", "points",
		"waits",      "members",  "notes",    "stack",	  "frames",   "routes",	   "parts"};
	json_t *text = json_string("<script>\"'&amp;</td>\xe2\x80\xae");
	json_t *evil = parse("{\"pid\":1,\"seconds\":1.5,\"ns\":5,\"at_ns\":9}"), *inner;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_object_set(evil, texts[i], text);
	inner = json_deep_copy(evil);
	for (size_t depth = 0; depth < 3; depth++) {
		json_t *outer = json_deep_copy(evil);

		for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
			json_object_set_new(
				outer, lists[i],
				json_pack("[O,O,o]", inner, inner, json_stringn("<script>", 8)));
		json_decref(inner);
		inner = outer;
	}
	json_decref(text);
	json_decref(evil);
	return inner;
}

static void add_all(const json_t *d, const char *text)
{
	const struct tapir_page_results results = {d, d, d, d, d, d, d, d, d, d, d};
	const struct tapir_page_filter filter = {text, text, text, text, true, text, 1, 5};
	json_t *sessions = json_pack("[O]", d ? (json_t *)d : json_null());

	tapir_page__processes(&out, d, d, &filter);
	tapir_page__process(&out, d, d, sessions, &results);
	tapir_page__process(&out, NULL, d, NULL, NULL);
	tapir_page__stacks(&out, d, text, d);
	tapir_page__sessions(&out, d, d);
	tapir_page__session(&out, d, &results);
	tapir_page__flamegraph(&out, d, d);
	tapir_page__health(&out, d, d, "# HELP x <script>\nx <script>\n# HELP y\ny");
	tapir_page__login(&out, text, text);
	tapir_page__error(&out, d, 500, text);
	json_decref(sessions);
}

/* 120 of them: pid 1 to 120, the CPU time of pid 7 is the greatest. */
static json_t *many_processes(void)
{
	json_t *list = json_array();

	for (int pid = 1; pid <= 120; pid++)
		json_array_append_new(list, json_pack("{s:i, s:s, s:f, s:i, s:i}", "pid", pid,
						      "name", pid % 2 ? "odd" : "even", "cpus",
						      pid == 7 ? 1.5 : 0.25, "resident_bytes",
						      pid << 20, "started", pid * 1000));
	return json_pack("{s:o}", "processes", list);
}

static size_t count(const char *text)
{
	size_t cnt = 0;

	for (const char *at = out.data; (at = strstr(at, text)); at++)
		cnt++;
	return cnt;
}

/* Attributes such as onclick=. */
static size_t count_handlers(void)
{
	size_t cnt = 0;

	for (const char *at = out.data; (at = strstr(at, " on")); at++)
		cnt += at[3 + strspn(at + 3, "abcdefghijklmnopqrstuvwxyz")] == '=';
	return cnt;
}

static void routes_have_the_part_with_most_of_their_time(void **state)
{
	json_t *requests = parse("{\"headline\":\"2 requests\",\"routes\":[{\"count\":2,"
				 "\"p50_ns\":1000000,\"route\":\"GET /tax/{n}\",\"parts\":["
				 "{\"part\":\"on CPU\",\"ns\":4,\"percent\":4.0},"
				 "{\"part\":\"HTTP in Shop.Ask\",\"ns\":96,\"percent\":96.0}]}]}");
	const struct tapir_page_results results = {.requests = requests};

	(void)state;
	tapir_page__session(&out, NULL, &results);
	assert_int_equal(count("<section id=\"requests\">"), 1);
	assert_int_equal(count("GET /tax/{n}"), 1);
	assert_int_equal(count("<td>96% HTTP in Shop.Ask</td>"), 1);
	json_decref(requests);
}

static void list_is_sorted_and_has_fifty_rows_a_page(void **state)
{
	struct tapir_page_filter filter = {"a&b", "", "", "", true, "cpu", 0, 200000};
	json_t *many = many_processes();

	(void)state;
	tapir_str__clear(&out);
	tapir_page__processes(&out, NULL, many, &filter);
	assert_int_equal(count("<tr><td"), TAPIR_PAGE_ROWS);
	assert_true(strstr(out.data, "/processes/7?") < strstr(out.data, "/processes/1?"));
	assert_non_null(strstr(out.data, "<td class=\"n\">1.50</td><td class=\"n\">7.3 MB</td>"
					 "<td class=\"n\">3 min</td>"));
	assert_non_null(strstr(out.data, "Rows 1 to 50 of 120"));
	assert_non_null(strstr(out.data, "<a href=\"/?name=a%26b&amp;all=1&amp;sort=cpu&amp;"
					 "page=2\">Next</a>"));
	assert_non_null(strstr(out.data, "<th class=\"n\" aria-sort=\"descending\">"));
	assert_null(strstr(out.data, "Previous"));
	tapir_str__clear(&out);
	filter.sort = "memory";
	filter.page = 99; /* after the last */
	tapir_page__processes(&out, NULL, many, &filter);
	assert_int_equal(count("<tr><td"), 20);
	assert_non_null(strstr(out.data, "Rows 101 to 120 of 120"));
	assert_non_null(strstr(out.data, "Previous"));
	assert_null(strstr(out.data, "Next"));
	tapir_str__clear(&out);
	filter.sort = "name";
	filter.page = 2;
	tapir_page__processes(&out, NULL, many, &filter);
	assert_non_null(strstr(out.data, "/processes/102?"));
	assert_true(strstr(out.data, "/processes/120?") < strstr(out.data, "/processes/1?"));
	json_decref(many);
}

static void text_of_others_is_escaped_on_every_page(void **state)
{
	json_t *evil = evil_document();

	(void)state;
	/* Three pages of the ten have charts, two of them of one process. */
	add_all(evil, "<script>\"'");
	assert_int_equal(count("<script>"), 0);
	assert_int_equal(count("<script "), 10 + 3);
	assert_true(count("&lt;script&gt;&quot;") > 100);
	assert_int_equal(count("\xe2\x80\xae"), 0); /* reverses what follows */
	/* An attribute with a quote in it would end early: what follows would be a name. */
	assert_int_equal(count("\"'"), 0);
	json_decref(evil);
}

static void documents_without_members_make_pages(void **state)
{
	json_t *empty = parse("{}"), *wrong = parse("[1,\"x\",null]");

	(void)state;
	add_all(empty, "");
	add_all(wrong, "");
	add_all(NULL, "");
	assert_int_equal(count("</html>"), 3 * 10);
	json_decref(empty);
	json_decref(wrong);
}

static void page_has_no_script_or_style_of_its_own(void **state)
{
	json_t *empty = parse("{\"role\":\"admin\",\"pid\":1}");

	(void)state;
	add_all(empty, "x");
	assert_int_equal(count("style=\""), 0);
	assert_int_equal(count("<style"), 0);
	assert_int_equal(count_handlers(), 0);
	assert_int_equal(count("</script>"), count(" src=\"/assets/"));
	assert_int_equal(count("://"), 0);
	json_decref(empty);
}

static void download_offers_every_format(void **state)
{
	json_t *sessions = parse("{\"sessions\":[{\"id\":\"1\",\"state\":\"finished\"}]}");
	json_t *view = parse("{\"role\":\"view\"}"), *profile = parse("{\"role\":\"profile\"}");
	struct tapir_answer_format f;
	char option[64];
	size_t cnt = 0, for_view = 0;

	(void)state;
	tapir_page__sessions(&out, profile, sessions);
	for (size_t i = 0; tapir_answer_format__find(tapir_answer_format__name(i), &f) &&
			   tapir_answer_format__name(i);
	     i++) {
		snprintf(option, sizeof(option), "<option>%s</option>", f.name);
		assert_int_equal(count(option), !f.is_none);
		cnt += !f.is_none;
		for_view += !f.is_none && !f.has_files;
	}
	assert_int_equal(count("<option>"), cnt);
	/* What the agent refuses a role is not offered to it. */
	tapir_str__clear(&out);
	tapir_page__sessions(&out, view, sessions);
	assert_int_equal(count("<option>"), for_view);
	assert_int_equal(count("<option>archive</option>"), 0);
	assert_true(for_view < cnt);
	json_decref(sessions);
	json_decref(view);
	json_decref(profile);
}

static void reader_sees_what_the_role_permits(void **state)
{
	json_t *d = parse("{\"sessions\":[{\"id\":\"1\",\"state\":\"recording\"}],\"pid\":1}");
	json_t *view = parse("{\"role\":\"view\",\"name\":\"v\",\"csrf\":\"c\"}");
	json_t *profile = parse("{\"role\":\"profile\",\"name\":\"p\",\"csrf\":\"c\"}");

	(void)state;
	tapir_page__sessions(&out, view, d);
	tapir_page__process(&out, view, d, NULL, NULL);
	assert_int_equal(count("method=\"post\""), 0);
	tapir_page__sessions(&out, profile, d);
	tapir_page__process(&out, profile, d, NULL, NULL);
	assert_int_equal(count("method=\"post\""), 2);
	assert_int_equal(count("name=\"csrf\" value=\"c\""), 2);
	json_decref(d);
	json_decref(view);
	json_decref(profile);
}

static void markup_takes_what_printf_takes(void **state)
{
	const char *volatile none = NULL;

	(void)state;
	tapir_html__add(&out, "%s|%s|%u|%llu|%.1f|%%", "<a&\">", none, 7u, 1ull << 40, 2.25);
	assert_string_equal(out.data, "&lt;a&amp;&quot;&gt;||7|1099511627776|2.2|%");
}

/* A traced program decides what sums of its events are. */
static void numbers_beyond_signed_ones_are_read(void **state)
{
	static const char text[] = "{\"a\":18446744073709551615,\"b\":7,\"c\":\"x\",\"d\":-1e30}";
	json_t *json = tapir_answer__parse(text, strlen(text));

	(void)state;
	assert_non_null(json);
	assert_true(tapir_member__u64(json, "a") == UINT64_MAX);
	assert_int_equal(tapir_member__u64(json, "b"), 7);
	assert_int_equal(tapir_member__u64(json, "c"), 0);
	assert_int_equal(tapir_member__u64(json, "d"), 0);
	json_decref(json);
	assert_null(tapir_answer__parse(NULL, 0));
	assert_null(tapir_answer__parse("{", 1));
}

static void asset_is_found_by_its_name_alone(void **state)
{
	(void)state;
	assert_non_null(tapir_asset__find("tapir.css"));
	assert_null(tapir_asset__find("../tapir.css"));
	assert_null(tapir_asset__find(""));
	assert_true(tapir_asset__version(tapir_asset__find("tapir.css")) !=
		    tapir_asset__version(tapir_asset__find("tapir.js")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(text_of_others_is_escaped_on_every_page, fini),
		cmocka_unit_test_teardown(routes_have_the_part_with_most_of_their_time, fini),
		cmocka_unit_test_teardown(list_is_sorted_and_has_fifty_rows_a_page, fini),
		cmocka_unit_test_teardown(documents_without_members_make_pages, fini),
		cmocka_unit_test_teardown(page_has_no_script_or_style_of_its_own, fini),
		cmocka_unit_test_teardown(download_offers_every_format, fini),
		cmocka_unit_test_teardown(reader_sees_what_the_role_permits, fini),
		cmocka_unit_test_teardown(markup_takes_what_printf_takes, fini),
		cmocka_unit_test(numbers_beyond_signed_ones_are_read),
		cmocka_unit_test_teardown(asset_is_found_by_its_name_alone, fini),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
