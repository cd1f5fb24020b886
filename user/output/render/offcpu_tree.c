// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stack finds its node when its thread leaves the CPU: by the time it is back, a segment later,
 * its names may be forgotten.
 */
#include "output/render/offcpu_tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze/thread_of_tapir.h"
#include "base/clock.h"

struct tapir_offcpu_tree {
	struct tapir_stack_tree *tree;
	const struct tapir_catalog *catalog;
	const struct tapir_trace_filter *trace;
	struct tapir_offcpu *offcpu;
};

uint32_t tapir_offcpu_tree__node(struct tapir_stack_tree *tree, const struct tapir_catalog *catalog,
				 const struct tapir_rec_switch *out)
{
	struct tapir_stack_ref ref = {
		.tgid = out->out_tgid,
		.time_ns = out->h.time_ns,
		.stack_id = out->out_stack_id,
		.kstack_id = out->out_kstack_id,
	};
	char leaf[32];

	/* Waits of tapir's own threads in the process are not the program's. */
	if (tapir_thread_of_tapir__has_stack(catalog, ref.tgid, ref.time_ns, ref.stack_id))
		return UINT32_MAX;
	snprintf(leaf, sizeof(leaf), "[%s]", tapir_switch__state_name(out));
	return tapir_stack_tree__find(tree, catalog, &ref, leaf);
}

static uint64_t on_out(void *ctx, const struct tapir_rec_switch *out,
		       const struct tapir_trace_ids *ids)
{
	const struct tapir_offcpu_tree *t = ctx;

	if (!tapir_trace_filter__is(t->trace, ids))
		return UINT64_MAX;
	return tapir_offcpu_tree__node(t->tree, t->catalog, out);
}

static void on_span(void *ctx, const struct tapir_offcpu_span *span)
{
	const struct tapir_offcpu_tree *t = ctx;

	if (span->token < t->tree->nodes.cnt)
		tapir_stack_tree__count(t->tree, (uint32_t)span->token,
					span->until_ns - span->from_ns);
}

struct tapir_offcpu_tree *tapir_offcpu_tree__new(struct tapir_stack_tree *tree,
						 const struct tapir_catalog *catalog,
						 const struct tapir_trace_filter *trace)
{
	static const struct tapir_offcpu_fns fns = {on_out, on_span};
	struct tapir_offcpu_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tree = tree;
	t->catalog = catalog;
	t->trace = trace;
	t->offcpu = tapir_offcpu__new(&fns, t);
	if (!t->offcpu) {
		free(t);
		return NULL;
	}
	return t;
}

void tapir_offcpu_tree__free(struct tapir_offcpu_tree *t)
{
	if (!t)
		return;
	tapir_offcpu__free(t->offcpu);
	free(t);
}

int tapir_offcpu_tree__add(struct tapir_offcpu_tree *t, const struct tapir_rec *rec,
			   bool (*is_wanted)(void *ctx, uint32_t tgid), void *ctx)
{
	return tapir_offcpu__add(t->offcpu, rec, is_wanted, ctx);
}

int tapir_offcpu_tree__finish(struct tapir_offcpu_tree *t)
{
	struct tapir_tree_sums *sums;
	int err = tapir_offcpu__finish(t->offcpu);

	tapir_vec_for_each (sums, &t->tree->sums)
		sums->self = (sums->self + TAPIR_NS_PER_US / 2) / TAPIR_NS_PER_US;
	return err;
}
