// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of findings: what judging, help and --fail-on rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "diagnose/diagnosis.h"
#include "diagnose/rules.h"
#include "output/render/finding_page.h"
#include "output/render/report_view.h"

static void each_kind_has_a_name_of_its_own_and_all_words(void **state)
{
	unsigned found;

	(void)state;
	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++) {
		const struct tapir_finding_kind_info *kind = &tapir_finding_kinds[i];

		assert_true(tapir_finding_kind__find(kind->name, strlen(kind->name), &found));
		assert_int_equal(found, i);
		assert_true(*kind->title && *kind->unit && *kind->view);
		assert_true(*kind->claims && *kind->measured && *kind->remedy);
	}
	assert_false(tapir_finding_kind__find("deadloc", 7, &found));
	assert_false(tapir_finding_kind__find("deadlocks", 9, &found));
	assert_false(tapir_finding_kind__find("", 0, &found));
}

static void a_larger_magnitude_never_weighs_less(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++) {
		const struct tapir_finding_kind_info *kind = &tapir_finding_kinds[i];

		assert_true(kind->report_at > 0 && kind->report_at <= kind->critical_at);
		assert_true(kind->min_severity >= 0 && kind->min_severity <= kind->max_severity &&
			    kind->max_severity <= 100);
	}
}

/* The magnitude that help calls critical is where the level of a finding changes. */
static void critical_begins_where_help_says(void **state)
{
	(void)state;
	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++) {
		const struct tapir_finding_kind_info *kind = &tapir_finding_kinds[i];
		double at = tapir_finding__magnitude_at(kind, TAPIR_FINDING_CRITICAL);
		struct tapir_findings list = {};
		struct tapir_str text = {}, less = {};

		if (at < 0) {
			assert_true(kind->max_severity < TAPIR_FINDING_CRITICAL);
			continue;
		}
		tapir_str__adds(&text, "more");
		tapir_findings__add(&list, (enum tapir_finding_kind)i, at + 1e-6, NULL, &text, NULL,
				    NULL);
		assert_int_equal(list.rows.cnt, 1);
		assert_string_equal(tapir_finding__level(list.rows.data[0].severity), "critical");
		if (at > kind->report_at) {
			tapir_str__adds(&less, "less");
			tapir_findings__add(&list, (enum tapir_finding_kind)i, at - 1e-6, NULL,
					    &less, NULL, NULL);
			assert_int_equal(list.rows.cnt, 2);
			assert_string_not_equal(tapir_finding__level(list.rows.data[1].severity),
						"critical");
		}
		tapir_findings__fini(&list);
	}
}

static void help_has_each_kind_and_each_limit(void **state)
{
	struct tapir_str page = {}, head = {};

	(void)state;
	tapir_finding_page__add(&page);
	assert_false(page.failed);
	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++) {
		tapir_str__clear(&head);
		tapir_str__addf(&head, "\n%s: ", tapir_finding_kinds[i].name);
		assert_non_null(strstr(page.data, head.data));
	}
	for (unsigned i = 0; i < TAPIR_LIMIT_CNT; i++) {
		tapir_str__clear(&head);
		tapir_str__add(&head, tapir_limits[i].description,
			       strcspn(tapir_limits[i].description, " "));
		assert_true(*tapir_limits[i].description && tapir_limits[i].number >= 0);
		assert_non_null(strstr(page.data, head.data));
	}
	for (const char *line = page.data; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		assert_true(strcspn(line, "\n") <= 80);
	}
	tapir_str__fini(&page);
	tapir_str__fini(&head);
}

/* ---- sentences ------------------------------------------------------------------------------ */

static void expect_sentence(const struct tapir_rule_fact *fact, const char *text, const char *said)
{
	struct tapir_diagnosis f = {};
	struct tapir_str out = {};

	tapir_rules__add_sentence(&f, fact, text, &out);
	assert_string_equal(out.data ? out.data : "", said);
	tapir_str__fini(&out);
}

/* A name that is none aborts; a part that is not closed would be in what is said. */
static void each_rule_has_names_of_values(void **state)
{
	struct tapir_rule_fact fact = {.label = "label", .note = "note"};
	struct tapir_diagnosis f = {};

	(void)state;
	for (const struct tapir_rule *rule = tapir_rules; rule < tapir_rules + TAPIR_RULE_CNT;
	     rule++) {
		struct tapir_str out = {};

		tapir_rules__add_sentence(&f, &fact, rule->sentence, &out);
		tapir_rules__add_sentence(&f, &fact, rule->evidence ? rule->evidence : "", &out);
		assert_true(out.len || strstr(rule->sentence, "more"));
		assert_null(out.data ? strpbrk(out.data, "{}<>?") : NULL);
		tapir_str__fini(&out);
	}
}

static void parts_without_a_value_are_left_out(void **state)
{
	struct tapir_rule_fact fact = {.cnt = 3, .mb = 2.55, .ns = 1.5e9, .label = "lock"};

	(void)state;
	expect_sentence(&fact, "{cnt} threads< of {of}>< at {label}>", "3 threads at lock");
	expect_sentence(&fact, "<{of}><?{note}><?{cnt}><?{label}>!", "3!");
	expect_sentence(&fact, "<{label} of {of}><?->", "-");
	expect_sentence(&fact, "{mb} {mb.1} {mb.2} {of}", "3 2.5 2.55 0");
	expect_sentence(&fact, "{ns}< of {own_ns}>", "1.500 s");
}

/* The time of a wait that had not ended, and no other figure of it. */
static void time_that_is_a_lower_limit_says_so(void **state)
{
	struct tapir_rule_fact fact = {.cnt = 3, .ns = 1.5e9, .own_ns = 5e8, .is_least = true};

	(void)state;
	expect_sentence(&fact, "{cnt} waited {ns}< of {own_ns}>",
			"3 waited at least 1.500 s of 500.00 ms");
	fact.ns = 0;
	expect_sentence(&fact, "{cnt} waited<, {ns}>", "3 waited");
	fact = (struct tapir_rule_fact){.ns = 1.5e9};
	expect_sentence(&fact, "{ns}", "1.500 s");
}

static void expect_share(double cnt, double of, const char *said)
{
	struct tapir_str out = {};

	tapir_rules__add_share(cnt, of, &out);
	assert_string_equal(out.data, said);
	tapir_str__fini(&out);
}

/* To 95 %: 25 of 50 are 37 to 63 %, 40 of 50 are 67 to 89 %, 45 of 50 are 79 to 96 %. */
static void a_share_of_few_samples_has_no_figure(void **state)
{
	struct tapir_rule_fact fact = {.cnt = 40, .of = 50};

	(void)state;
	expect_share(25, 50, "part");
	expect_share(40, 50, "most");
	expect_share(45, 50, "90%");
	expect_share(5, 10, "part");
	expect_share(10, 10, "most");
	expect_share(400, 1000, "40%");
	expect_share(0, 0, "0%");
	expect_sentence(&fact, "<{sampled} of the CPU in timers>", "most of the CPU in timers");
	fact = (struct tapir_rule_fact){.cnt = 400, .of = 500};
	expect_sentence(&fact, "<{sampled} of the CPU in timers>", "80% of the CPU in timers");
	fact.cnt = 0;
	expect_sentence(&fact, "<{sampled} of the CPU in timers>", "");
}

static void words_go_with_their_number(void **state)
{
	struct tapir_rule_fact fact = {.cnt = 1, .of = 2};

	(void)state;
	expect_sentence(&fact, "{cnt} time{cnt||s}, {of} time{of||s}", "1 time, 2 times");
	expect_sentence(&fact, "{cnt|is|are} {of|is|are} {other|is|are}", "is are are");
}

/* ---- report --explain ----------------------------------------------------------------------- */

static void expect_explained(const struct tapir_findings *list, unsigned kind, const char *line)
{
	struct tapir_report_view view = {.findings = list};
	struct tapir_str text = {}, json = {};

	tapir_finding_page__explain(&view, kind, &text);
	tapir_finding_page__explain_json(&view, kind, &json);
	assert_false(text.failed || json.failed);
	if (!strstr(text.data, line))
		fail_msg("'%s' is not in:\n%s", line, text.data);
	tapir_str__fini(&text);
	tapir_str__fini(&json);
}

static bool admits(struct tapir_findings *list, double magnitude, double samples)
{
	return tapir_findings__admits(list, TAPIR_FINDING_TIMERS, magnitude,
				      TAPIR_CHECKS({TAPIR_LIMIT_SAMPLES, samples}));
}

static void what_was_measured_is_explained(void **state)
{
	struct tapir_findings list = {};
	struct tapir_str text = {};

	(void)state;
	expect_explained(&list, TAPIR_FINDING_TIMERS, "  not found  nothing was measured");
	assert_false(admits(&list, 9.9, 100));
	expect_explained(&list, TAPIR_FINDING_TIMERS,
			 "  not found  9.9 %, and is reported from 10 % on\n");
	assert_false(admits(&list, 30, 49));
	assert_false(admits(&list, 20, 10)); /* of two, the one with more is explained */
	expect_explained(&list, TAPIR_FINDING_TIMERS, "  not found  30 %, but requires 50 samples");
	expect_explained(&list, TAPIR_FINDING_TIMERS,
			 "  requires   50 samples: fewer say nothing of "
			 "a share; it has 49 samples\n");
	expect_explained(&list, TAPIR_FINDING_GC, "\n  timers: 30 %, but requires 50 samples");
	assert_true(admits(&list, 25, 50)); /* but what is met comes first */
	tapir_str__adds(&text, "25% of the CPU in timers");
	tapir_findings__add(&list, TAPIR_FINDING_TIMERS, 25, NULL, &text, NULL, NULL);
	tapir_findings__judge(&list);
	expect_explained(&list, TAPIR_FINDING_TIMERS, "  found      25% of the CPU in timers\n");
	tapir_findings__fini(&list);
}

static void what_another_finding_explains_says_so(void **state)
{
	struct tapir_findings list = {};
	struct tapir_str pauses = {}, calls = {};

	(void)state;
	tapir_str__adds(&pauses, "30% of the time in GC");
	tapir_str__adds(&calls, "GC.Collect is called 10 times a second");
	tapir_findings__add(&list, TAPIR_FINDING_GC, 30, NULL, &pauses, NULL, NULL);
	tapir_findings__add(&list, TAPIR_FINDING_INDUCED_GC, 10, NULL, &calls, NULL, NULL);
	tapir_findings__judge(&list);
	expect_explained(&list, TAPIR_FINDING_GC, "  not listed 30% of the time in GC\n");
	expect_explained(&list, TAPIR_FINDING_GC, "explained by induced-gc");
	tapir_findings__fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_has_a_name_of_its_own_and_all_words),
		cmocka_unit_test(a_larger_magnitude_never_weighs_less),
		cmocka_unit_test(critical_begins_where_help_says),
		cmocka_unit_test(each_rule_has_names_of_values),
		cmocka_unit_test(parts_without_a_value_are_left_out),
		cmocka_unit_test(time_that_is_a_lower_limit_says_so),
		cmocka_unit_test(a_share_of_few_samples_has_no_figure),
		cmocka_unit_test(words_go_with_their_number),
		cmocka_unit_test(help_has_each_kind_and_each_limit),
		cmocka_unit_test(what_was_measured_is_explained),
		cmocka_unit_test(what_another_finding_explains_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
