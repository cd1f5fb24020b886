// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests by route: pairs by key, what their time is, the attach, and paths that clients make up.
 *
 * runtimes: dotnet
 */
#include "analyze/spans/route_of_path.h"
#include "view_fixture.h"

#define KESTREL "Microsoft-AspNetCore-Server-Kestrel"

enum { BEGIN = 1, END, CALL, CALLED, IDLE, PAUSE, GOES_ON, KEYLESS, KEYLESS_END };

static void describe(void)
{
	feeder_probe(&f, BEGIN, KESTREL, "RequestStart", "requestId", "path");
	feeder_probe(&f, END, KESTREL, "RequestStop", "requestId", "path");
	feeder_probe(&f, CALL, "Microsoft-Diagnostics-DiagnosticSource", "Activity2Start", "SpanId",
		     "Url");
	feeder_probe(&f, CALLED, "Microsoft-Diagnostics-DiagnosticSource", "Activity2Stop",
		     "SpanId", "Url");
	feeder_probe(&f, IDLE, RUNTIME, "ThreadPoolWorkerThreadWait", NULL, NULL);
	feeder_probe(&f, PAUSE, RUNTIME, "GCSuspendEEBegin", NULL, NULL);
	feeder_probe(&f, GOES_ON, RUNTIME, "GCRestartEEBegin", NULL, NULL);
	feeder_probe(&f, KEYLESS, KESTREL, "RequestStart", NULL, "path");
	feeder_probe(&f, KEYLESS_END, KESTREL, "RequestStop", NULL, "path");
	ask("requests", 0);
	feeder_come(&f, 1, MS / 2, 0, 0);
	feeder_come(&f, 2, MS / 2, 0, 0);
}

static void attached(uint64_t time_ns)
{
	feeder_add(&f, tapir_recbuf__meta(&f.buf, time_ns, feeder_sv(TAPIR_META_BEGAN),
					  feeder_sv("after 0.1 s")));
}

/* The recording begins: it has not attached anything yet. */
static void requested(void)
{
	feeder_add(&f, tapir_recbuf__meta(&f.buf, 1, feeder_sv(TAPIR_META_SPECS), feeder_sv("*")));
}

static void begin(uint64_t id, uint32_t tid, uint64_t ms, const char *path)
{
	fire_with(BEGIN, tid, ms * MS, id, path);
}

static void end(uint64_t id, uint32_t tid, uint64_t ms)
{
	fire_with(END, tid, ms * MS, id, "/");
}

static uint64_t part_ns(unsigned nth, const char *name)
{
	const struct tapir_view_result_table *parts = table("parts", nth);

	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++)
		if (!strcmp(cell(parts, row, "part")->text, name))
			return cell(parts, row, "ns")->u64;
	return 0;
}

static uint64_t all_parts_ns(unsigned nth)
{
	const struct tapir_view_result_table *parts = table("parts", nth);
	uint64_t sum = 0;

	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++)
		sum += cell(parts, row, "ns")->u64;
	return sum;
}

/* ---- routes ----------------------------------------------------------------------------------- */

static void paths_become_routes(void **state)
{
	static const struct {
		const char *label, *route;
	} cases[] = {
		{"GET /tax/760", "GET /tax/{n}"},
		{"GET /tax/760/lines/-5?full=1", "GET /tax/{n}/lines/{n}"},
		{"GET /", "GET /"},
		{"GET /v1/orders2", "GET /v1/orders2"},
		{"GET /price/1.5", "GET /price/{n}"},
		{"GET /1.2.3.4/", "GET /1.2.3.4/"},
		{"GET /o/6f9619ff-8b86-d011-b42d-00cf4fc964ff", "GET /o/{id}"},
		{"GET /o/6f9619ff-8b86-d011-b42d-00cf4fc964f", "GET /o/{id}"}, /* a token */
		{"GET /blob/0123456789abcdef", "GET /blob/{id}"},
		{"GET /deadbeef/facade", "GET /deadbeef/facade"},
		{"GET /a-name-that-is-long-and-of-words", "GET /a-name-that-is-long-and-of-words"},
		{"GET http://127.0.0.1:5791/item/7#x", "GET http://127.0.0.1:5791/item/{n}"},
		{"GET https://host", "GET https://host"},
		{"GET //1//2/", "GET //{n}//{n}/"},
		{"GET /x?/1/2 /srv/index.php", "GET /x /srv/index.php"},
		{"", ""},
		{"?", ""},
		{"-", "-"},
		{".", "."},
		{"://", "://"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tapir_str out = {};

		tapir_route__add(&out, cases[i].label);
		assert_string_equal(out.data ? out.data : "", cases[i].route);
		tapir_str__fini(&out);
	}
}

/* Tries each byte at each position around the limit; the text before it stays. */
static void hostile_paths_are_bounded(void **state)
{
	char label[4 * TAPIR_ROUTE_MAX_BYTES];

	(void)state;
	for (size_t len = TAPIR_ROUTE_MAX_BYTES - 4; len < TAPIR_ROUTE_MAX_BYTES + 4; len++)
		for (unsigned byte = 1; byte < 256; byte++) {
			struct tapir_str out = {};

			memset(label, (int)byte, sizeof(label));
			memset(label, 'x', len);
			label[sizeof(label) - 1] = 0;
			tapir_str__adds(&out, "before");
			tapir_route__add(&out, label);
			assert_true(out.len <= 6 + TAPIR_ROUTE_MAX_BYTES + 3);
			assert_int_equal(strlen(out.data), out.len);
			assert_memory_equal(out.data, "before", 6);
			tapir_str__fini(&out);
		}
}

/* ---- pairs ------------------------------------------------------------------------------------ */

static void requests_are_paired_across_threads_in_any_order(void **state)
{
	const struct tapir_view_result_table *routes;

	(void)state;
	describe();
	begin(1, 1, 10, "/tax/760");
	begin(2, 1, 11, "/item/1");
	begin(3, 2, 12, "/tax/761");
	end(3, 1, 13);
	end(1, 2, 110);
	end(2, 2, 16);
	assert_int_equal(answer(), 0);
	routes = table("routes", 0);
	assert_int_equal(tapir_view_result_table__rows(routes), 2);
	assert_string_equal(cell(routes, 0, "route")->text, "/tax/{n}");
	assert_int_equal(cell(routes, 0, "count")->u64, 2);
	assert_int_equal(cell(routes, 0, "max_ns")->u64, 100 * MS);
	assert_int_equal(cell(routes, 0, "sum_ns")->u64, 101 * MS);
	assert_false(cell(routes, 0, "errors")->is_there);
	assert_string_equal(cell(routes, 1, "route")->text, "/item/{n}");
	assert_int_equal(cell(routes, 1, "max_ns")->u64, 5 * MS);
	assert_int_equal(fact("count"), 3);
	assert_non_null(strstr(result.headline.data, "3 requests"));
}

static void lost_ends_are_in_no_percentile(void **state)
{
	(void)state;
	describe();
	begin(1, 1, 10, "/a");
	end(1, 2, 20);
	begin(2, 1, 30, "/a"); /* its end is lost */
	end(3, 1, 40);	       /* its begin is lost */
	begin(4, 1, 50, "/a");
	begin(4, 2, 900, "/a"); /* the end of the one before is lost */
	end(4, 1, 910);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), 2);
	assert_int_equal(fact("incomplete"), 3);
	assert_int_equal(cell(table("routes", 0), 0, "max_ns")->u64, 10 * MS);
}

static void events_without_their_key_are_no_number(void **state)
{
	(void)state;
	describe();
	for (uint64_t ms = 10; ms < 100; ms += 10) {
		feeder_event(&f, (struct feeder_event){.probe_id = KEYLESS,
						       .tgid = 100,
						       .tid = 1,
						       .time_ns = ms * MS,
						       .text = "/a"});
		feeder_event(&f, (struct feeder_event){.probe_id = KEYLESS_END,
						       .tgid = 100,
						       .tid = 1,
						       .time_ns = (ms + 1) * MS,
						       .text = "/a"});
	}
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("not_known"), 9);
	assert_int_equal(fact("count"), 0);
	for (size_t i = 0; i < result.tables.cnt; i++)
		assert_string_not_equal(result.tables.data[i].key, "routes");
}

static void calls_are_no_requests(void **state)
{
	(void)state;
	describe();
	begin(1, 1, 10, "/order");
	fire_with(CALL, 1, 11 * MS, 7, "http://back:80/item/7");
	fire_with(CALLED, 2, 19 * MS, 7, "");
	end(1, 2, 20);
	fire_with(CALL, 1, 30 * MS, 8, "http://back:80/item/8"); /* of no request */
	fire_with(CALLED, 1, 35 * MS, 8, "");
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), 1);
	assert_int_equal(tapir_view_result_table__rows(table("routes", 0)), 1);
	assert_int_equal(cell(table("calls", 0), 0, "count")->u64, 2);
	assert_string_equal(cell(table("calls", 0), 0, "route")->text, "http://back:80/item/{n}");
	assert_int_equal(cell(table("calls", 0), 0, "max_ns")->u64, 8 * MS);
}

/* Two sources report the same three requests: the one with their status counts. */
static void requests_count_once_and_errors_by_their_status(void **state)
{
	static const char *const answers[] = {"200", "503", "404"};
	const struct tapir_view_result_table *routes;

	(void)state;
	describe();
	feeder_probe(&f, 20, "Microsoft-Diagnostics-DiagnosticSource", "Activity1Start", "SpanId",
		     "Path");
	feeder_probe(&f, 21, "Microsoft-Diagnostics-DiagnosticSource", "Activity1Stop", "SpanId",
		     "Status");
	for (uint64_t i = 0; i < 3; i++) {
		begin(i, 1, 10 + 10 * i, "/a/1");
		fire_with(20, 1, (11 + 10 * i) * MS, 1 + i, "/a/1");
		fire_with(21, 2, (15 + 10 * i) * MS, 1 + i, answers[i]);
		end(i, 2, 16 + 10 * i);
	}
	assert_int_equal(answer(), 0);
	routes = table("routes", 0);
	assert_int_equal(tapir_view_result_table__rows(routes), 1);
	assert_int_equal(cell(routes, 0, "count")->u64, 3);
	assert_int_equal(cell(routes, 0, "max_ns")->u64, 4 * MS);
	assert_int_equal(cell(routes, 0, "errors")->u64, 1);
}

/* ---- time ------------------------------------------------------------------------------------- */

/* It blocks its thread, and the collector stops the process during the wait. */
static void parts_of_a_request_on_one_thread_add_up(void **state)
{
	(void)state;
	describe();
	begin(1, 1, 10, "/a");
	feeder_leave(&f, 1, 12 * MS, TAPIR_STATE_SLEEPING);
	fire(PAUSE, 2, 14 * MS);
	fire(GOES_ON, 2, 17 * MS);
	feeder_come(&f, 1, 20 * MS, 19 * MS, 9);
	end(1, 1, 25);
	assert_int_equal(answer(), 0);
	assert_int_equal(all_parts_ns(0), 15 * MS);
	assert_int_equal(part_ns(0, "on CPU"), 7 * MS);
	assert_int_equal(part_ns(0, "blocked"), 4 * MS);
	assert_int_equal(part_ns(0, "waits for a CPU"), 1 * MS);
	assert_int_equal(part_ns(0, "in GC"), 3 * MS);
	assert_int_equal(part_ns(0, "not known"), 0);
}

/* Its thread serves another request, or has nothing to do: it awaits. It ends on the same thread.
 */
static void time_of_other_work_is_not_the_request_s(void **state)
{
	(void)state;
	describe();
	begin(1, 1, 10, "/a");
	begin(2, 1, 20, "/b");
	end(2, 1, 40);
	end(1, 1, 110);
	begin(3, 1, 200, "/c");
	fire(IDLE, 1, 201 * MS);
	end(3, 1, 210);
	assert_int_equal(answer(), 0);
	assert_string_equal(cell(table("routes", 0), 0, "route")->text, "/a");
	assert_int_equal(part_ns(0, "not known"), 100 * MS);
	assert_string_equal(cell(table("routes", 0), 1, "route")->text, "/b");
	assert_int_equal(part_ns(1, "on CPU"), 20 * MS);
	assert_string_equal(cell(table("routes", 0), 2, "route")->text, "/c");
	assert_int_equal(part_ns(2, "not known"), 10 * MS);
}

static void collections_are_known_whoever_works_for_it(void **state)
{
	(void)state;
	describe();
	begin(1, 1, 10, "/a");
	fire(IDLE, 1, 12 * MS);
	fire(PAUSE, 2, 14 * MS);
	fire(GOES_ON, 2, 17 * MS);
	end(1, 2, 20);
	assert_int_equal(answer(), 0);
	assert_int_equal(part_ns(0, "in GC"), 3 * MS);
	assert_int_equal(part_ns(0, "not known"), 7 * MS);
}

/* 99 of 100 use the CPU; the slowest is blocked. */
static void slowest_hundredth_has_parts_of_its_own(void **state)
{
	const struct tapir_view_result_table *parts;

	(void)state;
	describe();
	for (uint64_t i = 0; i < 200; i++) {
		begin(i, 1, 10 + 10 * i, "/a");
		if (i == 100) {
			feeder_leave(&f, 1, (10 + 10 * i) * MS, TAPIR_STATE_SLEEPING);
			feeder_come(&f, 1, (18 + 10 * i) * MS, (18 + 10 * i) * MS, 9);
		}
		end(i, 1, 10 + 10 * i + (i == 100 ? 8 : 1));
	}
	assert_int_equal(answer(), 0);
	parts = table("parts", 0);
	assert_int_equal(part_ns(0, "on CPU"), 199 * MS);
	for (size_t row = 0; row < tapir_view_result_table__rows(parts); row++)
		if (!strcmp(cell(parts, row, "part")->text, "blocked"))
			assert_true(cell(parts, row, "slowest_percent")->f64 >
				    3 * cell(parts, row, "percent")->f64);
}

/* ---- the attach ------------------------------------------------------------------------------- */

static void requests_that_overlap_the_attach_are_left_out(void **state)
{
	(void)state;
	requested();
	describe();
	begin(1, 1, 10, "/a"); /* closes before it is known when all was attached */
	end(1, 1, 20);
	begin(2, 1, 900, "/a");
	attached(1000 * MS);
	begin(3, 2, 1001, "/a");
	end(3, 2, 1003);
	end(2, 1, 1700);
	assert_int_equal(answer(), 0);
	assert_int_equal(fact("count"), 1);
	assert_int_equal(fact("at_attach"), 2);
	assert_int_equal(cell(table("routes", 0), 0, "max_ns")->u64, 2 * MS);
}

static void slow_marks_what_overlaps_the_attach(void **state)
{
	const struct tapir_view_result_table *slowest;

	(void)state;
	feeder_probe(&f, BEGIN, KESTREL, "RequestStart", "requestId", "path");
	feeder_probe(&f, END, KESTREL, "RequestStop", "requestId", "path");
	ask("slow=server_request", 0);
	begin(2, 1, 90, "/a");
	attached(100 * MS);
	begin(3, 2, 101, "/a");
	end(3, 2, 103);
	end(2, 1, 700);
	assert_int_equal(answer(), 0);
	slowest = table("slowest", 0);
	assert_false(cell(slowest, 0, "incomplete")->is_there);
	assert_string_equal(cell(slowest, 1, "incomplete")->text, "overlaps the attach");
	assert_int_equal(fact("count"), 1);
	assert_int_equal(fact("sum_ns"), 2 * MS);
	assert_int_equal(f.pairs.kinds.data[0].cnt, 1);
	assert_int_equal(f.pairs.kinds.data[0].at_attach, 1);
}

static void recording_without_requests_says_so(void **state)
{
	(void)state;
	describe();
	assert_int_equal(answer(), 0);
	assert_true(result.has_nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(paths_become_routes),
		TEST(hostile_paths_are_bounded),
		TEST(requests_are_paired_across_threads_in_any_order),
		TEST(lost_ends_are_in_no_percentile),
		TEST(events_without_their_key_are_no_number),
		TEST(calls_are_no_requests),
		TEST(requests_count_once_and_errors_by_their_status),
		TEST(parts_of_a_request_on_one_thread_add_up),
		TEST(time_of_other_work_is_not_the_request_s),
		TEST(collections_are_known_whoever_works_for_it),
		TEST(slowest_hundredth_has_parts_of_its_own),
		TEST(requests_that_overlap_the_attach_are_left_out),
		TEST(slow_marks_what_overlaps_the_attach),
		TEST(recording_without_requests_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
