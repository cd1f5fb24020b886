// SPDX-License-Identifier: GPL-2.0-or-later
/* Who holds the locks of a made-up PostgreSQL, by its shared memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "fake_memory.h"
#include "runtime/postgresql/postgresql_locks.h"

enum {
	MY_PROC = MEMORY_VA,
	LOCKS = MEMORY_VA + 0x400,  /* 0x40 each */
	PLACES = MEMORY_VA + 0x800, /* 0x40 each */
	ENTRIES = MEMORY_VA + 0x4000,
	ENTRY_BYTES = 0x400, /* as much as is read of one */
	LINKS = 32,	     /* of a place */
	HOLDERS = 24,	     /* of a lock */
	WAITS = 112,	     /* of an entry */
	SHARE = 5,
	EXCLUSIVE = 7,
};

static struct fake_memory memory;
static unsigned place_cnt;

static void put(uint64_t va, uint64_t value)
{
	fake_memory__put(&memory, va, value);
}

static uint64_t get(uint64_t va)
{
	uint64_t value;

	memcpy(&value, memory.bytes + (va - MEMORY_VA), sizeof(value));
	return value;
}

static uint64_t lock_va(unsigned i)
{
	return LOCKS + 0x40ull * i;
}

static uint64_t entry_va(unsigned i)
{
	return ENTRIES + (uint64_t)ENTRY_BYTES * i;
}

/* A process has a place in a lock's list, the last one: what it holds, and for what it waits. */
static uint64_t add_place(unsigned entry, unsigned lock, uint32_t held_mask, uint32_t mode)
{
	uint64_t va = PLACES + 0x40ull * place_cnt++, list = lock_va(lock) + HOLDERS,
		 last = get(list);

	put(va, lock_va(lock));
	put(va + 8, entry_va(entry));
	put(va + 16, entry_va(entry));
	put(va + 24, held_mask);
	put(va + LINKS, last);
	put(va + LINKS + 8, list);
	put(last + 8, va + LINKS);
	put(list, va + LINKS);
	if (mode) {
		put(entry_va(entry) + WAITS, lock_va(lock));
		put(entry_va(entry) + WAITS + 8, va);
		put(entry_va(entry) + WAITS + 16, mode);
	}
	return va;
}

static int setup(void **state)
{
	(void)state;
	memset(&memory, 0, sizeof(memory));
	memory.size = MEMORY_BYTES;
	place_cnt = 0;
	put(MY_PROC, entry_va(0));
	for (unsigned i = 0; i < 8; i++) {
		put(lock_va(i) + HOLDERS, lock_va(i) + HOLDERS);
		put(lock_va(i) + HOLDERS + 8, lock_va(i) + HOLDERS);
		fake_memory__put32(&memory, entry_va(i) + 64, 1000 + i);
	}
	return 0;
}

/* 0: nobody. */
static uint32_t holder(struct tapir_postgresql_holder *out)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);

	return tapir_postgresql_locks__holder(&source, MY_PROC, 1000, out) ? out->pid : 0;
}

static void process_that_holds_a_conflicting_lock_is_found(void **state)
{
	struct tapir_postgresql_holder found;

	(void)state;
	assert_int_equal(holder(&found), 0);
	add_place(2, 0, 1u << SHARE, 0); /* of the same mode: no conflict */
	add_place(3, 0, 0, EXCLUSIVE);	 /* waits for it, too, and holds nothing */
	add_place(1, 0, 1u << EXCLUSIVE, 0);
	add_place(0, 0, 0, SHARE);
	assert_int_equal(holder(&found), 1001);
	assert_int_equal(found.entry_va, entry_va(1));
	assert_false(found.is_cycle);
}

static void what_it_waits_for_is_known_without_a_holder(void **state)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);
	struct tapir_postgresql_lock lock;

	(void)state;
	assert_false(tapir_postgresql_locks__wanted(&source, MY_PROC, 1000, &lock));
	put(lock_va(2), 16412ull << 32 | 5);
	put(lock_va(2) + 8, 1ull << 56 | 4ull << 48 | 3ull << 32 | 7);
	add_place(0, 2, 0, SHARE);
	assert_true(tapir_postgresql_locks__wanted(&source, MY_PROC, 1000, &lock));
	assert_int_equal(lock.fields[0], 5);
	assert_int_equal(lock.fields[1], 16412);
	assert_int_equal(lock.fields[2], 7);
	assert_int_equal(lock.field4, 3);
	assert_int_equal(lock.type, 4);
	assert_false(tapir_postgresql_locks__wanted(&source, MY_PROC, 4, &lock));
}

/* A statement that waits behind an ALTER TABLE, which waits for a transaction that only reads. */
static void who_holds_up_the_queue_holds_up_all_in_it(void **state)
{
	struct tapir_postgresql_holder found;

	(void)state;
	add_place(1, 0, 1u << 1, 0); /* AccessShare */
	add_place(0, 0, 0, 1);
	assert_int_equal(holder(&found), 0);
	add_place(2, 0, 0, 8); /* AccessExclusive */
	assert_int_equal(holder(&found), 1001);
	assert_false(found.is_cycle);
}

static void own_group_of_parallel_workers_does_not_block(void **state)
{
	struct tapir_postgresql_holder found;
	uint64_t worker;

	(void)state;
	worker = add_place(1, 0, 1u << EXCLUSIVE, 0);
	put(worker + 16, entry_va(0));
	add_place(0, 0, 1u << EXCLUSIVE, EXCLUSIVE);
	assert_int_equal(holder(&found), 0);
}

static void holder_that_waits_is_preferred_and_a_circle_is_known(void **state)
{
	struct tapir_postgresql_holder found;

	(void)state;
	add_place(2, 0, 1u << SHARE, 0);
	add_place(1, 0, 1u << SHARE, 0);
	add_place(0, 0, 0, EXCLUSIVE);
	assert_int_equal(holder(&found), 1002);
	add_place(3, 1, 1u << EXCLUSIVE, 0);
	add_place(1, 1, 0, EXCLUSIVE); /* 0 waits for 1, 1 for 3 */
	assert_int_equal(holder(&found), 1001);
	assert_false(found.is_cycle);
	add_place(0, 2, 1u << EXCLUSIVE, 0);
	add_place(3, 2, 0, SHARE); /* and 3 for 0 */
	assert_int_equal(holder(&found), 1001);
	assert_true(found.is_cycle);
}

static void what_does_not_agree_is_no_wait(void **state)
{
	struct tapir_postgresql_holder found;
	uint64_t place;

	(void)state;
	add_place(1, 0, 1u << EXCLUSIVE, 0);
	place = add_place(0, 0, 0, EXCLUSIVE);
	put(place + 8, entry_va(5)); /* the place of another */
	assert_int_equal(holder(&found), 0);
	put(place + 8, entry_va(0));
	put(entry_va(0) + WAITS + 16, 9); /* no such mode */
	assert_int_equal(holder(&found), 0);
	put(entry_va(0) + WAITS + 16, EXCLUSIVE);
	assert_int_equal(holder(&found), 1001);
	fake_memory__put32(&memory, entry_va(0) + 64, 4); /* its number is nowhere */
	assert_int_equal(holder(&found), 0);
	memory.size = ENTRIES - MEMORY_VA;
	assert_int_equal(holder(&found), 0);
}

static void list_that_has_no_end_is_left(void **state)
{
	struct tapir_postgresql_holder found;
	uint64_t first, second;

	(void)state;
	first = add_place(2, 0, 0, 0);
	second = add_place(0, 0, 0, EXCLUSIVE);
	put(second + LINKS + 8, first + LINKS);
	assert_int_equal(holder(&found), 0);
	assert_true(memory.read_cnt < 10000);
}

/* ---- what a process holds ------------------------------------------------------------------- */

enum { HELD = MEMORY_VA + 0xc000, LISTS = 256, TRANSACTION = 5 };

static void empty_lists(unsigned entry)
{
	for (unsigned i = 0; i < 16; i++) {
		uint64_t va = entry_va(entry) + LISTS + 16ull * i;

		put(va, va);
		put(va + 8, va);
	}
}

/* The only one in its part of the list. */
static void hold(unsigned entry, unsigned part, unsigned lock, uint8_t type, uint32_t mode)
{
	uint64_t va = HELD + 0x80ull * part, list = entry_va(entry) + LISTS + 16ull * part;

	put(lock_va(lock), 729);
	put(lock_va(lock) + 8, (uint64_t)type << 48);
	put(va, lock_va(lock));
	put(va + 8, entry_va(entry));
	put(va + 24, 1u << mode);
	put(va + 48, list);
	put(va + 56, list);
	put(list, va + 48);
	put(list + 8, va + 48);
}

static uint32_t transaction(void)
{
	const struct tapir_process_memory source = fake_memory__of(&memory);

	return tapir_postgresql_locks__transaction(&source, MY_PROC, 1000);
}

static void transaction_is_the_one_whose_lock_it_holds(void **state)
{
	(void)state;
	assert_int_equal(transaction(), 0); /* no lists */
	empty_lists(0);
	assert_int_equal(transaction(), 0);
	hold(0, 3, 1, 0, EXCLUSIVE); /* a table */
	assert_int_equal(transaction(), 0);
	hold(0, 5, 2, TRANSACTION, SHARE); /* that of another transaction */
	assert_int_equal(transaction(), 0);
	hold(0, 7, 3, TRANSACTION, EXCLUSIVE);
	assert_int_equal(transaction(), 729);
	put(HELD + 0x80 * 7 + 8, entry_va(2)); /* a place of another process */
	assert_int_equal(transaction(), 0);
}

static void list_of_what_is_held_ends(void **state)
{
	(void)state;
	empty_lists(0);
	hold(0, 3, 1, 0, EXCLUSIVE);
	put(HELD + 0x80 * 3 + 56, HELD + 0x80 * 3 + 48);
	assert_int_equal(transaction(), 0);
	assert_true(memory.read_cnt < 10000);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(process_that_holds_a_conflicting_lock_is_found),
		TEST(what_it_waits_for_is_known_without_a_holder),
		TEST(who_holds_up_the_queue_holds_up_all_in_it),
		TEST(own_group_of_parallel_workers_does_not_block),
		TEST(holder_that_waits_is_preferred_and_a_circle_is_known),
		TEST(what_does_not_agree_is_no_wait),
		TEST(list_that_has_no_end_is_left),
		TEST(transaction_is_the_one_whose_lock_it_holds),
		TEST(list_of_what_is_held_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
