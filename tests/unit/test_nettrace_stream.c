// SPDX-License-Identifier: GPL-2.0-or-later
/* A runtime's event stream: whole, in pieces, cut and damaged (nettrace_sample.h; a real one). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "decode/nettrace_stream.h"
#include "nettrace_sample.h"

#define REAL "tests/data/dotnet/fire-v4.nettrace"

/* What came, in words. */
struct seen {
	struct tapir_str text;
	unsigned event_cnt, metadata_cnt, stack_cnt;
	uint64_t lost_cnt, payload_sum;
};

static void on_start(void *ctx, const struct tapir_nettrace_start *start)
{
	struct seen *seen = ctx;

	tapir_str__addf(&seen->text, "start pid=%u sync=%llu;", start->pid,
			(unsigned long long)start->sync_ticks);
}

static void on_metadata(void *ctx, const struct tapir_nettrace_metadata *m)
{
	struct seen *seen = ctx;

	seen->metadata_cnt++;
	for (size_t i = 0; i < m->blob_bytes; i++)
		seen->payload_sum += m->blob[i];
	tapir_str__addf(&seen->text, "metadata %u %s;", m->metadata_id, m->provider);
}

static void on_stack(void *ctx, const struct tapir_nettrace_stack *stack)
{
	struct seen *seen = ctx;

	seen->stack_cnt++;
	tapir_str__addf(&seen->text, "stack %u:", stack->stack_id);
	for (unsigned i = 0; i < stack->frame_cnt; i++)
		tapir_str__addf(&seen->text, " %llx", (unsigned long long)stack->frames_va[i]);
	tapir_str__addc(&seen->text, ';');
}

static void on_event(void *ctx, const struct tapir_nettrace_event *e)
{
	struct seen *seen = ctx;

	seen->event_cnt++;
	for (size_t i = 0; i < e->payload_bytes; i++)
		seen->payload_sum += e->payload[i];
	tapir_str__addf(&seen->text,
			"event %u tid=%llu at=%llu stack=%u activity=%d: ", e->metadata_id,
			(unsigned long long)e->tid, (unsigned long long)e->ticks, e->stack_id,
			e->activity_id ? e->activity_id[0] : -1);
	tapir_str__add_hex(&seen->text, e->payload, e->payload_bytes);
	tapir_str__addc(&seen->text, ';');
}

static void on_forget(void *ctx)
{
	struct seen *seen = ctx;

	tapir_str__adds(&seen->text, "forget;");
}

static void on_lost(void *ctx, uint64_t cnt, uint64_t ticks)
{
	struct seen *seen = ctx;

	seen->lost_cnt += cnt;
	tapir_str__addf(&seen->text, "lost %llu at=%llu;", (unsigned long long)cnt,
			(unsigned long long)ticks);
}

struct outcome {
	int err;
	bool has_ended;
	uint64_t malformed_cnt;
};

static struct outcome read_all(const void *bytes, size_t len, size_t piece, struct seen *seen)
{
	const struct tapir_nettrace_sink sink = {.ctx = seen,
						 .on_start = on_start,
						 .on_metadata = on_metadata,
						 .on_stack = on_stack,
						 .on_event = on_event,
						 .on_forget = on_forget,
						 .on_lost = on_lost};
	struct tapir_nettrace_stream *s;
	struct outcome out = {};

	assert_int_equal(tapir_nettrace_stream__new(&sink, &s), 0);
	for (size_t at = 0; at < len; at += piece) {
		size_t n = len - at < piece ? len - at : piece;
		void *copy = malloc(n); /* so that a sanitizer sees the end */

		assert_non_null(copy);
		memcpy(copy, (const char *)bytes + at, n);
		out.err = tapir_nettrace_stream__feed(s, copy, n);
		free(copy);
	}
	out.has_ended = tapir_nettrace_stream__has_ended(s);
	out.malformed_cnt = tapir_nettrace_stream__malformed_cnt(s);
	tapir_nettrace_stream__free(s);
	return out;
}

static int make_sample(void **state)
{
	struct tapir_str *sample = calloc(1, sizeof(*sample));

	sample__whole(sample);
	*state = sample;
	return sample->failed;
}

static int free_sample(void **state)
{
	tapir_str__fini(*state);
	free(*state);
	return 0;
}

static const char whole[] = "start pid=77 sync=1000;metadata 1 My-Source;stack 1: 1111 2222;"
			    "event 1 tid=700 at=5000 stack=1 activity=205: 29000000;"
			    "lost 3 at=5010;event 1 tid=700 at=5010 stack=1 activity=205: 2a000000;"
			    "lost 2 at=6000;lost 2 at=6000;forget;";

static void everything_comes_in_pieces_of_any_size(void **state)
{
	const struct tapir_str *sample = *state;

	for (size_t piece = 1; piece <= sample->len; piece++) {
		struct seen seen = {};
		struct outcome out = read_all(sample->data, sample->len, piece, &seen);

		assert_int_equal(out.err, 0);
		assert_true(out.has_ended);
		assert_int_equal(out.malformed_cnt, 0);
		assert_string_equal(seen.text.data, whole);
		tapir_str__fini(&seen.text);
	}
}

static void what_came_before_a_cut_is_there(void **state)
{
	const struct tapir_str *sample = *state;

	for (size_t len = 0; len < sample->len; len++) {
		struct seen seen = {};
		struct outcome out = read_all(sample->data, len, len ? len : 1, &seen);

		assert_int_equal(out.err, 0);
		assert_false(out.has_ended);
		if (seen.text.len)
			assert_memory_equal(seen.text.data, whole, seen.text.len);
		tapir_str__fini(&seen.text);
	}
}

/* Whatever it becomes: nothing is read outside, and the framing's own bytes are noticed. */
static void any_byte_may_be_wrong(void **state)
{
	const struct tapir_str *sample = *state;
	unsigned noticed = 0;

	for (size_t i = 0; i < sample->len * 8; i++) {
		struct seen seen = {};
		struct outcome out;

		sample->data[i / 8] ^= (char)(1 << i % 8);
		out = read_all(sample->data, sample->len, 61, &seen);
		sample->data[i / 8] ^= (char)(1 << i % 8);
		noticed += out.err || out.malformed_cnt || !out.has_ended;
		if (i < 32 * 8)
			assert_int_equal(out.err, -EPROTO);
		tapir_str__fini(&seen.text);
	}
	assert_true(noticed > sample->len); /* of 8 bits a byte: names and numbers may be any */
}

static void an_error_stays(void **state)
{
	struct tapir_nettrace_stream *s;
	const struct tapir_nettrace_sink sink = {};

	(void)state;
	assert_int_equal(tapir_nettrace_stream__new(&sink, &s), 0);
	assert_int_equal(
		tapir_nettrace_stream__feed(s, "Nettrac?                              ", 38),
		-EPROTO);
	assert_int_equal(tapir_nettrace_stream__feed(s, "Nettrace", 8), -EPROTO);
	tapir_nettrace_stream__free(s);
}

/* A thread that begins anew from 1 under an id that was used has lost nothing. */
static void an_id_that_is_used_again_is_no_loss(void **state)
{
	struct tapir_str bytes = {};
	struct seen seen = {};
	struct outcome out;

	(void)state;
	sample__start(&bytes);
	sample__events(&bytes);
	sample__events(&bytes);
	out = read_all(bytes.data, bytes.len, bytes.len, &seen);
	assert_int_equal(out.err, 0);
	assert_int_equal(seen.event_cnt, 4);
	assert_int_equal(seen.lost_cnt, 6);
	tapir_str__fini(&bytes);
	tapir_str__fini(&seen.text);
}

/* A block that says it is larger than any is not waited for. */
static void a_block_too_large_ends_the_stream(void **state)
{
	struct tapir_str bytes = {};
	struct seen seen = {};

	(void)state;
	sample__start(&bytes);
	sample__type(&bytes, "EventBlock");
	sample__num(&bytes, TAPIR_NETTRACE_BLOCK_MAX + 1, 4);
	assert_int_equal(read_all(bytes.data, bytes.len, 7, &seen).err, -EPROTO);
	tapir_str__fini(&bytes);
	tapir_str__fini(&seen.text);
}

static void a_real_one_is_read_to_its_end(void **state)
{
	tapir_autofree char *bytes = NULL;
	struct seen seen = {};
	struct outcome out;
	size_t len = 0;

	(void)state;
	assert_int_equal(tapir_file__read(REAL, 1 << 20, &bytes, &len), 0);
	out = read_all(bytes, len, 1000, &seen);
	assert_int_equal(out.err, 0);
	assert_true(out.has_ended);
	assert_int_equal(out.malformed_cnt, 0);
	assert_int_equal(seen.event_cnt,
			 22); /* 20 orders, 1 low, and what EventPipe says of the process */
	assert_int_equal(seen.lost_cnt, 0);
	assert_non_null(strstr(seen.text.data, "MyCompany-Demo"));
	tapir_str__fini(&seen.text);
	for (size_t cut = 0; cut < len; cut += 7) {
		memset(&seen, 0, sizeof(seen));
		assert_int_equal(read_all(bytes, cut, 4096, &seen).err, 0);
		tapir_str__fini(&seen.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_comes_in_pieces_of_any_size),
		cmocka_unit_test(what_came_before_a_cut_is_there),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(an_error_stays),
		cmocka_unit_test(an_id_that_is_used_again_is_no_loss),
		cmocka_unit_test(a_block_too_large_ends_the_stream),
		cmocka_unit_test(a_real_one_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, make_sample, free_sample);
}
