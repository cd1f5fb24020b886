// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass: the rows and all views listen to the timeline of the report. What a page can hold is
 * bounded, so each part says what it left out.
 */
#include "output/page/page_data.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/capture_check.h"
#include "analyze/folded_tree.h"
#include "decode/record_where.h"
#include "analyze/runtime_work.h"
#include "analyze/wait_reason.h"
#include "base/clock.h"
#include "base/keyed.h"
#include "output/export/event_lines.h"
#include "output/page/page_nodes.h"
#include "output/page/page_rows.h"
#include "output/render/report_read.h"
#include "output/render/view_result_print.h"
#include "output/render/views.h"

#define MAX_VIEWS      32
#define HEAT_CELL_NS   (20 * TAPIR_NS_PER_MS)
#define MAX_HEAT_CELLS (1u << 21) /* 11 hours: a longer recording has its samples alone */

struct thread {
	uint32_t pid, tid, process, name; /* texts */
	uint32_t row_cnt;
};

struct counter_value {
	uint64_t time_ns;
	uint32_t series;
	double value;
};

struct series {
	uint32_t pid, provider, name, unit, tags;
};

struct views {
	void *ctx[MAX_VIEWS];
	struct tapir_capture_check recorded;
};

struct page {
	const struct tapir_page_opts *opts;
	struct tapir_timeline *tl;
	struct views views;
	const struct tapir_reader_stats *stats;
	uint64_t start_ns, last_ns;
	struct tapir_page_marks samples, events;
	struct tapir_page_slices waits, intervals;
	struct tapir_page_texts names, fields;
	struct tapir_keyed(struct thread) threads; /* [0]: all for which there was no room */
	struct tapir_keyed(struct series) series;
	struct tapir_vec(struct counter_value) values;
	uint64_t left_values;
	struct tapir_vec(uint32_t) heat; /* samples of each HEAT_CELL_NS, of all threads */
	bool has_left_heat;		 /* some were too late for it */
	struct tapir_event_lines *lines;
	struct tapir_wait_reasons reasons;
	struct tapir_works works;
	struct tapir_folded_tree folded; /* of the timeline's tree: the nodes of all rows */
	struct tapir_str text;		 /* of a moment */
	bool failed;
};

/* ---- rows ----------------------------------------------------------------------------------------- */

static uint64_t since_start(struct page *p, uint64_t time_ns)
{
	uint64_t ns = time_ns > p->start_ns ? time_ns - p->start_ns : 0;

	if (ns > TAPIR_PAGE_MAX_WIDE)
		ns = TAPIR_PAGE_MAX_WIDE;
	p->last_ns = ns > p->last_ns ? ns : p->last_ns;
	return ns;
}

static uint32_t page_text_number(struct page *p, const char *text)
{
	return text ? tapir_page_texts__number(&p->names, text, strlen(text)) : 0;
}

static uint32_t name_sv(struct page *p, struct tapir_sv text)
{
	return tapir_page_texts__number(&p->names, text.data,
					text.data ? strnlen(text.data, text.len) : 0);
}

/* A new thread has its parent's name for a moment: the name is taken again now and then. */
static uint32_t page_thread_of(struct page *p, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct thread *thread =
		tapir_keyed__add(&p->threads, (uint64_t)pid << 32 | tid, TAPIR_PAGE_MAX_THREADS,
				 ((struct thread){.pid = pid, .tid = tid}));

	p->failed |= p->threads.failed;
	if (!thread)
		return 0;
	thread->row_cnt++;
	if (!(thread->row_cnt & (thread->row_cnt - 1)) || !thread->name) {
		thread->name = name_sv(p, tapir_timeline__comm(p->tl, tid, time_ns));
		thread->process = name_sv(p, tapir_timeline__comm(p->tl, pid, time_ns));
	}
	return (uint32_t)(thread - p->threads.data);
}

/* purpose: what the thread's runtime was known to do, or NULL. */
static uint32_t node_of(struct page *p, uint32_t node, const char *purpose)
{
	if (node == TAPIR_NO_NODE || p->opts->unfold)
		return node == TAPIR_NO_NODE ? 0 : node;
	return tapir_folded_tree__node(&p->folded, tapir_timeline__stacks(p->tl), node, purpose);
}

static void heat(struct page *p, uint64_t time_ns)
{
	uint64_t cell = time_ns / HEAT_CELL_NS;

	p->has_left_heat |= cell >= MAX_HEAT_CELLS;
	if (p->has_left_heat)
		return;
	while (p->heat.cnt <= cell && !p->failed)
		p->failed = !tapir_vec__push(&p->heat, 0);
	if (!p->failed)
		p->heat.data[cell]++;
}

static void page_on_sample(void *ctx, struct tapir_tl_thread *t,
			   const struct tapir_rec_sample *sample)
{
	struct page *p = ctx;
	bool has_stack = sample->stack_id || sample->kstack_id;
	enum tapir_work work =
		tapir_works__of(&p->works, p->tl, t, t->last_node, sample->h.time_ns);
	const char *purpose = tapir_work__purpose(work, t, tapir_timeline__pairs(p->tl));
	const struct tapir_page_mark mark = {
		.time_ns = since_start(p, sample->h.time_ns),
		.thread = page_thread_of(p, t->tgid, t->tid, sample->h.time_ns),
		.node = has_stack ? node_of(p, t->last_node, purpose) : 0,
		.weight = 1};

	heat(p, mark.time_ns);
	tapir_page_marks__add(&p->samples, &mark);
}

static void page_on_event(void *ctx, struct tapir_tl_thread *t,
			  const struct tapir_probe_view *probe,
			  const struct tapir_event_view *event)
{
	struct page *p = ctx;
	const struct tapir_rec_event *rec = event->rec;
	const struct tapir_stack_ref ref = {.tgid = rec->tgid,
					    .time_ns = rec->h.time_ns,
					    .stack_id = rec->stack_id,
					    .kstack_id = event->kstack_id};
	struct tapir_page_mark mark = {.time_ns = since_start(p, rec->h.time_ns),
				       .thread = page_thread_of(p, t->tgid, t->tid, rec->h.time_ns),
				       .weight = 1};

	if (ref.stack_id || ref.kstack_id)
		mark.node = node_of(p, tapir_timeline__node(p->tl, &ref), NULL);
	tapir_str__clear(&p->text);
	tapir_str__add(&p->text, probe->provider.data, probe->provider.len);
	tapir_str__addc(&p->text, ':');
	tapir_str__add(&p->text, probe->event.data, probe->event.len);
	mark.kind = tapir_page_texts__number(&p->names, p->text.data, p->text.len);
	tapir_str__clear(&p->text);
	tapir_event_lines__add_args(p->lines, &rec->h, &p->text);
	mark.text = tapir_page_texts__number(&p->fields, p->text.data, p->text.len);
	tapir_page_marks__add(&p->events, &mark);
}

static void add_page_wait(struct page *p, const struct tapir_wait *wait, bool is_cut)
{
	const struct tapir_rec_switch left = {.out_state = wait->state, .flags = wait->flags};
	const struct tapir_tl_thread *t = wait->thread;
	const struct tapir_page_slice slice = {
		.from_ns = since_start(p, wait->from_ns),
		.took_ns = wait->until_ns - wait->from_ns,
		.part_ns = wait->wake_ns - wait->from_ns,
		.thread = page_thread_of(p, t->tgid, t->tid, wait->from_ns),
		.node = node_of(p, wait->node, NULL),
		.kind = page_text_number(p, tapir_switch__state_name(&left)),
		.label = wait->state ? page_text_number(p, tapir_wait_reasons__of(
								   &p->reasons,
								   tapir_timeline__stacks(p->tl),
								   wait->node))
				     : 0,
		.other = wait->waker_tid,
		.is_cut = is_cut};

	(void)since_start(p, wait->until_ns);
	tapir_page_slices__add(&p->waits, &slice);
}

static void page_on_wait(void *ctx, const struct tapir_wait *wait)
{
	add_page_wait(ctx, wait, false);
}

static void page_on_open_ended_wait(void *ctx, const struct tapir_wait *wait)
{
	add_page_wait(ctx, wait, true);
}

static void page_on_close(void *ctx, struct tapir_interval *i)
{
	struct page *p = ctx;
	uint64_t running_ns = 0;
	struct tapir_page_slice slice = {
		.from_ns = since_start(p, i->from_ns),
		.took_ns = i->until_ns - i->from_ns,
		.thread = page_thread_of(p, i->tgid, i->tid, i->until_ns),
		.node = node_of(p, i->node, NULL),
		.kind = i->kind,
		.label = page_text_number(p, i->label),
		.other = i->end_tid,
		.is_cut = !!(i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END))};

	for (unsigned cause = 0; cause < TAPIR_CAUSE_CNT; cause++)
		running_ns += i->parts.ns[cause][TAPIR_THREAD_RUNNING];
	slice.part_ns = running_ns;
	(void)since_start(p, i->until_ns);
	tapir_page_slices__add(&p->intervals, &slice);
}

static uint32_t series_of(struct page *p, const struct tapir_counter_view *view)
{
	const struct series made = {.pid = view->rec->tgid,
				    .provider = name_sv(p, view->provider),
				    .name = name_sv(p, view->name),
				    .unit = name_sv(p, view->unit),
				    .tags = name_sv(p, view->tags)};
	const struct series *series = tapir_keyed__add(
		&p->series, tapir_hash__bytes(0, &made, sizeof(made)), UINT32_MAX, made);

	p->failed |= !series;
	return series ? (uint32_t)(series - p->series.data) : 0;
}

static void on_counter(void *ctx, const struct tapir_rec_counter *counter)
{
	struct page *p = ctx;
	struct tapir_counter_view view;
	struct counter_value value = {.time_ns = since_start(p, counter->h.time_ns),
				      .value = counter->value};

	if (p->values.cnt >= TAPIR_PAGE_MAX_COUNTERS) {
		p->left_values++;
		return;
	}
	tapir_counter_view__of(&counter->h, &view);
	value.series = series_of(p, &view);
	p->failed |= !tapir_vec__push(&p->values, value);
}

static const struct tapir_timeline_fns row_fns = {.sample = page_on_sample,
						  .wait = page_on_wait,
						  .open_ended_wait = page_on_open_ended_wait,
						  .event = page_on_event,
						  .close = page_on_close,
						  .counter = on_counter};

/* ---- views ---------------------------------------------------------------------------------------- */

/* A view of one event has to be asked with its name. */
static bool is_on_page(const struct tapir_view *view)
{
	return !view->arg;
}

static int start_views(struct page *p, struct views *views)
{
	int err = 0;

	for (size_t i = 0; !err && i < MAX_VIEWS && tapir_views[i]; i++) {
		if (!is_on_page(tapir_views[i]))
			continue;
		views->ctx[i] = tapir_view__start(tapir_views[i], p->tl, NULL, 0);
		err = views->ctx[i]
			      ? tapir_timeline__listen(p->tl, &tapir_views[i]->fns, views->ctx[i])
			      : -ENOMEM;
	}
	return err;
}

static void free_views(struct views *views)
{
	for (size_t i = 0; i < MAX_VIEWS && tapir_views[i]; i++)
		tapir_view__free(tapir_views[i], views->ctx[i]);
}

/* Adds a document as the next member; one that is too long is named in `left` in its place. */
static void add_document(struct tapir_json *j, const char *key, struct tapir_str *text,
			 struct tapir_str *left, const char *name)
{
	while (text->len && text->data[text->len - 1] == '\n')
		text->len--;
	j->out->failed |= text->failed;
	tapir_json__null(j, key);
	if (text->len > TAPIR_PAGE_REPORT_BYTES) {
		tapir_str__addf(left, "%s%s", left->len ? ", " : "", name);
	} else if (!j->out->failed && text->len) {
		j->out->len -= strlen("null");
		tapir_str__add(j->out, text->data, text->len);
	}
	tapir_str__clear(text);
}

static int write_view(struct page *p, struct views *views, size_t i, struct tapir_json *j,
		      struct tapir_str *left)
{
	struct tapir_view_result result = {.view = tapir_views[i]->name,
					   .tree = tapir_timeline__stacks(p->tl),
					   .start_ns = p->start_ns};
	struct tapir_str text = {};
	int err = tapir_view__finish(tapir_views[i], views->ctx[i], &result);

	if (!err) {
		tapir_capture_check__explain(&views->recorded, tapir_timeline__catalog(p->tl),
					     tapir_views[i], &result);
		tapir_view__note_sums(tapir_views[i], p->tl, &result);
		tapir_view_result__write_json(&result, &text);
		add_document(j, NULL, &text, left, tapir_views[i]->name);
		err = result.failed ? -ENOMEM : 0;
	}
	tapir_str__fini(&text);
	tapir_view_result__fini(&result);
	return err;
}

static int write_views(struct page *p, struct views *views, struct tapir_json *j,
		       struct tapir_str *left)
{
	int err = 0;

	tapir_json__open(j, "views", '[');
	for (size_t i = 0; !err && i < MAX_VIEWS && tapir_views[i]; i++)
		if (is_on_page(tapir_views[i]))
			err = write_view(p, views, i, j, left);
	tapir_json__close(j, ']');
	return err;
}

/* ---- the document --------------------------------------------------------------------------------- */

static void write_page_rows(struct page *p, struct tapir_json *j)
{
#define COLUMN(type, member, wide)                                                                 \
	{                                                                                          \
#member, offsetof(struct type, member), wide                                       \
	}
	static const struct tapir_page_column mark_columns[] = {
		COLUMN(tapir_page_mark, time_ns, true),
		COLUMN(tapir_page_mark, thread, false),
		COLUMN(tapir_page_mark, node, false),
		COLUMN(tapir_page_mark, kind, false),
		COLUMN(tapir_page_mark, text, false),
		COLUMN(tapir_page_mark, weight, false),
		{}};
	static const struct tapir_page_column slice_columns[] = {
		COLUMN(tapir_page_slice, from_ns, true), COLUMN(tapir_page_slice, took_ns, true),
		COLUMN(tapir_page_slice, part_ns, true), COLUMN(tapir_page_slice, thread, false),
		COLUMN(tapir_page_slice, node, false),	 COLUMN(tapir_page_slice, kind, false),
		COLUMN(tapir_page_slice, label, false),	 COLUMN(tapir_page_slice, other, false),
		COLUMN(tapir_page_slice, is_cut, false), {}};
	static const struct tapir_page_column thread_columns[] = {COLUMN(thread, pid, false),
								  COLUMN(thread, tid, false),
								  COLUMN(thread, process, false),
								  COLUMN(thread, name, false),
								  {}};
	static const struct tapir_page_column series_columns[] = {
		COLUMN(series, pid, false),  COLUMN(series, provider, false),
		COLUMN(series, name, false), COLUMN(series, unit, false),
		COLUMN(series, tags, false), {}};
	static const struct tapir_page_column value_columns[] = {
		COLUMN(counter_value, time_ns, true), COLUMN(counter_value, series, false), {}};
	static const struct tapir_page_column heat_columns[] = {{"samples", 0, false}, {}};
#define ROWS(key, v, columns)                                                                      \
	tapir_page_columns__write(j, key, (v)->data, sizeof(*(v)->data), (v)->cnt, columns)

	tapir_page_slices__sort(&p->waits);
	tapir_page_slices__sort(&p->intervals);
	ROWS("threads", &p->threads, thread_columns);
	ROWS("samples", &p->samples.rows, mark_columns);
	if (p->has_left_heat || p->samples.cell_ns <= HEAT_CELL_NS) /* the samples have it, too */
		p->heat.cnt = 0;
	ROWS("heat", &p->heat, heat_columns);
	ROWS("events", &p->events.rows, mark_columns);
	ROWS("waits", &p->waits.rows, slice_columns);
	ROWS("intervals", &p->intervals.rows, slice_columns);
	ROWS("series", &p->series, series_columns);
	ROWS("counters", &p->values, value_columns);
	tapir_json__open(j, "counter_values", '[');
	for (size_t i = 0; i < p->values.cnt; i++)
		tapir_json__f64(j, NULL, p->values.data[i].value);
	tapir_json__close(j, ']');
#undef ROWS
#undef COLUMN
}

#define MAX_FOREIGN_NAMES 4096

static bool is_foreign(const struct tapir_tree_node *node)
{
	return node->kind == TAPIR_FRAME_KERNEL || node->kind == TAPIR_FRAME_RUNTIME ||
	       (node->kind == TAPIR_FRAME_NATIVE && !node->is_of_program);
}

/* Views have stacks by names alone: which are not the program's own is a list of its own. */
static void write_foreign_names(struct page *p, struct tapir_json *j)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(p->tl);
	struct tapir_map seen = {};
	bool is_new;

	tapir_json__open(j, "foreign_names", '[');
	for (uint32_t n = 1; n < tree->nodes.cnt && seen.cnt < MAX_FOREIGN_NAMES; n++) {
		if (!is_foreign(&tree->nodes.data[n]))
			continue;
		is_new = false;
		p->failed |= !tapir_map__put(&seen, tree->nodes.data[n].name, &is_new);
		if (!is_new)
			continue;
		tapir_str__clear(&p->text);
		tapir_stack_tree__add_label(&p->text, tree, n);
		tapir_json__strn(j, NULL, p->text.data ? p->text.data : "", p->text.len);
	}
	tapir_json__close(j, ']');
	tapir_map__fini(&seen);
}

static void write_kinds(const struct tapir_pairs *pairs, struct tapir_json *j)
{
	const struct tapir_interval_kind *kind;

	tapir_json__open(j, "kinds", '[');
	tapir_vec_for_each (kind, &pairs->kinds) {
		tapir_json__open(j, NULL, '{');
		tapir_json__str(j, "provider", kind->provider);
		tapir_json__str(j, "name", kind->name);
		tapir_json__str(j, "cause", tapir_cause__name(kind->cause));
		tapir_json__bool(j, "is_request", kind->is_request);
		tapir_json__close(j, '}');
	}
	tapir_json__close(j, ']');
}

static void note_omitted_cells(struct tapir_json *j, const struct tapir_page_marks *marks,
			       const char *noun)
{
	char text[128];

	if (!marks->cell_ns)
		return;
	if (marks->cell_ns > TAPIR_PAGE_LAST_CELL_NS)
		snprintf(text, sizeof(text), "threads of most %s are left out", noun);
	else
		snprintf(text, sizeof(text),
			 "%s of one thread and stack within %.0f ms are one row", noun,
			 (double)marks->cell_ns / 1e6);
	tapir_json__str(j, NULL, text);
}

static void note_omitted_slices(struct tapir_json *j, const struct tapir_page_slices *slices,
				const char *noun)
{
	char text[128];

	if (!slices->left_cnt)
		return;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " %s, of %.3f s, are left out: none is longer than %.6f s",
		 slices->left_cnt, noun, (double)slices->left_ns / 1e9,
		 (double)slices->least_ns / 1e9);
	tapir_json__str(j, NULL, text);
}

static void note_count(struct tapir_json *j, uint64_t cnt, const char *noun)
{
	char text[128];

	if (!cnt)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 " %s", cnt, noun);
	tapir_json__str(j, NULL, text);
}

static void write_skipped(struct page *p, struct tapir_json *j, uint64_t node_cnt,
			  const struct tapir_str *documents)
{
	struct tapir_str line = {};

	tapir_json__open(j, "left_out", '[');
	if (p->stats->is_truncated || tapir_reader_stats__is_damaged(p->stats))
		tapir_json__str(j, NULL,
				"the recording is cut or damaged: this is what could be read");
	note_omitted_cells(j, &p->samples, "samples");
	note_omitted_cells(j, &p->events, "events of one kind");
	note_omitted_slices(j, &p->waits, "waits");
	note_omitted_slices(j, &p->intervals, "intervals");
	note_count(j, node_cnt, "functions of rare stacks are counted with their callers");
	note_count(j, tapir_timeline__stacks(p->tl)->folded_cnt,
		   "samples or events of rare stacks are in '(rarer stacks)'");
	note_count(j, p->names.left_cnt, "rows lack a name: there were too many");
	note_count(j, p->fields.left_cnt, "events are without their fields");
	note_count(j, p->left_values, "values of counters are left out");
	if (p->threads.cnt == TAPIR_PAGE_MAX_THREADS)
		tapir_json__str(j, NULL, "threads beyond the first 16383 are one");
	if (documents->len) {
		tapir_str__addf(&line, "too long: %s (see 'tapir report')", documents->data);
		tapir_json__str(j, NULL, line.data);
	}
	j->out->failed |= line.failed;
	tapir_json__close(j, ']');
	tapir_str__fini(&line);
}

/* ---- the pass -------------------------------------------------------------------------------------- */

static int begin_rows(void *ctx, struct tapir_timeline *tl)
{
	struct page *p = ctx;
	int err;

	p->tl = tl;
	err = tapir_timeline__listen(tl, &row_fns, p);
	return err ? err : start_views(p, &p->views);
}

static void on_record(void *ctx, const struct tapir_rec *rec)
{
	struct page *p = ctx;

	tapir_capture_check__add(&p->views.recorded, rec);
}

static bool should_continue(void *ctx)
{
	const struct page *p = ctx;

	return !p->opts->should_continue || p->opts->should_continue(p->opts->ctx);
}

static bool has_failed(const struct page *p)
{
	return p->failed || p->folded.tree.failed || p->samples.failed || p->events.failed ||
	       p->waits.failed || p->intervals.failed || p->names.failed || p->fields.failed ||
	       p->text.failed;
}

static int write_rows(struct page *p, struct tapir_json *j, struct tapir_str *left)
{
	const struct tapir_stack_tree *tree =
		p->opts->unfold ? tapir_timeline__stacks(p->tl) : &p->folded.tree;
	struct tapir_page_nodes nodes = {};
	int err = write_views(p, &p->views, j, left);

	if (err)
		return err;
	/* Interval labels and names of functions share a budget; those of threads came first. */
	err = tapir_page_nodes__choose(
		&nodes, tree, TAPIR_PAGE_MAX_NODES,
		(struct tapir_page_marks *[]){&p->samples, &p->events, NULL},
		(struct tapir_page_slices *[]){&p->waits, &p->intervals, NULL});
	if (!err) {
		write_page_rows(p, j);
		tapir_page_nodes__write(&nodes, tree, &p->names, j);
		write_kinds(tapir_timeline__pairs(p->tl), j);
		write_foreign_names(p, j);
		tapir_page_texts__write(&p->names, "names", j);
		tapir_page_texts__write(&p->fields, "fields", j);
		write_skipped(p, j, nodes.left_cnt, left);
		tapir_json__u64(j, "span_ns", p->last_ns);
	}
	tapir_page_nodes__fini(&nodes);
	return err ? err : has_failed(p) || j->out->failed ? -ENOMEM : 0;
}

static int write_report(struct tapir_report *report, struct tapir_json *j, struct tapir_str *left)
{
	struct tapir_str text = {};
	int err;

	tapir_report__write_first_screen(&report->view, &tapir_palette_plain, 0, &text);
	tapir_json__strn(j, "first_screen", text.data ? text.data : "", text.len);
	tapir_str__clear(&text);
	report->view.without_stacks = true; /* the rows have them */
	tapir_report__write_json(&report->view, &text);
	add_document(j, "report", &text, left, "the report");
	err = text.failed || j->out->failed ? -ENOMEM : 0;
	tapir_str__fini(&text);
	return err;
}

/* One pass makes the report and everything else: views and rows listen to the same timeline. */
static int add_all(struct page *p, struct tapir_reader *reader, struct tapir_json *j,
		   struct tapir_str *left)
{
	const struct tapir_pids all = {};
	const struct tapir_report_request rq = {.path = p->opts->path,
						.pids = &all,
						.tids = &all,
						.where = p->opts->where,
						.should_continue = should_continue,
						.begin = begin_rows,
						.on_record = on_record,
						.ctx = p};
	struct tapir_report report = {};
	struct tapir_pairs pairs = {};
	int err = -ENOMEM;

	p->stats = tapir_reader__stats(reader);
	p->start_ns = p->stats->created_ns;
	p->lines = tapir_event_lines__new(TAPIR_EVENT_JSON, tapir_reader__catalog(reader), 0);
	if (p->lines && tapir_vec__add(&p->threads))
		err = tapir_report__read(&report, reader, &pairs, &rq);
	if (!err)
		err = write_report(&report, j, left);
	if (!err)
		err = write_rows(p, j, left);
	tapir_event_lines__free(p->lines);
	tapir_report__fini(&report);
	free_views(&p->views);
	tapir_pairs__fini(&pairs);
	return err;
}

static void fini(struct page *p)
{
	tapir_vec__fini(&p->samples.rows);
	tapir_vec__fini(&p->events.rows);
	tapir_vec__fini(&p->waits.rows);
	tapir_vec__fini(&p->intervals.rows);
	tapir_page_texts__fini(&p->names);
	tapir_page_texts__fini(&p->fields);
	tapir_keyed__fini(&p->threads);
	tapir_keyed__fini(&p->series);
	tapir_vec__fini(&p->values);
	tapir_vec__fini(&p->heat);
	tapir_wait_reasons__fini(&p->reasons);
	tapir_works__fini(&p->works);
	tapir_folded_tree__fini(&p->folded);
	tapir_str__fini(&p->text);
}

int tapir_page_data__write(struct tapir_reader *reader, const struct tapir_page_opts *opts,
			   struct tapir_str *out)
{
	struct page p = {.opts = opts,
			 .samples.max_rows = TAPIR_PAGE_MAX_SAMPLES,
			 .events.max_rows = TAPIR_PAGE_MAX_EVENTS,
			 .waits.max_rows = TAPIR_PAGE_MAX_WAITS,
			 .intervals.max_rows = TAPIR_PAGE_MAX_INTERVALS,
			 .names.arena.max_bytes = TAPIR_PAGE_NAME_BYTES,
			 .fields.arena.max_bytes = TAPIR_PAGE_FIELD_BYTES};
	struct tapir_str left = {};
	struct tapir_json j = tapir_json__to(out);
	int err;

	tapir_json__open(&j, NULL, '{');
	tapir_json__u64(&j, "tapir_page", 1);
	tapir_json__str(&j, "path", opts->path);
	err = add_all(&p, reader, &j, &left);
	tapir_json__close(&j, '}');
	fini(&p);
	tapir_str__fini(&left);
	return err ? err : out->failed ? -ENOMEM : 0;
}
