// SPDX-License-Identifier: GPL-2.0-or-later
/* When a .NET process is asked for names, and when not. Who answers: tests/e2e/case_dotnet.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/diag.h"
#include "record/names/dotnet_names.h"

extern const struct tapir_runtime_ops tapir_runtime_dotnet;

#define VA  0x7f0000001000ull
#define SEC TAPIR_NS_PER_SEC

static struct tapir_runtime_queries *queries;
static struct tapir_jit_table *table;
static struct tapir_dotnet_names names;
static pid_t stopped; /* does not answer as long as a test runs */

static int setup(void **state)
{
	(void)state;
	memset(&names, 0, sizeof(names));
	stopped = fork();
	if (!stopped) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		raise(SIGSTOP);
		_exit(0);
	}
	assert_int_equal(waitpid(stopped, NULL, WUNTRACED), stopped);
	assert_int_equal(tapir_runtime_queries__new(&queries), 0);
	return tapir_jit_table__new(&table);
}

static int teardown(void **state)
{
	(void)state;
	tapir_dotnet_names__fini(&names);
	tapir_jit_table__free(table);
	tapir_runtime_queries__free(queries);
	tapir_diag__clear();
	kill(stopped, SIGKILL);
	waitpid(stopped, NULL, 0);
	return 0;
}

/* Is it asked, when it is looked after at that time? */
static bool asks_at(uint64_t now_ns)
{
	(void)tapir_dotnet_names__read(&names, now_ns, false, 1, table);
	return names.question;
}

/* As after a snapshot that was taken then. */
static void has_snapshot_of(uint64_t time_ns)
{
	tapir_dotnet_names__start(&names, queries, &tapir_runtime_dotnet, (uint32_t)stopped, 0,
				  false);
	names.last_ns = time_ns;
	names.missed_ns = 0;
}

static void process_that_will_not_tell_is_asked_at_once(void **state)
{
	(void)state;
	tapir_dotnet_names__start(&names, queries, &tapir_runtime_dotnet, (uint32_t)stopped, 0,
				  false);
	assert_true(asks_at(tapir_clock__now_ns()));
}

static void process_that_will_tell_is_asked_when_it_does(void **state)
{
	uint64_t now = tapir_clock__now_ns();

	(void)state;
	tapir_dotnet_names__start(&names, queries, &tapir_runtime_dotnet, (uint32_t)stopped, 0,
				  true);
	assert_false(asks_at(now + SEC / 10));
	tapir_dotnet_names__reports_methods(&names, now);
	assert_true(asks_at(now + SEC / 10));
}

static void process_that_never_tells_is_asked_after_a_moment(void **state)
{
	uint64_t now = tapir_clock__now_ns();

	(void)state;
	tapir_dotnet_names__start(&names, queries, &tapir_runtime_dotnet, (uint32_t)stopped, 0,
				  true);
	assert_false(asks_at(now + SEC / 10));
	assert_true(asks_at(now + SEC));
}

static void telling_may_begin_before_its_mappings_are_known(void **state)
{
	uint64_t now = tapir_clock__now_ns();

	(void)state;
	tapir_dotnet_names__reports_methods(&names, now);
	tapir_dotnet_names__start(&names, queries, &tapir_runtime_dotnet, (uint32_t)stopped, 0,
				  true);
	assert_true(asks_at(now));
}

static void address_without_a_name_is_asked_for_once(void **state)
{
	uint64_t now = tapir_clock__now_ns();

	(void)state;
	has_snapshot_of(now);
	assert_true(tapir_dotnet_names__miss(&names, VA, now + 1, false));
	assert_true(asks_at(now + SEC));
	tapir_runtime_query__drop(names.question);
	names.question = NULL;
	names.last_ns = now + 2; /* which did not name it */
	assert_false(tapir_dotnet_names__miss(&names, VA, now + 3, false));
	assert_false(asks_at(now + 100 * SEC));
	assert_true(tapir_dotnet_names__miss(&names, VA + 16, now + 3, false));
	assert_true(asks_at(now + 100 * SEC));
}

static void what_it_tells_of_is_not_asked_for(void **state)
{
	uint64_t now = tapir_clock__now_ns();

	(void)state;
	tapir_dotnet_names__reports_methods(&names, now - 3 * SEC);
	has_snapshot_of(now - 2 * SEC);
	assert_true(tapir_dotnet_names__miss(&names, VA, now, true)); /* its event may be coming */
	assert_false(tapir_dotnet_names__miss(&names, VA + 16, now - 3 * SEC / 2, true));
	assert_true(tapir_dotnet_names__are_known(&names, now));
	assert_false(asks_at(now + 100 * SEC));
	assert_true(tapir_dotnet_names__miss(&names, VA + 32, now, false)); /* ReadyToRun */
	assert_true(asks_at(now + 100 * SEC));
}

static void what_it_told_of_is_asked_for_when_events_were_lost(void **state)
{
	uint64_t now = tapir_clock__now_ns();

	(void)state;
	tapir_dotnet_names__reports_methods(&names, now - 3 * SEC);
	has_snapshot_of(now - 2 * SEC);
	assert_false(tapir_dotnet_names__miss(&names, VA, now - 3 * SEC / 2, true));
	names.is_doubted = true;
	assert_false(tapir_dotnet_names__are_known(&names, now));
	assert_true(tapir_dotnet_names__miss(&names, VA, now - 3 * SEC / 2, true));
	assert_true(asks_at(now));
}

static void the_end_asks_for_all_that_was_missed(void **state)
{
	uint64_t now = tapir_clock__now_ns();

	(void)state;
	tapir_dotnet_names__reports_methods(&names, now - 3 * SEC);
	has_snapshot_of(now - 2 * SEC);
	assert_true(tapir_dotnet_names__miss(&names, VA, now, true));
	assert_false(asks_at(now));
	(void)tapir_dotnet_names__read(&names, now, true, 1, table);
	assert_non_null(names.question);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(process_that_will_not_tell_is_asked_at_once),
		CASE(process_that_will_tell_is_asked_when_it_does),
		CASE(process_that_never_tells_is_asked_after_a_moment),
		CASE(telling_may_begin_before_its_mappings_are_known),
		CASE(address_without_a_name_is_asked_for_once),
		CASE(what_it_tells_of_is_not_asked_for),
		CASE(what_it_told_of_is_asked_for_when_events_were_lost),
		CASE(the_end_asks_for_all_that_was_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
