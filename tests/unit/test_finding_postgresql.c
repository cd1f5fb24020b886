// SPDX-License-Identifier: GPL-2.0-or-later
/* What the report leads with, of made-up recordings of PostgreSQL: locks, statements, scans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "finding_state.h"

#define PG     "postgresql"
#define CLIENT 8 /* a stack */

enum {
	QUERY = 1,
	QUERY_DONE,
	WAIT,
	WAIT_DONE,
	LWLOCK,
	LWLOCK_DONE,
	ABORT,
	CHECKPOINT,
	EXECUTE,
	EXECUTE_DONE
};

static int setup(void **state)
{
	static const char *const functions[] = {"ExecQual",
						"heap_getnextslot",
						"ExecScan",
						"index_getnext_slot",
						"tuplestore_gettupleslot",
						"tuplesort_performsort",
						"hash_any",
						"secure_read"};
	static const uint64_t stacks[][2] = {{0x1008, 0x3008}, {0x2008, 0x3008}, {0x4008, 0x3008},
					     {0x1008, 0x1008}, {0x5008, 0x3008}, {0x1008, 0x6008},
					     {0x7008, 0x7008}, {0x8008, 0x8008}};

	(void)state;
	if (finding_begin())
		return -1;
	feeder_probe(&f, QUERY, PG, "query__start", NULL, "query");
	feeder_probe(&f, QUERY_DONE, PG, "query__done", NULL, "query");
	feeder_probe(&f, WAIT, PG, "lock__wait__start", "tag_field1", "tag_type");
	feeder_probe(&f, WAIT_DONE, PG, "lock__wait__done", "tag_field1", "tag_type");
	feeder_probe(&f, LWLOCK, PG, "lwlock__wait__start", "mode", "tranche");
	feeder_probe(&f, LWLOCK_DONE, PG, "lwlock__wait__done", "mode", "tranche");
	feeder_probe(&f, EXECUTE, PG, "query__execute__start", NULL, NULL);
	feeder_probe(&f, EXECUTE_DONE, PG, "query__execute__done", NULL, NULL);
	feeder_probe(&f, CHECKPOINT, PG, "checkpoint__start", "flags", NULL);
	feeder_probe(&f, ABORT, PG, "transaction__abort", "local_xid", NULL);
	for (unsigned i = 0; i < 8; i++) {
		struct tapir_rec_symbol symbol = {.file_id = 0x1000 * (i + 1), .size = 0x1000};

		feeder_mapping(&f, 0x1000 * (i + 1), "/x/postgres");
		feeder_add(&f, tapir_recbuf__symbol(&f.buf, &symbol, feeder_sv(functions[i])));
		feeder_stack(&f, i + 1, stacks[i], 2);
	}
	return finding_listen();
}

/* Each backend is a process with one thread. */
static void fire(uint32_t probe, uint32_t pid, uint64_t ms, uint64_t number, const char *text)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = pid,
					       .tid = pid,
					       .time_ns = ms * MS,
					       .number = number,
					       .has_number = probe >= WAIT && probe < EXECUTE,
					       .text = text});
}

static void end_at(uint64_t ms)
{
	fire(QUERY, 9, ms, 0, "the end");
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_false(found.failed);
}

static const char *first(enum tapir_finding_kind kind)
{
	assert_true(found.rows.cnt > 0);
	assert_int_equal(found.rows.data[0].kind, kind);
	return found.rows.data[0].text;
}

static void lock_is_one_for_all_processes(void **state)
{
	(void)state;
	for (uint32_t pid = 11; pid < 21; pid++) {
		fire(WAIT, pid, 1, 42, "relation");
		fire(WAIT_DONE, pid, 101, 42, "relation");
	}
	end_at(1001);
	assert_string_equal(first(TAPIR_FINDING_LOCKS),
			    "threads waited 1.000 s for locks, 100% of it for lock relation 42");
}

/* The first table of each has the same OID. */
static void locks_of_two_servers_are_two(void **state)
{
	(void)state;
	for (uint32_t pid = 11; pid < 21; pid++) {
		struct tapir_rec_process process = {.h.time_ns = 1,
						    .tgid = pid,
						    .parent_tgid = pid < 18 ? 5 : 6,
						    .start_ns = 1,
						    .kind = TAPIR_PROCESS_EXISTING};

		feeder_add(&f, tapir_recbuf__process(&f.buf, &process, feeder_sv("postgres"),
						     feeder_sv(""), feeder_sv(""), feeder_sv("")));
		fire(WAIT, pid, 1, 42, "relation");
		fire(WAIT_DONE, pid, 101, 42, "relation");
	}
	end_at(1001);
	assert_string_equal(first(TAPIR_FINDING_LOCKS),
			    "threads waited 1.000 s for locks, 70% of it for lock relation 42");
}

static void locks_of_many_transactions_are_one_kind(void **state)
{
	(void)state;
	for (uint32_t pid = 11; pid < 21; pid++) {
		fire(QUERY, pid, 1, 0, "update a set n = 12 where id1 = 7;");
		fire(WAIT, pid, 1, 100 + pid, "transaction");
		fire(WAIT_DONE, pid, 101, 100 + pid, "transaction");
		fire(QUERY_DONE, pid, 101, 0, "update");
	}
	end_at(1001);
	assert_string_equal(first(TAPIR_FINDING_LOCKS),
			    "threads waited 1.000 s for locks, 100% of it for lock transaction, "
			    "most for update a set n = ? where id1 = ?");
}

static void wait_within_a_wait_is_no_time_of_its_own(void **state)
{
	(void)state;
	fire(WAIT, 11, 1, 42, "relation");
	fire(LWLOCK, 11, 301, 1, "LockManager");
	fire(LWLOCK_DONE, 11, 501, 1, "LockManager");
	fire(WAIT_DONE, 11, 801, 42, "relation");
	end_at(1001);
	assert_string_equal(first(TAPIR_FINDING_LOCKS),
			    "threads waited 800.00 ms for locks, 75% of it for lock relation 42");
}

/* lock_timeout: the event of the end is missing. */
static void wait_ends_with_the_abort(void **state)
{
	(void)state;
	fire(WAIT, 11, 1, 42, "relation");
	fire(ABORT, 11, 801, 5, NULL);
	end_at(2001);
	assert_string_equal(first(TAPIR_FINDING_LOCKS),
			    "threads waited 800.00 ms for locks, 100% of it for lock relation 42");
}

static void abort_without_a_wait_ends_nothing(void **state)
{
	const struct tapir_interval_kind *kind;

	(void)state;
	fire(WAIT, 11, 1, 42, "relation");
	fire(WAIT_DONE, 11, 2, 42, "relation");
	fire(ABORT, 11, 801, 5, NULL);
	fire(ABORT, 12, 802, 5, NULL);
	end_at(2001);
	tapir_vec_for_each (kind, &tapir_timeline__pairs(f.tl)->kinds)
		if (tapir_interval_kind__is_called(kind, "lock")) {
			assert_int_equal(kind->cnt, 1);
			assert_int_equal(kind->unbegun, 0);
		}
}

static const struct tapir_interval_kind *kind_called(const char *name)
{
	const struct tapir_interval_kind *kind;

	tapir_vec_for_each (kind, &tapir_timeline__pairs(f.tl)->kinds)
		if (tapir_interval_kind__is_called(kind, name))
			return kind;
	fail();
	return NULL;
}

/* An update tells twice that it is executed, a microsecond apart. */
static void execution_of_a_statement_counts_once(void **state)
{
	const struct tapir_interval_kind *kind;

	(void)state;
	fire(EXECUTE, 11, 1, 0, NULL);
	fire(EXECUTE, 11, 2, 0, NULL);
	fire(EXECUTE_DONE, 11, 101, 0, NULL);
	fire(EXECUTE_DONE, 11, 102, 0, NULL);
	end_at(201);
	kind = kind_called("execute");
	assert_int_equal(kind->cnt, 1);
	assert_int_equal(kind->sum_ns, 101 * MS);
}

/* Neither of it nor of what it did then: an error leaves both. */
static void failed_query_ends_and_those_after_it_count(void **state)
{
	(void)state;
	fire(QUERY, 11, 1, 0, "select 1/0");
	fire(EXECUTE, 11, 2, 0, NULL);
	fire(ABORT, 11, 11, 5, NULL);
	for (uint64_t ms = 101; ms < 500; ms += 100) {
		fire(QUERY, 11, ms, 0, "select 1");
		fire(EXECUTE, 11, ms + 1, 0, NULL);
		fire(EXECUTE_DONE, 11, ms + 31, 0, NULL);
		fire(QUERY_DONE, 11, ms + 50, 0, NULL);
	}
	end_at(601);
	assert_int_equal(kind_called("query")->cnt, 5);
	assert_int_equal(kind_called("query")->sum_ns, 210 * MS);
	assert_int_equal(kind_called("execute")->sum_ns, 129 * MS); /* 9 and 4 x 30 */
}

/* In a transaction that has failed before, nothing tells the end: how long it took is not known. */
static void query_that_is_followed_by_another_has_ended(void **state)
{
	(void)state;
	fire(QUERY, 11, 1, 0, "select 1");
	fire(QUERY, 11, 101, 0, "rollback");
	fire(QUERY_DONE, 11, 102, 0, NULL);
	end_at(601);
	assert_int_equal(kind_called("query")->cnt, 1);
	assert_int_equal(kind_called("query")->sum_ns, 1 * MS);
	assert_int_equal(kind_called("query")->unended, 2); /* the first one, and end_at's */
}

static void scan(unsigned cnt, uint64_t stack)
{
	for (unsigned i = 0; i < cnt; i++) {
		struct tapir_rec_sample one = {
			.tgid = 100, .tid = 100, .period = MS, .stack_id = stack};

		tapir_rec__init(&one.h, TAPIR_REC_SAMPLE, sizeof(one), (10 + 100 * stack + i) * MS);
		feeder_add(&f, &one.h);
	}
}

static void scans_of_tables_are_reported_with_the_statement(void **state)
{
	(void)state;
	fire(QUERY, 100, 1, 0, "select count(*) from big where id = 4711");
	scan(100, 1);
	scan(100, 2);
	scan(30, 4);
	end_at(450);
	assert_string_equal(first(TAPIR_FINDING_CPU_ACTIVITY),
			    "87% of the CPU scans whole tables for rows (an index may be missing), "
			    "most for select count(*) from big where id = ?");
}

/* What is evaluated for each row of a function is called by ExecScan as well. */
static void rows_of_a_function_are_no_scan_of_a_table(void **state)
{
	(void)state;
	fire(QUERY, 100, 1, 0, "select f(i) from generate_series(1, 1000) i");
	scan(90, 1);
	scan(10, 5);
	fire(QUERY_DONE, 100, 590, 0, NULL);
	fire(QUERY, 100, 591, 0, "select * from small");
	scan(1, 2 + 4); /* at 610 ms */
	end_at(620);
	assert_string_equal(
		first(TAPIR_FINDING_CPU_ACTIVITY),
		"99% of the CPU goes through rows of a function, a WITH query or a "
		"join in nested loops, most for select f(i) from generate_series(?, ?) i");
}

/* Two statements: each does another thing, and the one that is named is the one that does it. */
static void statement_is_the_one_that_does_what_is_said(void **state)
{
	(void)state;
	fire(QUERY, 100, 1, 0, "select * from small order by a");
	scan(190, 2);
	fire(QUERY_DONE, 100, 500, 0, NULL);
	fire(QUERY, 100, 501, 0, "select * from big order by b");
	scan(195, 6); /* from 610 ms on */
	end_at(806);
	assert_string_equal(first(TAPIR_FINDING_CPU_ACTIVITY),
			    "51% of the CPU sorts rows, most for select * from big order by b");
}

static void statement_of_a_busy_process_is_named(void **state)
{
	(void)state;
	fire(QUERY, 100, 1, 0, "select md5(a) from big");
	scan(90, 7); /* from 710 ms on */
	end_at(800);
	assert_string_equal(first(TAPIR_FINDING_CPU),
			    "0.11 CPUs used, 100% of the CPU for select md5(a) from big, 100% of "
			    "the CPU in hash_any");
}

static void checkpoints_that_follow_each_other_are_reported(void **state)
{
	(void)state;
	for (uint64_t ms = 1; ms < 900; ms += 100)
		fire(CHECKPOINT, 5, ms, 0x80, NULL); /* CHECKPOINT_CAUSE_XLOG */
	end_at(1001);
	assert_string_equal(first(TAPIR_FINDING_CHECKPOINTS),
			    "9 checkpoints in 1.0 s, most since max_wal_size was reached");
}

static void checkpoint_by_the_clock_is_none(void **state)
{
	(void)state;
	fire(CHECKPOINT, 5, 1, 0x100, NULL);
	end_at(1001);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_CHECKPOINTS);
}

/* Who writes the log for all waits for the disk, within the function that all others wait in. */
static void wait_for_the_disk_is_a_part_of_a_flush(void **state)
{
	struct tapir_rec_symbol flush = {.file_id = 0x5000, .size = 0x1000};
	const uint64_t flush_va = 0x5008;

	(void)state;
	feeder_kernel_function(&f, 8, "io_schedule");
	feeder_mapping(&f, 0x5000, "/x/postgres");
	feeder_add(&f, tapir_recbuf__symbol(&f.buf, &flush, feeder_sv("XLogFlush")));
	feeder_stack(&f, 7, &flush_va, 1);
	feeder_come(&f, 100, 1 * MS, 0, 0);
	for (uint64_t ms = 2; ms < 1000; ms += 10) {
		feeder_switch(&f, ms * MS,
			      (struct tapir_rec_switch){.out_tgid = 100,
							.out_tid = 100,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = 7,
							.out_kstack_id = 8});
		feeder_come(&f, 100, (ms + 8) * MS, (ms + 8) * MS, 0);
	}
	end_at(1001);
	assert_non_null(
		strstr(first(TAPIR_FINDING_LOCKS), "threads waited 800.00 ms for a WAL flush"));
}

static void rows_by_an_index_are_no_scan(void **state)
{
	(void)state;
	scan(90, 3);
	end_at(410);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_null(strstr(found.rows.data[i].text, "scans whole tables"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, finding_teardown)

/* Processes of a server that execute no statement of their own have the one they work for. */
static void add_process(uint32_t pid, const char *title)
{
	struct tapir_rec_process process = {.h.time_ns = 1,
					    .tgid = pid,
					    .ns_tgid = pid,
					    .start_ns = 1,
					    .kind = TAPIR_PROCESS_EXISTING};

	feeder_add(&f, tapir_recbuf__process(&f.buf, &process, feeder_sv("postgres"), feeder_sv(""),
					     feeder_sv(title), feeder_sv("")));
}

static void statement_of_a_parallel_worker_is_its_leaders(void **state)
{
	(void)state;
	add_process(100, "postgres: parallel worker for PID 11 ");
	fire(QUERY, 11, 1, 0, "select md5(a) from big where id > 7");
	scan(90, 7); /* from 710 ms on */
	end_at(800);
	assert_string_equal(first(TAPIR_FINDING_CPU),
			    "0.11 CPUs used, 100% of the CPU for select md5(a) from big where id > "
			    "?, 100% of the CPU in hash_any");
}

/* A snapshot has the text of what began before; it holds until that ends. */
static void is_seen_to_execute(uint64_t at_ms, const char *statement)
{
	const struct tapir_rec_wait running = {
		.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = at_ms * MS}, .tgid = 100, .tid = 100};

	feeder_add(&f, tapir_recbuf__wait(&f.buf, &(struct tapir_wait_view){
							  .rec = &running,
							  .statement = feeder_sv(statement)}));
}

static void statement_that_began_before_the_recording_is_named(void **state)
{
	(void)state;
	is_seen_to_execute(1, "select md5(a) from big where id > 7");
	scan(90, 7); /* from 710 ms on */
	is_seen_to_execute(800, "select md5(a) from big where id > 7");
	end_at(800);
	assert_string_equal(first(TAPIR_FINDING_CPU),
			    "0.11 CPUs used, 100% of the CPU for select md5(a) from big where id > "
			    "?, 100% of the CPU in hash_any");
}

/* Of a server without events nobody knows when it ended. */
static void statement_that_may_have_ended_is_not_named(void **state)
{
	(void)state;
	is_seen_to_execute(1, "select md5(a) from big");
	scan(90, 7);
	is_seen_to_execute(800, "select 1");
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	assert_null(strstr(first(TAPIR_FINDING_CPU), "select"));
}

static void statement_that_has_ended_is_not_named(void **state)
{
	(void)state;
	is_seen_to_execute(1, "select md5(a) from big");
	fire(QUERY_DONE, 100, 600, 0, NULL);
	scan(90, 7);
	end_at(800);
	assert_null(strstr(found.rows.data[0].text, "select"));
}

static void autovacuum_is_what_it_calls_itself(void **state)
{
	(void)state;
	add_process(100, "postgres: autovacuum worker shop ");
	scan(90, 7);
	end_at(800);
	assert_string_equal(first(TAPIR_FINDING_CPU),
			    "1.00 CPUs used, 100% of the CPU for autovacuum worker shop, 100% of "
			    "the CPU in hash_any");
}

/* ---- many short statements ------------------------------------------------------------------ */

static void fire_us(uint32_t probe, uint32_t pid, uint64_t us, const char *text)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = TGID,
					       .tid = pid,
					       .time_ns = us * 1000,
					       .text = text});
}

/* One each two milliseconds, which takes some microseconds: then the session waits for the client.
 */
static void send(uint32_t pid, uint64_t took_us, const char *first_text, const char *second_text)
{
	for (uint64_t us = 2000; us < 1000000; us += 2000) {
		const char *text = us % 4000 ? first_text : second_text;

		feeder_switch(&f, us * 1000 - 100,
			      (struct tapir_rec_switch){.in_tgid = TGID,
							.in_tid = pid,
							.in_wake_ns = us * 1000 - 100});
		fire_us(text ? QUERY : EXECUTE, pid, us, text);
		fire_us(text ? QUERY_DONE : EXECUTE_DONE, pid, us + took_us, text);
		feeder_switch(&f, (us + took_us + 1) * 1000,
			      (struct tapir_rec_switch){.out_tgid = TGID,
							.out_tid = pid,
							.out_state = TAPIR_STATE_SLEEPING,
							.out_stack_id = CLIENT});
	}
}

static void statements_one_after_the_other_are_named(void **state)
{
	(void)state;
	send(11, 100, "select 1 from t where id = 7", "select 1 from t where id = 99;");
	end_at(1001);
	assert_string_equal(first(TAPIR_FINDING_STATEMENTS),
			    "499 short statements a second, one at a time from 1 session: 100% of "
			    "them select ? from t where id = ? (0.10 ms each); between them "
			    "the server waits for the client 95% of the time");
}

static void prepared_statements_have_no_text(void **state)
{
	(void)state;
	send(11, 100, NULL, NULL);
	send(12, 100, NULL, NULL);
	end_at(1001);
	assert_string_equal(
		first(TAPIR_FINDING_STATEMENTS),
		"999 short statements a second, one at a time from 2 sessions, which are "
		"prepared; between them the server waits for the client 95% of the time");
}

static void statements_that_take_their_time_are_no_loop_of_a_client(void **state)
{
	(void)state;
	send(11, 1000, "select 1 from t where id = 7", "select 1 from t where id = 8");
	end_at(1001);
	for (size_t i = 0; i < found.rows.cnt; i++)
		assert_int_not_equal(found.rows.data[i].kind, TAPIR_FINDING_STATEMENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lock_is_one_for_all_processes),
		TEST(locks_of_two_servers_are_two),
		TEST(locks_of_many_transactions_are_one_kind),
		TEST(wait_within_a_wait_is_no_time_of_its_own),
		TEST(wait_ends_with_the_abort),
		TEST(abort_without_a_wait_ends_nothing),
		TEST(execution_of_a_statement_counts_once),
		TEST(failed_query_ends_and_those_after_it_count),
		TEST(query_that_is_followed_by_another_has_ended),
		TEST(scans_of_tables_are_reported_with_the_statement),
		TEST(rows_of_a_function_are_no_scan_of_a_table),
		TEST(statement_is_the_one_that_does_what_is_said),
		TEST(statement_of_a_busy_process_is_named),
		TEST(checkpoints_that_follow_each_other_are_reported),
		TEST(checkpoint_by_the_clock_is_none),
		TEST(wait_for_the_disk_is_a_part_of_a_flush),
		TEST(rows_by_an_index_are_no_scan),
		TEST(statement_of_a_parallel_worker_is_its_leaders),
		TEST(statement_that_began_before_the_recording_is_named),
		TEST(statement_that_may_have_ended_is_not_named),
		TEST(statement_that_has_ended_is_not_named),
		TEST(autovacuum_is_what_it_calls_itself),
		TEST(statements_one_after_the_other_are_named),
		TEST(prepared_statements_have_no_text),
		TEST(statements_that_take_their_time_are_no_loop_of_a_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
