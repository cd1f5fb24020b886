/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * depth [--wait] N COUNT [THREADS] - fires depth:hit(thread, i) COUNT times a thread below N
 * functions d1 .. dN. The stack reads, leaf first: bottom, dN .. d1, fire_at. N is 1 to 600,
 * more than a recorded stack holds.
 */
#include <pthread.h>

#include "target.h"

#define MAX_DEPTH 600

typedef void (*step_fn)(int thread, long i);
static int depth = 1;

__attribute__((noipa)) void bottom(int thread, long i);
__attribute__((noipa)) void bottom(int thread, long i)
{
	TAPIR_PROBE(depth, hit, thread, i);
}

/* A call in the middle of a function of its own name: no tail call, no clone, no merging. */
#define STEP(n)                                                                                    \
	__attribute__((noipa)) void d##n(int thread, long i);                                      \
	__attribute__((noipa)) void d##n(int thread, long i)                                       \
	{                                                                                          \
		if (depth == n)                                                                    \
			bottom(thread, i);                                                         \
		else                                                                               \
			steps[n](thread, i);                                                       \
		__asm__ __volatile__("" : : "i"(n) : "memory");                                    \
	}

extern const step_fn steps[MAX_DEPTH + 1];

#define TEN(t)                                                                                     \
	STEP(t##1)                                                                                 \
	STEP(t##2)                                                                                 \
	STEP(t##3)                                                                                 \
	STEP(t##4)                                                                                 \
	STEP(t##5)                                                                                 \
	STEP(t##6)                                                                                 \
	STEP(t##7)                                                                                 \
	STEP(t##8)                                                                                 \
	STEP(t##9)
/* clang-format off */
#define TENS(T)                                                                                    \
	T()                                                                                        \
	T(1)                                                                                       \
	T(2) T(3) T(4) T(5) T(6) T(7) T(8) T(9) T(10) T(11) T(12) T(13) T(14) T(15) T(16) T(17)    \
		T(18) T(19) T(20) T(21) T(22) T(23) T(24) T(25) T(26) T(27) T(28) T(29) T(30)      \
			T(31) T(32) T(33) T(34) T(35) T(36) T(37) T(38) T(39) T(40) T(41) T(42)    \
				T(43) T(44) T(45) T(46) T(47) T(48) T(49) T(50) T(51) T(52) T(53)  \
					T(54) T(55) T(56) T(57) T(58) T(59)

TENS(TEN)
#define ROUND(X)                                                                                   \
	X(10)                                                                                      \
	X(20) X(30) X(40) X(50) X(60) X(70) X(80) X(90) X(100) X(110) X(120) X(130) X(140) X(150)  \
		X(160) X(170) X(180) X(190) X(200) X(210) X(220) X(230) X(240) X(250) X(260)       \
			X(270) X(280) X(290) X(300) X(310) X(320) X(330) X(340) X(350) X(360)      \
				X(370) X(380) X(390) X(400) X(410) X(420) X(430) X(440) X(450)     \
					X(460) X(470) X(480) X(490) X(500) X(510) X(520) X(530)    \
						X(540) X(550) X(560) X(570) X(580) X(590) X(600)
/* clang-format on */
ROUND(STEP)

/* steps[n] is d(n + 1). */
#define AT(n)	  [n - 1] = d##n,
#define AT_TEN(t) AT(t##1) AT(t##2) AT(t##3) AT(t##4) AT(t##5) AT(t##6) AT(t##7) AT(t##8) AT(t##9)
const step_fn steps[MAX_DEPTH + 1] = {TENS(AT_TEN) ROUND(AT)};

static long hits;

__attribute__((noipa)) void fire_at(int thread, long i);
__attribute__((noipa)) void fire_at(int thread, long i)
{
	steps[0](thread, i);
	__asm__ __volatile__("" : : : "memory");
}

static void *run(void *argument)
{
	int thread = (int)(intptr_t)argument;

	for (long i = 0; i < hits; i++)
		fire_at(thread, i);
	return NULL;
}

int main(int argc, char **argv)
{
	long thread_cnt;

	target__start(&argc, argv);
	depth = (int)target__number(argc, argv, 1, 10);
	hits = target__number(argc, argv, 2, 1);
	thread_cnt = target__number(argc, argv, 3, 0);
	if (depth < 1 || depth > MAX_DEPTH || thread_cnt < 0 || thread_cnt > 64)
		return 2;

	if (thread_cnt == 0) {
		run(NULL);
	} else {
		pthread_t threads[64];

		for (long t = 0; t < thread_cnt; t++)
			if (pthread_create(&threads[t], NULL, run, (void *)t) != 0)
				target__die("pthread_create");
		for (long t = 0; t < thread_cnt; t++)
			pthread_join(threads[t], NULL);
	}
	printf("{\"depth\": %d, \"fired\": %ld}\n", depth, hits * (thread_cnt ? thread_cnt : 1));
	return 0;
}
