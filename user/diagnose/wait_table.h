/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wait_table.h - the waits of threads for each other and for work: who waited where, at which
 * address, and who ended it. One table that detectors and the overview read after the last record.
 * Bounded. One thread.
 *
 * Stacks may lack the callers that would say what a wait was for: interpreted methods without
 * names, compiled ones without frame pointers, files whose unwind tables were not there yet. Where
 * a thread waited through the same function, and at the same address if that is known, for one
 * thing only, as far as its stacks show, it waited for that.
 */
#ifndef TAPIR_USER_WAIT_TABLE_H
#define TAPIR_USER_WAIT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keyed.h"

struct tapir_diagnosis;
struct tapir_lore_wait;
struct tapir_wait;

/* Waits of a thread in one place that one thread ended. */
struct tapir_wait_row {
	const struct tapir_lore_wait *wait; /* NULL: the stack does not show it */
	uint32_t tgid, tid, node;	    /* node: of any of them */
	uint32_t waker_tid; /* 0: an interrupt, a timer, or unknown; they may have not ended */
	uint32_t own;	    /* the program's managed function, or TAPIR_APP_CODE_NONE */
	uint32_t place;	    /* the same, or its native one */
	bool is_lock;	    /* they are counted as waits for a lock */
	bool is_open;	    /* they began before the recording, or have not ended in it */
	bool is_truncated;  /* the stack lacks the callers that would show the reason */
	bool is_unnamed;    /* functions of it have no names */
	uint64_t futex;	    /* its address, less its lowest bits; 0: not known, or there are many */
	uint64_t ns, cnt;
	unsigned depth; /* rows of the thread, with this one */
	size_t next;	/* of the same thread: idx + 1; 0: none */
};

struct tapir_wait_table {
	struct tapir_keyed(struct tapir_wait_row) rows;
	struct tapir_map first_by_tid;
};

/* Adds a wait that was not an idle thread's of a pool, and not for a CPU. */
void tapir_wait_table__add(struct tapir_diagnosis *f, const struct tapir_wait *wait, bool is_open,
			   bool is_lock);
/*
 * Returns the part with truncated stacks, *cnt waits, of the time ns that a thread waited for that
 * reason.
 */
uint64_t tapir_wait_table__truncated(const struct tapir_diagnosis *f, uint32_t tid,
				     const char *reason, uint64_t ns, uint64_t *cnt);
void tapir_wait_table__fini(struct tapir_wait_table *table);

#endif
