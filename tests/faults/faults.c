// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * faults.c - makes one call of one call site of tapir fail. Linked into build/faults/tapir with
 * --wrap for each function below, so that calls from tapir's own code come here; libraries keep
 * libc's. syscall(2) is exported instead, so that libbpf's bpf() calls come here, too: "libbpf bpf
 * CMD+1".
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include "fault_table.h"
#include "user/base/exhaustion.h"
#include "usdt/ring/ring_sys.h"

#define FROM	     ((uint64_t)(uintptr_t)__builtin_return_address(0))
#define IN_LIBRARY   (1ull << 40)
#define CALL_FROM(f) fault(f, 0, FROM)

extern const char __ehdr_start[];
extern const char __etext[];

static struct fault_table *table;

static __attribute__((constructor)) void open_table(void)
{
	const char *path = getenv(FAULT_ENV);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED
			  : mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	table = at == MAP_FAILED ? NULL : at;
}

/* FNV-1a, of what tells two calls on one line apart. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ull;
	return h;
}

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *unused)
{
	uint64_t at = (uint64_t)_Unwind_GetIP(context) - (uint64_t)(uintptr_t)__ehdr_start;

	(void)unused;
	table->frames[table->frame_cnt++] = at;
	return table->frame_cnt < FAULT_FRAME_CNT ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static int fault(const char *name, long nr, uint64_t from)
{
	uint64_t base = (uint64_t)(uintptr_t)__ehdr_start;
	bool is_own = from >= base && from < (uint64_t)(uintptr_t)__etext;
	char text[FAULT_NAME_BYTES];
	int err;

	if (!table)
		return 0;
	from = is_own ? from - base : IN_LIBRARY;
	snprintf(text, sizeof(text), nr ? "%s%s %ld" : "%s%s", is_own ? "" : "libbpf ", name, nr);
	err = fault_table__call(table, (hash(text) ^ from * 0x9e3779b97f4a7c15ull) | 1, from, text);
	if (!err)
		return 0;
	_Unwind_Backtrace(add_frame, NULL);
	errno = err;
	return err;
}

static bool is_starved(const char *name, uint64_t from)
{
	if (!fault(name, 0, from))
		return false;
	tapir_exhaustion__note(errno); /* as base/exhaustion_wrap.c, in whose place this is */
	return true;
}

/* A function that fails with `fails` and errno. */
#define WRAP(type, name, fails, params, args)                                                      \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		return CALL_FROM(#name) ? (fails) : __real_##name args;                            \
	}

/* The same, of a function whose failures base/exhaustion_wrap.c counts. */
#define WRAP_COUNTED(type, name, fails, params, args)                                              \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		return is_starved(#name, FROM) ? (fails) : __real_##name args;                     \
	}

/* clang-format off */
WRAP_COUNTED(void *, malloc, NULL, (size_t n), (n))
WRAP_COUNTED(void *, calloc, NULL, (size_t n, size_t m), (n, m))
WRAP_COUNTED(void *, realloc, NULL, (void *p, size_t n), (p, n))
WRAP_COUNTED(void *, reallocarray, NULL, (void *p, size_t n, size_t m), (p, n, m))
WRAP_COUNTED(char *, strdup, NULL, (const char *s), (s))
WRAP_COUNTED(char *, strndup, NULL, (const char *s, size_t n), (s, n))
WRAP(int, vasprintf, -1, (char **out, const char *fmt, va_list ap), (out, fmt, ap))
WRAP(char *, realpath, NULL, (const char *path, char *out), (path, out))
WRAP(ssize_t, __getdelim, -1, (char **line, size_t *cap, int end, FILE *f), (line, cap, end, f))

WRAP_COUNTED(FILE *, fopen, NULL, (const char *path, const char *mode), (path, mode))
WRAP_COUNTED(DIR *, opendir, NULL, (const char *path), (path))
WRAP_COUNTED(DIR *, fdopendir, NULL, (int fd), (fd))
WRAP(struct dirent *, readdir, NULL, (DIR *dir), (dir))
WRAP(ssize_t, read, -1, (int fd, void *at, size_t n), (fd, at, n))
WRAP(ssize_t, pread, -1, (int fd, void *at, size_t n, off_t off), (fd, at, n, off))
WRAP(ssize_t, write, -1, (int fd, const void *at, size_t n), (fd, at, n))
WRAP(ssize_t, pwrite, -1, (int fd, const void *at, size_t n, off_t off), (fd, at, n, off))
WRAP(ssize_t, writev, -1, (int fd, const struct iovec *v, int n), (fd, v, n))
WRAP(ssize_t, process_vm_readv, -1, (pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from,
                                     unsigned long m, unsigned long flags), (pid, to, n, from, m, flags))
WRAP(int, fstat, -1, (int fd, struct stat *out), (fd, out))
WRAP(int, ftruncate, -1, (int fd, off_t n), (fd, n))
WRAP(int, rename, -1, (const char *from, const char *to), (from, to))
WRAP(int, renameat2, -1, (int a, const char *from, int b, const char *to, unsigned flags), (a, from, b, to, flags))
WRAP(int, mkdirat, -1, (int at, const char *path, mode_t mode), (at, path, mode))
WRAP(char *, mkdtemp, NULL, (char *path), (path))
WRAP(int, fchmod, -1, (int fd, mode_t mode), (fd, mode))
WRAP(int, fchown, -1, (int fd, uid_t uid, gid_t gid), (fd, uid, gid))

WRAP(void *, mmap, MAP_FAILED, (void *at, size_t n, int prot, int flags, int fd, off_t off), (at, n, prot, flags, fd, off))
WRAP_COUNTED(int, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
WRAP_COUNTED(int, eventfd, -1, (unsigned n, int flags), (n, flags))
WRAP(int, epoll_create1, -1, (int flags), (flags))
WRAP(int, epoll_ctl, -1, (int fd, int op, int of, void *event), (fd, op, of, event))
WRAP(int, signalfd, -1, (int fd, const void *set, int flags), (fd, set, flags))
WRAP_COUNTED(int, pipe2, -1, (int fds[2], int flags), (fds, flags))
WRAP(int, dup2, -1, (int fd, int to), (fd, to))
WRAP_COUNTED(int, socket, -1, (int domain, int type, int protocol), (domain, type, protocol))
WRAP_COUNTED(int, socketpair, -1, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds))
WRAP(int, bind, -1, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
WRAP(int, listen, -1, (int fd, int n), (fd, n))
WRAP(int, connect, -1, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
WRAP(int, accept4, -1, (int fd, void *from, void *n, int flags), (fd, from, n, flags))
WRAP(ssize_t, send, -1, (int fd, const void *at, size_t n, int flags), (fd, at, n, flags))
WRAP(ssize_t, sendmsg, -1, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
WRAP(ssize_t, recvmsg, -1, (int fd, struct msghdr *m, int flags), (fd, m, flags))
WRAP(pid_t, fork, -1, (void), ())

WRAP(int, bpf_map_create, -errno, (enum bpf_map_type type, const char *name, __u32 key, __u32 value, __u32 max,
                                   const struct bpf_map_create_opts *opts), (type, name, key, value, max, opts))
WRAP(int, bpf_prog_load, -errno, (enum bpf_prog_type type, const char *name, const char *license, const struct bpf_insn *insns,
                                  size_t cnt, struct bpf_prog_load_opts *opts), (type, name, license, insns, cnt, opts))
WRAP(int, bpf_link_create, -errno, (int prog, int target, enum bpf_attach_type type, const struct bpf_link_create_opts *opts),
     (prog, target, type, opts))
WRAP(int, bpf_map_update_elem, -errno, (int fd, const void *key, const void *value, __u64 flags), (fd, key, value, flags))
WRAP(int, bpf_map_delete_elem, -errno, (int fd, const void *key), (fd, key))
WRAP(int, bpf_map_lookup_elem, -errno, (int fd, const void *key, void *value), (fd, key, value))
WRAP(int, bpf_obj_get_info_by_fd, -errno, (int fd, void *info, __u32 *n), (fd, info, n))
WRAP(int, bpf_object__open_skeleton, -errno, (struct bpf_object_skeleton *s, const struct bpf_object_open_opts *opts), (s, opts))
WRAP(int, bpf_object__load_skeleton, -errno, (struct bpf_object_skeleton *s), (s))
WRAP(struct bpf_link *, bpf_program__attach, NULL, (const struct bpf_program *prog), (prog))
WRAP(struct btf *, btf__new_empty, NULL, (void), ())
WRAP(int, btf__load_into_kernel, -errno, (struct btf *btf), (btf))
/* clang-format on */

int __wrap_open(const char *path, int flags, int mode);
int __real_open(const char *path, int flags, int mode);
int __wrap_open(const char *path, int flags, int mode)
{
	return is_starved("open", FROM) ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int at, const char *path, int flags, int mode);
int __real_openat(int at, const char *path, int flags, int mode);
int __wrap_openat(int at, const char *path, int flags, int mode)
{
	return is_starved("openat", FROM) ? -1 : __real_openat(at, path, flags, mode);
}

int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	return CALL_FROM("ioctl") ? -1 : __real_ioctl(fd, request, arg);
}

int __wrap_asprintf(char **out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **out, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (is_starved("asprintf", FROM))
		return -1;
	va_start(ap, fmt);
	n = __real_vasprintf(out, fmt, ap);
	va_end(ap);
	return n;
}

long __wrap_ptrace(int request, pid_t pid, void *addr, void *data);
long __real_ptrace(int request, pid_t pid, void *addr, void *data);
long __wrap_ptrace(int request, pid_t pid, void *addr, void *data)
{
	return fault("ptrace", request + 1, FROM) ? -1 : __real_ptrace(request, pid, addr, data);
}

int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __real_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	int err = CALL_FROM("pthread_create");

	return err ? err : __real_pthread_create(out, attr, run, arg);
}

/* Of the raw system calls, those that can fail in practice. */
static const char *raw_name(long nr)
{
	switch (nr) {
	case SYS_bpf:
		return "bpf";
	case SYS_openat2:
		return "openat2";
	case SYS_perf_event_open:
		return "perf_event_open";
	case SYS_pidfd_open:
		return "pidfd_open";
	case SYS_clone3:
		return "clone3";
	case SYS_setgroups:
		return "setgroups";
	case SYS_setresuid:
		return "setresuid";
	case SYS_setresgid:
		return "setresgid";
	case SYS_getdents64:
		return "getdents64";
	case SYS_statx:
		return "statx";
	default:
		return NULL;
	}
}

long syscall(long nr, ...);
long syscall(long nr, ...)
{
	const char *name = raw_name(nr);
	va_list ap;
	long a[6], ret;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	/* libbpf names bpf() by its command. */
	if (name && fault(name, nr == SYS_bpf ? a[0] + 1 : 0, FROM))
		return -1;
	ret = ring_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!ring_sys_failed(ret))
		return ret;
	errno = (int)-ret;
	return -1;
}
