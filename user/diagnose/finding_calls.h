/* SPDX-License-Identifier: GPL-2.0-or-later */
/* finding_calls.h - calls of other processes by TCP (record --net), and threads that wait there. */
#ifndef TAPIR_USER_FINDING_CALLS_H
#define TAPIR_USER_FINDING_CALLS_H

#include "analyze/exchange_sums.h"
#include "base/keyed.h"
#include "base/vec.h"
#include "base/str.h"
#include "diagnose/function_sums.h"

#define TAPIR_CALL_WAITS 4u

struct tapir_diagnosis;
struct tapir_wait;

/* A wait of a thread for a socket, as long as it is not known for what. */
struct tapir_call_wait {
	uint64_t from_ns, wake_ns, until_ns;
	uint32_t node;
	uint16_t state, flags; /* as in the SWITCH record */
	bool is_truncated;
};

struct tapir_call_thread {
	uint32_t tid;
	uint32_t open_row;	/* that it called, and which has not answered at the end: idx + 1 */
	uint64_t open_begin_ns; /* since then */
	unsigned cnt;
	struct tapir_call_wait waits[TAPIR_CALL_WAITS]; /* the first, and the last ones */
};

/* The threads that waited for one row of the sums. */
struct tapir_called {
	uint64_t waited_ns;
	struct tapir_function_sums callers;
	struct tapir_map tids;
};

struct tapir_calls {
	struct tapir_exchange_sums sums;
	struct tapir_keyed(struct tapir_called) called; /* by the rows' idx */
	struct tapir_keyed(struct tapir_call_thread) threads;
	struct tapir_map role_by_node; /* what was waited for with that stack: enum role */
	bool is_known, is_recorded;    /* by --net */
	bool is_concluded;
};

/* Takes an EXCHANGE: what its thread waited for is known by it. */
void tapir_finding_calls__exchange(struct tapir_diagnosis *f, const struct tapir_rec_exchange *rec);
/*
 * Returns true if it is a wait that an exchange may yet explain: else it is passed on to
 * tapir_finding_blocking_io__take() later, before the list is made.
 */
bool tapir_finding_calls__wait(struct tapir_diagnosis *f, const struct tapir_wait *w,
			       bool is_truncated);
/* Returns those who waited for a row of the sorted sums; NULL: no thread did. */
const struct tapir_called *tapir_finding_calls__waiters(const struct tapir_diagnosis *f,
							const struct tapir_exchange_row *row);
/* Appends "8 threads wait in ask_rates"; nothing where that is an event loop's. */
void tapir_finding_calls__add_waiters(const struct tapir_diagnosis *f,
				      const struct tapir_exchange_row *row, struct tapir_str *out);

#endif
