// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads the frames of a busy CPython from outside, where a BPF program cannot find them. A process
 * that has just begun may not have loaded its library yet, so it is tried again; code that is freed
 * leaves its place to other code, so a name is read with its stack.
 */
#include "record/threads/python_sampler.h"

#include <stdlib.h>
#include <string.h>

#include "attach/proc_usage.h"
#include "attach/thread_list.h"
#include "base/clock.h"
#include "base/keyed.h"
#include "bpf/interp.h"
#include "attach/flow/queue.h"
#include "runtime/cpython/cpython_process.h"
#include "runtime/page_cache.h"
#include "trace/recbuf.h"

#define INTERVAL_NS   (50 * TAPIR_NS_PER_MS)
#define REST_TIMES    200u /* pause after a sample, in times of its cost: half a percent of a CPU */
#define MAX_PROCESSES 16u
#define MAX_CODES     65536u /* of a process */
#define MAX_STACKS    65536u
#define MAX_FRAMES    TAPIR_FRAMES
#define CODE_BYTES    16u		     /* at least that many are no other function's */
#define MIN_BUSY_NS   (10 * TAPIR_NS_PER_MS) /* of CPU since it was chosen last: a tick */
#define MAX_TRIES     8u

struct code {
	uint64_t identity;
	bool is_named;
};

struct looked_at {
	uint32_t tgid;
	unsigned tries;
	bool is_python, is_busy, is_alive;
	bool has_own_numbers; /* of a pid namespace of its own: tid_by_number */
	uint64_t cpu_ns;
	struct tapir_cpython python;
	struct tapir_map tid_by_number, state_by_number;
	struct tapir_map code_by_va; /* idx of codes */
	struct tapir_vec(struct code) codes;
};

struct look_stack {
	struct tapir_rec_stack rec;
	uint64_t frames[MAX_FRAMES];
};

struct tapir_python_sampler {
	struct tapir_queue *queue;
	uint64_t next_ns;
	struct looked_at processes[MAX_PROCESSES];
	size_t cnt;
	struct tapir_map stacks; /* ids of those that were posted */
	struct tapir_str name;
	struct tapir_recbuf recbuf;
	struct tapir_page_cache frames, code_pages;
};

struct tapir_python_sampler *tapir_python_sampler__new(struct tapir_queue *queue)
{
	struct tapir_python_sampler *sampler = calloc(1, sizeof(*sampler));

	if (sampler)
		sampler->queue = queue;
	return sampler;
}

static void fini_process(struct looked_at *p)
{
	tapir_map__fini(&p->tid_by_number);
	tapir_map__fini(&p->state_by_number);
	tapir_map__fini(&p->code_by_va);
	tapir_vec__fini(&p->codes);
}

void tapir_python_sampler__free(struct tapir_python_sampler *sampler)
{
	if (!sampler)
		return;
	for (size_t i = 0; i < sampler->cnt; i++)
		fini_process(&sampler->processes[i]);
	tapir_map__fini(&sampler->stacks);
	tapir_str__fini(&sampler->name);
	tapir_recbuf__fini(&sampler->recbuf);
	free(sampler);
}

/* ---- which processes ------------------------------------------------------------------------- */

static struct looked_at *process_of(struct tapir_python_sampler *sampler, uint32_t tgid)
{
	for (size_t i = 0; i < sampler->cnt; i++)
		if (sampler->processes[i].tgid == tgid)
			return &sampler->processes[i];
	if (sampler->cnt == MAX_PROCESSES)
		return NULL;
	sampler->processes[sampler->cnt] = (struct looked_at){.tgid = tgid};
	return &sampler->processes[sampler->cnt++];
}

static void forget_ended(struct tapir_python_sampler *sampler)
{
	size_t kept = 0;

	for (size_t i = 0; i < sampler->cnt; i++) {
		if (sampler->processes[i].is_alive)
			sampler->processes[kept++] = sampler->processes[i];
		else
			fini_process(&sampler->processes[i]);
	}
	sampler->cnt = kept;
}

/* The interpreter numbers its threads as its own namespace does. */
static void learn_numbers(struct looked_at *p)
{
	struct tapir_thread_list list = {};
	const struct tapir_thread_seen *seen;

	tapir_map__clear(&p->tid_by_number);
	if (!tapir_thread_list__read_proc(p->tgid, &list))
		tapir_vec_for_each (seen, &list.vec) {
			const struct tapir_rec_thread *thread = &seen->thread;
			uint32_t number = thread->ns_tid ? thread->ns_tid : thread->tid;
			uint64_t *tid = tapir_map__put(&p->tid_by_number, number, NULL);

			if (tid)
				*tid = thread->tid;
			p->has_own_numbers |= number != thread->tid;
		}
	tapir_thread_list__fini(&list);
}

/*
 * A process that has just begun is a shell yet, or has not loaded its library: it is tried again.
 */
static void recognize(struct looked_at *p)
{
	struct tapir_interp interp;

	if (p->tries++ >= MAX_TRIES)
		return;
	p->is_python = tapir_cpython__of(&p->python, p->tgid) &&
		       !tapir_cpython__interp(&p->python, &interp);
	if (p->is_python)
		learn_numbers(p);
}

static void choose_one(struct looked_at *p)
{
	struct tapir_proc_usage usage;
	bool is_first = !p->cpu_ns;

	p->is_alive = true;
	if (!p->is_python)
		recognize(p);
	if (!p->is_python || tapir_proc_usage__read_brief(p->tgid, &usage))
		return;
	p->is_busy = is_first || usage.cpu_ns >= p->cpu_ns + MIN_BUSY_NS;
	p->cpu_ns = usage.cpu_ns ? usage.cpu_ns : 1;
	if (p->is_busy && p->has_own_numbers)
		learn_numbers(p);
}

static bool is_any_busy(const struct tapir_python_sampler *sampler)
{
	for (size_t i = 0; i < sampler->cnt; i++)
		if (sampler->processes[i].is_busy)
			return true;
	return false;
}

void tapir_python_sampler__select(struct tapir_python_sampler *sampler, const uint32_t *tgids,
				  size_t cnt, uint64_t now_ns)
{
	struct looked_at *p;

	if (!sampler)
		return;
	for (size_t i = 0; i < sampler->cnt; i++)
		sampler->processes[i].is_alive = false;
	for (size_t i = 0; i < cnt; i++) {
		p = process_of(sampler, tgids[i]);
		if (p)
			choose_one(p);
	}
	forget_ended(sampler);
	if (!is_any_busy(sampler))
		sampler->next_ns = UINT64_MAX;
	else if (sampler->next_ns == UINT64_MAX || !sampler->next_ns)
		sampler->next_ns = now_ns;
}

uint64_t tapir_python_sampler__next_ns(const struct tapir_python_sampler *sampler)
{
	return sampler && sampler->next_ns ? sampler->next_ns : UINT64_MAX;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void post_name(struct tapir_python_sampler *sampler, const struct looked_at *p,
		      uint64_t code_va, uint64_t now_ns)
{
	struct tapir_rec_jit fixed = {.h = {.cpu = TAPIR_CPU_UNKNOWN, .time_ns = now_ns},
				      .tgid = p->tgid,
				      .source = TAPIR_JIT_INTERPRETED,
				      .start_va = code_va,
				      .size = CODE_BYTES,
				      .from_ns = now_ns};
	const struct tapir_rec *rec = tapir_recbuf__jit(
		&sampler->recbuf, &fixed, (struct tapir_sv){sampler->name.data, sampler->name.len});

	if (rec)
		(void)tapir_queue__post(sampler->queue, rec, -1); /* it counts what it refuses */
}

/* Code that is freed leaves its place to other code: then there is another name. */
static bool is_named(struct tapir_python_sampler *sampler, struct looked_at *p, uint64_t code_va,
		     uint64_t now_ns)
{
	const struct tapir_process_memory memory = {tapir_page_cache__read, &sampler->code_pages};
	uint64_t identity = tapir_cpython__identity(&p->python, &memory, code_va);
	struct code *code = identity ? tapir_keyed__row(&p->codes, &p->code_by_va, code_va,
							MAX_CODES, ((struct code){}))
				     : NULL;

	if (!code || code->identity == identity)
		return code && code->is_named;
	tapir_str__clear(&sampler->name);
	code->identity = identity;
	code->is_named = tapir_cpython__add_name(&p->python, &memory, code_va, &sampler->name);
	if (code->is_named)
		post_name(sampler, p, code_va, now_ns);
	return code->is_named;
}

/* ---- looks ----------------------------------------------------------------------------------- */

static uint64_t post_stack(struct tapir_python_sampler *sampler, struct look_stack *stack,
			   uint64_t now_ns)
{
	struct tapir_rec_stack *rec = &stack->rec;
	uint64_t hash = 0;
	bool is_new = true;

	for (unsigned i = 0; i < rec->frame_cnt; i++)
		hash = tapir_hash__mix(hash, stack->frames[i]);
	rec->stack_id = hash ? hash : 1;
	if (sampler->stacks.cnt < MAX_STACKS)
		(void)tapir_map__put(&sampler->stacks, rec->stack_id, &is_new);
	tapir_rec__init(&rec->h, TAPIR_REC_STACK, sizeof(*rec) + 8u * rec->frame_cnt, now_ns);
	if (is_new)
		(void)tapir_queue__post(sampler->queue, &rec->h, -1);
	return rec->stack_id;
}

/* Read in that order: where its frames are, then these. */
static void sample_thread(struct tapir_python_sampler *sampler, struct looked_at *p, uint32_t tid,
			  uint64_t state_va)
{
	const struct tapir_process_memory memory = {tapir_page_cache__read, &sampler->frames},
					  now = {tapir_process_memory__read_fn, &p->tgid};
	struct tapir_interp_function frames[MAX_FRAMES];
	struct look_stack stack = {};
	struct tapir_rec_look look = {.tgid = p->tgid, .tid = tid};
	uint64_t now_ns = tapir_clock__now_ns();
	size_t cnt;

	tapir_page_cache__begin(&sampler->frames, &now);
	cnt = tapir_cpython__frames(&p->python, &memory, state_va, frames, MAX_FRAMES);
	for (size_t i = 0; i < cnt; i++)
		if (frames[i].code_va && is_named(sampler, p, frames[i].code_va, now_ns))
			stack.frames[stack.rec.frame_cnt++] = frames[i].code_va + 1;
	if (!stack.rec.frame_cnt)
		return;
	stack.rec.end = cnt == MAX_FRAMES ? TAPIR_STACK_END_MORE : TAPIR_STACK_END_WHOLE;
	look.stack_id = post_stack(sampler, &stack, now_ns);
	tapir_rec__init(&look.h, TAPIR_REC_LOOK, sizeof(look), now_ns);
	(void)tapir_queue__post(sampler->queue, &look.h, -1);
}

static void sample_process(struct tapir_python_sampler *sampler, struct looked_at *p)
{
	const struct tapir_process_memory now = {tapir_process_memory__read_fn, &p->tgid},
					  memory = {tapir_page_cache__read, &sampler->frames};
	struct tapir_map *states = &p->state_by_number;

	tapir_map__clear(states);
	tapir_page_cache__begin(&sampler->frames, &now);
	tapir_cpython__threads(&p->python, &memory, states);
	tapir_page_cache__begin(&sampler->code_pages, &now);
	for (size_t i = 0; i < states->cap; i++) {
		const struct tapir_map_slot *slot = &states->slots[i];
		const uint64_t *tid = slot->used && p->has_own_numbers
					      ? tapir_map__get(&p->tid_by_number, slot->key)
					      : &slot->key;

		if (slot->used && tid)
			sample_thread(sampler, p, (uint32_t)*tid, slot->value);
	}
}

void tapir_python_sampler__sample(struct tapir_python_sampler *sampler, uint64_t now_ns)
{
	uint64_t took_ns = tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID);

	if (!sampler || now_ns < tapir_python_sampler__next_ns(sampler))
		return;
	tapir_queue__begin_batch(sampler->queue);
	for (size_t i = 0; i < sampler->cnt; i++)
		if (sampler->processes[i].is_busy)
			sample_process(sampler, &sampler->processes[i]);
	tapir_queue__end_batch(sampler->queue);
	took_ns = (tapir_clock__ns(CLOCK_THREAD_CPUTIME_ID) - took_ns) * REST_TIMES;
	sampler->next_ns = now_ns + (took_ns > INTERVAL_NS ? took_ns : INTERVAL_NS);
}
