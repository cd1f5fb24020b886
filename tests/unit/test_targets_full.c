// SPDX-License-Identifier: GPL-2.0-or-later
/* More processes than the kernel's map of them holds. Runs BPF programs: needs root. */
#include <unistd.h>

#include "attach/bpf_ring.h"
#include "record/loss_poll.h"
#include "targets_fixture.h"

#define CAP	 4
#define TOO_MANY 3

static void add_map_full(void *ctx, const struct tapir_rec_loss *loss)
{
	if (loss->cause == TAPIR_LOSS_PROCESS_MAP_FULL)
		*(uint64_t *)ctx += loss->count;
}

static uint64_t map_full_cnt(struct tapir_loss_poll *poll)
{
	uint64_t cnt = 0;

	tapir_loss_poll__run(poll, programs, add_map_full, &cnt);
	return cnt;
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

/* Asked by a byte, it has CAP + TOO_MANY children; asked again, it has none. */
static pid_t start_family(int ask_fd, int answer_fd)
{
	pid_t family = fork(), kids[CAP + TOO_MANY];
	char byte;

	if (family)
		return family;
	for (bool are_there = false;; are_there = !are_there) {
		if (read(ask_fd, &byte, 1) != 1)
			_exit(0);
		for (unsigned i = 0; i < CAP + TOO_MANY; i++) {
			if (are_there)
				end(&kids[i]);
			else
				kids[i] = start_sleeper();
		}
		if (write(answer_fd, "", 1) != 1)
			_exit(1);
	}
}

static void ask(const int *ask_fds, const int *answer_fds)
{
	char byte;

	assert_int_equal(write(ask_fds[1], "", 1), 1);
	assert_int_equal(read(answer_fds[0], &byte, 1), 1);
}

static void start_with_map_of(uint32_t cap, struct tapir_bpf_ring *ring)
{
	process_cap = cap;
	start();
	process_cap = 0;
	assert_int_equal(tapir_bpf_ring__open(tapir_programs__control_ring_fd(programs), ring), 0);
	assert_int_equal(tapir_targets__scan(targets), 0);
	assert_int_equal(tapir_programs__attach_process(programs, false), 0);
	tapir_programs__enable(programs, true);
}

/* What does not fit is counted; what ended makes room. The family itself takes one place. */
static void processes_beyond_the_map_are_counted(void **state)
{
	int ask_fds[2], answer_fds[2];
	struct tapir_loss_poll poll;
	struct tapir_bpf_ring ring = {};
	const void *rec;
	uint32_t len;

	(void)state;
	assert_int_equal(pipe(ask_fds), 0);
	assert_int_equal(pipe(answer_fds), 0);
	children[0] = start_family(ask_fds[0], answer_fds[1]);
	assert_true(tapir_vec__push(&rules.pids, (uint32_t)children[0]));
	rules.children = true;
	start_with_map_of(CAP, &ring);
	assert_int_equal(tapir_loss_poll__init(&poll, 4), 0);
	for (unsigned round = 0; round < 3; round++) {
		ask(ask_fds, answer_fds);
		assert_int_equal(map_full_cnt(&poll), TOO_MANY + 1);
		ask(ask_fds, answer_fds);
		while ((rec = tapir_bpf_ring__next(&ring, &len)))
			tapir_targets__on_control(targets, rec, len);
		tapir_bpf_ring__release(&ring);
		tapir_targets__forget_ended(targets);
	}
	assert_int_equal(tapir_targets__live_cnt(targets), 1);
	tapir_loss_poll__fini(&poll);
	tapir_bpf_ring__close(&ring);
	for (unsigned i = 0; i < 2; i++) {
		close(ask_fds[i]);
		close(answer_fds[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(processes_beyond_the_map_are_counted, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
