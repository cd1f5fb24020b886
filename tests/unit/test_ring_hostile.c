// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings of a process that writes there whatever harms a reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tapir/stack_walk.h"
#include "attach/rings/ring_reader.h"
#include "may_trace.h"
#include "ring_seen.h"
#include "trace/record.h"

static void wait_for_round(void)
{
	usleep(50000);
}

static void wrong_heads_are_counted_and_left_behind(void **state)
{
	struct tapir_ring_slot *slot;
	uint64_t good;

	(void)state;
	open_lane();
	for (unsigned i = 0; i < 10; i++)
		assert_true(fire(&maker, 0, 0, i));
	wait_for_round();
	slot = maker_slot(&maker, 0);
	good = slot->head;
	slot->head = good - 8;
	wait_for_round();
	slot->head = UINT64_MAX;
	wait_for_round();
	slot->head = good + 3;
	wait_for_round();
	slot->cap_bytes = 12345;
	slot->head = good + 64;
	wait_for_round();
	slot->cap_bytes = TAPIR_RING_CHUNK_BYTES;
	slot->head = good;
	wait_for_round();
	for (unsigned i = 10; i < 20; i++)
		assert_true(fire(&maker, 0, 0, i));
	stop_reader();
	assert_int_equal(seen.event_cnt, 20);
	assert_in_range(seen.malformed_cnt, 4, 8);
	assert_int_equal(seen.wrong_cnt, 0);
}

static void put_stack(uint64_t id, uint32_t size)
{
	struct {
		struct tapir_rec_stack stack;
		uint64_t frames[2];
	} s = {{{TAPIR_REC_STACK, 0, size, 1}, id, 2, TAPIR_STACK_KERNEL, 200, {0}},
	       {0x1000, 0x2000}};

	assert_true(maker_put(&maker, 0, &s));
}

static void what_a_process_must_not_say_is_malformed(void **state)
{
	uint64_t id = tapir_walk__hash(tapir_walk__hash(0, 0x1000), 0x2000);
	struct fired f = {.ev = {.h = {.type = TAPIR_REC_EVENT, .size = sizeof(f)},
				 .probe_id = TAPIR_RING_ID(0, 1),
				 .tgid = 1, /* another process */
				 .tid = 1,
				 .pad0 = 1}};
	struct tapir_rec_mapping mapping = {
		.h = {.type = TAPIR_REC_MAPPING, .size = sizeof(mapping)},
		.start_va = 1,
		.end_va = 2};

	(void)state;
	open_lane();
	put_stack(id, 48);
	put_stack(id + 1, 48);
	assert_true(maker_put(&maker, 0, &f));
	f.ev.tgid = (uint32_t)getpid();
	f.ev.flags = TAPIR_EVENT_KSTACK;
	assert_true(maker_put(&maker, 0, &f));
	f.ev.flags = 0;
	f.ev.probe_id = TAPIR_RING_ID(1000, 1);
	assert_true(maker_put(&maker, 0, &f));
	f.ev.probe_id = TAPIR_RING_ID(0, 1);
	f.ev.payload_bytes = 4096;
	assert_true(maker_put(&maker, 0, &f));
	assert_true(maker_put(&maker, 0, &mapping));
	stop_reader();
	assert_int_equal(seen.stack_cnt, 1);
	assert_int_equal(seen.event_cnt, 0);
	assert_int_equal(seen.malformed_cnt, 6);
}

static atomic_bool stop_fuzzing;

static void *rewrite_everything(void *arg)
{
	unsigned seed = 1;
	const size_t areas[][2] = {{0, 4096 + 8 * sizeof(struct tapir_ring_slot)},
				   {maker.data[0]->entries_off, 1024},
				   {maker.data[0]->losses_off, 4096},
				   {maker.data[0]->catalog_off, 4096},
				   {maker.data[0]->rings_off, SLOTS * MAKER_RING_BYTES}};

	(void)arg;
	while (!atomic_load(&stop_fuzzing)) {
		const size_t *area = areas[(unsigned)rand_r(&seed) % 5];
		size_t off = area[0] + ((unsigned)rand_r(&seed) % area[1] & ~7u);
		uint64_t value = (uint64_t)rand_r(&seed) >> (unsigned)rand_r(&seed) % 32;
		uint64_t *ctl_word =
			(uint64_t *)maker.ctl + (unsigned)rand_r(&seed) % (sizeof(*maker.ctl) / 8);

		value = (unsigned)rand_r(&seed) % 4 ? value : value << 32;
		__atomic_store_n((uint64_t *)((char *)maker.data[0] + off), value,
				 __ATOMIC_RELAXED);
		__atomic_store_n(ctl_word, value, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void random_words_everywhere_harm_nobody(void **state)
{
	pthread_t fuzzer;
	uint64_t start_ns;

	(void)state;
	open_lane();
	for (unsigned i = 0; i < SLOTS; i++)
		for (unsigned j = 0; j < 100; j++)
			fire(&maker, i, 0, j);
	atomic_store(&stop_fuzzing, false);
	pthread_create(&fuzzer, NULL, rewrite_everything, NULL);
	for (int i = 0; i < 20; i++) {
		usleep(100000);
		tapir_ring_reader__add(reader, (uint32_t)getpid());
	}
	start_ns = tapir_clock__now_ns();
	stop_reader();
	atomic_store(&stop_fuzzing, true);
	pthread_join(fuzzer, NULL);
	assert_true(tapir_clock__now_ns() - start_ns < 30 * TAPIR_NS_PER_SEC);
	maker.data[0]->file_bytes = maker.file_bytes; /* for munmap */
}

#define T(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(wrong_heads_are_counted_and_left_behind),
		T(what_a_process_must_not_say_is_malformed),
		T(random_words_everywhere_harm_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
