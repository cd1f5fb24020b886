// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads by /proc: this program's own, with what they know of themselves; and text that is not so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/thread_list.h"
#include "record/threads/proc_runnable.h"

struct reader {
	int pipe[2];
	pid_t tid;
	uint64_t frame_va;
	pthread_barrier_t begun;
};

static void *block_in_read(void *arg)
{
	struct reader *r = arg;
	char byte;

	prctl(PR_SET_NAME, "in read");
	r->tid = gettid();
	r->frame_va = (uint64_t)(uintptr_t)&byte;
	pthread_barrier_wait(&r->begun);
	return read(r->pipe[0], &byte, 1) < 0 ? arg : NULL;
}

static const struct tapir_thread_seen *find(const struct tapir_thread_list *list, pid_t tid)
{
	for (size_t i = 0; i < list->vec.cnt; i++)
		if (list->vec.data[i].thread.tid == (uint32_t)tid)
			return &list->vec.data[i];
	return NULL;
}

static void threads_are_those_of_the_process(void **state)
{
	struct tapir_thread_list list = {};
	const struct tapir_thread_seen *seen = NULL;
	struct reader r = {};
	pthread_t thread;

	(void)state;
	pthread_barrier_init(&r.begun, NULL, 2);
	assert_int_equal(pipe(r.pipe), 0);
	assert_int_equal(pthread_create(&thread, NULL, block_in_read, &r), 0);
	pthread_barrier_wait(&r.begun);
	for (int try = 0; try < 2000 && (!seen || seen->syscall != SYS_read || !seen->state);
	     try++) {
		usleep(1000);
		assert_int_equal(tapir_thread_list__read_proc((uint32_t)getpid(), &list), 0);
		assert_int_equal(list.vec.cnt, 2);
		seen = find(&list, r.tid);
		assert_non_null(seen);
	}
	assert_int_equal(seen->syscall, SYS_read);
	assert_int_equal(seen->state, 1);
	assert_int_equal(seen->args[0], r.pipe[0]);
	assert_int_equal(seen->args[1], r.frame_va);
	assert_int_equal(seen->args[2], 1);
	assert_true(seen->sp < r.frame_va && seen->sp + 4096 > r.frame_va && seen->ip);
	assert_string_equal(seen->thread.comm, "in read");
	assert_true(seen->switch_cnt > 0);
	seen = find(&list, getpid());
	assert_non_null(seen);
	assert_int_equal(write(r.pipe[1], "x", 1), 1);
	pthread_join(thread, NULL);
	tapir_thread_list__fini(&list);
}

static void process_that_is_not_there_is_an_error(void **state)
{
	struct tapir_thread_list list = {};

	(void)state;
	assert_int_equal(tapir_thread_list__read_proc(4194303, &list), -ESRCH);
	tapir_thread_list__fini(&list);
}

static void text_that_is_garbled_changes_nothing(void **state)
{
	static const char *const calls[] = {"",
					    "x",
					    "7",
					    "7 0x1 0x2",
					    "-1",
					    "-1 0x1",
					    "-1 0x1 0x2 0x3",
					    "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7",
					    "-1 zz 0x2"};
	static const char *const statuses[] = {"", "State:\tS", "State:\n",
					       "voluntary_ctxt_switches:\t1\n",
					       "State:\tS\nvoluntary_ctxt_switches:\t1\n"};
	const struct tapir_thread_seen none = {.syscall = -7, .state = 5, .switch_cnt = 9};
	struct tapir_thread_seen seen = none;

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_false(tapir_thread_seen__parse_syscall(&seen, calls[i]));
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		assert_false(tapir_thread_seen__parse_status(&seen, statuses[i]));
	assert_memory_equal(&seen, &none, sizeof(seen));
	assert_true(tapir_thread_seen__parse_syscall(&seen, "-1 0x7ffc 0x5555\n"));
	assert_int_equal(seen.syscall, -1);
	assert_int_equal(seen.sp, 0x7ffc);
	assert_int_equal(seen.ip, 0x5555);
	assert_true(tapir_thread_seen__parse_status(
		&seen, "Name:\tState:\nState:\tD (disk sleep)\nvoluntary_ctxt_switches:\t40\n"
		       "nonvoluntary_ctxt_switches:\t2\n"));
	assert_int_equal(seen.state, 2);
	assert_int_equal(seen.switch_cnt, 42);
}

static void thread_that_runs_is_known_by_its_state_alone(void **state)
{
	(void)state;
	assert_int_equal(tapir_thread_stat__state("7 (worker) R 1 7 7 0"), 'R');
	assert_int_equal(tapir_thread_stat__state("7 (worker) S 1 7 7 0"), 'S');
	assert_int_equal(tapir_thread_stat__state("7 (a) R 1) S 1 7 7 0"), 'S'); /* its name */
	assert_int_equal(tapir_thread_stat__state("7 (a) S 1) R"), 'R');
	assert_int_equal(tapir_thread_stat__state("7 (a"), 0);
	assert_int_equal(tapir_thread_stat__state(""), 0);
}

static void process_that_asks_runs(void **state)
{
	(void)state;
	assert_true(tapir_process__has_runnable_thread((uint32_t)getpid()));
	assert_false(tapir_process__has_runnable_thread(4194303)); /* there is none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_that_runs_is_known_by_its_state_alone),
		cmocka_unit_test(process_that_asks_runs),
		cmocka_unit_test(threads_are_those_of_the_process),
		cmocka_unit_test(process_that_is_not_there_is_an_error),
		cmocka_unit_test(text_that_is_garbled_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
