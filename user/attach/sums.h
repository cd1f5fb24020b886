/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sums.h - reads what the kernel has added up for a question: rows of all CPUs, as they are at the
 * moment, and the steps of their histograms. Probes may fire while they are read: a row has each
 * hit that had ended before. One thread.
 */
#ifndef TAPIR_USER_SUMS_H
#define TAPIR_USER_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "attach/programs.h"

struct tapir_sums_sink {
	/* A number in keys stands for this text. All texts come before the rows: a row may have one
	 * that was not there yet. */
	void (*text)(void *ctx, uint64_t id, const struct tapir_sums_text *text);
	/* rows: one of each CPU, stride bytes apart. */
	void (*row)(void *ctx, const struct tapir_sums_key *key, const struct tapir_sums_row *rows,
		    size_t stride, unsigned cpu_cnt);
	/* key->step has the column and the step. */
	void (*step)(void *ctx, const struct tapir_sums_key *key, uint64_t cnt);
	void *ctx;
};

/* *state: what is counted apart from the rows. 0 or -errno with a line. */
int tapir_sums__read(const struct tapir_programs *p, const struct tapir_sums_sink *sink,
		     struct tapir_sums_state *state);
/* Writes how many hits are in rows or found no room. 0, or -errno without a line. */
int tapir_sums__count(const struct tapir_programs *p, uint64_t *cnt);

#endif
