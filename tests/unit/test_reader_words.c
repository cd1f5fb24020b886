// SPDX-License-Identifier: GPL-2.0-or-later
/* base/reader_words.h: messages in the words of where they are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "base/reader_words.h"

/* First: nothing switches it back. */
static void options_stay_on_a_terminal(void **state)
{
	static const char text[] = "`tapir record --profile gc` records them";
	char out[TAPIR_READER_WORDS_BYTES];

	(void)state;
	assert_ptr_equal(tapir_reader_words__of(text, out), text);
}

static void options_become_parameters(void **state)
{
	static const struct {
		const char *option, *parameter;
	} cases[] = {
		{"`tapir record --profile gc` records them", "`profile=gc` records them"},
		{"`tapir record --native-memory` records it", "`native_memory` records it"},
		{"`tapir record 'A:B' 'c:d*'` records them", "`events='A:B' 'c:d*'` records them"},
		{"`tapir record` without --no-sched records them",
		 "a recording without no_sched records them"},
		{"--where: '%s' is no number", "where: '%s' is no number"},
		{"%zu more places (--all shows them)", "%zu more places (top shows more)"},
		{"(--profile http, --profile async)", "(profile=http, profile=async)"},
		{"--counters records them", "counters records them"},
		{"a -- b, x--y and ---", "a -- b, x--y and ---"},
		{"", ""},
		{"--", "--"},
		{"--profile ", "profile "},
	};
	char out[TAPIR_READER_WORDS_BYTES], text[2 * TAPIR_READER_WORDS_BYTES];

	(void)state;
	tapir_reader_words__use_parameters();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(tapir_reader_words__of(cases[i].option, out),
				    cases[i].parameter);
	/* What does not fit stays as it is, at each length around the limit. */
	for (size_t len = TAPIR_READER_WORDS_BYTES - 20; len < sizeof(text); len++) {
		memset(text, 'x', len);
		memcpy(text + len - 10, "--profile ", 10);
		text[len] = '\0';
		assert_true(strlen(tapir_reader_words__of(text, out)) <= len);
	}
}

/* Of a message, the format is tapir's own; what is put into it may be a traced program's. */
static void arguments_of_messages_are_left_alone(void **state)
{
	(void)state;
	tapir_reader_words__use_parameters();
	tapir_diag__clear();
	tapir_diag__add("--where: '%s'", "run --profile gc");
	assert_string_equal(tapir_diag__line(0), "where: 'run --profile gc'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_stay_on_a_terminal),
		cmocka_unit_test(options_become_parameters),
		cmocka_unit_test(arguments_of_messages_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
