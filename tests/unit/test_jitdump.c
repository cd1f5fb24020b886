// SPDX-License-Identifier: GPL-2.0-or-later
/* Jitdumps built record by record: loads, moves, clocks, and sizes that lie. */
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
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/log.h"
#include "base/str.h"
#include "symbol/jitdump.h"

#define SEC TAPIR_NS_PER_SEC
#define MB  (1u << 20)

struct fixture {
	int fd;
	struct tapir_str file;
	struct tapir_jit_table *table;
	struct tapir_jitdump *dump;
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

	f->fd = memfd_create("jit-1.dump", MFD_CLOEXEC);
	f->now_ns = 1000 * SEC;
	warning_cnt = 0;
	tapir_log__set(count_warning, TAPIR_LOG_WARN);
	*state = f;
	return f->fd < 0 ? -1 : tapir_jit_table__new(&f->table);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tapir_jitdump__close(f->dump);
	tapir_jit_table__free(f->table);
	tapir_str__fini(&f->file);
	close(f->fd);
	free(f);
	return 0;
}

/* ---- building -------------------------------------------------------------------------------- */

static void u32(struct fixture *f, uint32_t value)
{
	tapir_str__add(&f->file, (char *)&value, sizeof(value));
}

static void u64(struct fixture *f, uint64_t value)
{
	tapir_str__add(&f->file, (char *)&value, sizeof(value));
}

static void header(struct fixture *f, uint32_t magic, uint32_t version, uint32_t total,
		   uint64_t time, uint64_t flags)
{
	u32(f, magic);
	u32(f, version);
	u32(f, total);
	u32(f, 62);
	u32(f, 0);
	u32(f, 1);
	u64(f, time);
	u64(f, flags);
}

static void good_header(struct fixture *f)
{
	header(f, 0x4a695444, 1, 40, 999 * SEC, 0);
}

static void prefix(struct fixture *f, uint32_t kind, uint32_t total, uint64_t time)
{
	u32(f, kind);
	u32(f, total);
	u64(f, time);
}

static void load(struct fixture *f, uint64_t time, uint64_t va, uint64_t code_bytes,
		 const char *name)
{
	prefix(f, 0, (uint32_t)(56 + strlen(name) + 1 + code_bytes), time);
	u32(f, 1);
	u32(f, 1);
	u64(f, va);
	u64(f, va);
	u64(f, code_bytes);
	u64(f, 0);
	tapir_str__add(&f->file, name, strlen(name) + 1);
	for (uint64_t i = 0; i < code_bytes; i++)
		tapir_str__addc(&f->file, (char)0xcc);
}

static void move(struct fixture *f, uint64_t time, uint64_t from, uint64_t to, uint64_t code_bytes)
{
	prefix(f, 1, 64, time);
	u32(f, 1);
	u32(f, 1);
	u64(f, to);
	u64(f, from);
	u64(f, to);
	u64(f, code_bytes);
	u64(f, 0);
}

static void write_up_to(struct fixture *f, size_t len)
{
	struct stat st;

	assert_int_equal(fstat(f->fd, &st), 0);
	assert_false(f->file.failed);
	assert_int_equal(
		pwrite(f->fd, f->file.data + st.st_size, len - (size_t)st.st_size, st.st_size),
		len - (size_t)st.st_size);
}

static void open_with(struct fixture *f, struct tapir_jitdump_opts opts)
{
	opts.sz = sizeof(opts);
	opts.fd = f->fd;
	opts.uid = getuid();
	assert_int_equal(tapir_jitdump__open(&opts, &f->dump), 0);
}

static const struct tapir_jitdump_stats *read_all(struct fixture *f)
{
	write_up_to(f, f->file.len);
	if (!f->dump)
		open_with(f, (struct tapir_jitdump_opts){});
	while (tapir_jitdump__read(f->dump, f->now_ns, MB, f->table))
		;
	f->now_ns += SEC / 10;
	return tapir_jitdump__stats(f->dump);
}

static void names(struct fixture *f, uint64_t va, uint64_t time_ns, const char *want)
{
	struct tapir_jit_name n;

	if (!tapir_jit_table__find(f->table, va, time_ns, &n)) {
		if (want)
			fail_msg("%llx has no name, %s expected", (unsigned long long)va, want);
		return;
	}
	if (!want || n.name_len != strlen(want) || memcmp(n.name, want, n.name_len))
		fail_msg("%llx is %.*s, %s expected", (unsigned long long)va, (int)n.name_len,
			 n.name, want ? want : "nothing");
	assert_int_equal(n.source, TAPIR_JIT_JITDUMP);
}

/* ---- records --------------------------------------------------------------------------------- */

static void names_hold_from_their_own_times(void **state)
{
	struct fixture *f = *state;

	good_header(f);
	load(f, 10 * SEC, 0x1000, 0x100, "int Program::Main()");
	prefix(f, 2, 16 + 24, 11 * SEC); /* debug information */
	u64(f, 0x2000);
	u64(f, 1);
	u64(f, 0);
	load(f, 12 * SEC, 0x1000, 0x80, "second");
	prefix(f, 4, 16 + 24, 11 * SEC); /* unwinding information */
	u64(f, 0);
	u64(f, 0);
	u64(f, 0);
	move(f, 14 * SEC, 0x1000, 0x3000, 0x80);
	load(f, 15 * SEC, 0x5000, 0, "no code");
	prefix(f, 3, 16, 16 * SEC); /* close */
	assert_int_equal(read_all(f)->records, 7);
	assert_int_equal(tapir_jitdump__stats(f->dump)->bad_records, 0);
	assert_int_equal(tapir_jitdump__stats(f->dump)->names, 3);
	names(f, 0x10ff, 11 * SEC, "int Program::Main()");
	names(f, 0x1000, 12 * SEC, "second");
	names(f, 0x1000, 14 * SEC, NULL);
	names(f, 0x307f, 14 * SEC, "second");
	names(f, 0x5000, 20 * SEC, NULL);
	assert_null(tapir_jitdump__problem(f->dump));
}

static void record_that_is_cut_waits_for_its_rest(void **state)
{
	struct fixture *f = *state;

	good_header(f);
	load(f, 10 * SEC, 0x1000, 50, "first");
	load(f, 20 * SEC, 0x2000, 50, "second");
	move(f, 30 * SEC, 0x2000, 0x3000, 50);
	for (size_t cut = 0; cut <= f->file.len; cut++) {
		assert_int_equal(ftruncate(f->fd, 0), 0);
		write_up_to(f, cut);
		open_with(f, (struct tapir_jitdump_opts){});
		assert_int_equal(tapir_jitdump__read(f->dump, f->now_ns, MB, f->table), 0);
		assert_int_equal(tapir_jitdump__stats(f->dump)->bad_records, 0);
		assert_int_equal(read_all(f)->records, 3);
		assert_int_equal(tapir_jitdump__stats(f->dump)->bad_records, 0);
		names(f, 0x1000, 11 * SEC, "first");
		names(f, 0x2000, 21 * SEC, "second");
		names(f, 0x3000, 31 * SEC, "second");
		assert_null(tapir_jitdump__problem(f->dump));
		tapir_jitdump__close(f->dump);
		f->dump = NULL;
		tapir_jit_table__free(f->table);
		assert_int_equal(tapir_jit_table__new(&f->table), 0);
	}
}

static void records_across_the_edge_of_what_is_read_are_whole(void **state)
{
	struct fixture *f = *state;
	char name[64];

	good_header(f);
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%.*s%u", (int)(i % 37),
			 "a name of some length or other", i);
		load(f, SEC + i, 0x100000 + i * 1024, 1 + i * 7 % 900, name);
	}
	write_up_to(f, f->file.len);
	open_with(f, (struct tapir_jitdump_opts){});
	for (unsigned calls = 1; tapir_jitdump__read(f->dump, f->now_ns, 100000, f->table); calls++)
		assert_true(calls < 40);
	assert_int_equal(tapir_jitdump__stats(f->dump)->names, 5000);
	assert_int_equal(tapir_jitdump__stats(f->dump)->bytes, f->file.len - 40);
	names(f, 0x100000 + 4999 * 1024, 2 * SEC, name);
}

static void larger_header_is_stepped_over(void **state)
{
	struct fixture *f = *state;

	header(f, 0x4a695444, 1, 48, 0, 0);
	u64(f, 0xffffffffffffffff);
	load(f, SEC, 0x1000, 16, "f");
	assert_int_equal(read_all(f)->names, 1);
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static void times_of_a_time_namespace_are_brought_to_ours(void **state)
{
	struct fixture *f = *state;

	header(f, 0x4a695444, 1, 40, 5000 * SEC, 0);
	load(f, 5010 * SEC, 0x1000, 16, "f");
	write_up_to(f, f->file.len);
	open_with(f, (struct tapir_jitdump_opts){.clock_offset_ns = 4500 * (int64_t)SEC});
	read_all(f);
	names(f, 0x1000, 510 * SEC, "f");
	names(f, 0x1000, 509 * SEC, NULL);
	assert_null(tapir_jitdump__problem(f->dump));
}

static void ticks_are_converted(void **state)
{
	struct fixture *f = *state;

	header(f, 0x4a695444, 1, 40, 1, 1);
	load(f, 3000000000ull, 0x1000, 16, "f"); /* 3 GHz: 1 s after the first of the pair */
	load(f, 0, 0x2000, 16, "early");
	write_up_to(f, f->file.len);
	open_with(f, (struct tapir_jitdump_opts){.ticks = {{1500000000, 6000000000},
							   {100 * SEC, 101 * SEC + SEC / 2}}});
	read_all(f);
	names(f, 0x1000, 100 * SEC + SEC / 2, "f");
	names(f, 0x1000, 100 * SEC, NULL);
	names(f, 0x2000, 100 * SEC - SEC / 2, "early");
	assert_null(tapir_jitdump__problem(f->dump));
}

static void without_a_way_to_convert_the_times_of_reading_hold(void **state)
{
	struct fixture *f = *state;

	header(f, 0x4a695444, 1, 40, 1, 1);
	load(f, 77, 0x1000, 16, "before");
	read_all(f);
	load(f, 78, 0x1000, 16, "after");
	read_all(f);
	names(f, 0x1000, 1, "before");
	names(f, 0x1000, 1000 * SEC, "after");
	assert_non_null(strstr(tapir_jitdump__problem(f->dump), "ticks"));
	assert_int_equal(warning_cnt, 1);
}

static void another_clock_is_noticed(void **state)
{
	struct fixture *f = *state;

	header(f, 0x4a695444, 1, 40, 1700000000 * SEC, 0);
	load(f, 1700000001 * SEC, 0x1000, 16, "f");
	read_all(f);
	names(f, 0x1000, 1, "f");
	assert_non_null(strstr(tapir_jitdump__problem(f->dump), "another clock"));
}

static void no_name_begins_later_than_now(void **state)
{
	struct fixture *f = *state;

	good_header(f);
	load(f, 1700000001 * SEC, 0x1000, 16, "f");
	read_all(f);
	names(f, 0x1000, 1000 * SEC, "f");
}

/* ---- hostile files --------------------------------------------------------------------------- */

static void file_that_is_none_costs_one_warning(void **state)
{
	static const struct {
		uint32_t magic, version, total;
		uint64_t flags;
		const char *why;
	} cases[] = {
		{0x4454694a, 1, 40, 0, "byte order"},	{0x464c457f, 1, 40, 0, "not a jitdump"},
		{0x4a695444, 9, 40, 0, "version 9"},	{0x4a695444, 1, 39, 0, "header of 39"},
		{0x4a695444, 1, 1u << 31, 0, "header"}, {0x4a695444, 1, 40, 2, "flags 0x2"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(ftruncate(f->fd, 0), 0);
		tapir_str__clear(&f->file);
		header(f, cases[i].magic, cases[i].version, cases[i].total, 0, cases[i].flags);
		load(f, SEC, 0x1000, 16, "f");
		warning_cnt = 0;
		for (int k = 0; k < 5; k++)
			assert_int_equal(read_all(f)->records, 0);
		assert_int_equal(warning_cnt, 1);
		if (!strstr(tapir_jitdump__problem(f->dump), cases[i].why))
			fail_msg("%s", tapir_jitdump__problem(f->dump));
		tapir_jitdump__close(f->dump);
		f->dump = NULL;
	}
}

static void sizes_that_lie_are_counted(void **state)
{
	struct fixture *f = *state;

	good_header(f);
	prefix(f, 0, 20, SEC); /* a load without its fields */
	u32(f, 1);
	prefix(f, 1, 16, SEC);	   /* a move without any */
	prefix(f, 99, 16, SEC);	   /* no known kind */
	prefix(f, 0, 56 + 4, SEC); /* a name without its end */
	for (int i = 0; i < 5; i++)
		u64(f, 0x1000);
	tapir_str__adds(&f->file, "abcd");
	prefix(f, 0, 56 + 2, SEC); /* more code than the record */
	u64(f, 1);
	u64(f, 0x1000);
	u64(f, 0x1000);
	u64(f, UINT64_MAX);
	u64(f, 0);
	tapir_str__add(&f->file, "a", 2);
	move(f, SEC, 0x7777, 0x8888, 5); /* of what was never loaded */
	load(f, SEC, 0x9000, 16, "good");
	assert_int_equal(read_all(f)->records, 7);
	assert_int_equal(tapir_jitdump__stats(f->dump)->bad_records, 6);
	names(f, 0x9000, SEC, "good");
	/* after an impossible size, the start of the next record is not known */
	prefix(f, 0, 15, SEC);
	load(f, SEC, 0xa000, 16, "unreachable");
	for (int i = 0; i < 5; i++)
		assert_int_equal(read_all(f)->records, 7);
	assert_int_equal(warning_cnt, 1);
	assert_non_null(strstr(tapir_jitdump__problem(f->dump), "record of 15 bytes"));
}

static void record_of_1_gb_is_stepped_over(void **state)
{
	struct fixture *f = *state;
	uint32_t code_bytes = 1u << 30, total = 58 + code_bytes;
	uint64_t start = tapir_clock__ns(CLOCK_PROCESS_CPUTIME_ID);

	good_header(f);
	prefix(f, 0, total, SEC);
	u64(f, 1);
	u64(f, 0x1000000);
	u64(f, 0x1000000);
	u64(f, code_bytes);
	u64(f, 0);
	tapir_str__add(&f->file, "g", 2);
	assert_int_equal(read_all(f)->records, 0);
	assert_int_equal(ftruncate(f->fd, 40 + (off_t)total), 0);
	assert_int_equal(tapir_jitdump__read(f->dump, f->now_ns, MB, f->table), 1);
	assert_int_equal(tapir_jitdump__stats(f->dump)->records, 1);
	names(f, 0x1000000, 2 * SEC, "g");
	assert_true(tapir_clock__ns(CLOCK_PROCESS_CPUTIME_ID) - start < SEC);
}

static void file_that_is_cut_is_read_from_its_beginning(void **state)
{
	struct fixture *f = *state;

	good_header(f);
	load(f, SEC, 0x1000, 16, "before");
	read_all(f);
	assert_int_equal(ftruncate(f->fd, 0), 0);
	tapir_str__clear(&f->file);
	assert_int_equal(tapir_jitdump__read(f->dump, f->now_ns, MB, f->table), 0);
	good_header(f);
	load(f, 5 * SEC, 0x1000, 16, "after");
	read_all(f);
	names(f, 0x1000, 5 * SEC, "after");
}

static void what_is_no_regular_file_of_the_process_is_refused(void **state)
{
	struct fixture *f = *state;
	struct tapir_jitdump_opts opts = {.sz = sizeof(opts), .uid = getuid()};
	int pipe_fds[2];

	assert_int_equal(pipe(pipe_fds), 0);
	opts.fd = pipe_fds[0];
	assert_int_equal(tapir_jitdump__open(&opts, &f->dump), -EINVAL);
	assert_int_equal(tapir_diag__cnt(), 1);
	opts.fd = f->fd;
	opts.uid = getuid() + 1;
	assert_int_equal(tapir_jitdump__open(&opts, &f->dump), -EACCES);
	assert_int_equal(tapir_diag__cnt(), 2);
	/* the process says itself whom it runs as */
	opts.tgid = (uint32_t)getpid();
	opts.fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(opts.fd >= 0);
	assert_int_equal(tapir_jitdump__open(&opts, &f->dump), 0);
	close(opts.fd);
	tapir_diag__clear();
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void files_are_known_by_their_names(void **state)
{
	static const char *const good[] = {"/tmp/jit-1.dump", "/a/b/.debug/jit/x/jit-12345.dump",
					   "jit-7.dump"};
	static const char *const bad[] = {"",
					  "/",
					  "/tmp/jit-.dump",
					  "/tmp/jit-1.dump/",
					  "/tmp/jit-1a.dump",
					  "/tmp/xjit-1.dump",
					  "/tmp/jit-1.dum",
					  "/jit-1.dump/x",
					  "/tmp/perf-1.map"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(tapir_jitdump__is_path(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(tapir_jitdump__is_path(bad[i], strlen(bad[i])));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* ---- pictures -------------------------------------------------------------------------------- */

/* Written anew and read as a picture taken at at_ns, after one of since_ns. */
static void take_picture(struct fixture *f, uint64_t since_ns, uint64_t at_ns)
{
	tapir_jitdump__close(f->dump);
	f->dump = NULL;
	assert_int_equal(ftruncate(f->fd, 0), 0);
	write_up_to(f, f->file.len);
	open_with(f, (struct tapir_jitdump_opts){
			     .is_picture = true, .since_ns = since_ns, .at_ns = at_ns});
	read_all(f);
	tapir_str__clear(&f->file);
	good_header(f);
}

static void picture_holds_from_the_start_and_the_next_from_then(void **state)
{
	struct fixture *f = *state;

	good_header(f);
	load(f, 50 * SEC, 0x1000, 0x100, "first"); /* times of writing */
	load(f, 50 * SEC, 0x3000, 0x100, "stays");
	take_picture(f, 0, 50 * SEC);
	names(f, 0x1000, 1 * SEC, "first");
	load(f, 60 * SEC, 0x1080, 0x100, "taker"); /* at an address of the first one */
	load(f, 60 * SEC, 0x2000, 0x100, "newcomer");
	load(f, 60 * SEC, 0x3000, 0x100, "stays");
	take_picture(f, 50 * SEC, 60 * SEC);
	names(f, 0x1080, 59 * SEC, "first");
	names(f, 0x1080, 60 * SEC, "taker");
	names(f, 0x2000, 49 * SEC, NULL);
	names(f, 0x2000, 51 * SEC, "newcomer");
	names(f, 0x3000, 1 * SEC, "stays");
	names(f, 0x3000, 61 * SEC, "stays");
}

static void block_of_stubs_takes_nothing_from_methods_in_a_picture(void **state)
{
	struct fixture *f = *state;

	good_header(f);
	load(f, 50 * SEC, 0x1000, 0x100, "method");
	load(f, 50 * SEC, 0x0, 0x8000, "stub ReportStubBlock<X>");
	load(f, 50 * SEC, 0x10000, 0x100, "stub Alone<X>");
	take_picture(f, 0, 50 * SEC);
	names(f, 0x1000, 55 * SEC, "method");
	names(f, 0x2000, 55 * SEC, NULL);
	names(f, 0x10000, 55 * SEC, "stub Alone<X>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(names_hold_from_their_own_times),
		CASE(record_that_is_cut_waits_for_its_rest),
		CASE(records_across_the_edge_of_what_is_read_are_whole),
		CASE(larger_header_is_stepped_over),
		CASE(times_of_a_time_namespace_are_brought_to_ours),
		CASE(ticks_are_converted),
		CASE(without_a_way_to_convert_the_times_of_reading_hold),
		CASE(another_clock_is_noticed),
		CASE(no_name_begins_later_than_now),
		CASE(file_that_is_none_costs_one_warning),
		CASE(sizes_that_lie_are_counted),
		CASE(record_of_1_gb_is_stepped_over),
		CASE(file_that_is_cut_is_read_from_its_beginning),
		CASE(what_is_no_regular_file_of_the_process_is_refused),
		CASE(files_are_known_by_their_names),
		CASE(picture_holds_from_the_start_and_the_next_from_then),
		CASE(block_of_stubs_takes_nothing_from_methods_in_a_picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
