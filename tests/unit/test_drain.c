// SPDX-License-Identifier: GPL-2.0-or-later
/* From the BPF rings into blocks: real rings, filled by a small program. Needs root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "record/drain.h"
#include "may_trace.h"
#include "ring_feeder.h"

#define RING_BYTES (256u << 10)

struct small_rec {
	struct tapir_rec h;
	uint64_t value;
};

static struct tapir_programs *programs;
static struct tapir_queue *queue;
static struct tapir_drain *drain;
static struct ring_feeder feeder;
static int first_ring_fd = -1;

static int teardown(void **state)
{
	(void)state;
	tapir_drain__stop(drain);
	drain = NULL;
	tapir_queue__free(queue);
	queue = NULL;
	ring_feeder__close(&feeder);
	tapir_programs__free(programs);
	programs = NULL;
	if (first_ring_fd >= 0)
		close(first_ring_fd);
	first_ring_fd = -1;
	return 0;
}

/* The first CPU pair's ring and a feeder of records of rec_bytes. */
static void load(size_t ring_bytes, uint32_t rec_bytes, unsigned block_cnt)
{
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts), .site_cap = 1, .ring_bytes = ring_bytes};

	if (!may_trace()) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
	tapir_diag__clear();
	assert_int_equal(tapir_programs__load(&opts, &programs), 0);
	assert_int_equal(tapir_queue__new(block_cnt, &queue), 0);
	first_ring_fd = dup(tapir_programs__ring_fd(programs, 0));
	assert_true(ring_feeder__open(&feeder, first_ring_fd, rec_bytes));
}

static void start(size_t max_ring_bytes)
{
	struct tapir_drain_opts opts = {
		.sz = sizeof(opts),
		.programs = programs,
		.queue = queue,
		.max_ring_bytes = max_ring_bytes,
		.wait_ms = 5,
	};

	assert_int_equal(tapir_drain__start(&opts, &drain), 0);
}

static void stop(void)
{
	tapir_drain__stop(drain);
	drain = NULL;
}

static void feed(uint64_t value)
{
	struct small_rec rec = {
		.h = {.type = TAPIR_REC_META, .size = sizeof(rec)},
		.value = value,
	};

	assert_int_equal(ring_feeder__send(&feeder, &rec), 0);
}

/* Takes blocks until `until` records came in all; each value must follow the one before. */
static void take_values(uint64_t *cnt, uint64_t until)
{
	while (*cnt < until) {
		struct tapir_note *notes;
		struct tapir_block *block;

		assert_true(tapir_queue__wait(queue, tapir_clock__now_ns() + 3 * TAPIR_NS_PER_SEC,
					      &notes, &block));
		assert_non_null(block);
		assert_int_equal(block->used_bytes % sizeof(struct small_rec), 0);
		for (size_t at = 0; at < block->used_bytes; at += sizeof(struct small_rec)) {
			const struct small_rec *rec =
				(const void *)((const char *)block->data + at);

			assert_int_equal(rec->h.size, sizeof(*rec));
			assert_int_equal(rec->value, (*cnt)++);
		}
		tapir_queue__give_empty(queue, block);
	}
	assert_int_equal(*cnt, until);
}

static void records_come_in_order_while_running(void **state)
{
	uint64_t cnt = 0;

	(void)state;
	load(RING_BYTES, sizeof(struct small_rec), 4);
	start(RING_BYTES);
	for (uint64_t i = 0; i < 2000; i++)
		feed(i);
	take_values(&cnt, 2000);
}

static void all_is_drained_when_stopped(void **state)
{
	uint64_t cnt = 0;

	(void)state;
	load(RING_BYTES, sizeof(struct small_rec), 4);
	for (uint64_t i = 0; i < 1000; i++)
		feed(i);
	start(RING_BYTES);
	stop();
	take_values(&cnt, 1000);
}

static void *give_back_later(void *block)
{
	usleep(100 * 1000);
	tapir_queue__give_empty(queue, block);
	return NULL;
}

/* A slow disk at the end of a recording: the drain thread waits, it does not walk away. */
static void all_is_drained_when_stopped_without_an_empty_block(void **state)
{
	struct tapir_block *block;
	pthread_t session;
	uint64_t cnt = 0;

	(void)state;
	load(RING_BYTES, sizeof(struct small_rec), 1);
	block = tapir_queue__take_empty(queue, 0);
	for (uint64_t i = 0; i < 1000; i++)
		feed(i);
	start(RING_BYTES);
	assert_int_equal(pthread_create(&session, NULL, give_back_later, block), 0);
	stop();
	pthread_join(session, NULL);
	take_values(&cnt, 1000);
}

/* Else a ring that is read without end is full, for its writers, of what was read. */
static void space_is_given_back_with_each_block(void **state)
{
	static uint64_t big[32u * 1024u / 8];
	struct tapir_bpf_ring ring = {};
	struct tapir_note *notes;
	struct tapir_block *block;
	size_t before;

	(void)state;
	load(2u << 20, sizeof(big), 1);
	assert_int_equal(tapir_bpf_ring__open(first_ring_fd, &ring), 0);
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(ring_feeder__send(&feeder, big), 0);
	before = tapir_bpf_ring__used_bytes(&ring);
	start(2u << 20);
	assert_true(tapir_queue__wait(queue, tapir_clock__now_ns() + 3 * TAPIR_NS_PER_SEC, &notes,
				      &block));
	assert_true(tapir_bpf_ring__used_bytes(&ring) <= before - block->used_bytes);
	tapir_queue__give_empty(queue, block);
	while (tapir_bpf_ring__used_bytes(&ring)) {
		assert_true(tapir_queue__wait(queue, tapir_clock__now_ns() + 3 * TAPIR_NS_PER_SEC,
					      &notes, &block));
		assert_non_null(block);
		tapir_queue__give_empty(queue, block);
	}
	tapir_bpf_ring__close(&ring);
}

static size_t ring_bytes_now(void)
{
	struct tapir_bpf_ring ring = {};
	size_t bytes;

	assert_int_equal(tapir_bpf_ring__open(tapir_programs__ring_fd(programs, 0), &ring), 0);
	bytes = ring.bytes;
	tapir_bpf_ring__close(&ring);
	return bytes;
}

#define HALF_CNT (RING_BYTES / 2 / (sizeof(struct small_rec) + 8))

static void ring_grows_when_crowded(void **state)
{
	uint64_t cnt = 0, fed = 0;

	(void)state;
	load(RING_BYTES, sizeof(struct small_rec), 4);
	while (fed < HALF_CNT + 1)
		feed(fed++);
	start(4 * RING_BYTES);
	take_values(&cnt, fed);
	for (unsigned i = 0; i < 100; i++) /* programs that ran when it grew write here still */
		feed(fed++);
	take_values(&cnt, fed);
	stop();
	assert_int_equal(ring_bytes_now(), 2 * RING_BYTES);
}

static void ring_stays_when_it_is_not_crowded_or_at_its_limit(void **state)
{
	uint64_t cnt = 0, fed = 0;

	(void)state;
	load(RING_BYTES, sizeof(struct small_rec), 4);
	while (fed < HALF_CNT - 10)
		feed(fed++);
	start(4 * RING_BYTES);
	take_values(&cnt, fed);
	stop();
	assert_int_equal(ring_bytes_now(), RING_BYTES);
	while (fed < 2 * HALF_CNT)
		feed(fed++);
	start(RING_BYTES);
	take_values(&cnt, fed);
	stop();
	assert_int_equal(ring_bytes_now(), RING_BYTES);
}

/* The kernel makes the ring, but we cannot map it: everything continues with the old one. */
static void nothing_is_lost_when_a_ring_cannot_grow(void **state)
{
	struct rlimit before, none;
	struct tapir_block *only;
	uint64_t cnt = 0, fed = 0;

	(void)state;
	load(RING_BYTES, sizeof(struct small_rec), 1);
	getrlimit(RLIMIT_AS, &before);
	none = before;
	none.rlim_cur = 0;
	only = tapir_queue__take_empty(queue, 0); /* so that it comes by too late, and often */
	start(4 * RING_BYTES);
	for (unsigned round = 1; round <= 3; round++) {
		while (fed < round * (HALF_CNT + 1))
			feed(fed++);
		usleep(50 * 1000); /* until it has seen how crowded the ring is */
		setrlimit(RLIMIT_AS, &none);
		tapir_queue__give_empty(queue, only);
		take_values(&cnt, fed);
		only = tapir_queue__take_empty(queue, 1000);
		setrlimit(RLIMIT_AS, &before);
		assert_non_null(only);
	}
	tapir_queue__give_empty(queue, only);
	stop();
	assert_int_equal(ring_bytes_now(), RING_BYTES);
}

static void starting_fails_with_a_line_when_a_ring_is_none(void **state)
{
	struct rlimit before, none;
	struct tapir_drain_opts opts = {.sz = sizeof(opts), .wait_ms = 5};

	(void)state;
	load(RING_BYTES, sizeof(struct small_rec), 1);
	opts.programs = programs;
	opts.queue = queue;
	getrlimit(RLIMIT_AS, &before);
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_AS, &none);
	assert_true(tapir_drain__start(&opts, &drain) < 0);
	setrlimit(RLIMIT_AS, &before);
	assert_null(drain);
	assert_int_equal(tapir_diag__cnt(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_teardown(name, teardown)
		CASE(records_come_in_order_while_running),
		CASE(all_is_drained_when_stopped),
		CASE(all_is_drained_when_stopped_without_an_empty_block),
		CASE(space_is_given_back_with_each_block),
		CASE(ring_grows_when_crowded),
		CASE(ring_stays_when_it_is_not_crowded_or_at_its_limit),
		CASE(nothing_is_lost_when_a_ring_cannot_grow),
		CASE(starting_fails_with_a_line_when_a_ring_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
