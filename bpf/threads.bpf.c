// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * threads.bpf.c - the threads of a process as they are now: an iterator over tasks that writes one
 * struct tapir_thread_seen each, with the registers of user code and the kernel stack. It stops
 * no thread.
 *
 * tapir_uses is one over all threads of the machine, without registers and stacks: what each has
 * used so far, as the kernel counts it in any case.
 *
 * A thread that is on a CPU has registers of its last entry to the kernel and a stack that has
 * changed since: it is marked, and has neither.
 */
#include "bpf/common.bpf.h"

#define PF_KTHREAD	  0x00200000 /* include/linux/sched.h */
#define PF_USER_WORKER	  0x00004000 /* since 6.4; io_uring's and vhost's threads */
#define TS_COMPAT_SEGMENT 0x23	     /* the code segment of 32-bit user code */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_thread_seen);
} threads_seen SEC(".maps");

static __always_inline void set_registers(struct tapir_thread_seen *seen, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	seen->ip = BPF_CORE_READ(regs, ip);
	seen->sp = BPF_CORE_READ(regs, sp);
	seen->fp = BPF_CORE_READ(regs, bp);
	seen->syscall = BPF_CORE_READ(regs, orig_ax);
	seen->args[0] = BPF_CORE_READ(regs, di);
	seen->args[1] = BPF_CORE_READ(regs, si);
	seen->args[2] = BPF_CORE_READ(regs, dx);
	seen->args[3] = BPF_CORE_READ(regs, r10);
	if (BPF_CORE_READ(regs, cs) == TS_COMPAT_SEGMENT)
		seen->flags |= TAPIR_THREAD_32_BIT;
}

static __always_inline void set_kernel_stack(struct tapir_thread_seen *seen,
					     struct task_struct *task)
{
	long bytes = bpf_get_task_stack(task, seen->kernel_frames, sizeof(seen->kernel_frames), 0);

	if (bytes > 0)
		seen->kernel_frame_cnt = bytes / 8;
}

/*
 * A thread that is on a CPU changes its registers and its kernel stack while they are read: it has
 * neither. A thread of the kernel has no registers of user space.
 */
SEC("iter/task")
int tapir_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tapir_thread_seen *seen = bpf_map_lookup_elem(&threads_seen, &zero_key);

	if (!task || !seen)
		return 0;
	__builtin_memset(seen, 0, sizeof(*seen));
	tapir_fill_thread(&seen->thread, task, TAPIR_CPU_UNKNOWN, bpf_ktime_get_ns());
	seen->switch_cnt = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	seen->state = BPF_CORE_READ(task, __state);
	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_USER_WORKER) ||
	    !BPF_CORE_READ(task, mm)) {
		seen->flags |= TAPIR_THREAD_IS_KERNELS;
		set_kernel_stack(seen, task);
	} else if (BPF_CORE_READ(task, on_cpu)) {
		seen->flags |= TAPIR_THREAD_ON_CPU;
	} else {
		set_registers(seen, task);
		set_kernel_stack(seen, task);
	}
	bpf_seq_write(ctx->meta->seq, seen, sizeof(*seen));
	return 0;
}

static __always_inline bool is_kernels(struct task_struct *task)
{
	return BPF_CORE_READ(task, flags) & PF_KTHREAD || !BPF_CORE_READ(task, mm);
}

static __always_inline void set_io(struct tapir_thread_use *use, struct task_struct *task)
{
	if (!bpf_core_field_exists(task->ioac.read_bytes))
		return;
	use->read_bytes = BPF_CORE_READ(task, ioac.read_bytes);
	use->written_bytes = BPF_CORE_READ(task, ioac.write_bytes);
}

static __always_inline void set_ended(struct tapir_thread_use *use, struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	use->ended_cpu_ns = BPF_CORE_READ(signal, sum_sched_runtime);
	if (!bpf_core_field_exists(signal->ioac.read_bytes))
		return;
	use->ended_read_bytes = BPF_CORE_READ(signal, ioac.read_bytes);
	use->ended_written_bytes = BPF_CORE_READ(signal, ioac.write_bytes);
}

/* The number of the call in which a thread sleeps; it is kept where its user registers are. */
static __always_inline void set_activity(struct tapir_thread_use *use, struct task_struct *task)
{
	use->state = BPF_CORE_READ(task, __state);
	use->syscall = -1;
	if (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		use->flags |= TAPIR_THREAD_IO_WAIT;
	if (BPF_CORE_READ(task, on_cpu))
		use->flags |= TAPIR_THREAD_ON_CPU;
	if (is_kernels(task))
		use->flags |= TAPIR_THREAD_IS_KERNELS;
	else if (!(use->flags & TAPIR_THREAD_ON_CPU))
		use->syscall = BPF_CORE_READ((struct pt_regs *)bpf_task_pt_regs(task), orig_ax);
}

SEC("iter/task")
int tapir_uses(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tapir_thread_use use = {};

	if (!task)
		return 0;
	use.tgid = task->tgid;
	use.tid = task->pid;
	use.start_ns = BPF_CORE_READ(task, start_time);
	use.cpu_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
	if (bpf_core_field_exists(task->sched_info.run_delay))
		use.runnable_ns = BPF_CORE_READ(task, sched_info.run_delay);
	set_io(&use, task);
	if (use.tgid == use.tid)
		set_ended(&use, task);
	set_activity(&use, task);
	bpf_core_read_str(use.comm, sizeof(use.comm), &task->comm);
	bpf_seq_write(ctx->meta->seq, &use, sizeof(use));
	return 0;
}
