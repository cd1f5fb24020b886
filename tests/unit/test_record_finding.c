// SPDX-License-Identifier: GPL-2.0-or-later
/* What `tapir record` says at its end of the file it wrote; of one that is too large, nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "output/render/record_finding.h"
#include "output/render/report_read.h"

#define GOLDEN "tests/data/golden-v1.tapir" /* tests run at the root of the tree */

static struct tapir_str said;

static void keep(enum tapir_log_level level, const char *line)
{
	(void)level;
	tapir_str__addf(&said, "%s\n", line);
}

static int setup(void **state)
{
	(void)state;
	tapir_str__clear(&said);
	tapir_log__set(keep, TAPIR_LOG_INFO);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tapir_log__set(NULL, TAPIR_LOG_WARN);
	tapir_str__fini(&said);
	return 0;
}

static void headline_and_commands_are_printed_when_the_file_is_small(void **state)
{
	(void)state;
	tapir_record_finding__print(GOLDEN, false);
	assert_non_null(strstr(said.data, "100.0% of the CPU time in exec_simple_query"));
	assert_non_null(strstr(said.data, "\nnext: tapir report " GOLDEN "\n"));
	assert_non_null(strstr(said.data, "flamegraph " GOLDEN " -o tests/data/golden-v1.svg\n"));
}

static void only_commands_are_printed_when_the_file_is_large(void **state)
{
	char path[] = "/tmp/tapir-finding-XXXXXX", want[256], *text = NULL;
	int fd = mkstemp(path);
	size_t len = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(tapir_file__read(GOLDEN, 1 << 20, &text, &len), 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(ftruncate(fd, 300 << 20), 0); /* a hole */
	tapir_record_finding__print(path, false);
	snprintf(want, sizeof(want), "next: tapir report %s\n", path);
	assert_string_equal(said.data, want);
	free(text);
	close(fd);
	unlink(path);
}

static void nothing_is_printed_when_it_is_no_file(void **state)
{
	(void)state;
	tapir_record_finding__print("/dev/null", true);
	tapir_record_finding__print("/no/such/file", true);
	assert_int_equal(said.len, 0);
}

static bool stop(void *ctx)
{
	++*(int *)ctx;
	return false;
}

static void reading_ends_when_it_is_told_to(void **state)
{
	int asked_cnt = 0;
	struct tapir_pids none = {};
	struct tapir_report_request rq = {.path = GOLDEN,
					  .pids = &none,
					  .tids = &none,
					  .should_continue = stop,
					  .ctx = &asked_cnt};
	struct tapir_report report = {};
	struct tapir_pairs pairs = {};
	struct tapir_reader *reader;

	(void)state;
	assert_int_equal(tapir_reader__open(GOLDEN, &reader), 0);
	assert_int_equal(tapir_report__read(&report, reader, &pairs, &rq), -ECANCELED);
	assert_int_equal(asked_cnt, 1);
	tapir_report__fini(&report);
	tapir_pairs__fini(&pairs);
	tapir_reader__close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			headline_and_commands_are_printed_when_the_file_is_small, setup, teardown),
		cmocka_unit_test_setup_teardown(only_commands_are_printed_when_the_file_is_large,
						setup, teardown),
		cmocka_unit_test(reading_ends_when_it_is_told_to),
		cmocka_unit_test_setup_teardown(nothing_is_printed_when_it_is_no_file, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
