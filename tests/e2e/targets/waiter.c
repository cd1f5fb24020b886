/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waiter [--wait] - waits in known ways: 20 sleeps of 50 ms, a burn of 200 ms of CPU time; then
 * 20 times another thread is released through a pipe, and 10 times through a mutex.
 *
 * The witness has each thread's own context switches, as the kernel counts them, between two
 * moments at which none happened, and the moments.
 */
// build: -fno-omit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>

#include "target.h"

#define SLEEPS	 20
#define SLEEP_NS 50000000u
#define BURN_NS	 200000000u
#define WRITES	 20
#define LOCKS	 10
#define PAUSE_NS 5000000u
#define TRIES	 2000

struct mark {
	uint64_t time_ns;
	long voluntary, involuntary;
};

static int pipe_fds[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int woken_tid;

static void read_counts(struct mark *mark)
{
	char line[128];
	FILE *file = fopen("/proc/thread-self/status", "re");

	if (!file)
		target__die("status");
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "voluntary_ctxt_switches: %ld", &mark->voluntary);
		sscanf(line, "nonvoluntary_ctxt_switches: %ld", &mark->involuntary);
	}
	fclose(file);
}

/* A moment before and after which the counts are the same. */
static struct mark take_mark(void)
{
	struct mark before, after;

	do {
		read_counts(&before);
		before.time_ns = target__now_ns();
		read_counts(&after);
	} while (before.voluntary != after.voluntary || before.involuntary != after.involuntary);
	return before;
}

static void print_marks(const char *name, const struct mark *a, const struct mark *b)
{
	printf("\"%s\": {\"from_ns\": %" PRIu64 ", \"until_ns\": %" PRIu64
	       ", \"voluntary\": %ld, \"involuntary\": %ld}, ",
	       name, a->time_ns, b->time_ns, b->voluntary - a->voluntary,
	       b->involuntary - a->involuntary);
}

static volatile uint64_t sink;

static __attribute__((noipa)) void burn(void)
{
	struct timespec now;
	uint64_t end_ns = 0, now_ns;

	do {
		for (int i = 0; i < 20000; i++)
			sink += (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		end_ns = end_ns ? end_ns : now_ns + BURN_NS;
	} while (now_ns < end_ns);
}

static __attribute__((noipa)) void sleep_often(void)
{
	for (int i = 0; i < SLEEPS; i++)
		target__sleep_ns(SLEEP_NS);
}

static void *be_let_go(void *unused)
{
	char byte;

	(void)unused;
	woken_tid = (int)gettid();
	for (int i = 0; i < WRITES; i++)
		if (read(pipe_fds[0], &byte, 1) != 1)
			target__die("read");
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		if (read(pipe_fds[0], &byte, 1) != 1)
			target__die("read");
	}
	return NULL;
}

static char state_of(int tid)
{
	char path[64], line[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file) || !strrchr(line, ')'))
		target__die("stat");
	fclose(file);
	return strrchr(line, ')')[2];
}

/* Until the other thread waits: letting it go before that wakes nobody. */
static void pause_until_it_sleeps(void)
{
	for (int i = 0; i < TRIES; i++) {
		target__sleep_ns(PAUSE_NS);
		if (woken_tid && state_of(woken_tid) == 'S')
			return;
	}
	fprintf(stderr, "the other thread does not sleep\n");
	exit(1);
}

static void let_go(void)
{
	pthread_t thread;

	if (pipe(pipe_fds) || pthread_create(&thread, NULL, be_let_go, NULL))
		target__die("pthread_create");
	for (int i = 0; i < WRITES; i++) {
		pause_until_it_sleeps();
		if (i == WRITES - 1)
			pthread_mutex_lock(&mutex);
		if (write(pipe_fds[1], "x", 1) != 1)
			target__die("write");
	}
	for (int i = 0; i < LOCKS; i++) {
		pause_until_it_sleeps();
		pthread_mutex_unlock(&mutex);
		pause_until_it_sleeps();
		if (i < LOCKS - 1)
			pthread_mutex_lock(&mutex);
		if (write(pipe_fds[1], "x", 1) != 1)
			target__die("write");
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct mark start, slept, burnt;

	target__start(&argc, argv);
	target__sleep_ns(PAUSE_NS);
	start = take_mark();
	sleep_often();
	slept = take_mark();
	burn();
	burnt = take_mark();
	let_go();
	printf("{");
	print_marks("sleeps", &start, &slept);
	print_marks("burn", &slept, &burnt);
	printf("\"sleep_ms\": %d, \"burn_ms\": %d, \"tid\": %d, \"woken_tid\": %d, "
	       "\"writes\": %d, \"locks\": %d, \"futex\": \"%p\"}\n",
	       SLEEPS * (int)(SLEEP_NS / 1000000u), (int)(BURN_NS / 1000000u), (int)gettid(),
	       woken_tid, WRITES, LOCKS, (void *)&mutex);
	return 0;
}
