// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See loop_sync.h. A stack is classified once per node of the tree.
 */
#include "diagnose/loop_sync.h"

#include <string.h>

#include "diagnose/finding_impl.h"
#include "spec/runtime_db/lore.h"

static bool is_sync(const struct tapir_stack_tree *tree, uint32_t node)
{
	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		struct tapir_sv name = tapir_sv__of(tree->names.data[tree->nodes.data[node].name]);

		tapir_lore_for_each (lore)
			if (tapir_sv__starts_with_any(name, lore->loop_sync))
				return true;
	}
	return false;
}

static bool is_known(struct tapir_finding *f, uint32_t node)
{
	bool is_new = false;
	uint64_t *known = tapir_map__put(&f->loops.sync_by_node, node, &is_new);

	if (!known)
		return false;
	if (is_new)
		*known = is_sync(tapir_timeline__stacks(f->tl), node);
	return *known;
}

void tapir_loop_sync__add(struct tapir_finding *f, struct tapir_loop_sync *sync, uint32_t node,
			  uint32_t called, const char *reason, uint64_t ns, uint64_t runnable_ns)
{
	if (!is_known(f, node))
		return;
	sync->ns += ns;
	sync->runnable_ns += runnable_ns;
	tapir_weights__add(f, &sync->called, called, ns);
	tapir_weights__add(f, &sync->own,
			   tapir_own_code__of(&f->own, tapir_timeline__stacks(f->tl), node), ns);
	if (reason && *reason)
		tapir_found_labels__add(&sync->reasons, 1, reason, TAPIR_OWN_CODE_NONE,
					ns - runnable_ns);
}

void tapir_loop_sync__fini(struct tapir_loop_sync *sync)
{
	tapir_weights__fini(&sync->called);
	tapir_weights__fini(&sync->own);
	tapir_found_labels__fini(&sync->reasons);
}
