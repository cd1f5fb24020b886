// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sessions of every kind are opened and closed in a loop while 8 threads fire, and a provider comes
 * and goes under them. Nobody sees a payload that was not written, and the listener that is there
 * all the time has each event or has counted it. TAPIR_STORM_SECONDS: 10.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ring_taker.h"
#include "tapir/counter.h"
#include "tapir/logger.h"

#define PROVIDER "Unit-Storm"
#define THREADS	 8
#define TEXT	 "the storm's text"

TAPIR_EVENT(Steady, PROVIDER, "Steady", 1, 0, TAPIR_WARNING, 0x1, (U32, Number), (UTF8, Text),
	    (U32, Again));
TAPIR_EVENT(Coming, PROVIDER "-Other", "Coming", 1, 0, TAPIR_WARNING, 0x1, (U32, Number),
	    (UTF8, Text), (U32, Again));

static struct tapir_event *const steady[] = {&Steady}, *const coming[] = {&Coming};
static const struct tapir_selection all = {PROVIDER "*", NULL, NULL, 0, 0, {0}},
				    one = {PROVIDER, "Steady", NULL, 0, 0, {0}};
static struct tapir_provider *provider;
static struct tapir_counter *counter;
static uint64_t fired_cnt, wrong_cnt, steady_cnt, seen_cnt, read_cnt, called_cnt;
static uint32_t has_ended;

static void check_payload(const char *name, const uint8_t *payload, uint32_t bytes)
{
	uint32_t number, again;

	/* Of the counter: an interval may end while others listen. */
	if (!strcmp(name, "EventCounters"))
		return;

	if (bytes == 8 + sizeof(TEXT) && !memcmp(payload + 4, TEXT, sizeof(TEXT))) {
		memcpy(&number, payload, sizeof(number));
		memcpy(&again, payload + 4 + sizeof(TEXT), sizeof(again));
		if (number == ~again)
			return;
	}
	if (!__atomic_fetch_add(&wrong_cnt, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "wrong: %s of %u bytes\n", name, bytes);
}

static void see(const struct tapir_event_record *r, void *cnt)
{
	check_payload(r->kind->about->name, r->payload, r->payload_bytes);
	__atomic_fetch_add((uint64_t *)cnt, 1, __ATOMIC_RELAXED);
}

static void see_sample(const struct tapir_counter_sample *s, void *ctx)
{
	(void)ctx;
	if (strcmp(s->name, "fired") != 0)
		__atomic_fetch_add(&wrong_cnt, 1, __ATOMIC_RELAXED);
}

static void see_change(struct tapir_provider *p, const struct tapir_enablement *change, void *ctx)
{
	(void)p, (void)change, (void)ctx;
	__atomic_fetch_add(&called_cnt, 1, __ATOMIC_RELAXED);
}

static void *fire_until_over(void *arg)
{
	uint32_t number = (uint32_t)(uintptr_t)arg << 24;

	for (; !__atomic_load_n(&has_ended, __ATOMIC_RELAXED); number++) {
		TAPIR_FIRE(Steady, number, TEXT, ~number);
		TAPIR_FIRE(Coming, number, TEXT, ~number);
		tapir_counter__write(counter, 1);
	}
	__atomic_fetch_add(&fired_cnt, number - ((uint32_t)(uintptr_t)arg << 24), __ATOMIC_RELAXED);
	return NULL;
}

/* ---- what comes and goes ---------------------------------------------------------------------- */

static void pause_us(unsigned most)
{
	const struct timespec time = {.tv_nsec = (long)(1000 * (1 + (unsigned)rand() % most))};

	nanosleep(&time, NULL);
}

static void listen_for_a_moment(int is_polled)
{
	const struct tapir_listener_opts opts = {.size = sizeof(opts),
						 .buffer_bytes = 4096,
						 .interval_ms = 1,
						 .flags = is_polled ? TAPIR_LISTENER_POLLED : 0};
	struct tapir_listener *l;

	assert_int_equal(tapir_listener__open(&all, 1, see, &seen_cnt, &opts, &l), 0);
	pause_us(3000);
	if (is_polled)
		assert_true(tapir_listener__poll(l) >= 0);
	assert_int_equal(tapir_listener__close(l), 0);
}

static void log_for_a_moment(int with_stacks)
{
	const struct tapir_logger_opts opts = {.size = sizeof(opts),
					       .flags = with_stacks ? TAPIR_LOGGER_STACKS : 0};
	struct tapir_logger *l;

	assert_int_equal(tapir_logger__open(&all, 1, see, &seen_cnt, &opts, &l), 0);
	pause_us(2000);
	assert_int_equal(tapir_logger__close(l), 0);
}

static void take(const struct tapir_rec_event *event, const uint8_t *payload)
{
	check_payload("Steady", payload, event->payload_bytes);
	read_cnt++;
}

/* Steady is the first event that was registered. */
static void trace_for_a_moment(unsigned session, int with_stacks)
{
	struct taker taker;
	int err;

	assert_int_equal(taker_init(&taker, getpid(), session), 0);
	taker.on_event = take;
	/* One that is busy belongs to a tapir that records all processes of this machine. */
	do {
		taker.s = session++ % TAPIR_RING_SESSIONS;
		err = taker_open(&taker, 0, 1, with_stacks);
	} while (err == -EAGAIN && session < 2 * TAPIR_RING_SESSIONS);
	assert_int_equal(err, 0);
	tapir_provider__poll();
	pause_us(2000);
	taker_take(&taker);
	pause_us(500);
	taker_close(&taker);
	assert_int_equal(taker.bad, 0);
	assert_int_equal(taker.unnamed, 0);
	taker_fini(&taker);
}

static void count_for_a_moment(void)
{
	struct tapir_counter_listener *l;

	assert_int_equal(tapir_counter_listener__open(PROVIDER, 0.1, see_sample, NULL, NULL, &l),
			 0);
	pause_us(1000);
	assert_int_equal(tapir_counter_listener__close(l), 0);
}

static void provide_for_a_moment(void)
{
	const struct tapir_provider_opts opts = {.size = sizeof(opts), .changed = see_change};
	struct tapir_provider *other;

	assert_int_equal(tapir_provider__new(PROVIDER "-Other", NULL, coming, 1, &opts, &other), 0);
	log_for_a_moment(0);
	listen_for_a_moment(1);
	tapir_provider__free(other);
}

static void do_something(unsigned turn)
{
	switch (turn % 6) {
	case 0:
		listen_for_a_moment(0);
		break;
	case 1:
		listen_for_a_moment(1);
		break;
	case 2:
		log_for_a_moment(rand() % 2);
		break;
	case 3:
		count_for_a_moment();
		break;
	case 4:
		provide_for_a_moment();
		break;
	default:
		trace_for_a_moment((unsigned)rand() % TAPIR_RING_SESSIONS, rand() % 2);
	}
}

static int has_seen_all(void)
{
	return __atomic_load_n(&steady_cnt, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&seen_cnt, __ATOMIC_ACQUIRE) && read_cnt &&
	       __atomic_load_n(&called_cnt, __ATOMIC_ACQUIRE);
}

/* Each kind twice at least, and until each has had something, however little time a busy machine
   leaves the threads. */
static void do_until(time_t end)
{
	for (unsigned turn = 0;
	     turn < 12 || time(NULL) < end || (!has_seen_all() && time(NULL) < end + 60); turn++)
		do_something(turn);
}

static void sessions_come_and_go_under_eight_threads(void **state)
{
	const char *seconds = getenv("TAPIR_STORM_SECONDS");
	const struct tapir_counter_opts opts = {
		.size = sizeof(opts), .type = TAPIR_COUNTER_HISTOGRAM, .name = "fired"};
	struct tapir_listener *keeper;
	pthread_t threads[THREADS];
	time_t end;

	(void)state;
	assert_int_not_equal(nice(5), -1); /* other tests run beside it */
	assert_int_equal(tapir_provider__new(PROVIDER, NULL, steady, 1, NULL, &provider), 0);
	assert_int_equal(tapir_counter__new(provider, &opts, &counter), 0);
	assert_int_equal(tapir_listener__open(&one, 1, see, &steady_cnt, NULL, &keeper), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, fire_until_over, (void *)i), // NOLINT
			0);
	end = time(NULL) + (seconds ? atol(seconds) : 10);
	do_until(end);
	__atomic_store_n(&has_ended, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (tapir_listener__lost(keeper, NULL) +
		       __atomic_load_n(&steady_cnt, __ATOMIC_ACQUIRE) !=
	       fired_cnt)
		if (time(NULL) > end + 60)
			fail_msg("%lu fired, %lu seen, %lu lost", fired_cnt, steady_cnt,
				 tapir_listener__lost(keeper, NULL));
		else
			pause_us(1000);
	assert_int_equal(tapir_listener__close(keeper), 0);
	assert_true(has_seen_all());
	assert_int_equal(wrong_cnt, 0);
	tapir_counter__free(counter);
	tapir_provider__free(provider);
	assert_int_equal(tapir_library__fini(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_come_and_go_under_eight_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
