// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A thread runs in an interpreter if a sample has the interpreter's loop on its stack and is in a
 * function of the interpreter's own file: those need the lock. A thread in another file may have
 * released it: it counts only if no thread was seen inside.
 */
#include "diagnose/finding_gil.h"

#include <string.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"
#include "symbol/frame_kind.h"
#include "symbol/unnamed_frames.h"

#define MAX_THREADS 65536u

enum tapir_gil_side tapir_finding_gil__side(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t leaf = node < tree->nodes.cnt ? tapir_stack_tree__user_leaf(tree, node) : 0;
	uint32_t n = leaf;
	const struct tapir_lore_wait *wait;

	while (n && !(tapir_diagnosis__marks(f, n) & TAPIR_MARK_INTERPRETER))
		n = tree->nodes.data[n].parent;
	if (!n) /* most stacks: what they wait for need not be known */
		return TAPIR_GIL_ELSEWHERE;
	wait = tapir_diagnosis__wait_at(f, node);
	if (wait && wait->is_interpreter) /* it is about to wait itself */
		return TAPIR_GIL_ELSEWHERE;
	return tree->nodes.data[leaf].kind == TAPIR_FRAME_NATIVE ? TAPIR_GIL_OUTSIDE
								 : TAPIR_GIL_INSIDE;
}

static struct tapir_gil_thread *gil_thread_of(struct tapir_diagnosis *f, uint32_t tid)
{
	return tapir_keyed__add(&f->gil.threads, tid, MAX_THREADS,
				((struct tapir_gil_thread){.tid = tid}));
}

/* A function of the program, or of the interpreter where that has a symbol for it. */
static uint32_t function_of(struct tapir_diagnosis *f, uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t app = tapir_diagnosis__own(f, node),
		 leaf = tapir_stack_tree__user_leaf(tree, node);

	if (app != TAPIR_APP_CODE_NONE)
		return app;
	return tapir_unnamed_frame__module(tree->names.data[tree->nodes.data[leaf].name]).len
		       ? TAPIR_APP_CODE_NONE
		       : tree->nodes.data[leaf].name;
}

void tapir_finding_gil__sample(struct tapir_diagnosis *f, const struct tapir_tl_thread *t,
			       uint32_t node, const struct tapir_node_facts *facts)
{
	unsigned side = facts->gil_side;
	struct tapir_gil_thread *thread = gil_thread_of(f, t->tid);

	if (!thread)
		return;
	thread->inside += side == TAPIR_GIL_INSIDE;
	thread->outside += side == TAPIR_GIL_OUTSIDE;
	tapir_function_sums__add(f, &thread->functions, function_of(f, node), 1);
}

static uint64_t samples_of(const struct tapir_gil_thread *thread, bool is_inside)
{
	return is_inside ? thread->inside : thread->outside;
}

void tapir_finding_gil__add_holder(struct tapir_diagnosis *f, struct tapir_str *out)
{
	const struct tapir_gil_thread *thread, *top = NULL;
	uint64_t inside = 0, outside = 0, sum;
	struct tapir_sv comm;

	tapir_vec_for_each (thread, &f->gil.threads) {
		inside += thread->inside;
		outside += thread->outside;
	}
	/*
	 * Functions of the interpreter need the lock. If none was sampled, an extension that was
	 * called with the lock held may be what keeps it.
	 */
	sum = inside ? inside : outside;
	tapir_vec_for_each (thread, &f->gil.threads)
		if (!top || samples_of(thread, inside) > samples_of(top, inside))
			top = thread;
	if (!top || sum < TAPIR_LIMIT(HOLDER_SAMPLES))
		return;
	if (!TAPIR_IS_SHARE(ONE_HOLDS_IT, samples_of(top, inside), sum)) {
		tapir_str__addf(out, "; %zu threads take turns in the interpreter",
				f->gil.threads.cnt);
		return;
	}
	comm = tapir_timeline__comm(f->tl, top->tid, tapir_timeline__stats(f->tl)->last_ns);
	tapir_str__addf(out, "; thread %u (", top->tid);
	tapir_str__add_printable(out, comm.data, comm.len);
	tapir_str__adds(out, ") holds it: ");
	tapir_rules__add_share((double)samples_of(top, inside), (double)sum, out);
	tapir_str__adds(out, " of the interpreter's CPU time");
	if (!tapir_finding_interp_hotspots__append_of_thread(f, top->tid, ", ", out))
		tapir_diagnosis__append_top_function(f, &top->functions, ", most in ", out);
}

void tapir_finding_gil__fini(struct tapir_diagnosis *f)
{
	struct tapir_gil_thread *thread;

	tapir_vec_for_each (thread, &f->gil.threads)
		tapir_function_sums__fini(&thread->functions);
	tapir_keyed__fini(&f->gil.threads);
}
