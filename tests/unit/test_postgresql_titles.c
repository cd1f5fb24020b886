// SPDX-License-Identifier: GPL-2.0-or-later
/* When forked processes of PostgreSQL are looked at for what they call themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/titles.h"
#include "trace/recbuf.h"

static struct tapir_titles titles;

static void begin(uint32_t tgid, const char *comm, uint8_t kind, uint64_t now_ns)
{
	struct tapir_rec_process process = {.tgid = tgid, .kind = kind};
	struct tapir_recbuf buf = {};
	const struct tapir_rec *rec =
		tapir_recbuf__process(&buf, &process, tapir_sv__of(comm), tapir_sv__of(""),
				      tapir_sv__of(""), tapir_sv__of(""));

	tapir_titles__add(&titles, (const struct tapir_rec_process *)rec, now_ns);
	tapir_recbuf__fini(&buf);
}

static void forked_process_is_looked_at_after_a_moment(void **state)
{
	uint32_t tgid = 0;

	(void)state;
	titles = (struct tapir_titles){};
	assert_int_equal(tapir_titles__next_ns(&titles), UINT64_MAX);
	begin(10, "bash", TAPIR_PROCESS_FORK, 1000);
	begin(11, "postgres", TAPIR_PROCESS_EXEC, 1000);
	begin(12, "postgres", TAPIR_PROCESS_EXIT, 1000);
	assert_int_equal(tapir_titles__next_ns(&titles), UINT64_MAX);
	begin(13, "postgres", TAPIR_PROCESS_FORK, 1000);
	begin(14, "postgres", TAPIR_PROCESS_FORK, 2000);
	assert_false(tapir_titles__take(&titles, 2000, &tgid));
	assert_int_equal(tapir_titles__next_ns(&titles), 1000 + 10 * TAPIR_NS_PER_MS);
	assert_true(tapir_titles__take(&titles, 1500 + 10 * TAPIR_NS_PER_MS, &tgid));
	assert_int_equal(tgid, 13);
	assert_false(tapir_titles__take(&titles, 1500 + 10 * TAPIR_NS_PER_MS, &tgid));
	assert_true(tapir_titles__take(&titles, UINT64_MAX - 1, &tgid));
	assert_int_equal(tgid, 14);
}

static void processes_that_find_no_room_are_left_out(void **state)
{
	uint32_t tgid, cnt = 0;

	(void)state;
	titles = (struct tapir_titles){};
	for (uint32_t i = 0; i < TAPIR_TITLES_MAX + 10; i++)
		begin(100 + i, "postgres", TAPIR_PROCESS_FORK, 1000);
	while (tapir_titles__take(&titles, UINT64_MAX - 1, &tgid))
		assert_int_equal(tgid, 100 + cnt++);
	assert_int_equal(cnt, TAPIR_TITLES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forked_process_is_looked_at_after_a_moment),
		cmocka_unit_test(processes_that_find_no_room_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
