/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nonleader [--wait] COUNT - fires nonleader:hit(i) COUNT times from a thread that is not the
 * process's first one, which fires nothing.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "target.h"

static long hits;
static int tid;

static void *run(void *unused)
{
	(void)unused;
	tid = (int)syscall(SYS_gettid);
	for (long i = 0; i < hits; i++)
		TAPIR_PROBE(nonleader, hit, i);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	target__start(&argc, argv);
	hits = target__number(argc, argv, 1, 1);
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		target__die("pthread_create");
	pthread_join(thread, NULL);
	printf("{\"fired\": %ld, \"pid\": %d, \"tid\": %d}\n", hits, (int)getpid(), tid);
	return 0;
}
