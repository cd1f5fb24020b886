// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of spans: those of the trees of 'report --view requests', a row for each. Spans whose
 * parents make a circle are below no root: the first of them is one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "analyze/spans/request_spans.h"
#include "output/query/query_pass.h"

#define SPAN_ID_BYTES 17 /* 16 hex digits and NUL */

struct spans_pass {
	struct tapir_pass *pass;
	struct tapir_request_spans spans;
};

static const char *keep_id(struct tapir_pass *p, uint64_t id)
{
	char text[SPAN_ID_BYTES];

	if (!id)
		return NULL;
	snprintf(text, sizeof(text), "%016" PRIx64, id);
	return tapir_pass__keep_word(p, text);
}

static void add_span_row(void *ctx, const struct tapir_span *span, uint32_t idx, unsigned depth)
{
	struct spans_pass *s = ctx;
	const struct tapir_span *parent =
		span->parent == TAPIR_NO_SPAN ? NULL : &s->spans.store.all.data[span->parent];
	struct tapir_pass *p = s->pass;
	struct tapir_span_list_row *row = tapir_pass__add_row(p, sizeof(*row));

	if (!row)
		return;
	*row = (struct tapir_span_list_row){
		.from_ns = span->from_ns,
		.until_ns = span->until_ns,
		.pid = span->tgid,
		.tid = span->tid,
		.parent_pid = parent ? parent->tgid : 0,
		.depth = depth,
		.status = span->status,
		.process = tapir_pass__keep_sv(
			p, tapir_timeline__comm(p->tl, span->tgid, span->from_ns)),
		.trace_id = tapir_pass__keep_word(p, span->trace),
		.span_id = keep_id(p, span->id),
		.parent_id = keep_id(p, parent ? parent->id : span->parent_id),
		.kind = tapir_pass__keep_word(p, tapir_span__kind(span)),
		.name = tapir_pass__keep_word(p, span->label)};
	if (!span->until_ns)
		return;
	row->took_ns = span->until_ns - span->from_ns;
	row->self_ns = tapir_span_store__self_ns(&s->spans.store, idx);
}

static void add_trees(struct spans_pass *s)
{
	struct tapir_span_store *store = &s->spans.store;

	tapir_span_store__link(store);
	for (uint32_t i = 0; i < store->all.cnt; i++)
		if (!store->all.data[i].has_parent)
			tapir_span_store__each_below(store, i, add_span_row, s);
	for (uint32_t i = 0; i < store->all.cnt; i++)
		tapir_span_store__each_below(store, i, add_span_row, s);
}

/* ---- what the timeline says --------------------------------------------------------------------- */

static void spans_on_event(void *ctx, struct tapir_tl_thread *t,
			   const struct tapir_probe_view *probe,
			   const struct tapir_event_view *event)
{
	tapir_request_spans__event(&((struct spans_pass *)ctx)->spans, t, probe, event);
}

static void spans_on_sample(void *ctx, struct tapir_tl_thread *t,
			    const struct tapir_rec_sample *sample)
{
	tapir_request_spans__see(&((struct spans_pass *)ctx)->spans, &sample->h, t->tgid, t->tid);
}

static void spans_on_switch(void *ctx, const struct tapir_rec_switch *rec)
{
	tapir_request_spans__switched(&((struct spans_pass *)ctx)->spans, rec);
}

static void spans_on_open(void *ctx, struct tapir_interval *i)
{
	tapir_request_spans__open(&((struct spans_pass *)ctx)->spans, i);
}

static void spans_on_close(void *ctx, struct tapir_interval *i)
{
	tapir_request_spans__close(&((struct spans_pass *)ctx)->spans, i);
}

int tapir_pass__spans(struct tapir_pass *p, struct tapir_reader *reader)
{
	static const struct tapir_timeline_fns fns = {.event = spans_on_event,
						      .sample = spans_on_sample,
						      .switched = spans_on_switch,
						      .open = spans_on_open,
						      .close = spans_on_close};
	const struct tapir_timeline_opts opts = {.wants_stacks = false};
	struct spans_pass s = {.pass = p};
	struct tapir_pairs pairs = {};
	int err = -ENOMEM;

	p->tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, &opts);
	tapir_request_spans__init(&s.spans, p->tl);
	if (p->tl)
		err = tapir_timeline__listen(p->tl, &fns, &s);
	if (!err)
		err = tapir_pass__read_timeline(p, reader);
	if (!err)
		add_trees(&s);
	if (!err && s.spans.joins.failed)
		err = -ENOMEM;
	tapir_request_spans__fini(&s.spans);
	tapir_timeline__free(p->tl);
	tapir_pairs__fini(&pairs);
	return err ? err : p->err;
}
