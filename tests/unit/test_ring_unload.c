/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring lane taken down as ring_writer.h says: by a library that is unloaded while its callers
 * and others go on, and by one that stays and makes it anew.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring_case.h"

#define WORKERS 6

static struct {
	int (*fire)(uint64_t number);
	int is_open;
	uint32_t inside_cnt;
	uint64_t fired, written;
} gate;

/* As a runtime's callback: through a gate, counted while it is inside. */
static void *fire_through_gate(void *until)
{
	while (!__atomic_load_n((int *)until, __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(&gate.inside_cnt, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&gate.is_open, __ATOMIC_SEQ_CST)) {
			int written = gate.fire(7);

			__atomic_fetch_add(&gate.fired, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&gate.written, (unsigned)written, __ATOMIC_RELAXED);
		}
		__atomic_fetch_sub(&gate.inside_cnt, 1, __ATOMIC_RELEASE);
		if (!__atomic_load_n(&gate.is_open, __ATOMIC_RELAXED))
			usleep(200);
	}
	return NULL;
}

static void plug_path(char *path, size_t room)
{
	ssize_t len = readlink("/proc/self/exe", path, room - 1);
	char *slash;

	path[len > 0 ? len : 0] = 0;
	slash = strrchr(path, '/');
	CHECK(slash && (size_t)(slash - path) + 24 < room);
	strcpy(slash, "/../targets/ringplug");
}

static void load_under(const char *path, uint64_t key)
{
	void *plug = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*init)(uint64_t) = plug ? (int (*)(uint64_t))dlsym(plug, "plug_init") : NULL;
	void (*fini)(void) = plug ? (void (*)(void))dlsym(plug, "plug_fini") : NULL;
	struct taker t;

	CHECK(init && fini);
	CHECK(!init(key));
	CHECK(!taker_init_key(&t, getpid(), 0, key));
	CHECK(t.ctl->flags == TAPIR_RING_CTL_PRIVATE);
	CHECK(!taker_open(&t, 0, 1, CASE_STACKS));
	gate.fire = (int (*)(uint64_t))dlsym(plug, "plug_fire");
	gate.fired = gate.written = 0;
	__atomic_store_n(&gate.is_open, 1, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < 20; i++, usleep(2000))
		taker_take(&t);
	__atomic_store_n(&gate.is_open, 0, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&gate.inside_cnt, __ATOMIC_ACQUIRE))
		sched_yield();
	taker_close(&t);
	CHECK(t.read[0] == gate.written && gate.written > 0 && !t.bad && !t.unnamed);
	CHECK(t.read[0] + taker_missed(&t, 0) == gate.fired);
	fini();
	taker_fini(&t);
	CHECK(taker_find_key(getpid(), TAPIR_RING_DATA_NAME "0", O_RDONLY, key) < 0);
	CHECK(!dlclose(plug));
	CHECK(!dlopen(path, RTLD_NOW | RTLD_NOLOAD));
}

static void unloading(void)
{
	int leave[2] = {0, 0}; /* the first half of the workers leaves each time */
	uint64_t own[2] = {0};
	pthread_t steady[2], workers[WORKERS];
	struct taker t;
	char path[512];

	plug_path(path, sizeof(path));
	start(&t);
	for (unsigned i = 0; i < 2; i++)
		pthread_create(&steady[i], NULL, fire_until_stopped, &own[i]);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, fire_through_gate, &leave[i % 2]);
	for (unsigned cycle = 0; cycle < CASE_PART(6); cycle++) {
		load_under(path, 1000 + cycle);
		__atomic_store_n(&leave[0], 1, __ATOMIC_RELEASE);
		for (unsigned i = 0; i < WORKERS; i += 2)
			pthread_join(workers[i], NULL);
		__atomic_store_n(&leave[0], 0, __ATOMIC_RELEASE);
		for (unsigned i = 0; i < WORKERS; i += 2)
			pthread_create(&workers[i], NULL, fire_through_gate, &leave[0]);
		taker_take(&t);
	}
	for (unsigned i = 0; i < 2; i++)
		__atomic_store_n(&leave[i], 1, __ATOMIC_RELEASE);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(steady[i], NULL);
	fired = own[0] + own[1];
	finish(&t);
}

static void a_library_with_a_lane_is_unloaded_under_load(void **state)
{
	(void)state;
	in_child(unloading);
}

static pthread_barrier_t turn;

static void *fire_each_turn(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 6; i++) {
		pthread_barrier_wait(&turn);
		for (unsigned n = 0; n < 100; n++)
			fire();
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void taking_down_and_up(void)
{
	pthread_t threads[4];
	struct taker t;

	pthread_barrier_init(&turn, NULL, 5);
	start(&t);
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, fire_each_turn, NULL);
	for (unsigned i = 0; i < 3; i++) {
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		fired = 400;
		finish(&t);
		CHECK(t.read[0] == 400);
		taker_fini(&t);
		tapir_ring__fini(); /* the event is still registered, and off */
		CHECK(!tapir_ring__wanted(&event));
		CHECK(taker_init(&t, getpid(), 0) < 0);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		start(&t);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void a_lane_taken_down_is_off_and_comes_up_again(void **state)
{
	(void)state;
	in_child(taking_down_and_up);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_with_a_lane_is_unloaded_under_load),
		cmocka_unit_test(a_lane_taken_down_is_off_and_comes_up_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
