// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two passes: the first finds when the recording begins and ends, since the parts of its time have
 * to be known before anything is added to them; in the second a timeline is listened to.
 */
#include "analyze/diff/diff_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/interval_names.h"
#include "analyze/app_code.h"
#include "decode/record_where.h"
#include "analyze/spans/request_routes.h"
#include "analyze/spans/route_of_path.h"
#include "analyze/event_counts.h"
#include "analyze/wait_reason.h"
#include "base/clock.h"
#include "base/keyed.h"
#include "symbol/unnamed_frames.h"

#define RECORDS_BETWEEN_CHECKS 4096
#define MAX_PROCESSES	       65536u
#define UNKNOWN_ROW	       (TAPIR_DIFF_NO_ROW - 1)

struct reading {
	struct tapir_diff_side *side;
	const struct tapir_diff_opts *opts;
	struct tapir_timeline *tl;
	struct tapir_app_code app_code;
	struct tapir_wait_reasons reasons;
	struct tapir_event_counts exceptions, allocations, samples;
	struct tapir_vec(size_t) self_by_node, total_by_node;
	struct tapir_map wait_by_key;
	struct tapir_map source_by_tgid;
	struct tapir_str text; /* of a moment */
	uint64_t mark, record_cnt;
	bool failed;
};

/* ---- names that two recordings have in common ------------------------------------------------ */

/* Replaces what a process calls differently each time: addresses, and numbers of lambdas. */
static void add_lasting(struct tapir_str *out, const char *name)
{
	struct tapir_sv module = tapir_unnamed_frame__module(name);
	size_t len;

	if (module.len) {
		tapir_str__add(out, module.data, module.len);
		tapir_str__adds(out, " (no name)");
		return;
	}
	while (*name) {
		len = strncmp(name, "0x", 2) ? 0 : strspn(name + 2, "0123456789abcdefABCDEF");
		if (len >= 4) {
			tapir_str__adds(out, "0x...");
			name += 2 + len;
		} else {
			tapir_str__addc(out, *name++);
		}
	}
}

static size_t row_of_text(struct reading *r, enum tapir_diff_kind kind)
{
	r->failed |= r->text.failed;
	return r->text.len ? tapir_diff_rows__idx(&r->side->rows, kind, r->text.data, r->text.len)
			   : TAPIR_DIFF_NO_ROW;
}

static size_t function_row(struct reading *r, enum tapir_diff_kind kind, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(r->tl);

	tapir_str__clear(&r->text);
	add_lasting(&r->text, tree->names.data[tree->nodes.data[node].name]);
	return row_of_text(r, kind);
}

/* ---- CPU time ---------------------------------------------------------------------------------- */

static bool is_own(const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_tree_node *n = &tree->nodes.data[node];

	return n->is_of_program || tapir_app_code__is_app(n, tree->names.data[n->name]);
}

#define cached_row(r, cache, node, found)                                                          \
	({                                                                                         \
		while ((cache)->cnt <= (node) && !(r)->failed)                                     \
			(r)->failed = !tapir_vec__push(cache, UNKNOWN_ROW);                        \
		if ((node) < (cache)->cnt && (cache)->data[node] == UNKNOWN_ROW)                   \
			(cache)->data[node] = (found);                                             \
		(node) < (cache)->cnt ? (cache)->data[node] : TAPIR_DIFF_NO_ROW;                   \
	})

static void add_diff_functions(struct reading *r, uint32_t leaf,
			       const struct tapir_rec_sample *sample)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(r->tl);
	struct tapir_diff_rows *rows = &r->side->rows;
	double ns = (double)sample->period;

	tapir_diff_rows__add(
		rows, cached_row(r, &r->self_by_node, leaf, function_row(r, TAPIR_DIFF_CPU, leaf)),
		sample->h.time_ns, ns);
	r->mark++;
	for (uint32_t node = leaf; node; node = tree->nodes.data[node].parent) {
		size_t idx = cached_row(r, &r->total_by_node, node,
					is_own(tree, node) ? function_row(r, TAPIR_DIFF_TOTAL, node)
							   : TAPIR_DIFF_NO_ROW);

		if (idx >= rows->rows.cnt || rows->rows.data[idx].mark == r->mark)
			continue; /* recursion */
		rows->rows.data[idx].mark = r->mark;
		tapir_diff_rows__add(rows, idx, sample->h.time_ns, ns);
	}
}

static void diff_on_sample(void *ctx, struct tapir_tl_thread *t,
			   const struct tapir_rec_sample *sample)
{
	struct reading *r = ctx;
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(r->tl);
	struct tapir_sv comm = tapir_timeline__comm(r->tl, t->tgid, sample->h.time_ns);

	tapir_str__clear(&r->text);
	tapir_str__add(&r->text, comm.data, comm.data ? strnlen(comm.data, comm.len) : 0);
	tapir_diff_rows__add(&r->side->rows, row_of_text(r, TAPIR_DIFF_PROCESS), sample->h.time_ns,
			     (double)sample->period);
	if ((sample->stack_id || sample->kstack_id) && t->last_node < tree->nodes.cnt &&
	    t->last_node)
		add_diff_functions(r, t->last_node, sample);
}

/* ---- waits ------------------------------------------------------------------------------------- */

static size_t find_wait_row(struct reading *r, const struct tapir_wait *wait)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(r->tl);
	const struct tapir_rec_switch left = {.out_state = wait->state, .flags = wait->flags};
	const char *reason = tapir_wait_reasons__of(&r->reasons, tree, wait->node);
	uint32_t name = wait->node < tree->nodes.cnt
				? tapir_app_code__or_native(&r->app_code, tree, wait->node)
				: TAPIR_APP_CODE_NONE;

	tapir_str__clear(&r->text);
	tapir_str__adds(&r->text, reason ? reason : tapir_switch__state_name(&left));
	if (name == TAPIR_APP_CODE_NONE && wait->node < tree->nodes.cnt)
		name = tree->nodes.data[tapir_stack_tree__user_leaf(tree, wait->node)].name;
	if (name != TAPIR_APP_CODE_NONE && *tree->names.data[name]) {
		tapir_str__adds(&r->text, " in ");
		add_lasting(&r->text, tree->names.data[name]);
	}
	return row_of_text(r, TAPIR_DIFF_WAIT);
}

static size_t wait_row(struct reading *r, const struct tapir_wait *wait)
{
	uint64_t key = (uint64_t)wait->node << 32 | wait->state;
	uint64_t *idx = tapir_map__get(&r->wait_by_key, key);

	if (idx)
		return *idx;
	idx = tapir_map__put(&r->wait_by_key, key, NULL);
	r->failed |= !idx;
	if (!idx)
		return TAPIR_DIFF_NO_ROW;
	*idx = find_wait_row(r, wait);
	return *idx;
}

/* A thread that was preempted, or could run again, waits for a CPU, whatever its stack. */
static void diff_on_wait(void *ctx, const struct tapir_wait *wait)
{
	struct reading *r = ctx;
	struct tapir_diff_rows *rows = &r->side->rows;
	uint64_t ready_ns = wait->state ? wait->wake_ns : wait->from_ns;

	if (wait->state)
		tapir_diff_rows__spread(rows, wait_row(r, wait), wait->from_ns, ready_ns);
	if (wait->until_ns > ready_ns)
		tapir_diff_rows__spread(rows, tapir_diff_rows__idx(rows, TAPIR_DIFF_WAIT, "CPU", 3),
					ready_ns, wait->until_ns);
}

/* ---- intervals and requests -------------------------------------------------------------------- */

static const struct tapir_interval_kind *interval_kind_of(const struct reading *r, uint32_t kind)
{
	return &tapir_timeline__pairs(r->tl)->kinds.data[kind];
}

/* The first event of a request shows who reports it, before any request has ended. */
static void diff_on_open(void *ctx, struct tapir_interval *i)
{
	struct reading *r = ctx;
	const struct tapir_interval_kind *kind = interval_kind_of(r, i->kind);
	uint64_t *source, new_source;

	if (!kind->is_request)
		return;
	new_source = (uint64_t)tapir_request__source(kind);
	source = r->source_by_tgid.cnt < MAX_PROCESSES
			 ? tapir_map__put(&r->source_by_tgid, i->tgid, NULL)
			 : tapir_map__get(&r->source_by_tgid, i->tgid);
	if (source && *source < new_source)
		*source = new_source;
}

static void add_request(struct reading *r, const struct tapir_interval *i)
{
	const uint64_t *source = tapir_map__get(&r->source_by_tgid, i->tgid);
	size_t idx;

	if (source && *source > (uint64_t)tapir_request__source(interval_kind_of(r, i->kind)))
		return;
	tapir_str__clear(&r->text);
	tapir_route__add(&r->text, i->label ? i->label : "");
	if (!r->text.len)
		tapir_str__adds(&r->text, "(no path)");
	idx = row_of_text(r, TAPIR_DIFF_ROUTE);
	tapir_diff_rows__took(&r->side->rows, idx, i->until_ns, i->until_ns - i->from_ns);
}

static void diff_on_close(void *ctx, struct tapir_interval *i)
{
	struct reading *r = ctx;
	const struct tapir_interval_kind *kind = interval_kind_of(r, i->kind);
	size_t idx;

	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END) ||
	    i->from_ns < r->side->rows.from_ns || kind->is_unknown_by_thread)
		return;
	if (kind->is_request) {
		add_request(r, i);
		return;
	}
	tapir_str__clear(&r->text);
	tapir_str__addf(&r->text, "%s:%s", kind->provider, kind->name);
	idx = row_of_text(r, kind->cause == TAPIR_CAUSE_GC ? TAPIR_DIFF_GC : TAPIR_DIFF_INTERVAL);
	tapir_diff_rows__took(&r->side->rows, idx, i->until_ns, i->until_ns - i->from_ns);
}

/* ---- events and counters ----------------------------------------------------------------------- */

static void add_counted(struct reading *r, struct tapir_event_counts *counts,
			enum tapir_diff_kind kind, uint64_t at_ns)
{
	if (!counts->last)
		return;
	tapir_str__clear(&r->text);
	add_lasting(&r->text, *counts->last->label ? counts->last->label : "(no type)");
	tapir_diff_rows__add(&r->side->rows, row_of_text(r, kind), at_ns,
			     (double)counts->last_weight);
}

static void diff_on_event(void *ctx, struct tapir_tl_thread *t,
			  const struct tapir_probe_view *probe,
			  const struct tapir_event_view *event)
{
	struct reading *r = ctx;
	uint64_t at_ns = event->rec->h.time_ns;

	tapir_str__clear(&r->text);
	tapir_str__add(&r->text, probe->provider.data, probe->provider.len);
	tapir_str__addc(&r->text, ':');
	tapir_str__add(&r->text, probe->event.data, probe->event.len);
	tapir_diff_rows__add(&r->side->rows, row_of_text(r, TAPIR_DIFF_EVENT), at_ns, 0);
	if (tapir_event_counts__add(&r->exceptions, t, probe, event))
		add_counted(r, &r->exceptions, TAPIR_DIFF_EXCEPTION, at_ns);
	else if (tapir_event_counts__add(&r->samples, t, probe, event))
		add_counted(r, &r->samples, TAPIR_DIFF_ALLOCATION, at_ns);
	else if (!r->samples.cnt && tapir_event_counts__add(&r->allocations, t, probe, event))
		add_counted(r, &r->allocations, TAPIR_DIFF_ALLOCATION, at_ns); /* as the view */
}

static void on_counter(void *ctx, const struct tapir_rec_counter *rec)
{
	struct reading *r = ctx;
	struct tapir_counter_view view;
	double value = rec->value;

	if (!isfinite(value))
		return;
	if (rec->kind == TAPIR_COUNTER_RATE && rec->interval_ns)
		value *= 1e9 / (double)rec->interval_ns;
	tapir_counter_view__of(&rec->h, &view);
	tapir_str__clear(&r->text);
	tapir_str__add(&r->text, view.provider.data, view.provider.len);
	tapir_str__addc(&r->text, ':');
	tapir_str__add(&r->text, view.name.data, view.name.len);
	if (view.tags.len) {
		tapir_str__addc(&r->text, ' ');
		tapir_str__add(&r->text, view.tags.data, view.tags.len);
	}
	tapir_diff_rows__add(&r->side->rows, row_of_text(r, TAPIR_DIFF_COUNTER), rec->h.time_ns,
			     value);
}

static const struct tapir_timeline_fns fns = {.sample = diff_on_sample,
					      .wait = diff_on_wait,
					      .open_ended_wait = diff_on_wait,
					      .event = diff_on_event,
					      .open = diff_on_open,
					      .close = diff_on_close,
					      .counter = on_counter};

/* ---- passes ------------------------------------------------------------------------------------ */

static bool should_continue_diff(struct reading *r)
{
	return !r->opts->should_continue || r->record_cnt++ % RECORDS_BETWEEN_CHECKS ||
	       r->opts->should_continue(r->opts->ctx);
}

static void count_loss(struct tapir_diff_side *side, const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;

	for (int i = 0; i < TAPIR_FAMILY_CNT; i++)
		if (tapir_loss__kind(loss->cause) == tapir_families[i].loss_kind)
			side->lost[i] += loss->count;
}

static void take_facts(struct tapir_diff_side *side, const struct tapir_reader *reader)
{
	const struct tapir_catalog *catalog = tapir_reader__catalog(reader);
	const struct tapir_reader_stats *stats = tapir_reader__stats(reader);
	struct tapir_sv specs = tapir_catalog__meta_value(catalog, TAPIR_META_SPECS);

	memcpy(side->captured, stats->captured, sizeof(side->captured));
	side->is_truncated = stats->is_truncated || tapir_reader_stats__is_damaged(stats);
	side->has_samples = side->captured[TAPIR_FAMILY_SAMPLE] ||
			    tapir_catalog__meta_value(catalog, "sample_hz").len;
	side->has_switches = side->captured[TAPIR_FAMILY_SWITCH] ||
			     tapir_catalog__meta_value(catalog, "switches").len;
	if (specs.data)
		side->specs = strndup(specs.data, specs.len);
}

static void take_span(struct tapir_diff_side *side, const struct tapir_catalog *catalog,
		      uint64_t from_ns, uint64_t until_ns)
{
	uint64_t attached_ns = tapir_catalog__attached_ns(catalog);

	tapir_catalog__widen_span(catalog, until_ns, &from_ns, &until_ns);
	if (attached_ns > from_ns && attached_ns < until_ns)
		from_ns = attached_ns;
	side->rows.from_ns = from_ns;
	side->rows.until_ns = until_ns;
	side->span_ns = until_ns > from_ns ? until_ns - from_ns : 0;
	for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++)
		side->seconds[i] = (double)side->span_ns / TAPIR_NS_PER_SEC / TAPIR_DIFF_PARTS;
}

static int measure_span(struct reading *r, struct tapir_reader *reader)
{
	const struct tapir_rec *rec;
	uint64_t from_ns = UINT64_MAX, until_ns = 0;
	int err;

	while ((err = tapir_reader__next(reader, &rec)) > 0) {
		if (!should_continue_diff(r))
			return -ECANCELED;
		if (rec->type == TAPIR_REC_LOSS)
			count_loss(r->side, rec);
		if (tapir_family__of(rec->type) < 0 && rec->type != TAPIR_REC_COUNTER)
			continue;
		from_ns = rec->time_ns < from_ns ? rec->time_ns : from_ns;
		until_ns = rec->time_ns > until_ns ? rec->time_ns : until_ns;
	}
	if (err)
		return err;
	take_facts(r->side, reader);
	take_span(r->side, tapir_reader__catalog(reader), until_ns ? from_ns : 0, until_ns);
	return 0;
}

static int read_compared_records(struct reading *r, struct tapir_reader *reader)
{
	const struct tapir_rec *rec;
	int err = tapir_timeline__listen(r->tl, &fns, r);

	tapir_reader__deliver_descriptions(reader, true);
	tapir_where__begin(r->opts->where, tapir_reader__catalog(reader));
	while (!err && (err = tapir_reader__next(reader, &rec)) > 0) {
		if (tapir_family__of(rec->type) >= 0)
			(void)tapir_where__count(r->opts->where, rec,
						 tapir_rec__counted_thread(rec));
		err = should_continue_diff(r) ? tapir_timeline__add(r->tl, rec) : -ECANCELED;
	}
	if (!err)
		err = tapir_where__check(r->opts->where);
	return err ? err : tapir_timeline__finish(r->tl);
}

static int read_rows(struct reading *r, struct tapir_reader *reader)
{
	const struct tapir_timeline_opts opts = {.from_ns = r->side->rows.from_ns,
						 .until_ns = r->side->rows.until_ns,
						 .where = r->opts->where,
						 .wants_stacks = true};
	struct tapir_pairs pairs = {};
	int err = -ENOMEM;

	r->tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, &opts);
	r->exceptions.tl = r->allocations.tl = r->samples.tl = r->tl;
	if (r->tl)
		err = read_compared_records(r, reader);
	if (!err && (r->failed || r->side->rows.failed || r->exceptions.failed ||
		     r->allocations.failed || r->samples.failed || pairs.failed))
		err = -ENOMEM;
	if (!err) {
		r->side->late = tapir_timeline__stats(r->tl)->late;
		r->side->no_room = tapir_timeline__stats(r->tl)->no_room;
	}
	tapir_timeline__free(r->tl);
	tapir_pairs__fini(&pairs);
	return err;
}

static void count_requests(struct tapir_diff_side *side)
{
	const struct tapir_diff_row *row;

	tapir_vec_for_each (row, &side->rows.rows) {
		if (row->kind != TAPIR_DIFF_ROUTE)
			continue;
		side->request_cnt += row->cnt;
		for (unsigned i = 0; i < TAPIR_DIFF_PARTS; i++)
			side->requests[i] += row->cnts[i];
	}
}

int tapir_diff_side__read(struct tapir_diff_side *side, struct tapir_reader *first,
			  const struct tapir_diff_opts *opts)
{
	struct reading r = {.side = side,
			    .opts = opts,
			    .exceptions.id = TAPIR_COUNTS_EXCEPTIONS,
			    .allocations.id = TAPIR_COUNTS_ALLOCATIONS,
			    .samples.id = TAPIR_COUNTS_ALLOCATION_SAMPLES};
	struct tapir_reader *again = NULL;
	int err = measure_span(&r, first);

	/* Rows are counted in parts of the span, which is known only after a first pass. */
	if (!err)
		err = opts->open_again(opts->ctx, first, &again);
	if (!err)
		err = read_rows(&r, again);
	if (!err)
		count_requests(side);
	tapir_reader__close(again);
	tapir_app_code__fini(&r.app_code);
	tapir_wait_reasons__fini(&r.reasons);
	tapir_event_counts__fini(&r.exceptions);
	tapir_event_counts__fini(&r.allocations);
	tapir_event_counts__fini(&r.samples);
	tapir_vec__fini(&r.self_by_node);
	tapir_vec__fini(&r.total_by_node);
	tapir_map__fini(&r.wait_by_key);
	tapir_map__fini(&r.source_by_tgid);
	tapir_str__fini(&r.text);
	return err;
}

void tapir_diff_side__fini(struct tapir_diff_side *side)
{
	tapir_diff_rows__fini(&side->rows);
	free(side->specs);
}
