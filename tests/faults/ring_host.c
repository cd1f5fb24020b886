/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_host COUNT THREADS - a program with a ring lane that also works without one. It waits up to
 * half a second until host:tick is wanted, then fires host:tick(thread, i) COUNT times a thread and
 * prints how often it fired and how often the lane took the event. Built twice: with the library as
 * it is, and with one whose calls fail.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usdt/ring/ring_writer.h"

#define MAX_THREADS 8

static const struct tapir_field fields[] = {{.type = TAPIR_FIELD_UINT, .size = 8},
					    {.type = TAPIR_FIELD_UINT, .size = 8}};
static const char *const field_names[] = {"thread", "i"};
static const struct tapir_ring_about about = {
	.provider = "host",
	.event = "tick",
	.level = 4,
	.encoding = TAPIR_ENCODING_SLOTS,
	.field_cnt = 2,
	.fields = fields,
	.field_names = field_names,
};
static struct tapir_ring_event event;
static long hits, taken[MAX_THREADS];

static void *run(void *arg)
{
	uint64_t payload[2] = {(uintptr_t)arg, 0};
	struct tapir_ring_write write;

	for (; (long)payload[1] < hits; payload[1]++) {
		if (!tapir_ring__begin(&write, &event, sizeof(payload)))
			continue;
		memcpy(write.payload, payload, sizeof(payload));
		tapir_ring__commit(&write);
		taken[(uintptr_t)arg]++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long thread_cnt = argc > 2 ? strtol(argv[2], NULL, 10) : 1, sum = 0, waited = 0;
	int err = tapir_ring__init(), registered = tapir_ring__register(&event, &about);
	pthread_t threads[MAX_THREADS];

	hits = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
	if (thread_cnt < 1 || thread_cnt > MAX_THREADS)
		return 2;
	printf("pid %d\n", (int)getpid());
	fflush(stdout);
	for (; waited < 500 && !tapir_ring__wanted(&event); waited++)
		usleep(1000);
	for (long i = 0; i < thread_cnt; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 3;
	for (long i = 0; i < thread_cnt; i++)
		pthread_join(threads[i], NULL);
	for (long i = 0; i < thread_cnt; i++)
		sum += taken[i];
	printf("{\"fired\": %ld, \"taken\": %ld, \"wanted\": %d, \"init\": %d, \"register\": %d}\n",
	       hits * thread_cnt, sum, waited < 500, err, registered);
	tapir_ring__fini();
	return 0;
}
