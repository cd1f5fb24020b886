// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See dotnet_native.h. Three structures on top of each other: numbers, sparse arrays of numbers,
 * and hash tables whose entries are offsets.
 */
#include "symbol/dotnet_native.h"

#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/*
 * A number has as many bytes as the lowest one has ones at its end, and one; the bits above them,
 * or, of five bytes, the four others, are its value.
 */
size_t tapir_native__number(const struct tapir_native *b, size_t at, uint32_t *out)
{
	uint64_t value = 0;
	unsigned cnt;

	if (at >= b->len)
		return 0;
	cnt = (unsigned)__builtin_ctz(~(uint32_t)b->data[at]) + 1;
	if (cnt > 5 || b->len - at < cnt)
		return 0;
	memcpy(&value, b->data + at, cnt);
	*out = (uint32_t)(value >> (cnt == 5 ? 8 : cnt));
	return at + cnt;
}

/* The same with a sign. */
static size_t take_distance(const struct tapir_native *b, size_t at, int64_t *out)
{
	uint32_t value;
	size_t next = tapir_native__number(b, at, &value);
	unsigned bits = next - at < 5 ? 7 * (unsigned)(next - at) : 32;

	if (next)
		*out = (int64_t)value - (int64_t)((uint64_t)(value >> (bits - 1)) << bits);
	return next;
}

/* ---- sparse arrays --------------------------------------------------------------------------- */

bool tapir_native_array__init(struct tapir_native_array *array, const struct tapir_native *b)
{
	uint32_t head;
	size_t base = tapir_native__number(b, 0, &head);

	if (!base)
		return false;
	*array = (struct tapir_native_array){
		.bytes = b, .base = base, .width_log = head & 3, .cnt = head >> 2};
	return true;
}

/* The offset at which the tree for the block of 16 with idx begins. */
static size_t block_of(const struct tapir_native_array *array, uint32_t idx)
{
	const struct tapir_native *b = array->bytes;
	size_t width = (size_t)1 << array->width_log, at = array->base + width * (idx / 16);
	uint32_t off = 0;

	if (width > 4 || at > b->len || b->len - at < width)
		return 0;
	memcpy(&off, b->data + at, width);
	return array->base + off;
}

/*
 * In a node, bit 0 means that a left half follows, bit 1 that a right half is that far from it;
 * with neither it is a leaf, of that element.
 */
size_t tapir_native_array__find(const struct tapir_native_array *array, uint32_t idx)
{
	size_t at = block_of(array, idx);

	for (uint32_t bit = 8; at && bit; bit /= 2) {
		uint32_t node;
		size_t next = tapir_native__number(array->bytes, at, &node);

		if (!next)
			return 0;
		if (!(node & 3))
			return node >> 2 == (idx & 15) ? next : 0;
		if (!(node & (idx & bit ? 2 : 1)))
			return 0;
		at = idx & bit ? at + (node >> 2) : next;
	}
	return at;
}

/* ---- hash tables ----------------------------------------------------------------------------- */

/* The first byte: the width of the buckets' places, and how many buckets there are. */
struct table {
	const struct tapir_native *bytes;
	size_t width, bucket_cnt;
};

#define TABLE_BASE 1u

/* The offset at which the bucket begins, which is where the one before it ends. */
static size_t bucket_at(const struct table *table, size_t bucket)
{
	size_t at = TABLE_BASE + bucket * table->width;
	uint32_t off = 0;

	if (at > table->bytes->len || table->bytes->len - at < table->width)
		return 0;
	memcpy(&off, table->bytes->data + at, table->width);
	return TABLE_BASE + off;
}

/* An entry: a byte of the hash, and the distance from the end of that byte to the element. */
static size_t take_entry(const struct table *table, size_t at, size_t *element)
{
	int64_t distance, target;
	size_t next = take_distance(table->bytes, at + 1, &distance);

	target = (int64_t)at + 1 + (next ? distance : 0);
	if (!next || target <= 0 || (uint64_t)target >= table->bytes->len)
		return 0;
	*element = (size_t)target;
	return next;
}

bool tapir_native_table__each(const struct tapir_native *b, size_t max, tapir_native_fn fn,
			      void *ctx)
{
	struct table table = {.bytes = b};

	if (!b->len || b->data[0] >> 2 > 24 || (b->data[0] & 3) > 2)
		return false;
	table.width = (size_t)1 << (b->data[0] & 3);
	table.bucket_cnt = (size_t)1 << (b->data[0] >> 2);
	for (size_t i = 0; i < table.bucket_cnt; i++) {
		size_t at = bucket_at(&table, i), end = bucket_at(&table, i + 1), element;

		if (!at || !end)
			return false;
		while (at < end) {
			at = take_entry(&table, at, &element);
			if (!at || !max-- || !fn(element, ctx))
				return false;
		}
	}
	return true;
}
