// SPDX-License-Identifier: GPL-2.0-or-later
/* What each thread continued at a time, from buffers in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "async_builder.h"
#include "record/async_stacks/await_runs.h"
#include "base/clock.h"

#define TGID  100u
#define TID   7u
#define S     TAPIR_NS_PER_SEC
#define FIRST (100 * S)

static const uint64_t pay[] = {0x1000, 0x2000, 0x3000}, other[] = {0x9000};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct tapir_await_runs));
	return 0;
}

static int teardown(void **state)
{
	tapir_await_runs__fini(*state);
	free(*state);
	return 0;
}

/* A buffer arrives lag_ns after its last event. */
static void add(struct tapir_await_runs *r, struct async_builder *b, uint64_t lag_ns)
{
	async_finish(b);
	assert_true(tapir_await_runs__add(r, TGID, b->last + lag_ns, b->bytes, b->len));
}

static void is_at(const struct tapir_await_runs *r, uint64_t ns, uint64_t task,
		  const uint64_t *frames, unsigned cnt)
{
	struct tapir_await_now now;

	assert_int_equal(tapir_await_runs__at(r, TGID, TID, FIRST + ns, &now), task != 0);
	if (!task)
		return;
	assert_int_equal(now.task, task);
	assert_int_equal(now.frame_cnt, cnt);
	for (unsigned i = 0; i < cnt; i++)
		assert_int_equal(now.frames[i], frames[i]);
}

static void methods_run_until_they_end_and_those_that_await_them_go_on(void **state)
{
	struct tapir_await_runs *r = *state;
	struct async_builder b;

	async_start(&b, TID, FIRST);
	async_plain(&b, TAPIR_ASYNC_RESET_THREAD, FIRST);
	async_stack(&b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 10, 5, pay, 3);
	async_plain(&b, TAPIR_ASYNC_RUNTIME_COMPLETE_METHOD, FIRST + 20);
	async_stack(&b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 30, 6, other, 1);
	async_plain(&b, TAPIR_ASYNC_RUNTIME_COMPLETE, FIRST + 40);
	async_numbers(&b, TAPIR_ASYNC_RUNTIME_UNWIND, FIRST + 50, (const uint64_t[]){1}, 1);
	async_plain(&b, TAPIR_ASYNC_RUNTIME_SUSPEND, FIRST + 60);
	add(r, &b, 1000);
	assert_true(tapir_await_runs__seal(r));
	is_at(r, 9, 0, NULL, 0);
	is_at(r, 10, 5, pay, 3);
	is_at(r, 19, 5, pay, 3);
	is_at(r, 20, 5, pay + 1, 2);
	is_at(r, 35, 6, other, 1); /* within the first */
	is_at(r, 45, 5, pay + 1, 2);
	is_at(r, 55, 5, pay + 2, 1);
	is_at(r, 60, 0, NULL, 0);
	assert_false(
		tapir_await_runs__at(r, TGID, TID + 1, FIRST + 10, &(struct tapir_await_now){}));
	assert_false(
		tapir_await_runs__at(r, TGID + 1, TID, FIRST + 10, &(struct tapir_await_now){}));
}

/* The rings of two threads are not read in the order in which they were written. */
static void buffers_are_put_in_order(void **state)
{
	struct tapir_await_runs *r = *state;
	struct async_builder one, two;

	async_start(&two, TID, FIRST + 100);
	async_plain(&two, TAPIR_ASYNC_RUNTIME_SUSPEND, FIRST + 120);
	async_stack(&two, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 130, 5, pay, 3);
	async_start(&one, TID, FIRST);
	async_plain(&one, TAPIR_ASYNC_RESET_THREAD, FIRST);
	async_stack(&one, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 10, 6, other, 1);
	add(r, &two, 1000);
	add(r, &one, 1000);
	assert_true(tapir_await_runs__seal(r));
	is_at(r, 110, 6, other, 1);
	is_at(r, 125, 0, NULL, 0);
	is_at(r, 1000, 5, pay, 3);
	assert_int_equal(r->buffers, 2);
}

static void nothing_is_known_before_the_runtime_says_where_a_thread_is(void **state)
{
	struct tapir_await_runs *r = *state;
	struct async_builder b;

	async_start(&b, TID, FIRST);
	async_stack(&b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 10, 5, pay, 3);
	async_plain(&b, TAPIR_ASYNC_RESET_THREAD, FIRST + 20);
	async_stack(&b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 30, 5, pay, 3);
	async_plain(&b, TAPIR_ASYNC_RESET_THREAD, FIRST + 40);
	async_stack(&b, TAPIR_ASYNC_MACHINE_RESUME_STACK, FIRST + 50, 8, pay, 3);
	for (unsigned i = 0; i < 3 + 1; i++)
		async_plain(&b, TAPIR_ASYNC_RUNTIME_SUSPEND, FIRST + 60 + i);
	add(r, &b, 1000);
	assert_true(tapir_await_runs__seal(r));
	is_at(r, 15, 0, NULL, 0);
	is_at(r, 35, 5, pay, 3);
	is_at(r, 45, 0, NULL, 0);
	is_at(r, 55, 8, NULL, 0); /* its frames are no addresses */
	is_at(r, 70, 0, NULL, 0);
}

static void one_that_is_nested_too_deep_is_not_known(void **state)
{
	struct tapir_await_runs *r = *state;
	struct async_builder b;
	unsigned i;

	async_start(&b, TID, FIRST);
	async_plain(&b, TAPIR_ASYNC_RESET_THREAD, FIRST);
	for (i = 1; i <= TAPIR_AWAIT_RUNS_NESTED + 2; i++)
		async_stack(&b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + i, i, other, 1);
	async_plain(&b, TAPIR_ASYNC_RUNTIME_COMPLETE, FIRST + 100);
	async_plain(&b, TAPIR_ASYNC_RUNTIME_COMPLETE, FIRST + 101);
	add(r, &b, 1000);
	assert_true(tapir_await_runs__seal(r));
	is_at(r, TAPIR_AWAIT_RUNS_NESTED, TAPIR_AWAIT_RUNS_NESTED, other, 1);
	is_at(r, 90, 0, NULL, 0);
	is_at(r, 100, 0, NULL, 0);
	is_at(r, 101, TAPIR_AWAIT_RUNS_NESTED, other, 1);
}

static void add_run(struct tapir_await_runs *r, uint64_t lag_ns, uint64_t ticks_per_s)
{
	struct async_builder b;

	async_start(&b, TID, FIRST);
	async_metadata(&b, FIRST, ticks_per_s, NULL, 0);
	async_plain(&b, TAPIR_ASYNC_RESET_THREAD, FIRST);
	async_stack(&b, TAPIR_ASYNC_RUNTIME_RESUME_STACK, FIRST + 10, 5, pay, 3);
	add(r, &b, lag_ns);
	assert_true(tapir_await_runs__seal(r));
	is_at(r, 20, 0, NULL, 0);
	assert_int_equal(r->other_clock, 1);
}

static void times_of_another_clock_are_not_used(void **state)
{
	add_run(*state, 100 * S, S); /* of a time namespace that is behind */
	tapir_await_runs__fini(*state);
	memset(*state, 0, sizeof(struct tapir_await_runs));
	add_run(*state, (uint64_t)-100 * S, S); /* of one that is ahead */
	tapir_await_runs__fini(*state);
	memset(*state, 0, sizeof(struct tapir_await_runs));
	add_run(*state, 1000, 10000000);
}

static void a_buffer_that_is_refused_is_counted_by_cause(void **state)
{
	struct tapir_await_runs *r = *state;
	struct async_builder b;

	async_start(&b, TID, FIRST);
	async_plain(&b, TAPIR_ASYNC_RESET_THREAD, FIRST);
	async_finish(&b);
	assert_true(tapir_await_runs__add(r, TGID, FIRST, b.bytes, b.len - 1));
	b.bytes[0] = 9;
	assert_true(tapir_await_runs__add(r, TGID, FIRST, b.bytes, b.len));
	assert_true(tapir_await_runs__seal(r));
	assert_int_equal(r->buffers, 0);
	assert_int_equal(r->refused[TAPIR_ASYNC_TRUNCATED], 1);
	assert_int_equal(r->refused[TAPIR_ASYNC_VERSION], 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(methods_run_until_they_end_and_those_that_await_them_go_on),
		TEST(buffers_are_put_in_order),
		TEST(nothing_is_known_before_the_runtime_says_where_a_thread_is),
		TEST(one_that_is_nested_too_deep_is_not_known),
		TEST(times_of_another_clock_are_not_used),
		TEST(a_buffer_that_is_refused_is_counted_by_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
