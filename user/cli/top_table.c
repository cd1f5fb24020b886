// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A column in which no row has a value is left out, and others where there is no room for names: on
 * a narrow terminal the name is worth more than the tenth number.
 */
#include "cli/top_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/order.h"

#define NAME_COLUMNS 12u /* that names have at least */
#define CELL_BYTES   16

typedef void (*cell_fn)(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES]);

/* ---- cells: empty ones have no value ---------------------------------------------------------- */

static void put_share(double share, char out[CELL_BYTES])
{
	if (share >= 0.0005)
		snprintf(out, CELL_BYTES, "%.1f", 100 * share);
}

static void put_amount(double amount, char out[CELL_BYTES])
{
	if (amount >= 1e9)
		snprintf(out, CELL_BYTES, "%.1fG", amount / 1e9);
	else if (amount >= 1e6)
		snprintf(out, CELL_BYTES, "%.1fM", amount / 1e6);
	else if (amount >= 1e3)
		snprintf(out, CELL_BYTES, "%.0fk", amount / 1e3);
	else if (amount >= 0.5)
		snprintf(out, CELL_BYTES, "%.0f", amount);
}

static void put_waits(double threads, char out[CELL_BYTES])
{
	if (threads >= 0.05)
		snprintf(out, CELL_BYTES, threads < 100 ? "%.1f" : "%.0f", threads);
}

static double cpus_of(const struct tapir_top_row *row, double seconds)
{
	return (double)row->used.cpu_ns / 1e9 / seconds;
}

static void put_cpu(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	snprintf(out, CELL_BYTES, "%.1f", 100 * cpus_of(row, seconds));
}

static void put_work(const struct tapir_top_row *row, double seconds, enum tapir_top_work work,
		     char out[CELL_BYTES])
{
	double all = tapir_top_row__samples(row);

	if (all > 0)
		put_share(cpus_of(row, seconds) * row->work[work] / all, out);
}

#define WORK(name, work)                                                                           \
	static void name(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])    \
	{                                                                                          \
		put_work(row, seconds, work, out);                                                 \
	}

WORK(put_own, TAPIR_TOP_OWN)
WORK(put_runtime, TAPIR_TOP_RUNTIME)
WORK(put_gc, TAPIR_TOP_GC)
WORK(put_jit, TAPIR_TOP_JIT)
WORK(put_kernel, TAPIR_TOP_KERNEL)

static void put_queued(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	put_waits((double)row->used.runnable_ns / 1e9 / seconds, out);
}

static void put_futex(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	(void)seconds;
	put_waits(row->waits[TAPIR_TOP_FUTEX], out);
}

static void put_disk_waits(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	(void)seconds;
	put_waits(row->waits[TAPIR_TOP_DISK], out);
}

static void put_net(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	(void)seconds;
	put_waits(row->waits[TAPIR_TOP_NET], out);
}

static void put_allocated(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	(void)seconds;
	put_amount(row->allocated, out);
}

static void put_paused(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	if (row->paused_ns > 0)
		put_share(row->paused_ns / 1e9 / seconds, out);
}

static void put_exceptions(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	(void)seconds;
	put_amount(row->exceptions, out);
}

static void put_disk(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	put_amount((double)(row->used.read_bytes + row->used.written_bytes) / seconds, out);
}

static void put_pid(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	(void)seconds;
	snprintf(out, CELL_BYTES, "%u", row->tgid);
}

static void put_tid(const struct tapir_top_row *row, double seconds, char out[CELL_BYTES])
{
	(void)seconds;
	if (row->tid)
		snprintf(out, CELL_BYTES, "%u", row->tid);
}

/* rank: those of the highest are left out first; 0: never. */
static const struct {
	const char *title;
	unsigned width, rank;
	cell_fn put;
} columns[] = {
	{"PID", 7, 0, put_pid},		  {"TID", 8, 0, put_tid},
	{"CPU%", 6, 0, put_cpu},	  {"OWN", 6, 1, put_own},
	{"RUNTIME", 8, 4, put_runtime},	  {"GC", 6, 2, put_gc},
	{"JIT", 6, 5, put_jit},		  {"KERNEL", 7, 2, put_kernel},
	{"QUEUE", 6, 6, put_queued},	  {"FUTEX", 6, 8, put_futex},
	{"DISK", 5, 7, put_disk_waits},	  {"NET", 5, 9, put_net},
	{"ALLOC/s", 8, 3, put_allocated}, {"PAUSE%", 7, 3, put_paused},
	{"EXC/s", 6, 4, put_exceptions},  {"DISK/s", 7, 5, put_disk},
};
#define COLUMN_CNT (sizeof(columns) / sizeof(columns[0]))

static double seconds_of(const struct tapir_top_view *view)
{
	return (double)tapir_top_rows__interval_ns(view->rows) / 1e9;
}

/* ---- which rows and columns ------------------------------------------------------------------- */

static bool has_done_something(const struct tapir_top_row *row)
{
	return row->used.cpu_ns || row->used.read_bytes || row->used.written_bytes ||
	       (!row->is_kernels && (row->waits[TAPIR_TOP_DISK] > 0 || row->exceptions > 0));
}

static bool is_meant(const struct tapir_top_view *view, const struct tapir_top_row *row,
		     const struct tapir_top_filter *filter)
{
	if (!filter || !filter->text)
		return view->rows->only.cnt || has_done_something(row);
	return tapir_top_filter__has(filter, row, seconds_of(view));
}

static int by_cpu(const void *a, const void *b)
{
	const struct tapir_top_row *x = *(const struct tapir_top_row *const *)a;
	const struct tapir_top_row *y = *(const struct tapir_top_row *const *)b;

	return tapir_order__by(tapir_order__down(x->used.cpu_ns, y->used.cpu_ns),
			       tapir_order__up(x->tgid, y->tgid), tapir_order__up(x->tid, y->tid));
}

static size_t width_of(unsigned chosen)
{
	size_t width = 2;

	for (unsigned c = 0; c < COLUMN_CNT; c++)
		width += chosen & (1u << c) ? columns[c].width : 0;
	return width;
}

/* Leaves out columns until names have room. */
static unsigned fit(unsigned chosen, size_t width)
{
	for (unsigned rank = 9; rank && width && width_of(chosen) + NAME_COLUMNS > width; rank--)
		for (unsigned c = 0; c < COLUMN_CNT; c++)
			if (columns[c].rank == rank)
				chosen &= ~(1u << c);
	return chosen;
}

static unsigned telling_columns(const struct tapir_top_view *view)
{
	const struct tapir_top_row *const *row;
	double seconds = seconds_of(view);
	unsigned chosen = 0;

	tapir_vec_for_each (row, &view->chosen)
		for (unsigned c = 0; c < COLUMN_CNT; c++) {
			char cell[CELL_BYTES] = "";

			columns[c].put(*row, seconds, cell);
			chosen |= *cell ? 1u << c : 0;
		}
	return chosen;
}

int tapir_top_view__fill(struct tapir_top_view *view, const struct tapir_top_rows *rows,
			 bool of_threads, const struct tapir_top_filter *filter, size_t width)
{
	const struct tapir_top_list *list = of_threads ? &rows->threads : &rows->processes;
	const struct tapir_top_row *row;

	view->rows = rows;
	view->is_of_threads = of_threads;
	view->width = width;
	view->chosen.cnt = 0;
	tapir_vec_for_each (row, list)
		if (is_meant(view, row, filter) && !tapir_vec__push(&view->chosen, row))
			return -ENOMEM;
	if (view->chosen.cnt)
		qsort(view->chosen.data, view->chosen.cnt, sizeof(*view->chosen.data), by_cpu);
	view->columns = fit(telling_columns(view), width);
	return 0;
}

void tapir_top_view__fini(struct tapir_top_view *view)
{
	tapir_vec__fini(&view->chosen);
}

/* ---- lines ------------------------------------------------------------------------------------ */

static void add_shortened_row(const struct tapir_top_view *view, const struct tapir_str *line,
			      struct tapir_str *out)
{
	size_t len = line->len;

	if (view->width && line->data)
		len = tapir_utf8__fitting(line->data, len, view->width);
	if (line->data)
		tapir_str__add(out, line->data, len);
	out->failed |= line->failed;
}

void tapir_top_view__add_head(const struct tapir_top_view *view, struct tapir_str *out)
{
	struct tapir_str line = {};

	tapir_str__addf(&line, "tapir top  %.1f s", seconds_of(view));
	if (view->machine >= 0)
		tapir_str__addf(&line, "  %.2f of %.0f CPU%s used", view->machine, view->cpus,
				view->cpus > 1 ? "s" : "");
	tapir_str__addf(&line, "  %zu process%s, %zu threads", view->rows->processes.cnt,
			view->rows->processes.cnt == 1 ? "" : "es", view->rows->threads.cnt);
	add_shortened_row(view, &line, out);
	tapir_str__fini(&line);
}

void tapir_top_view__add_titles(const struct tapir_top_view *view, struct tapir_str *out)
{
	struct tapir_str line = {};

	for (unsigned c = 0; c < COLUMN_CNT; c++)
		if (view->columns & (1u << c))
			tapir_str__addf(&line, "%*s", (int)columns[c].width, columns[c].title);
	tapir_str__adds(&line, "  NAME");
	add_shortened_row(view, &line, out);
	tapir_str__fini(&line);
}

void tapir_top_view__add_row(const struct tapir_top_view *view, const struct tapir_top_row *row,
			     struct tapir_str *out)
{
	double seconds = seconds_of(view);
	struct tapir_str line = {};

	for (unsigned c = 0; c < COLUMN_CNT; c++) {
		char cell[CELL_BYTES] = "";

		if (!(view->columns & (1u << c)))
			continue;
		columns[c].put(row, seconds, cell);
		tapir_str__addf(&line, "%*s", (int)columns[c].width, *cell ? cell : "-");
	}
	tapir_str__adds(&line, "  ");
	tapir_str__add_printable(&line, row->comm, strlen(row->comm));
	add_shortened_row(view, &line, out);
	tapir_str__fini(&line);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static void add_said(struct tapir_json *j, const char *key, double value)
{
	if (value < 0)
		tapir_json__null(j, key);
	else
		tapir_json__f64(j, key, value);
}

static void add_work_json(struct tapir_json *j, const struct tapir_top_row *row, double seconds)
{
	double all = tapir_top_row__samples(row);

	tapir_json__open(j, "work", '{');
	for (int i = 0; i < TAPIR_TOP_WORK_CNT; i++)
		add_said(j, tapir_top_work_names[i],
			 all > 0 ? cpus_of(row, seconds) * row->work[i] / all : -1);
	tapir_json__close(j, '}');
	tapir_json__u64(j, "samples", (uint64_t)(all + 0.5));
}

static void add_row_json(struct tapir_json *j, const struct tapir_top_row *row, double seconds)
{
	tapir_json__open(j, NULL, '{');
	tapir_json__u64(j, "pid", row->tgid);
	if (row->tid)
		tapir_json__u64(j, "tid", row->tid);
	tapir_json__str(j, "name", row->comm);
	tapir_json__bool(j, "kernel", row->is_kernels);
	if (!row->tid)
		tapir_json__u64(j, "threads", row->thread_cnt);
	tapir_json__f64(j, "cpu", cpus_of(row, seconds));
	add_work_json(j, row, seconds);
	tapir_json__open(j, "waiting", '{');
	tapir_json__f64(j, "cpu", (double)row->used.runnable_ns / 1e9 / seconds);
	for (int i = 0; i < TAPIR_TOP_WAIT_CNT; i++)
		tapir_json__f64(j, tapir_top_wait_names[i], row->waits[i]);
	tapir_json__close(j, '}');
	tapir_json__u64(j, "read_bytes", row->used.read_bytes);
	tapir_json__u64(j, "written_bytes", row->used.written_bytes);
	if (!row->tid) {
		add_said(j, "allocated_per_second", row->allocated);
		add_said(j, "exceptions_per_second", row->exceptions);
		add_said(j, "paused_ns", row->paused_ns);
	}
	tapir_json__close(j, '}');
}

void tapir_top_view__add_json(const struct tapir_top_view *view, uint64_t top,
			      struct tapir_str *out)
{
	struct tapir_json j = tapir_json__to(out);
	double seconds = seconds_of(view);

	tapir_json__open(&j, NULL, '{');
	tapir_json__str(&j, "type", "top");
	tapir_json__u64(&j, "interval_ns", tapir_top_rows__interval_ns(view->rows));
	tapir_json__f64(&j, "cpus", view->cpus);
	add_said(&j, "cpus_used", view->machine);
	tapir_json__u64(&j, "process_count", view->rows->processes.cnt);
	tapir_json__u64(&j, "thread_count", view->rows->threads.cnt);
	tapir_json__open(&j, view->is_of_threads ? "threads" : "processes", '[');
	for (size_t i = 0; i < view->chosen.cnt && i < top; i++)
		add_row_json(&j, view->chosen.data[i], seconds);
	tapir_json__close(&j, ']');
	tapir_json__close(&j, '}');
	tapir_str__addc(out, '\n');
}
