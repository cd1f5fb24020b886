// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * machine.bpf.c - sources of the machine: tracepoints of the kernel, whose fields are copied by the
 * places that their formats name, system calls from enter to exit, and counters of CPUs at each
 * period. Each makes an EVENT, as a probe does.
 *
 * Every thread of the machine passes here: one that is not traced is recognized by a few loads. The
 * programs do not sleep, and nothing of their own kind interrupts them: a per-CPU place is private.
 */
#include "bpf/common.bpf.h"
#include "bpf/question.bpf.h"
#include "bpf/cpu_stack.bpf.h"
#include "bpf/trace_context.bpf.h"
#include "bpf/wanted.bpf.h"

/* Set before load: 0 leaves out what walks stacks, which is most of what is verified. */
const volatile __u32 machine_stacks = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tapir_machine_site);
} machine_sites SEC(".maps");

/* The sites of system calls by their numbers; 0: it is not requested. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAPIR_SYSTEM_CALLS);
	__type(key, __u32);
	__type(value, __u32);
} called_sites SEC(".maps");

#define VAR_BYTES   1024u /* of texts, a power of two */
#define FIELD_BYTES 256u  /* of one, and its NUL, a power of two */
#define REC_BYTES                                                                                  \
	(sizeof(struct tapir_rec_event) + 8 + 8 * TAPIR_MACHINE_FIELDS + VAR_BYTES + FIELD_BYTES + \
	 sizeof(struct tapir_trace_ids))

enum machine_user { OF_TRACEPOINT, OF_CALL, OF_COUNTER, MACHINE_USERS };

struct machine_scratch {
	struct cpu_stacks stacks;
	struct trace_context trace;
	struct question_scratch question;
	__u64 ctx_va; /* as a number: fields are read at any offset from it */
	__u64 word;
	__u64 kernel_stack_id;
	__u32 payload_at; /* in rec */
	__u32 var_bytes;
	__u32 user; /* enum machine_user */
	__u32 pad0;
	__u8 rec[REC_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MACHINE_USERS);
	__type(key, __u32);
	__type(value, struct machine_scratch);
} machine_scratches SEC(".maps");

static __always_inline struct machine_scratch *scratch_of(enum machine_user user)
{
	struct machine_scratch *s;
	__u32 key = user;

	s = bpf_map_lookup_elem(&machine_scratches, &key);
	if (s)
		s->user = user;
	return s;
}

static __always_inline struct tapir_rec_event *event_of(struct machine_scratch *s)
{
	return (void *)s->rec;
}

#define MAX_PAYLOAD_AT (sizeof(struct tapir_rec_event) + 8)

static __always_inline __u64 *slot_of(struct machine_scratch *s, __u32 i)
{
	__u32 at = s->payload_at;

	if (at > MAX_PAYLOAD_AT)
		at = MAX_PAYLOAD_AT;
	return (__u64 *)(s->rec + at + 8 * (i & (TAPIR_MACHINE_FIELDS - 1)));
}

/* Returns where the next text is put. */
static __always_inline __u8 *next_text_room(struct machine_scratch *s,
					    const struct tapir_machine_site *site)
{
	__u32 at = s->payload_at, used = s->var_bytes & (VAR_BYTES - 1), cnt = site->field_cnt;

	if (at > MAX_PAYLOAD_AT)
		at = MAX_PAYLOAD_AT;
	if (cnt > TAPIR_MACHINE_FIELDS)
		cnt = TAPIR_MACHINE_FIELDS;
	return s->rec + at + 8 * cnt + used;
}

static __always_inline __u32 room_for_text(const struct machine_scratch *s)
{
	__u32 room = VAR_BYTES - 1 - (s->var_bytes & (VAR_BYTES - 1));

	return room < FIELD_BYTES - 1 ? room : FIELD_BYTES - 1;
}

/* Fills the slot of a text whose bytes are in place. len negative: they could not be read. */
static __always_inline void fill_text_slot(struct machine_scratch *s, __u32 i, long len,
					   __u32 flags)
{
	struct tapir_slot_bytes *slot = (void *)slot_of(s, i);

	if (len < 0) {
		event_of(s)->fault_mask |= 1u << (i & 15);
		len = 0;
	}
	slot->len_bytes = len;
	slot->flags = flags;
	if (flags & TAPIR_SLOT_CUT)
		event_of(s)->flags |= TAPIR_EVENT_CUT;
	s->var_bytes = (s->var_bytes & (VAR_BYTES - 1)) + (len & (FIELD_BYTES - 1));
}

static __always_inline void begin_event(struct machine_scratch *s, const struct task_struct *task,
					const struct tapir_machine_site *site)
{
	struct tapir_rec_event *ev = event_of(s);

	__builtin_memset(ev, 0, sizeof(*ev));
	ev->h.type = TAPIR_REC_EVENT;
	ev->h.cpu = bpf_get_smp_processor_id();
	ev->h.time_ns = bpf_ktime_get_ns();
	ev->probe_id = site->probe_id;
	ev->tgid = task->tgid;
	ev->tid = task->pid;
	s->payload_at = sizeof(*ev);
	s->var_bytes = 0;
}

static __always_inline void capture_stacks(struct machine_scratch *s, struct tapir_live *now,
					   void *ctx, struct task_struct *task,
					   enum stack_owner owner)
{
	struct tapir_rec_event *ev = event_of(s);
	long err = 0;

	if (tapir_task__has_memory(task)) {
		s->stacks.user.owner = owner;
		set_user_regs(&s->stacks.user, task);
		ev->stack_id = take_user_stack(&s->stacks, now, &ev->h, &err);
	}
	if (!err && owner == STACK_OF_TRACEPOINT) {
		s->kernel_stack_id = take_kernel_stack(&s->stacks, now, ctx, 0, &ev->h, &err);
		__builtin_memcpy(s->rec + sizeof(*ev), &s->kernel_stack_id,
				 sizeof(s->kernel_stack_id));
		ev->flags |= TAPIR_EVENT_KSTACK;
		s->payload_at = sizeof(*ev) + 8;
	}
	if (err) {
		ev->flags |= TAPIR_EVENT_STACK_LOST;
		tapir_lose(&ev->probe_id, TAPIR_LOSS_STACK_RING_FULL);
	}
}

/* See usdt.bpf.c. */
static __always_inline int find_keys(struct machine_scratch **s,
				     const struct tapir_machine_site **site)
{
	__u32 user, idx;

	if (!*s || !*site)
		return 0;
	if (tapir_kernel__takes_keys_of_arguments())
		return 1;
	user = (*s)->user;
	idx = (*site)->probe_id; /* where start_one of user/record/machine.c puts it */
	*s = bpf_map_lookup_elem(&machine_scratches, &user);
	*site = bpf_map_lookup_elem(&machine_sites, &idx);
	return *s && *site;
}

/* The stack has been taken before, if there is one. Not static: see find_row. */
__weak __noinline int is_answered(struct machine_scratch *s, const struct tapir_machine_site *site)
{
	const struct tapir_rec_event *ev;
	int fate;

	if (!has_questions || !find_keys(&s, &site))
		return 0;
	ev = event_of(s);
	fate = fate_of(&site->probe_id, &s->question, slot_of(s, 0), ev->fault_mask,
		       TAPIR_MACHINE_FIELDS);
	if (!has_sums || fate < HIT_ADDED)
		return fate == HIT_REJECTED;
	s->question.stack.user = ev->stack_id;
	s->question.stack.kernel = ev->flags & TAPIR_EVENT_KSTACK ? s->kernel_stack_id : 0;
	s->question.stack.tgid = ev->tgid;
	s->question.stack.is_lost = ev->flags & TAPIR_EVENT_STACK_LOST;
	return is_added_now(&site->probe_id, &s->question, slot_of(s, 0), ev->fault_mask,
			    TAPIR_MACHINE_FIELDS);
}

/* Describes the thread first, if that is due. */
static __noinline int send_event(struct machine_scratch *s, __u32 field_cnt)
{
	struct tapir_live *now = tapir_live();
	struct tapir_rec_event *ev;
	__u64 size;

	if (!s || !now)
		return 0;
	ev = event_of(s);
	if (tapir_announce(now, &s->stacks.sender, &s->stacks.thread, bpf_get_current_task_btf(),
			   &ev->h))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	ev->payload_bytes = 8 * (field_cnt & 31) + (s->var_bytes & (VAR_BYTES - 1));
	size = (s->payload_at + ev->payload_bytes + 7ull) & ~7ull;
	/*
	 * The compiler must not fold this into a later check: the verifier needs each bound at its
	 * use, on the same register.
	 */
	barrier_var(size);
	if (size <= REC_BYTES - sizeof(s->trace.record) &&
	    take_trace_ids(&s->trace, now, ev->tgid)) {
		__builtin_memcpy(s->rec + size, &s->trace.record, sizeof(s->trace.record));
		ev->flags |= TAPIR_EVENT_TRACE_IDS;
		size += sizeof(s->trace.record);
	}
	ev->h.size = size;
	barrier_var(size);
	if (size > REC_BYTES || tapir_send(now, &s->stacks.sender, s->rec, size)) {
		tapir_lose(&ev->probe_id, TAPIR_LOSS_RING_FULL);
		if (has_sums)
			forget_new_stacks(&s->question);
	}
	return 0;
}

/* ---- tracepoints ------------------------------------------------------------------------ */

struct copying {
	struct machine_scratch *s;
	const struct tapir_machine_site *site;
};

/* The number in the low bytes of value that the field has, with its sign. */
static __always_inline __u64 narrowed(__u64 value, const struct tapir_machine_field *f)
{
	__u32 shift = (64 - 8 * (f->size & 15)) & 63;

	value <<= shift;
	return f->is_signed ? (__u64)((__s64)value >> shift) : value >> shift;
}

static __always_inline __u64 number_at(struct machine_scratch *s,
				       const struct tapir_machine_field *f, __u32 i)
{
	__u32 size = f->size & 15;

	s->word = 0;
	if (size > 8 || bpf_probe_read_kernel(&s->word, size, (void *)(s->ctx_va + f->off)))
		event_of(s)->fault_mask |= 1u << (i & 15);
	return narrowed(s->word, f);
}

/* Returns the address of a field's bytes: in place, or by a word of offset and length. */
static __always_inline __u64 field_va(struct machine_scratch *s,
				      const struct tapir_machine_field *f, __u32 *len)
{
	*len = f->size;
	if (f->read != TAPIR_MACHINE_AT_LOC && f->read != TAPIR_MACHINE_AT_REL_LOC)
		return s->ctx_va + f->off;
	s->word = 0;
	if (bpf_probe_read_kernel(&s->word, 4, (void *)(s->ctx_va + f->off)))
		return 0;
	*len = s->word >> 16;
	return s->ctx_va + (s->word & 0xffff) +
	       (f->read == TAPIR_MACHINE_AT_REL_LOC ? f->off + 4 : 0);
}

static __always_inline void copy_bytes(struct machine_scratch *s,
				       const struct tapir_machine_site *site,
				       const struct tapir_machine_field *f, __u32 i)
{
	__u32 len, room = room_for_text(s), flags = 0;
	__u64 from = field_va(s, f, &len);
	long got;

	barrier_var(room);
	room &= FIELD_BYTES - 1;
	if (len > room) {
		len = room;
		flags = TAPIR_SLOT_CUT;
	}
	barrier_var(len);
	len &= FIELD_BYTES - 1;
	if (!from) {
		got = -1;
	} else if (!f->is_text) {
		got = len && bpf_probe_read_kernel(next_text_room(s, site), len, (void *)from)
			      ? -1
			      : (long)len;
	} else {
		/* Up to its NUL, which a text that fills its place need not have. */
		got = bpf_probe_read_kernel_str(next_text_room(s, site), len + 1, (void *)from);
		got = got > 0 ? got - 1 : got;
		if (got >= 0 && got < len)
			flags = 0;
	}
	fill_text_slot(s, i, got, flags);
}

static long copy_field(__u64 idx, void *ctx)
{
	const struct copying *c = ctx;
	struct machine_scratch *s = c->s;
	const struct tapir_machine_field *f = &c->site->fields[idx & (TAPIR_MACHINE_FIELDS - 1)];

	if (f->read == TAPIR_MACHINE_NUMBER)
		*slot_of(s, idx) = number_at(s, f, idx);
	else
		copy_bytes(s, c->site, f, idx);
	return 0;
}

static __noinline int copy_fields(struct machine_scratch *s, const struct tapir_machine_site *site)
{
	struct copying c = {.s = s, .site = site};

	bpf_loop(site->field_cnt, copy_field, &c, 0);
	return 0;
}

/* The idle thread is traced, too, if there are no rules. */
static __always_inline int is_selected(const struct tapir_filter *f, struct task_struct *task)
{
	return is_traced(f, task) ||
	       (!task->tgid && !f->use_tgids && !f->comm_cnt && !f->cgroup_cnt);
}

static __always_inline int take_event(void *ctx)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	const struct tapir_machine_site *site;
	struct machine_scratch *s;
	__u32 idx;

	if (!f || !now || !now->enabled || !is_selected(f, task))
		return 0;
	idx = bpf_get_attach_cookie(ctx);
	site = bpf_map_lookup_elem(&machine_sites, &idx);
	s = scratch_of(OF_TRACEPOINT);
	if (!s || !site || !site->probe_id)
		return 0;
	begin_event(s, task, site);
	if (machine_stacks && site->flags & TAPIR_SITE_STACK)
		capture_stacks(s, now, ctx, task, STACK_OF_TRACEPOINT);
	s->ctx_va = (__u64)ctx;
	copy_fields(s, site);
	if (!has_questions || !is_answered(s, site))
		send_event(s, site->field_cnt);
	return 0;
}

SEC("tp")
int tapir_tracepoint(void *ctx)
{
	return take_event(ctx);
}

/* The record of a function is struct pt_regs. None of both runs within the other: one scratch. */
SEC("kprobe")
int tapir_function(void *ctx)
{
	return take_event(ctx);
}

/* ---- counters of CPUs ------------------------------------------------------------------- */

#define USER_MODE 3 /* the privilege level in cs (Intel SDM 3A, 5.5) */

/* The user's registers are the interrupted ones, or those with which it entered the kernel. */
static __always_inline void take_counter_stacks(struct machine_scratch *s, struct tapir_live *now,
						struct bpf_perf_event_data *ctx,
						struct task_struct *task)
{
	const __u64 *regs = (const __u64 *)ctx; /* as enum tapir_reg names them */
	int in_user = (regs[TAPIR_REG_CS] & USER_MODE) == USER_MODE;
	struct tapir_rec_event *ev = event_of(s);
	struct user_stack *u = &s->stacks.user;
	long err = 0;

	if (tapir_task__has_memory(task)) {
		u->owner = STACK_OF_TRACEPOINT;
		if (in_user) {
			u->ip = regs[TAPIR_REG_IP];
			u->sp = regs[TAPIR_REG_SP];
			u->fp = regs[TAPIR_REG_BP];
			barrier(); /* or loads become one of a moved ctx, which is not allowed */
		} else {
			set_user_regs(u, task);
		}
		ev->stack_id = take_user_stack(&s->stacks, now, &ev->h, &err);
	}
	if (!err && !in_user) {
		s->kernel_stack_id = take_kernel_stack(&s->stacks, now, ctx, 0, &ev->h, &err);
		__builtin_memcpy(s->rec + sizeof(*ev), &s->kernel_stack_id,
				 sizeof(s->kernel_stack_id));
		ev->flags |= TAPIR_EVENT_KSTACK;
		s->payload_at = sizeof(*ev) + 8;
	}
	if (err) {
		ev->flags |= TAPIR_EVENT_STACK_LOST;
		tapir_lose(&ev->probe_id, TAPIR_LOSS_STACK_RING_FULL);
	}
}

/*
 * An NMI may interrupt the programs above: then the kernel skips this one, as it does for any two
 * programs of tracepoints and counters on one CPU.
 */
SEC("perf_event")
int tapir_counter(struct bpf_perf_event_data *ctx)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	const struct tapir_machine_site *site;
	struct machine_scratch *s;
	__u32 idx;

	if (!f || !now || !now->enabled || !is_selected(f, task))
		return 0;
	idx = bpf_get_attach_cookie(ctx);
	site = bpf_map_lookup_elem(&machine_sites, &idx);
	s = scratch_of(OF_COUNTER);
	if (!s || !site || !site->probe_id)
		return 0;
	begin_event(s, task, site);
	if (machine_stacks && site->flags & TAPIR_SITE_STACK)
		take_counter_stacks(s, now, ctx, task);
	*slot_of(s, 0) = ctx->sample_period;
	*slot_of(s, 1) = ctx->addr; /* of a fault; else nothing, and not sent */
	if (!has_questions || !is_answered(s, site))
		send_event(s, site->field_cnt);
	return 0;
}

/* ---- system calls ----------------------------------------------------------------------- */

#define CALL_SLOTS 8 /* of arguments, a power of two */

/* The system call of a thread, until it returns. */
struct call {
	__u64 start_ns; /* 0: none that is requested */
	__u64 args[CALL_SLOTS];
	__u32 nr;
	__u32 pad0;
	__s32 lens[TAPIR_CALL_TEXTS]; /* with their NUL; negative: could not be read */
	char texts[TAPIR_CALL_TEXTS][FIELD_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

static __always_inline const struct tapir_machine_site *site_of_call(__u64 nr)
{
	__u32 key = nr;
	const __u32 *idx =
		nr < TAPIR_SYSTEM_CALLS ? bpf_map_lookup_elem(&called_sites, &key) : NULL;

	return idx && *idx ? bpf_map_lookup_elem(&machine_sites, idx) : NULL;
}

/*
 * The texts that arguments point to; those alone that were not there when the call began, once the
 * kernel has read them itself.
 */
static __always_inline void read_texts(struct call *c, const struct tapir_machine_site *site,
				       int is_again)
{
	for (__u32 i = 0; i < TAPIR_CALL_TEXTS; i++) {
		__u32 arg = site->text_args[i];

		if (arg >= TAPIR_CALL_ARGS || (is_again && c->lens[i] >= 0))
			continue;
		c->lens[i] =
			bpf_probe_read_user_str(c->texts[i], FIELD_BYTES, (void *)c->args[arg]);
	}
}

static __always_inline __u64 sixth_arg(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, r9);
#elif defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ((const struct user_pt_regs *)regs, regs[5]);
#endif
}

/*
 * Copies what the end of the call no longer has: registers, and texts, which another thread may
 * change while the call lasts.
 */
SEC("tp_btf/sys_enter")
int BPF_PROG(tapir_call_begins, struct pt_regs *regs, long nr)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	const struct tapir_machine_site *site = site_of_call(nr);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	struct call *c;

	if (!site || !f || !now || !now->enabled || tapir_task__is_compat(task) ||
	    !is_traced(f, task))
		return 0;
	c = bpf_task_storage_get(&calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c) {
		tapir_lose(&site->probe_id, TAPIR_LOSS_NO_TASK_STORAGE);
		return 0;
	}
	c->args[0] = PT_REGS_PARM1_CORE_SYSCALL(regs);
	c->args[1] = PT_REGS_PARM2_CORE_SYSCALL(regs);
	c->args[2] = PT_REGS_PARM3_CORE_SYSCALL(regs);
	c->args[3] = PT_REGS_PARM4_CORE_SYSCALL(regs);
	c->args[4] = PT_REGS_PARM5_CORE_SYSCALL(regs);
	c->args[5] = sixth_arg(regs);
	c->nr = nr;
	read_texts(c, site, 0);
	c->start_ns = bpf_ktime_get_ns();
	return 0;
}

struct copying_call {
	struct machine_scratch *s;
	const struct tapir_machine_site *site;
	const struct call *call;
};

static __always_inline void copy_call_text(const struct copying_call *c, __u32 i, __u32 text)
{
	const struct call *call = c->call;
	long len = call->lens[text & (TAPIR_CALL_TEXTS - 1)];
	__u32 room = room_for_text(c->s), want, is_null;
	__u32 flags = len == FIELD_BYTES ? TAPIR_SLOT_CUT : 0;

	if (len <= 0) {
		is_null = !call->args[i & (CALL_SLOTS - 1)];
		fill_text_slot(c->s, i, is_null ? 0 : -1, is_null ? TAPIR_SLOT_NULL : 0);
		return;
	}
	want = len - 1;
	if (want > room) {
		want = room;
		flags = TAPIR_SLOT_CUT;
	}
	barrier_var(want);
	want &= FIELD_BYTES - 1;
	bpf_probe_read_kernel(next_text_room(c->s, c->site), want,
			      call->texts[text & (TAPIR_CALL_TEXTS - 1)]);
	fill_text_slot(c->s, i, want, flags);
}

static long copy_arg(__u64 idx, void *ctx)
{
	const struct copying_call *c = ctx;
	const struct tapir_machine_site *site = c->site;
	const struct tapir_machine_field *f = &site->fields[idx & (TAPIR_MACHINE_FIELDS - 1)];

	if (idx >= TAPIR_CALL_ARGS)
		return 1;
	if (idx == site->text_args[0])
		copy_call_text(c, idx, 0);
	else if (idx == site->text_args[1])
		copy_call_text(c, idx, 1);
	else
		*slot_of(c->s, idx) = narrowed(c->call->args[idx & (CALL_SLOTS - 1)], f);
	return 0;
}

static __noinline int copy_call(struct machine_scratch *s, const struct tapir_machine_site *site,
				const struct call *call, long ret)
{
	struct copying_call c = {.s = s, .site = site, .call = call};
	__u32 arg_cnt = site->arg_cnt;

	bpf_loop(arg_cnt, copy_arg, &c, 0);
	*slot_of(s, arg_cnt) = ret;
	*slot_of(s, arg_cnt + 1) = ret < 0 && ret >= -4095 ? -ret : 0; /* MAX_ERRNO */
	*slot_of(s, arg_cnt + 2) = event_of(s)->h.time_ns - call->start_ns;
	return 0;
}

/* A call that had begun before it was requested, and the half of fork(2) that is a child's, has no
 * beginning here. */
SEC("tp_btf/sys_exit")
int BPF_PROG(tapir_call_ends, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct tapir_machine_site *site;
	struct tapir_live *now = tapir_live();
	struct machine_scratch *s;
	struct call *c;

	c = bpf_task_storage_get(&calls, task, NULL, 0);
	if (!c || !c->start_ns)
		return 0;
	site = site_of_call(c->nr);
	s = scratch_of(OF_CALL);
	if (site && s && now && now->enabled) {
		begin_event(s, task, site);
		read_texts(c, site, 1);
		if (machine_stacks && site->flags & TAPIR_SITE_STACK)
			capture_stacks(s, now, ctx, task, STACK_OF_CALL);
		copy_call(s, site, c, ret);
		if (!has_questions || !is_answered(s, site))
			send_event(s, site->field_cnt);
	}
	c->start_ns = 0;
	return 0;
}
