// SPDX-License-Identifier: GPL-2.0-or-later
/* What the causes have in common: sums by name, who they are told to, and the order of the list. */
#include "findings/finding.h"

#include <stdlib.h>
#include <string.h>

#include "findings/finding_impl.h"
#include "lore/lore.h"

#define MAX_NAMES      65536u
#define MAX_LABELS     4096u
#define MAX_PROBES     65536u
#define MAX_THREADS    65536u
#define MIN_EXCEPTIONS 10 /* fewer make no rate */
#define TELLING_SHARE  10 /* percent: a function with less than that is no explanation */

/* ---- sums ----------------------------------------------------------------------------------- */

void tapir_weights__add(struct tapir_weights *w, uint32_t name, uint64_t weight)
{
	uint64_t *sum;

	w->sum += weight;
	if (name == TAPIR_OWN_CODE_NONE)
		return;
	sum = tapir_map__get(&w->by_name, name);
	if (!sum && w->by_name.cnt < MAX_NAMES)
		sum = tapir_map__put(&w->by_name, name, NULL);
	if (!sum)
		return;
	*sum += weight;
	if (*sum > w->best) {
		w->best = *sum;
		w->best_name = name;
	}
}

void tapir_weights__fini(struct tapir_weights *w)
{
	tapir_map__fini(&w->by_name);
}

void tapir_found_labels__add(struct tapir_found_labels *labels, uint64_t key, const char *label,
			     uint32_t name, uint64_t ns)
{
	uint64_t *idx;
	struct tapir_found_label row = {.name = name};

	key = tapir_hash__bytes(tapir_hash__mix(key, name), label, strlen(label));
	idx = tapir_map__get(&labels->by_key, key);
	if (!idx && labels->rows.cnt < MAX_LABELS) {
		row.label = strdup(label);
		idx = row.label ? tapir_map__put(&labels->by_key, key, NULL) : NULL;
		if (!idx || !tapir_vec__push(&labels->rows, row)) {
			free(row.label);
			return;
		}
		*idx = labels->rows.cnt - 1;
	}
	if (!idx || *idx >= labels->rows.cnt)
		return;
	labels->rows.data[*idx].ns += ns;
	labels->rows.data[*idx].cnt++;
}

const struct tapir_found_label *tapir_found_labels__worst(const struct tapir_found_labels *labels)
{
	const struct tapir_found_label *row, *worst = NULL;

	tapir_vec_for_each (row, &labels->rows)
		if (!worst || row->ns > worst->ns ||
		    (row->ns == worst->ns && row->cnt > worst->cnt))
			worst = row;
	return worst;
}

void tapir_found_labels__fini(struct tapir_found_labels *labels)
{
	struct tapir_found_label *row;

	tapir_vec_for_each (row, &labels->rows)
		free(row->label);
	tapir_vec__fini(&labels->rows);
	tapir_map__fini(&labels->by_key);
}

void tapir_finding__weigh(struct tapir_finding *f, struct tapir_weights *w, uint32_t node,
			  uint64_t weight)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);

	tapir_weights__add(w, tapir_own_code__or_library(&f->own, tree, node), weight);
}

double tapir_finding__percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

const char *tapir_finding__most(const struct tapir_finding *f, const struct tapir_weights *w)
{
	if (!w->best || tapir_finding__percent(w->best, w->sum) < TELLING_SHARE)
		return NULL;
	return tapir_timeline__stacks(f->tl)->names.data[w->best_name];
}

bool tapir_finding__add_most(const struct tapir_finding *f, const struct tapir_weights *w,
			     const char *before, struct tapir_str *out)
{
	const char *name = tapir_finding__most(f, w);

	if (!name)
		return false;
	tapir_str__adds(out, before);
	name = tapir_own_code__without_type(name);
	tapir_str__add_printable(out, name, strlen(name));
	return true;
}

/* "clerk-*": threads of one purpose have a name in common. */
void tapir_finding__add_thread(const struct tapir_finding *f, uint32_t tid, struct tapir_str *out)
{
	struct tapir_sv comm =
		tapir_timeline__comm(f->tl, tid, tapir_timeline__stats(f->tl)->last_ns);
	size_t len = 0;

	while (len < comm.len && (comm.data[len] < '0' || comm.data[len] > '9'))
		len++;
	tapir_str__add_printable(out, comm.data, len);
	if (len < comm.len)
		tapir_str__addc(out, '*');
}

/* ---- what is not the program's own ---------------------------------------------------------- */

static enum tapir_thread_role find_role(struct tapir_sv comm)
{
	tapir_lore_for_each (lore) {
		for (const char *const *name = lore->tracer_threads; name && *name; name++)
			if (tapir_sv__starts_with(comm, *name))
				return TAPIR_ROLE_TRACER;
		if (lore->pool_thread && tapir_sv__starts_with(comm, lore->pool_thread))
			return TAPIR_ROLE_WORKER;
		if (lore->finalizer_thread && tapir_sv__starts_with(comm, lore->finalizer_thread))
			return TAPIR_ROLE_FINALIZER;
	}
	return TAPIR_ROLE_PROGRAM;
}

/*
 * A thread's name is asked for again every second: it may get another one. That of a tracer's is
 * asked for each time: a program that tapir starts has tapir's name until its exec, and what it
 * does then is its own.
 */
enum tapir_thread_role tapir_finding__role(struct tapir_finding *f,
					   const struct tapir_tl_thread *thread, uint64_t time_ns)
{
	uint64_t *known = tapir_map__get(&f->role_by_tid, thread->tid), second = time_ns >> 30;
	enum tapir_thread_role role;

	if (thread->is_ours)
		return TAPIR_ROLE_TRACER;
	if (known && *known >> 8 == second && (*known & 0xff) != TAPIR_ROLE_TRACER)
		return (enum tapir_thread_role)(*known & 0xff);
	role = find_role(tapir_timeline__comm(f->tl, thread->tid, time_ns));
	if (!known && f->role_by_tid.cnt < MAX_THREADS)
		known = tapir_map__put(&f->role_by_tid, thread->tid, NULL);
	if (known)
		*known = second << 8 | role;
	return role;
}

/* ---- events --------------------------------------------------------------------------------- */

static enum tapir_meaning known_meaning(const struct tapir_probe_view *probe)
{
	static const struct {
		const char *event;
		enum tapir_meaning meaning;
	} known[] = {
		{"ContentionStart", TAPIR_MEANS_CONTENTION_BEGIN},
		{"ContentionStop", TAPIR_MEANS_CONTENTION_END},
		{"GCStart", TAPIR_MEANS_GC_START},
		{"GCTriggered", TAPIR_MEANS_GC_TRIGGERED},
		{"GCHeapStats", TAPIR_MEANS_HEAP},
		{"GCFinalizersEnd", TAPIR_MEANS_FINALIZED},
		{"ThreadPoolWorkerThreadWait", TAPIR_MEANS_POOL_IDLE},
		{"ThreadPoolWorkerThreadAdjustmentAdjustment", TAPIR_MEANS_POOL_CHANGE},
		{"ThreadPoolWorkerThreadAdjustment", TAPIR_MEANS_POOL_CHANGE},
		{"MethodLoadVerbose", TAPIR_MEANS_METHOD_LOAD},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (tapir_sv__is(probe->event, known[i].event))
			return known[i].meaning;
	return tapir_sv__starts_with(probe->event, "ThreadPoolWorkerThread") ? TAPIR_MEANS_POOL
									     : TAPIR_MEANS_NOTHING;
}

static bool is_dotnet(const struct tapir_probe_view *probe)
{
	return tapir_sv__is(probe->provider, "Microsoft-Windows-DotNETRuntime");
}

static enum tapir_meaning judge(const struct tapir_probe_view *probe)
{
	const struct tapir_tally_event *event;

	for (size_t i = 0; (event = tapir_lore__tally(TAPIR_TALLY_EXCEPTIONS, i)); i++)
		if (tapir_sv__is(probe->provider, event->provider) &&
		    tapir_sv__is(probe->event, event->event))
			return TAPIR_MEANS_EXCEPTION;
	if (tapir_sv__is(probe->provider, "Microsoft-Diagnostics-DiagnosticSource") &&
	    tapir_sv__is(probe->event, "Activity2Start"))
		return TAPIR_MEANS_REQUEST_SENT;
	return is_dotnet(probe) ? known_meaning(probe) : TAPIR_MEANS_NOTHING;
}

static enum tapir_meaning meaning_of(struct tapir_finding *f, const struct tapir_probe_view *probe)
{
	uint64_t *known = tapir_map__get(&f->meaning_by_probe, probe->rec->probe_id);
	enum tapir_meaning meaning;

	if (known)
		return (enum tapir_meaning) * known;
	meaning = judge(probe);
	f->has_dotnet |= is_dotnet(probe);
	if (f->meaning_by_probe.cnt < MAX_PROBES)
		known = tapir_map__put(&f->meaning_by_probe, probe->rec->probe_id, NULL);
	if (known)
		*known = meaning;
	return meaning;
}

static const struct tapir_tally_event *exception_of(const struct tapir_probe_view *probe)
{
	const struct tapir_tally_event *event = NULL;

	for (size_t i = 0; (event = tapir_lore__tally(TAPIR_TALLY_EXCEPTIONS, i)); i++)
		if (tapir_sv__is(probe->event, event->event) &&
		    tapir_sv__is(probe->provider, event->provider))
			break;
	return event;
}

static void count_exception(struct tapir_finding *f, const struct tapir_probe_view *probe,
			    const struct tapir_finding_event *e)
{
	const struct tapir_tally_event *event = exception_of(probe);
	struct tapir_str type = {};

	if (event)
		tapir_event_fields__add_text(e->fields, event->what, 200, &type);
	f->exceptions.cnt++;
	tapir_found_labels__add(
		&f->exceptions.types, 1, type.data ? type.data : "",
		tapir_own_code__or_library(&f->own, tapir_timeline__stacks(f->tl), e->node), 1);
	tapir_str__fini(&type);
}

static void on_event(void *ctx, struct tapir_tl_thread *t, const struct tapir_probe_view *probe,
		     const struct tapir_event_view *event)
{
	struct tapir_finding *f = ctx;
	const struct tapir_rec_event *rec = event->rec;
	struct tapir_stack_ref ref = {.tgid = t->tgid,
				      .time_ns = rec->h.time_ns,
				      .stack_id = rec->stack_id,
				      .kstack_id = event->kstack_id};
	struct tapir_finding_event e = {
		.meaning = meaning_of(f, probe), .thread = t, .now_ns = rec->h.time_ns};

	tapir_finding_doing__process(f, t->tgid);
	tapir_allocators__add(&f->allocators, f->tl, t, probe, event);
	if (e.meaning == TAPIR_MEANS_NOTHING)
		return;
	e.node = tapir_timeline__node(f->tl, &ref);
	e.fields = tapir_timeline__fields(f->tl, probe, event);
	if (e.meaning == TAPIR_MEANS_EXCEPTION)
		count_exception(f, probe, &e);
	tapir_finding_gc__event(f, &e);
	tapir_finding_locks__event(f, &e);
	tapir_finding_pool__event(f, &e);
	tapir_finding_cpu__event(f, &e);
	tapir_finding_requests__event(f, &e);
}

static void on_sample(void *ctx, struct tapir_tl_thread *t, const struct tapir_rec_sample *sample)
{
	tapir_finding_cpu__sample(ctx, t, sample);
}

static void add_wait(struct tapir_finding *f, const struct tapir_wait *wait, bool is_open)
{
	if (tapir_finding__role(f, wait->thread, wait->until_ns) == TAPIR_ROLE_TRACER)
		return;
	tapir_finding_machine__wait(f, wait);
	if (!tapir_finding_blocked__wait(f, wait, is_open) && !tapir_finding_pool__wait(f, wait) &&
	    !tapir_finding_locks__wait(f, wait, is_open))
		tapir_finding_waits__wait(f, wait, is_open);
}

static void on_wait(void *ctx, const struct tapir_wait *wait)
{
	add_wait(ctx, wait, false);
}

static void on_cut_wait(void *ctx, const struct tapir_wait *wait)
{
	add_wait(ctx, wait, true);
}

static void on_close(void *ctx, struct tapir_interval *i)
{
	struct tapir_finding *f = ctx;

	tapir_finding_locks__close(f, i);
	tapir_finding_blocked__close(f, i);
	tapir_finding_requests__close(f, i);
	tapir_finding_gc__close(f, i);
}

static void on_counter(void *ctx, const struct tapir_rec_counter *counter)
{
	tapir_finding_jvm__counter(ctx, counter);
}

static void on_snapshot(void *ctx, const struct tapir_rec_switch *rec, uint32_t node)
{
	(void)node;
	tapir_finding_locks__snapshot(ctx, rec);
}

static void on_call(void *ctx, const struct tapir_rec *rec)
{
	tapir_finding_locks__call(ctx, rec);
}

const struct tapir_timeline_fns tapir_finding_fns = {.sample = on_sample,
						     .wait = on_wait,
						     .cut_wait = on_cut_wait,
						     .event = on_event,
						     .counter = on_counter,
						     .snapshot = on_snapshot,
						     .call = on_call,
						     .close = on_close};

/* ---- the list ------------------------------------------------------------------------------- */

static void list_exceptions(struct tapir_finding *f, struct tapir_found_list *list)
{
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	const struct tapir_found_label *type = tapir_found_labels__worst(&f->exceptions.types);
	double rate = span_ns ? (double)f->exceptions.cnt * 1e9 / (double)span_ns : 0;
	const char *thrower = type && type->name != TAPIR_OWN_CODE_NONE
				      ? tapir_timeline__stacks(f->tl)->names.data[type->name]
				      : NULL;
	struct tapir_str text = {}, evidence = {};

	if (f->exceptions.cnt < MIN_EXCEPTIONS ||
	    !tapir_found__counts(TAPIR_FOUND_EXCEPTIONS, rate))
		return;
	tapir_str__addf(&text, "%.0f exceptions a second", rate);
	if (type && *type->label) {
		tapir_str__addf(&text, ", %.0f%% of them ",
				tapir_finding__percent(type->cnt, f->exceptions.cnt));
		tapir_str__add_printable(&text, type->label, strlen(type->label));
	}
	if (thrower) {
		tapir_str__adds(&text, ", thrown by ");
		tapir_str__add_printable(&text, thrower, strlen(thrower));
	}
	tapir_str__addf(&evidence, "%llu thrown", (unsigned long long)f->exceptions.cnt);
	tapir_found_list__add(list, TAPIR_FOUND_EXCEPTIONS, rate, thrower, &text, &evidence, NULL);
}

void tapir_finding__list(struct tapir_finding *f, struct tapir_found_list *list)
{
	tapir_finding_gc__list(f, list, !tapir_finding_jvm__list(f, list));
	tapir_finding_locks__list(f, list);
	tapir_finding_blocked__list(f, list);
	tapir_finding_pool__list(f, list);
	list_exceptions(f, list);
	tapir_finding_throws__list(f, list);
	tapir_finding_doing__list(f, list);
	tapir_finding_requests__list(f, list);
	tapir_finding_waits__list(f, list);
	tapir_finding_machine__list(f, list);
	tapir_finding_cpu__list(f, list); /* idle, when there is nothing else: last */
	tapir_found_list__rank(list);
}

void tapir_finding__fini(struct tapir_finding *f)
{
	tapir_finding_gc__fini(f);
	tapir_finding_locks__fini(f);
	tapir_finding_blocked__fini(f);
	tapir_cut_waits__fini(f);
	tapir_finding_jvm__fini(f);
	tapir_finding_throws__fini(f);
	tapir_finding_doing__fini(f);
	tapir_finding_pool__fini(f);
	tapir_finding_cpu__fini(f);
	tapir_finding_requests__fini(f);
	tapir_finding_waits__fini(f);
	tapir_found_labels__fini(&f->exceptions.types);
	tapir_allocators__fini(&f->allocators);
	tapir_works__fini(&f->works);
	tapir_own_code__fini(&f->own);
	tapir_wait_reasons__fini(&f->reasons);
	tapir_map__fini(&f->meaning_by_probe);
	tapir_map__fini(&f->traits_by_node);
	tapir_map__fini(&f->role_by_tid);
}
