// SPDX-License-Identifier: GPL-2.0-or-later
/* A process is known from when its interpreter is found until a while after its end: the records of
 * its last stacks come later. */
#include "record/names/interp_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/keyed.h"
#include "runtime/cpython/cpython_process.h"
#include "trace/recbuf.h"

#define MAX_PROCESSES 4096u
#define MAX_CODES     262144u /* of all processes */
#define CODE_BYTES    16u     /* at least that many are no other function's */
#define KEEP_NS	      (5 * TAPIR_NS_PER_SEC)

struct code {
	uint64_t cookie;
	bool is_named;
};

struct process {
	uint32_t tgid;
	uint64_t since_ns; /* it executes its program; 0: since before the recording */
	uint64_t exit_ns;  /* 0: it lives */
	struct tapir_cpython python;
	struct tapir_map code_by_va; /* idx of codes */
	struct tapir_vec(struct code) codes;
};

struct tapir_interp_stacks {
	struct tapir_catalog *catalog;
	tapir_interp_describe_fn *describe;
	void *ctx;
	struct tapir_map processes; /* tgid -> struct process * */
	size_t code_cnt;
	struct tapir_recbuf recbuf;
	struct tapir_str name;
};

struct tapir_interp_stacks *tapir_interp_stacks__new(struct tapir_catalog *catalog,
						     tapir_interp_describe_fn *describe, void *ctx)
{
	struct tapir_interp_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->catalog = catalog;
	s->describe = describe;
	s->ctx = ctx;
	return s;
}

static void free_process(struct process *p)
{
	tapir_map__fini(&p->code_by_va);
	tapir_vec__fini(&p->codes);
	free(p);
}

void tapir_interp_stacks__free(struct tapir_interp_stacks *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->processes.cap; i++)
		if (s->processes.slots[i].used)
			free_process((void *)(uintptr_t)s->processes.slots[i].value);
	tapir_map__fini(&s->processes);
	tapir_recbuf__fini(&s->recbuf);
	tapir_str__fini(&s->name);
	free(s);
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct process *process_of(const struct tapir_interp_stacks *s, uint32_t tgid)
{
	const uint64_t *value = tapir_map__get(&s->processes, tgid);

	return value ? (void *)(uintptr_t)*value : NULL;
}

static void drop(struct tapir_interp_stacks *s, uint32_t tgid)
{
	struct process *p = process_of(s, tgid);

	if (!p)
		return;
	s->code_cnt -= p->codes.cnt;
	tapir_map__del(&s->processes, tgid);
	free_process(p);
}

static void drop_ended(struct tapir_interp_stacks *s, uint64_t now_ns)
{
	for (size_t i = 0; i < s->processes.cap; i++) {
		const struct tapir_map_slot *slot = &s->processes.slots[i];
		const struct process *p = (void *)(uintptr_t)slot->value;

		if (slot->used && p->exit_ns && p->exit_ns + KEEP_NS < now_ns) {
			drop(s, p->tgid);
			return; /* the slots may have moved */
		}
	}
}

static void add_interpreter(struct tapir_interp_stacks *s, uint32_t tgid,
			    const struct tapir_cpython *python, uint64_t since_ns)
{
	struct process *p = NULL;
	uint64_t *value = NULL;

	drop(s, tgid);
	if (s->processes.cnt < MAX_PROCESSES)
		p = calloc(1, sizeof(*p));
	if (p)
		value = tapir_map__put(&s->processes, tgid, NULL);
	if (!value) {
		free(p);
		return;
	}
	*p = (struct process){.tgid = tgid, .since_ns = since_ns, .python = *python};
	*value = (uint64_t)(uintptr_t)p;
}

bool tapir_interp_stacks__is_path(struct tapir_sv path)
{
	return tapir_cpython__is_path(path);
}

bool tapir_interp_stacks__find(struct tapir_interp_stacks *s, uint32_t tgid,
			       struct tapir_interp *out)
{
	struct tapir_cpython python;

	if (!tapir_cpython__in(&python, tgid) || !tapir_cpython__interp(&python, out))
		return false;
	add_interpreter(s, tgid, &python, 0);
	return process_of(s, tgid);
}

void tapir_interp_stacks__on_process(struct tapir_interp_stacks *s,
				     const struct tapir_rec_process *rec)
{
	struct process *p = process_of(s, rec->tgid);
	const struct process *parent;

	drop_ended(s, rec->h.time_ns);
	switch (rec->kind) {
	case TAPIR_PROCESS_EXIT:
		if (p)
			p->exit_ns = rec->h.time_ns;
		break;
	case TAPIR_PROCESS_EXEC:
		drop(s, rec->tgid);
		break;
	case TAPIR_PROCESS_FORK:
		parent = process_of(s, rec->parent_tgid);
		if (parent)
			add_interpreter(s, rec->tgid, &parent->python, rec->h.time_ns);
		break;
	default:
		break;
	}
}

/* ---- functions ------------------------------------------------------------------------------- */

static void describe_name(struct tapir_interp_stacks *s, const struct process *p, uint64_t va,
			  uint64_t from_ns)
{
	struct tapir_rec_jit fixed = {.tgid = p->tgid,
				      .source = TAPIR_JIT_INTERPRETED,
				      .start_va = va,
				      .size = CODE_BYTES,
				      .from_ns = from_ns};
	const struct tapir_rec *rec;

	tapir_rec__init(&fixed.h, TAPIR_REC_JIT, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__jit(&s->recbuf, &fixed, (struct tapir_sv){s->name.data, s->name.len});
	if (rec)
		s->describe(s->ctx, rec);
}

/* The first one at an address was there before it was seen: stacks of other CPUs come later. */
static void learn_code(struct tapir_interp_stacks *s, struct process *p,
		       const struct tapir_interp_frame *frame, uint64_t time_ns)
{
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn, &p->tgid};
	struct code *code = tapir_keyed__find(&p->codes, &p->code_by_va, frame->va);
	bool is_first = !code;

	if (code && code->cookie == frame->cookie)
		return;
	if (is_first) {
		if (s->code_cnt >= MAX_CODES)
			return;
		code = tapir_keyed__row(&p->codes, &p->code_by_va, frame->va, MAX_CODES,
					((struct code){}));
		if (!code)
			return;
		s->code_cnt++;
	}
	code->cookie = frame->cookie;
	tapir_str__clear(&s->name);
	code->is_named = tapir_cpython__add_name(&p->python, &memory, frame->va, &s->name);
	if (code->is_named)
		describe_name(s, p, frame->va, is_first ? p->since_ns : time_ns);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct naming {
	const struct tapir_interp_stacks *s;
	const struct process *p;
	uint64_t time_ns;
};

static bool is_named(void *ctx, uint64_t code_va)
{
	const struct naming *naming = ctx;
	const struct code *code =
		tapir_keyed__find(&naming->p->codes, &naming->p->code_by_va, code_va);

	return code && code->is_named;
}

static bool is_generated(void *ctx, uint64_t native_va)
{
	const struct naming *naming = ctx;
	const struct tapir_rec_mapping *mapping = tapir_catalog__mapping(
		naming->s->catalog, naming->p->tgid, native_va - 1, naming->time_ns);

	return mapping && !mapping->file_id;
}

static void describe_stack(struct tapir_interp_stacks *s, const struct tapir_rec_stack *native,
			   uint64_t stack_id, bool is_cut, const uint64_t *frames, size_t cnt)
{
	struct tapir_rec_stack fixed = *native;
	const struct tapir_rec *rec;

	fixed.h.type = TAPIR_REC_STACK;
	fixed.stack_id = stack_id;
	if (is_cut) {
		fixed.flags |= TAPIR_STACK_MORE;
		fixed.end = TAPIR_STACK_END_MORE;
	}
	rec = tapir_recbuf__stack(&s->recbuf, &fixed, frames, (unsigned)cnt);
	if (rec)
		s->describe(s->ctx, rec);
}

static void merge(struct tapir_interp_stacks *s, struct process *p,
		  const struct tapir_rec_stack *native, const struct tapir_interp_list *list)
{
	struct tapir_cpython_frame functions[TAPIR_INTERP_FRAMES];
	struct naming naming = {s, p, native->h.time_ns};
	const struct tapir_cpython_namer namer = {is_named, is_generated, &naming};
	uint64_t frames[TAPIR_MAX_FRAMES + TAPIR_INTERP_FRAMES];
	bool is_cut = list->flags & TAPIR_INTERP_IS_CUT;
	size_t cnt;

	for (unsigned i = 0; i < list->cnt; i++) {
		const struct tapir_interp_frame *frame = &list->frames[i];

		learn_code(s, p, frame, native->h.time_ns);
		functions[i] = (struct tapir_cpython_frame){
			.code_va = frame->va, .is_last = frame->cookie & TAPIR_INTERP_FRAME_LAST};
	}
	cnt = tapir_cpython__merge(&p->python, functions, list->cnt, &namer,
				   (const uint64_t *)(native + 1), native->frame_cnt,
				   native->end == TAPIR_STACK_END_WHOLE && !is_cut, frames,
				   sizeof(frames) / sizeof(*frames));
	describe_stack(s, native, list->stack_id, is_cut, frames, cnt);
}

bool tapir_interp_stacks__on_stack(struct tapir_interp_stacks *s, const struct tapir_rec *rec)
{
	const struct tapir_rec_stack *native = (const void *)rec;
	const struct tapir_interp_list *list;
	struct process *p;
	uint32_t room;

	if (rec->size < sizeof(*native) || native->frame_cnt > TAPIR_MAX_FRAMES)
		return false;
	room = tapir_interp__room(native);
	if (rec->size < tapir_interp__record_bytes(room, 0))
		return false;
	list = (const void *)((const uint64_t *)(native + 1) + room);
	if (list->cnt > TAPIR_INTERP_FRAMES || !list->stack_id ||
	    rec->size != tapir_interp__record_bytes(room, list->cnt))
		return false;
	p = process_of(s, list->tgid);
	if (p)
		merge(s, p, native, list);
	else
		describe_stack(s, native, list->stack_id, false, (const uint64_t *)(native + 1),
			       native->frame_cnt);
	return true;
}
