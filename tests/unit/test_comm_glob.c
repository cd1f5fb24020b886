// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The automaton that matches process names in the kernel, compiled for the host, beside the
 * matcher of user space: they must never disagree, or --comm finds a process whose hits the
 * kernel then drops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "record/comm_glob.h"

static int matches(const char *glob, const char *name)
{
	struct tapir_comm_glob compiled;
	char comm[TAPIR_COMM_BYTES] = "";

	assert_int_equal(tapir_comm_glob__compile(glob, &compiled), 0);
	strncpy(comm, name, sizeof(comm) - 1);
	return tapir_comm_glob__match(&compiled, comm);
}

static void names_match_as_written(void **state)
{
	static const struct {
		const char *glob, *name;
		int expect;
	} cases[] = {
		{"", "", 1},
		{"", "a", 0},
		{"*", "", 1},
		{"**", "postgres", 1},
		{"?", "", 0},
		{"java", "java", 1},
		{"java", "javac", 0},
		{"javac", "java", 0},
		{"java*", "java", 1},
		{"*gres", "postgres", 1},
		{"*a*a*a*", "banana", 1},
		{"*a*a*a*a*", "banana", 0},
		{"p?st*s", "postgres", 1},
		{"[pm]*", "mysqld", 1},
		{"[!pm]*", "mysqld", 0},
		{"[^a-c]x", "dx", 1},
		{"node[0-9]", "node7", 1},
		{"[]-]x", "]x", 1},
		{"[oops", "[oops", 1},
		{"a\\*b", "a*b", 1},
		{"a\\*b", "axb", 0},
		{"tail\\", "tail\\", 1},
		{"\xc3\xa9*", "\xc3\xa9t\xc3\xa9", 1},
		{"123456789012345", "123456789012345", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (matches(cases[i].glob, cases[i].name) != cases[i].expect)
			fail_msg("'%s' over '%s': not %d", cases[i].glob, cases[i].name,
				 cases[i].expect);
		assert_int_equal(tapir_glob__match(cases[i].glob, cases[i].name), cases[i].expect);
	}
}

static void fill_random(char *out, size_t max_len, const char *alphabet, unsigned *seed)
{
	size_t len = (unsigned)rand_r(seed) % (max_len + 1), letters = strlen(alphabet);

	for (size_t i = 0; i < len; i++)
		out[i] = alphabet[(unsigned)rand_r(seed) % letters];
	out[len] = '\0';
}

static void kernel_and_user_space_agree_when_random(void **state)
{
	/* Sets are rare among random characters: a second alphabet makes them likely. */
	static const char *const alphabets[] = {"aab*?\\", "ab*[]!^-\\c", "a[]-!"};
	unsigned seed = 20240607, match_cnt = 0, round_cnt = 0;

	(void)state;
	for (unsigned i = 0; i < 60000; i++) {
		struct tapir_comm_glob compiled;
		char glob[24];

		fill_random(glob, sizeof(glob) - 1, alphabets[i % 3], &seed);
		assert_int_equal(tapir_comm_glob__compile(glob, &compiled), 0);
		for (unsigned k = 0; k < 6; k++) {
			char comm[TAPIR_COMM_BYTES] = "";
			int expect;

			fill_random(comm, k < 3 ? 4 : sizeof(comm) - 1, "aab[]-!\\", &seed);
			expect = tapir_glob__match(glob, comm);
			if (tapir_comm_glob__match(&compiled, comm) != expect)
				fail_msg("'%s' over '%s': not %d", glob, comm, expect);
			match_cnt += (unsigned)expect;
			round_cnt++;
		}
	}
	/* Neither side is trivially true or false here. */
	assert_in_range(match_cnt, round_cnt / 100, round_cnt / 2);
}

/* The kernel's comm has 16 bytes; a BPF program may hand over one without a NUL. */
static void only_sixteen_bytes_are_read(void **state)
{
	static const char full[TAPIR_COMM_BYTES + 1] = "0123456789abcdefX";
	struct tapir_comm_glob compiled;

	(void)state;
	assert_int_equal(tapir_comm_glob__compile("*f", &compiled), 0);
	assert_int_equal(tapir_comm_glob__match(&compiled, full), 1);
	assert_int_equal(tapir_comm_glob__compile("*X", &compiled), 0);
	assert_int_equal(tapir_comm_glob__match(&compiled, full), 0);
}

static void glob_is_refused_when_too_long(void **state)
{
	struct tapir_comm_glob compiled = {.all = 12345};

	(void)state;
	assert_int_equal(tapir_comm_glob__compile("???????????????????????????????", &compiled), 0);
	assert_true(compiled.all == 1u << TAPIR_COMM_GLOB_MAX);
	compiled.all = 12345;
	assert_int_equal(tapir_comm_glob__compile("????????????????????????????????", &compiled),
			 -E2BIG);
	assert_int_equal(compiled.all, 12345);
	/* Stars that follow each other, and the characters of a set, are one element. */
	assert_int_equal(
		tapir_comm_glob__compile("***********************************a", &compiled), 0);
	assert_int_equal(
		tapir_comm_glob__compile("[abcdefghijklmnopqrstuvwxyzabcdefghijk]x", &compiled), 0);
	assert_true(compiled.all == 1u << 2);
}

static void glob_is_refused_when_a_set_is_endless(void **state)
{
	struct tapir_comm_glob compiled;
	char glob[2000];

	(void)state;
	memset(glob, 'a', sizeof(glob));
	glob[0] = '[';
	glob[sizeof(glob) - 2] = ']';
	glob[sizeof(glob) - 1] = '\0';
	assert_int_equal(tapir_comm_glob__compile(glob, &compiled), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_match_as_written),
		cmocka_unit_test(kernel_and_user_space_agree_when_random),
		cmocka_unit_test(only_sixteen_bytes_are_read),
		cmocka_unit_test(glob_is_refused_when_too_long),
		cmocka_unit_test(glob_is_refused_when_a_set_is_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
