/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * request_spans.h - the spans of a recording, of all its processes: those that events of activities
 * begin and end, and those that are known by the ids of records alone (span_joins.h). Fed with what
 * the timeline says; afterwards the store has the trees. One thread.
 */
#ifndef TAPIR_USER_REQUEST_SPANS_H
#define TAPIR_USER_REQUEST_SPANS_H

#include "analyze/spans/span_joins.h"
#include "analyze/spans/span_store.h"
#include "analyze/wait_reason.h"

struct tapir_request_spans {
	struct tapir_timeline *tl; /* borrowed */
	struct tapir_span_store store;
	struct tapir_span_joins joins;
	struct tapir_map open_by_tid; /* -> index + 1 of the innermost span there */
	struct tapir_wait_reasons reasons;
};

/* The reason of a span's waits for a CPU; no other reason is this very string. */
extern const char tapir_span_waits_for_cpu[];

void tapir_request_spans__init(struct tapir_request_spans *s, struct tapir_timeline *tl);
void tapir_request_spans__fini(struct tapir_request_spans *s);
void tapir_request_spans__event(struct tapir_request_spans *s, const struct tapir_tl_thread *t,
				const struct tapir_probe_view *probe,
				const struct tapir_event_view *event);
/* The record says for which span its thread worked. */
void tapir_request_spans__see(struct tapir_request_spans *s, const struct tapir_rec *rec,
			      uint32_t tgid, uint32_t tid);
void tapir_request_spans__switched(struct tapir_request_spans *s,
				   const struct tapir_rec_switch *rec);
void tapir_request_spans__wait(struct tapir_request_spans *s, const struct tapir_wait *w);
/*
 * An interval whose begin has ids is a span of that trace, unless its events are spans by
 * themselves.
 */
void tapir_request_spans__open(struct tapir_request_spans *s, const struct tapir_interval *i);
void tapir_request_spans__close(struct tapir_request_spans *s, const struct tapir_interval *i);

#endif
