// SPDX-License-Identifier: GPL-2.0-or-later
/* Records that come in nearly the right order leave the window in order, however full it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "output/export/record_window.h"
#include "trace/recbuf.h"

struct record {
	struct tapir_rec_sample sample;
	uint64_t padding[2044]; /* 16 KB, so that the window fills soon */
};

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct tapir_record_window));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	tapir_record_window__fini(*state);
	free(*state);
	return 0;
}

static void add(struct tapir_record_window *w, uint64_t time_ns)
{
	static struct record rec;

	rec.sample.h = (struct tapir_rec){
		.type = TAPIR_REC_SAMPLE, .size = sizeof(rec), .time_ns = time_ns};
	assert_true(tapir_record_window__add(w, &rec.sample.h));
}

/* Takes what is there; returns how many, the times of which do not step back from *last_ns. */
static unsigned take(struct tapir_record_window *w, bool is_end, uint64_t *last_ns)
{
	const struct tapir_rec *rec;
	unsigned cnt = 0;

	for (; (rec = tapir_record_window__next(w, is_end)); cnt++) {
		assert_true(rec->time_ns >= *last_ns);
		*last_ns = rec->time_ns;
	}
	return cnt;
}

static void gives_all_in_order_at_the_end(void **state)
{
	static const uint64_t times_ns[] = {5, 3, 9, 3, 1};
	uint64_t last_ns = 0;

	for (int i = 0; i < 5; i++)
		add(*state, times_ns[i]);
	assert_int_equal(take(*state, false, &last_ns), 0);
	assert_int_equal(take(*state, true, &last_ns), 5);
	assert_null(tapir_record_window__next(*state, true));
}

static void gives_the_older_half_when_it_is_full(void **state)
{
	struct tapir_record_window *w = *state;
	uint64_t last_ns = 0, cnt = 0, given = 0;

	/* Chunks of 100 whose times step back by 50. */
	for (; cnt < 3000; cnt++) {
		add(w, 1000 + cnt - cnt / 100 * 50);
		given += take(w, false, &last_ns);
		assert_true(w->held.len <= TAPIR_RECORD_WINDOW_BYTES + sizeof(struct record));
	}
	assert_true(given > 1000);
	assert_int_equal(given + take(w, true, &last_ns), cnt);
	assert_int_equal(w->late_cnt, 0);
}

static void counts_what_comes_too_late(void **state)
{
	struct tapir_record_window *w = *state;
	uint64_t last_ns = 0;

	for (uint64_t n = 0; n < 1100; n++) {
		add(w, 1000 + n);
		take(w, false, &last_ns);
	}
	add(w, 1);
	assert_int_equal(w->late_cnt, 1);
	assert_int_equal(tapir_record_window__next(w, true)->time_ns, 1);
}

static void gives_what_is_old_when_it_is_released(void **state)
{
	uint64_t last_ns = 0;

	for (uint64_t n = 10; n; n--)
		add(*state, n * 100);
	tapir_record_window__release(*state, 250);
	assert_int_equal(take(*state, false, &last_ns), 7);
	assert_int_equal(last_ns, 700);
	add(*state, 750);
	assert_int_equal(take(*state, false, &last_ns), 0);
	assert_int_equal(take(*state, true, &last_ns), 4);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(gives_all_in_order_at_the_end),
		CASE(gives_the_older_half_when_it_is_full),
		CASE(counts_what_comes_too_late),
		CASE(gives_what_is_old_when_it_is_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
