/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc_text.h - the text of /proc/PID/stat and /proc/PID/status, and of the same files of a thread.
 * Pure: any text may come. A process chooses its name, which stat shows as it is; status escapes
 * it.
 */
#ifndef TAPIR_USER_PROC_TEXT_H
#define TAPIR_USER_PROC_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tapir/abi.h"

struct tapir_proc_stat {
	char comm[TAPIR_COMM_BYTES];
	unsigned long flags;  /* PF_* of include/linux/sched.h */
	uint64_t start_ticks; /* since boot */
	uint64_t cpu_ticks;   /* user and system */
	uint64_t resident_pages;
	bool is_zombie; /* and no thread of it is alive */
};

/* Parses the content of a stat file. 0 or -EPROTO; out is written on success only. */
int tapir_proc_stat__parse(const char *text, struct tapir_proc_stat *out);

#define TAPIR_PROC_LAST_WORD (-1)

/* status is "Key:\tvalues": the values; NULL: there is no such line. */
const char *tapir_proc_status__value(const char *text, const char *key);
/* The number at this index among the values, or the last one. False: it is missing. */
bool tapir_proc_status__number(const char *text, const char *key, int word_idx, uint32_t *out);

#endif
