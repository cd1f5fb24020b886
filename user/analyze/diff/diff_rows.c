// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of a recording, by the hash of their kind and name. A histogram for each row would be mostly
 * empty, since the values of a row are in few steps of base/histogram.h: all rows share one map,
 * whose key is a row and a step.
 */
#include "analyze/diff/diff_rows.h"

#include <stdlib.h>
#include <string.h>

#define STEPS (60 * TAPIR_HISTOGRAM_STEPS)

static uint64_t diff_row_key(enum tapir_diff_kind kind, const char *name, size_t len)
{
	return tapir_hash__mix(tapir_hash__bytes(kind + 1, name, len), len);
}

const struct tapir_diff_row *tapir_diff_rows__find(const struct tapir_diff_rows *rows,
						   enum tapir_diff_kind kind, const char *name)
{
	return tapir_keyed__get(&rows->rows, diff_row_key(kind, name, strlen(name)));
}

size_t tapir_diff_rows__idx(struct tapir_diff_rows *rows, enum tapir_diff_kind kind,
			    const char *name, size_t len)
{
	uint64_t key = diff_row_key(kind, name, len);
	struct tapir_diff_row *row = tapir_keyed__add(&rows->rows, key, TAPIR_DIFF_MAX_ROWS,
						      ((struct tapir_diff_row){.kind = kind}));

	if (row && !row->name) {
		row->name = strndup(name, len);
		if (!row->name) {
			tapir_keyed__undo(&rows->rows, key);
			row = NULL;
		}
	}
	rows->more += !row;
	rows->failed |= rows->rows.failed;
	return row ? (size_t)(row - rows->rows.data) : TAPIR_DIFF_NO_ROW;
}

/* Returns how far into the time a moment is, in parts; it may be outside. */
static double parts_until(const struct tapir_diff_rows *rows, uint64_t at_ns)
{
	double span = (double)(rows->until_ns - rows->from_ns);

	return ((double)at_ns - (double)rows->from_ns) * TAPIR_DIFF_PARTS / (span > 0 ? span : 1);
}

static unsigned part_of(const struct tapir_diff_rows *rows, uint64_t at_ns)
{
	double position = parts_until(rows, at_ns);

	return position <= 0		     ? 0
	       : position < TAPIR_DIFF_PARTS ? (unsigned)position
					     : TAPIR_DIFF_PARTS - 1;
}

void tapir_diff_rows__add(struct tapir_diff_rows *rows, size_t idx, uint64_t at_ns, double value)
{
	unsigned part = part_of(rows, at_ns);
	struct tapir_diff_row *row;

	if (idx >= rows->rows.cnt)
		return;
	row = &rows->rows.data[idx];
	row->cnt++;
	row->cnts[part]++;
	row->sums[part] += value;
	row->max = row->cnt == 1 || value > row->max ? value : row->max;
}

void tapir_diff_rows__spread(struct tapir_diff_rows *rows, size_t idx, uint64_t from_ns,
			     uint64_t until_ns)
{
	double from = parts_until(rows, from_ns), until = parts_until(rows, until_ns), width;

	if (idx >= rows->rows.cnt)
		return;
	width = (double)(rows->until_ns - rows->from_ns) / TAPIR_DIFF_PARTS;
	tapir_diff_rows__add(rows, idx, until_ns, 0);
	for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++) {
		double low = from > i ? from : i, high = until < i + 1 ? until : i + 1;

		if (high > low)
			rows->rows.data[idx].sums[i] += (high - low) * width;
	}
	if ((double)(until_ns - from_ns) > rows->rows.data[idx].max)
		rows->rows.data[idx].max = (double)(until_ns - from_ns);
}

static uint64_t step_key(size_t idx, unsigned quarter, unsigned step)
{
	return ((uint64_t)idx * TAPIR_DIFF_QUARTERS + quarter) * STEPS + step;
}

void tapir_diff_rows__took(struct tapir_diff_rows *rows, size_t idx, uint64_t at_ns,
			   uint64_t took_ns)
{
	unsigned quarter = part_of(rows, at_ns) / (TAPIR_DIFF_PARTS / TAPIR_DIFF_QUARTERS);
	uint64_t key = step_key(idx, quarter, tapir_histogram__step(took_ns)), *cnt;

	if (idx >= rows->rows.cnt)
		return;
	tapir_diff_rows__add(rows, idx, at_ns, (double)took_ns);
	cnt = tapir_map__get(&rows->steps, key);
	if (!cnt && rows->steps.cnt < TAPIR_DIFF_MAX_STEPS) {
		cnt = tapir_map__put(&rows->steps, key, NULL);
		rows->failed |= !cnt;
	}
	if (!cnt) {
		rows->more++;
		return;
	}
	++*cnt;
	rows->rows.data[idx].timed_cnt++;
}

void tapir_diff_rows__times(const struct tapir_diff_rows *rows, const struct tapir_diff_row *row,
			    struct tapir_histogram out[TAPIR_DIFF_QUARTERS])
{
	size_t idx = (size_t)(row - rows->rows.data);

	memset(out, 0, sizeof(*out) * TAPIR_DIFF_QUARTERS);
	for (unsigned q = 0; row->timed_cnt && q < TAPIR_DIFF_QUARTERS; q++)
		for (unsigned step = 0; step < STEPS; step++) {
			const uint64_t *cnt = tapir_map__get(&rows->steps, step_key(idx, q, step));

			out[q].counts[step] = cnt ? *cnt : 0;
			out[q].cnt += out[q].counts[step];
			out[q].max = (uint64_t)row->max;
		}
}

void tapir_diff_rows__fini(struct tapir_diff_rows *rows)
{
	struct tapir_diff_row *row;

	tapir_vec_for_each (row, &rows->rows)
		free(row->name);
	tapir_keyed__fini(&rows->rows);
	tapir_map__fini(&rows->steps);
}
