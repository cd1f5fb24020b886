/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request_waits.h - what one request awaited: times in which no thread worked for it, and the
 * awaits and calls that lie in them. The awaited time is divided among them: each moment belongs to
 * one, so that their times add up. Bounded; one thread.
 */
#ifndef TAPIR_USER_REQUEST_WAITS_H
#define TAPIR_USER_REQUEST_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define TAPIR_REQUEST_WAITS_MAX 256u /* awaits and calls of a request */
#define TAPIR_NO_SITE		UINT32_MAX
#define TAPIR_NO_PEER		UINT32_MAX

struct tapir_request_wait {
	uint64_t from_ns, until_ns;
	uint32_t site;	  /* of an await; TAPIR_NO_SITE: a call */
	uint32_t peer;	  /* the one it asks; TAPIR_NO_PEER: not known */
	bool is_joint;	  /* for others, which are rows, too, if they are awaits of the program */
	bool is_taskless; /* joint, if other awaits of the program fill it */
	bool is_in_queue; /* until there was a connection: the first part of another row */
	bool is_mark;	  /* of a call of which the begin alone is known: an await is for it */
	/* once divided */
	uint64_t ns;	    /* of the awaited time */
	uint64_t queued_ns; /* of its own time, what rows of queues have */
	bool is_parallel;   /* another one lasts for at least half of its time */
	/* for the division alone: when it ends; of a row of a queue, when the other row does */
	uint64_t ends_ns;
	bool is_call;
};

struct tapir_request_away {
	uint64_t from_ns, until_ns;
};

struct tapir_request_waits {
	struct tapir_vec(struct tapir_request_wait) rows;
	struct tapir_vec(struct tapir_request_away) away; /* in the order of time */
	uint64_t dropped_cnt;				  /* rows that found no room */
	bool failed;					  /* out of memory */
};

/*
 * Adds an await or call of the request, copied, in any order (a mark's end is any time after its
 * begin, and it has no time of its own); __add_away a stretch in which no
 * thread worked for it, in the order of time. Times are those of records; empty stretches are left
 * out. The 257th row is counted and left out; a lack of memory sets failed.
 */
void tapir_request_waits__add(struct tapir_request_waits *w, const struct tapir_request_wait *row);
void tapir_request_waits__add_away(struct tapir_request_waits *w, uint64_t from_ns,
				   uint64_t until_ns);
/*
 * Divides the time of a request among its waits, after the last one was added; afterwards rows are
 * in the order of their begins. A joint row is left only if there is time that belongs to no other.
 * A wait in a queue has the time of the row of which it is a part, even if that continues. A call
 * whose answer an await of the program waits for becomes that await, which gets its peer.
 * is_tracked: it is known when no thread worked for the request; else each moment counts in which
 * a row lasts. Returns the sum of all .ns.
 */
uint64_t tapir_request_waits__divide(struct tapir_request_waits *w, uint64_t from_ns,
				     uint64_t until_ns, bool is_tracked);
void tapir_request_waits__clear(struct tapir_request_waits *w); /* keeps the memory */
void tapir_request_waits__fini(struct tapir_request_waits *w);

#endif
