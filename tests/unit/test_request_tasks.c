// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that are followed by .NET's tasks from thread to thread, and what they await.
 *
 * runtimes: dotnet
 */
#include "exchange_feeder.h"
#include "view_fixture.h"

#include "analyze/spans/request_waits.h"

#define KESTREL "Microsoft-AspNetCore-Server-Kestrel"
#define TPL	"System.Threading.Tasks.TplEventSource"
#define SQL	"Microsoft.Data.SqlClient.EventSource"
#define FIELDS	3

enum { BEGIN = 1, END, AWAIT, WORK, WORK_END, LEFT_QUEUE, COMMAND, SQL_BEGIN, SQL_END };
enum { ASK = 1, SERVE, ALL }; /* stacks, by the innermost method of the program */

static void probe_of(uint32_t id, const char *event, const char *const names[FIELDS])
{
	struct tapir_rec_probe probe = {.probe_id = id};
	struct tapir_field fields[FIELDS];
	struct tapir_sv texts[FIELDS];
	unsigned cnt = 0;

	for (; cnt < FIELDS && names[cnt]; cnt++) {
		fields[cnt] = (struct tapir_field){.type = TAPIR_FIELD_UINT, .size = 8};
		texts[cnt] = feeder_sv(names[cnt]);
	}
	feeder_add(&f, tapir_recbuf__probe(&f.buf, &probe, feeder_sv(TPL), feeder_sv(event),
					   feeder_sv("/bin/x"), feeder_sv(""), fields, texts, cnt));
}

static void method(uint64_t va, const char *name, uint64_t stack)
{
	struct tapir_rec_jit jit = {
		.h.time_ns = 1, .tgid = 100, .start_va = va, .size = 0x1000, .from_ns = 1};

	feeder_add(&f, tapir_recbuf__jit(&f.buf, &jit, feeder_sv(name)));
	feeder_stack(&f, stack, (const uint64_t[]){va + 8}, 1);
}

static void describe(void)
{
	feeder_probe(&f, BEGIN, KESTREL, "RequestStart", "requestId", "path");
	feeder_probe(&f, END, KESTREL, "RequestStop", "requestId", "path");
	probe_of(AWAIT, "TaskWaitBegin",
		 (const char *const[]){"TaskID", "Behavior", "ContinueWithTaskID"});
	probe_of(WORK, "TraceSynchronousWorkBegin", (const char *const[]){"TaskID", "Work", NULL});
	probe_of(WORK_END, "TraceSynchronousWorkEnd", (const char *const[]){"Work", NULL, NULL});
	feeder_add(&f,
		   tapir_recbuf__probe(&f.buf, &(struct tapir_rec_probe){.probe_id = LEFT_QUEUE},
				       feeder_sv("System.Net.Http"), feeder_sv("RequestLeftQueue"),
				       feeder_sv("/bin/x"), feeder_sv(""),
				       &(struct tapir_field){.type = TAPIR_FIELD_FLOAT, .size = 8},
				       &(struct tapir_sv){"timeOnQueueMilliseconds", 23}, 1));
	feeder_probe(&f, COMMAND, "Npgsql.Sql", "CommandStart", NULL, "sql");
	feeder_probe(&f, SQL_BEGIN, SQL, "BeginExecute", "objectId", "commandText");
	feeder_probe(&f, SQL_END, SQL, "EndExecute", "objectId", "message");
	method(0x1000, "Shop.Ask (async)", ASK);
	method(0x2000, "Shop.Serve (async)", SERVE);
	method(0x3000, "System.Threading.Tasks.Task.WhenAllPromise.Invoke(Task)", ALL);
	ask("requests", 0);
	for (uint32_t tid = 1; tid <= 3; tid++)
		feeder_come(&f, tid, MS / 2, 0, 0);
}

static void fire_values(uint32_t probe, uint32_t tid, uint64_t us, uint64_t stack,
			const uint64_t *values, size_t cnt)
{
	struct tapir_rec_event fixed = {.h = {.time_ns = us * 1000},
					.probe_id = probe,
					.tgid = 100,
					.tid = tid,
					.stack_id = stack};
	struct tapir_event_view event = {.rec = &fixed,
					 .payload = (const uint8_t *)values,
					 .payload_bytes = cnt * sizeof(*values)};

	feeder_add(&f, tapir_recbuf__event(&f.buf, &event));
}

static void await(uint32_t tid, uint64_t us, uint64_t awaiter, uint64_t task, uint64_t stack)
{
	fire_values(AWAIT, tid, us, stack, (const uint64_t[]){task, 2, awaiter}, 3);
}

static void work(uint32_t tid, uint64_t us, uint64_t task)
{
	fire_values(WORK, tid, us, 0, (const uint64_t[]){task, 2}, 2);
}

static void work_ends(uint32_t tid, uint64_t us)
{
	fire_values(WORK_END, tid, us, 0, (const uint64_t[]){2}, 1);
}

static void begin(uint64_t id, uint32_t tid, uint64_t us)
{
	fire_with(BEGIN, tid, us * 1000, id, "/pay/7");
}

static void end(uint64_t id, uint32_t tid, uint64_t us)
{
	fire_with(END, tid, us * 1000, id, "/pay/7");
}

static uint64_t part_ns(const char *name)
{
	const struct tapir_view_result_table *parts = table("parts", 0);

	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++)
		if (!strcmp(cell(parts, row, "part")->text, name))
			return cell(parts, row, "ns")->u64;
	return 0;
}

/*
 * A connection's task (1) serves the request: it awaits Ask's task (2), which awaits the library's
 * (3), cnt times one after the other for 10 ms each; a thread has it for 1 ms each time.
 */
static void serve(uint64_t id, unsigned cnt, uint64_t us)
{
	uint32_t tid = 1;

	work(tid, us, 1);
	begin(id, tid, us);
	for (unsigned i = 0; i < cnt; i++) {
		await(tid, us + 900, 2, 3 + i, ASK);
		if (!i)
			await(tid, us + 950, 1, 2, SERVE);
		work_ends(tid, us + 1000);
		us += 11000;
		tid = 3 - tid;
		work(tid, us, 2);
	}
	work(tid, us + 500, 1);
	end(id, tid, us + 1000);
	work_ends(tid, us + 1000);
	work_ends(tid, us + 1000);
}

static void request_is_followed_from_thread_to_thread(void **state)
{
	const struct tapir_view_result_table *deps;

	(void)state;
	describe();
	serve(7, 3, 10000);
	assert_int_equal(answer(), 0);
	assert_int_equal(cell(table("routes", 0), 0, "max_ns")->u64, 34 * MS);
	assert_int_equal(part_ns("on CPU"), 4 * MS);
	assert_int_equal(part_ns("a task in Shop.Ask (async)"), 30 * MS);
	assert_int_equal(part_ns("not known"), 0);
	assert_int_equal(part_ns("awaited"), 0);
	deps = table("dependencies", 0);
	assert_int_equal(cell(deps, 0, "count")->u64, 3);
	assert_string_equal(cell(deps, 0, "how")->text, "one after the other");
}

/*
 * The first request of a connection is served by a work item of the pool: Ask's task (2) awaits the
 * library's (3), the connection's (1) awaits that, and the thread leaves without an event.
 */
static void begin_first(uint64_t id, uint64_t us)
{
	begin(id, 1, us);
	await(1, us + 900, 2, 3, ASK);
	await(1, us + 1000, 1, 2, SERVE);
}

static void end_first(uint64_t id, uint32_t tid, uint64_t us)
{
	work(tid, us, 2);
	work(tid, us + 500, 1);
	end(id, tid, us + 1000);
	work_ends(tid, us + 1000);
	work_ends(tid, us + 1000);
}

static void first_request_of_a_connection_is_followed(void **state)
{
	(void)state;
	describe();
	begin_first(7, 1000);
	end_first(7, 2, 12000);
	/* The same thread continues the next one. */
	begin_first(8, 20000);
	end_first(8, 1, 31000);
	assert_int_equal(answer(), 0);
	assert_int_equal(part_ns("a task in Shop.Ask (async)"), 20 * MS);
	assert_int_equal(part_ns("not known"), 0);
}

static void thread_that_suspends_for_others_has_left_its_first_request(void **state)
{
	(void)state;
	describe();
	begin_first(7, 1000);
	/* A work item of others: what it awaits is none of the request's. */
	await(1, 3000, 5, 6, ASK);
	await(1, 3100, 9, 5, SERVE);
	work(2, 4000, 5);
	work_ends(2, 4500);
	end_first(7, 3, 12000);
	assert_int_equal(answer(), 0);
	assert_int_equal(part_ns("a task in Shop.Ask (async)"), 10 * MS);
}

/* Without the events of tasks it is not known what the time between two threads was. */
/* A thread continues the request and its event says that a connection was waited for. */
static void left_queue(uint32_t tid, uint64_t us, double waited_ms)
{
	uint64_t bits;

	memcpy(&bits, &waited_ms, sizeof(bits));
	fire_values(LEFT_QUEUE, tid, us, 0, &bits, 1);
}

static void wait_for_a_connection_is_a_part_by_its_event(void **state)
{
	const struct tapir_view_result_table *deps;

	(void)state;
	describe();
	left_queue(2, 9000, 5); /* of no request */
	work(1, 10000, 1);
	begin(7, 1, 10000);
	await(1, 10900, 2, 3, ASK);
	await(1, 10950, 1, 2, SERVE);
	work_ends(1, 11000);
	work(2, 41000, 2);
	left_queue(2, 41500, 20.5); /* since 21 ms */
	await(2, 41800, 2, 4, ASK);
	work_ends(2, 42000);
	work(1, 52000, 2);
	work(1, 52500, 1);
	end(7, 1, 53000);
	work_ends(1, 53000);
	work_ends(1, 53000);
	assert_int_equal(answer(), 0);
	assert_int_equal(cell(table("routes", 0), 0, "max_ns")->u64, 43 * MS);
	assert_int_equal(part_ns("a free connection") +
				 part_ns("a free connection in Shop.Ask (async)"),
			 20 * MS); /* from 21 to 41, when a thread took it up */
	assert_int_equal(part_ns("a task in Shop.Ask (async)"), 20 * MS);
	deps = table("dependencies", 0);
	assert_int_equal(tapir_view_result_table__rows(deps), 2);
}

#define STATEMENT "select price from item where id = ? and shop = $1"

static void command(uint32_t tid, uint64_t us, const char *sql)
{
	feeder_event(&f, (struct feeder_event){.probe_id = COMMAND,
					       .tgid = 100,
					       .tid = tid,
					       .time_ns = us * 1000,
					       .text = sql});
}

/* Npgsql reports where a statement begins, and nothing that would say which one has ended. */
static void statement_without_an_end_is_the_await_that_follows(void **state)
{
	(void)state;
	describe();
	command(1, 9000, "select of_no_request");
	work(1, 10000, 1);
	begin(7, 1, 10000);
	command(1, 10800, "select price from item where id = 7 and shop = $1;");
	await(1, 10900, 2, 3, ASK);
	await(1, 10950, 1, 2, SERVE);
	work_ends(1, 11000);
	work(2, 41000, 2);
	command(2, 41500, "select that_blocks_its_thread");
	work_ends(2, 42000);
	work(1, 42000, 1);
	end(7, 1, 43000);
	work_ends(1, 43000);
	assert_int_equal(answer(), 0);
	assert_int_equal(part_ns(STATEMENT " in Shop.Ask (async)"), 30 * MS);
	assert_int_equal(tapir_view_result_table__rows(table("dependencies", 0)), 1);
}

/* SqlClient's have a key; its end may come from the method that has the answer already. */
static void statement_with_a_key_is_a_call_and_an_await(void **state)
{
	const struct tapir_view_result_table *calls;

	(void)state;
	describe();
	work(1, 10000, 1);
	begin(7, 1, 10000);
	fire_with(SQL_BEGIN, 1, 10500 * 1000, 70,
		  "select price from item where id = 7 and shop = $1");
	await(1, 10900, 2, 3, ASK);
	await(1, 10950, 1, 2, SERVE);
	work_ends(1, 11000);
	work(2, 41000, 2);
	fire_with(SQL_END, 2, 41500 * 1000, 70, "");
	work_ends(2, 42000);
	work(1, 42000, 1);
	end(7, 1, 43000);
	work_ends(1, 43000);
	assert_int_equal(answer(), 0);
	assert_int_equal(part_ns(STATEMENT " in Shop.Ask (async)"), 30 * MS);
	assert_int_equal(tapir_view_result_table__rows(table("dependencies", 0)), 1);
	calls = table("calls", 0);
	assert_string_equal(cell(calls, 0, "route")->text, STATEMENT);
	assert_int_equal(cell(calls, 0, "max_ns")->u64, 31 * MS);
}

static void request_that_was_lost_sight_of_is_not_known(void **state)
{
	(void)state;
	describe();
	work(1, 10000, 1);
	begin(7, 1, 10000);
	await(1, 10900, 1, 2, ASK);
	work_ends(1, 11000);
	end(7, 2, 30000); /* nothing says who continued it */
	assert_int_equal(answer(), 0);
	assert_int_equal(part_ns("on CPU"), 1 * MS);
	assert_int_equal(part_ns("not known"), 19 * MS);
	assert_int_equal(part_ns("awaited"), 0);
}

/* The task of a service that was seen before belongs to no request, whichever awaits it first. */
static void task_of_others_is_not_the_request_s(void **state)
{
	(void)state;
	describe();
	serve(6, 1, 10000); /* from here on tasks are followed */
	work(3, 40000, 50);
	await(3, 40500, 50, 51, SERVE);
	work_ends(3, 41000);
	work(1, 50000, 1);
	begin(7, 1, 50000);
	await(1, 50900, 1, 50, ASK);
	work_ends(1, 51000);
	work(3, 60000, 50); /* on its own behalf, for 9 ms */
	work_ends(3, 69000);
	work(2, 70000, 1);
	end(7, 2, 71000);
	work_ends(2, 71000);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), 2);
	assert_int_equal(part_ns("on CPU"), (2 + 2) * MS);
}

/* Two branches at a time on two threads: the request's time is counted once. */
static void threads_at_the_same_time_are_counted_once(void **state)
{
	(void)state;
	describe();
	work(1, 10000, 1);
	begin(7, 1, 10000);
	await(1, 10500, 20, 30, ASK);
	await(1, 10600, 21, 31, ASK);
	await(1, 10700, 1, 22, SERVE);
	work_ends(1, 11000);
	work(2, 20000, 20);
	work(3, 21000, 21);
	work_ends(2, 22000);
	fire_values(WORK, 3, 22900, ALL, (const uint64_t[]){22, 0}, 2);
	work(3, 23000, 1);
	end(7, 3, 24000);
	for (unsigned i = 0; i < 3; i++)
		work_ends(3, 24000);
	assert_int_equal(answer(), 0);
	assert_int_equal(cell(table("routes", 0), 0, "max_ns")->u64, 14 * MS);
	assert_int_equal(tapir_view_result_table__rows(table("dependencies", 0)), 1);
	assert_string_equal(cell(table("dependencies", 0), 0, "how")->text, "in parallel");
	assert_int_equal(part_ns("on CPU"), 5 * MS);
	assert_int_equal(part_ns("a task in Shop.Ask (async)"), 9 * MS);
}

/* The thread that sends works for the request: its peer is the await's that begins then. */
static void call_on_a_connection_is_the_request_s(void **state)
{
	const struct tapir_view_result_table *deps;

	(void)state;
	describe();
	work(1, 10000, 1);
	begin(7, 1, 10000);
	exchange_call(&f, 1, 5432, 10400 * 1000ull, 19500 * 1000ull);
	exchange_call(&f, 3, 5433, 10500 * 1000ull, 19400 * 1000ull); /* of another thread */
	await(1, 10500, 2, 3, ASK);
	await(1, 10700, 1, 2, SERVE);
	work_ends(1, 11000);
	work(2, 20000, 2);
	work(2, 20500, 1);
	end(7, 2, 21000);
	work_ends(2, 21000);
	work_ends(2, 21000);
	assert_int_equal(answer(), 0);
	deps = table("dependencies", 0);
	assert_int_equal(tapir_view_result_table__rows(deps), 1);
	assert_non_null(strstr(cell(deps, 0, "what")->text, ":5432 in Shop.Ask (async)"));
	assert_int_equal(part_ns(cell(deps, 0, "what")->text), 9 * MS);
}

/* ---- dividing ----------------------------------------------------------------------------------- */

static void add(struct tapir_request_waits *w, uint64_t from, uint64_t until, uint32_t site,
		uint32_t peer)
{
	tapir_request_waits__add(
		w, &(struct tapir_request_wait){
			   .from_ns = from, .until_ns = until, .site = site, .peer = peer});
}

static void each_moment_belongs_to_what_ends_last(void **state)
{
	struct tapir_request_waits w = {};

	(void)state;
	add(&w, 10, 20, 0, TAPIR_NO_PEER);
	add(&w, 10, 90, 1, TAPIR_NO_PEER);
	add(&w, 95, 99, 0, TAPIR_NO_PEER);
	tapir_request_waits__add_away(&w, 10, 20);
	tapir_request_waits__add_away(&w, 22, 100);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 100, true), 82);
	assert_int_equal(w.rows.data[0].ns, 78); /* from 10 to 90 but for 20 to 22 */
	assert_int_equal(w.rows.data[1].ns, 0);
	assert_int_equal(w.rows.data[2].ns, 4);
	assert_true(w.rows.data[0].is_parallel && w.rows.data[1].is_parallel);
	assert_false(w.rows.data[2].is_parallel);
	tapir_request_waits__clear(&w);
	add(&w, 10, 30, TAPIR_NO_SITE, 4);
	add(&w, 20, 60, TAPIR_NO_SITE, 5);
	assert_int_equal(tapir_request_waits__divide(&w, 25, 50, false), 25);
	assert_int_equal(w.rows.data[0].ns, 0);
	assert_int_equal(w.rows.data[1].ns, 25);
	tapir_request_waits__fini(&w);
}

/* Five calls are sent and awaited one by one on the thread, before the request leaves it. */
static void calls_are_the_awaits_that_begin_next(void **state)
{
	struct tapir_request_waits w = {};

	(void)state;
	for (uint32_t i = 0; i < 5; i++) {
		add(&w, 10 + 2 * i, 100 + i, TAPIR_NO_SITE, i);
		add(&w, 11 + 2 * i, 110 + i, 0, TAPIR_NO_PEER);
	}
	add(&w, 50, 105, 1, TAPIR_NO_PEER); /* after the request had left its thread */
	tapir_request_waits__add_away(&w, 20, 120);
	tapir_request_waits__divide(&w, 0, 120, true);
	assert_int_equal(w.rows.cnt, 6);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(w.rows.data[i].peer, i);
	assert_int_equal(w.rows.data[5].peer, TAPIR_NO_PEER);
	tapir_request_waits__fini(&w);
}

static void add_queued(struct tapir_request_waits *w, uint64_t from, uint64_t until, uint32_t site)
{
	tapir_request_waits__add(w, &(struct tapir_request_wait){.from_ns = from,
								 .until_ns = until,
								 .site = site,
								 .peer = TAPIR_NO_PEER,
								 .is_in_queue = true});
}

/* Two calls in parallel, of which the one that ends last has a connection at 40. */
static void wait_for_a_connection_is_the_first_part_of_a_call(void **state)
{
	struct tapir_request_waits w = {};

	(void)state;
	add_queued(&w, 10, 40, 3); /* it suspends before the method that calls */
	add(&w, 11, 90, 3, TAPIR_NO_PEER);
	add(&w, 13, 60, 3, TAPIR_NO_PEER);
	tapir_request_waits__add_away(&w, 15, 90);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 100, true), 75);
	assert_int_equal(w.rows.data[0].ns, 25);
	assert_int_equal(w.rows.data[1].ns, 50);
	assert_int_equal(w.rows.data[1].queued_ns, 30);
	assert_int_equal(w.rows.data[2].ns, 0);
	assert_int_equal(w.rows.data[2].queued_ns, 0);
	assert_false(w.rows.data[0].is_parallel);
	tapir_request_waits__clear(&w);
	add(&w, 10, 90, 3, TAPIR_NO_PEER);
	add_queued(&w, 11, 40, TAPIR_NO_SITE); /* by its event; its own call ends before */
	add(&w, 12, 60, 4, TAPIR_NO_PEER);
	tapir_request_waits__add_away(&w, 15, 90);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 100, true), 75);
	assert_int_equal(w.rows.data[0].ns, 75);
	assert_int_equal(w.rows.data[1].ns, 0);
	assert_int_equal(w.rows.data[1].site, 4);
	tapir_request_waits__clear(&w);
	add_queued(&w, 10, 40, TAPIR_NO_SITE); /* the call is not known */
	tapir_request_waits__add_away(&w, 15, 90);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 100, true), 25);
	assert_int_equal(w.rows.data[0].ns, 25);
	tapir_request_waits__fini(&w);
}

/* Awaits below it have their time; the time it waits beyond that is its own. */
static void joint_awaits_have_what_no_other_has(void **state)
{
	struct tapir_request_waits w = {};

	(void)state;
	add(&w, 10, 50, 0, TAPIR_NO_PEER);
	add(&w, 12, 52, 1, TAPIR_NO_PEER);
	w.rows.data[1].is_joint = true;
	tapir_request_waits__add_away(&w, 15, 50);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 60, true), 35);
	assert_int_equal(w.rows.cnt, 1);
	assert_false(w.rows.data[0].is_parallel);
	tapir_request_waits__clear(&w);
	add(&w, 10, 30, 0, TAPIR_NO_PEER);
	add(&w, 12, 52, 1, TAPIR_NO_PEER);
	w.rows.data[1].is_joint = true;
	tapir_request_waits__add_away(&w, 15, 50);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 60, true), 35);
	assert_int_equal(w.rows.cnt, 2);
	assert_int_equal(w.rows.data[1].ns, 20);
	tapir_request_waits__fini(&w);
}

static void item_of_an_iterator_is_what_that_awaits(void **state)
{
	struct tapir_request_waits w = {};

	(void)state;
	add(&w, 1, 1000, 0, TAPIR_NO_PEER);
	w.rows.data[0].is_taskless = true;
	add(&w, 0, 400, 1, TAPIR_NO_PEER);
	add(&w, 401, 990, 1, TAPIR_NO_PEER);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 1000, false), 1000);
	assert_int_equal(w.rows.data[1].ns, 11);
	assert_int_equal(w.rows.data[0].ns + w.rows.data[2].ns, 989);
	/* A channel's is what it is, whatever goes on meanwhile for a part of it. */
	tapir_request_waits__clear(&w);
	add(&w, 0, 100, 0, TAPIR_NO_PEER);
	w.rows.data[0].is_taskless = true;
	add(&w, 50, 150, 1, TAPIR_NO_PEER);
	assert_int_equal(tapir_request_waits__divide(&w, 0, 150, false), 150);
	assert_int_equal(w.rows.data[0].ns, 50);
	tapir_request_waits__fini(&w);
}

/* A statement that begins while its method awaits already: it waited for a connection first. */
static void mark_belongs_to_the_innermost_await_around_it(void **state)
{
	struct tapir_request_waits w = {};

	(void)state;
	add(&w, 10, 90, 0, TAPIR_NO_PEER);
	add(&w, 12, 80, 1, TAPIR_NO_PEER);
	add(&w, 95, 99, 2, TAPIR_NO_PEER);
	add(&w, 40, 41, TAPIR_NO_SITE, 5);
	w.rows.data[3].is_mark = true;
	tapir_request_waits__add_away(&w, 15, 50);
	tapir_request_waits__add_away(&w, 51, 90);
	tapir_request_waits__divide(&w, 0, 100, true);
	assert_int_equal(w.rows.cnt, 3);
	assert_int_equal(w.rows.data[0].peer, TAPIR_NO_PEER);
	assert_int_equal(w.rows.data[1].peer, 5);
	assert_int_equal(w.rows.data[2].peer, TAPIR_NO_PEER);
	tapir_request_waits__fini(&w);
}

static void waits_of_a_request_are_bounded(void **state)
{
	struct tapir_request_waits w = {};

	(void)state;
	for (uint32_t i = 0; i < 2 * TAPIR_REQUEST_WAITS_MAX; i++) {
		add(&w, i, i + 1000, 0, TAPIR_NO_PEER);
		tapir_request_waits__add_away(&w, i, i + 1);
	}
	assert_int_equal(w.dropped_cnt, TAPIR_REQUEST_WAITS_MAX);
	assert_int_equal(tapir_request_waits__divide(&w, 0, UINT64_MAX, true),
			 TAPIR_REQUEST_WAITS_MAX);
	tapir_request_waits__fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(request_is_followed_from_thread_to_thread),
		TEST(first_request_of_a_connection_is_followed),
		TEST(thread_that_suspends_for_others_has_left_its_first_request),
		TEST(request_that_was_lost_sight_of_is_not_known),
		TEST(task_of_others_is_not_the_request_s),
		TEST(threads_at_the_same_time_are_counted_once),
		TEST(call_on_a_connection_is_the_request_s),
		cmocka_unit_test(each_moment_belongs_to_what_ends_last),
		cmocka_unit_test(calls_are_the_awaits_that_begin_next),
		TEST(wait_for_a_connection_is_a_part_by_its_event),
		cmocka_unit_test(wait_for_a_connection_is_the_first_part_of_a_call),
		cmocka_unit_test(joint_awaits_have_what_no_other_has),
		cmocka_unit_test(waits_of_a_request_are_bounded),
		cmocka_unit_test(item_of_an_iterator_is_what_that_awaits),
		cmocka_unit_test(mark_belongs_to_the_innermost_await_around_it),
		TEST(statement_without_an_end_is_the_await_that_follows),
		TEST(statement_with_a_key_is_a_call_and_an_await),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
