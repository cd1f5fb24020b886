/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slowly [--wait] - serves requests whose time goes where the witness says: each burns, sleeps and
 * waits for a lock that another thread holds while it sleeps. Probes: slowly:request__start(id),
 * slowly:request__done(id), and, around each part, slowly:part__start(name), slowly:part__done.
 *
 * The witness has for each request: its times by this program's own clock.
 */
// build: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>

#include "target.h"

#define REQUESTS 12
#define MS	 1000000u

struct took {
	uint64_t from_ns, until_ns, least_ns, burn_ns, sleep_ns, lock_ns, cpu_ns;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static struct took requests[REQUESTS];
static volatile int holder_tid;
static volatile uint64_t sink;

static __attribute__((noipa)) void burn_cpu(uint64_t ns)
{
	uint64_t end_ns = target__cpu_ns() + ns;

	while (target__cpu_ns() < end_ns)
		for (int i = 0; i < 100000; i++)
			sink += (uint64_t)i;
}

static __attribute__((noipa)) void sleep_a_while(uint64_t ns)
{
	target__sleep_ns(ns);
}

/* Holds the lock for (n + 1) * 10 ms from each barrier on. */
static __attribute__((noipa)) void hold_lock(int n)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&barrier);
	target__sleep_ns((uint64_t)(n % 4 + 1) * 10 * MS);
	pthread_mutex_unlock(&mutex);
}

static void *be_holder(void *unused)
{
	(void)unused;
	holder_tid = (int)gettid();
	for (int n = 0; n < REQUESTS; n++) {
		hold_lock(n);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static __attribute__((noipa)) void take_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noipa)) void serve(int n)
{
	struct took *t = &requests[n];
	uint64_t a, b, c, d, cpu = target__cpu_ns();

	pthread_barrier_wait(&barrier); /* the other one has the lock now */
	t->from_ns = target__now_ns();
	TAPIR_PROBE(slowly, request__start, n);
	a = target__now_ns();
	take_lock();
	b = target__now_ns();
	burn_cpu((uint64_t)(n % 3 + 1) * 5 * MS);
	c = target__now_ns();
	sleep_a_while((uint64_t)(n % 5 + 1) * 4 * MS);
	d = target__now_ns();
	TAPIR_PROBE(slowly, request__done, n);
	t->until_ns = target__now_ns();
	t->least_ns = d - a;
	t->lock_ns = b - a;
	t->burn_ns = c - b;
	t->sleep_ns = d - c;
	t->cpu_ns = target__cpu_ns() - cpu;
	pthread_barrier_wait(&barrier);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	target__start(&argc, argv);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, be_holder, NULL))
		target__die("pthread_create");
	pthread_setname_np(thread, "holder");
	for (int n = 0; n < REQUESTS; n++)
		serve(n);
	pthread_join(thread, NULL);
	printf("{\"tid\": %d, \"holder_tid\": %d, \"requests\": [", (int)gettid(), holder_tid);
	for (int n = 0; n < REQUESTS; n++)
		printf("%s{\"from_ns\": %" PRIu64 ", \"until_ns\": %" PRIu64
		       ", \"least_ns\": %" PRIu64 ", \"lock_ns\": %" PRIu64
		       ", \"burn_ns\": %" PRIu64 ", \"sleep_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
		       "}",
		       n ? ", " : "", requests[n].from_ns, requests[n].until_ns,
		       requests[n].least_ns, requests[n].lock_ns, requests[n].burn_ns,
		       requests[n].sleep_ns, requests[n].cpu_ns);
	printf("]}\n");
	return 0;
}
