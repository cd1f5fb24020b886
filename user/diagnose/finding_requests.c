// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests: intervals with a start and an end that a client waits for. Those that the edges of the
 * recording cut are in no figure here, nor kinds of which many are cut or do not pair.
 */
#include <stdlib.h>
#include <string.h>

#include "diagnose/diagnosis_impl.h"

#define MAX_KINDS 64u

bool tapir_finding_requests__is_one(const struct tapir_interval_kind *kind)
{
	static const char *const names[] = {"request", "server_request", "http_request", "query",
					    "sql"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(kind->name, names[i]))
			return true;
	return kind->is_guessed && kind->scope == TAPIR_PAIR_ACTIVITY;
}

static struct tapir_request_kind *request_kind_of(struct tapir_diagnosis *f, uint32_t kind)
{
	return tapir_keyed__add(&f->requests, kind, MAX_KINDS,
				((struct tapir_request_kind){.kind = kind}));
}

/*
 * HttpClient sends the header for the activity it is in; one that it creates without a parent
 * exists because of a listener, which the profile "requests" is.
 */
void tapir_finding_requests__event(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e)
{
	struct tapir_str parent = {};

	if (e->event_kind != TAPIR_DIAGNOSIS_EVENT_REQUEST_SENT)
		return;
	tapir_event_fields__add_text(e->fields, "ParentSpanId", 16, &parent);
	f->header_cnt += parent.data && parent.len == strspn(parent.data, "0");
	tapir_str__fini(&parent);
}

/* Requests by route, from the first request or call on; awaits of earlier ones are unknown. */
void tapir_finding_requests__open(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];

	if (!f->routes && (kind->is_request || kind->is_call)) {
		f->routes = tapir_request_routes__new(f->tl);
		f->routes_failed |= !f->routes;
		f->awaits.ended = f->routes ? tapir_request_routes__await : NULL;
		f->awaits.ended_ctx = f->routes;
	}
	if (f->routes)
		tapir_request_routes__open(f->routes, i);
}

/* Counts what an activity waited for: "http_request /inventory/410". */
static void count_inside(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	const struct tapir_pairs *pairs = tapir_timeline__pairs(f->tl);
	const struct tapir_interval *parent = tapir_timeline__parent(f->tl, i);
	struct tapir_request_kind *row;

	if (!parent || !tapir_finding_requests__is_one(&pairs->kinds.data[parent->kind]))
		return;
	row = request_kind_of(f, parent->kind);
	if (row)
		tapir_label_sums__add(&row->inside, 1, pairs->kinds.data[i->kind].name,
				      TAPIR_APP_CODE_NONE, i->until_ns - i->from_ns);
}

void tapir_finding_requests__awaited(struct tapir_diagnosis *f, const struct tapir_interval *i,
				     uint64_t ns)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];
	struct tapir_request_kind *row = i->await_label && tapir_finding_requests__is_one(kind)
						 ? request_kind_of(f, i->kind)
						 : NULL;

	if (f->routes)
		tapir_request_routes__awaited(f->routes, i, ns);
	if (row)
		tapir_label_sums__add(&row->tasks, 1, i->await_label, TAPIR_APP_CODE_NONE, ns);
}

void tapir_finding_requests__close(struct tapir_diagnosis *f, struct tapir_interval *i)
{
	const struct tapir_interval_kind *kind = &tapir_timeline__pairs(f->tl)->kinds.data[i->kind];
	static const struct tapir_time_breakdown none;
	uint64_t took_ns = i->until_ns - i->from_ns;
	struct tapir_request_kind *row;

	if (f->routes)
		tapir_request_routes__close(f->routes, i);
	count_inside(f, i);
	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END | TAPIR_INTERVAL_ATTACH) ||
	    !tapir_finding_requests__is_one(kind))
		return;
	row = request_kind_of(f, i->kind);
	if (!row)
		return;
	row->is_by_key = i->is_request && i->scope == TAPIR_PAIR_KEY;
	row->sum_ns += took_ns;
	row->by_thread_cnt += kind->scope == TAPIR_PAIR_ACTIVITY && !i->activity;
	tapir_time_breakdown__add_difference(&row->parts, &i->parts, &none);
	tapir_histogram__add(&row->took, took_ns);
	if (took_ns < row->worst_ns)
		return;
	row->worst_ns = took_ns;
	free(row->worst_label);
	row->worst_label = i->label ? strdup(i->label) : NULL;
}

bool tapir_finding_requests__is_timed(const struct tapir_diagnosis *f,
				      const struct tapir_request_kind *row)
{
	const struct tapir_interval_kind *kind =
		&tapir_timeline__pairs(f->tl)->kinds.data[row->kind];

	/*
	 * The durations of intervals that were paired before it was seen that they move are not
	 * known either.
	 */
	return !(kind->is_unknown_by_thread && row->by_thread_cnt &&
		 TAPIR_IS_SHARE(DOMINANT, row->by_thread_cnt, row->took.cnt)) &&
	       row->took.cnt >= TAPIR_LIMIT(REQUEST_CNT) && kind->unbegun <= row->took.cnt;
}

/*
 * Returns true if the kind has the slower ones. A call may seem to be slower than the request that
 * awaits it: percentiles are rounded, and there are fewer of one than of the other.
 */
static bool is_slower(const struct tapir_diagnosis *f, const struct tapir_request_kind *row,
		      const struct tapir_request_kind *worst)
{
	const struct tapir_interval_kind *kinds = tapir_timeline__pairs(f->tl)->kinds.data;
	uint64_t ns = tapir_histogram__percentile(&row->took, 99);
	uint64_t worst_ns = tapir_histogram__percentile(&worst->took, 99);

	if (kinds[row->kind].is_request == kinds[worst->kind].is_request)
		return ns > worst_ns;
	return kinds[row->kind].is_request ? ns + ns / 10 >= worst_ns
					   : ns > worst_ns + worst_ns / 10;
}

static const struct tapir_request_kind *slowest(const struct tapir_diagnosis *f)
{
	const struct tapir_request_kind *row, *worst = NULL;

	tapir_vec_for_each (row, &f->requests)
		if (tapir_finding_requests__is_timed(f, row) &&
		    (!worst || is_slower(f, row, worst)))
			worst = row;
	return worst;
}

void tapir_finding_requests__add_part(const struct tapir_request_kind *row, const char *words,
				      struct tapir_str *out)
{
	static const char *const states[] = {[TAPIR_THREAD_UNKNOWN] = "unknown",
					     [TAPIR_THREAD_RUNNING] = "on the CPU",
					     [TAPIR_THREAD_RUNNABLE] = "waiting for a CPU",
					     [TAPIR_THREAD_SLEEPING] = "asleep",
					     [TAPIR_THREAD_AWAITING] = "awaited",
					     [TAPIR_THREAD_IN_CHILD_ACTIVITY] =
						     "in another activity",
					     [TAPIR_THREAD_QUEUED] = "queued for a thread"};
	static const char *const causes[] = {[TAPIR_CAUSE_GC] = "in GC",
					     [TAPIR_CAUSE_SAFEPOINT] = "stopped",
					     [TAPIR_CAUSE_JIT] = "compiling",
					     [TAPIR_CAUSE_LOCK] = "waiting for locks",
					     [TAPIR_CAUSE_IO] = "waiting for a disk"};
	const struct tapir_label_sum *inside = tapir_label_sums__largest(&row->inside);
	const struct tapir_label_sum *task = tapir_label_sums__largest(&row->tasks);
	uint64_t top = 0;
	const char *text = NULL;

	for (unsigned cause = TAPIR_CAUSE_NONE + 1; cause < TAPIR_CAUSE_CNT; cause++)
		if (tapir_time_breakdown__sum(&row->parts, cause) > top) {
			top = tapir_time_breakdown__sum(&row->parts, cause);
			text = causes[cause];
		}
	for (unsigned state = TAPIR_THREAD_RUNNING; state < TAPIR_THREAD_STATE_CNT; state++)
		if (row->parts.ns[TAPIR_CAUSE_NONE][state] > top) {
			top = row->parts.ns[TAPIR_CAUSE_NONE][state];
			text = states[state];
		}
	if (!text || !TAPIR_IS_SHARE(DOMINANT, top, row->sum_ns))
		return;
	/* A request by key that no thread works for: whether it awaits or is queued is not known.
	 */
	if (row->is_by_key && top == row->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_AWAITING])
		return;
	tapir_str__addf(out, ", %.0f%% %s", tapir_diagnosis__percent(top, row->sum_ns), words);
	if (inside && top == row->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_IN_CHILD_ACTIVITY])
		tapir_str__addf(out, "in %s", inside->label);
	else if (task && top == row->parts.ns[TAPIR_CAUSE_NONE][TAPIR_THREAD_AWAITING] &&
		 TAPIR_IS_SHARE(DOMINANT, task->ns, top))
		tapir_str__addf(out, "awaiting %s", task->label);
	else
		tapir_str__adds(out, text);
}

/* Prefers the request among a request and its parts. */
static bool is_more(const struct tapir_interval_kind *kind, const struct tapir_interval_kind *top)
{
	if (top && kind->is_guessed != top->is_guessed)
		return top->is_guessed;
	return !top || kind->unended > top->unended;
}

static void emit_untimed(const struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_interval_kind *kind, *top = NULL;
	struct tapir_str text = {};

	tapir_vec_for_each (kind, &tapir_timeline__pairs(f->tl)->kinds)
		if ((kind->is_unknown_by_thread || kind->lacks_key) && kind->unended > kind->cnt &&
		    tapir_finding_requests__is_one(kind) && is_more(kind, top))
			top = kind;
	if (top)
		tapir_str__addf(&text, "%s:%s", top->provider, top->name);
	TAPIR_JUDGE(f, list, REQUESTS_WITHOUT_DURATION, .cnt = top ? (double)top->unended : 0,
		    .subject = top ? top->name : NULL,
		    .label = top && top->lacks_key ? top->key : NULL, .object = text);
}

static void emit_slowest(struct tapir_diagnosis *f, const struct tapir_request_kind *row,
			 struct tapir_findings *list)
{
	const struct tapir_interval_kind *kind =
		&tapir_timeline__pairs(f->tl)->kinds.data[row->kind];
	const char *label = row->worst_label;
	uint64_t p99_ns = tapir_histogram__percentile(&row->took, 99);
	struct tapir_str view = {};
	struct tapir_rule_fact fact =
		TAPIR_FACT(REQUESTS, .cnt = row->took.cnt, .ms = p99_ns / 1e6, .ns = row->worst_ns,
			   .p50_ns = (double)tapir_histogram__percentile(&row->took, 50),
			   .p99_ns = p99_ns, .subject = kind->name);

	if (kind->is_request)
		tapir_str__adds(&fact.who, "requests take");
	else
		tapir_str__addf(&fact.who, "%s:%s takes", kind->provider, kind->name);
	tapir_str__addf(&view, "slow=%s:%s", kind->provider, kind->name);
	fact.view = kind->is_request ? "requests" : view.data;
	tapir_finding_requests__add_part(row, "of their time ", &fact.more);
	if (kind->is_request && !tapir_finding_awaits__add_statement(f, row->kind, &fact.more))
		tapir_finding_awaits__add_for_requests(
			f, row->took.cnt, kind->unbegun + kind->unended, row->sum_ns, &fact.more);
	if (label)
		tapir_str__add_printable(&fact.request, label, strnlen(label, 100));
	tapir_rules__judge(f, list, fact);
	tapir_str__fini(&view);
}

void tapir_finding_requests__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_request_kind *row = slowest(f);

	TAPIR_JUDGE(f, list, INJECTED_TRACEPARENT, .cnt = f->header_cnt);
	emit_untimed(f, list);
	if (row)
		emit_slowest(f, row, list);
}

void tapir_finding_requests__fini(struct tapir_diagnosis *f)
{
	struct tapir_request_kind *row;

	tapir_vec_for_each (row, &f->requests) {
		tapir_label_sums__fini(&row->inside);
		tapir_label_sums__fini(&row->tasks);
		free(row->worst_label);
	}
	tapir_keyed__fini(&f->requests);
	tapir_request_routes__free(f->routes);
}
