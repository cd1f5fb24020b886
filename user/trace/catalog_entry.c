// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The catalog's entries: made within its limit of memory, written once per segment, freed. The
 * limit counts what malloc and the tables add to a record (TAPIR_CATALOG_OVERHEAD_BYTES): most
 * records are smaller than that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "trace/catalog_impl.h"

static uint64_t cost_of(const struct tapir_rec *rec)
{
	return sizeof(struct entry) + rec->size + TAPIR_CATALOG_OVERHEAD_BYTES;
}

uint64_t tapir_catalog__max_bytes(const struct tapir_catalog *c)
{
	return c->mode == TAPIR_CATALOG_READ ? TAPIR_CATALOG_READ_MAX_BYTES
					     : TAPIR_CATALOG_MAX_BYTES;
}

/* Is there room for so much more? What is refused is counted. */
static bool has_room(struct tapir_catalog *c, uint64_t bytes)
{
	if (c->bytes + c->stacks.bytes + bytes <= tapir_catalog__max_bytes(c))
		return true;
	if (!c->refused++)
		tapir_diag__add(
			"descriptions beyond %u MB are dropped, and what they describe stays unnamed",
			(unsigned)(tapir_catalog__max_bytes(c) >> 20));
	return false;
}

int tapir_catalog__new_entry(struct tapir_catalog *c, const struct tapir_rec *rec,
			     struct entry **out)
{
	struct entry *e;

	if (!has_room(c, cost_of(rec)))
		return -ENOSPC;
	e = malloc(sizeof(*e) + rec->size);
	if (!e)
		return -ENOMEM;
	*e = (struct entry){.used_gen = c->gen};
	memcpy(e->rec, rec, rec->size);
	c->bytes += cost_of(rec);
	c->version++;
	*out = e;
	return 0;
}

int tapir_catalog__keep_stack(struct tapir_catalog *c, const struct tapir_rec_stack *rec)
{
	return has_room(c, rec->h.size) ? tapir_stack_store__put(&c->stacks, rec) : -ENOSPC;
}

void tapir_catalog__free_entry(struct tapir_catalog *c, struct entry *e)
{
	c->bytes -= cost_of(e->rec);
	c->version++;
	free(e);
}

void tapir_catalog__free_chain(struct tapir_catalog *c, struct entry *newest)
{
	while (newest) {
		struct entry *older = newest->older;

		tapir_catalog__free_entry(c, newest);
		newest = older;
	}
}

int tapir_catalog__put_entry(struct tapir_catalog *c, struct entry *e)
{
	struct tapir_rec_process *p = (struct tapir_rec_process *)e->rec;
	bool again = e->put_gen;
	uint8_t kind;
	int err;

	e->used_gen = c->gen;
	if (!c->writer || e->put_gen == c->gen)
		return 0;
	e->put_gen = c->gen;
	if (e->rec->type != TAPIR_REC_PROCESS || !again)
		return tapir_writer__put(c->writer, e->rec);
	kind = p->kind; /* it forks and execs once, in the segment where that happened */
	p->kind = TAPIR_PROCESS_EXISTING;
	err = tapir_writer__put(c->writer, e->rec);
	p->kind = kind;
	return err;
}

static void free_set(struct tapir_catalog *c, struct tapir_ordset *set)
{
	while (set->root) {
		struct tapir_ordset_node *node = set->root;

		tapir_ordset__remove(set, node);
		tapir_catalog__free_entry(c, (struct entry *)node);
	}
}

void tapir_catalog__free_file(struct tapir_catalog *c, struct file *f)
{
	if (!f)
		return;
	free_set(c, &f->symbols);
	c->bytes -= sizeof(*f) + TAPIR_CATALOG_OVERHEAD_BYTES;
	free(f);
}

void tapir_catalog__free_process(struct tapir_catalog *c, struct process *p)
{
	if (!p)
		return;
	tapir_catalog__free_chain(c, p->newest);
	tapir_catalog__free_chain(c, p->resource);
	free_set(c, &p->mappings);
	free_set(c, &p->jits);
	free_set(c, &p->inlined);
	tapir_vec__fini(&p->lives);
	c->bytes -= sizeof(*p) + TAPIR_CATALOG_OVERHEAD_BYTES;
	free(p);
}
