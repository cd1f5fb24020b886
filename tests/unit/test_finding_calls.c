// SPDX-License-Identifier: GPL-2.0-or-later
/* What the report says of waits for sockets where it is known what came there: an answer, or work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exchange_feeder.h"
#include "finding_state.h"

enum { SOCKET = 1, EPOLL, ASKS, SERVES, LOOPS, QUERIES };

static int setup(void **state)
{
	(void)state;
	if (finding_begin())
		return -1;
	feeder_add(&f, tapir_recbuf__meta(&f.buf, 1, feeder_sv("net"), feeder_sv("on")));
	name_method(1, "void Shop.ask()");
	name_method(2, "void Shop.serve()");
	name_method(3, "void Shop.loop()");
	name_method(4, "void Shop.query()");
	feeder_kernel_function(&f, SOCKET, "sk_wait_data");
	feeder_kernel_function(&f, EPOLL, "do_epoll_wait");
	FINDING_STACK(ASKS, 1);
	FINDING_STACK(SERVES, 2);
	FINDING_STACK(LOOPS, 3);
	FINDING_STACK(QUERIES, 4);
	feeder_come(&f, 99, 0, 0, 0);
	return finding_listen();
}

static void leave(uint64_t kstack, uint32_t tid, uint64_t ms, uint64_t stack)
{
	feeder_switch(&f, ms * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack,
						.out_kstack_id = kstack});
}

static void wait_for(uint64_t kstack, uint32_t tid, uint64_t ms, uint64_t until_ms, uint64_t stack)
{
	leave(kstack, tid, ms, stack);
	feeder_come(&f, tid, until_ms * MS, until_ms * MS, 99);
}

/* From a send at ms - 1 to an answer at ms + 100. */
static void call(uint32_t tid, uint64_t ms)
{
	wait_for(SOCKET, tid, ms, ms + 100, ASKS);
	exchange_call(&f, tid, 5791, (ms - 1) * MS, (ms + 100) * MS);
}

static const struct tapir_finding *one_of(enum tapir_finding_kind kind)
{
	for (size_t i = 0; i < found.rows.cnt; i++)
		if (found.rows.data[i].kind == kind)
			return &found.rows.data[i];
	return NULL;
}

static const struct tapir_finding *calls_at(uint64_t ms)
{
	feeder_come(&f, 98, ms * MS, ms * MS, 0);
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
	return one_of(TAPIR_FINDING_CALLS);
}

static void waits_for_answers_are_of_their_peer(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	for (uint64_t ms = 10; ms < 900; ms += 110)
		for (uint32_t tid = 2; tid <= 5; tid++)
			call(tid, ms);
	row = calls_at(1000);
	assert_non_null(row);
	assert_string_equal(row->text, "36 calls of 127.0.0.1:5791, 101.00 ms each, 3.7 at a time; "
				       "4 threads wait in Shop.ask()");
	assert_true(row->magnitude > 3.67 && row->magnitude < 3.68);
	assert_string_equal(row->view, "net");
	assert_null(one_of(TAPIR_FINDING_WAITS));
}

/* The last wait has not ended: it is what others with its stack were. */
static void wait_that_has_no_answer_yet_is_of_the_same_peer(void **state)
{
	struct tapir_overview o = {};

	(void)state;
	for (uint64_t ms = 10; ms < 500; ms += 110)
		call(2, ms);
	leave(SOCKET, 2, 600, ASKS);
	leave(SOCKET, 3, 600, ASKS);
	assert_non_null(calls_at(1000));
	assert_null(one_of(TAPIR_FINDING_WAITS));
	tapir_overview__make(&finding, &o);
	assert_int_equal(o.call_cnt, 1);
	assert_string_equal(o.calls[0].peer, "127.0.0.1:5791");
	assert_string_equal(o.calls[0].waiters, "2 threads wait in Shop.ask()");
	assert_int_equal(o.calls[0].cnt, 5);
	assert_int_equal(o.calls[0].sum_ns, 505 * MS);
	tapir_overview__fini(&o);
}

/* Nothing of that peer was ever answered: the connection says for what its thread waits. */
static void peer_that_does_not_answer_is_a_finding(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	for (uint32_t tid = 2; tid <= 4; tid++) {
		struct tapir_rec_exchange rec = exchange_of(tid, 100 * MS, 1000 * MS);

		leave(SOCKET, tid, 101, ASKS);
		rec.kind = TAPIR_EXCHANGE_OPEN;
		rec.flags = TAPIR_EXCHANGE_OPENED;
		rec.peer_port = 5791;
		feeder_add(&f, &rec.h);
	}
	row = calls_at(1000);
	assert_non_null(row);
	assert_string_equal(row->text, "127.0.0.1:5791 does not answer: 3 calls, 3.0 at a time, 3 "
				       "without an answer for 900.00 ms; 3 threads wait in "
				       "Shop.ask()");
	assert_null(one_of(TAPIR_FINDING_WAITS));
}

/* A server's thread waits for the next request. Without --net that was a wait for a socket. */
static void wait_for_a_request_is_no_finding(void **state)
{
	struct tapir_overview o = {};

	(void)state;
	for (uint64_t ms = 10; ms < 900; ms += 100) {
		wait_for(SOCKET, 2, ms, ms + 90, SERVES);
		exchange_serve(&f, 2, 8080, (ms + 90) * MS, (ms + 95) * MS);
	}
	leave(SOCKET, 2, 920, SERVES);
	assert_null(calls_at(2000));
	assert_null(one_of(TAPIR_FINDING_WAITS));
	tapir_overview__make(&finding, &o);
	assert_int_equal(o.request_cnt, 1);
	assert_string_equal(o.requests[0].name, "port 8080");
	assert_int_equal(o.requests[0].cnt, 9);
	assert_int_equal(o.requests[0].p50_ns, 5 * MS);
	tapir_overview__fini(&o);
}

/* Meanwhile a server's thread waits for something that is no TCP connection. */
static void wait_within_a_request_that_nothing_explains_counts(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	for (uint64_t ms = 10; ms < 900; ms += 100) {
		wait_for(SOCKET, 2, ms, ms + 9, SERVES);
		for (uint64_t query = 0; query < 8; query++)
			wait_for(SOCKET, 2, ms + 10 + 10 * query, ms + 20 + 10 * query, QUERIES);
		exchange_serve(&f, 2, 8080, (ms + 9) * MS, (ms + 90) * MS);
	}
	assert_null(calls_at(1000));
	row = one_of(TAPIR_FINDING_WAITS);
	assert_non_null(row);
	assert_string_equal(row->text, "threads waited 720.00 ms for a socket in Shop.query()");
}

static void calls_of_an_event_loop_have_no_thread(void **state)
{
	const struct tapir_finding *row;

	(void)state;
	for (uint64_t ms = 10; ms < 900; ms += 10) {
		wait_for(EPOLL, 2, ms, ms + 9, LOOPS);
		exchange_call(&f, 2, 5791, (ms > 200 ? ms - 200 : 1) * MS, (ms + 9) * MS);
	}
	row = calls_at(1000);
	assert_non_null(row);
	assert_null(strstr(row->text, "thread"));
}

static void few_or_short_calls_are_no_finding(void **state)
{
	(void)state;
	call(2, 10);
	call(2, 120);
	exchange_call(&f, 2, 5432, 300 * MS, 301 * MS);
	assert_null(calls_at(300));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)
	const struct CMUnitTest tests[] = {
		TEST(waits_for_answers_are_of_their_peer),
		TEST(wait_that_has_no_answer_yet_is_of_the_same_peer),
		TEST(peer_that_does_not_answer_is_a_finding),
		TEST(wait_for_a_request_is_no_finding),
		TEST(wait_within_a_request_that_nothing_explains_counts),
		TEST(calls_of_an_event_loop_have_no_thread),
		TEST(few_or_short_calls_are_no_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
