/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failed_calls.h - system calls that failed, by process, call and error. Those that only say that
 * there is nothing yet (EAGAIN, ETIMEDOUT, a signal) are no failures here. At most 4,096 rows;
 * further ones are counted in rows.more. One thread.
 */
#ifndef TAPIR_USER_FAILED_CALLS_H
#define TAPIR_USER_FAILED_CALLS_H

#include "base/keyed.h"
#include "base/vec.h"
#include "trace/catalog.h"

struct tapir_failed_call {
	char comm[TAPIR_COMM_BYTES + 1]; /* the process's name; "": not known */
	uint32_t pid;
	uint16_t nr;  /* of the system call, on the recording's architecture */
	uint16_t err; /* a positive errno */
	uint64_t cnt;
};

struct tapir_failed_calls {
	struct tapir_keyed(struct tapir_failed_call) rows;
	uint64_t call_cnt, failed_cnt; /* of all, also those without a row */
	bool failed;		       /* out of memory */
};

/*
 * Adds what a CALLS record counts of failed calls; catalog and rec are used during the call alone.
 * One lookup in a map. A lack of memory is in calls->failed.
 */
void tapir_failed_calls__add(struct tapir_failed_calls *calls, const struct tapir_catalog *catalog,
			     const struct tapir_rec_calls *rec);
/* Sorts the most frequent to the front; nothing may be added afterwards. */
void tapir_failed_calls__sort(struct tapir_failed_calls *calls);
/* Frees the rows. */
void tapir_failed_calls__fini(struct tapir_failed_calls *calls);

#endif
