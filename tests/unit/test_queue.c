// SPDX-License-Identifier: GPL-2.0-or-later
/* Blocks and notes on their way to the session thread. Run it with SAN=thread, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "attach/flow/queue.h"

#define BLOCK_CNT 3

static struct tapir_queue *queue;

static int setup(void **state)
{
	(void)state;
	return tapir_queue__new(BLOCK_CNT, &queue);
}

static int teardown(void **state)
{
	(void)state;
	tapir_queue__free(queue);
	queue = NULL;
	return 0;
}

static uint64_t in_ms(unsigned ms)
{
	return tapir_clock__now_ns() + ms * TAPIR_NS_PER_MS;
}

static void give(uint64_t value)
{
	struct tapir_block *block = tapir_queue__take_empty(queue, 0);

	assert_non_null(block);
	assert_int_equal(block->used_bytes, 0);
	block->data[0] = value;
	block->used_bytes = 8;
	tapir_queue__give_full(queue, block);
}

static void blocks_come_in_order_when_given(void **state)
{
	struct tapir_note *notes;
	struct tapir_block *block;

	(void)state;
	for (uint64_t i = 0; i < BLOCK_CNT; i++)
		give(i);
	for (uint64_t i = 0; i < BLOCK_CNT; i++) {
		assert_true(tapir_queue__wait(queue, in_ms(1000), &notes, &block));
		assert_null(notes);
		assert_non_null(block);
		assert_int_equal(block->data[0], i);
		tapir_queue__give_empty(queue, block);
	}
}

/* That is the bound: what finds no block stays in the rings, where the kernel counts it. */
/* Who keeps up needs one block's memory, not all of it. */
static void the_block_given_back_last_is_taken_next(void **state)
{
	struct tapir_block *first = tapir_queue__take_empty(queue, 0),
			   *second = tapir_queue__take_empty(queue, 0), *others[BLOCK_CNT];

	(void)state;
	tapir_queue__give_empty(queue, first);
	tapir_queue__give_empty(queue, second);
	assert_ptr_equal(tapir_queue__take_empty(queue, 0), second);
	assert_ptr_equal(tapir_queue__take_empty(queue, 0), first);
	for (unsigned i = 2; i < BLOCK_CNT; i++)
		assert_non_null(others[i] = tapir_queue__take_empty(queue, 0));
	tapir_queue__give_empty(queue, second); /* into an empty list */
	assert_ptr_equal(tapir_queue__take_empty(queue, 0), second);
	assert_null(tapir_queue__take_empty(queue, 0));
	for (unsigned i = 2; i < BLOCK_CNT; i++)
		tapir_queue__give_empty(queue, others[i]);
	tapir_queue__give_empty(queue, second);
	tapir_queue__give_empty(queue, first);
}

static void no_block_comes_when_all_are_out(void **state)
{
	struct tapir_block *all[BLOCK_CNT];
	uint64_t from;

	(void)state;
	for (unsigned i = 0; i < BLOCK_CNT; i++) {
		all[i] = tapir_queue__take_empty(queue, 0);
		assert_non_null(all[i]);
	}
	from = tapir_clock__now_ns();
	assert_null(tapir_queue__take_empty(queue, 30));
	assert_true(tapir_clock__now_ns() - from >= 30 * TAPIR_NS_PER_MS);
	tapir_queue__give_empty(queue, all[1]);
	assert_ptr_equal(tapir_queue__take_empty(queue, 0), all[1]);
	for (unsigned i = 0; i < BLOCK_CNT; i++)
		tapir_queue__give_empty(queue, all[i]);
}

static void waiting_ends_at_its_time_when_nothing_comes(void **state)
{
	struct tapir_note *notes = (void *)1;
	struct tapir_block *block = (void *)1;
	uint64_t until = in_ms(30);

	(void)state;
	assert_true(tapir_queue__wait(queue, until, &notes, &block));
	assert_true(tapir_clock__now_ns() >= until);
	assert_null(notes);
	assert_null(block);
	assert_true(tapir_queue__wait(queue, 0, &notes, &block)); /* long past: at once */
}

struct sized_rec {
	struct tapir_rec h;
	uint64_t value;
};

static void post(uint64_t value, int fd)
{
	struct sized_rec rec = {
		.h = {.type = TAPIR_REC_META, .size = sizeof(rec)},
		.value = value,
	};

	assert_int_equal(tapir_queue__post(queue, &rec.h, fd), 0);
	memset(&rec, 0xff, sizeof(rec)); /* it was copied */
}

static uint64_t value_of(const struct tapir_note *note)
{
	return ((const struct sized_rec *)(const void *)note->rec)->value;
}

static void notes_come_all_at_once_when_posted(void **state)
{
	struct tapir_note *notes, *note;
	struct tapir_block *block;
	uint64_t cnt = 0;

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		post(i, -1);
	give(77);
	assert_true(tapir_queue__wait(queue, in_ms(1000), &notes, &block));
	assert_non_null(block);
	tapir_queue__give_empty(queue, block);
	while ((note = notes)) {
		notes = note->next;
		assert_int_equal(value_of(note), cnt++);
		tapir_note__free(note);
	}
	assert_int_equal(cnt, 5);
	post(9, -1); /* the list begins anew */
	assert_true(tapir_queue__wait(queue, in_ms(1000), &notes, &block));
	assert_int_equal(value_of(notes), 9);
	assert_null(notes->next);
	assert_null(block);
	tapir_note__free(notes);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void *wait_for_notes(void *arg)
{
	struct tapir_block *block;
	struct tapir_note *notes;
	unsigned *cnt = arg;

	tapir_queue__wait(queue, tapir_clock__now_ns() + 5 * TAPIR_NS_PER_SEC, &notes, &block);
	while (notes) {
		struct tapir_note *next = notes->next;

		tapir_note__free(notes);
		notes = next;
		++*cnt;
	}
	return NULL;
}

/* One wake-up for all of a batch; for each record of other threads, and of a large batch. */
static void session_is_woken_once_when_records_come_in_a_batch(void **state)
{
	const unsigned posted[] = {3, 1000};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		unsigned cnt = 0;
		pthread_t waiter;

		assert_int_equal(pthread_create(&waiter, NULL, wait_for_notes, &cnt), 0);
		usleep(50000);
		tapir_queue__begin_batch(queue);
		for (unsigned n = 0; n < posted[i]; n++) {
			post(n, -1);
			if (!i)
				usleep(10000);
		}
		if (i) /* it is woken before the end */
			pthread_join(waiter, NULL);
		tapir_queue__end_batch(queue);
		if (!i)
			pthread_join(waiter, NULL);
		if (!i)
			assert_int_equal(cnt, posted[i]);
		else
			assert_true(cnt >= 1);
	}
}

/* It is there with whatever wakes the session thread, or when that wakes by itself. */
static void coalesced_record_wakes_no_thread(void **state)
{
	const struct tapir_rec rec = {.type = TAPIR_REC_LOSS, .size = sizeof(rec)};
	unsigned cnt = 0;
	pthread_t waiter;

	(void)state;
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_notes, &cnt), 0);
	usleep(50000);
	assert_int_equal(tapir_queue__post_coalesced(queue, &rec), 0);
	tapir_queue__begin_batch(queue);
	assert_int_equal(tapir_queue__post_coalesced(queue, &rec), 0);
	tapir_queue__end_batch(queue);
	usleep(50000);
	post(1, -1);
	pthread_join(waiter, NULL);
	assert_int_equal(cnt, 3);
}

static void files_are_closed_when_nobody_took_them(void **state)
{
	int taken = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int left = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct tapir_note *notes;
	struct tapir_block *block;

	(void)state;
	post(1, taken);
	assert_true(tapir_queue__wait(queue, 0, &notes, &block));
	assert_int_equal(notes->fd, taken);
	notes->fd = -1; /* ours now */
	tapir_note__free(notes);
	assert_true(is_open(taken));
	close(taken);
	post(2, left);
	tapir_queue__free(queue);
	queue = NULL;
	assert_false(is_open(left));
}

static void what_is_left_comes_when_closed(void **state)
{
	struct tapir_note *notes;
	struct tapir_block *block;

	(void)state;
	give(1);
	give(2);
	post(3, -1);
	tapir_queue__close(queue);
	assert_true(tapir_queue__wait(queue, in_ms(1000), &notes, &block));
	assert_int_equal(value_of(notes), 3);
	assert_int_equal(block->data[0], 1);
	tapir_note__free(notes);
	tapir_queue__give_empty(queue, block);
	assert_true(tapir_queue__wait(queue, in_ms(1000), &notes, &block));
	assert_null(notes);
	assert_int_equal(block->data[0], 2);
	tapir_queue__give_empty(queue, block);
	assert_false(tapir_queue__wait(queue, in_ms(1000), &notes, &block));
	assert_null(notes);
	assert_null(block);
	tapir_queue__close(queue); /* twice is fine */
	assert_false(tapir_queue__wait(queue, in_ms(1000), &notes, &block));
}

/* ---- threads ---------------------------------------------------------------------------- */

#define HANDED_CNT 5000u
#define NOTE_CNT   2000u

static void *drain(void *missed)
{
	for (uint64_t i = 0; i < HANDED_CNT; i++) {
		struct tapir_block *block;

		while (!(block = tapir_queue__take_empty(queue, 1)))
			++*(unsigned *)missed;
		block->data[0] = block->data[TAPIR_BLOCK_BYTES / 8 - 1] = i;
		block->used_bytes = TAPIR_BLOCK_BYTES;
		tapir_queue__give_full(queue, block);
	}
	return NULL;
}

static void *control(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < NOTE_CNT; i++)
		post(i, -1);
	return NULL;
}

static void *close_later(void *arg)
{
	(void)arg;
	usleep(20 * 1000);
	tapir_queue__close(queue);
	return NULL;
}

static void each_block_and_note_comes_once_when_threads_race(void **state)
{
	uint64_t block_cnt = 0, note_cnt = 0;
	struct tapir_note *notes, *note;
	struct tapir_block *block;
	unsigned missed = 0;
	pthread_t threads[2];

	(void)state;
	assert_int_equal(pthread_create(&threads[0], NULL, drain, &missed), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, control, NULL), 0);
	while (block_cnt < HANDED_CNT || note_cnt < NOTE_CNT) {
		assert_true(tapir_queue__wait(queue, in_ms(5000), &notes, &block));
		assert_true(notes || block);
		while ((note = notes)) {
			notes = note->next;
			assert_int_equal(value_of(note), note_cnt++);
			tapir_note__free(note);
		}
		if (!block)
			continue;
		assert_int_equal(block->data[0], block_cnt);
		assert_int_equal(block->data[TAPIR_BLOCK_BYTES / 8 - 1], block_cnt);
		block_cnt++;
		tapir_queue__give_empty(queue, block);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static void waiting_ends_when_another_thread_closes(void **state)
{
	struct tapir_note *notes;
	struct tapir_block *block;
	pthread_t closer;
	uint64_t from = tapir_clock__now_ns();

	(void)state;
	assert_int_equal(pthread_create(&closer, NULL, close_later, NULL), 0);
	assert_false(tapir_queue__wait(queue, in_ms(10000), &notes, &block));
	assert_true(tapir_clock__now_ns() - from < 5 * TAPIR_NS_PER_SEC);
	pthread_join(closer, NULL);
}

/* A record for which there is no memory is counted, and its file closed. */
static void record_without_memory_is_counted(void **state)
{
	struct rlimit old, low;
	struct tapir_rec rec = {.type = TAPIR_REC_EVENT, .size = 0xfffffff8u};
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	low = (struct rlimit){.rlim_cur = 2ull << 30, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
	assert_int_equal(tapir_queue__post(queue, &rec, -1), -ENOMEM);
	rec.type = TAPIR_REC_MAPPING;
	assert_int_equal(tapir_queue__post(queue, &rec, fds[1]), -ENOMEM);
	assert_int_equal(tapir_queue__post(queue, &rec, -1), -ENOMEM);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_int_equal(tapir_queue__refused(queue).event_cnt, 1);
	assert_int_equal(tapir_queue__refused(queue).other_cnt, 2);
	assert_int_equal(tapir_queue__backlog(queue), 0);
	assert_int_equal(fcntl(fds[1], F_GETFD), -1);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(blocks_come_in_order_when_given),
		CASE(the_block_given_back_last_is_taken_next),
		CASE(no_block_comes_when_all_are_out),
		CASE(waiting_ends_at_its_time_when_nothing_comes),
		CASE(notes_come_all_at_once_when_posted),
		CASE(session_is_woken_once_when_records_come_in_a_batch),
		CASE(coalesced_record_wakes_no_thread),
		CASE(files_are_closed_when_nobody_took_them),
		CASE(what_is_left_comes_when_closed),
		CASE(each_block_and_note_comes_once_when_threads_race),
		CASE(waiting_ends_when_another_thread_closes),
		CASE(record_without_memory_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
