// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters that grow, as LOSS records; those of BPF programs need root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <bpf/bpf.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "record/loss_poll.h"
#include "may_trace.h"

#define SITE_CAP 3

static struct tapir_loss_poll poll;
static struct tapir_programs *programs;
static struct tapir_rec_loss seen[64];
static unsigned seen_cnt;

static int setup(void **state)
{
	(void)state;
	tapir_diag__clear();
	seen_cnt = 0;
	return tapir_loss_poll__init(&poll, SITE_CAP);
}

static int teardown(void **state)
{
	(void)state;
	tapir_loss_poll__fini(&poll);
	tapir_loss_poll__fini(&poll); /* twice is fine */
	tapir_programs__free(programs);
	programs = NULL;
	return 0;
}

static void remember(void *ctx, const struct tapir_rec_loss *loss)
{
	assert_ptr_equal(ctx, &seen_cnt);
	assert_in_range(seen_cnt, 0, 63);
	assert_int_equal(loss->h.type, TAPIR_REC_LOSS);
	assert_int_equal(loss->h.size, sizeof(*loss));
	assert_int_equal(loss->h.time_ns, loss->until_ns);
	assert_true(loss->from_ns <= loss->until_ns);
	seen[seen_cnt++] = *loss;
}

static void one(enum tapir_loss_cause cause, uint64_t cnt)
{
	tapir_loss_poll__one(&poll, cause, cnt, remember, &seen_cnt);
}

static void only_growth_is_reported(void **state)
{
	(void)state;
	one(TAPIR_LOSS_DISK, 0);
	assert_int_equal(seen_cnt, 0);
	one(TAPIR_LOSS_DISK, 5);
	one(TAPIR_LOSS_DISK, 5);
	one(TAPIR_LOSS_MALFORMED, 2);
	one(TAPIR_LOSS_DISK, 12);
	assert_int_equal(seen_cnt, 3);
	assert_int_equal(seen[0].cause, TAPIR_LOSS_DISK);
	assert_int_equal(seen[0].count, 5);
	assert_int_equal(seen[0].probe_id, 0);
	assert_int_equal(seen[1].cause, TAPIR_LOSS_MALFORMED);
	assert_int_equal(seen[1].count, 2);
	assert_int_equal(seen[2].count, 7);
}

/* A sum over programs of which one could not be asked: no loss of 2^64 events. */
static void nothing_is_reported_when_a_count_falls(void **state)
{
	(void)state;
	one(TAPIR_LOSS_RECURSION, 10);
	one(TAPIR_LOSS_RECURSION, 4);
	assert_int_equal(seen_cnt, 1);
	one(TAPIR_LOSS_RECURSION, 11);
	assert_int_equal(seen_cnt, 2);
	assert_int_equal(seen[1].count, 1);
}

static void interval_is_since_the_last_look(void **state)
{
	uint64_t start = poll.last_ns, between;

	(void)state;
	one(TAPIR_LOSS_DISK, 1);
	between = tapir_clock__now_ns();
	one(TAPIR_LOSS_DISK, 2);
	assert_true(seen[0].from_ns == start);
	assert_true(seen[1].from_ns == seen[0].until_ns);
	assert_true(seen[0].until_ns <= between && seen[1].until_ns >= between);
}

static void load_programs(void)
{
	struct tapir_programs_opts opts = {
		.sz = sizeof(opts), .site_cap = SITE_CAP, .ring_bytes = 4096};

	if (!may_trace()) {
		print_message("skipped: loading BPF programs needs root\n");
		skip();
	}
	assert_int_equal(tapir_programs__load(&opts, &programs), 0);
}

/* As a BPF program counts; the map is found among our own fds by its name. */
static void set_count(uint32_t probe, enum tapir_loss_cause cause, uint64_t cnt)
{
	struct tapir_losses losses;
	bool is_set = false;

	memcpy(losses.cnt, tapir_programs__losses(programs, probe), sizeof(losses));
	losses.cnt[cause] = cnt;
	for (int fd = 3; fd < 64; fd++) {
		struct bpf_map_info info = {};
		uint32_t len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strcmp(info.name, "losses") &&
		    info.value_size == sizeof(losses))
			is_set |= !bpf_map_update_elem(fd, &probe, &losses, BPF_ANY);
	}
	assert_true(is_set);
}

static void run(void)
{
	tapir_loss_poll__run(&poll, programs, remember, &seen_cnt);
}

static void counters_of_programs_are_reported_by_probe_and_cause(void **state)
{
	const struct tapir_site last = {.probe_id = SITE_CAP};

	(void)state;
	load_programs();
	assert_int_equal(tapir_programs__set_site(programs, SITE_CAP, &last), 0);
	run();
	assert_int_equal(seen_cnt, 0);
	set_count(0, TAPIR_LOSS_UNKNOWN_SITE, 4);
	set_count(1, TAPIR_LOSS_RING_FULL, 100);
	set_count(SITE_CAP, TAPIR_LOSS_ARG_FAULT, 1); /* the last there is */
	run();
	assert_int_equal(seen_cnt, 3);
	assert_int_equal(seen[0].probe_id, 0);
	assert_int_equal(seen[0].cause, TAPIR_LOSS_UNKNOWN_SITE);
	assert_int_equal(seen[0].count, 4);
	assert_int_equal(seen[1].probe_id, 1);
	assert_int_equal(seen[1].cause, TAPIR_LOSS_RING_FULL);
	assert_int_equal(seen[1].count, 100);
	assert_int_equal(seen[2].probe_id, SITE_CAP);
	run();
	assert_int_equal(seen_cnt, 3);
	set_count(1, TAPIR_LOSS_RING_FULL, 101);
	run();
	assert_int_equal(seen_cnt, 4);
	assert_int_equal(seen[3].count, 1);
	assert_true(seen[3].from_ns > seen[1].until_ns);
}

/* The session polls the programs first, then its own: both of them for the same second. */
static void interval_is_complete_when_programs_were_polled_in_between(void **state)
{
	(void)state;
	load_programs();
	one(TAPIR_LOSS_DISK, 1);
	usleep(2000);
	run();
	one(TAPIR_LOSS_DISK, 2);
	assert_int_equal(seen_cnt, 2);
	assert_true(seen[1].from_ns == seen[0].until_ns);
	assert_true(seen[1].until_ns - seen[1].from_ns >= 2000 * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(only_growth_is_reported),
		CASE(nothing_is_reported_when_a_count_falls),
		CASE(interval_is_since_the_last_look),
		CASE(counters_of_programs_are_reported_by_probe_and_cause),
		CASE(interval_is_complete_when_programs_were_polled_in_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
