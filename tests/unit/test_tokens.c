// SPDX-License-Identifier: GPL-2.0-or-later
/* Tokens: their file, roles, times, and what happens to wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "agent/tokens.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char dir[] = "/tmp/test-tokens-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/tokens", mkdtemp(dir));
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void write_file(const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void token_has_its_role_until_it_expires(void **state)
{
	struct tapir_tokens *tokens;

	(void)state;
	write_file("{\"tokens\":[{\"name\":\"ci\",\"role\":\"profile\",\"token\":\"" A
		   "\",\"expires\":\"2001-09-09T01:46:40Z\"},"
		   "{\"name\":\"me\",\"role\":\"admin\",\"token\":\"" B "\"}]}",
		   0600);
	assert_int_equal(tapir_tokens__open(path, &tokens), 0);
	assert_int_equal(tapir_tokens__find(tokens, A, 999999999)->role, TAPIR_ROLE_PROFILE);
	assert_null(tapir_tokens__find(tokens, A, 1000000000));
	assert_string_equal(tapir_tokens__find(tokens, B, 1000000000)->name, "me");
	assert_null(tapir_tokens__find(tokens, B "b", 0));
	assert_null(tapir_tokens__find(tokens, "", 0));
	tapir_tokens__free(tokens);
}

static void changed_file_is_read_again_and_a_wrong_one_changes_nothing(void **state)
{
	struct tapir_tokens *tokens;

	(void)state;
	write_file("{\"tokens\":[{\"name\":\"a\",\"role\":\"view\",\"token\":\"" A "\"}]}", 0600);
	assert_int_equal(tapir_tokens__open(path, &tokens), 0);
	write_file("{\"tokens\":[", 0600);
	assert_int_equal(tapir_tokens__reload(tokens), -EINVAL);
	assert_int_equal(tapir_tokens__reload(tokens), 0); /* is reported once */
	assert_non_null(tapir_tokens__find(tokens, A, 0));
	write_file("{\"tokens\":[{\"name\":\"b\",\"role\":\"view\",\"token\":\"" B "\"}]}", 0600);
	assert_int_equal(tapir_tokens__reload(tokens), 0);
	assert_null(tapir_tokens__find(tokens, A, 0));
	assert_non_null(tapir_tokens__find(tokens, B, 0));
	unlink(path);
	assert_int_equal(tapir_tokens__reload(tokens), -ENOENT);
	assert_int_equal(tapir_tokens__reload(tokens), 0);
	assert_non_null(tapir_tokens__find(tokens, B, 0));
	tapir_tokens__free(tokens);
}

static void forms_of_open_pages_outlive_a_change_of_the_file(void **state)
{
	char first[TAPIR_CSRF_DIGITS + 1];
	struct tapir_tokens *tokens;

	(void)state;
	write_file("{\"tokens\":[{\"name\":\"a\",\"role\":\"view\",\"token\":\"" A "\"}]}", 0600);
	assert_int_equal(tapir_tokens__open(path, &tokens), 0);
	memcpy(first, tapir_tokens__find(tokens, A, 0)->csrf, sizeof(first));
	assert_int_equal(strlen(first), TAPIR_CSRF_DIGITS);
	write_file("{\"tokens\":[{\"name\":\"b\",\"role\":\"view\",\"token\":\"" B "\"},"
		   "{\"name\":\"a\",\"role\":\"admin\",\"token\":\"" A "\"}]}",
		   0600);
	assert_int_equal(tapir_tokens__reload(tokens), 0);
	assert_string_equal(tapir_tokens__find(tokens, A, 0)->csrf, first);
	assert_string_not_equal(tapir_tokens__find(tokens, B, 0)->csrf, first);
	tapir_tokens__free(tokens);
}

static void file_that_others_can_read_is_refused(void **state)
{
	struct tapir_tokens *tokens;

	(void)state;
	write_file("{\"tokens\":[]}", 0640);
	assert_int_equal(tapir_tokens__open(path, &tokens), -EPERM);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(tapir_tokens__open(path, &tokens), -EPERM);
	unlink(path);
}

static void single_token_is_made_once(void **state)
{
	struct tapir_tokens *tokens;
	struct stat st;
	char text[128] = "";
	int fd;

	(void)state;
	assert_int_equal(tapir_tokens__open_single(path, &tokens), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, text, sizeof(text) - 1), 65);
	close(fd);
	text[64] = '\0';
	assert_int_equal(strspn(text, "0123456789abcdef"), 64);
	assert_int_equal(tapir_tokens__find(tokens, text, 0)->role, TAPIR_ROLE_ADMIN);
	tapir_tokens__free(tokens);
	assert_int_equal(tapir_tokens__open_single(path, &tokens), 0);
	assert_non_null(tapir_tokens__find(tokens, text, 0));
	tapir_tokens__free(tokens);
	write_file("short\n", 0600);
	assert_int_equal(tapir_tokens__open_single(path, &tokens), -EINVAL);
}

static void wrong_files_are_refused_with_a_line(void **state)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"tokens\":{}}",
		"{\"tokens\":[1]}",
		"{\"tokens\":[],\"x\":1}",
		"{\"tokens\":[{}]}",
		"{\"tokens\":[{\"name\":\"a\",\"role\":\"root\",\"token\":\"" A "\"}]}",
		"{\"tokens\":[{\"name\":\"a\",\"role\":\"view\",\"token\":\"short\"}]}",
		"{\"tokens\":[{\"name\":\"\",\"role\":\"view\",\"token\":\"" A "\"}]}",
		"{\"tokens\":[{\"name\":\"local\",\"role\":\"view\",\"token\":\"" A "\"}]}",
		"{\"tokens\":[{\"name\":\"pid 1\",\"role\":\"view\",\"token\":\"" A "\"}]}",
		"{\"tokens\":[{\"name\":\"a\",\"role\":\"view\",\"token\":\"" A
		"\",\"exp\":\"\"}]}",
		"{\"tokens\":[{\"name\":\"a\",\"role\":\"view\",\"token\":\"" A " " A "\"}]}",
		"{\"tokens\":[{\"name\":\"a\",\"role\":\"view\",\"token\":\"" A
		"\",\"expires\":\"tomorrow\"}]}",
		"{\"tokens\":[{\"name\":\"a\",\"name\":\"b\",\"role\":\"view\",\"token\":\"" A
		"\"}]}"};
	struct tapir_token *out = calloc(TAPIR_TOKENS_MAX, sizeof(*out));

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t cnt = 77;

		tapir_diag__clear();
		if (tapir_tokens__parse(texts[i], strlen(texts[i]), "F", out, &cnt) != -EINVAL ||
		    !tapir_diag__cnt() || cnt != 77)
			fail_msg("%s is taken", texts[i]);
	}
	free(out);
}

static void tenth_failure_of_an_address_is_the_last_for_a_minute(void **state)
{
	struct tapir_failures f = {};
	char peer[16];

	(void)state;
	for (int i = 0; i < TAPIR_FAILURES_MAX; i++)
		assert_int_equal(tapir_failures__add(&f, "10.0.0.1", 1000), 0);
	assert_int_equal(tapir_failures__add(&f, "10.0.0.1", 1010), 50);
	assert_int_equal(tapir_failures__add(&f, "10.0.0.2", 1010), 0);
	assert_int_equal(tapir_failures__add(&f, "10.0.0.1", 1060), 0);
	for (int i = 0; i < 1000; i++) { /* the table has its limit */
		snprintf(peer, sizeof(peer), "p%d", i);
		assert_int_equal(tapir_failures__add(&f, peer, 2000), 0);
	}
}

/* A host of an IPv6 network has 2^64 addresses; of one that is an IPv4 address there is one. */
static void addresses_of_one_network_fail_together(void **state)
{
	struct tapir_failures f = {};
	char peer[48];

	(void)state;
	for (int i = 0; i < TAPIR_FAILURES_MAX; i++) {
		snprintf(peer, sizeof(peer), "2001:db8:1:2:%x::%x", i, i);
		assert_int_equal(tapir_failures__add(&f, peer, 1000), 0);
	}
	assert_int_equal(tapir_failures__add(&f, "2001:db8:1:2::77", 1000), 60);
	assert_int_equal(tapir_failures__add(&f, "2001:db8:1:3::77", 1000), 0);
	for (int i = 0; i <= TAPIR_FAILURES_MAX; i++) {
		snprintf(peer, sizeof(peer), "::ffff:10.0.0.%d", i);
		assert_int_equal(tapir_failures__add(&f, peer, 1000), 0);
	}
}

static void log_of_strangers_is_bounded_and_says_what_it_left_out(void **state)
{
	struct tapir_failures f = {};
	unsigned logged = 0, unlogged = 0, sum = 0;

	(void)state;
	for (unsigned i = 0; i < 600000; i++) { /* ten minutes, a thousand a second */
		if (!tapir_failures__may_log(&f, 1000 + i / 1000, &unlogged))
			continue;
		logged++;
		sum += unlogged;
	}
	assert_int_equal(logged, 10 * TAPIR_FAILURES_LINES);
	assert_true(tapir_failures__may_log(&f, 2000, &unlogged));
	assert_int_equal(logged + sum + unlogged, 600000);
	assert_true(tapir_failures__may_log(&f, 2000, &unlogged));
	assert_int_equal(unlogged, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(token_has_its_role_until_it_expires),
		cmocka_unit_test(changed_file_is_read_again_and_a_wrong_one_changes_nothing),
		cmocka_unit_test(file_that_others_can_read_is_refused),
		cmocka_unit_test(single_token_is_made_once),
		cmocka_unit_test(wrong_files_are_refused_with_a_line),
		cmocka_unit_test(tenth_failure_of_an_address_is_the_last_for_a_minute),
		cmocka_unit_test(addresses_of_one_network_fail_together),
		cmocka_unit_test(log_of_strangers_is_bounded_and_says_what_it_left_out),
		cmocka_unit_test(forms_of_open_pages_outlive_a_change_of_the_file),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
