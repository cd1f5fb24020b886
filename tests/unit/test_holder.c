// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The holder without BPF: this test asks for holds in the shared table as hold.bpf.c does. The
 * witness is the state of the traced process in /proc. Needs CAP_SYS_PTRACE.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/holder_impl.h"
#include "base/clock.h"

static struct tapir_holds *holds;
static struct tapir_holder *holder;
static pid_t child;
static int go[2];
static bool stalls_after_wake;

/*
 * In place of libc's, so that a test can take the CPU away from tapir right after it has woken the
 * holder, as a busy machine does.
 */
int kill(pid_t pid, int sig)
{
	int err = (int)syscall(SYS_kill, pid, sig);

	if (stalls_after_wake && sig == TAPIR_HOLDER_WAKE)
		usleep(300000); /* the program needs 0.1 s to its end */
	return err;
}

/* A process that executes `sleep` when a byte comes. */
static int setup(void **state)
{
	(void)state;
	holder = NULL;
	holds = mmap(NULL, sizeof(*holds), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_true(holds != MAP_FAILED);
	assert_int_equal(pipe(go), 0);
	child = fork();
	if (child == 0) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "0.1", NULL);
		_exit(9);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_holder__stop(holder);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	close(go[0]);
	close(go[1]);
	munmap(holds, sizeof(*holds));
	return 0;
}

static void start(void)
{
	int err = tapir_holder__start(holds, (uint32_t)child, &holder);

	if (err == -EPERM)
		skip();
	assert_int_equal(err, 0);
}

static char state_of(pid_t pid)
{
	char path[32], state = '?';
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	stat = fopen(path, "r");
	if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (stat)
		fclose(stat);
	return state;
}

static bool comes_to(char state, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		if (state_of(child) == state)
			return true;
		usleep(1000);
	}
	return false;
}

/* What BPF does when the process executes. */
static struct tapir_rec_held ask(uint16_t salt)
{
	struct tapir_rec_held rec = {
		.tgid = (uint32_t)child,
		.tid = (uint32_t)child,
		.kind = TAPIR_HOLD_EXEC,
		.word = tapir_hold__word((uint32_t)child, salt, 0, TAPIR_HOLD_EXEC),
	};

	holds->slots[rec.tid & (TAPIR_HOLDS - 1)].word = rec.word;
	return rec;
}

static void execute(void)
{
	assert_int_equal(write(go[1], "x", 1), 1);
}

static int status_of_child(void)
{
	int status = -1;

	assert_int_equal(waitpid(child, &status, 0), child);
	child = 0;
	return status;
}

static void process_runs_as_always_when_nobody_asks(void **state)
{
	(void)state;
	start();
	execute();
	assert_int_equal(status_of_child(), 0);
}

static void process_stands_still_until_it_is_released(void **state)
{
	struct tapir_rec_held rec;

	(void)state;
	start();
	rec = ask(1);
	execute();
	assert_true(comes_to('t', 2000));
	usleep(100000);
	assert_int_equal(state_of(child), 't');
	assert_true(tapir_holder__release(holder, &rec));
	assert_int_equal(status_of_child(), 0);
	assert_false(tapir_holder__release(holder, &rec)); /* it is gone */
}

/* The holder ends with the last program it traces: that says nothing of the time before. */
static void hold_counts_when_the_program_ends_right_after_it(void **state)
{
	struct tapir_rec_held rec;
	bool was_held;

	(void)state;
	start();
	rec = ask(1);
	execute();
	assert_true(comes_to('t', 5000));
	stalls_after_wake = true;
	was_held = tapir_holder__release(holder, &rec);
	stalls_after_wake = false;
	assert_true(was_held);
	assert_int_equal(status_of_child(), 0);
}

static void process_does_not_stop_when_it_was_released_before(void **state)
{
	struct tapir_rec_held rec;
	uint64_t began_ns;

	(void)state;
	start();
	rec = ask(1);
	assert_true(tapir_holder__release(holder, &rec));
	began_ns = tapir_clock__now_ns();
	execute();
	assert_int_equal(status_of_child(), 0);
	assert_true(tapir_clock__now_ns() - began_ns < TAPIR_HOLD_MAX_NS);
}

static void process_continues_when_nobody_releases_it(void **state)
{
	struct tapir_rec_held rec;

	(void)state;
	start();
	rec = ask(1);
	execute();
	assert_true(comes_to('t', 2000));
	assert_int_equal(status_of_child(), 0);
	assert_false(tapir_holder__release(holder, &rec));
}

static void another_hold_is_not_released_by_an_old_record(void **state)
{
	struct tapir_rec_held old, rec;

	(void)state;
	start();
	old = ask(1);
	rec = ask(2);
	assert_false(tapir_holder__release(holder, &old));
	execute();
	assert_true(comes_to('t', 2000));
	assert_true(tapir_holder__release(holder, &rec));
	assert_int_equal(status_of_child(), 0);
}

static void process_continues_when_the_holder_ends(void **state)
{
	(void)state;
	start();
	(void)ask(1);
	execute();
	assert_true(comes_to('t', 2000));
	tapir_holder__stop(holder);
	holder = NULL;
	assert_int_equal(status_of_child(), 0);
}

static void group_stop_stays_one_and_its_parent_sees_it(void **state)
{
	int status;

	(void)state;
	start();
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	usleep(50000);
	assert_int_equal(waitpid(child, &status, WNOHANG | WCONTINUED), 0);
	kill(child, SIGCONT);
	assert_int_equal(waitpid(child, &status, WCONTINUED), child);
	assert_true(WIFCONTINUED(status));
	execute();
	assert_int_equal(status_of_child(), 0);
}

static void holder_gives_up_when_another_traces_the_process(void **state)
{
	(void)state;
	start();
	tapir_holder__stop(holder);
	holder = NULL;
	assert_int_equal(ptrace(PTRACE_SEIZE, child, NULL, NULL), 0);
	assert_int_equal(tapir_holder__start(holds, (uint32_t)child, &holder), -EPERM);
	assert_null(holder);
}

static void process_that_is_let_go_can_be_traced(void **state)
{
	(void)state;
	start();
	assert_true(ptrace(PTRACE_SEIZE, child, NULL, NULL) && errno == EPERM);
	tapir_holder__detach(holder, (uint32_t)child);
	for (int i = 0; i < 2000 && ptrace(PTRACE_SEIZE, child, NULL, NULL); i++)
		usleep(1000);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, child, NULL, NULL), 0); /* ours now */
}

/* A reader of our output must see its end, though the holder lives on. */
static void holder_keeps_nothing_open(void **state)
{
	int fds[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	start();
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0);
	close(fds[0]);
}

static void nothing_is_left_when_the_process_is_gone(void **state)
{
	(void)state;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_true(tapir_holder__start(holds, (uint32_t)child, &holder) < 0);
	assert_null(holder);
	child = 0;
	tapir_holder__stop(NULL);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(process_runs_as_always_when_nobody_asks),
		CASE(process_stands_still_until_it_is_released),
		CASE(hold_counts_when_the_program_ends_right_after_it),
		CASE(process_does_not_stop_when_it_was_released_before),
		CASE(process_continues_when_nobody_releases_it),
		CASE(another_hold_is_not_released_by_an_old_record),
		CASE(process_continues_when_the_holder_ends),
		CASE(group_stop_stays_one_and_its_parent_sees_it),
		CASE(holder_gives_up_when_another_traces_the_process),
		CASE(process_that_is_let_go_can_be_traced),
		CASE(holder_keeps_nothing_open),
		CASE(nothing_is_left_when_the_process_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
