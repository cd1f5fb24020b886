/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_lib - what libtapir costs the program: the event of bench_ring (four ints, a string of 16
 * characters) by TAPIR_FIRE: off; to a tracer of the ring lane that drains every 10 ms, without and
 * with a stack of 28 frames; to 1 and 8 listeners in the process; counters from 1 and 8 threads.
 * Then what a thread takes of memory. Least and median of the rounds, as JSON. Beside its peers,
 * and traced from outside: lib.py.
 */
// build: -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-optimize-sibling-calls
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "tapir/counter.h"
#include "tapir/listener.h"
#include "tests/unit/ring_taker.h"

#define ROUNDS 100
#define HITS   500 /* of a round: a listener's buffer of 64 KiB holds them */
#define DEPTH  28

TAPIR_EVENT(Bench, "Bench-Lib", "Bench", 1, 0, TAPIR_INFORMATIONAL, 0, (I32, A), (I32, B), (I32, C),
	    (I32, D), (UTF8, Text));

static struct tapir_event *const events[] = {&Bench};
static struct tapir_provider *provider;
static struct tapir_counter *counter, *histogram;
static uint64_t heard;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
	double l = *(const double *)left, r = *(const double *)right;

	return (l > r) - (l < r);
}

static __attribute__((noipa)) void fire_all(int round)
{
	for (int i = 0; i < HITS; i++)
		TAPIR_FIRE(Bench, i, round, -1, 42, "sixteen chars...");
}

static __attribute__((noipa)) void test_all(int round)
{
	for (int i = 0; i < HITS; i++) {
		__asm__ volatile("" : : "r"(i), "r"(round) : "memory");
		TAPIR_FIRE(Bench, i, i, i, i, "sixteen chars...");
	}
}

static __attribute__((noipa)) void loop_all(int round)
{
	for (int i = 0; i < HITS; i++)
		__asm__ volatile("" : : "r"(i), "r"(round) : "memory");
}

static __attribute__((noipa)) void count_all(int round)
{
	for (int i = 0; i < HITS; i++)
		tapir_counter__write(counter, round);
}

static __attribute__((noipa)) void spread_all(int round)
{
	for (int i = 0; i < HITS; i++)
		tapir_counter__write(histogram, round + i);
}

static void report(const char *what, double *ns, unsigned cnt)
{
	qsort(ns, cnt, sizeof(*ns), by_value);
	printf("{\"what\": \"%s\", \"ns_min\": %.2f, \"ns_median\": %.2f}\n", what, ns[0],
	       ns[cnt / 2]);
	fflush(stdout);
}

static __attribute__((noinline)) void run_rounds(const char *what, void (*all)(int),
						 unsigned pause_us)
{
	double ns[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start_ns = now_ns();

		all(round);
		ns[round] = (double)(now_ns() - start_ns) / HITS;
		usleep(pause_us); /* a period of whoever reads: what is measured is no full buffer
				   */
	}
	report(what, ns, ROUNDS);
}

static __attribute__((noinline)) void descend(unsigned frames, const char *what)
{
	if (frames)
		descend(frames - 1, what);
	else
		run_rounds(what, fire_all, 12000);
	__asm__ volatile("" : : : "memory");
}

/* ---- the ring lane ------------------------------------------------------------------------ */

static void drain(int pid, int stacks, int ready, int done)
{
	struct taker t;

	taker_drain(&t, pid, stacks, ready, done);
	printf("{\"read\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"fired\": %d}\n", t.read[0],
	       taker_missed(&t, 0), ROUNDS * HITS);
	fflush(stdout);
	_exit(0);
}

static int traced(int stacks, const char *what)
{
	int ready[2], done[2], status, own = getpid();
	char byte;
	pid_t tracer;

	if (pipe(ready) || pipe(done))
		return 1;
	tracer = fork();
	if (!tracer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		drain(own, stacks, ready[1], done[0]);
	}
	if (read(ready[0], &byte, 1) != 1)
		return 1;
	tapir_provider__poll(); /* what the taker, unlike tapir, does not announce */
	descend(stacks ? DEPTH : 0, what);
	if (write(done[1], "", 1) != 1)
		return 1;
	return waitpid(tracer, &status, 0) != tracer || status;
}

/* ---- inside the process ------------------------------------------------------------------- */

static void see(const struct tapir_event_record *record, void *ctx)
{
	(void)record, (void)ctx;
	__atomic_fetch_add(&heard, 1, __ATOMIC_RELAXED);
}

static int listened(unsigned cnt, const char *what)
{
	const struct tapir_selection all = {"Bench-Lib", NULL, NULL, 0, 0, {0}};
	struct tapir_listener *listeners[8];
	uint64_t lost = 0;

	heard = 0;
	for (unsigned i = 0; i < cnt; i++)
		if (tapir_listener__open(&all, 1, see, NULL, NULL, &listeners[i]))
			return 1;
	run_rounds(what, fire_all, 25000);
	for (unsigned i = 0; i < cnt; i++) {
		lost += tapir_listener__lost(listeners[i], NULL);
		tapir_listener__close(listeners[i]);
	}
	printf("{\"read\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"fired\": %u}\n", heard, lost,
	       ROUNDS * HITS * cnt);
	return 0;
}

static void *count_on(void *arg)
{
	for (;;)
		count_all((int)(uintptr_t)arg);
	return NULL;
}

/* Of one thread's time on a CPU, while seven others write the same counter. */
static void count_among_others(void)
{
	double ns[ROUNDS];
	pthread_t threads[7];

	for (uintptr_t i = 0; i < 7; i++)
		if (pthread_create(&threads[i], NULL, count_on, (void *)i)) // NOLINT
			return;
	for (int round = 0; round < ROUNDS; round++) {
		struct timespec start, end;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
		for (int i = 0; i < 100; i++)
			count_all(round);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		ns[round] = ((double)(end.tv_sec - start.tv_sec) * 1e9 +
			     (double)(end.tv_nsec - start.tv_nsec)) /
			    (100.0 * HITS);
	}
	report("counter, one of 8 threads", ns, ROUNDS);
}

/* ---- memory ------------------------------------------------------------------------------- */

#define MANY 200

static pthread_barrier_t crowd;

/* Its own pages, and those of the rings. */
static long resident_kib(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	long kib, sum = 0;
	char line[128];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1 ||
		    sscanf(line, "RssShmem: %ld", &kib) == 1)
			sum += kib;
	if (status)
		fclose(status);
	return sum;
}

static void *fire_some(void *cnt)
{
	pthread_barrier_wait(&crowd); /* all are there */
	pthread_barrier_wait(&crowd); /* their stacks were measured */
	for (uintptr_t i = 0; i < (uintptr_t)cnt; i++)
		TAPIR_FIRE(Bench, (int)i, 1, -1, 42, "sixteen chars...");
	if (cnt)
		count_all(1);
	pthread_barrier_wait(&crowd);
	pthread_barrier_wait(&crowd);
	return NULL;
}

/* Beside the threads' own stacks and what libc keeps of them. */
static double kib_of_a_thread(uintptr_t event_cnt)
{
	pthread_t threads[MANY];
	long before, after;

	pthread_barrier_init(&crowd, NULL, MANY + 1);
	for (int i = 0; i < MANY; i++)
		if (pthread_create(&threads[i], NULL, fire_some, (void *)event_cnt)) // NOLINT
			exit(1);
	pthread_barrier_wait(&crowd);
	before = resident_kib();
	pthread_barrier_wait(&crowd);
	pthread_barrier_wait(&crowd);
	after = resident_kib();
	pthread_barrier_wait(&crowd);
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	return (double)(after - before) / MANY;
}

/* bench_lib --memory COUNT: events a thread. Nobody drains: rings keep what was fired. */
static int measure_memory(unsigned event_cnt)
{
	struct taker t;

	if (taker_init(&t, getpid(), 0) || taker_open(&t, 0, 1, 0))
		return 1;
	tapir_provider__poll();
	printf("{\"what\": \"memory, %u events a thread\", \"kib\": %.1f}\n", event_cnt,
	       kib_of_a_thread(event_cnt));
	fflush(stdout);
	return 0;
}

/*
 * bench_lib --traced [MS]: by another program that traces it from outside, that long after the
 * event was on: by then tapir has detached probes whose events a ring has.
 */
static int measure_traced(unsigned after_ms)
{
	for (int i = 0; i < 1000 && !TAPIR_EVENT_ENABLED(Bench); i++)
		usleep(10000);
	printf("{\"is_on\": %d}\n", TAPIR_EVENT_ENABLED(Bench) != 0);
	fire_all(0);
	usleep(after_ms * 1000);
	run_rounds("event", fire_all, 12000);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct tapir_counter_opts spread = {
		.size = sizeof(spread), .type = TAPIR_COUNTER_HISTOGRAM, .name = "spread"};
	static const struct tapir_counter_opts opts = {
		.size = sizeof(opts), .type = TAPIR_COUNTER_EVENT, .name = "bench"};

	if (tapir_provider__new("Bench-Lib", NULL, events, 1, NULL, &provider) ||
	    tapir_counter__new(provider, &opts, &counter) ||
	    tapir_counter__new(provider, &spread, &histogram))
		return 1;
	usleep(100000);
	if (argc > 2 && !strcmp(argv[1], "--memory"))
		_exit(measure_memory((unsigned)atoi(argv[2])));
	if (argc > 1 && !strcmp(argv[1], "--traced"))
		_exit(measure_traced(argc > 2 ? (unsigned)atoi(argv[2]) : 0));
	run_rounds("empty loop", loop_all, 0);
	run_rounds("off", test_all, 0);
	if (traced(0, "ring lane, its first pass") || traced(0, "ring lane, no stack") ||
	    traced(1, "ring lane, 28 frames") || listened(1, "1 listener") ||
	    listened(8, "8 listeners"))
		return 1;
	run_rounds("counter, 1 thread", count_all, 0);
	run_rounds("histogram, 1 thread", spread_all, 0);
	count_among_others();
	fflush(stdout);
	_exit(0);
}
