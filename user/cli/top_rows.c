// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's sums only grow: an interval's is a difference of two looks, and what a thread had
 * used when it ended is in its process's. A process that ended between two looks is no longer in
 * the second one; it stays for the interval with what it had used at the first.
 */
#include "cli/top_rows.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

const char *const tapir_top_work_names[TAPIR_TOP_WORK_CNT] = {"own", "runtime", "gc",
							      "jit", "kernel",	"unknown"};
const char *const tapir_top_wait_names[TAPIR_TOP_WAIT_CNT] = {"futex", "disk",	"net",
							      "poll",  "sleep", "other"};

static struct tapir_top_row *top_row_of(struct tapir_top_rows *rows, uint32_t tgid, uint32_t tid)
{
	struct tapir_top_list *list = tid ? &rows->threads : &rows->processes;
	struct tapir_top_row *row = tapir_keyed__add(list, tid ? tid : tgid, TAPIR_TOP_MAX_ROWS,
						     ((struct tapir_top_row){.tgid = tgid,
									     .tid = tid,
									     .is_new = true,
									     .allocated = -1,
									     .exceptions = -1,
									     .paused_ns = -1,
									     .pausing_ns = -1}));

	rows->failed |= list->failed;
	return row;
}

/* Ids are used again: what was known is of another one. */
static void check_life(struct tapir_top_row *row, uint64_t start_ns)
{
	if (row->start_ns && row->start_ns != start_ns)
		*row = (struct tapir_top_row){.tgid = row->tgid,
					      .tid = row->tid,
					      .is_new = true,
					      .seen = row->seen,
					      .now = row->now,
					      .allocated = -1,
					      .exceptions = -1,
					      .paused_ns = -1,
					      .pausing_ns = -1};
	row->start_ns = start_ns;
}

/* ---- looks ------------------------------------------------------------------------------------ */

static bool is_chosen(const struct tapir_top_rows *rows, uint32_t tgid)
{
	for (size_t i = 0; i < rows->only.cnt; i++)
		if (rows->only.data[i] == tgid)
			return true;
	return !rows->only.cnt;
}

void tapir_top_rows__begin_look(struct tapir_top_rows *rows)
{
	rows->look++;
}

#define STATE_SLEEPS	    0x0003u
#define STATE_UNINTERRUPTED 0x0002u
#define STATE_IDLE	    0x0400u /* of the kernel's threads: it waits for work */

/* TAPIR_TOP_WAIT_CNT: it does not wait. */
static enum tapir_top_wait wait_of(const struct tapir_thread_use *use)
{
	if (use->flags & TAPIR_THREAD_ON_CPU || !(use->state & STATE_SLEEPS))
		return TAPIR_TOP_WAIT_CNT;
	/*
	 * Threads of the kernel that wait for work are uninterruptible, too, and marked as idle:
	 * they are not at a disk.
	 */
	if (use->state & STATE_UNINTERRUPTED || use->flags & TAPIR_THREAD_IO_WAIT)
		return use->state & STATE_IDLE ? TAPIR_TOP_WAIT_CNT : TAPIR_TOP_DISK;
	if (use->flags & TAPIR_THREAD_IS_KERNELS)
		return TAPIR_TOP_WAIT_CNT;
	switch (use->syscall) {
	case SYS_futex:
		return TAPIR_TOP_FUTEX;
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
		return TAPIR_TOP_NET;
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_io_uring_enter:
		return TAPIR_TOP_POLL;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_pause:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_wait4:
	case SYS_waitid:
		return TAPIR_TOP_SLEEP;
	default:
		return TAPIR_TOP_OTHER;
	}
}

static void add_sums(struct tapir_top_sums *to, const struct tapir_thread_use *use)
{
	to->cpu_ns += use->cpu_ns;
	to->runnable_ns += use->runnable_ns;
	to->read_bytes += use->read_bytes;
	to->written_bytes += use->written_bytes;
}

static void see_in(struct tapir_top_rows *rows, struct tapir_top_row *row,
		   const struct tapir_thread_use *use, enum tapir_top_wait wait)
{
	if (row->seen != rows->look) {
		row->now = (struct tapir_top_sums){};
		row->thread_cnt = 0;
		row->seen = rows->look;
	}
	row->thread_cnt++;
	add_sums(&row->now, use);
	if (wait < TAPIR_TOP_WAIT_CNT)
		row->wait_looks[wait]++;
	row->is_kernels |= use->flags & TAPIR_THREAD_IS_KERNELS;
}

static void name(struct tapir_top_row *row, const struct tapir_thread_use *use)
{
	check_life(row, use->start_ns);
	memcpy(row->comm, use->comm, sizeof(use->comm));
}

int tapir_top_rows__see(struct tapir_top_rows *rows, const struct tapir_thread_use *use)
{
	enum tapir_top_wait wait = wait_of(use);
	struct tapir_top_row *row;

	if (!is_chosen(rows, use->tgid))
		return 0;
	row = top_row_of(rows, use->tgid, 0);
	if (row) {
		if (use->tid == use->tgid)
			name(row, use);
		see_in(rows, row, use, wait);
		if (use->tid == use->tgid) {
			row->now.cpu_ns += use->ended_cpu_ns;
			row->now.read_bytes += use->ended_read_bytes;
			row->now.written_bytes += use->ended_written_bytes;
		}
	}
	row = top_row_of(rows, use->tgid, use->tid);
	if (row) {
		name(row, use);
		see_in(rows, row, use, wait);
	}
	return rows->failed ? -ENOMEM : 0;
}

/* A row that began before the interval, and is new, begins at what it has used. */
static void end_look_of(struct tapir_top_rows *rows, struct tapir_top_row *row)
{
	if (!row->is_new || row->seen != rows->look)
		return;
	row->is_new = false;
	row->base = row->start_ns < rows->began_ns || !rows->began_ns ? row->now
								      : (struct tapir_top_sums){};
}

void tapir_top_rows__end_look(struct tapir_top_rows *rows)
{
	struct tapir_top_row *row;

	rows->look_cnt++;
	tapir_vec_for_each (row, &rows->processes)
		end_look_of(rows, row);
	tapir_vec_for_each (row, &rows->threads)
		end_look_of(rows, row);
}

/* ---- intervals -------------------------------------------------------------------------------- */

/* Values of processes that end may be lower for a moment: threads are counted one by one. */
static uint64_t grown(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

static void end_interval_of(struct tapir_top_rows *rows, struct tapir_top_row *row)
{
	row->used = (struct tapir_top_sums){
		.cpu_ns = grown(row->now.cpu_ns, row->base.cpu_ns),
		.runnable_ns = grown(row->now.runnable_ns, row->base.runnable_ns),
		.read_bytes = grown(row->now.read_bytes, row->base.read_bytes),
		.written_bytes = grown(row->now.written_bytes, row->base.written_bytes)};
	row->base = row->now;
	for (int i = 0; i < TAPIR_TOP_WAIT_CNT; i++) {
		row->waits[i] =
			rows->look_cnt ? (double)row->wait_looks[i] / (double)rows->look_cnt : 0;
		row->wait_looks[i] = 0;
	}
	row->paused_ns = row->pausing_ns;
	if (row->pausing_of_ns > 0)
		row->paused_ns *= (double)tapir_top_rows__interval_ns(rows) / row->pausing_of_ns;
	row->pausing_ns = row->pausing_ns < 0 ? -1 : 0;
	row->pausing_of_ns = 0;
}

/* Forgets those that no look of the interval has seen; last: the look before it. */
static void forget(struct tapir_top_rows *rows, struct tapir_top_list *list, uint64_t last)
{
	size_t cnt = list->cnt;

	tapir_keyed__clear(list);
	for (size_t i = 0; i < cnt; i++) {
		const struct tapir_top_row row = list->data[i];

		if (row.seen > last)
			(void)tapir_keyed__add(list, row.tid ? row.tid : row.tgid,
					       TAPIR_TOP_MAX_ROWS, row);
	}
	rows->failed |= list->failed;
}

void tapir_top_rows__begin(struct tapir_top_rows *rows, uint64_t now_ns)
{
	struct tapir_top_row *row;

	tapir_vec_for_each (row, &rows->processes)
		memset(row->wait_looks, 0, sizeof(row->wait_looks));
	tapir_vec_for_each (row, &rows->threads)
		memset(row->wait_looks, 0, sizeof(row->wait_looks));
	rows->began_ns = now_ns;
	rows->ends_ns = UINT64_MAX;
	rows->look_cnt = 0;
}

void tapir_top_rows__end_interval(struct tapir_top_rows *rows, uint64_t now_ns)
{
	uint64_t last = rows->look - rows->look_cnt;
	struct tapir_top_row *row;

	rows->from_ns = rows->began_ns;
	rows->until_ns = rows->began_ns = now_ns;
	forget(rows, &rows->processes, last);
	forget(rows, &rows->threads, last);
	tapir_vec_for_each (row, &rows->processes)
		end_interval_of(rows, row);
	tapir_vec_for_each (row, &rows->threads)
		end_interval_of(rows, row);
	rows->look_cnt = 0;
}

static void take_samples_of(struct tapir_top_row *row, double keep)
{
	for (int i = 0; i < TAPIR_TOP_WORK_CNT; i++) {
		row->work[i] = row->work[i] * keep + row->samples[i];
		row->samples[i] = 0;
	}
	if (tapir_top_row__samples(row) < 0.5)
		memset(row->work, 0, sizeof(row->work));
}

void tapir_top_rows__take_samples(struct tapir_top_rows *rows, double keep)
{
	struct tapir_top_row *row;

	tapir_vec_for_each (row, &rows->processes)
		take_samples_of(row, keep);
	tapir_vec_for_each (row, &rows->threads)
		take_samples_of(row, keep);
}

/* ---- samples and counters --------------------------------------------------------------------- */

static enum tapir_top_work top_work_of(enum tapir_work work)
{
	switch (work) {
	case TAPIR_WORK_MANAGED:
	case TAPIR_WORK_INTERPRETER:
	case TAPIR_WORK_NATIVE:
		return TAPIR_TOP_OWN;
	case TAPIR_WORK_RUNTIME:
		return TAPIR_TOP_RUNTIME;
	case TAPIR_WORK_GC:
		return TAPIR_TOP_GC;
	case TAPIR_WORK_JIT:
		return TAPIR_TOP_JIT;
	case TAPIR_WORK_KERNEL:
		return TAPIR_TOP_KERNEL;
	default:
		return TAPIR_TOP_UNKNOWN;
	}
}

void tapir_top_rows__sample(struct tapir_top_rows *rows, const struct tapir_top_sample *sample,
			    enum tapir_work work)
{
	struct tapir_top_row *process, *thread;

	if (!rows->began_ns || sample->time_ns > rows->ends_ns)
		return;
	rows->recent[rows->sample_cnt++ % TAPIR_TOP_MAX_SAMPLES] = *sample;
	process = top_row_of(rows, sample->tgid, 0);
	if (process)
		process->samples[top_work_of(work)]++;
	thread = top_row_of(rows, sample->tgid, sample->tid);
	if (thread)
		thread->samples[top_work_of(work)]++;
}

static double per_second(const struct tapir_rec_counter *rec)
{
	return rec->interval_ns ? rec->value * 1e9 / (double)rec->interval_ns : rec->value;
}

static void add_pause(struct tapir_top_row *row, const struct tapir_rec_counter *rec)
{
	row->pausing_ns = (row->pausing_ns < 0 ? 0 : row->pausing_ns) + rec->value * 1e6;
}

static void take_jvms(struct tapir_top_row *row, const struct tapir_counter_view *counter)
{
	if (row->pausing_ns < 0) /* it has not collected */
		row->pausing_ns = 0;
	if (tapir_sv__is(counter->name, "gc-time"))
		add_pause(row, counter->rec);
}

static void take_dotnets(struct tapir_top_row *row, const struct tapir_counter_view *counter)
{
	if (tapir_sv__is(counter->name, "total-pause-time-by-gc")) {
		add_pause(row, counter->rec);
		row->pausing_of_ns += (double)counter->rec->interval_ns;
	} else if (tapir_sv__is(counter->name, "alloc-rate")) {
		row->allocated = per_second(counter->rec);
	} else if (tapir_sv__is(counter->name, "exception-count")) {
		row->exceptions = per_second(counter->rec);
	}
}

void tapir_top_rows__counter(struct tapir_top_rows *rows, const struct tapir_counter_view *counter)
{
	struct tapir_top_row *row = top_row_of(rows, counter->rec->tgid, 0);

	if (row && tapir_sv__is(counter->provider, "hsperfdata"))
		take_jvms(row, counter);
	else if (row && counter->rec->kind == TAPIR_COUNTER_RATE)
		take_dotnets(row, counter);
}

void tapir_top_rows__fini(struct tapir_top_rows *rows)
{
	tapir_keyed__fini(&rows->processes);
	tapir_keyed__fini(&rows->threads);
}
