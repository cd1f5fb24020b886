/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_ring - what an event costs the program in the ring lane: four ints and a string of 16
 * characters, off, on without and with the stack of a known depth, and with one of 64 such stacks
 *in turn, while a tracer in a process of its own drains by pread every 10 ms. Least and median of
 *the rounds, as JSON.
 *
 *	bench_ring [DEPTH]	frames above the event: 28
 *
 * LTTng-UST beside it, in the same minute: workload_lttng (tests/bench/peers).
 */
// build: -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/ring_taker.h"
#include "usdt/ring/ring_writer.h"

#define ROUNDS	   200
#define HITS	   4000
#define TEXT_BYTES 16

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "bench", .event = "event"};

struct payload {
	uint64_t numbers[4];
	struct tapir_slot_bytes text;
	char bytes[TEXT_BYTES];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static __attribute__((noipa)) void fire(int a, int b, int c, int d, const char *text)
{
	struct tapir_ring_write write;

	if (tapir_ring__wanted(&event)) {
		size_t len = strnlen(text, TEXT_BYTES);

		if (tapir_ring__begin(&write, &event, sizeof(struct payload))) {
			struct payload *p = (void *)write.payload;

			p->numbers[0] = (uint64_t)(int64_t)a;
			p->numbers[1] = (uint64_t)(int64_t)b;
			p->numbers[2] = (uint64_t)(int64_t)c;
			p->numbers[3] = (uint64_t)(int64_t)d;
			p->text = (struct tapir_slot_bytes){.len_bytes = (uint32_t)len};
			memcpy(p->bytes, text, TEXT_BYTES);
			tapir_ring__commit(&write);
		}
	}
}

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

static __attribute__((noinline)) void run_rounds(const char *what)
{
	double ns[ROUNDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = now_ns();

		for (int i = 0; i < HITS; i++)
			fire(i, (int)round, -1, 42, "sixteen chars...");
		ns[round] = (double)(now_ns() - start_ns) / HITS;
		usleep(12000); /* a period of the tracer: what is measured is not a full ring */
	}
	qsort(ns, ROUNDS, sizeof(*ns), by_value);
	printf("{\"what\": \"%s\", \"ns_min\": %.2f, \"ns_median\": %.2f}\n", what, ns[0],
	       ns[ROUNDS / 2]);
	fflush(stdout);
}

static __attribute__((noinline)) void empty_rounds(void)
{
	double ns[ROUNDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = now_ns();
		int i;

		for (i = 0; i < HITS; i++)
			__asm__ volatile("" : : "r"(i));
		ns[round] = (double)(now_ns() - start_ns) / HITS;
	}
	qsort(ns, ROUNDS, sizeof(*ns), by_value);
	printf("{\"what\": \"empty loop\", \"ns_min\": %.2f}\n", ns[0]);
}

static __attribute__((noinline)) void off_rounds(void)
{
	double ns[ROUNDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = now_ns();

		for (int i = 0; i < HITS; i++) {
			__asm__ volatile("" : : "r"(i) : "memory");
			if (tapir_ring__wanted(&event))
				fire(i, i, i, i, "sixteen chars...");
		}
		ns[round] = (double)(now_ns() - start_ns) / HITS;
	}
	qsort(ns, ROUNDS, sizeof(*ns), by_value);
	printf("{\"what\": \"off\", \"ns_min\": %.2f, \"ns_median\": %.2f}\n", ns[0],
	       ns[ROUNDS / 2]);
}

static __attribute__((noinline)) void descend(unsigned frames, const char *what)
{
	if (frames)
		descend(frames - 1, what);
	else
		run_rounds(what);
	__asm__ volatile("" : : : "memory");
}

/* One of two places that call, by a bit of `way`: as many stacks as bits say, equally deep. */
static __attribute__((noinline)) void wander(unsigned way)
{
	if (way < 2) {
		fire((int)way, 0, -1, 42, "sixteen chars...");
	} else if (way & 1) {
		wander(way / 2);
		__asm__ volatile("nop" : : : "memory");
	} else {
		wander(way / 2);
		__asm__ volatile("nop; nop" : : : "memory");
	}
	__asm__ volatile("" : : : "memory");
}

#define WANDER_BITS 6

static __attribute__((noinline)) void wander_rounds(const char *what)
{
	double ns[ROUNDS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = now_ns();

		for (unsigned i = 0; i < HITS; i++)
			wander(i % (1u << WANDER_BITS) + (1u << WANDER_BITS));
		ns[round] = (double)(now_ns() - start_ns) / HITS;
		usleep(12000);
	}
	qsort(ns, ROUNDS, sizeof(*ns), by_value);
	printf("{\"what\": \"%s\", \"ns_min\": %.2f, \"ns_median\": %.2f}\n", what, ns[0],
	       ns[ROUNDS / 2]);
	fflush(stdout);
}

static __attribute__((noinline)) void descend_and_wander(unsigned frames, const char *what)
{
	if (frames)
		descend_and_wander(frames - 1, what);
	else
		wander_rounds(what);
	__asm__ volatile("" : : : "memory");
}

/* The tracer, until it is asked to end: reports what it read and what was lost. */
static void drain(int pid, int stacks, int ready, int done)
{
	struct taker t;

	taker_drain(&t, pid, stacks, ready, done);
	printf("{\"read\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"fired\": %d, \"bad\": %" PRIu64
	       ", \"unnamed\": %" PRIu64 "}\n",
	       t.read[0], taker_missed(&t, 0), ROUNDS * HITS, t.bad, t.unnamed);
	fflush(stdout);
	_exit(0);
}

static int traced(unsigned depth, int stacks, int wanders, const char *what)
{
	int ready[2], done[2], status, parent = getpid();
	char byte = 1;
	pid_t pid;

	if (pipe(ready) || pipe(done))
		return 1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		drain(parent, stacks, ready[1], done[0]);
	}
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	if (wanders)
		descend_and_wander(depth > 5 + WANDER_BITS ? depth - 5 - WANDER_BITS : 0, what);
	else
		descend(depth > 5 ? depth - 5 : 0, what);
	return write(done[1], &byte, 1) != 1 || waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 28;

	if (tapir_ring__init() || tapir_ring__register(&event, &about))
		return 1;
	empty_rounds();
	off_rounds();
	return traced(depth, 0, 0, "on, no stack") || traced(depth, 1, 0, "on, stack") ||
	       traced(depth, 1, 1, "on, another of 64 stacks each time");
}
