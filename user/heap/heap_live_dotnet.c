// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The living samples of .NET: those that were followed, in the snapshot at the end. See
 * heap_live.h.
 */
#include <errno.h>

#include "analyze/app_code.h"
#include "heap/heap_live.h"
#include "symbol/frame_kind.h"

#define FRAMES_MAX 12u

/*
 * Adds a stack from the program's own method outwards; a method that is on it twice in a row is
 * added once.
 */
static void add_dotnet_heap_stack(const struct tapir_stack_tree *tree, uint32_t node,
				  struct tapir_str *out)
{
	const struct tapir_tree_node *nodes = tree->nodes.data;
	uint32_t last = UINT32_MAX;
	unsigned cnt = 0;

	node = node == TAPIR_NO_NODE ? 0 : tapir_app_code__origin(tree, node);
	for (; node && nodes[node].kind == TAPIR_FRAME_JIT; node = nodes[node].parent) {
		if (nodes[node].name == last)
			continue;
		last = nodes[node].name;
		if (cnt++ == FRAMES_MAX) {
			tapir_str__adds(out, " <- ...");
			return;
		}
		if (cnt > 1)
			tapir_str__adds(out, " <- ");
		tapir_str__adds(out, tree->names.data[last]);
	}
}

/* The object of the snapshot that a sample is now, or TAPIR_HEAP_NO_OBJECT. */
static uint32_t object_of(const struct tapir_heap_graph *g, const struct tapir_heap_sample *sample)
{
	uint32_t object = tapir_heap_graph__find(g, sample->va);

	if (object == TAPIR_HEAP_NO_OBJECT ||
	    g->types.data[g->type.data[object]].id != sample->type_id)
		return TAPIR_HEAP_NO_OBJECT;
	return object;
}

int tapir_heap_live__join(struct tapir_heap_live *out, const struct tapir_heap_allocations *a,
			  const struct tapir_heap_snapshot *s)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(a->tl);
	struct tapir_str texts[TAPIR_HEAP_LIVE_TEXTS] = {};
	const struct tapir_heap_sample *sample;

	tapir_vec_for_each (sample, &a->follow.samples) {
		uint32_t object = object_of(&s->graph, sample);
		const char *type;

		/*
		 * The object was followed through each GC by the runtime's reports of what it
		 * moved; where one of these was lost the trail ends.
		 */
		if (object == TAPIR_HEAP_NO_OBJECT) {
			out->left_cnt++;
			continue;
		}
		for (unsigned i = 0; i < TAPIR_HEAP_LIVE_TEXTS; i++)
			tapir_str__clear(&texts[i]);
		type = s->graph.types.data[s->graph.type.data[object]].name;
		tapir_str__adds(&texts[TAPIR_HEAP_LIVE_TYPE], type ? type : "");
		add_dotnet_heap_stack(tree, sample->node, &texts[TAPIR_HEAP_LIVE_STACK]);
		tapir_heap_snapshot__add_path(s, s->paths.of_object[object],
					      &texts[TAPIR_HEAP_LIVE_PATH]);
		tapir_heap_live__count(out, texts, sample->bytes);
	}
	for (unsigned i = 0; i < TAPIR_HEAP_LIVE_TEXTS; i++)
		tapir_str__fini(&texts[i]);
	out->is_uneven = !a->follows_samples;
	out->taken_cnt = a->follow.taken_cnt;
	out->lost_cnt = a->lost_cnt + a->follow.malformed_cnt + a->follow.is_full;
	tapir_heap_live__sort(out);
	return out->failed ? -ENOMEM : 0;
}
