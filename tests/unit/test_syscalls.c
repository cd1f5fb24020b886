// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls in numbers: their names, steps and records, the view of them, and what fails. */
#include "record/call_counts.h" /* before the names of the fixture */

#include "view_fixture.h"

#include <stdlib.h>

#include "diagnose/failed_calls.h"
#include "trace/family.h"
#include "trace/system_calls.h"

#define OPENAT 257

static union {
	struct tapir_rec_calls rec;
	char room[sizeof(struct tapir_rec_calls) + 8 * sizeof(struct tapir_call_step) + 64];
} made;

/* Calls of thread 100 that took took_ns each. */
static struct tapir_rec_calls *calls(uint16_t nr, uint16_t err, uint32_t cnt, uint64_t took_ns)
{
	struct tapir_call_step *step = (void *)(&made.rec + 1);

	made.rec = (struct tapir_rec_calls){.tgid = 100,
					    .tid = 100,
					    .nr = nr,
					    .err = err,
					    .cnt = cnt,
					    .sum_ns = cnt * took_ns,
					    .max_ns = took_ns,
					    .step_cnt = 1};
	*step = (struct tapir_call_step){tapir_call_step__of(took_ns), cnt};
	tapir_rec__init(&made.rec.h, TAPIR_REC_CALLS, sizeof(made.rec) + sizeof(*step), 5 * MS);
	return &made.rec;
}

/* ---- names and steps -------------------------------------------------------------------------- */

static void numbers_have_the_kernel_s_names(void **state)
{
	char text[TAPIR_SYSTEM_CALL_TEXT_BYTES];

	(void)state;
	assert_string_equal(tapir_system_call__text(0, text), "read");
	assert_string_equal(tapir_system_call__text(OPENAT, text), "openat");
	assert_string_equal(tapir_system_call__text(400, text), "400");
	assert_string_equal(tapir_system_call__text(3 | TAPIR_CALL_32_BIT, text), "3 (32-bit)");
	assert_string_equal(tapir_system_call__text(TAPIR_CALL_OTHER, text), "other");
	assert_string_equal(tapir_system_call__text(UINT16_MAX, text), "49151 (32-bit)");
	assert_string_equal(tapir_system_call__error_name(ENOENT), "ENOENT");
	assert_string_equal(tapir_system_call__error_name(512), "interrupted");
	assert_null(tapir_system_call__error_name(4000));
}

static void list_chooses_by_names_and_globs(void **state)
{
	static const char *const bad[] = {"",	 "nosuch", "read,",	 ",read", "read,,write",
					  "a b", "[",	   "read,nosuch"};
	bool chosen[TAPIR_SYSTEM_CALL_CNT] = {};
	char *long_name;

	(void)state;
	assert_int_equal(tapir_system_calls__choose("read,open*", chosen), 0);
	assert_true(chosen[0] && chosen[2] && chosen[OPENAT] && !chosen[1] && !chosen[3]);
	assert_int_equal(tapir_system_calls__choose("write", chosen), 0);
	assert_true(chosen[0] && chosen[1]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		tapir_diag__clear();
		assert_int_equal(tapir_system_calls__choose(bad[i], chosen), -EINVAL);
		assert_non_null(strstr(tapir_diag__line(0), "no system call is called"));
	}
	long_name = malloc(5000);
	memset(long_name, 'x', 4999);
	long_name[4999] = '\0';
	assert_int_equal(tapir_system_calls__choose(long_name, chosen), -EINVAL);
	free(long_name);
}

static void steps_cover_all_times_in_order(void **state)
{
	(void)state;
	assert_int_equal(tapir_call_step__of(0), 0);
	assert_int_equal(tapir_call_step__of(UINT64_MAX), TAPIR_CALL_STEPS - 1);
	for (uint32_t step = 0; step + 1 < TAPIR_CALL_STEPS; step++) {
		uint64_t from_ns = tapir_call_step__ns(step),
			 end_ns = tapir_call_step__ns(step + 1);

		assert_true(from_ns < end_ns);
		assert_int_equal(tapir_call_step__of(from_ns), step);
		assert_int_equal(tapir_call_step__of(end_ns - 1), step);
		assert_true(step < 8 || (end_ns - from_ns) * 8 <= from_ns);
	}
}

/* ---- records ---------------------------------------------------------------------------------- */

static void record_that_is_shorter_than_its_parts_is_refused(void **state)
{
	struct tapir_rec_calls *rec = calls(0, 0, 1, 1);

	(void)state;
	assert_true(tapir_record__ok(&rec->h, rec->h.size));
	rec->step_cnt = 2;
	assert_false(tapir_record__fits(&rec->h));
	rec->step_cnt = UINT32_MAX;
	assert_false(tapir_record__fits(&rec->h));
	rec->step_cnt = 1;
	rec->text_len = 1;
	assert_false(tapir_record__fits(&rec->h));
	rec->text_len = 0;
	rec->h.size = sizeof(*rec) - 8;
	assert_false(tapir_record__fits(&rec->h));
}

static void record_counts_for_the_calls_of_a_thread_alone(void **state)
{
	struct tapir_rec_calls *rec = calls(0, 0, 40, 1);

	(void)state;
	rec->unbegun_cnt = 2;
	assert_int_equal(tapir_rec__weight(&rec->h), 42);
	rec->kind = TAPIR_CALLS_AT_STACK;
	assert_int_equal(tapir_rec__weight(&rec->h), 0);
	rec->kind = 250;
	assert_int_equal(tapir_rec__weight(&rec->h), 0);
}

/* ---- what was added --------------------------------------------------------------------------- */

struct written {
	unsigned cnt;
	struct tapir_rec_calls sum, last;
};

static void on_written(void *written, const struct tapir_rec *rec)
{
	const struct tapir_rec_calls *one = (const void *)rec;
	struct written *w = written;

	assert_true(tapir_record__ok(rec, rec->size));
	assert_true(one->since_ns <= rec->time_ns);
	w->cnt++;
	w->last = *one;
	w->sum.cnt += one->cnt;
	w->sum.sum_ns += one->sum_ns;
}

static void last_values_of_a_thread_are_written_once(void **state)
{
	struct tapir_rec_call_total total = {.key = {.tgid = 100, .tid = 101, .start = 7},
					     .count = {.sum_ns = 900, .max_ns = 600}};
	struct written written = {};
	struct tapir_programs *none;
	struct tapir_call_counts *c;

	(void)state;
	assert_int_equal(tapir_programs__new_without(&none), 0);
	c = tapir_call_counts__new(none, on_written, &written);
	assert_non_null(c);
	tapir_rec__init(&total.h, TAPIR_REC_CALL_TOTAL, sizeof(total), 5 * MS);
	total.count.steps[tapir_call_step__of(300)] = 1;
	total.count.steps[tapir_call_step__of(600)] = 1;
	assert_true(tapir_call_counts__end(c, &total.h));
	assert_int_equal(written.cnt, 1);
	assert_int_equal(written.last.tid, 101);
	assert_int_equal(written.last.step_cnt, 2);
	assert_int_equal(written.last.max_ns, 600);
	assert_int_equal(written.sum.cnt, 2);
	assert_int_equal(written.sum.sum_ns, 900);
	memset(&total.count, 0, sizeof(total.count));
	assert_true(tapir_call_counts__end(c, &total.h));
	assert_int_equal(written.cnt, 1); /* nothing was added */
	total.h.size = sizeof(total) - 8;
	assert_false(tapir_call_counts__end(c, &total.h));
	assert_false(tapir_call_counts__end(NULL, &total.h));
	assert_int_equal(written.cnt, 1);
	tapir_call_counts__free(c);
	tapir_programs__free(none);
}

/* ---- the view --------------------------------------------------------------------------------- */

static void sums_and_errors_have_rows(void **state)
{
	struct tapir_rec_thread thread = {
		.tgid = 100, .tid = 100, .start_ns = 1, .leader_comm = "worker"};
	const struct tapir_view_result_table *t;
	struct tapir_rec_calls *rec;

	(void)state;
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	assert_int_equal(feeder_add(&f, &thread.h), 0);
	ask("syscalls", 0);
	assert_int_equal(feeder_add(&f, &calls(0, 0, 90, 1000)->h), 0);
	assert_int_equal(feeder_add(&f, &calls(0, 0, 10, 50000)->h), 0);
	assert_int_equal(feeder_add(&f, &calls(OPENAT, ENOENT, 7, 2000)->h), 0);
	rec = calls(OPENAT, ENOENT, 7, 2000);
	rec->kind = TAPIR_CALLS_AT_STACK; /* some of those */
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	rec = calls(1, 0, 0, 0);
	rec->open_cnt = 3;
	rec->unbegun_cnt = 2;
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	assert_int_equal(answer(), 0);
	assert_string_equal(result.headline.data, "109 system calls, 7 failed");
	t = table("calls", 0);
	assert_int_equal(tapir_view_result_table__rows(t), 3);
	assert_string_equal(cell(t, 0, "call")->text, "read");
	assert_int_equal(cell(t, 0, "calls")->u64, 100);
	assert_int_equal(cell(t, 0, "failed")->u64, 0);
	assert_int_equal(cell(t, 0, "sum_ns")->u64, 90 * 1000 + 10 * 50000);
	assert_in_range(cell(t, 0, "p50_ns")->u64, 940, 1060);
	assert_in_range(cell(t, 0, "p99_ns")->u64, 47000, 50000);
	assert_int_equal(cell(t, 0, "max_ns")->u64, 50000);
	assert_string_equal(cell(t, 2, "call")->text, "write");
	assert_int_equal(cell(t, 2, "open")->u64, 3);
	assert_int_equal(cell(t, 2, "unbegun")->u64, 2);
	t = table("errors", 0);
	assert_int_equal(tapir_view_result_table__rows(t), 1);
	assert_int_equal(cell(t, 0, "failed")->u64, 7);
	assert_string_equal(cell(t, 0, "error")->text, "ENOENT");
	assert_string_equal(cell(t, 0, "call")->text, "openat");
	assert_string_equal(cell(t, 0, "process")->text, "worker (100)");
	assert_int_equal(fact("calls"), 109);
}

static void hostile_numbers_are_taken_as_they_are(void **state)
{
	struct tapir_rec_calls *rec = calls(UINT16_MAX, UINT16_MAX, UINT32_MAX, UINT64_MAX / 2);

	(void)state;
	ask("syscalls", 0);
	((struct tapir_call_step *)(rec + 1))->step = UINT32_MAX;
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	rec->kind = 250;
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	assert_int_equal(answer(), 0);
	assert_string_equal(cell(table("errors", 0), 0, "error")->text, "error 65535");
}

static void nothing_was_seen(void **state)
{
	(void)state;
	ask("syscalls", 0);
	assert_int_equal(answer(), 0);
	assert_string_equal(result.headline.data, "no system call was seen");
}

/* ---- what fails ------------------------------------------------------------------------------- */

static void what_says_nothing_yet_is_no_failure(void **state)
{
	static const uint16_t no_failures[] = {0, EAGAIN, EINTR, ETIMEDOUT, EINPROGRESS, 512, 516};
	struct tapir_failed_calls failed = {};

	(void)state;
	for (size_t i = 0; i < sizeof(no_failures) / sizeof(*no_failures); i++)
		tapir_failed_calls__add(&failed, f.catalog, calls(0, no_failures[i], 10, 1));
	assert_int_equal(failed.call_cnt, 70);
	assert_int_equal(failed.failed_cnt, 0);
	tapir_failed_calls__add(&failed, f.catalog, calls(2, EACCES, 1, 1));
	tapir_failed_calls__add(&failed, f.catalog, calls(OPENAT, ENOENT, 5, 1));
	tapir_failed_calls__add(&failed, f.catalog, calls(OPENAT, ENOENT, 5, 1));
	tapir_failed_calls__sort(&failed);
	assert_int_equal(failed.failed_cnt, 11);
	assert_int_equal(failed.rows.cnt, 2);
	assert_int_equal(failed.rows.data[0].nr, OPENAT);
	assert_int_equal(failed.rows.data[0].cnt, 10);
	tapir_failed_calls__fini(&failed);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(numbers_have_the_kernel_s_names),
		TEST(list_chooses_by_names_and_globs),
		TEST(steps_cover_all_times_in_order),
		TEST(record_that_is_shorter_than_its_parts_is_refused),
		TEST(record_counts_for_the_calls_of_a_thread_alone),
		TEST(last_values_of_a_thread_are_written_once),
		TEST(sums_and_errors_have_rows),
		TEST(hostile_numbers_are_taken_as_they_are),
		TEST(nothing_was_seen),
		TEST(what_says_nothing_yet_is_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
