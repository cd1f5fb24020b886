/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_list.h - the threads of a process with their registers and kernel stacks, by a BPF
 * iterator: the process is neither stopped nor asked. A moment later a blocked thread may have run:
 * the same switch_cnt in a second list says that it has not.
 *
 * Requires CAP_BPF and CAP_PERFMON. Linux 6.1 (an iterator of one process: commit f0d74c4da1f0).
 */
#ifndef TAPIR_USER_THREAD_LIST_H
#define TAPIR_USER_THREAD_LIST_H

#include "base/vec.h"
#include "bpf/control.h"

struct tapir_programs;

struct tapir_thread_list {
	struct tapir_vec(struct tapir_thread_seen) vec; /* in the order of the kernel */
};

/*
 * Replaces what is in out, which begins zeroed; __fini in any case. Empty: the process has ended.
 * -EOPNOTSUPP: programs were loaded without with_threads; else -errno of bpf(2) or read(2). No
 * line.
 */
int tapir_thread_list__read(struct tapir_programs *programs, uint32_t tgid,
			    struct tapir_thread_list *out);
void tapir_thread_list__fini(struct tapir_thread_list *list);

#endif
