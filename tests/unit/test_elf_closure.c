// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a program will map, beside what it does map: this program's own mappings are the witness.
 * Then caches of ldconfig that are built here, whole and malformed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/proc.h"
#include "base/diag.h"
#include "record/elf_closure.h"
#include "elf/ld_cache.h"

#define FILE_MAX 600

struct found {
	char *paths[FILE_MAX];
	ino_t inodes[FILE_MAX];
	size_t cnt, stop_at;
};

static int take(void *ctx, int fd, const char *path)
{
	struct found *f = ctx;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISREG(st.st_mode) && f->cnt < FILE_MAX);
	f->inodes[f->cnt] = st.st_ino;
	f->paths[f->cnt++] = strdup(path);
	return f->stop_at && f->cnt == f->stop_at ? -EINTR : 0;
}

static void fini(struct found *f)
{
	while (f->cnt)
		free(f->paths[--f->cnt]);
}

static bool has_inode(const struct found *f, uint64_t inode)
{
	for (size_t i = 0; i < f->cnt; i++)
		if (f->inodes[i] == inode)
			return true;
	return false;
}

static int check_mapping(const struct tapir_mapping_line *m, void *ctx)
{
	if (m->is_executable && tapir_mapping_line__is_file(m) && !has_inode(ctx, m->inode))
		fail_msg("%s is mapped and was not foreseen", m->path);
	return 0;
}

static void every_mapped_file_is_in_the_closure(void **state)
{
	struct found f = {};

	(void)state;
	assert_int_equal(tapir_elf_closure__each("/proc/self/exe", take, &f), 0);
	assert_true(f.cnt >= 4); /* itself, the loader, libc, cmocka */
	assert_int_equal(tapir_proc__each_mapping((uint32_t)getpid(), check_mapping, &f), 0);
	fini(&f);
}

static void walk_ends_when_it_is_told_to(void **state)
{
	struct found f = {.stop_at = 2};

	(void)state;
	assert_int_equal(tapir_elf_closure__each("/proc/self/exe", take, &f), -EINTR);
	assert_int_equal(f.cnt, 2);
	fini(&f);
}

static void closure_is_empty_when_there_is_no_file(void **state)
{
	struct found f = {};

	(void)state;
	assert_int_equal(tapir_elf_closure__each("/no/such/program", take, &f), 0);
	assert_int_equal(tapir_elf_closure__each("/dev/zero", take, &f), 0);
	assert_int_equal(tapir_elf_closure__each("/", take, &f), 0);
	assert_int_equal(f.cnt, 0);
	assert_int_equal(tapir_diag__cnt(), 0);
}

/* A chain of scripts, each the interpreter of the next, ends at a program; one may name itself. */
static void interpreters_of_a_script_are_in_the_closure(void **state)
{
	char dir[] = "/tmp/tapir-foreseen-XXXXXX", first[64], second[64], loop[64];
	struct found f = {};
	FILE *out;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(first, sizeof(first), "%s/first", dir);
	snprintf(second, sizeof(second), "%s/second", dir);
	snprintf(loop, sizeof(loop), "%s/loop", dir);
	out = fopen(first, "w");
	fprintf(out, "#! %s -x\nrest\n", second);
	fclose(out);
	out = fopen(second, "w");
	fprintf(out, "#!/bin/sh");
	fclose(out);
	out = fopen(loop, "w");
	fprintf(out, "#!%s\n", loop);
	fclose(out);
	assert_int_equal(tapir_elf_closure__each(first, take, &f), 0);
	assert_true(f.cnt >= 4);
	assert_string_equal(f.paths[0], first);
	assert_string_equal(f.paths[1], second);
	fini(&f);
	assert_int_equal(tapir_elf_closure__each(loop, take, &f), 0);
	assert_int_equal(f.cnt, 1);
	fini(&f);
	unlink(first);
	unlink(second);
	unlink(loop);
	rmdir(dir);
}

/* ---- ldconfig's cache ------------------------------------------------------------------------- */

static char cache[4096];

static void put(size_t off, uint32_t value)
{
	memcpy(cache + off, &value, sizeof(value));
}

/* Two libraries of one name and one of another; the layout begins at `at`. Returns its length. */
static size_t build_cache(size_t at)
{
	static const char strings[] =
		"libone.so.1\0/a/libone.so.1\0/b/libone.so.1\0libtwo.so\0/c/libtwo.so";
	const uint32_t keys[] = {0, 0, 42}, values[] = {12, 27, 52};
	uint32_t strings_off = 48 + 3 * 24;

	memset(cache, 0, sizeof(cache));
	memcpy(cache + at, "glibc-ld.so.cache1.1", 20);
	put(at + 20, 3);
	put(at + 24, sizeof(strings));
	for (unsigned i = 0; i < 3; i++) {
		put(at + 48 + i * 24 + 4, strings_off + keys[i]);
		put(at + 48 + i * 24 + 8, strings_off + values[i]);
	}
	memcpy(cache + at + strings_off, strings, sizeof(strings));
	return at + strings_off + sizeof(strings);
}

struct paths {
	char text[256];
	int cnt;
};

static int remember(void *ctx, const char *path)
{
	struct paths *p = ctx;

	p->cnt++;
	snprintf(p->text + strlen(p->text), sizeof(p->text) - strlen(p->text), "%s ", path);
	return 0;
}

static void check_cache(const char *data, size_t len, const char *name, const char *expected)
{
	struct paths p = {};

	assert_int_equal(tapir_ld_cache__each(data, len, name, remember, &p), 0);
	assert_string_equal(p.text, expected);
}

static void every_path_of_a_name_is_handed_out(void **state)
{
	size_t len = build_cache(0);

	(void)state;
	check_cache(cache, len, "libone.so.1", "/a/libone.so.1 /b/libone.so.1 ");
	check_cache(cache, len, "libtwo.so", "/c/libtwo.so ");
	check_cache(cache, len, "libone.so", "");
}

static void new_layout_is_found_behind_the_old_one(void **state)
{
	size_t len = build_cache(16 + 12 + 4); /* one old entry, and padding to 8 bytes */

	(void)state;
	memcpy(cache, "ld.so-1.7.0", 11);
	put(12, 1);
	check_cache(cache, len, "libtwo.so", "/c/libtwo.so ");
	put(12, UINT32_MAX);
	check_cache(cache, len, "libtwo.so", "");
}

static void nothing_outside_is_read_when_the_cache_is_malformed(void **state)
{
	size_t len = build_cache(0);

	(void)state;
	for (size_t cut = 0; cut < len;
	     cut++) { /* exact size: a sanitizer sees what is read behind */
		char *exact = malloc(cut ? cut : 1);
		struct paths p = {};

		memcpy(exact, cache, cut);
		assert_int_equal(tapir_ld_cache__each(exact, cut, "libtwo.so", remember, &p), 0);
		assert_int_equal(p.cnt, 0);
		free(exact);
	}
	put(20, UINT32_MAX);
	check_cache(cache, len, "libtwo.so", "/c/libtwo.so ");
	put(48 + 2 * 24 + 8, UINT32_MAX);
	check_cache(cache, len, "libtwo.so", "");
	cache[0] = 'x';
	check_cache(cache, len, "libone.so.1", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mapped_file_is_in_the_closure),
		cmocka_unit_test(walk_ends_when_it_is_told_to),
		cmocka_unit_test(closure_is_empty_when_there_is_no_file),
		cmocka_unit_test(interpreters_of_a_script_are_in_the_closure),
		cmocka_unit_test(every_path_of_a_name_is_handed_out),
		cmocka_unit_test(new_layout_is_found_behind_the_old_one),
		cmocka_unit_test(nothing_outside_is_read_when_the_cache_is_malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
