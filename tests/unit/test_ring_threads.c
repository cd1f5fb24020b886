/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring lane in processes that behave badly: many threads, short ones, children by fork, vfork
 * and exec, no memory, no descriptors. Each case is a process of its own, which holds its own
 * tracer (ring_taker.h); its exit status says what failed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "ring_case.h"

extern char **environ;

static void *fire_many(void *cnt)
{
	for (uintptr_t i = 0; i < (uintptr_t)cnt; i++)
		fire();
	return NULL;
}

static void run_threads(unsigned cnt, uintptr_t each)
{
	pthread_t *threads = calloc(cnt, sizeof(*threads));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (unsigned i = 0; i < cnt; i++)
		CHECK(!pthread_create(&threads[i], &attr, fire_many, (void *)each));
	for (unsigned i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	fired += cnt * each;
	free(threads);
}

static void short_threads(void)
{
	struct taker t;

	start(&t);
	/* One slot may have all of a batch, one after the other: that must fit its 4 MB. */
	for (unsigned batch = 0; batch < 8; batch++) {
		run_threads(250, 100);
		taker_take(&t);
	}
	finish(&t);
	CHECK(t.read[0] == fired);
}

static void two_thousand_threads_lose_nothing(void **state)
{
	(void)state;
	in_child(short_threads);
}

/*
 * All alive at once, each with a slot while there are slots. A thread that found none because
 * another one was stopped while it made an arena asks again after 64 events: rounds of more, as
 * long as arenas are missing.
 */
#define ROUND_EVENTS 65u
#define ROUNDS_MAX   20u

static pthread_barrier_t all_there;
static bool is_last_round;

static void *fire_and_stay(void *unused)
{
	bool is_last;

	(void)unused;
	do {
		fire_many((void *)ROUND_EVENTS);
		pthread_barrier_wait(&all_there);
		pthread_barrier_wait(&all_there); /* between the two nobody fires */
		is_last = is_last_round;
	} while (!is_last);
	return NULL;
}

/* How many events each of them has fired. */
static unsigned live_threads(unsigned cnt, unsigned arenas, struct taker *t)
{
	pthread_t *threads = calloc(cnt, sizeof(*threads));
	pthread_attr_t attr;
	unsigned made = 0, round = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 32 * 1024);
	pthread_barrier_init(&all_there, NULL, cnt + 1);
	for (; made < cnt; made++)
		CHECK(!pthread_create(&threads[made], &attr, fire_and_stay, NULL));
	do {
		pthread_barrier_wait(&all_there);
		taker_take(t);
		is_last_round = ++round > 1 && (taker_arenas(t) == arenas || round == ROUNDS_MAX);
		pthread_barrier_wait(&all_there);
	} while (!is_last_round);
	for (unsigned i = 0; i < cnt; i++)
		pthread_join(threads[i], NULL);
	fired += (uint64_t)cnt * round * ROUND_EVENTS;
	free(threads);
	return round * ROUND_EVENTS;
}

static void three_hundred(void)
{
	struct taker t;

	start(&t);
	live_threads(300, 2, &t);
	finish(&t);
	CHECK(taker_arenas(&t) == 2);
	CHECK(t.read[0] == fired);
}

static void more_live_threads_than_an_arena_has_slots(void **state)
{
	(void)state;
	in_child(three_hundred);
}

static void five_thousand(void)
{
	unsigned each;
	struct taker t;

	start(&t);
	each = live_threads(4300, TAPIR_RING_ARENAS, &t);
	finish(&t);
	CHECK(taker_arenas(&t) == TAPIR_RING_ARENAS);
	CHECK(taker_missed(&t, 0) >= 200ull * each); /* 4,096 have a slot */
}

static void more_live_threads_than_all_slots_are_counted(void **state)
{
	(void)state;
	in_child(five_thousand);
}

static void churning(void)
{
	uint64_t own[2] = {0};
	pthread_t steady[2];
	struct taker t;

	start(&t);
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&steady[i], NULL, fire_until_stopped, &own[i]);
	for (unsigned i = 0; i < CASE_PART(100); i++) {
		run_threads(8, 50);
		taker_take(&t);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(steady[i], NULL);
	fired += own[0] + own[1];
	finish(&t);
}

static void threads_that_come_and_go_beside_others_are_counted(void **state)
{
	(void)state;
	in_child(churning);
}

static void forking(void)
{
	struct taker t, of_child;
	int status, ready[2], go[2];
	char byte;
	pid_t pid;

	start(&t);
	fire(), fired++;
	CHECK(!pipe(ready) && !pipe(go));
	pid = fork();
	if (!pid) {
		CHECK(tapir_ring__wanted(&event)); /* the parent's */
		for (unsigned i = 0; i < 1000; i++)
			fire();
		CHECK(!tapir_ring__wanted(&event)); /* its own */
		CHECK(write(ready[1], "r", 1) == 1 && read(go[0], &byte, 1) == 1);
		for (unsigned i = 0; i < 100; i++)
			fire();
		_exit(0);
	}
	CHECK(read(ready[0], &byte, 1) == 1);
	for (unsigned i = 0; i < 100; i++)
		fire(), fired++;
	CHECK(!taker_init(&of_child, pid, 0));
	CHECK(of_child.data[0].owner_tgid == (uint32_t)pid);
	CHECK(!taker_open(&of_child, 0, 1, 1));
	CHECK(write(go[1], "g", 1) == 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	taker_take(&of_child);
	CHECK(of_child.read[0] == 100 && of_child.threads == 1 && !of_child.bad);
	finish(&t);
	CHECK(t.read[0] == 101);
}

static void forked_child_never_writes_its_parents_ring(void **state)
{
	(void)state;
	in_child(forking);
}

static void spawning(void)
{
	char *const argv[] = {(char *)"true", NULL};
	struct taker t;
	pid_t pid;
	int status;

	start(&t);
	for (unsigned i = 0; i < 20; i++) {
		fire(), fired++;
		CHECK(!posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		pid = vfork();
		if (!pid)
			execvp("true", argv), _exit(9);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		fire(), fired++;
	}
	finish(&t);
	CHECK(t.read[0] == 40);
}

static void vfork_and_exec_change_nothing(void **state)
{
	(void)state;
	in_child(spawning);
}

static void without_descriptors(void)
{
	const struct rlimit none = {0, 0};

	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	CHECK(tapir_ring__init() == -EMFILE);
	CHECK(tapir_ring__register(&event, &about) == -ENODEV);
	fire();
	CHECK(!tapir_ring__wanted(&event));
}

static void no_memfd_is_no_lane(void **state)
{
	(void)state;
	in_child(without_descriptors);
}

static void little_address_space(void)
{
	const struct rlimit some = {400u << 20, 400u << 20}, none = {40u << 20, 40u << 20};
	struct taker t;

	CHECK(!setrlimit(RLIMIT_AS, &some));
	start(&t);
	CHECK(t.data[0].ring_bytes < TAPIR_RING_MAX_BYTES);
	for (; fired < 20000; fired++) {
		fire();
		if (fired % 500 == 0)
			taker_take(&t);
	}
	CHECK(!setrlimit(RLIMIT_AS, &none)); /* nothing new can be mapped from here on */
	for (; fired < 40000; fired++)
		fire();
	finish(&t);
}

static void little_address_space_makes_small_rings(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* its shadow takes terabytes of address space */
#endif
	in_child(little_address_space);
}

static void closing_all(void)
{
	struct taker t;

	start(&t);
	fire(), fired++;
	CHECK(!close_range(3, (unsigned)t.ctl_fd - 1, 0)); /* the lane's are lower than ours */
	for (unsigned i = 0; i < 400; i++, usleep(1000))
		fire(), fired++;
	CHECK(tapir_ring__wanted(&event)); /* no heart beat yet for 5 s is needed */
	finish(&t);
}

static void program_that_closes_descriptors_stays_traced(void **state)
{
	(void)state;
	in_child(closing_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_thousand_threads_lose_nothing),
		cmocka_unit_test(more_live_threads_than_an_arena_has_slots),
		cmocka_unit_test(more_live_threads_than_all_slots_are_counted),
		cmocka_unit_test(threads_that_come_and_go_beside_others_are_counted),
		cmocka_unit_test(forked_child_never_writes_its_parents_ring),
		cmocka_unit_test(vfork_and_exec_change_nothing),
		cmocka_unit_test(no_memfd_is_no_lane),
		cmocka_unit_test(little_address_space_makes_small_rings),
		cmocka_unit_test(program_that_closes_descriptors_stays_traced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
