// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usdt.bpf.c - a USDT site fires: filter, capture the arguments and the user stack into one
 * EVENT record, send it.
 *
 * The attach cookie names the site (struct tapir_site), which says where each argument lies.
 * Arguments are read in two passes: first all values, because a string's length may be an
 * argument behind it; then the bytes that values point to. What lies on a page that is not
 * resident is faulted in (the program is sleepable); what still cannot be read is marked in
 * fault_mask and never passes as empty.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_site);
} sites SEC(".maps");

/* Stacks that were sent: id -> epoch. Eviction only means that one is sent again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} seen_stacks SEC(".maps");

#define WINDOW_BYTES 2048
#define WINDOW_WORDS (WINDOW_BYTES / 8)
#define SLOTS_OFF    sizeof(struct tapir_rec_event)
#define REC_BYTES    (SLOTS_OFF + 8 * TAPIR_MAX_ARGS + 2 * TAPIR_EVENT_VAR_BYTES)

/* A thread's own place to build records in: nobody else writes it, even while it sleeps. */
struct scratch {
	__u64 thread_epoch; /* in which its THREAD record was sent */
	__u64 regs[32];	    /* struct pt_regs, by enum tapir_reg */
	__u64 window[WINDOW_WORDS];
	struct tapir_rec_stack stack;
	__u64 frames[TAPIR_MAX_FRAMES + 1];
	__u8 rec[REC_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* ---- reading the process ---------------------------------------------------------------- */

static __always_inline long read_user(void *dst, __u32 size, const void *src)
{
	if (!bpf_probe_read_user(dst, size, src))
		return 0;
	return bpf_copy_from_user(dst, size, src);
}

#define PAGE_BYTES 4096

/*
 * Like bpf_probe_read_user_str, but brings in pages that are not resident: after a failure it
 * touches the string's next page and tries again, so a string over three pages is read.
 */
static __always_inline long read_user_str(void *dst, __u32 size, __u64 src)
{
	__u64 touch = src;
	long len = 0;
	char byte;

	for (__u32 page = 0; page < TAPIR_EVENT_VAR_BYTES / PAGE_BYTES + 2; page++) {
		len = bpf_probe_read_user_str(dst, size, (void *)src);
		if (len >= 0)
			return len;
		if (bpf_copy_from_user(&byte, 1, (void *)touch))
			return len;
		touch = (touch & ~(PAGE_BYTES - 1ull)) + PAGE_BYTES;
	}
	return len;
}

/* ---- arguments -------------------------------------------------------------------------- */

struct capture {
	struct scratch *s;
	const struct tapir_site *site;
	__u64 thread_pointer;
	__u32 var_bytes; /* used in the variable part */
	__u32 fault_mask;
	__u32 cut;
};

static __always_inline __u64 reg_value(const struct scratch *s, __u8 reg)
{
	return reg == TAPIR_REG_NONE ? 0 : s->regs[reg & 31];
}

static __always_inline __u64 widen(__u64 value, __u8 size, __u8 is_signed)
{
	__u32 shift = size == 1 ? 56 : size == 2 ? 48 : size == 4 ? 32 : 0;

	value <<= shift;
	return is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
}

static __always_inline __u64 operand_va(const struct capture *c, const struct tapir_operand *op)
{
	__u64 base = op->kind == TAPIR_OPERAND_TLS ? c->thread_pointer : 0;

	return base + reg_value(c->s, op->reg) +
	       (reg_value(c->s, op->index_reg) << (op->scale_shift & 3)) + (__u64)op->value;
}

/* First pass: the value of argument i, or the address of a 16-byte one. */
static long capture_value(__u64 i, void *ctx)
{
	struct capture *c = ctx;
	const struct tapir_site_arg *arg;
	const struct tapir_operand *op;
	__u64 value = 0;

	if (i >= TAPIR_MAX_ARGS)
		return 1;
	arg = &c->site->args[i];
	op = &arg->operand;
	if (op->kind == TAPIR_OPERAND_CONST) {
		value = (__u64)op->value;
	} else if (op->kind == TAPIR_OPERAND_REG) {
		value = widen(reg_value(c->s, op->reg) >> (op->reg_shift & 8), op->size,
			      op->is_signed);
	} else if (op->kind != TAPIR_OPERAND_NONE) {
		value = operand_va(c, op);
		if (op->size <= 8) {
			const void *src = (void *)value;
			__u32 size = op->size & 15;

			value = 0;
			if (size > 8 || read_user(&value, size, src))
				c->fault_mask |= 1u << i;
			value = widen(value, op->size, op->is_signed);
		}
	}
	*(__u64 *)(c->s->rec + SLOTS_OFF + 8 * i) = value;
	return 0;
}

/* How many bytes a pointer-and-length argument asks for. */
static __always_inline __u64 asked_bytes(const struct capture *c, const struct tapir_site_arg *arg)
{
	__u32 len_arg = arg->len_arg;

	if (arg->operand.size == 16)
		return 16;
	if (len_arg >= TAPIR_MAX_ARGS || c->fault_mask & (1u << len_arg))
		return 0;
	return *(__u64 *)(c->s->rec + SLOTS_OFF + 8 * len_arg);
}

/* Second pass: the bytes argument i points to. */
static long capture_bytes(__u64 i, void *ctx)
{
	struct capture *c = ctx;
	struct tapir_slot_bytes *slot;
	const struct tapir_site_arg *arg;
	__u32 at, max, flags = 0;
	long len = 0;
	__u64 src, want;
	char behind = 0;

	if (i >= TAPIR_MAX_ARGS)
		return 1;
	arg = &c->site->args[i];
	if (arg->field_type < TAPIR_FIELD_STR || c->fault_mask & (1u << i))
		return 0;
	slot = (void *)(c->s->rec + SLOTS_OFF + 8 * i);
	src = *(__u64 *)slot;
	at = SLOTS_OFF + 8 * (c->site->arg_cnt & 15) + c->var_bytes;
	max = TAPIR_EVENT_VAR_BYTES - 1 - (c->var_bytes & (TAPIR_EVENT_VAR_BYTES - 1));
	if (max > arg->max_bytes)
		max = arg->max_bytes;
	max &= TAPIR_EVENT_VAR_BYTES - 1;
	if (at > SLOTS_OFF + 8 * TAPIR_MAX_ARGS + TAPIR_EVENT_VAR_BYTES - 1)
		return 1;

	if (!src) {
		flags = TAPIR_SLOT_NULL;
	} else if (arg->field_type == TAPIR_FIELD_STR) {
		len = read_user_str(c->s->rec + at, max + 1, src);
		if (len == (long)max + 1 && !read_user(&behind, 1, (void *)(src + max)) && behind)
			flags = TAPIR_SLOT_CUT;
		if (len > 0)
			len--; /* its NUL */
	} else {
		want = asked_bytes(c, arg);
		if (want > max) {
			want = max;
			flags = TAPIR_SLOT_CUT;
		}
		want &= TAPIR_EVENT_VAR_BYTES - 1;
		len = want && read_user(c->s->rec + at, want, (void *)src) ? -1 : (long)want;
	}
	if (len < 0) {
		c->fault_mask |= 1u << i;
		len = 0;
	}
	if (flags & TAPIR_SLOT_CUT)
		c->cut = 1;
	slot->len_bytes = len;
	slot->flags = flags;
	c->var_bytes += len & (TAPIR_EVENT_VAR_BYTES - 1);
	return 0;
}

/* ---- the user stack --------------------------------------------------------------------- */

/* Reads the stack from its pointer on in one go; less than asked near the end of a stack. */
static __always_inline __u32 read_window(struct scratch *s, __u64 sp)
{
	__u32 to_page_end = PAGE_BYTES - (sp & (PAGE_BYTES - 1));

	if (!bpf_probe_read_user(s->window, WINDOW_BYTES, (void *)sp))
		return WINDOW_BYTES;
	if (to_page_end < WINDOW_BYTES &&
	    !bpf_probe_read_user(s->window, to_page_end & (WINDOW_BYTES - 1), (void *)sp))
		return to_page_end;
	return 0;
}

/* Fills frames and stack header; returns the stack's id. */
static __always_inline __u64 walk(struct scratch *s)
{
	__u64 base = s->regs[TAPIR_REG_SP] & ~7ull, above = base;
	__u64 fp = s->regs[TAPIR_REG_BP], ip = s->regs[TAPIR_REG_IP];
	__u64 hash = tapir_walk__hash(0, ip);
	__u32 window_bytes = read_window(s, base), cnt;
	__u16 flags = 0;

	s->frames[0] = ip;
	for (cnt = 1; cnt < TAPIR_MAX_FRAMES; cnt++) {
		__u64 pair[2], off = fp - base;

		if (!tapir_walk__fp_ok(fp, above))
			break;
		if (off + 16 <= window_bytes) {
			pair[0] = s->window[(off >> 3) & (WINDOW_WORDS - 1)];
			pair[1] = s->window[((off >> 3) + 1) & (WINDOW_WORDS - 1)];
		} else if (bpf_probe_read_user(pair, sizeof(pair), (void *)fp)) {
			flags |= TAPIR_STACK_FAULT;
			break;
		}
		if (!tapir_walk__ip_ok(pair[1]))
			break;
		s->frames[cnt & 127] = pair[1];
		hash = tapir_walk__hash(hash, pair[1]);
		above = fp + 16;
		fp = pair[0];
	}
	if (cnt == TAPIR_MAX_FRAMES && tapir_walk__fp_ok(fp, above))
		flags |= TAPIR_STACK_MORE;
	s->stack.frame_cnt = cnt;
	s->stack.flags = flags;
	s->stack.stack_id = hash ? hash : 1;
	return s->stack.stack_id;
}

/* The id of the current stack, whose frames are sent if this epoch has not had them. */
static __always_inline __u64 take_stack(struct scratch *s, struct tapir_live *now,
					struct tapir_rec_event *ev)
{
	__u64 id = walk(s), epoch = now->epoch, *sent;
	__u32 size;

	if (s->stack.flags & TAPIR_STACK_FAULT)
		tapir_lose(ev->probe_id, TAPIR_LOSS_STACK_FAULT);
	if (s->stack.flags & TAPIR_STACK_MORE)
		tapir_lose(ev->probe_id, TAPIR_LOSS_STACK_DEPTH);
	sent = bpf_map_lookup_elem(&seen_stacks, &id);
	if (sent && *sent == epoch)
		return id;
	size = sizeof(s->stack) + 8 * (s->stack.frame_cnt & 127);
	s->stack.h.type = TAPIR_REC_STACK;
	s->stack.h.cpu = ev->h.cpu;
	s->stack.h.size = size;
	s->stack.h.time_ns = ev->h.time_ns;
	if (tapir_send(now, &s->stack, size)) {
		ev->flags |= TAPIR_EVENT_STACK_LOST;
		tapir_lose(ev->probe_id, TAPIR_LOSS_STACK_RING_FULL);
	} else if (bpf_map_update_elem(&seen_stacks, &id, &epoch, BPF_ANY)) {
		tapir_lose(ev->probe_id, TAPIR_LOSS_SEEN_MAP_FULL);
	}
	return id;
}

/* ---- the thread ------------------------------------------------------------------------- */

/* Says who this thread is, once an epoch; a later hit tries again when there was no space. */
static __always_inline void announce_thread(struct scratch *s, struct tapir_live *now,
					    struct task_struct *task,
					    const struct tapir_rec_event *ev)
{
	struct tapir_rec_thread rec = {
		.h = {.type = TAPIR_REC_THREAD,
		      .cpu = ev->h.cpu,
		      .size = sizeof(rec),
		      .time_ns = ev->h.time_ns},
		.tgid = ev->tgid,
		.tid = ev->tid,
	};
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 epoch = now->epoch;

	rec.ns_tid = tapir_task__ns_pid(task);
	rec.ns_tgid = tapir_task__ns_pid(leader);
	rec.start_ns = BPF_CORE_READ(task, start_time);
	rec.leader_start_ns = BPF_CORE_READ(leader, start_time);
	bpf_core_read_str(rec.comm, sizeof(rec.comm), &task->comm);
	bpf_core_read_str(rec.leader_comm, sizeof(rec.leader_comm), &leader->comm);
	if (tapir_send(now, &rec, sizeof(rec)))
		tapir_lose(0, TAPIR_LOSS_THREAD_RING_FULL);
	else
		s->thread_epoch = epoch;
}

/* ---- the probe -------------------------------------------------------------------------- */

static __always_inline void copy_regs(struct scratch *s, const struct pt_regs *ctx)
{
	const __u64 *from = (const __u64 *)ctx;

#pragma unroll
	for (int i = 0; i < TAPIR_REG_CNT; i++)
		s->regs[i] = from[i];
}

static __always_inline void capture_args(struct scratch *s, const struct tapir_site *site,
					 struct task_struct *task, struct tapir_rec_event *ev)
{
	struct capture c = {.s = s, .site = site};
	__u32 end;

	if (site->flags & TAPIR_SITE_TLS)
		c.thread_pointer = tapir_task__thread_pointer(task);
	if (site->arg_cnt)
		bpf_loop(site->arg_cnt, capture_value, &c, 0);
	if (site->flags & TAPIR_SITE_BYTES)
		bpf_loop(site->arg_cnt, capture_bytes, &c, 0);
	if (c.fault_mask)
		tapir_lose(site->probe_id, TAPIR_LOSS_ARG_FAULT);
	if (c.cut)
		tapir_lose(site->probe_id, TAPIR_LOSS_ARG_CUT);
	ev->fault_mask = c.fault_mask;
	ev->payload_bytes =
		8 * (site->arg_cnt & 15) + (c.var_bytes & (2 * TAPIR_EVENT_VAR_BYTES - 1));
	end = SLOTS_OFF + ev->payload_bytes;
	if (end <= REC_BYTES - 8)
		__builtin_memset(s->rec + end, 0, 8); /* the padding */
}

SEC("uprobe.s")
int tapir_usdt(struct pt_regs *ctx)
{
	__u32 site_idx = bpf_get_attach_cookie(ctx);
	struct task_struct *task = bpf_get_current_task_btf();
	const struct tapir_site *site = bpf_map_lookup_elem(&sites, &site_idx);
	struct tapir_live *now = tapir_live();
	__u64 id = bpf_get_current_pid_tgid(), size;
	struct tapir_rec_event *ev;
	struct scratch *s;

	if (!now || !now->enabled)
		return 0;
	if (!site || !site->probe_id) {
		tapir_lose(0, TAPIR_LOSS_UNKNOWN_SITE);
		return 0;
	}
	if (!tapir_is_wanted(task, id >> 32)) {
		tapir_lose(site->probe_id, TAPIR_LOSS_FILTERED);
		return 0;
	}
	s = bpf_task_storage_get(&scratches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		tapir_lose(site->probe_id, TAPIR_LOSS_NO_TASK_STORAGE);
		return 0;
	}

	ev = (void *)s->rec;
	__builtin_memset(ev, 0, sizeof(*ev));
	ev->h.type = TAPIR_REC_EVENT;
	ev->h.cpu = bpf_get_smp_processor_id();
	ev->h.time_ns = bpf_ktime_get_ns();
	ev->probe_id = site->probe_id;
	ev->tgid = id >> 32;
	ev->tid = id;
	copy_regs(s, ctx);
	if (s->thread_epoch != now->epoch)
		announce_thread(s, now, task, ev);
	capture_args(s, site, task, ev);
	if (site->flags & TAPIR_SITE_STACK)
		ev->stack_id = take_stack(s, now, ev);

	size = (SLOTS_OFF + ev->payload_bytes + 7ull) & ~7ull;
	ev->h.size = size;
	barrier_var(size); /* the check below must reach the verifier on this very register */
	if (size > REC_BYTES || tapir_send(now, ev, size))
		tapir_lose(site->probe_id, TAPIR_LOSS_RING_FULL);
	return 0;
}
