// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests by route; and those with trace ids, through all recorded processes: the slowest that no
 * recorded process was asked for by another's request, each with the spans below it. Calls are no
 * requests. What a span's children do not cover is its own time; what its thread waited for then is
 * known where it began and ended on one thread. Own times and waits add up to the request; rows of
 * the kind "after" are not part of it.
 */
#include "analyze/view.h"
#include "base/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/spans/request_routes.h"
#include "analyze/spans/request_spans.h"
#include "analyze/spans/span_path.h"

struct requests {
	struct tapir_view_args args;
	struct tapir_request_spans spans;
	struct tapir_request_routes *routes;
	struct tapir_awaits awaits;
	struct tapir_exchange_sums exchanges;
};

/* ---- events ---------------------------------------------------------------------------------- */

static void requests_on_event(void *ctx, struct tapir_tl_thread *t,
			      const struct tapir_probe_view *probe,
			      const struct tapir_event_view *event)
{
	struct requests *r = ctx;

	tapir_request_spans__event(&r->spans, t, probe, event);
	tapir_awaits__event(&r->awaits, t, probe, event);
	if (r->routes)
		tapir_request_routes__event(r->routes, t, probe, event);
}

static void requests_on_sample(void *ctx, struct tapir_tl_thread *t,
			       const struct tapir_rec_sample *sample)
{
	struct requests *r = ctx;

	tapir_request_spans__see(&r->spans, &sample->h, t->tgid, t->tid);
}

static void on_switch(void *ctx, const struct tapir_rec_switch *rec)
{
	struct requests *r = ctx;

	tapir_request_spans__switched(&r->spans, rec);
}

static void requests_on_wait(void *ctx, const struct tapir_wait *w)
{
	struct requests *r = ctx;

	tapir_request_spans__wait(&r->spans, w);
}

/* ---- the result ------------------------------------------------------------------------------- */

static uint64_t took_ns(const struct tapir_span *span)
{
	return span->until_ns - span->from_ns;
}

struct rows {
	struct requests *r;
	struct tapir_view_result *result;
	size_t table;
	const struct tapir_span *root;
};

static void add_span_row(struct rows *rows, const struct tapir_span *span, const char *text,
			 unsigned depth, uint64_t ns, const char *kind)
{
	struct tapir_view_result *result = rows->result;
	struct tapir_str line = {};

	tapir_str__addf(&line, "%*s%s", (int)(2 * depth), "", text);
	tapir_view_result__text(result, rows->table, line.data);
	tapir_view_result__u64(result, rows->table, ns);
	tapir_view_result__share(result, rows->table, ns, took_ns(rows->root));
	tapir_view_result__u64(result, rows->table, span->tgid);
	tapir_view_result__text(result, rows->table, kind);
	tapir_str__fini(&line);
}

/* Adds the span's own time: waits by their reasons, if they are known, and the remainder. */
static void add_own(struct rows *rows, const struct tapir_span *span, uint32_t idx, unsigned depth)
{
	uint64_t left_ns = tapir_span_store__self_ns(&rows->r->spans.store, idx);

	for (unsigned i = 0; i < TAPIR_SPAN_REASONS_MAX && !span->has_moved; i++) {
		const struct tapir_span_wait *w = &span->waits[i];
		uint64_t ns = w->ns < left_ns ? w->ns : left_ns;
		char text[64];

		if (!ns)
			continue;
		left_ns -= ns;
		if (w->reason == tapir_span_waits_for_cpu)
			snprintf(text, sizeof(text), "waits for a CPU");
		else
			snprintf(text, sizeof(text), "waits: %s",
				 w->reason ? w->reason : "(other)");
		add_span_row(rows, span, text, depth + 1, ns, "wait");
	}
	if (left_ns)
		add_span_row(rows, span,
			     span->has_waits   ? "own, with its waits"
			     : span->has_moved ? "own, between threads"
					       : "own",
			     depth + 1, left_ns, "own");
}

static void add_span(void *ctx, const struct tapir_span *span, uint32_t idx, unsigned depth)
{
	struct rows *rows = ctx;
	uint64_t counted_ns;

	if (!span->until_ns)
		return;
	counted_ns = tapir_span__counted_ns(span);
	add_span_row(rows, span, span->label ? span->label : "(no name)", depth, counted_ns,
		     "span");
	add_own(rows, span, idx, depth);
	if (took_ns(span) > counted_ns)
		add_span_row(rows, span, "after its caller's end", depth + 1,
			     took_ns(span) - counted_ns, "after");
}

struct root {
	uint64_t took_ns;
	uint32_t idx;
};

static int requests_by_time(const void *a, const void *b)
{
	const struct root *x = a, *y = b;

	return tapir_order__down(x->took_ns, y->took_ns) ?: tapir_order__up(x->idx, y->idx);
}

/* Adds the span, or for a call that no request made, the spans below it that are no calls. */
static size_t add_root(const struct requests *r, struct root *roots, uint32_t idx, unsigned depth)
{
	const struct tapir_span *span = &r->spans.store.all.data[idx];
	size_t cnt = 0;

	if (!span->until_ns || depth > TAPIR_SPAN_DEPTH_MAX)
		return 0;
	if (!depth && span->is_seen && span->first_child == TAPIR_NO_SPAN)
		return 0; /* nothing more is known of it than that it was there */
	if (!span->is_call) {
		roots[0] = (struct root){took_ns(span), idx};
		return 1;
	}
	for (uint32_t i = span->first_child; i != TAPIR_NO_SPAN;
	     i = r->spans.store.all.data[i].next_sibling)
		cnt += add_root(r, roots + cnt, i, depth + 1);
	return cnt;
}

/* The slowest first. */
static size_t find_roots(const struct requests *r, struct root *roots)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < r->spans.store.all.cnt; i++)
		if (!r->spans.store.all.data[i].has_parent)
			cnt += add_root(r, roots + cnt, i, 0);
	qsort(roots, cnt, sizeof(*roots), requests_by_time);
	return cnt;
}

/* "GET /checkout 812 ms > GET /tax 790 ms (pid 77) > SELECT price 780 ms" */
static void add_path(struct requests *r, struct tapir_view_result *result, size_t table,
		     uint32_t root)
{
	static const struct tapir_column columns[] = {{"path", "MOST OF IT", TAPIR_CELL_TEXT}, {}};
	struct tapir_str text = {};
	size_t path;

	if (tapir_span_path__add(&r->spans.store, root, &text)) {
		path = tapir_view_result__table_of_row(result, table, "path", NULL, columns);
		tapir_view_result__text(result, path, text.data);
	}
	result->failed |= text.failed;
	tapir_str__fini(&text);
}

static void add_slowest(struct requests *r, struct tapir_view_result *result,
			const struct root *roots, size_t cnt)
{
	static const struct tapir_column columns[] = {{"ns", ">TOOK", TAPIR_CELL_NS},
						      {"at_ns", ">AT", TAPIR_CELL_TIME},
						      {"pid", ">PID", TAPIR_CELL_ID},
						      {"process", "PROCESS", TAPIR_CELL_TEXT},
						      {"trace_id", "TRACE ID", TAPIR_CELL_TEXT},
						      {"label", "WHAT", TAPIR_CELL_TEXT},
						      {}};
	static const struct tapir_column parts[] = {
		{"part", "TIME SPENT", TAPIR_CELL_TEXT},   {"ns", ">TIME", TAPIR_CELL_NS},
		{"percent", ">SHARE", TAPIR_CELL_PERCENT}, {"pid", ">PID", TAPIR_CELL_ID},
		{"kind", NULL, TAPIR_CELL_TEXT},	   {}};
	size_t table = tapir_view_result__table(result, "slowest", "the slowest", columns);

	for (size_t i = 0; i < cnt; i++) {
		const struct tapir_span *root = &r->spans.store.all.data[roots[i].idx];
		struct rows rows = {.r = r, .result = result, .root = root};

		tapir_view_result__u64(result, table, took_ns(root));
		tapir_view_result__time(result, table, root->from_ns);
		tapir_view_result__u64(result, table, root->tgid);
		tapir_view_result__textn(
			result, table, tapir_timeline__comm(r->args.tl, root->tgid, root->from_ns));
		tapir_view_result__text(result, table, root->trace);
		tapir_view_result__text(result, table, root->label);
		add_path(r, result, table, roots[i].idx);
		rows.table = tapir_view_result__table_of_row(result, table, "parts", NULL, parts);
		tapir_span_store__each_below(&r->spans.store, roots[i].idx, add_span, &rows);
	}
}

static int requests_finish(void *ctx, struct tapir_view_result *result)
{
	struct requests *r = ctx;
	char text[TAPIR_NS_TEXT_BYTES];
	struct root *roots = calloc(r->spans.store.all.cnt + 1, sizeof(*roots));
	bool has_routes;
	size_t cnt;

	if (!roots || !r->routes) {
		free(roots);
		return -ENOMEM;
	}
	tapir_span_store__link(&r->spans.store);
	cnt = find_roots(r, roots);
	tapir_awaits__finish(&r->awaits);
	has_routes = tapir_request_routes__finish(
		r->routes, &(struct tapir_request_names){&r->awaits, &r->exchanges}, result,
		r->args.top);
	result->failed |= r->awaits.failed || r->exchanges.failed || r->spans.joins.failed;
	if (!cnt && !has_routes)
		result->has_nothing = true;
	if (cnt) {
		tapir_str__addf(&result->headline,
				"%s%zu requests with trace ids, %zu spans; the "
				"slowest took %s",
				has_routes ? "; " : "", cnt, r->spans.store.all.cnt,
				tapir_ns__text(roots[0].took_ns, text));
		add_slowest(r, result, roots, cnt < r->args.top ? cnt : r->args.top);
	}
	if (r->spans.store.dropped_cnt)
		tapir_view_result__note(result, "%" PRIu64 " spans more than %u are left out",
					r->spans.store.dropped_cnt, TAPIR_SPANS_MAX);
	free(roots);
	return 0;
}

static void begin_view(void *ctx)
{
	struct requests *r = ctx;

	r->routes = tapir_request_routes__new(r->args.tl);
	tapir_request_spans__init(&r->spans, r->args.tl);
	r->awaits.tl = r->args.tl;
	r->awaits.ended = r->routes ? tapir_request_routes__await : NULL;
	r->awaits.ended_ctx = r->routes;
}

static void requests_on_open(void *ctx, struct tapir_interval *i)
{
	struct requests *r = ctx;

	tapir_request_spans__open(&r->spans, i);
	if (r->routes)
		tapir_request_routes__open(r->routes, i);
}

static void on_awaited(void *ctx, struct tapir_interval *i, uint64_t ns)
{
	struct requests *r = ctx;

	if (r->routes)
		tapir_request_routes__awaited(r->routes, i, ns);
}

static void requests_on_record(void *ctx, const struct tapir_rec *rec)
{
	struct requests *r = ctx;
	const struct tapir_exchange_row *row;

	if (rec->type != TAPIR_REC_EXCHANGE || !r->routes)
		return;
	row = tapir_exchange_sums__add(&r->exchanges, tapir_timeline__catalog(r->args.tl),
				       (const void *)rec);
	if (row)
		tapir_request_routes__exchange(r->routes, (const void *)rec, row->idx);
}

static void requests_on_close(void *ctx, struct tapir_interval *i)
{
	struct requests *r = ctx;

	tapir_request_spans__close(&r->spans, i);
	if (r->routes)
		tapir_request_routes__close(r->routes, i);
}

static void requests_fini(void *ctx)
{
	struct requests *r = ctx;

	tapir_request_routes__free(r->routes);
	tapir_awaits__fini(&r->awaits);
	tapir_exchange_sums__fini(&r->exchanges);
	tapir_request_spans__fini(&r->spans);
}

const struct tapir_view tapir_view_requests = {
	.name = "requests",
	.is_of_traces = true,
	.is_by_trace = true,
	.summary = "requests by route; by trace id, the slowest across processes",
	.fns = {.event = requests_on_event,
		.wait = requests_on_wait,
		.sample = requests_on_sample,
		.switched = on_switch,
		.open = requests_on_open,
		.awaited = on_awaited,
		.close = requests_on_close,
		.record = requests_on_record},
	.nothing = "no request was seen",
	.ctx_bytes = sizeof(struct requests),
	.default_top = 10,
	.begin = begin_view,
	.finish = requests_finish,
	.fini = requests_fini,
};
