/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_clock - what a time stamp costs between other instructions, and whether it is one: two
 * threads take a mutex in turn, and whoever has it takes a stamp. A stamp before that of the
 * previous owner would show an event before its cause. clock_gettime is what the ring lane uses;
 * the time stamp counter is read with what the kernel puts before it (lfence) and without. x86_64
 * alone; as JSON, for lib.py.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef __x86_64__

#define ROUNDS 200
#define STAMPS 20000
#define WORK   12 /* stores between two stamps: about what an event writes */
#define OWNERS 10000000

enum clock_kind { BY_KERNEL, BY_TSC, BY_TSC_IN_ORDER, NONE };

static uint64_t words[1024];

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline __attribute__((always_inline)) uint64_t stamp(enum clock_kind kind)
{
	if (kind == BY_KERNEL)
		return now_ns();
	if (kind == BY_TSC_IN_ORDER)
		__builtin_ia32_lfence();
	return kind == NONE ? 0 : __builtin_ia32_rdtsc();
}

/* ---- cost --------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) double least_ns(enum clock_kind kind)
{
	double least = 1e9;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = now_ns();
		double ns;

		for (unsigned i = 0; i < STAMPS; i++) {
			for (unsigned k = 0; k < WORK; k++)
				words[(i * WORK + k) % 1024] += i ^ k;
			words[i % 1024] = stamp(kind);
			__asm__ volatile("" : : : "memory");
		}
		ns = (double)(now_ns() - begin) / STAMPS;
		least = ns < least ? ns : least;
	}
	return least;
}

/* ---- order -------------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t mutex;
	uint64_t (*stamp)(void);
	uint64_t last, inversion_cnt, worst;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static uint64_t by_kernel(void)
{
	return stamp(BY_KERNEL);
}

static uint64_t by_tsc(void)
{
	return stamp(BY_TSC);
}

static uint64_t by_tsc_in_order(void)
{
	return stamp(BY_TSC_IN_ORDER);
}

static void *own_in_turn(void *unused)
{
	for (unsigned i = 0; i < OWNERS; i++) {
		uint64_t now;

		pthread_mutex_lock(&shared.mutex);
		now = shared.stamp();
		if (now < shared.last) {
			shared.inversion_cnt++;
			if (shared.last - now > shared.worst)
				shared.worst = shared.last - now;
		}
		shared.last = now;
		pthread_mutex_unlock(&shared.mutex);
		for (volatile unsigned k = 0; k < i % 16;)
			k = k + 1;
	}
	return unused;
}

static int report(const char *what, double ns, uint64_t (*stamped)(void))
{
	pthread_t threads[2];

	shared.stamp = stamped;
	shared.last = shared.inversion_cnt = shared.worst = 0;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, own_in_turn, NULL))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"clock\": \"%s\", \"ns\": %.1f, \"owners\": %u, \"inversions\": %lu, "
	       "\"worst\": %lu}\n",
	       what, ns, 2 * OWNERS, (unsigned long)shared.inversion_cnt,
	       (unsigned long)shared.worst);
	return 0;
}

int main(void)
{
	double none = least_ns(NONE);

	return report("clock_gettime", least_ns(BY_KERNEL) - none, by_kernel) ||
	       report("TSC in order", least_ns(BY_TSC_IN_ORDER) - none, by_tsc_in_order) ||
	       report("TSC", least_ns(BY_TSC) - none, by_tsc);
}

#else

int main(void)
{
	return 0;
}

#endif
