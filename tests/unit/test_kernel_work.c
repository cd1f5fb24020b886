// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's work in numbers: its words, the rows that programs add to, its records and view. */
#include "record/kernel_rows.h" /* before the names of the fixture */
#include "record/pressure_watch.h"

#include "view_fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/family.h"
#include "trace/kernel_work.h"

#define ROWS 8

/* ---- words ------------------------------------------------------------------------------------ */

static void list_chooses_kinds(void **state)
{
	static const char *const bad[] = {"",  "fault",	     "faults,",
					  ",", "faults,irq", "faults locks"};
	struct tapir_str text = {};
	uint32_t kinds = 0;

	(void)state;
	assert_int_equal(tapir_kernel_work__choose("locks", &kinds), 0);
	assert_int_equal(kinds, TAPIR_KERNEL_HAS_LOCKS);
	assert_int_equal(tapir_kernel_work__choose("irqs,faults", &kinds), 0);
	assert_int_equal(kinds, TAPIR_KERNEL_HAS_ALL & ~TAPIR_KERNEL_HAS_PRESSURE);
	tapir_kernel_work__add_list(&text, TAPIR_KERNEL_HAS_ALL);
	assert_string_equal(text.data, "faults,irqs,locks,pressure");
	tapir_str__fini(&text);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		tapir_diag__clear();
		assert_int_equal(tapir_kernel_work__choose(bad[i], &kinds), -EINVAL);
		assert_non_null(
			strstr(tapir_diag__line(0), "LIST is of faults, irqs, locks and pressure"));
	}
}

static void numbers_have_the_kernel_s_names(void **state)
{
	(void)state;
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_SOFTIRQ, 3), "NET_RX");
	assert_null(tapir_kernel_work__label(TAPIR_KERNEL_SOFTIRQ, 10));
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_VECTOR, 0), "local timer");
	assert_null(tapir_kernel_work__label(TAPIR_KERNEL_VECTOR, UINT32_MAX));
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_LOCK, 1), "spin lock");
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_LOCK, 5), "rwlock, write");
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_LOCK, 0x12),
			    "per-CPU rwsem, read");
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_LOCK, 0x20), "mutex");
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_LOCK, 0), "semaphore");
	assert_string_equal(tapir_kernel_work__label(TAPIR_KERNEL_LOCK, UINT32_MAX), "mutex");
	assert_null(tapir_kernel_work__label(TAPIR_KERNEL_FAULT, 0));
	assert_null(tapir_kernel_work__label(250, 0));
	assert_null(tapir_kernel_kind__name(TAPIR_KERNEL_KIND_CNT));
}

/* ---- rows --------------------------------------------------------------------------------------- */

struct written {
	unsigned cnt, stack_cnt, thread_cnt;
	struct tapir_rec_kernel last;
	char name[TAPIR_KERNEL_NAME_BYTES + 1];
};

static void on_written(void *written, const struct tapir_rec *rec)
{
	const struct tapir_rec_kernel *kernel = (const void *)rec;
	struct written *w = written;

	assert_true(tapir_record__ok(rec, rec->size));
	w->stack_cnt += rec->type == TAPIR_REC_STACK;
	w->thread_cnt += rec->type == TAPIR_REC_THREAD;
	if (rec->type != TAPIR_REC_KERNEL)
		return;
	w->cnt++;
	w->last = *kernel;
	memcpy(w->name, kernel + 1, kernel->name_len);
	w->name[kernel->name_len] = '\0';
}

static void what_was_added_is_written_once(void **state)
{
	static struct tapir_kernel_row rows[ROWS];
	struct written w = {};
	struct tapir_kernel_rows *k = tapir_kernel_rows__new(rows, ROWS, on_written, &w);

	(void)state;
	memset(rows, 0, sizeof(rows));
	assert_non_null(k);
	rows[5] = (struct tapir_kernel_row){.id = 7,
					    .is_ready = 1,
					    .kind = TAPIR_KERNEL_IRQ,
					    .number = 36,
					    .name = "a name that fills all 24",
					    .cnt = 3,
					    .sum_ns = 900,
					    .max_ns = 600};
	rows[6] = (struct tapir_kernel_row){.id = 8, .cnt = 1}; /* it is being filled */
	tapir_kernel_rows__poll(k, 5 * MS, true);
	assert_int_equal(w.cnt, 1);
	assert_int_equal(w.last.cnt, 3);
	assert_int_equal(w.last.sum_ns, 900);
	assert_string_equal(w.name, "a name that fills all 24");
	tapir_kernel_rows__poll(k, 6 * MS, true);
	assert_int_equal(w.cnt, 1);
	rows[5].cnt = 5;
	rows[5].sum_ns = 1000;
	tapir_kernel_rows__poll(k, 7 * MS, true);
	assert_int_equal(w.cnt, 2);
	assert_int_equal(w.last.cnt, 2);
	assert_int_equal(w.last.sum_ns, 100);
	assert_int_equal(w.last.max_ns, 600);
	assert_true(w.last.since_ns <= w.last.h.time_ns);
	tapir_kernel_rows__free(k);
	tapir_kernel_rows__free(NULL);
	tapir_kernel_rows__poll(NULL, 8 * MS, true);
}

static void wait_for_a_lock_has_the_stack_of_its_caller(void **state)
{
	static struct tapir_kernel_row rows[ROWS];
	struct written w = {};
	struct tapir_kernel_rows *k = tapir_kernel_rows__new(rows, ROWS, on_written, &w);

	(void)state;
	memset(rows, 0, sizeof(rows));
	rows[0] = (struct tapir_kernel_row){.id = 7,
					    .is_ready = 1,
					    .tgid = (uint32_t)getpid(),
					    .kind = TAPIR_KERNEL_LOCK,
					    .number = 4,
					    .stack_id = 77,
					    .lock_va = 0xffff888100000000,
					    .frame_cnt = UINT32_MAX,
					    .name = "test",
					    .cnt = 1};
	tapir_kernel_rows__poll(k, 5 * MS, true);
	assert_int_equal(w.stack_cnt, 1);
	assert_int_equal(w.thread_cnt, 1);
	assert_int_equal(w.last.kernel_stack_id, 77);
	assert_int_equal(w.last.stack_id, 0);
	assert_int_equal(w.last.name_len, 0);
	tapir_kernel_rows__free(k);
}

static void rows_of_a_process_that_is_gone_are_given_back(void **state)
{
	static struct tapir_kernel_row rows[ROWS];
	struct written w = {};
	struct tapir_kernel_rows *k = tapir_kernel_rows__new(rows, ROWS, on_written, &w);
	pid_t gone = fork();

	(void)state;
	if (!gone)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	memset(rows, 0, sizeof(rows));
	for (uint32_t i = 0; i < 6; i++)
		rows[i] = (struct tapir_kernel_row){.id = 1 + i,
						    .is_ready = 1,
						    .tgid = i < 2   ? (uint32_t)getpid()
							    : i < 5 ? (uint32_t)gone
								    : 0,
						    .kind = TAPIR_KERNEL_FAULT,
						    .cnt = 1};
	tapir_kernel_rows__poll(k, 5 * MS, true);
	assert_int_equal(w.cnt, 6);
	for (uint32_t i = 0; i < ROWS; i++)
		assert_int_equal(!rows[i].id, (i >= 2 && i < 5) || i >= 6);
	assert_int_equal(rows[2].cnt, 0);
	rows[2] = (struct tapir_kernel_row){
		.id = 9, .is_ready = 1, .kind = TAPIR_KERNEL_FAULT, .cnt = 1};
	tapir_kernel_rows__poll(k, 6 * MS, true);
	assert_int_equal(w.cnt, 7); /* what was there before is not taken off */
	tapir_kernel_rows__free(k);
}

/* ---- records and the view ----------------------------------------------------------------------- */

static union {
	struct tapir_rec_kernel rec;
	char room[sizeof(struct tapir_rec_kernel) + 24];
} made;

static struct tapir_rec_kernel *work(uint8_t kind, uint32_t number, uint64_t cnt, uint64_t sum_ns)
{
	made.rec = (struct tapir_rec_kernel){.tgid = 100,
					     .number = number,
					     .kind = kind,
					     .cnt = cnt,
					     .sum_ns = sum_ns,
					     .max_ns = sum_ns};
	tapir_rec__init(&made.rec.h, TAPIR_REC_KERNEL, sizeof(made.rec), 5 * MS);
	return &made.rec;
}

static void record_that_is_shorter_than_its_parts_is_refused(void **state)
{
	struct tapir_rec_kernel *rec = work(TAPIR_KERNEL_IRQ, 1, 1, 1);

	(void)state;
	assert_true(tapir_record__ok(&rec->h, rec->h.size));
	rec->name_len = 1;
	assert_false(tapir_record__fits(&rec->h));
	rec->name_len = UINT16_MAX;
	assert_false(tapir_record__fits(&rec->h));
	rec->name_len = 0;
	rec->h.size = sizeof(*rec) - 8;
	assert_false(tapir_record__fits(&rec->h));
}

static void record_counts_for_what_it_counts(void **state)
{
	(void)state;
	assert_int_equal(tapir_rec__weight(&work(TAPIR_KERNEL_FAULT, 0, 42, 0)->h), 42);
}

static void sums_have_rows_by_kind(void **state)
{
	struct tapir_rec_thread thread = {
		.tgid = 100, .tid = 100, .start_ns = 1, .comm = "worker", .leader_comm = "worker"};
	const struct tapir_view_result_table *t;
	struct tapir_rec_kernel *rec;

	(void)state;
	tapir_rec__init(&thread.h, TAPIR_REC_THREAD, sizeof(thread), 1);
	assert_int_equal(feeder_add(&f, &thread.h), 0);
	ask("kernel", 0);
	rec = work(TAPIR_KERNEL_FAULT, 0, 90, 0);
	rec->part_cnt = 4;
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	assert_int_equal(feeder_add(&f, &work(TAPIR_KERNEL_SOFTIRQ, 3, 5, 3 * MS)->h), 0);
	rec = work(TAPIR_KERNEL_VECTOR, 0, 7, MS);
	rec->tgid = 0;
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	assert_int_equal(feeder_add(&f, &work(TAPIR_KERNEL_LOCK, 32, 2, 2 * MS)->h), 0);
	assert_int_equal(answer(), 0);
	assert_string_equal(result.headline.data,
			    "180 page faults, 8 major, 4.0 ms in interrupts, 2.0 ms in 2 waits for "
			    "locks of the kernel");
	t = table("faults", 0);
	assert_int_equal(tapir_view_result_table__rows(t), 1);
	assert_int_equal(cell(t, 0, "faults")->u64, 180);
	assert_int_equal(cell(t, 0, "major")->u64, 8);
	assert_string_equal(cell(t, 0, "process")->text, "worker (100)");
	t = table("interrupts", 0);
	assert_int_equal(tapir_view_result_table__rows(t), 2);
	assert_string_equal(cell(t, 0, "source")->text, "NET_RX");
	assert_int_equal(cell(t, 0, "sum_ns")->u64, 3 * MS);
	assert_string_equal(cell(t, 1, "source")->text, "local timer");
	t = table("interrupted", 0);
	assert_string_equal(cell(t, 1, "process")->text, "idle");
	t = table("locks", 0);
	assert_string_equal(cell(t, 0, "kind")->text, "mutex");
	assert_int_equal(cell(t, 0, "waits")->u64, 2);
	assert_int_equal(fact("faults_cnt"), 180);
}

static void hostile_numbers_are_taken_as_they_are(void **state)
{
	struct tapir_rec_kernel *rec = work(250, UINT32_MAX, UINT64_MAX, UINT64_MAX);

	(void)state;
	ask("kernel", 0);
	assert_int_equal(feeder_add(&f, &rec->h), 0);
	for (uint8_t kind = 0; kind < TAPIR_KERNEL_KIND_CNT; kind++) {
		rec = work(kind, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX / 2);
		rec->tgid = UINT32_MAX;
		rec->stack_id = rec->kernel_stack_id = UINT64_MAX;
		assert_int_equal(feeder_add(&f, &rec->h), 0);
	}
	assert_int_equal(answer(), 0);
	assert_string_equal(cell(table("interrupts", 0), 0, "source")->text, "4294967295");
}

static void nothing_was_seen(void **state)
{
	(void)state;
	ask("kernel", 0);
	assert_int_equal(answer(), 0);
	assert_string_equal(result.headline.data, "the kernel did nothing that was counted");
}

/* ---- pressure ----------------------------------------------------------------------------------- */

static void totals_of_pressure_are_read(void **state)
{
	static const char text[] = "some avg10=95.37 avg60=84.68 avg300=74.46 total=671020775\n"
				   "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
	static const char *const bad[] = {"",
					  "\n",
					  "some",
					  "some \n total=1",
					  "some total=\n",
					  "some total=x\n",
					  "some avg10=1\nfull total=3\n",
					  "some total=99999999999999999999999999\n",
					  "something total=1"};
	uint64_t us = 7;

	(void)state;
	assert_true(tapir_pressure__parse(text, "some", &us));
	assert_int_equal(us, 671020775);
	assert_true(tapir_pressure__parse(text, "full", &us));
	assert_int_equal(us, 12);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(tapir_pressure__parse(bad[i], "some", &us));
	assert_int_equal(us, 12);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(list_chooses_kinds),
		TEST(numbers_have_the_kernel_s_names),
		TEST(what_was_added_is_written_once),
		TEST(wait_for_a_lock_has_the_stack_of_its_caller),
		TEST(rows_of_a_process_that_is_gone_are_given_back),
		TEST(record_that_is_shorter_than_its_parts_is_refused),
		TEST(record_counts_for_what_it_counts),
		TEST(sums_have_rows_by_kind),
		TEST(hostile_numbers_are_taken_as_they_are),
		TEST(nothing_was_seen),
		TEST(totals_of_pressure_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
