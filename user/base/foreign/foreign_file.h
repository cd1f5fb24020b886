/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * foreign_file.h - the one way to open what another process's path, link or mapping names.
 *
 * The name is that process's choice: it may lead out of its root, to a FIFO, a device, /proc, or a
 * file system that never answers. So: nothing is opened before it was taken by O_PATH and checked
 * to be a regular file of an ordinary file system; links are followed below the process's root
 * only; nothing blocks; whatever a foreign file system (file_system.h) must be asked is asked by
 * its helper.
 *
 * A handle is a descriptor of such a file: open for reading on a local file system, O_PATH on a
 * foreign one (which keeps nothing busy there but the mount). It is duplicated and closed like any
 * other; its content is read by the functions below, never by read(2) or mmap(2).
 *
 * Privileges: CAP_SYS_PTRACE for /proc/PID/root of other users' processes, CAP_DAC_READ_SEARCH for
 * their files. Linux 5.6 (openat2). Thread-safe. No diagnostic lines unless noted.
 */
#ifndef TAPIR_USER_FOREIGN_FILE_H
#define TAPIR_USER_FOREIGN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct statfs; /* <sys/statfs.h> */
struct tapir_fs;

#define TAPIR_FOREIGN_MAX_PATH_BYTES 4096
/* Content that is copied out of a foreign file system: in memory as long as it is open. */
#define TAPIR_FOREIGN_MAX_COPY_BYTES (256u << 20)

enum {
	TAPIR_FOREIGN_NO_FOLLOW = 1, /* a link at the end is taken itself */
	TAPIR_FOREIGN_NO_MOUNT = 2,  /* -EXDEV when what is at the end is a mount */
};

/*
 * Takes what path names below root_fd (a directory, O_PATH) without opening it: an O_PATH
 * descriptor of anything, or -errno. tgid (0: tapir itself) is a process that sees the mounts.
 * -ETIMEDOUT: the file system does not answer.
 */
int tapir_foreign__take(int root_fd, const char *path, uint32_t tgid, unsigned flags);

/* The root directory of a process, O_PATH. -ESRCH: it has ended. tgid 0: our own root. */
int tapir_foreign__root(uint32_t tgid);

/*
 * The handle of a taken file, which must be regular. Borrows path_fd. -EMEDIUMTYPE: not a regular
 * file, or one whose reading has effects.
 */
int tapir_foreign__open_taken(int path_fd, uint32_t tgid);

/*
 * Takes what a path names that the user gave, as open(2) would: links, /proc and devices included.
 */
int tapir_foreign__take_own(const char *path);

/* __take and __open_taken. */
int tapir_foreign__open(int root_fd, const char *path, uint32_t tgid);

/* stat(2) of a handle, or of what was taken, from what the kernel has cached. */
int tapir_foreign__stat(int fd, struct stat *out);

/*
 * A descriptor for reading a handle's content with pread(2), which never blocks: the file itself,
 * or a copy in memory. Yours. -EFBIG: too large to be copied; -ETIMEDOUT: no answer, or too slow.
 */
int tapir_foreign__content(int handle);

/* fstatfs(2) of anything taken. 0 or -errno. */
int tapir_foreign__statfs(int fd, struct statfs *out);

/* pread(2) of a handle; -errno. For files that grow: nothing is kept. */
ssize_t tapir_foreign__pread(int handle, void *buf, size_t len, uint64_t off);

/* Returns true if fd is a handle of a foreign file system; *fs: of which (NULL: unknown). */
bool tapir_foreign__is_foreign(int handle, struct tapir_fs **fs);

/*
 * A line for what an open or a read returned: "cannot read X of process 42: its file system does
 * not answer". Returns err.
 */
int tapir_foreign__fail(int err, const char *path, uint32_t tgid);

#endif
