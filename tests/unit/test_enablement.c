// SPDX-License-Identifier: GPL-2.0-or-later
/* Enablement callbacks of include/tapir/provider.h: who asks, for what, and when they are called.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "ring_taker.h"
#include "tapir/listener.h"

#define SHOP	 "Unit-Enabled"
#define CHANGES	 64
#define PATIENCE 30 /* seconds, where something is waited for that takes 100 ms */
#define TEXT_MAX 64

TAPIR_EVENT(Sold, SHOP, "Sold", 1, 0, TAPIR_INFORMATIONAL, 0x1, (U32, Order));
TAPIR_EVENT(Closed, SHOP, "Closed", 2, 0, TAPIR_VERBOSE, 0x2);

static struct tapir_event *const events[] = {&Sold, &Closed};

struct seen {
	struct tapir_enablement all[CHANGES];
	char filters[CHANGES][TEXT_MAX];
	uint32_t cnt;
	pthread_t thread;
};

static void note(struct tapir_provider *provider, const struct tapir_enablement *change, void *ctx)
{
	struct seen *seen = ctx;
	uint32_t i = seen->cnt;

	(void)provider;
	if (i == CHANGES)
		return;
	seen->all[i] = *change;
	strncpy(seen->filters[i], change->filter, TEXT_MAX - 1);
	seen->thread = pthread_self();
	__atomic_store_n(&seen->cnt, i + 1, __ATOMIC_RELEASE);
}

/* Until `cnt` changes were reported, by the library's own thread. */
static void await(const struct seen *seen, uint32_t cnt)
{
	const struct timespec step = {.tv_nsec = 1000000};
	time_t end = time(NULL) + PATIENCE;

	while (__atomic_load_n(&seen->cnt, __ATOMIC_ACQUIRE) < cnt && time(NULL) < end)
		nanosleep(&step, NULL);
	assert_int_equal(__atomic_load_n(&seen->cnt, __ATOMIC_ACQUIRE), cnt);
}

static struct tapir_provider *open_shop_with(tapir_enablement_fn fn, void *ctx, uint32_t flags)
{
	const struct tapir_provider_opts opts = {
		.size = sizeof(opts), .changed = fn, .ctx = ctx, .flags = flags};
	struct tapir_provider *p = NULL;

	assert_int_equal(tapir_provider__new(SHOP, NULL, events, 2, &opts, &p), 0);
	return p;
}

static struct tapir_provider *open_shop(tapir_enablement_fn fn, void *ctx)
{
	return open_shop_with(fn, ctx, 0);
}

static void ignore(const struct tapir_event_record *record, void *ctx)
{
	(void)record, (void)ctx;
}

static struct tapir_listener *listen(uint64_t keywords, uint8_t level, const char *filter)
{
	const struct tapir_selection selection = {SHOP, NULL, filter, keywords, level, {0}};
	const struct tapir_listener_opts opts = {.size = sizeof(opts),
						 .flags = TAPIR_LISTENER_POLLED};
	struct tapir_listener *l = NULL;

	assert_int_equal(tapir_listener__open(&selection, 1, ignore, NULL, &opts, &l), 0);
	return l;
}

static void expect(const struct seen *seen, uint32_t i, uint32_t kind, int is_on, uint8_t level,
		   uint64_t keywords)
{
	assert_int_equal(seen->all[i].size, sizeof(struct tapir_enablement));
	assert_int_equal(seen->all[i].kind, kind);
	assert_int_equal(seen->all[i].is_on, is_on);
	assert_int_equal(seen->all[i].level, level);
	assert_true(seen->all[i].keywords == keywords);
}

static void expect_union(const struct seen *seen, uint32_t i, int is_on, uint8_t level,
			 uint64_t keywords)
{
	assert_int_equal(seen->all[i].all_is_on, is_on);
	assert_int_equal(seen->all[i].all_level, level);
	assert_true(seen->all[i].all_keywords == keywords);
}

static void listeners_are_reported_with_their_filters_and_the_union(void **state)
{
	struct seen seen = {.cnt = 0};
	struct tapir_provider *p = open_shop(note, &seen);
	struct tapir_listener *first = listen(0x1, TAPIR_WARNING, "Rate=5"), *second;

	(void)state;
	await(&seen, 1);
	expect(&seen, 0, TAPIR_SESSION_LISTENER, 1, TAPIR_WARNING, 0x1);
	expect_union(&seen, 0, 1, TAPIR_WARNING, 0x1);
	assert_string_equal(seen.filters[0], "Rate=5");
	assert_false(pthread_equal(seen.thread, pthread_self()));
	second = listen(0, 0, NULL);
	await(&seen, 2);
	expect(&seen, 1, TAPIR_SESSION_LISTENER, 1, TAPIR_VERBOSE, ~0ull);
	expect_union(&seen, 1, 1, TAPIR_VERBOSE, ~0ull);
	assert_int_not_equal(seen.all[0].session, seen.all[1].session);
	tapir_listener__close(second);
	await(&seen, 3);
	expect(&seen, 2, TAPIR_SESSION_LISTENER, 0, 0, 0);
	assert_int_equal(seen.all[2].session, seen.all[1].session);
	expect_union(&seen, 2, 1, TAPIR_WARNING, 0x1);
	tapir_listener__close(first);
	await(&seen, 4);
	expect_union(&seen, 3, 0, 0, 0);
	tapir_provider__free(p);
}

static void what_was_asked_before_the_provider_came_is_reported(void **state)
{
	struct tapir_listener *l = listen(0x2, TAPIR_ERROR, "A=1;B=2");
	struct seen seen = {.cnt = 0};
	struct tapir_provider *p = open_shop(note, &seen);

	(void)state;
	await(&seen, 1);
	expect(&seen, 0, TAPIR_SESSION_LISTENER, 1, TAPIR_ERROR, 0x2);
	assert_string_equal(seen.filters[0], "A=1;B=2");
	tapir_provider__free(p);
	tapir_listener__close(l);
	assert_int_equal(seen.cnt, 1);
}

/* What the kernel does to the word when a tool attaches; nothing wakes the library then. */
static void a_semaphore_alone_is_reported(void **state)
{
	struct seen seen = {.cnt = 0};
	struct tapir_provider *p = open_shop(note, &seen);

	(void)state;
	__atomic_add_fetch(&Closed.word.half.semaphore, 1, __ATOMIC_SEQ_CST);
	await(&seen, 1);
	expect(&seen, 0, TAPIR_SESSION_USDT, 1, TAPIR_VERBOSE, 0x2);
	__atomic_sub_fetch(&Closed.word.half.semaphore, 1, __ATOMIC_SEQ_CST);
	await(&seen, 2);
	expect(&seen, 1, TAPIR_SESSION_USDT, 0, 0, 0);
	expect_union(&seen, 1, 0, 0, 0);
	tapir_provider__free(p);
}

static void a_tracer_of_the_ring_is_reported_with_its_filter(void **state)
{
	static struct taker t;
	static const char args[] = "Interval=7";
	struct seen seen = {.cnt = 0};
	struct tapir_provider *p = open_shop(note, &seen);
	struct tapir_ring_selection *s;

	(void)state;
	assert_int_equal(taker_init(&t, getpid(), 3), 0);
	s = &t.ctl->selections[3][0];
	*s = (struct tapir_ring_selection){.keywords = 0x1, .used = 1, .level = TAPIR_ERROR};
	strcpy(s->provider, SHOP);
	memcpy(t.ctl->text[3], args, sizeof(args) - 1);
	s->args_bytes = sizeof(args) - 1;
	assert_int_equal(taker_open(&t, 0, 0, 0), 0);
	tapir_provider__poll();
	await(&seen, 1);
	expect(&seen, 0, TAPIR_SESSION_RING, 1, TAPIR_ERROR, 0x1);
	assert_int_equal(seen.all[0].session, 3);
	assert_string_equal(seen.filters[0], args);
	taker_close(&t);
	tapir_provider__poll();
	await(&seen, 2);
	expect(&seen, 1, TAPIR_SESSION_RING, 0, 0, 0);
	s->used = 0;
	tapir_provider__free(p);
}

/* ---- what a callback may do ------------------------------------------------------------------- */

static struct tapir_provider *inner;
static uint32_t busy_cnt, is_held, is_inside;

/* Each of these takes the lock of the library: with it held, none would return. */
static void do_all(struct tapir_provider *provider, const struct tapir_enablement *change,
		   void *ctx)
{
	struct tapir_listener *l;

	if (change->kind != TAPIR_SESSION_LISTENER || !change->is_on || busy_cnt)
		return;
	assert_string_equal(tapir_provider__name(provider), SHOP);
	TAPIR_FIRE(Sold, 1);
	l = listen(0, 0, NULL);
	TAPIR_FIRE(Sold, 2);
	tapir_listener__poll(l);
	tapir_listener__close(l);
	tapir_provider__poll();
	tapir_provider__new("Unit-Inner", NULL, NULL, 0, NULL, ctx);
	__atomic_add_fetch(&busy_cnt, 1, __ATOMIC_RELEASE);
}

static void a_callback_may_fire_listen_and_make_providers(void **state)
{
	const struct timespec step = {.tv_nsec = 1000000};
	struct tapir_provider *p = open_shop(do_all, &inner);
	struct tapir_listener *l = listen(0x1, 0, NULL);
	time_t end = time(NULL) + PATIENCE;

	(void)state;
	while (!__atomic_load_n(&busy_cnt, __ATOMIC_ACQUIRE) && time(NULL) < end)
		nanosleep(&step, NULL);
	assert_int_equal(busy_cnt, 1);
	assert_non_null(inner);
	tapir_listener__close(l);
	tapir_provider__free(p);
	tapir_provider__free(inner);
}

static void stay(struct tapir_provider *provider, const struct tapir_enablement *change, void *ctx)
{
	const struct timespec step = {.tv_nsec = 1000000};

	(void)provider, (void)change, (void)ctx;
	__atomic_store_n(&is_inside, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE))
		nanosleep(&step, NULL);
	nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
	__atomic_store_n(&is_inside, 0, __ATOMIC_RELEASE);
}

static void freeing_waits_for_a_callback_that_runs(void **state)
{
	struct tapir_listener *l = listen(0x1, 0, NULL);
	const struct timespec step = {.tv_nsec = 1000000};
	struct tapir_provider *p;

	(void)state;
	__atomic_store_n(&is_held, 1, __ATOMIC_RELEASE);
	p = open_shop(stay, NULL);
	while (!__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE))
		nanosleep(&step, NULL);
	__atomic_store_n(&is_held, 0, __ATOMIC_RELEASE);
	tapir_provider__free(p);
	assert_false(__atomic_load_n(&is_inside, __ATOMIC_ACQUIRE));
	tapir_listener__close(l);
	assert_false(TAPIR_EVENT_ENABLED(Sold));
}

/* ---- in a forked child ---------------------------------------------------------------------- */

static int is_followed(void)
{
	return !(__atomic_load_n(&Sold.word.half.sessions, __ATOMIC_RELAXED) &
		 TAPIR_SESSIONS_CHECK);
}

static void fire_often(int nr)
{
	(void)nr;
	for (int i = 0; i < 200; i++)
		TAPIR_FIRE(Sold, 1);
}

/* In a child. 1: events of handlers started no thread, the first one after them did. */
static int is_started_outside_handlers(const struct seen *seen)
{
	const struct timespec step = {.tv_nsec = 1000000};
	struct sigaction action = {.sa_handler = fire_often};
	uint32_t before = seen->cnt;
	time_t end = time(NULL) + PATIENCE;

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	if (is_followed() || seen->cnt != before)
		return 0;
	fire_often(0);
	/* The listener is the parent's. */
	while (__atomic_load_n(&seen->cnt, __ATOMIC_ACQUIRE) == before && time(NULL) < end)
		nanosleep(&step, NULL);
	return is_followed() && seen->cnt == before + 1 && !seen->all[before].is_on &&
	       !pthread_equal(seen->thread, pthread_self());
}

/* Where such a handler may run nobody knows whether it does. */
static int is_never_started_with_nodefer(const struct seen *seen)
{
	struct sigaction action = {.sa_handler = fire_often, .sa_flags = SA_NODEFER};
	uint32_t before = seen->cnt;

	sigaction(SIGUSR1, &action, NULL);
	fire_often(0);
	usleep(20000);
	return !is_followed() && seen->cnt == before && !tapir_provider__poll() && is_followed();
}

/* A program that fires inside its malloc may fork: pthread_create would call it again. */
static int is_started_by_poll_alone(const struct seen *seen)
{
	uint32_t before = seen->cnt;

	fire_often(0);
	usleep(20000);
	return !is_followed() && seen->cnt == before && !tapir_provider__poll() && is_followed() &&
	       seen->cnt == before + 1;
}

static void a_child_s_thread_is_started_by_an_event_only_if_asked_for(void **state)
{
	static const struct {
		int (*body)(const struct seen *);
		uint32_t flags;
	} cases[] = {
		{is_started_outside_handlers, TAPIR_PROVIDER_CHILD_THREAD},
		{is_never_started_with_nodefer, TAPIR_PROVIDER_CHILD_THREAD},
		{is_started_by_poll_alone, 0},
	};

	(void)state;
#if defined(__SANITIZE_THREAD__) || defined(TAPIR_UNDER_QEMU)
	skip(); /* they start no thread in a child */
#endif
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static struct seen seen;
		struct tapir_provider *p = open_shop_with(note, &seen, cases[i].flags);
		struct tapir_listener *l = listen(0, 0, NULL);
		int status;
		pid_t pid;

		await(&seen, 1);
		pid = fork();
		if (!pid) {
			alarm(2 * PATIENCE);
			_exit(!cases[i].body(&seen));
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		tapir_listener__close(l);
		tapir_provider__free(p);
		memset(&seen, 0, sizeof(seen));
	}
}

#define MANY	  10000u
/* CPU time: opening takes 5 ms, and took 200 when each provider was compared with each. */
#define ENOUGH_NS 60000000

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void count_call(struct tapir_provider *provider, const struct tapir_enablement *change,
		       void *ctx)
{
	(void)provider;
	(void)change;
	__atomic_fetch_add((uint32_t *)ctx, 1, __ATOMIC_RELAXED);
}

struct many {
	char name[24];
	struct tapir_event_about about;
	struct tapir_event event;
	struct tapir_provider *provider;
};

static void make_many(struct many *all, uint32_t *called)
{
	const struct tapir_provider_opts opts = {.size = sizeof(opts),
						 .changed = count_call,
						 .ctx = called,
						 .flags = TAPIR_PROVIDER_NO_THREAD};

	for (uint32_t i = 0; i < MANY; i++) {
		struct tapir_event *const list[] = {&all[i].event};

		snprintf(all[i].name, sizeof(all[i].name), "Unit-Many-%u", i);
		all[i].about = (struct tapir_event_about){
			.provider = all[i].name, .name = "E", .id = 1, .level = 4};
		all[i].event.about = &all[i].about;
		assert_int_equal(
			tapir_provider__new(all[i].name, NULL, list, 1, &opts, &all[i].provider),
			0);
	}
}

/* One poll reaches all of them, and opening a session compares no provider with each other. */
static void sessions_cost_as_much_as_there_are_providers(void **state)
{
	const struct tapir_listener_opts polled = {.size = sizeof(polled),
						   .flags = TAPIR_LISTENER_POLLED};
	const struct tapir_selection everything = {"Unit-Many-*", NULL, NULL, 0, 0, {0}};
	struct many *all;
	uint64_t least_ns = UINT64_MAX;
	uint32_t called = 0;

	(void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(TAPIR_UNDER_QEMU)
	skip(); /* times of theirs */
#endif
	all = calloc(MANY, sizeof(*all));
	assert_non_null(all);
	assert_int_equal(tapir_library__fini(), 0); /* the thread of the cases before */
	make_many(all, &called);
	for (uint32_t i = 0; i < 5; i++) {
		struct tapir_listener *l;
		uint64_t from_ns = cpu_ns(), took_ns;

		assert_int_equal(tapir_listener__open(&everything, 1, ignore, NULL, &polled, &l),
				 0);
		took_ns = cpu_ns() - from_ns;
		least_ns = took_ns < least_ns ? took_ns : least_ns;
		called = 0;
		assert_int_equal(tapir_provider__poll(), 0);
		assert_int_equal(called, MANY);
		assert_int_equal(tapir_listener__close(l), 0);
		assert_int_equal(tapir_provider__poll(), 0);
		assert_int_equal(called, 2 * MANY);
	}
	if (least_ns > ENOUGH_NS)
		fail_msg("opening took %lu ns", least_ns);
	for (uint32_t i = 0; i < MANY; i++)
		tapir_provider__free(all[i].provider);
	free(all);
	assert_int_equal(tapir_library__fini(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listeners_are_reported_with_their_filters_and_the_union),
		cmocka_unit_test(what_was_asked_before_the_provider_came_is_reported),
		cmocka_unit_test(a_semaphore_alone_is_reported),
		cmocka_unit_test(a_tracer_of_the_ring_is_reported_with_its_filter),
		cmocka_unit_test(a_callback_may_fire_listen_and_make_providers),
		cmocka_unit_test(freeing_waits_for_a_callback_that_runs),
		cmocka_unit_test(sessions_cost_as_much_as_there_are_providers),
		cmocka_unit_test(a_child_s_thread_is_started_by_an_event_only_if_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
