// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns a handle that was taken into its content. A local file is opened again by /proc/self/fd,
 * without a second look-up of its name; a foreign one is copied by its helper into a memfd in
 * pieces, each with a deadline.
 */
#include "base/foreign/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/foreign/file_system.h"

#define COPY_NS	    (2 * TAPIR_NS_PER_SEC) /* of a whole file */
#define TURN_NS	    (10 * TAPIR_NS_PER_MS) /* of one call: a server that is slower is slow */
#define CHUNK_BYTES (128u << 10)

static bool is_path_only(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_PATH;
}

/* O_NONBLOCK: a lease on the file is no reason to wait either. */
static int reopen(int path_fd)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd;
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, flags | O_NOATIME);
	if (fd < 0 && errno == EPERM)
		fd = open(link, flags);
	return fd < 0 ? -errno : fd;
}

int tapir_foreign__stat(int fd, struct stat *out)
{
	return tapir_fs__stat(fd, out);
}

int tapir_foreign__open_taken(int path_fd, uint32_t tgid)
{
	struct tapir_fs *fs = NULL;
	struct stat st;
	int err = tapir_fs__stat(path_fd, &st);

	if (!err && !S_ISREG(st.st_mode))
		err = -EMEDIUMTYPE;
	if (!err)
		err = tapir_fs__of(path_fd, tgid, &fs);
	if (err)
		return err;
	if (!fs)
		return reopen(path_fd);
	err = fcntl(path_fd, F_DUPFD_CLOEXEC, 3);
	return err < 0 ? -errno : err;
}

int tapir_foreign__open(int root_fd, const char *path, uint32_t tgid)
{
	tapir_autofd int path_fd = tapir_foreign__take(root_fd, path, tgid, 0);

	return path_fd < 0 ? path_fd : tapir_foreign__open_taken(path_fd, tgid);
}

bool tapir_foreign__is_foreign(int handle, struct tapir_fs **fs)
{
	*fs = NULL;
	return is_path_only(handle) && (tapir_fs__of(handle, 0, fs) || *fs);
}

static int ask_statfs(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	struct statfs *out;
	int err = 0;

	(void)in, (void)value, (void)out_fd;
	out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
	if (out == MAP_FAILED)
		return -errno;
	if (fstatfs(fds[0], out))
		err = -errno;
	munmap(out, sizeof(*out));
	return err;
}

int tapir_foreign__statfs(int fd, struct statfs *out)
{
	tapir_autofd int memory_fd = -1;
	struct tapir_fs *fs = NULL;
	int err = tapir_fs__of(fd, 0, &fs);

	if (err || !fs)
		return err ? err : fstatfs(fd, out) ? -errno : 0;
	memory_fd = memfd_create("tapir-copy", MFD_CLOEXEC);
	if (memory_fd < 0 || ftruncate(memory_fd, sizeof(*out)))
		return -errno;
	err = tapir_fs__call(fs, &(struct tapir_helper_call){
					 .fn = ask_statfs, .fds = {fd, memory_fd}, .fd_cnt = 2});
	if (!err && pread(memory_fd, out, sizeof(*out), 0) != (ssize_t)sizeof(*out))
		err = -EIO;
	return err;
}

/* ---- content -------------------------------------------------------------------------------- */

struct copy {
	uint64_t off, len; /* of the file */
	uint64_t to_off;   /* in the memory */
};

/* In a helper: fds are the file and the memory. *value: the bytes that were copied. */
static int copy_some(const void *in, const int *fds, uint64_t *value, int *out_fd)
{
	static char chunk[CHUNK_BYTES];
	uint64_t until_ns = tapir_clock__now_ns() + TURN_NS;
	const struct copy *copy = in;
	tapir_autofd int fd = reopen(fds[0]);
	uint64_t done = 0;

	(void)out_fd;
	if (fd < 0)
		return fd;
	do {
		uint64_t left = copy->len - done;
		ssize_t n = pread(fd, chunk, left < sizeof(chunk) ? left : sizeof(chunk),
				  (off_t)(copy->off + done));

		if (n < 0)
			return -errno;
		if (!n)
			break;
		if (pwrite(fds[1], chunk, (size_t)n, (off_t)(copy->to_off + done)) != n)
			return -ENOSPC;
		done += (uint64_t)n;
	} while (done < copy->len && tapir_clock__now_ns() < until_ns);
	*value = done;
	return 0;
}

/* Returns how many bytes were copied, less than requested at the end of the file; or -errno. */
static int64_t copy_all(struct tapir_fs *fs, int handle, int memory_fd, struct copy copy)
{
	uint64_t until_ns = tapir_clock__now_ns() + COPY_NS, done = 0;

	while (copy.len) {
		struct tapir_helper_call call = {.fn = copy_some,
						 .in = &copy,
						 .in_bytes = sizeof(copy),
						 .fds = {handle, memory_fd},
						 .fd_cnt = 2};
		int err = tapir_clock__now_ns() < until_ns ? tapir_fs__call(fs, &call) : -ETIMEDOUT;

		if (err)
			return err;
		if (!call.value)
			break;
		copy.off += call.value;
		copy.to_off += call.value;
		copy.len -= call.value;
		done += call.value;
	}
	return (int64_t)done;
}

/* The size is what the kernel has cached: a file that has grown since is read as it was. */
static int copy_file(struct tapir_fs *fs, int handle)
{
	tapir_autofd int memory_fd = memfd_create("tapir-copy", MFD_CLOEXEC);
	struct stat st;
	int64_t got;
	int fd = memory_fd, err = memory_fd < 0 ? -errno : tapir_fs__stat(handle, &st);

	if (!err && (uint64_t)st.st_size > TAPIR_FOREIGN_MAX_COPY_BYTES)
		err = -EFBIG;
	if (err)
		return err;
	got = copy_all(fs, handle, memory_fd, (struct copy){.len = (uint64_t)st.st_size});
	if (got < 0)
		return (int)got;
	memory_fd = -1;
	return fd;
}

static void note_unread_file(struct tapir_fs *fs, int handle)
{
	struct stat st;

	if (!tapir_fs__stat(handle, &st))
		tapir_fs__skip(fs, st.st_ino);
}

int tapir_foreign__content(int handle)
{
	struct tapir_fs *fs = NULL;
	int fd, err;

	if (!is_path_only(handle)) {
		fd = fcntl(handle, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? -errno : fd;
	}
	err = tapir_fs__of(handle, 0, &fs);
	if (err)
		return err;
	fd = fs ? copy_file(fs, handle) : reopen(handle);
	if (fs && fd < 0)
		note_unread_file(fs, handle);
	return fd;
}

ssize_t tapir_foreign__pread(int handle, void *buf, size_t len, uint64_t off)
{
	tapir_autofd int memory_fd = -1;
	struct tapir_fs *fs = NULL;
	ssize_t n;
	int err;

	if (!is_path_only(handle)) {
		n = pread(handle, buf, len, (off_t)off);
		return n < 0 ? -errno : n;
	}
	err = tapir_fs__of(handle, 0, &fs);
	if (err || !fs)
		return err ? err : -EBADF;
	memory_fd = memfd_create("tapir-copy", MFD_CLOEXEC);
	if (memory_fd < 0)
		return -errno;
	n = copy_all(fs, handle, memory_fd, (struct copy){.off = off, .len = len});
	return n < 0 ? n : pread(memory_fd, buf, (size_t)n, 0);
}

/* ---- words ---------------------------------------------------------------------------------- */

int tapir_foreign__fail(int err, const char *path, uint32_t tgid)
{
	const char *why = err == -ETIMEDOUT	? "its file system does not answer"
			  : err == -EMEDIUMTYPE ? "it is not a regular file of an ordinary file "
						  "system"
			  : err == -EFBIG	? "it is too large"
			  : err == -ECANCELED	? "tapir was interrupted"
						: tapir_errno__text(err);
	char of[40] = "";

	if (tgid)
		snprintf(of, sizeof(of), " of process %u", tgid);
	return tapir_diag__fail(err, "cannot read %s%s: %s", path, of, why);
}
