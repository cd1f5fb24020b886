/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cpu_stack.bpf.h - the user and the kernel stack of the current thread, for programs that
 * nothing of their own kind can interrupt: a per-CPU place is private in them.
 *
 * They may not sleep: a frame on a page that is not resident ends the walk, which the stack's flags
 * show.
 */
#ifndef TAPIR_BPF_CPU_STACK_BPF_H
#define TAPIR_BPF_CPU_STACK_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/user_stack.bpf.h"

struct kernel_stack {
	struct tapir_rec_stack rec;
	__u64 frames[TAPIR_FRAMES + 1];
};

struct cpu_stacks {
	struct sender sender;
	struct tapir_rec_thread thread;
	struct user_stack user;
	struct kernel_stack kernel;
};

/* The registers with which the current thread entered the kernel. */
static __always_inline void set_user_regs(struct user_stack *u, struct task_struct *task)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(task);

	u->ip = regs->ip;
	u->sp = regs->sp;
	u->fp = regs->bp;
}

/* Walks from the registers in s->user; the id of the stack, which was sent if *err is 0. */
static __always_inline __u64 take_user_stack(struct cpu_stacks *s, struct tapir_live *now,
					     const struct tapir_rec *of, long *err)
{
	walk(&s->user, NULL);
	*err = send_user_stack(now, &s->sender, &s->user, of);
	return whole_stack_id(&s->user, s->user.rec.stack_id);
}

/* An id for the first cnt frames. Not static: see walk. */
__weak __noinline int set_kernel_stack(struct kernel_stack *k, __u32 cnt)
{
	__u64 hash = 1; /* other than a user stack of the same addresses */

	if (!k)
		return 0;
	for (__u32 i = 0; i < TAPIR_FRAMES && i < cnt; i++)
		hash = tapir_walk__hash(hash, k->frames[i]);
	k->rec.stack_id = hash ? hash : 1;
	k->rec.frame_cnt = cnt;
	k->rec.flags = TAPIR_STACK_KERNEL;
	return 0;
}

/* 0: there is none. skip: innermost frames to leave out. */
static __always_inline __u64 take_kernel_stack(struct cpu_stacks *s, struct tapir_live *now,
					       void *ctx, __u32 skip, const struct tapir_rec *of,
					       long *err)
{
	long bytes = bpf_get_stack(ctx, s->kernel.frames, 8 * TAPIR_FRAMES, skip);

	*err = 0;
	if (bytes <= 0)
		return 0;
	set_kernel_stack(&s->kernel, ((__u32)bytes >> 3) & 127);
	*err = tapir_send_stack(now, &s->sender, &s->kernel.rec, of);
	return s->kernel.rec.stack_id;
}

#endif /* TAPIR_BPF_CPU_STACK_BPF_H */
