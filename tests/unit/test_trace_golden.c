// SPDX-License-Identifier: GPL-2.0-or-later
/* A file of format version 1 is read for ever: every byte of every record (golden_v1.h). */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/data/golden_v1.h"
#include "tests/data/golden_v1_hosts.h"
#include "tests/data/golden_v1_call_files.h"
#include "tests/data/golden_v1_kernel.h"
#include "tests/data/golden_v1_types.h"
#include "tests/data/golden_v1_waits.h"
#include "previous_reader.h"
#include "trace/chunk.h"
#include "trace/reader.h"
#include "trace/stored_files.h"

#define GOLDEN "tests/data/golden-v1.tapir" /* tests run at the root of the tree */

static void every_record_of_version_1_is_read(void **state)
{
	const struct tapir_reader_stats *stats;
	const struct tapir_rec *rec;
	struct tapir_recbuf b = {};
	struct tapir_reader *r;

	(void)state;
	assert_int_equal(tapir_reader__open(GOLDEN, &r), 0);
	tapir_reader__deliver_descriptions(r, true);
	for (int i = 0; i < GOLDEN_CNT; i++) {
		const struct tapir_rec *want = golden_record(&b, i);

		assert_int_equal(tapir_reader__next(r, &rec), 1);
		assert_int_equal(rec->type, want->type);
		assert_int_equal(rec->size, want->size);
		assert_memory_equal(rec, want, want->size);
	}
	assert_int_equal(tapir_reader__next(r, &rec), 0);
	stats = tapir_reader__stats(r);
	assert_int_equal(stats->created_utc_ns, GOLDEN_CREATED_UTC_NS);
	assert_int_equal(stats->created_ns, GOLDEN_CREATED_NS);
	assert_int_equal(stats->chunks, 3);
	assert_int_equal(stats->segments, 1);
	assert_int_equal(stats->records, GOLDEN_CNT);
	assert_int_equal(stats->bad_chunks + stats->bytes_skipped + stats->malformed_records, 0);
	assert_false(stats->is_truncated);
	tapir_reader__close(r);
	tapir_recbuf__fini(&b);
}

static void names_of_version_1_are_found(void **state)
{
	const struct tapir_rec_mapping *m;
	const struct tapir_catalog *c;
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	(void)state;
	assert_int_equal(tapir_reader__open(GOLDEN, &r), 0);
	assert_int_equal(tapir_reader__next(r, &rec), 1);
	assert_int_equal(rec->type, TAPIR_REC_EVENT);
	c = tapir_reader__catalog(r);
	assert_non_null(tapir_catalog__probe(c, 1));
	assert_non_null(tapir_catalog__metadata(c, 1));
	assert_string_equal(tapir_catalog__thread(c, 101, rec->time_ns)->comm, "worker");
	assert_int_equal(tapir_catalog__process(c, 100, rec->time_ns)->uid, 1000);
	m = tapir_catalog__mapping(c, 100, 0x401010, rec->time_ns);
	assert_non_null(m);
	assert_non_null(tapir_catalog__symbol(c, m->file_id, 0x401010 - 0x400000 + m->file_off));
	assert_non_null(tapir_catalog__jit(c, 100, 0x7f0000001020, 1500));
	assert_null(tapir_catalog__jit(c, 100, 0x7f0000001020, rec->time_ns));
	assert_int_equal(tapir_catalog__utc_ns(c, 1001), GOLDEN_CREATED_UTC_NS);
	assert_int_equal(tapir_catalog__meta(c, 0)->key_len, 7);
	tapir_reader__close(r);
}

#define GOLDEN_HOSTS "tests/data/golden-v1-hosts.tapir"

static int check_description(void *ctx, const struct tapir_rec *rec)
{
	int *idx = ctx;
	const struct tapir_rec *want = golden_host_record((*idx)++);

	assert_int_equal(rec->size, want->size);
	assert_memory_equal(rec, want, want->size);
	return 0;
}

static void records_of_hosts_of_version_1_are_read(void **state)
{
	struct tapir_chunk room = {};
	const struct tapir_rec *rec;
	struct tapir_reader *r;
	int idx = 0;

	(void)state;
	assert_int_equal(tapir_reader__open(GOLDEN_HOSTS, &r), 0);
	assert_int_equal(tapir_reader__next(r, &rec), 1);
	assert_int_equal(tapir_reader__put_descriptions(r, &room, check_description, &idx), 0);
	assert_int_equal(idx, 2);
	for (; idx < GOLDEN_HOSTS_CNT; idx++) {
		const struct tapir_rec *want = golden_host_record(idx);

		assert_int_equal(rec->size, want->size);
		assert_memory_equal(rec, want, want->size);
		assert_int_equal(tapir_reader__next(r, &rec), idx + 1 < GOLDEN_HOSTS_CNT);
	}
	assert_true(tapir_sv__is(tapir_catalog__host_name(tapir_reader__catalog(r), 1), "web1"));
	tapir_chunk__fini(&room);
	tapir_reader__close(r);
}

#define GOLDEN_FILE	 "tests/data/golden-v1-file.tapir" /* the first, with a file */
#define GOLDEN_FILE_TEXT "debug information "
#define GOLDEN_FILE_CNT	 32

static void file_of_version_1_is_unpacked(void **state)
{
	static const uint8_t id[] = {1,	 2,  3,	 4,  5,	 6,  7,	 8,  9,	 10,
				     11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	const size_t len = strlen(GOLDEN_FILE_TEXT);
	struct tapir_stored_files *files;
	const struct tapir_rec *rec;
	struct tapir_reader *r;
	char text[32];
	int fd;

	(void)state;
	assert_int_equal(tapir_reader__open(GOLDEN_FILE, &r), 0);
	while (tapir_reader__next(r, &rec) > 0)
		;
	assert_false(tapir_reader_stats__is_damaged(tapir_reader__stats(r)));
	assert_int_equal(tapir_reader__stats(r)->records, GOLDEN_CNT);
	assert_int_equal(tapir_stored_files__open(tapir_reader__fd(r), &files), 0);
	fd = tapir_stored_files__unpack(files, id, sizeof(id));
	for (size_t i = 0; i < GOLDEN_FILE_CNT; i++) {
		assert_int_equal(pread(fd, text, len, (off_t)(i * len)), len);
		assert_memory_equal(text, GOLDEN_FILE_TEXT, len);
	}
	assert_int_equal(pread(fd, text, 1, (off_t)(GOLDEN_FILE_CNT * len)), 0);
	close(fd);
	tapir_stored_files__close(files);
	tapir_reader__close(r);
}

static void check_records(const char *path, int cnt, const struct tapir_rec *(*record)(int idx))
{
	const struct tapir_rec *rec;
	struct tapir_reader *r;

	assert_int_equal(tapir_reader__open(path, &r), 0);
	tapir_reader__deliver_descriptions(r, true);
	for (int i = 0; i < cnt; i++) {
		const struct tapir_rec *want = record(i);

		assert_int_equal(tapir_reader__next(r, &rec), 1);
		assert_int_equal(rec->size, want->size);
		assert_memory_equal(rec, want, want->size);
	}
	assert_int_equal(tapir_reader__next(r, &rec), 0);
	tapir_reader__close(r);
}

static void sums_of_waits_of_version_1_are_read(void **state)
{
	(void)state;
	check_records("tests/data/golden-v1-waits.tapir", GOLDEN_WAITS_CNT, golden_waits_record);
}

static void sums_of_the_kernel_of_version_1_are_read(void **state)
{
	(void)state;
	check_records("tests/data/golden-v1-kernel.tapir", GOLDEN_KERNEL_CNT, golden_kernel_record);
}

static void calls_by_file_of_version_1_are_read(void **state)
{
	(void)state;
	check_records("tests/data/golden-v1-call-files.tapir", GOLDEN_CALL_FILES_CNT,
		      golden_call_files_record);
}

static void types_that_came_later_are_read(void **state)
{
	(void)state;
	check_records("tests/data/golden-v1-types.tapir", GOLDEN_TYPES_CNT, golden_types_record);
}

/* Returns what the previous reader finds in all golden files. */
static struct previous_counts read_all_golden(void)
{
	struct previous_counts sum = {.is_complete = true};
	glob_t found;

	assert_int_equal(glob("tests/data/golden-v1*.tapir", 0, NULL, &found), 0);
	assert_in_range(found.gl_pathc, 6, 100);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct previous_counts c = previous_read(found.gl_pathv[i]);

		sum.is_complete &= c.is_complete;
		for (int type = 0; type < PREVIOUS_TYPES; type++)
			sum.of[type] += c.of[type];
	}
	globfree(&found);
	return sum;
}

/* A new type of record comes with a golden file of its own. */
static void each_type_of_record_is_in_a_golden_file(void **state)
{
	struct previous_counts all = read_all_golden();

	(void)state;
	assert_true(all.is_complete);
	for (int type = TAPIR_REC_NONE + 1; type < TAPIR_REC_TYPE_CNT; type++)
		if (!all.of[type])
			fail_msg("no golden file has a record %s", tapir_rec_type__name(type));
}

static void previous_reader_skips_and_counts_what_is_new(void **state)
{
	static const struct {
		const char *path;
		uint64_t known, skipped, lost, chunks_skipped;
	} files[] = {/* one of its records is of a type that nothing has */
		     {GOLDEN, GOLDEN_CNT - 1, 1, 17, 0},
		     {GOLDEN_FILE, GOLDEN_CNT - 1, 1, 17, 1},
		     {GOLDEN_HOSTS, 2, 2, 12, 0},
		     {"tests/data/golden-v1-waits.tapir", 1, 1, 0, 0},
		     {"tests/data/golden-v1-kernel.tapir", 0, GOLDEN_KERNEL_CNT, 0, 0},
		     {"tests/data/golden-v1-call-files.tapir", 0, GOLDEN_CALL_FILES_CNT, 0, 0},
		     {"tests/data/golden-v1-types.tapir", 0, GOLDEN_TYPES_CNT, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct previous_counts c = previous_read(files[i].path);

		assert_int_equal(c.known, files[i].known);
		assert_int_equal(c.skipped, files[i].skipped);
		assert_int_equal(c.lost, files[i].lost);
		assert_int_equal(c.chunks_skipped, files[i].chunks_skipped);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_of_version_1_is_read),
		cmocka_unit_test(names_of_version_1_are_found),
		cmocka_unit_test(records_of_hosts_of_version_1_are_read),
		cmocka_unit_test(file_of_version_1_is_unpacked),
		cmocka_unit_test(sums_of_waits_of_version_1_are_read),
		cmocka_unit_test(sums_of_the_kernel_of_version_1_are_read),
		cmocka_unit_test(calls_by_file_of_version_1_are_read),
		cmocka_unit_test(types_that_came_later_are_read),
		cmocka_unit_test(each_type_of_record_is_in_a_golden_file),
		cmocka_unit_test(previous_reader_skips_and_counts_what_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
