// SPDX-License-Identifier: GPL-2.0-or-later
/* Files within a recording: they come back byte for byte, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "tapir/trace_format.h"
#include "trace/recbuf.h"
#include "trace/rewrite.h"
#include "trace/stored_files.h"
#include "trace/writer.h"

#define FILE_BYTES (2 * TAPIR_FILE_PART_MAX_BYTES + 12345)

static const uint8_t id[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

static struct {
	int fd, content_fd;
	char *content;
	struct tapir_writer *w;
	struct tapir_stored_files *files;
} f;

static int no_check(void *ctx)
{
	(void)ctx;
	return 0;
}

static const struct tapir_stored_check check = {.check = no_check};

/* Begins the recording, again. */
static int begin(void)
{
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = "made", .has_fd = true, .fd = f.fd};

	tapir_writer__free(f.w);
	return ftruncate(f.fd, 0) || lseek(f.fd, 0, SEEK_SET) || tapir_writer__open(&opts, &f.w);
}

static int setup(void **state)
{
	uint64_t x = 1;

	(void)state;
	memset(&f, 0, sizeof(f));
	f.fd = memfd_create("recording", MFD_CLOEXEC);
	f.content_fd = memfd_create("content", MFD_CLOEXEC);
	f.content = malloc(FILE_BYTES);
	if (f.fd < 0 || f.content_fd < 0 || !f.content)
		return -1;
	for (size_t i = 0; i < FILE_BYTES; i++) { /* half of it can be compressed */
		x = x * 6364136223846793005u + 1442695040888963407u;
		f.content[i] = i % 4096 < 2048 ? (char)(x >> 56) : 'a';
	}
	return tapir_file__write_all(f.content_fd, f.content, FILE_BYTES) || begin();
}

static int teardown(void **state)
{
	(void)state;
	tapir_stored_files__close(f.files);
	tapir_writer__free(f.w);
	free(f.content);
	close(f.fd);
	close(f.content_fd);
	return 0;
}

static void put_record(void)
{
	struct tapir_recbuf buf = {};

	assert_int_equal(tapir_writer__put(f.w, tapir_recbuf__meta(&buf, 7, tapir_sv__of("host"),
								   tapir_sv__of("web"))),
			 0);
	tapir_recbuf__fini(&buf);
}

static void put_content(const uint8_t *build_id, uint64_t bytes)
{
	const struct tapir_stored_source source = {.build_id = build_id,
						   .build_id_bytes = sizeof(id),
						   .fd = f.content_fd,
						   .bytes = bytes};

	assert_int_equal(tapir_stored_files__put(f.w, &source, &check), 0);
}

static void close_writer(void)
{
	assert_int_equal(tapir_writer__close(f.w), 0);
}

static void open_files(int fd)
{
	tapir_stored_files__close(f.files);
	f.files = NULL;
	assert_int_equal(tapir_stored_files__open(fd, &f.files), 0);
}

static int unpack(const uint8_t *build_id)
{
	return tapir_stored_files__unpack(f.files, build_id, sizeof(id));
}

static void check_content(int fd)
{
	char *got = malloc(FILE_BYTES + 1);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, got, FILE_BYTES + 1, 0), FILE_BYTES);
	assert_memory_equal(got, f.content, FILE_BYTES);
	free(got);
	close(fd);
}

/* Changes a byte of the file at off. */
static void flip(int fd, off_t off)
{
	char byte;

	assert_int_equal(pread(fd, &byte, 1, off), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, off), 1);
}

/* The records of the recording, which has no damage unless it says so. */
static void check_records(int fd, bool is_damaged)
{
	struct tapir_reader *reader;
	const struct tapir_rec *rec;
	struct tapir_reader_stats stats;

	assert_int_equal(tapir_reader__open_fd(fd, "made", &reader), 0);
	while (tapir_reader__next(reader, &rec) > 0)
		;
	stats = *tapir_reader__stats(reader);
	assert_int_equal(stats.records, 1);
	assert_int_equal(tapir_reader_stats__is_damaged(&stats), is_damaged);
	tapir_reader__close(reader);
}

/* ---- good ones --------------------------------------------------------------------------- */

static void file_comes_back_and_records_stay(void **state)
{
	struct tapir_stored_file file;

	(void)state;
	put_record();
	put_content(id, FILE_BYTES);
	close_writer();
	open_files(f.fd);
	assert_true(tapir_stored_files__get(f.files, 0, &file));
	assert_int_equal(file.bytes, FILE_BYTES);
	assert_true(file.stored_bytes > FILE_BYTES / 3 && file.stored_bytes < FILE_BYTES * 2 / 3);
	assert_memory_equal(file.build_id, id, sizeof(id));
	assert_false(tapir_stored_files__get(f.files, 1, &file));
	assert_true(tapir_stored_files__has(f.files, id, sizeof(id)));
	assert_false(tapir_stored_files__has(f.files, id, sizeof(id) - 1));
	check_content(unpack(id));
	check_content(unpack(id));
	check_records(f.fd, false);
}

static void file_is_unpacked_into_memory_without_a_directory_for_temporary_files(void **state)
{
	int fd;

	(void)state;
	put_content(id, FILE_BYTES);
	close_writer();
	open_files(f.fd);
	assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
	fd = unpack(id);
	unsetenv("TMPDIR");
	check_content(fd);
}

static void build_id_that_is_not_there_is_enoent(void **state)
{
	uint8_t other[sizeof(id)] = {9};

	(void)state;
	put_content(id, FILE_BYTES);
	close_writer();
	open_files(f.fd);
	assert_int_equal(unpack(other), -ENOENT);
}

static void file_that_is_shorter_than_said_ends_the_writing(void **state)
{
	const struct tapir_stored_source source = {.build_id = id,
						   .build_id_bytes = sizeof(id),
						   .fd = f.content_fd,
						   .bytes = FILE_BYTES + 1};

	(void)state;
	assert_int_equal(tapir_stored_files__put(f.w, &source, &check), -EIO);
}

static int put_same(void *ctx, uint64_t segment, const struct tapir_rec *rec,
		    struct tapir_writer *w)
{
	(void)ctx;
	(void)segment;
	return tapir_writer__put(w, rec);
}

/* A copy by records; fd of it. */
static int copy(void)
{
	int fd = memfd_create("copy", MFD_CLOEXEC);
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = "copy", .has_fd = true, .fd = fd};
	const struct tapir_rewrite rewrite = {.put = put_same, .check = no_check};
	struct tapir_reader *reader;
	struct tapir_writer *w;

	assert_int_equal(tapir_reader__open_fd(f.fd, "made", &reader), 0);
	assert_int_equal(tapir_writer__open(&opts, &w), 0);
	assert_int_equal(tapir_rewrite__copy(reader, w, &rewrite), 0);
	assert_int_equal(tapir_writer__close(w), 0);
	tapir_writer__free(w);
	tapir_reader__close(reader);
	return fd;
}

static void copy_of_a_recording_has_its_files_once(void **state)
{
	struct tapir_stored_file before, after;
	int fd;

	(void)state;
	put_record();
	put_content(id, FILE_BYTES);
	put_content(id, FILE_BYTES);
	close_writer();
	fd = copy();
	open_files(f.fd);
	check_content(unpack(id));
	assert_true(tapir_stored_files__get(f.files, 0, &before));
	open_files(fd);
	check_content(unpack(id));
	assert_true(tapir_stored_files__get(f.files, 0, &after));
	assert_int_equal(after.stored_bytes * 2, before.stored_bytes);
	check_records(fd, false);
	close(fd);
}

/* ---- others ------------------------------------------------------------------------------ */

static void flipped_byte_costs_the_file_and_no_record(void **state)
{
	struct tapir_stored_file file;
	off_t end;
	int fd;

	(void)state;
	put_record();
	put_content(id, FILE_BYTES);
	close_writer();
	end = lseek(f.fd, 0, SEEK_END);
	flip(f.fd, end - 4096);
	open_files(f.fd);
	assert_int_equal(unpack(id), -EBADMSG);
	check_records(f.fd, false);
	fd = copy(); /* without the part that is damaged */
	open_files(fd);
	assert_true(tapir_stored_files__get(f.files, 0, &file));
	assert_int_equal(unpack(id), -EBADMSG);
	close(fd);
}

static void cut_recording_has_the_files_before_the_cut(void **state)
{
	uint8_t second[sizeof(id)] = {2};
	off_t middle;

	(void)state;
	put_record();
	put_content(id, FILE_BYTES);
	middle = (off_t)tapir_writer__bytes_written(f.w);
	put_content(second, FILE_BYTES);
	close_writer();
	for (off_t end = lseek(f.fd, 0, SEEK_END); end > middle; end -= 100000) {
		assert_int_equal(ftruncate(f.fd, end), 0);
		open_files(f.fd);
		check_content(unpack(id));
	}
	assert_true(unpack(second) == -EBADMSG || unpack(second) == -ENOENT);
	check_records(f.fd, true);
}

/* A part as a hostile writer may make it. */
static void put_part(struct tapir_file_part h, size_t cut, const char *bytes, size_t len)
{
	char part[4096] = {};
	size_t head = sizeof(h) + (h.build_id_bytes + 7u) / 8 * 8, n;

	memcpy(part, &h, sizeof(h));
	memcpy(part + sizeof(h), id, sizeof(id));
	n = ZSTD_compress(part + head, sizeof(part) - head, bytes, len, 1);
	assert_false(ZSTD_isError(n));
	assert_int_equal(tapir_writer__put_file(f.w, part, head + n - cut), 0);
}

static void parts_that_do_not_fit_are_no_file(void **state)
{
	static const struct {
		struct tapir_file_part h;
		size_t cut;
	} bad[] = {
		{{.file_bytes = 8, .part_bytes = 9, .build_id_bytes = 20}, 0},
		{{.file_bytes = 8, .off = 9, .part_bytes = 0, .build_id_bytes = 20}, 0},
		{{.file_bytes = 8, .off = UINT64_MAX, .part_bytes = 8, .build_id_bytes = 20}, 0},
		{{.file_bytes = UINT64_MAX, .part_bytes = 8, .build_id_bytes = 20}, 0},
		{{.file_bytes = 2 << 20, .part_bytes = 2 << 20, .build_id_bytes = 20}, 0},
		{{.file_bytes = 8, .part_bytes = 8, .build_id_bytes = 0}, 0},
		{{.file_bytes = 8, .part_bytes = 8, .build_id_bytes = 255}, 200},
		{{.file_bytes = 16, .off = 8, .part_bytes = 8, .build_id_bytes = 20}, 0},
	};
	struct tapir_stored_file file;

	(void)state;
	put_record();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		put_part(bad[i].h, bad[i].cut, "12345678", 8);
	close_writer();
	open_files(f.fd);
	assert_false(tapir_stored_files__get(f.files, 0, &file));
	check_records(f.fd, false);
}

static void part_with_other_content_is_damage(void **state)
{
	const struct tapir_file_part h = {.file_bytes = 8, .part_bytes = 8, .build_id_bytes = 20};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(begin(), 0);
		put_part(h, i == 2 ? 3 : 0, "123456789", i == 0 ? 9 : i == 1 ? 7 : 8);
		close_writer();
		open_files(f.fd);
		assert_int_equal(unpack(id), -EBADMSG);
	}
}

static void files_that_say_that_they_are_huge_are_not_unpacked_without_end(void **state)
{
	const struct tapir_file_part h = {
		.file_bytes = TAPIR_STORED_FILE_MAX_BYTES, .part_bytes = 8, .build_id_bytes = 20};

	(void)state;
	put_part(h, 0, "12345678", 8);
	close_writer();
	open_files(f.fd);
	for (uint64_t bytes = 0; bytes < TAPIR_STORED_MAX_BYTES; bytes += h.file_bytes)
		assert_int_equal(unpack(id), -EBADMSG);
	assert_int_equal(unpack(id), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file_comes_back_and_records_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(
			file_is_unpacked_into_memory_without_a_directory_for_temporary_files, setup,
			teardown),
		cmocka_unit_test_setup_teardown(build_id_that_is_not_there_is_enoent, setup,
						teardown),
		cmocka_unit_test_setup_teardown(file_that_is_shorter_than_said_ends_the_writing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(copy_of_a_recording_has_its_files_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(flipped_byte_costs_the_file_and_no_record, setup,
						teardown),
		cmocka_unit_test_setup_teardown(cut_recording_has_the_files_before_the_cut, setup,
						teardown),
		cmocka_unit_test_setup_teardown(parts_that_do_not_fit_are_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(part_with_other_content_is_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(
			files_that_say_that_they_are_huge_are_not_unpacked_without_end, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
