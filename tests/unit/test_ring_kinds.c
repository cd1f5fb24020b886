/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptions of events shared by processes: one id for one description, and what room there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "attach/rings/ring_kinds.h"

#define FIRST 0x10000u
#define LAST  0x3fffffffu

static struct tapir_ring_kinds kinds;
static struct {
	struct tapir_rec_probe probe;
	char text[100000];
} record;

static int setup(void **state)
{
	(void)state;
	tapir_ring_kinds__init(&kinds, FIRST, LAST);
	memset(&record, 0, sizeof(record));
	record.probe.h.type = TAPIR_REC_PROBE;
	record.probe.h.size = sizeof(record.probe) + 32;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_ring_kinds__fini(&kinds);
	return 0;
}

static uint32_t use(const char *text, const char *more, uint64_t *hash, bool *is_new)
{
	snprintf(record.text, 32, "%s", text);
	return tapir_ring_kinds__use(&kinds, &record.probe, more, strlen(more), hash, is_new);
}

static void what_is_described_alike_has_one_id(void **state)
{
	uint64_t hash, other;
	bool is_new;

	(void)state;
	assert_int_equal(use("a", "m", &hash, &is_new), FIRST);
	assert_true(is_new);
	record.probe.probe_id = 77; /* the lane's own number and time are no part of it */
	record.probe.h.time_ns = 5;
	assert_int_equal(use("a", "m", &hash, &is_new), FIRST);
	assert_false(is_new);
	assert_int_equal(use("b", "m", &other, &is_new), FIRST + 1);
	assert_int_equal(use("a", "n", &other, &is_new), FIRST + 2);
	record.probe.level = 3;
	assert_int_equal(use("a", "m", &other, &is_new), FIRST + 3);
	assert_true(is_new);
}

static void an_unused_kind_keeps_its_id_for_the_next_process(void **state)
{
	uint64_t hash;
	bool is_new;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		assert_int_equal(use("a", "", &hash, &is_new), FIRST);
		assert_int_equal(is_new, i == 0);
		tapir_ring_kinds__drop(&kinds, hash);
	}
	tapir_ring_kinds__drop(&kinds, hash); /* once too often is nothing */
	assert_int_equal(kinds.all.cnt, 1);
}

/* Large ones, so that it is quick. */
static uint32_t use_large(unsigned i, uint64_t *hash)
{
	bool is_new;

	record.probe.h.size = sizeof(record.probe) + 65536;
	memcpy(record.text, &i, sizeof(i));
	return tapir_ring_kinds__use(&kinds, &record.probe, NULL, 0, hash, &is_new);
}

static void room_is_given_back_and_ids_are_not_used_twice(void **state)
{
	static uint64_t hashes[4000];
	unsigned cnt = 0;
	uint32_t last = 0, id;

	(void)state;
	while (cnt < 4000 && (id = use_large(cnt, &hashes[cnt])) != 0) {
		last = id;
		cnt++;
	}
	assert_in_range(cnt, 1900, 2100); /* of 64 KB: 128 MB */
	assert_in_range(kinds.cost_bytes, 1, TAPIR_RING_KINDS_MAX_BYTES);
	for (unsigned i = 0; i < cnt; i += 2)
		tapir_ring_kinds__drop(&kinds, hashes[i]);
	for (unsigned i = 0; i < cnt / 2; i++)
		assert_true(use_large(10000 + i, &hashes[2 * i]) > last);
	assert_int_equal(use_large(99999, &hashes[3999]), 0);
	for (unsigned i = 1; i < cnt; i += 2) /* what was in use is known still */
		assert_int_equal(use_large(i, &hashes[i]), FIRST + i);
}

static void ids_end_where_those_of_others_begin(void **state)
{
	uint64_t hash;
	bool is_new;

	(void)state;
	kinds.next_probe_id = LAST;
	assert_int_equal(use("a", "", &hash, &is_new), LAST);
	assert_int_equal(use("b", "", &hash, &is_new), 0);
	assert_int_equal(use("a", "", &hash, &is_new), LAST);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_described_alike_has_one_id),
		T(an_unused_kind_keeps_its_id_for_the_next_process),
		T(room_is_given_back_and_ids_are_not_used_twice),
		T(ids_end_where_those_of_others_begin),
	};
#undef T

	return cmocka_run_group_tests(tests, NULL, NULL);
}
