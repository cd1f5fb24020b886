/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * return_probe.bpf.h - return addresses that the kernel has replaced. A probe on the return of a
 * function, of any tracer, puts the address of the kernel's own code for it (in the mapping
 * [uprobes]) where the return address was; the task has a list of what was there.
 */
#ifndef TAPIR_BPF_RETURN_PROBE_BPF_H
#define TAPIR_BPF_RETURN_PROBE_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define PROBED_RETURNS 64 /* of a task, at most (MAX_URETPROBE_DEPTH of the kernel) */

/*
 * ip: the return address that is at `at` on the current thread's stack. What was there before a
 * probe of its return; ip itself if none is there. Not static: see find_row.
 */
__weak __noinline __u64 tapir_original_return(__u64 ip, __u64 at)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct return_instance *instance;
	struct xol_area *area;

	if (!bpf_core_field_exists(task->utask))
		return ip;
	area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	if (!area || BPF_CORE_READ(area, vaddr) != ip)
		return ip;
	instance = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < PROBED_RETURNS && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == at)
			return BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
	return ip;
}

#endif
