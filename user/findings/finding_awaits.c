// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An await lasts from TaskWaitBegin, which has the awaiting method's stack, until the runtime
 * continues that task. Of methods that await each other, which all last as long, the innermost one
 * of the program's own counts; it is the first to begin. One that the edges of the recording cut is
 * left out, as one for work that never comes is.
 */
#include "findings/finding_awaits.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/view.h"
#include "findings/finding_impl.h"

#define MAX_BEGUN    (1u << 20)
#define ASYNCHRONOUS 2 /* TaskWaitBegin's Behavior: no thread is blocked */
#define CONTINUES    2 /* TraceSynchronousWorkBegin's Work: of a task that is continued */

static uint64_t task_of(const struct tapir_finding_event *e, const char *field)
{
	uint64_t task = tapir_event_fields__u64(e->fields, field);

	return task ? (uint64_t)e->thread->tgid << 32 | (uint32_t)task : 0;
}

static bool is_async(const char *name)
{
	size_t len = strlen(name);

	return len > 8 && !strcmp(name + len - 8, " (async)");
}

/* The method that awaits is the innermost async one; 0: it is a library's. */
static uint64_t look_for_own(const struct tapir_stack_tree *tree, uint32_t node)
{
	for (; node && node < tree->nodes.cnt; node = tree->nodes.data[node].parent) {
		const struct tapir_tree_node *n = &tree->nodes.data[node];
		const char *name = tree->names.data[n->name];

		if (is_async(name))
			return tapir_own_code__is_own(n, name) ? (uint64_t)n->name + 1 : 0;
	}
	return 0;
}

static uint64_t own_of(struct tapir_finding *f, uint32_t node)
{
	uint64_t *known = tapir_map__get(&f->awaits.own_by_node, (uint64_t)node + 1), own;

	if (known)
		return *known;
	own = look_for_own(tapir_timeline__stacks(f->tl), node);
	known = tapir_map__put(&f->awaits.own_by_node, (uint64_t)node + 1, NULL);
	if (known)
		*known = own;
	return own;
}

static void begin(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	uint64_t task = task_of(e, "ContinueWithTaskID"), own, *began;

	if (!task || tapir_event_fields__u64(e->fields, "Behavior") != ASYNCHRONOUS)
		return;
	own = own_of(f, e->node);
	if (!own || f->awaits.begun.cnt >= MAX_BEGUN ||
	    tapir_map__get(&f->awaits.begun, task_of(e, "TaskID")))
		return;
	began = tapir_map__put(&f->awaits.begun, task, NULL);
	if (began)
		*began = e->now_ns;
	began = tapir_map__put(&f->awaits.names, task, NULL);
	if (began)
		*began = own - 1;
}

static void end(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	uint64_t task = task_of(e, "TaskID"), *began, *name;

	if (!task || tapir_event_fields__u64(e->fields, "Work") != CONTINUES)
		return;
	began = tapir_map__get(&f->awaits.begun, task);
	name = tapir_map__get(&f->awaits.names, task);
	if (!began || !name)
		return;
	if (e->now_ns > *began)
		tapir_found_labels__add(&f->awaits.functions, 1, "", (uint32_t)*name,
					e->now_ns - *began);
	tapir_map__del(&f->awaits.begun, task);
	tapir_map__del(&f->awaits.names, task);
}

void tapir_finding_awaits__event(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	if (e->meaning == TAPIR_MEANS_AWAIT)
		begin(f, e);
	else if (e->meaning == TAPIR_MEANS_CONTINUED)
		end(f, e);
}

void tapir_finding_awaits__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	const struct tapir_found_label *worst = tapir_found_labels__worst(&f->awaits.functions);
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	double at_once = worst && span_ns ? (double)worst->ns / (double)span_ns : 0;
	char each[TAPIR_NS_TEXT_BYTES];
	struct tapir_str text = {};

	if (!tapir_found__counts(TAPIR_FOUND_AWAITS, at_once))
		return;
	tapir_str__addf(&text, "%.1f awaits at a time in ", at_once);
	tapir_finding__add_name(f, worst->name, &text);
	tapir_str__addf(&text, ", %s each of %" PRIu64,
			tapir_ns__text(worst->ns / worst->cnt, each), worst->cnt);
	tapir_found_list__add(list, TAPIR_FOUND_AWAITS, at_once,
			      tapir_timeline__stacks(f->tl)->names.data[worst->name], &text, NULL,
			      NULL);
}

void tapir_finding_awaits__fini(struct tapir_finding *f)
{
	tapir_map__fini(&f->awaits.begun);
	tapir_map__fini(&f->awaits.names);
	tapir_map__fini(&f->awaits.own_by_node);
	tapir_found_labels__fini(&f->awaits.functions);
}
