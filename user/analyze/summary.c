// SPDX-License-Identifier: GPL-2.0-or-later
/* Counting: per event three look-ups by number; names are touched once a row. */
#include "analyze/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "symbol/frame.h"

#define NO_ROW UINT64_MAX /* as a map's value: there were too many */

static char *copy(struct tapir_summary *s, struct tapir_sv sv)
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

/* A name that changes often takes no more of the text's bytes than its last value. */
static void replace(struct tapir_summary *s, char **text, struct tapir_sv sv)
{
	size_t old_bytes = *text ? strlen(*text) : 0;

	if (old_bytes == sv.len && !memcmp(*text ? *text : "", sv.data, sv.len))
		return;
	s->text_bytes -= old_bytes;
	free(*text);
	*text = copy(s, sv);
}

static uint64_t hash_sv(uint64_t hash, struct tapir_sv sv)
{
	return tapir_hash__bytes(tapir_hash__mix(hash, sv.len), sv.data, sv.len);
}

/* The value's place for a key that may be new; NULL: too many keys, or out of memory. */
static uint64_t *place(struct tapir_summary *s, struct tapir_map *map, uint64_t key, bool *is_new)
{
	uint64_t *slot;

	*is_new = false;
	if (map->cnt >= TAPIR_SUMMARY_MAX_KEYS)
		return tapir_map__get(map, key);
	slot = tapir_map__put(map, key, is_new);
	s->failed |= !slot;
	return slot;
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Rows of one name are one row: sites of one event differ in their operands only. */
static uint64_t new_event_row(struct tapir_summary *s, const struct tapir_rec_probe *rec)
{
	struct tapir_probe_view view = {};
	struct tapir_event_row row = {};
	uint64_t *by_name;
	bool is_new = false;

	if (rec)
		tapir_probe_view__of(&rec->h, &view);
	by_name = place(s, &s->event_by_name, hash_sv(hash_sv(1, view.provider), view.event),
			&is_new);
	if (!by_name)
		return NO_ROW;
	if (!is_new)
		return *by_name;
	*by_name = NO_ROW;
	if (s->events.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return NO_ROW;
	row.provider = copy(s, view.provider);
	row.event = copy(s, rec ? view.event : tapir_sv__of("(not described)"));
	row.made_idx = (uint32_t)s->events.cnt;
	if (tapir_vec__push(&s->events, row))
		*by_name = s->events.cnt - 1;
	else
		s->failed = true;
	return *by_name;
}

static uint64_t event_row(struct tapir_summary *s, const struct tapir_catalog *catalog,
			  uint32_t probe_id)
{
	bool is_new = false;
	uint64_t *idx = place(s, &s->event_by_probe, probe_id, &is_new);

	if (!idx)
		return NO_ROW;
	if (is_new)
		*idx = new_event_row(s, tapir_catalog__probe(catalog, probe_id));
	return *idx;
}

static uint64_t process_row(struct tapir_summary *s, uint32_t pid)
{
	bool is_new = false;
	uint64_t *idx = place(s, &s->process_by_pid, pid, &is_new);
	struct tapir_process_row row = {.pid = pid};

	if (!idx || !is_new)
		return idx ? *idx : NO_ROW;
	*idx = NO_ROW;
	if (s->processes.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return NO_ROW;
	row.comm = copy(s, (struct tapir_sv){});
	row.exe = copy(s, (struct tapir_sv){});
	if (tapir_vec__push(&s->processes, row))
		*idx = s->processes.cnt - 1;
	return *idx;
}

static void name_process(struct tapir_summary *s, uint32_t pid, struct tapir_sv comm,
			 struct tapir_sv exe)
{
	uint64_t idx = process_row(s, pid);
	struct tapir_process_row *row;

	if (idx == NO_ROW)
		return;
	row = &s->processes.data[idx];
	if (comm.len)
		replace(s, &row->comm, comm);
	if (exe.len)
		replace(s, &row->exe, exe);
}

/* A forked child runs its parent's program until it says another one. */
static void inherit_program(struct tapir_summary *s, uint32_t pid, uint32_t parent_pid)
{
	uint64_t child = process_row(s, pid);
	const uint64_t *parent = tapir_map__get(&s->process_by_pid, parent_pid);

	if (child == NO_ROW || !parent || *parent == NO_ROW || *parent == child)
		return;
	replace(s, &s->processes.data[child].exe, tapir_sv__of(s->processes.data[*parent].exe));
}

static uint64_t function_row(struct tapir_summary *s, const struct tapir_frame *frame)
{
	struct tapir_sv module = tapir_frame__module_name(frame), name = frame->name;
	struct tapir_function_row row = {.is_named = name.len};
	struct tapir_str text = {};
	uint64_t *idx;
	bool is_new = false;

	if (!name.len) {
		tapir_frame__add_place(&text, frame, tapir_str__add);
		name = (struct tapir_sv){text.data, text.len};
	}
	idx = place(s, &s->function_by_name, hash_sv(hash_sv(2, name), module), &is_new);
	if (idx && is_new) {
		*idx = NO_ROW;
		if (s->functions.cnt < TAPIR_SUMMARY_MAX_ROWS) {
			row.name = copy(s, name);
			row.module = copy(s, frame->module);
			row.made_idx = (uint32_t)s->functions.cnt;
			if (tapir_vec__push(&s->functions, row))
				*idx = s->functions.cnt - 1;
		}
	}
	tapir_str__fini(&text);
	return idx ? *idx : NO_ROW;
}

/* ---- stacks ----------------------------------------------------------------------------- */

/* The row of these functions, which it takes if it is new. */
static uint64_t stack_row(struct tapir_summary *s, struct tapir_stack_row *row)
{
	uint64_t key = tapir_hash__bytes(tapir_hash__mix(3, row->event), row->functions,
					 row->function_cnt * sizeof(*row->functions));
	bool is_new = false;
	uint64_t *idx = place(s, &s->stack_by_functions, key, &is_new);

	if (!idx || !is_new)
		return idx ? *idx : NO_ROW;
	*idx = NO_ROW;
	if (s->stacks.cnt == TAPIR_SUMMARY_MAX_STACKS)
		return NO_ROW;
	if (!tapir_vec__push(&s->stacks, *row)) {
		s->failed = true;
		return NO_ROW;
	}
	row->functions = NULL;
	*idx = s->stacks.cnt - 1;
	return *idx;
}

static uint64_t resolve_stack(struct tapir_summary *s, const struct tapir_catalog *catalog,
			      const struct tapir_rec_event *ev, const struct tapir_rec_stack *rec,
			      uint64_t event)
{
	struct tapir_stack_row row = {.event = (uint32_t)event};
	struct tapir_stack_view view;
	uint64_t idx;

	tapir_stack_view__of(&rec->h, &view);
	row.functions = calloc(rec->frame_cnt + 1u, sizeof(*row.functions));
	if (!row.functions) {
		s->failed = true;
		return NO_ROW;
	}
	for (unsigned i = 0; i < rec->frame_cnt; i++) {
		struct tapir_frame frame =
			tapir_frame__of(catalog, ev->tgid, ev->h.time_ns, &view, i);
		uint64_t function = function_row(s, &frame);

		if (function != NO_ROW)
			row.functions[row.function_cnt++] = (uint32_t)function;
	}
	idx = stack_row(s, &row);
	free(row.functions);
	return idx;
}

static void count_stack(struct tapir_summary *s, const struct tapir_catalog *catalog,
			const struct tapir_rec_event *ev, uint64_t event)
{
	/* Small numbers first, each mixed before the next: 0xabc ^ 1 and 0xabd ^ 0 are one key. */
	uint64_t key =
		tapir_hash__mix(tapir_hash__mix(tapir_hash__mix(4, event), ev->tgid), ev->stack_id);
	const uint64_t *known = tapir_map__get(&s->stack_by_id, key);
	const struct tapir_rec_stack *rec;
	uint64_t idx = known ? *known : NO_ROW, *slot;
	bool is_new = false;

	if (!known) {
		rec = tapir_catalog__stack(catalog, ev->stack_id);
		if (!rec) {
			s->no_stack_cnt++;
			return;
		}
		slot = place(s, &s->stack_by_id, key, &is_new);
		if (slot)
			*slot = idx = resolve_stack(s, catalog, ev, rec, event);
	}
	if (idx != NO_ROW)
		s->stacks.data[idx].events++;
	else
		s->more++;
}

/* ---- a type each ------------------------------------------------------------------------ */

static void add_event(struct tapir_summary *s, const struct tapir_catalog *catalog,
		      const struct tapir_rec *rec)
{
	const struct tapir_rec_event *ev = (const void *)rec;
	uint64_t event = event_row(s, catalog, ev->probe_id), process = process_row(s, ev->tgid);

	s->event_cnt++;
	if (process != NO_ROW)
		s->processes.data[process].events++;
	else
		s->more++;
	if (event == NO_ROW) {
		s->more++;
		return;
	}
	s->events.data[event].captured++;
	if (ev->stack_id)
		count_stack(s, catalog, ev, event);
}

static void add_sample(struct tapir_summary *s, const struct tapir_catalog *catalog,
		       const struct tapir_rec *rec)
{
	const struct tapir_rec_sample *sample = (const void *)rec;
	uint64_t id = sample->kstack_id ? sample->kstack_id : sample->stack_id;
	const struct tapir_rec_stack *stack = id ? tapir_catalog__stack(catalog, id) : NULL;
	uint64_t process = process_row(s, sample->tgid), function;
	struct tapir_stack_view view;
	struct tapir_frame frame;

	s->sample_cnt++;
	if (process != NO_ROW)
		s->processes.data[process].samples++;
	else
		s->more++;
	if (!stack || !stack->frame_cnt)
		return;
	tapir_stack_view__of(&stack->h, &view);
	frame = tapir_frame__of(catalog, sample->tgid, rec->time_ns, &view, 0);
	function = function_row(s, &frame);
	s->sample_named_cnt += frame.name.len > 0;
	if (function != NO_ROW)
		s->functions.data[function].samples++;
	else
		s->more++;
}

static void add_loss(struct tapir_summary *s, const struct tapir_catalog *catalog,
		     const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;
	uint64_t event;

	if (loss->cause >= TAPIR_LOSS_CAUSE_CNT)
		return;
	s->lost[loss->cause] += loss->count;
	if (!loss->probe_id || tapir_loss__kind(loss->cause) != TAPIR_LOSS_KIND_EVENT)
		return;
	event = event_row(s, catalog, loss->probe_id);
	if (event != NO_ROW)
		s->events.data[event].lost += loss->count;
}

static void add_process(struct tapir_summary *s, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec)
{
	struct tapir_process_view view;

	(void)catalog;
	tapir_process_view__of(rec, &view);
	if (view.rec->kind == TAPIR_PROCESS_FORK && !view.exe.len)
		inherit_program(s, view.rec->tgid, view.rec->parent_tgid);
	name_process(s, view.rec->tgid, view.comm, view.exe);
}

static void add_thread(struct tapir_summary *s, const struct tapir_catalog *catalog,
		       const struct tapir_rec *rec)
{
	struct tapir_thread_view view;

	(void)catalog;
	tapir_thread_view__of(rec, &view);
	name_process(s, view.rec->tgid, view.leader_comm, (struct tapir_sv){});
}

static void add_gap(struct tapir_summary *s, const struct tapir_catalog *catalog,
		    const struct tapir_rec *rec)
{
	struct tapir_gap_view view;
	struct tapir_gap_row row;

	(void)catalog;
	tapir_gap_view__of(rec, &view);
	if (s->gaps.cnt == TAPIR_SUMMARY_MAX_ROWS) {
		s->more++;
		return;
	}
	row = (struct tapir_gap_row){.pid = view.rec->tgid,
				     .reason = view.rec->reason,
				     .path = copy(s, view.path),
				     .from_ns = view.rec->from_ns,
				     .until_ns = view.rec->until_ns};
	s->failed |= !tapir_vec__push(&s->gaps, row);
}

static void add_meta(struct tapir_summary *s, const struct tapir_catalog *catalog,
		     const struct tapir_rec *rec)
{
	struct tapir_meta_view view;
	struct tapir_meta_row row;

	(void)catalog;
	tapir_meta_view__of(rec, &view);
	if (s->metas.cnt == TAPIR_SUMMARY_MAX_ROWS)
		return;
	row = (struct tapir_meta_row){.key = copy(s, view.key), .value = copy(s, view.value)};
	s->failed |= !tapir_vec__push(&s->metas, row);
}

static void add_switch(struct tapir_summary *s, const struct tapir_catalog *catalog,
		       const struct tapir_rec *rec)
{
	(void)catalog;
	(void)rec;
	s->switch_cnt++;
}

void tapir_summary__add(struct tapir_summary *s, const struct tapir_catalog *catalog,
			const struct tapir_rec *rec)
{
	static void (*const adders[])(struct tapir_summary *, const struct tapir_catalog *,
				      const struct tapir_rec *) = {
		[TAPIR_REC_EVENT] = add_event,	 [TAPIR_REC_SAMPLE] = add_sample,
		[TAPIR_REC_SWITCH] = add_switch, [TAPIR_REC_LOSS] = add_loss,
		[TAPIR_REC_THREAD] = add_thread, [TAPIR_REC_PROCESS] = add_process,
		[TAPIR_REC_GAP] = add_gap,	 [TAPIR_REC_META] = add_meta,
	};

	if (!s->first_ns || rec->time_ns < s->first_ns)
		s->first_ns = rec->time_ns;
	if (rec->time_ns > s->last_ns)
		s->last_ns = rec->time_ns;
	if (rec->type < sizeof(adders) / sizeof(adders[0]) && adders[rec->type])
		adders[rec->type](s, catalog, rec);
}

void tapir_summary__fini(struct tapir_summary *s)
{
	for (size_t i = 0; i < s->events.cnt; i++) {
		free(s->events.data[i].provider);
		free(s->events.data[i].event);
	}
	for (size_t i = 0; i < s->processes.cnt; i++) {
		free(s->processes.data[i].comm);
		free(s->processes.data[i].exe);
	}
	for (size_t i = 0; i < s->functions.cnt; i++) {
		free(s->functions.data[i].name);
		free(s->functions.data[i].module);
	}
	for (size_t i = 0; i < s->stacks.cnt; i++)
		free(s->stacks.data[i].functions);
	for (size_t i = 0; i < s->gaps.cnt; i++)
		free(s->gaps.data[i].path);
	for (size_t i = 0; i < s->metas.cnt; i++) {
		free(s->metas.data[i].key);
		free(s->metas.data[i].value);
	}
	tapir_vec__fini(&s->events);
	tapir_vec__fini(&s->processes);
	tapir_vec__fini(&s->functions);
	tapir_vec__fini(&s->stacks);
	tapir_vec__fini(&s->gaps);
	tapir_vec__fini(&s->metas);
	tapir_map__fini(&s->event_by_probe);
	tapir_map__fini(&s->event_by_name);
	tapir_map__fini(&s->process_by_pid);
	tapir_map__fini(&s->function_by_name);
	tapir_map__fini(&s->stack_by_id);
	tapir_map__fini(&s->stack_by_functions);
}

uint64_t tapir_summary__lost(const struct tapir_summary *s, int kind)
{
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < TAPIR_LOSS_CAUSE_CNT; cause++)
		if (tapir_loss__kind(cause) == kind)
			sum += s->lost[cause];
	return sum;
}

const char *tapir_summary__meta(const struct tapir_summary *s, const char *key)
{
	for (size_t i = 0; i < s->metas.cnt; i++)
		if (s->metas.data[i].key && !strcmp(s->metas.data[i].key, key))
			return s->metas.data[i].value;
	return NULL;
}
