// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of detectors and rules means nothing: each recording of tests/corpus has the same
 * findings, in the same order and with the same words, however the rows of TAPIR_DETECTORS and
 * TAPIR_RULES are shuffled.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "diagnose/rules.h"
#include "output/render/report_read.h"

#define CORPUS	 "tests/corpus" /* tests run at the root of the tree */
#define SHUFFLES 8

/* The numbers are the same in each run. */
static uint64_t seed = 39;

static size_t below(size_t cnt)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(seed >> 33) % cnt;
}

static struct tapir_rule rules[TAPIR_RULE_CNT];

static void shuffle(size_t order[TAPIR_DETECTOR_CNT])
{
	for (size_t i = TAPIR_DETECTOR_CNT - 1; i; i--) {
		size_t with = below(i + 1), kept = order[i];

		order[i] = order[with];
		order[with] = kept;
	}
	for (size_t i = TAPIR_RULE_CNT - 1; i; i--) {
		size_t with = below(i + 1);
		struct tapir_rule kept = rules[i];

		rules[i] = rules[with];
		rules[with] = kept;
	}
}

static void expect_rows(const char *name, const struct tapir_findings *a,
			const struct tapir_findings *b)
{
	if (a->rows.cnt != b->rows.cnt || a->hidden.cnt != b->hidden.cnt)
		fail_msg("%s: %zu findings, %zu when shuffled", name, a->rows.cnt, b->rows.cnt);
	for (size_t i = 0; i < a->rows.cnt; i++) {
		const struct tapir_finding *x = &a->rows.data[i], *y = &b->rows.data[i];

		if (x->kind != y->kind || x->severity != y->severity ||
		    x->magnitude != y->magnitude || strcmp(x->text, y->text) != 0)
			fail_msg("%s, finding %zu: '%s', when shuffled '%s'", name, i, x->text,
				 y->text);
		if (strcmp(x->facts ? x->facts : "", y->facts ? y->facts : "") != 0)
			fail_msg("%s: '%s' of %s, when shuffled of %s", name, x->text, x->facts,
				 y->facts);
	}
	for (unsigned i = 0; i < TAPIR_FINDING_KIND_CNT; i++)
		if (a->trials[i].was_admitted != b->trials[i].was_admitted ||
		    a->trials[i].magnitude != b->trials[i].magnitude)
			fail_msg("%s: %s measures %g, when shuffled %g", name,
				 tapir_finding__kind_name(i), a->trials[i].magnitude,
				 b->trials[i].magnitude);
}

static void judge_shuffled(const char *name, struct tapir_report *report)
{
	size_t order[TAPIR_DETECTOR_CNT];
	const struct tapir_rule *table = tapir_rules;

	memcpy(rules, table, sizeof(rules));
	tapir_rules = rules;
	for (size_t i = 0; i < TAPIR_DETECTOR_CNT; i++)
		order[i] = TAPIR_DETECTOR_CNT - 1 - i; /* the first is the reverse */
	for (int turn = 0; turn < SHUFFLES; turn++) {
		struct tapir_findings list = {};

		for (size_t i = 0; i < TAPIR_DETECTOR_CNT; i++)
			tapir_detectors[order[i]](&report->finding, &list);
		tapir_findings__judge(&list);
		assert_false(list.failed);
		expect_rows(name, &report->findings, &list);
		tapir_findings__fini(&list);
		shuffle(order);
	}
	tapir_rules = table;
}

static size_t check_file(const char *name)
{
	struct tapir_report_request rq = {
		.path = name, .pids = &(struct tapir_pids){}, .tids = &(struct tapir_pids){}};
	struct tapir_report report = {};
	struct tapir_pairs pairs = {};
	struct tapir_reader *reader;
	char path[512];
	size_t cnt;

	snprintf(path, sizeof(path), CORPUS "/%s", name);
	assert_int_equal(tapir_reader__open(path, &reader), 0);
	assert_int_equal(tapir_report__read(&report, reader, &pairs, &rq), 0);
	judge_shuffled(name, &report);
	cnt = report.findings.rows.cnt;
	for (size_t i = 0; i < cnt; i++) {
		const struct tapir_finding *found = &report.findings.rows.data[i];

		if (!found->facts || !found->source || found->from_ns > found->to_ns)
			fail_msg("%s: '%s' is of no fact, or no time", name, found->text);
	}
	tapir_report__fini(&report);
	tapir_pairs__fini(&pairs);
	tapir_reader__close(reader);
	tapir_diag__clear();
	return cnt;
}

static void shuffled_detectors_find_the_same(void **state)
{
	DIR *dir = opendir(CORPUS);
	const struct dirent *entry;
	size_t files = 0, found = 0;

	(void)state;
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		if (len < 6 || strcmp(entry->d_name + len - 6, ".tapir") != 0)
			continue;
		files++;
		found += check_file(entry->d_name);
	}
	closedir(dir);
	assert_true(files >= 90 && found >= files);
}

/* ---- explanations --------------------------------------------------------------------------- */

static void add(struct tapir_findings *list, enum tapir_finding_kind kind, double magnitude)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s %g", tapir_finding__kind_name(kind), magnitude);
	tapir_findings__add(list, kind, magnitude, NULL, &text, NULL, NULL);
}

static void what_explains_another_finding_hides_it(void **state)
{
	struct tapir_findings list = {};

	(void)state;
	add(&list, TAPIR_FINDING_GC, 30);
	add(&list, TAPIR_FINDING_IDLE, 99);
	add(&list, TAPIR_FINDING_INDUCED_GC, 10);
	tapir_findings__judge(&list);
	assert_int_equal(list.rows.cnt, 1);
	assert_int_equal(list.rows.data[0].kind, TAPIR_FINDING_INDUCED_GC);
	assert_int_equal(list.hidden.cnt, 2);
	assert_int_equal(list.hidden.data[0].explained->by, TAPIR_FINDING_INDUCED_GC);
	assert_int_equal(list.hidden.data[1].explained->by, TAPIR_FINDING_ANY);
	tapir_findings__fini(&list);
}

static void less_than_its_share_explains_nothing(void **state)
{
	struct tapir_findings list = {};

	(void)state;
	add(&list, TAPIR_FINDING_MEMORY, 10);
	add(&list, TAPIR_FINDING_HEAP, 4.9);
	tapir_findings__judge(&list);
	assert_int_equal(list.rows.cnt, 2);
	add(&list, TAPIR_FINDING_HEAP, 5);
	tapir_findings__judge(&list);
	assert_int_equal(list.rows.cnt, 2);
	assert_int_equal(list.hidden.cnt, 1);
	assert_int_equal(list.hidden.data[0].kind, TAPIR_FINDING_MEMORY);
	tapir_findings__fini(&list);
}

static void a_part_that_is_explained_weighs_less(void **state)
{
	struct tapir_findings list = {};

	(void)state;
	add(&list, TAPIR_FINDING_NOISY_NEIGHBOUR, 60);
	list.rows.data[0].threads = 2;
	add(&list, TAPIR_FINDING_LOCKS, 5.9);
	tapir_findings__judge(&list);
	assert_true(list.rows.data[1].magnitude == 60);
	add(&list, TAPIR_FINDING_LOCKS, 6);
	tapir_findings__judge(&list);
	assert_int_equal(list.rows.data[2].kind, TAPIR_FINDING_NOISY_NEIGHBOUR);
	assert_true(list.rows.data[2].magnitude == 10);
	assert_int_equal(list.hidden.cnt, 0);
	tapir_findings__fini(&list);
}

static void equal_severities_have_one_order(void **state)
{
	struct tapir_findings one = {}, other = {};

	(void)state;
	add(&one, TAPIR_FINDING_DISK, 5);
	add(&one, TAPIR_FINDING_CPU_ACTIVITY, 95);
	add(&one, TAPIR_FINDING_DISK, 6);
	add(&other, TAPIR_FINDING_DISK, 6);
	add(&other, TAPIR_FINDING_DISK, 5);
	add(&other, TAPIR_FINDING_CPU_ACTIVITY, 95);
	tapir_findings__judge(&one);
	tapir_findings__judge(&other);
	expect_rows("equal ones", &one, &other);
	assert_true(one.rows.data[1].magnitude == 6);
	tapir_findings__fini(&one);
	tapir_findings__fini(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shuffled_detectors_find_the_same),
		cmocka_unit_test(what_explains_another_finding_hides_it),
		cmocka_unit_test(less_than_its_share_explains_nothing),
		cmocka_unit_test(a_part_that_is_explained_weighs_less),
		cmocka_unit_test(equal_severities_have_one_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
