// SPDX-License-Identifier: GPL-2.0-or-later
/* What a process was started with, by made-up texts of /proc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/started_with.h"

#define TEXT(text) (text), sizeof(text) - 1

static const struct tapir_lore_condition *java(void)
{
	return tapir_lore__condition("hotspot", "method__entry");
}

static const struct tapir_lore_condition *php(void)
{
	return tapir_lore__condition("php", "function__return");
}

static void conditions_are_of_their_probes(void **state)
{
	(void)state;
	assert_non_null(java());
	assert_string_equal(java()->needs, "in a JVM started with -XX:+DTraceMethodProbes");
	assert_non_null(php());
	assert_null(tapir_lore__condition("hotspot", "gc__begin"));
	assert_null(tapir_lore__condition("php", "error"));
	assert_non_null(tapir_lore__condition("ruby", "method__entry"));
	assert_null(tapir_lore__condition("ruby", "cmethod__entry"));
	/* Nothing that it was started with says so. */
	assert_false(tapir_started_with__by(TEXT("ruby\0"), TEXT("A=1\0"),
					    tapir_lore__condition("ruby", "method__return")));
}

static void options_are_whole_words_of_the_command_line(void **state)
{
	(void)state;
	assert_true(tapir_started_with__by(TEXT("java\0-XX:+DTraceMethodProbes\0A\0"), TEXT(""),
					   java()));
	assert_true(
		tapir_started_with__by(TEXT("java\0-XX:+DTraceMethodProbes"), TEXT(""), java()));
	assert_true(tapir_started_with__by(TEXT("java\0-XX:+ExtendedDTraceProbes\0"), TEXT(""),
					   java()));
	assert_false(
		tapir_started_with__by(TEXT("java\0-XX:+DTraceAllocProbes\0"), TEXT(""), java()));
	assert_false(
		tapir_started_with__by(TEXT("java\0-XX:+DTraceMethodProbesX\0"), TEXT(""), java()));
	assert_false(
		tapir_started_with__by(TEXT("sh\0a -XX:+DTraceMethodProbes\0"), TEXT(""), java()));
	assert_false(tapir_started_with__by(NULL, 0, NULL, 0, java()));
}

static void options_are_in_variables_of_the_runtime_too(void **state)
{
	(void)state;
	assert_true(tapir_started_with__by(
		TEXT("java\0"), TEXT("A=1\0JAVA_TOOL_OPTIONS=-Xmx1g\t-XX:+DTraceMethodProbes\0"),
		java()));
	assert_false(tapir_started_with__by(TEXT("java\0"), TEXT("OTHER=-XX:+DTraceMethodProbes\0"),
					    java()));
	assert_false(tapir_started_with__by(TEXT("java\0"), TEXT("JAVA_TOOL_OPTIONS"), java()));
}

static void variable_counts_if_it_is_a_number_but_zero(void **state)
{
	(void)state;
	assert_true(tapir_started_with__by(TEXT("php\0"), TEXT("USE_ZEND_DTRACE=1\0"), php()));
	assert_true(tapir_started_with__by(TEXT("php\0"), TEXT("A=\0USE_ZEND_DTRACE=1"), php()));
	assert_false(tapir_started_with__by(TEXT("php\0"), TEXT("USE_ZEND_DTRACE=0\0"), php()));
	assert_false(tapir_started_with__by(TEXT("php\0"), TEXT("USE_ZEND_DTRACE=\0"), php()));
	assert_false(tapir_started_with__by(TEXT("php\0"), TEXT("NO_USE_ZEND_DTRACE=1\0"), php()));
	assert_false(tapir_started_with__by(TEXT("USE_ZEND_DTRACE=1\0"), TEXT(""), php()));
}

/* The environment is that of exec: what it sets itself does not count, as PHP has read it then. */
static void process_that_cannot_be_read_was_not(void **state)
{
	(void)state;
	assert_false(tapir_started_with((uint32_t)getpid(), php()));
	assert_false(tapir_started_with(0x7ffffff0, php()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_are_of_their_probes),
		cmocka_unit_test(options_are_whole_words_of_the_command_line),
		cmocka_unit_test(options_are_in_variables_of_the_runtime_too),
		cmocka_unit_test(variable_counts_if_it_is_a_number_but_zero),
		cmocka_unit_test(process_that_cannot_be_read_was_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
