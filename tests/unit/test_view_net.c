// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests on TCP connections: their sums, and the view of them. */
#include "view_fixture.h"

#include "analyze/exchange_sums.h"
#include "exchange_feeder.h"

static void name_process(uint32_t tid, const char *comm)
{
	struct tapir_rec_thread thread = {.tgid = tid, .tid = tid};

	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	snprintf(thread.comm, sizeof(thread.comm), "%s", comm);
	snprintf(thread.leader_comm, sizeof(thread.leader_comm), "%s", comm);
	feeder_add(&f, &thread.h);
}

static void feed(struct tapir_rec_exchange rec, uint32_t tgid, uint16_t flags)
{
	rec.tgid = rec.tid = rec.ask_tid = tgid;
	rec.flags = flags;
	if (flags & TAPIR_EXCHANGE_OPENED)
		rec.peer_port = 80;
	else
		rec.local_port = 80;
	feeder_add(&f, &rec.h);
}

static void calls_are_counted_by_peer_and_requests_by_port(void **state)
{
	const struct tapir_view_result_table *calls, *requests;

	(void)state;
	name_process(100, "shop");
	ask("net", 0);
	for (uint64_t i = 1; i <= 100; i++)
		exchange_call(&f, 100, 5791, i * 200 * MS, (i * 200 + i) * MS);
	exchange_call(&f, 100, 5432, 30000 * MS, 30002 * MS);
	exchange_serve(&f, 100, 8080, 30000 * MS, 30030 * MS);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("calls"), 101);
	assert_int_equal(fact("requests"), 1);
	calls = table("calls", 0);
	assert_int_equal(tapir_view_result_table__rows(calls), 2);
	assert_string_equal(cell(calls, 0, "peer")->text, "127.0.0.1:5791");
	assert_string_equal(cell(calls, 0, "process")->text, "shop (100)");
	assert_int_equal(cell(calls, 0, "calls")->u64, 100);
	assert_int_equal(cell(calls, 0, "p50_ns")->u64, 50 * MS);
	assert_int_equal(cell(calls, 0, "p99_ns")->u64, 99 * MS);
	assert_int_equal(cell(calls, 0, "max_ns")->u64, 100 * MS);
	assert_int_equal(cell(calls, 0, "ns")->u64, 5050 * MS);
	assert_int_equal(cell(calls, 0, "bytes")->u64, 2000);
	assert_string_equal(cell(calls, 1, "peer")->text, "127.0.0.1:5432");
	requests = table("requests", 0);
	assert_int_equal(cell(requests, 0, "port")->u64, 8080);
	assert_int_equal(cell(requests, 0, "p50_ns")->u64, 30 * MS);
	assert_string_equal(result.headline.data, "101 calls, 1 request");
}

/* The name of a process is hostile; a process of another network namespace is not the peer. */
static void process_behind_a_peer_is_the_one_that_answers_there(void **state)
{
	struct tapir_rec_exchange call = exchange_of(100, 1 * MS, 2 * MS), served = call;
	const struct tapir_view_result_table *calls;

	(void)state;
	name_process(100, "shop");
	name_process(711, "ra\x1b[2J");
	name_process(712, "other");
	ask("net", 0);
	feed(call, 100, TAPIR_EXCHANGE_OPENED);
	feed(served, 711, 0);
	served.netns = 7;
	feed(served, 712, 0);
	call.netns = 8;
	feed(call, 100, TAPIR_EXCHANGE_OPENED);
	assert_int_equal(answer(), 0);
	calls = table("calls", 0);
	assert_string_equal(cell(calls, 0, "peer")->text, "127.0.0.1:80 (ra\\x1b[2J 711)");
	assert_string_equal(cell(calls, 1, "peer")->text, "127.0.0.1:80");
}

static void processes_of_one_name_share_a_row(void **state)
{
	const struct tapir_view_result_table *calls;

	(void)state;
	name_process(200, "php-fpm");
	name_process(201, "php-fpm");
	ask("net", 0);
	feed(exchange_of(200, 1 * MS, 2 * MS), 200, TAPIR_EXCHANGE_OPENED);
	feed(exchange_of(201, 1 * MS, 2 * MS), 201, TAPIR_EXCHANGE_OPENED);
	feed(exchange_of(202, 1 * MS, 2 * MS), 202, TAPIR_EXCHANGE_OPENED);
	feed(exchange_of(203, 1 * MS, 2 * MS), 203, TAPIR_EXCHANGE_OPENED);
	assert_int_equal(answer(), 0);
	calls = table("calls", 0);
	assert_int_equal(tapir_view_result_table__rows(calls), 3);
	assert_int_equal(cell(calls, 0, "calls")->u64, 2);
	assert_string_equal(cell(calls, 0, "process")->text, "php-fpm");
}

/* A time that means nothing, or that no answer ended, is no number. */
static void what_is_not_known_is_said(void **state)
{
	struct tapir_rec_exchange rec = exchange_of(100, 1 * MS, 5 * MS);
	const struct tapir_view_result_table *calls, *errors;

	(void)state;
	name_process(100, "shop");
	ask("net", 0);
	feed(rec, 100, TAPIR_EXCHANGE_OPENED | TAPIR_EXCHANGE_OVERLAPS);
	rec.begin_ns = 9 * MS; /* after its end: a file may say anything */
	feed(rec, 100, TAPIR_EXCHANGE_OPENED);
	rec.begin_ns = 1 * MS;
	feed(rec, 100, TAPIR_EXCHANGE_OPENED | TAPIR_EXCHANGE_UNSEEN);
	rec.kind = TAPIR_EXCHANGE_OPEN;
	feed(rec, 100, TAPIR_EXCHANGE_OPENED);
	rec.kind = TAPIR_EXCHANGE_CLOSED;
	rec.error = ECONNRESET;
	feed(rec, 100, TAPIR_EXCHANGE_OPENED);
	rec.begin_ns = 0;
	rec.error = ECONNREFUSED;
	feed(rec, 100, TAPIR_EXCHANGE_OPENED | TAPIR_EXCHANGE_REFUSED);
	rec.error = ETIMEDOUT;
	feed(rec, 100, TAPIR_EXCHANGE_OPENED);
	rec.error = 77;
	rec.kind = 250;
	feed(rec, 100, 0xffff);
	assert_int_equal(answer(), 0);
	calls = table("calls", 0);
	assert_int_equal(cell(calls, 0, "calls")->u64, 3);
	assert_int_equal(cell(calls, 0, "overlaps")->u64, 2);
	assert_int_equal(cell(calls, 0, "unseen")->u64, 1);
	assert_false(cell(calls, 0, "p50_ns")->is_there);
	assert_int_equal(cell(calls, 0, "unanswered")->u64, 2);
	assert_int_equal(cell(calls, 0, "unanswered_ns")->u64, 8 * MS);
	errors = table("errors", 0);
	assert_int_equal(tapir_view_result_table__rows(errors), 4);
	assert_string_equal(cell(errors, 0, "error")->text, "refused");
	assert_string_equal(cell(errors, 1, "error")->text, "reset");
	assert_string_equal(cell(errors, 2, "error")->text, "timed out");
	assert_string_equal(cell(errors, 3, "error")->text, "other");
	assert_int_equal(fact("errors"), 4);
}

static void sums_of_very_many_peers_are_bounded(void **state)
{
	struct tapir_exchange_sums sums = {};
	struct tapir_rec_exchange rec = exchange_of(100, 1 * MS, 2 * MS);

	(void)state;
	rec.flags = TAPIR_EXCHANGE_OPENED;
	for (unsigned i = 0; i < 70000; i++) {
		rec.peer_port = (uint16_t)i;
		rec.netns = i >> 16;
		(void)tapir_exchange_sums__add(&sums, f.catalog, &rec);
	}
	tapir_exchange_sums__sort(&sums);
	assert_false(sums.failed);
	assert_int_equal(sums.rows.cnt, 65536);
	assert_int_equal(sums.more, 70000 - 65536);
	tapir_exchange_sums__fini(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_are_counted_by_peer_and_requests_by_port),
		TEST(process_behind_a_peer_is_the_one_that_answers_there),
		TEST(processes_of_one_name_share_a_row),
		TEST(what_is_not_known_is_said),
		TEST(sums_of_very_many_peers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
