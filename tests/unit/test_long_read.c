// SPDX-License-Identifier: GPL-2.0-or-later
/* Ctrl-C while a file is read: handled from start to stop, and by whoever did before after it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>

#include "base/diag.h"
#include "cli/long_read.h"

static void on_signal_before(int number)
{
	(void)number;
}

static void (*handler_of(int number))(int)
{
	struct sigaction action;

	assert_int_equal(sigaction(number, NULL, &action), 0);
	return action.sa_handler;
}

/* As import reads, which has no reader. */
static void handlers_are_back_when_a_file_of_another_tool_was_read(void **state)
{
	struct sigaction before = {.sa_handler = on_signal_before};
	struct tapir_cli cli = {};
	struct tapir_long_read read;

	(void)state;
	assert_int_equal(sigaction(SIGINT, &before, NULL), 0);
	assert_int_equal(sigaction(SIGTERM, &before, NULL), 0);
	tapir_long_read__start(&read, NULL, &cli);
	assert_ptr_not_equal(handler_of(SIGINT), on_signal_before);
	tapir_long_read__stop(&read);
	assert_ptr_equal(handler_of(SIGINT), on_signal_before);
	assert_ptr_equal(handler_of(SIGTERM), on_signal_before);
	signal(SIGINT, SIG_IGN);
	tapir_long_read__stop(&read); /* twice: it is no longer its own to change */
	assert_ptr_equal(handler_of(SIGINT), SIG_IGN);
}

static void reading_ends_when_it_is_interrupted(void **state)
{
	struct tapir_cli cli = {};
	struct tapir_long_read read;

	(void)state;
	tapir_diag__clear();
	tapir_long_read__start(&read, NULL, &cli);
	assert_int_equal(tapir_long_read__check(&read), 0);
	raise(SIGTERM);
	assert_int_equal(tapir_long_read__check(&read), -EINTR);
	assert_int_equal(tapir_diag__cnt(), 1);
	tapir_long_read__stop(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handlers_are_back_when_a_file_of_another_tool_was_read),
		cmocka_unit_test(reading_ends_when_it_is_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
