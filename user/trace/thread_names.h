/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_names.h - which name a thread had when something happened. Threads that are lent to jobs
 * rename themselves for each: what they did is counted under the name of its time, so a thread has
 * a row for each of its names. Reports, their JSON and exports number their rows by this.
 *
 * A name that a thread has for its first moment only, inherited from the thread that made it, is no
 * row: what happened then is counted under the name that it takes. The records are a file's: past
 * the limits there are no more rows. One thread.
 */
#ifndef TAPIR_USER_THREAD_NAMES_H
#define TAPIR_USER_THREAD_NAMES_H

#include "base/map.h"
#include "base/vec.h"
#include "tapir/abi.h"

#define TAPIR_THREAD_NAMES_MAX	  32u /* of a thread; later names count under the latest of them */
#define TAPIR_THREAD_NAMES_NO_ROW SIZE_MAX

struct tapir_thread_name {
	uint64_t start_ns; /* of the thread; 0: unknown */
	uint32_t next_idx; /* of the next with the same key, in the order of time; UINT32_MAX: none
			    */
	bool is_first;	   /* of its thread */
	bool is_used;	   /* something happened under it */
	char comm[TAPIR_COMM_BYTES + 1]; /* "" unknown */
};

struct tapir_thread_names {
	struct tapir_map first_by_key;
	struct tapir_vec(struct tapir_thread_name) rows;
	bool failed; /* out of memory */
};

/*
 * The row of a thread's name; it is new if it was rows.cnt, and its comm may change until the end.
 * key: the caller's, the same for threads that had one id in one process. rec: the thread as it was
 * (tapir_catalog__thread), NULL if the file does not say. is_used: something happened, else the
 * thread is described. NO_ROW: there are max_rows, or no memory.
 */
size_t tapir_thread_names__row(struct tapir_thread_names *n, uint64_t key,
			       const struct tapir_rec_thread *rec, bool is_used, size_t max_rows);
/* Frees rows and index. */
void tapir_thread_names__fini(struct tapir_thread_names *n);

/*
 * The row with the number idx in v, pointer to an array of the caller with a row for each name;
 * made, a value, is added where idx is the next number. NULL: idx is NO_ROW, or there was no memory
 * for this row or one before it. Borrowed until the next is added.
 */
#define tapir_thread_names__slot(v, idx, made)                                                     \
	({                                                                                         \
		size_t tapir_at_ = (idx);                                                          \
		tapir_at_ < (v)->cnt || (tapir_at_ == (v)->cnt && tapir_vec__push(v, made))        \
			? &(v)->data[tapir_at_]                                                    \
			: NULL;                                                                    \
	})

#endif
