// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A description is needed if a record that is kept refers to it. It is known by its type and the
 * ids in it, whatever segment it is in: segments repeat their descriptions.
 */
#include "output/export/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/freeze.h"
#include "trace/recbuf.h"
#include "trace/record.h"
#include "trace/rehost.h"
#include "trace/rewrite.h"

/* ---- which records are kept -------------------------------------------------------------- */

static bool is_chosen(const struct tapir_cut *cut, uint32_t tgid)
{
	const uint32_t *pid;

	tapir_vec_for_each (pid, cut->pids)
		if (*pid == tgid)
			return true;
	return !cut->pids->cnt;
}

static bool overlaps(const struct tapir_cut *cut, uint64_t from_ns, uint64_t until_ns)
{
	return until_ns >= cut->from_ns && from_ns <= cut->until_ns;
}

static bool is_in_time(const struct tapir_cut *cut, uint64_t time_ns)
{
	return overlaps(cut, time_ns, time_ns);
}

/* Returns true if the record is about a chosen process, or about none. */
static bool is_of_chosen(const struct tapir_cut *cut, const struct tapir_rec *rec)
{
	uint32_t tgid = tapir_rec__tgid(rec, 0), other = tapir_rec__tgid(rec, 1);

	return (!tgid && !other) || (tgid && is_chosen(cut, tgid)) ||
	       (other && is_chosen(cut, other));
}

/* Returns true if a record that does not describe is kept, but for its event's name. */
static bool keeps(const struct tapir_cut *cut, const struct tapir_rec *rec)
{
	const struct tapir_rec_loss *loss = (const void *)rec;
	const struct tapir_rec_gap *gap = (const void *)rec;

	if (rec->type == TAPIR_REC_LOSS)
		return overlaps(cut, loss->from_ns, loss->until_ns);
	if (!is_of_chosen(cut, rec))
		return false;
	if (rec->type == TAPIR_REC_GAP)
		return tapir_gap__lasts(gap) || overlaps(cut, gap->from_ns, gap->until_ns);
	return is_in_time(cut, rec->time_ns);
}

/* ---- what they need ---------------------------------------------------------------------- */

static uint64_t described_id_key(unsigned type, uint64_t id, uint64_t more)
{
	return tapir_hash__mix(tapir_hash__mix(type, id), more);
}

/* Returns the key of a description; 0: it is chosen otherwise. */
static uint64_t description_key(const struct tapir_rec *rec)
{
	const struct tapir_rec_probe *probe = (const void *)rec;
	const struct tapir_rec_metadata *metadata = (const void *)rec;
	const struct tapir_rec_stack *stack = (const void *)rec;
	const struct tapir_rec_symbol *symbol = (const void *)rec;
	const struct tapir_rec_jit *jit = (const void *)rec;
	const struct tapir_rec_mapping *mapping = (const void *)rec;

	switch (rec->type) {
	case TAPIR_REC_PROBE:
		return described_id_key(TAPIR_REC_PROBE, probe->probe_id, 0);
	case TAPIR_REC_METADATA:
		return described_id_key(TAPIR_REC_PROBE, metadata->probe_id, 0);
	case TAPIR_REC_STACK:
		return described_id_key(rec->type, stack->stack_id, 0);
	case TAPIR_REC_SYMBOL:
		return described_id_key(rec->type, symbol->file_id, symbol->start_off);
	case TAPIR_REC_JIT:
	case TAPIR_REC_INLINED:
		return described_id_key(rec->type, jit->tgid, jit->start_va);
	case TAPIR_REC_MAPPING:
		return described_id_key(rec->type, mapping->tgid, mapping->start_va);
	default:
		return 0;
	}
}

/* Returns the key which is needed if events of this id are chosen. */
static uint64_t event_key(const struct tapir_rec *rec)
{
	return described_id_key(TAPIR_REC_EVENT, ((const struct tapir_rec_event *)rec)->probe_id,
				0);
}

static void need(struct tapir_cut *cut, uint64_t key, bool *is_new)
{
	cut->failed |= !tapir_map__put(&cut->needed, key, is_new);
}

static void need_rec(struct tapir_cut *cut, const struct tapir_rec *rec)
{
	if (rec)
		need(cut, description_key(rec), NULL);
}

static bool is_needed(const struct tapir_cut *cut, uint64_t key)
{
	return tapir_map__get(&cut->needed, key);
}

/* Notes the descriptions that name the code at an address. */
static void need_code(struct tapir_cut *cut, const struct tapir_catalog *catalog, uint32_t tgid,
		      uint64_t va, uint64_t time_ns)
{
	const struct tapir_rec_jit *jit = tapir_catalog__jit(catalog, tgid, va, time_ns);
	const struct tapir_rec_jit *inlined = tapir_catalog__inlined(catalog, tgid, va, time_ns);
	const struct tapir_rec_mapping *mapping =
		tapir_catalog__mapping(catalog, tgid, va, time_ns);
	const struct tapir_rec_symbol *symbol =
		mapping && mapping->file_id
			? tapir_catalog__symbol(catalog, mapping->file_id,
						va - mapping->start_va + mapping->file_off)
			: NULL;

	need_rec(cut, jit ? &jit->h : NULL);
	need_rec(cut, inlined ? &inlined->h : NULL);
	need_rec(cut, mapping ? &mapping->h : NULL);
	need_rec(cut, symbol ? &symbol->h : NULL);
}

static void need_stack(struct tapir_cut *cut, const struct tapir_catalog *catalog, uint32_t tgid,
		       uint64_t stack_id, uint64_t time_ns)
{
	const struct tapir_rec_stack *stack =
		stack_id ? tapir_catalog__stack(catalog, stack_id) : NULL;
	struct tapir_stack_view view;
	uint32_t owner;
	bool is_new = false;

	if (!stack)
		return;
	owner = stack->flags & TAPIR_STACK_KERNEL ? tapir_host__kernel_of(tgid) : tgid;
	need_rec(cut, &stack->h);
	/* Names of generated code change: they are searched again if the stack was taken in another
	 * second. */
	need(cut,
	     described_id_key(TAPIR_REC_TYPE_CNT, stack_id, (uint64_t)owner << 32 | time_ns >> 30),
	     &is_new);
	if (!is_new)
		return;
	tapir_stack_view__of(&stack->h, &view);
	/* The call is before a return address, as in tapir_frame__of. */
	for (unsigned i = 0; i < stack->frame_cnt; i++)
		need_code(cut, catalog, owner, view.frames_va[i] - (i && view.frames_va[i]),
			  time_ns);
}

static void need_thread(struct tapir_cut *cut, const struct tapir_catalog *catalog, uint32_t tid,
			uint64_t time_ns)
{
	const struct tapir_rec_thread *thread =
		tid ? tapir_catalog__thread(catalog, tid, time_ns) : NULL;

	if (tid)
		need(cut, described_id_key(TAPIR_REC_THREAD, tid, 0), NULL);
	if (thread)
		need(cut, described_id_key(TAPIR_REC_PROCESS, thread->tgid, 0), NULL);
}

/*
 * A record that stays needs what its ids mean, also the names of threads of other processes: who
 * woke a thread, who holds its lock. Stacks are kept of chosen processes only.
 */
static void need_all(struct tapir_cut *cut, const struct tapir_catalog *catalog,
		     const struct tapir_rec *rec)
{
	const struct tapir_rec_switch *sw = (const void *)rec;
	const struct tapir_rec_wait *wait = (const void *)rec;
	const struct tapir_rec_loss *loss = (const void *)rec;
	const struct tapir_rec_event *ev = (const void *)rec;
	uint32_t tgid = tapir_rec__tgid(rec, 0);

	for (int which = 0; which < 2; which++)
		if (is_chosen(cut, tapir_rec__tgid(rec, which)))
			need_thread(cut, catalog, tapir_rec__tid(rec, which), rec->time_ns);
	if (rec->type == TAPIR_REC_SWITCH)
		need_thread(cut, catalog, sw->in_waker_tid, rec->time_ns);
	if (rec->type == TAPIR_REC_WAIT)
		need_thread(cut, catalog, wait->owner_tid, rec->time_ns);
	if (rec->type == TAPIR_REC_EVENT) {
		need(cut, event_key(rec), NULL);
		need(cut, described_id_key(TAPIR_REC_PROBE, ev->probe_id, 0), NULL);
	}
	if (rec->type == TAPIR_REC_LOSS)
		need(cut, described_id_key(TAPIR_REC_PROBE, loss->probe_id, 0), NULL);
	if (!is_chosen(cut, tgid))
		return;
	need_stack(cut, catalog, tgid, tapir_rec__stack_id(rec), rec->time_ns);
	need_stack(cut, catalog, tgid, tapir_rec__kstack_id(rec), rec->time_ns);
}

/* ---- the first pass ---------------------------------------------------------------------- */

static bool is_chosen_event(struct tapir_cut *cut, const struct tapir_catalog *catalog,
			    const struct tapir_rec_event *ev)
{
	struct tapir_event_filter *choice;
	const char *const *glob;

	if (!cut->globs->cnt)
		return true;
	if (!cut->choices.cnt)
		tapir_vec_for_each (glob, cut->globs)
			cut->failed |= !tapir_vec__push(
				&cut->choices, ((struct tapir_event_filter){.glob = *glob}));
	tapir_vec_for_each (choice, &cut->choices)
		if (tapir_event_filter__has(choice, catalog, ev))
			return true;
	return false;
}

static void note_segment(struct tapir_cut *cut, uint64_t segment)
{
	while (!cut->failed && cut->has_records.cnt <= segment)
		cut->failed |= !tapir_vec__push(&cut->has_records, false);
	if (!cut->failed)
		cut->has_records.data[segment] = true;
}

/* Identifies a switch of a thread, and the side of it on which the thread is. */
static uint64_t side_of(const struct tapir_rec *rec, bool is_out)
{
	return rec->time_ns << 1 | is_out;
}

static const struct tapir_cut_state *find_state(const struct tapir_cut *cut, uint32_t tid)
{
	const uint64_t *slot = tapir_map__get(&cut->state_by_tid, tid);

	return slot && *slot ? &cut->states.data[*slot - 1] : NULL;
}

static void note_state(struct tapir_cut *cut, const struct tapir_cut_state *state)
{
	uint64_t *slot = tapir_map__put(&cut->state_by_tid, state->tid, NULL);

	if (slot && !*slot && tapir_vec__push(&cut->states, *state))
		*slot = cut->states.cnt;
	else if (slot && *slot && cut->states.data[*slot - 1].side <= state->side)
		cut->states.data[*slot - 1] = *state;
	cut->failed |= !slot || !*slot;
}

/* Notes the threads of a switch before the beginning. */
static void note_states(struct tapir_cut *cut, uint64_t segment, const struct tapir_rec *rec)
{
	const struct tapir_rec_switch *sw = (const void *)rec;

	if (rec->type != TAPIR_REC_SWITCH || sw->flags & TAPIR_SWITCH_AT_END)
		return;
	/* After a whole wait its thread is on a CPU. */
	if (sw->out_tid && !tapir_switch__since_ns(sw) && is_chosen(cut, sw->out_tgid))
		note_state(cut,
			   &(struct tapir_cut_state){side_of(rec, true), segment, sw->out_stack_id,
						     sw->out_kstack_id, sw->out_tgid, sw->out_tid});
	if (sw->in_tid && is_chosen(cut, sw->in_tgid))
		note_state(cut, &(struct tapir_cut_state){side_of(rec, false), segment, 0, 0,
							  sw->in_tgid, sw->in_tid});
}

/* Called while the catalog still describes the segment. */
static void need_states(struct tapir_cut *cut, const struct tapir_catalog *catalog,
			uint64_t segment)
{
	const struct tapir_cut_state *state;

	tapir_vec_for_each (state, &cut->states) {
		if (state->segment != segment)
			continue;
		note_segment(cut, segment);
		need_thread(cut, catalog, state->tid, state->side >> 1);
		need_stack(cut, catalog, state->tgid, state->stack_id, state->side >> 1);
		need_stack(cut, catalog, state->tgid, state->kstack_id, state->side >> 1);
	}
}

void tapir_cut__add(struct tapir_cut *cut, const struct tapir_reader *reader,
		    const struct tapir_rec *rec)
{
	const struct tapir_catalog *catalog = tapir_reader__catalog(reader);
	uint64_t segment = tapir_reader__stats(reader)->segments;
	int family = tapir_family__of(rec->type);

	if (tapir_rec_type__describes(rec->type)) {
		/* The first pass is for what refers to them. */
	} else if (keeps(cut, rec) && (rec->type != TAPIR_REC_EVENT ||
				       is_chosen_event(cut, catalog, (const void *)rec))) {
		note_segment(cut, segment);
		need_all(cut, catalog, rec);
		cut->has_kept |= is_in_time(cut, rec->time_ns);
		if (family >= 0)
			cut->kept[family] += tapir_rec__weight(rec);
	} else if (rec->time_ns < cut->from_ns) {
		note_states(cut, segment, rec);
	}
	if (cut->from_ns && tapir_reader__is_segment_end(reader))
		need_states(cut, catalog, segment);
}

int tapir_cut__read_end(const struct tapir_cut *cut)
{
	return cut->failed ? -ENOMEM : 0;
}

bool tapir_cut__is_empty(const struct tapir_cut *cut)
{
	return !cut->has_kept;
}

void tapir_cut__fini(struct tapir_cut *cut)
{
	struct tapir_event_filter *choice;

	tapir_vec_for_each (choice, &cut->choices)
		tapir_event_filter__fini(choice);
	tapir_vec__fini(&cut->choices);
	tapir_vec__fini(&cut->has_records);
	tapir_map__fini(&cut->needed);
	tapir_vec__fini(&cut->states);
	tapir_map__fini(&cut->state_by_tid);
}

/* ---- the copy ---------------------------------------------------------------------------- */

struct writing {
	struct tapir_cut *cut;
	struct tapir_recbuf buf;
	int (*check)(void *ctx);
	void *ctx;
};

static bool has_records(const struct tapir_cut *cut, uint64_t segment)
{
	return segment < cut->has_records.cnt && cut->has_records.data[segment];
}

/* Returns a copy to be changed; NULL: out of memory. */
static struct tapir_rec *copy_of(const struct tapir_rec *rec)
{
	struct tapir_rec *copy = malloc(rec->size);

	return copy ? memcpy(copy, rec, rec->size) : NULL;
}

/* Puts the copy and frees it. */
static int put_copy(struct tapir_rec *copy, struct tapir_writer *w)
{
	int err = tapir_writer__put(w, copy);

	free(copy);
	return err;
}

static int put_at(const struct tapir_rec *rec, uint64_t time_ns, struct tapir_writer *w)
{
	struct tapir_rec *copy = copy_of(rec);

	if (!copy)
		return -ENOMEM;
	copy->time_ns = time_ns;
	return put_copy(copy, w);
}

/* Puts these sides of a switch. flags are added. */
static int put_sides(const struct tapir_rec_switch *sw, bool has_out, bool has_in, uint16_t flags,
		     uint64_t time_ns, struct tapir_writer *w)
{
	struct tapir_rec_switch *copy = (struct tapir_rec_switch *)copy_of(&sw->h);

	if (!copy)
		return -ENOMEM;
	copy->h.time_ns = time_ns;
	if (!has_in) {
		copy->in_tgid = copy->in_tid = copy->in_waker_tid = 0;
		copy->in_wake_ns = 0;
		copy->flags &= (uint16_t)~TAPIR_SWITCH_WOKEN_BY_IRQ;
	}
	if (!has_out) { /* what follows the record is of that side, too */
		copy->h.size = sizeof(*copy);
		copy->out_tgid = copy->out_tid = 0;
		copy->out_stack_id = copy->out_kstack_id = 0;
		copy->out_state = 0;
		copy->flags &= (uint16_t) ~(TAPIR_SWITCH_PREEMPTED | TAPIR_SWITCH_STACK_LOST |
					    TAPIR_SWITCH_HAS_FUTEX | TAPIR_SWITCH_WAITED);
	}
	copy->flags |= flags;
	return put_copy(&copy->h, w);
}

/* Puts a record before the beginning, if a thread is as it says when the stretch begins. */
static int put_state(const struct tapir_cut *cut, const struct tapir_rec *rec,
		     struct tapir_writer *w)
{
	const struct tapir_rec_switch *sw = (const void *)rec;
	const struct tapir_cut_state *out = find_state(cut, tapir_rec__tid(rec, 0));
	const struct tapir_cut_state *in = find_state(cut, tapir_rec__tid(rec, 1));
	int err = 0;

	if (rec->type == TAPIR_REC_WAIT)
		return out && out->side >> 1 == rec->time_ns ? put_at(rec, cut->from_ns, w) : 0;
	if (rec->type != TAPIR_REC_SWITCH || sw->flags & TAPIR_SWITCH_AT_END)
		return 0;
	if (out && out->side == side_of(rec, true) && !(sw->out_state & TAPIR_STATE_DEAD))
		err = put_sides(sw, true, false, TAPIR_SWITCH_SNAPSHOT, cut->from_ns, w);
	if (!err && in && in->side == side_of(rec, false))
		err = put_sides(sw, false, true, TAPIR_SWITCH_SNAPSHOT, cut->from_ns, w);
	return err;
}

static int put_process(const struct tapir_cut *cut, const struct tapir_rec_process *process,
		       struct tapir_writer *w)
{
	struct tapir_rec_process *copy;

	/* A process that began before exists when the stretch begins. */
	if (process->h.time_ns >= cut->from_ns || process->kind == TAPIR_PROCESS_EXISTING ||
	    process->kind == TAPIR_PROCESS_EXIT)
		return tapir_writer__put(w, &process->h);
	copy = (struct tapir_rec_process *)copy_of(&process->h);
	if (!copy)
		return -ENOMEM;
	copy->kind = TAPIR_PROCESS_EXISTING;
	return put_copy(&copy->h, w);
}

/* Puts a META; the begin and the end of the recording become those of the stretch. */
static int put_meta(const struct tapir_cut *cut, const struct tapir_rec *rec,
		    struct tapir_writer *w)
{
	struct tapir_meta_view view;
	bool is_begin, is_end;

	tapir_meta_view__of(rec, &view);
	is_begin = tapir_sv__is(view.key, TAPIR_META_BEGAN);
	is_end = tapir_sv__is(view.key, TAPIR_META_ENDED) || tapir_sv__is(view.key, "frozen");
	if (tapir_sv__is(view.key, TAPIR_META_CUT))
		return 0; /* the note has it */
	if (is_begin && rec->time_ns < cut->from_ns)
		return put_at(rec, cut->from_ns, w);
	if (is_end && rec->time_ns > cut->until_ns)
		return put_at(rec, cut->until_ns, w);
	return tapir_writer__put(w, rec);
}

static bool describes_chosen(const struct tapir_cut *cut, const struct tapir_rec *rec)
{
	const struct tapir_rec_thread *thread = (const void *)rec;
	const struct tapir_rec_process *process = (const void *)rec;
	const struct tapir_rec_resource *resource = (const void *)rec;
	const struct tapir_rec_mapping *mapping = (const void *)rec;

	switch (rec->type) {
	case TAPIR_REC_THREAD:
		return is_chosen(cut, thread->tgid) ||
		       is_needed(cut, described_id_key(TAPIR_REC_THREAD, thread->tid, 0));
	case TAPIR_REC_PROCESS:
		if (process->kind == TAPIR_PROCESS_EXIT && rec->time_ns < cut->from_ns)
			return is_needed(cut,
					 described_id_key(TAPIR_REC_PROCESS, process->tgid, 0));
		return is_chosen(cut, process->tgid) || is_chosen(cut, process->parent_tgid) ||
		       is_needed(cut, described_id_key(TAPIR_REC_PROCESS, process->tgid, 0));
	case TAPIR_REC_RESOURCE:
		return is_chosen(cut, resource->tgid);
	case TAPIR_REC_MAPPING: /* a process's files identify its runtime */
		return (mapping->tgid && is_chosen(cut, mapping->tgid)) ||
		       is_needed(cut, description_key(rec));
	case TAPIR_REC_PROBE:
	case TAPIR_REC_METADATA: /* that an event was recorded and never came is of interest */
		return !cut->globs->cnt || is_needed(cut, description_key(rec));
	default:
		return is_needed(cut, description_key(rec));
	}
}

static int put_description(const struct tapir_cut *cut, const struct tapir_rec *rec,
			   struct tapir_writer *w)
{
	const struct tapir_rec_process *process = (const void *)rec;

	if (rec->type == TAPIR_REC_META)
		return put_meta(cut, rec, w);
	if (rec->type == TAPIR_REC_CLOCK || rec->type == TAPIR_REC_HOST ||
	    rec->type == TAPIR_REC_OF_HOST)
		return tapir_writer__put(w, rec);
	if (!describes_chosen(cut, rec))
		return 0;
	if (rec->type != TAPIR_REC_PROCESS)
		return tapir_writer__put(w, rec);
	if (rec->time_ns > cut->until_ns && process->kind != TAPIR_PROCESS_EXISTING)
		return 0;
	return put_process(cut, process, w);
}

static int write_if_kept(void *ctx, uint64_t segment, const struct tapir_rec *rec,
			 struct tapir_writer *w)
{
	const struct tapir_cut *cut = ((const struct writing *)ctx)->cut;
	const struct tapir_rec_switch *sw = (const void *)rec;

	if (!has_records(cut, segment))
		return 0;
	if (tapir_rec_type__describes(rec->type))
		return put_description(cut, rec, w);
	if (rec->type == TAPIR_REC_EVENT && !is_needed(cut, event_key(rec)))
		return 0;
	if (!keeps(cut, rec))
		return rec->time_ns < cut->from_ns ? put_state(cut, rec, w) : 0;
	if (rec->type != TAPIR_REC_SWITCH || !cut->pids->cnt)
		return tapir_writer__put(w, rec);
	return put_sides(sw, sw->out_tgid && is_chosen(cut, sw->out_tgid),
			 sw->in_tgid && is_chosen(cut, sw->in_tgid), 0, rec->time_ns, w);
}

static int put_note(void *ctx, uint64_t segment, struct tapir_writer *w)
{
	struct writing *writing = ctx;
	const struct tapir_cut *cut = writing->cut;
	const struct tapir_rec *rec;

	if (!has_records(cut, segment))
		return 0;
	rec = tapir_recbuf__meta(&writing->buf, cut->from_ns, tapir_sv__of(TAPIR_META_CUT),
				 tapir_sv__of(cut->note));
	return rec ? tapir_writer__put(w, rec) : -ENOMEM;
}

static int check_writing(void *ctx)
{
	const struct writing *writing = ctx;

	return writing->check(writing->ctx);
}

int tapir_cut__write(struct tapir_cut *cut, const struct tapir_reader *reader,
		     struct tapir_writer *w, int (*check)(void *ctx), void *ctx)
{
	struct writing writing = {.cut = cut, .check = check, .ctx = ctx};
	const struct tapir_rewrite rewrite = {.begin_segment = put_note,
					      .put = write_if_kept,
					      .check = check_writing,
					      .ctx = &writing};
	int err = tapir_rewrite__copy(reader, w, &rewrite);

	tapir_recbuf__fini(&writing.buf);
	return err;
}
