/* SPDX-License-Identifier: MIT */
/*
 * ring_sys.h - raw system calls. What an event may need the first time it fires in a thread must
 * work in a signal handler that interrupted malloc: so no libc, no errno, no cancellation point.
 * Each returns what the kernel returned: a value, or -errno.
 */
#ifndef TAPIR_RING_SYS_H
#define TAPIR_RING_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long ring_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	/*
	 * The instruction keeps rip in rcx and rflags in r11, so that the kernel takes the fourth
	 * argument from r10 instead of rcx.
	 */
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "usdt/ring: knows x86_64 and aarch64 only"
#endif
}

#define ring_sys3(nr, a, b, c)	  ring_sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define ring_sys4(nr, a, b, c, d) ring_sys6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* Beyond RLIMIT_FSIZE ftruncate does not only fail: the program is ended, by SIGXFSZ. */
static inline int ring_sys_file_may_have(uint64_t bytes)
{
	uint64_t limits[2] = {UINT64_MAX, UINT64_MAX}; /* the soft one first */

	ring_sys4(SYS_prlimit64, 0, 1 /* RLIMIT_FSIZE */, 0, limits);
	return limits[0] >= bytes;
}

/* Failed results of mmap and others: the last page of the address space. */
static inline int ring_sys_failed(long ret)
{
	return (unsigned long)ret > -4096UL;
}

#endif
