// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A runtime's stream as records: what is described alike has one id, and limits are counted.
 *
 * runtimes: dotnet
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>

#include "base/clock.h"
#include "blob_builder.h"
#include "runtime/dotnet/lanes/stream_records.h"
#include "queue_drain.h"
#include "trace/record.h"

static struct tapir_queue *queue;
static struct tapir_spec_list specs;
static struct tapir_stream_sink sink;
static pthread_t consumer;

static struct {
	uint64_t event_cnt, probe_cnt, metadata_cnt, undescribed_cnt, other_cnt;
	uint32_t last_probe_id;
} seen;

static void see(const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;

	seen.event_cnt += rec->type == TAPIR_REC_EVENT;
	seen.metadata_cnt += rec->type == TAPIR_REC_METADATA;
	if (rec->type == TAPIR_REC_PROBE) {
		seen.probe_cnt++;
		seen.last_probe_id = ((const struct tapir_rec_probe *)rec)->probe_id;
	}
	if (rec->type != TAPIR_REC_LOSS)
		return;
	if (loss->cause == TAPIR_LOSS_RING_LANE_UNDESCRIBED)
		seen.undescribed_cnt += loss->count;
	else
		seen.other_cnt += loss->count;
}

static bool see_all(const struct tapir_rec *rec, size_t left_bytes)
{
	(void)left_bytes;
	see(rec);
	return true;
}

static void *consume(void *arg)
{
	(void)arg;
	queue_drain(queue, see_all);
	return NULL;
}

static int setup(void **state)
{
	struct tapir_spec *spec;

	(void)state;
	memset(&seen, 0, sizeof(seen));
	if (tapir_spec__parse("Shop", &spec) || !tapir_vec__push(&specs, spec) ||
	    tapir_queue__new(8, &queue) || tapir_stream_sink__init(&sink, queue, &specs, NULL))
		return -1;
	return pthread_create(&consumer, NULL, consume, NULL);
}

static void end_consumer(void)
{
	if (!queue)
		return;
	tapir_queue__close(queue);
	pthread_join(consumer, NULL);
	tapir_queue__free(queue);
	queue = NULL;
}

static int teardown(void **state)
{
	(void)state;
	end_consumer();
	tapir_stream_sink__fini(&sink);
	tapir_spec__free(specs.data[0]);
	tapir_vec__fini(&specs);
	return 0;
}

/* ---- a stream -------------------------------------------------------------------------------- */

static void describe(struct tapir_stream_records *r, uint32_t metadata_id, const char *event)
{
	struct tapir_nettrace_sink s = tapir_stream_records__sink(r);
	struct tapir_nettrace_metadata m = {.metadata_id = metadata_id, .provider = "Shop"};
	struct bytes blob;

	head_of(&blob, event, 1, 4, 0);
	m.blob = blob.data;
	m.blob_bytes = blob.len;
	s.on_metadata(s.ctx, &m);
}

static void fire(struct tapir_stream_records *r, uint32_t metadata_id)
{
	struct tapir_nettrace_sink s = tapir_stream_records__sink(r);
	struct tapir_nettrace_event event = {.metadata_id = metadata_id,
					     .tid = (uint64_t)getpid(),
					     .ticks = tapir_clock__now_ns()};

	s.on_event(s.ctx, &event);
}

static void begin(struct tapir_stream_records *r)
{
	tapir_stream_records__init(r, &sink, (uint32_t)getpid());
	tapir_stream_records__begin(r);
}

static void end(struct tapir_stream_records *r)
{
	tapir_stream_records__end(r, 0);
	tapir_stream_records__fini(r);
}

/* A program that makes a source for each request, and disposes of it. */
static void sources_that_come_and_go_are_one_kind(void **state)
{
	const uint32_t sources = 100000;
	struct tapir_stream_records r;

	(void)state;
	begin(&r);
	for (uint32_t i = 1; i <= sources; i++) {
		describe(&r, i, "Sold");
		fire(&r, i);
	}
	end(&r);
	end_consumer();
	assert_int_equal(seen.event_cnt, sources);
	assert_int_equal(seen.probe_cnt, 1);
	assert_int_equal(seen.metadata_cnt, 1);
	assert_int_equal(seen.undescribed_cnt + seen.other_cnt, 0);
}

/* There were 65,536 ids for all streams of a recording. */
static void streams_that_come_and_go_share_their_ids(void **state)
{
	const uint32_t streams = 3000, kinds = 30;
	struct tapir_stream_records r;
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < streams; i++) {
		begin(&r);
		for (uint32_t k = 1; k <= kinds; k++) {
			snprintf(name, sizeof(name), "Kind%u", k);
			describe(&r, k, name);
			fire(&r, k);
		}
		end(&r);
	}
	end_consumer();
	assert_int_equal(seen.event_cnt, streams * kinds);
	assert_int_equal(seen.probe_cnt, kinds);
	assert_int_equal(seen.last_probe_id, TAPIR_STREAM_PROBE_ID_MIN + kinds - 1);
	assert_int_equal(seen.undescribed_cnt + seen.other_cnt, 0);
}

static void more_ids_than_a_stream_may_use_are_counted(void **state)
{
	struct tapir_stream_records r;

	(void)state;
	begin(&r);
	for (uint32_t i = 1; i <= TAPIR_STREAM_METADATA_MAX + 10; i++)
		describe(&r, i, "Sold");
	fire(&r, 1);
	for (uint32_t i = 1; i <= 10; i++)
		fire(&r, TAPIR_STREAM_METADATA_MAX + i);
	end(&r);
	end_consumer();
	assert_int_equal(seen.event_cnt, 1);
	assert_int_equal(seen.undescribed_cnt, 10);
	assert_int_equal(seen.other_cnt, 0);
}

/* More kinds than there is room for; returns how many were stored. */
static uint32_t fill_with_kinds(struct tapir_stream_records *r, const char *prefix)
{
	const uint32_t cnt = TAPIR_STREAM_DESCRIBED_MAX / 512;
	uint32_t described = 0;
	char name[32];

	for (uint32_t i = 1; i <= cnt; i++) {
		snprintf(name, sizeof(name), "%s%u", prefix, i);
		describe(r, i, name);
		described += *tapir_map__get(&r->probes, i) != UINT64_MAX;
		fire(r, i);
	}
	assert_in_range(described, cnt / 2, cnt - 1);
	return described;
}

static void kinds_without_room_are_counted_and_the_next_stream_has_it(void **state)
{
	struct tapir_stream_records r;
	uint32_t described = 0, streams = 4;

	(void)state;
	for (uint32_t i = 0; i < streams; i++) {
		char prefix[8];

		snprintf(prefix, sizeof(prefix), "of%u_", i);
		begin(&r);
		described += fill_with_kinds(&r, prefix);
		end(&r);
	}
	end_consumer();
	assert_int_equal(seen.event_cnt, described);
	assert_int_equal(seen.undescribed_cnt,
			 streams * (TAPIR_STREAM_DESCRIBED_MAX / 512) - described);
	assert_int_equal(seen.other_cnt, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(sources_that_come_and_go_are_one_kind),
		T(streams_that_come_and_go_share_their_ids),
		T(more_ids_than_a_stream_may_use_are_counted),
		T(kinds_without_room_are_counted_and_the_next_stream_has_it),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
