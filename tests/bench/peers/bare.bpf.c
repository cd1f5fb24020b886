/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bare.bpf.c - what a probe costs with the least that can be done: nothing at all; the event
 * into a ring buffer; the event with the kernel's own stack walk. The floor and the rivals of
 * tapir's programs, sharing nothing with them.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define FRAMES 48

struct event {
	u64 time_ns;
	u32 tgid, tid;
	s32 ints[4];
	char text[24];
};

struct event_with_stack {
	struct event event;
	s64 stack_bytes;
	u64 frames[FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 20);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

static void count_lost(void)
{
	u32 zero = 0;
	u64 *cnt = bpf_map_lookup_elem(&lost, &zero);

	if (cnt)
		(*cnt)++;
}

static void fill(struct event *e, struct pt_regs *ctx)
{
	u64 id = bpf_get_current_pid_tgid();

	e->time_ns = bpf_ktime_get_ns();
	e->tgid = id >> 32;
	e->tid = (u32)id;
	e->ints[0] = (s32)PT_REGS_PARM1(ctx);
	e->ints[1] = (s32)PT_REGS_PARM2(ctx);
	e->ints[2] = (s32)PT_REGS_PARM3(ctx);
	e->ints[3] = (s32)PT_REGS_PARM4(ctx);
	if (bpf_probe_read_user_str(e->text, sizeof(e->text), (void *)PT_REGS_PARM5(ctx)) < 0)
		e->text[0] = 0;
}

SEC("uprobe")
int bare_empty(struct pt_regs *ctx)
{
	return 0;
}

SEC("uprobe")
int bare_event(struct pt_regs *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);

	if (!e) {
		count_lost();
		return 0;
	}
	fill(e, ctx);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("uprobe")
int bare_stack(struct pt_regs *ctx)
{
	struct event_with_stack *e = bpf_ringbuf_reserve(&ring, sizeof(*e), 0);

	if (!e) {
		count_lost();
		return 0;
	}
	fill(&e->event, ctx);
	e->stack_bytes = bpf_get_stack(ctx, e->frames, sizeof(e->frames), BPF_F_USER_STACK);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
