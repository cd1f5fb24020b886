/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * path.bpf.h - the path of a file as a process would write it, from its own root on.
 */
#ifndef TAPIR_BPF_PATH_BPF_H
#define TAPIR_BPF_PATH_BPF_H

#include "bpf/common.bpf.h"

#define PATH_BYTES 512 /* powers of two */
#define NAME_BYTES 256 /* NAME_MAX and one */
#define PATH_PARTS 64

/* A path is written from its end to its beginning, in the first half of text. */
struct path_text {
	char text[PATH_BYTES + NAME_BYTES];
};

struct path_walk {
	struct path_text *path;
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
	walk->path->text[walk->at & (PATH_BYTES - 1)] = '/';
	bpf_probe_read_kernel(&walk->path->text[(walk->at + 1) & (PATH_BYTES - 1)],
			      len & (NAME_BYTES - 1), BPF_CORE_READ(dentry, d_name.name));
	walk->dentry = parent;
	return 0;
}

/*
 * Writes the path that the task has for a file. Nothing is locked: of a directory that is renamed
 * at that time, either name may be seen.
 */
static __noinline int write_path(struct path_walk *walk, struct task_struct *task,
				 struct file *file)
{
	walk->dentry = BPF_CORE_READ(file, f_path.dentry);
	walk->mnt = BPF_CORE_READ(file, f_path.mnt);
	walk->root = BPF_CORE_READ(task, fs, root.dentry);
	walk->root_mnt = BPF_CORE_READ(task, fs, root.mnt);
	walk->at = PATH_BYTES - 1;
	walk->is_complete = 0;
	bpf_loop(PATH_PARTS, step_up, walk, 0);
	return 0;
}

/* Returns true if the file has no name any longer: /proc says so behind the path. */
static __always_inline int is_deleted(struct file *file)
{
	return !BPF_CORE_READ(file, f_path.dentry, d_hash.pprev);
}

#endif /* TAPIR_BPF_PATH_BPF_H */
