/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shorts [--wait] ROUNDS NAPS - two threads hand a byte to each other, so that each waits for the
 * other ROUNDS times, mostly for some microseconds; one of them also sleeps NAPS times for 3 ms.
 *
 * The witness has what the kernel counted of each of the two before it ended: how often it left its
 * CPU of its own will and not (status), for how long it ran, and waited for a CPU (schedstat).
 */
// build: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>

#include "target.h"

#define NAP_NS 3000000u

static int pipes[2][2];
static long rounds, naps;

struct worker {
	int idx, tid;
	long voluntary, involuntary;
	uint64_t run_ns, delay_ns;
};

static FILE *open_of_thread(const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file)
		target__die(path);
	return file;
}

static void read_counts(struct worker *w)
{
	FILE *status = open_of_thread("/proc/thread-self/status");
	FILE *schedstat = open_of_thread("/proc/thread-self/schedstat");
	char line[128];

	if (fscanf(schedstat, "%" SCNu64 " %" SCNu64, &w->run_ns, &w->delay_ns) != 2)
		target__die("schedstat");
	while (fgets(line, sizeof(line), status)) {
		sscanf(line, "voluntary_ctxt_switches: %ld", &w->voluntary);
		sscanf(line, "nonvoluntary_ctxt_switches: %ld", &w->involuntary);
	}
	fclose(status);
	fclose(schedstat);
}

static __attribute__((noipa)) void nap(void)
{
	target__sleep_ns(NAP_NS);
}

static void *hand_over(void *arg)
{
	struct worker *w = arg;
	char byte = 'x';

	w->tid = (int)gettid();
	for (long i = 0; i < rounds; i++) {
		if (!w->idx && naps && i % (rounds / naps) == 0)
			nap();
		if (w->idx && read(pipes[0][0], &byte, 1) != 1)
			target__die("read");
		if (write(pipes[w->idx][1], &byte, 1) != 1)
			target__die("write");
		if (!w->idx && read(pipes[1][0], &byte, 1) != 1)
			target__die("read");
	}
	read_counts(w);
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker workers[2] = {{.idx = 0}, {.idx = 1}};
	pthread_t threads[2];

	target__start(&argc, argv);
	rounds = target__number(argc, argv, 1, 10000);
	naps = target__number(argc, argv, 2, 50);
	for (int i = 0; i < 2; i++)
		if (pipe(pipes[i]))
			target__die("pipe");
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, hand_over, &workers[i]))
			target__die("pthread_create");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"naps\": %ld, \"threads\": [", naps);
	for (int i = 0; i < 2; i++)
		printf("%s{\"tid\": %d, \"voluntary\": %ld, \"involuntary\": %ld, \"run_ns\": %" PRIu64
		       ", \"delay_ns\": %" PRIu64 "}",
		       i ? ", " : "", workers[i].tid, workers[i].voluntary, workers[i].involuntary,
		       workers[i].run_ns, workers[i].delay_ns);
	printf("]}\n");
	return 0;
}
