// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * calls - calls functions that return, that longjmp(3) out of, and that call themselves, and counts
 * them.
 *
 *	calls [--wait] THREADS CALLS
 *
 * Each thread calls calls_deep(DEPTH) CALLS times: at each level it calls itself, at the last one
 * calls_jump(), which leaves every third time without returning, through calls_between(), and fires
 * calls:bottom from it. One more thread ends inside of calls_last(). The last line is what all of
 * them did, as JSON.
 */
#include <setjmp.h>

#include "target.h"

#define DEPTH 9

static uint64_t call_cnt;

struct thread {
	jmp_buf back;
	uint64_t deep, returned, jumped, sum;
};

__attribute__((noipa)) uint64_t calls_jump(struct thread *t, uint64_t number);
__attribute__((noipa)) uint64_t calls_between(struct thread *t, uint64_t number);
__attribute__((noipa)) uint64_t calls_deep(struct thread *t, uint64_t level, uint64_t number);
__attribute__((noipa)) void calls_last(void);

uint64_t calls_jump(struct thread *t, uint64_t number)
{
	TAPIR_PROBE(calls, bottom, number);
	if (number % 3 == 0)
		longjmp(t->back, 1);
	return 2 * number;
}

uint64_t calls_between(struct thread *t, uint64_t number)
{
	return calls_jump(t, number) + 1;
}

uint64_t calls_deep(struct thread *t, uint64_t level, uint64_t number)
{
	t->deep++;
	if (level)
		return calls_deep(t, level - 1, number) + 1;
	if (setjmp(t->back)) {
		t->jumped++;
		return 0;
	}
	t->sum += calls_between(t, number) - 1;
	t->returned++;
	return 1;
}

void calls_last(void)
{
	pthread_exit(NULL);
}

static void *run(void *arg)
{
	struct thread *t = arg;

	for (uint64_t i = 0; i < call_cnt; i++)
		calls_deep(t, DEPTH, i);
	return NULL;
}

static void *end_within(void *arg)
{
	calls_last();
	return arg;
}

int main(int argc, char **argv)
{
	static struct thread threads[TARGET_MAX_THREADS];
	struct thread all = {};
	pthread_t last;
	long thread_cnt;

	target__start(&argc, argv);
	thread_cnt = target__number(argc, argv, 1, 1);
	call_cnt = (uint64_t)target__number(argc, argv, 2, 100);
	if (pthread_create(&last, NULL, end_within, NULL))
		return 1;
	pthread_join(last, NULL);
	if (!target__run_threads(run, threads, sizeof(*threads), thread_cnt))
		return 2;
	for (long i = 0; i < thread_cnt; i++) {
		all.deep += threads[i].deep;
		all.returned += threads[i].returned;
		all.jumped += threads[i].jumped;
		all.sum += threads[i].sum;
	}
	printf("{\"deep\": %" PRIu64 ", \"returned\": %" PRIu64 ", \"jumped\": %" PRIu64
	       ", \"sum\": %" PRIu64 "}\n",
	       all.deep, all.returned, all.jumped, all.sum);
	return 0;
}
