// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Merges frames of an interpreter with the addresses of a stack: each call of the interpreter's
 * loop stands for as many functions as it runs.
 *
 * Names are read from the process's memory, later than the stack: a name counts only if the object
 * is still the one that the walk saw. A process is known until a while after its end, for the
 * records that come late.
 */
#include "record/names/interp_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/keyed.h"
#include "runtime/interpreters.h"
#include "trace/recbuf.h"

#define MAX_PROCESSES 4096u
#define MAX_CODES     262144u /* of all processes */
#define CODE_BYTES    16u     /* at least that many are no other function's */
#define NAME_BYTES    TAPIR_INTERP_NAME_BYTES
/* With two prefixes: the first half stands for compiled code, the other for what is interpreted. */
#define HALF_BYTES    (CODE_BYTES / 2)
#define CODES	      (CODE_BYTES / NAME_BYTES) /* at an address, if there is no second half */
#define READS	      4u			/* of a name, until it is that of the function */
#define KEEP_NS	      (5 * TAPIR_NS_PER_SEC)

struct code {
	uint64_t cookie;
	uint8_t read_cnt; /* 0: there is none */
	bool is_named;
	bool is_internal; /* C runs it: no call of the loop */
};

/*
 * The functions that were at an address: each has a part of it as its frame's, since one that is
 * there again is in the stacks of before, which are not sent again.
 */
struct codes {
	struct code codes[CODES];
	uint32_t next;
};

/* The interpreter of a process, and how its functions are read. */
struct interpreter {
	const struct tapir_interpreter_ops *ops;
	struct tapir_interp_loop loop;
	void *state;
};

struct process {
	uint32_t tgid;
	uint64_t since_ns;  /* it executes its program; 0: since before the recording */
	uint64_t mapped_ns; /* its interpreter */
	uint64_t exit_ns;   /* 0: it lives */
	struct interpreter interpreter;
	struct tapir_keyed(struct codes) codes; /* by va */
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
	tapir_keyed__fini(&p->codes);
	free(p->interpreter.state);
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

/* Takes the interpreter's state. */
static void add_interpreter(struct tapir_interp_stacks *s, uint32_t tgid,
			    const struct interpreter *interpreter, uint64_t since_ns,
			    uint64_t mapped_ns)
{
	struct process *p = NULL;
	uint64_t *value = NULL;

	drop(s, tgid);
	if (s->processes.cnt < MAX_PROCESSES)
		p = calloc(1, sizeof(*p));
	if (p)
		value = tapir_map__put(&s->processes, tgid, NULL);
	if (!value) {
		free(interpreter->state);
		free(p);
		return;
	}
	*p = (struct process){.tgid = tgid,
			      .since_ns = since_ns,
			      .mapped_ns = mapped_ns,
			      .interpreter = *interpreter};
	*value = (uint64_t)(uintptr_t)p;
}

bool tapir_interp_stacks__find(struct tapir_interp_stacks *s, uint32_t tgid, uint64_t mapped_ns,
			       struct tapir_interp *out)
{
	struct interpreter found = {};

	found.ops = tapir_interpreters__find(tgid, out, &found.loop, &found.state);
	if (!found.ops)
		return false;
	add_interpreter(s, tgid, &found, 0, mapped_ns);
	return process_of(s, tgid);
}

static void inherit(struct tapir_interp_stacks *s, const struct tapir_rec_process *rec)
{
	const struct process *parent = process_of(s, rec->parent_tgid);
	struct interpreter same;

	if (!parent)
		return;
	same = parent->interpreter;
	same.state = malloc(same.ops->state_bytes);
	if (!same.state)
		return;
	memcpy(same.state, parent->interpreter.state, same.ops->state_bytes);
	add_interpreter(s, rec->tgid, &same, rec->h.time_ns, parent->mapped_ns);
}

void tapir_interp_stacks__on_process(struct tapir_interp_stacks *s,
				     const struct tapir_rec_process *rec)
{
	struct process *p = process_of(s, rec->tgid);

	drop_ended(s, rec->h.time_ns);
	switch (rec->kind) {
	case TAPIR_PROCESS_EXIT:
		if (p)
			p->exit_ns = rec->h.time_ns;
		break;
	case TAPIR_PROCESS_EXEC:
		if (p && p->mapped_ns < rec->h.time_ns)
			drop(s, rec->tgid);
		else if (p)
			p->since_ns = rec->h.time_ns;
		break;
	case TAPIR_PROCESS_FORK:
		inherit(s, rec);
		break;
	default:
		break;
	}
}

/* ---- functions ------------------------------------------------------------------------------- */

static void describe_name(struct tapir_interp_stacks *s, const struct process *p, uint64_t va,
			  uint8_t source, const char *kind, uint64_t from_ns)
{
	struct tapir_rec_jit fixed = {.tgid = p->tgid,
				      .source = source,
				      .start_va = va,
				      .size = NAME_BYTES,
				      .from_ns = from_ns};
	struct tapir_str name = {};
	const struct tapir_rec *rec;

	tapir_str__adds(&name, kind);
	tapir_str__add(&name, s->name.data, s->name.len);
	tapir_rec__init(&fixed.h, TAPIR_REC_JIT, sizeof(fixed), tapir_clock__now_ns());
	rec = tapir_recbuf__jit(&s->recbuf, &fixed, (struct tapir_sv){name.data, name.len});
	if (rec)
		s->describe(s->ctx, rec);
	tapir_str__fini(&name);
}

static void describe_names(struct tapir_interp_stacks *s, const struct process *p, uint64_t va,
			   uint64_t from_ns)
{
	const struct tapir_interpreter_ops *ops = p->interpreter.ops;

	if (!ops->compiled_prefix) {
		describe_name(s, p, va, TAPIR_JIT_INTERPRETED, "", from_ns);
		return;
	}
	describe_name(s, p, va, TAPIR_JIT_METHOD_EVENT, ops->compiled_prefix, from_ns);
	describe_name(s, p, va + HALF_BYTES, TAPIR_JIT_INTERPRETED, ops->interpreted_prefix,
		      from_ns);
}

static bool read_name(struct tapir_interp_stacks *s, const struct process *p,
		      const struct tapir_interp_frame *frame, struct code *code)
{
	const struct tapir_process_memory memory = {tapir_process_memory__read_fn,
						    (void *)(uintptr_t)&p->tgid};
	const struct interpreter *in = &p->interpreter;

	code->is_internal = false;
	tapir_str__clear(&s->name);
	return in->ops->add_name(in->state, &memory, frame, &s->name, &code->is_internal);
}

/*
 * A cookie may have the frame's number, too, or a mark: where a function is called from makes no
 * other of it.
 */
static uint64_t cookie_of(const struct process *p, const struct tapir_interp_frame *frame)
{
	return p->interpreter.ops->has_frames_of_its_own
		       ? frame->cookie >> TAPIR_INTERP_IDX_BITS
		       : frame->cookie & ~(uint64_t)TAPIR_INTERP_FRAME_LAST;
}

static struct codes *codes_at(struct tapir_interp_stacks *s, struct process *p, uint64_t va)
{
	struct codes *codes = tapir_keyed__get(&p->codes, va);

	if (codes || s->code_cnt >= MAX_CODES)
		return codes;
	codes = tapir_keyed__add(&p->codes, va, MAX_CODES, (struct codes){});
	if (codes)
		s->code_cnt++;
	return codes;
}

static struct code *code_with(struct codes *codes, uint64_t cookie)
{
	for (unsigned i = 0; i < CODES; i++)
		if (codes->codes[i].read_cnt && codes->codes[i].cookie == cookie)
			return &codes->codes[i];
	return NULL;
}

/* Returns the one that takes the frame's place: the oldest, if there are as many as can be. */
static struct code *next_code(const struct process *p, struct codes *codes)
{
	unsigned max = p->interpreter.ops->compiled_prefix ? CODES / 2 : CODES;

	return &codes->codes[codes->next++ % max];
}

static uint64_t code_va(const struct codes *codes, const struct code *code, uint64_t va)
{
	return va + NAME_BYTES * (uint64_t)(code - codes->codes);
}

/*
 * The first one that has a part of the address was there before it was seen: stacks of other CPUs
 * come later.
 */
static void learn_code(struct tapir_interp_stacks *s, struct process *p,
		       const struct tapir_interp_frame *frame, uint64_t time_ns)
{
	struct codes *codes = codes_at(s, p, frame->va);
	uint64_t cookie = cookie_of(p, frame);
	struct code *code = codes ? code_with(codes, cookie) : NULL;
	bool is_first = true;

	if (!codes || (code && (code->is_named || code->read_cnt >= READS)))
		return;
	if (!code) {
		code = next_code(p, codes);
		is_first = !code->read_cnt;
		*code = (struct code){.cookie = cookie};
	}
	code->read_cnt++;
	code->is_named = read_name(s, p, frame, code);
	if (code->is_named)
		describe_names(s, p, code_va(codes, code, frame->va),
			       is_first ? p->since_ns : time_ns);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

struct naming {
	const struct tapir_interp_stacks *s;
	const struct process *p;
	uint64_t time_ns;
};

/* Returns where the function's name is; 0: it has none. */
static uint64_t named_va(const struct process *p, const struct tapir_interp_frame *frame,
			 bool *is_internal)
{
	struct codes *codes = tapir_keyed__get(&p->codes, frame->va);
	const struct code *code = codes ? code_with(codes, cookie_of(p, frame)) : NULL;

	*is_internal = code && code->is_internal;
	return code && code->is_named ? code_va(codes, code, frame->va) : 0;
}

static bool is_generated(void *ctx, uint64_t native_va)
{
	const struct naming *naming = ctx;
	const struct tapir_rec_mapping *mapping = tapir_catalog__mapping(
		naming->s->catalog, naming->p->tgid, native_va - 1, naming->time_ns);

	return mapping && !mapping->file_id;
}

static void describe_stack(struct tapir_interp_stacks *s, const struct tapir_rec_stack *native,
			   uint64_t stack_id, bool is_truncated, const uint64_t *frames, size_t cnt)
{
	struct tapir_rec_stack fixed = *native;
	const struct tapir_rec *rec;

	fixed.h.type = TAPIR_REC_STACK;
	fixed.stack_id = stack_id;
	if (is_truncated) {
		fixed.flags |= TAPIR_STACK_MORE;
		fixed.end = TAPIR_STACK_END_MORE;
	}
	rec = tapir_recbuf__stack(&s->recbuf, &fixed, frames, (unsigned)cnt);
	if (rec)
		s->describe(s->ctx, rec);
}

/*
 * A complete stack ends with the function that entered its outermost loop. Where threads may begin
 * with functions outside of any loop, these are not merged: they belong to no frame of it.
 */
static size_t merge_loop(const struct tapir_interp_stacks *s, const struct process *p,
			 const struct tapir_rec_stack *native, const struct tapir_interp_list *list,
			 uint64_t *frames, size_t max)
{
	struct tapir_interp_function functions[TAPIR_INTERP_FRAMES];
	struct naming naming = {s, p, native->h.time_ns};
	const struct tapir_interp_namer namer = {NULL, is_generated, &naming};
	bool is_truncated = list->flags & TAPIR_INTERP_IS_TRUNCATED;
	size_t cnt = list->cnt;

	for (unsigned i = 0; i < list->cnt; i++) {
		const struct tapir_interp_frame *frame = &list->frames[i];
		bool is_internal;

		functions[i].code_va = named_va(p, frame, &is_internal);
		functions[i].is_last = frame->cookie & TAPIR_INTERP_FRAME_LAST && !is_internal;
	}
	if (p->interpreter.ops->may_begin_outside && !is_truncated)
		while (cnt && !functions[cnt - 1].is_last)
			cnt--;
	return tapir_interp__merge(&p->interpreter.loop, functions, cnt, &namer,
				   (const uint64_t *)(native + 1), native->frame_cnt,
				   native->end == TAPIR_STACK_END_WHOLE && !is_truncated, frames,
				   max);
}

/* A function's frame is its own: the address of its code makes room for that of the function. */
static size_t merge_frames(const struct tapir_interp_stacks *s, const struct process *p,
			   const struct tapir_rec_stack *native,
			   const struct tapir_interp_list *list, uint64_t *frames)
{
	bool has_compiled = p->interpreter.ops->compiled_prefix, is_internal;
	struct naming naming = {s, p, native->h.time_ns};

	memcpy(frames, native + 1, native->frame_cnt * sizeof(*frames));
	for (unsigned i = 0; i < list->cnt; i++) {
		const struct tapir_interp_frame *function = &list->frames[i];
		unsigned at = (unsigned)(function->cookie & ((1u << TAPIR_INTERP_IDX_BITS) - 1)) >>
			      TAPIR_INTERP_IDX_SHIFT;

		uint64_t va = named_va(p, function, &is_internal);

		if (at < native->frame_cnt && va)
			frames[at] =
				va + 1 +
				(has_compiled && !is_generated(&naming, frames[at]) ? HALF_BYTES
										    : 0);
	}
	return native->frame_cnt;
}

static void merge(struct tapir_interp_stacks *s, struct process *p,
		  const struct tapir_rec_stack *native, const struct tapir_interp_list *list)
{
	bool has_frames = p->interpreter.ops->has_frames_of_its_own;
	uint64_t frames[TAPIR_MAX_FRAMES + TAPIR_INTERP_FRAMES];
	size_t cnt;

	for (unsigned i = 0; i < list->cnt; i++)
		learn_code(s, p, &list->frames[i], native->h.time_ns);
	if (has_frames)
		cnt = merge_frames(s, p, native, list, frames);
	else
		cnt = merge_loop(s, p, native, list, frames, sizeof(frames) / sizeof(*frames));
	describe_stack(s, native, list->stack_id,
		       !has_frames && list->flags & TAPIR_INTERP_IS_TRUNCATED, frames, cnt);
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
	if (p && p->interpreter.ops->language == list->language)
		merge(s, p, native, list);
	else
		describe_stack(s, native, list->stack_id, false, (const uint64_t *)(native + 1),
			       native->frame_cnt);
	return true;
}
