// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CPU: who used it, compilation, timers, exceptions, or that it was hardly used. tapir's own
 * threads do not count. Attaching makes a .NET runtime compile a few hundred methods: in a process
 * that does little else that is most of the CPU, so shares count only where the CPU was used at
 * all.
 */
#include <string.h>

#include "base/reader_words.h"
#include "diagnose/diagnosis_impl.h"
#include "symbol/frame_kind.h"

/* ---- counting ------------------------------------------------------------------------------- */

/* The function a sample was in. Time in the kernel has many names: it explains nothing. */
static uint32_t leaf_of(const struct tapir_stack_tree *tree, uint32_t node)
{
	const struct tapir_tree_node *nodes = tree->nodes.data;

	return node && node < tree->nodes.cnt && nodes[node].kind != TAPIR_FRAME_KERNEL
		       ? nodes[node].name
		       : TAPIR_APP_CODE_NONE;
}

static void count_kernel(struct tapir_diagnosis *f, const struct tapir_stack_tree *tree,
			 uint32_t node, uint64_t cnt)
{
	const struct tapir_tree_node *nodes = tree->nodes.data;
	uint32_t leaf;

	if (!node || node >= tree->nodes.cnt || nodes[node].kind != TAPIR_FRAME_KERNEL)
		return;
	f->cpu.kernel += cnt;
	leaf = tapir_stack_tree__user_leaf(tree, node);
	tapir_function_sums__add(f, &f->cpu.calls, leaf ? nodes[leaf].name : TAPIR_APP_CODE_NONE,
				 cnt);
}

static void count_throws(struct tapir_diagnosis *f, const struct tapir_node_facts *facts,
			 uint64_t cnt)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);
	uint32_t thrown = facts->thrown;

	if (!thrown)
		return;
	f->exception_cost.samples += cnt;
	tapir_diagnosis__add_app_stack(f, &f->exception_cost.throwers, thrown, cnt);
	tapir_function_sums__add(f, &f->exception_cost.functions, tree->nodes.data[thrown].name,
				 cnt);
}

/* Adds samples of a timer that are within the program's own code: what the timer is for. */
static void count_callback(struct tapir_diagnosis *f, uint32_t node, uint64_t cnt)
{
	uint32_t name = tapir_diagnosis__own(f, node);

	if (name != TAPIR_APP_CODE_NONE)
		tapir_function_sums__add(f, &f->cpu.timer_callbacks, name, cnt);
}

/* Adds samples at a node to the sums by function, of which only the totals are needed. */
static void add_samples(struct tapir_diagnosis *f, const struct tapir_node_facts *facts,
			uint32_t node, uint64_t cnt)
{
	const struct tapir_stack_tree *tree = tapir_timeline__stacks(f->tl);

	if (facts->is_in_timer) {
		f->cpu.timers += cnt;
		tapir_diagnosis__add_stack(f, &f->cpu.timer_app, node, cnt);
		count_callback(f, node, cnt);
	}
	count_throws(f, facts, cnt);
	tapir_function_sums__add_at(f, &f->cpu.app, facts->function, node, cnt);
	tapir_function_sums__add_at(f, &f->cpu.leaf, leaf_of(tree, node), node, cnt);
	count_kernel(f, tree, node, cnt);
}

void tapir_finding_cpu__conclude(struct tapir_diagnosis *f)
{
	struct tapir_node_facts *row;

	tapir_vec_for_each (row, &f->facts.rows) {
		if (row->sample_cnt)
			add_samples(f, row, row->node, row->sample_cnt);
		row->sample_cnt = 0;
	}
}

static void count_compiler(struct tapir_diagnosis *f, uint64_t time_ns)
{
	f->cpu.jit++;
	f->jit.sum_ns += (double)(time_ns - tapir_timeline__stats(f->tl)->first_ns);
}

static void add_finalizer(struct tapir_diagnosis *f, const struct tapir_tl_thread *t,
			  const struct tapir_rec_sample *sample, uint32_t node)
{
	uint32_t app = tapir_diagnosis__own(f, node);

	if (app != TAPIR_APP_CODE_NONE)
		tapir_finding_gc__finalizer(f, t->tgid, app, sample->period);
}

void tapir_finding_cpu__sample(struct tapir_diagnosis *f, struct tapir_tl_thread *t,
			       const struct tapir_rec_sample *sample)
{
	struct tapir_stack_ref ref = {.tgid = sample->tgid,
				      .time_ns = sample->h.time_ns,
				      .stack_id = sample->stack_id,
				      .kstack_id = sample->kstack_id};
	struct tapir_node_facts *facts;
	enum tapir_work work;
	enum tapir_thread_role role = tapir_diagnosis__role(f, t, sample->h.time_ns);
	uint32_t node;

	if (role == TAPIR_ROLE_TRACER)
		return;
	/* The timeline has looked it up for this sample. */
	node = t->last_node_ns == sample->h.time_ns ? t->last_node
						    : tapir_timeline__node(f->tl, &ref);
	facts = tapir_node_facts__of(f, node);
	work = tapir_works__of_thread(f->tl, t, sample->h.time_ns);
	if (work == TAPIR_WORK_CNT)
		work = facts->work;
	f->cpu.samples++;
	f->cpu.ns += sample->period;
	if (sample->h.cpu != TAPIR_CPU_UNKNOWN && sample->h.cpu >= f->cpu.cpu_cnt)
		f->cpu.cpu_cnt = sample->h.cpu + 1u;
	f->cpu.gc += work == TAPIR_WORK_GC;
	if (work == TAPIR_WORK_GC)
		tapir_diagnosis__add_app_stack(f, &f->gc.cpu_callers, node, 1);
	if (work == TAPIR_WORK_JIT)
		count_compiler(f, sample->h.time_ns);
	if (role == TAPIR_ROLE_FINALIZER)
		add_finalizer(f, t, sample, node);
	/* Most recordings are of no event loop. */
	if (f->loops.rows.cnt || !facts->is_outside_loops)
		tapir_finding_loop__sample(f, t, sample, node, facts);
	if (facts->gil_side != TAPIR_GIL_ELSEWHERE)
		tapir_finding_gil__sample(f, t, node, facts);
	tapir_finding_interp_hotspots__sample(f, t->tid);
	if (work == TAPIR_WORK_GC || work == TAPIR_WORK_JIT)
		return;
	tapir_finding_cpu_activity__sample(f, t->tid, node, facts);
	/* Samples are added up per stack at the end; one without a row is added at once. */
	if (facts == &f->facts.spare)
		add_samples(f, facts, node, 1);
	else
		facts->sample_cnt++;
}

void tapir_finding_cpu__event(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e)
{
	if (e->event_kind != TAPIR_DIAGNOSIS_EVENT_METHOD_LOAD)
		return;
	f->jit.cnt++;
	if (tapir_diagnosis__role(f, e->thread, e->now_ns) == TAPIR_ROLE_TRACER)
		return;
	f->jit.again_cnt += tapir_works__of(&f->works, f->tl, e->thread, TAPIR_NO_NODE,
					    e->now_ns) == TAPIR_WORK_JIT;
	tapir_diagnosis__add_stack(f, &f->jit.callers, e->node, 1);
}

/* ---- findings ------------------------------------------------------------------------------- */

/*
 * A program that has just been started compiles less and less, and what is hot once more. It is
 * another thing to generate code all the time.
 */
static bool is_warming_up(const struct tapir_diagnosis *f)
{
	double span_ns = (double)tapir_timeline__span_ns(f->tl);

	return f->jit.sum_ns < TAPIR_LIMIT(JIT_MIDDLE) * span_ns * (double)f->cpu.jit ||
	       tapir_diagnosis__percent(f->jit.again_cnt, f->jit.cnt) >= TAPIR_LIMIT(JIT_AGAIN);
}

void tapir_finding_jit__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	double seconds = (double)tapir_timeline__span_ns(f->tl) / 1e9;
	/*
	 * A compiler that worked for itself, without an event, is not the capacity that is missing,
	 * nor one that will be done: where CPUs are scarce other threads may want them.
	 */
	bool is_warm = !is_warming_up(f),
	     is_busy = is_warm && (double)f->jit.cnt >= TAPIR_LIMIT(JIT_METHODS) * seconds;
	double cpus = is_busy ? tapir_diagnosis__wanted_cpus(f) : tapir_diagnosis__cpus(f);
	double share = tapir_diagnosis__percent(f->cpu.jit, f->cpu.samples);

	TAPIR_JUDGE(f, list, JIT, .cnt = f->cpu.jit, .of = f->cpu.samples, .other = f->jit.cnt,
		    .rate = seconds > 0 ? (double)f->jit.cnt / seconds : 0,
		    .used = cpus < 0 ? 1 : cpus * share / 100,
		    /* A share of a CPU that is hardly wanted costs little, and
		       what ends by itself less. */
		    .percent = share * (cpus >= 0 && cpus < 1 ? cpus : 1) *
			       (is_warm ? 1 : TAPIR_LIMIT(JIT_STARTS) / 100),
		    .where = &f->jit.callers,
		    .note = is_warm ? NULL : "; the program is warming up");
}

void tapir_finding_timers__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_function_sums *callbacks = &f->cpu.timer_callbacks;

	/* Timers may cost more than their callbacks, and only those are the program's. */
	TAPIR_JUDGE(f, list, TIMERS, .cnt = f->cpu.timers, .of = f->cpu.samples,
		    .where = &f->cpu.timer_app,
		    .elsewhere =
			    callbacks->top_name != f->cpu.timer_app.top_name ? callbacks : NULL);
}

/* Exceptions of runtimes that have no event of one. */
void tapir_finding_exception_cost__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	TAPIR_JUDGE(f, list, THROWS, .cnt = f->exception_cost.samples, .of = f->cpu.samples,
		    .other = f->exceptions.cnt, .where = &f->exception_cost.throwers,
		    .elsewhere = &f->exception_cost.functions);
}

/* If CPU time is not what a program waits for, it may wait without a thread. */
static void add_not_recorded(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	const char *text = f->awaits.has_events
				   ? "; requests were not recorded (--profile http)"
				   : "; requests and awaits were not recorded (--profile http, "
				     "--profile async)";
	char words[TAPIR_READER_WORDS_BYTES];

	if (f->has_dotnet && !f->requests.cnt)
		tapir_str__adds(out, tapir_reader_words__of(text, words));
}

/* " (98% in the kernel, most in fsync)": where it is most of the time. */
static void add_kernel(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	double share = tapir_diagnosis__percent(f->cpu.kernel, f->cpu.samples);

	if (share < TAPIR_LIMIT(DOMINANT))
		return;
	tapir_str__adds(out, " (");
	tapir_rules__add_share((double)f->cpu.kernel, (double)f->cpu.samples, out);
	tapir_str__adds(out, " in the kernel");
	tapir_diagnosis__append_top_function(f, &f->cpu.calls, ", most in ", out);
	tapir_str__addc(out, ')');
}

/* " (85% within StubRoutines (1))": what the function calls is not the program's own. */
static void add_leaf(const struct tapir_diagnosis *f, uint32_t name, struct tapir_str *out)
{
	const struct tapir_function_sums *leaf = &f->cpu.leaf;
	double share = tapir_diagnosis__percent(leaf->top, f->cpu.samples);

	if (!leaf->top || share < TAPIR_LIMIT(CPU_LEAF) || leaf->top_name == name)
		return;
	tapir_str__adds(out, " (");
	tapir_rules__add_share((double)leaf->top, (double)f->cpu.samples, out);
	tapir_str__adds(out, " within ");
	tapir_diagnosis__add_name(f, leaf->top_name, out);
	tapir_str__addc(out, ')');
}

/* The name of the function; NULL: none is known. */
static const char *add_cpu_function(struct tapir_diagnosis *f, double share,
				    const struct tapir_function_sums *w, struct tapir_str *out)
{
	if (share >= TAPIR_LIMIT(SIGNIFICANT)) {
		tapir_rules__add_share((double)w->top, (double)f->cpu.samples, out);
		tapir_str__adds(out, " of the CPU in ");
	} else if (share >= TAPIR_LIMIT(SMALL))
		tapir_str__addf(out, "at most %.0f%% of the CPU in any function, most in ", share);
	else if (tapir_diagnosis__percent(f->cpu.kernel, f->cpu.samples) >= TAPIR_LIMIT(DOMINANT))
		tapir_str__adds(out, "most of the CPU in system calls");
	else
		tapir_str__adds(out, "less than 1% of the CPU in any function");
	if (share < TAPIR_LIMIT(SMALL))
		return NULL;
	tapir_diagnosis__add_name(f, w->top_name, out);
	add_leaf(f, w->top_name, out);
	return tapir_timeline__stacks(f->tl)->names.data[w->top_name];
}

static const struct tapir_function_sums *functions_of(const struct tapir_diagnosis *f)
{
	return tapir_diagnosis__top_function(f, &f->cpu.app) ? &f->cpu.app : &f->cpu.leaf;
}

const struct tapir_function_sums *tapir_finding_cpu__functions(const struct tapir_diagnosis *f)
{
	return f->cpu.samples < TAPIR_LIMIT(SAMPLES) ? NULL : functions_of(f);
}

void tapir_finding_busy__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_function_sums *w = functions_of(f);
	double cpus = tapir_diagnosis__cpus(f);
	double share = tapir_diagnosis__percent(w->top, f->cpu.samples);
	struct tapir_rule_fact fact =
		TAPIR_FACT(CPU, .cnt = f->cpu.samples,
			   /* Without a clock it is not known how much there was to share. */
			   .rate = cpus < 0 ? 1 : cpus, .used = cpus < 0 ? 0 : cpus);
	const char *looked_at = NULL;

	if (!w->top && !f->cpu.calls.top)
		return;
	tapir_finding_cpu_activity__add_share(f, &fact.more);
	if (w == &f->cpu.leaf) /* an interpreter's own, for one */
		looked_at = tapir_finding_interp_hotspots__append_top_function(f, &fact.more);
	fact.subject = looked_at ? looked_at : add_cpu_function(f, share, w, &fact.more);
	fact.where = fact.subject ? w : NULL;
	add_kernel(f, &fact.more);
	tapir_finding_cpu_pressure__append_oversubscription(f, &fact.more);
	if (!looked_at && share < TAPIR_LIMIT(SIGNIFICANT) && cpus >= 0 &&
	    cpus < TAPIR_LIMIT(CPU_HARDLY))
		add_not_recorded(f, &fact.more);
	tapir_rules__judge(f, list, fact);
}

/* Nothing else was found. A function of a CPU that is hardly used is no cause of anything. */
void tapir_finding_idle__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	double cpus = tapir_diagnosis__cpus(f), idle = 100 - 100 * cpus;
	bool is_idle = idle >= TAPIR_LIMIT(IDLE_SHARE);
	struct tapir_rule_fact fact = TAPIR_FACT(
		IDLE, .percent = idle, .used = tapir_diagnosis__wanted_cpus(f),
		.took_s = f->cpu.ns / 1e9, .note = is_idle ? "idle" : "nothing stands out");

	if (cpus < 0 || !tapir_rules__are_met(f, list, &fact))
		return;
	if (!is_idle)
		tapir_diagnosis__append_top_function(f, &f->cpu.app, ", most in ", &fact.more);
	tapir_finding_futexes__append_unclassified(f, &fact.more);
	tapir_finding_handoffs__add_parked(f, &fact.more);
	if (f->has_dotnet)
		tapir_finding_pool__add_blocked(f, &fact.more);
	if (f->has_dotnet || f->futexes.seen_ns)
		tapir_finding_blocking_io__add_for_threads(f, &fact.more);
	tapir_finding_awaits__add_few(f, &fact.more);
	add_not_recorded(f, &fact.more);
	tapir_rules__judge(f, list, fact);
}

void tapir_finding_cpu__fini(struct tapir_diagnosis *f)
{
	tapir_function_sums__fini(&f->cpu.app);
	tapir_function_sums__fini(&f->cpu.leaf);
	tapir_function_sums__fini(&f->cpu.timer_app);
	tapir_function_sums__fini(&f->cpu.timer_callbacks);
	tapir_function_sums__fini(&f->cpu.calls);
	tapir_function_sums__fini(&f->jit.callers);
	tapir_function_sums__fini(&f->exception_cost.throwers);
	tapir_function_sums__fini(&f->exception_cost.functions);
}
