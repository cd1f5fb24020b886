// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One reading of /proc/PID/stat per process. Processes are ranked by all their CPU time, not by the
 * latest: so a series stays as long as its process is one of those that matter.
 */
#include "agent/watch/usage_report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/proc.h"
#include "attach/proc_usage.h"
#include "base/order.h"
#include "base/vec.h"

struct row {
	uint32_t pid;
	bool is_listed;
	struct tapir_proc_usage usage;
};

struct rows {
	struct tapir_vec(struct row) all;
};

static int add_process_usage(uint32_t pid, void *ctx)
{
	struct rows *rows = ctx;
	struct row row = {.pid = pid};
	int err = tapir_proc_usage__read_brief(pid, &row.usage);

	if (err) /* a thread of the kernel, or one that has ended */
		return 0;
	return tapir_vec__push(&rows->all, row) ? 0 : -ENOMEM;
}

/* Equals in the order of their pids: the same ones each time. */
static int compare_usage(uint64_t a, uint64_t b, uint32_t a_pid, uint32_t b_pid)
{
	return tapir_order__down(a, b) ?: tapir_order__up(a_pid, b_pid);
}

static int by_cpu(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return compare_usage(x->usage.cpu_ns, y->usage.cpu_ns, x->pid, y->pid);
}

static int by_memory(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return compare_usage(x->usage.resident_bytes, y->usage.resident_bytes, x->pid, y->pid);
}

static void list_first(struct rows *rows, int (*order)(const void *, const void *))
{
	qsort(rows->all.data, rows->all.cnt, sizeof(*rows->all.data), order);
	for (size_t i = 0; i < rows->all.cnt && i < TAPIR_USAGE_TOP; i++)
		rows->all.data[i].is_listed = true;
}

void tapir_usage_report__labels(uint32_t pid, const char *name, char out[TAPIR_USAGE_LABELS_BYTES])
{
	struct tapir_str text = {};
	size_t len = (size_t)snprintf(out, TAPIR_USAGE_LABELS_BYTES, "pid=\"%u\",process=\"", pid);

	tapir_str__add_printable(&text, name, strlen(name));
	for (const char *p = text.data; p && *p && len + 4 < TAPIR_USAGE_LABELS_BYTES; p++) {
		if (*p == '"' || *p == '\\')
			out[len++] = '\\';
		out[len++] = *p;
	}
	out[len++] = '"';
	out[len] = '\0';
	tapir_str__fini(&text);
}

static void begin_metric(struct tapir_str *out, const char *name, const char *type,
			 const char *help)
{
	tapir_str__addf(out, "# HELP tapir_%s %s\n# TYPE tapir_%s %s\n", name, help, name, type);
}

static void write_listed(const struct rows *rows, struct tapir_str *out)
{
	char labels[TAPIR_USAGE_LABELS_BYTES];
	const struct row *row;

	begin_metric(out, "process_cpu_seconds_total", "counter",
		     "CPU time of the process; of those with the most CPU time or memory.");
	tapir_vec_for_each (row, &rows->all) {
		tapir_usage_report__labels(row->pid, row->usage.comm, labels);
		if (row->is_listed)
			tapir_str__addf(out, "tapir_process_cpu_seconds_total{%s} %.15g\n", labels,
					(double)row->usage.cpu_ns / 1e9);
	}
	begin_metric(out, "process_resident_memory_bytes", "gauge",
		     "Resident memory of the process; of the same ones.");
	tapir_vec_for_each (row, &rows->all) {
		tapir_usage_report__labels(row->pid, row->usage.comm, labels);
		if (row->is_listed)
			tapir_str__addf(out, "tapir_process_resident_memory_bytes{%s} %llu\n",
					labels, (unsigned long long)row->usage.resident_bytes);
	}
}

static void write_machine(const struct rows *rows, struct tapir_str *out)
{
	uint64_t cpu_ns;

	if (!tapir_proc_usage__read_machine(&cpu_ns)) {
		begin_metric(out, "machine_cpu_seconds_total", "counter",
			     "CPU time of all processes of the machine and of its kernel.");
		tapir_str__addf(out, "tapir_machine_cpu_seconds_total %.15g\n",
				(double)cpu_ns / 1e9);
	}
	begin_metric(out, "machine_processes", "gauge",
		     "Processes, without threads of the kernel.");
	tapir_str__addf(out, "tapir_machine_processes %zu\n", rows->all.cnt);
}

void tapir_usage_report__metrics(uint32_t only_pid, struct tapir_str *out)
{
	struct rows rows = {};
	int err = only_pid ? add_process_usage(only_pid, &rows)
			   : tapir_proc__each(add_process_usage, &rows);

	if (err == -ENOMEM)
		out->failed = true;
	if (rows.all.cnt) {
		list_first(&rows, by_cpu);
		list_first(&rows, by_memory);
	}
	write_listed(&rows, out);
	if (!only_pid)
		write_machine(&rows, out);
	tapir_vec__fini(&rows.all);
}
