// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows sampled objects through collections, which move them: by the ranges that each collection
 * reports as moved, survived or cleared. Samples are sorted by address when a collection asks for
 * those in a range; of several at one address the last one exists.
 */
#include "heap/heap_follow.h"
#include "base/order.h"

#include <string.h>

#include "decode/byte_input.h"
#include "heap/heap_events.h"

#define NOT_KNOWN      255u
#define OLDEST	       2u
#define LARGE	       3u	    /* its generation, and beyond it the pinned one */
#define BACKGROUND     1u	    /* type of a collection */
#define STEPS_MAX      (1ull << 26) /* samples checked in one collection */
#define SURVIVED_BYTES 16u
#define MOVED_BYTES    24u

void tapir_heap_follow__add(struct tapir_heap_follow *f, const struct tapir_heap_sample *sample)
{
	struct tapir_heap_sample added = *sample;

	f->taken_cnt++;
	f->taken_bytes += sample->bytes;
	added.generation = sample->is_small ? 0 : LARGE;
	added.is_listed = added.is_covered = false;
	added.number = (uint32_t)f->taken_cnt;
	f->is_sorted = false;
	if (f->samples.cnt >= TAPIR_HEAP_MAX_SAMPLES || !tapir_vec__push(&f->samples, added))
		f->is_full = true;
}

/* ---- by address -------------------------------------------------------------------------------- */

static int by_va(const void *a, const void *b)
{
	const struct tapir_heap_sample *x = a, *y = b;

	return tapir_order__up(x->va, y->va) ?: tapir_order__up(x->number, y->number);
}

/* If several samples have one address, the last one exists. */
static void sort_ranges(struct tapir_heap_follow *f)
{
	struct tapir_heap_sample *s = f->samples.data;
	size_t cnt = 0;

	if (f->is_sorted)
		return;
	if (f->samples.cnt)
		qsort(s, f->samples.cnt, sizeof(*s), by_va);
	for (size_t i = 0; i < f->samples.cnt; i++)
		if (i + 1 == f->samples.cnt || s[i].va != s[i + 1].va)
			s[cnt++] = s[i];
	f->samples.cnt = cnt;
	f->is_sorted = true;
}

/* The first one at or after va; idx == cnt: none. */
static size_t first_at(const struct tapir_heap_follow *f, uint64_t va)
{
	return va ? tapir_sorted__upper_bound(f->samples.data, f->samples.cnt, va, va - 1) : 0;
}

/*
 * Finds the idx of the next sample in the range; false: there are no more, or too many were seen.
 */
static bool next_in(struct tapir_heap_follow *f, size_t *idx, uint64_t from_va, uint64_t bytes)
{
	if (*idx >= f->samples.cnt || f->samples.data[*idx].va - from_va >= bytes)
		return false;
	if (++f->steps <= STEPS_MAX)
		return true;
	f->is_full = true;
	return false;
}

static void keep_range(struct tapir_heap_follow *f, uint64_t from_va, uint64_t bytes)
{
	for (size_t i = first_at(f, from_va); next_in(f, &i, from_va, bytes); i++)
		f->samples.data[i].is_kept = true;
}

static void list_objects(struct tapir_heap_follow *f, uint64_t from_va, uint64_t to_va,
			 uint64_t bytes)
{
	for (size_t i = first_at(f, from_va); next_in(f, &i, from_va, bytes); i++) {
		f->samples.data[i].is_listed = true;
		f->samples.data[i].new_va = f->samples.data[i].va - from_va + to_va;
	}
	if (from_va == to_va)
		return;
	for (size_t i = first_at(f, to_va); next_in(f, &i, to_va, bytes); i++)
		f->samples.data[i].is_covered = true;
}

/* ---- collections ------------------------------------------------------------------------------- */

static void start_background(struct tapir_heap_follow *f, uint32_t number)
{
	f->is_in_background = true;
	f->has_background_ranges = false;
	f->background_number = number;
	for (size_t i = 0; i < f->samples.cnt; i++)
		f->samples.data[i].is_old = f->samples.data[i].is_kept = false;
}

static void start_blocking(struct tapir_heap_follow *f, uint32_t number, uint32_t generation)
{
	f->is_collecting = true;
	f->has_ranges = false;
	f->gc_number = number;
	f->gc_generation = generation;
	sort_ranges(f);
	for (size_t i = 0; i < f->samples.cnt; i++)
		f->samples.data[i].is_listed = f->samples.data[i].is_covered = false;
}

/* number, generation, reason, type. */
static bool on_start(struct tapir_heap_follow *f, struct tapir_byte_input *in)
{
	uint32_t number = (uint32_t)tapir_byte_input__le(in, 4),
		 generation = (uint32_t)tapir_byte_input__le(in, 4), type;

	tapir_byte_input__le(in, 4);
	type = (uint32_t)tapir_byte_input__le(in, 4);
	if (in->is_bad)
		return false;
	f->steps = 0;
	if (type == BACKGROUND)
		start_background(f, number);
	else
		start_blocking(f, number, generation);
	return true;
}

/* Returns true if a collection that does not report the object has collected it. */
static bool is_gone(const struct tapir_heap_follow *f, const struct tapir_heap_sample *s)
{
	return f->gc_generation >= OLDEST || s->generation <= f->gc_generation || s->is_covered;
}

static void end_background(struct tapir_heap_follow *f)
{
	size_t cnt = 0;

	f->is_in_background = false;
	if (!f->has_background_ranges)
		return;
	for (size_t i = 0; i < f->samples.cnt; i++)
		if (!f->samples.data[i].is_old || f->samples.data[i].is_kept)
			f->samples.data[cnt++] = f->samples.data[i];
	f->samples.cnt = cnt;
}

static void end_blocking(struct tapir_heap_follow *f)
{
	size_t cnt = 0;

	for (size_t i = 0; i < f->samples.cnt; i++) {
		struct tapir_heap_sample s = f->samples.data[i];

		if (s.is_listed) {
			s.va = s.new_va;
			s.generation = s.is_small ? NOT_KNOWN : LARGE;
		} else if (is_gone(f, &s)) {
			continue;
		}
		f->samples.data[cnt++] = s;
	}
	f->samples.cnt = cnt;
	f->is_sorted = false;
	f->is_collecting = false;
}

static bool on_end(struct tapir_heap_follow *f, struct tapir_byte_input *in)
{
	uint32_t number = (uint32_t)tapir_byte_input__le(in, 4);

	if (in->is_bad)
		return false;
	if (f->is_collecting && number == f->gc_number)
		end_blocking(f);
	else if (f->is_in_background && number == f->background_number)
		end_background(f);
	return true;
}

/* u32 number, u32 count, u16 runtime, ranges. */
static bool on_ranges(struct tapir_heap_follow *f, struct tapir_byte_input *in, bool is_moved)
{
	unsigned one_bytes = is_moved ? MOVED_BYTES : SURVIVED_BYTES;
	uint32_t cnt;

	tapir_byte_input__le(in, 4);
	cnt = (uint32_t)tapir_byte_input__le(in, 4);
	tapir_byte_input__le(in, 2);
	if (in->is_bad || cnt > in->left / one_bytes)
		return false;
	sort_ranges(f);
	if (f->is_collecting)
		f->has_ranges = true;
	else if (f->is_in_background)
		f->has_background_ranges = true;
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t from_va = tapir_byte_input__le(in, 8),
			 to_va = is_moved ? tapir_byte_input__le(in, 8) : from_va;
		uint64_t bytes = tapir_byte_input__le(in, 8);

		if (f->is_collecting)
			list_objects(f, from_va, to_va, bytes);
		else
			keep_range(f, from_va, bytes);
	}
	return true;
}

/*
 * u8 generation, start, u64 used, u64 reserved. Once a collection has reported what it moves, these
 * are of what comes after it, and its objects are not known to be there yet.
 */
static bool on_generation(struct tapir_heap_follow *f, struct tapir_byte_input *in)
{
	uint8_t generation = (uint8_t)tapir_byte_input__le(in, 1);
	uint64_t from_va = tapir_byte_input__le(in, 8), bytes;

	tapir_byte_input__le(in, 8);
	bytes = tapir_byte_input__le(in, 8);
	if (in->is_bad)
		return false;
	if (f->is_collecting && f->has_ranges)
		return true;
	if (!f->is_collecting && !f->is_in_background)
		f->steps = 0;
	sort_ranges(f);
	for (size_t i = first_at(f, from_va); next_in(f, &i, from_va, bytes); i++) {
		f->samples.data[i].generation = generation;
		if (f->is_in_background && !f->is_collecting && !f->has_background_ranges)
			f->samples.data[i].is_old = generation >= OLDEST;
	}
	return true;
}

void tapir_heap_follow__event(struct tapir_heap_follow *f, uint16_t id, const void *payload,
			      size_t len)
{
	struct tapir_byte_input in = {payload, len, false};
	bool is_good = true;

	if (id == TAPIR_HEAP_GC_START)
		is_good = on_start(f, &in);
	else if (id == TAPIR_HEAP_GC_END)
		is_good = on_end(f, &in);
	else if (id == TAPIR_HEAP_SURVIVED || id == TAPIR_HEAP_MOVED)
		is_good = on_ranges(f, &in, id == TAPIR_HEAP_MOVED);
	else if (id == TAPIR_HEAP_GENERATION)
		is_good = on_generation(f, &in);
	f->malformed_cnt += !is_good;
}

void tapir_heap_follow__fini(struct tapir_heap_follow *f)
{
	tapir_vec__fini(&f->samples);
}
