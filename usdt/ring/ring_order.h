/* SPDX-License-Identifier: MIT */
/*
 * ring_order.h - reports to the thread sanitizer of a program what orders memory in a library that
 * was not compiled with it: it sees neither our atomic operations nor our system calls, but does
 * see the memory that libc's functions copy for us, and takes what we pass from thread to thread
 * for a race. One test of an address that is NULL without the sanitizer.
 */
#ifndef TAPIR_RING_ORDER_H
#define TAPIR_RING_ORDER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__) || defined(TAPIR_RING_NO_TLS)
/* The sanitizer sees everything, or is never present. */
#define order_release(at) ((void)(at))
#define order_acquire(at) ((void)(at))
#else
extern void __tsan_release(void *at) __attribute__((weak));
extern void __tsan_acquire(void *at) __attribute__((weak));

/* Orders what this thread has done before the store to `at` that follows ... */
static inline void order_release(const volatile void *at)
{
	if (__builtin_expect(__tsan_release != NULL, 0))
		__tsan_release((void *)(uintptr_t)at);
}

/* ... and before what a thread does that has loaded it. */
static inline void order_acquire(const volatile void *at)
{
	if (__builtin_expect(__tsan_acquire != NULL, 0))
		__tsan_acquire((void *)(uintptr_t)at);
}
#endif

#endif
