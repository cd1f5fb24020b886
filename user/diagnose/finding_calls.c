// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls of other processes. A wait for a socket is explained by the exchange that ends it: the
 * answer of a peer on a connection that the process opened, a dependency; or a request on one that
 * it accepted, which is work. Until then it is kept. One that no exchange ends, as at the end of
 * the recording, is what other waits with the same stack were, if those were all alike.
 */
#include "diagnose/finding_calls.h"

#include <string.h>

#include "base/keyed.h"
#include "diagnose/diagnosis_impl.h"

#define MAX_THREADS 65536u
#define MAX_ROWS    65536u
#define MAX_NODES   65536u

/* A stack shows the reason of its wait; from FIRST_ROW on: answers to calls of that row. */
enum role { ROLE_UNKNOWN, ROLE_MIXED, ROLE_WORK, ROLE_FIRST_ROW };

/* An event loop waits for any of its connections: no thread waits for one peer. */
static bool is_for_one_socket(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	static const char *const reasons[] = {"socket", "poll", "select"};
	const char *reason = tapir_diagnosis__reason(f, w);

	for (size_t i = 0; reason && i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(reason, reasons[i]))
			return true;
	return false;
}

static bool is_recorded(struct tapir_diagnosis *f)
{
	struct tapir_calls *c = &f->calls;

	if (!c->is_known)
		c->is_recorded = tapir_diagnosis__meta(f, "net").len > 0;
	c->is_known = true;
	return c->is_recorded;
}

/* ---- waits ---------------------------------------------------------------------------------- */

static void learn(struct tapir_calls *c, uint32_t node, uint64_t role)
{
	uint64_t *known = tapir_map__get(&c->role_by_node, node);

	if (!known && c->role_by_node.cnt < MAX_NODES)
		known = tapir_map__put(&c->role_by_node, node, NULL);
	if (known)
		*known = *known == ROLE_UNKNOWN || *known == role ? role : ROLE_MIXED;
}

static void charge(struct tapir_diagnosis *f, uint32_t idx, uint32_t tid,
		   const struct tapir_call_wait *w)
{
	struct tapir_called *called =
		tapir_keyed__add(&f->calls.called, idx, MAX_ROWS, (struct tapir_called){});

	if (!called)
		return;
	called->waited_ns += w->wake_ns - w->from_ns;
	tapir_diagnosis__add_stack(f, &called->callers, w->node, w->wake_ns - w->from_ns);
	if (called->tids.cnt < MAX_THREADS)
		tapir_map__put(&called->tids, tid, NULL);
}

/* No exchange has explained it. */
static void decide(struct tapir_diagnosis *f, uint32_t tid, const struct tapir_call_wait *w)
{
	const uint64_t *role = tapir_map__get(&f->calls.role_by_node, w->node);
	const struct tapir_wait wait = {.from_ns = w->from_ns,
					.wake_ns = w->wake_ns,
					.until_ns = w->until_ns,
					.node = w->node,
					.state = w->state,
					.flags = w->flags};

	if (role && *role >= ROLE_FIRST_ROW)
		charge(f, (uint32_t)(*role - ROLE_FIRST_ROW), tid, w);
	else if (!role || *role != ROLE_WORK)
		tapir_finding_blocking_io__take(f, &wait, tid, w->is_truncated);
}

static void drop(struct tapir_call_thread *t, unsigned at)
{
	t->cnt--;
	memmove(t->waits + at, t->waits + at + 1, (t->cnt - at) * sizeof(*t->waits));
}

bool tapir_finding_calls__wait(struct tapir_diagnosis *f, const struct tapir_wait *w,
			       bool is_truncated)
{
	struct tapir_calls *c = &f->calls;
	struct tapir_call_thread made = {.tid = w->thread->tid}, *t;

	if (!is_recorded(f) || c->is_concluded || !is_for_one_socket(f, w))
		return false;
	t = tapir_keyed__add(&c->threads, made.tid, MAX_THREADS, made);
	if (!t)
		return false;
	if (t->cnt == TAPIR_CALL_WAITS) { /* the first may be the one for work */
		decide(f, t->tid, t->waits + 1);
		drop(t, 1);
	}
	t->waits[t->cnt++] = (struct tapir_call_wait){.from_ns = w->from_ns,
						      .wake_ns = w->wake_ns,
						      .until_ns = w->until_ns,
						      .node = w->node,
						      .state = w->state,
						      .flags = w->flags,
						      .is_truncated = is_truncated};
	return true;
}

/* ---- exchanges ------------------------------------------------------------------------------ */

/* The thread received the answer: its waits since it asked were for that. */
static void explain_call(struct tapir_diagnosis *f, const struct tapir_rec_exchange *rec,
			 uint32_t idx)
{
	struct tapir_call_thread *t = tapir_keyed__get(&f->calls.threads, rec->tid);

	for (; t && t->cnt; drop(t, 0)) {
		if (t->waits->until_ns <= rec->begin_ns) {
			decide(f, t->tid, t->waits);
			continue;
		}
		learn(&f->calls, t->waits->node, ROLE_FIRST_ROW + idx);
		charge(f, idx, t->tid, t->waits);
	}
}

/* The thread that received the request waited for it before. */
static void explain_request(struct tapir_diagnosis *f, const struct tapir_rec_exchange *rec)
{
	struct tapir_call_thread *t = tapir_keyed__get(&f->calls.threads, rec->ask_tid);

	for (; t && t->cnt; drop(t, 0)) {
		if (t->waits->until_ns <= rec->begin_ns)
			learn(&f->calls, t->waits->node, ROLE_WORK);
		else
			decide(f, t->tid, t->waits);
	}
}

/* The thread waits for an answer when the recording ends: that wait is yet to come here. */
static void keep_open(struct tapir_calls *c, const struct tapir_rec_exchange *rec, uint32_t idx)
{
	struct tapir_call_thread made = {.tid = rec->ask_tid}, *t;

	t = tapir_keyed__add(&c->threads, made.tid, MAX_THREADS, made);
	if (!t)
		return;
	t->open_row = idx + 1;
	t->open_begin_ns = rec->begin_ns;
}

void tapir_finding_calls__exchange(struct tapir_diagnosis *f, const struct tapir_rec_exchange *rec)
{
	const struct tapir_exchange_row *row =
		tapir_exchange_sums__add(&f->calls.sums, tapir_timeline__catalog(f->tl), rec);

	if (row && f->routes)
		tapir_request_routes__exchange(f->routes, rec, row->idx);
	if (!row || !rec->begin_ns || rec->kind == TAPIR_EXCHANGE_CLOSED)
		return;
	if (rec->kind == TAPIR_EXCHANGE_OPEN && row->is_opened)
		keep_open(&f->calls, rec, row->idx);
	else if (row->is_opened)
		explain_call(f, rec, row->idx);
	else
		explain_request(f, rec);
}

void tapir_finding_calls__conclude(struct tapir_diagnosis *f)
{
	struct tapir_call_thread *t;

	f->calls.is_concluded = true;
	tapir_vec_for_each (t, &f->calls.threads)
		for (; t->cnt; drop(t, 0)) {
			if (t->open_row && t->waits->is_truncated &&
			    t->waits->from_ns >= t->open_begin_ns)
				charge(f, t->open_row - 1, t->tid, t->waits);
			else
				decide(f, t->tid, t->waits);
		}
	tapir_exchange_sums__sort(&f->calls.sums);
}

/* ---- the finding ---------------------------------------------------------------------------- */

const struct tapir_called *tapir_finding_calls__waiters(const struct tapir_diagnosis *f,
							const struct tapir_exchange_row *row)
{
	const struct tapir_called *called = tapir_keyed__get(&f->calls.called, row->idx);

	return called && called->waited_ns ? called : NULL;
}

/* The time for which its requests were open, with or without an answer. */
static uint64_t open_ns(const struct tapir_exchange_row *row)
{
	return row->sum_ns + row->unanswered_ns;
}

void tapir_finding_calls__add_waiters(const struct tapir_diagnosis *f,
				      const struct tapir_exchange_row *row, struct tapir_str *out)
{
	const struct tapir_called *called = tapir_finding_calls__waiters(f, row);

	if (!called || !TAPIR_IS_SHARE(CALL_WAITERS, called->waited_ns, open_ns(row)))
		return; /* an event loop, that waited for this peer alone now and then */
	tapir_str__addf(out, "%zu thread%s", called->tids.cnt,
			called->tids.cnt == 1 ? " waits" : "s wait");
	tapir_diagnosis__append_top_function(f, &called->callers, " in ", out);
}

void tapir_finding_calls__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_exchange_row *row, *worst = NULL;
	struct tapir_str callsite = {}, waiters = {};
	uint64_t all_ns = 0, cnt, open_cnt;

	tapir_vec_for_each (row, &f->calls.sums.rows) {
		all_ns += row->is_opened ? open_ns(row) : 0;
		if (!worst && row->is_opened && open_ns(row))
			worst = row;
	}
	if (!worst)
		return;
	cnt = worst->took_ns.cnt;
	open_cnt = worst->unanswered_cnt;
	tapir_exchange_sums__add_callsite(&f->calls.sums, worst, &callsite);
	if (tapir_finding_calls__waiters(f, worst))
		tapir_str__adds(&waiters, "; ");
	tapir_finding_calls__add_waiters(f, worst, &waiters);
	tapir_rules__judge(
		f, list,
		(struct tapir_rule_fact){
			.fact_kind = cnt ? TAPIR_FACT_CALLS : TAPIR_FACT_UNANSWERED_CALLS,
			.cnt = (double)cnt,
			.of = (double)(cnt + open_cnt),
			.other = (double)open_cnt,
			.ns = (double)open_ns(worst),
			.each_ns = cnt ? (double)(worst->sum_ns / cnt) : 0,
			.own_ns = open_cnt ? (double)(worst->unanswered_ns / open_cnt) : 0,
			.percent = open_ns(worst) < all_ns
					   ? tapir_diagnosis__percent(open_ns(worst), all_ns)
					   : 0,
			.subject = callsite.data,
			.object = callsite,
			.more = waiters});
}

void tapir_finding_calls__fini(struct tapir_diagnosis *f)
{
	struct tapir_called *called;

	tapir_vec_for_each (called, &f->calls.called) {
		tapir_function_sums__fini(&called->callers);
		tapir_map__fini(&called->tids);
	}
	tapir_keyed__fini(&f->calls.called);
	tapir_keyed__fini(&f->calls.threads);
	tapir_map__fini(&f->calls.role_by_node);
	tapir_exchange_sums__fini(&f->calls.sums);
}
