// SPDX-License-Identifier: GPL-2.0-or-later
/* include/tapir/logger.h: what a logger receives, what it loses, and its life while threads fire.
 */
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

#pragma GCC optimize("no-omit-frame-pointer") /* the stacks that are walked */

#include "ring_taker.h"
#include "tapir/activity.h"
#include "tapir/listener.h"
#include "tapir/logger.h"

#define PROVIDER "Unit-Logger"
#define FIRERS	 8
#define CROWD	 80 /* more than there are payload buffers */

TAPIR_EVENT(Said, PROVIDER, "Said", 7, 2, TAPIR_WARNING, 0x4, (U32, Number), (UTF8, Text));
TAPIR_EVENT(Other, PROVIDER, "Other", 8, 0, TAPIR_VERBOSE, 0x8, (U32, Number));

static struct tapir_event *const events[] = {&Said, &Other};
static const struct tapir_selection all = {"Unit-*", NULL, NULL, 0, 0, {0}};
static struct tapir_provider *provider;

static int open_provider(void **state)
{
	(void)state;
	return tapir_provider__new(PROVIDER, NULL, events, 2, NULL, &provider);
}

static int close_provider(void **state)
{
	(void)state;
	tapir_provider__free(provider);
	return tapir_library__fini();
}

struct seen {
	uint64_t cnt, wrong_cnt, sum;
	uint64_t stack_id[2];
	uint64_t caller;
	uint32_t is_nested;
};

/* The payload is the number and the text, whoever fires. */
static int is_right(const struct tapir_event_record *r)
{
	uint32_t number;

	memcpy(&number, r->payload, sizeof(number));
	return r->payload_bytes == 4 + sizeof("text") && !memcmp(r->payload + 4, "text", 5) &&
	       !strcmp(r->kind->provider, PROVIDER) && !strcmp(r->kind->about->name, "Said") &&
	       r->kind->about->id == 7 && r->kind->about->level == TAPIR_WARNING && r->time_ns &&
	       r->tid;
}

static void see(const struct tapir_event_record *r, void *ctx)
{
	struct seen *seen = ctx;
	uint32_t number;

	memcpy(&number, r->payload, sizeof(number));
	__atomic_fetch_add(&seen->cnt, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&seen->sum, number, __ATOMIC_RELAXED);
	if (!is_right(r))
		__atomic_fetch_add(&seen->wrong_cnt, 1, __ATOMIC_RELAXED);
}

static struct tapir_logger *open_logger(tapir_logger_fn fn, void *ctx)
{
	struct tapir_logger *l = NULL;

	assert_int_equal(tapir_logger__open(&all, 1, fn, ctx, NULL, &l), 0);
	return l;
}

static void a_logger_receives_descriptor_payload_and_ids(void **state)
{
	const struct tapir_selection warnings = {PROVIDER, NULL, NULL, 0x4, TAPIR_WARNING, {0}};
	struct tapir_activity activity;
	struct seen seen = {.cnt = 0};
	struct tapir_logger *l;

	(void)state;
	assert_int_equal(tapir_logger__open(&warnings, 1, see, &seen, NULL, &l), 0);
	tapir_activity__start(&activity);
	errno = 4321;
	for (uint32_t i = 0; i < 10; i++) {
		TAPIR_FIRE(Said, i, "text");
		TAPIR_FIRE(Other, i);
	}
	assert_int_equal(errno, 4321);
	tapir_activity__stop(&activity);
	assert_int_equal(seen.cnt, 10);
	assert_int_equal(seen.sum, 45);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(tapir_logger__lost(l, NULL), 0);
	assert_int_equal(tapir_logger__close(l), 0);
	TAPIR_FIRE(Said, 1, "text");
	assert_int_equal(seen.cnt, 10);
	assert_false(TAPIR_EVENT_ENABLED(Said));
}

/* ---- beside other sessions -------------------------------------------------------------------- */

static void all_kinds_of_sessions_get_each_event_once(void **state)
{
	const struct tapir_listener_opts polled = {.size = sizeof(polled),
						   .flags = TAPIR_LISTENER_POLLED};
	static struct taker taker;
	struct seen logged[2] = {{.cnt = 0}, {.cnt = 0}}, heard = {.cnt = 0};
	struct tapir_logger *l[2];
	struct tapir_listener *listener;

	(void)state;
	assert_int_equal(taker_init(&taker, getpid(), 0), 0);
	assert_int_equal(taker_open(&taker, 0, 1, 0), 0);
	tapir_provider__poll();
	for (int i = 0; i < 2; i++)
		l[i] = open_logger(see, &logged[i]);
	assert_int_equal(tapir_listener__open(&all, 1, see, &heard, &polled, &listener), 0);
	for (uint32_t i = 0; i < 200; i++)
		TAPIR_FIRE(Said, i, "text");
	taker_take(&taker);
	assert_int_equal(tapir_listener__poll(listener), 200);
	taker_close(&taker);
	assert_int_equal(taker.read[0], 200);
	assert_int_equal(taker_missed(&taker, 0), 0);
	assert_int_equal(taker.bad, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(logged[i].cnt, 200);
		assert_int_equal(logged[i].wrong_cnt, 0);
		tapir_logger__close(l[i]);
	}
	assert_int_equal(heard.wrong_cnt, 0);
	tapir_listener__close(listener);
	taker_fini(&taker);
}

/* ---- stacks ----------------------------------------------------------------------------------- */

static void see_stack(const struct tapir_event_record *r, void *ctx)
{
	struct seen *seen = ctx;
	uint32_t number;

	memcpy(&number, r->payload, sizeof(number));
	seen->cnt++;
	if (!r->stack || r->stack_cnt < 3 || !r->stack_id)
		seen->wrong_cnt++;
	else if (!seen->stack_id[number])
		seen->stack_id[number] = r->stack_id;
	else if (seen->stack_id[number] != r->stack_id)
		seen->wrong_cnt++;
	for (uint32_t i = 0; r->stack && i < 4 && i < r->stack_cnt; i++)
		if (r->stack[i] == seen->caller)
			seen->sum++;
}

/* seen->caller: the return address into the function that called. */
static __attribute__((noipa)) void fire_from(struct seen *seen, uint32_t number)
{
	seen->caller = (uint64_t)(uintptr_t)__builtin_return_address(0);
	TAPIR_FIRE(Said, number, "text");
	__asm__ volatile("" : : : "memory");
}

/* In a thread: qemu-user shows a program no stack of its main thread. */
static void *fire_with_stacks(void *seen)
{
	for (int i = 0; i < 5; i++)
		fire_from(seen, 0);
	fire_from(seen, 1);
	return NULL;
}

static void a_stack_has_its_id_and_its_frames(void **state)
{
	const struct tapir_logger_opts opts = {.size = sizeof(opts), .flags = TAPIR_LOGGER_STACKS};
	struct seen seen = {.cnt = 0};
	struct tapir_logger *l;
	pthread_t thread;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* its function that starts a thread has no frame record: what follows it varies */
#endif
	assert_int_equal(tapir_logger__open(&all, 1, see_stack, &seen, &opts, &l), 0);
	assert_int_equal(pthread_create(&thread, NULL, fire_with_stacks, &seen), 0);
	pthread_join(thread, NULL);
	assert_int_equal(seen.cnt, 6);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(seen.sum, 6);
	assert_true(seen.stack_id[0] != seen.stack_id[1]);
	tapir_logger__close(l);
}

/* ---- what is lost ----------------------------------------------------------------------------- */

static void fire_again(const struct tapir_event_record *r, void *ctx)
{
	struct seen *seen = ctx;

	seen->cnt++;
	if (seen->is_nested)
		seen->wrong_cnt++;
	seen->is_nested = 1;
	TAPIR_FIRE(Said, 1, "text");
	seen->is_nested = 0;
	(void)r;
}

static void an_event_of_a_logger_reaches_all_but_loggers(void **state)
{
	const struct tapir_listener_opts polled = {.size = sizeof(polled),
						   .flags = TAPIR_LISTENER_POLLED};
	struct seen seen = {.cnt = 0}, heard = {.cnt = 0};
	struct tapir_logger *l = open_logger(fire_again, &seen);
	struct tapir_listener *listener;

	(void)state;
	assert_int_equal(tapir_listener__open(&all, 1, see, &heard, &polled, &listener), 0);
	TAPIR_FIRE(Said, 0, "text");
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(tapir_logger__lost(l, PROVIDER), 1);
	assert_int_equal(tapir_logger__lost(l, "Another"), 0);
	assert_int_equal(tapir_listener__poll(listener), 2);
	tapir_listener__close(listener);
	tapir_logger__close(l);
}

static void a_payload_that_is_too_large_is_counted(void **state)
{
	static char payload[TAPIR_PAYLOAD_BYTES + 1];
	struct seen seen = {.cnt = 0};
	struct tapir_logger *l = open_logger(see, &seen);

	(void)state;
	tapir_event__write(&Said, payload, sizeof(payload));
	assert_int_equal(seen.cnt, 0);
	assert_int_equal(tapir_logger__lost(l, NULL), 1);
	tapir_event__write(&Said, payload, TAPIR_PAYLOAD_BYTES);
	assert_int_equal(seen.cnt, 1);
	tapir_logger__close(l);
}

static uint32_t gate, at_gate;

static void stay(const struct tapir_event_record *r, void *ctx)
{
	struct seen *seen = ctx;

	(void)r;
	__atomic_fetch_add(&seen->cnt, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&at_gate, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
		usleep(200);
}

static void *fire_one(void *arg)
{
	TAPIR_FIRE(Said, 1, "text");
	__atomic_fetch_add(&at_gate, 1000, __ATOMIC_RELEASE);
	return arg;
}

/* Until 64 are inside and all others have returned. */
static void more_threads_than_buffers_lose_what_is_beyond(void **state)
{
	pthread_t threads[CROWD];
	struct seen seen = {.cnt = 0};
	struct tapir_logger *l = open_logger(stay, &seen);

	(void)state;
	gate = at_gate = 0;
	for (int i = 0; i < CROWD; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fire_one, NULL), 0);
	while (__atomic_load_n(&at_gate, __ATOMIC_ACQUIRE) != (CROWD - 64) * 1000 + 64)
		usleep(200);
	assert_int_equal(tapir_logger__lost(l, NULL), CROWD - 64);
	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(seen.cnt, 64);
	tapir_logger__close(l);
}

/* ---- life ------------------------------------------------------------------------------------- */

static struct tapir_logger *own;
static int own_result;

static void close_own(const struct tapir_event_record *r, void *ctx)
{
	(void)r, (void)ctx;
	own_result = tapir_logger__close(own);
}

static void closing_from_its_own_function_is_refused(void **state)
{
	(void)state;
	own = open_logger(close_own, NULL);
	TAPIR_FIRE(Said, 1, "text");
	assert_int_equal(own_result, -EDEADLK);
	assert_int_equal(tapir_logger__close(own), 0);
	assert_int_equal(tapir_logger__close(NULL), 0);
}

static void wrong_arguments_are_refused(void **state)
{
	const struct tapir_selection none = {NULL, NULL, NULL, 0, 0, {0}};
	const struct tapir_logger_opts small = {.size = 4},
				       odd = {.size = sizeof(odd), .flags = 1u << 7};
	struct tapir_logger *l = NULL;

	(void)state;
	assert_int_equal(tapir_logger__open(&all, 1, NULL, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_logger__open(&none, 1, see, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_logger__open(&all, 0, see, NULL, NULL, &l), -EINVAL);
	assert_int_equal(tapir_logger__open(&all, 1, see, NULL, &small, &l), -EINVAL);
	assert_int_equal(tapir_logger__open(&all, 1, see, NULL, &odd, &l), -EINVAL);
	assert_int_equal(tapir_lttng__open("../evil", NULL, &l), -EINVAL);
	assert_int_equal(tapir_lttng__open("No-Such-Provider", NULL, &l), -ENOENT);
	assert_null(l);
}

static uint32_t has_ended;
static uint64_t fired_cnt;

static void *fire_on(void *arg)
{
	uint64_t cnt = 0;

	for (; !__atomic_load_n(&has_ended, __ATOMIC_ACQUIRE); cnt++)
		Said_fire((uint32_t)cnt, "text");
	__atomic_fetch_add(&fired_cnt, cnt, __ATOMIC_RELAXED);
	return arg;
}

static void see_open(const struct tapir_event_record *r, void *ctx)
{
	uint32_t *is_open = ctx;

	if (!__atomic_load_n(is_open, __ATOMIC_ACQUIRE) || !is_right(r))
		abort();
}

static void loggers_come_and_go_while_threads_fire(void **state)
{
	pthread_t threads[FIRERS];

	(void)state;
	has_ended = 0;
	for (int i = 0; i < FIRERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fire_on, NULL), 0);
	for (int i = 0; i < 50; i++) {
		uint32_t *is_open = malloc(sizeof(*is_open));
		struct tapir_logger *l;

		*is_open = 1;
		l = open_logger(see_open, is_open);
		usleep(500);
		assert_int_equal(tapir_logger__close(l), 0);
		*is_open = 0; /* and a sanitizer sees who reads it now */
		free(is_open);
	}
	__atomic_store_n(&has_ended, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < FIRERS; i++)
		pthread_join(threads[i], NULL);
	assert_true(fired_cnt > 0);
}

static void on_signal(int number)
{
	(void)number;
	TAPIR_FIRE(Said, 5, "text");
}

static void raise_once(const struct tapir_event_record *r, void *ctx)
{
	struct seen *seen = ctx;

	(void)r;
	if (!seen->cnt++)
		raise(SIGUSR2);
}

static void a_handler_within_a_logger_loses_its_event_to_it(void **state)
{
	struct sigaction action = {.sa_handler = on_signal}, before;
	struct seen seen = {.cnt = 0};
	struct tapir_logger *l = open_logger(raise_once, &seen);

	(void)state;
	sigaction(SIGUSR2, &action, &before);
	TAPIR_FIRE(Said, 1, "text");
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(tapir_logger__lost(l, NULL), 1);
	raise(SIGUSR2); /* in a handler alone it is called */
	assert_int_equal(seen.cnt, 2);
	sigaction(SIGUSR2, &before, NULL);
	tapir_logger__close(l);
}

static void a_forked_child_has_no_logger(void **state)
{
	struct seen seen = {.cnt = 0};
	struct tapir_logger *l = open_logger(see, &seen);
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		TAPIR_FIRE(Said, 1, "text");
		if (seen.cnt || tapir_logger__close(l))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	TAPIR_FIRE(Said, 1, "text");
	assert_int_equal(seen.cnt, 1);
	tapir_logger__close(l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_provider, close_provider)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_logger_receives_descriptor_payload_and_ids),
		TEST(all_kinds_of_sessions_get_each_event_once),
		TEST(a_stack_has_its_id_and_its_frames),
		TEST(an_event_of_a_logger_reaches_all_but_loggers),
		TEST(a_payload_that_is_too_large_is_counted),
		TEST(more_threads_than_buffers_lose_what_is_beyond),
		TEST(closing_from_its_own_function_is_refused),
		TEST(wrong_arguments_are_refused),
		TEST(loggers_come_and_go_while_threads_fire),
		TEST(a_handler_within_a_logger_loses_its_event_to_it),
		TEST(a_forked_child_has_no_logger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
