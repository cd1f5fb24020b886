/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with a ring lane forks: each state that a child can be in, by what it does then. The
 * witness is the child's wait status; where a tracer was there, its counts as well.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "fork_deeds.h"
#include "ring_case.h"

#if defined(__SANITIZE_ADDRESS__)
/* Children end in the middle of a case: what cmocka has allocated is no leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/* ---- states of the parent ---------------------------------------------------------------- */

static void never_fired(void)
{
	CHECK(!tapir_ring__init());
	CHECK(!tapir_ring__register(&event, &about));
	each_deed();
}

static void fired_without_a_tracer(void)
{
	CHECK(!tapir_ring__init());
	CHECK(!tapir_ring__register(&event, &about));
	fire_some();
	each_deed();
}

static void fired_and_traced(void)
{
	start(&taker);
	fire_some();
	each_deed();
	fired = 100;
	finish(&taker);
}

static void take_with_children(void)
{
	CHECK(!tapir_ring__init());
	CHECK(!tapir_ring__register(&event, &about));
	CHECK(!taker_init(&taker, getpid(), 0));
	taker.ctl->selections[0][0].used = 1;
	strcpy(taker.ctl->selections[0][0].provider, "*");
	CHECK(!taker_open(&taker, 0, 1, CASE_STACKS));
	taker_session(&taker)->flags |= TAPIR_RING_WANTS_CHILDREN;
}

static void fired_and_its_tracer_wants_children(void)
{
	take_with_children();
	fire_some();
	each_deed();
	fired = 100;
	finish(&taker);
}

/* Fires an event whose USDT site is attached; returns true if begin takes it into the ring. */
static int takes_probed(void)
{
	static const struct tapir_ring_ids ids = {.is_probed = 1};
	struct tapir_ring_write write = {.taken = ~0ull};

	if (tapir_ring__begin_at(&write, &event, 8, &ids, __builtin_frame_address(0))) {
		memset(write.payload, 0, 8);
		tapir_ring__commit(&write);
		CHECK(write.taken % 4096 == 1u << taker.s);
		return 1;
	}
	CHECK(!write.taken);
	return 0;
}

static void fire_probed_in_child(void)
{
	for (unsigned i = 0; i < 100; i++)
		CHECK(!takes_probed());
	fire_some();
}

/* A child's events that the tracer's probes have are in neither count. */
static void its_tracer_has_probes(void)
{
	uint64_t before;

	take_with_children();
	taker_session(&taker)->flags |= TAPIR_RING_HAS_PROBES;
	CHECK(takes_probed());
	before = taker.ctl->child_fired[taker.s];
	for (unsigned i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (!pid) {
			fire_probed_in_child();
			_exit(0);
		}
		wait_for(pid);
	}
	CHECK(taker.ctl->child_fired[taker.s] - before == 200);
	fired = 1;
	finish(&taker);
}

static void no_lane_any_more(void)
{
	CHECK(!tapir_ring__init());
	CHECK(!tapir_ring__register(&event, &about));
	fire_some();
	tapir_ring__fini();
	for (size_t i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			deeds[i]();
			exit(0);
		}
		wait_for(pid);
	}
}

static void every_deed_of_a_child_that_never_fired(void **state)
{
	(void)state;
	in_child(never_fired);
}

static void every_deed_of_a_child_whose_parent_fired(void **state)
{
	(void)state;
	in_child(fired_without_a_tracer);
}

static void every_deed_of_a_child_whose_parent_is_traced(void **state)
{
	(void)state;
	in_child(fired_and_traced);
}

static void every_deed_of_a_child_that_is_to_be_traced(void **state)
{
	(void)state;
	in_child(fired_and_its_tracer_wants_children);
}

static void a_child_leaves_probed_events_to_its_tracers_probes(void **state)
{
	(void)state;
	in_child(its_tracer_has_probes);
}

static void a_child_after_the_lane_was_taken_down(void **state)
{
	(void)state;
	in_child(no_lane_any_more);
}

/* Until a process is in the parent's ctl. */
static void wait_until_told(uint64_t cnt)
{
	while (__atomic_load_n(&taker.ctl->child_cnt, __ATOMIC_ACQUIRE) < cnt)
		;
}

/* A tracer looks once: with many events to describe, it came too early for the lane. */
static void tracers_are_told_early(void)
{
	static struct tapir_ring_event many[1000];
	uint64_t magic = 0;

	take_with_children();
	for (unsigned i = 0; i < 1000; i++)
		CHECK(!tapir_ring__register(&many[i], &about));
	for (uint64_t i = 0; i < 20; i++) {
		pid_t pid = fork();
		int fd;

		if (!pid) {
			fire();
			sleep(10);
			_exit(0);
		}
		wait_until_told(i + 1);
		fd = taker_find(pid, TAPIR_RING_CTL_NAME, O_RDONLY);
		CHECK(pread(fd, &magic, sizeof(magic), 0) == sizeof(magic));
		CHECK(magic == TAPIR_RING_CTL_MAGIC);
		close(fd);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

static void a_child_s_lane_is_ready_when_tracers_are_told(void **state)
{
	(void)state;
	in_child(tracers_are_told_early);
}

/* ---- a fork in the middle of things ------------------------------------------------------- */

static void fork_while_threads_fire(void)
{
	uint64_t own[4] = {0};
	pthread_t threads[4];

	start(&taker);
	for (unsigned i = 0; i < 4; i++)
		CHECK(!pthread_create(&threads[i], NULL, fire_until_stopped, &own[i]));
	for (unsigned i = 0; i < CASE_PART(6); i++) {
		each_deed();
		taker_take(&taker);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		fired += own[i];
	}
	finish(&taker);
}

static void others_are_in_the_middle_of_an_event(void **state)
{
	(void)state;
	in_child(fork_while_threads_fire);
}

static pid_t (*make_child)(void);
static void (*deed)(void);
static volatile pid_t child_of_handler;
static volatile sig_atomic_t handler_cnt;

/* The child does its deed first (mostly it exits in there), or continues with the event. */
static void fork_in_handler(int sig)
{
	pid_t pid;

	(void)sig;
	if (child_of_handler)
		return;
	pid = make_child();
	if (!pid) {
		alarm(30);
		child_of_handler = -1;
		if (deed)
			deed();
		return;
	}
	child_of_handler = pid;
	handler_cnt++;
}

/*
 * The event is open while the handler runs: the child comes back from the handler with the payload
 * to fill in memory that is its parent's.
 */
static void fork_within_an_event(void)
{
	struct tapir_ring_write write;

	CHECK(tapir_ring__begin(&write, &event, 20000));
	raise(SIGUSR1);
	memset(write.payload, 7, 20000);
	tapir_ring__commit(&write);
	fire_some();
	if (child_of_handler < 0)
		_exit(0);
	wait_for(child_of_handler);
	child_of_handler = 0;
}

/* Not: what takes the lane down, which must not be done while an event is under way. */
static void each_deed_within_an_event(void)
{
	static void (*const some[])(void) = {do_nothing, fire_some, register_and_unregister,
					     unregister_first, fire_in_threads};

	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		deed = some[i];
		fork_within_an_event();
		taker_take(&taker);
	}
}

static void handlers_fork_within(void)
{
	signal(SIGUSR1, fork_in_handler);
	start(&taker);
	make_child = by_fork;
	each_deed_within_an_event();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	make_child = by_clone;
	each_deed_within_an_event();
#endif
	fired = 101ull * (uint64_t)handler_cnt;
	finish(&taker);
}

static void a_handler_forks_while_an_event_is_open(void **state)
{
	(void)state;
	in_child(handlers_fork_within);
}

/* Wherever it hits: in a first event, in a walk, between two stores of a commit. */
static void timer_forks(pid_t (*make)(void), unsigned rounds)
{
	make_child = make;
	deed = NULL;
	for (unsigned i = 0; i < rounds; i++) {
		struct itimerval soon = {.it_value.tv_usec = 50 + rand() % 400};

		child_of_handler = 0;
		CHECK(!setitimer(ITIMER_REAL, &soon, NULL));
		while (!child_of_handler) {
			fire();
			fired++;
		}
		fire_some();
		if (child_of_handler < 0) {
			if (i % 2)
				tapir_ring__fini();
			_exit(0);
		}
		fired += 100;
		wait_for(child_of_handler);
		taker_take(&taker);
	}
}

static void timers_fork(void)
{
	struct sigaction act = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};

	CHECK(!sigaction(SIGALRM, &act, NULL));
	start(&taker);
	timer_forks(by_fork, CASE_PART(150));
	finish(&taker);
}

static void a_handler_forks_anywhere_in_an_event(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip(); /* their own locks may be held where the signal hits */
#endif
	in_child(timers_fork);
}

static void fork_by_clone_anywhere(void)
{
	struct sigaction act = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};

	CHECK(!sigaction(SIGALRM, &act, NULL));
	start(&taker);
	timer_forks(by_clone, CASE_PART(150));
	taker_close(&taker);
}

/* No handler of the library runs then: what counts is that no child dies. */
static void a_handler_clones_anywhere_in_an_event(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	in_child(fork_by_clone_anywhere);
}

/* ---- handlers of pthread_atfork that fire -------------------------------------------------- */

static void atfork_fires(void)
{
	CHECK(!pthread_atfork(fire_some, fire_some, fire_some)); /* before the lane's */
	CHECK(!tapir_ring__init());
	CHECK(!pthread_atfork(fire_some, fire_some, fire_some)); /* and after it */
	CHECK(!tapir_ring__register(&event, &about));
	CHECK(!taker_init(&taker, getpid(), 0));
	CHECK(!taker_open(&taker, 0, 1, CASE_STACKS));
	each_deed_by(by_fork);
	fired = 400ull * sizeof(deeds) / sizeof(deeds[0]);
	finish(&taker);
}

static void handlers_of_fork_fire(void **state)
{
	(void)state;
	in_child(atfork_fires);
}

/* ---- vfork ---------------------------------------------------------------------------------- */

static void vforking(void)
{
	start(&taker);
	for (unsigned i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (!pid) {
			fire(); /* in the parent's memory: as the parent */
			_exit(0);
		}
		wait_for(pid);
		fire();
	}
	fired = 40;
	finish(&taker);
	CHECK(taker.read[0] == 40);
}

static void a_child_of_vfork_fires_as_its_parent(void **state)
{
	(void)state;
#if defined(__SANITIZE_THREAD__)
	skip();
#endif
	in_child(vforking);
}

/* ---- a child that cannot make a lane --------------------------------------------------------- */

static void without_descriptors(void)
{
	struct taker t;
	pid_t pid;

	CHECK(!tapir_ring__init());
	CHECK(!tapir_ring__register(&event, &about));
	CHECK(!taker_init(&t, getpid(), 0));
	t.ctl->selections[0][0].used = 1;
	strcpy(t.ctl->selections[0][0].provider, "*");
	CHECK(!taker_open(&t, 0, 1, CASE_STACKS));
	taker_session(&t)->flags |= TAPIR_RING_WANTS_CHILDREN;
	pid = fork();
	if (!pid) {
		const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};

		CHECK(!setrlimit(RLIMIT_NOFILE, &none));
		fire_some();
		fire_some();
		tapir_ring__fini();
		_exit(0);
	}
	wait_for(pid);
	CHECK(t.ctl->child_fired[0] == 200);
	CHECK(t.ctl->child_cnt == 0);
	pid = fork();
	if (!pid) {
		fire_some();
		_exit(0);
	}
	wait_for(pid);
	CHECK(t.ctl->child_fired[0] == 300);
	CHECK(t.ctl->child_cnt == 1 && t.ctl->children[0] == (uint32_t)pid);
	taker_close(&t);
	CHECK(t.read[0] == 0 && !t.bad);
}

static void what_a_child_without_a_lane_fires_is_counted(void **state)
{
	(void)state;
	in_child(without_descriptors);
}

int main(void)
{
#if defined(__SANITIZE_THREAD__)
	puts("ThreadSanitizer waits for ever in children that end in a deed");
	return CASE_SKIP;
#endif
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_deed_of_a_child_that_never_fired),
		cmocka_unit_test(every_deed_of_a_child_whose_parent_fired),
		cmocka_unit_test(every_deed_of_a_child_whose_parent_is_traced),
		cmocka_unit_test(every_deed_of_a_child_that_is_to_be_traced),
		cmocka_unit_test(a_child_leaves_probed_events_to_its_tracers_probes),
		cmocka_unit_test(a_child_after_the_lane_was_taken_down),
		cmocka_unit_test(a_child_s_lane_is_ready_when_tracers_are_told),
		cmocka_unit_test(others_are_in_the_middle_of_an_event),
		cmocka_unit_test(a_handler_forks_while_an_event_is_open),
		cmocka_unit_test(a_handler_forks_anywhere_in_an_event),
		cmocka_unit_test(a_handler_clones_anywhere_in_an_event),
		cmocka_unit_test(handlers_of_fork_fire),
		cmocka_unit_test(a_child_of_vfork_fires_as_its_parent),
		cmocka_unit_test(what_a_child_without_a_lane_fires_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
