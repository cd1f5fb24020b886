// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of the first screen: rows by route, of one process or several, and what has no route.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "finding_state.h"

#define KESTREL "Microsoft-AspNetCore-Server-Kestrel"
#define OTHER	200

enum { BEGIN = 1, END, ASK, ASKED };

static struct tapir_overview overview;

static int setup(void **state)
{
	(void)state;
	overview = (struct tapir_overview){};
	if (finding_begin())
		return -1;
	feeder_probe(&f, BEGIN, KESTREL, "RequestStart", "requestId", "path");
	feeder_probe(&f, END, KESTREL, "RequestStop", "requestId", "path");
	feeder_probe(&f, ASK, "Shop-Orders", "OrderStart", "id", NULL);
	feeder_probe(&f, ASKED, "Shop-Orders", "OrderStop", "id", NULL);
	return finding_listen();
}

static int teardown(void **state)
{
	tapir_overview__fini(&overview);
	return finding_teardown(state);
}

static void fire(uint32_t probe, uint32_t tgid, uint64_t ms, uint64_t id, const char *path)
{
	feeder_event(&f, (struct feeder_event){.probe_id = probe,
					       .tgid = tgid,
					       .tid = tgid + 1,
					       .time_ns = ms * MS,
					       .number = id,
					       .has_number = true,
					       .text = path});
}

/* cnt requests, one after the other, of so many milliseconds each. */
static void serve(uint32_t tgid, uint64_t from_ms, unsigned cnt, uint64_t took_ms, const char *path)
{
	for (unsigned i = 0; i < cnt; i++) {
		fire(BEGIN, tgid, from_ms, 1000 * tgid + from_ms, path);
		fire(END, tgid, from_ms + took_ms, 1000 * tgid + from_ms, path);
		from_ms += took_ms + 1;
	}
}

static void look(void)
{
	assert_int_equal(tapir_timeline__finish(f.tl), 0);
	tapir_diagnosis__list(&finding, &found);
	tapir_overview__make(&finding, &overview);
	assert_false(overview.failed);
}

static void rows_are_routes_with_most_of_the_time(void **state)
{
	(void)state;
	serve(TGID, 10, 4, 2, "/item/7");
	serve(TGID, 100, 3, 50, "/tax/760");
	serve(TGID, 300, 2, 3, "/");
	serve(TGID, 320, 1, 1, "/health");
	look();
	assert_int_equal(overview.request_cnt, TAPIR_OVERVIEW_ROWS);
	assert_string_equal(overview.requests[0].name, "/tax/{n}");
	assert_int_equal(overview.requests[0].cnt, 3);
	assert_int_equal(overview.requests[0].sum_ns, 150 * MS);
	assert_int_equal(overview.requests[0].pid, TGID);
	assert_true(overview.requests[0].is_route);
	assert_string_equal(overview.requests[1].name, "/item/{n}");
	assert_string_equal(overview.requests[2].name, "/");
}

static void process_is_named_when_there_are_several(void **state)
{
	(void)state;
	feeder_thread(&f, TGID, "shop");
	serve(TGID, 10, 3, 5, "/item/7");
	serve(OTHER, 100, 3, 50, "/tax/760");
	look();
	assert_int_equal(overview.request_cnt, 2);
	assert_string_equal(overview.requests[0].name, "process (200): /tax/{n}");
	assert_string_equal(overview.requests[1].name, "shop (100): /item/{n}");
}

/* A path comes from a client: it is whatever bytes that sends. */
static void hostile_path_is_one_bounded_row(void **state)
{
	(void)state;
	serve(TGID, 10, 3, 5, "/\033[2J\xff\n%s%n/999999999999999999999999");
	look();
	assert_int_equal(overview.request_cnt, 1);
	assert_int_equal(overview.requests[0].cnt, 3);
}

static void recording_without_requests_has_no_row(void **state)
{
	(void)state;
	fire(END, TGID, 10, 1, "/");
	look();
	assert_int_equal(overview.request_cnt, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_are_routes_with_most_of_the_time),
		TEST(process_is_named_when_there_are_several),
		TEST(hostile_path_is_one_bounded_row),
		TEST(recording_without_requests_has_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
