/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * span_joins.h - spans that no event begins, by the ids that records carry (OTEP 4947): a span for
 * which threads of a process worked, from its first record to its last one, and intervals whose
 * begin has ids, which are below it. Its parent is not known by ids: it is the innermost span of
 * its trace that lasts from before it until after it. Bounded by the store; one thread.
 */
#ifndef TAPIR_USER_SPAN_JOINS_H
#define TAPIR_USER_SPAN_JOINS_H

#include "analyze/spans/span_store.h"
#include "analyze/timeline.h"

struct tapir_span_joins {
	struct tapir_span_store *spans;	   /* borrowed; set by the owner */
	struct tapir_map seen_by_key;	   /* process and ids -> idx + 1; 0: an event began it */
	struct tapir_map span_by_interval; /* its address, while it is open -> idx + 1 */
	uint64_t interval_cnt;
	bool failed; /* out of memory */
};

/* A thread of the process worked for the span; comm: what the process is called. */
void tapir_span_joins__see(struct tapir_span_joins *j, const struct tapir_trace_ids *ids,
			   uint32_t tgid, uint32_t tid, uint64_t time_ns, struct tapir_sv comm);
/* An interval of that kind opens by an event with these ids. label: it takes over. */
void tapir_span_joins__open(struct tapir_span_joins *j, const struct tapir_interval *i,
			    const struct tapir_trace_ids *ids, char *label,
			    const struct tapir_interval_kind *kind);
void tapir_span_joins__close(struct tapir_span_joins *j, const struct tapir_interval *i);
void tapir_span_joins__fini(struct tapir_span_joins *j);

#endif
