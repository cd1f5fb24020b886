// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sinks made of a tree of calls, whose first frame is the name of the process: folded, one stack
 * per line, outermost first, with its count, as stackcollapse-perf.pl writes it and flame graph
 * scripts take it; pprof, the same as a profile of pprof.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/folded_tree.h"
#include "base/clock.h"
#include "base/log.h"
#include "output/render/offcpu_tree.h"
#include "output/render/pprof.h"
#include "output/sink/sink.h"

/* Records of one kind. */
struct folded {
	struct tapir_stack_tree tree;
	struct tapir_folded_tree runs;	/* where runs are folded: all that is in tree */
	struct tapir_pprof_spans spans; /* for pprof alone */
};

struct trees {
	struct folded samples, events;
	struct tapir_offcpu_tree *offcpu; /* adds to events; NULL: not requested */
};

static int begin_trees(struct tapir_export *x)
{
	struct trees *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	x->state = t;
	t->samples.tree.process_frame = t->events.tree.process_frame = TAPIR_PROCESS_FRAME_NAME;
	if (x->of_offcpu)
		t->offcpu = tapir_offcpu_tree__new(&t->events.tree, x->catalog, &x->trace);
	return x->of_offcpu && !t->offcpu ? -ENOMEM : 0;
}

static void folded__fini(struct folded *f)
{
	tapir_stack_tree__fini(&f->tree);
	tapir_folded_tree__fini(&f->runs);
	tapir_pprof_spans__fini(&f->spans);
}

static void free_trees(struct tapir_export *x)
{
	struct trees *t = x->state;

	if (!t)
		return;
	tapir_offcpu_tree__free(t->offcpu);
	folded__fini(&t->samples);
	folded__fini(&t->events);
	free(t);
}

static int fold_record(struct tapir_export *x, const struct tapir_rec *rec, bool has_spans)
{
	struct trees *t = x->state;
	struct folded *f = rec->type == TAPIR_REC_SAMPLE ? &t->samples : &t->events;
	uint32_t node;

	if (t->offcpu)
		return tapir_offcpu_tree__add(t->offcpu, rec, NULL, NULL);
	node = tapir_stack_tree__record_node(&f->tree, x->catalog, rec);
	if (node == UINT32_MAX)
		return 0;
	tapir_stack_tree__count(&f->tree, node, 1);
	if (has_spans && x->folds)
		node = tapir_folded_tree__node(&f->runs, &f->tree, node, NULL);
	if (has_spans)
		tapir_pprof_spans__add(&f->spans, node, tapir_rec__trace_ids(rec));
	return 0;
}

/*
 * Samples, or events where there are none, and their tree as it is written. -ENOMEM: they are not
 * complete.
 */
static int finish_trees(struct tapir_export *x, struct folded **out, struct tapir_stack_tree **tree)
{
	struct trees *t = x->state;
	int err = t->offcpu ? tapir_offcpu_tree__finish(t->offcpu) : 0;

	*out = t->samples.tree.nodes.cnt ? &t->samples : &t->events;
	*tree = x->folds ? &(*out)->runs.tree : &(*out)->tree;
	if (x->folds)
		tapir_folded_tree__add(&(*out)->runs, &(*out)->tree);
	tapir_stack_tree__sort(*tree);
	if (!err && ((*tree)->failed || t->samples.tree.failed || t->events.tree.failed ||
		     t->samples.spans.rows.failed || t->events.spans.rows.failed))
		err = -ENOMEM;
	return err;
}

static void report_omissions(const struct folded *f)
{
	if (f->tree.folded_cnt)
		tapir_warn("%" PRIu64 TAPIR_SINK_FOLDED_TEXT, f->tree.folded_cnt,
			   TAPIR_STACK_TREE_MAX_NODES);
	if (f->spans.rows.more)
		tapir_warn(
			"%" PRIu64
			" samples are written without their span: the limit of %u stacks is reached",
			f->spans.rows.more, TAPIR_PPROF_MAX_SPANS);
}

/* ---- folded ---------------------------------------------------------------------------------- */

/* A name may hold what separates: stackcollapse's readers split at ';' and the last space. */
static void add_tree_node_name(struct tapir_str *out, const struct tapir_stack_tree *tree,
			       uint32_t node)
{
	struct tapir_str name = {};
	size_t at = out->len;

	tapir_stack_tree__add_label(&name, tree, node);
	tapir_str__add_printable(out, name.data ? name.data : "?", name.data ? name.len : 1);
	out->failed |= name.failed;
	tapir_str__fini(&name);
	for (; at < out->len; at++)
		if (out->data[at] == ';')
			out->data[at] = ':';
}

/*
 * path has the callers' names and is as before when this returns. The depth of the recursion is
 * that of a stack, which is bounded.
 */
static int write_node(struct tapir_export *x, const struct tapir_stack_tree *tree, uint32_t idx,
		      struct tapir_str *path)
{
	const struct tapir_tree_node *node = &tree->nodes.data[idx];
	size_t len = path->len;
	int err = 0;

	if (idx != TAPIR_STACK_TREE_ROOT) {
		if (len)
			tapir_str__addc(path, ';');
		add_tree_node_name(path, tree, idx);
	}
	if (tapir_stack_tree__self(tree, idx) && path->len) {
		tapir_str__add(&x->out, path->data, path->len);
		tapir_str__addc(&x->out, ' ');
		tapir_str__addu(&x->out, tapir_stack_tree__self(tree, idx));
		tapir_str__addc(&x->out, '\n');
	}
	for (uint32_t c = node->first_child; c && !err; c = tree->nodes.data[c].next_sibling)
		err = write_node(x, tree, c, path);
	if (!err)
		err = tapir_sink__flush_much(x);
	path->len = len;
	return err;
}

static int add_folded(struct tapir_export *x, const struct tapir_rec *rec)
{
	return fold_record(x, rec, false);
}

static int end_folded(struct tapir_export *x)
{
	struct tapir_str path = {};
	struct tapir_stack_tree *tree;
	struct folded *f;
	int err = finish_trees(x, &f, &tree);

	if (!err && tree->nodes.cnt)
		err = write_node(x, tree, TAPIR_STACK_TREE_ROOT, &path);
	tapir_str__fini(&path);
	if (!err)
		report_omissions(f);
	return err;
}

const struct tapir_sink tapir_sink_folded = {
	.name = "folded",
	.description = "one stack per line with its count, for flame graph scripts",
	.lacks = "times, threads, fields, trace ids, losses",
	.suffix = "folded",
	.content = TAPIR_SINK_IS_TEXT,
	.can_fold = true,
	.begin = begin_trees,
	.add = add_folded,
	.end = end_folded,
	.free = free_trees,
};

/* ---- pprof ----------------------------------------------------------------------------------- */

/* CPU time of a sample; 0: samples are taken on another event. */
static uint64_t period_ns(const struct tapir_catalog *catalog)
{
	uint64_t hz = tapir_catalog__meta_number(catalog, "sample_hz", TAPIR_NS_PER_SEC);

	if (!hz ||
	    !tapir_sample_event__is_clock(tapir_catalog__meta_value(catalog, "sample_event")))
		return 0;
	return TAPIR_NS_PER_SEC / hz;
}

static int add_pprof(struct tapir_export *x, const struct tapir_rec *rec)
{
	return fold_record(x, rec, true);
}

static int end_pprof(struct tapir_export *x)
{
	struct tapir_stack_tree *tree;
	struct folded *f;
	int err = finish_trees(x, &f, &tree);
	bool is_of_samples = f == &((struct trees *)x->state)->samples;
	struct tapir_pprof_opts opts = {.utc_ns = tapir_reader__stats(x->reader)->created_utc_ns,
					.counts = is_of_samples ? "samples" : "events",
					.period_ns = is_of_samples ? period_ns(x->catalog) : 0,
					.lines = x->head.data};

	if (!err)
		err = tapir_pprof__write(tree, &f->spans, &opts, &x->out);
	if (!err)
		report_omissions(f);
	return err;
}

const struct tapir_sink tapir_sink_pprof = {
	.name = "pprof",
	.description = "one count per stack, for go tool pprof",
	.lacks = "times, threads, fields, losses",
	.suffix = "pb.gz",
	.content = TAPIR_SINK_IS_BINARY,
	.has_head = true,
	.can_fold = true,
	.begin = begin_trees,
	.add = add_pprof,
	.end = end_pprof,
	.free = free_trees,
};
