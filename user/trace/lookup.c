// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks things up in the catalog, by id, address and time. Nothing is changed here, so that what
 * was returned stays valid between lookups.
 *
 * An id has a chain of entries, the newest first, and a set of ranges is ordered by (address,
 * time): the answer is the newest that had begun at that time and had not ended.
 */
#include <string.h>

#include "base/str.h"
#include "trace/catalog_impl.h"

/*
 * Distinct start addresses examined below the requested one. Ranges nest rarely and not deeply (a
 * linker's reservation with segments mapped over it).
 */
#define NESTING_MAX 32

const struct tapir_rec_probe *tapir_catalog__probe(const struct tapir_catalog *c, uint32_t id)
{
	struct entry *e = tapir_catalog__in(&c->probes, id);

	return e ? (const struct tapir_rec_probe *)e->rec : NULL;
}

bool tapir_catalog__has_provider(const struct tapir_catalog *c, const char *provider)
{
	const struct tapir_map *probes = &c->probes;
	struct tapir_probe_view view;

	for (size_t i = 0; i < probes->cap; i++) {
		const struct entry *e =
			probes->slots[i].used ? (void *)(uintptr_t)probes->slots[i].value : NULL;

		if (!e)
			continue;
		tapir_probe_view__of(e->rec, &view);
		if (tapir_sv__is(view.provider, provider))
			return true;
	}
	return false;
}

const struct tapir_rec_metadata *tapir_catalog__metadata(const struct tapir_catalog *c,
							 uint32_t probe_id)
{
	struct entry *e = tapir_catalog__in(&c->metadata, probe_id);

	return e ? (const struct tapir_rec_metadata *)e->rec : NULL;
}

const struct tapir_rec_stack *tapir_catalog__stack(const struct tapir_catalog *c, uint64_t id)
{
	return tapir_stack_store__find(&c->stacks, id, NULL);
}

static const struct tapir_rec *at_time(const struct entry *e, uint64_t time_ns)
{
	while (e && e->rec->time_ns > time_ns && e->older)
		e = e->older;
	if (!e || (e->rec->time_ns > time_ns && e->until_ns == TAPIR_EARLIER_DROPPED))
		return NULL;
	return e->rec;
}

const struct tapir_rec_thread *tapir_catalog__thread(const struct tapir_catalog *c, uint32_t tid,
						     uint64_t time_ns)
{
	const struct entry *newest = tapir_catalog__in(&c->threads, tid);

	return (const struct tapir_rec_thread *)at_time(newest, time_ns);
}

const struct tapir_rec_process *tapir_catalog__process(const struct tapir_catalog *c, uint32_t tgid,
						       uint64_t time_ns)
{
	const struct process *p = tapir_catalog__in(&c->processes, tgid);

	return p ? (const struct tapir_rec_process *)at_time(p->newest, time_ns) : NULL;
}

uint64_t tapir_catalog__life(const struct tapir_catalog *c, uint32_t tgid, uint64_t time_ns)
{
	const struct process *p = tapir_catalog__in(&c->processes, tgid);
	size_t at = p ? p->lives.cnt : 0;

	while (at && p->lives.data[at - 1] > time_ns)
		at--;
	if (at)
		return p->lives.data[at - 1];
	/* Before everything that is known of the id. */
	return p && p->lives.cnt && p->lives.data[0] <= p->first_ns ? p->lives.data[0] : 0;
}

uint64_t tapir_catalog__image_ns(const struct process *p, uint64_t time_ns)
{
	for (const struct entry *e = p->newest; e; e = e->older) {
		uint8_t kind = ((const struct tapir_rec_process *)e->rec)->kind;

		if (e->rec->time_ns <= time_ns &&
		    (kind == TAPIR_PROCESS_EXEC || kind == TAPIR_PROCESS_FORK))
			return e->rec->time_ns;
	}
	return 0;
}

const struct tapir_rec_resource *tapir_catalog__resource(const struct tapir_catalog *c,
							 uint32_t tgid, uint64_t time_ns)
{
	const struct process *p = tapir_catalog__in(&c->processes, tgid);
	uint64_t image_ns = p ? tapir_catalog__image_ns(p, time_ns) : 0;
	const struct tapir_rec *found = NULL;

	for (const struct entry *e = p ? p->resource : NULL; e; e = e->older) {
		if (tapir_catalog__image_ns(p, e->rec->time_ns) != image_ns)
			continue;
		found = e->rec;
		if (found->time_ns <= time_ns)
			break;
	}
	return (const struct tapir_rec_resource *)found;
}

/* Was it at va at that time? It began by then: node.time <= time_ns. */
typedef bool (*holds_fn)(const struct entry *e, uint64_t va, uint64_t time_ns, uint64_t image_ns);

static bool mapping_holds(const struct entry *e, uint64_t va, uint64_t time_ns, uint64_t image_ns)
{
	const struct tapir_rec_mapping *mapping = (const struct tapir_rec_mapping *)e->rec;

	return e->node.time >= image_ns && (!e->until_ns || e->until_ns > time_ns) &&
	       va < mapping->end_va;
}

static bool jit_holds(const struct entry *e, uint64_t va, uint64_t time_ns, uint64_t image_ns)
{
	const struct tapir_rec_jit *jit = (const struct tapir_rec_jit *)e->rec;

	return (!e->node.time || e->node.time >= image_ns) &&
	       (!jit->until_ns || jit->until_ns > time_ns) && va - jit->start_va < jit->size;
}

/* set: of the process p. */
static struct entry *find_in(const struct process *p, const struct tapir_ordset *set, uint64_t va,
			     uint64_t time_ns, holds_fn holds)
{
	uint64_t start = va, image_ns = tapir_catalog__image_ns(p, time_ns);

	for (int i = 0; i < NESTING_MAX; i++) {
		struct entry *e = (struct entry *)tapir_ordset__floor(set, start, time_ns);

		if (!e)
			return NULL;
		if (e->node.time <= time_ns && holds(e, va, time_ns, image_ns))
			return e;
		if (!e->node.pos)
			return NULL;
		start = e->node.time <= time_ns ? e->node.pos - 1 : e->node.pos;
	}
	return NULL;
}

struct entry *tapir_catalog__find_mapping(const struct tapir_catalog *c, uint32_t tgid, uint64_t va,
					  uint64_t time_ns)
{
	const struct process *p = tapir_catalog__in(&c->processes, tgid);

	return p ? find_in(p, &p->mappings, va, time_ns, mapping_holds) : NULL;
}

struct entry *tapir_catalog__find_jit(const struct tapir_catalog *c, uint32_t tgid, uint64_t va,
				      uint64_t time_ns)
{
	const struct process *p = tapir_catalog__in(&c->processes, tgid);

	return p ? find_in(p, &p->jits, va, time_ns, jit_holds) : NULL;
}

/*
 * INLINED records describe the code of one JIT entry: those of code that was at the address before
 * do not count.
 */
struct entry *tapir_catalog__find_inlined(const struct tapir_catalog *c, const struct entry *jit,
					  uint64_t va, uint64_t time_ns)
{
	const struct tapir_rec_jit *rec = (const struct tapir_rec_jit *)jit->rec;
	const struct process *p = tapir_catalog__in(&c->processes, rec->tgid);
	struct entry *e = p ? (struct entry *)tapir_ordset__floor(&p->inlined, va, time_ns) : NULL;

	return e && e->node.pos == va && e->node.time <= time_ns && e->node.time >= jit->node.time
		       ? e
		       : NULL;
}

struct entry *tapir_catalog__find_symbol(const struct tapir_catalog *c, uint64_t file_id,
					 uint64_t off)
{
	const struct file *f = tapir_catalog__in(&c->files, file_id);
	struct entry *e = f ? (struct entry *)tapir_ordset__floor(&f->symbols, off, 0) : NULL;
	const struct tapir_rec_symbol *sym;

	if (!e)
		return NULL;
	sym = (const struct tapir_rec_symbol *)e->rec;
	return !sym->size || off - sym->start_off < sym->size ? e : NULL;
}

const struct tapir_rec_mapping *tapir_catalog__mapping(const struct tapir_catalog *c, uint32_t tgid,
						       uint64_t va, uint64_t time_ns)
{
	struct entry *e = tapir_catalog__find_mapping(c, tgid, va, time_ns);

	return e ? (const struct tapir_rec_mapping *)e->rec : NULL;
}

const struct tapir_rec_mapping *tapir_catalog__next_mapping(const struct tapir_catalog *c,
							    uint32_t tgid, uint64_t time_ns,
							    const struct tapir_rec_mapping *after)
{
	const struct process *p = tapir_catalog__in(&c->processes, tgid);
	uint64_t image_ns = p ? tapir_catalog__image_ns(p, time_ns) : 0;
	const struct tapir_ordset_node *node =
		p ? tapir_ordset__ceil(&p->mappings, after ? after->end_va : 0, 0) : NULL;

	for (; node; node = tapir_ordset__next(&p->mappings, node)) {
		const struct entry *e = (const struct entry *)node;

		if (node->time <= time_ns && mapping_holds(e, node->pos, time_ns, image_ns))
			return (const struct tapir_rec_mapping *)e->rec;
	}
	return NULL;
}

const struct tapir_rec_jit *tapir_catalog__jit(const struct tapir_catalog *c, uint32_t tgid,
					       uint64_t va, uint64_t time_ns)
{
	struct entry *e = tapir_catalog__find_jit(c, tgid, va, time_ns);

	return e ? (const struct tapir_rec_jit *)e->rec : NULL;
}

const struct tapir_rec_jit *tapir_catalog__inlined(const struct tapir_catalog *c, uint32_t tgid,
						   uint64_t va, uint64_t time_ns)
{
	struct entry *jit = tapir_catalog__find_jit(c, tgid, va, time_ns);
	struct entry *e = jit ? tapir_catalog__find_inlined(c, jit, va, time_ns) : NULL;

	return e ? (const struct tapir_rec_jit *)e->rec : NULL;
}

const struct tapir_rec_symbol *tapir_catalog__symbol(const struct tapir_catalog *c,
						     uint64_t file_id, uint64_t off)
{
	struct entry *e = tapir_catalog__find_symbol(c, file_id, off);

	return e ? (const struct tapir_rec_symbol *)e->rec : NULL;
}

const struct tapir_rec_symbol *tapir_catalog__function(const struct tapir_catalog *c,
						       const struct tapir_rec_mapping *mapping,
						       uint64_t off)
{
	const struct tapir_rec_symbol *known = tapir_catalog__symbol(c, mapping->file_id, off);
	const struct tapir_rec_symbol *late = NULL;

	if (known && !(known->flags & TAPIR_SYMBOL_RANGE))
		return known;
	if (c->late.find)
		late = c->late.find(c->late.ctx, mapping, off, known);
	return late ? late : known;
}

void tapir_catalog__use_source(struct tapir_catalog *c, const struct tapir_offline_source *source)
{
	c->late = source ? *source : (struct tapir_offline_source){};
}

void tapir_catalog__use_lines(struct tapir_catalog *c, const struct tapir_line_source *source)
{
	c->lines = *source;
}

struct tapir_source_locations
tapir_catalog__source_locations(const struct tapir_catalog *c,
				const struct tapir_rec_mapping *mapping, uint64_t off)
{
	return c->lines.find ? c->lines.find(c->lines.ctx, mapping, off,
					     tapir_catalog__symbol(c, mapping->file_id, off))
			     : (struct tapir_source_locations){};
}

uint64_t tapir_catalog__utc_ns(const struct tapir_catalog *c, uint64_t time_ns)
{
	return tapir_clock_pairs__utc_ns(&c->clock_pairs, time_ns);
}

const struct tapir_rec_meta *tapir_catalog__meta(const struct tapir_catalog *c, unsigned idx)
{
	return idx < c->metas.cnt ? (const struct tapir_rec_meta *)c->metas.data[idx]->rec : NULL;
}

const struct tapir_rec_host *tapir_catalog__host(const struct tapir_catalog *c, uint32_t number)
{
	const struct entry *e = number && number <= c->hosts.cnt ? c->hosts.data[number - 1] : NULL;

	return e ? (const struct tapir_rec_host *)e->rec : NULL;
}

uint32_t tapir_catalog__host_cnt(const struct tapir_catalog *c)
{
	return (uint32_t)c->hosts.cnt;
}

struct tapir_sv tapir_catalog__host_name(const struct tapir_catalog *c, uint32_t number)
{
	const struct tapir_rec_host *host = tapir_catalog__host(c, number);

	return host ? (struct tapir_sv){(const char *)(host + 1), host->name_len}
		    : (struct tapir_sv){};
}

static const struct tapir_rec *find_meta(const struct tapir_catalog *c, const char *key)
{
	struct tapir_meta_view view;
	size_t len = strlen(key);

	for (unsigned i = 0; i < c->metas.cnt; i++) {
		tapir_meta_view__of(c->metas.data[i]->rec, &view);
		if (view.key.len == len && !memcmp(view.key.data, key, len))
			return c->metas.data[i]->rec;
	}
	return NULL;
}

struct tapir_sv tapir_catalog__meta_value(const struct tapir_catalog *c, const char *key)
{
	const struct tapir_rec *rec = find_meta(c, key);
	struct tapir_meta_view view = {};

	if (rec)
		tapir_meta_view__of(rec, &view);
	return view.value;
}

uint64_t tapir_catalog__meta_number(const struct tapir_catalog *c, const char *key, uint64_t max)
{
	char text[24];
	uint64_t number = 0;

	tapir_sv__copy(tapir_catalog__meta_value(c, key), text, sizeof(text));
	(void)tapir_str__to_u64(text, 1, max, &number);
	return number;
}

bool tapir_catalog__sums_waits(const struct tapir_catalog *c)
{
	return tapir_sv__is(tapir_catalog__meta_value(c, "switches"), TAPIR_META_SUMS);
}

uint64_t tapir_catalog__attached_ns(const struct tapir_catalog *c)
{
	const struct tapir_rec *began = find_meta(c, TAPIR_META_BEGAN);

	return began && !find_meta(c, "frozen") ? began->time_ns : 0;
}

bool tapir_catalog__precedes_attach(const struct tapir_catalog *c, uint64_t time_ns)
{
	if (find_meta(c, TAPIR_META_BEGAN))
		return time_ns < tapir_catalog__attached_ns(c);
	return find_meta(c, TAPIR_META_SPECS) && !find_meta(c, "frozen");
}

void tapir_catalog__widen_span(const struct tapir_catalog *c, uint64_t any_ns, uint64_t *from_ns,
			       uint64_t *until_ns)
{
	const struct tapir_rec *frozen = find_meta(c, "frozen");
	const struct tapir_rec *began = find_meta(c, TAPIR_META_BEGAN);
	const struct tapir_rec *ended = frozen ? frozen : find_meta(c, TAPIR_META_ENDED);
	uint64_t ended_ns = ended ? ended->time_ns : any_ns;

	if (began && !frozen &&
	    (!*from_ns || began->time_ns < *from_ns)) /* what is frozen began long after */
		*from_ns = began->time_ns;
	if (ended_ns > *until_ns)
		*until_ns = ended_ns;
}

uint64_t tapir_catalog__refused(const struct tapir_catalog *c)
{
	return c->refused;
}
