// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters consumed in the process (include/tapir/counter.h): each update is in one interval. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tapir/counter.h"

#define PROVIDER "Unit-Samples"
#define PATIENCE 30 /* seconds, where 0.1 s are waited for */

static struct tapir_provider *provider;

struct seen {
	uint32_t sample_cnt, count, wrong_cnt;
	double increments, sum, polled;
};

static int is_named(const struct tapir_counter_sample *s, const char *name, int is_increment)
{
	return !strcmp(s->name, name) && s->is_increment == is_increment &&
	       !strcmp(s->provider, PROVIDER) && s->interval_s > 0 && s->time_ns;
}

static void see(const struct tapir_counter_sample *s, void *ctx)
{
	struct seen *seen = ctx;

	if (is_named(s, "requests", 1) && !strcmp(s->unit, "pcs\u00e9") &&
	    !strcmp(s->display_name, "Requests") && !strcmp(s->tags, "kind:web")) {
		seen->increments += s->increment;
	} else if (is_named(s, "latency", 0) && (!s->count || (s->min >= 2 && s->max <= 4))) {
		seen->count += s->count;
		seen->sum += s->mean * s->count;
	} else if (is_named(s, "heap", 0)) {
		seen->polled = s->mean;
	} else {
		seen->wrong_cnt++;
	}
	__atomic_add_fetch(&seen->sample_cnt, 1, __ATOMIC_RELEASE);
}

static double heap_bytes(void *ctx)
{
	return *(const double *)ctx;
}

static struct tapir_counter *make(uint32_t type, const char *name, void *ctx)
{
	const struct tapir_counter_opts opts = {
		.size = sizeof(opts),
		.type = type,
		.name = name,
		.display_name = !strcmp(name, "requests") ? "Requests" : NULL,
		.unit = "pcs\u00e9",
		.tags = "kind:web",
		.poll = type == TAPIR_COUNTER_POLLING ? heap_bytes : NULL,
		.ctx = ctx,
	};
	struct tapir_counter *c = NULL;

	assert_int_equal(tapir_counter__new(provider, &opts, &c), 0);
	return c;
}

/* Three counters: one round of samples more than `rounds`. */
static void await(const struct seen *seen, uint32_t rounds)
{
	const struct timespec step = {.tv_nsec = 5000000};
	uint32_t until = __atomic_load_n(&seen->sample_cnt, __ATOMIC_ACQUIRE) + 3 * (rounds + 1);
	time_t end = time(NULL) + PATIENCE;

	while (__atomic_load_n(&seen->sample_cnt, __ATOMIC_ACQUIRE) < until && time(NULL) < end)
		nanosleep(&step, NULL);
}

static void each_update_is_in_one_interval(void **state)
{
	static double heap = 4096;
	struct seen seen = {.count = 0};
	struct tapir_counter *requests, *latency, *polled;
	struct tapir_counter_listener *l;

	(void)state;
	assert_int_equal(tapir_provider__new(PROVIDER, NULL, NULL, 0, NULL, &provider), 0);
	requests = make(TAPIR_COUNTER_INCREMENTING, "requests", NULL);
	latency = make(TAPIR_COUNTER_EVENT, "latency", NULL);
	polled = make(TAPIR_COUNTER_POLLING, "heap", &heap);
	assert_int_equal(tapir_counter_listener__open("Unit-*", 0.1, see, &seen, NULL, &l), 0);
	await(&seen, 0); /* what was written before it is asked for is in no interval */
	for (int i = 0; i < 100; i++) {
		tapir_counter__write(requests, 2);
		tapir_counter__write(latency, i % 2 ? 2 : 4);
	}
	await(&seen, 1);
	assert_int_equal(tapir_counter_listener__lost(l), 0);
	assert_int_equal(tapir_counter_listener__close(l), 0);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_true(seen.increments == 200);
	assert_int_equal(seen.count, 100);
	assert_true(fabs(seen.sum - 300) < 1e-6);
	assert_true(seen.polled == 4096);
	tapir_counter__free(requests);
	tapir_counter__free(latency);
	tapir_counter__free(polled);
	tapir_provider__free(provider);
	assert_int_equal(tapir_library__fini(), 0);
}

/* ---- intervals of two sessions ------------------------------------------------------------------ */

struct own {
	uint32_t cnt, wrong_cnt, value_cnt; /* cnt: of both counters */
	double total_s, increments, min, max;
};

static void see_own(const struct tapir_counter_sample *s, void *ctx)
{
	struct own *own = ctx;

	own->total_s += s->interval_s;
	own->increments += s->increment;
	if (!s->is_increment && s->count) {
		own->wrong_cnt += s->min > s->mean || s->max < s->mean;
		own->value_cnt += s->count;
		own->min = s->min < own->min ? s->min : own->min;
		own->max = s->max > own->max ? s->max : own->max;
	}
	__atomic_add_fetch(&own->cnt, 1, __ATOMIC_RELEASE);
}

static uint32_t cnt_of(const struct own *own)
{
	return __atomic_load_n(&own->cnt, __ATOMIC_ACQUIRE);
}

static void each_session_has_intervals_of_its_own(void **state)
{
	const struct timespec step = {.tv_nsec = 20000000};
	struct own fast = {.min = 1e9}, slow = fast;
	const time_t end = time(NULL) + PATIENCE;
	struct tapir_counter *sum, *value;
	struct tapir_counter_listener *a, *b;
	double written = 0;

	(void)state;
	assert_int_equal(tapir_provider__new(PROVIDER, NULL, NULL, 0, NULL, &provider), 0);
	sum = make(TAPIR_COUNTER_INCREMENTING, "sum", NULL);
	value = make(TAPIR_COUNTER_EVENT, "value", NULL);
	assert_int_equal(tapir_counter_listener__open("Unit-*", 0.1, see_own, &fast, NULL, &a), 0);
	assert_int_equal(tapir_counter_listener__open("Unit-*", 0.8, see_own, &slow, NULL, &b), 0);
	/* Both have begun when both have had an interval. */
	while ((cnt_of(&slow) < 2 || cnt_of(&fast) < 2) && time(NULL) < end)
		nanosleep(&step, NULL);
	for (uint32_t from = cnt_of(&slow); cnt_of(&slow) < from + 2 && time(NULL) < end;) {
		tapir_counter__write(sum, 2);
		tapir_counter__write(value, (unsigned)written % 3);
		written++;
		nanosleep(&step, NULL);
	}
	/* What was written last is in the next interval of each. */
	for (uint32_t s = cnt_of(&slow), f = cnt_of(&fast);
	     (cnt_of(&slow) < s + 4 || cnt_of(&fast) < f + 4) && time(NULL) < end;)
		nanosleep(&step, NULL);
	assert_int_equal(tapir_counter_listener__close(a), 0);
	assert_int_equal(tapir_counter_listener__close(b), 0);
	assert_true(fast.increments == 2 * written && slow.increments == 2 * written);
	assert_true(fast.value_cnt == written && slow.value_cnt == written);
	assert_true(fast.min == 0 && fast.max == 2 && slow.min == 0 && slow.max == 2);
	/* One may end late, and the next one is shorter then. */
	assert_true(slow.total_s / 2 > 0.79 * (slow.cnt / 2 - 1.));
	assert_true(fast.total_s / 2 > 0.09 * (fast.cnt / 2 - 1.));
	assert_true(fast.cnt > slow.cnt);
	assert_int_equal(fast.wrong_cnt + slow.wrong_cnt, 0);
	tapir_counter__free(value);
	tapir_counter__free(sum);
	tapir_provider__free(provider);
	assert_int_equal(tapir_library__fini(), 0);
}

/* ---- percentiles of an interval ----------------------------------------------------------------- */

struct spread {
	uint32_t interval_cnt, wrong_cnt;
	double p50, p99, max;
	uint32_t count;
};

static void see_spread(const struct tapir_counter_sample *s, void *ctx)
{
	struct spread *seen = ctx;

	seen->wrong_cnt += !s->has_percentiles || s->is_increment || strcmp(s->name, "spread") != 0;
	if (s->count) {
		seen->p50 = s->p50;
		seen->p99 = s->p99;
		seen->max = s->max;
		seen->count += s->count;
	}
	__atomic_add_fetch(&seen->interval_cnt, 1, __ATOMIC_RELEASE);
}

static void await_intervals(const struct spread *seen, uint32_t cnt)
{
	const struct timespec step = {.tv_nsec = 5000000};
	uint32_t until = __atomic_load_n(&seen->interval_cnt, __ATOMIC_ACQUIRE) + cnt;
	time_t end = time(NULL) + PATIENCE;

	while (__atomic_load_n(&seen->interval_cnt, __ATOMIC_ACQUIRE) < until && time(NULL) < end)
		nanosleep(&step, NULL);
}

static void percentiles_are_those_of_the_interval(void **state)
{
	struct spread seen = {.count = 0};
	struct tapir_counter *c;
	struct tapir_counter_listener *l;

	(void)state;
	assert_int_equal(tapir_provider__new(PROVIDER, NULL, NULL, 0, NULL, &provider), 0);
	c = make(TAPIR_COUNTER_HISTOGRAM, "spread", NULL);
	for (int i = 0; i < 1000; i++)
		tapir_counter__write(c, 1e6); /* before anybody asks: in no interval */
	assert_int_equal(tapir_counter_listener__open("Unit-*", 0.1, see_spread, &seen, NULL, &l),
			 0);
	await_intervals(&seen, 2);
	for (int i = 0; i < 100; i++)
		tapir_counter__write(c, 8);
	await_intervals(&seen, 2);
	assert_int_equal(seen.count, 100);
	assert_true(seen.p50 == 8 && seen.p99 == 8 &&
		    seen.max == 8); /* no more than the greatest */
	tapir_counter__write(c, 100);
	await_intervals(&seen, 2);
	assert_true(seen.p50 == 100);
	assert_int_equal(tapir_counter_listener__close(l), 0);
	assert_int_equal(seen.wrong_cnt, 0);
	tapir_counter__free(c);
	tapir_provider__free(provider);
	assert_int_equal(tapir_library__fini(), 0);
}

/* ---- fork while a counter is published ---------------------------------------------------------- */

static int poll_step; /* 1: poll runs; 2: it may go on */

static double poll_slowly(void *ctx)
{
	const struct timespec step = {.tv_nsec = 1000000};

	(void)ctx;
	__atomic_store_n(&poll_step, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&poll_step, __ATOMIC_ACQUIRE) != 2)
		nanosleep(&step, NULL);
	return 1;
}

static void ignore(const struct tapir_counter_sample *s, void *ctx)
{
	(void)s;
	(void)ctx;
}

static void child_frees_a_counter_that_was_being_polled(void **state)
{
	const struct tapir_counter_opts opts = {.size = sizeof(opts),
						.type = TAPIR_COUNTER_POLLING,
						.name = "slow",
						.poll = poll_slowly};
	const struct timespec step = {.tv_nsec = 1000000};
	struct tapir_counter_listener *l;
	struct tapir_counter *c;
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(tapir_provider__new(PROVIDER, NULL, NULL, 0, NULL, &provider), 0);
	assert_int_equal(tapir_counter__new(provider, &opts, &c), 0);
	assert_int_equal(tapir_counter_listener__open("Unit-*", 0.1, ignore, NULL, NULL, &l), 0);
	while (__atomic_load_n(&poll_step, __ATOMIC_ACQUIRE) != 1)
		nanosleep(&step, NULL);
	child = fork();
	if (!child) { /* the thread that polls is not here */
		alarm(PATIENCE);
		tapir_counter__free(c);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	__atomic_store_n(&poll_step, 2, __ATOMIC_RELEASE);
	assert_int_equal(status, 0);
	assert_int_equal(tapir_counter_listener__close(l), 0);
	tapir_counter__free(c);
	tapir_provider__free(provider);
	assert_int_equal(tapir_library__fini(), 0);
}

static void wrong_arguments_are_refused(void **state)
{
	static const double bad[] = {0, -1, 0.05, 3601, NAN, INFINITY};
	struct tapir_counter_listener *l = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tapir_counter_listener__open("X", bad[i], see, NULL, NULL, &l),
				 -EINVAL);
	assert_int_equal(tapir_counter_listener__open("X", 1, NULL, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_counter_listener__open(NULL, 1, see, NULL, NULL, &l), -EINVAL);
	assert_null(l);
	assert_int_equal(tapir_counter_listener__close(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_update_is_in_one_interval),
		cmocka_unit_test(each_session_has_intervals_of_its_own),
		cmocka_unit_test(percentiles_are_those_of_the_interval),
		cmocka_unit_test(child_frees_a_counter_that_was_being_polled),
		cmocka_unit_test(wrong_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
