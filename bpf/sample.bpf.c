// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * sample.bpf.c - what a CPU is doing, at every tick of its clock: a SAMPLE of the running thread
 * with its user and its kernel stack, if the thread is one of ours.
 *
 * Runs in the timer's interrupt, one at a time on a CPU: a per-CPU place is private here.
 */
#include "bpf/common.bpf.h"
#include "bpf/user_stack.bpf.h"

#define USER_MODE 3 /* the privilege level in cs (Intel SDM 3A, 5.5) */

struct kernel_stack {
	struct tapir_rec_stack rec;
	__u64 frames[TAPIR_MAX_FRAMES + 1];
};

struct sample_scratch {
	struct sender sender;
	__u64 epoch;
	__u32 tid;
	__u32 pad0;
	struct tapir_rec_sample sample;
	struct tapir_rec_thread thread;
	struct user_stack user;
	struct kernel_stack kernel;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_scratch);
} sample_scratches SEC(".maps");

/* Threads that were announced: tid -> epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u64);
} sampled_threads SEC(".maps");

/* Sends the frames of a stack, if this epoch has not had them. rec: the frames stand behind it. */
static __always_inline void send_frames(struct sample_scratch *s, struct tapir_live *now,
					struct tapir_rec_stack *rec)
{
	__u32 size = sizeof(*rec) + 8 * (rec->frame_cnt & 127);
	__u64 *sent = bpf_map_lookup_elem(&seen_stacks, &rec->stack_id);

	if (sent && *sent == s->epoch)
		return;
	rec->h.type = TAPIR_REC_STACK;
	rec->h.cpu = s->sample.h.cpu;
	rec->h.time_ns = s->sample.h.time_ns;
	rec->h.size = size;
	if (tapir_send(now, &s->sender, rec, size))
		tapir_lose(&zero_key, TAPIR_LOSS_SAMPLE_STACK_LOST);
	else if (bpf_map_update_elem(&seen_stacks, &rec->stack_id, &s->epoch, BPF_ANY))
		tapir_lose(&zero_key, TAPIR_LOSS_SEEN_MAP_FULL);
}

static __noinline int announce(struct sample_scratch *s, struct tapir_live *now)
{
	__u64 *sent = bpf_map_lookup_elem(&sampled_threads, &s->tid);

	if (sent && *sent == s->epoch)
		return 0;
	tapir_fill_thread(&s->thread, bpf_get_current_task_btf(), s->sample.h.cpu,
			  s->sample.h.time_ns);
	if (tapir_send(now, &s->sender, &s->thread, sizeof(s->thread)))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	else
		bpf_map_update_elem(&sampled_threads, &s->tid, &s->epoch, BPF_ANY);
	return 0;
}

/* Where user space was: the interrupted registers, or those it entered the kernel with. */
static __always_inline void take_user_stack(struct sample_scratch *s, struct tapir_live *now,
					    const __u64 *interrupted, struct task_struct *task,
					    int in_user)
{
	struct pt_regs *regs;

	if (in_user) {
		s->user.ip = interrupted[TAPIR_REG_IP];
		s->user.sp = interrupted[TAPIR_REG_SP];
		s->user.fp = interrupted[TAPIR_REG_BP];
	} else {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		s->user.ip = BPF_CORE_READ(regs, ip);
		s->user.sp = BPF_CORE_READ(regs, sp);
		s->user.fp = BPF_CORE_READ(regs, bp);
	}
	walk(&s->user, NULL);
	s->sample.stack_id = s->user.rec.stack_id;
	send_frames(s, now, &s->user.rec);
}

static __always_inline void take_kernel_stack(struct sample_scratch *s, struct tapir_live *now,
					      struct bpf_perf_event_data *ctx)
{
	long bytes = bpf_get_stack(ctx, s->kernel.frames, 8 * TAPIR_MAX_FRAMES, 0);
	__u64 hash = 1; /* other than a user stack of the same addresses */
	__u32 cnt;

	if (bytes <= 0)
		return;
	cnt = ((__u32)bytes >> 3) & 127;
	for (__u32 i = 0; i < TAPIR_MAX_FRAMES && i < cnt; i++)
		hash = tapir_walk__hash(hash, s->kernel.frames[i]);
	s->kernel.rec.stack_id = hash ? hash : 1;
	s->kernel.rec.frame_cnt = cnt;
	s->kernel.rec.flags = TAPIR_STACK_KERNEL;
	s->sample.kstack_id = s->kernel.rec.stack_id;
	send_frames(s, now, &s->kernel.rec);
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
	s->epoch = now->epoch;
	s->tid = task->pid;
	s->sample.h.type = TAPIR_REC_SAMPLE;
	s->sample.h.cpu = bpf_get_smp_processor_id();
	s->sample.h.size = sizeof(s->sample);
	s->sample.h.time_ns = bpf_ktime_get_ns();
	s->sample.tgid = task->tgid;
	s->sample.tid = task->pid;
	s->sample.period = ctx->sample_period;
	s->sample.stack_id = s->sample.kstack_id = 0;
	announce(s, now);
	if (BPF_CORE_READ(task, mm))
		take_user_stack(s, now, regs, task, in_user);
	if (!in_user)
		take_kernel_stack(s, now, ctx);
	if (tapir_send(now, &s->sender, &s->sample, sizeof(s->sample)))
		tapir_lose(&zero_key, TAPIR_LOSS_SAMPLE_RING_FULL);
	return 0;
}
