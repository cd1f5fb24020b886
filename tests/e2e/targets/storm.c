/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * storm [--wait | --wait-attached] RATE COUNT [THREADS] - each thread fires
 * storm:hit(thread, i, i * 3, -i, text) COUNT times, RATE a second or, with 0, flat out.
 * text is 16 characters. --wait-attached continues when a tracer has raised the semaphore.
 */
#include <pthread.h>

#include "target.h"

#define MAX_THREADS 64

TAPIR_PROBE_DEFINE_SEMAPHORE(storm, hit);

struct worker {
	pthread_t thread;
	int idx;
	uint64_t elapsed_ns;
};

static long rate;
static long hits;

static void *run(void *argument)
{
	struct worker *worker = argument;
	char text[17];
	uint64_t start_ns = target__now_ns();

	snprintf(text, sizeof(text), "storm-thread-%03d", worker->idx);
	for (long i = 0; i < hits; i++) {
		TAPIR_PROBE_SEM(storm, hit, worker->idx, (int)i, (int)i * 3, (int)-i, text);
		/* Paced in bursts of a millisecond: a sleep per event would limit the rate. */
		if (rate && (i + 1) % (rate < 1000 ? 1 : rate / 1000) == 0) {
			uint64_t due_ns =
				start_ns + (uint64_t)(i + 1) * 1000000000u / (uint64_t)rate;
			uint64_t now_ns = target__now_ns();

			if (due_ns > now_ns)
				target__sleep_ns(due_ns - now_ns);
		}
	}
	worker->elapsed_ns = target__now_ns() - start_ns;
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	bool wait_attached = target__option(&argc, argv, "--wait-attached");
	long thread_cnt;
	uint64_t sum_ns = 0;

	target__start(&argc, argv);
	rate = target__number(argc, argv, 1, 0);
	hits = target__number(argc, argv, 2, 1000);
	thread_cnt = target__number(argc, argv, 3, 1);
	if (rate < 0 || thread_cnt < 1 || thread_cnt > MAX_THREADS)
		return 2;
	while (wait_attached && !TAPIR_PROBE_ENABLED(storm, hit))
		target__sleep_ns(1000000);
	if (wait_attached) /* without uprobe_multi the program follows the semaphore: links.h */
		target__sleep_ns(100 * 1000000);

	for (int t = 0; t < thread_cnt; t++) {
		workers[t].idx = t;
		if (pthread_create(&workers[t].thread, NULL, run, &workers[t]) != 0)
			target__die("pthread_create");
	}
	for (int t = 0; t < thread_cnt; t++) {
		pthread_join(workers[t].thread, NULL);
		sum_ns += workers[t].elapsed_ns;
	}
	printf("{\"fired\": %ld, \"threads\": %ld, \"fired_per_thread\": %ld, \"ns_per_event\": "
	       "%.1f}\n",
	       hits * thread_cnt, thread_cnt, hits,
	       hits ? (double)sum_ns / (double)(hits * thread_cnt) : 0.0);
	return 0;
}
