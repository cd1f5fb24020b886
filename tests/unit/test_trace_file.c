// SPDX-License-Identifier: GPL-2.0-or-later
/* The .tapir file: written, read back, cut at every byte, damaged at every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <errno.h>
#include <zlib.h>

#include "base/diag.h"
#include "base/file.h"
#include "tapir/trace_format.h"
#include "trace_sample.h"

static char path[64];

static int setup(void **state)
{
	int fd;

	(void)state;
	strcpy(path, "/tmp/tapir-test-XXXXXX");
	fd = mkstemp(path);
	tapir_diag__clear();
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static struct tapir_writer_opts opts(bool plain)
{
	return (struct tapir_writer_opts){.sz = sizeof(struct tapir_writer_opts),
					  .path = path,
					  .force = true,
					  .plain = plain};
}

static void write_bytes(const void *data, size_t len)
{
	tapir_autofd int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(tapir_file__write_all(fd, data, len), 0);
}

struct outcome {
	int events, named;
	bool named_in[8]; /* all events of the segment came and were named */
	int events_in[8];
	struct tapir_reader_stats stats;
};

/* Reads the file; anything but a clean end or a refusal at open fails the test. */
static bool read_all(struct outcome *out)
{
	struct tapir_reader *r;
	const struct tapir_rec *rec;
	int more, named_in[8] = {};

	memset(out, 0, sizeof(*out));
	tapir_diag__clear();
	if (tapir_reader__open(path, &r))
		return false;
	while ((more = tapir_reader__next(r, &rec)) == 1) {
		unsigned segment;
		bool named;

		if (rec->type != TAPIR_REC_EVENT)
			continue;
		segment = (unsigned)((rec->time_ns / 1000 - 1) / SAMPLE_EVENT_CNT) % 8;
		named = sample_is_named(tapir_reader__catalog(r),
					(const struct tapir_rec_event *)rec);
		out->events++;
		out->named += named;
		out->events_in[segment]++;
		named_in[segment] += named;
	}
	assert_int_equal(more, 0);
	for (int i = 0; i < 8; i++)
		out->named_in[i] = named_in[i] == SAMPLE_EVENT_CNT;
	out->stats = *tapir_reader__stats(r);
	tapir_reader__close(r);
	return true;
}

static void events_come_back_named_when_file_is_complete(void **state)
{
	struct outcome o;
	struct stat st;

	(void)state;
	for (int plain = 0; plain < 2; plain++) {
		struct tapir_writer_opts w = opts(plain);

		assert_int_equal(sample_write(&w, 3), 0);
		assert_true(read_all(&o));
		assert_int_equal(o.events, 3 * SAMPLE_EVENT_CNT);
		assert_int_equal(o.named, o.events);
		assert_int_equal(o.stats.segments, 3);
		assert_int_equal(o.stats.bad_chunks + o.stats.bytes_skipped +
					 o.stats.malformed_records + o.stats.missing_chunks,
				 0);
		assert_false(o.stats.is_truncated);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
}

/* Chunk headers of the file in data, found by walking it. */
static size_t chunks_of(const char *data, size_t len, size_t *offs, size_t max)
{
	size_t cnt = 0, at = sizeof(struct tapir_file_header);

	while (at + sizeof(struct tapir_chunk_header) <= len && cnt < max) {
		struct tapir_chunk_header h;

		memcpy(&h, data + at, sizeof(h));
		offs[cnt++] = at;
		at += sizeof(h) + h.stored_bytes;
	}
	assert_int_equal(at, len);
	return cnt;
}

static void whole_chunks_are_read_when_file_is_cut_at_any_byte(void **state)
{
	struct tapir_writer_opts w = opts(false);
	size_t len, offs[16], cnt;
	char *data = NULL;
	struct outcome o;

	(void)state;
	assert_int_equal(sample_write(&w, 2), 0);
	assert_int_equal(tapir_file__read(path, 1 << 20, &data, &len), 0);
	cnt = chunks_of(data, len, offs, 16);
	for (size_t cut = 0; cut < len; cut++) {
		size_t whole = 0;

		write_bytes(data, cut);
		if (cut < sizeof(struct tapir_file_header)) {
			assert_false(read_all(&o));
			continue;
		}
		assert_true(read_all(&o));
		for (size_t i = 0; i < cnt; i++)
			whole += (i + 1 < cnt ? offs[i + 1] : len) <= cut;
		assert_int_equal(o.stats.chunks, whole);
		assert_true(o.stats.is_truncated);
		assert_int_equal(o.named, o.events); /* descriptions stand in front */
	}
	free(data);
}

static void other_chunks_stay_when_any_byte_is_flipped(void **state)
{
	struct tapir_writer_opts w = opts(false);
	struct outcome o;
	char *data = NULL;
	size_t len;

	(void)state;
	assert_int_equal(sample_write(&w, 2), 0);
	assert_int_equal(tapir_file__read(path, 1 << 20, &data, &len), 0);
	for (size_t at = 0; at < len; at++) {
		data[at] ^= 0x55;
		write_bytes(data, len);
		if (read_all(&o))
			assert_true(o.events >= SAMPLE_EVENT_CNT);
		else
			assert_true(at < 8); /* only the file's magic is needed to begin */
		data[at] ^= 0x55;
	}
	free(data);
}

static void other_segments_stay_named_when_a_chunk_is_damaged(void **state)
{
	struct tapir_writer_opts w = opts(false);
	size_t len, offs[16], cnt;
	char *data = NULL;
	struct outcome o;

	(void)state;
	assert_int_equal(sample_write(&w, 3), 0);
	assert_int_equal(tapir_file__read(path, 1 << 20, &data, &len), 0);
	cnt = chunks_of(data, len, offs, 16);
	assert_int_equal(cnt, 7); /* descriptions and records of each, END */
	for (size_t i = 0; i < cnt - 1; i++)
		for (int in_header = 0; in_header < 2; in_header++) {
			size_t at = offs[i] + (in_header ? 9 : sizeof(struct tapir_chunk_header));

			data[at] ^= 0xff;
			write_bytes(data, len);
			data[at] ^= 0xff;
			assert_true(read_all(&o));
			for (size_t s = 0; s < 3; s++)
				assert_true(o.named_in[s] || s == i / 2);
			assert_true(in_header ? o.stats.bytes_skipped > 0 &&
							o.stats.missing_chunks == 1
					      : o.stats.bad_chunks == 1);
			assert_false(o.stats.is_truncated);
		}
	free(data);
}

static void records_come_in_order_when_a_chunk_mixes_them(void **state)
{
	struct tapir_writer_opts wo = opts(false);
	struct tapir_rec_sample s = {};
	struct tapir_writer *w;
	struct tapir_reader *r;
	const struct tapir_rec *rec;
	uint64_t before = 0;
	int cnt = 0;

	(void)state;
	srand(7);
	assert_int_equal(tapir_writer__open(&wo, &w), 0);
	for (int i = 0; i < 5000; i++) {
		tapir_rec__init(&s.h, TAPIR_REC_SAMPLE, sizeof(s), (uint64_t)(i + rand() % 300));
		assert_int_equal(tapir_writer__put(w, &s.h), 0);
	}
	assert_int_equal(tapir_writer__close(w), 0);
	assert_int_equal(tapir_writer__records(w), 5000);
	tapir_writer__free(w);
	assert_int_equal(tapir_reader__open(path, &r), 0);
	for (; tapir_reader__next(r, &rec) == 1; cnt++) {
		assert_true(rec->time_ns >= before);
		before = rec->time_ns;
	}
	assert_int_equal(cnt, 5000);
	tapir_reader__close(r);
}

static void descriptions_are_delivered_once_when_asked_for(void **state)
{
	struct tapir_writer_opts w = opts(false);
	const struct tapir_rec *rec;
	struct tapir_reader *r;
	int cnt[TAPIR_REC_TYPE_CNT] = {};

	(void)state;
	assert_int_equal(sample_write(&w, 3), 0);
	assert_int_equal(tapir_reader__open(path, &r), 0);
	tapir_reader__deliver_descriptions(r, true);
	while (tapir_reader__next(r, &rec) == 1)
		cnt[rec->type]++;
	tapir_reader__close(r);
	assert_int_equal(cnt[TAPIR_REC_PROBE], 1);
	assert_int_equal(cnt[TAPIR_REC_PROCESS], 1);
	assert_int_equal(cnt[TAPIR_REC_MAPPING], 1);
	assert_int_equal(cnt[TAPIR_REC_THREAD], 1);
	assert_int_equal(cnt[TAPIR_REC_STACK], 1);
	assert_int_equal(cnt[TAPIR_REC_SYMBOL], 2);
	assert_int_equal(cnt[TAPIR_REC_EVENT], 3 * SAMPLE_EVENT_CNT);
}

static void bad_input_is_refused_with_a_line(void **state)
{
	struct tapir_file_header h;
	struct tapir_writer_opts w = opts(false);
	struct tapir_reader *r = NULL;
	char *data = NULL;
	size_t len;

	(void)state;
	assert_int_equal(tapir_reader__open("/nonexistent/x.tapir", &r), -ENOENT);
	assert_int_equal(tapir_reader__open("/tmp", &r), -EISDIR);
	write_bytes("ELF, or so", 10);
	assert_int_equal(tapir_reader__open(path, &r), -EINVAL);
	assert_int_equal(sample_write(&w, 1), 0);
	assert_int_equal(tapir_file__read(path, 1 << 20, &data, &len), 0);
	memcpy(&h, data, sizeof(h));
	h.version = 2;
	h.crc = 0;
	h.crc = (uint32_t)crc32(0, (const void *)&h, sizeof(h));
	memcpy(data, &h, sizeof(h));
	write_bytes(data, len);
	free(data);
	assert_int_equal(tapir_reader__open(path, &r), -EPROTONOSUPPORT);
	assert_int_equal(tapir_diag__cnt(), 4);
	assert_null(r);
}

/* One chunk whose header says h, with its CRCs right, and body behind it. */
static void write_chunk_file(struct tapir_chunk_header h, const void *body, size_t len)
{
	struct tapir_file_header f = {.magic = TAPIR_FILE_MAGIC,
				      .version = TAPIR_FILE_VERSION,
				      .header_bytes = sizeof(f)};
	char data[4096];

	assert_true(sizeof(f) + sizeof(h) + len <= sizeof(data));
	f.crc = (uint32_t)crc32(0, (const void *)&f, sizeof(f));
	h.magic = TAPIR_CHUNK_MAGIC;
	h.stored_bytes = (uint32_t)len;
	h.data_crc = (uint32_t)crc32(0, body, (uInt)len);
	h.header_crc = (uint32_t)crc32(0, (const void *)&h, sizeof(h));
	memcpy(data, &f, sizeof(f));
	memcpy(data + sizeof(f), &h, sizeof(h));
	memcpy(data + sizeof(f) + sizeof(h), body, len);
	write_bytes(data, sizeof(f) + sizeof(h) + len);
}

static void chunk_is_skipped_when_its_sizes_lie(void **state)
{
	static const struct tapir_chunk_header lies[] = {
		{.type = TAPIR_CHUNK_RECORDS, .raw_bytes = 0xffffffff},
		{.type = TAPIR_CHUNK_RECORDS, .raw_bytes = 63},
		{.type = TAPIR_CHUNK_RECORDS, .raw_bytes = 0xffffffff, .flags = TAPIR_CHUNK_ZSTD},
		{.type = TAPIR_CHUNK_RECORDS, .raw_bytes = 64, .flags = TAPIR_CHUNK_ZSTD},
		{.type = TAPIR_CHUNK_DESCRIPTIONS, .raw_bytes = TAPIR_CHUNK_MAX_BYTES + 1},
	};
	char body[64] = {};
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		write_chunk_file(lies[i], body, sizeof(body));
		assert_true(read_all(&o));
		assert_int_equal(o.stats.bad_chunks, 1);
		assert_int_equal(o.stats.records, 0);
	}
}

static void malformed_records_are_skipped_and_counted(void **state)
{
	struct {
		struct tapir_rec_event good, lies, behind;
		struct tapir_rec end;
	} body = {};
	struct outcome o;

	(void)state;
	tapir_rec__init(&body.good.h, TAPIR_REC_EVENT, sizeof(body.good), 1000);
	tapir_rec__init(&body.lies.h, TAPIR_REC_EVENT, sizeof(body.lies), 1000);
	body.lies.payload_bytes = 1;
	tapir_rec__init(&body.behind.h, TAPIR_REC_EVENT, sizeof(body.behind), 1000);
	tapir_rec__init(&body.end, TAPIR_REC_EVENT, 4096, 1000); /* reaches out of the chunk */
	write_chunk_file(
		(struct tapir_chunk_header){.type = TAPIR_CHUNK_RECORDS, .raw_bytes = sizeof(body)},
		&body, sizeof(body));
	assert_true(read_all(&o));
	assert_int_equal(o.events, 2);
	assert_int_equal(o.stats.malformed_records, 2);
	assert_int_equal(o.stats.bad_chunks, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(events_come_back_named_when_file_is_complete),
		CASE(whole_chunks_are_read_when_file_is_cut_at_any_byte),
		CASE(other_chunks_stay_when_any_byte_is_flipped),
		CASE(other_segments_stay_named_when_a_chunk_is_damaged),
		CASE(records_come_in_order_when_a_chunk_mixes_them),
		CASE(descriptions_are_delivered_once_when_asked_for),
		CASE(bad_input_is_refused_with_a_line),
		CASE(chunk_is_skipped_when_its_sizes_lie),
		CASE(malformed_records_are_skipped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
