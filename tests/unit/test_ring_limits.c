// SPDX-License-Identifier: GPL-2.0-or-later
/* What a recording takes of ring lanes at most: each limit is run over, reported, and given back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "attach/rings/ring_limits.h"
#include "attach/rings/ring_scan.h"
#include "may_trace.h"
#include "ring_seen.h"

#define LANES	   TAPIR_RING_LANES_MAX /* of one process */
#define OVER	   24			/* lanes more than there is room for */
#define MAKERS	   ((int)((TAPIR_RING_LANES_OPEN_MAX + OVER + LANES - 1) / LANES))
#define OWN_FDS	   (2 * LANES + 64)
#define WAIT_TRIES 2000
#define COST_MAX   (32u << 20) /* ring_catalog.c */
#define ID_COST	   512u
#define BLOB_BYTES 60000u
#define RUN_NS	   1000000u /* ring_scan.c: after that a run ends */

static struct {
	pid_t pid;
	int ready_fd, end_fd; /* closing end_fd ends it */
} makers[MAKERS];

/* ---- lanes ---------------------------------------------------------------------------------- */

static void make_lanes(int lanes, int ready_fd, int end_fd)
{
	struct ring_maker m;
	char byte = 0;

	for (int i = 0; i < lanes; i++) {
		if (!maker_open(&m, ((uint64_t)getpid() << 8) + (unsigned)i + 1))
			_exit(1);
		maker_event(&m, "prov", "wanted", 4, 1);
	}
	if (write(ready_fd, &byte, 1) != 1)
		_exit(1);
	_exit(read(end_fd, &byte, 1) == 0 ? 0 : 1);
}

/* A process that offers lanes until it is asked to end, or its parent dies. */
static void start_maker(int i, int lanes)
{
	int ready[2], end[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	makers[i].pid = fork();
	if (!makers[i].pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int k = 0; k < i; k++)
			close(makers[k].end_fd);
		close(end[1]);
		make_lanes(lanes, ready[1], end[0]);
	}
	close(ready[1]);
	close(end[0]);
	makers[i].end_fd = end[1];
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static void end_maker(int i)
{
	close(makers[i].end_fd);
	assert_int_equal(waitpid(makers[i].pid, NULL, 0), makers[i].pid);
}

static int add(int i)
{
	return tapir_ring_reader__add(reader, (uint32_t)makers[i].pid);
}

static void wait_for_count(_Atomic uint64_t *cnt, uint64_t expected)
{
	for (int i = 0; i < WAIT_TRIES && *cnt < expected; i++)
		usleep(5000);
	assert_int_equal(*cnt, expected);
}

/* Each lane takes three descriptors of the reader. */
static void need_descriptors(rlim_t cnt)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	if (limit.rlim_max < cnt)
		skip();
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void lanes_over_the_limit_are_gaps_until_others_end(void **state)
{
	unsigned opened = 0, again = 0;
	int last = MAKERS - 1;

	(void)state;
	need_descriptors(4 * TAPIR_RING_LANES_OPEN_MAX);
	for (int i = 0; i < MAKERS; i++)
		start_maker(i, i < last ? LANES : TAPIR_RING_LANES_OPEN_MAX + OVER - LANES * last);
	start_reader("prov:*");
	for (int i = 0; i < MAKERS; i++)
		opened += (unsigned)add(i);
	assert_int_equal(opened, TAPIR_RING_LANES_OPEN_MAX);
	for (int i = last - 1; i < MAKERS; i++)
		again += (unsigned)add(i);
	assert_int_equal(again, 0);
	wait_for_count(&seen.failed_gap_cnt, OVER);
	end_maker(0);
	while (tapir_ring_reader__has(reader, (uint32_t)makers[0].pid))
		usleep(1000);
	for (int i = last - 1; i < MAKERS; i++)
		again += (unsigned)add(i);
	assert_int_equal(again, OVER);
	wait_for_count(&seen.late_gap_cnt, OVER);
	for (int i = 1; i < MAKERS; i++)
		end_maker(i);
	stop_reader();
	assert_int_equal(seen.failed_gap_cnt, OVER);
	assert_int_equal(seen.wrong_cnt, 0);
}

/* ---- descriptions of one process ------------------------------------------------------------- */

static void describe_much(unsigned cnt)
{
	char name[32];

	for (unsigned i = 0; i < cnt; i++) {
		snprintf(name, sizeof(name), "kind%u", i);
		maker_event_with(&maker, "prov", name, 4, 1, BLOB_BYTES);
	}
}

static void give_back(unsigned event)
{
	struct tapir_ring_data *h = maker.data[0];
	struct tapir_ring_entry *entry = (void *)((char *)h + h->entries_off);

	__atomic_store_n(&entry[event].flags, TAPIR_RING_ENTRY_GONE, __ATOMIC_RELEASE);
	__atomic_fetch_add(&h->changes, 1, __ATOMIC_RELEASE);
}

static void what_finds_no_room_for_its_description_is_counted(void **state)
{
	const unsigned room = COST_MAX / (BLOB_BYTES + ID_COST), cnt = room + 20;
	unsigned refused, described;

	(void)state;
	assert_true(maker_open(&maker, 0x77));
	describe_much(cnt);
	start_reader("prov:*");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	described = (unsigned)seen.probe_cnt;
	for (unsigned i = 0; i < cnt; i++)
		assert_true(fire(&maker, 0, i, i));
	for (int i = 0; i < WAIT_TRIES && seen.event_cnt + seen.undescribed_cnt < cnt; i++)
		usleep(5000);
	described = (unsigned)seen.probe_cnt;
	refused = (unsigned)seen.undescribed_cnt;
	assert_in_range(described, room - 2, room);
	assert_int_equal(described + refused, cnt);
	assert_int_equal(seen.event_cnt, described);
	for (unsigned i = 0; i < 30; i++) /* and it serves others */
		give_back(i);
	for (unsigned i = 0; i < 10; i++) {
		unsigned late = maker_event_with(&maker, "prov", "later", 4, 1u << i, BLOB_BYTES);

		maker.ctl->words[late] |= 1ull << TAPIR_RING_WANT_SHIFT;
		assert_true(fire(&maker, 0, late, cnt + i));
	}
	wait_for_count(&seen.event_cnt, described + 10);
	stop_reader();
	assert_int_equal(seen.undescribed_cnt, refused);
	assert_int_equal(seen.malformed_cnt, 0);
}

static void event_that_ended_before_it_was_looked_at_is_recorded(void **state)
{
	unsigned idx;

	(void)state;
	assert_true(maker_open(&maker, 0x77));
	idx = maker_event(&maker, "prov", "short_lived", 4, 1);
	give_back(idx);
	start_reader("prov:short_lived");
	assert_int_equal(tapir_ring_reader__add(reader, (uint32_t)getpid()), 1);
	assert_int_equal(seen.probe_cnt, 0);
	maker.ctl->words[idx] |= 1ull << TAPIR_RING_WANT_SHIFT;
	assert_true(fire(&maker, 0, idx, 0));
	assert_true(fire(&maker, 0, idx, 1));
	wait_for_count(&seen.event_cnt, 2);
	assert_true(maker_put(
		&maker, 0,
		&(struct fired){.ev = {.h = {.type = TAPIR_REC_EVENT, .size = sizeof(struct fired)},
				       .probe_id = TAPIR_RING_ID(idx, 2),
				       .tgid = (uint32_t)getpid(),
				       .tid = 1,
				       .pad0 = 1,
				       .payload_bytes = 528},
				.slot = 0}));
	stop_reader();
	assert_int_equal(seen.event_cnt, 2);
	assert_int_equal(seen.probe_cnt, 1);
	assert_int_equal(seen.wrong_cnt, 0);
	assert_int_equal(seen.malformed_cnt, 1); /* of the generation that there never was */
}

/* ---- processes that are looked at soon ------------------------------------------------------- */

static void expect_many(struct tapir_ring_scan *looks, uint32_t first_tgid, unsigned cnt)
{
	for (unsigned i = 0; i < cnt; i++)
		tapir_ring_scan__expect(looks, first_tgid + i);
}

static void more_processes_than_bursts_wait_for_their_turn(void **state)
{
	const uint32_t nobody = 1u << 24; /* above any pid */
	struct tapir_ring_scan looks = {};
	unsigned rounds = 0;

	(void)state;
	start_reader("prov:*");
	looks.rings = reader;
	expect_many(&looks, nobody, TAPIR_RING_BURSTS_MAX);
	expect_many(&looks, nobody, TAPIR_RING_BURSTS_MAX); /* known */
	assert_int_equal(looks.left_cnt, 0);
	assert_false(looks.is_full);
	expect_many(&looks, nobody + TAPIR_RING_BURSTS_MAX, 5);
	assert_int_equal(looks.left_cnt, 5);
	assert_true(looks.is_full);
	while (tapir_ring_scan__next_ns(&looks) != UINT64_MAX && rounds++ < 20000) {
		usleep(500);
		tapir_ring_scan__run(&looks);
	}
	assert_int_equal(looks.bursts.cnt, 0);
	assert_false(looks.is_full);
	expect_many(&looks, nobody, TAPIR_RING_BURSTS_MAX);
	assert_int_equal(looks.left_cnt, 5);
	tapir_ring_scan__fini(&looks);
	stop_reader();
}

#define T(name) cmocka_unit_test_teardown(name, teardown)

static uint32_t start_sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		pause();
		_exit(0);
	}
	return (uint32_t)pid;
}

static void end_sleeper(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
}

/* A program maps its libraries a moment after it began: these cause no row of looks of their own,
 * a library that comes later does. */
static void library_is_looked_at_when_it_comes_late(void **state)
{
	const uint32_t somebody = start_sleeper();
	const unsigned late_ms[] = {2, 150}, last_ms[] = {200, 350};

	(void)state;
	start_reader("prov:*");
	for (unsigned i = 0; i < 2; i++) {
		struct tapir_ring_scan looks = {.rings = reader};
		uint64_t start_ns = tapir_clock__now_ns(), last_ns = 0, again_ns;

		tapir_ring_scan__expect(&looks, somebody);
		usleep(late_ms[i] * 1000);
		again_ns = tapir_clock__now_ns();
		tapir_ring_scan__expect(&looks, somebody);
		while (tapir_ring_scan__next_ns(&looks) != UINT64_MAX) {
			last_ns = tapir_ring_scan__next_ns(&looks);
			usleep(500);
			tapir_ring_scan__run(&looks);
			assert_true(tapir_clock__now_ns() - start_ns < 60 * TAPIR_NS_PER_SEC);
		}
		if (again_ns - start_ns < 10 * TAPIR_NS_PER_MS) /* else the machine was busy */
			assert_true(last_ns <= start_ns + (last_ms[i] + 1) * TAPIR_NS_PER_MS);
		if (i)
			assert_true(last_ns >=
				    again_ns + last_ms[0] * TAPIR_NS_PER_MS - TAPIR_NS_PER_MS);
		tapir_ring_scan__fini(&looks);
	}
	end_sleeper(somebody);
	stop_reader();
}

static void process_that_has_ended_is_not_looked_at_again(void **state)
{
	const uint32_t somebody = start_sleeper();
	struct tapir_ring_scan looks = {};

	(void)state;
	start_reader("prov:*");
	looks.rings = reader;
	tapir_ring_scan__expect(&looks, somebody);
	tapir_ring_scan__expect(&looks, 1u << 24); /* above any pid */
	usleep(6000);				   /* the first look is due, four would follow */
	tapir_ring_scan__run(&looks);
	assert_int_equal(looks.bursts.cnt, 1);
	assert_int_equal(looks.bursts.data[0].tgid, somebody);
	tapir_ring_scan__fini(&looks);
	end_sleeper(somebody);
	stop_reader();
}

static unsigned looked(const struct tapir_ring_scan *looks)
{
	unsigned cnt = 0;

	for (size_t i = 0; i < looks->bursts.cnt; i++)
		cnt += looks->bursts.data[i].step > 0;
	return cnt;
}

static void looks_that_are_due_are_taken_together(void **state)
{
	const uint32_t somebody[] = {start_sleeper(), start_sleeper(), start_sleeper()};
	struct tapir_ring_scan looks = {};

	(void)state;
	start_reader("prov:*");
	looks.rings = reader;
	for (unsigned i = 0; i < 3; i++)
		tapir_ring_scan__expect(&looks, somebody[i]);
	/* Where the CPUs are busy, a run ends before it has looked at all of them. */
	for (unsigned looked_cnt = 0, before_cnt = 0; looked_cnt < 3; before_cnt = looked_cnt) {
		uint64_t start_ns, next_ns = tapir_ring_scan__next_ns(&looks);

		while ((start_ns = tapir_clock__now_ns()) < next_ns + RUN_NS)
			usleep(1000);
		tapir_ring_scan__run(&looks);
		looked_cnt = looked(&looks);
		assert_true(looked_cnt == 3 || (looked_cnt > before_cnt &&
						tapir_clock__now_ns() - start_ns >= RUN_NS));
	}
	for (unsigned i = 0; i < 3; i++)
		end_sleeper(somebody[i]);
	tapir_ring_scan__fini(&looks);
	stop_reader();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(lanes_over_the_limit_are_gaps_until_others_end),
		T(more_processes_than_bursts_wait_for_their_turn),
		T(library_is_looked_at_when_it_comes_late),
		T(process_that_has_ended_is_not_looked_at_again),
		T(looks_that_are_due_are_taken_together),
		T(what_finds_no_room_for_its_description_is_counted),
		T(event_that_ended_before_it_was_looked_at_is_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
