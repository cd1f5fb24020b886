// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests as a service would make them: without a command line, with a line for each that is
 * wrong.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "record/request.h"
#include "decode/profiles.h"

static const char *texts[2];
static uint32_t pid = 1;

static struct tapir_request request_of_pid(void)
{
	return (struct tapir_request){
		.sz = sizeof(struct tapir_request),
		.rules = {.pids = {.data = &pid, .cnt = 1}},
	};
}

static struct tapir_words words(const char *first, const char *second)
{
	texts[0] = first;
	texts[1] = second;
	return (struct tapir_words){.data = texts, .cnt = second ? 2 : 1};
}

static int plan_of(const struct tapir_request *request, struct tapir_recording_plan *plan)
{
	tapir_diag__clear();
	return tapir_request__plan(request, plan);
}

static uint32_t wait_ms_for(const char *spec)
{
	struct tapir_request request = request_of_pid();
	struct tapir_recording_plan plan;
	uint32_t wait_ms;

	request.specs = words(spec, NULL);
	assert_int_equal(plan_of(&request, &plan), 0);
	wait_ms = plan.opts.ring_wait_ms;
	tapir_recording_plan__fini(&plan);
	return wait_ms;
}

/* And nothing else does. */
static void contents_of_a_heap_wait_for_room(void **state)
{
	(void)state;
	assert_int_equal(wait_ms_for("Microsoft-Windows-DotNETRuntime:GC"), 0);
	assert_int_equal(wait_ms_for("Microsoft-Windows-DotNETRuntime:GCHeapDump"), 0);
	assert_true(wait_ms_for("Microsoft-Windows-DotNETRuntime:GCHeapCollect,GCHeapDump") > 0);
	assert_true(wait_ms_for("Microsoft-Windows-DotNETRuntime:0x1980001") > 0);
	assert_int_equal(wait_ms_for("Other:0x1980001"), 0);
}

/* Awaits beside the default profile alone; who asks for tasks gets them all. */
static void awaits_come_with_the_default_profile(void **state)
{
	struct tapir_request request = request_of_pid();
	struct tapir_recording_plan plan;

	(void)state;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_true(plan.opts.with_budgeted_awaits);
	tapir_recording_plan__fini(&plan);
	request.no_sched = true;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_false(plan.opts.with_budgeted_awaits);
	tapir_recording_plan__fini(&plan);
	request.no_sched = false;
	request.profiles = words("default", "async");
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_false(plan.opts.with_budgeted_awaits);
	tapir_recording_plan__fini(&plan);
	request.profiles = words("gc", NULL);
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_false(plan.opts.with_budgeted_awaits);
	tapir_recording_plan__fini(&plan);
}

static void waits_are_summed_where_switches_are_recorded(void **state)
{
	struct tapir_request request = request_of_pid();
	struct tapir_recording_plan plan;

	(void)state;
	assert_false(tapir_sched__sums(NULL));
	assert_false(tapir_sched__sums(tapir_sched__name(0))); /* the default */
	assert_true(tapir_sched__sums("sums"));
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_int_equal(plan.opts.wait_sum_cap, 0);
	tapir_recording_plan__fini(&plan);
	request.sum_waits = true;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_true(plan.opts.with_switches && plan.opts.wait_sum_cap);
	tapir_recording_plan__fini(&plan);
	request.no_sched = true;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_int_equal(plan.opts.wait_sum_cap, 0);
	tapir_recording_plan__fini(&plan);
}

static void everything_has_a_default(void **state)
{
	const struct tapir_request request = request_of_pid();
	const struct tapir_profile *profile = tapir_profile__find(TAPIR_PROFILE_DEFAULT);
	struct tapir_recording_plan plan;

	(void)state;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_true(plan.opts.specs_are_defaults);
	assert_ptr_equal(plan.opts.specs, &plan.specs);
	for (size_t i = 0; i < plan.specs.cnt; i++) {
		assert_string_equal(plan.specs.data[i]->text, tapir_profile__spec(profile, i));
		assert_true(plan.specs.data[i]->is_silent);
	}
	assert_null(tapir_profile__spec(profile, plan.specs.cnt));
	assert_true(plan.opts.sampling.is_a_default && plan.opts.sampling.hz);
	assert_true(plan.opts.with_switches);
	assert_int_equal(plan.opts.lanes, TAPIR_LANES_AUTO);
	assert_null(plan.opts.counters);
	tapir_recording_plan__fini(&plan);
}

static void what_is_asked_for_is_in_the_options(void **state)
{
	struct tapir_request request = request_of_pid();
	struct tapir_recording_plan plan;

	(void)state;
	request.specs = words("hotspot:gc__*", "python:line");
	request.lane = "ring";
	request.no_samples = true;
	request.no_sched = true;
	request.has_counters = true;
	request.duration_ns = 7;
	request.rate_hz = 100;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_false(plan.opts.specs_are_defaults);
	assert_true(plan.specs.cnt > 2); /* and those of the counters */
	assert_string_equal(plan.specs.data[1]->text, "python:line");
	assert_int_equal(plan.opts.lanes, TAPIR_LANES_RING);
	assert_int_equal(plan.opts.sampling.hz, 0);
	assert_false(plan.opts.with_switches);
	assert_int_equal(plan.opts.duration_ns, 7);
	assert_int_equal(plan.opts.rate_hz, 100);
	assert_ptr_equal(plan.opts.counters, &plan.counters);
	assert_int_equal(plan.counters.interval_ns, TAPIR_COUNTER_INTERVAL_NS);
	tapir_recording_plan__fini(&plan);
}

static void profiles_that_overlap_are_one_list(void **state)
{
	struct tapir_request request = request_of_pid();
	struct tapir_recording_plan plan;

	(void)state;
	request.profiles = words("gc", "default");
	assert_int_equal(plan_of(&request, &plan), 0);
	for (size_t i = 0; i < plan.specs.cnt; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(plan.specs.data[i]->text, plan.specs.data[k]->text);
	tapir_recording_plan__fini(&plan);
}

static void program_beside_targets_is_a_workload(void **state)
{
	char *argv[] = {"sleep", "1", NULL};
	struct tapir_request request = request_of_pid();
	struct tapir_recording_plan plan;

	(void)state;
	request.program = argv;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_true(plan.opts.program_is_workload);
	tapir_recording_plan__fini(&plan);
	request.rules.pids.cnt = 0;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_false(plan.opts.program_is_workload);
	tapir_recording_plan__fini(&plan);
	request.rules.all = true;
	assert_int_equal(plan_of(&request, &plan), 0);
	assert_true(plan.opts.program_is_workload);
	assert_false(plan.opts.with_switches);
	tapir_recording_plan__fini(&plan);
}

/* One wrong thing each; the reader of the line knows nothing of a command line. */
static void wrong_request_is_one_line(void **state)
{
	enum { TARGET, SPEC, PROFILE, LANE, PUBLISH, PROBES, SAMPLES, HZ, EVENT, SCHED, INTERVAL };
	static const struct {
		int what;
		const char *line;
	} cases[] = {
		{TARGET, "a target is required"},   {SPEC, "SPEC"},
		{PROFILE, "no profile 'x'"},	    {LANE, "no lane 'x'"},
		{PUBLISH, "'x' is not usdt"},	    {PROBES, "--publish excludes"},
		{SAMPLES, "--no-samples excludes"}, {HZ, "more than"},
		{EVENT, "no sample event 'x'"},	    {SCHED, "--sched excludes"},
		{INTERVAL, "--interval requires"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_request q = request_of_pid();
		struct tapir_recording_plan plan;
		int what = cases[i].what;

		q.rules.pids.cnt = what != TARGET;
		if (what == SPEC)
			q.specs = words("::::(", NULL);
		if (what == PROFILE)
			q.profiles = words("x", NULL);
		q.lane = what == LANE ? "x" : what == PROBES ? "probe" : NULL;
		q.publish = what == PUBLISH ? "x" : what == PROBES ? "usdt" : NULL;
		q.no_samples = what == SAMPLES;
		q.sample_hz = what == SAMPLES ? 9 : what == HZ ? UINT64_MAX : 0;
		q.sample_event = what == EVENT ? "x" : NULL;
		q.sched = q.no_sched = what == SCHED;
		q.interval_ns = what == INTERVAL;
		assert_int_equal(plan_of(&q, &plan), -EINVAL);
		assert_int_equal(tapir_diag__cnt(), 1);
		assert_non_null(strstr(tapir_diag__line(0), cases[i].line));
		tapir_recording_plan__fini(&plan);
	}
	tapir_diag__clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_of_a_heap_wait_for_room),
		cmocka_unit_test(awaits_come_with_the_default_profile),
		cmocka_unit_test(waits_are_summed_where_switches_are_recorded),
		cmocka_unit_test(everything_has_a_default),
		cmocka_unit_test(what_is_asked_for_is_in_the_options),
		cmocka_unit_test(profiles_that_overlap_are_one_list),
		cmocka_unit_test(program_beside_targets_is_a_workload),
		cmocka_unit_test(wrong_request_is_one_line),
	};

	pid = (uint32_t)getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
