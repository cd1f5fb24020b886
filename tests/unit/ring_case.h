/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring_case.h - a case of the ring lane that is a process of its own: it holds one event and its
 * own tracer (ring_taker.h), and its exit status says what failed. Behind cmocka.h.
 */
#ifndef TAPIR_TEST_RING_CASE_H
#define TAPIR_TEST_RING_CASE_H

#include <sched.h>
#include <sys/wait.h>

#include "ring_taker.h"
#include "usdt/ring/ring_writer.h"

/* What is done less often where everything takes ten times as long. */
#if defined(__SANITIZE_THREAD__)
#define CASE_PART(cnt) ((cnt) / 10 + 1)
#define CASE_STACKS    0 /* its library keeps no frame pointers: a new stack with each event */
#else
#define CASE_PART(cnt) (cnt)
#define CASE_STACKS    1
#endif

#define CASE_SECONDS 240 /* what hangs ends; 4,300 threads take a minute at a load of 45 */

static struct tapir_ring_event event;
static const struct tapir_ring_about about = {.provider = "shop", .event = "sold"};
static uint64_t fired;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "line %d: %s\n", __LINE__, #cond);                         \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define CASE_SKIP 77 /* a body's exit status: the machine has not what it takes */

static inline void in_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		alarm(CASE_SECONDS);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CASE_SKIP)
		skip();
	assert_int_equal(status, 0);
}

static inline void start(struct taker *t)
{
	CHECK(!tapir_ring__init_private(TAKER_KEY));
	CHECK(!tapir_ring__register(&event, &about));
	CHECK(!taker_init(t, getpid(), 0));
	CHECK(!taker_open(t, 0, 1, CASE_STACKS));
}

static inline void finish(struct taker *t)
{
	taker_close(t);
	if (t->bad || t->unnamed || t->read[0] + taker_missed(t, 0) != fired)
		fprintf(stderr, "read %lu missed %lu fired %lu bad %lu unnamed %lu\n", t->read[0],
			taker_missed(t, 0), fired, t->bad, t->unnamed);
	CHECK(!t->bad);
	CHECK(!t->unnamed);
	CHECK(t->read[0] + taker_missed(t, 0) == fired);
}

static __attribute__((noinline, unused)) void fire(void)
{
	struct tapir_ring_write write;

	if (tapir_ring__wanted(&event) && tapir_ring__begin(&write, &event, 24)) {
		memset(write.payload, 1, 24);
		tapir_ring__commit(&write);
	}
}

static int stop; /* who fires until then */

static inline int is_stopped(void)
{
	return __atomic_load_n(&stop, __ATOMIC_RELAXED);
}

/* A thread; *own counts. */
static inline void *fire_until_stopped(void *own)
{
	while (!is_stopped()) {
		fire();
		if (++*(uint64_t *)own % 64 == 0)
			sched_yield();
	}
	return NULL;
}

#endif
