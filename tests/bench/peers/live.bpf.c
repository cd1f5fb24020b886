/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * live.bpf.c - the questions of bench-live as somebody would write them by hand, each as one
 * program that knows its question: what tapir's table of questions is measured beside.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define STEPS	   64 /* powers of two */
#define TEXT_BYTES 64
#define FRAMES	   127

struct row {
	u64 cnt, sum, least, most, steps[STEPS];
};

struct text {
	char bytes[TEXT_BYTES];
};

#define MAP(name, kind, cnt, key_type, value_type)                                                 \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_##kind);                                                 \
		__uint(max_entries, cnt);                                                          \
		__type(key, key_type);                                                             \
		__type(value, value_type);                                                         \
	} name SEC(".maps")

MAP(lost, PERCPU_ARRAY, 1, u32, u64);
MAP(row, PERCPU_ARRAY, 1, u32, struct row);
MAP(by_number, PERCPU_HASH, 16384, u64, u64);
MAP(by_text, PERCPU_HASH, 1024, struct text, struct row);
MAP(by_stack, HASH, 16384, u32, u64);
MAP(began_by_key, HASH, 65536, u64, u64);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF); /* which the loader reads */
	__uint(max_entries, 4096);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, 4);
	__uint(value_size, FRAMES * 8);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} began_by_thread SEC(".maps");

static const struct row no_row = {.least = ~0ull};

static __always_inline u32 log2_of(u64 value)
{
	u32 bit = 0;

	for (u32 by = 32; by; by >>= 1)
		if (value >> by) {
			value >>= by;
			bit += by;
		}
	return bit;
}

static __always_inline void add(struct row *r, u64 value)
{
	r->cnt++;
	r->sum += value;
	if (value < r->least)
		r->least = value;
	if (value > r->most)
		r->most = value;
	r->steps[log2_of(value) & (STEPS - 1)]++;
}

static __always_inline struct row *only_row(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&row, &zero);
}

SEC("uprobe")
int live_empty(struct pt_regs *ctx)
{
	return 0;
}

SEC("uprobe")
int live_count(struct pt_regs *ctx)
{
	struct row *r = only_row();

	if (r)
		r->cnt++;
	return 0;
}

SEC("uprobe")
int live_hist(struct pt_regs *ctx)
{
	struct row *r = only_row();

	if (r)
		add(r, PT_REGS_PARM1(ctx));
	return 0;
}

SEC("uprobe")
int live_number(struct pt_regs *ctx)
{
	u64 key = PT_REGS_PARM1(ctx), one = 1, *cnt = bpf_map_lookup_elem(&by_number, &key);

	if (cnt)
		(*cnt)++;
	else
		bpf_map_update_elem(&by_number, &key, &one, BPF_NOEXIST);
	return 0;
}

SEC("uprobe")
int live_text(struct pt_regs *ctx)
{
	struct text key = {};
	struct row *r;

	bpf_probe_read_user_str(key.bytes, sizeof(key.bytes), (void *)PT_REGS_PARM5(ctx));
	r = bpf_map_lookup_elem(&by_text, &key);
	if (!r) {
		bpf_map_update_elem(&by_text, &key, &no_row, BPF_NOEXIST);
		r = bpf_map_lookup_elem(&by_text, &key);
	}
	if (r)
		add(r, PT_REGS_PARM1(ctx));
	return 0;
}

SEC("uprobe")
int live_stack(struct pt_regs *ctx)
{
	u32 id = (u32)bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK);
	u64 one = 1, *cnt = bpf_map_lookup_elem(&by_stack, &id);

	if (cnt)
		__sync_fetch_and_add(cnt, 1);
	else
		bpf_map_update_elem(&by_stack, &id, &one, BPF_NOEXIST);
	return 0;
}

SEC("uprobe")
int live_begin_t(struct pt_regs *ctx)
{
	u64 *began = bpf_task_storage_get(&began_by_thread, bpf_get_current_task_btf(), NULL,
					  BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (began)
		*began = bpf_ktime_get_ns();
	return 0;
}

SEC("uprobe")
int live_end_t(struct pt_regs *ctx)
{
	u64 *began = bpf_task_storage_get(&began_by_thread, bpf_get_current_task_btf(), NULL, 0);
	struct row *r = only_row();

	if (began && *began && r) {
		add(r, bpf_ktime_get_ns() - *began);
		*began = 0;
	}
	return 0;
}

SEC("uprobe")
int live_begin_k(struct pt_regs *ctx)
{
	u64 key = PT_REGS_PARM1(ctx), now = bpf_ktime_get_ns();

	bpf_map_update_elem(&began_by_key, &key, &now, BPF_ANY);
	return 0;
}

SEC("uprobe")
int live_end_k(struct pt_regs *ctx)
{
	u64 key = PT_REGS_PARM1(ctx), *began = bpf_map_lookup_elem(&began_by_key, &key);
	struct row *r = only_row();

	if (began && r) {
		add(r, bpf_ktime_get_ns() - *began);
		bpf_map_delete_elem(&began_by_key, &key);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
