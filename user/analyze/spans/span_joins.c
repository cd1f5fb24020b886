// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Spans are added to the store when their first record comes, since it has them in the order of
 * their begins. A span that an event has begun in the same process is complete without its records.
 */
#include "analyze/spans/span_joins.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SEEN (2 * TAPIR_SPANS_MAX)

static uint64_t span_id_number(const struct tapir_trace_ids *ids)
{
	char text[TAPIR_TRACE_ID_TEXT];

	return strtoull(tapir_span_id__text(ids, text), NULL, 16);
}

static void see_first(struct tapir_span_joins *j, struct tapir_span *like, uint64_t *slot,
		      struct tapir_sv comm)
{
	uint32_t span;

	if (tapir_span_store__find(j->spans, like->trace, like->id, like->tgid) != TAPIR_NO_SPAN)
		return;
	like->label = comm.len ? strndup(comm.data, comm.len) : NULL;
	span = tapir_span_store__begin(j->spans, like);
	if (span == TAPIR_NO_SPAN)
		return;
	j->spans->all.data[span].until_ns = like->from_ns;
	*slot = span + 1ull;
}

void tapir_span_joins__see(struct tapir_span_joins *j, const struct tapir_trace_ids *ids,
			   uint32_t tgid, uint32_t tid, uint64_t time_ns, struct tapir_sv comm)
{
	uint64_t key = tapir_hash__mix(tapir_hash__bytes(tgid, ids, sizeof(*ids)), tgid), *slot;
	struct tapir_span like = {.tgid = tgid,
				  .tid = tid,
				  .from_ns = time_ns,
				  .outer_on_thread = TAPIR_NO_SPAN,
				  .has_waits = true,
				  .is_seen = true};
	bool is_new;

	if (j->seen_by_key.cnt >= MAX_SEEN && !tapir_map__get(&j->seen_by_key, key))
		return;
	slot = tapir_map__put(&j->seen_by_key, key, &is_new);
	if (!slot) {
		j->failed = true;
		return;
	}
	if (is_new) {
		*slot = 0;
		like.id = span_id_number(ids);
		tapir_trace_id__text(ids, like.trace);
		see_first(j, &like, slot, comm);
	} else if (*slot && j->spans->all.data[*slot - 1].until_ns < time_ns) {
		j->spans->all.data[*slot - 1].until_ns = time_ns;
	}
}

/* The span of the interval in which another one begins on its thread; NULL: it has none there. */
static const struct tapir_span *around(const struct tapir_span_joins *j,
				       const struct tapir_interval *i, const char *trace)
{
	const struct tapir_span *span;
	const uint64_t *slot;

	for (const struct tapir_interval *outer = i->outer; outer; outer = outer->outer) {
		slot = tapir_map__get(&j->span_by_interval, (uintptr_t)outer);
		span = slot ? &j->spans->all.data[*slot - 1] : NULL;
		if (span && span->tid == i->tid && !strcmp(span->trace, trace))
			return span;
	}
	return NULL;
}

/* Intervals get ids from the end of the numbers, which no span uses. */
void tapir_span_joins__open(struct tapir_span_joins *j, const struct tapir_interval *i,
			    const struct tapir_trace_ids *ids, char *label,
			    const struct tapir_interval_kind *kind)
{
	struct tapir_span like = {.id = UINT64_MAX - j->interval_cnt++,
				  .parent_id = span_id_number(ids),
				  .tgid = i->tgid,
				  .tid = i->tid,
				  .from_ns = i->from_ns,
				  .label = label,
				  .is_request = kind->is_request,
				  .is_call = kind->is_call,
				  .is_statement = kind->is_statement,
				  .has_waits = true,
				  .outer_on_thread = TAPIR_NO_SPAN};
	const struct tapir_span *outer;
	uint64_t *slot;
	uint32_t span;

	tapir_trace_id__text(ids, like.trace);
	outer = around(j, i, like.trace);
	if (outer)
		like.parent_id = outer->id;
	span = tapir_span_store__begin(j->spans, &like);
	if (span == TAPIR_NO_SPAN)
		return;
	slot = tapir_map__put(&j->span_by_interval, (uintptr_t)i, NULL);
	j->failed |= !slot;
	if (slot)
		*slot = span + 1ull;
}

void tapir_span_joins__close(struct tapir_span_joins *j, const struct tapir_interval *i)
{
	const uint64_t *slot = tapir_map__get(&j->span_by_interval, (uintptr_t)i);

	if (!slot)
		return;
	if (!(i->flags & TAPIR_INTERVAL_NO_END))
		j->spans->all.data[*slot - 1].until_ns = i->until_ns;
	tapir_map__del(&j->span_by_interval, (uintptr_t)i);
}

void tapir_span_joins__fini(struct tapir_span_joins *j)
{
	tapir_map__fini(&j->seen_by_key);
	tapir_map__fini(&j->span_by_interval);
}
