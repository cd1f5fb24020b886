// SPDX-License-Identifier: GPL-2.0-or-later
/* Conditions of 'report --fail-on', on a report that is made up: each holds exactly when it should.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/diag.h"
#include "output/render/fail_on.h"

struct fixture {
	struct tapir_summary summary;
	struct tapir_pairs pairs;
	struct tapir_findings findings;
	struct tapir_reader_stats stats;
	struct tapir_report_view view;
};

static void add_kind(struct fixture *f, const char *provider, const char *name, uint8_t cause,
		     uint64_t cnt, uint64_t worst_ms)
{
	struct tapir_interval_kind kind = {.provider = strdup(provider),
					   .name = strdup(name),
					   .cause = cause,
					   .cnt = cnt,
					   .worst_ns = worst_ms * TAPIR_NS_PER_MS};

	assert_true(tapir_vec__push(&f->pairs.kinds, kind));
}

static void add_finding(struct fixture *f, enum tapir_finding_kind kind, double magnitude)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s of %.0f", tapir_finding__kind_name(kind), magnitude);
	tapir_findings__add(&f->findings, kind, magnitude, NULL, &text, NULL, NULL);
}

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){};
	f.view = (struct tapir_report_view){.summary = &f.summary,
					    .pairs = &f.pairs,
					    .findings = &f.findings,
					    .stats = &f.stats};
	add_kind(&f, "hotspot", "gc", TAPIR_CAUSE_GC, 3, 80);
	add_kind(&f, "postgresql", "query", TAPIR_CAUSE_NONE, 7, 1500);
	add_kind(&f, "shop", "order", TAPIR_CAUSE_NONE, 0, 0);
	add_finding(&f, TAPIR_FINDING_EXCEPTIONS, 150);
	add_finding(&f, TAPIR_FINDING_IDLE, 100);
	tapir_diag__clear();
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_findings__fini(&f->findings);
	tapir_pairs__fini(&f->pairs);
	return 0;
}

/* How many lines it prints: one for each condition that holds. */
static int judged(struct fixture *f, const char *text)
{
	struct tapir_fail_conditions conditions = {};
	struct tapir_str why = {};
	int err;

	tapir_diag__clear();
	if (tapir_fail_on__parse(text, &conditions, &why))
		fail_msg("%s: %s", text, tapir_diag__line(0));
	err = tapir_fail_on__evaluate(&conditions, &f->view);
	assert_int_equal(err, tapir_diag__cnt() ? -ERANGE : 0);
	tapir_fail_on__fini(&conditions);
	tapir_str__fini(&why);
	return tapir_diag__cnt();
}

static void findings_fail_by_kind_and_limit(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(judged(f, "exceptions"), 1);
	assert_string_equal(tapir_diag__line(0), "failed on exceptions: exceptions of 150");
	assert_int_equal(judged(f, "exceptions>149.5"), 1);
	assert_int_equal(judged(f, "exceptions>150"), 0);
	assert_int_equal(judged(f, "deadlock"), 0);
	assert_int_equal(judged(f, "finding"), 1); /* idle is none */
	assert_int_equal(judged(f, "idle"), 1);
}

static void intervals_fail_when_the_longest_is_longer(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(judged(f, "gc:pause>79ms"), 1);
	assert_string_equal(tapir_diag__line(0),
			    "failed on gc:pause>79ms: the longest of 3 took 80.0 ms");
	assert_int_equal(judged(f, "gc:pause>80ms"), 0);
	assert_int_equal(judged(f, "hotspot:gc>0.08"), 0);
	assert_int_equal(judged(f, "query>1s,postgresql:query>1s,query>2s"), 2);
	assert_int_equal(judged(f, "shop:order>1ms"), 0);
}

static void name_of_no_interval_fails(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(judged(f, "qeury>1s"), 1);
	f->pairs.kinds.data[0].cause = TAPIR_CAUSE_NONE;
	assert_int_equal(judged(f, "gc:pause>1ms"), 0); /* a warning: it may not have collected */
}

static void losses_and_gaps_fail(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(judged(f, "lost,gap"), 0);
	f->stats.is_truncated = true;
	assert_int_equal(judged(f, "lost,gap"), 1);
	f->stats.is_truncated = false;
	f->summary.gap_cnt = 2;
	assert_int_equal(judged(f, "lost,gap"), 1);
	assert_string_equal(tapir_diag__line(0), "failed on gap: 2 gaps");
	f->summary.lost[TAPIR_LOSS_RING_FULL].cnt = 5;
	assert_int_equal(judged(f, "lost,gap"), 2);
	assert_string_equal(tapir_diag__line(0), "failed on lost: 5 records were lost");
}

static void what_is_no_condition_is_refused_with_an_example(void **state)
{
	static const char *const texts[] = {"",
					    "lost,",
					    "nonsense",
					    "gc>x",
					    "gc>",
					    "gc>-1",
					    "gc>1e",
					    "x>",
					    ">5ms",
					    "gc:pause>5 parsecs",
					    "lost,,gap",
					    "gc:pause>99999999999999999999999999999999999",
					    "gc>99999999999999999999999999999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tapir_fail_conditions conditions = {};
		struct tapir_str why = {};

		assert_int_equal(tapir_fail_on__parse(texts[i], &conditions, &why), -EINVAL);
		assert_non_null(strstr(why.data, "gc:pause>50ms")
					?: strstr(why.data, "exceptions>100"));
		tapir_fail_on__fini(&conditions);
		tapir_str__fini(&why);
	}
}

static void expressions_fail_when_they_are_true(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(judged(f, "exceptions > 100"), 1);
	assert_string_equal(tapir_diag__line(0), "failed on exceptions > 100: exceptions is 150");
	assert_int_equal(judged(f, "exceptions >= 150.5 || exceptions < 150"), 0);
	assert_int_equal(judged(f, "\"gc:pause\" > 79ms && exceptions == 150"), 1);
	assert_string_equal(tapir_diag__line(0),
			    "failed on \"gc:pause\" > 79ms && exceptions == 150: gc:pause is 80.0 "
			    "ms, exceptions is 150");
	assert_int_equal(judged(f, "\"gc:pause\" > 80ms, query > 2s"), 0);
	assert_int_equal(judged(f, "(query > 1s), lost, \"postgresql:query\" >= 1500ms"), 2);
	assert_int_equal(judged(f, "\"heap-growth\" > 0 || deadlock > 0"), 0);
	assert_int_equal(judged(f, "finding == 1 && lost == 0 && gap == 0"), 1);
	assert_int_equal(judged(f, "\"jdk.GCPhasePause\" > 1ms || lost > 0") > 1, 1); /* unknown */
	assert_int_equal(judged(f, "qeury > 1s") > 1, 1);
	assert_non_null(strstr(tapir_diag__line(tapir_diag__cnt() - 1), "\"postgresql:query\""));
	assert_int_equal(judged(f, "query > 1") > 1, 1); /* of which unit? */
}

static void expression_that_is_none_is_refused_with_a_caret(void **state)
{
	static const char *const texts[] = {"lost &&", "(gc > 1", "lost, exceptions >",
					    "\"gc:pause\" > 50 parsecs"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tapir_fail_conditions conditions = {};
		struct tapir_str why = {};

		tapir_diag__clear();
		assert_int_equal(tapir_fail_on__parse(texts[i], &conditions, &why), -EINVAL);
		assert_int_equal(why.len, 0);
		assert_true(tapir_diag__cnt() >= 3);
		assert_int_equal(strncmp(tapir_diag__line(0), "--fail-on", 9), 0);
		tapir_fail_on__fini(&conditions);
		tapir_str__fini(&why);
	}
}

/* As they are written in help, the man page and READMEs: no expression reads them first. */
static void documented_conditions_mean_what_they_meant(void **state)
{
	static const struct {
		const char *text;
		enum tapir_fail_subject subjects[3];
	} lines[] = {
		{"lost,gap,gc:pause>50ms", {TAPIR_FAIL_LOST, TAPIR_FAIL_GAP, TAPIR_FAIL_INTERVAL}},
		{"lost,gc:pause>50ms,exceptions>100",
		 {TAPIR_FAIL_LOST, TAPIR_FAIL_INTERVAL, TAPIR_FAIL_KIND}},
		{"finding,deadlock,heap-growth>1",
		 {TAPIR_FAIL_FINDING, TAPIR_FAIL_KIND, TAPIR_FAIL_KIND}},
		{"query>1s,postgresql:query>1s,hotspot:gc>0.08",
		 {TAPIR_FAIL_INTERVAL, TAPIR_FAIL_INTERVAL, TAPIR_FAIL_INTERVAL}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct tapir_fail_conditions conditions = {};
		struct tapir_str why = {};

		assert_int_equal(tapir_fail_on__parse(lines[i].text, &conditions, &why), 0);
		assert_int_equal(conditions.rows.cnt, 3);
		for (int k = 0; k < 3; k++)
			assert_int_equal(conditions.rows.data[k].subject, lines[i].subjects[k]);
		tapir_fail_on__fini(&conditions);
		tapir_str__fini(&why);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Not lost by the recorder, but not whole either: the first line has it. */
static void headline_has_what_was_refused_or_late(void **state)
{
	struct tapir_event_row row = {.provider = "Shop",
				      .event = "EventSourceMessage",
				      .captured = 348,
				      .is_complaint = true};
	struct tapir_str whole = {}, out = {};
	struct fixture *f = *state;

	tapir_report__add_headline(&f->view, &whole);
	assert_null(strstr(whole.data, "sources"));
	assert_null(strstr(whole.data, "too late"));
	assert_true(tapir_vec__push(&f->summary.events, row));
	f->view.late = 4458;
	f->findings.more = 3;
	tapir_report__add_headline(&f->view, &out);
	assert_non_null(strstr(out.data, ", 3 threads, waits or names found no room in the tables "
					 "of findings"));
	f->findings.more = 0;
	assert_non_null(strstr(out.data, "nothing lost, 348 errors of event sources, "));
	assert_non_null(strstr(out.data, " records too late to be sorted"));
	f->summary.captured[TAPIR_FAMILY_SAMPLE] = 10000000; /* of so many they change nothing */
	tapir_str__clear(&out);
	tapir_report__add_headline(&f->view, &out);
	assert_null(strstr(out.data, "too late"));
	tapir_vec__fini(&f->summary.events);
	tapir_str__fini(&whole);
	tapir_str__fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(findings_fail_by_kind_and_limit),
		CASE(intervals_fail_when_the_longest_is_longer),
		CASE(name_of_no_interval_fails),
		CASE(losses_and_gaps_fail),
		CASE(headline_has_what_was_refused_or_late),
		CASE(what_is_no_condition_is_refused_with_an_example),
		CASE(expressions_fail_when_they_are_true),
		CASE(expression_that_is_none_is_refused_with_a_caret),
		CASE(documented_conditions_mean_what_they_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
