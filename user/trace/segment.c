// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A segment names everything it uses: what an event needs is written again when it is used for the
 * first time in a segment; what was not used for two segments is forgotten.
 */
#include <stdlib.h>

#include "trace/catalog.h"
#include "trace/catalog_impl.h"
#include "trace/family.h"

/* ---- using ----------------------------------------------------------------------------------- */

static int use_process(struct tapir_catalog *c, uint32_t tgid)
{
	struct process *p = tapir_catalog__in(&c->processes, tgid);
	const struct tapir_ordset_node *node = NULL;
	uint64_t image_ns;
	int err;

	if (!p || p->put_gen == c->gen)
		return 0;
	err = p->newest ? tapir_catalog__put_entry(c, p->newest) : 0;
	image_ns = tapir_catalog__image_ns(p, UINT64_MAX);
	if (!err && p->resource && p->resource->rec->time_ns >= image_ns)
		err = tapir_catalog__put_entry(c, p->resource);
	while (!err && (node = tapir_ordset__next(&p->mappings, node))) {
		struct entry *e = (struct entry *)node;

		if (!e->until_ns && e->node.time >= image_ns)
			err = tapir_catalog__put_entry(c, e);
	}
	p->put_gen = c->gen;
	return err;
}

static int use_thread(struct tapir_catalog *c, uint32_t tgid, uint32_t tid)
{
	struct entry *thread;
	unsigned i = tid % THREAD_CACHE;
	int err;

	if (c->thread_cache[i].tid == tid && c->thread_cache[i].tgid == tgid &&
	    c->thread_cache[i].gen == c->gen)
		return 0;
	thread = tapir_catalog__in(&c->threads, tid);
	err = thread ? tapir_catalog__put_entry(c, thread) : 0;
	if (!err)
		err = use_process(c, tgid);
	c->thread_cache[i].tid = tid;
	c->thread_cache[i].tgid = tgid;
	c->thread_cache[i].gen = c->gen;
	return err;
}

/* A stack whose record comes later is written by describe and named when it is there. */
static int use_stack(struct tapir_catalog *c, uint32_t tgid, uint64_t stack_id, uint64_t time_ns)
{
	unsigned i = (stack_id ^ tgid) % STACK_CACHE;
	const struct process *p;
	const struct tapir_rec_stack *stack;
	uint64_t key;
	bool is_new, is_written;

	if (c->stack_cache[i].stack_id == stack_id && c->stack_cache[i].tgid == tgid &&
	    c->stack_cache[i].gen == c->gen)
		return 0;
	c->stack_cache[i].stack_id = stack_id;
	c->stack_cache[i].tgid = tgid;
	c->stack_cache[i].gen = c->gen;
	p = tapir_catalog__in(&c->processes, tgid);
	key = tapir_hash__mix((uint64_t)(p ? p->names_cnt : 0) << 32 | tgid, stack_id);
	if (!tapir_map__put(&c->used, key, &is_new) || !is_new)
		return 0;
	(void)tapir_vec__push(&c->unnamed, ((struct stack_use){tgid, stack_id, time_ns}));
	stack = tapir_stack_store__find(&c->stacks, stack_id, &is_written);
	if (!stack || is_written)
		return 0;
	tapir_stack_store__keep(&c->stacks, stack_id);
	return c->writer ? tapir_writer__put(c->writer, &stack->h) : 0;
}

int tapir_catalog__use(struct tapir_catalog *c, const struct tapir_use *use)
{
	int err = use_thread(c, use->tgid, use->tid);

	if (!err && use->stack_id)
		err = use_stack(c, use->tgid, use->stack_id, use->time_ns);
	if (!err && use->kstack_id) {
		err = use_stack(c, 0, use->kstack_id, use->time_ns);
		if (!err)
			err = use_process(c, 0);
	}
	return err;
}

int tapir_catalog__use_record(struct tapir_catalog *c, const struct tapir_rec *rec)
{
	int err = 0;

	for (int which = 0; which < 2; which++) {
		const struct tapir_use use = {
			.tgid = tapir_rec__tgid(rec, which),
			.tid = tapir_rec__tid(rec, which),
			.time_ns = rec->time_ns,
			.stack_id = which ? 0 : tapir_rec__stack_id(rec),
			.kstack_id = which ? 0 : tapir_rec__kstack_id(rec),
		};
		int failed =
			use.tid || use.stack_id || use.kstack_id ? tapir_catalog__use(c, &use) : 0;

		err = err ? err : failed;
	}
	return err;
}

int tapir_catalog__use_event(struct tapir_catalog *c, const struct tapir_rec_event *ev)
{
	struct entry *probe = tapir_catalog__in(&c->probes, ev->probe_id);
	struct entry *metadata;
	struct tapir_use use = {
		.tgid = ev->tgid,
		.tid = ev->tid,
		.time_ns = ev->h.time_ns,
		.stack_id = ev->stack_id,
		.kstack_id = tapir_rec__kstack_id(&ev->h),
	};
	int err = 0;

	if (probe && probe->put_gen != c->gen) {
		err = tapir_catalog__put_entry(c, probe);
		metadata = tapir_catalog__in(&c->metadata, ev->probe_id);
		if (!err && metadata)
			err = tapir_catalog__put_entry(c, metadata);
	}
	return err ? err : tapir_catalog__use(c, &use);
}

/* ---- naming ---------------------------------------------------------------------------------- */

static struct entry *find_name(struct tapir_catalog *c, uint32_t tgid, uint64_t va,
			       uint64_t time_ns)
{
	struct entry *jit = tapir_catalog__find_jit(c, tgid, va, time_ns);
	struct entry *mapping = jit ? NULL : tapir_catalog__find_mapping(c, tgid, va, time_ns);
	const struct tapir_rec_mapping *m;

	if (jit || !mapping)
		return jit;
	m = (const struct tapir_rec_mapping *)mapping->rec;
	return tapir_catalog__find_symbol(c, m->file_id, va - m->start_va + m->file_off);
}

/* Writes what is inlined there, if it is requested. False: it is not known. */
static bool put_inlined(struct tapir_catalog *c, const struct stack_use *use,
			const struct entry *name, uint64_t va)
{
	const struct process *p = tapir_catalog__in(&c->processes, use->tgid);
	struct entry *inlined;

	if (!p || !p->asks_for_inlined || name->rec->type != TAPIR_REC_JIT ||
	    ((const struct tapir_rec_jit *)name->rec)->source == TAPIR_JIT_INTERPRETED)
		return true;
	inlined = tapir_catalog__find_inlined(c, name, va, use->time_ns);
	if (inlined)
		tapir_catalog__put_entry(c, inlined);
	return inlined;
}

/* Writes the names that are known. True when they are all. */
static bool put_names(struct tapir_catalog *c, const struct stack_use *use,
		      const struct tapir_rec_stack *stack)
{
	const uint64_t *frames_va = (const uint64_t *)(stack + 1);
	bool all = true;

	for (unsigned i = 0; i < stack->frame_cnt; i++) {
		/* A caller is a return address: the call is before it. */
		uint64_t va = frames_va[i] - (i > 0);
		struct entry *name = find_name(c, use->tgid, va, use->time_ns);

		if (name)
			tapir_catalog__put_entry(c, name);
		all &= name && put_inlined(c, use, name, va);
	}
	return all;
}

bool tapir_catalog__next_unnamed(struct tapir_catalog *c, struct tapir_unnamed *out)
{
	while (c->unnamed_head < c->unnamed.cnt) {
		struct stack_use use = c->unnamed.data[c->unnamed_head++];
		const struct tapir_rec_stack *s = tapir_catalog__stack(c, use.stack_id);

		if (!s || put_names(c, &use, s))
			continue;
		*out = (struct tapir_unnamed){use.tgid, use.stack_id, use.time_ns, s};
		return true;
	}
	c->unnamed_head = c->unnamed.cnt = 0;
	for (size_t i = 0; i < c->again.cnt; i++)
		(void)tapir_vec__push(&c->unnamed, c->again.data[i]);
	c->again.cnt = 0;
	return false;
}

void tapir_catalog__ask_again(struct tapir_catalog *c, const struct tapir_unnamed *u)
{
	if (c->again.cnt < ASK_AGAIN_MAX)
		(void)tapir_vec__push(&c->again,
				      ((struct stack_use){u->tgid, u->stack_id, u->time_ns}));
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static bool is_stale(const struct tapir_catalog *c, uint32_t gen)
{
	return gen + 1 < c->gen;
}

/* The catalog keeps what a living process owns, unless memory gets short. */
static bool keeps_unused(const struct tapir_catalog *c)
{
	return c->mode == TAPIR_CATALOG_LIVE &&
	       c->bytes + c->stacks.bytes < TAPIR_CATALOG_MAX_BYTES / 2;
}

/* all: whatever is unused; else only what ended: replaced, or of an earlier program. */
static void sweep_set(struct tapir_catalog *c, struct tapir_ordset *set, uint64_t image_ns,
		      bool all)
{
	struct tapir_ordset_node *node = tapir_ordset__next(set, NULL), *next;

	for (; node; node = next) {
		struct entry *e = (struct entry *)node;

		next = tapir_ordset__next(set, node);
		if (!is_stale(c, e->used_gen) || !(all || e->until_ns || e->node.time < image_ns))
			continue;
		tapir_ordset__remove(set, node);
		tapir_catalog__free_entry(c, e);
	}
}

/* *chain is freed from its first stale entry on; the newest stays if keep is set. */
static void sweep_chain(struct tapir_catalog *c, struct entry **chain, bool keep)
{
	if (*chain && keep)
		chain = &(*chain)->older;
	while (*chain) {
		struct entry *e = *chain;

		if (!is_stale(c, e->used_gen)) {
			chain = &e->older;
			continue;
		}
		*chain = e->older;
		tapir_catalog__free_entry(c, e);
	}
}

/* True when nothing of it is left. */
static bool sweep_process(struct tapir_catalog *c, struct process *p)
{
	bool dead = p->exit_ns && is_stale(c, p->exit_gen);
	bool keep = keeps_unused(c) && !dead;

	sweep_chain(c, &p->newest, keep);
	sweep_chain(c, &p->resource, keep);
	sweep_set(c, &p->mappings, tapir_catalog__image_ns(p, UINT64_MAX), !keep);
	sweep_set(c, &p->jits, 0, true);
	sweep_set(c, &p->inlined, 0, true);
	return !p->newest && !p->resource && !p->mappings.root && !p->jits.root && !p->inlined.root;
}

typedef bool (*sweep_fn)(struct tapir_catalog *c, uint64_t *value);

static bool sweep_thread(struct tapir_catalog *c, uint64_t *value)
{
	struct entry *newest = (struct entry *)(uintptr_t)*value;
	const struct tapir_rec_thread *t = (const struct tapir_rec_thread *)newest->rec;
	const struct process *p = tapir_catalog__in(&c->processes, t->tgid);
	bool dead = !p || (p->exit_ns && is_stale(c, p->exit_gen)); /* !p: forgotten before it */

	sweep_chain(c, &newest, keeps_unused(c) && !dead);
	*value = (uint64_t)(uintptr_t)newest;
	return !newest;
}

static bool sweep_owner(struct tapir_catalog *c, uint64_t *value)
{
	struct process *p = (struct process *)(uintptr_t)*value;

	if (!sweep_process(c, p))
		return false;
	tapir_catalog__free_process(c, p);
	return true;
}

static bool sweep_file(struct tapir_catalog *c, uint64_t *value)
{
	struct file *f = (struct file *)(uintptr_t)*value;

	sweep_set(c, &f->symbols, 0, true);
	if (f->symbols.root)
		return false;
	tapir_catalog__free_file(c, f);
	return true;
}

/* Two passes: deleting moves slots. A key that cannot be listed stays, its value NULL. */
static void sweep_map(struct tapir_catalog *c, struct tapir_map *map, sweep_fn sweep)
{
	struct tapir_vec(uint64_t) gone = {};

	for (size_t i = 0; i < map->cap; i++) {
		struct tapir_map_slot *slot = &map->slots[i];

		if (!slot->used || (slot->value && !sweep(c, &slot->value)))
			continue;
		slot->value = 0;
		(void)tapir_vec__push(&gone, slot->key);
	}
	for (size_t i = 0; i < gone.cnt; i++)
		tapir_map__del(map, gone.data[i]);
	tapir_vec__fini(&gone);
}

int tapir_catalog__new_segment(struct tapir_catalog *c)
{
	int err;

	c->gen++;
	tapir_map__clear(&c->used);
	c->unnamed_head = c->unnamed.cnt = c->again.cnt = 0;
	tapir_stack_store__next_generation(&c->stacks);
	sweep_map(c, &c->threads, sweep_thread);
	sweep_map(c, &c->processes, sweep_owner);
	sweep_map(c, &c->files, sweep_file);
	err = c->clock ? tapir_catalog__put_entry(c, c->clock) : 0;
	for (size_t i = 0; !err && i < c->metas.cnt; i++)
		err = tapir_catalog__put_entry(c, c->metas.data[i]);
	return err;
}
