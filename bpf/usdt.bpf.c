// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * usdt.bpf.c - a USDT site fires: filter, capture the arguments and the user stack into one
 * EVENT record, send it.
 *
 * The attach cookie identifies the site (struct tapir_site), which has the location of each
 * argument. Arguments are read in two passes: first all values, because a string's length may be a
 * later argument; then the bytes that values point to. A page that is not resident is faulted in
 * (the program is sleepable); what still cannot be read is marked in fault_mask and never passes as
 * empty.
 */
#include "bpf/common.bpf.h"
#include "bpf/question.bpf.h"
#include "bpf/sent.bpf.h"
#include "bpf/trace_context.bpf.h"
#include "bpf/user_stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_site);
} sites SEC(".maps");

#define SLOTS_OFF     sizeof(struct tapir_rec_event)
#define IDS_BYTES     sizeof(struct tapir_trace_ids)
#define REC_BYTES     (SLOTS_OFF + 8 * TAPIR_MAX_ARGS + 2 * TAPIR_EVENT_VAR_BYTES + IDS_BYTES)

/*
 * Stacks that a thread has sent recently, by the low bits of their ids: saves a lookup in the map.
 */
#define RECENT_STACKS 16

/*
 * A thread's own buffer for records: no other thread writes it, even while it sleeps. What the
 * verifier need not follow (counts, masks) is stored here, too: in a register, each of its values
 * would be a separate path.
 */
struct scratch {
	__u64 epoch; /* in which its THREAD record and its recent stacks were sent */
	struct sender sender;
	__u32 is_listed; /* its process was found in the map `tgids` */
	__u32 var_bytes; /* used in the variable part of the record being built */
	__u32 is_truncated;
	__u32 site_idx;
	__u64 thread_pointer;
	__u64 temp;	/* a value on its way */
	__u64 regs[32]; /* struct pt_regs, by enum tapir_reg */
	__u64 recent_stacks[RECENT_STACKS];
	struct tapir_rec_thread thread;
	struct trace_context trace;
	struct question_scratch question;
	__u8 rec[REC_BYTES];
	struct user_stack stack; /* last: an offset of an instruction has 16 bits */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/*
 * The task that passed on this CPU last, of those that are wanted as long as they live: its numbers
 * and the time of its start.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} wanted_task SEC(".maps");

/* ---- reading the process ---------------------------------------------------------------- */

static __always_inline long read_user(void *dst, __u32 size, const void *src)
{
	if (!bpf_probe_read_user(dst, size, src))
		return 0;
	return bpf_copy_from_user(dst, size, src);
}

/*
 * bpf_probe_read_user_str to s->rec + at when it failed: touches the string's next page, which
 * brings it in, and tries again, so that a string over three pages is read.
 */
static __noinline long read_absent_str(struct scratch *s, __u32 at, __u32 size, __u64 src)
{
	__u64 touch = src;
	long len = -1;

	if (!s || at > REC_BYTES - TAPIR_EVENT_VAR_BYTES || size > TAPIR_EVENT_VAR_BYTES)
		return -1;
	for (__u32 page = 0; page < TAPIR_EVENT_VAR_BYTES / PAGE_BYTES + 1; page++) {
		if (bpf_copy_from_user(&s->temp, 1, (void *)touch))
			return len;
		len = bpf_probe_read_user_str(s->rec + at, size, (void *)src);
		if (len >= 0)
			return len;
		touch = (touch & ~(PAGE_BYTES - 1ull)) + PAGE_BYTES;
	}
	return len;
}

/* The argument of a loop's callback: one pointer. */
struct capture {
	struct scratch *s;
	const struct tapir_site *site;
};

/* ---- arguments -------------------------------------------------------------------------- */

static __always_inline struct tapir_rec_event *event_of(struct scratch *s)
{
	return (void *)s->rec;
}

static __always_inline __u64 *slot_of(struct scratch *s, __u32 i)
{
	return (__u64 *)(s->rec + SLOTS_OFF + 8 * i);
}

static __always_inline __u64 reg_value(const struct scratch *s, __u8 reg)
{
	return reg == TAPIR_REG_NONE ? 0 : s->regs[reg & 31];
}

/* Widens size bytes (1, 2, 4, 8) to 8; a 16-byte operand's value is an address and stays. */
static __always_inline __u64 widen_argument(__u64 value, __u8 size, __u8 is_signed)
{
	__u32 shift = (64 - 8 * size) & 63;

	value <<= shift;
	return is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
}

static __always_inline __u64 operand_va(const struct scratch *s, const struct tapir_operand *op)
{
	__u64 base = op->kind == TAPIR_OPERAND_TLS ? s->thread_pointer : 0;

	return base + reg_value(s, op->reg) +
	       (reg_value(s, op->index_reg) << (op->scale_shift & 3)) + (__u64)op->value;
}

static __noinline __u64 memory_value(struct scratch *s, const struct tapir_operand *op, __u32 i)
{
	__u64 va = operand_va(s, op), *value = &s->temp;
	__u32 size = op->size & 15;

	if (op->size > 8)
		return va;
	*value = 0;
	if (size > 8 || read_user(value, size, (void *)va))
		event_of(s)->fault_mask |= 1u << i;
	return widen_argument(*value, op->size, op->is_signed);
}

/* The pointer at va. */
static __noinline __u64 pointed_to(struct scratch *s, __u64 va, __u32 i)
{
	if (read_user(&s->temp, sizeof(s->temp), (void *)va)) {
		event_of(s)->fault_mask |= 1u << i;
		return 0;
	}
	return s->temp;
}

/* The value of an argument, or the address of a 16-byte one. */
static __always_inline void capture_value(struct scratch *s, const struct tapir_site *site, __u32 i)
{
	const struct tapir_operand *op = &site->args[i].operand;
	__u64 value = 0;

	if (op->kind == TAPIR_OPERAND_REG)
		value = widen_argument(s->regs[op->reg & 31] >> (op->reg_shift & 8), op->size,
				       op->is_signed) +
			(__u64)op->value;
	else if (op->kind == TAPIR_OPERAND_CONST)
		value = (__u64)op->value;
	else if (op->kind != TAPIR_OPERAND_NONE)
		value = memory_value(s, op, i);
	if (site->args[i].via && value)
		value = pointed_to(s, value + site->args[i].via, i);
	barrier_var(i); /* the verifier may have its bound on another register */
	*slot_of(s, i & (TAPIR_QUESTION_SLOTS - 1)) = value;
}

/* First pass: the value of each argument. */
static __always_inline void capture_values(struct scratch *s, const struct tapir_site *site)
{
	__u32 cnt = site->arg_cnt;

	for (__u32 i = 0; i < TAPIR_MAX_ARGS && i < cnt; i++)
		capture_value(s, site, i);
}

/* The number of bytes that a pointer-and-length argument requests. */
static __always_inline __u64 requested_bytes(struct scratch *s, const struct tapir_site *site,
					     const struct tapir_site_arg *arg)
{
	__u32 len_arg = arg->len_arg;
	__u64 len;

	if (arg->operand.size == 16)
		return 16;
	if (len_arg >= TAPIR_MAX_ARGS || event_of(s)->fault_mask & (1u << len_arg))
		return 0;
	len = *slot_of(s, len_arg);
	return site->args[len_arg].operand.is_signed && (__s64)len < 0 ? 0 : len;
}

/* Second pass: the bytes that the nth of the site's byte arguments points to. */
static __noinline long capture_nth_bytes(struct scratch *s, const struct tapir_site *site,
					 __u32 nth)
{
	struct tapir_slot_bytes *slot;
	const struct tapir_site_arg *arg;
	__u32 i = nth < TAPIR_MAX_ARGS ? site->byte_args[nth] : TAPIR_MAX_ARGS;
	__u32 at, max, used = s->var_bytes & (TAPIR_EVENT_VAR_BYTES - 1), flags = 0;
	long len = 0;
	__u64 src, want;
	__u8 *next_byte = (__u8 *)&s->temp;

	if (i >= TAPIR_MAX_ARGS)
		return 1;
	if (event_of(s)->fault_mask & (1u << i))
		return 0;
	arg = &site->args[i];
	slot = (void *)slot_of(s, i);
	src = *(__u64 *)slot;
	at = SLOTS_OFF + 8 * (site->arg_cnt & 15) + used;
	max = TAPIR_EVENT_VAR_BYTES - 1 - used;
	if (max > arg->max_bytes)
		max = arg->max_bytes;
	barrier_var(max); /* or the compiler, which knows it, removes the bound */
	max &= TAPIR_EVENT_VAR_BYTES - 1;
	if (at > SLOTS_OFF + 8 * TAPIR_MAX_ARGS + TAPIR_EVENT_VAR_BYTES - 1)
		return 1;

	if (!src) {
		flags = TAPIR_SLOT_NULL;
	} else if (arg->field_type == TAPIR_FIELD_STR) {
		len = bpf_probe_read_user_str(s->rec + at, max + 1, (void *)src);
		if (len < 0)
			len = read_absent_str(s, at, max + 1, src);
		if (len == (long)max + 1 && !read_user(next_byte, 1, (void *)(src + max)) &&
		    *next_byte)
			flags = TAPIR_SLOT_CUT;
		if (len > 0)
			len--; /* its NUL */
	} else {
		want = requested_bytes(s, site, arg);
		if (want > max) {
			want = max;
			flags = TAPIR_SLOT_CUT;
		}
		barrier_var(want);
		want &= TAPIR_EVENT_VAR_BYTES - 1;
		len = want && read_user(s->rec + at, want, (void *)src) ? -1 : (long)want;
	}
	if (len < 0) {
		event_of(s)->fault_mask |= 1u << i;
		len = 0;
	}
	if (flags & TAPIR_SLOT_CUT)
		s->is_truncated = 1;
	slot->len_bytes = len;
	slot->flags = flags;
	s->var_bytes = used + (len & (TAPIR_EVENT_VAR_BYTES - 1));
	return 0;
}

static long capture_remaining_bytes(__u64 idx, void *ctx)
{
	const struct capture *c = ctx;

	return capture_nth_bytes(c->s, c->site, idx + 1);
}

static __noinline int capture_all_remaining_bytes(struct scratch *s, const struct tapir_site *site)
{
	struct capture c = {.s = s, .site = site};

	bpf_loop(site->byte_arg_cnt - 1, capture_remaining_bytes, &c, 0);
	return 0;
}

/* ---- the user stack --------------------------------------------------------------------- */

/* Sends the frames of the stack at hand, if this epoch has not had them. */
static __noinline int send_stack(struct scratch *s, struct tapir_live *now)
{
	struct tapir_rec_event *ev = event_of(s);

	if (!send_user_stack(now, &s->sender, &s->stack, &ev->h))
		return 0;
	ev->flags |= TAPIR_EVENT_STACK_LOST;
	tapir_lose(&ev->probe_id, TAPIR_LOSS_STACK_RING_FULL);
	return -1;
}

/* The id of the current stack, whose frames are in the file or on their way. */
static __always_inline __u64 capture_stack(struct scratch *s, struct tapir_live *now,
					   const struct tapir_site *site)
{
	__u64 id, *recent;

	s->stack.owner = STACK_OF_THREAD;
	s->stack.ip = s->regs[TAPIR_REG_IP];
	s->stack.sp = s->regs[TAPIR_REG_SP];
	s->stack.fp = s->regs[TAPIR_REG_BP];
	walk(&s->stack, site);
	id = whole_stack_id(&s->stack, s->stack.rec.stack_id);
	recent = &s->recent_stacks[id & (RECENT_STACKS - 1)];
	if (s->stack.rec.flags & TAPIR_STACK_FAULT)
		tapir_lose(&event_of(s)->probe_id, TAPIR_LOSS_STACK_FAULT);
	if (s->stack.rec.flags & TAPIR_STACK_MORE)
		tapir_lose(&event_of(s)->probe_id, TAPIR_LOSS_STACK_DEPTH);
	if (*recent != id && !send_stack(s, now))
		*recent = id;
	return id;
}

/* ---- the thread ------------------------------------------------------------------------- */

/* Describes this thread, once per epoch; a later hit tries again if there was no space. */
static __noinline int announce_thread(struct scratch *s)
{
	struct tapir_live *now = tapir_live();
	struct tapir_rec_thread *rec;
	__u64 epoch;

	if (!s || !now)
		return 0;
	epoch = now->epoch;
	rec = &s->thread;
	tapir_fill_thread(rec, bpf_get_current_task_btf(), event_of(s)->h.cpu,
			  event_of(s)->h.time_ns);
	__builtin_memset(s->recent_stacks, 0, sizeof(s->recent_stacks));
	if (tapir_send(now, &s->sender, rec, sizeof(*rec)))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	else
		s->epoch = epoch;
	return 0;
}

/* ---- the probe -------------------------------------------------------------------------- */

static __always_inline void copy_regs(struct scratch *s, const struct pt_regs *ctx)
{
	const __u64 *from = (const __u64 *)ctx;

#pragma unroll
	for (int i = 0; i < TAPIR_REG_CNT; i++)
		s->regs[i] = from[i];
}

static __always_inline void take_thread_pointer(struct scratch *s, const struct tapir_site *site)
{
	if (site->flags & TAPIR_SITE_TLS)
		s->thread_pointer = tapir_task__thread_pointer(bpf_get_current_task_btf());
}

static __always_inline void begin_args(struct scratch *s, const struct tapir_site *site)
{
	s->var_bytes = s->is_truncated = 0;
	take_thread_pointer(s, site);
	capture_values(s, site);
}

/*
 * A question's keys are in an argument's memory. A kernel that takes none from there has both from
 * their maps, at a cost.
 */
static __always_inline int find_keys(struct scratch **s, const struct tapir_site **site)
{
	if (tapir_kernel__takes_keys_of_arguments())
		return *s && *site;
	*s = bpf_task_storage_get(&scratches, bpf_get_current_task_btf(), NULL, 0);
	*site = *s ? bpf_map_lookup_elem(&sites, &(*s)->site_idx) : NULL;
	return *site != NULL;
}

/* Not static, as is_added. */
__weak __noinline int is_paired(struct scratch *s, const struct tapir_site *site)
{
	return has_pairs && find_keys(&s, &site) &&
	       is_paired_now(&site->probe_id, &s->question, slot_of(s, 0), event_of(s)->fault_mask);
}

/* Answers a hit of a pair, if that was not done without its values. */
static __always_inline int is_of_pair(struct scratch *s, const struct tapir_site *site)
{
	const struct tapir_hit_question *q = question_of(&site->probe_id);

	if (!q || !q->role)
		return 0;
	s->question.new_stacks = 0;
	s->question.fate = HIT_RECORDED;
	if ((q->needs_slots || site->flags & TAPIR_SITE_TELLS_TAKEN) && is_paired(s, site))
		s->question.fate = HIT_REJECTED;
	return 1;
}

/* Needs the values alone. */
static __noinline int decide_fate(struct scratch *s, const struct tapir_site *site)
{
	if (!s || !site || (has_pairs && is_of_pair(s, site)))
		return 0;
	s->question.fate = fate_of(&site->probe_id, &s->question, slot_of(s, 0),
				   event_of(s)->fault_mask, TAPIR_MAX_ARGS);
	return 0;
}

/* Not static: see find_row. Without sums, nothing of this is verified. */
__weak __noinline int is_added(struct scratch *s, const struct tapir_site *site)
{
	return has_sums && find_keys(&s, &site) &&
	       is_added_now(&site->probe_id, &s->question, slot_of(s, 0), event_of(s)->fault_mask,
			    TAPIR_MAX_ARGS);
}

/* Not static, so that it is verified once. */
__weak __noinline int capture_one(struct scratch *s, const struct tapir_site *site, __u32 i)
{
	if (s && site && i < TAPIR_MAX_ARGS)
		capture_value(s, site, i);
	return 0;
}

/* The values that a question is about, and no others. */
static __always_inline void capture_slots(struct scratch *s, const struct tapir_site *site,
					  const struct tapir_hit_question *q)
{
	__u32 cnt = q->slot_cnt;

	event_of(s)->fault_mask = 0;
	if (cnt)
		take_thread_pointer(s, site);
	for (__u32 i = 0; i < TAPIR_MAX_ARGS && i < cnt; i++)
		capture_one(s, site, q->slots[i & (TAPIR_QUESTION_SLOTS - 1)]);
}

/* Not static: see find_row. */
__weak __noinline int is_answered_by_values(struct scratch *s, const struct tapir_site *site)
{
	const struct tapir_hit_question *q;

	if (!has_questions || !find_keys(&s, &site))
		return 0;
	q = question_of(&site->probe_id);
	if (!q)
		return 0;
	capture_slots(s, site, q);
	return is_answered_now(q, &site->probe_id, &s->question, slot_of(s, 0),
			       event_of(s)->fault_mask, TAPIR_MAX_ARGS);
}

/*
 * Answers a hit before anything of its record is made. Those that wait for a stack, or that a ring
 * may have, are decided later.
 */
static __always_inline int is_answered_early(struct pt_regs *ctx, struct scratch *s,
					     const struct tapir_site *site)
{
	const struct tapir_hit_question *q = question_of(&site->probe_id);

	s->question.is_decided = 0;
	if (!q || q->needs_stack || site->flags & TAPIR_SITE_TELLS_TAKEN)
		return 0;
	if (has_pairs && q->role)
		return !q->needs_slots && is_paired(s, site);
	s->question.is_decided = 1;
	if (q->slot_cnt)
		copy_regs(s, ctx);
	return is_answered_by_values(s, site);
}

/* Takes the stack, and asks what waits for it. */
static __always_inline int is_answered_by_stack(struct scratch *s, struct tapir_live *now,
						const struct tapir_site *site)
{
	struct tapir_rec_event *ev = event_of(s);

	ev->stack_id = capture_stack(s, now, site);
	if (!has_sums || s->question.fate != HIT_WANTS_STACK)
		return 0;
	s->question.stack.user = ev->stack_id;
	s->question.stack.kernel = 0;
	s->question.stack.tgid = ev->tgid;
	s->question.stack.is_lost = ev->flags & TAPIR_EVENT_STACK_LOST;
	return is_added(s, site);
}

/* Captures what the values point to, and completes the record. */
static __always_inline void capture_args(struct scratch *s, const struct tapir_site *site)
{
	struct tapir_rec_event *ev = event_of(s);
	__u32 end;

	/* The first without a loop: mostly it is the only one, and a loop costs as much as it. */
	if (site->byte_arg_cnt)
		capture_nth_bytes(s, site, 0);
	if (site->byte_arg_cnt > 1)
		capture_all_remaining_bytes(s, site);
	if (ev->fault_mask)
		tapir_lose(&site->probe_id, TAPIR_LOSS_ARG_FAULT);
	if (s->is_truncated)
		tapir_lose(&site->probe_id, TAPIR_LOSS_ARG_CUT);
	ev->payload_bytes =
		8 * (site->arg_cnt & 15) + (s->var_bytes & (2 * TAPIR_EVENT_VAR_BYTES - 1));
	end = SLOTS_OFF + ev->payload_bytes;
	if (end <= REC_BYTES - 8)
		__builtin_memset(s->rec + end, 0, 8); /* the padding */
}

/* ---- events that a ring has ------------------------------------------------------------- */

static __always_inline __u64 taken_value(struct scratch *s, const struct tapir_operand *op)
{
	if (op->kind == TAPIR_OPERAND_REG)
		return s->regs[op->reg & 31];
	if (op->kind != TAPIR_OPERAND_MEM ||
	    read_user(&s->temp, sizeof(s->temp), (void *)operand_va(s, op)))
		return 0;
	return s->temp;
}

/*
 * The thread has just offered this very event to the ring lane; a session of ours there has it, or
 * has counted it. A process whose word is false loses only its own events.
 */
static __noinline int is_taken(struct scratch *s, const struct tapir_site *site)
{
	const struct tapir_live *now = tapir_live();
	__u64 value, session;

	if (!s || !site || !now || !now->ring_session)
		return 0;
	value = taken_value(s, &site->taken);
	session = (value & ~(PAGE_BYTES - 1ull)) + TAPIR_CTL_SESSION_ID_OFF;
	for (__u32 i = 0; i < TAPIR_CTL_SESSIONS; i++) {
		if (value & (1u << i) && !read_user(&s->temp, sizeof(s->temp), (void *)session) &&
		    s->temp == now->ring_session)
			return 1;
		session += TAPIR_CTL_SESSION_BYTES;
	}
	return 0;
}

/* A thread's first hit, or one of a process that is in no list: whether it is wanted. */
static __noinline int is_selected_thread(struct pt_regs *ctx)
{
	__u32 site_idx = bpf_get_attach_cookie(ctx);
	const struct tapir_site *site = bpf_map_lookup_elem(&sites, &site_idx);
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *s;

	if (!site)
		return 1; /* which has its own counter */
	if (!tapir_is_wanted(task, task->tgid)) {
		tapir_lose(&site->probe_id, TAPIR_LOSS_FILTERED);
		return 0;
	}
	s = bpf_task_storage_get(&scratches, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		tapir_lose(&site->probe_id, TAPIR_LOSS_NO_TASK_STORAGE);
		return 0;
	}
	s->is_listed = tapir_is_listed(task->tgid);
	return 1;
}

static __always_inline void begin_event(struct scratch *s, const struct task_struct *task,
					__u32 probe_id)
{
	struct tapir_rec_event *ev = event_of(s);

	__builtin_memset(ev, 0, sizeof(*ev));
	ev->h.type = TAPIR_REC_EVENT;
	ev->h.cpu = bpf_get_smp_processor_id();
	ev->probe_id = probe_id;
	ev->tgid = task->tgid;
	ev->tid = task->pid;
}

/* After the payload, so that the capture of arguments has fixed offsets. */
static __noinline int add_trace_ids(struct scratch *s, struct tapir_live *now)
{
	struct tapir_rec_event *ev;
	__u64 end;

	if (!s || !now)
		return 0;
	ev = event_of(s);
	if (!take_trace_ids(&s->trace, now, ev->tgid))
		return 0;
	end = ev->h.size;
	barrier_var(end);
	if (end > REC_BYTES - IDS_BYTES)
		return 0;
	__builtin_memcpy(s->rec + end, &s->trace.record, IDS_BYTES);
	ev->flags |= TAPIR_EVENT_TRACE_IDS;
	ev->h.size = end + IDS_BYTES;
	return 0;
}

/* NULL: the process is not wanted, or there is none, which is counted. */
static __always_inline struct scratch *scratch_of(struct pt_regs *ctx, struct task_struct *task)
{
	struct scratch *s = bpf_task_storage_get(&scratches, task, NULL, 0);

	/* A process that was listed stays so until it ends. */
	if (!s || !s->is_listed) {
		if (!is_selected_thread(ctx))
			return NULL;
		s = bpf_task_storage_get(&scratches, task, NULL, 0);
	}
	if (!s)
		tapir_lose(&zero_key, TAPIR_LOSS_UNKNOWN_SITE);
	return s;
}

/* ---- hits that cost no more than to count them ------------------------------------------ */

static __always_inline __u64 mark_of(const struct task_struct *task)
{
	return ((__u64)task->tgid << 32 | (__u32)task->pid) ^
	       task->start_time * 0x9e3779b97f4a7c15ull;
}

static __always_inline void keep_wanted_task(const struct task_struct *task)
{
	__u64 *mark = bpf_map_lookup_elem(&wanted_task, &zero_key);

	if (mark)
		*mark = mark_of(task);
}

static __always_inline int is_wanted_task(const struct task_struct *task)
{
	const __u64 *mark = bpf_map_lookup_elem(&wanted_task, &zero_key);

	return mark && *mark == mark_of(task);
}

/*
 * The value of an argument in a register that calls pass arguments in; false: it is elsewhere.
 * clang would make one computed load of the cases, which the verifier refuses.
 */
static __always_inline int read_call_register(const struct pt_regs *ctx,
					      const struct tapir_site_arg *arg, __u64 *out)
{
	const __u64 *regs = (const __u64 *)ctx;
	const struct tapir_operand *op = &arg->operand;
	__u8 reg = op->reg;
	__u64 value;

	if (op->kind != TAPIR_OPERAND_REG || arg->via)
		return 0;
#define FROM(name)                                                                                 \
	if (reg == (name)) {                                                                       \
		value = regs[name];                                                                \
		barrier_var(value);                                                                \
	} else
	FROM(TAPIR_REG_DI)
	FROM(TAPIR_REG_SI)
	FROM(TAPIR_REG_DX)
	FROM(TAPIR_REG_CX)
	FROM(TAPIR_REG_R8)
	FROM(TAPIR_REG_R9)
	FROM(TAPIR_REG_AX)
	{
		return 0;
	}
#undef FROM
	*out = widen_argument(value >> (op->reg_shift & 8), op->size, op->is_signed);
	return 1;
}

/* The value of the argument in that slot. */
static __always_inline int read_slot(const struct pt_regs *ctx, const struct tapir_site *site,
				     __u32 slot, __u64 *out)
{
	return slot < TAPIR_MAX_ARGS && read_call_register(ctx, &site->args[slot], out);
}

/* The row of a number, if it is there. */
static __always_inline struct tapir_sums_row *row_of_number(const struct pt_regs *ctx,
							    const struct tapir_site *site,
							    const struct tapir_hit_question *q)
{
	struct {
		__u8 kinds[TAPIR_SUMS_KEYS];
		__u16 step, probe_id;
		__u64 part;
	} key = {.probe_id = q->namer};

	_Static_assert(sizeof(key) == TAPIR_SUMS_KEY_BYTES(1), "struct tapir_sums_key");
	if (!read_slot(ctx, site, q->keys[0].slot, &key.part))
		return NULL;
	if (q->keys[0].is_signed && (__s64)key.part < 0)
		key.kinds[0] = TAPIR_SUMS_INT;
	return bpf_map_lookup_elem(&sums_rows, &key);
}

/* Adds the value to a row without keys, as add_to_row does. */
static __noinline int add_plain_value(struct tapir_sums_row *row, const struct tapir_hit_value *v,
				      __u64 value, __u64 interval)
{
	__u64 *steps = bpf_map_lookup_elem(&sums_steps, &zero_key);
	int is_negative;

	if (!steps || !tapir_sums__claim_interval(row, 1, interval))
		return 0;
	barrier_var(steps);
	is_negative = is_below(v, value);
	if (v->has_steps)
		__sync_fetch_and_add(
			is_negative ? &row->columns[0].below
				    : steps + (tapir_octave_step(value) & (TAPIR_STEP_CNT - 1)),
			1);
	add_column_value(&row->columns[0], value, v->is_signed, interval);
	return 1;
}

/*
 * Adds a hit to its row without a thread's storage, by registers alone: of the task that passed
 * before, if its question is plain. All others go the long way.
 */
static __noinline int is_added_plainly(struct pt_regs *ctx, const struct tapir_live *now)
{
	__u32 site_idx = bpf_get_attach_cookie(ctx);
	const struct tapir_site *site = bpf_map_lookup_elem(&sites, &site_idx);
	const struct tapir_hit_question *q;
	struct tapir_sums_row *row;
	__u64 value;

	if (!now || !site || !site->probe_id || site->flags & TAPIR_SITE_TELLS_TAKEN)
		return 0;
	q = question_of(&site->probe_id);
	if (!q || !q->is_plain)
		return 0;
	row = sums_key_cnt ? row_of_number(ctx, site, q)
			   : bpf_map_lookup_elem(&sums_row, &zero_key);
	if (!row)
		return 0;
	if (sums_column_cnt && (!read_slot(ctx, site, q->values[0].slot, &value) ||
				!add_plain_value(row, &q->values[0], value, now->interval)))
		return 0;
	if (!sums_hits_by_steps)
		__sync_fetch_and_add(&row->cnt, 1);
	return 1;
}

/* A row with both has its steps elsewhere. */
static __always_inline int may_add_plainly(void)
{
	return has_sums && !has_pairs && sums_key_cnt + sums_column_cnt <= 1;
}

static __always_inline void send_event(struct scratch *s, struct tapir_live *now,
				       const struct tapir_site *site)
{
	__u64 size;

	event_of(s)->h.size = (SLOTS_OFF + event_of(s)->payload_bytes + 7ull) & ~7ull;
	if (now->trace_publishers)
		add_trace_ids(s, now);
	size = event_of(s)->h.size;
	barrier_var(size); /* the check below must reach the verifier on this very register */
	if (size > REC_BYTES || tapir_send(now, &s->sender, s->rec, size)) {
		tapir_lose(&site->probe_id, TAPIR_LOSS_RING_FULL);
		if (has_sums)
			forget_new_stacks(&s->question);
	}
}

static __always_inline const struct tapir_site *site_of(struct pt_regs *ctx, struct scratch *s)
{
	const struct tapir_site *site;

	s->site_idx = bpf_get_attach_cookie(ctx);
	site = bpf_map_lookup_elem(&sites, &s->site_idx);
	if (site && site->probe_id)
		return site;
	tapir_lose(&zero_key, TAPIR_LOSS_UNKNOWN_SITE);
	return NULL;
}

/* Returns true if the question needs no record of the hit, now that its arguments are read. */
static __always_inline bool is_answered_by_args(struct scratch *s, const struct tapir_site *site)
{
	if (!s->question.is_decided)
		decide_fate(s, site);
	return s->question.fate == HIT_REJECTED ||
	       (has_sums && s->question.fate == HIT_ADDED && is_added(s, site));
}

SEC("uprobe.s")
int tapir_usdt(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	const struct tapir_site *site;
	struct scratch *s;

	if (!now || !now->enabled)
		return 0;
	if (may_add_plainly() && is_wanted_task(task) && is_added_plainly(ctx, now))
		return 0;
	s = scratch_of(ctx, task);
	if (!s)
		return 0;
	if (may_add_plainly() && s->is_listed)
		keep_wanted_task(task);
	site = site_of(ctx, s);
	if (!site)
		return 0;

	if (has_questions && is_answered_early(ctx, s, site))
		return 0;
	copy_regs(s, ctx);
	if (site->flags & TAPIR_SITE_TELLS_TAKEN && is_taken(s, site)) {
		tapir_lose(&site->probe_id, TAPIR_LOSS_LANE_TWICE);
		return 0;
	}
	begin_event(s, task, site->probe_id);
	if (!has_questions)
		event_of(s)->h.time_ns = bpf_ktime_get_ns();
	begin_args(s, site);
	if (has_questions) {
		if (is_answered_by_args(s, site))
			return 0;
		/* To read the clock costs as much as to count a hit. */
		event_of(s)->h.time_ns = bpf_ktime_get_ns();
	}
	if (s->epoch != now->epoch)
		announce_thread(s);
	if (site->flags & TAPIR_SITE_STACK && is_answered_by_stack(s, now, site))
		return 0;
	capture_args(s, site);
	send_event(s, now, site);
	return 0;
}
