// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When what a process's addresses mean may change: what begins or ends there, and an exec. By
 * page, so that a method compiled here does not disturb what is known of a library there; what
 * covers many pages counts for all of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "trace/catalog_impl.h"
#include "base/order.h"

#define PAGES_MAX 64 /* of one change */

static int by_page_and_time(const void *a, const void *b)
{
	const struct tapir_catalog_change *x = a, *y = b;

	return tapir_order__up(x->page, y->page) ?: tapir_order__up(x->ns, y->ns);
}

static bool add_change(struct tapir_catalog_changes *changes, uint64_t page, uint64_t ns)
{
	return !ns || tapir_vec__push(changes, ((struct tapir_catalog_change){page, ns}));
}

/* Something begins or ends at ns in [start_va, end_va). */
static bool add_range(struct tapir_catalog_changes *changes, uint64_t start_va, uint64_t end_va,
		      uint64_t ns)
{
	uint64_t first = start_va / TAPIR_CHANGE_PAGE_BYTES;
	uint64_t last = (end_va > start_va ? end_va - 1 : start_va) / TAPIR_CHANGE_PAGE_BYTES;

	if (last - first >= PAGES_MAX)
		return add_change(changes, TAPIR_CHANGE_ANYWHERE, ns);
	for (uint64_t page = first; page <= last; page++)
		if (!add_change(changes, page, ns))
			return false;
	return true;
}

static bool add_mapping(struct tapir_catalog_changes *changes, const struct entry *e)
{
	const struct tapir_rec_mapping *m = (const void *)e->rec;

	return add_range(changes, m->start_va, m->end_va, e->node.time) &&
	       add_range(changes, m->start_va, m->end_va, e->until_ns);
}

static bool add_jit(struct tapir_catalog_changes *changes, const struct entry *e)
{
	const struct tapir_rec_jit *jit = (const void *)e->rec;
	uint64_t end_va;

	if (__builtin_add_overflow(jit->start_va, jit->size, &end_va))
		end_va = UINT64_MAX;
	return add_range(changes, jit->start_va, end_va, e->node.time) &&
	       add_range(changes, jit->start_va, end_va, jit->until_ns);
}

static bool add_set(struct tapir_catalog_changes *changes, const struct tapir_ordset *set,
		    bool (*add_entry)(struct tapir_catalog_changes *changes, const struct entry *e))
{
	const struct tapir_ordset_node *node = NULL;

	while ((node = tapir_ordset__next(set, node)))
		if (!add_entry(changes, (const struct entry *)node))
			return false;
	return true;
}

static bool add_changed_process(struct tapir_catalog_changes *changes, const struct process *p)
{
	for (const struct entry *e = p->newest; e; e = e->older)
		if (!add_change(changes, TAPIR_CHANGE_ANYWHERE, e->rec->time_ns))
			return false;
	return add_set(changes, &p->mappings, add_mapping) && add_set(changes, &p->jits, add_jit) &&
	       add_set(changes, &p->inlined, add_jit);
}

int tapir_catalog__name_changes(const struct tapir_catalog *c, uint32_t tgid,
				struct tapir_catalog_changes *out)
{
	const struct process *p = tapir_catalog__in(&c->processes, tgid);

	if (p && !add_changed_process(out, p))
		return -ENOMEM;
	if (out->cnt)
		qsort(out->data, out->cnt, sizeof(*out->data), by_page_and_time);
	return 0;
}

uint64_t tapir_catalog__version(const struct tapir_catalog *c)
{
	return c->version;
}
