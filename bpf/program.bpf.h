/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * program.bpf.h - what program a process executes: the path of its file and its command line, as
 * /proc/PID/exe and /proc/PID/cmdline have them. A program that lives for a millisecond is gone
 * before /proc can be read. What cannot be had here for certain is left to /proc.
 */
#ifndef TAPIR_BPF_PROGRAM_BPF_H
#define TAPIR_BPF_PROGRAM_BPF_H

#include "bpf/common.bpf.h"

#define EXE_BYTES     512  /* powers of two; longer paths are left to /proc */
#define NAME_BYTES    256  /* NAME_MAX and one */
#define CMDLINE_BYTES 4096 /* longer command lines are marked as cut */
#define PATH_PARTS    64

/* A path is written from its end to its beginning, in the first half of text. */
struct exe_path {
	char text[EXE_BYTES + NAME_BYTES];
};

struct path_walk {
	struct exe_path *path;
	struct dentry *dentry;
	struct vfsmount *mnt;
	struct dentry *root; /* of the process, where the path begins */
	struct vfsmount *root_mnt;
	__u32 at; /* of the path's beginning */
	__u32 is_complete;
};

/* A mount is around the part of it that others see. */
static __always_inline struct mount *mount_of(struct vfsmount *mnt)
{
	return (void *)mnt - bpf_core_field_offset(struct mount, mnt);
}

/*
 * Goes from a mount's root to where it is mounted; 1: nowhere, as for a file outside the process's
 * root.
 */
static __always_inline long leave_mount(struct path_walk *walk, struct mount *mount)
{
	struct mount *above = BPF_CORE_READ(mount, mnt_parent);

	if (above == mount) {
		walk->is_complete = 1;
		return 1;
	}
	walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	walk->mnt = (void *)above + bpf_core_field_offset(struct mount, mnt);
	return 0;
}

/* One step towards the root; 1 ends the walk. */
static long step_up(__u64 idx, void *ctx)
{
	struct path_walk *walk = ctx;
	struct dentry *dentry = walk->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	struct vfsmount *mnt = walk->mnt;
	__u32 len = BPF_CORE_READ(dentry, d_name.len);

	if (dentry == walk->root && mnt == walk->root_mnt) {
		walk->is_complete = 1;
		return 1;
	}
	if (dentry == BPF_CORE_READ(mnt, mnt_root))
		return leave_mount(walk, mount_of(mnt));
	/* A root that is no mount's: of a file without a path (memfd), or what is detached. */
	if (parent == dentry || !len || len >= NAME_BYTES || len >= walk->at)
		return 1;
	walk->at -= len + 1;
	walk->path->text[walk->at & (EXE_BYTES - 1)] = '/';
	bpf_probe_read_kernel(&walk->path->text[(walk->at + 1) & (EXE_BYTES - 1)],
			      len & (NAME_BYTES - 1), BPF_CORE_READ(dentry, d_name.name));
	walk->dentry = parent;
	return 0;
}

/*
 * The length of the path, which begins at *at; 0: /proc has it. Nothing is locked: of a directory
 * that is renamed at that time, either name may be seen.
 */
static __noinline __u32 read_exe(struct task_struct *task, struct exe_path *path, __u32 *at)
{
	struct file *file = BPF_CORE_READ(task, mm, exe_file);
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct path_walk walk = {.path = path,
				 .dentry = dentry,
				 .mnt = BPF_CORE_READ(file, f_path.mnt),
				 .root = BPF_CORE_READ(task, fs, root.dentry),
				 .root_mnt = BPF_CORE_READ(task, fs, root.mnt),
				 .at = EXE_BYTES - 1};

	/* Deleted: /proc says so behind the path. */
	if (!file || !BPF_CORE_READ(dentry, d_hash.pprev))
		return 0;
	bpf_loop(PATH_PARTS, step_up, &walk, 0);
	if (!walk.is_complete || walk.at >= EXE_BYTES - 1)
		return 0;
	*at = walk.at;
	return EXE_BYTES - 1 - walk.at;
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
