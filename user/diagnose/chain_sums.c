// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits of less than a millisecond have no chain here: to follow them all would take longer than
 * what they could explain is worth.
 */
#include "diagnose/chain_sums.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/wait_chain.h"
#include "base/order.h"
#include "diagnose/diagnosis_impl.h"

#define MAX_CHAINS 4096u

static void add_process(const struct tapir_diagnosis *f, uint32_t tid, uint64_t at_ns,
			struct tapir_str *out)
{
	const struct tapir_rec_thread *thread =
		tapir_catalog__thread(tapir_timeline__catalog(f->tl), tid, at_ns);
	const char *comm = thread ? thread->leader_comm : "";

	if (*comm)
		tapir_str__add_printable(out, comm, strnlen(comm, TAPIR_COMM_BYTES));
	else
		tapir_str__addc(out, '?');
}

static void add_link(struct tapir_str *out, const char *reason)
{
	tapir_str__addf(out, ": %s > ", reason ? reason : "unknown");
}

static bool is_of_several_processes(const struct tapir_diagnosis *f,
				    const struct tapir_wait_chain *chain, uint32_t tgid)
{
	for (unsigned i = 0; i < chain->cnt; i++) {
		const struct tapir_tl_thread *t =
			tapir_timeline__thread(f->tl, chain->links[i].tid);

		if (t && t->tgid != tgid)
			return true;
	}
	return false;
}

static void add_chain_text(struct tapir_diagnosis *f, const struct tapir_wait *w,
			   const struct tapir_wait_chain *chain, struct tapir_str *out)
{
	const struct tapir_lore_wait *wait = tapir_diagnosis__wait_at(f, w->node);
	const char *reason = wait ? wait->reason : NULL;

	add_process(f, w->thread->tid, w->wake_ns, out);
	for (unsigned i = 0; i < chain->cnt; i++) {
		add_link(out, reason);
		add_process(f, chain->links[i].tid, w->wake_ns, out);
		reason = chain->links[i].reason;
	}
	if (!chain->end_tid) {
		tapir_str__addf(out, ": %s", reason ? reason : "unknown");
		return;
	}
	add_link(out, reason);
	add_process(f, chain->end_tid, w->wake_ns, out);
}

/*
 * Servers without work wait for clients that sleep, longer than all others: they are not what is
 * slow.
 */
static unsigned rank_of(const struct tapir_diagnosis *f, const struct tapir_wait_chain *chain)
{
	if (chain->end == TAPIR_CHAIN_END_THREAD)
		return tapir_timeline__thread(f->tl, chain->end_tid) ? 0 : 2;
	if (chain->end == TAPIR_CHAIN_END_TIMER)
		return 1;
	return chain->links[chain->cnt - 1].reason ? 0 : 2;
}

void tapir_chain_sums__add(struct tapir_diagnosis *f, const struct tapir_wait *w)
{
	uint64_t ns = w->wake_ns - w->from_ns;
	struct tapir_chain_row *row;
	struct tapir_wait_chain chain;
	struct tapir_str text = {};

	if (ns < TAPIR_SHORT_WAIT_NS || !w->waker_tid)
		return;
	tapir_wait_chain__follow(&chain, f->tl, &f->reasons, w);
	if (!is_of_several_processes(f, &chain, w->thread->tgid))
		return;
	add_chain_text(f, w, &chain, &text);
	row = text.failed
		      ? NULL
		      : tapir_keyed__add(&f->chain_sums.rows,
					 tapir_hash__bytes(5, text.data, text.len), MAX_CHAINS,
					 ((struct tapir_chain_row){.rank = rank_of(f, &chain)}));
	f->chain_sums.rows.failed |= text.failed;
	if (row) {
		row->ns += ns;
		row->cnt++;
	}
	if (row && !row->text)
		row->text = text.data;
	else
		tapir_str__fini(&text);
}

static int by_time(const void *a, const void *b)
{
	const struct tapir_chain_row *x = a, *y = b;

	return tapir_order__by(tapir_order__up(x->rank, y->rank), tapir_order__down(x->ns, y->ns),
			       tapir_order__down(x->cnt, y->cnt), strcmp(x->text, y->text));
}

void tapir_chain_sums__sort(struct tapir_chain_sums *sums)
{
	tapir_keyed__sort(&sums->rows, by_time);
}

void tapir_chain_sums__fini(struct tapir_chain_sums *sums)
{
	struct tapir_chain_row *row;

	tapir_vec_for_each (row, &sums->rows)
		free(row->text);
	tapir_keyed__fini(&sums->rows);
}
