/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ringer [--wait] [--late | --dlopen | --await] [--fork] [--exec] [--end] [--private] COUNT
 * [THREADS [PACE [REST]]] - fires ringer:tick(thread, i) COUNT times a thread through the ring
 * lane, from tick below ring_inner below ring_outer, with 1 ms of sleep behind each PACE events (0:
 * none) and REST ms between the halves. ringer:other and one without a name are there and never
 * fired. --late: the lane is made half a second after the start, --dlopen: right behind the loading
 * of a library; there, and with --await, events wait until somebody wants them. --fork: a child of
 * it fires as well. --exec: then it is executed anew, with --await COUNT. --private: the lane is
 * another tracer's. --end: killed by itself behind the last event.
 */
// build: -I. -fno-optimize-sibling-calls
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

#include "target.h"
#include "usdt/ring/ring_writer.h"

static const struct tapir_field fields[] = {{.type = TAPIR_FIELD_UINT, .size = 8},
					    {.type = TAPIR_FIELD_UINT, .size = 8}};
static const char *const field_names[] = {"thread", "i"};
static const struct tapir_ring_about tick_about = {
	.provider = "ringer",
	.event = "tick",
	.level = 4,
	.keywords = 0x20,
	.encoding = TAPIR_ENCODING_SLOTS,
	.field_cnt = 2,
	.fields = fields,
	.field_names = field_names,
};
static const struct tapir_ring_about other_about = {.provider = "ringer", .event = "other"};
/* As CoreCLR's own: a number and no name. */
static const struct tapir_ring_about numbered_about = {
	.provider = "ringer", .event = "", .event_id = 7, .level = 2, .keywords = 0x40};
static struct tapir_ring_event tick_event, other_event, numbered_event;
static long hits, pace, rest_ms;
static bool is_private;

/* As the thread itself sees them. */
static struct {
	pid_t tid;
	uint64_t first_ns, last_ns;
} seen_by[64];

__attribute__((noipa)) void tick(uint64_t thread, uint64_t i);
__attribute__((noipa)) void tick(uint64_t thread, uint64_t i)
{
	uint64_t payload[2] = {thread, i};
	struct tapir_ring_write write;

	if (!tapir_ring__begin(&write, &tick_event, sizeof(payload)))
		return;
	memcpy(write.payload, payload, sizeof(payload));
	tapir_ring__commit(&write);
}

__attribute__((noipa)) void ring_inner(uint64_t thread, uint64_t i);
__attribute__((noipa)) void ring_inner(uint64_t thread, uint64_t i)
{
	tick(thread, i);
	__asm__ __volatile__("" ::: "memory");
}

__attribute__((noipa)) void ring_outer(uint64_t thread, uint64_t i);
__attribute__((noipa)) void ring_outer(uint64_t thread, uint64_t i)
{
	ring_inner(thread, i);
	__asm__ __volatile__("" ::: "memory");
}

static void *run(void *arg)
{
	long thread = (long)(uintptr_t)arg;

	seen_by[thread].tid = gettid();
	seen_by[thread].first_ns = target__now_ns();
	for (long i = 0; i < hits; i++) {
		ring_outer((uint64_t)(uintptr_t)arg, (uint64_t)i);
		if (rest_ms && i == hits / 2)
			target__sleep_ns((uint64_t)rest_ms * 1000000);
		if (pace && i % pace == pace - 1)
			target__sleep_ns(1000000);
	}
	seen_by[thread].last_ns = target__now_ns();
	return NULL;
}

/* A child that fires in what it has inherited. */
static void fork_and_fire(void)
{
	pid_t child = fork();

	if (!child) {
		run((void *)0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void print_witness(long thread_cnt, uint64_t waited_ns)
{
	printf("{\"fired\": %ld, \"waited_ms\": %" PRIu64 ", \"threads\": [", hits * thread_cnt,
	       waited_ns / 1000000);
	for (long t = 0; t < thread_cnt; t++)
		printf("%s[%d, %" PRIu64 ", %" PRIu64 "]", t ? ", " : "", (int)seen_by[t].tid,
		       seen_by[t].first_ns, seen_by[t].last_ns);
	printf("]}\n");
	fflush(stdout);
}

static void make_lane(void)
{
	if ((is_private ? tapir_ring__init_private(0x1234) : tapir_ring__init()) ||
	    tapir_ring__register(&tick_event, &tick_about) ||
	    tapir_ring__register(&other_event, &other_about) ||
	    tapir_ring__register(&numbered_event, &numbered_about))
		target__die("ring lane");
}

int main(int argc, char **argv)
{
	bool late = target__option(&argc, argv, "--late"),
	     library = target__option(&argc, argv, "--dlopen"),
	     is_private_lane = target__option(&argc, argv, "--private"),
	     forks = target__option(&argc, argv, "--fork"),
	     again = target__option(&argc, argv, "--exec"),
	     await = target__option(&argc, argv, "--await") || late || library,
	     end = target__option(&argc, argv, "--end");
	pthread_t threads[64];
	uint64_t start_ns, waited_ns;
	long thread_cnt;

	is_private = is_private_lane;
	if (!late && !library)
		make_lane();
	target__start(&argc, argv);
	hits = target__number(argc, argv, 1, 1);
	thread_cnt = target__number(argc, argv, 2, 1);
	pace = target__number(argc, argv, 3, 0);
	rest_ms = target__number(argc, argv, 4, 0); /* between the halves */
	if (thread_cnt < 1 || thread_cnt > 64)
		return 2;
	if (late)
		target__sleep_ns(500000000);
	if (library && !dlopen("libresolv.so.2", RTLD_NOW))
		return 3;
	if (late || library)
		make_lane();
	start_ns = target__now_ns();
	for (int i = 0; i < 5000 && await && !tapir_ring__wanted(&tick_event); i++)
		target__sleep_ns(1000000);
	waited_ns = target__now_ns() - start_ns;
	if (forks)
		fork_and_fire();
	for (long t = 0; t < thread_cnt; t++)
		if (pthread_create(&threads[t], NULL, run, (void *)t) != 0)
			target__die("pthread_create");
	for (long t = 0; t < thread_cnt; t++)
		pthread_join(threads[t], NULL);
	print_witness(thread_cnt, waited_ns);
	if (again)
		execl("/proc/self/exe", argv[0], "--await", argc > 1 ? argv[1] : "1", NULL);
	if (end)
		kill(getpid(), SIGKILL);
	return 0;
}
