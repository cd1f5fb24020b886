/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_rows.h - what a recording has of each function, wait, route...: how often, how much, and how
 * long, by part of its time. Bounded; one thread.
 */
#ifndef TAPIR_USER_DIFF_ROWS_H
#define TAPIR_USER_DIFF_ROWS_H

#include "analyze/diff/diff_noise.h"
#include "base/histogram.h"
#include "base/keyed.h"

#define TAPIR_DIFF_MAX_ROWS  32768u
#define TAPIR_DIFF_MAX_STEPS (1u << 20) /* of the histograms of all rows */
#define TAPIR_DIFF_QUARTERS  4u
#define TAPIR_DIFF_NO_ROW    SIZE_MAX

/* In the order in which a difference matters. */
enum tapir_diff_kind {
	TAPIR_DIFF_ROUTE,
	TAPIR_DIFF_GC,
	TAPIR_DIFF_PROCESS, /* CPU time by process, function, and function with what it calls */
	TAPIR_DIFF_CPU,
	TAPIR_DIFF_TOTAL,
	TAPIR_DIFF_WAIT,
	TAPIR_DIFF_ALLOCATION,
	TAPIR_DIFF_EXCEPTION,
	TAPIR_DIFF_INTERVAL,
	TAPIR_DIFF_COUNTER,
	TAPIR_DIFF_EVENT,
	TAPIR_DIFF_KIND_CNT
};

struct tapir_diff_row {
	enum tapir_diff_kind kind;
	char *name; /* owned */
	uint64_t cnt;
	double max;
	double cnts[TAPIR_DIFF_PARTS], sums[TAPIR_DIFF_PARTS];
	uint64_t timed_cnt; /* in its histogram */
	uint64_t mark;	    /* a caller's own */
};

struct tapir_diff_rows {
	uint64_t from_ns, until_ns; /* set them before adding */
	struct tapir_keyed(struct tapir_diff_row) rows;
	struct tapir_map steps; /* by row, quarter and step of a histogram: values */
	uint64_t more;		/* things of which there is no row, or whose time has no step */
	bool failed;		/* out of memory: rows are missing */
};

/* Returns the row of that name; NULL: there is none. */
const struct tapir_diff_row *tapir_diff_rows__find(const struct tapir_diff_rows *rows,
						   enum tapir_diff_kind kind, const char *name);
/*
 * Returns the index of its row, made if it is new, or TAPIR_DIFF_NO_ROW: then it is counted in
 * `more`.
 */
size_t tapir_diff_rows__idx(struct tapir_diff_rows *rows, enum tapir_diff_kind kind,
			    const char *name, size_t len);
/* Adds something at a time, and what it amounts to. */
void tapir_diff_rows__add(struct tapir_diff_rows *rows, size_t idx, uint64_t at_ns, double value);
/* Adds something that lasted, its time to the parts in which it passed. */
void tapir_diff_rows__spread(struct tapir_diff_rows *rows, size_t idx, uint64_t from_ns,
			     uint64_t until_ns);
/* Adds something that took so long, and ended at a time. */
void tapir_diff_rows__took(struct tapir_diff_rows *rows, size_t idx, uint64_t at_ns,
			   uint64_t took_ns);

/* Copies the times of a row, by quarter of the recording. */
void tapir_diff_rows__times(const struct tapir_diff_rows *rows, const struct tapir_diff_row *row,
			    struct tapir_histogram out[TAPIR_DIFF_QUARTERS]);
void tapir_diff_rows__fini(struct tapir_diff_rows *rows);

#endif
