// SPDX-License-Identifier: GPL-2.0-or-later
/* When what a process's addresses mean may change: what begins or ends there, and an exec. */
#include <errno.h>
#include <stdlib.h>

#include "trace/catalog_impl.h"

static int by_time(const void *a, const void *b)
{
	uint64_t x = ((const struct tapir_catalog_time *)a)->ns;
	uint64_t y = ((const struct tapir_catalog_time *)b)->ns;

	return x < y ? -1 : x > y;
}

static bool add(struct tapir_catalog_times *times, uint64_t ns)
{
	return !ns || tapir_vec__push(times, (struct tapir_catalog_time){ns});
}

static bool add_set(struct tapir_catalog_times *times, const struct tapir_ordset *set)
{
	const struct tapir_ordset_node *node = NULL;

	while ((node = tapir_ordset__next(set, node))) {
		const struct entry *e = (const struct entry *)node;
		const struct tapir_rec_jit *jit = (const void *)e->rec;
		uint64_t until_ns = e->rec->type == TAPIR_REC_JIT ? jit->until_ns : e->until_ns;

		if (!add(times, node->time) || !add(times, until_ns))
			return false;
	}
	return true;
}

static bool add_process(struct tapir_catalog_times *times, const struct process *p)
{
	if (!p)
		return true;
	for (const struct entry *e = p->newest; e; e = e->older)
		if (!add(times, e->rec->time_ns))
			return false;
	return add_set(times, &p->mappings) && add_set(times, &p->jits);
}

int tapir_catalog__name_changes(const struct tapir_catalog *c, uint32_t tgid,
				struct tapir_catalog_times *out)
{
	size_t kept = 0;

	if (!add_process(out, tapir_catalog__in(&c->processes, tgid)) ||
	    (tgid && !add_process(out, tapir_catalog__in(&c->processes, 0))))
		return -ENOMEM;
	if (out->cnt)
		qsort(out->data, out->cnt, sizeof(*out->data), by_time);
	for (size_t i = 0; i < out->cnt; i++)
		if (!kept || out->data[kept - 1].ns != out->data[i].ns)
			out->data[kept++] = out->data[i];
	out->cnt = kept;
	return 0;
}

uint64_t tapir_catalog__version(const struct tapir_catalog *c)
{
	return c->version;
}
