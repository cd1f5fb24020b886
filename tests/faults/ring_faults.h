/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_faults.h - the same as faults.c for usdt/, whose calls are raw: it is compiled a second time
 * with this header in front of each source. The table is opened by raw calls at the first call,
 * since the library uses no libc to speak of.
 */
#ifndef TAPIR_TESTS_RING_FAULTS_H
#define TAPIR_TESTS_RING_FAULTS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fault_table.h"
#include "usdt/ring/ring_sys.h"

/* One per library: hidden, common to its sources. */
__attribute__((visibility("hidden"), weak)) struct fault_table *ring_fault_table;
__attribute__((visibility("hidden"), weak)) int ring_fault_opened;

static inline struct fault_table *ring_fault__table(void)
{
	const char *path;
	long fd, at;

	if (__atomic_exchange_n(&ring_fault_opened, 1, __ATOMIC_ACQ_REL))
		return __atomic_load_n(&ring_fault_table, __ATOMIC_ACQUIRE);
	path = getenv(FAULT_ENV);
	fd = path ? ring_sys4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
	if (fd < 0)
		return NULL;
	at = ring_sys6(SYS_mmap, 0, sizeof(struct fault_table), PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);
	ring_sys3(SYS_close, fd, 0, 0);
	if (!ring_sys_failed(at))
		__atomic_store_n(&ring_fault_table, (struct fault_table *)at, __ATOMIC_RELEASE);
	return ring_fault_table;
}

/* Calls whose failure nothing could notice are left alone. */
static inline int ring_fault__may_fail(long nr)
{
	return nr != SYS_close && nr != SYS_munmap && nr != SYS_gettid && nr != SYS_getpid &&
	       nr != SYS_sched_yield && nr != SYS_nanosleep && nr != SYS_futex && nr != SYS_prctl &&
	       nr != SYS_rt_sigprocmask && nr != SYS_tgkill;
}

static inline int ring_fault(long nr, const char *file, int line)
{
	struct fault_table *table = ring_fault_opened ? ring_fault_table : ring_fault__table();
	char name[FAULT_NAME_BYTES] = "";
	uint64_t key = 0xcbf29ce484222325ull ^ (uint64_t)nr;
	unsigned len = 0;

	if (!table || !ring_fault__may_fail(nr))
		return 0;
	for (const char *p = file; *p; p++) {
		len = *p == '/' ? 0 : len;
		if (*p != '/' && len + 8 < sizeof(name))
			name[len++] = *p;
	}
	name[len++] = ':';
	for (int unit = 1000; unit; unit /= 10)
		name[len++] = (char)('0' + line / unit % 10);
	name[len] = '\0';
	for (unsigned i = 0; i < len; i++)
		key = (key ^ (unsigned char)name[i]) * 0x100000001b3ull;
	return fault_table__call(table, key | 1, 0, name);
}

#define ring_sys6(nr, ...)                                                                         \
	({                                                                                         \
		int ring_fault_err_ = ring_fault(nr, __FILE__, __LINE__);                          \
		ring_fault_err_ ? -(long)ring_fault_err_ : ring_sys6(nr, __VA_ARGS__);             \
	})

/* libc's that the library calls; numbers that no system call has. */
#define mmap(...) (ring_fault(10001, __FILE__, __LINE__) ? MAP_FAILED : mmap(__VA_ARGS__))
#define pthread_key_create(...)                                                                    \
	(ring_fault(10002, __FILE__, __LINE__) ? EAGAIN : pthread_key_create(__VA_ARGS__))
#define pthread_setspecific(...)                                                                   \
	(ring_fault(10003, __FILE__, __LINE__) ? ENOMEM : pthread_setspecific(__VA_ARGS__))
#define pthread_create(...)                                                                        \
	(ring_fault(10004, __FILE__, __LINE__) ? EAGAIN : pthread_create(__VA_ARGS__))

#endif
