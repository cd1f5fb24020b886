// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The slowest intervals of one kind, and where their time went. The parts are the timeline's
 * counts, so they add up to the whole; what each part was is found by the samples and waits inside
 * the interval: time on the CPU is divided among functions by their samples, time asleep is shown
 * with its stack, its reason and the thread that ended it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/runtime_work.h"
#include "analyze/view_slow_impl.h"
#include "analyze/wait_chain.h"
#include "base/diag.h"

#define MAX_DETAILS 64	 /* of an interval; what is more is one "other" */
#define MAX_WATCHED 4096 /* open intervals of the kind that have details */

static void free_details(struct details *d)
{
	struct detail *row;

	if (!d)
		return;
	tapir_vec_for_each (row, &d->rows) {
		free(row->label);
		free(row->holder_in);
		free(row->chain);
	}
	tapir_vec__fini(&d->rows);
	free(d);
}

static void fini_one(struct slow_one *one)
{
	free(one->label);
	free_details(one->details);
}

static void slow_fini(void *ctx)
{
	struct slow *s = ctx;
	struct slow_one *one;

	tapir_vec_for_each (one, &s->slowest)
		fini_one(one);
	tapir_vec__fini(&s->slowest);
	tapir_vec__fini(&s->is_kind);
	tapir_wait_reasons__fini(&s->reasons);
}

static bool is_requested_kind(struct slow *s, uint32_t kind)
{
	const struct tapir_pairs *pairs = tapir_timeline__pairs(s->args.tl);
	int8_t *known;

	while (s->is_kind.cnt <= kind)
		if (!tapir_vec__add(&s->is_kind))
			return false;
	known = &s->is_kind.data[kind];
	if (!*known)
		*known = tapir_interval_kind__is_called(&pairs->kinds.data[kind], s->args.arg) ? 1
											       : -1;
	return *known > 0;
}

/* ---- details ------------------------------------------------------------------------------ */

/* The slot of a detail; the last one is for all that find no room. NULL: out of memory. */
static struct detail *detail_slot(struct slow *s, struct details *d, const struct detail *like)
{
	struct detail *row, *added;

	tapir_vec_for_each (row, &d->rows)
		if (row->cause == like->cause && row->state == like->state &&
		    row->node == like->node && row->waker_tid == like->waker_tid &&
		    row->inside == like->inside)
			return row;
	if (d->rows.cnt >= MAX_DETAILS)
		return NULL;
	added = tapir_vec__add(&d->rows);
	if (added) {
		*added = *like;
		added->label = added->holder_in = added->chain = NULL;
	} else {
		s->args.failed = true;
	}
	return added;
}

static void count_detail(struct slow *s, struct details *d, const struct detail *like,
			 const char *label, uint64_t amount)
{
	struct detail *row = detail_slot(s, d, like);

	if (!row)
		return;
	row->amount += amount;
	row->cnt++;
	if (label && !row->label)
		row->label = strdup(label);
	if (amount > row->holder_ns) { /* of a sample: none */
		free(row->holder_in);
		free(row->chain);
		row->holder_in = like->holder_in ? strdup(like->holder_in) : NULL;
		row->chain = like->chain ? strdup(like->chain) : NULL;
		row->holder_node = like->holder_node;
		row->holder_ns = amount;
	}
}

static void slow_open(void *ctx, struct tapir_interval *i)
{
	struct slow *s = ctx;

	if (!is_requested_kind(s, i->kind) || s->watched >= MAX_WATCHED)
		return;
	i->details = calloc(1, sizeof(struct details));
	s->watched += i->details != NULL;
}

static void slow_sample(void *ctx, struct tapir_tl_thread *t, const struct tapir_rec_sample *sample)
{
	struct slow *s = ctx;
	struct detail like = {.cause = (uint8_t)tapir_tl_thread__cause(t),
			      .state = TAPIR_THREAD_RUNNING,
			      .node = t->last_node,
			      .holder_node = TAPIR_NO_NODE};

	const struct tapir_interval *causing = tapir_tl_thread__causing(t);

	(void)sample;
	if (like.cause == TAPIR_CAUSE_GC)
		like.node =
			tapir_work__collecting_node(tapir_timeline__stacks(s->args.tl), like.node);
	for (struct tapir_interval *i = t->open; i; i = i->outer)
		if (i->details)
			count_detail(s, i->details, &like, causing ? causing->label : NULL, 1);
}

/* Notes what the thread that ended a wait (the lock's holder) did during it, if it was seen. */
static void find_holder(struct slow *s, const struct tapir_wait *w, struct detail *like)
{
	const struct tapir_tl_thread *holder = tapir_timeline__thread(s->args.tl, w->waker_tid);
	struct tapir_wait_chain chain;
	struct tapir_str text = {};

	tapir_comm__copy(like->comm, tapir_timeline__comm(s->args.tl, w->waker_tid, w->wake_ns));
	if (!like->waker_tid || !holder || holder == w->thread)
		return;
	like->holder_node = tapir_tl_thread__dominant_stack(holder, w->from_ns, w->wake_ns);
	like->holder_in = tapir_tl_thread__within(s->args.tl, holder, w->wake_ns);
	tapir_wait_chain__follow(&chain, s->args.tl, &s->reasons, w);
	tapir_wait_chain__add_text(&text, &chain, s->args.tl, w->wake_ns);
	s->args.failed |= text.failed;
	like->chain = text.data; /* freed with it */
}

static void slow_wait(void *ctx, const struct tapir_wait *w)
{
	struct slow *s = ctx;
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(s->args.tl);
	const struct tapir_interval *causing = tapir_tl_thread__causing(w->thread);
	struct detail like = {.state = TAPIR_THREAD_SLEEPING,
			      .node = w->node,
			      .waker_tid = w->waker_tid,
			      .holder_node = TAPIR_NO_NODE};
	bool is_first = true;

	for (struct tapir_interval *i = w->thread->open; i; i = i->outer) {
		if (!i->details)
			continue;
		if (is_first) {
			like.reason = tapir_wait_reasons__of(&s->reasons, tree, w->node);
			if (tapir_wait_reason__is_sleep(like.reason))
				like.waker_tid = 0; /* a timer, in any thread that ran then */
			if (causing && causing->node != TAPIR_NO_NODE &&
			    !tapir_stack__is_complete(tree, w->node))
				like.node = causing->node;
			find_holder(s, w, &like);
		}
		is_first = false;
		for (uint8_t cause = 0; cause < TAPIR_CAUSE_CNT; cause++) {
			uint64_t ns = w->parts.ns[cause][TAPIR_THREAD_SLEEPING];

			like.cause = cause;
			if (ns)
				count_detail(s, i->details, &like, causing ? causing->label : NULL,
					     ns);
		}
	}
	free(like.holder_in);
	free(like.chain);
}

/* ---- which are the slowest ------------------------------------------------------------------ */

/*
 * An interval that the edges of the recording cut is not the slowest: its duration is not known.
 * Nor is one that may have waited for the attach.
 */
static bool is_slower(const struct slow_one *a, const struct slow_one *b)
{
	const uint32_t truncated =
		TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END | TAPIR_INTERVAL_ATTACH;

	if (!(a->flags & truncated) != !(b->flags & truncated))
		return b->flags & truncated;
	return a->until_ns - a->from_ns > b->until_ns - b->from_ns;
}

static void keep_if_slow(struct slow *s, struct tapir_interval *i)
{
	struct slow_one one = {.from_ns = i->from_ns,
			       .until_ns = i->until_ns,
			       .tgid = i->tgid,
			       .tid = i->tid,
			       .end_tid = i->end_tid,
			       .flags = i->flags,
			       .parts = i->parts,
			       .details = i->details};
	size_t at = s->slowest.cnt;

	while (at && is_slower(&one, &s->slowest.data[at - 1]))
		at--;
	if (at >= s->args.top)
		return;
	if (!tapir_vec__add(&s->slowest)) {
		s->args.failed = true;
		return;
	}
	memmove(&s->slowest.data[at + 1], &s->slowest.data[at],
		(s->slowest.cnt - 1 - at) * sizeof(one));
	tapir_comm__copy(one.comm, tapir_timeline__comm(s->args.tl, i->tid, i->from_ns));
	one.label = i->label ? strdup(i->label) : NULL;
	s->slowest.data[at] = one;
	i->details = NULL; /* taken */
	if (s->slowest.cnt > s->args.top)
		fini_one(&s->slowest.data[--s->slowest.cnt]);
}

/* "http_request /inventory/410": an activity that another one began and waited for. */
static void count_inside(struct slow *s, const struct tapir_interval *i)
{
	struct tapir_interval *parent = tapir_timeline__parent(s->args.tl, i);
	const struct tapir_interval_kind *kind =
		&tapir_timeline__pairs(s->args.tl)->kinds.data[i->kind];
	struct detail like = {.state = TAPIR_THREAD_IN_CHILD_ACTIVITY,
			      .node = i->node,
			      .holder_node = TAPIR_NO_NODE};
	struct tapir_str label = {};

	if (!parent || !parent->details)
		return;
	tapir_str__adds(&label, kind->name);
	if (i->label) {
		tapir_str__addc(&label, ' ');
		tapir_str__adds(&label, i->label);
	}
	like.inside = tapir_hash__bytes(1, label.data, label.len);
	count_detail(s, parent->details, &like, label.data, i->until_ns - i->from_ns);
	s->args.failed |= label.failed;
	tapir_str__fini(&label);
}

/* "awaits Task.Delay" */
static void slow_awaited(void *ctx, struct tapir_interval *i, uint64_t ns)
{
	struct detail like = {.state = TAPIR_THREAD_AWAITING,
			      .node = i->await_node,
			      .holder_node = TAPIR_NO_NODE};

	if (!i->details)
		return;
	if (i->await_label)
		like.inside = tapir_hash__bytes(1, i->await_label, strlen(i->await_label));
	count_detail(ctx, i->details, &like, i->await_label, ns);
}

static void count_whole(struct slow *s, const struct tapir_interval *i)
{
	s->cnt++;
	tapir_histogram__add(&s->took, i->until_ns - i->from_ns);
	s->nested_cnt += i->flags & TAPIR_INTERVAL_NESTED ? 1 : 0;
	if (i->flags & TAPIR_INTERVAL_NESTED)
		return; /* its time is that of the one around it */
	s->sum_ns += i->until_ns - i->from_ns;
	tapir_time_breakdown__add_difference(&s->sum, &i->parts, &(struct tapir_time_breakdown){});
}

static void slow_close(void *ctx, struct tapir_interval *i)
{
	struct slow *s = ctx;

	count_inside(s, i);
	if (!is_requested_kind(s, i->kind))
		return;
	s->watched -= i->details != NULL;
	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END))
		s->half_cnt++;
	else if (i->flags & TAPIR_INTERVAL_ATTACH)
		s->attach_cnt++;
	else
		count_whole(s, i);
	keep_if_slow(s, i);
	free_details(i->details);
	i->details = NULL;
}

/* ---- the result ------------------------------------------------------------------------------ */

static const char *how_whole(uint16_t flags)
{
	if (flags & TAPIR_INTERVAL_NO_BEGIN)
		return "begin not recorded";
	if (flags & TAPIR_INTERVAL_NO_END)
		return "end not recorded";
	return flags & TAPIR_INTERVAL_ATTACH ? "overlaps the attach" : NULL;
}

static void add_slowest(struct slow *s, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"ns", ">TOOK", TAPIR_CELL_NS},	       {"at_ns", ">AT", TAPIR_CELL_TIME},
		{"pid", ">PID", TAPIR_CELL_ID},	       {"tid", ">TID", TAPIR_CELL_ID},
		{"thread", "THREAD", TAPIR_CELL_TEXT}, {"incomplete", "", TAPIR_CELL_TEXT},
		{"label", "WHAT", TAPIR_CELL_TEXT},    {"begin_ns", NULL, TAPIR_CELL_ID},
		{"end_tid", NULL, TAPIR_CELL_ID},      {}};
	size_t table = tapir_view_result__table(result, "slowest", "the slowest", columns);
	const struct slow_one *one;

	tapir_vec_for_each (one, &s->slowest) {
		tapir_view_result__u64(result, table, one->until_ns - one->from_ns);
		tapir_view_result__time(result, table, one->from_ns);
		tapir_view_result__u64(result, table, one->tgid);
		tapir_view_result__u64(result, table, one->tid);
		tapir_view_result__text(result, table, one->comm);
		tapir_view_result__text(result, table, how_whole(one->flags));
		tapir_view_result__text(result, table, one->label);
		tapir_view_result__u64(result, table, one->from_ns);
		tapir_view_result__u64(result, table, one->end_tid);
		tapir_slow__add_parts(s, result, table, one);
	}
}

static void add_sums(struct slow *s, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"part", "ALL INTERVALS", TAPIR_CELL_TEXT}, {"ns", ">TIME", TAPIR_CELL_NS},
		{"percent", ">SHARE", TAPIR_CELL_PERCENT},  {"state", NULL, TAPIR_CELL_TEXT},
		{"cause", NULL, TAPIR_CELL_TEXT},	    {}};
	size_t table = tapir_view_result__table(result, "all", NULL, columns);
	char text[64];

	for (unsigned cause = 0; cause < TAPIR_CAUSE_CNT; cause++)
		for (unsigned state = TAPIR_THREAD_STATE_CNT; state-- > 0;) {
			uint64_t ns = s->sum.ns[cause][state];

			if (!ns)
				continue;
			snprintf(text, sizeof(text), "%s%s%s", tapir_slow__cause_text(cause),
				 tapir_slow__state_text(s, state),
				 state == TAPIR_THREAD_IN_CHILD_ACTIVITY ? " other activities"
									 : "");
			tapir_view_result__text(result, table, text);
			tapir_view_result__u64(result, table, ns);
			tapir_view_result__share(result, table, ns, s->sum_ns);
			tapir_view_result__text(result, table, tapir_slow_state_names[state]);
			tapir_view_result__text(result, table, tapir_cause__name(cause));
		}
}

/* "most of it: waits mutex, ended by holder (812)": of the slowest one. */
static void add_finding(const struct slow *s, struct tapir_view_result *result)
{
	size_t parts = SIZE_MAX, best = 0;
	const struct tapir_view_result_table *t;

	for (size_t i = 0; i < result->tables.cnt && parts == SIZE_MAX; i++)
		if (!strcmp(result->tables.data[i].key, "parts"))
			parts = i;
	if (parts == SIZE_MAX || !s->slowest.cnt)
		return;
	t = &result->tables.data[parts];
	for (size_t row = 0; row < tapir_view_result_table__rows(t); row++)
		if (t->cells.data[row * t->column_cnt + 1].u64 >
		    t->cells.data[best * t->column_cnt + 1].u64)
			best = row;
	if (!tapir_view_result_table__rows(t))
		return;
	t = &result->tables.data[parts];
	tapir_str__addf(&result->headline, "; of the slowest %.0f%% %s",
			t->cells.data[best * t->column_cnt + 2].f64,
			t->cells.data[best * t->column_cnt].text
				? t->cells.data[best * t->column_cnt].text
				: "");
	if (t->cells.data[best * t->column_cnt + 8].is_there)
		tapir_str__addf(&result->headline, ", ended by %s",
				t->cells.data[best * t->column_cnt + 8].text);
	if (t->cells.data[(best + 1) * t->column_cnt - 1].is_there)
		tapir_str__addf(&result->headline, ": %s",
				t->cells.data[(best + 1) * t->column_cnt - 1].text);
}

/* They begin within one another, or end on other threads: which belong together is not known. */
#define NO_IDS "have no activity id, and nest or change threads: record them with --activities"
static bool is_unknown(struct slow *s)
{
	const struct tapir_pairs *pairs = tapir_timeline__pairs(s->args.tl);

	for (uint32_t kind = 0; kind < pairs->kinds.cnt; kind++)
		if (pairs->kinds.data[kind].is_unknown_by_thread && is_requested_kind(s, kind))
			return true;
	return false;
}

/* The key that events of the kind lack; NULL: they lack none. */
static const char *lacking_key(struct slow *s)
{
	const struct tapir_pairs *pairs = tapir_timeline__pairs(s->args.tl);

	for (uint32_t kind = 0; kind < pairs->kinds.cnt; kind++)
		if (pairs->kinds.data[kind].lacks_key && is_requested_kind(s, kind))
			return pairs->kinds.data[kind].key;
	return NULL;
}

static int no_such(struct slow *s)
{
	const struct tapir_pairs *pairs = tapir_timeline__pairs(s->args.tl);
	const struct tapir_interval_kind *kind;
	struct tapir_str known = {};
	int err;

	if (is_unknown(s))
		return tapir_diag__fail(
			-ENOENT, "durations of %s are not known: its events " NO_IDS, s->args.arg);
	if (lacking_key(s))
		return tapir_diag__fail(
			-ENOENT,
			"durations of %s are not known: its events were recorded without "
			"%s",
			s->args.arg, lacking_key(s));
	tapir_vec_for_each (kind, &pairs->kinds) {
		if (!kind->provider || !kind->name ||
		    !(kind->cnt || kind->unbegun || kind->unended))
			continue;
		tapir_str__adds(&known, known.len ? ", " : "");
		tapir_str__add_printable(&known, kind->provider, strlen(kind->provider));
		tapir_str__addc(&known, ':');
		tapir_str__add_printable(&known, kind->name, strlen(kind->name));
	}
	err = tapir_diag__fail(-ENOENT, "the recording has no interval '%s'%s%s", s->args.arg,
			       known.data ? "; it has " : ", nor any other",
			       known.data ? known.data : "");
	tapir_str__fini(&known);
	return err;
}

/* If only halves were seen, no duration is known: the longest of them took at least so long. */
static void add_durations(const struct slow *s, struct tapir_str *out)
{
	char worst[TAPIR_NS_TEXT_BYTES], median[TAPIR_NS_TEXT_BYTES], late[TAPIR_NS_TEXT_BYTES];
	const struct slow_one *one = s->slowest.data;

	tapir_ns__text(one->until_ns - one->from_ns, worst);
	if (s->cnt)
		tapir_str__addf(out, "%llu of %s: median %s, 99%% within %s, slowest %s",
				(unsigned long long)s->cnt, s->args.arg,
				tapir_ns__text(tapir_histogram__percentile(&s->took, 50), median),
				tapir_ns__text(tapir_histogram__percentile(&s->took, 99), late),
				worst);
	else if (!s->half_cnt)
		tapir_str__addf(out,
				"%llu of %s, which began before all events were on: the longest "
				"took %s",
				(unsigned long long)s->attach_cnt, s->args.arg, worst);
	else
		tapir_str__addf(out,
				"%llu of %s, which began before the recording or did not end in "
				"it: the longest took at least %s",
				(unsigned long long)s->half_cnt, s->args.arg, worst);
}

static int slow_finish(void *ctx, struct tapir_view_result *result)
{
	struct slow *s = ctx;

	if (!s->slowest.cnt)
		return no_such(s);
	add_sums(s, result);
	add_slowest(s, result);
	add_durations(s, &result->headline);
	add_finding(s, result);
	if (s->half_cnt && s->cnt)
		tapir_view_result__note(result,
					"%llu more began before the recording or did not end in it",
					(unsigned long long)s->half_cnt);
	if (s->attach_cnt)
		tapir_view_result__note(result,
					"%llu more began before all events were on: they are in no "
					"percentile and no sum",
					(unsigned long long)s->attach_cnt);
	if (s->nested_cnt)
		tapir_view_result__note(result,
					"%llu are inside of another one: their time is summed once",
					(unsigned long long)s->nested_cnt);
	if (is_unknown(s))
		tapir_view_result__note(result, "events of other intervals " NO_IDS);
	if (lacking_key(s))
		tapir_view_result__note(result,
					"events of other intervals were recorded without %s",
					lacking_key(s));
	if (!tapir_timeline__stats(s->args.tl)->switches)
		tapir_view_result__note(result,
					"no context switches were recorded: running and waiting "
					"are not distinguished");
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct slow, cnt, "count", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct slow, half_cnt, "half", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct slow, sum_ns, "sum_ns", NULL, NS)},
	{TAPIR_VIEW_PERCENTILE(struct slow, took, "p50_ns", NULL, 50)},
	{TAPIR_VIEW_PERCENTILE(struct slow, took, "p90_ns", NULL, 90)},
	{TAPIR_VIEW_PERCENTILE(struct slow, took, "p99_ns", NULL, 99)},
	{}};

const struct tapir_view tapir_view_slow = {
	.name = "slow",
	.is_of_traces = true,
	.is_by_trace = true,
	.summary = "the slowest intervals of EVENT and where their time went",
	.arg = "EVENT",
	.fns = {.sample = slow_sample,
		.wait = slow_wait,
		.open = slow_open,
		.awaited = slow_awaited,
		.close = slow_close},
	.facts = facts,
	.ctx_bytes = sizeof(struct slow),
	.default_top = 5,
	.finish = slow_finish,
	.fini = slow_fini,
};
