// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Comparisons of recordings that are made up: loads that are the same differ in nothing, whatever
 * the seed; what doubled is found; what is not known is not compared.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diff/diff.h"
#include "base/clock.h"
#include "base/diag.h"
#include "output/render/diff_fail_on.h"

#define SPAN_NS (32 * TAPIR_NS_PER_SEC)
#define MS	TAPIR_NS_PER_MS
#define NAME	"GET /x"

struct fixture {
	struct tapir_diff_side sides[2];
	struct tapir_diff diff;
	uint64_t seed;
};

static double chance(struct fixture *f)
{
	f->seed = f->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(f->seed >> 11) / 0x1p53;
}

static void begin_side(struct tapir_diff_side *side)
{
	side->rows.until_ns = side->span_ns = SPAN_NS;
	side->has_samples = side->has_switches = true;
	side->specs = strdup("shop:*");
	assert_non_null(side->specs);
	for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++)
		side->seconds[i] = (double)SPAN_NS / 1e9 / TAPIR_DIFF_PARTS;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->seed = 1;
	for (int i = 0; i < 2; i++)
		begin_side(&f->sides[i]);
	tapir_diag__clear();
	*state = f;
	return 0;
}

static void reset(struct fixture *f)
{
	tapir_diff__fini(&f->diff);
	f->diff = (struct tapir_diff){};
	for (int i = 0; i < 2; i++) {
		tapir_diff_side__fini(&f->sides[i]);
		f->sides[i] = (struct tapir_diff_side){};
		begin_side(&f->sides[i]);
	}
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_diff__fini(&f->diff);
	for (int i = 0; i < 2; i++)
		tapir_diff_side__fini(&f->sides[i]);
	free(f);
	return 0;
}

/* cnt things at random moments, of 10 to 20 ms times factor. */
static void add(struct fixture *f, int side, enum tapir_diff_kind kind, const char *name,
		unsigned cnt, double factor)
{
	struct tapir_diff_rows *rows = &f->sides[side].rows;
	size_t idx = tapir_diff_rows__idx(rows, kind, name, strlen(name));

	for (unsigned i = 0; i < cnt; i++) {
		uint64_t at_ns = (uint64_t)(chance(f) * (double)SPAN_NS);
		uint64_t took_ns = (uint64_t)((10 + 10 * chance(f)) * factor * (double)MS);

		if (kind == TAPIR_DIFF_CPU)
			tapir_diff_rows__add(rows, idx, at_ns, 10.0 * (double)MS);
		else if (kind == TAPIR_DIFF_WAIT)
			tapir_diff_rows__spread(rows, idx, at_ns, at_ns + took_ns);
		else
			tapir_diff_rows__took(rows, idx, at_ns, took_ns);
	}
}

static void make(struct fixture *f)
{
	assert_int_equal(tapir_diff__make(&f->diff, &f->sides[0], &f->sides[1], TAPIR_DIFF_AUTO),
			 0);
}

static size_t changed_cnt(const struct fixture *f)
{
	const struct tapir_diff_change *c;
	size_t cnt = 0;

	tapir_vec_for_each (c, &f->diff.changes)
		cnt += c->is_changed;
	return cnt;
}

static const struct tapir_diff_change *change_of(const struct fixture *f, enum tapir_diff_kind kind,
						 enum tapir_diff_figure figure)
{
	const struct tapir_diff_change *c;

	tapir_vec_for_each (c, &f->diff.changes)
		if (c->kind == kind && c->figure == figure)
			return c;
	return NULL;
}

static int judge(const struct fixture *f, const char *text)
{
	struct tapir_expression *e = NULL;
	int err;

	tapir_diag__clear();
	assert_int_equal(tapir_diff_fail_on__parse(text, &e), 0);
	err = tapir_diff_fail_on__evaluate(e, &f->diff);
	tapir_expression__free(e);
	return err;
}

/* ---- noise ------------------------------------------------------------------------------------- */

static void one_load_differs_in_nothing(void **state)
{
	struct fixture *f = *state;
	size_t changed = 0;
	char name[16];

	for (unsigned round = 0; round < 40; round++) {
		reset(f);
		f->seed = round * 1000003 + 7;
		for (int side = 0; side < 2; side++) {
			for (unsigned i = 0; i < 50; i++) {
				snprintf(name, sizeof(name), "f%u", i);
				add(f, side, TAPIR_DIFF_CPU, name, 1 + i * 8, 1);
				add(f, side, TAPIR_DIFF_WAIT, name, 1 + i * 4, 1);
			}
			add(f, side, TAPIR_DIFF_ROUTE, NAME, 2000, 1);
		}
		make(f);
		changed += changed_cnt(f);
	}
	assert_int_equal(changed, 0); /* the seeds are fixed */
}

static void what_doubles_is_found(void **state)
{
	struct fixture *f = *state;

	add(f, 0, TAPIR_DIFF_CPU, "f", 300, 1);
	add(f, 1, TAPIR_DIFF_CPU, "f", 600, 1);
	add(f, 0, TAPIR_DIFF_CPU, "g", 300, 1);
	add(f, 1, TAPIR_DIFF_CPU, "g", 300, 1);
	add(f, 0, TAPIR_DIFF_ROUTE, NAME, 2000, 1);
	add(f, 1, TAPIR_DIFF_ROUTE, NAME, 2000, 2);
	make(f);
	assert_true(change_of(f, TAPIR_DIFF_CPU, TAPIR_DIFF_SUM)->is_changed);
	assert_string_equal(change_of(f, TAPIR_DIFF_CPU, TAPIR_DIFF_SUM)->name, "f");
	assert_true(change_of(f, TAPIR_DIFF_ROUTE, TAPIR_DIFF_MEAN)->is_changed);
	assert_true(change_of(f, TAPIR_DIFF_ROUTE, TAPIR_DIFF_P99)->is_changed);
	assert_false(change_of(f, TAPIR_DIFF_ROUTE, TAPIR_DIFF_COUNT)->is_changed);
}

/* Five in one half alone are noise of the recording that has them. */
static void what_comes_in_one_part_is_noise(void **state)
{
	struct fixture *f = *state;
	size_t idx;

	for (int side = 0; side < 2; side++) {
		idx = tapir_diff_rows__idx(&f->sides[side].rows, TAPIR_DIFF_CPU, "f", 1);
		for (unsigned i = 0; i < 100u * (unsigned)(1 + side); i++)
			tapir_diff_rows__add(&f->sides[side].rows, idx, SPAN_NS / 5, 1e7);
	}
	make(f);
	assert_int_equal(changed_cnt(f), 0);
}

static void chance_is_that_of_a_binomial_distribution(void **state)
{
	(void)state;
	assert_float_equal(tapir_diff__chance(0, 5, 0.5), 2.0 / 32, 1e-9);
	assert_float_equal(tapir_diff__chance(5, 0, 0.5), 2.0 / 32, 1e-9);
	assert_float_equal(tapir_diff__chance(10, 0, 0.25), 2 * 9.5367431640625e-07, 1e-12);
	assert_float_equal(tapir_diff__chance(0, 0, 0.5), 1, 0);
	assert_float_equal(tapir_diff__chance(50, 50, 0.5), 1, 0);
	assert_true(tapir_diff__chance(600000, 500000, 0.5) < 1e-12);
}

static void ranks_need_enough_values(void **state)
{
	uint64_t low, high;

	(void)state;
	assert_false(tapir_diff__ranks(0, 0.5, &low, &high));
	assert_false(tapir_diff__ranks(400, 0.99, &low, &high));
	assert_true(tapir_diff__ranks(900, 0.99, &low, &high));
	assert_true(low < 891 && high > 891 && high <= 900);
}

/* ---- what is not known ------------------------------------------------------------------------- */

static void a_count_of_0_is_known_if_it_was_requested(void **state)
{
	struct fixture *f = *state;

	add(f, 1, TAPIR_DIFF_EVENT, "shop:order", 500, 1);
	make(f);
	assert_true(change_of(f, TAPIR_DIFF_EVENT, TAPIR_DIFF_COUNT)->is_changed);
	assert_int_equal(judge(f, "count(\"shop:order\") > 1.2x"), -ERANGE);

	tapir_diff__fini(&f->diff);
	f->diff = (struct tapir_diff){};
	free(f->sides[0].specs);
	f->sides[0].specs = strdup("other:*");
	make(f);
	assert_null(change_of(f, TAPIR_DIFF_EVENT, TAPIR_DIFF_COUNT));
	assert_int_equal(f->diff.unknown_cnt[1], 1);
	assert_int_equal(judge(f, "count(\"shop:order\") > 1.2x"), -ERANGE);
	assert_non_null(strstr(tapir_diag__line(0), "not known of the first"));
}

static void functions_are_compared_if_both_were_sampled(void **state)
{
	struct fixture *f = *state;

	f->sides[0].has_samples = false;
	add(f, 1, TAPIR_DIFF_CPU, "f", 500, 1);
	make(f);
	assert_int_equal(f->diff.changes.cnt, 0);
}

static void a_percentile_of_few_is_not_known(void **state)
{
	struct fixture *f = *state;

	for (int side = 0; side < 2; side++)
		add(f, side, TAPIR_DIFF_ROUTE, NAME, 100, 1 + side);
	make(f);
	assert_null(change_of(f, TAPIR_DIFF_ROUTE, TAPIR_DIFF_P99));
	assert_non_null(change_of(f, TAPIR_DIFF_ROUTE, TAPIR_DIFF_P50));
	assert_int_equal(judge(f, "p99(\"GET /x\") > 100x"), -ERANGE);
}

static void what_was_lost_may_be_of_anything(void **state)
{
	struct fixture *f = *state;

	f->sides[0].captured[TAPIR_FAMILY_EVENT] = 300;
	f->sides[0].lost[TAPIR_FAMILY_EVENT] = 700;
	add(f, 0, TAPIR_DIFF_EVENT, "shop:order", 300, 1);
	add(f, 1, TAPIR_DIFF_EVENT, "shop:order", 900, 1);
	make(f);
	assert_false(change_of(f, TAPIR_DIFF_EVENT, TAPIR_DIFF_COUNT)->is_changed);
}

/* ---- bases and conditions ---------------------------------------------------------------------- */

static void give_requests(struct fixture *f, int side, unsigned cnt)
{
	f->sides[side].request_cnt = cnt;
	for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++)
		f->sides[side].requests[i] = (double)cnt / TAPIR_DIFF_PARTS;
}

static void twice_the_requests_need_twice_the_time(void **state)
{
	struct fixture *f = *state;

	give_requests(f, 0, 1600);
	give_requests(f, 1, 3200);
	add(f, 0, TAPIR_DIFF_CPU, "f", 500, 1);
	add(f, 1, TAPIR_DIFF_CPU, "f", 1000, 1);
	make(f);
	assert_int_equal(f->diff.base, TAPIR_DIFF_PER_REQUEST);
	assert_int_equal(changed_cnt(f), 0);
}

static void conditions_hold_exactly_when_they_should(void **state)
{
	static const struct {
		const char *text;
		int err;
	} cases[] = {
		{"mean(\"GET /x\") > 1.5x", -ERANGE},
		{"mean(\"GET /x\") > 3x", 0},
		{"mean(\"requests:GET /x\") > 1.5x && p50(\"GET /x\") > 1.5x", -ERANGE},
		{"mean(\"cpu:GET /x\") > 1.5x", -ERANGE}, /* there is none */
		{"1.5x < mean(\"GET /x\")", -ERANGE},
		{"mean(\"GET /x\") > 20ms", -ERANGE},
		{"mean(\"GET /x\") > 40ms", 0},
		{"sum(\"same\") > 1.0x", 0}, /* noise is 1x */
		{"sum(\"same\") >= 1x", -ERANGE},
		{"max(\"GET /x\") > 1ms", -ERANGE},
	};
	struct fixture *f = *state;

	for (int side = 0; side < 2; side++) {
		add(f, side, TAPIR_DIFF_ROUTE, NAME, 1000, 1 + side);
		add(f, side, TAPIR_DIFF_CPU, "same", 400, 1);
	}
	make(f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (judge(f, cases[i].text) != cases[i].err)
			fail_msg("%s", cases[i].text);
}

static void the_first_line_has_what_grew_most(void **state)
{
	struct fixture *f = *state;
	struct tapir_view_result result = {.view = "diff"};
	const char *const names[] = {"a", "b"};

	add(f, 0, TAPIR_DIFF_ROUTE, NAME, 1000, 1);
	add(f, 1, TAPIR_DIFF_ROUTE, NAME, 1000, 3);
	add(f, 0, TAPIR_DIFF_ROUTE, "GET /fast", 1000, 4);
	add(f, 1, TAPIR_DIFF_ROUTE, "GET /fast", 1000, 1);
	make(f);
	tapir_diff__write(&f->diff, names, 0, false, &result);
	assert_false(result.failed);
	assert_non_null(strstr(result.headline.data, "slower: GET /x: "));
	tapir_view_result__fini(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_load_differs_in_nothing),
		TEST(what_doubles_is_found),
		TEST(what_comes_in_one_part_is_noise),
		TEST(chance_is_that_of_a_binomial_distribution),
		TEST(ranks_need_enough_values),
		TEST(a_count_of_0_is_known_if_it_was_requested),
		TEST(functions_are_compared_if_both_were_sampled),
		TEST(a_percentile_of_few_is_not_known),
		TEST(what_was_lost_may_be_of_anything),
		TEST(twice_the_requests_need_twice_the_time),
		TEST(conditions_hold_exactly_when_they_should),
		TEST(the_first_line_has_what_grew_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
