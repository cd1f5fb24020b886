// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Passes that make several tables each: a report, a timeline, the stacks of records; requests are
 * in query_requests.c. A pass is made when a statement first reads one of its tables.
 */
#include "output/query/query_pass.h"

#include <errno.h>
#include <string.h>

#include "analyze/timeline.h"
#include "output/render/report_read.h"
#include "symbol/stack_end.h"
#include "trace/family.h"

/* ---- of a report --------------------------------------------------------------------------------- */

static void add_processes(struct tapir_pass *p, const struct tapir_report *report)
{
	const struct tapir_process_row *from;
	struct tapir_process_list_row *row;

	tapir_vec_for_each (from, &report->summary.processes) {
		row = tapir_pass__add_row(p, sizeof(*row));
		if (!row)
			return;
		*row = (struct tapir_process_list_row){
			.pid = from->pid,
			.name = tapir_pass__keep_word(p, from->comm),
			.exe = tapir_pass__keep_word(p, from->exe),
			.service = tapir_pass__keep_word(p, from->service),
			.threads = from->thread_cnt,
			.events = from->captured[TAPIR_FAMILY_EVENT],
			.samples = from->captured[TAPIR_FAMILY_SAMPLE],
			.switches = from->captured[TAPIR_FAMILY_SWITCH]};
	}
}

static void add_threads(struct tapir_pass *p, const struct tapir_report *report)
{
	const struct tapir_thread_row *from;
	struct tapir_thread_list_row *row;

	tapir_vec_for_each (from, &report->summary.threads) {
		row = tapir_pass__add_row(p, sizeof(*row));
		if (!row)
			return;
		*row = (struct tapir_thread_list_row){
			.pid = from->pid,
			.tid = from->tid,
			.name = tapir_pass__keep_word(p, from->comm),
			.events = from->captured[TAPIR_FAMILY_EVENT],
			.samples = from->captured[TAPIR_FAMILY_SAMPLE],
			.switches = from->captured[TAPIR_FAMILY_SWITCH]};
	}
}

static void add_findings(struct tapir_pass *p, const struct tapir_report *report)
{
	const struct tapir_finding *from;
	struct tapir_finding_list_row *row;

	tapir_vec_for_each (from, &report->view.findings->rows) {
		row = tapir_pass__add_row(p, sizeof(*row));
		if (!row)
			return;
		*row = (struct tapir_finding_list_row){
			.rank = (uint32_t)(from - report->view.findings->rows.data) + 1,
			.kind = tapir_pass__keep_word(p, tapir_finding__kind_name(from->kind)),
			.unit = tapir_pass__keep_word(p, tapir_finding__unit(from->kind)),
			.subject = tapir_pass__keep_word(p, from->subject),
			.text = tapir_pass__keep_word(p, from->text),
			.evidence = tapir_pass__keep_word(p, from->evidence),
			.view = tapir_pass__keep_word(p, from->view),
			.severity = from->severity,
			.magnitude = from->magnitude};
	}
}

static void add_meta(struct tapir_pass *p, const struct tapir_report *report)
{
	const struct tapir_meta_row *from;
	struct tapir_meta_list_row *row;

	tapir_vec_for_each (from, &report->summary.metas) {
		row = tapir_pass__add_row(p, sizeof(*row));
		if (!row)
			return;
		*row = (struct tapir_meta_list_row){
			.idx = (uint32_t)(from - report->summary.metas.data),
			.key = tapir_pass__keep_word(p, from->key),
			.value = tapir_pass__keep_word(p, from->value)};
	}
}

/* One pass makes all four: they are small. */
static int pass_report(struct tapir_pass *p, struct tapir_reader *reader)
{
	static const struct {
		enum tapir_list_id id;
		void (*add)(struct tapir_pass *p, const struct tapir_report *report);
	} lists[] = {{TAPIR_LIST_PROCESSES, add_processes},
		     {TAPIR_LIST_THREADS, add_threads},
		     {TAPIR_LIST_FINDINGS, add_findings},
		     {TAPIR_LIST_META, add_meta}};
	const struct tapir_pids all = {};
	struct tapir_report_request rq = {.path = "the recording",
					  .pids = &all,
					  .tids = &all,
					  .should_continue = tapir_pass__should_continue,
					  .ctx = p};
	struct tapir_report report = {};
	struct tapir_pairs pairs = {};
	int err = tapir_report__read(&report, reader, &pairs, &rq);

	for (size_t i = 0; !err && i < sizeof(lists) / sizeof(lists[0]); i++) {
		p->list = &p->lists->all[lists[i].id];
		lists[i].add(p, &report);
		tapir_list__finish(p->list, lists[i].id);
	}
	tapir_report__fini(&report);
	tapir_pairs__fini(&pairs);
	return err == -ECANCELED ? -EINTR : err ? err : p->err;
}

/* ---- of a timeline ------------------------------------------------------------------------------- */

static uint64_t thread_state_sum(const struct tapir_time_breakdown *parts,
				 enum tapir_thread_state state)
{
	uint64_t ns = 0;

	for (unsigned cause = 0; cause < TAPIR_CAUSE_CNT; cause++)
		ns += parts->ns[cause][state];
	return ns;
}

static void query_on_close(void *ctx, struct tapir_interval *i)
{
	struct tapir_pass *p = ctx;
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(p->tl)->kinds.data[i->kind];
	struct tapir_interval_list_row *row = tapir_pass__add_row(p, sizeof(*row));

	if (!row)
		return;
	*row = (struct tapir_interval_list_row){
		.from_ns = i->from_ns,
		.until_ns = i->until_ns,
		.took_ns = i->until_ns - i->from_ns,
		.running_ns = thread_state_sum(&i->parts, TAPIR_THREAD_RUNNING),
		.runnable_ns = thread_state_sum(&i->parts, TAPIR_THREAD_RUNNABLE),
		.sleeping_ns = thread_state_sum(&i->parts, TAPIR_THREAD_SLEEPING),
		.pid = i->tgid,
		.tid = i->tid,
		.end_tid = i->end_tid,
		.is_complete = !(i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END)),
		.is_nested = !!(i->flags & TAPIR_INTERVAL_NESTED),
		.thread = tapir_pass__keep_sv(p, tapir_timeline__comm(p->tl, i->tid, i->until_ns)),
		.provider = tapir_pass__keep_word(p, kind->provider),
		.name = tapir_pass__keep_word(p, kind->name),
		.label = tapir_pass__keep_word(p, i->label),
		.cause = tapir_pass__keep_word(p, tapir_cause__name(kind->cause))};
}

static const char *leaf_of(struct tapir_pass *p, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(p->tl);
	uint32_t leaf = node == TAPIR_NO_NODE ? 0 : tapir_stack_tree__user_leaf(tree, node);

	if (!leaf)
		return NULL;
	tapir_str__clear(&p->text);
	tapir_stack_tree__add_label(&p->text, tree, leaf);
	return p->text.data ? tapir_pass__keep_bytes(p, p->text.data, p->text.len) : NULL;
}

static void query_on_wait(void *ctx, const struct tapir_wait *wait)
{
	struct tapir_pass *p = ctx;
	struct tapir_wait_list_row *row = tapir_pass__add_row(p, sizeof(*row));
	const struct tapir_rec_switch left = {.out_state = wait->state, .flags = wait->flags};

	if (!row)
		return;
	*row = (struct tapir_wait_list_row){
		.from_ns = wait->from_ns,
		.until_ns = wait->until_ns,
		.took_ns = wait->until_ns - wait->from_ns,
		.sleep_ns = wait->wake_ns - wait->from_ns,
		.runnable_ns = wait->until_ns - wait->wake_ns,
		.futex_va = wait->futex_va,
		.pid = wait->thread->tgid,
		.tid = wait->thread->tid,
		.waker_tid = wait->waker_tid,
		.thread = tapir_pass__keep_sv(
			p, tapir_timeline__comm(p->tl, wait->thread->tid, wait->from_ns)),
		.state = tapir_pass__keep_word(p, tapir_switch__state_name(&left)),
		.function = leaf_of(p, wait->node)};
}

static int pass_timeline(struct tapir_pass *p, struct tapir_reader *reader, enum tapir_list_id id)
{
	static const struct tapir_timeline_fns of_intervals = {.close = query_on_close},
					       of_waits = {.wait = query_on_wait};
	const struct tapir_timeline_opts opts = {.wants_stacks = id == TAPIR_LIST_WAITS};
	struct tapir_pairs pairs = {};
	int err = -ENOMEM;

	p->tl = tapir_timeline__new(tapir_reader__catalog(reader), &pairs, &opts);
	if (p->tl)
		err = tapir_timeline__listen(p->tl,
					     id == TAPIR_LIST_WAITS ? &of_waits : &of_intervals, p);
	if (!err)
		err = tapir_pass__read_timeline(p, reader);
	tapir_timeline__free(p->tl);
	tapir_pairs__fini(&pairs);
	return err;
}

/* ---- of records' stacks -------------------------------------------------------------------------- */

static void add_query_frames(struct tapir_pass *p, const struct tapir_rec *rec,
			     const struct tapir_stack_view *view, uint32_t pid)
{
	uint32_t depth = 0;

	for (unsigned n = 0; n < view->rec->frame_cnt; n++) {
		struct tapir_frame frame = tapir_frame__of(p->catalog, pid, rec->time_ns, view, n);

		/*
		 * Calls that the compiler inlined are functions of one frame, each with its own
		 * depth.
		 */
		for (unsigned k = 0; k < tapir_frame__function_cnt(&frame); k++) {
			struct tapir_frame function = tapir_frame__function(&frame, k);
			struct tapir_frame_list_row *row = tapir_pass__add_row(p, sizeof(*row));

			if (!row)
				return;
			tapir_str__clear(&p->text);
			tapir_query_frame__add_name(&p->text, &function, &p->name);
			*row = (struct tapir_frame_list_row){
				.stack_id = view->rec->stack_id,
				.va = function.va,
				.pid = pid,
				.depth = depth++,
				.is_kernel = function.is_kernel,
				.is_named = !!function.name.len,
				.function = p->text.data ? tapir_pass__keep_bytes(p, p->text.data,
										  p->text.len)
							 : NULL,
				.module = tapir_pass__keep_sv(p, function.module)};
		}
	}
}

/* Makes the row of a stack that occurs for the first time. */
static struct tapir_stack_list_row *make_stack(struct tapir_pass *p, const struct tapir_rec *rec,
					       uint64_t id, uint32_t pid)
{
	const struct tapir_rec_stack *stack = tapir_catalog__stack(p->catalog, id);
	struct tapir_stack_list_row *row;
	struct tapir_stack_view view;

	if (p->wants_frames) { /* the stack is noted, and is not a row of this list */
		row = tapir_arena__alloc(p->lists->arena, sizeof(*row));
		p->err = row ? 0 : -ENOMEM;
	} else {
		row = tapir_pass__add_row(p, sizeof(*row));
	}
	if (!row || !stack)
		return row;
	*row = (struct tapir_stack_list_row){
		.stack_id = id,
		.pid = pid,
		.frame_cnt = stack->frame_cnt,
		.is_kernel = !!(stack->flags & TAPIR_STACK_KERNEL),
		.end = tapir_pass__keep_word(p, tapir_stack_end__id(tapir_stack_end__of(
							p->catalog, pid, rec->time_ns, stack)))};
	tapir_stack_view__of(&stack->h, &view);
	if (p->wants_frames)
		add_query_frames(p, rec, &view, pid);
	return row;
}

static void count_stack(struct tapir_pass *p, const struct tapir_rec *rec, uint64_t id)
{
	uint32_t pid = tapir_rec__tgid(rec, 0);
	struct tapir_stack_list_row *row;
	bool is_new = false;
	uint64_t *slot;

	if (!id || p->err)
		return;
	slot = tapir_map__put(&p->stacks, tapir_hash__mix(id, pid), &is_new);
	if (!slot) {
		p->err = -ENOMEM;
		return;
	}
	if (is_new)
		*slot = (uint64_t)(uintptr_t)make_stack(p, rec, id, pid);
	row = (void *)(uintptr_t)*slot;
	if (!row)
		return;
	row->stack_id = id;
	row->pid = pid;
	row->events += rec->type == TAPIR_REC_EVENT;
	row->samples += rec->type == TAPIR_REC_SAMPLE;
	row->switches += rec->type == TAPIR_REC_SWITCH;
}

static int pass_stacks(struct tapir_pass *p, struct tapir_reader *reader, enum tapir_list_id id)
{
	const struct tapir_rec *rec;
	int err = 0;

	p->catalog = tapir_reader__catalog(reader);
	p->wants_frames = id == TAPIR_LIST_FRAMES;
	while (!p->err && (err = tapir_pass__next_record(p, reader, &rec)) > 0) {
		count_stack(p, rec, tapir_rec__stack_id(rec));
		count_stack(p, rec, tapir_rec__kstack_id(rec));
	}
	tapir_map__fini(&p->stacks);
	return p->err ? p->err : err;
}

/* ---- all of them --------------------------------------------------------------------------------- */

int tapir_lists__make(struct tapir_lists *lists, enum tapir_list_id id, struct tapir_reader *reader)
{
	struct tapir_pass p = {.lists = lists, .list = &lists->all[id]};
	int err;

	switch (id) {
	case TAPIR_LIST_INTERVALS:
	case TAPIR_LIST_WAITS:
		err = pass_timeline(&p, reader, id);
		break;
	case TAPIR_LIST_REQUESTS:
	case TAPIR_LIST_REQUEST_PARTS:
		err = tapir_pass__requests(&p, reader);
		break;
	case TAPIR_LIST_SPANS:
		err = tapir_pass__spans(&p, reader);
		break;
	case TAPIR_LIST_STACKS:
	case TAPIR_LIST_FRAMES:
		err = pass_stacks(&p, reader, id);
		break;
	default:
		err = pass_report(&p, reader);
	}
	tapir_str__fini(&p.text);
	tapir_str__fini(&p.name);
	if (!err && !lists->all[id].is_made)
		tapir_list__finish(&lists->all[id], id);
	return err;
}

void tapir_lists__fini(struct tapir_lists *lists)
{
	for (unsigned i = 0; i < TAPIR_LIST_CNT; i++)
		tapir_vec__fini(&lists->all[i].rows);
	tapir_map__fini(&lists->texts);
}
