// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A place where threads wait is a function of the program and a reason. Without such a function it
 * is conclusive if the thread waits for a lock or another end of a connection: a runtime's idle
 * threads wait for events, and are last.
 */
#include "diagnose/overview.h"

#include <stdlib.h>
#include <string.h>

#include "base/keyed.h"
#include "base/order.h"
#include "diagnose/diagnosis_impl.h"

#define MAX_SITES 4096u

/* ---- waits ---------------------------------------------------------------------------------- */

/* Returns true if the wait is for another thread or process, and not for work, as a wait for
 * another end of a connection may be that has not ended. */
static bool is_for_others(const struct tapir_lore_wait *wait, bool is_open)
{
	return wait && ((wait->is_lock && !wait->may_idle) ||
			(!is_open && tapir_finding_blocking_io__is_dependency(wait->reason)));
}

static const char *reason_of(const struct tapir_wait_row *row)
{
	return row->wait ? row->wait->reason : NULL;
}

/* A timer ends a sleep, in whichever thread runs then. */
static bool is_sleep(const struct tapir_wait_row *row)
{
	return row->wait && tapir_wait_reason__is_sleep(row->wait->reason);
}

/* Returns true if it is a wait of the program, and not an idle thread's, as far as is known. */
static bool is_significant(const struct tapir_wait_row *row)
{
	return row->place != TAPIR_APP_CODE_NONE || is_for_others(row->wait, row->is_open) ||
	       (!row->is_open && row->is_unnamed);
}

static uint64_t key_of_site(const struct tapir_wait_row *row)
{
	return tapir_hash__mix(tapir_hash__mix(is_significant(row), row->place),
			       (uintptr_t)reason_of(row));
}

struct wait_site {
	const struct tapir_wait_row *first;
	bool is_significant;
	uint64_t ns;
};

static int by_importance(const void *a, const void *b)
{
	const struct wait_site *x = a, *y = b;

	return tapir_order__by(tapir_order__down(x->is_significant, y->is_significant),
			       tapir_order__down(x->ns, y->ns),
			       tapir_order__up(x->first, y->first));
}

/* Adds who ended most of the waits that ended, by their time, and if the others lasted longer. */
static void add_ends(const struct tapir_diagnosis *f, const struct wait_site *wait_site,
		     struct tapir_overview_site *out)
{
	struct tapir_label_sums enders = {};
	const struct tapir_label_sum *worst;
	const struct tapir_wait_row *row;
	struct tapir_str name = {};
	uint64_t open_ns = 0;

	tapir_vec_for_each (row, &f->wait_table.rows) {
		if (key_of_site(row) != key_of_site(wait_site->first))
			continue;
		tapir_str__clear(&name);
		if (is_sleep(row))
			tapir_str__adds(&name, "a timer");
		else if (row->waker_tid)
			tapir_diagnosis__add_thread(f, row->waker_tid, &name);
		if (row->waker_tid && !name.len)
			tapir_str__adds(&name, "another process");
		open_ns += row->is_open ? row->ns : 0;
		if (!row->is_open)
			tapir_label_sums__add(&enders, 1, name.data ? name.data : "",
					      TAPIR_APP_CODE_NONE, row->ns);
	}
	worst = tapir_label_sums__largest(&enders);
	/* If most of the time is of waits that have not ended, an ender explains little. */
	out->is_open = open_ns && TAPIR_IS_SHARE(DOMINANT, open_ns, wait_site->ns);
	out->ended_by = worst && *worst->label ? strdup(worst->label) : NULL;
	tapir_str__fini(&name);
	tapir_label_sums__fini(&enders);
}

static void add_sites(struct tapir_diagnosis *f, struct tapir_overview *o)
{
	struct tapir_keyed(struct wait_site) sites = {};
	const struct tapir_wait_row *wait;

	tapir_vec_for_each (wait, &f->wait_table.rows) {
		struct wait_site made = {.first = wait, .is_significant = is_significant(wait)},
				 *wait_site;

		wait_site = tapir_keyed__add(&sites, key_of_site(wait), MAX_SITES, made);
		if (wait_site)
			wait_site->ns += wait->ns;
	}
	tapir_keyed__sort(&sites, by_importance);
	/* Idle threads are shown where there is nothing else. */
	for (size_t i = 0;
	     i < sites.cnt && i < TAPIR_OVERVIEW_ROWS && (!i || sites.data[i].is_significant);
	     i++) {
		struct tapir_overview_site *out = &o->sites[o->site_cnt++];
		struct tapir_str name = {}, thread = {};

		out->reason = reason_of(sites.data[i].first);
		out->ns = sites.data[i].ns;
		if (sites.data[i].first->place != TAPIR_APP_CODE_NONE)
			tapir_diagnosis__add_name(f, sites.data[i].first->place, &name);
		else
			tapir_diagnosis__add_thread(f, sites.data[i].first->tid, &thread);
		o->failed |= name.failed || thread.failed;
		out->name = name.data;
		out->thread = thread.data;
		add_ends(f, &sites.data[i], out);
	}
	tapir_keyed__fini(&sites);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void add_overview_functions(struct tapir_diagnosis *f, struct tapir_overview *o)
{
	const struct tapir_function_sums *w = tapir_finding_cpu__functions(f);
	const struct tapir_map_slot *slot = w ? tapir_function_sums__next(w, NULL) : NULL;
	struct tapir_str looked_at = {};

	o->has_shares = w != NULL;
	if (w == &f->cpu.leaf) { /* an interpreter's own, for one */
		(void)tapir_finding_interp_hotspots__append_top_function(f, &looked_at);
		o->looked_at = looked_at.data;
	}
	while (slot && o->function_cnt < TAPIR_OVERVIEW_ROWS) {
		double percent = tapir_diagnosis__percent(slot->value, f->cpu.samples);
		struct tapir_str name = {};

		if (percent < TAPIR_LIMIT(SMALL))
			break;
		tapir_diagnosis__add_name(f, (uint32_t)slot->key, &name);
		o->failed |= name.failed;
		o->functions[o->function_cnt++] =
			(struct tapir_overview_function){.name = name.data, .percent = percent};
		slot = tapir_function_sums__next(w, slot);
	}
}

static void add_io(struct tapir_diagnosis *f, struct tapir_overview *o)
{
	const struct tapir_io_row *row;

	o->io_requests = f->io.cnt;
	o->io_read_bytes = f->io.read_bytes;
	o->io_written_bytes = f->io.written_bytes;
	o->failed |= f->io.failed;
	tapir_io_sums__sort(&f->io);
	tapir_vec_for_each (row, &f->io.rows) {
		struct tapir_overview_io io = {.pid = row->pid,
					       .read_bytes = row->read_bytes,
					       .written_bytes = row->written_bytes};

		if (o->io_cnt == TAPIR_OVERVIEW_ROWS || f->io.failed ||
		    !(row->read_bytes + row->written_bytes))
			break;
		io.requester = strdup(row->requester);
		io.file = strdup(row->file);
		o->failed |= !io.requester || !io.file;
		o->ios[o->io_cnt++] = io;
	}
}

static double per_second(const struct tapir_overview *o, uint64_t cnt)
{
	return o->span_ns ? (double)cnt * 1e9 / (double)o->span_ns : 0;
}

/* Adds a port at which the process is asked: a row of requests, where no events report them. */
static void add_port(const struct tapir_diagnosis *f, const struct tapir_exchange_row *row,
		     struct tapir_overview *o)
{
	struct tapir_str name = {};

	if (o->request_cnt == TAPIR_OVERVIEW_ROWS || !row->took_ns.cnt)
		return;
	tapir_exchange_sums__add_callsite(&f->calls.sums, row, &name);
	o->failed |= name.failed;
	o->requests[o->request_cnt++] =
		(struct tapir_overview_request){.name = name.data,
						.cnt = row->cnt,
						.per_second = per_second(o, row->cnt),
						.sum_ns = row->sum_ns,
						.p50_ns = tapir_exchange_row__percentile(row, 50),
						.p99_ns = tapir_exchange_row__percentile(row, 99)};
}

static void add_call(const struct tapir_diagnosis *f, const struct tapir_exchange_row *row,
		     struct tapir_overview *o)
{
	struct tapir_str peer = {}, waiters = {};

	if (o->call_cnt == TAPIR_OVERVIEW_ROWS || !(row->cnt + row->unanswered_cnt))
		return;
	tapir_exchange_sums__add_callsite(&f->calls.sums, row, &peer);
	tapir_finding_calls__add_waiters(f, row, &waiters);
	o->failed |= peer.failed || waiters.failed;
	o->calls[o->call_cnt++] =
		(struct tapir_overview_call){.peer = peer.data,
					     .waiters = waiters.data,
					     .cnt = row->cnt,
					     .timed_cnt = row->took_ns.cnt,
					     .unanswered_cnt = row->unanswered_cnt,
					     .unanswered_ns = row->unanswered_ns,
					     .sum_ns = row->sum_ns};
}

static void add_calls(const struct tapir_diagnosis *f, struct tapir_overview *o)
{
	const struct tapir_exchange_row *row;
	bool has_requests = o->request_cnt > 0;

	tapir_vec_for_each (row, &f->calls.sums.rows) {
		if (row->is_opened)
			add_call(f, row, o);
		else if (!has_requests)
			add_port(f, row, o);
	}
}

static void add_failed_calls(struct tapir_diagnosis *f, struct tapir_overview *o)
{
	struct tapir_failed_calls *calls = &f->failed_calls;

	o->syscalls_made = calls->call_cnt;
	o->syscalls_failed = calls->failed_cnt;
	o->failed |= calls->failed;
	tapir_failed_calls__sort(calls);
	while (o->failed_call_cnt < TAPIR_OVERVIEW_ROWS && o->failed_call_cnt < calls->rows.cnt) {
		o->failed_calls[o->failed_call_cnt] = calls->rows.data[o->failed_call_cnt];
		o->failed_call_cnt++;
	}
}

static void add_chains(struct tapir_diagnosis *f, struct tapir_overview *o)
{
	const struct tapir_chain_row *row;

	tapir_chain_sums__sort(&f->chain_sums);
	tapir_vec_for_each (row, &f->chain_sums.rows) {
		struct tapir_overview_chain *out = &o->chains[o->chain_cnt];

		if (o->chain_cnt == TAPIR_OVERVIEW_ROWS)
			return;
		if (row->ns * 100 < o->span_ns)
			continue;
		*out = (struct tapir_overview_chain){strdup(row->text), row->ns, row->cnt};
		o->failed |= !out->text;
		o->chain_cnt += out->text != NULL;
	}
}

void tapir_overview__make(struct tapir_diagnosis *f, struct tapir_overview *o)
{
	o->sample_cnt = f->cpu.samples;
	o->span_ns = tapir_timeline__span_ns(f->tl);
	tapir_overview_requests__add(f, o);
	add_overview_functions(f, o);
	add_sites(f, o);
	add_chains(f, o);
	add_io(f, o);
	add_calls(f, o);
	add_failed_calls(f, o);
}

void tapir_overview__fini(struct tapir_overview *o)
{
	for (size_t i = 0; i < TAPIR_OVERVIEW_ROWS; i++) {
		free(o->requests[i].name);
		free(o->requests[i].spent);
		free(o->functions[i].name);
		free(o->sites[i].name);
		free(o->sites[i].thread);
		free(o->sites[i].ended_by);
		free(o->chains[i].text);
		free(o->ios[i].requester);
		free(o->ios[i].file);
		free(o->calls[i].peer);
		free(o->calls[i].waiters);
	}
	free(o->looked_at);
}
