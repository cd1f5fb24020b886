// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests to block devices: by file, by who made them, by device, and by the stack from which.
 * Each request is kept, a few words, so that percentiles are exact: the tables are the same
 * requests in another order.
 *
 * A time is from when a request was made to its end: what a thread that waits for it waits.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/io_sums.h"
#include "base/order.h"
#include "analyze/view.h"
#include "decode/io_text.h"

#define MAX_REQUESTS (1u << 21) /* 80 MB */
#define MAX_NAMES    (1u << 18)

enum group { BY_FILE, BY_PROCESS, BY_DISK, BY_STACK, GROUPS };

struct request {
	uint32_t of[GROUPS]; /* indices of names; of a stack, its node */
	uint64_t took_ns, device_ns;
	uint32_t bytes;
	uint8_t op;
};

struct name {
	char *text;
	uint32_t pid; /* of a process; 0: none */
};

/* The sums over the requests of one file, process, disk or stack. */
struct row {
	uint32_t of, mostly; /* mostly: the other name of most of its bytes */
	uint64_t cnts[TAPIR_IO_OP_CNT], bytes[TAPIR_IO_OP_CNT], cnt;
	uint64_t p50_ns, p99_ns, max_ns;
};

struct io {
	struct tapir_view_args args;
	struct tapir_vec(struct request) requests;
	struct tapir_vec(struct name) names;
	struct tapir_map name_by_key;
	struct tapir_vec(struct row) rows;
	uint64_t more, failed_cnt, bytes[TAPIR_IO_OP_CNT], cnts[TAPIR_IO_OP_CNT];
};

static void io_fini(void *ctx)
{
	struct io *v = ctx;
	struct name *name;

	tapir_vec_for_each (name, &v->names)
		free(name->text);
	tapir_vec__fini(&v->names);
	tapir_map__fini(&v->name_by_key);
	tapir_vec__fini(&v->requests);
	tapir_vec__fini(&v->rows);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* 0 beyond the bound, or without memory. */
static uint32_t io_group_name(struct io *v, enum group group, struct tapir_sv text, uint32_t pid)
{
	uint64_t key = tapir_hash__bytes(tapir_hash__mix(pid, group), text.data, text.len), *idx;
	struct name *added;

	if (!v->names.cnt && tapir_vec__add(&v->names))
		v->names.data[0] = (struct name){};
	if (v->names.cnt >= MAX_NAMES && !tapir_map__get(&v->name_by_key, key))
		return 0;
	idx = tapir_map__put(&v->name_by_key, key, NULL);
	if (idx && *idx)
		return (uint32_t)*idx;
	added = idx && v->names.cnt ? tapir_vec__add(&v->names) : NULL;
	v->args.failed |= !added;
	if (!added)
		return 0;
	*added = (struct name){strndup(text.data, text.len), pid};
	v->args.failed |= !added->text;
	*idx = v->names.cnt - 1;
	return (uint32_t)*idx;
}

static uint32_t file_of(struct io *v, const struct tapir_io_view *io)
{
	struct tapir_str text = {};
	uint32_t idx;

	tapir_io__add_file(&text, io);
	if (!text.len)
		tapir_str__adds(&text, "[no data]");
	v->args.failed |= text.failed;
	idx = text.failed ? 0
			  : io_group_name(v, BY_FILE, (struct tapir_sv){text.data, text.len}, 0);
	tapir_str__fini(&text);
	return idx;
}

static uint32_t process_of(struct io *v, const struct tapir_rec_io *rec)
{
	uint32_t pid;
	struct tapir_sv requester =
		tapir_io__requester(tapir_timeline__catalog(v->args.tl), rec, &pid);

	return io_group_name(v, BY_PROCESS, requester, pid);
}

static void on_io(void *ctx, const struct tapir_rec *rec, uint32_t node)
{
	struct io *v = ctx;
	struct request request = {};
	struct tapir_io_view io;

	tapir_io_view__of(rec, &io);
	if (v->requests.cnt == MAX_REQUESTS) {
		v->more++;
		return;
	}
	request.op = io.rec->op < TAPIR_IO_OP_CNT ? io.rec->op : TAPIR_IO_OTHER;
	request.bytes = io.rec->bytes;
	request.device_ns = io.rec->device_ns;
	request.took_ns = io.rec->queue_ns + io.rec->device_ns;
	request.of[BY_FILE] = file_of(v, &io);
	request.of[BY_PROCESS] = process_of(v, io.rec);
	request.of[BY_DISK] = io_group_name(v, BY_DISK, io.disk, 0);
	request.of[BY_STACK] = node;
	v->args.failed |= !tapir_vec__push(&v->requests, request);
	v->failed_cnt += io.rec->error != 0;
	v->cnts[request.op]++;
	v->bytes[request.op] += request.bytes;
}

/* ---- groups --------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b, void *ctx)
{
	const struct request *x = a, *y = b;
	enum group group = *(const enum group *)ctx;

	return tapir_order__by(tapir_order__up(x->of[group], y->of[group]),
			       tapir_order__up(x->took_ns, y->took_ns));
}

static uint64_t moved(const struct row *row)
{
	return row->bytes[TAPIR_IO_READ] + row->bytes[TAPIR_IO_WRITE];
}

static int by_bytes(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return tapir_order__by(tapir_order__down(moved(x), moved(y)),
			       tapir_order__down(x->cnt, y->cnt), tapir_order__up(x->of, y->of));
}

/* The name with the most bytes, then the most requests, among requests of one row. */
static uint32_t mostly_of(struct io *v, struct request *requests, size_t cnt, enum group by)
{
	struct tapir_map bytes = {};
	uint64_t max = 0;
	uint32_t best = 0;

	for (size_t i = 0; i < cnt; i++) {
		uint64_t *sum = tapir_map__put(&bytes, requests[i].of[by] + 1ull, NULL);

		v->args.failed |= !sum;
		if (!sum)
			break;
		*sum += requests[i].op == TAPIR_IO_READ || requests[i].op == TAPIR_IO_WRITE
				? requests[i].bytes + 1ull
				: 1;
		if (*sum > max) {
			max = *sum;
			best = requests[i].of[by];
		}
	}
	tapir_map__fini(&bytes);
	return best;
}

/* The nearest rank, as with a sorted list on paper. */
static uint64_t percentile(const struct request *sorted, size_t cnt, unsigned percent)
{
	size_t rank = (cnt * percent + 99) / 100;

	return sorted[rank ? rank - 1 : 0].took_ns;
}

static void add_io_row(struct io *v, struct request *requests, size_t cnt, enum group group)
{
	struct row row = {.of = requests[0].of[group], .cnt = cnt};

	for (size_t i = 0; i < cnt; i++) {
		row.cnts[requests[i].op]++;
		row.bytes[requests[i].op] += requests[i].bytes;
	}
	row.p50_ns = percentile(requests, cnt, 50);
	row.p99_ns = percentile(requests, cnt, 99);
	row.max_ns = requests[cnt - 1].took_ns;
	row.mostly = mostly_of(v, requests, cnt, group == BY_FILE ? BY_PROCESS : BY_FILE);
	v->args.failed |= !tapir_vec__push(&v->rows, row);
}

/* Fills v->rows, those with the most bytes first. */
static void group_by(struct io *v, enum group group)
{
	struct request *all = v->requests.data;
	size_t from = 0;

	v->rows.cnt = 0;
	if (!v->requests.cnt)
		return;
	qsort_r(all, v->requests.cnt, sizeof(*all), by_group, &group);
	for (size_t i = 1; i <= v->requests.cnt; i++) {
		if (i < v->requests.cnt && all[i].of[group] == all[from].of[group])
			continue;
		add_io_row(v, all + from, i - from, group);
		from = i;
	}
	qsort(v->rows.data, v->rows.cnt, sizeof(*v->rows.data), by_bytes);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void write_name(const struct io *v, struct tapir_view_result *result, size_t t, uint32_t idx)
{
	const struct name *name = idx < v->names.cnt ? &v->names.data[idx] : NULL;
	struct tapir_str text = {};

	if (!name || !name->text) {
		tapir_view_result__none(result, t);
		return;
	}
	tapir_str__adds(&text, name->text);
	if (name->pid)
		tapir_str__addf(&text, " (%u)", name->pid);
	tapir_view_result__text(result, t, text.data);
	tapir_str__fini(&text);
}

static void write_numbers(struct tapir_view_result *result, size_t t, const struct row *row)
{
	tapir_view_result__u64(result, t, row->cnts[TAPIR_IO_READ]);
	tapir_view_result__u64(result, t, row->cnts[TAPIR_IO_WRITE]);
	tapir_view_result__u64(result, t,
			       row->cnt - row->cnts[TAPIR_IO_READ] - row->cnts[TAPIR_IO_WRITE]);
	tapir_view_result__u64(result, t, moved(row));
	tapir_view_result__u64(result, t, row->bytes[TAPIR_IO_READ]);
	tapir_view_result__u64(result, t, row->bytes[TAPIR_IO_WRITE]);
	tapir_view_result__u64(result, t, row->p50_ns);
	tapir_view_result__u64(result, t, row->p99_ns);
	tapir_view_result__u64(result, t, row->max_ns);
}

#define NUMBERS                                                                                    \
	{"reads", ">READS", TAPIR_CELL_COUNT}, {"writes", ">WRITES", TAPIR_CELL_COUNT},            \
		{"others", NULL, TAPIR_CELL_COUNT}, {"bytes", ">BYTES", TAPIR_CELL_BYTES},         \
		{"read_bytes", NULL, TAPIR_CELL_BYTES}, {"written_bytes", NULL, TAPIR_CELL_BYTES}, \
		{"p50_ns", ">P50", TAPIR_CELL_NS}, {"p99_ns", ">P99", TAPIR_CELL_NS},              \
	{                                                                                          \
		"max_ns", ">MAX", TAPIR_CELL_NS                                                    \
	}

static void write_names(struct io *v, struct tapir_view_result *result, enum group group,
			const struct tapir_column *columns, const char *key, const char *title)
{
	size_t t = tapir_view_result__table(result, key, title, columns);
	const struct row *row;
	uint64_t left = v->args.top;

	group_by(v, group);
	tapir_vec_for_each (row, &v->rows) {
		if (!left--)
			break;
		write_numbers(result, t, row);
		write_name(v, result, t, row->of);
		if (group != BY_DISK)
			write_name(v, result, t, row->mostly);
	}
	tapir_view_result__note_top(result, key, v->args.top, v->rows.cnt);
}

static void write_stacks(struct io *v, struct tapir_view_result *result)
{
	static const struct tapir_column columns[] = {
		NUMBERS, {"stack", "FROM", TAPIR_CELL_ORIGIN}, {}};
	size_t t = 0;
	const struct row *row;
	uint64_t left = v->args.top;

	group_by(v, BY_STACK);
	tapir_vec_for_each (row, &v->rows) {
		if (row->of >= result->tree->nodes.cnt)
			continue; /* without a stack */
		if (!left--)
			break;
		if (!t)
			t = tapir_view_result__table(result, "stacks", "by stack", columns) + 1;
		write_numbers(result, t - 1, row);
		tapir_view_result__stack(result, t - 1, row->of);
	}
}

static void write_tables(struct io *v, struct tapir_view_result *result)
{
	static const struct tapir_column files[] = {NUMBERS,
						    {"file", "FILE", TAPIR_CELL_TEXT},
						    {"by", "MOSTLY BY", TAPIR_CELL_TEXT},
						    {}};
	static const struct tapir_column processes[] = {NUMBERS,
							{"process", "PROCESS", TAPIR_CELL_TEXT},
							{"file", "MOSTLY", TAPIR_CELL_TEXT},
							{}};
	static const struct tapir_column disks[] = {NUMBERS, {"disk", "DISK", TAPIR_CELL_TEXT}, {}};

	write_names(v, result, BY_FILE, files, "files", "by file");
	write_names(v, result, BY_PROCESS, processes, "processes", "by process");
	write_names(v, result, BY_DISK, disks, "disks", "by device");
	write_stacks(v, result);
}

static void write_headline(const struct io *v, struct tapir_view_result *result)
{
	double seconds = (double)tapir_timeline__span_ns(v->args.tl) / 1e9;
	double mb[2] = {(double)v->bytes[TAPIR_IO_READ] / 1e6,
			(double)v->bytes[TAPIR_IO_WRITE] / 1e6};

	tapir_str__addf(&result->headline, "%zu block requests: %.1f MB read, %.1f MB written",
			v->requests.cnt, mb[0], mb[1]);
	if (seconds > 0)
		tapir_str__addf(&result->headline, " (%.1f MB a second)",
				(mb[0] + mb[1]) / seconds);
	if (v->cnts[TAPIR_IO_FLUSH])
		tapir_str__addf(&result->headline, ", %" PRIu64 " flushes",
				v->cnts[TAPIR_IO_FLUSH]);
	if (v->failed_cnt)
		tapir_view_result__note(result, "%" PRIu64 " requests failed", v->failed_cnt);
	if (v->more)
		tapir_view_result__note(result,
					"%" PRIu64 " requests after the first %u are not counted",
					v->more, MAX_REQUESTS);
}

static int io_finish(void *ctx, struct tapir_view_result *result)
{
	struct io *v = ctx;

	write_tables(v, result);
	write_headline(v, result);
	return 0;
}

static const struct tapir_view_fact facts[] = {
	{TAPIR_VIEW_FACT(struct io, cnts[TAPIR_IO_READ], "reads", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct io, cnts[TAPIR_IO_WRITE], "writes", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct io, cnts[TAPIR_IO_FLUSH], "flushes", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct io, cnts[TAPIR_IO_DISCARD], "discards", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct io, cnts[TAPIR_IO_ZERO], "zeroes", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct io, cnts[TAPIR_IO_OTHER], "others", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct io, bytes[TAPIR_IO_READ], "read_bytes", NULL, COUNT)},
	{TAPIR_VIEW_FACT(struct io, bytes[TAPIR_IO_WRITE], "written_bytes", NULL, COUNT)},
	{}};

const struct tapir_view tapir_view_io = {
	.name = "io",
	.summary = "block requests by file, process, device and stack",
	.fns = {.io = on_io},
	.nothing = "no block request was seen",
	.source = {"block requests", "`tapir record --io`", .family = TAPIR_FAMILY_IO,
		   .is_alone = true},
	.facts = facts,
	.found_off = TAPIR_VIEW_NUMBER(struct io, requests.cnt),
	.ctx_bytes = sizeof(struct io),
	.default_top = 10,
	.finish = io_finish,
	.fini = io_fini,
};
