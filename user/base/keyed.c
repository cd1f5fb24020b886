// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows are sorted by their indexes, which break ties, and are moved once. The slots of the map,
 * which is not needed any longer, hold the indexes: rows are in order even where memory is short.
 */
#include "base/keyed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct order {
	const char *rows;
	size_t row_bytes;
	int (*compare)(const void *, const void *);
};

static int by_row(const void *a, const void *b, void *ctx)
{
	const struct tapir_map_slot *x = a, *y = b;
	const struct order *o = ctx;
	int order =
		o->compare(o->rows + x->value * o->row_bytes, o->rows + y->value * o->row_bytes);

	return order ? order : (x->value > y->value) - (x->value < y->value);
}

static void swap(char *a, char *b, size_t bytes)
{
	char kept[64];

	for (size_t len; bytes; bytes -= len, a += len, b += len) {
		len = bytes < sizeof(kept) ? bytes : sizeof(kept);
		memcpy(kept, a, len);
		memcpy(a, b, len);
		memcpy(b, kept, len);
	}
}

/* Row i becomes the one that was at slots[i].value. Each swap puts one at its place. */
static void move_rows(char *rows, size_t cnt, size_t row_bytes, struct tapir_map_slot *slots)
{
	for (size_t i = 0; i < cnt; i++) {
		size_t to = i;

		while (slots[to].value != i) {
			size_t from = slots[to].value;

			swap(rows + to * row_bytes, rows + from * row_bytes, row_bytes);
			slots[to].value = to;
			to = from;
		}
		slots[to].value = to;
	}
}

void tapir_keyed__sort_rows(void *rows, size_t cnt, size_t row_bytes, struct tapir_map *idx_by_key,
			    int (*compare)(const void *, const void *))
{
	struct order order = {rows, row_bytes, compare};

	assert(cnt <= idx_by_key->cap); /* no key was forgotten */
	for (size_t i = 0; i < cnt; i++)
		idx_by_key->slots[i].value = i;
	if (cnt)
		qsort_r(idx_by_key->slots, cnt, sizeof(*idx_by_key->slots), by_row, &order);
	move_rows(rows, cnt, row_bytes, idx_by_key->slots);
	idx_by_key->cnt = 0;
	if (cnt)
		memset(idx_by_key->slots, 0, idx_by_key->cap * sizeof(*idx_by_key->slots));
}
