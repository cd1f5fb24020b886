// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The use that processes made of a machine: CPU time, by context switches where they were recorded,
 * else by samples; time in which their threads waited; bytes of block devices; system calls. A
 * process with a part of the CPU time that counts has a row of its own; the others of a name share
 * one, and so do the kernel's workers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/process_use.h"
#include "analyze/view.h"
#include "base/keyed.h"
#include "base/order.h"
#include "decode/usage_text.h"
#include "trace/kernel_work.h"

#define OWN_PERCENT   5 /* of the CPU time: less is folded by name */
#define COMMAND_BYTES 256u

struct processes {
	struct tapir_view_args args;
	struct tapir_process_use use;
	struct tapir_keyed(struct tapir_process_used) shown;
};

static void processes_begin(void *ctx)
{
	struct processes *v = ctx;

	v->use.tl = v->args.tl;
	v->args.failed = tapir_timeline__listen(v->args.tl, &tapir_process_use_fns, &v->use) < 0;
}

static void processes_fini(void *ctx)
{
	struct processes *v = ctx;

	tapir_process_use__fini(&v->use);
	tapir_keyed__fini(&v->shown);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const struct tapir_rec_process *process_of(const struct processes *v, uint32_t pid,
						  struct tapir_process_view *view)
{
	const struct tapir_timeline_stats *stats = tapir_timeline__stats(v->args.tl);
	const struct tapir_rec_process *rec =
		tapir_catalog__process(tapir_timeline__catalog(v->args.tl), pid, stats->last_ns);

	if (rec)
		tapir_process_view__of(&rec->h, view);
	return rec;
}

static void name_row(const struct processes *v, struct tapir_process_used *row)
{
	static const char worker[] = "kworker/";
	const struct tapir_rec_thread *thread =
		tapir_catalog__thread(tapir_timeline__catalog(v->args.tl), row->pid,
				      tapir_timeline__stats(v->args.tl)->last_ns);
	struct tapir_process_view view;
	struct tapir_sv comm = {};

	if (process_of(v, row->pid, &view))
		comm = view.comm;
	if (!comm.len && thread)
		comm = (struct tapir_sv){thread->leader_comm,
					 strnlen(thread->leader_comm, sizeof(thread->leader_comm))};
	if (comm.len > sizeof(worker) - 1 && !memcmp(comm.data, worker, sizeof(worker) - 1))
		comm.len = sizeof(worker) - 2;
	tapir_comm__copy(row->comm, comm.len ? comm : tapir_sv__of("?"));
}

static void add_used(struct tapir_used *to, const struct tapir_used *from)
{
	to->cpu_ns += from->cpu_ns;
	to->sample_ns += from->sample_ns;
	to->runnable_ns += from->runnable_ns;
	to->asleep_ns += from->asleep_ns;
	to->read_bytes += from->read_bytes;
	to->written_bytes += from->written_bytes;
	to->call_cnt += from->call_cnt;
	to->failed_call_cnt += from->failed_call_cnt;
	to->fault_cnt += from->fault_cnt;
	to->major_fault_cnt += from->major_fault_cnt;
}

static int by_use(const void *a, const void *b, void *ctx)
{
	const struct tapir_process_used *x = a, *y = b;
	uint64_t of_x = tapir_process_use__cpu_ns(ctx, &x->used);
	uint64_t of_y = tapir_process_use__cpu_ns(ctx, &y->used);

	return tapir_order__by(tapir_order__down(of_x, of_y), strcmp(x->comm, y->comm),
			       tapir_order__up(x->pid, y->pid));
}

/* Fills v->shown: busy processes by themselves, the others by name. */
static void fold(struct processes *v, uint64_t all_ns)
{
	struct tapir_process_used *row, *folded;

	tapir_vec_for_each (row, &v->use.rows) {
		bool is_busy = tapir_process_use__cpu_ns(&v->use, &row->used) * 100 >=
			       all_ns * OWN_PERCENT;
		struct tapir_process_used made = {.pid = row->pid};
		uint64_t key;

		name_row(v, row);
		memcpy(made.comm, row->comm, sizeof(made.comm));
		key = tapir_hash__bytes(all_ns && is_busy && strcmp(row->comm, "kworker") != 0
						? row->pid
						: UINT64_MAX,
					row->comm, strlen(row->comm));
		folded = tapir_keyed__add(&v->shown, key, TAPIR_PROCESS_USE_MAX, made);
		v->args.failed |= !folded;
		if (!folded)
			return;
		folded->pid = folded->cnt++ ? 0 : row->pid;
		add_used(&folded->used, &row->used);
	}
	if (v->shown.cnt)
		qsort_r(v->shown.data, v->shown.cnt, sizeof(*v->shown.data), by_use, &v->use);
}

/* ---- the result ----------------------------------------------------------------------------- */

static void write_process(const struct processes *v, struct tapir_view_result *result, size_t t,
			  const struct tapir_process_used *row)
{
	struct tapir_process_view view;
	char text[COMMAND_BYTES];

	snprintf(text, sizeof(text), row->cnt > 1 ? "%s \u00d7%u" : "%s (%u)", row->comm,
		 row->cnt > 1 ? row->cnt : row->pid);
	tapir_view_result__text(result, t, text);
	tapir_view_result__u64(result, t, row->cnt);
	if (row->cnt > 1 || !process_of(v, row->pid, &view) || !view.cmdline.len) {
		tapir_view_result__none(result, t);
		return;
	}
	tapir_view_result__textn(
		result, t,
		(struct tapir_sv){text,
				  tapir_command_text__copy(text, sizeof(text) - 1, view.cmdline)});
}

/* A figure that was not recorded is not known. */
struct known {
	bool cpu, switches, io, calls, faults;
};

static void write_process_rows(const struct processes *v, struct tapir_view_result *result,
			       uint64_t all_ns, const struct known *known)
{
	static const struct tapir_column columns[] = {
		{"cpu_percent", ">SHARE", TAPIR_CELL_PERCENT},
		{"cpu_ns", ">CPU", TAPIR_CELL_NS},
		{"runnable_ns", ">WAIT CPU", TAPIR_CELL_NS},
		{"asleep_ns", NULL, TAPIR_CELL_NS},
		{"read_bytes", ">READ", TAPIR_CELL_BYTES},
		{"written_bytes", ">WRITTEN", TAPIR_CELL_BYTES},
		{"calls", ">CALLS", TAPIR_CELL_COUNT},
		{"failed_calls", ">FAILED", TAPIR_CELL_COUNT},
		{"faults", ">FAULTS", TAPIR_CELL_COUNT},
		{"major_faults", NULL, TAPIR_CELL_COUNT},
		{"process", "PROCESS", TAPIR_CELL_TEXT},
		{"processes", NULL, TAPIR_CELL_COUNT},
		{"command", "COMMAND", TAPIR_CELL_TEXT},
		{}};
	size_t t = tapir_view_result__table(result, "processes", NULL, columns);
	const struct tapir_process_used *row;
	uint64_t left = v->args.top;

	tapir_vec_for_each (row, &v->shown) {
		if (!left--)
			break;
		if (known->cpu)
			tapir_view_result__share(
				result, t, tapir_process_use__cpu_ns(&v->use, &row->used), all_ns);
		else
			tapir_view_result__none(result, t);
		tapir_view_result__known(result, t, tapir_process_use__cpu_ns(&v->use, &row->used),
					 known->cpu);
		tapir_view_result__known(result, t, row->used.runnable_ns,
					 known->switches && v->use.has_ended);
		tapir_view_result__known(result, t, row->used.asleep_ns,
					 known->switches && v->use.has_ended);
		tapir_view_result__known(result, t, row->used.read_bytes, known->io);
		tapir_view_result__known(result, t, row->used.written_bytes, known->io);
		tapir_view_result__known(result, t, row->used.call_cnt, known->calls);
		tapir_view_result__known(result, t, row->used.failed_call_cnt, known->calls);
		tapir_view_result__known(result, t, row->used.fault_cnt, known->faults);
		tapir_view_result__known(result, t, row->used.major_fault_cnt, known->faults);
		write_process(v, result, t, row);
	}
	tapir_view_result__note_top(result, NULL, v->args.top, v->shown.cnt);
}

/*
 * The kernel's own count, /proc/stat, is read when recording has begun and before it ends. Switches
 * are of a somewhat longer time, on a busy machine by tenths of a second: each sum has its time.
 */
static void write_witness(const struct processes *v, struct tapir_view_result *result)
{
	struct tapir_neighbours machine;

	if (v->use.last_ns > v->use.first_ns)
		tapir_view_result__fact(result, "switched_ns", "from the first switch to the last",
					TAPIR_CELL_NS, v->use.last_ns - v->use.first_ns);
	if (!v->use.has_ended ||
	    !tapir_usage_text__neighbours(
		    tapir_catalog__meta_value(tapir_timeline__catalog(v->args.tl),
					      TAPIR_USAGE_NEIGHBOURS),
		    &machine) ||
	    !machine.machine_ns)
		return;
	tapir_view_result__fact(result, "machine_ns", "CPU of the machine by /proc/stat",
				TAPIR_CELL_NS, machine.machine_ns);
	tapir_view_result__fact(result, "machine_wall_ns", "from its first reading to the last",
				TAPIR_CELL_NS, machine.wall_ns);
}

static void write_notes(const struct processes *v, struct tapir_view_result *result,
			const struct known *known)
{
	if (!known->switches)
		tapir_view_result__note(result, "CPU time is that of samples; waits are not known: "
						"`tapir record --sched` records both");
	if (!known->io)
		tapir_view_result__note(result, "bytes of disks are not known: `tapir record --io` "
						"records them");
	if (v->use.more)
		tapir_view_result__note(result, "%" PRIu64 " records of processes beyond %u",
					v->use.more, TAPIR_PROCESS_USE_MAX);
}

static int processes_finish(void *ctx, struct tapir_view_result *result)
{
	struct processes *v = ctx;
	const struct tapir_catalog *catalog = tapir_timeline__catalog(v->args.tl);
	uint64_t span_ns = tapir_timeline__span_ns(v->args.tl);
	uint64_t all_ns = tapir_process_use__finish(&v->use);
	/* Columns that were not recorded are empty in the tables, and not 0. */
	const struct known known = {
		.cpu = tapir_process_use__has_switches(&v->use) || v->use.has_samples,
		.switches = tapir_process_use__has_switches(&v->use),
		.io = tapir_catalog__meta_value(catalog, "io").len > 0,
		.calls = tapir_catalog__meta_value(catalog, "syscalls").len > 0,
		.faults = tapir_sv__starts_with(
			tapir_catalog__meta_value(catalog, TAPIR_META_KERNEL), "faults"),
	};

	if (!v->use.rows.cnt) {
		result->has_nothing = true;
		return v->args.failed || v->use.failed ? -ENOMEM : 0;
	}
	fold(v, all_ns);
	if (v->args.failed) /* the headline names the first row */
		return -ENOMEM;
	tapir_view_result__fact(result, "cpu_ns", "CPU of all processes", TAPIR_CELL_NS, all_ns);
	write_witness(v, result);
	write_process_rows(v, result, all_ns, &known);
	write_notes(v, result, &known);
	tapir_str__addf(&result->headline, "%zu processes used %.2f CPUs", v->use.rows.cnt,
			span_ns ? (double)all_ns / (double)span_ns : 0);
	if (all_ns)
		tapir_str__addf(
			&result->headline, ", %.0f%% of it %s",
			100.0 * (double)tapir_process_use__cpu_ns(&v->use, &v->shown.data[0].used) /
				(double)all_ns,
			v->shown.data[0].comm);
	return v->args.failed || v->use.failed ? -ENOMEM : 0;
}

const struct tapir_view tapir_view_processes = {
	.name = "processes",
	.summary = "CPU, waits, disk bytes, calls, faults; alike processes as one",
	.begin = processes_begin,
	.nothing = "no process was seen to do anything",
	.ctx_bytes = sizeof(struct processes),
	.default_top = 20,
	.finish = processes_finish,
	.fini = processes_fini,
};
