/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_list.h - the threads of a process with their registers and kernel stacks, by a BPF
 * iterator: the process is neither stopped nor asked. A moment later a blocked thread may have run:
 * the same switch_cnt in a second list says that it has not.
 *
 * Requires CAP_BPF and CAP_PERFMON. Linux 6.1 (an iterator of one process: commit f0d74c4da1f0).
 * Without them, /proc has less: no kernel stack, and of the registers only ip and sp.
 */
#ifndef TAPIR_USER_THREAD_LIST_H
#define TAPIR_USER_THREAD_LIST_H

#include <stdbool.h>

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
/*
 * The same by /proc/TGID/task. A thread whose registers may not be read (the process of another
 * user, or Yama) has ip 0. -ESRCH: there is no such process.
 */
int tapir_thread_list__read_proc(uint32_t tgid, struct tapir_thread_list *out);

/*
 * Parses a thread's syscall file: "running", "-1 SP PC" or "NR ARG0 ... ARG5 SP PC". false: it is
 * none of these, and seen is unchanged.
 */
bool tapir_thread_seen__parse_syscall(struct tapir_thread_seen *seen, const char *text);
/* Parses a thread's status file: state and switch_cnt. false: it is none. */
bool tapir_thread_seen__parse_status(struct tapir_thread_seen *seen, const char *text);

/* Frees the list; zeroed is fine. */
void tapir_thread_list__fini(struct tapir_thread_list *list);

#endif
