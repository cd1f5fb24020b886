// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests on TCP connections: the calls of the recorded processes by peer, what they were asked by
 * listening port, and connections that ended with an error.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/exchange_sums.h"
#include "analyze/view.h"

/* Sums over one table. */
struct sums {
	uint64_t cnt, overlap_cnt, unseen_cnt, unanswered_cnt, rows;
};

struct net {
	struct tapir_view_args args;
	struct tapir_exchange_sums sums;
	struct sums calls, requests; /* at the end */
	uint64_t error_cnt;
};

static void net_fini(void *ctx)
{
	struct net *v = ctx;

	tapir_exchange_sums__fini(&v->sums);
}

static void net_on_record(void *ctx, const struct tapir_rec *rec)
{
	struct net *v = ctx;

	if (rec->type == TAPIR_REC_EXCHANGE)
		tapir_exchange_sums__add(&v->sums, tapir_timeline__catalog(v->args.tl),
					 (const void *)rec);
	v->args.failed |= v->sums.failed;
}

static void write_callsite(const struct net *v, struct tapir_view_result *result, size_t t,
			   const struct tapir_exchange_row *row)
{
	struct tapir_str text = {};

	tapir_exchange_sums__add_callsite(&v->sums, row, &text);
	tapir_view_result__textn(result, t, (struct tapir_sv){text.data, text.len});
	result->failed |= text.failed;
	tapir_str__fini(&text);
}

/* "shop (4711)"; processes that share their name have no id. */
static void write_party(struct tapir_view_result *result, size_t t,
			const struct tapir_exchange_party *party)
{
	if (party->tgid)
		tapir_view_result__name(result, t, party->comm, party->tgid);
	else
		tapir_view_result__text(result, t, party->comm);
}

/* A time that is not known is not 0. */
static void write_time(struct tapir_view_result *result, size_t t,
		       const struct tapir_exchange_row *row, uint64_t ns)
{
	tapir_view_result__known(result, t, ns, row->took_ns.cnt);
}

/* Text has what fits into 80 columns with a peer and a process. */
#define NUMBERS(cnt, title)                                                                        \
	{cnt, title, TAPIR_CELL_COUNT}, {"per_second", ">/S", TAPIR_CELL_NUMBER},                  \
		{"p50_ns", ">P50", TAPIR_CELL_NS}, {"p99_ns", ">P99", TAPIR_CELL_NS},              \
		{"max_ns", NULL, TAPIR_CELL_NS}, {"ns", NULL, TAPIR_CELL_NS},                      \
		{"bytes", NULL, TAPIR_CELL_BYTES}, {"sent_bytes", NULL, TAPIR_CELL_BYTES},         \
		{"received_bytes", NULL, TAPIR_CELL_BYTES}, {"overlaps", NULL, TAPIR_CELL_COUNT},  \
		{"unseen", NULL, TAPIR_CELL_COUNT}, {"unanswered", NULL, TAPIR_CELL_COUNT},        \
	{                                                                                          \
		"unanswered_ns", NULL, TAPIR_CELL_NS                                               \
	}

static void write_numbers(const struct net *v, struct tapir_view_result *result, size_t t,
			  const struct tapir_exchange_row *row)
{
	uint64_t span_ns = tapir_timeline__span_ns(v->args.tl);

	tapir_view_result__u64(result, t, row->cnt);
	if (span_ns)
		tapir_view_result__f64(result, t,
				       round((double)row->cnt * 1e10 / (double)span_ns) / 10);
	else
		tapir_view_result__none(result, t);
	write_time(result, t, row, tapir_exchange_row__percentile(row, 50));
	write_time(result, t, row, tapir_exchange_row__percentile(row, 99));
	write_time(result, t, row, tapir_exchange_row__percentile(row, 100));
	write_time(result, t, row, row->sum_ns);
	tapir_view_result__u64(result, t, row->sent_bytes + row->received_bytes);
	tapir_view_result__u64(result, t, row->sent_bytes);
	tapir_view_result__u64(result, t, row->received_bytes);
	tapir_view_result__u64(result, t, row->overlap_cnt);
	tapir_view_result__u64(result, t, row->unseen_cnt);
	tapir_view_result__u64(result, t, row->unanswered_cnt);
	tapir_view_result__u64(result, t, row->unanswered_ns);
}

static struct sums write_net_table(const struct net *v, struct tapir_view_result *result,
				   bool is_opened, const char *key, const char *title,
				   const struct tapir_column *columns)
{
	const struct tapir_exchange_row *row;
	struct sums sums = {};
	size_t t = 0;

	tapir_vec_for_each (row, &v->sums.rows) {
		if (row->is_opened != is_opened || !(row->cnt + row->unanswered_cnt))
			continue;
		sums.cnt += row->cnt;
		sums.overlap_cnt += row->overlap_cnt;
		sums.unseen_cnt += row->unseen_cnt;
		sums.unanswered_cnt += row->unanswered_cnt;
		/* Sums are of all rows, also of those that are not shown. */
		if (++sums.rows > v->args.top)
			continue;
		if (!t)
			t = tapir_view_result__table(result, key, title, columns) + 1;
		write_numbers(v, result, t - 1, row);
		if (is_opened)
			write_callsite(v, result, t - 1, row);
		else
			tapir_view_result__u64(result, t - 1, row->port);
		write_party(result, t - 1, &row->party);
	}
	tapir_view_result__note_top(result, key, v->args.top, sums.rows);
	return sums;
}

static uint64_t write_errors(const struct net *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		{"connections", ">CONNECTIONS", TAPIR_CELL_COUNT},
		{"error", "ERROR", TAPIR_CELL_TEXT},
		{"peer", "PEER", TAPIR_CELL_TEXT},
		{"process", "PROCESS", TAPIR_CELL_TEXT},
		{}};
	const struct tapir_exchange_row *row;
	uint64_t cnt = 0, rows = 0;
	/*
	 * The table's number + 1: it is added with its first row, because an empty one is not
	 * shown.
	 */
	size_t t = 0;

	tapir_vec_for_each (row, &v->sums.rows)
		for (unsigned e = 0; e < TAPIR_EXCHANGE_ERROR_CNT; e++) {
			cnt += row->errors[e];
			if (!row->errors[e] || ++rows > v->args.top)
				continue;
			if (!t)
				t = tapir_view_result__table(result, "errors",
							     "connections that failed", columns) +
				    1;
			tapir_view_result__u64(result, t - 1, row->errors[e]);
			tapir_view_result__text(result, t - 1, tapir_exchange_error__name(e));
			write_callsite(v, result, t - 1, row);
			write_party(result, t - 1, &row->party);
		}
	return cnt;
}

static void note_untimed(struct tapir_view_result *result, uint64_t cnt, uint64_t of,
			 const char *why)
{
	if (cnt)
		tapir_view_result__note(
			result, "the time of %" PRIu64 " of %" PRIu64 " requests is not known: %s",
			cnt, of, why);
}

static void write_notes(const struct net *v, struct tapir_view_result *result,
			const struct sums *calls, const struct sums *requests)
{
	uint64_t overlaps = calls->overlap_cnt + requests->overlap_cnt;
	uint64_t unanswered = calls->unanswered_cnt + requests->unanswered_cnt;
	uint64_t unseen = calls->unseen_cnt + requests->unseen_cnt;

	note_untimed(result, overlaps, calls->cnt + requests->cnt,
		     "others may have been under way on their connection (HTTP/2, pipelining)");
	note_untimed(result, unseen, calls->cnt + requests->cnt,
		     "bytes passed that are not seen (splice, zero-copy, TLS in the kernel)");
	if (unanswered)
		tapir_view_result__note(result,
					"%" PRIu64 " requests had no answer when their connection "
					"or the recording ended",
					unanswered);
	if (v->sums.more)
		tapir_view_result__note(result, "%" PRIu64 " requests found no room in the tables",
					v->sums.more);
}

static int net_finish(void *ctx, struct tapir_view_result *result)
{
	static const struct tapir_column calls_columns[] = {NUMBERS("calls", ">CALLS"),
							    {"peer", "PEER", TAPIR_CELL_TEXT},
							    {"process", "BY", TAPIR_CELL_TEXT},
							    {}};
	static const struct tapir_column served_columns[] = {
		NUMBERS("requests", ">REQUESTS"),
		{"port", ">PORT", TAPIR_CELL_ID},
		{"process", "PROCESS", TAPIR_CELL_TEXT},
		{}};
	struct net *v = ctx;

	tapir_exchange_sums__sort(&v->sums);
	v->calls = write_net_table(v, result, true, "calls", "calls by peer", calls_columns);
	v->requests = write_net_table(v, result, false, "requests", "requests by listening port",
				      served_columns);
	v->error_cnt = write_errors(v, result);
	write_notes(v, result, &v->calls, &v->requests);
	tapir_str__addf(&result->headline, "%" PRIu64 " call%s, %" PRIu64 " request%s",
			v->calls.cnt, v->calls.cnt == 1 ? "" : "s", v->requests.cnt,
			v->requests.cnt == 1 ? "" : "s");
	if (v->error_cnt)
		tapir_str__addf(&result->headline, ", %" PRIu64 " connection%s failed",
				v->error_cnt, v->error_cnt == 1 ? "" : "s");
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct net, calls.cnt, "calls", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct net, requests.cnt, "requests", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct net, error_cnt, "errors", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_net = {
	.name = "net",
	.summary = "calls by peer and requests by port on TCP connections",
	.fns = {.record = net_on_record},
	.nothing = "no request on a TCP connection was seen",
	.source = {"requests on connections", "`tapir record --net`",
		   .family = TAPIR_FAMILY_EXCHANGE, .is_alone = true},
	.facts = facts,
	.found_off = TAPIR_VIEW_NUMBER(struct net, sums.rows.cnt),
	.ctx_bytes = sizeof(struct net),
	.default_top = 10,
	.finish = net_finish,
	.fini = net_fini,
};
