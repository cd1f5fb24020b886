// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread pool: its threads that wait although they have work (pool_waits.h). Only the runtime
 * knows if a thread that waited before the recording began had work: it adds threads, for
 * "starvation" when nothing is taken from the queue, for "cooperative blocking" when a task is
 * waited for.
 */
#include <string.h>

#include "analyze/view.h"
#include "diagnose/diagnosis_impl.h"

static bool is_for_starvation(const struct tapir_diagnosis_event *e)
{
	struct tapir_str reason = {};
	bool is_one;

	tapir_event_fields__add_text(e->fields, "Reason", 40, &reason);
	is_one = reason.data && tapir_pool__is_for_blocked(reason.data);
	tapir_str__fini(&reason);
	return is_one;
}

void tapir_finding_pool__event(struct tapir_diagnosis *f, const struct tapir_diagnosis_event *e)
{
	if (e->event_kind != TAPIR_DIAGNOSIS_EVENT_POOL &&
	    e->event_kind != TAPIR_DIAGNOSIS_EVENT_POOL_CHANGE &&
	    e->event_kind != TAPIR_DIAGNOSIS_EVENT_POOL_IDLE)
		return;
	f->pool.event_cnt++;
	if (e->event_kind == TAPIR_DIAGNOSIS_EVENT_POOL_CHANGE) {
		f->pool.starved_cnt += is_for_starvation(e);
		return;
	}
	if (e->event_kind == TAPIR_DIAGNOSIS_EVENT_POOL_IDLE)
		tapir_pool_waits__says_idle(&f->pool.waits, e->thread->tid, e->now_ns);
}

bool tapir_finding_pool__wait(struct tapir_diagnosis *f, const struct tapir_wait *w, bool is_open)
{
	enum tapir_thread_role role = tapir_diagnosis__role(f, w->thread, w->until_ns);
	uint64_t took_ns = w->wake_ns - w->from_ns;
	uint32_t app;

	(void)is_open;
	if (role == TAPIR_ROLE_FINALIZER) {
		/* Else it waits for work: a program whose objects have no finalizers gives it none.
		 */
		if (tapir_diagnosis__own(f, w->node) != TAPIR_APP_CODE_NONE)
			tapir_finding_gc__finalizer(f, w->thread->tgid,
						    tapir_diagnosis__function(f, w->node),
						    w->until_ns - w->from_ns);
		return f->has_dotnet; /* else it may wait for locks as others do */
	}
	/* Not by its role, which is up to a second old: a new worker gets its name late. */
	if (!tapir_pool__has(f->tl, w->thread->tid, w->until_ns))
		return false;
	app = tapir_diagnosis__own(f, w->node);
	switch (tapir_pool_waits__add(&f->pool.waits, f->tl, w, app != TAPIR_APP_CODE_NONE)) {
	case TAPIR_POOL_IDLE:
	case TAPIR_POOL_UNBEGUN:
		return true;
	case TAPIR_POOL_BLOCKED:
		tapir_diagnosis__add_stack(f, &f->pool.blockers, w->node, took_ns);
		return false;
	default:
		return false;
	}
}

void tapir_finding_pool__close(struct tapir_diagnosis *f, const struct tapir_interval *i)
{
	uint64_t took_ns = i->until_ns - i->from_ns;

	if (i->flags & (TAPIR_INTERVAL_NO_BEGIN | TAPIR_INTERVAL_NO_END) ||
	    strcmp(tapir_timeline__pairs(f->tl)->kinds.data[i->kind].name, "queued") != 0)
		return;
	tapir_histogram__add(&f->pool.queued, took_ns);
	f->pool.queued_ns += took_ns;
}

static void emit_queue(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_histogram *queued = &f->pool.queued;
	uint64_t median_ns = tapir_histogram__percentile(queued, 50);

	TAPIR_JUDGE(f, list, QUEUE, .cnt = queued->cnt, .ms = median_ns / 1e6,
		    .ns = f->pool.queued_ns, .p50_ns = median_ns,
		    .p99_ns = tapir_histogram__percentile(queued, 99));
}

static void emit_blocked(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	const struct tapir_pool_waits *waits = &f->pool.waits;
	/*
	 * Waits that began before the recording count only if the runtime itself says that threads
	 * are blocked: else they may have been idle.
	 */
	bool is_starved = f->pool.starved_cnt;
	uint64_t blocked_ns = waits->blocked_ns + (is_starved ? waits->unbegun_ns : 0);
	uint64_t span_ns = tapir_timeline__switched_ns(f->tl);

	if (!f->pool.event_cnt || !span_ns)
		return;
	TAPIR_JUDGE(f, list, POOL, .ns = blocked_ns, .of = waits->alive_ns / (double)span_ns,
		    .other = f->pool.starved_cnt,
		    .percent = is_starved ? 100
					  : tapir_diagnosis__percent(blocked_ns,
								     blocked_ns + waits->idle_ns),
		    .took_s = blocked_ns / 1e9, .rest_s = waits->idle_ns / 1e9,
		    .where = &f->pool.blockers,
		    .note = is_starved ? "thread pool starvation: " : NULL);
}

void tapir_finding_pool__list(struct tapir_diagnosis *f, struct tapir_findings *list)
{
	emit_blocked(f, list);
	emit_queue(f, list);
}

/* Too few to starve others, but a consumer that all wait for may be one. */
void tapir_finding_pool__add_blocked(const struct tapir_diagnosis *f, struct tapir_str *out)
{
	uint64_t blocked_ns = f->pool.waits.blocked_ns;
	char text[TAPIR_NS_TEXT_BYTES];

	if (tapir_diagnosis__percent(blocked_ns, tapir_timeline__switched_ns(f->tl)) <
	    TAPIR_LIMIT(BLOCKED_SHARE))
		return;
	tapir_str__addf(out, "; threads of the pool were blocked for %s",
			tapir_ns__text(blocked_ns, text));
	tapir_diagnosis__append_top_function(f, &f->pool.blockers, " in ", out);
}

void tapir_finding_pool__fini(struct tapir_diagnosis *f)
{
	tapir_pool_waits__fini(&f->pool.waits);
	tapir_function_sums__fini(&f->pool.blockers);
}
