// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits for a disk or for another end of a connection, from a function of the program's own: a
 * thread of a library that waits for work to come is no finding. Interpreted functions of a JVM
 * have no names: those may be the program's own.
 */
#include <string.h>

#include "findings/finding_impl.h"
#include "analyze/view.h"

static bool is_dependency(const char *reason)
{
	static const char *const reasons[] = {"socket", "disk", "pipe", "file lock", "full queue"};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(reason, reasons[i]))
			return true;
	return false;
}

void tapir_finding_waits__wait(struct tapir_finding *f, const struct tapir_wait *w, bool is_cut)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint64_t took_ns = w->wake_ns - w->from_ns;
	struct tapir_str name = {};
	const char *reason;
	bool has_own;

	/* One that began before the recording is as likely a thread that waits for work. */
	if (!w->state || w->flags & TAPIR_SWITCH_SNAPSHOT)
		return;
	reason = tapir_wait_reasons__of(&f->reasons, tree, w->node);
	if (!reason || !is_dependency(reason))
		return;
	has_own = tapir_own_code__of(&f->own, tree, w->node) != TAPIR_OWN_CODE_NONE;
	if (!has_own && (is_cut || !tapir_own_code__is_unnamed(tree, w->node)))
		return;
	if (!has_own)
		tapir_finding__add_thread(f, w->thread->tid, &name);
	tapir_found_labels__add(&f->waits.threads, 1, name.data ? name.data : "",
				TAPIR_OWN_CODE_NONE, took_ns);
	tapir_str__fini(&name);
	f->waits.ns += took_ns;
	tapir_found_labels__add(&f->waits.reasons, 1, reason, TAPIR_OWN_CODE_NONE, took_ns);
	tapir_finding__weigh(f, &f->waits.callers, w->node, took_ns);
}

void tapir_finding_waits__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	const struct tapir_found_label *worst = tapir_found_labels__worst(&f->waits.reasons);
	const struct tapir_found_label *thread = tapir_found_labels__worst(&f->waits.threads);
	double threads = span_ns ? (double)f->waits.ns / (double)span_ns : 0;
	struct tapir_str text = {};
	char waited[TAPIR_NS_TEXT_BYTES];

	if (!worst || !tapir_found__counts(TAPIR_FOUND_WAITS, threads))
		return;
	tapir_str__addf(&text, "threads waited %s for a %s", tapir_ns__text(f->waits.ns, waited),
			worst->label);
	tapir_finding__add_most(f, &f->waits.callers, " in ", &text);
	if (thread && *thread->label)
		tapir_str__addf(&text, ", most of them %s", thread->label);
	tapir_found_list__add(list, TAPIR_FOUND_WAITS, threads,
			      tapir_finding__most(f, &f->waits.callers), &text, NULL, NULL);
}

void tapir_finding_waits__fini(struct tapir_finding *f)
{
	tapir_found_labels__fini(&f->waits.reasons);
	tapir_found_labels__fini(&f->waits.threads);
	tapir_weights__fini(&f->waits.callers);
}
