// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cache of unwind tables: what was stored comes back for the same file only; damaged, foreign
 * and truncated files are refused; a full disk and a full cache lose nothing but tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "attach/unwind/rows.h"
#include "attach/unwind/unwind_cache.h"
#include "attach/unwind/unwind_table.h"

static const struct tapir_unwind_key key = {.dev = 1, .inode = 2, .size = 3, .mtime_ns = 4};

struct fixture {
	char path[64];
	int dir_fd;
	struct tapir_unwind_cache *cache;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->path, "/tmp/tapir-test-cache-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	f->dir_fd = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	f->cache = tapir_unwind_cache__in(f->dir_fd, 64 << 10);
	*state = f;
	return 0;
}

static bool remove_name(void *ctx, int dir_fd, const char *name)
{
	(void)ctx;
	(void)unlinkat(dir_fd, name, 0);
	return true;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	(void)tapir_file__each_name(AT_FDCWD, f->path, remove_name, NULL);
	rmdir(f->path);
	tapir_unwind_cache__free(f->cache);
	close(f->dir_fd);
	free(f);
	return 0;
}

static struct tapir_unwind_table *sample(unsigned row_cnt)
{
	struct tapir_unwind_rows rows = {};
	struct tapir_unwind_table *t;

	assert_true(tapir_vec__push(&rows.vec, ((struct tapir_unwind_row){})));
	for (unsigned i = 0; i < row_cnt; i++)
		assert_true(tapir_vec__push(&rows.vec,
					    ((struct tapir_unwind_row){.pc = 4096 + i * 9,
								       .cfa = (uint16_t)(1 + i % 2),
								       .rule = TAPIR_UNWIND_SP})));
	assert_int_equal(tapir_unwind_table__pack(&rows, &t), 0);
	tapir_unwind_rows__fini(&rows);
	return t;
}

static unsigned count_files(const struct fixture *f, size_t *bytes)
{
	DIR *dir = opendir(f->path);
	const struct dirent *entry;
	unsigned cnt = 0;
	struct stat st;

	*bytes = 0;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && !fstatat(dirfd(dir), entry->d_name, &st, 0)) {
			*bytes += (size_t)st.st_size;
			cnt++;
		}
	closedir(dir);
	return cnt;
}

/* The only file that is there, open for changes. */
static int open_only(const struct fixture *f)
{
	DIR *dir = opendir(f->path);
	const struct dirent *entry;
	int fd = -1;

	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
	closedir(dir);
	assert_true(fd >= 0);
	return fd;
}

static void table_comes_back_for_the_same_file_only(void **state)
{
	struct fixture *f = *state;
	struct tapir_unwind_table *t = sample(1000), *back = NULL, *untouched = NULL;
	struct tapir_unwind_key other = key;

	assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), -ENOENT);
	tapir_unwind_cache__store(f->cache, &key, t);
	assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), 0);
	assert_memory_equal(&back->shape, &t->shape, sizeof(t->shape));
	assert_memory_equal(back->blocks, t->blocks, tapir_unwind_table__bytes(&t->shape));
	other.ctime_ns = 1; /* it was written to */
	assert_int_equal(tapir_unwind_cache__load(f->cache, &other, &untouched), -ENOENT);
	assert_null(untouched);
	tapir_unwind_table__free(back);
	tapir_unwind_table__free(t);
}

/* A bit of each byte of the header, and of some of the blocks. */
static void damaged_files_are_refused(void **state)
{
	struct fixture *f = *state;
	struct tapir_unwind_table *t = sample(600), *back = NULL;
	off_t size = (off_t)(96 + tapir_unwind_table__bytes(&t->shape));
	int fd;

	tapir_unwind_cache__store(f->cache, &key, t);
	fd = open_only(f);
	for (off_t at = 0; at < size; at += at < 96 ? 1 : 97) {
		uint8_t byte, bad;

		if (at >= 92 && at < 96)
			continue; /* padding after the header's checksum */
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		bad = byte ^ 0x10;
		assert_int_equal(pwrite(fd, &bad, 1, at), 1);
		assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), -EBADMSG);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), 0);
	tapir_unwind_table__free(back);
	for (off_t len = size - 1; len > 0; len = len * 2 / 3) {
		assert_int_equal(ftruncate(fd, len), 0);
		assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), -EBADMSG);
	}
	close(fd);
	tapir_unwind_table__free(t);
}

/* Whole and with the right checksums, but made by somebody else. */
static void tables_that_lead_astray_are_refused(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 3; i++) {
		struct tapir_unwind_table *t = sample(600), *back = NULL;

		if (i == 0)
			t->blocks[0].words[3] =
				TAPIR_UNWIND_WORD(TAPIR_UNWIND_MAX_BLOCKS - 1, 0, 0);
		if (i == 1)
			t->blocks[1].rows[5].pc = 1; /* not sorted */
		if (i == 2)
			t->shape.granule_cnt = 5000; /* beyond the index that is there */
		tapir_unwind_cache__store(f->cache, &key, t);
		assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), -EBADMSG);
		tapir_unwind_table__free(t);
	}
}

static void links_and_fifos_are_not_followed(void **state)
{
	struct fixture *f = *state;
	struct tapir_unwind_table *t = sample(10), *back = NULL;
	char name[256], other[320];
	int fd, len;

	tapir_unwind_cache__store(f->cache, &key, t);
	fd = open_only(f);
	snprintf(other, sizeof(other), "/proc/self/fd/%d", fd);
	len = (int)readlink(other, name, sizeof(name) - 1);
	assert_true(len > 0);
	name[len] = '\0';
	snprintf(other, sizeof(other), "%s.away", name);
	assert_int_equal(rename(name, other), 0);
	assert_int_equal(symlink(other, name), 0);
	assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), -ENOENT);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), -EBADMSG);
	close(fd);
	tapir_unwind_table__free(t);
}

static void oldest_go_when_there_is_no_room(void **state)
{
	struct fixture *f = *state;
	struct tapir_unwind_table *t = sample(1000), *back = NULL;
	struct tapir_unwind_key each = key;
	size_t bytes;

	for (unsigned i = 0; i < 20; i++) {
		each.inode = 100 + i;
		tapir_unwind_cache__store(f->cache, &each, t);
		assert_in_range(count_files(f, &bytes), 1, 20);
		assert_true(bytes <= 64 << 10);
		usleep(2000); /* of another time */
	}
	assert_int_equal(tapir_unwind_cache__load(f->cache, &each, &back), 0);
	tapir_unwind_table__free(back);
	each.inode = 100;
	assert_int_equal(tapir_unwind_cache__load(f->cache, &each, &back), -ENOENT);
	tapir_unwind_table__free(t);
	t = sample(20000); /* larger than all the room there is */
	tapir_unwind_cache__store(f->cache, &key, t);
	assert_int_equal(tapir_unwind_cache__load(f->cache, &key, &back), -ENOENT);
	tapir_unwind_table__free(t);
}

/* Room for more than one more: the directory is not read for each file that is stored. */
static void room_is_made_for_several_files_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct tapir_unwind_table *t = sample(100);
	struct tapir_unwind_key each = key;
	unsigned cnt, last_cnt = 0, most = 0, removed = 0, times = 0;
	size_t bytes;

	for (unsigned i = 0; i < 20; i++) {
		each.inode = 100 + i;
		tapir_unwind_cache__store(f->cache, &each, t);
		cnt = count_files(f, &bytes);
		most = cnt > most ? cnt : most;
		times += cnt <= last_cnt;
		removed += last_cnt + 1 - cnt;
		last_cnt = cnt;
		usleep(2000);
	}
	assert_in_range(most, 4, 19);
	assert_true(times > 0 && removed > times);
	tapir_unwind_table__free(t);
}

/* More files than are looked at: those that are not must not be forgotten for ever. */
static void room_is_kept_when_there_are_many_files(void **state)
{
	struct fixture *f = *state;
	struct tapir_unwind_table *t = sample(1000);
	size_t bytes;
	char name[32];
	int fd;

	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%u.unwind", i);
		fd = openat(f->dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	for (unsigned i = 0; i < 3; i++) {
		struct tapir_unwind_cache *c = tapir_unwind_cache__in(f->dir_fd, 64 << 10);

		tapir_unwind_cache__store(c, &key, t); /* the first one of a recording */
		tapir_unwind_cache__free(c);
	}
	assert_in_range(count_files(f, &bytes), 1, 4096);
	tapir_unwind_table__free(t);
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "%u.unwind", i);
		unlinkat(f->dir_fd, name, 0);
	}
}

static void nothing_happens_without_a_cache(void **state)
{
	struct tapir_unwind_table *t = sample(10), *back = NULL;

	(void)state;
	tapir_unwind_cache__store(NULL, &key, t);
	assert_int_equal(tapir_unwind_cache__load(NULL, &key, &back), -ENOENT);
	tapir_unwind_cache__free(NULL);
	tapir_unwind_table__free(t);
}

/* A file that was changed in place, or replaced, has another key; one that has no name, none. */
static void key_changes_with_the_file(void **state)
{
	struct fixture *f = *state;
	struct tapir_unwind_key before, after;
	int fd = openat(f->dir_fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1", 1), 1);
	assert_int_equal(tapir_unwind_key__of(fd, &before), 0);
	usleep(20000); /* beyond the grain of the kernel's clock for files */
	assert_int_equal(pwrite(fd, "2", 1, 0), 1);
	assert_int_equal(tapir_unwind_key__of(fd, &after), 0);
	assert_memory_not_equal(&before, &after, sizeof(before));
	assert_int_equal(unlinkat(f->dir_fd, "file", 0), 0);
	assert_int_equal(tapir_unwind_key__of(fd, &after), -ENODATA);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(table_comes_back_for_the_same_file_only, setup,
						teardown),
		cmocka_unit_test_setup_teardown(damaged_files_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(tables_that_lead_astray_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(links_and_fifos_are_not_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(oldest_go_when_there_is_no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(room_is_made_for_several_files_at_a_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(room_is_kept_when_there_are_many_files, setup,
						teardown),
		cmocka_unit_test_setup_teardown(key_changes_with_the_file, setup, teardown),
		cmocka_unit_test(nothing_happens_without_a_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
