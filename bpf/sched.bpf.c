// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sched.bpf.c - context switches of traced processes: which thread leaves a CPU, why and from where
 * (SWITCH with the stacks of that thread), which one enters, since when it was runnable, and which
 * thread woke it.
 *
 * Every switch and wake-up of the machine passes here: untraced ones must be recognized by a few
 * loads. The programs run with interrupts off (the run queue is locked), one of each at a time on a
 * CPU, and never sleep; the outgoing thread is still the current one.
 */
#include "bpf/common.bpf.h"
#include "bpf/cpu_stack.bpf.h"
#include "bpf/walk_cache.bpf.h"
#include "bpf/kernel_memo.bpf.h"
#include "bpf/trace_context.bpf.h"
#include "bpf/wanted.bpf.h"

/* ---- wake-ups ---------------------------------------------------------------------- */

struct wake {
	__u64 time_ns; /* 0: not since it last ran */
	__u32 waker_tid;
	__u32 by_irq;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct wake);
} wakes SEC(".maps");

static __noinline int remember_wake(struct task_struct *woken)
{
	struct task_struct *waker = bpf_get_current_task_btf();
	struct wake wake = {.time_ns = bpf_ktime_get_ns()}, *known;
	__u32 tid = woken->pid;

	if (waker->pid == tid)
		return 0; /* on its way to sleep: it continues */
	wake.by_irq = tapir_task__is_interrupted(waker);
	wake.waker_tid = wake.by_irq ? 0 : waker->pid;
	known = bpf_map_lookup_elem(&wakes, &tid);
	if (known)
		*known = wake;
	else if (bpf_map_update_elem(&wakes, &tid, &wake, BPF_ANY))
		tapir_lose(&zero_key, TAPIR_LOSS_WAKE_LOST);
	return 0;
}

static __always_inline int wake(struct task_struct *woken)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct tapir_live *now = tapir_live();

	return f && now && now->enabled && is_traced(f, woken) ? remember_wake(woken) : 0;
}

/* In the context of the waking thread; sched_wakeup may follow later, on another CPU. */
SEC("tp_btf/sched_waking")
int BPF_PROG(tapir_waking, struct task_struct *woken)
{
	return wake(woken);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(tapir_wake_new, struct task_struct *woken)
{
	return wake(woken);
}

/* ---- a switch --------------------------------------------------------------------------- */

struct switch_scratch {
	struct tapir_rec_switch rec;
	/* Parts of the record, if there are some: the futex, then the ids. */
	union {
		struct {
			__u64 va;
			struct tapir_trace_ids ids;
		} futex;
		struct tapir_trace_ids ids;
	} more;
	struct cpu_stacks stacks;
	struct kernel_window window;
	struct trace_context trace;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_scratch);
} switch_scratches SEC(".maps");

/* The innermost kernel frames: this program and bpf_trace_run4. Seen on 6.1, 6.12 and 6.18. */
#define OWN_FRAMES 2

static __noinline int announce(struct switch_scratch *s, struct task_struct *task)
{
	struct tapir_live *now = tapir_live();

	if (now && tapir_announce(now, &s->stacks.sender, &s->stacks.thread, task, &s->rec.h))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	return 0;
}

static __always_inline void capture_stacks(struct switch_scratch *s, struct tapir_live *now,
					   void *ctx, struct task_struct *task)
{
	long err;

	/*
	 * The facts about the result are kept in memory: the verifier goes through the rest once.
	 */
	if (tapir_task__has_memory(task)) {
		s->stacks.user.owner = STACK_OF_SWITCH;
		set_user_regs(&s->stacks.user, task);
		s->rec.out_stack_id = take_known_user_stack(&s->stacks, now, task, &s->rec.h, &err);
		if (err)
			s->rec.flags |= TAPIR_SWITCH_STACK_LOST;
	}
	begin_window(&s->window, (__u64)ctx, task, s->rec.flags & TAPIR_SWITCH_PREEMPTED);
	s->rec.out_kstack_id = take_known_kernel_stack(&s->stacks, &s->window, now, ctx, OWN_FRAMES,
						       &s->rec.h, &err);
	if (err)
		s->rec.flags |= TAPIR_SWITCH_STACK_LOST;
	if (s->rec.flags & TAPIR_SWITCH_STACK_LOST)
		tapir_lose(&zero_key, TAPIR_LOSS_SWITCH_STACK_LOST);
}

/*
 * A thread that is still runnable was not asleep: an older wake-up does not count for the next
 * time.
 */
static __always_inline void forget_wake(__u32 tid)
{
	struct wake *wake = bpf_map_lookup_elem(&wakes, &tid);

	if (wake)
		wake->time_ns = 0;
}

static __always_inline void fill_in(struct tapir_rec_switch *rec, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct wake *wake = bpf_map_lookup_elem(&wakes, &tid);

	rec->in_tgid = task->tgid;
	rec->in_tid = tid;
	if (!wake || !wake->time_ns)
		return;
	rec->in_wake_ns = wake->time_ns;
	rec->in_waker_tid = wake->waker_tid;
	if (wake->by_irq)
		rec->flags |= TAPIR_SWITCH_WOKEN_BY_IRQ;
	wake->time_ns = 0;
}

static __always_inline void fill_out(struct tapir_rec_switch *rec, struct task_struct *task,
				     bool preempt, __u32 state)
{
	rec->out_tgid = task->tgid;
	rec->out_tid = task->pid;
	if (preempt) /* whatever it was about to do: it runs on as soon as it may */
		rec->flags |= TAPIR_SWITCH_PREEMPTED;
	else
		rec->out_state = state;
	if (!rec->out_state)
		forget_wake(rec->out_tid);
}

#define SYS_FUTEX 202 /* x86-64 */

/* Takes the futex from the registers with which the thread that leaves entered the kernel. */
static __always_inline void take_futex(struct switch_scratch *s, struct task_struct *task)
{
	const struct pt_regs *regs;

	if (!s->rec.out_state || !tapir_task__has_memory(task))
		return;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	if (regs->orig_ax != SYS_FUTEX)
		return;
	s->more.futex.va = regs->di;
	s->rec.flags |= TAPIR_SWITCH_HAS_FUTEX;
}

/*
 * The ids are those of the thread that leaves: it is the current one still. The one that comes may
 * fire events into its ring, whose reader may have gone to sleep.
 */
static __noinline int send_switch(struct switch_scratch *s, struct tapir_live *now)
{
	__u64 size = sizeof(s->rec), flags = BPF_RB_NO_WAKEUP;
	struct tapir_trace_ids *ids = &s->more.ids;

	if (s->rec.flags & TAPIR_SWITCH_HAS_FUTEX) {
		ids = &s->more.futex.ids;
		size += sizeof(s->more.futex.va);
	}
	if (s->rec.out_tgid && take_trace_ids(&s->trace, now, s->rec.out_tgid)) {
		__builtin_memcpy(ids, &s->trace.record, sizeof(*ids));
		size += sizeof(*ids);
	}
	s->rec.h.size = size;
	if (s->rec.in_tgid && now->readers_idle) {
		now->readers_idle = 0;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	if (tapir_send_with(now, &s->stacks.sender, &s->rec, size, flags))
		tapir_lose(&zero_key, TAPIR_LOSS_SWITCH_RING_FULL);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tapir_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct tapir_live *now = tapir_live();
	struct switch_scratch *s;
	int out, in;

	if (!f || !now || !now->enabled)
		return 0;
	out = is_traced(f, prev);
	in = is_traced(f, next);
	if (!out && !in)
		return 0;
	s = bpf_map_lookup_elem(&switch_scratches, &zero_key);
	if (!s)
		return 0;
	__builtin_memset(&s->rec, 0, sizeof(s->rec));
	s->rec.h.type = TAPIR_REC_SWITCH;
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = bpf_ktime_get_ns();
	/*
	 * The thread that leaves comes first: its stacks are read from the registers and the memory
	 * of the current task, which it still is.
	 */
	if (out) {
		fill_out(&s->rec, prev, preempt, prev_state);
		announce(s, prev);
		capture_stacks(s, now, ctx, prev);
		take_futex(s, prev);
	}
	if (in) {
		fill_in(&s->rec, next);
		announce(s, next);
	}
	send_switch(s, now);
	return 0;
}
