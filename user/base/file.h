/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file.h - reading and writing whole files, and scope guards for what is open.
 *
 * Files under /proc and below another process's root are untrusted: reads are bounded and never
 * block on a FIFO. No state but what is stated: any thread.
 */
#ifndef TAPIR_USER_FILE_H
#define TAPIR_USER_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * Scope guards: `tapir_autofd int fd = -1;`, `tapir_autofree char *text = NULL;`. __fd also closes
 * what outlives a scope: it is -1 then, so the next file with that number is not taken for it.
 */
static inline void tapir_guard__fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
static inline void tapir_guard__free(void *p)
{
	free(*(void **)p);
}
static inline void tapir_guard__file(FILE **f)
{
	if (*f)
		fclose(*f);
}
#define tapir_autofd   __attribute__((cleanup(tapir_guard__fd)))
#define tapir_autofree __attribute__((cleanup(tapir_guard__free)))
#define tapir_autofile __attribute__((cleanup(tapir_guard__file)))

/*
 * Reads all of a small file (regular, /proc or /sys). The caller frees *out, which is
 * NUL-terminated after *len bytes. -EFBIG: longer than max_bytes. Works on files whose size stat
 * does not know.
 */
int tapir_file__read(const char *path, size_t max_bytes, char **out, size_t *len);
int tapir_file__read_fd(int fd, size_t max_bytes, char **out, size_t *len);

/*
 * openat2(2) with O_CLOEXEC and these RESOLVE_ flags, tried again for a while on EAGAIN: a ".." on
 * the way gets that while anything on the machine is renamed or mounted. Only system calls: for
 * copies of a process with threads, too. An fd or -errno.
 */
int tapir_file__open_resolved(int dir_fd, const char *path, uint64_t flags, uint64_t resolve);

/*
 * The entries of a directory, by openat(2) with these flags, O_DIRECTORY and O_CLOEXEC. NULL on
 * failure, with errno set. Ends with closedir(3); dirfd(3) is open until then.
 */
DIR *tapir_file__open_dir(int at_fd, const char *path, int flags);

/*
 * Calls visit for each entry of the directory path (taken from at_fd, no link followed) but "." and
 * "..", with an fd of that directory, until visit returns false. System calls and the stack only,
 * unlike readdir(3): for copies of a process with threads, too. 0 or -errno.
 */
typedef bool (*tapir_file_visit)(void *ctx, int dir_fd, const char *name);
int tapir_file__each_name(int at_fd, const char *path, tapir_file_visit visit, void *ctx);

/*
 * Stands for the file and what is in it, never 0: an inode number may be used again for another
 * one, and what is in it changed without its size or time of modification showing it.
 */
uint64_t tapir_file__key(const struct stat *st);

/* The same of an open file, whose generation counts as well where its file system has one. */
uint64_t tapir_file__key_of_fd(int fd, const struct stat *st);

/*
 * Raises the soft limit on open files to the hard one, for this process; __restore_limit is for a
 * child that runs another program, which gets the limit tapir was started with. Not thread-safe.
 */
void tapir_file__raise_limit(void);
void tapir_file__restore_limit(void);

/*
 * A file without a name, 0600, in TMPDIR or /tmp: it goes with its last descriptor. A descriptor,
 * or -errno without a line.
 */
int tapir_file__temporary(void);

/* Writes all of it, through interruptions and short writes. 0 or -errno. */
int tapir_file__write_all(int fd, const void *data, size_t len);

/*
 * The same into a pipe, socket or terminal whose reader may stall. *stop_ns is 0 until another
 * thread stores the CLOCK_MONOTONIC time at which the program was asked to end: from then on, a
 * reader that takes nothing for half a second ends the write with -ETIMEDOUT.
 */
int tapir_file__write_until(int fd, const void *data, size_t len,
			    const atomic_uint_least64_t *stop_ns);

/*
 * Returns fd, or closes it and returns -1 when it is among the last quarter that the process may
 * have: for callers that can do without and count it. That quarter is for those who cannot.
 */
int tapir_file__keep_unless_scarce(int fd);

/*
 * 0: the process can open this many more at the moment; or -EMFILE, -ENFILE. For callers of
 * libraries that take a want of descriptors for something else.
 */
int tapir_file__check_room(unsigned cnt);

#endif
