// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queries to recordings that are made here: names that are no names, values that SQL's integers do
 * not hold, memory that is refused at each place, time that is over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "output/query/query.h"
#include "output/query/query_output.h"
#include "trace/recbuf.h"
#include "trace/writer.h"

#define SV(text)   ((struct tapir_sv){"" text, sizeof("" text) - 1})
#define EVENT_CNT  5000
#define THREAD_CNT 7
#define KSTACK_ID  77

static char path[] = "/tmp/tapir-query-XXXXXX";
static struct tapir_reader *reader;

/* ---- the recording -------------------------------------------------------------------------- */

static const char *const field_names[] = {"tid", "a\"b", "SELECT", "x'); DROP TABLE events --",
					  "",	 "big",	 "TID"};
#define FIELD_CNT (sizeof(field_names) / sizeof(field_names[0]))

static void put_probe(struct tapir_writer *w, struct tapir_recbuf *b, uint32_t id,
		      const char *event)
{
	const struct tapir_rec_probe fixed = {.h.time_ns = 1, .probe_id = id};
	struct tapir_field fields[FIELD_CNT];
	struct tapir_sv names[FIELD_CNT];

	for (size_t i = 0; i < FIELD_CNT; i++) {
		fields[i] = (struct tapir_field){.type = TAPIR_FIELD_UINT, .size = 8};
		names[i] = tapir_sv__of(field_names[i]);
	}
	assert_int_equal(
		tapir_writer__put(w, tapir_recbuf__probe(b, &fixed, SV("shop"), tapir_sv__of(event),
							 SV("/bin/x"), SV("\1"), fields, names,
							 FIELD_CNT)),
		0);
}

static void put_kernel_stack(struct tapir_writer *w, struct tapir_recbuf *b)
{
	const struct tapir_rec_stack fixed = {
		.h.time_ns = 1, .stack_id = KSTACK_ID, .flags = TAPIR_STACK_KERNEL};
	const uint64_t frames_va[] = {0xffffffff81000010, 0xffffffff81000020};

	assert_int_equal(tapir_writer__put(w, tapir_recbuf__stack(b, &fixed, frames_va, 2)), 0);
}

/* The first event has a kernel stack. */
static void put_event(struct tapir_writer *w, struct tapir_recbuf *b, uint64_t n)
{
	const struct tapir_rec_event fixed = {.h.time_ns = 1000 + n * 10,
					      .flags = n ? 0 : TAPIR_EVENT_KSTACK,
					      .probe_id = 1 + n % 3,
					      .tgid = 100,
					      .tid = (uint32_t)(100 + n % THREAD_CNT)};
	const uint64_t values[FIELD_CNT] = {n, 2, 3, 4, 5, UINT64_MAX - n, 7};
	struct tapir_event_view view = {.rec = &fixed,
					.kstack_id = KSTACK_ID,
					.payload = (const uint8_t *)values,
					.payload_bytes = sizeof(values)};

	assert_int_equal(tapir_writer__put(w, tapir_recbuf__event(b, &view)), 0);
}

/* A counter of process 100, whose main thread is known. */
static void put_counter(struct tapir_writer *w, struct tapir_recbuf *b)
{
	struct tapir_rec_thread thread = {
		.tgid = 100, .tid = 100, .comm = "shop", .leader_comm = "shop"};
	const struct tapir_rec_counter fixed = {.h.time_ns = 900, .tgid = 100, .value = 0.5};

	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	assert_int_equal(tapir_writer__put(w, &thread.h), 0);
	assert_int_equal(tapir_writer__put(w, tapir_recbuf__counter(b, &fixed, SV("p"), SV("n"),
								    SV(""), SV(""))),
			 0);
}

static int make_recording(void **state)
{
	struct tapir_writer_opts opts = {.sz = sizeof(opts), .path = path, .force = true};
	struct tapir_recbuf b = {};
	struct tapir_writer *w;
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0 || close(fd) || tapir_writer__open(&opts, &w))
		return 1;
	put_probe(w, &b, 1, "sold");
	put_probe(w, &b, 2, "events"); /* the name of a table */
	put_probe(w, &b, 3, "a\" b\x1b[31m");
	put_kernel_stack(w, &b);
	put_counter(w, &b);
	for (uint64_t n = 0; n < EVENT_CNT; n++)
		put_event(w, &b, n);
	if (tapir_writer__close(w))
		return 1;
	tapir_writer__free(w);
	tapir_recbuf__fini(&b);
	return 0;
}

static int remove_recording(void **state)
{
	(void)state;
	return unlink(path);
}

/* ---- queries -------------------------------------------------------------------------------- */

static int open_again(void *ctx, struct tapir_reader **out)
{
	(void)ctx;
	return tapir_reader__open(path, out);
}

static struct tapir_query *begin(uint64_t timeout_ns)
{
	const struct tapir_query_opts opts = {.open_again = open_again, .timeout_ns = timeout_ns};
	struct tapir_query *q = NULL;

	tapir_diag__clear();
	assert_int_equal(tapir_reader__open(path, &reader), 0);
	return tapir_query__new(reader, &opts, &q) ? NULL : q;
}

static void end(struct tapir_query *q)
{
	tapir_query__free(q);
	tapir_reader__close(reader);
}

/* The first cell of a statement with one row; text goes to a buffer. */
static struct tapir_sql_value one(const char *sql, char *text, size_t size)
{
	struct tapir_query *q = begin(0);
	struct tapir_sql_value value;

	if (tapir_query__prepare(q, sql))
		fail_msg("%s: %s", sql, tapir_diag__line(0));
	assert_int_equal(tapir_query__step(q), 1);
	tapir_query__cell(q, 0, &value);
	if (text && value.type == TAPIR_SQL_TEXT)
		snprintf(text, size, "%.*s", (int)value.len, value.text);
	assert_int_equal(tapir_query__step(q), 0);
	end(q);
	return value;
}

static int64_t number(const char *sql)
{
	struct tapir_sql_value value = one(sql, NULL, 0);

	assert_int_equal(value.type, TAPIR_SQL_INT);
	return value.i64;
}

/* What the statement ends with. */
static int outcome(const char *sql, uint64_t timeout_ns)
{
	struct tapir_query *q = begin(timeout_ns);
	int err = q ? tapir_query__prepare(q, sql) : -ENOMEM;

	if (!err)
		while ((err = tapir_query__step(q)) > 0)
			;
	end(q);
	return err;
}

static void names_of_others_are_columns_and_tables(void **state)
{
	char text[300];

	(void)state;
	assert_int_equal(number("SELECT count(*) FROM sold"), (EVENT_CNT + 2) / 3);
	/* "events" is all of them; the kind of that name has its full name. */
	assert_int_equal(number("SELECT count(*) FROM events"), EVENT_CNT);
	assert_int_equal(number("SELECT count(*) FROM \"shop:events\""), (EVENT_CNT + 1) / 3);
	assert_int_equal(number("SELECT sum(\"a\"\"b\") FROM sold"), (EVENT_CNT + 2) / 3 * 2);
	assert_int_equal(number("SELECT sum(\"SELECT\") FROM sold"), (EVENT_CNT + 2) / 3 * 3);
	assert_int_equal(number("SELECT max(\"x'); DROP TABLE events --\") FROM sold"), 4);
	assert_int_equal(number("SELECT max(arg4) FROM sold"), 5); /* it has no name */
	assert_int_equal(number("SELECT max(arg_tid) FROM sold"), EVENT_CNT - 2);
	assert_int_equal(number("SELECT max(tid) FROM sold"), 100 + THREAD_CNT - 1);
	assert_int_equal(number("SELECT count(*) FROM \"a\"\" b\x1b[31m\""), EVENT_CNT / 3);
	(void)one("SELECT args FROM events WHERE event = 'sold' LIMIT 1", text, sizeof(text));
	assert_non_null(strstr(text, "\"x'); DROP TABLE events --\":4"));
}

static void value_beyond_sql_s_integers_is_a_real(void **state)
{
	struct tapir_sql_value value = one("SELECT max(big) FROM sold", NULL, 0);

	(void)state;
	assert_int_equal(value.type, TAPIR_SQL_REAL);
	assert_true(value.f64 > 1.8e19);
}

static void kept_rows_are_those_that_are_read(void **state)
{
	(void)state;
	assert_int_equal(
		number("SELECT count(*) FROM events a JOIN events b ON a.time_ns = b.time_ns"),
		EVENT_CNT);
	assert_int_equal(
		number("SELECT count(*) FROM (SELECT 1000 AS t UNION ALL SELECT 2000) CROSS JOIN "
		       "events e ON e.time_ns >= t AND e.time_ns < t + 100"),
		20);
	/* Each side of OR is a plan of its own. */
	assert_int_equal(
		number("SELECT count(*) FROM (SELECT 100 AS t UNION ALL SELECT 101) CROSS JOIN "
		       "events e ON (e.tid = t AND e.event = 'sold' AND e.time_ns < 1210) "
		       "OR (e.time_ns = 1010 AND e.args IS NOT NULL)"),
		4);
	assert_int_equal(
		number("SELECT count(*) FROM (SELECT 1 AS t UNION ALL SELECT 2) CROSS JOIN "
		       "events e ON e.event = 'sold' AND e.args IS NOT NULL"),
		2 * ((EVENT_CNT + 2) / 3));
}

static void kernel_stack_of_an_event_is_found(void **state)
{
	(void)state;
	assert_int_equal(number("SELECT kernel_stack_id FROM events WHERE time_ns = 1000"),
			 KSTACK_ID);
	assert_int_equal(number("SELECT count(kernel_stack_id) FROM events"), 1);
	assert_int_equal(number("SELECT events FROM stacks WHERE is_kernel"), 1);
	assert_int_equal(number("SELECT count(*) FROM events e JOIN frames f ON f.stack_id = "
				"e.kernel_stack_id AND f.depth = 0 AND f.function = e.function "
				"AND e.stack LIKE '%;' || f.function"),
			 1);
}

static void counter_has_the_name_of_its_process(void **state)
{
	char text[8];

	(void)state;
	assert_int_equal(one("SELECT process FROM counters", text, sizeof(text)).type,
			 TAPIR_SQL_TEXT);
	assert_string_equal(text, "shop");
}

static void statement_ends_when_its_time_has_ended(void **state)
{
	(void)state;
	assert_int_equal(outcome("SELECT count(*) FROM events WHERE tid = 0", 1), -ETIMEDOUT);
	assert_int_equal(outcome("SELECT count(*) FROM waits", 1), -ETIMEDOUT);
	assert_int_equal(outcome("SELECT count(*) FROM frames", 1), -ETIMEDOUT);
	assert_int_equal(outcome("SELECT count(*) FROM processes", 1), -ETIMEDOUT);
	assert_int_equal(outcome("SELECT count(*) FROM sold", 1), -ETIMEDOUT);
	assert_int_equal(outcome("SELECT count(*) FROM events a, events b, events c WHERE "
				 "a.args || b.args || c.args = ''",
				 20000000),
			 -ETIMEDOUT);
}

static void controls_of_terminals_are_not_printed(void **state)
{
	static const enum tapir_query_format formats[] = {TAPIR_QUERY_TABLE, TAPIR_QUERY_JSON,
							  TAPIR_QUERY_JSONL, TAPIR_QUERY_CSV};

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct tapir_query *q = begin(0);
		struct tapir_query_output output;
		struct tapir_str out = {};
		const struct tapir_palette none = {"", "", "", "", "", ""};

		assert_int_equal(
			tapir_query__prepare(q, "SELECT event AS \"\x1b[2J\" FROM events LIMIT 3"),
			0);
		assert_int_equal(tapir_query_output__init(&output, q, formats[i], &out), 0);
		while (tapir_query__step(q) > 0)
			tapir_query_output__add(&output, &out);
		tapir_query_output__end(&output, &none, 0, &out);
		assert_false(out.failed || output.failed);
		assert_null(memchr(out.data, '\x1b', out.len));
		assert_non_null(strstr(out.data, "sold"));
		tapir_query_output__fini(&output);
		tapir_str__fini(&out);
		end(q);
	}
}

/* ---- memory --------------------------------------------------------------------------------- */

static sqlite3_mem_methods normal;
static int64_t calls, fail_at; /* fail_at 0: never */

static void *failing_malloc(int bytes)
{
	return fail_at && ++calls >= fail_at ? NULL : normal.xMalloc(bytes);
}

static void *failing_realloc(void *old, int bytes)
{
	return fail_at && ++calls >= fail_at ? NULL : normal.xRealloc(old, bytes);
}

/* All memory is refused from the nth allocation on, for n from 1 until none is: each n up to dense,
 * then some. */
static void refuse_memory(const char *sql, int64_t dense)
{
	int err = -ENOMEM;

	for (fail_at = 1; err && fail_at < 1 << 24; fail_at += 1 + fail_at / dense) {
		calls = 0;
		err = outcome(sql, 0);
		assert_true(!err || err == -ENOMEM || err == -EINVAL);
		assert_true(!err || tapir_diag__cnt() > 0);
	}
	fail_at = 0;
	assert_int_equal(err, 0); /* one day there was enough */
}

static void memory_that_is_refused_is_an_error(void **state)
{
	static const char sql[] =
		"SELECT e.event, count(*) AS n FROM events e JOIN sold s ON s.time_ns = e.time_ns "
		"WHERE e.args ->> 'big' > 5 GROUP BY e.event ORDER BY n";
	sqlite3_mem_methods failing;

	(void)state;
	assert_int_equal(outcome(sql, 0), 0);
	sqlite3_shutdown();
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &normal), SQLITE_OK);
	failing = normal;
	failing.xMalloc = failing_malloc;
	failing.xRealloc = failing_realloc;
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing), SQLITE_OK);
	assert_int_equal(sqlite3_initialize(), SQLITE_OK);
	refuse_memory("SELECT count(*) FROM sold", INT64_MAX);
	refuse_memory(sql, 50);
	sqlite3_shutdown();
	sqlite3_config(SQLITE_CONFIG_MALLOC, &normal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_others_are_columns_and_tables),
		cmocka_unit_test(value_beyond_sql_s_integers_is_a_real),
		cmocka_unit_test(kept_rows_are_those_that_are_read),
		cmocka_unit_test(kernel_stack_of_an_event_is_found),
		cmocka_unit_test(counter_has_the_name_of_its_process),
		cmocka_unit_test(statement_ends_when_its_time_has_ended),
		cmocka_unit_test(controls_of_terminals_are_not_printed),
		cmocka_unit_test(memory_that_is_refused_is_an_error),
	};

	return cmocka_run_group_tests(tests, make_recording, remove_recording);
}
