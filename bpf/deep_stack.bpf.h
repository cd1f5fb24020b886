/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * deep_stack.bpf.h - the frames of a user stack beyond TAPIR_FRAMES, for a session that asked for
 * more. Then, and only for stacks that have them, there is a second buffer: one per thread that
 * fires probes, two per CPU. The maps exist only in such a session (attach/programs.c); code that
 * refers to them is guarded by frame_limit, which the verifier knows.
 */
#ifndef TAPIR_BPF_DEEP_STACK_BPF_H
#define TAPIR_BPF_DEEP_STACK_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/interp_walk.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/stack_rows.bpf.h"

/* Set before load: 1 to TAPIR_MAX_FRAMES. */
const volatile __u32 frame_limit __weak SEC(".rodata") = TAPIR_FRAMES;

struct deep_stack {
	struct tapir_rec_stack rec;
	__u64 frames[TAPIR_MAX_FRAMES];
	struct tapir_interp_list list;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct deep_stack);
} deep_thread_stacks __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACK_OF_THREAD); /* enum stack_owner */
	__type(key, __u32);
	__type(value, struct deep_stack);
} deep_cpu_stacks __weak SEC(".maps");

static __always_inline int has_deep_stacks(void)
{
	return frame_limit > TAPIR_FRAMES;
}

static __always_inline struct deep_stack *deep_stack_of(const struct user_stack *u)
{
	__u32 owner = u->owner;

	if (owner == STACK_OF_THREAD)
		return bpf_task_storage_get(&deep_thread_stacks, bpf_get_current_task_btf(), NULL,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	return bpf_map_lookup_elem(&deep_cpu_stacks, &owner);
}

/* Not 0: there is no memory for it. Not static: see find_row. */
__weak __noinline int take_deep_frame(struct user_stack *u, __u64 ip)
{
	struct deep_stack *deep;
	__u32 cnt;

	if (!u || !has_deep_stacks())
		return -1;
	deep = deep_stack_of(u);
	cnt = u->walk.cnt;
	barrier_var(cnt);
	if (!deep || cnt >= TAPIR_MAX_FRAMES)
		return -1;
	deep->frames[cnt] = ip;
	return 0;
}

/* Not static: see find_row. */
__weak __noinline long send_deep_stack(struct user_stack *u, struct sender *sender,
				       const struct tapir_rec *of)
{
	struct tapir_live *now = tapir_live();
	struct deep_stack *deep;
	struct sender own; /* before Linux 6.2 an argument's memory is no key of a map */
	__u64 size;
	long err;

	if (!u || !sender || !of || !now || !has_deep_stacks())
		return -1;
	deep = deep_stack_of(u);
	size = u->list.cnt ? tapir_interp__record_bytes(TAPIR_MAX_FRAMES, u->list.cnt)
			   : sizeof(deep->rec) + 8ull * u->rec.frame_cnt;
	barrier_var(size); /* the check must reach the verifier on this very register */
	if (!deep || size > sizeof(*deep))
		return -1;
	deep->rec = u->rec;
	if (bpf_probe_read_kernel(deep->frames, 8 * TAPIR_FRAMES, u->frames) ||
	    bpf_probe_read_kernel(&deep->list, sizeof(deep->list), &u->list))
		return -1;
	own = *sender;
	err = send_stack_now(now, &own, &deep->rec, size,
			     u->list.cnt ? TAPIR_REC_INTERP_STACK : TAPIR_REC_STACK,
			     whole_stack_id(u, u->rec.stack_id), of);
	*sender = own;
	return err;
}

/* The addresses and what an interpreter runs. Not static: see find_row. */
__weak __noinline long send_interp_stack(struct user_stack *u, struct sender *sender,
					 const struct tapir_rec *of)
{
	struct tapir_live *now = tapir_live();
	struct sender own;
	__u64 size;
	long err;

	if (!u || !sender || !of || !now)
		return -1;
	size = tapir_interp__record_bytes(TAPIR_FRAMES + 2, u->list.cnt);
	barrier_var(size); /* the check must reach the verifier on this very register */
	if (size > sizeof(struct tapir_rec_interp_stack))
		return -1;
	own = *sender;
	err = send_stack_now(now, &own, &u->rec, size, TAPIR_REC_INTERP_STACK, u->list.stack_id,
			     of);
	*sender = own;
	return err;
}

/* tapir_send_stack of the stack that was walked. */
static __always_inline long send_user_stack(struct tapir_live *now, struct sender *sender,
					    struct user_stack *u, const struct tapir_rec *of)
{
	int is_deep = has_deep_stacks() && u->rec.frame_cnt > TAPIR_FRAMES;

	if (!is_deep && !u->list.cnt)
		return tapir_send_stack(now, sender, &u->rec, of);
	if (has_stack_mark(now, whole_stack_id(u, u->rec.stack_id)))
		return 0;
	return is_deep ? send_deep_stack(u, sender, of) : send_interp_stack(u, sender, of);
}

#endif /* TAPIR_BPF_DEEP_STACK_BPF_H */
