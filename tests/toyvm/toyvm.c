/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * toyvm [--wait] [--lttng LIBRARY] REQUESTS - a virtual machine as small as one can be that has
 * what is traced in real ones: two threads that serve REQUESTS requests, a thread that compiles
 * methods, and a collector in a library of its own (gccollector, in the targets' directory next to
 * this one). Its events are those of ToyVM.man; the collector adds its own. It listens to itself:
 * the last line has what was fired and what its listener received. With --wait it starts at
 * SIGUSR1.
 */
#include <pthread.h>

#include "ToyVM.h"
#include "tapir/activity.h"
#include "tapir/listener.h"
#include "tapir/logger.h"
#include "tests/e2e/targets/gc_example.h"
#include "tests/e2e/targets/target.h"

#define VM	     "Tapir-Toy-VM"
#define SERVERS	     2
#define METHOD_EVERY 10 /* requests: one of them runs a method that was never compiled */
#define GC_EVERY     20
#define GARBAGE	     100 /* objects of a collection, of which 10 are alive */
#define EVENT_KINDS  8

static struct tapir_gc_host *host;
static struct gc_functions gc;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER, work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_came = PTHREAD_COND_INITIALIZER;
static uint64_t to_compile, next_request, request_cnt;
static bool has_ended;

static struct {
	const char *name;
	uint64_t fired, heard;
} kinds[EVENT_KINDS] = {{"RequestStart", 0, 0}, {"RequestStop", 0, 0}, {"MethodCompiled", 0, 0},
			{"GCStart", 0, 0},	{"GCEnd", 0, 0},       {"Swept", 0, 0}};

static void count_fired(unsigned kind)
{
	__atomic_fetch_add(&kinds[kind].fired, 1, __ATOMIC_RELAXED);
}

static void hear(const struct tapir_event_record *record, void *ctx)
{
	(void)ctx;
	for (unsigned i = 0; i < EVENT_KINDS && kinds[i].name; i++)
		if (!strcmp(record->kind->about->name, kinds[i].name))
			kinds[i].heard++;
}

/* ---- the collector ---------------------------------------------------------------------- */

static void gc_start(const struct tapir_gc_sink *sink, uint32_t count, uint32_t depth,
		     uint32_t reason, uint32_t type)
{
	(void)sink, (void)type;
	fire_GCStart(count, depth, reason);
	count_fired(3);
}

static void gc_end(const struct tapir_gc_sink *sink, uint32_t count, uint32_t depth)
{
	(void)sink;
	fire_GCEnd(count, depth);
	count_fired(4);
}

static void gc_mark_with_type(const struct tapir_gc_sink *sink, uint32_t heap, uint32_t type,
			      uint64_t bytes)
{
	(void)sink, (void)heap, (void)type, (void)bytes;
}

static void fire_dynamic_event(const struct tapir_gc_sink *sink, const char *name,
			       const void *payload, uint32_t bytes)
{
	tapir_gc_host__fire_dynamic(sink->runtime, name, payload, bytes);
	if (!strcmp(name, kinds[5].name))
		count_fired(5);
}

static struct tapir_gc_sink sink = {
	.size = sizeof(sink),
	.version = TAPIR_GC_SINK_VERSION,
	.gc_start = gc_start,
	.gc_end = gc_end,
	.gc_mark_with_type = gc_mark_with_type,
	.fire_dynamic_event = fire_dynamic_event,
};

static void make_garbage_and_collect(void)
{
	pthread_mutex_lock(&heap_lock);
	gc_example__collect(&gc, GARBAGE);
	pthread_mutex_unlock(&heap_lock);
}

/* ---- the compiler ----------------------------------------------------------------------- */

static void compile(uint64_t method)
{
	const uint32_t blocks[] = {1, (uint32_t)method, 3};
	char name[32];

	snprintf(name, sizeof(name), "Shop.Method%" PRIu64, method);
	fire_MethodCompiled(name, (const void *)(uintptr_t)(0x10000 + method), 1, 3, blocks);
	count_fired(2);
}

static void *run_compiler(void *arg)
{
	uint64_t compiled = 0;

	pthread_mutex_lock(&work_lock);
	for (;;) {
		while (compiled == to_compile && !has_ended)
			pthread_cond_wait(&work_came, &work_lock);
		if (compiled == to_compile)
			break;
		pthread_mutex_unlock(&work_lock);
		compile(compiled++);
		pthread_mutex_lock(&work_lock);
	}
	pthread_mutex_unlock(&work_lock);
	return arg;
}

static void ask_for_code(bool is_last)
{
	pthread_mutex_lock(&work_lock);
	to_compile += !is_last;
	has_ended |= is_last;
	pthread_cond_signal(&work_came);
	pthread_mutex_unlock(&work_lock);
}

/* ---- requests --------------------------------------------------------------------------- */

static void serve(uint64_t request)
{
	static const uint16_t path[] = {'/', 'c', 'a', 'f', 0xe9, 0};
	static const uint8_t client[16] = {0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66,
					   0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
	struct tapir_activity activity;

	tapir_activity__start(&activity);
	fire_RequestStart(request, path, client);
	count_fired(0);
	if (request % METHOD_EVERY == 0)
		ask_for_code(false);
	if (request % GC_EVERY == 0)
		make_garbage_and_collect();
	fire_RequestStop(request, request % 7 ? 200 : 404, (double)request / 8, request % 2);
	count_fired(1);
	tapir_activity__stop(&activity);
}

static void *run_server(void *arg)
{
	for (;;) {
		uint64_t request = __atomic_fetch_add(&next_request, 1, __ATOMIC_RELAXED);

		if (request >= request_cnt)
			return arg;
		serve(request);
		if (request % 32 == 31)
			target__sleep_ns(2000000); /* buffers of tracers are drained */
	}
}

static void run_machine(void)
{
	pthread_t servers[SERVERS], compiler;

	if (pthread_create(&compiler, NULL, run_compiler, NULL))
		target__die("pthread_create");
	for (int i = 0; i < SERVERS; i++)
		if (pthread_create(&servers[i], NULL, run_server, NULL))
			target__die("pthread_create");
	for (int i = 0; i < SERVERS; i++)
		pthread_join(servers[i], NULL);
	ask_for_code(true);
	pthread_join(compiler, NULL);
}

/* ---- the whole of it -------------------------------------------------------------------- */

static void report(uint64_t lost)
{
	printf("{\"lost\":%" PRIu64, lost);
	for (unsigned i = 0; i < EVENT_KINDS && kinds[i].name; i++)
		printf(",\"%s\":[%" PRIu64 ",%" PRIu64 "]", kinds[i].name, kinds[i].fired,
		       kinds[i].heard);
	puts("}");
}

/* The library of --lttng; its events are LTTng's from here on. */
static struct tapir_logger *open_lttng(int *argc, char **argv)
{
	struct tapir_logger *logger = NULL;

	for (int i = 1; i + 1 < *argc; i++) {
		if (strcmp(argv[i], "--lttng"))
			continue;
		if (tapir_lttng__open(VM, argv[i + 1], &logger))
			target__die("tapir_lttng__open");
		memmove(&argv[i], &argv[i + 2], (size_t)(*argc - i - 1) * sizeof(*argv));
		*argc -= 2;
		break;
	}
	return logger;
}

int main(int argc, char **argv)
{
	const struct tapir_gc_host_opts opts = {.size = sizeof(opts),
						.names = {VM, VM "-Private"},
						.events = {ToyVM_events, NULL},
						.event_cnts = {ToyVM_EVENT_CNT, 0}};
	const struct tapir_selection all = {VM, NULL, NULL, 0, 0, {0}};
	struct tapir_listener *listener;
	struct tapir_logger *logger;
	uint64_t lost;

	if (tapir_gc_host__new(&opts, &host))
		return 1;
	sink.runtime = host;
	if (!gc_example__load(argv[0], "../targets/gccollector", &sink, &gc))
		target__die("gccollector");
	logger = open_lttng(&argc, argv);
	if (tapir_listener__open(&all, 1, hear, NULL, NULL, &listener))
		return 1;
	tapir_provider__poll(); /* the collector is told */
	target__start(&argc, argv);
	request_cnt = (uint64_t)target__number(argc, argv, 1, 100);
	run_machine();
	lost = tapir_listener__lost(listener, NULL);
	tapir_listener__close(listener);
	if (logger)
		lost += tapir_logger__lost(logger, NULL);
	tapir_logger__close(logger);
	report(lost);
	tapir_gc_host__free(host);
	return 0;
}
