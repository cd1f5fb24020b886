// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts samples and events by their stacks. A stack is resolved frame by frame when it occurs for
 * the first time; while its names hold, only a number grows. The numbers are added to functions,
 * modules and stacks when the cache drops a stack, and at the end. The order of all rows is here,
 * too.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/summary_impl.h"
#include "base/order.h"
#include "base/str.h"
#include "symbol/frame.h"
#include "symbol/stack_end.h"

/* ---- for summary.c, too ------------------------------------------------------------------------- */

char *tapir_summary__copy(struct tapir_summary *s, struct tapir_sv sv)
{
	char *text;

	if (sv.len > TAPIR_SUMMARY_MAX_TEXT_BYTES - s->text_bytes) {
		sv.len = 0;
		s->more++;
	}
	s->text_bytes += sv.len;
	text = strndup(sv.data ? sv.data : "", sv.len);
	s->failed |= !text;
	return text;
}

uint64_t tapir_summary__hash(uint64_t hash, struct tapir_sv sv)
{
	return tapir_hash__bytes(tapir_hash__mix(hash, sv.len), sv.data, sv.len);
}

uint64_t *tapir_summary__slot(struct tapir_summary *s, struct tapir_map *map, uint64_t key,
			      bool *is_new)
{
	uint64_t *slot;

	*is_new = false;
	if (map->cnt >= TAPIR_SUMMARY_MAX_KEYS)
		return tapir_map__get(map, key);
	slot = tapir_map__put(map, key, is_new);
	s->failed |= !slot;
	return slot;
}

/* ---- functions and their modules ------------------------------------------------------------ */

/* Code that was made while the program ran is "[jit]", wherever its memory came from. */
static struct tapir_sv module_of(const struct tapir_frame *frame)
{
	if (frame->is_jit)
		return tapir_sv__of("[jit]");
	return frame->module.len ? frame->module : tapir_sv__of("[unknown]");
}

static uint64_t module_row(struct tapir_summary *s, struct tapir_sv name)
{
	bool is_new = false;
	uint64_t *idx =
		tapir_summary__slot(s, &s->module_by_name, tapir_summary__hash(6, name), &is_new);
	struct tapir_module_row row = {};

	if (!idx || !is_new)
		return idx ? *idx : TAPIR_NO_ROW;
	*idx = TAPIR_NO_ROW;
	if (s->modules.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return TAPIR_NO_ROW;
	row.name = tapir_summary__copy(s, name);
	if (tapir_vec__push(&s->modules, row)) {
		*idx = s->modules.cnt - 1;
	} else {
		free(row.name);
		s->failed = true;
	}
	return *idx;
}

static uint64_t make_function(struct tapir_summary *s, const struct tapir_frame *frame,
			      struct tapir_sv name, struct tapir_sv module)
{
	struct tapir_function_row row = {.is_named = frame->name.len,
					 .kind = (uint8_t)tapir_frame__kind(frame),
					 .made_idx = (uint32_t)s->functions.cnt};

	if (s->functions.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return TAPIR_NO_ROW;
	row.module_idx = module.len ? (uint32_t)module_row(s, module) : UINT32_MAX;
	row.name = tapir_summary__copy(s, name);
	row.module = tapir_summary__copy(s, module);
	if (tapir_vec__push(&s->functions, row))
		return s->functions.cnt - 1;
	s->failed = true;
	return TAPIR_NO_ROW;
}

static uint64_t function_row(struct tapir_summary *s, const struct tapir_frame *frame)
{
	struct tapir_str text = {};
	struct tapir_sv module = module_of(frame);
	struct tapir_sv name = tapir_frame__shown_name(frame, &text, NULL);
	uint64_t *idx, row;
	bool is_new = false;

	if (!name.len) {
		tapir_frame__add_location(&text, frame, tapir_str__add);
		name = (struct tapir_sv){text.data, text.len};
	}
	idx = tapir_summary__slot(s, &s->function_by_name,
				  tapir_summary__hash(tapir_summary__hash(2, name), module),
				  &is_new);
	if (idx && is_new)
		*idx = make_function(s, frame, name, module);
	row = idx ? *idx : TAPIR_NO_ROW;
	tapir_str__fini(&text);
	return row;
}

static uint64_t lost_callers_row(struct tapir_summary *s, struct tapir_sv name)
{
	const struct tapir_frame none = {};
	bool is_new = false;
	uint64_t *idx =
		tapir_summary__slot(s, &s->function_by_name, tapir_summary__hash(7, name), &is_new);

	if (idx && is_new) {
		*idx = make_function(s, &none, name, (struct tapir_sv){});
		if (*idx != TAPIR_NO_ROW)
			s->functions.data[*idx].is_lost_callers = true;
	}
	return idx ? *idx : TAPIR_NO_ROW;
}

/* ---- one stack -------------------------------------------------------------------------------- */

/* The cached value of a frame: its function's row, its kind, and a flag for a name. */
static uint64_t function_fact(void *ctx, const struct tapir_frame *frame)
{
	uint64_t function = function_row(ctx, frame);
	uint64_t row = function == TAPIR_NO_ROW ? UINT32_MAX : function;

	return row << 8 | (uint64_t)tapir_frame__kind(frame) << 1 | (frame->name.len > 0);
}

static uint64_t frame_facts(void *ctx, const struct tapir_frame *frame)
{
	struct tapir_summary *s = ctx;

	return tapir_frame_chains__number(&s->chains, frame, function_fact, s);
}

static void add_stack_function(struct tapir_summary *s, struct tapir_resolved_stack *stack,
			       uint64_t fact)
{
	uint32_t function = (uint32_t)(fact >> 8);

	stack->named_cnt += fact & 1;
	if (!stack->all_cnt++) {
		stack->kind = fact >> 1 & 0x7f;
		stack->is_leaf_named = fact & 1;
		stack->has_leaf_row = function != UINT32_MAX;
	}
	if (function == UINT32_MAX)
		return;
	if (tapir_vec__push(&s->frames, function))
		stack->frame_cnt++;
	else
		s->failed = true;
}

static void add_resolved_frames(struct tapir_summary *s, const struct tapir_catalog *catalog,
				const struct tapir_stack_ref *ref, uint64_t stack_id,
				struct tapir_resolved_stack *stack, struct tapir_name_span *span)
{
	const struct tapir_rec_stack *rec =
		stack_id ? tapir_catalog__stack(catalog, stack_id) : NULL;
	struct tapir_stack_view view;

	if (!rec)
		return;
	stack->is_described = true;
	tapir_stack_view__of(&rec->h, &view);
	tapir_frame_cache__expect(&s->frame_cache, catalog, ref, &view);
	for (unsigned i = 0; i < rec->frame_cnt; i++) {
		uint64_t number = tapir_frame_cache__number(&s->frame_cache, catalog, ref, &view, i,
							    frame_facts, s, span);
		const uint64_t *facts;
		unsigned cnt = tapir_frame_chains__get(&s->chains, &number, &facts);

		for (unsigned k = 0; k < cnt; k++)
			add_stack_function(s, stack, facts[k]);
	}
}

/* In the place of the callers that are missing: "[callers lost in libfoo.so: ...]". */
static void add_lost_callers(struct tapir_summary *s, const struct tapir_catalog *catalog,
			     const struct tapir_stack_ref *ref, struct tapir_resolved_stack *stack)
{
	const struct tapir_rec_stack *rec =
		ref->stack_id ? tapir_catalog__stack(catalog, ref->stack_id) : NULL;
	struct tapir_str text = {};
	uint64_t row;

	tapir_str__addc(&text, '[');
	if (rec && tapir_stack_end__add_of(&text, catalog, ref->tgid, ref->time_ns, rec)) {
		tapir_str__addc(&text, ']');
		row = lost_callers_row(s, (struct tapir_sv){text.data, text.len});
		if (row != TAPIR_NO_ROW && tapir_vec__push(&s->frames, (uint32_t)row))
			stack->frame_cnt++;
	}
	s->failed |= text.failed;
	tapir_str__fini(&text);
}

static uint64_t make_stack(struct tapir_summary *s, const struct tapir_resolved_stack *stack)
{
	struct tapir_stack_row row = {.event = stack->event,
				      .function_cnt = stack->frame_cnt,
				      .made_idx = (uint32_t)s->stacks.cnt};

	if (s->stacks.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return TAPIR_NO_ROW;
	row.functions = calloc(stack->frame_cnt + 1u, sizeof(*row.functions));
	if (!row.functions || !tapir_vec__push(&s->stacks, row)) {
		free(row.functions);
		s->failed = true;
		return TAPIR_NO_ROW;
	}
	if (stack->frame_cnt)
		memcpy(row.functions, s->frames.data + stack->first_frame,
		       stack->frame_cnt * sizeof(*row.functions));
	return s->stacks.cnt - 1;
}

/* The row of these functions, made if it is new. */
static uint64_t stack_row(struct tapir_summary *s, const struct tapir_resolved_stack *stack)
{
	uint64_t key = tapir_hash__mix(3, stack->event);
	bool is_new = false;
	uint64_t *idx;

	for (uint32_t i = 0; i < stack->frame_cnt; i++)
		key = tapir_hash__mix(key, s->frames.data[stack->first_frame + i]);
	idx = tapir_summary__slot(s, &s->stack_by_functions, key, &is_new);
	if (idx && is_new)
		*idx = make_stack(s, stack);
	return idx ? *idx : TAPIR_NO_ROW;
}

/* Makes the row of an entry, whose time is narrowed. NULL: out of memory. */
static struct tapir_resolved_stack *resolve_stack(struct tapir_summary *s,
						  const struct tapir_catalog *catalog,
						  const struct tapir_stack_ref *ref, uint32_t event,
						  struct tapir_stack_cache_entry *e)
{
	struct tapir_name_span span = TAPIR_NAME_SPAN_ALL;
	struct tapir_resolved_stack stack = {
		.event = event, .row = TAPIR_NO_ROW, .first_frame = (uint32_t)s->frames.cnt};

	add_resolved_frames(s, catalog, ref, ref->kstack_id, &stack, &span);
	add_resolved_frames(s, catalog, ref, ref->stack_id, &stack, &span);
	add_lost_callers(s, catalog, ref, &stack);
	if (stack.is_described)
		stack.row = stack_row(s, &stack);
	if (stack.row != TAPIR_NO_ROW) /* which has them, too */
		s->frames.cnt = stack.first_frame;
	if (!tapir_vec__push(&s->resolved, stack))
		return NULL;
	e->span = tapir_name_span__both(e->span, span);
	e->row = (uint32_t)s->resolved.cnt;
	return &s->resolved.data[s->resolved.cnt - 1];
}

static bool is_described(const struct tapir_catalog *catalog, const struct tapir_stack_ref *ref)
{
	return (ref->stack_id && tapir_catalog__stack(catalog, ref->stack_id)) ||
	       (ref->kstack_id && tapir_catalog__stack(catalog, ref->kstack_id));
}

/* A timeline's cache has no event in its keys. */
static struct tapir_stack_ref sample_ref(const struct tapir_summary *s,
					 const struct tapir_rec_sample *sample)
{
	return (struct tapir_stack_ref){.tgid = sample->tgid,
					.time_ns = sample->h.time_ns,
					.stack_id = sample->stack_id,
					.kstack_id = sample->kstack_id,
					.salt = s->shared ? 0 : TAPIR_SUMMARY_SAMPLED};
}

void tapir_summary__expect(const struct tapir_summary *s, const struct tapir_rec *rec,
			   enum tapir_reorder_step step)
{
	const struct tapir_stack_cache *cache = s->shared ? s->shared : &s->memo;
	struct tapir_stack_ref ref;

	if (rec->type != TAPIR_REC_SAMPLE || step == TAPIR_REORDER_NEXT)
		return;
	ref = sample_ref(s, (const void *)rec);
	if (step == TAPIR_REORDER_FAR)
		tapir_stack_cache__expect_slot(cache, &ref);
	else
		tapir_stack_cache__expect_entry(cache, &ref);
}

static void flush_counts(void *ctx)
{
	tapir_summary__flush_stacks(ctx);
}

/* Renews a cache, before which its counts are taken. */
static bool renew(struct tapir_summary *s, struct tapir_stack_cache *cache,
		  const struct tapir_catalog *catalog)
{
	cache->forget = flush_counts;
	cache->forget_ctx = s;
	return tapir_stack_cache__renew(cache, catalog);
}

/* The row of a stack in a cache; NULL: out of memory. */
static struct tapir_resolved_stack *
resolved_stack_of(struct tapir_summary *s, struct tapir_stack_cache *cache,
		  const struct tapir_catalog *catalog, const struct tapir_stack_ref *ref,
		  uint32_t event, struct tapir_stack_cache_entry **entry)
{
	struct tapir_resolved_stack *row = NULL;

	if (renew(s, cache, catalog) || s->resolved.cnt >= TAPIR_STACK_CACHE_MAX)
		tapir_summary__flush_stacks(s);
	*entry = tapir_stack_cache__at(cache, ref);
	if (!*entry)
		return NULL;
	if ((*entry)->row)
		row = &s->resolved.data[(*entry)->row - 1];
	if (!row || (!row->is_described && is_described(catalog, ref)))
		row = resolve_stack(s, catalog, ref, event, *entry);
	return row;
}

void tapir_summary__count_event_stack(struct tapir_summary *s, const struct tapir_catalog *catalog,
				      const struct tapir_stack_ref *ref)
{
	struct tapir_stack_cache_entry *entry;
	struct tapir_resolved_stack *row =
		resolved_stack_of(s, &s->memo, catalog, ref, (uint32_t)ref->salt, &entry);

	if (row)
		row->cnt++;
	s->failed |= !row;
}

/*
 * Counts a sample of which everything is known by its entry: no other memory is read. False: it
 * takes its row.
 */
static bool count_known(struct tapir_summary *s, struct tapir_stack_cache *cache,
			const struct tapir_catalog *catalog, const struct tapir_stack_ref *ref)
{
	struct tapir_stack_cache_entry *e =
		renew(s, cache, catalog) ? NULL : tapir_stack_cache__find(cache, ref);

	if (!e || !e->is_row_final || e->row_cnt == UINT32_MAX)
		return false;
	e->row_cnt++;
	s->hint = s->shared ? tapir_stack_cache__hint(cache, e) : 0;
	return true;
}

void tapir_summary__count_sample_stack(struct tapir_summary *s, const struct tapir_catalog *catalog,
				       const struct tapir_rec_sample *sample)
{
	const struct tapir_stack_ref ref = sample_ref(s, sample);
	struct tapir_stack_cache *cache = s->shared ? s->shared : &s->memo;
	struct tapir_stack_cache_entry *entry;
	struct tapir_resolved_stack *row;

	if (count_known(s, cache, catalog, &ref))
		return;
	row = resolved_stack_of(s, cache, catalog, &ref, TAPIR_SUMMARY_SAMPLED, &entry);
	s->failed |= !row;
	if (!row)
		return;
	s->hint = s->shared ? tapir_stack_cache__hint(cache, entry) : 0;
	row->cnt++;
	if (ref.stack_id && !row->end.era)
		tapir_stack_ends__look_up(&s->ends, catalog, &ref, &row->end);
	if (row->end.era)
		row->end_cnt++;
	else if (ref.stack_id) /* the stack may be described later */
		tapir_stack_ends__count(&s->ends, TAPIR_FAMILY_SAMPLE, &row->end, 1);
	entry->is_row_final = row->is_described && (row->end.era || !ref.stack_id);
}

/* ---- adding up ---------------------------------------------------------------------------------- */

/* A function that calls itself is in a sample once. */
static void add_totals(struct tapir_summary *s, const struct tapir_resolved_stack *stack)
{
	const struct tapir_stack_row *row =
		stack->row == TAPIR_NO_ROW ? NULL : &s->stacks.data[stack->row];
	const uint32_t *frames = row ? row->functions : s->frames.data + stack->first_frame;
	uint32_t cnt = row ? row->function_cnt : stack->frame_cnt, mark = ++s->mark;

	for (uint32_t i = 0; i < cnt; i++) {
		struct tapir_function_row *function = &s->functions.data[frames[i]];
		struct tapir_module_row *module = function->module_idx < s->modules.cnt
							  ? &s->modules.data[function->module_idx]
							  : NULL;

		/*
		 * Beyond the limit of rows, frames[0] is not the leaf, but the first that has a
		 * row.
		 */
		if (!i && stack->has_leaf_row) {
			function->self += stack->cnt;
			if (module)
				module->self += stack->cnt;
		}
		if (function->is_lost_callers)
			continue;
		if (function->mark != mark)
			function->total += stack->cnt;
		function->mark = mark;
		if (module && module->mark != mark)
			module->total += stack->cnt;
		if (module)
			module->mark = mark;
	}
}

static void add_sampled(struct tapir_summary *s, const struct tapir_resolved_stack *stack)
{
	if (!stack->all_cnt) {
		s->sample_no_stack_cnt += stack->cnt;
		return;
	}
	s->frame_cnt += stack->cnt * stack->all_cnt;
	s->frame_named_cnt += stack->cnt * stack->named_cnt;
	s->sample_named_cnt += stack->is_leaf_named ? stack->cnt : 0;
	s->kinds[stack->kind] += stack->cnt;
	s->more += stack->has_leaf_row ? 0 : stack->cnt;
	add_totals(s, stack);
}

/* Adds what was counted in entries to their rows, of which there will be others. */
static void take_counts(struct tapir_summary *s, struct tapir_stack_cache *cache)
{
	struct tapir_stack_cache_entry *e;

	tapir_vec_for_each (e, &cache->entries) {
		struct tapir_resolved_stack *row = e->row ? &s->resolved.data[e->row - 1] : NULL;

		if (!row)
			continue;
		row->cnt += e->row_cnt;
		row->end_cnt += row->end.era ? e->row_cnt : 0;
		e->row = e->row_cnt = 0;
		e->is_row_final = false;
	}
}

void tapir_summary__flush_stacks(struct tapir_summary *s)
{
	const struct tapir_resolved_stack *stack;

	take_counts(s, &s->memo);
	if (s->shared)
		take_counts(s, s->shared);
	tapir_vec_for_each (stack, &s->resolved) {
		tapir_stack_ends__count(&s->ends, TAPIR_FAMILY_SAMPLE, &stack->end, stack->end_cnt);
		if (stack->event == TAPIR_SUMMARY_SAMPLED)
			add_sampled(s, stack);
		else if (!stack->is_described)
			s->no_stack_cnt += stack->cnt;
		if (stack->row != TAPIR_NO_ROW)
			s->stacks.data[stack->row].cnt += stack->cnt;
		else if (stack->is_described)
			s->more += stack->cnt;
	}
	s->resolved.cnt = 0;
	s->frames.cnt = 0;
}

/* ---- the order of all rows: the largest first, equal ones as they came --------------------- */

static int by_event_hits(const void *a, const void *b)
{
	const struct tapir_event_row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->captured + x->lost, y->captured + y->lost),
			       tapir_order__up(x->made_idx, y->made_idx));
}

/* A thread that only comes and goes is at work less than one that is seen to run. */
static uint64_t work(const uint64_t captured[TAPIR_FAMILY_CNT])
{
	return captured[TAPIR_FAMILY_EVENT] + captured[TAPIR_FAMILY_SAMPLE];
}

static int by_work(const uint64_t x[TAPIR_FAMILY_CNT], const uint64_t y[TAPIR_FAMILY_CNT])
{
	return tapir_order__by(tapir_order__down(work(x), work(y)),
			       tapir_order__down(tapir_captured__sum(x), tapir_captured__sum(y)));
}

static int by_process_events(const void *a, const void *b)
{
	const struct tapir_process_row *x = a, *y = b;

	return tapir_order__by(by_work(x->captured, y->captured), tapir_order__up(x->pid, y->pid));
}

static int by_thread_events(const void *a, const void *b)
{
	const struct tapir_thread_row *x = a, *y = b;

	return tapir_order__by(by_work(x->captured, y->captured), tapir_order__up(x->pid, y->pid),
			       tapir_order__up(x->tid, y->tid));
}

static int by_function_samples(const void *a, const void *b)
{
	const struct tapir_function_row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->self, y->self),
			       tapir_order__down(x->total, y->total),
			       tapir_order__up(x->made_idx, y->made_idx));
}

static int by_module_samples(const void *a, const void *b)
{
	const struct tapir_module_row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->self, y->self),
			       tapir_order__down(x->total, y->total), strcmp(x->name, y->name));
}

static int by_stack_events(const void *a, const void *b)
{
	const struct tapir_stack_row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->cnt, y->cnt),
			       tapir_order__up(x->made_idx, y->made_idx));
}

/* Stack rows name rows of two tables by the places they had before these were sorted. */
static void move_stacks(struct tapir_summary *s, uint32_t *event_idx, uint32_t *function_idx)
{
	for (size_t i = 0; i < s->events.cnt; i++)
		event_idx[s->events.data[i].made_idx] = (uint32_t)i;
	for (size_t i = 0; i < s->functions.cnt; i++)
		function_idx[s->functions.data[i].made_idx] = (uint32_t)i;
	for (size_t i = 0; i < s->stacks.cnt; i++) {
		struct tapir_stack_row *row = &s->stacks.data[i];

		if (row->event != TAPIR_SUMMARY_SAMPLED)
			row->event = event_idx[row->event];
		for (uint32_t f = 0; f < row->function_cnt; f++)
			row->functions[f] = function_idx[row->functions[f]];
	}
}

#define SORT(rows, compare)                                                                        \
	do {                                                                                       \
		if ((rows).cnt)                                                                    \
			qsort((rows).data, (rows).cnt, sizeof(*(rows).data), compare);             \
	} while (0)

int tapir_summary__sort(struct tapir_summary *s)
{
	uint32_t *event_idx = calloc(s->events.cnt + 1, sizeof(*event_idx));
	uint32_t *function_idx = calloc(s->functions.cnt + 1, sizeof(*function_idx));
	int err = event_idx && function_idx && !s->failed && !s->ends.failed ? 0 : -ENOMEM;

	if (!err) {
		tapir_summary__flush_stacks(s);
		SORT(s->events, by_event_hits);
		SORT(s->functions, by_function_samples);
		move_stacks(s, event_idx, function_idx);
		SORT(s->modules, by_module_samples);
		SORT(s->processes, by_process_events);
		SORT(s->threads, by_thread_events);
		SORT(s->stacks, by_stack_events);
		tapir_stack_ends__sort(&s->ends);
	}
	free(event_idx);
	free(function_idx);
	return err;
}
