// SPDX-License-Identifier: GPL-2.0-or-later
/* A stack finds its node when its thread leaves: by the time it is back its names may be gone. */
#include "render/offcpu_tree.h"

#include <stdio.h>
#include <stdlib.h>

#include "threads/own_thread.h"
#include "base/clock.h"

struct tapir_offcpu_tree {
	struct tapir_stack_tree *tree;
	const struct tapir_catalog *catalog;
	struct tapir_offcpu *offcpu;
};

static uint64_t on_out(void *ctx, const struct tapir_rec_switch *out)
{
	struct tapir_offcpu_tree *t = ctx;
	struct tapir_stack_ref ref = {
		.tgid = out->out_tgid,
		.time_ns = out->h.time_ns,
		.stack_id = out->out_stack_id,
		.kstack_id = out->out_kstack_id,
	};
	char leaf[32];

	if (tapir_own_thread__has_stack(t->catalog, ref.tgid, ref.time_ns, ref.stack_id))
		return UINT64_MAX;
	snprintf(leaf, sizeof(leaf), "[%s]", tapir_switch__state_name(out));
	return tapir_stack_tree__find(t->tree, t->catalog, &ref, leaf);
}

static void on_span(void *ctx, const struct tapir_offcpu_span *span)
{
	const struct tapir_offcpu_tree *t = ctx;

	if (span->token < t->tree->nodes.cnt)
		t->tree->nodes.data[span->token].self += span->until_ns - span->from_ns;
}

struct tapir_offcpu_tree *tapir_offcpu_tree__new(struct tapir_stack_tree *tree,
						 const struct tapir_catalog *catalog)
{
	static const struct tapir_offcpu_fns fns = {on_out, on_span};
	struct tapir_offcpu_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tree = tree;
	t->catalog = catalog;
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

/* A side that is not wanted is as one that is nobody's. */
int tapir_offcpu_tree__add(struct tapir_offcpu_tree *t, const struct tapir_rec *rec,
			   bool (*is_wanted)(void *ctx, uint32_t tgid), void *ctx)
{
	struct tapir_rec_switch wanted;

	if (rec->type != TAPIR_REC_SWITCH)
		return 0;
	wanted = *(const struct tapir_rec_switch *)rec;
	if (is_wanted && !is_wanted(ctx, wanted.out_tgid))
		wanted.out_tid = 0;
	if (is_wanted && !is_wanted(ctx, wanted.in_tgid))
		wanted.in_tid = 0;
	return tapir_offcpu__add(t->offcpu, &wanted);
}

int tapir_offcpu_tree__finish(struct tapir_offcpu_tree *t)
{
	struct tapir_tree_node *node;
	int err = tapir_offcpu__finish(t->offcpu);

	tapir_vec_for_each (node, &t->tree->nodes)
		node->self = (node->self + TAPIR_NS_PER_US / 2) / TAPIR_NS_PER_US;
	return err;
}
