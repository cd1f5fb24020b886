// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * waits.bpf.c - context switches in numbers: for each thread how long it ran, and by kind how often
 * and how long it waited (record/wait_records.c reads them). A wait of TAPIR_SHORT_WAIT_NS or more
 * is a SWITCH record with its stack as well as it is where each switch is recorded (sched.bpf.c).
 *
 * To take a stack costs more than all else, and when a thread leaves its CPU it is not known how
 * long it will be away. So its stack is taken when it comes back, since it is still the same then.
 * While the scheduler switches to it, the thread has neither its CPU nor its address space yet. An
 * interrupt of this CPU is requested, which is served as soon as the scheduler allows interrupts
 * again, in the thread that came and before it continues (`ring_bell`).
 *
 * All programs run with interrupts off, one at a time on a CPU: a per-CPU place is private.
 */
#include "bpf/common.bpf.h"
#include "bpf/cpu_stack.bpf.h"
#include "bpf/walk_cache.bpf.h"
#include "bpf/sums_logic.bpf.h"
#include "bpf/trace_context.bpf.h"
#include "bpf/wanted.bpf.h"

#define SYS_FUTEX 202 /* x86-64 */

/* The key is a thread's id. An entry is made when its thread leaves a CPU or comes to it for the
 * first time. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, __u32);
	__type(value, struct tapir_wait_sums);
} wait_sums SEC(".maps");

/*
 * Bells are rung for an interrupt: nothing is ever written to them, but to drain one may wake its
 * writer, which the kernel does from an interrupt. While one is rung on two CPUs at a time, only
 * one of them is interrupted, so there are several.
 */
#define BELLS 4 /* a power of two */

struct bell {
	__uint(type, BPF_MAP_TYPE_USER_RINGBUF);
	__uint(max_entries, 4096);
};

struct bell wait_bell_0 SEC(".maps"), wait_bell_1 SEC(".maps"), wait_bell_2 SEC(".maps"),
	wait_bell_3 SEC(".maps");

struct wait_scratch {
	/* A long wait that has ended; not of a thread: the record was sent. */
	struct tapir_rec_switch rec;
	struct tapir_switch_wait wait;
	struct tapir_trace_ids ids;
	struct cpu_stacks stacks;
	struct trace_context trace;
	__u64 schedule_va; /* where that thread continues in the scheduler */
	__u32 irq_frames;  /* of the last interrupt, above those of the scheduler; 0: not known */
	__u32 pad0;
	struct tapir_rec_wait_total total;
	__u32 running_tid; /* the thread that came last; 0: of none that is traced */
	__u32 pad1;
	struct tapir_wait_sums fresh; /* all zero but for the identity of a thread */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct wait_scratch);
} wait_scratches SEC(".maps");

/* ---- threads --------------------------------------------------------------------------------- */

static __noinline int begin_thread(struct wait_scratch *s, struct task_struct *task)
{
	__u32 tid = task->pid;

	s->fresh.tgid = task->tgid;
	s->fresh.tid = tid;
	s->fresh.start_ns = task->start_time;
	return bpf_map_update_elem(&wait_sums, &tid, &s->fresh, BPF_ANY);
}

/* NULL: there is no room for one more thread. */
static __always_inline struct tapir_wait_sums *sums_of(struct wait_scratch *s,
						       struct task_struct *task)
{
	__u32 tid = task->pid;
	struct tapir_wait_sums *sums = bpf_map_lookup_elem(&wait_sums, &tid);

	if (sums && sums->start_ns == task->start_time)
		return sums;
	if (!begin_thread(s, task))
		return bpf_map_lookup_elem(&wait_sums, &tid);
	tapir_lose(&zero_key, TAPIR_LOSS_WAITS_FULL);
	return NULL;
}

/* Records and sums of an epoch need the names of their threads. */
static __noinline int announce_waiter(struct wait_scratch *s, struct tapir_wait_sums *sums,
				      struct task_struct *task, __u64 now_ns)
{
	struct tapir_rec of = {.cpu = bpf_get_smp_processor_id(), .time_ns = now_ns};
	struct tapir_live *now = tapir_live();

	if (!s || !sums || !now)
		return 0;
	sums->epoch = now->epoch;
	if (tapir_announce(now, &s->stacks.sender, &s->stacks.thread, task, &of))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	return 0;
}

/* ---- wake-ups -------------------------------------------------------------------------------- */

static __always_inline int note_wake(struct task_struct *woken)
{
	const struct tapir_live *now = tapir_live();
	struct task_struct *waker = bpf_get_current_task_btf();
	__u32 tid = woken->pid;
	struct tapir_wait_sums *sums;

	if (!now || !now->enabled || waker->pid == tid)
		return 0;
	sums = bpf_map_lookup_elem(&wait_sums, &tid);
	if (!sums)
		return 0;
	if (tapir_task__is_interrupted(waker)) {
		sums->flags |= TAPIR_SWITCH_WOKEN_BY_IRQ;
		sums->waker_tid = 0;
	} else {
		sums->flags &= ~TAPIR_SWITCH_WOKEN_BY_IRQ;
		sums->waker_tid = waker->pid;
	}
	sums->wake_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(tapir_sum_wake, struct task_struct *woken)
{
	return note_wake(woken);
}

/* ---- long waits ------------------------------------------------------------------------------ */

/* The record of a wait whose thread has come; the current one is that thread, or it has no ids. */
static __noinline int send_wait(struct wait_scratch *s, __u64 size)
{
	struct tapir_live *now = tapir_live();

	if (!s || !now)
		return 0;
	if (s->rec.flags & TAPIR_SWITCH_STACK_LOST)
		tapir_lose(&zero_key, TAPIR_LOSS_SWITCH_STACK_LOST);
	s->rec.h.size = size;
	if (tapir_send(now, &s->stacks.sender, &s->rec,
		       size == sizeof(s->rec) + sizeof(s->wait)
			       ? sizeof(s->rec) + sizeof(s->wait)
			       : sizeof(s->rec) + sizeof(s->wait) + sizeof(s->ids)))
		tapir_lose(&zero_key, TAPIR_LOSS_SWITCH_RING_FULL);
	s->rec.in_tid = 0;
	return 0;
}

/* The interrupt has not come, as on a CPU without a local APIC: the user stack is missing. */
static __always_inline void send_left_over(struct wait_scratch *s)
{
	if (!s->rec.in_tid)
		return;
	s->rec.flags |= TAPIR_SWITCH_STACK_LOST;
	send_wait(s, sizeof(s->rec) + sizeof(s->wait));
}

static long answer_nothing(struct bpf_dynptr *sample, void *ctx)
{
	return 1;
}

/* Has this CPU interrupted as soon as it allows that. */
static __noinline int ring_bell(void)
{
	__u32 which = bpf_get_smp_processor_id() & (BELLS - 1);

	if (which == 0)
		return bpf_user_ringbuf_drain(&wait_bell_0, answer_nothing, NULL,
					      BPF_RB_FORCE_WAKEUP);
	if (which == 1)
		return bpf_user_ringbuf_drain(&wait_bell_1, answer_nothing, NULL,
					      BPF_RB_FORCE_WAKEUP);
	if (which == 2)
		return bpf_user_ringbuf_drain(&wait_bell_2, answer_nothing, NULL,
					      BPF_RB_FORCE_WAKEUP);
	return bpf_user_ringbuf_drain(&wait_bell_3, answer_nothing, NULL, BPF_RB_FORCE_WAKEUP);
}

/* Returns where a thread without a CPU will continue: in the function that left it. */
static __always_inline __u64 scheduler_va(struct task_struct *task)
{
	__u64 va = 0;
#if defined(__TARGET_ARCH_x86)
	__u64 at = BPF_CORE_READ(task, thread.sp) +
		   bpf_core_field_offset(struct inactive_task_frame, ret_addr);

	bpf_probe_read_kernel(&va, sizeof(va), (const void *)at);
#endif
	return va;
}

static __noinline int begin_record(struct wait_scratch *s, struct tapir_wait_sums *sums,
				   struct task_struct *next, __u64 now_ns)
{
	struct tapir_live *now = tapir_live();

	if (!s || !sums || !now)
		return 0;
	__builtin_memset(&s->rec, 0, sizeof(s->rec));
	s->rec.h.type = TAPIR_REC_SWITCH;
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = now_ns;
	s->rec.out_tgid = s->rec.in_tgid = sums->tgid;
	s->rec.out_tid = s->rec.in_tid = sums->tid;
	s->rec.out_state = sums->out_state;
	s->rec.flags = sums->flags | TAPIR_SWITCH_WAITED;
	s->rec.in_wake_ns = sums->wake_ns;
	s->rec.in_waker_tid = sums->wake_ns ? sums->waker_tid : 0;
	s->wait.futex_va = 0;
	s->wait.since_ns = sums->since_ns;
	s->schedule_va = scheduler_va(next);
	ring_bell();
	return 0;
}

static __always_inline void take_futex_of(struct wait_scratch *s, struct task_struct *task)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);

	if (s->rec.out_state && regs->orig_ax == SYS_FUTEX)
		s->wait.futex_va = regs->di;
}

#define FUNCTION_BYTES 8192 /* more than the scheduler's largest has */
#define IRQ_FRAMES_MAX 16

static __always_inline int is_in_scheduler(const struct wait_scratch *s, __u64 va)
{
	return va - s->schedule_va + FUNCTION_BYTES < 2 * FUNCTION_BYTES;
}

/*
 * Counts the frames of the interrupt, which depend on what a compiler inlined and on where in the
 * end of the switch it comes, if they are not as many as the last time. This is not a function of
 * its own, which would be one of them.
 */
static __always_inline void count_irq_frames(struct wait_scratch *s, void *ctx)
{
	struct kernel_stack *k = &s->stacks.kernel;

	if (s->irq_frames && bpf_get_stack(ctx, k->frames, 8, s->irq_frames) == 8 &&
	    is_in_scheduler(s, k->frames[0]))
		return;
	s->irq_frames = 0;
	k->frames[IRQ_FRAMES_MAX - 1] = 0;
	bpf_get_stack(ctx, k->frames, 8 * IRQ_FRAMES_MAX, 0);
	for (__u32 i = 0; i < IRQ_FRAMES_MAX && !s->irq_frames; i++)
		if (is_in_scheduler(s, k->frames[i]))
			s->irq_frames = i;
}

/* Takes the stack as it was in the wait: without the interrupt in which it is walked. */
static __always_inline void take_stack_of_wait(struct wait_scratch *s, struct tapir_live *now,
					       void *ctx)
{
	long err;

	s->rec.out_kstack_id =
		take_kernel_stack(&s->stacks, now, ctx, s->irq_frames, &s->rec.h, &err);
	if (err)
		s->rec.flags |= TAPIR_SWITCH_STACK_LOST;
}

/* The interrupt: the current thread is the one that has come. */
SEC("tp_btf/irq_work_entry")
int BPF_PROG(tapir_waited, int vector)
{
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratches, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	__u64 size = sizeof(s->rec) + sizeof(s->wait);
	long err = 0;

	if (!s || !now || !s->rec.in_tid || s->rec.in_tid != task->pid)
		return 0;
	count_irq_frames(s, ctx);
	take_stack_of_wait(s, now, ctx);
	if (tapir_task__has_memory(task)) {
		take_futex_of(s, task);
		s->stacks.user.owner = STACK_OF_SWITCH;
		set_user_regs(&s->stacks.user, task);
		s->rec.out_stack_id = take_known_user_stack(&s->stacks, now, task, &s->rec.h, &err);
		if (err)
			s->rec.flags |= TAPIR_SWITCH_STACK_LOST;
	}
	if (take_trace_ids(&s->trace, now, task->tgid)) {
		__builtin_memcpy(&s->ids, &s->trace.record, sizeof(s->ids));
		size += sizeof(s->ids);
	}
	send_wait(s, size);
	return 0;
}

/* ---- a switch --------------------------------------------------------------------------------- */

static __always_inline void add_wait_sum(struct tapir_wait_sums *sums, __u32 kind, __u64 ns)
{
	struct tapir_wait_sum *sum;
	__u64 step; /* of 64 bits, which the check below is of: no shifts come between them */

	if (kind >= TAPIR_WAIT_KIND_CNT)
		return;
	sum = &sums->kinds[kind];
	sum->cnt++;
	sum->ns += ns;
	step = tapir_highest_bit(ns | 1);
	barrier_var(step);
	if (step < TAPIR_WAIT_STEPS)
		sum->steps[step]++;
}

static __always_inline __u32 wait_kind_of(__u32 state)
{
	if (!state)
		return TAPIR_WAIT_RUNNABLE;
	if (state & TAPIR_STATE_SLEEPING)
		return TAPIR_WAIT_SLEEPING;
	return (state & 0xff) == TAPIR_STATE_UNINTERRUPTIBLE ? TAPIR_WAIT_UNINTERRUPTIBLE
							     : TAPIR_WAIT_OTHER;
}

static __always_inline void add_short_wait(struct tapir_wait_sums *sums, __u64 now_ns)
{
	__u64 since_ns = sums->since_ns, woken_ns = sums->wake_ns;

	if (!sums->out_state || !woken_ns || woken_ns >= now_ns) {
		add_wait_sum(sums, wait_kind_of(sums->out_state), now_ns - since_ns);
		return;
	}
	/* The wake-up may be a moment older than the leaving that it ended. */
	if (woken_ns < since_ns)
		woken_ns = since_ns;
	add_wait_sum(sums, wait_kind_of(sums->out_state), woken_ns - since_ns);
	add_wait_sum(sums, TAPIR_WAIT_WOKEN, now_ns - woken_ns);
}

/* The thread is on its CPU for the last time. Its sums stay, for user space, if the ring has no
 * room. */
static __noinline int end_thread(struct wait_scratch *s, struct tapir_wait_sums *sums, __u64 now_ns)
{
	struct tapir_live *now = tapir_live();
	__u32 tid;

	if (!s || !sums || !now)
		return 0;
	s->total.h.type = TAPIR_REC_WAIT_TOTAL;
	s->total.h.size = sizeof(s->total);
	s->total.h.cpu = bpf_get_smp_processor_id();
	s->total.h.time_ns = now_ns;
	bpf_probe_read_kernel(&s->total.sums, sizeof(s->total.sums), sums);
	if (tapir_send(now, &s->stacks.sender, &s->total, sizeof(s->total)))
		return 0;
	tid = sums->tid;
	bpf_map_delete_elem(&wait_sums, &tid);
	return 0;
}

/*
 * Some kernels show a switch to no program: the thread that came last is not the one that leaves.
 * It has left before, and has not run until now.
 */
static __noinline int note_unseen_leaving(struct wait_scratch *s)
{
	struct tapir_wait_sums *sums;
	__u32 tid;

	if (!s)
		return 0;
	tid = s->running_tid;
	sums = bpf_map_lookup_elem(&wait_sums, &tid);
	if (sums && !sums->is_out && sums->cpu == bpf_get_smp_processor_id())
		sums->since_ns = 0;
	return 0;
}

static __always_inline void leaves(struct wait_scratch *s, struct task_struct *task, int preempt,
				   __u32 state, __u64 now_ns)
{
	struct tapir_wait_sums *sums = sums_of(s, task);

	if (!sums)
		return;
	if (sums->since_ns && !sums->is_out)
		sums->run_ns += now_ns - sums->since_ns;
	sums->since_ns = now_ns;
	sums->is_out = 1;
	sums->out_state = preempt ? 0 : state;
	sums->flags = preempt ? TAPIR_SWITCH_PREEMPTED : sums->flags & TAPIR_SWITCH_WOKEN_BY_IRQ;
	if (!sums->out_state)
		sums->wake_ns = 0; /* it was not asleep */
	if (!preempt && state & TAPIR_STATE_DEAD)
		end_thread(s, sums, now_ns);
}

static __always_inline void comes(struct wait_scratch *s, struct tapir_live *now,
				  struct task_struct *task, __u64 now_ns)
{
	struct tapir_wait_sums *sums = sums_of(s, task);

	if (!sums)
		return;
	if (sums->epoch != (__u32)now->epoch)
		announce_waiter(s, sums, task, now_ns);
	if (sums->is_out && now_ns - sums->since_ns < TAPIR_SHORT_WAIT_NS)
		add_short_wait(sums, now_ns);
	else if (sums->is_out)
		begin_record(s, sums, task, now_ns);
	sums->since_ns = now_ns;
	sums->is_out = 0;
	sums->wake_ns = 0;
	sums->flags = 0;
	sums->cpu = bpf_get_smp_processor_id();
	s->running_tid = sums->tid;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tapir_sum_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratches, &zero_key);
	struct tapir_live *now = tapir_live();
	__u64 now_ns;

	if (!f || !s || !now || !now->enabled)
		return 0;
	send_left_over(s);
	now_ns = bpf_ktime_get_ns();
	if (s->running_tid && s->running_tid != prev->pid)
		note_unseen_leaving(s);
	s->running_tid = 0;
	if (is_traced(f, prev))
		leaves(s, prev, preempt, prev_state, now_ns);
	if (is_traced(f, next))
		comes(s, now, next, now_ns);
	return 0;
}
