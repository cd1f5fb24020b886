// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Goes down from the root, each time to the child that lasts longest within its parent. Links come
 * from ids of other processes: the depth is bounded, as circles are possible.
 */
#include "analyze/spans/span_path.h"

#include <inttypes.h>

#include "analyze/spans/route_of_path.h"
#include "analyze/statement_text.h"
#include "analyze/view.h"

#define MAX_HOPS 8u

static uint64_t took_ns(const struct tapir_span *span)
{
	return span->until_ns - span->from_ns;
}

/* The time of a child while its parent lasted: a server may end later than its client's call. */
static uint64_t within_ns(const struct tapir_span *child, const struct tapir_span *parent)
{
	uint64_t until_ns = child->until_ns < parent->until_ns ? child->until_ns : parent->until_ns;

	return until_ns > child->from_ns ? until_ns - child->from_ns : 0;
}

/* Returns TAPIR_NO_SPAN if no child has most of the time. */
static uint32_t longest_child(const struct tapir_span_store *s, uint32_t parent)
{
	const struct tapir_span *of = &s->all.data[parent];
	uint32_t best = TAPIR_NO_SPAN;
	uint64_t best_ns = 0;

	for (uint32_t i = of->first_child; i != TAPIR_NO_SPAN; i = s->all.data[i].next_sibling) {
		uint64_t ns = within_ns(&s->all.data[i], of);

		if (ns <= best_ns)
			continue;
		best = i;
		best_ns = ns;
	}
	return best_ns * 2 >= took_ns(of) ? best : TAPIR_NO_SPAN;
}

/* A call whose server is recorded, and a span without a name of which intervals are known. */
static bool is_passed(const struct tapir_span *span, const struct tapir_span *next)
{
	return span->is_seen || (span->is_call && next->tgid != span->tgid);
}

static void add_hop(const struct tapir_span *span, const struct tapir_span *last,
		    struct tapir_str *out)
{
	char took[TAPIR_NS_TEXT_BYTES];

	if (last)
		tapir_str__adds(out, " > ");
	if (span->is_statement && span->label)
		tapir_statement_text__add(tapir_sv__of(span->label), out);
	else
		tapir_route__add(out, span->label ? span->label : "(no name)");
	tapir_str__addf(out, " %s", tapir_ns__text(took_ns(span), took));
	if (last && last->tgid != span->tgid)
		tapir_str__addf(out, " (pid %" PRIu32 ")", span->tgid);
}

bool tapir_span_path__add(const struct tapir_span_store *s, uint32_t root, struct tapir_str *out)
{
	const struct tapir_span *last = &s->all.data[root];
	uint32_t at, next = longest_child(s, root);

	if (next == TAPIR_NO_SPAN)
		return false;
	add_hop(last, NULL, out);
	for (unsigned hop = 0; next != TAPIR_NO_SPAN && hop < MAX_HOPS; hop++) {
		at = next;
		next = longest_child(s, at);
		if (next != TAPIR_NO_SPAN && is_passed(&s->all.data[at], &s->all.data[next]))
			continue;
		add_hop(&s->all.data[at], last, out);
		last = &s->all.data[at];
	}
	return true;
}
