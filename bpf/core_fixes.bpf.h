/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * core_fixes.bpf.h - fields and helpers that differ between kernels, handled here and nowhere
 * else. A difference is found by asking for the field, never by comparing versions.
 */
#ifndef TAPIR_BPF_CORE_FIXES_BPF_H
#define TAPIR_BPF_CORE_FIXES_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Until 6.5; until 6.10 (13bc24457850 "fs: rename i_ctime field to __i_ctime"). */
struct inode___6_5 {
	struct timespec64 i_ctime;
} __attribute__((preserve_access_index));
struct inode___6_10 {
	struct timespec64 __i_ctime;
} __attribute__((preserve_access_index));

/* When the file was changed last, in whatever way: no system call sets that. */
static __always_inline __u64 tapir_inode__ctime_ns(struct inode *inode)
{
	struct inode___6_5 *old = (void *)inode;
	struct inode___6_10 *middle = (void *)inode;

	if (bpf_core_field_exists(old->i_ctime))
		return BPF_CORE_READ(old, i_ctime.tv_sec) * 1000000000ull +
		       BPF_CORE_READ(old, i_ctime.tv_nsec);
	if (bpf_core_field_exists(middle->__i_ctime))
		return BPF_CORE_READ(middle, __i_ctime.tv_sec) * 1000000000ull +
		       BPF_CORE_READ(middle, __i_ctime.tv_nsec);
	return BPF_CORE_READ(inode, i_ctime_sec) * 1000000000ull +
	       BPF_CORE_READ(inode, i_ctime_nsec);
}

/* The thread pointer of the current task as it was at the last switch to kernel-known state. */
static __always_inline __u64 tapir_task__thread_pointer(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread.fsbase;
#elif defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

/* Returns true if the task is inside execve(2). If the kernel does not show it: no. */
static __always_inline int tapir_task__is_in_exec(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->in_execve))
		return 0;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/* Returns true in a 32-bit system call, which has other numbers. */
static __always_inline int tapir_task__is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread_info.status) & 2; /* TS_COMPAT */
#else
	return 0;
#endif
}

/* A pid in the innermost namespace of the task: thread_pid->numbers[level].nr. */
static __always_inline __u32 tapir_task__ns_pid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	struct upid upid = {};

	bpf_core_read(&upid, sizeof(upid), &pid->numbers[level]);
	return upid.nr;
}

/*
 * The id of a task's ancestor cgroup at a level of the v2 hierarchy, 0 below its own; of any
 * task, where bpf_get_current_ancestor_cgroup_id knows the current one.
 */
static __always_inline __u64 tapir_task__cgroup_id(struct task_struct *task, __u32 level)
{
	/* Not by `->`: for each pointer that is followed from a trusted one, the verifier of 6.18
	   searches all types of the kernel by name, up to 1 ms. */
	struct cgroup *own = BPF_CORE_READ(task, cgroups, dfl_cgrp), *ancestor = NULL;

	if (level > (__u32)BPF_CORE_READ(own, level))
		return 0;
	bpf_core_read(&ancestor, sizeof(ancestor), &own->ancestors[level]);
	return BPF_CORE_READ(ancestor, kn, id);
}

/* The id of its cgroup of version 2. */
static __always_inline __u64 tapir_task__own_cgroup_id(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/*
 * Returns true if the task has memory of its own: what is read of a kernel thread's, or of one that
 * has given it up, is another process's. Not task->mm: see tapir_task__cgroup_id.
 */
static __always_inline int tapir_task__has_memory(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm) != NULL;
}

/*
 * Returns true if a map's key may be in memory that a function that is not static has as its
 * argument: d1673304097c "bpf: Allow ringbuf memory to be used as map key". Nothing that programs
 * see was changed by it; the maps of cgroups (c4bcfb38a95e) came in the same release, 6.2.
 */
static __always_inline int tapir_kernel__takes_keys_of_arguments(void)
{
	return bpf_core_enum_value_exists(enum bpf_map_type, BPF_MAP_TYPE_CGRP_STORAGE);
}

/*
 * Returns true if the current thread entered the kernel by an interrupt, not by a system call. Then
 * the kernel does not work on its behalf. An interrupt within a system call, or one of a kernel
 * thread, is not recognized: the preemption counter, which shows it, is out of reach if the kernel
 * was built without CONFIG_KALLSYMS_ALL.
 */
static __always_inline int tapir_task__is_interrupted(struct task_struct *task)
{
	const struct pt_regs *regs;

	if (!tapir_task__has_memory(task))
		return 0;
	regs = (const struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_x86)
	return (long)regs->orig_ax < 0; /* idtentry_body: "no syscall to restart" */
#elif defined(__TARGET_ARCH_arm64)
	return regs->syscallno < 0;
#endif
}

#endif
