// SPDX-License-Identifier: GPL-2.0-or-later
/* Which processes are reported that ended before their ring had an event, and from when on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/unopened_lanes.h"

#define KEY    7u
#define PARENT 10u
#define CHILD  11u

static struct tapir_lane_coverage *cover;
static struct tapir_unopened_lanes lanes;
static struct tapir_image image;
static uint64_t start_ns;
static struct {
	size_t cnt;
	uint32_t tgid;
	uint64_t since_ns, until_ns;
} reported;

static void tell(void *ctx, uint32_t tgid, const struct tapir_image *of, uint64_t since_ns,
		 uint64_t until_ns)
{
	(void)ctx;
	assert_ptr_equal(of, &image);
	reported.cnt++;
	reported.tgid = tgid;
	reported.since_ns = since_ns - start_ns;
	reported.until_ns = until_ns - start_ns;
}

static int setup(void **state)
{
	(void)state;
	cover = tapir_lane_coverage__new();
	/* The reader is asked at the end alone. */
	lanes = (struct tapir_unopened_lanes){.rings = (void *)&image, .cover = cover, .fn = tell};
	image = (struct tapir_image){};
	start_ns = tapir_clock__now_ns();
	memset(&reported, 0, sizeof(reported));
	return !cover || !tapir_vec__push(&image.ring_keys, KEY);
}

static int teardown(void **state)
{
	(void)state;
	tapir_unopened_lanes__fini(&lanes);
	tapir_vec__fini(&image.ring_keys);
	tapir_lane_coverage__free(cover);
	return 0;
}

static void note(int kind, uint32_t tgid, uint64_t after_ns)
{
	tapir_unopened_lanes__note(&lanes, (struct tapir_lane_step){.kind = kind,
								    .tgid = tgid,
								    .parent_tgid = PARENT,
								    .time_ns = start_ns + after_ns,
								    .image = &image});
}

static void process_without_ring_is_reported_whatever_came_first(void **state)
{
	(void)state;
	note(TAPIR_LANE_STEP_EXIT, PARENT, 90);
	note(TAPIR_LANE_STEP_EXEC, PARENT, 12); /* of the program whose file was just mapped */
	note(TAPIR_LANE_STEP_MAP, PARENT, 10);
	tapir_unopened_lanes__settle(&lanes);
	assert_int_equal(reported.cnt, 1);
	assert_int_equal(reported.tgid, PARENT);
	assert_int_equal(reported.since_ns, 10);
	assert_int_equal(reported.until_ns, 90);
}

static void process_whose_ring_was_open_is_not_reported(void **state)
{
	(void)state;
	note(TAPIR_LANE_STEP_MAP, PARENT, 0);
	tapir_lane_coverage__on(cover, PARENT, KEY);
	tapir_lane_coverage__off(cover, PARENT, KEY);
	note(TAPIR_LANE_STEP_EXIT, PARENT, 90);
	tapir_unopened_lanes__settle(&lanes);
	assert_int_equal(reported.cnt, 0);
}

static void child_is_reported_unless_its_parent_counts(void **state)
{
	(void)state;
	note(TAPIR_LANE_STEP_MAP, PARENT, 0);
	note(TAPIR_LANE_STEP_FORK, CHILD, 20);
	note(TAPIR_LANE_STEP_EXIT, CHILD, 30);
	tapir_unopened_lanes__settle(&lanes);
	assert_int_equal(reported.cnt, 1);
	assert_int_equal(reported.tgid, CHILD);
	assert_int_equal(reported.since_ns, 20);
	tapir_lane_coverage__on(cover, PARENT, KEY);
	note(TAPIR_LANE_STEP_FORK, CHILD, tapir_clock__now_ns() - start_ns);
	note(TAPIR_LANE_STEP_EXIT, CHILD, tapir_clock__now_ns() - start_ns);
	tapir_unopened_lanes__settle(&lanes);
	assert_int_equal(reported.cnt, 1);
}

static void child_is_reported_until_it_executes_another_file(void **state)
{
	(void)state;
	note(TAPIR_LANE_STEP_MAP, PARENT, 0);
	note(TAPIR_LANE_STEP_FORK, CHILD, 20);
	note(TAPIR_LANE_STEP_EXEC, CHILD, 30);
	note(TAPIR_LANE_STEP_EXIT, CHILD, 40);
	tapir_unopened_lanes__settle(&lanes);
	assert_int_equal(reported.cnt, 1);
	assert_int_equal(reported.tgid, CHILD);
	assert_int_equal(reported.since_ns, 20);
	assert_int_equal(reported.until_ns, 30);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(process_without_ring_is_reported_whatever_came_first),
		T(process_whose_ring_was_open_is_not_reported),
		T(child_is_reported_unless_its_parent_counts),
		T(child_is_reported_until_it_executes_another_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
