/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmocka.h - a stand-in for what libtapir's tests use of cmocka, for machines and C libraries that
 * have no build of it (tests/elsewhere/run). An assertion that fails prints its line and ends the
 * test by longjmp, as cmocka's do. The same summary lines.
 */
#ifndef TAPIR_ELSEWHERE_CMOCKA_H
#define TAPIR_ELSEWHERE_CMOCKA_H

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test)(void **state);
	int (*setup)(void **state);
	int (*teardown)(void **state);
};

#define cmocka_unit_test(f)                                                                        \
	{                                                                                          \
#f, f, NULL, NULL                                                                  \
	}
#define cmocka_unit_test_setup(f, up)                                                              \
	{                                                                                          \
#f, f, up, NULL                                                                    \
	}
#define cmocka_unit_test_teardown(f, down)                                                         \
	{                                                                                          \
#f, f, NULL, down                                                                  \
	}
#define cmocka_unit_test_setup_teardown(f, up, down)                                               \
	{                                                                                          \
#f, f, up, down                                                                    \
	}

static jmp_buf elsewhere_end __attribute__((unused));

enum { ELSEWHERE_FAILED = 1, ELSEWHERE_SKIPPED = 2 };

#define elsewhere_check(cond, text)                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("%s:%d: %s\n", __FILE__, __LINE__, text);                           \
			longjmp(elsewhere_end, ELSEWHERE_FAILED);                                  \
		}                                                                                  \
	} while (0)

#define assert_true(a)	       elsewhere_check(a, #a)
#define assert_false(a)	       elsewhere_check(!(a), "not " #a)
#define assert_null(a)	       elsewhere_check(!(a), #a " is NULL")
#define assert_non_null(a)     elsewhere_check((a) != NULL, #a " is not NULL")
#define assert_ptr_equal(a, b) elsewhere_check((const void *)(a) == (const void *)(b), #a " == " #b)
#define assert_ptr_not_equal(a, b)                                                                 \
	elsewhere_check((const void *)(a) != (const void *)(b), #a " != " #b)
#define assert_int_equal(a, b)                                                                     \
	do {                                                                                       \
		long long elsewhere_a = (long long)(a), elsewhere_b = (long long)(b);              \
		if (elsewhere_a != elsewhere_b)                                                    \
			printf("%lld, expected %lld\n", elsewhere_a, elsewhere_b);                 \
		elsewhere_check(elsewhere_a == elsewhere_b, #a " == " #b);                         \
	} while (0)
#define assert_int_not_equal(a, b) elsewhere_check((long long)(a) != (long long)(b), #a " != " #b)
#define assert_in_range(a, low, high)                                                              \
	elsewhere_check((unsigned long long)(a) >= (unsigned long long)(low) &&                    \
				(unsigned long long)(a) <= (unsigned long long)(high),             \
			#a " in " #low " to " #high)
#define assert_string_equal(a, b)	 elsewhere_check(!strcmp(a, b), #a " equals " #b)
#define assert_memory_equal(a, b, n)	 elsewhere_check(!memcmp(a, b, n), #a " is " #b)
#define assert_memory_not_equal(a, b, n) elsewhere_check(memcmp(a, b, n) != 0, #a " is not " #b)
#define fail_msg(...)                                                                              \
	do {                                                                                       \
		printf(__VA_ARGS__);                                                               \
		elsewhere_check(0, "");                                                            \
	} while (0)
#define skip() longjmp(elsewhere_end, ELSEWHERE_SKIPPED)

/* 0: passed; else how it ended. */
static inline int elsewhere_run(const struct CMUnitTest *t)
{
	void *state = NULL;
	int ended;

	printf("[ RUN      ] %s\n", t->name);
	fflush(stdout);
	if (t->setup && t->setup(&state))
		return ELSEWHERE_FAILED;
	ended = setjmp(elsewhere_end);
	if (!ended)
		t->test(&state);
	if (t->teardown && t->teardown(&state))
		ended = ELSEWHERE_FAILED;
	printf("[  %s ] %s\n",
	       ended == ELSEWHERE_SKIPPED ? "SKIPPED"
	       : ended			  ? "FAILED "
					  : "     OK",
	       t->name);
	fflush(stdout);
	return ended;
}

static inline int elsewhere_run_all(const struct CMUnitTest *tests, size_t cnt,
				    int (*setup)(void **state), int (*teardown)(void **state))
{
	int cnts[3] = {0, 0, 0};
	void *state = NULL;

	if (setup && setup(&state))
		return 1;
	for (size_t i = 0; i < cnt; i++)
		cnts[elsewhere_run(&tests[i])]++;
	if (teardown && teardown(&state))
		cnts[ELSEWHERE_FAILED]++;
	printf("[  PASSED  ] %d test(s).\n", cnts[0]);
	if (cnts[ELSEWHERE_SKIPPED])
		printf("[  SKIPPED ] %d test(s)\n", cnts[ELSEWHERE_SKIPPED]);
	if (cnts[ELSEWHERE_FAILED])
		printf("[  FAILED  ] %d test(s)\n", cnts[ELSEWHERE_FAILED]);
	return cnts[ELSEWHERE_FAILED];
}
#define cmocka_run_group_tests(tests, up, down)                                                    \
	elsewhere_run_all(tests, sizeof(tests) / sizeof((tests)[0]), up, down)

#endif
