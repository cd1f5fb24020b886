/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_rows.h - what processes and threads use, by intervals: CPU time and waits as the kernel
 * counts them (attach/thread_use.h, at each look), what the CPU time was for by samples, and what
 * runtimes say of themselves.
 *
 * Bounded: threads beyond TAPIR_TOP_MAX_ROWS count for their processes alone. One thread at a time.
 */
#ifndef TAPIR_USER_TOP_ROWS_H
#define TAPIR_USER_TOP_ROWS_H

#include <stdbool.h>

#include "analyze/runtime_work.h"
#include "base/keyed.h"
#include "base/vec.h"
#include "bpf/control.h"
#include "trace/record.h"

#define TAPIR_TOP_MAX_ROWS    65536u /* of processes, and of threads */
#define TAPIR_TOP_MAX_SAMPLES 8192u  /* of the last ones, for stacks */

enum tapir_top_work {
	TAPIR_TOP_OWN, /* the program's code: native, compiled by a JIT, interpreted */
	TAPIR_TOP_RUNTIME,
	TAPIR_TOP_GC,
	TAPIR_TOP_JIT,
	TAPIR_TOP_KERNEL,
	TAPIR_TOP_UNKNOWN, /* no stack */
	TAPIR_TOP_WORK_CNT
};

/* In which calls threads sleep. */
enum tapir_top_wait {
	TAPIR_TOP_FUTEX, /* locks, conditions, and threads of pools without work */
	TAPIR_TOP_DISK,	 /* uninterruptible: of devices, of locks of the kernel */
	TAPIR_TOP_NET,
	TAPIR_TOP_POLL,
	TAPIR_TOP_SLEEP,
	TAPIR_TOP_OTHER,
	TAPIR_TOP_WAIT_CNT
};

extern const char *const tapir_top_work_names[TAPIR_TOP_WORK_CNT];
extern const char *const tapir_top_wait_names[TAPIR_TOP_WAIT_CNT];

struct tapir_top_sums {
	uint64_t cpu_ns, runnable_ns, read_bytes, written_bytes;
};

struct tapir_top_row {
	uint32_t tgid, tid; /* tid 0: a process */
	uint64_t start_ns;  /* 0: no look has seen it */
	char comm[TAPIR_COMM_BYTES + 1];
	bool is_kernels, is_new;
	uint32_t thread_cnt;
	struct tapir_top_sums used;	  /* in the interval that ended last */
	double waits[TAPIR_TOP_WAIT_CNT]; /* threads, on average of its looks */
	double work[TAPIR_TOP_WORK_CNT];  /* samples; on a screen older ones count less and less */
	double allocated, exceptions;	  /* a second; < 0: no runtime says so */
	double paused_ns;		  /* in the interval, too */
	/* for the rows alone */
	struct tapir_top_sums now, base;
	uint64_t seen; /* the look */
	uint32_t wait_looks[TAPIR_TOP_WAIT_CNT], samples[TAPIR_TOP_WORK_CNT];
	double pausing_ns, pausing_of_ns; /* of_ns: the time that .NET said it of */
};

struct tapir_top_list tapir_keyed(struct tapir_top_row); /* by tgid, or by tid */

struct tapir_top_sample {
	uint32_t tgid, tid, node;
	uint64_t time_ns;
};

struct tapir_top_rows {
	struct tapir_pids only; /* borrowed; none: all */
	struct tapir_top_list processes, threads;
	uint64_t from_ns, until_ns; /* of the interval that ended last */
	uint64_t began_ns;	    /* the one that has not ended */
	uint64_t ends_ns; /* samples later than that are of no interval; UINT64_MAX: it has not
			     ended */
	/* The last samples, a ring. */
	struct tapir_top_sample recent[TAPIR_TOP_MAX_SAMPLES];
	uint64_t sample_cnt;
	/* for the rows alone */
	uint64_t look, look_cnt; /* look_cnt: in this interval */
	bool failed;		 /* out of memory: rows are missing */
};

/*
 * A reading: __see takes each thread of the machine, between __begin_look and __end_look. 0 or
 * -ENOMEM.
 */
void tapir_top_rows__begin_look(struct tapir_top_rows *rows);
int tapir_top_rows__see(struct tapir_top_rows *rows, const struct tapir_thread_use *use);
void tapir_top_rows__end_look(struct tapir_top_rows *rows);

/* Begins the first interval: the reading before was its first. */
void tapir_top_rows__begin(struct tapir_top_rows *rows, uint64_t now_ns);
/* Call it after a reading: fills used and waits, and the next interval begins. */
void tapir_top_rows__end_interval(struct tapir_top_rows *rows, uint64_t now_ns);
/* Fills work. keep: the part of what was there that stays; 0: none. */
void tapir_top_rows__take_samples(struct tapir_top_rows *rows, double keep);

/* Add a sample, and a counter's value, to the row of their process; __fini frees the rows. */
void tapir_top_rows__sample(struct tapir_top_rows *rows, const struct tapir_top_sample *sample,
			    enum tapir_work work);
void tapir_top_rows__counter(struct tapir_top_rows *rows, const struct tapir_counter_view *counter);
void tapir_top_rows__fini(struct tapir_top_rows *rows);

static inline uint64_t tapir_top_rows__interval_ns(const struct tapir_top_rows *rows)
{
	return rows->until_ns > rows->from_ns ? rows->until_ns - rows->from_ns : 1;
}

/* All samples of a row. */
static inline double tapir_top_row__samples(const struct tapir_top_row *row)
{
	double sum = 0;

	for (int i = 0; i < TAPIR_TOP_WORK_CNT; i++)
		sum += row->work[i];
	return sum;
}

#endif
