// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The view "signals": a row for each signal, sender, receiver and way of sending, with counts of
 * what became of it. Names are those of the time of the signal, because a receiver may be gone at
 * the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/view.h"
#include "base/keyed.h"
#include "base/order.h"
#include "trace/signals.h"

#define ROWS_MAX 4096u

struct party {
	uint32_t pid;
	char comm[TAPIR_COMM_TEXT_BYTES];
};

struct sent {
	uint8_t number;
	const char *way;
	struct party from, to;
	uint64_t cnt, ignored_cnt, pending_cnt, refused_cnt;
	uint64_t last_ns;
};

struct signals {
	struct tapir_view_args args;
	struct tapir_keyed(struct sent) rows;
	uint64_t cnt;
};

static void set_party(const struct signals *v, struct party *party, uint32_t pid, uint32_t tid,
		      uint64_t time_ns)
{
	party->pid = pid;
	tapir_comm__copy(party->comm, tapir_timeline__comm(v->args.tl, tid, time_ns));
}

static void signals_on_record(void *ctx, const struct tapir_rec *rec)
{
	const struct tapir_rec_signal *s = (const void *)rec;
	struct sent made = {}, *row;
	struct signals *v = ctx;
	uint64_t key;

	if (rec->type != TAPIR_REC_SIGNAL)
		return;
	made.number = s->number;
	made.way = tapir_signal__way(s->number, s->code);
	set_party(v, &made.from, s->tgid, s->tid, rec->time_ns);
	set_party(v, &made.to, s->to_tgid, s->to_tid, rec->time_ns);
	key = tapir_hash__mix(tapir_hash__mix(s->number, (uint32_t)s->code),
			      (uint64_t)s->tgid << 32 | s->to_tgid);
	row = tapir_keyed__add(&v->rows, key, ROWS_MAX, made);
	v->cnt++;
	if (!row)
		return;
	row->cnt++;
	row->ignored_cnt += s->result == TAPIR_SIGNAL_IGNORED;
	row->pending_cnt += s->result == TAPIR_SIGNAL_PENDING;
	row->refused_cnt += s->result == TAPIR_SIGNAL_OVERFLOW;
	row->last_ns = rec->time_ns;
}

static int by_cnt(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	return tapir_order__by(
		tapir_order__down(x->cnt, y->cnt), tapir_order__up(x->number, y->number),
		tapir_order__up(x->from.pid, y->from.pid), tapir_order__up(x->to.pid, y->to.pid));
}

static void write_party(struct tapir_view_result *result, size_t t, const struct party *party)
{
	if (party->pid)
		tapir_view_result__name(result, t, party->comm[0] ? party->comm : "?", party->pid);
	else
		tapir_view_result__text(result, t, "the kernel");
	tapir_view_result__u64(result, t, party->pid);
}

static void write_row(void *ctx, struct tapir_view_result *result, size_t t, unsigned which,
		      const void *of)
{
	const struct sent *row = of;

	(void)ctx, (void)which;
	tapir_view_result__u64(result, t, row->cnt);
	tapir_view_result__text(result, t, tapir_signal__name(row->number));
	write_party(result, t, &row->from);
	write_party(result, t, &row->to);
	tapir_view_result__text(result, t, row->way);
	tapir_view_result__u64(result, t, row->ignored_cnt);
	tapir_view_result__u64(result, t, row->pending_cnt);
	tapir_view_result__u64(result, t, row->refused_cnt);
	tapir_view_result__time(result, t, row->last_ns);
}

static const struct tapir_column columns[] = {{"count", ">SIGNALS", TAPIR_CELL_COUNT},
					      {"signal", "SIGNAL", TAPIR_CELL_TEXT},
					      {"from", "FROM", TAPIR_CELL_TEXT},
					      {"from_pid", NULL, TAPIR_CELL_ID},
					      {"to", "TO", TAPIR_CELL_TEXT},
					      {"to_pid", NULL, TAPIR_CELL_ID},
					      {"way", "BY", TAPIR_CELL_TEXT},
					      {"ignored", ">IGNORED", TAPIR_CELL_COUNT},
					      {"pending", ">DROPPED", TAPIR_CELL_COUNT},
					      {"refused", NULL, TAPIR_CELL_COUNT},
					      {"last_ns", ">LAST", TAPIR_CELL_TIME},
					      {}};

static const struct tapir_view_table tables[] = {
	{"signals", NULL, columns, TAPIR_VIEW_ROWS(struct signals, rows), by_cnt, write_row}, {}};

static int signals_finish(void *ctx, struct tapir_view_result *result)
{
	struct signals *v = ctx;
	uint64_t pending = 0;

	for (size_t i = 0; i < v->rows.cnt; i++)
		pending += v->rows.data[i].pending_cnt;
	tapir_str__addf(&result->headline, "%" PRIu64 " signal%s", v->cnt, v->cnt == 1 ? "" : "s");
	if (pending)
		tapir_str__addf(&result->headline,
				", %" PRIu64 " of them dropped: an equal one was pending", pending);
	return 0;
}

static void signals_fini(void *ctx)
{
	struct signals *v = ctx;

	tapir_keyed__fini(&v->rows);
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct signals, cnt, "count", NULL, COUNT)}, {}};

const struct tapir_view tapir_view_signals = {
	.name = "signals",
	.summary = "signals by sender and receiver, with their results",
	.fns = {.record = signals_on_record},
	.nothing = "no signal was sent",
	.source = {"signals", "`tapir record --signals`", .family = TAPIR_FAMILY_SIGNAL,
		   .is_alone = true},
	.facts = facts,
	.tables = tables,
	.unit = "signals",
	.found_off = TAPIR_VIEW_NUMBER(struct signals, rows.cnt),
	.ctx_bytes = sizeof(struct signals),
	.default_top = 20,
	.finish = signals_finish,
	.fini = signals_fini,
};
