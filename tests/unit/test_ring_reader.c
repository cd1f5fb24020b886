// SPDX-License-Identifier: GPL-2.0-or-later
/* From the rings of a process, made by hand, into blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/map.h"
#include "tapir/stack_walk.h"
#include "attach/rings/ring_reader.h"
#include "may_trace.h"
#include "ring_seen.h"
#include "trace/record.h"

#define GENERATION_1 (1ull << TAPIR_RING_GENERATION_SHIFT)

struct writer {
	pthread_t thread;
	unsigned slot;
	uint64_t cnt, pause_every, fired_cnt;
};

/* A loaded machine may keep the reader from its CPU for longer than any pause takes. */
static void await_reader(unsigned slot)
{
	const uint64_t *tail = &maker.ctl->tails[slot][0];

	while (maker_slot(&maker, slot)->head - __atomic_load_n(tail, __ATOMIC_ACQUIRE) >
	       MAKER_RING_BYTES / 2)
		usleep(1000);
}

static void *write_events(void *arg)
{
	struct writer *w = arg;

	for (uint64_t i = 0; i < w->cnt; i++) {
		w->fired_cnt += fire(&maker, w->slot, 0, i);
		if (w->pause_every && i % w->pause_every == 0) {
			usleep(1000);
			await_reader(w->slot);
		}
	}
	return NULL;
}

static uint64_t write_from_threads(uint64_t cnt, uint64_t pause_every)
{
	struct writer writers[SLOTS] = {};
	uint64_t fired = 0;

	for (unsigned i = 0; i < SLOTS; i++) {
		writers[i] = (struct writer){.slot = i, .cnt = cnt, .pause_every = pause_every};
		pthread_create(&writers[i].thread, NULL, write_events, &writers[i]);
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		pthread_join(writers[i].thread, NULL);
		fired += writers[i].fired_cnt;
	}
	return fired;
}

static void paced_events_all_arrive_in_order(void **state)
{
	struct tapir_ring_reader_stats stats;

	(void)state;
	open_lane();
	assert_int_equal(write_from_threads(20000, 40), SLOTS * 20000);
	stats = stop_reader();
	assert_int_equal(seen.event_cnt, SLOTS * 20000);
	assert_int_equal(seen.disorder_cnt, 0);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(seen.lost_cnt, 0);
	assert_int_equal(seen.malformed_cnt, 0);
	assert_int_equal(seen.probe_cnt, 1);
	assert_int_equal(seen.probe_id, TAPIR_RING_PROBE_ID_MIN);
	assert_int_equal(seen.tgid, getpid());
	assert_int_equal(stats.event_cnt, SLOTS * 20000);
	assert_int_equal(stats.wanted_cnt, 1);
	for (unsigned i = 0; i < SLOTS; i++) {
		assert_int_equal(maker_slot(&maker, i)->cap_bytes, MAKER_RING_BYTES);
		assert_true(maker_slot(&maker, i)->head > 5 * MAKER_RING_BYTES);
	}
	assert_int_equal((uint32_t)(maker.ctl->words[0] | maker.ctl->words[1]), 0);
	assert_int_equal(maker.ctl->sessions[0].state, TAPIR_RING_FREE);
}

static void captured_and_lost_are_what_fired_when_flat_out(void **state)
{
	uint64_t captured;

	(void)state;
	open_lane();
	captured = write_from_threads(300000, 0);
	stop_reader();
	assert_int_equal(seen.event_cnt, captured);
	assert_int_equal(seen.event_cnt + seen.lost_cnt, SLOTS * 300000);
	assert_int_equal(seen.disorder_cnt + seen.wrong_cnt + seen.malformed_cnt, 0);
	print_message("%lu of %u captured\n", captured, SLOTS * 300000);
}

static void what_stood_in_the_losses_before_is_not_ours(void **state)
{
	(void)state;
	assert_true(maker_open(&maker, 0x77));
	maker_event(&maker, "prov", "wanted", 4, 1);
	maker_losses(&maker, 0)->cnt[0][TAPIR_RING_NO_SPACE] = 1000;
	maker_losses(&maker, 0)->cnt[1][TAPIR_RING_NO_SPACE] = 9;
	start_reader("prov:*");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	maker_losses(&maker, 0)->cnt[0][TAPIR_RING_NO_SPACE] += 3;
	maker_losses(&maker, 0)->cnt[0][TAPIR_RING_NESTED] += 2;
	maker_losses(&maker, 0)->cnt[0][TAPIR_RING_LIMITED] += 5;
	stop_reader();
	assert_int_equal(seen.lost_cnt, 3);
	assert_int_equal(seen.nested_cnt, 2);
	assert_int_equal(seen.limited_cnt, 5);
}

/* Our own lane is known by its key; in other lanes no session may be taken. */
static void a_private_lane_is_opened_by_who_knows_its_key(void **state)
{
	(void)state;
	assert_true(maker_open(&maker, 0x99));
	maker.ctl->flags = TAPIR_RING_CTL_PRIVATE;
	maker_event(&maker, "prov", "wanted", 4, 1);
	start_reader("prov:*");
	assert_int_equal(tapir_ring_reader__own(reader, 0x98), 0);
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 0);
	assert_false(tapir_ring_reader__has(reader, (uint32_t)getpid()));
	assert_int_equal(maker.ctl->sessions[0].state, TAPIR_RING_FREE);
	assert_int_equal(maker.ctl->words[0], GENERATION_1);
	assert_int_equal(maker.ctl->epoch, 0);
	assert_int_equal(tapir_ring_reader__own(reader, 0x99), 0);
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	assert_true(fire(&maker, 0, 0, 0));
	assert_int_equal(stop_reader().event_cnt, 1);
	assert_int_equal(seen.event_cnt, 1);
}

static void a_ninth_tracer_is_refused_until_a_session_is_free(void **state)
{
	struct flock range = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = TAPIR_RING_SESSIONS};
	char path[64];
	int fd;

	(void)state;
	assert_true(maker_open(&maker, 0x77));
	maker_event(&maker, "prov", "wanted", 4, 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", maker.ctl_fd);
	fd = open(path, O_RDWR | O_CLOEXEC); /* a description of its own: eight tracers in one */
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &range), 0);
	start_reader("prov:*");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 0);
	assert_false(tapir_ring_reader__has(reader, (uint32_t)getpid()));
	range.l_type = F_UNLCK;
	range.l_start = 5;
	range.l_len = 1;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &range), 0);
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	assert_int_equal(maker.ctl->words[0],
			 GENERATION_1 | (TAPIR_RING_SESSION_BITS(5) &
					 ~(1ull << (TAPIR_RING_RATE_SHIFT + 5))));
	stop_reader();
	close(fd);
}

/* Counts that no process can have reached: a hostile one must not spoil the recording's sums. */
static void losses_of_more_than_one_a_nanosecond_are_malformed(void **state)
{
	(void)state;
	open_lane();
	maker_losses(&maker, 0)->cnt[0][TAPIR_RING_NO_SPACE] = 1ull << 62;
	maker_losses(&maker, 0)->cnt[0][TAPIR_RING_NESTED] = 4;
	usleep(1000);
	stop_reader();
	assert_int_equal(seen.lost_cnt, 0);
	assert_int_equal(seen.nested_cnt, 4);
	assert_int_equal(seen.malformed_cnt, 1);
}

/* A recorder of the whole machine may have taken another one. */
static struct tapir_ring_session *session_of_reader(void)
{
	for (unsigned s = 0; s < TAPIR_RING_SESSIONS; s++)
		if (maker.ctl->sessions[s].tracer_tgid == (uint32_t)getpid() &&
		    maker.ctl->sessions[s].state == TAPIR_RING_OPEN)
			return &maker.ctl->sessions[s];
	fail_msg("%s", "no session is the reader's");
	return NULL;
}

static void a_process_that_ends_its_sessions_is_slowed_down(void **state)
{
	uint64_t start_ns = tapir_clock__now_ns(), seconds;
	unsigned opened = 0;

	(void)state;
	assert_true(maker_open(&maker, 0x77));
	for (unsigned i = 0; i < 200; i++)
		maker_event(&maker, "prov", "wanted", 4, 1ull << i % 50);
	start_reader("prov:*");
	for (unsigned i = 0; i < 300; i++) {
		if (tapir_ring_reader__add(reader, (uint32_t)getpid()) > 0) {
			opened++;
			__atomic_store_n(&session_of_reader()->state, TAPIR_RING_ENDED,
					 __ATOMIC_SEQ_CST);
		}
		while (tapir_ring_reader__has(reader, (uint32_t)getpid()))
			usleep(500);
	}
	seconds = (tapir_clock__now_ns() - start_ns) / TAPIR_NS_PER_SEC;
	assert_in_range(opened, 256, 256 + seconds + 1);
	assert_int_equal(seen.probe_cnt, 50); /* each is described once */
	usleep(1100000);
	opened = (unsigned)tapir_ring_reader__add(reader, (uint32_t)getpid());
	assert_int_equal(opened, 1);
	stop_reader();
}

/* 16 programs, one after the other, each with 16,000 kinds of events of its own. */
static void ids_and_room_are_given_back_when_a_lane_ends(void **state)
{
	const unsigned programs = 16, events = 16000;
	uint64_t fired = 0;
	char name[32];

	(void)state;
	start_reader("prov:*");
	for (unsigned p = 0; p < programs; p++) {
		assert_true(maker_open(&maker, 0x1000 + p));
		for (unsigned i = 0; i < events; i++) {
			snprintf(name, sizeof(name), "of%u_%u", p, i);
			maker_event(&maker, "prov", name, 4, 1);
		}
		assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
		for (unsigned i = 0; i < events; i++) {
			while (!fire(&maker, 0, i, i))
				usleep(1000);
			fired++;
		}
		for (int i = 0; i < 2000 && seen.event_cnt < fired; i++)
			usleep(5000);
		__atomic_store_n(&maker.ctl->sessions[0].state, TAPIR_RING_ENDED, __ATOMIC_SEQ_CST);
		while (tapir_ring_reader__has(reader, (uint32_t)getpid()))
			usleep(500);
		maker_close(&maker);
	}
	stop_reader();
	assert_int_equal(seen.event_cnt, programs * events);
	assert_int_equal(seen.probe_cnt, programs * events);
	assert_int_equal(seen.malformed_cnt, 0);
}

static void events_of_other_sessions_and_old_ones_are_left_out(void **state)
{
	(void)state;
	assert_true(maker_open(&maker, 0x77));
	maker_event(&maker, "prov", "wanted", 4, 1);
	maker.ctl->words[0] = GENERATION_1 | 1ull << TAPIR_RING_WANT_SHIFT;
	for (unsigned i = 0; i < 10; i++)
		assert_true(fire(&maker, 0, 0, i));
	start_reader("prov:wanted");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	maker.ctl->words[0] = GENERATION_1 | 2ull << TAPIR_RING_WANT_SHIFT;
	for (unsigned i = 10; i < 20; i++)
		assert_true(fire(&maker, 0, 0, i));
	maker.ctl->words[0] |= 1ull << TAPIR_RING_WANT_SHIFT;
	for (unsigned i = 20; i < 25; i++)
		assert_true(fire(&maker, 0, 0, i));
	stop_reader();
	assert_int_equal(seen.event_cnt, 5);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(seen.next[0], 25);
}

static void later_events_and_arenas_are_found(void **state)
{
	const unsigned slot = TAPIR_RING_ARENA_SLOTS + 2;
	unsigned late;

	(void)state;
	assert_true(maker_open(&maker, 0x77));
	start_reader("prov:late*");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	assert_string_equal(maker.ctl->selections[0][0].event, "late*");
	late = maker_event(&maker, "prov", "late_one", 4, 1);
	assert_true(maker_add_arena(&maker, 1));
	__atomic_store_n(&maker.data[0]->arena_cnt, 2, __ATOMIC_RELEASE);
	maker.ctl->words[late] |= 1ull << TAPIR_RING_WANT_SHIFT; /* as the process judges */
	assert_true(maker_put(
		&maker, slot,
		&(struct fired){.ev = {.h = {.type = TAPIR_REC_EVENT, .size = sizeof(struct fired)},
				       .probe_id = TAPIR_RING_ID(late, 1),
				       .tgid = (uint32_t)getpid(),
				       .tid = 1,
				       .pad0 = 1,
				       .payload_bytes = 528},
				.slot = 1}));
	for (int i = 0; i < 3000 && !seen.event_cnt; i++)
		usleep(10000);
	stop_reader();
	assert_int_equal(seen.event_cnt, 1);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(seen.tids[1], 1);
}

/* ---- ends ------------------------------------------------------------------------------- */

static void the_next_reader_cleans_up_after_one_that_was_killed(void **state)
{
	pid_t child;

	(void)state;
	assert_true(maker_open(&maker, 0x77));
	maker_event(&maker, "prov", "wanted", 4, 1);
	maker_event(&maker, "prov", "other", 4, 2);
	child = fork();
	if (!child) {
		start_reader("prov:*");
		tapir_ring_reader__add(reader, (uint32_t)getppid());
		pause();
	}
	for (int i = 0;
	     i < 200 && !(uint32_t)__atomic_load_n(&maker.ctl->words[1], __ATOMIC_SEQ_CST); i++)
		usleep(10000);
	assert_true((uint32_t)maker.ctl->words[1] != 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	start_reader("prov:wanted");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	assert_int_equal(maker.ctl->words[1], GENERATION_1);
	assert_int_equal(maker.ctl->words[0], GENERATION_1 | (TAPIR_RING_SESSION_BITS(0) &
							      ~(1ull << TAPIR_RING_RATE_SHIFT)));
	assert_int_equal(maker.ctl->epoch, 2);
	for (unsigned i = 0; i < 100; i++)
		assert_true(fire(&maker, 0, 0, i));
	stop_reader();
	assert_int_equal(seen.event_cnt, 100);
}

static void a_session_that_the_process_ended_is_closed(void **state)
{
	(void)state;
	open_lane();
	assert_true(fire(&maker, 0, 0, 0));
	__atomic_store_n(&maker.ctl->sessions[0].state, TAPIR_RING_ENDED, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 3000 && __atomic_load_n(&maker.ctl->sessions[0].state,
						    __ATOMIC_SEQ_CST) != TAPIR_RING_FREE;
	     i++)
		usleep(10000);
	assert_int_equal(maker.ctl->sessions[0].state, TAPIR_RING_FREE);
	stop_reader();
	assert_int_equal(seen.event_cnt, 1);
}

/* A process of its own that writes until it is killed; *fired is in shared memory. */
static void run_target(uint64_t *fired)
{
	unsigned event;
	uint64_t seq = 0;

	maker = (struct ring_maker){};
	if (!maker_open(&maker, 0x88))
		_exit(1);
	event = maker_event(&maker, "prov", "wanted", 4, 1);
	__atomic_store_n(fired, UINT64_MAX, __ATOMIC_SEQ_CST); /* ready */
	while (!(uint32_t)__atomic_load_n(&maker.ctl->words[event], __ATOMIC_SEQ_CST))
		usleep(100);
	__atomic_store_n(fired, 0, __ATOMIC_SEQ_CST);
	for (;; seq++) {
		struct tapir_rec_thread thread = {
			.h = {TAPIR_REC_THREAD, TAPIR_CPU_UNKNOWN, sizeof(thread), 1},
			.tgid = (uint32_t)getpid(),
			.tid = (uint32_t)gettid()};

		if (!seq)
			maker_put(&maker, 1, &thread);
		if (fire(&maker, 1, event, seq))
			__atomic_fetch_add(fired, 1, __ATOMIC_SEQ_CST);
		if (seq % 20 == 0)
			usleep(50);
	}
}

static bool has_fired(const uint64_t *fired, uint64_t cnt)
{
	uint64_t now = __atomic_load_n(fired, __ATOMIC_SEQ_CST);

	return now != UINT64_MAX && now > cnt;
}

static void kill_target_while_it_writes(uint64_t *fired, pid_t child)
{
	for (int i = 0; i < 3000 && !__atomic_load_n(fired, __ATOMIC_SEQ_CST); i++)
		usleep(10000);
	start_reader("prov:*");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)child), 1);
	for (int i = 0; i < 3000 && !has_fired(fired, 1000); i++)
		usleep(10000);
	kill(child, SIGKILL);
	for (int i = 0; i < 3000 && seen.event_cnt < *fired; i++)
		usleep(10000);
	/* The kill may fall between an event and the count of it. */
	assert_in_range(seen.event_cnt, *fired, *fired + 1);
	assert_true(*fired > 1000);
	assert_int_equal(seen.disorder_cnt + seen.wrong_cnt, 0);
	assert_int_equal(seen.tgid, child);
	assert_int_equal(seen.tids[1], child);
	assert_int_equal(seen.thread_tid, child);
}

static void what_a_killed_process_wrote_is_read(void **state)
{
	uint64_t *fired =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();

	(void)state;
	if (!child)
		run_target(fired);
	kill_target_while_it_writes(fired, child);
	waitpid(child, NULL, 0);
	munmap(fired, 4096);
}

/* Process 1 of a pid namespace; the host has another number for it. */
static void thread_ids_of_a_namespace_are_translated(void **state)
{
	uint64_t *fired =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int own_ns = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), err;
	pid_t child;

	(void)state;
	if (!may_trace() || unshare(CLONE_NEWPID)) {
		print_message("skipped: a pid namespace needs root\n");
		skip();
	}
	child = fork();
	if (!child)
		run_target(fired);
	err = setns(own_ns, CLONE_NEWPID);
	close(own_ns);
	assert_int_equal(err, 0);
	kill_target_while_it_writes(fired, child);
	waitpid(child, NULL, 0);
	munmap(fired, 4096);
}

#define T(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(paced_events_all_arrive_in_order),
		T(captured_and_lost_are_what_fired_when_flat_out),
		T(what_stood_in_the_losses_before_is_not_ours),
		T(a_private_lane_is_opened_by_who_knows_its_key),
		T(a_ninth_tracer_is_refused_until_a_session_is_free),
		T(losses_of_more_than_one_a_nanosecond_are_malformed),
		T(a_process_that_ends_its_sessions_is_slowed_down),
		T(ids_and_room_are_given_back_when_a_lane_ends),
		T(events_of_other_sessions_and_old_ones_are_left_out),
		T(later_events_and_arenas_are_found),
		T(the_next_reader_cleans_up_after_one_that_was_killed),
		T(a_session_that_the_process_ended_is_closed),
		T(what_a_killed_process_wrote_is_read),
		T(thread_ids_of_a_namespace_are_translated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
