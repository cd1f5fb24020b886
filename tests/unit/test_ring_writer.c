/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process side of the ring lane, read by a tracer in the same process (ring_taker.h): what an
 * event says, that losses are exact, that sessions do not see each other's, and what happens when
 * a tracer dies or writes nonsense.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#pragma GCC optimize("no-omit-frame-pointer") /* the stacks that are walked */

#include "ring_writer_case.h"

static void event_says_who_when_and_what(void **state)
{
	struct timespec before, after;
	struct taker t;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &before);
	begin(&t, 0, 0, 1, 0);
	t.on_event = check_number;
	next_number = 7;
	wrong_numbers = 0;
	assert_true(fire(0, 7));
	assert_false(fire(1, 7)); /* nobody wants that one */
	end(&t);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_int_equal(t.read[0], 1);
	assert_int_equal(t.threads, 1);
	assert_int_equal(wrong_numbers, 0);
	assert_int_equal(last_event.tgid, getpid());
	assert_int_equal(last_event.tid, syscall(SYS_gettid));
	assert_int_equal(last_event.lane, TAPIR_LANE_RING);
	assert_int_equal(last_event.payload_bytes, 16);
	assert_int_equal(last_event.h.size, 64);
	assert_true(last_event.h.time_ns >=
		    (uint64_t)before.tv_sec * 1000000000u + (uint64_t)before.tv_nsec);
	assert_true(last_event.h.time_ns <=
		    (uint64_t)after.tv_sec * 1000000000u + (uint64_t)after.tv_nsec);
}

static void order_holds_over_many_laps(void **state)
{
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 1, 0);
	t.on_event = check_number;
	next_number = wrong_numbers = 0;
	for (unsigned i = 0; i < 300000; i++) {
		assert_true(fire_sized(0, 16 + i % 77, i));
		if (i % 10000 == 0)
			taker_take(&t);
	}
	end(&t);
	assert_int_equal(t.read[0], 300000);
	assert_int_equal(wrong_numbers, 0);
	assert_int_equal(taker_missed(&t, 0), 0);
}

/* Records that end exactly where the ring does: nothing is left to leave out. */
static void laps_end_exactly_at_the_end_of_the_ring(void **state)
{
	const unsigned cnt = 3 * TAPIR_RING_MAX_BYTES / 64;
	struct tapir_ring_slot slot;
	uint64_t lap_start;
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 1, 0);
	t.on_event = check_number;
	next_number = wrong_numbers = 0;
	fire(0, 0); /* with its THREAD record */
	slot = taker_slot(&t, 0, 0);
	lap_start = slot.head % 64;
	assert_true(lap_start == 0 || fire_sized(0, 16 + 64 - (uint32_t)lap_start, 1));
	taker_take(&t);
	next_number = 0;
	for (unsigned i = 0; i < cnt; i++) {
		assert_true(fire(0, i));
		if (i % 10000 == 0)
			taker_take(&t);
	}
	assert_int_equal(taker_slot(&t, 0, 0).head % 64, 0);
	end(&t);
	assert_int_equal(wrong_numbers, 0);
	assert_int_equal(taker_missed(&t, 0), 0);
}

static void full_ring_drops_and_counts(void **state)
{
	struct taker t;
	uint64_t written = 0;

	(void)state;
	begin(&t, 0, 0, 2, 1);
	for (unsigned i = 0; i < 200000; i++)
		written += (uint64_t)fire(i & 1, i);
	assert_true(written < 200000);
	end(&t);
	assert_int_equal(t.read[0] + t.read[1], written);
	assert_int_equal(t.read[0] + taker_missed(&t, 0), 100000);
	assert_int_equal(t.read[1] + taker_missed(&t, 1), 100000);
}

static void too_large_an_event_is_dropped(void **state)
{
	struct taker t;

	(void)state;
	begin(&t, 0, 3, 4, 0);
	assert_false(fire_sized(3, TAPIR_RING_PAYLOAD_BYTES + 1, 0));
	assert_false(fire_sized(3, UINT32_MAX, 0));
	assert_true(fire_sized(3, TAPIR_RING_PAYLOAD_BYTES, 0));
	assert_true(fire_sized(3, 0, 0));
	end(&t);
	assert_int_equal(t.read[3], 2);
	assert_int_equal(taker_lost(&t, 3, TAPIR_RING_TOO_LARGE), 2);
	assert_int_equal(taker_missed(&t, 3), 2);
}

/* One behind the other, over many laps and at all places of the ring. */
static void large_events_are_whole(void **state)
{
	struct taker t;

	(void)state;
	begin(&t, 0, 3, 4, 1);
	for (unsigned i = 0; i < 400; i++) {
		assert_true(fire_sized(3, TAPIR_RING_PAYLOAD_BYTES - i % 100 * 8, 0));
		if (i % 20 == 19)
			taker_take(&t);
	}
	end(&t);
	assert_int_equal(t.read[3], 400);
	assert_int_equal(taker_missed(&t, 3), 0);
}

static __attribute__((noinline)) int deep(unsigned n)
{
	int ret = n ? deep(n - 1) : fire(0, 1);

	__asm__ volatile("" ::: "memory");
	return ret;
}

static void frames_are_sent_once_an_epoch(void **state)
{
	struct taker t, second;

	(void)state;
	begin(&t, 0, 0, 1, 1);
	for (unsigned i = 0; i < 100; i++)
		deep(10);
	taker_take(&t);
	assert_int_equal(t.read[0], 100);
	assert_int_equal(t.stacks, 1);
	begin(&second, 1, 0, 1, 1);
	for (unsigned i = 0; i < 10; i++)
		deep(10);
	end(&second);
	assert_int_equal(second.read[0], 10);
	assert_true(second.stacks >= 1);
	assert_int_equal(second.threads, 1);
	assert_int_equal(second.unnamed + t.unnamed, 0);
	assert_int_equal(second.lost_stacks + t.lost_stacks, 0);
	end(&t);
	assert_int_equal(t.read[0], 110);
}

static void sessions_do_not_see_each_others(void **state)
{
	struct taker a, b;

	(void)state;
	begin(&a, 2, 0, 2, 0);
	begin(&b, 5, 1, 3, 0);
	for (unsigned i = 0; i < 300; i++)
		fire(i % 3, i);
	end(&a);
	end(&b);
	assert_int_equal(a.read[0], 100);
	assert_int_equal(a.read[1], 100);
	assert_int_equal(a.read[2], 0);
	assert_int_equal(b.read[0], 0);
	assert_int_equal(b.read[1], 100);
	assert_int_equal(b.read[2], 100);
}

static void a_taken_session_is_refused(void **state)
{
	struct taker a, b;

	(void)state;
	begin(&a, 3, 0, 1, 0);
	assert_int_equal(taker_init(&b, getpid(), 3), 0);
	assert_int_equal(taker_open(&b, 0, 1, 0), -EAGAIN);
	taker_fini(&b);
	end(&a);
}

static void rate_limits_and_says_so(void **state)
{
	struct taker t;

	(void)state;
	assert_int_equal(taker_init(&t, getpid(), 0), 0);
	taker_session(&t)->rate_hz = 100;
	assert_int_equal(taker_open(&t, 0, 1, 0), 0);
	for (unsigned i = 0; i < 1000; i++)
		fire(0, i);
	taker_session(&t)->rate_hz = 0;
	end(&t);
	assert_in_range(t.read[0], 1, 5); /* a hundredth of a second each */
	assert_int_equal(t.read[0] + taker_lost(&t, 0, TAPIR_RING_LIMITED), 1000);
}

#define SECOND_NS 1000000000ull

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* A bucket of a second, by our own clock. */
struct bucket {
	uint64_t rate_hz, seen_ns;
	uint64_t credit;  /* nanoseconds times rate_hz */
	uint64_t spilled; /* likewise, of what came when it was full */
};

static void fill(struct bucket *b)
{
	const uint64_t now_ns = monotonic_ns(), full = SECOND_NS * b->rate_hz;

	b->credit += (now_ns - b->seen_ns) * b->rate_hz;
	b->seen_ns = now_ns;
	if (b->credit > full) {
		b->spilled += b->credit - full;
		b->credit = full;
	}
}

/*
 * Fires for so long; the events that passed, and what passed may be at most and must be at least.
 * The thread may not run for more than a second: then the bucket is full, and there is less.
 */
static uint64_t passed_in(uint32_t rate_hz, uint64_t ms, uint64_t *most, uint64_t *least)
{
	struct bucket own = {.rate_hz = rate_hz};
	uint64_t start_ns, fired = 0;
	struct taker t;

	assert_int_equal(taker_init(&t, getpid(), 0), 0);
	taker_session(&t)->rate_hz = rate_hz;
	assert_int_equal(taker_open(&t, 0, 1, 0), 0);
	start_ns = own.seen_ns = monotonic_ns();
	do {
		fill(&own);
		for (unsigned i = 0; i < 20; i++, fired++) {
			fire(0, (unsigned)fired);
			own.credit -= own.credit < SECOND_NS ? 0 : SECOND_NS;
		}
		usleep(50);
		taker_take(&t);
	} while (monotonic_ns() - start_ns < ms * 1000000);
	fill(&own);
	taker_session(&t)->rate_hz = 0;
	end(&t);
	assert_int_equal(t.read[0] + taker_lost(&t, 0, TAPIR_RING_LIMITED), fired);
	assert_int_equal(taker_missed(&t, 0), taker_lost(&t, 0, TAPIR_RING_LIMITED));
	*most = (own.seen_ns - start_ns) * rate_hz / SECOND_NS + 1;
	*least = *most - (own.spilled + own.credit) / SECOND_NS;
	*least -= *least / 10 + 1;
	return t.read[0];
}

static void a_rate_is_exact_over_seconds(void **state)
{
	static const uint32_t rates[] = {1, 5, 10, 1000};

	(void)state;
	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint64_t most, least, passed = passed_in(rates[i], 2500, &most, &least);

		assert_in_range(passed, least, most);
	}
}

/* What a thread has not used in a second it may use at once, and no more than that. */
static void a_rate_lets_a_burst_of_one_second_through(void **state)
{
	struct taker t;

	(void)state;
	assert_int_equal(taker_init(&t, getpid(), 0), 0);
	taker_session(&t)->rate_hz = 5;
	assert_int_equal(taker_open(&t, 0, 1, 0), 0);
	fire(0, 0);
	usleep(1100000);
	for (unsigned i = 0; i < 100; i++)
		fire(0, i);
	taker_session(&t)->rate_hz = 0;
	end(&t);
	assert_in_range(t.read[0], 6, 7);
}

static void late_events_are_judged_by_the_selections(void **state)
{
	static const struct tapir_ring_about late[] = {
		{.provider = "shop", .event = "returned", .level = 4, .keywords = 4},
		{.provider = "shop", .event = "verbose", .level = 5, .keywords = 4},
		{.provider = "shopping", .event = "returned", .keywords = 4},
	};
	struct tapir_ring_selection *sel;
	struct taker t;

	(void)state;
	assert_int_equal(taker_init(&t, getpid(), 0), 0);
	sel = &t.ctl->selections[t.s][3];
	sel->used = 1;
	sel->level = 4;
	sel->keywords = 4;
	strcpy(sel->provider, "sh?p");
	strcpy(sel->event, "*e*ed");
	assert_int_equal(taker_open(&t, 0, 0, 0), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(tapir_ring__register(&events[EVENTS + i], &late[i]), 0);
	assert_true(tapir_ring__wanted(&events[EVENTS]));
	assert_false(tapir_ring__wanted(&events[EVENTS + 1]));
	assert_false(tapir_ring__wanted(&events[EVENTS + 2]));
	assert_true(fire(EVENTS, 0));
	sel->used = 0;
	end(&t);
	assert_int_equal(t.read[EVENTS], 1);
	for (unsigned i = 0; i < 3; i++)
		tapir_ring__unregister(&events[EVENTS + i]);
	assert_false(tapir_ring__wanted(&events[EVENTS]));
}

static void catalog_describes_every_event(void **state)
{
	struct tapir_ring_entry entry;
	struct tapir_rec_probe probe;
	uint8_t bytes[512];
	struct taker t;

	(void)state;
	assert_int_equal(taker_init(&t, getpid(), 0), 0);
	assert_int_equal(pread(t.data_fd[0], &entry, sizeof(entry),
			       (off_t)(t.data[0].entries_off + 2 * sizeof(entry))),
			 sizeof(entry));
	assert_in_range(entry.bytes, 1, sizeof(bytes));
	assert_int_equal(pread(t.data_fd[0], bytes, entry.bytes,
			       (off_t)(t.data[0].catalog_off + entry.catalog_off)),
			 entry.bytes);
	memcpy(&probe, bytes, sizeof(probe));
	assert_int_equal(probe.h.type, TAPIR_REC_PROBE);
	assert_int_equal(probe.probe_id, TAPIR_RING_ID(2, 1));
	assert_memory_equal(bytes + sizeof(probe), "mailsent", 8);
	assert_int_equal(entry.bytes, probe.h.size + 40);
	assert_memory_equal(bytes + probe.h.size + sizeof(struct tapir_rec_metadata), "blob", 4);
	taker_fini(&t);
}

static void dead_tracer_s_session_ends(void **state)
{
	struct taker t, next;
	unsigned ms = 0;

	(void)state;
	begin(&t, 4, 0, 3, 0);
	fire(0, 0);
	taker_fini(&t); /* what the kernel does with a killed tracer's descriptors */
	for (; tapir_ring__wanted(&events[0]) && ms < 2000; ms++) {
		fire(0, 0);
		usleep(1000);
	}
	assert_in_range(ms, 0, 600);
	assert_false(tapir_ring__wanted(&events[2]));
	begin(&next, 4, 0, 1, 0);
	fire(0, 0);
	end(&next);
	assert_int_equal(next.read[0], 1);
}

static void live_tracer_s_session_stays(void **state)
{
	struct taker t;

	(void)state;
	begin(&t, 0, 0, 1, 0);
	for (unsigned i = 0; i < 500; i++) {
		assert_true(fire(0, i));
		usleep(1000);
	}
	end(&t);
	assert_int_equal(t.read[0], 500);
}

static void seals_keep_data_from_others(void **state)
{
	char byte = 1;
	struct taker t;
	int fd;

	(void)state;
	assert_int_equal(taker_init(&t, getpid(), 0), 0);
	assert_int_equal(fcntl(t.data_fd[0], F_GET_SEALS) & TAPIR_RING_DATA_SEALS,
			 TAPIR_RING_DATA_SEALS);
	assert_int_equal(fcntl(t.ctl_fd, F_GET_SEALS) & TAPIR_RING_CTL_SEALS, TAPIR_RING_CTL_SEALS);
	fd = taker_find(getpid(), TAPIR_RING_DATA_NAME "0", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &byte, 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	close(fd);
	taker_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_says_who_when_and_what),
		cmocka_unit_test(order_holds_over_many_laps),
		cmocka_unit_test(laps_end_exactly_at_the_end_of_the_ring),
		cmocka_unit_test(full_ring_drops_and_counts),
		cmocka_unit_test(too_large_an_event_is_dropped),
		cmocka_unit_test(large_events_are_whole),
		cmocka_unit_test(frames_are_sent_once_an_epoch),
		cmocka_unit_test(sessions_do_not_see_each_others),
		cmocka_unit_test(a_taken_session_is_refused),
		cmocka_unit_test(rate_limits_and_says_so),
		cmocka_unit_test(a_rate_is_exact_over_seconds),
		cmocka_unit_test(a_rate_lets_a_burst_of_one_second_through),
		cmocka_unit_test(late_events_are_judged_by_the_selections),
		cmocka_unit_test(catalog_describes_every_event),
		cmocka_unit_test(dead_tracer_s_session_ends),
		cmocka_unit_test(live_tracer_s_session_stays),
		cmocka_unit_test(seals_keep_data_from_others),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
