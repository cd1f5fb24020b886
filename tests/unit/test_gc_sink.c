// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/gc_event_sink.h: what a collector gets, what is refused, events by their names.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <time.h>

#include "tapir/gc_event_sink.h"

#define RUNTIME "Unit-Runtime"

TAPIR_EVENT(Known, RUNTIME, "Known", 1, 0, TAPIR_INFORMATIONAL, 0x10, (U32, Count));
#define NUMBER(X) X(U32, Number)
#define BOTH(X)	  NUMBER(X) X(UTF8, Text)
TAPIR_GC_EVENT(Own, TAPIR_GC_DEFAULT, TAPIR_WARNING, 0x4, BOTH);
TAPIR_GC_EVENT(Secret, TAPIR_GC_PRIVATE, TAPIR_VERBOSE, 0x8, NUMBER);

static struct tapir_event *const events[] = {&Known};
static const struct tapir_gc_event *const own[] = {&Own_event, &Secret_event};

static void control(void *ctx, uint64_t keywords, int level)
{
	tapir_gc_status__set(ctx, TAPIR_GC_DEFAULT, keywords, level);
}

static void control_private(void *ctx, uint64_t keywords, int level)
{
	tapir_gc_status__set(ctx, TAPIR_GC_PRIVATE, keywords, level);
}

static struct tapir_gc_collector collector_of(struct tapir_gc_status *status)
{
	return (struct tapir_gc_collector){.size = sizeof(struct tapir_gc_collector),
					   .version = TAPIR_GC_SINK_VERSION,
					   .ctx = status,
					   .control_events = control,
					   .control_private_events = control_private,
					   .events = own,
					   .event_cnt = 2};
}

static struct tapir_gc_host *new_host(void)
{
	const struct tapir_gc_host_opts opts = {.size = sizeof(opts),
						.names = {RUNTIME, RUNTIME "-Private"},
						.events = {events, NULL},
						.event_cnts = {1, 0}};
	struct tapir_gc_host *host = NULL;

	assert_int_equal(tapir_gc_host__new(&opts, &host), 0);
	return host;
}

static void a_query_is_of_level_and_keywords(void **state)
{
	struct tapir_gc_status s = {{0}, {0}};

	(void)state;
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0, 0));
	tapir_gc_status__set(&s, TAPIR_GC_DEFAULT, 0x6, TAPIR_WARNING);
	assert_true(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0x2, TAPIR_WARNING));
	assert_true(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0, TAPIR_LOGALWAYS));
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0x1, TAPIR_WARNING));
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0x2, TAPIR_INFORMATIONAL));
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_PRIVATE, 0x2, TAPIR_WARNING));
	tapir_gc_status__set(&s, TAPIR_GC_DEFAULT, 0, TAPIR_GC_OFF);
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0, 0));
}

/* As a tool that attaches: the kernel would raise the semaphore. */
static void wait_until(const struct tapir_gc_status *s, enum tapir_gc_provider provider,
		       uint64_t keywords, uint32_t level, int is_on)
{
	for (int i = 0; i < 500; i++) {
		if (tapir_gc_status__is_on(s, provider, keywords, level) == is_on)
			return;
		assert_int_equal(tapir_provider__poll(), 0);
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	fail_msg("the collector was not told");
}

static void the_collector_is_notified_when_only_a_semaphore_changes(void **state)
{
	struct tapir_gc_status s = {{0}, {0}};
	const struct tapir_gc_collector collector = collector_of(&s);
	struct tapir_gc_host *host = new_host();

	(void)state;
	__atomic_store_n(&Known.word.half.semaphore, 1, __ATOMIC_RELAXED);
	assert_int_equal(tapir_gc_host__attach(host, &collector), 0);
	wait_until(&s, TAPIR_GC_DEFAULT, 0x10, TAPIR_INFORMATIONAL, 1);
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0x4, TAPIR_INFORMATIONAL));
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_PRIVATE, 0, 0));
	__atomic_store_n(&Known.word.half.semaphore, 0, __ATOMIC_RELAXED);
	wait_until(&s, TAPIR_GC_DEFAULT, 0x10, TAPIR_INFORMATIONAL, 0);
	tapir_gc_host__free(host);
	tapir_gc_host__free(NULL);
}

static void a_host_that_goes_turns_its_collector_off(void **state)
{
	struct tapir_gc_status s = {{0}, {0}};
	const struct tapir_gc_collector collector = collector_of(&s);
	struct tapir_gc_host *host = new_host();

	(void)state;
	__atomic_store_n(&Known.word.half.semaphore, 1, __ATOMIC_RELAXED);
	assert_int_equal(tapir_gc_host__attach(host, &collector), 0);
	wait_until(&s, TAPIR_GC_DEFAULT, 0x10, TAPIR_INFORMATIONAL, 1);
	tapir_gc_host__free(host);
	assert_false(tapir_gc_status__is_on(&s, TAPIR_GC_DEFAULT, 0, 0));
	__atomic_store_n(&Known.word.half.semaphore, 0, __ATOMIC_RELAXED);
}

static void malformed_collectors_are_refused(void **state)
{
	static const struct tapir_gc_event odd = {"a b", NULL, 0, 0, 0, 0, 0},
					   nowhere = {"a", NULL, 0, 2, 0, 0, 0};
	static const struct tapir_gc_event *const bad[] = {&odd, &nowhere, NULL};
	struct tapir_gc_status s = {{0}, {0}};
	struct tapir_gc_collector collector = collector_of(&s);
	struct tapir_gc_host *host = new_host();

	(void)state;
	assert_int_equal(tapir_gc_host__attach(host, NULL), -EINVAL);
	collector.version++;
	assert_int_equal(tapir_gc_host__attach(host, &collector), -EINVAL);
	collector = collector_of(&s);
	collector.size--;
	assert_int_equal(tapir_gc_host__attach(host, &collector), -EINVAL);
	collector = collector_of(&s);
	collector.event_cnt = 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		collector.events = &bad[i];
		assert_int_equal(tapir_gc_host__attach(host, &collector), -EINVAL);
	}
	collector = collector_of(&s);
	assert_int_equal(tapir_gc_host__attach(host, &collector), 0);
	assert_int_equal(tapir_gc_host__attach(host, &collector), -EINVAL);
	/* Off, by its name's text, unknown: nothing happens. */
	tapir_gc_host__fire_dynamic(host, Own_event.name, "\1\0\0\0a", 6);
	tapir_gc_host__fire_dynamic(host, "Nobody", NULL, 0);
	tapir_gc_host__free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_of_level_and_keywords),
		cmocka_unit_test(the_collector_is_notified_when_only_a_semaphore_changes),
		cmocka_unit_test(a_host_that_goes_turns_its_collector_off),
		cmocka_unit_test(malformed_collectors_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
