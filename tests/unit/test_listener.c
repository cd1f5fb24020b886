// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/listener.h: counts, order, losses, and life while threads fire. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tapir/listener.h"

#define FIRERS 8

TAPIR_EVENT(Heard, "Unit-Listener", "Heard", 1, 0, TAPIR_INFORMATIONAL, 0x1, (U32, Thread),
	    (U64, Number), (UTF8, Text));
TAPIR_EVENT(Quiet, "Unit-Listener", "Quiet", 2, 0, TAPIR_VERBOSE, 0x2);

static struct tapir_event *const events[] = {&Heard, &Quiet};
static const struct tapir_selection all = {"Unit-*", NULL, NULL, 0, 0, {0}};
static struct tapir_provider *provider;
static uint32_t has_ended, fired_cnt[FIRERS];

struct seen {
	uint64_t cnt, last_ns, wrong_cnt, unordered_cnt;
	uint64_t next[FIRERS];
};

static void see(const struct tapir_event_record *r, void *ctx)
{
	struct seen *seen = ctx;
	uint32_t thread;
	uint64_t number;

	__atomic_fetch_add(&seen->cnt, 1, __ATOMIC_RELAXED);
	seen->unordered_cnt += r->time_ns < seen->last_ns;
	seen->last_ns = r->time_ns;
	if (strcmp(r->kind->about->name, "Heard") != 0)
		return;
	memcpy(&thread, r->payload, sizeof(thread));
	memcpy(&number, r->payload + 4, sizeof(number));
	if (r->payload_bytes != 17 || strcmp((const char *)r->payload + 12, "text") != 0 ||
	    thread >= FIRERS || number < seen->next[thread]) {
		seen->wrong_cnt++;
		return;
	}
	seen->next[thread] = number + 1;
}

static int setup(void **state)
{
	(void)state;
	has_ended = 0;
	memset(fired_cnt, 0, sizeof(fired_cnt));
	return tapir_provider__new("Unit-Listener", NULL, events, 2, NULL, &provider);
}

static int teardown(void **state)
{
	(void)state;
	tapir_provider__free(provider);
	return tapir_library__fini();
}

static void *fire(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;

	for (uint32_t i = 0; !__atomic_load_n(&has_ended, __ATOMIC_RELAXED); i++) {
		TAPIR_FIRE(Heard, thread, i, "text");
		__atomic_store_n(&fired_cnt[thread], i + 1, __ATOMIC_RELAXED);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void start_firing(pthread_t *threads)
{
	for (uintptr_t i = 0; i < FIRERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fire, (void *)i), 0); // NOLINT
}

static void stop_firing(pthread_t *threads)
{
	__atomic_store_n(&has_ended, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < FIRERS; i++)
		pthread_join(threads[i], NULL);
}

static void each_event_arrives_once_with_its_payload(void **state)
{
	const struct tapir_listener_opts opts = {.size = sizeof(opts),
						 .flags = TAPIR_LISTENER_POLLED};
	struct tapir_listener *l;
	struct seen seen = {0};

	(void)state;
	assert_false(TAPIR_EVENT_ENABLED(Heard));
	assert_int_equal(tapir_listener__open(&all, 1, see, &seen, &opts, &l), 0);
	assert_true(TAPIR_EVENT_ENABLED(Heard));
	for (uint32_t i = 0; i < 500; i++)
		TAPIR_FIRE(Heard, 3, i, "text");
	TAPIR_FIRE(Quiet);
	assert_int_equal(tapir_listener__poll(l), 501);
	assert_int_equal(tapir_listener__poll(l), 0);
	assert_int_equal(seen.cnt, 501);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(tapir_listener__close(l), 0);
	assert_false(TAPIR_EVENT_ENABLED(Heard));
}

static void keywords_levels_and_names_select(void **state)
{
	static const struct {
		struct tapir_selection selection;
		int heard, quiet;
	} cases[] = {
		{{"*", NULL, NULL, 0x1, 0, {0}}, 1, 0},
		{{"*", NULL, NULL, 0x6, 0, {0}}, 0, 1},
		{{"*", NULL, NULL, 0, 4, {0}}, 1, 0},
		{{"Unit-Listener", "Q*", NULL, 0, 5, {0}}, 0, 1},
		{{"Unit-Other", NULL, NULL, 0, 0, {0}}, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tapir_listener *l;
		struct seen seen = {0};

		assert_int_equal(tapir_listener__open(&cases[i].selection, 1, see, &seen, NULL, &l),
				 0);
		assert_int_equal(TAPIR_EVENT_ENABLED(Heard), cases[i].heard);
		assert_int_equal(TAPIR_EVENT_ENABLED(Quiet), cases[i].quiet);
		assert_int_equal(tapir_listener__close(l), 0);
	}
}

/* Delivered and lost are what was fired, for each of three; one of them is slow. */
static void a_full_listener_loses_only_its_own(void **state)
{
	const struct tapir_listener_opts polled = {
		.size = sizeof(polled), .flags = TAPIR_LISTENER_POLLED, .buffer_bytes = 4096};
	struct tapir_listener *slow, *quick;
	struct seen slow_seen = {0}, quick_seen = {0};
	uint64_t fired = 0, polled_cnt = 0;

	(void)state;
	assert_int_equal(tapir_listener__open(&all, 1, see, &slow_seen, &polled, &slow), 0);
	assert_int_equal(tapir_listener__open(&all, 1, see, &quick_seen, &polled, &quick), 0);
	for (uint32_t i = 0; i < 10000; i++, fired++) {
		TAPIR_FIRE(Heard, 0, i, "text");
		if (i % 16 == 15)
			polled_cnt += (uint64_t)tapir_listener__poll(quick);
	}
	assert_int_equal(polled_cnt, fired);
	assert_int_equal(tapir_listener__lost(quick, NULL), 0);
	assert_true(tapir_listener__lost(slow, NULL) > 0);
	assert_int_equal(tapir_listener__lost(slow, "Unit-Listener"),
			 tapir_listener__lost(slow, NULL));
	assert_int_equal(tapir_listener__lost(slow, "Unit-Other"), 0);
	polled_cnt = (uint64_t)tapir_listener__poll(slow);
	assert_int_equal(polled_cnt + tapir_listener__lost(slow, NULL), fired);
	assert_int_equal(tapir_listener__close(slow), 0);
	assert_int_equal(tapir_listener__close(quick), 0);
}

static void threads_are_merged_by_time_and_nothing_is_unaccounted(void **state)
{
	const struct tapir_listener_opts opts = {
		.size = sizeof(opts), .interval_ms = 1, .buffer_bytes = 1u << 20};
	pthread_t threads[FIRERS];
	struct tapir_listener *l;
	struct seen seen = {0};
	uint64_t fired = 0, lost;

	(void)state;
	assert_int_equal(tapir_listener__open(&all, 1, see, &seen, &opts, &l), 0);
	start_firing(threads);
	while (__atomic_load_n(&seen.cnt, __ATOMIC_RELAXED) < 20000)
		usleep(1000);
	stop_firing(threads);
	for (int i = 0; i < FIRERS; i++)
		fired += fired_cnt[i];
	/* The thread delivers the rest, or close does: what is lost is final now. */
	lost = tapir_listener__lost(l, NULL);
	assert_int_equal(tapir_listener__close(l), 0);
	assert_int_equal(seen.cnt + lost, fired);
	assert_int_equal(seen.wrong_cnt, 0);
	/* A thread that lost its processor within an event for 5 ms may come late. */
	assert_true(seen.unordered_cnt <= seen.cnt / 1000);
}

static void sessions_come_and_go_while_threads_fire(void **state)
{
	pthread_t threads[FIRERS];

	(void)state;
	start_firing(threads);
	for (int i = 0; i < 200; i++) {
		struct tapir_listener *a, *b;
		struct seen one = {0}, two = {0};

		assert_int_equal(tapir_listener__open(&all, 1, see, &one, NULL, &a), 0);
		assert_int_equal(tapir_listener__open(&all, 1, see, &two, NULL, &b), 0);
		assert_int_equal(tapir_listener__close(a), 0);
		assert_int_equal(tapir_listener__close(b), 0);
		assert_int_equal(one.wrong_cnt + two.wrong_cnt, 0);
	}
	stop_firing(threads);
}

static void a_provider_is_freed_while_threads_fire(void **state)
{
	pthread_t threads[FIRERS];
	struct tapir_listener *l;
	struct seen seen = {0};

	(void)state;
	assert_int_equal(tapir_listener__open(&all, 1, see, &seen, NULL, &l), 0);
	start_firing(threads);
	for (int i = 0; i < 200; i++) {
		tapir_provider__free(provider);
		assert_false(TAPIR_EVENT_ENABLED(Heard));
		assert_int_equal(
			tapir_provider__new("Unit-Listener", NULL, events, 2, NULL, &provider), 0);
		assert_true(TAPIR_EVENT_ENABLED(Heard));
	}
	stop_firing(threads);
	assert_int_equal(tapir_listener__close(l), 0);
	assert_int_equal(seen.wrong_cnt, 0);
}

/* ---- signals, forks, limits --------------------------------------------------------------- */

static void on_signal(int nr)
{
	(void)nr;
	TAPIR_FIRE(Quiet);
}

static void an_event_in_a_signal_handler_arrives(void **state)
{
	const struct tapir_listener_opts opts = {.size = sizeof(opts),
						 .flags = TAPIR_LISTENER_POLLED};
	struct tapir_listener *l;
	struct seen seen = {0};
	struct tapir_event_write write;

	(void)state;
	signal(SIGUSR1, on_signal);
	assert_int_equal(tapir_listener__open(&all, 1, see, &seen, &opts, &l), 0);
	/* In the middle of another one's writing. */
	assert_true(tapir_event__begin(&write, &Quiet, 0));
	raise(SIGUSR1);
	assert_int_equal(tapir_listener__poll(l), 0); /* it waits for the one before it */
	tapir_event__commit(&write);
	assert_int_equal(tapir_listener__poll(l), 2);
	assert_int_equal(tapir_listener__close(l), 0);
	signal(SIGUSR1, SIG_DFL);
}

static void a_childs_listeners_have_ended(void **state)
{
	struct tapir_listener *l;
	struct seen seen = {0};
	int status;
	pid_t pid;

	(void)state;
#if defined(__SANITIZE_THREAD__) || defined(TAPIR_UNDER_QEMU)
	skip(); /* they start no thread in a child */
#endif
	assert_int_equal(tapir_listener__open(&all, 1, see, &seen, NULL, &l), 0);
	pid = fork();
	if (!pid) {
		struct tapir_listener *own;
		struct seen in_child = {0};

		TAPIR_FIRE(Heard, 0, 1, "text");
		if (tapir_listener__close(l) ||
		    tapir_listener__open(&all, 1, see, &in_child, NULL, &own))
			_exit(1);
		TAPIR_FIRE(Heard, 0, 2, "text");
		_exit(tapir_listener__close(own) || in_child.cnt != 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(tapir_listener__close(l), 0);
	assert_int_equal(seen.cnt, 0);
}

static void close_from_within(const struct tapir_event_record *r, void *ctx)
{
	struct tapir_listener **l = ctx;

	(void)r;
	if (tapir_listener__close(*l) != -EDEADLK || tapir_listener__poll(*l) != -EBUSY)
		abort();
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct tapir_selection none = {"", NULL, NULL, 0, 0, {0}};
	struct tapir_listener_opts opts = {.size = sizeof(opts), .buffer_bytes = 5000};
	struct tapir_listener *l = NULL, *many[64];
	int cnt = 0;

	(void)state;
	assert_int_equal(tapir_listener__open(NULL, 1, see, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_listener__open(&all, 0, see, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_listener__open(&all, 1, NULL, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_listener__open(&none, 1, see, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_listener__open(&all, 1, see, NULL, &opts, &l), -EINVAL);
	opts.buffer_bytes = 4096;
	opts.flags = TAPIR_LISTENER_POLLED | 1u << 7; /* no flag of today's */
	assert_int_equal(tapir_listener__open(&all, 1, see, NULL, &opts, &l), -EINVAL);
	opts.flags = TAPIR_LISTENER_POLLED;
	while (cnt < 64 && !tapir_listener__open(&all, 1, see, NULL, &opts, &many[cnt]))
		cnt++;
	assert_int_equal(cnt, 56);
	assert_int_equal(tapir_listener__open(&all, 1, see, NULL, &opts, &l), -EBUSY);
	while (cnt)
		assert_int_equal(tapir_listener__close(many[--cnt]), 0);
	assert_int_equal(tapir_listener__open(&all, 1, close_from_within, &l, &opts, &l), 0);
	TAPIR_FIRE(Quiet);
	assert_int_equal(tapir_listener__poll(l), 1);
	assert_int_equal(tapir_listener__close(l), 0);
	assert_int_equal(tapir_listener__close(NULL), 0);
}

static void a_payload_above_the_limit_is_counted(void **state)
{
	const struct tapir_listener_opts opts = {
		.size = sizeof(opts), .flags = TAPIR_LISTENER_POLLED, .buffer_bytes = 1u << 20};
	static char big[TAPIR_PAYLOAD_BYTES + 1];
	struct tapir_listener *l;
	struct seen seen = {0};

	(void)state;
	assert_int_equal(tapir_listener__open(&all, 1, see, &seen, &opts, &l), 0);
	tapir_event__write(&Quiet, big, TAPIR_PAYLOAD_BYTES);
	tapir_event__write(&Quiet, big, TAPIR_PAYLOAD_BYTES + 1);
	tapir_event__write(&Quiet, big, SIZE_MAX);
	assert_int_equal(tapir_listener__poll(l), 1);
	assert_int_equal(tapir_listener__lost(l, NULL), 2);
	assert_int_equal(tapir_listener__close(l), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_event_arrives_once_with_its_payload),
		CASE(keywords_levels_and_names_select),
		CASE(a_full_listener_loses_only_its_own),
		CASE(threads_are_merged_by_time_and_nothing_is_unaccounted),
		CASE(sessions_come_and_go_while_threads_fire),
		CASE(a_provider_is_freed_while_threads_fire),
		CASE(an_event_in_a_signal_handler_arrives),
		CASE(a_childs_listeners_have_ended),
		CASE(what_cannot_be_is_refused),
		CASE(a_payload_above_the_limit_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
