/* SPDX-License-Identifier: MIT */
/*
 * spanhostile [--wait] MS - threads (each burns MS of CPU time) whose otel_thread_ctx_v1 leads to
 * what no reader may trust: itself, unmapped and kernel addresses, the end of a page, a record that
 * is not valid, one with 65,535 bytes of attributes (its ids are right), one that another thread
 * changes all the time. The last line names them.
 */
// build: -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "span.h"
#include "target.h"

static uint64_t burn_ns;
static atomic_bool has_ended;
static volatile uint64_t sink;
static struct span_record huge, torn, invalid;

static void *flip(void *argument)
{
	(void)argument;
	while (!atomic_load(&has_ended))
		for (int i = 0; i < 1000; i++) {
			memset((void *)torn.trace_id, i % 2 ? 0x11 : 0x22, 16);
			*(volatile uint8_t *)&torn.valid = i % 3 ? 1 : 0;
		}
	return NULL;
}

static void *end_of_page(void)
{
	char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || munmap(at + 4096, 4096))
		target__die("mmap");
	memset(at, 1, 4096);
	return at + 4096 - 26; /* `valid` is there, the rest of the record is not */
}

static struct worker {
	const char *name;
	pthread_t thread;
	long tid;
} workers[] = {{.name = "itself"},  {.name = "unmapped"}, {.name = "kernel"}, {.name = "pageend"},
	       {.name = "invalid"}, {.name = "huge"},	  {.name = "torn"}};

#define WORKERS (sizeof(workers) / sizeof(workers[0]))

static void *work(void *argument)
{
	struct worker *w = argument;
	const char *name = w->name;

	w->tid = syscall(SYS_gettid);
	if (!strcmp(name, "itself"))
		otel_thread_ctx_v1 = (void *)&otel_thread_ctx_v1;
	else if (!strcmp(name, "unmapped"))
		otel_thread_ctx_v1 = (void *)0x10;
	else if (!strcmp(name, "kernel"))
		otel_thread_ctx_v1 = (void *)0xffffffff81000000;
	else if (!strcmp(name, "pageend"))
		otel_thread_ctx_v1 = end_of_page();
	else if (!strcmp(name, "invalid"))
		otel_thread_ctx_v1 = &invalid;
	else if (!strcmp(name, "huge"))
		otel_thread_ctx_v1 = &huge;
	else
		otel_thread_ctx_v1 = &torn;
	while (target__cpu_ns() < burn_ns)
		for (int i = 0; i < 2000; i++)
			sink += (uint64_t)i;
	otel_thread_ctx_v1 = NULL;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t flipper;

	target__start(&argc, argv);
	memset(&huge, 0x77, sizeof(huge));
	huge.valid = 1;
	huge.attrs_bytes = 65535;
	memset(&invalid, 0x55, sizeof(invalid));
	burn_ns = (uint64_t)target__number(argc, argv, 1, 30) * 1000000u;
	if (pthread_create(&flipper, NULL, flip, NULL))
		target__die("pthread_create");
	for (size_t i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			target__die("pthread_create");
	for (size_t i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	atomic_store(&has_ended, true);
	pthread_join(flipper, NULL);
	for (size_t i = 0; i < WORKERS; i++)
		printf("%s\"%s\": %ld", i ? ", " : "{", workers[i].name, workers[i].tid);
	printf("}\n");
	return 0;
}
