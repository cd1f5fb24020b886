// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of async methods: from events of tasks, or as they were where these do not say.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "await_feeder.h"
#include "record/async_stacks/await_stacks.h"
#include "symbol/frame.h"
#include "symbol/frame_kind.h"

#define TID  200
#define RUNS 2u
#define PLACE(...)                                                                                 \
	(const unsigned[]){__VA_ARGS__}, sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned)

static int setup(void **state)
{
	struct feeder *f = malloc(sizeof(*f));

	feed_start(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	feed_fini(*state);
	free(*state);
	return 0;
}

/* What the samples, switches and events have, as text: "Shop.Pay (async) < Shop.Checkout (awaits)".
 */
struct seen {
	struct tapir_str text;
	uint64_t stack_cnt;
	struct tapir_await_counts counts;
};

static void add_stack(struct seen *seen, const struct tapir_catalog *catalog, uint64_t stack_id,
		      uint64_t time_ns)
{
	const struct tapir_rec_stack *stack = tapir_catalog__stack(catalog, stack_id);
	struct tapir_stack_view view;
	struct tapir_str buf = {};

	assert_non_null(stack);
	tapir_stack_view__of(&stack->h, &view);
	for (unsigned i = 0; i < stack->frame_cnt; i++) {
		struct tapir_frame frame = tapir_frame__of(catalog, FEED_TGID, time_ns, &view, i);
		struct tapir_sv name = tapir_frame__shown_name(&frame, &buf, NULL);

		assert_int_equal(frame.awaits, tapir_frame__kind(&frame) == TAPIR_FRAME_AWAITING);
		tapir_str__addf(&seen->text, "%s%.*s", i ? " < " : "", (int)name.len, name.data);
	}
	tapir_str__addc(&seen->text, '\n');
	seen->stack_cnt++;
	tapir_str__fini(&buf);
}

static void read_all(struct feeder *f, struct seen *seen)
{
	struct tapir_reader *reader = feed_reader(f);
	struct tapir_await_stacks *stacks = tapir_await_stacks__new(reader);
	const struct tapir_catalog *catalog = tapir_reader__catalog(reader);
	const struct tapir_rec *rec;
	uint64_t last_ns = 0;
	int more;

	*seen = (struct seen){};
	assert_non_null(stacks);
	while ((more = tapir_reader__next(reader, &rec)) == 1) {
		if (tapir_rec_type__describes(rec->type))
			continue;
		assert_true(rec->time_ns >= last_ns);
		last_ns = rec->time_ns;
		if (rec->type == TAPIR_REC_SAMPLE)
			add_stack(seen, catalog, ((const struct tapir_rec_sample *)rec)->stack_id,
				  last_ns);
		if (rec->type == TAPIR_REC_SWITCH)
			add_stack(seen, catalog,
				  ((const struct tapir_rec_switch *)rec)->out_stack_id, last_ns);
		if (rec->type == TAPIR_REC_EVENT &&
		    ((const struct tapir_rec_event *)rec)->probe_id == PROBE_OTHER)
			add_stack(seen, catalog, ((const struct tapir_rec_event *)rec)->stack_id,
				  last_ns);
	}
	assert_int_equal(more, 0);
	seen->counts = *tapir_await_stacks__counts(stacks);
	tapir_await_stacks__free(stacks);
	tapir_reader__close(reader);
	assert_false(seen->text.failed);
}

/* 1 is Pay, 2 PlaceOrder, 3 Checkout: each is awaited by the next. */
static void await_all(struct feeder *f)
{
	feed_wait(f, TID, 1, 2, feed_stack(f, PLACE(BOX, PLACE_ORDER, CHECKOUT, DISPATCH), 0));
	feed_wait(f, TID, 2, 3, feed_stack(f, PLACE(CHECKOUT, DISPATCH), 0));
}

static void awaiting_methods_follow_the_one_that_was_continued(void **state)
{
	struct feeder *f = *state;
	uint64_t in_pay = feed_stack(f, PLACE(BURN, PAY, BOX, DISPATCH), 0);
	struct seen seen;

	feed_sample(f, TID, in_pay); /* nothing is known yet */
	await_all(f);
	feed_begin(f, TID + 1, 1, RUNS);
	feed_sample(f, TID + 1, in_pay);
	feed_switch(f, TID + 1, in_pay, 1);
	feed_event(f, PROBE_OTHER, TID + 1, in_pay, NULL, 0);
	feed_sample(f, TID + 2, in_pay); /* another thread */
	feed_end(f, TID + 1, RUNS);
	feed_sample(f, TID + 1, in_pay);
	read_all(f, &seen);
#define AS_IT_WAS                                                                                  \
	"Shop.Burn(int) < Shop.Pay (async) < "                                                     \
	"System.Runtime.CompilerServices.AsyncTaskMethodBuilder<int>."                             \
	"AsyncStateMachineBox<Shop.<Pay>d__2>.MoveNext() < "                                       \
	"System.Threading.ThreadPoolWorkQueue.Dispatch()\n"
#define OF_THE_METHODS                                                                             \
	"Shop.Burn(int) < Shop.Pay (async) < Shop.PlaceOrder (awaits) < Shop.Checkout (awaits)\n"
	assert_string_equal(
		seen.text.data,
		AS_IT_WAS OF_THE_METHODS OF_THE_METHODS OF_THE_METHODS AS_IT_WAS AS_IT_WAS);
	assert_int_equal(seen.counts.awaits, 2);
	assert_int_equal(seen.counts.inside, 3);
	assert_int_equal(seen.counts.chained, 3);
	tapir_str__fini(&seen.text);
}

/* Checkout runs again: it awaits nothing, and nobody awaits it. */
static void an_await_ends_when_its_method_is_continued(void **state)
{
	struct feeder *f = *state;
	uint64_t nested = feed_stack(f, PLACE(BURN, CHECKOUT, BOX, PLACE_ORDER, BOX, DISPATCH), 0);
	struct seen seen;

	await_all(f);
	feed_begin(f, TID, 2, RUNS);
	feed_begin(f, TID, 2, 0); /* it has ended, and continues who awaits it */
	feed_begin(f, TID, 3, RUNS);
	feed_sample(f, TID, nested);
	feed_end(f, TID, RUNS);
	feed_sample(f, TID, feed_stack(f, PLACE(PLACE_ORDER, BOX, DISPATCH), 0));
	read_all(f, &seen);
	assert_string_equal(seen.text.data, "Shop.Burn(int) < Shop.Checkout (async)\n"
					    "Shop.PlaceOrder (async)\n");
	assert_int_equal(seen.counts.unawaited, 2);
	assert_int_equal(seen.counts.unclear, 0);
	tapir_str__fini(&seen.text);
}

static void a_task_of_another_function_than_the_stack_is_not_believed(void **state)
{
	struct feeder *f = *state;
	uint64_t in_pay = feed_stack(f, PLACE(PAY, BOX, DISPATCH), 0);
	uint64_t in_two = feed_stack(f, PLACE(PAY, BOX, CHECKOUT, BOX, DISPATCH), 0);
	struct seen seen;

	await_all(f);
	feed_begin(f, TID, 2, RUNS); /* PlaceOrder, as its await told */
	feed_sample(f, TID, in_pay);
	feed_begin(f, TID + 1, 9, RUNS); /* unknown, and one where the stack has two */
	feed_sample(f, TID + 1, in_two);
	read_all(f, &seen);
	assert_int_equal(seen.counts.inside, 2);
	assert_int_equal(seen.counts.unclear, 2);
	assert_null(strstr(seen.text.data, "awaits"));
	assert_non_null(strstr(seen.text.data, "Dispatch() < ")
				?: strstr(seen.text.data, "Dispatch()"));
	tapir_str__fini(&seen.text);
}

static void a_delegate_of_a_task_has_who_awaits_it(void **state)
{
	struct feeder *f = *state;
	uint64_t in_task = feed_stack(f, PLACE(BURN, LAMBDA, RUN_TASK, DISPATCH), 0);
	struct seen seen;

	feed_wait(f, TID, 7, 8, feed_stack(f, PLACE(CHECKOUT, DISPATCH), 0));
	feed_begin(f, TID + 1, 7, RUNS);
	feed_sample(f, TID + 1, in_task);
	read_all(f, &seen);
	assert_string_equal(seen.text.data, "Shop.Burn(int) < Shop.Main (lambda 8_3)() < "
					    "Shop.Checkout (awaits)\n");
	tapir_str__fini(&seen.text);
}

static void work_whose_end_was_lost_is_forgotten_when_its_thread_idles(void **state)
{
	struct feeder *f = *state;
	uint64_t in_pay = feed_stack(f, PLACE(PAY, BOX, DISPATCH), 0);
	uint64_t idle = feed_stack(f, PLACE(WORKER), 0);
	struct seen seen;

	await_all(f);
	feed_begin(f, TID, 5, RUNS);
	feed_switch(f, TID, idle, 1);
	feed_begin(f, TID, 1, RUNS);
	feed_sample(f, TID, in_pay);
	read_all(f, &seen);
	assert_int_equal(seen.counts.chained, 1);
	assert_int_equal(seen.counts.unclear, 0);
	tapir_str__fini(&seen.text);
}

/* The begin is told before the method's code is called: its thread may sleep in between. */
static void work_of_a_thread_that_sleeps_before_it_runs_is_not_forgotten(void **state)
{
	struct feeder *f = *state;
	uint64_t in_pay = feed_stack(f, PLACE(BURN, PAY, BOX, DISPATCH, WORKER), 0);
	struct seen seen;

	await_all(f);
	feed_begin(f, TID, 1, RUNS);
	feed_switch(f, TID, feed_stack(f, PLACE(BOX, DISPATCH, WORKER), 0), 1);
	feed_switch(f, TID, feed_stack(f, PLACE(RUN_TASK, DISPATCH, WORKER), 0), 1);
	feed_switch(f, TID, feed_stack(f, PLACE(WORKER), TAPIR_STACK_MORE), 1);
	feed_sample(f, TID, in_pay);
	feed_switch(f, TID, feed_stack(f, PLACE(WORKER), 0), 1);
	feed_sample(f, TID, in_pay);
	read_all(f, &seen);
	assert_int_equal(seen.counts.chained, 1);
	assert_int_equal(seen.counts.unclear, 0);
	assert_int_equal(seen.counts.inside, 1);
	tapir_str__fini(&seen.text);
}

static void cycles_and_depths_end_at_the_bounds(void **state)
{
	struct feeder *f = *state;
	uint64_t in_pay = feed_stack(f, PLACE(PAY, BOX, DISPATCH), 0);
	struct seen seen;

	feed_wait(f, TID, 1, 2, feed_stack(f, PLACE(PLACE_ORDER, DISPATCH), 0));
	feed_wait(f, TID, 2, 1, feed_stack(f, PLACE(PAY, DISPATCH), 0));
	feed_wait(f, TID, 2, 4, feed_stack(f, PLACE(CHECKOUT, DISPATCH), 0));
	for (unsigned i = 0; i < 1000; i++)
		feed_begin(f, TID + 1, 1000 + i, RUNS);
	feed_sample(f, TID + 1, in_pay);
	feed_begin(f, TID + 2, 4, RUNS);
	feed_begin(f, TID + 3, 0, RUNS);
	feed_wait(f, TID, 0, 2, 0);	 /* no task */
	feed_wait(f, TID, 3, 3, in_pay); /* itself */
	feed_begin(f, TID + 3, 5, RUNS);
	feed_sample(f, TID + 3, in_pay);
	read_all(f, &seen);
	assert_int_equal(seen.stack_cnt, 2);
	tapir_str__fini(&seen.text);
}

static void a_payload_that_is_too_short_is_counted(void **state)
{
	static const uint32_t payload[5] = {1, 0, 1, 2, 2};
	struct feeder *f = *state;
	struct seen seen;

	for (unsigned bytes = 0; bytes < 20; bytes++)
		feed_event(f, PROBE_WAIT, TID, 0, payload, bytes);
	for (unsigned bytes = 0; bytes < 8; bytes++)
		feed_event(f, PROBE_BEGIN, TID, 0, payload, bytes);
	for (unsigned bytes = 0; bytes < 4; bytes++)
		feed_event(f, PROBE_END, TID, 0, payload, bytes);
	read_all(f, &seen);
	assert_int_equal(seen.counts.malformed, 32);
	assert_int_equal(seen.counts.awaits, 0);
	tapir_str__fini(&seen.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(awaiting_methods_follow_the_one_that_was_continued,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_await_ends_when_its_method_is_continued, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_task_of_another_function_than_the_stack_is_not_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_delegate_of_a_task_has_who_awaits_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			work_whose_end_was_lost_is_forgotten_when_its_thread_idles, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			work_of_a_thread_that_sleeps_before_it_runs_is_not_forgotten, setup,
			teardown),
		cmocka_unit_test_setup_teardown(cycles_and_depths_end_at_the_bounds, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_payload_that_is_too_short_is_counted, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
