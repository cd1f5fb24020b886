// SPDX-License-Identifier: GPL-2.0-or-later
/* System calls in numbers: their names, steps and records, the view of them, and what fails. */
#include "record/call_counts.h" /* before the names of the fixture */
#include "record/call_files.h"

#include "view_fixture.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

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

/* ---- by file ---------------------------------------------------------------------------------- */

static void check_name(const struct tapir_call_file_name *name, const char *expected)
{
	static const struct tapir_call_file_id id = {.inode = 4711, .dev = 9};
	struct tapir_str out = {};

	tapir_call_file__add_name(&out, &id, name);
	assert_string_equal(out.data ? out.data : "", expected);
	tapir_str__fini(&out);
}

static void files_and_peers_have_the_names_that_people_use(void **state)
{
	static const struct {
		struct tapir_call_file_name name;
		const char *expected;
	} all[] = {
		{{.mode = S_IFREG, .path_len = 6, .path = "/tmp/x"}, "/tmp/x"},
		{{.mode = S_IFREG,
		  .path_len = 6,
		  .path = "/tmp/x",
		  .flags = TAPIR_CALL_FILE_DELETED},
		 "/tmp/x (deleted)"},
		{{.mode = S_IFREG, .path_len = 2, .path = "/x", .flags = TAPIR_CALL_FILE_PATH_CUT},
		 ".../x"},
		{{.mode = S_IFREG,
		  .path_len = 7,
		  .path = "memfd:x",
		  .flags = TAPIR_CALL_FILE_DELETED},
		 "memfd:x"},
		{{.mode = S_IFDIR}, "/"},
		{{.mode = S_IFIFO, .flags = TAPIR_CALL_FILE_DELETED}, "pipe:[4711]"},
		{{.mode = S_IFIFO, .path_len = 5, .path = "/fifo"}, "/fifo"},
		{{.path_len = 11, .path = "[eventpoll]"}, "anon_inode:[eventpoll]"},
		{{}, ""},
		{{.mode = S_IFSOCK, .family = AF_UNIX, .path_len = 4, .path = "@abc"}, "unix @abc"},
		{{.mode = S_IFSOCK, .family = AF_UNIX}, "unix socket:[4711]"},
		{{.mode = S_IFSOCK, .family = AF_NETLINK}, "netlink socket:[4711]"},
		{{.mode = S_IFSOCK, .family = AF_PACKET}, "other socket:[4711]"},
		{{.mode = S_IFSOCK,
		  .family = AF_INET6,
		  .protocol = IPPROTO_UDP,
		  .ends = {.local_port = 53, .local = {[15] = 1}}},
		 "udp [::1]:53"},
		{{.mode = S_IFSOCK,
		  .family = AF_INET,
		  .protocol = IPPROTO_TCP,
		  .ends = {.local_port = 80,
			   .peer_port = 9,
			   .local = {[10] = 255, 255, 127, 0, 0, 1},
			   .peer = {[10] = 255, 255, 10, 0, 0, 2}}},
		 "tcp 127.0.0.1:80 to 10.0.0.2:9"},
		{{.mode = S_IFSOCK,
		  .family = AF_INET,
		  .protocol = IPPROTO_ICMP,
		  .ends = {.local = {[10] = 255, 255}, .peer = {[10] = 255, 255}}},
		 "ip 1 0.0.0.0:0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		check_name(&all[i].name, all[i].expected);
}

static void name_that_is_longer_than_its_room_ends_there(void **state)
{
	struct tapir_call_file_name name = {.mode = S_IFREG, .path_len = UINT16_MAX};
	struct tapir_str out = {};

	(void)state;
	memset(name.path, 'x', sizeof(name.path));
	tapir_call_file__add_name(&out, &(struct tapir_call_file_id){}, &name);
	assert_int_equal(out.len, sizeof(name.path));
	tapir_str__fini(&out);
}

/* A record of three calls with the name; NULL: none. */
static struct tapir_rec_calls *of_file(const char *name, uint16_t nr, uint64_t inode)
{
	static struct tapir_call_file_count count;
	static union tapir_call_file_rec out;
	const struct tapir_call_file_key key = {
		.file = {inode, 9}, .tgid = 100, .nr = nr, .err = ENOSPC};
	struct tapir_str text = {};

	count = (struct tapir_call_file_count){.sum_ns = 4000, .max_ns = 2000};
	count.steps[tapir_call_step__of(1000)] = 2;
	count.steps[tapir_call_step__of(2000)] = 1;
	tapir_str__adds(&text, name);
	assert_true(tapir_call_file__fill(&out, &key, &count, &text));
	out.rec.h.time_ns = 5 * MS;
	tapir_str__fini(&text);
	return &out.rec;
}

static void row_of_a_file_is_a_record_with_its_name(void **state)
{
	struct tapir_rec_calls *rec = of_file("/srv/x", 1, 7);
	const struct tapir_call_step *steps = (const void *)(rec + 1);
	char long_name[3000];

	(void)state;
	assert_true(tapir_record__ok(&rec->h, rec->h.size));
	assert_int_equal(rec->kind, TAPIR_CALLS_OF_FILE);
	assert_int_equal(rec->cnt, 3);
	assert_int_equal(rec->step_cnt, 2);
	assert_int_equal(rec->text_len, 6);
	assert_memory_equal(steps + 2, "/srv/x", 6);
	assert_int_equal(tapir_rec__weight(&rec->h), 0); /* counted with its thread */
	memset(long_name, 'y', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	rec = of_file(long_name, 1, 7);
	assert_true(tapir_record__ok(&rec->h, rec->h.size));
	assert_int_equal(rec->text_len, TAPIR_CALL_FILE_NAME_BYTES);
}

static void row_without_calls_is_no_record(void **state)
{
	static union tapir_call_file_rec out;

	(void)state;
	assert_false(tapir_call_file__fill(&out, &(struct tapir_call_file_key){.tgid = 1},
					   &(struct tapir_call_file_count){},
					   &(struct tapir_str){}));
}

/* The same inode under another name is another row: numbers are used again. */
static void files_have_rows_by_name_and_call(void **state)
{
	const struct tapir_view_result_table *t;

	(void)state;
	ask("syscalls", 0);
	assert_int_equal(feeder_add(&f, &calls(1, ENOSPC, 6, 1000)->h), 0);
	assert_int_equal(feeder_add(&f, &of_file("/srv/x", 1, 7)->h), 0);
	assert_int_equal(feeder_add(&f, &of_file("/srv/x", 1, 7)->h), 0);
	assert_int_equal(feeder_add(&f, &of_file("/srv/y", 1, 7)->h), 0);
	assert_int_equal(feeder_add(&f, &of_file("", 0, 8)->h), 0);
	assert_int_equal(answer(), 0);
	assert_string_equal(result.headline.data, "6 system calls, 6 failed");
	t = table("files", 0);
	assert_int_equal(tapir_view_result_table__rows(t), 3);
	assert_string_equal(cell(t, 0, "file")->text, "/srv/x");
	assert_int_equal(cell(t, 0, "calls")->u64, 6);
	assert_int_equal(cell(t, 0, "failed")->u64, 6);
	assert_int_equal(cell(t, 0, "max_ns")->u64, 2000);
	assert_string_equal(cell(t, 0, "call")->text, "write");
	assert_string_equal(cell(t, 1, "file")->text, "[inode 8 of 0:9]");
	assert_string_equal(cell(t, 2, "file")->text, "/srv/y");
}

/* Only where one end alone has a port that clients get is it known which one is the client's. */
static void connections_of_one_server_are_a_row(void **state)
{
	static const char *const names[] = {"tcp 10.0.0.1:80 to 10.0.0.2:40001",
					    "tcp 10.0.0.1:80 to 10.0.0.2:40002",
					    "tcp [::1]:40001 to [::1]:80",
					    "tcp [::1]:50002 to [::1]:80",
					    "tcp 10.0.0.1:40001 to 10.0.0.2:40002",
					    "udp 0.0.0.0:40001",
					    "tcp ",
					    "tcp  to "};
	const struct tapir_view_result_table *t;

	(void)state;
	ask("syscalls", 0);
	assert_int_equal(feeder_add(&f, &calls(1, ENOSPC, 24, 1000)->h), 0);
	for (uint64_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(feeder_add(&f, &of_file(names[i], 1, i + 1)->h), 0);
	assert_int_equal(answer(), 0);
	t = table("files", 0);
	assert_int_equal(tapir_view_result_table__rows(t), 6);
	for (size_t i = 0; i < 6; i++) {
		const char *file = cell(t, i, "file")->text;
		bool is_several = cell(t, i, "calls")->u64 == 6;

		assert_int_equal(i < 2, is_several);
		assert_true(is_several == (!strcmp(file, "tcp 10.0.0.1:80 to 10.0.0.2:*") ||
					   !strcmp(file, "tcp [::1]:* to [::1]:80")));
	}
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
		TEST(files_and_peers_have_the_names_that_people_use),
		TEST(name_that_is_longer_than_its_room_ends_there),
		TEST(row_of_a_file_is_a_record_with_its_name),
		TEST(row_without_calls_is_no_record),
		TEST(files_have_rows_by_name_and_call),
		TEST(connections_of_one_server_are_a_row),
		TEST(sums_and_errors_have_rows),
		TEST(hostile_numbers_are_taken_as_they_are),
		TEST(nothing_was_seen),
		TEST(what_says_nothing_yet_is_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
