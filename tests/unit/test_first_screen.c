// SPDX-License-Identifier: GPL-2.0-or-later
/* The first screen of a report that is made up: what is on it, and that it stays a screen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "output/render/report_view.h"

#define PID 17656

struct fixture {
	struct tapir_summary summary;
	struct tapir_pairs pairs;
	struct tapir_findings findings;
	struct tapir_overview overview;
	struct tapir_report_programs programs;
	struct tapir_reader_stats stats;
	struct tapir_report_view view;
	struct tapir_str out;
};

static const struct tapir_palette plain = {"", "", "", "", "", ""};

static char *copy(const char *text)
{
	char *copied = strdup(text);

	assert_non_null(copied);
	return copied;
}

static void add_process(struct fixture *f, uint32_t pid, const char *comm, uint64_t samples)
{
	struct tapir_process_row row = {.pid = pid,
					.comm = copy(comm),
					.exe = copy(""),
					.service = copy(""),
					.thread_cnt = 2,
					.captured[TAPIR_FAMILY_SAMPLE] = samples};

	assert_true(tapir_vec__push(&f->summary.processes, row));
	f->summary.captured[TAPIR_FAMILY_SAMPLE] += samples;
}

static void add_event(struct fixture *f, const char *provider, const char *event, uint64_t cnt)
{
	struct tapir_event_row row = {
		.provider = copy(provider), .event = copy(event), .captured = cnt};

	assert_true(tapir_vec__push(&f->summary.events, row));
	f->summary.captured[TAPIR_FAMILY_EVENT] += cnt;
}

static void add_finding(struct fixture *f, enum tapir_finding_kind kind, double magnitude,
			const char *sentence)
{
	struct tapir_str text = {};

	tapir_str__adds(&text, sentence);
	tapir_findings__add(&f->findings, kind, magnitude, NULL, &text, NULL, NULL);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->summary.first_ns = f->stats.created_ns = 1;
	f->summary.until_ns = f->summary.last_ns = 1 + 6 * TAPIR_NS_PER_SEC;
	f->overview.span_ns = 6 * TAPIR_NS_PER_SEC;
	f->view =
		(struct tapir_report_view){.path = "checkout.tapir",
					   .summary = &f->summary,
					   .pairs = &f->pairs,
					   .findings = &f->findings,
					   .overview = &f->overview,
					   .programs = &f->programs,
					   .catalog = tapir_catalog__new(TAPIR_CATALOG_READ, NULL),
					   .cpus = -1,
					   .stats = &f->stats};
	assert_non_null(f->view.catalog);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	struct tapir_process_row *process;
	struct tapir_event_row *event;

	tapir_vec_for_each (process, &f->summary.processes) {
		free(process->comm);
		free(process->exe);
		free(process->service);
	}
	tapir_vec__fini(&f->summary.processes);
	tapir_vec_for_each (event, &f->summary.events) {
		free(event->provider);
		free(event->event);
	}
	tapir_vec__fini(&f->summary.events);
	tapir_findings__fini(&f->findings);
	tapir_overview__fini(&f->overview);
	tapir_report_programs__fini(&f->programs);
	tapir_catalog__free((struct tapir_catalog *)(uintptr_t)f->view.catalog);
	tapir_str__fini(&f->out);
	free(f);
	return 0;
}

static const char *screen(struct fixture *f, size_t columns)
{
	tapir_str__clear(&f->out);
	if (!f->programs.rows.cnt)
		assert_int_equal(tapir_report_programs__make(&f->programs, &f->summary), 0);
	tapir_report__write_first_screen(&f->view, &plain, columns, &f->out);
	assert_false(f->out.failed);
	return f->out.data;
}

/* Commands stay on one line, however long the file's name is. */
static bool is_command(const char *line)
{
	return !strncmp(line, "   next: ", 9) || !strncmp(line, "more: ", 6);
}

static void assert_fits(const char *text, size_t columns)
{
	size_t lines = 0;

	for (const char *line = text, *end; *line; line = end + 1) {
		end = line + strcspn(line, "\n");
		assert_int_equal(*end, '\n');
		lines++;
		if (!is_command(line) && tapir_utf8__columns(line, (size_t)(end - line)) > columns)
			fail_msg("%.*s", (int)(end - line), line);
	}
	assert_true(lines <= TAPIR_FIRST_SCREEN_LINES);
}

static void screen_has_head_findings_and_the_largest_figures(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "Checkout", 600);
	add_event(f, "shop", "sold", 1234);
	f->view.cpus = 0.02;
	add_finding(f, TAPIR_FINDING_THREADPOOL_STARVATION, 25,
		    "25.4 of 25.4 pool threads are blocked on average in "
		    "Checkout.AskWarehouse(int); the pool changed its size for blocked threads 28 "
		    "times");
	add_finding(f, TAPIR_FINDING_CPU, 0.1, "0.02 CPUs used");
	f->overview.request_cnt = f->overview.function_cnt = f->overview.site_cnt = 1;
	f->overview.has_shares = true;
	f->overview.sample_cnt = 600;
	f->overview.requests[0] = (struct tapir_overview_request){.name = copy("shop:request"),
								  .spent = copy("97% awaited"),
								  .cnt = 246,
								  .per_second = 41,
								  .p50_ns = 5800000000,
								  .p99_ns = 6000000000};
	f->overview.functions[0] =
		(struct tapir_overview_function){.name = copy("Shop.Draw(int)"), .percent = 43.2};
	f->overview.sites[0] =
		(struct tapir_overview_site){.name = copy("Checkout.AskWarehouse(int)"),
					     .reason = "socket",
					     .ended_by = copy("another process"),
					     .ns = 151200000000};
	assert_string_equal(
		screen(f, 80),
		"Checkout (17656) \xc2\xb7 6.0 s \xc2\xb7 0.02 CPUs \xc2\xb7 2 threads \xc2\xb7 "
		"nothing lost\n"
		"\n"
		"1  blocked thread pool                                                  critical\n"
		"   25.4 of 25.4 pool threads are blocked on average in\n"
		"   Checkout.AskWarehouse(int); the pool changed its size for blocked threads 28\n"
		"   times\n"
		"   next: tapir report checkout.tapir --view threadpool\n"
		"2  CPU use                                                              moderate\n"
		"   0.02 CPUs used\n"
		"   next: tapir report checkout.tapir --view cpu\n"
		"\n"
		"Requests   shop:request  41/s, p50 5.800 s, p99 6.000 s\n"
		"             97% awaited\n"
		"CPU         43%  Shop.Draw(int)\n"
		"Waits      151.200 s  socket in Checkout.AskWarehouse(int), ended by another pr\xe2\x80\xa6\n"
		"Events     1,234 events, all shop:sold\n"
		"more: tapir report checkout.tapir --all\n");
}

static void add_request(struct fixture *f, const char *name, const char *spent, uint64_t cnt)
{
	f->overview.requests[f->overview.request_cnt++] =
		(struct tapir_overview_request){.name = copy(name),
						.spent = spent ? copy(spent) : NULL,
						.cnt = cnt,
						.per_second = (double)cnt / 6,
						.p50_ns = 8000000,
						.p99_ns = 812000000};
}

/* Three lines: what the first one waits for has a line of its own. */
static void requests_have_what_they_wait_for(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "x", 600);
	add_request(f, "GET /tax/{n}", "98% HTTP in Shop.Ask (async) (10 a request)", 246);
	add_request(f, "GET /item/{n}", "60% on CPU", 2);
	add_request(f, "GET /", NULL, 1);
	assert_non_null(
		strstr(screen(f, 80),
		       "\nRequests   GET /tax/{n}  41/s, p50 8.00 ms, p99 812.00 ms\n"
		       "             98% HTTP in Shop.Ask (async) (10 a request)\n"
		       "           GET /item/{n}  2 requests, at most 812.00 ms, 60% on CPU\n"
		       "more: "));
}

static void requests_need_no_parts(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "x", 600);
	for (unsigned i = 0; i < TAPIR_OVERVIEW_ROWS; i++)
		add_request(f, "GET /", NULL, 1);
	assert_non_null(strstr(screen(f, 80), "\nRequests   GET /  1 request, at most 812.00 ms\n"
					      "           GET /  1 request, at most 812.00 ms\n"
					      "           GET /  1 request, at most 812.00 ms\n"));
}

/* More of everything than there is room for, in texts without an end and without blanks. */
static void fill(struct fixture *f, const char *text)
{
	for (uint32_t i = 0; i < 50; i++) {
		add_process(f, 100 + i, text + i % 3, 1000 - i);
		add_event(f, text, text + i, 100000 - i);
	}
	for (unsigned kind = 0; kind < TAPIR_FINDING_KIND_CNT; kind++)
		add_finding(f, (enum tapir_finding_kind)kind, 1e6, text);
	f->overview.request_cnt = f->overview.function_cnt = f->overview.site_cnt =
		TAPIR_OVERVIEW_ROWS;
	f->overview.looked_at = copy(text);
	for (size_t i = 0; i < TAPIR_OVERVIEW_ROWS; i++) {
		f->overview.requests[i].name = copy(text);
		f->overview.requests[i].spent = copy(text);
		f->overview.requests[i].cnt = UINT64_MAX;
		f->overview.functions[i] =
			(struct tapir_overview_function){.name = copy(text), .percent = 100};
		f->overview.sites[i] = (struct tapir_overview_site){
			.name = copy(text), .ended_by = copy(text), .ns = UINT64_MAX / 4};
	}
	f->view.cpus = 1e6;
	f->stats.is_truncated = true;
	f->view.late = 1000000;
	f->view.from_ns = 2;
	f->summary.gap_cnt = UINT64_MAX;
}

static void screen_stays_one_when_everything_is_long(void **state)
{
	struct fixture *f = *state;
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = 0;
	fill(f, text);
	assert_fits(screen(f, 80), 80);
	assert_fits(screen(f, 0), 80);
	assert_fits(screen(f, 200), 80);
	assert_fits(screen(f, 60), 60);
}

static void wide_characters_take_two_columns(void **state)
{
	struct fixture *f = *state;
	char text[1501];

	for (size_t i = 0; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "\xe6\xbc\xa2", 3);
	text[sizeof(text) - 1] = 0;
	fill(f, text);
	assert_fits(screen(f, 80), 80);
	assert_int_equal(tapir_utf8__columns("\xe6\xbc\xa2"
					     "a",
					     4),
			 3);
	assert_int_equal(tapir_utf8__columns("e\xcc\x81", 3), 1); /* an accent of its own */
	assert_int_equal(tapir_utf8__columns("\xff\xc3", 2), 2);
	assert_int_equal(tapir_utf8__fitting("\xe6\xbc\xa2\xe6\xbc\xa2", 6, 3), 3);
	assert_int_equal(tapir_utf8__fitting("e\xcc\x81x", 4, 1), 3);
}

static void names_cannot_move_the_cursor(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "\033[2Jx\n\xe2\x80\xae", 600);
	add_event(f, "a\033]0;b\a", "c\rd", 7);
	f->view.path = "\033[1m.tapir";
	assert_null(strchr(screen(f, 80), '\033'));
	assert_null(strchr(f->out.data, '\r'));
	assert_null(strchr(f->out.data, '\a'));
	assert_null(strstr(f->out.data, "\xe2\x80\xae"));
	assert_fits(f->out.data, 80);
}

static void command_names_the_file_so_that_a_shell_finds_it(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "x", 600);
	f->view.path = "my file's.tapir";
	assert_non_null(strstr(screen(f, 80), "more: tapir report 'my file'\\''s.tapir' --all\n"));
	f->view.path = "caf\xc3\xa9.tapir";
	assert_non_null(strstr(screen(f, 80), "more: tapir report 'caf\xc3\xa9.tapir' --all\n"));
	f->view.path = "-";
	assert_non_null(strstr(screen(f, 80), "more: tapir report FILE --all\n"));
}

static void nothing_stands_out_when_nothing_was_found(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "x", 600);
	f->overview.sample_cnt = 600;
	f->overview.has_shares = true;
	assert_non_null(strstr(screen(f, 80), "\nnothing stands out\n"));
	assert_non_null(strstr(f->out.data, "\nCPU        600 samples: less than 1% in any"));
}

static void share_is_not_told_when_there_are_few_samples(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "x", 1);
	f->overview.sample_cnt = 1;
	assert_non_null(
		strstr(screen(f, 80), "\nCPU        1 sample: too few for shares of functions\n"));
}

static void screen_says_so_when_the_file_is_empty(void **state)
{
	struct fixture *f = *state;

	assert_string_equal(screen(f, 80),
			    "no process was recorded \xc2\xb7 6.0 s \xc2\xb7 nothing lost\n"
			    "\n"
			    "no event and no sample\n"
			    "\n"
			    "more: tapir report checkout.tapir --all\n");
}

static void screen_says_so_when_the_file_was_cut(void **state)
{
	struct fixture *f = *state;

	add_process(f, PID, "x", 600);
	f->stats.is_truncated = true;
	f->stats.tail_bytes = f->stats.bytes_skipped = 17;
	assert_non_null(strstr(screen(f, 80), "the file was cut\n"));
	assert_non_null(strstr(f->out.data, "\ncut: what it holds up to there follows\n"));
	f->stats.bad_chunks = 1;
	assert_non_null(strstr(screen(f, 80), "\ndamaged: what could be read follows\n"));
}

static void processes_of_one_name_are_one_row(void **state)
{
	struct fixture *f = *state;

	add_process(f, 1, "java", 3000);
	for (uint32_t i = 0; i < 60; i++)
		add_process(f, 100 + i, "bash", 10);
	add_process(f, 2, "idle", 1);
	f->view.cpus = 1.8;
	f->overview.sample_cnt = 3600;
	assert_non_null(strstr(screen(f, 80), "java (1) and 61 more processes \xc2\xb7 "));
	assert_non_null(strstr(f->out.data, "\nProcesses  1.50 CPUs  java (1)\n"
					    "           0.30 CPUs  bash \xc3\x97"
					    "60\n"));
	assert_null(strstr(f->out.data, "idle"));
}

static void add_finding_of(struct fixture *f, uint32_t pid, const char *process,
			   enum tapir_finding_kind kind, double magnitude, const char *words)
{
	struct tapir_findings own = {};
	struct tapir_str text = {};

	tapir_str__adds(&text, words);
	tapir_findings__add(&own, kind, magnitude, NULL, &text, NULL, NULL);
	tapir_findings__take(&f->programs.findings, &own, pid, process);
	tapir_findings__fini(&own);
}

/* Two processes of one name have a finding each; none is about both of them, or about all. */
static void each_process_of_a_machine_has_its_finding(void **state)
{
	struct fixture *f = *state;

	add_process(f, 1, "java", 3000);
	add_process(f, 2, "java", 10);
	add_process(f, 3, "sd/pam", 10);
	add_process(f, 4, "kworker/0:1", 5);
	add_process(f, 5, "kworker/1:0-ev\033", 4);
	add_finding(f, TAPIR_FINDING_GC, 49, "49% of the time of everybody");
	f->view.findings = &f->programs.findings;
	f->view.is_machine = true;
	assert_int_equal(tapir_report_programs__make(&f->programs, &f->summary), 0);
	add_finding_of(f, 2, "java (2)", TAPIR_FINDING_GC, 20, "20% of the time in GC");
	add_finding_of(f, 1, "java (1)", TAPIR_FINDING_CPU, 0.2, "0.20 CPUs used");
	add_finding_of(f, 1, "java (1)", TAPIR_FINDING_GC, 30, "30% of the time in GC");
	tapir_findings__rank(&f->programs.findings);
	f->programs.rows.data[0].cpu_ns = 9000000000;
	f->programs.rows.data[2].cpu_ns = 600000000;
	f->programs.cpu_ns = 9600000000;
	f->programs.owner = (struct tapir_lock_owner){
		.tid = 7, .reason = "mutex", .ns = 3210000000, .comm = "worker"};
	tapir_report_programs__sort(&f->programs);
	assert_non_null(strstr(screen(f, 80), "the machine, 5 processes \xc2\xb7 6.0 s \xc2\xb7 "
					      "1.60 CPUs"));
	assert_non_null(strstr(f->out.data, "\nCPUs       1.60 of ?: java \xc3\x97"
					    "2 1.50, kworker \xc3\x97"
					    "2 0.10, sd/pam (3) 0.00\n"));
	assert_non_null(strstr(f->out.data, "\nLocks      worker (7) ended 3.210 s of others' "
					    "waits for a mutex\n"));
	assert_non_null(strstr(f->out.data, "\n1  java (1): garbage collection "));
	assert_non_null(strstr(f->out.data, "\n   30% of the time in GC\n   next: tapir report "
					    "checkout.tapir --pid 1 --view gc\n2  java (2): "));
	assert_null(strstr(f->out.data, "everybody"));
	assert_null(strstr(f->out.data, "CPUs used"));
	assert_non_null(strstr(f->out.data, "\nProcesses  1.50 CPUs  java \xc3\x97"
					    "2\n           0.10 CPUs  kworker \xc3\x97"
					    "2\nmore: "));
	assert_fits(f->out.data, 80);
}

static void severity_has_a_word(void **state)
{
	(void)state;
	assert_string_equal(tapir_finding__level(100), "critical");
	assert_string_equal(tapir_finding__level(69.9), "serious");
	assert_string_equal(tapir_finding__level(45), "moderate");
	assert_string_equal(tapir_finding__level(0), "minor");
	for (unsigned kind = 0; kind < TAPIR_FINDING_KIND_CNT; kind++)
		assert_true(*tapir_finding__title(kind) && strlen(tapir_finding__title(kind)) < 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(screen_has_head_findings_and_the_largest_figures),
		TEST(requests_have_what_they_wait_for),
		TEST(requests_need_no_parts),
		TEST(screen_stays_one_when_everything_is_long),
		TEST(wide_characters_take_two_columns),
		TEST(names_cannot_move_the_cursor),
		TEST(command_names_the_file_so_that_a_shell_finds_it),
		TEST(nothing_stands_out_when_nothing_was_found),
		TEST(share_is_not_told_when_there_are_few_samples),
		TEST(screen_says_so_when_the_file_is_empty),
		TEST(screen_says_so_when_the_file_was_cut),
		TEST(processes_of_one_name_are_one_row),
		TEST(each_process_of_a_machine_has_its_finding),
		cmocka_unit_test(severity_has_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
