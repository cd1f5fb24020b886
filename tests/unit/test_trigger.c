// SPDX-License-Identifier: GPL-2.0-or-later
/* Triggers: what can be written, and which records fire them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/diag.h"
#include "flight/condition.h"
#include "flight/trigger.h"
#include "trace/recbuf.h"

#define SV(text) ((struct tapir_sv){"" text, sizeof("" text) - 1})
#define MS	 TAPIR_NS_PER_MS

static struct tapir_recbuf buf;
static struct tapir_catalog *catalog;
static struct tapir_str why;

static int setup(void **state)
{
	*state = tapir_triggers__new();
	catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL);
	tapir_diag__clear();
	return !*state || !catalog;
}

static int teardown(void **state)
{
	tapir_triggers__free(*state);
	tapir_catalog__free(catalog);
	tapir_recbuf__fini(&buf);
	tapir_str__fini(&why);
	return 0;
}

static void probe(struct tapir_triggers *t, uint32_t id, const char *event)
{
	const struct tapir_rec_probe fixed = {.h.time_ns = 1, .probe_id = id};
	const struct tapir_field field = {.type = TAPIR_FIELD_INT, .size = 8};
	const struct tapir_sv name = SV("value");
	const struct tapir_rec *rec =
		tapir_recbuf__probe(&buf, &fixed, SV("shop"), tapir_sv__of(event), SV("/bin/x"),
				    SV("\1"), &field, &name, 1);

	assert_true(tapir_catalog__describe(catalog, rec) >= 0);
	assert_false(tapir_triggers__match(t, catalog, rec, &why));
}

static bool fires(struct tapir_triggers *t, uint32_t id, uint32_t tid, uint64_t time_ns,
		  int64_t value)
{
	struct tapir_rec_event fixed = {
		.h = {.time_ns = time_ns}, .probe_id = id, .tgid = 100, .tid = tid};
	struct tapir_event_view view = {
		.rec = &fixed, .payload = (const uint8_t *)&value, .payload_bytes = 8};

	return tapir_triggers__match(t, catalog, tapir_recbuf__event(&buf, &view), &why);
}

static void texts_are_triggers_or_errors(void **state)
{
	static const char *const good[] = {
		"event=a:b",
		"event=a:b if x > 3",
		"event=MyCompany-*:Request if s = fo*",
		"counter=cpu-usage>9",
		"counter=a/b* <= -1e3",
		"slow=gc>100ms",
		"slow=a:b>1m30s",
		"exit",
		"exit=failed",
		"finding",
		"finding>=30",
		"event=a:b if x=y=z",
	};
	static const char *const bad[] = {
		"",
		"event",
		"event=",
		"event=a:b if ",
		"slow=gc",
		"slow=>5ms",
		"slow=gc>",
		"slow=gc>0",
		"slow=gc>x",
		"counter=",
		"counter=x>y",
		"counter=>5",
		"counter=x>nan",
		"exit=1",
		"exits",
		"Exit",
		"event=a:b if >5",
		"event=a:b if x>>",
		"event=a:b if x == \"a",
		"event=::::",
		"counter=x>inf",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(tapir_triggers__add(*state, good[i]), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		tapir_diag__clear();
		if (tapir_triggers__add(*state, bad[i]) != -EINVAL || !tapir_diag__cnt())
			fail_msg("'%s' is taken for a trigger", bad[i]);
	}
	while (!tapir_triggers__add(*state, "exit"))
		;
	assert_non_null(strstr(tapir_diag__line(tapir_diag__cnt() - 1), "more than 32 triggers"));
}

static void values_compare_as_numbers_or_globs(void **state)
{
	static const struct {
		const char *text;
		struct tapir_value value;
		bool holds;
	} cases[] = {
		{"x > 3", {.type = TAPIR_FIELD_INT, .i64 = 4}, true},
		{"x > 3", {.type = TAPIR_FIELD_INT, .i64 = -4}, false},
		{"x>-5", {.type = TAPIR_FIELD_INT, .i64 = -4}, true},
		{"x >= 3", {.type = TAPIR_FIELD_UINT, .u64 = 3}, true},
		{"x < 3", {.type = TAPIR_FIELD_UINT, .u64 = UINT64_MAX}, false},
		{"x <= 0.5", {.type = TAPIR_FIELD_FLOAT, .f64 = 0.5}, true},
		{"x != 3", {.type = TAPIR_FIELD_INT, .i64 = 3}, false},
		{"x == 3", {.type = TAPIR_FIELD_INT, .i64 = 3}, true},
		{"x = fo*",
		 {.type = TAPIR_FIELD_STR, .bytes = (const uint8_t *)"food", .len = 4},
		 true},
		{"x != fo*",
		 {.type = TAPIR_FIELD_STR, .bytes = (const uint8_t *)"food", .len = 4},
		 false},
		{"x = 500",
		 {.type = TAPIR_FIELD_STR, .bytes = (const uint8_t *)"500", .len = 3},
		 true},
		{"x > 3",
		 {.type = TAPIR_FIELD_STR, .bytes = (const uint8_t *)"9", .len = 1},
		 false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_condition c = {};

		assert_true(tapir_condition__parse(cases[i].text, &c));
		if (tapir_condition__holds(&c, &cases[i].value) != cases[i].holds)
			fail_msg("%s, case %zu", cases[i].text, i);
		tapir_condition__fini(&c);
	}
}

static void event_fires_when_its_condition_holds(void **state)
{
	assert_int_equal(tapir_triggers__add(*state, "event=shop:order__* if value >= 10"), 0);
	probe(*state, 1, "order__start");
	probe(*state, 2, "other");
	assert_false(fires(*state, 1, 5, 10, 9));
	assert_false(fires(*state, 2, 5, 10, 10));
	assert_true(fires(*state, 1, 5, 10, 10));
	assert_string_equal(why.data, "event=shop:order__* if value >= 10 (shop:order__start in "
				      "process 100)");
	probe(*state, 1, "other"); /* its id is another one's now */
	assert_false(fires(*state, 1, 5, 10, 10));
	assert_false(fires(*state, 77, 5, 10, 10)); /* unknown */
}

static void event_fires_when_its_expression_holds(void **state)
{
	assert_int_equal(tapir_triggers__add(*state,
					     "event=shop:order__* if value >= 10 && value < 20 || "
					     "value == -1 && pid == 100"),
			 0);
	assert_int_equal(tapir_triggers__add(*state, "event=shop:bad if nothing > 1 && pid > 1"),
			 0);
	probe(*state, 1, "order__start");
	probe(*state, 2, "bad");
	assert_false(fires(*state, 1, 5, 10, 9));
	assert_true(fires(*state, 1, 5, 10, 10));
	assert_false(fires(*state, 1, 5, 10, 20));
	assert_true(fires(*state, 1, 5, 10, -1));
	assert_false(fires(*state, 2, 5, 10, 10)); /* it has no such field */
	assert_false(fires(*state, 2, 5, 10, 10));
	assert_int_equal(tapir_diag__cnt(), 0);
	probe(*state, 1, "other");
	assert_false(fires(*state, 1, 5, 10, 10));
}

/* The texts are those of the help and the README: globs in = and !=, one comparison. */
static void documented_conditions_keep_their_meaning(void **state)
{
	static const struct {
		const char *text;
		int64_t fires, does_not;
	} cases[] = {
		{"event=shop:order if value > 3", 4, 3},
		{"event=shop:order if value>=10", 10, 9},
		{"event=shop:order if value = 500", 500, 5},
		{"event=shop:order if value == 3", 3, 33},
		{"event=shop:order if value != 3", 4, 3},
		{"event=shop:order if value = 5*", 57, 75},
		{"event=shop:order if value < -1", -2, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_triggers *t = tapir_triggers__new();

		(void)state;
		assert_int_equal(tapir_triggers__add(t, cases[i].text), 0);
		probe(t, 1, "order");
		if (!fires(t, 1, 5, 10, cases[i].fires) || fires(t, 1, 5, 10, cases[i].does_not))
			fail_msg("%s", cases[i].text);
		tapir_triggers__free(t);
	}
}

static void interval_fires_when_it_lasted_too_long(void **state)
{
	assert_int_equal(tapir_triggers__add(*state, "slow=order>100ms"), 0);
	probe(*state, 1, "order__start");
	probe(*state, 2, "order__done");
	assert_false(fires(*state, 1, 5, 1000 * MS, 0));
	assert_false(fires(*state, 1, 6, 1050 * MS, 0));
	assert_false(fires(*state, 2, 5, 1100 * MS, 0)); /* 100 ms are not more */
	assert_true(fires(*state, 2, 6, 1151 * MS, 0));
	assert_string_equal(why.data, "slow=order>100ms (101.000 ms, thread 6 of process 100)");
	/* the end is read before its begin */
	assert_false(fires(*state, 2, 7, 2300 * MS, 0));
	assert_true(fires(*state, 1, 7, 2000 * MS, 0));
	assert_false(tapir_triggers__match_open(*state, 9000 * MS, &why));
	/* an end from before does not end the next one */
	assert_false(fires(*state, 2, 8, 3000 * MS, 0));
	assert_false(fires(*state, 1, 8, 3001 * MS, 0));
	assert_false(fires(*state, 2, 8, 3002 * MS, 0));
}

static void interval_that_does_not_end_fires_once(void **state)
{
	struct tapir_rec_process fixed = {.h.time_ns = 5, .tgid = 100, .kind = TAPIR_PROCESS_EXIT};
	struct tapir_recbuf other = {};

	assert_int_equal(tapir_triggers__add(*state, "slow=order>100ms"), 0);
	probe(*state, 1, "order__start");
	assert_false(fires(*state, 1, 5, 1000 * MS, 0));
	assert_false(tapir_triggers__match_open(*state, 1100 * MS, &why));
	assert_true(tapir_triggers__match_open(*state, 1101 * MS, &why));
	assert_non_null(strstr(why.data, "not ended, in process 100"));
	assert_false(tapir_triggers__match_open(*state, 1200 * MS, &why));
	/* that of a process that is gone does not last */
	assert_false(fires(*state, 1, 5, 2000 * MS, 0));
	assert_false(tapir_triggers__match(
		*state, catalog,
		tapir_recbuf__process(&other, &fixed, SV("x"), SV(""), SV(""), SV("")), &why));
	assert_false(tapir_triggers__match_open(*state, 9000 * MS, &why));
	tapir_recbuf__fini(&other);
}

static bool counts(struct tapir_triggers *t, double value)
{
	const struct tapir_rec_counter fixed = {.h.time_ns = 5, .tgid = 100, .value = value};

	return tapir_triggers__match(t, catalog,
				     tapir_recbuf__counter(&buf, &fixed, SV("System.Runtime"),
							   SV("cpu-usage"), SV("%"), SV("")),
				     &why);
}

static void counter_fires_beyond_its_threshold(void **state)
{
	assert_int_equal(tapir_triggers__add(*state, "counter=System.*/cpu-*>90"), 0);
	assert_int_equal(tapir_triggers__add(*state, "counter=cpu-usage<1"), 0);
	assert_int_equal(tapir_triggers__add(*state, "counter=usage>0"), 0);
	assert_false(counts(*state, 90));
	assert_true(counts(*state, 90.5));
	assert_non_null(strstr(why.data, "(cpu-usage is 90.5 in process 100)"));
	assert_true(counts(*state, 0.5));
}

static bool exits(struct tapir_triggers *t, enum tapir_process_kind kind, int status)
{
	const struct tapir_rec_process fixed = {
		.h.time_ns = 5, .tgid = 100, .kind = (uint8_t)kind, .exit_status = status};

	return tapir_triggers__match(
		t, catalog, tapir_recbuf__process(&buf, &fixed, SV("x"), SV(""), SV(""), SV("")),
		&why);
}

static void exit_fires_by_its_status(void **state)
{
	assert_int_equal(tapir_triggers__add(*state, "exit=failed"), 0);
	assert_false(exits(*state, TAPIR_PROCESS_EXIT, 0));
	assert_false(exits(*state, TAPIR_PROCESS_EXEC, 9));
	assert_true(exits(*state, TAPIR_PROCESS_EXIT, 9));
	assert_string_equal(why.data, "exit=failed (process 100 was killed by signal 9)");
	assert_true(exits(*state, TAPIR_PROCESS_EXIT, 3 << 8));
	assert_int_equal(tapir_triggers__add(*state, "exit"), 0);
	assert_true(exits(*state, TAPIR_PROCESS_EXIT, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(texts_are_triggers_or_errors, setup, teardown),
		cmocka_unit_test(values_compare_as_numbers_or_globs),
		cmocka_unit_test_setup_teardown(event_fires_when_its_expression_holds, setup,
						teardown),
		cmocka_unit_test_setup_teardown(documented_conditions_keep_their_meaning, setup,
						teardown),
		cmocka_unit_test_setup_teardown(event_fires_when_its_condition_holds, setup,
						teardown),
		cmocka_unit_test_setup_teardown(interval_fires_when_it_lasted_too_long, setup,
						teardown),
		cmocka_unit_test_setup_teardown(interval_that_does_not_end_fires_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(counter_fires_beyond_its_threshold, setup,
						teardown),
		cmocka_unit_test_setup_teardown(exit_fires_by_its_status, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
