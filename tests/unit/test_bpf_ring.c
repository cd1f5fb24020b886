// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading a BPF ring: headers and flags in plain memory, then a real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/diag.h"
#include "may_trace.h"
#include "ring_feeder.h"

#define RING_BYTES 4096u

static struct fake_ring fake;
static int real_fd = -1;
static struct ring_feeder feeder;
static struct tapir_bpf_ring real;

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	fake_ring__init(&fake, RING_BYTES, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_ring__fini(&fake);
	tapir_bpf_ring__close(&real);
	ring_feeder__close(&feeder);
	if (real_fd >= 0)
		close(real_fd);
	real_fd = -1;
	return 0;
}

static void next_is(struct tapir_bpf_ring *ring, const void *want, uint32_t want_len)
{
	uint32_t len = 0;
	const void *rec = tapir_bpf_ring__next(ring, &len);

	assert_non_null(rec);
	assert_int_equal(len, want_len);
	assert_memory_equal(rec, want, want_len);
}

static void nothing_is_ready(struct tapir_bpf_ring *ring)
{
	uint32_t len = 77;

	assert_null(tapir_bpf_ring__next(ring, &len));
	assert_int_equal(len, 77);
}

static void records_come_in_order_when_written(void **state)
{
	(void)state;
	nothing_is_ready(&fake.ring);
	fake_ring__put(&fake, "one", 3, 0);
	fake_ring__put(&fake, "", 0, 0);
	fake_ring__put(&fake, "eight by", 8, 0);
	fake_ring__put(&fake, "nine byte", 9, 0);
	assert_int_equal(tapir_bpf_ring__used_bytes(&fake.ring), 16 + 8 + 16 + 24);
	next_is(&fake.ring, "one", 3);
	next_is(&fake.ring, "", 0);
	next_is(&fake.ring, "eight by", 8);
	next_is(&fake.ring, "nine byte", 9);
	nothing_is_ready(&fake.ring);
}

static void space_is_given_back_when_released(void **state)
{
	(void)state;
	fake_ring__put(&fake, "one", 3, 0);
	fake_ring__put(&fake, "two", 3, 0);
	next_is(&fake.ring, "one", 3);
	assert_int_equal(fake.consumer_pos, 0);
	tapir_bpf_ring__release(&fake.ring);
	assert_int_equal(fake.consumer_pos, 16);
	assert_int_equal(tapir_bpf_ring__used_bytes(&fake.ring), 16);
	next_is(&fake.ring, "two", 3);
	tapir_bpf_ring__release(&fake.ring);
	assert_int_equal(tapir_bpf_ring__used_bytes(&fake.ring), 0);
}

static void nothing_comes_behind_a_record_when_it_is_busy(void **state)
{
	uint32_t *head;

	(void)state;
	fake_ring__put(&fake, "done", 4, 0);
	head = fake_ring__put(&fake, "busy", 4, BPF_RINGBUF_BUSY_BIT);
	fake_ring__put(&fake, "later", 5, 0);
	next_is(&fake.ring, "done", 4);
	nothing_is_ready(&fake.ring);
	nothing_is_ready(&fake.ring);
	tapir_bpf_ring__release(&fake.ring);
	assert_int_equal(fake.consumer_pos, 16); /* the busy one keeps its place */
	*head &= ~BPF_RINGBUF_BUSY_BIT;
	next_is(&fake.ring, "busy", 4);
	next_is(&fake.ring, "later", 5);
}

static void record_is_passed_over_when_discarded(void **state)
{
	(void)state;
	fake_ring__put(&fake, "gone", 4, BPF_RINGBUF_DISCARD_BIT);
	fake_ring__put(&fake, "gone too", 8, BPF_RINGBUF_DISCARD_BIT);
	fake_ring__put(&fake, "here", 4, 0);
	fake_ring__put(&fake, "gone", 4, BPF_RINGBUF_DISCARD_BIT);
	next_is(&fake.ring, "here", 4);
	nothing_is_ready(&fake.ring);
	tapir_bpf_ring__release(&fake.ring); /* the last, too, is behind us */
	assert_int_equal(tapir_bpf_ring__used_bytes(&fake.ring), 0);
}

static void record_is_complete_when_it_wraps(void **state)
{
	char rec[1000];

	(void)state;
	for (unsigned round = 0; round < 50; round++) {
		memset(rec, (int)('A' + round % 26), sizeof(rec));
		rec[0] = '<';
		rec[sizeof(rec) - 1] = '>';
		fake_ring__put(&fake, rec, sizeof(rec), 0);
		next_is(&fake.ring, rec, sizeof(rec));
		tapir_bpf_ring__release(&fake.ring);
	}
	assert_int_equal(fake.consumer_pos, 50 * 1008);
}

/* Positions are 64 bits wide and only grow; 32 bits are through in a few minutes. */
static void records_come_when_positions_pass_four_gigabytes(void **state)
{
	(void)state;
	fake_ring__fini(&fake);
	fake_ring__init(&fake, RING_BYTES, 0xfffffff0u);
	for (unsigned i = 0; i < 4; i++)
		fake_ring__put(&fake, &i, sizeof(i), 0);
	for (unsigned i = 0; i < 4; i++)
		next_is(&fake.ring, &i, sizeof(i));
	tapir_bpf_ring__release(&fake.ring);
	assert_true(fake.consumer_pos == 0x100000030u);
}

static void opening_fails_with_a_line_when_it_is_no_ring(void **state)
{
	int fd;

	(void)state;
	assert_true(tapir_bpf_ring__open(-1, &real) < 0);
	assert_int_equal(tapir_diag__cnt(), 1);
	fd = memfd_create("no map", MFD_CLOEXEC);
	assert_true(tapir_bpf_ring__open(fd, &real) < 0);
	assert_int_equal(tapir_diag__cnt(), 2);
	assert_null(real.data); /* untouched: closing it does nothing */
	close(fd);
}

static void need_root(void)
{
	if (!may_trace()) {
		print_message("skipped: a real BPF ring buffer needs root\n");
		skip();
	}
}

static void open_real(uint32_t rec_len)
{
	need_root();
	real_fd = real_ring__open(RING_BYTES);
	assert_true(real_fd >= 0);
	assert_true(ring_feeder__open(&feeder, real_fd, rec_len));
	assert_int_equal(tapir_bpf_ring__open(real_fd, &real), 0);
	assert_int_equal(real.bytes, RING_BYTES);
}

static void records_are_what_the_kernel_wrote(void **state)
{
	char rec[104];

	(void)state;
	open_real(sizeof(rec));
	for (unsigned i = 0; i < 200; i++) {
		memset(rec, (int)i, sizeof(rec));
		assert_int_equal(ring_feeder__send(&feeder, rec), 0);
		assert_int_equal(ring_feeder__discard(real_fd), 0);
		next_is(&real, rec, sizeof(rec));
		nothing_is_ready(&real);
		tapir_bpf_ring__release(&real);
		assert_int_equal(tapir_bpf_ring__used_bytes(&real), 0);
	}
}

static void kernel_finds_room_only_when_released(void **state)
{
	char rec[1016] = "x";
	unsigned sent = 0;

	(void)state;
	open_real(sizeof(rec));
	while (!ring_feeder__send(&feeder, rec))
		assert_true(++sent < 10);
	assert_in_range(sent, 3, 4); /* of 1,024 bytes with their headers */
	for (unsigned i = 0; i < sent; i++)
		next_is(&real, rec, sizeof(rec));
	assert_int_not_equal(ring_feeder__send(&feeder, rec), 0);
	tapir_bpf_ring__release(&real);
	assert_int_equal(ring_feeder__send(&feeder, rec), 0);
	next_is(&real, rec, sizeof(rec));
}

/* A second reader of the same ring, as a peer would be, begins where the first released. */
static void reading_starts_at_the_released_position(void **state)
{
	struct tapir_bpf_ring other = {};

	(void)state;
	open_real(8);
	assert_int_equal(ring_feeder__send(&feeder, "released"), 0);
	assert_int_equal(ring_feeder__send(&feeder, "not yet."), 0);
	next_is(&real, "released", 8);
	tapir_bpf_ring__release(&real);
	next_is(&real, "not yet.", 8);
	assert_int_equal(tapir_bpf_ring__open(real_fd, &other), 0);
	next_is(&other, "not yet.", 8);
	nothing_is_ready(&other);
	tapir_bpf_ring__close(&other);
	tapir_bpf_ring__close(&other); /* twice is fine */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(records_come_in_order_when_written),
		CASE(space_is_given_back_when_released),
		CASE(nothing_comes_behind_a_record_when_it_is_busy),
		CASE(record_is_passed_over_when_discarded),
		CASE(record_is_complete_when_it_wraps),
		CASE(records_come_when_positions_pass_four_gigabytes),
		CASE(opening_fails_with_a_line_when_it_is_no_ring),
		CASE(records_are_what_the_kernel_wrote),
		CASE(kernel_finds_room_only_when_released),
		CASE(reading_starts_at_the_released_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
