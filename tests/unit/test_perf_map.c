// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf maps as runtimes write them, as they grow, and as an attacker would write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "symbol/perf_map.h"

#define SEC TAPIR_NS_PER_SEC
#define MB  (1u << 20)

struct fixture {
	char dir[64], path[80];
	struct tapir_jit_table *table;
	struct tapir_perf_map *map;
	uint64_t now_ns;
};

static unsigned warning_cnt;

static void count_warning(enum tapir_log_level level, const char *line)
{
	(void)line;
	warning_cnt += level == TAPIR_LOG_WARN;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/tapir-perf-map-XXXXXX");
	if (!f || !mkdtemp(f->dir) || tapir_jit_table__new(&f->table))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/perf-1.map", f->dir);
	f->now_ns = 100 * SEC;
	warning_cnt = 0;
	tapir_log__set(count_warning, TAPIR_LOG_WARN);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_perf_map__close(f->map);
	tapir_jit_table__free(f->table);
	unlink(f->path);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void put(const struct fixture *f, int flags, const char *bytes, size_t len)
{
	int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static void puts_in(const struct fixture *f, const char *text)
{
	put(f, O_APPEND, text, strlen(text));
}

static int open_since(struct fixture *f, uint64_t start_ns)
{
	struct tapir_perf_map_opts opts = {.sz = sizeof(opts),
					   .tgid = (uint32_t)getpid(),
					   .uid = getuid(),
					   .start_ns = start_ns,
					   .path = f->path};

	return tapir_perf_map__open(&opts, &f->map);
}

/* Reads all; the clock advances by a tenth of a second. */
static const struct tapir_perf_map_stats *read_all(struct fixture *f)
{
	if (!f->map)
		assert_int_equal(open_since(f, 0), 0);
	while (tapir_perf_map__read(f->map, f->now_ns, MB, f->table))
		;
	f->now_ns += SEC / 10;
	return tapir_perf_map__stats(f->map);
}

static void names(struct fixture *f, uint64_t va, uint64_t time_ns, const char *want)
{
	struct tapir_jit_name n;

	if (!tapir_jit_table__find(f->table, va, time_ns, &n))
		fail_msg("%llx has no name, %s expected", (unsigned long long)va, want);
	if (n.name_len != strlen(want) || memcmp(n.name, want, n.name_len))
		fail_msg("%llx is %.*s, %s expected", (unsigned long long)va, (int)n.name_len,
			 n.name, want);
	assert_int_equal(n.source, TAPIR_JIT_PERF_MAP);
}

/* ---- what runtimes write --------------------------------------------------------------------- */

static void lines_of_every_runtime_are_read(void **state)
{
	static const struct {
		const char *line;
		uint64_t va;
		const char *name;
	} cases[] = {
		{"0x00007f5e50ede820 0x00000000000003a8 long Hot.a(int)", 0x7f5e50ede820,
		 "long Hot.a(int)"},
		{"0x00007f5e50ee0000 0x0000000000000010 void Größe.äöü(java.lang.String)",
		 0x7f5e50ee0000, "void Größe.äöü(java.lang.String)"},
		{"7f5c8a7c6e40 1d8 JS:*leaf /tmp/h.js:1:14", 0x7f5c8a7c6e40,
		 "JS:*leaf /tmp/h.js:1:14"},
		{"7f5c8a7c7e40 1d8 JS:~", 0x7f5c8a7c7e40, "JS:~"},
		{"7f5c8a7c8e40 20 ", 0x7f5c8a7c8e40, ""},
		{"7f5c8a7c9e40 20", 0x7f5c8a7c9e40, ""},
		{"7fc6422bc8e5 b py::leaf:/tmp/h.py", 0x7fc6422bc8e5, "py::leaf:/tmp/h.py"},
		{"40a1b0d0 3f (null)", 0x40a1b0d0, "(null)"},
		{"0x7f1200001000 40 $erlang:length/1", 0x7f1200001000, "$erlang:length/1"},
		{"7f1200002000 0x40 $global::apply", 0x7f1200002000, "$global::apply"},
		{"56290b200a30 af TRACE-1$leaf$2", 0x56290b200a30, "TRACE-1$leaf$2"},
		{"0X7F1200003000 0XaF UPPER", 0x7f1200003000, "UPPER"},
		{"  7f1200004000\t40\ttabs  and  blanks ", 0x7f1200004000, "tabs  and  blanks "},
		{"7f1200005000 40 ends as in DOS\r", 0x7f1200005000, "ends as in DOS"},
		{"7f1200006000 40 \xff\xfe no UTF-8", 0x7f1200006000, "\xff\xfe no UTF-8"},
	};
	struct fixture *f = *state;
	const size_t cnt = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < cnt; i++) {
		puts_in(f, cases[i].line);
		puts_in(f, "\n");
	}
	assert_int_equal(read_all(f)->lines, cnt);
	assert_int_equal(tapir_perf_map__stats(f->map)->bad_lines, 0);
	assert_int_equal(tapir_perf_map__stats(f->map)->names, cnt);
	for (size_t i = 0; i < cnt; i++)
		names(f, cases[i].va, 1, cases[i].name);
	assert_null(tapir_perf_map__problem(f->map));
}

static void bad_lines_are_counted_and_passed_over(void **state)
{
	static const char *const bad[] = {
		"",
		"what is this",
		"7f00 ",
		"7f00",
		"0x 10 a",
		"7f00 0x b",
		"7f00 12g name",
		"-7f00 10 name",
		"7f00,10",
		"\r",
		" ",
		"7f00 -1 x",
		"10000000000000000 10 17 digits",
		"1000 10000000000000000 name",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		puts_in(f, bad[i]);
		puts_in(f, "\n");
	}
	puts_in(f, "7f00 10 good\n");
	assert_int_equal(read_all(f)->bad_lines, sizeof(bad) / sizeof(bad[0]));
	assert_int_equal(tapir_perf_map__stats(f->map)->lines, 1);
	names(f, 0x7f0f, 1, "good");
	/* well written, but no code: not bad lines */
	puts_in(f, "8000 0 empty\n9000 ffffffffffffffff all\n");
	assert_int_equal(read_all(f)->lines, 3);
	assert_int_equal(tapir_perf_map__stats(f->map)->refused, 2);
}

static void one_address_has_three_names_in_three_periods(void **state)
{
	struct fixture *f = *state;

	puts_in(f, "1000 100 first\n1000 100 first\n");
	read_all(f); /* at 100.0 s */
	f->now_ns = 105 * SEC;
	read_all(f);
	puts_in(f, "1000 80 second\n");
	f->now_ns = 110 * SEC;
	read_all(f);
	puts_in(f, "1040 80 third\n");
	f->now_ns = 115 * SEC;
	read_all(f);
	names(f, 0x1040, 1, "first");
	names(f, 0x1040, 105 * SEC - 1, "first");
	names(f, 0x1040, 105 * SEC,
	      "second"); /* not in the map at that time, maybe added just after it */
	names(f, 0x1040, 110 * SEC - 1, "second");
	names(f, 0x1040, 110 * SEC, "third");
	names(f, 0x1040, 999 * SEC, "third");
}

/* ---- how it grows ---------------------------------------------------------------------------- */

static void line_that_is_cut_waits_for_its_rest(void **state)
{
	static const char text[] = "0x7f5e50ede820 0x3a8 long Hot.a(int)\n"
				   "7f5c8a7c6e40 1d8 JS:*leaf /tmp/h.js:1:14\n"
				   "7f5c8a7c8e40 20 \r\n"
				   "7fc6422bc8e5 b py::größe:/tmp/h.py\n";
	struct fixture *f = *state;

	for (size_t cut = 0; cut < sizeof(text); cut++) {
		const struct tapir_perf_map_stats *stats;

		put(f, O_TRUNC, text, cut);
		read_all(f);
		assert_int_equal(tapir_perf_map__stats(f->map)->bad_lines, 0);
		put(f, O_APPEND, text + cut, sizeof(text) - 1 - cut);
		stats = read_all(f);
		assert_int_equal(stats->lines, 4);
		assert_int_equal(stats->bad_lines, 0);
		assert_int_equal(stats->bytes, sizeof(text) - 1);
		assert_int_equal(tapir_jit_table__cnt(f->table), 4);
		names(f, 0x7f5e50ede820, 999 * SEC, "long Hot.a(int)");
		names(f, 0x7f5c8a7c6e40, 999 * SEC, "JS:*leaf /tmp/h.js:1:14");
		names(f, 0x7f5c8a7c8e40, 999 * SEC, "");
		names(f, 0x7fc6422bc8e5, 999 * SEC, "py::größe:/tmp/h.py");
		tapir_perf_map__close(f->map);
		f->map = NULL;
		tapir_jit_table__free(f->table);
		assert_int_equal(tapir_jit_table__new(&f->table), 0);
	}
}

static void large_file_is_read_a_piece_at_a_time(void **state)
{
	struct fixture *f = *state;
	char *text = malloc(4 * MB), *at = text;
	unsigned cnt = 0, call_cnt = 0;

	while (at < text + 3 * MB)
		at += sprintf(at, "%x 10 function number %u\n", 0x100000 + cnt * 16, cnt), cnt++;
	put(f, O_TRUNC, text, (size_t)(at - text));
	free(text);
	assert_int_equal(open_since(f, 0), 0);
	while (tapir_perf_map__read(f->map, f->now_ns, MB / 2, f->table))
		call_cnt++;
	assert_in_range(call_cnt, 5, 7);
	assert_int_equal(tapir_perf_map__stats(f->map)->lines, cnt);
	assert_int_equal(tapir_jit_table__cnt(f->table), cnt);
	names(f, 0x100000 + 16 * 77777, 1, "function number 77777"); /* from the start, all */
}

static void file_that_is_written_anew_is_read_from_its_beginning(void **state)
{
	struct fixture *f = *state;
	struct tapir_jit_name n;

	puts_in(f, "1000 100 stays\n2000 100 goes\n");
	read_all(f);
	read_all(f);
	put(f, O_TRUNC, "1000 100 stays\n2000 80 comes\n3000 10 new\n", 42);
	assert_int_equal(read_all(f)->names, 4);
	assert_int_equal(tapir_perf_map__stats(f->map)->bad_lines, 0);
	assert_true(tapir_jit_table__find(f->table, 0x1000, 999 * SEC, &n));
	assert_int_equal(n.from_ns, 0); /* as it was */
	names(f, 0x2000, 1, "goes");
	names(f, 0x2000, 999 * SEC, "comes");
	names(f, 0x3000, 999 * SEC, "new");
	/* shorter than it was */
	put(f, O_TRUNC, "4000 1 short\n", 13);
	read_all(f);
	names(f, 0x4000, 999 * SEC, "short");
}

static void file_that_was_replaced_is_found(void **state)
{
	struct fixture *f = *state;
	char old[96];

	puts_in(f, "1000 100 before\n");
	read_all(f);
	snprintf(old, sizeof(old), "%s.old", f->path);
	assert_int_equal(rename(f->path, old), 0);
	puts_in(f, "5000 100 after\n");
	f->now_ns += 2 * SEC;
	read_all(f);
	names(f, 0x5000, 999 * SEC, "after");
	names(f, 0x1000, 1, "before");
	/* gone: what is open is kept */
	unlink(old);
	unlink(f->path);
	f->now_ns += 2 * SEC;
	read_all(f);
	assert_null(tapir_perf_map__problem(f->map));
}

static void file_older_than_its_process_is_another_processs(void **state)
{
	struct fixture *f = *state;
	struct timespec times[2] = {};

	puts_in(f, "1000 100 leftover\n");
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= 3600;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, f->path, times, 0), 0);
	assert_int_equal(open_since(f, tapir_clock__now_ns() - SEC), -ENOENT);
	assert_null(f->map);
	assert_int_equal(tapir_diag__cnt(), 0);
	/* the process begins to write its own */
	put(f, O_TRUNC, "1000 100 mine\n", 14);
	assert_int_equal(open_since(f, tapir_clock__now_ns() - SEC), 0);
	read_all(f);
	names(f, 0x1000, 1, "mine");
}

/* ---- hostile files --------------------------------------------------------------------------- */

/* Nothing is read and one warning is printed; it is read once it has become a map. */
static void is_refused(struct fixture *f, const char *why)
{
	assert_int_equal(open_since(f, 0), 0);
	for (int i = 0; i < 50; i++)
		read_all(f);
	assert_non_null(tapir_perf_map__problem(f->map));
	if (!strstr(tapir_perf_map__problem(f->map), why))
		fail_msg("%s", tapir_perf_map__problem(f->map));
	assert_int_equal(tapir_perf_map__stats(f->map)->bytes, 0);
	assert_int_equal(warning_cnt, 1);
	assert_int_equal(tapir_diag__cnt(), 0);
	unlink(f->path);
	rmdir(f->path);
	puts_in(f, "1000 100 good\n");
	f->now_ns += 2 * SEC;
	assert_int_equal(read_all(f)->lines, 1);
	names(f, 0x1000, 999 * SEC, "good");
}

static void symbolic_link_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(symlink("/etc/passwd", f->path), 0);
	is_refused(f, "a symbolic link");
}

static void fifo_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkfifo(f->path, 0600), 0);
	is_refused(f, "not a regular file");
}

static void directory_is_refused(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(mkdir(f->path, 0700), 0);
	is_refused(f, "not a regular file");
}

static void device_is_refused(void **state)
{
	struct fixture *f = *state;

	if (mknod(f->path, S_IFCHR | 0600, (1 << 8) | 5)) /* zero: an endless line */
		skip();
	is_refused(f, "not a regular file");
}

static void file_of_another_user_is_refused(void **state)
{
	struct fixture *f = *state;

	puts_in(f, "1000 100 theirs\n");
	if (chown(f->path, getuid() + 12345, (gid_t)-1))
		skip();
	is_refused(f, "belongs to user 12345");
}

static void file_with_a_second_name_is_refused(void **state)
{
	struct fixture *f = *state;
	char other[96];

	puts_in(f, "1000 100 linked\n");
	snprintf(other, sizeof(other), "%s.link", f->path);
	assert_int_equal(link(f->path, other), 0);
	assert_int_equal(open_since(f, 0), 0);
	assert_non_null(strstr(tapir_perf_map__problem(f->map), "more than one hard link"));
	unlink(other);
	f->now_ns += 2 * SEC;
	read_all(f);
	f->now_ns += 2 * SEC;
	assert_int_equal(read_all(f)->lines, 1);
}

static void no_file_is_no_problem(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_since(f, 0), -ENOENT);
	assert_int_equal(tapir_diag__cnt(), 0);
	assert_int_equal(warning_cnt, 0);
}

static void sparse_file_of_10_gb_costs_one_warning(void **state)
{
	struct fixture *f = *state;
	uint64_t start;

	puts_in(f, "1000 100 good\n");
	assert_int_equal(truncate(f->path, 10ll << 30), 0);
	start = tapir_clock__ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < 100; i++)
		read_all(f);
	assert_true(tapir_clock__ns(CLOCK_PROCESS_CPUTIME_ID) - start < SEC);
	assert_int_equal(warning_cnt, 1);
	assert_non_null(strstr(tapir_perf_map__problem(f->map), "no line of a perf map"));
	assert_int_equal(tapir_perf_map__stats(f->map)->bad_lines, 1);
	assert_int_equal(tapir_perf_map__stats(f->map)->lines, 1);
	names(f, 0x1000, 1, "good");
}

static void line_of_1_gb_costs_one_warning(void **state)
{
	struct fixture *f = *state;

	puts_in(f, "1000 100 ");
	assert_int_equal(truncate(f->path, 1ll << 30), 0);
	puts_in(f, "\n2000 100 behind it\n");
	for (int i = 0; i < 100; i++)
		read_all(f);
	assert_int_equal(tapir_perf_map__stats(f->map)->bad_lines, 1);
	assert_in_range(tapir_perf_map__stats(f->map)->bytes, 16 * MB, 18 * MB);
	assert_int_equal(warning_cnt, 1);
}

static void long_line_is_counted_once_and_passed_over(void **state)
{
	struct fixture *f = *state;
	char *text = malloc(MB);

	memset(text, 'x', MB);
	puts_in(f, "1000 100 ");
	for (int i = 0; i < 5; i++)
		put(f, O_APPEND, text, MB);
	read_all(f);
	puts_in(f, "more of it\n2000 100 behind it\n");
	read_all(f);
	assert_int_equal(tapir_perf_map__stats(f->map)->bad_lines, 1);
	names(f, 0x2000, 999 * SEC, "behind it");
	/* a name that is long, not endless, is cut */
	text[0] = '\n';
	puts_in(f, "3000 100 ");
	put(f, O_APPEND, text + 1, 20000);
	put(f, O_APPEND, text, 1);
	assert_int_equal(read_all(f)->lines, 2);
	assert_null(tapir_perf_map__problem(f->map));
	free(text);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(lines_of_every_runtime_are_read),
		CASE(bad_lines_are_counted_and_passed_over),
		CASE(one_address_has_three_names_in_three_periods),
		CASE(line_that_is_cut_waits_for_its_rest),
		CASE(large_file_is_read_a_piece_at_a_time),
		CASE(file_that_is_written_anew_is_read_from_its_beginning),
		CASE(file_that_was_replaced_is_found),
		CASE(file_older_than_its_process_is_another_processs),
		CASE(symbolic_link_is_refused),
		CASE(fifo_is_refused),
		CASE(directory_is_refused),
		CASE(device_is_refused),
		CASE(file_of_another_user_is_refused),
		CASE(file_with_a_second_name_is_refused),
		CASE(no_file_is_no_problem),
		CASE(sparse_file_of_10_gb_costs_one_warning),
		CASE(line_of_1_gb_costs_one_warning),
		CASE(long_line_is_counted_once_and_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
