// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kernel.bpf.c - what the kernel did in numbers: page faults of a process by stack, interrupts by
 * whose time they took, waits for locks of the kernel by caller (record/kernel_rows.c reads them).
 *
 * All of it is added up in one table without a lock. A wait for a lock is seen where any lock may
 * be held, that of a ring buffer or of a hash table of BPF too: what took such a lock here would
 * wait for itself. So nothing below allocates, sends or calls a map that has a lock, except for
 * faults of user code, which holds none.
 *
 * A fault is counted by the kernel itself, for each thread, once it is served: what was added to
 * these numbers since the last look is what is charged. That is exact, also for pages that a system
 * call touched, which no tracepoint shows; those have no stack.
 */
#include "bpf/common.bpf.h"
#include "bpf/cpu_stack.bpf.h"
#include "bpf/sums_logic.bpf.h"
#include "bpf/wanted.bpf.h"

/* Set before load: one less than the rows that there are, which are a power of two. */
const volatile __u32 kernel_row_mask = 0;

#define PROBES 32 /* places in which a row may be */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set before load */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tapir_kernel_row);
} kernel_rows SEC(".maps");

/* ---- rows --------------------------------------------------------------------------------- */

/* Identifies a row, and has what else is in it; the frames are outside the stack. */
struct kernel_site {
	__u32 kind, number, tgid, idx;
	__u64 stack_id, lock_va;
	const char *name; /* of the kernel; NULL: the process's */
	struct task_struct *task;
	const __u64 *frames;
	__u32 frame_cnt;
	__u32 pad0;
};

static __always_inline __u64 id_of(const struct kernel_site *p)
{
	__u64 id = tapir_walk__hash((__u64)p->kind << 32 | p->number, p->tgid);

	id = tapir_walk__hash(tapir_walk__hash(id, p->stack_id), p->lock_va);
	return id ? id : 1;
}

static __always_inline void fill_row(struct tapir_kernel_row *row, const struct kernel_site *p)
{
	struct task_struct *task = p->task;

	row->tgid = p->tgid;
	row->number = p->number;
	row->kind = p->kind;
	row->stack_id = p->stack_id;
	row->lock_va = p->lock_va;
	row->frame_cnt = p->frame_cnt;
	if (p->frames)
		bpf_probe_read_kernel(row->frames, sizeof(row->frames), p->frames);
	if (p->name)
		bpf_probe_read_kernel_str(row->name, sizeof(row->name), p->name);
	else
		BPF_CORE_READ_STR_INTO(&row->name, task, group_leader, comm);
	barrier();
	row->is_ready = 1;
}

/* Sets p->idx to its row's. NULL: there is no room. */
static __noinline struct tapir_kernel_row *kernel_row_of(struct kernel_site *p)
{
	struct tapir_kernel_row *row;
	__u64 id, was;

	if (!p)
		return NULL;
	id = id_of(p);
	for (__u32 i = 0; i < PROBES; i++) {
		p->idx = ((__u32)(id >> 32) + i) & kernel_row_mask;
		row = bpf_map_lookup_elem(&kernel_rows, &p->idx);
		if (!row)
			return NULL;
		was = row->id;
		if (!was)
			was = __sync_val_compare_and_swap(&row->id, 0, id);
		if (!was)
			fill_row(row, p);
		if (!was || was == id)
			return row;
	}
	return NULL;
}

static __always_inline void lose_for_room(__u64 cnt)
{
	struct tapir_losses *of_none = bpf_map_lookup_elem(&losses, &zero_key);

	if (of_none)
		__sync_fetch_and_add(&of_none->cnt[TAPIR_LOSS_KERNEL_FULL], cnt);
}

static __always_inline void add_time(struct tapir_kernel_row *row, __u64 ns)
{
	__sync_fetch_and_add(&row->cnt, 1);
	__sync_fetch_and_add(&row->sum_ns, ns);
	tapir_sums__widen(&row->max_ns, ns);
}

/* The idle thread is counted, too, if there are no rules. */
static __always_inline int is_counted(struct task_struct *task)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	const struct tapir_live *now = tapir_live();

	if (!f || !now || !now->enabled)
		return 0;
	return is_traced(f, task) ||
	       (!task->tgid && !f->use_tgids && !f->comm_cnt && !f->cgroup_cnt);
}

/* ---- page faults ---------------------------------------------------------------------------- */

#define FAULTS_OF_STACK	  16	  /* one of so many has its stack walked, by chance */
#define STACK_OF_FAULT_NS 1000000 /* after so long without, the next one has it walked */

/* Keeps how many of the thread's faults have been charged: the kernel's numbers at that time. */
struct fault_thread {
	__u64 minor, major;
	__u64 hits; /* faults of user code since, with the one that is not served yet */
	__u64 stack_id;
	__u64 stack_ns; /* when that was walked; 0: none was */
	__u32 epoch;	/* in which it was announced last */
	__u32 is_known;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct fault_thread);
} fault_threads SEC(".maps");

/* A page fault comes with interrupts off, and user code is not in another program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_stacks);
} fault_scratches SEC(".maps");

/* Says since when faults are counted: a thread that began later has had none before. */
struct fault_state {
	__u64 look_ns, begin_ns; /* 0: not yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fault_state);
} fault_states SEC(".maps");

static __always_inline __u64 taken(__u64 *total, __u64 now)
{
	return now - __sync_lock_test_and_set(total, now);
}

/* Negative: there is no room. */
static __noinline int add_faults(struct kernel_site *p, __u64 cnt, __u64 major)
{
	struct tapir_kernel_row *row = kernel_row_of(p);

	if (!row)
		return -1;
	__sync_fetch_and_add(&row->cnt, cnt);
	__sync_fetch_and_add(&row->part_cnt, major < cnt ? major : cnt);
	return 0;
}

/* Charges what was added to the kernel's numbers of the thread: to the stack, as far as its user
 * code faulted; NULL: all of it to system calls. */
static __noinline int charge(struct fault_thread *t, struct task_struct *task, __u64 stack_id,
			     __u64 hits)
{
	struct kernel_site p = {.kind = TAPIR_KERNEL_FAULT, .stack_id = stack_id};
	__u64 minor, major, cnt;

	if (!t || !task)
		return 0;
	p.task = task;
	minor = taken(&t->minor, BPF_CORE_READ(task, min_flt));
	major = taken(&t->major, BPF_CORE_READ(task, maj_flt));
	cnt = minor + major;
	if (!cnt)
		return 0;
	p.tgid = task->tgid;
	hits = !stack_id ? 0 : cnt < hits ? cnt : hits;
	if (hits && !add_faults(&p, hits, major)) {
		cnt -= hits;
		major -= major < hits ? major : hits;
	} else if (hits) {
		tapir_lose(&zero_key, TAPIR_LOSS_KERNEL_STACK_LOST);
	}
	p.stack_id = 0;
	if (cnt && add_faults(&p, cnt, major))
		lose_for_room(cnt);
	return 0;
}

/* Begins with what the kernel has counted already of a thread that was there before. */
static __noinline int begin_faults(struct fault_thread *t, struct task_struct *task)
{
	const struct fault_state *state = bpf_map_lookup_elem(&fault_states, &zero_key);

	if (!t || !task || !state)
		return 0;
	t->is_known = 1;
	if (state->begin_ns && BPF_CORE_READ(task, start_time) >= state->begin_ns)
		return 0;
	t->minor = BPF_CORE_READ(task, min_flt);
	t->major = BPF_CORE_READ(task, maj_flt);
	return 0;
}

static __noinline int announce_faulter(struct fault_thread *t, struct cpu_stacks *s, __u64 now_ns)
{
	struct tapir_rec of = {.cpu = bpf_get_smp_processor_id(), .time_ns = now_ns};
	struct tapir_live *now = tapir_live();

	if (!t || !s || !now)
		return 0;
	t->epoch = now->epoch;
	if (tapir_announce(now, &s->sender, &s->thread, bpf_get_current_task_btf(), &of))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	return 0;
}

/*
 * A walk is taken to be that of all faults since the last one, if it was chosen by chance. One that
 * comes after a while ends what the last stack did.
 */
SEC("tp_btf/page_fault_user")
int BPF_PROG(tapir_fault, unsigned long va, struct pt_regs *regs, unsigned long error)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct cpu_stacks *s = bpf_map_lookup_elem(&fault_scratches, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	struct tapir_rec of = {};
	struct fault_thread *t;
	__u64 now_ns, hits;
	int is_due, is_late;
	long err = 0;

	if (!f || !s || !now || !now->enabled || !is_traced(f, task))
		return 0;
	t = bpf_task_storage_get(&fault_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		tapir_lose(&zero_key, TAPIR_LOSS_KERNEL_NO_STORAGE);
		return 0;
	}
	if (!t->is_known)
		begin_faults(t, task);
	now_ns = bpf_ktime_get_ns();
	is_late = now_ns - t->stack_ns >= STACK_OF_FAULT_NS;
	is_due = is_late || !(bpf_get_prandom_u32() % FAULTS_OF_STACK);
	if (!is_due) {
		__sync_fetch_and_add(&t->hits, 1);
		return 0;
	}
	hits = __sync_lock_test_and_set(&t->hits, 1);
	if (is_late)
		charge(t, task, t->stack_id, hits);
	if (t->epoch != (__u32)now->epoch)
		announce_faulter(t, s, now_ns);
	of.cpu = bpf_get_smp_processor_id();
	of.time_ns = now_ns;
	s->user.owner = STACK_OF_FAULT;
	set_user_regs(&s->user, task);
	t->stack_id = take_user_stack(s, now, &of, &err);
	t->stack_ns = now_ns;
	if (err) {
		t->stack_id = 0;
		tapir_lose(&zero_key, TAPIR_LOSS_KERNEL_STACK_LOST);
	}
	if (!is_late)
		charge(t, task, t->stack_id, hits);
	return 0;
}

/* A thread that never faulted in user code has no storage: it has these numbers in any case. */
static __noinline int charge_last(struct task_struct *task, struct fault_thread *t)
{
	const struct fault_state *state = bpf_map_lookup_elem(&fault_states, &zero_key);
	struct fault_thread none = {};

	if (!task || !state)
		return 0;
	if (t)
		charge(t, task, t->stack_id, t->hits);
	else if (state->begin_ns && BPF_CORE_READ(task, start_time) >= state->begin_ns)
		charge(&none, task, 0, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(tapir_fault_end, struct task_struct *task)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	const struct tapir_live *now = tapir_live();

	if (f && now && now->enabled && is_traced(f, task))
		charge_last(task, bpf_task_storage_get(&fault_threads, task, NULL, 0));
	return 0;
}

/* Runs when faults are counted from now on, and once more before the end. */
SEC("iter/task")
int tapir_fault_look(struct bpf_iter__task *ctx)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct fault_state *state = bpf_map_lookup_elem(&fault_states, &zero_key);
	struct task_struct *task = ctx->task;
	struct fault_thread *t;

	if (!f || !state)
		return 0;
	if (!state->look_ns)
		state->look_ns = bpf_ktime_get_ns();
	if (!task) {
		if (!state->begin_ns)
			state->begin_ns = state->look_ns;
		return 0;
	}
	if (!is_traced(f, task))
		return 0;
	if (state->begin_ns) {
		charge_last(task, bpf_task_storage_get(&fault_threads, task, NULL, 0));
		return 0;
	}
	t = bpf_task_storage_get(&fault_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t && !t->is_known)
		begin_faults(t, task);
	return 0;
}

/* ---- interrupts ------------------------------------------------------------------------------ */

#define IRQ_DEPTH 8 /* a power of two */

struct irq_frame {
	__u64 begin_ns;
	__u64 within_ns; /* of interrupts within it */
	__u32 kind, number;
};

/*
 * Holds the interrupts that a CPU is in, the last one on top. An interrupt of the programs below
 * leaves it as it was.
 */
struct irq_nest {
	__u32 depth;
	__u32 pad0;
	struct irq_frame frames[IRQ_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irq_nest);
} irq_nests SEC(".maps");

static __always_inline int begin_irq(__u32 kind, __u32 number)
{
	struct irq_nest *s = bpf_map_lookup_elem(&irq_nests, &zero_key);
	const struct tapir_live *now = tapir_live();
	struct irq_frame *frame;

	if (!s || !now || !now->enabled)
		return 0;
	frame = &s->frames[s->depth++ & (IRQ_DEPTH - 1)];
	frame->kind = kind;
	frame->number = number;
	frame->within_ns = 0;
	frame->begin_ns = bpf_ktime_get_ns();
	return 0;
}

static __noinline int count_irq(struct irq_frame *frame, __u64 ns, const char *name)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_kernel_row *row;
	struct kernel_site p = {.name = name, .task = task};

	if (!frame || !is_counted(task))
		return 0;
	p.kind = frame->kind;
	p.number = frame->number;
	p.tgid = task->tgid;
	row = kernel_row_of(&p);
	if (row)
		add_time(row, ns);
	else
		lose_for_room(1);
	return 0;
}

/* An interrupt that had begun before has no frame, and is not counted. */
static __always_inline int end_irq(__u32 kind, __u32 number, const char *name)
{
	struct irq_nest *s = bpf_map_lookup_elem(&irq_nests, &zero_key);
	struct irq_frame *frame, *around;
	__u64 ns;

	if (!s || !s->depth)
		return 0;
	frame = &s->frames[(s->depth - 1) & (IRQ_DEPTH - 1)];
	if (frame->kind != kind || frame->number != number)
		return 0;
	ns = bpf_ktime_get_ns() - frame->begin_ns;
	count_irq(frame, ns > frame->within_ns ? ns - frame->within_ns : 0, name);
	around = &s->frames[(s->depth - 2) & (IRQ_DEPTH - 1)];
	if (s->depth > 1)
		around->within_ns += ns;
	s->depth--; /* until now what interrupts this one has no place in its frame */
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(tapir_irq_in, int irq, struct irqaction *action)
{
	return begin_irq(TAPIR_KERNEL_IRQ, irq);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(tapir_irq_out, int irq, struct irqaction *action)
{
	return end_irq(TAPIR_KERNEL_IRQ, irq, BPF_CORE_READ(action, name));
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(tapir_soft_in, unsigned int number)
{
	return begin_irq(TAPIR_KERNEL_SOFTIRQ, number);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(tapir_soft_out, unsigned int number)
{
	return end_irq(TAPIR_KERNEL_SOFTIRQ, number, NULL);
}

#define VECTOR(name, event, number)                                                                \
	SEC("tp_btf/" #event "_entry") int BPF_PROG(tapir_##name##_in)                             \
	{                                                                                          \
		return begin_irq(TAPIR_KERNEL_VECTOR, number);                                     \
	}                                                                                          \
	SEC("tp_btf/" #event "_exit") int BPF_PROG(tapir_##name##_out)                             \
	{                                                                                          \
		return end_irq(TAPIR_KERNEL_VECTOR, number, NULL);                                 \
	}

VECTOR(timer, local_timer, TAPIR_VECTOR_LOCAL_TIMER)
VECTOR(ipi, reschedule, TAPIR_VECTOR_RESCHEDULE)
VECTOR(call, call_function, TAPIR_VECTOR_CALL)
VECTOR(call1, call_function_single, TAPIR_VECTOR_CALL_SINGLE)
VECTOR(work, irq_work, TAPIR_VECTOR_IRQ_WORK)

/* ---- locks ----------------------------------------------------------------------------------- */

/* Flags of contention_begin: LCB_F_SPIN, _READ, _WRITE, _MUTEX. */
#define LOCK_SPINS  (1u << 0)
#define LOCK_READS  (1u << 1)
#define LOCK_WRITES (1u << 2)
#define LOCK_MUTEX  (1u << 5)

#define OWN_FRAMES  2	   /* of this program and of what calls it */
#define SLEEPERS    65536u /* a power of two */
#define SPIN_DEPTH  4	   /* a thread, a softirq, an interrupt, an NMI */

/* A thread that waits for a lock, or a CPU that spins for one. */
struct lock_wait {
	__u64 lock_va; /* 0: none */
	__u64 begin_ns;
	__u64 row_id;
	__u64 tid; /* of the one that sleeps; 0: the place is free */
	__u32 row;
	__u32 pad0;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLEEPERS);
	__type(key, __u32);
	__type(value, struct lock_wait);
} lock_sleepers SEC(".maps");

struct lock_cpu {
	struct lock_wait spins[SPIN_DEPTH];
	__u64 frames[TAPIR_KERNEL_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lock_cpu);
} lock_cpus SEC(".maps");

/* A mutex is spun for at first, and then slept for: that is one wait. */
static __always_inline int is_spun_for(__u32 flags)
{
	return flags & LOCK_SPINS && !(flags & LOCK_MUTEX);
}

static __always_inline struct lock_wait *spin_wait_of(struct lock_cpu *cpu, __u64 lock_va)
{
	for (__u32 i = 0; i < SPIN_DEPTH; i++)
		if (cpu->spins[i].lock_va == lock_va)
			return &cpu->spins[i];
	return NULL;
}

/* NULL: its place is another thread's. */
static __always_inline struct lock_wait *sleeper_wait_of(__u32 tid, int is_taken)
{
	__u32 idx = tid & (SLEEPERS - 1);
	struct lock_wait *w = bpf_map_lookup_elem(&lock_sleepers, &idx);
	__u64 was;

	if (!w || !tid || w->tid == tid || is_taken)
		return w && tid && w->tid == tid ? w : NULL;
	was = __sync_val_compare_and_swap(&w->tid, 0, (__u64)tid);
	return was ? NULL : w;
}

static __always_inline __u64 hash_of_frames(const struct lock_cpu *cpu, __u32 cnt)
{
	__u64 hash = 1;

	for (__u32 i = 0; i < TAPIR_KERNEL_FRAMES && i < cnt; i++)
		hash = tapir_walk__hash(hash, cpu->frames[i]);
	return hash ? hash : 1;
}

/* The stack is walked before it waits, not while it has the lock. */
static __noinline int begin_wait(struct lock_cpu *cpu, struct lock_wait *w, __u64 lock_va,
				 __u32 flags, __u32 frame_cnt)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct kernel_site p = {
		.kind = TAPIR_KERNEL_LOCK, .number = flags, .lock_va = lock_va, .task = task};
	struct tapir_kernel_row *row;

	if (!cpu || !w)
		return 0;
	p.tgid = task->tgid;
	p.frame_cnt = frame_cnt;
	p.frames = cpu->frames;
	p.stack_id = hash_of_frames(cpu, frame_cnt);
	row = kernel_row_of(&p);
	if (!row) {
		lose_for_room(1);
		w->tid = 0;
		return 0;
	}
	w->row_id = row->id;
	w->row = p.idx;
	w->begin_ns = bpf_ktime_get_ns();
	barrier();
	w->lock_va = lock_va;
	return 0;
}

SEC("tp_btf/contention_begin")
int BPF_PROG(tapir_lock_in, void *lock, unsigned int flags)
{
	struct lock_cpu *cpu = bpf_map_lookup_elem(&lock_cpus, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct lock_wait *w;
	long bytes;

	if (!cpu || !is_counted(task))
		return 0;
	w = is_spun_for(flags) ? spin_wait_of(cpu, 0) : sleeper_wait_of(task->pid, 0);
	if (!w) {
		/* Ends that the kernel did not run this file's program for have left their places.
		 */
		__builtin_memset(cpu->spins, 0, sizeof(cpu->spins));
		tapir_lose(&zero_key, TAPIR_LOSS_KERNEL_NO_PLACE);
		return 0;
	}
	if (w->lock_va == (__u64)lock)
		return 0;
	bytes = bpf_get_stack(ctx, cpu->frames, sizeof(cpu->frames), OWN_FRAMES);
	/* Spinning for a mutex or sleeping for it is one kind of wait. */
	if (flags & LOCK_MUTEX)
		flags = LOCK_MUTEX;
	begin_wait(cpu, w, (__u64)lock, flags, bytes > 0 ? (__u32)bytes >> 3 : 0);
	return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(tapir_lock_out, void *lock, int ret)
{
	struct lock_cpu *cpu = bpf_map_lookup_elem(&lock_cpus, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct lock_wait *w = cpu ? spin_wait_of(cpu, (__u64)lock) : NULL;
	struct tapir_kernel_row *row;
	__u32 idx;

	if (!w)
		w = sleeper_wait_of(task->pid, 1);
	if (!w || w->lock_va != (__u64)lock)
		return 0;
	idx = w->row;
	row = bpf_map_lookup_elem(&kernel_rows, &idx);
	if (row && row->id == w->row_id) {
		add_time(row, bpf_ktime_get_ns() - w->begin_ns);
		if (ret)
			__sync_fetch_and_add(&row->part_cnt, 1);
	}
	w->lock_va = 0;
	barrier();
	w->tid = 0;
	return 0;
}
