/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * span_store.h - spans of requests, of all recorded processes, as the trees that their parents
 * make.
 *
 * Ids come from other processes: they may be used twice, name themselves as their parent, or make
 * circles. A child counts only if it began within its parent and no span is visited twice. Bounded;
 * one thread.
 */
#ifndef TAPIR_USER_SPAN_STORE_H
#define TAPIR_USER_SPAN_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

#define TAPIR_SPANS_MAX	       65536u
#define TAPIR_SPAN_DEPTH_MAX   32u
#define TAPIR_SPAN_REASONS_MAX 4u
#define TAPIR_NO_SPAN	       UINT32_MAX
#define TAPIR_SPAN_TRACE_BYTES 33 /* 32 hex digits and NUL */

/* A reason for which the span's thread waited; the last slot adds up those that have no slot. */
struct tapir_span_wait {
	const char *reason; /* static; NULL: unknown */
	uint64_t ns;
};

struct tapir_span {
	char trace[TAPIR_SPAN_TRACE_BYTES];
	uint64_t id, parent_id;	    /* 0: none */
	uint32_t tgid, tid;	    /* of the thread that began it */
	uint64_t from_ns, until_ns; /* until_ns 0: it has not ended */
	bool has_moved;		    /* it ended on another thread: its waits are not known */
	bool has_waits;		    /* its own time has them: what it waited for is not known */
	bool is_call;		    /* of another server, by its client */
	bool is_request;	    /* that a server answers */
	bool is_statement;	    /* a call of a database, whose label is the statement */
	bool is_seen;		    /* by records with its ids alone: its parent is not known */
	uint32_t status;	    /* of an HTTP response; 0: not known */
	char *label;		    /* owned; NULL: none */
	struct tapir_span_wait waits[TAPIR_SPAN_REASONS_MAX];
	uint32_t outer_on_thread; /* that was open there when it began */
	uint32_t parent;	  /* once linked; TAPIR_NO_SPAN: none is recorded */
	/* for the store alone */
	uint32_t first_child, next_sibling;
	uint64_t counted_until_ns; /* 0: until_ns */
	uint32_t next_of_trace;
	bool has_parent, is_visited;
};

struct tapir_span_store {
	struct tapir_vec(struct tapir_span) all;
	struct tapir_map by_id; /* hash of trace and id -> index + 1 of the latest */
	uint64_t dropped_cnt;	/* beyond TAPIR_SPANS_MAX, or no memory */
};

/*
 * Adds a copy of like, which takes over like->label; the one of those ids that is open in that
 * process already, instead, if there is one (it gets the label if it has none). TAPIR_NO_SPAN:
 * there was no room.
 */
uint32_t tapir_span_store__begin(struct tapir_span_store *s, struct tapir_span *like);
/* Returns the latest span of those ids in that process; TAPIR_NO_SPAN: none. */
uint32_t tapir_span_store__find(const struct tapir_span_store *s, const char *trace, uint64_t id,
				uint32_t tgid);
void tapir_span_store__add_wait(struct tapir_span *span, const char *reason, uint64_t ns);

/*
 * Makes the trees, after the last span. One that was seen alone is below the innermost one of its
 * trace in which it lies.
 */
void tapir_span_store__link(struct tapir_span_store *s);
/*
 * Returns the part of the span's time that counts as its parent's: a server may end its span after
 * its client has the answer, and what it does then delays no client. Known once the span was given
 * by __each_below.
 */
uint64_t tapir_span__counted_ns(const struct tapir_span *span);
/* Returns the part of that time which no child covers. */
uint64_t tapir_span_store__self_ns(const struct tapir_span_store *s, uint32_t span);

/* Returns the kind of a span: request, call, statement, work, or span for all others. */
const char *tapir_span__kind(const struct tapir_span *span);

typedef void (*tapir_span_fn)(void *ctx, const struct tapir_span *span, uint32_t idx,
			      unsigned depth);
/* Visits the span itself (depth 0) and those below it, parents first; each span is given once. */
void tapir_span_store__each_below(struct tapir_span_store *s, uint32_t root, tapir_span_fn fn,
				  void *ctx);

/* Frees the spans. */
void tapir_span_store__fini(struct tapir_span_store *s);

#endif
