// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An await lasts from TaskWaitBegin, which has the awaiting method's stack, until the runtime
 * continues that task. Of methods that await each other, which all last as long, the innermost one
 * of the program's own counts; it is the first to begin. One that does not end counts where others
 * in its method did: else it is for work that never comes. How many there are at a time is known
 * once the longest of them could have begun in the recording.
 */
#include "diagnose/finding_awaits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view.h"
#include "base/keyed.h"
#include "diagnose/finding_impl.h"
#include "attach/rings/event_budget.h"

#define MAX_BEGUN    (1u << 20)
#define MAX_METHODS  4096u
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

static void note_first(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	bool is_new = false;
	uint64_t *first_ns = tapir_map__put(&f->awaits.first_ns, e->thread->tgid, &is_new);

	if (is_new && first_ns)
		*first_ns = e->now_ns;
}

static struct tapir_await_method *method_of(struct tapir_awaited *a, uint64_t task, uint32_t name)
{
	const struct tapir_await_method made = {.tgid = (uint32_t)(task >> 32), .name = name};
	uint64_t key = tapir_hash__mix(made.tgid, name);

	return tapir_keyed__row(&a->methods, &a->method_by_key, key, MAX_METHODS, made);
}

static void keep(struct tapir_awaited *a, uint64_t task, uint32_t name, uint64_t from_ns,
		 uint64_t until_ns)
{
	struct tapir_await_method *method = method_of(a, task, name);
	struct tapir_await_span span = {.from_ns = from_ns, .until_ns = until_ns};

	if (!method || a->full_ns)
		return;
	span.method = (uint32_t)(method - a->methods.data);
	if (a->spans.cnt == MAX_BEGUN || !tapir_vec__push(&a->spans, span)) {
		a->full_ns = until_ns;
		return;
	}
	method->cnt++;
	method->sum_ns += until_ns - from_ns;
	if (until_ns - from_ns > method->longest_ns)
		method->longest_ns = until_ns - from_ns;
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
	note_first(f, e);
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
		keep(&f->awaits, task, (uint32_t)*name, *began, e->now_ns);
	tapir_map__del(&f->awaits.begun, task);
	tapir_map__del(&f->awaits.names, task);
}

void tapir_finding_awaits__event(struct tapir_finding *f, const struct tapir_finding_event *e)
{
	f->awaits.has_events |=
		e->meaning == TAPIR_MEANS_AWAIT || e->meaning == TAPIR_MEANS_CONTINUED;
	if (e->meaning == TAPIR_MEANS_AWAIT)
		begin(f, e);
	else if (e->meaning == TAPIR_MEANS_CONTINUED)
		end(f, e);
}

/* ---- the list ------------------------------------------------------------------------------- */

static uint64_t number_of(const struct tapir_finding *f, const char *key, uint32_t tgid)
{
	char name[64], digits[32] = "";
	struct tapir_sv value;

	snprintf(name, sizeof(name), "%s%u", key, tgid);
	value = tapir_catalog__meta_value(tapir_timeline__catalog(f->tl), name);
	if (value.len < sizeof(digits))
		memcpy(digits, value.data, value.len);
	return strtoull(digits, NULL, 10);
}

/* Finds the stretch of time in which all of a method's awaits are known. */
static void find_time(const struct tapir_finding *f, struct tapir_await_method *m)
{
	const uint64_t *first_ns = tapir_map__get(&f->awaits.first_ns, m->tgid);
	uint64_t over_ns = number_of(f, TAPIR_BUDGET_META_UNTIL, m->tgid), half_ns;
	uint64_t until_ns = tapir_timeline__stats(f->tl)->last_ns;

	if (f->awaits.full_ns && f->awaits.full_ns < until_ns)
		until_ns = f->awaits.full_ns;
	if (over_ns && over_ns < until_ns)
		until_ns = over_ns;
	m->known_from_ns = first_ns && *first_ns < until_ns ? *first_ns : until_ns;
	half_ns = (until_ns - m->known_from_ns) / 2;
	m->known_from_ns += m->longest_ns < half_ns ? m->longest_ns : half_ns;
	m->known_until_ns = until_ns;
	m->within_ns = 0;
}

static void add_span(struct tapir_await_method *m, uint64_t from_ns, uint64_t until_ns)
{
	from_ns = from_ns > m->known_from_ns ? from_ns : m->known_from_ns;
	until_ns = until_ns < m->known_until_ns ? until_ns : m->known_until_ns;
	m->within_ns += until_ns > from_ns ? until_ns - from_ns : 0;
}

static void add_open(struct tapir_finding *f)
{
	const struct tapir_map *begun = &f->awaits.begun;
	struct tapir_await_method *method;
	const uint64_t *name;

	for (size_t i = 0; i < begun->cap; i++) {
		if (!begun->slots[i].used)
			continue;
		name = tapir_map__get(&f->awaits.names, begun->slots[i].key);
		method = name ? method_of(&f->awaits, begun->slots[i].key, (uint32_t)*name) : NULL;
		if (method && method->cnt)
			add_span(method, begun->slots[i].value, UINT64_MAX);
	}
}

static double at_once(const struct tapir_await_method *m)
{
	uint64_t known_ns = m->known_until_ns - m->known_from_ns;

	return known_ns ? (double)m->within_ns / (double)known_ns : 0;
}

/* The method with most; NULL: there is none. */
static const struct tapir_await_method *worst_of(struct tapir_finding *f)
{
	const struct tapir_await_method *worst = NULL;
	const struct tapir_await_span *span;
	struct tapir_await_method *m;

	tapir_vec_for_each (m, &f->awaits.methods)
		find_time(f, m);
	tapir_vec_for_each (span, &f->awaits.spans)
		add_span(&f->awaits.methods.data[span->method], span->from_ns, span->until_ns);
	add_open(f);
	tapir_vec_for_each (m, &f->awaits.methods)
		worst = !worst || at_once(m) > at_once(worst) ? m : worst;
	return worst;
}

static void add_method(const struct tapir_finding *f, const struct tapir_await_method *m,
		       struct tapir_str *out)
{
	char each[TAPIR_NS_TEXT_BYTES];

	tapir_str__addf(out, "%.1f awaits at a time in ", at_once(m));
	tapir_finding__add_name(f, m->name, out);
	tapir_str__addf(out, ", %s each of %" PRIu64, tapir_ns__text(m->sum_ns / m->cnt, each),
			m->cnt);
}

void tapir_finding_awaits__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	const struct tapir_await_method *worst = worst_of(f);
	const struct tapir_check checks[] = {
		{TAPIR_LIMIT_AWAITS_OF_LOOPS, worst ? at_once(worst) : 0}};
	struct tapir_str text = {};

	if (!worst || !tapir_found_list__admits(list, TAPIR_FOUND_AWAITS, at_once(worst), checks,
						number_of(f, TAPIR_BUDGET_META, worst->tgid) != 0))
		return;
	add_method(f, worst, &text);
	tapir_found_list__add(list, TAPIR_FOUND_AWAITS, at_once(worst),
			      tapir_timeline__stacks(f->tl)->names.data[worst->name], &text, NULL,
			      NULL);
}

void tapir_finding_awaits__add_few(struct tapir_finding *f, struct tapir_str *out)
{
	const struct tapir_await_method *worst = worst_of(f);

	if (!worst || !tapir_found__counts(TAPIR_FOUND_AWAITS, at_once(worst)))
		return;
	tapir_str__adds(out, "; ");
	add_method(f, worst, out);
}

void tapir_finding_awaits__fini(struct tapir_finding *f)
{
	tapir_map__fini(&f->awaits.begun);
	tapir_map__fini(&f->awaits.names);
	tapir_map__fini(&f->awaits.own_by_node);
	tapir_map__fini(&f->awaits.method_by_key);
	tapir_map__fini(&f->awaits.first_ns);
	tapir_vec__fini(&f->awaits.methods);
	tapir_vec__fini(&f->awaits.spans);
}
