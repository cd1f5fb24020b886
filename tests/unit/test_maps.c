// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines of /proc/PID/maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/maps.h"
#include "base/file.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

static bool parse(const char *text, char *buf, struct tapir_mapping_line *m)
{
	strcpy(buf, text);
	return tapir_mapping_line__parse(buf, strlen(buf), m);
}

static void line_is_read_when_it_is_complete(void **state)
{
	static const struct {
		const char *line, *path;
		uint64_t start_va, end_va, off, inode;
		uint32_t dev;
		bool executable, shared, deleted, file;
	} cases[] = {
		{"55d0-55e0 r-xp 00001000 fd:01 1234     /usr/bin/x", "/usr/bin/x", 0x55d0, 0x55e0,
		 0x1000, 1234, 0xfd << 20 | 1, true, false, false, true},
		{"7f00-7f10 rw-s 00000000 00:05 9 /dev/shm/a b  c", "/dev/shm/a b  c", 0x7f00,
		 0x7f10, 0, 9, 5, false, true, false, true},
		{"1000-2000 r-xp 0 103:abcde 1 /x (deleted)", "/x", 0x1000, 0x2000, 0, 1,
		 0x103 << 20 | 0xabcde, true, false, true, true},
		{"1000-2000 r-xp 0 1:2 1 /a\\012b", "/a\nb", 0x1000, 0x2000, 0, 1, 1 << 20 | 2,
		 true, false, false, true},
		{"1000-2000 rw-p 00000000 00:00 0 ", "", 0x1000, 0x2000, 0, 0, 0, false, false,
		 false, false},
		{"1000-2000 rw-p 00000000 00:00 0                          [heap]", "[heap]",
		 0x1000, 0x2000, 0, 0, 0, false, false, false, false},
		{"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]", "[vsyscall]",
		 0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, true, false, false, false},
		{"1000-2000 rw-p 0 0:0 0 [anon: (deleted)]", "[anon: (deleted)]", 0x1000, 0x2000, 0,
		 0, 0, false, false, false, false},
	};
	struct tapir_mapping_line m;
	char buf[256];

	(void)state;
	for (size_t i = 0; i < CNT(cases); i++) {
		if (!parse(cases[i].line, buf, &m))
			fail_msg("refused: %s", cases[i].line);
		assert_string_equal(m.path, cases[i].path);
		assert_int_equal(m.path_len, strlen(cases[i].path));
		assert_int_equal(m.start_va, cases[i].start_va);
		assert_int_equal(m.end_va, cases[i].end_va);
		assert_int_equal(m.file_off, cases[i].off);
		assert_int_equal(m.inode, cases[i].inode);
		assert_int_equal(m.dev, cases[i].dev);
		assert_int_equal(m.is_executable, cases[i].executable);
		assert_int_equal(m.is_shared, cases[i].shared);
		assert_int_equal(m.is_deleted, cases[i].deleted);
		assert_int_equal(tapir_mapping_line__is_file(&m), cases[i].file);
	}
}

static void line_is_refused_when_it_is_not(void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0 1:2",
		"1000-2000 r-xp 0 1:2 1", /* cut before the space after the inode */
		"2000-1000 r-xp 0 1:2 1 /x",
		"1000-1000 r-xp 0 1:2 1 /x",
		"-2000 r-xp 0 1:2 1 /x",
		" 1000-2000 r-xp 0 1:2 1 /x",
		"1000 2000 r-xp 0 1:2 1 /x",
		"1000-2000  r-xp 0 1:2 1 /x",
		"1000-2000 r-x 0 1:2 1 /x",
		"1000-2000 r-xq 0 1:2 1 /x",
		"1000-2000 x-rp 0 1:2 1 /x",
		"0x1000-2000 r-xp 0 1:2 1 /x",
		"1000-2000 r-xp -1 1:2 1 /x",
		"1000-2000 r-xp 0 1000:2 1 /x",
		"1000-2000 r-xp 0 1:100000 1 /x",
		"1000-2000 r-xp 0 1:2 a /x",
		"1000-2000 r-xp 0 1:2 18446744073709551616 /x",
		"1000-10000000000000000 r-xp 0 1:2 1 /x",
		"1000-2000 r-xp 0 12 1 /x",
	};
	struct tapir_mapping_line m = {.inode = 77};
	char buf[256];

	(void)state;
	for (size_t i = 0; i < CNT(lines); i++)
		if (parse(lines[i], buf, &m))
			fail_msg("taken: %s", lines[i]);
	assert_int_equal(m.inode, 77);
}

struct seen {
	size_t cnt, longest;
	int stop_at;
};

static int see(const struct tapir_mapping_line *m, void *ctx)
{
	struct seen *seen = ctx;

	seen->cnt++;
	seen->longest = m->path_len > seen->longest ? m->path_len : seen->longest;
	return seen->stop_at && (int)seen->cnt == seen->stop_at ? 42 : 0;
}

static int walk_text(const char *text, size_t len, struct seen *seen, size_t *bad_cnt)
{
	tapir_autofd int fd = memfd_create("maps", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(tapir_file__write_all(fd, text, len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return tapir_maps__each(fd, see, seen, bad_cnt);
}

static void bad_lines_are_counted_and_good_ones_seen(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 1:2 1 /a\nnonsense\n\n"
				   "2000-3000 r-xp 0 1:2 1 /b\n3000-4000 r-xp 0 1:2 1 /cut";
	struct seen seen = {};
	size_t bad_cnt = 0;

	(void)state;
	assert_int_equal(walk_text(text, sizeof(text) - 1, &seen, &bad_cnt), 0);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(bad_cnt, 3);
}

static void walk_ends_when_the_callback_says_so(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 1:2 1 /a\n2000-3000 r-xp 0 1:2 1 /b\n";
	struct seen seen = {.stop_at = 1};

	(void)state;
	assert_int_equal(walk_text(text, sizeof(text) - 1, &seen, NULL), 42);
	assert_int_equal(seen.cnt, 1);
}

/* A path of 4,095 newlines is the longest there is; a longer line is no line. */
static void long_paths_are_read_and_endless_ones_skipped(void **state)
{
	static const char head[] = "1000-2000 r-xp 0 1:2 1 /",
			  last[] = "2000-3000 r-xp 0 1:2 1 /b\n";
	size_t cap = 400000, len = 0, bad_cnt = 0;
	char *text = malloc(cap);
	struct seen seen = {};

	(void)state;
	assert_non_null(text);
	len += (size_t)sprintf(text, "%s", head);
	for (int i = 0; i < 4094; i++)
		len += (size_t)sprintf(text + len, "\\012");
	text[len++] = '\n';
	len += (size_t)sprintf(text + len, "%s", head);
	memset(text + len, 'x', 300000);
	len += 300000;
	text[len++] = '\n';
	len += (size_t)sprintf(text + len, "%s", last);
	assert_int_equal(walk_text(text, len, &seen, &bad_cnt), 0);
	free(text);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.longest, 4095);
	assert_int_equal(bad_cnt, 1);
}

struct moved {
	size_t cnt, moved_cnt;
	struct tapir_mapping_line line;
	char path[16];
};

static int see_moved(const struct tapir_mapping_line *m, void *ctx)
{
	struct moved *moved = ctx;

	moved->cnt++;
	if (!m->is_moved)
		return 0;
	moved->moved_cnt++;
	moved->line = *m;
	snprintf(moved->path, sizeof(moved->path), "%s", m->path);
	return 0;
}

static void walk_moved(const char *text, struct moved *out)
{
	tapir_autofd int fd = memfd_create("maps", MFD_CLOEXEC);

	*out = (struct moved){};
	assert_int_equal(tapir_file__write_all(fd, text, strlen(text)), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(tapir_maps__each(fd, see_moved, out, NULL), 0);
}

/* As node --use-largepages=on has it. */
static void text_that_was_moved_is_its_files(void **state)
{
	struct moved moved;

	(void)state;
	walk_moved("1000-3000 r-xp 500 1:2 7 /node\n3000-9000 r-xp 0 0:0 0 \n"
		   "9000-a000 r-xp 8500 1:2 7 /node\n",
		   &moved);
	assert_int_equal(moved.cnt, 3);
	assert_int_equal(moved.moved_cnt, 1);
	assert_int_equal(moved.line.start_va, 0x3000);
	assert_int_equal(moved.line.file_off, 0x2500);
	assert_int_equal(moved.line.inode, 7);
	assert_int_equal(moved.line.dev, 1 << 20 | 2);
	assert_string_equal(moved.path, "/node");
}

static void other_memory_beside_code_is_no_moved_text(void **state)
{
	static const char *const texts[] = {
		"1000-3000 r-xp 500 1:2 7 /a\n3000-9000 r-xp 0 0:0 0 \n9000-a000 r-xp 8500 1:2 8 /b\n",
		"1000-3000 r-xp 500 1:2 7 /a\n3000-9000 r-xp 0 0:0 0 \n9000-a000 r-xp 9500 1:2 7 /a\n",
		"1000-3000 r-xp 500 1:2 7 /a\n3000-9000 r-xp 0 0:0 0 \n9000-a000 r--p 8500 1:2 7 /a\n",
		"1000-3000 r--p 500 1:2 7 /a\n3000-9000 r-xp 0 0:0 0 \n9000-a000 r-xp 8500 1:2 7 /a\n",
		"1000-3000 r-xp 500 1:2 7 /a\n4000-9000 r-xp 0 0:0 0 \n9000-a000 r-xp 8500 1:2 7 /a\n",
		"1000-3000 r-xp 500 1:2 7 /a\n3000-8000 r-xp 0 0:0 0 \n9000-a000 r-xp 8500 1:2 7 /a\n",
		"1000-3000 r-xp 500 1:2 7 /a\n3000-9000 rw-p 0 0:0 0 \n9000-a000 r-xp 8500 1:2 7 /a\n",
		"1000-3000 r-xp 500 1:2 7 /a\n3000-9000 r-xp 0 0:0 0 \n3000-9000 r-xp 0 0:0 0 \n",
		"9000-a000 r-xp 0 1:2 7 /a\n3000-9000 r-xp 0 0:0 0 \na000-b000 r-xp 1000 1:2 7 /a\n",
	};
	struct moved moved;

	(void)state;
	for (size_t i = 0; i < CNT(texts); i++) {
		walk_moved(texts[i], &moved);
		assert_int_equal(moved.cnt, 3);
		assert_int_equal(moved.moved_cnt, 0);
	}
	walk_moved("1000-3000 r-xp 500 1:2 7 /a\n3000-9000 r-xp 0 0:0 0 \n", &moved);
	assert_int_equal(moved.cnt, 2);
	assert_int_equal(moved.moved_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_is_read_when_it_is_complete),
		cmocka_unit_test(line_is_refused_when_it_is_not),
		cmocka_unit_test(bad_lines_are_counted_and_good_ones_seen),
		cmocka_unit_test(walk_ends_when_the_callback_says_so),
		cmocka_unit_test(long_paths_are_read_and_endless_ones_skipped),
		cmocka_unit_test(text_that_was_moved_is_its_files),
		cmocka_unit_test(other_memory_beside_code_is_no_moved_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
