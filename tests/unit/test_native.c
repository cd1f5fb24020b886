// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of allocations, ranges of addresses, and the view "native-memory" of made-up records. */
#include "view_fixture.h"

#include <math.h>
#include <string.h>

#include "analyze/native_ranges.h"
#include "attach/native_draws.h"
#include "bpf/native_logic.bpf.h"

#define MEAN  524288u
#define PAGE  4096u
#define PAGES 64u
#define BASE  0x10000000ull

/* ---- samples --------------------------------------------------------------------------------- */

static unsigned long long draws[TAPIR_NATIVE_DRAWS + 1];

/* A generator with a period, whose bits are as good as those of the kernel's for this. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 32);
}

static void block_is_sampled_with_the_chance_of_its_size(void **state)
{
	static const unsigned sizes[] = {4096, 65536, 524288, 4u << 20};
	uint64_t random = 1;

	(void)state;
	tapir_native__fill_draws(draws, MEAN);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		double p = -expm1(-(double)sizes[s] / MEAN);
		unsigned cnt = 200000, hits = 0;
		long long left = (long long)tapir_native__draw(draws, next_random(&random));

		for (unsigned i = 0; i < cnt; i++) {
			left -= sizes[s];
			if (left > 0)
				continue;
			hits++;
			left = (long long)tapir_native__draw(draws, next_random(&random));
		}
		assert_true(fabs(hits - cnt * p) <= 4 * sqrt(cnt * p * (1 - p)) + 1);
	}
}

static void each_block_is_sampled_when_the_mean_is_a_byte(void **state)
{
	uint64_t random = 7;

	(void)state;
	tapir_native__fill_draws(draws, 1);
	for (unsigned i = 0; i < 10000; i++)
		assert_in_range(tapir_native__draw(draws, next_random(&random)), 1, 16);
}

static void product_that_overflows_is_none(void **state)
{
	(void)state;
	assert_int_equal(tapir_native__product(16, 512), 8192);
	assert_int_equal(tapir_native__product(0, UINT64_MAX), 0);
	assert_int_equal(tapir_native__product(UINT64_MAX, 0), 0);
	assert_int_equal(tapir_native__product(1ull << 32, 1ull << 32), 0);
	assert_int_equal(tapir_native__product(UINT64_MAX, 2), 0);
	assert_true(tapir_native__product(5000000000ull, 1) == 5000000000ull);
}

/* ---- ranges ---------------------------------------------------------------------------------- */

struct page {
	bool is_known, is_accessible;
	uint32_t owner;
};

static void check_pages(const struct tapir_native_ranges *r, const struct page *pages)
{
	for (unsigned i = 0; i < PAGES; i++) {
		uint64_t va = BASE + i * PAGE, used, known;

		known = tapir_native_ranges__known(r, va, va + PAGE, &used);
		assert_int_equal(known, pages[i].is_known ? PAGE : 0);
		assert_int_equal(used, pages[i].is_known && pages[i].is_accessible ? PAGE : 0);
	}
	for (size_t i = 0; i < r->all.cnt; i++) {
		const struct tapir_native_range *at = &r->all.data[i];

		assert_true(at->start_va < at->end_va);
		assert_true(!i || at[-1].end_va <= at->start_va);
		for (uint64_t va = at->start_va; va < at->end_va; va += PAGE)
			assert_int_equal(pages[(va - BASE) / PAGE].owner, at->owner);
	}
}

/* What a table of pages says of the same steps. */
static void ranges_are_those_of_pages(void **state)
{
	struct tapir_native_ranges r = {};
	struct page pages[PAGES] = {};
	uint64_t random = 3;

	(void)state;
	for (unsigned step = 0; step < 5000; step++) {
		unsigned from = next_random(&random) % PAGES;
		unsigned cnt = next_random(&random) % (PAGES - from + 1);
		unsigned what = next_random(&random) % 4;
		struct tapir_native_range range = {.start_va = BASE + from * PAGE,
						   .end_va = BASE + (from + cnt) * PAGE,
						   .owner = next_random(&random) % 3,
						   .is_accessible = next_random(&random) % 2};
		uint64_t became = 0;

		for (unsigned i = from; i < from + cnt; i++) {
			struct page *p = &pages[i];
			bool becomes = p->is_known && range.is_accessible && !p->is_accessible;

			if (what == 0)
				*p = (struct page){true, range.is_accessible, range.owner};
			else if (what == 1)
				*p = (struct page){};
			else if (becomes)
				p->owner = range.owner;
			if (what > 1 && p->is_known) {
				became += becomes ? PAGE : 0;
				p->is_accessible = range.is_accessible;
			}
		}
		if (what == 0)
			tapir_native_ranges__map(&r, range);
		else if (what == 1)
			tapir_native_ranges__unmap(&r, range.start_va, range.end_va);
		else
			assert_int_equal(tapir_native_ranges__protect(&r, range), became);
		check_pages(&r, pages);
	}
	assert_false(r.failed);
	tapir_native_ranges__fini(&r);
}

static void heap_that_grows_is_one_range(void **state)
{
	struct tapir_native_ranges r = {};

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		tapir_native_ranges__map(&r, (struct tapir_native_range){BASE + i * PAGE,
									 BASE + (i + 1) * PAGE, 1,
									 true});
	assert_int_equal(r.all.cnt, 1);
	/* Of a damaged file: ends before it begins. */
	tapir_native_ranges__map(&r, (struct tapir_native_range){UINT64_MAX, 5, 1, true});
	tapir_native_ranges__unmap(&r, 7, 3);
	assert_int_equal(r.all.cnt, 1);
	tapir_native_ranges__fini(&r);
}

/* ---- the view -------------------------------------------------------------------------------- */

#define USED (TAPIR_NATIVE_ANONYMOUS | TAPIR_NATIVE_ACCESSIBLE)

static void feed(struct tapir_rec_native rec, enum tapir_native_kind kind, uint8_t flags,
		 uint64_t ms)
{
	rec.tgid = rec.tid = 5;
	rec.kind = (uint8_t)kind;
	rec.flags = flags;
	tapir_rec__init(&rec.h, TAPIR_REC_NATIVE, sizeof(rec), ms * MS);
	feeder_add(&f, &rec.h);
}

static void feed_block(enum tapir_native_kind kind, uint64_t va, uint64_t bytes, uint64_t mean,
		       uint64_t ms)
{
	feed((struct tapir_rec_native){.va = va, .bytes = bytes, .mean_bytes = mean}, kind, 0, ms);
}

static void feed_range(enum tapir_native_kind kind, uint64_t va, uint64_t bytes, uint8_t flags,
		       uint64_t ms)
{
	feed((struct tapir_rec_native){.va = va, .bytes = bytes}, kind, flags, ms);
}

static void feed_remap(uint64_t old_va, uint64_t old_bytes, uint64_t va, uint64_t bytes,
		       uint64_t ms)
{
	feed(
		(struct tapir_rec_native){
			.va = va, .bytes = bytes, .old_va = old_va, .old_bytes = old_bytes},
		TAPIR_NATIVE_REMAP, USED, ms);
}

static uint64_t number(const char *key, size_t row, const char *column)
{
	return cell(table(key, 0), row, column)->u64;
}

static void sample_stands_for_blocks_of_its_size(void **state)
{
	(void)state;
	ask("native-memory", 0);
	feed_block(TAPIR_NATIVE_ALLOC, 0x1000, MEAN, MEAN, 1);
	feed_block(TAPIR_NATIVE_ALLOC, 0x2000, MEAN, MEAN, 2);
	feed_block(TAPIR_NATIVE_FREE, 0x2000, MEAN, MEAN, 3);
	/* Its allocation is not in this part of the recording. */
	feed_block(TAPIR_NATIVE_FREE, 0x9000, MEAN, MEAN, 4);
	assert_int_equal(answer(), 0);
	assert_int_equal(number("malloc", 0, "samples"), 2);
	assert_int_equal(number("malloc", 0, "bytes"), (uint64_t)(2 * MEAN / (1 - exp(-1)) + 0.5));
	assert_int_equal(number("malloc", 0, "used_bytes"), (uint64_t)(MEAN / (1 - exp(-1)) + 0.5));
	assert_int_equal(number("malloc", 0, "used"), 2); /* 1.58 */
	assert_non_null(strstr(result.headline.data, "+0.8 MB in "));
	assert_non_null(strstr(result.headline.data, ", 2 blocks still in use"));
}

static void mappings_count_as_long_as_they_are_accessible(void **state)
{
	(void)state;
	ask("native-memory", 0);
	feed_range(TAPIR_NATIVE_MAP, BASE, 16 * PAGE, USED, 1);
	feed_range(TAPIR_NATIVE_UNMAP, BASE + PAGE, 2 * PAGE, 0, 2);
	feed_range(TAPIR_NATIVE_MAP, 2 * BASE, 64 * PAGE, TAPIR_NATIVE_ANONYMOUS, 3);
	feed_range(TAPIR_NATIVE_PROTECT, 2 * BASE, 4 * PAGE, TAPIR_NATIVE_ACCESSIBLE, 4);
	feed_range(TAPIR_NATIVE_PROTECT, 2 * BASE, PAGE, 0, 5);
	/* Moved, and twice as large; what was not known grows by 3 pages. */
	feed_remap(BASE, PAGE, 3 * BASE, 2 * PAGE, 6);
	feed_remap(9 * BASE, 2 * PAGE, 4 * BASE, 5 * PAGE, 7);
	/* A file takes the place of a page. */
	feed_range(TAPIR_NATIVE_MAP, BASE + 15 * PAGE, PAGE, TAPIR_NATIVE_ACCESSIBLE, 8);
	assert_int_equal(answer(), 0);
	assert_int_equal(number("mapped", 0, "used_bytes"), (13 - 1 + 3 + 2 + 3) * PAGE);
	assert_int_equal(number("mapped", 0, "bytes"), (16 + 4 + 2 + 3) * PAGE);
	assert_int_equal(number("mapped", 0, "count"), 4);
}

static void program_that_is_replaced_has_nothing_left(void **state)
{
	(void)state;
	ask("native-memory", 0);
	feed_block(TAPIR_NATIVE_ALLOC, 0x1000, 100, 1, 1);
	feed_range(TAPIR_NATIVE_MAP, BASE, PAGE, USED, 1);
	feed_range(TAPIR_NATIVE_END, 0, 0, TAPIR_NATIVE_EXEC, 2);
	feed_block(TAPIR_NATIVE_ALLOC, 0x1000, 50, 1, 3);
	feed_range(TAPIR_NATIVE_MAP, BASE, 3 * PAGE, USED, 3);
	feed_range(TAPIR_NATIVE_END, 0, 0, 0, 4);
	assert_int_equal(answer(), 0);
	assert_int_equal(number("malloc", 0, "used_bytes"), 50);
	assert_int_equal(number("malloc", 0, "bytes"), 150);
	assert_int_equal(number("mapped", 0, "used_bytes"), 3 * PAGE);
}

static void damaged_records_are_counted_nowhere(void **state)
{
	(void)state;
	ask("native-memory", 0);
	feed_range((enum tapir_native_kind)77, 1, 2, 255, 1);
	feed_range(TAPIR_NATIVE_UNMAP, UINT64_MAX, UINT64_MAX, 0, 2);
	feed_remap(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 3);
	feed_block(TAPIR_NATIVE_ALLOC, 0, 0, MEAN, 4);
	assert_int_equal(answer(), 0);
	assert_int_equal(number("malloc", 0, "used_bytes"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_is_sampled_with_the_chance_of_its_size),
		cmocka_unit_test(each_block_is_sampled_when_the_mean_is_a_byte),
		cmocka_unit_test(product_that_overflows_is_none),
		cmocka_unit_test(ranges_are_those_of_pages),
		cmocka_unit_test(heap_that_grows_is_one_range),
		cmocka_unit_test_setup_teardown(sample_stands_for_blocks_of_its_size, setup,
						teardown),
		cmocka_unit_test_setup_teardown(mappings_count_as_long_as_they_are_accessible,
						setup, teardown),
		cmocka_unit_test_setup_teardown(program_that_is_replaced_has_nothing_left, setup,
						teardown),
		cmocka_unit_test_setup_teardown(damaged_records_are_counted_nowhere, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
