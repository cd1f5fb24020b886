// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/counter.h: what is counted, by many threads, and what is published of it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tapir/counter.h"
#include "tapir/listener.h"
#include "usdt/counter/counter_impl.h"

#define THREADS	     70 /* more than have cells of their own */
#define UPDATES	     2000
#define WAITS	     2000
#define prov_seen(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

static struct tapir_provider *provider;
static double polled;

static double poll_it(void *ctx)
{
	(void)ctx;
	return polled += 2.5;
}

static struct tapir_counter_opts opts_of(uint32_t type, const char *name)
{
	return (struct tapir_counter_opts){
		.size = sizeof(struct tapir_counter_opts),
		.type = type,
		.name = name,
		.unit = "m\xc2\xb2",
		.tags = "zone:1",
		.poll = type == TAPIR_COUNTER_POLLING || type == TAPIR_COUNTER_INCREMENTING_POLLING
				? poll_it
				: NULL,
	};
}

static struct tapir_counter *new_counter(uint32_t type, const char *name)
{
	struct tapir_counter_opts opts = opts_of(type, name);
	struct tapir_counter *c = NULL;

	assert_int_equal(tapir_counter__new(provider, &opts, &c), 0);
	return c;
}

static int setup(void **state)
{
	(void)state;
	polled = 0;
	return tapir_provider__new("Unit-Counter", NULL, NULL, 0, NULL, &provider);
}

static int teardown(void **state)
{
	(void)state;
	tapir_provider__free(provider);
	return tapir_library__fini();
}

static void *update(void *arg)
{
	for (int i = 0; i < UPDATES; i++)
		tapir_counter__write(arg, 0.5);
	return NULL;
}

static void updates_of_many_threads_add_up(void **state)
{
	struct tapir_counter *c = new_counter(TAPIR_COUNTER_INCREMENTING, "many");
	struct tapir_counter_value value;
	pthread_t threads[THREADS];

	(void)state;
	for (int round = 0; round < 3; round++) { /* the cells of those that have ended are taken */
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, update, c), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	assert_int_equal(tapir_counters__list(&value, 1), 1);
	assert_int_equal(value.count, 3 * THREADS * UPDATES);
	assert_true(value.sum == 3 * THREADS * UPDATES * 0.5);
	assert_string_equal(value.provider, "Unit-Counter");
	assert_string_equal(value.name, "many");
	assert_string_equal(value.display_name, "many");
	tapir_counter__free(c);
	assert_int_equal(tapir_counters__list(NULL, 0), 0);
}

static struct tapir_counter *handled;
static volatile sig_atomic_t handled_cnt;

static void on_alarm(int nr)
{
	(void)nr;
	tapir_counter__write(handled, 1);
	handled_cnt++;
}

static void updates_in_a_signal_handler_are_counted(void **state)
{
	const struct itimerval soon = {{0, 100}, {0, 100}}, never = {0};
	struct tapir_counter_value value;
	uint64_t written = 0;

	(void)state;
	handled = new_counter(TAPIR_COUNTER_EVENT, "handled");
	handled_cnt = 0;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (handled_cnt < 300) {
		tapir_counter__write(handled, 1);
		written++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_DFL);
	tapir_counters__list(&value, 1);
	assert_int_equal(value.count, written + (uint64_t)handled_cnt);
	assert_true(value.deviation == 0);
	tapir_counter__free(handled);
}

/* ---- histograms ------------------------------------------------------------------------------- */

static int is_near(double seen, double right)
{
	return fabs(seen - right) <= 0.033 * fabs(right);
}

static void *update_with_all(void *arg)
{
	for (int i = 1; i <= 1000; i++)
		tapir_counter__write(arg, i * 1e-6);
	return NULL;
}

static void percentiles_are_those_of_all_threads_values(void **state)
{
	struct tapir_counter *c = new_counter(TAPIR_COUNTER_HISTOGRAM, "spread");
	struct tapir_counter_value value;
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, update_with_all, c), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(tapir_counters__list(&value, 1), 1);
	assert_int_equal(value.type, TAPIR_COUNTER_HISTOGRAM);
	assert_int_equal(value.count, THREADS * 1000);
	assert_true(is_near(value.p50, 500e-6));
	assert_true(is_near(value.p95, 950e-6));
	assert_true(is_near(value.p99, 990e-6));
	tapir_counter__free(c);
}

/* One value alone is every percentile of itself; the largest magnitudes share a bucket. */
static void values_of_any_magnitude_and_sign_have_their_bucket(void **state)
{
	static const double values[] = {1,	-1,    -1e9, 3e18,     1.0 / 3,
					2.5e-9, -7e-8, 1024, 0.999999, 65535};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct tapir_counter *c = new_counter(TAPIR_COUNTER_HISTOGRAM, "one");
		struct tapir_counter_value seen;

		tapir_counter__write(c, values[i]);
		tapir_counters__list(&seen, 1);
		assert_true(is_near(seen.p50, values[i]) && seen.p50 == seen.p99);
		tapir_counter__free(c);
	}
}

static void values_below_and_above_zero_are_in_order(void **state)
{
	struct tapir_counter *c = new_counter(TAPIR_COUNTER_HISTOGRAM, "signed");
	struct tapir_counter_value value;

	(void)state;
	for (int i = -98; i <= 1; i++)
		tapir_counter__write(c, i);
	tapir_counters__list(&value, 1);
	assert_true(is_near(value.p50, -49));
	assert_true(is_near(value.p95, -4));
	assert_true(fabs(value.p99) < 1e-9); /* the 99th of 100 is 0 */
	tapir_counter__free(c);
}

static void a_value_that_is_not_finite_is_left_out(void **state)
{
	static const uint32_t types[] = {TAPIR_COUNTER_EVENT, TAPIR_COUNTER_HISTOGRAM};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tapir_counter *c = new_counter(types[i], "finite");
		struct tapir_counter_value value;

		tapir_counter__write(c, NAN);
		tapir_counter__write(c, INFINITY);
		tapir_counter__write(c, -INFINITY);
		tapir_counter__write(c, 1e151); /* its square is none */
		tapir_counter__write(c, 3);
		tapir_counters__list(&value, 1);
		assert_true(value.count == 1 && value.sum == 3 && value.mean == 3);
		tapir_counter__free(c);
	}
}

/*
 * Values of one size and of sizes that are near to each other, such as those of a heap, in several
 * intervals and after another size: squares of them differ in digits that a double has not.
 */
static void large_values_have_their_deviation(void **state)
{
	static const struct {
		double first, value, step, deviation, exact;
	} rows[] = {
		{1234567890.3, 1234567890.3, 0, 0, 0},
		{1e9, 1e9, 1, 0.816496580927726, 1e-6},
		{0, 1234567890.3, 0, 0, 0},
		{1e12, 1e12, 1024, 836.092498771992, 0.001},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tapir_counter *c = new_counter(TAPIR_COUNTER_EVENT, "large");
		struct counter_report report;

		tapir_counter__write(c, rows[i].first);
		counter_view__begin(c, 0);
		for (int k = 0; k < 30; k++)
			tapir_counter__write(c, rows[i].value + k % 3 * rows[i].step);
		counter_view__take(c, 0, &report);
		assert_true(fabs(report.deviation - rows[i].deviation) <= rows[i].exact);
		assert_true(fabs(report.mean - rows[i].value - rows[i].step) < 1e-6);
		assert_int_equal(report.count, 30);
		tapir_counter__free(c);
	}
}

/* ---- published -------------------------------------------------------------------------------- */

struct seen {
	uint32_t cnt[3]; /* of a, b, c */
	double mean, deviation, min, max, increment, polled;
	int32_t count, counts, count_sum; /* of one interval: now, the largest; of all */
	float interval;
	char unit[16];
};

static const uint8_t *skip_text(const uint8_t *at)
{
	while (at[0] | at[1])
		at += 2;
	return at + 2;
}

/* Of counters a (mean), b (increments) and c (increments, polled). */
static void see(const struct tapir_event_record *r, void *ctx)
{
	const uint8_t *at = skip_text(skip_text(r->payload));
	unsigned which = (unsigned)(r->payload[0] - 'a');
	struct seen *s = ctx;

	assert_string_equal(r->kind->about->name, "EventCounters");
	assert_string_equal(r->kind->provider, "Unit-Counter");
	assert_true(which < 3);
	__atomic_fetch_add(&s->cnt[which], 1, __ATOMIC_RELEASE);
	if (which) {
		double increment;

		at = skip_text(at);
		memcpy(&increment, at, 8);
		memcpy(&s->interval, at + 8, 4);
		*(which == 1 ? &s->increment : &s->polled) += increment;
		return;
	}
	memcpy(&s->count, at + 16, 4);
	s->count_sum += s->count;
	if (s->count <= s->counts)
		return;
	s->counts = s->count;
	memcpy(&s->mean, at, 8);
	memcpy(&s->deviation, at + 8, 8);
	memcpy(&s->min, at + 20, 8);
	memcpy(&s->max, at + 28, 8);
	at = skip_text(skip_text(skip_text(at + 40)));
	memcpy(s->unit, at, 6);
}

static void an_interval_has_mean_deviation_and_bounds(void **state)
{
	const struct tapir_selection ask = {
		"Unit-*", "EventCounters", "x=1;EventCounterIntervalSec=0.1", 0, 0, {0}};
	struct tapir_counter *a = new_counter(TAPIR_COUNTER_EVENT, "a"),
			     *b = new_counter(TAPIR_COUNTER_INCREMENTING, "b"),
			     *c = new_counter(TAPIR_COUNTER_INCREMENTING_POLLING, "c");
	struct tapir_listener *l;
	struct seen seen = {0};

	(void)state;
	tapir_counter__write(a, 1000); /* nobody asks yet */
	assert_int_equal(tapir_listener__open(&ask, 1, see, &seen, NULL, &l), 0);
	for (int i = 0; i < WAITS && !prov_seen(&seen.cnt[0]); i++)
		usleep(5000);
	for (int i = 1; i <= 4; i++)
		tapir_counter__write(a, i);
	tapir_counter__write(b, 7);
	tapir_counter__write(b, -2);
	for (int i = 0, from = (int)prov_seen(&seen.cnt[2]); i < WAITS; i++, usleep(5000))
		if (prov_seen(&seen.cnt[2]) >= (uint32_t)from + 2)
			break;
	assert_int_equal(tapir_listener__close(l), 0);
	/* Four values in one interval, or, when a tick fell between them, in two. */
	if (seen.counts == 4) {
		assert_true(seen.mean == 2.5);
		assert_true(fabs(seen.deviation - sqrt(1.25)) < 1e-9);
		assert_true(seen.min == 1 && seen.max == 4);
	}
	assert_int_equal(seen.count_sum, 4);
	assert_true(seen.increment == 5);
	assert_true(seen.polled > 0 && seen.polled == 2.5 * seen.cnt[2]);
	assert_true(seen.interval > 0 && seen.interval < 60);
	assert_memory_equal(seen.unit, "m\0\xb2\0\0\0", 6);
	tapir_counter__free(c);
	tapir_counter__free(b);
	tapir_counter__free(a);
}

static void what_cannot_be_is_refused(void **state)
{
	struct tapir_counter_opts opts = opts_of(TAPIR_COUNTER_EVENT, "x");
	struct tapir_counter *c = NULL;

	(void)state;
	assert_int_equal(tapir_counter__new(NULL, &opts, &c), -EINVAL);
	assert_int_equal(tapir_counter__new(provider, NULL, &c), -EINVAL);
	assert_int_equal(tapir_counter__new(provider, &opts, NULL), -EINVAL);
	opts.name = "";
	assert_int_equal(tapir_counter__new(provider, &opts, &c), -EINVAL);
	opts = opts_of(TAPIR_COUNTER_POLLING, "x");
	opts.poll = NULL;
	assert_int_equal(tapir_counter__new(provider, &opts, &c), -EINVAL);
	opts = opts_of(TAPIR_COUNTER_HISTOGRAM + 1, "x");
	assert_int_equal(tapir_counter__new(provider, &opts, &c), -EINVAL);
	opts = opts_of(TAPIR_COUNTER_EVENT, "x");
	opts.size--;
	assert_int_equal(tapir_counter__new(provider, &opts, &c), -EINVAL);
	assert_null(c);
	tapir_counter__free(NULL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(updates_of_many_threads_add_up),
		CASE(updates_in_a_signal_handler_are_counted),
		CASE(percentiles_are_those_of_all_threads_values),
		CASE(values_of_any_magnitude_and_sign_have_their_bucket),
		CASE(values_below_and_above_zero_are_in_order),
		CASE(a_value_that_is_not_finite_is_left_out),
		CASE(large_values_have_their_deviation),
		CASE(an_interval_has_mean_deviation_and_bounds),
		CASE(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
