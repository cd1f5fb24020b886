// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See finding_cpu_activity.h. Samples are summed by activity and statement while the file is read;
 * findings about processes, connections and threads that are started again and again count events
 * and waits, and name the function that starts them.
 */
#include "base/keyed.h"
#include "diagnose/finding_cpu_activity.h"

#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"
#include "spec/runtime_db/lore.h"

#define MAX_PROCESSES 65536u
#define MAX_SUMS      4096u

/* ---- what for ------------------------------------------------------------------------------- */

/*
 * The activity of any function on the stack, up to the program's own: what its caller does is
 * separate, as in code that continues where a connection was opened.
 */
const struct tapir_lore_activity *tapir_finding_cpu_activity__of(struct tapir_diagnosis *f,
								 uint32_t node)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);

	for (uint32_t n = node < tree->nodes.cnt ? node : 0; n; n = tree->nodes.data[n].parent) {
		const char *name = tree->names.data[tree->nodes.data[n].name];

		if (tapir_app_code__is_app(&tree->nodes.data[n], name))
			return NULL;
		if (tapir_diagnosis__marks(f, n) & TAPIR_MARK_ACTIVITY)
			return tapir_name_mark__activity(name);
	}
	return NULL;
}

static struct tapir_cpu_activity_sum *activity_sum(struct tapir_diagnosis *f,
						   const struct tapir_lore_activity *activity,
						   const struct tapir_str *statement)
{
	uint64_t key = tapir_hash__bytes((uintptr_t)activity->label,
					 statement->data ? statement->data : "", statement->len);
	const size_t cnt = f->cpu_activities.sums.cnt;
	struct tapir_cpu_activity_sum *sum =
		tapir_keyed__add(&f->cpu_activities.sums, key, MAX_SUMS,
				 ((struct tapir_cpu_activity_sum){.activity = activity}));

	if (f->cpu_activities.sums.cnt > cnt && statement->len)
		sum->statement = strdup(statement->data);
	return sum;
}

void tapir_finding_cpu_activity__sample(struct tapir_diagnosis *f, uint32_t tid, uint32_t node,
					const struct tapir_node_facts *facts)
{
	const struct tapir_lore_activity *activity = facts->activity;
	struct tapir_str statement = {};
	struct tapir_cpu_activity_sum *sum;
	uint32_t app;

	if (tapir_finding_cpu_activity__statement(f, tid, &statement))
		tapir_label_sums__add(&f->cpu_activities.statements, 1, statement.data,
				      TAPIR_APP_CODE_NONE, 1);
	sum = activity ? activity_sum(f, activity, &statement) : NULL;
	tapir_str__fini(&statement);
	if (!sum)
		return;
	sum->cnt++;
	app = tapir_diagnosis__own(f, node);
	tapir_function_sums__add(f, &f->cpu_activities.callers, app, 1);
	if (!strcmp(activity->label, TAPIR_CPU_ACTIVITY_STARTS_PROCESSES))
		tapir_function_sums__add(f, &f->cpu_activities.starters, app, 1);
	if (!strcmp(activity->label, TAPIR_CPU_ACTIVITY_CONNECTS))
		tapir_function_sums__add(f, &f->cpu_activities.connecting, app, 1);
}

static bool is_for_same(const struct tapir_cpu_activity_sum *a,
			const struct tapir_cpu_activity_sum *b)
{
	return !strcmp(a->statement ? a->statement : "", b->statement ? b->statement : "");
}

/* The activity that produces these rows: even a tiny part of the time shows it. NULL: not known. */
static const struct tapir_lore_activity *source_of(const struct tapir_diagnosis *f,
						   const struct tapir_cpu_activity_sum *with_rows)
{
	const struct tapir_cpu_activity_sum *sum, *top = NULL;

	tapir_vec_for_each (sum, &f->cpu_activities.sums)
		if (sum->activity->gives_rows && is_for_same(sum, with_rows) &&
		    (!top || sum->cnt > top->cnt))
			top = sum;
	return top && top->cnt * TAPIR_LIMIT(ROWS_SHARE) >= with_rows->cnt ? top->activity : NULL;
}

/* Sums samples by activity, and by the statements that cause most of them. */
static void sum_up(const struct tapir_diagnosis *f, struct tapir_label_sums *labels,
		   struct tapir_label_sums *statements, const char *label)
{
	const struct tapir_cpu_activity_sum *sum;

	tapir_vec_for_each (sum, &f->cpu_activities.sums) {
		bool is_with_rows = !strcmp(sum->activity->label, TAPIR_CPU_ACTIVITY_WITH_ROWS);
		const struct tapir_lore_activity *activity =
			is_with_rows ? source_of(f, sum) : sum->activity;

		if (activity && labels)
			tapir_label_sums__add(labels, 1, activity->label, TAPIR_APP_CODE_NONE,
					      sum->cnt);
		if (activity && statements && sum->statement &&
		    tapir_finding_cpu_activity__is_confirmed(f, sum->statement) &&
		    !strcmp(activity->label, label))
			tapir_label_sums__add(statements, 1, sum->statement, TAPIR_APP_CODE_NONE,
					      sum->cnt);
	}
}

struct purpose {
	struct tapir_label_sums labels;
	const struct tapir_label_sum *top; /* NULL: there is none */
	double share, cost;		   /* of the CPU; what that is worth of a CPU less used */
};

static struct purpose purpose_of(const struct tapir_diagnosis *f)
{
	double cpus = tapir_diagnosis__wanted_cpus(f);
	struct purpose p = {};

	sum_up(f, &p.labels, NULL, NULL);
	p.top = tapir_label_sums__largest(&p.labels);
	p.share = p.top ? tapir_diagnosis__percent(p.top->ns, f->cpu.samples) : 0;
	p.cost = p.share * (cpus >= 0 && cpus < 1 ? cpus : 1);
	return p;
}

void tapir_finding_cpu_activity__conclude(struct tapir_diagnosis *f)
{
	struct purpose p = purpose_of(f);
	struct tapir_label_sums statements = {};

	if (p.top && p.top->ns >= TAPIR_LIMIT(SAMPLES) &&
	    tapir_finding__exceeds_threshold(TAPIR_FINDING_CPU_ACTIVITY, p.cost))
		sum_up(f, NULL, &statements, p.top->label);
	f->cpu_activities.names_statements = statements.rows.cnt;
	tapir_label_sums__fini(&p.labels);
	tapir_label_sums__fini(&statements);
}

static void emit_purpose(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct purpose p = purpose_of(f);
	struct tapir_label_sums statements = {};
	struct tapir_str top = {};

	if (p.top)
		sum_up(f, NULL, &statements, p.top->label);
	tapir_label_sums__append_dominant(&statements, p.top ? p.top->ns : 0, &top);
	TAPIR_JUDGE(f, list, PURPOSE, .cnt = p.top ? (double)p.top->ns : 0, .of = f->cpu.samples,
		    .label = p.top ? p.top->label : NULL, .subject = p.top ? p.top->label : NULL,
		    .where = &f->cpu_activities.callers, .request = top);
	tapir_label_sums__fini(&p.labels);
	tapir_label_sums__fini(&statements);
}

/* "98% of the CPU for select ..., " */
void tapir_finding_cpu_activity__add_share(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	const struct tapir_label_sum *worst =
		tapir_label_sums__largest(&f->cpu_activities.statements);
	double share = worst ? tapir_diagnosis__percent(worst->ns, f->cpu.samples) : 0;

	if (share >= TAPIR_LIMIT(DOMINANT) && !f->cpu_activities.names_statements &&
	    tapir_finding_cpu_activity__is_confirmed(f, worst->label)) {
		tapir_rules__add_share((double)worst->ns, (double)f->cpu.samples, out);
		tapir_str__addf(out, " of the CPU for %s, ", worst->label);
	}
}

/* ---- processes ------------------------------------------------------------------------------ */

void tapir_finding_cpu_activity__process(struct tapir_diagnosis *f, uint32_t tgid)
{
	if (f->cpu_activities.tgids.cnt < MAX_PROCESSES)
		tapir_map__put(&f->cpu_activities.tgids, tgid, NULL);
}

/* Children that run other programs are in no recording of their parent alone. */
void tapir_finding_cpu_activity__wait(struct tapir_diagnosis *f, const struct tapir_wait *wait)
{
	const char *reason = tapir_diagnosis__reason(f, wait);

	if (reason && !strcmp(reason, "start of a process")) {
		f->cpu_activities.child_cnt++;
		tapir_diagnosis__add_stack(f, &f->cpu_activities.parents, wait->node, 1);
	} else if (reason && !strcmp(reason, TAPIR_REASON_THREAD_START)) {
		tapir_diagnosis__add_stack(f, &f->cpu_activities.thread_starters, wait->node, 1);
		tapir_diagnosis__add_app_stack(f, &f->cpu_activities.app_thread_starters,
					       wait->node, 1);
	}
}

/*
 * If the stack of the wait has no callers, the stacks that use CPU time for it name the function.
 */
static const struct tapir_function_sums *
conclusive_sums(const struct tapir_diagnosis *f, const struct tapir_function_sums *by_waits,
		const struct tapir_function_sums *by_samples)
{
	return tapir_diagnosis__top_function(f, by_waits) ? by_waits : by_samples;
}

void tapir_finding_cpu_activity__event(struct tapir_diagnosis *f,
				       const struct tapir_diagnosis_event *e)
{
	if (e->event_kind != TAPIR_DIAGNOSIS_EVENT_CONNECTS)
		return;
	f->cpu_activities.connect_cnt++;
	tapir_diagnosis__add_app_stack(f, &f->cpu_activities.connectors, e->node, 1);
}

/* The number of processes with events that were started in the recording. */
static uint64_t started_cnt(const struct tapir_diagnosis *f)
{
	const struct tapir_catalog *catalog = tapir_timeline__catalog(f->tl);
	const struct tapir_timeline_stats *stats = tapir_timeline__stats(f->tl);
	const struct tapir_map *tgids = &f->cpu_activities.tgids;
	uint64_t cnt = 0;

	for (size_t i = 0; i < tgids->cap; i++) {
		const struct tapir_rec_thread *rec =
			tgids->slots[i].used
				? tapir_catalog__thread(catalog, (uint32_t)tgids->slots[i].key,
							stats->last_ns)
				: NULL;

		cnt += rec && rec->start_ns > stats->first_ns;
	}
	return cnt;
}

/* A ring, which a runtime writes, does not say when a thread began: an earlier record does. */
static const struct tapir_rec_thread *with_start(const struct tapir_diagnosis *f, uint32_t tid)
{
	const struct tapir_catalog *catalog = tapir_timeline__catalog(f->tl);
	uint64_t at_ns = tapir_timeline__stats(f->tl)->last_ns;
	const struct tapir_rec_thread *rec = tapir_catalog__thread(catalog, tid, at_ns);

	while (rec && !rec->start_ns && rec->h.time_ns && rec->h.time_ns <= at_ns) {
		at_ns = rec->h.time_ns - 1;
		rec = tapir_catalog__thread(catalog, tid, at_ns);
	}
	return rec;
}

/* Returns true if the thread began in the recording, and is not its process's first. */
static bool is_started(const struct tapir_diagnosis *f, uint32_t tid)
{
	const struct tapir_rec_thread *rec = with_start(f, tid);

	return rec && rec->tgid != rec->tid &&
	       rec->start_ns > tapir_timeline__stats(f->tl)->first_ns;
}

static bool is_of_new_process(const struct tapir_diagnosis *f, uint32_t tgid)
{
	const struct tapir_rec_thread *first = with_start(f, tgid);

	return first && first->start_ns > tapir_timeline__stats(f->tl)->first_ns;
}

void tapir_finding_cpu_activity__snapshot(struct tapir_diagnosis *f,
					  const struct tapir_rec_switch *rec, uint32_t node)
{
	uint32_t tid = rec->out_tid ? rec->out_tid : rec->in_tid;

	if (!(rec->flags & TAPIR_SWITCH_AT_END)) {
		if (!f->cpu_activities.first_thread_cnt++)
			f->cpu_activities.first_thread_ns = rec->h.time_ns;
		return;
	}
	if (is_of_new_process(f, rec->out_tid ? rec->out_tgid : rec->in_tgid))
		return;
	if (!f->cpu_activities.last_thread_cnt++)
		f->cpu_activities.last_thread_ns = rec->h.time_ns;
	if (is_started(f, tid))
		tapir_diagnosis__add_stack(f, &f->cpu_activities.new_threads, node, 1);
}

/* A thread for each task costs more than the threads of a pool. */
static void emit_threads(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_function_sums *starters = &f->cpu_activities.thread_starters,
					 *app = &f->cpu_activities.app_thread_starters;
	struct tapir_label_sums names = {};
	const struct tapir_label_sum *top;
	uint64_t cnt = 0;

	for (size_t i = 0; i < f->role_by_tid.cap; i++) {
		uint32_t tid = (uint32_t)f->role_by_tid.slots[i].key;

		if (!f->role_by_tid.slots[i].used || !is_started(f, tid))
			continue;
		cnt++;
		tapir_diagnosis__count_thread(f, &names, tid, 1);
	}
	/* A name that most of them share is the pool or the task that starts them. */
	top = tapir_label_sums__dominant(&names, cnt);
	/* Threads of a library start more of them: what the program does counts, if not most. */
	if (!tapir_diagnosis__top_function(f, app) || app->top_name == starters->top_name)
		app = NULL;
	TAPIR_JUDGE(f, list, THREADS_STARTED, .cnt = cnt,
		    .percent = app ? tapir_diagnosis__percent(app->top, app->sum) : 0,
		    .subject = app ? tapir_diagnosis__top_function(f, app)
			       : tapir_diagnosis__top_function(f, starters) ? NULL
			       : top					    ? top->label
									    : NULL,
		    .where = starters, .elsewhere = app, .label = top ? top->label : NULL);
	tapir_label_sums__fini(&names);
}

void tapir_finding_cpu_activity__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_cpu_activities *d = &f->cpu_activities;
	uint64_t first = d->first_thread_cnt, last = d->last_thread_cnt;
	const struct tapir_rule_fact facts[] = {
		TAPIR_FACT(PROCESSES, .cnt = started_cnt(f)),
		TAPIR_FACT(CHILDREN, .cnt = d->child_cnt,
			   .seconds = tapir_timeline__switched_ns(f->tl) / 1e9,
			   .where = conclusive_sums(f, &d->parents, &d->starters)),
		/*
		 * A connection of an HttpClient is opened by a thread of the pool: the CPU time for
		 * it shows the function that created the client.
		 */
		TAPIR_FACT(CONNECTIONS, .cnt = d->connect_cnt,
			   .where = conclusive_sums(f, &d->connectors, &d->connecting)),
		TAPIR_FACT(THREADS_LEFT, .cnt = first && last > first ? (double)(last - first) : 0,
			   .from = first, .to = last, .since_ns = d->first_thread_ns,
			   .until_ns = d->last_thread_ns,
			   .seconds =
				   ((double)d->last_thread_ns - (double)d->first_thread_ns) / 1e9,
			   .where = &d->new_threads)};

	emit_purpose(f, list);
	emit_threads(f, list);
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		tapir_rules__judge(f, list, facts[i]);
}

void tapir_finding_cpu_activity__fini(struct tapir_diagnosis *f)
{
	struct tapir_cpu_activity_sum *sum;
	struct tapir_open_statement *begun;

	tapir_map__fini(&f->cpu_activities.tgids);
	tapir_vec_for_each (begun, &f->cpu_activities.begun)
		free(begun->text);
	tapir_keyed__fini(&f->cpu_activities.begun);
	tapir_function_sums__fini(&f->cpu_activities.callers);
	tapir_function_sums__fini(&f->cpu_activities.parents);
	tapir_function_sums__fini(&f->cpu_activities.starters);
	tapir_function_sums__fini(&f->cpu_activities.connectors);
	tapir_function_sums__fini(&f->cpu_activities.connecting);
	tapir_function_sums__fini(&f->cpu_activities.thread_starters);
	tapir_function_sums__fini(&f->cpu_activities.app_thread_starters);
	tapir_function_sums__fini(&f->cpu_activities.new_threads);
	tapir_vec_for_each (sum, &f->cpu_activities.sums)
		free(sum->statement);
	tapir_keyed__fini(&f->cpu_activities.sums);
	tapir_label_sums__fini(&f->cpu_activities.statements);
}
