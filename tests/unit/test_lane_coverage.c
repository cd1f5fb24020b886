// SPDX-License-Identifier: GPL-2.0-or-later
/* Which copies of an event are dropped: those of a process whose ring had it at that time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/lane_dedup.h"
#include "trace/recbuf.h"

static struct tapir_lane_coverage *cover;
static struct tapir_lane_dedup twice;
static uint64_t told[8]; /* by probe */

static int setup(void **state)
{
	(void)state;
	cover = tapir_lane_coverage__new();
	tapir_lane_dedup__init(&twice, cover);
	memset(told, 0, sizeof(told));
	return !cover;
}

static int teardown(void **state)
{
	(void)state;
	tapir_lane_dedup__fini(&twice);
	tapir_lane_coverage__free(cover);
	return 0;
}

static uint64_t key_of(const char *event)
{
	return tapir_lane_coverage__key(tapir_sv__of("prov"), tapir_sv__of(event));
}

static void learn_flagged(uint32_t probe_id, const char *event, uint8_t lane, uint8_t flags)
{
	struct tapir_rec_probe fixed = {.probe_id = probe_id, .lane = lane, .flags = flags};
	struct tapir_recbuf buf = {};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_PROBE, sizeof(fixed), 1);
	rec = tapir_recbuf__probe(&buf, &fixed, tapir_sv__of("prov"), tapir_sv__of(event),
				  tapir_sv__of(NULL), tapir_sv__of(NULL), NULL, NULL, 0);
	assert_non_null(rec);
	tapir_lane_dedup__learn(&twice, rec);
	tapir_recbuf__fini(&buf);
}

static void learn(uint32_t probe_id, const char *event, uint8_t lane)
{
	learn_flagged(probe_id, event, lane, 0);
}

static bool is_twice(uint32_t probe_id, uint32_t tgid, uint64_t time_ns, uint8_t lane)
{
	struct tapir_rec_event ev = {
		.h.time_ns = time_ns, .probe_id = probe_id, .tgid = tgid, .lane = lane};

	return tapir_lane_dedup__filter(&twice, &ev);
}

static void tell(void *ctx, const struct tapir_rec_loss *loss)
{
	(void)ctx;
	assert_int_equal(loss->cause, TAPIR_LOSS_LANE_TWICE);
	told[loss->probe_id] += loss->count;
}

static void a_copy_is_dropped_while_the_ring_has_the_event(void **state)
{
	uint64_t before_ns = tapir_clock__now_ns(), during_ns, after_ns;

	(void)state;
	learn(1, "a", TAPIR_LANE_PROBE);
	learn(2, "b_V2", TAPIR_LANE_PROBE);
	learn(3, "c", TAPIR_LANE_PROBE);
	assert_false(is_twice(1, 7, before_ns, TAPIR_LANE_PROBE)); /* nothing is on yet */
	tapir_lane_coverage__on(cover, 7, key_of("a"));
	tapir_lane_coverage__on(cover, 7, key_of("b"));
	during_ns = tapir_clock__now_ns();
	assert_true(tapir_lane_coverage__has(cover, 7, key_of("a"), TAPIR_LANE_COVERAGE_NOW));
	tapir_lane_coverage__off(cover, 7, key_of("a"));
	after_ns = tapir_clock__now_ns();
	assert_false(tapir_lane_coverage__has(cover, 7, key_of("a"), TAPIR_LANE_COVERAGE_NOW));
	assert_false(is_twice(1, 7, before_ns, TAPIR_LANE_PROBE));
	assert_true(is_twice(1, 7, during_ns, TAPIR_LANE_PROBE));
	assert_false(is_twice(1, 7, after_ns, TAPIR_LANE_PROBE));
	assert_false(is_twice(1, 8, during_ns, TAPIR_LANE_PROBE)); /* another process */
	assert_false(is_twice(1, 7, during_ns, TAPIR_LANE_RING));
	assert_true(is_twice(2, 7, after_ns, TAPIR_LANE_PROBE)); /* another version's name */
	assert_false(is_twice(3, 7, during_ns, TAPIR_LANE_PROBE));
	assert_false(is_twice(9, 7, during_ns, TAPIR_LANE_PROBE)); /* nobody knows it */
}

static void copies_are_reported_once_by_probe(void **state)
{
	(void)state;
	learn(1, "a", TAPIR_LANE_PROBE);
	learn(2, "b", TAPIR_LANE_PROBE);
	learn(3, "a", TAPIR_LANE_RING); /* the ring's own record of it */
	tapir_lane_coverage__on(cover, 7, key_of("a"));
	tapir_lane_coverage__on(cover, 7, key_of("b"));
	for (unsigned i = 0; i < 5; i++)
		assert_true(is_twice(1 + i % 2, 7, tapir_clock__now_ns(), TAPIR_LANE_PROBE));
	assert_false(is_twice(3, 7, tapir_clock__now_ns(), TAPIR_LANE_PROBE));
	tapir_lane_dedup__report(&twice, tell, NULL);
	tapir_lane_dedup__report(&twice, tell, NULL);
	assert_int_equal(told[1], 3);
	assert_int_equal(told[2], 2);
	assert_int_equal(told[3], 0);
}

/* A hit of such a probe that arrives is in no ring, whatever lane of the process is open. */
static void a_hit_that_tells_who_has_it_is_kept(void **state)
{
	(void)state;
	learn_flagged(1, "a", TAPIR_LANE_PROBE, TAPIR_PROBE_TELLS_TAKEN);
	tapir_lane_coverage__on(cover, 7, key_of("a"));
	assert_false(is_twice(1, 7, tapir_clock__now_ns(), TAPIR_LANE_PROBE));
	assert_false(tapir_lane_coverage__is_probed(cover, key_of("a")));
	tapir_lane_coverage__set_probed(cover, key_of("a"));
	assert_true(tapir_lane_coverage__is_probed(cover, key_of("a")));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_copy_is_dropped_while_the_ring_has_the_event),
		T(copies_are_reported_once_by_probe),
		T(a_hit_that_tells_who_has_it_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
