// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of a host among several: no id or time of the schema is forgotten, and all come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "trace/recbuf.h"
#include "trace/rehost.h"
#include "trace/schema.h"

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* All members that are a time, not a duration: a new one whose name ends so is decided on here. */
static const char *const moments[] = {
	"in_wake_ns", "start_ns", "leader_start_ns", "from_ns",
	"until_ns",   "begin_ns", "since_ns",	     "left_ns",
};
static const char *const durations[] = {"interval_ns", "queue_ns", "device_ns",
					"sum_ns",      "max_ns",   "run_ns"};

static bool is_among(const char *name, const char *const *names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
#define IS_AMONG(name, names) is_among(name, names, sizeof(names) / sizeof((names)[0]))

/* Returns true if a member is an id or a moment. */
static bool is_moved(const struct tapir_member *m)
{
	bool is_time = IS_AMONG(m->name, moments);

	if (ends_with(m->name, "_ns") && !is_time && !IS_AMONG(m->name, durations))
		fail_msg("%s: a moment or a duration? (trace/rehost.c)", m->name);
	if (!strncmp(m->name, "ns_", 3)) /* ids in the process's own namespace */
		return false;
	return is_time || ends_with(m->name, "tgid") || ends_with(m->name, "tid") ||
	       !strcmp(m->name, "probe_id");
}

static void every_id_and_time_of_the_schema_is_moved(void **state)
{
	unsigned cnt = 0;

	(void)state;
	for (unsigned type = 1; type < TAPIR_REC_TYPE_CNT; type++) {
		bool is_complete = type == TAPIR_REC_CLOCK || type == TAPIR_REC_HOST;

		for (const struct tapir_member *m = tapir_schemas[type].members;
		     !is_complete && !tapir_member__ends(m); m++) {
			if (!m->name)
				continue;
			if (is_moved(m) != tapir_rehost__moves(type, m->offset) &&
			    strcmp(m->name, "file_id") != 0 && strcmp(m->name, "connection") != 0 &&
			    strcmp(m->name, "netns") != 0)
				fail_msg("%s of %s", m->name, tapir_schemas[type].name);
			cnt += is_moved(m);
		}
	}
	assert_true(cnt > 50);
}

static const struct tapir_rehost second = {.host = 2, .first_probe = 5, .shift_ns = 1000};

static void ids_are_those_of_the_host_and_come_back(void **state)
{
	struct tapir_rec_switch sw = {.out_tgid = 10,
				      .out_tid = 11,
				      .in_waker_tid = 12,
				      .in_wake_ns = 500},
				was;

	(void)state;
	tapir_rec__init(&sw.h, TAPIR_REC_SWITCH, sizeof(sw), 600);
	sw.h.cpu = 3;
	was = sw;
	assert_true(tapir_rehost__apply(&second, &sw.h));
	assert_int_equal(sw.h.time_ns, 1600);
	assert_int_equal(sw.h.cpu, 2003);
	assert_int_equal(sw.out_tgid, 20000010);
	assert_int_equal(sw.out_tid, 20000011);
	assert_int_equal(sw.in_tgid, 0); /* not recorded, on no host */
	assert_int_equal(sw.in_waker_tid, 20000012);
	assert_int_equal(sw.in_wake_ns, 1500);
	assert_int_equal(tapir_rehost__host_of(&sw.h), 2);
	tapir_rehost__undo(&second, &sw.h);
	assert_memory_equal(&sw, &was, sizeof(sw));
}

static void a_whole_wait_begins_where_its_host_s_time_is(void **state)
{
	struct {
		struct tapir_rec_switch sw;
		struct tapir_switch_wait wait;
	} whole = {.sw = {.out_tid = 11, .in_tid = 11, .flags = TAPIR_SWITCH_WAITED},
		   .wait = {.futex_va = 4, .since_ns = 100}};

	(void)state;
	tapir_rec__init(&whole.sw.h, TAPIR_REC_SWITCH, sizeof(whole), 600);
	assert_true(tapir_rehost__apply(&second, &whole.sw.h));
	assert_int_equal(tapir_switch__since_ns(&whole.sw), 1100);
	assert_int_equal(tapir_switch__futex_va(&whole.sw), 4);
	tapir_rehost__undo(&second, &whole.sw.h);
	assert_int_equal(tapir_switch__since_ns(&whole.sw), 100);
	whole.sw.h.size = sizeof(whole.sw) + 8; /* cut: nothing is read or moved behind its end */
	assert_true(tapir_rehost__apply(&second, &whole.sw.h));
	assert_int_equal(whole.wait.since_ns, 100);
	assert_int_equal(tapir_switch__since_ns(&whole.sw), 0);
}

static void the_kernel_is_each_host_s_own(void **state)
{
	struct tapir_rec_mapping m = {.end_va = 1, .file_id = 7}, was;
	struct tapir_map kernel = {};
	struct tapir_rehost rehost = second;

	(void)state;
	rehost.kernel_files = &kernel;
	assert_non_null(tapir_map__put(&kernel, 7, NULL));
	tapir_rec__init(&m.h, TAPIR_REC_MAPPING, sizeof(m), 0);
	was = m;
	assert_true(tapir_rehost__apply(&rehost, &m.h));
	assert_int_equal(m.tgid, 20000000);
	assert_int_equal(tapir_host__kernel_of(20000010), 20000000);
	assert_int_not_equal(m.file_id, 7);
	assert_int_equal(m.h.time_ns, 0); /* since ever */
	assert_non_null(tapir_map__put(&kernel, m.file_id, NULL));
	tapir_rehost__undo(&rehost, &m.h);
	assert_memory_equal(&m, &was, sizeof(m));
	tapir_map__fini(&kernel);
}

static void an_id_that_no_host_has_is_refused(void **state)
{
	struct tapir_rec_sample s = {.tgid = TAPIR_HOST_PIDS, .tid = 1}, was;

	(void)state;
	tapir_rec__init(&s.h, TAPIR_REC_SAMPLE, sizeof(s), 5);
	was = s;
	assert_false(tapir_rehost__apply(&second, &s.h));
	assert_memory_equal(&s, &was, sizeof(s));
}

static void a_loss_is_of_the_host_that_it_names(void **state)
{
	struct {
		struct tapir_rec_loss loss;
		struct tapir_loss_host of;
	} r = {.of.host = 3};

	(void)state;
	tapir_rec__init(&r.loss.h, TAPIR_REC_LOSS, sizeof(r), 5);
	assert_int_equal(tapir_rehost__host_of(&r.loss.h), 3);
	r.loss.h.size = sizeof(r.loss);
	assert_int_equal(tapir_rehost__host_of(&r.loss.h), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_id_and_time_of_the_schema_is_moved),
		cmocka_unit_test(ids_are_those_of_the_host_and_come_back),
		cmocka_unit_test(a_whole_wait_begins_where_its_host_s_time_is),
		cmocka_unit_test(the_kernel_is_each_host_s_own),
		cmocka_unit_test(an_id_that_no_host_has_is_refused),
		cmocka_unit_test(a_loss_is_of_the_host_that_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
