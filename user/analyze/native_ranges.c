// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sorted array: ranges that follow each other and have one owner are one, so a heap that grows in
 * a thousand steps needs a single element.
 */
#include "analyze/native_ranges.h"

#include <string.h>

/* The first range that ends after va. */
static size_t first_after(const struct tapir_native_ranges *r, uint64_t va)
{
	size_t from = 0, to = r->all.cnt;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (r->all.data[middle].end_va <= va)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void insert_at(struct tapir_native_ranges *r, size_t idx, struct tapir_native_range range)
{
	struct tapir_native_range *at;

	if (r->all.cnt >= TAPIR_NATIVE_RANGES_MAX) {
		r->more++;
		return;
	}
	if (!tapir_vec__push(&r->all, range)) {
		r->failed = true;
		return;
	}
	at = &r->all.data[idx];
	memmove(at + 1, at, (r->all.cnt - 1 - idx) * sizeof(*at));
	*at = range;
}

static void remove_at(struct tapir_native_ranges *r, size_t idx, size_t cnt)
{
	struct tapir_native_range *at = &r->all.data[idx];

	memmove(at, at + cnt, (r->all.cnt - idx - cnt) * sizeof(*at));
	r->all.cnt -= cnt;
}

/* A range begins or ends at va: no range has it in its middle. */
static void split_at(struct tapir_native_ranges *r, uint64_t va)
{
	size_t idx = first_after(r, va), cnt = r->all.cnt;
	struct tapir_native_range upper;

	if (idx == r->all.cnt || r->all.data[idx].start_va >= va)
		return;
	upper = r->all.data[idx];
	upper.start_va = va;
	insert_at(r, idx + 1, upper);
	if (r->all.cnt > cnt)
		r->all.data[idx].end_va = va;
}

void tapir_native_ranges__unmap(struct tapir_native_ranges *r, uint64_t start_va, uint64_t end_va)
{
	size_t idx, cnt = 0;

	if (end_va <= start_va)
		return;
	split_at(r, start_va);
	split_at(r, end_va);
	idx = first_after(r, start_va);
	while (idx + cnt < r->all.cnt && r->all.data[idx + cnt].start_va >= start_va &&
	       r->all.data[idx + cnt].end_va <= end_va)
		cnt++;
	if (cnt)
		remove_at(r, idx, cnt);
}

static bool is_continued_by(const struct tapir_native_range *a, const struct tapir_native_range *b)
{
	return a->end_va == b->start_va && a->owner == b->owner &&
	       a->is_accessible == b->is_accessible;
}

void tapir_native_ranges__map(struct tapir_native_ranges *r, struct tapir_native_range range)
{
	size_t idx;

	if (range.end_va <= range.start_va)
		return;
	tapir_native_ranges__unmap(r, range.start_va, range.end_va);
	idx = first_after(r, range.start_va);
	if (idx && is_continued_by(&r->all.data[idx - 1], &range))
		r->all.data[idx - 1].end_va = range.end_va;
	else
		insert_at(r, idx, range);
}

uint64_t tapir_native_ranges__protect(struct tapir_native_ranges *r,
				      struct tapir_native_range range)
{
	uint64_t became = 0;

	if (range.end_va <= range.start_va)
		return 0;
	split_at(r, range.start_va);
	split_at(r, range.end_va);
	for (size_t i = first_after(r, range.start_va);
	     i < r->all.cnt && r->all.data[i].end_va <= range.end_va; i++) {
		struct tapir_native_range *at = &r->all.data[i];

		if (range.is_accessible && !at->is_accessible) {
			became += at->end_va - at->start_va;
			at->owner = range.owner;
		}
		at->is_accessible = range.is_accessible;
	}
	return became;
}

uint64_t tapir_native_ranges__known(const struct tapir_native_ranges *r, uint64_t start_va,
				    uint64_t end_va, uint64_t *accessible)
{
	uint64_t known = 0;

	*accessible = 0;
	for (size_t i = first_after(r, start_va);
	     i < r->all.cnt && r->all.data[i].start_va < end_va; i++) {
		const struct tapir_native_range *at = &r->all.data[i];
		uint64_t from = at->start_va > start_va ? at->start_va : start_va;
		uint64_t to = at->end_va < end_va ? at->end_va : end_va;

		known += to - from;
		*accessible += at->is_accessible ? to - from : 0;
	}
	return known;
}

void tapir_native_ranges__fini(struct tapir_native_ranges *r)
{
	tapir_vec__fini(&r->all);
}
