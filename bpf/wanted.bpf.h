/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * wanted.bpf.h - whether a thread is traced, for programs that every thread of the machine passes:
 * an untraced one is recognized by a few loads. What the rules decided is kept for a moment.
 */
#ifndef TAPIR_BPF_WANTED_BPF_H
#define TAPIR_BPF_WANTED_BPF_H

#include "bpf/common.bpf.h"

/*
 * Judges a process by its name and cgroup, which costs more than all else here: what was decided is
 * used for VERDICT_TICKS. Two processes that share a place are judged anew each time.
 */
static __noinline int ask_rules(struct task_struct *task, __u32 tgid)
{
	__u64 ticks = bpf_jiffies64(), fresh;
	__u64 *known = tapir_verdict(tgid), is;

	if (!known)
		return 0;
	is = *known;
	if ((is & ((1u << VERDICT_BITS) - 1)) >> 1 == tgid &&
	    ticks - (is >> VERDICT_BITS) < VERDICT_TICKS)
		return is & 1;
	fresh = tapir_is_wanted(task, tgid) != 0;
	*known = ticks << VERDICT_BITS | (__u64)tgid << 1 | fresh;
	return fresh;
}

/*
 * Returns 0 for most processes that are not in the list, by a table of bits in place of the hash.
 */
static __always_inline int may_be_listed(__u32 tgid)
{
	const struct tapir_maybe_tgids *maybe = bpf_map_lookup_elem(&maybe_tgids, &zero_key);

	return maybe && maybe->is[tgid & (TAPIR_MAYBE_TGIDS - 1)];
}

/*
 * Returns 1 if the thread is traced: by the list of processes or by a rule; all are if there is
 * neither.
 */
static __always_inline int is_traced(const struct tapir_filter *f, struct task_struct *task)
{
	__u32 tgid = task->tgid;

	if (!tgid || tgid == f->self_tgid) /* 0: the CPU idles */
		return 0;
	if (f->use_tgids && may_be_listed(tgid) && tapir_is_listed(tgid))
		return 1;
	if (f->comm_cnt || f->cgroup_cnt)
		return ask_rules(task, tgid);
	return !f->use_tgids;
}

#endif /* TAPIR_BPF_WANTED_BPF_H */
