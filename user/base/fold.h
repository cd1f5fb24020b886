/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fold.h - values added up by a key of up to four parts: {key...} -> {count, sum, least, most,
 * histogram} in a bounded room.
 *
 * Nothing is ever cleared: numbers only grow, and an interval is the difference of two readings, so
 * that the sums of all intervals are the totals. What was added up elsewhere, in the kernel, is
 * read anew each time, and is a part of the same rows. A key that finds no room is counted
 * (unkeyed), and so is a value that finds none in its histogram. Keys are compared, not only their
 * hashes: names come from traced programs. One thread.
 */
#ifndef TAPIR_USER_FOLD_H
#define TAPIR_USER_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"

#define TAPIR_FOLD_MAX_KEYS   4
#define TAPIR_FOLD_MAX_VALUES 8
#define TAPIR_FOLD_MAX_STEPS  1000 /* of a linear histogram */

/* A part of a key: each kind differs from all others, so NULL is not "" and not unreadable. */
enum tapir_fold_kind {
	TAPIR_FOLD_UINT,
	TAPIR_FOLD_INT,
	TAPIR_FOLD_FLOAT,
	TAPIR_FOLD_TEXT,
	TAPIR_FOLD_TRUNCATED, /* the beginning of a longer text */
	TAPIR_FOLD_NULL,      /* a text whose pointer was NULL */
	TAPIR_FOLD_ABSENT,    /* unreadable, or not there */
};

struct tapir_fold_part {
	uint8_t kind;
	uint32_t len; /* TEXT, CUT */
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		const char *text; /* any bytes; of a row: the row's */
	};
};

struct tapir_fold_number {
	bool is_float;
	__int128 whole; /* any signed or unsigned 64-bit number */
	double real;
};

enum tapir_fold_scale { TAPIR_FOLD_NO_HISTOGRAM, TAPIR_FOLD_LOG, TAPIR_FOLD_LINEAR };

struct tapir_fold_column {
	uint8_t scale;
	int64_t low, high, step; /* LINEAR: [low, high) in steps; what lies outside has two more */
};

/* A step of a histogram, and how many values it held when the interval began. */
struct tapir_fold_step {
	uint32_t idx;
	uint64_t cnt, before;
	uint64_t read; /* of cnt: added up elsewhere */
};

/* The value of a column, in a row. */
struct tapir_fold_value {
	struct tapir_fold_number sum, sum_before;
	struct tapir_fold_number least, max; /* of all time */
	struct tapir_fold_number interval_least, interval_max;
	struct tapir_vec(struct tapir_fold_step) steps; /* by idx; those with values */
	uint64_t below, below_before; /* LOG: values under 0, which have no step */
	uint64_t unbinned;	      /* found no room in the histogram */
	__int128 sum_read;	      /* of these, as above */
	uint64_t below_read, unbinned_read;
};

struct tapir_fold_row {
	uint64_t cnt, cnt_before, cnt_read;
	struct tapir_fold_part *key; /* key_cnt of them, and their texts */
	struct tapir_fold_value *values;
	uint64_t next;	   /* row of the same hash; idx + 1, 0: none */
	uint32_t interval; /* in which it was hit last */
	bool has_values;
};

struct tapir_fold {
	/* Set these three, before the first value. */
	unsigned key_cnt, column_cnt;
	size_t max_bytes;
	struct tapir_fold_column columns[TAPIR_FOLD_MAX_VALUES];
	/* results */
	struct tapir_vec(struct tapir_fold_row) rows;
	uint64_t unkeyed, unkeyed_before, unkeyed_read;
	bool failed; /* out of memory: what it lacks is counted as unkeyed */
	/* for the fold alone */
	struct tapir_map by_hash;
	size_t bytes;
	uint32_t interval;
};

static inline struct tapir_fold_number tapir_fold__whole(__int128 value)
{
	return (struct tapir_fold_number){.whole = value, .real = (double)value};
}

static inline struct tapir_fold_number tapir_fold__real(double value)
{
	return (struct tapir_fold_number){.is_float = true, .real = value};
}

/* key_cnt parts, borrowed, and column_cnt values. False: it found no room and is counted. */
bool tapir_fold__add(struct tapir_fold *fold, const struct tapir_fold_part *key,
		     const struct tapir_fold_number *values);
/* A row, or a part of one, as it was added up elsewhere until now. */
struct tapir_fold_counted {
	uint64_t cnt;
	struct tapir_fold_counted_column {
		__int128 sum;
		__int128 least_ever, max_ever;
		bool has_range; /* of this interval; is_late: of the one before */
		bool is_late;
		__int128 least, max;
		uint64_t below, unbinned;
	} columns[TAPIR_FOLD_MAX_VALUES];
};

/*
 * tapir_fold__begin_reading clears what was read from elsewhere, so that the next __add_counted
 * calls add all of it as it is now. Call both within one interval.
 */
void tapir_fold__begin_reading(struct tapir_fold *fold);
void tapir_fold__add_counted(struct tapir_fold *fold, const struct tapir_fold_part *key,
			     const struct tapir_fold_counted *counted);
/* Adds cnt values of one step (an index of histogram.h) to a LOG column. */
void tapir_fold__add_counted_step(struct tapir_fold *fold, const struct tapir_fold_part *key,
				  unsigned column, uint32_t step, uint64_t cnt);
/* Adds hits whose key found no room there. */
void tapir_fold__add_unkeyed(struct tapir_fold *fold, uint64_t cnt);

/* Begins another interval: the values that are read with "since" begin here. */
void tapir_fold__begin_interval(struct tapir_fold *fold);
/* Frees rows, keys and histograms; columns and limits stay set. */
void tapir_fold__fini(struct tapir_fold *fold);

/* ---- reading: since: in the interval, else in all --------------------------------------------- */

/*
 * Numbers of a row: in all, or in the current interval (since). least and most are those of all
 * time, or of the interval.
 */
uint64_t tapir_fold_row__cnt(const struct tapir_fold_row *row, bool since);
struct tapir_fold_number tapir_fold_value__sum(const struct tapir_fold_value *value, bool since);
struct tapir_fold_number tapir_fold_value__least(const struct tapir_fold_value *value, bool since);
struct tapir_fold_number tapir_fold_value__max(const struct tapir_fold_value *value, bool since);
/* LOG: the middle of the step that has the percent-th value, at most the largest value. */
struct tapir_fold_number tapir_fold_value__percentile(const struct tapir_fold_value *value,
						      double percent, bool since);
/* Returns how many values a step of the histogram has, in all or in the interval. */
uint64_t tapir_fold_step__cnt(const struct tapir_fold_step *step, bool since);
/* Returns how many values below 0 there are, which have no step. */
uint64_t tapir_fold_value__below(const struct tapir_fold_value *value, bool since);
/* Writes the smallest value of a step to *low, and that of the next one to *high. */
void tapir_fold_step__range(const struct tapir_fold_column *column,
			    const struct tapir_fold_step *step, struct tapir_fold_number *low,
			    struct tapir_fold_number *high);
/* Compare as numbers and texts are sorted, one kind after the other: <0, 0, >0. */
int tapir_fold_part__compare(const struct tapir_fold_part *a, const struct tapir_fold_part *b);
int tapir_fold_number__compare(struct tapir_fold_number a, struct tapir_fold_number b);
/* Appends the exact decimal number, whatever its size; a float as short as it can be read back. */
void tapir_fold_number__add_text(struct tapir_str *out, struct tapir_fold_number number);

/*
 * The indexes of rows that were hit, in *out, which the caller frees: those with the largest count
 * first, or with the largest sum of a column; ties by key. Their number, or -ENOMEM.
 */
#define TAPIR_FOLD_BY_COUNT UINT32_MAX
/* Sorts rows; column: an index, or TAPIR_FOLD_BY_COUNT. The cost is that of a sort of all rows. */
long tapir_fold__sort(const struct tapir_fold *fold, uint32_t column, bool since, uint32_t **out);

#endif
