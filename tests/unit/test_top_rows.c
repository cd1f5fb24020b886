// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of tapir top: sums of intervals are those of the kernel, whoever begins and ends meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/diag.h"
#include "cli/top_filter.h"
#include "cli/top_rows.h"
#include "cli/top_table.h"

#define BEGAN 1000u

static struct tapir_top_rows *rows;

static int setup(void **state)
{
	(void)state;
	rows = calloc(1, sizeof(*rows));
	return !rows;
}

static int teardown(void **state)
{
	(void)state;
	tapir_top_rows__fini(rows);
	free(rows);
	return 0;
}

/* A thread that began before the interval, unless start_ns says otherwise. */
static struct tapir_thread_use use(uint32_t tgid, uint32_t tid, uint64_t cpu_ns)
{
	struct tapir_thread_use u = {.tgid = tgid,
				     .tid = tid,
				     .start_ns = 1,
				     .cpu_ns = cpu_ns,
				     .state = 1,
				     .syscall = SYS_futex,
				     .comm = "thread"};

	return u;
}

static void look(const struct tapir_thread_use *uses, size_t cnt)
{
	tapir_top_rows__begin_look(rows);
	for (size_t i = 0; i < cnt; i++)
		assert_int_equal(tapir_top_rows__see(rows, &uses[i]), 0);
	tapir_top_rows__end_look(rows);
}

static const struct tapir_top_row *row_of(const struct tapir_top_list *list, uint32_t tgid,
					  uint32_t tid)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (list->data[i].tgid == tgid && list->data[i].tid == tid)
			return &list->data[i];
	return NULL;
}

static void sums_are_differences_of_looks(void **state)
{
	struct tapir_thread_use uses[] = {use(7, 7, 100), use(7, 8, 50), use(9, 9, 5)};

	(void)state;
	look(uses, 3);
	tapir_top_rows__begin(rows, BEGAN);
	uses[0].cpu_ns = 130;
	look(uses, 3);
	uses[1].cpu_ns = 70;
	look(uses, 3);
	tapir_top_rows__end_interval(rows, BEGAN + 100);
	assert_int_equal(row_of(&rows->processes, 7, 0)->used.cpu_ns, 50);
	assert_int_equal(row_of(&rows->threads, 7, 8)->used.cpu_ns, 20);
	assert_int_equal(row_of(&rows->processes, 9, 0)->used.cpu_ns, 0);
	assert_int_equal(row_of(&rows->processes, 7, 0)->thread_cnt, 2);
	assert_true(row_of(&rows->processes, 7, 0)->waits[TAPIR_TOP_FUTEX] == 2);
	uses[0].cpu_ns = 131;
	look(uses, 3);
	tapir_top_rows__end_interval(rows, BEGAN + 200);
	assert_int_equal(row_of(&rows->processes, 7, 0)->used.cpu_ns, 1);
}

/* What an ended thread had used is its process's, and is counted once. */
static void thread_that_ends_is_its_processs(void **state)
{
	struct tapir_thread_use uses[] = {use(7, 7, 100), use(7, 8, 50)};

	(void)state;
	look(uses, 2);
	tapir_top_rows__begin(rows, BEGAN);
	uses[0].ended_cpu_ns = 60;
	look(uses, 1);
	tapir_top_rows__end_interval(rows, BEGAN + 100);
	assert_int_equal(row_of(&rows->processes, 7, 0)->used.cpu_ns, 10);
	assert_null(row_of(&rows->threads, 7, 8));
}

static void process_that_begins_counts_from_its_beginning(void **state)
{
	struct tapir_thread_use uses[] = {use(7, 7, 100), use(20, 20, 40), use(21, 21, 40)};

	(void)state;
	look(uses, 1);
	tapir_top_rows__begin(rows, BEGAN);
	uses[1].start_ns = BEGAN + 1;
	look(uses, 3);
	tapir_top_rows__end_interval(rows, BEGAN + 100);
	assert_int_equal(row_of(&rows->processes, 20, 0)->used.cpu_ns, 40);
	assert_int_equal(row_of(&rows->processes, 21, 0)->used.cpu_ns, 0); /* it was overlooked */
	uses[1] = use(20, 20, 3); /* another process has the id */
	uses[1].start_ns = BEGAN + 150;
	look(uses, 3);
	tapir_top_rows__end_interval(rows, BEGAN + 200);
	assert_int_equal(row_of(&rows->processes, 20, 0)->used.cpu_ns, 3);
}

static void process_that_ends_stays_for_its_interval(void **state)
{
	struct tapir_thread_use uses[] = {use(7, 7, 100), use(9, 9, 5)};

	(void)state;
	look(uses, 2);
	tapir_top_rows__begin(rows, BEGAN);
	uses[1].cpu_ns = 25;
	look(uses, 2);
	look(uses, 1);
	tapir_top_rows__end_interval(rows, BEGAN + 100);
	assert_int_equal(row_of(&rows->processes, 9, 0)->used.cpu_ns, 20);
	look(uses, 1);
	tapir_top_rows__end_interval(rows, BEGAN + 200);
	assert_null(row_of(&rows->processes, 9, 0));
	assert_int_equal(rows->processes.idx_by_key.cnt, 1);
}

static void waits_are_known_by_their_calls(void **state)
{
	static const struct {
		int64_t call;
		uint32_t flags, state;
		enum tapir_top_wait wait;
	} cases[] = {
		{SYS_futex, 0, 1, TAPIR_TOP_FUTEX},
		{SYS_recvmsg, 0, 1, TAPIR_TOP_NET},
		{SYS_epoll_wait, 0, 1, TAPIR_TOP_POLL},
		{SYS_wait4, 0, 1, TAPIR_TOP_SLEEP},
		{SYS_read, 0, 1, TAPIR_TOP_OTHER},
		{SYS_futex, 0, 2, TAPIR_TOP_DISK},
		{-1, TAPIR_THREAD_IO_WAIT, 1, TAPIR_TOP_DISK},
		{SYS_futex, 0, 0, TAPIR_TOP_WAIT_CNT},
		{SYS_futex, TAPIR_THREAD_ON_CPU, 1, TAPIR_TOP_WAIT_CNT},
		{-1, TAPIR_THREAD_IS_KERNELS, 0x402, TAPIR_TOP_WAIT_CNT},
		{INT64_MIN, 0, 1, TAPIR_TOP_OTHER},
	};
	struct tapir_thread_use u = use(7, 7, 1);

	(void)state;
	tapir_top_rows__begin(rows, BEGAN);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct tapir_top_row *row;

		u.syscall = cases[i].call;
		u.flags = cases[i].flags;
		u.state = cases[i].state;
		look(&u, 1);
		tapir_top_rows__end_interval(rows, BEGAN + i + 1);
		row = row_of(&rows->processes, 7, 0);
		for (int w = 0; w < TAPIR_TOP_WAIT_CNT; w++)
			assert_true(row->waits[w] == (w == (int)cases[i].wait));
	}
}

static void samples_divide_the_cpu_time(void **state)
{
	struct tapir_thread_use u = use(7, 7, 0);
	struct tapir_top_sample sample = {.tgid = 7, .tid = 7, .time_ns = BEGAN + 1};
	const struct tapir_top_row *row;

	(void)state;
	look(&u, 1);
	tapir_top_rows__sample(rows, &sample, TAPIR_WORK_GC); /* before the first interval */
	tapir_top_rows__begin(rows, BEGAN);
	look(&u, 1);
	tapir_top_rows__sample(rows, &sample, TAPIR_WORK_GC);
	for (int i = 0; i < 3; i++)
		tapir_top_rows__sample(rows, &sample, TAPIR_WORK_INTERPRETER);
	tapir_top_rows__end_interval(rows, BEGAN + 100);
	rows->ends_ns = BEGAN + 100;
	sample.time_ns = BEGAN + 101;
	tapir_top_rows__sample(rows, &sample, TAPIR_WORK_KERNEL);
	tapir_top_rows__take_samples(rows, 0);
	row = row_of(&rows->processes, 7, 0);
	assert_true(row->work[TAPIR_TOP_GC] == 1 && row->work[TAPIR_TOP_OWN] == 3);
	assert_true(tapir_top_row__samples(row) == 4);
	tapir_top_rows__take_samples(rows, 0.5);
	assert_true(tapir_top_row__samples(row) == 2);
	for (int i = 0; i < 3; i++)
		tapir_top_rows__take_samples(rows, 0.5);
	assert_true(tapir_top_row__samples(row) == 0);
}

static void tell(const char *provider, const char *name, double value, uint64_t interval_ns)
{
	const struct tapir_rec_counter rec = {
		.tgid = 7, .kind = TAPIR_COUNTER_RATE, .value = value, .interval_ns = interval_ns};
	const struct tapir_counter_view view = {
		.rec = &rec, .provider = tapir_sv__of(provider), .name = tapir_sv__of(name)};

	tapir_top_rows__counter(rows, &view);
}

static void runtimes_tell_of_themselves(void **state)
{
	struct tapir_thread_use uses[] = {use(7, 7, 0), use(8, 8, 0)};
	const struct tapir_top_row *row;

	(void)state;
	look(uses, 2);
	tapir_top_rows__begin(rows, BEGAN);
	look(uses, 2);
	tell("System.Runtime", "alloc-rate", 500, 500000000);
	tell("System.Runtime", "exception-count", 3, 1000000000);
	tell("System.Runtime", "total-pause-time-by-gc", 10, 500000000);
	tell("System.Runtime", "gc-time", 99, 500000000); /* that is a JVM's */
	tapir_top_rows__end_interval(rows, BEGAN + 1000000000);
	row = row_of(&rows->processes, 7, 0);
	assert_true(row->allocated == 1000 && row->exceptions == 3 && row->paused_ns == 20e6);
	row = row_of(&rows->processes, 8, 0);
	assert_true(row->allocated < 0 && row->exceptions < 0 && row->paused_ns < 0);
	look(uses, 2);
	tell("hsperfdata", "gc-time", 10, 500000000);
	tell("hsperfdata", "gc-time", 5, 500000000); /* of another cause */
	tapir_top_rows__end_interval(rows, BEGAN + 2000000000);
	assert_true(row_of(&rows->processes, 7, 0)->paused_ns == 15e6);
}

static void lines_fit_and_names_are_printable(void **state)
{
	struct tapir_thread_use u = use(4194304, 4194304, 1);
	struct tapir_top_view view = {.machine = 1, .cpus = 2};
	struct tapir_top_filter filter = {};
	struct tapir_str line = {};

	(void)state;
	memcpy(u.comm, "\033[2J\n\xff\xfe names..", sizeof(u.comm));
	look(&u, 1);
	tapir_top_rows__begin(rows, BEGAN);
	u.cpu_ns = UINT64_MAX / 2;
	u.read_bytes = u.written_bytes = UINT64_MAX;
	look(&u, 1);
	tapir_top_rows__end_interval(rows, BEGAN + 1000000000);
	for (size_t width = 0; width < 200; width++) {
		assert_int_equal(tapir_top_view__fill(&view, rows, width % 2, NULL, width), 0);
		assert_int_equal(view.chosen.cnt, 1);
		tapir_str__clear(&line);
		tapir_top_view__add_row(&view, view.chosen.data[0], &line);
		assert_true(!width ||
			    tapir_utf8__columns(line.data ? line.data : "", line.len) <= width);
		for (size_t i = 0; i < line.len; i++)
			assert_true((unsigned char)line.data[i] >= ' ');
	}
	assert_int_equal(tapir_top_filter__set(&filter, NULL, "nobody"), 0);
	assert_int_equal(tapir_top_view__fill(&view, rows, false, &filter, 80), 0);
	assert_int_equal(view.chosen.cnt, 0);
	assert_int_equal(tapir_top_filter__set(&filter, NULL, "4194304"), 0);
	assert_int_equal(tapir_top_view__fill(&view, rows, false, &filter, 80), 0);
	assert_int_equal(view.chosen.cnt, 1);
	tapir_top_filter__fini(&filter);
	tapir_top_view__fini(&view);
	tapir_str__fini(&line);
}

static bool is_shown(const char *text)
{
	struct tapir_top_filter filter = {};
	struct tapir_top_view view = {.cpus = 2};
	bool is_it;

	assert_int_equal(tapir_top_filter__set(&filter, NULL, text), 0);
	assert_int_equal(tapir_top_view__fill(&view, rows, false, &filter, 80), 0);
	is_it = view.chosen.cnt == 1;
	tapir_top_view__fini(&view);
	tapir_top_filter__fini(&filter);
	return is_it;
}

static void expressions_choose_rows_by_their_columns(void **state)
{
	struct tapir_thread_use u = use(7, 7, 1);

	(void)state;
	memcpy(u.comm, "shop", 5);
	look(&u, 1);
	tapir_top_rows__begin(rows, BEGAN);
	u.cpu_ns += 600000000;
	u.read_bytes += 5000;
	look(&u, 1);
	tapir_top_rows__end_interval(rows, BEGAN + 1000000000);
	assert_true(is_shown("cpu > 59.5 && cpu < 60.5"));
	assert_false(is_shown("cpu > 61"));
	assert_true(is_shown("name ~ \"sh*\" && pid == 7"));
	assert_false(is_shown("name == \"sho\""));
	assert_true(is_shown("read >= 5000 && threads == 1"));
	assert_true(is_shown("pid in (6, 7)"));
	assert_false(is_shown("gc >= 0")); /* nothing was sampled */
	assert_true(is_shown("sho"));
	assert_true(is_shown(""));
}

static void filter_with_a_mistake_is_none(void **state)
{
	static const char *const wrong[] = {"cpu >",	   "cpux > 5",	 "name > 5", "cpu = 5",
					    "cpu > \"a\"", "(((cpu > 5", "cpu > 5ms"};
	struct tapir_top_filter filter = {};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		tapir_diag__clear();
		assert_int_equal(tapir_top_filter__set(&filter, NULL, wrong[i]), -EINVAL);
		assert_true(tapir_diag__cnt() > 0);
		assert_null(filter.text);
	}
	tapir_diag__clear();
	assert_int_equal(tapir_top_filter__set(&filter, "--where", "shop"), -EINVAL);
	tapir_diag__clear();
	tapir_top_filter__fini(&filter);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sums_are_differences_of_looks),
		TEST(thread_that_ends_is_its_processs),
		TEST(process_that_begins_counts_from_its_beginning),
		TEST(process_that_ends_stays_for_its_interval),
		TEST(waits_are_known_by_their_calls),
		TEST(samples_divide_the_cpu_time),
		TEST(runtimes_tell_of_themselves),
		TEST(lines_fit_and_names_are_printable),
		TEST(expressions_choose_rows_by_their_columns),
		TEST(filter_with_a_mistake_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
