/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * workload - the program that the benchmarks trace: an event with four ints and a string of 16
 * characters, fired by one or more threads at the bottom of a stack of known depth, and the
 * time each one took. Built again with -DBENCH_LTTNG it fires an LTTng-UST tracepoint, with
 * -DBENCH_RING an event of the ring lane.
 *
 *	workload [--threads N] [--depth FRAMES] [--rounds N] [--hits N] [--rate HZ] [--unlike 1]
 *
 * It prints a line when it is ready, waits for a line on stdin (the tracer attaches meanwhile),
 * runs, and prints JSON: events fired, ns an event (least and median of the rounds of all
 * threads; pauses of a paced run do not count) and seconds in all.
 *
 * The site stands in a function of its own, so that its arguments are the function's: in the
 * first five argument registers, where the bare loader and perf's probe expect them.
 */
// build: -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls -no-pie
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef BENCH_LTTNG
#include "lttng_provider.h"
#define FIRE(a, b, c, d, text) lttng_ust_tracepoint(bench, event, a, b, c, d, text)
#elif defined(BENCH_RING)
#include "usdt/ring/ring_writer.h"
#define TEXT_BYTES	       16
#define FIRE(a, b, c, d, text) fire_ring(a, b, c, d, text)
#else
#include "tapir/usdt.h"
#define FIRE(a, b, c, d, text) TAPIR_PROBE(bench, event, a, b, c, d, text)
#endif

#define MAX_THREADS 64
#define MAX_ROUNDS  100000
#define NS_PER_SEC  1000000000ull

static struct {
	unsigned thread_cnt, depth_frames, round_cnt, hit_cnt, rate_hz, unlike;
} options = {.thread_cnt = 1, .depth_frames = 31, .round_cnt = 50, .hit_cnt = 4000};

static pthread_barrier_t start_line;
static double *round_ns; /* thread_cnt x round_cnt: ns an event */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SEC + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t when_ns)
{
	struct timespec when = {.tv_sec = (time_t)(when_ns / NS_PER_SEC),
				.tv_nsec = (long)(when_ns % NS_PER_SEC)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

#ifdef BENCH_RING
static struct tapir_ring_event ring_event;
static const struct tapir_field ring_fields[] = {{.type = TAPIR_FIELD_INT, .size = 4},
						 {.type = TAPIR_FIELD_INT, .size = 4},
						 {.type = TAPIR_FIELD_INT, .size = 4},
						 {.type = TAPIR_FIELD_INT, .size = 4},
						 {.type = TAPIR_FIELD_STR}};
static const struct tapir_ring_about ring_about = {.provider = "bench",
						   .event = "event",
						   .encoding = TAPIR_ENCODING_SLOTS,
						   .field_cnt = 5,
						   .fields = ring_fields};

struct ring_payload {
	uint64_t numbers[4];
	struct tapir_slot_bytes text;
	char bytes[TEXT_BYTES];
};

static inline void fire_ring(int a, int b, int c, int d, const char *text)
{
	struct tapir_ring_write write;
	struct ring_payload *p;
	size_t len;

	if (!tapir_ring__wanted(&ring_event))
		return;
	len = strnlen(text, TEXT_BYTES);
	if (!tapir_ring__begin(&write, &ring_event, sizeof(*p)))
		return;
	p = (void *)write.payload;
	p->numbers[0] = (uint64_t)(int64_t)a;
	p->numbers[1] = (uint64_t)(int64_t)b;
	p->numbers[2] = (uint64_t)(int64_t)c;
	p->numbers[3] = (uint64_t)(int64_t)d;
	p->text = (struct tapir_slot_bytes){.len_bytes = (uint32_t)len};
	memcpy(p->bytes, text, len);
	tapir_ring__commit(&write);
}
#endif

static __attribute__((noipa)) void fire(int a, int b, int c, int d, const char *text)
{
	FIRE(a, b, c, d, text);
}

static __attribute__((noinline)) void run_rounds(double *ns)
{
	uint64_t begin_ns = now_ns(), fired_cnt = 0;

	for (unsigned round = 0; round < options.round_cnt; round++) {
		uint64_t start_ns = now_ns();

		for (unsigned i = 0; i < options.hit_cnt; i++) {
			if (options.unlike && i & 1) {
				fire((int)i, (int)round, -2, 42, "sixteen chars...");
				continue;
			}
			fire((int)i, (int)round, -1, 42, "sixteen chars...");
		}
		ns[round] = (double)(now_ns() - start_ns) / options.hit_cnt;
		fired_cnt += options.hit_cnt;
		if (options.rate_hz)
			sleep_until(begin_ns + fired_cnt * NS_PER_SEC / options.rate_hz);
	}
}

/* Calls itself until the wanted number of frames stands above the site. */
static __attribute__((noinline)) void descend(unsigned frame_cnt, double *ns)
{
	if (frame_cnt)
		descend(frame_cnt - 1, ns);
	else
		run_rounds(ns);
	__asm__ __volatile__("" : : : "memory"); /* keeps the call from becoming a jump */
}

static void *run_thread(void *ns)
{
	const unsigned own_frames = 4; /* fire, run_rounds, this one, and libc's start of it */

	pthread_barrier_wait(&start_line);
	descend(options.depth_frames > own_frames ? options.depth_frames - own_frames : 0, ns);
	return NULL;
}

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

static void report(uint64_t took_ns)
{
	size_t cnt = (size_t)options.thread_cnt * options.round_cnt;

	qsort(round_ns, cnt, sizeof(*round_ns), by_value);
	printf("{\"fired\": %" PRIu64
	       ", \"ns_min\": %.1f, \"ns_median\": %.1f, \"seconds\": %.6f}\n",
	       (uint64_t)cnt * options.hit_cnt, round_ns[0], round_ns[cnt / 2],
	       (double)took_ns / 1e9);
}

static int run(void)
{
	pthread_t threads[MAX_THREADS];
	uint64_t start_ns;

	if (pthread_barrier_init(&start_line, NULL, options.thread_cnt + 1))
		return 1;
	for (unsigned i = 0; i < options.thread_cnt; i++)
		if (pthread_create(&threads[i], NULL, run_thread,
				   round_ns + (size_t)i * options.round_cnt))
			return 1;
	start_ns = now_ns();
	pthread_barrier_wait(&start_line);
	for (unsigned i = 0; i < options.thread_cnt; i++)
		pthread_join(threads[i], NULL);
	report(now_ns() - start_ns);
	return 0;
}

static int parse(int argc, char **argv)
{
	const struct {
		const char *name;
		unsigned *value;
		unsigned min, max;
	} known[] = {
		{"--threads", &options.thread_cnt, 1, MAX_THREADS},
		{"--depth", &options.depth_frames, 1, 1000},
		{"--rounds", &options.round_cnt, 1, MAX_ROUNDS},
		{"--hits", &options.hit_cnt, 1, 100000000},
		{"--unlike", &options.unlike, 0, 1},
		{"--rate", &options.rate_hz, 0, 100000000},
	};

	for (int i = 1; i < argc; i += 2) {
		size_t k = 0;

		while (k < sizeof(known) / sizeof(known[0]) && strcmp(known[k].name, argv[i]))
			k++;
		if (k == sizeof(known) / sizeof(known[0]) || i + 1 == argc)
			return -1;
		*known[k].value = (unsigned)strtoul(argv[i + 1], NULL, 10);
		if (*known[k].value < known[k].min || *known[k].value > known[k].max)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	char line[16];
	int status;

	if (parse(argc, argv)) {
		fprintf(stderr, "usage: workload [--threads N] [--depth FRAMES] [--rounds N] "
				"[--hits N] [--rate HZ] [--unlike 1]\n");
		return 2;
	}
	round_ns = calloc((size_t)options.thread_cnt * options.round_cnt, sizeof(*round_ns));
	if (!round_ns)
		return 1;
#ifdef BENCH_RING
	if (tapir_ring__init() || tapir_ring__register(&ring_event, &ring_about))
		return 1;
#endif
	puts("ready");
	fflush(stdout);
	status = fgets(line, sizeof(line), stdin) ? run() : 1;
	free(round_ns);
	return status;
}
