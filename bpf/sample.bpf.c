// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sample.bpf.c - what a CPU is doing, at every tick of its clock: a SAMPLE of the running thread
 * with its user and its kernel stack, if the thread is traced.
 *
 * Runs in the timer's interrupt, or in an NMI when a hardware counter overflows; one at a time
 * on a CPU.
 */
#include "bpf/common.bpf.h"
#include "bpf/cpu_stack.bpf.h"
#include "bpf/trace_context.bpf.h"

#define USER_MODE 3 /* the privilege level in cs (Intel SDM 3A, 5.5) */

struct sample_scratch {
	struct tapir_rec_sample sample;
	struct tapir_trace_ids ids; /* part of the record, if there are some */
	struct cpu_stacks stacks;
	struct trace_context trace;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_scratch);
} sample_scratches SEC(".maps");

static __noinline int announce_sample(struct sample_scratch *s, struct tapir_live *now)
{
	if (tapir_announce(now, &s->stacks.sender, &s->stacks.thread, bpf_get_current_task_btf(),
			   &s->sample.h))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	return 0;
}

/*
 * Takes the registers of user space: the interrupted ones, or those with which it entered the
 * kernel.
 */
static __always_inline void take_user(struct sample_scratch *s, struct tapir_live *now,
				      const __u64 *interrupted, struct task_struct *task,
				      int in_user)
{
	struct user_stack *u = &s->stacks.user;
	long err;

	u->owner = STACK_OF_SAMPLE;
	if (in_user) {
		u->ip = interrupted[TAPIR_REG_IP];
		u->sp = interrupted[TAPIR_REG_SP];
		u->fp = interrupted[TAPIR_REG_BP];
		barrier(); /* or both loads become one of a moved ctx, which is not allowed */
	} else {
		set_user_regs(u, task);
	}
	s->sample.stack_id = take_user_stack(&s->stacks, now, &s->sample.h, &err);
	if (err)
		tapir_lose(&zero_key, TAPIR_LOSS_SAMPLE_STACK_LOST);
}

static __always_inline void take_kernel(struct sample_scratch *s, struct tapir_live *now, void *ctx)
{
	long err;

	s->sample.kstack_id = take_kernel_stack(&s->stacks, now, ctx, 0, &s->sample.h, &err);
	if (err)
		tapir_lose(&zero_key, TAPIR_LOSS_SAMPLE_STACK_LOST);
}

/*
 * Why there was no space: 1, the ring had some, but the interrupted code holds its lock. That
 * happens in an NMI only; the helper returns -EAGAIN for both.
 */
static __always_inline int ring_was_busy(struct sender *sender, __u64 size)
{
	void *ring = bpf_map_lookup_elem(&rings, &sender->pair);

	return ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + size + 8 <=
			       bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
}

static __noinline int lose_sample(struct sample_scratch *s)
{
	tapir_lose(&zero_key, ring_was_busy(&s->stacks.sender, s->sample.h.size)
				      ? TAPIR_LOSS_SAMPLE_RING_BUSY
				      : TAPIR_LOSS_SAMPLE_RING_FULL);
	return 0;
}

static __noinline int send_sample(struct sample_scratch *s, struct tapir_live *now)
{
	__u64 size = sizeof(s->sample);

	if (take_trace_ids(&s->trace, now, s->sample.tgid)) {
		__builtin_memcpy(&s->ids, &s->trace.record, sizeof(s->ids));
		size += sizeof(s->ids);
	}
	s->sample.h.size = size;
	if (tapir_send(now, &s->stacks.sender, &s->sample, size))
		lose_sample(s);
	return 0;
}

SEC("perf_event")
int tapir_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const __u64 *regs = (const __u64 *)ctx; /* as enum tapir_reg names them */
	int in_user = (regs[TAPIR_REG_CS] & USER_MODE) == USER_MODE;
	struct tapir_live *now = tapir_live();
	struct sample_scratch *s = bpf_map_lookup_elem(&sample_scratches, &zero_key);

	if (!task->tgid || !s || !now || !now->enabled || !tapir_is_wanted(task, task->tgid))
		return 0;
	s->sample.h.type = TAPIR_REC_SAMPLE;
	s->sample.h.cpu = bpf_get_smp_processor_id();
	s->sample.h.time_ns = bpf_ktime_get_ns();
	s->sample.tgid = task->tgid;
	s->sample.tid = task->pid;
	s->sample.period = ctx->sample_period;
	s->sample.stack_id = s->sample.kstack_id = 0;
	announce_sample(s, now);
	if (BPF_CORE_READ(task, mm))
		take_user(s, now, regs, task, in_user);
	if (!in_user)
		take_kernel(s, now, ctx);
	send_sample(s, now);
	return 0;
}
