// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Locks: how long threads waited for which one and where, and threads that wait for each other. A
 * wait that is still open when the recording ends has lasted until then.
 *
 * Waits have events, or a stack that ends in a function which takes a lock. Threads that were there
 * when the recording began and still are when it ends have no events at all: if no other thread
 * gets past that place, they are a deadlock, or wait for a lock that is never released.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"
#include "base/keyed.h"

#define MAX_WAIT_EDGES	65536u
#define MAX_CYCLE	256u /* threads */
#define FUNCTIONS_SHOWN 3
#define NAMES_SHOWN	4u
#define MAX_TYPES	64u

/*
 * ---- which thread waits for which
 * ---------------------------------------------------------------------
 */

static const struct tapir_rec_thread *described_thread(const struct tapir_diagnosis *f,
						       uint32_t tid, uint64_t now_ns)
{
	return tapir_catalog__thread(tapir_timeline__catalog(f->tl), tid, now_ns);
}

/* The thread's id in its process's namespace. */
static uint32_t ns_tid_of(const struct tapir_diagnosis *f, uint32_t tid, uint64_t now_ns)
{
	const struct tapir_rec_thread *rec = described_thread(f, tid, now_ns);

	return rec && rec->ns_tid ? rec->ns_tid : tid;
}

static uint64_t edge_key(uint32_t tgid, uint64_t tid)
{
	return tapir_hash__mix(tapir_hash__mix(5, tgid), tid);
}

static struct tapir_lock_wait_edge *edge_of(struct tapir_diagnosis *f, uint32_t tgid, uint64_t tid)
{
	return tapir_keyed__get(&f->locks.wait_edges, edge_key(tgid, tid));
}

static struct tapir_lock_wait_edge *make_edge(struct tapir_diagnosis *f, uint32_t tgid,
					      uint64_t tid)
{
	return tapir_keyed__add(&f->locks.wait_edges, edge_key(tgid, tid), MAX_WAIT_EDGES,
				(struct tapir_lock_wait_edge){});
}

void tapir_finding_locks_by_event__event(struct tapir_diagnosis *f,
					 const struct tapir_diagnosis_event *e)
{
	uint32_t tgid = e->thread->tgid;
	uint64_t tid;
	struct tapir_lock_wait_edge *h;

	if (e->event_kind != TAPIR_DIAGNOSIS_EVENT_CONTENTION_BEGIN &&
	    e->event_kind != TAPIR_DIAGNOSIS_EVENT_CONTENTION_END)
		return;
	tid = ns_tid_of(f, e->thread->tid, e->now_ns);
	h = e->event_kind == TAPIR_DIAGNOSIS_EVENT_CONTENTION_BEGIN ? make_edge(f, tgid, tid)
								    : edge_of(f, tgid, tid);
	if (h && e->event_kind == TAPIR_DIAGNOSIS_EVENT_CONTENTION_END)
		h->has_ended = true;
	else if (h)
		*h = (struct tapir_lock_wait_edge){
			.tid = tid,
			.owner = tapir_event_fields__u64(e->fields, "LockOwnerThreadID"),
			.tgid = tgid,
			.owner_tgid = tgid,
			.node = e->node,
			.from_ns = e->now_ns};
}

/*
 * The waits of the snapshot at the end are the only ones that hold then; a cycle in the first one
 * stays one.
 */
void tapir_finding_locks_by_event__snapshot(struct tapir_diagnosis *f,
					    const struct tapir_rec_switch *rec)
{
	struct tapir_lock_wait_edge *h;

	if (!(rec->flags & TAPIR_SWITCH_AT_END) || f->locks.has_ended)
		return;
	f->locks.has_ended = true;
	tapir_vec_for_each (h, &f->locks.wait_edges)
		h->has_ended |= h->seen_tid != 0;
}

static void add_lock_label(const struct tapir_diagnosis *f, const struct tapir_interval *i,
			   struct tapir_str *out)
{
	const char *kind = tapir_timeline__pairs(f->tl)->kinds.data[i->kind].name;

	tapir_str__adds(out, strcmp(kind, "contention") ? kind : "lock");
	if (!i->label)
		return;
	tapir_str__addc(out, ' ');
	tapir_str__add_printable(out, i->label, strlen(i->label));
}

static const char *lock_object_type(const struct tapir_diagnosis *f, const char *label)
{
	const struct tapir_lock_type *one;

	tapir_vec_for_each (one, &f->locks.types)
		if (!strcmp(one->label, label))
			return one->type;
	return NULL;
}

/* A snapshot may know the type of the object that a thread waits for by its events. */
static void note_type(struct tapir_diagnosis *f, const struct tapir_tl_thread *thread,
		      struct tapir_sv object)
{
	const struct tapir_interval *i = thread ? tapir_tl_thread__causing(thread) : NULL;
	struct tapir_str label = {}, type = {};
	struct tapir_lock_type one;

	if (!object.len || !i || i->cause != TAPIR_CAUSE_LOCK || f->locks.types.cnt == MAX_TYPES ||
	    tapir_timeline__pairs(f->tl)->kinds.data[i->kind].is_postgresql_lock)
		return; /* a server's lock is what its event says */
	add_lock_label(f, i, &label);
	tapir_str__add_printable(&type, object.data, object.len);
	one = (struct tapir_lock_type){label.data, type.data};
	if (label.failed || type.failed || lock_object_type(f, label.data) ||
	    !tapir_vec__push(&f->locks.types, one)) {
		tapir_str__fini(&label);
		tapir_str__fini(&type);
	}
}

void tapir_finding_locks_by_event__call(struct tapir_diagnosis *f, const struct tapir_rec *rec)
{
	const struct tapir_rec_thread *owner;
	const struct tapir_tl_thread *thread;
	struct tapir_wait_view wait;
	struct tapir_lock_wait_edge *h;
	uint64_t tid;

	tapir_wait_view__of(rec, &wait);
	thread = tapir_timeline__thread(f->tl, wait.rec->tid);
	note_type(f, thread, wait.object);
	if (!wait.rec->owner_tid)
		return;
	tid = ns_tid_of(f, wait.rec->tid, rec->time_ns);
	h = make_edge(f, wait.rec->tgid, tid);
	if (!h || (h->from_ns && !h->has_ended && !h->seen_tid))
		return; /* events say more */
	owner = described_thread(f, wait.rec->owner_tid, rec->time_ns);
	*h = (struct tapir_lock_wait_edge){.tid = tid,
					   .owner = ns_tid_of(f, wait.rec->owner_tid, rec->time_ns),
					   .tgid = wait.rec->tgid,
					   .owner_tgid = owner ? owner->tgid : wait.rec->tgid,
					   .node = thread ? thread->offcpu_node : TAPIR_NO_NODE,
					   .from_ns = thread && thread->out_ns ? thread->out_ns
									       : rec->time_ns,
					   .seen_tid = wait.rec->tid,
					   .owner_seen_tid = wait.rec->owner_tid};
}

static struct tapir_lock_wait_edge *holder_of(struct tapir_diagnosis *f,
					      const struct tapir_lock_wait_edge *h)
{
	struct tapir_lock_wait_edge *holder = edge_of(f, h->owner_tgid, h->owner);

	return holder && !holder->has_ended ? holder : NULL;
}

uint32_t tapir_finding_locks_by_event__holder(struct tapir_diagnosis *f, uint32_t tid)
{
	uint64_t now_ns = tapir_timeline__stats(f->tl)->last_ns;
	const struct tapir_rec_thread *rec = described_thread(f, tid, now_ns);
	const struct tapir_lock_wait_edge *h =
		rec ? edge_of(f, rec->tgid, ns_tid_of(f, tid, now_ns)) : NULL;
	uint32_t holder = 0;

	for (size_t cnt = 0; h && !h->has_ended && cnt < MAX_CYCLE; cnt++) {
		holder = h->owner_seen_tid;
		h = holder_of(f, h);
	}
	return h && !h->has_ended ? 0 : holder;
}

/* The number of threads that wait for each other, this one among them; 0: it is in no cycle. */
static size_t cycle_of(struct tapir_diagnosis *f, struct tapir_lock_wait_edge *first)
{
	struct tapir_lock_wait_edge *h = first;

	for (size_t cnt = 1; cnt <= MAX_CYCLE; cnt++) {
		h = holder_of(f, h);
		if (!h)
			return 0;
		if (h == first)
			return cnt > 1 ? cnt : 0;
	}
	return 0;
}

/* Adds the name of a thread that a snapshot shows; nth: after how many others. */
static void add_thread_name(const struct tapir_diagnosis *f, uint32_t tid, size_t nth,
			    struct tapir_str *out)
{
	if (nth == NAMES_SHOWN)
		tapir_str__adds(out, ", ...");
	if (nth >= NAMES_SHOWN)
		return;
	tapir_str__adds(out, nth ? ", " : "");
	tapir_diagnosis__add_thread_id(f, tid, out);
}

static bool emit_deadlock(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	struct tapir_rule_fact fact = {.fact_kind = TAPIR_FACT_CYCLE};
	uint64_t blocked = 0, since_ns = 0;
	struct tapir_function_sums where = {};
	struct tapir_lock_wait_edge *h;
	size_t name_cnt = 0;

	tapir_vec_for_each (h, &f->locks.wait_edges) {
		blocked += !h->has_ended;
		if (h->has_ended || !cycle_of(f, h))
			continue;
		fact.cnt++;
		if (h->from_ns > since_ns) {
			since_ns = h->from_ns;
			fact.is_least = h->seen_tid != 0; /* it waited when it was seen first */
		}
		tapir_diagnosis__add_stack(f, &where, h->node, 1);
		if (h->seen_tid)
			add_thread_name(f, h->seen_tid, name_cnt++, &fact.who);
	}
	fact.ns = (double)(tapir_timeline__stats(f->tl)->last_ns - since_ns);
	fact.since_ns = since_ns;
	fact.other = (double)blocked - fact.cnt;
	fact.where = &where;
	fact.view = name_cnt ? "stacks" : NULL;
	tapir_rules__judge(f, list, fact);
	tapir_function_sums__fini(&where);
	return fact.cnt > 0;
}

/* ---- how long ------------------------------------------------------------------------------- */

/* "lock transaction": of many locks that are held once each. */
static void count_class(struct tapir_diagnosis *f, const struct tapir_interval *i, uint64_t took_ns)
{
	struct tapir_str text = {};

	tapir_str__addf(&text, "%s ", tapir_timeline__pairs(f->tl)->kinds.data[i->kind].name);
	tapir_str__add_printable(&text, i->label, strcspn(i->label, " "));
	if (text.data)
		tapir_label_sums__add(&f->locks.classes,
				      tapir_timeline__lock_owner(f->tl, i->tgid, true, i->from_ns),
				      text.data, TAPIR_APP_CODE_NONE, took_ns);
	tapir_str__fini(&text);
}

static void count_label(struct tapir_diagnosis *f, const struct tapir_interval *i, uint64_t took_ns)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];
	struct tapir_str text = {};

	add_lock_label(f, i, &text);
	if (text.data)
		tapir_label_sums__add(&f->locks.labels, tapir_timeline__lock_key(f->tl, i),
				      text.data, TAPIR_APP_CODE_NONE, took_ns);
	if (i->label && kind->is_shared)
		count_class(f, i, took_ns);
	tapir_str__fini(&text);
}

void tapir_finding_locks_by_event__close(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	uint64_t took_ns = tapir_timeline__waited_ns(f->tl, i);

	if (i->cause != TAPIR_CAUSE_LOCK || i->flags & TAPIR_INTERVAL_NO_BEGIN)
		return;
	f->locks.open_cnt += i->flags & TAPIR_INTERVAL_NO_END ? 1 : 0;
	if (!(i->flags & TAPIR_INTERVAL_NO_END))
		tapir_diagnosis__add_stack(f, &f->locks.acquired, i->node, 1);
	f->locks.cnt++;
	f->locks.ns += took_ns;
	count_label(f, i, took_ns);
	tapir_finding_cpu_activity__add_statement(f, i->tid, &f->locks.statements, took_ns);
	tapir_diagnosis__add_stack(f, &f->locks.waiters, i->node, took_ns);
}

/*
 * The lock of a wait by its stack alone: the interval of a contention's events is counted as such.
 */
static const char *lock_by_stack(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	const struct tapir_interval *causing = tapir_tl_thread__causing(w->thread);
	const char *reason;

	if (!w->state || (causing && causing->cause == TAPIR_CAUSE_LOCK) ||
	    tapir_diagnosis__own(f, w->node) == TAPIR_APP_CODE_NONE)
		return NULL;
	reason = tapir_diagnosis__reason_at(f, w->node);
	return reason && tapir_wait_reason__is_lock(reason) ? reason : NULL;
}

/*
 * The key of a lock that others may get while one thread waits. The wait's function may be another
 * one: to read, not to write.
 */
static uint64_t barging_key_of(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	const struct tapir_lore_wait *wait = tapir_diagnosis__wait_at(f, w->node);

	return wait && wait->allows_barging
		       ? tapir_hash__bytes(w->thread->tgid, wait->reason, strlen(wait->reason)) | 1
		       : 0;
}

static void add_blocked_throughout(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	struct tapir_blocked_throughout blocked = {.name = tapir_diagnosis__own(f, w->node),
						   .barging_key = barging_key_of(f, w)};

	tapir_function_sums__add(f, &f->locks.blocked_throughout, blocked.name, 1);
	if (f->locks.throughout.cnt < MAX_WAIT_EDGES)
		(void)tapir_vec__push(&f->locks.throughout, blocked);
}

static void add_acquired(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	uint64_t barging_key = barging_key_of(f, w);

	tapir_diagnosis__add_stack(f, &f->locks.acquired, w->node, 1);
	if (barging_key)
		tapir_map__put(&f->locks.barged, barging_key, NULL);
}

/* A collection does not last for that long. */
static bool is_blocked_in_runtime(const struct tapir_diagnosis *f, const struct tapir_wait *w,
				  bool is_open)
{
	return f->has_dotnet && is_open && w->state && w->flags & TAPIR_SWITCH_SNAPSHOT &&
	       w->wake_ns - w->from_ns >= TAPIR_LIMIT_NS(BLOCKED_THROUGHOUT) &&
	       tapir_wait_reason__is_in_runtime(tapir_timeline__stacks(f->tl), w->node);
}

static void count_eventless(struct tapir_diagnosis *f)
{
	const struct tapir_eventless_lock *row;

	tapir_vec_for_each (row, &f->locks.eventless.rows) {
		if (!tapir_eventless_locks__is_lock(&f->locks.eventless, f->tl, row))
			continue;
		f->locks.cnt += row->cnt;
		f->locks.ns += row->ns;
		f->locks.open_cnt += row->open_cnt;
		tapir_label_sums__add(&f->locks.labels, tapir_hash__mix(2, row->tgid), "monitor",
				      TAPIR_APP_CODE_NONE, row->ns);
		tapir_diagnosis__add_stack(f, &f->locks.waiters, row->node, row->ns);
	}
}

bool tapir_finding_locks_by_event__wait(struct tapir_diagnosis *f, const struct tapir_wait *w,
					bool is_open)
{
	const char *reason = lock_by_stack(f, w);
	uint64_t took_ns = w->wake_ns - w->from_ns;

	if (!reason && is_blocked_in_runtime(f, w, is_open))
		reason = "monitor";
	if (!reason) {
		tapir_eventless_locks__add_wait(&f->locks.eventless, f->tl, w, is_open);
		return false;
	}
	f->locks.cnt++;
	f->locks.ns += took_ns;
	f->locks.open_cnt += is_open;
	tapir_label_sums__add(&f->locks.labels, tapir_hash__mix(2, w->thread->tgid), reason,
			      TAPIR_APP_CODE_NONE, took_ns);
	tapir_diagnosis__add_stack(f, &f->locks.waiters, w->node, took_ns);
	if (!is_open) {
		add_acquired(f, w);
	} else if (w->flags & TAPIR_SWITCH_SNAPSHOT) {
		add_blocked_throughout(f, w);
	}
	return true;
}

/* No other thread got a lock where one of these waits. */
static bool never_acquired(const struct tapir_diagnosis *f)
{
	const struct tapir_blocked_throughout *blocked;

	tapir_vec_for_each (blocked, &f->locks.throughout)
		if (tapir_map__get(&f->locks.acquired.by_name, blocked->name) ||
		    tapir_map__get(&f->locks.barged, blocked->barging_key))
			return false;
	return f->locks.blocked_throughout.top;
}

/* ", 3 in Shop.Draw(int), 2 in Shop.Price()": as many as fit a line. */
static void add_waiting_functions(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	const struct tapir_map_slot *place = NULL;

	for (unsigned cnt = 0; cnt < FUNCTIONS_SHOWN; cnt++) {
		const char *name;

		place = tapir_function_sums__next(&f->locks.blocked_throughout, place);
		if (!place)
			return;
		name = tapir_timeline__stacks(f->tl)->names.data[place->key];
		tapir_str__addf(out, ", %" PRIu64 " in ", place->value);
		tapir_str__add_printable(out, name, strlen(name));
	}
}

/* "; the thread that holds it, clerk 7, waits in Shop.Log() (pipe)": of a lock that most wait for.
 */
static void add_holder(struct tapir_diagnosis *f, struct tapir_str *out)
{
	const struct tapir_tl_thread *holder = NULL;
	const struct tapir_lock_wait_edge *h;
	const char *reason;
	uint32_t name;

	tapir_vec_for_each (h, &f->locks.wait_edges)
		if (!h->has_ended && h->owner_seen_tid && !edge_of(f, h->owner_tgid, h->owner))
			holder = tapir_timeline__thread(f->tl, h->owner_seen_tid);
	if (!holder || !holder->out_ns)
		return;
	name = tapir_diagnosis__function(f, holder->offcpu_node);
	if (name == TAPIR_APP_CODE_NONE)
		return;
	reason = tapir_diagnosis__reason_at(f, holder->offcpu_node);
	tapir_str__adds(out, "; the thread that holds it, ");
	tapir_diagnosis__add_thread_id(f, holder->tid, out);
	tapir_str__adds(out, ", waits in ");
	tapir_diagnosis__add_name(f, name, out);
	if (reason)
		tapir_str__addf(out, " (%s)", reason);
}

static bool emit_blocked_throughout(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);
	struct tapir_rule_fact fact =
		TAPIR_FACT(BLOCKED_THROUGHOUT,
			   .cnt = never_acquired(f) ? (double)f->locks.blocked_throughout.sum : 0,
			   .seconds = span_ns / 1e9, .ns = span_ns, .is_least = true,
			   .where = &f->locks.blocked_throughout);

	if (!tapir_rules__are_met(f, list, &fact))
		return false;
	add_waiting_functions(f, &fact.more);
	add_holder(f, &fact.more);
	tapir_rules__judge(f, list, fact);
	return true;
}

/*
 * The watched time begins with the first record: events of locks may arrive before context switches
 * do.
 */
static uint64_t watched_ns(const struct tapir_diagnosis *f)
{
	const struct tapir_timeline_stats *stats = tapir_timeline__stats(f->tl);
	uint64_t span_ns = tapir_timeline__span_ns(f->tl);
	uint64_t switched_ns = tapir_timeline__switched_ns(f->tl);
	uint64_t lead_ns =
		stats->switched_ns > stats->first_ns ? stats->switched_ns - stats->first_ns : 0;

	return switched_ns + lead_ns < span_ns ? switched_ns + lead_ns : span_ns;
}

/* are_in_deadlock: another finding has these waits. */
static void emit_waits(struct tapir_diagnosis *f, bool are_in_deadlock, struct tapir_findings *list)
{
	uint64_t span_ns = watched_ns(f);
	const struct tapir_label_sum *worst = tapir_label_sums__largest(&f->locks.labels);
	struct tapir_rule_fact fact = TAPIR_FACT(
		LOCKS, .cnt = f->locks.cnt, .other = f->locks.open_cnt, .ns = f->locks.ns,
		.is_least = f->locks.open_cnt > 0, .where = &f->locks.waiters,
		.in_threads = span_ns ? (double)f->locks.ns / (double)span_ns : 0);

	if (!tapir_rules__are_met(f, list, &fact) || !worst || are_in_deadlock)
		return;
	if (tapir_diagnosis__percent(worst->ns, f->locks.ns) < TAPIR_LIMIT(LOCK_CLASS) &&
	    f->locks.classes.rows.cnt)
		worst = tapir_label_sums__largest(&f->locks.classes);
	fact.percent = tapir_diagnosis__percent(worst->ns, f->locks.ns);
	fact.subject = worst->label;
	fact.label = lock_object_type(f, worst->label);
	tapir_label_sums__append_dominant(&f->locks.statements, f->locks.ns, &fact.request);
	tapir_rules__judge(f, list, fact);
}

void tapir_finding_locks_by_event__conclude(struct tapir_diagnosis *f)
{
	struct tapir_lock_wait_edge *h;

	count_eventless(f);
	tapir_vec_for_each (h, &f->locks.wait_edges)
		f->locks.are_deadlocked |= !h->has_ended && cycle_of(f, h);
}

void tapir_finding_locks_by_event__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	emit_waits(f, emit_deadlock(f, list) || emit_blocked_throughout(f, list), list);
}

void tapir_finding_locks_by_event__fini(struct tapir_diagnosis *f)
{
	struct tapir_lock_type *one;

	tapir_vec_for_each (one, &f->locks.types) {
		free(one->label);
		free(one->type);
	}
	tapir_vec__fini(&f->locks.types);
	tapir_label_sums__fini(&f->locks.labels);
	tapir_label_sums__fini(&f->locks.classes);
	tapir_label_sums__fini(&f->locks.statements);
	tapir_function_sums__fini(&f->locks.waiters);
	tapir_function_sums__fini(&f->locks.acquired);
	tapir_function_sums__fini(&f->locks.blocked_throughout);
	tapir_vec__fini(&f->locks.throughout);
	tapir_map__fini(&f->locks.barged);
	tapir_eventless_locks__fini(&f->locks.eventless);
	tapir_keyed__fini(&f->locks.wait_edges);
}
