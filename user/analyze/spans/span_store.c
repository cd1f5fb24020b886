// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A span's children are a list of indices in the order of their begins. Parents may be read after
 * their children, and ids may be used again, so links are made once, at the end: a parent of a
 * reused id began before its child and ended later.
 */
#include "analyze/spans/span_store.h"

#include <stdlib.h>
#include <string.h>

static uint64_t span_key(const char *trace, uint64_t id)
{
	uint64_t hash = tapir_hash__mix(tapir_hash__bytes(5, trace, strlen(trace)), id);

	return hash ? hash : 1;
}

static uint32_t latest(const struct tapir_span_store *s, const char *trace, uint64_t id)
{
	const uint64_t *slot = tapir_map__get(&s->by_id, span_key(trace, id));
	const struct tapir_span *span = slot ? &s->all.data[*slot - 1] : NULL;

	return span && span->id == id && !strcmp(span->trace, trace) ? (uint32_t)(*slot - 1)
								     : TAPIR_NO_SPAN;
}

uint32_t tapir_span_store__find(const struct tapir_span_store *s, const char *trace, uint64_t id,
				uint32_t tgid)
{
	uint32_t found = latest(s, trace, id);

	return found != TAPIR_NO_SPAN && s->all.data[found].tgid == tgid ? found : TAPIR_NO_SPAN;
}

uint32_t tapir_span_store__begin(struct tapir_span_store *s, struct tapir_span *like)
{
	uint32_t known = tapir_span_store__find(s, like->trace, like->id, like->tgid);
	uint64_t *slot;

	if (known != TAPIR_NO_SPAN && !s->all.data[known].until_ns) {
		if (!s->all.data[known].label) {
			s->all.data[known].label = like->label;
			like->label = NULL;
		}
		free(like->label);
		return known;
	}
	like->first_child = like->next_sibling = TAPIR_NO_SPAN;
	if (s->all.cnt >= TAPIR_SPANS_MAX || !tapir_vec__push(&s->all, *like)) {
		s->dropped_cnt++;
		free(like->label);
		return TAPIR_NO_SPAN;
	}
	slot = tapir_map__put(&s->by_id, span_key(like->trace, like->id), NULL);
	if (slot)
		*slot = s->all.cnt;
	return (uint32_t)(s->all.cnt - 1);
}

void tapir_span_store__add_wait(struct tapir_span *span, const char *reason, uint64_t ns)
{
	for (unsigned i = 0; i < TAPIR_SPAN_REASONS_MAX; i++) {
		struct tapir_span_wait *w = &span->waits[i];

		if (i + 1 == TAPIR_SPAN_REASONS_MAX)
			reason = NULL;
		else if (w->ns && w->reason != reason)
			continue;
		w->reason = reason;
		w->ns += ns;
		return;
	}
}

/* A parent of a reused id began before and ended later: any other is none, nor one without end. */
static uint32_t parent_of(const struct tapir_span_store *s, const struct tapir_span *child)
{
	uint32_t found =
		child->parent_id ? latest(s, child->trace, child->parent_id) : TAPIR_NO_SPAN;
	const struct tapir_span *parent = found == TAPIR_NO_SPAN ? NULL : &s->all.data[found];

	return parent && parent != child && parent->from_ns <= child->from_ns &&
			       parent->until_ns >= child->from_ns
		       ? found
		       : TAPIR_NO_SPAN;
}

#define MAX_ABOVE 1024u /* spans of a trace among which a parent is searched */

/* Returns true if the span is above the other one, by ids. */
static bool is_above(const struct tapir_span_store *s, uint32_t span, uint32_t other)
{
	for (unsigned depth = 0; other != TAPIR_NO_SPAN && depth < TAPIR_SPAN_DEPTH_MAX; depth++) {
		if (other == span)
			return true;
		other = parent_of(s, &s->all.data[other]);
	}
	return false;
}

static bool is_within(const struct tapir_span *span, const struct tapir_span *outer)
{
	return outer->from_ns <= span->from_ns && outer->until_ns >= span->until_ns &&
	       outer->until_ns - outer->from_ns > span->until_ns - span->from_ns;
}

/* The innermost one of its trace in which it lies, of another process or not. */
static uint32_t around(const struct tapir_span_store *s, const struct tapir_map *by_trace,
		       uint32_t span)
{
	const struct tapir_span *of = &s->all.data[span];
	const uint64_t *first = tapir_map__get(by_trace, span_key(of->trace, 0));
	uint32_t best = TAPIR_NO_SPAN, at = first ? (uint32_t)(*first - 1) : TAPIR_NO_SPAN;

	for (unsigned i = 0; at != TAPIR_NO_SPAN && i < MAX_ABOVE; i++) {
		const struct tapir_span *other = &s->all.data[at];

		if (is_within(of, other) && !strcmp(other->trace, of->trace) &&
		    (best == TAPIR_NO_SPAN || is_within(other, &s->all.data[best])) &&
		    !is_above(s, span, at))
			best = at;
		at = other->next_of_trace;
	}
	return best;
}

static void list_traces(struct tapir_span_store *s, struct tapir_map *by_trace)
{
	for (size_t i = 0; i < s->all.cnt; i++) {
		uint64_t *slot = tapir_map__put(by_trace, span_key(s->all.data[i].trace, 0), NULL);

		s->all.data[i].next_of_trace =
			slot && *slot ? (uint32_t)(*slot - 1) : TAPIR_NO_SPAN;
		if (slot)
			*slot = i + 1;
	}
}

/* Goes from the last to the first and puts each in front of its siblings: so they are in order. */
void tapir_span_store__link(struct tapir_span_store *s)
{
	struct tapir_map by_trace = {};

	list_traces(s, &by_trace);
	for (size_t i = s->all.cnt; i-- > 0;) {
		struct tapir_span *span = &s->all.data[i];
		uint32_t parent =
			span->is_seen ? around(s, &by_trace, (uint32_t)i) : parent_of(s, span);

		span->parent = parent;
		span->has_parent = parent != TAPIR_NO_SPAN;
		if (!span->has_parent)
			continue;
		span->next_sibling = s->all.data[parent].first_child;
		s->all.data[parent].first_child = (uint32_t)i;
	}
	tapir_map__fini(&by_trace);
}

static uint64_t counted_until_ns(const struct tapir_span *span)
{
	return span->counted_until_ns ? span->counted_until_ns : span->until_ns;
}

uint64_t tapir_span__counted_ns(const struct tapir_span *span)
{
	return counted_until_ns(span) - span->from_ns;
}

uint64_t tapir_span_store__self_ns(const struct tapir_span_store *s, uint32_t span)
{
	const struct tapir_span *of = &s->all.data[span];
	uint64_t covered_ns = of->from_ns, self_ns = 0, until_ns = counted_until_ns(of);

	for (uint32_t i = of->first_child; i != TAPIR_NO_SPAN; i = s->all.data[i].next_sibling) {
		const struct tapir_span *child = &s->all.data[i];

		if (child->from_ns >= until_ns)
			break;
		if (child->from_ns > covered_ns)
			self_ns += child->from_ns - covered_ns;
		if (child->until_ns > covered_ns)
			covered_ns = child->until_ns < until_ns ? child->until_ns : until_ns;
	}
	return self_ns + (until_ns > covered_ns ? until_ns - covered_ns : 0);
}

static void visit(struct tapir_span_store *s, uint32_t idx, unsigned depth, uint64_t until_ns,
		  tapir_span_fn fn, void *ctx)
{
	struct tapir_span *span = &s->all.data[idx];

	if (span->is_visited || depth > TAPIR_SPAN_DEPTH_MAX)
		return;
	span->is_visited = true;
	if (span->until_ns && span->until_ns < until_ns)
		until_ns = span->until_ns;
	if (span->until_ns)
		span->counted_until_ns = until_ns > span->from_ns ? until_ns : span->from_ns;
	fn(ctx, span, idx, depth);
	for (uint32_t i = span->first_child; i != TAPIR_NO_SPAN; i = s->all.data[i].next_sibling)
		visit(s, i, depth + 1, until_ns, fn, ctx);
}

void tapir_span_store__each_below(struct tapir_span_store *s, uint32_t root, tapir_span_fn fn,
				  void *ctx)
{
	visit(s, root, 0, UINT64_MAX, fn, ctx);
}

const char *tapir_span__kind(const struct tapir_span *span)
{
	if (span->is_statement)
		return "statement";
	if (span->is_call)
		return "call";
	if (span->is_request)
		return "request";
	return span->is_seen ? "work" : "span";
}

void tapir_span_store__fini(struct tapir_span_store *s)
{
	struct tapir_span *span;

	tapir_vec_for_each (span, &s->all)
		free(span->label);
	tapir_vec__fini(&s->all);
	tapir_map__fini(&s->by_id);
}
