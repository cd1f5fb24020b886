// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of generated code by address and time: who holds what when, and what is reported of it
 * later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/jit_table.h"

#define MS 1000000ull

static int setup(void **state)
{
	return tapir_jit_table__new((struct tapir_jit_table **)state);
}

static int teardown(void **state)
{
	tapir_jit_table__free(*state);
	return 0;
}

static int add(struct tapir_jit_table *t, uint64_t start, uint64_t size, uint64_t from,
	       const char *name)
{
	return tapir_jit_table__add(t, &(struct tapir_jit_name){.start_va = start,
								.size = size,
								.from_ns = from,
								.name = name,
								.name_len = strlen(name),
								.source = TAPIR_JIT_PERF_MAP});
}

static void names(struct tapir_jit_table *t, uint64_t va, uint64_t time, const char *want)
{
	struct tapir_jit_name n = {};
	bool found = tapir_jit_table__find(t, va, time, &n);

	if (!want) {
		if (found)
			fail_msg("%llx at %llu: %.*s, none expected", (unsigned long long)va,
				 (unsigned long long)time, (int)n.name_len, n.name);
		return;
	}
	if (!found)
		fail_msg("%llx at %llu: no name, %s expected", (unsigned long long)va,
			 (unsigned long long)time, want);
	assert_int_equal(n.name_len, strlen(want));
	assert_memory_equal(n.name, want, n.name_len);
	assert_true(va - n.start_va < n.size);
	assert_true(n.from_ns <= time && (!n.until_ns || n.until_ns > time));
}

static void one_address_bears_three_names_in_three_periods(void **state)
{
	struct tapir_jit_table *t = *state;

	assert_int_equal(add(t, 0x1000, 0x100, 0, "first"), 1);
	assert_int_equal(add(t, 0x1000, 0x80, 5000 * MS, "second"), 1);
	assert_int_equal(add(t, 0xff0, 0x20, 9000 * MS, "third"), 1);
	names(t, 0x1000, 1, "first");
	names(t, 0x1000, 4999 * MS, "first");
	names(t, 0x10ff, 4999 * MS, "first");
	names(t, 0x1000, 5000 * MS, "second");
	names(t, 0x10ff, 5000 * MS, NULL); /* the whole first one is gone */
	names(t, 0x1000, 8999 * MS, "second");
	names(t, 0x1000, 9000 * MS, "third");
	names(t, 0xff0, 8000 * MS, NULL);
	names(t, 0x1010, 9000 * MS, NULL);
	assert_int_equal(tapir_jit_table__cnt(t), 3);
}

/* More names than one place of neighbours holds, and only their times differ. */
static void one_address_bears_a_thousand_names(void **state)
{
	struct tapir_jit_table *t = *state;
	char name[16];

	add(t, 0x800, 0x10, 1000 * MS, "neighbour");
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)i);
		assert_int_equal(add(t, 0x1000, 0x100, (1 + i) * 1000 * MS, name), 1);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)i);
		names(t, 0x10ff, (1 + i) * 1000 * MS, name);
		names(t, 0x1000, (2 + i) * 1000 * MS - 1, name);
	}
	names(t, 0x1000, 1, NULL);
	assert_true(tapir_jit_table__end(t, 0x1000, 300500 * MS)); /* reported very late */
	names(t, 0x1000, 300499 * MS, "299");
	names(t, 0x1000, 300500 * MS, NULL);
	assert_false(tapir_jit_table__end(t, 0x1000, 1));
	names(t, 0x800, 1000000 * MS, "neighbour");
}

static void what_is_known_changes_nothing(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	assert_int_equal(add(t, 0x1000, 0x100, 0, "same"), 1);
	assert_int_equal(add(t, 0x1000, 0x100, 700, "same"), 0);
	assert_int_equal(tapir_jit_table__cnt(t), 1);
	assert_true(tapir_jit_table__find(t, 0x1000, 10, &n));
	assert_int_equal(n.until_ns, 0);
	assert_int_equal(add(t, 0x1000, 0xff, 800, "same"), 1); /* another size is another name */
	assert_int_equal(add(t, 0x2000, 1, 800, ""), 1);
	assert_int_equal(add(t, 0x2000, 1, 900, ""), 0);
}

static void picture_of_the_start_fills_only_what_is_not_known(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 5000 * MS, "timed");
	add(t, 0x3000, 0x100, 3000 * MS, "early");
	add(t, 0x3000, 0x100, 6000 * MS, "late");
	assert_int_equal(add(t, 0x1080, 0x100, 0, "snapshot"), 1);
	names(t, 0x1090, 4000 * MS, "snapshot");
	names(t, 0x1090, 5000 * MS, "timed");
	names(t, 0x1100, 5000 * MS, NULL);
	assert_true(tapir_jit_table__find(t, 0x1080, 1, &n));
	assert_int_equal(n.until_ns, 5000 * MS);
	/* until the first of them, also where that has ended */
	assert_int_equal(add(t, 0x3000, 0x80, 0, "before"), 1);
	names(t, 0x3000, 2000 * MS, "before");
	names(t, 0x3000, 3500 * MS, "early");
	names(t, 0x3000, 7000 * MS, "late");
	/* and nothing where all of the past is known */
	assert_int_equal(add(t, 0x3010, 0x10, 0, "again"), 0);
	names(t, 0x3010, 2000 * MS, "before");
}

static void late_name_of_a_time_ends_who_held_then(void **state)
{
	struct tapir_jit_table *t = *state;

	add(t, 0x1000, 0x100, 1000 * MS, "a");
	add(t, 0x1000, 0x100, 9000 * MS, "c");
	assert_int_equal(add(t, 0x1000, 0x100, 5000 * MS, "b"), 1);
	names(t, 0x1000, 4999 * MS, "a");
	names(t, 0x1000, 5000 * MS, "b");
	names(t, 0x1000, 8999 * MS, "b");
	names(t, 0x1000, 9000 * MS, "c");
}

static void last_of_one_batch_wins(void **state)
{
	struct tapir_jit_table *t = *state;

	add(t, 0x1000, 0x100, 0, "a");
	add(t, 0x1080, 0x100, 0, "b");
	add(t, 0x1080, 0x10, 0, "c");
	names(t, 0x1000, 1, NULL);
	names(t, 0x1090, 1, NULL);
	names(t, 0x1080, 1, "c");
	assert_int_equal(tapir_jit_table__cnt(t), 1);
}

static void name_that_was_given_out_keeps_its_moment(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 5000, "a");
	names(t, 0x1000, 6000, "a");
	add(t, 0x1000, 0x100, 5000, "b");
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_int_equal(n.from_ns, 5000);
	assert_int_equal(n.until_ns, 5001);
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "b", 1);
	assert_int_equal(n.from_ns, 5001);
	assert_false(tapir_jit_table__next_changed(t, &n));
}

static void unloaded_code_has_no_name(void **state)
{
	struct tapir_jit_table *t = *state;

	add(t, 0x1000, 0x100, 1000, "a");
	assert_false(tapir_jit_table__end(t, 0x1001, 2000));
	assert_true(tapir_jit_table__end(t, 0x1000, 2000));
	assert_false(tapir_jit_table__end(t, 0x1000, 3000));
	names(t, 0x1000, 1999, "a");
	names(t, 0x1000, 2000, NULL);
	/* reported after another one took its place */
	add(t, 0x1000, 0x100, 5000 * MS, "b");
	add(t, 0x1000, 0x100, 9000 * MS, "c");
	assert_true(tapir_jit_table__end(t, 0x1000, 7000 * MS));
	names(t, 0x1000, 6999 * MS, "b");
	names(t, 0x1000, 7000 * MS, NULL);
	names(t, 0x1000, 9000 * MS, "c");
}

static void who_takes_an_address_late_is_reported(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 1000 * MS, "a");
	names(t, 0x1010, 1500 * MS, "a");
	assert_true(tapir_jit_table__end(t, 0x1000, 2000 * MS));
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "a", 1);
	assert_false(tapir_jit_table__next_changed(t, &n));
	add(t, 0x9000, 0x100, 5000 * MS, "elsewhere"); /* later */
	assert_false(tapir_jit_table__next_changed(t, &n));
	add(t, 0x1000, 0x100, 9000 * MS, "b");
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "b", 1);
	assert_false(tapir_jit_table__next_changed(t, &n));
}

static void who_came_after_a_name_that_is_asked_for_late_is_reported(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 1000 * MS, "a");
	assert_true(tapir_jit_table__end(t, 0x1000, 2000 * MS));
	add(t, 0x1000, 0x100, 3000 * MS, "b");
	assert_true(tapir_jit_table__end(t, 0x1000, 4000 * MS));
	add(t, 0x1000, 0x100, 5000 * MS, "c");
	assert_false(tapir_jit_table__next_changed(t, &n));
	names(t, 0x1010, 1500 * MS, "a");
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "c", 1);
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "b", 1);
	assert_false(tapir_jit_table__next_changed(t, &n));
}

static void moved_code_keeps_its_name(void **state)
{
	struct tapir_jit_table *t = *state;

	add(t, 0x1000, 0x100, 1000, "f");
	assert_int_equal(tapir_jit_table__move(t, 0x1010, 0x2000, 0, 2000), -ENOENT);
	assert_int_equal(tapir_jit_table__move(t, 0x1000, 0x1080, 0, 2000 * MS), 1);
	names(t, 0x1000, 1999 * MS, "f");
	names(t, 0x1000, 2000 * MS, NULL);
	names(t, 0x117f, 2000 * MS, "f");
}

static void code_that_ran_before_its_name_has_it(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 1000 * MS, "f");
	names(t, 0x1000, 899 * MS, NULL);
	assert_true(tapir_jit_table__find(t, 0x1000, 950 * MS, &n));
	assert_int_equal(n.from_ns, 900 * MS); /* the key it is written with covers that time */
	assert_int_equal(n.until_ns, 0);
	assert_true(tapir_jit_table__find(t, 0x1000, 1000 * MS, &n));
	assert_int_equal(n.from_ns, 900 * MS);
}

static void earlier_time_of_a_name_that_was_given_out_is_a_name_of_its_own(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 1000 * MS, "f");
	names(t, 0x1000, 1000 * MS, "f");
	assert_true(tapir_jit_table__find(t, 0x1000, 950 * MS, &n));
	assert_int_equal(n.from_ns, 900 * MS);
	assert_int_equal(n.until_ns, 1000 * MS);
	assert_memory_equal(n.name, "f", 1);
	names(t, 0x1000, 999 * MS, "f");
	assert_true(tapir_jit_table__find(t, 0x1000, 1001 * MS, &n));
	assert_int_equal(n.from_ns, 1000 * MS); /* as it was */
}

static void earlier_time_is_not_another_names(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 10 * MS, "old");
	add(t, 0x10f0, 0x100, 1000 * MS, "new");
	names(t, 0x10f0, 990 * MS, "old");
	names(t, 0x1110, 990 * MS, NULL); /* its first bytes were another's till then */
	tapir_jit_table__end(t, 0x1000, 970 * MS);
	assert_true(tapir_jit_table__find(t, 0x1110, 990 * MS, &n));
	assert_int_equal(n.from_ns, 970 * MS);
}

static void changes_are_reported_once(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;

	add(t, 0x1000, 0x100, 0, "a");
	add(t, 0x2000, 0x100, 0, "unasked");
	names(t, 0x1000, 5 * MS, "a");
	assert_false(tapir_jit_table__next_changed(t, &n));
	add(t, 0x1000, 0x40, 5000 * MS, "b");
	add(t, 0x1040, 0x40, 5010 * MS, "c");
	add(t, 0x2000, 0x40, 5010 * MS, "d");
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "a", 1);
	assert_int_equal(n.until_ns, 5000 * MS);
	/* whoever took its addresses, not only the first of them */
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "c", 1);
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "b", 1);
	assert_false(tapir_jit_table__next_changed(t, &n));
	/* later takers, too; they may have ended themselves by then */
	add(t, 0x1080, 0x10, 5050 * MS, "e");
	add(t, 0x1080, 0x10, 5060 * MS, "f");
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "f", 1);
	assert_true(tapir_jit_table__next_changed(t, &n));
	assert_memory_equal(n.name, "e", 1);
	assert_int_equal(n.until_ns, 5060 * MS);
	assert_false(tapir_jit_table__next_changed(t, &n));
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	struct tapir_jit_table *t = *state;

	assert_int_equal(add(t, 0x1000, 0, 0, "none"), -EINVAL);
	assert_int_equal(add(t, 0x1000, UINT64_MAX, 0, "all"), -EINVAL);
	assert_int_equal(add(t, 0x1000, TAPIR_JIT_MAX_CODE_BYTES + 1, 0, "much"), -EINVAL);
	assert_int_equal(add(t, UINT64_MAX - 10, 11, 0, "wraps"), -EINVAL);
	assert_int_equal(add(t, UINT64_MAX - 10, 10, 0, "last"), 1);
	assert_int_equal(add(t, 0, 16, 0, "zero"), 1);
	names(t, UINT64_MAX - 1, 1, "last");
	names(t, UINT64_MAX, 1, NULL);
	names(t, 0, 1, "zero");
	assert_int_equal(tapir_jit_table__refused(t), 4);
}

static void long_name_is_cut(void **state)
{
	struct tapir_jit_name n;
	char *name = malloc(100000);

	memset(name, 'x', 99999);
	name[99999] = '\0';
	assert_int_equal(add(*state, 0x1000, 16, 0, name), 1);
	assert_int_equal(add(*state, 0x1000, 16, 5, name), 0);
	assert_true(tapir_jit_table__find(*state, 0x1000, 1, &n));
	assert_int_equal(n.name_len, TAPIR_JIT_MAX_NAME_BYTES);
	free(name);
}

/* ---- compared with a simple table ------------------------------------------ */

#define MODEL_CNT 4000

struct model {
	uint64_t start, end, from, until;
	unsigned id;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static void model_add(struct model *all, unsigned *cnt, const struct model *n)
{
	for (unsigned i = 0; i < *cnt; i++) {
		struct model *m = &all[i];

		if (m->start < n->end && m->end > n->start && m->until > n->from)
			m->until = n->from;
	}
	all[(*cnt)++] = *n;
}

static void names_in_order_of_time_are_found_as_by_looking_at_all(void **state)
{
	struct model *all = calloc(MODEL_CNT, sizeof(*all));
	uint64_t seed = 42, now = 1000 * MS;
	unsigned cnt = 0, hit_cnt = 0;
	char name[16];

	for (unsigned i = 0; i < MODEL_CNT; i++) {
		uint64_t start = 0x1000 + next_random(&seed) % 0x8000;
		uint64_t size = 1 + next_random(&seed) % (i % 50 ? 0x40 : 0x1000);
		struct model n = {start, start + size, now, UINT64_MAX, i};

		now += 200 * MS; /* further apart than a name may be late */
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(add(*state, start, size, n.from, name), 1);
		model_add(all, &cnt, &n);
		for (unsigned k = 0; k < 20; k++) {
			uint64_t va = 0x1000 + next_random(&seed) % 0x9000;
			uint64_t time = now - next_random(&seed) % (i + 1) * 200 * MS;
			const struct model *want = NULL;
			struct tapir_jit_name got;
			bool found;

			for (unsigned j = 0; j < cnt; j++)
				if (all[j].start <= va && va < all[j].end && all[j].from <= time &&
				    time < all[j].until)
					want = &all[j];
			found = tapir_jit_table__find(*state, va, time, &got);
			assert_int_equal(found, want != NULL);
			if (!found)
				continue;
			hit_cnt++;
			assert_int_equal(got.start_va, want->start);
			assert_int_equal(got.from_ns, want->from);
			/* it has a length, and no end of its own */
			snprintf(name, sizeof(name), "%.*s", (int)got.name_len, got.name);
			assert_int_equal(atoi(name), want->id);
		}
	}
	assert_true(hit_cnt > MODEL_CNT);
	free(all);
}

/* In any order of time: whatever comes, no two names hold at one place and time. */
static void no_two_names_hold_at_one_place_and_time(void **state)
{
	uint64_t seed = 7;
	char name[16];

	for (unsigned i = 0; i < 3000; i++) {
		uint64_t va = 0x1000 + next_random(&seed) % 0x400;
		uint64_t time = next_random(&seed) % 50 * 20 * MS;
		struct tapir_jit_name a, b;

		snprintf(name, sizeof(name), "%u", i);
		add(*state, va, 1 + next_random(&seed) % 0x40,
		    next_random(&seed) % 8 ? next_random(&seed) % 50 * 20 * MS : 0, name);
		if (i % 7 == 0)
			tapir_jit_table__end(*state, va, time);
		va = 0x1000 + next_random(&seed) % 0x400;
		if (!tapir_jit_table__find(*state, va, time, &a))
			continue;
		/* from every address of it, at its first and last moment */
		for (uint64_t at = a.start_va; at < a.start_va + a.size; at++) {
			assert_true(tapir_jit_table__find(*state, at, a.from_ns, &b));
			assert_int_equal(b.start_va, a.start_va);
			assert_int_equal(b.from_ns, a.from_ns);
			assert_true(tapir_jit_table__find(
				*state, at, a.until_ns ? a.until_ns - 1 : UINT64_MAX, &b));
			assert_int_equal(b.start_va, a.start_va);
			assert_int_equal(b.from_ns, a.from_ns);
		}
	}
}

/* ---- much ------------------------------------------------------------------------------------ */

static void ten_million_names_stay_within_bounds(void **state)
{
	struct tapir_jit_table *t = *state;
	struct tapir_jit_name n;
	int err = 0;
	char name[64];

	for (uint64_t i = 0; i < 10000000 && err >= 0; i++) {
		snprintf(name, sizeof(name), "a hostile name of some length, number %llu",
			 (unsigned long long)i);
		err = add(t, i << 24, 1 << 24, 0, name);
	}
	assert_int_equal(err, -ENOSPC);
	assert_true(tapir_jit_table__bytes(t) < TAPIR_JIT_TABLE_MAX_BYTES + (1 << 20));
	assert_int_equal(tapir_jit_table__refused(t), 1);
	assert_true(tapir_jit_table__is_full(t));
	assert_true(tapir_jit_table__find(t, 12345ull << 24, 1, &n));
}

static void long_recording_forgets_what_ended_long_ago(void **state)
{
	struct tapir_jit_table *t = *state;
	uint64_t now = MS;
	char name[64];

	/* 4 million names at 20,000 addresses in an hour: 300 MB, if all were kept */
	add(t, 0x10, 8, now, "resident");
	for (uint64_t i = 0; i < 4000000; i++, now += MS) {
		snprintf(name, sizeof(name), "a function of some length, number %llu",
			 (unsigned long long)i);
		assert_int_equal(add(t, 0x1000 + i * 7919 % 20000 * 64, 64, now, name), 1);
	}
	assert_true(tapir_jit_table__bytes(t) < TAPIR_JIT_TABLE_MAX_BYTES + (1 << 20));
	names(t, 0x10, now, "resident");
	names(t, 0x1000 + 3999999ull * 7919 % 20000 * 64, now, name);
	assert_int_equal(tapir_jit_table__refused(t), 0);
	assert_false(tapir_jit_table__is_full(t));
}

/* A name that overlaps all others: the work for one name is bounded all the same. */
static void names_that_overlap_everything_cost_little(void **state)
{
	struct tapir_jit_table *t = *state;
	char name[32];

	for (unsigned i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_equal(add(t, 0x100000 + i * 16, 16, 1000, name), 1);
	}
	for (unsigned i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "all %u", i);
		add(t, 0x1000 + i, 1 << 30, 0, name);
	}
	assert_true(tapir_jit_table__refused(t) > 190000);
	assert_false(tapir_jit_table__is_full(t));
	names(t, 0x100000, 1000, "0");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_address_bears_three_names_in_three_periods),
		CASE(one_address_bears_a_thousand_names),
		CASE(what_is_known_changes_nothing),
		CASE(picture_of_the_start_fills_only_what_is_not_known),
		CASE(late_name_of_a_time_ends_who_held_then),
		CASE(last_of_one_batch_wins),
		CASE(name_that_was_given_out_keeps_its_moment),
		CASE(unloaded_code_has_no_name),
		CASE(who_takes_an_address_late_is_reported),
		CASE(who_came_after_a_name_that_is_asked_for_late_is_reported),
		CASE(moved_code_keeps_its_name),
		CASE(code_that_ran_before_its_name_has_it),
		CASE(earlier_time_of_a_name_that_was_given_out_is_a_name_of_its_own),
		CASE(earlier_time_is_not_another_names),
		CASE(changes_are_reported_once),
		CASE(sizes_that_cannot_be_are_refused),
		CASE(long_name_is_cut),
		CASE(names_in_order_of_time_are_found_as_by_looking_at_all),
		CASE(no_two_names_hold_at_one_place_and_time),
		CASE(ten_million_names_stay_within_bounds),
		CASE(long_recording_forgets_what_ended_long_ago),
		CASE(names_that_overlap_everything_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
