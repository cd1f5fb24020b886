// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exceptions of runtimes that have no event of one: the share of the CPU in functions that lore/
 * knows as the work of throwing.
 */
#include "diagnose/finding_impl.h"

/* The outermost function of throwing, whose caller throws; 0: none. */
uint32_t tapir_finding_throws__of(struct tapir_finding *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t found = 0;

	for (uint32_t n = node < tree->nodes.cnt ? node : 0; n; n = tree->nodes.data[n].parent)
		if (tapir_node_facts__marks(f, n) & TAPIR_MARK_THROWS)
			found = n;
	return found;
}

void tapir_finding_throws__samples(struct tapir_finding *f, const struct tapir_node_facts *facts,
				   uint64_t cnt)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t thrown = facts->thrown;

	if (!thrown)
		return;
	f->throws.samples += cnt;
	tapir_weights__add(f, &f->throws.throwers, tapir_finding__own(f, thrown), cnt);
	tapir_weights__add(f, &f->throws.functions, tree->nodes.data[thrown].name, cnt);
}

void tapir_finding_throws__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	TAPIR_JUDGE(f, list, THROWS, .cnt = f->throws.samples, .of = f->cpu.samples,
		    .other = f->exceptions.cnt, .where = &f->throws.throwers,
		    .elsewhere = &f->throws.functions);
}

void tapir_finding_throws__fini(struct tapir_finding *f)
{
	tapir_weights__fini(&f->throws.throwers);
	tapir_weights__fini(&f->throws.functions);
}
