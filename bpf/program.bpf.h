/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * program.bpf.h - what program a process executes: the path of its file and its command line, as
 * /proc/PID/exe and /proc/PID/cmdline have them. A program that lives for a millisecond is gone
 * before /proc can be read. What cannot be had here for certain is left to /proc.
 */
#ifndef TAPIR_BPF_PROGRAM_BPF_H
#define TAPIR_BPF_PROGRAM_BPF_H

#include "bpf/common.bpf.h"
#include "bpf/path.bpf.h"

#define CMDLINE_BYTES 4096 /* longer command lines are marked as cut */

/* The length of the path, which begins at *at; 0: /proc has it, as of a long one. */
static __noinline __u32 read_exe(struct task_struct *task, struct path_text *path, __u32 *at)
{
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct path_walk walk = {.path = path};

	if (!file || is_deleted(file))
		return 0;
	write_path(&walk, task, file);
	if (!walk.is_complete || walk.at >= PATH_BYTES - 1)
		return 0;
	*at = walk.at;
	return PATH_BYTES - 1 - walk.at;
}

/*
 * Copies the command line of the current task, or of a child that has its memory: the length of
 * what was copied, with is_cut if there is more; negative if it has to be read elsewhere. execve(2)
 * has just written these pages, so they are there.
 */
static __always_inline long read_cmdline(struct task_struct *task, char *out, __u32 *is_truncated)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 start = BPF_CORE_READ(mm, arg_start), end = BPF_CORE_READ(mm, arg_end);
	__u64 len = end - start;
	char last;

	if (!mm || end <= start)
		return 0;
	/* Overwritten by setproctitle(3): /proc has a rule for that. */
	if (bpf_probe_read_user(&last, 1, (void *)(end - 1)) || last)
		return -1;
	*is_truncated = len > CMDLINE_BYTES;
	if (len > CMDLINE_BYTES)
		len = CMDLINE_BYTES;
	return bpf_probe_read_user(out, len, (void *)start) ? -1 : (long)len;
}

#endif /* TAPIR_BPF_PROGRAM_BPF_H */
