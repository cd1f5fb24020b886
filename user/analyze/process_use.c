// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A row for each process, whose CPU time is the time between its threads' switches on each CPU. The
 * kernel shows some switches to no program, so a time is charged to the thread that leaves; threads
 * that came last run on up to the last switch of any CPU.
 */
#include "analyze/process_use.h"

#include "base/keyed.h"

static struct tapir_used *used_by(struct tapir_process_use *v, uint32_t pid)
{
	struct tapir_process_used made = {.pid = pid, .cnt = 1}, *row;

	row = tapir_keyed__add(&v->rows, pid, TAPIR_PROCESS_USE_MAX, made);
	v->more += !row;
	return row ? &row->used : NULL;
}

static void process_use_on_sample(void *ctx, struct tapir_tl_thread *t,
				  const struct tapir_rec_sample *sample)
{
	struct tapir_process_use *v = ctx;
	struct tapir_used *used = used_by(v, t->tgid);

	v->has_samples = true;
	if (used)
		used->sample_ns += sample->period;
}

static struct tapir_used_cpu *cpu_at(struct tapir_process_use *v, unsigned idx)
{
	while (v->cpus.cnt <= idx) {
		struct tapir_used_cpu *added = tapir_vec__add(&v->cpus);

		v->failed |= !added;
		if (!added)
			return NULL;
		*added = (struct tapir_used_cpu){};
	}
	return &v->cpus.data[idx];
}

static void charge(struct tapir_process_use *v, uint32_t pid, uint64_t ns)
{
	struct tapir_used *used =
		pid && tapir_timeline__reports_at(v->tl, pid) ? used_by(v, pid) : NULL;

	if (used)
		used->cpu_ns += ns;
}

/*
 * A CPU's time up to a switch is that of the thread that leaves. The kernel shows some switches to
 * no program: a thread that came and was never seen to leave cannot have more than its CPU had.
 */
static void on_switched(void *ctx, const struct tapir_rec_switch *rec)
{
	struct tapir_process_use *v = ctx;
	struct tapir_used_cpu *cpu;
	uint64_t now_ns = rec->h.time_ns;

	if (tapir_switch__since_ns(rec)) /* most switches are in sums, with the time between them */
		return;
	cpu = cpu_at(v, rec->h.cpu);
	if (!cpu)
		return;
	v->first_ns = v->first_ns ? v->first_ns : now_ns;
	charge(v, rec->out_tgid, now_ns - (cpu->last_ns ? cpu->last_ns : v->first_ns));
	cpu->last_ns = v->last_ns = now_ns;
	cpu->in_pid = rec->in_tgid;
}

/* The threads that came last run on, up to the last switch of any CPU. */
static void charge_last(struct tapir_process_use *v)
{
	const struct tapir_used_cpu *cpu;

	tapir_vec_for_each (cpu, &v->cpus)
		if (cpu->last_ns)
			charge(v, cpu->in_pid, v->last_ns - cpu->last_ns);
}

static void on_waits(void *ctx, const struct tapir_rec_waits *rec)
{
	struct tapir_process_use *v = ctx;
	struct tapir_used *used = used_by(v, rec->tgid);

	v->has_sums = true;
	if (!used)
		return;
	used->cpu_ns += rec->run_ns;
	used->runnable_ns += tapir_waits__runnable_ns(rec);
	used->asleep_ns += tapir_waits__asleep_ns(rec);
}

static void on_ended(void *ctx, const struct tapir_tl_thread *t)
{
	struct tapir_process_use *v = ctx;
	struct tapir_used *used = used_by(v, t->tgid);

	v->has_ended = true;
	for (unsigned c = 0; c < TAPIR_CAUSE_CNT && used; c++) {
		used->runnable_ns += t->parts.ns[c][TAPIR_THREAD_RUNNABLE];
		used->asleep_ns += t->parts.ns[c][TAPIR_THREAD_SLEEPING];
	}
}

static void on_io(void *ctx, const struct tapir_rec *rec, uint32_t node)
{
	const struct tapir_rec_io *io = (const void *)rec;
	struct tapir_used *used = io->tgid ? used_by(ctx, io->tgid) : NULL;

	(void)node;
	if (used && io->op == TAPIR_IO_READ)
		used->read_bytes += io->bytes;
	if (used && io->op == TAPIR_IO_WRITE)
		used->written_bytes += io->bytes;
}

static void on_calls(void *ctx, const struct tapir_rec_calls *rec, uint32_t node)
{
	uint64_t cnt = rec->cnt + rec->unbegun_cnt;
	struct tapir_used *used;

	(void)node;
	if (rec->kind != TAPIR_CALLS_OF_THREAD) /* the others count the same calls once more */
		return;
	used = used_by(ctx, rec->tgid);
	if (used) {
		used->call_cnt += cnt;
		used->failed_call_cnt += rec->err ? cnt : 0;
	}
}

static void on_kernel(void *ctx, const struct tapir_rec_kernel *rec, uint32_t node)
{
	struct tapir_used *used = rec->kind == TAPIR_KERNEL_FAULT ? used_by(ctx, rec->tgid) : NULL;

	(void)node;
	if (used) {
		used->fault_cnt += rec->cnt;
		used->major_fault_cnt += rec->part_cnt;
	}
}

const struct tapir_timeline_fns tapir_process_use_fns = {.sample = process_use_on_sample,
							 .ended = on_ended,
							 .switched = on_switched,
							 .waits = on_waits,
							 .io = on_io,
							 .calls = on_calls,
							 .kernel = on_kernel};

bool tapir_process_use__has_switches(const struct tapir_process_use *use)
{
	return use->cpus.cnt || use->has_sums;
}

uint64_t tapir_process_use__cpu_ns(const struct tapir_process_use *use,
				   const struct tapir_used *used)
{
	return tapir_process_use__has_switches(use) ? used->cpu_ns : used->sample_ns;
}

uint64_t tapir_process_use__finish(struct tapir_process_use *use)
{
	const struct tapir_process_used *row;
	uint64_t all_ns = 0;

	charge_last(use);
	tapir_vec_for_each (row, &use->rows)
		all_ns += tapir_process_use__cpu_ns(use, &row->used);
	return all_ns;
}

void tapir_process_use__fini(struct tapir_process_use *use)
{
	tapir_keyed__fini(&use->rows);
	tapir_vec__fini(&use->cpus);
}
