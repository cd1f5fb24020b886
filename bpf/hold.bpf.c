// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * hold.bpf.c - a thread of a program that tapir started maps a file whose probes are not attached
 * yet: the holder (user/attach/holder.h), which traces it, is to keep it until they are.
 *
 * At exec the thread stops for its tracer in any case. At mmap it is sent a signal that has no
 * meaning to it, so that the stop before the delivery holds it; if the tracer is gone by then, the
 * kernel drops the signal. A thread that cannot be held in this way continues, and what it may have
 * fired is a GAP.
 *
 * The record for the loader is reserved first: there is no stop without one. These programs are
 * not sleepable, so a reservation delays no other record.
 */
#include "bpf/common.bpf.h"

#define PROT_EXEC	  4
#define NR_MMAP		  9
#define NR_PTRACE	  101
#define EPERM		  1
#define OUTSIDER_PAUSE_NS 1000000
#define MOMENT_NS	  100000000
#define SIGURG		  23
#define SIGWINCH	  28
#define PTRACE_TRACEME	  0
#define PTRACE_ATTACH	  16
#define PTRACE_SEIZE	  0x4206

/* Files whose probes are attached, and since when. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tapir_file_key);
	__type(value, __u64);
} known_files SEC(".maps");

/* Shared with the loader and the holder, which map it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct tapir_holds);
} holds SEC(".maps");

static __always_inline void fill_key(struct tapir_file_key *key, struct inode *inode)
{
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->size = BPF_CORE_READ(inode, i_size);
	key->ctime_ns = tapir_inode__ctime_ns(inode);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->generation = BPF_CORE_READ(inode, i_generation);
}

static long key_of_vma(struct task_struct *task, struct vm_area_struct *vma, void *ctx)
{
	fill_key(ctx, BPF_CORE_READ(vma, vm_file, f_inode));
	return 0;
}

/*
 * Returns true if the mapping is of a file whose probes may be missing. Yes if that is unknown now,
 * and if they were attached a moment ago, maybe after it was mapped: that hold is reported, too.
 */
static __noinline int is_unknown(struct task_struct *task, __u64 va)
{
	struct tapir_file_key key = {};
	__u64 *since_ns;

	if (bpf_find_vma(task, va, key_of_vma, &key, 0))
		return 1;
	if (!key.inode)
		return 0;
	since_ns = bpf_map_lookup_elem(&known_files, &key);
	return !since_ns || bpf_ktime_get_ns() - *since_ns < MOMENT_NS;
}

static __always_inline int may_be_held(struct task_struct *task)
{
	struct tapir_live *now = tapir_live();

	return now && now->enabled && is_held(now, task);
}

static __always_inline int means_nothing(struct task_struct *task, int signal)
{
	__u64 handler = (__u64)BPF_CORE_READ(task, sighand, action[signal - 1].sa.sa_handler);

	return handler <= 1 && !(BPF_CORE_READ(task, blocked.sig[0]) & 1ull << (signal - 1));
}

/* Picks a signal whose default is to be ignored, with no handler and not blocked; 0: none. */
static __always_inline __u8 pick_signal(struct task_struct *task)
{
	return means_nothing(task, SIGURG) ? SIGURG : means_nothing(task, SIGWINCH) ? SIGWINCH : 0;
}

static __always_inline struct tapir_hold *claim(struct tapir_rec_held *rec, __u8 signal)
{
	struct tapir_holds *all = bpf_map_lookup_elem(&holds, &zero_key);
	struct tapir_hold *hold;

	if (!all)
		return NULL;
	hold = &all->slots[rec->tid & (TAPIR_HOLDS - 1)];
	rec->word = tapir_hold__word(rec->tid, (__u16)(rec->h.time_ns >> 8), signal, rec->kind);
	if (__sync_val_compare_and_swap(&hold->word, 0, rec->word))
		return NULL;
	hold->arg = rec->arg;
	return hold;
}

static __always_inline void fill_held_record(struct tapir_rec_held *rec, struct task_struct *task)
{
	*rec = (struct tapir_rec_held){
		.h = {.type = TAPIR_REC_HELD,
		      .cpu = bpf_get_smp_processor_id(),
		      .size = sizeof(*rec),
		      .time_ns = bpf_ktime_get_ns()},
		.tgid = task->tgid,
		.tid = task->pid,
	};
}

/* kind EXEC needs no signal. */
static __always_inline void hold(struct task_struct *task, enum tapir_hold_kind kind, __u64 arg,
				 __u8 signal)
{
	struct tapir_rec_held *rec = bpf_ringbuf_reserve(&control_ring, sizeof(*rec), 0);
	struct tapir_hold *slot;

	if (!rec) {
		tapir_lose(&zero_key, TAPIR_LOSS_PROCESS_RING_FULL);
		return;
	}
	fill_held_record(rec, task);
	rec->kind = kind;
	rec->arg = arg;
	slot = claim(rec, signal);
	if (!slot) {
		bpf_ringbuf_discard(rec, 0);
		return;
	}
	if (signal && bpf_send_signal_thread(signal)) {
		slot->word = 0;
		bpf_ringbuf_discard(rec, 0);
		return;
	}
	bpf_ringbuf_submit(rec, BPF_RB_FORCE_WAKEUP);
}

/* Attached after tapir_exec: its record comes first. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(tapir_hold_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	const struct pt_regs *regs;

	if (!may_be_held(task) || !tapir_is_wanted(task, task->tgid))
		return 0;
	/* A program begins in its interpreter if it has one, else in itself. */
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	if (is_unknown(task, BPF_CORE_READ(task, mm, start_code)) || is_unknown(task, regs->ip))
		hold(task, TAPIR_HOLD_EXEC, 0, 0);
	return 0;
}

static __always_inline void saw_mmap(struct task_struct *task, __u64 prot, __u64 va)
{
	__u8 signal;

	if (!(prot & PROT_EXEC) || !may_be_held(task) || !tapir_is_wanted(task, task->tgid) ||
	    !is_unknown(task, va))
		return;
	signal = pick_signal(task);
	if (signal)
		hold(task, TAPIR_HOLD_MMAP, va, signal);
}

/* A pid as an argument is one of the caller's namespace: 0 where that is not the kernel's. */
static __always_inline __u32 kernel_tid(struct task_struct *task, __u64 pid)
{
	return BPF_CORE_READ(task, thread_pid, level) ? 0 : pid;
}

/* A ptrace(2) is refused because the holder traces the thread it wants to trace: that may be so. */
static __always_inline void on_refused_ptrace(struct task_struct *task, __u64 request, __u64 pid)
{
	struct tapir_holds *all = bpf_map_lookup_elem(&holds, &zero_key);
	struct tapir_live *now = tapir_live();
	struct tapir_rec_held rec;
	__u8 signal;

	if (!now || !now->enabled || !now->holder_tgid ||
	    (request != PTRACE_TRACEME && request != PTRACE_ATTACH && request != PTRACE_SEIZE))
		return;
	pid = request == PTRACE_TRACEME ? task->pid : kernel_tid(task, pid);
	signal = may_be_held(task) ? pick_signal(task) : 0;
	if (signal) {
		hold(task, TAPIR_HOLD_PTRACE, pid, signal);
		return;
	}
	if (!all || bpf_ktime_get_ns() - all->outsider_ns < OUTSIDER_PAUSE_NS)
		return; /* any process can have it refused in a loop */
	all->outsider_ns = bpf_ktime_get_ns();
	fill_held_record(&rec, task);
	rec.kind = TAPIR_HOLD_PTRACE;
	rec.arg = pid;
	if (bpf_ringbuf_output(&control_ring, &rec, sizeof(rec), BPF_RB_FORCE_WAKEUP))
		tapir_lose(&zero_key, TAPIR_LOSS_PROCESS_RING_FULL);
}

/* The loader maps a file with no rights at all, and runs this for the file's key. */
SEC("syscall")
int tapir_file(struct tapir_file_question *question)
{
	struct tapir_file_key key = {};

	if (!bpf_find_vma(bpf_get_current_task_btf(), question->va, key_of_vma, &key, 0))
		question->key = key;
	return 0;
}

/* Attached only while there is a holder: every system call passes here. */
SEC("tp_btf/sys_exit")
int BPF_PROG(tapir_sys_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task;

	if (regs->orig_ax != NR_MMAP && regs->orig_ax != NR_PTRACE)
		return 0;
	task = bpf_get_current_task_btf();
	if (tapir_task__is_compat(task))
		return 0; /* other numbers, and no probes */
	if (regs->orig_ax == NR_PTRACE && ret == -EPERM)
		on_refused_ptrace(task, regs->di, regs->si);
	else if (regs->orig_ax == NR_MMAP && ret > 0 && (int)regs->r8 >= 0)
		saw_mmap(task, regs->dx, ret);
	return 0;
}
