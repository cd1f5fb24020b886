// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions that are idle in a transaction, of made-up recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_case.h"

enum { CLIENT = 1, LOCK };

static int setup(void **state)
{
	static const char *const functions[] = {"secure_read", "ProcSleep"};

	(void)state;
	if (finding_begin())
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t va = 0x1000 * (i + 1ull), frames_va[] = {va + 8};
		struct tapir_rec_symbol symbol = {.file_id = va, .size = 0x1000};

		feeder_mapping(&f, va, "/x/postgres");
		feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv(functions[i])));
		feeder_stack(&f, i + 1, frames_va, 1);
	}
	feeder_thread(&f, 2, "postgres");
	feeder_thread(&f, 3, "postgres");
	return finding_listen();
}

/* A snapshot sees it asleep there. */
static void is_seen(uint32_t tid, uint64_t at_ms, uint64_t stack, uint32_t owner_tid,
		    const char *session)
{
	const struct tapir_rec_wait wait = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = at_ms * MS},
					    .tgid = TGID,
					    .tid = tid,
					    .owner_tid = owner_tid};

	feeder_switch(&f, at_ms * MS,
		      (struct tapir_rec_switch){.out_tgid = TGID,
						.out_tid = tid,
						.out_state = TAPIR_STATE_SLEEPING,
						.out_stack_id = stack,
						.flags = TAPIR_SWITCH_SNAPSHOT |
							 (at_ms > 10 ? TAPIR_SWITCH_AT_END : 0)});
	feeder_add(&f, tapir_recbuf__wait(
			       &f.buf, &(struct tapir_wait_view){.rec = &wait,
								 .text = feeder_sv("epoll_wait()"),
								 .session = feeder_sv(session)}));
}

static void session_that_is_idle_in_a_transaction_leads(void **state)
{
	(void)state;
	is_seen(2, 2, CLIENT, 0, "12000 7000 729 update a set n = 5 where id = 7");
	is_seen(3, 2, CLIENT, 0, "3000 2000 0 select 1");
	is_seen(2, 1002, CLIENT, 0, "13000 8000 729 update a set n = 5 where id = 7");
	is_seen(3, 1002, CLIENT, 0, "4000 3000 0 select 1");
	end_at(1002 * MS);
	expect(TAPIR_FINDING_IDLE_SESSIONS,
	       "2 sessions are idle in transaction, the longest for 8.000 s: postgres 2, after "
	       "update a set n = ? where id = ?; it holds the locks of transaction 729");
	assert_true(found.rows.data[0].magnitude > 7.99 && found.rows.data[0].magnitude < 8.01);
}

static void expect_none(void)
{
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_IDLE_SESSIONS);
}

/* It goes on, or ends its transaction. */
static void session_that_continues_is_none(void **state)
{
	(void)state;
	is_seen(2, 2, CLIENT, 0, "12000 7000 729 update a set n = 5 where id = 7");
	is_seen(3, 2, CLIENT, 0, "12000 7000 730 update a set n = 5 where id = 8");
	feeder_come(&f, 2, 500 * MS, 500 * MS, 0);
	finding_sleep(2, 502, CLIENT);
	is_seen(3, 1002, CLIENT, 0, "");
	end_at(1002 * MS);
	expect_none();
}

static void session_for_a_moment_is_none(void **state)
{
	(void)state;
	is_seen(2, 2, CLIENT, 0, "");
	is_seen(2, 1002, CLIENT, 0, "12 7 729 update a set n = 5 where id = 7");
	end_at(1002 * MS);
	expect_none();
}

static void holder_of_a_lock_is_known_to_be_idle(void **state)
{
	(void)state;
	is_seen(2, 2, CLIENT, 0, "12000 7000 729 update a set n = 5 where id = 7");
	is_seen(3, 2, LOCK, 2, "");
	is_seen(2, 1002, CLIENT, 0, "13000 8000 729 update a set n = 5 where id = 7");
	is_seen(3, 1002, LOCK, 2, "");
	end_at(1002 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOCKS);
	assert_non_null(strstr(found.rows.data[0].text,
			       "; postgres 2 holds it, idle in transaction for 8.000 s, after "
			       "update a set n = ? where id = ?"));
}

/* A report of who waits has it by the records of who waits. */
static void holder_that_is_not_chosen_is_known_to_be_idle(void **state)
{
	const struct tapir_rec_wait wait = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = 2 * MS},
					    .tgid = TGID,
					    .tid = 3,
					    .owner_tid = 2};

	(void)state;
	finding_sleep(2, 1, CLIENT);
	finding_sleep(3, 1, LOCK);
	feeder_add(&f, tapir_recbuf__wait(&f.buf, &(struct tapir_wait_view){
							  .rec = &wait,
							  .text = feeder_sv("epoll_wait()"),
							  .holder_session = feeder_sv(
								  "12000 7000 0 select 1")}));
	end_at(1002 * MS);
	assert_int_equal(found.rows.data[0].kind, TAPIR_FINDING_LOCKS);
	assert_non_null(
		strstr(found.rows.data[0].text,
		       "; postgres 2 holds it, idle in transaction for 8.000 s, after select ?"));
	expect_none();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(session_that_is_idle_in_a_transaction_leads),
		TEST(session_that_continues_is_none),
		TEST(session_for_a_moment_is_none),
		TEST(holder_of_a_lock_is_known_to_be_idle),
		TEST(holder_that_is_not_chosen_is_known_to_be_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
