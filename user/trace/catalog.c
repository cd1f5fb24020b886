// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The catalog: what the ids in records mean, and which descriptions a segment still lacks.
 *
 * An event is small because it refers: to a probe by a 32-bit id, to a stack by a hash, to a
 * process and a thread by their kernel ids. The describing records (PROBE, METADATA, PROCESS,
 * RESOURCE, THREAD, MAPPING, STACK, SYMBOL, JIT) carry the meaning. This file stores them; lookup.c
 * finds them by id and time; segment.c writes them again, and forgets them; catalog_entry.c is what
 * they share.
 *
 * Segments. A file is a sequence of segments, each at most 10 seconds or 64 MB long. A segment
 * names everything it uses: all descriptions needed to read its events are in the segment itself.
 * That buys three things. A file that is damaged, or cut by SIGKILL or a full disk, is readable in
 * every segment that is intact. A reader needs memory for two segments, however long the recording.
 * And ids may be reused: descriptions from long ago do not reach into a later segment.
 *
 * The price is that descriptions repeat, and the catalog pays it once per segment. It has a
 * generation, `gen`, which grows with each segment. Each stored entry knows the generation in which
 * it was written last (put_gen) and used last (used_gen). Using an entry (tapir_catalog__use_event)
 * writes it if put_gen is not the current generation, so a description that the segment does not
 * need is not repeated. Most uses end in a small cache of threads and stacks of this generation.
 * A PROCESS is repeated with kind EXISTING: it was forked or executed only once, in the segment
 * where that happened.
 *
 * Time. One id has many meanings over time: pids and thread ids are reused, addresses hold
 * one JIT-compiled method after another, a process executes another program. So entries of one key
 * form a chain, newest first (struct entry.older), and mappings and JIT names are in ordered sets
 * by position and time (ordset.h). A lookup takes the time of the record that asks. A new mapping
 * ends those it overlaps; an EXEC ends all of its process.
 *
 * Two modes. LIVE, in a recorder: a forked process inherits its parent's mappings, and the mappings
 * of a living process are kept although no event used them for a while, because the next one may.
 * READ, from a file: the recorder has done
 * both already, so nothing is inherited, and what was not repeated for two segments is forgotten.
 *
 * Memory is bounded by one sum for everything (TAPIR_CATALOG_MAX_BYTES). Stacks and names of code
 * live for this segment and the previous one; what belongs to a process lives until the segment
 * after its EXIT, because records of other CPUs may still arrive. A description that does not fit
 * is refused with -ENOSPC, which the session counts (NAME_QUEUE_FULL): an event then has no name,
 * but it is not lost.
 */
#include "trace/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "trace/catalog_impl.h"
#include "trace/record.h"

/* Successors a new mapping may push aside, and mappings a fork inherits. */
#define REPLACED_MAX  256
#define INHERITED_MAX 8192

struct tapir_catalog *tapir_catalog__new(enum tapir_catalog_mode mode, struct tapir_writer *w)
{
	struct tapir_catalog *c = calloc(1, sizeof(*c));

	if (c) {
		c->mode = mode;
		c->writer = w;
		c->gen = 1;
	}
	return c;
}

static void free_map_of_entries(struct tapir_catalog *c, struct tapir_map *map)
{
	for (size_t i = 0; i < map->cap; i++)
		if (map->slots[i].used)
			tapir_catalog__free_chain(c,
						  (struct entry *)(uintptr_t)map->slots[i].value);
	tapir_map__fini(map);
}

void tapir_catalog__free(struct tapir_catalog *c)
{
	if (!c)
		return;
	free_map_of_entries(c, &c->probes);
	free_map_of_entries(c, &c->metadata);
	tapir_stack_store__fini(&c->stacks);
	free_map_of_entries(c, &c->threads);
	for (size_t i = 0; i < c->processes.cap; i++)
		if (c->processes.slots[i].used)
			tapir_catalog__free_process(c,
						    (struct process *)c->processes.slots[i].value);
	tapir_map__fini(&c->processes);
	for (size_t i = 0; i < c->files.cap; i++)
		if (c->files.slots[i].used)
			tapir_catalog__free_file(c, (struct file *)c->files.slots[i].value);
	tapir_map__fini(&c->files);
	tapir_catalog__free_chain(c, c->clock);
	tapir_clock_pairs__fini(&c->clock_pairs);
	for (size_t i = 0; i < c->metas.cnt; i++)
		tapir_catalog__free_chain(c, c->metas.data[i]);
	tapir_vec__fini(&c->metas);
	for (size_t i = 0; i < c->hosts.cnt; i++)
		tapir_catalog__free_chain(c, c->hosts.data[i]);
	tapir_vec__fini(&c->hosts);
	tapir_map__fini(&c->used);
	tapir_vec__fini(&c->unnamed);
	tapir_vec__fini(&c->again);
	free(c);
}

/* ---- entries -------------------------------------------------------------------------------- */

/* A repeated PROCESS has kind EXISTING: that is not a difference. */
static bool same_record(const struct tapir_rec *a, const struct tapir_rec *b)
{
	size_t from = 0;

	if (a->size != b->size)
		return false;
	if (a->type == TAPIR_REC_PROCESS && b->type == TAPIR_REC_PROCESS) {
		from = offsetof(struct tapir_rec_process, kind);
		if (memcmp(a, b, from))
			return false;
		from += sizeof(((struct tapir_rec_process *)0)->kind);
	}
	return !memcmp((const char *)a + from, (const char *)b + from, a->size - from);
}

/*
 * rec takes the place of *at (NULL: nothing there yet), its links and set membership.
 * 1: it is new or differs, 0: the same is there already.
 */
static int replace(struct tapir_catalog *c, struct entry **at, const struct tapir_rec *rec)
{
	struct entry *old = *at, *e;
	int err;

	if (old && same_record(old->rec, rec)) {
		old->used_gen = c->gen;
		return 0;
	}
	err = tapir_catalog__new_entry(c, rec, &e);
	if (err)
		return err;
	if (old) {
		e->older = old->older;
		tapir_catalog__free_entry(c, old);
	}
	*at = e;
	return 1;
}

/* Writes what was remembered, and returns the status: 1: it is new. */
static int and_put(struct tapir_catalog *c, struct entry *e, int status)
{
	int err = status < 0 ? status : tapir_catalog__put_entry(c, e);

	return err < 0 ? err : status;
}

static int describe_by_id(struct tapir_catalog *c, struct tapir_map *map, uint64_t id,
			  const struct tapir_rec *rec)
{
	bool is_new;
	uint64_t *slot = tapir_map__put(map, id, &is_new);
	struct entry *e;
	int status;

	if (!slot)
		return -ENOMEM;
	e = (struct entry *)(uintptr_t)*slot;
	status = replace(c, &e, rec);
	if (status < 0 && is_new)
		tapir_map__del(map, id);
	else
		*slot = (uint64_t)(uintptr_t)e;
	return and_put(c, e, status);
}

/* Only what the previous segment did not contain is news. */
static int describe_stack(struct tapir_catalog *c, const struct tapir_rec_stack *rec)
{
	bool is_now, is_same;
	const struct tapir_rec_stack *known =
		tapir_stack_store__find(&c->stacks, rec->stack_id, &is_now);
	int err = 0;

	is_same = known && same_record(&known->h, &rec->h);
	if (is_same && is_now)
		return 0;
	if (is_same)
		tapir_stack_store__keep(&c->stacks, rec->stack_id);
	else
		err = tapir_catalog__keep_stack(c, rec);
	if (!err && c->writer)
		err = tapir_writer__put(c->writer, &rec->h);
	return err ? err : !is_same;
}

/* ---- threads and processes: chains, newest first -------------------------------------------- */

/* Keeps a chain short: ids are used again, but only the last few can be requested. */
static void trim_chain(struct tapir_catalog *c, struct entry *e)
{
	for (int i = 1; e && i < INSTANCES_MAX; i++)
		e = e->older;
	if (e && e->older) {
		tapir_catalog__free_chain(c, e->older);
		e->older = NULL;
		e->until_ns = TAPIR_EARLIER_DROPPED;
	}
}

static int describe_in_chain(struct tapir_catalog *c, struct entry **newest,
			     const struct tapir_rec *rec)
{
	struct entry **at = newest, *e = NULL;
	int status;

	while (*at && (*at)->rec->time_ns > rec->time_ns)
		at = &(*at)->older;
	if (*at && (*at)->rec->time_ns == rec->time_ns) {
		status = replace(c, at, rec);
		return and_put(c, *at, status);
	}
	status = replace(c, &e, rec);
	if (status < 0)
		return status;
	e->older = *at;
	*at = e;
	status = and_put(c, e, status);
	trim_chain(c, *newest);
	return status;
}

static int describe_thread(struct tapir_catalog *c, const struct tapir_rec *rec)
{
	uint64_t tid = ((const struct tapir_rec_thread *)rec)->tid;
	uint64_t *slot = tapir_map__put(&c->threads, tid, NULL);
	struct entry *newest;
	int status;

	if (!slot)
		return -ENOMEM;
	newest = (struct entry *)(uintptr_t)*slot;
	status = describe_in_chain(c, &newest, rec);
	if (newest)
		*slot = (uint64_t)(uintptr_t)newest;
	else
		tapir_map__del(&c->threads, tid);
	return status;
}

/* Finds or creates the small object of a key. */
static void *owner_of(struct tapir_catalog *c, struct tapir_map *map, uint64_t key, size_t bytes)
{
	uint64_t *slot;
	void *owner = tapir_catalog__in(map, key);

	if (owner || c->bytes > tapir_catalog__max_bytes(c))
		return owner;
	owner = calloc(1, bytes);
	slot = owner ? tapir_map__put(map, key, NULL) : NULL;
	if (!slot) {
		free(owner);
		return NULL;
	}
	*slot = (uint64_t)(uintptr_t)owner;
	c->bytes += bytes + TAPIR_CATALOG_OVERHEAD_BYTES;
	return owner;
}

static int describe_mapping(struct tapir_catalog *c, const struct tapir_rec_mapping *m);

/* The child's address space is a copy: its mappings hold from the fork on. */
static int inherit(struct tapir_catalog *c, const struct tapir_rec_process *child)
{
	const struct process *parent = tapir_catalog__in(&c->processes, child->parent_tgid);
	uint64_t image_ns = parent ? tapir_catalog__image_ns(parent, child->h.time_ns) : 0;
	const struct tapir_ordset_node *node = NULL;
	int err = 0;

	if (!parent || child->parent_tgid == child->tgid)
		return 0;
	for (int i = 0; err >= 0 && i < INHERITED_MAX; i++) {
		struct tapir_rec_mapping *m;
		const struct entry *e;

		node = tapir_ordset__next(&parent->mappings, node);
		if (!node)
			return 0;
		e = (const struct entry *)node;
		/*
		 * A mapping that has ended was not copied, and neither was one of the program
		 * before an exec.
		 */
		if (e->until_ns || e->node.time < image_ns)
			continue;
		m = malloc(e->rec->size);
		if (!m)
			return -ENOMEM;
		memcpy(m, e->rec, e->rec->size);
		m->tgid = child->tgid;
		m->h.time_ns = child->h.time_ns;
		err = describe_mapping(c, m);
		free(m);
	}
	return err < 0 ? err : 0;
}

/* An end is written once, not kept as a description. */
static int describe_exit(struct tapir_catalog *c, const struct tapir_rec_process *rec)
{
	struct process *p = tapir_catalog__in(&c->processes, rec->tgid);
	int err = c->writer ? tapir_writer__put(c->writer, &rec->h) : 0;

	if (p) {
		p->exit_ns = rec->h.time_ns;
		p->exit_gen = c->gen;
	}
	return err ? err : 1;
}

/*
 * Notes if this is another process than the previous one with this id, or the first whose start was
 * seen.
 */
static void note_life(struct process *p, const struct tapir_rec_process *rec)
{
	uint64_t now_ns = rec->h.time_ns,
		 *last = p->lives.cnt ? p->lives.data + p->lives.cnt - 1 : NULL;
	bool is_other = p->exit_ns && now_ns > p->exit_ns;

	if (!p->first_ns || now_ns < p->first_ns)
		p->first_ns = now_ns;
	if ((is_other || rec->kind == TAPIR_PROCESS_FORK) && (!last || *last < now_ns) &&
	    p->lives.cnt < LIVES_MAX)
		(void)tapir_vec__push(&p->lives, now_ns);
}

static int describe_process(struct tapir_catalog *c, const struct tapir_rec_process *rec)
{
	struct process *p;
	int status, err;

	if (rec->kind == TAPIR_PROCESS_EXIT)
		return describe_exit(c, rec);
	p = owner_of(c, &c->processes, rec->tgid, sizeof(*p));
	if (!p)
		return -ENOMEM;
	note_life(p, rec);
	if (rec->h.time_ns > p->exit_ns)
		p->exit_ns = 0;
	status = describe_in_chain(c, &p->newest, &rec->h);
	if (status > 0 && c->mode == TAPIR_CATALOG_LIVE && rec->kind == TAPIR_PROCESS_FORK) {
		err = inherit(c, rec);
		return err ? err : status;
	}
	return status;
}

static int describe_resource(struct tapir_catalog *c, const struct tapir_rec_resource *rec)
{
	struct process *p = owner_of(c, &c->processes, rec->tgid, sizeof(*p));

	return p ? describe_in_chain(c, &p->resource, &rec->h) : -ENOMEM;
}

/* ---- mappings, symbols, JIT: ordered sets -----------------------------------------------------
 */

/* e: the one at or before pos and time. *out: the entry, also when it was known. */
static int describe_at(struct tapir_catalog *c, struct tapir_ordset *set, uint64_t pos,
		       uint64_t time, struct entry *e, const struct tapir_rec *rec,
		       struct entry **out)
{
	struct entry *fresh;
	int err;

	if (e && (e->node.pos != pos || e->node.time != time))
		e = NULL;
	if (e && same_record(e->rec, rec)) {
		e->used_gen = c->gen;
		*out = e;
		return and_put(c, e, 0);
	}
	err = tapir_catalog__new_entry(c, rec, &fresh);
	if (err)
		return err;
	if (e) {
		tapir_ordset__remove(set, &e->node);
		tapir_catalog__free_entry(c, e);
	}
	fresh->node.pos = pos;
	fresh->node.time = time;
	tapir_ordset__insert(set, &fresh->node);
	*out = fresh;
	return and_put(c, fresh, 1);
}

static int describe_in_set(struct tapir_catalog *c, struct tapir_ordset *set, uint64_t pos,
			   uint64_t time, const struct tapir_rec *rec, struct entry **out)
{
	return describe_at(c, set, pos, time, (struct entry *)tapir_ordset__floor(set, pos, time),
			   rec, out);
}

/*
 * Mapping or protecting the same range again (a JIT may do so all day) changes nothing. Returns the
 * current mapping; NULL: it is another, or none.
 */
static struct entry *same_mapping(struct process *p, const struct tapir_rec_mapping *m,
				  uint64_t from_ns)
{
	struct entry *e = (struct entry *)tapir_ordset__floor(&p->mappings, m->start_va, from_ns);

	return e && e->node.pos == m->start_va && !e->until_ns &&
			       e->node.time >= tapir_catalog__image_ns(p, from_ns) &&
			       e->rec->size == m->h.size &&
			       !memcmp(e->rec + 1, &m->h + 1, m->h.size - sizeof(m->h))
		       ? e
		       : NULL;
}

static int describe_mapping(struct tapir_catalog *c, const struct tapir_rec_mapping *m)
{
	struct process *p = owner_of(c, &c->processes, m->tgid, sizeof(*p));
	struct tapir_ordset_node *node;
	struct entry *e;
	uint64_t from_ns;
	int status;

	if (!p)
		return -ENOMEM;
	/* "From the start" is from the start of the program that runs now. */
	from_ns = m->h.time_ns ? m->h.time_ns : tapir_catalog__image_ns(p, UINT64_MAX);
	e = c->mode == TAPIR_CATALOG_LIVE ? same_mapping(p, m, from_ns) : NULL;
	if (e)
		return and_put(c, e, 0);
	status = describe_in_set(c, &p->mappings, m->start_va, from_ns, &m->h, &e);
	if (status <= 0)
		return status;
	node = tapir_ordset__ceil(&p->mappings, m->start_va, 0);
	for (int i = 0; node && node->pos < m->end_va && i < REPLACED_MAX; i++) {
		struct entry *other = (struct entry *)node;

		if (node->time < from_ns && !other->until_ns)
			other->until_ns = from_ns;
		node = tapir_ordset__next(&p->mappings, node);
	}
	return status;
}

static int describe_symbol(struct tapir_catalog *c, const struct tapir_rec_symbol *s)
{
	struct file *f = owner_of(c, &c->files, s->file_id, sizeof(*f));
	struct entry *e;

	return f ? describe_in_set(c, &f->symbols, s->start_off, 0, &s->h, &e) : -ENOMEM;
}

/* The addresses have another name from now on: stacks that were named are checked again. */
static void note_end(struct tapir_catalog *c, struct process *p)
{
	p->names_cnt++;
	memset(c->stack_cache, 0, sizeof(c->stack_cache));
}

static int describe_jit(struct tapir_catalog *c, const struct tapir_rec_jit *j)
{
	struct process *p = owner_of(c, &c->processes, j->tgid, sizeof(*p));
	struct tapir_ordset_node *known =
		p ? tapir_ordset__floor(&p->jits, j->start_va, j->from_ns) : NULL;
	bool was_known = known && known->pos == j->start_va && known->time == j->from_ns;
	struct entry *e;
	int status;

	if (!p)
		return -ENOMEM;
	status =
		describe_at(c, &p->jits, j->start_va, j->from_ns, (struct entry *)known, &j->h, &e);
	if (status > 0 && was_known && j->until_ns)
		note_end(c, p);
	return status;
}

static int describe_inlined(struct tapir_catalog *c, const struct tapir_rec_jit *inlined)
{
	struct process *p = owner_of(c, &c->processes, inlined->tgid, sizeof(*p));
	struct entry *e;

	return p ? describe_in_set(c, &p->inlined, inlined->start_va, inlined->from_ns, &inlined->h,
				   &e)
		 : -ENOMEM;
}

void tapir_catalog__ask_for_inlined(struct tapir_catalog *c, uint32_t tgid)
{
	struct process *p = tapir_catalog__in(&c->processes, tgid);

	if (p)
		p->asks_for_inlined = true;
}

/* ---- the recording itself ---------------------------------------------------------------------
 */

static bool same_key(const struct tapir_rec *a, const struct tapir_rec *b)
{
	struct tapir_meta_view x, y;

	tapir_meta_view__of(a, &x);
	tapir_meta_view__of(b, &y);
	return x.key.len == y.key.len && !memcmp(x.key.data, y.key.data, x.key.len);
}

static int describe_meta(struct tapir_catalog *c, const struct tapir_rec *rec)
{
	struct entry **at, *e = NULL;
	int status;

	tapir_vec_for_each (at, &c->metas)
		if (same_key((*at)->rec, rec)) {
			status = replace(c, at, rec);
			return and_put(c, *at, status);
		}
	if (c->metas.cnt == META_CNT) {
		c->refused++;
		return -ENOSPC;
	}
	status = replace(c, &e, rec);
	if (status < 0)
		return status;
	if (!tapir_vec__push(&c->metas, e)) {
		tapir_catalog__free_entry(c, e);
		return -ENOMEM;
	}
	return and_put(c, e, status);
}

void tapir_catalog__expect(const struct tapir_catalog *c, const struct tapir_rec *rec, bool is_near)
{
	const struct tapir_rec_stack *stack = (const void *)rec;

	if (rec->type == TAPIR_REC_STACK)
		tapir_stack_store__expect(&c->stacks, stack->stack_id, is_near);
}

static int describe_host(struct tapir_catalog *c, const struct tapir_rec *rec)
{
	uint32_t number = ((const struct tapir_rec_host *)rec)->host;
	int status;

	if (!number || number > TAPIR_HOST_MAX)
		return 0;
	while (c->hosts.cnt < number)
		if (!tapir_vec__push(&c->hosts, (struct entry *)NULL))
			return -ENOMEM;
	status = replace(c, &c->hosts.data[number - 1], rec);
	return and_put(c, c->hosts.data[number - 1], status);
}

int tapir_catalog__describe(struct tapir_catalog *c, const struct tapir_rec *rec)
{
	int status;

	switch (rec->type) {
	case TAPIR_REC_PROBE:
		return describe_by_id(c, &c->probes,
				      ((const struct tapir_rec_probe *)rec)->probe_id, rec);
	case TAPIR_REC_METADATA:
		return describe_by_id(c, &c->metadata,
				      ((const struct tapir_rec_metadata *)rec)->probe_id, rec);
	case TAPIR_REC_STACK:
		return describe_stack(c, (const struct tapir_rec_stack *)rec);
	case TAPIR_REC_THREAD:
		return describe_thread(c, rec);
	case TAPIR_REC_PROCESS:
		return describe_process(c, (const struct tapir_rec_process *)rec);
	case TAPIR_REC_RESOURCE:
		return describe_resource(c, (const struct tapir_rec_resource *)rec);
	case TAPIR_REC_MAPPING:
		return describe_mapping(c, (const struct tapir_rec_mapping *)rec);
	case TAPIR_REC_SYMBOL:
		return describe_symbol(c, (const struct tapir_rec_symbol *)rec);
	case TAPIR_REC_JIT:
		return describe_jit(c, (const struct tapir_rec_jit *)rec);
	case TAPIR_REC_INLINED:
		return describe_inlined(c, (const struct tapir_rec_jit *)rec);
	case TAPIR_REC_META:
		return describe_meta(c, rec);
	case TAPIR_REC_HOST:
		return describe_host(c, rec);
	case TAPIR_REC_CLOCK:
		if (!tapir_clock_pairs__add(&c->clock_pairs, (const void *)rec))
			return -ENOMEM;
		status = replace(c, &c->clock, rec);
		return and_put(c, c->clock, status);
	default:
		return 0;
	}
}
