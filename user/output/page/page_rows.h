/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * page_rows.h - rows of a page in bounded memory. Marks are moments: samples and events. When there
 * are too many, those of one thread, kind and stack in one cell of time become one mark with a
 * count, so that sums stay whole. Slices last: waits and intervals. When there are too many, the
 * shorter half is dropped and its time counted. For output/page alone.
 */
#ifndef TAPIR_USER_PAGE_ROWS_H
#define TAPIR_USER_PAGE_ROWS_H

#include "base/arena.h"
#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"

/* Marks in cells of more time than that, 18 hours, lose their threads, then their stacks. */
#define TAPIR_PAGE_LAST_CELL_NS (1000000ull << 26)

/* A number of JavaScript is exact up to here; as ns, 104 days. */
#define TAPIR_PAGE_MAX_WIDE	((1ull << 53) - 1)

struct tapir_page_mark {
	uint64_t time_ns; /* since the recording began */
	uint32_t thread, node, kind, text;
	uint32_t weight; /* marks that it stands for */
};

struct tapir_page_marks {
	struct tapir_vec(struct tapir_page_mark) rows;
	size_t max_rows;
	uint64_t cell_ns; /* 0: none were merged */
	bool failed;
};

/* Adds a mark to the cell of its time; cells are merged when there are too many. */
void tapir_page_marks__add(struct tapir_page_marks *marks, const struct tapir_page_mark *mark);

struct tapir_page_slice {
	uint64_t from_ns, took_ns;
	uint64_t part_ns; /* of a wait: it slept; of an interval: its thread ran */
	uint32_t thread, node, kind, label;
	uint32_t other;	 /* thread that ended it; 0: unknown */
	uint32_t is_cut; /* its begin or end is not in the recording */
};

struct tapir_page_slices {
	struct tapir_vec(struct tapir_page_slice) rows;
	size_t max_rows;
	uint64_t least_ns;	    /* shorter ones are dropped */
	uint64_t left_cnt, left_ns; /* those that were */
	bool failed;
};

/* Adds a slice; when there are too many, the shorter half is dropped and counted. */
void tapir_page_slices__add(struct tapir_page_slices *slices, const struct tapir_page_slice *slice);
void tapir_page_slices__sort(struct tapir_page_slices *slices); /* by time */

/* Texts by number; 0: none, or there was no room. */
struct tapir_page_texts {
	struct tapir_arena arena; /* with the bound */
	struct tapir_map by_hash;
	struct tapir_vec(const char *) all; /* without number 0 */
	uint64_t left_cnt;
	bool failed;
};

/*
 * Returns the number of a text, which is added if it is new. __write writes all of them as an
 * array; __fini frees them.
 */
uint32_t tapir_page_texts__number(struct tapir_page_texts *texts, const char *text, size_t len);
void tapir_page_texts__write(const struct tapir_page_texts *texts, const char *key,
			     struct tapir_json *j);
void tapir_page_texts__fini(struct tapir_page_texts *texts);

/* A member of rows that is written as a column. */
struct tapir_page_column {
	const char *key; /* NULL ends the list */
	size_t offset;
	bool is_wide; /* uint64_t, else uint32_t */
};

/*
 * Writes {"cnt":N,"KEY":"BASE64",...}: numbers in seven bits a byte, the lowest first, the eighth
 * bit where more follow; of a wide column the difference to the row before, times two, minus one if
 * it is negative. None is above TAPIR_PAGE_MAX_WIDE.
 */
void tapir_page_columns__write(struct tapir_json *j, const char *key, const void *rows,
			       size_t row_bytes, size_t cnt,
			       const struct tapir_page_column *columns);

#endif
