// SPDX-License-Identifier: GPL-2.0-or-later
/* A chunk that a thread has unpacked is what it is without one; damage is met in its order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/diag.h"
#include "trace/chunk_ahead.h"
#include "trace/recbuf.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define SAMPLES 400000u /* 22 MB that are not compressed: a thread is started */

static char path[] = "/tmp/tapir-chunk-ahead-XXXXXX";
static struct tapir_chunk_ref refs[64];
static size_t ref_cnt;

static void write_file(bool is_plain)
{
	struct tapir_writer_opts opts = {
		.sz = sizeof(opts), .path = path, .force = true, .plain = is_plain};
	struct tapir_writer *writer;

	assert_int_equal(tapir_writer__open(&opts, &writer), 0);
	for (uint32_t n = 1; n <= SAMPLES; n++) {
		struct tapir_rec_sample sample = {.tgid = 7, .tid = 8, .period = n, .stack_id = n};

		tapir_rec__init(&sample.h, TAPIR_REC_SAMPLE, sizeof(sample), n);
		assert_int_equal(tapir_writer__put(writer, &sample.h), 0);
	}
	assert_int_equal(tapir_writer__close(writer), 0);
	tapir_writer__free(writer);
}

/* Opens the file, and lists its chunks of records. */
static int list_chunks(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct tapir_chunk_walk walk = {.fd = fd, .off = sizeof(struct tapir_file_header)};
	struct tapir_chunk_ref ref;

	assert_true(fd >= 0);
	walk.file_bytes = (uint64_t)lseek(fd, 0, SEEK_END);
	ref_cnt = 0;
	while (tapir_chunk_walk__next(&walk, &ref) == 1 && ref_cnt < 64)
		if (ref.h.type == TAPIR_CHUNK_RECORDS)
			refs[ref_cnt++] = ref;
	assert_true(ref_cnt > 3);
	return fd;
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	return fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	return 0;
}

static void chunks_are_the_same_with_a_thread(void **state)
{
	struct tapir_chunk_ahead *ahead;
	struct tapir_chunk mine = {}, theirs = {};
	int fd;

	(void)state;
	write_file(false);
	fd = list_chunks();
	ahead = tapir_chunk_ahead__start(fd);
	assert_non_null(ahead);
	assert_false(tapir_chunk_ahead__take(ahead, &refs[0], &theirs)); /* not asked for */
	for (size_t i = 0; i < ref_cnt; i++) {
		tapir_chunk_ahead__want(ahead, &refs[i]);
		assert_int_equal(tapir_chunk__load(&mine, fd, &refs[i]), 1);
		assert_true(tapir_chunk_ahead__take(ahead, &refs[i], &theirs));
		assert_int_equal(tapir_chunk__list(&theirs), 1);
		assert_int_equal(theirs.len, mine.len);
		assert_int_equal(theirs.order_cnt, mine.order_cnt);
		assert_memory_equal(theirs.raw, mine.raw, mine.len);
	}
	tapir_chunk_ahead__want(ahead, &refs[0]);
	tapir_chunk_ahead__want(ahead, &refs[1]); /* in its place */
	assert_false(tapir_chunk_ahead__take(ahead, &refs[0], &theirs));
	tapir_chunk_ahead__want(ahead, &refs[2]);
	tapir_chunk_ahead__stop(ahead); /* maybe while it works */
	tapir_chunk__fini(&mine);
	tapir_chunk__fini(&theirs);
	close(fd);
}

static void caller_loads_a_chunk_that_the_thread_cannot(void **state)
{
	struct tapir_chunk_ahead *ahead = tapir_chunk_ahead__start(-1);
	struct tapir_chunk_ref huge;
	struct tapir_chunk chunk = {};

	(void)state;
	write_file(false);
	close(list_chunks());
	assert_non_null(ahead);
	tapir_chunk_ahead__want(ahead, &refs[0]);
	assert_false(tapir_chunk_ahead__take(ahead, &refs[0], &chunk));
	huge = refs[0];
	huge.h.raw_bytes = UINT32_MAX;
	tapir_chunk_ahead__want(ahead, &huge);
	assert_false(tapir_chunk_ahead__take(ahead, &huge, &chunk));
	assert_int_equal(tapir_diag__cnt(), 0); /* the caller says what is wrong */
	tapir_chunk_ahead__stop(ahead);
	tapir_chunk_ahead__stop(NULL);
	tapir_chunk__fini(&chunk);
}

/* Reads the file; returns its records, whose times rise. */
static uint64_t read_file(struct tapir_reader_stats *stats)
{
	struct tapir_reader *reader;
	const struct tapir_rec *rec;
	uint64_t cnt = 0, last_ns = 0;
	int more;

	assert_int_equal(tapir_reader__open(path, &reader), 0);
	while ((more = tapir_reader__next(reader, &rec)) > 0) {
		const struct tapir_rec_sample *sample = (const void *)rec;

		assert_int_equal(rec->type, TAPIR_REC_SAMPLE);
		assert_true(rec->time_ns > last_ns);
		assert_int_equal(sample->period, rec->time_ns);
		last_ns = rec->time_ns;
		cnt++;
	}
	assert_int_equal(more, 0);
	*stats = *tapir_reader__stats(reader);
	tapir_reader__close(reader);
	return cnt;
}

static void damage_costs_its_chunk_alone_in_a_large_file(void **state)
{
	struct tapir_reader_stats stats;
	const char wrong = 0x55;
	int fd;

	(void)state;
	write_file(true);
	assert_int_equal(read_file(&stats), SAMPLES);
	assert_false(stats.is_truncated || stats.bad_chunks);
	fd = list_chunks();
	assert_int_equal(pwrite(fd, &wrong, 1, (off_t)(refs[2].off + sizeof(refs[2].h) + 99)), 1);
	assert_int_equal(read_file(&stats), SAMPLES - refs[2].h.record_cnt);
	assert_int_equal(stats.bad_chunks, 1);
	assert_int_equal(ftruncate(fd, (off_t)(refs[3].off + 1000)), 0);
	assert_int_equal(read_file(&stats), refs[0].h.record_cnt + refs[1].h.record_cnt);
	assert_true(stats.is_truncated);
	close(fd);
}

static void reader_may_be_closed_before_the_end_of_a_large_file(void **state)
{
	struct tapir_reader *reader;
	const struct tapir_rec *rec;

	(void)state;
	write_file(true);
	assert_int_equal(tapir_reader__open(path, &reader), 0);
	assert_int_equal(tapir_reader__next(reader, &rec), 1);
	assert_int_equal(rec->time_ns, 1);
	tapir_reader__close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(chunks_are_the_same_with_a_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(caller_loads_a_chunk_that_the_thread_cannot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(damage_costs_its_chunk_alone_in_a_large_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(reader_may_be_closed_before_the_end_of_a_large_file,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
