// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A life is of one process: a pid that is used again begins another one. Records of processes come
 * in the order in which the kernel wrote them, also where other records have to be sorted, so a
 * signal may be heard of after the end that it caused: killers are found when all is read.
 */
#include "analyze/process_lives.h"

#include <string.h>

#include "trace/signals.h"

#define DEADLY_MAX 4096u
#define TEXT_BYTES (16u << 20)
#define DEPTH_MAX  64u
#define TERM_SIG   0x7f /* of a wait status */

static struct tapir_life *begin_life(struct tapir_lives *v, const struct tapir_rec_process *rec)
{
	const struct tapir_life *parent = tapir_keyed__get(&v->all, rec->parent_tgid);
	const struct tapir_life made = {
		.pid = rec->tgid,
		.parent_pid = rec->parent_tgid,
		.parent = parent && rec->parent_tgid != rec->tgid ? (uint32_t)(parent - v->all.data)
								  : TAPIR_NO_LIFE,
		.begin_ns = rec->kind == TAPIR_PROCESS_FORK ? rec->h.time_ns : 0,
	};
	struct tapir_life *life;

	tapir_keyed__forget(&v->all, rec->tgid);
	life = tapir_keyed__add(&v->all, rec->tgid, TAPIR_LIVES_MAX, made);
	v->more += !life;
	v->failed |= v->all.failed;
	return life;
}

static void take_command(struct tapir_lives *v, struct tapir_life *life, struct tapir_sv args)
{
	char text[TAPIR_LIFE_COMMAND_BYTES];
	size_t len = v->wants_commands ? tapir_command_text__copy(text, sizeof(text), args) : 0;
	const char *kept = len ? tapir_arena__text(&v->texts, text, len) : NULL;

	v->more += len && !kept;
	life->command = kept ? kept : life->command;
}

static void on_process(void *ctx, const struct tapir_rec *rec)
{
	struct tapir_lives *v = ctx;
	struct tapir_process_view view;
	struct tapir_life *life;
	unsigned kind;

	tapir_process_view__of(rec, &view);
	kind = view.rec->kind;
	life = tapir_keyed__get(&v->all, view.rec->tgid);
	/* A process is described again where something is recorded of it, also after its end. */
	if (life && kind == TAPIR_PROCESS_EXISTING)
		return;
	if (!life || kind == TAPIR_PROCESS_FORK)
		life = begin_life(v, view.rec);
	if (!life)
		return;
	if (kind == TAPIR_PROCESS_EXIT) {
		life->end_ns = rec->time_ns;
		life->status = view.rec->exit_status;
		life->is_oom_victim = view.rec->flags & TAPIR_PROCESS_OOM_VICTIM;
	}
	if (view.comm.len)
		tapir_comm__copy(life->comm, view.comm);
	/* A child that executes nothing has its parent's command. */
	if (kind == TAPIR_PROCESS_EXEC || kind == TAPIR_PROCESS_EXISTING)
		take_command(v, life, view.cmdline.len ? view.cmdline : view.exe);
}

static void set_sender(const struct tapir_lives *v, struct tapir_deadly *made,
		       const struct tapir_rec_signal *sent)
{
	struct tapir_sv comm = tapir_timeline__comm(v->tl, sent->tid, sent->h.time_ns);

	tapir_comm__copy(made->from, comm.len ? comm : tapir_sv__of("?"));
}

static void lives_on_record(void *ctx, const struct tapir_rec *rec)
{
	const struct tapir_rec_signal *sent = (const void *)rec;
	struct tapir_lives *v = ctx;
	struct tapir_deadly made = {.time_ns = rec->time_ns};

	if (rec->type != TAPIR_REC_SIGNAL || !tapir_signal__ends_by_default(sent->number) ||
	    sent->result == TAPIR_SIGNAL_IGNORED)
		return;
	made.to_pid = sent->to_tgid;
	made.from_pid = sent->tgid;
	made.number = sent->number;
	made.code = sent->code;
	if (sent->tgid)
		set_sender(v, &made, sent);
	if (v->deadly.cnt >= DEADLY_MAX || !tapir_vec__push(&v->deadly, made))
		v->more++;
}

const struct tapir_timeline_fns tapir_lives_fns = {.process = on_process,
						   .record = lives_on_record};

/* The last one before the end: those that the process handled came earlier. */
static void find_killer(const struct tapir_lives *v, struct tapir_life *life)
{
	const struct tapir_deadly *s, *last = NULL;

	if (!tapir_life__was_killed(life))
		return;
	tapir_vec_for_each (s, &v->deadly)
		if (s->to_pid == life->pid && s->number == (life->status & TERM_SIG) &&
		    s->time_ns >= life->begin_ns && s->time_ns <= life->end_ns)
			last = s;
	if (!last)
		return;
	life->has_killer = true;
	life->killer_pid = last->from_pid;
	memcpy(life->killer, last->from, sizeof(life->killer));
	life->way = tapir_signal__way(last->number, last->code);
}

/* Processes of a hostile file, or of ids that are used again, could be each other's parents. */
static bool is_below(const struct tapir_lives *v, uint32_t idx, uint32_t of)
{
	unsigned depth = 0;

	while (idx != of && idx != TAPIR_NO_LIFE && depth++ < DEPTH_MAX)
		idx = v->all.data[idx].parent;
	return idx != TAPIR_NO_LIFE;
}

/* A process that ran before may be described before its parent is. */
static void find_parent(const struct tapir_lives *v, struct tapir_life *life)
{
	const struct tapir_life *parent = tapir_keyed__get(&v->all, life->parent_pid);
	uint32_t self = (uint32_t)(life - v->all.data);

	if (parent && life->parent == TAPIR_NO_LIFE && parent->begin_ns <= life->begin_ns &&
	    !is_below(v, (uint32_t)(parent - v->all.data), self))
		life->parent = (uint32_t)(parent - v->all.data);
}

void tapir_lives__finish(struct tapir_lives *v)
{
	struct tapir_life *life;

	tapir_vec_for_each (life, &v->all) {
		find_parent(v, life);
		find_killer(v, life);
	}
}

void tapir_lives__fini(struct tapir_lives *v)
{
	tapir_keyed__fini(&v->all);
	tapir_vec__fini(&v->deadly);
	tapir_arena__fini(&v->texts);
}

void tapir_life__add_end(struct tapir_str *out, const struct tapir_life *life)
{
	if (!life->end_ns)
		return;
	tapir_signal__add_end(out, life->status, life->is_oom_victim);
	if (!life->has_killer)
		return;
	if (life->killer_pid == life->pid) {
		tapir_str__addf(out, " (%s)", life->way);
	} else if (life->killer_pid) {
		tapir_str__adds(out, " by ");
		tapir_str__add_printable(out, life->killer, strlen(life->killer));
		tapir_str__addf(out, " (%u)", life->killer_pid);
	} else {
		tapir_str__adds(out, " by the kernel");
	}
}

bool tapir_life__was_killed(const struct tapir_life *life)
{
	return life->end_ns && life->status & TERM_SIG;
}
