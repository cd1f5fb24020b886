// SPDX-License-Identifier: GPL-2.0-or-later
/* Packages of symbols, by a database like dpkg's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/symbol_package.h"

static char home[] = "/tmp/tapir-packages-XXXXXX";
static const struct {
	const char *name, *text;
} lists[] = {
	{"php8.2-cli.list", "/.\n/usr\n/usr/bin\n/usr/bin/php8.2\n"},
	{"libc6:amd64.list", "/.\n/lib/x86_64-linux-gnu/libc.so.6\n/etc/x"}, /* no newline */
	{"python3.11-minimal.list", "/usr/bin/python3.11\n"},
	{"libpython3.9-stdlib:amd64.list", "/usr/lib/libpython3.9.so.1.0\n"},
	{"php8.2-cli.md5sums", "/usr/bin/sums\n"},
	{"empty.list", ""},
};

#define LIST_CNT (sizeof(lists) / sizeof(lists[0]))

static void path_of(size_t i, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s/%s", home, lists[i].name);
}

static int set_up(void **state)
{
	char path[128];

	(void)state;
	assert_non_null(mkdtemp(home));
	for (size_t i = 0; i < LIST_CNT; i++) {
		FILE *file;

		path_of(i, path, sizeof(path));
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(lists[i].text, file);
		assert_int_equal(fclose(file), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	char path[128];

	(void)state;
	for (size_t i = 0; i < LIST_CNT; i++) {
		path_of(i, path, sizeof(path));
		unlink(path);
	}
	return rmdir(home);
}

static void check(const char *path, const char *wanted)
{
	struct tapir_str out = {};

	assert_int_equal(tapir_symbol_package__add(&out, tapir_sv__of(path), home), wanted != NULL);
	assert_string_equal(out.data ? out.data : "", wanted ? wanted : "");
	tapir_str__fini(&out);
}

static void package_is_named_when_a_list_has_the_file(void **state)
{
	(void)state;
	check("/usr/bin/php8.2", "php8.2-cli-dbgsym");
	check("/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg"); /* /lib is a link */
	check("/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg");
	check("/etc/x", "libc6-dbg");
	check("/usr/bin/python3.11", "python3.11-dbg");
	check("/usr/lib/libpython3.9.so.1.0", "python3.9-dbg");
}

static void nothing_is_named_when_no_list_has_the_whole_path(void **state)
{
	(void)state;
	check("/usr/bin/php8", NULL);
	check("/bin/php8.2", NULL); /* only the old name of /usr/... */
	check("/usr/bin/sums", NULL);
	check("bin/php8.2", NULL);
	check("/usr/", NULL);
	check("", NULL);
	check("/usr/bin/php8.2\n", NULL);
}

static void nothing_is_named_when_there_is_no_database(void **state)
{
	struct tapir_str out = {};

	(void)state;
	assert_false(tapir_symbol_package__add(&out, tapir_sv__of("/usr/bin/php8.2"), "/nowhere"));
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(package_is_named_when_a_list_has_the_file),
		cmocka_unit_test(nothing_is_named_when_no_list_has_the_whole_path),
		cmocka_unit_test(nothing_is_named_when_there_is_no_database),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
