// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * syscalls.bpf.c - system calls in numbers: for each thread, call and result how many returned, how
 * long they took, in steps of an eighth of an octave. No call makes a record of its own, so none is
 * lost under load; what fails or takes long has its stack taken at most a hundred times a second
 * for each thread, call and result, and counts for those in between.
 *
 * Only the thread itself writes its values, on one CPU at a time: no atomic operation, no value per
 * CPU. They are kept in a hash table, and those of one thread are a list, by which they are sent
 * and removed when the thread ends. What is there else, user space reads (record/call_counts.c).
 *
 * The programs are not sleepable and run with preemption off: a per-CPU place is private.
 */
#include "bpf/call_files.bpf.h"
#include "bpf/common.bpf.h"
#include "bpf/cpu_stack.bpf.h"
#include "bpf/wanted.bpf.h"

/* Set before load. */
const volatile __u8 call_flags[TAPIR_CALL_NUMBERS] = {};
const volatile __u64 long_call_ns = 0; /* from which on a call's stack is taken */
const volatile __u32 call_stacks = 0;  /* 0 leaves out what walks stacks */

#define STACK_DISTANCE_NS 10000000ull /* between two stacks of a thread, call and result */
#define KEYS_OF_THREAD	  4096
#define CALL_HAS_PATH	  (TAPIR_CALL_PATH_IS_FIRST | TAPIR_CALL_PATH_IS_SECOND)
#define SYS_CLOSE	  3
#define SYS_RT_SIGRETURN  15 /* x86-64 */
#define SYS_CLONE	  56
#define SYS_FORK	  57
#define SYS_VFORK	  58
#define SYS_EXECVE	  59
#define SYS_EXECVEAT	  322
#define SYS_CLONE3	  435

/* The call that a thread is in, and the list of its values. */
struct call_thread {
	__u64 start_ns;			 /* of the call that it is in; 0: in none that is counted */
	struct tapir_call_key key;	 /* of its identity, and of the call's number */
	__u32 first;			 /* as next of struct tapir_call_count */
	__u32 epoch;			 /* in which it was announced last; 0: it is new */
	struct tapir_call_file_key file; /* of the call that it is in */
	__u32 fd;
	__u32 has_file; /* 1: file has the id of what fd led to when the call began */
	/* The verifier would follow each one up to the end of the program: see add_time. */
	__u32 step;
	__u32 pad0;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct call_thread);
} call_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, struct tapir_call_key);
	__type(value, struct tapir_call_count);
} call_counts SEC(".maps");

struct call_scratch {
	struct cpu_stacks stacks;
	struct tapir_rec_calls rec;
	struct tapir_rec_call_total total; /* all of it zero, but while a thread ends */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_scratch);
} call_scratches SEC(".maps");

static __always_inline __u32 syscall_number(struct task_struct *task, long nr)
{
	__u32 number = nr >= 0 && nr < TAPIR_CALL_NUMBERS ? nr : TAPIR_CALL_OTHER;

	return tapir_task__is_compat(task) ? number | TAPIR_CALL_32_BIT : number;
}

/* Calls of the other ABI have no names, and no LIST that they would be in. */
static __always_inline __u32 flags_of(__u32 nr)
{
	return nr < TAPIR_CALL_NUMBERS ? call_flags[nr & (TAPIR_CALL_NUMBERS - 1)]
				       : call_flags[TAPIR_CALL_NUMBERS - 1];
}

static __noinline int announce_caller(struct call_scratch *s)
{
	struct tapir_live *now = tapir_live();

	if (s && now &&
	    tapir_announce(now, &s->stacks.sender, &s->stacks.thread, bpf_get_current_task_btf(),
			   &s->rec.h))
		tapir_lose(&zero_key, TAPIR_LOSS_THREAD_RING_FULL);
	return 0;
}

/* A thread makes its first call, or its first one of an epoch: its name is to be known. */
static __noinline int begin_epoch(struct call_thread *t)
{
	struct call_scratch *s = bpf_map_lookup_elem(&call_scratches, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();

	if (!t || !s || !now)
		return 0;
	if (!t->epoch) {
		t->key.tgid = task->tgid;
		t->key.tid = task->pid;
		t->key.start = task->start_time >> 10;
	}
	t->epoch = now->epoch;
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = bpf_ktime_get_ns();
	return announce_caller(s);
}

static __always_inline struct call_thread *call_thread_of(struct task_struct *task,
							  const struct tapir_live *now)
{
	struct call_thread *t =
		bpf_task_storage_get(&call_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (t && t->epoch != (__u32)now->epoch)
		begin_epoch(t);
	return t;
}

/* The first call of its kind. The new value is the first of the thread's list. */
static __noinline int add_key(struct call_thread *t)
{
	struct call_scratch *s = bpf_map_lookup_elem(&call_scratches, &zero_key);
	long err;

	if (!t || !s)
		return -1;
	s->total.count.next = t->first;
	err = bpf_map_update_elem(&call_counts, &t->key, &s->total.count, BPF_NOEXIST);
	s->total.count.next = 0;
	if (err)
		return -1;
	t->first = 1u << 31 | (__u32)t->key.nr << 16 | t->key.err;
	return 0;
}

static __always_inline struct tapir_call_count *count_of(struct call_thread *t)
{
	struct tapir_call_count *c = bpf_map_lookup_elem(&call_counts, &t->key);

	if (c)
		return c;
	if (add_key(t)) {
		tapir_lose(&zero_key, TAPIR_LOSS_CALLS_FULL);
		return NULL;
	}
	return bpf_map_lookup_elem(&call_counts, &t->key);
}

/* ---- its file ------------------------------------------------------------------------------- */

/* A file that close(2) closes is named before, because nothing leads to it afterwards. */
static __always_inline void find_file(struct call_thread *t, struct task_struct *task, __u32 number,
				      __u32 fd)
{
	struct file *file = file_of_descriptor(task, fd);

	t->fd = fd;
	t->has_file = identify_file(file, &t->file.file);
	if (number == SYS_CLOSE && t->has_file &&
	    !bpf_map_lookup_elem(&call_file_names, &t->file.file))
		name_file(&t->file.file, file);
}

/* The descriptor may lead to another file by now, which another thread has put there. */
static __noinline int name_if_unchanged(struct call_thread *t)
{
	struct tapir_call_file_id now = {};
	struct file *file;

	if (!t)
		return 0;
	file = file_of_descriptor(bpf_get_current_task_btf(), t->fd);
	if (identify_file(file, &now) && now.inode == t->file.file.inode &&
	    now.dev == t->file.file.dev)
		name_file(&t->file.file, file);
	return 0;
}

static __always_inline int is_exec(__u32 number)
{
	return number == SYS_EXECVE || number == SYS_EXECVEAT;
}

static __always_inline const char *path_argument(const struct pt_regs *regs, __u32 flags)
{
	return (const char *)(flags & TAPIR_CALL_PATH_IS_FIRST ? regs->di : regs->si);
}

/* A program that begins has other memory: its path is read before. */
static __always_inline void find_program(struct call_thread *t, const struct pt_regs *regs,
					 __u32 flags)
{
	if (take_path(&t->file.file, path_argument(regs, flags)) < 0)
		return;
	name_taken_path(&t->file.file);
	t->has_file = 1;
}

static __always_inline void identify_open_file(struct call_thread *t, struct task_struct *task,
					       __u32 fd)
{
	t->fd = fd;
	t->has_file = identify_file(file_of_descriptor(task, fd), &t->file.file);
}

/*
 * The kernel has just read the path, so that its memory is there. fstat(2) is a newfstatat(2) of a
 * descriptor and an empty path.
 */
static __noinline int find_path(struct call_thread *t, const struct pt_regs *regs, __u32 flags)
{
	const char *path = path_argument(regs, flags);
	int len = 0;

	if (!t)
		return 0;
	if (is_exec(t->key.nr) && !t->key.err)
		len = -1;
	else if (path)
		len = take_path(&t->file.file, path);
	t->has_file = len > 0;
	if (!len && flags & TAPIR_CALL_PATH_IS_SECOND)
		identify_open_file(t, bpf_get_current_task_btf(), regs->di);
	if (len < 0)
		tapir_lose(&zero_key, TAPIR_LOSS_CALLS_PATH_UNREAD);
	return 0;
}

static __noinline int count_for_file(struct call_thread *t, __u64 took_ns)
{
	const struct tapir_live *now = tapir_live();
	struct tapir_call_file_count *c;
	__u32 turn;

	if (!t || !now)
		return 0;
	turn = now->call_file_turn;
	t->file.tgid = t->key.tgid;
	t->file.nr = t->key.nr;
	t->file.err = t->key.err;
	c = file_count_of(&t->file, turn);
	if (!c) {
		/* Another thread may have added it just now: then it is found, too. */
		add_file_key(&t->file, turn);
		if (t->file.file.dev != TAPIR_CALL_PATH_DEV)
			name_if_unchanged(t);
		else
			name_taken_path(&t->file.file);
		c = file_count_of(&t->file, turn);
	}
	if (c)
		add_file_time(c, took_ns, t->step);
	else
		tapir_lose(&zero_key, TAPIR_LOSS_CALLS_FILES_FULL);
	return 0;
}

static __always_inline void end_with_file(struct call_thread *t, struct task_struct *task,
					  const struct pt_regs *regs, long ret, __u64 took_ns)
{
	__u32 flags = flags_of(t->key.nr);

	if (flags & TAPIR_CALL_FILE_IS_RESULT && ret >= 0)
		identify_open_file(t, task, ret);
	else if (flags & CALL_HAS_PATH && !t->has_file)
		find_path(t, regs, flags);
	if (!t->has_file)
		return;
	t->has_file = 0;
	count_for_file(t, took_ns);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(tapir_enter_count, struct pt_regs *regs, long nr)
{
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();
	struct call_thread *t;
	__u32 number;

	if (!f || !now || !now->enabled || !is_traced(f, task))
		return 0;
	number = syscall_number(task, nr);
	if (!(flags_of(number) & TAPIR_CALL_IS_COUNTED))
		return 0;
	t = call_thread_of(task, now);
	if (!t) {
		tapir_lose(&zero_key, TAPIR_LOSS_CALLS_NO_STORAGE);
		return 0;
	}
	t->key.nr = number;
	t->has_file = 0;
	if (call_files && flags_of(number) & TAPIR_CALL_FILE_IS_ARG)
		find_file(t, task, number, regs->di);
	if (call_files && is_exec(number))
		find_program(t, regs, flags_of(number));
	t->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* ---- stacks ----------------------------------------------------------------------------- */

static __always_inline void take_call_stack(struct call_scratch *s, struct tapir_live *now,
					    void *ctx, struct task_struct *task)
{
	long err = 0;

	if (!tapir_task__has_memory(task))
		return;
	s->stacks.user.owner = STACK_OF_CALL;
	set_user_regs(&s->stacks.user, task);
	s->rec.stack_id = take_user_stack(&s->stacks, now, &s->rec.h, &err);
	if (err) {
		s->rec.stack_id = 0;
		tapir_lose(&zero_key, TAPIR_LOSS_CALLS_STACK_LOST);
	}
}

/*
 * The calls since the last stack, which had to wait for this one, are taken to be of it, too. Not a
 * function of its own: the walk needs seven of the eight that the verifier allows.
 */
static __always_inline int send_stack(struct call_thread *t, struct tapir_call_count *c, void *ctx,
				      __u64 now_ns)
{
	struct call_scratch *s = bpf_map_lookup_elem(&call_scratches, &zero_key);
	struct task_struct *task = bpf_get_current_task_btf();
	struct tapir_live *now = tapir_live();

	if (!t || !c || !s || !now)
		return 0;
	/* The record is sent with its padding. */
	__builtin_memset(&s->rec, 0, sizeof(s->rec));
	s->rec.h.type = TAPIR_REC_CALLS;
	s->rec.h.size = sizeof(s->rec);
	s->rec.h.cpu = bpf_get_smp_processor_id();
	s->rec.h.time_ns = now_ns;
	s->rec.kind = TAPIR_CALLS_AT_STACK;
	s->rec.tgid = t->key.tgid;
	s->rec.tid = t->key.tid;
	s->rec.nr = t->key.nr;
	s->rec.err = t->key.err;
	/* The first stack has no earlier one: its calls are those of this moment. */
	s->rec.since_ns = c->stack_ns ? c->stack_ns : now_ns;
	s->rec.cnt = c->pending_cnt;
	s->rec.sum_ns = c->pending_ns;
	s->rec.max_ns = c->pending_max_ns;
	take_call_stack(s, now, ctx, task);
	if (tapir_send(now, &s->stacks.sender, &s->rec, sizeof(s->rec)))
		tapir_lose(&zero_key, TAPIR_LOSS_CALLS_STACK_LOST);
	c->stack_ns = now_ns;
	c->pending_cnt = 0;
	c->pending_ns = c->pending_max_ns = 0;
	return 0;
}

static __always_inline void add_time(struct call_thread *t, struct tapir_call_count *c,
				     __u64 took_ns)
{
	__u32 step = tapir_call_step__of(took_ns);

	t->step = step;
	c->sum_ns += took_ns;
	if (took_ns > c->max_ns)
		c->max_ns = took_ns;
	barrier_var(step);
	if (step < TAPIR_CALL_STEPS)
		c->steps[step]++;
}

static __always_inline __u32 error_of(__u32 nr, long ret)
{
	/* The result of sigreturn is a register of the code that was interrupted. */
	return ret < 0 && ret >= -4095 && nr != SYS_RT_SIGRETURN ? -ret : 0; /* MAX_ERRNO */
}

/* A child returns from a call that its parent began. */
static __always_inline int is_birth(const struct task_struct *task, long ret)
{
	long nr = ((const struct pt_regs *)bpf_task_pt_regs((struct task_struct *)task))->orig_ax;

	return !ret && (nr == SYS_CLONE || nr == SYS_FORK || nr == SYS_VFORK || nr == SYS_CLONE3);
}

/* The thread returns from the call that it was in when the recording began. */
static __noinline int count_unbegun(struct task_struct *task, long ret)
{
	long nr = ((const struct pt_regs *)bpf_task_pt_regs(task))->orig_ax;
	const struct tapir_filter *f = bpf_map_lookup_elem(&filter, &zero_key);
	const struct tapir_live *now = tapir_live();
	struct tapir_call_count *c;
	struct call_thread *t;
	__u32 number;

	if (!f || nr < 0 || is_birth(task, ret) || !is_traced(f, task))
		return 0;
	number = syscall_number(task, nr);
	t = now && flags_of(number) & TAPIR_CALL_IS_COUNTED ? call_thread_of(task, now) : NULL;
	if (!t)
		return 0;
	t->key.nr = number;
	t->key.err = error_of(number, ret);
	c = count_of(t);
	if (c)
		c->unbegun_cnt++;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(tapir_exit_count, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_thread *t = bpf_task_storage_get(&call_threads, task, NULL, 0);
	struct tapir_live *now = tapir_live();
	struct tapir_call_count *c;
	__u64 now_ns, took_ns;

	if (!now || !now->enabled)
		return 0;
	if (!t)
		return count_unbegun(task, ret);
	if (!t->start_ns)
		return 0;
	now_ns = bpf_ktime_get_ns();
	took_ns = now_ns - t->start_ns;
	t->start_ns = 0;
	t->key.err = error_of(t->key.nr, ret);
	c = count_of(t);
	if (!c)
		return 0;
	add_time(t, c, took_ns);
	if (call_files)
		end_with_file(t, task, regs, ret, took_ns);
	if (!call_stacks || (!t->key.err && took_ns < long_call_ns))
		return 0;
	/*
	 * Calls between two stacks are added up apart from all others, and go with the next stack
	 * that is sent.
	 */
	c->pending_cnt++;
	c->pending_ns += took_ns;
	if (took_ns > c->pending_max_ns)
		c->pending_max_ns = took_ns;
	if (now_ns - c->stack_ns >= STACK_DISTANCE_NS)
		send_stack(t, c, ctx, now_ns);
	return 0;
}

/* ---- the end of a thread ------------------------------------------------------------------- */

struct ending {
	struct call_thread *t;
	struct call_scratch *s;
	struct tapir_live *now;
};

/* The values stay where there is no room in the ring, and user space reads them at the end. */
static long send_next(__u64 idx, void *ctx)
{
	struct ending *e = ctx;
	struct tapir_rec_call_total *total = &e->s->total;
	struct tapir_call_count *c;
	__u32 next;

	if (!e->t->first)
		return 1;
	e->t->key.nr = e->t->first >> 16 & 0x7fff;
	e->t->key.err = e->t->first;
	c = bpf_map_lookup_elem(&call_counts, &e->t->key);
	if (!c)
		return 1;
	next = c->next;
	bpf_probe_read_kernel(&total->count, sizeof(total->count), c);
	total->key = e->t->key;
	c->is_sent = 1; /* user space leaves them out from here on */
	if (tapir_send(e->now, &e->s->stacks.sender, total, sizeof(*total))) {
		c->is_sent = 0;
		return 1;
	}
	bpf_map_delete_elem(&call_counts, &e->t->key);
	e->t->first = next;
	return 0;
}

/*
 * A thread ends within a system call that never returns: it is counted as one that is open. What
 * the thread has counted leaves as records, one for each key.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(tapir_end_count, struct task_struct *task)
{
	struct call_thread *t = bpf_task_storage_get(&call_threads, task, NULL, 0);
	struct call_scratch *s = bpf_map_lookup_elem(&call_scratches, &zero_key);
	struct ending ending = {.t = t, .s = s, .now = tapir_live()};
	struct tapir_call_count *c;

	if (!t || !s || !ending.now || !ending.now->enabled)
		return 0;
	if (t->start_ns) {
		t->start_ns = 0;
		t->key.err = 0;
		c = count_of(t);
		if (c)
			c->open_cnt++;
	}
	__builtin_memset(&s->total.h, 0, sizeof(s->total.h));
	s->total.h.type = TAPIR_REC_CALL_TOTAL;
	s->total.h.size = sizeof(s->total);
	s->total.h.cpu = bpf_get_smp_processor_id();
	s->total.h.time_ns = bpf_ktime_get_ns();
	bpf_loop(KEYS_OF_THREAD, send_next, &ending, 0);
	__builtin_memset(&s->total, 0, sizeof(s->total));
	return 0;
}

/* ---- calls that have not returned ------------------------------------------------------------ */

SEC("iter/task")
int tapir_calls_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tapir_call_open open = {};
	struct call_thread *t;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&call_threads, task, NULL, 0);
	if (!t || !t->start_ns)
		return 0;
	open.key = t->key;
	open.key.err = 0;
	open.start_ns = t->start_ns;
	bpf_seq_write(ctx->meta->seq, &open, sizeof(open));
	return 0;
}
