// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The thread that ends a wait runs then: its own waits before have ended, and are known. Each step
 * is about a shorter time than the one before, so that a chain ends.
 */
#include "analyze/wait_chain.h"

#include "analyze/view.h"

static const char *reason_of(struct tapir_timeline *tl, struct tapir_wait_reasons *reasons,
			     const struct tapir_tl_wait *w)
{
	const char *reason;

	if (!w->state)
		return "a CPU";
	reason = tapir_wait_reasons__of(reasons, tapir_timeline__stacks(tl), w->offcpu_node);
	return !reason && w->state & TAPIR_STATE_UNINTERRUPTIBLE ? "the kernel" : reason;
}

/* Returns the thread that ended a wait; 0: it had no part in it, or is not known. */
static uint32_t waker_of(struct tapir_wait_chain *chain, const struct tapir_tl_wait *w,
			 const char *reason)
{
	chain->end = TAPIR_CHAIN_END_UNKNOWN;
	if (tapir_wait_reason__is_sleep(reason)) /* a timer's thread has no part in it */
		chain->end = TAPIR_CHAIN_END_TIMER;
	else if (w->state && w->flags & TAPIR_SWITCH_WOKEN_BY_IRQ)
		chain->end = TAPIR_CHAIN_END_IRQ;
	return w->state && !chain->end ? w->waker_tid : 0;
}

static bool is_linked(const struct tapir_wait_chain *chain, uint32_t tid)
{
	for (unsigned i = 0; i < chain->cnt; i++)
		if (chain->links[i].tid == tid)
			return true;
	return false;
}

void tapir_wait_chain__follow(struct tapir_wait_chain *chain, struct tapir_timeline *tl,
			      struct tapir_wait_reasons *reasons, const struct tapir_wait *w)
{
	uint64_t since_ns = w->from_ns, until_ns = w->wake_ns;
	uint32_t tid = w->waker_tid;

	*chain = (struct tapir_wait_chain){};
	while (tid && chain->cnt < TAPIR_WAIT_CHAIN_LINKS && tid != w->thread->tid &&
	       !is_linked(chain, tid) && until_ns > since_ns) {
		const struct tapir_tl_thread *t = tapir_timeline__thread(tl, tid);
		const struct tapir_tl_wait *of =
			t ? tapir_tl_thread__longest_wait(t, since_ns, until_ns) : NULL;
		const char *reason;

		if (!of) {
			chain->end = TAPIR_CHAIN_END_THREAD;
			chain->end_tid = tid;
			return;
		}
		since_ns = of->from_ns > since_ns ? of->from_ns : since_ns;
		until_ns = of->until_ns < until_ns ? of->until_ns : until_ns;
		reason = reason_of(tl, reasons, of);
		chain->links[chain->cnt++] =
			(struct tapir_wait_link){tid, reason, until_ns - since_ns};
		until_ns = of->wake_ns < until_ns ? of->wake_ns : until_ns;
		tid = waker_of(chain, of, reason);
	}
}

static void add_thread(struct tapir_str *out, struct tapir_timeline *tl, uint32_t tid,
		       uint64_t at_ns)
{
	char comm[TAPIR_COMM_TEXT_BYTES];

	tapir_comm__copy(comm, tapir_timeline__comm(tl, tid, at_ns));
	tapir_str__addf(out, "%s (%u)", *comm ? comm : "?", tid);
}

void tapir_wait_chain__add_text(struct tapir_str *out, const struct tapir_wait_chain *chain,
				struct tapir_timeline *tl, uint64_t at_ns)
{
	char took[TAPIR_NS_TEXT_BYTES];

	for (unsigned i = 0; i < chain->cnt; i++) {
		const struct tapir_wait_link *link = &chain->links[i];

		tapir_str__adds(out, i ? " > " : "");
		add_thread(out, tl, link->tid, at_ns);
		if (tapir_wait_reason__is_sleep(link->reason))
			tapir_str__adds(out, " sleeps ");
		else if (link->reason)
			tapir_str__addf(out, " waits for %s ", link->reason);
		else
			tapir_str__adds(out, " waits ");
		tapir_str__adds(out, tapir_ns__text(link->ns, took));
	}
	if (!chain->cnt)
		return;
	if (chain->end == TAPIR_CHAIN_END_THREAD) {
		tapir_str__adds(out, " > ");
		add_thread(out, tl, chain->end_tid, at_ns);
	} else if (chain->end == TAPIR_CHAIN_END_IRQ) {
		tapir_str__adds(out, " > an interrupt");
	}
}
